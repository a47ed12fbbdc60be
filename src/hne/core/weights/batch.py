"""Both layers' weights for a block of targets, in NumPy batches: no compiler to wait for.

The twin of `numba_rows`, with the same functions. Letters: b targets, k neighbors, m slots. A slot
is a place in a target's list of distinct samples within two hops; -1 in a slot array marks an absent sample.
Targets of one call have equally many slots, so that no row's bits depend on the rows beside it, and at least one.
Where a list is short, its systems are padded to k: LAPACK may round them otherwise than systems of its own length.
K holds the local Gram matrices of the differences `sample - target`, and after it nothing costs D any more.
"""

import numpy as np

from hne.core.records import BoolArray, FloatArray, IndexArray

# Ridge floor relative to the lengths that a Gram matrix was summed up from: what rounding may have taken from it
# already. It binds only where they cancel: BHNE on near-duplicates, or with weights in the thousands from a tiny reg.
NOISE = 1e-15
# 2**1000 is the largest unit that a Gram matrix is measured in: its inverse is still a normal number.
SMALLEST_EXPONENT = -1000


def local_sets(
    neighbors: IndexArray, neighbor_indices: IndexArray, left_out: IndexArray
) -> tuple[IndexArray, IndexArray, IndexArray]:
    """List the distinct samples within two hops of each target, and where each layer finds its samples.

    Parameters
    ----------
    neighbors : (b, k) neighbors of the targets, -1 behind the last.
    neighbor_indices : (n, k) neighbors of every sample, -1 behind the last.
    left_out : (b,) a sample to leave out of the target's outer layer, -1 for none.

    Returns
    -------
    ids : (b, m) distinct samples in ascending order, -1 behind the last.
    inner_slots : (b, k) slot of each neighbor, -1 where there is none.
    outer_slots : (b, k, k) slot of each neighbor's neighbor, -1 where there is none or it is left out.
    """
    b, k = neighbors.shape
    # The list of an absent neighbor is all -1, where indexing alone would give the last sample's.
    outer = np.where(neighbors[:, :, None] >= 0, neighbor_indices[neighbors], -1).reshape(b, k * k)
    samples = np.concatenate([neighbors, np.where(outer == left_out[:, None], -1, outer)], axis=1)
    absent = samples < 0
    # The target's first neighbor, which has a slot anyway, stands in for an absent sample.
    samples = np.where(absent, neighbors[:, :1], samples)
    order = np.argsort(samples, axis=1, kind="stable")
    ascending = np.take_along_axis(samples, order, axis=1)
    rank = np.zeros_like(ascending)
    rank[:, 1:] = np.cumsum(ascending[:, 1:] != ascending[:, :-1], axis=1)
    slots = np.empty_like(rank)
    np.put_along_axis(slots, order, rank, axis=1)
    ids = np.full((b, int(rank[:, -1].max()) + 1), -1, dtype=np.intp)
    np.put_along_axis(ids, rank, ascending, axis=1)
    slots[absent] = -1
    return ids, slots[:, :k], slots[:, k:].reshape(b, k, k)


def local_gram(X: FloatArray, targets: FloatArray, ids: IndexArray) -> FloatArray:
    """Gram matrices K (b, m, m) of the differences from each target, in units of the farthest of them.

    Weights do not change with the unit; it keeps the squares of huge and tiny differences in range.
    """
    difference = X[ids] - targets[:, None, :]
    reach = np.abs(difference).max(axis=(1, 2))
    _, exponent = np.frexp(reach)
    unit = np.ldexp(1.0, -np.maximum(exponent, SMALLEST_EXPONENT))
    difference *= unit[:, None, None]
    return difference @ difference.transpose(0, 2, 1)


def inner_weights(K: FloatArray, inner_slots: IndexArray, reg: float) -> FloatArray:
    """Weights w (b, k) with which the neighbors rebuild the target (plain LLE)."""
    return _affine(_select(K, inner_slots), inner_slots >= 0, reg)


def ihne(
    K: FloatArray, w: FloatArray, inner_slots: IndexArray, outer_slots: IndexArray, outer_reg: float
) -> FloatArray:
    """Joint weights (b, m) of IHNE: each outer neighborhood rebuilds the target itself."""
    v = _affine(_select(K, outer_slots), outer_slots >= 0, outer_reg)
    return np.einsum("bl,blm->bm", w, _contributions(v, inner_slots, outer_slots, K.shape[1]))


def rhne(
    K: FloatArray, w: FloatArray, inner_slots: IndexArray, outer_slots: IndexArray, outer_reg: float
) -> FloatArray:
    """Joint weights (b, m) of RHNE: all outer samples rebuild the target at once, repeats kept.

    Repeats of a sample get equal weights, so with c its count the k^2 problem is one over distinct samples:
    (K + rho diag(1/c)) u = 1 for the summed weight u of each, with rho = r * sum(c * diag(K)).
    """
    m = K.shape[1]
    counts = _scatter((outer_slots >= 0).astype(float), outer_slots, m).sum(axis=1)
    active = counts > 0
    ridge = outer_reg * np.einsum("bm,bmm->b", counts, K)
    # Every outer sample equals the target: with K = 0 any ridge gives equal weights.
    ridge = np.where(ridge > 0, ridge, 1.0)
    system = np.where(active[:, :, None] & active[:, None, :], K, 0.0)
    diagonal = np.arange(m)
    system[:, diagonal, diagonal] += ridge[:, None] / np.where(active, counts, 1.0)
    u = np.linalg.solve(system, active[:, :, None].astype(float))[:, :, 0]
    # Nobody in the outer layer: the inner weights stay on the neighbors.
    alone = ~active.any(axis=1)
    u[alone] = _scatter(w[alone, None], inner_slots[alone, None], m)[:, 0]
    return u / u.sum(axis=1, keepdims=True)


