"""Columns that only look like features: counters and classes are set apart, and said so."""

import numpy as np
import pytest

from hne.io import ReadOptions, read_table

RNG = np.random.default_rng(0)


@pytest.fixture
def written(tmp_path):
    """Write columns by name as CSV and read them back."""

    def write(choices=None, **columns):
        path = tmp_path / "table.csv"
        rows = zip(*columns.values(), strict=True)
        path.write_text("\n".join([",".join(columns), *(",".join(map(str, row)) for row in rows)]) + "\n")
        return read_table(path, choices or ReadOptions())

    return write


def features(n=20):
    return {"a": RNG.random(n).round(3), "b": RNG.random(n).round(3)}


def test_a_counter_of_rows_names_the_samples(written):
    table = written(**features(), Lauf=range(1000, 1020))
    assert table.feature_names == ("a", "b")
    assert (table.id_name, table.ids[:2]) == ("Lauf", ("1000", "1001"))
    assert "Column 'Lauf' counts the rows: it names the samples" in table.notices[-2]


def test_a_second_counter_is_a_label(written):
    table = written(**features(), name=[f"s{i}" for i in range(20)], step=range(20))
    assert table.feature_names == ("a", "b")
    assert table.id_name == "name"
    assert table.labels["step"].tolist() == list(range(20))


def test_whole_numbers_called_classes_are_labels(written):
    table = written(**features(), target=[0, 1, 2, 1] * 5)
    assert table.feature_names == ("a", "b")
    assert table.labels["target"].tolist() == [0, 1, 2, 1] * 5
    assert "Column 'target' looks like classes" in table.notices[-2]


def test_measurements_are_features_whatever_they_are_called(written):
    table = written(**features(), y=RNG.random(20), count=RNG.integers(0, 4, 20), label=RNG.permutation(20))
    assert table.feature_names == ("a", "b", "y", "count", "label")


def test_what_the_user_names_is_a_feature(written):
    chosen = ReadOptions(columns=("a", "n", "target"))
    assert written(chosen, **features(), n=range(20), target=[0, 1] * 10).feature_names == ("a", "n", "target")


def test_the_only_feature_stays(written):
    assert written(n=range(20)).feature_names == ("n",)


def test_text_that_differs_in_every_row_names_the_samples(written):
    table = written(**features(), Probe=[f"P{i:03d}" for i in range(20)], kind=["u", "v"] * 10)
    assert (table.id_name, table.ids[1]) == ("Probe", "P001")
    assert list(table.labels) == ["kind"]
    table = written(ReadOptions(color="Probe"), **features(), Probe=[f"P{i:03d}" for i in range(20)])
    assert table.ids is None
    assert list(table.labels) == ["Probe"]


def test_days_are_labels_though_they_differ_in_every_row(written):
    days = [f"2026-01-{day:02d}" for day in range(1, 21)]
    table = written(**features(), date=days)
    assert table.ids is None
    assert table.labels["date"].tolist() == days
