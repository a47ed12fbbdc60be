"""`hne tune` and `hne embed --auto`: settings chosen for a file, the page about them, and the command to use them."""

import csv
import io
import json
import math
import shlex
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from hne import HNE, PUBLISHED, embed
from hne.cli import _parser, main
from hne.cli.arguments import embed_words, parameters_of
from hne.cli.tune import _doubts, sentences
from hne.datasets import make_swiss_roll
from hne.settings import AUTO
from hne.tuning import GRID, tune
from tests.helpers.pages import Page

ROLL = make_swiss_roll(150, even=True, random_state=0)
SMALL = ["-k", "5,6", "--reg", "1e-3,1e-4", "--variant", "ihne,bhne"]
GRID_OF_SMALL = {"n_neighbors": [5, 6], "reg": [1e-3, 1e-4], "variant": ["ihne", "bhne"]}


@pytest.fixture
def points(tmp_path):
    """A CSV file with names, a label and the roll's samples."""
    path = tmp_path / "points.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["name", "x", "kind", "y", "z"])
        for row, (x, y, z) in enumerate(ROLL.X):
            writer.writerow([f"p{row}", x, "inner" if row % 3 else "outer", y, z])
    return path


@pytest.fixture(scope="module")
def found():
    return tune(ROLL.X, grid=GRID_OF_SMALL)


def coordinates(text):
    return np.array([[float(row["hne1"]), float(row["hne2"])] for row in csv.DictReader(io.StringIO(text))])


def test_the_printed_command_embeds_the_file_with_the_choice(points, found, capsys):
    assert main(["tune", str(points), "--drop", "kind", *SMALL]) == 0
    printed = capsys.readouterr()
    words = shlex.split(printed.out)
    assert printed.out.count("\n") == 1
    assert words[:5] == ["hne", "embed", str(points), "--drop", "kind"]
    for said in (f"chose {found.best.label}: score {found.best.score:.4g}", f"runner-up {found.runner_up.label}"):
        assert said in printed.err
    counts = [sum(trial.outcome == one for trial in found.trials) for one in ("measured", "stopped early")]
    assert f"of 8 settings: {counts[0]} measured, {counts[1]} stopped early, 0 failed, 0 not reached" in printed.err
    assert main([*words[1:], "-q"]) == 0
    expected = embed(ROLL.X, **found.parameters)
    assert (coordinates(capsys.readouterr().out) == expected.Y).all()


def test_quiet_leaves_the_command_alone(points, capsys):
    assert main(["tune", str(points), "-q", "-k", "6", "--reg", "1e-4", "--variant", "bhne"]) == 0
    printed = capsys.readouterr()
    assert printed.out == f"hne embed {points} -k 6 --variant bhne --reg 0.0001 --coordinates chart\n"
    assert printed.err == ""


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_the_table_holds_every_setting_and_says_which_was_chosen(points, tmp_path, found, ending):
    import pandas as pd

    path = tmp_path / f"settings.{ending}"
    assert main(["tune", str(points), *SMALL, "-o", str(path), "-q"]) == 0
    frame = pd.read_csv(path) if ending == "csv" else pd.read_parquet(path)
    assert len(frame) == 8
    assert list(frame.columns) == list(found.table())
    own = [(one.variant, one.n_neighbors, one.reg) for one in found.trials]
    assert list(zip(frame["variant"], frame["n_neighbors"], frame["reg"], strict=True)) == own
    assert np.allclose(frame["score"], found.table()["score"], equal_nan=True)
    assert frame["variant"][frame["choice"] == "chosen"].tolist() == [found.best.variant]
    assert {one.name for one in tmp_path.iterdir()} == {"points.csv", path.name}


