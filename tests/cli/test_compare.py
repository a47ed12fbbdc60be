"""`hne compare`: every method on the same file, in a table and a picture."""

import csv
import json

import numpy as np
import pytest

from hne.baselines import methods as _methods
from hne.cli import main
from hne.datasets import make_swiss_roll

ROLL = make_swiss_roll(120, random_state=0)


@pytest.fixture
def points(tmp_path):
    path = tmp_path / "points.csv"
    np.savetxt(path, np.column_stack([ROLL.X, ROLL.chart[:, 0]]), delimiter=",", header="x,y,z,t", comments="")
    return path


@pytest.fixture
def none_installed(monkeypatch):
    monkeypatch.setattr(_methods, "find_spec", lambda name: name if name == "sklearn" else None)


def test_all_methods_are_in_the_table_and_what_is_missing_and_the_picture_are_offered(points, none_installed, capsys):
    assert main(["compare", str(points), "--drop", "t"]) == 0
    printed = capsys.readouterr()
    lines = printed.out.splitlines()
    assert lines[0].split()[:2] == ["method", "trust"]
    assert [line.split()[0] for line in lines[1:]] == [
        "LLE",
        "MLLE",
        "HLLE",
        "LTSA",
        "PCA",
        "Isomap",
        "Spectral",
        "t-SNE",
        "IHNE",
        "RHNE",
        "BHNE",
        "HNE",
    ]
    assert "hne: without UMAP and PHATE, not installed. Run: pip install umap-learn phate\n" in printed.err
    assert "add --plot compare.png" in printed.err


def test_a_method_that_is_not_installed_is_missed_in_a_line(points, none_installed, capsys):
    assert main(["compare", str(points), "--methods", "pca,phate", "-q"]) == 2
    told = capsys.readouterr().err
    assert told == "hne: method='phate' needs phate, got none installed. Run: pip install phate.\n"


def test_those_who_name_their_methods_hear_nothing_of_others(points, none_installed, capsys):
    assert main(["compare", str(points), "--drop", "t", "--methods", "pca,hne"]) == 0
    printed = capsys.readouterr()
    assert [line.split()[0] for line in printed.out.splitlines()] == ["method", "PCA", "HNE"]
    assert "pip install" not in printed.err


def test_chosen_methods_are_written_to_table_and_picture(points, tmp_path, capsys):
    table, picture = tmp_path / "table.csv", tmp_path / "picture.png"
    words = ["--methods", "lle,bhne", "--color", "t", "-o", str(table), "--plot", str(picture)]
    assert main(["compare", str(points), *words]) == 0
    rows = list(csv.DictReader(table.read_text().splitlines()))
    assert [row["method"] for row in rows] == ["LLE", "BHNE"]
    assert 0.5 < float(rows[1]["trustworthiness"]) <= 1
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert f"wrote {picture}" in capsys.readouterr().err


def test_a_method_that_cannot_says_why_in_flags_and_the_others_go_on(points, capsys):
    assert main(["compare", str(points), "-k", "5", "--methods", "hlle,ihne", "--drop", "t", "-q"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "needs --n-neighbors" in lines[1]
    assert float(lines[2].split()[1].strip("*")) > 0.5


def test_machines_get_an_object(points, capsys):
    assert main(["compare", str(points), "--methods", "ihne", "--json", "-q"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["methods"][0]["method"] == "IHNE"
    assert told["methods"][0]["n_measured"] == 120


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--methods", "mds"], "--methods must be of lle"),
        (["-o", "table.xlsx"], r"--output must end in .csv or .json, got 'table.xlsx'"),
        (["-k", "120"], "--n-neighbors 120 needs at least 121 samples"),
    ],
)
def test_what_cannot_be_compared_is_refused(points, capsys, words, says):
    assert main(["compare", str(points), *words, "-q"]) == 2
    printed = capsys.readouterr()
    assert says in printed.err
    assert printed.err.count("\n") == 1
