"""Threads: as many as asked for, results in order, an error or interrupt gets through."""

import multiprocessing
import os
import signal
import sys
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest
from threadpoolctl import threadpool_info

from hne._threads import LibraryThreads, checkpoint, load_unbroken, map_blocks, thread_count


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
    def counts():
        return [library["num_threads"] for library in threadpool_info()]

    before = counts()
    limits = LibraryThreads()
    with limits.at_most(2):
        with limits.at_most(1):
            assert set(counts()) == {1}
        assert max(counts()) <= 2
    assert counts() == before


def test_n_jobs_means_what_it_means_in_scikit_learn():
    assert thread_count(3) == 3
    assert thread_count(None) == 1
    assert thread_count(-1) >= 1


def test_an_interrupt_ends_the_blocks_that_have_begun_at_their_next_checkpoint():
    looks = []

    def task(number):
        for _ in range(1000):
            checkpoint()
            looks.append(number)
            time.sleep(0.01)
            if number == 0:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(map_blocks(task, range(2), 2))
    assert len(looks) < 100


def test_checkpoints_let_pass_where_nobody_has_given_up():
    def task(number):
        checkpoint()
        return number

    checkpoint()
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
