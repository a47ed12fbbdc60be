"""`hne tune`: a file -> the variant, k and reg that suit it; `hne compare`: HNE and other methods, side by side."""

import argparse
import csv
import json
import shlex
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hne import __version__
from hne._runtime.files import atomic_write
from hne._runtime.json import plain
from hne._runtime.progress import duration, run_stage
from hne.cli import arguments, talk
from hne.cli.arguments import number, whole
from hne.cli.talk import echo
from hne.exceptions import refuse
from hne.settings import SEARCHED

if TYPE_CHECKING:
    from hne.io import PreparedTable, Table
    from hne.tuning import Trial, Tuning

TABLES = (".csv", ".tsv", ".json", ".parquet", ".arrow", ".feather")
# Why the choice may not have the lowest score.
AGREED = "of the best ones, the others agree with the choice the most"
OUTCOMES = ("measured", "stopped early", "failed", "not reached")

DESCRIPTION = """\
Find the number of neighbors, the variant and the ridge that suit the rows of a file, without knowing the truth about
them: each setting is fitted, and scored by how much its embedding loses of small neighborhoods. Prints the command that
embeds the file with the choice.
"""
EXAMPLES = """\
examples:
  hne tune cells.csv --report settings.html
  hne tune table.csv --id sample --scale standard --budget 60 -o settings.csv
  hne tune points.npy -d auto -k 6,8,10 --reg 1e-3,1e-4 --variant ihne,bhne
"""
COMPARED = """\
Embed the rows of a file by LLE, MLLE, HLLE, LTSA, PCA, Isomap, spectral embedding, t-SNE, UMAP and PHATE
where they are installed, the three variants of HNE, and HNE with its defaults. Prints how well each keeps neighbors and
distances, and its seconds. Measures show what went wrong; they do not decide who is right.
"""
MEASURED = (
    "measures take 10 neighbors, and coordinates as they come, whitened by LLE, its relatives and the variants: "
    "they show what went wrong, not who is right"
)


def add_to(commands: Any) -> None:
    """Add the command to the parser."""
    told = "find the neighbors, variant and ridge that suit a file, and the command to embed it with them"
    parser = arguments.add_command(commands, "tune", run, told, DESCRIPTION, EXAMPLES)
    arguments.add_input(parser)
    told = "begin no further settings after that time [none]"
    parser.add_argument("--budget", type=arguments.seconds, metavar="SECONDS", help=told)
    tables = "all that was tried: .csv, .tsv, .json, .parquet, .arrow"
    arguments.add_outputs(parser, output=tables, report="page with the best embeddings and all scores")
    arguments.add_grid(parser)
    arguments.add_talk(parser)


def run(options: argparse.Namespace) -> None:
    """Read, search, write what was asked for, and print the command."""
    from hne.tuning import tune

    outputs = talk.check_outputs(options, "output", "report", tables=TABLES)
    parameters = {name: value for name, value in arguments.parameters_of(options).items() if name not in SEARCHED}
    grid = {name: getattr(options, name) for name in SEARCHED if getattr(options, name) is not None}
    with talk.command_context(options, outputs) as (timings, heard):
        ready = talk.prepared_input(options)
        parameters = arguments.with_sample_pairs(parameters, ready.table.rows, ready.X.shape[0])
        tuning = tune(ready.X, grid=grid, budget=options.budget, **parameters)
        command = shlex.join(arguments.embed_words(options, tuning.parameters))
        echo(options, *_untried(options, tuning), *sentences(tuning), *_doubts(tuning, ready))
        if "output" in outputs:
            run_stage("writing", _write_table, outputs["output"], tuning)
        if "report" in outputs:
            run_stage("report", _report, outputs["report"], options, ready.table, tuning, command)
    if not options.json:
        echo(options, "this embeds it with the choice; add -o, --report, --plot or --save:")
        print(command)
        return
    facts = {"hne": __version__, "input": options.input, "source": ready.table.source} | chosen_facts(tuning)
    facts |= {"trials": [_facts(trial) for trial in tuning.trials]}
    talk.print_json(facts | {"command": command, "warnings": heard, "timings": timings, "outputs": outputs})


