"""What is known about how far an embedding can be believed."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hne.core.records import IndexArray
from hne.core.tangent.dimension import Dimension
from hne.core.tangent.score import TangentScore

# How far an embedding can be believed, the best first; "unknown" where nothing that was calibrated carries over.
LEVELS = ("good", "doubtful", "bad", "unknown")
# Findings that speak for themselves, on whatever samples: the others count only where their limits were calibrated.
CERTAIN = frozenset({"collapsed", "repeated", "pieces", "thin links", "gap", "landmarks", "size"})


@dataclass(frozen=True)
class Finding:
    """One thing that speaks against an embedding, or that its reader should know."""

    kind: str  # "score", "repeated", "collapsed", "pieces", "thin links", "short circuits", "dimension",
    # "stress", "size", "self", "gap", "landmarks", "ties", or "unknown" for why no verdict is given
    level: str  # "bad", "doubtful", or "good" for what is only to be known
    values: Mapping[str, Any]  # the numbers of its sentence by name; a "reason" where a kind has several
    remedy: str = ""  # what to do about it, a sentence; empty where there is nothing to do
    text: str = ""  # a plain sentence


@dataclass(frozen=True, repr=False, eq=False)
class Assessment:
    """How far an embedding can be believed."""

    level: str  # one of LEVELS
    verdict: str  # one sentence: can this be believed, why, and what to do if not
    findings: tuple[Finding, ...]  # the gravest first
    score: TangentScore | None  # None where it cannot be measured
    eigenvalue_gap: float  # next eigenvalue over the last wanted one: near 1, the last coordinate is one of several
    repeated_share: float  # largest share of a coordinate that is a smooth function of the others
    self_share: float  # share of samples that are rebuilt mostly by themselves
    n_pieces: int
    n_thin_links: int
    short_circuits: IndexArray  # (p, 2), pairs of samples that are near in X and far along the surface; worst first
    dimension: Dimension | None  # what the samples' own dimension seems to be
    collapsed_share: float = math.nan  # share of neighborhoods one side of which has all but vanished

    @property
    def decisive(self) -> Finding | None:
        """The finding that the verdict states; None where it can be believed."""
        if self.level == "unknown":
            return next((one for one in self.findings if one.kind == "unknown"), None)
        return next((one for one in self.findings if one.level == self.level != "good"), None)

    @property
    def is_certainly_bad(self) -> bool:
        """Whether something is wrong that no calibration is needed to see."""
        return any(finding.level == "bad" and finding.kind in CERTAIN for finding in self.findings)

    @property
    def summary(self) -> str:
        """A few words, for where stages are told of."""
        return self.level if self.score is None else f"{self.level}, score {self.score.score:.4f}"

    def of_samples(self, first: IndexArray) -> "Assessment":
        """The same with pairs of samples instead of places: `first` is a sample at each place."""
        return replace(self, short_circuits=np.sort(first[self.short_circuits], axis=1))

    def __str__(self) -> str:
        return f"{self.level}: {self.verdict}"

    __repr__ = __str__
