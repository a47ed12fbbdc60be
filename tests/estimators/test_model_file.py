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
from hne.estimators.model_file import archive
from hne.exceptions import InputError, ModelFileError
from tests.conftest import frozen

DATA = Path(__file__).parents[1] / "data"
ROLL = frozen(make_swiss_roll(120, even=True, random_state=3).X)
CLOUD = frozen(np.random.default_rng(7).normal(size=(50, 3)))
BLOBS = frozen(np.vstack([CLOUD, CLOUD[:20] + 100, np.eye(3) + 300]))
COPIES = frozen(np.vstack([ROLL, ROLL[::3], ROLL[:5]])[::-1])
FRAME = pd.DataFrame(ROLL, columns=["length", "width \N{GREEK SMALL LETTER DELTA}", "height"])
SPARSE = csr_matrix(np.random.default_rng(1).poisson(0.4, size=(80, 30)).astype(float))
DISTANCES = frozen(pairwise_distances(CLOUD))
GRAPH = KNeighborsTransformer(n_neighbors=9).fit_transform(ROLL)
PAIR = tuple(frozen(part) for part in (embed(ROLL).graph.indices, embed(ROLL).graph.distances))

# What kind of model, the model, its samples, new samples.
KINDS = {
    "a roll": (HNE(), ROLL, ROLL[:9] + 0.1),
    "single precision": (HNE(), ROLL.astype(np.float32), ROLL[:9] + 0.1),
    "other variants": (HNE(5, variant="rhne", outer_reg=1e-3, include_self=False), ROLL, ROLL[:9] + 0.1),
    "a data frame": (HNE().set_output(transform="pandas"), FRAME, FRAME[:9] + 0.1),
    "copies": (HNE(), COPIES, ROLL[:9] + 0.1),
    "pieces": (HNE(5), BLOBS, BLOBS[40:] + 0.1),
    "pieces joined": (HNE(5, pieces="join"), BLOBS, BLOBS[40:] + 0.1),
    "the largest piece": (HNE(5, pieces="largest"), BLOBS, CLOUD[:9] + 0.01),
    "tiny pieces alone": (HNE(2), np.kron(np.eye(3), np.eye(3) * 1e3) + np.tile(np.eye(9)[:3], (3, 1)), np.eye(9)),
    "sparse": (HNE(), SPARSE, SPARSE[:9] * 1.5),
    "distances": (HNE(metric="precomputed"), DISTANCES, DISTANCES[:9] * 1.1),
    "sparse distances": (HNE(4, metric="precomputed"), csr_array(DISTANCES), csr_array(DISTANCES[:9] * 1.1 + 0.1)),
    "huge units": (HNE(), ROLL * 1e200 + 1e201, ROLL[:9] * 1.1e200 + 1e201),
    "tiny units": (HNE(), ROLL * 1e-200, ROLL[:9] * 1.1e-200),
    "huge sparse": (HNE(), SPARSE * 1e200, SPARSE[:9] * 1.5e200),
    "a sparse graph": (HNE(neighbors=GRAPH), ROLL, ROLL[:9] + 0.1),
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
    "linear": (LinearHNE(), ROLL, ROLL[:9] + 0.1),
    "linear, single precision": (LinearHNE(constraint="orthonormal"), ROLL.astype(np.float32), ROLL[:9] + 0.1),
    "linear, a data frame": (LinearHNE(), FRAME, FRAME[:9] + 0.1),
    "linear, copies": (LinearHNE(neighbors="exact"), COPIES, ROLL[:9] + 0.1),
}
kinds = pytest.mark.parametrize("kind", KINDS)


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


@kinds
def test_pickled_models_come_back_to_the_bit(kind, path):
    model, new = fitted(kind)
    assert_alike(model, pickle.loads(pickle.dumps(model)), new)
    joblib.dump(model, path)
    assert_same(kept(model), kept(joblib.load(path)))


