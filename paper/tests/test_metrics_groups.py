"""Groups: overlap, spread, and the shape inside each."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hne.exceptions import InputError, InputTypeError
from hne.metrics import affine_errors
from hne_paper import metrics
from hne_paper.metrics import group_affine_errors, label_overlap, label_spread
from tests.conftest import lattice_clouds


def overlap_loop(Y, labels, k):
    """The definition: of equally far samples each has the share of a random choice."""
    shares = []
    for i in np.flatnonzero(labels >= 0):
        others = [j for j in np.flatnonzero(labels >= 0) if j != i]
        lengths = {j: ((Y[i] - Y[j]) ** 2).sum() for j in others}
        limit = sorted(lengths.values())[k - 1]
        nearer = [labels[j] != labels[i] for j in others if lengths[j] < limit]
        tied = [labels[j] != labels[i] for j in others if lengths[j] == limit]
        shares.append((sum(nearer) + (k - len(nearer)) * np.mean(tied)) / k)
    return np.mean(shares)


@given(lattice_clouds(min_samples=7), st.integers(1, 5), st.integers(0, 2**32 - 1))
def test_overlap_is_that_of_the_definition_whatever_the_ties(Y, k, seed):
    labels = np.random.default_rng(seed).integers(-1, 3, size=len(Y))
    labels[:6] = [0, 1, 2, 0, 1, 2]
    np.testing.assert_allclose(label_overlap(Y, labels, k), overlap_loop(Y, labels, k), atol=1e-12)


def test_no_order_of_a_collapsed_embedding_is_lucky():
    labels = np.repeat([0, 1], 50)
    for order in (labels, labels[::-1], np.tile([0, 1], 50)):
        np.testing.assert_allclose(label_overlap(np.zeros((100, 2)), order), 50 / 99)


def test_mixed_groups_overlap_as_much_as_chance_has_it():
    rng = np.random.default_rng(0)
    assert label_overlap(rng.random((3000, 2)), rng.integers(0, 4, 3000)) == pytest.approx(0.75, abs=0.02)


def test_samples_without_a_label_do_not_count():
    Y = np.array([[0.0], [0.1], [0.2], [9.0], [9.1], [0.05], [9.05]])
    assert label_overlap(Y, [0, 0, 0, 1, 1, -1, -1], n_neighbors=1) == 0.0
    np.testing.assert_allclose(label_spread(Y, [0, 0, 0, 1, 1, -1, -1]), label_spread(Y[:5], [0, 0, 0, 1, 1]))


def test_blocks_do_not_change_the_overlap(monkeypatch):
    rng = np.random.default_rng(1)
    Y, labels = rng.integers(0, 4, (80, 2)).astype(float), rng.integers(0, 3, 80)
    whole = label_overlap(Y, labels)
    monkeypatch.setattr(metrics, "BLOCK_BYTES", 1)
    assert label_overlap(Y, labels) == whole


def test_spread_is_by_hand():
    # Around 0: squares 9, 9, 0, 36, mean 13.5; group 1 around 3: mean 9.
    np.testing.assert_allclose(label_spread([[-3.0], [-3.0], [0.0], [6.0]], [4, 4, 7, 7]), [0.0, np.sqrt(9 / 13.5)])


def test_spread_does_not_depend_on_where_things_are_nor_on_units():
    rng = np.random.default_rng(2)
    Y, labels = rng.normal(size=(60, 2)), rng.integers(0, 3, 60)
    turn, _ = np.linalg.qr(rng.normal(size=(2, 2)))
    np.testing.assert_allclose(label_spread(1e200 * (Y @ turn + 5), labels), label_spread(Y, labels))


def test_groups_of_a_collapsed_embedding_are_points():
    np.testing.assert_array_equal(label_spread(np.full((4, 2), 0.1), [0, 0, 1, 1]), [0.0, 0.0])


def test_shape_inside_groups_is_that_of_each_alone():
    rng = np.random.default_rng(3)
    chart, labels = rng.random((90, 2)), np.repeat([-1, 0, 5], 30)
    Y = chart + 0.3 * rng.random((90, 2)) + 10 * labels[:, None]
    expected = [affine_errors(Y[labels == label], chart[labels == label]).mean() for label in (0, 5)]
    np.testing.assert_allclose(group_affine_errors(Y, chart, labels), expected)


def test_a_group_too_small_for_an_affine_fit_is_refused():
    with pytest.raises(InputError, match=r"at least 4 samples, because .* in 2 column\(s\), got 3 in group 1\. Label"):
        group_affine_errors(np.eye(8)[:, :2], np.arange(8.0)[:, None], [0, 0, 0, 0, 0, 1, 1, 1])


def test_a_chart_that_is_constant_in_a_group_is_refused():
    chart = np.column_stack([np.arange(8.0), np.repeat([0.0, 1.0], 4)])
    with pytest.raises(InputError, match=r"every group, got a constant column 1 in group 0\. Drop it, or label"):
        group_affine_errors(np.random.default_rng(0).random((8, 2)), chart, np.repeat([0, 1], 4))


@pytest.mark.parametrize(
    ("labels", "error", "message"),
    [
        ([0, 1], InputError, r"^labels must have as many rows as Y, got 2 and 3\. Pass matching rows"),
        (
            [[0, 1, 2]],
            InputError,
            r"^labels must be one number for each sample, got shape \(1, 3\)\. Pass labels.ravel",
        ),
        ([[0], [1, 2]], InputError, r"^labels must be one number for each sample"),
        ([0.5, 1.0, 2.0], InputTypeError, r"^labels must be integers, got values of float64\. Pass np\.unique"),
        (["a", "b", "a"], InputTypeError, r"^labels must be integers, got values of <U1"),
        ([0, -2, 1], InputError, r"^labels must be 0 and more, or -1 .*, got -2\. Number the groups from 0"),
        ([-1, -1, -1], InputError, r"^labels must name a group, got -1 for every sample"),
        ([0, 0, -1], InputError, r"^labels must name at least two groups to overlap, got 1\. Pass labels of several"),
    ],
)
def test_labels_that_are_none_are_refused(labels, error, message):
    with pytest.raises(error, match=message):
        label_overlap(np.eye(3), labels, n_neighbors=1)


def test_neighbors_must_be_there():
    with pytest.raises(
        InputError, match=r"^n_neighbors=5 needs at least 6 labelled samples, got 3\. Lower n_neighbors"
    ):
        label_overlap(np.eye(3), [0, 1, 0])
    with pytest.raises(InputError, match=r"^n_neighbors must be at least 1, got 0\. Try n_neighbors=5"):
        label_overlap(np.eye(3), [0, 1, 0], n_neighbors=0)
