"""Tuning -> scores as heat maps over k and reg, one a variant, and as a table."""

import math
from collections.abc import Sequence
from html import escape

from hne.tuning import Trial, Tuning

# Steps of color from the best score to the worst, which are at least this factor apart.
LEVELS, LEAST_SPAN = 9, 8.0
# Smaller scores are told apart no more.
SMALLEST = 1e-5
# Width of a cell that is wide enough, in the size of letters.
CELL = 4.5
MEASURED = "measured"
# What a cell without a score shows.
SIGNS = {"stopped early": "–", "failed": "failed", "not reached": "·"}  # noqa: RUF001, a dash as wide as a digit


def score_text(score: float) -> str:
    """A score with two digits; empty where there is none.

    >>> score_text(0.00214), score_text(0.1), score_text(3e-9)
    ('0.0021', '0.10', '3.0e-09')
    """
    if not math.isfinite(score):
        return ""
    if 0 < score < SMALLEST:
        return f"{score:.1e}"
    return f"{score:.{max(2, 1 - math.floor(math.log10(score)))}f}" if score > 0 else "0"


def heat_maps(tuning: Tuning) -> str:
    """A table for each variant: k across, reg down, a color for the score."""
    scores = [trial.score for trial in tuning.trials if trial.outcome == MEASURED]
    low = max(min(scores), SMALLEST)
    high = max(*scores, LEAST_SPAN * low)
    variants = sorted({trial.variant for trial in tuning.trials}, key=("ihne", "rhne", "bhne").index)
    maps = "".join(_heat_map(tuning, variant, low, high) for variant in variants)
    return f'<div class="maps">{maps}</div>{_legend(low, high)}'


def level(score: float, low: float, high: float) -> int:
    """The step of a score on a logarithmic scale, 0 the best.

    >>> level(0.001, 0.001, 0.1), level(0.01, 0.001, 0.1), level(0.5, 0.001, 0.1)
    (0, 4, 8)
    """
    share = math.log(max(score, low) / low) / math.log(high / low)
    return min(LEVELS - 1, int(share * (LEVELS - 1) + 0.5))


def _heat_map(tuning: Tuning, variant: str, low: float, high: float) -> str:
    ks = sorted({trial.n_neighbors for trial in tuning.trials})
    regs = sorted({trial.reg for trial in tuning.trials}, reverse=True)
    cells = {(one.n_neighbors, one.reg): one for one in tuning.trials if one.variant == variant}
    head = "".join(f'<th scope="col">{k}</th>' for k in ks)
    rows = "".join(
        f'<tr><th scope="row">{reg:g}</th>{"".join(_cell(tuning, cells.get((k, reg)), low, high) for k in ks)}</tr>'
        for reg in regs
    )
    return (
        f'<div class="scroll"><table class="heat" style="max-width: {CELL * (len(ks) + 1):g}rem">'
        f'<caption>{variant.upper()}</caption><thead><tr><th scope="col">reg \\ k</th>{head}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div>"
    )


def _cell(tuning: Tuning, trial: Trial | None, low: float, high: float) -> str:
    if trial is None:
        return "<td></td>"
    role = tuning.role(trial)
    about = f"{trial.label}: {trial.outcome}"
    if trial.outcome == MEASURED:
        kind, shown = f"l{level(trial.score, low, high)}", score_text(trial.score)
        about += f", score {trial.score:.4g}"
    else:
        bound = score_text(trial.score)
        kind, shown = "none", f"&gt;{bound}" if bound else escape(SIGNS[trial.outcome])
        about += f", {trial.reason}" if trial.reason else ""
    about += f" ({role})" if role else ""
    name = f' <span class="role">{role}</span>' if role else ""
    marked = f" {role}" if role else ""
    return f'<td class="{kind}{marked}" title="{escape(about)}">{shown}{name}</td>'


def _legend(low: float, high: float) -> str:
    steps = "".join(f'<span class="l{step}"></span>' for step in range(LEVELS))
    return (
        f'<p class="heat-key"><span>{score_text(low)}</span><span class="steps" aria-hidden="true">{steps}</span>'
        f"<span>{score_text(high)}</span> <span>score on a logarithmic scale: the stronger the color, the better</span>"
        '</p><p class="heat-key"><span class="none" aria-hidden="true"></span> stopped early, failed or not reached: '
        "the reason is in the table below, and shown where the pointer rests; after &gt; what the score is at least</p>"
        '<p class="heat-key">A thick frame marks the choice, a dashed one the runner-up.</p>'
    )


def trials_table(tuning: Tuning) -> str:
    """All trials, the best first."""
    names = ("", "setting", "score", "tangent loss", "trustworthiness", "continuity", "pieces", "outcome", "seconds")
    head = "".join(f'<th scope="col">{name}</th>' for name in names)
    rows = "".join(_row(rank, trial, tuning.role(trial)) for rank, trial in enumerate(tuning.trials, start=1))
    return (
        f'<div class="scroll"><table class="trials"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'
    )


def _row(rank: int, trial: Trial, role: str) -> str:
    measure = trial.measure
    parts = ["", "", ""]
    if measure is not None:
        parts = [f"{value:.4f}" for value in (measure.tangent_loss, measure.trustworthiness, measure.continuity)]
    score = "" if not math.isfinite(trial.score) else f"{trial.score:.4f}"
    score = f"> {score}" if score and trial.outcome != MEASURED else score
    outcome = f"{trial.outcome}: {trial.reason}" if trial.reason else trial.outcome
    cells = [score, *parts, str(trial.n_pieces or ""), outcome, f"{trial.seconds:.2f}"]
    kind = f' class="{role}"' if role else ""
    name = f' <span class="role">{role}</span>' if role else ""
    return f'<tr{kind}><td>{rank}</td><th scope="row">{escape(trial.label)}{name}</th>{_cells(cells)}</tr>'


def _cells(texts: Sequence[str]) -> str:
    return "".join(f"<td>{escape(text)}</td>" for text in texts)
