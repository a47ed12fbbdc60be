"""The report as a file: what it says, what it carries, and that nothing of the data can do more than be read."""

import base64
import hashlib
import io
import re
import sys
import warnings
from dataclasses import astuple, replace
from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist
from sklearn.decomposition import PCA

from hne import HNE, PUBLISHED, embed
from hne.core.records import ROUTES
from hne.core.trust.verdict import Finding, embedding_warnings
from hne.datasets import make_swiss_roll
from hne.exceptions import InputError, MissingExtraError
from hne.metrics import geodesic_quality, rank_quality
from hne.viz.report import Details, Measure, gather_details, measures, notebook_html, report_page, write_report
from hne.viz.report.details import color_rank, draw_rows, encode_column, natural_order, page_columns
from hne.viz.report.measures import better_by_pca
from hne.viz.report.pictures import most_frequent, thumbnail_sheet, thumbnail_size
from tests.conftest import advised
from tests.helpers.judged import some_trust
from tests.helpers.pages import Page

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'&\u2028\u2029\u202e\0\ud800]]>"
MEASURES = [
    "trustworthiness", "continuity", "preservation", "geodesic rank correlation", "residual variance",
    "relative reconstruction error", "eigenvector residual",
]  # fmt: skip


@pytest.fixture(scope="module")
def result():
    return embed(np.random.default_rng(7).normal(size=(60, 3)), coordinates="chart")


@pytest.fixture(scope="module")
def layout():
    return embed(np.random.default_rng(7).normal(size=(60, 3)))


@pytest.fixture(scope="module")
def unrolled():
    return embed(make_swiss_roll(600, even=True, random_state=0).X)


@pytest.fixture(scope="module")
def published():
    return embed(np.random.default_rng(7).normal(size=(60, 3)), **PUBLISHED)


@pytest.fixture(scope="module")
def in_pieces():
    X = np.random.default_rng(0).normal(size=(60, 3))
    X[40:] += 100
    with advised():
        return embed(X, coordinates="chart")


def read(result, limits=None, **details):
    return Page(report_page(result, Details(**details), **(limits or {})))


def test_arrays_decode_to_the_numbers_of_the_embedding(result):
    values = np.arange(60) / 7
    page = read(result, columns={"sevenths": values, "kind": np.array(["a", "b", None] * 20, dtype=object)})
    columns = page.meta()["columns"]
    assert [column["name"] for column in columns] == [
        "chart coordinate 1", "chart coordinate 2", "reconstruction error", "sevenths", "kind",
    ]  # fmt: skip
    for axis in (0, 1):
        np.testing.assert_array_equal(page.array(f"column-{axis}", "f4"), result.Y[:, axis].astype("f4"))
    np.testing.assert_array_equal(page.array("column-2", "f4"), result.reconstruction_errors.astype("f4"))
    np.testing.assert_array_equal(page.array("column-3", "f4"), values.astype("f4"))
    assert columns[4]["categories"] == ["a", "b"]
    assert page.array("column-4", columns[4]["kind"]).tolist() == [0, 1, 2] * 20
    neighbors = page.array("neighbors", "i4").reshape(60, page.meta()["neighbors"])
    np.testing.assert_array_equal(neighbors, result.graph.indices)


def test_the_policy_names_the_hash_of_the_only_script_that_runs(result):
    page = report_page(result, Details(title=HOSTILE))
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    (script,) = re.findall(r"<script>(.*?)</script>", page, flags=re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}';" in policy
    assert policy.startswith("default-src 'none';")
    kinds = [attrs.get("type") for tag, attrs in Page(page).elements if tag == "script"]
    assert kinds.count(None) == 1
    assert set(kinds) == {None, "application/json", "application/octet-stream;base64"}
    assert "<!--" not in script
    assert "innerHTML" not in script


def test_nothing_of_the_data_becomes_markup(result, tmp_path):
    columns = {HOSTILE: np.array([HOSTILE] * 60, dtype=object), "n": np.arange(60.0)}
    details = Details(
        title=HOSTILE, ids=[f"{i}{HOSTILE}" for i in range(60)], id_name=HOSTILE, columns=columns, color=HOSTILE,
        data_notes=[HOSTILE], source=HOSTILE, command=HOSTILE, timings={HOSTILE: 1.0},
        trust=some_trust(level="good", verdict=HOSTILE, findings=(Finding("score", "bad", {}, HOSTILE, HOSTILE),)),
    )  # fmt: skip
    plain = [tag for tag, _ in read(result, title="t", ids=["x"] * 60, columns={"a": columns["n"], "b": columns["n"]},
             data_notes=["w"], source="s", command="c", timings={"t": 1.0},
             trust=some_trust(level="good", findings=(Finding("score", "bad", {}, "a", "t"),))).elements]  # fmt: skip
    write_report(tmp_path / "hostile.html", result, details)
    written = (tmp_path / "hostile.html").read_text(encoding="utf-8")
    page = Page(written)
    assert [tag for tag, _ in page.elements] == plain
    assert page.is_balanced
    assert "\u2028" not in page.blocks["meta"]
    assert page.meta()["columns"][3]["categories"] == [HOSTILE]
    assert page.meta()["ids"][5] == f"5{HOSTILE}"
    fragment = notebook_html(result, details)
    assert "<script" not in fragment
    assert "<img" not in fragment


