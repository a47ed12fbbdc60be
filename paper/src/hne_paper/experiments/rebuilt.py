"""Figure "rebuilt images": an image, what each method rebuilds of it, and a bar for the error."""

from typing import Any

import numpy as np
from scipy.sparse import csr_array

from hne.core.records import FloatArray
from hne.datasets import Dataset
from hne.viz import plots
from hne_paper.experiments._cells import Cell, Store
from hne_paper.experiments._images import Images, find_faces, find_teapots
from hne_paper.experiments._methods import ONE_LAYER, REBUILDERS, VARIANTS, rebuilding_weights
from hne_paper.experiments._pictures import BASELINE_COLOR, METHOD_COLORS, save
from hne_paper.experiments._records import SHOWN, Claim, Options, Picture, Section

TITLE = "Rebuilt images"
TEXT = (
    "An image, and what the weights of each method rebuild of it from its neighbors. Below, the same with the image "
    "left out of its own outer layer. The bar under each image is its error, on one scale for a sample."
)
N_SHOWN = 2

Row = tuple[list[int], list[float]]  # columns and values of a row of weights


def run(options: Options, store: Store) -> Section:
    """Rebuild some images of each family."""
    pictures, claims, used = [], [], []
    for images, k in ((find_faces(options), 6), (find_teapots(options), 4)):
        data = images.load()
        shown = tuple(
            int(row) for row in np.linspace(0, len(data), N_SHOWN, endpoint=False) + len(data) // (2 * N_SHOWN)
        )
        cells = [
            Cell(f"{images.name} {method} k={k} {itself}", rebuilding_rows, (images, method, k, itself, shown))
            for method in REBUILDERS
            for itself in ((True,) if method in ONE_LAYER else (True, False))
        ]
        found = dict(zip([cell.arguments[1:4:2] for cell in cells], store.measured(images.family, cells), strict=True))
        rebuilt = {key: _rebuilt(data, rows) for key, rows in found.items()}
        figure = _picture(images, rebuilt, shown)
        caption = (
            f"{images.title}, k = {k}: rebuilt by each method, and in the second row of each sample with it left out "
            "of its own outer layer. Numbers are lengths of the difference, bars the same on one scale for a sample."
        )
        pictures.append(Picture(save(figure, options.output, f"rebuilt-{images.family}"), caption))
        used.append(images.words)
        claims.append(_claim(images, rebuilt, shown, k))
    words = f"{N_SHOWN} images of each family, evenly from its beginning to its end. {' '.join(used)}"
    return Section(
        name="rebuilt",
        title=TITLE,
        text=TEXT,
        claims=tuple(claims),
        pictures=tuple(pictures),
        settings=words,
    )


def rebuilding_rows(images: Images, method: str, k: int, include_self: bool, rows: tuple[int, ...]) -> list[Row]:
    """Weights that rebuild these samples."""
    weights = rebuilding_weights(method, images.coordinates(), k, include_self=include_self)
    found = [weights[[row]].tocoo() for row in rows]
    return [(one.col.tolist(), one.data.tolist()) for one in found]


def _rebuilt(data: Dataset, rows: list[Row]) -> FloatArray:
    columns, values = zip(*rows, strict=True)
    starts = np.cumsum([0, *map(len, columns)])
    weights = csr_array((np.concatenate(values), np.concatenate(columns), starts), shape=(len(rows), len(data)))
    images: FloatArray = weights @ data.X
    return images


def _error(images: Images, image: FloatArray, row: int) -> float:
    """Length of the difference, in lengths of full-size images."""
    return images.scale * float(np.linalg.norm(image - images.load().X[row]))


def _claim(images: Images, rebuilt: dict[tuple[str, bool], FloatArray], shown: tuple[int, ...], k: int) -> Claim:
    errors = {
        key: np.mean([_error(images, image, row) for image, row in zip(found, shown, strict=True)])
        for key, found in rebuilt.items()
    }
    told = ", ".join(f"{method} {errors[method, True]:.2f}" for method in REBUILDERS)
    alone = ", ".join(f"{variant} {errors[variant, False]:.2f}" for variant in VARIANTS)
    return Claim(
        f"Images rebuilt by HNE can hardly be told from the originals, those of LLE and MLLE can ({images.title}, k = "
        f"{k}).",
        f"Mean error of the images shown: {told}. With the image left out of its own outer layer: {alone}.",
        SHOWN,
        f"{len(shown)} images",
    )


def _picture(images: Images, rebuilt: dict[tuple[str, bool], FloatArray], shown: tuple[int, ...]) -> Any:
    data = images.load()
    shape = data.image_shape or ()
    width = 1.62 * shape[1] / shape[0]
    figure, grid = plots.pyplot().subplots(
        2 * len(shown),
        1 + len(REBUILDERS),
        figsize=((1 + len(REBUILDERS)) * width, 2 * len(shown) * 2.0),
        layout="constrained",
    )
    for number, row in enumerate(shown):
        largest = max(_error(images, found[number], row) for found in rebuilt.values())
        for itself, line in ((True, grid[2 * number]), (False, grid[2 * number + 1])):
            if itself:
                _show(line[0], data.X[row].reshape(shape), "original" if number == 0 else "", "")
            else:
                line[0].axis("off")
                line[0].text(
                    0.5, 0.5, "left out of its\nown outer layer", ha="center", va="center", fontsize=9, color="#5f6368"
                )
            for axes, method in zip(line[1:], REBUILDERS, strict=True):
                if (method, itself) not in rebuilt:
                    axes.axis("off")
                    continue
                image = rebuilt[method, itself][number]
                error = _error(images, image, row)
                _show(
                    axes, np.clip(image, 0, 1).reshape(shape), method if number == 0 and itself else "", f"{error:.2f}"
                )
                _bar(axes, error / largest, METHOD_COLORS.get(method, BASELINE_COLOR))
    return figure


def _show(axes: Any, image: FloatArray, title: str, label: str) -> None:
    axes.imshow(image, cmap="gray", vmin=0, vmax=1)
    axes.set_title(title, fontsize=11)
    axes.set_xlabel(label, fontsize=9, loc="right", labelpad=2)
    axes.set_xticks([])
    axes.set_yticks([])


def _bar(axes: Any, share: float, color: str) -> None:
    """A bar below the image, as long as the error is large."""
    axes.plot([0, 0.72 * share], [-0.06, -0.06], transform=axes.transAxes, color=color, linewidth=5, clip_on=False)
