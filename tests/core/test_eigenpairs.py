"""Pieces: each embedded on its own and laid side by side, joined, the largest alone, or an error."""

from functools import partial

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist

from hne import PUBLISHED, HierarchicNeighborsEmbedding, embed
from hne.datasets import make_swiss_roll
from hne.exceptions import DisconnectedGraphError, InputError
from hne.metrics import affine_errors, procrustes_error
from tests.conftest import advised, frozen, one_fast

HNE = partial(HierarchicNeighborsEmbedding, assess=False)


def two_rolls():
    """Two evenly spread rolls, too far from each other for any link."""
    large, small = (make_swiss_roll(n, even=True, random_state=seed) for n, seed in ((700, 0), (300, 100)))
    return frozen(np.vstack([large.X, small.X + np.array([60.0, 0.0, 0.0])])), (large.chart, small.chart)


def boxes_overlap(Y, labels):
    """Whether the bounding boxes of any two pieces meet."""
    boxes = [(Y[labels == label].min(axis=0), Y[labels == label].max(axis=0)) for label in np.unique(labels)]
    return any(
        (low <= other_high).all() and (other_low <= high).all()
        for place, (low, high) in enumerate(boxes)
        for other_low, other_high in boxes[:place]
    )


def assert_orthonormal(Y):
    np.testing.assert_allclose(Y.T @ Y, np.eye(Y.shape[1]), atol=1e-10)
    np.testing.assert_allclose(Y.sum(axis=0), 0, atol=1e-9)


@pytest.mark.parametrize("settings", [{}, PUBLISHED], ids=["default", "published"])
def test_two_rolls_are_recovered_each_on_its_own(settings):
    X, charts = two_rolls()
    with advised(r"2 pieces \(of 700, 300 samples\): each is embedded on its own"):
        model = HNE(**settings).fit(X)
    Y = model.embedding_
    assert model.n_pieces_ == 2
    np.testing.assert_array_equal(model.piece_labels_, np.repeat([0, 1], [700, 300]))
    assert affine_errors(Y[:700], charts[0]).max() < 0.05
    assert affine_errors(Y[700:], charts[1]).max() < 0.05
    assert not boxes_overlap(Y, model.piece_labels_)
    # What is said of eigenvectors is said of the larger one.
    alone = HNE(**settings).fit(X[:700])
    np.testing.assert_allclose(model.eigenvalues_, alone.eigenvalues_, rtol=1e-6)
    if settings:
        assert_orthonormal(Y)
    else:
        assert procrustes_error(Y[:700], charts[0]) < 0.01
        assert procrustes_error(Y[700:], charts[1]) < 0.01
        np.testing.assert_allclose(np.ptp(Y[:700], axis=0).max(), np.ptp(charts[0], axis=0).max(), rtol=0.05)
        np.testing.assert_allclose(model.chart_.stress, alone.chart_.stress, rtol=1e-6)


@pytest.mark.parametrize("settings", one_fast({"coordinates": "chart"}, PUBLISHED), ids=["chart", "published"])
def test_five_blobs_and_the_largest_takes_the_most_room(settings):
    rng = np.random.default_rng(0)
    sizes = [200, 120, 80, 60, 40]
    X = frozen(np.vstack([rng.normal(size=(size, 3)) + 100 * rng.normal(size=3) for size in sizes]))
    model = HNE(**settings).fit(X)
    Y, labels = model.embedding_, model.piece_labels_
    np.testing.assert_array_equal(np.bincount(labels), sizes)
    if settings is PUBLISHED:
        assert_orthonormal(Y)
    assert not boxes_overlap(Y, labels)
    rooms = [np.ptp(Y[labels == label], axis=0).prod() for label in range(5)]
    assert rooms[0] == max(rooms)
    assert rooms[4] == min(rooms)


def test_isolated_points_neither_spoil_the_roll_nor_vanish():
    roll = make_swiss_roll(1000, random_state=0)
    far = [[100.0, 0.0, 0.0], [0.0, 200.0, 0.0], [-80.0, 50.0, 90.0]]
    model = HNE().fit(np.vstack([roll.X, far]))
    assert model.n_pieces_ == 4
    alone = affine_errors(HNE().fit_transform(roll.X), roll.chart).max()
    assert affine_errors(model.embedding_[:1000], roll.chart).max() == pytest.approx(alone, rel=1e-3)
    assert np.isfinite(model.embedding_).all()
    assert not boxes_overlap(model.embedding_, model.piece_labels_)
    # Nobody rebuilds them, and they say so; the mean is that of the others.
    assert np.isnan(model.reconstruction_errors_[-3:]).all()
    assert np.isfinite(model.reconstruction_error_)
    np.testing.assert_array_equal(model.transform(far), model.embedding_[-3:])


