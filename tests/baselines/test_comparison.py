"""Comparisons: every method measured alike, none of them in the way of the others."""

import json
import warnings
from types import SimpleNamespace

import numpy as np
import pytest

from hne import HNE, PUBLISHED, embed
from hne._runtime.progress import listening
from hne.baselines import baseline_embedding
from hne.baselines import comparison as module
from hne.baselines import methods as _methods
from hne.baselines.comparison import (
    COMPARED_METHODS,
    MethodResult,
    comparison,
    comparison_picture,
    comparison_records,
    comparison_table,
    installed_methods,
)
from hne.exceptions import EigenSolverError, InputError, InputTypeError, MissingExtraError, TooLargeError
from hne.metrics import geodesic_quality, rank_quality


@pytest.fixture
def small(roll):
    return roll.X[:150]


@pytest.fixture
def none_installed(monkeypatch):
    """Neither UMAP nor PHATE, which take long, is there; scikit-learn is."""
    monkeypatch.setattr(_methods, "find_spec", lambda name: name if name == "sklearn" else None)


def test_all_methods_that_are_installed_are_run_lle_first_and_hne_last(small, none_installed):
    found = comparison(small[:60], n_neighbors=7)
    labels = [one.label for one in found]
    linear = ["LLE", "MLLE", "HLLE", "LTSA"]
    assert labels == [*linear, "PCA", "Isomap", "Spectral", "t-SNE", "IHNE", "RHNE", "BHNE", "HNE"]
    assert set(COMPARED_METHODS) - set(installed_methods()) == {"umap", "phate"}
    for one in found:
        assert (one.Y is None) == bool(one.reason)
        assert one.seconds > 0


def test_coordinates_and_measures_are_those_of_the_methods_and_metrics(small):
    lle, bhne = comparison(small, ["LLE", "bhne"], n_neighbors=7, reg=1e-3)
    np.testing.assert_array_equal(lle.Y, baseline_embedding("lle", small, n_neighbors=7, reg=1e-3))
    np.testing.assert_array_equal(bhne.Y, embed(small, **PUBLISHED | {"n_neighbors": 7, "reg": 1e-3}).Y)
    ranks, paths = rank_quality(small, bhne.Y, 10), geodesic_quality(small, bhne.Y, 10, n_landmarks=150)
    assert bhne.trustworthiness == ranks.trustworthiness
    assert bhne.continuity == ranks.continuity
    assert bhne.preservation == ranks.preservation
    assert bhne.geodesic_correlation == paths.rank_correlation
    assert bhne.n_measured == 150


@pytest.fixture
def told(monkeypatch):
    """What methods with defaults of their own are told, by name; of the others, those that LLE is."""
    calls = {}

    def baseline_embedding(method, X, **parameters):
        calls[method] = parameters
        return X[:, :2]

    def embed(X, **parameters):
        calls["hne"] = parameters
        return SimpleNamespace(Y=X[:, :2])

    monkeypatch.setattr(module, "baseline_embedding", baseline_embedding)
    monkeypatch.setattr(module, "embed", embed)
    return calls


def test_methods_with_defaults_of_their_own_are_told_what_is_named_and_no_more(small, told):
    common = {"n_components": 2, "random_state": 4, "n_jobs": 1}
    comparison(small, ["lle", "isomap", "hne"], random_state=4, n_jobs=1)
    assert told == {"lle": {"n_neighbors": 6, "reg": 1e-4, **common}, "isomap": common, "hne": common}
    comparison(small, ["lle", "isomap", "hne"], n_neighbors=9, reg=1e-3, random_state=4, n_jobs=1)
    assert told == {name: {"n_neighbors": 9, "reg": 1e-3, **common} for name in ("lle", "isomap", "hne")}


def test_hne_is_what_its_defaults_give_and_variants_are_the_published_ones(small):
    hne, bhne = comparison(small, ["hne", "bhne"])
    np.testing.assert_array_equal(hne.Y, HNE().fit_transform(small))
    np.testing.assert_array_equal(bhne.Y, HNE(**PUBLISHED).fit_transform(small))