@pytest.mark.parametrize("kind", ["a roll", "copies", "sparse distances"])
def test_pickles_do_not_carry_what_is_made_again(kind):
    model, new = fitted_anew(kind)
    small = len(pickle.dumps(model))
    model.transform(new), model.joint_weights_, repr(model._fitted), model._fitted.graph, model._fitted.pieces
    assert len(pickle.dumps(model)) <= small
    assert "weights" in vars(model._fitted)
    assert "weights" not in vars(pickle.loads(pickle.dumps(model))._fitted)


@pytest.mark.parametrize("kind", ["a roll", "a sparse graph", "a pair", "an array of the metric", "linear"])
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
    forge(path, lambda header: header["parameters"].update(neighbors="approximate"))
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


def test_members_of_gigabytes_are_written_in_the_long_form_of_zip(path, monkeypatch):
    monkeypatch.setattr("hne.estimators.model_file.archive.LONG_BYTES", 0)
    model = HNE().fit(CLOUD)
    model.save(path)
    assert_same(kept(HNE.load(path)), kept(model))


def test_a_file_is_about_as_large_as_its_arrays(path):
    HNE().fit(make_swiss_roll(1000, random_state=0).X).save(path)
    with np.load(path, allow_pickle=False) as file:
        held = sum(file[name].nbytes for name in file.files)
    assert path.stat().st_size < held + 400 * 30


def test_numpy_alone_reads_embedding_weights_neighbors_and_samples(path):
    X = COPIES * 1e200
    model = HNE().fit(X)
    model.save(path)
    with np.load(path, allow_pickle=False) as file:
        header = json.loads(file["header"].tobytes())
        place, first = file["place"], file["first"]
        np.testing.assert_array_equal((file["rescaled.Y"] / header["scale"])[place], model.embedding_)
        np.testing.assert_array_equal(file["Y"], model._fitted.eigenpairs.vectors[:, :2])
        np.testing.assert_array_equal(np.sort(first[file["short_circuits"]], axis=1), model.short_circuits_)
        samples = (file["X"] / 2 + file["units.origin"] * (header["scale"] / 2)) / (header["scale"] / 2)
        np.testing.assert_allclose(samples[place], X)
        listed = file["neighbors.indices"]
        neighbors = np.where(listed >= 0, first[listed], -1)[place]
        J = csr_array((file["J.data"], file["J.indices"], file["J.indptr"]), shape=(len(first), len(first)))
    np.testing.assert_array_equal(neighbors, model._fitted.graph.indices)
    np.testing.assert_array_equal(J[place].toarray(), model.joint_weights_[:, first].toarray())
    assert (header["format"], header["version"], header["hne"]) == ("hne-model", 1, __version__)
    assert header["class"] == "HierarchicNeighborsEmbedding"


def test_files_of_the_first_version_are_read_for_ever():
    line = np.outer([0.0, 1.0, 4.0, 8.0, 12.0], [3.0, 4.0])
    linear = LinearHNE.load(DATA / "linear-1.hne")
    np.testing.assert_allclose(linear.mean_, [15.0, 20.0])
    np.testing.assert_allclose(linear.transform(line)[:, 0], [-0.5, -0.4, -0.1, 0.3, 0.7])
    model = HNE.load(DATA / "line-1.hne")
    assert (model.n_neighbors, model.n_components, model.n_distinct_, model.n_pieces_) == (2, 1, 5, 1)
    # In order, centered and of length one over the distinct samples.
    Y = model.embedding_[:5, 0] * np.sign(model.embedding_[4, 0])
    assert (np.diff(Y) > 0).all()
    np.testing.assert_allclose([Y.sum(), Y @ Y], [0.0, 1.0], atol=1e-14)
    # As it was made, whatever has become the default since.
    assert (model.coordinates, model.short_circuits, len(model.short_circuits_)) == ("eigenvectors", "keep", 0)
    np.testing.assert_array_equal(model.transform(line[[0, 4, 1]]), model.embedding_[[0, 4, 5]])
    np.testing.assert_allclose(model.inverse_transform(model.embedding_[:5]), line)


# What cannot be saved.


@pytest.mark.parametrize("model", [HNE(), LinearHNE()])
def test_a_model_that_is_not_fitted_is_not_saved(model, path):
    with pytest.raises(NotFittedError, match="not fitted yet"):
        model.save(path)
    assert not path.exists()


