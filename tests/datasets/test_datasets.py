"""Synthetic datasets: on their manifold, with the truth that belongs to them, the same for the same seed."""

from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.spatial import cKDTree
from scipy.spatial.distance import pdist

from hne.datasets import (
    Dataset,
    make_clusters,
    make_cube,
    make_helix,
    make_punctured_sphere,
    make_s_curve,
    make_severed_sphere,
    make_swiss_hole,
    make_swiss_roll,
    make_trefoil,
    make_twin_peaks,
    make_two_surfaces,
)
from hne.datasets.rolls import spiral_angle, spiral_length
from hne.exceptions import InputError, InputTypeError

GENERATORS = [
    make_clusters,
    make_cube,
    make_helix,
    make_punctured_sphere,
    make_s_curve,
    make_severed_sphere,
    make_swiss_hole,
    make_swiss_roll,
    make_trefoil,
    make_twin_peaks,
    make_two_surfaces,
]
NOISY = [make_cube, make_helix, make_s_curve, make_swiss_hole, make_swiss_roll, make_trefoil, make_twin_peaks]
EVEN = [make_s_curve, make_swiss_hole, make_swiss_roll]
ISOMETRIC = [make_cube, make_helix, make_s_curve, make_swiss_hole, make_swiss_roll, make_trefoil]

every = pytest.mark.parametrize("make", GENERATORS, ids=lambda make: make.__name__)


@every
@settings(max_examples=15)
@given(n_samples=st.integers(41, 90), seed=st.integers(0, 50))
def test_every_dataset_is_whole_and_the_same_for_the_same_seed(make, n_samples, seed):
    dataset, again = make(n_samples, random_state=seed), make(n_samples, random_state=seed)
    assert len(dataset) == len(dataset.X) == len(dataset.chart) == len(dataset.labels) == n_samples
    assert dataset.chart.shape[1] == len(dataset.chart_names)
    assert dataset.X.dtype == dataset.chart.dtype == np.float64
    assert dataset.labels.dtype == np.intp
    assert np.isfinite(dataset.X).all()
    assert np.isfinite(dataset.chart).all()
    assert dataset.image_shape is None
    assert dataset.citation
    assert f"{n_samples} samples" in dataset.name
    assert dataset.X.tobytes() == again.X.tobytes()
    assert dataset.chart.tobytes() == again.chart.tobytes()


@every
def test_another_seed_makes_another_dataset(make):
    first, other = (make(60, random_state=seed).X for seed in (0, 1))
    assert np.abs(first - other).max() > 0.1


@every
def test_bad_numbers_and_seeds_are_refused(make):
    with pytest.raises(InputError, match=r"n_samples must .* got 0"):
        make(0)
    with pytest.raises(InputTypeError, match=r"n_samples .* got 10\.5 of type float"):
        make(10.5)
    with pytest.raises(InputTypeError, match=r"random_state must .* got None"):
        make(60, random_state=None)
    with pytest.raises(InputError, match=r"random_state must .* got -1"):
        make(60, random_state=-1)


@pytest.mark.parametrize("make", NOISY, ids=lambda make: make.__name__)
def test_noise_moves_the_samples_by_its_deviation_and_leaves_the_truth(make):
    clean, blurred = make(4000, random_state=5), make(4000, noise=0.25, random_state=5)
    np.testing.assert_array_equal(clean.chart, blurred.chart)
    # The deviation of 12000 or more numbers is known within 1 %; four times that is beyond luck.
    assert np.std(blurred.X - clean.X) == pytest.approx(0.25, rel=0.04)
    assert "noise 0.25" in blurred.name
    with pytest.raises(InputError, match=r"noise must be .* got -1\.0"):
        make(60, noise=-1)
    with pytest.raises(InputError, match=r"noise must be .* got inf"):
        make(60, noise=float("inf"))
    with pytest.raises(InputTypeError, match=r"noise must .* got 'loud'"):
        make(60, noise="loud")


