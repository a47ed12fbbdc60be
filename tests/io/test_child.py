"""Files that crash or hang their reader, or need too much: a child dies of it, and one line says so."""

import os
import signal
import time

import numpy as np
import psutil
import pytest
from scipy.io import savemat
from scipy.sparse import csr_array

from hne.cli import main
from hne.exceptions import InputError, TooLargeError
from hne.io import READERS, read_table
from hne.io import hdf5 as _hdf5
from hne.io.files import File

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
