"""LLC: the layout of local models, scikit-learn's contract, and new samples."""

import pickle
import re
from inspect import getdoc, signature

import numpy as np
import pandas as pd
import pytest
from scipy.linalg import eigh, subspace_angles
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

from hne.datasets import make_swiss_roll
from hne.exceptions import DisconnectedGraphWarning, InputError, InputTypeError
from hne.metrics import affine_errors
from hne.settings import Settings
from hne_paper.baselines import LLC, published_embedding
from hne_paper.baselines import llc as _llc
from hne_paper.baselines.clle import lle_weights


# Some of its checks are on blobs far from each other, or with five rounds at most.
@pytest.mark.filterwarnings("ignore::hne.exceptions.DisconnectedGraphWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks([LLC()])
def test_scikit_learns_contract_holds(estimator, check):
    check(estimator)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::hne.exceptions.DisconnectedGraphWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks([LLC(n_neighbors=3, n_components=1, n_models=3)])
def test_scikit_learns_contract_holds_with_other_parameters(estimator, check):
    check(estimator)


def test_the_layout_solves_the_generalized_eigenproblem(roll):
    settings = Settings(n_neighbors=7, reg=1e-3, random_state=0)
    found = _llc.llc(roll.X, settings, 10)
    U = _llc.local_coordinates(found.fitted.memberships)
    W = lle_weights(roll.X, settings)[1].toarray()
    deviation = np.eye(len(U)) - W
    values, vectors = eigh(U.T @ deviation.T @ deviation @ U, U.T @ U)
    assert values[0] == pytest.approx(0, abs=1e-12)
    np.testing.assert_allclose(U @ vectors[:, 0], (U @ vectors[:, 0]).mean(), rtol=1e-6)
    np.testing.assert_allclose(found.values, values[1:3], rtol=1e-6)
    assert subspace_angles(found.Y, U @ vectors[:, 1:3]).max() < 1e-5
    np.testing.assert_allclose(found.Y.T @ found.Y, np.eye(2), atol=1e-10)
    np.testing.assert_allclose(found.Y.sum(axis=0), 0, atol=1e-10)


def test_rows_of_u_are_responsibilities_times_coordinates_and_one():
    found = _llc.Memberships(np.array([[0.25, 0.75]]), np.array([[[2.0], [4.0]]]), np.zeros(1))
    np.testing.assert_array_equal(_llc.local_coordinates(found), [[0.5, 0.25, 3.0, 0.75]])


def test_columns_that_depend_on_each_other_do_no_harm(roll):
    W = lle_weights(roll.X, Settings(n_neighbors=7))[1]
    U = np.random.default_rng(0).normal(size=(400, 6))
    U -= U.mean(axis=0)
    values, coefficients = _llc.bottom_solutions(U, W, 2)
    twice, doubled = _llc.bottom_solutions(np.hstack([U, U @ np.random.default_rng(1).normal(size=(6, 3))]), W, 2)
    np.testing.assert_allclose(twice, values, rtol=1e-9)
    repeated = np.hstack([U, U @ np.random.default_rng(1).normal(size=(6, 3))]) @ doubled
    np.testing.assert_allclose(repeated, U @ coefficients, atol=1e-9)


def test_one_model_is_the_projection_onto_principal_components(roll):
    model = LLC(n_neighbors=7, n_models=1).fit(roll.X)
    principal = PCA(2).fit(roll.X)
    assert affine_errors(model.embedding_, principal.transform(roll.X)).max() < 1e-20
    new = np.random.default_rng(2).normal(size=(9, 3)) * 100
    axes = principal.transform(np.vstack([roll.X, new]))
    assert affine_errors(np.vstack([model.embedding_, model.transform(new)]), axes).max() < 1e-20
    assert (model.n_models_, model.eigenvalues_.shape) == (1, (2,))


def test_a_dense_roll_is_unrolled():
    roll = make_swiss_roll(1000, even=True, random_state=0)
    assert affine_errors(LLC(n_neighbors=8).fit_transform(roll.X), roll.chart).max() < 0.02


def test_fitted_samples_are_placed_where_they_are_and_new_ones_between_them():
    roll = make_swiss_roll(1000, even=True, random_state=0)
    model = LLC(n_neighbors=8).fit(roll.X[:800])
    np.testing.assert_allclose(model.transform(roll.X[:800]), model.embedding_, atol=1e-10)
    everyone = np.vstack([model.embedding_, model.transform(roll.X[800:])])
    assert affine_errors(everyone, roll.chart).max() < 0.02


def test_far_more_features_than_samples_are_no_reason_to_wait():
    rng = np.random.default_rng(3)
    chart = rng.random((150, 2))
    X = chart @ rng.normal(size=(2, 3000)) + 0.01 * rng.normal(size=(150, 3000))
    model = LLC(n_neighbors=8).fit(X)
    assert affine_errors(model.embedding_, chart).max() < 0.05
    np.testing.assert_allclose(model.transform(X), model.embedding_, atol=1e-8)


def test_the_likelihood_never_falls_and_rounds_are_counted(roll):
    model = LLC(n_neighbors=7).fit(roll.X)
    assert np.diff(model.log_likelihoods_).min() > -1e-9
    assert len(model.log_likelihoods_) <= model.n_iter_ < 200
    assert 1 <= model.n_models_ <= 40


@pytest.mark.parametrize(("n", "d", "count"), [(300, 2, 35), (1000, 2, 63), (100, 2, 16), (5, 2, 1), (60, 1, 15)])
def test_the_default_number_of_models_grows_with_the_root_of_the_samples(n, d, count):
    assert _llc.default_models(n, d) == count


def test_the_seed_decides_and_the_call_gives_what_the_estimator_gives(roll):
    one, same, other = (LLC(n_neighbors=7, random_state=seed).fit_transform(roll.X) for seed in (3, 3, 4))
    np.testing.assert_array_equal(one, same)
    assert np.abs(one - other).max() > 1e-6
    np.testing.assert_array_equal(one, published_embedding("llc", roll.X, n_neighbors=7, random_state=3))


def test_single_precision_comes_back_in_single_precision(roll):
    model = LLC(n_neighbors=7).fit(roll.X.astype(np.float32))
    assert model.embedding_.dtype == model.transform(roll.X.astype(np.float32)).dtype == np.float32


def test_the_unit_of_x_does_not_matter_however_extreme(roll):
    plain, tiny = (LLC(n_neighbors=7).fit(roll.X * scale) for scale in (1.0, 2.0**-600))
    np.testing.assert_allclose(tiny.embedding_, plain.embedding_, atol=1e-6)
    np.testing.assert_allclose(tiny.transform(roll.X * 2.0**-600), tiny.embedding_, atol=1e-6)


def test_pickled_models_place_the_same_bits(roll):
    model = LLC(n_neighbors=7).fit(roll.X)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(model.transform(roll.X + 0.1), again.transform(roll.X + 0.1))


def test_defaults_and_attributes_are_those_of_the_docstring(roll):
    told = dict(re.findall(r"^(\w+) : .*default=(.*)$", getdoc(LLC), flags=re.MULTILINE))
    declared = {name: parameter.default for name, parameter in signature(LLC).parameters.items()}
    assert {name: str(value) for name, value in declared.items()} == {**told, "reg": "0.001", "tol": "0.001"}
    model = LLC(n_neighbors=7).fit(pd.DataFrame(roll.X, columns=list("abc")))
    section = getdoc(LLC).split("Attributes\n")[1].split("Examples\n")[0]
    fitted = {name for name in vars(model) if name.endswith("_")}
    assert fitted == set(re.findall(r"^(\w+_) : ", section, flags=re.MULTILINE))
    assert list(model.get_feature_names_out()) == ["llc0", "llc1"]


def test_rounds_that_do_not_suffice_are_warned_about(roll):
    match = r"^EM of method='llc' .* max_iter=2 rounds"
    with pytest.warns(ConvergenceWarning, match=match):
        LLC(n_neighbors=7, max_iter=2).fit(roll.X)


def test_a_graph_in_pieces_is_warned_about(cloud):
    with pytest.warns(DisconnectedGraphWarning, match=r"graph has 2 pieces .* coordinates of method='llc' may tell"):
        LLC().fit(np.vstack([cloud, cloud[::-1] + 100]))


def test_wrong_parameters_are_refused_with_a_way_out(roll):
    with pytest.raises(InputError, match=r"n_models must .* got 0"):
        LLC(n_models=0).fit(roll.X)
    with pytest.raises(InputTypeError, match=r"n_models must be an integer, got 2\.5"):
        LLC(n_models=2.5).fit(roll.X)
    with pytest.raises(InputError, match=r"n_models=401 needs .* got 400"):
        LLC(n_models=401).fit(roll.X)
    with pytest.raises(InputError, match=r"max_iter must .* got 0"):
        LLC(max_iter=0).fit(roll.X)
    with pytest.raises(InputError, match=r"tol must .* got -1\.0"):
        LLC(tol=-1.0).fit(roll.X)


def test_more_components_than_the_samples_span_are_refused(roll):
    flat = roll.X @ np.diag([1.0, 1.0, 0.0])
    with pytest.raises(InputError, match=r"n_components=3 needs .* got 2"):
        LLC(n_neighbors=7, n_components=3).fit(flat)


def test_use_before_fit_and_other_features_are_refused(roll):
    with pytest.raises(NotFittedError, match="not fitted yet"):
        LLC().transform(roll.X)
    with pytest.raises(ValueError, match="X has 2 features, but LLC is expecting 3"):
        LLC(n_neighbors=7).fit(roll.X).transform(roll.X[:, :2])
