"""Studies: errors by method, k, reg and seed, failures among them, and the verdicts that follow."""

import csv
from math import inf

import numpy as np
import pytest

from hne import PUBLISHED, embed
from hne.datasets import make_clusters, make_swiss_roll, make_two_surfaces
from hne.metrics import affine_errors
from hne_paper.experiments._cells import Store
from hne_paper.experiments._methods import ALL, ALL_AND_CHART, AUTHORS, CHART, DEFAULT, OWN, VARIANTS, attempt, has_reg
from hne_paper.experiments._studies import PROBLEMS, Problem, Study, run_embeddings, run_study, write_numbers
from hne_paper.experiments._summaries import (
    better_claim,
    measure_tables,
    recovered_claim,
    scores,
    study_tables,
    typical_seed,
)

BASELINES = tuple(method for method in ALL if method not in VARIANTS)


SMALL = Problem(lambda seed: make_two_surfaces(60, random_state=seed), PROBLEMS["surfaces"].measure)


def test_the_experiments_are_about_the_methods_of_the_paper():
    assert ALL == ("LLE", "MLLE", "HLLE", "LTSA", "CLLE", "LLC", "IHNE", "RHNE", "BHNE")


def made_up(errors, n_seeds=3):
    """A study with these errors by method and k, the same for each seed and reg; None for a failure."""
    rows = []
    for (method, k), error in errors.items():
        found = {"failure": "no answer"} if error is None else {"error": error, "overlap": error / 2}
        rows += [{"method": method, "k": k, "reg": reg, **found} for reg in (DEFAULT, AUTHORS)]
    methods = tuple(dict.fromkeys(method for method, _ in errors))
    return Study("surfaces", n_seeds, (tuple(rows),) * n_seeds, methods)


FOUR_METHODS = {
    ("LLE", 5): 0.5,
    ("LLE", 6): 0.2,
    ("HLLE", 5): None,
    ("HLLE", 6): 0.01,
    **{(variant, k): error for variant in VARIANTS for k, error in ((5, 0.04), (6, 0.3))},
}


@pytest.mark.parametrize("method", ALL_AND_CHART)
def test_every_method_embeds_a_flat_grid_or_says_why_not(method):
    grid = np.random.default_rng(0).random((120, 2)) @ [[1.0, 0.0, 0.5], [0.0, 1.0, 0.5]]
    tried = attempt(method, grid, 8)
    assert tried.failure == ""
    assert affine_errors(tried.Y, grid[:, :2]).max() < (0.02 if method == "LLC" else 0.005)


@pytest.fixture(scope="module")
def roll():
    """A roll whose neighbors with k = 8 jump between turns, so that cutting makes a difference."""
    return make_swiss_roll(200, random_state=0).X


@pytest.mark.filterwarnings("ignore::hne.exceptions.HNEWarning")
def test_the_variants_are_the_published_method_whatever_the_defaults(roll):
    for variant in VARIANTS:
        expected = embed(roll, **{**PUBLISHED, "variant": variant.lower(), "n_neighbors": 8, "n_jobs": 1}).Y
        np.testing.assert_array_equal(attempt(variant, roll, 8).Y, expected)


def test_a_chart_is_what_the_defaults_give_with_the_k_that_it_is_told_or_its_own(roll):
    np.testing.assert_array_equal(attempt(CHART, roll, OWN).Y, embed(roll, n_jobs=1).Y)
    np.testing.assert_array_equal(attempt(CHART, roll, 8).Y, embed(roll, n_neighbors=8, n_jobs=1).Y)


def test_a_method_that_cannot_run_gives_its_reason():
    tried = attempt("HLLE", np.random.default_rng(0).random((50, 3)), 5)
    assert tried.Y is None
    assert "n_neighbors" in tried.failure


def test_the_authors_ridge_is_another_embedding_but_for_methods_without_one():
    X = make_two_surfaces(150, random_state=1).X
    for method in ALL:
        default, authors = (attempt(method, X, 6, reg=reg).Y for reg in (DEFAULT, AUTHORS))
        assert np.array_equal(default, authors) != has_reg(method)


def test_a_study_measures_all_methods_at_all_k_with_both_choices_of_reg(tmp_path, monkeypatch):
    monkeypatch.setitem(PROBLEMS, "small", SMALL)
    study = run_study(Store(tmp_path, "fake", n_jobs=1), "small", 2, ("LTSA", "BHNE"), (5, 6))
    assert [len(rows) for rows in study.rows] == [6, 6]
    data = make_two_surfaces(60, random_state=1)
    expected = PROBLEMS["surfaces"].measure(attempt("BHNE", data.X, 6, reg=AUTHORS).Y, data)
    assert study.of("BHNE", 6, AUTHORS)[1] == expected["error"]
    assert study.of("BHNE", 6, AUTHORS, "overlap")[1] == expected["overlap"]
    assert study.of("LTSA", 5, AUTHORS) == study.of("LTSA", 5, DEFAULT)