def manhattan(a, b):
    return np.abs(a - b).sum()


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (
            HNE(metric=manhattan),
            r"^metric must be a name to be saved, got the function manhattan\. Fit with a metric of",
        ),
        (
            HNE(random_state=np.random.RandomState(0)),
            r"^random_state must be an integer or None to be saved, got Random",
        ),
        (HNE(metric_params={"w": object()}, neighbors="exact"), r"^metric_params\.w must be made of numbers, text and"),
        (
            HNE(metric_params={1: 2}),
            r"^metric_params must be made of numbers, text and arrays .* got dict\. Convert it",
        ),
        (HNE(metric_params={"w": np.ones(3, dtype=complex)}), r"^metric_params\.w must be made of numbers, .* ndarray"),
        (LinearHNE(random_state=np.random.RandomState(0)), r"^random_state must be an integer or None to be saved"),
    ],
)
def test_what_no_file_can_hold_is_named_and_nothing_is_written(model, message, path):
    X = CLOUD
    wanted = model.get_params()
    model.set_params(**{name: type(model)().get_params()[name] for name in ("metric_params", "metric", "random_state")})
    model.fit(X).set_params(**wanted)
    with pytest.raises(InputError, match=message):
        model.save(path)
    assert not list(path.parent.iterdir())


def test_a_function_of_the_fit_is_named_whatever_was_set_since(path):
    model = HNE(metric=manhattan).fit(CLOUD).set_params(metric="euclidean")
    with pytest.raises(InputError, match=r"^metric must be a name to be saved, got the function manhattan"):
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


