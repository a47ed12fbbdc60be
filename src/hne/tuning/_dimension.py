"""X -> the number of coordinates to find, where nobody gave one."""

from __future__ import annotations

from hne._progress import advise, shown, stage
from hne._samples import Samples
from hne._start import at_places
from hne._threads import library_threads, thread_count
from hne._types import Settings
from hne._yardstick import dimension_of
from hne.exceptions import InputError


def found_dimension(X: Samples, settings: Settings) -> int:
    """The intrinsic dimension of checked samples, below the number of places."""
    n_threads = thread_count(settings.n_jobs)
    _, _, places, settings = at_places(X, settings)
    with library_threads(n_threads), shown(settings.verbose):
        found = stage("dimension", dimension_of, places, settings.metric, settings.metric_params, n_threads)
    if found is None:
        msg = (
            f"n_components='auto' needs more different samples to tell their dimension by, got {places.shape[0]}. "
            "Give n_components."
        )
        raise InputError(msg)
    if not found.is_agreed:
        msg = (
            f"n_components='auto' takes the samples' own dimension, got two estimates that do not agree: {found}. "
            "Look at others as well."
        )
        advise(msg)
    dimension: int = found.dimension
    return dimension