def bhne(
    K: FloatArray,
    w: FloatArray,
    inner_slots: IndexArray,
    outer_slots: IndexArray,
    outer_reg: float,
    n_rounds: int,
) -> FloatArray:
    """Joint weights (b, m) of BHNE: neighborhoods take turns to rebuild what the others leave."""
    b, k = w.shape
    m = K.shape[1]
    itself = _scatter(np.ones((b, k, 1)), inner_slots[:, :, None], m)
    # Round 1: every neighborhood against the original neighbors.
    others = w[:, None, :] * (1.0 - np.eye(k))
    v = _rebuild_rest(K, w, others @ itself, outer_slots, outer_reg)
    z = _contributions(v, inner_slots, outer_slots, m)
    # Later rounds: one after the other, each against what the ones before it have become.
    for _ in range(n_rounds):
        for turn in range(k):
            one = slice(turn, turn + 1)
            v = _rebuild_rest(K, w[:, one], others[:, one] @ z, outer_slots[:, one], outer_reg)
            z[:, one] = _contributions(v, inner_slots[:, one], outer_slots[:, one], m)
    return np.einsum("bl,blm->bm", w, z)


def _rebuild_rest(
    K: FloatArray, w: FloatArray, rest: FloatArray, outer_slots: IndexArray, outer_reg: float
) -> FloatArray:
    """Weights v (b, l, k) of BHNE's neighborhoods against the rest s (b, l, m) that the others leave each.

    Neighborhood l has the points w_l x_j and the target t_l, whose differences are w_l (x_j - x) + s with
    s = sum over the others of w (z - x), here as coefficients over the slots: all of it in terms of K.
    """
    pull = rest @ K
    height = np.einsum("blm,blm->bl", rest, pull)[:, :, None]
    slope = w[:, :, None] * np.take_along_axis(pull, outer_slots, axis=2)
    square = w[:, :, None, None] ** 2 * _select(K, outer_slots)
    C = square + slope[:, :, :, None] + slope[:, :, None, :] + height[:, :, :, None]
    lengths = np.sqrt(np.einsum("bmm->bm", K))
    reach = np.einsum("blm,bm->bl", np.abs(rest), lengths)[:, :, None]
    outer = np.take_along_axis(np.broadcast_to(lengths[:, None], rest.shape), outer_slots, axis=2)
    return _affine(C, outer_slots >= 0, outer_reg, (np.abs(w)[:, :, None] * outer + reach) ** 2)


def _affine(C: FloatArray, present: BoolArray, reg: float, terms: FloatArray | None = None) -> FloatArray:
    """Solve (C + r trace(C) I) v = 1 over the present samples, sum(v) = 1; v = 0 where none is present.

    `terms` bounds the diagonal of C by the lengths that it was summed up from, where they may have canceled.
    """
    C = np.where(present[..., :, None] & present[..., None, :], C, 0.0)
    ridge = reg * np.einsum("...kk->...", C)
    if terms is not None:
        ridge = np.maximum(ridge, NOISE * np.where(present, terms, 0.0).sum(axis=-1))
    # Every point equals its target: with C = 0 any ridge gives equal weights.
    ridge = np.where(ridge > 0, ridge, 1.0)
    diagonal = np.arange(C.shape[-1])
    C[..., diagonal, diagonal] += ridge[..., None]
    v = np.linalg.solve(C, present[..., None].astype(float))[..., 0]
    total = v.sum(axis=-1, keepdims=True)
    return v / np.where(present.any(axis=-1, keepdims=True), total, 1.0)


def _select(K: FloatArray, slots: IndexArray) -> FloatArray:
    """Gram matrix of each list of slots: (b, ..., k) -> (b, ..., k, k). Absent slots give any value."""
    target = np.arange(len(K)).reshape(-1, *[1] * slots.ndim)
    return K[target, slots[..., :, None], slots[..., None, :]]


def _scatter(values: FloatArray, slots: IndexArray, m: int) -> FloatArray:
    """Put the values of each list (b, l, k), distinct slots, at their slots: (b, l, m). Absent ones go nowhere."""
    spread = np.zeros((*slots.shape[:2], m + 1))
    np.put_along_axis(spread, np.where(slots >= 0, slots, m), values, axis=2)
    return spread[:, :, :m]


def _contributions(v: FloatArray, inner_slots: IndexArray, outer_slots: IndexArray, m: int) -> FloatArray:
    """What stands for each neighbor, as coefficients over the slots (b, l, m): its list, or else itself.

    Nothing stands for an absent neighbor.
    """
    z = _scatter(v, outer_slots, m)
    target, neighbor = np.nonzero((outer_slots < 0).all(axis=2) & (inner_slots >= 0))
    z[target, neighbor, inner_slots[target, neighbor]] = 1.0
    return z
