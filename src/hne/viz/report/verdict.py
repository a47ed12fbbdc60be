"""Trust -> the verdict at the top of a page, and the section of the numbers behind it; all texts are escaped."""

import math
from collections.abc import Iterator, Sequence
from html import escape

from hne.core.records import Embedding
from hne.core.trust.record import Assessment, Finding
from hne.viz.report.facts import counted, sentence
from hne.viz.report.marks import WORDS, mark_svg
from hne.viz.report.measures import Measure, measured, missing
from hne.viz.report.sections import measure_item, section

# Pairs of samples that a page lists and draws, the worst first.
MAX_SHORTS = 60


def verdict_block(trust: Assessment) -> str:
    """One sentence with its mark, and what was found as a short list."""
    level, said = trust.level, trust.verdict
    findings = "".join(_finding(one) for one in trust.findings if not _is_said(one, said))
    listed = f'<ul class="findings">{findings}</ul>' if findings else ""
    more = '<p class="more"><a href="#trust">The numbers behind it</a></p>'
    return (
        f'<section id="verdict" class="level-{level}" aria-labelledby="verdict-title">'
        '<h2 class="unseen" id="verdict-title">Can it be believed?</h2>'
        f'<p class="said">{mark_svg(level)}<span><strong>{WORDS[level]}</strong> '
        f'<span class="data">{escape(said)}</span></span></p>{listed}{more}</section>\n'
    )


def _is_said(finding: Finding, verdict: str) -> bool:
    """Whether the verdict has said all of it."""
    whole = verdict.lower()
    return finding.text.lower() in whole and finding.advice.lower() in whole


def _finding(finding: Finding) -> str:
    level = "note" if finding.level == "good" else finding.level
    word = f'<span class="unseen">{WORDS[level]} </span>' if level in WORDS else ""
    advice = f' <span class="advice data">{escape(sentence(finding.advice))}</span>' if finding.advice else ""
    text = f'<span class="data">{escape(sentence(finding.text))}</span>'
    return f'<li class="level-{level}">{mark_svg(level)}<span>{word}{text}{advice}</span></li>'


def trust_section(trust: Assessment, result: Embedding, shorts: Sequence[tuple[str, str]]) -> str:
    """The numbers that the verdict rests on; `shorts` are the names of the short circuits that the page draws."""
    items = [measure_item(measure) for measure in trust_measures(trust, result)]
    body = f'<dl class="measures">{"".join(items)}</dl>{_shorts(trust, shorts, is_cut=result.is_cut)}'
    return section("trust", "How far it can be believed", body)


def trust_measures(trust: Assessment, result: Embedding) -> tuple[Measure, ...]:
    """Each number of the record, and how to read it."""
    d = result.settings.n_components
    read_gap = READ_GAP if result.chart is None else READ_GAP_OF_CHART.format(d=d, following=d + 1)
    return (
        _score(trust),
        _dimension(trust, d),
        *_shares(trust, read_gap),
        _count("pieces", trust.n_pieces, READ_PIECES),
        _count("thin links", trust.n_thin_links, READ_THIN),
        _count("short circuits", len(trust.short_circuits), READ_CUT if result.is_cut else READ_SHORTS),
    )


