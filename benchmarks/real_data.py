"""Pictures of real data by HNE and nine baselines: how much of the truth is in them, and how they fill the page.

    python benchmarks/real_data.py --methods hne                      # HNE anew, baselines as they are remembered
    python benchmarks/real_data.py --methods hne --parameters '{"n_neighbors": 8}' --sets wine iris
    python benchmarks/real_data.py --methods hne --embedder my_module:my_function
    python benchmarks/real_data.py --only final --methods baselines      # what is not yet remembered is measured

Baselines are remembered by data, library and version in results/real_baselines.partial.json, or in the folder that the
environment variable HNE_BENCHMARK_RESULTS names. Remove the file after a change of scores.
"""

import argparse
import hashlib
import importlib
import json
import os
import sys
import time
import warnings
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from hne import HNE
from hne.core.records import FloatArray
from pictures import Truth, movements, scores, truth_of_new_samples
from real import DEVELOPMENT, RULES_ARE_FIXED
from real_baselines import BASELINES, CLASSIC, library_of
from real_files import AbsentError
from real_final import FINAL
from real_sets import RealSet
from runner import BENCHMARKS, Results, Row
from tables import table

TITLE = "Real data"
RESULTS = Path(os.environ.get("HNE_BENCHMARK_RESULTS", BENCHMARKS / "results"))
GROUPS = {"development": DEVELOPMENT, "final": FINAL}
OURS = "HNE"
CROWDED = 0.35  # densest share from which on a picture is called crowded
AS_GOOD = 0.01  # of truth that may be missing to the best of the classic baselines
# Methods whose means are over the same sets.
COMPARED = ("PCA", "Isomap", "SpectralEmbedding", "UMAP", "t-SNE", "PHATE", "PaCMAP")
# How often 3 % of the samples are left out to measure stability: HNE, and the baselines that take much longer.
DRAWS = {OURS: 4, "PCA": 1, "UMAP": 1, "t-SNE": 1, "PHATE": 1}

Embed = Callable[[FloatArray], Any]


def measure() -> str:
    """Measure and return the section as Markdown."""
    text = [f"## {TITLE}", "", INTRODUCTION]
    measured = {}
    for group in GROUPS if RULES_ARE_FIXED else ["development"]:
        rows = list(compared(GROUPS[group], embedder("hne:HNE"), BASELINES, with_new_samples=True))
        measured[group] = rows
        text += ["", HEADS[group], "", _means(rows), "", *_counted(rows), "", _truths(rows), "", _pictures(rows)]
        absent = sorted({one.name for one in GROUPS[group]} - {row["name"] for row in rows})
        text += ["", _sets(rows), *(["", f"Not here, so left out: {', '.join(absent)}."] if absent else [])]
    text += [] if RULES_ARE_FIXED else ["", KEPT]
    everything = [row for rows in measured.values() for row in rows]
    text[3:3] = ["", f"All {len(everything)} sets:", "", _means(everything), "", *_counted(everything)]
    (BENCHMARKS / "results" / "real_data.json").write_text(json.dumps(measured, indent=1) + "\n")
    return "\n".join(text)


INTRODUCTION = """\
Two dimensions, every method with its library's defaults, seed 0. Truth is what the 5 nearest samples in the picture
tell of a sample: R^2 of a quantity (rings as points of a circle, several quantities as the mean of theirs), the share
of right classes. "failed" is an error raised. The densest share is that of the samples in 1 % of the picture,
trustworthiness is at 10 neighbors, sizes are radii in the picture over those in the data. Columns of tables have been
standardized, other samples not."""
HEADS = {
    "development": "Sets that were looked at while rules were made, truth recovered:",
    "final": "Sets that no rule has seen, measured once when the rules were fixed, truth recovered:",
}
KEPT = f"{len(FINAL)} further sets are kept for the end: no rule has seen them, and HNE is not measured on them."


