"""What a page asks a session for, without a page."""

from dataclasses import replace
from threading import Event, Thread

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

from hne import HNE, embed
from hne.datasets import make_swiss_roll
from hne.exceptions import HNEError, InputError
from hne.explorer import session as sessions
from hne.explorer import source as sources
from hne.explorer.contrast import differences
from hne.explorer.request import Request
from hne.explorer.session import Session
from hne.explorer.source import Source, table_of
from hne.explorer.stages import Cancelled
from hne.io import ReadOptions, prepare_table, read_table
from hne.viz.report.tuning import turned_to
from tests.explorer.conftest import Caller, rolled
from tests.helpers.pages import Page


def test_the_data_comes_once_and_the_embedding_with_every_change(call):
    told = call("open")
    assert (told["n"], told["nAll"], told["isPatch"]) == (300, 300, False)
    assert told["ids"][:2] == ["s0", "s1"]
    assert [column["name"] for column in told["columns"]] == ["half", "x1", "x2", "x3"]
    roll = make_swiss_roll(300, random_state=0)
    assert np.allclose(call.array(told["columns"][1]), roll.X[:, 0])
    assert told["color"] == told["columns"][0]["key"]
    assert told["limits"]["n_components"] == [1, 3]
    found = call("embed", request=told["start"], after=None)
    alone = embed(roll.X)
    assert np.allclose(call.coordinates(found), alone.Y, rtol=1e-6)
    assert found["settings"]["n_neighbors"] == alone.settings.n_neighbors == 12
    assert found["verdict"]["text"] == alone.trust.verdict
    assert found["verdict"]["word"] == "Good."
    near = call.array(found["neighbors"]).reshape(300, found["neighbors"]["k"])
    assert np.array_equal(near, alone.graph.indices)
    assert found["shorts"] == alone.short_circuits.tolist()
    assert {"Stress", "Score", "Dimension"} <= {one["name"] for one in found["measures"]}
    assert {"stage", "done", "total"} <= call.told[-1].keys()


@pytest.mark.parametrize(
    ("coordinates", "axis", "made"),
    [
        ("auto", "chart coordinate", "a chart"),
        ("chart", "chart coordinate", "a chart"),
        ("layout", "layout coordinate", "a layout"),
        ("eigenvectors", "eigenvector", "eigenvectors"),
    ],
)
def test_a_page_is_told_which_coordinates_were_asked_for_and_used(call, coordinates, axis, made):
    found, alone = call.embed(parameters={"coordinates": coordinates}), HNE(coordinates=coordinates)
    assert np.allclose(call.coordinates(found), alone.fit_transform(make_swiss_roll(300, random_state=0).X), rtol=1e-5)
    assert found["request"]["parameters"]["coordinates"] == coordinates
    assert found["coordinates"] == found["settings"]["coordinates"] == alone.coordinates_
    names = [column["name"] for column in found["columns"] if column["group"] == "coordinates"]
    assert names == [f"{axis} 1", f"{axis} 2"]
    assert found["lead"].startswith(f"300 samples, {made} by ihne with {alone.n_neighbors_} neighbors")
    assert (found["nShorts"] == 0) == (coordinates == "layout")
    assert any(one["name"] == "Stress" for one in found["measures"]) == (made == "a chart")


def test_each_embedding_is_turned_to_the_one_before_it(call):
    first = call.embed()
    assert not first["turned"]
    before = call.coordinates(first)
    second = call.embed(after=first["id"], parameters={"variant": "rhne"})
    after = call.coordinates(second)
    alone = call.session._shown[second["id"]].result.Y
    moved = np.square(after - before).sum()
    for turn in (0.1, -0.1):
        rotation = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
        assert np.square(after @ rotation - before).sum() > moved
    assert np.square(after * [1, -1] - before).sum() > moved
    lengths = np.linalg.norm(after[1:] - after[:-1], axis=1)
    assert np.allclose(lengths, np.linalg.norm(alone[1:] - alone[:-1], axis=1), rtol=1e-5)


def test_samples_without_a_place_have_no_say_in_the_turn():
    Y = np.random.default_rng(0).normal(size=(20, 2))
    other = Y @ [[0, 1], [-1, 0]] + 3
    gone = Y.copy()
    gone[4] = np.nan
    turned = turned_to(gone, other)
    assert np.isnan(turned[4]).all()
    assert np.allclose(np.delete(turned, 4, axis=0), np.delete(other, 4, axis=0))
    nowhere = np.full((20, 2), np.nan)
    assert np.isnan(turned_to(nowhere, other)).all()


