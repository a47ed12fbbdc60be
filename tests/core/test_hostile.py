"""Hostile inputs and files: a result or an error of hne, and nothing else. `make fuzz` has thousands."""

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fuzz.cases import KINDS, make_case
from tests.fuzz.file_cases import FILE_KINDS
from tests.fuzz.verdict import OTHER, outcome_of
from tests.fuzz.workers import kind_of, outcomes


@settings(max_examples=40)
@given(kind=st.sampled_from(KINDS), seed=st.integers(0, 2**32 - 1))
def test_whatever_the_input_there_is_an_embedding_or_an_error_of_ours(kind, seed):
    outcome = outcome_of(make_case(kind, seed, small=True))
    assert outcome.label != OTHER, outcome.story


def test_whatever_a_file_holds_it_is_read_or_refused():
    # In a process of its own: a crash is what is looked for.
    cases = list(range(3 * len(FILE_KINDS)))
    found = dict(outcomes(seed=1, numbers=cases, n_processes=1, limit=60, target="files"))
    assert sorted(found) == cases
    failures = {number: one.story for number, one in found.items() if one.is_failure}
    assert not failures, [f"--target files --seed 1 --case {number}: {story}" for number, story in failures.items()]
    refused = {kind_of(number, "files") for number, one in found.items() if one.label == "refused"}
    assert refused == set(FILE_KINDS)
