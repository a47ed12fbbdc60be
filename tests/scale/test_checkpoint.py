"""Runs in a folder: the same bits as without one, taken up where they stopped; what is not theirs is refused."""

import os
import subprocess
import sys
import warnings
from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import load_digits
from sklearn.metrics import pairwise_distances

from hne import HNE, PUBLISHED, embed
from hne._runtime import files as _files
from hne.cli import main
from hne.core.parameters import check_parameters
from hne.datasets import make_swiss_roll
from hne.exceptions import CheckpointError, FallbackWarning, HNEWarning, InputError, InputTypeError
from hne.scale import backends as _bench
from hne.scale import tasks as _tasks
from hne.scale.folder import key_of
from hne.settings import EIGENPAIRS, LAYOUT, NEIGHBORS, PIECES, PLACES, STAGES, WEIGHTS, Settings, known_settings

CACHED = (NEIGHBORS, PIECES, WEIGHTS, EIGENPAIRS)

ROLL, SMALL = make_swiss_roll(700).X, make_swiss_roll(300).X


def two_pieces():
    return np.vstack([ROLL[:400], ROLL[400:] + 100.0])


def with_outlier():
    return np.vstack([ROLL[:500], [[500.0, 0.0, 0.0]]])


def curve():
    """Waves of random frequencies along a line, which get a chart of 3 neighbors."""
    waves = np.random.default_rng(0).normal(scale=50.0, size=30)
    return np.cos(np.outer(np.linspace(0, 1, 120), waves) + np.arange(30))


# Edges of the roll, each a sample and the nearest to it.
HAND = [(row, int(np.argsort(np.linalg.norm(ROLL - ROLL[row], axis=1))[1])) for row in range(20, 700, 40)]
CASES = {
    "roll": (ROLL, {}),
    "digits": (load_digits().data[:600], {"n_neighbors": 8, "coordinates": "chart"}),
    "layout": (load_digits().data[:700], {}),
    "layout of two pieces": (two_pieces(), {"coordinates": "layout"}),
    "layout of the largest": (two_pieces(), {"coordinates": "layout", "pieces": "largest"}),
    "curve": (curve(), {}),
    "two pieces": (two_pieces(), {}),
    "joined": (two_pieces(), {"pieces": "join"}),
    "largest": (two_pieces(), {"pieces": "largest"}),
    "outlier": (with_outlier(), {}),
    "duplicates": (np.vstack([ROLL, ROLL[:90], ROLL[:30]]), {}),
    "float32": (ROLL.astype(np.float32), {}),
    "cosine": (load_digits().data[:600], {"metric": "cosine"}),
    "manhattan": (ROLL, {"metric": "manhattan"}),
    "sparse": (csr_array(load_digits().data[:150]), {}),
    "distances": (pairwise_distances(ROLL[:300]), {"metric": "precomputed"}),
    "extreme": (ROLL * 1e-200, {}),
    "rhne": (ROLL, {"variant": "rhne", "include_self": False}),
    "published": (ROLL, dict(PUBLISHED)),
    "kept": (ROLL, {"short_circuits": "keep", "coordinates": "eigenvectors"}),
    "by hand": (ROLL, {"cut_edges": [(0, 9), (699, 3), *HAND], "keep_edges": [(5, 6)]}),
    "given": (ROLL, {"neighbors": (np.argsort(pairwise_distances(ROLL), axis=1)[:, 1:7], np.ones((700, 6)))}),
}


def run(X, checkpoint=None, **parameters):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HNEWarning)
        return embed(X, checkpoint=checkpoint, **parameters)


def brief(checkpoint=None, X=SMALL, **changed):
    """A run that is soon done: what is kept is the same for any settings."""
    return run(X, checkpoint, **PUBLISHED | {"assess": False} | changed)


