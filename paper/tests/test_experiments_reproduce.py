"""`hne-paper reproduce`: a page, its pictures, its numbers; resumed where it stopped, refused where it cannot be."""

import json
import re
from functools import partial

import pytest

from hne.exceptions import InputError
from hne.viz import plots
from hne_paper.cli import main
from hne_paper.experiments import EXPERIMENTS, Options, Section, _reproduce, reproduce, surfaces
from hne_paper.experiments._cells import Cell
from hne_paper.experiments._studies import run_embeddings, run_study


def square(number):
    return number * number


def fake(name):
    """An experiment that measures one cell and draws nothing."""

    class Experiment:
        @staticmethod
        def run(options, store):
            (value,) = store.measured("squares", [Cell("three", square, (3,))])
            text = f"value {value}, {options.n_seeds} seeds"
            return Section(name=name, title=f"Title of {name}", text=text)

    return Experiment


@pytest.fixture
def fakes(monkeypatch):
    monkeypatch.setattr(_reproduce, "experiment", fake)


def test_all_experiments_are_run_in_the_order_of_the_page(tmp_path, fakes):
    page = reproduce([], Options(tmp_path, n_seeds=4)).read_text()
    titles = re.findall(r"<h2 id=.*>Title of (\w+)</h2>", page)
    assert tuple(titles) == EXPERIMENTS
    assert "value 9, 4 seeds" in page


def test_the_page_keeps_what_earlier_runs_made(tmp_path, fakes):
    reproduce(["faces"], Options(tmp_path))
    page = reproduce(["sparse"], Options(tmp_path)).read_text()
    assert page.index("Title of sparse") < page.index("Title of faces")


def test_a_section_that_is_damaged_is_left_out_until_it_is_made_again(tmp_path, fakes):
    reproduce(["faces"], Options(tmp_path))
    file = tmp_path / "results" / "faces.json"
    file.write_text(file.read_text().replace('"title": "Title of faces"', '"title": null'))
    assert "Title of faces" not in reproduce(["sparse"], Options(tmp_path)).read_text()
    assert "Title of faces" in reproduce(["faces"], Options(tmp_path)).read_text()


def test_sections_of_other_code_are_not_shown(tmp_path, fakes, monkeypatch):
    reproduce(["faces"], Options(tmp_path))
    monkeypatch.setattr(_reproduce, "code_digest", lambda: "another version")
    assert "Title of faces" not in reproduce(["sparse"], Options(tmp_path)).read_text()


def test_a_quick_run_says_so(tmp_path, fakes):
    assert "A quick run" in reproduce(["faces"], Options(tmp_path, quick=True)).read_text()
    assert "A quick run" not in reproduce(["faces"], Options(tmp_path)).read_text()


def test_every_name_is_an_experiment_with_a_title():
    for name in EXPERIMENTS:
        module = _reproduce.experiment(name)
        assert module.TITLE
        assert callable(module.run)


def test_an_unknown_name_is_refused_before_any_work(tmp_path):
    with pytest.raises(InputError, match=r"name must be one of neighbors, .*, got 'sparce'\. Leave names away"):
        reproduce(["sparse", "sparce"], Options(tmp_path / "new"))
    assert not (tmp_path / "new").exists()


def test_one_experiment_from_the_command_line(tmp_path, capsys):
    assert main(["reproduce", "neighbors", "--seeds", "2", "--jobs", "1", "-o", str(tmp_path)]) == 0
    assert capsys.readouterr().err.endswith(f"wrote {tmp_path / 'index.html'}\n")
    page = (tmp_path / "index.html").read_text()
    assert "hne-paper reproduce neighbors --seeds 2" in page
    assert str(tmp_path) not in page
    for file in re.findall(r'src="([^"]+)"', page):
        assert (tmp_path / file).read_bytes().startswith(b"\x89PNG")
    section = json.loads((tmp_path / "results" / "neighbors.json").read_text())
    assert section["claims"][0]["seeds"] == "2 seeds"


def test_a_failing_baseline_is_an_empty_panel(tmp_path, monkeypatch):
    reasons, few = [], ("HLLE", "IHNE", "RHNE", "BHNE")
    monkeypatch.setattr(plots, "empty_panel", lambda axes, reason, title, **_: reasons.append((title, reason)))
    monkeypatch.setattr(surfaces, "BASELINES", ("HLLE",))
    monkeypatch.setattr(surfaces, "run_study", partial(run_study, methods=few, neighbors=(5, 6)))
    monkeypatch.setattr(surfaces, "run_embeddings", partial(run_embeddings, methods=few))
    reproduce(["surfaces"], Options(tmp_path, n_seeds=1, n_jobs=1))
    ((title, reason),) = reasons
    assert title == "HLLE: failed"
    assert "n_neighbors" in reason


def test_help_names_all_experiments(capsys):
    with pytest.raises(SystemExit, match="0"):
        main(["reproduce", "--help"])
    assert ", ".join(EXPERIMENTS) in " ".join(capsys.readouterr().out.split())


def test_a_bad_name_is_one_line_and_status_2(tmp_path, capsys):
    assert main(["reproduce", "rolls", "-o", str(tmp_path / "new")]) == 2
    assert re.fullmatch(r"hne: name must be one of .*, got 'rolls'\. .*\n", capsys.readouterr().err)
    assert not (tmp_path / "new").exists()


def test_a_data_folder_that_is_not_there_is_said_so(tmp_path, capsys):
    assert main(["reproduce", "faces", "--data", str(tmp_path / "none"), "-o", str(tmp_path / "out")]) == 2
    assert re.search(r"hne: data must be a folder with the original images, got '.*none'", capsys.readouterr().err)


def test_a_data_folder_without_any_images_is_refused_before_any_work(tmp_path):
    with pytest.raises(InputError, match=r"data must be a folder with face_data\.mat or .*, got '.*' without any"):
        reproduce(["neighbors"], Options(tmp_path / "new", data=tmp_path))
    (tmp_path / "teapots.mat").write_text("no teapots")
    with pytest.raises(InputError, match="must be a MAT file"):
        reproduce(["neighbors"], Options(tmp_path / "new", data=tmp_path))
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [({"n_seeds": 0}, "n_seeds must be at least 1, got 0"), ({"n_jobs": 0}, "n_jobs must be at least 1, got 0")],
)
def test_options_are_checked_at_the_door(tmp_path, options, message):
    with pytest.raises(InputError, match=message):
        reproduce([], Options(tmp_path / "new", **options))
    assert not (tmp_path / "new").exists()


def test_a_name_and_paths_may_be_text(tmp_path, fakes):
    assert reproduce("sparse", Options(str(tmp_path))) == tmp_path / "index.html"


def test_sections_say_which_command_made_them(tmp_path, fakes):
    reproduce(["faces"], Options(tmp_path), "hne-paper reproduce faces")
    page = reproduce(["sparse"], Options(tmp_path), "hne-paper reproduce sparse").read_text()
    assert "Made by <code>hne-paper reproduce faces</code>" in page
    assert "Made by <code>hne-paper reproduce sparse</code>" in page


def test_no_seeds_are_refused(capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["reproduce", "--seeds", "0"])
    assert "argument --seeds: must be a whole number, at least 1, got '0'" in capsys.readouterr().err


def test_without_matplotlib_nothing_is_begun(tmp_path, capsys, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    assert main(["reproduce", "neighbors", "-o", str(tmp_path / "new")]) == 2
    assert "pictures need matplotlib" in capsys.readouterr().err
    assert not (tmp_path / "new").exists()
