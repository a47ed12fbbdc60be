"""The pipeline on Dask workers: the same bits as here, workers that die, samples that nobody gathers, refusals."""

import os
import signal
import threading
import time

import numpy as np
import pytest
from scipy.linalg import subspace_angles

from hne import HNE, embed
from hne.cli import main
from hne.datasets import make_swiss_roll
from hne.exceptions import ExecutorError, InputError
from tests.scale.test_checkpoint import CASES, ROLL, assert_same_bits, assert_same_weights, run
from tests.scale.test_slepc import runs

da = pytest.importorskip("dask.array", reason="needs the extra 'dask'")
distributed = pytest.importorskip("distributed", reason="needs the extra 'dask'")

from hne.scale import DaskExecutor
from hne.scale import executors as _executors
from hne.scale.sources import lazy_samples

pytestmark = [pytest.mark.scale, pytest.mark.filterwarnings("ignore")]

DENSE = [name for name in CASES if name not in {"sparse", "distances"}]


@pytest.fixture(scope="module")
def client():
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.mark.parametrize("case", DENSE)
def test_workers_give_the_bits_of_this_process(client, case):
    X, parameters = CASES[case]
    assert_same_bits(run(X, **parameters), run(X, executor=DaskExecutor(client), **parameters))


@pytest.mark.parametrize("case", [name for name in DENSE if name not in {"extreme", "given"}])
def test_samples_that_workers_read_give_the_same_bits(client, case):
    X, parameters = CASES[case]
    lazy = da.from_array(X, chunks=(173, max(1, X.shape[1] // 2)))
    found = run(lazy, **parameters)
    assert_same_bits(run(X, **parameters), found)


def test_files_that_workers_read_give_the_same_bits(client, tmp_path):
    zarr, pa = pytest.importorskip("zarr"), pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    np.save(tmp_path / "x.npy", ROLL)
    stored = zarr.create_array(tmp_path / "x.zarr", shape=ROLL.shape, chunks=(200, 3), dtype="f8")
    stored[:] = ROLL
    table = pa.table({name: ROLL[:, column] for column, name in enumerate("abc")})
    table = table.append_column("name", [[str(row) for row in range(len(ROLL))]])
    (tmp_path / "many.parquet").mkdir()
    parquet.write_table(table, tmp_path / "x.parquet", row_group_size=150)
    parquet.write_table(table[:300], tmp_path / "many.parquet" / "1.parquet")
    parquet.write_table(table[300:], tmp_path / "many.parquet" / "2.parquet")
    plain, executor = run(ROLL), DaskExecutor(client)
    for X in (*map(str, tmp_path.glob("*.*")), stored):
        assert_same_bits(plain, run(X, executor=executor))


def test_dask_in_dask_out(client):
    lazy = da.from_array(ROLL, chunks=(200, 3))
    here, there = HNE().fit(ROLL), HNE().fit(lazy)
    assert isinstance(there.embedding_, da.Array)
    assert there.embedding_.chunks == ((200, 200, 200, 100), (2,))
    assert np.array_equal(there.embedding_.compute(), here.embedding_)
    assert there.n_features_in_ == 3
    placed = there.transform(lazy + 0.01)
    assert placed.chunks == ((200, 200, 200, 100), (2,))
    assert np.array_equal(placed.compute(), here.transform(ROLL + 0.01))
    # Dask in, Dask out, whoever was fitted to what.
    assert np.array_equal(here.transform(lazy).compute(), here.embedding_)
    assert np.array_equal(there.transform(ROLL), here.embedding_)


def test_a_data_frame_of_dask_has_no_chunk_sizes_of_its_own(client):
    frames = pytest.importorskip("dask.dataframe")
    pd = pytest.importorskip("pandas")
    frame = frames.from_pandas(pd.DataFrame(ROLL, columns=list("abc")), npartitions=3)
    assert_same_bits(run(ROLL), run(frame))


def test_samples_are_never_gathered_on_the_client(client, monkeypatch):
    """What comes back of each sample are sixteen bytes, whatever its width, and of each block a box around it."""
    gathered = []
    original = DaskExecutor._result

    def watched(self, future, what):
        result = original(self, future, what)
        parts = result if isinstance(result, tuple) else (result,)
        gathered.append(sum(part.nbytes for part in parts if isinstance(part, np.ndarray)))
        return result

    monkeypatch.setattr(DaskExecutor, "_result", watched)
    X = np.hstack([ROLL, np.zeros((700, 61))])
    run(da.from_array(X, chunks=(100, 64)))
    n_blocks = 3
    assert sum(gathered) == 16 * len(X) + n_blocks * 2 * 8 * X.shape[1]


def test_a_worker_killed_in_the_middle_of_the_weights_is_replaced(client, tmp_path, monkeypatch):
    X = make_swiss_roll(20_000).X
    killed = []

    def kill_one(folder):
        while not list(folder.glob("weights-*/blocks/*.json")):
            time.sleep(0.005)
        victim = next(iter(client.run(os.getpid).values()))
        os.kill(victim, signal.SIGKILL)
        killed.append(victim)

    watcher = threading.Thread(target=kill_one, args=(tmp_path,), daemon=True)
    watcher.start()
    found = run(X, tmp_path, executor=DaskExecutor(client))
    watcher.join(10)
    assert killed
    assert_same_bits(run(X), found)


def test_bad_samples_are_refused_with_their_row(client):
    X = ROLL.copy()
    X[655, 1] = np.nan
    with pytest.raises(InputError, match=r"X must be finite, got nan in row 655, column 1"):
        run(da.from_array(X, chunks=(100, 3)))


@pytest.mark.parametrize(
    ("X", "parameters", "message"),
    [
        (da.zeros((40, 3)), {}, "X must have different samples, got 40 samples that are all equal"),
        (da.zeros(40), {}, r"X must have two dimensions \(samples, features\), got 1"),
        (da.zeros((3, 3)), {"n_neighbors": 6}, "n_neighbors=6 needs at least 7 samples, got n_samples=3"),
        (da.zeros((3, 3)), {}, "X must have different samples, got 3 samples that are all equal"),
        (da.zeros((2, 3)), {}, "n_components=2 needs at least 3 samples, got n_samples=2"),
        (da.zeros((1, 3)), {}, "X must have at least 2 samples, got n_samples=1"),
        (da.zeros((40, 3), dtype="U1"), {}, "must be a table of numbers, got a Dask array of <U1"),
        (da.ones((40, 3))[da.ones(40) > 0], {}, "must have chunks of known sizes"),
        (da.random.random((40, 3)) * 1e200, {}, "must have values between 1e-90 and 1e90"),
        (da.zeros((40, 3)), {"n_neighbors": "auto"}, "n_neighbors must be known .*, got 'auto'"),
        (da.zeros((40, 40)), {"metric": "precomputed"}, "needs distances in memory"),
    ],
)
def test_what_workers_cannot_do_is_one_line(client, X, parameters, message):
    with pytest.raises((InputError, TypeError), match=message):
        embed(X, **parameters)


@pytest.mark.parametrize("case", ["sparse", "distances"])
def test_kinds_that_do_not_spread_are_refused(client, case):
    X, parameters = CASES[case]
    with pytest.raises(InputError, match="X must be dense for a DaskExecutor, got"):
        run(X, executor=DaskExecutor(client), **parameters)


def test_a_dask_array_without_a_client_is_refused():
    code = (
        "import dask.array as da; from hne import embed\n"
        "try: embed(da.zeros((40, 3)))\n"
        "except Exception as error: print(type(error).__name__, error)"
    )
    import subprocess
    import sys

    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said.startswith("ExecutorError samples in a Dask array need a client, got none. Start one before:")


def test_no_scheduler_is_one_line(monkeypatch):
    monkeypatch.setattr(_executors, "PATIENCE", 1.0)
    monkeypatch.setattr(_executors, "QUEUE_PATIENCE", 1.0)
    with pytest.raises(ExecutorError, match=r"a Dask scheduler must answer at 'tcp://127\.0\.0\.1:1', got .*Start one"):
        embed(ROLL, executor=DaskExecutor("tcp://127.0.0.1:1"))
    with pytest.raises(ExecutorError, match=r"a Dask scheduler must have written 'nowhere\.json', got no such file"):
        embed(ROLL, executor=DaskExecutor("nowhere.json"))


def test_a_scheduler_without_workers_is_one_line(monkeypatch):
    monkeypatch.setattr(_executors, "PATIENCE", 1.0)
    monkeypatch.setattr(_executors, "QUEUE_PATIENCE", 1.0)
    with (
        distributed.LocalCluster(n_workers=0, dashboard_address=None) as cluster,
        distributed.Client(cluster) as lonely,
        pytest.raises(ExecutorError, match=r"the Dask scheduler must have workers, got none within 1 s\. Start some"),
    ):
        embed(ROLL, executor=DaskExecutor(lonely))


def test_workers_of_other_versions_are_refused(client):
    versions = _executors.versions
    with pytest.raises(ExecutorError, match=r"same versions .* got hne .* and 0\.0\.1 here"):
        _executors.check_versions({**versions(), "hne": "0.0.1"}, client.run(versions))


def test_a_folder_that_workers_do_not_see_is_refused(client, tmp_path, monkeypatch):
    answers = {"tcp://node2:1": "does not see it"}
    with pytest.raises(ExecutorError, match=r"must share the folder .*, got tcp://node2:1 that does not see it\. Pass"):
        _executors.check_shared(tmp_path, lambda *_: answers)
    assert _executors.trouble_with(str(tmp_path / "nowhere" / "probe")) == "does not see it"


def test_a_closed_client_is_one_line():
    with distributed.LocalCluster(n_workers=1, dashboard_address=None) as cluster:
        client = distributed.Client(cluster)
        executor = DaskExecutor(client)
        client.close()
        with pytest.raises(ExecutorError, match="the Dask client must be connected, got one that is closed"):
            embed(ROLL, executor=executor)


def test_an_executor_is_shared_by_clones_and_pickled_as_its_address(client):
    import pickle

    from sklearn.base import clone

    model = HNE(executor=DaskExecutor(client))
    assert clone(model).executor is model.executor
    again = pickle.loads(pickle.dumps(model.executor))
    assert again.client.scheduler.address == client.scheduler.address
    again.client.close()


def test_a_path_must_be_of_a_kind_that_workers_read(client, tmp_path):
    with pytest.raises(InputError, match=r"cannot read '.*x\.zarr': no such file or directory"):
        lazy_samples(str(tmp_path / "x.zarr"))
    (tmp_path / "x.txt").write_text("1 2 3")
    with pytest.raises(InputError, match=r"X as a path must end in \.zarr, \.parquet or \.npy, got 'x\.txt'"):
        lazy_samples(str(tmp_path / "x.txt"))
    for name in ("x.npy", "x.parquet"):
        (tmp_path / name).write_text("nonsense")
        with pytest.raises(InputError, match=rf"cannot read '.*{name}': it is no"):
            lazy_samples(str(tmp_path / name))
    (tmp_path / "y.zarr").mkdir()
    with pytest.raises(InputError, match=r"cannot read '.*y\.zarr': it holds no Zarr array"):
        lazy_samples(str(tmp_path / "y.zarr"))


def angle_between(Y, other):
    return subspace_angles(Y, other).max()


@runs
@pytest.mark.parametrize("case", ["roll", "digits", "two pieces", "duplicates"])
def test_two_workers_and_two_ranks(client, tmp_path, monkeypatch, case):
    """All of it at once: neighbors, W and J to the bit, the plane of every piece to 1e-6 rad."""
    monkeypatch.setenv("HNE_SLEPC_MIN_SAMPLES", "50")
    monkeypatch.setenv("HNE_MPI_RANKS", "2")
    X, parameters = CASES[case]
    # The direct solver takes eigenvectors of a chart to a percent.
    here = run(X, eigen_solver="dense", **parameters)
    there = run(da.from_array(X, chunks=(173, X.shape[1])), tmp_path, eigen_solver="slepc", **parameters)
    assert_same_weights(here, there)
    for ours, theirs in zip(here.core.eigenpairs, there.core.eigenpairs, strict=True):
        assert theirs.solver == "slepc"
        assert angle_between(ours.vectors, theirs.vectors) < 1e-6
        np.testing.assert_allclose(ours.values, theirs.values, rtol=1e-6)
    again = run(X, tmp_path, eigen_solver="slepc", **parameters)
    assert np.array_equal(again.Y, there.Y)


def test_names_of_columns_are_those_of_the_fit(client):
    frames, pd = pytest.importorskip("dask.dataframe"), pytest.importorskip("pandas")
    frame = frames.from_pandas(pd.DataFrame(ROLL, columns=list("abc")), npartitions=3)
    model = HNE().fit(frame)
    assert list(model.feature_names_in_) == ["a", "b", "c"]
    with pytest.raises(ValueError, match="feature names should match"):
        model.transform(frame[["c", "b", "a"]])
    assert np.array_equal(model.transform(frame).compute(), model.embedding_.compute())
    assert not hasattr(model.fit(da.from_array(ROLL, chunks=(300, 3))), "feature_names_in_")


def test_chunks_that_are_not_what_dask_says_are_refused(client):
    from dask import delayed

    for real in (ROLL[:50], ROLL[:100, :2]):
        lying = da.from_delayed(delayed(real), shape=(100, 3), dtype=float)
        with pytest.raises(InputError, match=r"must have the chunks that it says, got .* for \(100, 3\) from row 600"):
            run(da.concatenate([da.from_array(ROLL[:600], chunks=(200, 3)), lying]))


def test_a_file_that_workers_do_not_see_is_named(client, tmp_path):
    np.save(tmp_path / "x.npy", ROLL)
    samples = lazy_samples(str(tmp_path / "x.npy"))
    (tmp_path / "x.npy").unlink()
    with pytest.raises(InputError, match=r"must be where .* see it, got '.*x\.npy': no such file"):
        run(samples, executor=DaskExecutor(client))


def test_a_search_that_workers_cannot_do_is_refused_as_here(client):
    with pytest.raises(InputError, match="neighbors='approximate' knows the Euclidean and the cosine metric"):
        embed(da.from_array(ROLL, chunks=(300, 3)), neighbors="approximate", metric="manhattan")


def test_a_path_without_workers_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"X as a path is read by Dask workers, got 'x\.zarr' and no executor"):
        embed("x.zarr")


def test_a_model_outlives_its_client(tmp_path):
    import pickle

    lazy = da.from_array(ROLL[:50] + 0.01, chunks=(20, 3))
    with (
        distributed.LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        model = HNE(executor=DaskExecutor(client), checkpoint=tmp_path).fit(ROLL)
    again = pickle.loads(pickle.dumps(model))
    expected = HNE().fit(ROLL).transform(ROLL[:50] + 0.01)
    for one in (model, again):
        assert np.array_equal(one.transform(lazy).compute(scheduler="synchronous"), expected)


def test_workers_that_are_gone_for_good_are_one_line(monkeypatch):
    monkeypatch.setattr(_executors, "QUEUE_PATIENCE", 1.0)
    monkeypatch.setattr(_executors, "POLL", 0.3)
    with (
        distributed.LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        executor = DaskExecutor(client)
        results = executor.map("weights", time.sleep, [60.0])
        leaving = threading.Timer(0.5, cluster.scale, args=(0,))
        leaving.start()
        with pytest.raises(ExecutorError, match=r"must have workers until the weights are done, got none for 1 s"):
            next(results)
        leaving.join()


@pytest.fixture(scope="module")
def address(client):
    return client.scheduler.address


def test_the_command_on_workers(client, address, tmp_path, capsys):
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    np.save(tmp_path / "x.npy", ROLL)
    table = pa.table({name: ROLL[:, column] for column, name in enumerate("abc")} | {"id": np.arange(len(ROLL))})
    parquet.write_table(table, tmp_path / "x.parquet")
    out = {name: str(tmp_path / f"{name}.npy") for name in ("plain", "npy", "table", "columns")}
    assert main(["embed", str(tmp_path / "x.npy"), "-o", out["plain"], "-q"]) == 0
    assert main(["embed", str(tmp_path / "x.npy"), "--dask", address, "-o", out["npy"], "-q"]) == 0
    # Which columns are features is found out as without workers, or said.
    assert main(["embed", str(tmp_path / "x.parquet"), "--dask", address, "-o", out["table"]]) == 0
    assert "'id' names the samples" in capsys.readouterr().err
    words = ["--columns", "a,b,c", "-o", out["columns"], "--save", str(tmp_path / "model.hne")]
    assert main(["embed", str(tmp_path / "x.parquet"), "--dask", address, *words]) == 0
    for path in out.values():
        assert np.array_equal(np.load(path), np.load(out["plain"]))
    assert main(["transform", str(tmp_path / "model.hne"), str(tmp_path / "x.parquet"), "-q"]) == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--columns", "a", "x.npy"], "--columns needs the table in this process"),
        (["--scale", "standard", "x.npy"], "--scale needs the table in this process"),
        (["--dry-run", "x.npy"], "--dry-run foresees what this process would take, got --dask"),
        (["--until-eigenproblem", "x.npy"], "leaves work in a folder for MPI"),
    ],
)
def test_options_that_do_not_go_with_workers(address, tmp_path, monkeypatch, capsys, words, message):
    monkeypatch.chdir(tmp_path)
    np.save("x.npy", ROLL)
    assert main(["embed", "--dask", address, *words]) == 2
    assert message in capsys.readouterr().err


def test_large_tasks_travel_through_the_folder(client, tmp_path, monkeypatch):
    monkeypatch.setattr(_executors, "MAX_MESSAGE", 10)
    assert_same_bits(run(ROLL), run(ROLL, tmp_path, executor=DaskExecutor(client)))
    assert not list(tmp_path.glob(".task-*"))
