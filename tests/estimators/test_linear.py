"""LinearHNE: scikit-learn's contract, a map that is linear, and attributes that are what they say."""

import pickle
import re
import tracemalloc
from dataclasses import replace
from inspect import getdoc, signature

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csc_matrix, csr_array, random_array
from scipy.stats import ortho_group
from sklearn.exceptions import NotFittedError
from sklearn.neighbors import KNeighborsTransformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from hne import HNE, PUBLISHED, LinearHNE
from hne.datasets import make_swiss_roll
from hne.estimators import linear as _linear
from hne.estimators import projection as _projection
from hne.estimators.projection import CONSTRAINTS
from hne.exceptions import CloseEigenvaluesWarning, InputError, InputTypeError, NeighborRecallWarning, TooLargeError
from hne.metrics import affine_errors
from hne.settings import VARIANTS
from tests.conftest import frozen, one_fast
from tests.estimators.test_callbacks import Witness

both_constraints = pytest.mark.parametrize("constraint", CONSTRAINTS)


@pytest.fixture
def plane():
    """A plane in ten dimensions, and its chart."""
    rng = np.random.default_rng(0)
    chart = rng.random((150, 2))
    return frozen(chart @ rng.normal(size=(2, 10)) + 3), chart


@pytest.fixture
def noisy_plane(plane):
    """The plane with a little of all dimensions, and its chart."""
    X, chart = plane
    return frozen(X + 0.03 * np.random.default_rng(1).normal(size=X.shape)), chart


def test_parameters_are_those_of_hne_with_its_defaults_or_the_published_ones():
    ours, theirs = signature(LinearHNE).parameters, signature(HNE).parameters
    assert ours.keys() <= theirs.keys() | {"constraint"}
    for name in ours.keys() & theirs.keys():
        default = theirs[name].default if name == "short_circuits" else PUBLISHED.get(name, theirs[name].default)
        assert (ours[name].default, ours[name].kind) == (default, theirs[name].kind)


def test_every_parameter_is_documented():
    section = getdoc(LinearHNE).split("Parameters\n")[1].split("Attributes\n")[0]
    entries = re.findall(r"^(\w[\w, ]*) : ", section, flags=re.MULTILINE)
    assert ", ".join(entries).split(", ") == list(signature(LinearHNE).parameters)


def test_every_fitted_attribute_is_documented_and_every_documented_one_fitted(roll):
    frame = pd.DataFrame(roll.X, columns=["a", "b", "c"])
    fitted = {name for name in vars(LinearHNE().fit(frame)) if name.endswith("_")}
    section = getdoc(LinearHNE).split("Attributes\n")[1].split("Examples\n")[0]
    documented = set(re.findall(r"\b([a-z_]+_)\b(?=[ ,:])", "\n".join(re.findall(r"^\w.*", section, re.MULTILINE))))
    assert fitted == documented


@both_constraints
@pytest.mark.parametrize("variant", VARIANTS)
def test_a_plane_in_ten_dimensions_is_recovered_exactly(plane, variant, constraint):
    X, chart = plane
    model = LinearHNE(variant=variant, constraint=constraint).fit(X)
    assert model.rank_ == 2
    assert affine_errors(model.embedding_, chart).max() < 1e-20
    np.testing.assert_allclose(model.inverse_transform(model.embedding_), X, atol=1e-12)


@both_constraints
@pytest.mark.parametrize("variant", VARIANTS)
def test_a_noisy_plane_is_found_among_ten_dimensions(noisy_plane, variant, constraint):
    X, chart = noisy_plane
    model = LinearHNE(variant=variant, constraint=constraint).fit(X)
    assert model.rank_ == 10
    assert affine_errors(model.embedding_, chart).max() < 0.02


