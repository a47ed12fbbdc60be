"""Intrinsic dimension: two estimators, the whole number they tell, and whether they agree."""

import numpy as np
import pytest
from hypothesis import given

from hne.core.tangent.frames import estimated_dimension, likelihood_dimension, two_nearest_dimension
from hne.datasets import (
    make_cube,
    make_helix,
    make_s_curve,
    make_severed_sphere,
    make_swiss_roll,
    make_trefoil,
    make_twin_peaks,
)
from hne.exceptions import InputError, InputTypeError
from hne.metrics import Dimension, intrinsic_dimension
from hne_paper.datasets import load_statue_faces, make_faces, make_teapots
from tests.conftest import frozen, lattice_clouds, shared_file


def gaussian(n, d, seed=0):
    return frozen(np.random.default_rng(seed).normal(size=(n, d)))


def flat(n, d, n_features, seed=0):
    """A Gaussian of d dimensions, turned at random in a space of more."""
    turn = np.linalg.qr(np.random.default_rng(seed).normal(size=(n_features, n_features)))[0]
    return frozen(gaussian(n, d, seed) @ turn[:d])


def powers(*rows):
    """Distances that are powers of two."""
    return frozen(2.0 ** np.array(rows))


def test_the_likelihood_by_hand():
    # Fewer than six distances: log 4 + log 2, two terms; with a second row of twice the logarithms, 4 / (9 log 2).
    assert likelihood_dimension(powers([0, 1, 2])) == pytest.approx(2 / (3 * np.log(2)))
    assert likelihood_dimension(powers([0, 1, 2], [0, 2, 4])) == pytest.approx(4 / (9 * np.log(2)))


def test_the_likelihood_does_not_look_where_the_nearest_third_is():
    # The second of six counts twice: 2 * 4 + 3 + 2 + 1 times log 2, four terms.
    expected = 4 / (14 * np.log(2))
    for nearest in (0, 0.5, 1):
        assert likelihood_dimension(powers([nearest, 1, 2, 3, 4, 5])) == pytest.approx(expected)


def test_the_two_nearest_by_hand():
    # Shares 1/3 and 2/3 of ratios 2 and 4; the third row is the tail.
    depth, growth = -np.log([2 / 3, 1 / 3]), np.log([2, 4])
    expected = depth @ growth / (growth @ growth)
    assert two_nearest_dimension(powers([0, 2], [0, 9], [0, 1])) == pytest.approx(expected)
    assert two_nearest_dimension(powers([0, 2], [5, 50], [3, 4])) == pytest.approx(expected)


@pytest.mark.parametrize("d", [1, 2, 4])
def test_both_estimators_are_right_where_counts_grow_as_the_power_of_the_distance(d):
    # Arrivals of a Poisson process, to the power of 1 / d: what the estimators assume.
    arrivals = np.random.default_rng(d).exponential(size=(4000, 12)).cumsum(axis=1)
    distances = arrivals ** (1 / d)
    assert likelihood_dimension(distances) == pytest.approx(d, rel=0.02)
    assert two_nearest_dimension(distances) == pytest.approx(d, rel=0.05)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("make", "n", "d"),
    [
        (make_helix, 300, 1),
        (make_trefoil, 300, 1),
        (make_swiss_roll, 300, 2),
        (make_swiss_roll, 3000, 2),
        (make_s_curve, 600, 2),
        (make_twin_peaks, 600, 2),
        (make_severed_sphere, 600, 2),
        (make_cube, 600, 3),
    ],
)
def test_manifolds_have_their_dimension_and_both_agree(make, n, d, seed):
    found = intrinsic_dimension(make(n, random_state=seed).X)
    assert (found.dimension, found.is_agreed) == (d, True)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("d", [2, 3, 4, 5, 6])
