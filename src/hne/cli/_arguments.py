"""Kinds of arguments that several commands take."""

import argparse
from collections.abc import Callable


def at_least(lowest: int) -> Callable[[str], int]:
    """A whole number not below the lowest, or the reason why not."""

    def whole_number(text: str) -> int:
        number = int(text)
        if number < lowest:
            raise argparse.ArgumentTypeError(f"must be at least {lowest}, got {number}")  # noqa: TRY003, EM102
        return number

    # argparse names the function in its message about text that is no number.
    whole_number.__name__ = "whole number"
    return whole_number
