"""Coordinates -> a file, whole or not at all, or a stream of text."""

import csv
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self, TextIO

import numpy as np
from numpy.typing import NDArray

from hne._runtime.files import atomic_write, expanded
from hne._runtime.progress import step
from hne.core.records import Embedding, FloatArray, IndexArray
from hne.exceptions import refuse
from hne.io.files import STANDARD_INPUT, extra
from hne.io.table import INEXACT, Table, numbered

# Rows that are turned to text at a time.
CHUNK = 10_000


@dataclass(frozen=True, kw_only=True)
class Coordinates:
    """An embedding to be written, with what names and describes its samples."""

    Y: FloatArray  # (n, d); NaN where a sample has no place
    names: tuple[str, ...] = ()  # (d,); empty means hne1, hne2, ...
    ids: tuple[str, ...] | None = None
    id_name: str = "id"
    labels: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    rows: IndexArray | None = None  # rows in the file that was read, from 1, where some were dropped
    # Indices and distances, (n, k), -1 behind the last: a column of columnar files, in the form of Embedding Atlas.
    neighbors: tuple[IndexArray, FloatArray] | None = None

    @classmethod
    def of(cls, table: Table, Y: FloatArray) -> Self:
        """Coordinates of a table's samples, with what it carries along."""
        return cls(Y=Y, ids=table.ids, id_name=table.id_name, labels=table.labels, rows=table.rows)

    @classmethod
    def of_embedding(cls, table: Table, result: Embedding) -> Self:
        """Those of an embedding of a table, with the piece of each sample among its labels where there are several."""
        if result.pieces.count > 1 and "piece" not in table.labels:
            table = replace(table, labels={**table.labels, "piece": result.pieces.labels + 1})
        return cls.of(table, result.Y)

    def columns(self) -> dict[str, NDArray[Any]]:
        """Columns in their order: row, id, labels, coordinates; of those with one name, later ones get a number."""
        axes = self.names or numbered(self.Y.shape[1], "hne")
        columns: dict[str, NDArray[Any]] = {}

        def add(name: str, column: NDArray[Any]) -> None:
            free, number = name, 2
            while free in columns or free in axes:
                free, number = f"{name}_{number}", number + 1
            columns[free] = column

        if self.rows is not None:
            add("row", np.asarray(self.rows))
        if self.ids is not None:
            add(self.id_name, np.array([*self.ids, None], dtype=object)[:-1])
        for name, label in self.labels.items():
            add(name, _whole(np.asarray(label)))
        return columns | {name: self.Y[:, i] for i, name in enumerate(axes)}


def check_output_ending(path: Path | str | None) -> None:
    """Refuse a file whose ending says nothing that could be written, and one whose library is not installed."""
    if path is None or str(path) == STANDARD_INPUT:
        return
    ending = Path(path).suffix.lower()
    if ending not in WRITERS:
        what = f"the ending '{ending}'" if ending else "none"
        refuse(f"'{path}'", f"must have one of the endings {', '.join(WRITERS)}", what, "Choose one of them")
    if ending in COLUMNAR:
        extra("pyarrow", f"writing '{path}'")


def write_coordinates(path: Path | str | None, coordinates: Coordinates, stream: TextIO | None = None) -> None:
    """Write an embedding in the kind that the ending of the path names.

    Columns are, in this order: row (where rows were dropped), id, labels, coordinates. NPY has the coordinates alone,
    JSON is a list of records, which `pandas.read_json` and `pandas.DataFrame` take.

    Parameters
    ----------
    path : Path or str or None
        .csv, .tsv, .npy, .json, .parquet, .arrow or .feather. None and "-" write CSV to the stream.
    coordinates : Coordinates
        What to write.
    stream : text file or None
        Where to write without a path; None means standard output.
    """
    check_output_ending(path)
    if path is None or str(path) == STANDARD_INPUT:
        _write_rows(stream or sys.stdout, coordinates, ",")
        return
    place = expanded(path)
    with atomic_write(place) as temporary:
        WRITERS[place.suffix.lower()](temporary, coordinates)


def _whole(label: NDArray[Any]) -> NDArray[Any]:
    """A label of floats as integers, with None for NaN, where all of them are whole: 20240101, not 20240101.0."""
    if label.dtype.kind != "f":
        return label
    known = ~np.isnan(label)
    # In double precision: half of it has no number as large as the limit.
    values = label[known].astype(np.float64)
    if not len(values) or not (np.abs(values) < INEXACT).all() or not (values == np.rint(values)).all():
        return label
    if known.all():
        return label.astype(np.int64)
    integers = np.full(len(label), None, dtype=object)
    integers[known] = values.astype(np.int64).tolist()
    return integers


