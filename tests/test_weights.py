"""Weights: the oracle's, in either kernel, whatever the units, the order and the size of a block."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from hne._neighbors import knn_graph
from hne._types import Settings
from hne._weights import _batch, _layers, layer_weights
from hne.exceptions import InputError
from tests import reference
from tests.conftest import frozen, lattice_clouds

VARIANTS = ("ihne", "rhne", "bhne")
KERNELS = ("numpy", "numba")


def weights_of(X, k, kernel=None, **parameters):
    graph = knn_graph(X, k)
    for array in (graph.indices, graph.distances):
        array.flags.writeable = False
    return layer_weights(X, graph, Settings(n_neighbors=k, **parameters), kernel)


def assert_same(found, expected, tolerance):
    """Rows of joint weights can have entries of 100: the tolerance is relative to the largest of a row."""
    size = np.maximum(1.0, np.abs(expected).max(axis=1, keepdims=True))
    np.testing.assert_allclose(found / size, expected / size, rtol=0, atol=tolerance)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("include_self", [True, False])
@given(X=lattice_clouds(), k=st.integers(1, 4), n_rounds=st.integers(0, 2))
def test_weights_are_the_oracles(kernel, variant, include_self, X, k, n_rounds):
    more = {"n_rounds": n_rounds, "include_self": include_self}
    weights = weights_of(X, k, kernel, variant=variant, reg=1e-3, outer_reg=1e-2, **more)
    W, J = reference.weights(X, reference.neighbors(X, k), variant, 1e-3, 1e-2, **more)
    assert_same(weights.W.toarray(), W, 1e-10)
    assert_same(weights.J.toarray(), J, 1e-9)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("variant", VARIANTS)
@given(X=lattice_clouds(), k=st.integers(1, 4), reg=st.sampled_from([1e-6, 1e-4, 1e-2, 10.0]))
def test_rows_of_both_layers_sum_to_one(kernel, variant, X, k, reg):
    weights = weights_of(X, k, kernel, variant=variant, reg=reg)
    np.testing.assert_allclose(weights.W.sum(axis=1), 1.0, atol=1e-10)
    np.testing.assert_allclose(weights.J.sum(axis=1), 1.0, atol=1e-9)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("n_features", [2, 3, 40])
def test_both_kernels_give_the_same_weights_to_1e_10(variant, n_features):
    X = frozen(np.random.default_rng(n_features).normal(size=(300, n_features)))
    numpy_twin, numba_twin = (weights_of(X, 7, kernel, variant=variant) for kernel in KERNELS)
    assert (numpy_twin.kernel, numba_twin.kernel) == KERNELS
    assert abs(numpy_twin.W - numba_twin.W).max() < 1e-10
    assert abs(numpy_twin.J - numba_twin.J).max() < 1e-10


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("variant", VARIANTS)
def test_weights_do_not_change_with_rotation_shift_and_scale(cloud, variant, kernel):
    rotation, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))
    moved = frozen(1e-3 * cloud @ rotation + [5.0, -3.0, 100.0])
    here, there = (weights_of(X, 6, kernel, variant=variant) for X in (cloud, moved))
    assert_same(there.J.toarray(), here.J.toarray(), 1e-7)
    assert_same(there.W.toarray(), here.W.toarray(), 1e-7)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("variant", VARIANTS)
def test_permuting_the_samples_permutes_the_weights(cloud, variant, kernel):
    order = np.random.default_rng(4).permutation(len(cloud))
    here, there = (weights_of(X, 6, kernel, variant=variant) for X in (cloud, frozen(cloud[order])))
    np.testing.assert_allclose(there.J.toarray(), here.J.toarray()[np.ix_(order, order)], atol=1e-9)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("variant", VARIANTS)
def test_any_block_size_and_number_of_threads_gives_the_same_bits(cloud, variant, kernel, monkeypatch):
    whole = weights_of(cloud, 6, kernel, variant=variant)
    monkeypatch.setattr(_layers, "MAX_BLOCK", 7)
    for n_threads in (1, 4):
        split = layer_weights(cloud, knn_graph(cloud, 6), Settings(variant=variant), kernel, n_threads)
        np.testing.assert_array_equal(whole.J.toarray(), split.J.toarray())
        np.testing.assert_array_equal(whole.W.toarray(), split.W.toarray())


@pytest.mark.parametrize("variant", VARIANTS)
def test_sorting_w_does_not_reorder_the_graph(cloud, variant):
    graph = knn_graph(cloud, 6)
    before = graph.indices.copy()
    layer_weights(cloud, graph, Settings(variant=variant))
    np.testing.assert_array_equal(graph.indices, before)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("variant", VARIANTS)
def test_one_neighbor_without_self_keeps_the_inner_weight(variant, kernel):
    # Two mutual pairs: each sample's only neighbor has only the sample itself as a neighbor.
    X = frozen([[0.0, 0.0], [1.0, 0.0], [10.0, 0.0], [11.0, 0.0]])
    weights = weights_of(X, 1, kernel, variant=variant, include_self=False)
    np.testing.assert_array_equal(weights.J.toarray(), weights.W.toarray())


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("variant", VARIANTS)
def test_without_self_no_sample_rebuilds_itself(cloud, variant, kernel):
    with_self = weights_of(cloud, 5, kernel, variant=variant)
    without = weights_of(cloud, 5, kernel, variant=variant, include_self=False)
    assert (with_self.J.diagonal() != 0).mean() > 0.9
    assert (without.J.diagonal() == 0).all()


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("gap", [1e-12, 1e-200])
def test_near_duplicates_keep_every_weight_finite(variant, kernel, gap):
    rng = np.random.default_rng(5)
    base = rng.normal(size=(20, 3))
    base[0] = 0.0
    X = frozen(np.vstack([base, base + gap * rng.normal(size=base.shape), base]))
    weights = weights_of(X, 6, kernel, variant=variant, reg=1e-12)
    for layer in (weights.W, weights.J):
        assert np.isfinite(layer.data).all()
        np.testing.assert_allclose(layer.sum(axis=1), 1.0, atol=1e-6)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize(("k", "reg"), [(12, 1e-8), (20, 1e-8), (6, 1e-10), (60, 1e-8)])
def test_a_tiny_reg_keeps_every_weight_finite(kernel, k, reg):
    X = frozen(np.random.default_rng(0).normal(size=(200, 2)))
    J = weights_of(X, k, kernel, reg=reg).J
    assert np.isfinite(J.data).all()
    np.testing.assert_allclose(J.sum(axis=1), 1.0, atol=1e-6)


def test_weights_that_are_not_finite_end_in_an_error(cloud, monkeypatch):
    monkeypatch.setattr(_batch, "inner_weights", lambda K, slots, reg: np.full(slots.shape, np.nan))
    with pytest.raises(InputError, match=r"reg must be large enough for finite weights, got reg=0.0001\. Raise reg"):
        weights_of(cloud, 6)


@pytest.mark.parametrize("kernel", KERNELS)
def test_points_that_equal_the_target_get_equal_weights(kernel):
    X = frozen(np.vstack([np.zeros((5, 2)), np.ones((5, 2))]))
    weights = weights_of(X, 4, kernel, variant="ihne")
    np.testing.assert_allclose(weights.W.data, 0.25)


@pytest.mark.parametrize("parameter", ["reg", "outer_reg", "n_rounds", "include_self"])
def test_each_parameter_matters(cloud, parameter):
    other = {"reg": 1e-2, "outer_reg": 1e-2, "n_rounds": 3, "include_self": False}[parameter]
    assert abs(weights_of(cloud, 6).J - weights_of(cloud, 6, **{parameter: other}).J).max() > 1e-3


def test_repeats_in_rhne_are_one_problem_over_distinct_samples(cloud):
    lists = reference.neighbors(cloud, 5)
    ids, inner_slots, outer_slots = _batch.local_sets(lists[:1], lists, np.array([-1]))
    K = _batch.local_gram(cloud, cloud[:1], ids)
    joint = _batch.rhne(K, np.full((1, 5), 0.2), inner_slots, outer_slots, 1e-3)
    members = lists[lists[0]].ravel()
    assert len(members) > len(set(members))
    dense = reference.rhne_row(cloud, reference.outer_lists(lists, lists[0], None), lists[0], cloud[0], None, 1e-3)
    np.testing.assert_allclose(joint[0], dense[ids[0]], atol=1e-11)


@given(X=lattice_clouds(min_samples=6), k=st.integers(1, 5))
def test_local_sets_are_the_same_in_both_kernels(X, k):
    from hne._weights import _compiled

    assume(k < len(X))
    lists = knn_graph(X, k).indices
    # Kernels are given targets with equally many slots; local_sets alone pads.
    for left_out in (np.full(len(X), -1), np.arange(len(X))):
        for found, twin in zip(
            _batch.local_sets(lists, lists, left_out), _compiled.local_sets(lists, lists, left_out), strict=True
        ):
            np.testing.assert_array_equal(found, twin)


def test_the_kernel_is_chosen_by_the_amount_of_work(cloud):
    small = knn_graph(cloud, 6)
    assert _layers.choose_kernel(small, Settings()) == "numpy"
    large = type(small)(np.zeros((100_000, 8), dtype=np.intp), np.zeros((100_000, 8)), "tree")
    assert _layers.choose_kernel(large, Settings()) == "numba"
    # BHNE visits its lists about three times.
    between = type(small)(np.zeros((10_000, 8), dtype=np.intp), np.zeros((10_000, 8)), "tree")
    assert _layers.choose_kernel(between, Settings(variant="bhne")) == "numba"
    assert _layers.choose_kernel(between, Settings(variant="ihne")) == "numpy"


def test_blocks_shrink_with_features_and_neighbors():
    assert _layers.block_rows(5) == _layers.batch_rows(20, 3) == _layers.MAX_BLOCK
    assert _layers.block_rows(300) * 300**2 * 8 <= _layers.BLOCK_BYTES
    assert 1 < _layers.batch_rows(30, 23_028) * 30 * 23_028 * 8 <= _layers.BLOCK_BYTES
    assert _layers.block_rows(10**6) == _layers.batch_rows(12, 10**9) == 1
