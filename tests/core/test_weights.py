"""Weights: the oracle's, whatever the units, the order and the size of a block."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from hne import _kernels
from hne.core.neighbors.graph import knn_graph
from hne.core.records import NeighborGraph
from hne.core.weights import layers as _layers
from hne.core.weights.layers import layer_weights, reconstruct, reconstruction_errors, target_weights
from hne.exceptions import InputError
from hne.settings import VARIANTS, Settings
from tests.conftest import frozen, lattice_clouds
from tests.helpers import reference


def weights_of(X, k, **parameters):
    graph = knn_graph(X, k)
    for array in (graph.indices, graph.distances):
        array.flags.writeable = False
    return layer_weights(X, graph, Settings(n_neighbors=k, **parameters))


def graph_of(lists, k=None):
    """The graph of neighbor lists that may be of unequal length, read-only; k widens it beyond the longest."""
    k = k or max(map(len, lists))
    indices = np.array([[*row, *[-1] * (k - len(row))] for row in lists], dtype=np.intp)
    return NeighborGraph(frozen(indices), frozen(np.where(indices < 0, np.inf, 1.0)), "given")


def unequal_lists(n, longest, seed):
    """Neighbor lists of random length and members, with one of each kind that needs a rule of its own."""
    rng = np.random.default_rng(seed)
    lists = [rng.permutation(np.delete(np.arange(n), i))[: rng.integers(longest + 1)].tolist() for i in range(n)]
    # No neighbors at all; a neighbor without any; a pair that sees nothing but each other; one of full length.
    lists[0], lists[1] = [], [0, *[j for j in lists[1] if j != 0][: longest - 1]]
    lists[2], lists[3] = [3], [2]
    lists[4] = [(4 + step) % n for step in range(1, longest + 1)]
    return lists


def assert_same(found, expected, tolerance):
    """Rows of joint weights can have entries of 100: the tolerance is relative to the largest of a row."""
    size = np.maximum(1.0, np.abs(expected).max(axis=1, keepdims=True))
    np.testing.assert_allclose(found / size, expected / size, rtol=0, atol=tolerance)


@pytest.mark.parametrize("variant", VARIANTS)
@settings(max_examples=30)
@given(X=lattice_clouds(), k=st.integers(1, 4), n_rounds=st.integers(0, 2), include_self=st.booleans())
def test_weights_are_the_oracles_and_rows_sum_to_one(variant, X, k, n_rounds, include_self):
    more = {"n_rounds": n_rounds, "include_self": include_self}
    W, J = reference.weights(X, reference.neighbors(X, k), variant, 1e-3, 1e-2, **more)
    weights = weights_of(X, k, variant=variant, reg=1e-3, outer_reg=1e-2, **more)
    assert_same(weights.W.toarray(), W, 1e-10)
    assert_same(weights.J.toarray(), J, 1e-9)
    np.testing.assert_allclose(weights.W.sum(axis=1), 1.0, atol=1e-10)
    np.testing.assert_allclose(weights.J.sum(axis=1), 1.0, atol=1e-9)


@pytest.mark.parametrize("variant", VARIANTS)
@settings(max_examples=30)
@given(X=lattice_clouds(), longest=st.integers(1, 4), seed=st.integers(0, 10**6), include_self=st.booleans())
def test_weights_of_unequal_neighborhoods_are_the_oracles(variant, X, longest, seed, include_self):
    lists = unequal_lists(len(X), longest, seed)
    more = {"n_rounds": seed % 3, "include_self": include_self}
    W, J = reference.weights(X, lists, variant, 1e-3, 1e-2, **more)
    by = Settings(variant=variant, reg=1e-3, outer_reg=1e-2, **more)
    # Dense samples, and sparse ones, whose Gram matrices are made elsewhere.
    for samples in (X, csr_array(X)):
        weights = layer_weights(samples, graph_of(lists), by)
        assert_same(weights.W.toarray(), W, 1e-10)
        assert_same(weights.J.toarray(), J, 1e-9)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("n_features", [2, 3, 40])
def test_sparse_samples_have_the_weights_of_dense_ones(variant, n_features):
    X = frozen(np.random.default_rng(n_features).normal(size=(300, n_features)))
    graph, by = knn_graph(X, 7), Settings(n_neighbors=7, variant=variant)
    dense, sparse = layer_weights(X, graph, by), layer_weights(csr_array(X), graph, by)
    assert abs(dense.W - sparse.W).max() < 1e-10
    assert abs(dense.J - sparse.J).max() < 1e-10


@pytest.mark.parametrize("variant", VARIANTS)
def test_weights_do_not_change_with_rotation_shift_and_scale(cloud, variant):
    rotation, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))
    moved = frozen(1e-3 * cloud @ rotation + [5.0, -3.0, 100.0])
    here, there = (weights_of(X, 6, variant=variant) for X in (cloud, moved))
    assert_same(there.J.toarray(), here.J.toarray(), 1e-7)
    assert_same(there.W.toarray(), here.W.toarray(), 1e-7)


@pytest.mark.parametrize("variant", VARIANTS)
def test_permuting_the_samples_permutes_the_weights(cloud, variant):
    order = np.random.default_rng(4).permutation(len(cloud))
    here, there = (weights_of(X, 6, variant=variant) for X in (cloud, frozen(cloud[order])))
    np.testing.assert_allclose(there.J.toarray(), here.J.toarray()[np.ix_(order, order)], atol=1e-9)


@pytest.mark.parametrize("variant", VARIANTS)
def test_any_block_size_and_number_of_threads_gives_the_same_bits(cloud, variant, monkeypatch):
    whole = weights_of(cloud, 6, variant=variant)
    monkeypatch.setattr(_layers, "MAX_BLOCK", 7)
    for n_threads in (1, 4):
        split = layer_weights(cloud, knn_graph(cloud, 6), Settings(variant=variant), n_threads)
        np.testing.assert_array_equal(whole.J.toarray(), split.J.toarray())
        np.testing.assert_array_equal(whole.W.toarray(), split.W.toarray())


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("include_self", [True, False])
def test_unequal_rows_have_the_same_bits_in_any_block_and_thread(cloud, variant, include_self, monkeypatch):
    graph = graph_of(unequal_lists(len(cloud), 6, seed=1))
    by = Settings(variant=variant, include_self=include_self)
    whole = layer_weights(cloud, graph, by)
    # Blocks of one: the sample without neighbors is then a block without any sample within two hops.
    for rows, n_threads in ((7, 1), (7, 4), (1, 1)):
        monkeypatch.setattr(_layers, "MAX_BLOCK", rows)
        split = layer_weights(cloud, graph, by, n_threads)
        np.testing.assert_array_equal(whole.J.toarray(), split.J.toarray())
        np.testing.assert_array_equal(whole.W.toarray(), split.W.toarray())


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("n_features", [3, 40])
def test_short_rows_have_the_weights_of_a_graph_of_their_length(variant, include_self, n_features):
    X = frozen(np.random.default_rng(8).normal(size=(60, n_features)))
    short = unequal_lists(40, 4, seed=2)
    # Beside them, in another piece, lists of nine: the short ones are padded further.
    beside = [[40 + (i + step) % 20 for step in range(1, 10)] for i in range(20)]
    by = Settings(variant=variant, reg=1e-2, include_self=include_self)
    alone = layer_weights(X[:40], graph_of(short), by)
    padded = layer_weights(X, graph_of(short + beside), by)
    for one, other in ((alone.W, padded.W), (alone.J, padded.J)):
        found = other[:40, :40].toarray()
        np.testing.assert_array_equal(found, one.toarray())


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("include_self", [True, False])
def test_absent_neighbors_are_not_stored(cloud, variant, include_self):
    lists = unequal_lists(len(cloud), 5, seed=3)
    weights = layer_weights(cloud, graph_of(lists), Settings(variant=variant, include_self=include_self))
    for i, neighbors in enumerate(lists):
        np.testing.assert_array_equal(weights.W.indices[slice(*weights.W.indptr[i : i + 2])], sorted(neighbors))
    assert weights.W.indices.dtype == weights.W.indptr.dtype == weights.J.indices.dtype == np.int32
    # Without neighbors there is nothing to sum to one, in either layer; all other rows do.
    some = np.array([len(neighbors) > 0 for neighbors in lists])
    assert 1 < (~some).sum() < len(some)
    np.testing.assert_array_equal(np.diff(weights.J.indptr) > 0, some)
    np.testing.assert_allclose(weights.W.sum(axis=1), some, atol=1e-10)
    np.testing.assert_allclose(weights.J.sum(axis=1), some, atol=1e-9)


@pytest.mark.parametrize("variant", VARIANTS)
def test_neighbors_without_neighbors_stand_for_themselves(variant):
    # Sample 0 lies midway between 1 and 2, which see nobody; 3 sees nobody and nobody sees it.
    X = frozen([[0.0], [-1.0], [1.0], [5.0]])
    weights = layer_weights(X, graph_of([[1, 2], [], [], []], k=4), Settings(variant=variant))
    expected = [[0, 0.5, 0.5, 0], [0] * 4, [0] * 4, [0] * 4]
    np.testing.assert_allclose(weights.W.toarray(), expected, rtol=0, atol=1e-15)
    np.testing.assert_allclose(weights.J.toarray(), expected, rtol=0, atol=1e-15)


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_graph_without_edges_has_empty_weights(cloud, variant):
    weights = layer_weights(cloud, graph_of([[]] * len(cloud), k=3), Settings(variant=variant))
    assert weights.W.shape == weights.J.shape == (60, 60)
    assert weights.W.nnz == weights.J.nnz == 0


@pytest.mark.parametrize("variant", VARIANTS)
def test_new_points_may_have_fewer_neighbors_than_samples_do(cloud, variant):
    graph = knn_graph(cloud, 4)
    own = frozen([[5, 9, -1, -1], [-1] * 4, [7, -1, -1, -1]])
    nobody = np.full(3, -1)
    weights = target_weights(cloud, cloud[:3] + 0.1, own, graph, nobody, Settings(variant=variant))
    np.testing.assert_array_equal(weights.W.indptr, [0, 2, 2, 3])
    np.testing.assert_array_equal(weights.W.indices, [5, 9, 7])
    assert set(weights.J[[2]].indices) == set(graph.indices[7])
    np.testing.assert_allclose(weights.J.sum(axis=1), [1, 0, 1], atol=1e-9)


@pytest.mark.parametrize("variant", VARIANTS)
def test_sorting_w_does_not_reorder_the_graph(cloud, variant):
    graph = knn_graph(cloud, 6)
    before = graph.indices.copy()
    layer_weights(cloud, graph, Settings(variant=variant))
    np.testing.assert_array_equal(graph.indices, before)


@pytest.mark.parametrize("variant", VARIANTS)
def test_one_neighbor_without_self_keeps_the_inner_weight(variant):
    # Two mutual pairs: each sample's only neighbor has only the sample itself as a neighbor.
    X = frozen([[0.0, 0.0], [1.0, 0.0], [10.0, 0.0], [11.0, 0.0]])
    weights = weights_of(X, 1, variant=variant, include_self=False)
    np.testing.assert_array_equal(weights.J.toarray(), weights.W.toarray())


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_pair_that_sees_only_itself_keeps_the_inner_weight_among_longer_lists(cloud, variant):
    lists = unequal_lists(len(cloud), 5, seed=4)
    with_self, without = (
        layer_weights(cloud, graph_of(lists), Settings(variant=variant, include_self=include_self))
        for include_self in (True, False)
    )
    ones = np.ones(2)
    np.testing.assert_allclose(with_self.J[[2, 3]].toarray()[:, [2, 3]], np.diag(ones), rtol=0, atol=1e-15)
    np.testing.assert_array_equal(without.J[[2, 3]].toarray(), without.W[[2, 3]].toarray())
    np.testing.assert_array_equal(without.W[[2, 3]].toarray()[:, [3, 2]], np.diag(ones))


@pytest.mark.parametrize("variant", VARIANTS)
def test_without_self_no_sample_rebuilds_itself(cloud, variant):
    with_self = weights_of(cloud, 5, variant=variant)
    without = weights_of(cloud, 5, variant=variant, include_self=False)
    assert (with_self.J.diagonal() != 0).mean() > 0.9
    assert (without.J.diagonal() == 0).all()


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("gap", [1e-12, 1e-200])
def test_near_duplicates_keep_every_weight_finite(variant, gap):
    rng = np.random.default_rng(5)
    base = rng.normal(size=(20, 3))
    base[0] = 0.0
    X = frozen(np.vstack([base, base + gap * rng.normal(size=base.shape), base]))
    weights = weights_of(X, 6, variant=variant, reg=1e-12)
    for layer in (weights.W, weights.J):
        assert np.isfinite(layer.data).all()
        np.testing.assert_allclose(layer.sum(axis=1), 1.0, atol=1e-6)


@pytest.mark.parametrize(("k", "reg"), [(12, 1e-8), (6, 1e-10), (40, 1e-8)])
def test_a_tiny_reg_keeps_every_weight_finite(k, reg):
    X = frozen(np.random.default_rng(0).normal(size=(60, 2)))
    J = weights_of(X, k, reg=reg).J
    assert np.isfinite(J.data).all()
    np.testing.assert_allclose(J.sum(axis=1), 1.0, atol=1e-6)


def test_weights_that_are_not_finite_end_in_an_error(cloud, monkeypatch):
    monkeypatch.setattr(_layers._kernels, "dense_weights", lambda *arrays: False)
    with pytest.raises(InputError, match="reg must be large enough") as caught:
        weights_of(cloud, 6)
    assert (caught.value.parameter, caught.value.value) == ("reg", 1e-4)


def test_points_that_equal_the_target_get_equal_weights():
    X = frozen(np.vstack([np.zeros((5, 2)), np.ones((5, 2))]))
    weights = weights_of(X, 4, variant="ihne")
    np.testing.assert_allclose(weights.W.data, 0.25)


@pytest.mark.parametrize("parameter", ["reg", "outer_reg", "n_rounds", "include_self"])
def test_each_parameter_matters(cloud, parameter):
    other = {"reg": 1e-2, "outer_reg": 1e-2, "n_rounds": 3, "include_self": False}[parameter]
    assert abs(weights_of(cloud, 6).J - weights_of(cloud, 6, **{parameter: other}).J).max() > 1e-3


def test_repeats_in_rhne_are_one_problem_over_distinct_samples(cloud):
    lists = reference.neighbors(cloud, 5)
    members = lists[lists[0]].ravel()
    assert len(members) > len(set(members))
    joint = weights_of(cloud, 5, variant="rhne", reg=1e-3).J[[0]].toarray()[0]
    dense = reference.rhne_row(cloud, reference.outer_lists(lists, lists[0], None), lists[0], cloud[0], None, 1e-3)
    np.testing.assert_allclose(joint, dense, atol=1e-11)


@settings(max_examples=20)
@given(n=st.integers(5, 20), longest=st.integers(1, 4), seed=st.integers(0, 10**6))
def test_local_sets_of_unequal_lists_are_those_counted_by_hand(n, longest, seed):
    lists = unequal_lists(n, longest, seed)
    indices = graph_of(lists).indices
    for left_out in (np.full(n, -1), np.arange(n)):
        ids, sizes = np.full((n, longest * (longest + 1)), -2), np.empty(n, dtype=np.int64)
        inner_slots, outer_slots = np.empty_like(indices), np.empty((n, longest, longest), dtype=np.int64)
        _kernels.local_sets(indices, indices, left_out, ids, inner_slots, outer_slots, sizes)
        # With a -1 behind the ids, slots turn back into lists.
        named = np.hstack([ids, np.full((n, 1), -1)])
        np.testing.assert_array_equal(np.take_along_axis(named, inner_slots, axis=1), indices)
        for i, own in enumerate(lists):
            outer = np.full((longest, longest), -1)
            outer[: len(own)] = indices[own]
            outer[outer == left_out[i]] = -1
            np.testing.assert_array_equal(named[i, outer_slots[i]], outer)
            np.testing.assert_array_equal(ids[i, : sizes[i]], sorted({*own, *outer.ravel()} - {-1}))


def test_blocks_shrink_with_the_bytes_of_a_row():
    assert _layers.rows_within(100) == _layers.MAX_BLOCK
    assert 1 < _layers.rows_within(8 * 30 * 23_028) * 8 * 30 * 23_028 <= _layers.BLOCK_BYTES
    assert _layers.rows_within(10**12) == 1


def test_samples_are_rebuilt_by_their_joint_weights(cloud):
    J = weights_of(cloud, 6).J
    np.testing.assert_allclose(reconstruct(cloud, J), J.toarray() @ cloud, atol=1e-12)


def test_errors_are_lengths_not_squares(cloud, monkeypatch):
    J = weights_of(cloud, 6).J
    expected = reference.reconstruction_errors(cloud, J.toarray())
    np.testing.assert_allclose(reconstruction_errors(cloud, J), expected, atol=1e-12)
    monkeypatch.setattr(_layers, "BLOCK_BYTES", 1)
    np.testing.assert_allclose(reconstruction_errors(cloud, J), expected, atol=1e-12)


def test_errors_far_from_the_origin_keep_their_digits(cloud):
    near, far = cloud, cloud + 1e8
    J = weights_of(near, 6).J
    # The shift itself rounds the samples by 1e-8.
    np.testing.assert_allclose(reconstruction_errors(far, J), reconstruction_errors(near, J), atol=1e-6)
