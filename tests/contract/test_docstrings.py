"""Docstrings of public names: numpydoc finds nothing missing in them, and what they point to exists."""

import inspect
import re
from dataclasses import is_dataclass
from functools import cached_property
from pathlib import Path

import pytest
from numpydoc.docscrape import get_doc_object
from numpydoc.validate import Validator, validate

import hne

API = (Path(__file__).parent / "api.txt").read_text().splitlines()
NAMES = [line.partition("(")[0] for line in API]
# Records that a fit, a forecast or `embed` hands out. Nobody makes them by hand or calls methods of theirs.
RECORDS = (
    "hne.core.eigen.certificate.Certificate",
    "hne.core.forecast.Forecast",
    "hne.core.records.Chart",
    "hne.core.records.Embedding",
    "hne.core.trust.verdict.Assessment",
    "hne.core.trust.verdict.Finding",
)
# Extended summaries stand where there is more to say. Errors have an example where one is cheap to raise, records where
# what makes them does not show it, and methods are shown at work in that of their class.
OPTIONAL, OPTIONAL_FOR_RESULTS, OPTIONAL_FOR_METHODS = {"ES01"}, {"ES01", "EX01"}, {"ES01", "EX01", "SA01"}

load = Validator._load_obj


def is_documented(name):
    return inspect.isclass(load(name)) or inspect.isroutine(load(name))


# A name for each object: HNE is an alias.
DOCUMENTED = {load(name): name for name in (*NAMES, *RECORDS) if is_documented(name)}
CONSTANTS = [name for name in NAMES if not is_documented(name)]


class PublicValidator(Validator):
    """Numpydoc's checks, for which the parameters of a frozen record are its attributes."""

    def __init__(self, obj_name):
        super().__init__(get_doc_object(load(obj_name)))

    @property
    def doc_all_parameters(self):
        if not (is_dataclass(self.obj) and self.obj.__dataclass_params__.frozen):
            return super().doc_all_parameters
        documented = self._doc_parameters(["Parameters", "Attributes"])
        return {name: text for name, text in documented.items() if name in self.signature_parameters}


def methods_of(name):
    """Public methods and properties of a class that hne itself has defined."""
    members = {
        member: value
        for kind in reversed(load(name).__mro__)
        if kind.__module__.startswith("hne.")
        for member, value in vars(kind).items()
    }
    kinds = (property, cached_property, classmethod, staticmethod)
    fields = getattr(load(name), "__dataclass_fields__", {})
    return [
        f"{name}.{member}"
        for member, value in members.items()
        if not member.startswith("_") and member not in fields
        if inspect.isfunction(value) or isinstance(value, kinds)
    ]


METHODS = [
    method
    for one, name in DOCUMENTED.items()
    if inspect.isclass(one) and name not in RECORDS
    for method in methods_of(name)
]


def faults(name, optional):
    found = validate(name, validator_cls=PublicValidator)["errors"]
    return [f"{code} {text}" for code, text in found if code not in optional]


@pytest.mark.parametrize("name", DOCUMENTED.values())
def test_classes_and_functions_are_documented(name):
    is_result = name.startswith("hne.exceptions.") or name in RECORDS
    assert faults(name, OPTIONAL_FOR_RESULTS if is_result else OPTIONAL) == []


@pytest.mark.parametrize("name", METHODS)
def test_methods_are_documented(name):
    assert faults(name, OPTIONAL_FOR_METHODS) == []


@pytest.mark.parametrize("name", [*DOCUMENTED.values(), *METHODS])
def test_what_is_seen_also_exists_under_its_full_name(name):
    for target in PublicValidator(name).see_also:
        assert "." in target
        assert load(target) is not load(name)


@pytest.mark.parametrize("name", CONSTANTS)
def test_constants_have_a_comment_for_sphinx_above_them(name):
    constant = name.rpartition(".")[2]
    assigned = re.compile(rf"^#: .+\n{constant}(: .+)? = ", re.MULTILINE)
    assert any(assigned.search(path.read_text()) for path in Path(hne.__file__).parent.rglob("*.py"))
