"""Parquet, Arrow and Feather files: kinds of columns, and the index of pandas."""

import datetime as dt
import decimal
import io

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

from hne.exceptions import InputError
from hne.io import ReadOptions, read_table

TABLE = pa.table({
    "Petal.Length": pa.array([1.5, None, 3.5]),
    "count": pa.array([1, None, 3], pa.int32()),
    "price": pa.array([decimal.Decimal("1.25"), None, decimal.Decimal("3.00")]),
    "kind": pa.array(["a", None, "b"]),
    "level": pa.array(["x", "y", "x"]).dictionary_encode(),
    "day": pa.array([dt.date(2020, 1, 2), None, dt.date(2021, 1, 2)]),
    "flag": pa.array([True, None, False]),
    "vector": pa.array([[1.0, 2], [3, 4], [5, 6]]),
    "binary": pa.array([b"a", b"b", b"c"]),
})  # fmt: skip


def write(table, path):
    """Write a table in the kind that the path names."""
    if path.suffix in (".parquet", ".pq"):
        pyarrow.parquet.write_table(table, path)
    elif path.suffix == ".feather":
        pyarrow.feather.write_feather(table, path)
    else:
        with pa.ipc.new_file(path, table.schema) as writer:
            writer.write_table(table)
    return path


@pytest.mark.parametrize("name", ["a.parquet", "a.pq", "a.feather", "a.arrow", "a.ipc"])
def test_columns_are_features_or_labels_by_their_kind(tmp_path, name):
    table = read_table(write(TABLE, tmp_path / name))
    nan = np.nan
    np.testing.assert_array_equal(table.X, [[1.5, 1, 1.25, 1, 2], [nan, nan, nan, 3, 4], [3.5, 3, 3, 5, 6]])
    assert table.feature_names == ("Petal.Length", "count", "price", "vector_1", "vector_2")
    assert {label: column.tolist() for label, column in table.labels.items()} == {
        "kind": ["a", None, "b"],
        "level": ["x", "y", "x"],
        "day": ["2020-01-02", None, "2021-01-02"],
        "flag": ["true", None, "false"],
    }
    assert table.notices[:-1] == ("Columns that are neither numbers nor text are left out: 'binary' (binary).",)


def test_standard_input_is_known_by_its_first_bytes(tmp_path):
    for name in ("a.parquet", "a.arrow"):
        content = write(TABLE, tmp_path / name).read_bytes()
        assert read_table("-", stream=io.BytesIO(content)).X.shape == (3, 5)
    stream = io.BytesIO()
    with pa.ipc.new_stream(stream, TABLE.schema) as writer:
        writer.write_table(TABLE)
    assert read_table("-", stream=io.BytesIO(stream.getvalue())).X.shape == (3, 5)


def test_the_index_of_pandas_names_the_samples(tmp_path):
    frame = pd.DataFrame({"x": [1.0, 2], "y": [3.0, 4]}, index=["p", "q"])
    frame.to_parquet(tmp_path / "a.parquet")
    table = read_table(tmp_path / "a.parquet")
    assert (table.ids, table.id_name, table.feature_names) == (("p", "q"), "id", ("x", "y"))
    frame.index = pd.Index([7, 8], name="sensor")
    frame.to_parquet(tmp_path / "a.parquet")
    table = read_table(tmp_path / "a.parquet")
    assert (table.ids, table.id_name) == (("7", "8"), "sensor")
    frame.reset_index(drop=True).to_parquet(tmp_path / "a.parquet")
    assert read_table(tmp_path / "a.parquet").ids is None


def test_polars_and_large_tables_are_read_in_batches(tmp_path):
    values = np.random.default_rng(0).random((200_000, 2)).astype(np.float32)
    pl.DataFrame({"a": values[:, 0], "b": values[:, 1]}).write_parquet(tmp_path / "a.parquet")
    table = read_table(tmp_path / "a.parquet")
    assert table.X.dtype == np.float32
    np.testing.assert_array_equal(table.X, values)


