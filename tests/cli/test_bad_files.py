"""Bad files and bad places: one line that says what to do, status 2, and nothing touched."""

import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array, save_npz

from hne.cli import main
from hne.datasets import make_swiss_roll
from hne.io import write as _write

GOOD = "x,y,z\n" + "\n".join(f"{t / 3:.3f},{t % 7},{t * t % 11}" for t in range(40)) + "\n"


def text(name, content):
    """Maker of a file of that text; commands get its path in place of INPUT."""

    def make(folder):
        path = folder / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return make


def folder_of(*names):
    def make(folder):
        made = folder / "folder"
        made.mkdir()
        for name in names:
            (made / name).write_text("no picture")
        return made

    return make


def huge_array(folder):
    """An .npy file of 1 GB that takes no room: what was never written is zero."""
    path = folder / "huge.npy"
    np.lib.format.open_memmap(path, mode="w+", dtype=np.float64, shape=(125_000_000, 1)).flush()
    return path


def records(path):
    """Records with a text, the last character of which is none of Unicode's."""
    made = np.zeros(30, dtype=[("a", "f8"), ("b", "f8"), ("text", "U3")])
    np.save(path, made)
    path.write_bytes(path.read_bytes()[:-4] + b"\xff\xff\xff\x7f")
    return path


def loop_of_links(folder):
    (folder / "loop.csv").symlink_to(folder / "pool.csv")
    (folder / "pool.csv").symlink_to(folder / "loop.csv")
    return folder / "loop.csv"


