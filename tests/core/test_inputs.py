"""Any kind of input: the same embedding whatever holds the numbers, or whatever the samples are known by."""

import logging
import tracemalloc

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.metrics import pairwise_distances
from sklearn.neighbors import KNeighborsTransformer, NearestNeighbors, radius_neighbors_graph
from sklearn.pipeline import make_pipeline
from sklearn.utils import estimator_checks

from hne import HNE, PUBLISHED, LinearHNE, embed
from hne.core.neighbors.graph import knn_graph
from hne.core.samples.check import check_samples
from hne.datasets import make_swiss_roll
from hne.exceptions import InputError, InputTypeError
from hne.metrics import affine_errors, procrustes_error
from hne.settings import VARIANTS, Settings
from tests.conftest import advised, frozen, one_fast
from tests.core.test_pipeline import angle

polars = pytest.importorskip("polars", reason="pip install polars")
pyarrow = pytest.importorskip("pyarrow", reason="pip install pyarrow")

NAMES = ["a", "b", "c"]


@pytest.fixture(scope="module")
def small():
    """Samples of a small Swiss roll, dense enough for what two ways to it have to agree in."""
    return frozen(make_swiss_roll(100, even=True, random_state=3).X)


@pytest.fixture(scope="module")
def fitted(small):
    return HNE().fit(small)


@pytest.fixture(scope="module")
def fitted_with_six(small):
    return HNE(6).fit(small)


OUTPUT_CHECKS = [
    "check_transformer_get_feature_names_out",
    "check_transformer_get_feature_names_out_pandas",
    "check_set_output_transform",
    "check_set_output_transform_pandas",
    "check_set_output_transform_polars",
    "check_global_output_transform_pandas",
    "check_global_set_output_transform_polars",
    "check_dataframe_column_names_consistency",
    "check_n_features_in_after_fitting",
]


@pytest.mark.filterwarnings("ignore:X (does not have|has) .*feature names:UserWarning")
@pytest.mark.parametrize("check", OUTPUT_CHECKS)
@pytest.mark.parametrize("model", one_fast(HNE(), LinearHNE()), ids=str)
def test_output_checks_that_are_not_in_the_default_set_hold(check, model):
    getattr(estimator_checks, check)(type(model).__name__, clone(model))


def tables(X):
    return {
        "pandas": pd.DataFrame(X, columns=NAMES),
        "polars": polars.DataFrame(X, schema=NAMES),
        "pyarrow": pyarrow.table(dict(zip(NAMES, X.T, strict=True))),
    }


@pytest.mark.parametrize(
    ("kind", "dtype"), one_fast(("pandas", np.float32), ("polars", np.float64), ("pyarrow", np.float32))
)
def test_tables_give_the_bits_of_arrays_and_keep_their_names(small, kind, dtype):
    X = small.astype(dtype)
    table = tables(X)[kind]
    model, plain = HNE().fit(table), HNE().fit(X)
    assert list(model.feature_names_in_) == NAMES
    assert model.embedding_.dtype == dtype
    np.testing.assert_array_equal(model.embedding_, plain.embedding_)
    np.testing.assert_array_equal(model.transform(table), plain.embedding_)


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_tables_come_out_where_they_are_asked_for(small, kind):
    out = HNE().set_output(transform=kind).fit_transform(tables(small)[kind])
    assert type(out).__module__.startswith(kind)
    assert list(out.columns) == ["hierarchicneighborsembedding0", "hierarchicneighborsembedding1"]


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_columns_of_text_and_missing_values_are_named(small, kind):
    frame = pd.DataFrame(small.copy(), columns=NAMES)
    frame.loc[7, "b"] = None
    convert = {"pandas": lambda f: f, "polars": polars.from_pandas, "pyarrow": pyarrow.Table.from_pandas}[kind]
    with pytest.raises(InputError, match=r"got nan in row 7, column 'b' \(1 NaN"):
        HNE().fit(convert(frame))
    with pytest.raises(InputError, match=r"got \w+ with columns 'kind' \(.*'x'"):
        HNE().fit(convert(frame.assign(kind="x")))


def test_float32_is_kept_in_the_output_and_computed_in_float64(small):
    single = small.astype(np.float32)
    model, double = HNE().fit(single), HNE().fit(single.astype(float))
    assert model.embedding_.dtype == model.transform(single).dtype == np.float32
    assert model.inverse_transform(model.embedding_).dtype == np.float32
    np.testing.assert_array_equal(model.embedding_, double.embedding_.astype(np.float32))
    # New samples come back in their own precision.
    assert model.transform(small[:2] + 0.1).dtype == np.float64
    assert embed(single).Y.dtype == np.float32


