"""Weights, X -> Layout: a neighbor-preserving layout from HNE's weights, by gradient descent on t-SNE's loss.

In: weights W and J of both layers, samples X. Out: coordinates Y (n, d), centered, along their principal axes, scaled
to the distances of X. The layout preserves neighborhoods and groups; distances, densities and sizes of groups are not
meaningful in it.

1. Affinities: negative weights and the diagonal are dropped and rows divided by their sums; S = (gamma W + J) / (gamma
   + 1) and P = (S + S') / sum(S + S'), which is symmetric, nonnegative and sums to one.
2. Start: the first d principal coordinates of X, with a standard deviation of one along the first. At that size the
   arrangement of distant parts is carried over from PCA. From 1e-4, t-SNE's habit, an unstable expansion determines it.
3. Descent: gradient descent with momentum on KL(P || Q) + lambda (1 - r^2) / 2, where Q are the Student-t similarities
   of Y (van der Maaten and Hinton 2008) and r is the correlation of Y with the start. In the first half of the steps
   repulsion is halved, which contracts groups that the start has torn. There are no random numbers.
"""

import numpy as np
from scipy.sparse import csr_array

from hne import _kernels
from hne._runtime.progress import track
from hne._runtime.threads import limit_blas_threads, row_workers
from hne.core.layout.repulsion import SAMPLE_ROWS, compute_repulsion, repulsion_field
from hne.core.layout.start import starting_coordinates
from hne.core.records import FloatArray, Layout, Pieces, SparseMatrix, Weights, fix_signs
from hne.core.samples.kinds import Samples, take
from hne.core.short_circuits.cut import lengths_of_pairs
from hne.core.tangent.frames import drawn_rows
from hne.settings import Settings

# Steps of the descent, momentum, and step size as a multiple of n. From 100 to 500 steps little changes.
STEPS, MOMENTUM, STEP_PER_SAMPLE = 200, 0.9, 0.5
# Factor of the repulsion in the first steps, and their number: t-SNE's early exaggeration of 2, at half the step size.
# Without it classes of MNIST are torn: of 5 000 images, 0.76 of a class are connected through 10 nearest neighbors of
# their class, with it 0.82 (t-SNE 0.88). With 0.25 rounding moves single samples much farther.
EARLY_REPULSION, EARLY_STEPS = 0.5, 100
# Weight lambda of the correlation with the start. The larger it is, the less samples move when others are left out, and
# the higher is the rank correlation of all distances (42 real data sets: 0.763 with 1, 0.770 with 1.25); but classes of
# MNIST are torn more.
ANCHOR = 1.25
# Samples whose distances to each other determine the scale of a layout.
SCALED_SAMPLES = 300
# Steps by which a new sample is placed, their momentum, and fitted samples that are tried as its start.
PLACING_STEPS, PLACING_MOMENTUM, START_CANDIDATES = 50, 0.8, 20
BLOCK_BYTES = 2**25


def compute_layout(X: Samples, weights: Weights, pieces: Pieces, settings: Settings, n_threads: int) -> Layout:
    """Compute the layout of all samples, or with `pieces="largest"` of those in the largest connected component.

    Connected components are not laid out one by one: attraction keeps each together, repulsion and the start
    determine where they are.
    """
    is_largest = settings.pieces == "largest" and pieces.count > 1
    rows = np.flatnonzero(pieces.labels == 0) if is_largest else np.arange(X.shape[0])
    if is_largest:
        X = take(X, rows)
        weights = Weights(*(csr_array(matrix[rows][:, rows]) for matrix in (weights.W, weights.J)))
    whole = np.full((len(pieces.labels), settings.n_components), np.nan)
    if len(rows) == 1:
        # A connected component of one sample has nothing to be near to.
        whole[rows] = 0.0
        return Layout(whole, 0.0, 1.0)
    P = compute_affinities(weights, settings.gamma)
    with limit_blas_threads(1):
        start = starting_coordinates(X, settings)
        Y, kl_divergence = descend(P, start, n_threads)
        scale = distance_scale(X, Y)
        whole[rows] = orient(scale * Y)
    return Layout(whole, kl_divergence, scale)