def assert_same_weights(one, other):
    for name in ("indices", "distances", "method", "recall"):
        assert np.array_equal(getattr(one.core.graph, name), getattr(other.core.graph, name)), name
    for matrix in ("W", "J"):
        for part in ("data", "indices", "indptr"):
            ours, theirs = (getattr(getattr(each.core.weights, matrix), part) for each in (one, other))
            assert np.array_equal(ours, theirs), (matrix, part)
            assert ours.dtype == theirs.dtype


def assert_same_bits(one, other):
    assert_same_weights(one, other)
    assert np.array_equal(one.pieces.labels, other.pieces.labels)
    assert np.array_equal(one.Y, other.Y, equal_nan=True)
    assert np.array_equal([one.core.kl_divergence], [other.core.kl_divergence], equal_nan=True)
    assert np.array_equal([one.core.layout_unit], [other.core.layout_unit], equal_nan=True)
    assert one.Y.dtype == other.Y.dtype
    assert np.array_equal(one.short_circuits, other.short_circuits)
    assert [chart is None for chart in one.core.charts] == [chart is None for chart in other.core.charts]
    np.testing.assert_allclose(one.reconstruction_errors, other.reconstruction_errors, rtol=1e-9, atol=1e-12)


def slow_but(*fast):
    return [case if case in fast else pytest.param(case, marks=pytest.mark.slow) for case in CASES]


@pytest.mark.parametrize("case", slow_but("two pieces", "layout"))
def test_a_run_in_a_folder_has_the_bits_of_one_without(case, tmp_path):
    X, parameters = CASES[case]
    parameters = {"assess": False, **parameters}
    plain, kept = run(X, **parameters), run(X, tmp_path / "run", **parameters)
    assert_same_bits(plain, kept)
    again = run(X, tmp_path / "run", **parameters)
    assert_same_bits(plain, again)
    assert np.array_equal(kept.reconstruction_errors, again.reconstruction_errors, equal_nan=True)


def test_what_is_finished_is_not_done_again(tmp_path, monkeypatch):
    brief(tmp_path)
    monkeypatch.setattr(_tasks, "row_weights", lambda *_: pytest.fail("weights were computed"))
    monkeypatch.setattr(_bench.Backend, "eigenpairs", lambda *_: pytest.fail("eigenpairs were computed"))
    brief(tmp_path)
    # Another order of the same samples is the same run.
    brief(tmp_path, SMALL[::-1])


def test_a_finished_layout_is_not_computed_again(tmp_path, monkeypatch):
    plain = brief(coordinates="layout")
    assert_same_bits(plain, brief(tmp_path, coordinates="layout"))
    assert len(list(tmp_path.glob("layout-*"))) == 1
    assert not list(tmp_path.glob("eigenpairs-*"))
    monkeypatch.setattr(_bench.Backend, "layout", lambda *_: pytest.fail("a layout was computed"))
    assert_same_bits(plain, brief(tmp_path, coordinates="layout"))


