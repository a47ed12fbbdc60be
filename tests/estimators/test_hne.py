"""HierarchicNeighborsEmbedding: scikit-learn's contract, and attributes that are what they say."""

import pickle
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields, replace
from inspect import getdoc, signature

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_info

from hne import HNE, PUBLISHED, HierarchicNeighborsEmbedding, LinearHNE, embed
from hne.core.neighbors import graph as _start
from hne.datasets import make_swiss_roll
from hne.exceptions import InputError, NeighborRecallWarning
from hne.metrics import affine_errors, procrustes_error
from hne.settings import DEFAULTS, VARIANTS, Settings
from tests.conftest import advised, one_fast


def test_the_short_name_is_the_same_class():
    assert HNE is HierarchicNeighborsEmbedding


def test_defaults_are_declared_alike_on_the_class_the_settings_and_the_docstring():
    declared = {name: p.default for name, p in signature(HNE).parameters.items()}
    places = {"executor": None, "checkpoint": None}
    assert declared == {field.name: field.default for field in fields(Settings)} | dict(DEFAULTS) | places
    told = dict(re.findall(r"^(\w+) : .*default=(.*)$", getdoc(HNE), flags=re.MULTILINE))
    assert told.keys() == declared.keys()
    for name, text in told.items():
        assert text.strip("\"'") == str(declared[name]) or float(text) == declared[name]


def test_every_fitted_attribute_is_documented_and_every_documented_one_fitted(roll):
    frame = pd.DataFrame(roll.X, columns=["a", "b", "c"])
    # Weights are large, and made when they are asked for.
    made = {name for name, value in vars(HNE).items() if isinstance(value, property)} - {"_n_features_out"}
    fitted = {name for name in vars(HNE().fit(frame)) if name.endswith("_")} | made
    section = getdoc(HNE).split("Attributes\n")[1].split("Examples\n")[0]
    documented = set(re.findall(r"\b([a-z_]+_)\b(?=[ ,:])", "\n".join(re.findall(r"^\w.*", section, re.MULTILINE))))
    assert fitted == documented


@pytest.mark.parametrize("variant", one_fast(*VARIANTS))
def test_attributes_are_those_of_the_function(roll, variant):
    model = HNE(variant=variant).fit(roll.X)
    result = embed(roll.X, variant=variant)
    np.testing.assert_array_equal(model.embedding_, result.Y)
    # A chart is made of more eigenvectors than it has coordinates; the first are told of.
    np.testing.assert_array_equal(model.eigenvalues_, result.eigenpairs.values[:2])
    np.testing.assert_array_equal(model.eigen_residuals_, result.eigenpairs.residuals[:2])
    assert len(result.eigenpairs.values) == len(model.eigen_certificate_.residuals) == 20
    assert model.eigen_solver_ == "direct"
    assert (model.chart_.route, model.chart_.stress) == ("unfolded", result.chart.stress)
    np.testing.assert_allclose(result.eigenpairs.vectors @ model.chart_.B, result.core_Y, atol=1e-9)
    np.testing.assert_array_equal(model.short_circuits_, result.short_circuits)
    assert (model.n_neighbors_, model.reg_) == (12, pytest.approx(1e-4 * 2**3.3))
    np.testing.assert_allclose(model.inner_weights_.sum(axis=1), 1.0)
    np.testing.assert_allclose(model.joint_weights_.sum(axis=1), 1.0)
    assert model.reconstruction_error_ == pytest.approx(model.reconstruction_errors_.mean())
    assert (model.neighbor_method_, model.neighbor_recall_) == ("tree", 1.0)
    assert model.n_pieces_ == 1
    assert model.piece_labels_.shape == (400,)


def test_eigenpairs_of_a_layout_are_computed_when_they_are_read(cloud):
    model = HNE(coordinates="layout").fit(cloud)
    settings = {"n_neighbors": 10, "reg": 0.1, "short_circuits": "keep"}
    published = HNE(coordinates="eigenvectors", **settings).fit(cloud)
    assert (model._fitted.eigenpairs, model.chart_) == (None, None)
    np.testing.assert_allclose(model.eigenvalues_, published.eigenvalues_)
    assert model.eigenvalues_.shape == model.eigen_residuals_.shape == (2,)
    assert (model.eigen_solver_, model.eigen_certificate_.is_resolved) == ("dense", True)
    assert 0 < model.kl_divergence_ < np.log(60 * 59)
    assert np.isnan(published.kl_divergence_)


def test_landmarks_change_nothing_in_a_layout(cloud):
    plain, model = HNE().fit(cloud), HNE(n_landmarks=20).fit(cloud)
    assert model.coordinates_ == "layout"
    np.testing.assert_array_equal(model.embedding_, plain.embedding_)
    np.testing.assert_array_equal(model.eigenvalues_, plain.eigenvalues_)


