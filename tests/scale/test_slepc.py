"""SLEPc by MPI: the same planes as the local solvers, and a clear word wherever ranks cannot do their work."""

import json
import logging
import os
import re
import shutil
import signal
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import psutil
import pytest
from scipy.linalg import subspace_angles
from sklearn.datasets import load_digits

from hne import embed
from hne.cli import main
from hne.core.eigen import slepc as _launch
from hne.core.eigen import slepc as _slepc
from hne.core.eigen.exchange import has_result, vectors_file, write_alignment
from hne.core.eigen.slepc import Launch, find_launch, solve_folder
from hne.core.eigen.solve import bottom_eigenpairs
from hne.datasets import make_swiss_roll
from hne.exceptions import EigenSolverError, FallbackWarning, InputError, MissingExtraError
from hne.scale import slepc_program as slepc
from hne.settings import Settings
from tests.conftest import advised
from tests.core.test_alignment import aligned

try:
    find_launch()
    REASON = ""
except MissingExtraError as error:
    REASON = str(error)
runs = pytest.mark.skipif(bool(REASON), reason=REASON)
SOLVED = Settings(eigen_solver="slepc")


@pytest.fixture(autouse=True)
def of_any_size(monkeypatch):
    monkeypatch.setenv("HNE_SLEPC_MIN_SAMPLES", "1")
    monkeypatch.setenv("HNE_MPI_RANKS", "2")
    for name in ("HNE_SLEPC_FOLDER", "HNE_SLEPC_PYTHON", "HNE_MPIEXEC", slepc.WAIT_AT):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def problem(roll, tmp_path):
    write_alignment(tmp_path, aligned(roll.X, 6), block_rows=150, count=2)
    return tmp_path


def is_same(pairs, expected):
    assert pairs.solver == "slepc"
    assert subspace_angles(pairs.vectors, expected.vectors).max() < 1e-6
    np.testing.assert_allclose(pairs.values, expected.values, rtol=1e-6)
    assert pairs.next_value == pytest.approx(expected.next_value, rel=1e-3)


def ranks_at(folder):
    """Processes of the program that work on a folder."""
    found = []
    for process in psutil.process_iter(["cmdline"]):
        words = process.info["cmdline"] or []
        if str(folder) in words and str(_launch.PROGRAM) in words and "-n" not in words:
            found.append(process)
    return found


def waited_for(condition, seconds=30):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


@runs
@pytest.mark.scale
@pytest.mark.parametrize("ranks", [1, 2])
@pytest.mark.parametrize("variant", ["ihne", "bhne"])
def test_a_roll_gets_the_plane_of_the_direct_solver(ranks, variant, monkeypatch):
    monkeypatch.setenv("HNE_MPI_RANKS", str(ranks))
    record = aligned(make_swiss_roll(2_000, random_state=0).X, 8, variant=variant)
    is_same(bottom_eigenpairs(record, SOLVED), bottom_eigenpairs(record, Settings(eigen_solver="direct")))


@runs
@pytest.mark.scale
@pytest.mark.parametrize("gamma", [1.0, 0.3])
def test_digits_get_the_plane_of_the_dense_solver(gamma):
    X = load_digits().data
    settings = {"n_neighbors": 8, "gamma": gamma, "coordinates": "chart"}
    found, expected = (embed(X, eigen_solver=solver, **settings).eigenpairs for solver in ("slepc", "dense"))
    is_same(found, expected)


@runs
@pytest.mark.scale
def test_pieces_and_copies_are_solved_one_by_one():
    sheet = make_swiss_roll(400, random_state=0).X
    X = np.vstack([sheet, sheet[:50], sheet[:300] + 1e3])
    with advised():
        found = embed(X, n_neighbors=6, eigen_solver="slepc")
    with advised():
        expected = embed(X, n_neighbors=6, eigen_solver="dense")
    assert len(found.core.eigenpairs) == 2
    for pairs, other in zip(found.core.eigenpairs, expected.core.eigenpairs, strict=True):
        is_same(pairs, other)
    np.testing.assert_allclose(found.Y, expected.Y, atol=1e-6)
    np.testing.assert_array_equal(found.Y[:50], found.Y[400:450])