def test_gaussians_have_theirs_in_any_space(d, seed):
    assert intrinsic_dimension(flat(1000, d, 8, seed)).dimension == d


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("d", [2, 3, 4, 5])
def test_so_have_cubes_whose_edges_lower_the_estimates(d, seed):
    found = intrinsic_dimension(make_cube(1000, dimension=d, n_features=10, random_state=seed).X)
    assert found.dimension == d
    assert found.by_likelihood < d


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("X_of", "d"),
    [
        (lambda seed: make_swiss_roll(1000, noise=0.5, random_state=seed).X, 2),
        (lambda seed: make_helix(1000, noise=0.05, random_state=seed).X, 1),
    ],
)
def test_noise_misleads_the_two_nearest_and_not_the_answer(X_of, d, seed):
    found = intrinsic_dimension(X_of(seed))
    assert found.dimension == d
    assert found.by_two_nearest > found.by_likelihood + 0.3
    assert found.is_agreed is (found.by_two_nearest <= d + 0.5)


@pytest.mark.parametrize("seed", range(3))
def test_bends_mislead_the_likelihood_and_not_the_answer(seed):
    found = intrinsic_dimension(make_helix(100, random_state=seed).X)
    assert found.by_likelihood > 1.5
    assert (found.dimension, found.is_agreed) == (1, False)


def test_what_chance_can_explain_is_left_to_the_likelihood():
    # The same distances, once of 10 rows and once of 1000: the two nearest tell 2 and the likelihood 3.
    growth = -np.log1p(-np.array([1, 2, 3, 4, 5, 6, 7, 8, 9, 9]) / 10) / 2
    few = np.exp(np.column_stack([np.zeros(10), growth, growth + 0.07]))
    assert two_nearest_dimension(few) == pytest.approx(2)
    assert likelihood_dimension(few) == pytest.approx(20 / (growth.sum() + 20 * 0.07))
    found = [estimated_dimension(np.tile(few, (times, 1)), 9) for times in (1, 100)]
    assert [one.is_agreed for one in found] == [False, False]
    assert [one.dimension for one in found] == [3, 2]


@pytest.mark.slow
def test_images_of_a_head_have_three_dimensions():
    assert intrinsic_dimension(make_faces(300, size=32).X).dimension == 3


@pytest.mark.slow
def test_images_on_an_even_turntable_are_not_agreed_on():
    found = intrinsic_dimension(make_teapots(100, shape=(38, 50)).X)
    assert found.by_two_nearest > 10
    assert not found.is_agreed


def test_statue_faces_are_estimated_near_three():
    faces = load_statue_faces(shared_file("data", "statue_face_32x32.mat"))
    found = intrinsic_dimension(faces.X)
    assert 3 <= found.by_two_nearest <= found.by_likelihood <= 4


def test_beyond_four_whole_numbers_are_parted_at_a_fifth():
    def told(dimension):
        # The third is as far that the likelihood says exactly this; the two nearest are equally far and say inf.
        distances = np.ones((11, 3))
        distances[:, 2] = np.exp(1 / dimension)
        return estimated_dimension(distances, 9).dimension

    assert [told(estimate) for estimate in (0.2, 1.4, 1.6, 3.4, 3.6, 4.1, 4.3, 7.1, 7.3)] == [1, 1, 2, 3, 4, 4, 5, 7, 8]


@pytest.mark.parametrize("exponent", [-200, -40, 7, 200])
def test_powers_of_two_change_no_bit(exponent):
    X = gaussian(200, 3)
    assert intrinsic_dimension(np.ldexp(X, exponent)) == intrinsic_dimension(X)


@pytest.mark.parametrize("exponent", [-900, 900])
def test_samples_near_the_ends_of_float64_have_a_dimension_too(exponent):
    X = gaussian(200, 3)
    extreme, ordinary = intrinsic_dimension(np.ldexp(X, exponent)), intrinsic_dimension(X)
    assert extreme.by_likelihood == pytest.approx(ordinary.by_likelihood, rel=1e-12)
    assert extreme.by_two_nearest == pytest.approx(ordinary.by_two_nearest, rel=1e-12)


def test_turns_shifts_and_other_scales_change_rounding_alone():
    X, moved = gaussian(300, 3), flat(300, 3, 6) * 3.7 + 5.0
    ours, theirs = intrinsic_dimension(X), intrinsic_dimension(moved)
    assert theirs.by_likelihood == pytest.approx(ours.by_likelihood, rel=1e-9)
    assert theirs.by_two_nearest == pytest.approx(ours.by_two_nearest, rel=1e-9)


