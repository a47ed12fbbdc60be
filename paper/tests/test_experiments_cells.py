"""Cells: measured once, kept whole, measured anew when anything that decides over them differs."""

import json
import os
import shutil

import pytest

from hne._runtime import progress as _progress
from hne.exceptions import HNEError
from hne_paper.experiments import _cells
from hne_paper.experiments._cells import Cell, Store

CALLS = []


def square(number):
    CALLS.append(number)
    return {"square": number * number}


def stop_at_two(number):
    if number == 2:
        raise KeyboardInterrupt
    return square(number)


def process_id(number):
    return [number, os.getpid()]


def tell(number):
    _progress.step("inside", 1, 1)
    return number


@pytest.fixture(autouse=True)
def no_calls():
    CALLS.clear()


def cells_of(function, count):
    return [Cell(f"number {number}", function, (number,)) for number in range(count)]


def test_values_come_in_the_order_of_the_cells(tmp_path):
    values = Store(tmp_path, "fake", n_jobs=1).measured("squares", cells_of(square, 3))
    assert values == [{"square": 0}, {"square": 1}, {"square": 4}]


def test_what_a_file_has_is_not_measured_again(tmp_path):
    first = Store(tmp_path, "fake", n_jobs=1).measured("squares", cells_of(square, 3))
    again = Store(tmp_path, "fake", n_jobs=1).measured("squares", cells_of(square, 4))
    assert CALLS == [0, 1, 2, 3]
    assert again[:3] == first


def test_a_run_that_was_stopped_goes_on_where_it_stopped(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        Store(tmp_path, "fake", n_jobs=1).measured("squares", cells_of(stop_at_two, 4))
    kept = sorted(path.name for path in (tmp_path / "results" / "fake").iterdir())
    assert [name[:9] for name in kept] == ["number-0-", "number-1-"]
    CALLS.clear()
    with pytest.raises(KeyboardInterrupt):
        Store(tmp_path, "fake", n_jobs=1).measured("squares", cells_of(stop_at_two, 4))
    assert CALLS == []


def test_other_arguments_or_another_function_are_another_cell(tmp_path):
    store = Store(tmp_path, "fake", n_jobs=1)
    assert store.measured("squares", [Cell("one", square, (3,))]) == [{"square": 9}]
    assert store.measured("squares", [Cell("one", square, (4,))]) == [{"square": 16}]
    assert store.measured("squares", [Cell("one", stop_at_two, (4,))]) == [{"square": 16}]
    assert CALLS == [3, 4, 4]


def test_other_code_is_another_cell(tmp_path, monkeypatch):
    Store(tmp_path, "fake", n_jobs=1).measured("squares", cells_of(square, 1))
    monkeypatch.setattr(_cells, "code_digest", lambda: "changed")
    Store(tmp_path, "fake", n_jobs=1).measured("squares", cells_of(square, 1))
    assert CALLS == [0, 0]


@pytest.mark.parametrize("module", _cells.CALLED_BY_CELLS)
def test_code_that_cells_call_decides_over_their_values(module, tmp_path, monkeypatch):
    _cells.code_digest.cache_clear()
    before = _cells.code_digest()
    copy = tmp_path / "hne"
    shutil.copytree(_cells.PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    with (copy / "experiments" / module).open("a") as stream:
        stream.write("# changed")
    monkeypatch.setattr(_cells, "PACKAGE", copy)
    _cells.code_digest.cache_clear()
    assert _cells.code_digest() != before
    _cells.code_digest.cache_clear()


@pytest.mark.parametrize("damage", ["", "{", "[1, 2]", '{"fingerprint": "x"}', "\udcff"])
def test_a_damaged_file_is_as_good_as_none(tmp_path, damage):
    store = Store(tmp_path, "fake", n_jobs=1)
    store.measured("squares", cells_of(square, 1))
    (file,) = (tmp_path / "results" / "fake").iterdir()
    file.write_bytes(damage.encode(errors="surrogateescape"))
    assert store.measured("squares", cells_of(square, 1)) == [{"square": 0}]
    assert json.loads(file.read_text())["value"] == {"square": 0}


def test_processes_share_the_work_and_give_the_same_values(tmp_path):
    values = Store(tmp_path, "fake", n_jobs=2).measured("processes", cells_of(process_id, 4))
    assert [number for number, _ in values] == [0, 1, 2, 3]
    assert os.getpid() not in {process for _, process in values}


def test_progress_counts_what_is_kept_already_and_hears_nothing_from_inside(tmp_path):
    heard = []

    class Listener:
        def begin(self, stage): ...
        def step(self, task, done, total):
            heard.append((task, done, total))

        def end(self, stage, result, seconds): ...

    Store(tmp_path, "fake", n_jobs=1).measured("told", cells_of(tell, 1))
    with _progress.listening(Listener()):
        Store(tmp_path, "fake", n_jobs=1).measured("told", cells_of(tell, 3))
    assert heard == [("told", 1, 3), ("told", 2, 3), ("told", 3, 3)]


def test_a_folder_that_cannot_be_written_is_said_so(tmp_path):
    (tmp_path / "file").write_text("mine")
    with pytest.raises(HNEError, match="cannot write"):
        Store(tmp_path / "file", "cells", n_jobs=1).measured("squares", cells_of(square, 1))
