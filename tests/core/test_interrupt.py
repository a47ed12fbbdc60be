"""Ctrl-C: heard soon in every stage, and no thread goes on that could be stopped."""

import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext

import numpy as np
import pytest
from scipy.sparse import csr_array, csr_matrix, random_array, triu

from hne._runtime.progress import listening
from hne.core.eigen import direct as _factor
from hne.core.eigen.direct import NotPositiveDefiniteError, Watch, await_factor, factorized, watched_by_mkl
from tests.runtime.test_progress import Notebook

# Interrupts itself when the first step of a task is done, and tells which threads do not end.
SCRIPT = """
import os, signal, sys, threading
signal.signal(signal.SIGINT, signal.default_int_handler)
from hne import embed
from hne._runtime.progress import listening
from hne.datasets import make_swiss_roll

class Trigger:
    def begin(self, stage): pass
    def end(self, stage, result, seconds): pass
    def step(self, task, done, total):
        if task == sys.argv[1] and done == int(sys.argv[3]):
            threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT)).start()

try:
    with listening(Trigger()):
        embed(make_swiss_roll(int(sys.argv[2]), random_state=0).X, n_neighbors=8)
except KeyboardInterrupt:
    for thread in threading.enumerate()[1:]:
        thread.join(10)
    print([thread.name for thread in threading.enumerate()])
"""


def background(call):
    """What will come of a call that begins now in a thread of its own."""
    pool = ThreadPoolExecutor(1)
    future = pool.submit(call)
    pool.shutdown(wait=False)
    return future


def positive_definite(n):
    noise = random_array((n, n), density=20 / n, rng=np.random.default_rng(0), format="csr")
    upper = csr_array(triu(noise + noise.T, format="csr"))
    upper.setdiag(upper.sum(axis=0) + upper.sum(axis=1) + 1.0)
    upper.sort_indices()
    return upper


@pytest.mark.slow
@pytest.mark.parametrize("task", ["search", "blocks", "entries of G"])
def test_an_interrupt_of_a_large_fit_leaves_no_thread(task):
    run = [sys.executable, "-c", SCRIPT, task, "150000", "1"]
    assert subprocess.run(run, capture_output=True, text=True, check=True).stdout == "['MainThread']\n"


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["superlu", "pardiso"])
def test_a_program_that_is_interrupted_while_it_factors_ends_in_good_order(backend):
    if backend == "pardiso":
        pytest.importorskip("pypardiso", reason="PARDISO is an extra")
    choice = f"from hne.core.eigen import direct as _factor\n_factor.backend_for = lambda _: {backend!r}\n"
    script = choice + SCRIPT.replace("except KeyboardInterrupt:", "except ZeroDivisionError:")
    run = subprocess.run(
        [sys.executable, "-c", script, "factorization", "40000", "0"], capture_output=True, text=True, check=False
    )
    assert run.returncode == -signal.SIGINT
    assert run.stderr.rstrip().endswith("KeyboardInterrupt")


def test_an_interrupted_search_does_not_write_to_what_is_gone():
    script = """
import os, signal, threading
signal.signal(signal.SIGINT, signal.default_int_handler)
import numpy as np
from hne.core.neighbors.graph import knn_graph
X = np.random.default_rng(0).random((200_000, 3))
for delay in (0.02, 0.05, 0.1):
    threading.Timer(delay, os.kill, (os.getpid(), signal.SIGINT)).start()
    try:
        knn_graph(X, 7, 2)
    except KeyboardInterrupt:
        pass
for thread in threading.enumerate()[1:]:
    thread.join(10)
print(knn_graph(X[:1000], 7, 2).n_samples, threading.active_count())
"""
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (run.returncode, run.stdout) == (0, "1000 1\n"), run.stderr


@pytest.mark.usefixtures("hears_interrupts")
def test_the_wait_for_a_long_call_hears_an_interrupt_and_gives_the_call_up():
    watch, ended = Watch(), threading.Event()

    def call():
        while not watch.state[0]:
            time.sleep(0.01)
        ended.set()

    future = background(call)
    threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        await_factor(future, watch)
    assert ended.is_set()


