"""Tuning -> one HTML file: the choice, the best embeddings side by side, and the scores of all settings."""

import os
from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np

from hne import __version__
from hne._runtime.files import atomic_write, expanded
from hne._runtime.progress import duration
from hne.exceptions import InputError
from hne.tuning import Trial, Tuning
from hne.viz.report.facts import counted, parameters, spaced, versions
from hne.viz.report.pack import script_hash, static_text
from hne.viz.report.page import POLICY
from hne.viz.report.sections import section
from hne.viz.report.tuning_pictures import pictures
from hne.viz.report.tuning_scores import heat_maps, score_text, trials_table

MEANING = (
    "The score is what an embedding loses of small neighborhoods: of the plane in which a sample and the ones nearest "
    "to it lie, of who is near whom, and of lengths. 0 loses nothing, and lower is better. It needs no truth, so it "
    "is no proof. Of embeddings whose truth was known, of data of few dimensions, 95 in 100 were right where the "
    "score was below 0.02, 89 from there to 0.05, 79 to 0.075, 48 to 0.1, 11 to 0.15, and 3 above. Images score high "
    "even where they are right."
)
AGREED = (
    "Of the best settings, the one is chosen whose embedding the others agree with the most, even where its score "
    "is clearly higher: compare the pictures below before you take it."
)


def write_tuning_report(
    tuning: Tuning,
    path: str | os.PathLike[str],
    *,
    title: str = "Settings chosen by hne",
    color: Any = None,
    color_name: str = "",
    source: str = "",
    command: str = "",
    notices: Sequence[str] = (),
) -> None:
    """Write a page about a search for settings, which is there whole or not at all.

    Parameters
    ----------
    tuning : Tuning
        What :func:`hne.tuning.tune` found.
    path : path
        The HTML file; `~` is the home folder.
    title : str
        What the page is about.
    color : array-like of shape (n_samples,), default=None
        What to color samples by; None takes the first coordinate of the choice.
    color_name : str
        What it is called.
    source, command : str
        What was read, and the command that embeds it with the choice.
    notices : sequence of str
        What is worth knowing about the data.

    Examples
    --------
    >>> from hne.datasets import make_swiss_roll
    >>> from hne.viz.report import write_tuning_report
    >>> from hne.tuning import tune
    >>> roll = make_swiss_roll(100)
    >>> found = tune(roll.X, grid={"n_neighbors": [5, 6]}, reg=1e-3)
    >>> write_tuning_report(found, getfixture("tmp_path") / "settings.html", color=roll.chart[:, 0])
    """
    page = tuning_page(tuning, title, _check_color(color, tuning), color_name, source, command, notices)
    with atomic_write(expanded(path)) as temporary:
        temporary.write_bytes(page.encode("utf-8", "xmlcharrefreplace"))


def _check_color(color: Any, tuning: Tuning) -> Any:
    """Values of the tuned samples."""
    if color is None:
        return None
    values = np.asarray(color)
    if values.shape != (tuning.n_samples,):
        msg = f"color must have one value for each of {tuning.n_samples} samples, got {values.shape}. Pass as many."
        raise InputError(msg)
    return values if tuning.rows is None else values[tuning.rows]


def tuning_page(
    tuning: Tuning, title: str, color: Any, color_name: str, source: str, command: str, notices: Sequence[str]
) -> str:
    """The page as text; all that comes from the data is escaped."""
    script = f'"use strict";\n(() => {{\n{static_text("tuning.js")}\n}})();\n'
    read = f'<p class="source"><bdi>{escape(source)}</bdi></p>' if source else ""
    told = "".join(f'<li class="data">{escape(text)}</li>' for text in notices)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{POLICY.format(script=script_hash(script))}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="hne {escape(__version__)}">