def test_a_run_interrupted_in_the_layout_goes_on_from_its_weights(tmp_path, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(_bench.Backend, "layout", interrupted)
        with pytest.raises(KeyboardInterrupt):
            brief(tmp_path, coordinates="layout")
    assert not list(tmp_path.glob("layout-*"))
    plain = brief(coordinates="layout")
    monkeypatch.setattr(_tasks, "row_weights", lambda *_: pytest.fail("weights were computed"))
    assert_same_bits(plain, brief(tmp_path, coordinates="layout"))


def test_edges_that_are_cut_by_hand_belong_to_samples_and_not_to_rows(tmp_path):
    graph = brief().graph.indices
    cut, kept = [(5, graph[5, 0]), (9, graph[9, 1])], [(7, graph[7, 0])]
    plain, edges = brief(tmp_path), {"cut_edges": cut, "keep_edges": kept}
    by_hand = brief(tmp_path, **edges)
    assert_same_bits(by_hand, brief(**edges))
    assert by_hand.core.weights.W.nnz < plain.core.weights.W.nnz
    # In another order the same numbers are other edges, and other numbers the same.
    assert_same_bits(brief(tmp_path, SMALL[::-1], **edges), brief(X=SMALL[::-1], **edges))
    n_stages = len(list(tmp_path.iterdir()))
    last = len(SMALL) - 1
    turned = {name: last - np.array(pairs) for name, pairs in edges.items()}
    assert np.array_equal(brief(tmp_path, SMALL[::-1], **turned).Y, by_hand.Y[::-1])
    assert len(list(tmp_path.iterdir())) == n_stages
    assert len(list(tmp_path.glob("neighbors-*"))) == 1


def test_another_reg_finds_the_neighbors(tmp_path):
    brief(tmp_path)
    brief(tmp_path, reg=1e-3)
    names = sorted(path.name.partition("-")[0] for path in tmp_path.iterdir() if path.is_dir())
    assert names == ["eigenpairs", "eigenpairs", "neighbors", "weights", "weights"]


@pytest.mark.slow
def test_runs_with_other_cuts_coordinates_or_dimensions_share_a_folder_and_no_more_than_is_theirs(tmp_path):
    others = ({}, {"short_circuits": "keep"}, {"coordinates": "eigenvectors"}, {"coordinates": "layout"})
    plain = [run(ROLL, **changed) for changed in (*others, {"n_components": 3}, dict(PUBLISHED))]
    # Cuts, and the number of eigenvectors, differ, or else this would show nothing.
    assert len(plain[0].short_circuits) != len(plain[4].short_circuits)
    assert len(plain[0].eigenpairs.values) > len(plain[2].eigenpairs.values)
    for _ in range(2):
        for expected in plain:
            settings = expected.settings
            names = ("n_neighbors", "variant", "reg", "short_circuits", "coordinates", "n_components")
            assert_same_bits(expected, run(ROLL, tmp_path, **{name: getattr(settings, name) for name in names}))


@pytest.mark.parametrize(
    "other",
    [lambda X: X / 2, lambda X: np.column_stack([X, np.ones(len(X))]), csr_array],
    ids=["in another unit", "with a constant column", "sparse"],
)
def test_samples_whose_order_is_the_same_find_nothing_of_each_other(tmp_path, other):
    brief(tmp_path)
    n_stages = len(list(tmp_path.glob("neighbors-*")))
    assert_same_bits(brief(tmp_path, other(SMALL)), brief(X=other(SMALL)))
    assert len(list(tmp_path.glob("neighbors-*"))) == n_stages + 1


def test_a_run_that_failed_goes_on_from_its_blocks(tmp_path, monkeypatch):
    done = []
    original = _tasks.row_weights

    def failing(X, lists, start, *rest):
        if done:
            raise RuntimeError("power is gone")
        done.append(start)
        return original(X, lists, start, *rest)

    monkeypatch.setattr(_tasks, "row_weights", failing)
    with pytest.raises(RuntimeError, match="power is gone"):
        brief(tmp_path, n_jobs=1)
    kept = done.copy()
    done.clear()
    monkeypatch.setattr(_tasks, "row_weights", lambda *each: done.append(each[2]) or original(*each))
    assert_same_bits(brief(), brief(tmp_path, n_jobs=1))
    assert not set(kept) & set(done)


@pytest.mark.parametrize("stage", ["neighbors", "weights", "eigenpairs", "layout"])
def test_a_damaged_stage_is_refused_by_name(tmp_path, stage):
    coordinates = "layout" if stage == "layout" else "eigenvectors"
    brief(tmp_path, coordinates=coordinates)
    folder = next(tmp_path.glob(f"{stage}-*"))
    victim = max(folder.glob("*.npy"), key=lambda path: path.stat().st_size)
    data = bytearray(victim.read_bytes())
    data[len(data) // 2] ^= 4
    victim.write_bytes(data)
    with pytest.raises(CheckpointError, match=rf"checkpoint '.*{stage}-.*{victim.name}'"):
        brief(tmp_path, coordinates=coordinates)


def test_a_stage_of_another_run_is_refused_by_name(tmp_path):
    brief(tmp_path / "one")
    brief(tmp_path / "other", SMALL[:200])
    ours, theirs = (next((tmp_path / name).glob("weights-*")) for name in ("one", "other"))
    for path in ours.iterdir():
        path.unlink()
    for path in theirs.iterdir():
        path.rename(ours / path.name)
    with pytest.raises(CheckpointError, match=r"weights-.*stage\.json' .* it belongs to another run"):
        brief(tmp_path / "one")


def test_a_folder_of_something_else_is_left_alone(tmp_path):
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(CheckpointError, match=r"it holds 'thesis\.tex'"):
        brief(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_folder_of_a_later_version_is_refused(tmp_path):
    (tmp_path / "hne-checkpoint.json").write_text('{"format": "hne-checkpoint", "version": 99, "hne": "9.9"}')
    with pytest.raises(CheckpointError, match=r"later version of hne \(9\.9\)"):
        brief(tmp_path)


def test_a_file_in_place_of_a_folder_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"cannot write '.*file': file exists"):
        brief(tmp_path / "file")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_folder_is_refused(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(InputError, match="permission denied"):
        brief(tmp_path)


def test_a_folder_in_use_is_refused(tmp_path):
    code = (
        "import sys; from hne.scale.folder import Folder\n"
        "with Folder(sys.argv[1]).lock(): print('held', flush=True); sys.stdin.read()"
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(CheckpointError, match="must be free"):
            brief(tmp_path)
    finally:
        holder.kill()
        holder.communicate()
    brief(tmp_path)


def test_what_cannot_be_repeated_is_refused(tmp_path):
    for name, value in (("random_state", np.random.RandomState(0)), ("metric", far)):
        with pytest.raises(InputError, match=f"{name} must be .* for a run with checkpoint") as refused:
            brief(tmp_path, **{name: value})
        assert refused.value.parameter == name
    assert not list(tmp_path.iterdir())


def far(x, y):
    return float(np.abs(x - y).sum())


def test_an_executor_must_be_one():
    with pytest.raises(TypeError, match=r"executor must be .*, got 'dask'"):
        embed(SMALL, executor="dask")


def test_the_estimator_keeps_its_fit_and_says_nothing_of_it_in_files(tmp_path):
    model = HNE(**PUBLISHED, checkpoint=tmp_path / "run").fit(SMALL)
    assert np.array_equal(model.embedding_, HNE(**PUBLISHED).fit_transform(SMALL))
    assert next(iter(model.timings_)) == "samples"
    model.save(tmp_path / "model.hne")
    again = HNE.load(tmp_path / "model.hne")
    assert again.checkpoint is None
    assert np.array_equal(again.transform(SMALL[:9] + 0.01), model.transform(SMALL[:9] + 0.01))


def test_scratch_of_the_dead_is_cleared(tmp_path):
    import socket

    brief(tmp_path)
    dead = tmp_path / f"scratch-{socket.gethostname()}-999999999-00"
    elsewhere = tmp_path / "scratch-another-host-1-00"
    dead.mkdir()
    elsewhere.mkdir()
    brief(tmp_path)
    assert not dead.exists()
    assert elsewhere.exists()


def test_without_mpi_one_warning_says_who_took_over(tmp_path, monkeypatch):
    monkeypatch.setenv("HNE_MPIEXEC", "no-such-launcher")
    monkeypatch.setenv("HNE_SLEPC_MIN_SAMPLES", "1")
    with pytest.warns(FallbackWarning, match="takes over") as told:
        found = embed(SMALL, checkpoint=tmp_path, eigen_solver="slepc", **PUBLISHED)
    assert len([one for one in told if issubclass(one.category, FallbackWarning)]) == 1
    assert found.eigenpairs.solver == "direct"
    with warnings.catch_warnings():
        warnings.simplefilter("error", FallbackWarning)
        embed(SMALL, checkpoint=tmp_path, **PUBLISHED)


class Killed(BaseException):
    """Stands for a kill: nothing catches it, and nothing is cleaned up after it."""


@pytest.mark.scale
@pytest.mark.slow
def test_a_kill_at_every_rename_goes_on_to_the_same_bits(tmp_path, monkeypatch):
    """Files take their names one by one: killed before and after each of them, and resumed each time."""
    X, plain = ROLL[:300], run(ROLL[:300])
    renames = 0
    original = _files._take_place

    def until(limit, *, after):
        def take_place(temporary, target, overwrite):
            nonlocal renames
            renames += 1
            if after:
                original(temporary, target, overwrite)
            if renames == limit:
                raise Killed
            if not after:
                original(temporary, target, overwrite)

        return take_place

    monkeypatch.setattr(_files, "_take_place", until(-1, after=False))
    run(X, tmp_path / "all", n_jobs=1)
    for after in (False, True):
        for limit in range(1, renames + 1):
            renames, folder = 0, tmp_path / f"{after}-{limit}"
            monkeypatch.setattr(_files, "_take_place", until(limit, after=after))
            with pytest.raises(Killed):
                run(X, folder, n_jobs=1)
            monkeypatch.setattr(_files, "_take_place", original)
            assert_same_bits(plain, run(X, folder, n_jobs=1))
            assert not list(folder.rglob("*.part*"))
            assert not list(folder.rglob("blocks"))
        renames = limit


def test_files_half_written_are_removed(tmp_path):
    brief(tmp_path)
    left = [next(tmp_path.glob("weights-*")) / ".hne-00.part.npy", tmp_path / ".hne-01.part.json"]
    for path in left:
        path.write_bytes(b"half")
    brief(tmp_path)
    assert not any(path.exists() for path in left)


def test_a_given_graph_belongs_to_the_order_of_the_samples(tmp_path):
    order = np.random.default_rng(0).permutation(len(SMALL))
    graph = np.argsort(pairwise_distances(SMALL), axis=1)[:, 1:7], np.ones((len(SMALL), 6))
    brief(tmp_path, neighbors=graph)
    assert_same_bits(brief(X=SMALL[order], neighbors=graph), brief(tmp_path, SMALL[order], neighbors=graph))


def test_distances_with_mirror_images_are_told_apart(tmp_path):
    grid = np.array([[x, y] for x in range(8) for y in range(14)], dtype=float)
    D, order = pairwise_distances(grid), np.random.default_rng(0).permutation(len(grid))
    brief(tmp_path, D, metric="precomputed")
    mixed = D[np.ix_(order, order)]
    assert_same_bits(brief(X=mixed, metric="precomputed"), brief(tmp_path, mixed, metric="precomputed"))


@pytest.mark.parametrize("text", ['{"record": "{}", "checksum": 0}', '{"record": "{", "checksum": 0}', "3"])
def test_tampered_records_are_refused(tmp_path, text):
    brief(tmp_path)
    (next(tmp_path.glob("weights-*")) / "stage.json").write_text(text)
    with pytest.raises(CheckpointError, match=r"weights-.*stage\.json'"):
        brief(tmp_path)


def test_a_changed_record_is_refused(tmp_path):
    brief(tmp_path)
    path = next(tmp_path.glob("neighbors-*")) / "stage.json"
    path.write_text(path.read_text().replace("1.0", "0.1"))
    with pytest.raises(CheckpointError, match="it has changed since it was written"):
        brief(tmp_path)


def graph_in(folder, X):
    """The neighbors of an approximate search, and none of what comes after it."""
    settings, auto, _ = check_parameters({**PUBLISHED, "neighbors": "approximate"})
    with _bench.open_backend(X, settings, auto, None, folder) as (given, backend):
        unique, _, samples, settings = backend.canonicalize(given, settings)
        return backend.graph(samples, settings, unique, 1)


@pytest.mark.slow
def test_damaged_lists_of_an_approximate_search_are_made_anew(tmp_path, monkeypatch):
    pytest.importorskip("faiss", reason="needs the extra 'approx'")
    X = np.random.default_rng(0).normal(size=(6000, 20))
    expected = graph_in(tmp_path / "whole", X)

    def stop(*_):
        raise RuntimeError("power is gone")

    with monkeypatch.context() as patched:
        patched.setattr(_bench, "neighbor_rows", stop)
        with pytest.raises(RuntimeError, match="power is gone"):
            graph_in(tmp_path / "broken", X)
    for path in next((tmp_path / "broken").glob("lists-*")).iterdir():
        path.write_bytes(path.read_bytes()[:-50])
    found = graph_in(tmp_path / "broken", X)
    assert found.recall == expected.recall > 0.9
    assert np.array_equal(found.indices, expected.indices)
    assert np.array_equal(found.distances, expected.distances)


def test_what_another_solver_did_for_ranks_is_not_kept_as_theirs(tmp_path, monkeypatch):
    monkeypatch.setenv("HNE_MPIEXEC", "no-such-launcher")
    monkeypatch.setenv("HNE_SLEPC_MIN_SAMPLES", "1")
    for _ in range(2):
        with pytest.warns(FallbackWarning, match="takes over"):
            embed(SMALL, checkpoint=tmp_path, eigen_solver="slepc", **PUBLISHED)


@pytest.mark.parametrize("checkpoint", [5, "a\0b", b"run"])
def test_a_checkpoint_must_be_a_path(checkpoint):
    with pytest.raises(InputTypeError, match="checkpoint must be the path of a folder, got"):
        embed(SMALL, checkpoint=checkpoint)


def test_what_a_checkpoint_holds_is_told(tmp_path, capsys):
    run(SMALL, tmp_path / "run")
    assert main(["info", str(tmp_path / "run")]) == 0
    told = capsys.readouterr().out
    # What was left open is told as it was chosen.
    assert "n_neighbors=12" in told
    assert "reg=0.00098" in told
    assert "n_components=2, short_circuits='cut'" in told
    assert "coordinates='chart'" in told
    assert main(["info", str(tmp_path)]) == 2
    assert "it has no 'hne-checkpoint.json'" in capsys.readouterr().err


def test_the_command_says_what_comes_from_the_checkpoint(tmp_path, capsys):
    np.save(tmp_path / "x.npy", SMALL)
    command = ["embed", str(tmp_path / "x.npy"), "--checkpoint", str(tmp_path / "run"), "-o", str(tmp_path / "y.npy")]
    assert main(command) == 0
    assert "checkpoint" not in capsys.readouterr().err
    assert main([*command, "--force"]) == 0
    assert capsys.readouterr().err.count("from the checkpoint") == 3


def test_every_parameter_of_a_stage_is_in_the_keys_from_there_on():
    """What has no say in a result (threads, where it is kept) is in none."""
    others = {"neighbors": "exact", "metric": "cosine", "metric_params": {"p": 3}, "random_state": 7}

    def keys(settings):
        return [key_of(_bench._parameters_until(stage, settings)) for stage in CACHED]

    for name, known in known_settings().items():
        if name in PLACES:
            continue
        value = getattr(Settings(), name)
        other = others.get(name, f"{value}!" if isinstance(value, str) else 1 - (value or 0) / 2)
        changed = [
            one != before
            for one, before in zip(keys(replace(Settings(), **{name: other})), keys(Settings()), strict=True)
        ]
        first = STAGES.index(known.stage) if known.stage in STAGES else len(STAGES)
        assert changed == [STAGES.index(stage) >= first for stage in CACHED], name
    # A layout depends on what eigenpairs depend on.
    assert _bench._parameters_until(LAYOUT, Settings()) == _bench._parameters_until(EIGENPAIRS, Settings())
