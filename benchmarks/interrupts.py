"""Ctrl-C in the middle of every stage: seconds until the fit gives up, and until none of its threads is left."""

import json
import subprocess
import sys

from runner import BENCHMARKS
from tables import table

TITLE = "Interrupts"
# Problem, samples, coordinates, the task that is interrupted, and seconds into it.
CASES = (
    ("neighbors, tree", "swiss_roll", 1_000_000, "chart", "search", 1.0),
    ("neighbors, brute force", "digits", 10_000, "layout", "search", 0.5),
    ("weights", "swiss_roll", 300_000, "chart", "blocks", 1.0),
    ("factorization", "swiss_roll", 300_000, "chart", "factorization", 5.0),
    ("block solves", "swiss_roll", 300_000, "chart", "block solves", 1.0),
    ("filter", "gaussian_5", 50_000, "eigenvectors", "filter", 1.0),
    ("descent", "gaussian_5", 50_000, "layout", "descent", 1.0),
)
CHILD = """
import json, os, signal, sys, threading, time
# A shell's background jobs are born deaf to SIGINT.
signal.signal(signal.SIGINT, signal.default_int_handler)
name, n, coordinates, task, delay = json.loads(sys.argv[1])
from hne import embed
from hne._runtime.progress import listening
from problems import PROBLEMS

sent = []
def interrupt():
    sent.append(time.perf_counter())
    os.kill(os.getpid(), signal.SIGINT)

class Trigger:
    def begin(self, stage): pass
    def end(self, stage, result, seconds): pass
    def step(self, running, done, total):
        if running == task and done == 0:
            threading.Timer(delay, interrupt).start()

problem = PROBLEMS[name]
X = problem.make(n)[0]
try:
    with listening(Trigger()):
        embed(X, n_neighbors=problem.n_neighbors, reg=problem.reg, coordinates=coordinates)
    print(json.dumps(None))
except KeyboardInterrupt:
    heard = time.perf_counter() - sent[0]
    for thread in threading.enumerate()[1:]:
        thread.join()
    print(json.dumps([heard, time.perf_counter() - sent[0]]))
"""


def measure() -> str:
    """Measure and return the section as Markdown."""
    lines = []
    for title, *case in CASES:
        print(f"  {title} ...", file=sys.stderr)
        command = [sys.executable, "-c", CHILD, json.dumps(case)]
        done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=BENCHMARKS)  # noqa: S603
        answer = json.loads(done.stdout)
        times = ["done before", "-"] if answer is None else [f"{seconds:.2f}" for seconds in answer]
        lines.append([title, f"{case[1]}", f"{case[4]:g}", *times])
    return "\n".join(
        [
            f"## {TITLE}",
            "",
            "A fit, interrupted by SIGINT some seconds into a task.",
            "",
            table(["", "n", "seconds into it", "seconds to `KeyboardInterrupt`", "until no thread is left"], lines),
        ]
    )
