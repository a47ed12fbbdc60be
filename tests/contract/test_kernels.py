"""Compiled kernels: what is declared is what there is, in the order of the files."""

import ast
import re
from pathlib import Path

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
