"""Short circuits: edges as sets, planes as loops, and graphs whose wrong edges are known."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, dijkstra
from scipy.spatial.distance import pdist, squareform
from scipy.stats import ortho_group

from hne import HNE, embed
from hne.core.neighbors.edges import Edges, edges_of, without_edges
from hne.core.neighbors.graph import knn_graph
from hne.core.records import NeighborGraph, ShortCircuits, UniqueSamples
from hne.core.samples.kinds import Distances
from hne.core.short_circuits import cut as _cut
from hne.core.short_circuits.cut import (
    NO_PAIRS,
    ChosenEdges,
    cut_short_circuits,
    edited,
    lengths_of_pairs,
    sines_at_both_ends,
    spanning_forest,
    steepness,
)
from hne.datasets import make_swiss_hole, make_swiss_roll
from hne.exceptions import InputError
from hne.settings import Settings
from tests.conftest import frozen, lattice_clouds

CUT = Settings(short_circuits="cut")


def listing(lists):
    """A graph of these lists of neighbors, as far from each other as their numbers."""
    width = max(map(len, lists))
    indices = np.array([[*row, *[-1] * (width - len(row))] for row in lists])
    distances = np.where(indices >= 0, np.abs(indices - np.arange(len(lists))[:, None]), np.inf)
    return NeighborGraph(indices, distances.astype(float), "given")


def linked(n, links):
    """Edges between these samples, in order."""
    pairs = np.array(sorted(map(sorted, links)))
    return Edges(pairs[:, 0], pairs[:, 1], np.ones((len(pairs), 2), dtype=bool), n)


def as_sets(pairs):
    """Pairs without order."""
    return {frozenset(map(int, pair)) for pair in pairs}


def all_edges(graph):
    """Edges of a graph, by going through its lists."""
    return {frozenset((row, int(other))) for row, near in enumerate(graph.indices) for other in near if other >= 0}


def groups(graph):
    """The samples of each piece of a graph, by going from edge to edge."""
    piece = list(range(graph.n_samples))
    for edge in all_edges(graph):
        one, other = (piece[sample] for sample in edge)
        piece = [other if label == one else label for label in piece]
    return {frozenset(np.flatnonzero(np.equal(piece, label))) for label in piece}


def kinds(X):
    """The same samples dense, sparse and by their distances."""
    return {"dense": frozen(X), "sparse": csr_array(X), "distances": Distances(squareform(pdist(X)))}


@st.composite
def graphs(draw, max_samples=25):
    """Different samples on a lattice, and the graph of their nearest."""
    X = np.unique(draw(lattice_clouds(min_samples=10, max_samples=max_samples)), axis=0)
    k = draw(st.integers(1, 5))
    return (X, knn_graph(X, min(k, len(X) - 1))) if len(X) > 1 else draw(graphs(max_samples))


# Edges


def test_edges_are_each_pair_once_whoever_lists_whom():
    edges = edges_of(listing([[1, 2], [0], [3], []]))
    assert edges.pairs.tolist() == [[0, 1], [0, 2], [2, 3]]
    assert edges.is_listed.tolist() == [[True, True], [True, False], [True, False]]
    assert edges_of(listing([[], [0]])).is_listed.tolist() == [[False, True]]
    assert len(edges_of(listing([[-1], [-1]]))) == 0


@settings(max_examples=8)
@given(graphs())
def test_edges_are_those_of_the_lists_in_order(drawn):
    _, graph = drawn
    edges = edges_of(graph)
    assert as_sets(edges.pairs) == all_edges(graph)
    assert edges.pairs.tolist() == sorted(map(sorted, all_edges(graph)))
    for (one, other), listed in zip(edges.pairs, edges.is_listed, strict=True):
        assert listed.tolist() == [other in graph.indices[one], one in graph.indices[other]]


@settings(max_examples=8)
@given(graphs(), st.randoms(use_true_random=False))
def test_matrices_hold_the_chosen_lengths_both_ways_and_numbers_are_found_again(drawn, random):
    _, graph = drawn
    edges = edges_of(graph)
    which = np.array([random.random() < 0.6 for _ in range(len(edges))])
    lengths = 1.0 + np.arange(len(edges))
    expected = np.zeros((graph.n_samples,) * 2)
    for number, (one, other) in enumerate(edges.pairs):
        expected[one, other] = expected[other, one] = lengths[number] if which[number] else 0.0
    np.testing.assert_array_equal(edges.matrix(lengths, which).toarray(), expected)
    starts, columns, numbers = edges.entries(which)
    for row in range(graph.n_samples):
        for entry in range(starts[row], starts[row + 1]):
            assert set(edges.pairs[numbers[entry]].tolist()) == {row, int(columns[entry])}
    for one, other in (edges.pairs.T, edges.pairs[:, ::-1].T):
        np.testing.assert_array_equal(edges.between(one, other), np.arange(len(edges)))


def test_edges_that_nobody_lists_are_put_in_their_place():
    edges = linked(5, [(0, 1), (2, 3)]).with_pairs(np.array([[4, 0], [2, 1]]))
    assert edges.pairs.tolist() == [[0, 1], [0, 4], [1, 2], [2, 3]]
    assert edges.is_listed.all(axis=1).tolist() == [True, False, False, True]


@settings(max_examples=8)
@given(graphs(), st.randoms(use_true_random=False))
def test_rows_close_up_behind_edges_that_are_gone(drawn, random):
    _, graph = drawn
    edges = edges_of(graph)
    gone = np.array([random.random() < 0.3 for _ in range(len(edges))])
    left = without_edges(graph, edges.pairs[gone])
    lost = as_sets(edges.pairs[gone])
    for row in range(graph.n_samples):
        old = zip(graph.indices[row], graph.distances[row], strict=True)
        kept = [(other, length) for other, length in old if frozenset((row, int(other))) not in lost]
        absent = [(-1, np.inf)] * (graph.n_neighbors - len(kept))
        assert list(zip(left.indices[row], left.distances[row], strict=True)) == kept + absent


@settings(max_examples=8)
@given(graphs(), st.randoms(use_true_random=False))
def test_the_forest_is_what_going_from_the_least_suspicious_on_would_keep(drawn, random):
    _, graph = drawn
    edges = edges_of(graph)
    suspicion = np.array([random.randrange(4) / 4 for _ in range(len(edges))])
    is_suspect = suspicion > 0
    piece = np.arange(graph.n_samples)
    expected = []
    for edge in np.argsort(suspicion, kind="stable"):
        one, other = piece[edges.pairs[edge]]
        if one != other:
            expected += [edge] if is_suspect[edge] else []
            piece[piece == one] = other
    assert np.flatnonzero(spanning_forest(edges, is_suspect, suspicion)).tolist() == sorted(expected)


# Steepness


def sine_at(X, row, near, other, unit, d):
    """Sine of the angle between an edge and the plane of a sample's neighbors, in plain steps."""
    members = np.array([row, *(sample for sample in near if sample >= 0)])
    weights = np.array([1 / (1 + (np.linalg.norm(X[member] - X[row]) / unit) ** 2) for member in members])
    mean = (weights[:, None] * X[members]).sum(axis=0) / weights.sum()
    _, _, axes = np.linalg.svd(np.sqrt(weights)[:, None] * (X[members] - mean))
    edge = X[other] - X[row]
    return np.sqrt(max(0.0, 1 - sum((axes[axis] @ edge) ** 2 for axis in range(d)) / (edge @ edge)))