@pytest.mark.usefixtures("hears_interrupts")
def test_a_call_that_cannot_be_given_up_is_left_to_itself_and_logged(caplog):
    release, cleaned = threading.Event(), threading.Event()
    future = background(release.wait)
    future.add_done_callback(lambda _: cleaned.set())
    threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        await_factor(future, Watch(), grace=0.05)
    assert "its thread has to come to an end by itself" in caplog.text
    assert not cleaned.is_set()
    release.set()
    assert cleaned.wait(10)


def test_errors_of_the_other_thread_arrive_here():
    with pytest.raises(ZeroDivisionError, match="division"):
        await_factor(background(lambda: 1 / 0), Watch())


def test_a_long_factorization_counts_to_a_hundred_at_most(monkeypatch):
    pytest.importorskip("pypardiso", reason="PARDISO is an extra")
    monkeypatch.setattr(_factor, "DISSECTED_MIN_ENTRIES", 1)
    notebook = Notebook()
    with listening(notebook), factorized(positive_definite(1_500), "pardiso") as solve:
        assert np.isfinite(solve(np.ones((1_500, 1)))).all()
    assert notebook.notes[0] == ("factorization", 0, 100)
    assert all(task == "factorization" and done <= total == 100 for task, done, total in notebook.notes)


@pytest.mark.parametrize("is_given_up", [False, True])
def test_pardiso_ends_when_its_watch_gives_up_and_goes_on_when_it_does_not(is_given_up):
    pypardiso = pytest.importorskip("pypardiso", reason="PARDISO is an extra")
    matrix = csr_matrix(positive_definite(1_500))
    solver, watch = pypardiso.PyPardisoSolver(mtype=2), Watch(100)
    if is_given_up:
        watch.state[0] = 1
    aborted = pytest.raises(pypardiso.pardiso_wrapper.PyPardisoError, match="error code")
    with watched_by_mkl(solver.libmkl, watch), aborted if is_given_up else nullcontext():
        solver.factorize(matrix)
    assert is_given_up or watch.state[1] > 0
    solver.free_memory(everything=True)


def test_the_hook_answers_pardiso_alone_and_is_gone_when_nobody_factors():
    library, first, second = FakeLibrary(), Watch(), Watch()
    with watched_by_mkl(library, first):
        hook = library.hook
        assert ask(hook, b"Pardiso: factorization phase", 40) == 0
        with watched_by_mkl(library, second):
            assert library.hook == hook  # one at a time
        first.state[0] = 1
        assert [ask(hook, name, 7) for name in (b"DPOTRF", b"DGETRF", b"Pardiso", b"")] == [1, 0, 1, 0]
    assert (first.state[1], second.state[1]) == (7, 0)
    assert library.hook == library.none
    with watched_by_mkl(library, second):
        assert ask(library.hook, b"DPOTRF", 7) == 0


def test_a_library_without_the_hook_factors_all_the_same():
    with watched_by_mkl(object(), Watch()):
        pass


@pytest.mark.parametrize("backend", ["superlu", "pardiso"])
def test_a_factorization_gives_the_same_answer_in_any_thread(backend):
    pytest.importorskip("pypardiso", reason="PARDISO is an extra")
    upper = positive_definite(800)

    def solution():
        with factorized(upper, backend) as solve:
            return solve(np.ones((800, 2)))

    np.testing.assert_allclose(background(solution).result(), solution(), rtol=1e-12)


def test_a_matrix_that_is_not_positive_definite_is_reported_from_the_other_thread():
    pytest.importorskip("pypardiso", reason="PARDISO is an extra")
    upper = positive_definite(50)
    upper.data *= -1.0
    with pytest.raises(NotPositiveDefiniteError, match="error code -4"), factorized(upper, "pardiso"):
        pass


class FakeLibrary:
    """MKL as far as the hook is concerned."""

    none = 12345

    def __init__(self):
        self.hook = self.none

        def mkl_set_progress(pointer):
            before, self.hook = self.hook, getattr(pointer, "value", pointer)
            return before

        self.mkl_set_progress = mkl_set_progress


def ask(hook, stage, done):
    """Call the hook as MKL would, from this thread."""
    function = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int)(hook)
    number = ctypes.c_int(done)
    return function(None, ctypes.addressof(number), stage, len(stage))
