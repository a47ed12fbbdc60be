"""Which columns become features, labels, names of samples and colors, and that their values stay exact."""

import io
import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from hne.exceptions import InputError
from hne.io import Coordinates, ReadOptions, read_table, write_coordinates

LARGE = 2**53 + 1


def read(content, **choices):
    return read_table("-", ReadOptions(**choices), io.BytesIO(content.encode()))


def test_numbers_that_were_not_chosen_are_labels():
    content = "a,b,c,kind\n1,2,3,x\n4,5.5,6,y\n"
    for choices in ({"columns": ("a",)}, {"features": ("a",)}):
        table = read(content, **choices)
        assert table.feature_names == ("a",)
        assert list(table.labels) == ["b", "c", "kind"]
        assert table.labels["b"].tolist() == [2, 5.5]
    assert list(read(content, columns=("a",), drop=("b",)).labels) == ["c", "kind"]


def test_of_a_wide_table_a_hundred_numbers_are_kept_and_the_rest_is_told():
    content = ",".join(f"g{i}" for i in range(300)) + "\n" + ",".join("1" * 300) + "\n"
    table = read(content, columns=("g7",))
    assert len(table.labels) == 100
    assert "Of 299 columns of numbers that are no features, 100 are kept as labels, 199 left out." in table.notices


def test_unchosen_columns_of_a_matrix_are_no_labels(tmp_path):
    np.save(tmp_path / "x.npy", np.eye(4))
    assert read_table(tmp_path / "x.npy", ReadOptions(columns=("1-2",))).labels == {}


@pytest.mark.parametrize("meant", ["size", "2", "si*"])
def test_the_color_is_told_by_name(meant, tmp_path):
    assert read("a,size\n1,2\n3,4\n", color=meant).color == "size"
    pd.DataFrame({"a": [1.5, 2], "size": [3, 4]}).to_parquet(tmp_path / "t.parquet")
    assert read_table(tmp_path / "t.parquet", ReadOptions(color=meant)).color == "size"
    np.save(tmp_path / "t.npy", np.array([(1.5, 3)], dtype=[("a", "f8"), ("size", "i8")]))
    assert read_table(tmp_path / "t.npy", ReadOptions(color=meant)).color == "size"


def test_lists_are_no_color(tmp_path):
    pd.DataFrame({"a": [1.5, 2], "v": [[1.0, 2], [3.0, 4]]}).to_parquet(tmp_path / "t.parquet")
    with pytest.raises(InputError, match=r"in each row of the column to color by, got lists in 'v'\. Choose another"):
        read_table(tmp_path / "t.parquet", ReadOptions(color="v"))
    assert read_table(tmp_path / "t.parquet", ReadOptions(columns=("a",))).labels == {}


@pytest.mark.parametrize("code", ["00500", "007", " 01"])
def test_leading_zeros_make_a_column_of_codes(code):
    table = read(f"x,zip\n1,0\n2,0.5\n3,-0.3\n4,0e5\n5,{code}\n")
    assert table.feature_names == ("x",)
    assert table.labels["zip"].tolist() == ["0", "0.5", "-0.3", "0e5", code.strip()]
    assert "because of" in table.notices[0]
    assert "Digits after a zero are codes" in table.notices[0]
    assert read("x,y\n1,0\n2,0.5\n3,-0.3\n4,0e5\n").feature_names == ("x", "y")


def test_codes_far_below_are_found():
    rows = "".join(f"{i}.5,{10_000 + i % 7}\n" for i in range(500))
    assert read(f"x,zip\n{rows}1.5,00500\n").labels["zip"][-1] == "00500"


@pytest.mark.parametrize(
    "name", ["customer_id", "user_id", "PassengerId", "Customer ID", "kundennr", "orderNo", "a.key"]
)
def test_columns_called_ids_name_the_samples(name):
    table = read(f"x,{name}\n1,17\n2,5\n3,40\n")
    assert (table.id_name, table.ids) == (name, ("17", "5", "40"))


@pytest.mark.parametrize("name", ["acid", "kimono", "index_of_x", "turkey"])
def test_other_names_are_features(name):
    assert read(f"x,{name}\n1,17\n2,5\n3,40\n").feature_names == ("x", name)