def test_json_tells_the_choice_all_trials_and_the_command(points, found, capsys):
    assert main(["tune", str(points), *SMALL, "--json", "-q"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["parameters"] == found.parameters
    assert told["best"]["score"] == found.best.score
    assert len(told["trials"]) == 8
    assert sum(told["counts"].values()) == 8
    assert (told["n_samples"], told["n_tuned"]) == (150, 150)
    assert shlex.split(told["command"])[:2] == ["hne", "embed"]


def table_of(image_shape=None):
    return SimpleNamespace(table=SimpleNamespace(image_shape=image_shape))


def test_images_are_not_judged_by_scores_of_surfaces(found):
    told = _doubts(replace(found, best=replace(found.best, score=0.3)), table_of((8, 8)))
    assert len(told) == 1
    assert "images score high" in told[0]


@pytest.mark.parametrize(
    ("score", "says"), [(0.2, "so high, hardly any was right"), (0.12, "one in ten was right"), (0.03, "")]
)
def test_scores_that_promise_little_are_warned_about(found, score, says):
    told = _doubts(replace(found, best=replace(found.best, score=score)), table_of())
    assert bool(told) == bool(says)
    assert all(says in one for one in told)


def test_pieces_of_the_choice_are_told(found):
    assert "its neighbor graph has 3 pieces" in sentences(replace(found, best=replace(found.best, n_pieces=3)))[0]


def test_one_value_is_kept_and_auto_means_the_usual_ones():
    options = _parser().parse_args(["tune", "x.csv", "-k", "8", "--reg", "auto", "--variant", "ihne, bhne"])
    assert (options.n_neighbors, options.reg, options.variant) == ((8,), None, ("ihne", "bhne"))


def test_help_names_the_usual_grid(capsys):
    with pytest.raises(SystemExit, match="0"):
        main(["tune", "--help"])
    told = capsys.readouterr().out
    assert f"[{','.join(map(str, GRID['n_neighbors']))}]" in told
    regs = told.partition("ridge of the small problems [")[2].partition("]")[0]
    assert tuple(map(float, regs.split(","))) == GRID["reg"]


def test_the_dimension_is_found_before_the_settings(tmp_path, capsys):
    turn = np.linspace(0, 3, 100) + np.random.default_rng(0).random(100) / 100
    np.savetxt(tmp_path / "curve.csv", np.column_stack([np.cos(turn), np.sin(turn), turn]), delimiter=",")
    assert main(["tune", str(tmp_path / "curve.csv"), "-d", "auto", "-k", "4", "--reg", "1e-3", "-q"]) == 0
    assert " -d 1 " in capsys.readouterr().out


def test_neighbors_that_the_samples_have_not_are_said(points, capsys):
    assert main(["tune", str(points), "-k", "6,150", "--reg", "1e-4"]) == 0
    assert "warning: nothing works with --n-neighbors 150: there are 149 neighbors at most" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--budget", "0"], "argument --budget: must be a positive number of seconds such as 60, got '0'"),
        (["--budget", "nan"], "must be a positive number of seconds"),
        (["--budget", "soon"], "must be a positive number of seconds such as 60, got 'soon'"),
        (["-k", ","], "must be values such as 6,8,10, or auto, got ','"),
        (["-k", "6,x"], "must be values such as 6,8,10, or auto, got '6,x'"),
        (["--variant", "lle"], "must be values such as ihne,rhne,bhne, or auto, got 'lle'"),
        (["--reg", ""], "must be values such as 1e-3,1e-4, or auto, got ''"),
        (["--save", "m.hne"], "It is an option of hne embed."),
    ],
)
def test_usage_errors_say_what_is_expected(points, capsys, words, says):
    with pytest.raises(SystemExit, match="2"):
        main(["tune", str(points), *words])
    said = capsys.readouterr().err
    assert says in said
    assert said.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["-k", "0"], "--n-neighbors must be at least 1, got 0. Try --n-neighbors 6."),
        (["-k", "150"], "grid must have an --n-neighbors of at most 149, got 150. Add smaller ones."),
        (["--reg", "-1"], "--reg must be between 1e-12 and 1e+12, got -1.0. Try --reg 1e-4."),
        (["--budget", "1e-9"], "--budget must be enough for one setting at least, got 1e-09 seconds. Raise it."),
        (
            ["-o", "t.npy"],
            "--output must end in .csv, .tsv, .json, .parquet, .arrow or .feather, got 't.npy'. Rename it.",
        ),
        (["--report", "t.txt"], "--report must end in .html or .htm, got 't.txt'"),
        (["-o", "-"], "--output must end in"),
    ],
)
def test_errors_are_one_line_and_write_nothing(points, tmp_path, capsys, words, says):
    assert main(["tune", str(points), "-q", *words]) == 2
    printed = capsys.readouterr()
    assert says in printed.err
    assert printed.err.count("\n") == 1
    assert printed.out == ""
    assert [path.name for path in tmp_path.iterdir()] == ["points.csv"]


def test_too_few_samples_to_choose_by_are_refused(tmp_path, capsys):
    np.savetxt(tmp_path / "few.csv", ROLL.X[:12], delimiter=",")
    assert main(["tune", str(tmp_path / "few.csv"), "-q"]) == 2
    assert (
        "different samples to choose settings by, got 12. Give them: --n-neighbors 6, --reg 1e-4, --variant bhne."
        in (capsys.readouterr().err)
    )


def test_outputs_that_exist_are_kept_unless_forced(points, tmp_path, capsys):
    (tmp_path / "t.csv").write_text("mine")
    words = ["tune", str(points), "-k", "6", "--reg", "1e-4", "-o", str(tmp_path / "t.csv"), "-q"]
    assert main(words) == 2
    assert "it exists already. Add --force" in capsys.readouterr().err
    assert (tmp_path / "t.csv").read_text() == "mine"
    assert main([*words, "--force"]) == 0
    assert (tmp_path / "t.csv").read_text().startswith("choice,variant,")


