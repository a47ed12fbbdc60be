"""What a command says: data to standard output, everything else to standard error."""

import argparse
import json
import math
import re
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from hne._runtime.files import keep_existing_files
from hne._runtime.progress import Stopwatch, advised, listening, one_line, show_progress
from hne.exceptions import MOST_SAID, shortened
from hne.settings import known_settings

# Parameters of the estimator by the names that messages of the library use.
PARAMETERS = tuple(name for name, known in known_settings().items() if known.help)
# Those, and arguments of other functions that are options too.
_OPTIONS = (*PARAMETERS, "budget", "checkpoint")
_WITH_VALUE = re.compile(rf"\b({'|'.join(_OPTIONS)})='?([\w.+-]*\w)'?")
# Words of one syllable are words of their own, but for what a message is about.
_SUBJECT = re.compile(rf"^({'|'.join(_OPTIONS)})\b(?= (must|needs|takes))")
_ALONE = re.compile(rf"(?<!--)\b({'|'.join(name for name in PARAMETERS if '_' in name)})\b(?!=)")
# Attributes of a model, of which a file has none.
_PYTHON_ONLY = re.compile(r"( See \w+_\.)|( \(see \w+_\))")


def with_cli_names(message: str) -> str:
    """A message of the library with its parameters as options of the command line.

    >>> in_flags("n_neighbors=900 needs more. Lower n_neighbors, or pass pieces='join'.")
    '--n-neighbors 900 needs more. Lower --n-neighbors, or pass --pieces join.'
    """
    text = _PYTHON_ONLY.sub("", message)
    text = _WITH_VALUE.sub(lambda found: f"{_flag(found[1])} {found[2]}", text)
    text = _SUBJECT.sub(lambda found: _flag(found[1]), text)
    return _ALONE.sub(lambda found: _flag(found[1]), text)


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")


def say(text: str, options: argparse.Namespace | None = None) -> None:
    """One line to standard error, unless options ask for quiet."""
    if options is None or not options.quiet:
        print(f"hne: {shortened(one_line(text), MOST_SAID)}", file=sys.stderr)


def print_json(value: Any) -> None:
    """One JSON object on standard output; NaN and infinities, which JSON does not know, as null."""
    json.dump(plain(value), sys.stdout, ensure_ascii=False, allow_nan=False)
    sys.stdout.write("\n")
    sys.stdout.flush()


def plain(value: Any) -> Any:
    """What JSON can hold of a value: arrays as lists, tuples too, NumPy's numbers as Python's."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


@contextmanager
def heard_warnings(options: argparse.Namespace) -> Iterator[list[str]]:
    """Collect the library's warnings and advice, in the words of the command line, and say them at once."""
    heard: list[str] = []

    def hear(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
        text = with_cli_names(str(message))
        heard.append(text)
        say(
            f"warning: {text}" if issubclass(category, UserWarning) else f"warning: {category.__name__}: {text}",
            options,
        )

    with warnings.catch_warnings(), advised(lambda text: hear(text, UserWarning)):
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = hear
        yield heard


@contextmanager
def command_context(options: argparse.Namespace) -> Iterator[tuple[dict[str, float], list[str]]]:
    """Show the stages, keep files that exist unless told otherwise, and collect seconds and warnings meanwhile."""
    watch = Stopwatch()
    kept = keep_existing_files(not options.force)
    with (
        show_progress(0 if options.quiet else options.verbose),
        listening(watch),
        heard_warnings(options) as heard,
        kept,
    ):
        yield watch.seconds, heard