def test_edges_are_put_back_and_cut_by_hand(call):
    k = {"n_neighbors": 14}
    found = call.embed(parameters=k)
    assert found["nShorts"] >= 2
    back, *others = found["shorts"]
    undone = call.embed(parameters=k, keep=[back])
    assert back not in undone["shorts"]
    assert undone["shorts"] == others
    result = call.session._shown[found["id"]].result
    edge = [0, int(result.graph.indices[0, 0])]
    cut = call.embed(parameters=k, cut=[edge])
    near = call.array(cut["neighbors"]).reshape(300, -1)
    assert edge[1] not in near[0]
    assert 0 not in near[edge[1]]


def test_columns_and_scaling_are_part_of_a_request(call):
    roll = make_swiss_roll(300, random_state=0)
    some = call.embed(columns=["x1", "x3"])
    assert np.allclose(call.coordinates(some), embed(roll.X[:, [0, 2]]).Y, rtol=1e-5)
    scaled = call.embed(scale="standard")
    X = (roll.X - roll.X.mean(axis=0)) / roll.X.std(axis=0)
    assert np.allclose(call.coordinates(scaled), embed(X).Y, rtol=1e-5)
    assert call.embed(columns=["x3", "x1", "x2"])["request"]["columns"] is None


@pytest.mark.parametrize(
    ("request_", "parameter"),
    [
        (None, "settings"),
        ({"n_neighbors": 9}, "settings"),
        ({"parameters": {"n_neighbors": 900}}, "n_neighbors"),
        ({"parameters": {"n_neighbors": "x"}}, "n_neighbors"),
        ({"parameters": {"verbose": 3}}, "parameters"),
        ({"parameters": {"checkpoint": "/tmp/x"}}, "parameters"),
        ({"parameters": {"reg": -1}}, "reg"),
        ({"parameters": {"metric": "nothing"}}, "metric"),
        ({"parameters": []}, "parameters"),
        ({"scale": "loud"}, "scale"),
        ({"scale": ["none"]}, "scale"),
        ({"columns": []}, "columns"),
        ({"columns": ["nobody"]}, "columns"),
        ({"columns": "x1"}, "columns"),
        ({"columns": [["x1"]]}, "columns"),
        ({"cut": [[0, 0]]}, "cut_edges"),
        ({"cut": [[0, 99999]]}, "cut_edges"),
        ({"cut": [[0]]}, "cut"),
        ({"cut": 7}, "cut"),
        ({"keep": [[0.5, 1]]}, "keep"),
        ({"cut": [[0, 1]], "keep": [[1, 0]]}, "keep_edges"),
    ],
)
def test_a_bad_request_is_one_error_that_names_what_is_wrong(call, request_, parameter):
    with pytest.raises(HNEError) as caught:
        call("embed", request=request_, after=None)
    assert caught.value.parameter == parameter


@pytest.mark.parametrize(
    ("kind", "payload"),
    [
        ("nothing", {}),
        ("embed", None),
        ("contrast", {"id": 10**9, "samples": [1]}),
        ("contrast", {"id": None, "samples": [1]}),
        ("export", {"format": "exe"}),
        ("export", {"format": ["csv"]}),
    ],
)
def test_a_call_that_makes_no_sense_is_an_error(call, kind, payload):
    with pytest.raises(HNEError):
        call.session.call(kind, payload, lambda one: None, Event())


def test_a_group_is_told_from_the_others(call):
    found = call.embed()
    roll = make_swiss_roll(300, random_state=0)
    inner = np.flatnonzero(roll.chart[:, 0] <= np.median(roll.chart[:, 0])).tolist()
    told = call("contrast", id=found["id"], samples=inner)
    assert told["n"] == len(inner)
    assert told["columns"][0]["name"] == "half"
    assert told["columns"][0]["effect"] == 1
    assert told["columns"][0]["text"] == "half is 'inner' for 100% inside, 0% outside"
    assert "of their neighbors are in the group" in told["edges"]["text"]
    errors = call.session._shown[found["id"]].result.reconstruction_errors
    assert told["worst"][0] == max(inner, key=lambda i: errors[i])
    for wrong in ([], [300], [-1], ["a"], 5, None):
        with pytest.raises(HNEError):
            call("contrast", id=found["id"], samples=wrong)
    assert call("contrast", id=found["id"], samples=list(range(300)))["columns"] == []


