"""The command line: what it prints, what it writes, how it fails."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import hne
from hne.cli import _commands, _parser, main
from hne.cli import misc as _misc
from hne.viz import plots


def test_help_lists_the_commands(capsys):
    with pytest.raises(SystemExit, match="0"):
        main(["--help"])
    assert re.search(r"demo +unroll a sparse Swiss roll", capsys.readouterr().out)


def test_the_version_is_the_packages(capsys):
    with pytest.raises(SystemExit, match="0"):
        main(["--version"])
    assert capsys.readouterr().out == f"hne {hne.__version__}\n"


def test_no_command_is_a_usage_error(capsys):
    with pytest.raises(SystemExit, match="2"):
        main([])
    assert "COMMAND" in capsys.readouterr().err


@pytest.fixture
def small_demo(monkeypatch):
    monkeypatch.setattr(_misc, "N_ROLLS", 1)
    monkeypatch.setattr(_misc, "N_SAMPLES", 60)


@pytest.mark.slow
def test_the_demo_shows_who_unrolls_the_roll(tmp_path, capsys):
    assert main(["demo", "--output", str(tmp_path)]) == 0
    printed = capsys.readouterr()
    rows = {line.split()[0]: [float(word) for word in line.split()[1:]] for line in printed.out.splitlines()[2:]}
    assert list(rows) == ["LLE", "IHNE", "RHNE", "BHNE", "HNE"]
    assert rows["LLE"][-1] > 0.25
    assert max(rows[method][-1] for method in ("IHNE", "RHNE", "BHNE")) < 0.08
    assert rows["HNE"][-1] < 0.002


def test_demo_prints_the_errors_and_writes_all_into_a_new_folder(tmp_path, capsys, small_demo):
    tmp_path = tmp_path / "new" / "folder"
    assert main(["demo", "--output", str(tmp_path)]) == 0
    printed = capsys.readouterr()
    assert [line.split()[0] for line in printed.out.splitlines()[2:]] == ["LLE", "IHNE", "RHNE", "BHNE", "HNE"]
    table = np.genfromtxt(tmp_path / "demo.csv", delimiter=",", names=True)
    assert table.shape == (60,)
    assert table.dtype.names[:5] == ("x", "y", "z", "arc_length", "height")
    assert table.dtype.names[-2:] == ("hne_1", "hne_2")
    assert (tmp_path / "demo.png").read_bytes().startswith(b"\x89PNG")
    assert {path.name for path in tmp_path.iterdir()} == {"demo.csv", "demo.html", "demo.png"}
    assert "wrote" in printed.err


def test_demo_into_a_file_is_one_line_and_status_2_before_any_work(tmp_path, capsys):
    (tmp_path / "file").write_text("mine")
    assert main(["demo", "--output", str(tmp_path / "file")]) == 2
    printed = capsys.readouterr()
    assert re.fullmatch(r"hne: cannot write '.*file': file exists\. Choose another place\.\n", printed.err)
    assert printed.out == ""
    assert (tmp_path / "file").read_text() == "mine"


def test_without_matplotlib_the_demo_gives_the_table_and_says_what_to_install(
    tmp_path, capsys, monkeypatch, small_demo
):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    assert main(["demo", "--output", str(tmp_path)]) == 2
    printed = capsys.readouterr()
    assert "BHNE" in printed.out
    assert printed.err.endswith("hne: pictures need matplotlib, got none installed. Run: pip install matplotlib.\n")
    assert {path.name for path in tmp_path.iterdir()} == {"demo.csv", "demo.html"}


def test_a_negative_seed_is_refused(capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["demo", "--seed", "-1"])
    assert "argument --seed: must be a whole number, at least 0, got '-1'" in capsys.readouterr().err


def test_ctrl_c_leaves_no_half_written_file(tmp_path, capsys, monkeypatch, small_demo):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(plots, "space_panel", interrupt)
    assert main(["demo", "--output", str(tmp_path)]) == 130
    assert {path.name for path in tmp_path.iterdir()} == {"demo.csv", "demo.html"}


def test_python_dash_m_hne_is_hne():
    run = subprocess.run([sys.executable, "-m", "hne", "--version"], capture_output=True, text=True, check=True)
    assert run.stdout == f"hne {hne.__version__}\n"


def test_sentences_of_the_library_name_no_option_of_the_command_line():
    source = Path(hne.__file__).parent
    files = [path for name in ("io", "tuning", "core") for path in (source / name).rglob("*.py")]
    strings = [
        node.value
        for path in files
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value
    ]
    options = {flag for flags in _commands(_parser()).values() for flag in flags if flag.startswith("--")}
    assert [text for text in strings if set(re.findall(r"--[a-z-]+", text)) & options and "hne embed" not in text] == []
