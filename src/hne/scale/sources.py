"""Samples that nobody has read yet (Dask collections, files that workers read) -> samples in order, on disk.

Workers read their chunks once and keep them as they come. What the client gets of each chunk are the ranges of its
columns; of each sample its fingerprint, for which they need those of all, and its leading value: sixteen bytes, which
are enough to put the samples in their order and to find copies.
"""

from __future__ import annotations

from contextlib import closing, nullcontext
from copy import copy
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from hne._runtime.files import expanded
from hne._runtime.progress import track
from hne._runtime.store import Stage, pickled_by_name
from hne.core.records import FloatArray, UniqueSamples
from hne.core.samples.canonical import Fingerprints, Ranges, distinct_rows, is_ordinary, joined_ranges
from hne.core.samples.check import check_neighbors, check_places, check_shape, is_table, output_kind
from hne.exceptions import InputError, InputTypeError, refuse
from hne.scale.executors import DaskExecutor, check_installed, unpack
from hne.scale.tasks import ingest_chunk, marks_of_rows
from hne.settings import PRECOMPUTED, Settings

# Endings of files that workers read.
READ_BY_WORKERS = (".zarr", ".parquet", ".pq", ".npy")
# Bytes that a worker reads of an .npy file at a time.
READ_BYTES = 2**26


@dataclass(frozen=True)
class LazySamples:
    """A Dask array of samples x features, in chunks of rows."""

    array: Any

    @property
    def shape(self) -> tuple[int, int]:
        """Samples and features."""
        n, n_features = self.array.shape
        return int(n), int(n_features)

    @property
    def dtype(self) -> Any:
        """Kind of its numbers."""
        return self.array.dtype

    def without_rows(self, X: Any) -> Any:
        """Something with the features of X, which these samples are, their names if they have any, and no samples."""
        # Dask's data frames have one of pandas, empty, to tell their kinds by.
        return X._meta if is_table(X) else np.empty((0, self.shape[1]))  # noqa: SLF001

    def rows_like(self, Y: Any) -> Any:
        """Coordinates of the samples as a Dask array in the same chunks of rows."""
        import dask.array as da  # noqa: PLC0415, an extra

        return da.from_array(Y, chunks=(self.array.chunks[0], -1))


def ingest(
    X: LazySamples, settings: Settings, executor: DaskExecutor, scratch: Path
) -> tuple[FloatArray, UniqueSamples, Ranges, Fingerprints]:
    """Let workers read the samples, each chunk once.

    Gives the samples on disk, in the order in which they came; which are distinct; the ranges of their columns; and
    the fingerprints of the distinct ones, in their order.
    """
    from dask import delayed  # noqa: PLC0415, an extra

    stage = Stage(scratch, "scratch")
    ends = np.cumsum([0, *X.array.chunks[0]]).tolist()
    every = zip(ends[:-1], ends[1:], X.array.to_delayed().ravel(), strict=True)
    chunks = [(start, stop, values) for start, stop, values in every if start < stop]
    take, n_features = delayed(ingest_chunk, pure=False), X.shape[1]
    calls = [take(values, start, (stop - start, n_features), stage) for start, stop, values in chunks]
    with closing(executor.compute("samples", calls)) as results:
        ranges = joined_ranges(list(track("chunks", results, len(calls))))
    if not is_ordinary(ranges.largest):
        refuse("X", "must have values between 1e-90 and 1e90 for Dask", f"{ranges.largest:.0e}", "Rescale X")
    blocks = [(start, stop) for start, stop, _ in chunks]
    raw = stage.seal(blocks)["X"]
    with closing(executor.map("samples", partial(marks_of_rows, raw, ranges), blocks)) as results:
        parts = list(track("order", results, len(blocks)))
    marks, leading = (np.concatenate(part) for part in zip(*parts, strict=True))
    distinct = distinct_rows(marks, raw, leading)
    check_places(distinct, settings)
    return raw, distinct, ranges, marks[distinct.index]


def read_by_workers(X: Any, executor: Any) -> Any:
    """X as samples that are still to be read; X itself where it is a path and there is nobody to read it."""
    return lazy_samples(X) if is_collection(X) or (executor is not None and is_lazy(X)) else X


