"""Pictures: what the arrays become before matplotlib sees them, and that it accepts them."""

import numpy as np
import pandas as pd
import pytest

from hne import HNE, PUBLISHED, LinearHNE, embed
from hne.core.neighbors.graph import knn_graph
from hne.datasets import make_swiss_roll
from hne.exceptions import BaselineError, InputError, InputTypeError
from hne.viz import plots
from hne.viz.plots import drawing, embeddings
from tests.conftest import advised, frozen


@pytest.fixture(scope="module")
def roll():
    return make_swiss_roll(400, even=True, random_state=3)


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


def test_images_are_drawn_beside_points_far_from_each_other(roll):
    plt = plots.pyplot()
    axes = plt.figure().add_subplot()
    colors = plots.position_colors(roll.chart)
    embeddings.draw_images(axes, roll.chart, colors, np.zeros((400, 8, 8)), 5, 0.5, equal=False)
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


@pytest.fixture(autouse=True)
def closed_figures():
    yield
    plots.pyplot().close("all")


@pytest.fixture(scope="module")
def model(roll):
    return HNE().fit(roll.X)


@pytest.fixture(scope="module")
def layout():
    """A layout of a ball, which is near no surface."""
    return HNE().fit(np.random.default_rng(0).normal(size=(80, 6)))


@pytest.fixture(scope="module")
def torn(roll):
    """Two connected components, of which the larger alone has a chart."""
    far = np.vstack([roll.X[:120], roll.X[:60] + 1e4])
    with advised():
        return HNE(coordinates="chart", pieces="largest").fit(far)


def dots(axes):
    """Places and colors of the dots."""
    return axes.collections[-1].get_offsets().data, axes.collections[-1].get_facecolors()[:, :3]


def legend_words(axes):
    return [text.get_text() for text in axes.get_legend().get_texts()]


def test_a_scatter_draws_the_coordinates_of_a_model_an_embedding_or_an_array(model, layout, roll):
    for given in (model.embedding_, pd.DataFrame(model.embedding_)):
        axes = plots.scatter(given)
        np.testing.assert_array_equal(dots(axes)[0], model.embedding_)
    assert (axes.get_xlabel(), axes.get_ylabel(), len(axes.get_xticks())) == ("coordinate 1", "coordinate 2", 0)
    published = HNE(coordinates="eigenvectors").fit(roll.X)
    names = ("chart coordinate 1 (units of X)", "layout coordinate 1 (neighborhoods, not distances)", "eigenvector 1")
    for fitted, name in zip((model, layout, published), names, strict=True):
        for given in (fitted, fitted._fitted):
            axes = plots.scatter(given)
            np.testing.assert_array_equal(dots(axes)[0], fitted.embedding_)
        assert axes.get_xlabel() == name
        assert len(axes.get_xticks()) > 2


def is_to_one_scale(axes):
    """Whether a step along both axes is as many pixels."""
    axes.figure.canvas.draw()
    (x0, y0), (x1, y1) = axes.transData.transform([(0.0, 0.0), (1.0, 1.0)])
    return bool(np.isclose(x1 - x0, y1 - y0, rtol=0.005))  # the layout is found by steps


@pytest.mark.parametrize(
    "draw",
    [
        plots.scatter,
        lambda model: plots.scatter_images(model, np.ones((180, 4, 4))),
        plots.neighbor_links,
        lambda model: plots.neighbor_links(model, sample=7),
        lambda model: plots.compare({"HNE": model})[0],
    ],
    ids=["scatter", "images", "links", "layers", "compare"],
)
def test_coordinates_of_a_model_are_drawn_to_one_scale(torn, draw):
    assert is_to_one_scale(draw(torn))


def test_a_layout_is_drawn_to_one_scale(layout):
    assert is_to_one_scale(plots.scatter(layout))


def test_coordinates_of_unknown_scale_are_stretched_beside_images_and_others(roll):
    long = roll.chart * [9, 1]
    assert not is_to_one_scale(plots.scatter_images(long, np.ones((400, 4, 4))))
    assert not is_to_one_scale(plots.compare({"array": long})[0])
    assert plots.scatter(LinearHNE().fit(roll.X)).get_xlabel() == "coordinate 1"


