"""The triangle of G: the product of SciPy, by either kernel, in any blocks, in int32 while that counts far enough."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hne.core import records as _types
from hne.core.eigen import alignment as _triangle
from hne.core.eigen.alignment import upper_triangle
from tests.conftest import lattice_clouds
from tests.core.test_alignment import aligned


@pytest.mark.parametrize("kernel", ["scipy", "numba"])
@given(X=lattice_clouds(), gamma=st.sampled_from([0.1, 1.0, 10.0]))
def test_it_is_the_upper_triangle_of_g_with_its_diagonal_first(kernel, X, gamma):
    record = aligned(X, gamma=gamma)
    upper = upper_triangle(record, kernel=kernel)
    expected = np.triu(record.matrix().toarray())
    np.testing.assert_allclose(upper.toarray(), expected, atol=1e-13 * np.abs(expected).max())
    assert upper.has_sorted_indices
    np.testing.assert_array_equal(upper.indices[upper.indptr[:-1]], np.arange(len(X)))


def test_blocks_and_threads_do_not_change_a_bit(roll):
    record = aligned(roll.X, 6)
    whole = upper_triangle(record, 1, "numba")
    split = upper_triangle(record, 4, "numba", block_rows=17)
    np.testing.assert_array_equal(whole.data, split.data)
    np.testing.assert_array_equal(whole.indices, split.indices)


def test_entries_are_numbered_in_int32_until_there_are_too_many(roll, monkeypatch):
    record = aligned(roll.X, 6)
    assert upper_triangle(record, kernel="numba").indices.dtype == np.int32
    monkeypatch.setattr(_types, "INT32_MAX", 100)
    large = upper_triangle(record, kernel="numba")
    assert large.indices.dtype == large.indptr.dtype == np.int64
    assert abs(large - upper_triangle(record, kernel="scipy")).max() < 1e-13


def test_the_kernel_is_chosen_by_the_amount_of_work(roll, monkeypatch):
    record = aligned(roll.X, 6)
    loaded, load = [], _triangle.load_unbroken
    monkeypatch.setattr(_triangle, "load_unbroken", lambda module: loaded.append(module) or load(module))
    upper_triangle(record)
    assert not loaded
    monkeypatch.setattr(_triangle, "NUMBA_MIN_WORK", 1)
    upper_triangle(record)
    assert loaded == ["hne.core.eigen.numba_triangle"]