def test_measures_are_all_there(result):
    compared = measures(result)
    assert [measure.name for measure in compared] == MEASURES
    by_name = {measure.name: measure.value for measure in compared}
    assert 0.5 < by_name["trustworthiness"] <= 1
    ratio = result.reconstruction_error / result.graph.distances[result.graph.indices >= 0].mean()
    np.testing.assert_allclose(by_name["relative reconstruction error"], ratio)
    assert by_name["eigenvector residual"] == result.eigenpairs.residuals.max()
    assert compared == measures(result, result.core.X[result.distinct.inverse])


def test_every_number_stands_once_under_its_name_with_how_to_read_it(result, cloud):
    page = read(result)
    for name in (*MEASURES, "eigenvalue gap", "score", "intrinsic dimension"):
        assert page.words("dt").count(name.capitalize()) == 1
    assert page.text.lower().count("trustworthiness") == 2  # its name, and what low continuity means beside it
    assert "Whether what the chart is made of is what it should be" in page.text
    assert "Whether the coordinates are what they should be" in read(embed(cloud, **PUBLISHED)).text


def test_paths_do_not_take_the_short_circuits_that_were_cut():
    roll = make_swiss_roll(200, random_state=0).X
    unrolled = embed(roll, n_neighbors=12)
    assert len(unrolled.short_circuits) > 20
    ranks, variance = measures(unrolled)[3:5]
    assert ranks.value > 0.99
    assert variance.value < 0.02
    assert ranks.value - ranks.of_pca > 0.3
    assert "paths over 12 neighbors without the short circuits." in ranks.note
    # Rows are those of the embedded samples alone.
    with advised():
        among = embed(np.vstack([np.eye(3) + 1e3, roll]), n_neighbors=12, pieces="largest")
    assert measures(among)[3].value == pytest.approx(ranks.value, rel=1e-6)
    # Who keeps them is judged with them.
    kept = measures(embed(roll, n_neighbors=12, short_circuits="keep"))[3]
    assert "paths over 12 neighbors." in kept.note


def test_measures_of_many_samples_come_with_standard_errors(unrolled, monkeypatch):
    of_some = partial(measures, rank_seconds=0.0)
    preservation = of_some(unrolled)[2]
    assert 0 < preservation.standard_error < 0.05
    assert "on 100 samples drawn at random" in preservation.note
    monkeypatch.setattr("hne.viz.report.page.measures", of_some)
    assert f"± {preservation.standard_error:.1g}" in read(unrolled).text


def test_beside_measures_stand_those_of_the_principal_components(cloud):
    result = embed(cloud, n_neighbors=5, coordinates="chart")
    by_name = {measure.name: measure.of_pca for measure in measures(result)}
    components = PCA(2).fit_transform(cloud)
    ranks, paths = rank_quality(cloud, components, 5), geodesic_quality(cloud, components, 5)
    np.testing.assert_allclose([by_name[name] for name in MEASURES[:3]], astuple(ranks)[:3], rtol=1e-12)
    np.testing.assert_allclose(by_name["geodesic rank correlation"], paths.rank_correlation, rtol=1e-6)
    np.testing.assert_allclose(by_name["residual variance"], paths.residual_variance, rtol=1e-6)
    assert [by_name[name] for name in MEASURES[5:]] == [None, None]
    assert f"PCA {ranks.continuity:.3f}" in read(result).text


def test_principal_components_are_those_of_the_samples_with_a_place_whatever_their_size():
    X = np.random.default_rng(0).normal(size=(60, 3))
    X[40:] += 100
    with advised():
        found = measures(embed(X * 1e200, n_neighbors=10, pieces="largest"))[:3]
    alone = measures(embed(X[:40], n_neighbors=10))[:3]
    np.testing.assert_allclose([one.of_pca for one in found], [one.of_pca for one in alone])


PLANE = np.random.default_rng(0).random((200, 2)) @ np.random.default_rng(1).normal(size=(2, 5))