@both_constraints
def test_the_map_is_linear_and_as_its_constraint_says(noisy_plane, constraint):
    X, _ = noisy_plane
    model = LinearHNE(n_components=3, constraint=constraint).fit(X)
    np.testing.assert_array_equal(model.transform(X), model.embedding_)
    new = np.random.default_rng(2).normal(size=(20, 10)) * 100
    np.testing.assert_allclose(model.transform(new), (new - model.mean_) @ model.components_.T, atol=1e-10)
    np.testing.assert_allclose(model.mean_, X.mean(axis=0), atol=1e-14)
    constrained = model.embedding_ if constraint == "uncorrelated" else model.components_.T
    np.testing.assert_allclose(constrained.T @ constrained, np.eye(3), atol=1e-12)
    A, B = (np.eye(len(X)) - weights.toarray() for weights in (model.inner_weights_, model.joint_weights_))
    lengths = ((A @ model.embedding_) ** 2 + (B @ model.embedding_) ** 2).sum(axis=0)
    np.testing.assert_allclose(model.eigenvalues_, lengths, rtol=1e-9)


@both_constraints
def test_turning_and_shifting_x_turns_the_components_and_keeps_the_embedding(noisy_plane, constraint):
    X, _ = noisy_plane
    turn = ortho_group.rvs(10, random_state=3)
    before = LinearHNE(constraint=constraint).fit(X)
    after = LinearHNE(constraint=constraint).fit(X @ turn - 7)
    np.testing.assert_allclose(after.embedding_, before.embedding_, atol=1e-8)
    np.testing.assert_allclose(after.components_, before.components_ @ turn, atol=1e-8)
    np.testing.assert_allclose(after.eigenvalues_, before.eigenvalues_, rtol=1e-7)


@both_constraints
def test_permuting_the_samples_changes_no_component(noisy_plane, constraint):
    X, _ = noisy_plane
    order = np.random.default_rng(4).permutation(len(X))
    before, after = (LinearHNE(constraint=constraint).fit(samples) for samples in (X, X[order]))
    np.testing.assert_allclose(after.components_, before.components_, atol=1e-8)


@both_constraints
@pytest.mark.parametrize("scale", [1e-200, *one_fast(1e200, 1e-100, 1e100)])
def test_the_unit_of_x_does_not_matter_however_extreme(noisy_plane, constraint, scale):
    X, _ = noisy_plane
    plain, model = (LinearHNE(constraint=constraint).fit(samples) for samples in (X, X * scale))
    length = 1.0 if constraint == "uncorrelated" else scale
    np.testing.assert_allclose(model.embedding_ / length, plain.embedding_, atol=1e-7)
    np.testing.assert_allclose(model.components_ * (scale / length), plain.components_, atol=1e-7)
    np.testing.assert_array_equal(model.transform(X * scale), model.embedding_)
    again = model.transform(model.inverse_transform(model.embedding_))
    np.testing.assert_allclose(again / length, model.embedding_ / length, atol=1e-9)


@both_constraints
@pytest.mark.parametrize("n_features", [4, 60])
def test_nothing_is_lost_with_as_many_components_as_dimensions(constraint, n_features):
    X = np.random.default_rng(5).normal(size=(30, n_features))
    model = LinearHNE(n_components=min(n_features, 29), constraint=constraint).fit(X)
    assert model.rank_ == min(n_features, 29)
    np.testing.assert_allclose(model.inverse_transform(model.transform(X)), X, atol=1e-9)


@pytest.mark.parametrize("variant", VARIANTS)
def test_with_more_features_than_samples_the_uncorrelated_embedding_is_that_of_hne(variant):
    X = np.random.default_rng(6).normal(size=(80, 200)) * np.geomspace(1, 0.01, 200)
    published = HNE(**PUBLISHED | {"variant": variant, "short_circuits": "cut"})
    linear, free = LinearHNE(variant=variant).fit(X), published.fit(X)
    np.testing.assert_allclose(linear.embedding_, free.embedding_, atol=1e-8)
    np.testing.assert_allclose(linear.eigenvalues_, free.eigenvalues_, rtol=1e-8)
    # Where `HNE()` gives a layout, the linear map is the same as ever.
    assert HNE(variant=variant).fit(X).coordinates_ == "layout"


@both_constraints
def test_a_disconnected_graph_is_no_reason_to_warn(constraint):
    blob = np.random.default_rng(7).normal(size=(40, 4))
    model = LinearHNE(constraint=constraint).fit(np.vstack([blob, blob[::-1] + 100]))
    assert np.isfinite(model.embedding_).all()


