"""Progress: who listens hears every stage, standard error sees what `verbose` asks for, results stay the same."""

import io
import logging
import re
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy.sparse import csr_array

from hne import HNE, PUBLISHED, embed
from hne._runtime import progress as _progress
from hne._runtime.progress import Lines, listening, run_stage, step, track
from hne.exceptions import InputError, InputTypeError
from hne.settings import STAGES
from hne.viz.plots.sources import edges


class Notebook:
    """Listener that writes down what it is told, times left out."""

    def __init__(self):
        self.notes = []

    def begin(self, stage):
        self.notes.append(("begin", stage))

    def step(self, task, done, total):
        self.notes.append((task, done, total))

    def end(self, stage, result, seconds):
        self.notes.append(("end", stage, result))


class Terminal(io.StringIO):
    """Stream that calls itself a terminal."""

    def isatty(self):
        return True

    def screen(self):
        """What is to be seen in the end: after a carriage return, text is written over."""
        return [written_over(line) for line in self.getvalue().split("\n")]


def written_over(line):
    seen = ""
    for text in line.split("\r"):
        seen = text + seen[len(text) :]
    return seen.rstrip()


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands still until a test turns it."""
    now = [100.0]
    monkeypatch.setattr(_progress.time, "perf_counter", lambda: now[0])
    return now


def test_a_listener_hears_every_stage_and_what_it_made(cloud):
    notebook = Notebook()
    with listening(notebook):
        result = embed(cloud, n_neighbors=5, reg=0.1, coordinates="chart")
    n_edges = len(edges(result.weights.W))
    assert [note[1] for note in notebook.notes if note[0] == "begin"] == list(STAGES)
    assert [note[1:] for note in notebook.notes if note[0] == "end"] == [
        ("neighbors", "60 samples, 5 each, tree search"),
        ("short circuits", f"0 of {n_edges} edges cut"),
        ("pieces", "connected"),
        ("weights", f"300 inner, {result.weights.J.nnz} joint"),
        ("eigenpairs", "10 of 60 x 60, dense solver"),
        ("chart", f"along the graph from 10 eigenvectors, stress {result.chart.stress:.2g}"),
        ("trust", f"{result.trust.level}, score {result.trust.score.score:.4f}"),
    ]


def test_a_layout_has_its_own_stage_instead_of_eigenpairs_and_a_chart(cloud):
    notebook = Notebook()
    with listening(notebook):
        result = embed(cloud, n_neighbors=5, coordinates="layout")
    stages = ["neighbors", "short circuits", "pieces", "weights", "layout", "trust"]
    assert [note[1] for note in notebook.notes if note[0] == "begin"] == stages
    told = {note[1]: note[2] for note in notebook.notes if note[0] == "end"}
    assert told["short circuits"] == "not searched for"
    assert told["layout"] == f"KL divergence {result.core.kl_divergence:.3f}"
    steps = [note[1:] for note in notebook.notes if note[0] == "descent"]
    assert steps == [(done, 200) for done in range(201)]


def test_a_listener_hears_the_stages_of_the_published_method(cloud):
    notebook = Notebook()
    with listening(notebook):
        result = embed(cloud, **PUBLISHED)
    n_edges = len(edges(result.weights.W))
    assert [note[1:] for note in notebook.notes if note[0] == "end"] == [
        ("neighbors", "60 samples, 6 each, tree search"),
        ("short circuits", f"{len(result.short_circuits)} of {n_edges} edges suspected, and kept"),
        ("pieces", "connected"),
        ("weights", f"360 inner, {result.weights.J.nnz} joint"),
        ("eigenpairs", "2 of 60 x 60, dense solver"),
        ("trust", f"{result.trust.level}, score {result.trust.score.score:.4f}"),
    ]


def test_tasks_are_counted_from_nothing_to_all(roll):
    notebook = Notebook()
    with listening(notebook):
        embed(roll.X, eigen_solver="direct", n_jobs=1)
    told = [note for note in notebook.notes if note[0] not in {"begin", "end"}]
    assert told[:4] == [("search", 0, 1), ("search", 1, 1), ("blocks", 0, 1), ("blocks", 1, 1)]
    solves = [note[1:] for note in told if note[0] == "block solves"]
    assert [done for done, _ in solves] == [*range(len(solves))]
    # How many there will be is told once it can be foreseen.
    assert solves[0][1] is None
    assert all(total is None or total > done for done, total in solves)


def test_items_are_passed_on_and_told_once_dealt_with():
    notebook = Notebook()
    with listening(notebook):
        assert [(item, len(notebook.notes)) for item in track("letters", "ab", 2)] == [("a", 1), ("b", 2)]
    assert notebook.notes == [("letters", 0, 2), ("letters", 1, 2), ("letters", 2, 2)]


def test_listeners_join_those_who_listen_already_and_leave_when_they_are_done():
    first, second = Notebook(), Notebook()
    with listening(first):
        with listening(second):
            step("both", 1)
        step("one", 2)
    step("nobody", 3)
    assert first.notes == [("both", 1, None), ("one", 2, None)]
    assert second.notes == [("both", 1, None)]


def test_fits_at_the_same_time_do_not_hear_each_other(cloud, roll):
    def neighbors_told(X):
        notebook = Notebook()
        with listening(notebook):
            embed(X, n_neighbors=6)
        return [note[2] for note in notebook.notes if note[:2] == ("end", "neighbors")]

    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(neighbors_told, [cloud, roll.X] * 4))
    assert together == [[f"{n} samples, 6 each, tree search"] for n in (60, 400)] * 4


def test_a_stage_is_logged_whoever_listens(caplog):
    with caplog.at_level(logging.INFO, logger="hne"):
        assert run_stage("counting", sorted, [2, 1]) == [1, 2]
        run_stage("filling", np.zeros, (3, 2))
        run_stage("emptying", csr_array, (4, 2))
    told = (r"counting: 0\.\d{3} s, \[1, 2\]", "filling: .* s, 3 samples", "emptying: .* s, 4 samples")
    for line, pattern in zip(caplog.messages, told, strict=True):
        assert re.fullmatch(pattern, line)


@pytest.mark.parametrize("solver", ["dense", "direct"])
def test_verbose_changes_nothing_but_what_is_shown(roll, capfd, solver):
    silent = HNE(eigen_solver=solver).fit(roll.X)
    assert capfd.readouterr() == ("", "")
    talking = HNE(eigen_solver=solver, verbose=2).fit(roll.X)
    np.testing.assert_array_equal(talking.embedding_, silent.embedding_)
    out, err = capfd.readouterr()
    assert not out
    assert err


def test_verbose_shows_a_line_for_each_stage(cloud, capfd):
    new = HNE(5, coordinates="chart", verbose=1).fit(cloud).transform(cloud[:7] + 0.1)
    lines = capfd.readouterr().err.splitlines()
    for line, name in zip(lines, (*STAGES, "placing"), strict=True):
        assert line.startswith(f"hne: {name:<11} ")
    assert re.fullmatch(r"hne: neighbors   60 samples, 5 each, tree search +\d+\.\d s", lines[0])
    assert re.fullmatch(r"hne: short circuits 0 of \d+ edges cut +\d+\.\d s", lines[1])
    assert re.fullmatch(rf"hne: placing     {len(new)} samples +\d+\.\d s", lines[-1])
    assert len({len(line) for line in lines}) == 1


def test_more_verbose_shows_the_tasks_of_a_stage_before_its_line(cloud, capfd):
    result = embed(cloud, n_neighbors=5, coordinates="chart", verbose=2)
    told = [re.sub(r" +\d+\.\d s$", "", line) for line in capfd.readouterr().err.splitlines()]
    assert told[:3] == [
        "hne: neighbors   search 1 of 1",
        "hne: neighbors   60 samples, 5 each, tree search",
        f"hne: short circuits 0 of {len(edges(result.weights.W))} edges cut",
    ]


def test_a_terminal_shows_a_counter_with_the_time_left_and_writes_over_it(clock):
    terminal = Terminal()
    lines = Lines(terminal)
    lines.begin("weights")
    assert terminal.screen() == ["hne: weights     ..."]
    lines.step("blocks", 0, 8)
    assert terminal.screen() == [f"hne: weights     [{'-' * 20}] blocks 0 of 8, 0 %"]
    clock[0] += 3.0
    lines.step("blocks", 2, 8)
    assert terminal.screen() == [f"hne: weights     [#####{'-' * 15}] blocks 2 of 8, 25 %, 9.0 s left"]
    clock[0] += 0.1  # too soon for another look
    lines.step("blocks", 3, 8)
    assert terminal.screen() == [f"hne: weights     [#####{'-' * 15}] blocks 2 of 8, 25 %, 9.0 s left"]
    lines.end("weights", "done", 75.0)
    assert terminal.screen() == [f"hne: weights     {'done':<52} 1 min 15 s", ""]


def test_a_counter_wider_than_the_terminal_is_cut_so_that_it_can_be_written_over(clock, monkeypatch):
    monkeypatch.setenv("COLUMNS", "30")
    terminal = Terminal()
    lines = Lines(terminal)
    lines.begin("weights")
    lines.step("blocks", 0, 8)
    assert terminal.screen() == ["hne: weights     [-----------"]


def test_elsewhere_counters_are_lines_ten_seconds_apart(clock):
    stream = io.StringIO()
    lines = Lines(stream)
    lines.begin("eigenpairs")
    for done in range(25):
        lines.step("block solves", done, None)
        clock[0] += 1.0
    assert stream.getvalue().splitlines() == ["hne: eigenpairs  block solves 10", "hne: eigenpairs  block solves 20"]


def test_a_fit_that_fails_leaves_no_counter_on_the_terminal(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(_progress.sys, "stderr", terminal)
    crowd = np.random.default_rng(0).normal(size=(30, 3))
    monkeypatch.setattr("hne.core.pipeline.layer_weights", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError, match="division"):
        embed(crowd, verbose=1)
    assert terminal.screen()[-1] == ""
    assert [line[5:17].rstrip() for line in terminal.screen()[:-1]] == ["neighbors", "short circui", "pieces"]


def test_a_process_without_standard_error_fits_all_the_same(cloud, monkeypatch):
    monkeypatch.setattr(_progress.sys, "stderr", None)
    assert embed(cloud, verbose=1).Y.shape == (60, 2)


@pytest.mark.parametrize(("verbose", "shown"), [(True, True), (False, False), (np.int64(1), True), (0, False)])
def test_verbose_may_be_a_flag(cloud, capfd, verbose, shown):
    embed(cloud, verbose=verbose)
    assert bool(capfd.readouterr().err) is shown


def test_verbose_must_count():
    with pytest.raises(InputError, match=r"verbose must be at least 0, got -1"):
        embed(np.eye(9), verbose=-1)
    with pytest.raises(InputTypeError, match=r"verbose must be an integer, got .yes."):
        embed(np.eye(9), verbose="yes")


def test_a_task_within_a_task_does_not_take_over_its_count(capfd):
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(60, 3)) + at for at in (0, 100)])
    HNE(coordinates="chart", eigen_solver="direct", verbose=2).fit(X)
    told = capfd.readouterr().err
    assert "pieces 1 of 2" in told
    assert "pieces 2 of 2" in told
    assert not re.search(r"block solves \d+ of 2\b", told)
