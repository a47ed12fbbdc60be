"""What SciPy reads from a MAT file -> its values by name, fields of structs included."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from scipy.io.matlab import MatReadError

from hne.exceptions import shortened

# Characters of what a library says: its own words, and what it quotes.
MOST_REASON = 300
# What SciPy's reader raises for files that are damaged or none of its own.
UNREADABLE = (
    MatReadError,
    ValueError,
    TypeError,
    LookupError,
    OSError,
    EOFError,
    OverflowError,
    struct.error,
    zlib.error,
)


def named_values(content: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Values of the variables, and of the fields of structs, which SciPy reads as records; what it adds is left out."""
    for name, value in content.items():
        if name.startswith("__"):
            continue
        if isinstance(value, np.ndarray) and value.dtype.names and value.size == 1:
            record = value.reshape(-1)[0]
            yield from named_values({f"{name}.{field}": record[field] for field in value.dtype.names})
        else:
            yield name, value


def reason_of(error: BaseException) -> str:
    """What an error says, in a few words of one line, to stand in a message."""
    reason = " ".join(str(getattr(error, "strerror", None) or error).split()).rstrip(".")
    return shortened(f"{reason[:1].lower()}{reason[1:]}", MOST_REASON) or type(error).__name__