def test_ids_beyond_double_precision_stay_exact(tmp_path):
    keys = [LARGE, LARGE + 1, LARGE + 2]
    wanted = tuple(map(str, keys))
    pd.DataFrame({"x": [1.5, 2, 3], "user_id": keys}).to_parquet(tmp_path / "t.parquet")
    assert read_table(tmp_path / "t.parquet").ids == wanted
    records = np.array(list(zip([1.5, 2, 3], keys, strict=True)), dtype=[("x", "f8"), ("user_id", "i8")])
    np.save(tmp_path / "t.npy", records)
    assert read_table(tmp_path / "t.npy").ids == wanted
    content = "x,k\n" + "".join(f"1,{key}\n" for key in keys)
    assert read(content, id="k").ids == wanted
    assert read(content, color="k").labels["k"].tolist() == list(wanted)
    assert read(content, color="k").notices == ("Features: 'x'.",)


def test_an_id_that_is_null_is_empty(tmp_path):
    frame = pd.DataFrame({"x": [1.5, 2, 3], "key": pd.array([100, None, LARGE], dtype="Int64")})
    frame.to_parquet(tmp_path / "t.parquet")
    assert read_table(tmp_path / "t.parquet", ReadOptions(id="key")).ids == ("100", "", str(LARGE))
    assert read_table(tmp_path / "t.parquet", ReadOptions(color="key")).labels["key"].tolist() == [
        "100",
        None,
        str(LARGE),
    ]


def test_integers_of_parquet_stay_integers(tmp_path):
    frame = pd.DataFrame({"x": [1.5, 2], "n": [LARGE, 2], "gap": pd.array([1, None], dtype="Int64")})
    frame.to_parquet(tmp_path / "t.parquet")
    labels = read_table(tmp_path / "t.parquet", ReadOptions(columns=("x",))).labels
    assert labels["n"].tolist() == [LARGE, 2]
    np.testing.assert_array_equal(labels["gap"], [1, np.nan])


WHOLE = {"day": np.array([20240101.0, np.nan]), "n": np.array([1.0, 2.0]), "q": np.array([0.5, 1.0])}


def test_labels_that_are_whole_are_written_so_and_coordinates_are_not(tmp_path):
    coordinates = Coordinates(Y=np.array([[1.0], [2.0]]), labels=WHOLE)
    write_coordinates(tmp_path / "y.csv", coordinates)
    assert (tmp_path / "y.csv").read_text() == "day,n,q,hne1\n20240101,1,0.5,1.0\n,2,1.0,2.0\n"
    write_coordinates(tmp_path / "y.json", coordinates)
    first = json.loads((tmp_path / "y.json").read_text())[0]
    assert [type(value) for value in first.values()] == [int, int, float, float]
    write_coordinates(tmp_path / "y.parquet", coordinates)
    frame = pd.read_parquet(tmp_path / "y.parquet", dtype_backend="pyarrow")
    assert [str(kind) for kind in frame.dtypes] == [
        "int64[pyarrow]",
        "int64[pyarrow]",
        "double[pyarrow]",
        "double[pyarrow]",
    ]


def test_labels_beyond_double_precision_are_no_integers(tmp_path):
    write_coordinates(tmp_path / "y.csv", Coordinates(Y=np.ones((1, 1)), labels={"big": np.array([1e300])}))
    assert (tmp_path / "y.csv").read_text() == "big,hne1\n1e+300,1.0\n"


def test_words_for_missing_values_at_the_end_are_rows():
    table = read("a,b,kind\n1,2,x\nNA,?,-\n")
    assert table.X.shape == (2, 2)
    table = read("a,b,kind\n1,2,x\n,,\n3,4,y\n,,\n ,, \n\n")
    assert table.X.shape == (3, 2)
    assert "Left out 2 empty rows at the end of the file." in table.notices


def test_a_full_disk_is_heard_of(tmp_path):
    code = (
        "import resource, sys, signal, numpy as np; from hne.io import Coordinates;"
        "from hne.io import write_coordinates;"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN); resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024));"
        "write_coordinates(sys.argv[1], Coordinates(Y=np.zeros((100, 2))))"
    )
    done = subprocess.run([sys.executable, "-c", code, tmp_path / "y.npy"], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "cannot write" in done.stderr
    assert list(tmp_path.iterdir()) == []
