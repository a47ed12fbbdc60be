"""Variables of a context, such as one thread's, that have another value for a while."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

Value = TypeVar("Value")


@contextmanager
def bound(variable: ContextVar[Value], value: Value) -> Iterator[None]:
    """Give the variable this value until the block ends."""
    before = variable.set(value)
    try:
        yield
    finally:
        variable.reset(before)
