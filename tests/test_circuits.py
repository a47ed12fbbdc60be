"""Short circuits: which edges jump, and the graph without them."""

import logging
from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array

from hne import embed
from hne._circuits import _cut, cut_short_circuits, edges_of
from hne._circuits._edges import spanning_forest, without_edges
from hne._circuits._steepness import plane_neighbors, steepness
from hne._neighbors import knn_graph
from hne._samples import Distances
from hne._types import NeighborGraph, Settings
from hne.datasets import make_swiss_roll

CUT = Settings(n_neighbors=8, short_circuits="cut")


def graph_of(lists, k=None):
    k = k or max(map(len, lists))
    rows = [[*row, *[-1] * (k - len(row))] for row in lists]
    indices = np.array(rows, dtype=np.intp).reshape(len(lists), k)
    return NeighborGraph(indices, np.where(indices >= 0, 1.0, np.inf), "given")


def sheets(gap=6.0, side=9):
    """Two parallel sheets that hang together at one end, as a sheet of paper folded once."""
    rng = np.random.default_rng(0)
    u, v = (axis.ravel().astype(float) for axis in np.meshgrid(np.arange(3 * side), np.arange(side), indexing="ij"))
    u, v = u + 0.2 * rng.random(len(u)), v + 0.2 * rng.random(len(v))
    bend = np.pi * gap / 2
    t = np.clip(u - side, 0, bend)
    angle = t / gap * 2
    x = np.where(u < side, u, np.where(u < side + bend, side + gap / 2 * np.sin(angle), side - (u - side - bend)))
    z = np.where(u < side, 0.0, np.where(u < side + bend, gap / 2 * (1 - np.cos(angle)), gap))
    return np.column_stack([x, v, z]), np.column_stack([u, v])