def test_differences_are_counted_as_by_hand():
    X = np.array([[1.0, 5, 0], [2, 5, np.nan], [3, 5, 1], [4, 5, 0]])
    labels = {"kind": np.array(["a", "a", "b", None], dtype=object), "name": np.array(list("wxyz"))}
    found = {one.name: one for one in differences(X, ["up", "same", "gap"], labels, np.arange(4) < 2)}
    assert found["up"].effect == 1
    assert (found["up"].inside, found["up"].outside) == (1.5, 3.5)
    # Pairs of a known value inside and one outside: (0, 1) is smaller, (0, 0) ties.
    assert found["gap"].effect == 0.5
    assert found["kind"].effect == 1
    assert found["gap"].text == "gap is lower: median 0 inside, 0.5 outside"
    tied = differences(np.array([[0.0], [0], [0], [0], [0], [1]]), ["t"], {}, np.arange(6) >= 3)[0]
    assert tied.text == "t is higher: mean rank 4 inside, 3 outside"
    assert "same" not in found
    assert "name" not in found


def test_of_thousands_of_columns_those_that_differ_are_found():
    generator = np.random.default_rng(0)
    X = generator.normal(size=(80, 1000))
    inside = np.arange(80) < 20
    X[inside, 777] += 5
    names = [f"g{i}" for i in range(1000)]
    assert differences(X, names, {}, inside)[0].name == "g777"
    sparse = np.where(generator.random(X.shape) < 0.9, 0, np.abs(X))
    sparse[inside, 123] += 4
    assert differences(csr_array(sparse), names, {}, inside)[0].name == "g123"


def test_the_map_of_settings_has_every_cell(call):
    told = call("tune", request=call("open")["start"])
    cells = {(trial["n_neighbors"], trial["reg"]) for trial in told["trials"]}
    assert cells == {(k, reg) for k in sessions.MAP_NEIGHBORS for reg in sessions.MAP_REGS}
    assert sum(trial["isBest"] for trial in told["trials"]) == 1
    best = next(trial for trial in told["trials"] if trial["isBest"])
    assert best["outcome"] == "measured"
    assert best["level"] is not None
    assert best["text"] in told["sentences"][0]


def test_files_open_again(call, tmp_path):
    found = call.embed(parameters={"n_neighbors": 8})
    result = call.session._shown[found["id"]].result

    def file(wanted, name):
        told = call("export", id=found["id"], format=wanted)
        (tmp_path / name).write_bytes(call.buffers[0])
        return told, tmp_path / name

    told, path = file("csv", "map.csv")
    assert told["name"] == "roll-map.csv"
    frame = pd.read_csv(path, converters={"hne1": float, "hne2": float})
    assert list(frame.columns) == ["id", "half", "hne1", "hne2"]
    assert np.array_equal(frame[["hne1", "hne2"]].to_numpy(), result.Y)
    _, path = file("parquet", "map.parquet")
    frame = pd.read_parquet(path)
    assert np.array_equal(frame[["hne1", "hne2"]].to_numpy(), result.Y)
    listed = [row[row >= 0] for row in result.graph.indices]
    assert all(np.array_equal(row["ids"], near) for row, near in zip(frame["neighbors"], listed, strict=True))
    assert all((np.diff(row["distances"]) >= 0).all() for row in frame["neighbors"])
    _, path = file("model", "roll.hne")
    model = HNE.load(path)
    assert np.array_equal(model.embedding_, result.Y)
    assert np.allclose(model.transform(make_swiss_roll(300, random_state=0).X), result.Y)
    _, path = file("report", "roll.html")
    page = Page(path.read_text(encoding="utf-8"))
    assert page.is_balanced
    assert "Can be believed" in page.text


def test_an_embedding_that_is_kept_no_more_is_to_be_asked_for_again(monkeypatch):
    monkeypatch.setattr(sessions, "MOST_SHOWN", 2)
    call = Caller(rolled(120))
    first = call.embed(parameters={"n_neighbors": 9})
    for k in (5, 6, 7):
        call.embed(parameters={"n_neighbors": k})
    assert first["id"] not in call.session._shown
    for kind in ("contrast", "export"):
        with pytest.raises(InputError, match="id must be") as caught:
            call(kind, id=first["id"], samples=[1], format="csv")
        assert caught.value.parameter == "id"


def test_the_python_lines_make_the_same_picture(call):
    X = make_swiss_roll(300, random_state=0).X
    for changes in (
        {},
        {"parameters": {"n_neighbors": 7, "reg": 0.01, "variant": "rhne", "metric": "cosine"}},
        {"scale": "robust", "columns": ["x2", "x3"]},
        {"cut": [[0, 1]], "keep": [[3, 4]], "parameters": {"n_components": 1}},
    ):
        found = call.embed(**changes)
        names = {"X": X}
        exec(found["python"], names)
        assert np.array_equal(names["Y"], call.session._shown[found["id"]].result.Y), found["python"]


