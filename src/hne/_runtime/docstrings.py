"""Descriptions that several functions share -> whole sections "Parameters" and "Returns" for each of them."""

import re
from collections.abc import Callable
from inspect import cleandoc, signature
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])

# Where a section begins, and where the description of a parameter does.
SECTION, PARAMETER = re.compile(r"\n\n(?=[A-Z][A-Za-z ]*\n-{3,}\n)"), re.compile(r"\n(?=\S)")
TITLE = "Parameters\n----------\n"


def described_as_in(home: Callable[..., Any]) -> Callable[[Function], Function]:
    """Decorator: parameters and returned values that the docstring leaves out are described as in that of `home`.

    `trustworthiness` has its own summary, notes and example, and the parameters of `rank_quality`. What is left out and
    not described there either is a KeyError at import.
    """

    def completed(function: Function) -> Function:
        if function.__doc__ and home.__doc__:  # Python -OO has none
            own, theirs = _sections(function.__doc__), _sections(home.__doc__)
            described = _parameters(theirs) | _parameters(own)
            own["Parameters"] = TITLE + "\n".join(described[one] for one in signature(function).parameters)
            first = {name: own.get(name, theirs[name]) for name in ("", "Parameters", "Returns")}
            function.__doc__ = "\n\n".join((first | own).values()) + "\n"
        return function

    return completed


def _sections(docstring: str) -> dict[str, str]:
    """The sections by their titles, the text before them as that of no title."""
    text, *sections = SECTION.split(cleandoc(docstring))
    return {"": text} | {one.partition("\n")[0]: one for one in sections}


def _parameters(sections: dict[str, str]) -> dict[str, str]:
    """The lines about each parameter, by its name."""
    section = sections.get("Parameters", "").removeprefix(TITLE)
    return {one.partition(" :")[0]: one for one in PARAMETER.split(section)}