def with_jumps(X, chart, count):
    """The graph of the samples with so many edges added from one sheet to the other, and those edges."""
    graph = knn_graph(X, 8)
    lower = np.flatnonzero((chart[:, 0] > 2) & (chart[:, 0] < 6))[:: 40 // count][:count]
    indices, distances = (np.column_stack([one, one[:, :1]]) for one in (graph.indices, graph.distances))
    indices[:, -1], distances[:, -1] = -1, np.inf
    pairs = []
    for sample in lower:
        far = np.abs(chart[:, 0] - chart[sample, 0]) > 12
        other = np.flatnonzero(far)[np.argmin(np.linalg.norm(X[far] - X[sample], axis=1))]
        indices[sample, -1], distances[sample, -1] = other, np.linalg.norm(X[other] - X[sample])
        pairs.append(sorted((sample, other)))
    return replace(graph, indices=indices, distances=distances), np.array(pairs)


def test_each_pair_of_neighbors_is_one_edge_and_knows_who_lists_whom():
    edges = edges_of(graph_of([[1, 2], [0], [3], []]))
    assert edges.pairs.tolist() == [[0, 1], [0, 2], [2, 3]]
    assert edges.is_listed.tolist() == [[True, True], [True, False], [True, False]]
    matrix = edges.matrix(np.array([1.0, 2.0, 3.0]), np.array([True, False, True])).toarray()
    assert matrix.tolist() == [[0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 3], [0, 0, 3, 0]]
    assert edges.between(np.array([3, 1]), np.array([2, 0])).tolist() == [2, 0]
    more = edges.with_pairs(np.array([[3, 1]]))
    assert more.pairs.tolist() == [[0, 1], [0, 2], [1, 3], [2, 3]]


def test_rows_close_up_where_an_edge_was():
    graph = graph_of([[1, 2], [0, 2], [0, 1]])
    left = without_edges(graph, edges_of(graph).chosen(np.array([0])))
    assert left.indices.tolist() == [[2, -1], [2, -1], [0, 1]]
    assert np.isinf(left.distances[:, 1]).tolist() == [True, True, False]


def test_the_least_suspicious_of_needed_edges_hold_a_graph_together():
    edges = edges_of(graph_of([[1, 2], [2], [3], []]))
    suspicion = np.array([3.0, 1.0, 2.0, 4.0])
    needed = spanning_forest(edges, np.ones(4, dtype=bool), suspicion)
    assert edges.pairs[needed].tolist() == [[0, 2], [1, 2], [2, 3]]


@pytest.mark.parametrize("kind", ["dense", "sparse", "distances"])
def test_edges_within_a_plane_are_flat_and_those_out_of_it_steep(kind):
    X = np.column_stack([np.random.default_rng(0).random((40, 2)), np.zeros(40)])
    X = np.vstack([X, X + np.array([0, 0, 0.5])])
    graph = knn_graph(X[:40], 6)
    lists = np.vstack([graph.indices, graph.indices + 40])
    graph = NeighborGraph(np.column_stack([lists, np.r_[np.arange(40, 80), np.arange(40)]]), np.ones((80, 7)), "given")
    edges = edges_of(graph)
    away = np.linalg.norm(X[:, None] - X, axis=2)
    known = {"dense": X, "sparse": csr_array(X), "distances": Distances(away)}[kind]
    sines = steepness(known, graph, edges, 0.2, 2, 6)
    across = edges.larger - edges.smaller == 40
    # Rounding of a squared length is a sine of its root.
    assert sines[~across].max() < 1e-5
    assert sines[across].min() > 1 - 1e-6


def test_noise_takes_planes_of_more_neighbors():
    sizes = {}
    for noise in (0.0, 0.6):
        X = make_swiss_roll(400, noise=noise, random_state=1).X
        graph = knn_graph(X, 12)
        sizes[noise] = plane_neighbors(X, graph, edges_of(graph), float(np.median(graph.distances)), 2)
    assert sizes == {0.0: 5, 0.6: 9}


@pytest.mark.parametrize("count", [1, 4])
def test_edges_from_sheet_to_sheet_are_cut_and_next_to_nothing_else(count):
    X, chart = sheets()
    graph, jumps = with_jumps(X, chart, count)
    found = cut_short_circuits(X, graph, CUT)
    cut = {tuple(pair) for pair in found.pairs.tolist()}
    assert {tuple(pair) for pair in jumps.tolist()} <= cut
    assert len(cut) - count <= 3
    left = {tuple(pair) for pair in edges_of(found.graph).pairs.tolist()}
    assert not cut & left
    assert f"{len(cut)} of" in str(found)


def test_kept_short_circuits_are_told_and_stay():
    X, chart = sheets()
    graph, jumps = with_jumps(X, chart, 4)
    found = cut_short_circuits(X, graph, replace(CUT, short_circuits="keep"))
    assert found.graph is graph
    assert len(found.pairs) >= len(jumps)
    assert "suspected, and kept" in str(found)


def test_a_clean_roll_loses_next_to_nothing_and_a_plane_nothing():
    rng = np.random.default_rng(0)
    plane, roll = np.column_stack([rng.random((300, 2)), np.zeros(300)]), make_swiss_roll(2000, random_state=0).X
    assert len(cut_short_circuits(plane, knn_graph(plane, 8), CUT).pairs) == 0
    assert len(cut_short_circuits(roll, knn_graph(roll, 8), CUT).pairs) <= 8


def test_a_sample_keeps_as_many_edges_as_a_plane_needs():
    roll = make_swiss_roll(150, random_state=4)
    found = cut_short_circuits(roll.X, knn_graph(roll.X, 12), CUT)
    assert len(found.pairs) > 100
    assert np.bincount(edges_of(found.graph).pairs.ravel(), minlength=150).min() >= 3
    assert np.count_nonzero(found.graph.indices >= 0, axis=1).min() >= 3


def test_both_ways_to_find_ways_give_the_same(monkeypatch):
    roll = make_swiss_roll(300, noise=0.5, random_state=2)
    graph = knn_graph(roll.X, 12)
    plain = cut_short_circuits(roll.X, graph, CUT).pairs
    monkeypatch.setattr(_cut, "COMPILED_MIN_WORK", 0)
    assert len(plain) > 20
    assert np.array_equal(plain, cut_short_circuits(roll.X, graph, CUT).pairs)


def test_a_wrong_edge_that_nobody_suspects_does_not_save_those_beside_it(monkeypatch):
    roll = make_swiss_roll(600, noise=0.6, random_state=7)
    graph = knn_graph(roll.X, 12)

    def wrong(found):
        ends = edges_of(found.graph).pairs
        along = np.linalg.norm(roll.chart[ends[:, 0]] - roll.chart[ends[:, 1]], axis=1)
        across = np.linalg.norm(roll.X[ends[:, 0]] - roll.X[ends[:, 1]], axis=1)
        return int(((along > 2 * across) & (along > 4 * np.median(along))).sum())

    with_it = wrong(cut_short_circuits(roll.X, graph, CUT))
    monkeypatch.setattr(_cut, "SET_ASIDE_ROUNDS", 0)
    assert with_it <= wrong(cut_short_circuits(roll.X, graph, CUT))


def test_more_edges_than_anybody_looks_at_are_left_alone_and_said(monkeypatch, caplog):
    monkeypatch.setattr(_cut, "MAX_EDGES", 10)
    X = make_swiss_roll(100).X
    graph = knn_graph(X, 6)
    with caplog.at_level(logging.WARNING, "hne"):
        found = cut_short_circuits(X, graph, CUT)
    assert found.graph is graph
    assert str(found) == "not looked for, too many edges"
    assert "not looked for among the neighbors of 100 samples" in caplog.text


def test_the_order_of_samples_does_not_matter():
    roll = make_swiss_roll(250, random_state=5)
    order = np.random.default_rng(0).permutation(250)
    one, other = embed(roll.X), embed(roll.X[order])
    pairs = {tuple(pair) for pair in one.short_circuits.tolist()}
    assert len(pairs) > 10
    assert pairs == {tuple(sorted(pair)) for pair in order[other.short_circuits].tolist()}


def test_samples_at_one_place_have_no_wrong_edges():
    graph = graph_of([[1], [2], [3], [0]])
    assert len(cut_short_circuits(np.zeros((4, 2)), graph, CUT).pairs) == 0