@runs
@pytest.mark.scale
def test_more_ranks_than_a_few_samples_need_and_many_vectors(cloud, monkeypatch):
    monkeypatch.setenv("HNE_MPI_RANKS", "3")
    record = aligned(cloud[:14], 5)
    found, expected = (
        bottom_eigenpairs(record, Settings(n_components=4, eigen_solver=solver)) for solver in ("slepc", "dense")
    )
    is_same(found, expected)


@runs
@pytest.mark.scale
def test_the_smallest_tolerance_is_reached(roll):
    record = aligned(roll.X, 6)
    tight = bottom_eigenpairs(record, Settings(eigen_solver="slepc", tol=1e-12))
    is_same(tight, bottom_eigenpairs(record, Settings(eigen_solver="dense")))


def test_the_start_does_not_depend_on_the_number_of_ranks():
    whole = slepc.drawn(3, 0, 200_000)
    parts = [slepc.drawn(3, start, stop) for start, stop in ((0, 70_000), (70_000, 70_001), (70_001, 200_000))]
    np.testing.assert_array_equal(np.concatenate(parts), whole)
    assert len(slepc.drawn(3, 5, 5)) == 0


@runs
@pytest.mark.scale
@pytest.mark.parametrize("way", ["script", "module"])
def test_the_program_runs_by_itself(problem, way):
    launch = find_launch()
    variables, source = launch.environment(), Path(_launch.PROGRAM).parents[2]
    words = [launch.python, str(_launch.PROGRAM)]
    if way == "module":
        variables["PYTHONPATH"] = os.pathsep.join([str(source), *launch.folders])
        words = [launch.python, "-m", "hne.scale.slepc_program"]
    run = subprocess.run([*words, str(problem)], env=variables, capture_output=True, text=True, check=True)
    parts = [line.removeprefix("hne slepc: ").partition(":")[0] for line in run.stdout.splitlines()]
    assert parts == ["read", "assemble", "factor", "iterate", "correct", "write", "done"]
    facts = json.loads((problem / "result.json").read_text())
    assert has_result(problem)
    assert set(facts["seconds"]) == set(parts[:-1])
    assert max(facts["residuals"]) < 1e-12
    assert len(facts["peak_bytes"]) == facts["n_ranks"] == 1
    assert not list(problem.glob(".hne*"))


@runs
@pytest.mark.scale
def test_a_killed_rank_is_an_error_and_the_next_call_solves(problem, monkeypatch, caplog):
    monkeypatch.setenv(slepc.WAIT_AT, "factor")
    caplog.set_level(logging.INFO, "hne")
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(solve_folder, problem, 2)
        waited_for(lambda: "slepc: factor" in caplog.text)
        ranks_at(problem)[-1].send_signal(signal.SIGKILL)
        message = r"no result of the slepc solver: its ranks ended \(.*signal 9 .*\) after they said 'factor"
        with pytest.raises(EigenSolverError, match=message):
            future.result(60)
    waited_for(lambda: not ranks_at(problem))
    assert not has_result(problem)
    monkeypatch.delenv(slepc.WAIT_AT)
    assert solve_folder(problem, 2).facts["n_ranks"] == 2


@runs
@pytest.mark.scale
def test_ctrl_c_ends_the_ranks(problem, monkeypatch, caplog, hears_interrupts):
    monkeypatch.setenv(slepc.WAIT_AT, "iterate")
    caplog.set_level(logging.INFO, "hne")

    def interrupt():
        waited_for(lambda: "slepc: iterate" in caplog.text)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        solve_folder(problem, 2)
    thread.join()
    waited_for(lambda: not ranks_at(problem), 10)


@runs
@pytest.mark.scale
def test_a_folder_that_is_kept_is_not_solved_twice(roll, tmp_path, monkeypatch, caplog):
    monkeypatch.setenv("HNE_SLEPC_FOLDER", str(tmp_path))
    caplog.set_level(logging.INFO, "hne")
    record = aligned(roll.X, 6)
    first = bottom_eigenpairs(record, SOLVED)
    assert "is solved already" not in caplog.text
    np.testing.assert_array_equal(bottom_eigenpairs(record, SOLVED).vectors, first.vectors)
    assert "is solved already" in caplog.text
    # What was damaged since is solved again.
    (folder,) = tmp_path.iterdir()
    (folder / vectors_file(0, 200)).write_bytes(b"half")
    np.testing.assert_allclose(bottom_eigenpairs(record, SOLVED).vectors, first.vectors, atol=1e-9)
    bottom_eigenpairs(aligned(roll.X, 7), SOLVED)
    assert len(list(tmp_path.iterdir())) == 2


