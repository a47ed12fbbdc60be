"""transform: fitted samples keep their coordinates, new ones minimize their share of the objective, row by row."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist, pdist
from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsClassifier

from hne import HNE, PUBLISHED
from hne.datasets import make_swiss_roll
from hne.exceptions import InputError
from hne.metrics import affine_errors
from hne.settings import VARIANTS
from tests.conftest import frozen, one_fast
from tests.helpers import reference


@pytest.fixture(scope="module")
def digits():
    """Images of 1000 digits and a layout of them, and 797 more images; both with their classes."""
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(X))
    X, y = frozen(X[order]), frozen(y[order])
    return HNE().fit(X[:1000]), X[:1000], y[:1000], X[1000:], y[1000:]


@pytest.mark.parametrize("coordinates", ["chart", "layout"])
@pytest.mark.parametrize("variant", one_fast(*VARIANTS))
def test_a_training_row_returns_exactly_its_own_coordinates(roll, variant, coordinates):
    model = HNE(variant=variant, coordinates=coordinates).fit(roll.X)
    np.testing.assert_array_equal(model.transform(roll.X[::-1]), model.embedding_[::-1])


@pytest.mark.parametrize("coordinates", ["chart", "eigenvectors"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_a_new_sample_minimizes_its_share_of_the_objective(cloud, variant, coordinates):
    gamma, x = 0.7, np.array([0.1, -0.2, 0.3])
    model = HNE(6, variant=variant, gamma=gamma, reg=1e-3, short_circuits="keep", coordinates=coordinates).fit(cloud)
    own = np.argsort(np.linalg.norm(cloud - x, axis=1))[:6]
    lists = reference.neighbors(cloud, 6)
    w = reference.affine(cloud[own], x, 1e-3)
    j = reference.ROWS[variant](cloud, reference.outer_lists(lists, own, None), own, x, w, 1e-3)
    inner, outer = w @ model.embedding_[own], j @ model.embedding_
    expected = (gamma * inner + outer) / (gamma + 1)
    np.testing.assert_allclose(model.transform(x[None])[0], expected, atol=1e-9)


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_new_sample_minimizes_its_part_of_the_loss_of_a_layout(cloud, variant):
    gamma = 0.7
    model = HNE(6, variant=variant, gamma=gamma, reg=1e-3, coordinates="layout").fit(cloud)
    # The distance at which the similarity of two samples is one half.
    unit = model._fitted.units.restore_lengths(model._fitted.core.layout_unit)
    Y, lists = model.embedding_ / unit, reference.neighbors(cloud, 6)
    Z = (1 / (1 + pdist(Y) ** 2)).sum() * 2
    for x in np.random.default_rng(1).normal(size=(6, 3)):
        own = np.argsort(np.linalg.norm(cloud - x, axis=1))[:6]
        w = np.zeros(60)
        w[own] = reference.affine(cloud[own], x, 1e-3)
        j = reference.ROWS[variant](cloud, reference.outer_lists(lists, own, None), own, x, w[own], 1e-3)
        w, j = (np.maximum(row, 0) / np.maximum(row, 0).sum() for row in (w, j))
        p = (gamma * w + j) / (gamma + 1)

        def attraction(y, p=p):
            return p @ np.log1p(((Y - y) ** 2).sum(axis=1))

        def loss(y, p=p):
            return attraction(y, p) + len(Y) / Z * (1 / (1 + ((Y - y) ** 2).sum(axis=1))).sum()

        start = min(Y[p > 0], key=attraction)
        bounds = list(zip(Y.min(axis=0), Y.max(axis=0), strict=True))
        placed = model.transform(x[None])[0] / unit
        # The nearest of several minima. Where the loss is flat, fifty steps come no nearer.
        best = minimize(loss, placed, bounds=bounds)
        assert loss(placed) - best.fun < 0.05 * (loss(start) - best.fun)


def test_held_out_digits_land_among_their_class(digits):
    model, X, y, new, classes = digits
    assert model.coordinates_ == "layout"
    in_layout = KNeighborsClassifier().fit(model.embedding_, y).score(model.transform(new), classes)
    assert in_layout > KNeighborsClassifier().fit(X, y).score(new, classes) - 0.02


def test_digits_are_reconstructed_from_a_layout(digits):
    model, X, _, new, _ = digits
    np.testing.assert_allclose(model.inverse_transform(model.embedding_[:50]), X[:50])
    errors = np.linalg.norm(model.inverse_transform(model.transform(new)) - new, axis=1)
    assert errors.mean() < 0.7 * np.linalg.norm(new - X.mean(axis=0), axis=1).mean()


@pytest.mark.parametrize("n_components", [1, 2, 3])
def test_samples_are_placed_in_a_layout_one_by_one_to_the_bit(cloud, n_components):
    model, new = HNE(n_components=n_components, coordinates="layout").fit(cloud), frozen(cloud[:20] + 0.1)
    together = model.transform(new)
    np.testing.assert_array_equal(together, np.vstack([model.transform(row[None]) for row in new]))
    np.testing.assert_array_equal(together[::-1], model.transform(new[::-1]))


# All pairs are summed for few samples, and repulsion is interpolated for many.
@pytest.mark.parametrize("n", [50, 700])
def test_new_samples_are_placed_where_only_the_largest_component_has_a_layout(n):
    rng = np.random.default_rng(0)
    near, far = rng.normal(size=(n, 3)), rng.normal(size=(20, 3)) - 100
    model = HNE(5, coordinates="layout", pieces="largest").fit(np.vstack([near, far]))
    # With few neighbors a row has fewer weights than it has room for; rows of the smaller component come first.
    placed = model.transform(near[:10] + 0.01)
    assert np.linalg.norm(placed - model.embedding_[:10], axis=1).max() < np.ptp(model.embedding_[:n, 0]) / 4
    assert np.isnan(model.transform(far[:10] + 0.01)).all()
    both = model.transform(np.vstack([near[:1], far[:1]]) + 0.01)
    np.testing.assert_array_equal(np.isnan(both[:, 0]), [False, True])


@pytest.mark.parametrize("coordinates", ["chart", "layout"])
@pytest.mark.parametrize("variant", one_fast(*VARIANTS))
@pytest.mark.parametrize("n_features", [3, 40])
def test_rows_are_placed_on_their_own_to_the_bit(roll, variant, n_features, coordinates):
    lift = np.random.default_rng(1).normal(size=(3, n_features))
    model = HNE(variant=variant, coordinates=coordinates).fit(roll.X @ lift)
    new = frozen(make_swiss_roll(12, random_state=9).X @ lift)
    together = model.transform(new)
    np.testing.assert_array_equal(together, np.vstack([model.transform(row[None]) for row in new]))
    np.testing.assert_array_equal(together[::-1], model.transform(new[::-1]))


@pytest.mark.parametrize("variant", one_fast(*VARIANTS))
def test_new_samples_land_where_a_fit_of_all_would_put_them(variant):
    data = make_swiss_roll(1400, random_state=5)
    for settings in ({}, PUBLISHED | {"n_neighbors": 8, "reg": 1e-5}):
        model = HNE(**settings | {"variant": variant}).fit(data.X[:800])
        placed = model.transform(data.X[800:])
        fitted = affine_errors(model.embedding_, data.chart[:800]).max()
        assert affine_errors(placed, data.chart[800:]).max() < 1.5 * fitted + 1e-4


@pytest.mark.parametrize("scale", one_fast(1e-200, 1e200))
def test_new_samples_come_in_the_units_of_the_fitted_ones(roll, scale):
    model = HNE().fit(roll.X * scale)
    np.testing.assert_array_equal(model.transform(roll.X[:5] * scale), model.embedding_[:5])
    near = HNE().fit(roll.X).transform(roll.X[:5] + 0.1)
    placed = model.transform((roll.X[:5] + 0.1) * scale)
    np.testing.assert_allclose(np.abs(placed / scale), np.abs(near), atol=1e-4)
    published, plain = (HNE(**PUBLISHED).fit(roll.X * unit) for unit in (scale, 1.0))
    near, placed = plain.transform(roll.X[:5] + 0.1), published.transform((roll.X[:5] + 0.1) * scale)
    np.testing.assert_allclose(np.abs(placed), np.abs(near), atol=1e-4)


def test_samples_beyond_all_reason_are_refused(roll):
    with pytest.raises(InputError, match=r"X must be within 3e\+150 of the fitted samples"):
        HNE().fit(roll.X).transform(np.full((1, 3), 1e200))


def test_no_samples_to_place_is_an_error_of_ours(roll):
    with pytest.raises(InputError, match=r"X must have samples, got 0 sample\(s\) \(shape=\(0, 3\)\)\. Pass at least"):
        HNE().fit(roll.X).transform(np.empty((0, 3)))


def test_of_exact_copies_the_first_ones_place_is_returned(roll):
    copied = np.vstack([roll.X, roll.X[:3]])
    model = HNE().fit(copied)
    np.testing.assert_array_equal(model.transform(copied[-3:]), model.embedding_[:3])


def test_a_sample_far_away_is_placed_somewhere_finite(roll):
    assert np.isfinite(HNE().fit(roll.X).transform(np.full((1, 3), 1e9))).all()


def test_samples_closer_than_their_squares_can_tell_are_still_told_apart():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    X[:12] = 1e-170 * rng.normal(size=(12, 3))
    model = HNE().fit(X)
    np.testing.assert_array_equal(model.transform(X), model.embedding_)


def test_sparse_samples_closer_than_their_squares_can_tell_are_still_told_apart():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    X[:12] = 1e-170 * rng.normal(size=(12, 3))
    model = HNE().fit(csr_array(X))
    np.testing.assert_array_equal(model.transform(csr_array(X)), model.embedding_)


def test_points_are_lifted_to_sparse_samples(cloud):
    model = HNE().fit(csr_array(cloud))
    lifted = model.inverse_transform(model.embedding_)
    np.testing.assert_allclose(lifted.toarray(), cloud, atol=1e-12)


def test_a_new_sample_beside_an_isolated_one_takes_its_place():
    X = np.vstack([np.random.default_rng(0).normal(size=(30, 2)), [[1e6, 1e6]]])
    model = HNE().fit(X)
    np.testing.assert_allclose(model.transform([[1e6, 1e6 + 1]]), model.embedding_[-1:])


def test_a_new_sample_on_the_border_of_a_piece_is_placed_among_the_samples_of_that_piece():
    rng = np.random.default_rng(0)
    home, away = rng.normal(size=(8, 2)), rng.normal(size=(30, 2)) + np.array([3.0, 0.0])
    # A graph of two pieces that touch: some of the nearest samples are in the other piece.
    lists = [np.argsort(np.linalg.norm(piece - x, axis=1))[1:5] for piece in (home, away) for x in piece]
    indices = np.array(lists) + np.repeat([0, 8], [8, 30])[:, None]
    chart = {"coordinates": "chart"}
    model = HNE(4, neighbors=(indices, None), **chart).fit(np.vstack([home, away]))
    border = away[np.argmin(away[:, 0])] - [0.01, 0.0]
    assert (np.argsort(np.linalg.norm(np.vstack([home, away]) - border, axis=1))[:4] < 8).any()
    alone = HNE(4, neighbors=(indices[8:] - 8, None), **chart).fit(away)
    placed, expected = model.transform([border]), alone.transform([border])
    # The piece keeps its shape in the layout, so an affine map takes one placement to the other: a turn and a shift.
    fit, *_ = np.linalg.lstsq(np.column_stack([alone.embedding_, np.ones(30)]), model.embedding_[8:])
    np.testing.assert_allclose(placed, np.column_stack([expected, [1.0]]) @ fit, atol=1e-9)
    np.testing.assert_allclose(fit[:2] @ fit[:2].T, np.eye(2), atol=1e-9)


def test_a_point_beside_an_isolated_samples_place_is_lifted_to_it():
    X = np.vstack([np.random.default_rng(0).normal(size=(30, 2)), [[1e6, 1e6]]])
    model = HNE().fit(X)
    np.testing.assert_allclose(model.inverse_transform(model.embedding_[-1:] + 1e-9), X[-1:])


def test_distances_to_nobody_are_refused_by_row(cloud):
    D = cdist(cloud, cloud)
    model = HNE(metric="precomputed").fit(D)
    with pytest.raises(InputError, match="X must hold the distance to one fitted sample at least, got none in row 1"):
        model.transform(csr_array(np.vstack([D[0], np.zeros(60)])))