def test_a_budget_that_runs_out_is_told(points, capsys, monkeypatch):
    # Asked at the begin and at the end of the first setting, and before the second.
    times = iter([0.0, 0.0])
    monkeypatch.setattr("hne.tuning.trials.time", SimpleNamespace(perf_counter=lambda: next(times, math.inf)))
    words = ["tune", str(points), "-k", "5,6", "--reg", "1e-4", "--variant", "ihne", "--n-jobs", "1"]
    assert main([*words, "--budget", "60"]) == 0
    printed = capsys.readouterr()
    assert "of 2 settings: 1 measured, 0 stopped early, 0 failed, 1 not reached" in printed.err
    assert "there is no runner-up" in printed.err


def words_of(*arguments, **chosen):
    choice = {"n_neighbors": 6, "reg": 1e-3, "variant": "bhne", "n_components": 2} | chosen
    return embed_words(_parser().parse_args(["tune", *arguments]), choice)


def test_the_command_repeats_what_matters_and_nothing_else():
    words = words_of(
        "my points.csv", "--columns", "a,b,,c", "--id=-who", "--scale", "robust", "--no-header", "--image-size", "3x4",
        "--metric", "minkowski", "--metric-params", '{"p": 3}', "--gamma", "0.5", "--budget", "9", "-o", "t.csv", "-q",
        "--report", "r.html", "--force", "--separator", "\\t", "--no-include-self", "--transpose", n_components=3,
    )  # fmt: skip
    line = shlex.join(words)
    assert line.startswith("hne embed 'my points.csv' --columns a,b,,c --id=-who ")
    for kept in ("--metric-params '{\"p\": 3}'", "--image-size 3x4", "--no-header", "--separator '\\t'", "-d 3"):
        assert kept in line
    for left in ("--budget", "t.csv", "r.html", "--force", "-q", "--auto"):
        assert left not in line
    options = _parser().parse_args(shlex.split(line)[1:])
    assert (options.columns, options.id, options.transpose) == (("a", "b,c"), "-who", True)
    assert (options.n_neighbors, options.reg, options.variant, options.n_components) == (6, 1e-3, "bhne", 3)
    assert (options.gamma, options.include_self, options.header) == (0.5, False, False)


def test_inputs_that_look_like_options_and_odd_numbers_survive_the_command():
    assert words_of("--", "-x.csv")[2] == "./-x.csv"
    assert words_of("-")[2] == "-"
    reg = 0.1234567890123
    assert float(words_of("x.csv", reg=reg)[-1]) == reg
    assert words_of("x.csv", "--n-jobs", "-2")[3:4] != ["--n-jobs"]
    assert _parser().parse_args(words_of("x.csv", "--n-jobs", "-2")[1:]).n_jobs == -2


def test_edges_are_repeated_as_rows_from_options_or_from_samples():
    options = _parser().parse_args(["embed", "x.csv", "--cut-edges", "92-81,13-58", "--keep-edges", "2-1"])
    line = "hne embed x.csv --variant ihne --cut-edges 13-58,81-92 --keep-edges 1-2"
    assert shlex.join(embed_words(options, {})) == line
    assert _parser().parse_args(embed_words(options, {})[1:]).cut_edges == options.cut_edges == ((13, 58), (81, 92))
    by_samples = {"cut_edges": np.array([[0, 3], [4, 5]]), "keep_edges": None}
    assert embed_words(options, by_samples)[5:] == ["--cut-edges", "1-4,5-6"]
    # Of samples whose rows are not those of the file.
    rows = np.array([1, 2, 4, 5, 8, 9])
    assert embed_words(options, by_samples, rows)[5:] == ["--cut-edges", "1-5,8-9"]


def test_what_auto_and_published_stand_for_is_said_in_full():
    def said(*words, **chosen):
        options = _parser().parse_args(["embed", "x.csv", *words])
        return parameters_of(_parser().parse_args(embed_words(options, chosen)[1:]))

    assert said("--auto") == parameters("--auto")
    assert said("--published", "-k", "9") == parameters("--published", "-k", "9")
    assert said("--published", coordinates="chart") == parameters("--published", "--coordinates", "chart")
    assert said(n_neighbors=None, scale="robust") == parameters()


