"""Landmarks: evenly spread, rebuilding affine functions; the more the nearer to the eigenvectors, and honest."""

import json

import numpy as np
import pytest
from scipy.sparse import csr_array, triu

from hne import HNE, PUBLISHED, embed, forecast
from hne.cli import main
from hne.core import landmarks as _landmarks
from hne.core.eigen.alignment import alignment
from hne.core.eigen.certificate import is_settled
from hne.core.eigen.costs import Sizes, choose_solver, remedies, solver_bytes
from hne.core.eigen.direct import shift_inverted
from hne.core.eigen.iterative import sine_between
from hne.core.eigenpairs import share_of_landmarks
from hne.core.forecast import check_fits
from hne.core.landmarks import (
    bottom_coefficients,
    choose_landmarks,
    interpolation,
    landmark_eigenpairs,
    refined,
    restricted,
    smooth_weights,
)
from hne.core.records import ALONG_GRAPH
from hne.datasets import make_swiss_roll
from hne.exceptions import EigenSolverError, InputError, InputTypeError, LandmarkWarning, TooLargeError
from hne.metrics import affine_errors, procrustes_error
from hne.settings import Settings
from tests.conftest import advised, frozen, one_fast

REG = 1e-5
SETTINGS = PUBLISHED | {"reg": REG}


@pytest.fixture(scope="module")
def roll():
    return make_swiss_roll(4000, random_state=3)


@pytest.fixture(scope="module")
def exact(roll):
    return embed(roll.X, **SETTINGS)


@pytest.fixture(scope="module")
def model(roll):
    return HNE(**SETTINGS, n_landmarks=1000).fit(frozen(roll.X))


@pytest.fixture(scope="module")
def chart(roll):
    return HNE(n_landmarks=1000).fit(frozen(roll.X))


def smallest_distances(points):
    away = np.linalg.norm(points[:, None] - points, axis=2)
    np.fill_diagonal(away, np.inf)
    return away.min(axis=1)


def test_landmarks_are_different_samples_more_evenly_spread_than_by_chance(roll):
    X = frozen(roll.X)
    chosen = choose_landmarks(X, 300, 0)
    assert (np.diff(chosen) > 0).all()
    assert len(chosen) == 300
    at_random = np.random.RandomState(0).permutation(len(X))[:300]
    assert np.median(smallest_distances(X[chosen])) > 1.5 * np.median(smallest_distances(X[at_random]))
    np.testing.assert_array_equal(chosen, choose_landmarks(X, 300, 0, n_threads=2))
    assert (chosen != choose_landmarks(X, 300, 1)).any()


def test_landmarks_may_be_nearly_all_samples(cloud):
    np.testing.assert_array_equal(choose_landmarks(cloud, len(cloud), 0), np.arange(len(cloud)))
    assert len(np.unique(choose_landmarks(cloud, len(cloud) - 1, 0))) == len(cloud) - 1


def test_samples_and_their_affine_functions_are_rebuilt_from_landmarks(roll):
    X = frozen(roll.X)
    landmarks = choose_landmarks(X, 1000, 0)
    Z = interpolation(X, landmarks, 2)
    assert Z.shape == (4000, 1000)
    assert Z.has_sorted_indices
    assert (np.diff(Z.indptr) == 12).all()
    np.testing.assert_allclose(Z.sum(axis=1), 1.0, atol=1e-12)
    # Landmarks are .8 apart in the median; the farthest are those of samples at an edge.
    assert np.median(np.linalg.norm(Z @ X[landmarks] - X, axis=1)) < 1e-3
    assert np.linalg.norm(Z @ X[landmarks] - X, axis=1).max() < 0.02
    other = interpolation(X, landmarks, 2, n_threads=2)
    np.testing.assert_array_equal(Z.data, other.data)
    np.testing.assert_array_equal(Z.indices, other.indices)


