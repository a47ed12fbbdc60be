"""Saved models come back to the bit; files that are no models are refused by name, and never believed."""

import json
import pickle
import struct
import zipfile
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csc_array, csr_array, csr_matrix, issparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import pairwise_distances
from sklearn.neighbors import KNeighborsTransformer

from hne import HNE, LinearHNE, __version__, embed
from hne.core.records import NeighborGraph
from hne.datasets import make_swiss_roll
from hne.estimators import model_file
from hne.exceptions import InputError, ModelFileError
from tests.conftest import frozen
from tests.helpers.model_files import forge

DATA = Path(__file__).parents[1] / "data"
ROLL = frozen(make_swiss_roll(72, even=True, random_state=3).X)
CLOUD = frozen(np.random.default_rng(7).normal(size=(50, 3)))
BLOBS = frozen(np.vstack([CLOUD, CLOUD[:20] + 100, np.eye(3) + 300]))
COPIES = frozen(np.vstack([ROLL, ROLL[::3], ROLL[:5]])[::-1])
FRAME = pd.DataFrame(ROLL, columns=["length", "width \N{GREEK SMALL LETTER DELTA}", "height"])
SPARSE = csr_matrix(np.random.default_rng(1).poisson(0.4, size=(80, 30)).astype(float))
DISTANCES = frozen(pairwise_distances(CLOUD))
GRAPH = KNeighborsTransformer(n_neighbors=9).fit_transform(ROLL)
TINY_PIECES = np.kron(np.eye(3), np.eye(3) * 1e3) + np.tile(np.eye(9)[:3], (3, 1))
PAIR = tuple(frozen(part) for part in (embed(ROLL).graph.indices, embed(ROLL).graph.distances))

# What kind of model, the model, its samples, new samples. So few samples get a layout where no coordinates are named.
CHART = HNE(coordinates="chart")
KINDS = {
    "a chart": (CHART, ROLL, ROLL[:9] + 0.1),
    "a layout": (HNE(), ROLL, ROLL[:9] + 0.1),
    "eigenvectors": (HNE(coordinates="eigenvectors"), ROLL, ROLL[:9] + 0.1),
    "single precision": (CHART, ROLL.astype(np.float32), ROLL[:9] + 0.1),
    "a layout in single precision": (HNE(), ROLL.astype(np.float32), ROLL[:9] + 0.1),
    "other variants": (HNE(5, variant="rhne", outer_reg=1e-3, include_self=False), ROLL, ROLL[:9] + 0.1),
    "a data frame": (HNE(coordinates="chart").set_output(transform="pandas"), FRAME, FRAME[:9] + 0.1),
    "a layout of a data frame": (HNE().set_output(transform="pandas"), FRAME, FRAME[:9] + 0.1),
    "copies": (CHART, COPIES, ROLL[:9] + 0.1),
    "a layout of copies": (HNE(), COPIES, ROLL[:9] + 0.1),
    "pieces": (HNE(5, coordinates="chart"), BLOBS, BLOBS[40:] + 0.1),
    "pieces joined": (HNE(5, coordinates="chart", pieces="join"), BLOBS, BLOBS[40:] + 0.1),
    "the largest piece": (HNE(5, coordinates="chart", pieces="largest"), BLOBS, CLOUD[:9] + 0.01),
    "a layout of pieces": (HNE(5), BLOBS, BLOBS[40:] + 0.1),
    "a layout of pieces joined": (HNE(5, pieces="join"), BLOBS, BLOBS[40:] + 0.1),
    "a layout of the largest piece": (HNE(5, pieces="largest"), BLOBS, CLOUD[:9] + 0.01),
    "tiny pieces alone": (HNE(2, coordinates="chart"), TINY_PIECES, np.eye(9)),
    "a layout of tiny pieces": (HNE(2), TINY_PIECES, np.eye(9)),
    "sparse": (HNE(), SPARSE, SPARSE[:9] * 1.5),
    "distances": (HNE(metric="precomputed"), DISTANCES, DISTANCES[:9] * 1.1),
    "sparse distances": (HNE(4, metric="precomputed"), csr_array(DISTANCES), csr_array(DISTANCES[:9] * 1.1 + 0.1)),
    "huge units": (CHART, ROLL * 1e200 + 1e201, ROLL[:9] * 1.1e200 + 1e201),
    "tiny units": (CHART, ROLL * 1e-200, ROLL[:9] * 1.1e-200),
    "a layout in huge units": (HNE(), ROLL * 1e200 + 1e201, ROLL[:9] * 1.1e200 + 1e201),
    "a layout in tiny units": (HNE(), ROLL * 1e-200, ROLL[:9] * 1.1e-200),
    "huge sparse": (HNE(), SPARSE * 1e200, SPARSE[:9] * 1.5e200),
    "a sparse graph": (HNE(neighbors=GRAPH, coordinates="chart"), ROLL, ROLL[:9] + 0.1),
    "a sparse array": (HNE(neighbors=csr_array(GRAPH)), ROLL, ROLL[:9] + 0.1),
    "a pair": (HNE(neighbors=PAIR), ROLL, ROLL[:9] + 0.1),
    "a list of neighbors alone": (HNE(neighbors=[PAIR[0].tolist(), None]), ROLL, ROLL[:9] + 0.1),
    "a graph record": (HNE(neighbors=embed(ROLL).graph), ROLL, ROLL[:9] + 0.1),
    "minkowski": (HNE(metric="minkowski", metric_params={"p": 3}), ROLL, ROLL[:9] + 0.1),
    "endless p": (HNE(metric="minkowski", metric_params={"p": np.inf}), ROLL, ROLL[:9] + 0.1),
    "an array of the metric": (
        HNE(metric="mahalanobis", metric_params={"VI": np.asfortranarray(np.diag([1.0, 2.0, 3.0]))}),
        ROLL,
        ROLL[:9] + 0.1,
    ),
    "numbers of NumPy": (HNE(np.int64(5), reg=np.float32(1e-4), include_self=np.True_), ROLL, ROLL[:9] + 0.1),
    "no random state": (HNE(random_state=None, n_jobs=None, neighbors="exact"), ROLL, ROLL[:9] + 0.1),
    "edges by hand": (HNE(cut_edges=np.array([[3, 1], [20, 9]]), keep_edges=[(0, 2)]), ROLL, ROLL[:9] + 0.1),
    "linear": (LinearHNE(), ROLL, ROLL[:9] + 0.1),
    "linear, single precision": (LinearHNE(constraint="orthonormal"), ROLL.astype(np.float32), ROLL[:9] + 0.1),
    "linear, a data frame": (LinearHNE(), FRAME, FRAME[:9] + 0.1),
    "linear, copies": (LinearHNE(neighbors="exact"), COPIES, ROLL[:9] + 0.1),
}
# All that differ in what a file holds; the others are saved where time does not matter.
FAST = ("a data frame", "single precision", "copies", "pieces", "the largest piece", "sparse", "sparse distances")
FAST += ("huge units", "a sparse graph", "a list of neighbors alone", "a graph record", "endless p", "numbers of NumPy")
FAST += ("an array of the metric", "edges by hand", "linear, single precision", "linear, a data frame", "eigenvectors")
FAST += ("a layout", "a layout of copies", "a layout of the largest piece", "a layout in huge units")
kinds = pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=() if kind in FAST else pytest.mark.slow) for kind in KINDS]
)


