"""Values -> messages: a JSON object with arrays beside it as bytes, framed for a stream."""

import json
import logging
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hne._runtime.json import plain
from hne.exceptions import HNEError
from hne.viz.report.details import Column, column_facts

logger = logging.getLogger("hne")


@dataclass(frozen=True)
class Message:
    """What a page is told: facts by name, and arrays that they refer to by number."""

    facts: dict[str, Any] = field(default_factory=dict)
    buffers: list[bytes] = field(default_factory=list)

    def put(self, array: NDArray[Any]) -> dict[str, Any]:
        """Add an array, little-endian, and return how the page finds it."""
        little = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
        self.buffers.append(little.tobytes())
        return {"kind": array.dtype.str[1:], "buffer": len(self.buffers) - 1}

    def put_columns(self, columns: Iterable[Column], keys: Sequence[str]) -> list[dict[str, Any]]:
        """Add columns under these keys."""
        pairs = zip(columns, keys, strict=True)
        return [column_facts(column, key) | self.put(column.values) for column, key in pairs]

    def frame(self, kind: str) -> bytes:
        """The message as bytes: the length of its JSON, that, and the arrays, whose lengths stand in it."""
        lengths = [len(one) for one in self.buffers]
        text = to_json({"type": kind, **self.facts, "buffers": lengths}).encode("utf-8", "replace")
        return b"".join([struct.pack("<I", len(text)), text, *self.buffers])


def to_json(value: Any) -> str:
    """The value as JSON, numbers that it does not know as null."""
    return json.dumps(plain(value), allow_nan=False, separators=(",", ":"))


def failure(error: Exception) -> Message:
    """What a page is told of an error: the sentence, and the parameter that it is about."""
    if isinstance(error, HNEError):
        return Message({"text": str(error), "parameter": error.parameter or ""})
    if isinstance(error, MemoryError):
        return Message({"text": "Out of memory. Take fewer columns or neighbors.", "parameter": ""})
    logger.error("explorer: unexpected error", exc_info=error)
    text = f"Unexpected {type(error).__name__}: {error}. This is a bug: please report it."
    return Message({"text": text, "parameter": ""})