<title>{escape(title)}</title>
<link rel="icon" href="data:,">
<style>{static_text("base.css", "report.css", "tuning.css")}</style>
</head>
<body>
<header class="top"><div>
<h1><bdi>{escape(title)}</bdi></h1>
<p class="lead">{escape(_lead(tuning))}</p>
{read}
</div><button type="button" id="theme" hidden>Dark</button></header>
<main>
{_choice_section(tuning, command)}{section("best", "The best embeddings", pictures(tuning, color, color_name))}
{section("scores", "Scores of all settings", heat_maps(tuning))}
{section("warnings", "Worth knowing", f'<ul class="notices">{told}</ul>') if told else ""}
{section("trials", "All that was tried", trials_table(tuning))}{section("making", "How it was made", _making(tuning))}
</main>
<footer><p>Made by hne {escape(__version__)}: Hierarchic Neighbors Embedding. This file works without a network and
sends nothing.</p></footer>
<script>{script}</script>
</body>
</html>
"""


def _remarks(tuning: Tuning) -> str:
    return _agreement(tuning) + _own_dimension(tuning)


def _own_dimension(tuning: Tuning) -> str:
    """What the samples themselves say about the number of coordinates, where that is another."""
    own, d = tuning.dimension, tuning.settings.n_components
    if own is None or not own.is_agreed or own.dimension == d:
        return ""
    return (
        f"<p>The samples themselves seem to have {counted(own.dimension, 'dimension')}, and the embeddings {d}: look "
        f"at settings for {own.dimension} as well.</p>"
    )


def _lead(tuning: Tuning) -> str:
    best, d = tuning.best, tuning.settings.n_components
    dimensions = "dimension" if d == 1 else "dimensions"
    return (
        f"{best.variant.upper()} with {counted(best.n_neighbors, 'neighbor')} and reg {best.reg:g} is chosen for "
        f"{counted(tuning.n_samples, 'sample')} in {d} {dimensions}, of {counted(len(tuning.trials), 'setting')}."
    )


def _choice_section(tuning: Tuning, command: str) -> str:
    """The choice with its command, its score and what that means."""
    code = f"HNE({', '.join(f'{name}={value!r}' for name, value in tuning.parameters.items())})"
    lines = [("In a shell", command)] if command else []
    lines.append(("In Python", code))
    commands = "".join(
        f'<h3>{name}</h3><div class="command"><pre><code>{escape(text)}</code></pre>'
        '<button type="button" class="copy" hidden>Copy</button></div>'
        for name, text in lines
    )
    tiles = "".join(
        f"<div><dt>{escape(text)}</dt><dd>{escape(number)}</dd></div>" for number, text in _key_numbers(tuning)
    )
    body = f'{commands}<dl class="tiles">{tiles}</dl><p class="meaning">{MEANING}</p>{_remarks(tuning)}'
    return section("choice", "The choice", body)


def _key_numbers(tuning: Tuning) -> list[tuple[str, str]]:
    best, other = tuning.best, tuning.runner_up
    tiles = [(score_text(best.score), f"score of the choice, {best.label}")]
    if other is not None:
        tiles.append((score_text(other.score), f"score of the runner-up, {other.label}"))
    counts = {outcome: _count(tuning.trials, outcome) for outcome in OUTCOMES}
    tiles.append((f"{counts['measured']} of {len(tuning.trials)}", "settings measured to the end"))
    others = ", ".join(f"{counts[outcome]} {outcome}" for outcome in OUTCOMES[1:])
    tiles.append((str(len(tuning.trials) - counts["measured"]), f"settings not measured: {others}"))
    return tiles


OUTCOMES = ("measured", "stopped early", "failed", "not reached")


def _count(trials: Sequence[Trial], outcome: str) -> int:
    return sum(trial.outcome == outcome for trial in trials)


def _agreement(tuning: Tuning) -> str:
    """Why the choice has not the lowest score, where it has not; and what was tuned on."""
    lowest, told = tuning.trials[0], []
    if lowest is not tuning.best:
        told.append(f"{lowest.label} has a lower score, {score_text(lowest.score)}. {AGREED}")
    if tuning.rows is not None:
        told.append(
            f"Settings were tried on {spaced(len(tuning.rows))} of {counted(tuning.n_samples, 'sample')}: a connected "
            "patch, as dense as the whole."
        )
    return "".join(f"<p>{escape(text)}</p>" for text in told)


def _making(tuning: Tuning) -> str:
    """Time, parameters that are not the usual ones, versions."""
    changed = [(one.name, one.value) for one in parameters(tuning.settings, tuning.n_samples) if not one.is_default]
    facts = [("time", duration(tuning.seconds)), *changed, *versions()]
    rows = "".join(f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>" for name, value in facts)
    return f'<dl class="facts">{rows}</dl>'
