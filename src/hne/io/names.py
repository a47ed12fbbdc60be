"""What people call columns: names, patterns and positions -> columns that are meant, and names that tell a purpose."""

import difflib
import fnmatch
import re
from collections import Counter
from collections.abc import Sequence

from hne.exceptions import quoted, shortened
from hne.io.sources import File

# What people call a column that names or counts samples.
ID_NAME = re.compile(
    r"(unnamed: 0|id|ids|names?|idx|index|nr|no|uuid|key|barcode|rownames?|row|"
    r"(row|sample|cell|subject|patient|obs|observation|case|record|image|file|item)"
    r"[ ._-]?(id|no|nr|name|names|number|index)?|"
    r".+[ ._-](id|ids|nr|no|number|index|key)|"
    r"\w{3,}(nr|nummer))",
    re.IGNORECASE,
)
# The same with a capital for a separator: PassengerId, orderNo.
CAMEL_ID = re.compile(r".*[a-z0-9](Id|ID|Ids|Nr|No|Number|Index|Key)")
# Names that a message lists before it says "...".
LISTED = 8


def positions(file: File, names: Sequence[str], option: str, chosen: Sequence[str]) -> list[int]:
    """Positions of the columns that are meant by names, by patterns and by positions from 1."""
    index = {name: i for i, name in enumerate(names)}
    return sorted({i for choice in chosen for i in _meant(file, names, index, option, choice)})


def position(file: File, names: Sequence[str], option: str, chosen: str | None) -> int | None:
    """Position of the one column that is meant."""
    if chosen is None:
        return None
    meant = positions(file, names, option, (chosen,))
    if len(meant) > 1:
        got = listed([names[i] for i in meant])
        msg = f"has several columns for --{option} {shortened(chosen)}, got {got}. Name one of them."
        raise file.error(msg)
    return meant[0]


def _meant(file: File, names: Sequence[str], index: dict[str, int], option: str, choice: str) -> list[int]:
    if choice in index:
        return [index[choice]]
    span = re.fullmatch(r"(\d+)(?:-(\d+))?", choice.strip())
    if span:
        first, last = int(span[1]), int(span[2] or span[1])
        if not 1 <= first <= last <= len(names):
            got = f"--{option} {shortened(choice)}"
            msg = f"has columns 1 to {len(names)}, got {got}. Count columns from 1, or name them."
            raise file.error(msg)
        return list(range(first - 1, last))
    found = [i for i, name in enumerate(names) if fnmatch.fnmatchcase(name, choice)]
    if found:
        return found
    near = difflib.get_close_matches(choice, names, n=1) or [name for name in names if name.lower() == choice.lower()]
    remedy = f"Did you mean {quoted(near[0])}?" if near else f"It has {listed(names)}."
    msg = f"has no such column, got --{option} {shortened(choice)}. {remedy}"
    raise file.error(msg)


def check_names(file: File, names: Sequence[str]) -> None:
    """Refuse names that two columns have."""
    if len(set(names)) < len(names):
        repeated = [name for name, count in Counter(names).items() if count > 1]
        msg = f"must have a name of its own for each column, got {listed(repeated)} more than once. Rename them."
        raise file.error(msg)


def is_id_name(name: str) -> bool:
    """Whether a column is called as one that names samples.

    >>> [name for name in ("customer_id", "PassengerId", "Kundennr", "acid", "kimono") if is_id_name(name)]
    ['customer_id', 'PassengerId', 'Kundennr']
    """
    name = name.strip()
    return ID_NAME.fullmatch(name) is not None or CAMEL_ID.fullmatch(name) is not None


def listed(names: Sequence[str]) -> str:
    """The first names, for messages."""
    more = ", ..." if len(names) > LISTED else ""
    return ", ".join(map(quoted, names[:LISTED])) + more


def numbered(n_features: int, prefix: str = "x") -> tuple[str, ...]:
    """Names x1, x2, ... for features that have none.

    >>> numbered(3)
    ('x1', 'x2', 'x3')
    """
    return tuple(f"{prefix}{i}" for i in range(1, n_features + 1))