def test_auto_chooses_what_was_not_given(points, tmp_path, capsys):
    model = tmp_path / "model.hne"
    words = ["embed", str(points), "--auto", "-k", "6", "--variant", "ihne", "--save", str(model), "--json"]
    assert main(words) == 0
    printed = capsys.readouterr()
    told = json.loads(printed.out)
    best = tune(ROLL.X, n_neighbors=6, variant="ihne").best
    assert told["parameters"]["reg"] == best.reg
    assert (told["parameters"]["n_neighbors"], told["parameters"]["variant"]) == (6, "ihne")
    assert told["tuning"]["best"]["score"] == best.score
    assert f"chose {best.label}: score" in printed.err
    assert "by ihne with 6 neighbors" in printed.err
    assert main(["info", str(model), "--json"]) == 0
    held = json.loads(capsys.readouterr().out)
    assert (held["parameters"]["reg"], held["features"]) == (best.reg, ["x", "y", "z"])
    assert main(["info", str(model)]) == 0
    assert "150 of 3 features" in capsys.readouterr().out
    assert main(["transform", str(model), str(points), "-q"]) == 0
    assert np.allclose(coordinates(capsys.readouterr().out), HNE.load(model).embedding_)


def parameters(*words):
    return parameters_of(_parser().parse_args(["embed", "x.csv", *words]))


def test_auto_is_the_three_words_auto():
    words = ["-k", "auto", "--reg", "auto", "--variant", "auto"]
    assert parameters("--auto") == parameters(*words) == parameters("--auto", "-k", "auto")
    assert {name for name, value in parameters("--auto").items() if value == AUTO and name in GRID} == GRID.keys()


def test_published_sets_what_was_not_given():
    given = ["-k", "9", "--reg", "0.01", "--variant", "rhne", "--coordinates", "layout", "--short-circuits", "cut"]
    assert parameters("--published").items() >= PUBLISHED.items()
    assert parameters(*given[:2], "--published").items() >= (PUBLISHED | {"n_neighbors": 9}).items()
    everything, names = parameters(*given, "--published"), ("n_neighbors", "reg", "variant", "coordinates")
    assert [everything[name] for name in (*names, "short_circuits")] == [9, 0.01, "rhne", "layout", "cut"]
    others = parameters("--n-rounds", "2", "--published", *given[2:])
    assert (others["n_neighbors"], others["n_rounds"]) == (PUBLISHED["n_neighbors"], 2)


def test_published_and_auto_contradict_each_other(points, capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["embed", str(points), "--published", "--auto"])
    assert capsys.readouterr().err == (
        "hne: argument --auto: not allowed with argument --published. See hne embed --help.\n"
    )


def test_a_dry_run_says_that_tuning_comes_on_top(points, capsys):
    assert main(["embed", str(points), "--auto", "-d", "auto", "--dry-run"]) == 0
    told = capsys.readouterr().out
    assert "auto neighbors, auto dimensions, reg auto" in told
    assert "forecast for 16 neighbors, the most and 2 dimensions" in told
    assert "tuning   comes on top, very roughly" in told
    assert main(["embed", str(points), "--reg", "auto", "--dry-run", "--json"]) == 0
    plan = json.loads(capsys.readouterr().out)
    assert plan["seconds"].keys() == {
        "neighbors",
        "short circuits",
        "weights",
        "eigenpairs",
        "chart",
        "trust",
        "tuning",
    }
    assert plan["parameters"]["reg"] == "auto"


def test_the_report_shows_pictures_scores_and_the_command(points, tmp_path, found, capsys):
    path = tmp_path / "settings.html"
    assert main(["tune", str(points), *SMALL, "--color", "kind", "--report", str(path), "-q"]) == 0
    command = capsys.readouterr().out.strip()
    page = Page(path.read_text(encoding="utf-8"))
    assert page.words("title") == ["Settings for points.csv"]
    assert page.words("code")[0] == command
    measured = sum(trial.Y is not None for trial in found.trials)
    assert len(page.all("svg")) == measured
    assert len(page.all("table", "heat")) == 2
    assert len(page.all("td", "chosen")) == 1
    assert len(page.all("figure", "chosen")) == 1
    assert len(page.all("td", "none")) == sum(trial.outcome != "measured" for trial in found.trials)
    assert {"inner", "outer"} <= set(page.words("bdi"))
    assert all("src" not in one for name, one in page.elements if name in {"script", "img"})


@pytest.mark.slow
def test_a_patch_is_told_and_drawn_with_its_own_colors(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("hne.tuning.auto.MAX_SAMPLES", 120)
    monkeypatch.setattr("hne.tuning.auto.PATCH_SAMPLES", 100)
    np.savetxt(tmp_path / "many.csv", np.column_stack([ROLL.X, ROLL.chart[:, 0]]), delimiter=",", header="x,y,z,t")
    path = tmp_path / "r.html"
    assert main(["tune", str(tmp_path / "many.csv"), *SMALL, "--color", "t", "--report", str(path)]) == 0
    assert "tuned on 100 of 150 samples, a connected patch" in capsys.readouterr().err
    assert "Settings were tried on 100 of 150 samples: a connected patch" in path.read_text()
