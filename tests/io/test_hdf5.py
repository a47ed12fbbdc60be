"""HDF5 files: AnnData of all times, MATLAB 7.3, and matrices in groups; what becomes of the child that reads them."""

import os
import signal
import time

import anndata  # here, not in each child
import h5py
import numpy as np
import pandas as pd
import psutil
import pytest
from scipy.io import savemat
from scipy.sparse import csc_matrix, csr_array, csr_matrix, issparse

from hne.cli import main
from hne.exceptions import InputError, TooLargeError
from hne.io import READERS, ReadOptions, read_table
from hne.io import hdf5 as _hdf5
from hne.io.files import File
from tests.helpers.h5ad import write_h5ad

RNG = np.random.default_rng(0)
COUNTS = np.array([[0, 1, 2, 0], [3, 0, 0, 0], [0, 0, 4, 5]], dtype=np.float32)


def write_cells(path, X):
    """A file with a column of each kind."""
    obs = {
        "kind": (["B", "T"], [1, -1, 0]),
        "cluster": ([1, 2], [1, 0, 1]),
        "depth": [1.5, 2.5, float("nan")],
        "note": ["a", "b", "c"],
        "count": [1, None, 3],
        "alive": [True, None, False],
        "kept": [True, False, True],
    }
    obsm, layers = {"X_pca": np.array([[1.0, 2], [3, 4], [5, 6]])}, {"counts": csr_matrix(COUNTS * 2)}
    write_h5ad(path, X, obs, ["AAC", "AAG", "AAT"], ["CD4", "CD8", "GAPDH", "ACTB"], obsm, layers)


def write_cells_by_anndata(path, X):
    """The same by anndata."""
    obs = pd.DataFrame(
        {
            "kind": pd.Categorical(["T", None, "B"]),
            "cluster": pd.Categorical([2, 1, 2]),
            "depth": [1.5, 2.5, np.nan],
            "note": ["a", "b", "c"],
            "count": pd.array([1, None, 3], dtype="Int64"),
            "alive": pd.array([True, None, False], dtype="boolean"),
            "kept": [True, False, True],
        },
        index=["AAC", "AAG", "AAT"],
    )
    made = anndata.AnnData(X, obs=obs, var=pd.DataFrame(index=["CD4", "CD8", "GAPDH", "ACTB"]))
    made.obsm["X_pca"] = np.array([[1.0, 2], [3, 4], [5, 6]])
    made.layers["counts"] = csr_matrix(COUNTS * 2)
    with anndata.settings.override(allow_write_nullable_strings=True):
        made.write_h5ad(path)


# AnnData 0.12 does not ask for pandas 3, whose options it reads.
@pytest.mark.filterwarnings("ignore:The 'future.infer_string' option")
@pytest.mark.parametrize("write", [write_cells, write_cells_by_anndata], ids=["by h5py", "by anndata"])
@pytest.mark.parametrize("make", [np.array, csr_matrix, csc_matrix])
def test_anndata_has_cells_as_samples_and_their_columns_as_labels(tmp_path, make, write):
    path = tmp_path / "cells.h5ad"
    write(path, make(COUNTS))
    table = read_table(path)
    assert issparse(table.X) == (make is not np.array)
    np.testing.assert_array_equal(table.X.toarray() if issparse(table.X) else table.X, COUNTS)
    assert table.feature_names == ("CD4", "CD8", "GAPDH", "ACTB")
    assert (table.ids, table.id_name) == (("AAC", "AAG", "AAT"), "id")
    labels = {name: column.tolist() for name, column in table.labels.items()}
    assert np.isnan(labels["depth"].pop())
    assert np.isnan(labels["count"].pop(1))
    assert labels == {
        "kind": ["T", None, "B"],
        "cluster": ["2", "1", "2"],
        "depth": [1.5, 2.5],
        "note": ["a", "b", "c"],
        "count": [1, 3],
        "alive": ["true", None, "false"],
        "kept": ["true", "false", "true"],
    }
    assert table.notices[:-1] == (
        "X (3 x 4) is read; its 2 principal components are there too: array='obsm/X_pca'.",
    )  # fmt: skip