@pytest.mark.parametrize("settings", one_fast({"coordinates": "chart"}, PUBLISHED), ids=["chart", "published"])
@pytest.mark.parametrize("n_components", one_fast(2, 1, 3))
def test_as_many_pieces_as_samples_are_points_none_on_another(n_components, settings):
    X = frozen(np.random.default_rng(0).random((500, 3)) * 1000)
    nobody = np.full((500, 6), -1)
    model = HNE(**settings, n_components=n_components, neighbors=(nobody, None)).fit(X)
    assert model.n_pieces_ == 500
    Y = model.embedding_
    if settings is PUBLISHED:
        assert_orthonormal(Y)
    else:
        Y = Y / np.linalg.norm(Y, axis=0).max()
    apart = cdist(Y, Y) + np.eye(500)
    assert apart.min() > 0.1 / 500
    assert model.eigen_solver_ == "none"
    assert model.eigenvalues_.size == 0
    assert np.isnan(model.reconstruction_error_)


@pytest.mark.parametrize("coordinates", ["chart", "layout"])
def test_near_pieces_are_laid_out_near(coordinates):
    rng = np.random.default_rng(0)
    X = frozen(np.vstack([rng.normal(size=(100, 3)) + np.array([place, 0, 0]) for place in (0, 1000, 100)]))
    Y = HNE(coordinates=coordinates).fit_transform(X)
    first, far, between = (Y[start : start + 100].mean(axis=0) for start in (0, 100, 200))
    assert np.linalg.norm(first - between) < np.linalg.norm(first - far)


def test_joined_pieces_are_one_problem_with_links_between():
    X, _ = two_rolls()
    with advised("they are joined by the shortest links between them"):
        model = HNE(**PUBLISHED, pieces="join").fit(X)
    assert model.n_pieces_ == 2
    graph = model._fitted.graph
    rows, slots = np.nonzero((graph.indices >= 0) & ((graph.indices >= 700) != (np.arange(1000) >= 700)[:, None]))
    # Six links, each in both directions, and the shortest there is among them.
    assert len(rows) == 12
    assert graph.distances[rows, slots].min() == pytest.approx(cdist(X[:700], X[700:]).min())
    assert_orthonormal(model.embedding_)
    assert np.isfinite(model.transform(X[:5] + 0.1)).all()
    # By default, as many links as neighbors that were chosen.
    graph = HNE(pieces="join").fit(X)._fitted.graph
    across = (graph.indices >= 0) & ((graph.indices >= 700) != (np.arange(1000) >= 700)[:, None])
    assert np.count_nonzero(across) == 24


@pytest.mark.parametrize("kind", ["sparse", "distances"])
def test_pieces_are_joined_and_laid_out_whatever_samples_are_known_by(kind):
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(40, 4)), rng.normal(size=(30, 4)) + 50, rng.normal(size=(2, 4)) - 90])
    given, metric = (csr_array(X), "euclidean") if kind == "sparse" else (cdist(X, X), "precomputed")
    chart = {"coordinates": "chart"}
    for pieces, settings in (("separate", chart), ("join", chart), ("largest", PUBLISHED)):
        expected = HNE(**settings, pieces=pieces).fit(X)
        found = HNE(**settings, pieces=pieces, metric=metric).fit(given)
        np.testing.assert_array_equal(found.piece_labels_, expected.piece_labels_)
        assert found.n_pieces_ == 3
        mask = found.is_embedded_
        if settings is PUBLISHED:
            assert_orthonormal(found.embedding_[mask])
        assert affine_errors(found.embedding_[:40], expected.embedding_[:40]).max() < 1e-6