def compute_affinities(weights: Weights, gamma: float) -> SparseMatrix:
    """Compute the symmetric affinities P (n, n) from the weights of both layers, as a CSR array of float32."""
    mixed = mix_layers(weights, gamma, is_fit=True)
    symmetric = csr_array(mixed + mixed.T)
    total = float(symmetric.data.sum())
    symmetric.data /= total if total > 0 else 1.0
    affinities = csr_array(symmetric.astype(np.float32))
    # Those that single precision rounds to zero.
    affinities.eliminate_zeros()
    return affinities


def mix_layers(weights: Weights, gamma: float, *, is_fit: bool) -> SparseMatrix:
    """Compute S = (gamma W + J) / (gamma + 1) from the positive weights of both layers, rows divided by their sums.

    In a fit, the diagonal (a sample's weight in its own reconstruction) is dropped. New samples have none.
    """
    inner, joint = (_keep_positive(matrix, is_fit=is_fit) for matrix in (weights.W, weights.J))
    return csr_array((gamma * inner + joint) / (gamma + 1))


def _keep_positive(matrix: SparseMatrix, *, is_fit: bool) -> SparseMatrix:
    """Keep the positive entries, each row divided by its sum; empty rows stay empty."""
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    data = np.maximum(matrix.data, 0.0)
    if is_fit:
        data[matrix.indices == rows] = 0.0
    sums = np.bincount(rows, data, minlength=matrix.shape[0])
    data /= np.where(sums > 0, sums, 1.0)[rows]
    # A copy, because zeros are removed in place.
    kept = csr_array((data, matrix.indices, matrix.indptr), shape=matrix.shape, copy=True)
    kept.eliminate_zeros()
    return kept


def descend(P: SparseMatrix, start: FloatArray, n_threads: int) -> tuple[FloatArray, float]:
    """Minimize the loss by gradient descent with momentum, and return the layout and its KL divergence."""
    n = len(start)
    # The kernel does not check the columns again at each step.
    P.check_format(full_check=True)
    starts, columns = P.indptr.astype(np.int64), P.indices.astype(np.int32)
    Y, V, moved = start.copy(), np.zeros_like(start), np.empty_like(start)
    # Samples that all start at the center stay there.
    start_square = float((start**2).sum()) or 1.0
    rate = 4 * STEP_PER_SAMPLE * n
    with row_workers(n_threads) as run:
        for number in track("descent", range(STEPS), STEPS):
            forces, Z = compute_repulsion(Y, run, n_threads)
            square, slope = float((Y**2).sum()) or 1.0, float((Y * start).sum()) / start_square
            # Gradient of the anchor, with r^2 = slope^2 |start|^2 / |Y|^2. A quarter of the whole gradient is the
            # attraction less `push`.
            anchor = ANCHOR / square * ((slope**2 * start_square / square) * Y - slope * start)
            factor = EARLY_REPULSION if number < EARLY_STEPS else 1.0
            push, single = (factor / Z) * forces - anchor / 4, Y.astype(np.float32)
            made_of = (starts, columns, P.data, Y, single, push, rate, MOMENTUM, V, moved)
            run(lambda *rows, made_of=made_of: _kernels.descend_layout(*rows, *made_of), n, SAMPLE_ROWS)
            Y, moved = moved, Y
        _, Z = compute_repulsion(Y, run, n_threads)
        parts = np.empty(n)
        run(lambda a, b: _kernels.fill_divergences(a, b, starts, columns, P.data, Y, parts), n, SAMPLE_ROWS)
    # Without any affinities there is nothing to be divergent from.
    return Y, float(parts.sum()) + float(P.data.sum(dtype=np.float64)) * (float(np.log(Z)) if P.nnz else 0.0)