def test_a_plane_is_drawn_as_well_as_by_pca():
    assert "PCA keeps neighborhoods better here" not in read(embed(PLANE)).text


def test_a_page_says_so_where_pca_keeps_neighborhoods_better():
    result = embed(PLANE, **PUBLISHED)
    trust, continuity = measures(result)[:2]
    said = (
        f"PCA keeps neighborhoods better here: trustworthiness 1.000 against {trust.text}, continuity 1.000 against "
        f"{continuity.text}. A linear projection may be all that this data needs, or other settings suit it better."
    )
    assert said in read(result).text


def test_a_roll_is_not_for_pca(unrolled):
    trust = measures(unrolled)[0]
    assert trust.of_pca < trust.value
    assert "PCA keeps" not in read(unrolled).text


@pytest.mark.parametrize(
    ("trust", "continuity", "is_said"),
    [
        ((0.9, None, 0.95), (0.9, None, 0.95), True),
        ((0.9, None, 0.95), (0.9, None, 0.9), False),
        ((0.9, None, 0.9004), (0.9, None, 0.95), False),
        ((0.9, 0.02, 0.95), (0.9, 0.02, 0.95), True),
        ((0.9, 0.03, 0.95), (0.9, 0.02, 0.95), False),
        ((None, None, None), (None, None, None), False),
    ],
    ids=["both", "one alone", "not in the digits shown", "beyond chance", "within chance", "not measured"],
)
def test_pca_is_better_where_both_numbers_of_neighborhoods_say_so(trust, continuity, is_said):
    found = [
        Measure(name, value, standard_error=error, of_pca=of_pca)
        for name, (value, error, of_pca) in (("trustworthiness", trust), ("continuity", continuity))
    ]
    assert bool(better_by_pca(found)) is is_said


@pytest.mark.parametrize("metric", ["cosine", "manhattan"])
def test_links_are_measured_as_lengths_whatever_the_metric(cloud, metric):
    result = embed(cloud, metric=metric)
    by_name = {measure.name: measure.value for measure in measures(result)}
    lengths = np.linalg.norm(cloud[:, None] - cloud[result.graph.indices], axis=2)
    kept = result.graph.indices >= 0
    expected = result.reconstruction_error / lengths[kept].mean()
    np.testing.assert_allclose(by_name["relative reconstruction error"], expected)


def test_missing_measures_are_explained(cloud):
    from_distances = embed(cdist(cloud, cloud), metric="precomputed")
    for measure in measures(from_distances)[:5]:
        assert measure.value is None
        assert measure.of_pca is None
        assert measure.note == "Not measured, nor is PCA: only distances between samples are known, no coordinates."
    assert "known by their distances" in read(from_distances).text
    assert all(measure.value is not None for measure in measures(from_distances)[5:])


def test_sparse_samples_are_measured_as_long_as_they_are_few(cloud):
    sparse = embed(csr_array(cloud))
    np.testing.assert_allclose(measures(sparse)[0].value, measures(embed(cloud))[0].value)
    assert "the samples are sparse, and 60 x 3 numbers too many" in measures(sparse, dense_max=10)[0].note


def test_four_samples_are_enough_for_a_page():
    page = read(embed(np.array([[0.0, 0], [1, 0], [0, 1], [1, 1.5]]), n_neighbors=2, n_components=1))
    assert "4 samples of 2 numbers each, laid out along a line:" in page.text
    assert page.meta()["n"] == 4


@pytest.mark.parametrize("coordinates", ["chart", "layout"])
@pytest.mark.parametrize("d", [1, 5])
def test_all_coordinates_are_there_whatever_their_number(d, coordinates):
    result = embed(np.random.default_rng(0).normal(size=(60, 6)), n_components=d, coordinates=coordinates)
    names = [column["name"] for column in read(result).meta()["columns"] if column["group"] == "coordinates"]
    assert names == [f"{coordinates} coordinate {axis + 1}" for axis in range(d)]
    assert notebook_html(result).count('<svg class="hne-picture"') == 1


def test_pieces_are_a_column_and_warned_of(in_pieces):
    page = read(in_pieces, data_notes=["A notice about the data."])
    pieces = next(column for column in page.meta()["columns"] if column["name"] == "piece")
    assert pieces["categories"] == ["piece 1 (of 40 samples)", "piece 2 (of 20 samples)"]
    np.testing.assert_array_equal(page.array(pieces["block"], "u1"), in_pieces.pieces.labels)
    message = next(one.message for one in embedding_warnings(in_pieces) if one.kind == "pieces")
    assert message[1:] in page.text
    (said,) = re.findall(r"(\d+) things worth knowing", page.text)
    assert int(said) == sum(tag == "li" and attrs.get("class") == "data" for tag, attrs in page.elements)
    assert "A notice about the data." in page.text
    assert "eigenvalues of the largest piece" in page.text


