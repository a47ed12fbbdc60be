"""Rendered datasets: closed surfaces, pictures that show them as they are, faces and teapots that vary smoothly."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hne._runtime import progress as _progress
from hne.exceptions import InputError, InputTypeError
from hne_paper.datasets import make_faces, make_teapots
from hne_paper.datasets._faces import face
from hne_paper.datasets._head import head
from hne_paper.datasets._render import direction, draw, highlight, turned
from hne_paper.datasets._sculpture import Mesh, blend, carve, ellipsoid, surface, tube
from hne_paper.datasets._teapots import pot, teapot

# Images are rendered by compiled code: seconds of compiling, for what hne itself does not need.
pytestmark = pytest.mark.slow

lengths = st.floats(-3, 3).map(lambda value: round(8 * value) / 8)


def ball(points):
    return ellipsoid(points, (0.1, 0, 0), (1, 1, 1))


@pytest.fixture(scope="module")
def sphere():
    return surface(ball, [np.arange(-1.3, 1.4, 0.2)] * 3)


def signed_volume(mesh):
    a, b, c = (mesh.points[mesh.triangles[:, corner]] for corner in range(3))
    return np.einsum("ij,ij->", a, np.cross(b, c)) / 6


def assert_closed(mesh):
    """Every edge is walked once in each direction: no holes, and all triangles turn the same way."""
    edges = np.vstack([mesh.triangles[:, pair] for pair in ([0, 1], [1, 2], [2, 0])])
    there, back = (set(map(tuple, side.tolist())) for side in (edges, edges[:, ::-1]))
    assert len(there) == len(edges)
    assert there == back


def test_corners_of_a_surface_lie_on_it_with_outward_normals(sphere):
    outward = sphere.points - [0.1, 0, 0]
    np.testing.assert_allclose(np.linalg.norm(outward, axis=1), 1, atol=1e-9)
    np.testing.assert_allclose(sphere.normals, outward, atol=1e-6)
    np.testing.assert_allclose(sphere.openness, 1, atol=1e-9)


def test_a_sphere_is_closed_and_has_its_volume(sphere):
    assert_closed(sphere)
    # Euler: corners - edges + triangles = 2, with three half edges a triangle.
    assert len(sphere.points) - len(sphere.triangles) // 2 == 2
    # A polyhedron inside of the unit sphere, whose triangles of about 0.2 fall short by some percent.
    assert 0.95 * 4 / 3 * np.pi < signed_volume(sphere) < 4 / 3 * np.pi


def test_lattices_may_be_finer_in_places():
    right = np.concatenate([np.arange(-1.3, 0.0, 0.2), np.arange(0.0, 1.3, 0.05)])
    mesh = surface(ball, [right, np.arange(-1.3, 1.4, 0.2), np.arange(-1.3, 1.4, 0.2)])
    assert_closed(mesh)
    np.testing.assert_allclose(np.linalg.norm(mesh.points - [0.1, 0, 0], axis=1), 1, atol=1e-9)


def test_hollows_are_less_open_than_hills():
    def two_balls(points):
        return np.minimum(ellipsoid(points, (-0.9, 0, 0), (1, 1, 1)), ellipsoid(points, (0.9, 0, 0), (1, 1, 1)))

    mesh = surface(two_balls, [np.arange(-2.1, 2.2, 0.2), np.arange(-1.1, 1.2, 0.2), np.arange(-1.1, 1.2, 0.2)])
    seam, ends = np.abs(mesh.points[:, 0]) < 0.15, np.abs(mesh.points[:, 0]) > 1.2
    assert mesh.openness[seam].max() < 0.9
    assert mesh.openness[seam].min() < 0.6
    assert mesh.openness[ends].min() == pytest.approx(1)


@given(lengths, lengths, st.floats(0.01, 2))
def test_a_blend_is_the_nearer_shape_and_at_most_a_quarter_of_the_width_more(first, second, width):
    a, b = np.array([first]), np.array([second])
    union = blend(a, b, width)[0]
    assert min(first, second) - width / 4 - 1e-12 <= union <= min(first, second)
    if abs(first - second) >= width:
        assert union == min(first, second)
    assert blend(b, a, width)[0] == union
    # Without the tool: outside where the tool was.
    assert carve(a, b, width)[0] >= max(first, -second)


def test_distances_to_balls_and_tubes_are_those_of_geometry():
    points = np.array([[3.0, 0, 0], [0, 4.0, 3.0], [0, 0, 0]])
    np.testing.assert_allclose(ellipsoid(points, (0, 0, 0), (2, 2, 2)), [1, 3, -2])
    # On an ellipsoid's axes the level is zero at its radii.
    tips = np.array([[1.0, 0, 0], [0, 2.0, 0], [0, 0, 3.0]])
    np.testing.assert_allclose(ellipsoid(tips, (0, 0, 0), (1, 2, 3)), 0, atol=1e-12)
    # A cone from radius 1 at the origin to 0 at (4, 0, 0): above its middle the radius is one half.
    np.testing.assert_allclose(tube(np.array([[2.0, 3.0, 0]]), [(0, 0, 0), (4, 0, 0)], (1, 0)), 2.5)
    np.testing.assert_allclose(tube(np.array([[-3.0, 4.0, 0]]), [(0, 0, 0), (4, 0, 0)], (1, 0)), 4)


@pytest.mark.parametrize("shape", [head, pot])
def test_sculptures_are_symmetric_to_the_bit(shape):
    points = np.random.default_rng(0).uniform(-1.5, 1.5, (500, 3))
    mirrored = points * ([-1, 1, 1] if shape is head else [1, 1, -1])
    np.testing.assert_array_equal(shape(points), shape(mirrored))


def card(nearness, color):
    """Two triangles that make a card from -1 to 1, its face to the viewer."""
    points = np.array([[-1, -1, nearness], [1, -1, nearness], [1, 1, nearness], [-1, 1, nearness]], dtype=float)
    return points, np.full((4, 1), color), np.array([[0, 1, 2], [0, 2, 3]])


def drawn(points, colors, triangles, shape=(8, 8), view=(0.0, 0.0, 4.0)):
    mesh = Mesh(points, np.zeros_like(points), np.ones(len(points)), triangles)
    return draw(points, colors, mesh, shape, view, np.array([0.25]))[:, :, 0]


def test_a_card_covers_its_pixels_and_nothing_else():
    picture = drawn(*card(0.0, 0.75))
    expected = np.full((8, 8), 0.25)
    expected[2:6, 2:6] = 0.75
    np.testing.assert_allclose(picture, expected, atol=1e-12)


def test_a_pixel_half_covered_is_half_colored():
    # Moved by half a pixel, a quarter unit, to the right.
    picture = drawn(*card(0.0, 0.75), view=(-0.25, 0.0, 4.0))
    np.testing.assert_allclose(picture[3, [1, 2, 3, 5, 6]], [0.25, 0.5, 0.75, 0.75, 0.5], atol=1e-12)


@pytest.mark.parametrize("order", [1, -1])
def test_the_nearer_card_hides_the_farther_whichever_is_drawn_first(order):
    (near, dark, triangles), (far, light, _) = card(1.0, 0.0), card(-1.0, 1.0)
    parts = [(near * [0.5, 0.5, 1], dark), (far, light)][::order]
    points, colors = np.vstack([part[0] for part in parts]), np.vstack([part[1] for part in parts])
    picture = drawn(points, colors, np.vstack([triangles, triangles + 4]))
    assert picture[4, 4] == pytest.approx(0)
    assert picture[2, 2] == pytest.approx(1)


def test_backs_are_not_drawn_and_rows_go_down():
    points, colors, triangles = card(0.0, 0.75)
    assert (drawn(points, colors, triangles[:, ::-1]) == 0.25).all()
    upper = drawn(points + np.array([0, 1, 0]), colors, triangles)
    assert upper[1, 4] == pytest.approx(0.75)
    assert upper[6, 4] == 0.25


def test_colors_between_corners_are_in_proportion():
    points, _, triangles = card(0.0, 0.0)
    # Color grows from 0 at x = -1 to 1 at x = 1: pixel means are at the middles of four equal columns.
    picture = drawn(points, (points[:, :1] + 1) / 2, triangles)
    np.testing.assert_allclose(picture[3, 2:6], [1 / 8, 3 / 8, 5 / 8, 7 / 8], atol=1e-12)


def test_turning_takes_the_nose_right_and_the_crown_to_the_viewer():
    np.testing.assert_allclose(turned(90, 0) @ [0, 0, 1], [1, 0, 0], atol=1e-12)
    np.testing.assert_allclose(turned(0, 90) @ [0, 1, 0], [0, 0, 1], atol=1e-12)
    rotation = turned(33, -12)
    np.testing.assert_allclose(rotation @ rotation.T, np.eye(3), atol=1e-12)
    np.testing.assert_allclose(direction(90, 0), [1, 0, 0], atol=1e-12)
    np.testing.assert_allclose(direction(20, 90), [0, 1, 0], atol=1e-12)


def test_a_mirror_shines_where_it_faces_halfway_between_lamp_and_viewer():
    viewer, lamp = np.array([0.0, 0, 1]), direction(60, 0)
    normals = np.vstack([direction(30, 0), direction(0, 0), direction(-90, 0)])
    np.testing.assert_allclose(highlight(normals, lamp, viewer, 2), [1, np.cos(np.radians(30)) ** 2, 0], atol=1e-12)


@pytest.fixture(scope="module")
def faces():
    return make_faces(40, size=32, random_state=3)


def test_faces_are_gray_pictures_with_their_angles(faces):
    assert faces.X.shape == (40, 1024)
    assert faces.image_shape == (32, 32)
    assert faces.chart_names == ("pan", "tilt", "light")
    assert 0 <= faces.X.min() < faces.X.max() <= 1
    assert (np.abs(faces.chart) <= [75, 10, 75]).all()
    # Forty numbers uniform between -1 and 1 reach beyond 0.8 on either side but for a chance of 3 %; the seed is fixed.
    assert (np.ptp(faces.chart, axis=0) > [120, 16, 120]).all()
    # A head on dark ground: neither blank nor full.
    on_head = (faces.X > 0.1).mean(axis=1)
    assert on_head.min() > 0.25
    assert on_head.max() < 0.75


def test_the_same_seed_renders_the_same_bits(faces):
    again = make_faces(40, size=32, random_state=3)
    assert again.X.tobytes() == faces.X.tobytes()
    assert np.abs(make_faces(2, size=32, random_state=4).X - faces.X[:2]).max() > 0.1


@pytest.mark.parametrize(("pan", "tilt", "light"), [(0, 0, 40), (35, 8, -20), (-70, -10, 75)])
def test_the_mirrored_pose_under_the_mirrored_lamp_is_the_mirrored_picture(pan, tilt, light):
    picture, mirrored = face(pan, tilt, light, 48), face(-pan, tilt, -light, 48)[:, ::-1]
    # Samples on an edge may fall to either side, two of the sixteen of a pixel at most.
    np.testing.assert_allclose(picture, mirrored, atol=0.13)
    assert np.abs(picture - mirrored).mean() < 1e-3
    assert np.abs(picture - picture[:, ::-1]).mean() > 0.01


def test_the_lamp_lights_its_own_side_of_the_face():
    picture = face(0, 0, 60, 48)
    assert picture[:, 24:].mean() > 1.15 * picture[:, :24].mean()


@pytest.mark.parametrize("tilt", [10, -10])
def test_a_nod_up_moves_the_features_up(tilt):
    level, nodding = face(0, 0, 0, 64)[12:52, 24:40], face(0, tilt, 0, 64)
    shifts = np.arange(-8, 9)
    best = shifts[np.argmin([np.abs(nodding[12 + shift : 52 + shift, 24:40] - level).sum() for shift in shifts])]
    # The front of the face is about 0.7 ahead of the axis, the picture 2.44 high: 0.7 sin 10 degrees is three rows.
    assert best == pytest.approx(-3 * np.sign(tilt), abs=1)


@pytest.mark.parametrize("angle", [0, 1, 2])
def test_faces_at_near_angles_are_nearer_than_at_far_ones(angle):
    def at(change):
        pose = np.array([10.0, 0.0, 15.0])
        pose[angle] += change
        return face(*pose, 48)

    distances = [np.linalg.norm(at(change) - at(0)) for change in (0.5, 1, 2, 4, 8)]
    assert (np.diff(distances) > 0).all()
    # Halving a small step about halves the way: the pictures do not jump.
    assert distances[0] < 0.75 * distances[1]


@pytest.fixture(scope="module")
def teapots():
    return make_teapots(24, shape=(38, 50))


def test_teapots_are_colored_pictures_around_a_circle(teapots):
    assert teapots.X.shape == (24, 38 * 50 * 3)
    assert teapots.image_shape == (38, 50, 3)
    np.testing.assert_allclose(teapots.chart[:, 0], np.arange(0, 360, 15))
    assert 0 <= teapots.X.min() < teapots.X.max() <= 1
    red, _, blue = teapots.X.reshape(24, -1, 3).mean(axis=1).T
    # Red glaze in front at first, blue from behind after half a turn.
    assert red[0] > 1.5 * blue[0]
    assert blue[12] > red[12]
    assert make_teapots(24, shape=(38, 50)).X.tobytes() == teapots.X.tobytes()


def test_the_circle_closes_and_neighbors_on_it_are_neighbors_in_space(teapots):
    distances = np.linalg.norm(teapots.X[:, None] - teapots.X[None], axis=2)
    np.fill_diagonal(distances, np.inf)
    around = np.arange(24)
    nearest = distances.argmin(axis=1)
    assert np.isin((nearest - around) % 24, [1, 23]).all()
    np.testing.assert_allclose(teapot(375, (38, 50)), teapot(15, (38, 50)), atol=0.02)


def test_the_spout_is_right_and_the_handle_left_at_first_and_the_other_way_after_half_a_turn(teapots):
    # In the plane of both, at height 0.17: at 1.25 there is the spout, at -1.25 one looks through the handle.
    row = 19 - round((0.17 * np.cos(np.radians(20)) - 0.07) * 50 / 3.6)
    right, left = 25 + round(1.25 * 50 / 3.6), 25 - round(1.25 * 50 / 3.6)
    for sample, spout, handle in ((0, right, left), (12, left, right)):
        picture = teapots.X[sample].reshape(38, 50, 3)
        ground = picture[0, 0]
        assert np.abs(picture[row, spout] - ground).max() > 0.1
        np.testing.assert_allclose(picture[row, handle], ground, atol=1e-12)


def test_wide_and_tall_pictures_hold_the_whole_pot():
    for shape in ((60, 30), (20, 80)):
        for angle in (0, 90):
            picture = teapot(angle, shape)
            border = np.vstack([picture[0], picture[-1], picture[:, 0], picture[:, -1]])
            np.testing.assert_allclose(border, np.broadcast_to(border[0], border.shape), atol=1e-12)
            assert np.abs(picture - border[0]).max() > 0.3


def test_rendering_tells_how_far_it_is():
    heard = []

    class Ear:
        def begin(self, stage): ...
        def end(self, stage, result, seconds): ...
        def step(self, task, done, total):
            heard.append((task, done, total))

    with _progress.listening(Ear()):
        make_teapots(2, shape=(8, 8))
        make_faces(1, size=8)
    assert heard == [("teapots", 0, 2), ("teapots", 1, 2), ("teapots", 2, 2), ("faces", 0, 1), ("faces", 1, 1)]


def test_bad_requests_for_pictures_are_refused():
    with pytest.raises(InputError, match="n_samples must be at least 1, got 0"):
        make_faces(0)
    with pytest.raises(InputError, match=r"size must be at least 8, got 4\. Try size=64"):
        make_faces(5, size=4)
    with pytest.raises(InputError, match="n_samples must be at least 1, got 0"):
        make_teapots(0)
    with pytest.raises(InputTypeError, match=r"shape must be a pair of integers, rows and columns, got 76\. Try shape"):
        make_teapots(5, shape=76)
    with pytest.raises(InputError, match=r"shape\[1\] must be at least 8, got 2\. Try shape=\(76, 101\)"):
        make_teapots(5, shape=(76, 2))
    with pytest.raises(InputTypeError, match=r"shape\[0\] must be an integer, got 7\.5"):
        make_teapots(5, shape=(7.5, 20))
