"""Parquet, Arrow and Feather files -> Table."""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hne._runtime.progress import track
from hne.exceptions import quoted, shortened
from hne.io.files import TEXT_BYTES, UNREADABLE, File, ReadOptions, extra
from hne.io.table import LABEL, NUMBER, TEXT, Table, as_label, assign_roles, build_table, listed, with_gaps

UNNAMED_INDEX = "__index_level_"
# A kind beside those of roles: columns of lists of numbers.
LIST = "list"


def read_columnar(file: File, options: ReadOptions) -> Table:
    """Read a Parquet, Arrow or Feather file."""
    with _opened(file) as stored:
        if options.transpose:
            file.refuse("has samples as rows, as tables with named columns do", "transpose=True", "Leave it out")
        keys, kinds = stored.schema.names, [stored.kind(column.type) for column in stored.schema]
        widths = {key: stored.list_width(key) for key, kind in zip(keys, kinds, strict=True) if kind == LIST}
        # Lists of one length are so many features each; others, and what cannot be told as text, are left out.
        kinds = [(NUMBER if widths[key] else "") if key in widths else kinds[i] for i, key in enumerate(keys)]
        left = [
            f"{quoted(keys[i])} ({shortened(str(stored.schema.types[i]))})" for i, kind in enumerate(kinds) if not kind
        ]
        rest = f"Columns that are neither numbers nor text are left out: {listed(left, str)}."
        pandas = json.loads((stored.schema.metadata or {}).get(b"pandas") or "{}")
        declared = [key for key in pandas.get("index_columns", []) if isinstance(key, str)]
        index_keys = declared or [key for key in keys if key.startswith(UNNAMED_INDEX)]
        index = [keys.index(key) for key in index_keys if key in keys]
        for i in index:
            kinds[i] = LABEL
        names = ["id" if key.startswith(UNNAMED_INDEX) and "id" not in keys else key for key in keys]

        def is_unique(i: int) -> bool:
            values = [] if keys[i] in widths else stored.column(keys[i]).to_pylist()
            is_whole = all(isinstance(value, int | str) for value in values)
            return keys[i] not in widths and is_whole and len(set(values)) == len(values)

        roles = assign_roles(file, names, kinds, options, is_unique, index[0] if index else None)
        if roles.color is not None and keys[roles.color] in widths:
            rule = "must have a number or a text in each row of the column to color by"
            file.refuse(rule, f"lists in {quoted(keys[roles.color])}", "Choose another `color`")
        roles = replace(roles, labels=tuple(i for i in roles.labels if kinds[i] and keys[i] not in widths))
        features = [keys[i] for i in roles.features]
        n_features = sum(widths.get(key, 1) for key in features)
        size = stored.n_rows * (8 * n_features + TEXT_BYTES * (len(roles.labels) + 1))
        file.check_fits(size, stored.n_rows, n_features)
        X, feature_names = stored.matrix(features, widths)
        return build_table(
            file, options, roles, names, lambda i: stored.values(keys[i]), X=X, feature_names=feature_names,
            source=stored.source, notices=[rest] if left else [],
        )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class _Stored:
    """A table that waits to be read: names and types of its columns, and batches of some of them."""

    arrow: Any  # the module pyarrow
    source: str
    schema: Any
    n_rows: int
    read: Callable[[list[str]], Iterator[Any]]

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

    def list_width(self, name: str) -> int:
        """Length of the lists in a column of them; 0 where they differ."""
        compute = extra("pyarrow.compute", "reading lists")
        lengths = set(compute.unique(compute.list_value_length(self.column(name))).to_pylist()) - {None}
        return int(lengths.pop()) if len(lengths) == 1 else 0

    def batches(self, names: Sequence[str]) -> Iterator[Any]:
        """Rows of some columns; these must have as many as the file says, for Arrow reads each by itself."""
        n_rows = 0
        for batch in self.read(list(names)):
            n_rows += batch.num_rows
            yield batch
        if n_rows != self.n_rows:
            msg = f"a column of {n_rows} rows, not {self.n_rows}"
            raise ValueError(msg)

    def column(self, name: str) -> Any:
        """A column in chunks."""
        parts = [batch.column(0) for batch in self.batches([name])]
        return self.arrow.chunked_array(parts, type=self.schema.field(name).type)

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
        return np.asarray(column.cast(self.arrow.float64(), safe=False))

    def matrix(self, names: Sequence[str], widths: dict[str, int]) -> tuple[NDArray[Any], tuple[str, ...]]:
        """Features, filled batch by batch, and their names; lists give one for each of their entries."""
        spread = [[f"{name}_{i + 1}" for i in range(widths[name])] if name in widths else [name] for name in names]
        kinds = [self.schema.field(name).type for name in names]
        single = all(getattr(kind, "value_type", kind) == self.arrow.float32() for kind in kinds)
        X = np.empty((self.n_rows, sum(map(len, spread))), dtype=np.float32 if single else np.float64)
        start = 0
        for batch in track("batches", self.batches(names)):
            place = 0
            for name, features in zip(names, spread, strict=True):
                column, width = batch.column(name), len(features)
                if name not in widths or not column.null_count:
                    values = self.floats(column.flatten() if name in widths else column)
                else:
                    rows = [[np.nan] * width if value is None else value for value in column.to_pylist()]
                    values = np.array(rows, dtype=np.float64)
                X[start : start + batch.num_rows, place : place + width] = values.reshape(-1, width)
                place += width
            start += batch.num_rows
        return X, tuple(name for features in spread for name in features)


@contextmanager
def _opened(file: File) -> Iterator[_Stored]:
    purpose = f"reading {file.title}"
    arrow = extra("pyarrow", purpose)
    wants_parquet = file.path.suffix.lower() in (".parquet", ".pq")
    kind = "a Parquet file" if wants_parquet else "an Arrow file"
    with file.reading(kind, (*UNREADABLE, arrow.ArrowException)), ExitStack() as stack:
        with file.path.open("rb") as stream:
            head = stream.read(6)
        if wants_parquet or head.startswith(b"PAR1"):
            parquet = stack.enter_context(extra("pyarrow.parquet", purpose).ParquetFile(file.path))
            schema, n_rows = parquet.schema_arrow, parquet.metadata.num_rows
            read = lambda names: parquet.iter_batches(columns=names)  # noqa: E731
            yield _Stored(arrow=arrow, source="Parquet", schema=schema, n_rows=n_rows, read=read)
            return
        ipc, mapped = extra("pyarrow.ipc", purpose), stack.enter_context(arrow.memory_map(str(file.path)))
        if head.startswith(b"FEA1"):
            table = extra("pyarrow.feather", purpose).read_table(str(file.path))
        else:
            table = (ipc.open_file if head == b"ARROW1" else ipc.open_stream)(mapped).read_all()
        # Arrow believes what a file says of its own offsets: a damaged one would be read beyond its end.
        table.validate(full=True)
        read = lambda names: iter(table.select(names).to_batches())  # noqa: E731
        yield _Stored(arrow=arrow, source="Arrow", schema=table.schema, n_rows=table.num_rows, read=read)