@pytest.mark.parametrize("kind", ["dense", "sparse", "distances"])
@pytest.mark.parametrize("n_features", [3, 12])
def test_cut_is_the_mean_sine_at_both_ends(kind, n_features, monkeypatch):
    X = np.random.default_rng(3).normal(size=(60, n_features))
    graph = knn_graph(X, 6)
    edges = edges_of(graph)
    expected = [
        np.mean([sine_at(X, i, graph.indices[i, :5], j, 1.5, 2) for i, j in ((one, other), (other, one))])
        for one, other in edges.pairs
    ]
    # In one block and in many.
    for block_bytes in (2**25, 2**13):
        monkeypatch.setattr(_cut, "BLOCK_BYTES", block_bytes)
        np.testing.assert_allclose(
            sines_at_both_ends(kinds(X)[kind], graph, edges, 1.5, 2, [5])[0], expected, atol=1e-7
        )


@pytest.mark.parametrize("kind", ["dense", "sparse", "distances"])
def test_edges_within_a_plane_are_flat_and_those_across_it_upright(kind):
    rng = np.random.default_rng(0)
    turn = ortho_group.rvs(6, random_state=1)
    flat = np.column_stack([rng.random((80, 2)), np.zeros((80, 4))])
    X = np.vstack([flat, flat + np.eye(6)[2] * 0.5]) @ turn
    sheets = [knn_graph(X[:80], 6).indices, knn_graph(X[80:], 6).indices + 80]
    graph = NeighborGraph(np.vstack(sheets), np.ones((160, 6)), "given")
    inside, across = edges_of(graph), linked(160, [(row, row + 80) for row in range(80)])
    assert sines_at_both_ends(kinds(X)[kind], graph, inside, 0.1, 2, [5])[0].max() < 1e-5
    assert sines_at_both_ends(kinds(X)[kind], graph, across, 0.1, 2, [5])[0].min() > 1 - 1e-9


def test_absent_neighbors_do_not_count_in_a_plane():
    X = np.random.default_rng(4).normal(size=(20, 4))
    graph = knn_graph(X, 5)
    short = NeighborGraph(np.where(np.arange(5) < 3, graph.indices, -1), graph.distances, "given")
    edges = edges_of(short)
    for X_of_kind in kinds(X).values():
        found = sines_at_both_ends(X_of_kind, short, edges, 1.0, 2, [5])[0]
        np.testing.assert_allclose(found, sines_at_both_ends(X, graph, edges, 1.0, 2, [3])[0], atol=1e-7)


def test_samples_at_one_place_are_joined_by_nothing_steep():
    X = np.zeros((4, 3))
    X[2:, 0] = 1.0
    graph = listing([[1, 2], [0, 2], [3, 0], [2, 0]])
    assert sines_at_both_ends(X, graph, linked(4, [(0, 1)]), 1.0, 1, [2]).tolist() == [[0.0]]