def test_choices_and_names_of_samples_are_as_in_text(tmp_path):
    path = write(pa.table({"id": [1, 2], "x": [0.5, 1.5], "y": [1, 2], "kind": ["a", "b"]}), tmp_path / "a.parquet")
    table = read_table(path)
    assert (table.ids, table.feature_names) == (("1", "2"), ("x", "y"))
    assert table.notices[:-1] == ("Column 'id' names the samples; to use it as a feature, name it in `columns`.",)
    table = read_table(path, ReadOptions(columns=("2-3",), color="y", id="kind"))
    assert (table.ids, table.feature_names) == (("a", "b"), ("x", "y"))
    assert table.labels["y"].tolist() == [1, 2]
    with pytest.raises(InputError, match=r"no such column, got color='kinds'\. Did"):
        read_table(path, ReadOptions(color="kinds"))
    with pytest.raises(InputError, match=r"named columns do, got transpose=True\. Leave"):
        read_table(path, ReadOptions(transpose=True))


def test_lists_of_different_lengths_are_left_out(tmp_path):
    path = write(pa.table({"x": [1.0, 2], "tags": [[1], [2, 3]], "two": [[1, 2], None]}), tmp_path / "a.parquet")
    table = read_table(path)
    np.testing.assert_array_equal(table.X, [[1, 1, 2], [2, np.nan, np.nan]])
    assert "left out: 'tags' (list<" in table.notices[0]


def test_tables_without_numbers_or_with_equal_names_are_told(tmp_path):
    with pytest.raises(InputError, match=r"column of numbers, got text in all"):
        read_table(write(pa.table({"kind": ["a"]}), tmp_path / "a.parquet"))
    equal = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["x", "x"])
    with pytest.raises(InputError, match=r"for each column, got 'x' more than"):
        read_table(write(equal, tmp_path / "a.arrow"))


@pytest.mark.parametrize(
    ("name", "kind"), [("a.parquet", "a Parquet"), ("a.feather", "an Arrow"), ("a.arrow", "an Arrow")]
)
def test_damaged_files_are_told(tmp_path, name, kind):
    path = write(TABLE, tmp_path / name)
    for content in (path.read_bytes()[:300], b"nothing of the kind" * 9):
        path.write_bytes(content)
        with pytest.raises(InputError, match=rf"be {kind} file, got one that cannot"):
            read_table(path)


def test_offsets_beyond_the_file_are_not_followed(tmp_path):
    path = write(pa.table({"x": [1.0, 2, 3], "kind": ["a", "bc", "def"]}), tmp_path / "a.arrow")
    offsets = np.array([0, 1, 3, 6], dtype=np.int32).tobytes()
    content = path.read_bytes()
    assert content.count(offsets) == 1
    path.write_bytes(content.replace(offsets, np.array([0, 1, 10**9, 6], dtype=np.int32).tobytes()))
    with pytest.raises(InputError, match=r"an Arrow file, got one .*offset"):
        read_table(path)


@pytest.mark.parametrize("column", ["a", "text", "id"])
def test_columns_of_unequal_length_are_told(tmp_path, monkeypatch, column):
    path = tmp_path / "x.parquet"
    numbers = {name: np.random.default_rng(0).normal(size=30) for name in "ab"}
    pyarrow.parquet.write_table(
        pa.table({**numbers, "text": ["u", "v"] * 15, "id": [f"s{i}" for i in range(30)]}), path
    )
    whole = pyarrow.parquet.ParquetFile.iter_batches

    def damaged(file, *, columns):
        for batch in whole(file, columns=columns):
            yield batch.slice(0, 20) if column in columns else batch

    monkeypatch.setattr(pyarrow.parquet.ParquetFile, "iter_batches", damaged)
    with pytest.raises(InputError, match=r"a column of 20 rows, not 30"):
        read_table(path)
