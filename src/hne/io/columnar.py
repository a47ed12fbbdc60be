"""Parquet, Arrow and Feather files -> Table."""

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hne._runtime.progress import track
from hne.exceptions import InputError, quoted, shortened
from hne.io.arrow import Columns, is_list, is_number, is_text, is_unique, label, numbers, value_type, values_of
from hne.io.finish import shaped
from hne.io.labels import as_ids
from hne.io.mat_values import reason_of
from hne.io.names import LISTED
from hne.io.record import Outline, ReadOptions, Table
from hne.io.selection import LABEL, NUMBER, TEXT, Roles, assigned_roles
from hne.io.sources import File, extra

UNNAMED_INDEX = "__index_level_"


def read_columnar(file: File, choices: ReadOptions) -> Table:
    """Read a Parquet, Arrow or Feather file."""
    with _opened(file) as columns:
        _check_turned(file, choices)
        widths = _widths(columns)
        names, kinds, index, notices = _described(columns, widths)
        roles = assigned_roles(
            file, names, kinds, choices, lambda i: is_unique(values_of(columns, columns.schema.names[i])), index
        )
        stored = columns.schema.names
        _check_colored(file, roles, stored, widths)
        X, features = _matrix(columns, roles, widths)
        beside = [i for i in roles.labels if kinds[i] != "" and stored[i] not in widths]
        identity = None if roles.id is None else as_ids(label(columns, stored[roles.id]))
        labels = {names[i]: label(columns, stored[i]) for i in beside}
        for length in [*map(len, labels.values()), *([] if identity is None else [len(identity)])]:
            _check_length(columns, length)
        table = Table(
            X=X,
            feature_names=features,
            source=columns.source,
            ids=identity,
            id_name="id" if roles.id is None else names[roles.id],
            labels=labels,
            color=None if roles.color is None else names[roles.color],
            notices=(*notices, *roles.notices),
        )
        return shaped(file, table, choices)


def outline_columnar(file: File, choices: ReadOptions) -> Outline:
    """Foresee a table from its schema."""
    with _opened(file) as columns:
        widths = _widths(columns)
        names, kinds, index, _ = _described(columns, widths)
        roles = assigned_roles(file, names, kinds, choices, lambda _: False, index)
        n_features = sum(widths.get(names[i], 1) for i in roles.features)
        size = columns.n_rows * (8 * n_features + 72 * (len(roles.labels) + (roles.id is not None)))
        return Outline(
            n_samples=columns.n_rows, n_features=n_features, is_exact=True, bytes=size, source=columns.source
        )


def _check_turned(file: File, choices: ReadOptions) -> None:
    if choices.transpose:
        msg = "has samples as rows, as tables with named columns do, got --transpose. Leave it out."
        raise file.error(msg)


def _check_colored(file: File, roles: Roles, names: list[str], widths: dict[str, int]) -> None:
    if roles.color is not None and names[roles.color] in widths:
        got = f"lists in {quoted(names[roles.color])}"
        msg = f"must have a number or a text in each row of the column to color by, got {got}. Choose another --color."
        raise file.error(msg)


@contextmanager
def _opened(file: File) -> Iterator[Columns]:
    arrow = extra("pyarrow", f"reading {file.title}")
    try:
        with ExitStack() as stack:
            with file.path.open("rb") as stream:
                is_parquet = stream.read(4) == b"PAR1"
            wants_parquet = file.path.suffix.lower() in (".parquet", ".pq")
            yield (_parquet if is_parquet or wants_parquet else _ipc)(file, arrow, stack)
    except InputError:
        raise
    except (arrow.ArrowException, OSError, LookupError, TypeError, ValueError) as error:
        kind = "a Parquet" if wants_parquet else "an Arrow"
        msg = f"must be {kind} file, got one that cannot be read ({reason_of(error)}). Write or copy it again."
        raise file.error(msg) from error


def _parquet(file: File, arrow: Any, stack: ExitStack) -> Columns:
    table = stack.enter_context(extra("pyarrow.parquet", f"reading {file.title}").ParquetFile(file.path))
    return Columns(
        arrow=arrow,
        source="Parquet",
        schema=table.schema_arrow,
        n_rows=table.metadata.num_rows,
        batches=lambda names: table.iter_batches(columns=names),
    )


