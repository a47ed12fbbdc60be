"""Tables made ready: gaps refused, left out or filled; scales; rows keep their numbers."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from hne.exceptions import InputError
from hne.io import ColumnPreprocessor, Table, prepare_new, prepare_table
from hne.io.preprocess import keep_rows, scale_hint


def table_of(X, **more):
    names = tuple(f"f{number}" for number in range(X.shape[1]))
    return Table(X=X, feature_names=names, source="CSV", **more)


@pytest.fixture
def gappy():
    X = np.random.default_rng(0).normal(size=(30, 3))
    X[3, 1] = X[3, 2] = X[20, 1] = np.nan
    ids = tuple(f"s{row}" for row in range(30))
    return table_of(X, ids=ids, labels={"kind": np.array(["a", "b"] * 15, dtype=object)})


def test_rows_with_gaps_are_refused_by_number_and_column(gappy):
    with pytest.raises(InputError, match=r"got 2 rows with some \(4, 21; in 'f1', 'f2'\)\. Add --missing drop or"):
        prepare_table(gappy)


def test_rows_with_gaps_are_left_out_with_their_ids_and_labels_and_the_rest_keep_their_numbers(gappy):
    ready = prepare_table(gappy, "drop")
    assert ready.X.shape == (28, 3)
    assert ready.table.rows.tolist() == [row for row in range(1, 31) if row not in {4, 21}]
    assert ready.table.ids[3] == "s4"
    assert ready.table.labels["kind"][3] == "a"
    assert ready.table.notices == ("left out 2 rows with missing values (4, 21).",)


def test_gaps_are_filled_by_medians_and_the_table_stays_as_read(gappy):
    ready = prepare_table(gappy, "impute")
    assert ready.X[3, 1] == np.nanmedian(gappy.X[:, 1])
    assert np.isnan(ready.table.X[3, 1])
    assert "filled missing values of 2 rows with the medians" in ready.table.notices[0]


def test_a_table_without_gaps_is_not_copied():
    table = table_of(np.random.default_rng(0).normal(size=(30, 3)))
    for missing in ("refuse", "drop"):
        ready = prepare_table(table, missing)
        assert ready.X is table.X
        assert ready.table.rows is None


def test_infinite_values_are_refused_by_the_row_of_the_file_and_the_column():
    X = np.random.default_rng(0).normal(size=(30, 3))
    X[2] = [0, -np.inf, np.inf]
    X[0, 0] = np.nan
    message = r"^rows must be finite, got -inf in row 3, column 'f1'\. Mend or leave out that row\.$"
    for missing in ("drop", "impute"):
        with pytest.raises(InputError, match=message):
            prepare_table(table_of(X), missing)
    with pytest.raises(InputError, match=message):
        prepare_new(
            table_of(X[1:], rows=np.arange(2, 31)),
            ColumnPreprocessor.fit(X[5:], ("f0", "f1", "f2"), "none", fills=False),
        )
    with pytest.raises(InputError, match=r"got inf in row 2, column 'f1'"):
        prepare_table(table_of(csr_array(np.diag([1.0, np.inf]))))
    large = table_of(np.full((3, 2), 1e308))
    assert prepare_table(large).X is large.X


def test_gaps_in_distances_are_not_to_be_filled(gappy):
    with pytest.raises(InputError, match=r"got 2 rows with some .*Compute these distances\.$"):
        prepare_table(gappy, are_distances=True)
    for missing in ("drop", "impute"):
        with pytest.raises(InputError, match=r"takes distances as they are, got --scale or --missing\. Leave it out\."):
            prepare_table(gappy, missing, are_distances=True)


def test_sparse_tables_are_scaled_but_not_centered_and_never_robustly():
    table = table_of(csr_array(np.diag([1.0, 2.0, 4.0])))
    said = "columns are scaled but not centered, so that the matrix stays sparse."
    assert prepare_table(table, scaling="standard").table.notices == (said,)
    with pytest.raises(InputError, match=r"robust needs a dense table, got a sparse .*Choose --scale standard\."):
        prepare_table(table, scaling="robust")


def test_the_scale_of_pixels_is_remembered():
    table = table_of(np.random.default_rng(0).random((9, 4)), image_shape=(2, 2), pixel_scale=255.0)
    assert prepare_table(table).preprocessor.pixel_scale == 255.0


def test_a_column_of_gaps_alone_cannot_be_filled(gappy):
    gappy.X[:, 0] = np.nan
    with pytest.raises(InputError, match=r"needs a value in each column, got none in 'f0'\. Add --drop"):
        prepare_table(gappy, "impute")
    with pytest.raises(InputError, match=r"must leave some rows, got missing values in all\. Choose --missing impute"):
        prepare_table(gappy, "drop")


def test_gaps_of_sparse_tables_are_found_and_not_filled():
    matrix = csr_array(np.diag([1.0, np.nan, 3.0, 4.0]))
    with pytest.raises(InputError, match=r"got 1 row with some \(2; in 'f1'\)"):
        prepare_table(table_of(matrix))
    with pytest.raises(InputError, match="needs a dense table, got a sparse matrix"):
        prepare_table(table_of(matrix), "impute")
    assert prepare_table(table_of(matrix), "drop").X.shape == (3, 4)


def test_columns_a_thousand_times_apart_are_pointed_out():
    X = np.random.default_rng(0).normal(size=(50, 3)) * [1, 1, 2000]
    assert prepare_table(table_of(X)).table.notices[0].startswith("columns differ in scale: 'f2' spreads by")
    assert "--scale standard" in scale_hint(table_of(X))
    assert prepare_table(table_of(X), scaling="standard").table.notices == ()


@pytest.mark.parametrize("X", [np.eye(5) * 10, np.ones((5, 3)), np.ones((5, 1)), csr_array(np.diag([1.0, 1e6]))])
def test_other_tables_need_no_word_about_scale(X):
    assert scale_hint(table_of(X)) == ""


def test_pixels_need_no_word_about_scale():
    X = np.random.default_rng(0).random((9, 4)) * [1, 1, 1, 1e-6]
    assert scale_hint(table_of(X, image_shape=(2, 2))) == ""


def test_new_samples_are_filled_and_scaled_as_those_of_the_fit(gappy):
    preparation = ColumnPreprocessor.fit(gappy.X, gappy.feature_names, "standard", fills=True)
    ready = prepare_new(gappy, preparation)
    assert (preparation.transform(gappy.X) == ready.X).all()
    assert "filled" in ready.table.notices[0]
    assert prepare_new(gappy, preparation, "drop").X.shape == (28, 3)


def test_new_samples_with_gaps_are_refused_by_a_model_without_medians(gappy):
    preparation = ColumnPreprocessor.fit(gappy.X[5:15], gappy.feature_names, "none", fills=False)
    with pytest.raises(InputError, match=r"got 2 rows with some .*Add --missing drop\."):
        prepare_new(gappy, preparation)
    with pytest.raises(InputError, match="got one without medians"):
        prepare_new(gappy, preparation, "impute")


def test_rows_can_be_left_out_twice(gappy):
    once = keep_rows(gappy, np.arange(10, 30))
    assert keep_rows(once, np.array([0, 5])).rows.tolist() == [11, 16]