def test_a_method_that_is_named_and_not_installed_is_refused_with_what_to_run(small, none_installed):
    match = r"^method='umap' needs umap-learn, got none installed\. Run: pip install umap-learn\.$"
    with pytest.raises(MissingExtraError, match=match):
        comparison(small, ["lle", "UMAP"])


def test_a_method_that_fails_says_why_in_a_line_and_the_others_go_on(small):
    hlle, ihne = comparison(small, ["hlle", "ihne"], n_neighbors=5)
    assert hlle.Y is None
    assert hlle.reason.startswith("method='hlle' needs n_neighbors of more than")
    assert np.isnan(hlle.trustworthiness)
    assert ihne.Y is not None
    assert str(hlle).startswith("none: method='hlle'")
    assert len(str(hlle)) <= 52


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (EigenSolverError("no\n  convergence"), "no convergence"),
        (TooLargeError("needs 3 TB"), "needs 3 TB"),
        (MemoryError(), "not enough memory"),
        (np.linalg.LinAlgError("singular"), "singular"),
        (np.linalg.LinAlgError(), "LinAlgError"),
    ],
)
def test_every_failure_of_a_method_is_a_reason(small, monkeypatch, error, reason):
    def fails(*_, **__):
        raise error

    monkeypatch.setattr(module, "baseline_embedding", fails)
    ltsa, rhne = comparison(small, ["ltsa", "rhne"])
    assert (ltsa.Y, ltsa.reason) == (None, reason)
    assert rhne.reason == ""


@pytest.mark.parametrize("error", [KeyboardInterrupt, ZeroDivisionError])
def test_an_interrupt_and_a_bug_stop_the_comparison(small, monkeypatch, error):
    def fails(*_, **__):
        raise error

    monkeypatch.setattr(module, "baseline_embedding", fails)
    with pytest.raises(error):
        comparison(small, ["lle", "bhne"])


def test_warnings_are_collected_and_none_gets_out(small):
    torn = np.vstack([small, small + 1e4])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (bhne,) = comparison(torn, ["bhne"])
    assert len(bhne.warnings) == 2
    assert bhne.warnings[0].startswith("the neighbor graph has 2 pieces")
    assert bhne.warnings[1].startswith("Do not believe it")
    assert not any("\n" in warning for warning in bhne.warnings)


def test_samples_without_coordinates_are_not_measured(small, monkeypatch):
    Y = np.array(embed(small).Y)
    Y[100:] = np.nan
    monkeypatch.setattr(module, "baseline_embedding", lambda *_, **__: Y)
    (lle,) = comparison(small, ["lle"])
    assert lle.n_measured == 100
    assert lle.trustworthiness == rank_quality(small[:100], Y[:100], 10).trustworthiness


def test_what_cannot_be_measured_is_kept_with_the_reason(small, monkeypatch):
    Y = np.array(embed(small).Y)
    Y[15:] = np.nan
    monkeypatch.setattr(module, "baseline_embedding", lambda *_, **__: Y)
    (lle,) = comparison(small, ["lle"])
    assert lle.Y is Y
    assert lle.reason.startswith("not measured: n_neighbors=10 needs at least 21 samples")


def test_few_samples_are_measured_by_fewer_neighbors():
    (bhne,) = comparison(np.random.default_rng(0).random((9, 3)), ["bhne"], n_neighbors=4)
    assert bhne.reason == ""
    assert bhne.trustworthiness == rank_quality(np.random.default_rng(0).random((9, 3)), bhne.Y, 4).trustworthiness


def test_slow_methods_are_skipped_unless_they_are_named(small, monkeypatch):
    monkeypatch.setattr(module, "SLOW_ABOVE", {"mlle": 149, "lle": 150})
    monkeypatch.setattr(module, "COMPARED_METHODS", ("lle", "mlle"))
    found = {one.label: one for one in comparison(small)}
    assert found["MLLE"].reason == "skipped above 149 samples, unless methods names it"
    assert found["MLLE"].is_skipped
    assert found["LLE"].Y is not None
    (named,) = comparison(small, ["mlle"])
    assert named.Y is not None


