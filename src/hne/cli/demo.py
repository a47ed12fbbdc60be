"""`hne demo`: unroll a sparse Swiss roll with LLE, the three variants and HNE by default, and show who manages."""

import argparse
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hne.cli.arguments import at_least

if TYPE_CHECKING:
    from hne.core.records import FloatArray
    from hne.datasets import Dataset

# The paper's sparse-data experiment; reg from the study of this roll.
N_SAMPLES, N_NEIGHBORS, REG = 300, 5, 1e-4
# One roll of 300 samples proves little: luck decides how near its turns come. The table has a median too.
N_ROLLS = 10


def add_to(commands: Any) -> None:
    """Add the command to the parser."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "demo",
        help="unroll a sparse Swiss roll and compare with LLE",
        description="Unroll a Swiss roll of 300 samples with LLE, the three variants of HNE as published, and HNE by "
        "default. Prints the affine errors to the true strip (0 perfect, 1 lost) and writes demo.png, demo.csv and "
        "demo.html, the report of HNE.",
    )
    parser.add_argument(
        "-o", "--output", type=Path, default=Path(), metavar="DIR", help="folder to write to, made if missing [.]"
    )
    parser.add_argument("--seed", type=at_least(0), default=0, help="another roll of the same kind [0]")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Embed, print the table, write the coordinates, the report and the picture."""
    from hne._runtime.files import make_folder
    from hne.datasets import make_swiss_roll

    make_folder(options.output)
    rolls = [make_swiss_roll(N_SAMPLES, even=True, random_state=options.seed + more) for more in range(N_ROLLS)]
    print(f"{rolls[0].name}, k = {N_NEIGHBORS}, reg = {REG:g}; HNE by its defaults", file=sys.stderr)
    embeddings = _embeddings(rolls[0])
    errors = {method: [_errors(Y, rolls[0])] for method, Y in embeddings.items()}
    for roll in rolls[1:]:
        for method, Y in _embeddings(roll).items():
            errors[method].append(_errors(Y, roll))
    _print_table(errors)
    _write_csv(options.output / "demo.csv", embeddings, rolls[0])
    _write_report(options.output / "demo.html", rolls[0])
    _write_picture(options.output / "demo.png", embeddings, rolls[0])


def _embeddings(roll: "Dataset") -> dict[str, "FloatArray"]:
    from sklearn.manifold import LocallyLinearEmbedding

    from hne import PUBLISHED, embed
    from hne.core.records import VARIANTS
    from hne.exceptions import UntrustworthyWarning

    lle = LocallyLinearEmbedding(n_neighbors=N_NEIGHBORS, reg=REG, eigen_solver="dense")
    embeddings = {"LLE": lle.fit(roll.X).embedding_}
    with warnings.catch_warnings():
        # The table tells the truth about each; the page has the verdict.
        warnings.simplefilter("ignore", UntrustworthyWarning)
        for variant in VARIANTS:
            settings = {**PUBLISHED, "n_neighbors": N_NEIGHBORS, "reg": REG, "variant": variant}
            embeddings[variant.upper()] = embed(roll.X, **settings).Y
        embeddings["HNE"] = embed(roll.X).Y
    return embeddings


def _errors(Y: "FloatArray", roll: "Dataset") -> "FloatArray":
    from hne.metrics import affine_errors

    return affine_errors(Y, roll.chart)


def _print_table(errors: dict[str, list["FloatArray"]]) -> None:
    from statistics import median

    print("affine error to the true strip: 0 unrolled, 1 lost")
    print(f"method  arc length  height    mean   median of {N_ROLLS} rolls")
    for method, of_rolls in errors.items():
        length, height = of_rolls[0]
        middle = median(float(one.mean()) for one in of_rolls)
        print(f"{method:<7}{length:>11.3f}{height:>8.3f}{(length + height) / 2:>8.3f}{middle:>11.3f}")


def _write_csv(path: Path, embeddings: dict[str, "FloatArray"], roll: "Dataset") -> None:
    import numpy as np

    from hne._runtime.files import atomic_write

    names = ["x", "y", "z", "arc_length", "height"]
    names += [f"{method.lower()}_{axis}" for method in embeddings for axis in (1, 2)]
    table = np.column_stack([roll.X, roll.chart, *embeddings.values()])
    with atomic_write(path) as temporary:
        np.savetxt(temporary, table, delimiter=",", header=",".join(names), comments="", fmt="%.10g")
    print(f"wrote {path}", file=sys.stderr)


def _write_report(path: Path, roll: "Dataset") -> None:
    from hne import HNE

    columns = {"arc length": roll.chart[:, 0], "height": roll.chart[:, 1]}
    columns |= {name: roll.X[:, axis] for axis, name in enumerate("xyz")}
    HNE().fit(roll.X).report(path, color="arc length", columns=columns, title=f"{roll.name}, unrolled by HNE")
    print(f"wrote {path}", file=sys.stderr)


def _write_picture(path: Path, embeddings: dict[str, "FloatArray"], roll: "Dataset") -> None:
    from hne._runtime.files import atomic_write
    from hne.core.neighbors.graph import knn_graph
    from hne.viz import plots

    plt = plots.pyplot()
    colors = plots.position_colors(roll.chart)
    links = knn_graph(roll.X, N_NEIGHBORS).indices
    figure = plt.figure(figsize=(11.5, 6.4), layout="constrained")
    grid = figure.add_gridspec(len(embeddings), 2)
    space = figure.add_subplot(grid[:, 0], projection="3d")
    plots.space_panel(space, roll.X, colors, title=f"{N_SAMPLES} samples of a Swiss roll")
    for position, (method, Y) in enumerate(embeddings.items()):
        axes = figure.add_subplot(grid[position, 1])
        title = f"{method}, affine error {_errors(Y, roll).mean():.3f}"
        plots.embedding_panel(axes, plots.oriented(Y, roll.chart), colors, links, title)
    with atomic_write(path) as temporary:
        figure.savefig(temporary, dpi=110)
    plt.close(figure)
    print(f"wrote {path}", file=sys.stderr)