def test_a_landmark_fades_out_before_it_leaves():
    """By hand: on a line, points at 1 and -1 rebuild the origin by halves; one that counts nothing takes no part."""
    Q = np.array([[[1.0], [-1.0], [2.0]]])
    np.testing.assert_allclose(smooth_weights(Q, np.array([[1.0, 1.0, 1e-9]])), [[0.5, 0.5, 0.0]], atol=1e-5)


def test_landmarks_as_far_as_each_other_have_equal_weights():
    corners = frozen(np.vstack([np.eye(20), np.full((1, 20), 0.05)]))
    weights = interpolation(corners, np.arange(20), 2)[[20]]
    np.testing.assert_allclose(weights.data, 1 / 12, atol=1e-9)


def test_the_restricted_problem_is_the_product_whatever_the_blocks(exact):
    X = exact.core.X
    record = alignment(exact.core.weights, 2.0)
    Z = interpolation(X, choose_landmarks(X, 500, 0), 2)
    K, M = restricted(record, Z)
    dense = Z.toarray()
    np.testing.assert_allclose(K.toarray(), dense.T @ record.apply(dense), atol=1e-12)
    np.testing.assert_allclose(M.toarray(), dense.T @ dense, atol=1e-12)
    one, two = (restricted(record, Z, n_threads, 700)[0] for n_threads in (1, 2))
    np.testing.assert_allclose(one.toarray(), K.toarray(), atol=1e-12)
    np.testing.assert_array_equal(one.data, two.data)


def test_more_landmarks_are_nearer_and_refinement_brings_all_of_them_nearer(exact):
    X, settings = exact.core.X, exact.settings
    record, truth = alignment(exact.core.weights, 1.0), exact.eigenpairs
    angles = []
    for m in (1200, 3200):
        Z = interpolation(X, choose_landmarks(X, m, 0), 2)
        K, M = restricted(record, Z)
        with shift_inverted(csr_array(triu(K, format="csr")), 1) as solve:
            start = Z @ bottom_coefficients(K, M, solve, 2, 0)[:, :4]
            values = (record.stacked(start) ** 2).sum(axis=0)
            assert (values[:2] >= truth.values * (1 - 1e-9)).all(), "Galerkin's eigenvalues are upper bounds"
            basis, moved = refined(record, Z, solve, start, 2, settings.tol)
        angles.append((sine_between(truth.vectors, start[:, :2]), sine_between(truth.vectors, basis[:, :2])))
        assert 0 < moved < 0.1
    restriction_alone, after = np.array(angles).T
    assert (after < 0.7 * restriction_alone).all()
    assert restriction_alone[1] < restriction_alone[0]
    assert after[1] < after[0] < 0.05


def test_the_embedding_unrolls_and_says_how_it_was_found(roll, exact, model):
    assert model.eigen_solver_ == "landmarks"
    assert sine_between(exact.Y, model.embedding_) < 0.02
    assert affine_errors(model.embedding_, roll.chart).max() < 0.003
    np.testing.assert_allclose(model.embedding_.T @ model.embedding_, np.eye(2), atol=1e-10)
    proof = model.eigen_certificate_
    assert 0 < proof.last_move < 0.005
    # Residuals are measured, and tell that this is no solution to the last digit.
    assert proof.residuals.max() > 100 * exact.eigenpairs.residuals.max()
    assert "eigenvalues are upper bounds; the last refinement moved the plane by" in str(proof)
    assert "residuals above it: no bound" in str(proof)
    assert (model.eigenvalues_ >= exact.eigenpairs.values).all()
    finding = next(one for one in model.trust_.findings if one.kind == "landmarks")
    assert finding.level == "good"
    assert finding.remedy == "Raise n_landmarks (now 1000), or lower reg (now 1e-05)"


def test_a_chart_of_eigenvectors_on_landmarks_is_the_roll(roll, chart):
    assert chart.eigen_solver_ == "landmarks"
    assert len(chart.eigen_certificate_.residuals) == 20
    assert procrustes_error(chart.embedding_, roll.chart) < 1e-4
    # Twenty eigenvectors are far from at rest, and nobody is warned: the chart proves itself by the lengths it keeps.
    assert chart.eigen_certificate_.last_move > 0.005
    finding = next(one for one in chart.trust_.findings if one.kind == "landmarks")
    assert finding.level == "good"
    assert "the last refinement moved the span of its 20 eigenvectors by" in finding.text
    assert chart.trust_.level == "good"


