"""Curves and rings are recognized by their minimum spanning tree, whatever they are bent into."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.csgraph import minimum_spanning_tree, shortest_path
from scipy.spatial.distance import cdist, pdist, squareform
from sklearn.datasets import load_digits

from hne import HNE, embed
from hne.core.neighbors.curve import find_curve, longest_path
from hne.core.neighbors.graph import knn_graph
from hne.core.records import NeighborGraph
from tests.conftest import frozen

RNG = np.random.default_rng(0)
ANGLES = np.sort(RNG.uniform(0, 2 * np.pi, 150))
RING = np.column_stack([np.cos(ANGLES), np.sin(ANGLES)])


def make_curve(n_samples, n_features=10):
    """Sample a smooth open curve that bends in all of its dimensions."""
    t = np.sort(np.random.default_rng(1).uniform(0, 1, n_samples))
    return np.column_stack([np.cos(np.pi * frequency * t) for frequency in range(1, n_features + 1)])


CURVES = {
    "ring": RING,
    "noisy ring": RING + 0.005 * RNG.normal(size=RING.shape),
    "open curve in ten dimensions": make_curve(300),
    "ring of few samples": RING[::6],
    "line": np.outer(np.arange(50.0), [3.0, 4.0]),
    "ring with duplicates": np.vstack([RING, RING[:20]]),
}
OTHERS = {
    "two blobs": np.vstack([RNG.normal(size=(80, 2)), RNG.normal(size=(80, 2)) + 30]),
    "two rings": np.vstack([RING, RING + 10]),
    "three lines that meet": np.vstack([np.outer(np.arange(1.0, 41), end) for end in ([1, 0], [-1, 1], [-1, -1])]),
    "grid": np.stack(np.meshgrid(np.arange(15.0), np.arange(15.0)), axis=-1).reshape(-1, 2)
    + 0.1 * RNG.random((225, 2)),
    "ring of wide noise": RING + 0.2 * RNG.normal(size=RING.shape),
    "digits": load_digits().data[:300],
}


@pytest.mark.parametrize("name", CURVES)
def test_curves_and_rings_are_recognized(name):
    assert find_curve(knn_graph(frozen(CURVES[name]), 10)) is not None


@pytest.mark.parametrize("name", OTHERS)
def test_other_samples_are_no_curves(name):
    assert find_curve(knn_graph(frozen(OTHERS[name]), 10)) is None


@pytest.mark.parametrize("name", ["noisy ring", "three lines that meet", "grid", "two blobs"])
def test_the_share_is_that_of_the_longest_path_of_the_minimum_spanning_tree(name):
    X = {**CURVES, **OTHERS}[name]
    graph = knn_graph(frozen(X), 10)
    edges = np.zeros((len(X), len(X)))
    edges[np.arange(len(X))[:, None], graph.indices] = graph.distances
    tree = minimum_spanning_tree(csr_array(np.maximum(edges, edges.T)))
    steps = shortest_path(tree, directed=False, unweighted=True)
    sizes = np.isfinite(steps).sum(axis=1)
    largest = np.isfinite(steps[np.argmax(sizes)])
    expected = (steps[np.ix_(largest, largest)].max() + 1) / len(X)
    assert longest_path(graph).share == pytest.approx(expected)


def test_shares_by_hand():
    # A path of four samples beside a pair, and a star of five: its longest path leads over the center.
    path = NeighborGraph(np.array([[1], [2], [3], [2], [5], [4]]), np.ones((6, 1)), "given")
    star = NeighborGraph(np.array([[1], [0], [0], [0], [0]]), np.ones((5, 1)), "given")
    assert longest_path(path).share == pytest.approx(4 / 6)
    assert longest_path(star).share == pytest.approx(3 / 5)
    alone = NeighborGraph(np.full((4, 2), -1), np.full((4, 2), np.inf), "given")
    assert longest_path(alone).share == pytest.approx(1 / 4)


def test_distances_of_zero_are_edges():
    # Of a given graph, samples at distance zero need not be duplicates.
    path = NeighborGraph(np.array([[1, -1], [0, 2], [1, 3], [2, -1]]), np.zeros((4, 2)), "given")
    assert longest_path(path).share == 1.0


def test_neither_a_handful_of_samples_nor_many_are_curves():
    line = np.outer(np.arange(5_001.0), [3.0, 4.0])
    assert find_curve(knn_graph(frozen(line[:25]), 3)) is not None
    assert find_curve(knn_graph(frozen(line[:24]), 3)) is None
    assert find_curve(knn_graph(frozen(line[:-1]), 3)) is not None
    assert find_curve(knn_graph(frozen(line), 3)) is None


def test_the_ends_of_a_ring_are_joined_and_those_of_a_curve_are_not():
    angles = np.linspace(0, 2 * np.pi, 60, endpoint=False)
    ring = np.column_stack([np.cos(angles), np.sin(angles)])
    # Beside one that is missing, the ends are two steps apart.
    for samples, is_joined in ((ring[1:], True), (ring[4:], False), (make_curve(300), False)):
        graph = knn_graph(frozen(samples), 10)
        curve = find_curve(graph)
        one, other = curve.ends
        for count in (1, 3, 10):
            nearest = curve.nearest(count)
            assert (other in nearest.indices[one]) == (one in nearest.indices[other])
            assert (other in nearest.indices[one]) == (is_joined or other in graph.indices[one, :count])
            assert (np.diff(nearest.distances, axis=1) >= 0).all()
        expected = graph.nearest(3)
        changed = (curve.nearest(3).indices != expected.indices).any(axis=1)
        assert set(np.flatnonzero(changed)) <= {one, other}


def test_a_ring_in_many_dimensions_gets_a_chart_of_few_neighbors_by_default():
    angles = np.linspace(0, 2 * np.pi, 60, endpoint=False)
    ring = np.column_stack([wave(k * angles) for k in range(1, 9) for wave in (np.cos, np.sin)])
    model = HNE().fit(ring)
    assert (model.coordinates, model.coordinates_, model.n_neighbors_) == ("auto", "chart", 3)
    # Neighbors on the ring are neighbors in the chart.
    nearest = np.argsort(cdist(model.embedding_, model.embedding_), axis=1)[:, 1:3]
    apart = np.abs(nearest - np.arange(60)[:, None])
    assert (np.minimum(apart, 60 - apart) == 1).mean() > 0.9
    assert HNE(6).fit(ring).n_neighbors_ == 6
    assert HNE(coordinates="layout").fit(ring).coordinates_ == "layout"
    known = HNE(metric="precomputed").fit(squareform(pdist(ring)))
    assert (known.coordinates_, known.n_neighbors_) == ("chart", 3)


def test_a_chart_of_a_ring_depends_on_the_settings_alone(tmp_path):
    angles = np.linspace(0, 2 * np.pi, 60, endpoint=False)[1:]
    ring = np.column_stack([wave(k * angles) for k in range(1, 9) for wave in (np.cos, np.sin)])
    default = embed(ring, checkpoint=tmp_path)
    given = {"n_neighbors": default.settings.n_neighbors, "reg": default.settings.reg, "coordinates": "chart"}
    np.testing.assert_array_equal(embed(ring, **given).Y, default.Y)
    np.testing.assert_array_equal(embed(ring, **given, checkpoint=tmp_path).Y, default.Y)
    tuned = embed(ring, n_neighbors="auto", reg="auto", variant="ihne")
    np.testing.assert_array_equal(tuned.Y, embed(ring, variant="ihne").Y)
