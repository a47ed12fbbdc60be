"""Parameters and X -> what every rival method starts from: Settings, and distinct samples in fitting units."""

from collections.abc import Mapping
from typing import Any

from numpy.typing import ArrayLike

from hne._start import at_places
from hne._types import Distinct, FloatArray, Settings
from hne._units import Units
from hne._validation import check_matrix, check_samples, check_settings

# The parameters that all rivals have, and HNE too.
COMMON = ("n_neighbors", "n_components", "reg", "random_state", "n_jobs")


def check_common(parameters: Mapping[str, Any]) -> Settings:
    """Return those parameters as Settings that all rivals have."""
    return check_settings({name: parameters[name] for name in COMMON})


def check_places(X: ArrayLike, settings: Settings) -> tuple[Distinct, Units, FloatArray]:
    """Return which samples are distinct, the units of the computation, and the distinct samples in them."""
    # Sparse samples stop here; what is a matrix already passes the second check at no cost.
    samples = check_samples(check_matrix(X), settings)
    distinct, units, places, _ = at_places(samples, settings)
    return distinct, units, places
