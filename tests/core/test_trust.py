"""Trust: what speaks against an embedding is found where it is, and not where it is not; nothing is raised."""

import pickle
import warnings
from itertools import pairwise

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.spatial.distance import pdist, squareform
from sklearn.datasets import load_digits, load_iris
from sklearn.neighbors import kneighbors_graph

from hne import HNE, PUBLISHED, embed
from hne.core.tangent.score import TangentScorer, collapsed_share, filled_share, repeated_share
from hne.core.trust.assess import assess
from hne.core.trust.verdict import LEVELS, finding
from hne.datasets import make_cube, make_s_curve, make_swiss_hole, make_swiss_roll
from hne.exceptions import HNEWarning, UntrustworthyWarning
from hne.metrics import affine_errors
from hne.settings import Settings
from hne_paper.datasets import load_statue_faces, load_teapots
from tests.conftest import advised, one_fast, shared_file


@pytest.fixture(scope="module")
def big_roll():
    return make_swiss_roll(800, random_state=11)


@pytest.fixture(scope="module")
def good(big_roll):
    """The roll as the defaults embed it."""
    return embed(big_roll.X)


@pytest.fixture(scope="module")
def halves(big_roll):
    """What is said of the roll with a part of it again, far away."""
    with advised():
        return embed(np.vstack([big_roll.X, big_roll.X[:300] + 90.0])).trust


@pytest.fixture
def chart(rng):
    """A flat strip, four times as long as wide."""
    return rng.random((600, 2)) * [4.0, 1.0]


@pytest.fixture
def rng():
    return np.random.default_rng(5)


# Shares and spreads


def test_a_strip_repeats_nothing_and_a_parabola_or_a_harmonic_does(chart):
    s = chart[:, 0]
    assert repeated_share(chart) < 0.1
    assert repeated_share(np.column_stack([s, (s - 2) ** 2])) > 0.99
    assert repeated_share(np.column_stack([s, np.cos(np.pi * s)])) > 0.95
    assert repeated_share(np.column_stack([chart, np.sin(s) * chart[:, 1]])) > 0.9


def test_a_circle_repeats_nothing_and_neither_does_one_coordinate():
    t = np.linspace(0, 2 * np.pi, 300, endpoint=False)
    assert repeated_share(np.column_stack([np.cos(t), np.sin(t)])) < 0.2
    assert repeated_share(t[:, None]) == 0.0
    assert np.isnan(repeated_share(np.random.default_rng(0).random((9, 2))))


def test_repeated_places_do_not_confuse_the_share(rng):
    Y = np.repeat(rng.random((40, 2)), 12, axis=0)
    assert repeated_share(Y) >= 0
    assert repeated_share(np.zeros((50, 2))) >= 0


def test_points_and_lines_have_collapsed_and_a_turned_or_squeezed_strip_has_not(chart):
    members = TangentScorer.from_samples(chart, Settings()).frames.members
    assert collapsed_share(members, chart @ [[0.0, 1.0], [-1.0, 0.0]]) < 0.02
    assert collapsed_share(members, chart * [1.0, 1e-9]) == collapsed_share(members, chart)
    assert collapsed_share(members, np.round(chart * [1.0, 3.0])) > 0.5
    assert collapsed_share(members, np.column_stack([chart[:, 0], chart[:, 0] > 2])) > 0.9


def test_an_even_range_is_filled_and_two_heaps_with_a_stray_are_not(rng):
    assert filled_share(rng.random((500, 2))) > 0.9
    heaps = np.concatenate([np.zeros(250), np.ones(249), [5.0]])
    assert filled_share(np.column_stack([rng.random(500), heaps])) < 0.1
    assert filled_share(np.zeros((50, 1))) <= 0.1


# Verdicts


def across(data, pairs):
    """Which pairs are far along the surface."""
    i, j = pairs.T
    near = np.linalg.norm(data.X[i] - data.X[j], axis=1)
    return np.linalg.norm(data.chart[i] - data.chart[j], axis=1) > 3 * near


@pytest.mark.parametrize("settings", [{}, PUBLISHED], ids=["default", "published"])
def test_a_good_roll_is_good_and_says_so_in_a_sentence(big_roll, settings):
    model = HNE(**settings).fit(big_roll.X)
    assert affine_errors(model.embedding_, big_roll.chart).mean() < 0.05
    trust = model.trust_
    assert trust.level == "good"
    assert trust.findings == ()
    assert trust.dimension.dimension == 2
    assert model.verdict_ == trust.verdict
    told = (
        "neighborhoods keep their shape (score 0.0" if settings else "the chart keeps the lengths between near samples"
    )
    assert model.verdict_.startswith(f"Can be believed: {told}")
    assert str(trust) == repr(trust) == f"good: {trust.verdict}"