def test_a_scatter_is_drawn_where_it_is_asked_for(model):
    axes = plots.pyplot().figure().add_subplot()
    assert plots.scatter(model, axes=axes, title="above", labels=("along", "across")) is axes
    assert (axes.get_title(loc="left"), axes.get_xlabel(), axes.get_ylabel()) == ("above", "along", "across")


def test_other_components_can_be_drawn():
    Y = np.random.default_rng(0).random((30, 3))
    axes = plots.scatter(Y, components=(2, 0))
    np.testing.assert_array_equal(dots(axes)[0], Y[:, [2, 0]])
    assert axes.get_xlabel() == "coordinate 3"


def test_numbers_have_a_color_bar_with_their_name_and_gray_where_there_is_none(model, roll):
    values = roll.chart[:, 0].copy()
    values[:3] = np.nan
    axes = plots.scatter(model, pd.Series(values, name="arc length"))
    points, colors = dots(axes)
    np.testing.assert_array_equal(points[:3], model.embedding_[:3])  # below all others
    assert np.ptp(colors[:3], axis=1).max() < 0.05
    assert "3 without a value in gray" in axes.texts[0].get_text()
    bar = axes.figure.axes[1]
    assert bar.get_ylabel() == "arc length"
    np.testing.assert_allclose(bar.get_ylim(), [np.nanmin(values), np.nanmax(values)])


@pytest.mark.parametrize("kind", [np.array, pd.Series, pd.Categorical, lambda words: np.array(words, dtype=object)])
def test_names_have_a_legend_in_their_order(kind):
    Y = np.random.default_rng(0).random((6, 2))
    axes = plots.scatter(Y, kind(["b10", "a", "b2", "b2", "a", "b2"]))
    assert legend_words(axes) == ["a", "b2", "b10"]
    np.testing.assert_allclose(dots(axes)[1][1], [0x3F / 255, 0x90 / 255, 0xDA / 255])


def test_names_beyond_ten_are_others_and_none_is_missing():
    words = [f"{number:02}" for number in range(12) for _ in range(20 - number)]
    axes = plots.scatter(np.random.default_rng(0).random((len(words) + 2, 2)), [*words, None, None])
    assert legend_words(axes) == [*(f"{number:02}" for number in range(10)), "other (2)", "missing"]


def test_truths_are_names_and_numbers_in_an_object_array_are_numbers():
    Y = np.random.default_rng(0).random((4, 2))
    assert legend_words(plots.scatter(Y, [True, False, True, True])) == ["False", "True"]
    axes = plots.scatter(Y, np.array([1, 2.5, None, 4], dtype=object))
    assert axes.get_legend() is None
    assert len(axes.figure.axes) == 2


def test_one_color_or_a_color_a_sample_is_taken_as_it_is(model, roll):
    assert (dots(plots.scatter(model, "red"))[1] == [1, 0, 0]).all()
    colors = plots.position_colors(roll.chart)
    np.testing.assert_allclose(dots(plots.scatter(model, colors))[1], colors)


def test_pieces_are_told_apart_without_a_color(roll):
    with advised():
        fitted = HNE().fit(np.vstack([roll.X[:120], roll.X[:60] + 1e4]))
    assert legend_words(plots.scatter(fitted)) == ["0", "1"]
    assert plots.scatter(fitted).get_legend().get_title().get_text() == "piece"


def test_samples_without_coordinates_are_left_out_and_counted(torn):
    axes = plots.scatter(torn, np.arange(180.0))
    assert len(dots(axes)[0]) == 120
    assert axes.texts[0].get_text() == "60 of 180 samples have no coordinates"
    assert legend_words(plots.scatter(torn)) == ["0"]