# What is wrong: how to make the file, further arguments, what the line must say.
CASES = {
    "missing": (lambda folder: folder / "points.csv", [], r"no such file"),
    "a misspelled name": (
        lambda folder: text("points.csv", GOOD)(folder).with_name("points.cvs"),
        [],
        r"no such file\. Did you mean '.*points\.csv'\?",
    ),
    "empty": (text("empty.csv", ""), [], r"empty"),
    "blank lines alone": (text("blank.csv", "\n\n\n"), [], r"blank lines only"),
    "a header alone": (text("header.csv", "x,y,z\n"), [], r"no rows|no samples|header"),
    "a folder without images": (folder_of("notes.txt"), [], r"folder of images .* got 1 other file"),
    "an empty folder": (folder_of(), [], r"folder of images .* got an empty one"),
    "a binary called csv": (text("binary.csv", bytes(range(256)) * 40), [], r"not text|binary"),
    "a picture called csv": (text("picture.csv", b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + bytes(100)), [], r"."),
    "an unknown kind": (text("letter.docx", b"PK\x03\x04nothing"), [], r"."),
    "ragged rows": (
        text("ragged.csv", GOOD + "1,2\n" + "3,4,5\n"),
        [],
        r"must have 3 fields in every row, got 2 in line 42",
    ),
    "all text": (text("words.csv", "a,b\n" + "red,blue\n" * 20), [], r"no .*numeric|numbers"),
    "one column": (text("one.csv", "x\n" + "\n".join(str(t / 7) for t in range(30))), [], r"--n-components"),
    "one row": (text("row.csv", "x,y,z\n1,2,3\n"), [], r"sample"),
    "one row, foreseen": (
        text("row.csv", "x,y,z\n1,2,3\n"),
        ["--dry-run", "-k", "auto"],
        r"'.*row\.csv' must have at least 2 samples, got 1\. Pass more rows\.",
    ),
    "one row, foreseen with all parameters": (
        text("row.csv", "x,y,z\n1,2,3\n"),
        ["--dry-run", "-k", "5", "--reg", "0.1"],
        r"must have at least 2 samples, got 1\. Pass more rows\.",
    ),
    "a long name among columns": (
        text("long.csv", GOOD.replace("x,y", "q" * 30_000 + ",y")),
        ["--columns", "ww"],
        r"no such column, got --columns ww\. It has 'q{57} \.\.\. q{56}', 'y', 'z'\.",
    ),
    "a long name of a column": (
        text("good.csv", GOOD),
        ["--columns", "q" * 9_000],
        r"no such column, got --columns q{58} \.\.\. q{57}\. It has",
    ),
    "a long name of an encoding": (text("good.csv", GOOD), ["--encoding", "q" * 900_000], r"q{58} \.\.\. q{57}\. Try"),
    "a long name of a metric": (text("good.csv", GOOD), ["--metric", "q" * 900_000], r"got 'q{57} \.\.\. q{56}'\."),
    "a long file name": (
        lambda folder: folder / ("q" * 9_000),
        [],
        r"cannot read '.* \.\.\. q*': (file )?name too long",
    ),
    "an array of text with characters that are none": (
        lambda folder: records(folder / "records.npy"),
        [],
        r"must be an NPY file, got one .* \(characters that are none\)",
    ),
    "records without a row": (
        lambda folder: (
            np.save(folder / "none.npy", np.zeros(0, dtype=[("a", "f8"), ("b", "f8")])),
            folder / "none.npy",
        )[1],
        [],
        r"'.*none\.npy' must have samples, got none\. Check how it was written\.",
    ),
    "a sparse matrix of complex numbers": (
        lambda folder: (save_npz(folder / "complex.npz", csr_array(np.eye(9) * 1j)), folder / "complex.npz")[1],
        [],
        r"an NPZ file of numbers, got a sparse matrix of complex128",
    ),
    "duplicate headers": (text("twice.csv", GOOD.replace("x,y,z", "x,y,x")), [], r"'x'"),
    "missing values": (text("gaps.csv", GOOD + "1,,3\n4,NA,6\n"), [], r"41, 42.*--missing drop or --missing impute"),
    "infinite values": (text("inf.csv", GOOD + "1,inf,3\n"), [], r"inf"),
    "an unknown column to color by": (
        text("good.csv", GOOD),
        ["--color", "group"],
        r"no such column, got --color group",
    ),
    "an unknown column of ids": (text("good.csv", GOOD), ["--id", "name"], r"no such column, got --id name"),
    "unknown features": (text("good.csv", GOOD), ["--columns", "x,w"], r"no such column, got --columns w"),
    "too many neighbors": (text("good.csv", GOOD), ["-k", "40"], r"--n-neighbors 40 needs at least 41 samples"),
    "a pickle called npy": (text("pickle.npy", b"\x80\x04N."), [], r"."),
    "objects in an npy file": (
        lambda folder: (np.save(folder / "objects.npy", np.array([{}, 1], dtype=object)), folder / "objects.npy")[1],
        [],
        r"objects|pickle",
    ),
    "a damaged npz": (text("damaged.npz", b"PK\x03\x04" + bytes(50)), [], r"damaged|not"),
    "a damaged parquet": (text("damaged.parquet", b"PAR1" + bytes(50)), [], r"damaged|not"),
    "a damaged h5ad": (text("damaged.h5ad", b"\x89HDF\r\n\x1a\n" + bytes(50)), [], r"damaged|not"),
    "a damaged mat": (text("damaged.mat", b"MATLAB 5.0 MAT-file" + bytes(200)), [], r"."),
    "no folder to write to": (text("good.csv", GOOD), ["-o", "{folder}/new/out.csv"], r"no folder .*Make it"),
    "a folder to write over": (text("good.csv", GOOD), ["-o", "{folder}"], r"ending|folder"),
    "a file as a folder": (text("good.csv", GOOD), ["-o", "{folder}/good.csv/out.csv"], r"not a folder"),
    "an output that exists": (text("good.csv", GOOD), ["-o", "{folder}/mine.csv"], r"exists already\. Add --force"),
    "a report that exists": (
        text("good.csv", GOOD),
        ["--report", "{folder}/mine.html"],
        r"exists already\. Add --force",
    ),
    "the input as output": (text("good.csv", GOOD), ["-o", "{folder}/good.csv", "--force"], r"must not be the input"),
    "a user who is not there": (lambda folder: "~nosuchuser/x.csv", [], r"whose user is unknown\. Write it out"),
    "a name that is too long": (text("good.csv", GOOD), ["-o", "{folder}/" + "a" * 300 + ".csv"], r"name too long"),
    "one file for two outputs": (
        text("good.csv", GOOD),
        ["--save", "{folder}/a.html", "--report", "{folder}/a.html"],
        r"different files",
    ),
    "a loop of links as input": (loop_of_links, [], r"cannot read '.*loop\.csv': too many levels of symbolic links"),
    "a loop of links as output": (
        lambda folder: loop_of_links(folder) and text("good.csv", GOOD)(folder),
        ["-o", "{folder}/loop.csv", "--force"],
        r"cannot write '.*loop\.csv': too many levels of symbolic links",
    ),
    "a loop of links as folder": (
        lambda folder: loop_of_links(folder) and text("good.csv", GOOD)(folder),
        ["-o", "{folder}/loop.csv/out.csv"],
        r"cannot write '.*loop\.csv/out\.csv': ",
    ),
    "an unknown output": (text("good.csv", GOOD), ["-o", "{folder}/out.xlsx"], r"out\.xlsx.*\.csv.*\.parquet"),
    "an unknown picture": (text("good.csv", GOOD), ["--plot", "{folder}/out.gif"], r"\.png.*out\.gif"),
    "a report that is no page": (text("good.csv", GOOD), ["--report", "{folder}/out.pdf"], r"\.html.*out\.pdf"),
    "two things on standard output": (text("good.csv", GOOD), ["--json", "-o", "-"], r"Choose one"),
    "an unknown metric": (text("good.csv", GOOD), ["--metric", "lengthiness"], r"--metric|metric"),
    "a negative reg": (text("good.csv", GOOD), ["--reg", "-1"], r"reg"),
}


