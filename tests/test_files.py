"""Files are there whole or not at all."""

import pytest

from hne._files import make_folder, whole_file
from hne.exceptions import InputError


def test_a_finished_file_takes_its_name_and_keeps_its_ending(tmp_path):
    target = tmp_path / "out.csv"
    with whole_file(target) as temporary:
        assert temporary.suffix == ".csv"
        temporary.write_text("new")
        assert not target.exists()
    assert target.read_text() == "new"
    assert [path.name for path in tmp_path.iterdir()] == ["out.csv"]


def test_a_failure_leaves_the_old_file_alone(tmp_path):
    target = tmp_path / "out.csv"
    target.write_text("old")
    with pytest.raises(ZeroDivisionError, match="division"), whole_file(target) as temporary:
        temporary.write_text("half")
        _ = 1 / 0
    assert target.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["out.csv"]


def test_a_file_in_the_way_of_a_folder_is_named(tmp_path):
    (tmp_path / "taken").write_text("")
    for place in (tmp_path / "taken", tmp_path / "taken" / "below"):
        with pytest.raises(
            InputError, match=r"cannot write '.*taken.*': (file exists|not a directory)\. Choose another"
        ):
            make_folder(place)
    with (
        pytest.raises(InputError, match=r"cannot write '.*x\.csv': not a directory\. Choose another place\."),
        whole_file(tmp_path / "taken" / "x.csv") as temporary,
    ):
        temporary.write_text("anything")


def test_a_place_that_cannot_be_written_is_named(tmp_path):
    with (
        pytest.raises(InputError, match=r"cannot write '.*x\.csv': no such file or directory\. Choose another place\."),
        whole_file(tmp_path / "missing" / "x.csv") as temporary,
    ):
        temporary.write_text("anything")