@runs
@pytest.mark.scale
@pytest.mark.parametrize("ranks", [1, 2])
def test_a_shift_that_leaves_pivots_negative_gets_larger(roll, tmp_path, ranks):
    write_alignment(tmp_path, aligned(roll.X, 6), count=2, shifts=(-1e-3, 1e-12))
    facts = solve_folder(tmp_path, ranks).facts
    assert facts["shift"] == 1e-12
    assert max(facts["residuals"][:2]) < 1e-13
    write_alignment(tmp_path, aligned(roll.X, 6), count=2, shifts=(-1e-3,))
    message = r"G is not positive definite even with a shift of -0.001 of its scale\. Take a larger reg\."
    with pytest.raises(EigenSolverError, match=message):
        solve_folder(tmp_path, ranks)


def harmed(problem, harm):
    """Damage the folder, and return the file that the message has to name."""
    path = problem / "problem.json"
    block = problem / "B-000000000150-000000000300.data.npy"
    if harm == "gone":
        path.unlink()
    elif harm == "foreign":
        path.write_text('{"name": "jest"}')
    elif harm == "truncated":
        path.write_bytes(path.read_bytes()[:200])
    elif harm == "version":
        path.write_text(path.read_text().replace('"version": 1', '"version": 7'))
    else:
        path = block
        whole = path.read_bytes()
        path.write_bytes({"short block": whole[:-8], "flipped": whole[:-1] + b"?", "foreign block": b"PK"}[harm])
    return path


@runs
@pytest.mark.scale
@pytest.mark.parametrize(
    ("harm", "message"),
    [
        ("gone", r"cannot read '.*problem.json': no such file or directory\. Name a folder that hne wrote\."),
        ("foreign", r"problem.json' is damaged, or not a problem that hne wrote\. Write it anew\."),
        ("truncated", r"problem.json' is damaged, or not a problem that hne wrote\. Write it anew\."),
        ("version", r"has version 7, this program reads 1\. Use one hne for both\."),
        ("short block", r"data.npy' is damaged, or not of this problem\. Remove .* again\."),
        ("flipped", r"data.npy' is damaged, or not of this problem\. Remove .* again\."),
        ("foreign block", r"data.npy' is damaged, or not of this problem\. Remove .* again\."),
    ],
)
def test_a_damaged_folder_is_one_line(problem, harm, message):
    harmed(problem, harm)
    launch = find_launch()
    command = [launch.python, str(_launch.PROGRAM), str(problem)]
    run = subprocess.run(command, env=launch.environment(), capture_output=True, text=True, check=False)
    assert run.returncode == 1
    assert re.fullmatch(f"hne slepc: error: .*{message}\n", run.stderr)


@runs
@pytest.mark.scale
def test_what_one_rank_cannot_read_is_told_by_the_first(problem):
    (problem / "A-000000000300-000000000400.indptr.npy").unlink()
    message = r"^no result of the slepc solver: cannot read '.*300-.*400.indptr.npy': no such file .* wrote it again\.$"
    with pytest.raises(EigenSolverError, match=message):
        solve_folder(problem, 2)


@runs
@pytest.mark.scale
def test_what_cannot_be_written_is_one_line_and_no_result(problem):
    (problem / vectors_file(200, 400)).mkdir()
    message = r"cannot write '.*vectors-000000000200-000000000400.npy': is a directory\. Make room"
    with pytest.raises(EigenSolverError, match=message):
        solve_folder(problem, 2)
    assert not has_result(problem)
    assert not list(problem.glob(".hne*"))