def test_rows_that_are_not_embedded_are_counted_and_not_measured():
    X = np.random.default_rng(0).normal(size=(60, 3))
    X[40:] += 100
    with advised():
        result = embed(X, pieces="largest")
    page = read(result)
    assert "20 of 60, outside the largest piece" in page.text
    assert np.isnan(page.array("column-0", "f4")).sum() == 20
    alone = measures(embed(X[:40]))
    for whole, part in zip(measures(result)[:3], alone[:3], strict=True):
        np.testing.assert_allclose(whole.value, part.value)
    assert all(int(attrs["data-worst"]) < 40 for _, attrs in page.elements if "data-worst" in attrs)
    assert "<svg" in notebook_html(result)


def test_copies_share_a_place_and_are_told(cloud):
    page = read(embed(np.vstack([cloud, cloud[:5]])))
    assert "5 of 65 samples equal another, and share its place" in page.text
    assert "different samples" in notebook_html(embed(np.vstack([cloud, cloud[:5]])))


def test_parameters_that_were_changed_come_first(cloud):
    page = read(embed(cloud, n_neighbors=9, metric=lambda a, b: float(np.abs(a - b).sum())))
    assert (
        "Parameter Value n_neighbors 9 changed metric &lt;lambda&gt;".replace("&lt;", "<").replace("&gt;", ">")
        in page.text
    )
    for told in ("variant 'ihne'", "reg 0.1", "short_circuits 'cut'", "coordinates 'layout'"):
        assert f"{told} default" in page.text


@pytest.mark.parametrize("near", [True, False])
def test_what_was_left_to_the_samples_is_no_change(cloud, unrolled, near):
    result = unrolled if near else embed(cloud)
    k, reg = (12, 1e-4 * 2**3.3) if near else (10, 0.1)
    assert (result.settings.n_neighbors, result.settings.reg) == (k, reg)
    assert f"n_neighbors {k} default" in read(result).text
    assert f"reg {reg!r} default" in read(result).text
    assert "<td>all defaults</td>" in notebook_html(result)


def test_the_published_method_is_a_change(cloud):
    changed = ("n_neighbors 6", "variant 'bhne'", "short_circuits 'keep'", "coordinates 'eigenvectors'")
    # With six neighbors near a surface, its ridge is what suits them.
    told = f"Parameter Value {' changed '.join(changed)} changed n_components 2 default reg 0.0001 default"
    assert told in read(embed(cloud, **PUBLISHED)).text


def test_a_page_tells_how_the_chart_was_found(unrolled, cloud):
    chart = unrolled.chart
    told = read(unrolled).text
    assert "How the coordinates were found Drawn chart coordinates, in units of X Route unfolded: distances" in told
    assert f"Made of the first 20 eigenvectors Stress {chart.stress:.2g}: lengths within two links" in told
    along = embed(cloud, n_neighbors=5, reg=0.1, coordinates="chart")
    assert along.chart.route == "along the graph"
    told = read(along).text
    assert "Route along the graph: shortest-path distances are preserved" in told
    assert f"Stress of ways {along.chart.way_stress:.2g} of the lengths" in told
    fragment = notebook_html(along)
    assert f"<td>along the graph from 10 eigenvectors, stress {along.chart.stress:.2g}</td>" in fragment
    plain = read(embed(cloud, coordinates="eigenvectors")).text
    assert "Drawn eigenvectors Found by the first 2 eigenvectors" in plain
    few = read(embed(cloud[:6], coordinates="chart")).text
    assert "Drawn chart coordinates, in units of X Found by principal axes of few samples" in few


def test_a_page_says_what_a_layout_preserves_and_nothing_of_eigenvectors(layout):
    page = read(layout)
    found = page.text.split("How the coordinates were found")[1].split("How the samples hang together")[0]
    assert "Drawn layout coordinates Preserved neighborhoods and groups" in found
    assert "Not meaningful distances between groups, densities, and sizes of groups" in found
    assert f"KL divergence {layout.core.kl_divergence:.3f}" in found
    assert "in layout coordinates: the first coordinate across" in page.text
    assert page.meta()["coordinates"] == "layout"
    assert [column["name"] for column in page.meta()["columns"]][:2] == ["layout coordinate 1", "layout coordinate 2"]
    assert not re.search("[Ee]igen[vp]|units of X", page.text)
    # None were searched for, so it is not said that there are none.
    assert "Short circuits not searched for" in page.text
    assert "a layout preserves neighborhoods" in page.text
    # The measures are the same, without that of eigenvectors.
    assert [measure.name for measure in measures(layout)] == MEASURES[:-1]


