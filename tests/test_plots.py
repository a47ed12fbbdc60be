"""Pictures: what the arrays become before matplotlib sees them, and that it accepts them."""

import numpy as np
import pytest

from hne import plots
from hne._neighbors import knn_graph
from hne.exceptions import InputError


def test_colors_follow_both_coordinates(roll):
    colors = plots.position_colors(roll.chart)
    assert colors.shape == (400, 3)
    assert 0 <= colors.min() <= colors.max() <= 1
    grid = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    low_left, low_right, high_left, _ = plots.position_colors(grid)
    assert low_right.sum() > low_left.sum()
    assert np.abs(high_left - low_left).max() > 0.3


def test_a_constant_coordinate_has_one_color():
    colors = plots.position_colors(np.column_stack([np.ones(3), np.zeros(3)]))
    assert (colors == colors[0]).all()


def test_orientation_undoes_what_the_method_leaves_open():
    rng = np.random.default_rng(0)
    chart = rng.normal(size=(200, 2))
    chart = (chart - chart.mean(axis=0)) @ np.linalg.inv(np.linalg.cholesky(np.cov(chart.T))).T * [20.0, 3.0]
    whitened = chart / chart.std(axis=0) / np.sqrt(200)
    turned = whitened @ [[0.6, -0.8], [-0.8, -0.6]]
    np.testing.assert_allclose(plots.oriented(turned, chart), chart, atol=1e-9)


def test_panels_draw_points_links_and_titles(roll):
    plt = plots.pyplot()
    figure = plt.figure()
    plane = plots.embedding_panel(
        figure.add_subplot(1, 2, 1),
        roll.chart,
        plots.position_colors(roll.chart),
        knn_graph(roll.X, 3).indices,
        "the plane",
    )
    assert plane.get_title(loc="left") == "the plane"
    links, points = plane.collections
    assert len(links.get_segments()) == 1200
    assert len(points.get_offsets()) == 400
    space = plots.space_panel(figure.add_subplot(1, 2, 2, projection="3d"), roll.X, plots.position_colors(roll.chart))
    assert len(space.collections) == 1
    plt.close(figure)


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (
            lambda axes: plots.embedding_panel(axes, np.ones((4, 1)), "k"),
            "Y must have at least 2 columns",
        ),
        (
            lambda axes: plots.space_panel(axes, np.ones((4, 2)), "k"),
            "X must have at least 3 columns",
        ),
        (lambda axes: plots.oriented(np.ones((4, 2)), np.ones((4, 3))), "chart must have the shape of Y"),
        (lambda axes: plots.position_colors([[0.0, np.nan]]), "chart must be finite"),
        (lambda axes: plots.value_colors([np.inf]), "values must be finite"),
    ],
)
def test_what_cannot_be_drawn_is_said_so(draw, message):
    with pytest.raises(InputError, match=message):
        draw(None)


def test_one_coordinate_is_a_hue():
    colors = plots.position_colors(np.arange(5.0)[:, None])
    np.testing.assert_array_equal(colors, plots.value_colors(np.arange(5.0)))


def test_a_collapsed_coordinate_is_drawn_as_it_is():
    chart = np.random.default_rng(0).random((20, 2))
    assert np.isfinite(plots.oriented(np.column_stack([chart[:, 0], np.zeros(20)]), chart)).all()


def test_angle_colors_close_the_circle_and_differ_along_it():
    colors = plots.angle_colors(np.array([0.0, 120.0, 240.0, 360.0]))
    np.testing.assert_allclose(colors[0], colors[3], atol=1e-12)
    assert min(np.abs(colors[one] - colors[other]).max() for one, other in ((0, 1), (1, 2), (0, 2))) > 0.3


def test_images_are_drawn_beside_points_far_from_each_other(roll):
    plt = plots.pyplot()
    axes = plt.figure().add_subplot()
    plots.image_panel(axes, roll.chart, plots.position_colors(roll.chart), np.zeros((400, 8, 8)), n_images=5)
    boxes = [artist for artist in axes.artists if hasattr(artist, "xy")]
    assert len(boxes) == 5
    points = np.array([box.xy for box in boxes])
    scaled = (points - roll.chart.min(axis=0)) / np.ptp(roll.chart, axis=0)
    assert min(np.linalg.norm(scaled[i] - scaled[j]) for i in range(5) for j in range(i)) > 0.3
    plt.close("all")


def test_an_empty_panel_says_why():
    plt = plots.pyplot()
    axes = plots.empty_panel(plt.figure().add_subplot(), "no answer at all", title="HLLE: failed", line=9)
    assert axes.get_title(loc="left") == "HLLE: failed"
    assert axes.texts[0].get_text() == "no answer\nat all"
    plt.close("all")
