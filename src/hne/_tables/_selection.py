"""Names and kinds of columns, and what the user chose -> which are features, labels, and the names of samples."""

import difflib
import fnmatch
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hne._tables._record import Choices
from hne._tables._sources import File

# Kinds of columns: features unless something is said, text, and numbers that describe samples.
NUMBER, TEXT, LABEL = "number", "text", "label"
# What people call a column that names or counts samples.
ID_NAME = re.compile(
    r"(unnamed: 0|id|ids|names?|idx|index|nr|no|uuid|key|barcode|rownames?|row|"
    r"(row|sample|cell|subject|patient|obs|observation|case|record|image|file|item)"
    r"[ ._-]?(id|no|nr|name|names|number|index)?)",
    re.IGNORECASE,
)
# Names that a message lists before it says "...".
LISTED = 8


@dataclass(frozen=True, kw_only=True)
class Roles:
    """Positions of the columns by what they are for."""

    features: tuple[int, ...]
    labels: tuple[int, ...]
    id: int | None
    notices: tuple[str, ...] = ()


def assigned_roles(
    file: File,
    names: Sequence[str],
    kinds: Sequence[str],
    choices: Choices,
    is_unique: Callable[[int], bool],
    index: int | None = None,
) -> Roles:
    """Roles of the columns.

    `is_unique` tells whether a column holds different texts or whole numbers throughout, `index` is the column that
    the file itself has for the names of samples.
    """
    check_names(file, names)
    dropped = set(positions(file, names, "drop", choices.drop))
    chosen = set(positions(file, names, "columns", choices.columns) + _of_model(file, names, choices)) - dropped
    color = position(file, names, "color", choices.color)
    identity = position(file, names, "id", choices.id)
    taken = chosen | dropped | {color}
    notices: tuple[str, ...] = ()
    if identity is None and index not in taken:
        identity = index
    if identity is None:
        identity = next((i for i, name in enumerate(names) if i not in taken and _is_id(name) and is_unique(i)), None)
        if identity is not None:
            notices = (f"Column {names[identity]!r} names the samples; to use it as a feature, name it in --columns.",)
    for i in sorted(chosen):
        _check_number(file, names[i], kinds[i])
    free = [i for i in range(len(names)) if i not in dropped and i != identity]
    found = [i for i in free if kinds[i] == NUMBER and i != color]
    features = sorted(chosen) if choices.columns or choices.features else found
    labels = [i for i in free if i == color or kinds[i] != NUMBER]
    if not features:
        raise _no_features(file, names, kinds)
    return Roles(features=tuple(features), labels=tuple(labels), id=identity, notices=notices)


def positions(file: File, names: Sequence[str], option: str, chosen: Sequence[str]) -> list[int]:
    """Positions of the columns that are meant by names, by patterns and by positions from 1."""
    index = {name: i for i, name in enumerate(names)}
    return sorted({i for choice in chosen for i in _meant(file, names, index, option, choice)})


def _of_model(file: File, names: Sequence[str], choices: Choices) -> list[int]:
    """Positions of the features of a fitted model, which must all be there."""
    index = {name: i for i, name in enumerate(names)}
    lacking = [name for name in choices.features if name not in index]
    if lacking:
        msg = f"must have the {len(choices.features)} columns of the model, got none called {_listed(lacking)}. "
        raise file.error(msg + f"It has {_listed(names)}.")
    return [index[name] for name in choices.features]


def position(file: File, names: Sequence[str], option: str, chosen: str | None) -> int | None:
    """Position of the one column that is meant."""
    if chosen is None:
        return None
    meant = positions(file, names, option, (chosen,))
    if len(meant) > 1:
        msg = (
            f"has several columns for --{option} {chosen}, got {_listed([names[i] for i in meant])}. Name one of them."
        )
        raise file.error(msg)
    return meant[0]


def _meant(file: File, names: Sequence[str], index: dict[str, int], option: str, choice: str) -> list[int]:
    if choice in index:
        return [index[choice]]
    span = re.fullmatch(r"(\d+)(?:-(\d+))?", choice.strip())
    if span:
        first, last = int(span[1]), int(span[2] or span[1])
        if not 1 <= first <= last <= len(names):
            msg = f"has columns 1 to {len(names)}, got --{option} {choice}. Count columns from 1, or name them."
            raise file.error(msg)
        return list(range(first - 1, last))
    found = [i for i, name in enumerate(names) if fnmatch.fnmatchcase(name, choice)]
    if found:
        return found
    near = difflib.get_close_matches(choice, names, n=1) or [name for name in names if name.lower() == choice.lower()]
    remedy = f"Did you mean {near[0]!r}?" if near else f"It has {_listed(names)}."
    msg = f"has no such column, got --{option} {choice}. {remedy}"
    raise file.error(msg)


def check_names(file: File, names: Sequence[str]) -> None:
    """Refuse names that two columns have."""
    if len(set(names)) < len(names):
        repeated = [name for name, count in Counter(names).items() if count > 1]
        msg = f"must have a name of its own for each column, got {_listed(repeated)} more than once. Rename them."
        raise file.error(msg)


def _check_number(file: File, name: str, kind: str) -> None:
    if kind != NUMBER:
        held = "text" if kind == TEXT else "a label"
        msg = f"must have numbers in the columns that are features, got {held} in {name!r}. Leave it out of --columns."
        raise file.error(msg)


def _no_features(file: File, names: Sequence[str], kinds: Sequence[str]) -> Exception:
    numbers = [name for name, kind in zip(names, kinds, strict=True) if kind == NUMBER]
    if numbers:
        return file.error(f"must have a feature, got none beside {_listed(numbers)}. Name it in --columns.")
    msg = f"must have a column of numbers, got text in all {len(names)}: {_listed(names)}. "
    return file.error(msg + "Encode text as numbers first, or check --separator and --decimal.")


def _is_id(name: str) -> bool:
    return ID_NAME.fullmatch(name.strip()) is not None


def _listed(names: Sequence[str]) -> str:
    more = ", ..." if len(names) > LISTED else ""
    return ", ".join(f"{name!r}" for name in names[:LISTED]) + more


def numbered(n_features: int, prefix: str = "x") -> tuple[str, ...]:
    """Names x1, x2, ... for features that have none.

    >>> numbered(3)
    ('x1', 'x2', 'x3')
    """
    return tuple(f"{prefix}{i}" for i in range(1, n_features + 1))