def test_memory_mapped_samples_are_read_as_they_are(small, fitted, tmp_path):
    np.save(tmp_path / "X.npy", small)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    np.testing.assert_array_equal(HNE().fit_transform(mapped), fitted.embedding_)


def test_the_samples_given_may_change_after_the_fit(small):
    X = np.array(small)
    model = HNE().fit(X)
    new = small[:5] + 0.1
    before = model.transform(new)
    X[:] = 0.0
    np.testing.assert_array_equal(model.transform(new), before)


def sparse_cloud(n=120):
    """Samples of few values each, on a surface."""
    X = np.zeros((n, 40))
    X[:, 5:8] = make_swiss_roll(n, even=True, random_state=2).X
    X[np.arange(n), 10 + np.arange(n) % 30] = 1.0
    return frozen(X)


@pytest.mark.filterwarnings("ignore:Constructing a DIA matrix:scipy.sparse.SparseEfficiencyWarning")
@pytest.mark.parametrize("layout", ["csr", "csc", "coo", "lil", "dok", "dia", "bsr"])
def test_sparse_matrices_of_any_layout_are_the_same_samples(layout):
    X = sparse.csr_array(sparse_cloud())
    samples = check_samples(X.asformat(layout), Settings())
    for part in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(samples, part), getattr(X, part))


@pytest.mark.parametrize("variant", one_fast(*VARIANTS))
def test_sparse_samples_give_the_embedding_of_the_dense_ones(variant):
    X = sparse_cloud()
    model, dense = HNE(variant=variant).fit(sparse.csr_array(X)), HNE(variant=variant).fit(X)
    np.testing.assert_allclose(model.embedding_, dense.embedding_, atol=1e-5)
    np.testing.assert_array_equal(model.short_circuits_, dense.short_circuits_)
    np.testing.assert_allclose(model.reconstruction_errors_, dense.reconstruction_errors_, atol=1e-8)
    published = HNE(**PUBLISHED | {"variant": variant})
    assert angle(published.fit(sparse.csr_array(X)).embedding_, clone(published).fit(X).embedding_) < 1e-6


def test_a_model_of_sparse_samples_takes_and_gives_sparse_ones():
    X = sparse_cloud()
    model, dense = HNE().fit(sparse.csr_matrix(X)), HNE().fit(X)
    np.testing.assert_array_equal(model.transform(sparse.csc_array(X)), model.embedding_)
    np.testing.assert_array_equal(model.transform(X), model.embedding_)
    np.testing.assert_array_equal(dense.transform(sparse.csr_array(X)), dense.embedding_)
    back, rebuilt = model.inverse_transform(model.embedding_), model.reconstruct()
    assert sparse.issparse(back)
    assert sparse.issparse(rebuilt)
    np.testing.assert_array_equal(back.toarray(), X)
    np.testing.assert_allclose(rebuilt.toarray(), dense.reconstruct(), atol=1e-6)


def test_sparse_samples_are_never_made_dense_as_a_whole():
    rng = np.random.default_rng(0)
    rows, columns = np.repeat(np.arange(100), 10), rng.integers(0, 2**20, 1000)
    X = sparse.csr_array((rng.random(1000), (rows, columns)), shape=(100, 2**20))
    tracemalloc.start()
    assert np.isfinite(HNE(eigen_solver="dense").fit_transform(X)).all()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # Ranges of the columns take 8.4 MB each; a dense array of all samples would take 840 MB.
    assert peak < 100e6


@pytest.mark.parametrize(("variant", "include_self"), one_fast(("bhne", False), ("ihne", True), ("rhne", True)))
def test_distances_give_the_embedding_of_the_coordinates(small, variant, include_self):
    D = frozen(cdist(small, small))
    options = {"variant": variant, "include_self": include_self, "coordinates": "chart"}
    model, expected = HNE(metric="precomputed", **options).fit(D), HNE(**options).fit(small)
    np.testing.assert_allclose(model.embedding_, expected.embedding_, atol=1e-6)
    np.testing.assert_allclose(model.reconstruction_errors_, expected.reconstruction_errors_, atol=1e-6)
    new = small[:20] + 0.05
    np.testing.assert_allclose(model.transform(cdist(new, small)), expected.transform(new), atol=1e-6)
    np.testing.assert_array_equal(model.transform(D[:5]), model.embedding_[:5])
    for method in ("inverse_transform", "reconstruct"):
        with pytest.raises(InputError, match=f"{method} needs samples with coordinates"):
            getattr(model, method)(*([model.embedding_] if method == "inverse_transform" else []))