def distance_scale(X: Samples, Y: FloatArray) -> float:
    """Compute the factor with which distances in Y are closest to those in X, over pairs of some samples."""
    rows = drawn_rows(len(Y), SCALED_SAMPLES)
    one, other = (rows[ends] for ends in np.triu_indices(len(rows), 1))
    in_X, in_Y = lengths_of_pairs(X, one, other), lengths_of_pairs(Y, one, other)
    known = np.isfinite(in_X)
    square = float((in_Y[known] ** 2).sum())
    scale = float((in_X * in_Y)[known].sum()) / square if square > 0 else 0.0
    return scale if scale > 0 else 1.0


def orient(Y: FloatArray) -> FloatArray:
    """Center Y and turn it to its principal axes, with fixed signs."""
    Y = Y - Y.mean(axis=0)
    _, _, axes = np.linalg.svd(np.linalg.qr(Y, mode="r"))
    return fix_signs(Y @ axes.T)


def place_samples(S: SparseMatrix, Y: FloatArray, scale: float, width: int, n_threads: int) -> FloatArray:
    """Place new samples in a layout Y (n, d), given their rows S (t, n) of at most `width` weights.

    A new sample minimizes its part of the loss, all fitted samples fixed: with the entries p of its row of affinities,

        sum_l p_l log(1 + |y - y_l|^2) + n / Z sum_j 1 / (1 + |y - y_j|^2).

    It starts at the one of the fitted samples in its row where the attractive part is smallest.
    """
    placed = np.full((S.shape[0], Y.shape[1]), np.nan)
    is_fitted = np.isfinite(Y[:, 0])
    # Where only the largest connected component is embedded, a sample near another one has no place.
    rows = np.flatnonzero(is_fitted[S.indices[S.indptr[:-1]]])
    fitted = Y[is_fitted] / scale
    low, high, n = fitted.min(axis=0), fitted.max(axis=0), len(fitted)
    step = max(1, BLOCK_BYTES // max(1, 8 * width * Y.shape[1]))
    with row_workers(n_threads) as run:
        repel = repulsion_field(fitted, run, n_threads)
        Z = float(repel(fitted)[1].sum()) - n
        for few in (rows[first : first + step] for first in range(0, len(rows), step)):
            block = csr_array(S[few])
            is_entry = np.arange(width) < np.diff(block.indptr)[:, None]
            # Behind its entries a row repeats its first with weight zero: no other sample is a candidate for the start.
            p, columns = np.zeros(is_entry.shape), np.empty(is_entry.shape, dtype=np.intp)
            columns[:] = block.indices[block.indptr[:-1], None]
            p[is_entry], columns[is_entry] = block.data, block.indices
            p /= p.sum(axis=1)[:, None]
            others = Y[columns] / scale
            y = _best_start(p, others)
            V = np.zeros_like(y)
            for _ in range(PLACING_STEPS):
                differences = y[:, None] - others
                attraction = p / (1 + (differences**2).sum(axis=2))
                repulsion = repel(y)[0] * (n / Z if Z > 0 else 0.0)
                V = PLACING_MOMENTUM * V - ((attraction[:, :, None] * differences).sum(axis=1) - repulsion)
                # The field is defined only inside the bounding box of the fitted samples.
                y = np.clip(y + V, low, high)
            placed[few] = scale * y
    return placed


def _best_start(p: FloatArray, others: FloatArray) -> FloatArray:
    """Return for each row the leading sample at which the attractive part of the loss is smallest, as (t, d)."""
    rows = np.arange(len(p))
    leading = np.argsort(-p, axis=1, kind="stable")[:, :START_CANDIDATES]
    losses = [
        (p * np.log1p(((others - others[rows, column][:, None]) ** 2).sum(axis=2))).sum(axis=1) for column in leading.T
    ]
    best: FloatArray = others[rows, leading[rows, np.argmin(losses, axis=0)]]
    return best