def test_one_coordinate_is_drawn_against_numbers_or_rows(roll):
    y = HNE(n_components=1).fit_transform(roll.X)
    axes = plots.scatter(y, pd.Series(roll.chart[:, 0], name="arc length"))
    np.testing.assert_array_equal(dots(axes)[0], np.column_stack([roll.chart[:, 0], y]))
    assert (axes.get_xlabel(), len(axes.figure.axes)) == ("arc length", 1)
    axes = plots.scatter(y, np.where(y[:, 0] > 0, "high", "low"))
    np.testing.assert_array_equal(dots(axes)[0][:, 0], np.arange(400))


def test_links_of_a_scatter_are_those_of_the_inner_layer(model):
    axes = plots.scatter(model, links=True)
    links = model.inner_weights_.toarray() != 0
    assert len(axes.collections[0].get_segments()) == np.triu(links | links.T).sum()


def test_many_dots_are_pixels(monkeypatch):
    monkeypatch.setattr(drawing, "MANY", 99)
    axes = plots.scatter(np.random.default_rng(0).random((100, 2)))
    assert axes.collections[0].get_rasterized()
    assert axes.collections[0].get_sizes()[0] == 1.5


@pytest.mark.parametrize(
    ("color", "label"), [(None, "samples a cell"), (np.arange(4.0), "mean of color"), (["b", "a", "a", "a"], None)]
)
def test_too_many_dots_are_cells(monkeypatch, color, label):
    monkeypatch.setattr(drawing, "TOO_MANY", 3)
    monkeypatch.setattr(drawing, "CELLS", 2)
    axes = plots.scatter(np.array([[0.0, 0.0], [0.0, 1.0], [0.1, 1.0], [1.0, 1.0]]), color)
    cells = axes.images[0].get_array()
    assert cells.shape[:2] == (2, 2)
    assert (axes.figure.axes[1].get_ylabel() if label else None) == label
    if color is None:
        np.testing.assert_array_equal(cells.filled(0), [[1, 0], [2, 1]])
    elif label:
        np.testing.assert_array_equal(cells.filled(-1), [[0, -1], [1.5, 3]])
    else:
        assert cells[0, 1, 3] == 0
        np.testing.assert_allclose(cells[1, 0, :3], cells[1, 1, :3])
        assert not np.allclose(cells[0, 0, :3], cells[1, 0, :3])


def test_images_of_any_range_are_drawn_beside_dots(model):
    for images in (np.full((400, 6, 8), 7), np.full((400, 6, 8, 3), 200, dtype=np.uint8), np.eye(400)[:, :4, None] - 2):
        axes = plots.scatter_images(model, images, n_images=4)
        pictures = [box.offsetbox.get_data() for box in axes.artists]
        assert len(pictures) == 4
        assert 0 <= min(picture.min() for picture in pictures) <= max(picture.max() for picture in pictures) <= 1


def test_images_of_samples_without_coordinates_are_left_out(torn):
    axes = plots.scatter_images(torn, np.random.default_rng(0).random((180, 4, 4)), n_images=5)
    assert len(axes.artists) == 5


def test_bridges_are_red_and_counted():
    line = np.column_stack([np.arange(12.0) ** 1.01, np.sin(np.arange(12.0))])
    fitted = HNE(n_neighbors=1, n_components=2, pieces="join")
    with advised():
        fitted.fit(line)
    axes = plots.neighbor_links(fitted)
    assert len(fitted.bridges_) > 0
    assert len(axes.collections[1].get_segments()) == 0
    assert len(axes.collections[2].get_segments()) == len(fitted.bridges_)
    assert axes.texts[0].get_text() == f"{len(fitted.bridges_)} bridges in red"


