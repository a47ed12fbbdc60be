"""The benchmarks' runner: a row a run, failures included, and nothing measured twice."""

import importlib
import json
import sys
from pathlib import Path

import numpy as np
import pytest

BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"


@pytest.fixture
def bench(monkeypatch):
    """Import a module of benchmarks/, which is no package, and forget it afterwards."""
    before = set(sys.modules)
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    yield importlib.import_module
    for name in set(sys.modules) - before:
        if str(BENCHMARKS) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


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


def test_every_problem_makes_as_many_samples_as_asked(bench):
    for problem in bench("problems").PROBLEMS.values():
        X, chart = problem.make(150)
        assert len(X) == 150
        assert np.isfinite(X).all()
        assert chart is None or chart.shape == (150, problem.n_components)


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
    readme = "# Old\n\n## Weights\n\nformer\n\n## Cold start\n\nkept\n"
    expected = "# Benchmarks\n\n## Swiss roll\n\nnew\n\n## Weights\n\nformer\n\n## Cold start\n\nkept\n"
    assert run.with_section(readme, "## Swiss roll\n\nnew") == expected
    assert run.with_section(expected, "## Weights\n\nnewer") == expected.replace("former", "newer")
