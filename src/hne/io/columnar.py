"""Parquet, Arrow and Feather files -> Table."""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hne._runtime.progress import track
from hne.exceptions import InputError, quoted, shortened
from hne.io.files import File, check_fits, extra, reason_of
from hne.io.roles import LABEL, LISTED, NUMBER, TEXT, assign_roles
from hne.io.table import TEXT_BYTES, ReadOptions, Table, as_label, build_table, with_gaps

UNNAMED_INDEX = "__index_level_"
# A kind beside those of roles: columns of lists of numbers.
LIST = "list"


def read_columnar(file: File, options: ReadOptions) -> Table:
    """Read a Parquet, Arrow or Feather file."""
    with _opened(file) as stored:
        if options.transpose:
            file.refuse("has samples as rows, as tables with named columns do", "transpose=True", "Leave it out")
        widths = stored.list_widths()
        names, kinds, index, notices = _describe(stored, widths)
        keys = stored.schema.names

        def is_unique(i: int) -> bool:
            return keys[i] not in widths and stored.is_unique(keys[i])

        roles = assign_roles(file, names, kinds, options, is_unique, index)
        if roles.color is not None and keys[roles.color] in widths:
            rule = "must have a number or a text in each row of the column to color by"
            file.refuse(rule, f"lists in {quoted(keys[roles.color])}", "Choose another `color`")
        features = [keys[i] for i in roles.features]
        labels = tuple(i for i in roles.labels if kinds[i] != "" and keys[i] not in widths)
        n_features = sum(widths.get(name, 1) for name in features)
        size = stored.n_rows * (8 * n_features + TEXT_BYTES * (len(labels) + 1))
        check_fits(file, size, stored.n_rows, n_features)
        X, feature_names = stored.matrix(features, widths)
        return build_table(
            file,
            options,
            replace(roles, labels=labels),
            names,
            lambda i: stored.values(keys[i]),
            X=X,
            feature_names=feature_names,
            source=stored.source,
            notices=notices,
        )


@dataclass(frozen=True, kw_only=True)
class _Stored:
    """A table that waits to be read: names and types of its columns, and batches of some of them."""

    arrow: Any  # the module pyarrow
    source: str
    schema: Any
    n_rows: int
    batches: Callable[[list[str]], Iterator[Any]]

    def kind(self, kind: Any) -> str:
        """Kind of a column of that type: NUMBER, LIST of numbers, TEXT for what can be told as text, or none."""
        types = self.arrow.types
        is_list = types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)
        number = kind.value_type if is_list else kind
        if types.is_integer(number) or types.is_floating(number) or types.is_decimal(number):
            return LIST if is_list else NUMBER
        tests = (types.is_string, types.is_large_string, types.is_dictionary, types.is_boolean, types.is_temporal)
        is_text = any(test(kind) for test in tests) or types.is_null(kind) or str(kind) == "string_view"
        return TEXT if is_text else ""

    def list_widths(self) -> dict[str, int]:
        """Lengths of the lists in columns of them; 0 where they differ."""
        compute = extra("pyarrow.compute", "reading lists")
        widths = {}
        for name in [column.name for column in self.schema if self.kind(column.type) == LIST]:
            lengths = set(compute.unique(compute.list_value_length(self.column(name))).to_pylist()) - {None}
            widths[name] = int(lengths.pop()) if len(lengths) == 1 else 0
        return widths

    def column(self, name: str) -> Any:
        """A column in chunks."""
        parts = [batch.column(0) for batch in self.batches([name])]
        self.check_length(sum(map(len, parts)))
        return self.arrow.chunked_array(parts, type=self.schema.field(name).type)

    def is_unique(self, name: str) -> bool:
        """Whether texts, or whole numbers, differ from each other."""
        values = self.column(name).to_pylist()
        return len(set(values)) == len(values) and all(isinstance(value, int | str) for value in values)

    def values(self, name: str) -> NDArray[Any]:
        """A column beside the features: numbers, whole ones exact, or text with None."""
        column = self.column(name)
        if self.arrow.types.is_integer(column.type):
            zero = self.arrow.scalar(0, type=column.type)
            return with_gaps(column.fill_null(zero).to_numpy(), column.is_null().to_numpy())
        if self.kind(column.type) == NUMBER:
            return self.floats(column)
        return as_label(np.array([*column.to_pylist(), None], dtype=object)[:-1])

    def floats(self, column: Any) -> NDArray[Any]:
        """Numbers as float64; integers beyond 2^53 lose digits."""
        values: NDArray[Any] = np.asarray(column.cast(self.arrow.float64(), safe=False))
        return values

    def matrix(self, names: Sequence[str], widths: dict[str, int]) -> tuple[NDArray[Any], tuple[str, ...]]:
        """Features, filled batch by batch, and their names; lists give one for each of their entries."""
        spread = [[f"{name}_{i + 1}" for i in range(widths[name])] if name in widths else [name] for name in names]
        kinds = [self.schema.field(name).type for name in names]
        single = all(getattr(kind, "value_type", kind) == self.arrow.float32() for kind in kinds)
        X = np.empty((self.n_rows, sum(map(len, spread))), dtype=np.float32 if single else np.float64)
        start = 0
        for batch in track("batches", self.batches(list(names))):
            place = 0
            for name, features in zip(names, spread, strict=True):
                column, width = batch.column(name), len(features)
                if name not in widths:
                    values = self.floats(column)
                elif not column.null_count:
                    values = self.floats(column.flatten())
                else:
                    gap = [np.nan] * width
                    rows = [gap if value is None else value for value in column.to_pylist()]
                    values = np.array(rows, dtype=np.float64)
                X[start : start + batch.num_rows, place : place + width] = values.reshape(-1, width)
                place += width
            start += batch.num_rows
        self.check_length(start)
        return X, tuple(name for features in spread for name in features)

    def check_length(self, length: int) -> None:
        """Raise where a column is shorter or longer than the file says: Arrow reads each by itself."""
        if length != self.n_rows:
            msg = f"a column of {length} rows, not {self.n_rows}"
            raise ValueError(msg)


