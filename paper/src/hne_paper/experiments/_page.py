"""Sections -> index.html: every claim in one sentence at the top, then pictures and tables of each experiment."""

import platform
from collections.abc import Sequence
from html import escape
from importlib.metadata import version
from pathlib import Path

from hne import __version__
from hne._runtime.files import atomic_write
from hne.viz.report import static_text
from hne_paper.experiments._methods import ALL, CHART, VARIANTS
from hne_paper.experiments._records import FAILS, HOLDS, IN_PART, SHOWN, Claim, Picture, Score, Section, Table

STYLE_SHEET = """
:root { --holds: #006b4f; --part: #8a5a00; --fails: #a3260b; --shown: #4d5258; }
@media (prefers-color-scheme: dark) { :root { --holds: #5fd0a8; --part: #f0b95a; --fails: #ff8f78; --shown: #b4bac1; } }
body { margin: 0 auto; max-width: 68rem; padding: 1.5rem 1.25rem 4rem; }
h1 { font-size: 1.9rem; line-height: 1.2; margin: 1rem 0 .5rem; }
h2 { font-size: 1.35rem; margin: 3.5rem 0 .4rem; padding-top: .8rem; border-top: 1px solid var(--line); }
h3 { font-size: 1rem; margin: 1.6rem 0 .4rem; }
a { color: inherit; }
p, li { max-width: 46rem; }
.dim, figcaption, .note, footer { color: var(--dim); font-size: .9rem; }
figure { margin: 1.4rem 0; }
figure img { width: 100%; height: auto; background: #fff; border: 1px solid var(--line); border-radius: 6px; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: .88rem; font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .6rem; text-align: right; border-bottom: 1px solid var(--line); white-space: nowrap; }
th { white-space: normal; }
th:first-child, td:first-child { text-align: left; }
.claims th, .claims td { text-align: left; white-space: normal; vertical-align: top; }
.claims td:nth-child(3) { white-space: nowrap; }
tr.ours td:first-child { font-weight: 600; }
.verdict { font-weight: 600; white-space: nowrap; }
.holds { color: var(--holds); } .part { color: var(--part); }
.fails { color: var(--fails); } .shown { color: var(--shown); }
nav a { margin-right: .9rem; white-space: nowrap; }
code { font-size: .92em; background: var(--panel); padding: .1em .3em; border-radius: 4px; }
@media (max-width: 700px) { .claims thead { display: none; } .claims tr { display: block; padding: .6rem 0;
  border-bottom: 1px solid var(--line); } .claims td { display: block; border: 0; padding: .1rem 0; }
  .scroll table:not(.claims) td:first-child { white-space: normal; min-width: 7rem; } }
@media print { body { max-width: none; } h2 { break-after: avoid; } figure, table { break-inside: avoid; } }
"""

PAPER = "Liu, Yu, Liu, Qiao, Feng and Feng, Hierarchic Neighbors Embedding, arXiv 1909.07142 (2019)"
VERDICT_CLASSES = {HOLDS: "holds", IN_PART: "part", FAILS: "fails", SHOWN: "shown"}
# So many names fit beside the numbers.
TOLD = 3
OURS = (*VARIANTS, CHART)


def write_page(sections: Sequence[Section], path: Path, command: str) -> None:
    """Write the page of these sections; it needs nothing but the pictures beside it."""
    with atomic_write(path) as temporary:
        temporary.write_text(page(sections, command), encoding="utf-8")


def page(sections: Sequence[Section], command: str) -> str:
    """The page as text; everything that is not ours is escaped."""
    links = " ".join(f'<a href="#{escape(one.name)}">{escape(one.title)}</a>' for one in sections)
    body = "\n".join(_section(one) for one in sections)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Hierarchic Neighbors Embedding, reproduced</title>
