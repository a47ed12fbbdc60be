"""Y -> Y, if it is an embedding: finite, of full rank, and with the samples of a piece apart from each other."""

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from hne.baselines.methods import Rival
from hne.core.neighbors.graph import canonicalize
from hne.core.parameters import check_settings
from hne.core.records import FloatArray, Pieces, Settings, UniqueSamples
from hne.core.samples.check import check_samples
from hne.core.samples.scaling import InputScaling
from hne.core.samples.tables import check_matrix
from hne.exceptions import BaselineError, DisconnectedGraphWarning, caller_stacklevel

# The parameters that all rivals have, and HNE too.
COMMON = ("n_neighbors", "n_components", "reg", "random_state", "n_jobs")


def check_common(parameters: Mapping[str, Any]) -> Settings:
    """Return those parameters as Settings that all rivals have."""
    return check_settings({name: parameters[name] for name in COMMON})


def check_places(X: ArrayLike, settings: Settings) -> tuple[UniqueSamples, InputScaling, FloatArray]:
    """Return which samples are distinct, the units of the computation, and the distinct samples in them."""
    # Sparse samples stop here; what is a matrix already passes the second check at no cost.
    samples = check_samples(check_matrix(X), settings)
    distinct, units, places, _ = canonicalize(samples, settings)
    return distinct, units, places


# Lengths below this share of the longest are rounding: eigenvectors of eigenvalues near zero, as those of these
# methods, mix with each other to 1e-7 and less, and a coordinate that is one of them has the length of all others.
# Principal components may be as short as they like, but for their own rounding.
COLLAPSED, ROUNDING = 1e-6, 1e-12


def check_answer(rival: Rival, Y: FloatArray, pieces: Pieces, settings: Settings) -> FloatArray:
    """Return the coordinates, or raise BaselineError for what is none."""
    k, d = settings.n_neighbors, settings.n_components
    # Those with defaults of their own know best how many neighbors they take.
    first = f"Lower n_components (now {d})" if rival.estimator else f"Raise n_neighbors (now {k})"
    remedy = f"{first}, or choose another method."
    if not np.isfinite(Y).all():
        msg = f"method={rival.name!r} must give finite coordinates, got {(~np.isfinite(Y)).sum()} others. {remedy}"
        raise BaselineError(msg)
    if pieces.count > 1 and _spread_within(Y, pieces) < COLLAPSED:
        msg = (
            f"method={rival.name!r} needs a connected {rival.links}, got {_counted(pieces)}, each of which it "
            f"puts at one point. Raise n_neighbors (now {k}), or embed the pieces one by one."
        )
        raise BaselineError(msg)
    rank = _rank(Y - Y.mean(axis=0), ROUNDING if rival.estimator else COLLAPSED)
    if rank < d:
        msg = (
            f"method={rival.name!r} must give {d} coordinates that differ, got {rank} and a constant or a repeat. "
            f"{remedy}"
        )
        raise BaselineError(msg)
    return Y


def warn_of_pieces(rival: Rival, pieces: Pieces, settings: Settings) -> None:
    """Warn where the neighbor graph is in pieces."""
    if pieces.count > 1:
        msg = (
            f"the {rival.links} has {_counted(pieces)}: coordinates of method={rival.name!r} may tell them apart "
            f"and nothing else. Raise n_neighbors (now {settings.n_neighbors}), or embed the pieces one by one."
        )
        warnings.warn(msg, DisconnectedGraphWarning, stacklevel=caller_stacklevel())


def _counted(pieces: Pieces) -> str:
    sizes = ", ".join(map(str, pieces.sizes[:5])) + (", ..." if pieces.count > 5 else "")
    return f"{pieces.count} pieces (of {sizes} distinct samples)"


def _rank(centered: FloatArray, rounding: float) -> int:
    lengths = np.linalg.svd(centered, compute_uv=False)
    return int((lengths > rounding * lengths[0]).sum()) if lengths[0] > 0 else 0


def _spread_within(Y: FloatArray, pieces: Pieces) -> float:
    """Length of the coordinates around the means of their pieces, relative to that around the mean of all."""
    sums = np.zeros((pieces.count, Y.shape[1]))
    np.add.at(sums, pieces.labels, Y)
    means = sums / pieces.sizes[:, None]
    whole = np.linalg.norm(Y - Y.mean(axis=0))
    return float(np.linalg.norm(Y - means[pieces.labels]) / whole) if whole > 0 else 0.0