def test_a_notebook_says_that_a_layout_preserves_neighborhoods(layout):
    fragment = notebook_html(layout)
    assert "60 samples, layout coordinates" in fragment
    assert "<td>layout coordinates</td>" in fragment
    assert re.search(r"a layout preserves neighborhoods .* and groups, not distances", fragment)
    assert "eigenvalues" not in fragment
    assert "units of X" not in fragment


def test_the_few_neighbors_of_a_curve_are_no_change():
    # Waves of random frequencies along a line: neighborhoods are bent, but the samples form a curve.
    waves = np.random.default_rng(0).normal(scale=50.0, size=30)
    with warnings.catch_warnings():
        # More columns than dimensions: some eigenvalues of their covariance are negative by rounding.
        warnings.simplefilter("error")
        curve = embed(np.cos(np.outer(np.linspace(0, 1, 120), waves) + np.arange(30)))
    assert (curve.settings.coordinates, curve.settings.n_neighbors) == ("chart", 3)
    assert "n_neighbors 3 default" in read(curve).text


@pytest.mark.parametrize("policy", ["cut", "keep"])
def test_a_page_tells_how_many_short_circuits_were_cut_or_are_suspected(policy):
    result = embed(make_swiss_roll(200, random_state=0).X, n_neighbors=12, short_circuits=policy)
    count = len(result.short_circuits)
    page = read(result)
    n_back = result.chart.n_put_back
    closed = f", of which the chart has closed {n_back}" if n_back else ""
    fate = f"cut{closed} Bridges" if policy == "cut" else "suspected, and kept Bridges"
    assert f"Short circuits {count} edges across gaps {fate}" in page.text.replace("\xa0", " ")
    heading = "Short circuits that were cut" if policy == "cut" else "Suspected short circuits"
    assert f"{heading}, the worst first" in page.text
    assert page.meta()["cut"] == (policy == "cut")
    assert page.meta()["shorts"] == result.short_circuits[:60].tolist()
    assert f"<td>{count} edges across gaps" in notebook_html(result).replace("\xa0", " ")


def test_times_versions_and_the_command_are_there(result):
    page = read(result, timings={"neighbors": 0.25, "weights": 65.0}, command="hne embed 'a b.csv'", source="a b.csv")
    assert "neighbors 0.2 s weights 1 min 05 s all of it 1 min 05 s" in page.text
    assert "hne embed 'a b.csv'" in page.text
    assert f"numpy {np.__version__}" in page.text


def with_eigenvalues(result, values, next_value):
    pairs = replace(result.eigenpairs, values=np.array(values), next_value=next_value)
    return replace(result, core=replace(result.core, eigenpairs=(pairs, *result.core.eigenpairs[1:])))


def test_the_scree_shows_the_eigenvalues_of_the_fit_and_their_gap(result, published):
    page = read(with_eigenvalues(published, [1e-6, 2e-6], 8e-6), trust=result.trust)
    assert "Eigenvalue 2, the last one used, is 2.0e-06 and the next 8.0e-06: 4.0 times as large." in page.text
    assert "first coordinate" in page.text
    circles = [attrs["class"] for tag, attrs in page.elements if tag == "circle"]
    assert circles == ["scree-used", "scree-used", "scree-next"]
    assert "used not used" in page.text
    few = read(with_eigenvalues(published, [0.0, 0.0], 1e-9), trust=result.trust)
    assert "Eigenvalue 2, the last one used, is zero to rounding, and the next 1.0e-09." in few.text
    assert [tag for tag, _ in few.elements].count("circle") == 3
    none_left = read(with_eigenvalues(published, [0.0, 0.0], np.nan), trust=result.trust)
    assert "there is no gap to look at" in none_left.text
    assert "circle" not in {tag for tag, _ in none_left.elements}


def test_the_scree_of_a_chart_says_how_many_eigenvectors_it_is_made_of(result):
    page = read(result)
    charted, values = len(result.chart.B), result.eigenpairs.values
    assert f"Eigenvalue 2 is {values[1]:.1e} and the next {values[2]:.1e}: " in page.text
    assert f"The chart is made of the first {charted} eigenvectors" in page.text
    assert "first 2 others" in page.text
    labels = [attrs["aria-label"] for tag, attrs in page.elements if attrs.get("class") == "scree"]
    assert labels == [f"Eigenvalues 1 to 10 on a logarithmic scale; a chart is made of the first {charted}."]


