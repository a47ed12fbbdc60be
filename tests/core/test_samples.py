"""What samples may be known by, coordinates, sparse ones, distances: the same Gram matrices and lengths of all."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist

from hne.core.samples.kinds import Distances, gram_of_distances, gram_of_sparse, lengths_between, row_lengths, width
from hne.core.weights import batch as _batch
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
    expected = _batch.local_gram(X, targets, ids)
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