def test_copies_among_distances_share_a_place(small, fitted):
    X = np.vstack([small, small[:30]])
    model = HNE(metric="precomputed").fit(cdist(X, X))
    assert model.n_distinct_ == 100
    np.testing.assert_array_equal(model.embedding_[100:], model.embedding_[:30])
    # Attraction is computed in single precision, whose rounding the steps of a descent amplify.
    assert procrustes_error(model.embedding_[:100], fitted.embedding_) < 1e-8
    np.testing.assert_array_equal(model.transform(cdist(X, X)), model.embedding_)


BAD_DISTANCES = {
    "not square": (np.ones((5, 4)), r"square .* got shape \(5, 4\)"),
    "not symmetric": (np.triu(np.ones((9, 9)), 1), "symmetric .* got 1 from sample 0 to 1"),
    "negative": (-np.ones((9, 9)), r"got -1 \(Negative values in data\)"),
    "similarities": (np.ones((9, 9)), "got 1 in row 0"),
    "a graph of ones": (sparse.csr_array(np.ones((9, 9)) - np.eye(9)), "got ones alone"),
}


@pytest.mark.parametrize("case", BAD_DISTANCES)
def test_what_are_no_distances_is_refused(case):
    X, message = BAD_DISTANCES[case]
    with pytest.raises(InputError, match=message) as held:
        HNE(n_neighbors=2, metric="precomputed").fit(X)
    assert held.value.parameter == "X"


def test_a_pipeline_of_neighbors_and_embedding_is_the_embedding(small, tmp_path):
    pipeline = make_pipeline(
        KNeighborsTransformer(n_neighbors=99, mode="distance"),
        HNE(n_neighbors=6, coordinates="chart", metric="precomputed"),
        memory=str(tmp_path),
    )
    expected = HNE(n_neighbors=6, coordinates="chart").fit(small)
    np.testing.assert_allclose(pipeline.fit_transform(small), expected.embedding_, atol=1e-6)
    new = small[:20] + 0.05
    np.testing.assert_allclose(pipeline.transform(new), expected.transform(new), atol=1e-6)
    # The cache serves another embedding of the same graph.
    again = clone(pipeline).set_params(hierarchicneighborsembedding__variant="bhne").fit_transform(small)
    other = HNE(n_neighbors=6, variant="bhne", coordinates="chart").fit_transform(small)
    np.testing.assert_allclose(again, other, atol=1e-6)


@pytest.mark.parametrize(("n_known", "k"), one_fast((240, 6), (325, 8)))
def test_a_graph_of_distances_gets_as_many_neighbors_as_it_knows_enough_of(roll, n_known, k):
    graph = KNeighborsTransformer(n_neighbors=n_known).fit_transform(roll.X)
    quick = {"metric": "precomputed", "coordinates": "eigenvectors", "short_circuits": "keep"}
    assert HNE(**quick).fit(graph).n_neighbors_ == k


def test_a_pipeline_that_keeps_too_few_distances_says_how_many_it_takes(roll):
    with pytest.raises(InputError, match=r"got 2\d stored for each sample"):
        make_pipeline(KNeighborsTransformer(n_neighbors=20), HNE(metric="precomputed")).fit(roll.X)


def given_as(kind, X, k):
    distances, indices = NearestNeighbors(n_neighbors=k).fit(X).kneighbors()
    graph = KNeighborsTransformer(n_neighbors=k).fit_transform(X)
    return {
        "pair": (indices, distances),
        "pair without distances": (indices, None),
        "graph": graph,
        "more than wanted": KNeighborsTransformer(n_neighbors=k + 5).fit_transform(X),
        "who is a neighbor": (graph > 0).astype(int),
        "lists": (indices.tolist(), distances.tolist()),
    }[kind]


@pytest.mark.parametrize(
    "kind", ["pair", "pair without distances", "graph", "more than wanted", "who is a neighbor", "lists"]
)
def test_given_neighbors_give_the_embedding_of_those_found(small, fitted_with_six, kind):
    model, expected = HNE(6, neighbors=given_as(kind, small, 6)).fit(small), fitted_with_six
    np.testing.assert_array_equal(model.embedding_, expected.embedding_)
    assert model.neighbor_method_ == "given"
    np.testing.assert_array_equal(model.transform(small[:5] + 0.1), expected.transform(small[:5] + 0.1))


