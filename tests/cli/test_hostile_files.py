"""Files that were made to break their reader: one line, status 2, little time and memory."""

import io
import json
import os
import subprocess
import sys
import zipfile

import numpy as np
import pytest

LIMIT = 2**31
# Runs one command after another under a limit on memory; prints status, line and seconds of each.
SCRIPT = """
import contextlib, io, json, resource, sys, time
from hne.cli import main
import hne.io, psutil
resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[1]), int(sys.argv[1])))
for path in sys.argv[2:]:
    said, start = io.StringIO(), time.monotonic()
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
        status = main(["embed", path, "-q"])
    print(json.dumps([status, said.getvalue(), time.monotonic() - start]), flush=True)
"""


def refusals(paths, limit=LIMIT):
    """What the command line says of each file, in a process of its own with little memory."""
    command = [sys.executable, "-c", SCRIPT, str(limit), *map(str, paths)]
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    run = subprocess.run(command, capture_output=True, text=True, check=False, env=environment, timeout=100)
    assert run.returncode == 0, run.stderr
    return [json.loads(line) for line in run.stdout.splitlines()]


def npy_claiming(shape, kind="<f8"):
    """An NPY file of little more than a header, which claims that shape."""
    header = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}"
    header = header.ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode() + bytes(64)


def npy_of(array):
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


def npz_of(**members):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(f"{name}.npy", content if isinstance(content, bytes) else npy_of(content))
    return stream.getvalue()


def sparse_npz(shape, form="csr", n_ends=None):
    ends = np.zeros((shape[0] if form == "csr" else shape[1]) + 1 if n_ends is None else n_ends, dtype=np.int64)
    ends[1:] = 1
    return npz_of(
        data=np.ones(1),
        indices=np.zeros(1, dtype=np.int64),
        indptr=ends,
        format=np.array(form.encode()),
        shape=np.array(shape, dtype=np.int64),
    )


def mat_claiming(rows, columns):
    """A MAT file of one double array that claims so many rows and columns."""
    io_module = pytest.importorskip("scipy.io")
    stream = io.BytesIO()
    io_module.savemat(stream, {"x": np.full((7, 5), 1.5)})
    sides = np.array([7, 5], dtype="<i4").tobytes()
    content = stream.getvalue()
    assert content.count(sides) == 1
    return content.replace(sides, np.array([rows, columns], dtype="<i4").tobytes())


def hdf5_claiming(shape):
    """An HDF5 file with an array of that shape, nothing of which was written."""
    h5py = pytest.importorskip("h5py")
    stream = io.BytesIO()
    with h5py.File(stream, "w") as root:
        root.create_dataset("x", shape, dtype="f8", chunks=(1, 1024))
    return stream.getvalue()


CLAIMS = {
    "far.npy": (npy_claiming((2**62, 2**62)), "64 bytes of numbers, not"),
    "wide.npy": (npy_claiming((3, 2**40)), "64 bytes of numbers, not"),
    "many.npy": (npy_claiming((2**62,) * 40), "64 bytes of numbers, not"),
    "beyond.npy": (npy_claiming((2**64, 1)), "a side of 18446744073709551616"),
    "long.npy": (b"\x93NUMPY\x02\x00\xff\xff\xff\xff" + bytes(100), "a header of 4294967295 bytes"),
    "minus.npy": (npy_claiming((-1, 3)), "a side of -1"),
    "far.npz": (npz_of(x=npy_claiming((2**62, 2**62))), "64 bytes of numbers in x, not"),
    "beside.npz": (npz_of(x=np.eye(40), y=npy_claiming((40, 2**40))), "64 bytes of numbers in y, not"),
    "wide_sparse.npz": (sparse_npz((40, 2**62)), "GB to be read"),
    "long_sparse.npz": (sparse_npz((2**62, 40), "csc"), "GB to be read"),
    "false_sparse.npz": (sparse_npz((2**20, 40), n_ends=41), "cannot be read"),
    "beyond_sparse.npz": (
        npz_of(
            data=np.ones(40),
            indices=np.full(40, 2**40),
            indptr=np.arange(41),
            format=np.array(b"csc"),
            shape=np.array([40, 40]),
        ),
        "damaged one",
    ),
    "backward_sparse.npz": (
        npz_of(
            data=np.ones(40),
            indices=np.arange(40),
            indptr=np.array([*range(40), 0]),
            format=np.array(b"csc"),
            shape=np.array([40, 40]),
        ),
        "damaged one",
    ),
    "shapeless.npz": (
        npz_of(**dict.fromkeys(["data", "indices", "indptr", "format", "shape"], np.ones(()))),
        "cannot be read",
    ),
    "far.h5": (hdf5_claiming((2**40, 2**20)), "GB to be read"),
    "wide.h5": (hdf5_claiming((30, 2**40)), "GB to be read"),
    "far.mat": (mat_claiming(2**31 - 1, 2**31 - 1), "cannot be read"),
    "tall.mat": (mat_claiming(2**31 - 1, 5), "cannot be read"),
}


def test_what_a_file_claims_is_compared_with_its_size_before_memory_is_taken(tmp_path):
    pytest.importorskip("resource")
    for name, (content, _) in CLAIMS.items():
        (tmp_path / name).write_bytes(content)
    found = refusals([tmp_path / name for name in CLAIMS])
    for (name, (_, says)), (status, line, seconds) in zip(CLAIMS.items(), found, strict=True):
        assert status == 2, (name, line)
        assert line.startswith("hne: '"), line
        assert line.count("\n") == 1, line
        assert says in line, (name, line)
        assert "bug" not in line
        assert seconds < 5, name
