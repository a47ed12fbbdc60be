"""Embedding, Details -> the columns that a page carries, and which of them colors it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from hne.core.records import Embedding, IndexArray
from hne.viz.report.details import Details
from hne.viz.report.encoded import (
    MAX_CATEGORIES,
    MAX_LABEL,
    Column,
    codes_kind,
    color_rank,
    encoded,
    numbers,
    shortened,
)

# Values of all columns together (16 MB, a third more as text) and columns that a page carries; some always come.
MAX_VALUES, MAX_COLUMNS, FEWEST_COLUMNS = 4_000_000, 100, 3
MAX_COORDINATES = 20
MAX_ID = 500


@dataclass(frozen=True)
class Points:
    """What is drawn: rows of the embedding, their columns, and what was left out."""

    rows: IndexArray  # (n,), of the embedding, ascending
    columns: tuple[Column, ...]  # coordinates first
    color: int | None  # column to color by at first
    left_out: tuple[str, ...] = field(default=())


def page_columns(result: Embedding, details: Details, rows: IndexArray) -> Points:
    """Columns of the page for these rows of the embedding."""
    columns, left_out = list(_own_columns(result, rows)), [*details.left_out, *_cut(result, details, rows)]
    names = list(details.columns)
    if details.color is not None:
        names.sort(key=lambda name: name != details.color)
    allowed = min(MAX_COLUMNS, max(FEWEST_COLUMNS, MAX_VALUES // max(1, len(rows)) - len(columns)))
    kept = set(names[:allowed])
    if len(names) > allowed:
        left_out.append(
            f"{len(names) - allowed} of {len(names)} columns, to keep the file small: all from "
            f"{shortened(names[allowed], 40)!r} to {shortened(names[-1], 40)!r}."
        )
    chosen = None
    for name, values in details.columns.items():
        if name not in kept:
            continue
        column = encoded(name, np.asarray(values)[rows])
        if column is None:
            left_out.append(f"Column {shortened(name, 40)!r}: more than {MAX_CATEGORIES} different texts.")
            continue
        if any(len(text) == MAX_LABEL and text.endswith("…") for text in column.categories or ()):
            left_out.append(f"Column {shortened(name, 40)!r}: what its texts say beyond {MAX_LABEL} characters.")
        if name == details.color:
            chosen = len(columns)
        columns.append(column)
    return Points(rows, tuple(columns), _first_color(columns) if chosen is None else chosen, tuple(left_out))


def _first_color(columns: Sequence[Column]) -> int | None:
    """The first column of the data that tells samples apart by color, else of the embedding."""
    ranks = {number: color_rank(column) for number, column in enumerate(columns) if column.group == "data"}
    best = min((rank for rank in ranks.values() if rank is not None), default=None)
    if best is not None:
        return next(number for number, rank in ranks.items() if rank == best)
    return next((number for number, column in enumerate(columns) if column.group == "embedding"), None)


def _own_columns(result: Embedding, rows: IndexArray) -> Iterator[Column]:
    """Chart or rescaled coordinates, piece where there are several, and reconstruction error."""
    Y = result.rescaled_Y
    for axis in range(min(Y.shape[1], MAX_COORDINATES)):
        yield Column(f"{result.kind} coordinate {axis + 1}", numbers(Y[rows, axis]), "coordinates")
    if result.pieces.count > 1:
        names = [f"piece {number + 1} (of {size} samples)" for number, size in enumerate(result.pieces.sizes)]
        labels, missing = result.pieces.labels[rows], len(names)
        yield Column("piece", labels.astype(codes_kind(missing)), "embedding", tuple(names))
    yield Column("reconstruction error", numbers(result.reconstruction_errors[rows]), "embedding")


def _cut(result: Embedding, details: Details, rows: IndexArray) -> Iterator[str]:
    """What is said of coordinates that are too many and ids that are too long."""
    d = result.Y.shape[1]
    if d > MAX_COORDINATES:
        yield f"Coordinates {MAX_COORDINATES + 1} to {d}: a page shows the first {MAX_COORDINATES}."
    n_long = 0 if details.ids is None else sum(len(str(details.ids[row])) > MAX_ID for row in rows.tolist())
    if n_long:
        yield f"What {n_long} {'id says' if n_long == 1 else 'ids say'} beyond {MAX_ID} characters."


def point_ids(details: Details, rows: IndexArray) -> list[str] | None:
    """Names of the drawn samples; None where they are just numbered."""
    if details.ids is None:
        return None
    return [shortened(str(details.ids[row]), MAX_ID) for row in rows.tolist()]


def row_numbers(details: Details, rows: IndexArray) -> IndexArray:
    """Numbers, from 1, that these rows of the embedding have in what was read."""
    return rows + 1 if details.rows is None else np.asarray(details.rows)[rows].astype(np.intp)


def thinned(n: int, most: int, keep: Sequence[int], seed: int = 0) -> IndexArray:
    """All rows, or as many as allowed, drawn at random with those that must be among them; ascending."""
    if n <= most:
        return np.arange(n)
    drawn = np.random.default_rng(seed).choice(n, most - len(keep), replace=False)
    return np.union1d(drawn, np.asarray(keep, dtype=np.intp)).astype(np.intp)
