"""Choosing settings: the grid, what is shared, stopped early and chosen, and "auto" in the estimator."""

import threading

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.sparse import csr_array
from scipy.spatial.distance import pdist, squareform
from sklearn.neighbors import KNeighborsTransformer
from sklearn.pipeline import make_pipeline

from hne import HNE, PUBLISHED, embed
from hne._runtime.progress import listening
from hne.core.neighbors.graph import knn_graph
from hne.core.samples.canonical import canonicalize
from hne.core.samples.check import check_samples
from hne.core.short_circuits.cut import edited
from hne.core.tangent.score import TangentScorer
from hne.datasets import make_cube, make_s_curve, make_swiss_roll
from hne.exceptions import InputError, InputTypeError
from hne.metrics import affine_errors, tangent_score
from hne.settings import COORDINATES, CURVE_NEIGHBORS, VARIANTS, Settings
from hne.tuning import GRID, Trial, Tuning, auto, trials, tune
from hne.tuning.auto import GRID_OF_EIGENVECTORS, GRID_OF_LAYOUTS, grow_patch
from hne.tuning.trials import choose, in_order
from tests.conftest import advised, one_fast

PUBLISHED_COORDINATES = {"short_circuits": "keep", "coordinates": "eigenvectors"}
SMALL = {"n_neighbors": [6, 8], "reg": [1e-4], "variant": ["ihne", "bhne"]}


@pytest.fixture(scope="module")
def letter():
    return make_s_curve(90, random_state=1)


