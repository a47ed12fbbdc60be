"""The circular order of a ring: 0 in any guise, bad where the ring is lost."""

import numpy as np
import pytest

from hne.exceptions import InputError
from hne_paper.metrics import ring_order_error


def ring(n, seed=0):
    """A circle at uneven angles, in random order of the samples."""
    angles = np.random.default_rng(seed).permutation(2 * np.pi * (np.arange(n) + 0.3 * np.sin(np.arange(n))) / n)
    return np.column_stack([np.cos(angles), np.sin(angles)]), angles


@pytest.mark.parametrize("seed", range(5))
def test_any_affine_image_of_the_ring_is_in_order(seed):
    Y, angles = ring(80, seed)
    image = Y @ np.random.default_rng(seed).normal(size=(2, 2)) + 7
    assert ring_order_error(image, angles) == 0.0
    assert ring_order_error(image, 1.0 - angles) == 0.0
    assert ring_order_error(image, angles[:, None] + 100) == 0.0
    assert ring_order_error(image, np.rad2deg(angles), period=360) == 0.0
    assert ring_order_error(np.column_stack([image, np.random.default_rng(1).random(80)]), angles) == 0.0


def test_two_samples_that_changed_places_break_four_pairs():
    Y, angles = ring(40)
    order = np.argsort(angles)
    swapped = Y.copy()
    swapped[order[[10, 25]]] = Y[order[[25, 10]]]
    np.testing.assert_allclose(ring_order_error(swapped, angles), 4 / 40)


def test_an_order_of_chance_keeps_next_to_nothing():
    _, angles = ring(500)
    assert ring_order_error(np.random.default_rng(1).normal(size=(500, 2)), angles) > 0.97


@pytest.mark.parametrize("offset", [0.0, 5.0])
def test_a_collapsed_embedding_is_not_lucky(offset):
    angles = np.linspace(0, 6, 30)
    on_a_line = np.outer(angles, [1.0, 2.0])
    assert ring_order_error(np.full((30, 2), offset), angles) == 1.0
    assert ring_order_error(on_a_line + offset, angles) == 1.0
    assert ring_order_error(np.full((30, 2), offset) + 1e-16 * ring(30)[0], angles) > 0.8


def test_samples_that_fell_together_are_lost():
    angles = 2 * np.pi * np.arange(40) / 40
    Y = np.column_stack([np.cos(angles), np.sin(angles)])
    Y[:20] = Y[::2]
    Y[20:] = Y[:20]
    # Each point holds two samples, half a ring apart: no sample has an angle of its own.
    assert ring_order_error(Y, angles) == 1.0
    few = np.column_stack([np.cos(angles), np.sin(angles)])
    few[1] = few[0]
    # The pairs (39, 0), (0, 1) and (1, 2).
    np.testing.assert_allclose(ring_order_error(few, angles), 3 / 40)


def test_a_sample_in_the_middle_has_no_angle():
    angles = 2 * np.pi * np.arange(9) / 8
    Y = np.vstack([np.column_stack([np.cos(angles[:8]), np.sin(angles[:8])]), [[0.0, 0.0]]])
    angles[8] = 0.1
    # Its two pairs are lost, and those of whom it stands next to by rounding.
    assert 2 / 9 <= ring_order_error(Y, angles) <= 5 / 9


def test_a_ring_twisted_into_an_eight_breaks_two_pairs():
    angles = 2 * np.pi * (np.arange(100) + 0.5) / 100
    Y = np.column_stack([np.cos(angles), np.sin(2 * angles)])
    np.testing.assert_allclose(ring_order_error(Y, angles), 2 / 100)


def test_a_ring_pressed_flat_has_its_sides_mixed():
    rng = np.random.default_rng(2)
    Y, angles = ring(200)
    assert ring_order_error(Y * [1.0, 0.0] + 0.01 * rng.normal(size=(200, 2)), angles) > 0.5


@pytest.mark.parametrize(
    ("Y", "angles", "message"),
    [
        (np.ones((4, 1)), np.arange(4.0), r"^Y must have at least two columns to hold a ring, got 1\. Embed in two"),
        (np.eye(3), np.arange(3.0), r"^Y must have at least 4 samples, .*, got 3\. Pass more samples"),
        (np.eye(4), np.arange(3.0), r"^angles must have as many rows as Y, got 3 and 4\. Pass matching rows"),
        (np.eye(4), np.eye(4), r"^angles must be one number for each sample, got shape \(4, 4\)\. Pass one col"),
        (np.eye(4), ["a"] * 4, r"^angles must be one number for each sample"),
        (np.eye(4), [0.0, np.nan, 1.0, 2.0], r"^angles must be finite, got nan in row 1\. Drop such samples"),
        (
            np.eye(4),
            [0.0, 1.0, 2.0, 2 * np.pi],
            r"^angles must differ modulo the period, got the same for samples 0 and",
        ),
        (
            np.eye(4),
            [0.0, 90.0, 180.0, 270.0],
            r"^angles must lie within one turn of period=6\.283, got a range of 27",
        ),
        (np.eye(4), ["east", "north", "west", "south"], r"^angles must be one number for each sample, got list of som"),
    ],
)
def test_what_is_no_ring_is_refused(Y, angles, message):
    with pytest.raises(InputError, match=message):
        ring_order_error(Y, angles)
