"""Fixtures: clouds of points as strategies and arrays, and the folder of golden files where there is one."""

import re
import shutil
import signal
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from hne._runtime.progress import advised as listening_to_advice
from hne.datasets import make_swiss_roll

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
SHARED = Path(__file__).resolve().parents[2] / "shared"

settings.register_profile(
    "hne", deadline=None, max_examples=20, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)
settings.load_profile("hne")


@pytest.fixture
def hears_interrupts():
    """Background jobs of a shell are born deaf to SIGINT, and so are tests that run in one."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def one_fast(first, *others):
    """Values of a parameter, or tuples of several: the first in the fast suite, the others in the slow one."""
    values = [value if isinstance(value, tuple) else (value,) for value in others]
    return [first, *(pytest.param(*value, marks=pytest.mark.slow) for value in values)]


def frozen(array):
    """The array made read-only: whoever writes to an argument fails at once."""
    array = np.array(array)
    array.flags.writeable = False
    return array


@st.composite
def lattice_clouds(draw, min_samples=5, max_samples=25, max_features=4):
    """Points on a lattice of eighths: near-ties and repeats, but nothing 1e-35 apart."""
    n = draw(st.integers(min_samples, max_samples))
    n_features = draw(st.integers(2, max_features))
    flat = draw(st.lists(st.integers(-24, 24), min_size=n * n_features, max_size=n * n_features))
    return frozen(np.array(flat, dtype=float).reshape(n, n_features) / 8)


@pytest.fixture
def roll():
    """A small Swiss roll that every variant unrolls."""
    dataset = make_swiss_roll(400, even=True, random_state=3)
    return replace(dataset, X=frozen(dataset.X))


@pytest.fixture
def cloud():
    """Sixty points in general position in three dimensions."""
    return frozen(np.random.default_rng(7).normal(size=(60, 3)))


def shared_file(*parts):
    """Path of a file beside the project that is not part of it; the test is skipped where it is absent."""
    path = SHARED.joinpath(*parts)
    if not path.exists():
        pytest.skip(f"needs {'/'.join(parts)} in a folder 'shared' beside the project")
    return path


@contextmanager
def advised(match=""):
    """Fails unless advice is logged that matches; gives all that was."""
    told = []
    with listening_to_advice(told.append):
        yield told
    assert any(re.search(match, text) for text in told), f"no advice matches {match!r}: {told}"


@pytest.fixture(scope="module")
def browser():
    """A real browser, for whoever asks for one."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="needs playwright")
    if CHROMIUM is None:
        pytest.skip("needs Chromium on the path")
    with sync_api.sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield launched
        launched.close()
