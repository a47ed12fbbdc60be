"""Free memory: the machine's, or what a container leaves."""

import psutil
import pytest

from hne import _memory


def test_the_machine_has_memory():
    assert 0 < _memory.available_bytes() <= psutil.virtual_memory().total


@pytest.mark.parametrize(("limit", "expected"), [("3000\n", 2000), ("500\n", 0), ("max\n", 10**12)])
def test_a_container_may_have_less(tmp_path, monkeypatch, limit, expected):
    (tmp_path / "max").write_text(limit)
    (tmp_path / "current").write_text("1000\n")
    monkeypatch.setattr(_memory, "_LIMITS", ((tmp_path / "max", tmp_path / "current"), (tmp_path / "no", tmp_path)))
    monkeypatch.setattr(psutil, "virtual_memory", lambda: type("Memory", (), {"available": 10**12}))
    assert _memory.available_bytes() == expected