def test_a_generator_gives_one_seed_for_all(small):
    first = comparison(small[:40], ["tsne"], random_state=np.random.RandomState(4))[0]
    later = comparison(small[:40], ["lle", "tsne"], random_state=np.random.RandomState(4))[1]
    np.testing.assert_array_equal(first.Y, later.Y)


class Ear:
    """A listener that writes down what it hears."""

    def __init__(self):
        self.heard = []

    def begin(self, stage):
        self.heard.append(stage)

    def step(self, task, done, total):
        pass

    def end(self, stage, result, seconds):
        self.heard.append(result)


def test_every_method_is_one_stage(small):
    ear = Ear()
    with listening(ear):
        lle, bhne = comparison(small, ["lle", "bhne"])
    assert ear.heard == ["LLE", str(lle), "BHNE", str(bhne)]
    assert str(bhne) == f"trustworthiness {bhne.trustworthiness:.3f}, continuity {bhne.continuity:.3f}"


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"methods": ["mds"]}, InputError, "methods must be of lle, mlle, .* bhne, hne, got 'mds'. Choose of these"),
        ({"methods": []}, InputError, "methods must be of .* got none"),
        ({"n_neighbors": 150}, InputError, "n_neighbors=150 needs at least 151 samples"),
        ({"n_neighbors": 2.5}, InputTypeError, "n_neighbors must be .* got 2.5"),
        ({"reg": "auto"}, InputTypeError, "reg of a baseline .* got 'auto'"),
        ({"random_state": "x"}, InputError, "random_state must be an integer, None or a RandomState"),
    ],
)
def test_what_no_method_could_work_with_is_refused_at_the_door(small, arguments, error, message):
    with pytest.raises(error, match=message):
        comparison(small, **arguments)


COMPARED = (
    MethodResult("LLE", np.zeros((2, 2)), "", 0.504, 0.9, 0.91, 0.5, -0.1, 2, ("careful",)),
    MethodResult("HLLE", reason="neighborhoods are too small for it, " * 3),
    MethodResult("BHNE", np.ones((2, 2)), "", 1.25, 0.9004, 0.99, 0.6, 0.8, 2),
)


def test_a_table_is_aligned_and_marks_the_best():
    header, lines = comparison_table(COMPARED)
    cut = "neighborhoods are too small for it, neighborhoods are too ..."
    assert [header, *lines] == [
        "method  trust   contin.    kept   geodesic   seconds",
        "LLE     0.900*    0.910   0.500     -0.100      0.50*",
        f"HLLE        -         -       -          -         -   {cut}",
        "BHNE    0.900*    0.990*  0.600*     0.800*     1.25",
    ]


def test_records_are_rows_of_text_and_numbers():
    first, second, _ = comparison_records(COMPARED)
    assert first == {
        "method": "LLE",
        "seconds": 0.504,
        "trustworthiness": 0.9,
        "continuity": 0.91,
        "preservation": 0.5,
        "geodesic_correlation": -0.1,
        "n_measured": 2,
        "reason": "",
        "warnings": "careful",
    }
    assert second["trustworthiness"] is None
    assert "NaN" not in json.dumps(comparison_records(COMPARED))


def test_a_picture_has_a_panel_a_method():
    skipped = MethodResult("MLLE", reason="skipped above 3 samples", is_skipped=True)
    axes = comparison_picture((*COMPARED, skipped), title="all")
    titles = [panel.get_title(loc="left") for panel in axes]
    assert titles == ["LLE: trustworthiness 0.900", "HLLE: failed", "BHNE: trustworthiness 0.900", "MLLE: skipped"]
    from hne.viz.plots import pyplot

    pyplot().close("all")