def with_chart(study, errors):
    """The study with a chart of these errors beside: at each k, and at its own."""
    rows = tuple(
        (*seed, *({"method": CHART, "reg": DEFAULT, "k": k, "error": error} for k, error in errors.items()))
        for seed in study.rows
    )
    return Study(study.problem, study.n_seeds, rows, (*study.methods, CHART))


def test_a_chart_is_measured_at_all_k_and_at_its_own(tmp_path, monkeypatch):
    monkeypatch.setitem(PROBLEMS, "small", SMALL)
    study = run_study(Store(tmp_path, "fake", n_jobs=1), "small", 1, ("BHNE", CHART), (5, 6))
    assert study.neighbors == (5, 6)
    assert study.best_k(CHART) is OWN
    data = make_two_surfaces(60, random_state=0)
    for k in (5, OWN):
        expected = PROBLEMS["surfaces"].measure(attempt(CHART, data.X, k).Y, data)
        assert study.of(CHART, k, AUTHORS) == [expected["error"]]


def test_a_chart_stands_beside_and_changes_nothing():
    study = made_up(FOUR_METHODS)
    beside = with_chart(study, {5: 0.0, 6: 0.0, OWN: 0.0})
    for found, alone in zip(study_tables(beside, "Title"), study_tables(study, "Title"), strict=True):
        assert found.rows[:-1] == alone.rows
        assert found.rows[-1] == (CHART, "0 (0-0)", "3", "0, 0, 0", "own", "0 (0-0)", "3", "0, 0, 0")
        assert "the k that it chooses itself" in found.note
    assert better_claim(beside, "Better.", ("LLE", "HLLE")) == better_claim(study, "Better.", ("LLE", "HLLE"))
    assert typical_seed(beside) == typical_seed(study)
    for found, alone in zip(scores(beside, "Made up"), scores(study, "Made up"), strict=True):
        assert found.right == {**alone.right, CHART: 3}


def test_failures_are_infinite_errors():
    assert made_up(FOUR_METHODS).of("HLLE", 5) == [inf] * 3


def test_the_best_k_is_that_of_the_lowest_median():
    study = made_up(FOUR_METHODS)
    assert [study.best_k(method) for method in ("LLE", "HLLE", "BHNE")] == [6, 6, 5]


def split(ours, theirs):
    """A study of one baseline whose errors differ from seed to seed, the same for each version."""
    methods = {"LLE": theirs, **dict.fromkeys(VARIANTS, ours)}
    rows = tuple(
        tuple(
            {"method": method, "k": 5, "reg": reg, "error": errors[seed]}
            for method, errors in methods.items()
            for reg in (DEFAULT, AUTHORS)
        )
        for seed in range(len(ours))
    )
    return Study("surfaces", len(ours), rows, ("LLE", *VARIANTS))


def test_a_table_has_errors_at_both_settings_and_how_often_each_variant_wins():
    default, authors = study_tables(made_up(FOUR_METHODS), "Title")
    assert default.title == "Title: reg = 1e-4, that of hne.PUBLISHED"
    rows = {row[0]: row[1:] for row in default.rows}
    assert rows["LLE"] == (".50 (.50-.50)", "0", "3, 3, 3", "6", ".20 (.20-.20)", "0", "3, 3, 3")
    assert rows["HLLE"] == ("failed", "0", "-", "6", ".010 (.010-.010)", "3", "0, 0, 0")
    assert rows["BHNE"] == (".040 (.040-.040)", "3", "-", "5", ".040 (.040-.040)", "3", "-")
    assert len(default.header) == len(default.rows[0])
    assert "ridge of HLLE" in authors.note
    assert "ridge of HLLE" not in default.note
    assert "best k of 5 and 6" in default.note


def test_a_claim_names_whom_all_do_better_and_worse_than():
    claim = better_claim(made_up(FOUR_METHODS), "HNE is better.", ("LLE", "HLLE"))
    assert claim.measured == (
        "At k = 5 all three versions do better than LLE, HLLE cannot run (medians IHNE .040, RHNE .040, BHNE .040, "
        "LLE .50); with each method at its best k all three versions do better than LLE, all three do worse than HLLE "
        "(medians IHNE .040, RHNE .040, BHNE .040, LLE .20, HLLE .010)."
    )
    assert claim.verdict == "holds in part"
    assert claim.seeds == "3 seeds"
    assert claim.in_paper


@pytest.mark.parametrize(("n_won", "verdict"), [(5, "does not hold"), (6, "holds"), (9, "holds")])
def test_better_is_better_on_two_thirds_of_the_seeds(n_won, verdict):
    theirs = [0.5] * n_won + [0.01] * (9 - n_won)
    assert better_claim(split([0.1] * 9, theirs), "HNE is better.", ("LLE",)).verdict == verdict