def test_every_route_of_a_chart_has_its_words(result):
    for route in ROUTES:
        core = replace(result.core, charts=(replace(result.core.charts[0], route=route),))
        assert f"Route {route}" in read(replace(result, core=core), trust=result.trust).text


def test_a_report_solves_no_eigenproblem(published, layout, monkeypatch):
    monkeypatch.setattr("hne.core.eigen.solve.bottom_eigenpairs", None)
    monkeypatch.setattr("hne.core.eigenpairs.bottom_eigenpairs", None)
    read(published)
    read(layout)


def test_columns_are_numbers_or_categories_in_natural_order():
    large = encode_column("big", np.array([2**40, 2**40 + 1]))
    assert large.values.dtype == np.float64
    assert encode_column("tiny", np.array([1e-300, 1.0])).values.dtype == np.float64
    assert encode_column("small", np.array([1, 2])).values.dtype == np.float32
    flags = encode_column("flag", np.array([True, False, True]))
    assert (flags.categories, flags.values.tolist()) == (("False", "True"), [1, 0, 1])
    many = encode_column("many", np.array([str(i) for i in range(300)]))
    assert many.values.dtype == np.uint16
    missing = encode_column("missing", np.array([np.nan, "", None, "x"], dtype=object))
    assert missing.values.tolist() == [1, 1, 1, 0]
    assert len(encode_column("long", np.array(["x" * 10_000])).categories[0]) == 200
    mixed = encode_column("numbers", np.array([1, None, 2.5], dtype=object))
    np.testing.assert_array_equal(mixed.values, np.array([1, np.nan, 2.5], dtype=np.float32))
    pandas = pytest.importorskip("pandas")
    assert encode_column("pandas", pandas.array(["a", None], dtype="string").to_numpy()).values.tolist() == [0, 1]


@pytest.mark.parametrize("kind", ["M8[D]", "M8[ns]", "U", object])
def test_dates_are_days_on_a_scale(kind):
    column = encode_column("day", np.array(["1970-01-11", "1969-12-31"], dtype=kind))
    assert (column.is_time, column.categories, column.values.tolist()) == (True, None, [10.0, -1.0])


def test_what_only_looks_like_dates_stays_text():
    assert encode_column("d", np.array(["2024-02-30", "2024-01-01"])).categories == ("2024-01-01", "2024-02-30")
    assert encode_column("d", np.array(["2024-01-01T10:00+02:00"])).categories == ("2024-01-01T10:00+02:00",)
    some = encode_column("d", np.array(["1970-01-02", None, ""], dtype=object))
    np.testing.assert_array_equal(some.values, [1, np.nan, np.nan])
    assert np.isnan(encode_column("d", np.array(["NaT", "1970-01-02"], dtype="M8[s]")).values[0])


def test_a_class_keeps_its_place_when_rows_are_dropped():
    values = np.array(["2", "10", "1", "10", "10", "2"])
    for some in (values, values[:3]):
        assert encode_column("class", some).categories == ("1", "2", "10")
    assert natural_order(["b", "B", "a1x", "a"]) == ["a", "a1x", "B", "b"]
    assert natural_order(["1" * 5000, "1" * 4999, "x"])[-1] == "x"
    letters = encode_column("letter", np.array(list("abcdefghijkl" + "lkcdefghij")))
    assert [letters.categories[code] for code in most_frequent(letters, 10)] == list("cdefghijkl")


def test_the_first_color_is_never_a_name_of_each_sample(result):
    names, many = np.array([f"n{i}" for i in range(60)]), np.array([f"m{i % 30}" for i in range(60)])
    few, number = np.array(["a", "b"] * 30), np.arange(60.0)
    constant, empty = np.ones(60), np.full(60, np.nan)

    def first(**columns):
        page = read(result, columns=columns).meta()
        return next(column["name"] for column in page["columns"] if column["key"] == page["color"])

    assert first(names=names, constant=constant, many=many, few=few) == "few"
    assert first(names=names, many=many, number=number, few=few) == "number"
    assert first(names=names, empty=empty, many=many) == "many"
    assert first(names=names, constant=constant) == "reconstruction error"
    assert color_rank(encode_column("names", names[:40])) is None
    fragment = notebook_html(result, Details(columns={"names": names, "few": few}))
    assert "colored by few" in fragment


def top_of(result):
    return read(result).text.split("In numbers")[1].split("How far it can")[0]


def test_the_top_tells_trust_in_plain_words(result):
    top, (trust, _, kept) = top_of(result), measures(result)[:3]
    beside = f"(chance gives 50%, PCA {trust.of_pca:.0%})"
    assert f"of what is drawn close together, how much is close in the data {beside} {trust.value:.0%}" in top
    assert f"of a sample's nearest neighbors are nearest in the picture too (PCA {kept.of_pca:.0%})" in top
    assert "rebuil" not in top


