"""Layout: pieces side by side, none overlapping, columns orthonormal and centered."""

from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from hne.core.pieces.arrange import arrange_pieces
from hne.exceptions import InputError
from tests.conftest import frozen


def part_of(size, d, rng):
    """A piece as the eigensolver leaves it: orthonormal, centered columns, zero where there are too few samples."""
    rank = min(d, size - 1)
    columns = rng.random((size, rank))
    part = np.zeros((size, d))
    part[:, :rank] = np.linalg.qr(columns - columns.mean(axis=0))[0]
    return frozen(part)


def grid_of(side, d):
    """side**d samples of a regular grid."""
    return frozen(np.stack(np.meshgrid(*[np.arange(side, dtype=float)] * d), axis=-1).reshape(-1, d))


@st.composite
def layouts(draw, max_pieces=9):
    """Parts, centers on a lattice (some of them equal) and the layout, in up to four dimensions."""
    d = draw(st.integers(1, 4))
    sizes = sorted(draw(st.lists(st.integers(1, 30), min_size=1, max_size=max_pieces)), reverse=True)
    assume(sum(sizes) > d)
    q = draw(st.integers(1, 4))
    flat = draw(st.lists(st.integers(-8, 8), min_size=len(sizes) * q, max_size=len(sizes) * q))
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    parts = [part_of(size, d, rng) for size in sizes]
    centers = frozen(np.array(flat, dtype=float).reshape(-1, q))
    return parts, centers, arrange_pieces(parts, centers)


def pieces_in(Y, parts):
    return np.split(Y, np.cumsum([len(part) for part in parts])[:-1])


def boxes_in(Y, parts):
    """Lowest and highest coordinates of each piece, (C, d) each."""
    pieces = pieces_in(Y, parts)
    return np.array([piece.min(axis=0) for piece in pieces]), np.array([piece.max(axis=0) for piece in pieces])


def assert_orthonormal_and_centered(Y):
    np.testing.assert_allclose(Y.T @ Y, np.eye(Y.shape[1]), atol=1e-12)
    np.testing.assert_allclose(Y.sum(axis=0), 0, atol=1e-12)


@given(layouts())
def test_columns_are_orthonormal_and_centered(layout):
    parts, _, Y = layout
    assert Y.shape == (sum(map(len, parts)), parts[0].shape[1])
    assert_orthonormal_and_centered(Y)


@given(layouts())
def test_between_any_two_pieces_there_is_a_gap_of_a_tenth_of_their_sides(layout):
    parts, _, Y = layout
    low, high = boxes_in(Y, parts)
    side = high - low
    for one, other in combinations(range(len(parts)), 2):
        gap = np.maximum(low[one] - high[other], low[other] - high[one])
        assert ((gap > 0) & (gap > 0.1 * (side[one] + side[other]))).any()


def factors(piece, part):
    """[a, b]: the factor from column b of the part to column a of the piece, NaN if it is no multiple of it."""
    piece, part = piece - piece.mean(axis=0), part - part.mean(axis=0)
    products = piece.T @ part / np.maximum((part**2).sum(axis=0), 1e-300)
    apart = np.abs(piece.T[:, None] - products[:, :, None] * part.T[None]).max(axis=2)
    return np.where(apart < 1e-10 * max(1e-300, np.abs(piece).max()), products, np.nan)


@given(layouts())
def test_each_piece_is_a_copy_of_its_part_moved_and_scaled_along_the_axes(layout):
    parts, _, Y = layout
    d = Y.shape[1]
    for piece, part in zip(pieces_in(Y, parts), parts, strict=True):
        rank = min(d, len(part) - 1)
        found = factors(piece, part)[:, :rank] > 1e-6
        assert (found.sum(axis=0) == 1).all()
        assert (found.sum(axis=1) <= 1).all()
        assert (np.ptp(piece, axis=0)[~found.any(axis=1)] < 1e-12).all()
        if rank == d:
            assert found.diagonal().all()


@given(layouts())
def test_spreads_grow_with_the_root_of_the_number_of_samples(layout):
    parts, _, Y = layout
    d = Y.shape[1]
    spreads = np.array([piece.std(axis=0) / len(piece) ** (1 / d) for piece in pieces_in(Y, parts)])
    for axis in range(d):
        own = spreads[spreads[:, axis] > 1e-12, axis]
        np.testing.assert_allclose(own, own[:1].repeat(len(own)), rtol=1e-9)


@given(layouts(), st.integers(-20, 20), st.integers(-5, 5))
def test_where_and_how_large_parts_and_centers_are_does_not_matter(layout, shift, exponent):
    parts, centers, Y = layout
    scale = 2.0**exponent
    again = arrange_pieces([part * scale + shift / 8 for part in parts], centers * scale)
    np.testing.assert_allclose(again, Y, atol=1e-9)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_larger_pieces_have_larger_boxes(d):
    parts = [grid_of(side, d) for side in (9, 7, 5, 4, 3, 2)]
    low, high = boxes_in(arrange_pieces(parts, frozen(np.random.default_rng(d).random((6, 3)))), parts)
    volumes = (high - low).prod(axis=1)
    assert (volumes[:-1] > 1.05 * volumes[1:]).all()


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("order", list(permutations(range(3))))
@pytest.mark.parametrize("sizes", [(200, 200, 200), (400, 150, 20), (300, 300, 30), (900, 8, 8)])
def test_of_three_pieces_on_a_line_the_middle_one_is_laid_between_the_others(sizes, order, d):
    rng = np.random.default_rng(3)
    parts = [part_of(size, d, rng) for size in sizes]
    for direction in ([1.0], [1.0, -1.0], [0.3, 0.1, -0.7]):
        centers = np.array(order)[:, None] * np.array(direction) / 3
        low, high = boxes_in(arrange_pieces(parts, frozen(centers)), parts)
        first, middle, last = np.argsort(order)
        rising = (high[first] < low[middle]) & (high[middle] < low[last])
        falling = (low[first] > high[middle]) & (low[middle] > high[last])
        assert (rising | falling).any()