@pytest.fixture(scope="module", autouse=True)
def few_settings():
    """A small grid: what is told of it is told of any."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(GRID, "n_neighbors", (8, 12))
        patch.setitem(GRID, "variant", ("ihne", "rhne"))
        yield


@pytest.fixture(scope="module")
def found(letter):
    return tune(letter.X)


@pytest.fixture(scope="module")
def few(letter):
    """Four settings."""
    return tune(letter.X, grid=SMALL)


@pytest.mark.slow
def test_the_choice_unrolls_what_others_do_not():
    letter = make_s_curve(120, random_state=1)
    found = tune(letter.X, grid={"n_neighbors": [8, 10, 12, 16], "variant": VARIANTS})
    assert affine_errors(HNE(**found.parameters).fit_transform(letter.X), letter.chart).mean() < 0.03
    by_paper = tune(letter.X, **PUBLISHED_COORDINATES)
    published = PUBLISHED | by_paper.parameters
    assert affine_errors(HNE(**published).fit_transform(letter.X), letter.chart).mean() < 0.03
    squeezed = affine_errors(HNE(**PUBLISHED | {"reg": 1e-2}).fit_transform(letter.X), letter.chart).mean()
    assert squeezed > 0.1


def test_the_whole_grid_is_told(found):
    assert len(found.trials) == 8 == np.prod([len(values) for values in GRID.values()])
    assert {(trial.variant, trial.n_neighbors, trial.reg) for trial in found.trials} == {
        (variant, k, reg) for variant in GRID["variant"] for k in GRID["n_neighbors"] for reg in GRID["reg"]
    }
    measured = [trial.score for trial in found.trials if trial.outcome == "measured"]
    assert measured == sorted(measured)
    assert found.best in found.trials[:12]
    assert found.runner_up in found.trials
    assert (found.runner_up.variant, found.runner_up.n_neighbors) != (found.best.variant, found.best.n_neighbors)
    assert all(trial.reason for trial in found.trials if trial.outcome != "measured")


@pytest.mark.parametrize("coordinates", COORDINATES)
def test_trials_are_what_embed_gives(letter, coordinates):
    """Shared neighbors, Gram matrices and frames change no bit of an embedding, and no digit of its score."""
    found = tune(letter.X, grid=SMALL, coordinates=coordinates)
    # The letter is near a surface.
    assert found.settings.coordinates == ("chart" if coordinates == "auto" else coordinates)
    for trial in (found.best, found.runner_up):
        result = embed(letter.X, **trial.parameters, coordinates=coordinates)
        measure = tangent_score(letter.X, result.Y)
        score = (1 - measure.trustworthiness) + (1 - measure.continuity) if coordinates == "layout" else measure.score
        assert trial.score == pytest.approx(score, abs=1e-9)
        # Eigenvectors are brought to the scale of X.
        expected = result.Y @ measure.correction if coordinates == "eigenvectors" else result.Y
        assert np.allclose(trial.Y, expected, atol=1e-4 * np.ptp(expected))


def test_trials_are_cut_by_hand_as_embed_is(letter):
    pairs = {"keep_edges": embed(letter.X, n_neighbors=8).short_circuits[:4]}
    links = embed(letter.X, n_neighbors=8, **pairs).graph.indices
    pairs["cut_edges"] = [(row, links[row, 0]) for row in range(20)]
    found = tune(letter.X, grid=SMALL, **pairs)
    for trial in (found.best, found.runner_up):
        result, plain = embed(letter.X, **trial.parameters, **pairs), embed(letter.X, **trial.parameters)
        assert np.allclose(trial.Y, result.Y, atol=1e-4 * np.ptp(result.Y))
        assert not np.allclose(plain.Y, result.Y, atol=1e-4 * np.ptp(result.Y))


def test_on_a_patch_edges_are_cut_where_both_ends_are_in_it(monkeypatch):
    monkeypatch.setattr(auto, "MAX_SAMPLES", 500)
    monkeypatch.setattr(auto, "PATCH_SAMPLES", 300)
    seen = []

    def remember(found, chosen):
        seen.append(chosen)
        return edited(found, chosen)

    monkeypatch.setattr(trials, "edited", remember)
    X = make_swiss_roll(1500, random_state=0).X
    rows = tune(X, grid=SMALL).rows
    inside, outside = rows[:4], np.setdiff1d(np.arange(1500), rows)[:2]
    assert all(len(chosen.cut) == len(chosen.kept) == 0 for chosen in seen)
    seen.clear()
    edges = {"cut_edges": [inside[:2], (inside[0], outside[0]), outside], "keep_edges": [inside[2:]]}
    assert tune(X, grid=SMALL, **edges).rows.tolist() == rows.tolist()
    assert seen
    # Places are in an order of their own, in which `_tuning` finds those of the patch.
    places = canonicalize(X, Settings())[0].inverse
    patch = np.sort(places[rows])
    for chosen in seen:
        np.testing.assert_array_equal(patch[chosen.cut], [np.sort(places[inside[:2]])])
        np.testing.assert_array_equal(patch[chosen.kept], [np.sort(places[inside[2:]])])


def test_the_table_has_a_row_for_each_trial(found):
    table = found.table()
    assert {len(column) for column in table.values()} == {8}
    assert table["variant"][0] == found.trials[0].variant
    assert list(table)[:5] == ["choice", "variant", "n_neighbors", "reg", "score"]
    assert table["choice"].count("chosen") == table["choice"].count("runner-up") == 1
    assert found.trials[table["choice"].index("chosen")] is found.best
    assert table["tangent_loss"][0] == found.trials[0].measure.tangent_loss


def test_threads_choose_the_same(letter, few):
    one, two = few, tune(letter.X, grid=SMALL, n_jobs=2)
    assert [(t.label, t.outcome) for t in one.trials] == [(t.label, t.outcome) for t in two.trials]
    assert [t.score for t in one.trials] == [t.score for t in two.trials]


def test_copies_and_order_change_nothing(letter, few):
    rows = np.random.default_rng(0).permutation(90)
    other = tune(np.concatenate([letter.X[rows], letter.X[:7]]), grid=SMALL)
    assert other.best.label == few.best.label
    assert other.best.Y.shape == (97, 2)
    assert_array_equal(other.best.Y[90:], other.best.Y[np.argsort(rows)[:7]])
    assert np.allclose(np.abs(other.best.Y[np.argsort(rows)]), np.abs(few.best.Y), atol=1e-3)


def test_fixed_settings_are_kept_and_others_searched(letter):
    found = tune(letter.X, variant="rhne", n_neighbors=6)
    assert {(t.variant, t.n_neighbors) for t in found.trials} == {("rhne", 6)}
    assert len(found.trials) == len(GRID["reg"])


def test_other_kinds_of_samples_are_tuned_alike(letter):
    grid = {"n_neighbors": [5, 6], "reg": [1e-4], "variant": ["ihne"]}
    plain = tune(letter.X, grid=grid)
    sparse = tune(csr_array(letter.X), grid=grid)
    known = tune(squareform(pdist(letter.X)), grid=grid, metric="precomputed")
    for other in (sparse, known):
        # Rows whose ranks are compared are drawn from another order.
        losses = [{t.label: t.measure.tangent_loss for t in one.trials if t.measure} for one in (plain, other)]
        assert losses[0] == pytest.approx(losses[1], abs=1e-6)


def test_a_given_graph_is_cut_to_each_k(letter):
    graph = knn_graph(letter.X, 8, 1, "exact", 0, "euclidean", None)
    given = tune(letter.X, grid=SMALL | {"n_neighbors": [5, 8, 12]}, neighbors=(graph.indices, graph.distances))
    searched = tune(letter.X, grid=SMALL | {"n_neighbors": [5, 8]})
    assert {t.outcome for t in given.trials if t.n_neighbors == 12} == {"failed"}
    by_label = {t.label: t for t in searched.trials}
    both = [
        (t, by_label[t.label]) for t in given.trials if t.label in by_label and t.measure and by_label[t.label].measure
    ]
    assert both
    assert all(one.score == pytest.approx(other.score, abs=1e-9) for one, other in both)


def test_more_features_than_samples_are_turned_into_fewer(letter, few):
    wide = np.zeros((90, 200))
    wide[:, 100:103] = letter.X
    other = tune(wide @ np.linalg.qr(np.random.default_rng(0).normal(size=(200, 200)))[0], grid=SMALL)
    assert other.best.label == few.best.label
    assert other.best.measure.tangent_loss == pytest.approx(few.best.measure.tangent_loss, abs=1e-6)


@pytest.mark.slow
def test_three_dimensions_are_tuned():
    cube = make_cube(200, random_state=3)
    found = tune(cube.X, n_components=3, grid={"n_neighbors": [8], "variant": ["ihne"]})
    assert affine_errors(HNE(**found.parameters).fit_transform(cube.X), cube.chart).mean() < 0.02


def test_a_setting_in_many_pieces_is_stopped_before_its_weights():
    X = make_swiss_roll(300, random_state=2).X
    found = tune(X, grid={"n_neighbors": [2, 6], "reg": [1e-4], "variant": ["ihne"]})
    cut = next(trial for trial in found.trials if trial.n_neighbors == 2)
    assert cut.outcome == "stopped early"
    assert "pieces" in cut.reason
    assert cut.n_pieces > 10
    assert found.best.n_neighbors == 6


def test_pieces_that_are_an_error_are_not_choose():
    roll = make_swiss_roll(300, random_state=2).X
    found = tune(roll, grid={"n_neighbors": [3, 4, 8], "reg": [1e-4], "variant": ["ihne"]}, pieces="raise")
    assert found.best.n_pieces == 1
    assert {trial.outcome for trial in found.trials if trial.n_pieces > 1} == {"stopped early"}


@pytest.mark.slow
def test_two_surfaces_far_apart_are_tuned_as_pieces():
    X = np.concatenate([make_s_curve(100, random_state=0).X, 40 + make_s_curve(100, random_state=1).X])
    found = tune(X, grid=SMALL)
    assert found.best.n_pieces == 2
    assert found.best.score < 0.1


def test_what_loses_too_much_is_not_ranked(letter):
    found = tune(letter.X, **PUBLISHED_COORDINATES)
    stopped = [trial for trial in found.trials if trial.outcome == "stopped early" and np.isfinite(trial.score)]
    assert stopped
    best = min(trial.score for trial in found.trials if trial.outcome == "measured")
    assert min(trial.score for trial in stopped) > best


def test_where_one_is_good_enough_the_others_are_not_tried(letter, monkeypatch):
    monkeypatch.setattr(trials, "RIGHT", np.inf)
    found = tune(letter.X)
    tried = {(t.variant, t.n_neighbors, t.reg) for t in found.trials if t.outcome == "measured"}
    # Each k once, with the ridge that suits twelve neighbors.
    assert tried == {("ihne", k, 1e-3) for k in GRID["n_neighbors"]}
    reasons = {t.reason for t in found.trials if t.outcome == "stopped early"}
    assert reasons == {f"{found.trials[0].label} is good enough"}
    # Listed ones are.
    assert tune(letter.X, grid={"reg": GRID["reg"]}).n_measured > len(tried)


def test_else_the_best_is_tried_with_other_ridges_and_variants(letter, monkeypatch):
    monkeypatch.setattr(trials, "RIGHT", 0.0)
    found, again = (tune(letter.X, n_jobs=n_jobs) for n_jobs in (1, 2))
    assert [(t.label, t.outcome, t.reason) for t in found.trials] == [
        (t.label, t.outcome, t.reason) for t in again.trials
    ]
    first = [("ihne", k, 1e-3) for k in GRID["n_neighbors"]]
    by_setting = {(t.variant, t.n_neighbors, t.reg): t for t in found.trials}
    _, k, _ = min(first, key=lambda one: by_setting[one].score)
    tried = {one for one, t in by_setting.items() if not t.reason.endswith("is ahead")}
    assert tried == {*first, ("ihne", k, 1e-4), ("rhne", k, 1e-3)}


def test_failing_settings_are_told_and_others_chosen(letter, monkeypatch):
    real = trials.embedded_pieces

    def failing(X, whole, pieces, settings, n_threads):
        if settings.variant == "bhne":
            msg = "no such thing. Try another."
            raise InputError(msg)
        return real(X, whole, pieces, settings, n_threads)

    monkeypatch.setattr(trials, "embedded_pieces", failing)
    found = tune(letter.X, grid=SMALL)
    failed = [trial for trial in found.trials if trial.outcome == "failed"]
    assert {trial.variant for trial in failed} == {"bhne"}
    assert failed[0].reason == "no such thing"
    assert found.best.variant == "ihne"


def test_where_nothing_works_the_reason_is_told(letter, monkeypatch):
    def failing(*_):
        msg = "no such thing. Try another."
        raise InputError(msg)

    monkeypatch.setattr(trials, "embedded_pieces", failing)
    with pytest.raises(InputError, match="a setting that works, got 4 of which none does: no such thing"):
        tune(letter.X, grid=SMALL)


def test_a_budget_ends_it_with_what_is_usually_good_first(letter, monkeypatch):
    clock = iter(np.arange(1000.0))
    monkeypatch.setattr(trials.time, "perf_counter", lambda: next(clock))
    found = tune(letter.X, budget=10, grid={"reg": GRID["reg"]}, n_jobs=1)
    reached = [trial for trial in found.trials if trial.outcome != "not reached"]
    assert 0 < len(reached) < len(found.trials) == 8
    assert {(t.variant, t.n_neighbors, t.reg) for t in reached} >= {("ihne", k, 1e-3) for k in GRID["n_neighbors"]}


def test_progress_counts_the_settings(letter):
    class Notes:
        def __init__(self):
            self.steps = []

        def begin(self, stage):
            self.steps.append(stage)

        def step(self, task, done, total):
            self.steps.append((task, done, total))

        def end(self, stage, result, seconds):
            self.steps.append(result)

    notes = Notes()
    with listening(notes):
        tune(letter.X, grid=SMALL)
    assert notes.steps[0] == "tuning"
    assert ("settings", 4, 4) in notes.steps
    assert notes.steps[-1].startswith("4 settings, ")
    assert not [step for step in notes.steps if step[0] == "blocks"]


def test_an_interrupt_leaves_no_thread_behind(letter, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(trials, "embedded_pieces", interrupted)
    before = threading.active_count()
    with pytest.raises(KeyboardInterrupt):
        tune(letter.X, grid=SMALL, n_jobs=2)
    assert threading.active_count() == before


def test_many_samples_are_tuned_on_a_patch(monkeypatch):
    monkeypatch.setattr(auto, "MAX_SAMPLES", 500)
    monkeypatch.setattr(auto, "PATCH_SAMPLES", 300)
    roll = make_swiss_roll(1500, random_state=0)
    found = tune(roll.X, grid=SMALL)
    assert len(found.rows) == 300 == len(found.best.Y)
    assert found.n_samples == 1500
    assert (np.diff(found.rows) > 0).all()
    # As dense as the whole, and not all over the place.
    near = np.sort(squareform(pdist(roll.X[found.rows])) + np.diag([np.inf] * 300), axis=1)[:, 5]
    whole = np.sort(squareform(pdist(roll.X)) + np.diag([np.inf] * 1500), axis=1)[:, 5]
    assert np.median(near) < 1.25 * np.median(whole)
    assert affine_errors(found.best.Y.astype(float), roll.chart[found.rows]).mean() < 0.05


def test_a_patch_grows_over_pieces_that_are_too_small():
    X = np.concatenate([make_s_curve(60, random_state=seed).X + 50 * seed for seed in range(4)])
    rows = grow_patch(knn_graph(X, 5, 1, "exact", 0, "euclidean", None), 150)
    assert len(np.unique(rows)) == 150
    assert len({row // 60 for row in rows}) == 3


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"grid": [6, 8]}, InputTypeError, "grid must be a dict"),
        ({"grid": {"gamma": [1]}}, InputError, "keys variant, n_neighbors and reg, got 'gamma'"),
        ({"grid": {"reg": []}}, InputError, "a value for reg at least, got none"),
        ({"grid": {"reg": [-1]}}, InputError, "reg must be between"),
        ({"grid": {"n_neighbors": [6.5]}}, InputTypeError, "n_neighbors must be an integer"),
        ({"grid": {"variant": ["hne"]}}, InputError, "variant must be one of"),
        ({"grid": {"n_neighbors": [400]}}, InputError, "n_neighbors of at most 89, got 400"),
        ({"budget": 0}, InputError, "budget must be a positive number"),
        ({"budget": "long"}, InputTypeError, "budget must be a number"),
        ({"speed": 3}, InputTypeError, "speed is not a parameter"),
        ({"n_components": 4}, InputError, "n_components=4 needs at least 4 features"),
    ],
)
def test_what_cannot_be_searched_is_refused(letter, parameters, error, message):
    with pytest.raises(error, match=message):
        tune(letter.X, **parameters)


def test_too_few_samples_are_refused(letter):
    with pytest.raises(InputError, match="some 18 different samples to choose settings by, got 12"):
        tune(letter.X[:12])


@pytest.mark.parametrize(
    ("coordinates", "grid"), [("auto", GRID_OF_LAYOUTS), ("chart", GRID), ("eigenvectors", GRID_OF_EIGENVECTORS)]
)
def test_charts_layouts_and_eigenvectors_have_grids_of_their_own(coordinates, grid):
    table = np.random.default_rng(0).normal(size=(60, 8))
    found = tune(table, coordinates=coordinates, n_neighbors=6)
    assert {trial.reg for trial in found.trials} == set(grid["reg"])
    assert {trial.variant for trial in found.trials} == set(grid["variant"])


def test_the_choice_among_layouts_preserves_most_neighborhoods():
    table = np.random.default_rng(0).normal(size=(60, 8))
    found = tune(table)
    assert found.settings.coordinates == "layout"
    assert [trial.outcome for trial in found.trials] == ["measured"] * 4
    assert {trial.n_neighbors for trial in found.trials} == set(GRID_OF_LAYOUTS["n_neighbors"])
    losses = [2 - trial.measure.trustworthiness - trial.measure.continuity for trial in found.trials]
    assert [trial.score for trial in found.trials] == pytest.approx(losses)
    assert found.best.score == pytest.approx(min(losses))
    model = HNE(n_neighbors="auto").fit(table)
    assert (model.coordinates_, model.n_neighbors_) == ("layout", found.best.n_neighbors)


@pytest.mark.parametrize(("pieces", "outcome"), [("separate", "measured"), ("raise", "stopped early")])
def test_layouts_of_disconnected_graphs_are_tried_unless_that_is_an_error(pieces, outcome):
    X = np.random.default_rng(0).normal(size=(90, 5))
    grid = {"n_neighbors": [1, 10], "reg": [0.1], "variant": ["ihne"]}
    found = tune(X, grid=grid, pieces=pieces, coordinates="layout")
    disconnected = next(trial for trial in found.trials if trial.n_neighbors == 1)
    assert disconnected.n_pieces > 1
    assert disconnected.outcome == outcome
    assert found.best.n_neighbors == 10


def test_a_single_value_is_a_grid_too(letter):
    assert len(tune(letter.X, grid={"n_neighbors": 6, "variant": "ihne"}).trials) == len(GRID["reg"])


def trial(score, Y, k=6, variant="ihne", outcome="measured"):
    return Trial(variant, k, 1e-4, outcome, score, Y=Y)


def test_the_choice_is_what_the_best_agree_on(letter):
    right, wrong = letter.chart, letter.chart[:, :1] ** [1, 2]
    tried = [trial(0.010, wrong, 4), trial(0.011, right, 5), trial(0.012, right, 6), trial(0.013, right, 7)]
    assert choose(tried)[0].n_neighbors == 4  # too few settings for a vote
    best, runner_up = choose(tried + 56 * [trial(np.nan, None, outcome="stopped early")])
    assert best.n_neighbors == 5
    assert runner_up is not None


def test_two_cannot_vote(letter):
    right, wrong = letter.chart, letter.chart[:, :1] ** [1, 2]
    tried = [trial(0.010, wrong, 4), trial(0.011, right, 5)]
    assert choose(tried + 22 * [trial(np.nan, None, outcome="stopped early")])[0].n_neighbors == 4


def test_far_behind_nobody_has_a_vote(letter):
    right, wrong = letter.chart, letter.chart[:, :1] ** [1, 2]
    tried = [trial(0.001, right, 4), trial(0.4, wrong, 5), trial(0.41, wrong, 6), trial(0.42, wrong, 7)]
    tried += 56 * [trial(np.nan, None, outcome="stopped early")]
    assert choose(tried)[0].n_neighbors == 4


def test_trials_are_in_order_of_what_became_of_them():
    tried = [trial(np.nan, None, outcome=o) for o in ("not reached", "failed")] + [trial(0.2, None), trial(0.1, None)]
    assert [one.outcome for one in in_order(tried)] == ["measured", "measured", "failed", "not reached"]
    assert in_order(tried)[0].score == 0.1


def test_records_tell_what_they_are(found):
    assert isinstance(found, Tuning)
    assert found.best.label in repr(found)
    assert "measured" in repr(found.best)


@pytest.mark.parametrize("factor", one_fast(2.0**-700, 2.0**130, 2.0**700))
def test_extreme_units_are_those_of_the_trials_too(letter, factor):
    grid = {"n_neighbors": [5, 6], "reg": [1e-4], "variant": ["ihne"]}
    for coordinates in ("chart", "eigenvectors"):
        plain, other = (tune(X, grid=grid, coordinates=coordinates) for X in (letter.X, letter.X * factor))
        assert other.best.label == plain.best.label
        assert np.allclose(np.ptp(other.best.Y, axis=0) / factor, np.ptp(plain.best.Y, axis=0), rtol=1e-3)
        # A chart has the lengths of X, and what corrects it has no unit.
        unit = factor if coordinates == "eigenvectors" else 1.0
        lengths = [np.abs(one.best.measure.correction).max(axis=0) for one in (plain, other)]
        assert np.allclose(lengths[1] / unit, lengths[0], rtol=1e-3)


@pytest.mark.slow
def test_a_sparse_graph_of_distances_is_tuned_by_what_it_knows():
    roll = make_swiss_roll(150, random_state=0).X
    pipeline = make_pipeline(
        KNeighborsTransformer(n_neighbors=130), HNE(n_neighbors=6, variant="ihne", reg="auto", metric="precomputed")
    )
    chosen_reg = pipeline.fit(roll)[-1].reg_
    assert chosen_reg == HNE(n_neighbors=6, variant="ihne", reg="auto").fit(roll).reg_


def test_unknown_ranks_are_the_farthest():
    roll = make_swiss_roll(500, random_state=0).X
    graph = KNeighborsTransformer(n_neighbors=60).fit_transform(roll)
    known = check_samples(graph, Settings(metric="precomputed"))
    found = TangentScorer.from_samples(known, Settings(metric="precomputed")).ranks
    stored = np.asarray(known.matrix[found.rows].toarray() > 0)
    own = np.zeros_like(stored)
    own[np.arange(len(own)), found.rows] = True
    assert np.isinf(found.away[~stored & ~own]).all()
    assert (found.away[stored] <= stored.sum(axis=1).max()).all()


def test_too_few_known_distances_are_refused():
    t = np.arange(60.0)
    near = squareform(pdist(t[:, None]))
    graph = csr_array(np.where(near <= 4, near, 0.0))
    with pytest.raises(InputError, match="among the 8 nearest of a sample"):
        tune(graph, metric="precomputed", n_components=1, grid={"n_neighbors": [2]})


def test_samples_that_are_not_embedded_do_not_count(letter):
    X = np.concatenate([letter.X, letter.X[:60] / 2 + 200])
    found = tune(X, pieces="largest", grid={"n_neighbors": [6], "reg": [1e-4], "variant": ["ihne"]})
    with advised():
        result = embed(X, pieces="largest", **found.parameters)
    assert (np.isnan(found.best.Y).any(axis=1) == np.isnan(result.Y).any(axis=1)).all()
    assert found.best.measure.tangent_loss == pytest.approx(result.trust.score.tangent_loss, abs=1e-6)


def test_pieces_that_are_joined_are_no_reason_to_stop():
    X = make_swiss_roll(300, random_state=2).X
    found = tune(X, grid={"n_neighbors": [3, 6], "reg": [1e-4], "variant": ["ihne"]}, pieces="join")
    assert {trial.outcome for trial in found.trials} == {"measured"}


def test_a_setting_is_given_once(letter):
    with pytest.raises(InputError, match="reg must be given once, got 1e-05 beside a list in grid"):
        tune(letter.X, grid={"reg": [1e-3]}, reg=1e-5)
    with pytest.raises(InputError, match="got 1"):
        tune(letter.X, grid={1: [2], "k": [3]})


def test_a_budget_is_heard_within_a_k(letter, monkeypatch):
    clock = iter(np.arange(10_000.0))
    monkeypatch.setattr(trials.time, "perf_counter", lambda: next(clock))
    found = tune(
        letter.X, budget=8, n_jobs=1, grid={"n_neighbors": [6], "variant": ["ihne"], "reg": np.logspace(-5, -3, 9)}
    )
    outcomes = [trial.outcome for trial in found.trials]
    assert 0 < outcomes.count("measured") < 9
    assert {trial.reason for trial in found.trials if trial.outcome == "not reached"} == {"no time left"}
    assert not [trial for trial in found.trials if trial.outcome == "stopped early" and trial.reason == "no time left"]


def test_an_unclear_dimension_is_advised_about():
    with advised("two estimates that do not agree"):
        HNE(n_components="auto", n_neighbors=6).fit(make_swiss_roll(1000, noise=0.5, random_state=1).X)


def test_who_let_settings_be_chosen_is_not_told_to_do_so():
    X = np.random.RandomState(0).rand(40, 3)
    chosen_ones = HNE(n_neighbors="auto", reg="auto", variant="auto").fit(X)
    by_hand = HNE(**PUBLISHED | {"reg": 1e-2}).fit(make_s_curve(300, random_state=1).X)
    assert not any("'auto'" in finding.remedy for finding in chosen_ones.trust_.findings)
    assert any("'auto'" in finding.remedy for finding in by_hand.trust_.findings)


@pytest.mark.slow
def test_a_ridge_that_is_left_open_suits_each_number_of_neighbors(letter):
    found = tune(letter.X, variant="ihne", reg=None)
    assert {trial.n_neighbors: trial.reg for trial in found.trials} == {
        k: pytest.approx(1e-4 * (k / 6) ** 3.3) for k in GRID["n_neighbors"]
    }
    model = HNE(n_neighbors="auto").fit(letter.X)
    assert model.tuning_.best.label == found.best.label
    assert (model.n_neighbors_, model.reg_) == (found.best.n_neighbors, found.best.reg)
    result = embed(letter.X, **found.parameters)
    assert np.allclose(model.embedding_, result.Y)


def test_neighbors_that_are_left_open_suit_the_samples(letter):
    found = tune(letter.X, n_neighbors=None, variant="ihne")
    assert {trial.n_neighbors for trial in found.trials} == {12}
    assert [trial.reg for trial in sorted(found.trials, key=lambda trial: -trial.reg)] == list(GRID["reg"])
    assert HNE(reg="auto").fit(letter.X).tuning_.best.label == found.best.label


# "auto" in the estimator and in embed.


def test_auto_is_what_tune_finds(letter, found):
    model = HNE(n_neighbors="auto", reg="auto", variant="auto").fit(letter.X)
    assert (model.n_neighbors_, model.reg_, model.variant_) == (
        found.best.n_neighbors,
        found.best.reg,
        found.best.variant,
    )
    assert model.tuning_.best.label == found.best.label
    assert_array_equal(model.embedding_, HNE(**found.parameters).fit_transform(letter.X))
    assert model.n_neighbors == "auto"
    assert next(iter(model.timings_)) == "tuning"


def test_only_what_is_auto_is_chosen(letter):
    model = HNE(n_neighbors=7, reg="auto", variant="ihne").fit(letter.X)
    assert (model.n_neighbors_, model.variant_) == (7, "ihne")
    assert len(model.tuning_.trials) == len(GRID["reg"])
    assert HNE().fit(letter.X).tuning_ is None


def test_embed_takes_auto(letter):
    result = embed(letter.X, n_neighbors=6, reg="auto", variant="ihne")
    assert result.settings.reg in GRID["reg"]


def test_the_dimension_can_be_auto(letter):
    assert HNE(n_components="auto", n_neighbors=6, variant="ihne").fit(letter.X).embedding_.shape == (90, 2)
    t = np.linspace(0, 3, 200)
    assert HNE(n_components="auto").fit(np.column_stack([np.cos(t), np.sin(t)])).embedding_.shape == (200, 1)
    cube = make_cube(400, random_state=0)
    assert HNE(n_components="auto", n_neighbors=8).fit(cube.X).embedding_.shape == (400, 3)


def test_auto_survives_a_file(letter, tmp_path):
    model = HNE(n_neighbors="auto", variant="ihne", n_components="auto").fit(letter.X)
    model.save(tmp_path / "auto.hne")
    again = HNE.load(tmp_path / "auto.hne")
    assert again.n_neighbors == again.n_components == "auto"
    assert again.n_neighbors_ == model.n_neighbors_
    assert_array_equal(again.transform(letter.X[:3] + 0.01), model.transform(letter.X[:3] + 0.01))


@pytest.mark.parametrize(
    ("name", "value"), [("gamma", "auto"), ("n_neighbors", "Auto"), ("reg", "automatic"), ("n_rounds", "auto")]
)
def test_other_words_are_no_wishes(letter, name, value):
    with pytest.raises((InputError, InputTypeError), match=name):
        HNE(**{name: value}).fit(letter.X)


def test_too_few_samples_to_choose_by_say_so():
    X = np.random.default_rng(0).normal(size=(12, 3))
    with pytest.raises(InputError, match="Give them: n_neighbors=6"):
        HNE(n_neighbors="auto").fit(X)
    with pytest.raises(InputError, match="n_components"):
        HNE(n_components="auto", n_neighbors=2).fit(X[:4])


def test_disconnected_data_is_told_once_with_auto():
    X = np.concatenate([make_s_curve(80, random_state=0).X, 40 + make_s_curve(80, random_state=1).X])
    with advised("pieces") as told:
        HNE(n_neighbors="auto", variant="ihne").fit(X)
    assert len([text for text in told if "pieces" in text]) == 1


def test_a_ring_is_tuned_to_the_chart_that_a_fit_draws():
    angles = np.linspace(0, 2 * np.pi, 60, endpoint=False)
    ring = np.column_stack([wave(k * angles) for k in range(1, 9) for wave in (np.cos, np.sin)])
    found = tune(ring)
    assert found.parameters["coordinates"] == "chart"
    assert found.best.n_neighbors == HNE().fit(ring).n_neighbors_ == CURVE_NEIGHBORS
    model = HNE("auto", reg="auto", variant="auto").fit(ring)
    assert (model.coordinates_, model.n_neighbors_) == ("chart", CURVE_NEIGHBORS)