def test_other_matrices_of_anndata_are_chosen_by_their_path(tmp_path):
    path = tmp_path / "cells.h5ad"
    write_cells(path, csr_matrix(COUNTS))
    table = read_table(path, ReadOptions(array="obsm/X_pca", color="kind", drop=("note",)))
    np.testing.assert_array_equal(table.X, [[1, 2], [3, 4], [5, 6]])
    assert table.feature_names == ("X_pca_1", "X_pca_2")
    assert "note" not in table.labels
    assert table.notices == ("Features: 'X_pca_1', 'X_pca_2'.",)
    table = read_table(path, ReadOptions(array="layers/counts", columns=("CD*",), color="GAPDH"))
    np.testing.assert_array_equal(table.X.toarray(), 2 * COUNTS[:, :2])
    assert table.labels["GAPDH"].tolist() == [4, 0, 8]
    with pytest.raises(InputError, match=r"that is chosen, got array='obsm/X_umap'\. It"):
        read_table(path, ReadOptions(array="obsm/X_umap"))
    with pytest.raises(InputError, match=r"are the samples, got transpose=True\. Leave it"):
        read_table(path, ReadOptions(transpose=True))


def test_anndata_before_version_0_8_keeps_categories_aside(tmp_path):
    path = tmp_path / "old.h5ad"
    with h5py.File(path, "w") as file:
        file["X"] = COUNTS
        for name, index in (("obs", ["a", "b", "c"]), ("var", ["g1", "g2", "g3", "g4"])):
            group = file.create_group(name)
            group.create_dataset("cell", data=index, dtype=h5py.string_dtype())
            group.attrs.update({"encoding-type": "dataframe", "encoding-version": "0.1.0", "_index": "cell"})
            group.attrs["column-order"] = np.array(["kind"] * (name == "obs"), dtype=h5py.string_dtype())
        file["obs/kind"] = np.array([0, -1, 1], dtype=np.int8)
        file["obs"].create_dataset("__categories/kind", data=["B", "T"], dtype=h5py.string_dtype())
        file["obs/kind"].attrs["categories"] = file["obs/__categories/kind"].ref
    table = read_table(path)
    assert (table.ids, table.id_name) == (("a", "b", "c"), "cell")
    assert table.labels["kind"].tolist() == ["B", None, "T"]


def test_anndata_before_version_0_7_has_records(tmp_path):
    path = tmp_path / "older.h5ad"
    with h5py.File(path, "w") as file:
        group = file.create_group("X")
        matrix = csr_matrix(COUNTS)
        group["data"], group["indices"], group["indptr"] = matrix.data, matrix.indices, matrix.indptr
        group.attrs["h5sparse_format"], group.attrs["h5sparse_shape"] = b"csr", COUNTS.shape
        kinds = np.array(
            [(b"a", 0, 1.5), (b"b", 1, 2.5), (b"c", 0, 3.5)], [("index", "S1"), ("kind", "i1"), ("q", "f8")]
        )
        file["obs"], file["var"] = kinds, np.array([(b"g%d" % i,) for i in range(4)], [("index", "S2")])
        file["uns/kind_categories"] = [b"B", b"T"]
    table = read_table(path)
    np.testing.assert_array_equal(table.X.toarray(), COUNTS)
    assert table.ids == ("a", "b", "c")
    assert table.feature_names == ("g0", "g1", "g2", "g3")
    assert table.labels["kind"].tolist() == ["B", "T", "B"]
    assert table.labels["q"].tolist() == [1.5, 2.5, 3.5]


def test_text_where_numbers_should_be_is_told(tmp_path):
    path = tmp_path / "a.h5ad"
    write_h5ad(path, np.array([[b"a", b"b"]]), {}, ["a"], ["A", "B"])
    with pytest.raises(InputError, match=r"numbers in X, got .*\. Choose another"):
        read_table(path)


def test_matrices_in_groups_are_found_and_described(tmp_path):
    path = tmp_path / "a.h5"
    X = RNG.random((6, 3))
    with h5py.File(path, "w") as file:
        file["run/data"] = X
        file["run/name"] = ["a", "b", "c", "d", "e", "f"]
        file["run/scalar"] = 3.0
        file["speed"] = np.arange(6)
    table = read_table(path)
    np.testing.assert_array_equal(table.X, X)
    assert table.source == "HDF5, run/data"
    assert table.labels["speed"].tolist() == list(range(6))
    assert table.labels["run/name"].tolist() == list("abcdef")
    with h5py.File(path, "a") as file:
        file["second"] = RNG.random((5, 5))
        file["third"] = RNG.random((4, 5))
    assert read_table(path).source == "HDF5, run/data"
    assert read_table(path, ReadOptions(array="/second")).X.shape == (5, 5)
    with h5py.File(path, "a") as file:
        file.move("run/data", "run/other")
    with pytest.raises(InputError, match=r"got run/other \(6 x 3\), second \(5"):
        read_table(path)