READ_SCORE = (
    "How much of the samples' small neighborhoods the embedding loses, seen without knowing the truth: 0 loses "
    "nothing, and lower is better."
)
READ_DIMENSION = (
    "How many coordinates the samples seem to have by themselves, estimated in two ways. An embedding in fewer folds "
    "or squeezes them, one in more has coordinates without a meaning."
)
READ_GAP = (
    "How many times the next eigenvalue is as large as the last one used. Near 1, the last coordinate is one of "
    "several that are as good."
)
READ_GAP_OF_CHART = (
    "How many times eigenvalue {following} is as large as eigenvalue {d}. Near 1, the first {d} eigenvectors do not "
    "stand apart; a chart finds its coordinates among more of them."
)
READ_REPEATED = (
    "How much of one coordinate is a smooth function of the others, at most. Near 100%, it repeats them and the "
    "picture is a curve."
)
READ_COLLAPSED = (
    "How many small neighborhoods are drawn with next to no width. Where most are, and samples crowd in a few places, "
    "the picture shows lines or points that the data does not have."
)
READ_SELF = "How many samples are rebuilt mostly by themselves. Such a sample tells little about where it belongs."
READ_PIECES = "Parts of the data that no link between neighbors ties. How they lie to each other is a layout."
READ_THIN = (
    "Links without which, or without whose one sample, a piece would fall in two. What they join can turn about them."
)
READ_SHORTS = (
    "Pairs of neighbors that are near in the data and far along the surface that it seems to lie on. One of them can "
    "fold the picture."
)
READ_CUT = (
    "Pairs of neighbors that are near in the data and far along the surface that it seems to lie on. One of them can "
    "fold the picture, so they were cut before it was made."
)


def _score(trust: Assessment) -> Measure:
    if trust.score is None:
        return missing("score", READ_SCORE, "too few samples, or no lengths to measure by")
    found = trust.score
    # Lengths do not count where samples are near no surface.
    is_known = math.isfinite(found.unevenness)
    uneven = f", and the unevenness of its stretching, {found.unevenness:.4f}" if is_known else ""
    note = (
        f"A weighted sum of the tangent loss, {found.tangent_loss:.4f}, the rank loss, {found.rank_loss:.4f} "
        f"(trustworthiness {found.trustworthiness:.4f}, continuity {found.continuity:.4f}){uneven}."
    )
    return measured("score", found.score, READ_SCORE, note)


def _dimension(trust: Assessment, n_components: int) -> Measure:
    name, found = "intrinsic dimension", trust.dimension
    if found is None:
        return missing(name, READ_DIMENSION, "too few samples, or no distances to tell it by")
    agreed = "which agree" if found.is_agreed else "which do not agree"
    more = found.dimension - n_components
    compared = "as many" if not more else f"{abs(more)} {'fewer' if more > 0 else 'more'}"
    note = (
        f"{found.by_likelihood:.2f} by likelihood, {found.by_two_nearest:.2f} by the two nearest, {agreed}. The "
        f"embedding has {n_components}, {compared}."
    )
    return Measure(name, found.dimension, str(found.dimension), READ_DIMENSION, None, note)


def _shares(trust: Assessment, read_gap: str) -> Iterator[Measure]:
    if math.isfinite(trust.eigenvalue_gap):
        yield measured("eigenvalue gap", trust.eigenvalue_gap, read_gap)
    else:
        yield missing("eigenvalue gap", read_gap, "there is no next eigenvalue, or the last one is zero")
    for name, share, how in (
        ("repeated share", trust.repeated_share, READ_REPEATED),
        ("collapsed share", trust.collapsed_share, READ_COLLAPSED),
        ("self share", trust.self_share, READ_SELF),
    ):
        known = math.isfinite(share)
        yield Measure(name, share, f"{share:.1%}", how) if known else missing(name, how, "there is too little to tell")


def _count(name: str, count: int, how: str) -> Measure:
    return Measure(name, count, str(count), how)


def _shorts(trust: Assessment, names: Sequence[tuple[str, str]], *, is_cut: bool) -> str:
    """Short circuits as buttons that show them in the picture."""
    if not names:
        return ""
    items = "".join(
        f'<li><button type="button" data-short="{number}"><span class="data" dir="auto">{escape(first)}</span> and '
        f'<span class="data" dir="auto">{escape(second)}</span></button></li>'
        for number, (first, second) in enumerate(names)
    )
    rest = len(trust.short_circuits) - len(names)
    more = f"<p>{counted(rest, 'more pair')} not listed.</p>" if rest else ""
    return (
        f"<h3>{'Short circuits that were cut' if is_cut else 'Suspected short circuits'}, the worst first</h3>"
        "<p>Each button shows its pair in the picture.</p>"
        f'<ol class="shorts">{items}</ol>{more}'
    )
