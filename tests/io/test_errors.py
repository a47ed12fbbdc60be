"""What is said about files that hold no table: one line, with the name of the file and what to do."""

import gzip
import importlib
import io
import os
import re
import subprocess
import sys

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image
from scipy.sparse import csr_array, save_npz

from hne._runtime import memory as _memory
from hne.exceptions import InputError, MissingExtraError, TooLargeError
from hne.io import ReadOptions, read_table
from hne.io import files as _files

TEXTS = [
    ("", r"hold a table, got an empty file\."),
    ("\n \n\n", r"hold a table, got blank lines only\."),
    ("# only\n# comments\n", r"hold a table, got comments and blank"),
    (
        "a,b\n",
        r"below its header, got the header alone",
    ),
    (
        "a,b\n1,2\n3\n",
        r"in every row, got 1 in line 3\.",
    ),
    ('a,b\n"x\ny",2\n3,4,5\n', r"in every row, got 3 in line 4\."),
    ("# note\na,b\n1,2\n1,2,3\n4,5\n", r"in every row, got 3 in line 4\."),
    ("a,b,c,d\n1,2\n3,4\n", r"names as fields, got 4 names above"),
    (
        "a,b\nx,y\nz,w\n",
        r"column of numbers, got text in all",
    ),
    ("a,b,a\n1,2,3\n", r"for each column, got 'a' more than"),
    (b"a,b\n1,\x00\n", r"got bytes that are none \(NUL\)"),
    (b"a,b\n1,\xfc\x81\n", r"got bytes that are none in cp1252"),
    (b"a,b\n" + b"1,2\n" * 30_000 + b"1,\x81\n", r"none in cp1252"),
]


@pytest.mark.parametrize(("content", "message"), TEXTS)
def test_text_without_a_table_is_told(tmp_path, content, message):
    path = tmp_path / "points.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(InputError, match=rf"^'.*points\.csv' .*{message}") as caught:
        read_table(path)
    assert "\n" not in str(caught.value)


CHOICES = [
    ({"columns": ("gene_9",)}, r"no such column, got columns='gene_9'\. Did"),
    ({"color": "Kind"}, r"no such column, got color='Kind'\. Did"),
    ({"id": "zzz"}, r"no such column, got id='zzz'\. It"),
    ({"drop": ("qqq*",)}, r"no such column, got drop='qqq\*'\. It"),
    ({"columns": ("2-7",)}, r"1 to 3, got columns='2-7'\. Count"),
    ({"columns": ("0",)}, r"1 to 3, got columns='0'\."),
    ({"color": "gene_*"}, r"for color='gene_\*', got 'gene_1', 'gene_2'\. Name"),
    ({"columns": ("kind",)}, r"that are features, got text in 'kind'\."),
    ({"drop": ("gene_*",)}, r"have a feature, got `drop` for all"),
    ({"color": "2", "drop": ("gene_2",)}, r"to color by, got 'gene_2' for `color`"),
    ({"color": "ki*", "id": "kind"}, r"`color` and `id`, got 'kind' for both\."),
    ({"encoding": "utf-9"}, r"that Python knows, got encoding='utf-9'\. Try"),
    ({"encoding": "ascii"}, r"got bytes that are none in ascii"),
    ({"separator": "||"}, r"of one character, got separator='\|\|'\. Write"),
]


@pytest.mark.parametrize(("choices", "message"), CHOICES)
def test_wrong_choices_are_told(tmp_path, choices, message):
    path = tmp_path / "points.csv"
    path.write_text("gene_1,gene_2,kind\n1,2,ä\n3,4,b\n", encoding="utf-8")
    with pytest.raises(InputError, match=rf"^'.*points\.csv' .*{message}"):
        read_table(path, ReadOptions(**choices))


def test_text_in_a_chosen_column_is_named(tmp_path):
    path = tmp_path / "points.csv"
    path.write_text("a,b\n" + "1,2\n" * 400 + "1,oops\n")
    with pytest.raises(InputError, match=r"numbers in features, got 'oops' in column"):
        read_table(path, ReadOptions(columns=("a", "b")))


