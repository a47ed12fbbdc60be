"""Table -> the same with a word on what its features are, and on what its rows may be."""

import re
from dataclasses import replace
from math import isqrt

from hne.io.names import LISTED, listed
from hne.io.record import ReadOptions, Table

# Names that columns get here where the file has none for them.
GENERIC = re.compile(r"x\d+")
# Rows of fewer numbers are seldom images: 8 x 8.
FEWEST_PIXELS = 64


def with_hints(table: Table, choices: ReadOptions) -> Table:
    """The table with notices of few features among other columns and of rows that may be images; models know theirs."""
    if table.image_shape is not None or choices.features:
        return table
    is_generic = all(GENERIC.fullmatch(name) for name in table.feature_names)
    has_others = bool(table.labels) or table.ids is not None
    notices = []
    if has_others and not is_generic and len(table.feature_names) <= LISTED:
        notices.append(f"Features: {listed(table.feature_names)}.")
    if is_generic and _may_be_images(table):
        side = isqrt(table.X.shape[1])
        notices.append(f"Rows may be images of {side} x {side}: add --image-size {side}x{side} to see them.")
    return replace(table, notices=(*table.notices, *notices)) if notices else table


def _may_be_images(table: Table) -> bool:
    n_samples, n_features = table.X.shape
    # As many rows as columns are rather distances.
    if n_features < FEWEST_PIXELS or isqrt(n_features) ** 2 != n_features or n_samples == n_features:
        return False
    return bool(n_samples and table.X.min() >= 0)
