"""Weights -> Alignment: A = I - W and B = I - J, whose G = gamma A'A + B'B is PSD with G @ 1 == 0."""

from scipy.sparse import eye_array

from hne._types import Alignment, Weights


def alignment(weights: Weights, gamma: float) -> Alignment:
    """Pair the two layers' deviations from being rebuilt; `gamma` weighs the inner layer."""
    identity = eye_array(weights.W.shape[0], format="csr")
    return Alignment(A=(identity - weights.W).tocsr(), B=(identity - weights.J).tocsr(), gamma=gamma)
