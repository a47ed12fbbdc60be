"""Compiled kernels: what is declared is what there is, in the order of the files."""

import ast
import re
from pathlib import Path

import numpy as np
import pytest

from hne import _kernels

SOURCES = Path(__file__).parents[2] / "src" / "kernels"
STUB = SOURCES.parent / "hne" / "_kernels.pyi"


def declared(parts: list[ast.stmt]) -> list[str]:
    return [part.name for part in parts if isinstance(part, ast.FunctionDef | ast.ClassDef)]


def public(names: list[str]) -> set[str]:
    return {name for name in names if not name.startswith("_")}


def test_every_kernel_is_declared_once_and_nothing_else_is():
    names = declared(ast.parse(STUB.read_text()).body)
    assert len(names) == len(set(names))
    assert set(names) == public(dir(_kernels))


def test_every_method_of_a_class_is_declared_once_and_nothing_else_is():
    for part in ast.parse(STUB.read_text()).body:
        if isinstance(part, ast.ClassDef):
            names = declared(part.body)
            assert len(names) == len(set(names))
            assert public(names) == public(dir(getattr(_kernels, part.name)))


def test_declarations_stand_in_the_order_of_the_files():
    bound = re.compile(r'(?:module\.def\(|nb::class_<\w+>\(module, )"(\w+)"')
    files = {path.name: list(dict.fromkeys(bound.findall(path.read_text()))) for path in sorted(SOURCES.glob("*.cpp"))}
    named = re.split(r"(?m)^# (\w+\.cpp)", STUB.read_text())[1:]
    stub = {name: declared(ast.parse(f"#{text}").body) for name, text in zip(named[::2], named[1::2], strict=True)}
    assert list(stub.items()) == [(name, names) for name, names in files.items() if names]


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize(
    "wrong",
    [
        {"single": np.zeros((4, 1), dtype=np.float32)},
        {"single": np.zeros((3, 2), dtype=np.float32)},
        {"starts": np.array([0, 1, 2, 3])},
        {"starts": np.array([0, 2, 1, 3, 4])},
        {"starts": np.array([-1, 1, 2, 3, 4])},
        {"starts": np.array([0, 1, 2, 3, 5])},
        {"stop": 5},
        {"start": 3, "stop": 2},
    ],
)
def test_a_step_of_a_layout_rejects_arrays_that_do_not_match(wrong, d):
    arrays = {
        "start": 0,
        "stop": 4,
        "starts": np.arange(5),
        "columns": np.array([1, 2, 3, 0], dtype=np.int32),
        "affinities": np.full(4, 0.25, dtype=np.float32),
        "Y": np.zeros((4, d)),
        "single": np.zeros((4, d), dtype=np.float32),
        "push": np.zeros((4, d)),
        "rate": 1.0,
        "momentum": 0.5,
        "velocities": np.zeros((4, d)),
        "moved": np.zeros((4, d)),
    }
    _kernels.descend_layout(*arrays.values())
    with pytest.raises(ValueError, match="descend_layout"):
        _kernels.descend_layout(*(arrays | wrong).values())