def compared(
    sets: Sequence[RealSet], embed: Embed | None, measured: Collection[str], *, with_new_samples: bool = False
) -> Iterator[Row]:
    """Yield a row for each set that is here: its facts, and under "methods" the scores of each method by name.

    Of baselines not among `measured`, remembered scores are used. With new samples, the row also says how well
    `HNE().transform` places them.
    """
    store = Results("real_baselines", RESULTS)
    for one in sets:
        try:
            X, truth = one.load()
        except AbsentError as reason:
            print(f"  {one.name} is left out: {reason}", file=sys.stderr)
            continue
        row: Row = {"name": one.name, "kind": one.kind, "n": X.shape[0], "D": X.shape[1], "methods": {}}
        row |= {"samples": one.samples, "truth": one.truth, "source": one.source}
        if embed is not None:
            row["methods"][OURS] = scored(embed, X, truth, one.kind, DRAWS[OURS])
        if with_new_samples:
            row["new samples"] = truth_of_new_samples(HNE(), X, truth, one.kind)
        for baseline, its_embed in BASELINES.items():
            key = f"{one.name}, {_fingerprint(X, truth)}, {baseline}, {library_of(baseline)}"
            if baseline in measured:
                run = partial(scored, its_embed, X, truth, one.kind, DRAWS.get(baseline, 0))
                row["methods"][baseline] = store.kept(key, f"{baseline} on {one.name}", run)
            elif (known := store.known(key)) is not None:
                row["methods"][baseline] = known
        yield row


def scored(embed: Embed, X: FloatArray, truth: Truth, kind: str, n_draws: int) -> Row:
    """Return the scores of a method on a set and its movements when samples are left out, or its failure."""
    start = time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            Y = np.asarray(embed(X), dtype=float)
            seconds = time.perf_counter() - start
            moved = list(movements(embed, X, Y, n_draws))
            return {**scores(X, Y, truth, kind), "moved": moved, "seconds": seconds}
    except Exception as error:  # noqa: BLE001, whatever a method raises is its result
        return {"failure": type(error).__name__, "message": str(error).partition("\n")[0]}


def embedder(name: str, parameters: dict[str, Any] | None = None) -> Embed:
    """What `module:name` embeds with: an estimator's class, or a function of X that returns Y or a record with Y."""
    module, _, attribute = name.partition(":")
    found = getattr(importlib.import_module(module), attribute)
    given = parameters or {}

    def embed(X: FloatArray) -> Any:
        if hasattr(found, "fit_transform"):
            return found(**given).fit_transform(X)
        result = found(X, **given)
        return getattr(result, "Y", result)

    return embed


def _fingerprint(X: FloatArray, truth: Truth) -> str:
    digest = hashlib.sha256(np.ascontiguousarray(X).tobytes())
    digest.update(str(truth.tolist()).encode())
    return digest.hexdigest()[:12]


def _means(rows: Sequence[Row]) -> str:
    """Table of each method's means over the sets on which no method failed."""
    methods = (OURS, *BASELINES)
    whole = [row for row in rows if all("truth" in row["methods"].get(method, {}) for method in (OURS, *COMPARED))]
    lines = []
    for method in methods:
        found = [row["methods"].get(method, {}) for row in (whole if method in (OURS, *COMPARED) else rows)]
        found = [one for one in found if "truth" in one]
        if not found:
            continue
        moved = [error for one in found for error in one["moved"]]
        pca = [row["methods"]["PCA"]["trustworthiness"] for row in whole]
        means = [np.mean([one[name] for one in found]) for name in ("truth", "trustworthiness", "distance_correlation")]
        below = sum(one["trustworthiness"] < other for one, other in zip(found, pca, strict=False))
        line = [method, *(f"{mean:.3f}" for mean in means), str(below) if method in (OURS, *COMPARED) else "-"]
        line += [f"{np.median(moved):.4f}", f"{np.quantile(moved, 0.9):.3f}"] if moved else ["-", "-"]
        lines.append([*line, f"{np.median([one['seconds'] for one in found]):.2f}"])
    header = ["kNN accuracy or R2", "trustworthiness", "rank correlation of distances", "trustworthiness below PCA's"]
    return table(["", *header, "moved, median", "moved, 90th percentile", "seconds, median"], lines)


def _truths(rows: Sequence[Row]) -> str:
    lines = [[row["name"], *(_cell(row, method, "truth") for method in (OURS, *BASELINES))] for row in rows]
    return table(["", OURS, *BASELINES], lines)


def _pictures(rows: Sequence[Row]) -> str:
    columns = [(method, score) for score in ("densest_share", "trustworthiness") for method in (OURS, "PCA")]
    columns += [(OURS, "rms_size"), (OURS, "largest_size")]
    lines = [
        [row["name"], *(_cell(row, *column) for column in columns), _cell(row, OURS, "seconds", ".2g")] for row in rows
    ]
    header = ["densest share", "PCA's", "trustworthiness", "PCA's", "size, rms", "size, largest", "seconds"]
    return table(["", *header], lines)


def _sets(rows: Sequence[Row]) -> str:
    keys = ("name", "n", "D", "samples", "truth", "kind", "source")
    lines = [[str(row[key]) for key in keys] for row in rows]
    return table(["", "n", "D", "samples", "truth", "kind", "from"], lines)