@pytest.mark.filterwarnings("ignore::hne.exceptions.LandmarkWarning")
@pytest.mark.parametrize("settings", one_fast(SETTINGS, {}), ids=["published", "chart"])
def test_bits_do_not_depend_on_threads_or_the_order_of_samples(roll, settings):
    X, more = frozen(roll.X[:1000]), {**settings, "n_landmarks": 400, "assess": False}
    found = embed(X, **more, n_jobs=1).Y
    np.testing.assert_array_equal(found, embed(X, **more, n_jobs=2).Y)
    order = np.random.default_rng(0).permutation(len(X))
    np.testing.assert_array_equal(found[order], embed(X[order], **more).Y)


@pytest.mark.filterwarnings("ignore::hne.exceptions.LandmarkWarning")
@pytest.mark.parametrize("settings", one_fast(SETTINGS, {}), ids=["published", "chart"])
def test_copies_share_their_place(roll, settings):
    X, more = roll.X[:1000], {**settings, "n_landmarks": 400, "assess": False}
    twice = np.vstack([X, X[:300]])
    alone, found = (embed(frozen(samples), **more).Y for samples in (X, twice))
    np.testing.assert_array_equal(found[:1000], alone)
    np.testing.assert_array_equal(found[1000:], alone[:300])


@pytest.mark.slow
def test_pieces_share_landmarks_and_small_ones_are_solved_exactly():
    sizes = (2600, 1300, 400)
    rolls = [make_swiss_roll(n, even=True, random_state=seed) for seed, n in enumerate(sizes)]
    X = np.vstack([roll.X + np.array([80.0 * place, 0.0, 0.0]) for place, roll in enumerate(rolls)])
    with pytest.warns(LandmarkWarning, match="should leave"):
        result = embed(X, **SETTINGS, n_landmarks=1250)
    assert [pairs.solver for pairs in result.core.eigenpairs] == ["landmarks", "landmarks", "direct"]
    assert affine_errors(result.Y[:2600], rolls[0].chart).max() < 0.05
    with advised("3 pieces"):
        result = embed(X, n_landmarks=1250)
    assert [pairs.solver for pairs in result.core.eigenpairs] == ["landmarks", "landmarks", "direct"]
    assert all(chart.stress < 1e-3 for chart in result.core.charts)
    assert procrustes_error(result.Y[:2600], rolls[0].chart) < 1e-3


def test_a_piece_has_its_share_of_landmarks_and_enough():
    settings = Settings(n_landmarks=1000)
    assert share_of_landmarks(3000, 4000, settings) == 750
    assert share_of_landmarks(1000, 4000, settings) is None
    assert share_of_landmarks(1001, 10**6, settings) == 13
    assert share_of_landmarks(3000, 4000, Settings()) is None


@pytest.mark.filterwarnings("ignore::hne.exceptions.HNEWarning")
def test_a_line_whose_one_coordinate_costs_nothing_is_laid_out_in_order():
    line = np.outer(np.arange(300.0), [3.0, 4.0])
    for coordinates in ("eigenvectors", "chart"):
        y = embed(line, n_neighbors=4, n_components=1, n_landmarks=60, coordinates=coordinates).Y[:, 0]
        assert (np.diff(y) > 0).all() or (np.diff(y) < 0).all()
    np.testing.assert_allclose(np.abs(np.diff(y)), 5.0, rtol=1e-3)


@pytest.mark.parametrize(
    "n_landmarks", [pytest.param(13, marks=pytest.mark.slow), 50, pytest.param(200, marks=pytest.mark.slow)]
)
def test_too_few_landmarks_are_told(roll, n_landmarks):
    with pytest.warns(LandmarkWarning, match=rf"n_landmarks={n_landmarks} should leave"):
        result = embed(roll.X, **SETTINGS, n_landmarks=n_landmarks)
    assert not is_settled(result.eigenpairs)
    finding = next(one for one in result.trust.findings if one.kind == "landmarks")
    assert finding.level == "bad"


