"""The scree: eigenvalues beyond those of the embedding, and the gap behind them."""

import logging
from functools import partial

import numpy as np
import pytest

from hne import PUBLISHED
from hne import embed as embed_and_assess
from hne.core import eigenpairs as module
from hne.core.eigen.alignment import alignment
from hne.core.eigenpairs import scree
from hne.exceptions import EigenSolverError, InputError, InputTypeError
from tests.conftest import advised, one_fast

embed = partial(embed_and_assess, assess=False)


def all_eigenvalues(weights, gamma, members):
    """Every eigenvalue of G of these samples after the constant one, by LAPACK."""
    aligned = alignment(weights, gamma)
    G = aligned.matrix().toarray()[np.ix_(members, members)]
    return np.linalg.eigvalsh(G)[1:]


def two_pieces(sizes=(90, 40)):
    rng = np.random.default_rng(1)
    return np.vstack([rng.random((size, 3)) * [1, 1, 0.05] + [100 * place, 0, 0] for place, size in enumerate(sizes)])


@pytest.mark.parametrize("gamma", [1.0, 3.0])
@pytest.mark.parametrize("coordinates", ["chart", "layout"])
def test_values_are_those_of_the_alignment_matrix(cloud, coordinates, gamma):
    result = embed(cloud, gamma=gamma, coordinates=coordinates)
    found = scree(result, 7)
    expected = all_eigenvalues(result.core.weights, gamma, np.arange(60))[:7]
    np.testing.assert_allclose(found.values, expected, rtol=1e-6)
    assert (found.n_used, found.is_short) == (2, False)
    np.testing.assert_array_equal(found.is_used, [True, True, False, False, False, False, False])
    assert found.gap == found.values[2] / found.values[1]


def test_the_first_are_those_of_the_fit_to_the_bit(roll):
    result = embed(roll.X, **PUBLISHED)
    found = scree(result)
    np.testing.assert_array_equal(found.values[:2], result.eigenpairs.values)
    np.testing.assert_allclose(found.values[2], result.eigenpairs.next_value, rtol=1e-6)
    assert len(found.values) == 10
    assert (np.diff(found.values) > 0).all()


def test_no_fewer_than_the_next_are_given_and_none_solved_for(roll, monkeypatch):
    result = embed(roll.X, **PUBLISHED)
    monkeypatch.setattr(module, "bottom_eigenpairs", None)
    found = scree(result, 1)
    np.testing.assert_array_equal(found.values, [*result.eigenpairs.values, result.eigenpairs.next_value])
    assert not found.is_short


def test_a_chart_knows_more_eigenvalues_and_none_is_solved_for_up_to_these(roll, monkeypatch):
    result = embed(roll.X)
    more = scree(result, 30)
    monkeypatch.setattr(module, "bottom_eigenpairs", None)
    known = [*result.eigenpairs.values, result.eigenpairs.next_value]
    for count, length in ((1, 3), (10, 10), (21, 21)):
        found = scree(result, count)
        np.testing.assert_array_equal(found.values, known[:length])
        assert (found.n_used, found.n_charted, found.is_short) == (2, 20, False)
        assert found.gap == known[2] / known[1]
    np.testing.assert_array_equal(more.values[:20], known[:20])
    expected = all_eigenvalues(result.core.weights, 1.0, np.arange(400))[:30]
    np.testing.assert_allclose(more.values, expected, rtol=1e-5)


@pytest.mark.parametrize("solver", one_fast("direct", "dense", "iterative"))
def test_any_solver_of_the_fit_gives_the_same_scree(roll, solver):
    if solver == "iterative":
        pytest.importorskip("pyamg", reason="needs the extra 'fast'")
    found = scree(embed(roll.X, eigen_solver=solver), 6)
    np.testing.assert_allclose(found.values, scree(embed(roll.X), 6).values, rtol=1e-4)


@pytest.mark.parametrize("pieces", ["separate", "largest"])
def test_of_several_pieces_the_largest_is_shown(pieces):
    with advised():
        result = embed(two_pieces(), pieces=pieces)
    expected = all_eigenvalues(result.core.weights, 1.0, np.flatnonzero(result.core.pieces.labels == 0))[:6]
    np.testing.assert_allclose(scree(result, 6).values, expected, rtol=1e-6)


def test_of_joined_pieces_all_are_shown():
    with advised():
        result = embed(two_pieces(), pieces="join")
    expected = all_eigenvalues(result.core.weights, 1.0, np.arange(130))[:6]
    np.testing.assert_allclose(scree(result, 6).values, expected, rtol=1e-5, atol=1e-13)


def test_copies_of_samples_change_nothing(cloud):
    np.testing.assert_array_equal(scree(embed(np.vstack([cloud, cloud[:9]]))).values, scree(embed(cloud)).values)


def test_a_piece_has_no_more_eigenvalues_than_samples_but_one():
    found = scree(embed(np.random.default_rng(0).random((6, 3)), n_neighbors=3), 10)
    assert len(found.values) == 5
    assert not found.is_short
    alone = scree(embed(np.random.default_rng(0).random((3, 2)), n_neighbors=2), 10)
    assert (len(alone.values), alone.gap) == (2, np.inf)


def test_a_piece_too_small_for_eigenpairs_has_an_empty_scree():
    pairs = np.repeat(np.arange(8.0) ** 3, 2) * 1000 + np.tile([0.0, 1.0], 8)
    with advised():
        result = embed(np.column_stack([pairs, -pairs]), n_neighbors=1)
    found = scree(result)
    assert (found.values.size, found.n_used, found.is_short) == (0, 0, False)
    assert np.isnan(found.gap)


def test_what_takes_long_is_left_short_and_said_so(roll, monkeypatch, caplog):
    result = embed(roll.X, **PUBLISHED)
    monkeypatch.setattr(module, "MAX_OPERATIONS", 1.0)
    with caplog.at_level(logging.INFO, logger="hne"):
        found = scree(result)
    assert found.is_short
    np.testing.assert_array_equal(found.values, [*result.eigenpairs.values, result.eigenpairs.next_value])
    assert "only those of the fit are shown" in caplog.text


def test_a_solve_that_fails_is_left_short_and_said_so(roll, monkeypatch, caplog):
    def fails(*_):
        raise EigenSolverError("no convergence")

    result = embed(roll.X, **PUBLISHED)
    monkeypatch.setattr(module, "bottom_eigenpairs", fails)
    assert scree(result).is_short
    assert "no convergence" in caplog.text


def test_a_scree_says_in_a_line_what_it_is(cloud):
    assert str(scree(embed(cloud, **PUBLISHED), 5)).startswith("5 eigenvalues, 2 used, the next ")
    chart, layout = (scree(embed(cloud, coordinates=coordinates), 5) for coordinates in ("chart", "layout"))
    assert str(chart).startswith("5 eigenvalues, 10 in the chart, number 3 is ")
    assert str(layout).startswith("5 eigenvalues, 2 used, the next ")


@pytest.mark.parametrize(("count", "error"), [(0, InputError), (2.5, InputTypeError)])
def test_a_count_that_is_none_is_refused(cloud, count, error):
    with pytest.raises(error, match=r"count must be .*, got .*\. Try count=10"):
        scree(embed(cloud), count)