def test_edges_whose_distances_nobody_knows_have_no_cut():
    X = np.random.default_rng(5).normal(size=(30, 3))
    graph = knn_graph(X, 5)
    edges = edges_of(graph)
    complete = squareform(pdist(X))
    one, other = graph.indices[3, :2]
    rows, columns = np.indices((30, 30)).reshape(2, -1)
    is_kept = ~np.isin(rows, [one, other]) | ~np.isin(columns, [one, other]) | (rows == columns)
    kept = rows[is_kept], columns[is_kept]
    known = csr_array((complete[kept], kept), shape=(30, 30))
    found = sines_at_both_ends(Distances(known), graph, edges, 1.0, 2, [4])[0]
    lost = np.array([any({one, other} <= {a, b, *graph.indices[end, :4]} for end in (a, b)) for a, b in edges.pairs])
    assert 0 < lost.sum() < len(edges)
    np.testing.assert_array_equal(np.isnan(found), lost)
    np.testing.assert_allclose(
        found[~lost], sines_at_both_ends(Distances(complete), graph, edges, 1.0, 2, [4])[0][~lost], atol=1e-9
    )


def test_planes_of_more_neighbors_are_taken_where_there_is_noise():
    for noise, size in ((0.0, 5), (0.6, 9)):
        X = make_swiss_roll(1000, noise=noise, random_state=1).X
        graph = knn_graph(X, 12)
        assert steepness(X, graph, edges_of(graph), 1.0, 2)[0] == size


def test_of_many_edges_those_of_some_samples_choose_the_planes(monkeypatch):
    X = make_swiss_roll(1000, noise=0.6, random_state=1).X
    graph = knn_graph(X, 12)
    edges = edges_of(graph)
    size, sines = steepness(X, graph, edges, 1.0, 2)
    monkeypatch.setattr(_cut, "MANY_EDGES", 5_500)
    for rows in (500, 1001):
        monkeypatch.setattr(_cut, "COMPARED_ROWS", rows)
        assert steepness(X, graph, edges, 1.0, 2)[0] == size
    np.testing.assert_array_equal(steepness(X, graph, edges, 1.0, 2)[1], sines)


def test_sines_are_the_same_by_several_threads(monkeypatch):
    X = make_swiss_roll(300, random_state=2).X
    graph = knn_graph(X, 8)
    monkeypatch.setattr("hne._runtime.threads.ROWS_AT_ONCE", 7)
    one, three = (steepness(X, graph, edges_of(graph), 1.0, 2, n_threads)[1] for n_threads in (1, 3))
    np.testing.assert_array_equal(one, three)


def test_planes_have_no_more_neighbors_than_there_are():
    X = make_swiss_roll(100, noise=0.6, random_state=1).X
    for k in (2, 6):
        graph = knn_graph(X, k)
        assert steepness(X, graph, edges_of(graph), 1.0, 2)[0] <= k


def test_where_no_plane_is_known_the_smallest_is_taken_and_nothing_cut():
    X = make_swiss_roll(60, random_state=1).X
    graph = knn_graph(X, 9)
    edges = edges_of(graph)
    known = edges.matrix(lengths_of_pairs(X, edges.smaller, edges.larger), np.arange(len(edges)) % 3 > 0)
    assert steepness(Distances(known), graph, edges, 1.0, 2)[0] == 5
    assert len(cut_short_circuits(Distances(known), graph, CUT).pairs) == 0


def test_lengths_are_those_of_the_coordinates_dense_or_sparse(monkeypatch):
    monkeypatch.setattr(_cut, "BLOCK_BYTES", 400)
    X = np.random.default_rng(6).normal(size=(40, 5))
    one, other = np.random.default_rng(7).integers(40, size=(2, 100))
    expected = [np.linalg.norm(X[a] - X[b]) for a, b in zip(one, other, strict=True)]
    for X_of_kind in kinds(X).values():
        np.testing.assert_allclose(lengths_of_pairs(X_of_kind, one, other), expected, atol=1e-12)


# What is cut


def folded_sheet():
    """A sheet of spacing 0.4 bent double, two flats 1.5 apart, its chart, and its neighbors along it."""
    rng = np.random.default_rng(8)
    s, v = np.meshgrid(0.4 * np.arange(36), 0.4 * np.arange(9), indexing="ij")
    chart = np.column_stack([s.ravel(), v.ravel()]) + rng.uniform(-0.12, 0.12, size=(324, 2))
    s, radius, flat = chart[:, 0], 0.75, 6.0
    bend = np.pi * radius
    angle = np.clip((s - flat) / radius, 0, np.pi)
    x = np.where(s < flat, s, np.where(s > flat + bend, 2 * flat + bend - s, flat + radius * np.sin(angle)))
    return np.column_stack([x, chart[:, 1], radius * (1 - np.cos(angle))]), chart, knn_graph(chart, 7).indices


def above(X, row):
    """The sample of the other flat that is most nearly above or below a sample."""
    away = np.linalg.norm(X[:, :2] - X[row, :2], axis=1) + 100 * (np.abs(X[:, 2] - X[row, 2]) < 1)
    return int(np.argmin(away))


