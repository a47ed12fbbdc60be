"""Settings left open: how near samples are to a surface, what suits them, and that what was used is told."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.spatial.distance import pdist, squareform
from scipy.stats import ortho_group
from sklearn.datasets import load_digits, load_wine

from hne import HNE, PUBLISHED, embed
from hne.core.records import NeighborGraph
from hne.core.samples.kinds import Distances
from hne.core.tangent import frames as _flatness
from hne.core.tangent.frames import flat_share
from hne.core.tangent.noise import remove_noise
from hne.datasets import make_s_curve, make_swiss_roll
from hne.settings import NEAR_SURFACE, Settings, fill_curve_defaults, fill_defaults
from tests.conftest import frozen

OPEN = ("n_neighbors", "reg")


def share(X, d=2, metric="euclidean"):
    return flat_share(X, d, metric, None, 1)


def share_by_loops(X, rows, k, d):
    """Mean share of the variance of a sample and its k nearest that lies in d directions."""
    shares = []
    for row in rows:
        near = np.argsort(np.linalg.norm(X - X[row], axis=1), kind="stable")[: k + 1]
        variances = np.linalg.svd(X[near] - X[near].mean(axis=0), compute_uv=False) ** 2
        shares.append(variances[:d].sum() / variances.sum())
    return np.mean(shares)


# How flat


@pytest.mark.parametrize("kind", ["dense", "sparse", "distances"])
def test_a_plane_is_flat_however_it_is_known(kind):
    plane = np.random.default_rng(0).random((90, 2)) @ ortho_group.rvs(7, random_state=0)[:2]
    known = {"dense": frozen(plane), "sparse": csr_array(plane), "distances": Distances(squareform(pdist(plane)))}
    metric = "precomputed" if kind == "distances" else "euclidean"
    assert share(known[kind], metric=metric) == pytest.approx(1.0, abs=1e-9)
    assert share(known[kind], 1, metric) < 0.8


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("n", [40, 60, 100])
def test_the_share_is_the_mean_over_neighborhoods_of_the_size_where_it_is_largest(n, d):
    X = np.random.default_rng(n).normal(size=(n, 5)) * [3.0, 2.0, 1.0, 0.5, 0.2]
    # Thirty neighbors are half of sixty samples.
    expected = [share_by_loops(X, range(n), k, d) for k in ((12, 30) if n > 60 else (12,))]
    assert share(X, d) == pytest.approx(max(expected), rel=1e-9)


def test_of_many_samples_some_are_looked_at(monkeypatch):
    X = np.random.default_rng(1).normal(size=(200, 4))
    monkeypatch.setattr(_flatness, "ROWS", 50)
    rows = np.sort(np.random.RandomState(0).choice(200, 50, replace=False))
    assert share(X) == pytest.approx(max(share_by_loops(X, rows, k, 2) for k in (12, 30)), rel=1e-9)


@pytest.mark.parametrize(("scale", "rows"), [(0.02, 100), (0.2, 300), (1.0, 100)])
def test_more_samples_are_looked_at_where_the_share_is_near_what_it_is_held_against(scale, rows, monkeypatch):
    X = np.random.default_rng(3).normal(size=(300, 3)) * [1.0, 1.0, scale]
    drawn = []
    known = _flatness.drawn_rows
    monkeypatch.setattr(_flatness, "drawn_rows", lambda n, most: drawn.append(known(n, most)) or drawn[-1])
    share(X)
    assert len(drawn[-1]) == rows


def test_surfaces_are_near_a_surface_with_noise_too_and_tables_are_not():
    for X in (
        make_swiss_roll(200, even=True, random_state=0).X,
        make_swiss_roll(600, noise=0.6, random_state=0).X,
        make_s_curve(120, random_state=0).X,
    ):
        assert share(X) > NEAR_SURFACE + 0.03
    for X in (
        np.random.default_rng(2).normal(size=(400, 8)),
        load_digits().data[:400],
        load_wine().data / load_wine().data.std(axis=0),
    ):
        assert share(X) < NEAR_SURFACE - 0.03
    assert share(np.random.default_rng(2).normal(size=(400, 8))) < 0.6


def test_noise_is_seen_past_by_larger_neighborhoods(monkeypatch):
    noise = 0.1 * np.random.default_rng(1).normal(size=(1500, 47))
    X = np.column_stack([make_swiss_roll(1500, random_state=3).X, noise])
    # Where noise is not recognized by its eigenvalues.
    monkeypatch.setattr(_flatness, "remove_noise", lambda *_: None)
    assert share(X) > NEAR_SURFACE
    monkeypatch.setattr(_flatness, "MORE_NEIGHBORS", 800)
    assert share(X) < NEAR_SURFACE


def test_columns_of_noise_beside_a_surface_are_recognized_by_their_eigenvalues():
    rng = np.random.default_rng(0)
    roll = make_swiss_roll(800, random_state=3).X
    X = np.column_stack([roll, rng.normal(size=(800, 40))]) @ ortho_group.rvs(43, random_state=0)
    scores = remove_noise(X, 2, "euclidean")
    # The roll turned: distances in it are those of the scores, but for the noise along its own axes.
    np.testing.assert_allclose(pdist(scores), pdist(roll), atol=0.15 * pdist(roll).max())
    assert share(X) > NEAR_SURFACE
    constant = np.column_stack([X, np.full(800, 3.0)])
    np.testing.assert_allclose(remove_noise(constant, 2, "euclidean"), scores, atol=1e-9)


@pytest.mark.parametrize(
    ("X", "d"),
    [
        (np.random.default_rng(0).normal(size=(400, 8)), 2),
        (load_digits().data[:, 1:7], 2),
        # Noise around no more dimensions than there are coordinates: principal components show them.
        (np.random.default_rng(0).normal(size=(400, 9)) * [9.0, 9.0, *[1.0] * 7], 2),
        # Too few samples, sparse samples, columns that depend on each other, and no more columns than coordinates.
        (np.random.default_rng(0).normal(size=(15, 8)) * [9.0, 9.0, 9.0, *[1.0] * 5], 2),
        (csr_array(np.random.default_rng(0).normal(size=(400, 9)) * [9.0, 9.0, 9.0, *[1.0] * 6]), 2),
        (np.random.default_rng(0).normal(size=(400, 5)) @ np.random.default_rng(1).normal(size=(5, 9)), 2),
        (np.column_stack([np.random.default_rng(0).normal(size=(400, 2)), np.ones(400)]), 2),
    ],
)
def test_other_samples_have_no_noise_to_remove(X, d):
    assert remove_noise(X, d, "euclidean") is None


def test_copies_of_a_place_are_left_out_and_where_nothing_is_known_there_is_no_share():
    X = np.vstack([np.zeros((20, 3)), 9 + np.random.default_rng(3).normal(size=(20, 3))])
    assert share(X) == pytest.approx(share_by_loops(X, range(20, 40), 12, 2), rel=1e-9)
    assert np.isnan(share(np.zeros((20, 3))))
    path = csr_array((np.ones(38), (np.r_[:19, 1:20], np.r_[1:20, :19])), shape=(20, 20))
    assert np.isnan(share(Distances(path), metric="precomputed"))


# What suits


@pytest.mark.parametrize(
    ("flatness", "n_samples", "k", "reg"),
    [
        (1.0, 300, 12, 1e-4 * 2**3.3),
        (NEAR_SURFACE, 5000, 12, 1e-4 * 2**3.3),
        (1.0, 5001, 8, 1e-4 * (4 / 3) ** 3.3),
        (NEAR_SURFACE - 1e-9, 300, 10, 0.1),
        (0.2, 10**6, 10, 0.1),
        # Nobody knows: as near a surface.
        (np.nan, 300, 12, 1e-4 * 2**3.3),
        (1.0, 7, 6, 1e-4),
        (0.2, 4, 3, 0.1),
        (0.2, 1, 1, 0.1),
    ],
)
def test_what_suits_depends_on_how_flat_and_how_many(flatness, n_samples, k, reg):
    found = fill_defaults(Settings(n_neighbors=1, reg=1.0), OPEN, flatness, n_samples)
    assert found.n_neighbors == k
    assert found.reg == pytest.approx(reg)


CHART, LAYOUT = (12, 1e-4 * 2**3.3), (10, 0.1)


@pytest.mark.parametrize(
    ("coordinates", "flatness", "chosen", "expected"),
    [
        ("auto", NEAR_SURFACE, "chart", CHART),
        ("auto", NEAR_SURFACE - 1e-9, "layout", LAYOUT),
        ("auto", np.nan, "chart", CHART),
        ("chart", 0.2, "chart", CHART),
        ("layout", 1.0, "layout", LAYOUT),
        ("eigenvectors", 1.0, "eigenvectors", CHART),
        ("eigenvectors", 0.2, "eigenvectors", LAYOUT),
    ],
)
def test_defaults_depend_on_the_coordinates(coordinates, flatness, chosen, expected):
    found = fill_defaults(Settings(coordinates=coordinates), OPEN, flatness, 300)
    assert found.coordinates == chosen
    assert (found.n_neighbors, found.reg) == pytest.approx(expected)


def test_defaults_of_a_curve_are_a_chart_of_few_neighbors_unless_they_are_given():
    layout = Settings(n_neighbors=10, reg=0.1, coordinates="layout")
    found = fill_curve_defaults(layout, OPEN)
    assert (found.coordinates, found.n_neighbors, found.reg) == ("chart", 3, pytest.approx(1e-4 * 0.5**3.3))
    found = fill_curve_defaults(layout, ("reg",))
    assert (found.coordinates, found.n_neighbors, found.reg) == ("chart", 10, pytest.approx(1e-4 * (10 / 6) ** 3.3))
    assert fill_curve_defaults(layout, ()) == replace(layout, coordinates="chart")
    assert fill_curve_defaults(replace(layout, n_neighbors=2), OPEN).n_neighbors == 2


@pytest.mark.parametrize(("n_known", "k"), [(400, 10), (480, 12), (1000, 12), (100, 5)])
def test_fewer_neighbors_are_taken_where_few_distances_are_known(n_known, k):
    assert fill_defaults(Settings(coordinates="chart"), OPEN, 1.0, 3000, n_known).n_neighbors == k


def test_what_was_said_is_kept_and_reg_suits_the_neighbors_that_were():
    said = Settings(n_neighbors=9, reg=0.5)
    assert fill_defaults(said, (), 0.2, 300) == said
    assert fill_defaults(said, ("n_neighbors",), 0.2, 300) == Settings(n_neighbors=10, reg=0.5)
    assert fill_defaults(said, ("reg",), 1.0, 300).reg == pytest.approx(1e-4 * 1.5**3.3)
    assert fill_defaults(said, ("reg",), 0.2, 300) == Settings(n_neighbors=9, reg=0.1)


def test_a_given_graph_is_taken_whole_where_no_number_is_given():
    # Sample 0 lists itself, and others seven beside themselves.
    graph = NeighborGraph(np.zeros((300, 7), dtype=np.intp), np.zeros((300, 7)), "given")
    for flatness in (1.0, 0.2):
        assert fill_defaults(Settings(neighbors=graph), OPEN, flatness, 300).n_neighbors == 7
    assert fill_defaults(Settings(neighbors=graph), OPEN, 1.0, 6).n_neighbors == 5
    assert fill_defaults(Settings(neighbors=graph, n_neighbors=9), ("reg",), 1.0, 300).n_neighbors == 9


# Through the front door


def test_what_was_used_is_told_and_parameters_stay_as_they_were():
    surface, table = make_s_curve(100, random_state=0).X, np.random.default_rng(4).normal(size=(100, 8))
    for X, coordinates, k, reg in ((surface, "chart", 12, 1e-4 * 2**3.3), (table, "layout", 10, 0.1)):
        model = HNE().fit(X)
        assert (model.n_neighbors, model.reg, model.coordinates) == (None, None, "auto")
        assert model.coordinates_ == coordinates
        assert model.n_neighbors_ == k
        assert model.reg_ == pytest.approx(reg)
        assert model._fitted.graph.n_neighbors == k
        # The same as if it had been said.
        said = HNE(k, reg=model.reg_, coordinates=coordinates)
        np.testing.assert_array_equal(said.fit_transform(X), model.embedding_)


def test_what_was_said_is_used():
    X = np.random.default_rng(5).normal(size=(60, 8))
    model = HNE(7, reg=0.03).fit(X)
    assert (model.n_neighbors_, model.reg_) == (7, 0.03)
    model = HNE(**PUBLISHED).fit(X)
    assert (model.n_neighbors_, model.reg_, model.variant_) == (6, 1e-4, "bhne")
    model = HNE(7).fit(X)
    assert (model.n_neighbors_, model.reg_) == (7, 0.1)


def test_what_was_used_survives_a_file(tmp_path):
    model = HNE().fit(np.random.default_rng(6).normal(size=(60, 8)))
    model.save(tmp_path / "model.hne")
    again = HNE.load(tmp_path / "model.hne")
    assert (again.n_neighbors, again.reg, again.coordinates) == (None, None, "auto")
    assert (again.n_neighbors_, again.reg_, again.coordinates_) == (10, 0.1, "layout")


@pytest.mark.parametrize("n", [3, 4, 5, 6, 9, 13])
def test_few_samples_have_as_many_neighbors_as_there_are_others(n):
    line = np.outer(np.arange(float(n)), [3.0, 4.0, 0.0])
    result = embed(line)
    assert result.settings.n_neighbors == min(12, n - 1)
    np.testing.assert_allclose(np.sort(pdist(result.Y)), np.sort(pdist(line)), rtol=0.01)


def test_copies_are_no_neighbors():
    X = np.repeat(np.random.default_rng(7).random((6, 2)), 20, axis=0)
    assert embed(X).settings.n_neighbors == 5


def test_the_given_graph_is_used_with_what_it_has():
    X = make_s_curve(100, random_state=0).X
    near = np.argsort(squareform(pdist(X)), axis=1)[:, 1:8]
    model = HNE(neighbors=(near, None)).fit(X)
    assert model.n_neighbors_ == 7
    assert model.reg_ == pytest.approx(1e-4 * (7 / 6) ** 3.3)