def is_lazy(X: Any) -> bool:
    """Whether X is a collection of Dask, an array of Zarr, or the path of a file."""
    return is_collection(X) or type(X).__module__.startswith("zarr") or isinstance(X, str | Path)


def is_collection(X: Any) -> bool:
    """Whether X is a collection of Dask."""
    return type(X).__module__.partition(".")[0] in {"dask", "dask_expr"}


def check_lazy(samples: LazySamples, settings: Settings, automatic: frozenset[str]) -> None:
    """Refuse what needs samples in memory."""
    rule = "must be known for samples that workers read"
    for name in sorted(automatic):
        remedy = "Choose it with hne.tuning.tune on a patch of samples near each other, as dense as the whole"
        refuse(name, rule, "'auto'", remedy)
    if settings.metric == PRECOMPUTED:
        refuse("metric", "needs distances in memory", "'precomputed' and samples that workers read", "Pass a name")
    check_shape(samples.shape, settings)
    # They will be dense: an array of their shape that takes no memory.
    check_neighbors(np.broadcast_to(0.0, samples.shape), settings)


def transform_lazily(model: Any, X: Any) -> Any:
    """A Dask array of the coordinates that `model.transform` gives to each chunk of rows, wherever Dask computes it."""
    import cloudpickle  # noqa: PLC0415, comes with dask
    from dask import delayed  # noqa: PLC0415, an extra
    from sklearn.utils.validation import validate_data  # noqa: PLC0415, a second to load

    samples = lazy_samples(X)
    array = samples.array
    if is_table(X):
        validate_data(model, samples.without_rows(X), reset=False, skip_check_array=True)
    if array.shape[1] != model.n_features_in_:
        rule = f"must have {model.n_features_in_} features, as the fitted samples"
        refuse("X", rule, f"{array.shape[1]}", "Pass the same columns")
    # What the model has in a folder that stays, workers open themselves; the rest travels to each of them.
    stays = model.checkpoint is not None or getattr(model.executor, "keeps_folder", False)
    sent = copy(model)
    sent.executor = None
    with pickled_by_name() if stays else nullcontext():
        packed = delayed(cloudpickle.dumps(sent))
    kind, d = output_kind(array), model._n_features_out  # noqa: SLF001
    facts = {"chunks": (array.chunks[0], (d,)), "dtype": kind, "meta": np.empty((0, 0), kind)}
    return array.map_blocks(_transform_chunk, packed=packed, **facts)


def _transform_chunk(values: Any, packed: bytes) -> Any:
    model = unpack(packed)
    if not len(values):
        return np.empty((0, model._n_features_out), output_kind(values))  # noqa: SLF001
    return model.transform(np.asarray(values))


def lazy_samples(X: Any, columns: tuple[str, ...] | None = None) -> LazySamples:
    """X as samples that are still to be read; `columns` names the features of a Parquet file."""
    check_installed("dask", f"X as {type(X).__name__}")
    if isinstance(X, str | Path):
        X = expanded(X).absolute()  # workers may be somewhere else
        if not X.exists():
            raise _unreadable(X, "no such file or directory. Check the path; workers must see it too")
        if X.suffix not in READ_BY_WORKERS:
            refuse("X", "as a path must end in .zarr, .parquet or .npy", f"'{X.name}'", "Convert it, or pass an array")
        readers = {".npy": _from_npy, ".zarr": _from_zarr}
        array = readers[X.suffix](X) if X.suffix in readers else _from_parquet(X, columns)
    elif type(X).__module__.startswith("zarr"):
        array = _from_zarr(X)
    else:
        array = X.to_dask_array(lengths=True) if hasattr(X, "to_dask_array") else X
    if getattr(array, "ndim", 0) != 2:
        got = f"{getattr(array, 'ndim', None)} with shape {getattr(array, 'shape', None)}"
        remedy = "Reshape your data: X.reshape(len(X), -1) for images"
        refuse("X", "must have two dimensions (samples, features)", got, remedy)
    if np.isnan(array.shape).any():
        remedy = "Call X.compute_chunk_sizes() first, or make it with to_dask_array(lengths=True)"
        refuse("X", "must have chunks of known sizes", "a Dask array that does not know them", remedy)
    if array.dtype.kind not in "biuf":
        got, remedy = f"a Dask array of {array.dtype}", "Convert it with X.astype(float)"
        refuse("X", "must be a table of numbers", got, remedy, InputTypeError)
    if array.shape[1] == 0:
        refuse("X", "must have features", f"0 feature(s) (shape={array.shape})", "Check how X was read")
    return LazySamples(array.rechunk({1: -1}) if len(array.chunks[1]) > 1 else array)


