"""What is enough of landmarks: for a sample to be rebuilt from, and for eigenvectors to count as found."""

import numpy as np

from hne._types import LANDMARKS, UNFOLDED, Chart, EigenPairs

# Landmarks that rebuild a sample: this many, or so many a dimension.
NEAREST_LANDMARKS, LANDMARKS_A_DIMENSION = 12, 4
# Angle of the last refinement beyond which it was not the last one needed: on rolls of 100 000 samples with 1 000 to
# 10 000 landmarks, what was left was 4 to 11 times that angle.
UNSETTLED = 0.005
# Bound of the angle beyond which nothing tells that a plane is that of the eigenvectors: rolls of 3 000 to a million
# samples .1 to .3 where it was, .9 where landmarks were too few.
UNBOUNDED = 0.7
# Stress up to which a chart proves itself, whatever its eigenvectors are. Of 54 rolls, S-curves and holes of 4 000 and
# 15 000 samples with 13 to 1 000 landmarks, those below are right to .0005, those with .009 to .022 to .001 at best and
# .9 at worst, and spans of 20 eigenvectors still move by .01 to .5 in all of them.
KEPT_STRESS = 0.004


def nearest_landmarks(n_components: int) -> int:
    """How many landmarks rebuild a sample; there must be more of them."""
    return max(NEAREST_LANDMARKS, LANDMARKS_A_DIMENSION * n_components)


def plane_bound(pairs: EigenPairs) -> float:
    """Sine of the angle to the plane of the eigenvectors at most, as far as the next eigenvalue is known.

    What leans to later eigenvectors by an angle has at least its squared sine times the next eigenvalue.
    """
    return float(np.sqrt(pairs.values.sum() / pairs.next_value)) if pairs.next_value > 0 else np.inf


def is_settled(pairs: EigenPairs, chart: Chart | None = None) -> bool:
    """Whether a plane on landmarks came near to rest, at eigenvalues far below the next, or its chart keeps lengths.

    What was not found on landmarks always has.
    """
    if pairs.solver != LANDMARKS or (pairs.certificate.last_move <= UNSETTLED and plane_bound(pairs) <= UNBOUNDED):
        return True
    return chart is not None and chart.route == UNFOLDED and chart.stress <= KEPT_STRESS
