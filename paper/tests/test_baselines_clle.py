"""CLLE: two overlapping parts, their matrices added, and scikit-learn's contract."""

import re
from inspect import getdoc, signature

import numpy as np
import pandas as pd
import pytest
from scipy.linalg import subspace_angles
from sklearn import config_context
from sklearn.manifold import LocallyLinearEmbedding
from sklearn.utils.estimator_checks import parametrize_with_checks

from hne.datasets import make_swiss_roll
from hne.exceptions import BaselineError, DisconnectedGraphWarning, EigenSolverError, InputError, InputTypeError
from hne_paper.baselines import CLLE, published_embedding
from hne_paper.baselines import clle as _clle
from tests.helpers import reference


# Some of its checks are on blobs far from each other.
@pytest.mark.filterwarnings("ignore::hne.exceptions.DisconnectedGraphWarning")
@parametrize_with_checks([CLLE()])
def test_scikit_learns_contract_holds(estimator, check):
    check(estimator)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::hne.exceptions.DisconnectedGraphWarning")
@parametrize_with_checks([CLLE(n_neighbors=4, n_components=1, shared=1.0)])
def test_scikit_learns_contract_holds_with_other_parameters(estimator, check):
    check(estimator)


def lle_matrix(X, k, reg):
    """(I - W)'(I - W) by loops."""
    lists = reference.neighbors(X, k)
    deviation = np.eye(len(X))
    for i, own in enumerate(lists):
        for j, weight in zip(own, reference.affine(X[own], X[i], reg), strict=True):
            deviation[i, j] -= weight
    return deviation.T @ deviation


def test_the_matrix_is_the_sum_of_both_parts_where_they_share_samples(cloud):
    found = _clle.halve(cloud, _clle.Settings(n_neighbors=4, reg=1e-3, random_state=5), 0.6)
    total = np.zeros((60, 60))
    for other in (_clle.SECOND, _clle.FIRST):
        members = [i for i in range(60) if found.labels[i] != other]
        part = lle_matrix(cloud[members], 4, 1e-3)
        for row, i in enumerate(members):
            for column, j in enumerate(members):
                total[i, j] += part[row, column]
    np.testing.assert_allclose(found.alignment.matrix().toarray(), total, atol=1e-12)


def test_coordinates_are_the_bottom_eigenvectors_of_the_sum_and_eigenvalues_theirs(roll):
    model = CLLE(n_neighbors=7).fit(roll.X)
    # Samples in the order of the walk, so that the parts are drawn alike.
    distinct, _, inside = _clle.check_unique(roll.X, _clle.Settings(n_neighbors=7))
    found = _clle.halve(inside, _clle.Settings(n_neighbors=7, reg=1e-3, random_state=0), 0.6)
    values, vectors = np.linalg.eigh(found.alignment.matrix().toarray())
    np.testing.assert_allclose(model.eigenvalues_, values[1:3], rtol=1e-5)
    assert subspace_angles(model.embedding_, vectors[distinct.inverse, 1:3]).max() < 1e-6
    np.testing.assert_array_equal(model.subset_labels_, found.labels[distinct.inverse])


def test_with_all_samples_shared_it_is_plain_lle():
    X = make_swiss_roll(300, even=True, random_state=1).X
    plain = LocallyLinearEmbedding(n_neighbors=6, eigen_solver="dense").fit_transform(X)
    model = CLLE(n_neighbors=6, shared=1.0).fit(X)
    assert subspace_angles(model.embedding_, plain).max() < 1e-5
    assert not model.subset_labels_.any()


@pytest.mark.parametrize(("shared", "counts"), [(0.6, [60, 20, 20]), (0.55, [55, 22, 23]), (0.001, [1, 49, 50])])
def test_the_others_are_halved(shared, counts):
    X = np.random.default_rng(0).random((100, 3))
    model = CLLE(n_neighbors=5, shared=shared).fit(X)
    np.testing.assert_array_equal(np.bincount(model.subset_labels_), counts)


def test_the_seed_decides_who_is_shared(roll):
    models = [CLLE(n_neighbors=7, random_state=seed).fit(roll.X) for seed in (0, 0, 1)]
    np.testing.assert_array_equal(models[0].embedding_, models[1].embedding_)
    assert (models[0].subset_labels_ != models[2].subset_labels_).any()