def _from_zarr(source: Any) -> Any:
    check_installed("zarr", "X as a Zarr array")
    import dask.array as da  # noqa: PLC0415, an extra

    try:
        return da.from_zarr(str(source) if isinstance(source, Path) else source)
    except Exception as error:
        reason = str(error).partition("\n")[0] or type(error).__name__
        raise _unreadable(source, f"it holds no Zarr array ({reason}). Pass the path of one array") from error


def _from_npy(path: Path) -> Any:
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError) as error:
        raise _unreadable(path, f"it is no .npy file ({error}). Write it with numpy.save") from error
    if array.ndim != 2:
        return array
    n, n_features = array.shape
    step = max(1, READ_BYTES // max(1, array.itemsize * n_features))
    ranges = [(start, min(start + step, n)) for start in range(0, n, step)]
    return _concatenated(read_npy, [((path, *rows), rows[1] - rows[0]) for rows in ranges], n_features, array.dtype)


def read_npy(path: Path, start: int, stop: int) -> Any:
    """Some rows of an .npy file."""
    return np.array(np.load(path, mmap_mode="r", allow_pickle=False)[start:stop])


def _from_parquet(path: Path, columns: tuple[str, ...] | None) -> Any:
    check_installed("pyarrow", "X as a Parquet file")
    from pyarrow import ArrowInvalid, parquet, types  # noqa: PLC0415, an extra

    groups: list[tuple[Path, int, int]] = []  # file, number in it, rows
    names = list(columns or ())
    try:
        for file in sorted(path.glob("**/*.parquet")) if path.is_dir() else [path]:
            opened = parquet.ParquetFile(file)
            schema = opened.schema_arrow
            is_number = {one.name: types.is_integer(one.type) or types.is_floating(one.type) for one in schema}
            numbers = list(columns) if columns else [name for name, number in is_number.items() if number]
            names = names or numbers
            for name in names:
                if not is_number.get(name, False):
                    what = "holds no numbers" if name in is_number else "is missing"
                    raise _unreadable(file, f"its column '{name}' {what}. Name the columns that all files have")
            for name in numbers:
                if name not in names:
                    raise _unreadable(file, f"it has a column '{name}' that others have not. Drop it")
            counts = [opened.metadata.row_group(group).num_rows for group in range(opened.num_row_groups)]
            groups += [(file, group, count) for group, count in enumerate(counts)]
    except (ArrowInvalid, OSError) as error:
        reason = str(error).partition("\n")[0]
        raise _unreadable(path, f"it is no Parquet file ({reason}). Write it anew") from error
    if not names:
        raise _unreadable(path, "it has no column of numbers. Check how it was written")
    parts = [((file, group, names), count) for file, group, count in groups]
    return _concatenated(read_group, parts, len(names), np.dtype(np.float64))


def read_group(path: Path, group: int, names: list[str]) -> FloatArray:
    """Some columns of a row group of a Parquet file; missing values become NaN."""
    from pyarrow import parquet  # noqa: PLC0415, an extra

    table = parquet.ParquetFile(path).read_row_group(group, columns=names)
    return np.column_stack([np.asarray(table[name].to_numpy(), dtype=np.float64) for name in names])


def _concatenated(read: Any, parts: list[tuple[Any, int]], n_features: int, kind: Any) -> Any:
    """A Dask array of what `read` makes of the arguments of each part, which has so many rows."""
    import dask.array as da  # noqa: PLC0415, an extra
    from dask import delayed  # noqa: PLC0415

    arrays = [da.from_delayed(delayed(read)(*words), shape=(rows, n_features), dtype=kind) for words, rows in parts]
    return da.concatenate(arrays) if arrays else da.zeros((0, n_features))


def _unreadable(source: Any, reason: str) -> InputError:
    return InputError(f"cannot read '{source}': {reason}.")