def _write_table(path: Path, tuning: "Tuning") -> None:
    """Write all trials, a row each, by the writers of coordinates."""
    import numpy as np

    from hne.io import Coordinates, write_coordinates

    kinds = {str: object}
    columns = {name: np.array(values, dtype=kinds.get(type(values[0]))) for name, values in tuning.table().items()}
    write_coordinates(path, Coordinates(Y=np.empty((len(tuning.trials), 0)), labels=columns))


def _report(path: Path, options: argparse.Namespace, table: "Table", tuning: "Tuning", command: str) -> None:
    from hne.viz.report import write_tuning_report

    color = talk.color_of(table) if table.color else None
    shown: Any = {} if color is None else {"color": color.values, "color_name": color.name}
    shown |= {"source": table.source, "command": command, "data_notes": table.notices}
    write_tuning_report(tuning, path, title=f"Settings for {talk.title_of(options)}", **shown)


def chosen_facts(tuning: "Tuning") -> dict[str, Any]:
    """What was found, for machines."""
    n_tuned = tuning.n_samples if tuning.rows is None else len(tuning.rows)
    facts = {"n_samples": tuning.n_samples, "n_tuned": n_tuned, "parameters": tuning.parameters}
    facts |= {name: trial and _facts(trial) for name, trial in (("best", tuning.best), ("runner_up", tuning.runner_up))}
    return facts | {"counts": _counts(tuning), "seconds": tuning.seconds}


def _facts(trial: "Trial") -> dict[str, Any]:
    facts = trial.parameters | {"outcome": trial.outcome, "score": trial.score, "n_pieces": trial.n_pieces}
    if trial.measure is not None:
        facts |= {name: getattr(trial.measure, name) for name in ("tangent_loss", "trustworthiness", "continuity")}
    return facts | {"reason": trial.reason, "seconds": trial.seconds}


def _counts(tuning: "Tuning") -> dict[str, int]:
    """How many settings came to what, all outcomes named."""
    counter = Counter(trial.outcome for trial in tuning.trials)
    return {outcome: counter[outcome] for outcome in OUTCOMES}


def _untried(options: argparse.Namespace, tuning: "Tuning") -> list[str]:
    """Numbers of neighbors with which nothing works, such as more than there are samples."""
    failed = {trial.n_neighbors: trial.reason for trial in tuning.trials if trial.outcome == "failed"}
    untried = sorted(failed.keys() - {trial.n_neighbors for trial in tuning.trials if trial.outcome != "failed"})
    named = [k for k in untried if k in (options.n_neighbors or ())]
    return [f"warning: nothing works with --n-neighbors {k}: {failed[k]}" for k in named]


def _doubts(tuning: "Tuning", ready: "PreparedTable") -> list[str]:
    """What a high score says, from data of known truth."""
    from hne.core.trust.assess import SCORE_BAD, SCORE_DOUBTFUL

    if tuning.best.score < SCORE_DOUBTFUL:
        return []
    if ready.table.image_shape is not None:
        return ["images score high even where they are right: look at the pictures of --report"]
    share = "one in ten was" if tuning.best.score < SCORE_BAD else "hardly any was"
    known = f"of embeddings of known truth that scored so high, {share} right, images apart"
    return [f"warning: {known}. Look at them with --report, scale columns, or try another -d"]