def test_matlab_7_3_is_turned_back(tmp_path):
    path = tmp_path / "a.mat"
    images = RNG.random((20, 9))  # MATLAB's: 9 columns, each an image of 5 x 4
    with h5py.File(path, "w", userblock_size=512) as file:
        file["Y"] = images.T  # as HDF5 sees it
        file["pose"] = np.arange(18.0).reshape(9, 2)
        file["note"] = np.arange(9, dtype=np.uint16)  # text, as MATLAB keeps it
        for name, kind in (("Y", "double"), ("pose", "double"), ("note", "char")):
            file[name].attrs["MATLAB_class"] = np.bytes_(kind)
    with path.open("r+b") as stream:
        stream.write(b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM")
    table = read_table(path, ReadOptions(image_size=(4, 5)))
    assert table.source == "MAT 7.3, Y"
    assert table.notices[0].startswith("Y (20 x 9): samples are its columns, because pose has an entry for each")
    np.testing.assert_array_equal(table.X[2].reshape(5, 4), images[:, 2].reshape(5, 4, order="F"))
    assert list(table.labels) == ["pose_1", "pose_2"]
    assert table.labels["pose_2"].tolist() == list(np.arange(1.0, 18, 2))


@pytest.mark.parametrize("content", [b"x" * 99, b"\x89HDF\r\n\x1a\n" + bytes(90)])
def test_a_damaged_file_is_told(tmp_path, content):
    path = tmp_path / "a.h5"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"an HDF5 file, got one that cannot"):
        read_table(path)


def test_a_truncated_file_is_told(tmp_path):
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        file["data"] = RNG.random((100, 30))
    path.write_bytes(path.read_bytes()[:9000])
    with pytest.raises(InputError, match=r"cannot be read \(.*truncated"):
        read_table(path)


def test_sparse_indices_beyond_the_matrix_are_not_followed(tmp_path):
    path = tmp_path / "cells.h5ad"
    write_cells(path, csr_matrix(COUNTS))
    with h5py.File(path, "r+") as file:
        file["X/indices"][0] = 10**8
    with pytest.raises(
        InputError,
        match=r"whole sparse matrix, got a damaged one,",
    ):
        read_table(path)


def test_categories_that_are_numbers_are_exact(tmp_path):
    path = tmp_path / "cells.h5ad"
    obs = {"day": ([20240101, 20240102], [0, 1, -1]), "dose": ([0.1234567, 2.0], [0, 1, -1])}
    write_h5ad(path, np.eye(3), obs, ["a", "b", "c"], ["A", "B", "C"])
    labels = read_table(path).labels
    assert labels["day"].tolist() == ["20240101", "20240102", None]
    assert labels["dose"].tolist() == ["0.1234567", "2", None]


def outside_link(h5py, root, folder):
    root["x"] = h5py.ExternalLink(str(folder / "secret.h5"), "x")


def outside_link_below(h5py, root, folder):
    root["eye"] = np.eye(9)
    root.create_group("a/b")["x"] = h5py.ExternalLink(str(folder / "secret.h5"), "x")


def outside_storage(_, root, folder):
    root.create_dataset("x", (30, 3), dtype="f8", external=[(str(folder / "secret.bin"), 0, 720)])


def outside_parts(h5py, root, folder):
    layout = h5py.VirtualLayout(shape=(30, 3), dtype="f8")
    layout[:] = h5py.VirtualSource(str(folder / "secret.h5"), "x", shape=(30, 3))
    root.create_virtual_dataset("x", layout)


@pytest.mark.parametrize("name", ["x.h5", "x.mat", "x.h5ad"])
@pytest.mark.parametrize("make", [outside_link, outside_link_below, outside_storage, outside_parts])
def test_other_files_are_never_read_on_behalf_of_this_one(tmp_path, make, name):
    with h5py.File(tmp_path / "secret.h5", "w") as root:
        root["x"] = np.random.default_rng(0).normal(size=(30, 3))
    (tmp_path / "secret.bin").write_bytes(bytes(720))
    with h5py.File(tmp_path / name, "w", userblock_size=512 if name == "x.mat" else 0) as root:
        make(h5py, root, tmp_path)
    message = (
        r"must hold its arrays itself, got '(a/b/)?x', which is in another file \('.*secret.*'\)\. Copy it into one"
    )
    with pytest.raises(InputError, match=message):
        read_table(tmp_path / name)


