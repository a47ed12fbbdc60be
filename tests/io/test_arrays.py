"""NPY, NPZ and MAT files: which array holds the samples, how it lies, and what describes them."""

import io

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.io import savemat
from scipy.sparse import csr_array, issparse, save_npz

from hne.exceptions import InputError
from hne.io import ReadOptions, read_table
from tests.conftest import shared_file

RNG = np.random.default_rng(0)


@pytest.fixture
def npy(tmp_path):
    def write(array):
        np.save(tmp_path / "a.npy", array)
        return tmp_path / "a.npy"

    return write


@pytest.fixture
def npz(tmp_path):
    def write(**arrays):
        np.savez_compressed(tmp_path / "a.npz", **arrays)
        return tmp_path / "a.npz"

    return write


@pytest.fixture
def mat(tmp_path):
    def write(contents, **options):
        savemat(tmp_path / "a.mat", contents, **options)
        return tmp_path / "a.mat"

    return write


@settings(max_examples=20)
@given(hnp.arrays(np.float64, st.tuples(st.integers(1, 5), st.integers(1, 5))))
def test_an_npy_matrix_comes_back_to_the_bit(tmp_path_factory, X):
    path = tmp_path_factory.mktemp("npy") / "a.npy"
    np.save(path, X)
    table = read_table(path)
    assert table.X.tobytes() == X.tobytes()
    assert table.feature_names == tuple(f"x{i + 1}" for i in range(X.shape[1]))


def test_single_precision_stays_and_the_rest_becomes_double(npy):
    for kind, expected in [("f4", "f4"), ("f2", "f4"), (">f8", "f8"), ("i8", "f8"), ("?", "f8"), ("u1", "f8")]:
        X = RNG.integers(0, 2, (4, 3)).astype(kind)
        table = read_table(npy(np.asfortranarray(X)))
        assert table.X.dtype == np.dtype(expected)
        np.testing.assert_array_equal(table.X, X)


def test_standard_input_may_be_an_array():
    stream = io.BytesIO()
    np.save(stream, np.eye(3))
    np.testing.assert_array_equal(read_table("-", stream=io.BytesIO(stream.getvalue())).X, np.eye(3))
    stream = io.BytesIO()
    np.savez(stream, X=np.eye(3))
    np.testing.assert_array_equal(read_table("-", stream=io.BytesIO(stream.getvalue())).X, np.eye(3))
    stream = io.BytesIO()
    savemat(stream, {"X": np.eye(3)})
    np.testing.assert_array_equal(read_table("-", stream=io.BytesIO(stream.getvalue())).X, np.eye(3))


def test_records_are_columns(npy):
    records = np.array(
        [(1, 2.5, b"x", True), (2, 3.5, b"y", False)], dtype=[("id", "i4"), ("a", "f4"), ("kind", "S3"), ("is", "?")]
    )
    table = read_table(npy(records))
    np.testing.assert_array_equal(table.X, [[2.5], [3.5]])
    assert table.ids == ("1", "2")
    assert {name: column.tolist() for name, column in table.labels.items()} == {
        "kind": ["x", "y"], "is": ["true", "false"],
    }  # fmt: skip


def test_three_and_four_dimensions_are_images(npy):
    images = RNG.integers(0, 256, (5, 4, 3)).astype(np.uint8)
    table = read_table(npy(images))
    assert table.image_shape == (4, 3)
    np.testing.assert_array_equal(table.X.reshape(images.shape), images / 255)
    assert table.notices == ("Pixels from 0 to 255 are divided by 255.",)
    colors = RNG.random((5, 4, 6, 3))
    table = read_table(npy(colors))
    assert table.image_shape == (4, 6, 3)
    np.testing.assert_array_equal(table.X.reshape(colors.shape), colors)
    first = read_table(npy(np.moveaxis(colors, 3, 1)))
    np.testing.assert_array_equal(first.X, table.X)
    assert "its second dimension is taken for the colors of images." in first.notices[0]
    assert read_table(npy(colors[..., :1])).image_shape == (4, 6)


@pytest.mark.parametrize(("array", "message"), [
    (np.ones(5), r"matrix of numbers, got array \(5\) of"),
    (np.ones((2, 3), complex), r"got array \(2 x 3\) of complex"),
    (np.array([["a", "b"]]), r"got array \(1 x 2\) of text\."),
    (np.array([["2020-01-01"]], "M8[D]"), r"got array \(1 x 1\) of Python"),
    (np.array([[1, "a"]], object), r"must hold numbers, got Python objects \(a"),
    (np.empty((0, 3)), r"got array \(0 x 3\), which is"),
    (np.ones((2, 2, 4, 5)), r"or three colors, got array \(2 x"),
])  # fmt: skip
def test_arrays_without_samples_are_told(npy, array, message):
    with pytest.raises(InputError, match=rf"'.*a\.npy' .*{message}"):
        read_table(npy(array))


