"""Files are there whole or not at all."""

import os
import signal
import socket
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from hne._runtime import files as _files
from hne._runtime.files import atomic_write, keep_existing_files, make_folder
from hne.exceptions import InputError


def test_a_finished_file_takes_its_name_and_keeps_its_ending(tmp_path):
    target = tmp_path / "out.csv"
    with atomic_write(target) as temporary:
        assert temporary.suffix == ".csv"
        temporary.write_text("new")
        assert not target.exists()
    assert target.read_text() == "new"
    assert [path.name for path in tmp_path.iterdir()] == ["out.csv"]


def test_a_failure_leaves_the_old_file_alone(tmp_path):
    target = tmp_path / "out.csv"
    target.write_text("old")
    with pytest.raises(ZeroDivisionError, match="division"), atomic_write(target) as temporary:
        temporary.write_text("half")
        _ = 1 / 0
    assert target.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["out.csv"]


def test_a_file_in_the_way_of_a_folder_is_named(tmp_path):
    (tmp_path / "taken").write_text("")
    for place in (tmp_path / "taken", tmp_path / "taken" / "below"):
        with pytest.raises(InputError, match=r"cannot write '.*taken.*': (file exists|not a directory)"):
            make_folder(place)
    with (
        pytest.raises(InputError, match=r"cannot write '.*x\.csv': not a directory"),
        atomic_write(tmp_path / "taken" / "x.csv") as temporary,
    ):
        temporary.write_text("anything")


def test_a_place_that_cannot_be_written_is_named(tmp_path):
    with (
        pytest.raises(InputError, match=r"cannot write '.*x\.csv': no such file or directory"),
        atomic_write(tmp_path / "missing" / "x.csv") as temporary,
    ):
        temporary.write_text("anything")


def test_a_link_stays_a_link_and_what_it_leads_to_is_replaced(tmp_path):
    (tmp_path / "real.csv").write_text("old")
    (tmp_path / "link.csv").symlink_to(tmp_path / "real.csv")
    with atomic_write(tmp_path / "link.csv") as temporary:
        temporary.write_text("new")
    assert (tmp_path / "link.csv").is_symlink()
    assert (tmp_path / "real.csv").read_text() == "new"


def test_a_file_that_is_replaced_hands_its_permissions_on(tmp_path):
    (tmp_path / "secret.csv").write_text("old")
    (tmp_path / "secret.csv").chmod(0o600)
    with atomic_write(tmp_path / "secret.csv") as temporary:
        temporary.write_text("new")
    assert (tmp_path / "secret.csv").stat().st_mode & 0o777 == 0o600


def test_existing_files_are_kept_where_that_is_asked_for(tmp_path):
    (tmp_path / "out.csv").write_text("old")
    with (
        keep_existing_files(),
        pytest.raises(InputError, match=r"'.*out\.csv': it exists already"),
        atomic_write(tmp_path / "out.csv") as temporary,
    ):
        temporary.write_text("new")
    with keep_existing_files(), atomic_write(tmp_path / "fresh.csv") as temporary:
        temporary.write_text("new")
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"out.csv": "old", "fresh.csv": "new"}


def test_two_writers_of_one_file_do_not_share_a_temporary_name(tmp_path):
    with atomic_write(tmp_path / "out.csv") as first, atomic_write(tmp_path / "out.csv") as second:
        assert first != second
        first.write_text("first")
        second.write_text("second")
    assert (tmp_path / "out.csv").read_text() == "first"


def test_the_ending_that_was_asked_for_counts_and_not_that_of_what_a_link_leads_to(tmp_path):
    (tmp_path / "link.csv").symlink_to(tmp_path / "real.tsv")
    with atomic_write(tmp_path / "link.csv") as temporary:
        assert temporary.suffix == ".csv"
        temporary.write_text("new")
    assert (tmp_path / "real.tsv").read_text() == "new"


def test_a_loop_of_links_is_told(tmp_path):
    (tmp_path / "a.csv").symlink_to(tmp_path / "b.csv")
    (tmp_path / "b.csv").symlink_to(tmp_path / "a.csv")
    with (
        pytest.raises(InputError, match=r"cannot write '.*a\.csv': too many levels of symbolic links"),
        atomic_write(tmp_path / "a.csv"),
    ):
        pass