def test_links_within_a_file_are_followed(tmp_path):
    with h5py.File(tmp_path / "x.h5", "w") as root:
        root["a/x"] = np.arange(30.0).reshape(10, 3) ** 2
        root["soft"] = h5py.SoftLink("/a")
        root["broken"] = h5py.SoftLink("/nowhere")
    assert read_table(tmp_path / "x.h5").X.shape == (10, 3)


needs_children = pytest.mark.skipif(not _hdf5.can_fork(), reason="no children here")


def crash(*_):
    os.kill(os.getpid(), signal.SIGSEGV)


def hang(*_):
    while True:
        pass


def sleep(*_):
    time.sleep(100)


def take_everything(*_):
    return np.ones(2**46)


def leave(*_):
    os._exit(3)


def fail(*_):
    return {}["nothing"]


FATES = {
    "crash": (crash, InputError, r"got one that crashes its reader \(SIGSEGV\)\. Write or copy it again\."),
    "hang": (hang, InputError, r"got one whose reader came to no end within 1 s\. Write or copy it again\."),
    "sleep": (sleep, InputError, r"got one whose reader came to no end within 1 s\. Write or copy it again\."),
    "leave": (leave, InputError, r"got one that crashes its reader \(status 3\)\. Write or copy it again\."),
    "take everything": (take_everything, TooLargeError, r"needs more memory to be read than there is\. Write a part"),
    "fail": (fail, RuntimeError, r"KeyError while '.*x\.mat' was read"),
}


@needs_children
@pytest.mark.parametrize(("reader", "kind", "says"), FATES.values(), ids=FATES.keys())
def test_what_becomes_of_a_child_is_told(tmp_path, monkeypatch, capfd, reader, kind, says):
    savemat(tmp_path / "x.mat", {"x": np.eye(9)})
    monkeypatch.setattr(_hdf5, "SECONDS", 0.6)
    monkeypatch.setattr(_hdf5, "PATIENCE", 1 if reader is sleep else 9)
    monkeypatch.setitem(READERS, "mat", reader)
    before = psutil.Process().children()
    with pytest.raises(kind, match=says):
        read_table(tmp_path / "x.mat")
    if reader in (crash, fail):
        assert main(["embed", str(tmp_path / "x.mat")]) == (1 if reader is fail else 2)
        assert capfd.readouterr().err.count("\n") == 1
    assert set(psutil.Process().children()) <= set(before)  # no child is left


@needs_children
def test_tables_come_over_to_the_bit_and_can_be_written_to(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    words = np.array(["ä", "b", "c"] * 10, dtype=object)
    savemat(tmp_path / "x.mat", {"X": rng.normal(size=(30, 400)), "words": words, "y": np.arange(30.0)[:, None]})
    savemat(tmp_path / "sparse.mat", {"X": csr_array(np.eye(30))})
    for name in ("x.mat", "sparse.mat"):
        table = read_table(tmp_path / name)
        with monkeypatch.context() as patch:
            patch.setattr(_hdf5, "can_fork", lambda: False)
            here = read_table(tmp_path / name)
        dense, other = (X.toarray() if hasattr(X, "toarray") else X for X in (table.X, here.X))
        assert (dense == other).all()
        assert table.feature_names == here.feature_names
        assert table.notices == here.notices
        assert {key: value.tolist() for key, value in table.labels.items()} == {
            key: value.tolist() for key, value in here.labels.items()
        }
        assert type(table.X) is type(here.X)
    assert read_table(tmp_path / "x.mat").X.flags.writeable


@needs_children
def test_a_child_is_not_believed_more_than_a_table(tmp_path):
    (tmp_path / "x.mat").write_bytes(b"anything")
    with pytest.raises(InputError, match=r"crashes its reader \(status 0\)"):
        _hdf5.read_in_child(File(tmp_path / "x.mat", "'x.mat'"), lambda: os.getcwd)


@needs_children
def test_ctrl_c_ends_the_child_too(tmp_path, monkeypatch):
    savemat(tmp_path / "x.mat", {"x": np.eye(9)})
    monkeypatch.setitem(READERS, "mat", hang)
    children = psutil.Process().children()
    before = signal.signal(signal.SIGALRM, lambda *_: (_ for _ in ()).throw(KeyboardInterrupt()))
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    try:
        with pytest.raises(KeyboardInterrupt):
            read_table(tmp_path / "x.mat")
    finally:
        signal.signal(signal.SIGALRM, before)
    assert psutil.Process().children() == children
