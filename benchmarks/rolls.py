"""The roll of 20 000 samples: each variant beside the LLE of scikit-learn and of tapkee, and MLLE."""

from methods import HNE, load_method
from problems import PROBLEMS
from runner import Results, Task
from tables import errors, gigabytes, ratio, seconds, table

TITLE = "Swiss roll"
N_SAMPLES = 20_000
BASELINES = ("lle", "mlle", "tapkee_lle", "tapkee_lle_vptree")


def measure() -> str:
    """Measure and return the section as Markdown."""
    results, problem = Results("rolls"), PROBLEMS["swiss_roll"]
    rows = {method: results.row(Task("swiss_roll", method, N_SAMPLES)) for method in (*HNE, *BASELINES)}
    names = {method: load_method(method).NAME for method in rows}
    header = ["", "seconds", "peak GB", "error along, across", *(f"times {names[method]}" for method in HNE)]
    lines = [
        [names[method], seconds(row), gigabytes(row), errors(row), *(ratio(rows[variant], row) for variant in HNE)]
        for method, row in rows.items()
    ]
    text = [
        f"## {TITLE}",
        "",
        f"n = {N_SAMPLES}, k = {problem.n_neighbors}, reg = {problem.reg:g} (MLLE has its own). Each run in a fresh",
        "process, imports and compilation not counted; memory of the whole process. The last columns say how many",
        "times as long a method took as each variant. tapkee doubles k by itself where it finds the graph not",
        "connected.",
        "",
        table(header, lines),
    ]
    results.finish()
    return "\n".join(text)