def test_a_file_that_is_not_there_is_told_with_a_similar_name(tmp_path):
    (tmp_path / "points.csv").write_text("1\n")
    with pytest.raises(InputError, match=r"no such file\. Did you mean '.*points\.csv'\?$"):
        read_table(tmp_path / "points.cvs")
    with pytest.raises(InputError, match=r"^cannot read '.*zebra': no such file\. Check"):
        read_table(tmp_path / "zebra")
    with pytest.raises(InputError, match=r"no such file\. There is no folder"):
        read_table(tmp_path / "nowhere" / "x.csv")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything")
def test_a_locked_file_is_told(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("1,2\n")
    path.chmod(0)
    with pytest.raises(InputError, match=r"cannot read '.*a\.csv': permission denied\. Ask its"):
        read_table(path)


def test_a_refusal_of_the_system_is_told(tmp_path, monkeypatch):
    path = tmp_path / "a.csv"
    path.write_text("1,2\n")

    def refuse(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("hne.io.files.Path.open", refuse)
    with pytest.raises(InputError, match=r"cannot read '.*a\.csv': permission denied\. Ask its"):
        read_table(path)
    monkeypatch.setattr("hne.io.files.Path.open", lambda *_: (_ for _ in ()).throw(OSError(5, "I/O error")))
    with pytest.raises(InputError, match=r"cannot read '.*a\.csv': i/o error\. Check the"):
        read_table(path)


def npy_bytes():
    stream = io.BytesIO()
    np.save(stream, np.eye(3))
    return stream.getvalue()


@pytest.mark.parametrize(("name", "content", "message"), [
    ("a.csv", npy_bytes(), r"must be text, got an NPY file\."),
    ("a.tsv", b"PAR1xxxx", r"must be text, got a Parquet file\."),
    ("a.csv.gz", gzip.compress(npy_bytes(), mtime=0), r"be packed text, got an NPY file"),
    ("a.csv.gz", gzip.compress(b"1,2\n" * 99, mtime=0)[:20], r"whole gzip file, got a damaged one"),
    ("a.xlsx", b"PK\x03\x04", r"must be a table of a known"),
    ("a.pkl", b"\x80\x04", r"got the ending '\.pkl'\. Loading a pickle"),
    ("a.rds", b"\x1f\x8b", r"got the ending '\.rds'\. In R, write"),
    ("a.json", b"[]", r"got the ending '\.json'\. Save the table"),
    ("a.zip", b"PK\x03\x04", r"got the ending '\.zip'\. Unpack it first\."),
    ("a.png", b"\x89PNG", r"got the ending '\.png'\. Pass the folder"),
    ("a.xyz", bytes(99), r"got the ending '\.xyz'\. Save it as"),
    ("measured", bytes(99), r"got bytes of no kind that is"),
])  # fmt: skip
def test_kinds_that_cannot_be_read_are_told(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=rf"^'.*{re.escape(name)}' .*{message}"):
        read_table(tmp_path / name)


@pytest.mark.parametrize("change", ["cut", "overwrite"])
def test_a_break_in_a_packed_file_is_told(tmp_path, change):
    rng = np.random.default_rng(0)
    text = "\n".join(f"{value},1" for value in rng.random(20_000))
    packed = gzip.compress(text.encode(), mtime=0)
    broken = packed[:-9_000] if change == "cut" else packed[:20] + b"\xff" * 100 + packed[120:]
    (tmp_path / "a.csv.gz").write_bytes(broken)
    with pytest.raises(InputError, match=r"whole gzip file, got a damaged one"):
        read_table(tmp_path / "a.csv.gz")


@pytest.mark.parametrize(("name", "module", "needed"), [
    ("a.h5", "h5py", "h5py"), ("a.parquet", "pyarrow", "pyarrow"), ("a.arrow", "pyarrow", "pyarrow"),
    ("folder", "PIL.Image", "pillow"),
])  # fmt: skip
def test_a_missing_library_is_told_with_its_remedy(tmp_path, monkeypatch, name, module, needed):
    if name == "folder":
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.png").write_bytes(b"x")
    else:
        (tmp_path / name).write_bytes(b"x" * 99)
    known = importlib.import_module

    def missing(wanted):
        if wanted == module:
            raise ImportError(wanted)
        return known(wanted)

    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(MissingExtraError, match=rf"^reading '.*' needs {needed}, got none .*'hne\[io\]'"):
        read_table(tmp_path / name)


def large_text(folder):
    (folder / "a.csv").write_text("a,b,kind\n" + "1.25,2.5,x\n" * 5000)
    return folder / "a.csv", "about 500\\d samples of 2 features"


def large_array(folder):
    np.save(folder / "a.npy", np.ones((500, 4)))
    return folder / "a.npy", "500 samples of 4 features"


def large_records(folder):
    np.save(folder / "a.npy", np.ones(500, dtype=[("a", "f8"), ("b", "i4")]))
    return folder / "a.npy", "500 samples of 2 features"


def large_sparse(folder):
    save_npz(folder / "a.npz", csr_array(np.eye(300)))
    return folder / "a.npz", "300 samples of 300 features"


def large_hdf5(folder):
    with h5py.File(folder / "a.h5", "w") as root:
        root["x"] = np.ones((500, 4))
    return folder / "a.h5", "500 samples of 4 features"


def large_columns(folder):
    pq.write_table(pa.table({"a": np.ones(500), "b": np.ones(500)}), folder / "a.parquet")
    return folder / "a.parquet", "500 samples of 2 features"


def large_images(folder):
    Image.fromarray(np.zeros((40, 50), np.uint8)).save(folder / "a.png")
    return folder, "1 samples of 2000 features"


LARGE = [large_text, large_array, large_records, large_sparse, large_hdf5, large_columns, large_images]


@pytest.mark.parametrize("make", LARGE)
def test_a_table_beyond_memory_is_refused_before_it_is_read(tmp_path, monkeypatch, make):
    path, shape = make(tmp_path)
    monkeypatch.setattr(_files, "available_bytes", lambda: 4000)
    with pytest.raises(TooLargeError, match=rf"be read \({shape}\), got"):
        read_table(path)


SCRIPT = """
import resource, sys
import hne.io
import psutil
limit = psutil.Process().memory_info().vms + 600_000_000
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
try:
    hne.io.read_table(sys.argv[1])
except MemoryError as error:
    print(type(error).__name__, error)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="needs files with holes and a limit on addresses")
def test_a_gigabyte_under_a_limit_on_addresses_is_refused(tmp_path):
    path = tmp_path / "large.npy"
    with path.open("wb") as stream:
        np.lib.format.write_array_header_1_0(stream, {"descr": "<f8", "fortran_order": False, "shape": (125_000, 1000)})
        stream.truncate(stream.tell() + 10**9)
    run = subprocess.run([sys.executable, "-c", SCRIPT, str(path)], capture_output=True, text=True, check=True)
    assert re.match(
        r"TooLargeError '.*large\.npy' needs 1\.0 GB to be read \(125000 samples of 1000 features\), got 0\.\d+ GB of "
        r"free memory\. Choose fewer columns, or write a part of its rows",
        run.stdout,
    )


def test_free_memory_without_a_limit_on_addresses_is_the_machines(monkeypatch):
    resource = pytest.importorskip("resource")
    monkeypatch.setattr(resource, "getrlimit", lambda _: (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    unlimited = _memory.available_bytes()
    monkeypatch.setattr(resource, "getrlimit", lambda _: (1000, 1000))
    assert unlimited > 0
    assert _memory.available_bytes() == 0


BASE = """
import io, sys
import numpy as np
from scipy.io import savemat
import hne.io as tables
stream = io.StringIO()
tables.write_coordinates(None, tables.Coordinates(Y=np.eye(3)), stream)
contents = [stream.getvalue().encode()]
for save in (np.save, lambda file, X: np.savez(file, X=X), lambda file, X: savemat(file, {"X": X})):
    file = io.BytesIO()
    save(file, np.eye(3))
    contents.append(file.getvalue())
for content in contents:
    assert (tables.read_table("-", stream=io.BytesIO(content)).X == np.eye(3)).all()
print(*sys.modules)
"""


def test_text_and_arrays_need_no_library_beyond_the_base():
    run = subprocess.run([sys.executable, "-c", BASE], capture_output=True, text=True, check=True)
    assert not set(run.stdout.split()) & {"pyarrow", "h5py", "PIL", "pandas", "matplotlib", "sklearn", "numba"}