def forge(path, change=None, describe=True, **arrays):
    """Write a saved model anew with NumPy's own means, its header and arrays changed; None leaves an array out."""
    with np.load(path, allow_pickle=False) as file:
        held = {name: file[name] for name in file.files}
    header = json.loads(held.pop("header").tobytes())
    held = {name: array for name, array in (held | arrays).items() if array is not None}
    if describe:
        header["arrays"] = {name: [one.dtype.str, list(one.shape)] for name, one in held.items()}
    if change is not None:
        header = change(header) or header
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    with path.open("wb") as file:
        np.savez(file, header=np.frombuffer(text, dtype=np.uint8), **held)


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A file of ten samples, one of them a copy, in two pieces."""
    X = np.vstack([np.eye(4), np.eye(4) + 100, [[1.0, 0.0, 0.0, 0.0]], [[1.0, 1.0, 0.0, 0.0]]])
    path = tmp_path_factory.mktemp("small") / "model.hne"
    HNE(2).fit(X).save(path)
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
    with pytest.raises(
        ModelFileError,
        match=r"^cannot read '.*': it is a directory\. Pass the file that save, or hne embed --save, wrote\.$",
    ):
        LinearHNE.load(tmp_path)


@pytest.mark.parametrize("content", [b"", b"PK", b"x,y\n1,2\n", pickle.dumps([1, 2]), b"\x93NUMPY" * 20])
def test_other_files_are_told(path, content):
    path.write_bytes(content)
    with pytest.raises(ModelFileError, match=r"^cannot read '.*': it is not a saved model\. Pass the file that save"):
        HNE.load(path)


def test_foreign_archives_are_told(path):
    for foreign in ({"a": np.ones(3)}, {"header": np.ones(3)}, {"header": np.frombuffer(b'{"format": 1}', np.uint8)}):
        with path.open("wb") as file:
            np.savez(file, **foreign)
        with pytest.raises(ModelFileError, match=r"it is not a saved model \(.*header.*\)\. Pass the file that save"):
            HNE.load(path)
    with path.open("wb") as file:
        np.savez_compressed(file, header=np.zeros(10))
    with pytest.raises(ModelFileError, match="array 'header' must not be compressed"):
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


def test_a_later_format_asks_for_an_update_whatever_else_it_holds(saved):
    forge(saved, lambda header: {"format": "hne-model", "version": 2}, future=np.array(["text"]))
    later = r"it was written by a later hne \(format 2, this one reads up to 1\)\. Update hne\.$"
    with pytest.raises(ModelFileError, match=later):
        HNE.load(saved)


def test_parameters_that_are_younger_than_the_file_get_their_defaults(saved):
    forge(saved, lambda header: header["parameters"].pop("tol") and None)
    assert HNE.load(saved).tol == HNE().tol


DEEP = b'{"format": "hne-model", "version": 1, "x": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda header: b"\xff\xfe", "no header of 'hne-model'"),
        (lambda header: b"[1, 2]", "no header of 'hne-model'"),
        (lambda header: DEEP, "no header of 'hne-model'"),
        (lambda header: b'{"format": "hne-model", "version": NaN}', "no header of 'hne-model'"),
        (lambda header: header.update(format="other"), "no header of 'hne-model'"),
        (lambda header: header.update(version="1"), "'version' in its header must be int, got str"),
        (lambda header: header.update(version=True), "'version' in its header must be int, got bool"),
        (lambda header: header.update(version=0), "'version' in its header must be at least 1, got 0"),
        (lambda header: header.pop("class") and None, "its header lacks 'class'"),
        (lambda header: header.pop("parameters") and None, "its header lacks 'parameters'"),
        (lambda header: header.pop("n_features_in") and None, "its header lacks 'n_features_in'"),
        (lambda header: header.pop("kernel") and None, "its header lacks 'kernel'"),
        (lambda header: header.pop("arrays") and None, "its header lacks 'arrays'"),
        (lambda header: header.update(parameters=[1]), "'parameters' in its header must be dict, got list"),
        (lambda header: header.update(arrays={}), "array 'J.data' is not in its header"),
        (lambda header: header["arrays"].update(Z=["<f8", [1]]), "array 'Z' is missing"),
        (lambda header: header["arrays"].update(Y=["<f8", [1]]), "its arrays are not those that its header lists"),
        (lambda header: header["parameters"].update(n_neighbors=-1), "not valid .n_neighbors must be at least 1"),
        (lambda header: header["parameters"].update(n_neighbors=2.0), "not valid .n_neighbors must be an integer"),
        (lambda header: header["parameters"].update(gamma=1e300), "not valid .gamma must be between"),
        (lambda header: header["parameters"].update(variant=None), "not valid .variant must be one of"),
        (lambda header: header["parameters"].update(metric="os.system"), "not valid .metric must be one of"),
        (lambda header: header["parameters"].update(neighbors="given"), "not valid .neighbors must be one of"),
        (
            lambda header: header["parameters"].update(neighbors=[[[9]], None]),
            "not valid .neighbors must be numbers of",
        ),
        (lambda header: header["parameters"].update(random_state="x"), "not valid .random_state must be an integer"),
        (lambda header: header["parameters"].update(metric_params=3), "not valid .metric_params must be a dict"),
        (lambda header: header["parameters"].update(shell="rm"), "'shell' in its header is not a parameter of Hier"),
        (lambda header: header["parameters_of_fit"].update(x=1), "'x' in its header is not a parameter of Hier"),
        (
            lambda header: header["parameters_of_fit"].update(n_components=7),
            r"'Y' must have shape \(9, 7\), got \(9, 2\)",
        ),
        (
            lambda header: header["parameters_of_fit"].update(metric="precomputed"),
            "samples do not go with metric='prec",
        ),
        (lambda header: header["parameters"].update(metric={"kind": "call"}), r"no kind that is known \('call'\)"),
        (
            lambda header: header["parameters"].update(tol={"kind": "float", "value": "1e-7"}),
            "a number in its header is",
        ),
        (
            lambda header: header["parameters"].update(neighbors={"kind": "array", "name": "no"}),
            "array 'no' is missing",
        ),
        (lambda header: header["parameters"].update(neighbors={"kind": "array"}), "its header lacks 'name'"),
        (
            lambda header: header["parameters"].update(neighbors={"kind": "csr_array", "name": "W", "shape": [9]}),
            "a sparse matrix in its header has no shape",
        ),
        (
            lambda header: header["parameters"].update(neighbors={"kind": "csr_array", "name": "W", "shape": [9, 2]}),
            "'W.indices' must hold numbers from 0 to 1",
        ),
        (
            lambda header: header["parameters"].update(
                neighbors={"kind": "graph", "name": "W", "method": "given", "recall": 1.0}
            ),
            r"array 'W.indices' must be of kind i8, got <i4",
        ),
        (lambda header: header.update(n_features_in=5), r"array 'X' must have shape \(9, 5\), got \(9, 4\)"),
        (lambda header: header.update(n_features_in=0), "'n_features_in' and 'feature_names_in' .* belong together"),
        (lambda header: header.update(feature_names_in=["a"]), "'n_features_in' and 'feature_names_in' .* belong"),
        (
            lambda header: header.update(feature_names_in=[1, 2, 3, 4]),
            "'n_features_in' and 'feature_names_in' .* belong",
        ),
        (lambda header: header.update(set_output="exec"), r"'set_output' in its header is unknown \('exec'\)"),
        (lambda header: header.update(kernel="numpyx"), "'kernel' in its header must be one of numpy, numba, got"),
        (lambda header: header.update(dtype="object"), "'dtype' in its header must be one of float32, float64, got"),
        (lambda header: header.update(samples="distances"), "its samples do not go with metric='euclidean'"),
        (lambda header: header.update(is_sparse=1), "'is_sparse' in its header must be bool, got int"),
        (lambda header: header.update(is_sparse=True), "array 'X.data' is missing"),
        (lambda header: header.update(is_moved=True), "array 'units.origin' is missing"),
        (lambda header: header.update(scale=0), "'scale' in its header must be a power of two, got 0.0"),
        (lambda header: header.update(scale=3.0), "'scale' in its header must be a power of two, got 3.0"),
        (
            lambda header: header["parameters"].update(n_rounds=10**18),
            "not valid .n_rounds must be at most 1000, got 1",
        ),
        (lambda header: header["parameters"].update(n_neighbors=9), "n_neighbors=9 does not go with its 9 samples"),
        (lambda header: header.update(neighbor_recall=1.5), "'neighbor_recall' .* must be between 0 and 1, got 1.5"),
        (
            lambda header: header.update(scale={"kind": "float", "value": "nan"}),
            "'scale' .* must be a power of two, got nan",
        ),
        (lambda header: header.update(scale={"kind": "tuple", "items": []}), "'scale' in its header must be a number"),
        (lambda header: header.update(neighbor_recall=10**400), "'neighbor_recall' .* a number that float64 holds"),
        (lambda header: header.update(eigen_solvers=[]), "'eigen_solvers' in its header must name a solver"),
        (lambda header: header.update(eigen_solvers=[1, 2]), "'eigen_solvers' in its header must name a solver"),
        (lambda header: header.update(eigen_solvers=["a"]), r"array 'eigen.ends' must have shape \(2,\), got \(3,\)"),
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


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("Y", lambda held: None, "array 'Y' is missing"),
        ("W.indptr", lambda held: None, "array 'W.indptr' is missing"),
        ("eigen.gap", lambda held: None, "array 'eigen.gap' is missing"),
        ("Y", lambda held: held["Y"].astype(np.float32), "array 'Y' must be of kind f8, got <f4"),
        ("place", lambda held: held["place"].astype(float), "array 'place' must be of kind i8, got <f8"),
        ("Y", lambda held: held["Y"][:-1], r"array 'Y' must have shape \(9, 2\), got \(8, 2\)"),
        ("Y", lambda held: held["Y"][:, 0], r"array 'Y' must have shape \(9, 2\), got \(9,\)"),
        ("first", lambda held: held["first"][:0], "array 'place' must hold numbers from 0 to -1"),
        ("neighbors.indices", lambda held: held["neighbors.indices"][:, :0], "'neighbors.indices' must have columns"),
        (
            "neighbors.distances",
            lambda held: held["neighbors.distances"][:, :1],
            "'neighbors.distances' must have shape",
        ),
        ("J.indices", lambda held: held["J.indices"].astype(np.int64), "'J.indices' must be of kind i4, got <i8"),
        ("J.indices", lambda held: held["J.indices"][1:], "array 'J.indices' must have shape"),
        ("J.indptr", lambda held: held["J.indptr"][::-1].copy(), r"array 'J.indptr' must ascend from 0 to"),
        ("pieces.sizes", lambda held: held["pieces.sizes"][::-1].copy(), "'pieces.sizes' must belong together"),
        (*changed("Y", (0, 0), np.nan), "array 'Y' must have coordinates in all columns of a row, or in none"),
        (*changed("X", (0, 0), np.inf), "array 'X' must be finite, got inf or NaN"),
        (*changed("W.data", 0, np.nan), "array 'W.data' must be finite, got inf or NaN"),
        (*changed("place", 0, -1), "array 'place' must hold numbers from 0 to 8, got -1"),
        (*changed("place", 0, 9), "array 'place' must hold numbers from 0 to 8, got 9"),
        (*changed("first", 0, 10**15), "array 'first' must hold numbers from 0 to 9, got 1000000000000000"),
        (*changed("first", 0, 9), "arrays 'first' and 'place' must belong together"),
        (*changed("neighbors.indices", (0, 0), 9), "array 'neighbors.indices' must hold numbers from -1 to 8, got 9"),
        (*changed("neighbors.indices", (0, 1), -2), "array 'neighbors.indices' must hold numbers from -1 to 8, got -2"),
        (*changed("neighbors.indices", (0, 0), -1), "'neighbors.indices' must list other samples, and -1 behind"),
        (*changed("neighbors.indices", (0, 0), 0), "'neighbors.indices' must list other samples, and -1 behind"),
        (*changed("pieces.labels", 0, 2), "array 'pieces.labels' must hold numbers from 0 to 1, got 2"),
        (*changed("W.indices", 0, -1), "array 'W.indices' must hold numbers from 0 to 8, got -1"),
        (*changed("J.indices", 0, 2**31 - 1), "array 'J.indices' must hold numbers from 0 to 8, got 2147483647"),
        (*changed("J.indptr", 1, 10**6), "array 'J.indptr' must ascend from 0 to"),
        (*changed("J.indptr", 0, 1), "array 'J.indptr' must ascend from 0 to"),
        (*changed("J.indptr", -1, 3), "array 'J.indptr' must ascend from 0 to"),
        (*changed("eigen.ends", 1, 10**6), "array 'eigen.ends' must hold numbers from 0 to 9, got 1000000"),
        (*changed("eigen.ends", 0, 1), "array 'eigen.ends' must ascend from 0 to 9"),
        (*changed("Y", 0, np.inf), "array 'Y' must be finite where samples are embedded, got inf"),
        (*changed("W.data", 0, 7.0), "array 'W.data' must hold weights that sum to one in each row"),
        (*changed("J.data", 0, 1e308), "array 'J.data' must hold numbers up to 2e.90, got 1e.308"),
        (*changed("X", (0, 0), 1e308), "array 'X' must hold numbers up to 2e.90, got 1e.308"),
        (*changed("Y", 0, -1e308), "array 'Y' must hold numbers up to 2e.90, got -1e.308"),
        (*changed("rescaled.Y", 0, 1e308), "array 'rescaled.Y' must hold numbers up to 3e.150, got 1e.308"),
        (*changed("reconstruction_errors", 0, -1.0), "'reconstruction_errors' must hold numbers of zero and more"),
        (*changed("neighbors.distances", (0, 0), -1.0), "'neighbors.distances' must hold numbers of zero and more"),
        (*changed("eigen.values", (0, 0), -1.0), "array 'eigen.values' must ascend from zero or more"),
        (*changed("eigen.values", (0, 0), 1e9), "array 'eigen.values' must ascend from zero or more"),
        (*changed("eigen.values", (0, 0), np.nan), "array 'eigen.values' must have 2 numbers at least for a piece"),
        (*changed("eigen.residuals", (0, 0), np.nan), "array 'eigen.residuals' must hold numbers of zero and more"),
        (*changed("eigen.next_value", 0, np.nan), "array 'eigen.next_value' must hold numbers of zero and more"),
        (*changed("eigen.gap", 0, np.nan), "array 'eigen.gap' must hold numbers of zero and more"),
        (*changed("eigen.rounding", 0, -1.0), "array 'eigen.rounding' must hold numbers of zero and more"),
        (*changed("eigen.vectors", (0, 0), np.nan), "array 'eigen.vectors' must hold entries of unit vectors"),
        (*changed("rescaled.Y", 0, np.inf), "array 'rescaled.Y' must have coordinates where 'Y' has"),
    ],
)
def test_arrays_that_lie_are_told(saved, name, change, message):
    with np.load(saved) as file:
        held = {one: file[one] for one in file.files}
    forge(saved, **{name: change(held)})
    with pytest.raises(ModelFileError, match=rf"^cannot read '.*model\.hne': .*{message}.*\. Save the model again"):
        HNE.load(saved)


def test_lies_in_a_linear_model_are_told(path):
    LinearHNE().fit(CLOUD).save(path)
    good = path.read_bytes()
    lies = [
        (None, {"components": np.zeros((2, 4))}, r"array 'components' must have shape \(2, 3\), got \(2, 4\)"),
        (None, {"mean": np.full(3, np.nan)}, "array 'mean' must be finite"),
        (None, {"embedding": np.zeros((50, 2), dtype=np.int64)}, "array 'embedding' must be of kind f4 or f8"),
        (None, {"W.indptr": np.arange(3, dtype=np.int32)}, r"array 'W.indptr' must have shape \(51,\)"),
        (lambda header: header.update(rank=4), {}, "'rank' in its header must be between 2 and 3, got 4"),
        (None, {"eigenvalues": np.full(2, np.nan)}, "array 'eigenvalues' must be finite"),
        (None, {"embedding": np.full((50, 2), np.inf)}, "array 'embedding' must be finite"),
        (lambda header: header.update(rank="3"), {}, "'rank' in its header must be int, got str"),
        (lambda header: header["parameters"].update(constraint=1), {}, "not valid .constraint must be one of"),
    ]
    for change, arrays, message in lies:
        path.write_bytes(good)
        forge(path, change, **arrays)
        with pytest.raises(ModelFileError, match=message):
            LinearHNE.load(path)


def rezip(path, change, compression=zipfile.ZIP_STORED):
    """Write the members of a zip anew, their bytes changed by a function of name and bytes; None leaves one out."""
    with zipfile.ZipFile(path) as file:
        members = [(name, change(name, file.read(name))) for name in file.namelist()]
    with zipfile.ZipFile(path, "w", compression) as file:
        for name, content in members:
            if content is not None:
                file.writestr(name, content)


def test_compressed_members_are_refused_before_they_are_unpacked(saved):
    rezip(saved, lambda name, content: content + bytes(10**7) * (name == "Y.npy"), zipfile.ZIP_DEFLATED)
    assert saved.stat().st_size < 10**5
    with pytest.raises(ModelFileError, match=r"array 'header' must not be compressed\. Save the model again"):
        HNE.load(saved)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (b"(9, 2)", b"(9, 3)", r"array 'Y' claims shape \(9, 3\), which its 272 bytes do not hold"),
        (b"(9, 2), ", b"(99999999999999, 2), ", r"array 'Y' claims shape"),
        (b"(9, 2)", b"(-9,-2)", "array 'Y' is not one of numbers"),
        (b"<f8", b"|O", "array 'Y' is not one of numbers as NumPy writes it"),
        (b"<f8", b"<U2", "array 'Y' is not one of numbers as NumPy writes it"),
        (b"<f8", b"<c16", "array 'Y' is not one of numbers as NumPy writes it"),
        (b"'<f8'", b"[('a', '<f8')]", "array 'Y' is not one of numbers as NumPy writes it"),
        (b"False", b"open(1)", "array 'Y' is not one of numbers as NumPy writes it"),
        (b"\x93NUMPY\x01", b"\x93NUMPY\x09", "array 'Y' is not one of numbers as NumPy writes it"),
        (b"\x93NUMPY\x01\x00\x76", b"\x93NUMPY\x01\x00\x36", "array 'Y' is not one of numbers as NumPy writes it"),
    ],
)
def test_descriptions_of_arrays_are_not_believed(saved, old, new, message):
    def change(name, content):
        if name != "Y.npy":
            return content
        assert old in content
        head = content[:128].replace(old, new)
        # As long as before: spaces stand at the end of the description to be taken away.
        return head.rstrip(b" \n").ljust(127) + b"\n" + content[128:] if len(new) != len(old) else head + content[128:]

    rezip(saved, change)
    with pytest.raises(ModelFileError, match=message):
        HNE.load(saved)


def test_strange_members_are_refused(saved):
    good = saved.read_bytes()
    rezip(saved, lambda name, content: content if name != "Y.npy" else b"")
    with pytest.raises(ModelFileError, match="array 'Y' is not one of numbers as NumPy writes it"):
        HNE.load(saved)
    for extra, message in (("run.sh", "members that no model has"), ("Z.npy", "array 'Z' is not one of numbers")):
        saved.write_bytes(good)
        with zipfile.ZipFile(saved, "a") as file:
            file.writestr(extra, b"#!/bin/sh")
        with pytest.raises(ModelFileError, match=message):
            HNE.load(saved)
    saved.write_bytes(good)
    with zipfile.ZipFile(saved, "a") as file, pytest.warns(UserWarning, match="Duplicate name"):
        file.writestr("Y.npy", b"another")
    with pytest.raises(ModelFileError, match="it holds members that no model has"):
        HNE.load(saved)


def test_members_that_claim_more_bytes_than_the_file_has_are_refused(saved):
    content = bytearray(saved.read_bytes())
    entry = content.rindex(b"PK\x01\x02", 0, content.rindex(b"Y.npy"))
    struct.pack_into("<II", content, entry + 20, 2**31, 2**31)
    saved.write_bytes(content)
    with pytest.raises(ModelFileError, match="its members claim more bytes than the file has"):
        HNE.load(saved)


def test_a_file_cut_short_anywhere_is_refused(saved):
    content = saved.read_bytes()
    for length in np.random.default_rng(0).integers(0, len(content), size=300):
        saved.write_bytes(content[:length])
        with pytest.raises(ModelFileError, match=r"^cannot read '.*': it is (not a saved model|cut short)\. .*\.$"):
            HNE.load(saved)


def test_a_changed_byte_anywhere_is_refused_or_changes_nothing(saved):
    model, content = HNE.load(saved), saved.read_bytes()
    generator, refused = np.random.default_rng(0), 0
    # The last tenth or so is the directory of the zip, where no checksum watches.
    directory = content.index(b"PK\x01\x02")
    places = [generator.integers(0, directory, size=250), generator.integers(directory, len(content), size=250)]
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
    assert refused > 300


def test_a_damaged_array_says_which(saved):
    content = bytearray(saved.read_bytes())
    content[content.index(b"Y.npy") + 150] ^= 1
    saved.write_bytes(content)
    with pytest.raises(ModelFileError, match=r"it is damaged \(Bad CRC-32 for file 'Y\.npy'\)\. Save the model again"):
        HNE.load(saved)


def test_reading_runs_nothing_and_needs_no_pickle(saved, monkeypatch):
    def never(*args, **keywords):
        raise AssertionError("a file of data was run")

    monkeypatch.setattr(pickle, "loads", never)
    monkeypatch.setattr(pickle, "load", never)
    monkeypatch.setattr("builtins.eval", never)
    monkeypatch.setattr("builtins.exec", never)
    HNE.load(saved)
    assert "pickle" not in vars(archive)


def test_a_graph_record_that_points_outside_is_told(path):
    HNE(neighbors=embed(CLOUD).graph).fit(CLOUD).save(path)
    assert isinstance(HNE.load(path).neighbors, NeighborGraph)
    with np.load(path) as file:
        far = file["parameters.neighbors.indices"] + 1
    forge(path, **{"parameters.neighbors.indices": far})
    with pytest.raises(
        ModelFileError, match=r"'parameters\.neighbors\.indices' must hold numbers from -1 to 49, got 50"
    ):
        HNE.load(path)


def test_samples_that_are_never_moved_have_no_origin(path):
    HNE().fit(SPARSE).save(path)
    forge(path, lambda header: header.update(is_moved=True), **{"units.origin": np.zeros(30)})
    with pytest.raises(ModelFileError, match="'is_moved' in its header must be false for what is not moved"):
        HNE.load(path)