def test_given_neighbors_stay_right_among_copies(small):
    X = np.vstack([small, small[:50]])
    # Every copy lists its original, and some samples list both of a pair.
    model = HNE(6, neighbors=given_as("graph", X, 8)).fit(X)
    np.testing.assert_array_equal(model.embedding_[100:], model.embedding_[:50])
    assert (model._fitted.core.graph.indices != np.arange(100)[:, None]).all()


def test_a_given_graph_is_taken_whole_and_the_fit_says_so(small, caplog):
    graph = KNeighborsTransformer(n_neighbors=9).fit_transform(small)
    with caplog.at_level(logging.INFO, logger="hne"):
        model = HNE(neighbors=graph).fit(small)
    assert model.n_neighbors_ == 9
    np.testing.assert_array_equal(model.embedding_, HNE(9).fit(small).embedding_)
    assert "neighbors: given, all of them, up to 9 of each sample" in caplog.text


def test_a_fit_says_how_many_of_a_given_graph_it_takes(small, caplog):
    graph = KNeighborsTransformer(n_neighbors=9).fit_transform(small)
    with caplog.at_level(logging.INFO, logger="hne"):
        assert HNE(6, neighbors=graph).fit(small).n_neighbors_ == 6
    assert "neighbors: given, the nearest 6 of up to 9 of each sample" in caplog.text


@pytest.mark.parametrize("kind", ["graph", "pair without distances"])
def test_far_samples_spoil_no_embedding_by_a_given_graph(kind):
    roll = make_swiss_roll(400, even=True, random_state=3)
    X = np.vstack([roll.X, roll.X.mean(axis=0) + np.diag([300.0, 400.0, 500.0])])
    with advised("3 of them isolated"):
        model = HNE(neighbors=given_as(kind, X, 12)).fit(X)
    assert affine_errors(model.embedding_[:400], roll.chart)[0] < 0.01
    advice = [one.remedy for one in model.trust_.findings if one.kind == "pieces"]
    assert advice == ["Add links to the given graph where they belong together"]


def test_neighborhoods_may_be_unequal(roll):
    graph = radius_neighbors_graph(roll.X, 3.5, mode="distance")
    sizes = np.diff(graph.indptr)
    assert sizes.min() < sizes.max()
    model = HNE(n_neighbors=30, neighbors=graph, reg=1e-3).fit(roll.X)
    np.testing.assert_array_equal(np.diff(model.inner_weights_.indptr), np.minimum(sizes, 30))
    assert affine_errors(model.embedding_, roll.chart)[0] < 0.05


BAD_GRAPHS = {
    "out of range": (([[1], [2], [3]], None), InputError, "from 0 to 2, .* got 3"),
    "floats": (([[1.0], [0.0]], None), InputError, r"shape \(2, 1\) and kind float64"),
    "ragged": (([[1], [0, 2], [1]], None), InputError, "Fill short rows up"),
    "two shapes": (([[1], [0]], [[1.0, 2.0]] * 2), InputError, r"got \(2, 1\) and \(2, 2\)"),
    "negative": (([[1], [0]], [[-1.0], [1.0]]), InputError, r"got -1\.0"),
    "other samples": (([[1], [0]], None), InputError, "each of the 60 samples, got 2"),
    "not square": (sparse.csr_array(np.ones((3, 4))), InputError, r"square, got shape \(3, 4\)"),
    "swapped": ((np.ones((2, 1)), np.array([[1], [0]])), InputError, "Swap the two"),
    "a function": (len, InputTypeError, "got builtin_function_or_method"),
}


@pytest.mark.parametrize("case", BAD_GRAPHS)
def test_bad_graphs_are_refused_in_one_sentence(cloud, case):
    graph, error, message = BAD_GRAPHS[case]
    with pytest.raises(error, match=message) as held:
        HNE(neighbors=graph).fit(cloud)
    assert held.value.parameter == "neighbors"


METRICS = ["cosine", "correlation", "manhattan", "chebyshev", "sqeuclidean", "canberra", "seuclidean", "mahalanobis"]


