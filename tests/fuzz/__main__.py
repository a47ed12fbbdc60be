"""The command: run cases, show how far it is, print what came of each kind of input, and how to repeat what failed."""

import argparse
import os
import re
import sys
import time
from collections import Counter

# Before NumPy is there: processes share the cores, not threads within them.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

from tests.fuzz.verdict import EMBEDDED, FAILURES, OTHER, Outcome
from tests.fuzz.workers import TARGETS, kind_of, outcomes, run


def main() -> int:
    """Run the fuzzer; exit status 1 if anything happened that may not."""
    options = _options()
    if options.case is not None:
        outcome = run(options.seed, options.case, options.target)
        kind = kind_of(options.case, options.target)
        print(f"case {options.case}, {kind}: {outcome.label}", *outcome.messages, sep="\n  ")
        print(outcome.story)
        return int(outcome.is_failure)
    start = time.monotonic()
    found: dict[int, Outcome] = {}
    try:
        cases = list(range(options.cases))
        for number, outcome in outcomes(options.seed, cases, options.processes, options.limit, options.target):
            found[number] = outcome
            _show_progress(len(found), options.cases, start)
    except KeyboardInterrupt:
        print("\nbroken off")
    seconds = time.monotonic() - start
    print(f"\n\n{_table(found, options.target)}\n\n{len(found)} inputs, seed {options.seed}, {seconds:.0f} s")
    if options.messages:
        print(_messages(found))
    failures = sorted(number for number, outcome in found.items() if outcome.is_failure)
    for number in failures:
        last = found[number].story.strip().splitlines()[-1]
        again = f"python -m tests.fuzz --target {options.target} --seed {options.seed} --case {number}"
        print(f"\n{again}  # {kind_of(number, options.target)}, {found[number].label}\n  {last[:300]}")
    return int(bool(failures) or len(found) < options.cases)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description="Run hne on thousands of hostile inputs.")
    parser.add_argument("--target", choices=TARGETS, default="inputs", help="what is tried: arrays, or files that lie")
    parser.add_argument("--cases", type=int, default=6000, help="how many (default 6000)")
    parser.add_argument("--seed", type=int, default=0, help="another seed, other cases (default 0)")
    parser.add_argument("--case", type=int, help="this one alone, in this process, with its traceback")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1, help="default: one a core")
    parser.add_argument("--limit", type=float, default=30.0, help="seconds that a case may take (default 30)")
    parser.add_argument("--messages", action="store_true", help="also list every message that was seen, and how often")
    return parser.parse_args()


def _show_progress(done: int, cases: int, start: float) -> None:
    if sys.stderr.isatty() or done % max(1, cases // 20) == 0:
        seconds = time.monotonic() - start
        left = seconds / done * (cases - done)
        end = "" if sys.stderr.isatty() else "\n"
        print(
            f"\r{done} of {cases} inputs, {seconds:.0f} s, {left:.0f} s to go  ", end=end, file=sys.stderr, flush=True
        )


def _table(found: dict[int, Outcome], target: str) -> str:
    """A row for each kind of input, a column for each outcome."""
    counts = Counter((kind_of(number, target), outcome.label) for number, outcome in found.items())
    errors = sorted({outcome.label for outcome in found.values()} - {EMBEDDED, *FAILURES})
    labels = [EMBEDDED, *errors, OTHER] if target == "inputs" else ["fine", "refused"]
    labels += [label for label in FAILURES if label not in labels and (label != OTHER)]
    kinds = TARGETS[target]
    head = ["input", "cases", *labels]
    rows = [[kind, *_counted(counts, [kind], labels)] for kind in kinds]
    rows.append(["all", *_counted(counts, kinds, labels)])
    widths = [max(len(str(row[column])) for row in [head, *rows]) for column in range(len(head))]
    return "\n".join(
        "| " + " | ".join(f"{cell:<{w}}" if not i else f"{cell:>{w}}" for i, (cell, w) in enumerate(line)) + " |"
        for line in (list(zip(row, widths, strict=True)) for row in [head, ["-" * w for w in widths], *rows])
    )


def _counted(counts: Counter, kinds, labels: list[str]) -> list[int]:
    each = [sum(counts[kind, label] for kind in kinds) for label in labels]
    return [sum(each), *each]


def _messages(found: dict[int, Outcome]) -> str:
    """Messages that differ in more than numbers, each with the first that was seen."""
    counts: Counter[str] = Counter()
    first: dict[str, str] = {}
    for number in sorted(found):
        for message in found[number].messages:
            key = re.sub(r"'[^']*'|[-+]?\d[\d.e+-]*", "#", message)
            counts[key] += 1
            first.setdefault(key, f"{message} [case {number}]")
    return "\n".join(f"{count:6d} {first[key]}" for key, count in counts.most_common())


if __name__ == "__main__":
    sys.exit(main())
