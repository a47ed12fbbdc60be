"""Every parameter stands in one place, and everything else is made of that."""

import argparse
import inspect
from dataclasses import fields
from pathlib import Path

import pytest

from hne import HNE, LinearHNE
from hne.cli.arguments import add_method
from hne.settings import (
    DEFAULTS,
    PLACES,
    PUBLISHED,
    RUN,
    STAGES,
    Parameters,
    Settings,
    known_settings,
    parameters_of,
    parameters_section,
)
from tests.helpers.parameters_table import parameters_page

NAMES = [*known_settings()]


def test_the_constructor_has_every_parameter_with_its_default():
    signature = inspect.signature(HNE)
    assert {name: one.default for name, one in signature.parameters.items()} == dict(DEFAULTS)
    assert [*HNE().get_params()] == sorted(NAMES)


def test_settings_have_every_parameter_but_where_a_fit_is_computed():
    assert [one.name for one in fields(Settings)] == [name for name in NAMES if name not in PLACES]
    published = Settings()
    assert all(getattr(published, name) == value for name, value in PUBLISHED.items())


def test_every_parameter_belongs_to_exactly_one_stage():
    of_stages = [name for stage in (*STAGES, RUN) for name in parameters_of(stage)]
    assert sorted(of_stages) == sorted(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_every_parameter_is_documented_once(name):
    assert parameters_section().count(f"\n{name} : ") == 1
    assert f"\n{name} : " in HNE.__doc__


def test_options_of_the_command_line_are_the_parameters_that_have_a_help():
    parser = argparse.ArgumentParser()
    add_method(parser)
    options = {action.dest for action in parser._actions} - {"help", "auto", "published"}
    assert options == {name for name, one in known_settings().items() if one.help}


def test_the_linear_estimator_has_the_published_defaults_for_what_it_shares():
    shared = inspect.signature(LinearHNE).parameters.keys() & DEFAULTS.keys()
    linear = LinearHNE().get_params()
    for name in shared - {"short_circuits"}:
        assert linear[name] == PUBLISHED.get(name, DEFAULTS[name])


def test_the_documented_table_is_that_of_the_settings():
    page = Path(__file__).parents[2] / "docs" / "guide" / "parameters.md"
    assert page.read_text() == parameters_page(), "run: make parameters"


def test_annotations_are_types_that_a_checker_reads():
    hints = inspect.get_annotations(Parameters, eval_str=True)
    assert hints.keys() - {"_"} == {*NAMES}