@pytest.mark.parametrize("metric", METRICS)
def test_any_metric_finds_the_neighbors_that_scikit_learn_finds(metric):
    X = frozen(np.random.default_rng(0).normal(size=(80, 5)) + 2)
    graph = embed(X, metric=metric, n_neighbors=5, short_circuits="keep").graph
    apart = pairwise_distances(X, metric=metric)
    np.fill_diagonal(apart, np.inf)
    np.testing.assert_allclose(graph.distances, np.sort(apart, axis=1)[:, :5], rtol=1e-9)
    np.testing.assert_allclose(graph.distances, np.take_along_axis(apart, graph.indices, axis=1), rtol=1e-9)


def test_a_function_may_be_the_metric_and_new_samples_are_measured_by_it(cloud):
    def third(a, b):
        return abs(a[2] - b[2])

    model = HNE(6, metric=third, short_circuits="keep").fit(cloud)
    order = np.argsort(np.abs(cloud[:, 2] - cloud[7, 2]))[1:7]
    assert set(model._fitted.graph.indices[7]) == set(order)
    assert model.neighbor_method_ == "metric"
    np.testing.assert_array_equal(model.transform(cloud), model.embedding_)
    assert np.isfinite(model.transform(cloud + 0.1)).all()


def test_parameters_of_a_metric_are_passed_on(cloud):
    by_three = embed(cloud, **PUBLISHED, metric="minkowski", metric_params={"p": 3}).graph
    apart = pairwise_distances(cloud, metric="minkowski", p=3)
    np.testing.assert_allclose(by_three.distances, np.sort(apart, axis=1)[:, 1:7])


def test_samples_without_a_direction_are_one_away_from_all_that_have_one():
    X = np.random.default_rng(0).random((40, 4))
    X[3] = 0.0
    for given in (X, sparse.csr_array(X)):
        np.testing.assert_allclose(knn_graph(given, 5, metric="cosine").distances[3], 1.0)


BAD_METRICS = {
    "unknown": ({"metric": "euclid"}, InputError, "got 'euclid'"),
    "no metric": ({"metric": 2}, InputTypeError, "got 2"),
    "params": ({"metric_params": 3}, InputTypeError, "got 3"),
    "negative": ({"metric": lambda a, b: -1.0}, InputError, "zero and more, got -1"),
    "nan": ({"metric": lambda a, b: np.nan}, InputError, "zero and more, got nan"),
    "fails": ({"metric": lambda a, b: 1 / 0}, InputError, "got ZeroDivisionError: div"),
    "wrong features": ({"metric": "haversine"}, InputError, "metric='haversine' must give the distances of X"),
}


@pytest.mark.parametrize("case", BAD_METRICS)
def test_bad_metrics_are_refused_in_one_sentence(cloud, case):
    parameters, error, message = BAD_METRICS[case]
    with pytest.raises(error, match=message):
        HNE(**parameters).fit(cloud)


def test_approximate_neighbors_are_for_dense_samples(small):
    pytest.importorskip("faiss", reason="approximate search needs the extra: pip install 'hne[approx]'")
    for X, metric in ((sparse.csr_array(small), "euclidean"), (cdist(small, small), "precomputed")):
        with pytest.raises(InputError, match=r"neighbors='approximate' needs a dense X, got "):
            HNE(neighbors="approximate", metric=metric).fit(X)


@pytest.mark.parametrize(("variant", "solver"), one_fast(("bhne", "direct"), ("ihne", "direct"), ("rhne", "dense")))
def test_samples_in_another_order_give_the_same_bits_in_that_order(small, variant, solver):
    order = np.random.default_rng(0).permutation(100)
    here, there = (HNE(variant=variant, eigen_solver=solver).fit(X) for X in (small, small[order]))
    np.testing.assert_array_equal(there.embedding_, here.embedding_[order])
    np.testing.assert_array_equal(there.joint_weights_.toarray(), here.joint_weights_.toarray()[order][:, order])
    np.testing.assert_array_equal(there.transform(small[:9] + 0.1), here.transform(small[:9] + 0.1))


@pytest.mark.parametrize("variant", one_fast(*VARIANTS))
def test_copies_share_one_place_and_count_once(small, variant):
    copied = np.vstack([small[:40], small, small[:40]])
    once, often = (HNE(variant=variant).fit(X) for X in (small, copied))
    np.testing.assert_array_equal(often.embedding_[40:140], once.embedding_)
    for copies in (often.embedding_[:40], often.embedding_[140:]):
        np.testing.assert_array_equal(copies, once.embedding_[:40])
    assert often.n_distinct_ == 100
    np.testing.assert_array_equal(often.transform(copied), often.embedding_)
    W = often.inner_weights_
    np.testing.assert_allclose(W.sum(axis=1), 1.0)
    # Nobody leans on a copy of itself: the first stands for all, and not for its own copies.
    assert (W.toarray()[np.arange(140, 180), np.arange(40)] == 0).all()


