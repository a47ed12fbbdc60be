"""Arrays on disk: blocks whole or not at all, damage found, names in place of numbers between processes."""

import pickle

import numpy as np
import pytest

from hne._runtime.store import MappedArray, Stage, open_array, pickled_by_name, row_blocks
from hne.exceptions import CheckpointError, InputError

BLOCKS = row_blocks(10, 4)


def rows_of(block):
    start, stop = block
    return {"a": np.arange(start, stop, dtype=float), "b": np.arange(3 * start, 3 * stop).reshape(-1, 3)}


def filled(folder, blocks=BLOCKS):
    stage = Stage(folder / "stage", "key")
    for block in blocks:
        stage.keep(block, rows_of(block))
    return stage


def test_blocks_become_one_array_each(tmp_path):
    stage = filled(tmp_path)
    arrays = stage.seal(BLOCKS, {"said": 1})
    assert np.array_equal(arrays["a"], np.arange(10.0))
    assert np.array_equal(arrays["b"], np.arange(30).reshape(10, 3))
    assert stage.facts() == {"said": 1}
    assert sorted(path.name for path in stage.folder.iterdir()) == ["a.npy", "b.npy", "stage.json"]
    assert all(isinstance(array, MappedArray) for array in stage.arrays().values())


def test_blocks_that_are_there_are_not_missing(tmp_path):
    stage = filled(tmp_path, BLOCKS[1:2])
    assert stage.missing(BLOCKS) == [BLOCKS[0], BLOCKS[2]]
    assert stage.arrays() is None


def test_a_block_without_receipt_does_not_count(tmp_path):
    stage = filled(tmp_path)
    next((stage.folder / "blocks").glob("000000000004*.json")).unlink()
    assert stage.missing(BLOCKS) == [BLOCKS[1]]


@pytest.mark.parametrize("sealed", [False, True])
@pytest.mark.parametrize("damage", ["flip", "cut", "remove"])
def test_damage_is_refused_by_name(tmp_path, sealed, damage):
    stage = filled(tmp_path)
    if sealed:
        stage.seal(BLOCKS)
    victim = stage.folder / "a.npy" if sealed else next((stage.folder / "blocks").glob("000000000004*.a.npy"))
    data = bytearray(victim.read_bytes())
    data[-3] ^= 1
    if damage == "remove":
        victim.unlink()
    else:
        victim.write_bytes(data if damage == "flip" else data[:-9])
    with pytest.raises(CheckpointError, match=rf"checkpoint '.*{victim.name}' must be what a run of hne wrote"):
        stage.arrays() if sealed else stage.missing(BLOCKS)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"key": "key"}', '{"key": "other", "checksums": {}}'])
def test_foreign_records_are_refused_by_name(tmp_path, text):
    stage = filled(tmp_path)
    stage.seal(BLOCKS)
    (stage.folder / "stage.json").write_text(text)
    with pytest.raises(CheckpointError, match=r"stage\.json' must be what a run of hne wrote"):
        stage.arrays()


def test_a_pickle_holds_numbers_and_between_processes_of_a_run_names(tmp_path):
    whole = filled(tmp_path).seal(BLOCKS)["b"]
    part = whole[2:4]
    with pickled_by_name():
        named, copied = pickle.dumps(whole), pickle.dumps(part)
    again = pickle.loads(named)
    assert isinstance(again, MappedArray)
    assert b"b.npy" in named
    assert b"b.npy" not in copied
    assert b"b.npy" not in pickle.dumps(whole)
    for array, other in ((again, whole), (pickle.loads(copied), part), (pickle.loads(pickle.dumps(whole)), whole)):
        assert np.array_equal(array, other)


def test_what_is_computed_from_it_is_an_array_like_any_other(tmp_path):
    whole = filled(tmp_path).seal(BLOCKS)["a"]
    with pickled_by_name():
        assert np.array_equal(pickle.loads(pickle.dumps(whole + 1)), np.arange(10.0) + 1)
        assert np.array_equal(pickle.loads(pickle.dumps(whole[::-1])), np.arange(10.0)[::-1])


def test_arrays_without_entries_are_kept_too(tmp_path):
    stage = Stage(tmp_path / "stage", "key")
    assert stage.put({"a": np.empty((0, 3))})["a"].shape == (0, 3)
    assert open_array(stage.folder / "a.npy").shape == (0, 3)


def test_a_full_disk_is_one_line_and_leaves_no_half_file(tmp_path, monkeypatch):
    stage = filled(tmp_path, BLOCKS[:1])

    def full(*_, **__):
        raise OSError("4096 requested and 512 written")

    monkeypatch.setattr(np, "save", full)
    with pytest.raises(InputError, match=r"cannot write '.*a\.npy': no space left on device\. Choose another place\."):
        stage.keep(BLOCKS[1], rows_of(BLOCKS[1]))
    assert stage.missing(BLOCKS) == list(BLOCKS[1:])
    assert not list(stage.folder.rglob("*.part*"))