@given(st.permutations(range(7)), st.integers(0, 99))
def test_in_one_dimension_pieces_stand_in_the_order_of_their_centers(order, seed):
    rng = np.random.default_rng(seed)
    parts = [part_of(size, 1, rng) for size in (30, 9, 9, 5, 2, 1, 1)]
    low, high = boxes_in(arrange_pieces(parts, np.array(order, dtype=float)[:, None]), parts)
    along = np.argsort(order)
    assert (high[along[:-1]] < low[along[1:]]).all()


@pytest.mark.parametrize("d", [1, 2, 3])
def test_groups_of_pieces_that_are_far_apart_stay_apart(d):
    rng = np.random.default_rng(4)
    parts = [part_of(40, d, rng) for _ in range(16)]
    group = np.arange(16) % 2
    centers = rng.random((16, 3)) + 10.0 * group[:, None]
    low, high = boxes_in(arrange_pieces(parts, centers), parts)
    assert (high[group == 0].max(axis=0) < low[group == 1].min(axis=0)).any()


@given(st.permutations([(0.0, 0.0), (0.0, 1.0), (3.0, 0.0), (3.0, 1.0)]))
def test_pieces_at_the_corners_of_a_rectangle_stay_at_its_corners(corners):
    parts = [grid_of(5, 2)] * 4
    Y = arrange_pieces(parts, np.array(corners))
    places = dict(zip(corners, (piece.mean(axis=0) for piece in pieces_in(Y, parts)), strict=True))
    assert places[0, 0][0] < places[3, 0][0]
    assert places[0, 1][0] < places[3, 1][0]
    assert places[0, 0][1] < places[0, 1][1]
    assert places[3, 0][1] < places[3, 1][1]


@pytest.mark.parametrize("d", [1, 2, 3])
def test_single_samples_on_a_line_fill_all_dimensions_evenly(d):
    Y = arrange_pieces([np.zeros((1, d))] * 500, frozen(np.arange(500.0)[:, None]))
    assert_orthonormal_and_centered(Y)
    assert len(np.unique(Y.round(9), axis=0)) == 500
    sides = np.ptp(Y, axis=0)
    assert sides.max() < 1.5 * sides.min()


@pytest.mark.parametrize(("sizes", "d"), [((3, 3), 4), ((3, 3), 5), ((2, 2, 1), 4), ((1,) * 6, 5), ((4, 1, 1), 5)])
def test_small_pieces_share_the_axes_among_them(sizes, d):
    rng = np.random.default_rng(5)
    Y = arrange_pieces([part_of(size, d, rng) for size in sizes], rng.random((len(sizes), 2)))
    assert_orthonormal_and_centered(Y)


def test_two_triples_in_four_dimensions_have_two_axes_each():
    rng = np.random.default_rng(6)
    one, other = pieces_in(arrange_pieces([part_of(3, 4, rng)] * 2, np.array([[0.0], [1.0]])), [np.zeros(3)] * 2)
    np.testing.assert_array_equal(np.ptp(one, axis=0) > 1e-12, [True, True, False, False])
    np.testing.assert_array_equal(np.ptp(other, axis=0) > 1e-12, [False, False, True, True])


def test_one_piece_alone_keeps_its_coordinates():
    part = part_of(50, 3, np.random.default_rng(7))
    np.testing.assert_allclose(arrange_pieces([part], np.zeros((1, 2))), part, atol=1e-14)


def test_equal_centers_and_one_dominating_piece_do_not_exhaust_the_stack():
    parts = [part_of(5000, 2, np.random.default_rng(8)), *[np.zeros((1, 2))] * 2000]
    for spread in (0.0, 1.0):
        Y = arrange_pieces(parts, spread * np.arange(2001.0)[:, None])
        assert_orthonormal_and_centered(Y)
        assert len(np.unique(Y.round(9), axis=0)) == 7000


def test_equal_samples_are_no_axis_of_their_own():
    parts = [part_of(20, 2, np.random.default_rng(9)), np.full((3, 2), 0.1)]
    Y = arrange_pieces(parts, np.array([[0.0], [1.0]]))
    assert_orthonormal_and_centered(Y)
    assert (np.ptp(Y[20:], axis=0) < 1e-12).all()


def test_too_few_dimensions_in_all_pieces_are_an_error():
    match = r"n_components=3 needs pieces that span 3 dimensions side by side, got 2 that span 2\. Lower n_components"
    with pytest.raises(InputError, match=match):
        arrange_pieces([np.array([[0.0, 0, 0], [1, 0, 0]]), np.zeros((2, 3))], np.array([[0.0], [1.0]]))
