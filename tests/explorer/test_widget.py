"""The explorer in notebooks, from the side of Python: settings, selection, and calls of its page over a comm."""

import json
import subprocess
import sys
import threading

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import coo_array, csr_array
from sklearn.neighbors import kneighbors_graph

import hne
from hne import HNE, embed
from hne.exceptions import HNEError, MissingExtraError, PreparedModelWarning
from hne.explorer import notebook
from hne.explorer.stages import Cancelled

pytest.importorskip("anywidget", reason="needs anywidget")


@pytest.fixture
def widget(roll):
    made = hne.explore(roll.X, n_neighbors=8, labels={"turn": roll.chart[:, 0]}, color="turn")
    made.sent, made.has_sent = [], threading.Condition()

    def send(content, buffers=()):
        with made.has_sent:
            made.sent.append((content, buffers))
            made.has_sent.notify_all()

    made.send = send
    return made


def answer(widget, number):
    """The last message of a call, waited for."""
    ends = {"done", "error", "cancelled"}

    def last():
        return [one for one in widget.sent if one[0]["call"] == number and one[0]["type"] in ends]

    with widget.has_sent:
        assert widget.has_sent.wait_for(last, timeout=60)
    return last()[0]


def test_settings_are_read_and_assigned_some_at_a_time(widget, roll):
    assert widget.settings["parameters"]["n_neighbors"] == 8
    assert widget.parameters == {"n_neighbors": 8}
    assert repr(widget) == "ExplorerWidget(400 samples of 3 features, {'n_neighbors': 8})"
    assert np.array_equal(widget.embedding.Y, embed(roll.X, n_neighbors=8).Y)
    widget.settings = {"parameters": {"variant": "rhne"}, "scale": "standard", "columns": ["x1", "x3"]}
    assert widget.parameters == {"n_neighbors": 8, "variant": "rhne"}
    assert widget.settings["parameters"]["n_components"] == 2
    assert widget.embedding.core.X.shape[1] == 2
    with pytest.warns(PreparedModelWarning, match="preparation_"):
        model = widget.model
    assert isinstance(model, HNE)
    assert np.array_equal(model.embedding_, widget.embedding.Y)
    assert np.allclose(model.transform(model.preparation_.transform(roll.X[:, [0, 2]])), widget.embedding.Y)
    widget.settings = {"cut": [[0, 1]]}
    assert widget.parameters["cut_edges"] == ((0, 1),)


@pytest.mark.parametrize(
    "wrong",
    [
        {"scale": "loud"},
        {"columns": ["nobody"]},
        {"parameters": {"verbose": 1}},
        {"cut": [[1]]},
        {"n_neighbors": 9},
        {"nonsense": 1},
        {"parameters": {"reg": -1}},
        {"parameters": {"n_neighbors": 2.5}},
    ],
)
def test_settings_that_cannot_be_are_refused_and_nothing_changes(widget, wrong):
    before = dict(widget.settings)
    with pytest.raises(HNEError):
        widget.settings = wrong
    assert widget.settings == before


def test_a_selection_is_of_samples_that_are_there(widget):
    widget.selection = [3, 5]
    with pytest.raises(HNEError, match="selection must be samples from 0 to 399"):
        widget.selection = [400]
    assert widget.selection == [3, 5]


def test_calls_of_the_page_are_answered_in_threads_with_arrays_beside(widget, roll):
    widget._hear(None, {"call": 1, "kind": "open", "payload": {}}, [])
    told, _ = answer(widget, 1)
    assert told["type"] == "done"
    assert told["n"] == 400
    json.dumps(told)
    widget._hear(None, {"call": 2, "kind": "embed", "payload": {"request": told["start"], "after": None}}, [])
    found, buffers = answer(widget, 2)
    first = next(column for column in found["columns"] if column["key"] == "coordinate-1")
    Y = embed(roll.X, n_neighbors=8).Y
    assert np.allclose(np.frombuffer(buffers[first["buffer"]], dtype="<f4"), Y[:, 0], rtol=1e-5)
    assert any(one["type"] == "progress" for one, _ in widget.sent)
    assert found["command"] == ""
    widget._hear(None, {"call": 3, "kind": "embed", "payload": {"request": {"scale": "loud"}}}, [])
    wrong, _ = answer(widget, 3)
    assert (wrong["type"], wrong["parameter"]) == ("error", "scale")
    widget._hear(None, {"call": 4, "kind": "nothing", "payload": {}}, [])
    assert answer(widget, 4)[0]["type"] == "error"
    for nonsense in ("text", None, {}, {"call": "x"}, {"call": 9, "type": "cancel"}):
        widget._hear(None, nonsense, [])
    assert widget._under_way == {}


