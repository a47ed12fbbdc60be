"""Tangent scores: frames keep what an affine map keeps, corrections give lengths back, ranks are the known ones."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist, pdist, squareform
from sklearn.manifold import trustworthiness

from hne.core.samples.check import check_samples
from hne.core.samples.kinds import Distances
from hne.core.tangent.frames import Frames, frames_among, is_measurable
from hne.core.tangent.score import TangentScorer, repeated_share
from hne.datasets import make_cube, make_swiss_roll
from hne.exceptions import InputError
from hne.metrics import affine_errors, continuity, tangent_score
from hne.metrics import trustworthiness as own_trustworthiness
from hne.settings import Settings

BY_DISTANCE = Settings(metric="precomputed")


@pytest.fixture(scope="module")
def roll():
    return make_swiss_roll(600, random_state=4)


def loop_loss(X, Y, k):
    """Tangent loss by its definition, sample by sample, with matrices that nobody batched."""
    losses = []
    for i in range(len(X)):
        near = np.argsort(np.linalg.norm(X - X[i], axis=1), kind="stable")[: k + 1]
        left, _, _ = np.linalg.svd(X[near] - X[near].mean(axis=0), full_matrices=False)
        U, own = left[:, : Y.shape[1]], Y[near] - Y[near].mean(axis=0)
        projection = own @ np.linalg.pinv(own.T @ own, rcond=1e-10) @ own.T
        losses.append(1 - np.trace(U.T @ projection @ U) / Y.shape[1])
    return np.mean(losses)


def test_the_tangent_loss_is_that_of_its_definition(roll):
    Y = roll.X[:, [0, 2]] + 0.1 * roll.chart
    scorer = TangentScorer.from_samples(roll.X, Settings())
    assert scorer.tangent_loss(Y) == pytest.approx(loop_loss(roll.X, Y, 8), abs=1e-9)
    assert scorer.tangent_loss(Y) > 0.01


def test_three_dimensions_have_larger_frames():
    cube = make_cube(200, random_state=1)
    scorer = TangentScorer.from_samples(cube.X, Settings(n_components=3))
    assert scorer.frames.members.shape == (200, 13)
    Y = cube.chart * cube.chart[:, :1]
    assert scorer.tangent_loss(Y) == pytest.approx(loop_loss(cube.X, Y, 12), abs=1e-9)


@pytest.mark.parametrize("kind", ["sparse", "distances", "sparse distances"])
def test_frames_are_the_same_whatever_samples_are_known_by(roll, kind):
    plain = TangentScorer.from_samples(roll.X, Settings()).frames
    known = {
        "sparse": (csr_array(roll.X), "euclidean"),
        "distances": (Distances(squareform(pdist(roll.X))), "precomputed"),
        "sparse distances": (check_samples(csr_array(squareform(pdist(roll.X))), BY_DISTANCE), "precomputed"),
    }
    X, metric = known[kind]
    other = TangentScorer.from_samples(X, Settings(metric=metric)).frames
    assert (other.members == plain.members).all()
    assert np.allclose(other.S, plain.S, rtol=1e-6)
    planes = np.abs(np.linalg.det(plain.U.transpose(0, 2, 1) @ other.U))
    assert np.allclose(planes, 1.0, atol=1e-5)


@pytest.mark.parametrize("unit", [1.0, 2.0**-290, 2.0**290])
@pytest.mark.parametrize("n_features", [1, 2, 3, 5, 8, 40])
def test_frames_have_the_directions_and_lengths_of_singular_vectors(n_features, unit):
    rng = np.random.default_rng(n_features)
    X = rng.normal(size=(50, n_features)) * 2.0 ** -np.arange(n_features)
    members = np.array([rng.choice(50, 9, replace=False) for _ in range(20)])
    d = min(3, n_features)
    found = frames_among(X * unit, members, d)
    for row, ids in enumerate(members):
        left, lengths, _ = np.linalg.svd(X[ids] - X[ids].mean(axis=0), full_matrices=False)
        np.testing.assert_allclose(found.S[row], lengths[:d] * unit, rtol=1e-7)
        np.testing.assert_allclose(np.abs(np.sum(found.U[row] * left[:, :d], axis=0)), 1.0, atol=1e-7)
        shares = lengths**2 / (lengths**2).sum()
        np.testing.assert_allclose(found.spreads[row, : len(shares)], shares, atol=1e-12)
        assert found.spreads[row].sum() == pytest.approx(1.0)


def test_samples_on_a_line_or_at_one_place_have_frames_with_fewer_lengths():
    for X, n_lengths in ((np.outer(np.arange(12.0), [3.0, 4.0, 0.0]), 1), (np.ones((12, 3)), 0)):
        found = frames_among(X, np.arange(12)[None, :9], 2)
        assert np.count_nonzero(found.S) == n_lengths
        assert np.isfinite(found.U).all()
        assert (found.U[0, :, n_lengths:] == 0).all()


def test_the_score_is_blind_to_affine_maps_and_to_units(roll):
    plain = tangent_score(roll.X, roll.X[:, :2])
    other = tangent_score(1024 * roll.X, roll.X[:, :2] @ [[3.0, 1.0], [-2.0, 0.5]] + 7)
    assert other.score == pytest.approx(plain.score, abs=1e-6)
    assert plain.score > 0.05


def test_the_correction_gives_the_lengths_back(roll):
    squeezed = roll.chart @ np.array([[0.02, 0.0], [0.01, -0.3]]) + 5
    found = tangent_score(roll.X, squeezed)
    ratios = pdist(squeezed @ found.correction) / pdist(roll.chart)
    assert np.median(np.abs(ratios - 1)) < 0.02
    # Along the principal axes, the longest first.
    moved = squeezed @ found.correction
    spread = np.cov((moved - moved.mean(axis=0)).T)
    assert spread[0, 0] > spread[1, 1]


@pytest.mark.parametrize("factor", [2.0**-1000, 2.0**900])
def test_extreme_units_of_X_come_back_in_the_correction(roll, factor):
    plain, other = tangent_score(roll.X, roll.chart), tangent_score(roll.X * factor, roll.chart)
    assert np.allclose(other.correction / factor, plain.correction, rtol=1e-6)


def test_a_whitened_embedding_is_laid_along_its_axes(roll):
    white, _ = np.linalg.qr(roll.chart - roll.chart.mean(axis=0))
    A = TangentScorer.from_samples(roll.X, Settings()).frames.correction(white)[0]
    assert abs(A[:, 0] @ A[:, 1]) < 1e-9 * np.linalg.norm(A[:, 0]) * np.linalg.norm(A[:, 1])
    assert np.linalg.norm(A[:, 0]) > np.linalg.norm(A[:, 1])


def test_what_has_fewer_dimensions_is_drawn_thin():
    t = np.linspace(0, 3, 200)
    arc = np.column_stack([np.cos(t), np.sin(t), 0 * t])
    line = np.outer(t, [3.0, 4.0, 0.0])
    white = np.column_stack([t - t.mean(), np.sin(9 * t)])
    for X in (arc, line):
        moved = white @ TangentScorer.from_samples(X, Settings()).frames.correction(white)[0]
        lengths = np.ptp(moved, axis=0)
        assert lengths[1] < (0.05 if X is arc else 0.2) * lengths[0]
        assert lengths[0] == pytest.approx(3 if X is arc else 15, rel=0.06)


def test_ranks_are_those_of_the_measures(roll):
    Y = roll.X[:, :2].copy()
    scorer = TangentScorer.from_samples(roll.X, Settings())
    rows = scorer.ranks.rows
    # Over all rows the numbers are those of scikit-learn; over some, near them.
    assert scorer.ranks.kept(Y)[0] == pytest.approx(trustworthiness(roll.X, Y, n_neighbors=10), abs=0.05)
    ranks = np.argsort(np.argsort(cdist(roll.X[rows], roll.X), axis=1), axis=1)
    assert (np.argsort(np.argsort(scorer.ranks.away, axis=1), axis=1) == ranks).all()


def test_of_few_samples_all_are_ranked():
    X = make_swiss_roll(100, random_state=1).X
    kept = TangentScorer.from_samples(X, Settings()).ranks.kept(X[:, :2])
    assert kept[0] == pytest.approx(own_trustworthiness(X, X[:, :2], n_neighbors=10))
    assert kept[1] == pytest.approx(continuity(X, X[:, :2], n_neighbors=10))


def test_the_score_tells_right_from_wrong(roll):
    right, end, parabola = roll.chart, roll.X[:, [0, 2]], roll.chart[:, [0]] ** [1, 2]
    scores = [tangent_score(roll.X, Y).score for Y in (right, end, parabola)]
    assert scores[0] < 0.003
    assert min(scores[1:]) > 0.1


def test_a_collapse_is_no_error_and_scores_badly(roll):
    Y = np.where(roll.chart[:, :1] > roll.chart[:, 0].mean(), 1.0, 0.0) * [1.0, -1.0]
    found = tangent_score(roll.X, Y)
    assert np.isfinite(found.score)
    assert found.tangent_loss > 0.4


def test_many_samples_are_measured_by_some():
    roll = make_swiss_roll(2500, random_state=0)
    scorer = TangentScorer.from_samples(roll.X, Settings())
    assert len(scorer.frames.members[:, 0]) == 2000
    assert (np.diff(scorer.frames.members[:, 0]) > 0).all()
    assert scorer.measure(roll.chart).score < 1e-3


def test_copies_count_once(roll):
    twice = np.concatenate([roll.X, roll.X[:50]])
    Y = np.concatenate([roll.X[:, :2], roll.X[:50, :2]])
    assert tangent_score(twice, Y).score == pytest.approx(tangent_score(roll.X, roll.X[:, :2]).score, abs=1e-9)


def test_threads_change_nothing(roll, monkeypatch):
    monkeypatch.setattr("hne._runtime.threads.ROWS_AT_ONCE", 50)
    monkeypatch.setattr("hne.core.tangent.score.THREAD_DISTANCES", 10_000)
    one, two = (tangent_score(roll.X, roll.X[:, :2], n_jobs=jobs) for jobs in (1, 2))
    assert one.score == two.score
    assert (one.correction == two.correction).all()


def test_frames_among_chosen_samples_have_no_others(roll):
    frames = TangentScorer.from_samples(roll.X, Settings()).frames
    chosen = roll.chart[:, 0] > np.median(roll.chart[:, 0])
    inside = frames.among(chosen)
    assert isinstance(inside, Frames)
    assert 0 < len(inside.members) < chosen.sum()
    assert chosen[inside.members].all()


@pytest.mark.parametrize(
    ("rows", "columns", "message"),
    [(10, 2, "at least 18 different samples for 2 coordinates, got 10"), (600, 0, "Y must have")],
)
def test_what_cannot_be_scored_is_refused(roll, rows, columns, message):
    with pytest.raises(InputError, match=message):
        tangent_score(roll.X[:rows], roll.X[:rows, :columns])


def test_coordinates_that_are_nan_are_told_by_nothing_and_crash_nothing():
    assert repeated_share(np.full((30, 2), np.nan)) == 0


def test_enough_samples_are_twice_a_frame():
    assert is_measurable(18, 2)
    assert not is_measurable(17, 2)


def test_a_noisy_truth_is_still_told_by_the_error(roll):
    # What the score stands for: the affine error that nobody knows.
    ladder = [
        roll.chart + amount * np.column_stack([np.zeros(600), roll.chart[:, 0] ** 2]) for amount in (0, 1e-3, 1e-1)
    ]
    errors = [affine_errors(Y, roll.chart).mean() for Y in ladder]
    scores = [tangent_score(roll.X, Y).score for Y in ladder]
    assert errors[0] < errors[1] < errors[2]
    assert scores[0] <= scores[1] < scores[2]
