"""Stages that are kept between settings: the same bits as a fit of its own, nothing made twice, and left when asked."""

from threading import Event

import numpy as np
import pytest

from hne import embed
from hne._runtime.progress import Listener, listening
from hne.core.parameters import check_parameters
from hne.core.pipeline import Backend, run_stages
from hne.core.samples.check import check_samples, output_kind
from hne.explorer import stages as shared
from hne.explorer.stages import Cancelled, Cancelling, SharedStages


def run(X, backend, **parameters):
    settings, auto, unset = check_parameters(parameters)
    return run_stages(check_samples(X, settings), settings, auto, unset, backend, output_kind(X))


WALK = [
    {},
    {"n_neighbors": 7},
    {"n_neighbors": 7, "reg": 0.01},
    {"n_neighbors": 7, "reg": 0.01, "variant": "rhne"},
    {"n_neighbors": 9, "reg": 0.01, "variant": "bhne"},
    {"n_neighbors": 7, "coordinates": "eigenvectors"},
    {"n_neighbors": 7, "coordinates": "layout"},
    {"coordinates": "layout"},
    {"n_neighbors": 30, "short_circuits": "keep"},
    {"n_components": 1},
    {"n_neighbors": 7, "metric": "manhattan"},
    {"n_neighbors": 7, "cut_edges": [(0, 1), (5, 9)]},
    {"n_neighbors": 7},
]


def test_whatever_was_tried_before_the_bits_are_those_of_a_fit_of_its_own(roll):
    backend = SharedStages()
    for parameters in WALK:
        result, alone = run(roll.X, backend, **parameters), embed(roll.X, **parameters)
        assert np.array_equal(result.Y, alone.Y), parameters
        assert np.array_equal(result.graph.indices, alone.graph.indices), parameters
        assert result.trust.verdict == alone.trust.verdict


def steps_taken(monkeypatch):
    taken = []
    for name in ("graph", "short_circuits", "pieces", "weights", "eigenpairs", "layout", "geometry", "flat_share"):
        whole = getattr(Backend, name)

        def step(self, *arguments, whole=whole, name=name):
            taken.append(name)
            return whole(self, *arguments)

        monkeypatch.setattr(Backend, name, step)
    return taken


def test_another_reg_finds_all_that_does_not_depend_on_it(roll, monkeypatch):
    taken, backend = steps_taken(monkeypatch), SharedStages()
    run(roll.X, backend, n_neighbors=8, reg=1e-3)
    assert sorted(taken) == sorted(
        ["flat_share", "graph", "short_circuits", "pieces", "weights", "eigenpairs", "geometry"]
    )
    taken.clear()
    run(roll.X, backend, n_neighbors=8, reg=1e-4)
    assert taken == ["weights", "eigenpairs"]
    taken.clear()
    run(roll.X, backend, n_neighbors=9, reg=1e-4)
    assert "graph" not in taken
    taken.clear()
    run(roll.X, backend, n_neighbors=9, reg=1e-4, cut_edges=[(0, 1)])
    assert "graph" not in taken
    assert "short_circuits" not in taken
    taken.clear()
    run(roll.X, backend, n_neighbors=8, reg=1e-3)
    assert taken == []


def test_a_layout_is_computed_again_only_where_its_weights_change(roll, monkeypatch):
    taken, backend = steps_taken(monkeypatch), SharedStages()
    first = run(roll.X, backend, coordinates="layout")
    assert "layout" in taken
    assert "eigenpairs" not in taken
    taken.clear()
    assert np.array_equal(run(roll.X, backend, coordinates="layout").Y, first.Y)
    assert taken == []
    run(roll.X, backend, coordinates="layout", reg=0.01)
    assert taken == ["weights", "layout"]


def test_only_the_last_few_results_of_a_stage_are_kept(roll):
    backend = SharedStages()
    for k in range(5, 5 + shared.KEPT + 3):
        run(roll.X, backend, n_neighbors=k)
    assert {len(kept) for kept in backend._kept.values()} <= set(range(1, shared.KEPT + 1))


def test_work_is_left_at_its_next_step(roll):
    event = Event()

    class Stopping(Listener):
        def begin(self, stage):
            if stage == "weights":
                event.set()

    with pytest.raises(Cancelled), listening(Stopping(), Cancelling(event)):
        run(roll.X, SharedStages())
    # What was made before it is there, and a fit goes on from it.
    assert np.array_equal(run(roll.X, SharedStages()).Y, embed(roll.X).Y)
