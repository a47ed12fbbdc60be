"""Projection: the oracle's directions for both constraints, within the span of the samples, row by row."""

import numpy as np
import pytest
from hypothesis import assume, given
from scipy.linalg import eigh, subspace_angles
from scipy.stats import ortho_group

from hne.core.eigen.alignment import alignment
from hne.core.neighbors.graph import knn_graph
from hne.core.samples.canonical import InputScaling
from hne.core.weights.layers import layer_weights
from hne.estimators.projection import CONSTRAINTS, in_units_of_data, preimage, project, projection, span_of
from hne.exceptions import InputError
from hne.settings import VARIANTS, Settings
from tests.conftest import frozen, lattice_clouds
from tests.helpers import reference


def aligned(X, k=4, gamma=1.0, **parameters):
    settings = Settings(n_neighbors=k, **parameters)
    return alignment(layer_weights(X, knn_graph(X, k), settings), gamma)


def oracle(X, variant, d, constraint, gamma, k=4):
    """Values and P of the dense generalized problem Xc' G Xc p = lambda C p, with C = Xc' Xc or I."""
    W, J = reference.weights(X, reference.neighbors(X, k), variant, 1e-4, 1e-4)
    A, B, Xc = np.eye(len(X)) - W, np.eye(len(X)) - J, X - X.mean(axis=0)
    objective = Xc.T @ (gamma * A.T @ A + B.T @ B) @ Xc
    metric = Xc.T @ Xc if constraint == "uncorrelated" else np.eye(X.shape[1])
    values, vectors = eigh(objective, metric)
    return values[:d], vectors[:, :d]


@pytest.fixture
def wide_cloud():
    """Forty points in general position in five dimensions of unequal spread, away from the origin."""
    return frozen(np.random.default_rng(1).normal(size=(40, 5)) * [3, 2, 1, 0.5, 0.2] + [1, -2, 3, 0, 5])


@pytest.mark.parametrize("gamma", [0.5, 1.0])
@pytest.mark.parametrize("constraint", CONSTRAINTS)
@pytest.mark.parametrize("variant", VARIANTS)
def test_the_projection_is_the_oracles(wide_cloud, variant, constraint, gamma):
    found = projection(aligned(wide_cloud, variant=variant, gamma=gamma), wide_cloud, 2, constraint)
    values, P = oracle(wide_cloud, variant, 3, constraint, gamma)
    np.testing.assert_allclose(found.values, values[:2], rtol=1e-7)
    assert found.next_value == pytest.approx(values[2], rel=1e-7)
    assert subspace_angles(found.components.T, P[:, :2]).max() < 1e-6
    for row, column in zip(found.components, P.T, strict=False):
        assert subspace_angles(row[:, None], column[:, None]).max() < 1e-6
    assert found.is_resolved


@pytest.mark.parametrize("constraint", CONSTRAINTS)
@given(X=lattice_clouds(min_samples=8))
def test_any_cloud_is_mapped_as_its_constraint_says_at_the_price_that_is_told(constraint, X):
    assume(np.ptp(X, axis=0).any())
    G = aligned(X, k=3)
    found = projection(G, X, len(span_of(X).lengths), constraint)
    Y = project(X, found.mean, found.components)
    constrained = Y if constraint == "uncorrelated" else found.components.T
    np.testing.assert_allclose(constrained.T @ constrained, np.eye(found.rank), atol=1e-9)
    np.testing.assert_allclose(Y.mean(axis=0), 0, atol=1e-10)
    np.testing.assert_allclose((G.stacked(Y) ** 2).sum(axis=0), found.values, atol=1e-10 * found.values.max())
    assert (np.diff(found.values) >= 0).all()
    assert found.next_value == np.inf
    np.testing.assert_allclose(preimage(Y, found.mean, found.loadings), X, atol=1e-9)


def test_the_largest_coordinate_of_each_column_is_positive(wide_cloud):
    found = projection(aligned(wide_cloud), wide_cloud, 4, "uncorrelated")
    Y = project(wide_cloud, found.mean, found.components)
    np.testing.assert_array_equal(Y.max(axis=0), np.abs(Y).max(axis=0))


@pytest.mark.parametrize("shape", [(50, 10), (10, 50)], ids=["tall", "wide"])
def test_the_span_is_the_decomposition_of_the_centered_samples(shape):
    X = np.random.default_rng(0).normal(size=shape) + 3
    span = span_of(X)
    assert len(span.lengths) == min(shape[0] - 1, shape[1])
    np.testing.assert_allclose((span.left * span.lengths) @ span.directions + span.mean, X, atol=1e-12)
    for rows in (span.left.T, span.directions):
        np.testing.assert_allclose(rows @ rows.T, np.eye(len(rows)), atol=1e-12)


@pytest.mark.parametrize("shift", [0.0, 1e4, 1e8])
def test_rounding_adds_no_directions_to_a_plane_however_far_from_the_origin(shift):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(300, 2)) @ rng.normal(size=(2, 10)) + shift
    assert len(span_of(X).lengths) == 2


def test_a_narrow_feature_beside_one_far_from_the_origin_is_kept():
    rng = np.random.default_rng(3)
    X = np.column_stack([1.7e9 + 1e5 * rng.normal(size=200), 1e-7 * rng.normal(size=200)])
    assert len(span_of(X).lengths) == 2