def fitted_anew(kind):
    model, X, new = KINDS[kind]
    return clone(model).fit(X), new


fitted = cache(fitted_anew)


def assert_same(one, other, where="model"):
    """Equal to the bit, down to kinds of numbers and order in memory."""
    if isinstance(one, np.generic) or isinstance(other, np.generic):
        one, other = np.asarray(one).item(), np.asarray(other).item()
    assert type(one) is type(other), where
    if isinstance(one, np.ndarray) and one.dtype != object:
        assert (one.dtype, one.shape) == (other.dtype, other.shape), where
        assert one.tobytes() == other.tobytes(), where
        assert one.ndim < 2 or one.flags.f_contiguous == other.flags.f_contiguous, where
    elif isinstance(one, pd.DataFrame):
        pd.testing.assert_frame_equal(one, other, check_exact=True)
    elif (parts := parts_of(one)) is not None:
        theirs = parts_of(other)
        assert parts.keys() == theirs.keys(), where
        for name, part in parts.items():
            assert_same(part, theirs[name], f"{where}.{name}")
    else:
        np.testing.assert_equal(one, other, where)


def kept(model):
    """Attributes that a file keeps: all but the seconds of the fit, so that the same model gives the same bytes.

    How far it can be believed is measured again, and is the same.
    """
    _ = getattr(model, "trust_", None)
    return {name: value for name, value in vars(model).items() if name != "timings_"}


def parts_of(value):
    """What a value is made of, by name; None for what has no parts."""
    if issparse(value):
        return {name: getattr(value, name) for name in ("shape", "data", "indices", "indptr")}
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    if isinstance(value, list | tuple) or (isinstance(value, np.ndarray) and value.dtype == object):
        return dict(enumerate(value))
    return value if isinstance(value, dict) else None


def assert_alike(model, again, new):
    """The same attributes, parameters and answers, to the bit."""
    assert_same(kept(model), kept(again))
    assert_same(model.get_params(), again.get_params())
    for name in ("inner_weights_", "joint_weights_", "bridges_"):
        if hasattr(model, name):
            assert_same(getattr(model, name), getattr(again, name), name)
    assert_same(model.get_feature_names_out(), again.get_feature_names_out())
    placed = model.transform(new)
    assert_same(placed, again.transform(new))
    if model.get_params()["metric"] != "precomputed":
        points = np.nan_to_num(np.asarray(placed))
        assert_same(model.inverse_transform(points), again.inverse_transform(points))
        if hasattr(model, "reconstruct"):
            assert_same(model.reconstruct(), again.reconstruct())


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.hne"


@kinds
def test_a_saved_model_comes_back_to_the_bit(kind, path):
    model, new = fitted(kind)
    model.save(path)
    assert [one.name for one in path.parent.iterdir()] == ["model.hne"]
    again = type(model).load(str(path))
    assert_alike(model, again, new)
    again.save(path.with_name("again"))
    assert path.read_bytes() == path.with_name("again").read_bytes()


@pytest.mark.parametrize("kind", ["copies", "pieces", "sparse distances", "a layout of pieces", "linear, a data frame"])
def test_pickled_models_come_back_to_the_bit(kind, path):
    model, new = fitted(kind)
    assert_alike(model, pickle.loads(pickle.dumps(model)), new)
    joblib.dump(model, path)
    assert_same(kept(model), kept(joblib.load(path)))


@pytest.mark.parametrize("kind", ["sparse", "copies, by distances"])
def test_a_model_of_a_record_is_saved_whatever_its_samples_are(kind, path):
    copies = frozen(pairwise_distances(np.vstack([CLOUD, CLOUD[:3]])))
    X, parameters = (SPARSE, {}) if kind == "sparse" else (copies, {"metric": "precomputed"})
    model = HNE.from_embedding(embed(X, **parameters))
    assert model.n_features_in_ == X.shape[1]
    model.save(path)
    assert_same(HNE.load(path).transform(X), model.embedding_)


@pytest.mark.parametrize("kind", ["a chart", "copies", "sparse distances"])
def test_pickles_do_not_carry_what_is_made_again(kind):
    model, new = fitted_anew(kind)
    small = len(pickle.dumps(model))
    model.transform(new), model.joint_weights_, repr(model._fitted), model._fitted.graph, model._fitted.pieces
    assert len(pickle.dumps(model)) <= small
    assert "weights" in vars(model._fitted)
    assert "weights" not in vars(pickle.loads(pickle.dumps(model))._fitted)


@pytest.mark.parametrize("kind", ["a sparse graph", "an array of the metric", "linear"])
def test_a_loaded_model_fits_again_and_has_clones(kind, path):
    model, _ = fitted_anew(kind)
    model.save(path)
    again = type(model).load(path)
    X = KINDS[kind][1]
    assert_same(clone(again).fit(X).embedding_, model.embedding_)
    assert_same(again.set_params(reg=1e-3).fit(X).embedding_, model.set_params(reg=1e-3).fit(X).embedding_)