def given_graph(X, lists, wrong=()):
    """The graph of these lists, in which for each wrong edge one end lists the other in the place of its last."""
    lists = lists.copy()
    for one, other in wrong:
        lists[one, -1] = other
    distances = np.linalg.norm(X[lists] - X[:, None], axis=2)
    order = np.argsort(distances, axis=1, kind="stable")
    return NeighborGraph(np.take_along_axis(lists, order, 1), np.take_along_axis(distances, order, 1), "given")


@pytest.mark.parametrize("rows", [[40], [40, 22, 60, 75], [40, 41, 49, 50]], ids=["one", "some apart", "some together"])
@pytest.mark.parametrize("kind", ["dense", "sparse", "distances"])
def test_edges_between_the_flats_of_a_folded_sheet_are_cut_and_nothing_else(rows, kind):
    X, _, lists = folded_sheet()
    wrong = [(row, above(X, row)) for row in rows]
    graph = given_graph(X, lists, wrong)
    found = cut_short_circuits(kinds(X)[kind], graph, CUT)
    assert as_sets(found.pairs) == as_sets(wrong)
    assert (found.is_cut, found.n_edges) == (True, len(all_edges(graph)))
    assert all_edges(found.graph) == all_edges(graph) - as_sets(wrong)
    assert str(found) == f"{len(wrong)} of {found.n_edges} edges cut"


def test_a_folded_sheet_without_wrong_edges_loses_none():
    X, _, lists = folded_sheet()
    graph = given_graph(X, lists)
    found = cut_short_circuits(X, graph, CUT)
    assert len(found.pairs) == 0
    np.testing.assert_array_equal(found.graph.indices, graph.indices)


def test_an_edge_with_a_short_way_around_is_kept_however_steep():
    # At the bend the way along the sheet is hardly longer.
    X, chart, lists = folded_sheet()
    row = int(np.argmin(np.linalg.norm(chart - [5.8, 1.6], axis=1)))
    wrong = (row, above(X, row))
    way = np.linalg.norm(chart[wrong[0]] - chart[wrong[1]])
    assert way < 2.2 * np.linalg.norm(X[wrong[0]] - X[wrong[1]])
    assert len(cut_short_circuits(X, given_graph(X, lists, [wrong]), CUT).pairs) == 0


def test_the_one_edge_that_holds_two_sheets_together_stays():
    X, chart, lists = folded_sheet()
    flats = np.flatnonzero((chart[:, 0] < 5.4) | (chart[:, 0] > 8.9))
    X, chart = X[flats], chart[flats]
    sheets = [np.flatnonzero(chart[:, 0] < 7), np.flatnonzero(chart[:, 0] > 7)]
    lists = np.empty((len(X), 7), dtype=np.intp)
    for sheet in sheets:
        lists[sheet] = sheet[knn_graph(chart[sheet], 7).indices]
    wrong = [(row, above(X, row)) for row in sheets[0][[3, 60, 110]]]
    alone = cut_short_circuits(X, given_graph(X, lists, wrong[:1]), CUT)
    assert len(alone.pairs) == 0
    several = cut_short_circuits(X, given_graph(X, lists, wrong), CUT)
    assert len(several.pairs) == 2
    assert as_sets(several.pairs) < as_sets(wrong)
    assert len(groups(several.graph)) == 1


def ladder(bend):
    """Two rows of five samples half a unit apart, joined at the end by a way of this length, with two rungs of 2."""
    links = {(0, 1): 0.5, (1, 2): 0.5, (2, 3): 0.5, (3, 4): 0.5, (4, 9): bend}
    links |= {(5, 6): 0.5, (6, 7): 0.5, (7, 8): 0.5, (8, 9): 0.5, (0, 5): 2.0, (1, 6): 2.0}
    edges = linked(10, links)
    lengths = np.array([links[tuple(pair)] for pair in edges.pairs])
    suspicion = np.zeros(len(edges))
    # Limit .5: the first rung is a strong suspect, the second nobody suspects.
    suspicion[edges.between(np.array([0, 1]), np.array([5, 6]))] = 1.5, 0.3
    return _cut._Judged(edges, lengths, suspicion, 0.5)


def test_a_wrong_edge_that_nobody_suspects_is_found_behind_a_strong_one():
    # 0-5 has the way 0-1-6-5 of 3, over the other rung; without that, one of 4 + bend around the end.
    for bend, expected in ((6.0, {frozenset((0, 5)), frozenset((1, 6))}), (3.0, set())):
        judged = ladder(bend)
        is_suspect = judged.suspicion > judged.limit
        suspects = np.flatnonzero(is_suspect)
        ways, worst = _cut._ways(judged, suspects, is_suspect, 2.5)
        assert ways.tolist() == [3.0]
        assert judged.edges.pairs[worst].tolist() == [[1, 6]]
        wrong = _cut._behind_others(judged, is_suspect, suspects, worst)
        assert as_sets(judged.edges.pairs[wrong]) == expected