def test_a_call_that_waits_for_another_fit_can_be_cancelled(call):
    cancelled, outcome = Event(), []

    def wait():
        try:
            call.session.call("embed", {"request": {}, "after": None}, lambda one: None, cancelled)
        except Cancelled:
            outcome.append("cancelled")

    with call.session._alone(Event()):
        waiting = Thread(target=wait)
        waiting.start()
        cancelled.set()
        waiting.join(timeout=30)
    assert outcome == ["cancelled"]


@pytest.fixture
def many(monkeypatch):
    """Samples that are many to the explorer."""
    monkeypatch.setattr(sources, "MAX_SAMPLES", 500)
    monkeypatch.setattr(sources, "PATCH_SAMPLES", 200)
    return Caller(rolled(600, n_neighbors=8))


def test_many_samples_are_shown_by_a_patch_and_all_of_them_on_request(many):
    told = many("open")
    assert (told["n"], told["nAll"], told["isPatch"]) == (200, 600, True)
    rows = many.array(told["rows"]).astype(int)
    assert told["ids"] == [f"s{row - 1}" for row in rows]
    roll = make_swiss_roll(600, random_state=0)
    patch = many.embed()
    assert np.allclose(many.coordinates(patch), embed(roll.X[rows - 1], n_neighbors=8).Y, rtol=1e-5)
    edge = [0, int(many.session._shown[patch["id"]].result.graph.indices[0, 0])]
    cut = many.embed(cut=[edge])
    # Lines are about all samples, and so are their edges.
    assert f"cut_edges=(({rows[0] - 1}, {rows[edge[1]] - 1}),)" in cut["python"]
    whole = many("open", whole=True)
    assert (whole["n"], whole["isPatch"], whole["start"]["whole"]) == (600, False, True)
    found = many("embed", request=whole["start"], after=patch["id"])
    assert found["n"] == 600
    assert np.allclose(many.coordinates(found), embed(roll.X, n_neighbors=8).Y, rtol=1e-5)


def test_edges_given_at_the_start_are_those_of_the_whole_table(monkeypatch):
    monkeypatch.setattr(sources, "MAX_SAMPLES", 500)
    monkeypatch.setattr(sources, "PATCH_SAMPLES", 200)
    probe = Caller(rolled(600, n_neighbors=8))
    probe("open")
    inside = probe.session.source.view(whole=False).positions
    outside = np.setdiff1d(np.arange(600), inside)
    edges = [tuple(map(int, inside[[3, 7]])), (int(inside[0]), int(outside[0]))]
    call = Caller(rolled(600, n_neighbors=8, cut_edges=edges))
    told = call("open")
    assert told["start"]["cut"] == [[3, 7]]
    assert told["notes"] == ["1 of the edges that were given are outside of the patch that is drawn."]
    assert f"cut_edges=({edges[0]},)" in call("embed", request={}, after=None)["python"]
    whole = call("open", whole=True)
    assert whole["start"]["cut"] == [list(edge) for edge in edges]


def test_columns_chosen_later_have_the_scales_of_columns_chosen_when_read(tmp_path):
    X = np.random.default_rng(0).normal(size=(400, 5)) * [1, 10, 100, 3, 7]
    pd.DataFrame(X, columns=list("abcde")).to_csv(tmp_path / "t.csv", index=False)
    whole = read_table(tmp_path / "t.csv")
    read = prepare_table(read_table(tmp_path / "t.csv", ReadOptions(columns=("a", "c", "d"))), scale="standard").X
    call = Caller(Session(Source(whole, "t.csv", Request.start({"n_neighbors": 8}))))
    found = call.embed(columns=["a", "c", "d"], scale="standard")
    assert np.array_equal(call.session._shown[found["id"]].result.Y, embed(read, n_neighbors=8).Y)


def test_samples_of_many_choices_of_columns_are_not_all_kept(monkeypatch):
    monkeypatch.setattr(sessions, "MOST_VALUES", 2_000)
    call = Caller(rolled(300))
    for columns in (["x1"], ["x2"], ["x1", "x2"], ["x2", "x3"], ["x1", "x3"]):
        call.embed(columns=columns, parameters={"n_components": 1})
    assert len(call.session._shown) == 3
    for k in (5, 6, 7, 8):
        call.embed(columns=["x1", "x3"], parameters={"n_neighbors": k})
    assert len(call.session._shown) >= 4


