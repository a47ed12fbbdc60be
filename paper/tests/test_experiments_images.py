"""Experiments with images: which are used, the paper's table met, rings judged."""

import numpy as np
import pytest
from scipy.spatial.distance import pdist

from hne import PUBLISHED, embed
from hne.datasets import Dataset, make_swiss_roll
from hne_paper.experiments import Options, faces, rebuilt, tables, teapots
from hne_paper.experiments._cells import Store
from hne_paper.experiments._images import find_faces, find_teapots
from hne_paper.experiments._methods import ALL, DEFAULT, REBUILDERS, VARIANTS, rebuilding_weights
from hne_paper.experiments._pictures import angle_colors
from hne_paper.experiments.tables import CLOSE, CLOSE_RHNE, FACES_NEIGHBORS, PAPER_FACES, WITH, WITHOUT, measured_errors
from tests.conftest import shared_file

# Images are rendered by compiled code: seconds of compiling, for what hne itself does not need.
pytestmark = pytest.mark.slow

# ALGORITHM.md, section 5: what a correct program gets of the halved faces, lengths doubled.
HALVED_FACES = {
    "LLE": (3.0948, 2.7653, 2.5691, 2.4399, 2.3524),
    "IHNE": (1.1255, 0.9607, 0.8390, 0.7711, 0.7380),
    "RHNE": (0.0684, 0.0393, 0.0486, 0.0584, 0.0757),
    "BHNE": (1.3123, 1.2477, 1.2021, 1.0947, 1.0159),
}


def check_table(tmp_path, neighbors):
    folder = shared_file("data", "statue_face_32x32.mat").parent
    images = find_faces(Options(tmp_path, data=folder))
    assert images.is_original
    assert images.scale == 2
    errors = measured_errors(Store(tmp_path, "fake", n_jobs=1), images, neighbors)
    columns = [FACES_NEIGHBORS.index(k) for k in neighbors]
    for method in REBUILDERS:
        near = CLOSE_RHNE if method == "RHNE" else CLOSE
        np.testing.assert_allclose(errors[method][WITH], np.array(PAPER_FACES[method])[columns], rtol=near)
        if method in HALVED_FACES:
            np.testing.assert_allclose(errors[method][WITH], np.array(HALVED_FACES[method])[columns], rtol=0.03)
    assert min(errors["IHNE"][WITHOUT]) > max(errors["LLE"][WITHOUT])
    assert errors["LLE"][WITH] == errors["LLE"][WITHOUT]


@pytest.mark.slow
def test_the_papers_table_of_faces_at_one_k(tmp_path):
    check_table(tmp_path, (6,))


@pytest.mark.slow
def test_all_cells_of_the_papers_table_of_faces(tmp_path):
    check_table(tmp_path, FACES_NEIGHBORS)


def test_the_papers_numbers_are_those_of_its_tables():
    lines = shared_file("ALGORITHM.md").read_text().splitlines()
    cells = [line.strip("| ").split("|") for line in lines if line.startswith("|")]
    rows = [row for row in cells if row[0].strip() in REBUILDERS and len(row) == 6]
    numbers = [(row[0].strip(), tuple(float(cell) for cell in row[1:])) for row in rows]
    assert numbers == [*PAPER_FACES.items(), *tables.PAPER_TEAPOTS.items()]


def made_up_errors(with_itself, left_out):
    """Errors of LLE and MLLE of 2 at both k, and of all versions these."""
    two, ours = {WITH: (2.0, 2.0), WITHOUT: (2.0, 2.0)}, {WITH: with_itself, WITHOUT: left_out}
    return {"LLE": two, "MLLE": two, **dict.fromkeys(VARIANTS, ours)}


@pytest.mark.parametrize(
    ("left_out", "words"),
    [
        ((3.0, 2.5), "IHNE keeps nothing of its gain over LLE and is worse"),
        ((1.5, 1.5), "IHNE keeps 50 % of its gain over LLE"),
        ((1.5, 3.0), "IHNE keeps 0 to 50 % of its gain over LLE, at some k nothing"),
    ],
)
def test_what_is_left_of_the_gain_is_said_in_plain_words(left_out, words):
    assert tables._plain_words(made_up_errors((1.0, 1.0), left_out)).startswith(f"{words};")


def test_who_gains_nothing_loses_nothing():
    assert tables._plain_words(made_up_errors((2.0, 3.0), (4.0, 4.0))).startswith("IHNE has no gain over LLE to lose;")


def test_rings_are_judged_by_their_order():
    right, wrong, failed = {DEFAULT: {"error": 0.0}}, {DEFAULT: {"error": 0.1}}, {DEFAULT: {"failure": "none"}}
    found = {(50, k): dict.fromkeys(ALL, wrong) | dict.fromkeys(VARIANTS, right) for k in (2, 4)}
    found[50, 2]["LLE"] = right
    few = teapots._few_neighbors_claim(found)
    assert few.verdict == "holds"
    assert few.measured.endswith("right on all of these: LLE.")
    assert teapots._claim(found, DEFAULT).verdict == "holds"
    found[50, 4] |= dict.fromkeys(VARIANTS, failed)
    assert teapots._claim(found, DEFAULT).verdict == "does not hold"