def test_other_sparse_formats_come_back_as_csr_and_fit_the_same(path):
    model = HNE(neighbors=csc_array(GRAPH)).fit(ROLL)
    model.save(path)
    again = HNE.load(path)
    assert isinstance(again.neighbors, csr_array)
    assert_same(clone(again).fit(ROLL).embedding_, model.embedding_)


def test_a_loaded_model_follows_its_fit_and_keeps_parameters_set_since(path):
    given = HNE(variant="ihne", neighbors=PAIR, metric="minkowski", metric_params={"p": 2.0}).fit(ROLL)
    given.set_params(variant="rhne", n_neighbors=3, neighbors="auto", metric="cosine", metric_params=None, reg=1)
    given.save(path)
    again = HNE.load(path)
    assert again.get_params()["variant"] == "rhne"
    assert again._fitted.settings.variant == "ihne"
    assert_alike(given, again, ROLL[:9] + 0.1)


def test_what_searched_approximately_is_loaded_without_faiss(path, monkeypatch):
    model = HNE().fit(ROLL)
    model.save(path)
    forge(
        path,
        lambda header: [header[key].update(neighbors="approximate") for key in ("parameters", "settings")] and None,
    )
    monkeypatch.setattr("hne.core.parameters.find_spec", lambda name: None)
    again = HNE.load(path)
    assert again.neighbors == again._fitted.settings.neighbors == "approximate"
    again.save(path)
    assert_same(again.transform(ROLL[:9] + 0.1), model.transform(ROLL[:9] + 0.1))


def test_saving_replaces_what_was_there_and_the_same_model_gives_the_same_bytes(path):
    model = HNE().fit(CLOUD)
    path.write_text("old")
    model.save(path)
    first = path.read_bytes()
    model.save(path)
    assert path.read_bytes() == first


def test_a_file_is_about_as_large_as_its_arrays(path):
    HNE().fit(make_swiss_roll(1000, random_state=0).X).save(path)
    with np.load(path, allow_pickle=False) as file:
        held = sum(file[name].nbytes for name in file.files)
    assert path.stat().st_size < held + 400 * 30


def test_numpy_alone_reads_embedding_weights_neighbors_and_samples(path):
    X = COPIES * 1e200
    model = HNE(coordinates="chart").fit(X)
    model.save(path)
    with np.load(path, allow_pickle=False) as file:
        header = json.loads(file["header"].tobytes())
        place, first = file["distinct.inverse"], file["distinct.index"]
        scale = header["fit"]["units"]["scale"]
        np.testing.assert_array_equal((file["core.Y"] / scale)[place], model.embedding_)
        np.testing.assert_array_equal(file["core.eigenpairs.0.values"][:2], model.eigenvalues_)
        np.testing.assert_array_equal(np.sort(first[file["core.short_circuits"]], axis=1), model.short_circuits_)
        samples = (file["core.X"] / 2 + file["units.origin"] * (scale / 2)) / (scale / 2)
        np.testing.assert_allclose(samples[place], X)
        listed = file["core.graph.indices"]
        neighbors = np.where(listed >= 0, first[listed], -1)[place]
        parts = [file[f"core.weights.J.{part}"] for part in ("data", "indices", "indptr")]
        J = csr_array(tuple(parts), shape=(len(first), len(first)))
    np.testing.assert_array_equal(neighbors, model._fitted.graph.indices)
    np.testing.assert_array_equal(J[place].toarray(), model.joint_weights_[:, first].toarray())
    assert (header["format"], header["version"], header["hne"]) == ("hne-model", 2, __version__)
    assert header["class"] == "HierarchicNeighborsEmbedding"


def test_files_of_the_current_version_are_read_for_ever():
    # Made by `save` of HNE(n_neighbors=2, n_components=1) with coordinates "eigenvectors" and "layout", and of
    # LinearHNE(2, n_components=1); those of HNE with sample 1 once more at the end.
    line = np.outer([0.0, 1.0, 4.0, 8.0, 12.0], [3.0, 4.0])
    linear = LinearHNE.load(DATA / "linear-2.hne")
    np.testing.assert_allclose(linear.mean_, [15.0, 20.0])
    np.testing.assert_allclose(linear.transform(line)[:, 0], [-0.5, -0.4, -0.1, 0.3, 0.7])
    model = HNE.load(DATA / "line-2.hne")
    assert (model.n_neighbors, model.n_components, model.n_distinct_, model.n_pieces_) == (2, 1, 5, 1)
    # In order, centered and of length one over the distinct samples.
    Y = model.embedding_[:5, 0] * np.sign(model.embedding_[4, 0])
    assert (np.diff(Y) > 0).all()
    np.testing.assert_allclose([Y.sum(), Y @ Y], [0.0, 1.0], atol=1e-14)
    np.testing.assert_array_equal(model.transform(line[[0, 4, 1]]), model.embedding_[[0, 4, 5]])
    np.testing.assert_allclose(model.inverse_transform(model.embedding_[:5]), line)
    layout = HNE.load(DATA / "layout-2.hne")
    Y = layout.embedding_[:5, 0] * np.sign(layout.embedding_[4, 0])
    assert (np.diff(Y) > 0).all()
    assert Y.sum() == pytest.approx(0.0, abs=1e-12)
    assert (layout.coordinates_, layout.kl_divergence_ > 0) == ("layout", True)
    np.testing.assert_array_equal(layout.transform(line[[0, 4, 1]]), layout.embedding_[[0, 4, 5]])


# What cannot be saved.


@pytest.mark.parametrize("model", [HNE(), LinearHNE()])
def test_a_model_that_is_not_fitted_is_not_saved(model, path):
    with pytest.raises(NotFittedError, match="not fitted yet"):
        model.save(path)
    assert not path.exists()


def manhattan(a, b):
    return np.abs(a - b).sum()


