"""Geodesics: against Floyd's loop, on a roll that is known, and on graphs in pieces."""

import tracemalloc

import numpy as np
import pytest
import scipy.stats

from hne.datasets import make_swiss_roll
from hne.exceptions import DisconnectedGraphWarning, InputError, InputTypeError
from hne.metrics import geodesic_quality, geodesic_rank_correlation, residual_variance
from hne.metrics import geodesics as _geodesics
from tests.conftest import frozen


def path_loop(X, k):
    """Lengths of shortest paths (n, n) by Floyd's three loops over the graph of the k nearest."""
    n = len(X)
    straight = np.array([[np.linalg.norm(one - other) for other in X] for one in X])
    lengths = np.where(np.eye(n) > 0, 0.0, np.inf)
    for i in range(n):
        for j in sorted(set(range(n)) - {i}, key=lambda j, i=i: (straight[i, j], j))[:k]:
            lengths[i, j] = lengths[j, i] = straight[i, j]
    for via in range(n):
        lengths = np.minimum(lengths, lengths[:, [via]] + lengths[[via]])
    return lengths


def pair_loop(X, Y, k):
    """Lengths of paths and distances of all connected pairs."""
    paths = path_loop(X, k)
    pairs = [(i, j) for i in range(len(X)) for j in range(i) if np.isfinite(paths[i, j])]
    return [paths[pair] for pair in pairs], [np.linalg.norm(Y[i] - Y[j]) for i, j in pairs]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("k", [2, 5])
def test_all_pairs_are_compared_as_defined(seed, k):
    rng = np.random.default_rng(seed)
    X, Y = frozen(rng.random((40, 3))), frozen(rng.random((40, 2)))
    paths, distances = pair_loop(X, Y, k)
    quality = geodesic_quality(X, Y, k)
    np.testing.assert_allclose(quality.residual_variance, 1 - np.corrcoef(paths, distances)[0, 1] ** 2)
    np.testing.assert_allclose(quality.rank_correlation, scipy.stats.spearmanr(paths, distances)[0])
    assert (quality.n_pairs, quality.share_connected) == (len(paths), len(paths) / 780)
    assert (quality.n_landmarks, quality.n_neighbors, quality.search) == (40, k, "tree")


def test_several_embeddings_share_their_paths_and_are_measured_as_each_alone():
    rng = np.random.default_rng(0)
    X, Ys = rng.random((40, 3)), rng.random((2, 40, 2))
    found = _geodesics.geodesic_qualities(X, Ys, 4, 10, 3, 1)
    assert found == tuple(geodesic_quality(X, Y, 4, n_landmarks=10, random_state=3) for Y in Ys)


def test_an_unrolled_roll_follows_its_paths_and_the_roll_itself_does_not():
    roll = make_swiss_roll(800, even=True, random_state=0)
    unrolled, rolled = geodesic_quality(roll.X, roll.chart, 8), geodesic_quality(roll.X, roll.X[:, [0, 2]], 8)
    assert unrolled.residual_variance < 0.02
    assert unrolled.rank_correlation > 0.99
    assert rolled.residual_variance > 0.5
    assert residual_variance(roll.X, roll.chart, 8) == unrolled.residual_variance
    assert geodesic_rank_correlation(roll.X, roll.chart, 8) == unrolled.rank_correlation


def test_landmarks_are_near_all_pairs():
    rng = np.random.default_rng(1)
    X = rng.random((500, 3))
    Y = X[:, :2] + 0.1 * rng.random((500, 2))
    exact, estimate = geodesic_quality(X, Y), geodesic_quality(X, Y, n_landmarks=60)
    assert estimate.n_landmarks == 60
    # Each landmark with everyone, a pair of two landmarks once.
    assert estimate.n_pairs == 60 * 499 - 60 * 59 // 2
    assert estimate.residual_variance == pytest.approx(exact.residual_variance, abs=0.05)
    assert estimate.rank_correlation == pytest.approx(exact.rank_correlation, abs=0.05)
    assert geodesic_quality(X, Y, n_landmarks=60, random_state=1) != estimate


