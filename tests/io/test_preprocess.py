"""What is done to columns before a fit: gaps refused, left out or filled; scales; the same to others."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from hne import HNE
from hne.exceptions import InputError, ModelFileError, PreparedModelWarning
from hne.io import ColumnPreprocessor, Table, prepare_new, prepare_table
from hne.io.preprocess import keep_rows, scale_hint
from tests.helpers.model_files import forge

NAMES = ("a", "b", "c")


@pytest.fixture(scope="module")
def samples():
    X = np.random.default_rng(0).normal([1, 50, -3], [1, 20, 0.1], size=(60, 3))
    X[4, 1] = X[9, 2] = np.nan
    return X


def test_medians_fill_and_standard_scaling_gives_mean_0_and_deviation_1(samples):
    preparation = ColumnPreprocessor.fit(samples, NAMES, "standard", fills=True)
    ready = preparation.transform(samples)
    assert np.allclose(ready.mean(axis=0), 0)
    assert np.allclose(ready.std(axis=0), 1)
    median = np.nanmedian(samples[:, 1])
    assert ready[4, 1] == pytest.approx((median - preparation.center[1]) / preparation.scale[1])


def test_robust_scaling_is_not_moved_by_an_outlier():
    X = np.random.default_rng(0).normal(size=(500, 2))
    wild = np.vstack([X, [[1e9, 1e9]]])
    assert np.allclose(ColumnPreprocessor.fit(wild, NAMES[:2], "robust", fills=False).scale, 1, atol=0.15)
    assert ColumnPreprocessor.fit(wild, NAMES[:2], "standard", fills=False).scale.min() > 1e6


def test_a_constant_column_is_left_at_its_scale():
    X = np.column_stack([np.full(10, 3.0), np.arange(10.0)])
    for scaling in ("standard", "robust"):
        ready = ColumnPreprocessor.fit(X, NAMES[:2], scaling, fills=False).transform(X)
        assert (ready[:, 0] == 0).all()
        assert np.isfinite(ready).all()


def test_a_column_whose_middle_half_is_one_value_is_scaled_by_its_deviation():
    column = np.array([0.0] * 18 + [5.0, -5.0])
    preparation = ColumnPreprocessor.fit(column[:, None], ("a",), "robust", fills=False)
    assert preparation.scale[0] == pytest.approx(column.std())


def test_sparse_columns_are_scaled_without_being_moved():
    X = csr_array(np.diag([1.0, 2.0, 4.0]))
    ready = ColumnPreprocessor.fit(X, NAMES, "standard", fills=False).transform(X)
    assert ready.nnz == 3
    assert np.allclose(ready.toarray().std(axis=0), 1)


def test_values_come_back_as_they_are_where_nothing_is_to_be_done(samples):
    assert not ColumnPreprocessor.fit(samples, NAMES, "none", fills=False).changes_values
    assert ColumnPreprocessor.fit(samples, NAMES, "none", fills=False).transform(samples) is samples


def test_other_columns_are_refused(samples):
    with pytest.raises(InputError, match=r"have 3 columns, got shape \(60, 2\)"):
        ColumnPreprocessor(NAMES).transform(samples[:, :2])


@pytest.fixture(scope="module")
def fitted(samples):
    preparation = ColumnPreprocessor.fit(samples, NAMES, "standard", fills=True)
    model = HNE().fit(preparation.transform(samples))
    model.preparation_ = preparation
    return model


def test_a_saved_model_keeps_what_was_done_to_its_columns_and_warns_who_loads_it(samples, fitted, tmp_path):
    fitted.save(tmp_path / "model.hne")
    with pytest.warns(PreparedModelWarning, match=r"filled or scaled first.*preparation_\.transform"):
        again = HNE.load(tmp_path / "model.hne")
    assert again.preparation_.feature_names == NAMES
    assert again.preparation_.scaling == "standard"
    placed = again.transform(again.preparation_.transform(samples))
    assert (placed == fitted.embedding_).all()
    assert again.fit(samples[10:]).preparation_ is None


def test_columns_that_were_only_chosen_need_no_warning(samples, tmp_path):
    model = HNE().fit(samples[10:])
    for preparation in (ColumnPreprocessor(NAMES), ColumnPreprocessor(NAMES, image_shape=(1, 3), pixel_scale=255.0)):
        model.preparation_ = preparation
        model.save(tmp_path / "model.hne")
        assert HNE.load(tmp_path / "model.hne").preparation_ == preparation


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"feature_names": {"kind": "tuple", "items": ["a"]}}, "that of 3 features"),
        ({"feature_names": {"kind": "tuple", "items": [1, 2, 3]}}, "'feature_names' .* another kind"),
        ({"scaling": "wild"}, "that of 3 features"),
        ({"image_shape": {"kind": "tuple", "items": [2, 2]}}, "that of 3 features"),
        ({"image_shape": {"kind": "tuple", "items": [-3, -1]}}, "that of 3 features"),
        ({"pixel_scale": 0.0}, "that of 3 features"),
        ({"pixel_scale": 10**400}, "'pixel_scale' .* another kind"),
        ({"pixel_scale": "255"}, "'pixel_scale' .* another kind"),
    ],
)
def test_a_forged_preparation_is_refused(fitted, tmp_path, change, says):
    path = tmp_path / "model.hne"
    fitted.save(path)
    forge(path, lambda header: header["preparation"].update(change))
    with pytest.raises(ModelFileError, match=says):
        HNE.load(path)


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
    with pytest.raises(InputError, match=r"got 2 rows with some \(4, 21;"):
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
    with pytest.raises(InputError, match=r"got 2 rows with some .*Compute these"):
        prepare_table(gappy, are_distances=True)
    for missing in ("drop", "impute"):
        with pytest.raises(InputError, match=r"as they are, got `scale` or `missing`\."):
            prepare_table(gappy, missing, are_distances=True)


def test_sparse_tables_are_scaled_but_not_centered_and_never_robustly():
    table = table_of(csr_array(np.diag([1.0, 2.0, 4.0])))
    said = "columns are scaled but not centered, so that the matrix stays sparse."
    assert prepare_table(table, scale="standard").table.notices == (said,)
    with pytest.raises(InputError, match=r"a dense table, got a sparse .*Choose"):
        prepare_table(table, scale="robust")


def test_the_scale_of_pixels_is_remembered():
    table = table_of(np.random.default_rng(0).random((9, 4)), image_shape=(2, 2), pixel_scale=255.0)
    assert prepare_table(table).preprocessor.pixel_scale == 255.0


def test_a_column_of_gaps_alone_cannot_be_filled(gappy):
    gappy.X[:, 0] = np.nan
    with pytest.raises(InputError, match=r"in each column, got none in 'f0'\."):
        prepare_table(gappy, "impute")
    with pytest.raises(InputError, match=r"leave some rows, got missing values in"):
        prepare_table(gappy, "drop")


def test_gaps_of_sparse_tables_are_found_and_not_filled():
    matrix = csr_array(np.diag([1.0, np.nan, 3.0, 4.0]))
    with pytest.raises(InputError, match=r"got 1 row with some \(2; in"):
        prepare_table(table_of(matrix))
    with pytest.raises(InputError, match="a dense table, got a sparse matrix"):
        prepare_table(table_of(matrix), "impute")
    assert prepare_table(table_of(matrix), "drop").X.shape == (3, 4)


def test_columns_a_thousand_times_apart_are_pointed_out():
    X = np.random.default_rng(0).normal(size=(50, 3)) * [1, 1, 2000]
    assert prepare_table(table_of(X)).table.notices[0].startswith("columns differ in scale: 'f2' spreads by")
    assert "scale='standard'" in scale_hint(table_of(X))
    assert prepare_table(table_of(X), scale="standard").table.notices == ()


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
    with pytest.raises(InputError, match=r"got 2 rows with some .*Add missing="):
        prepare_new(gappy, preparation)
    with pytest.raises(InputError, match="got one without medians"):
        prepare_new(gappy, preparation, "impute")


def test_rows_can_be_left_out_twice(gappy):
    once = keep_rows(gappy, np.arange(10, 30))
    assert keep_rows(once, np.array([0, 5])).rows.tolist() == [11, 16]