@contextmanager
def _opened(file: File) -> Iterator[_Stored]:
    arrow = extra("pyarrow", f"reading {file.title}")
    wants_parquet = file.path.suffix.lower() in (".parquet", ".pq")
    try:
        with ExitStack() as stack:
            with file.path.open("rb") as stream:
                is_parquet = stream.read(4) == b"PAR1"
            yield (_parquet if is_parquet or wants_parquet else _ipc)(file, arrow, stack)
    except InputError:
        raise
    except (arrow.ArrowException, OSError, LookupError, TypeError, ValueError) as error:
        kind = "a Parquet" if wants_parquet else "an Arrow"
        file.refuse(f"must be {kind} file", f"one that cannot be read ({reason_of(error)})", "Write or copy it again")


def _parquet(file: File, arrow: Any, stack: ExitStack) -> _Stored:
    table = stack.enter_context(extra("pyarrow.parquet", f"reading {file.title}").ParquetFile(file.path))
    return _Stored(
        arrow=arrow,
        source="Parquet",
        schema=table.schema_arrow,
        n_rows=table.metadata.num_rows,
        batches=lambda names: table.iter_batches(columns=names),
    )


def _ipc(file: File, arrow: Any, stack: ExitStack) -> _Stored:
    ipc = extra("pyarrow.ipc", f"reading {file.title}")
    mapped = stack.enter_context(arrow.memory_map(str(file.path)))
    head = mapped.read(6)
    mapped.seek(0)
    if head == b"ARROW1":
        table = ipc.open_file(mapped).read_all()
    elif head.startswith(b"FEA1"):
        table = extra("pyarrow.feather", f"reading {file.title}").read_table(str(file.path))
    else:
        table = ipc.open_stream(mapped).read_all()
    # Arrow believes what a file says of its own offsets: a damaged one would be read beyond its end.
    table.validate(full=True)
    return _Stored(
        arrow=arrow,
        source="Arrow",
        schema=table.schema,
        n_rows=table.num_rows,
        batches=lambda names: iter(table.select(names).to_batches()),
    )


def _describe(stored: _Stored, widths: dict[str, int]) -> tuple[list[str], list[str], int | None, list[str]]:
    """Names and kinds of the columns, which one is the index of pandas, and what is left out."""
    schema = stored.schema
    kinds = [stored.kind(column.type) for column in schema]
    kinds = [(NUMBER if widths[name] else "") if name in widths else kinds[i] for i, name in enumerate(schema.names)]
    left = [
        f"{quoted(schema.names[i])} ({shortened(str(schema.types[i]))})" for i, kind in enumerate(kinds) if not kind
    ]
    more = ", ..." if len(left) > LISTED else ""
    rest = f"Columns that are neither numbers nor text are left out: {', '.join(left[:LISTED])}{more}."
    pandas = (schema.metadata or {}).get(b"pandas")
    declared = [name for name in json.loads(pandas).get("index_columns", []) if isinstance(name, str)] if pandas else []
    index_names = declared or [name for name in schema.names if name.startswith(UNNAMED_INDEX)]
    index = [schema.names.index(name) for name in index_names if name in schema.names]
    for place in index:
        kinds[place] = LABEL
    names = ["id" if name.startswith(UNNAMED_INDEX) and "id" not in schema.names else name for name in schema.names]
    return names, kinds, index[0] if index else None, [rest] if left else []
