"""Bridges: those that a piece hangs by, and those of a sample that it hangs by."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given

from hne import HNE
from hne.core.pieces.bridges import find_bridges
from hne.core.records import NeighborGraph
from tests.conftest import frozen
from tests.core.test_pieces import count_pieces, graph_of, links_of, ragged_graphs


def parts_without(sample, n, links):
    """What the piece of a sample falls into without it: sets of samples."""
    left = [link for link in links if sample not in link]
    around = {other for link in links if sample in link for other in link} - {sample}
    parts = []
    for start in sorted(around):
        if any(start in part for part in parts):
            continue
        part, reached = set(), {start}
        while reached:
            part |= reached
            reached = {j for i, j in [*left, *((b, a) for a, b in left)] if i in part} - part
        parts.append(part)
    return parts


def thin_by_hand(graph):
    """Bridges, and links of samples without which parts of more than k samples lose each other."""
    n, links = graph.n_samples, links_of(graph)
    whole = count_pieces(n, links)
    found = {link for link in links if count_pieces(n, [other for other in links if other != link]) > whole}
    most = 0
    for sample in range(n):
        large = [part for part in parts_without(sample, n, links) if len(part) > graph.n_neighbors]
        to = [[link for link in links if sample in link and (set(link) & part)] for part in large]
        ranked = sorted(zip(map(len, to), map(len, large), range(len(large)), strict=True))
        for _, size, at in ranked[:-1]:
            found |= set(to[at])
            most = max(most, min(size, ranked[-1][1]))
    return sorted(found), most


@given(ragged_graphs())
def test_they_are_those_that_cutting_by_hand_finds(graph):
    found, (expected, most) = find_bridges(graph), thin_by_hand(graph)
    ties = links_of(graph)
    assert found.n_hanging == most
    assert set(map(tuple, found.pairs.tolist())) <= set(ties)
    # Of equally many links to equally large parts, either may be called thin.
    assert len(found.pairs) == len(expected)


def test_the_link_between_two_triangles_is_thin_and_so_is_a_lone_sample_s():
    graph = graph_of([[1, 2], [0, 2], [0, 1, 3], [2, 4, 5], [3, 5], [3, 4], [5]])
    np.testing.assert_array_equal(find_bridges(graph).pairs, [[2, 3], [5, 6]])


def test_a_long_line_is_all_thin_and_closed_to_a_ring_has_no_thin_link():
    n = 50_000
    following = np.arange(1, n + 1)[:, None]
    ring = NeighborGraph(frozen(following % n), np.ones((n, 1)), "given")
    line = NeighborGraph(frozen(np.where(following < n, following, -1)), np.ones((n, 1)), "given")
    assert len(find_bridges(ring).pairs) == 0
    found = find_bridges(line)
    np.testing.assert_array_equal(found.pairs, list(pairwise(range(n))))
    assert found.n_hanging == n // 2 - 1


def test_two_rings_that_share_a_sample_hang_by_its_links_to_one_of_them():
    # 0 to 5 and 5 to 11 are rings; the second is the larger one, and as many links lead to either.
    rows = [[1], [2], [3], [4], [5], [0, 6], [7], [8], [9], [10], [11], [5]]
    found = find_bridges(graph_of(rows))
    np.testing.assert_array_equal(found.pairs, [[0, 5], [4, 5]])
    assert found.n_hanging == 5


@pytest.mark.parametrize(("apart", "n_features"), [(14.0, 2), (30.0, 3)])
def test_one_sample_between_two_clusters_is_told(apart, n_features):
    rng = np.random.default_rng(0)
    shift = np.eye(n_features)[0] * apart
    X = np.vstack([rng.normal(size=(100, n_features)), rng.normal(size=(100, n_features)) + shift, shift[None] / 2])
    model = HNE(coordinates="chart").fit(X)
    assert model.n_pieces_ == 1
    assert 200 in model.bridges_
    assert model.trust_.level in ("doubtful", "bad")
    told = next(finding for finding in model.trust_.findings if finding.kind == "bridges")
    assert told.level == "doubtful"
    assert told.text.startswith("100 samples hang by a single one")
    assert "hang by a single one" in model.verdict_


def test_bridges_of_a_layout_are_reported_and_do_not_count_against_it():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(100, 3)), rng.normal(size=(100, 3)) + 30 * np.eye(3)[0], 15 * np.eye(3)[:1]])
    model = HNE(coordinates="layout").fit(X)
    assert 200 in model.bridges_
    bridges = next(finding for finding in model.trust_.findings if finding.kind == "bridges")
    assert bridges.level == "good"
    assert model.trust_.level == "unknown"