def sentences(tuning: "Tuning") -> list[str]:
    """What was found, for people."""
    best, other, lowest = tuning.best, tuning.runner_up, tuning.trials[0]
    pieces = f"; its neighbor graph has {best.n_pieces} pieces" if best.n_pieces > 1 else ""
    lines = [f"chose {best.label}: score {best.score:.4g}, where 0 loses nothing of small neighborhoods{pieces}"]
    if lowest is not best and lowest is not other:
        lines.append(f"{lowest.label} scores {lowest.score:.4g}, but {AGREED}")
    if other is None:
        lines.append("there is no runner-up of another variant or number of neighbors")
    else:
        why = f", but {AGREED}" if other is lowest else ""
        lines.append(f"runner-up {other.label}: score {other.score:.4g}{why}")
    numbers = ", ".join(f"{count} {outcome}" for outcome, count in _counts(tuning).items())
    lines.append(f"of {len(tuning.trials)} settings: {numbers}; {duration(tuning.seconds)}")
    estimate = tuning.dimension
    if estimate is not None and estimate.is_agreed and estimate.dimension != tuning.settings.n_components:
        remedy = f"try --n-components {estimate.dimension}"
        lines.append(f"the samples themselves seem to have another dimension, {estimate}: {remedy}")
    if tuning.rows is not None:
        patch = "a connected patch that is as dense as the whole"
        lines.append(f"tuned on {len(tuning.rows)} of {tuning.n_samples} samples, {patch}")
    return lines


def add_compare_to(commands: Any) -> None:
    """Add `hne compare` to the parser."""
    told = "HNE, PCA, Isomap, t-SNE, UMAP and others on the same file: table and picture"
    parser = arguments.add_command(commands, "compare", run_compare, told, COMPARED)
    arguments.add_input(parser)
    add = parser.add_argument
    told = "neighbors of a sample [6 for LLE, its relatives and the variants; for others their own default]"
    add("-k", "--n-neighbors", type=whole, metavar="K", help=told)
    add("-d", "--n-components", type=whole, default=2, metavar="D", help="coordinates to find [2]")
    add("--reg", type=number, help="ridge, for methods that have one [1e-4; for hne its default]")
    told = (
        "of lle, mlle, hlle, ltsa, pca, isomap, spectral, tsne, umap, phate, ihne, rhne, bhne, hne "
        "[all that are installed and do not take long]"
    )
    add("--methods", type=arguments.names, metavar="NAMES", help=told)
    add("--n-jobs", type=whole, default=-1, metavar="N", help="threads, -1 for all cores [-1]")
    add("--random-state", type=whole, default=0, metavar="SEED", help="seed of what is drawn [0]")
    arguments.add_outputs(parser, output="the table: .csv, .json", plot="all embeddings side by side: .png, .svg, .pdf")
    arguments.add_talk(parser)


def run_compare(options: argparse.Namespace) -> None:
    """Read, embed by all methods, print the table, write what was asked for."""
    outputs = talk.check_outputs(options, "output", "plot", tables=(".csv", ".json"))
    from hne.baselines import BASELINES
    from hne.baselines.comparison import comparison, comparison_picture, comparison_records, comparison_table

    with talk.command_context(options, outputs):
        ready = talk.prepared_input(options)
        if hasattr(ready.X, "toarray"):
            remedy = "Choose another --array, such as obsm/X_pca"
            refuse("hne compare", "needs dense samples", "a sparse matrix", remedy)
        settings = (options.n_neighbors, options.n_components, options.reg, options.random_state, options.n_jobs)
        results = comparison(ready.X, options.methods, *settings)
        records = comparison_records(results)
        if "output" in outputs:
            _write_comparison(outputs["output"], records)
        if "plot" in outputs:
            axes = comparison_picture(results, talk.color_of(ready.table), talk.title_of(options))
            talk.save_figure(outputs["plot"], axes.flat[0].figure, dpi=110)
        if options.json:
            talk.print_json({"input": options.input, "methods": records})
        else:
            header, lines = comparison_table(results)
            print("\n".join([header, *(talk.with_cli_names(line) for line in lines)]))
    missing = [one for one in BASELINES.values() if not one.is_installed]
    if missing and options.methods is None:
        labels, libraries = " and ".join(one.label for one in missing), " ".join(one.library for one in missing)
        echo(options, f"without {labels}, not installed. Run: pip install {libraries}")
    hint = [] if "plot" in outputs else ["add --plot compare.png to see them side by side"]
    echo(options, MEASURED, *hint)


def _write_comparison(path: Path, records: list[dict[str, Any]]) -> None:
    with atomic_write(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as stream:
        if path.suffix.lower() == ".json":
            json.dump(plain(records), stream, indent=1, ensure_ascii=False)
            return
        writer = csv.DictWriter(stream, records[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(records)
