"""A kind, a seed and a number -> Case: samples and parameters, the same for the same numbers on every machine."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tests.fuzz import dress, parameters
from tests.fuzz.clouds import CLOUDS, gaussian

# Share of cases with hundreds of samples.
LARGE = 0.03
CALM = ("Gaussian", "rolled band", "lattice with repeats", "far pieces", "copies")
WAYS = {
    "number types": dress.in_numbers,
    "other types": dress.of_other_kind,
    "memory": dress.in_memory,
    "containers": dress.in_container,
    "sparse": dress.sparse_of,
}
KINDS = (
    *CLOUDS,
    *WAYS,
    "shapes",
    "parameters",
    "metrics",
    "precomputed",
    "precomputed sparse",
    "neighbors given",
)


@dataclass(frozen=True)
class Case:
    """One input: what is fitted, and with which parameters."""

    kind: str
    X: Any
    parameters: dict[str, Any]
    constraint: str  # of the linear map of the same samples
    rng: np.random.Generator = field(repr=False)  # for what is made of the fitted model

    def __str__(self) -> str:
        shape = getattr(self.X, "shape", "")
        return f"{self.kind}: {type(self.X).__name__} {getattr(self.X, 'dtype', '')}{shape}, {self.parameters}"


def make_case(kind: str, seed: int, number: int = 0, *, small: bool = False) -> Case:
    """Make the case of that kind and these numbers; a small one takes a tenth of a second or less."""
    rng = np.random.default_rng([seed, number])
    n, n_features = (int(rng.integers(1, 25)), int(rng.integers(1, 6))) if small else _size(rng)
    if kind == "shapes":
        n, n_features = int(rng.integers(8)), int(rng.choice([0, 1, 2, 5, 100]))
    elif kind in {"parameters", "metrics"}:
        n = min(n, 60)
    with np.errstate(all="ignore"):
        cloud = CLOUDS.get(kind) or (gaussian if kind == "shapes" else CLOUDS[rng.choice(CALM)])
        X = np.ascontiguousarray(cloud(rng, n, n_features))
        n, n_features = X.shape
        choose = parameters.unsound if kind == "parameters" else parameters.sound
        chosen = choose(rng, n, n_features)
        X, chosen = _dressed(kind, rng, X, chosen)
    return Case(kind, X, chosen, str(rng.choice(["uncorrelated", "orthonormal"])), rng)


def _size(rng: np.random.Generator) -> tuple[int, int]:
    """Small for the most part: what is strange is strange in small numbers too, and there is time for more of it."""
    n = int(rng.integers(100, 701)) if rng.random() < LARGE else int(rng.integers(1, rng.choice([25, 25, 61])))
    return n, int(rng.choice([1, 2, 3, 3, 5, 10, 20]))


def _dressed(kind: str, rng: np.random.Generator, X: np.ndarray, chosen: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """The samples and parameters as the kind wants them."""
    if kind == "metrics":
        return dress.as_given(rng, X), chosen | parameters.metric(rng)
    if kind == "precomputed":
        return dress.as_given(rng, parameters.distances(rng, X)), chosen | {"metric": "precomputed"}
    if kind == "precomputed sparse":
        return parameters.known_distances(rng, X), chosen | {"metric": "precomputed"}
    if kind == "neighbors given":
        chosen |= {"neighbors": parameters.neighbors(rng, X)}
    if kind in WAYS:
        return WAYS[kind](rng, X * rng.choice([1.0, 20.0])), chosen
    if rng.random() < 0.2:
        return rng.choice([dress.in_numbers, dress.in_memory, dress.sparse_of, dress.in_container])(rng, X), chosen
    return dress.as_given(rng, X), chosen