def test_a_weak_suspect_sets_no_edge_aside():
    judged = ladder(6.0)
    weaker = _cut._Judged(judged.edges, judged.lengths, judged.suspicion * 0.6, 0.5)
    is_suspect = weaker.suspicion > weaker.limit
    suspects = np.flatnonzero(is_suspect)
    _, worst = _cut._ways(weaker, suspects, is_suspect, 2.5)
    assert len(_cut._behind_others(weaker, is_suspect, suspects, worst)) == 0


def jumps(data, pairs):
    """Pairs that are far along the surface."""
    i, j = pairs.T
    near = np.linalg.norm(data.X[i] - data.X[j], axis=1)
    return np.linalg.norm(data.chart[i] - data.chart[j], axis=1) > 3 * near


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("k", [8, 12])
def test_all_edges_that_jump_to_another_turn_of_a_sparse_roll_are_cut(seed, k):
    roll = make_swiss_roll(300, random_state=seed)
    graph = knn_graph(roll.X, k)
    found = cut_short_circuits(roll.X, graph, CUT)
    assert jumps(roll, edges_of(graph).pairs).any()
    assert not jumps(roll, edges_of(found.graph).pairs).any()
    assert np.count_nonzero(~jumps(roll, found.pairs)) < 0.03 * found.n_edges


def test_edges_that_nobody_suspects_hold_others_on_sparse_rolls(monkeypatch):
    rounds_set = _cut.SET_ASIDE_ROUNDS
    left = {}
    for rounds in (rounds_set, 0):
        monkeypatch.setattr(_cut, "SET_ASIDE_ROUNDS", rounds)
        rolls = [make_swiss_roll(200, random_state=seed) for seed in (3, 4, 7)]
        graphs_left = [cut_short_circuits(roll.X, knn_graph(roll.X, 12), CUT).graph for roll in rolls]
        pairs = zip(rolls, graphs_left, strict=True)
        left[rounds] = [int(jumps(roll, edges_of(graph).pairs).sum()) for roll, graph in pairs]
    assert left[rounds_set] == [0, 0, 0]
    assert min(left[0]) > 5


@pytest.mark.parametrize("even", [True, False])
def test_a_dense_roll_loses_next_to_nothing(even):
    X = make_swiss_roll(1500, even=even, random_state=4).X
    found = cut_short_circuits(X, knn_graph(X, 8), CUT)
    assert len(found.pairs) <= 0.002 * found.n_edges


def test_samples_in_many_directions_lose_few_edges():
    X = np.random.default_rng(9).normal(size=(300, 10))
    found = cut_short_circuits(X, knn_graph(X, 5), CUT)
    assert len(found.pairs) < 0.02 * found.n_edges


@settings(max_examples=8)
@given(graphs(), st.integers(1, 2))
def test_pieces_stay_what_they_are_and_a_sample_keeps_one_edge_more_than_dimensions(drawn, d):
    X, graph = drawn
    found = cut_short_circuits(frozen(X), graph, Settings(n_components=d, short_circuits="cut"))
    assert groups(found.graph) == groups(graph)
    assert all_edges(found.graph) == all_edges(graph) - as_sets(found.pairs)
    assert len(as_sets(found.pairs)) == len(found.pairs) == found.n_edges - len(all_edges(found.graph))
    had, has = (np.count_nonzero(one.indices >= 0, axis=1) for one in (graph, found.graph))
    assert (has >= np.minimum(had, d + 1)).all()
    np.testing.assert_array_equal(found.graph.indices[had == has], graph.indices[had == has])


def test_edges_are_left_to_samples_that_have_few():
    # Sample 1 has two edges: of both, the one that is wanted first may go.
    edges = linked(5, [(0, 1), (0, 2), (0, 3), (0, 4), (1, 2)])
    assert _cut._leaving_enough(edges, np.array([0, 4]), 1).tolist() == [0]
    assert _cut._leaving_enough(edges, np.array([4, 0]), 1).tolist() == [4]
    assert _cut._leaving_enough(edges, np.array([0, 1, 4]), 2).tolist() == []
    # Sample 2 lists nobody but 1, whoever lists it.
    edges.is_listed[1] = True, False
    assert _cut._leaving_enough(edges, np.array([4, 1]), 1).tolist() == [1]


def random_ways(seed):
    """Edges with lengths of all sizes, and those that ways are sought around."""
    rng = np.random.default_rng(seed)
    graph = knn_graph(rng.normal(size=(400, 2)), 5)
    edges = edges_of(graph)
    judged = _cut._Judged(edges, rng.random(len(edges)), rng.random(len(edges)), 0.5)
    return judged, rng.random(len(edges)) < 0.3, rng.choice(len(edges), 200, replace=False)


@pytest.mark.parametrize("longest", [2.5, 40.0])
def test_ways_are_as_long_as_scipy_says(longest):
    judged, is_aside, around = random_ways(10)
    ways, worst = _cut._ways(judged, around, is_aside, longest)
    one, other = judged.edges.pairs[around].T
    away = dijkstra(judged.edges.matrix(judged.lengths, ~is_aside), indices=one)[np.arange(len(one)), other]
    np.testing.assert_allclose(ways, np.where(away <= longest * judged.lengths[around], away, np.inf), rtol=1e-12)
    assert np.isfinite(ways).any()
    assert np.isinf(ways).any()
    assert ((worst >= 0) == np.isfinite(ways)).all()


