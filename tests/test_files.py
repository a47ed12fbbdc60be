"""Files are there whole or not at all."""

import pytest

from hne._files import existing_files_kept, make_folder, whole_file
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


def test_a_link_stays_a_link_and_what_it_leads_to_is_replaced(tmp_path):
    (tmp_path / "real.csv").write_text("old")
    (tmp_path / "link.csv").symlink_to(tmp_path / "real.csv")
    with whole_file(tmp_path / "link.csv") as temporary:
        temporary.write_text("new")
    assert (tmp_path / "link.csv").is_symlink()
    assert (tmp_path / "real.csv").read_text() == "new"


def test_a_file_that_is_replaced_hands_its_permissions_on(tmp_path):
    (tmp_path / "secret.csv").write_text("old")
    (tmp_path / "secret.csv").chmod(0o600)
    with whole_file(tmp_path / "secret.csv") as temporary:
        temporary.write_text("new")
    assert (tmp_path / "secret.csv").stat().st_mode & 0o777 == 0o600


def test_existing_files_are_kept_where_that_is_asked_for(tmp_path):
    (tmp_path / "out.csv").write_text("old")
    with (
        existing_files_kept(True),
        pytest.raises(InputError, match=r"'.*out\.csv': it exists already\. Add --force"),
        whole_file(tmp_path / "out.csv") as temporary,
    ):
        temporary.write_text("new")
    with existing_files_kept(True), whole_file(tmp_path / "fresh.csv") as temporary:
        temporary.write_text("new")
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"out.csv": "old", "fresh.csv": "new"}


def test_two_writers_of_one_file_do_not_share_a_temporary_name(tmp_path):
    with whole_file(tmp_path / "out.csv") as first, whole_file(tmp_path / "out.csv") as second:
        assert first != second
        first.write_text("first")
        second.write_text("second")
    assert (tmp_path / "out.csv").read_text() == "first"
