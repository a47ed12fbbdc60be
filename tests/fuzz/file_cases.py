"""A kind of file, a seed and a number -> a file that was changed by bytes or by structure."""

import io
import json
import tokenize
import zipfile
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tests.fuzz.bases import MAKERS, bases
from tests.fuzz.mutations import mutated
from tests.fuzz.values import mutated_array, mutated_json, mutated_npy

FILE_KINDS = tuple(MAKERS)
# What NumPy and json raise for what was changed before.
UNREADABLE = (
    ValueError, TypeError, LookupError, ArithmeticError, EOFError, OSError, MemoryError, SyntaxError,
    tokenize.TokenError,
)  # fmt: skip


@dataclass(frozen=True)
class FileCase:
    """One file: what it is called, and its bytes."""

    kind: str
    name: str
    content: bytes
    how: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.name}, {len(self.content)} bytes, changed by {self.how}"


def make_file_case(kind: str, seed: int, number: int) -> FileCase:
    """Make the case of that kind and these numbers."""
    rng = np.random.default_rng([seed, number])
    name, content = bases(kind)[rng.integers(len(bases(kind)))]
    by_structure = kind == "checkpoints" or (kind in STRUCTURES and rng.random() < 0.6)
    change = STRUCTURES[kind] if by_structure else mutated
    return FileCase(kind, name, change(rng, content), "structure" if by_structure else "bytes")


def _members_changed(
    rng: np.random.Generator, content: bytes, change: Callable[[np.random.Generator, str, bytes], bytes]
) -> bytes:
    """A zip with one or a few members changed, each under its right checksum."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = {info.filename: (archive.read(info), info.compress_type) for info in archive.infolist()}
    names = list(members)
    for _ in range(int(rng.choice([1, 1, 1, 3]))):
        name = names[rng.integers(len(names))]
        members[name] = (change(rng, name, members[name][0]), members[name][1])
    fate = rng.random()
    if fate < 0.04:
        del members[names[rng.integers(len(names))]]
    elif fate < 0.08:
        members[f"{rng.integers(99)}.npy"] = members[names[rng.integers(len(names))]]
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, (one, packing) in members.items():
            archive.writestr(zipfile.ZipInfo(name), one, packing)
    return stream.getvalue()


def _npy_changed(rng: np.random.Generator, _name: str, content: bytes) -> bytes:
    """An array with other entries, another header or other bytes."""
    fate = rng.random()
    try:
        if fate < 0.5:
            stream = io.BytesIO()
            np.save(stream, mutated_array(rng, np.load(io.BytesIO(content), allow_pickle=False)))
            return stream.getvalue()
        if fate < 0.9:
            return mutated_npy(rng, content)
    except UNREADABLE:  # changed twice, or of text
        pass
    return mutated(rng, content)


def _model_changed(rng: np.random.Generator, name: str, content: bytes) -> bytes:
    """The header or an array of a model, changed; the header's list of arrays is mended with them below."""
    if name != "header.npy":
        return _npy_changed(rng, name, content)
    try:
        header = json.loads(np.load(io.BytesIO(content)).tobytes())
    except UNREADABLE:
        return content
    part = ("parameters", "settings", "fit", "preparation")[rng.integers(4)]
    if isinstance(header, dict) and part in header and rng.random() < 0.7:
        header[part] = mutated_json(rng, header[part])
    else:
        header = mutated_json(rng, header)
    return _packed_header(header)


def _packed_header(header: object) -> bytes:
    stream = io.BytesIO()
    np.save(stream, np.frombuffer(json.dumps(header).encode(), dtype=np.uint8))
    return stream.getvalue()


def _model(rng: np.random.Generator, content: bytes) -> bytes:
    changed = _members_changed(rng, content, _model_changed)
    return _with_true_list(changed) if rng.random() < 0.9 else changed


def _with_true_list(content: bytes) -> bytes:
    """The model with a header that lists the arrays as they are, so that more than this list is tried."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = {info.filename: archive.read(info) for info in archive.infolist()}
    try:
        header = json.loads(np.load(io.BytesIO(members["header.npy"]), allow_pickle=False).tobytes())
        header["arrays"] = sorted(name.removesuffix(".npy") for name in members if name != "header.npy")
        members["header.npy"] = _packed_header(header)
    except UNREADABLE:
        return content
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, one in members.items():
            archive.writestr(zipfile.ZipInfo(name), one)
    return stream.getvalue()


def _checkpoint_changed(rng: np.random.Generator, name: str, content: bytes) -> bytes:
    if name.endswith(".npy"):
        return _npy_changed(rng, name, content)
    if not name.endswith(".json") or rng.random() < 0.3:
        return mutated(rng, content)
    try:
        return json.dumps(mutated_json(rng, json.loads(content))).encode()
    except ValueError:
        return mutated(rng, content)


STRUCTURES: dict[str, Callable[[np.random.Generator, bytes], bytes]] = {
    "NPY": lambda rng, content: _npy_changed(rng, "", content),
    "NPZ": lambda rng, content: _members_changed(rng, content, _npy_changed),
    "models": _model,
    # By bytes alone it would be the zip that cases travel in that breaks.
    "checkpoints": lambda rng, content: _members_changed(rng, content, _checkpoint_changed),
}
