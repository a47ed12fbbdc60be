"""scikit-learn's callbacks: the tree of tasks where the installed version has them, nothing where it has not."""

import subprocess
import sys

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from hne import HNE
from hne.settings import STAGES


class Witness:
    """Callback that writes down the path of every task that ends, and what it is handed at the end of the fit."""

    max_propagation_depth = None

    def __init__(self):
        self.ended, self.calls, self.fitted = [], [], []

    def setup(self, estimator, context):
        self.calls.append("setup")

    def teardown(self, estimator, context):
        self.calls.append("teardown")

    def on_fit_task_begin(self, estimator, context):
        self.calls.append("begin")

    def on_fit_task_end(self, estimator, context, *, X=None, fitted_estimator=None):
        self.calls.append("end")
        self.ended.append(path_of(context))
        if fitted_estimator is not None:
            self.fitted.append((X, fitted_estimator))


def path_of(context):
    return (*(path_of(context.parent) if context.parent else ()), context.task_name)


@pytest.fixture
def witness():
    pytest.importorskip("sklearn.callback", reason="needs scikit-learn 1.9")
    return Witness()


STAGES_OF_LAYOUT = ("neighbors", "short circuits", "pieces", "weights", "layout", "trust")


@pytest.mark.parametrize(("coordinates", "stages"), [("chart", STAGES), ("layout", STAGES_OF_LAYOUT)])
def test_callbacks_see_stages_tasks_and_steps(cloud, witness, coordinates, stages):
    model = HNE(coordinates=coordinates).set_callbacks(witness).fit(cloud)
    assert [path[1] for path in witness.ended if len(path) == 2] == list(stages)
    assert witness.ended[:3] == [
        ("fit", "neighbors", "search", "search"),
        ("fit", "neighbors", "search"),
        ("fit", "neighbors"),
    ]
    assert witness.ended[-1] == ("fit",)
    assert witness.calls.count("begin") == witness.calls.count("end")
    assert (witness.calls[0], witness.calls[-1]) == ("setup", "teardown")
    [(X, fitted)] = witness.fitted
    assert X is cloud
    np.testing.assert_array_equal(fitted.transform(cloud), model.embedding_)


def test_callbacks_change_no_bit_and_leave_nothing_on_the_model(roll, witness):
    model = HNE(eigen_solver="direct").set_callbacks(witness).fit(roll.X)
    plain = HNE(eigen_solver="direct").fit(roll.X)
    np.testing.assert_array_equal(model.embedding_, plain.embedding_)
    assert vars(model).keys() - vars(plain).keys() == {"_skl_callbacks"}


def test_callbacks_are_torn_down_when_a_fit_fails(cloud, witness, monkeypatch):
    monkeypatch.setattr("hne.core.pipeline.layer_weights", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError, match="division"):
        HNE().set_callbacks(witness).fit(cloud)
    assert witness.calls[-1] == "teardown"
    assert ("fit",) not in witness.ended


def test_a_clone_keeps_its_callbacks(cloud, witness):
    clone(HNE().set_callbacks(witness)).fit(cloud)
    assert witness.ended[-1] == ("fit",)


@pytest.mark.filterwarnings("ignore:The estimator StandardScaler does not support callbacks")
def test_callbacks_of_a_pipeline_reach_into_the_fit(cloud, witness):
    make_pipeline(StandardScaler(), HNE(coordinates="chart")).set_callbacks(witness).fit(cloud)
    assert {path[-1] for path in witness.ended} >= set(STAGES)


def test_scikit_learns_progress_bar_runs(cloud, capfd):
    pytest.importorskip("rich", reason="scikit-learn draws its bar with rich")
    callback = pytest.importorskip("sklearn.callback", reason="needs scikit-learn 1.9")
    HNE(coordinates="chart").set_callbacks(callback.ProgressBar()).fit(cloud)
    shown = capfd.readouterr().out
    assert "HierarchicNeighborsEmbedding - fit" in shown
    assert "eigenpairs" in shown


# `make test-lowest` has one.
@pytest.mark.slow
def test_a_scikit_learn_without_callbacks_fits_all_the_same():
    script = (
        "import sys, hne.estimators.hne, numpy as np\n"
        "del sys.modules['hne.estimators.hne'], sys.modules['hne.estimators.mixins']\n"
        "sys.modules['sklearn.callback'] = None  # as an older version: its import fails\n"
        "from hne import HNE\n"
        "model = HNE().fit(np.random.default_rng(0).random((40, 3)))\n"
        "print(model.embedding_.shape, hasattr(model, 'set_callbacks'))"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout == "(40, 2) False\n"


@pytest.mark.parametrize("pieces", ["separate", "join"])
def test_pieces_are_counted_around_the_steps_of_their_solvers(witness, pieces):
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(80, 3)) + at for at in (0, 100, 200)])
    model = HNE(eigen_solver="direct", coordinates="chart", pieces=pieces)
    model.set_callbacks(witness)
    model.fit(X)
    leaves = [path[-1] for path in witness.ended if len(path) == 4 and path[1] == "eigenpairs"]
    assert leaves.count("pieces") == (3 if pieces == "separate" else 0)
    assert leaves.count("block solves") >= 3
    assert witness.ended[-1] == ("fit",)
