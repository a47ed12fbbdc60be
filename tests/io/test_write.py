"""Coordinates in files: columns in order, the same bits, whole or not at all."""

import importlib
import io
import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from hne.exceptions import InputError, MissingExtraError
from hne.io import Coordinates, check_output_ending, read_table, write_coordinates

Y = np.array([[0.1, -2.0], [np.nan, np.nan], [1e-300, 3.0]])
FULL = Coordinates(
    Y=Y,
    ids=("a", 'b "two"', "c,d"),
    id_name="sample",
    labels={
        "kind": np.array(["x", None, "ü"], dtype=object),
        "age": np.array([1, 2, 3]),
        "q": np.array([0.5, np.nan, 1]),
    },
    rows=np.array([1, 2, 5]),
)
NAMES = ["row", "sample", "kind", "age", "q", "hne1", "hne2"]


def test_csv_has_columns_in_order_and_nothing_where_nothing_is(tmp_path):
    write_coordinates(tmp_path / "y.csv", FULL)
    assert (tmp_path / "y.csv").read_text(encoding="utf-8") == (
        'row,sample,kind,age,q,hne1,hne2\n1,a,x,1,0.5,0.1,-2.0\n2,"b ""two""",,2,,,\n5,"c,d",ü,3,1.0,1e-300,3.0\n'
    )
    write_coordinates(tmp_path / "y.tsv", FULL)
    assert (tmp_path / "y.tsv").read_text(encoding="utf-8").splitlines()[0] == "\t".join(NAMES)


@pytest.mark.parametrize("path", [None, "-"])
def test_without_a_path_csv_goes_to_the_stream(path, capsys):
    stream = io.StringIO()
    write_coordinates(path, Coordinates(Y=Y), stream)
    assert stream.getvalue() == "hne1,hne2\n0.1,-2.0\n,\n1e-300,3.0\n"
    write_coordinates(path, Coordinates(Y=Y, names=("u", "v")))
    assert capsys.readouterr().out == "u,v\n0.1,-2.0\n,\n1e-300,3.0\n"


def test_json_is_a_list_of_records_for_pandas(tmp_path):
    write_coordinates(tmp_path / "y.json", FULL)
    records = json.loads((tmp_path / "y.json").read_text(encoding="utf-8"))
    assert records[1] == dict(zip(NAMES, [2, 'b "two"', None, 2, None, None, None], strict=True))
    frame = pd.read_json(tmp_path / "y.json", precise_float=True)
    assert list(frame) == NAMES
    np.testing.assert_array_equal(frame[["hne1", "hne2"]], Y)
    write_coordinates(tmp_path / "y.json", Coordinates(Y=np.array([[np.inf, -np.inf]])))
    assert json.loads((tmp_path / "y.json").read_text()) == [{"hne1": None, "hne2": None}]


@pytest.mark.parametrize("ending", [".parquet", ".feather", ".arrow"])
def test_columnar_files_keep_kinds_and_nulls(tmp_path, ending):
    path = tmp_path / f"y{ending}"
    write_coordinates(path, FULL)
    frame = pd.read_parquet(path) if ending == ".parquet" else pd.read_feather(path)
    assert list(frame) == NAMES
    np.testing.assert_array_equal(frame[["hne1", "hne2"]], Y)
    assert frame["kind"].isna().tolist() == [False, True, False]
    assert frame["kind"].dropna().tolist() == ["x", "ü"]
    assert frame["age"].dtype == np.int64


def test_npy_has_the_coordinates_alone(tmp_path):
    write_coordinates(tmp_path / "y.npy", FULL)
    np.testing.assert_array_equal(np.load(tmp_path / "y.npy"), Y)
    assert [path.name for path in tmp_path.iterdir()] == ["y.npy"]


def test_columns_of_one_name_are_all_there():
    stream = io.StringIO()
    labels = {"hne1": np.array(["a"]), "row": np.array([7.0]), "hne1_2": np.array(["b"])}
    write_coordinates(None, Coordinates(Y=Y[:1], ids=("i",), id_name="hne2", labels=labels, rows=np.array([4])), stream)
    assert stream.getvalue() == "row,hne2_2,hne1_2,row_2,hne1_2_2,hne1,hne2\n4,i,a,7,b,0.1,-2.0\n"


@settings(max_examples=20)
@given(hnp.arrays(np.float64, st.tuples(st.integers(1, 20), st.integers(1, 4))))
def test_numbers_come_back_to_the_bit(tmp_path_factory, values):
    folder = tmp_path_factory.mktemp("bits")
    for ending in (".csv", ".npy", ".parquet"):
        write_coordinates(folder / f"y{ending}", Coordinates(Y=values))
        X = read_table(folder / f"y{ending}").X
        if ending != ".npy":
            # Columns and rows at the end that hold nothing are not read.
            kept = ~np.isnan(values)
            if kept.any(axis=1)[-1] and kept.any(axis=0).all() and values.shape[1] > 1:
                np.testing.assert_array_equal(X[kept].view(np.int64), values[kept].view(np.int64))
        else:
            assert X.tobytes() == values.tobytes()


def test_single_precision_prints_its_own_digits():
    stream = io.StringIO()
    write_coordinates(None, Coordinates(Y=np.array([[0.1, 0.2]], dtype=np.float32)), stream)
    assert stream.getvalue() == "hne1,hne2\n0.1,0.2\n"


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
def test_labels_of_whole_numbers_are_whole_in_any_precision(kind):
    stream = io.StringIO()
    labels = {"year": np.array([2024, np.nan], dtype=kind)}
    write_coordinates(None, Coordinates(Y=np.array([[0.5], [1.5]]), labels=labels), stream)
    assert stream.getvalue() == "year,hne1\n2024,0.5\n,1.5\n"


def test_endings_are_checked_before_anything_is_computed(tmp_path):
    check_output_ending(None)
    check_output_ending("-")
    check_output_ending("~/y.CSV")
    with pytest.raises(InputError, match=r"endings \.csv, .*, got the ending '\.xlsx'\."):
        check_output_ending("y.xlsx")
    with pytest.raises(InputError, match=r"the endings .*, got none\. Choose one"):
        write_coordinates(tmp_path.parent.joinpath("result").name, FULL)
    with pytest.raises(InputError, match=r"cannot write '.*y\.csv': no such file or"):
        write_coordinates(tmp_path / "nowhere" / "y.csv", FULL)


def test_a_missing_library_is_told_before_anything_is_computed(monkeypatch):
    def missing(name):
        raise ImportError(name)

    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(MissingExtraError, match=r"^writing 'y\.parquet' needs pyarrow, got none .*'hne\[io\]'\."):
        check_output_ending("y.parquet")
