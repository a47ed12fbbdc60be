"""Every check of parameters and of X, and every message about them.

Checks run at the doors (`embed`, the estimator, the command line) and nowhere below. A `check_*` function
returns the checked value or raises an error of `hne.exceptions`.
"""

from hne._validation._parameters import (
    check_choice,
    check_integer,
    check_n_jobs,
    check_number,
    check_positive,
    check_settings,
    check_wishes,
    is_auto,
)
from hne._validation._samples import (
    check_neighbors,
    check_new_samples,
    check_places,
    check_points,
    check_samples,
    check_shape,
)
from hne._validation._tables import check_matrix, check_stored, is_table, output_kind

__all__ = [
    "check_choice",
    "check_integer",
    "check_matrix",
    "check_n_jobs",
    "check_neighbors",
    "check_new_samples",
    "check_number",
    "check_places",
    "check_points",
    "check_positive",
    "check_samples",
    "check_settings",
    "check_shape",
    "check_stored",
    "check_wishes",
    "is_auto",
    "is_table",
    "output_kind",
]