@pytest.mark.parametrize("kept", [3, 40, 128, 200])
def test_a_damaged_npy_file_is_told(npy, kept):
    path = npy(np.eye(10))
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(InputError, match=r"an NPY file, got one that cannot"):
        read_table(path)


@pytest.mark.parametrize(
    "change", [lambda b: b[:200], lambda b: b"no zip at all", lambda b: b[:80] + b"\xff" * 60 + b[140:]]
)
def test_a_damaged_npz_file_is_told(npz, change):
    path = npz(X=RNG.random((20, 3)))
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(InputError, match=r"an NPZ file, got one that cannot"):
        read_table(path)


def test_a_matrix_among_others_is_found_by_being_alone_or_by_its_name(npz):
    X, y, angles = RNG.random((6, 4)), np.arange(6), RNG.random((6, 2))
    table = read_table(npz(whatever=X, y=y, names=np.array(list("abcdef"))))
    np.testing.assert_array_equal(table.X, X)
    assert table.ids == tuple("abcdef")
    assert list(table.labels) == ["y"]
    table = read_table(npz(big=RNG.random((6, 40)), angles=angles))
    assert list(table.labels) == ["angles_1", "angles_2"]
    table = read_table(npz(X=X, other=RNG.random((9, 8))))
    assert (table.X.shape, table.source) == ((6, 4), "NPZ, X")
    table = read_table(npz(first=X, second=RNG.random((9, 8))), ReadOptions(array="second"))
    assert table.X.shape == (9, 8)


def test_several_matrices_are_listed(npz):
    path = npz(x_train=RNG.random((6, 4, 4)), x_test=RNG.random((3, 4, 4)), y_train=np.arange(6))
    held = r"x_train \(6 x 4 x 4\), x_test \(3 x 4 x 4\)"
    with pytest.raises(InputError, match=rf"matrix of samples, got {held}\. Choose one:"):
        read_table(path)
    table = read_table(path, ReadOptions(array="x_train", color="y_train"))
    assert list(table.labels) == ["y_train"]
    with pytest.raises(InputError, match=r"no such array, got array='x_tran'\. Did"):
        read_table(path, ReadOptions(array="x_tran"))
    with pytest.raises(InputError, match=r"no such array, got array='q'\. It"):
        read_table(path, ReadOptions(array="q"))
    with pytest.raises(InputError, match=r"matrix of numbers, got a \(3\), b"):
        read_table(npz(a=np.ones(3), b=np.ones(2)))


def test_a_sparse_matrix_of_scipy_stays_sparse(tmp_path):
    matrix = csr_array(np.diag([1.0, 2, 3]))
    save_npz(tmp_path / "s.npz", matrix)
    table = read_table(tmp_path / "s.npz", ReadOptions(columns=("1-2",)))
    assert issparse(table.X)
    np.testing.assert_array_equal(table.X.toarray(), matrix.toarray()[:, :2])


def test_samples_may_be_columns(npy, npz):
    X = RNG.random((4, 7))
    np.testing.assert_array_equal(read_table(npy(X), ReadOptions(transpose=True)).X, X.T)
    table = read_table(npz(X=X, y=np.arange(7)))
    (notice,) = table.notices
    assert notice.startswith("Another array has an entry for each of the 7 columns of X (4 x 7).")
    assert notice.endswith("If its columns are the samples, add transpose=True.")


def test_matlab_variables_that_match_columns_turn_the_matrix(mat):
    X, y = RNG.random((4, 7)), np.arange(7)
    table = read_table(mat({"X": X, "y": y}))
    np.testing.assert_array_equal(table.X, X.T)
    assert table.labels["y"].tolist() == list(range(7))
    assert table.notices == ("X (4 x 7): samples are its columns, because y has an entry for each of them.",)
    upright = read_table(mat({"X": X.T, "y": y}))
    np.testing.assert_array_equal(upright.X, X.T)
    assert upright.notices == ()


def test_matlab_matrices_alone_are_rows_with_a_notice(mat):
    X = RNG.random((40, 7))
    table = read_table(mat({"X": X}))
    assert table.X.shape == (40, 7)
    assert table.notices == ("X (40 x 7): samples are its 40 rows; if they are its columns, add transpose=True.",)
    turned = read_table(mat({"X": X}), ReadOptions(transpose=True))
    assert turned.X.shape == (7, 40)
    assert turned.notices == ()


