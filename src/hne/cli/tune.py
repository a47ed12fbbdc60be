"""`hne tune`: a file -> the variant, k and reg that suit it, and the command that embeds it with them."""

import argparse
import shlex
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hne import __version__
from hne._runtime.progress import duration, run_stage
from hne.cli import arguments, talk
from hne.cli.talk import echo
from hne.settings import PRECOMPUTED, SEARCHED

if TYPE_CHECKING:
    from hne.io import PreparedTable
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


def add_to(commands: Any) -> None:
    """Add the command to the parser."""
    told = "find the neighbors, variant and ridge that suit a file, and the command to embed it with them"
    parser = arguments.add_command(commands, "tune", run, told, DESCRIPTION, EXAMPLES)
    arguments.add_input(parser)
    arguments.add_preparation(parser)
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
    with talk.command_context(options) as (timings, heard):
        ready = talk.prepared_input(options, are_distances=parameters["metric"] == PRECOMPUTED)
        echo(options, *ready.table.notices)
        tuning = tune(ready.X, grid=grid, budget=options.budget, **parameters)
        command = shlex.join(arguments.embed_words(options, tuning.parameters))
        echo(options, *_untried(options, tuning), *sentences(tuning), *_doubts(tuning, ready))
        if "output" in outputs:
            run_stage("writing", _write_table, outputs["output"], tuning)
        if "report" in outputs:
            run_stage("report", _report, outputs["report"], options, ready, tuning, command)
    echo(options, *(f"wrote {path}" for path in outputs.values()))
    if options.json:
        talk.print_json(
            {"hne": __version__, "input": options.input, "source": ready.table.source}
            | chosen_facts(tuning)
            | {"trials": [_facts(trial) for trial in tuning.trials]}
            | {"command": command, "warnings": heard, "timings": timings, "outputs": outputs}
        )
        return
    echo(options, "this embeds it with the choice; add -o, --report, --plot or --save:")
    print(command)


def _write_table(path: Path, tuning: "Tuning") -> None:
    """Write all trials, a row each, by the writers of coordinates."""
    import numpy as np

    from hne.io import Coordinates, write_coordinates

    kinds = {str: object}
    columns = {name: np.array(values, dtype=kinds.get(type(values[0]))) for name, values in tuning.table().items()}
    write_coordinates(path, Coordinates(Y=np.empty((len(tuning.trials), 0)), labels=columns))


def _report(path: Path, options: argparse.Namespace, ready: "PreparedTable", tuning: "Tuning", command: str) -> None:
    from hne.viz.report import write_tuning_report

    table = ready.table
    color = talk.color_of(table) if table.color else None
    write_tuning_report(
        tuning,
        path,
        title=f"Settings for {talk.title_of(options)}",
        color=None if color is None else color.values,
        color_name="" if color is None else color.name,
        source=table.source,
        command=command,
        data_notes=table.notices,
    )


def chosen_facts(tuning: "Tuning") -> dict[str, Any]:
    """What was found, for machines."""
    return {
        "n_samples": tuning.n_samples,
        "n_tuned": tuning.n_samples if tuning.rows is None else len(tuning.rows),
        "parameters": tuning.parameters,
        "best": _facts(tuning.best),
        "runner_up": None if tuning.runner_up is None else _facts(tuning.runner_up),
        "counts": _counts(tuning),
        "seconds": tuning.seconds,
    }


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