@pytest.mark.parametrize("make", ISOMETRIC, ids=lambda make: make.__name__)
def test_near_samples_are_as_far_apart_in_the_chart_as_in_space(make):
    dataset = make(3000, random_state=2)
    chart = dataset.chart
    pairs = cKDTree(chart).query(chart, 2)[1]
    true = np.linalg.norm(chart[pairs[:, 0]] - chart[pairs[:, 1]], axis=1)
    straight = np.linalg.norm(dataset.X[pairs[:, 0]] - dataset.X[pairs[:, 1]], axis=1)
    # A chord c of an arc s of curvature 1 / r falls short by s^3 / 24 r^2 at most; the tightest bend, of the cube, has
    # r = 1 / pi, and no manifold here is sampled more thinly than 1 / 3 r apart.
    assert (straight <= true + 1e-11).all()
    assert np.median(straight / true) > 0.999
    assert (straight / true).min() > 0.98


@pytest.mark.parametrize("make", EVEN, ids=lambda make: make.__name__)
def test_even_samples_keep_their_distance_on_the_strip(make):
    def nearest(even):
        chart = make(300, even=even, random_state=1).chart
        return np.median(cKDTree(chart).query(chart, 2)[0][:, 1])

    assert nearest(True) > 1.3 * nearest(False)
    assert "spread evenly" in make(30, even=True).name
    with pytest.raises(InputTypeError, match=r"even must .* got 'yes'"):
        make(30, even="yes")


@pytest.mark.parametrize("make", EVEN, ids=lambda make: make.__name__)
@pytest.mark.parametrize("n_samples", [1, 2, 3, 255, 256, 257])
def test_any_number_of_even_samples_can_be_had(make, n_samples):
    assert make(n_samples, even=True).X.shape == (n_samples, 3)


@pytest.mark.parametrize("even", [False, True])
def test_samples_lie_on_the_roll_at_their_true_place(even):
    roll = make_swiss_roll(200, even=even, random_state=4)
    t = np.hypot(roll.X[:, 0], roll.X[:, 2])
    assert (t >= 1.5 * np.pi - 1e-9).all()
    assert (t <= 4.5 * np.pi + 1e-9).all()
    np.testing.assert_allclose(roll.X[:, 0], t * np.cos(t), atol=1e-9)
    np.testing.assert_allclose(roll.chart, np.column_stack([spiral_length(t), roll.X[:, 1]]), atol=1e-9)
    assert 0 <= roll.chart[:, 1].min() <= roll.chart[:, 1].max() <= 21


def test_the_arc_length_is_the_integral_along_the_spiral():
    integral, _ = quad(lambda t: np.sqrt(1 + t**2), 0, 7.0)
    assert spiral_length(np.array([7.0]))[0] == pytest.approx(integral)
    t = np.linspace(1.0, 15.0, 40)
    np.testing.assert_allclose(spiral_angle(spiral_length(t)), t, rtol=1e-13)


@given(seed=st.integers(0, 1000), even=st.booleans(), n_samples=st.integers(1, 40))
def test_nothing_is_left_in_the_hole_and_its_surroundings_are(seed, even, n_samples):
    hole = make_swiss_hole(n_samples, even=even, random_state=seed)
    t, h = np.hypot(hole.X[:, 0], hole.X[:, 2]), hole.X[:, 1]
    assert not ((t > 9) & (t < 12) & (h > 9) & (h < 14)).any()
    assert len(hole) == n_samples


def test_the_hole_is_no_larger_than_it_should_be():
    hole = make_swiss_hole(5000, even=True)
    t, h = np.hypot(hole.X[:, 0], hole.X[:, 2]), hole.X[:, 1]
    around = (t > 8.5) & (t < 12.5) & (h > 8.5) & (h < 14.5)
    # Of the frame of half a unit, each side holds samples.
    for side in (t < 9, t > 12, h < 9, h > 14):
        assert (around & side).sum() > 20


def test_s_curve_is_two_three_quarter_turns():
    letter = make_s_curve(300)
    x, height, z = letter.X.T
    upper = letter.chart[:, 0] < 1.5 * np.pi
    np.testing.assert_allclose(x[upper] ** 2 + (z[upper] - 1) ** 2, 1, atol=1e-12)
    np.testing.assert_allclose(x[~upper] ** 2 + (z[~upper] + 1) ** 2, 1, atol=1e-12)
    np.testing.assert_array_equal(height, letter.chart[:, 1])


