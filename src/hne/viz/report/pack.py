"""Arrays and texts -> blocks of a page that a browser reads and never runs."""

import base64
import hashlib
import json
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Characters that could end a block, or that JavaScript once took for the end of a line, and what JSON writes instead.
# All that is not ASCII is escaped by `json` itself: marks that turn the direction of text among it.
ESCAPES = {ord(character): f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"}


def array_block(name: str, array: NDArray[Any]) -> str:
    """The array's bytes, little-endian, in base64."""
    return bytes_block(name, np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<")).tobytes())


def bytes_block(name: str, content: bytes) -> str:
    """Bytes in base64, in a block whose kind no browser runs."""
    text = base64.b64encode(content).decode("ascii")
    return f'<script type="application/octet-stream;base64" id="{name}">{text}</script>'


def json_block(name: str, value: Any) -> str:
    """A value as JSON that cannot leave its block."""
    return f'<script type="application/json" id="{name}">{safe_json(value)}</script>'


def safe_json(value: Any) -> str:
    r"""JSON in ASCII without a character that HTML knows.

    >>> safe_json(["</script>"])
    '["\\u003c/script\\u003e"]'
    """
    return json.dumps(value, allow_nan=False, separators=(",", ":")).translate(ESCAPES)


def static_text(*names: str) -> str:
    """Files of the folder `static`, one after the other."""
    folder = files("hne.viz.report") / "static"
    return "\n".join((folder / name).read_text(encoding="utf-8").replace("\r\n", "\n") for name in names)


def script_hash(script: str) -> str:
    """What a content security policy knows an inline script by."""
    digest = base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")
    return f"'sha256-{digest}'"