def test_directions_that_float64_cannot_tell_apart_are_warned_about_at_the_line_of_the_caller():
    rng = np.random.default_rng(8)
    pieces = [rng.normal(size=(8, 60)) + 1000 * axis for axis in np.eye(60)[:4]]
    with pytest.warns(CloseEigenvaluesWarning, match=r"eigenvalues 2 and 3 after .* Choose n_components=3") as caught:
        LinearHNE(n_neighbors=3).fit(np.vstack(pieces))
    assert caught[0].filename == __file__


def test_repeated_samples_count_once(cloud):
    once, often = LinearHNE(n_neighbors=3).fit(cloud), LinearHNE(n_neighbors=3).fit(np.repeat(cloud, 4, axis=0))
    np.testing.assert_array_equal(once.components_, often.components_)
    np.testing.assert_array_equal(often.embedding_, np.repeat(once.embedding_, 4, axis=0))
    np.testing.assert_array_equal(often.joint_weights_.toarray()[::4, ::4], once.joint_weights_.toarray())


def test_the_way_back_is_the_best_there_is(cloud):
    for constraint in ("uncorrelated", "orthonormal"):
        model = LinearHNE(constraint=constraint).fit(cloud)
        Y = model.embedding_
        best, *_ = np.linalg.lstsq(Y, cloud - cloud.mean(axis=0), rcond=None)
        np.testing.assert_allclose(model.loadings_, best, atol=1e-12)
        np.testing.assert_allclose(model.transform(model.inverse_transform(Y)), Y, atol=1e-12)


def test_distances_and_given_neighbors_go_as_far_as_a_linear_map_does(roll):
    with pytest.raises(InputError, match=r"metric must .*, got 'precomputed'"):
        LinearHNE(metric="precomputed").fit(np.zeros((9, 9)))
    graph = KNeighborsTransformer(n_neighbors=6).fit_transform(roll.X)
    np.testing.assert_array_equal(
        LinearHNE(neighbors=graph).fit(roll.X).components_, LinearHNE().fit(roll.X).components_
    )


def test_a_low_recall_is_warned_of_at_the_line_of_the_caller(roll, monkeypatch):
    real = _linear.neighbor_graph
    monkeypatch.setattr(_linear, "neighbor_graph", lambda *parts: replace(real(*parts), recall=0.5))
    with pytest.warns(NeighborRecallWarning, match=r"at least 90% .* got 50\.0%") as caught:
        LinearHNE().fit(roll.X)
    assert caught[0].filename == __file__


def test_more_components_than_the_samples_span_are_refused(plane):
    X, _ = plane
    match = r"^n_components=3 needs samples that span at least 3 dimensions, got 2\. Lower n_components\.$"
    with pytest.raises(InputError, match=match):
        LinearHNE(n_components=3).fit(X)


@both_constraints
@pytest.mark.parametrize("scale", one_fast(1e-200, 1.0, 1e200))
def test_sparse_samples_have_the_map_of_the_dense_ones(roll, constraint, scale):
    # Beside the roll, features without a value, and some with values of few samples.
    X = np.zeros((400, 40))
    X[:, 5:8] = roll.X
    X[np.arange(400), 10 + np.arange(400) % 20] = 1.0
    X *= scale
    dense, found = (LinearHNE(constraint=constraint).fit(given) for given in (X, csr_array(X)))
    assert found.rank_ == dense.rank_
    for name in ("components_", "loadings_", "mean_", "embedding_"):
        expected = getattr(dense, name)
        np.testing.assert_allclose(getattr(found, name), expected, rtol=1e-6, atol=1e-9 * np.abs(expected).max())
    assert not found.components_[:, 30:].any()
    # Rows of either kind are placed alike, whichever kind was fitted.
    for model in (dense, found):
        np.testing.assert_array_equal(model.transform(csc_matrix(X)), model.embedding_)
        np.testing.assert_array_equal(model.transform(X), model.embedding_)
        np.testing.assert_array_equal(model.transform(csr_array(X[7:8])), model.embedding_[7:8])