needs_pipes = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes with names")


@needs_pipes
@pytest.mark.parametrize("kept", [True, False], ids=["existing files kept", "replaced"])
def test_a_pipe_is_written_into_and_stays_one(tmp_path, kept):
    pipe, heard = tmp_path / "pipe.csv", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: heard.append(pipe.read_bytes()))
    reader.start()
    with keep_existing_files(kept), atomic_write(pipe) as temporary:
        assert temporary.suffix == ".csv"
        temporary.write_bytes(b"new" * 100_000)
    reader.join()
    assert heard == [b"new" * 100_000]
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert [path.name for path in tmp_path.iterdir()] == ["pipe.csv"]


@needs_pipes
def test_a_failure_writes_nothing_into_a_pipe(tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(ZeroDivisionError, match="division"), atomic_write(tmp_path / "pipe.csv") as temporary:
        temporary.write_text("half")
        _ = 1 / 0
    assert stat.S_ISFIFO((tmp_path / "pipe.csv").stat().st_mode)


def device(path, kind, major, minor):
    """A device of its own in a folder of tests, never one of the system's."""
    if not hasattr(os, "mknod") or os.geteuid() != 0:
        pytest.skip("only root makes devices")
    try:
        os.mknod(path, kind | 0o600, os.makedev(major, minor))
        if kind == stat.S_IFCHR:
            path.write_bytes(b"")
    except OSError as error:
        pytest.skip(f"no devices here: {error.strerror}")
    return path


@pytest.mark.parametrize("is_linked", [False, True], ids=["itself", "by a link"])
def test_a_device_is_written_into_and_stays_one(tmp_path, is_linked):
    null = device(tmp_path / "null", stat.S_IFCHR, 1, 3)
    (tmp_path / "link.hne").symlink_to(null)
    with atomic_write(tmp_path / "link.hne" if is_linked else null) as temporary:
        temporary.write_text("new")
    assert stat.S_ISCHR(null.stat().st_mode)
    assert {path.name for path in tmp_path.iterdir()} == {"null", "link.hne"}


def test_disks_and_sockets_are_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # names of sockets are short
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind("socket")
        with (
            pytest.raises(InputError, match=r"cannot write 'socket': it is a socket"),
            atomic_write(Path("socket")),
        ):
            pass
    # A number that no driver has: nothing could be written to it.
    disk = device(tmp_path / "disk", stat.S_IFBLK, 240, 200)
    with pytest.raises(InputError, match=r"cannot write '.*disk': it is a disk"), atomic_write(disk):
        pass
    assert stat.S_ISBLK(disk.stat().st_mode)


KILLED = """
import os, signal, sys
from pathlib import Path
from hne._runtime.files import atomic_write
with atomic_write(Path(sys.argv[1])) as temporary:
    temporary.write_text("half")
    print(temporary, flush=True)
    if len(sys.argv) > 2:
        sys.stdin.read()
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(_files.fcntl is None, reason="needs locks")
def test_what_a_killed_process_left_is_cleared_and_what_is_being_written_is_not(tmp_path):
    target = tmp_path / "out.csv"
    run = subprocess.run([sys.executable, "-c", KILLED, target], capture_output=True, text=True, check=False)
    assert run.returncode == -signal.SIGKILL
    (left,) = tmp_path.iterdir()
    assert str(left) == run.stdout.strip()
    foreign = tmp_path / ".hne-00000000-abcdef012345.part.csv"
    foreign.write_text("of another machine")
    command = [sys.executable, "-c", KILLED, target, "wait"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        busy = Path(other.stdout.readline().strip())
        assert not left.exists()
        _files._clear.cache_clear()
        with atomic_write(target) as temporary:
            temporary.write_text("new")
        assert {path.name for path in tmp_path.iterdir()} == {"out.csv", busy.name, foreign.name}
        other.stdin.close()
        other.wait()
    _files._clear.cache_clear()
    with atomic_write(target) as temporary:
        temporary.write_text("new")
    assert {path.name for path in tmp_path.iterdir()} == {"out.csv", foreign.name}