def test_ways_are_shortest_and_their_worst_edge_the_most_suspicious_on_them():
    judged, is_aside, around = random_ways(11)
    ways, worst = _cut._ways(judged, around, is_aside, 10.0)
    links = {}
    for number in np.flatnonzero(~is_aside):
        one, other = judged.edges.pairs[number]
        links.setdefault(int(one), []).append((int(other), number))
        links.setdefault(int(other), []).append((int(one), number))
    for edge, way, bad in list(zip(around, ways, worst, strict=True))[:40]:
        start, end = judged.edges.pairs[edge]
        # Bellman and Ford: the shortest way so far to each, with its worst suspicion.
        reached = {int(start): (0.0, -1)}
        changed = True
        while changed:
            changed = False
            for sample in list(reached):
                for other, number in links.get(sample, []):
                    length = reached[sample][0] + judged.lengths[number]
                    if length < reached.get(other, (np.inf,))[0] - 1e-12:
                        before = reached[sample][1]
                        is_worse = before < 0 or judged.suspicion[number] > judged.suspicion[before]
                        reached[other] = (length, number if is_worse else before)
                        changed = True
        length, expected = reached.get(int(end), (np.inf, -1))
        if length > 10.0 * judged.lengths[edge]:
            length, expected = np.inf, -1
        assert way == pytest.approx(length)
        assert bad == expected


def test_keeping_reports_the_same_edges_and_cuts_none():
    roll = make_swiss_roll(300, random_state=0)
    graph = knn_graph(roll.X, 12)
    cut, kept = (cut_short_circuits(roll.X, graph, Settings(short_circuits=how)) for how in ("cut", "keep"))
    np.testing.assert_array_equal(cut.pairs, kept.pairs)
    assert kept.graph is graph
    assert not kept.is_cut
    assert str(kept) == f"{len(kept.pairs)} of {kept.n_edges} edges suspected, and kept"
    model = HNE(12, short_circuits="keep").fit(roll.X)
    assert len(model.short_circuits_) == len(kept.pairs) > 0
    np.testing.assert_array_equal(model._fitted.graph.indices, graph.indices)


def test_too_many_edges_are_not_looked_at_and_that_is_said(monkeypatch, caplog):
    monkeypatch.setattr(_cut, "MAX_EDGES", 1799)
    X = make_swiss_roll(300, random_state=0).X
    graph = knn_graph(X, 12)
    found = cut_short_circuits(X, graph, CUT)
    assert (len(found.pairs), found.is_cut, found.is_searched) == (0, False, False)
    assert found.graph is graph
    assert "short circuits: not looked for among the neighbors of 300 samples" in caplog.text
    assert str(found) == "not searched for"
    monkeypatch.setattr(_cut, "MAX_EDGES", 1800)
    assert cut_short_circuits(X, graph, CUT).is_searched


def test_a_layout_keeps_all_edges_and_only_edges_cut_by_hand_are_removed():
    roll = make_swiss_roll(300, random_state=0)
    graph = knn_graph(roll.X, 12)
    assert len(cut_short_circuits(roll.X, graph, Settings(coordinates="chart", short_circuits="cut")).pairs)
    found = cut_short_circuits(roll.X, graph, Settings(coordinates="layout", short_circuits="cut"))
    assert found.graph is graph
    assert (len(found.pairs), found.is_cut, found.is_searched) == (0, False, False)
    pair = (0, int(graph.indices[0, 0]))
    after = embed(roll.X, n_neighbors=12, coordinates="layout", cut_edges=[pair]).graph.indices
    before = embed(roll.X, n_neighbors=12, coordinates="layout").graph.indices
    changed = np.flatnonzero((after != before).any(axis=1))
    assert set(changed.tolist()) <= set(pair)
    assert pair[1] not in after[pair[0]]
    assert pair[0] not in after[pair[1]]


def test_samples_at_one_place_have_nothing_to_cut():
    graph = listing([[1, 2], [0, 2], [0, 1]])
    assert len(cut_short_circuits(np.zeros((3, 2)), graph, CUT).pairs) == 0
    assert len(cut_short_circuits(np.zeros((2, 2)), listing([[-1], [-1]]), CUT).pairs) == 0


# By hand


def chosen(cut=(), kept=()):
    return ChosenEdges(*(np.array(sorted(map(sorted, pairs)) or NO_PAIRS, dtype=np.intp) for pairs in (cut, kept)))


@pytest.fixture
def ring():
    """Six samples, each listing the next two; 1-3 and 0-2 were found, the worst first, and cut."""
    whole = listing([[1, 2], [2, 3], [3, 4], [4, 5], [5, 0], [0, 1]])
    pairs = np.array([[1, 3], [0, 2]])
    left = listing([[1], [2], [3, 4], [4, 5], [5, 0], [0, 1]])
    return ShortCircuits(pairs, left, 12, is_cut=True, whole=whole)