@pytest.fixture
def small_disk(tmp_path):
    """A folder on a file system of its own, where the system allows one."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=200k", "tmpfs", str(folder)]
    if shutil.which("mount") is None or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("needs leave to mount a file system")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


@runs
@pytest.mark.scale
def test_a_full_or_read_only_disk_is_one_line(roll, small_disk):
    write_alignment(small_disk, aligned(roll.X, 6), count=2)
    free = shutil.disk_usage(small_disk).free
    (small_disk / "other").write_bytes(bytes(free - 4096))
    message = r"cannot write '.*vectors-.*npy': no space left on device\. Make room"
    with pytest.raises(EigenSolverError, match=message):
        solve_folder(small_disk, 2)
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    with pytest.raises(EigenSolverError, match=r"cannot write to '.*disk'\. Give its owner"):
        solve_folder(small_disk, 2)


@runs
@pytest.mark.scale
def test_a_launcher_of_another_mpi_is_told_apart(problem, tmp_path_factory):
    launch, other = find_launch(), tmp_path_factory.mktemp("bin") / "mpiexec"
    # Starts what it is told twice, each a world of its own.
    other.write_text('#!/bin/sh\nshift 2\n"$@" & "$@"; wait\n')
    other.chmod(0o755)
    message = r"2 ranks were started, but PETSc sees 1: it was built with another MPI than the launcher's\. Set HNE_MPI"
    with pytest.raises(EigenSolverError, match=message):
        solve_folder(problem, 2, Launch(launch.python, launch.folders, (str(other),)))


@runs
@pytest.mark.scale
def test_the_command_solves_every_folder_below(roll, tmp_path, capsys):
    for k in (6, 7):
        write_alignment(tmp_path / f"k{k}", aligned(roll.X, k), count=2)
    assert main(["eigen", str(tmp_path / "k6"), "-n", "1", "--quiet"]) == 0
    printed = capsys.readouterr()
    assert "k6: solved, 400 samples, 1 ranks" in printed.out
    assert "GB of each rank" in printed.out
    assert printed.err == ""
    assert main(["eigen", str(tmp_path), "--launcher", "mpiexec -n 2", "--json"]) == 0
    problems = json.loads(capsys.readouterr().out)["problems"]
    assert [(one["was_solved"], one["n_ranks"]) for one in problems] == [(True, 1), (False, 2)]
    assert len(problems[0]["eigenvalues"]) == len(problems[0]["residuals"]) == 2


@runs
@pytest.mark.scale
def test_a_run_stops_where_ranks_take_over_and_goes_on_from_what_they_found(roll, tmp_path, capsys):
    np.save(tmp_path / "x.npy", roll.X)
    run = ["embed", str(tmp_path / "x.npy"), "--checkpoint", str(tmp_path / "run"), "--eigen-solver", "slepc"]
    assert main([*run, "--until-eigenproblem"]) == 0
    assert "the eigenproblem is in '" in capsys.readouterr().err
    assert main(["eigen", str(tmp_path / "run"), "-n", "2", "-q"]) == 0
    assert main([*run, "--until-eigenproblem"]) == 0
    assert "is solved" in capsys.readouterr().err
    assert main([*run, "-o", str(tmp_path / "y.npy")]) == 0
    here = embed(roll.X, eigen_solver="dense")
    np.testing.assert_allclose(np.load(tmp_path / "y.npy"), here.Y, atol=1e-5)
    assert main([*run[:-1], "direct", "--until-eigenproblem"]) == 2


@pytest.mark.parametrize("coordinates", ["auto", "layout"])
def test_a_layout_leaves_no_eigenproblem(cloud, tmp_path, capsys, coordinates):
    np.save(tmp_path / "x.npy", cloud)
    run = ["embed", str(tmp_path / "x.npy"), "--checkpoint", str(tmp_path / "run"), "--eigen-solver", "slepc"]
    assert main([*run, "--until-eigenproblem", "--coordinates", coordinates]) == 2
    told = "--coordinates must be 'chart' or 'eigenvectors' for an eigenproblem that is left for MPI, got a layout"
    assert told in capsys.readouterr().err


@runs
@pytest.mark.scale
def test_the_command_fails_in_one_line(problem, capsys):
    harmed(problem, "flipped")
    assert main(["eigen", str(problem), "-q"]) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.count("\n") == 1
    assert "is damaged" in printed.err


def test_the_command_refuses_folders_without_a_problem(tmp_path, capsys):
    assert main(["eigen", str(tmp_path)]) == 2
    assert "has no problem.json, nor has a folder below it. Name a folder that hne wrote." in capsys.readouterr().err


def test_the_command_is_not_started_by_mpi_itself(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("OMPI_COMM_WORLD_SIZE", "4")
    assert main(["eigen", str(tmp_path)]) == 2
    assert "hne eigen starts ranks itself, got started as one of 4. Run it once" in capsys.readouterr().err


def test_without_mpi_the_local_choice_takes_over_and_says_so(roll, monkeypatch):
    monkeypatch.setenv("HNE_MPIEXEC", "no-such-launcher")
    needs = r"the slepc solver needs MPI, got no program 'no-such-launcher'\. Correct HNE_MPIEXEC"
    with pytest.warns(
        FallbackWarning, match=rf"{needs}.* The solver that eigen_solver='auto' chooses takes over\."
    ) as told:
        assert embed(roll.X, eigen_solver="slepc").eigenpairs.solver == "direct"
    assert told[0].filename == __file__


def test_without_slepc4py_the_message_says_what_to_install(monkeypatch):
    monkeypatch.setattr(_launch, "find_spec", lambda _: None)
    monkeypatch.setattr(_launch, "DEBIAN_PYTHON", "/nowhere/python3")
    monkeypatch.setattr(_launch.shutil, "which", lambda name: name)
    with pytest.raises(MissingExtraError, match=r"needs slepc4py, got neither one for .* pip install slepc4py\."):
        find_launch(launcher="mpiexec-of-nobody")
    with pytest.raises(MissingExtraError, match=r"needs slepc4py, got '/nowhere/python', which has none\."):
        find_launch("/nowhere/python", "mpiexec-of-nobody")


def test_few_samples_are_left_to_other_solvers(roll, monkeypatch, caplog):
    monkeypatch.delenv("HNE_SLEPC_MIN_SAMPLES")
    caplog.set_level(logging.INFO, "hne")
    assert bottom_eigenpairs(aligned(roll.X, 6), SOLVED).solver == "direct"
    assert "400 samples are too few for slepc, auto takes over" in caplog.text


@pytest.mark.parametrize("value", ["0", "two", "-1"])
def test_a_number_of_ranks_is_positive(monkeypatch, value):
    monkeypatch.setenv("HNE_MPI_RANKS", value)
    with pytest.raises(InputError, match=f"HNE_MPI_RANKS must be a positive whole number, got '{value}'"):
        _launch.rank_count(Launch("python", (), ("mpiexec",)), 2)


def test_the_launcher_may_say_the_number_of_ranks():
    launch = Launch("python", (), ("srun", "--ntasks=64"))
    assert launch.counts_ranks
    assert _launch.rank_count(launch, 2) is None
    assert launch.command(Path("folder"), None)[:3] == ["srun", "--ntasks=64", "python"]
    assert not Launch("python", (), ("mpiexec",)).counts_ranks
    assert Launch("python", (), ("mpiexec",)).command(Path("folder"), 3)[:4] == ["mpiexec", "-n", "3", "python"]


def test_ranks_see_the_folders_of_their_python_alone(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", "mine")
    assert Launch("python", ("theirs",), ("mpiexec",)).environment()["PYTHONPATH"] == "theirs"
    variables = Launch("python", (), ("mpiexec",)).environment()
    assert (variables["PYTHONPATH"], variables["OMP_NUM_THREADS"]) == ("mine", "1")


def build(scalar=np.float64, has_mumps=True):
    """PETSc as far as the program asks how it was built."""
    return SimpleNamespace(ScalarType=scalar, Sys=SimpleNamespace(hasExternalPackage=lambda _: has_mumps))


def test_a_build_that_will_not_do_is_refused_with_the_remedy():
    with pytest.raises(slepc.RefusedError, match=r"PETSc has complex numbers, real ones are needed\. Install a real"):
        slepc.check_build(build(np.complex128), 2, 2)
    with pytest.raises(slepc.RefusedError, match=r"PETSc was built without MUMPS, which factors G\. Install a build"):
        slepc.check_build(build(has_mumps=False), 2, None)
    slepc.check_build(build(), 2, 2)


def test_what_32_bits_cannot_count_is_refused(problem):
    path = problem / "problem.json"
    path.write_text(path.read_text().replace("400", "3000000000"))
    with pytest.raises(slepc.RefusedError, match=r"3000000000 samples are too many for 32-bit indices\. Use a PETSc"):
        slepc.read_problem(problem, SimpleNamespace(IntType=np.int32))
    assert slepc.read_problem(problem, SimpleNamespace(IntType=np.int64))["n_samples"] == 3_000_000_000


@pytest.mark.parametrize(
    ("statuses", "message"),
    [
        ([(-9, 0), (-40, 0), (0, 3), (0, 0)], None),
        ([(-13, 0)], r"MUMPS ended the factorization with error -13\. Start more ranks, or on more machines\."),
        ([(-9, 0)] * 3, r"MUMPS ended the factorization with error -9\. Start more ranks"),
        ([(-2, 0)], r"MUMPS ended the factorization with error -2\. Take a larger reg\."),
    ],
)
def test_mumps_gets_more_room_and_larger_shifts(monkeypatch, statuses, message):
    answers, asked, shifted = iter(statuses), [], []
    ksp, G = SimpleNamespace(destroy=lambda: None), SimpleNamespace(shift=shifted.append)

    def answer(_, __, workspace):
        asked.append(workspace)
        return ksp, *next(answers)

    monkeypatch.setattr(slepc, "_cholesky", answer)
    solve = partial(slepc.factorized, None, G, 2.0, (1e-14, 1e-12, 1e-10), slepc.Parts(SimpleNamespace(rank=1)))
    if message is not None:
        with pytest.raises(slepc.RefusedError, match=message):
            solve()
        return
    assert solve() == (ksp, 1e-10)
    assert asked == [30, 100, 100, 100]
    np.testing.assert_allclose(np.cumsum(shifted), [2e-14, 2e-12, 2e-10])


def test_an_error_of_petsc_is_its_number_and_its_reason():
    trace = ValueError("error code 55\n[0] MatGetFactor() at ./matrix.c:4757\n[0] Out of memory")
    line = (
        "ValueError: error code 55: [0] Out of memory. Start more ranks if memory ran out, or try eigen_solver='auto'."
    )
    assert slepc.described(trace) == line
    assert slepc.described(MemoryError()).startswith("MemoryError: out of memory. Start more ranks")


@pytest.mark.skipif(find_spec("slepc4py") is not None, reason="this Python has slepc4py")
def test_a_python_without_slepc4py_says_so_in_one_line(tmp_path, capsys):
    assert slepc.main([str(tmp_path)]) == 1
    printed = capsys.readouterr().err
    assert printed.count("\n") == 1
    assert "hne slepc: error: slepc4py cannot be imported by" in printed
    assert printed.endswith("or pip install slepc4py.\n")


def fake_launcher(tmp_path, script):
    path = tmp_path / "launcher"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return partial(solve_folder, launch=Launch("python", (), (str(path),)))


def test_ranks_that_say_nothing_and_leave_nothing_are_an_error(problem, tmp_path):
    solve = fake_launcher(tmp_path, "exit 3")
    message = r"its ranks ended \(status 3\) after they said 'nothing'\. If memory ran out, spread them over more"
    with pytest.raises(EigenSolverError, match=message):
        solve(problem)


def test_ranks_that_end_well_without_a_result_are_an_error(problem, tmp_path):
    solve = fake_launcher(tmp_path, "echo 'hne slepc: write'")
    with pytest.raises(EigenSolverError, match=r"its ranks ended \(status 0\) after they said 'write'"):
        solve(problem)


def test_the_last_error_line_is_the_message(problem, tmp_path):
    solve = fake_launcher(tmp_path, "echo 'hne slepc: error: MUMPS ended. Take a larger reg.'; echo 'signal 9'; exit 1")
    with pytest.raises(EigenSolverError, match=r"^no result of the slepc solver: MUMPS ended\. Take a larger reg\.$"):
        solve(problem)


def test_a_wrong_basis_of_the_ranks_never_leaves_the_room(roll, monkeypatch):
    monkeypatch.setattr(_slepc, "find_launch", lambda *_: None)
    monkeypatch.setattr(
        "hne.core.eigen.solve.slepc_eigenvectors", lambda *_: np.random.default_rng(0).normal(size=(400, 8))
    )
    with pytest.raises(EigenSolverError, match="the slepc solver left residuals of"):
        bottom_eigenpairs(aligned(roll.X, 6), SOLVED)