@pytest.mark.parametrize(
    ("model", "parameter", "got"),
    [
        (HNE(metric=manhattan), "metric", "the function manhattan"),
        (HNE(random_state=np.random.RandomState(0)), "random_state", "RandomState"),
        (HNE(metric_params={"w": object()}, neighbors="exact"), "metric_params.w", "object"),
        (HNE(metric_params={1: 2}), "metric_params", "dict"),
        (HNE(metric_params={"w": np.ones(3, dtype=complex)}), "metric_params.w", "ndarray"),
        (LinearHNE(random_state=np.random.RandomState(0)), "random_state", "RandomState"),
    ],
)
def test_what_no_file_can_hold_is_named_and_nothing_is_written(model, parameter, got, path):
    wanted = model.get_params()
    model.set_params(**{name: type(model)().get_params()[name] for name in ("metric_params", "metric", "random_state")})
    model.fit(CLOUD).set_params(**wanted)
    with pytest.raises(InputError, match=rf"^{parameter} must be made of .* got {got}\. ") as caught:
        model.save(path)
    assert caught.value.parameter == parameter
    assert not list(path.parent.iterdir())


def test_a_function_of_the_fit_is_named_whatever_was_set_since(path):
    model = HNE(metric=manhattan).fit(CLOUD).set_params(metric="euclidean")
    with pytest.raises(InputError, match=r"^metric must .* the function manhattan"):
        model.save(path)


def test_parameters_that_are_none_are_told_before_anything_is_written(path):
    with pytest.raises(InputError, match=r"variant must be one of .* got 'tsne'"):
        HNE().fit(CLOUD).set_params(variant="tsne").save(path)
    with pytest.raises(InputError, match=r"constraint must be one of .* got 'none'"):
        LinearHNE().fit(CLOUD).set_params(constraint="none").save(path)
    assert not path.exists()


def test_a_place_that_cannot_be_written_is_named(tmp_path):
    model = HNE().fit(CLOUD)
    with pytest.raises(InputError, match=r"cannot write '.*missing.x': no such file or directory\. Choose another"):
        model.save(tmp_path / "missing" / "x")
    with pytest.raises(InputError, match=r"cannot write '.*': .*directory.*\. Choose another place\."):
        model.save(tmp_path)
    assert not list(tmp_path.iterdir())


