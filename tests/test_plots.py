"""Pictures: what the arrays become before matplotlib sees them, and that it accepts them."""

import numpy as np

from hne import plots
from hne._neighbors import knn_graph


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