def test_faces_are_judged_by_what_is_explained_of_the_angles():
    data = Dataset.of_one_group(np.eye(3), np.eye(3), name="", citation="", chart_names=("pan", "tilt", "light"))
    found = {method: {DEFAULT: {"R2": [0.1, 0.1, 0.1]}} for method in ALL}
    found |= {variant: {DEFAULT: {"R2": [0.9, 0.9, 0.9]}} for variant in VARIANTS}
    assert faces._claim(data, {5: found}, DEFAULT).verdict == "holds"
    found |= {variant: {DEFAULT: {"failure": "none"}} for variant in VARIANTS}
    assert faces._claim(data, {5: found}, DEFAULT).verdict == "does not hold"


def test_errors_of_halved_images_are_doubled_wherever_they_are_shown(tmp_path):
    images = find_faces(Options(tmp_path, data=shared_file("data", "statue_face_32x32.mat").parent))
    black = np.zeros(1024)
    assert rebuilt._error(images, black, 0) == pytest.approx(2 * np.linalg.norm(images.load().X[0]))


def test_rendered_images_stand_in_where_there_are_no_originals(tmp_path):
    for options in (Options(tmp_path), Options(tmp_path, data=tmp_path)):
        assert not find_faces(options).is_original
        assert find_teapots(options, 50).name == "rendered teapots 50"
        assert len(find_teapots(options, 50).load()) == 50


def test_rendered_teapots_stand_in_where_the_file_has_too_few(tmp_path):
    options = Options(tmp_path, data=shared_file("data", "teapots100.mat").parent)
    half, double = find_teapots(options, 50), find_teapots(options, 200)
    assert half.is_original
    assert not double.is_original
    np.testing.assert_allclose(half.load().chart[:, 0], 7.2 * np.arange(50))


def test_where_a_file_lies_does_not_matter_for_what_is_kept(tmp_path):
    file = shared_file("data", "teapots100.mat")
    (tmp_path / "teapots100.mat").write_bytes(file.read_bytes())
    here, there = (find_teapots(Options(tmp_path, data=folder)) for folder in (tmp_path, file.parent))
    assert here == there
    assert repr(here) == repr(there)


def test_images_in_their_own_span_have_the_same_distances(tmp_path):
    images = find_teapots(Options(tmp_path), 20)
    assert images.coordinates().shape == (20, 20)
    np.testing.assert_allclose(pdist(images.coordinates()), pdist(images.load().X), rtol=1e-12)


@pytest.mark.parametrize("method", list(REBUILDERS))
def test_weights_rebuild_with_rows_that_sum_to_one_and_leave_oneself_out_when_told(method):
    X = np.random.default_rng(0).random((60, 5))
    for include_self in (True, False):
        weights = rebuilding_weights(method, X, 4, include_self=include_self)
        np.testing.assert_allclose(weights.sum(axis=1), 1)
    assert not weights.diagonal().any()


@pytest.mark.parametrize("method", VARIANTS)
def test_images_are_rebuilt_by_the_published_weights(method):
    X = make_swiss_roll(150, random_state=0).X
    reg, outer_reg = REBUILDERS[method]
    settings = {"n_neighbors": 8, "variant": method.lower(), "reg": reg, "outer_reg": outer_reg, "n_components": 1}
    expected = embed(X, **{**PUBLISHED, **settings}).weights.J
    assert (rebuilding_weights(method, X, 8) != expected).nnz == 0


@pytest.mark.slow
def test_the_tables_say_what_leaving_the_sample_out_does(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "FACES_NEIGHBORS", (4, 6))
    monkeypatch.setattr(tables, "TEAPOTS_NEIGHBORS", (4, 5))
    monkeypatch.setattr(tables, "PAPER_FACES", {method: row[:2] for method, row in PAPER_FACES.items()})
    monkeypatch.setattr(tables, "PAPER_TEAPOTS", {method: row[:2] for method, row in tables.PAPER_TEAPOTS.items()})
    section = tables.run(Options(tmp_path, quick=True), Store(tmp_path, "fake", n_jobs=1))
    claims = {claim.says: claim for claim in section.claims}
    assert len(claims) == 6
    assert sum(claim.verdict == "shown" for claim in section.claims) == 2
    left_out = next(claim for says, claim in claims.items() if "left out" in says and "faces" in says.lower())
    assert "IHNE keeps nothing of its gain over LLE and is worse" in left_out.measured
    assert left_out.verdict in {"holds in part", "does not hold"}
    assert all(len(row) == len(table.header) for table in section.tables for row in table.rows)


def test_angle_colors_close_the_circle_and_differ_along_it():
    colors = angle_colors(np.array([0.0, 120.0, 240.0, 360.0]))
    np.testing.assert_allclose(colors[0], colors[3], atol=1e-12)
    assert min(np.abs(colors[one] - colors[other]).max() for one, other in ((0, 1), (1, 2), (0, 2))) > 0.3