@pytest.mark.parametrize("settings", one_fast({}, PUBLISHED), ids=["default", "published"])
def test_the_largest_piece_alone_leaves_nan_and_a_mask(settings):
    X, charts = two_rolls()
    with advised(r"only the largest is embedded, and the others get NaN"):
        model = HNE(**settings, pieces="largest").fit(X)
    np.testing.assert_array_equal(model.is_embedded_, np.arange(1000) < 700)
    assert np.isnan(model.embedding_[700:]).all()
    if settings:
        assert_orthonormal(model.embedding_[:700])
    assert affine_errors(model.embedding_[:700], charts[0]).max() < 0.05
    placed = model.transform(X[695:705])
    np.testing.assert_array_equal(np.isnan(placed).any(axis=1), np.arange(10) >= 5)
    # The way back knows the embedded ones only.
    np.testing.assert_array_equal(model.inverse_transform(model.embedding_[:5]), X[:5])


def test_pieces_raise_where_that_is_wanted():
    X, _ = two_rolls()
    with pytest.raises(DisconnectedGraphError, match=r"got 2 pieces \(of 700, 300 samples\)"):
        HNE(pieces="raise").fit(X)
    with pytest.raises(InputError, match="pieces must be one of") as caught:
        HNE(pieces="drop").fit(X)
    assert (caught.value.parameter, caught.value.value) == ("pieces", "drop")


def test_new_samples_are_placed_in_the_piece_of_their_nearest():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.random((60, 2)), rng.random((60, 2)) + np.array([1.5, 0.0])])
    model = HNE(n_neighbors=5).fit(X)
    assert model.n_pieces_ == 2
    # Between the two, nearer to the second; its five nearest are of both.
    between = np.array([[1.26, 0.5]])
    order = np.argsort(np.linalg.norm(X - between, axis=1))[:5]
    nearest_piece = model.piece_labels_[order[0]]
    assert set(model.piece_labels_[order]) == {0, 1}
    own = model.piece_labels_ == nearest_piece
    alone = HNE(n_neighbors=5).fit(X[own])
    # The layout scales and shifts each axis of a piece, and so it does with what is placed in it.
    line = np.column_stack([alone.embedding_, np.ones(own.sum())])
    layout, *_ = np.linalg.lstsq(line, model.embedding_[own], rcond=None)
    expected = np.column_stack([alone.transform(between), [1.0]]) @ layout
    np.testing.assert_allclose(model.transform(between), expected, atol=1e-8)


def test_links_that_a_graph_hangs_by_are_told():
    rng = np.random.default_rng(0)
    X = frozen(np.vstack([rng.normal(size=(30, 2)), rng.normal(size=(30, 2)) + 40]))
    searched = embed(X, n_neighbors=5)
    indices = np.column_stack([searched.graph.indices, np.full(60, -1)])
    indices[3, 5] = 44
    model = HNE(n_neighbors=6, neighbors=(indices, None)).fit(X)
    assert model.n_pieces_ == 1
    np.testing.assert_array_equal(model.bridges_, [[3, 44]])


def test_a_piece_too_small_for_eigenvectors_is_laid_out_by_its_principal_components():
    rng = np.random.default_rng(0)
    pair = np.array([[500.0, 0.0, 0.0], [500.0, 3.0, 0.0]])
    triple = np.array([[0.0, 500.0, 0.0], [2.0, 500.0, 0.0], [0.0, 500.0, 1.0]])
    model = HNE(coordinates="chart").fit(np.vstack([rng.normal(size=(50, 3)), pair, triple]))
    # Edges of the triple, one of which is half as long as the others, are no short circuits.
    np.testing.assert_array_equal(np.bincount(model.piece_labels_), [50, 3, 2])
    Y = model.embedding_
    assert np.linalg.norm(Y[50] - Y[51]) > 0
    # The corner of the triple lies nearer to both others than these to each other, as in X, in units of its axes.
    corner, right, up = Y[52:]
    assert min(np.linalg.norm(corner - right), np.linalg.norm(corner - up)) > 0


@pytest.mark.parametrize("solver", ["direct", "iterative"])
def test_a_piece_too_small_for_a_solver_is_solved_densely(solver):
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(30, 3)), rng.normal(size=(5, 3)) + 1e4])
    model = HNE(**PUBLISHED | {"n_neighbors": 3}, n_components=3, eigen_solver=solver).fit(X)
    assert model.n_pieces_ == 2
    assert model.eigen_solver_ == solver
    assert [pairs.solver for pairs in model._fitted.core.eigenpairs] == [solver, "dense"]
    np.testing.assert_allclose(model.embedding_.T @ model.embedding_, np.eye(3), atol=1e-9)
