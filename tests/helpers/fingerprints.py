"""Fingerprints of embeddings: tells whether a change of the code moved a bit of any result.

    python tests/helpers/fingerprints.py --write before.json
    python tests/helpers/fingerprints.py --check before.json

Arrays are hashed, texts are kept. Bits are the same on one machine with one version of its libraries: a file of
fingerprints is no golden file, it compares two states of the code. Only public names are used.
"""

import argparse
import hashlib
import inspect
import json
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse
from scipy.spatial.distance import cdist
from sklearn.datasets import load_digits
from sklearn.neighbors import NearestNeighbors, kneighbors_graph

from hne import HNE, PUBLISHED, LinearHNE, embed, metrics, scale
from hne.datasets import make_clusters, make_s_curve, make_swiss_hole, make_swiss_roll, make_two_surfaces

Parts = dict[str, str]
# Attributes of a fitted model whose bits are compared, where it has them.
ARRAYS = {
    "Y": "embedding_",
    "W": "inner_weights_",
    "J": "joint_weights_",
    "eigenvalues": "eigenvalues_",
    "errors": "reconstruction_errors_",
    "short circuits": "short_circuits_",
    "pieces": "piece_labels_",
    "components": "components_",
    "loadings": "loadings_",
}
CHOICES = ("coordinates_", "n_neighbors_", "variant_", "reg_", "eigen_solver_", "neighbor_method_")
CASES: dict[str, Callable[[], Parts]] = {}


def case(name: str) -> Callable[[Callable[[], Parts]], Callable[[], Parts]]:
    """Register a function as the case of that name."""

    def registered(function: Callable[[], Parts]) -> Callable[[], Parts]:
        CASES[name] = function
        return function

    return registered


def fingerprint(array: Any) -> str:
    """SHA-256 of kind, shape and bytes; of a sparse matrix, of its data and its indices as int64."""
    if issparse(array):
        matrix = csr_array(array)
        pieces = [matrix.data, matrix.indices.astype(np.int64), matrix.indptr.astype(np.int64)]
    else:
        array = np.asarray(array)
        pieces = [array.astype(np.int64) if array.dtype.kind == "i" else array]
    digest = hashlib.sha256()
    for piece in pieces:
        digest.update(f"{piece.dtype} {piece.shape}".encode())
        digest.update(np.ascontiguousarray(piece).tobytes())
    return digest.hexdigest()


def first_attribute(thing: Any, *names: str) -> Any:
    """The first of these attributes that there is: names that change."""
    return next(getattr(thing, name) for name in names if hasattr(thing, name))


def of_model(model: Any) -> Parts:
    """Parts of a fitted HNE or LinearHNE."""
    parts = {part: fingerprint(getattr(model, name)) for part, name in ARRAYS.items() if hasattr(model, name)}
    choices = (f"{name}={getattr(model, name)}" for name in CHOICES if hasattr(model, name))
    parts["choices"] = " ".join(choices)
    if isinstance(model, HNE):
        parts["level"] = first_attribute(model, "trust_", "assessment_").level
        parts["verdict"] = model.verdict_
    return parts


def of_record(record: Any) -> Parts:
    """Parts of what `embed` returns."""
    arrays = {"Y": record.Y, "W": record.weights.W, "J": record.weights.J, "eigenvalues": record.eigenpairs.values}
    trust = first_attribute(record, "trust", "assessment")
    return {part: fingerprint(array) for part, array in arrays.items()} | {
        "level": trust.level,
        "verdict": trust.verdict,
    }


def fitted(X: Any, **parameters: Any) -> Parts:
    """Parts of HNE with these parameters."""
    return of_model(HNE(**parameters).fit(X))


def roll(n_samples: int = 400) -> Any:
    """A Swiss roll that can be unrolled."""
    return make_swiss_roll(n_samples, even=True, random_state=3).X


def digits(n_samples: int = 300) -> Any:
    """Images of handwritten digits, far from any surface."""
    return load_digits().data[:n_samples]


def blobs() -> Any:
    """Four clouds of 90, 60, 40 and 3 samples, far apart: a graph in pieces."""
    generator = np.random.default_rng(5)
    return np.vstack(
        [generator.normal(size=(size, 3)) + 40 * place for place, size in enumerate((90, 60, 40, 3), start=1)]
    )


@case("defaults near a surface")
def _() -> Parts:
    return fitted(roll())


for _variant in ("bhne", "ihne", "rhne"):
    CASES[f"variant {_variant}"] = lambda variant=_variant: fitted(
        make_swiss_hole(350, random_state=1).X, variant=variant, n_neighbors=7, n_rounds=2
    )


@case("published")
def _() -> Parts:
    return fitted(make_s_curve(300, random_state=2).X, **PUBLISHED)


@case("defaults, Gaussian in eight dimensions")
def _() -> Parts:
    return fitted(np.random.default_rng(0).normal(size=(300, 8)))