def test_edges_are_cut_and_kept_by_hand_on_a_ring(ring):
    after = edited(ring, chosen(cut=[(5, 0), (2, 3)], kept=[(1, 3), (4, 5)]))
    assert after.graph.indices.tolist() == [[1, -1], [2, 3], [4, -1], [4, 5], [5, 0], [1, -1]]
    assert after.graph.distances[[0, 2]].tolist() == [[1, np.inf], [2, np.inf]]
    assert after.pairs.tolist() == after.cut_pairs.tolist() == [[0, 2]]
    assert str(after) == "1 of 12 edges cut, 2 cut by hand"
    assert after.whole is ring.whole


def test_what_is_no_edge_is_neither_cut_nor_counted(ring):
    after = edited(ring, chosen(cut=[(2, 5)], kept=[(1, 4)]))
    np.testing.assert_array_equal(after.graph.indices, ring.graph.indices)
    np.testing.assert_array_equal(after.graph.distances, ring.graph.distances)
    assert after.pairs.tolist() == ring.pairs.tolist()
    assert str(after) == "2 of 12 edges cut"
    assert edited(ring, chosen()) is ring


def test_an_edge_that_was_found_and_is_cut_by_hand_too_is_one_of_those_cut_by_hand(ring):
    after = edited(ring, chosen(cut=[(0, 2)]))
    assert (after.pairs.tolist(), after.n_by_hand) == ([[1, 3]], 1)
    np.testing.assert_array_equal(after.graph.indices, ring.graph.indices)


def test_where_suspects_are_kept_edges_are_cut_by_hand_all_the_same(ring):
    kept = ShortCircuits(ring.pairs, ring.whole, 12, is_cut=False, whole=ring.whole)
    after = edited(kept, chosen(cut=[(1, 3)], kept=[(0, 2)]))
    assert after.graph.indices.tolist() == [[1, 2], [2, -1], [3, 4], [4, 5], [5, 0], [0, 1]]
    assert (after.pairs.tolist(), after.cut_pairs.tolist()) == ([], [])
    assert str(after) == "0 of 12 edges suspected, and kept, 1 cut by hand"
    unsearched = ShortCircuits(NO_PAIRS, ring.whole, 12, is_cut=False, whole=ring.whole, is_searched=False)
    assert str(edited(unsearched, chosen(cut=[(1, 3)]))) == "not searched for, 1 cut by hand"


def test_pairs_of_samples_are_those_of_their_places():
    # Samples 0 and 3 are copies of each other.
    unique = UniqueSamples(index=np.array([2, 0, 1]), inverse=np.array([1, 2, 0, 1]))
    named = Settings(cut_edges=((0, 1), (0, 3), (1, 3), (2, 3)), keep_edges=((1, 2),))
    places = ChosenEdges.of(named, unique)
    assert (places.cut.tolist(), places.kept.tolist()) == ([[1, 2], [1, 2], [0, 1]], [[0, 2]])
    some = chosen(cut=[(1, 4), (4, 7), (2, 4)], kept=[(0, 7), (4, 9)]).among(np.array([1, 4, 7]))
    assert (some.cut.tolist(), some.kept.tolist()) == ([[0, 1], [1, 2]], [])


@settings(max_examples=8)
@given(graphs(), st.randoms(use_true_random=False), st.sampled_from(["cut", "keep"]))
def test_of_any_graph_what_is_left_is_what_nobody_has_cut(drawn, random, policy):
    X, graph = drawn
    found = cut_short_circuits(X, graph, Settings(short_circuits=policy, n_components=1))
    order = sorted(map(sorted, all_edges(graph)))
    cut = [pair for pair in order if random.random() < 0.3]
    kept = [pair for pair in order if pair not in cut and random.random() < 0.5]
    after = edited(found, chosen(cut, kept))
    lost = as_sets(found.cut_pairs) - as_sets(kept) | as_sets(cut)
    assert all_edges(after.graph) == all_edges(graph) - lost
    decided = as_sets(cut) | as_sets(kept)
    assert after.pairs.tolist() == [pair for pair in found.pairs.tolist() if frozenset(pair) not in decided]
    assert after.n_by_hand == len(cut)


@settings(max_examples=8)
@given(lattice_clouds(min_samples=12, max_samples=25), st.randoms(use_true_random=False))
def test_of_any_cloud_no_edge_that_was_cut_is_left_and_none_that_was_kept_is_lost(X, random):
    by = {"n_neighbors": 3, "n_components": 1, "coordinates": "chart", "assess": False}
    try:
        plain = embed(X, **by)
    except InputError:
        return
    order = sorted(map(sorted, all_edges(plain.graph)))
    cut, kept = [pair for pair in order if random.random() < 0.2], plain.short_circuits
    result = embed(X, **by, cut_edges=cut, keep_edges=kept)
    assert not all_edges(result.graph) & as_sets(cut)
    # Of a sample that a cut has left far from all others, the last edges may be cut as well.
    assert all_edges(result.graph) <= (all_edges(plain.graph) | as_sets(kept)) - as_sets(cut)
    assert len(result.short_circuits) == 0


# Through the front door


def same_bits(one, other):
    for name in ("indices", "distances"):
        np.testing.assert_array_equal(getattr(one.graph, name), getattr(other.graph, name))
    np.testing.assert_array_equal(one.Y, other.Y)
    np.testing.assert_array_equal(one.short_circuits, other.short_circuits)


