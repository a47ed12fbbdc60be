"""A random generator and the bytes of a file -> other bytes: bits, pieces, numbers that lie, words with a meaning."""

from collections.abc import Callable

import numpy as np

# Numbers that sizes, offsets and counts are replaced by.
LIES = [
    0,
    1,
    2,
    3,
    7,
    8,
    15,
    16,
    127,
    128,
    255,
    256,
    2**15,
    2**16,
    2**24,
    2**31 - 1,
    2**31,
    2**32 - 1,
    2**62,
    2**63 - 1,
]
WORDS = [
    b",", b";", b"\t", b"\n", b"\r", b"\"", b"'", b"#", b"\x00", b"\xff", b"nan", b"inf", b"-inf", b"1e999", b"NA",
    b"0x1p3", b"1_000", b"\xef\xbb\xbf", b"\xff\xfe", b"9" * 400, b"\"\n\"", b",,,,", b"sep=;\n", b"=1+1",
    b"-", b"\x1b[31m",
]  # fmt: skip

Mutation = Callable[[np.random.Generator, bytearray], None]


def _place(rng: np.random.Generator, content: bytearray) -> int:
    """Any place; more often one at the beginning or the end, where headers are."""
    n = len(content)
    span = int(rng.choice([min(n, 64), min(n, 600), n]))
    place = int(rng.integers(span))
    return place if rng.random() < 0.7 else n - 1 - place


def bit(rng, content):
    content[_place(rng, content)] ^= 1 << int(rng.integers(8))


def byte(rng, content):
    content[_place(rng, content)] = int(rng.choice([0, 1, 127, 128, 255, rng.integers(256)]))


def number(rng, content):
    """A whole number of 1 to 8 bytes, at a place where one could be."""
    width = int(rng.choice([1, 2, 4, 4, 4, 8, 8]))
    place = _place(rng, content) // width * width
    value = int(rng.choice(LIES)) - int(rng.integers(3))
    order = "little" if rng.random() < 0.9 else "big"
    content[place : place + width] = (value % 2 ** (8 * width)).to_bytes(width, order)


def cut(rng, content):
    del content[_place(rng, content) :]


def remove(rng, content):
    place = _place(rng, content)
    del content[place : place + int(rng.integers(1, 40))]


def repeat(rng, content):
    place = _place(rng, content)
    content[place:place] = content[place : place + int(rng.integers(1, 200))]


def swap(rng, content):
    size = int(rng.integers(1, 64))
    one, other = _place(rng, content), _place(rng, content)
    content[one : one + size], content[other : other + size] = content[other : other + size], content[one : one + size]


def noise(rng, content):
    place, size = _place(rng, content), int(rng.integers(1, 30))
    content[place : place + size] = rng.bytes(size)


def word(rng, content):
    place = _place(rng, content)
    content[place:place] = WORDS[rng.integers(len(WORDS))]


MUTATIONS: list[Mutation] = [bit, byte, number, number, number, cut, remove, repeat, swap, noise, word]


def mutated(rng: np.random.Generator, content: bytes) -> bytes:
    """The bytes with one to eight changes, mostly few."""
    changed = bytearray(content)
    for _ in range(int(rng.choice([1, 1, 1, 2, 3, 8]))):
        if changed:
            MUTATIONS[rng.integers(len(MUTATIONS))](rng, changed)
    return bytes(changed)