def test_too_large_a_reg_repeats_a_coordinate_and_is_warned_of(big_roll):
    with pytest.warns(UntrustworthyWarning, match=r"^Do not believe it: a coordinate repeats .* See trust_\.$"):
        model = HNE(**PUBLISHED | {"reg": 1e-2}).fit(big_roll.X)
    assert model.trust_.level == "bad"
    assert model.trust_.repeated_share > 0.9
    assert "reg='auto'" in model.verdict_


def test_links_across_gaps_are_told_with_the_numbers_of_samples():
    roll = make_swiss_roll(400, noise=0.6, random_state=23)
    shuffled = np.random.default_rng(0).permutation(400)
    trust = embed(roll.X[shuffled], **PUBLISHED | {"n_neighbors": 12, "reg": 1e-3}).trust
    assert trust.level in ("bad", "doubtful")
    told = next(finding for finding in trust.findings if finding.kind == "short circuits")
    assert told.text.startswith(f"{len(trust.short_circuits)} edges seem to lead across gaps")
    assert told.remedy == "Pass short_circuits='cut', or look at the pairs"
    assert across(roll, shuffled[trust.short_circuits]).mean() > 0.7


def test_links_that_were_cut_are_told_and_speak_against_nothing():
    roll = make_swiss_roll(400, noise=0.3, random_state=23)
    shuffled = np.random.default_rng(0).permutation(400)
    result = embed(roll.X[shuffled], n_neighbors=12)
    assert affine_errors(result.Y, roll.chart[shuffled]).mean() < 0.05
    np.testing.assert_array_equal(result.trust.short_circuits, result.short_circuits)
    assert len(result.short_circuits) > 10
    assert across(roll, shuffled[result.short_circuits]).mean() > 0.7
    assert "short circuits" not in [finding.kind for finding in result.trust.findings]


def test_too_few_coordinates_are_doubtful_and_advised_against(big_roll, good):
    with advised(r"own dimension, 2 \(.*agreed\), got 1\. Try n_components=2\.$"):
        result = embed(big_roll.X, n_components=1, coordinates="chart")
    told = next(finding for finding in result.trust.findings if finding.kind == "dimension")
    assert (told.level, told.remedy) == ("doubtful", "Try n_components=2")
    assert result.trust.level in ("bad", "doubtful")
    assert "dimension" not in [finding.kind for finding in good.trust.findings]


def test_two_coordinates_of_samples_with_more_are_what_screens_have(caplog):
    cube = make_cube(600, random_state=2)
    result = embed(cube.X, coordinates="chart")
    assert "n_components should be" not in caplog.text
    told = next(finding for finding in result.trust.findings if finding.kind == "dimension")
    assert (told.level, told.remedy) == ("good", "Try n_components=3")
    assert told.text == "the samples have 3 dimensions, and the embedding 2"
    assert embed(cube.X, **PUBLISHED, n_components=3).trust.level == "good"


def test_too_many_coordinates_repeat_and_are_advised_against(big_roll):
    with advised("got 3"):
        result = embed(big_roll.X, **PUBLISHED, n_components=3)
    assert result.trust.level == "bad"
    assert result.trust.repeated_share > 0.8


def test_a_ring_may_have_two_coordinates(caplog):
    t = np.random.default_rng(3).random(400) * 2 * np.pi
    result = embed(np.column_stack([np.cos(t), np.sin(t), 0.2 * np.cos(2 * t)]), reg=1e-3)
    assert result.trust.level == "unknown"
    assert "n_components should be" not in caplog.text


def test_digits_iris_and_clusters_on_threads_have_collapsed():
    iris = load_iris().data
    rng = np.random.default_rng(5)
    centers = 10 * rng.normal(size=(6, 3))
    clusters = [center + 0.5 * rng.normal(size=(60, 3)) for center in centers]
    steps = np.linspace(0, 1, 25)[:, None]
    ends = pairwise(centers)
    threads = [a + (b - a) * steps + 0.02 * rng.normal(size=(25, 3)) for a, b in ends]
    for X in (load_digits().data[:500], (iris - iris.mean(axis=0)) / iris.std(axis=0), np.vstack(clusters + threads)):
        with pytest.warns(UntrustworthyWarning, match="it has collapsed"):
            trust = embed(X, **PUBLISHED).trust
        assert trust.level == "bad"
        assert trust.collapsed_share > 0.5


