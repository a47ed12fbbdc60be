"""The paper's tables: how well each method rebuilds images from their neighbors, for five k."""

from collections.abc import Mapping
from typing import Any

from hne.metrics import reconstruction_errors
from hne_paper.experiments._cells import Cell, Store
from hne_paper.experiments._images import Images, find_faces, find_teapots
from hne_paper.experiments._methods import ONE_LAYER, REBUILDERS, VARIANTS, rebuilding_weights
from hne_paper.experiments._records import SHOWN, Claim, Options, Section, Table
from hne_paper.experiments._summaries import verdict_of

TITLE = "Reconstruction errors"
TEXT = (
    "Mean length of the difference between an image and the one rebuilt by a method's weights, pixels in [0, 1]. The "
    "outer layer of a sample nearly always contains the sample itself, which then helps to rebuild itself: the paper "
    "keeps it, and errors with the sample left out of its own outer layer stand beside."
)
FACES_NEIGHBORS, TEAPOTS_NEIGHBORS = (4, 6, 8, 10, 12), (4, 5, 6, 7, 8)
# ALGORITHM section 5, the paper's own numbers.
PAPER_FACES = {
    "LLE": (3.0342, 2.7045, 2.5117, 2.3844, 2.3011),
    "MLLE": (3.0350, 2.7084, 2.5199, 2.3988, 2.3237),
    "IHNE": (1.1309, 0.9391, 0.8445, 0.7450, 0.7180),
    "RHNE": (0.0753, 0.0391, 0.0424, 0.0586, 0.0760),
    "BHNE": (1.3072, 1.2344, 1.1486, 1.0611, 0.9734),
}
PAPER_TEAPOTS = {
    "LLE": (1.2078, 1.1750, 1.1472, 1.1401, 1.1332),
    "MLLE": (1.2089, 1.1823, 1.1664, 1.1756, 1.1872),
    "IHNE": (0.0120, 0.0756, 0.0094, 0.0512, 0.0187),
    "RHNE": (0.0181, 0.0294, 0.0383, 0.0543, 0.0624),
    "BHNE": (0.6780, 0.8739, 1.0357, 0.8784, 0.6527),
}
PAPER_IMAGES = {"faces": 698, "teapots": 400}
# How near the paper's numbers count as equal: errors of RHNE are tiny, and the faces at hand may be halved.
CLOSE, CLOSE_RHNE = 0.10, 0.15
WITH, WITHOUT = "with itself", "left out"

Errors = dict[str, dict[str, tuple[float, ...]]]  # method, WITH or WITHOUT, by k


def run(options: Options, store: Store) -> Section:
    """Both tables, beside the paper's."""
    parts = []
    for images, neighbors, paper, title in (
        (find_faces(options), FACES_NEIGHBORS, PAPER_FACES, "Table 1"),
        (find_teapots(options), TEAPOTS_NEIGHBORS, PAPER_TEAPOTS, "Table 2"),
    ):
        errors = measured_errors(store, images, neighbors)
        is_paper = images.is_original and len(images.load()) == PAPER_IMAGES[images.family]
        parts.append((images, is_paper, errors, neighbors, paper, title))
    tables = tuple(_table(*part) for part in parts)
    claims = tuple(claim for images, _, errors, neighbors, *_ in parts for claim in _claims(images, errors, neighbors))
    agreement = tuple(
        _agreement(images, errors, paper) if same else _no_agreement(images, title)
        for images, same, errors, _, paper, title in parts
    )
    words = " ".join(images.words for images, *_ in parts)
    return Section(
        name="tables",
        title=TITLE,
        text=TEXT,
        claims=(*agreement, *claims),
        tables=tables,
        settings=words,
    )


def measured_errors(store: Store, images: Images, neighbors: tuple[int, ...]) -> Errors:
    """Mean errors of all methods at all k, in lengths of the full-size images."""
    cells = [Cell(f"{images.name} errors k={k}", mean_errors, (images, k)) for k in neighbors]
    found = store.measured(f"{images.family} errors", cells)
    return {
        method: {kind: tuple(images.scale * one[method][kind] for one in found) for kind in (WITH, WITHOUT)}
        for method in REBUILDERS
    }


def mean_errors(images: Images, k: int) -> dict[str, dict[str, float]]:
    """Mean length of x - rebuilt x, with and without samples in their own outer layers."""
    X = images.coordinates()
    errors = {}
    for method in REBUILDERS:
        of_kind = {
            kind: float(reconstruction_errors(X, rebuilding_weights(method, X, k, include_self=kind == WITH)).mean())
            for kind in ((WITH,) if method in ONE_LAYER else (WITH, WITHOUT))
        }
        # One layer never has the sample itself.
        errors[method] = {WITHOUT: of_kind[WITH], **of_kind}
    return errors