def test_sparse_samples_of_many_features_are_dense_only_where_they_have_values():
    # 100 x 500 000 numbers are 400 MB.
    X = random_array((100, 500_000), density=4e-5, format="csr", rng=np.random.default_rng(0))
    tracemalloc.start()
    model = LinearHNE().fit(X)
    np.testing.assert_array_equal(model.transform(X[:5]), model.embedding_[:5])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100e6


def test_sparse_samples_that_do_not_fit_are_refused_with_a_way_out(roll, monkeypatch):
    monkeypatch.setattr(_projection, "available_bytes", lambda: 30_000)
    match = (
        r"^LinearHNE of a sparse X needs about 3\.8e-05 GB for 400 centered samples of 3 features with values, got "
        r"3e-05 GB free\. Reduce it first: make_pipeline\(TruncatedSVD\(100\), LinearHNE\(\)\)\.$"
    )
    with pytest.raises(TooLargeError, match=match):
        LinearHNE().fit(csr_array(roll.X))


def test_unknown_constraints_are_refused_with_the_choices(roll):
    match = r"constraint must be one of 'uncorrelated', 'orthonormal', got 'npe'"
    with pytest.raises(InputError, match=match):
        LinearHNE(constraint="npe").fit(roll.X)
    with pytest.raises(InputTypeError, match="constraint must be one of"):
        LinearHNE(constraint=None).fit(roll.X)


def test_other_numbers_of_columns_are_refused(roll):
    model = LinearHNE().fit(roll.X)
    with pytest.raises(ValueError, match="X has 2 features, but LinearHNE is expecting 3"):
        model.transform(roll.X[:, :2])
    with pytest.raises(InputError, match=r"Y must have 2 columns, as the embedding, got 3\. Pass what transform gave"):
        model.inverse_transform(roll.X)


def test_use_before_fit_is_refused(roll):
    with pytest.raises(NotFittedError, match="not fitted yet"):
        LinearHNE().transform(roll.X)
    with pytest.raises(NotFittedError, match="not fitted yet"):
        LinearHNE().inverse_transform(roll.X)


def test_a_failed_fit_leaves_the_model_as_it_was(roll, plane):
    model = LinearHNE(n_components=3).fit(roll.X)
    before = model.transform(roll.X)
    with pytest.raises(InputError, match="span at least 3 dimensions"):
        model.fit(plane[0])
    np.testing.assert_array_equal(model.transform(roll.X), before)


def test_a_row_is_projected_to_the_same_bits_alone(noisy_plane):
    X, _ = noisy_plane
    model = LinearHNE().fit(X)
    for row in range(0, len(X), 10):
        np.testing.assert_array_equal(model.transform(X[row : row + 1]), model.embedding_[row : row + 1])


def test_single_precision_comes_back_in_single_precision_computed_in_double(noisy_plane):
    X = noisy_plane[0].astype(np.float32)
    single, double = LinearHNE().fit(X), LinearHNE().fit(X.astype(np.float64))
    assert single.components_.dtype == np.float64
    np.testing.assert_array_equal(single.components_, double.components_)
    np.testing.assert_array_equal(single.embedding_, double.embedding_.astype(np.float32))
    assert single.embedding_.dtype == single.transform(X).dtype == np.float32
    assert single.inverse_transform(single.embedding_).dtype == np.float32


def test_two_fits_and_any_number_of_jobs_give_the_same_bits(noisy_plane):
    X, _ = noisy_plane
    models = [LinearHNE(n_jobs=n_jobs).fit(X) for n_jobs in (1, 1, 2)]
    for model in models[1:]:
        np.testing.assert_array_equal(model.components_, models[0].components_)


def test_pickled_models_project_the_same_bits(roll):
    model = LinearHNE().fit(roll.X)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(model.transform(roll.X + 0.1), again.transform(roll.X + 0.1))


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_data_frames_give_data_frames_where_asked(roll, library):
    pytest.importorskip(library)
    frame = pd.DataFrame(roll.X, columns=["a", "b", "c"])
    model = LinearHNE().set_output(transform=library)
    out = model.fit_transform(frame)
    assert list(model.feature_names_in_) == ["a", "b", "c"]
    assert list(out.columns) == list(model.get_feature_names_out()) == ["linearhne0", "linearhne1"]
    np.testing.assert_array_equal(model.transform(frame).to_numpy(), out.to_numpy())


