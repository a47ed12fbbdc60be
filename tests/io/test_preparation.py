"""What is done to columns before a fit: filled, scaled, and the same to others."""

import json

import numpy as np
import pytest
from scipy.sparse import csr_array

from hne import HNE
from hne.exceptions import InputError, ModelFileError, PreparedModelWarning
from hne.io import ColumnPreprocessor

NAMES = ("a", "b", "c")


@pytest.fixture
def gappy():
    X = np.random.default_rng(0).normal([1, 50, -3], [1, 20, 0.1], size=(60, 3))
    X[4, 1] = X[9, 2] = np.nan
    return X


def test_medians_fill_and_standard_scaling_gives_mean_0_and_deviation_1(gappy):
    preparation = ColumnPreprocessor.fit(gappy, NAMES, "standard", fills=True)
    ready = preparation.transform(gappy)
    assert np.allclose(ready.mean(axis=0), 0)
    assert np.allclose(ready.std(axis=0), 1)
    median = np.nanmedian(gappy[:, 1])
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


def test_values_come_back_as_they_are_where_nothing_is_to_be_done(gappy):
    assert not ColumnPreprocessor.fit(gappy, NAMES, "none", fills=False).changes_values
    assert ColumnPreprocessor.fit(gappy, NAMES, "none", fills=False).transform(gappy) is gappy


def test_other_columns_are_refused(gappy):
    with pytest.raises(InputError, match=r"X must have 3 columns, got shape \(60, 2\)"):
        ColumnPreprocessor(NAMES).transform(gappy[:, :2])


def fitted(gappy):
    preparation = ColumnPreprocessor.fit(gappy, NAMES, "standard", fills=True)
    model = HNE().fit(preparation.transform(gappy))
    model.preparation_ = preparation
    return model


def test_a_saved_model_keeps_what_was_done_to_its_columns_and_warns_who_loads_it(gappy, tmp_path):
    model = fitted(gappy)
    model.save(tmp_path / "model.hne")
    with pytest.warns(PreparedModelWarning, match=r"filled or scaled first.*preparation_\.transform"):
        again = HNE.load(tmp_path / "model.hne")
    assert again.preparation_.feature_names == NAMES
    assert again.preparation_.scaling == "standard"
    placed = again.transform(again.preparation_.transform(gappy))
    assert (placed == model.embedding_).all()
    assert again.fit(gappy[10:]).preparation_ is None


def test_columns_that_were_only_chosen_need_no_warning(gappy, tmp_path):
    model = HNE().fit(gappy[10:])
    for preparation in (ColumnPreprocessor(NAMES), ColumnPreprocessor(NAMES, image_shape=(1, 3), pixel_scale=255.0)):
        model.preparation_ = preparation
        model.save(tmp_path / "model.hne")
        assert HNE.load(tmp_path / "model.hne").preparation_ == preparation


def _rewrite(path, change):
    """Change the header of a model's file."""
    with np.load(path) as file:
        held = {name: file[name] for name in file.files}
    header = json.loads(held.pop("header").tobytes())
    change(header)
    with path.open("wb") as file:
        np.savez(file, header=np.frombuffer(json.dumps(header).encode(), dtype=np.uint8), **held)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda header: header["preparation"].update(feature_names=["a"]), "must name 3 features"),
        (lambda header: header["preparation"].update(feature_names=[1, 2, 3]), "must name 3 features"),
        (lambda header: header["preparation"].update(scaling="wild"), "'scaling' in its header must be one of"),
        (lambda header: header["preparation"].update(image_shape=[2, 2]), "must be that of 3 pixels"),
        (lambda header: header["preparation"].update(image_shape=[3, -1]), "must be that of 3 pixels"),
        (lambda header: header["preparation"].update(pixel_scale=0), "'pixel_scale' in its header must be positive"),
        (lambda header: header["preparation"].update(pixel_scale=10**400), "'pixel_scale' in its header must be posi"),
        (lambda header: header["preparation"].update(pixel_scale="255"), "'pixel_scale' in its header must be int or"),
        (lambda header: header.update(preparation=[]), "'preparation' in its header must be dict"),
    ],
)
def test_a_forged_preparation_is_refused(gappy, tmp_path, change, says):
    path = tmp_path / "model.hne"
    fitted(gappy).save(path)
    _rewrite(path, change)
    with pytest.raises(ModelFileError, match=says):
        HNE.load(path)


def test_models_of_before_the_scale_of_pixels_was_kept_are_read(gappy, tmp_path):
    path = tmp_path / "model.hne"
    fitted(gappy).save(path)
    _rewrite(path, lambda header: header["preparation"].pop("pixel_scale"))
    with pytest.warns(PreparedModelWarning):
        assert HNE.load(path).preparation_.pixel_scale is None