def test_pieces_are_told_and_strays_are_no_reason_to_doubt(big_roll, halves):
    far = np.array([[100.0, 0.0, 0.0], [0.0, 200.0, 0.0]])
    with advised():
        strays = embed(np.vstack([big_roll.X, far])).trust
    assert (strays.level, strays.n_pieces) == ("good", 3)
    assert (halves.level, halves.n_pieces) == ("doubtful", 2)
    assert [finding.kind for finding in halves.findings] == ["pieces"]


def test_what_hangs_by_a_link_is_counted():
    line = np.outer(np.arange(30.0), [3.0, 4.0])
    trust = embed(line, n_neighbors=1, n_components=1, pieces="join").trust
    assert trust.n_bridges > 0
    assert "bridges" in [finding.kind for finding in trust.findings]


def test_samples_that_rebuild_themselves_are_counted():
    roll = make_swiss_roll(200, random_state=0)
    with_self, without = (embed(roll.X, include_self=own).trust.self_share for own in (True, False))
    assert without == 0.0
    assert 0.0 <= with_self <= 1.0


def test_findings_have_fields_and_the_verdict_states_the_decisive_one(halves):
    assert halves.decisive.kind == "pieces"
    assert halves.decisive.values == {"n_pieces": 2}
    assert halves.verdict == f"Believe it with care: {halves.decisive.text}; raise{halves.decisive.remedy[5:]}."
    unknown = embed(ROLL[:5], n_neighbors=2).trust
    assert (unknown.decisive.kind, unknown.decisive.values["reason"]) == ("unknown", "not measured")


def test_what_was_made_for_the_chart_is_what_would_be_made_for_trust_alone():
    for coordinates in ("chart", "layout", "eigenvectors"):
        with advised():
            result = embed(TWO, coordinates=coordinates)
        again = assess(result.core, result.settings).of_samples(result.distinct.index)
        assert pickle.dumps(again) == pickle.dumps(result.trust)


@pytest.mark.parametrize(
    ("kind", "values", "text"),
    [
        ("dimension", {"dimension": 1, "n_components": 2}, "the samples have 1 dimension, and the embedding 2"),
        ("gap", {"gap": 1.02}, "the next eigenvalue is only 2.0% larger than the last one that is shown"),
        ("bridges", {"n_links": 1}, "one link is all that holds parts together"),
        ("short circuits", {"n_edges": 1}, "1 edge seems to lead across gaps, between samples that are far along"),
        ("stress", {"reason": "narrow", "stress": 0.025, "n_components": 2}, "it is a narrow band whose lengths are"),
        ("unknown", {"reason": "closed curve", "dimension": 1, "n_components": 2}, "the samples seem to have 1 dim"),
    ],
)
def test_sentences_are_made_of_fields(kind, values, text):
    assert finding(kind, "good", **values).text.startswith(text)


# Calibration: sixteen embeddings with known charts.
TABLE = [
    (make_swiss_roll, {"n_samples": 600, "even": True}, {}),
    (make_swiss_roll, {"n_samples": 600, "even": True}, {"reg": 1e-2}),
    (make_swiss_roll, {"n_samples": 800}, {"n_neighbors": 8, "reg": 1e-4}),
    (make_swiss_roll, {"n_samples": 800}, {"n_neighbors": 12, "reg": 1e-2}),
    (make_swiss_hole, {"n_samples": 800}, {"reg": 1e-5}),
    (make_swiss_hole, {"n_samples": 800}, {"reg": 1e-2}),
    (make_s_curve, {"n_samples": 600}, {}),
    (make_s_curve, {"n_samples": 600}, {"reg": 1e-7, "variant": "rhne"}),
]


@pytest.mark.slow
def test_bad_embeddings_are_told_from_good_ones():
    good, bad = [], []
    for make, arguments, parameters in TABLE:
        for seed in (91, 92):
            data = make(**arguments, random_state=seed)
            result = embed(data.X, **PUBLISHED | parameters)
            error = affine_errors(result.Y, data.chart).mean()
            (good if error < 0.05 else bad if error > 0.15 else []).append(result.trust.level)
    assert len(good) >= 5
    assert len(bad) >= 5
    assert good.count("good") >= len(good) - 1
    assert sum(level in ("bad", "doubtful") for level in bad) >= len(bad) - 1


@pytest.mark.slow
def test_images_are_not_judged_by_limits_of_surfaces():
    folder = shared_file("data", "teapots100.mat").parent
    rings = embed(load_teapots(folder).X, n_neighbors=4).trust
    assert rings.level == "unknown"
    assert rings.verdict.startswith("Cannot be judged: around a sample 2 directions hold only")
    assert rings.score is not None
    faces = embed(load_statue_faces(folder).X, n_components=3, n_neighbors=10, reg=1e-3).trust
    assert faces.level != "good"
    assert "unknown" in [finding.kind for finding in faces.findings]