@pytest.mark.parametrize(("policy", "fate"), [("cut", "cut"), ("keep", "suspected")])
def test_short_circuits_are_red_dashed_and_counted(policy, fate):
    fitted = HNE(12, short_circuits=policy).fit(make_swiss_roll(200, random_state=0).X)
    pairs = fitted.short_circuits_
    assert len(pairs) > 20
    axes = plots.neighbor_links(fitted)
    drawn, bridges = axes.collections[1], axes.collections[2]
    np.testing.assert_array_equal(drawn.get_segments(), fitted.embedding_[pairs])
    np.testing.assert_array_equal(drawn.get_edgecolors()[:, :3], bridges.get_edgecolors()[:, :3])
    assert drawn.get_linestyles()[0][1] is not None
    assert axes.texts[0].get_text().endswith(f", {len(pairs)} short circuits {fate}, dashed")
    # Those that were cut are no links any more.
    links = {tuple(sorted(pair)) for pair in np.argwhere(fitted.inner_weights_.toarray() != 0)}
    assert {tuple(pair) for pair in pairs}.isdisjoint(links) == (policy == "cut")


def test_both_layers_of_a_sample_are_its_neighbors_and_theirs(model, roll):
    axes = plots.neighbor_links(model, sample=7)
    lists = [row[row >= 0] for row in model._fitted.graph.indices]
    inner = set(lists[7])
    outer = {far for near in inner for far in lists[near]} - inner - {7}
    words = legend_words(axes)
    assert words == ["sample 7", "12 neighbors (inner layer)", f"{len(outer)} more of theirs (outer layer)"]
    *_, shown_outer, shown_inner, itself = axes.collections
    for drawn, rows in ((shown_outer, outer), (shown_inner, inner), (itself, {7})):
        expected = {tuple(place) for place in model.embedding_[list(rows)]}
        assert {tuple(place) for place in drawn.get_offsets().data} == expected
    assert len(axes.collections[1].get_segments()) == sum(len(lists[near]) for near in inner)


def test_the_layers_of_a_sample_fill_the_picture_and_what_is_written_stays_inside(model, caplog):
    axes = plots.neighbor_links(model, sample=7)
    axes.figure.canvas.draw()
    assert not caplog.records  # limits that contend with the equal scale are logged
    whole = plots.scatter(model)
    whole.figure.canvas.draw()
    assert np.ptp(axes.get_ylim()) < np.ptp(whole.get_ylim())
    legend = axes.get_legend().get_window_extent()
    assert legend.x1 <= axes.figure.bbox.x1
    assert axes.yaxis.label.get_window_extent().x0 >= 0


def test_links_of_a_linear_model_are_drawn(roll):
    fitted = LinearHNE().fit(roll.X)
    assert plots.neighbor_links(fitted).texts[0].get_text() == "0 bridges"


def test_a_scree_of_a_chart_marks_as_many_as_it_has_coordinates_and_says_what_it_is_made_of(model):
    axes = plots.scree(model, 7)
    assert legend_words(axes) == ["first 2", "others"]
    assert [len(dots.get_offsets()) for dots in axes.collections[:2]] == [2, 5]
    assert any(text.get_text() == "a chart of the first 20" for text in axes.texts)


def test_a_scree_of_a_layout_says_that_no_eigenvector_is_used(layout):
    axes = plots.scree(layout, 7)
    assert legend_words(axes) == ["first 2", "others"]
    assert any(text.get_text() == "a layout uses none" for text in axes.texts)
    np.testing.assert_allclose(axes.collections[0].get_offsets()[:, 1], layout.eigenvalues_)


@pytest.mark.parametrize("settings", [{}, PUBLISHED], ids=["default", "published"])
def test_a_scree_marks_what_is_used_and_tells_the_gap(roll, settings):
    model = HNE(**settings).fit(roll.X)
    axes = plots.scree(model, 7)
    if settings:
        assert legend_words(axes) == ["coordinates", "others"]
    used, others = axes.collections[:2]
    np.testing.assert_array_equal(used.get_offsets()[:, 1], model.eigenvalues_)
    assert len(others.get_offsets()) == 5
    assert axes.get_yscale() == "log"
    ratio = others.get_offsets()[0, 1] / model.eigenvalues_[-1]
    assert any(text.get_text() == f"gap: {ratio:.3g} times" for text in axes.texts)