def test_neither_blocks_nor_threads_nor_units_change_a_bit(monkeypatch):
    rng = np.random.default_rng(2)
    X, Y = rng.random((300, 3)), rng.random((300, 2))
    whole = geodesic_quality(X, Y, n_landmarks=50)
    assert geodesic_quality(2.0**600 * X, 2.0**-600 * Y, n_landmarks=50, n_jobs=2) == whole
    monkeypatch.setattr(_geodesics, "BLOCK_BYTES", 1)
    assert geodesic_quality(X, Y, n_landmarks=50) == whole


def test_many_samples_have_landmarks_and_a_bounded_number_of_pairs(monkeypatch):
    monkeypatch.setattr(_geodesics, "MAX_LANDMARKS", 100)
    monkeypatch.setattr(_geodesics, "DEFAULT_LANDMARKS", 20)
    monkeypatch.setattr(_geodesics, "MAX_PAIRS", 2_000)
    X = np.random.default_rng(3).random((150, 3))
    quality = geodesic_quality(X, X)
    assert (quality.n_landmarks, quality.n_pairs) == (20, 20 * 99 - 20 * 19 // 2)


def test_copies_are_one_place():
    X = np.repeat(np.arange(6.0)[:, None], 4, axis=0)
    quality = geodesic_quality(X, X, 2)
    assert quality.share_connected == 1.0
    assert quality.residual_variance == pytest.approx(0.0, abs=1e-12)


def test_pieces_are_judged_one_by_one_and_told_of():
    line = np.arange(10.0)[:, None]
    X, Y = np.vstack([line, line + 1000]), np.vstack([line, line + 12])
    quality = geodesic_quality(X, Y, 2)
    assert quality.share_connected == pytest.approx(90 / 190)
    assert quality.residual_variance == pytest.approx(0.0, abs=1e-12)
    for function in (residual_variance, geodesic_rank_correlation):
        with pytest.warns(DisconnectedGraphWarning, match=r"got paths for 47\.4% of the pairs: .*\(now 2\)") as caught:
            function(X, Y, 2)
        assert caught[0].filename == __file__


def test_a_collapsed_embedding_has_nothing_in_common():
    X = np.random.default_rng(4).random((30, 2))
    quality = geodesic_quality(X, np.ones((30, 2)))
    assert (quality.residual_variance, quality.rank_correlation) == (1.0, 0.0)


def test_memory_stays_far_below_a_square_matrix():
    X = np.random.default_rng(5).random((3000, 2))
    tracemalloc.start()
    geodesic_quality(X, X, n_landmarks=50)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 3000 * 3000 * 8 / 4


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"n_neighbors": 4}, InputError, r"^n_neighbors=4 needs at least 5 different samples, got 4"),
        ({"n_neighbors": None}, InputTypeError, r"^n_neighbors must be an integer"),
        ({"n_landmarks": 0}, InputError, r"^n_landmarks must be at least 1, got 0"),
        ({"n_landmarks": 6}, InputError, r"^n_landmarks must be at most 2000 and n_samples=5, got 6"),
        ({"n_jobs": 0}, InputError, r"^n_jobs must be positive"),
        ({"Y": np.zeros((4, 1))}, InputError, r"^Y must have as many rows as X, got 4 and 5"),
        ({"X": np.repeat(np.eye(3), 2, axis=0)[:5]}, InputError, r"^n_neighbors=3 needs at least 4 different samples"),
    ],
)
def test_what_has_no_paths_is_refused(options, error, message):
    X = np.array([[0.0, 0.0], [0.0, 0.0], [1.0, 0.0], [2.0, 1.0], [3.0, 0.0]])
    with pytest.raises(error, match=message):
        geodesic_quality(**({"X": X, "Y": X, "n_neighbors": 3} | options))


def test_paths_of_one_length_tell_nothing():
    with pytest.raises(InputError, match=r"paths of different lengths .*, got 3 pairs, all of one length\. Raise"):
        geodesic_quality(2 * np.eye(3), np.eye(3), 2)


def test_pairs_without_any_path_are_refused(monkeypatch):
    monkeypatch.setattr(_geodesics, "MAX_PAIRS", 2)
    X = np.array([[0.0], [1.0], [100.0], [101.0]])
    # One landmark, one target: with this seed of the other piece.
    seed = next(seed for seed in range(99) if set(np.random.RandomState(seed).permutation(4)[:2]) == {0, 2})
    with pytest.raises(InputError, match=r"paths of different lengths between samples, got none\. Raise n_neighbors"):
        geodesic_quality(X, X, 1, n_landmarks=1, random_state=seed)
