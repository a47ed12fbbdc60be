"""All solvers on the same problems: angles between their planes, beside the gap that decides how firm a plane is."""

import sys
import warnings

from scipy.linalg import subspace_angles

from hne import PUBLISHED, embed
from hne.core.eigen.certificate import EigenPairs
from hne.core.records import FloatArray
from hne.exceptions import DisconnectedGraphWarning, EigenSolverError
from problems import PROBLEMS, Problem
from tables import table

TITLE = "Agreement of the solvers"
N_SAMPLES = 1_500
REFERENCE, SOLVERS = "dense", ("direct", "iterative")


def measure() -> str:
    """Measure and return the section as Markdown."""
    lines = []
    for problem in PROBLEMS.values():
        print(f"  {problem.title} ...", file=sys.stderr)
        lines.append(_line(problem))
    header = ["", "last eigenvalue", "the next", "gap", *(f"angle to `{solver}`" for solver in SOLVERS)]
    text = [
        f"## {TITLE}",
        "",
        f"BHNE, n = {N_SAMPLES}. Largest principal angle in radians between the plane of the solver `{REFERENCE}` and",
        "each other's; the gap is the distance from the last wanted eigenvalue to the next, relative to the next: the",
        "smaller, the freer the plane is to turn.",
        "",
        table(header, lines),
    ]
    return "\n".join(text)


def _line(problem: Problem) -> list[str]:
    X, _ = problem.make(N_SAMPLES)
    reference = _eigenpairs(X, problem, REFERENCE)
    last, following = reference.values[-1], reference.next_value
    cells = [problem.title, f"{last:.2e}", f"{following:.2e}", f"{1 - last / following:.2g}"]
    for solver in SOLVERS:
        try:
            pairs = _eigenpairs(X, problem, solver)
            cells.append(f"{subspace_angles(reference.vectors, pairs.vectors).max():.0e}")
        except EigenSolverError as error:
            print(f"  {error}", file=sys.stderr)
            cells.append(type(error).__name__)
    return cells


def _eigenpairs(X: FloatArray, problem: Problem, solver: str) -> EigenPairs:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DisconnectedGraphWarning)
        wanted = {"n_neighbors": problem.n_neighbors, "n_components": problem.n_components, "reg": problem.reg}
        pairs = embed(X, **{**PUBLISHED, **wanted, "eigen_solver": solver}).eigenpairs
    if pairs is None:
        msg = "no connected component is large enough to be solved"
        raise EigenSolverError(msg)
    return pairs
