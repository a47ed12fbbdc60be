"""Which columns become features, labels, names of samples and colors, what is said of them, that they stay exact."""

import io
import json
import subprocess
import sys

import h5py
import numpy as np
import pandas as pd
import pytest
from scipy.io import savemat
from scipy.sparse import csr_array, save_npz

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
    with pytest.raises(InputError, match=r"to color by, got lists in 'v'\."):
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


RNG = np.random.default_rng(0)


@pytest.fixture
def written(tmp_path):
    """Write columns by name as CSV and read them back."""

    def write(choices=None, **columns):
        path = tmp_path / "table.csv"
        rows = zip(*columns.values(), strict=True)
        path.write_text("\n".join([",".join(columns), *(",".join(map(str, row)) for row in rows)]) + "\n")
        return read_table(path, choices or ReadOptions())

    return write


def features(n=20):
    return {"a": RNG.random(n).round(3), "b": RNG.random(n).round(3)}


def test_a_counter_of_rows_names_the_samples(written):
    table = written(**features(), Lauf=range(1000, 1020))
    assert table.feature_names == ("a", "b")
    assert (table.id_name, table.ids[:2]) == ("Lauf", ("1000", "1001"))
    assert "Column 'Lauf' counts the rows: it names the samples" in table.notices[-2]


def test_a_second_counter_is_a_label(written):
    table = written(**features(), name=[f"s{i}" for i in range(20)], step=range(20))
    assert table.feature_names == ("a", "b")
    assert table.id_name == "name"
    assert table.labels["step"].tolist() == list(range(20))


def test_whole_numbers_called_classes_are_labels(written):
    table = written(**features(), target=[0, 1, 2, 1] * 5)
    assert table.feature_names == ("a", "b")
    assert table.labels["target"].tolist() == [0, 1, 2, 1] * 5
    assert "Column 'target' looks like classes" in table.notices[-2]


def test_measurements_are_features_whatever_they_are_called(written):
    table = written(**features(), y=RNG.random(20), count=RNG.integers(0, 4, 20), label=RNG.permutation(20))
    assert table.feature_names == ("a", "b", "y", "count", "label")


def test_what_the_user_names_is_a_feature(written):
    chosen = ReadOptions(columns=("a", "n", "target"))
    assert written(chosen, **features(), n=range(20), target=[0, 1] * 10).feature_names == ("a", "n", "target")


def test_the_only_feature_stays(written):
    assert written(n=range(20)).feature_names == ("n",)


def test_text_that_differs_in_every_row_names_the_samples(written):
    table = written(**features(), Probe=[f"P{i:03d}" for i in range(20)], kind=["u", "v"] * 10)
    assert (table.id_name, table.ids[1]) == ("Probe", "P001")
    assert list(table.labels) == ["kind"]
    table = written(ReadOptions(color="Probe"), **features(), Probe=[f"P{i:03d}" for i in range(20)])
    assert table.ids is None
    assert list(table.labels) == ["Probe"]


def test_days_are_labels_though_they_differ_in_every_row(written):
    days = [f"2026-01-{day:02d}" for day in range(1, 21)]
    table = written(**features(), date=days)
    assert table.ids is None
    assert table.labels["date"].tolist() == days


@pytest.mark.parametrize("cells", [("1,000", "12,345"), ("2,000,000", "1,234.5"), ("-1,000", "7")])
def test_thousands_are_no_decimal_commas(cells):
    rows = "".join(f'{i},"{cell}"\n' for i, cell in enumerate(cells * 3))
    table = read("x,pay\n" + rows)
    assert table.feature_names == ("x",)
    assert f"Column 'pay' is text, not a feature, because of {cells[0]!r} in row 1. Its commas" in table.notices[0]
    assert "separate thousands: remove them to use it as a feature." in table.notices[0]
    assert "`decimal`" not in table.notices[0]


def test_columns_without_names_are_those_of_the_model_in_order(tmp_path):
    features = ("width", "height", "depth")
    np.save(tmp_path / "x.npy", np.arange(6.0).reshape(2, 3))
    for table in (
        read("1,2,3\n4,5,6.5\n", features=features),
        read_table(tmp_path / "x.npy", ReadOptions(features=features)),
    ):
        assert table.X.shape == (2, 3)
        said = "Columns have no names here: they are taken for the model's, in its order: 'width', 'height', 'depth'."
        assert said in table.notices
    with pytest.raises(InputError, match=r"of the model, got none called 'width',"):
        read("1,2,3\n4,5,6.5\n", features=features[:2])
    with pytest.raises(InputError, match=r"of the model, got none called 'depth'"):
        read("width,height,d\n4,5,6.5\n", features=features)


