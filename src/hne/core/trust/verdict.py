"""Findings -> sentences: every word that is said of how far an embedding can be believed."""

from collections.abc import Mapping
from typing import Any

from hne.core.trust.record import Finding

OPENINGS = {"bad": "Do not believe it", "doubtful": "Believe it with care"}


def finding(kind: str, level: str, remedy: str = "", **values: Any) -> Finding:
    """A finding with its sentence."""
    return Finding(kind, level, values, remedy, _sentence(kind, values))


def verdict_against(finding: Finding) -> str:
    """The verdict where this finding decides."""
    if finding.kind == "unknown":
        return f"Cannot be judged: {finding.text}."
    remedy = f"; {finding.remedy[0].lower()}{finding.remedy[1:]}" if finding.remedy else ""
    return f"{OPENINGS[finding.level]}: {finding.text}{remedy}."


def praise(score: float = 0.0, limit: float = 0.0, *, is_sure: bool = True, stress: float | None = None) -> str:
    """The verdict where nothing speaks against it: by the stress of a chart, or by the score."""
    if stress is not None:
        return f"Can be believed: the chart keeps the lengths between near samples (stress {stress:.2g})."
    kept = f"(score {score:.4f}, good below {limit:.4f})"
    if is_sure:
        return f"Can be believed: neighborhoods keep their shape {kept}."
    return f"Can probably be believed: neighborhoods keep most of their shape {kept}."


def _sentence(kind: str, values: Mapping[str, Any]) -> str:  # noqa: C901, PLR0911, PLR0912, a line a kind
    """What a finding says."""
    v, d = values, values.get("n_components", 0)
    match kind, values.get("reason", ""):
        case "collapsed", _:
            tiny = f" (the first eigenvalue, {v['eigenvalue']:.0e}, is rounding)" if "eigenvalue" in v else ""
            cause = f", and {v['n_hanging']} samples hang by a single one" if "n_hanging" in v else ""
            return f"it has collapsed: {v['share']:.0%} of the neighborhoods shrink to points or lines{tiny}{cause}"
        case "dimension", _:
            return f"the samples have {_counted(v['dimension'], 'dimension')}, and the embedding {d}"
        case "gap", "unresolved":
            return f"eigenvalues {d} and {d + 1} cannot be told apart, so that it is one of many that are equally good"
        case "gap", _:
            return f"the next eigenvalue is only {v['gap'] - 1:.1%} larger than the last one that is shown"
        case "landmarks", reason:
            how = " and not solved to the end" if reason == "settled" else ", too few as it seems"
            what = "it" if v["n_eigenvectors"] is None else f"the span of its {v['n_eigenvectors']} eigenvectors"
            return f"it was found on landmarks{how}: the last refinement moved {what} by {v['last_move']:.1e} rad"
        case "pieces", _:
            return f"the neighbor graph is in {v['n_pieces']} pieces, and how they lie to each other is not known"
        case "repeated", "superfluous":
            have = f"the samples have {_counted(v['dimension'], 'dimension')}"
            return f"{have}, and of {d} coordinates one repeats the others"
        case "repeated", _:
            return f"a coordinate repeats the others: they tell {v['share']:.0%} of it"
        case "score", _:
            return f"neighborhoods lose their shape (score {v['score']:.4f}, good below {v['limit']:.4f})"
        case "self", _:
            return f"{v['share']:.0%} of the samples are rebuilt mostly by themselves"
        case "short circuits", _:
            edges = f"{v['n_edges']} {'edge seems' if v['n_edges'] == 1 else 'edges seem'}"
            return f"{edges} to lead across gaps, between samples that are far along the surface"
        case "size", _:
            return "a rescaling would have drawn it larger than the samples are, and was refused"
        case "stress", "hinge":
            kept = f"near lengths are kept (stress {v['stress']:.2g})"
            return f"{kept}, and yet it could bend: parts hang together by a hinge"
        case "stress", "narrow":
            return f"it is a narrow band whose lengths are not kept well (stress {v['stress']:.2g})"
        case "stress", _:
            needed = f"more than {_counted(d, 'coordinate')} are needed"
            return f"near lengths are not kept (stress {v['stress']:.2g}), and {needed}"
        case "thin links", "hanging":
            return f"{v['n_hanging']} samples hang by a single one, and how they lie to the others is not known"
        case "thin links", _:
            links = "one link is" if v["n_links"] == 1 else f"{v['n_links']} links are"
            return f"{links} all that holds parts together"
        case "ties", _:
            return f"for {v['share']:.0%} of the samples, the last neighbor is one of several that are as near"
        case "unknown", reason:
            return _why_unknown(reason, v)
    raise ValueError(kind)


def _why_unknown(reason: str, v: Mapping[str, Any]) -> str:
    """Why limits that were calibrated on surfaces say nothing."""
    match reason:
        case "not measured":
            return "there are too few samples or known distances, or no neighborhood has so many dimensions"
        case "more dimensions":
            have = f"the samples have {_counted(v['dimension'], 'dimension')}"
            return f"{have}, more than the {v['n_components']} in which they are to keep their shape"
        case "no surface":
            held = f"{_counted(v['n_components'], 'direction')} hold only {v['share']:.0%} of the variance"
            where = "as in images and wherever samples are near no surface"
            return f"around a sample {held}, {where}, where even perfect embeddings score as badly as wrong ones"
        case "no dimension":
            return "there are too few samples to tell how many dimensions they have"
        case "unclear dimension":
            return f"the samples' own dimension is not clear, {v['dimension']}"
    have = f"the samples seem to have {_counted(v['dimension'], 'dimension')} and the embedding {v['n_components']}"
    return f"{have}; only closed curves fill one more than they have"


def _counted(count: int, word: str) -> str:
    return f"{count} {word}" if count == 1 else f"{count} {word}s"