def test_samples_that_differ_in_their_last_digit_span_a_line():
    X = np.full((20, 2), 1e16)
    X[::2] += 2
    assert len(span_of(X).lengths) == 1


def test_values_keep_digits_that_the_product_of_matrices_has_lost():
    """Two neighbors rebuild the long direction to 1e-10 of its length: the square is nothing beside the others' 1."""
    rng = np.random.default_rng(4)
    X = np.column_stack([np.arange(60.0) + 0.3 * rng.random(60), 1e-5 * rng.normal(size=(60, 6))])
    G = aligned(X, k=2, reg=1e-12)
    # The maps of whitened and turned samples are those of X, but no direction stands out any more.
    whitened = span_of(X).left @ ortho_group.rvs(7, random_state=0)
    found = projection(G, whitened, 1, "uncorrelated")
    y = project(whitened, found.mean, found.components)
    assert found.values[0] < 1e-18
    assert found.values[0] == pytest.approx((G.stacked(y) ** 2).sum(), rel=1e-4)


def test_more_components_than_dimensions_are_refused_with_both_numbers():
    X = np.random.default_rng(5).normal(size=(30, 2)) @ np.ones((2, 6))
    X[:, 3] = np.arange(30) ** 2
    match = r"n_components=3 needs samples that span at least 3 dimensions, got 2\. Lower n_components\."
    with pytest.raises(InputError, match=match):
        projection(aligned(X), X, 3, "uncorrelated")


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("n_features", [1, 3, 17, 600])
def test_the_bits_of_a_row_do_not_depend_on_the_others_or_on_memory_order(n_features, order):
    rng = np.random.default_rng(6)
    X, mean, components = (
        rng.normal(size=(5000, n_features)),
        rng.normal(size=n_features),
        rng.normal(size=(3, n_features)),
    )
    Y = project(np.asarray(X, order=order), mean, components)
    np.testing.assert_allclose(Y, (X - mean) @ components.T, atol=1e-11)
    for rows in (slice(7, 8), slice(4990, 5000), slice(1, 4000, 3)):
        np.testing.assert_array_equal(project(X[rows], mean, components), Y[rows])


def test_lifted_coordinates_are_the_loadings_from_the_mean():
    loadings, mean = np.array([[3.0, 4.0]]), np.array([1.0, 1.0])
    np.testing.assert_allclose(preimage(np.array([[2.0]]), mean, loadings), [[7.0, 9.0]])


def test_coordinates_beyond_float64_are_refused_by_row():
    with pytest.raises(InputError, match=r"X must have coordinates that float64 can hold, got .* 1\.0e\+308 in row 1"):
        project(np.array([[1.0], [1e308]]), np.zeros(1), np.array([[1e10]]))


def test_units_come_out_of_the_map_and_leave_its_constraint(wide_cloud):
    scale, origin = 2.0**400, np.full(5, 0.5)
    inside = (wide_cloud - origin) * 2.0
    for constraint in CONSTRAINTS:
        found = projection(aligned(inside), inside, 2, constraint)
        given = in_units_of_data(found, InputScaling(origin=origin, scale=2.0))
        Y = project(wide_cloud, given.mean, given.components)
        constrained = Y if constraint == "uncorrelated" else given.components.T
        np.testing.assert_allclose(constrained.T @ constrained, np.eye(2), atol=1e-12)
        np.testing.assert_allclose((aligned(inside).stacked(Y) ** 2).sum(axis=0), given.values, rtol=1e-9)
        assert in_units_of_data(found, InputScaling()) is found
    far = in_units_of_data(projection(aligned(inside), inside, 2, "orthonormal"), InputScaling(origin, 1 / scale))
    assert np.isfinite(far.components).all()


@pytest.mark.parametrize("exponent", [-1015, 1015])
def test_components_that_float64_cannot_hold_are_refused(wide_cloud, exponent):
    found = projection(aligned(wide_cloud), wide_cloud, 2, "uncorrelated")
    with pytest.raises(InputError, match=r"spread whose inverse float64 can hold, got components of 2\*\*-?10"):
        in_units_of_data(found, InputScaling(origin=np.zeros(5), scale=2.0**exponent))


def test_the_record_is_a_line(wide_cloud):
    found = projection(aligned(wide_cloud), wide_cloud, 2, "uncorrelated")
    assert str(found) == "5 features to 2, uncorrelated, of 5 spanned"


def test_spreads_a_billion_apart_still_have_a_way_back():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 2)) * [1.0, 1e12]
    found = projection(alignment(layer_weights(X, knn_graph(X, 4), Settings()), 1.0), X, 2, "orthonormal")
    Y = project(X, found.mean, found.components)
    np.testing.assert_allclose(preimage(Y, found.mean, found.loadings), X, rtol=1e-9, atol=1e-2)
    np.testing.assert_allclose(found.components @ found.loadings.T, np.eye(2), atol=1e-3)


def test_points_beyond_float64_are_lifted_to_infinity_without_further_ado():
    assert preimage(np.array([[1e10]]), np.zeros(1), np.array([[1e300]])) == np.inf
