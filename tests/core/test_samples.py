"""Samples: kinds that agree, copies that share a place, and units that float64 bears."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist

from hne import HNE, PUBLISHED
from hne.core.samples import canonical as _distinct
from hne.core.samples.canonical import InputScaling, check_within_reach, unique_samples
from hne.core.samples.kinds import Distances, gram_of_distances, gram_of_sparse, lengths_between, row_lengths, width
from hne.exceptions import InputError
from tests.conftest import frozen, lattice_clouds


def stored(distances, kept):
    """Distances of which some are known."""
    rows, columns = np.nonzero(kept)
    return Distances(csr_array((distances[rows, columns], (rows, columns)), shape=distances.shape))


@given(lattice_clouds(min_samples=8), st.integers(0, 99))
def test_all_kinds_give_the_gram_matrix_of_the_coordinates_up_to_its_unit(X, seed):
    rng = np.random.default_rng(seed)
    ids = np.array([rng.choice(8, 4, replace=False) for _ in range(3)])
    targets = X[5:8]
    differences = X[ids] - targets[:, None, :]
    expected = differences @ differences.transpose(0, 2, 1)
    distances = Distances(cdist(X, X))
    from_distances, unit = gram_of_distances(distances, distances[5:8], ids)
    sparse, sparse_unit = gram_of_sparse(csr_array(X), csr_array(targets), ids)
    for row in range(3):
        scale = np.trace(expected[row])
        for gram in (from_distances[row], sparse[row]):
            if scale == 0:
                assert np.abs(gram).max() < 1e-12
            else:
                np.testing.assert_allclose(gram / np.trace(gram), expected[row] / scale, atol=1e-12)
        difference = X[ids[row]] - targets[row]
        np.testing.assert_allclose(sparse[row] * sparse_unit[row] ** 2, difference @ difference.T, atol=1e-9)
        np.testing.assert_allclose(from_distances[row] * unit[row] ** 2, difference @ difference.T, atol=1e-10)


def test_distances_of_no_euclidean_space_give_a_gram_matrix_all_the_same():
    # A square whose diagonals are too long: no points have these distances.
    D = np.array([[0.0, 1, 3, 1], [1, 0, 1, 3], [3, 1, 0, 1], [1, 3, 1, 0]])
    K, _ = gram_of_distances(Distances(D), Distances(D[:1]), np.array([[1, 2, 3]]))
    assert np.linalg.eigvalsh(K[0]).min() > -1e-14
    assert np.linalg.eigvalsh((D[0, 1:, None] ** 2 + D[0, None, 1:] ** 2 - D[1:, 1:] ** 2) / 2).min() < -1


def test_distances_are_looked_up_and_unknown_ones_are_nan(cloud):
    D = cdist(cloud, cloud)
    known = np.median(D) > D
    some = stored(D, known)
    rows, columns = np.arange(60)[:, None], np.arange(60)[None, :]
    np.testing.assert_array_equal(some.at(rows, columns), np.where(known, D, np.nan))
    np.testing.assert_array_equal(Distances(D).at(rows, columns), D)
    order = np.random.default_rng(0).permutation(60)[:20]
    np.testing.assert_array_equal(
        some.among(order).at(rows, columns[:, :20]), np.where(known[:, order], D[:, order], np.nan)
    )
    assert np.isnan(stored(D, np.zeros_like(known)).at(rows, columns)).all()


def test_a_graph_that_knows_too_few_distances_is_refused_with_the_remedy(cloud):
    D = cdist(cloud, cloud)
    some = stored(D, np.sort(D, axis=1)[:, 4:5] >= D)
    with pytest.raises(InputError, match=r"must know .* got 5 stored for each sample, .* are missing\. Store more"):
        gram_of_distances(some, some, np.tile(np.arange(20), (60, 1)))


def test_lengths_are_those_of_differences_dense_and_sparse(cloud):
    candidates = np.random.default_rng(0).integers(0, 60, size=(7, 5))
    far = frozen(cloud + 1e8)
    expected = np.linalg.norm(far[candidates] - far[:7, None], axis=2)
    np.testing.assert_allclose(lengths_between(far, far[:7], candidates), expected, rtol=1e-15)
    np.testing.assert_allclose(lengths_between(csr_array(far), csr_array(far[:7]), candidates), expected, rtol=1e-14)
    np.testing.assert_allclose(row_lengths(csr_array(cloud)), np.linalg.norm(cloud, axis=1))


def test_the_width_is_what_a_row_holds():
    assert width(np.zeros((4, 7))) == 7
    assert width(csr_array(np.eye(4, 700))) == 1
    assert width(Distances(np.zeros((5, 5)))) == 5
    assert width(stored(np.ones((6, 6)), np.eye(6) == 0)) == 5


KINDS = {"dense": lambda X: X, "sparse": csr_array, "distances": lambda X: Distances(cdist(X, X))}


@pytest.mark.parametrize("kind", KINDS)
@given(X=lattice_clouds(), seed=st.integers(0, 99))
def test_copies_share_a_place_with_their_first_and_nobody_else_does(kind, X, seed):
    X = X[np.random.default_rng(seed).integers(0, len(X), 2 * len(X))]
    found = unique_samples(KINDS[kind](X))
    rows, count = np.unique(X, axis=0, return_inverse=True)
    assert found.n_places == len(rows)
    np.testing.assert_array_equal(X[found.index][found.inverse], X)
    for place, first in enumerate(found.index):
        assert first == np.flatnonzero(found.inverse == place)[0]
    assert len(set(zip(found.inverse.tolist(), count.ravel().tolist(), strict=True))) == len(rows)


@pytest.mark.parametrize("kind", KINDS)
def test_samples_in_another_order_have_their_places_in_the_same(kind):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    X = np.vstack([X, X[:7]])
    order = rng.permutation(len(X))
    here, there = (unique_samples(KINDS[kind](one)) for one in (X, X[order]))
    np.testing.assert_array_equal(X[here.index], X[order][there.index])
    np.testing.assert_array_equal(there.inverse, here.inverse[order])


FORMS = {
    "twice as large": lambda X: 2 * X,
    "beyond normal numbers": lambda X: X * 2.0**-1060,
    "at the end of float64": lambda X: X * 2.0**1015,
    "sparse": csr_array,
    "with constant columns": lambda X: np.insert(X, [0, 2], [1e300, 5.0], axis=1),
    "with constant columns, sparse": lambda X: csr_array(np.insert(X, [0, 2], [1e300, 5.0], axis=1)),
}


@pytest.mark.parametrize("form", FORMS)
def test_samples_in_another_form_have_the_same_places(form):
    X = np.random.default_rng(0).integers(-4, 5, size=(200, 4)).astype(float)
    here, there = unique_samples(X), unique_samples(FORMS[form](X))
    np.testing.assert_array_equal(there.inverse, here.inverse)


@pytest.mark.parametrize("scale", [2.0, 2.0**-1060, 2.0**1015])
@pytest.mark.parametrize("kind", [np.array, csr_array])
def test_distances_in_another_power_of_two_give_the_same_places(scale, kind):
    # Of a graph of distances, all are known here.
    D = np.random.default_rng(0).integers(1, 6, size=(30, 30)).astype(float)
    D = np.triu(D, 1) + np.triu(D, 1).T
    here, there = (unique_samples(Distances(kind(one))) for one in (D, D * scale))
    np.testing.assert_array_equal(there.inverse, here.inverse)


def test_samples_without_a_column_that_differs_are_copies():
    assert unique_samples(np.ones((5, 3))).n_places == 1
    assert unique_samples(csr_array((5, 3))).n_places == 1


def test_a_graph_of_distances_tells_copies_by_its_zeros():
    X = frozen(np.repeat(np.random.default_rng(0).normal(size=(9, 2)), 2, axis=0))
    D = cdist(X, X)
    rows, columns = np.nonzero(D < 1)
    graph = csr_array((D[rows, columns], (rows, columns)), shape=D.shape)
    assert unique_samples(Distances(graph)).n_places == 9


def test_both_zeros_are_one_number():
    X = np.array([[0.0, 1.0], [-0.0, 1.0], [1.0, -0.0], [1.0, 0.0]])
    np.testing.assert_array_equal(unique_samples(X).index, [0, 2])


def test_samples_whose_fingerprints_collide_are_still_told_apart(monkeypatch):
    monkeypatch.setattr(_distinct, "scrambled", np.zeros_like)
    X = np.column_stack([np.zeros(6), [0.0, 0.0, 1.0, 1.0, 2.0, 2.0]])
    assert unique_samples(frozen(X)).n_places == 3


def test_weights_over_places_spread_over_samples():
    X = np.array([[5.0], [1.0], [5.0], [3.0]])
    found = unique_samples(X)
    # Places in the order 1, 3, 5: the place of 5 leans on that of 1.
    wide = found.spread(csr_array(([2.0], ([2], [0])), shape=(3, 3))).toarray()
    np.testing.assert_array_equal(wide, [[0, 2, 0, 0], [0, 0, 0, 0], [0, 2, 0, 0], [0, 0, 0, 0]])


@pytest.mark.parametrize("kind", ["real", "counts"])
def test_sparse_samples_stand_in_the_order_of_the_same_dense_ones(kind):
    rng = np.random.default_rng(0)
    X = sparse.random_array((80, 30), density=0.1, rng=rng).toarray()
    X = np.rint(2 * X) if kind == "counts" else X
    dense, found = unique_samples(X), unique_samples(sparse.csr_array(X))
    np.testing.assert_array_equal(found.index, dense.index)
    np.testing.assert_array_equal(found.inverse, dense.inverse)


X = frozen(np.random.default_rng(0).normal(size=(30, 3)))


def test_ordinary_numbers_are_left_alone():
    for ordinary in (X, X * 1e80, X * 1e-80, np.zeros((2, 2))):
        assert InputScaling.fit(ordinary).transform(ordinary) is ordinary
        assert InputScaling.fit(ordinary).inverse_transform(ordinary) is ordinary


@pytest.mark.parametrize("scale", [1e-308, 1e-150, 1e150, 1e307])
def test_extreme_numbers_come_into_range_and_back(scale):
    extreme = X * scale
    units = InputScaling.fit(extreme)
    assert np.log2(units.scale) == int(np.log2(units.scale))
    inside = units.transform(extreme)
    assert 1e-8 < np.abs(inside).max() < 10
    np.testing.assert_allclose(units.inverse_transform(inside), extreme, rtol=1e-12, atol=1e-15 * scale)


def test_the_largest_numbers_there_are_do_not_overflow():
    largest = np.where(X > 0, 1.7e308, -1.7e308)
    inside = InputScaling.fit(largest).transform(largest)
    assert np.isfinite(inside).all()
    np.testing.assert_allclose(InputScaling.fit(largest).inverse_transform(inside), largest)


def test_a_huge_constant_column_does_not_set_the_units():
    inside = InputScaling.fit(np.column_stack([X, np.full(30, 1e200)])).transform(
        np.column_stack([X, np.full(30, 1e200)])
    )
    assert (inside[:, 3] == 0).all()
    assert 0.1 < np.abs(inside[:, :3]).max() < 10


def test_an_outlier_does_not_become_the_origin():
    data = np.vstack([[[1e120] * 3], X])
    inside = InputScaling.fit(data).transform(data)
    assert len(np.unique(inside[1:], axis=0)) == 30


def test_an_outlier_beyond_what_squares_can_tell_is_refused_with_the_numbers():
    with pytest.raises(
        InputError, match=r"X must not mix magnitudes .* got differences from .* to 1e\+200\. Drop the sam"
    ):
        InputScaling.fit(np.vstack([X, [[1e200] * 3]]))
    with pytest.raises(InputError, match="must not mix magnitudes"):
        InputScaling.fit(np.vstack([[[1e200] * 3], X]))


def test_new_samples_out_of_reach_are_named_by_row():
    new = np.array(X[:3])
    new[2] = 1e200
    with pytest.raises(
        InputError, match=r"X must be within 3e\+150 of the fitted .* got 1.0e\+200 in row 2\. Check the"
    ):
        check_within_reach(new, InputScaling.fit(X))
    assert check_within_reach(X, InputScaling.fit(X)) is X


def test_what_float64_cannot_hold_is_infinite_without_further_ado():
    X = np.array([[-1.7e308, 0.0], [1.7e308, 0.0], [1.7e308, 1.7e308], [0.0, 1.7e308], [0.0, 0.0]])
    settings = {"n_neighbors": 2, "reg": 1e3}
    model = HNE(**PUBLISHED | settings, n_components=1).fit(X)
    assert np.isfinite(model.embedding_).all()
    assert not np.isnan(model.inverse_transform(1e6 * model.embedding_)).any()
    units = InputScaling.fit(X)
    assert units.restore_lengths(np.array([4.0]))[0] == np.inf
    # A chart has the lengths of X: the first sample is farther from the middle of all than the largest number.
    with pytest.raises(InputError, match=r"needs an X whose lengths float64 holds, got coordinates of about 1e\+308"):
        HNE(**settings, n_components=1).fit(X)


def test_sparse_samples_out_of_reach_of_tiny_ones_are_refused_without_further_ado():
    model = HNE(n_components=1).fit(csr_array(np.random.default_rng(0).normal(size=(30, 2)) * 1e-300))
    with pytest.raises(InputError, match=r"X must be within .* in row 0"):
        model.transform(csr_array([[1e300, 0.0]]))


@pytest.mark.parametrize("convert", [np.asarray, csr_array])
def test_what_vanishes_beside_the_largest_is_refused_with_the_numbers(convert):
    X = np.array([[1e-272], [1e-65], [4e-159], [2e281], [8e229]])
    with pytest.raises(InputError, match=r"X must not mix magnitudes .* got differences from 1e-\d+ to 2e\+281"):
        InputScaling.fit(convert(X))


def test_samples_that_are_equal_beside_the_largest_are_refused():
    X = np.concatenate([[-1e95, 2e-200, 1e-200], np.linspace(-1e-54, -2e-54, 9)])[:, None]
    with pytest.raises(InputError, match="got 12 different samples of which float64 tells 11 apart"):
        HNE(2, n_components=1).fit(X)


def test_a_distance_that_overflows_is_told_by_the_value():
    units = InputScaling.fit(X * 1e-300)
    with pytest.raises(InputError, match=r"got 1\.0e\+300 in row 0"):
        check_within_reach(np.full((1, 3), 1e300), units)
