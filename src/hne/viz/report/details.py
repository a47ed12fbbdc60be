"""What a report tells beyond the embedding itself."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hne.core.records import Embedding
from hne.core.trust.assess import trust_in
from hne.core.trust.record import Assessment
from hne.exceptions import InputError


@dataclass(frozen=True, kw_only=True)
class Details:
    """What whoever read the data knows of it; everything may be left out, nothing is trusted to be free of HTML."""

    title: str = "Hierarchic Neighbors Embedding"
    ids: Sequence[str] | None = None  # (n,), names of the samples; None takes the numbers of their rows
    id_name: str = "sample"
    rows: NDArray[Any] | None = None  # (n,), numbers of the rows in what was read, from 1; None counts all from 1
    columns: Mapping[str, NDArray[Any]] = field(default_factory=dict)  # (n,) each, numbers or str and None
    color: str | None = None  # of these the one to color by at first
    images: NDArray[Any] | None = None  # (n, height, width) or (n, height, width, 3), uint8, or from 0 to 1 or more
    X: Any = None  # (n, D), dense or sparse, the samples to measure against; None takes those of the embedding
    trust: Assessment | None = None  # how far the embedding can be believed; None takes what it knows itself
    scree: Sequence[float] = ()  # eigenvalues after the constant one, ascending, more than are used
    timings: Mapping[str, float] = field(default_factory=dict)  # seconds of each stage
    notices: Sequence[str] | None = None  # warnings of the embedding in the caller's words; None takes its own
    warnings: Sequence[str] = ()  # notices about the data, beside those
    left_out: Sequence[str] = ()  # what the page would have, had it not been too much
    source: str = ""  # what was read, in a line
    command: str = ""  # what makes the same report again


def trust_shown(result: Embedding, details: Details) -> Assessment:
    """How far the embedding can be believed: as told, as it knows itself, or, in a loaded model, measured again."""
    own: Assessment = details.trust or result.trust or trust_in(result)
    return own


def check_details(details: Details, n: int) -> Details:
    """Return the details, whose parts have a value for each sample, or raise."""
    columns = [(f"columns[{name!r:.60}]", values) for name, values in details.columns.items()]
    for name, values in [("ids", details.ids), ("rows", details.rows), ("images", details.images), *columns]:
        if values is not None and len(values) != n:
            msg = f"{name} must have one value for each of {n} samples, got {len(values)}. Pass matching rows."
            raise InputError(msg)
    for name, values in [("rows", details.rows), *columns]:
        if values is not None and np.ndim(values) != 1:
            msg = f"{name} must be one-dimensional, got the shape {np.shape(values)}. Pass one value for each sample."
            raise InputError(msg)
    if details.X is not None and details.X.shape[0] != n:
        msg = f"X must have a row for each of {n} samples, got {details.X.shape[0]}. Pass what was embedded."
        raise InputError(msg)
    if details.color is not None:
        check_color(details.color, list(details.columns))
    shape = () if details.images is None else np.shape(details.images)[1:]
    if details.images is not None and (len(shape) not in {2, 3} or 0 in shape or shape[2:] not in {(), (3,)}):
        msg = (
            f"images must be (n, height, width) or (n, height, width, 3), got {np.shape(details.images)}. Reshape them."
        )
        raise InputError(msg)
    return details


def check_color(name: str, known: Sequence[str]) -> str:
    """Return the name of the column to color by, which is among those that are known, or raise."""
    if name not in known:
        names = ", ".join(f"{one!r:.40}" for one in known[:8]) or "none"
        msg = f"color must be the name of a column, got {name!r:.60}. There are: {names}."
        raise InputError(msg)
    return name
