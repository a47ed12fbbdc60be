"""A text table -> Table."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hne.exceptions import quoted
from hne.io.cells import NO_TEXT, first_text, is_number
from hne.io.characters import FALLBACK
from hne.io.dialect import Dialect, dialect_of, with_fallback
from hne.io.finish import finished, shaped
from hne.io.gather import Gathered, gather
from hne.io.names import listed
from hne.io.record import Outline, ReadOptions, Table
from hne.io.remarks import empty_rows_notice, mixed_notice, without_empty
from hne.io.selection import LABEL, NUMBER, TEXT, Roles, assigned_roles
from hne.io.sources import GZIP, File

# A short text in a list: its characters, Python's header, and the place in the list.
TEXT_BYTES = 72


def read_text(file: File, choices: ReadOptions) -> Table:
    """Read a text table."""
    dialect, sample = _checked_dialect(file, choices)
    read = _transposed if choices.transpose else _read
    try:
        return read(file, dialect, sample, choices)
    except UnicodeDecodeError as error:
        if dialect.encoding != "utf-8" or choices.encoding:
            msg = f"must be text, got bytes that are none in {dialect.encoding} ({error.reason}). Name its --encoding."
            raise file.error(msg) from error
    try:
        return read(file, with_fallback(dialect), sample, choices)
    except UnicodeDecodeError as error:
        msg = f"must be text, got bytes that are none in UTF-8 and {FALLBACK}. Name its --encoding, such as latin-1."
        raise file.error(msg) from error


def outline_text(file: File, choices: ReadOptions) -> Outline:
    """Foresee a text table from its size and its beginning."""
    dialect, sample = _checked_dialect(file, choices)
    kinds = _kinds(dialect, sample)
    wanted = replace(choices, columns=(), features=(), drop=(), id=None, color=None) if choices.transpose else choices
    roles = _roles(file, dialect, kinds, wanted, lambda i: _is_unique([row[i] for row in sample]))
    n_rows = len(sample) if dialect.is_whole else max(len(sample), round(_text_bytes(file) / dialect.row_bytes))
    n_texts = len(roles.labels) + (roles.id is not None)
    shape = (n_rows, len(roles.features))
    size = n_rows * (8 * len(roles.features) + TEXT_BYTES * n_texts)
    n_samples, n_features = shape[::-1] if choices.transpose else shape
    return Outline(
        n_samples=n_samples, n_features=n_features, is_exact=dialect.is_whole, bytes=size, source=dialect.source
    )


def _text_bytes(file: File) -> int:
    """Size of the text, of a packed file as its end says."""
    size = file.path.stat().st_size
    with file.path.open("rb") as stream:
        if stream.read(2) != GZIP:
            return size
        stream.seek(-4, 2)
        # The end knows the size modulo 4 GB; text seldom packs worse than to a third.
        return max(int.from_bytes(stream.read(4), "little"), size)


def _checked_dialect(file: File, choices: ReadOptions) -> tuple[Dialect, list[list[str]]]:
    dialect, sample = dialect_of(file, choices)
    if dialect.has_header and not sample and dialect.is_whole:
        got = f"the header alone ({len(dialect.names)} names)"
        msg = f"must have rows below its header, got {got}. Add rows or, if it is data, --no-header."
        raise file.error(msg)
    if len(dialect.names) not in (dialect.n_fields, dialect.n_fields - 1):
        got = f"{len(dialect.names)} names above rows of {dialect.n_fields}"
        msg = f"must have as many names as fields, got {got}. Mend the header, or name the --separator."
        raise file.error(msg)
    return dialect, sample


def _kinds(dialect: Dialect, sample: list[list[str]]) -> list[str]:
    """Kinds of the columns by the first rows."""
    kinds = []
    for place in range(len(dialect.names)):
        cells = (row[place] for row in sample)
        kinds.append(NUMBER if first_text(cells, dialect.decimal) is None else TEXT)
    if dialect.names[0] == "":
        kinds[0] = LABEL
    return kinds


def _roles(
    file: File, dialect: Dialect, kinds: list[str], choices: ReadOptions, is_unique: Callable[[int], bool]
) -> Roles:
    names = list(dialect.names)
    index = None
    if names[0] == "":
        index, names[0] = 0, _free_name(dialect.names)
    return assigned_roles(file, names, kinds, choices, is_unique, index)


def _free_name(names: tuple[str, ...]) -> str:
    return next(name for name in ("id", "row", "index", "unnamed", "-") if name not in names)


def _is_unique(cells: list[str]) -> bool:
    """Whether texts, or whole numbers, differ from each other."""
    if len(set(cells)) < len(cells):
        return False
    return not any("." in cell or "," in cell for cell in cells if is_number(cell) or is_number(cell, ","))


def _read(file: File, dialect: Dialect, sample: list[list[str]], choices: ReadOptions) -> Table:
    """Read with the kinds that the first rows show; read again where later rows show that a column is text."""
    kinds = _kinds(dialect, sample)
    repeated: set[int] = set()
    texts: dict[int, tuple[int, str]] = {}
    while True:
        roles = _roles(
            file, dialect, kinds, choices, lambda i: i not in repeated and _is_unique([row[i] for row in sample])
        )
        gathered = gather(file, dialect, roles, kinds)
        guessed = roles.id is not None and choices.id is None and dialect.names[roles.id] != ""
        texts.update(gathered.turned)
        if gathered.turned:
            _check_chosen(file, dialect, choices, roles, gathered.turned)
            kinds = [TEXT if i in gathered.turned else kind for i, kind in enumerate(kinds)]
        elif guessed and not _is_unique(gathered.columns[int(roles.id or 0)]):
            repeated.add(int(roles.id or 0))
        else:
            return _table(file, dialect, gathered, choices, texts)


def _check_chosen(
    file: File, dialect: Dialect, choices: ReadOptions, roles: Roles, turned: dict[int, tuple[int, str]]
) -> None:
    """Refuse text in a column that the user named as a feature."""
    for i, (row, text) in turned.items():
        if choices.columns and i in roles.features:
            got = f"{quoted(text)} in column {quoted(dialect.names[i])}, row {row}"
            msg = f"must have numbers in features, got {got}. Mend it, or leave the column out of --columns."
            raise file.error(msg)


def _table(
    file: File, dialect: Dialect, gathered: Gathered, choices: ReadOptions, texts: dict[int, tuple[int, str]]
) -> Table:
    names, roles = dialect.names, gathered.roles
    notices = [*dialect.notices, *roles.notices]
    ids = None if roles.id is None else tuple(cell.strip() for cell in gathered.columns.pop(roles.id))
    unnamed = roles.id is not None and names[roles.id] == ""
    if unnamed:
        notices.append("The first column has no name: it names the samples.")
    labels = {}
    for i in roles.labels:
        labels[names[i] or _free_name(names)] = _label(gathered, i)
        notices += mixed_notice(dialect, gathered, i, texts.get(i))
        gathered.columns.pop(i)
    notices += empty_rows_notice(gathered.n_empty)
    table = Table(
        X=gathered.values,
        feature_names=tuple(names[i] for i in roles.features),
        source=dialect.source,
        ids=ids,
        id_name="id" if roles.id is None or unnamed else names[roles.id],
        labels=labels,
        color=None if roles.color is None else names[roles.color] or _free_name(names),
        notices=tuple(notices),
    )
    return shaped(file, without_empty(table, choices), choices)


def _label(gathered: Gathered, i: int) -> NDArray[Any]:
    column = gathered.columns[i]
    if gathered.is_number_beside(i):
        return np.array(column, dtype=np.float64)
    shared: dict[str, str | None] = {}
    for cell in set(column):
        text = cell.strip()
        shared[cell] = None if text in NO_TEXT else text
    return np.array([shared[cell] for cell in column], dtype=object)


def _transposed(file: File, dialect: Dialect, sample: list[list[str]], choices: ReadOptions) -> Table:
    """A table whose columns are samples: its names are those of samples, its first column names the features."""
    table = _read(file, dialect, sample, ReadOptions())
    names, labels = table.ids, dict(table.labels)
    if names is None and labels:
        names = tuple(str(name) for name in labels.pop(next(iter(labels))))
    notices = [notice for notice in table.notices if "names the samples" not in notice]
    if labels:
        notices.append(f"Columns of text are left out of a transposed table: {listed(list(labels))}.")
    return finished(
        file,
        np.ascontiguousarray(table.X.T),
        choices,
        feature_names=names,
        ids=table.feature_names if dialect.has_header else None,
        source=f"{table.source}, transposed",
        notices=tuple(notices),
    )
