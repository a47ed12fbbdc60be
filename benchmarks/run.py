"""Measure everything and rewrite benchmarks/README.md: `make bench`."""

import platform
import sys
from importlib.metadata import version
from pathlib import Path

from joblib import cpu_count

import cold_start
import weights

HEAD = """# Benchmarks

Made by `make bench` (`python benchmarks/run.py`): every figure below is of one run on one machine, so compare within
a table, not with another machine's.

Python {python}, NumPy {numpy}, SciPy {scipy}, scikit-learn {scikit_learn}, numba {numba}; {cores} cores, {machine}.
"""


def main() -> None:
    """Run the sections one after the other, so that none disturbs another."""
    names = ("numpy", "scipy", "scikit-learn", "numba")
    versions = {name.replace("-", "_"): version(name) for name in names}
    parts = [
        HEAD.format(
            python=platform.python_version(), cores=cpu_count(), machine=platform.machine(), **versions
        ).rstrip()
    ]
    for section in (weights, cold_start):
        print(f"measuring {section.__name__} ...", file=sys.stderr)
        parts.append(section.measure())
        print(parts[-1] + "\n")
    Path(__file__).with_name("README.md").write_text("\n\n".join(parts) + "\n")


if __name__ == "__main__":
    main()