@pytest.mark.parametrize(
    ("n", "n_landmarks"),
    [pytest.param(4000, 13, marks=pytest.mark.slow), (1500, 30), pytest.param(4000, 100, marks=pytest.mark.slow)],
)
def test_too_few_landmarks_of_a_chart_are_told(roll, n, n_landmarks):
    with pytest.warns(LandmarkWarning, match=f"n_landmarks={n_landmarks} should leave a chart"):
        result = embed(roll.X[:n], n_landmarks=n_landmarks)
    # Ways along the graph draw what the eigenvectors alone do not hold.
    assert result.chart.route == ALONG_GRAPH
    assert (procrustes_error(result.Y, roll.chart[:n]) > 0.01) == (n_landmarks == 13)
    assert not is_settled(result.eigenpairs, result.chart)
    finding = next(one for one in result.trust.findings if one.kind == "landmarks")
    assert finding.level == "doubtful"
    assert result.trust.level == ("bad" if n_landmarks == 13 else "doubtful")


def test_an_embedding_that_rests_at_no_gap_is_told(roll, monkeypatch):
    monkeypatch.setattr("hne.core.eigen.certificate.UNSETTLED", 1.0)
    monkeypatch.setattr("hne.core.trust.verdict.UNSETTLED", 1.0)
    with pytest.warns(LandmarkWarning, match="should leave eigenvalues far below the next"):
        embed(roll.X, **SETTINGS, n_landmarks=50)


def test_what_fails_on_the_way_is_an_error_with_a_remedy(exact, monkeypatch):
    record = alignment(exact.core.weights, 1.0)
    monkeypatch.setattr(_landmarks, "chebyshev", lambda *_: lambda solution, _: np.full_like(solution, np.nan))
    with pytest.raises(EigenSolverError, match="no result on 500 landmarks"):
        landmark_eigenpairs(record, exact.settings, 500, exact.core.X)


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"n_landmarks": 10.5}, InputTypeError, "n_landmarks must be an integer"),
        ({"n_landmarks": True}, InputTypeError, "n_landmarks must be an integer"),
        ({"n_landmarks": 0}, InputError, "n_landmarks must be at least 1, got 0"),
        ({"n_landmarks": 12}, InputError, "n_landmarks must be at least 13"),
        ({"n_landmarks": 60}, InputError, "n_landmarks=60 needs at least 61 samples"),
        ({"n_landmarks": 20, "eigen_solver": "direct"}, InputError, "takes the place of an eigensolver"),
        ({"n_landmarks": 20, "metric": "precomputed"}, InputError, "n_landmarks needs samples with coordinates"),
    ],
)
def test_what_cannot_be_is_refused(cloud, parameters, error, message):
    with pytest.raises(error, match=message):
        HNE(**parameters).fit(cloud)


def test_copies_and_sparse_samples_are_told_apart(cloud):
    with pytest.raises(InputError, match="n_landmarks=60 needs at least 61 different"):
        embed(np.vstack([cloud, cloud[:1]]), n_landmarks=60)
    with pytest.raises(InputError, match="n_landmarks needs a dense X"):
        embed(csr_array(cloud), n_landmarks=20)


def test_more_dimensions_need_more_landmarks():
    X = np.random.default_rng(0).normal(size=(200, 6))
    with pytest.raises(InputError, match="n_landmarks must be at least 21"):
        embed(X, n_landmarks=20, n_components=5)


@pytest.mark.filterwarnings("ignore::hne.exceptions.HNEWarning")
@pytest.mark.slow
def test_settings_are_chosen_without_landmarks_and_embedded_with_them(roll):
    found = HNE(reg="auto", n_landmarks=100, assess=False).fit(roll.X[:250])
    assert found.eigen_solver_ == "landmarks"
    assert found.tuning_ is not None


