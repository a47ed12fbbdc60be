"""How near samples are to a surface, and the settings that follow where none are given."""

import numpy as np
import pytest

from hne import HNE, embed
from hne._suited import suited
from hne._types import Settings
from hne._yardstick import NEAR_SURFACE, flat_share
from hne.datasets import make_swiss_roll


def share(X, d=2):
    return flat_share(X, d, "euclidean", None, 1)


def test_a_plane_lies_in_its_tangent_planes_and_a_cloud_does_not():
    rng = np.random.default_rng(0)
    plane = rng.normal(size=(200, 2)) @ rng.normal(size=(2, 6))
    assert share(plane) == pytest.approx(1.0)
    assert share(rng.normal(size=(400, 8))) < 0.6
    assert share(rng.normal(size=(400, 8)), 8) == pytest.approx(1.0)


def test_noise_is_seen_past_by_larger_neighborhoods():
    roll = make_swiss_roll(1500, random_state=3)
    noise = 0.1 * np.random.default_rng(1).normal(size=(1500, 47))
    assert share(np.column_stack([roll.X, noise])) > NEAR_SURFACE


@pytest.mark.parametrize(
    ("flat", "n", "expected"), [(0.95, 300, 12), (0.95, 6000, 8), (0.5, 300, 5), (0.95, 4, 3), (float("nan"), 300, 12)]
)
def test_neighbors_go_by_nearness_and_number_of_samples(flat, n, expected):
    assert suited(Settings(), {"n_neighbors", "reg"}, flat, n).n_neighbors == expected


def test_reg_goes_with_the_neighbors_near_a_surface_and_is_large_elsewhere():
    near = suited(Settings(n_neighbors=6), {"reg"}, 0.95, 300)
    assert (near.n_neighbors, near.reg) == (6, pytest.approx(1e-4))
    assert suited(Settings(n_neighbors=6), {"reg"}, 0.5, 300).reg == 0.1
    assert suited(Settings(n_neighbors=6, reg=0.5), set(), 0.5, 300) == Settings(n_neighbors=6, reg=0.5)


def test_what_was_used_is_said_and_what_was_given_is_kept():
    roll = make_swiss_roll(300, even=True)
    model = HNE().fit(roll.X)
    assert (model.n_neighbors_, model.variant_) == (12, "ihne")
    assert model.reg_ == pytest.approx(1e-4 * 2**3.3)
    given = HNE(n_neighbors=7, reg=2e-4).fit(roll.X)
    assert (given.n_neighbors_, given.reg_) == (7, 2e-4)


def test_a_few_samples_have_as_many_neighbors_as_there_are_others():
    X = np.random.default_rng(0).normal(size=(5, 3))
    assert embed(X).settings.n_neighbors == 4