@pytest.mark.parametrize(("variant", "apart"), [("ihne", 1e-9), ("rhne", 1e-12), ("bhne", 1e-15)])
@pytest.mark.slow
def test_near_duplicates_keep_every_result_finite_and_lie_side_by_side(roll, variant, apart):
    rng = np.random.default_rng(0)
    close = np.vstack([roll.X, roll.X[:100] + apart * rng.normal(size=(100, 3))])
    published, model = HNE(**PUBLISHED | {"variant": variant}).fit(close), HNE(variant=variant).fit(close)
    # The closest may have become copies.
    Y = published.embedding_[np.unique(close, axis=0, return_index=True)[1]]
    np.testing.assert_allclose(Y.T @ Y, np.eye(2), atol=1e-10)
    # A chart keeps together what is together, and is no other for it: samples are 2 apart.
    assert np.linalg.norm(model.embedding_[400:] - model.embedding_[:100], axis=1).max() < 0.05
    assert procrustes_error(model.embedding_[:400], roll.chart) < 1e-4
    for one in (published, model):
        assert np.isfinite(one.reconstruction_errors_).all()
        assert np.isfinite(one.transform(close + apart)).all()
        assert np.isfinite(one.inverse_transform(one.embedding_ + 1e-9)).all()


def test_which_errors_include_the_sample_itself_is_told(small, fitted):
    with_itself, without = fitted, HNE(include_self=False).fit(small)
    assert (with_itself.reconstruction_includes_self_, without.reconstruction_includes_self_) == (True, False)
    assert without.reconstruction_error_ > 1.1 * with_itself.reconstruction_error_
    assert "(samples left out of their own outer layer)" in repr(without._fitted)


def test_the_way_back_gives_new_samples_to_within_a_neighbors_distance():
    data = make_swiss_roll(1200, random_state=5)
    model = HNE(n_neighbors=8).fit(data.X[:900])
    new = data.X[900:]
    back = model.inverse_transform(model.transform(new))
    assert np.linalg.norm(back - new, axis=1).mean() < 0.5 * model._fitted.graph.distances.mean()
    np.testing.assert_array_equal(model.inverse_transform(model.embedding_), data.X[:900])


@pytest.mark.parametrize("scale", one_fast(1e-200, 1.0, 1e200))
def test_the_way_back_ends_in_the_units_of_the_data(small, scale):
    model = HNE().fit(small * scale)
    np.testing.assert_allclose(model.inverse_transform(model.embedding_) / scale, small, rtol=1e-12)


def test_points_of_another_dimension_have_no_way_back(small, fitted):
    with pytest.raises(InputError, match=r"Y must have 2 columns, .* got 3"):
        fitted.inverse_transform(small)
    with pytest.raises(InputError, match=r"Y must have points, got 0 sample\(s\)"):
        fitted.inverse_transform(np.empty((0, 2)))
    with pytest.raises(InputError, match="Y must be finite, got nan"):
        fitted.inverse_transform([[0.0, np.nan]])


def test_zeros_that_a_sparse_matrix_of_distances_did_not_store_are_copies_and_far_samples_are_not(small):
    X = np.vstack([small[:60], small[:20]])
    model = HNE(metric="precomputed", coordinates="chart").fit(sparse.csr_array(cdist(X, X)))
    assert model.n_distinct_ == 60
    alone = HNE(coordinates="chart").fit_transform(small[:60])
    np.testing.assert_allclose(model.embedding_[:60], alone, atol=1e-6)
    # More than half of all distances, the far ones left out: nobody is taken for a copy.
    graph = KNeighborsTransformer(n_neighbors=45, mode="distance").fit_transform(small[:60])
    assert graph.nnz > 1800
    with pytest.raises(InputError, match="missing"):
        HNE(n_neighbors=12, metric="precomputed").fit(graph)


def test_rounding_on_the_diagonal_of_distances_moves_no_fitted_sample(small):
    D = cdist(small, small)
    np.fill_diagonal(D, 1e-15)
    model = HNE(metric="precomputed").fit(D)
    np.testing.assert_array_equal(model.transform(D), model.embedding_)


