"""`hne tune`: a file -> the variant, k and reg that suit it, and the command that embeds it with them."""

import argparse
import shlex
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hne import __version__
from hne.cli.arguments import add_force, add_grid, add_input, add_preparation, add_talk, output_path, seconds
from hne.cli.command import embed_words
from hne.cli.inputs import are_distances, color_of, parameters_of, read_input, say_notices, title_of
from hne.cli.outputs import check_ending, check_outputs, check_page
from hne.cli.talk import command_context, print_json, say

if TYPE_CHECKING:
    from hne.io import PreparedTable
    from hne.tuning import Trial, Tuning

TABLES = (".csv", ".tsv", ".json", ".parquet", ".arrow", ".feather")
# Why the choice may not have the lowest score.
AGREED = "of the best ones, the others agree with the choice the most"
# Options that set the grid.
SEARCHED = ("n_neighbors", "variant", "reg")
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
    parser: argparse.ArgumentParser = commands.add_parser(
        "tune",
        help="find the neighbors, variant and ridge that suit a file, and the command to embed it with them",
        description=DESCRIPTION,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_input(parser)
    add_preparation(parser)
    parser.add_argument(
        "--budget", type=seconds, metavar="SECONDS", help="begin no further settings after that time [none]"
    )
    outputs = parser.add_argument_group("outputs")
    outputs.add_argument(
        "-o",
        "--output",
        type=output_path,
        metavar="OUT",
        help="all that was tried: .csv, .tsv, .json, .parquet, .arrow",
    )
    outputs.add_argument(
        "--report", type=output_path, metavar="HTML", help="page with the best embeddings and all scores"
    )
    add_force(outputs)
    add_grid(parser)
    add_talk(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Read, search, write what was asked for, and print the command."""
    outputs = _checked_outputs(options)
    with command_context(options) as (timings, heard):
        ready, found = _tuned(options)
        command = shlex.join(embed_words(options, found.parameters))
        for sentence in [*_untried(options, found), *sentences(found), *_doubts(found, ready)]:
            say(sentence, options)
        _write(options, outputs, ready, found, command)
    for path in outputs.values():
        say(f"wrote {path}", options)
    if options.json:
        written = {option[2:]: str(path) for option, path in outputs.items()}
        told = {"hne": __version__, "input": options.input, "source": ready.table.source}
        print_json(
            told
            | chosen_facts(found)
            | {"trials": [_facts(trial) for trial in found.trials]}
            | {"command": command, "warnings": heard, "timings": timings, "outputs": written}
        )
        return
    say("this embeds it with the choice; add -o, --report, --plot or --save:", options)
    print(command)


def _checked_outputs(options: argparse.Namespace) -> dict[str, Path]:
    """Outputs by option, all of them possible."""
    from hne.io import check_output_ending

    if options.output is not None:
        check_ending("--output", options.output, TABLES)
        check_output_ending(options.output)
    check_page(options.report)
    return check_outputs({"--output": options.output, "--report": options.report}, options.input, force=options.force)


def _tuned(options: argparse.Namespace) -> tuple["PreparedTable", "Tuning"]:
    """The samples, and what was found for them."""
    from hne.io import prepare_table
    from hne.tuning import tune

    ready = prepare_table(read_input(options), options.missing, options.scale, are_distances=are_distances(options))
    say_notices(ready.table.notices, options)
    parameters = {name: value for name, value in parameters_of(options).items() if name not in SEARCHED}
    grid = {name: getattr(options, name) for name in SEARCHED if getattr(options, name) is not None}
    return ready, tune(ready.X, grid=grid, budget=options.budget, **parameters)


def _write(
    options: argparse.Namespace, outputs: dict[str, Path], ready: "PreparedTable", found: "Tuning", command: str
) -> None:
    """Write every output, each whole or not at all."""
    from hne._runtime.progress import run_stage

    if "--output" in outputs:
        run_stage("writing", _write_table, outputs["--output"], found)
    if "--report" in outputs:
        run_stage("report", _report, outputs["--report"], options, ready, found, command)


def _report(path: Path, options: argparse.Namespace, ready: "PreparedTable", found: "Tuning", command: str) -> None:
    """Write the page."""
    from hne.viz.report import write_tuning_report

    table = ready.table
    color = color_of(table) if table.color else None
    write_tuning_report(
        found,
        path,
        title=f"Settings for {title_of(options)}",
        color=None if color is None else color.values,
        color_name="" if color is None else color.name,
        source=table.source,
        command=command,
        data_notes=table.notices,
    )


def _write_table(path: Path, found: "Tuning") -> None:
    """Write all trials, a row each, by the writers of coordinates."""
    import numpy as np

    from hne.io import Coordinates, write_coordinates

    kinds = {str: object}
    columns = {name: np.array(values, dtype=kinds.get(type(values[0]))) for name, values in found.table().items()}
    write_coordinates(path, Coordinates(Y=np.empty((len(found.trials), 0)), labels=columns))


def chosen_facts(found: "Tuning") -> dict[str, Any]:
    """What was found, for machines."""
    return {
        "n_samples": found.n_samples,
        "n_tuned": found.n_samples if found.rows is None else len(found.rows),
        "parameters": found.parameters,
        "best": _facts(found.best),
        "runner_up": None if found.runner_up is None else _facts(found.runner_up),
        "counts": counts(found),
        "seconds": found.seconds,
    }


def _facts(trial: "Trial") -> dict[str, Any]:
    facts = trial.parameters | {"outcome": trial.outcome, "score": trial.score, "n_pieces": trial.n_pieces}
    measure = trial.measure
    if measure is not None:
        parts = ("tangent_loss", "trustworthiness", "continuity")
        facts |= {name: getattr(measure, name) for name in parts}
    return facts | {"reason": trial.reason, "seconds": trial.seconds}


def counts(found: "Tuning") -> dict[str, int]:
    """How many settings came to what, all outcomes named."""
    counted = Counter(trial.outcome for trial in found.trials)
    return {outcome: counted[outcome] for outcome in OUTCOMES}


def _untried(options: argparse.Namespace, found: "Tuning") -> list[str]:
    """Numbers of neighbors with which nothing works, such as more than there are samples."""
    failed = {trial.n_neighbors: trial.reason for trial in found.trials if trial.outcome == "failed"}
    untried = sorted(failed.keys() - {trial.n_neighbors for trial in found.trials if trial.outcome != "failed"})
    asked = [k for k in untried if k in (options.n_neighbors or ())]
    return [f"warning: nothing works with --n-neighbors {k}: {failed[k]}" for k in asked]


def _doubts(found: "Tuning", ready: "PreparedTable") -> list[str]:
    """What a high score says, from data of known truth."""
    from hne.core.trust.assess import SCORE_BAD, SCORE_DOUBTFUL

    if found.best.score < SCORE_DOUBTFUL:
        return []
    if ready.table.image_shape is not None:
        return ["images score high even where they are right: look at the pictures of --report"]
    share = "one in ten was" if found.best.score < SCORE_BAD else "hardly any was"
    known = f"of embeddings of known truth that scored so high, {share} right, images apart"
    return [f"warning: {known}. Look at them with --report, scale columns, or try another -d"]


def sentences(found: "Tuning") -> list[str]:
    """What was found, for people."""
    from hne._runtime.progress import duration

    best, other, lowest = found.best, found.runner_up, found.trials[0]
    pieces = f"; its neighbor graph has {best.n_pieces} pieces" if best.n_pieces > 1 else ""
    told = [f"chose {best.label}: score {best.score:.4g}, where 0 loses nothing of small neighborhoods{pieces}"]
    if lowest is not best and lowest is not other:
        told.append(f"{lowest.label} scores {lowest.score:.4g}, but {AGREED}")
    if other is None:
        told.append("there is no runner-up of another variant or number of neighbors")
    else:
        why = f", but {AGREED}" if other is lowest else ""
        told.append(f"runner-up {other.label}: score {other.score:.4g}{why}")
    numbers = ", ".join(f"{count} {outcome}" for outcome, count in counts(found).items())
    told.append(f"of {len(found.trials)} settings: {numbers}; {duration(found.seconds)}")
    own, d = found.dimension, found.settings.n_components
    if own is not None and own.is_agreed and own.dimension != d:
        told.append(f"the samples themselves seem to have another dimension, {own}: try --n-components {own.dimension}")
    if found.rows is not None:
        told.append(
            f"tuned on {len(found.rows)} of {found.n_samples} samples, a connected patch that is as dense as the whole"
        )
    return told
