"""`HNE()` beside scikit-learn's LLE with the same k, and first fits beside second ones, in fresh processes."""

import json
import statistics
import subprocess
import sys
import time
from typing import Any

TITLE = "Speed"
SIZES = (300, 1_000, 2_000, 5_000, 20_000, 50_000)
PROCESSES = 3  # fresh ones a size; medians are shown
MLLE_SAMPLES = 20_000
# In a process of its own: imports, then fits one after the other. Rivals take turns, so that a busy moment hits all.
FITS = """
import json, sys, time, warnings
warnings.simplefilter("ignore")
from sklearn.manifold import LocallyLinearEmbedding
from hne import HNE, PUBLISHED
from hne._runtime.progress import Stopwatch, listening
from hne.datasets import make_swiss_roll

def timed(model):
    start = time.perf_counter()
    model.fit(X)
    return time.perf_counter() - start

def ours(model):
    watch = Stopwatch()
    with listening(watch):
        seconds = timed(model)
    return seconds, watch.seconds

n = int(sys.argv[1])
X = make_swiss_roll(n, random_state=0).X
model = HNE()
first, _ = ours(model)
second, _ = ours(model)
k, kp = model.n_neighbors_, PUBLISHED["n_neighbors"]
rounds = []
for _ in range(7 if n <= 5_000 else 3):
    seconds, stages = ours(HNE())
    published, _ = ours(HNE(**PUBLISHED))
    rounds.append({
        "hne": seconds, "stages": stages, "published": published,
        "lle": timed(LocallyLinearEmbedding(n_neighbors=k)), "lle_k": timed(LocallyLinearEmbedding(n_neighbors=kp)),
    })
print(json.dumps({"k": k, "first": first, "second": second, "rounds": rounds}))
"""
MLLE = """
import time
from sklearn.manifold import LocallyLinearEmbedding
from hne.datasets import make_swiss_roll
X = make_swiss_roll({n}, random_state=0).X
start = time.perf_counter()
LocallyLinearEmbedding(n_neighbors={k}, method="modified").fit(X)
print(time.perf_counter() - start)
"""
AUTO = """
import time, warnings
warnings.simplefilter("ignore")
from hne import HNE
from hne.datasets import make_swiss_roll
X = make_swiss_roll(2000, random_state=0).X
choose = {"n_neighbors": "auto", "reg": "auto", "variant": "auto"}
def timed(model):
    start = time.perf_counter()
    model.fit(X)
    return time.perf_counter() - start
timed(HNE()), timed(HNE(**choose))
fits, autos = zip(*((timed(HNE()), timed(HNE(**choose))) for _ in range(5)))
print(min(fits), min(autos))
"""


def measure() -> str:
    """Measure and return the section as Markdown."""
    rows = {n: [_fits(n) for _ in range(PROCESSES)] for n in SIZES}
    speed, cold = [], []
    for n, runs in rows.items():
        best = {
            name: min(one[name] for run in runs for one in run["rounds"])
            for name in ("hne", "lle", "published", "lle_k")
        }
        fastest = min((one for run in runs for one in run["rounds"]), key=lambda one: float(one["hne"]))
        stages = fastest["stages"]
        share = 1 - sum(seconds for stage, seconds in stages.items() if stage != "trust") / fastest["hne"]
        times = [f"{best[name]:.3g}" for name in ("hne", "lle")] + [f"**{best['lle'] / best['hne']:.2f}**"]
        times += [f"{best[name]:.3g}" for name in ("published", "lle_k")] + [
            f"**{best['lle_k'] / best['published']:.2f}**"
        ]
        speed.append(f"| {n} | {runs[0]['k']} | {' | '.join(times)} | {share:.0%} |")
        first, second = (statistics.median(run[name] for run in runs) for name in ("first", "second"))
        cold.append(f"| {n} | {first:.3g} | {second:.3g} | {first / second:.2f} |")
    k = rows[MLLE_SAMPLES][0]["k"]
    mlle = float(_run(MLLE.format(n=MLLE_SAMPLES, k=k)))
    ours = min(one["hne"] for run in rows[MLLE_SAMPLES] for one in run["rounds"])
    fit, auto = map(float, _run(AUTO).split())
    return "\n".join(
        [
            f"## {TITLE}",
            "",
            f"Swiss roll, all of a fit, imports not counted, fastest of {PROCESSES} processes with several rounds",
            "each, in which all methods take turns. LLE is scikit-learn's with its defaults and the same k, HNE is",
            "told nothing; published is `HNE(**PUBLISHED)` (BHNE, k = 6, two eigenvectors), beside LLE with k = 6. The",
            "last column is what trust takes of `HNE()`, and all that belongs to no stage (flatness, checks, records).",
            "",
            "| n | k | HNE(), s | LLE, s | LLE / HNE | published, s | LLE, s | LLE / published | trust |",
            "|---|---|---|---|---|---|---|---|---|",
            *speed,
            "",
            f"scikit-learn's MLLE, n = {MLLE_SAMPLES}, k = {k}: {mlle:.1f} s, {mlle / ours:.0f} times `HNE()`.",
            f'All three settings "auto", n = 2000: {auto:.2f} s, {auto / fit:.1f} fits of `HNE()` ({fit:.3f} s).',
            "",
            f"The first fit of a process and the second, median of {PROCESSES} processes:",
            "",
            "| n | first, s | second, s | ratio |",
            "|---|---|---|---|",
            *cold,
            "",
            f"`hne --help`, whole process: {min(_help_seconds() for _ in range(3)):.2f} s.",
        ]
    )


def _fits(n: int) -> dict[str, Any]:
    print(f"  n = {n} ...", file=sys.stderr)
    row: dict[str, Any] = json.loads(_run(FITS, f"{n}"))
    return row


def _run(script: str, *arguments: str) -> str:
    command = [sys.executable, "-c", script, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout  # noqa: S603


def _help_seconds() -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, "-m", "hne", "--help"], capture_output=True, check=True)
    return time.perf_counter() - start
