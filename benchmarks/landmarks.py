"""Embeddings on landmarks: how near they are to the eigenvectors and to the truth, and ten million samples."""

import sys
import warnings
from unittest.mock import patch

from scipy.linalg import subspace_angles

from hne import embed
from hne._runtime.progress import Stopwatch, listening
from hne.core import landmarks as _landmarks
from hne.core.records import Embedding
from hne.datasets import make_swiss_roll
from hne.exceptions import LandmarkWarning
from hne.metrics import affine_errors
from problems import PROBLEMS
from runner import Results, Row, Task
from tables import errors, gigabytes, seconds, table

TITLE = "Landmarks"
PROBLEM = "swiss_roll"
N_SAMPLES, LANDMARKS = 100_000, (1_000, 3_000, 10_000, 30_000)
# A ridge that does not bend the plane of so many samples.
VAST = Task(PROBLEM, "bhne", 10_000_000, {"n_neighbors": 6, "reg": 2e-6, "n_landmarks": 100_000})
LIMIT = 7200.0
HEADER = ("landmarks", "restricted: angle", "error", "refined: angle", "error", "last step", "seconds", "in all")


def measure() -> str:
    """Measure and return the section as Markdown."""
    results, problem = Results("landmarks"), PROBLEMS[PROBLEM]
    lines = _accuracy()
    row = results.row(VAST, LIMIT)
    shown = "".join(f", {name} = {value:g}" for name, value in VAST.options.items())
    text = [
        f"## {TITLE}",
        "",
        f"Swiss roll, n = {N_SAMPLES}, k = {problem.n_neighbors}, reg = {problem.reg:g}, BHNE. Angle in radians to the",
        "plane that the direct solver finds (last line), and the larger affine error to the truth: on landmarks alone",
        "(restricted), and after the refinement that always follows (refined). The last step is the angle of the last",
        "refinement, which is what a user sees of it. Seconds of the eigenpairs, and of all stages.",
        "",
        table(HEADER, lines),
        "",
        f"Swiss roll, n = {VAST.n_samples}{shown}, in a process of its own:",
        "",
        table(
            [*_of_stages(row), "seconds in all", "peak GB", "error along, across"],
            [[*_of_stages(row).values(), seconds(row), gigabytes(row), errors(row)]],
        ),
    ]
    results.finish()
    return "\n".join(text)


def _accuracy() -> list[list[str]]:
    problem = PROBLEMS[PROBLEM]
    roll = make_swiss_roll(N_SAMPLES)
    X, chart = roll.X, roll.chart

    def found(**options: int) -> tuple[Embedding, dict[str, float]]:
        print(f"  n = {N_SAMPLES}, {options} ...", file=sys.stderr)
        watch = Stopwatch()
        with listening(watch), warnings.catch_warnings():
            warnings.simplefilter("ignore", LandmarkWarning)
            return embed(X, n_neighbors=problem.n_neighbors, reg=problem.reg, **options), watch.seconds

    def off(result: Embedding) -> list[str]:
        return [f"{subspace_angles(exact.Y, result.Y).max():.1e}", f"{affine_errors(result.Y, chart).max():.1e}"]

    def times(took: dict[str, float]) -> list[str]:
        return [f"{took['eigenpairs']:.3g}", f"{sum(took.values()):.3g}"]

    found()  # compiles
    exact, took_exact = found()
    lines = []
    for m in LANDMARKS:
        with patch.object(_landmarks, "STEPS", 0):
            alone, _ = found(n_landmarks=m)
        refined, took = found(n_landmarks=m)
        moved = "-" if refined.eigenpairs is None else f"{refined.eigenpairs.certificate.last_move:.0e}"
        lines.append([f"{m}", *off(alone), *off(refined), moved, *times(took)])
    return [*lines, ["none", "-", "-", *off(exact), "-", *times(took_exact)]]


def _of_stages(row: Row) -> dict[str, str]:
    """Seconds of each stage."""
    return {name: f"{took:.0f}" for name, took in row.get("stages", {}).items()}