def _ipc(file: File, arrow: Any, stack: ExitStack) -> Columns:
    ipc = extra("pyarrow.ipc", f"reading {file.title}")
    mapped = stack.enter_context(arrow.memory_map(str(file.path)))
    head = mapped.read(6)
    mapped.seek(0)
    if head == b"ARROW1":
        reader = ipc.open_file(mapped)
        held = [reader.get_batch(i) for i in range(reader.num_record_batches)]
        schema = reader.schema
    elif head.startswith(b"FEA1"):
        table = extra("pyarrow.feather", f"reading {file.title}").read_table(str(file.path))
        held, schema = table.to_batches(), table.schema
    else:
        reader = ipc.open_stream(mapped)
        held, schema = list(reader), reader.schema
    for batch in held:
        # Arrow believes what a file says of its own offsets: a damaged one would be read beyond its end.
        batch.validate(full=True)
    return Columns(
        arrow=arrow,
        source="Arrow",
        schema=schema,
        n_rows=sum(batch.num_rows for batch in held),
        batches=lambda names: (batch.select(names) for batch in held),
    )


def _widths(columns: Columns) -> dict[str, int]:
    """Lengths of the lists in columns of them; 0 where they differ."""
    compute = extra("pyarrow.compute", "reading lists")
    widths = {}
    for column in columns.schema:
        if is_list(columns.arrow, column.type):
            batches = columns.batches([column.name])
            found = [compute.unique(compute.list_value_length(batch.column(0))).to_pylist() for batch in batches]
            lengths = {length for some in found for length in some if length is not None}
            widths[column.name] = int(lengths.pop()) if len(lengths) == 1 else 0
    return widths


def _described(columns: Columns, widths: dict[str, int]) -> tuple[list[str], list[str], int | None, tuple[str, ...]]:
    """Names and kinds of the columns, which one is the index of pandas, and what is left out."""
    arrow, schema = columns.arrow, columns.schema
    kinds, left = [], []
    for column in schema:
        if widths.get(column.name) or is_number(arrow, column.type):
            kinds.append(NUMBER)
        elif is_text(arrow, column.type):
            kinds.append(TEXT)
        else:
            kinds.append("")
            left.append(f"{quoted(column.name)} ({shortened(str(column.type))})")
    more = ", ..." if len(left) > LISTED else ""
    rest = f"Columns that are neither numbers nor text are left out: {', '.join(left[:LISTED])}{more}."
    notices = (rest,) if left else ()
    index = [schema.names.index(name) for name in _index_names(schema) if name in schema.names]
    for place in index:
        kinds[place] = LABEL
    names = ["id" if name.startswith(UNNAMED_INDEX) and "id" not in schema.names else name for name in schema.names]
    return names, kinds, index[0] if index else None, notices


def _index_names(schema: Any) -> list[str]:
    stored = (schema.metadata or {}).get(b"pandas")
    names = json.loads(stored).get("index_columns", []) if stored else []
    named = [name for name in names if isinstance(name, str)]
    return named or [name for name in schema.names if name.startswith(UNNAMED_INDEX)]


def _matrix(columns: Columns, roles: Roles, widths: dict[str, int]) -> tuple[NDArray[Any], tuple[str, ...]]:
    """Features, filled batch by batch, and their names; lists give one for each of their entries."""
    stored = [columns.schema.names[i] for i in roles.features]
    names: list[str] = []
    for name in stored:
        names += [f"{name}_{i + 1}" for i in range(widths[name])] if name in widths else [name]
    single = all(value_type(columns, name) == columns.arrow.float32() for name in stored)
    X = np.empty((columns.n_rows, len(names)), dtype=np.float32 if single else np.float64)
    start = 0
    for batch in track("batches", columns.batches(stored)):
        place = 0
        for name in stored:
            width = widths.get(name, 1)
            values = numbers(columns, batch.column(name), widths.get(name))
            X[start : start + batch.num_rows, place : place + width] = values.reshape(-1, width)
            place += width
        start += batch.num_rows
    _check_length(columns, start)
    return X, tuple(names)


def _check_length(columns: Columns, length: int) -> None:
    """Raise where a column is shorter or longer than the file says: Arrow reads each by itself."""
    if length != columns.n_rows:
        msg = f"a column of {length} rows, not {columns.n_rows}"
        raise ValueError(msg)