def test_it_works_in_a_pipeline_there_and_back(roll):
    pipeline = make_pipeline(StandardScaler(), LinearHNE(n_components=3))
    Y = pipeline.fit_transform(roll.X)
    np.testing.assert_allclose(pipeline.inverse_transform(Y), roll.X, atol=1e-9)


def test_stages_are_shown_where_asked(roll, capfd):
    LinearHNE(verbose=1).fit(roll.X)
    shown = capfd.readouterr().err.splitlines()
    assert len(shown) == len(_linear.STAGES)
    assert all(name in line for name, line in zip(_linear.STAGES, shown, strict=True))
    assert "3 features to 2, uncorrelated, of 3 spanned" in shown[-1]


def test_callbacks_see_the_stages(roll):
    pytest.importorskip("sklearn.callback", reason="needs scikit-learn 1.9")
    witness = Witness()
    LinearHNE().set_callbacks(witness).fit(roll.X)
    assert [path[1] for path in witness.ended if len(path) == 2] == list(_linear.STAGES)
    assert witness.ended[-1] == ("fit",)


def test_images_with_far_more_pixels_than_samples_are_projected():
    rng = np.random.default_rng(9)
    X = rng.normal(size=(120, 5)) @ rng.normal(size=(5, 1024)) + 0.01 * rng.normal(size=(120, 1024))
    model = LinearHNE().fit(X)
    assert (model.rank_, model.components_.shape) == (119, (2, 1024))
    np.testing.assert_allclose(model.embedding_.T @ model.embedding_, np.eye(2), atol=1e-10)
    np.testing.assert_array_equal(LinearHNE(n_jobs=1).fit(X).components_, model.components_)


def test_short_circuits_are_cut_or_kept_as_hne_cuts_them():
    X = make_swiss_roll(300, random_state=3).X
    kept, cut = (LinearHNE(12, short_circuits=choice).fit(X) for choice in ("keep", "cut"))
    free = HNE(**PUBLISHED | {"n_neighbors": 12, "short_circuits": "cut"}).fit(X)
    assert len(free.short_circuits_) > 10
    for model in (kept, cut):
        np.testing.assert_array_equal(model.short_circuits_, free.short_circuits_)
    np.testing.assert_array_equal(cut.inner_weights_.toarray(), free.inner_weights_.toarray())
    np.testing.assert_array_equal(cut.components_, LinearHNE(12).fit(X).components_)
    one, other = free.short_circuits_.T
    assert (kept.inner_weights_[one, other] != 0).any()
    assert not (cut.inner_weights_[one, other] != 0).any()
    assert np.abs(kept.components_ - cut.components_).max() > 0


def test_short_circuits_are_numbered_as_the_samples_are_copies_or_not():
    X = make_swiss_roll(300, random_state=3).X
    order = np.random.default_rng(0).permutation(300)
    pairs = LinearHNE(12).fit(X).short_circuits_
    np.testing.assert_array_equal(LinearHNE(12).fit(np.vstack([X, X[:40]])).short_circuits_, pairs)
    moved = LinearHNE(12).fit(X[order]).short_circuits_
    np.testing.assert_array_equal(np.sort(order[moved], axis=1), pairs)
    assert (pairs[:, 0] < pairs[:, 1]).all()


def test_short_circuits_survive_a_file(tmp_path):
    model = LinearHNE(12).fit(make_swiss_roll(300, random_state=3).X)
    model.save(tmp_path / "model.hne")
    again = LinearHNE.load(tmp_path / "model.hne")
    assert again.short_circuits == "cut"
    np.testing.assert_array_equal(again.short_circuits_, model.short_circuits_)


@pytest.mark.parametrize("name", ["n_neighbors", "reg"])
def test_what_is_left_open_is_refused_by_name(roll, name):
    with pytest.raises(InputTypeError) as caught:
        LinearHNE(**{name: None}).fit(roll.X)
    assert caught.value.parameter == name