def test_features_beside_other_columns_are_told():
    assert read("a,b,kind\n1,2,x\n3,4,y\n").notices == ("Features: 'a', 'b'.",)
    assert read("a,b,c\n1,2,3\n3,4,4\n", columns=("a",)).notices == ("Features: 'a'.",)
    assert read("a,b\n1,2\n3,4\n").notices == ()
    assert read("a,b,c\n1,2,3\n3,4,4\n", features=("a",)).notices == ()
    names = [f"f{i}" for i in range(9)]
    assert read(",".join([*names, "kind"]) + "\n" + "1," * 9 + "x\n").notices == ("Features: 9 columns, 'f0' to 'f8'.",)


def test_rows_that_may_be_images_are_told(tmp_path):
    def said(X, **choices):
        np.save(tmp_path / "x.npy", X)
        return read_table(tmp_path / "x.npy", ReadOptions(**choices)).notices

    assert said(np.ones((3, 1024))) == ("Rows may be images of 32 x 32: add image_size=(32, 32) to see them.",)
    assert said(np.ones((3, 1024)), image_size=(32, 32)) == ()
    for other in (-np.ones((3, 1024)), np.ones((3, 65)), np.ones((3, 49)), np.ones((64, 64))):
        assert said(other) == ()


CHOSEN = [
    {"columns": ("2-3",)},
    {"drop": ("x1", "x4")},
    {"features": ("x2", "x3")},
    {"columns": ("x*",), "drop": ("3-4",)},
]


@pytest.mark.parametrize("kind", ["npy", "npz", "sparse", "mat", "h5"])
def test_features_of_arrays_are_chosen(tmp_path, kind):
    path = tmp_path / f"x.{kind.replace('sparse', 'npz')}"
    X = np.arange(20.0).reshape(5, 4) % 7
    if kind == "npy":
        np.save(path, X)
    elif kind == "npz":
        np.savez(path, X=X, kind=np.arange(5))
    elif kind == "sparse":
        save_npz(path, csr_array(X))
    elif kind == "mat":
        savemat(path, {"X": X, "kind": np.arange(5)})
    else:
        with h5py.File(path, "w") as file:
            file["X"] = X
    for options in CHOSEN:
        assert read_table(path, ReadOptions(**options)).X.shape == (5, 2)
    with pytest.raises(InputError, match=r"has no such column, got drop='zzz'"):
        read_table(path, ReadOptions(drop=("zzz",)))


def test_fields_of_records_are_chosen(tmp_path):
    kinds = [("a", "f8"), ("b", "i4"), ("word", "U3"), ("c", "f4"), ("many", "f8", (2,))]
    np.save(tmp_path / "x.npy", np.array([(1, 2, "x", 3.5, (0, 1)), (4, 9, "y", 6.5, (2, 3))], dtype=kinds))
    assert read_table(tmp_path / "x.npy").feature_names == ("a", "b", "c")
    assert read_table(tmp_path / "x.npy", ReadOptions(color="b")).feature_names == ("a", "c")
    table = read_table(tmp_path / "x.npy", ReadOptions(columns=("a", "c"), drop=("c",)))
    assert table.feature_names == ("a",)


def test_names_that_stand_for_several_samples_are_a_label(tmp_path):
    path = tmp_path / "cells.csv"
    path.write_text(",gene\n" + "".join(f"{stage},{i}\n" for i, stage in enumerate(["2 cells", "4 cells"] * 4)))
    table = read_table(path)
    assert table.ids is None
    assert table.labels["label"].tolist() == ["2 cells", "4 cells"] * 4
    assert "Names of samples repeat, 2 of them for 8: they are the label 'label'." in table.notices
    assert not any("names the samples" in notice for notice in table.notices)
    asked = read_table(path, ReadOptions(id="id"))
    assert asked.ids == ("2 cells", "4 cells") * 4
    path.write_text(",gene\n" + "".join(f"{name},{i}\n" for i, name in enumerate("aabcdefg")))
    assert read_table(path).ids == tuple("aabcdefg")
