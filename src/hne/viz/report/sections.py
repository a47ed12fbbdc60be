"""Embedding, Details -> the sections below the picture, as HTML; all that is data is escaped."""

from collections.abc import Iterable, Sequence
from html import escape

from hne._runtime.progress import duration
from hne.core.records import Embedding
from hne.viz.report.details import Details
from hne.viz.report.facts import Parameter, chart_facts, parameters, piece_facts, spaced, versions, warnings_of
from hne.viz.report.measures import Measure, written
from hne.viz.report.scree import eigenvalues_of, gap_in_words, scree_svg

# Measures that the top of the page shows in plain words.
KEPT, TRUST = "preservation", "trustworthiness"

COORDINATES = {1: "coordinate drawn for each", 2: "coordinates drawn for each"}


def key_numbers(result: Embedding, found: Sequence[Measure]) -> str:
    """A few numbers in plain words."""
    by_name = {measure.name: measure for measure in found}
    kept, trust = by_name[KEPT], by_name[TRUST]
    d = result.Y.shape[1]
    tiles = [
        (spaced(len(result.Y)), "samples" if len(result.Y) != 1 else "sample"),
        (str(d), COORDINATES.get(d, "coordinates for each, two of them drawn at a time")),
        (
            _percent(trust.value),
            f"of what is drawn close together, how much is close in the data (chance gives 50%{_by_pca(trust, ', ')})",
        ),
        (
            _percent(kept.value),
            f"of a sample's nearest neighbors are nearest in the picture too{_by_pca(kept, ' (', ')')}",
        ),
        (
            str(result.pieces.count),
            "piece: links lead from every sample to every other"
            if result.pieces.count == 1
            else "pieces that no link between neighbors ties",
        ),
    ]
    body = "".join(f"<div><dt>{escape(text)}</dt><dd>{escape(number)}</dd></div>" for number, text in tiles)
    return f'<dl class="tiles">{body}</dl>'


def _by_pca(measure: Measure, before: str, behind: str = "") -> str:
    return "" if measure.of_pca is None else f"{before}PCA {_percent(measure.of_pca)}{behind}"


def _percent(share: float | None) -> str:
    return "?" if share is None else f"{share:.0%}"


def warnings_section(result: Embedding, details: Details) -> str:
    """Warnings, or nothing."""
    told = warnings_of(result, details)
    return section("warnings", "Worth knowing", f'<ul class="notices">{_items(told)}</ul>') if told else ""


def left_out_section(left_out: Sequence[str]) -> str:
    """What the page does not show, or nothing."""
    return section("left-out", "Left out of this page", f"<ul>{_items(left_out)}</ul>") if left_out else ""


def measures_section(found: Sequence[Measure]) -> str:
    """Each measure with its number, how to read it, and what it was measured on."""
    rows = "".join(measure_item(measure) for measure in found)
    beside = (
        "<p>Beside some numbers stands what PCA gets, the linear projection of the same samples to as many "
        "coordinates, measured alike.</p>"
        if any(measure.of_pca is not None for measure in found)
        else ""
    )
    body = f'{beside}<dl class="measures">{rows}</dl>'
    return section("quality", "How well neighbors and distances are kept", body)


def measure_item(measure: Measure) -> str:
    """A measure with its number, how to read it, and what it was measured on."""
    error = "" if measure.standard_error is None else f" <small>± {measure.standard_error:.1g}</small>"
    pca = "" if measure.of_pca is None else f' <span class="pca">PCA {written(measure.of_pca)}</span>'
    kind = ' class="missing"' if measure.value is None else ""
    note = f'<p class="note">{escape(measure.note)}</p>' if measure.note else ""
    return (
        f"<div{kind}><dt>{escape(measure.name.capitalize())}</dt><dd><p><strong>{escape(measure.text)}</strong>{error}"
        f"{pca}</p><p>{escape(measure.how_to_read)}</p>{note}</dd></div>"
    )


def scree_section(result: Embedding, details: Details) -> str:
    """Eigenvalues and their gap."""
    values, used = eigenvalues_of(result, details.scree)
    charted = 0 if result.chart is None else len(result.chart.B)
    largest = "<p>These are the eigenvalues of the largest piece.</p>" if len(result.core.parts) > 1 else ""
    picture, words = scree_svg(values, used, charted), gap_in_words(values, used, charted)
    body = f"<figure>{picture}</figure><p>{escape(words)}</p>{largest}"
    return section("eigenvalues", "Eigenvalues", body)


def chart_section(result: Embedding) -> str:
    """How the coordinates that are drawn were found, and what they keep."""
    largest = "<p>This is said of the largest piece.</p>" if len(result.core.parts) > 1 else ""
    return section("chart", "How the coordinates were found", f"{_facts(chart_facts(result))}{largest}")


def graph_section(result: Embedding) -> str:
    """Pieces, copies, short circuits and thin links."""
    return section("pieces", "How the samples hang together", _facts(piece_facts(result)))


def parameters_section(result: Embedding) -> str:
    """Every parameter, those that differ from the default first."""
    known = sorted(parameters(result.settings, result.distinct.n_places), key=lambda one: one.is_default)
    rows = "".join(_parameter(one) for one in known)
    head = '<thead><tr><th scope="col">Parameter</th><th scope="col">Value</th><th scope="col"></th></tr></thead>'
    return section("parameters", "Parameters", f'<div class="scroll"><table>{head}<tbody>{rows}</tbody></table></div>')


def _parameter(one: Parameter) -> str:
    kind, note = (' class="default"', "default") if one.is_default else ("", "changed")
    name, value = escape(one.name), escape(one.value)
    return f'<tr{kind}><th scope="row"><code>{name}</code></th><td>{value}</td><td>{note}</td></tr>'


def making_section(details: Details) -> str:
    """Times, versions, and the command to repeat it."""
    parts = []
    if details.command:
        parts.append(
            f'<h3>Make it again</h3><div class="command"><pre><code id="command">{escape(details.command)}</code></pre>'
            '<button type="button" id="copy-command">Copy</button></div>'
        )
    if details.timings:
        times = [(name, duration(seconds)) for name, seconds in details.timings.items()]
        parts.append(f"<h3>Time</h3>{_facts([*times, ('all of it', duration(sum(details.timings.values())))])}")
    parts.append(f"<h3>Versions</h3>{_facts(versions())}")
    return section("making", "How it was made", "".join(parts))


def section(name: str, title: str, body: str) -> str:
    """A section with its heading."""
    return f'<section id="{name}" aria-labelledby="{name}-title"><h2 id="{name}-title">{title}</h2>{body}</section>\n'


def _facts(facts: Iterable[tuple[str, str]]) -> str:
    rows = "".join(f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>" for name, value in facts)
    return f'<dl class="facts">{rows}</dl>'


def _items(texts: Iterable[str]) -> str:
    return "".join(f'<li class="data">{escape(text)}</li>' for text in texts)
