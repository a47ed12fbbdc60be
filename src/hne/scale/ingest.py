"""Samples that nobody has read yet -> samples at their places, on disk, and which of them are copies.

Workers read their chunks once and keep them as they come. What the client gets of each chunk are the ranges of its
columns; of each sample its fingerprint, for which they need those of all, and its leading value: sixteen bytes, which
are enough to put the samples in their order and to find copies.
"""

from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hne._runtime.progress import track
from hne._runtime.store import Stage
from hne.core.records import FloatArray, Settings, UniqueSamples
from hne.core.samples.check import check_places
from hne.core.samples.scaling import is_ordinary
from hne.core.samples.unique import Ranges, distinct_rows, joined_ranges
from hne.exceptions import InputError
from hne.scale.sources import LazySamples
from hne.scale.tasks import MarkedRows, take_in


@dataclass(frozen=True)
class IngestedSamples:
    """Samples as workers have kept them, and what the client knows of each."""

    raw: FloatArray  # on disk, in the order in which they came
    distinct: UniqueSamples
    ranges: Ranges
    marks: Any  # fingerprints of the samples at their places


def ingest(X: LazySamples, settings: Settings, engine: Any, scratch: Path) -> IngestedSamples:
    """Let workers read the samples, each chunk once."""
    from dask import delayed  # noqa: PLC0415, an extra

    kept = Stage(scratch, "scratch")
    parts = X.parts()
    ends = [*[start for start, _ in parts[1:]], X.shape[0]]
    blocks = [(start, end) for (start, _), end in zip(parts, ends, strict=True)]
    calls = [
        delayed(take_in, pure=False)(chunk, start, (end - start, X.shape[1]), kept)
        for (_, chunk), (start, end) in zip(parts, blocks, strict=True)
    ]
    with closing(engine.gathered("samples", calls)) as results:
        ranges = joined_ranges(list(track("chunks", results, len(calls))))
    _check_ordinary(ranges.largest)
    raw = kept.seal(blocks)["X"]
    with closing(engine.map("samples", MarkedRows(raw, ranges), blocks)) as results:
        found = list(track("order", results, len(blocks)))
    marks, leading = (np.concatenate(one) for one in zip(*found, strict=True))
    distinct = distinct_rows(marks, raw, leading)
    check_places(distinct, settings)
    return IngestedSamples(raw, distinct, ranges, marks[distinct.index])


def _check_ordinary(largest: float) -> None:
    if not is_ordinary(largest):
        msg = f"X of a Dask run must have values between 1e-90 and 1e90, got {largest:.0e}. Rescale X."
        raise InputError(msg)
