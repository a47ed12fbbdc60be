"""Threads: as many as asked for, results in order, an error or interrupt gets through."""

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest
from joblib import parallel_config
from threadpoolctl import threadpool_info

from hne._runtime.threads import LibraryThreads, load_unbroken, map_blocks, raise_if_cancelled, thread_count


def test_results_come_in_the_order_of_the_items():
    def slow_square(number):
        time.sleep(0.002 * (5 - number))
        return number**2

    for n_threads in (1, 4):
        assert list(map_blocks(slow_square, range(5), n_threads)) == [0, 1, 4, 9, 16]


def test_an_interrupt_drops_the_blocks_that_have_not_begun():
    begun = []

    def task(number):
        begun.append(number)
        time.sleep(0.01)
        if number == 0:
            raise KeyboardInterrupt
        return number

    with pytest.raises(KeyboardInterrupt):
        list(map_blocks(task, range(200), 2))
    assert len(begun) < 50


def test_limits_of_libraries_nest_and_are_undone():
    before = counts()
    limits = LibraryThreads()
    with limits.at_most(2):
        with limits.at_most(1):
            assert set(counts()) == {1}
        assert max(counts()) <= 2
    assert counts() == before


def counts():
    return [library["num_threads"] for library in threadpool_info()]


def test_threads_whose_limits_overlap_leave_each_other_as_they_were():
    limits, first_is_in, second_is_in = LibraryThreads(), threading.Event(), threading.Event()
    inside = []

    def first():
        before = counts()
        with limits.at_most(1):
            first_is_in.set()
            second_is_in.wait(10)
        # Of OpenMP, a thread restores its own; what all share is limited until the second leaves.
        inside.append(counts())
        return before

    def second():
        first_is_in.wait(10)
        with limits.at_most(1):
            inside.append(counts())
            second_is_in.set()
            early.result()
            inside.append(counts())
        return counts()

    found = counts()
    with ThreadPoolExecutor(1) as one, ThreadPoolExecutor(1) as other:
        early = one.submit(first)
        late = other.submit(second)
        after = late.result()
        assert set(inside[0]) == set(inside[2]) == {1}
        assert one.submit(counts).result() == other.submit(counts).result() == after == early.result()
    assert counts() == found


ALIKE_IN_THREADS = """
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from threadpoolctl import threadpool_info

from hne import HNE
from hne.datasets import make_swiss_roll


def fit(X):
    return HNE(n_neighbors=8, eigen_solver="dense", coordinates="eigenvectors").fit_transform(X)


def counts(_=None):
    return [(library["filepath"], library["num_threads"]) for library in threadpool_info()]


# The roll is searched by a tree, the other by scikit-learn, which sets limits of its own.
roll, wide = make_swiss_roll(120, random_state=0).X, np.random.default_rng(0).normal(size=(120, 40))
expected = [fit(roll), fit(wide)]
before = counts()
for n_threads in (1, 4):
    with ThreadPoolExecutor(n_threads) as pool:
        found = list(pool.map(fit, [roll, wide] * 2))
        assert all(np.array_equal(one, expected[number % 2]) for number, one in enumerate(found)), "other bits"
        assert all(one == before for one in pool.map(counts, range(8))), "limits left in a thread"
    assert counts() == before, "limits left"
"""


@pytest.mark.slow
def test_fits_in_threads_have_the_bits_of_the_main_thread_and_leave_no_limit():
    # In a process of its own, whose libraries may have all threads: a limit that fails is seen by nothing else.
    free = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", ALIKE_IN_THREADS],
        env=free | {"PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_n_jobs_counts_threads_and_none_are_all_or_those_of_a_context():
    assert thread_count(3) == 3
    assert thread_count(None) == thread_count(-1) >= 1
    with parallel_config("threading", n_jobs=5):
        assert thread_count(None) == 5


def test_an_interrupt_ends_the_blocks_that_have_begun_at_their_next_checkpoint():
    looks = []

    def task(number):
        for _ in range(1000):
            raise_if_cancelled()
            looks.append(number)
            time.sleep(0.01)
            if number == 0:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(map_blocks(task, range(2), 2))
    assert len(looks) < 100


def test_checkpoints_let_pass_where_nobody_has_given_up():
    def task(number):
        raise_if_cancelled()
        return number

    raise_if_cancelled()
    assert list(map_blocks(task, range(3), 2)) == [0, 1, 2]


def test_leaving_a_map_in_the_middle_ends_its_threads():
    done = []
    with pytest.raises(ZeroDivisionError) as held, closing(map_blocks(slow(done), range(50), 2)) as blocks:
        for _ in blocks:
            1 / 0  # noqa: B018
    assert held.value.__traceback__ is not None
    finished = len(done)
    time.sleep(0.1)
    assert len(done) == finished < 50


def slow(done):
    def task(item):
        time.sleep(0.01)
        done.append(item)

    return task


@pytest.mark.usefixtures("hears_interrupts")
def test_an_interrupt_waits_for_an_import(tmp_path, monkeypatch):
    (tmp_path / "hne_slow_module.py").write_text("import time\ntime.sleep(0.3)\nwhole = True\n")
    monkeypatch.syspath_prepend(tmp_path)
    threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        load_unbroken("hne_slow_module")
    assert load_unbroken("hne_slow_module").whole
    del sys.modules["hne_slow_module"]


def _count_quietly():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return thread_count(2)


def test_workers_of_a_pool_which_may_have_no_processes_may_have_threads_and_hear_no_warning():
    # Processes of multiprocessing.Pool are daemons, and joblib warns in those where it would start processes.
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(_count_quietly) == 2


def test_a_module_that_another_thread_is_loading_is_waited_for(tmp_path, monkeypatch):
    (tmp_path / "slow_module.py").write_text("import time\ntime.sleep(0.3)\nready = True\n")
    monkeypatch.syspath_prepend(tmp_path)
    with ThreadPoolExecutor(4) as pool:
        loaded = list(pool.map(lambda _: load_unbroken("slow_module").ready, range(4)))
    assert all(loaded)
    del sys.modules["slow_module"]