@case("defaults, digits")
def _() -> Parts:
    return fitted(digits())


@case("defaults, clusters on a string")
def _() -> Parts:
    return fitted(make_clusters(300, random_state=1).X)


@case("defaults, two surfaces")
def _() -> Parts:
    return fitted(make_two_surfaces(150, random_state=1).X)


@case("sparse samples")
def _() -> Parts:
    return fitted(csr_array(np.where(digits() > 4, digits(), 0.0)), n_neighbors=6)


@case("distances, full")
def _() -> Parts:
    X = make_s_curve(250, random_state=4).X
    return fitted(cdist(X, X), metric="precomputed")


@case("distances, sparse graph")
def _() -> Parts:
    X = make_s_curve(300, random_state=4).X
    return fitted(kneighbors_graph(X, 240, mode="distance"), metric="precomputed", n_neighbors=6)


@case("given neighbors")
def _() -> Parts:
    X = roll(300)
    distances, indices = NearestNeighbors(n_neighbors=9).fit(X).kneighbors()
    return fitted(X, neighbors=(indices, distances))


@case("cosine")
def _() -> Parts:
    return fitted(digits(250), metric="cosine")


@case("manhattan, few neighbors")
def _() -> Parts:
    return fitted(roll(300), metric="manhattan", n_neighbors=8)


@case("duplicates and constant columns")
def _() -> Parts:
    X = roll(250)
    X = np.vstack([X, X[40:90], X[40:60]])
    return fitted(np.column_stack([X, np.full(len(X), 7.0), np.zeros(len(X))]))


for _pieces in ("separate", "join", "largest"):
    CASES[f"pieces {_pieces}"] = lambda pieces=_pieces: fitted(blobs(), pieces=pieces, n_neighbors=6)


@case("landmarks")
def _() -> Parts:
    return fitted(roll(3000), n_landmarks=300)


for _coordinates in ("layout", "eigenvectors"):
    CASES[f"coordinates {_coordinates}"] = lambda coordinates=_coordinates: fitted(roll(), coordinates=coordinates)


for _solver in ("dense", "direct", "iterative"):
    CASES[f"solver {_solver}"] = lambda solver=_solver: fitted(
        roll(700), eigen_solver=solver, n_neighbors=8, coordinates="eigenvectors"
    )


@case("solver iterative, digits")
def _() -> Parts:
    return fitted(digits(600), eigen_solver="iterative")


@case("compiled kernel, 6500 samples")
def _() -> Parts:
    return fitted(roll(6500), n_neighbors=8, variant="bhne")


@case("large factors, 3000 samples in four dimensions")
def _() -> Parts:
    X = np.random.default_rng(0).uniform(size=(3000, 4))
    return fitted(X, n_neighbors=14, variant="rhne", eigen_solver="direct", coordinates="eigenvectors", reg=1e-2)


@case("long rows, solver iterative")
def _() -> Parts:
    X = np.random.default_rng(0).normal(size=(900, 9))
    return fitted(X, n_neighbors=14, variant="bhne", eigen_solver="iterative", coordinates="eigenvectors")


@case("approximate neighbors")
def _() -> Parts:
    X = np.random.default_rng(2).normal(size=(5200, 3)) @ np.random.default_rng(3).normal(size=(3, 20))
    return fitted(X, neighbors="approximate", n_neighbors=6, coordinates="eigenvectors")


@case("nine samples, one coordinate")
def _() -> Parts:
    return fitted(np.outer(np.arange(9.0) ** 2, [3.0, 4.0]), n_neighbors=2, n_components=1)


@case("kept circuits, own ridges, without self")
def _() -> Parts:
    return fitted(
        make_swiss_roll(300, random_state=6).X,
        short_circuits="keep",
        reg=1e-3,
        outer_reg=1e-4,
        gamma=2.0,
        include_self=False,
        n_neighbors=10,
    )


@case("checkpoint, and again from it")
def _() -> Parts:
    with tempfile.TemporaryDirectory() as folder:
        first = of_record(embed(roll(500), checkpoint=Path(folder) / "kept"))
        second = of_record(embed(roll(500), checkpoint=Path(folder) / "kept"))
        other = of_record(embed(roll(500), checkpoint=Path(folder) / "kept", reg=1e-3))
    again = {f"{part} again": value for part, value in second.items()}
    return first | again | {f"{part} of another reg": value for part, value in other.items()}


@case("workers of Dask")
def _() -> Parts:
    import dask.array as da
    from distributed import Client, LocalCluster

    names = inspect.signature(HNE).parameters
    name = "executor" if "executor" in names else "engine"
    settings = {"n_workers": 2, "threads_per_worker": 1, "processes": False, "dashboard_address": None}
    with LocalCluster(**settings) as cluster, Client(cluster) as client:
        place = {name: first_attribute(scale, "DaskExecutor", "DaskEngine")(client)}
        sent = of_record(embed(roll(500), **place))
        read = of_record(embed(da.from_array(roll(500), chunks=(170, 2)), **place))
    return sent | {f"{part} of an array of Dask": value for part, value in read.items()}


