"""What the workers of a cluster must have in common with the process that sends them work."""

import platform
import secrets
from collections.abc import Callable
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from hne import __version__
from hne.exceptions import EngineError, InputError

# What decides about bits: the same versions everywhere, or blocks of one run would not fit together.
LIBRARIES = ("numpy", "scipy", "scikit-learn", "numba")

Asked = Callable[..., dict[str, Any]]


@cache
def facts_here() -> dict[str, str]:
    """Versions of what computes in this process."""
    libraries = {name: version(name) for name in LIBRARIES}
    return {"hne": __version__, "Python": ".".join(platform.python_version_tuple()[:2]), **libraries}


def check_alike(here: dict[str, str], answers: dict[str, dict[str, str]]) -> None:
    """Raise EngineError for the first worker that has other versions than this process."""
    for worker, facts in answers.items():
        for name, ours in here.items():
            if facts.get(name) != ours:
                msg = (
                    f"the Dask workers must have the same versions as the client, got {name} {facts.get(name)} on "
                    f"{worker} and {ours} here. Install {name} {ours} there, or start the client from its environment."
                )
                raise EngineError(msg)


def check_sees(folder: Path, asked: Asked) -> None:
    """Raise EngineError for the first worker that does not see the folder, or cannot write to it."""
    probe = folder / f".probe-{secrets.token_hex(6)}"
    try:
        probe.write_text(probe.name, encoding="utf-8")
        answers = asked(seen, str(probe))
    except OSError as error:
        msg = f"cannot write '{folder}': {(error.strerror or str(error)).lower()}. Choose another place."
        raise InputError(msg) from error
    finally:
        probe.unlink(missing_ok=True)
    for worker, trouble in answers.items():
        if trouble:
            msg = (
                f"the Dask workers must share the folder '{folder}' with the client, got {worker} that {trouble}. "
                "Pass one on shared storage: checkpoint=DIR, or DaskEngine(client, folder=DIR)."
            )
            raise EngineError(msg)


def seen(probe: str) -> str:
    """What is wrong with a folder from where this runs: nothing, or some words."""
    path = Path(probe)
    try:
        if path.read_text(encoding="utf-8") != path.name:
            return "sees another one"
        other = path.with_name(f"{path.name}-{secrets.token_hex(4)}")
        other.touch()
        other.unlink()
    except FileNotFoundError:
        return "does not see it"
    except OSError as error:
        return f"cannot write to it ({(error.strerror or str(error)).lower()})"
    return ""
