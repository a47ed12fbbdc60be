"""Files as people have them: each goes through with one obvious command."""

import csv
import json
import re

import numpy as np
import pytest
from scipy.sparse import csr_array

from hne.cli import main
from hne.datasets import make_swiss_roll
from tests.conftest import shared_file
from tests.helpers.h5ad import write_h5ad

ROLL = make_swiss_roll(90, random_state=0)
GROUPS = np.where(ROLL.chart[:, 0] > np.median(ROLL.chart[:, 0]), "außen", "innen")


def embedded(tmp_path, *words):
    """Rows of the coordinates, and the report, that the command wrote."""
    out, page = tmp_path / "map.csv", tmp_path / "map.html"
    assert main(["embed", *words, "-o", str(out), "--report", str(page)]) == 0
    return list(csv.DictReader(out.read_text(encoding="utf-8").splitlines())), page.read_text(encoding="utf-8")


def places(rows):
    return np.array([[float(row["hne1"]), float(row["hne2"])] for row in rows])


def test_a_semicolon_table_with_decimal_commas_and_a_label_as_excel_writes_it(tmp_path, capsys):
    path = tmp_path / "messung.csv"
    lines = ["Probe;Länge;Breite;Höhe;Gruppe"]
    for number, (row, group) in enumerate(zip(ROLL.X, GROUPS, strict=True)):
        lines.append(";".join([f"P{number:03d}", *(f"{value:.6f}".replace(".", ",") for value in row), group]))
    path.write_bytes("\r\n".join(lines).encode("cp1252"))
    rows, page = embedded(tmp_path, str(path), "--color", "Gruppe")
    assert len(rows) == 90
    assert list(rows[0]) == ["Probe", "Gruppe", "hne1", "hne2"]
    assert {row["Gruppe"] for row in rows} == {"außen", "innen"}
    said = capsys.readouterr().err
    assert "90 samples of 3 features" in said
    assert "decimal comma" in said
    assert "L\\u00e4nge" in page


def test_a_parquet_file_with_strings_and_nulls(tmp_path, capsys):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(ROLL.X.copy(), columns=["x", "y", "z"])
    frame["kind"] = [None if row % 17 == 0 else group for row, group in enumerate(GROUPS)]
    frame["when"] = pd.Timestamp("2026-01-01") + pd.to_timedelta(np.arange(90), unit="D")
    frame.loc[[3, 70], "y"] = None
    path = tmp_path / "frame.parquet"
    frame.to_parquet(path)
    assert main(["embed", str(path), "-o", str(tmp_path / "map.csv")]) == 2
    said = capsys.readouterr().err
    assert "hne: rows must be without missing values, got 2 rows with some (4, 71; in 'y'). Add --missing drop" in said
    rows, _ = embedded(tmp_path, str(path), "--missing", "drop", "--color", "kind")
    assert len(rows) == 88
    assert rows[3]["row"] == "5"
    assert rows[0]["kind"] == ""
    assert rows[0]["when"].startswith("2026-01-01")


def test_an_h5ad_file_of_cells_with_their_types(tmp_path, capsys):
    counts = csr_array(np.random.default_rng(0).poisson(1.0, size=(90, 30)).astype(np.float32))
    path = tmp_path / "cells.h5ad"
    obs = {"cell_type": (["außen", "innen"], (GROUPS == "innen").tolist())}
    ids, genes = [f"cell{row}" for row in range(90)], [f"gene{column}" for column in range(30)]
    write_h5ad(path, counts, obs, ids, genes, obsm={"X_pca": ROLL.X})
    rows, page = embedded(tmp_path, str(path), "--array", "obsm/X_pca", "--color", "cell_type")
    assert [row["cell_type"] for row in rows] == GROUPS.tolist()
    assert next(iter(rows[0].values())) == "cell0"
    assert "cell_type" in page
    capsys.readouterr()
    assert main(["embed", str(path), "--json", "-q"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["n_features"] == 30
    assert any("obsm/X_pca" in notice for notice in told["notices"])


def test_a_folder_of_pictures(tmp_path, capsys):
    image = pytest.importorskip("PIL.Image")
    folder = tmp_path / "waves"
    folder.mkdir()
    row, column = np.mgrid[:8, :9]
    for number in range(40):
        angle = number * np.pi / 40
        wave = 127 + 120 * np.sin(0.7 * (row * np.cos(angle) + column * np.sin(angle)))
        image.fromarray(wave.astype(np.uint8)).save(folder / f"wave{number}.png")
    rows, page = embedded(tmp_path, str(folder))
    assert [next(iter(row.values())) for row in rows][:3] == ["wave0.png", "wave1.png", "wave2.png"]
    assert len(rows) == 40
    assert re.search(r"\"image/(png|jpeg)\"", page)
    assert "40 samples" in capsys.readouterr().err


@pytest.mark.slow
def test_a_matlab_file_with_samples_as_columns(tmp_path, capsys):
    path = shared_file("data", "statue_face_32x32.mat")
    rows, page = embedded(tmp_path, str(path), "--image-size", "32x32", "--color", "dataT_1")
    assert len(rows) == 698
    assert np.isfinite(places(rows)).all()
    assert re.search(r"\"image/(png|jpeg)\"", page)
    assert "samples are its columns" in capsys.readouterr().err
