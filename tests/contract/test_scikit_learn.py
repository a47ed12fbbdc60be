"""What users of scikit-learn's manifold learners may count on, held for ours beside theirs, as installed.

scikit-learn tests LLE, Isomap, spectral embedding and t-SNE for this; what test_estimator, test_inputs and test_linear
hold already is not here.
"""

import re

import numpy as np
import pytest
from scipy.linalg import subspace_angles
from scipy.sparse import csc_array, csr_array
from scipy.spatial.distance import cdist, chebyshev, cityblock, cosine
from sklearn import manifold
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score
from sklearn.neighbors import KNeighborsClassifier, KNeighborsTransformer, kneighbors_graph
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from hne import HNE, PUBLISHED, LinearHNE
from hne.estimators.projection import CONSTRAINTS
from hne.exceptions import InputError, InputTypeError
from hne.metrics import procrustes_error, trustworthiness
from hne.settings import VARIANTS
from tests.conftest import advised, frozen

PLAIN = {**PUBLISHED, "n_neighbors": 5, "reg": 1e-3}
both = pytest.mark.parametrize("model", [HNE(n_neighbors=6), LinearHNE()], ids=lambda model: type(model).__name__)


def grid(n_rows=7, n_columns=9):
    """A lattice in a tilted plane of three dimensions, a little off its places, and its chart."""
    rng = np.random.default_rng(0)
    chart = np.array([(x, y) for x in range(n_rows) for y in range(n_columns)], dtype=float)
    chart += 0.05 * rng.normal(size=chart.shape)
    return frozen(chart @ np.linalg.qr(rng.normal(size=(3, 2)))[0].T), chart


# All warnings: what is advice must be none.
@pytest.mark.filterwarnings("error")
@parametrize_with_checks([HNE(), HNE(**PUBLISHED), HNE(metric="precomputed"), LinearHNE()])
def test_scikit_learns_contract_holds(estimator, check):
    check(estimator)


@pytest.mark.slow
@pytest.mark.filterwarnings("error")
@parametrize_with_checks(
    [HNE(variant=variant, eigen_solver=solver) for variant in VARIANTS for solver in ("auto", "direct")]
    + [HNE(variant=variant, metric="precomputed") for variant in VARIANTS]
    + [HNE(metric="cosine"), HNE(metric="manhattan"), HNE(pieces="join")]
    + [HNE(include_self=False), HNE(n_neighbors=3, n_components=1)]
    + [LinearHNE(constraint=constraint) for constraint in CONSTRAINTS]
    + [LinearHNE(variant="ihne"), LinearHNE(variant="rhne"), LinearHNE(n_neighbors=3, n_components=1)]
)
def test_scikit_learns_contract_holds_for_every_kind_of_model(estimator, check):
    check(estimator)


@pytest.mark.parametrize("solver", ["dense", "direct", "iterative"])
def test_a_lattice_in_a_plane_comes_out_flat_and_is_rebuilt(solver):
    X, chart = grid()
    model = HNE(n_neighbors=6, eigen_solver=solver).fit(X)
    assert procrustes_error(model.embedding_, chart) < 1e-3
    # scikit-learn asks of LLE's weights that they rebuild a lattice to a tenth of its spacing.
    assert model.reconstruction_error_ < 0.1
    assert np.linalg.norm(model.inner_weights_ @ X - X, axis=1).mean() < 0.1


def test_the_inner_weights_are_those_of_scikit_learns_lle():
    X, _ = grid()
    model = HNE(**PLAIN).fit(X)
    theirs = manifold._locally_linear.barycenter_kneighbors_graph(X, 5, reg=1e-3)
    np.testing.assert_allclose(model.inner_weights_.toarray(), theirs.toarray(), atol=1e-8)


def test_new_samples_near_fitted_ones_lie_near_them():
    X, _ = grid()
    moved = X + 0.01 * np.random.default_rng(1).normal(size=X.shape)
    theirs = manifold.Isomap(n_neighbors=6).fit(X)
    for model in (HNE(n_neighbors=6).fit(X), LinearHNE(constraint="orthonormal").fit(X)):
        ours = np.sqrt(np.mean((model.transform(moved) - model.embedding_) ** 2))
        assert ours < 0.05
        assert ours < 2 * np.sqrt(np.mean((theirs.transform(moved) - theirs.embedding_) ** 2))


def test_a_pipeline_before_a_classifier_learns():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(90, 4)), np.repeat([0, 1, 2], 30)
    X += 3 * np.eye(4)[y]
    for model in (HNE(n_neighbors=10), LinearHNE()):
        assert make_pipeline(clone(model), KNeighborsClassifier()).fit(X, y).score(X, y) > 0.9


def test_clusters_are_found_in_the_coordinates():
    rng = np.random.default_rng(2)
    labels = np.repeat([0, 1, 2], 40)
    X = rng.normal(size=(120, 5)) + 20 * np.eye(5)[labels]
    with advised("3 pieces"):
        Y = HNE().fit_transform(X)
    assert adjusted_rand_score(labels, KMeans(3, n_init=5, random_state=0).fit_predict(Y)) == 1.0


def test_a_search_of_neighbors_before_it_in_a_pipeline_changes_nothing():
    X, _ = grid()
    search = KNeighborsTransformer(n_neighbors=len(X) - 1, mode="distance")
    found = make_pipeline(search, HNE(n_neighbors=6, metric="precomputed")).fit_transform(X)
    assert procrustes_error(found, HNE(n_neighbors=6).fit_transform(X)) < 1e-8


