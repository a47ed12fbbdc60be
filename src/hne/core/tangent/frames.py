"""X -> Frames: tangent coordinates of small neighborhoods; Frames, Y -> what Y keeps of them, and its unit of length.

N_i  (m,)    sample i and its k_c nearest       U_i (m, d)  their first d principal directions, orthonormal
T_i = U_i S_i  (m, d)  tangent coordinates      Y_i (m, d)  their coordinates in an embedding, centered

Distances to the nearest others -> Dimension, by two estimators: around a sample of a d-dimensional manifold the number
of others within a distance t grows as t^d. One reads d off all distances but the nearest, the other off the two nearest
alone. Noise, and samples spread more evenly than by chance, raise the second; bends that are too narrow for
neighborhoods, the first. Where they disagree, the lower one is the better guess.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from hne._kernels import compare_frames, fill_frames, fill_gram_frames, fill_stretches
from hne._runtime.progress import mute_progress
from hne._runtime.threads import map_rows
from hne.core.neighbors.graph import is_squared, nearest_by
from hne.core.records import BoolArray, FloatArray, IndexArray
from hne.core.samples.kinds import Distances, Samples, difference_width, gram_of_differences, is_complete, is_dense
from hne.core.tangent.noise import remove_noise
from hne.settings import NEAR_SURFACE

# Neighbors of a frame: this many, or so many a dimension. Not the k of an embedding, which must not choose its judge.
FRAME_NEIGHBORS, NEIGHBORS_A_DIMENSION = 8, 4
# Neighborhoods that are looked at, drawn at random: their mean errs by a fortieth of what single ones differ by.
MAX_FRAMES = 2000
# Variances below this share of a neighborhood's largest are rounding.
NEGLIGIBLE = 1e-10
# Logarithms of stretches: from the first on a neighborhood counts as torn or folded, beyond the second all are alike.
TORN, MAX_STRETCH = 0.5, 3.0
# Steps of their mean, and the change that ends them.
MAX_STEPS, SETTLED = 8, 1e-4
# A surface, or near one: its tangent planes hold this share of the local variance, and little lies beyond one more
# direction. Noisy surfaces in space: .89 and more, nothing beyond; images: .69 to .88, .06 to .2.
FLAT_WITHIN, FLAT_BEYOND = 0.8, 0.05
# So many neighbors tell one direction from noise: nine samples lie in few directions, wherever they are from.
NEIGHBORS_A_DIRECTION = 2.5
# Neighborhoods that tell how flat samples are: of fewer neighbors for sparse surfaces, whose folds more would reach; of
# more for noise, which they see past, where they are no more than half of all samples.
NEIGHBORS, MORE_NEIGHBORS, ROWS = 12, 30, 500
# So few of them do where the share is this many standard errors off the numbers that it is held against.
FEW_ROWS, CLEARLY = 100, 5.0
BLOCK_BYTES = 2**25
# The likelihood counts the nearest third of the neighbors without looking where they are. Of 1000 samples of a roll
# with a noise of 0.5 (12 neighbors, five seeds) it then says 2.18 instead of 2.28, and of 1000 spread evenly 2.16
# instead of 2.30.
BLIND_SHARE = 3
# Ratios of the two nearest that are left out, the largest tenth: Facco et al. 2017.
TAIL_SHARE = 10
# Samples at an edge have neighbors on one side only, which lowers both estimates, and in more dimensions more samples
# are at one. Flat cubes of 4 and 5 dimensions (300 to 2000 samples) say 3.5 to 3.7 and 4.3 to 4.5, Gaussians 3.9 to 4.0
# and 4.8 to 5.0: whole numbers are parted at .5 below the first number, and at the second fraction from it on.
CROWDED, CROWDED_PART = 4.0, 0.2
# Standard deviations, d / sqrt(rows) each, by which the two nearest must tell less than the likelihood to be believed.
# With 2.5, right on 30 of 30 helices of 100 and of 150 samples (0 and 10 by the likelihood alone) and on four of four
# sets of rendered faces (none), at the price of two more wrong of 270 Gaussians of 50 to 300 samples.
BEYOND_CHANCE = 2.5
# Neighbors whose distances tell, and the fewest that do.
MOST_NEIGHBORS, LEAST_NEIGHBORS = 12, 4


@dataclass(frozen=True)
class Frames:
    """Neighborhoods of some samples with their tangent coordinates, in the units of X."""

    members: IndexArray  # (a, m), the samples of each neighborhood, its own first
    U: FloatArray  # (a, m, d), orthonormal columns; zero where a neighborhood has fewer dimensions
    S: FloatArray  # (a, d), their lengths, descending
    spreads: FloatArray  # (a, m), all variances of a neighborhood, descending, as shares of their sum

    def explained(self, dimension: int) -> float:
        """Mean share of the variance of a neighborhood that lies in so many directions."""
        return float(self.spreads.mean(axis=0)[:dimension].sum())

    def is_flat(self, dimension: int) -> bool:
        """Whether the samples lie on a surface of that dimension, or near it, as far as neighbors can tell."""
        within, beyond = self.explained(dimension), 1 - self.explained(dimension + 1)
        is_told = NEIGHBORS_A_DIRECTION * dimension <= self.members.shape[1] - 1
        return is_told and within >= FLAT_WITHIN and beyond <= FLAT_BEYOND

    def among(self, chosen: BoolArray) -> "Frames":
        """Those frames alone all of whose samples are chosen."""
        inside = chosen[self.members].all(axis=1)
        return Frames(self.members[inside], self.U[inside], self.S[inside], self.spreads[inside])

    def tangent_losses(self, Y: FloatArray) -> FloatArray:
        """Share of each tangent plane that the embedding does not keep, (a,): blind to any affine map of it.

        1 - |U' Q|^2 / d with Q an orthonormal basis of the columns of Y_i.
        """
        return self._compared(_centered(Y, self.members))[0]

    def _compared(self, local: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Losses (a,) of tangent planes, and the J J' (a, d, d) of neighborhoods in an embedding (a, m, d)."""
        a, _, d = local.shape
        losses, shapes = np.empty(a), np.empty((a, d, d))
        compare_frames(0, a, local, self.U, self.S, losses, shapes)
        return losses, shapes

    def correction(self, Y: FloatArray) -> tuple[FloatArray, float]:
        """The one map A (d, d) with which Y A has the lengths of X, and how unevenly it still stretches, 0 to 1.

        J_i = Y_i' T_i / S_i^2 takes tangent coordinates to those of Y. A is the inverse root of a mean of the J_i J_i'
        in which neighborhoods that are torn or folded have little say. After it, the logarithms e_i of the singular
        values of A' J_i tell how much longer a place is than it should be; of their mean square q_i, what counts is
        q_i / (q_i + 1/4): torn is torn, however far. Of the maps that differ by a turn of the whole, A is the one
        whose columns are orthogonal, the longest first: where Y is whitened, Y A lies along its principal axes.
        """
        d = Y.shape[1]
        local = _centered(Y, self.members)
        unit = np.abs(local).max(initial=0.0)
        if not unit > 0:
            return np.zeros((d, d)), 1.0
        _, shapes = self._compared(local / unit)
        # A surface drawn as a solid has no frame with all dimensions; its plane is the best there is.
        is_full = (self.S > 0).all(axis=1)
        values, vectors = np.linalg.eigh((shapes[is_full] if is_full.any() else shapes).mean(axis=0))
        # The inverse root; directions that have vanished stay where they are.
        W = (vectors / np.sqrt(np.maximum(values, NEGLIGIBLE * values[-1]))) @ vectors.T
        unevenness = 1.0
        if is_full.any():
            W, unevenness = _evened(W, shapes[is_full])
        left, lengths, _ = np.linalg.svd(W.T / unit)
        A = left * lengths
        farthest = np.take_along_axis(A, np.abs(A).argmax(axis=0)[None], axis=0)
        return A * np.where(farthest < 0, -1.0, 1.0), unevenness