def _chunks(columns: Mapping[str, NDArray[Any]], n_samples: int) -> Iterator[list[list[Any]]]:
    """Columns of a chunk of rows after the other, as Python's values; None for what is missing."""
    for start in range(0, n_samples, CHUNK):
        chunk: list[list[Any]] = []
        for column in columns.values():
            part = column[start : start + CHUNK]
            # Python's floats print as the shortest text that gives the same bits back.
            values = [float(str(value)) for value in part] if part.dtype == np.float32 else part.tolist()
            chunk.append([None if value != value else value for value in values])  # noqa: PLR0124, NaN
        yield chunk
        step("rows written", min(start + CHUNK, n_samples), n_samples)


def _write_csv(path: Path, coordinates: Coordinates) -> None:
    with path.open("w", encoding="utf-8", newline="") as stream:
        _write_rows(stream, coordinates, "," if path.suffix.lower() == ".csv" else "\t")


def _write_rows(stream: TextIO, coordinates: Coordinates, separator: str) -> None:
    columns = coordinates.columns()
    # The csv module puts quotes around a \r only where \r ends lines.
    texts = [text for column in columns.values() if column.dtype == object for text in column if isinstance(text, str)]
    has_returns = any("\r" in text for text in [*columns, *texts])
    writer = csv.writer(stream, delimiter=separator, lineterminator="\r\n" if has_returns else "\n")
    writer.writerow(columns)
    for values in _chunks(columns, len(coordinates.Y)):
        writer.writerows(zip(*values, strict=True))


def _write_npy(path: Path, coordinates: Coordinates) -> None:
    Y = np.ascontiguousarray(coordinates.Y)
    with path.open("wb") as stream:
        # np.save leaves the last bytes to C's buffer, and does not hear that a full disk took them not.
        np.lib.format.write_array_header_1_0(stream, np.lib.format.header_data_from_array_1_0(Y))
        stream.write(Y.reshape(-1).view(np.uint8).data)
        stream.flush()
        os.fsync(stream.fileno())


def _write_json(path: Path, coordinates: Coordinates) -> None:
    columns = coordinates.columns()
    encode = json.JSONEncoder(ensure_ascii=False).encode
    infinite = (float("inf"), -float("inf"))
    with path.open("w", encoding="utf-8") as stream:
        stream.write("[")
        before = "\n"
        for chunk in _chunks(columns, len(coordinates.Y)):
            # JSON has no infinity: it is null.
            finite = ([None if value in infinite else value for value in values] for values in chunk)
            records = (dict(zip(columns, row, strict=True)) for row in zip(*finite, strict=True))
            stream.write(before + ",\n".join(map(encode, records)))
            before = ",\n"
        stream.write("\n]\n")


def _write_columnar(path: Path, coordinates: Coordinates) -> None:
    arrow = extra("pyarrow", f"writing '{path}'")
    columns: dict[str, Any] = {}
    for name, column in coordinates.columns().items():
        if column.dtype.kind in "iuf":
            columns[name] = arrow.array(np.ascontiguousarray(column), from_pandas=column.dtype.kind == "f")
        elif any(isinstance(value, int) for value in column.tolist()):
            columns[name] = arrow.array(column.tolist(), type=arrow.int64())
        else:
            texts = [None if value is None else str(value) for value in column.tolist()]
            columns[name] = arrow.array(texts, type=arrow.string())
    if coordinates.neighbors is not None:
        columns[NEIGHBORS] = _neighbor_column(arrow, *coordinates.neighbors)
    if path.suffix.lower() in (".parquet", ".pq"):
        extra("pyarrow.parquet", f"writing '{path}'").write_table(arrow.table(columns), path)
    else:
        extra("pyarrow.feather", f"writing '{path}'").write_feather(arrow.table(columns), str(path))


def _neighbor_column(arrow: Any, indices: IndexArray, distances: FloatArray) -> Any:
    """Of each row {"ids": [...], "distances": [...]}: rows from 0, the nearest first."""
    present = indices >= 0
    ends = arrow.array(np.concatenate([[0], np.cumsum(present.sum(axis=1))]), type=arrow.int32())
    lists = [arrow.ListArray.from_arrays(ends, arrow.array(values[present])) for values in (indices, distances)]
    return arrow.StructArray.from_arrays(lists, names=["ids", "distances"])


NEIGHBORS = "neighbors"
COLUMNAR = (".parquet", ".pq", ".arrow", ".feather")
WRITERS: dict[str, Callable[[Path, Coordinates], None]] = {
    ".csv": _write_csv,
    ".tsv": _write_csv,
    ".npy": _write_npy,
    ".json": _write_json,
    **dict.fromkeys(COLUMNAR, _write_columnar),
}
