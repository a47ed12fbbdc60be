"""Pages that are made before the site is built: the sections of benchmarks/README.md, and the help of each command."""

import os
import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

HERE = Path(__file__).resolve().parent
COMMANDS = ("embed", "explore", "tune", "transform", "compare", "eigen", "info", "completion", "demo")


def generate_pages() -> None:
    """Write all of them, those alone that changed, so that Sphinx builds no others again."""
    write_benchmarks(HERE / "benchmarks")
    write_commands(HERE / "reference" / "commands")


def write_benchmarks(folder: Path) -> None:
    """A page for each section of benchmarks/README.md, and their index."""
    text = (HERE.parent / "benchmarks" / "README.md").read_text(encoding="utf-8")
    text = text.replace("](../docs/", "](../").replace("](growth.png)", "](../../benchmarks/growth.png)")
    preface, *sections = re.split(r"^## ", text, flags=re.MULTILINE)
    pages = {re.sub(r"[^a-z0-9]+", "-", one.partition("\n")[0].lower()).strip("-"): one for one in sections}
    for name, section in pages.items():
        _write(folder / f"{name}.md", "# " + re.sub(r"^##(#+ )", r"\1", section, flags=re.MULTILINE))
    _write(folder / "index.md", preface + _toctree(pages))


def write_commands(folder: Path) -> None:
    """A page for each command: all its options, as its help lists them."""
    for command in COMMANDS:
        call = [sys.executable, "-m", "hne", command, "--help"]
        told = subprocess.run(call, capture_output=True, text=True, check=True, env={**os.environ, "COLUMNS": "100"})  # noqa: S603
        _write(folder / f"{command}.md", f"# hne {command}\n\n```text\n{told.stdout}```\n")
    intro = "# Commands\n\nAll options of each command, as `hne COMMAND --help` prints them. "
    _write(
        folder / "index.md", intro + "[How to use them](../../guide/command_line/index.md).\n\n" + _toctree(COMMANDS)
    )


def _toctree(names: Iterable[str]) -> str:
    return "```{toctree}\n:maxdepth: 1\n\n" + "\n".join(names) + "\n```\n"


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")