def test_nobody_to_compare_with_is_no_verdict():
    claim = better_claim(split([0.1] * 3, [inf] * 3), "HNE is better.", ("LLE",))
    assert claim.verdict == "shown"
    assert "LLE cannot run" in claim.measured


def test_scores_count_the_seeds_on_which_each_method_is_right():
    found = {score.setting: score.right for score in scores(made_up(FOUR_METHODS), "Made up")}
    assert list(found) == ["k = 5", "k = 6", "each at its best k"]
    assert found["k = 5"] == {"LLE": 0, **dict.fromkeys(VARIANTS, 3)}
    assert found["k = 6"] == {"LLE": 0, "HLLE": 3, **dict.fromkeys(VARIANTS, 0)}
    assert found["each at its best k"] == {"LLE": 0, "HLLE": 3, **dict.fromkeys(VARIANTS, 3)}


@pytest.mark.parametrize(("n_right", "verdict"), [(5, "does not hold"), (6, "holds")])
def test_data_is_recovered_if_most_of_it_is(n_right, verdict):
    claim = recovered_claim({"Made up": split([0.04] * n_right + [0.06] * (9 - n_right), [1.0] * 9)}, "All unroll it.")
    assert claim.verdict == verdict
    assert f"IHNE on {n_right} (median" in claim.measured


def test_the_seed_to_draw_is_the_one_nearest_the_medians():
    assert typical_seed(split([0.1, 0.9, 0.3, 0.2, inf], [1.0] * 5)) == 2
    assert typical_seed(split([0.1], [1.0])) == 0
    assert typical_seed(split([0.1, inf, inf], [1.0] * 3)) == 1


def test_all_that_was_measured_is_written_as_a_table(tmp_path):
    write_numbers(made_up(FOUR_METHODS, n_seeds=2), tmp_path)
    with (tmp_path / "numbers" / "surfaces.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == 2 * len(FOUR_METHODS) * 2
    first = next(row for row in rows if (row["seed"], row["method"], row["k"]) == ("1", "LLE", "6"))
    assert (first["samples"], first["reg"], first["error"], first["failure"]) == ("150", "0.0001", "0.2", "")
    assert next(row for row in rows if row["method"] == "HLLE" and row["k"] == "5")["failure"] == "no answer"


def test_the_numbers_of_charts_have_a_table_of_their_own(tmp_path):
    study = made_up(FOUR_METHODS, n_seeds=1)
    write_numbers(study, tmp_path / "alone")
    write_numbers(with_chart(study, {5: 0.25, OWN: 0.125}), tmp_path / "beside")
    (alone,) = (tmp_path / "alone" / "numbers").iterdir()
    assert (tmp_path / "beside" / "numbers" / alone.name).read_bytes() == alone.read_bytes()
    with (tmp_path / "beside" / "numbers" / "surfaces-chart.csv").open(newline="") as stream:
        rows = [(row["method"], row["k"], row["reg"], row["error"]) for row in csv.DictReader(stream)]
    assert rows == [(CHART, "5", "", "0.25"), (CHART, "own", "", "0.125")]


def test_further_measures_have_their_own_tables():
    default, _ = measure_tables(made_up(FOUR_METHODS), {"overlap": "How to read it."})
    assert default.note == "How to read it."
    assert default.rows[0] == ("LLE", ".25 (.25-.25)", ".10 (.10-.10)")


def test_collapsed_clusters_and_heaps_are_both_errors():
    data = make_clusters(300, random_state=0)
    measure = PROBLEMS["clusters"].measure
    true = measure(data.X, data)
    centers = np.array([data.X[data.labels == label].mean(axis=0) for label in range(5)])
    points = measure(np.where((data.labels < 0)[:, None], data.X, centers[data.labels]), data)
    heap = measure(np.random.default_rng(0).random((300, 2)), data)
    assert true["spread"] == pytest.approx(1)
    assert true["error"] < 0.05
    assert points["overlap"] == 0
    assert points["error"] == pytest.approx(1)
    assert heap["spread"] > 0.9
    assert heap["error"] > 0.7


def test_a_picture_gets_coordinates_or_the_reason_why_there_are_none(tmp_path, monkeypatch):
    monkeypatch.setitem(PROBLEMS, "small", SMALL)
    found = run_embeddings(Store(tmp_path, "fake", n_jobs=1), "small", ("HLLE", "IHNE"), 5)
    assert "n_neighbors" in found["HLLE"]
    np.testing.assert_array_equal(found["IHNE"], attempt("IHNE", make_two_surfaces(60).X, 5).Y)


@pytest.mark.parametrize("name", list(PROBLEMS))
def test_every_problem_is_another_one_for_another_seed(name):
    first, again, other = (PROBLEMS[name].make(seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first.X, again.X)
    assert not np.array_equal(first.X, other.X)