def test_punctured_sphere_is_the_disk_seen_from_the_top():
    sphere = make_punctured_sphere(400)
    top = np.array([0, 0, 2.0])
    # The line from the top through the sample meets the ground at the point of the chart.
    ground = top + (sphere.X - top) * (2 / (2 - sphere.X[:, 2]))[:, None]
    np.testing.assert_allclose(ground, np.column_stack([sphere.chart, np.zeros(400)]), atol=1e-9)
    np.testing.assert_allclose(np.linalg.norm(sphere.X - [0, 0, 1], axis=1), 1, atol=1e-12)
    assert sphere.X[:, 2].max() <= 50 / 29
    # Half of the samples are outside of 1 / sqrt(2) of the radius, where the sphere is 82 % of its height or higher.
    assert np.mean(np.linalg.norm(sphere.chart, axis=1) > 5 / np.sqrt(2)) == pytest.approx(0.5, abs=0.1)


def test_severed_sphere_lacks_its_poles_and_a_slice():
    sphere = make_severed_sphere(2000)
    np.testing.assert_allclose(np.linalg.norm(sphere.X, axis=1), 1, atol=1e-12)
    longitude = np.arctan2(sphere.X[:, 1], sphere.X[:, 0]) % (2 * np.pi)
    np.testing.assert_allclose(longitude, sphere.chart[:, 0], atol=1e-12)
    assert 2 * np.pi - 0.57 < longitude.max() <= 2 * np.pi - 0.55
    assert 0.99 * np.cos(np.pi / 8) < np.abs(sphere.X[:, 2]).max() <= np.cos(np.pi / 8)


def test_twin_peaks_stand_on_opposite_corners():
    peaks = make_twin_peaks(3000)
    x, y, z = peaks.X.T
    np.testing.assert_array_equal(peaks.chart, peaks.X[:, :2])
    assert (z[(x > 0.1) & (x < 0.9) & (y > 0.1)] > 0).all()
    assert (z[(x < -0.1) & (x > -0.9) & (y < -0.1)] > 0).all()
    assert (z[(x < -0.1) & (x > -0.9) & (y > 0.1)] < 0).all()
    # tanh 3 = 0.995 at the edge, above the crest at x = 1/2
    assert 0.98 < z.max() < np.tanh(3)


@pytest.mark.parametrize("n_turns", [1, 8])
def test_helix_winds_around_its_torus_and_the_chart_is_its_length(n_turns):
    helix = make_helix(200, n_turns=n_turns)
    x, y, z = helix.X.T
    np.testing.assert_allclose((np.hypot(x, y) - 2) ** 2 + z**2, 1, atol=1e-12)
    t = np.arctan2(y, x) % (2 * np.pi)
    for sample in range(5):
        length, _ = quad(lambda t: np.hypot(2 + np.cos(n_turns * t), n_turns), 0, t[sample], epsabs=1e-11, limit=200)
        assert helix.chart[sample, 0] == pytest.approx(length, abs=1e-9)


def test_trefoil_satisfies_its_equations_and_closes():
    knot = make_trefoil(4000)
    x, y, z = knot.X.T
    # |(x, y)|^2 = 5 - 4 cos 3t and z = -sin 3t
    np.testing.assert_allclose(((5 - x**2 - y**2) / 4) ** 2 + z**2, 1, atol=1e-9)
    first, last = np.argmin(knot.chart[:, 0]), np.argmax(knot.chart[:, 0])
    assert np.linalg.norm(knot.X[first] - knot.X[last]) < 0.05
    by_length = np.sort(knot.chart[:, 0])
    assert by_length[-1] == pytest.approx(quad(_trefoil_speed, 0, 2 * np.pi)[0], rel=2e-3)


def _trefoil_speed(t):
    velocity = [np.cos(t) + 4 * np.cos(2 * t), -np.sin(t) + 4 * np.sin(2 * t), -3 * np.cos(3 * t)]
    return np.linalg.norm(velocity)


@given(seed=st.integers(0, 500))
def test_cube_is_isometric_to_arcs_in_planes_of_their_own(seed):
    cube = make_cube(20, dimension=2, n_features=5, random_state=seed)
    # The chord of an arc of length s on a circle of radius 1 / pi is 2 / pi sin(pi s / 2); planes add in squares.
    arcs = np.stack([pdist(cube.chart[:, [axis]]) for axis in range(2)])
    chords = np.linalg.norm(2 / np.pi * np.sin(np.pi * arcs / 2), axis=0)
    np.testing.assert_allclose(pdist(cube.X), chords, atol=1e-12)


