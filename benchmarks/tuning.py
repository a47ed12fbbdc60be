"""Settings chosen without ground truth, beside the best there are, the defaults, and baselines that are told it."""

import json
import multiprocessing
import os
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from charts import Charted, new_sets, real_images, study_sets
from hne.core.records import FloatArray
from tables import table

TITLE = "Choosing settings without ground truth"
# Seeds that no rule was made with.
STUDY_SEED, NEW_SEED = 170_000, 180_000
IMAGES = Path(__file__).parents[2] / "shared" / "data"
RESULTS = Path(__file__).parent / "results" / "tuning.json"
BASELINES = {"LLE": "standard", "MLLE": "modified", "LTSA": "ltsa"}
BASELINE_NEIGHBORS = (4, 5, 6, 7, 8, 10, 12, 15, 20)


def measure() -> str:
    """Measure and return the section as Markdown."""
    sets = [*study_sets(STUDY_SEED), *real_images(IMAGES), *new_sets(NEW_SEED)]
    rows: list[dict[str, Any]] = []
    with multiprocessing.get_context("spawn").Pool(os.cpu_count(), _no_warnings) as pool:
        for row in pool.imap(_measured, range(len(sets))):
            rows.append(row)
            chosen = f"{row['choice']}: {row['chosen']:.4f}, best {row['best']:.4f}"
            print(f"  {len(rows)} of {len(sets)}: {row['name']}: {chosen} ({row['seconds']:.0f} s)", file=sys.stderr)
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(rows, indent=1) + "\n")
    return told(rows)


def told(rows: list[dict[str, Any]]) -> str:
    """The section made of the rows."""
    kinds = list(dict.fromkeys(row["kind"] for row in rows))
    groups = {
        "study's kinds": [row for row in rows if row["kind"] != "new"],
        "new surfaces": [row for row in rows if row["kind"] == "new"],
    }
    groups["all"] = rows
    summary = [_summary(name, own) for name, own in groups.items()]
    by_kind = [_by_kind(kind, [row for row in rows if row["kind"] == kind]) for kind in kinds]
    worst = sorted(rows, key=lambda row: row["best"] - row["chosen"])[:8]
    return "\n".join(
        [
            f"## {TITLE}",
            "",
            f"`tune` (24 settings near a surface, up to 7 of them tried; 4 of a layout) on {len(rows)} data sets with",
            "known charts, seeds that no rule was made with. Error is the mean affine error, regret how much larger it",
            "is than with the best of all these settings and of the defaults, `HNE()`. LLE, MLLE and LTSA are",
            f"scikit-learn's, each at that k of {', '.join(map(str, BASELINE_NEIGHBORS))} that gives it the least",
            "error: they are told the truth.",
            "",
            table(
                [
                    "",
                    "sets",
                    "regret of tune: median",
                    "mean",
                    "worst",
                    "above .05",
                    "of the defaults: median",
                    "mean",
                    "above .05",
                    "tune beats LLE",
                    "MLLE",
                    "LTSA",
                ],
                summary,
            ),
            "",
            "Mean error by kind.",
            "",
            table(["kind", "sets", "best of these", "tune", "defaults", *BASELINES], by_kind),
            "",
            "Where the choice is farthest off.",
            "",
            table(["data", "chosen", "its score", "error", "best", "its error"], [_line(row) for row in worst]),
        ]
    )


def _summary(name: str, rows: list[dict[str, Any]]) -> list[str]:
    regret = np.array([row["chosen"] - row["best"] for row in rows])
    default = np.array([row["default"] - row["best"] for row in rows])
    wins = [f"{np.mean([row['chosen'] <= row[baseline] for row in rows]):.0%}" for baseline in BASELINES]
    numbers = [np.median(regret), regret.mean(), regret.max()]
    return [
        name,
        str(len(rows)),
        *(f"{number:.4f}" for number in numbers),
        f"{(regret > 0.05).mean():.0%}",
        f"{np.median(default):.4f}",
        f"{default.mean():.4f}",
        f"{(default > 0.05).mean():.0%}",
        *wins,
    ]


def _by_kind(kind: str, rows: list[dict[str, Any]]) -> list[str]:
    return [
        kind,
        str(len(rows)),
        *(f"{np.mean([row[key] for row in rows]):.4f}" for key in ("best", "chosen", "default", *BASELINES)),
    ]


def _line(row: dict[str, Any]) -> list[str]:
    return [
        row["name"],
        row["choice"],
        f"{row['score']:.4f}",
        f"{row['chosen']:.4f}",
        row["best_setting"],
        f"{row['best']:.4f}",
    ]


def _no_warnings() -> None:
    warnings.simplefilter("ignore")


def _measured(number: int) -> dict[str, Any]:
    """All numbers of one data set."""
    from hne.tuning import tune

    one: Charted = [*study_sets(STUDY_SEED), *real_images(IMAGES), *new_sets(NEW_SEED)][number]
    X, chart = one.make()
    if X.shape[1] > X.shape[0]:
        # The same samples in as many axes as there are of them: every method gives the same, in less time.
        corner: FloatArray = np.linalg.qr((X - X.mean(axis=0)).T, mode="r")  # type: ignore[assignment]  # says its stub
        X = np.ascontiguousarray(corner.T)
    start = time.perf_counter()
    found = tune(X, n_components=one.n_components, n_jobs=1)
    seconds = time.perf_counter() - start
    errors = {trial.label: _error_of(trial.parameters, X, chart, one.n_components) for trial in found.trials}
    errors["HNE()"] = _error_of({}, X, chart, one.n_components)
    best = min(errors, key=lambda label: errors[label])
    row = {
        "name": one.name,
        "kind": one.kind,
        "choice": found.best.label,
        "score": found.best.score,
        "chosen": errors[found.best.label],
        "best_setting": best,
        "best": errors[best],
        "default": errors["HNE()"],
        "seconds": seconds,
    }
    return row | {baseline: _baseline(method, X, chart, one.n_components) for baseline, method in BASELINES.items()}


def _error_of(parameters: dict[str, Any], X: Any, chart: Any, d: int) -> float:
    from hne import embed
    from hne.exceptions import HNEError
    from hne.metrics import affine_errors

    try:
        Y = embed(X, n_components=d, n_jobs=1, **parameters).Y
    except HNEError:
        return 1.0
    return float(affine_errors(Y, chart).mean())


def _baseline(method: str, X: Any, chart: Any, d: int) -> float:
    """The least error of a baseline over its k."""
    from sklearn.manifold import LocallyLinearEmbedding

    from hne.metrics import affine_errors

    errors = [1.0]
    for k in BASELINE_NEIGHBORS:
        try:
            Y = LocallyLinearEmbedding(
                n_neighbors=k, n_components=d, method=method, eigen_solver="dense", n_jobs=1
            ).fit_transform(X)
            errors.append(float(affine_errors(Y, chart).mean()))
        except (ValueError, RuntimeError, np.linalg.LinAlgError):
            continue
    return min(errors)


if __name__ == "__main__":
    print(told(json.loads(RESULTS.read_text())))