@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e200])
def test_reconstruct_gives_the_samples_back_within_their_errors(roll, scale):
    X = roll.X * scale
    model = HNE().fit(X)
    distance = np.linalg.norm((X - model.reconstruct()) / scale, axis=1)
    np.testing.assert_allclose(distance, model.reconstruction_errors_ / scale, atol=1e-12)


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_swiss_roll_comes_out_unrolled(roll, variant):
    published = HNE(**PUBLISHED | {"variant": variant})
    assert affine_errors(published.fit_transform(roll.X), roll.chart).max() < 0.15
    # With the lengths of the roll, by a rotation alone.
    assert procrustes_error(HNE(variant=variant).fit_transform(roll.X), roll.chart) < 0.001


def test_parameters_are_untouched_by_fit(roll):
    model = HNE(outer_reg=None, random_state=None)
    before = model.get_params()
    model.fit(roll.X)
    assert model.get_params() == before


def test_a_fitted_model_follows_its_fit_not_later_parameters(roll):
    model = HNE(variant="ihne").fit(roll.X)
    new = roll.X[:5] + 0.1
    before = model.transform(new)
    model.set_params(variant="rhne", n_neighbors=3)
    np.testing.assert_array_equal(model.transform(new), before)


def test_a_failed_fit_leaves_the_model_as_it_was(roll):
    model = HNE().fit(roll.X)
    before = model.transform(roll.X[:5] + 0.1)
    with pytest.raises(InputError, match="all equal"):
        model.fit(np.ones((20, 2)))
    np.testing.assert_array_equal(model.transform(roll.X[:5] + 0.1), before)
    never_fitted = HNE()
    with pytest.raises(InputError, match="all equal"):
        never_fitted.fit(np.ones((20, 3)))
    with pytest.raises(NotFittedError, match="not fitted yet"):
        never_fitted.transform(roll.X)


def test_fits_at_the_same_time_disturb_neither_each_other_nor_the_process():
    clouds = [np.random.default_rng(seed).normal(size=(60, 3)) for seed in range(3)]
    before = [library["num_threads"] for library in threadpool_info()]
    with ThreadPoolExecutor(3) as pool:
        together = list(pool.map(lambda X: HNE().fit(X).joint_weights_.toarray(), clouds))
    assert [library["num_threads"] for library in threadpool_info()] == before
    for X, found in zip(clouds, together, strict=True):
        np.testing.assert_array_equal(found, HNE().fit(X).joint_weights_.toarray())


def test_advice_is_logged_and_warns_nobody(caplog):
    blobs = np.vstack([np.eye(3), np.eye(3) + 100])
    for fit in (lambda: HNE(2).fit(blobs), lambda: HNE(2).fit_transform(blobs), lambda: embed(blobs, n_neighbors=2)):
        caplog.clear()
        with advised(r"^the neighbor graph has 2 pieces \(of 3, 3 samples\)"):
            fit()
        told = [record for record in caplog.records if record.name == "hne.advice"]
        assert [record.levelname for record in told] == ["WARNING"]


def test_transform_before_fit_is_refused(roll):
    with pytest.raises(NotFittedError, match="not fitted yet"):
        HNE().transform(roll.X)
    with pytest.raises(NotFittedError, match="not fitted yet"):
        HNE().reconstruct()


def test_pickled_models_place_the_same_bits(roll):
    model = HNE().fit(roll.X)
    again = pickle.loads(pickle.dumps(model))
    new = roll.X[:20] + 0.05
    np.testing.assert_array_equal(model.transform(new), again.transform(new))


def test_two_fits_give_the_same_bits(cloud):
    for solver in ("dense", "direct"):
        model = HNE(eigen_solver=solver)
        first, second = model.fit(cloud).embedding_, clone(model).fit(cloud).embedding_
        np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("variant", one_fast(*VARIANTS))
def test_any_number_of_jobs_gives_the_same_bits(roll, variant):
    one, two = (HNE(variant=variant, n_jobs=n_jobs).fit(roll.X) for n_jobs in (1, 2))
    np.testing.assert_array_equal(one.joint_weights_.toarray(), two.joint_weights_.toarray())
    np.testing.assert_array_equal(one.embedding_, two.embedding_)


@pytest.mark.parametrize("coordinates", ["chart", "layout"])
def test_data_frames_give_data_frames_where_asked(roll, coordinates):
    frame = pd.DataFrame(roll.X, columns=["a", "b", "c"])
    model = HNE(coordinates=coordinates).set_output(transform="pandas")
    out = model.fit_transform(frame)
    assert list(model.feature_names_in_) == ["a", "b", "c"]
    assert list(out.columns) == ["hierarchicneighborsembedding0", "hierarchicneighborsembedding1"]
    pd.testing.assert_frame_equal(model.transform(frame), out)


