"""What is known of an embedding that nobody should believe, to be shown by reports."""

import numpy as np

from hne.core.tangent.frames import Dimension
from hne.core.tangent.score import TangentScore
from hne.core.trust.verdict import Assessment, Finding


def some_trust(**changes):
    """A record of trust, with changes."""
    findings = (
        Finding("score", "bad", {"score": 0.5}, text="try n_neighbors=5"),  # which the verdict says
        Finding("short circuits", "bad", {"n_edges": 2}, "Lower n_neighbors", "2 pairs tie what is far apart"),
        Finding("dimension", "doubtful", {"dimension": 3}, text="The samples seem to have 3 dimensions."),
        Finding("pieces", "good", {"n_pieces": 1}, text="There is 1 piece."),
    )
    known = {
        "level": "bad", "verdict": "Do not believe it: try n_neighbors=5.", "findings": findings,
        "score": TangentScore(0.25, 0.75, 0.5, 0.5, np.eye(2)), "eigenvalue_gap": 1.5, "repeated_share": 0.875,
        "self_share": 0.125, "n_pieces": 1, "n_bridges": 4, "short_circuits": np.array([[3, 41], [7, 50]]),
        "dimension": Dimension(3, 2.75, 2.25, is_agreed=False),
    }  # fmt: skip
    return Assessment(**(known | changes))
