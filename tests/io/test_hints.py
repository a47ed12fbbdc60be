"""What is said of columns, and what is foreseen of them before they are read."""

import io

import h5py
import numpy as np
import pytest
from scipy.io import savemat
from scipy.sparse import csr_array, save_npz

from hne.exceptions import InputError
from hne.io import ReadOptions, read_table


def read(content, **choices):
    return read_table("-", ReadOptions(**choices), io.BytesIO(content.encode()))


@pytest.mark.parametrize("cells", [("1,000", "12,345"), ("2,000,000", "1,234.5"), ("-1,000", "7")])
def test_thousands_are_no_decimal_commas(cells):
    rows = "".join(f'{i},"{cell}"\n' for i, cell in enumerate(cells * 3))
    table = read("x,pay\n" + rows)
    assert table.feature_names == ("x",)
    assert f"Column 'pay' is text, not a feature, because of {cells[0]!r} in row 1. Its commas" in table.notices[0]
    assert "separate thousands: remove them to use it as a feature." in table.notices[0]
    assert "--decimal" not in table.notices[0]


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
    with pytest.raises(InputError, match=r"must have the 2 columns of the model, got none called 'width', 'height'"):
        read("1,2,3\n4,5,6.5\n", features=features[:2])
    with pytest.raises(InputError, match=r"must have the 3 columns of the model, got none called 'depth'"):
        read("width,height,d\n4,5,6.5\n", features=features)


def test_few_features_beside_other_columns_are_told():
    assert read("a,b,kind\n1,2,x\n3,4,y\n").notices == ("Features: 'a', 'b'.",)
    assert read("a,b,c\n1,2,3\n3,4,4\n", columns=("a",)).notices == ("Features: 'a'.",)
    assert read("a,b\n1,2\n3,4\n").notices == ()
    assert read("a,b,c\n1,2,3\n3,4,4\n", features=("a",)).notices == ()
    names = [f"f{i}" for i in range(9)]
    assert read(",".join([*names, "kind"]) + "\n" + "1," * 9 + "x\n").notices == ()


def test_rows_that_may_be_images_are_told(tmp_path):
    def said(X, **choices):
        np.save(tmp_path / "x.npy", X)
        return read_table(tmp_path / "x.npy", ReadOptions(**choices)).notices

    assert said(np.ones((3, 1024))) == ("Rows may be images of 32 x 32: add --image-size 32x32 to see them.",)
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
    with pytest.raises(InputError, match=r"has no such column, got --drop zzz"):
        read_table(path, ReadOptions(drop=("zzz",)))


def test_fields_of_records_are_chosen(tmp_path):
    kinds = [("a", "f8"), ("b", "i4"), ("word", "U3"), ("c", "f4"), ("many", "f8", (2,))]
    np.save(tmp_path / "x.npy", np.array([(1, 2, "x", 3.5, (0, 1)), (4, 9, "y", 6.5, (2, 3))], dtype=kinds))
    assert read_table(tmp_path / "x.npy").feature_names == ("a", "b", "c")
    assert read_table(tmp_path / "x.npy", ReadOptions(color="b")).feature_names == ("a", "c")
    table = read_table(tmp_path / "x.npy", ReadOptions(columns=("a", "c"), drop=("c",)))
    assert table.feature_names == ("a",)