def test_a_graph_of_neighbors_is_not_taken_for_samples(small):
    for mode in ("distance", "connectivity"):
        for model in (HNE(), HNE(neighbors=given_as("graph", small, 6))):
            with pytest.raises(InputError, match="looks like a graph of neighbors"):
                make_pipeline(KNeighborsTransformer(n_neighbors=8, mode=mode), model).fit(small)
    # A square matrix of counts is none.
    counts = sparse.csr_array(np.random.default_rng(0).integers(0, 3, (30, 30)))
    assert HNE().fit_transform(counts).shape == (30, 2)


def test_copies_are_told_by_the_first_sample_that_they_equal(small):
    model = HNE().fit(np.vstack([small, small[5:7]]))
    np.testing.assert_array_equal(model.same_as_, [*range(100), 5, 6])


def test_what_has_not_run_yet_and_condensed_distances_are_told_apart_from_tables(small):
    with pytest.raises(InputTypeError, match="got a LazyFrame, not yet run"):
        HNE().fit(tables(small)["polars"].lazy())
    with pytest.raises(InputError, match="got one dimension"):
        HNE(metric="precomputed").fit(np.ones(10))


def test_samples_without_neighbors_are_rebuilt_by_nobody(small):
    model = HNE(coordinates="chart").fit(np.vstack([small, [[500.0, 0.0, 0.0]]]))
    assert np.isnan(model.reconstruct()[-1]).all()
    assert np.isfinite(model.reconstruct()[:-1]).all()


def graph_of_blocks(*sizes):
    """Distances within blobs, stored, and none between them."""
    rng = np.random.default_rng(0)
    blobs = [rng.normal(size=(size, 2)) for size in sizes]
    return sparse.csr_array(sparse.block_diag([sparse.coo_array(cdist(blob, blob)) for blob in blobs]))


def test_samples_that_no_distance_compares_are_no_copies():
    for sizes in ((30, 30), (50, 20)):
        assert HNE(metric="precomputed").fit(graph_of_blocks(*sizes)).n_distinct_ == sum(sizes)
    line = np.arange(30.0)[:, None]
    near = cdist(line, line)
    near[near > 12] = 0.0
    assert HNE(2, n_components=1, metric="precomputed").fit(sparse.csr_array(near)).n_distinct_ == 30


@pytest.mark.parametrize(("metric", "pieces"), [("seuclidean", "separate"), ("mahalanobis", "join")])
def test_what_a_metric_takes_from_the_samples_is_taken_from_all_of_them(metric, pieces):
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(40, 2)) * [0.1, 10] + np.array([at, 0]) for at in (0, 8, 16, 5000)])[:121]
    params = {"V": X.var(axis=0, ddof=1)} if metric == "seuclidean" else {"VI": np.linalg.pinv(np.cov(X.T))}
    estimated, told = (HNE(3, metric=metric, metric_params=one, pieces=pieces).fit(X) for one in (None, params))
    np.testing.assert_allclose(estimated.embedding_, told.embedding_, atol=1e-9)
    new = X[::10] + 0.3
    np.testing.assert_allclose(estimated.transform(new), told.transform(new), atol=1e-9)


def test_a_linear_map_of_huge_samples_is_in_their_units_whatever_the_metric(small):
    plain, huge = (LinearHNE(metric="manhattan").fit(small * scale) for scale in (1.0, 2.0**330))
    np.testing.assert_allclose(huge.mean_ / 2.0**330, plain.mean_, rtol=1e-9)
    np.testing.assert_allclose(huge.embedding_, plain.embedding_, atol=1e-9)


def test_the_way_back_to_sparse_samples_makes_nothing_dense():
    rng = np.random.default_rng(0)
    rows, columns = np.repeat(np.arange(150), 40), rng.integers(0, 400_000, 6_000)
    X = sparse.csr_array((rng.random(6_000), (rows, columns)), shape=(150, 400_000))
    model = HNE().fit(X)
    tracemalloc.start()
    back = model.inverse_transform(model.embedding_)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (back != sparse.csr_array(X)).nnz == 0
    # Written out it would take 480 MB.
    assert peak < 50e6


def test_single_precision_finds_its_way_back_to_the_fitted_samples():
    X = make_swiss_roll(600, random_state=0).X.astype(np.float32)
    model = HNE().fit(X)
    np.testing.assert_array_equal(model.inverse_transform(model.embedding_), X)
    assert model.reconstruct().dtype == np.float32