def contents(folder):
    """All there is to see of a folder: names, bytes and times."""
    return {
        path.relative_to(folder): (
            path.lstat().st_mtime_ns,
            path.is_file() and path.stat().st_size < 2**20 and path.read_bytes(),
        )
        for path in folder.rglob("*")
    }


@pytest.mark.parametrize(("make", "more", "says"), CASES.values(), ids=CASES.keys())
def test_what_is_wrong_is_one_line_with_status_2_and_nothing_is_touched(make, more, says, tmp_path, capsys):
    source = make(tmp_path)
    for mine in ("mine.csv", "mine.html"):
        (tmp_path / mine).write_text("mine")
    before = contents(tmp_path)
    outputs = [] if "-o" in more else ["-o", f"{tmp_path}/out.csv"]
    outputs += [] if "--report" in more else ["--report", f"{tmp_path}/out.html"]
    status = main(["embed", str(source), *outputs, *(word.format(folder=tmp_path) for word in more), "--quiet"])
    printed = capsys.readouterr()
    assert status == 2, printed.err
    assert printed.out == ""
    assert printed.err.count("\n") == 1
    assert printed.err.startswith("hne: ")
    assert len(printed.err) < 1600
    assert printed.err.endswith((".\n", "?\n"))
    assert re.search(says, printed.err), printed.err
    assert contents(tmp_path) == before


def test_a_gigabyte_with_too_little_memory_is_refused_before_it_is_read(tmp_path):
    resource = pytest.importorskip("resource")
    path = huge_array(tmp_path)
    limit = 2**30

    def little_memory():
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))

    run = subprocess.run(
        [sys.executable, "-m", "hne", "embed", str(path), "-o", str(tmp_path / "out.csv"), "--quiet"],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=little_memory,
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
    )
    assert run.returncode == 2, run.stderr
    assert run.stderr.count("\n") == 1
    assert "GB" in run.stderr
    assert [one.name for one in tmp_path.iterdir()] == ["huge.npy"]


def test_force_overwrites_and_a_failure_leaves_what_was_there(tmp_path, capsys):
    source, out = text("good.csv", GOOD)(tmp_path), tmp_path / "out.csv"
    out.write_text("mine")
    assert main(["embed", str(source), "-o", str(out), "--force", "-k", "40"]) == 2
    assert out.read_text() == "mine"
    assert main(["embed", str(source), "-o", str(out), "--force"]) == 0
    assert out.read_text().startswith("hne1,hne2\n")


@pytest.mark.parametrize(
    "number", [signal.SIGTERM, pytest.param(signal.SIGHUP, marks=pytest.mark.slow)], ids=["terminated", "hung up"]
)
def test_an_end_from_outside_leaves_no_half_written_file(tmp_path, number):
    path = tmp_path / "roll.npy"
    np.save(path, make_swiss_roll(20_000, random_state=0).X)
    words = ["embed", str(path), "-o", str(tmp_path / "out.csv"), "--report", str(tmp_path / "out.html")]
    with subprocess.Popen([sys.executable, "-m", "hne", *words], stderr=subprocess.PIPE, text=True) as process:
        while "neighbors" not in process.stderr.readline():
            assert process.poll() is None
        time.sleep(0.2)
        process.send_signal(number)
        assert "interrupted" in process.stderr.read()
    assert process.returncode == 128 + number
    assert [one.name for one in tmp_path.iterdir()] == ["roll.npy"]