def test_matlab_structs_cells_text_and_sparse_matrices_are_read(mat):
    cells = np.array(["north", "south", "north"], dtype=object)
    table = read_table(mat({"set": {"X": RNG.random((3, 5)), "side": cells, "code": np.array(["ab", "c ", "d "])}}))
    assert table.source == "MAT, set.X"
    assert table.labels["set.side"].tolist() == ["north", "south", "north"]
    assert table.labels["set.code"].tolist() == ["ab", "c", "d"]
    table = read_table(mat({"X": csr_array(np.eye(4)[:3]), "y": np.arange(3)}))
    assert issparse(table.X)
    assert table.X.shape == (3, 4)


def test_matlab_stacks_images_along_the_last_dimension_and_by_columns(mat):
    images = RNG.random((5, 4, 9))
    table = read_table(mat({"images": images}))
    assert table.image_shape == (5, 4)
    np.testing.assert_array_equal(table.X[3].reshape(5, 4), images[:, :, 3])
    rows = images.reshape(20, 9, order="F").T
    table = read_table(mat({"rows": rows, "y": np.arange(9)}), ReadOptions(image_size=(4, 5)))
    np.testing.assert_array_equal(table.X[3].reshape(5, 4), images[:, :, 3])


@pytest.mark.parametrize("content", [b"x" * 300, b"MATLAB 5.0 MAT-file".ljust(124) + b"\x00\x01IM" + b"\x01" * 60])
def test_a_damaged_mat_file_is_told(tmp_path, content):
    (tmp_path / "a.mat").write_bytes(content)
    with pytest.raises(InputError, match=r"a MAT file, got one that cannot"):
        read_table(tmp_path / "a.mat")


def test_a_truncated_or_complex_mat_file_is_told(mat):
    path = mat({"X": RNG.random((30, 5))}, do_compression=True)
    path.write_bytes(path.read_bytes()[:400])
    with pytest.raises(InputError, match=r"a MAT file, got one that cannot"):
        read_table(path)
    with pytest.raises(InputError, match=r"got X \(2 x 2\) of complex"):
        read_table(mat({"X": np.eye(2) * 1j}))
    with pytest.raises(InputError, match=r"matrix of numbers, got note \(1\) of"):
        read_table(mat({"note": "hello"}))


def test_real_statue_faces_are_found_turned_and_upright():
    path = shared_file("data", "statue_face_32x32.mat")
    table = read_table(path, ReadOptions(image_size=(32, 32)))
    assert table.X.shape == (698, 1024)
    assert table.image_shape == (32, 32)
    assert list(table.labels) == ["dataT_1", "dataT_2", "dataT_3"]
    assert table.notices == (
        "dataY (1024 x 698): samples are its columns, because dataT has an entry for each of them.",
    )
    # The hair is above, and the ground beside the neck is black: the lowest corners of the picture are dark.
    pictures = table.X.reshape(698, 32, 32)
    assert pictures[:, -3:, :3].mean() < 0.5 * pictures[:, :3, 14:18].mean()


def test_real_teapots_are_rows_until_the_user_turns_them():
    path = shared_file("data", "teapots100.mat")
    assert "samples are its 23028 rows; if they are its columns, add transpose=True." in read_table(path).notices[0]
    table = read_table(path, ReadOptions(transpose=True, image_size=(101, 76)))
    assert table.X.shape == (100, 23028)
    assert table.image_shape == (76, 101, 3)
    red, _, blue = table.X.reshape(100, -1, 3).mean(axis=1).T
    assert (red > blue).all()


def test_pixels_are_divided_by_what_the_model_divided_by(tmp_path):
    dark = np.full((4, 3, 3), 1.0)
    np.save(tmp_path / "dark.npy", dark)
    np.save(tmp_path / "flat.npy", dark.reshape(4, 9))
    assert read_table(tmp_path / "dark.npy").pixel_scale == 1
    for choices in (ReadOptions(pixel_scale=255.0), ReadOptions(pixel_scale=255.0, image_size=(3, 3))):
        table = read_table(tmp_path / ("dark.npy" if choices.image_size is None else "flat.npy"), choices)
        assert (table.X == 1 / 255).all()
        assert table.pixel_scale == 255
        assert "Pixels are divided by 255, as those of the model were." in table.notices
    np.save(tmp_path / "bright.npy", dark * 200)
    assert read_table(tmp_path / "bright.npy").pixel_scale == 255
    assert read_table(tmp_path / "bright.npy", ReadOptions(pixel_scale=1.0)).X.max() == 200
    assert read_table(tmp_path / "flat.npy").pixel_scale is None


def test_pixels_of_another_scale_than_8_bits_stay_as_they_are(tmp_path):
    np.save(tmp_path / "digits.npy", RNG.integers(0, 17, (12, 64)).astype(float))
    table = read_table(tmp_path / "digits.npy", ReadOptions(image_size=(8, 8)))
    assert table.X.max() == 16
    assert table.notices == ()
