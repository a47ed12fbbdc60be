"""Rescaled coordinates: the lengths of X, in every unit, with pieces, after saving, for new samples and back."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.spatial.distance import pdist, squareform

from hne import HNE, PUBLISHED, embed
from hne.datasets import make_s_curve, make_swiss_roll, make_two_surfaces
from hne.exceptions import InputError
from hne.metrics import procrustes_error
from tests.conftest import advised, one_fast

SETTINGS = {"n_neighbors": 8, "variant": "ihne", "reg": 1e-4, "short_circuits": "keep"}
EIGENVECTORS = PUBLISHED | SETTINGS


@pytest.fixture(scope="module")
def roll():
    return make_swiss_roll(2000, random_state=100)


@pytest.fixture(scope="module")
def model(roll):
    return HNE(coordinates="rescaled", **SETTINGS).fit(roll.X)


def test_lengths_and_aspect_are_those_of_the_chart(roll, model):
    ratios = pdist(model.embedding_) / pdist(roll.chart)
    assert np.median(np.abs(ratios - 1)) < 0.03
    assert procrustes_error(model.embedding_, roll.chart) < 0.002
    spread, true = (np.linalg.svd(Y - Y.mean(axis=0), compute_uv=False) for Y in (model.embedding_, roll.chart))
    assert spread[0] / spread[1] == pytest.approx(true[0] / true[1], rel=0.02)


def test_they_are_the_eigenvectors_times_one_matrix(roll, model):
    white = HNE(**EIGENVECTORS).fit(roll.X)
    assert np.allclose(white.embedding_ @ white.rescaling_, model.embedding_, rtol=1e-12)
    assert (white.rescaled_embedding_ == model.embedding_).all()
    assert np.allclose(white.embedding_.T @ white.embedding_, np.eye(2), atol=1e-9)
    assert (white.rescaling_ == model.rescaling_).all()


def test_a_chart_is_in_the_same_lengths(roll, model):
    chart = HNE(coordinates="chart", **SETTINGS).fit(roll.X)
    assert (chart.rescaled_embedding_ == chart.embedding_).all()
    assert procrustes_error(chart.embedding_, model.embedding_) < 1e-3
    assert np.ptp(chart.embedding_, axis=0) == pytest.approx(np.ptp(model.embedding_, axis=0), rel=0.02)
    # Of as many eigenvectors as a chart takes, and placed alike.
    vectors = chart._fitted.eigenpairs.vectors[chart._fitted.distinct.inverse]
    assert chart.rescaling_.shape == (20, 2)
    assert np.allclose(vectors @ chart.rescaling_, chart.embedding_, atol=1e-9)
    assert chart.chart_.route == "unfolded"
    assert chart.chart_.stress < 0.01
    assert (chart.transform(roll.X[:9]) == chart.embedding_[:9]).all()
    near = np.linalg.norm(chart.transform(roll.X[:9] + 0.01) - chart.embedding_[:9], axis=1)
    assert near.max() < 0.1


def test_the_longest_axis_comes_first(model):
    spread = np.cov(model.embedding_.T)
    assert spread[0, 0] > spread[1, 1]
    assert abs(spread[0, 1]) < 1e-6 * spread[0, 0]


@pytest.mark.parametrize("factor", one_fast(2.0**-700, 2.0**800, 1e-3, 7.0))
def test_they_grow_with_the_unit_of_X(roll, model, factor):
    other = HNE(coordinates="rescaled", **SETTINGS).fit(roll.X * factor)
    # Signs of eigenvectors of moved and scaled samples may differ.
    assert np.allclose(np.abs(other.embedding_ / factor), np.abs(model.embedding_), rtol=1e-3, atol=1e-3)
    new = other.transform(roll.X[:5] * factor)
    assert (new == other.embedding_[:5]).all()


def test_new_samples_are_placed_in_the_same_lengths(roll, model):
    between = (roll.X[0] + roll.X[model._fitted.graph.indices[0, 0]]) / 2
    white = HNE(**EIGENVECTORS).fit(roll.X)
    placed = white.transform(between[None]) @ white.rescaling_
    assert np.allclose(model.transform(between[None]), placed, rtol=1e-9)


def test_points_are_lifted_from_them(roll, model):
    assert np.allclose(model.inverse_transform(model.embedding_[:20]), roll.X[:20], atol=1e-12)
    halfway = model.inverse_transform(model.embedding_[:1] + 0.1)
    assert np.linalg.norm(halfway - roll.X[:1]) < 1.0


def test_they_survive_a_file(model, tmp_path):
    model.save(tmp_path / "model.hne")
    again = HNE.load(tmp_path / "model.hne")
    assert again.coordinates == "rescaled"
    assert (again.embedding_ == model.embedding_).all()
    assert (again.rescaling_ == model.rescaling_).all()


def test_pieces_each_have_their_lengths_side_by_side():
    one, other = make_s_curve(400, random_state=0), make_s_curve(300, random_state=1)
    X = np.concatenate([one.X, other.X + np.array([50.0, 0, 0])])
    with advised():
        model = HNE(coordinates="rescaled", **SETTINGS).fit(X)
    assert model.n_pieces_ == 2
    for data, rows in ((one, slice(0, 400)), (other, slice(400, 700))):
        ratios = pdist(model.embedding_[rows]) / pdist(data.chart)
        assert np.median(np.abs(ratios - 1)) < 0.12
    first, second = model.embedding_[:400], model.embedding_[400:]
    apart = (first.min(axis=0) > second.max(axis=0)) | (second.min(axis=0) > first.max(axis=0))
    assert apart.any()


def test_pieces_that_are_not_embedded_have_none():
    X = np.concatenate([make_swiss_roll(300, random_state=0).X, 500 + np.eye(3)])
    with advised():
        model = HNE(pieces="largest", n_neighbors=5).fit(X)
    assert np.isnan(model.rescaled_embedding_[-3:]).all()
    assert np.isfinite(model.rescaled_embedding_[:-3]).all()


@pytest.mark.parametrize("pieces", ["separate", "join"])
def test_small_pieces_and_joined_ones_have_coordinates(pieces):
    X = np.concatenate([make_swiss_roll(300, random_state=0).X, 500 + np.eye(3)])
    with advised():
        result = embed(X, pieces=pieces, n_neighbors=5)
    assert np.isfinite(result.rescaled_Y).all()


def test_distances_and_sparse_samples_give_the_same(roll):
    X = roll.X[:300]
    plain = HNE(coordinates="rescaled", n_neighbors=5).fit_transform(X)
    sparse = HNE(coordinates="rescaled", n_neighbors=5).fit_transform(csr_array(X))
    known = HNE(coordinates="rescaled", n_neighbors=5, metric="precomputed").fit_transform(squareform(pdist(X)))
    for other in (sparse, known):
        assert np.allclose(np.abs(other), np.abs(plain), atol=1e-3 * np.abs(plain).max())


def test_distances_known_too_sparsely_are_told():
    t = np.arange(60.0)
    near = squareform(pdist(t[:, None]))
    graph = csr_array(np.where(near <= 4, near, 0.0))
    graph.setdiag(0.0)
    parameters = {"n_neighbors": 2, "n_components": 1, "metric": "precomputed"}
    white = HNE(**PUBLISHED | parameters).fit(graph)
    assert white.rescaling_ is None
    # A chart asks for less: the lengths of edges, and of pairs two hops from each other where they are known.
    line = HNE(**parameters, coordinates="chart").fit(graph).embedding_[:, 0]
    assert np.allclose(line * np.sign(line[-1]), t - t.mean(), atol=1e-3)
    with pytest.raises(InputError, match="coordinates='rescaled' needs the distances among the 8 nearest"):
        HNE(n_neighbors=2, n_components=1, metric="precomputed", coordinates="rescaled").fit(graph)


def test_a_handful_of_samples_is_drawn_by_principal_axes():
    X = np.array([[0.0, 0, 0], [3, 0, 0], [0, 4, 0], [3, 4, 0], [9, 9, 0]])
    model = HNE(n_neighbors=3, coordinates="rescaled").fit(X)
    assert model.rescaling_ is None
    assert np.allclose(pdist(model.embedding_), pdist(X))


def test_single_precision_stays_single(roll):
    model = HNE(coordinates="rescaled", **SETTINGS).fit(roll.X.astype(np.float32))
    assert model.embedding_.dtype == model.rescaled_embedding_.dtype == np.float32


def test_copies_share_their_place():
    surfaces = make_two_surfaces(150).X
    model = HNE(coordinates="rescaled").fit(np.concatenate([surfaces, surfaces[:10]]))
    assert (model.embedding_[-10:] == model.embedding_[:10]).all()


@pytest.mark.parametrize("factor", one_fast(2.0**-700, 1.0, 2.0**700))
def test_extreme_units_are_lifted_back(roll, factor):
    X = roll.X[:150] * factor
    model = HNE(n_neighbors=5, coordinates="rescaled").fit(X)
    assert np.allclose(model.inverse_transform(model.embedding_) / factor, X / factor, atol=1e-9)
    moved = model.inverse_transform(model.embedding_ * 1.001) / factor
    assert np.median(np.abs(moved - X / factor)) < 0.5
    assert np.allclose(model.rescaled_embedding_, model.embedding_)