def test_a_scree_says_of_which_piece_it_is_and_whether_it_is_short(torn, monkeypatch):
    monkeypatch.setattr("hne.core.eigenpairs.MAX_OPERATIONS", 1.0)
    texts = [text.get_text() for text in plots.scree(torn, 22, title="above").texts]
    assert "of the largest piece, a chart of the first 20, more would take long to solve for" in texts


def test_a_piece_without_eigenvalues_has_an_empty_scree():
    pairs = np.repeat(np.arange(8.0) ** 3, 2) * 1000 + np.tile([0.0, 1.0], 8)
    with advised():
        result = embed(np.column_stack([pairs, -pairs]), n_neighbors=1)
    assert "is too small" in plots.scree(result).texts[0].get_text()


def test_the_worst_rebuilt_samples_are_named(model):
    axes = plots.reconstruction(model, n_labeled=3)
    errors = model.reconstruction_errors_
    np.testing.assert_array_equal(axes.collections[0].get_offsets()[:, 1], np.sort(errors))
    named = [text.get_text() for text in axes.texts if text.get_text().isdigit()]
    assert named == [str(row) for row in np.argsort(-errors)[:3]]


def test_samples_without_neighbors_are_counted_beside_the_errors(roll):
    lone = np.vstack([roll.X[:100], [[1e5, 0, 0]]])
    with advised():
        fitted = HNE(coordinates="chart", include_self=False).fit(lone)
    assert any("1 of 101 samples have no neighbors" in text.get_text() for text in plots.reconstruction(fitted).texts)


def test_a_comparison_has_a_panel_for_each_method_and_the_reason_of_a_failure(model, torn, roll):
    found = {"BHNE": model, "HLLE": BaselineError("k is too small"), "none": "not run", "chart": roll.chart}
    axes = plots.compare(found, roll.chart[:, 0], title="four", titles={"BHNE": "BHNE, best"})
    assert [panel.get_title(loc="left") for panel in axes] == ["BHNE, best", "HLLE: failed", "none: failed", "chart"]
    assert axes[1].texts[0].get_text() == "k is too small"
    np.testing.assert_array_equal(dots(axes[0])[0], model.embedding_)
    np.testing.assert_array_equal(dots(axes[3])[0], roll.chart)
    assert [panel.texts[-1].get_text() if panel.texts else "" for panel in axes[::3]] == ["chart coordinates", ""]
    assert len(axes[0].figure.axes) == 5  # a color bar for all
    assert axes[0].figure.get_suptitle() == "four"


def test_a_comparison_turns_to_a_chart_and_leaves_out_what_has_no_place(torn, roll):
    chart = np.vstack([roll.chart[:120], roll.chart[:60]])
    panel = plots.compare({"torn": torn}, ["a", "b"] * 90, chart=chart)[0]
    drawn, own = dots(panel)[0], torn.embedding_[:120] - torn.embedding_[:120].mean(axis=0)
    np.testing.assert_allclose(drawn @ drawn.T, own @ own.T)
    assert np.trace(drawn.T @ (chart[:120] - chart[:120].mean(axis=0))) > 0
    assert panel.texts[0].get_text() == "chart coordinates, 60 of 180 without any"
    panel = plots.compare({"torn": torn.embedding_}, chart=chart)[0]
    np.testing.assert_allclose(dots(panel)[0], plots.oriented(torn.embedding_[:120], chart[:120]))
    assert panel.texts[0].get_text() == "60 of 180 without coordinates"