def test_lists_without_edges_move_no_bit():
    X = make_swiss_roll(200, random_state=0).X
    plain = embed(X)
    linked = all_edges(plain.graph) | as_sets(plain.short_circuits)
    apart = [pair for pair in ((0, other) for other in range(1, 200)) if frozenset(pair) not in linked]
    for lists in ({"cut_edges": [], "keep_edges": ()}, {"cut_edges": apart}, {"keep_edges": apart}):
        same_bits(embed(X, **lists), plain)


def test_edges_are_cut_and_kept_by_hand_and_nothing_else_changes():
    X, _, lists = folded_sheet()
    wrong = [(row, above(X, row)) for row in (22, 40, 75)]
    graph = given_graph(X, lists, wrong)
    by = {"neighbors": (graph.indices, graph.distances), "n_neighbors": 7}
    right = sorted(map(sorted, all_edges(graph) - as_sets(wrong)))[30]
    result = embed(X, **by, cut_edges=[right[::-1]], keep_edges=wrong[:1])
    assert as_sets(result.short_circuits) == as_sets(wrong[1:])
    assert all_edges(result.graph) == all_edges(graph) - as_sets(wrong[1:]) - as_sets([right])
    assert as_sets(result.cut_pairs) == as_sets([*wrong[1:], right])
    assert len(result.trust.short_circuits) == 2
    suspected = embed(X, **by, short_circuits="keep", cut_edges=wrong[:1])
    assert as_sets(suspected.short_circuits) == as_sets(wrong[1:])
    assert all_edges(suspected.graph) == all_edges(graph) - as_sets(wrong[:1])
    assert as_sets(suspected.cut_pairs) == as_sets(wrong[:1])


def test_pairs_go_along_with_the_samples_in_any_order_and_with_copies():
    X = make_swiss_roll(200, random_state=0).X
    order = np.random.default_rng(5).permutation(200)
    pairs = embed(X).short_circuits
    cut, kept = sorted(map(sorted, all_edges(embed(X).graph)))[50:60], pairs[:3]
    plain = embed(X, cut_edges=cut, keep_edges=kept)
    place = np.argsort(order)
    moved = embed(X[order], cut_edges=place[cut], keep_edges=place[kept])
    np.testing.assert_array_equal(moved.Y, plain.Y[order])
    of_copies = {"cut_edges": np.add(cut, [0, 200]), "keep_edges": np.add(kept, [200, 0])}
    twice = embed(np.vstack([X, X]), **of_copies)
    np.testing.assert_array_equal(twice.Y[:200], plain.Y)


def test_what_is_cut_by_hand_is_not_put_back_by_the_chart():
    X = make_swiss_hole(300, random_state=21).X
    free = embed(X)
    assert free.chart.n_put_back > 0
    held = embed(X, cut_edges=free.short_circuits)
    np.testing.assert_array_equal(held.graph.indices, free.graph.indices)
    assert (held.chart.n_put_back, len(held.short_circuits)) == (0, 0)


def test_a_sample_without_edges_is_a_piece_and_a_part_may_be_cut_off():
    X = make_swiss_roll(200, random_state=0).X
    graph = embed(X).graph
    alone = [pair for pair in map(sorted, all_edges(graph)) if 7 in pair]
    every = [(7, other) for other in range(200) if other != 7]
    for cut in (alone, every):
        result = embed(X, cut_edges=cut)
        assert np.isfinite(result.Y).all()
    assert result.pieces.count == 2
    assert result.pieces.labels[7] == 1
    assert result.graph.indices[7].tolist() == [-1] * 12


def test_pairs_are_numbered_as_the_samples_are_and_the_worst_comes_first():
    X, _, lists = folded_sheet()
    wrong = [(row, above(X, row)) for row in (22, 40, 75)]
    graph = given_graph(X, lists, wrong)
    result = embed(X, neighbors=(graph.indices, graph.distances), n_neighbors=7)
    assert as_sets(result.short_circuits) == as_sets(wrong)
    assert (result.short_circuits[:, 0] < result.short_circuits[:, 1]).all()
    assert all_edges(result.graph) == all_edges(graph) - as_sets(wrong)


def test_the_order_of_the_samples_does_not_matter():
    X = make_swiss_roll(300, random_state=0).X
    order = np.random.default_rng(12).permutation(300)
    plain, moved = embed(X).short_circuits, embed(X[order]).short_circuits
    assert len(plain) > 0
    np.testing.assert_array_equal(np.sort(order[moved], axis=1), plain)


def test_copies_of_a_sample_are_cut_as_one():
    X = make_swiss_roll(300, random_state=0).X
    plain = embed(X).short_circuits
    np.testing.assert_array_equal(embed(np.vstack([X, X[:50]])).short_circuits, plain)


def test_a_roll_without_its_wrong_edges_is_in_one_piece_and_most_of_them_jump():
    roll = make_swiss_roll(300, random_state=0)
    model = HNE().fit(roll.X)
    assert model.n_pieces_ == connected_components(model.inner_weights_, directed=False)[0] == 1
    assert jumps(roll, model.short_circuits_).mean() > 0.5