def test_copies_count_once_and_the_order_does_not_matter():
    X = gaussian(300, 3)
    order = np.random.default_rng(1).permutation(420) % 300
    assert intrinsic_dimension(X[order]) == intrinsic_dimension(X)
    assert intrinsic_dimension(X[order], n_sampled=100) == intrinsic_dimension(X, n_sampled=100)


@pytest.mark.parametrize("n_features", [3, 20])
def test_threads_change_no_bit(n_features):
    X = flat(500, 3, n_features)
    assert intrinsic_dimension(X, n_jobs=2) == intrinsic_dimension(X, n_jobs=1) == intrinsic_dimension(X)


def test_a_draw_depends_on_its_seed_and_is_of_the_size_asked_for(monkeypatch):
    from hne.metrics import errors as _dimension

    shapes = []
    monkeypatch.setattr(
        _dimension,
        "estimated_dimension",
        lambda d, most: shapes.append((d.shape, most)) or estimated_dimension(d, most),
    )
    X = gaussian(2500, 2)
    first, again, other = (intrinsic_dimension(X, n_sampled=300, random_state=seed) for seed in (0, 0, 1))
    assert first == again
    assert first.by_likelihood != other.by_likelihood
    intrinsic_dimension(X, n_neighbors=8)
    assert shapes == [((300, 12), 2)] * 3 + [((2000, 8), 2)]


def test_a_draw_is_measured_against_all_samples():
    # Of a noisy roll, samples thinned out look flat; neighbors among all of them do not.
    X = make_swiss_roll(3000, noise=0.5).X
    everyone, drawn = intrinsic_dimension(X, n_sampled=3000), intrinsic_dimension(X, n_sampled=500)
    assert drawn.by_likelihood == pytest.approx(everyone.by_likelihood, abs=0.1)
    assert intrinsic_dimension(X[::6]).by_likelihood < everyone.by_likelihood - 0.3


def test_samples_all_equally_far_have_as_many_dimensions_as_there_can_be():
    found = intrinsic_dimension(np.eye(20))
    assert found == Dimension(19, np.inf, np.inf, is_agreed=True)
    line = np.arange(40.0)[:, None]
    assert intrinsic_dimension(line).dimension == 1


@given(lattice_clouds(min_samples=8))
def test_lattices_with_ties_and_copies_have_a_dimension_within_bounds(X):
    n_distinct = len(np.unique(X, axis=0))
    if n_distinct < 5:
        with pytest.raises(InputError, match=r"needs at least 5 different samples"):
            intrinsic_dimension(X, n_neighbors=4)
        return
    found = intrinsic_dimension(X, n_neighbors=4)
    assert 1 <= found.dimension <= min(X.shape[1], n_distinct - 1)
    assert min(found.by_likelihood, found.by_two_nearest) > 0


def test_a_dimension_is_told_in_one_line():
    assert (
        str(Dimension(2, 2.181, 2.768, is_agreed=False))
        == "2 (2.18 by likelihood, 2.77 by the two nearest: not agreed)"
    )
    assert str(Dimension(2, 1.93, 2.0, is_agreed=True)) == "2 (1.93 by likelihood, 2.00 by the two nearest: agreed)"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_neighbors": 3}, r"^n_neighbors must be at least 4, got 3"),
        (
            {"n_neighbors": 30},
            r"^n_neighbors=30 needs at least 31 different samples, got 30",
        ),
        ({"n_sampled": 31}, r"^n_sampled must be at most the 30 different samples, got 31"),
        ({"n_sampled": 1}, r"^n_sampled must be at least 2, got 1"),
    ],
)
def test_what_cannot_be_asked_is_refused(arguments, message):
    X = np.repeat(gaussian(30, 3), 2, axis=0)
    with pytest.raises(InputError, match=message):
        intrinsic_dimension(X, **arguments)


def test_neighbors_are_whole_numbers():
    with pytest.raises(InputTypeError, match=r"^n_neighbors must be an integer"):
        intrinsic_dimension(gaussian(30, 3), n_neighbors=5.0)


def test_samples_that_float64_cannot_measure_apart_are_refused():
    X = np.vstack([gaussian(30, 2), [[1e-200, 0.0], [2e-200, 0.0]]])
    with pytest.raises(
        InputError, match=r"^X must not mix magnitudes .* 32 different samples of which float64 tells 30"
    ):
        intrinsic_dimension(X)
