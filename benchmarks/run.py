"""Measure the sections named on the command line, or all, and put them into benchmarks/README.md: `make bench`."""

import argparse
import importlib
import platform
import re
import sys
from importlib.metadata import version
from pathlib import Path

from joblib import cpu_count

README = Path(__file__).with_name("README.md")
# In the order of README.md.
SECTIONS = (
    "surfaces",
    "speed",
    "chart_cost",
    "rolls",
    "growth",
    "landmarks",
    "compare",
    "layouts",
    "agreement",
    "pieces",
    "new_samples",
    "kinds",
    "forecasts",
    "interrupts",
    "explorer",
    "approximate",
    "blocked",
    "weights",
    "metrics",
    "files",
    "tuning",
    "tuning_cost",
    "verdicts",
    "real_data",
    "stability",
    "slepc",
    "workers",
)
PACKAGES = (
    "numpy",
    "scipy",
    "scikit-learn",
    "pyamg",
    "faiss-cpu",
    "tapkee",
    "umap-learn",
    "phate",
    "pacmap",
    "openTSNE",
)
HEAD = """# Benchmarks

Made by `make bench` (`python benchmarks/run.py`, followed by the names of sections to measure only those: {sections}).
Every section is one run on one machine, so compare within a table, not with another machine's. The affine error is the
share of a true coordinate that no affine map of the embedding explains, 0 unrolled, 1 lost.

Python {python}, {packages}; {cores} cores, {machine}."""


def main() -> None:
    """Run the sections one after the other, so that none disturbs another."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sections", nargs="*", metavar="section", help=f"one of {', '.join(SECTIONS)}")
    chosen = parser.parse_args().sections or SECTIONS
    unknown = sorted(set(chosen) - set(SECTIONS))
    if unknown:
        parser.error(f"no section {unknown[0]!r}. Choose from {', '.join(SECTIONS)}.")
    for name in chosen:
        print(f"measuring {name} ...", file=sys.stderr)
        text = importlib.import_module(name).measure()
        print(text + "\n")
        README.write_text(with_section(README.read_text(), text))


def with_section(readme: str, text: str) -> str:
    """README.md with a section put in its place, or in place of its former self; the others stay as they are."""
    titles = [importlib.import_module(name).TITLE for name in SECTIONS]
    _, *parts = re.split(r"^(?=## )", readme, flags=re.MULTILINE)
    sections = {_title(part): part.strip() for part in [*parts, text]}
    ordered = sorted(sections, key=titles.index)
    return "\n\n".join([head(), *(sections[title] for title in ordered)]) + "\n"


def head() -> str:
    """What stands above the sections: how they were made, with what."""
    return HEAD.format(
        sections=", ".join(SECTIONS),
        python=platform.python_version(),
        packages=", ".join(f"{name} {version(name)}" for name in PACKAGES),
        cores=cpu_count(),
        machine=platform.machine(),
    )


def _title(section: str) -> str:
    return section.partition("\n")[0].removeprefix("## ")


if __name__ == "__main__":
    main()
