"""The explorer's modules by themselves, run by node."""

import shutil
import subprocess
from pathlib import Path

import pytest

NODE = shutil.which("node")
MODULES = Path(__file__).parent / "modules"
pytestmark = [pytest.mark.browser, pytest.mark.skipif(NODE is None, reason="needs node on the path")]


@pytest.mark.parametrize("path", sorted(MODULES.glob("*.test.mjs")), ids=lambda path: path.name.partition(".")[0])
def test_modules_of_the_explorer_do_what_they_say(path):
    run = subprocess.run([NODE, "--test", str(path)], capture_output=True, text=True, timeout=120, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
