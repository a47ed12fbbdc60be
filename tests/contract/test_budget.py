"""What the house may cost: lines and files a package, entries at the root, public names, dependencies."""

import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

import hne
from tests.helpers.public_api import public_api

ROOT = Path(__file__).parents[2]
SOURCE = Path(hne.__file__).parent
BUDGET = tomllib.loads((Path(__file__).parent / "budget.toml").read_text())


def lines_and_files(package):
    files = [*(SOURCE / package).rglob("*.py")]
    return sum(len(path.read_text().splitlines()) for path in files), len(files)


@pytest.mark.parametrize("package", BUDGET["packages"])
def test_a_package_stays_within_its_lines_and_files(package):
    lines, files = lines_and_files(package)
    allowed = BUDGET["packages"][package]
    assert lines <= allowed["lines"], f"{package}: {lines} lines; make it smaller, or raise tests/contract/budget.toml"
    assert files <= allowed["files"], f"{package}: {files} files"


def test_the_whole_stays_within_its_lines_files_and_entries():
    lines, files = lines_and_files(".")
    entries = {path.stem for path in SOURCE.iterdir() if not path.stem.startswith("__") and path.name != "py.typed"}
    assert (lines <= BUDGET["lines"], files <= BUDGET["files"], len(entries)) == (True, True, BUDGET["entries"])
    assert {*BUDGET["packages"]} == {path.name for path in SOURCE.iterdir() if (path / "__init__.py").exists()}


def test_no_module_is_longer_than_it_should_be():
    long = {str(path.relative_to(SOURCE)): len(path.read_text().splitlines()) for path in SOURCE.rglob("*.py")}
    assert {name: lines for name, lines in long.items() if lines > BUDGET["module_lines"]} == {}


def test_base_dependencies_are_those_of_the_budget():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert [one.partition(">")[0] for one in project["dependencies"]] == BUDGET["dependencies"]


def test_the_public_names_are_those_that_were_agreed_on():
    agreed = Path(__file__).parent / "api.txt"
    assert public_api() == agreed.read_text(), "run: python tests/helpers/public_api.py > tests/contract/api.txt"


def test_a_small_fit_enters_few_files_and_none_of_what_it_does_not_need():
    entered = set()

    def note(frame, event, _):
        if event == "call" and frame.f_code.co_filename.startswith(str(SOURCE)):
            entered.add(Path(frame.f_code.co_filename).relative_to(SOURCE))

    X = np.random.default_rng(0).random((300, 3))
    hne.HNE().fit(X)  # what is imported on the way is not what is entered
    before = sys.getprofile()
    sys.setprofile(note)
    try:
        hne.HNE().fit(X)
    finally:
        sys.setprofile(before)
    assert len(entered) <= BUDGET["files_of_a_fit"], sorted(map(str, entered))
    assert not {path.parts[0] for path in entered} & {"scale", "tuning", "viz", "io", "cli"}
