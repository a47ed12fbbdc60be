"""A random generator and JSON, arrays or a header of NumPy -> the same with something that cannot be."""

import io
from typing import Any

import numpy as np

STRANGE: list[Any] = [
    None, True, False, 0, 1, -1, 2, 3, 7, 10**6, 2**31, 2**62, 10**18, 10**30, -(10**18), 0.5, -0.5, 1e-300, 1e300,
    "", "x",
    "numpy", "nan", "\ud800", "x" * 5000, [], [0], [1, 2], [[1]], {}, {"kind": "float", "value": "nan"},
    {"kind": "float", "value": "inf"}, {"kind": "tuple", "items": [1]}, {"kind": "array", "name": "X"},
    {"kind": "dict", "items": {"p": 3}},
]  # fmt: skip
NUMBERS = [np.nan, np.inf, -np.inf, 0.0, -1.0, 1.0, 2.0, 1e308, -1e308, 5e-324, 1e-300, 1e9, 0.5]
WHOLE = [0, 1, -1, 2, 5, 8, 9, 59, 60, 61, 100, 2**31 - 1, 2**31, 2**62, -(2**62)]
SIDES = [0, 1, 2, 3, 5, 30, 60, -1, 10**6, 2**31, 2**40, 2**62, 2**63, 10**30]
KINDS = [
    "<f8",
    ">f8",
    "<f4",
    "<i8",
    "|u1",
    "|b1",
    "<c16",
    "<U3",
    "|S2",
    "|O",
    "<M8[s]",
    "<f2",
    "<U0",
    "|V8",
    "<U999999999",
]


def strange(rng: np.random.Generator) -> Any:
    return STRANGE[rng.integers(len(STRANGE))]


def mutated_json(rng: np.random.Generator, value: Any) -> Any:
    """The value with one part of it replaced, removed or repeated."""
    if isinstance(value, dict) and value and rng.random() < 0.9:
        key = list(value)[rng.integers(len(value))]
        fate = rng.random()
        if fate < 0.1:
            return {name: one for name, one in value.items() if name != key}
        if fate < 0.2:
            return {**value, str(strange(rng)): strange(rng)}
        return {**value, key: mutated_json(rng, value[key])}
    if isinstance(value, list) and value and rng.random() < 0.7:
        place = int(rng.integers(len(value)))
        return value[:place] + [mutated_json(rng, value[place])] * int(rng.integers(3)) + value[place + 1 :]
    return strange(rng)


def mutated_array(rng: np.random.Generator, array: np.ndarray) -> np.ndarray:
    """The array with some entries, its kind or its shape changed."""
    fate = rng.random()
    if fate < 0.7 and array.size:
        changed = array.copy()
        for _ in range(int(rng.choice([1, 1, 3, array.size]))):
            values = NUMBERS if array.dtype.kind == "f" else WHOLE
            place = np.unravel_index(rng.integers(array.size), array.shape)
            with np.errstate(all="ignore"):
                changed[place] = np.array(values[rng.integers(len(values))]).astype(array.dtype)
        return changed
    if fate < 0.8:
        with np.errstate(all="ignore"):
            return array.astype(rng.choice(["f4", "f8", "i4", "i8", "u1", "?"]))
    if fate < 0.85:
        return array[: int(rng.integers(len(array) + 1))] if array.ndim else array[None]
    if fate < 0.9:
        return array.T.copy() if array.ndim > 1 else np.repeat(array, 2)
    if fate < 0.95:
        return rng.permutation(array) if array.ndim else array
    return array.reshape(-1)


def mutated_npy(rng: np.random.Generator, content: bytes) -> bytes:
    """An NPY file whose header says something else."""
    array = np.load(io.BytesIO(content), allow_pickle=False)
    head = np.lib.format.header_data_from_array_1_0(array)
    key = str(rng.choice(["shape", "shape", "descr", "fortran_order", "all"]))
    if key == "shape":
        sides = list(head["shape"])
        for _ in range(int(rng.integers(1, 3))):
            sides[int(rng.integers(len(sides)))] = SIDES[rng.integers(len(SIDES))]
        if rng.random() < 0.3:
            sides += [SIDES[rng.integers(len(SIDES))]] * int(rng.choice([1, 2, 40]))
        head["shape"] = tuple(sides)
    elif key == "descr":
        head["descr"] = KINDS[rng.integers(len(KINDS))]
    elif key == "fortran_order":
        head["fortran_order"] = not head["fortran_order"]
    else:
        head = mutated_json(rng, head)
    text = (repr(head) + " " * int(rng.integers(64)) + "\n").encode("utf-8", "replace")
    version, width = ((1, 0), 2) if rng.random() < 0.8 and len(text) < 2**16 else ((2, 0), 4)
    return b"\x93NUMPY" + bytes(version) + len(text).to_bytes(width, "little") + text + content[128:]