def test_cube_needs_a_plane_for_each_edge():
    with pytest.raises(InputError, match=r"n_features must be .* dimension = 10, .* got 8"):
        make_cube(50, dimension=5)
    with pytest.raises(InputError, match=r"dimension must .* got 0"):
        make_cube(50, dimension=0)
    assert make_cube(50, dimension=5, n_features=10).chart_names[-1] == "edge 5"


@given(seed=st.integers(0, 1000), n_samples=st.integers(41, 120))
def test_clusters_keep_to_their_cubes_on_a_string_of_centers(seed, n_samples):
    clusters = make_clusters(n_samples, random_state=seed)
    string = clusters.X[clusters.labels == -1].reshape(4, 9, 3)
    # Points at 0.1 and 0.9 of the way give both ends back.
    step = (string[:, 8] - string[:, 0]) / 8
    starts, ends = string[:, 0] - step, string[:, 8] + step
    np.testing.assert_allclose(starts[1:], ends[:-1], atol=1e-12)
    centers = np.vstack([starts, ends[-1:]])
    assert (centers > -1e-9).all()
    assert (centers < 10 + 1e-9).all()
    members = clusters.labels >= 0
    half = pdist(centers).min() / np.sqrt(12) / 2
    assert np.abs(clusters.X[members] - centers[clusters.labels[members]]).max() <= half + 1e-12
    sizes = np.bincount(clusters.labels[members], minlength=5)
    assert np.ptp(sizes) <= 1
    assert sizes.sum() == n_samples - 36


def test_clusters_fill_their_cubes():
    clusters = make_clusters(4036, random_state=2)
    string = clusters.X[clusters.labels == -1].reshape(4, 9, 3)
    step = (string[:, 8] - string[:, 0]) / 8
    centers = np.vstack([string[:, 0] - step, string[-1:, 8] + step[-1:]])
    for label in range(5):
        reach = np.ptp(clusters.X[clusters.labels == label], axis=0)
        # Of 800 uniform samples the range is 0.9975 of the side, give or take 0.0018.
        np.testing.assert_allclose(reach, pdist(centers).min() / np.sqrt(12), rtol=0.02)


def test_clusters_and_surfaces_need_room_for_their_joints():
    with pytest.raises(InputError, match=r"n_samples must .* got 40"):
        make_clusters(40)
    with pytest.raises(InputError, match=r"n_samples must .* got 10"):
        make_two_surfaces(10)
    assert len(make_clusters(41)) == 41
    assert len(make_two_surfaces(11)) == 11


@given(seed=st.integers(0, 1000), n_samples=st.integers(11, 150))
def test_two_surfaces_are_joined_at_their_lowest_samples(seed, n_samples):
    surfaces = make_two_surfaces(n_samples, random_state=seed)
    t = np.hypot(surfaces.X[:, 0], surfaces.X[:, 2])
    lowest = []
    for group, (low, high) in enumerate([(5 / 6, 4 / 3), (3 / 2, 2)]):
        members = np.flatnonzero(surfaces.labels == group)
        assert (t[members] >= low * np.pi - 1e-9).all()
        assert (t[members] <= high * np.pi + 1e-9).all()
        np.testing.assert_allclose(surfaces.chart[members, 0], spiral_length(t[members]), atol=1e-9)
        lowest.append(members[np.argmin(surfaces.X[members, 2])])
    assert (surfaces.labels[-9:] == -1).all()
    share = np.arange(1, 10)[:, None] / 10
    for values in (surfaces.X, surfaces.chart):
        start, end = values[lowest]
        np.testing.assert_allclose(values[-9:], (1 - share) * start + share * end, atol=1e-12)
    assert surfaces.X[:, 1].min() >= -1
    assert surfaces.X[:, 1].max() <= 3


def test_a_record_is_frozen_and_replaced_rather_than_changed():
    roll = make_swiss_roll(50)
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'X'"):
        roll.X = roll.X + 1
    moved = replace(roll, X=roll.X + 1)
    assert isinstance(moved, Dataset)
    assert moved.chart is roll.chart
    assert moved.chart_names == ("arc length", "height")
    assert repr(roll) == "<Dataset: Swiss roll, 50 samples, X (50, 3), chart (arc length, height)>"
    assert repr(make_clusters(50)) == "<Dataset: Clusters on a string, 50 samples, X (50, 3), 5 groups>"