@case("auto")
def _() -> Parts:
    return fitted(make_s_curve(300, random_state=5).X, n_neighbors="auto", n_components="auto")


@case("auto of all, digits")
def _() -> Parts:
    return fitted(digits(), n_neighbors="auto", variant="auto", reg="auto")


@case("linear")
def _() -> Parts:
    return of_model(LinearHNE().fit(digits()))


@case("linear, orthonormal")
def _() -> Parts:
    return of_model(LinearHNE(constraint="orthonormal", n_components=3, n_neighbors=8).fit(digits()))


@case("new samples, and back")
def _() -> Parts:
    X = roll(500)
    model = HNE(n_neighbors=9, variant="rhne").fit(X[:400])
    placed = model.transform(X[400:])
    arrays = {"placed": placed, "lifted": model.inverse_transform(placed), "rebuilt": model.reconstruct()}
    return {part: fingerprint(array) for part, array in arrays.items()}


@case("new samples, sparse and by distances")
def _() -> Parts:
    X, S = make_s_curve(300, random_state=8).X, csr_array(digits())
    distances = HNE(metric="precomputed").fit(cdist(X[:250], X[:250])).transform(cdist(X[250:], X[:250]))
    pieces = HNE(pieces="largest", n_neighbors=6).fit(blobs()).transform(blobs() + 0.1)
    sparse = HNE().fit(S[:250]).transform(S[250:])
    arrays = {"by distances": distances, "pieces": pieces, "sparse": sparse}
    return {part: fingerprint(array) for part, array in arrays.items()}


@case("measures")
def _() -> Parts:
    data = make_swiss_roll(350, even=True, random_state=3)
    Y = HNE().fit_transform(data.X)
    measures = ("trustworthiness", "continuity", "neighborhood_preservation", "residual_variance")
    values = {name: getattr(metrics, name)(data.X, Y) for name in (*measures, "geodesic_rank_correlation")}
    values["tangent loss"] = metrics.tangent_score(data.X, Y).tangent_loss
    values["dimension by likelihood"] = metrics.intrinsic_dimension(data.X).by_likelihood
    return {name: repr(float(value)) for name, value in values.items()}


@case("three coordinates")
def _() -> Parts:
    return fitted(np.random.default_rng(1).uniform(size=(350, 5)) @ np.eye(5, 9), n_components=3)


@case("float32")
def _() -> Parts:
    return fitted(roll().astype(np.float32))


@case("saved and loaded")
def _() -> Parts:
    with tempfile.TemporaryDirectory() as folder:
        HNE(n_neighbors=8).fit(roll()).save(Path(folder) / "model.hne")
        loaded = HNE.load(Path(folder) / "model.hne")
    return of_model(loaded) | {"placed": fingerprint(loaded.transform(roll() + 0.01))}


def fingerprints(pattern: str = "") -> dict[str, Parts]:
    """Parts of every case whose name has the pattern in it; a line of each is printed."""
    results = {}
    for name, compute in CASES.items():
        if pattern not in name or ("Dask" in name and find_spec("distributed") is None):
            continue
        start = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                results[name] = compute()
            except Exception as error:  # noqa: BLE001
                results[name] = {"error": f"{type(error).__name__}: {error}"}
        whole = hashlib.sha256(json.dumps(results[name], sort_keys=True).encode()).hexdigest()
        print(f"{whole[:16]}  {time.process_time() - start:5.1f} s  {name}", flush=True)
    return results


def differences(before: dict[str, Parts], after: dict[str, Parts]) -> list[str]:
    """A line for each part of a case that is not as it was, of the cases that ran."""
    lines = [f"{name}: not in the file" for name in after.keys() - before.keys()]
    for name in after.keys() & before.keys():
        if "error" in after[name]:
            continue
        for part in sorted(before[name].keys() | after[name].keys()):
            then, now = before[name].get(part, "nothing"), after[name].get(part, "nothing")
            if then != now:
                lines.append(f"{name}: {part} differs\n    was {then}\n    is  {now}")
    return sorted(lines)


def main() -> int:
    """Compute, and write or compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    target = parser.add_mutually_exclusive_group()
    target.add_argument("--write", metavar="FILE", type=Path)
    target.add_argument("--check", metavar="FILE", type=Path)
    parser.add_argument("--only", metavar="TEXT", default="", help="cases with this text in their name")
    arguments = parser.parse_args()
    results = fingerprints(arguments.only)
    failed = [f"{name}: {parts['error']}" for name, parts in results.items() if "error" in parts]
    if arguments.check:
        failed += differences(json.loads(arguments.check.read_text()), results)
    if arguments.write and not failed:
        arguments.write.write_text(json.dumps(results, indent=1) + "\n")
    print("\n".join(failed) or f"{len(results)} cases" + (", all as they were" if arguments.check else ""))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