def test_it_works_in_a_pipeline(roll):
    pipeline = make_pipeline(StandardScaler(), HNE())
    Y = pipeline.fit_transform(roll.X)
    np.testing.assert_array_equal(pipeline.transform(roll.X), Y)


def test_other_numbers_of_features_are_refused(roll):
    with pytest.raises(ValueError, match="X has 2 features, but HierarchicNeighborsEmbedding is expecting 3"):
        HNE().fit(roll.X).transform(roll.X[:, :2])


@pytest.mark.slow
def test_approximate_neighbors_unroll_the_roll_too_and_tell_their_recall():
    pytest.importorskip("faiss", reason="approximate search needs the extra: pip install 'hne[approx]'")
    dataset = make_swiss_roll(5000, random_state=0)
    lift = np.linalg.qr(np.random.default_rng(0).normal(size=(30, 3)))[0].T
    model = HNE(neighbors="approximate").fit(dataset.X @ lift)
    assert model.neighbor_method_ == "approximate"
    assert 0.99 <= model.neighbor_recall_ <= 1.0
    assert affine_errors(model.embedding_, dataset.chart).max() < 0.1
    again = HNE(neighbors="approximate", n_jobs=1).fit(dataset.X @ lift)
    assert (model.joint_weights_ != again.joint_weights_).nnz == 0
    # New samples are placed among their exact neighbors, the fitted ones where they are.
    np.testing.assert_array_equal(model.transform(dataset.X[:5] @ lift), model.embedding_[:5])


def test_a_low_recall_is_warned_of_at_the_line_of_the_caller(cloud, monkeypatch):
    real = _start.knn_graph
    monkeypatch.setattr(_start, "knn_graph", lambda *parts: replace(real(*parts), recall=0.5))
    for fit in (lambda: HNE().fit(cloud), lambda: HNE().fit_transform(cloud), lambda: embed(cloud)):
        match = r"at least 90% .* got 50\.0% .* pass neighbors='exact'"
        with pytest.warns(NeighborRecallWarning, match=match) as caught:
            fit()
        assert caught[0].filename == __file__


def test_the_published_method_is_a_mapping_that_nobody_changes(cloud):
    settings = {name: getattr(Settings(), name) for name in PUBLISHED}
    assert settings == PUBLISHED
    assert HNE(**PUBLISHED).get_params() == HNE().get_params() | settings
    assert HNE(**PUBLISHED | {"n_neighbors": 8}).n_neighbors == 8
    for mapping in (PUBLISHED, DEFAULTS):
        with pytest.raises(TypeError, match="does not support item assignment"):
            mapping["reg"] = 1.0
    Y = HNE(**PUBLISHED).fit_transform(cloud)
    np.testing.assert_allclose(Y.T @ Y, np.eye(2), atol=1e-10)


def test_defaults_are_those_of_the_function_too_and_the_given_ones_are_kept(cloud):
    np.testing.assert_array_equal(HNE().fit_transform(cloud), embed(cloud).Y)
    np.testing.assert_array_equal(HNE(**DEFAULTS).fit_transform(cloud), embed(cloud, **DEFAULTS).Y)
    given = HNE(n_neighbors=7, reg=1e-3).fit(cloud)
    assert (given.n_neighbors_, given.reg_) == (7, 1e-3)


def test_what_is_left_open_suits_what_the_samples_are_near_to(roll):
    near = HNE().fit(roll.X)
    assert (near.n_neighbors_, near.reg_) == (12, pytest.approx(1e-4 * 2**3.3))
    assert HNE(n_neighbors=9).fit(roll.X).reg_ == pytest.approx(1e-4 * 1.5**3.3)
    ball = HNE().fit(np.random.default_rng(0).normal(size=(300, 10)))
    assert (ball.n_neighbors_, ball.reg_, ball.coordinates_, ball.chart_) == (10, 0.1, "layout", None)
    assert HNE().fit(roll.X[:8] * [1.0, 1.0, 0.0]).n_neighbors_ == 7


@pytest.mark.parametrize("estimator", [HNE, LinearHNE])
def test_short_circuits_are_cut_or_kept(estimator, cloud):
    assert estimator(short_circuits="cut").fit(cloud).short_circuits == "cut"
    with pytest.raises(InputError, match=r"^short_circuits must be one of 'cut', 'keep', got 'drop'\."):
        estimator(short_circuits="drop").fit(cloud)
