"""The command line: reading and writing beside the embedding itself, memory beside the forecast, the first answer."""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from hne.datasets import make_swiss_roll
from tables import table

TITLE = "Files"
REPEATS = 5
SIZES = (100_000, 1_000_000)
EMBEDDING = ("neighbors", "pieces", "weights", "eigenpairs")
HEADER = ("n", "reading", "embedding", "writing", "reading + writing / embedding", "peak GB", "foreseen GB", "ratio")


def measure() -> str:
    """Measure and return the section as Markdown."""
    with tempfile.TemporaryDirectory() as folder:
        rows = [_row(Path(folder), n) for n in SIZES]
        seconds = [_first_answer(Path(folder)) for _ in range(REPEATS)]
    first = f"{np.median(seconds):.2f} s in the median of {REPEATS} runs, {max(seconds):.2f} s at most"
    return "\n".join(
        [
            f"## {TITLE}",
            "",
            "`hne embed roll.csv -o map.csv`: a Swiss roll of three columns of nine digits, defaults, seconds",
            "by stage; peak memory of the whole process, beside what `--dry-run` foresees.",
            "",
            table(HEADER, rows),
            "",
            "`hne embed roll.csv -o map.csv --report map.html` on 500 samples, whole process:",
            f"{first}.",
        ]
    )


def _row(folder: Path, n: int) -> list[str]:
    source = _written(folder, n)
    plan = told([str(source), "--dry-run"])
    done = told([str(source), "-o", str(folder / "map.csv"), "--force"])
    times = done["timings"]
    embedding = sum(times[stage] for stage in EMBEDDING)
    share = (times["reading"] + times["writing"]) / embedding
    peak, foreseen = done["peak_bytes"] / 1e9, plan["peak_bytes"] / 1e9
    numbers = [times["reading"], embedding, times["writing"], share, peak, foreseen, foreseen / peak]
    return [str(n), *(f"{number:.3g}" for number in numbers)]


def _written(folder: Path, n: int) -> Path:
    path = folder / f"roll{n}.csv"
    np.savetxt(path, make_swiss_roll(n, random_state=0).X, delimiter=",", fmt="%.9g", header="x,y,z", comments="")
    return path


def told(words: list[str]) -> dict[str, Any]:
    """What the command says in JSON, and the peak memory of its process."""
    command = [sys.executable, "-m", "hne", "embed", *words, "--json", "--quiet"]
    with tempfile.TemporaryFile("w+") as answer:
        process = subprocess.Popen(command, stdout=answer)  # noqa: S603
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        answer.seek(0)
        facts: dict[str, Any] = json.load(answer)
    return facts | ({} if "peak_bytes" in facts else {"peak_bytes": 1024 * usage.ru_maxrss})


def _first_answer(folder: Path) -> float:
    source = _written(folder, 500)
    words = ["-o", str(folder / "map.csv"), "--report", str(folder / "map.html"), "--force", "--quiet"]
    start = time.perf_counter()
    subprocess.run([sys.executable, "-m", "hne", "embed", str(source), *words], check=True)  # noqa: S603
    return time.perf_counter() - start
