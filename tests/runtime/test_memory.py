"""Free memory: the machine's, or what a container leaves."""

import psutil
import pytest

from hne._runtime import memory as _memory


def test_the_machine_has_memory():
    assert 0 < _memory.available_bytes() <= psutil.virtual_memory().total


# Of the 1000 bytes in use, 400 are files in the cache, which go when memory is asked for.
@pytest.mark.parametrize(("limit", "expected"), [("3000\n", 2400), ("500\n", 0), ("max\n", 10**12)])
def test_a_container_may_have_less(tmp_path, monkeypatch, limit, expected):
    (tmp_path / "max").write_text(limit)
    (tmp_path / "current").write_text("1000\n")
    (tmp_path / "memory.stat").write_text("anon 600\ninactive_file 400\n")
    groups = ((tmp_path, "max", "current", "inactive_file"), (tmp_path / "none", "max", "current", "inactive_file"))
    monkeypatch.setattr(_memory, "_GROUPS", groups)
    monkeypatch.setattr(psutil, "virtual_memory", lambda: type("Memory", (), {"available": 10**12}))
    assert _memory.available_bytes() == expected
