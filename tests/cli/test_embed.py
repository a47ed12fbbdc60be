"""`hne embed` and `hne transform`: files in, coordinates, pictures, reports and models out."""

import argparse
import csv
import inspect
import io
import json
import subprocess
import sys

import numpy as np
import pytest
from scipy.stats import iqr

from hne import HNE, PUBLISHED
from hne.cli import _parser, main
from hne.cli import arguments as _arguments
from hne.cli import embed as _embed
from hne.cli.talk import error_text, plain, with_cli_names
from hne.core import parameters as _parameters
from hne.datasets import make_swiss_roll
from hne.exceptions import InputError
from hne.io.preprocess import MISSING, SCALINGS
from hne.scale.sources import READ_BY_WORKERS

ROLL = make_swiss_roll(150, random_state=0)


@pytest.fixture
def points(tmp_path):
    """A CSV file with ids, a label and the roll's samples."""
    path = tmp_path / "points.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["name", "x", "kind", "y", "z"])
        for row, (x, y, z) in enumerate(ROLL.X):
            writer.writerow([f"p{row}", x, "inner" if row % 3 else "outer", y, z])
    return path


@pytest.fixture(scope="module")
def fitted():
    return HNE().fit(ROLL.X)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A file with the model of the roll, by its columns."""
    path = tmp_path_factory.mktemp("model")
    np.savetxt(path / "roll.csv", ROLL.X, delimiter=",", header="x,y,z", comments="")
    assert main(["embed", str(path / "roll.csv"), "--save", str(path / "roll.hne"), "-q"]) == 0
    return path / "roll.hne"


def rows_of(text):
    return list(csv.DictReader(io.StringIO(text)))


def coordinates_in(rows):
    return np.array([[float(row["hne1"]), float(row["hne2"])] for row in rows])


def subparser(name):
    action = next(one for one in _parser()._actions if isinstance(one, argparse._SubParsersAction))
    return action.choices[name]


def test_every_parameter_of_the_estimator_is_an_option_with_its_default(points):
    options = _parser().parse_args(["embed", str(points)])
    defaults = {name: one.default for name, one in inspect.signature(HNE).parameters.items()}
    # On the command line these are -v, --dask and a folder that is no parameter of the method.
    for name in ("verbose", "executor", "checkpoint"):
        del defaults[name]
    assert _arguments.parameters_of(options) == defaults


def test_choices_are_those_of_the_library():
    assert _arguments.SCALINGS == SCALINGS
    assert _arguments.MISSING == MISSING
    assert _embed.WORKERS_READ == READ_BY_WORKERS


def test_coordinates_go_to_standard_output_with_labels_in_the_order_of_the_file(points, fitted, capsys):
    assert main(["embed", str(points)]) == 0
    printed = capsys.readouterr()
    rows = rows_of(printed.out)
    assert [row["name"] for row in rows] == [f"p{row}" for row in range(150)]
    assert {row["kind"] for row in rows} == {"inner", "outer"}
    assert (coordinates_in(rows) == fitted.embedding_).all()
    cut = f"{len(fitted.short_circuits_)} short circuits cut, mean reconstruction error"
    assert f"150 samples of 3 features in 2 dimensions, a chart by ihne with 12 neighbors, {cut}" in printed.err


def test_the_published_method_cuts_nothing_and_says_nothing_of_it(points, capsys):
    assert main(["embed", str(points), "--published"]) == 0
    printed = capsys.readouterr()
    assert (coordinates_in(rows_of(printed.out)) == HNE(**PUBLISHED).fit_transform(ROLL.X)).all()
    sentence = "150 samples of 3 features in 2 dimensions, eigenvectors by bhne with 6 neighbors, mean"
    assert sentence in printed.err


def test_quiet_says_nothing(points, tmp_path, capsys):
    assert main(["embed", str(points), "-o", str(tmp_path / "out.csv"), "--quiet"]) == 0
    assert capsys.readouterr() == ("", "")


def test_every_output_is_written_and_named(points, tmp_path, capsys):
    names = ["out.csv", "out.html", "out.png", "out.hne"]
    options = ["-o", "--report", "--plot", "--save"]
    words = [word for option, name in zip(options, names, strict=True) for word in (option, str(tmp_path / name))]
    assert main(["embed", str(points), "--color", "kind", *words]) == 0
    printed = capsys.readouterr()
    assert printed.out == ""
    for name in names:
        assert f"wrote {tmp_path / name}" in printed.err
    assert (tmp_path / "out.png").read_bytes().startswith(b"\x89PNG")
    page = (tmp_path / "out.html").read_text(encoding="utf-8")
    assert "points.csv" in page
    assert "hne embed" in page
    assert {path.name for path in tmp_path.iterdir()} == {"points.csv", *names}


@pytest.mark.parametrize("ending", ["npy", "parquet", "json"])
def test_coordinates_are_the_same_whatever_the_file(points, fitted, tmp_path, ending):
    import pandas as pd

    path = tmp_path / f"out.{ending}"
    assert main(["embed", str(points), "-o", str(path), "--quiet"]) == 0
    if ending == "npy":
        found = np.load(path)
    else:
        frame = pd.read_json(path) if ending == "json" else pd.read_parquet(path)
        assert frame["name"].tolist() == [f"p{row}" for row in range(150)]
        found = frame[["hne1", "hne2"]].to_numpy()
    assert np.allclose(found, fitted.embedding_, rtol=1e-9, atol=0)


def test_parameters_reach_the_estimator(points, capsys):
    words = ["-k", "8", "--variant", "ihne", "--reg", "1e-3", "-d", "1", "--no-include-self", "--gamma", "2"]
    assert main(["embed", str(points), *words]) == 0
    model = HNE(8, variant="ihne", reg=1e-3, n_components=1, include_self=False, gamma=2)
    found = [float(row["hne1"]) for row in rows_of(capsys.readouterr().out)]
    assert (np.array(found) == model.fit_transform(ROLL.X)[:, 0]).all()


def test_a_metric_takes_its_parameters_as_json(points, capsys):
    assert main(["embed", str(points), "--metric", "minkowski", "--metric-params", '{"p": 3}']) == 0
    model = HNE(metric="minkowski", metric_params={"p": 3})
    assert (coordinates_in(rows_of(capsys.readouterr().out)) == model.fit_transform(ROLL.X)).all()


def test_json_says_what_was_done(points, tmp_path, capsys):
    out = tmp_path / "out.csv"
    assert main(["embed", str(points), "-o", str(out), "--json", "--scale", "robust"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["n_samples"], told["n_features"], told["features"]) == (150, 3, ["x", "y", "z"])
    assert told["labels"] == ["kind"]
    assert (told["parameters"]["n_neighbors"], told["parameters"]["reg"]) == (12, 1e-4 * 2**3.3)
    assert told["outputs"] == {"output": str(out)}
    assert told["piece_sizes"] == [150]
    model = HNE().fit((ROLL.X - np.median(ROLL.X, axis=0)) / iqr(ROLL.X, axis=0))
    assert told["short_circuits"] == len(model.short_circuits_) > 0
    assert told["chart"] == {"route": model.chart_.route, "stress": pytest.approx(model.chart_.stress)}
    assert told["eigenvalues"] == pytest.approx(model.eigenvalues_)
    assert {"reading", "neighbors", "eigenpairs", "writing"} <= told["timings"].keys()
    assert all(warning.startswith("Do not believe it") for warning in told["warnings"])


# Of so few samples in five dimensions, a layout is what "auto" stands for.
@pytest.mark.parametrize(
    ("coordinates", "made"),
    [("auto", "a layout"), ("layout", "a layout"), ("chart", "a chart"), ("eigenvectors", "eigenvectors")],
)
def test_coordinates_are_chosen_and_named(tmp_path, capsys, coordinates, made):
    cloud = np.random.default_rng(0).normal(size=(60, 5))
    np.savetxt(tmp_path / "cloud.csv", cloud, delimiter=",")
    words = ["embed", str(tmp_path / "cloud.csv"), "--coordinates", coordinates]
    assert main(words) == 0
    printed, model = capsys.readouterr(), HNE(coordinates=coordinates).fit(cloud)
    assert (coordinates_in(rows_of(printed.out)) == model.embedding_).all()
    assert f"in 2 dimensions, {made} by ihne with {model.n_neighbors_} neighbors, " in printed.err
    assert main([*words, "--json", "-q"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["parameters"]["coordinates"] == model.coordinates_
    assert (told["chart"] is None, told["layout"] is None) == (made != "a chart", made != "a layout")
    assert len(told["eigenvalues"]) == (0 if made == "a layout" else 2)
    if made == "a layout":
        assert told["layout"] == {"kl_divergence": model.kl_divergence_}


def test_json_of_the_published_method_has_no_chart(points, tmp_path, capsys):
    assert main(["embed", str(points), "-o", str(tmp_path / "out.csv"), "--json", "-q", "--published"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["chart"] is None
    assert told["short_circuits"] == len(HNE(**PUBLISHED).fit(ROLL.X).short_circuits_)
    assert len(told["eigenvalues"]) == 2


def test_json_without_an_output_has_the_coordinates(points, capsys):
    assert main(["embed", str(points), "--json", "-q"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert np.array(told["coordinates"]).shape == (150, 2)
    assert told["ids"][:2] == ["p0", "p1"]


def test_warnings_are_said_in_the_words_of_the_command_line(tmp_path, capsys):
    path = tmp_path / "two.csv"
    cloud = np.random.default_rng(0).normal(size=(80, 3))
    np.savetxt(path, np.vstack([cloud, cloud + 100]), delimiter=",")
    assert main(["embed", str(path), "-o", str(tmp_path / "out.csv"), "--report", str(tmp_path / "r.html")]) == 0
    said = capsys.readouterr().err
    assert "hne: warning: the neighbor graph has 2 pieces" in said
    assert "piece_labels_" not in said
    assert (tmp_path / "out.csv").read_text().startswith("piece,hne1,hne2\n1,")
    assert "raise --n-neighbors" in said
    assert "--pieces join" in said


def test_rows_with_gaps_are_left_out_and_the_rest_numbered(tmp_path, capsys):
    path = tmp_path / "gaps.csv"
    lines = [",".join(str(value) for value in row) for row in ROLL.X]
    lines[4] = "1,,2"
    path.write_text("x,y,z\n" + "\n".join(lines) + "\n")
    assert main(["embed", str(path), "--missing", "drop"]) == 0
    printed = capsys.readouterr()
    assert [row["row"] for row in rows_of(printed.out)][3:5] == ["4", "6"]
    assert "left out 1 row with missing values (5)" in printed.err
    assert main(["embed", str(path), "--missing", "impute"]) == 0
    assert len(rows_of(capsys.readouterr().out)) == 150


def test_edges_are_named_by_the_rows_of_the_file(tmp_path, capsys):
    path, model = tmp_path / "gaps.csv", tmp_path / "model.hne"
    lines = [",".join(str(value) for value in row) for row in ROLL.X]
    path.write_text("x,y,z\n" + "\n".join([*lines[:4], "1,,2", *lines[4:]]) + "\n")
    # Row 5 of the file is none of the samples, of which the fifth is in row 6.
    pairs = HNE().fit(ROLL.X).short_circuits_[:2]
    rows = np.where(pairs < 4, pairs + 1, pairs + 2)
    words = ["embed", str(path), "--missing", "drop", "-k", "12", "--save", str(model)]
    edges = ["--cut-edges", "8-4, 6-30", "--keep-edges", ",".join(f"{one}-{other}" for one, other in rows)]
    assert main([*words, *edges, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["parameters"]
    assert (told["cut_edges"], told["keep_edges"]) == ([[3, 6], [4, 28]], sorted(pairs.tolist()))
    expected = HNE(12, cut_edges=[(3, 6), (4, 28)], keep_edges=pairs).fit(ROLL.X)
    again = HNE.load(model)
    np.testing.assert_array_equal(again.embedding_, expected.embedding_)
    assert again.cut_edges == ((3, 6), (4, 28))
    assert main(["embed", str(path), "--missing", "drop", *edges, "--dry-run"]) == 0
    assert main(["tune", str(path), "--missing", "drop", "-k", "8", "--reg", "1e-3", *edges, "-q"]) == 0
    assert f"--cut-edges 4-8,6-30 --keep-edges {edges[3]}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--cut-edges", "3-5"], "--cut-edges must be rows that are embedded, got row 5. Rows are counted from 1"),
        (["--keep-edges", "3-152"], "--keep-edges must be rows that are embedded, got row 152."),
        (["--cut-edges", "3-4", "--keep-edges", "4-3"], "--keep-edges must have no pair of --cut-edges, got 3-4."),
        (["--cut-edges", "3-3"], "--cut-edges: must be pairs of different rows, counted from 1, such as 13-58,81-92"),
        (["--cut-edges", "0-3"], "counted from 1, such as 13-58,81-92, got '0-3'"),
        (["--keep-edges", "3"], "such as 13-58,81-92, got '3'"),
        (["--keep-edges", "3-4-5"], "such as 13-58,81-92, got '3-4-5'"),
        (["--keep-edges", ","], "such as 13-58,81-92, got ','"),
        (["--keep-edges", "a-b"], "such as 13-58,81-92, got 'a-b'"),
    ],
)
def test_edges_between_rows_that_are_not_there_are_refused(tmp_path, capsys, words, says):
    path = tmp_path / "gaps.csv"
    lines = [",".join(str(value) for value in row) for row in ROLL.X]
    path.write_text("x,y,z\n" + "\n".join([*lines[:4], "1,,2", *lines[4:]]) + "\n")
    try:
        status = main(["embed", str(path), "--missing", "drop", "-q", *words])
    except SystemExit as ended:
        status = ended.code
    assert status == 2
    assert says in capsys.readouterr().err


def test_columns_of_different_scales_are_pointed_out_once(tmp_path, capsys):
    path = tmp_path / "scales.csv"
    np.savetxt(path, ROLL.X * [1, 1, 1e5], delimiter=",", header="a,b,c", comments="")
    assert main(["embed", str(path)]) == 0
    assert capsys.readouterr().err.count("columns differ in scale: 'c' spreads by") == 1
    assert main(["embed", str(path), "--scale", "standard"]) == 0
    assert "differ in scale" not in capsys.readouterr().err


def test_a_dry_run_tells_the_plan_and_writes_nothing(points, tmp_path, capsys):
    words = ["embed", str(points), "-o", str(tmp_path / "out.csv"), "--dry-run"]
    assert main(words) == 0
    told = capsys.readouterr().out
    method = "ihne, 12 neighbors, 2 dimensions, reg 0.000985, dense solver\n"
    for word in ("150 samples of 3 features", method, "GB at the peak", "it fits", "roughly", "out.csv"):
        assert word in told
    assert main([*words, "--json"]) == 0
    plan = json.loads(capsys.readouterr().out)
    assert plan["n_samples"] == 150
    assert (plan["n_neighbors"], plan["parameters"]["n_neighbors"], plan["parameters"]["variant"]) == (12, 12, "ihne")
    assert plan["fits"] is True
    assert plan["seconds"].keys() == {"neighbors", "short circuits", "weights", "eigenpairs", "chart", "trust"}
    assert [path.name for path in tmp_path.iterdir()] == ["points.csv"]


def test_a_dry_run_takes_the_most_neighbors_where_what_suits_is_not_known(points, capsys, monkeypatch):
    assert main(["embed", str(points), "--dry-run", "-d", "auto"]) == 0
    told = "ihne, neighbors that suit the samples, auto dimensions, reg that suits them, dense solver; forecast for"
    assert f"{told} 12 neighbors, the most and 2 dimensions\n" in capsys.readouterr().out
    monkeypatch.setattr("hne.cli.embed.MAX_LOOKED_AT", 10)
    assert main(["embed", str(points), "--dry-run", "--json"]) == 0
    plan = json.loads(capsys.readouterr().out)
    assert (plan["n_neighbors"], plan["parameters"]["n_neighbors"]) == (12, None)
    assert main(["embed", str(points), "--dry-run", "--published"]) == 0
    assert "bhne, 6 neighbors, 2 dimensions, reg 0.0001, dense solver\n" in capsys.readouterr().out


def test_a_dry_run_finds_what_suits_samples_near_no_surface(tmp_path, capsys):
    np.save(tmp_path / "cloud.npy", np.random.default_rng(0).normal(size=(200, 8)))
    assert main(["embed", str(tmp_path / "cloud.npy"), "--dry-run"]) == 0
    assert "ihne, 10 neighbors, 2 dimensions, reg 0.1, a layout\n" in capsys.readouterr().out
    assert main(["embed", str(tmp_path / "cloud.npy"), "--dry-run", "--json"]) == 0
    plan = json.loads(capsys.readouterr().out)
    assert (plan["parameters"]["coordinates"], plan["solver"]) == ("layout", "none")
    assert plan["seconds"].keys() == {"neighbors", "short circuits", "weights", "layout", "trust"}


def test_a_dry_run_names_the_columns_as_a_run_would(tmp_path, capsys):
    path = tmp_path / "classes.csv"
    path.write_text("a,b,target,name\n" + "".join(f"{t / 7:.3f},{t % 5},{t % 3},s{t}\n" for t in range(40)))
    assert main(["embed", str(path), "--dry-run"]) == 0
    told = capsys.readouterr().out
    assert "40 samples of 2 features" in told
    assert "columns  features a, b; labels target; ids name\n" in told
    assert main(["embed", str(path), "--dry-run", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["features"] == ["a", "b"]


def test_a_dry_run_refuses_what_a_run_would(points, tmp_path, capsys):
    (tmp_path / "gaps.csv").write_text("a,b\n" + "1,2\n" * 20 + "3,\n")
    assert main(["embed", str(tmp_path / "gaps.csv"), "--dry-run"]) == 2
    assert "got 1 row with some (21; in 'b')" in capsys.readouterr().err
    assert main(["embed", str(points), "--dry-run", "-k", "150"]) == 2
    assert "--n-neighbors 150 needs at least 151 samples" in capsys.readouterr().err


def test_new_samples_are_placed_by_name_filled_and_scaled_as_in_the_fit(points, tmp_path, capsys):
    model = tmp_path / "model.hne"
    assert main(["embed", str(points), "--scale", "standard", "--save", str(model), "-q"]) == 0
    shuffled = tmp_path / "new.csv"
    lines = [f"{z},extra,{x},{y}" for x, y, z in ROLL.X[:20]]
    shuffled.write_text("z,comment,x,y\n" + "\n".join(lines) + "\n")
    assert main(["transform", str(model), str(shuffled)]) == 0
    printed = capsys.readouterr()
    scaled = (ROLL.X - ROLL.X.mean(axis=0)) / ROLL.X.std(axis=0)
    assert np.allclose(coordinates_in(rows_of(printed.out)), HNE().fit(scaled).embedding_[:20], atol=1e-12)
    assert "warning" not in printed.err


def test_new_samples_without_a_column_of_the_fit_are_refused(model, tmp_path, capsys):
    new = tmp_path / "new.csv"
    new.write_text("x,y\n1,2\n3,4\n")
    assert main(["transform", str(model), str(new)]) == 2
    assert "'z'" in capsys.readouterr().err


def test_new_samples_go_to_json_with_their_coordinates(points, model, fitted, capsys):
    assert main(["transform", str(model), str(points), "--json", "-q"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["ids"][:2] == ["p0", "p1"]
    assert (np.array(told["coordinates"]) == fitted.embedding_).all()
    assert main(["transform", str(model), str(points), "--json", "-o", "-"]) == 2
    assert "Choose one." in capsys.readouterr().err


def test_a_model_of_images_asks_for_images_and_one_of_columns_for_columns(points, model, tmp_path, capsys):
    image = pytest.importorskip("PIL.Image")
    folder = tmp_path / "images"
    folder.mkdir()
    for number in range(20):
        image.fromarray(np.arange(16, dtype=np.uint8).reshape(4, 4) * number % 200).save(folder / f"{number}.png")
    assert main(["embed", str(folder), "--save", str(tmp_path / "images.hne"), "-q"]) == 0
    assert main(["transform", str(tmp_path / "images.hne"), str(points)]) == 2
    assert "points.csv' must hold images, as those of 4 x 4 in '" in capsys.readouterr().err
    assert main(["transform", str(model), str(folder)]) == 2
    assert "new samples must have the 3 features of the model, got 16" in capsys.readouterr().err


def test_thumbnails_are_asked_for_before_the_work(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("hne.cli.talk.find_spec", lambda _: None)
    np.save(tmp_path / "images.npy", np.random.default_rng(0).random((30, 4, 4)))
    assert main(["embed", str(tmp_path / "images.npy"), "--report", str(tmp_path / "map.html"), "-q"]) == 2
    assert "--report of images needs pillow, got none installed" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["images.npy"]


def test_an_option_of_another_command_is_named(points, capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["transform", str(points), str(points), "--report", "x.html"])
    assert (
        "unrecognized arguments: --report x.html. It is an option of hne embed and hne tune." in capsys.readouterr().err
    )


def test_transform_of_what_is_no_model_is_refused(points, capsys):
    assert main(["transform", str(points), str(points)]) == 2
    assert "it is not a saved model" in capsys.readouterr().err


def test_standard_input_is_read(points, fitted, capsysbinary, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(points.read_bytes())))
    assert main(["embed", "-"]) == 0
    rows = rows_of(capsysbinary.readouterr().out.decode())
    assert (coordinates_in(rows) == fitted.embedding_).all()


def test_a_reader_that_leaves_early_is_no_error(points):
    command = f"{sys.executable} -m hne embed {points} -q | head -1"
    run = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert run.stdout == "name,kind,hne1,hne2\n"
    assert run.stderr == ""


def test_an_unexpected_error_is_one_line_that_says_how_to_see_more(points, capsys, monkeypatch):
    monkeypatch.setattr("hne.io.read_table", lambda *_: 1 / 0)
    assert main(["embed", str(points), "-q"]) == 1
    said = capsys.readouterr().err
    assert said.startswith("hne: unexpected ZeroDivisionError: division by zero. This is a bug: set HNE_DEBUG=1")
    assert said.count("\n") == 1
    monkeypatch.setenv("HNE_DEBUG", "1")
    with pytest.raises(ZeroDivisionError):
        main(["embed", str(points), "-q"])


def test_info_names_versions_solvers_and_extras(capsys):
    assert main(["info"]) == 0
    told = capsys.readouterr().out
    for word in ("hne ", "numpy", "dense (LAPACK)", "direct (", "pyarrow", "cores", "GB free"):
        assert word in told
    assert main(["info", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["libraries"]["numpy"] == np.__version__


def test_without_shtab_completion_says_what_to_install(capsys, monkeypatch):
    monkeypatch.setattr("hne.cli.talk.find_spec", lambda _: None)
    assert main(["completion", "bash"]) == 2
    assert capsys.readouterr().err == (
        "hne: hne completion needs shtab, got none installed. Run: pip install 'hne[completion]'.\n"
    )


def test_an_embedding_that_nobody_assesses_is_written_and_reported(points, tmp_path, capsys):
    words = ["--no-assess", "--report", str(tmp_path / "map.html"), "--json", "-q"]
    assert main(["embed", str(points), *words]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["trust"], told["verdict"], told["score"]) == (None, None, None)


@pytest.mark.parametrize("shell", ["bash", "zsh", "tcsh"])
def test_shells_get_a_script_that_knows_commands_and_options(shell, capsys):
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert "embed" in script
    assert "n-neighbors" in script


def test_bash_accepts_its_script(capsys, tmp_path):
    main(["completion", "bash"])
    (tmp_path / "hne").write_text(capsys.readouterr().out)
    completed = subprocess.run(
        ["bash", "-c", f"source {tmp_path}/hne; COMP_WORDS=(hne em); COMP_CWORD=1; _shtab_hne; echo ${{COMPREPLY[@]}}"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert completed.stdout.strip() == "embed"


@pytest.mark.parametrize(
    ("text", "option", "says"),
    [
        ("32", "--image-size", "must be WIDTHxHEIGHT such as 32x32, got '32'"),
        ("0x8", "--image-size", "must be WIDTHxHEIGHT"),
        ("[1]", "--metric-params", "must be a JSON object"),
        ("{", "--metric-params", "must be a JSON object"),
        ("sideways", "--pieces", "invalid choice: 'sideways'"),
        ("bhn", "--variant", "Did you mean bhne?"),
        ("x", "--model", "unrecognized arguments: --model x. See hne --help."),
        ("8", "--n-neighbours", "unrecognized arguments: --n-neighbours 8. Did you mean --n-neighbors or --neighbors?"),
        ("8", "--neighbours", "unrecognized arguments: --neighbours 8. Did you mean --neighbors or --n-neighbors?"),
    ],
)
def test_usage_errors_say_what_is_expected(points, capsys, text, option, says):
    with pytest.raises(SystemExit, match="2"):
        main(["embed", str(points), option, text])
    said = capsys.readouterr().err
    assert says in said
    assert said.count("\n") == 1


def test_names_of_columns_are_split_at_commas_and_doubled_commas_stay():
    assert _arguments.names("a, b,c,,d") == ("a", "b", "c,d")


def test_messages_are_translated_where_they_name_a_parameter_and_only_there():
    assert with_cli_names("outer_reg=None means reg. eigen_solver='direct'") == (
        "--outer-reg None means reg. --eigen-solver direct"
    )
    assert with_cli_names("the neighbors of a metric. See piece_labels_. Raise reg (see is_embedded_).") == (
        "the neighbors of a metric. Raise reg."
    )
    assert error_text(InputError(parameter="reg", rule="must be positive", value="n_jobs", remedy="Try reg=0.1")) == (
        "--reg must be positive, got 'n_jobs'. Try --reg 0.1."
    )


def test_json_holds_what_numpy_made():
    assert plain({"a": np.float32(1.5), "b": (np.arange(2), float("nan")), 3: _parameters}) == {
        "a": 1.5,
        "b": [[0, 1], None],
        "3": str(_parameters),
    }