def test_the_call_gives_what_the_estimator_gives(roll):
    ours = CLLE(n_neighbors=7, reg=1e-4, random_state=3).fit_transform(roll.X)
    np.testing.assert_array_equal(ours, published_embedding("clle", roll.X, n_neighbors=7, reg=1e-4, random_state=3))


def test_any_number_of_jobs_gives_the_same_bits(roll):
    np.testing.assert_array_equal(*(CLLE(n_neighbors=7, n_jobs=n_jobs).fit_transform(roll.X) for n_jobs in (1, 2)))


def test_single_precision_comes_back_in_single_precision(roll):
    assert CLLE(n_neighbors=7).fit_transform(roll.X.astype(np.float32)).dtype == np.float32


def test_defaults_and_attributes_are_those_of_the_docstring(roll):
    told = dict(re.findall(r"^(\w+) : .*default=(.*)$", getdoc(CLLE), flags=re.MULTILINE))
    declared = {name: parameter.default for name, parameter in signature(CLLE).parameters.items()}
    assert {name: str(value) for name, value in declared.items()} == {**told, "reg": "0.001"}
    fitted = {
        name for name in vars(CLLE(n_neighbors=7).fit(pd.DataFrame(roll.X, columns=list("abc")))) if name[-1] == "_"
    }
    section = getdoc(CLLE).split("Attributes\n")[1].split("Examples\n")[0]
    assert fitted == set(re.findall(r"^(\w+_) : ", section, flags=re.MULTILINE))


@pytest.mark.parametrize("shared", [0, -0.5, 1.5, np.nan])
def test_shares_beyond_all_and_nothing_are_refused(roll, shared):
    with pytest.raises(InputError, match=r"shared must .* got .*"):
        CLLE(shared=shared).fit(roll.X)
    with pytest.raises(InputTypeError, match=r"shared must .* got 'most'"):
        CLLE(shared="most").fit(roll.X)


def test_parts_too_small_for_a_neighborhood_are_refused(cloud):
    match = (
        r"^n_neighbors=5 needs at least 6 different samples in each of both parts, got 5 of 10 with shared=0\.1\. "
        r"Lower n_neighbors, or raise shared\.$"
    )
    with pytest.raises(InputError, match=match):
        CLLE(n_neighbors=5, shared=0.1).fit(cloud[:10])


def test_parts_that_hardly_share_anyone_are_in_pieces(plane_in_two):
    with pytest.warns(DisconnectedGraphWarning, match=r"graph has 2 pieces .* coordinates of method='clle'"):
        CLLE(n_neighbors=5).fit(plane_in_two)


@pytest.fixture
def plane_in_two():
    rng = np.random.default_rng(0)
    sheet = np.column_stack([rng.random((60, 2)), np.zeros(60)])
    return np.vstack([sheet, sheet[::-1] * 1.1 + 50])


def test_a_solver_without_an_answer_is_the_cause_of_the_error(roll, monkeypatch):
    def fails(*_):
        raise EigenSolverError("no convergence. Try again.")

    monkeypatch.setattr(_clle, "bottom_eigenpairs", fails)
    match = r"method='clle' must .* got EigenSolverError: no convergence"
    with pytest.raises(BaselineError, match=match) as caught:
        CLLE().fit(roll.X)
    assert isinstance(caught.value.__cause__, EigenSolverError)


def test_a_failed_fit_leaves_the_model_as_it_was(roll):
    model = CLLE(n_neighbors=7).fit(roll.X)
    before = model.embedding_.copy()
    with pytest.raises(InputError, match="n_neighbors=7 needs at least 8 samples"):
        model.fit(roll.X[:5])
    np.testing.assert_array_equal(model.embedding_, before)


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_tables_come_out_where_they_are_asked_for_of_one_model_or_of_all(roll, kind):
    pytest.importorskip(kind)
    plain = CLLE(n_neighbors=7).fit_transform(roll.X)
    told = CLLE(n_neighbors=7).set_output(transform=kind)
    with config_context(transform_output=kind):
        found = [told.fit_transform(roll.X), CLLE(n_neighbors=7).fit_transform(roll.X)]
    for table in found:
        assert type(table).__module__.startswith(kind)
        assert list(table.columns) == ["clle0", "clle1"] == list(told.get_feature_names_out())
        np.testing.assert_array_equal(table.to_numpy(), plain)
    assert type(told.embedding_) is np.ndarray
