"""Writing a file so that it is there whole or not at all."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hne.exceptions import InputError


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Give a temporary name beside `path`; it is renamed to `path` if the block succeeds, else removed."""
    temporary = path.with_name(f".{path.stem}.{os.getpid()}.part{path.suffix}")
    try:
        yield temporary
        temporary.replace(path)
    except OSError as error:
        msg = f"cannot write '{path}': {(error.strerror or str(error)).lower()}. Choose another place."
        raise InputError(msg) from error
    finally:
        temporary.unlink(missing_ok=True)