def test_the_top_of_what_cannot_be_measured_speaks_of_no_pca(cloud):
    assert "PCA" not in top_of(embed(cdist(cloud, cloud), metric="precomputed"))


def test_whole_numbers_are_kept_to_the_last_digit_whatever_they_came_as():
    days = [20240101, 20240102, np.nan]
    for values in (np.array(days), np.array(days, dtype=object), np.array(days[:2])):
        found = encode_column("day", values).values
        assert found.dtype == np.float64
        assert found[:2].tolist() == days[:2]
    assert encode_column("small", np.array([2.0**24, 0.5])).values.dtype == np.float32


def test_what_does_not_fit_is_left_out_and_said(result):
    values = {f"c{number}": np.arange(60.0) for number in range(120)}
    columns, color, left_out = page_columns(result, Details(columns=values, color="c119"), np.arange(60))
    assert len(columns) == 103
    assert columns[color].name == "c119"
    assert "20 of 120 columns" in left_out[0]
    page = read(result, {"max_linked": 50}, columns=values)
    assert "Left out of this page 20 of 120 columns" in page.text
    assert page.meta()["neighbors"] == 0
    assert "Links between neighbors" in page.text


def test_more_points_than_fit_are_thinned_but_for_the_worst(result):
    page = read(result, {"max_points": 30}, ids=[f"s{i}" for i in range(60)])
    rows = page.array("rows", "f8").astype(int) - 1
    assert len(rows) == page.meta()["n"] <= 30
    assert page.meta()["ids"] == [f"s{row}" for row in rows]
    worst = np.argsort(-result.reconstruction_errors)[:20]
    points = [int(attrs["data-worst"]) for _, attrs in page.elements if "data-worst" in attrs]
    np.testing.assert_array_equal(rows[points], worst)
    assert "of 60 samples, drawn at random" in page.text
    np.testing.assert_array_equal(draw_rows(5, 5), np.arange(5))


def test_samples_are_numbered_as_in_the_file_after_rows_were_left_out(result):
    numbers = np.arange(60) * 3 + 5
    page = read(result, rows=numbers)
    np.testing.assert_array_equal(page.array("rows", "f8"), numbers)
    worst = np.argsort(-result.reconstruction_errors)[0]
    assert f"few samples. {numbers[worst]} {result.reconstruction_errors[worst]:.3g}" in page.text
    assert "rows" not in read(result).blocks


def test_warnings_are_in_the_words_of_whoever_made_the_page(in_pieces, unrolled):
    assert "See piece_labels_" in read(in_pieces).text
    page = read(in_pieces, embedding_warnings=["two pieces: pass --pieces join"], data_notes=["A notice."])
    assert "Two pieces: pass --pieces join A notice." in page.text
    assert "piece_labels_" not in page.text
    assert "worth knowing" not in read(unrolled, embedding_warnings=[]).text


def test_long_ids_and_many_coordinates_are_cut_and_said(result):
    many = embed(np.random.default_rng(0).normal(size=(80, 30)), n_components=25, n_neighbors=30)
    assert "Coordinates 21 to 25: a page shows the first 20." in read(many).text
    assert "What 1 id says beyond 500 characters." in read(result, ids=["x" * 501] + ["a"] * 59).text
    assert "beyond 500" not in read(result, ids=["x" * 500] * 60).text


def test_gathered_columns_are_labels_then_features_then_a_note(result):
    X = np.arange(180.0).reshape(60, 3)
    found = gather_details(X=X, features=X, feature_names=["a", "b", "b"], labels={"a": ["u"] * 60}, ids=range(60))
    assert list(found.columns) == ["a", "a 2", "b", "b 2"]
    assert found.columns["b 2"].tolist() == X[:, 2].tolist()
    assert (found.color, found.ids[3], found.X is X) == (None, "3", True)
    wide = np.zeros((60, 100))
    wide[:, 98] = np.arange(60)
    assert len(gather_details(features=wide).columns) == 100
    many = "a page has at most 100 columns, labels among them"
    for features, why in ((np.hstack([wide, wide]), many), (csr_array(wide), "they are sparse")):
        found = gather_details(features=features, color="x99", left_out=["More."])
        assert found.columns["x99"].tolist() == list(range(60))
        assert list(found.left_out) == ["More.", f"The {features.shape[1]} features as columns: {why}."]
        assert f"features as columns: {why}." in Page(report_page(result, found)).text
    pixels = gather_details(features=np.zeros((60, 16)), images=np.zeros((60, 4, 4)))
    assert (list(pixels.columns), "pixels of the images" in pixels.left_out[0]) == ([], True)
    with pytest.raises(InputError, match="There are: 'x1', 'x2', 'x3'"):
        gather_details(features=X, color="age")