# Every kind of samples

ROLL = make_swiss_roll(150, even=True, random_state=3).X
TWO = np.vstack([ROLL, ROLL[:60] + np.array([90.0, 0.0, 0.0])])
SPARSE = np.random.default_rng(0).random((150, 30)) * (np.random.default_rng(1).random((150, 30)) < 0.2)
KINDS = {
    "float32": (ROLL.astype(np.float32), {}),
    "tiny": (ROLL * 1e-200, {}),
    "huge": (ROLL * 1e150, {}),
    "sparse": (csr_array(SPARSE), {}),
    "distances": (squareform(pdist(ROLL)), {"metric": "precomputed"}),
    "known distances": (kneighbors_graph(ROLL, 120, mode="distance"), {"metric": "precomputed", "n_neighbors": 6}),
    "largest piece": (TWO, {"pieces": "largest"}),
    "joined": (TWO, {"pieces": "join"}),
    "distances of pieces": (squareform(pdist(TWO)), {"metric": "precomputed", "pieces": "largest"}),
    "cosine": (np.random.default_rng(2).random((120, 5)), {"metric": "cosine"}),
    "function": (ROLL[:60], {"metric": lambda a, b: np.abs(a - b).max()}),
    "copies": (np.repeat(ROLL[:80], 3, axis=0), {}),
    "lattice": (np.stack(np.meshgrid(np.arange(12.0), np.arange(12.0)), axis=-1).reshape(-1, 2), {}),
    "a line in two": (np.outer(np.arange(40.0), [3.0, 4.0]), {"n_neighbors": 3}),
    "five": (np.random.default_rng(3).random((5, 2)), {"n_neighbors": 2}),
    "three": (np.random.default_rng(3).random((3, 2)), {"n_neighbors": 1, "n_components": 1}),
    "nobody's neighbor": (ROLL[:50], {"neighbors": (np.full((50, 6), -1), None)}),
    "wide": (np.random.default_rng(4).random((60, 500)), {}),
    "as many coordinates as features": (np.random.default_rng(4).random((150, 8)), {"n_components": 8}),
}


QUICK_KINDS = (
    "float32",
    "sparse",
    "distances",
    "copies",
    "a line in two",
    "five",
    "three",
    "nobody's neighbor",
    "joined",
)
OTHER_KINDS = one_fast(*(kind for kind in KINDS if kind not in QUICK_KINDS))


@pytest.mark.parametrize("kind", [*QUICK_KINDS, *OTHER_KINDS])
def test_every_kind_of_samples_has_a_trust_equal_for_any_number_of_threads(kind):
    X, parameters = KINDS[kind]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HNEWarning)
        one, two = (embed(X, n_jobs=n_jobs, **parameters).trust for n_jobs in (1, 2))
    assert one.level in LEVELS
    assert one.verdict.endswith(".")
    assert one.verdict == two.verdict
    assert pickle.dumps(one) == pickle.dumps(two)


def test_units_change_no_verdict():
    plain, tiny, huge = (embed(ROLL * unit).trust for unit in (1.0, 2.0**-600, 2.0**500))
    assert plain.verdict == tiny.verdict == huge.verdict


def test_too_few_samples_and_unknown_distances_are_told_to_be_the_reason():
    for kind in ("five", "known distances"):
        X, parameters = KINDS[kind]
        trust = embed(X, **parameters).trust
        assert trust.level == "unknown"
        assert trust.score is None
        assert trust.verdict.startswith("Cannot be judged: there are too few samples or known distances")


@pytest.mark.slow
def test_a_loaded_and_a_pickled_model_say_the_same(tmp_path):
    with advised():
        model = HNE().fit(TWO)
    model.save(tmp_path / "model.hne")
    loaded = HNE.load(tmp_path / "model.hne")
    assert loaded._fitted.trust is None
    assert loaded.trust_.findings == model.trust_.findings
    assert loaded.trust_.score.score == model.trust_.score.score
    assert loaded.trust_ is loaded.trust_
    assert pickle.loads(pickle.dumps(model)).verdict_ == model.verdict_


def test_what_cannot_be_measured_is_left_out_and_loses_no_embedding(monkeypatch):
    def fails(*_):
        raise np.linalg.LinAlgError("no convergence")

    for name in ("frames_among", "dimension_of"):
        monkeypatch.setattr(f"hne.core.tangent.score.{name}", fails)
    result = embed(ROLL)
    assert result.trust.level == "unknown"
    assert result.trust.score is None
    assert np.isfinite(result.Y).all()