def test_outputs_in_a_folder_of_images_are_refused(tmp_path, capsys):
    image = pytest.importorskip("PIL.Image")
    for number in range(12):
        image.fromarray(np.full((4, 4), 20 * number, dtype=np.uint8)).save(tmp_path / f"{number}.png")
    assert main(["embed", str(tmp_path), "--plot", str(tmp_path / "map.png")]) == 2
    assert "--plot must not lie in the folder that is read" in capsys.readouterr().err


def test_a_link_to_nothing_counts_as_a_file(tmp_path, capsys):
    source, link = text("good.csv", GOOD)(tmp_path), tmp_path / "link.csv"
    link.symlink_to(tmp_path / "nowhere.csv")
    assert main(["embed", str(source), "-o", str(link), "-q"]) == 2
    assert "exists already" in capsys.readouterr().err
    assert link.is_symlink()


def test_through_a_link_the_ending_that_was_typed_decides(tmp_path, capsys):
    source = text("good.csv", GOOD)(tmp_path)
    for link, target in {"out.csv": "real.tsv", "out.png": "real.txt", "out.json": "real"}.items():
        (tmp_path / link).symlink_to(tmp_path / target)
    words = ["embed", str(source), "--force", "-q", "-o"]
    assert main([*words, f"{tmp_path}/out.csv", "--plot", f"{tmp_path}/out.png"]) == 0
    assert (tmp_path / "real.tsv").read_text().startswith("hne1,hne2\n")
    assert (tmp_path / "real.txt").read_bytes().startswith(b"\x89PNG")
    assert main([*words, f"{tmp_path}/out.json"]) == 0
    assert (tmp_path / "real").read_text().startswith("[")
    assert all((tmp_path / name).is_symlink() for name in ("out.csv", "out.png", "out.json"))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes with names")
@pytest.mark.parametrize("option", ["-o", "--save", "--report", "--plot"])
def test_pipes_are_written_into_without_force_and_with_it(tmp_path, option, capsys):
    source, heard = text("good.csv", GOOD)(tmp_path), []
    pipe = tmp_path / {"-o": "out.csv", "--save": "model", "--report": "page.html", "--plot": "out.png"}[option]
    os.mkfifo(pipe)
    for more in ([], ["--force"]):
        reader = threading.Thread(target=lambda: heard.append(pipe.read_bytes()))
        reader.start()
        assert main(["embed", str(source), option, str(pipe), "-q", *more]) == 0, capsys.readouterr()
        reader.join(timeout=10)
        assert pipe.is_fifo()
    assert len(heard) == 2
    assert all(heard)


def test_a_file_that_appears_while_it_is_written_is_kept(tmp_path, capsys, monkeypatch):
    source, out = text("good.csv", GOOD)(tmp_path), tmp_path / "out.csv"
    write = _write._write_rows
    monkeypatch.setattr(_write, "_write_rows", lambda *given: (write(*given), out.write_text("mine")))
    assert main(["embed", str(source), "-o", str(out), "-q"]) == 2
    assert "exists already" in capsys.readouterr().err
    assert out.read_text() == "mine"
    assert {path.name for path in tmp_path.iterdir()} == {"good.csv", "out.csv"}


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_behind_standard_output_is_one_line(tmp_path):
    source = text("good.csv", GOOD)(tmp_path)
    with Path("/dev/full").open("w") as full:
        command = [sys.executable, "-m", "hne", "embed", str(source), "-q"]
        run = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert run.returncode == 1
    assert run.stderr == "hne: the system refuses: No space left on device. Check space and permissions.\n"


def test_letters_that_standard_output_does_not_take_are_told(tmp_path):
    source = text("good.csv", GOOD.replace("x,y,z", "x,y,grüße").replace(",3\n", ",ß\n"))(tmp_path)
    command = [sys.executable, "-m", "hne", "embed", str(source), "-q"]
    environment = os.environ | {"PYTHONIOENCODING": "ascii"}
    run = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert run.returncode == 2
    assert "standard output takes ascii alone" in run.stderr
    assert run.stderr.count("\n") == 1
