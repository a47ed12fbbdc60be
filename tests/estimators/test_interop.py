"""Neighbors: what people put before, after and around HNE works, and gives the numbers that HNE gives alone.

Dask arrays, which need a client, are in test_dask.
"""

import pickle

import numpy as np
import pandas as pd
import pytest
from joblib import Parallel, delayed
from sklearn import config_context
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import StandardScaler

from hne import HNE, LinearHNE
from hne.datasets import make_swiss_roll
from tests.conftest import frozen

NAMES = ["a", "b", "c"]
both = pytest.mark.parametrize("model", [HNE(n_neighbors=8), LinearHNE()], ids=lambda model: type(model).__name__)


@pytest.fixture(scope="module")
def small():
    """A roll of few samples, and how far along it each is."""
    roll = make_swiss_roll(100, even=True, random_state=1)
    return frozen(roll.X), frozen(roll.chart[:, 0])


@both
def test_a_pipeline_is_its_steps_one_after_another(small, model):
    X, _ = small
    scaled = StandardScaler().fit_transform(X)
    pipeline = make_pipeline(StandardScaler(), clone(model), PCA(1)).fit(X)
    inside = clone(model).fit(scaled)
    np.testing.assert_array_equal(pipeline[:2].transform(X), inside.embedding_)
    np.testing.assert_array_equal(pipeline.transform(X), PCA(1).fit_transform(inside.embedding_))
    assert list(pipeline.get_feature_names_out()) == ["pca0"]


def test_a_search_over_settings_goes_by_what_comes_after():
    roll = make_swiss_roll(300, even=True, random_state=1)
    order = np.random.default_rng(0).permutation(300)
    X, along = roll.X[order], roll.chart[order, 0]
    grid = {"hierarchicneighborsembedding__n_neighbors": [3, 8]}
    search = GridSearchCV(make_pipeline(HNE(), Ridge()), grid, cv=3, error_score="raise").fit(X, along)
    assert search.best_score_ > 0.95
    assert search.best_estimator_.predict(X[:5]).shape == (5,)
    # A line through the space that it is rolled up in tells next to nothing of how far along a sample is.
    assert GridSearchCV(Ridge(), {}, cv=3).fit(X, along).best_score_ < 0.5


@both
def test_a_union_has_the_columns_of_all(small, model):
    X, _ = small
    union = FeatureUnion([("ours", clone(model)), ("pca", PCA(2))]).fit(X)
    expected = np.hstack([clone(model).fit(X).transform(X), PCA(2).fit_transform(X)])
    np.testing.assert_array_equal(union.transform(X), expected)
    names = [f"ours__{name}" for name in clone(model).fit(X).get_feature_names_out()]
    assert list(union.get_feature_names_out()) == [*names, "pca__pca0", "pca__pca1"]


@both
def test_some_columns_of_a_table_may_be_embedded_and_others_kept(small, model):
    X, along = small
    table = pd.DataFrame(X, columns=NAMES).assign(along=along)
    transformer = ColumnTransformer([("ours", clone(model), NAMES)], remainder="passthrough")
    found = transformer.set_output(transform="pandas").fit_transform(table)
    np.testing.assert_array_equal(found.iloc[:, :2], clone(model).fit_transform(X))
    np.testing.assert_array_equal(found["remainder__along"], along)


@pytest.mark.parametrize("kind", ["pandas", "polars"])
@both
@pytest.mark.slow
def test_what_scikit_learn_is_told_for_all_holds_for_ours(small, kind, model):
    pytest.importorskip(kind)
    X, _ = small
    expected = clone(model).fit_transform(X)
    with config_context(transform_output=kind):
        found = clone(model).fit_transform(X)
    assert type(found).__module__.startswith(kind)
    np.testing.assert_array_equal(found.to_numpy(), expected)


@both
@pytest.mark.parametrize("backend", ["threading", pytest.param("loky", marks=pytest.mark.slow)])
def test_fits_beside_each_other_give_the_same_bits(small, model, backend):
    X, _ = small
    halves = [X[:70], X[30:]]
    found = Parallel(n_jobs=2, backend=backend)(delayed(clone(model).fit_transform)(half) for half in halves)
    for Y, half in zip(found, halves, strict=True):
        np.testing.assert_array_equal(Y, clone(model).fit_transform(half))


def dumped_by(library):
    """How a library writes a model to bytes and reads it again."""
    if library == "skops":
        io = pytest.importorskip("skops.io", reason="pip install skops")
        return io.dumps, lambda data: io.loads(data, trusted=io.get_untrusted_types(data=data))
    module = pickle if library == "pickle" else pytest.importorskip(library)
    return module.dumps, module.loads


@both
@pytest.mark.parametrize("library", ["pickle", "cloudpickle", "skops"])
def test_models_come_back_from_any_library_of_models(small, model, library):
    dumps, loads = dumped_by(library)
    X, _ = small
    fitted = clone(model).fit(X)
    again = loads(dumps(fitted))
    np.testing.assert_array_equal(again.transform(X[:20] + 0.05), fitted.transform(X[:20] + 0.05))
    assert again.get_params() == fitted.get_params()


def test_skops_asks_to_trust_nothing_but_ours_and_sparse_matrices(small):
    io = pytest.importorskip("skops.io", reason="pip install skops")
    asked = io.get_untrusted_types(data=io.dumps(HNE(n_neighbors=8).fit(small[0])))
    assert {name.partition(".")[0] for name in asked} <= {"hne", "scipy"}


def frame_of(kind, X):
    """The samples as a table of that library."""
    if kind == "pandas":
        return pd.DataFrame(X, columns=NAMES)
    library = pytest.importorskip("polars" if kind == "narwhals" else kind)
    if kind == "pyarrow":
        return library.table(dict(zip(NAMES, X.T, strict=True)))
    table = library.DataFrame(X, schema=NAMES)
    return pytest.importorskip("narwhals").from_native(table) if kind == "narwhals" else table


@both
@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow", "narwhals"])
def test_tables_of_any_library_give_the_bits_of_arrays(small, model, kind):
    X, _ = small
    table, plain = clone(model).fit(frame_of(kind, X)), clone(model).fit(X)
    np.testing.assert_array_equal(table.embedding_, plain.embedding_)
    np.testing.assert_array_equal(table.transform(frame_of(kind, X)), plain.transform(X))


# AnnData 0.12 does not ask for pandas 3, whose options it reads.
@pytest.mark.filterwarnings("ignore:The 'future.infer_string' option")
def test_annotated_data_keeps_its_coordinates_beside_its_counts(small):
    anndata = pytest.importorskip("anndata")
    X, _ = small
    cells = anndata.AnnData(X.copy())
    cells.obsm["X_hne"] = HNE(n_neighbors=8).fit_transform(cells.X)
    np.testing.assert_array_equal(cells.obsm["X_hne"], HNE(n_neighbors=8).fit_transform(X))
    # A view of some cells is as good.
    np.testing.assert_array_equal(
        HNE(n_neighbors=8).fit_transform(cells[:60].X), HNE(n_neighbors=8).fit_transform(X[:60])
    )