def _table(
    images: Images, is_paper: bool, errors: Errors, neighbors: tuple[int, ...], paper: dict[str, Any], title: str
) -> Table:
    rows = []
    for method in REBUILDERS:
        ours = errors[method][WITH]
        rows.append((f"{method}, paper", *(f"{value:.4f}" for value in paper[method])))
        rows.append((f"{method}, measured", *(f"{value:.4f}" for value in ours)))
        if is_paper:
            rows.append(
                (
                    f"{method}, difference",
                    *(f"{100 * (a / b - 1):+.1f} %" for a, b in zip(ours, paper[method], strict=True)),
                )
            )
        if method in VARIANTS:
            rows.append((f"{method}, sample left out", *(f"{value:.4f}" for value in errors[method][WITHOUT])))
    note = images.words
    if not is_paper:
        note += f" The paper's numbers are of {PAPER_IMAGES[images.family]} original images: only their order compares."
    return Table(f"{title}: {images.title}", ("", *(f"k = {k}" for k in neighbors)), tuple(rows), note)


def _agreement(images: Images, errors: Errors, paper: Mapping[str, tuple[float, ...]]) -> Claim:
    largest = {
        method: max(abs(a / b - 1) for a, b in zip(errors[method][WITH], paper[method], strict=True))
        for method in REBUILDERS
    }
    told = ", ".join(f"{method} {100 * difference:.1f} %" for method, difference in largest.items())
    near = [difference <= (CLOSE_RHNE if method == "RHNE" else CLOSE) for method, difference in largest.items()]
    return Claim(
        f"The paper's table of reconstruction errors, within {CLOSE:.0%}, RHNE's tiny ones within {CLOSE_RHNE:.0%} "
        f"({images.title}).",
        f"Largest difference from the paper over {len(paper['LLE'])} k: {told}.",
        verdict_of(near),
        f"{len(images.load())} images",
    )


def _no_agreement(images: Images, title: str) -> Claim:
    return Claim(
        f"The paper's {title.lower()} of reconstruction errors.",
        f"Not comparable: the paper has {PAPER_IMAGES[images.family]} original images, here are {images.title}.",
        SHOWN,
        f"{len(images.load())} images",
    )


def _claims(images: Images, errors: Errors, neighbors: tuple[int, ...]) -> tuple[Claim, Claim]:
    """That HNE rebuilds better than LLE and MLLE: as the paper measures it, and with samples left out."""
    seeds = f"{len(images.load())} images, {len(neighbors)} k"
    return (
        Claim(
            "HNE rebuilds images with smaller errors than LLE and MLLE, if samples may help to rebuild themselves, "
            f"as in the paper ({images.title}).",
            f"As the paper counts, errors at k = {neighbors[0]} and {neighbors[-1]}: {_told(errors, WITH)}.",
            verdict_of(_smaller(errors, WITH)),
            seeds,
        ),
        Claim(
            f"The same with a sample left out of its own outer layer ({images.title}).",
            f"{_plain_words(errors)} Errors at k = {neighbors[0]} and {neighbors[-1]}: {_told(errors, WITHOUT)}.",
            verdict_of(_smaller(errors, WITHOUT)),
            seeds,
            in_paper=False,
        ),
    )


def _smaller(errors: Errors, kind: str) -> list[bool]:
    return [
        ours < theirs
        for variant in VARIANTS
        for baseline in ("LLE", "MLLE")
        for ours, theirs in zip(errors[variant][kind], errors[baseline][kind], strict=True)
    ]


def _plain_words(errors: Errors) -> str:
    """What is left of each variant's gain over LLE without the sample itself, over all k."""
    return f"{'; '.join(_kept_gain(errors, variant) for variant in VARIANTS)}."


def _kept_gain(errors: Errors, variant: str) -> str:
    rows = zip(errors["LLE"][WITH], errors[variant][WITH], errors[variant][WITHOUT], strict=True)
    kept = [(lle - without) / (lle - itself) for lle, itself, without in rows if itself < lle]
    if not kept:
        return f"{variant} has no gain over LLE to lose"
    low, high = (round(100 * share) for share in (min(kept), max(kept)))
    if high <= 0:
        return f"{variant} keeps nothing of its gain over LLE and is worse"
    range_of = f"{high} %" if low == high else f"{max(low, 0)} to {high} %"
    return f"{variant} keeps {range_of} of its gain over LLE{', at some k nothing' if low < 0 else ''}"


def _told(errors: Errors, kind: str) -> str:
    return "; ".join(f"{method} {of_kind[kind][0]:.2f}, {of_kind[kind][-1]:.2f}" for method, of_kind in errors.items())