def frame_neighbors(n_components: int) -> int:
    """k_c, the neighbors of a frame where there are that many samples."""
    return max(FRAME_NEIGHBORS, NEIGHBORS_A_DIMENSION * n_components)


def is_measurable(n_samples: int, n_components: int) -> bool:
    """Whether a score says something: neighborhoods are no more than half of all samples."""
    return n_samples >= 2 * (frame_neighbors(n_components) + 1)


def drawn_rows(n: int, most: int = MAX_FRAMES) -> IndexArray:
    """The samples whose neighborhoods are looked at, ascending: all, or some at random."""
    return np.arange(n) if n <= most else np.sort(np.random.RandomState(0).choice(n, most, replace=False))


def nearest_of_rows(
    X: Samples, rows: IndexArray, k: int, metric: Any, params: Any, n_threads: int
) -> tuple[IndexArray, FloatArray]:
    """The k nearest others of some samples, and their distances by the metric."""
    targets = X if len(rows) == X.shape[0] else X[rows]
    near, distances, _ = nearest_by(metric, params, X, targets, k, rows, n_threads)
    return near, distances


def frames_among(X: Samples, members: IndexArray, n_components: int, n_threads: int = 1) -> Frames:
    """Frames of neighborhoods (a, m), of those all of whose distances are known."""
    members = _known(X, members)
    (a, m), d = members.shape, n_components
    frames = Frames(members, np.zeros((a, m, d)), np.zeros((a, d)), np.zeros((a, m)))
    _fill(X, frames, n_threads)
    return frames


