"""Where distances tie, neighbors depend on what the samples are: not on their unit, container, or constant columns."""

import logging

import numpy as np
import pytest
from scipy.linalg import subspace_angles
from scipy.sparse import csr_array
from sklearn.datasets import load_digits, load_iris

from hne import embed
from hne.datasets import make_swiss_roll
from tests.conftest import one_fast

DATA = {"digits": lambda: load_digits().data[:500], "iris": lambda: load_iris().data.astype(np.float32).astype(float)}
FORMS = {
    "in another power of two": lambda X: X / 16,
    "so small that float64 ends": lambda X: X * 2.0**-1050,
    "so large that float64 ends": lambda X: X * 2.0**1015,
    "sparse": csr_array,
    "sparse, with explicit zeros": lambda X: csr_array(
        (X.ravel(), np.tile(np.arange(X.shape[1]), len(X)), np.arange(0, X.size + 1, X.shape[1])), shape=X.shape
    ),
    "with a constant column first": lambda X: np.column_stack([np.full(len(X), 7.0), X]),
    "with a large constant column inside": lambda X: np.insert(X, 2, -4096.0, axis=1),
    "in single precision": lambda X: X.astype(np.float32),
}


def plane(result):
    return result.core.Y[result.distinct.inverse]


@pytest.fixture(scope="module", params=one_fast("iris", "digits"))
def samples(request):
    """Samples and their plane."""
    X = DATA[request.param]()
    return X, plane(embed(X, n_neighbors=6, coordinates="eigenvectors"))


@pytest.mark.filterwarnings("ignore::hne.exceptions.HNEWarning")
@pytest.mark.parametrize("form", FORMS)
def test_ties_fall_the_same_way_for_the_same_samples_in_another_form(samples, form):
    X, expected = samples
    if X.max() < 10 and form == "so small that float64 ends":
        X = np.round(X * 10)
        expected = plane(embed(X, n_neighbors=6, coordinates="eigenvectors"))
    result = embed(FORMS[form](X), n_neighbors=6, coordinates="eigenvectors")
    assert subspace_angles(expected, plane(result)).max() < 1e-9


def found_ties(result):
    return [one for one in result.trust.findings if one.kind == "ties"]


@pytest.fixture(scope="module")
def lattice():
    return np.indices((20, 30)).reshape(2, -1).T.astype(float)


def test_a_fit_says_for_how_many_samples_ties_decided_and_is_no_worse_for_it(lattice, caplog):
    with caplog.at_level(logging.INFO, logger="hne"):
        result = embed(lattice, n_neighbors=6, coordinates="eigenvectors")
    # Four are at distance 1, and two of four at the root of 2; at the rim, which is 16% of the lattice, others tie.
    (ties,) = found_ties(result)
    assert (ties.level, result.trust.level) == ("good", "good")
    assert ties.text == "for 100% of the samples, the last neighbor is one of several that are as near"
    assert "neighbors: for 100% of the samples, the last is one of several that are as near" in caplog.text


def test_neighbors_that_tie_with_each_other_alone_are_no_ties_that_decide(lattice):
    # All four at distance 1, but for samples of the rim, which have three of them.
    result = embed(lattice, n_neighbors=4, coordinates="eigenvectors")
    (ties,) = found_ties(result)
    rim = 1 - 18 * 28 / 600
    assert float(ties.text.split("%")[0].split()[-1]) / 100 == pytest.approx(rim, abs=0.03)


def test_measured_values_have_no_ties_and_none_are_searched_for(monkeypatch):
    monkeypatch.setattr("hne.core.trust.assess.nearest_of_rows", None)
    assert not found_ties(embed(make_swiss_roll(300, random_state=0).X))


def test_the_nearest_of_one_neighbor_may_tie():
    chain = np.arange(40.0)[:, None] * [1.0, 0.5]
    result = embed(chain, n_neighbors=1, n_components=1, coordinates="eigenvectors")
    (ties,) = found_ties(result)
    assert ties.text.startswith("for 95% of the samples")
