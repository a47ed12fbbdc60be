"""An embedding, a search for settings -> what a page is told of them, in words and numbers that the fit knows."""

from typing import Any

from hne.core.records import Embedding
from hne.core.trust.verdict import Assessment, embedding_warnings
from hne.explorer.request import Request
from hne.settings import COORDINATES_IN_WORDS
from hne.tuning import Tuning
from hne.viz.report.measures import written
from hne.viz.report.page import capitalized
from hne.viz.report.tuning import level, score_range, score_text

VERDICTS = {"good": "Good.", "doubtful": "Doubtful.", "bad": "Bad.", "unknown": "Not known."}
# Scores within this factor of the best are as good: of settings that score alike, none is right for its score.
ALIKE = 1.15


def left_edges(given: Request, drawn: Request) -> list[str]:
    """That edges which were given are not between rows that are drawn."""
    n_left = len(given.cut) + len(given.keep) - len(drawn.cut) - len(drawn.keep)
    return [f"{n_left} of the edges that were given are outside of the patch that is drawn."] if n_left else []


def warnings_of(result: Embedding) -> list[str]:
    """What a fit would have warned of, but for the verdict, which stands beside the picture."""
    return [one.message for one in embedding_warnings(result) if one.kind != "verdict"]


def verdict_of(trust: Assessment) -> dict[str, Any]:
    """How far an embedding can be believed."""
    findings = [{"level": one.level, "text": capitalized(one.text), "remedy": one.remedy} for one in trust.findings]
    return {"level": trust.level, "word": VERDICTS[trust.level], "text": trust.verdict, "findings": findings}


def measures_of(result: Embedding) -> list[dict[str, str]]:
    """The numbers behind the verdict that the fit knows: nothing is measured for them."""
    found, trust = [], result.trust
    if result.chart is not None:
        found.append(("Stress", written(result.chart.stress), "how much near lengths change; 0 is best"))
    if trust is not None and trust.score is not None:
        found.append(("Score", written(trust.score.score), "what is lost of small neighborhoods; 0 is best"))
    error = result.reconstruction_error
    found.append(("Rebuilt", f"{error:.3g}", "mean distance of samples from what their neighbors make of them"))
    if trust is not None and trust.dimension is not None:
        estimate = trust.dimension
        found.append(("Dimension", str(estimate.dimension), f"what the samples themselves seem to have: {estimate}"))
    return [{"name": name, "text": text, "help": told} for name, text, told in found]


def lead_of(result: Embedding) -> str:
    """What was done, in a sentence."""
    settings, n_cut = result.settings, len(result.short_circuits)
    k, reg = settings.n_neighbors, settings.reg
    cut = f", {n_cut} edge{'' if n_cut == 1 else 's'} across gaps cut" if n_cut and result.is_cut else ""
    pieces = f", in {result.pieces.count} pieces" if result.pieces.count > 1 else ""
    made = COORDINATES_IN_WORDS[settings.coordinates]
    return f"{len(result.Y)} samples, {made} by {settings.variant} with {k} neighbors and reg {reg:.2g}{cut}{pieces}"


def map_of(tuning: Tuning) -> dict[str, Any]:
    """Scores of all settings that were tried, and which of them is the choice."""
    low, high = score_range(tuning)
    trials = [
        {
            **trial.parameters,
            "score": trial.score,
            "text": score_text(trial.score),
            "level": level(trial.score, low, high) if trial.is_measured else None,
            "outcome": trial.outcome,
            "reason": trial.reason,
            "isBest": trial is tuning.best,
            "isRunnerUp": trial is tuning.runner_up,
        }
        for trial in tuning.trials
    ]
    patch = "" if tuning.rows is None else f"Tried on a patch of {len(tuning.rows)} samples. "
    measured = sum(trial.is_measured for trial in tuning.trials)
    chosen = [f"Best: {tuning.best.label}, score {score_text(tuning.best.score)}, where 0 loses nothing."]
    alike = sum(trial.is_measured and trial.score <= ALIKE * tuning.best.score for trial in tuning.trials)
    if alike > 1:
        chosen.append(f"{alike} settings score nearly the same: look at their pictures, the score does not decide.")
    counted = f"{measured} of {len(tuning.trials)} settings measured in {tuning.seconds:.1f} s."
    return {"trials": trials, "sentences": chosen, "note": f"{patch}{counted}"}