def _known(X: Samples, members: IndexArray) -> IndexArray:
    """Those neighborhoods that have all their distances; a sparse graph of distances may lack some."""
    members = members[(members >= 0).all(axis=1)]
    if not is_complete(X):
        members = members[~np.isnan(X.at(members[:, :, None], members[:, None, :])).any(axis=(1, 2))]
    return members


def _fill(X: Samples, frames: Frames, n_threads: int) -> None:
    """Compute frames; of those that have no U, spreads alone."""
    a, m = frames.members.shape
    made = frames.U, frames.S, frames.spreads
    if is_dense(X):
        dense = np.ascontiguousarray(X)
        map_rows(lambda start, stop: fill_frames(start, stop, dense, frames.members, *made), a, n_threads)
        return
    # Bytes of the differences of a neighborhood, or of what stands for them.
    step = max(1, BLOCK_BYTES // (8 * m * (m + difference_width(X))))
    for start in range(0, a, step):
        some = frames.members[start : start + step]
        K, units = gram_of_differences(X, X[some[:, 0]], some)
        K *= units[:, None, None] ** 2
        fill_gram_frames(0, len(some), K, *(array[start : start + step] for array in made))


def _centered(Y: FloatArray, members: IndexArray) -> FloatArray:
    local = Y[members]
    return local - local.mean(axis=1, keepdims=True)


def _evened(W: FloatArray, shapes: FloatArray) -> tuple[FloatArray, float]:
    """W (d, d), improved until the W J of all neighborhoods are as near to turns as can be, and how near that is."""
    for _ in range(MAX_STEPS):
        e, axes = _stretches(W, shapes)
        say = 1 / (1 + (e**2).sum(axis=1) / TORN**2) ** 2
        # The sum of say_i V_i diag(e_i) V_i', as one product.
        sides = axes.transpose(1, 0, 2).reshape(len(W), -1)
        mean = (sides * (say[:, None] * e).ravel()) @ sides.T / say.sum()
        logs, turn = np.linalg.eigh(mean)
        W = (turn * np.exp(-logs)) @ turn.T @ W
        if np.abs(logs).max() <= SETTLED:
            break
    q = (_stretches(W, shapes)[0] ** 2).mean(axis=1)
    return W, float(np.mean(q / (q + TORN**2)))


def _stretches(W: FloatArray, shapes: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Logarithms (a, d) of the singular values of W J of each neighborhood, given J J', and their axes (a, d, d)."""
    e, axes = np.empty(shapes.shape[:2]), np.empty(shapes.shape)
    fill_stretches(np.ascontiguousarray(W), shapes, MAX_STRETCH, e, axes)
    return e, axes


def flat_share(X: Samples, n_components: int, metric: Any, params: Any, n_threads: int) -> float:
    """Compute the tangent variance ratio: the mean share of a neighborhood's variance in its first directions.

    It is that of the scale where it is largest. Isotropic noise (`hne.core.tangent.noise`), such as columns of noise
    beside a surface, counts as no variance. NaN where no neighborhood is known.
    """
    n = X.shape[0]
    sizes = [min(NEIGHBORS, n - 1), *([MORE_NEIGHBORS] if n > 2 * MORE_NEIGHBORS else [])]
    best = math.nan
    for most in (FEW_ROWS, ROWS):
        rows = drawn_rows(n, min(most, ROWS))
        with mute_progress():
            near, _ = nearest_of_rows(X, rows, sizes[-1], metric, params, n_threads)
        members = np.column_stack([rows, near])
        best, error = _largest_share(X, members, sizes, n_components)
        if len(rows) == n or min(abs(best - limit) for limit in (FLAT_WITHIN, NEAR_SURFACE)) > CLEARLY * error:
            break
    if best < NEAR_SURFACE and (scores := remove_noise(X, n_components, metric)) is not None:
        best = max(best, _largest_share(scores, members, sizes, n_components)[0])
    return best


def _largest_share(X: Samples, members: IndexArray, sizes: list[int], n_components: int) -> tuple[float, float]:
    """Return the mean share at the scale where it is largest, and the largest standard error of any scale."""
    shares = [_held(X, members[:, : size + 1], n_components) for size in sizes]
    best = max((share for share, _ in shares if not math.isnan(share)), default=math.nan)
    return best, max(error for _, error in shares)


def _held(X: Samples, members: IndexArray, n_components: int) -> tuple[float, float]:
    """Mean share of the variance of neighborhoods that lies in so many directions, and its standard error; or NaN."""
    members = _known(X, members)
    frames = Frames(members, np.empty((0, *members.shape[1:], 0)), np.empty((len(members), 0)), np.zeros(members.shape))
    _fill(X, frames, 1)
    # Neighborhoods at one place have no variance.
    shares = frames.spreads[frames.spreads[:, 0] > 0, :n_components].sum(axis=1)
    if not len(shares):
        return math.nan, math.nan
    return float(shares.mean()), float(shares.std()) / math.sqrt(len(shares))


@dataclass(frozen=True)
class Dimension:
    """How many dimensions samples have, from `hne.metrics.intrinsic_dimension`.

    Attributes
    ----------
    dimension : int
        The whole number that the likelihood tells, or the two nearest where these tell less than chance explains.
    by_likelihood : float
        Estimate from the middle and the farther neighbors; inf where these are all equally far.
    by_two_nearest : float
        Estimate from the ratio of the two nearest; inf where these are always equally far.
    is_agreed : bool
        Whether both tell the same whole number. If so, it is right nearly always; if not, it is a guess.

    See Also
    --------
    hne.metrics.intrinsic_dimension : The function that estimates it, with the equations.

    Examples
    --------
    >>> from hne.metrics import Dimension
    >>> print(Dimension(2, by_likelihood=1.92, by_two_nearest=2.07, is_agreed=True))
    2 (1.92 by likelihood, 2.07 by the two nearest: agreed)
    """

    dimension: int
    by_likelihood: float
    by_two_nearest: float
    is_agreed: bool

    def __str__(self) -> str:
        agreement = "agreed" if self.is_agreed else "not agreed"
        estimates = f"{self.by_likelihood:.2f} by likelihood, {self.by_two_nearest:.2f} by the two nearest"
        return f"{self.dimension} ({estimates}: {agreement})"


def estimated_dimension(distances: FloatArray, largest: int) -> Dimension:
    """Dimension of samples from the distances (a, m) of some of them to their m nearest others.

    Rows ascend and are positive, m is 2 or more; `largest` is what the dimension cannot exceed, such as the number of
    features. Twelve distances of some hundred samples are good.
    """
    by_likelihood, by_two_nearest = likelihood_dimension(distances), two_nearest_dimension(distances)
    wide, narrow = (
        max(1, math.ceil(min(estimate, largest) - (0.5 if estimate < CROWDED else CROWDED_PART)))
        for estimate in (by_likelihood, by_two_nearest)
    )
    is_bent = by_two_nearest * (1 + BEYOND_CHANCE / math.sqrt(len(distances))) < by_likelihood
    return Dimension(narrow if is_bent else wide, by_likelihood, by_two_nearest, is_agreed=wide == narrow)


def likelihood_dimension(distances: FloatArray) -> float:
    """The most likely dimension (Levina and Bickel 2004), of the nearest third only that they are nearer than others.

    Of samples T_1 <= .. <= T_m away, those nearer than T_m have (T / T_m)^d evenly spread in [0, 1]. With T_h the first
    that is looked at,

        (m - h) / d = sum_(h <= j < m) log(T_m / T_j) + (h - 1) log(T_m / T_h),

    which for h = 1 is their estimator. Rows are averaged by their 1 / d (MacKay and Ghahramani 2005).
    """
    a, m = distances.shape
    first = max(1, m // BLIND_SHARE)
    growth = np.log(distances[:, -1:] / distances[:, first - 1 : -1])
    total = float((growth.sum(axis=1) + (first - 1) * growth[:, 0]).sum())
    return a * (m - first) / total if total > 0 else math.inf


def two_nearest_dimension(distances: FloatArray) -> float:
    """Slope through the origin of -log(1 - F) over log(T_2 / T_1), F the share of rows with a ratio up to this one.

    Of the ratio's distribution F = 1 - (T_2 / T_1)^-d (Facco, d'Errico, Rodriguez and Laio 2017).
    """
    growth = np.sort(np.log(distances[:, 1] / distances[:, 0]))
    n_kept = len(growth) - math.ceil(len(growth) / TAIL_SHARE)
    growth = growth[:n_kept]
    depth = -np.log1p(-np.arange(1, n_kept + 1) / len(distances))
    square = float((growth**2).sum())
    return float((growth * depth).sum()) / square if square > 0 else math.inf


def dimension_of(X: Samples, distances: FloatArray, metric: Any) -> Dimension | None:
    """Dimension of samples that are all different, from distances (a, m) by the metric to the nearest others of some.

    None where too few are known.
    """
    n = X.shape[0]
    distances = distances[:, :MOST_NEIGHBORS]
    distances = distances[np.isfinite(distances).all(axis=1) & (distances[:, 0] > 0)]
    if n <= LEAST_NEIGHBORS or len(distances) < LEAST_NEIGHBORS:
        return None
    largest = n - 1 if isinstance(X, Distances) else min(n - 1, X.shape[1])
    return estimated_dimension(np.sqrt(distances) if is_squared(metric) else distances, largest)