@pytest.mark.parametrize(
    ("metric", "function"), [("manhattan", cityblock), ("chebyshev", chebyshev), ("cosine", cosine)]
)
def test_another_metric_is_the_same_by_name_and_by_function(metric, function):
    X = grid()[0] + 3.0
    named, called = (HNE(n_neighbors=6, metric=given).fit_transform(X) for given in (metric, function))
    np.testing.assert_allclose(named, called, atol=1e-7)


def test_distances_have_the_trustworthiness_of_coordinates():
    X, _ = grid()
    Y = HNE(n_neighbors=6, metric="precomputed").fit_transform(cdist(X, X))
    assert trustworthiness(X, Y) == pytest.approx(manifold.trustworthiness(X, Y), abs=1e-12)
    assert trustworthiness(X, Y) > 0.99


@pytest.mark.parametrize(
    ("distances", "says"),
    [
        (-np.ones((30, 30)) + np.eye(30), r"^X .*distances"),
        (np.ones((30, 20)), r"^X .*square"),
        (np.triu(np.ones((30, 30)), 1), r"^X .*symmetric"),
    ],
)
def test_what_are_no_distances_is_refused(distances, says):
    with pytest.raises(InputError, match=says):
        HNE(metric="precomputed").fit(distances)


@both
@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64, np.uint8, np.float16, np.float32, bool])
def test_numbers_of_any_kind_are_embedded_as_those_of_float64(model, dtype):
    X = 10 * np.random.default_rng(0).random((60, 12))
    X = X > 5 if dtype is bool else X.astype(dtype)
    found, expected = clone(model).fit(X), clone(model).fit(X.astype(np.float64))
    np.testing.assert_array_equal(found.embedding_, expected.embedding_.astype(found.embedding_.dtype))
    assert found.embedding_.dtype == (np.float32 if dtype is np.float32 else np.float64)


@both
@pytest.mark.parametrize("kind", [csr_array, csc_array])
def test_sparse_samples_lie_where_dense_ones_do(model, kind):
    X = np.where(np.random.default_rng(0).random((60, 12)) < 0.5, np.random.default_rng(1).random((60, 12)), 0.0)
    dense, found = clone(model).fit_transform(X), clone(model).fit_transform(kind(X))
    assert subspace_angles(dense - dense.mean(axis=0), found - found.mean(axis=0)).max() < 1e-6


@both
def test_memory_that_may_not_be_written_and_any_order_of_it_will_do(model):
    X, _ = grid()
    assert not X.flags.writeable
    expected = clone(model).fit(X).embedding_
    for given in (np.asfortranarray(X), X[::-1][::-1], np.repeat(X, 2, axis=1)[:, ::2], X.tolist()):
        np.testing.assert_array_equal(clone(model).fit(given).embedding_, expected)


@both
def test_a_clone_has_the_parameters_and_nothing_of_the_fit(model):
    X, _ = grid()
    fitted = clone(model).set_params(n_neighbors=5, reg=1e-3).fit(X)
    copy = clone(fitted)
    assert copy.get_params() == fitted.get_params()
    assert not [name for name in vars(copy) if name.endswith("_")]
    for name, value in fitted.get_params().items():
        assert getattr(copy.set_params(**{name: value}), name) is value
    with pytest.raises(ValueError, match=re.escape("Invalid parameter 'perplexity' for estimator")):
        copy.set_params(perplexity=30)


@both
def test_columns_that_come_out_are_named_after_the_class(model):
    fitted = clone(model).fit(grid()[0])
    prefix = type(model).__name__.lower()
    assert list(fitted.get_feature_names_out()) == [f"{prefix}0", f"{prefix}1"]
    assert fitted.n_features_in_ == 3


@both
@pytest.mark.parametrize(
    ("wrong", "error", "says"),
    [
        ({"n_neighbors": 0}, InputError, "n_neighbors"),
        ({"n_neighbors": 2.5}, InputTypeError, "n_neighbors"),
        ({"n_neighbors": 1000}, InputError, r"n_neighbors=1000 needs at least 1001 samples, got n_samples=63"),
        ({"n_components": 0}, InputError, "n_components"),
        ({"n_components": 4}, InputError, r"n_components=4 needs at least 4 features"),
        ({"reg": -1.0}, InputError, "reg"),
        ({"metric": "nearly"}, InputError, "metric"),
        ({"variant": "hne"}, InputError, "variant"),
        ({"n_jobs": 0}, InputError, "n_jobs"),
        ({"random_state": "seed"}, (InputError, InputTypeError), "random_state"),
    ],
    ids=str,
)
def test_parameters_out_of_their_range_are_named(model, wrong, error, says):
    with pytest.raises(error, match=says):
        clone(model).set_params(**wrong).fit(grid()[0])


def test_seeds_of_any_kind_give_the_same_plane_and_one_seed_the_same_bits():
    X, _ = grid()
    seeds = (0, np.random.RandomState(3), None)
    first, *others = (HNE(**PLAIN, random_state=seed).fit_transform(X) for seed in seeds)
    np.testing.assert_array_equal(first, HNE(**PLAIN, random_state=0).fit_transform(X))
    for Y in others:
        assert subspace_angles(first, Y).max() < 1e-6


def test_a_graph_of_scikit_learns_neighbors_is_that_of_our_own_search():
    X, _ = grid()
    plain = HNE(n_neighbors=6, short_circuits="keep").fit(X)
    given = HNE(n_neighbors=6, neighbors=kneighbors_graph(X, 6, mode="distance"), short_circuits="keep").fit(X)
    np.testing.assert_allclose(given.embedding_, plain.embedding_, atol=1e-9)
