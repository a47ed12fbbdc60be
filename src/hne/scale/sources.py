"""Samples that nobody has read yet: Dask arrays, and files that workers read their own parts of."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from hne._runtime.files import expanded
from hne.core.records import FloatArray
from hne.core.samples.tables import is_table
from hne.exceptions import InputError, InputTypeError, MissingExtraError

# Endings of files that workers read.
READ_BY_WORKERS = (".zarr", ".parquet", ".pq", ".npy")
# Bytes that a worker reads of a file at a time.
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

    @property
    def row_chunks(self) -> tuple[int, ...]:
        """Rows of each chunk."""
        return tuple(int(rows) for rows in self.array.chunks[0])

    def rows_like(self, Y: Any) -> Any:
        """Coordinates of the samples as a Dask array in the same chunks of rows."""
        import dask.array as da  # noqa: PLC0415, an extra

        return da.from_array(Y, chunks=(self.row_chunks, -1))

    def parts(self) -> list[tuple[int, Any]]:
        """The chunks with samples, as calls that Dask has yet to make, each with the number of its first row."""
        starts = np.concatenate([[0], np.cumsum(self.row_chunks)])
        delayed = self.array.to_delayed().ravel()
        return [(int(start), one) for start, one, rows in zip(starts, delayed, self.row_chunks, strict=False) if rows]


def is_lazy(X: Any) -> bool:
    """Whether X is a collection of Dask, an array of Zarr, or the path of a file."""
    home = type(X).__module__.partition(".")[0]
    return home in {"dask", "dask_expr", "zarr"} or isinstance(X, str | Path)


def is_collection(X: Any) -> bool:
    """Whether X is a collection of Dask."""
    return type(X).__module__.partition(".")[0] in {"dask", "dask_expr"}


def without_rows(X: Any, n_features: int) -> Any:
    """Something with the features of X, their names if they have any, and no samples."""
    # Dask's data frames have one of pandas, empty, to tell their kinds by.
    return X._meta if is_table(X) else np.empty((0, n_features))  # noqa: SLF001


def lazy_samples(X: Any, columns: tuple[str, ...] | None = None) -> LazySamples:
    """X as samples that are still to be read; `columns` names the features of a Parquet file."""
    if find_spec("dask") is None:
        msg = f"X as {type(X).__name__} needs Dask, got none installed. Run: pip install 'hne[dask]'."
        raise MissingExtraError(msg)
    if isinstance(X, str | Path):
        # Workers may be somewhere else.
        array = _from_path(expanded(X).absolute(), columns)
    elif type(X).__module__.startswith("zarr"):
        array = _from_zarr(X)
    else:
        array = X.to_dask_array(lengths=True) if hasattr(X, "to_dask_array") else X
    return LazySamples(_checked(array))


def _checked(array: Any) -> Any:
    """The array in chunks of rows, or one error about it."""
    if getattr(array, "ndim", 0) != 2:
        msg = (
            f"X must have two dimensions (samples, features), got {getattr(array, 'ndim', None)} with shape "
            f"{getattr(array, 'shape', None)}. Reshape your data: X.reshape(len(X), -1) for images."
        )
        raise InputError(msg)
    if np.isnan(array.shape).any():
        msg = (
            "X must have chunks of known sizes, got a Dask array that does not know them. Call "
            "X.compute_chunk_sizes() first, or make it with to_dask_array(lengths=True)."
        )
        raise InputError(msg)
    if array.dtype.kind not in "biuf":
        msg = f"X must be a table of numbers, got a Dask array of {array.dtype}. Convert it with X.astype(float)."
        raise InputTypeError(msg)
    if array.shape[1] == 0:
        msg = f"X must have features, got 0 feature(s) (shape={array.shape}). Check how X was read."
        raise InputError(msg)
    return array.rechunk({1: -1}) if len(array.chunks[1]) > 1 else array


def _from_path(path: Path, columns: tuple[str, ...] | None) -> Any:
    if not path.exists():
        msg = f"cannot read '{path}': no such file or directory. Check the path; workers must see it too."
        raise InputError(msg)
    if path.suffix == ".npy":
        return _from_npy(path)
    if path.suffix == ".zarr":
        return _from_zarr(path)
    if path.suffix in {".parquet", ".pq"}:
        return _from_parquet(path, columns)
    msg = f"X as a path must end in .zarr, .parquet or .npy, got '{path.name}'. Convert it, or pass an array."
    raise InputError(msg)


def _from_zarr(source: Any) -> Any:
    if find_spec("zarr") is None:
        msg = "X as a Zarr array needs zarr, got none installed. Run: pip install 'hne[dask]'."
        raise MissingExtraError(msg)
    import dask.array as da  # noqa: PLC0415, an extra

    try:
        return da.from_zarr(str(source) if isinstance(source, Path) else source)
    except Exception as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        msg = f"cannot read '{source}': it holds no Zarr array ({reason}). Pass the path of one array."
        raise InputError(msg) from error


def _from_npy(path: Path) -> Any:
    try:
        found = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError) as error:
        msg = f"cannot read '{path}': it is no .npy file ({error}). Write it with numpy.save."
        raise InputError(msg) from error
    if found.ndim != 2:
        return _checked(found)
    step = max(1, READ_BYTES // max(1, found.itemsize * found.shape[1]))
    ranges = [(start, min(start + step, len(found))) for start in range(0, len(found), step)]
    return _joined(read_npy, path, ranges, found.shape[1], found.dtype)


def read_npy(path: Path, start: int, stop: int) -> Any:
    """Some rows of an .npy file."""
    return np.array(np.load(path, mmap_mode="r", allow_pickle=False)[start:stop])


def _from_parquet(path: Path, columns: tuple[str, ...] | None) -> Any:
    if find_spec("pyarrow") is None:
        msg = "X as a Parquet file needs pyarrow, got none installed. Run: pip install 'hne[dask]'."
        raise MissingExtraError(msg)
    from pyarrow import ArrowInvalid, parquet, types  # noqa: PLC0415, an extra

    files = sorted(path.glob("**/*.parquet")) if path.is_dir() else [path]
    groups: list[tuple[Path, int]] = []
    rows: list[int] = []
    names: list[str] = []
    try:
        for file in files:
            opened = parquet.ParquetFile(file)
            schema = opened.schema_arrow
            is_number = {one.name: types.is_integer(one.type) or types.is_floating(one.type) for one in schema}
            found = list(columns) if columns else [name for name, number in is_number.items() if number]
            names = names or found
            unfit = [name for name in names if not is_number.get(name, False)]
            if unfit:
                what = "holds no numbers" if unfit[0] in is_number else "is missing"
                msg = f"cannot read '{file}': its column '{unfit[0]}' {what}. Name the columns that all files have."
                raise InputError(msg)
            more = [name for name in found if name not in names]
            if more:
                msg = f"cannot read '{file}': it has a column '{more[0]}' that others have not. Drop it."
                raise InputError(msg)
            for group in range(opened.num_row_groups):
                groups.append((file, group))
                rows.append(opened.metadata.row_group(group).num_rows)
    except (ArrowInvalid, OSError) as error:
        msg = f"cannot read '{path}': it is no Parquet file ({str(error).splitlines()[0]}). Write it anew."
        raise InputError(msg) from error
    if not names:
        msg = f"cannot read '{path}': it has no column of numbers. Check how it was written."
        raise InputError(msg)
    from dask import delayed  # noqa: PLC0415, an extra

    calls = [delayed(read_group)(file, group, names) for file, group in groups]
    return _stacked(calls, rows, len(names), np.dtype(np.float64))


def read_group(path: Path, group: int, names: list[str]) -> FloatArray:
    """Some columns of a row group of a Parquet file; missing values become NaN."""
    from pyarrow import parquet  # noqa: PLC0415, an extra

    table = parquet.ParquetFile(path).read_row_group(group, columns=names)
    return np.column_stack([np.asarray(table[name].to_numpy(), dtype=np.float64) for name in names])


def _joined(read: Any, path: Path, ranges: list[tuple[int, int]], n_features: int, kind: Any) -> Any:
    from dask import delayed  # noqa: PLC0415, an extra

    calls = [delayed(read)(path, start, stop) for start, stop in ranges]
    return _stacked(calls, [stop - start for start, stop in ranges], n_features, kind)


def _stacked(calls: list[Any], rows: list[int], n_features: int, kind: Any) -> Any:
    import dask.array as da  # noqa: PLC0415, an extra

    parts = [
        da.from_delayed(call, shape=(count, n_features), dtype=kind) for call, count in zip(calls, rows, strict=True)
    ]
    return da.concatenate(parts) if parts else da.zeros((0, n_features))
