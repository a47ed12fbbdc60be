"""What the method promises, on data with a known truth."""

import numpy as np
import pytest
from sklearn.manifold import LocallyLinearEmbedding

from hne import PUBLISHED, embed
from hne.datasets import make_swiss_roll
from hne.metrics import affine_errors, procrustes_error
from hne.settings import VARIANTS
from tests.conftest import one_fast

EACH_VARIANT = one_fast(*VARIANTS)


@pytest.mark.parametrize("variant", EACH_VARIANT)
@pytest.mark.parametrize("seed", one_fast(*range(10)))
def test_a_dense_roll_is_unrolled_in_both_coordinates(variant, seed):
    roll = make_swiss_roll(10_000, random_state=seed)
    Y = embed(roll.X, **PUBLISHED | {"n_neighbors": 8, "reg": 1e-5, "variant": variant}).Y
    assert affine_errors(Y, roll.chart).max() < 0.01


@pytest.mark.parametrize("variant", EACH_VARIANT)
def test_a_chart_of_a_dense_roll_is_its_own_with_its_lengths(variant):
    roll = make_swiss_roll(10_000, random_state=0)
    assert procrustes_error(embed(roll.X, variant=variant).Y, roll.chart) < 1e-5


@pytest.mark.parametrize("variant", EACH_VARIANT)
@pytest.mark.slow
def test_charts_of_sparse_rolls_are_their_own_even_at_random(variant):
    even, at_random = (
        [embedded_error(make_swiss_roll(300, even=even, random_state=seed), variant) for seed in range(10)]
        for even in (True, False)
    )
    assert max(even) < 5e-4
    # One in ten at random has folds that touch.
    assert sorted(at_random)[8] < 5e-4


def embedded_error(roll, variant):
    return procrustes_error(embed(roll.X, variant=variant).Y, roll.chart)


def test_a_sparse_roll_is_unrolled_where_lle_fails():
    errors = {method: [] for method in ("lle", *VARIANTS)}
    for seed in range(4):
        roll = make_swiss_roll(300, even=True, random_state=seed)
        lle = LocallyLinearEmbedding(n_neighbors=5, reg=1e-4, eigen_solver="dense").fit_transform(roll.X)
        errors["lle"].append(affine_errors(lle, roll.chart))
        for variant in VARIANTS:
            Y = embed(roll.X, **PUBLISHED | {"n_neighbors": 5, "variant": variant}).Y
            errors[variant].append(affine_errors(Y, roll.chart))
    # Lenient with LLE (the mean of both coordinates), strict with ours (the worse one).
    assert np.median(np.mean(errors["lle"], axis=1)) > 0.25
    for variant in VARIANTS:
        assert np.median(np.max(errors[variant], axis=1)) < 0.08
