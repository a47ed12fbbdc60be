"""Medians, quartiles and shares of errors, among them those of methods that failed."""

from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hne_paper.experiments._statistics import is_failed, median, number, quartiles, spread, wins
from hne_paper.experiments._summaries import verdict_of

ERRORS = st.lists(st.floats(0, 1) | st.just(inf), min_size=1, max_size=30)


def test_quartiles_are_those_of_numpy_where_nothing_failed():
    for size in range(1, 12):
        errors = np.random.default_rng(size).random(size)
        np.testing.assert_allclose(quartiles(errors), np.quantile(errors, [0.25, 0.5, 0.75]), rtol=1e-14)


def test_a_method_that_fails_more_often_than_not_has_failed_in_the_median():
    assert median([0.1, inf, inf]) == inf
    assert median([0.1, 0.2, inf]) == 0.2
    assert median([0.1, 0.2, inf, inf]) == inf


@given(ERRORS)
def test_quartiles_ascend_and_are_never_nan(errors):
    low, middle, high = quartiles(errors)
    assert low <= middle <= high


@given(ERRORS, st.randoms())
def test_who_wins_does_not_lose(ours, random):
    theirs = list(ours)
    random.shuffle(theirs)
    assert wins(ours, theirs) + wins(theirs, ours) <= len(ours)
    assert wins(ours, ours) == 0


def test_errors_that_nobody_can_tell_apart_are_equal():
    assert wins([0.001], [0.009]) == wins([0.009], [0.001]) == 0
    assert wins([0.001], [0.02]) == 1


def test_whoever_fails_loses_to_whoever_does_not():
    assert wins([0.9, inf], [inf, inf]) == 1


def test_failed_is_failed_everywhere():
    assert is_failed([inf, inf])
    assert not is_failed([inf, 0.3])


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (0.0004, ".0004"),
        (0.0123, ".012"),
        (0.0949, ".095"),
        (0.0951, ".10"),
        (0.994, ".99"),
        (0.996, "1.0"),
    ],
)
def test_numbers_have_two_digits_that_matter(value, text):
    assert number(value) == text


def test_a_cell_says_failed_only_where_nothing_came_out():
    assert spread([inf, inf]) == "failed"
    assert spread([0.1, inf, inf]) == "failed (failed-failed)"
    assert spread([0.1, 0.1, 0.2, inf, inf]) == ".20 (.10-failed)"


@pytest.mark.parametrize(
    ("outcomes", "verdict"),
    [([True, True], "holds"), ([True, False], "holds in part"), ([False, False, True], "does not hold")],
)
def test_a_claim_holds_if_all_of_it_does(outcomes, verdict):
    assert verdict_of(outcomes) == verdict