def test_copies_whose_distances_differ_in_rounding_give_the_same_bits_in_any_order(small):
    X = np.vstack([small[:80], small[:20], small[:10]])
    D = pairwise_distances(X)
    D = np.maximum(D, D.T) * (D > 1e-6)
    order = np.random.default_rng(0).permutation(len(X))
    here, there = (HNE(metric="precomputed").fit(one) for one in (D, D[order][:, order]))
    assert here.n_distinct_ == 80
    np.testing.assert_array_equal(there.embedding_, here.embedding_[order])


def test_given_lists_of_copies_count_for_all_of_them(small):
    X = np.repeat(small[:60], 8, axis=0)
    # Six neighbors of each: all copies of itself, but for one of the eight, who knows others.
    indices = np.array([[8 * (i // 8) + j for j in range(8) if 8 * (i // 8) + j != i][:6] for i in range(480)])
    indices[7::8] = 8 * embed(small[:60], n_neighbors=6, short_circuits="keep").graph.indices
    model = HNE(neighbors=(indices, None)).fit(X)
    np.testing.assert_allclose(model.embedding_[::8], HNE(6).fit_transform(small[:60]), atol=1e-6)


def test_what_is_known_of_a_copy_is_known_of_the_sample(small):
    X = small[:60]
    D = cdist(np.vstack([X, X]), np.vstack([X, X]))
    stored = np.ones_like(D, dtype=bool)
    rows, columns = np.nonzero(stored)
    graph = sparse.csr_array((D[rows, columns], (rows, columns)), shape=D.shape)
    model = HNE(metric="precomputed", coordinates="chart").fit(graph)
    assert model.n_distinct_ == 60
    new = cdist(X[:3] + 0.1, X)
    # A new row that knows the second copies alone.
    late = sparse.csr_array(
        (new.ravel(), (np.repeat(np.arange(3), 60), np.tile(np.arange(60, 120), 3))), shape=(3, 120)
    )
    expected = HNE(coordinates="chart").fit(X).transform(X[:3] + 0.1)
    np.testing.assert_allclose(model.transform(late), expected, atol=1e-6)


def test_distances_lay_pieces_out_as_the_coordinates_do():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(size, 3)) + 60 * rng.normal(size=3) for size in (30, 25, 20, 15)])
    by_distance, by_place = HNE(metric="precomputed").fit(cdist(X, X)), HNE().fit(X)
    np.testing.assert_allclose(by_distance.embedding_, by_place.embedding_, atol=1e-6)


def test_metrics_that_sparse_samples_have_not_are_refused_in_one_sentence():
    for metric in ("correlation", "seuclidean", "mahalanobis"):
        with pytest.raises(InputError, match=f"metric='{metric}' must give the distances"):
            HNE(metric=metric).fit(sparse.csr_array(sparse_cloud()))


def test_what_a_metric_makes_of_a_sample_and_itself_is_nobodys_concern():
    X = np.random.default_rng(0).integers(0, 2, (60, 12))
    X[0] = 0
    assert np.isfinite(HNE(metric="dice").fit_transform(X)).all()


def test_approximate_neighbors_know_two_metrics_and_say_so(cloud):
    pytest.importorskip("faiss", reason="approximate search needs the extra: pip install 'hne[approx]'")
    with pytest.raises(InputError, match="got metric='manhattan'"):
        HNE(neighbors="approximate", metric="manhattan").fit(cloud)


@pytest.mark.parametrize("metric", ["cosine", "manhattan", "sqeuclidean"])
def test_neighbors_given_without_distances_are_ordered_by_the_metric(metric):
    X = frozen(np.random.default_rng(0).normal(size=(80, 4)) + 1)
    kept = {"metric": metric, "short_circuits": "keep"}
    searched = embed(X, n_neighbors=8, **kept).graph
    shuffled = np.random.default_rng(1).permuted(searched.indices, axis=1)
    given = embed(X, n_neighbors=5, neighbors=(shuffled, None), **kept).graph
    np.testing.assert_array_equal(given.indices, searched.indices[:, :5])
    np.testing.assert_allclose(given.distances, searched.distances[:, :5])


def test_frames_of_sparse_columns_and_of_mixed_names_are_refused_with_what_to_pass(small):
    with pytest.raises(InputTypeError, match="got sparse ones"):
        HNE().fit(pd.DataFrame.sparse.from_spmatrix(sparse.csr_matrix(small)))
    with pytest.raises(InputTypeError, match="all text or none, got both"):
        HNE().fit(pd.DataFrame(small, columns=["a", 1, 2]))
