"""Hostile inputs: a finite embedding or an error of hne, and nothing else. `make fuzz` has thousands."""

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fuzz.cases import KINDS, make_case
from tests.fuzz.verdict import OTHER, outcome_of


@settings(max_examples=120)
@given(kind=st.sampled_from(KINDS), seed=st.integers(0, 2**32 - 1))
def test_whatever_the_input_there_is_an_embedding_or_an_error_of_ours(kind, seed):
    outcome = outcome_of(make_case(kind, seed, small=True))
    assert outcome.label != OTHER, outcome.story