# What is no saved model.


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A file of ten samples, one of them a copy, in two pieces."""
    X = np.vstack([np.eye(4), np.eye(4) + 100, [[1.0, 0.0, 0.0, 0.0]], [[1.0, 1.0, 0.0, 0.0]]])
    path = tmp_path_factory.mktemp("small") / "model.hne"
    HNE(2, coordinates="chart").fit(X).save(path)
    return path.read_bytes()


@pytest.fixture
def saved(path, small):
    """That file, to be spoiled."""
    path.write_bytes(small)
    return path


def loaded_or_refused(path):
    """The model, or None and the message of the refusal; any other error is one."""
    try:
        return HNE.load(path), ""
    except ModelFileError as error:
        return None, str(error)


def test_a_file_written_by_numpy_is_read_all_the_same(saved):
    before = HNE.load(saved)
    forge(saved)
    assert_same(kept(HNE.load(saved)), kept(before))


def test_a_path_to_nothing_is_told(tmp_path):
    with pytest.raises(ModelFileError, match=r"^cannot read '.*x\.hne': no such file or directory\. Check the path"):
        HNE.load(tmp_path / "x.hne")
    with pytest.raises(ModelFileError, match=r"^cannot read '.*': is a directory\. Check the path"):
        LinearHNE.load(tmp_path)


@pytest.mark.parametrize("content", [b"", b"PK", b"x,y\n1,2\n", pickle.dumps([1, 2]), b"\x93NUMPY" * 20])
def test_other_files_are_told(path, content):
    path.write_bytes(content)
    with pytest.raises(ModelFileError, match=r"it is not a saved model\. Pass the file that save"):
        HNE.load(path)


def test_foreign_archives_are_told(path):
    for foreign in ({"a": np.ones(3)}, {"header": np.ones(3)}, {"header": np.frombuffer(b'{"format": 1}', np.uint8)}):
        with path.open("wb") as file:
            np.savez(file, **foreign)
        with pytest.raises(ModelFileError, match=r"it is not a saved model \(no header"):
            HNE.load(path)


def test_a_file_of_the_other_class_names_the_right_one(path):
    HNE().fit(CLOUD).save(path)
    with pytest.raises(
        ModelFileError, match=r"holds a HierarchicNeighborsEmbedding, not a LinearHNE\. Use Hier.*\.load"
    ):
        LinearHNE.load(path)
    LinearHNE().fit(CLOUD).save(path)
    with pytest.raises(ModelFileError, match=r"it holds a LinearHNE, not a Hierarchic.*\. Use LinearHNE\.load\.$"):
        HNE.load(path)


def test_another_format_is_told_whatever_else_the_file_holds(saved):
    forge(saved, lambda header: {"format": "hne-model", "version": 3})
    with pytest.raises(ModelFileError, match=r"it is of format 3, and this hne reads 2.*\. Use the hne that wrote it"):
        HNE.load(saved)


def test_parameters_that_are_younger_than_the_file_get_their_defaults(saved):
    forge(saved, lambda header: header["parameters"].pop("tol") and None)
    assert HNE.load(saved).tol == HNE().tol


DEEP = b'{"format": "hne-model", "version": 2, "x": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"


def entry(*keys, **values):
    """A change of some entries of a part of the header; None leaves one out."""

    def change(header):
        part = header
        for key in keys:
            part = part["items"][key] if part.get("kind") in {"tuple", "dict"} else part[key]
        part.update(values)
        for name in [name for name, value in values.items() if value is None]:
            del part[name]

    return change


def csr(**values):
    """A change of the parameter `neighbors` to a sparse matrix, or something like it."""
    matrix = {"kind": "csr_array", "name": "core.weights.W", "shape": [9, 9]} | values
    return entry("parameters", neighbors=matrix)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda header: b"\xff\xfe", "no header of 'hne-model'"),
        (lambda header: b"[1, 2]", "no header of 'hne-model'"),
        (lambda header: DEEP, "no header of 'hne-model'"),
        (entry(format="other"), "no header of 'hne-model'"),
        (entry(version="1"), "it is of format '1'"),
        (entry(version=True), "it is of format True"),
        (entry(version=0), "it is of format 0"),
        (entry(**{"class": None}), "lacks 'class'"),
        (entry(parameters=None), "lacks 'parameters'"),
        (entry(more=1), "has no 'more'"),
        (entry(parameters=[1]), "'parameters' .* another kind .list"),
        (entry(arrays=[]), "its arrays are not those"),
        (entry("parameters", n_neighbors=-1), "n_neighbors must be at least 1"),
        (entry("parameters", n_neighbors=2.0), "n_neighbors must be an integer"),
        (entry("parameters", gamma=1e300), "gamma must be between"),
        (entry("parameters", variant=3), "variant must be one of"),
        (entry("parameters", metric="os.system"), "metric must be one of"),
        (entry("parameters", neighbors="given"), "neighbors must be one of"),
        (entry("parameters", neighbors=[[[9]], None]), "neighbors must be numbers of"),
        (entry("parameters", random_state="x"), "random_state must be an integer"),
        (entry("parameters", metric_params=3), "metric_params must be a dict"),
        (entry("parameters", shell="rm"), "'shell' .* is not a parameter of Hier"),
        (entry("parameters", checkpoint="/"), "'checkpoint' .* is not a parameter of Hier"),
        (entry("settings", x=1), "x is not a parameter"),
        (entry("settings", n_components=7), r"'core.Y' must have shape \(9, 7\)"),
        (entry("settings", metric="precomputed"), "samples do not go with metric='prec"),
        (entry("settings", n_rounds=10**18), "n_rounds must be at most 1000"),
        (entry("settings", n_neighbors=9), "n_neighbors=9 needs more than 9 samples"),
        (entry("parameters", metric={"kind": "call"}), "no kind that is known"),
        (entry("parameters", tol={"kind": "float", "value": "1e-7"}), "no kind that is known"),
        (entry("parameters", neighbors={"kind": "array", "name": "no"}), "damaged or .*no"),
        (entry("parameters", neighbors={"kind": "array"}), "no kind that is known"),
        (csr(shape=[9]), "no kind that is known"),
        (csr(shape=[-1, 9]), "must be a CSR matrix"),
        (csr(shape=[9, 2]), "'core.weights.W.indices' must hold numbers from 0 to 1"),
        (entry("parameters", neighbors={"kind": "NeighborGraph"}), "NeighborGraph lacks 'distances'"),
        (entry(n_features_in=5), r"'core.X' must be a matrix of shape \(9, 5\)"),
        (entry(n_features_in=0), "'feature_names_in' .* all features"),
        (entry(feature_names_in=["a"]), "'feature_names_in' .* all features"),
        (entry(feature_names_in=[1, 2, 3, 4]), "'feature_names_in' .* another kind"),
        (entry(set_output="exec"), "'set_output' .* unknown"),
        (entry("fit", core=None), "its fit lacks 'core'"),
        (entry("fit", core=3), "'core' .* another kind .int"),
        (entry("fit", dtype="object"), "'dtype' .* unknown"),
        (entry("fit", "core", X="text"), "'core.X' must be a matrix"),
        (entry("fit", "core", Y=1.0), "'Y' of Core is of another kind .float"),
        (entry("fit", "units", scale=0.0), "'scale' .* must be a power of two, got 0.0"),
        (entry("fit", "units", scale=3.0), "'scale' .* must be a power of two, got 3.0"),
        (entry("fit", "units", scale={"kind": "float", "value": "nan"}), "'scale' .* must be a power of two, got nan"),
        (entry("fit", "units", scale=10**400), "'scale' .* another kind .int"),
        (entry("fit", "core", "graph", recall=1.5), "'recall' must hold numbers from 0 to 1, got 1.5"),
        (entry("fit", "core", eigenpairs={"kind": "tuple", "items": []}), "must be of 2 components"),
        (
            entry("fit", "core", eigenpairs={"kind": "tuple", "items": [1, 2]}),
            "'eigenpairs' of Core is of another",
        ),
    ],
)
def test_headers_that_lie_are_told(saved, change, message):
    forge(saved, change)
    with pytest.raises(ModelFileError, match=rf"^cannot read '.*model\.hne': .*{message}.*\.$"):
        HNE.load(saved)


@pytest.mark.parametrize("depth", [10, 300, 400, 900, 5000])
def test_deep_nesting_is_read_or_refused(saved, depth):
    nested = b'{"kind": "dict", "items": {"a": ' * depth + b"1" + b"}}" * depth
    forge(
        saved,
        lambda header: json.dumps(header).encode().replace(b'"metric_params": null', b'"metric_params": ' + nested),
    )
    model, message = loaded_or_refused(saved)
    # How deep Python goes depends on its version.
    if model is None:
        assert depth > 10
        assert "recursion" in message or "no header" in message
    else:
        value = model.metric_params
        for _ in range(depth):
            value = value["a"]
        assert value == 1


def changed(name, at, value):
    """A change of one number of an array of the file."""

    def change(held):
        array = held[name].copy()
        array[at] = value
        return array

    return name, change


def cut(name, *rows):
    """A change of an array to some of its rows and columns."""
    return name, lambda held: held[name][rows].copy()


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("core.Y", lambda held: None, "damaged or .*core.Y"),
        ("core.weights.W.indptr", lambda held: None, "damaged or .*core.weights.W.indptr"),
        ("core.Y", lambda held: held["core.Y"].astype(np.float32), "'Y' of Core .*array of float32"),
        ("core.Y", lambda held: held["core.Y"].astype(str), "'core.Y' is not one of numbers"),
        ("distinct.inverse", lambda held: held["distinct.inverse"] * 1.0, "'inverse' .*array of float64"),
        (*cut("core.Y", slice(1, None)), r"'core.Y' must have shape \(9, 2\), got \(8, 2\)"),
        (*cut("core.Y", slice(None), 0), r"'core.Y' must have shape \(9, 2\), got \(9,\)"),
        (*cut("distinct.index", slice(0)), "'distinct.inverse' must hold numbers from 0 to -1"),
        (*cut("core.graph.indices", slice(None), slice(0)), "indices of neighbors' must have shape"),
        (*cut("core.graph.distances", slice(None), slice(1)), "distances of neighbors' must have shape"),
        (*cut("core.weights.J.indices", slice(1, None)), "must be a CSR matrix"),
        (*cut("core.weights.J.indptr", slice(None, None, -1)), "must be a CSR matrix"),
        (
            "core.weights.J.indices",
            lambda held: held["core.weights.J.indices"].astype(np.int64),
            "must be a CSR matrix",
        ),
        (*cut("core.pieces.sizes", slice(None, None, -1)), "'core.pieces.sizes' must count the labels"),
        (*changed("core.Y", (0, 0), np.nan), "must hold the samples of embedded components"),
        (*changed("core.X", (0, 0), np.inf), "'core.X' must hold numbers .* got inf"),
        (*changed("core.X", (0, 0), 1e308), "'core.X' must hold numbers .* got 1e.308"),
        (*changed("core.weights.W.data", 0, np.nan), "W.data' must hold numbers .* got nan"),
        (*changed("core.weights.W.data", 0, 7.0), "W.data' must hold weights that sum to one"),
        (*changed("core.weights.J.data", 0, 1e308), "J.data' must hold numbers .* got 1e.308"),
        (*changed("core.weights.W.indices", 0, -1), "W.indices' must hold numbers from 0 to 8, got -1"),
        (*changed("core.weights.J.indices", 0, 2**31 - 1), "J.indices' must hold numbers from 0 to 8"),
        (*changed("core.weights.J.indptr", 1, 10**6), "must be a CSR matrix"),
        (*changed("core.weights.J.indptr", 0, 1), "must be a CSR matrix"),
        (*changed("core.weights.J.indptr", -1, 3), "must be a CSR matrix"),
        (*changed("distinct.inverse", 0, -1), "'distinct.inverse' must hold numbers from 0 to 8, got -1"),
        (*changed("distinct.inverse", 0, 9), "'distinct.inverse' must hold numbers from 0 to 8, got 9"),
        (*changed("distinct.index", 0, 10**15), "'distinct.index' must hold numbers from 0 to 9"),
        (*changed("distinct.index", 0, 9), "'distinct.index' and 'distinct.inverse' must belong together"),
        (*changed("core.graph.indices", (0, 0), 9), "indices of neighbors' must hold numbers from -1 to 8"),
        (*changed("core.graph.indices", (0, 1), -2), "indices of neighbors' must hold numbers from -1 to 8"),
        (*changed("core.graph.indices", (0, 0), -1), "'core.graph.indices' must list others"),
        (*changed("core.graph.indices", (0, 0), 0), "'core.graph.indices' must list others"),
        (*changed("core.graph.distances", (0, 0), -1.0), "distances of neighbors' must hold numbers from 0"),
        (*changed("core.pieces.labels", 0, 2), "'core.pieces.labels' must hold numbers from 0 to 1, got 2"),
        (*changed("core.Y", 0, np.inf), "'core.Y' must hold numbers .* got inf"),
        (*changed("core.Y", 0, -1e308), "'core.Y' must hold numbers .* got -1e.308"),
        (*changed("core.reconstruction_errors", 0, -1.0), "'core.reconstruction_errors' must hold numbers from 0"),
        (*changed("core.eigenpairs.0.values", 0, -1.0), "'values of eigenpairs' must hold numbers from 0"),
        (*changed("core.eigenpairs.0.values", 0, np.nan), "'values of eigenpairs' must hold numbers from 0"),
        (*changed("core.eigenpairs.0.values", 0, 1e9), "'values of eigenpairs' must have 2 numbers at least, asc"),
        (*cut("core.eigenpairs.0.values", slice(1)), "'values of eigenpairs' must have 2 numbers at least, asc"),
        (*changed("core.eigenpairs.0.vectors", (0, 0), np.nan), "'vectors of eigenpairs' must hold numbers"),
        (*cut("core.eigenpairs.0.vectors", slice(1, None)), "'vectors of eigenpairs' must have shape"),
        (*changed("core.eigenpairs.0.certificate.residuals", 0, np.nan), "'residuals of eigenpairs' must hold numbers"),
    ],
)
def test_arrays_that_lie_are_told(saved, name, change, message):
    with np.load(saved) as file:
        held = {one: file[one] for one in file.files}
    forge(saved, **{name: change(held)})
    with pytest.raises(ModelFileError, match=rf"^cannot read '.*model\.hne': .*{message}.*\. Save the model again"):
        HNE.load(saved)


@pytest.mark.parametrize("name", ["gap", "rounding", "ritz_error"])
def test_numbers_of_a_certificate_are_positive(saved, name):
    forge(saved, entry("fit", "core", "eigenpairs", 0, "certificate", **{name: -1.0}))
    with pytest.raises(ModelFileError, match=f"'{name} of eigenpairs' must hold numbers from 0"):
        HNE.load(saved)


# Two pieces that have charts, and one so small that it is drawn by its principal axes.
CHARTED = np.vstack([ROLL, 3 * CLOUD + 200, CLOUD[:5] + 500])


@pytest.fixture(scope="module")
def charts_of_pieces(tmp_path_factory):
    path = tmp_path_factory.mktemp("charts") / "model.hne"
    model = HNE(8, coordinates="chart").fit(CHARTED)
    model.save(path)
    return model, path.read_bytes()


@pytest.fixture
def charted(path, charts_of_pieces):
    """A file of charts, to be spoiled."""
    path.write_bytes(charts_of_pieces[1])
    return path


def test_charts_of_pieces_come_back_with_all_their_numbers(charts_of_pieces, charted):
    model, again = charts_of_pieces[0], HNE.load(charted)
    assert [chart is None for chart in model._fitted.core.charts] == [False, False, True]
    # The larger piece has more eigenvectors than the other.
    assert [len(pairs.values) for pairs in model._fitted.core.eigenpairs] == [12, 8, 2]
    assert_same(kept(model), kept(again))


def drop_eigenpairs(header):
    """Leave the first component without eigenpairs, but not without a chart."""
    header["fit"]["core"]["eigenpairs"]["items"][0] = None


def chart(**values):
    """A change of what the header says of the first chart."""
    return entry("fit", "core", "charts", 0, **values)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (entry("fit", "core", charts={"kind": "tuple", "items": [None]}), "must be of 3 components"),
        (entry("fit", "core", charts={"kind": "tuple", "items": []}), "must be of 3 components"),
        (entry("fit", "core", charts={"kind": "tuple", "items": [1, 2, 3]}), "'charts' .* another kind"),
        (entry("fit", "core", charts={}), "no kind that is known"),
        (drop_eigenpairs, "must be of components with eigenvectors"),
        (chart(route="by hand"), "how each chart was found"),
        (chart(n_put_back=-1), "how each chart was found"),
        (chart(n_put_back=True), "'n_put_back' .* another kind .bool"),
        (chart(route=["unfolded"]), "'route' .* another kind .list"),
        (chart(stress=-1.0), "'stress of a chart' must hold numbers from 0"),
        (chart(stress={"kind": "float", "value": "nan"}), "'stress of a chart' must hold numbers from 0"),
        (chart(way_stress=-1.0), "'way_stress of a chart' must hold numbers from 0"),
        (chart(stress=None), "Chart lacks 'stress'"),
    ],
)
def test_headers_that_lie_about_charts_are_told(charted, change, message):
    forge(charted, change)
    with pytest.raises(ModelFileError, match=message):
        HNE.load(charted)


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        (*cut("core.charts.0.B", slice(None), 0), r"'B of a chart' must have shape \(12, 2\)"),
        (*cut("core.charts.0.spectrum", slice(3)), r"'spectrum of a chart' must have shape \(12,\)"),
        (*changed("core.charts.0.spectrum", 0, np.inf), "'spectrum of a chart' must hold numbers"),
        (*changed("core.charts.0.spectrum", 0, -1.0), "'spectrum of a chart' must hold numbers from 0"),
        (
            "core.short_circuits",
            lambda held: np.array([[0, -1]]),
            "'core.short_circuits' must hold numbers from 0 to 126",
        ),
        ("core.short_circuits", lambda held: np.array([[0, 175]]), "'core.short_circuits' must hold numbers from 0 to"),
        ("core.short_circuits", lambda held: np.array([[0]]), "'core.short_circuits' must have shape"),
    ],
)
def test_arrays_that_lie_about_charts_are_told(charted, name, change, message):
    with np.load(charted) as file:
        held = {one: file[one] for one in file.files}
    forge(charted, **{name: change(held)})
    with pytest.raises(ModelFileError, match=message):
        HNE.load(charted)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (entry("fit", "core", kl_divergence={"kind": "float", "value": "nan"}), "'core.kl_divergence' must hold"),
        (entry("fit", "core", kl_divergence=None), "Core lacks 'kl_divergence'"),
        (entry("fit", "core", layout_unit=0.0), "'core.layout_unit' must hold numbers"),
        (entry("fit", "core", layout_unit={"kind": "float", "value": "inf"}), "'core.layout_unit' must hold numbers"),
        (entry("fit", "core", charts={"kind": "tuple", "items": [None]}), "neither eigenpairs nor charts"),
        (entry("fit", "core", eigenpairs={"kind": "tuple", "items": [None]}), "neither eigenpairs nor charts"),
        (entry("settings", coordinates="chart"), "must be of 1 components"),
        (entry("settings", coordinates="auto"), "must say which coordinates were used"),
    ],
)
def test_load_rejects_inconsistent_layouts(path, change, message):
    HNE(coordinates="layout").fit(CLOUD).save(path)
    forge(path, change)
    with pytest.raises(ModelFileError, match=message):
        HNE.load(path)


@pytest.mark.parametrize("name", ["cut_edges", "keep_edges"])
def test_edges_of_samples_that_are_not_there_are_told(path, name):
    HNE(**{name: [(3, 49)]}).fit(CLOUD).save(path)
    assert HNE.load(path)._fitted.settings == HNE(**{name: [(3, 49)]}).fit(CLOUD)._fitted.settings
    pair = {"kind": "tuple", "items": [3, 50]}
    forge(path, entry("settings", **{name: {"kind": "tuple", "items": [pair]}}))
    with pytest.raises(ModelFileError, match="its edges must be pairs of 50 samples"):
        HNE.load(path)


def test_lies_in_a_linear_model_are_told(path):
    LinearHNE().fit(CLOUD).save(path)
    good = path.read_bytes()
    lies = [
        (None, {"components": np.zeros((2, 4))}, r"'components' must have shape \(2, 3\), got \(2, 4\)"),
        (None, {"mean": np.full(3, np.nan)}, "'mean' must hold numbers"),
        (None, {"embedding": np.zeros((50, 2), dtype=np.int64)}, "'embedding' .*array of int64"),
        (None, {"embedding": np.zeros(50)}, "damaged or cut short"),
        (None, {"inner_weights.indptr": np.arange(3, dtype=np.int32)}, "must be a CSR matrix"),
        (None, {"eigenvalues": np.full(2, np.nan)}, "'eigenvalues' must hold numbers from 0"),
        (None, {"embedding": np.full((50, 2), np.inf)}, "'embedding' must hold numbers"),
        (entry("fit", rank=4), {}, "'rank' must hold numbers from 2 to 3, got 4"),
        (entry("fit", rank="3"), {}, "'rank' .* another kind .str"),
        (entry("parameters", constraint=1), {}, "constraint must be one of"),
    ]
    for change, arrays, message in lies:
        path.write_bytes(good)
        forge(path, change, **arrays)
        with pytest.raises(ModelFileError, match=message):
            LinearHNE.load(path)


def test_a_linear_model_in_units_whose_squares_are_infinite_comes_back(path):
    model = LinearHNE(constraint="orthonormal").fit(CLOUD * 1e200)
    assert np.isinf(model.eigenvalues_).all()
    model.save(path)
    assert_same(kept(LinearHNE.load(path)), kept(model))


def rezip(path, change, compression=zipfile.ZIP_STORED):
    """Write the members of a zip anew, their bytes changed by a function of name and bytes; None leaves one out."""
    with zipfile.ZipFile(path) as file:
        members = [(name, change(name, file.read(name))) for name in file.namelist()]
    with zipfile.ZipFile(path, "w", compression) as file:
        for name, content in members:
            if content is not None:
                file.writestr(name, content)


def test_compressed_members_are_refused_before_they_are_unpacked(saved):
    rezip(saved, lambda name, content: content + bytes(10**7) * (name == "core.Y.npy"), zipfile.ZIP_DEFLATED)
    assert saved.stat().st_size < 10**5
    with pytest.raises(ModelFileError, match=r"claim more bytes than the file has\. Save the model again"):
        HNE.load(saved)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"(9, 2)", b"(9, 3)"),
        (b"(9, 2)", b"(9, 1)"),
        (b"(9, 2), ", b"(99999999999999, 2), "),
        (b"(9, 2)", b"(-9,-2)"),
        (b"<f8", b"|O"),
        (b"<f8", b"<U2"),
        (b"<f8", b"<c16"),
        (b"'<f8'", b"[('a', '<f8')]"),
        (b"False", b"open(1)"),
        (b"\x93NUMPY\x01", b"\x93NUMPY\x09"),
        (b"\x93NUMPY\x01\x00\x76", b"\x93NUMPY\x01\x00\x36"),
    ],
)
def test_descriptions_of_arrays_are_not_believed(saved, old, new):
    def change(name, content):
        if name != "core.Y.npy":
            return content
        assert old in content
        head = content[:128].replace(old, new)
        # As long as before: spaces stand at the end of the description to be taken away.
        return head.rstrip(b" \n").ljust(127) + b"\n" + content[128:] if len(new) != len(old) else head + content[128:]

    rezip(saved, change)
    with pytest.raises(ModelFileError, match=r"it is damaged or cut short|'core.Y' is (longer|not one of numbers)"):
        HNE.load(saved)


def test_strange_members_are_refused(saved):
    good = saved.read_bytes()
    rezip(saved, lambda name, content: content if name != "core.Y.npy" else b"")
    with pytest.raises(ModelFileError, match="it is damaged or cut short"):
        HNE.load(saved)
    for extra, message in (("run.sh", "members that no model has"), ("Z.npy", "it is damaged or cut short")):
        saved.write_bytes(good)
        with zipfile.ZipFile(saved, "a") as file:
            file.writestr(extra, b"#!/bin/sh")
        with pytest.raises(ModelFileError, match=message):
            HNE.load(saved)
    saved.write_bytes(good)
    with zipfile.ZipFile(saved, "a") as file, pytest.warns(UserWarning, match="Duplicate name"):
        file.writestr("core.Y.npy", b"another")
    with pytest.raises(ModelFileError, match=r"it holds members that no model has|it is damaged"):
        HNE.load(saved)


def test_members_that_claim_more_bytes_than_the_file_has_are_refused(saved):
    content = bytearray(saved.read_bytes())
    entry = content.rindex(b"PK\x01\x02", 0, content.rindex(b"core.Y.npy"))
    struct.pack_into("<II", content, entry + 20, 2**31, 2**31)
    saved.write_bytes(content)
    with pytest.raises(ModelFileError, match="its members claim more bytes than the file has"):
        HNE.load(saved)


def test_a_file_cut_short_anywhere_is_refused(saved):
    content = saved.read_bytes()
    for length in np.random.default_rng(0).integers(0, len(content), size=60):
        saved.write_bytes(content[:length])
        with pytest.raises(ModelFileError, match=r"^cannot read '.*': it is (not a saved model|damaged or cut short)"):
            HNE.load(saved)


def test_a_changed_byte_anywhere_is_refused_or_changes_nothing(saved):
    model, content = HNE.load(saved), saved.read_bytes()
    generator, refused = np.random.default_rng(0), 0
    # The last tenth or so is the directory of the zip, where no checksum watches.
    directory = content.index(b"PK\x01\x02")
    places = [generator.integers(0, directory, size=60), generator.integers(directory, len(content), size=60)]
    for place in np.concatenate(places):
        damaged = bytearray(content)
        damaged[place] ^= generator.integers(1, 256)
        saved.write_bytes(damaged)
        again, message = loaded_or_refused(saved)
        if again is None:
            assert message.startswith("cannot read '")
            refused += 1
        else:
            assert_same(kept(again), kept(model), f"byte {place}")
    assert refused > 70


def test_a_damaged_array_says_which(saved):
    content = bytearray(saved.read_bytes())
    content[content.index(b"core.Y.npy") + 160] ^= 1
    saved.write_bytes(content)
    with pytest.raises(ModelFileError, match=r"damaged or cut short \(Bad CRC-32 for file 'core\.Y\.npy'\)"):
        HNE.load(saved)


def test_reading_runs_nothing_and_needs_no_pickle(saved, monkeypatch):
    def never(*args, **keywords):
        raise AssertionError("a file of data was run")

    monkeypatch.setattr(pickle, "loads", never)
    monkeypatch.setattr(pickle, "load", never)
    monkeypatch.setattr("builtins.eval", never)
    monkeypatch.setattr("builtins.exec", never)
    HNE.load(saved)
    assert "pickle" not in vars(model_file)


def test_a_graph_record_that_points_outside_is_told(path):
    HNE(neighbors=embed(CLOUD).graph).fit(CLOUD).save(path)
    assert isinstance(HNE.load(path).neighbors, NeighborGraph)
    with np.load(path) as file:
        far = file["parameters.neighbors.indices"] + 1
    forge(path, **{"parameters.neighbors.indices": far})
    with pytest.raises(ModelFileError, match="indices of neighbors' must hold numbers from -1 to 49, got 50"):
        HNE.load(path)


def test_samples_that_are_never_moved_have_no_origin(path):
    HNE().fit(SPARSE).save(path)
    origin = {"kind": "array", "name": "units.origin"}
    forge(path, entry("fit", "units", origin=origin), **{"units.origin": np.zeros(30)})
    with pytest.raises(ModelFileError, match=r"'origin' .* must be null for what is not moved"):
        HNE.load(path)
