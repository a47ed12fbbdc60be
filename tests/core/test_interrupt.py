"""Ctrl-C: heard soon in every stage, and no thread goes on that could be stopped."""

import os
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest

from hne._runtime.progress import listening
from hne.core.eigen import cholesky as _cholesky
from hne.datasets import make_swiss_roll
from tests.core.test_alignment import aligned
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


@pytest.mark.slow
@pytest.mark.parametrize(("task", "done"), [("search", "1"), ("blocks", "1"), ("factorization", "0")])
def test_an_interrupt_of_a_large_fit_leaves_no_thread(task, done):
    run = [sys.executable, "-c", SCRIPT, task, "150000", done]
    assert subprocess.run(run, capture_output=True, text=True, check=True).stdout == "['MainThread']\n"


@pytest.mark.slow
def test_a_program_that_is_interrupted_while_it_factors_ends_in_good_order():
    script = SCRIPT.replace("except KeyboardInterrupt:", "except ZeroDivisionError:")
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
@pytest.mark.parametrize("percent", [0, 1])
def test_a_factorization_hears_an_interrupt_and_leaves_no_thread(percent):
    record = aligned(make_swiss_roll(20_000, random_state=0).X, 8)
    factor = _cholesky.Cholesky(record, 2)

    class Trigger(Notebook):
        def step(self, task, done, total):
            if done >= percent:
                os.kill(os.getpid(), signal.SIGINT)

    with listening(Trigger()), pytest.raises(KeyboardInterrupt):
        factor.factorize(1e-9)
    assert not [thread for thread in threading.enumerate() if thread.name.startswith(_cholesky.THREAD_NAME)]
    # And begins anew where it is asked to.
    factor.factorize(1e-9)
    assert np.isfinite(factor.solve(np.ones((20_000, 1)))).all()


@pytest.mark.usefixtures("hears_interrupts")
def test_an_order_that_nobody_waits_for_is_given_up(monkeypatch):
    record = aligned(make_swiss_roll(2_000, random_state=0).X, 8)

    def interrupted(future):
        raise KeyboardInterrupt

    monkeypatch.setattr(_cholesky, "_awaited", interrupted)
    with pytest.raises(KeyboardInterrupt):
        _cholesky.Cholesky(record, 2)
    assert not [thread for thread in threading.enumerate() if thread.name.startswith(_cholesky.THREAD_NAME)]


def test_a_factorization_counts_to_a_hundred():
    notebook, factor = Notebook(), _cholesky.Cholesky(aligned(make_swiss_roll(2_000, random_state=0).X, 8), 2)
    with listening(notebook):
        factor.factorize(1e-9)
    assert notebook.notes[0] == ("factorization", 0, 100)
    assert notebook.notes[-1] == ("factorization", 100, 100)
    assert [done for _, done, _ in notebook.notes] == sorted(done for _, done, _ in notebook.notes)