def test_panels_of_a_comparison_fill_rows(roll):
    axes = plots.compare({str(number): roll.chart for number in range(7)})
    grid = axes[0].get_gridspec()
    assert (grid.nrows, grid.ncols) == (2, 4)
    assert plots.compare({"a": roll.chart, "b": roll.chart}, columns=1)[0].get_gridspec().nrows == 2
    assert plots.compare({"a": roll.chart[:, :1]})[0].collections
    assert plots.compare({"a": "failed"}, [1.0, 2.0])[0].texts


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda Y: plots.scatter(Y, np.ones(39)), r"color must .* got 39"),
        (lambda Y: plots.scatter(Y, np.ones((39, 3))), r"color must .* got 39"),
        (lambda Y: plots.scatter(Y, np.ones((40, 2))), r"color must .* got shape \(40, 2\)"),
        (lambda Y: plots.scatter(Y, "species"), "color must be a color of matplotlib or one value .* got 'species'"),
        (lambda Y: plots.scatter(Y, components=(0, 3)), r"components must .* got \(0, 3\)"),
        (lambda Y: plots.scatter(Y, components=1), "components must be two of the 3 coordinates"),
        (lambda Y: plots.scatter(Y, labels="xy"), "labels must be a pair of texts"),
        (lambda Y: plots.scatter(HNE()), r"model must .* got HierarchicNeighborsEmbedding without"),
        (lambda Y: plots.scatter(Y * np.nan), r"model must .* got 40 without"),
        (lambda Y: plots.scatter(np.where(Y.max() == Y, np.inf, Y)), "model must be finite, got inf"),
        (lambda Y: plots.scatter(Y[:, 0]), "model must have two dimensions"),
        (lambda Y: plots.scatter_images(Y, np.ones((39, 2, 2))), r"images must .* got 39"),
        (lambda Y: plots.scatter_images(Y, np.ones((40, 4))), r"images must be numbers of shape .* \(40, 4\)"),
        (lambda Y: plots.scatter_images(Y[:, :1], np.ones((40, 2, 2))), "model must have two coordinates for images"),
        (lambda Y: plots.compare({"a": Y, "b": Y[:9]}), r"embeddings must .* got 40 of a, 9 of b"),
        (lambda Y: plots.compare({"a": Y * np.nan}), r"embeddings\['a'\] must have samples with coordinates"),
    ],
)
def test_bad_values_are_refused_in_words(draw, message):
    with pytest.raises(InputError, match=message):
        draw(np.random.default_rng(0).random((40, 3)))


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda Y: plots.scatter(Y, axes=np.array([1])), r"axes must .* got ndarray"),
        (lambda Y: plots.scatter(Y, links=True), r"model must .* got ndarray"),
        (lambda Y: plots.scatter(Y, np.zeros(40, "M8[s]")), r"color must .* got values of datetime64"),
        (plots.neighbor_links, r"model must .* got ndarray"),
        (plots.scree, r"model must .* got ndarray"),
        (plots.reconstruction, r"model must .* got ndarray"),
        (plots.compare, r"embeddings must .* got ndarray"),
        (lambda Y: plots.compare({}), r"embeddings must .* got none"),
    ],
)
def test_wrong_kinds_are_refused_in_words(draw, message):
    with pytest.raises(InputTypeError, match=message):
        draw(np.random.default_rng(0).random((40, 3)))


def test_a_sample_that_cannot_be_shown_is_refused(torn, model, roll, monkeypatch):
    with pytest.raises(InputError, match=r"sample must .* got 400"):
        plots.neighbor_links(model, sample=400)
    with pytest.raises(InputError, match="sample must have coordinates, got 170"):
        plots.neighbor_links(torn, sample=170)
    with pytest.raises(InputError, match=r"model must have two coordinates .* got 1 coordinate"):
        plots.neighbor_links(HNE(n_components=1).fit(roll.X))
    monkeypatch.setattr(drawing, "TOO_MANY", 399)
    with pytest.raises(InputError, match=r"links can .* got 400"):
        plots.scatter(model, links=True)


def test_errors_of_samples_without_any_neighbors_cannot_be_drawn(monkeypatch, model):
    monkeypatch.setitem(vars(model._fitted), "reconstruction_errors", np.full(400, np.nan))
    with pytest.raises(InputError, match=r"model must .* got 400 without"):
        plots.reconstruction(model)


def test_nothing_that_is_drawn_writes_to_what_it_was_given(model, roll):
    Y, color = frozen(model.embedding_), frozen(roll.chart[:, 0])
    plots.scatter(Y, color)
    plots.scatter_images(Y, frozen(np.ones((400, 2, 2))), color)
    plots.compare({"Y": Y}, color, chart=frozen(roll.chart))