def test_a_model_is_saved_loaded_placed_and_reported(roll, tmp_path):
    model = HNE(n_landmarks=400).fit(roll.X[:1000])
    model.save(tmp_path / "roll.hne")
    again = HNE.load(tmp_path / "roll.hne")
    assert again.n_landmarks == 400
    assert again.eigen_solver_ == "landmarks"
    assert again.eigen_certificate_.last_move == model.eigen_certificate_.last_move
    np.testing.assert_array_equal(again.embedding_, model.embedding_)
    np.testing.assert_array_equal(again.transform(roll.X[:5]), model.embedding_[:5])
    between = (roll.X[:5] + roll.X[5:10]) / 2
    np.testing.assert_array_equal(again.transform(between), model.transform(between))
    assert again.trust_.level == "good"
    model.report(tmp_path / "roll.html")
    assert "n_landmarks" in (tmp_path / "roll.html").read_text()


@pytest.mark.slow
def test_the_command_line_takes_landmarks(roll, tmp_path, capsys):
    np.save(tmp_path / "roll.npy", roll.X[:1000])
    words = ["embed", str(tmp_path / "roll.npy"), "--landmarks", "400", "--json"]
    assert main([*words, "-o", str(tmp_path / "map.csv")]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["eigen_solver"] == "landmarks"
    assert told["parameters"]["n_landmarks"] == 400
    assert main([*words, "--dry-run"]) == 0
    assert json.loads(capsys.readouterr().out)["solver"] == "landmarks"
    assert main(["embed", str(tmp_path / "roll.npy"), "--landmarks", "1000"]) == 2
    assert "--n-landmarks 1000 needs at least 1001 samples" in capsys.readouterr().err


def test_landmarks_are_foreseen_where_nothing_else_fits(monkeypatch):
    monkeypatch.setattr("hne.core.forecast.available_bytes", lambda: int(24e9))
    huge = forecast(10**7, 3, n_landmarks=100_000)
    assert huge.solver == "landmarks"
    assert not forecast(10**7, 3).fits
    assert "pass n_landmarks=100000" in forecast(10**7, 3).advice
    check_fits(10**7, 3, Settings(n_landmarks=100_000))
    with pytest.raises(TooLargeError, match="pass n_landmarks=100000"):
        check_fits(10**7, 3, Settings())
    assert forecast(10**6, 3, n_landmarks=10_000).peak_bytes < forecast(10**6, 3, n_landmarks=200_000).peak_bytes


def test_costs_of_landmarks_are_refused_with_the_numbers():
    sizes = Sizes(10**6, 2, 7, 16, 60, n_landmarks=10_000)
    assert choose_solver(sizes, "auto", 1e12)[0] == ("landmarks",)
    with pytest.raises(TooLargeError, match=r"with n_landmarks=10000, got .* Lower n_landmarks"):
        choose_solver(sizes, "auto", 1e6)
    assert solver_bytes(sizes, "landmarks") < solver_bytes(sizes, "direct")
    assert "n_landmarks" not in remedies(Sizes(5_000, 2, 7, 16, 60), ("direct",))


@pytest.mark.slow
def test_a_hundred_thousand_samples_are_near_their_eigenvectors():
    roll = make_swiss_roll(100_000)
    exact = embed(roll.X, **SETTINGS)
    for m, angle, error in ((1000, 0.03, 1e-3), (10_000, 0.003, 1e-4)):
        found = embed(roll.X, **SETTINGS, n_landmarks=m)
        assert sine_between(exact.Y, found.Y) < angle
        assert affine_errors(found.Y, roll.chart).max() < error
        assert is_settled(found.eigenpairs)


@pytest.mark.slow
def test_a_chart_of_a_hundred_thousand_samples_on_landmarks_is_the_roll():
    roll = make_swiss_roll(100_000)
    found = embed(roll.X, n_landmarks=4000)
    assert procrustes_error(found.Y, roll.chart) < 1e-4
    assert found.trust.level == "good"
