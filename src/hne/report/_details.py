"""What a report tells beyond the embedding itself."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from numpy.typing import NDArray


@dataclass(frozen=True, kw_only=True)
class Details:
    """What whoever read the data knows of it; everything may be left out, nothing is trusted to be free of HTML."""

    title: str = "Hierarchic Neighbors Embedding"
    ids: Sequence[str] | None = None  # (n,), names of the samples
    id_name: str = "sample"
    columns: Mapping[str, NDArray[Any]] = field(default_factory=dict)  # (n,) each, numbers or str and None
    color: str | None = None  # of these the one to color by at first
    images: NDArray[Any] | None = None  # (n, height, width) or (n, height, width, 3), from 0 to 1
    X: NDArray[Any] | None = None  # (n, D), the samples, for measures against them
    timings: Mapping[str, float] = field(default_factory=dict)  # seconds of each stage
    warnings: Sequence[str] = ()  # notices about the data, beside the warnings of the embedding itself
    source: str = ""  # what was read, in a line
    command: str = ""  # what makes the same report again
