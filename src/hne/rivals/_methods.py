"""The rival methods by name: what they are called, what they need, and which parameters they use."""

from collections.abc import Callable
from dataclasses import dataclass

from hne._types import Settings
from hne.exceptions import RivalError


@dataclass(frozen=True)
class Rival:
    """What there is to know about a rival method before it runs."""

    name: str  # as `rival_embedding` takes it
    label: str  # as tables and figures show it
    title: str
    uses_reg: bool  # whether the parameter `reg` changes its answer
    least_neighbors: Callable[[int], int]  # of the number of components
    least_rule: str  # the same in words
    leaves_out_self: bool = False  # whether a sample is in its neighbors' neighborhoods alone, and not in its own

    @property
    def links(self) -> str:
        """What must hang together for the method to have an answer."""
        return "graph of who is in one neighborhood with whom" if self.leaves_out_self else "neighbor graph"

    def check_neighbors(self, settings: Settings) -> None:
        """Raise where neighborhoods are too small for the method."""
        k, d = settings.n_neighbors, settings.n_components
        least = self.least_neighbors(d)
        if k < least:
            msg = (
                f"method={self.name!r} needs n_neighbors of {self.least_rule}, here {least} with n_components={d}, "
                f"got n_neighbors={k}. Raise n_neighbors, or choose another method."
            )
            raise RivalError(msg)


_ALL = (
    Rival("lle", "LLE", "Locally linear embedding", True, lambda _: 1, "at least 1"),
    # scikit-learn's ridge of MLLE is 1e-3 whatever it is told.
    Rival("mlle", "MLLE", "Modified locally linear embedding", False, lambda d: d, "at least n_components"),
    Rival(
        "hlle",
        "HLLE",
        "Hessian eigenmaps",
        False,
        # A constant, d slopes and d(d+1)/2 products are taken out of k values, and something must be left.
        lambda d: d * (d + 3) // 2 + 1,
        "more than n_components * (n_components + 3) / 2",
        leaves_out_self=True,
    ),
    # With fewer, the local coordinates and the constant explain any k values: nothing is left to be minimized.
    Rival(
        "ltsa",
        "LTSA",
        "Local tangent space alignment",
        False,
        lambda d: d + 2,
        "at least n_components + 2",
        leaves_out_self=True,
    ),
    Rival("clle", "CLLE", "LLE of two overlapping parts", True, lambda _: 1, "at least 1"),
    Rival("llc", "LLC", "Locally linear coordination", True, lambda _: 1, "at least 1"),
)
RIVALS = {rival.name: rival for rival in _ALL}
METHODS = tuple(RIVALS)