def test_rows_that_the_command_would_keep_are_said(tmp_path):
    frame = pd.DataFrame(make_swiss_roll(60, random_state=0).X, columns=["a", "b", "c"])
    frame.loc[[3, 7], "b"] = np.nan
    frame.to_csv(tmp_path / "gaps.csv", index=False)
    ready = prepare_table(read_table(tmp_path / "gaps.csv"), "drop")
    call = Caller(Session(Source(ready.table, "gaps.csv", Request.start({}), missing="drop")))
    assert not any("Rows with gaps" in one for one in call.embed()["warnings"])
    assert any("Rows with gaps" in one for one in call.embed(columns=["a", "c"])["warnings"])


def test_distances_have_no_columns_to_choose_or_scale():
    X = make_swiss_roll(120, random_state=0).X
    D = np.linalg.norm(X[:, None] - X[None], axis=2)
    call = Caller(Session(Source(table_of(D), "D.npy", Request.start({"metric": "precomputed"}))))
    told = call("open")
    assert told["canScale"] is False
    assert told["columns"] == []
    assert told["choices"]["metric"] == [["precomputed", ""]]
    found = call("embed", request=told["start"], after=None)
    assert np.allclose(call.coordinates(found), embed(D, metric="precomputed").Y, rtol=1e-5)
    assert call("contrast", id=found["id"], samples=[1, 2, 3])["columns"] == []


def test_sparse_samples_and_images_are_explored_too():
    generator = np.random.default_rng(0)
    X = csr_array(np.where(generator.random((90, 12)) < 0.5, 0, generator.random((90, 12))))
    call = Caller(Session(Source(table_of(X), "X", Request.start({}))))
    assert call.embed(columns=["x1", "x2", "x3", "x4"])["n"] == 90
    images = generator.random((60, 4, 3))
    call = Caller(Session(Source(table_of(images.reshape(60, -1)), "X", Request.start({}), images=images)))
    told = call("open")
    assert (told["sheet"]["width"], told["sheet"]["height"]) == (3, 4)
    assert call.buffers[told["sheet"]["buffer"]].startswith(b"\x89PNG")


def test_a_group_of_images_is_told_by_mean_pictures():
    images = np.zeros((60, 4, 3)) + np.linspace(0, 1, 60)[:, None, None]
    images[:, 0, 0] = np.random.default_rng(0).random(60)
    table = replace(table_of(images.reshape(60, -1)), image_shape=(4, 3))
    call = Caller(Session(Source(table, "X", Request.start({"n_neighbors": 6}))))
    found = call.embed()
    told = call("contrast", id=found["id"], samples=list(range(10)))
    assert told["columns"] == []
    inside = call.array(told["images"]["inside"]).reshape(4, 3, 4)
    assert (told["images"]["width"], told["images"]["height"]) == (3, 4)
    assert inside[1, 1].tolist() == [*[round(255 * images[:10, 1, 1].mean())] * 3, 255]
    assert call.array(told["images"]["outside"]).reshape(4, 3, 4)[1, 1, 0] == round(255 * images[10:, 1, 1].mean())
    # Which pixels take part cannot be said to a reader of images.
    assert call("open")["features"] == []
    assert call("open")["canScale"] is False
    with pytest.raises(HNEError):
        call.embed(columns=["x1"])


def test_a_data_frame_has_labels_of_its_own():
    frame = pd.DataFrame({"a": [1, 2, 3.0], "b": [True, False, True], "kind": ["x", "y", "x"]})
    table = table_of(frame, color="kind")
    assert table.feature_names == ("a", "b")
    assert table.labels["kind"].tolist() == ["x", "y", "x"]
    for wrong, parameter in [
        (lambda: table_of(frame[["kind"]]), "X"),
        (lambda: table_of([1, 2, 3]), "X"),
        (lambda: table_of(np.empty((0, 2))), "X"),
        (lambda: table_of(frame, color="nobody"), "color"),
        (lambda: table_of(pd.DataFrame([[1, 2]], columns=["a", "a"])), "X"),
    ]:
        with pytest.raises(HNEError) as caught:
            wrong()
        assert caught.value.parameter == parameter


def test_a_file_with_gaps_is_filled_or_shortened_as_it_was_read(tmp_path):
    X = make_swiss_roll(60, random_state=0).X
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    frame.loc[[3, 7], "b"] = np.nan
    frame.to_csv(tmp_path / "gaps.csv", index=False)
    table = read_table(tmp_path / "gaps.csv")
    call = Caller(Session(Source(table, "gaps.csv", Request.start({}), missing="impute")))
    filled = frame.fillna(frame.median()).to_numpy()
    assert np.allclose(call.coordinates(call.embed()), embed(filled).Y, rtol=1e-5)