<style>{static_text("base.css")}{STYLE_SHEET}</style>
</head>
<body>
<main>
<h1>Hierarchic Neighbors Embedding, reproduced</h1>
<p>The experiments of {escape(PAPER)}, run again by <code>{escape(command)}</code>: what the paper says, what was
measured, and over how many data sets.</p>
<p>The error of an embedding is the share of a true coordinate that no affine map of it explains, 0 perfect and 1 lost,
mean over the coordinates; where something else is measured, the section says so. One version of HNE does better than a
baseline, or worse, if its error is smaller, or larger, by more than .01 on two thirds of the data sets, a failure
counting as the larger; most data sets are two thirds of them. A claim about baselines has a part for every version,
baseline and setting of k. A claim holds if all its parts do, in part if at least half of them, else not: "better" may
be better among failures, so look at how often a method is right.</p>
<p class="dim">LLE, MLLE, HLLE and LTSA are scikit-learn's. Its HLLE and LTSA leave a sample out of its own
neighborhood, so that one which is nobody's neighbor is free to go anywhere, and some embeddings go astray on that
alone; and on rolls its HLLE is its LTSA but for rounding, as it takes the whole complement of the tangent. CLLE (60 %
of the samples shared) and LLC (2 sqrt(n) local models, at most one for 2 (d + 1) samples) are those of
hne_paper.baselines with seed 0. The ridge reg is that of LLE, CLLE, LLC and HNE; MLLE's is fixed.</p>
<p class="dim">IHNE, RHNE and BHNE are the published method, <code>HNE(**hne.PUBLISHED)</code> with the variant, k and
reg of each experiment. Beside them stands {CHART}, which is not in the paper and counts in no claim or verdict:
<code>HNE(coordinates="chart")</code>, which cuts neighbor lines that seem to jump to another sheet of a surface, and
draws a chart in the units of the samples. Where all methods have one k, it has that k; where the others have the best
of several, and in the pictures of rolls, surfaces and clusters, it has its default k, which needs no
truth; its reg is always the default. Images are rebuilt by weights and not by coordinates, so that the last two
experiments are without it.</p>
<nav aria-label="Experiments">{links}</nav>
{_scoreboard(sections)}
<h2 id="claims">The claims of the paper</h2>
{_tally(sections)}
{_claims_table(sections, in_paper=True)}
<h2 id="further">Further questions</h2>
<p>Not in the paper, or its claims under other settings.</p>
{_claims_table(sections, in_paper=False)}
{body}
</main>
<footer><p>Made by hne {escape(__version__)} with {escape(_versions())}. Numbers of all runs are in
<code>numbers/*.csv</code> and, of every experiment, in <code>results</code>.</p></footer>
</body>
</html>
"""


def _tally(sections: Sequence[Section]) -> str:
    verdicts = [claim.verdict for section in sections for claim in section.claims if claim.in_paper]
    counts = [f"{verdicts.count(verdict)} {_plural(verdict)}" for verdict in (HOLDS, IN_PART, FAILS)]
    return f"<p>Of those that can be counted, {', '.join(counts)}.</p>"


def _plural(verdict: str) -> str:
    return {HOLDS: "hold", IN_PART: "hold in part", FAILS: "do not hold"}[verdict]


def _scoreboard(sections: Sequence[Section]) -> str:
    """How often each method is right, over all kinds of data."""
    found = [score for section in sections for score in section.scores]
    if not found:
        return ""
    methods = [method for method in ALL if any(method in score.right for score in found)]
    beside = [CHART] if any(CHART in score.right for score in found) else []
    rows = tuple(
        (
            f"{score.kind}, {score.setting}",
            str(score.n_seeds),
            *(str(score.right.get(one, "-")) for one in methods),
            _most_often(score),
            *(str(score.right.get(one, "-")) for one in beside),
        )
        for score in found
    )
    note = (
        "Right is an error below .05 of rolls, holes and surfaces, and below .5 of clusters. k = 6 and reg = 1e-4 "
        "are those of hne.PUBLISHED; the best k of each method is the one of its lowest median error, chosen "
        "with the truth known. A dash: the method cannot run."
    )
    if beside:
        note += (
            f" {CHART}, which is not in the paper, does not compete, and has its own k where others have their best."
        )
    table = Table(
        "On how many data sets a method is right",
        ("data, setting", "of", *methods, "most often", *beside),
        rows,
        note,
    )
    return f'<h2 id="scores">In short</h2>\n{_table(table)}'


def _most_often(score: Score) -> str:
    counts = {method: count for method, count in score.right.items() if method != CHART}
    most = max(counts.values())
    best = [method for method, count in counts.items() if count == most]
    return "none" if most == 0 else ", ".join(best) if len(best) <= TOLD else f"{len(best)} methods"


def _claims_table(sections: Sequence[Section], *, in_paper: bool) -> str:
    claims = [(section, claim) for section in sections for claim in section.claims if claim.in_paper == in_paper]
    rows = "\n".join(_claim_row(section, claim) for section, claim in claims)
    head = "<tr><th>Claim</th><th>Measured</th><th>Over</th><th>Verdict</th></tr>"
    return f'<div class="scroll"><table class="claims"><thead>{head}</thead><tbody>\n{rows}\n</tbody></table></div>'


def _claim_row(section: Section, claim: Claim) -> str:
    verdict = f'<a class="verdict {VERDICT_CLASSES[claim.verdict]}" href="#{escape(section.name)}">{claim.verdict}</a>'
    cells = [escape(claim.says), escape(claim.measured), escape(claim.seeds), verdict]
    return f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"


def _section(section: Section) -> str:
    parts = [f'<section aria-labelledby="{escape(section.name)}">']
    parts.append(f'<h2 id="{escape(section.name)}">{escape(section.title)}</h2>')
    parts.append(f"<p>{escape(section.text)}</p>")
    made_by = f" Made by <code>{escape(section.command)}</code>." if section.command else ""
    parts.append(f'<p class="dim">{escape(section.settings)}{made_by}</p>')
    parts += [_claim(claim) for claim in section.claims]
    parts += [_figure(picture) for picture in section.pictures]
    parts += [_table(table) for table in section.tables]
    return "\n".join([*parts, "</section>"])


def _claim(claim: Claim) -> str:
    verdict = (
        f'<span class="verdict {VERDICT_CLASSES[claim.verdict]}">{claim.verdict[0].upper()}{claim.verdict[1:]}</span>'
    )
    return (
        f"<p>{verdict}: {escape(claim.says)} <em>Measured over {escape(claim.seeds)}:</em> {escape(claim.measured)}</p>"
    )


def _figure(picture: Picture) -> str:
    file, caption = escape(picture.file), escape(picture.caption)
    image = f'<a href="{file}"><img src="{file}" alt="{caption}" loading="lazy"></a>'
    return f"<figure>{image}<figcaption>{caption}</figcaption></figure>"


def _table(table: Table) -> str:
    head = "".join(f"<th>{escape(cell)}</th>" for cell in table.header)
    rows = "\n".join(_row(row) for row in table.rows)
    note = f'<p class="note">{escape(table.note)}</p>' if table.note else ""
    return (
        f'<h3>{escape(table.title)}</h3>\n<div class="scroll"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>\n{rows}\n</tbody></table></div>\n{note}"
    )


def _row(row: Sequence[str]) -> str:
    kind = ' class="ours"' if row[0].startswith(OURS) else ""
    return f"<tr{kind}>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>"


def _versions() -> str:
    libraries = ", ".join(f"{name} {version(name)}" for name in ("numpy", "scipy", "scikit-learn"))
    return f"{libraries} and Python {platform.python_version()}"
