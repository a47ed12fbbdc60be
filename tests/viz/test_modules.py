"""Modules of the pages: each by itself in node, and all of them as one script."""

import re
import shutil
import subprocess
from collections import Counter
from importlib.resources import files
from pathlib import Path

import pytest

from hne.viz.report.scripts import EXPORT, IMPORT, bundle, joined_modules, package_text

NODE = shutil.which("node")
TESTS = sorted((Path(__file__).parent / "modules").glob("*.test.mjs"))
FOLDERS = ("viz/report/static", "explorer/static")
MODULES = sorted(
    f"{folder}/{file.name}"
    for folder in FOLDERS
    for file in (files("hne") / folder).iterdir()
    if file.name.endswith(".js")
)
ENTRIES = ("report", "tuning")


@pytest.mark.browser
@pytest.mark.skipif(NODE is None, reason="needs node on the path")
@pytest.mark.parametrize("path", TESTS, ids=lambda path: path.name.partition(".")[0])
def test_modules_do_what_they_say(path):
    run = subprocess.run([NODE, "--test", str(path)], capture_output=True, text=True, timeout=120, check=False)
    assert run.returncode == 0, run.stdout + run.stderr


@pytest.mark.browser
@pytest.mark.skipif(NODE is None, reason="needs node on the path")
@pytest.mark.parametrize("entry", ENTRIES)
def test_a_script_of_modules_can_be_read(entry, tmp_path):
    (tmp_path / "script.js").write_text(bundle(f"viz/report/static/{entry}.js"), encoding="utf-8")
    subprocess.run([NODE, "--check", str(tmp_path / "script.js")], check=True)


def test_a_module_comes_once_and_after_those_that_it_imports():
    script = joined_modules("viz/report/static/report.js")
    order = ("export function createData", "export class View", "export class Plot", "export function createDesk")
    places = [script.index(one.removeprefix("export ")) for one in order]
    assert places == sorted(places)
    assert script.count("function createData(") == 1
    assert not re.search(r"^(import|export)\b", script, flags=re.MULTILINE)
    assert script.rstrip().endswith("start();")


def test_a_script_has_nothing_that_the_page_does_not_use():
    assert "createDesk" not in bundle("viz/report/static/tuning.js")


@pytest.mark.parametrize("path", MODULES)
def test_a_module_has_only_what_one_script_can_have(path):
    text = package_text(path)
    assert " as " not in "".join(re.findall(r"^import[^;]*;", text, flags=re.MULTILINE))
    assert not re.search(r"^(import|export)\b", EXPORT.sub("", IMPORT.sub("", text)), flags=re.MULTILINE)


def test_no_two_modules_call_something_of_theirs_by_the_same_name():
    names = Counter(
        name
        for path in MODULES
        for name in re.findall(
            r"^(?:export )?(?:async )?(?:function|class|const|let) (\w+)", package_text(path), re.MULTILINE
        )
    )
    assert [name for name, count in names.items() if count > 1] == []
