"""Runs that are killed, again and again, at any moment: they go on, lose nothing, and end with the same bits."""

import random
import shutil
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import psutil
import pytest

from hne import embed
from hne.datasets import make_swiss_roll

pytestmark = [pytest.mark.scale, pytest.mark.filterwarnings("ignore")]

N_SAMPLES, N_KILLS = 20_000, 20
# What is killed: a run on threads, on Dask workers, and one whose eigenproblem is solved by MPI ranks.
PROGRAM = """
import json, sys, warnings
warnings.simplefilter("ignore")
import numpy as np
from hne import embed
from hne.datasets import make_swiss_roll

def main(folder, n, executor_name, solver):
    X, executor = make_swiss_roll(n).X, None
    if executor_name == "dask":
        from distributed import Client, LocalCluster
        from hne.scale import DaskExecutor
        cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
        executor = DaskExecutor(Client(cluster))
    print("begun", flush=True)
    result = embed(X, checkpoint=folder, executor=executor, eigen_solver=solver)
    np.save(folder + ".npy", result.Y)
    print("done", flush=True)

if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4])
"""


def started(folder, executor="local", solver="auto"):
    arguments = [sys.executable, "-c", PROGRAM, str(folder), str(N_SAMPLES), executor, solver]
    with Path(f"{folder}.log").open("a") as log:
        return subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=log, text=True)


def assert_ends_well(program, folder):
    said = program.communicate()[0]
    assert said == "begun\ndone\n", Path(f"{folder}.log").read_text()[-2000:]
    assert np.array_equal(np.load(f"{folder}.npy"), embed(make_swiss_roll(N_SAMPLES).X).Y)


def finished(folder):
    """Blocks and stages that are finished, each with when it was."""
    return {
        str(path.relative_to(folder)): path.stat().st_mtime_ns
        for pattern in ("*/stage.json", "*/blocks/*.json")
        for path in folder.glob(pattern)
    }


def end_with_all_it_started(program):
    try:
        family = psutil.Process(program.pid).children(recursive=True)
    except psutil.NoSuchProcess:
        family = []
    program.kill()
    for child in family:
        with suppress(psutil.NoSuchProcess):
            child.kill()
    program.communicate()


def assert_nothing_lost(before, folder):
    """What was finished is there as it was; blocks may have become their stage."""
    after = finished(folder)
    for name, when in before.items():
        stage = f"{Path(name).parts[0]}/stage.json"
        assert after.get(name) == when or stage in after, name


@pytest.mark.slow
def test_twenty_kills_at_random_moments(tmp_path):
    rng, folder, kills = random.Random(0), tmp_path / "run", 0
    before = {}
    while kills < N_KILLS:
        program = started(folder, executor="dask" if kills % 4 == 3 else "local")
        try:
            assert program.stdout.readline() == "begun\n"
            time.sleep(rng.uniform(0.0, 2.5))
            is_done = program.poll() is not None
        finally:
            end_with_all_it_started(program)
        if is_done:
            # Too late to be killed: what it left is right, and the next one begins anew.
            assert np.array_equal(np.load(f"{folder}.npy"), embed(make_swiss_roll(N_SAMPLES).X).Y)
            shutil.rmtree(folder)
            before = {}
            continue
        kills += 1
        assert_nothing_lost(before, folder)
        before = finished(folder)
    assert_ends_well(started(folder), folder)


@pytest.mark.parametrize("executor", ["local", "dask"])
@pytest.mark.parametrize("stage", ["neighbors", "weights"])
def test_a_client_killed_between_stages_goes_on(tmp_path, executor, stage):
    folder = tmp_path / "run"
    program = started(folder, executor)
    try:
        assert program.stdout.readline() == "begun\n"
        while not list(folder.glob(f"{stage}-*/stage.json")):
            assert program.poll() is None
            time.sleep(0.002)
    finally:
        end_with_all_it_started(program)
    before = finished(folder)
    assert any(name.startswith(stage) for name in before)
    assert_ends_well(started(folder, executor), folder)
    assert_nothing_lost(before, folder)


@pytest.fixture
def small_disk(tmp_path):
    """A disk of 3 MB; only root can make one."""
    disk = tmp_path / "disk"
    disk.mkdir()
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", disk], capture_output=True, check=False)
    if made.returncode:
        pytest.skip("no leave to mount a disk")
    yield disk
    subprocess.run(["umount", "-l", disk], check=True)


def test_a_full_disk_is_one_line_and_a_larger_one_goes_on(small_disk, tmp_path):
    X = make_swiss_roll(N_SAMPLES).X
    from hne.exceptions import InputError

    with pytest.raises(InputError, match=r"cannot write '.*': no space left on device\. Choose another place\."):
        embed(X, checkpoint=small_disk / "run")
    left = finished(small_disk / "run")
    assert left
    assert not list((small_disk / "run").rglob("*.part*"))
    shutil.copytree(small_disk / "run", tmp_path / "run")
    result = embed(X, checkpoint=tmp_path / "run")
    assert np.array_equal(result.Y, embed(X).Y)