def test_thumbnails_are_on_one_sheet():
    images = np.random.default_rng(0).random((70, 60, 30))
    sheet = thumbnail_sheet(images, np.arange(70))
    assert (sheet.kind, sheet.height, sheet.width, sheet.per_row) == ("image/png", 48, 24, 70)
    assert thumbnail_size(20_000, 64, 64) == (28, 28)  # 146 ** 2 of them fit
    assert thumbnail_size(10, 8, 8) == (8, 8)
    colored = thumbnail_sheet((255 * np.ones((200, 50, 50, 3))).astype(np.uint8), np.arange(200))
    assert colored.kind == "image/jpeg"


@pytest.mark.parametrize(
    ("scale", "shift"), [(1, 0), (16, 0), (255.0, 0), (0.5, -0.25)], ids=["unit", "digits", "bytes", "negative"]
)
def test_images_are_shown_in_their_own_range_where_it_goes_beyond_one(scale, shift):
    images = scale * (np.arange(32.0).reshape(2, 4, 4) / 31) + shift
    low = min(0, shift)
    expected = 255 * (images - low) / (1 if scale == 1 else images.max() - low)
    np.testing.assert_allclose(pixels_of(thumbnail_sheet(images, np.arange(2))), np.hstack(expected), atol=0.51)


def test_bytes_and_empty_images_are_shown_as_they_are():
    images = np.full((2, 4, 4), 16, dtype=np.uint8)
    np.testing.assert_array_equal(pixels_of(thumbnail_sheet(images, np.arange(2))), 16)
    np.testing.assert_array_equal(pixels_of(thumbnail_sheet(np.full((2, 4, 4), np.nan), np.arange(2))), 0)


def pixels_of(sheet):
    image = pytest.importorskip("PIL.Image")
    return np.asarray(image.open(io.BytesIO(sheet.content)))


def test_thumbnails_need_pillow(monkeypatch):
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(MissingExtraError, match=r"pillow.*pip install 'hne\[io\]'"):
        thumbnail_sheet(np.zeros((2, 4, 4)), np.arange(2))


@pytest.mark.parametrize(
    ("details", "parameter", "value"),
    [
        ({"ids": ["a"]}, "ids", "1"),
        ({"columns": {"a": np.zeros(3)}}, "columns['a']", "3"),
        ({"rows": np.arange(3)}, "rows", "3"),
        ({"columns": {"a": np.zeros((60, 3))}}, "columns['a']", "the shape (60, 3)"),
        ({"images": np.zeros((60, 4))}, "images", "(60, 4)"),
        ({"X": np.zeros((3, 3))}, "X", "3"),
        ({"color": "b", "columns": {"a": np.zeros(60)}}, "color", "'b'"),
    ],
)
def test_details_that_do_not_match_are_refused(result, details, parameter, value):
    with pytest.raises(InputError, match="must") as refused:
        report_page(result, Details(**details))
    assert (refused.value.parameter, refused.value.value) == (parameter, value)


def test_a_report_that_cannot_be_written_leaves_nothing_behind(result, tmp_path):
    with pytest.raises(InputError, match="cannot write"):
        write_report(tmp_path / "none" / "r.html", result)
    write_report(str(tmp_path / "r.html"), result)
    assert [path.name for path in tmp_path.iterdir()] == ["r.html"]


def test_the_fragment_of_a_notebook_has_styles_of_its_own(result, in_pieces):
    fragment = notebook_html(result, Details(columns={"a": np.arange(60.0)}, title="Mine"))
    selectors = re.findall(r"([^{}]+)\{", fragment[fragment.index("<style>") + 7 : fragment.index("</style>")])
    assert all(part.strip().startswith(".hne-fragment") for rule in selectors for part in rule.split(","))
    assert "id=" not in fragment
    assert "colored by" in fragment
    assert "neighbor graph has 2 pieces" in notebook_html(in_pieces)
    constant = replace(result.core, Y=np.zeros_like(result.core.Y))
    assert "NaN" not in notebook_html(replace(result, core=constant))


def test_a_model_of_a_data_frame_has_its_columns_in_the_report(tmp_path):
    frame = pd.DataFrame(make_swiss_roll(60, random_state=0).X, columns=["length", "width", "height"])
    HNE(n_neighbors=6).fit(frame).report(tmp_path / "frame.html")
    assert "width" in (tmp_path / "frame.html").read_text(encoding="utf-8")