def _cell(row: Row, method: str, score: str, form: str = ".3f") -> str:
    result = row["methods"].get(method)
    if result is None:
        return "-"
    return "failed" if "failure" in result else format(result[score], form)


def _counted(rows: Sequence[Row]) -> list[str]:
    """On how many sets HNE falls short or holds its own, in lines; a set on which it fails falls short in all."""
    ours = [row["methods"].get(OURS, {}) for row in rows]
    trust = [row["methods"].get("PCA", {}).get("trustworthiness", -np.inf) for row in rows]
    best = [max(_truth(row, baseline) for baseline in CLASSIC) for row in rows]
    below = sum(own.get("trustworthiness", -np.inf) < other for own, other in zip(ours, trust, strict=True))
    crowded = sum(own.get("densest_share", np.inf) > CROWDED for own in ours)
    larger = sum(own.get("rms_size", np.inf) > 1 for own in ours)
    as_good = sum(_truth(row, OURS) >= other - AS_GOOD for row, other in zip(rows, best, strict=True))
    wins = [f"{baseline} on {sum(_is_beaten(row, baseline) for row in rows)}" for baseline in BASELINES]
    n = len(rows)
    new = [row["new samples"] for row in rows if "new samples" in row]
    placed, fitted = (float(np.mean([one[name] for one in new])) if new else np.nan for name in ("placed", "fitted"))
    return [
        f"- trustworthiness below PCA's on {below} of {n} sets",
        f"- densest share above {CROWDED:g} on {crowded} of {n}",
        f"- larger than the data (rms radius) on {larger} of {n}",
        f"- truth at least that of the best of {', '.join(CLASSIC)} less {AS_GOOD:g} on {as_good} of {n}",
        f"- more truth than {', '.join(wins)} of {n}",
        *(
            [f"- truth of a tenth of the samples, placed by `transform`: {placed:.3f}; fitted: {fitted:.3f}"]
            if new
            else []
        ),
        *_unknown(rows),
    ]


def _unknown(rows: Sequence[Row]) -> list[str]:
    """Baselines who were not measured on some sets, so that counts have gaps."""
    missing = {baseline: sum(baseline not in row["methods"] for row in rows) for baseline in BASELINES}
    told = [f"{baseline} on {count}" for baseline, count in missing.items() if count]
    return (
        [f"- not measured, so no baseline: {', '.join(told)} of {len(rows)}. Use --methods hne baselines."]
        if told
        else []
    )


def _is_beaten(row: Row, baseline: str) -> bool:
    """Whether HNE recovers more truth than a baseline who was measured; one who failed has none."""
    return baseline in row["methods"] and _truth(row, OURS) > _truth(row, baseline)


def _truth(row: Row, method: str) -> float:
    """Truth that a method has recovered; one that failed or was not measured has none."""
    return float(row["methods"].get(method, {}).get("truth", -np.inf))


def main() -> None:
    """Measure, and print tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=list(GROUPS), default="development", help="the sets that are measured")
    parser.add_argument("--sets", nargs="*", help="names of sets, instead of all")
    parser.add_argument(
        "--methods", nargs="*", default=["hne", "baselines"], help="hne, baselines, or names of baselines"
    )
    parser.add_argument("--embedder", default="hne:HNE", help="module:name of an estimator or function, instead of HNE")
    parser.add_argument("--parameters", type=json.loads, default={}, help="what it is called with, as JSON")
    parser.add_argument("--output", type=Path, help="file for all rows as JSON")
    given = parser.parse_args()
    if given.only == "final" and "hne" in given.methods and not RULES_ARE_FIXED:
        parser.error("hne is not measured on FINAL before RULES_ARE_FIXED in real.py. Use --methods baselines.")
    unknown = sorted(set(given.methods) - {"hne", "baselines", *BASELINES})
    if unknown:
        parser.error(f"no method {unknown[0]!r}. Choose from hne, baselines, {', '.join(BASELINES)}.")
    sets = [one for one in GROUPS[given.only] if given.sets is None or one.name in given.sets]
    measured = BASELINES if "baselines" in given.methods else given.methods
    embed = embedder(given.embedder, given.parameters) if "hne" in given.methods else None
    rows = list(compared(sets, embed, measured))
    print("\n".join([_means(rows), "", _truths(rows), "", _pictures(rows), "", *(_counted(rows) if embed else [])]))
    if given.output is not None:
        given.output.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