def test_a_call_that_the_page_cancels_ends(widget, monkeypatch):
    begun = threading.Event()

    def slow(payload, cancelled):
        begun.set()
        assert cancelled.wait(60)
        raise Cancelled

    monkeypatch.setitem(widget._session.calls, "embed", slow)
    widget._hear(None, {"call": 7, "kind": "embed", "payload": {}}, [])
    assert begun.wait(60)
    widget._hear(None, {"call": 7, "type": "cancel"}, [])
    assert answer(widget, 7)[0]["type"] == "cancelled"


@pytest.mark.parametrize(
    ("facts", "parameter"),
    [
        ({"n_neighbors": "auto"}, "n_neighbors"),
        ({"n_components": "auto"}, "n_components"),
        ({"n_neighbors": 900}, None),
        ({"scale": "loud"}, "scale"),
        ({"scale": ["none"]}, "scale"),
        ({"images": np.zeros((3, 2, 2))}, "images"),
        ({"images": np.zeros((400, 4))}, "images"),
        ({"color": "nobody"}, "color"),
        ({"color": [1]}, "columns['color']"),
        ({"color": np.zeros((400, 3))}, "columns['color']"),
        ({"labels": {"l": [1]}}, "columns['l']"),
        ({"labels": [1, 2]}, "columns"),
        ({"ids": ["a"]}, "ids"),
        ({"nonsense": 1}, "nonsense"),
        ({"checkpoint": "folder"}, "checkpoint"),
        ({"cut_edges": [(1.7, 2)]}, "cut_edges"),
        ({"cut_edges": 5}, "cut_edges"),
        ({"cut_edges": [(1, 900)]}, "cut_edges"),
    ],
)
def test_what_cannot_be_explored_is_refused_at_the_door(roll, facts, parameter):
    with pytest.raises(HNEError) as caught:
        hne.explore(roll.X, **facts)
    assert parameter in {None, caught.value.parameter}


@pytest.mark.parametrize(
    "X",
    [
        np.full((30, 3), 1j),
        np.ma.masked_equal(np.arange(90).reshape(30, 3), 4),
        np.full((30, 3), "a"),
        [1, 2, 3],
        np.full((30, 3), np.nan),
        np.empty((0, 3)),
    ],
)
def test_what_a_fit_refuses_is_refused(X):
    with pytest.raises(HNEError):
        hne.explore(X)


@pytest.mark.parametrize("kind", [list, np.float32, csr_array, coo_array, pd.DataFrame, pl.DataFrame, "object"])
def test_whatever_a_fit_takes_can_be_explored_and_the_lines_run(roll, kind):
    X = roll.X.astype(object) if kind == "object" else roll.X.tolist() if kind is list else kind(roll.X)
    widget = hne.explore(X, n_neighbors=8, labels={"mixed": [1, "a", None, 2.5] * 100})
    names = {"X": X}
    found = widget._session.call("embed", {"request": {}, "after": None}, lambda one: None, threading.Event())
    widget._session.call("export", {"id": found.facts["id"], "format": "parquet"}, lambda one: None, threading.Event())
    exec(found.facts["python"], names)
    assert np.allclose(names["Y"], widget.embedding.Y, rtol=1e-4, atol=1e-4)


def test_a_frame_with_text_has_lines_that_choose_its_numbers(roll):
    frame = pd.DataFrame(roll.X, columns=["a", "b", "c"]).assign(kind=["x", "y"] * 200)
    widget = hne.explore(frame, color="kind")
    for settings in ({}, {"columns": ["a", "c"], "scale": "robust"}):
        widget.settings = settings
        payload = {"request": widget.settings, "after": None}
        found = widget._session.call("embed", payload, lambda one: None, threading.Event()).facts
        names = {"X": frame}
        exec(found["python"], names)
        assert np.array_equal(names["Y"], widget.embedding.Y)


def test_a_graph_of_neighbors_is_a_name_in_the_lines(roll):
    graph = kneighbors_graph(roll.X, 9, mode="distance")
    widget = hne.explore(roll.X, neighbors=graph, n_neighbors=8)
    assert {*widget.parameters} == {"n_neighbors", "neighbors"}
    found = widget._session.call("embed", {"request": {}, "after": None}, lambda one: None, threading.Event()).facts
    names = {"X": roll.X, "neighbors": graph}
    exec(found["python"], names)
    assert np.array_equal(names["Y"], widget.embedding.Y)


def test_without_anywidget_it_says_what_to_install(roll, monkeypatch):
    monkeypatch.setattr(notebook, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"pip install 'hne\[explore\]'"):
        hne.explore(roll.X)


def test_the_module_of_the_page_is_loaded_only_when_asked_for():
    code = "import hne, sys; hne.explore; print('anywidget' in sys.modules, 'starlette' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["False", "False"]
