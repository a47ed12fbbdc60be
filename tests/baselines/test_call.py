"""baseline_embedding: methods of others do what they are known for, and say so where they cannot."""

import logging
import warnings
from functools import cache

import numpy as np
import pytest
from scipy.linalg import subspace_angles
from scipy.sparse import csr_array
from scipy.stats import ortho_group
from sklearn import config_context, get_config
from sklearn.decomposition import PCA
from sklearn.manifold import Isomap, LocallyLinearEmbedding

from hne.baselines import BASELINES, METHODS, baseline_embedding, call, methods
from hne.datasets import make_swiss_roll
from hne.exceptions import (
    BaselineError,
    DisconnectedGraphWarning,
    InputError,
    InputTypeError,
    MissingExtraError,
    TooLargeError,
)
from hne.metrics import affine_errors
from tests.conftest import frozen

SKLEARN = {"lle": "standard", "mlle": "modified", "hlle": "hessian", "ltsa": "ltsa"}
LINEAR = ("lle", "mlle", "hlle", "ltsa")


def each(names):
    """A test for each of the methods, skipped where it is not installed; PHATE often warns that it could go on."""
    goes_on = pytest.mark.filterwarnings("ignore:PHATE of phate. SGD-MDS may not have converged")
    marks = {name: [pytest.mark.skipif(not BASELINES[name].is_installed, reason=f"no {name}")] for name in names}
    for name in {"umap", "phate"} & set(names):
        marks[name] += [pytest.mark.slow, goes_on]  # compiled, or loaded, for many seconds
    return pytest.mark.parametrize("method", [pytest.param(name, marks=marks[name]) for name in names])


every_method = each(METHODS)
every_relative_of_lle = each(LINEAR)
every_method_with_defaults = each([name for name in METHODS if name not in LINEAR])
every_method_of_sklearn = pytest.mark.parametrize("method", SKLEARN)


@pytest.fixture(scope="module")
def plane():
    """A sheet of two by one, turned in three dimensions, with a jittered lattice of samples; and its chart."""
    rng = np.random.default_rng(0)
    lattice = np.stack(np.meshgrid(np.arange(20.0), np.arange(10.0)), axis=-1).reshape(-1, 2)
    chart = (lattice + rng.uniform(-0.35, 0.35, lattice.shape)) / 10
    return frozen(chart @ ortho_group.rvs(3, random_state=0)[:2] + 5), chart


@pytest.fixture(scope="module")
def strip(plane):
    """A part of the sheet, twenty by four, for what takes long."""
    return plane[0][:80]


@pytest.fixture(scope="module")
def even_roll():
    return make_swiss_roll(800, even=True, random_state=0)


def islands(count, size=30):
    """Curved sheets far from each other, one above the other."""
    rng = np.random.default_rng(1)
    u, v = rng.random((2, size))
    sheet = np.column_stack([u, v, u**2 + v**3])
    return np.vstack([sheet * (1 + 0.1 * number) + 100 * number for number in range(count)])


def embeds_as(monkeypatch, answer):
    monkeypatch.setattr(call.LocallyLinearEmbedding, "fit_transform", answer)


@every_relative_of_lle
def test_a_flat_sheet_is_recovered(plane, method):
    X, chart = plane
    assert affine_errors(baseline_embedding(method, X, n_neighbors=8), chart).max() < 1e-3


@pytest.mark.parametrize(("method", "largest"), [("lle", 0.1), ("mlle", 0.02), ("hlle", 0.002), ("ltsa", 0.002)])
def test_a_dense_roll_is_unrolled_as_well_as_the_method_can(even_roll, method, largest):
    Y = baseline_embedding(method, even_roll.X, n_neighbors=8)
    assert affine_errors(Y, even_roll.chart).max() < largest


@every_method_of_sklearn
def test_the_answer_is_that_of_scikit_learn(method):
    X = make_swiss_roll(200, even=True, random_state=1).X
    model = LocallyLinearEmbedding(n_neighbors=7, method=SKLEARN[method], eigen_solver="dense")
    # Its mean, which is not zero where several eigenvalues are, is nobody's concern.
    theirs, ours = (Y - Y.mean(axis=0) for Y in (model.fit_transform(X), baseline_embedding(method, X, n_neighbors=7)))
    assert subspace_angles(ours, theirs).max() < 1e-6


@pytest.fixture(scope="module")
def expected(strip):
    """What a method makes of the strip, once for all tests."""
    return cache(lambda method: baseline_embedding(method, strip, n_neighbors=8))


@every_method
def test_reg_matters_where_the_record_says_so_and_nowhere_else(strip, expected, method):
    loose = baseline_embedding(method, strip, n_neighbors=8, reg=1e-1)
    assert np.array_equal(loose, expected(method)) is not BASELINES[method].uses_reg


@every_method
def test_copies_count_once_and_the_order_of_the_samples_does_not_matter(strip, expected, method):
    rows = np.random.default_rng(2).permutation(np.repeat(np.arange(len(strip)), 3))
    Y = baseline_embedding(method, strip[rows], n_neighbors=8)
    np.testing.assert_array_equal(Y, expected(method)[rows])


CONFIGS = [
    {"transform_output": "pandas", "assume_finite": True, "skip_parameter_validation": True},
    {"transform_output": "polars", "sparse_interface": "sparray", "enable_metadata_routing": True},
]


@every_method
@pytest.mark.parametrize("config", CONFIGS, ids=["pandas, unchecked", "polars, sparse arrays, routed"])
def test_arrays_come_back_whatever_scikit_learn_is_told_to_give_to_others(strip, expected, method, config):
    pytest.importorskip(config["transform_output"])
    with config_context(**{name: value for name, value in config.items() if name in get_config()}):
        Y = baseline_embedding(method, strip, n_neighbors=8)
    assert type(Y) is np.ndarray
    assert Y.dtype == np.float64
    np.testing.assert_array_equal(Y, expected(method))


def test_names_and_labels_are_those_of_the_literature():
    labels = ["LLE", "MLLE", "HLLE", "LTSA", "PCA", "Isomap", "Spectral", "t-SNE", "UMAP", "PHATE"]
    assert [BASELINES[method].label for method in METHODS] == labels
    assert all(BASELINES[method].name == method for method in METHODS)


@pytest.fixture
def told(monkeypatch):
    """What estimators are told beyond their defaults, a dictionary a call; none of them runs."""
    calls = []

    def fitted_coordinates(baseline, model, X, pieces, settings):
        defaults = type(model)().get_params()
        calls.append({name: value for name, value in model.get_params().items() if value != defaults[name]})
        return np.zeros((len(X), 2))

    monkeypatch.setattr(call, "fitted_coordinates", fitted_coordinates)
    return calls


@every_method_with_defaults
def test_estimators_keep_their_own_defaults_and_take_the_neighbors_that_are_named(plane, told, method):
    baseline_embedding(method, plane[0], random_state=3, n_jobs=2)
    baseline_embedding(method, plane[0], random_state=3, n_jobs=2, n_neighbors=9)
    assert told[0].keys() <= {"n_components", "random_state", "n_jobs", "verbose"}
    assert told[0].get("random_state", 3) == 3
    neighbors = {"isomap": "n_neighbors", "spectral": "n_neighbors", "umap": "n_neighbors", "phate": "knn"}
    assert told[1] == told[0] | ({neighbors[method]: 9} if method in neighbors else {})


@pytest.mark.parametrize(("n", "perplexity"), [(4, 1.0), (10, 3.0), (91, None), (200, None)])
def test_the_perplexity_fits_few_samples(plane, told, n, perplexity):
    baseline_embedding("tsne", plane[0][:n])
    assert told[0].get("perplexity") == perplexity


def test_four_samples_are_enough_for_what_has_no_neighbors(plane):
    for method in ("pca", "tsne"):
        assert baseline_embedding(method, plane[0][:4]).shape == (4, 2)


@pytest.mark.parametrize(("method", "model"), [("pca", PCA(2)), ("isomap", Isomap())])
def test_the_answer_is_that_of_the_estimator_but_for_signs(even_roll, method, model):
    X = even_roll.X[:300]
    theirs = model.fit_transform(X)
    scale = np.abs(theirs).max()
    np.testing.assert_allclose(np.abs(baseline_embedding(method, X)), np.abs(theirs), atol=1e-6 * scale)


@every_method_with_defaults
def test_the_number_of_threads_does_not_matter(strip, expected, method):
    np.testing.assert_array_equal(baseline_embedding(method, strip, n_neighbors=8, n_jobs=2), expected(method))


def test_a_generator_is_as_good_a_seed(plane):
    first, again = (baseline_embedding("tsne", plane[0][:50], random_state=np.random.RandomState(5)) for _ in range(2))
    np.testing.assert_array_equal(first, again)


def test_what_another_library_raises_is_an_error_of_one_line():
    X = np.random.default_rng(0).random((60, 5))
    with pytest.raises(BaselineError, match=r"^method='tsne' must .* ValueError of scikit-learn: .*method\.$"):
        baseline_embedding("tsne", X, n_components=4)
    with pytest.raises(BaselineError, match=r"^method='isomap' must .* n_neighbors=5 and n_components=2"):
        baseline_embedding("isomap", X[:4])


def test_neither_memory_that_ran_out_nor_an_interrupt_is_an_error_of_the_method(plane, monkeypatch):
    for error in (MemoryError, KeyboardInterrupt):

        def fit_transform(self, X, error=error):
            raise error

        monkeypatch.setattr(PCA, "fit_transform", fit_transform)
        with pytest.raises(error, match=r"^$"):
            baseline_embedding("pca", plane[0])


def test_a_line_has_no_second_principal_component():
    with pytest.raises(BaselineError, match=r"method='pca' must .* got 1 .* Lower n_components"):
        baseline_embedding("pca", np.outer(np.arange(20.0), [3.0, 4.0, 1.0]))


def test_a_short_second_principal_component_is_one():
    rng = np.random.default_rng(0)
    Y = baseline_embedding("pca", np.vstack([rng.random((30, 3)), rng.random((30, 3)) + 1e8]))
    assert 0.1 < Y[:, 1].std() < 1


@pytest.mark.parametrize("scale", [1e250, 1e-60])
def test_samples_beyond_single_precision_are_embedded_like_others(plane, scale):
    expected, found = (baseline_embedding("tsne", X) for X in (plane[0][:30], plane[0][:30] * scale))
    assert found.std() > 0.1 * expected.std()


def test_pieces_that_isomap_joins_are_warned_about_at_the_line_of_the_caller():
    match = "^Isomap of scikit-learn: The number of connected components of the neighbors graph is 2 > 1"
    with pytest.warns(UserWarning, match=match) as caught:
        baseline_embedding("isomap", islands(2))
    assert caught[0].filename == __file__


def test_what_is_logged_is_a_warning_and_goes_to_no_stream(plane, monkeypatch, capfd):
    def fit_transform(self, X):
        logging.getLogger("graphtools").warning("  may not have converged")
        return X[:, :2]

    monkeypatch.setattr(PCA, "fit_transform", fit_transform)
    with pytest.warns(UserWarning, match="^PCA of scikit-learn: may not have converged$"):
        baseline_embedding("pca", plane[0])
    assert capfd.readouterr() == ("", "")


def test_what_only_developers_are_warned_of_is_not_passed_on(plane, monkeypatch):
    def fit_transform(self, X):
        warnings.warn("old", DeprecationWarning, stacklevel=1)
        return X[:, :2]

    monkeypatch.setattr(PCA, "fit_transform", fit_transform)
    assert baseline_embedding("pca", plane[0]).shape == (200, 2)


@pytest.mark.parametrize(("method", "library"), [("umap", "umap-learn"), ("phate", "phate")])
def test_a_library_that_is_not_installed_or_broken_is_named_with_what_to_run(plane, monkeypatch, method, library):
    def breaks(module):
        raise ImportError("cannot import name 'jit'. Sorry\nfor that")

    monkeypatch.setattr(call, "load_unbroken", breaks)
    monkeypatch.setattr(methods, "find_spec", lambda name: name)
    with pytest.raises(MissingExtraError, match=f"'jit'. Run: pip install --upgrade {library}"):
        baseline_embedding(method, plane[0])
    monkeypatch.setattr(methods, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=f"none installed. Run: pip install {library}"):
        baseline_embedding(method, plane[0])


def test_pairs_that_do_not_fit_into_memory_are_refused(plane, monkeypatch):
    monkeypatch.setattr(methods, "available_bytes", lambda: 900_000)
    with pytest.raises(TooLargeError, match=r"method='isomap' needs about 0\.00096 GB .* 0\.0009 GB"):
        baseline_embedding("isomap", plane[0])


def test_a_near_copy_is_no_reason_to_be_ones_own_neighbor(caplog):
    rng = np.random.default_rng(3)
    X = 1e3 + rng.normal(size=(60, 40))
    X[1] = X[0] + 1e-9
    with caplog.at_level(logging.INFO, "hne"):
        assert np.isfinite(baseline_embedding("lle", X, n_neighbors=8)).all()
    assert "kd_tree neighbor search" in caplog.text


@pytest.mark.parametrize("n_neighbors", [2, 5])
def test_hessian_eigenmaps_refuse_small_neighborhoods(plane, n_neighbors):
    with pytest.raises(BaselineError, match=f"method='hlle' needs .* here 6 .* got n_neighbors={n_neighbors}"):
        baseline_embedding("hlle", plane[0], n_neighbors=n_neighbors)


def test_modified_lle_refuses_fewer_neighbors_than_components(plane):
    with pytest.raises(BaselineError, match=r"method='mlle' needs n_neighbors .* here 2"):
        baseline_embedding("mlle", plane[0], n_neighbors=1)


def test_tangent_spaces_refuse_neighborhoods_that_leave_nothing_to_minimize(plane):
    with pytest.raises(BaselineError, match=r"method='ltsa' needs n_neighbors .* here 4"):
        baseline_embedding("ltsa", plane[0], n_neighbors=3)


def test_what_scikit_learn_raises_is_the_cause_and_what_it_warned_of_a_note(plane, monkeypatch):
    def fit_transform(self, X):
        warnings.warn("careful", RuntimeWarning, stacklevel=1)
        raise np.linalg.LinAlgError("SVD did not converge. Sorry")

    embeds_as(monkeypatch, fit_transform)
    with pytest.raises(
        BaselineError, match=r"method='mlle' must .* LinAlgError .* SVD did not converge\. Try"
    ) as caught:
        baseline_embedding("mlle", plane[0], n_neighbors=3)
    assert isinstance(caught.value.__cause__, np.linalg.LinAlgError)
    assert caught.value.__notes__ == ["scikit-learn warned of it: RuntimeWarning: careful"]


def test_modified_lle_tells_of_samples_without_weights(plane):
    with pytest.warns(RuntimeWarning, match=r"^MLLE of scikit-learn: invalid value encountered in scalar divide$"):
        baseline_embedding("mlle", plane[0], n_neighbors=3)


def test_warnings_of_scikit_learn_are_passed_on_once_at_the_line_of_the_caller(plane, monkeypatch):
    real = LocallyLinearEmbedding.fit_transform

    def fit_transform(self, X):
        for _ in range(3):
            warnings.warn("careful", UserWarning, stacklevel=1)
        return real(self, X)

    embeds_as(monkeypatch, fit_transform)
    with pytest.warns(UserWarning, match="^LLE of scikit-learn: careful$") as caught:
        baseline_embedding("lle", plane[0])
    assert [one.filename for one in caught] == [__file__]


@every_relative_of_lle
def test_pieces_that_are_put_at_a_point_each_are_no_embedding(method):
    match = rf"method='{method}' needs .* got 5 pieces \(of 30, 30, 30, 30, 30 distinct samples\)"
    with pytest.raises(BaselineError, match=match):
        baseline_embedding(method, islands(5), n_neighbors=8)


@every_relative_of_lle
def test_two_pieces_are_warned_about_at_the_line_of_the_caller(method):
    match = (
        rf"graph .*has 2 pieces \(of 30, 30 distinct samples\): coordinates of method='{method}' may tell them apart"
    )
    with pytest.warns(DisconnectedGraphWarning, match=match) as caught:
        baseline_embedding(method, islands(2), n_neighbors=8)
    assert caught[0].filename == __file__


def test_coordinates_that_are_not_finite_are_no_embedding(plane, monkeypatch):
    embeds_as(monkeypatch, lambda self, X: np.full((len(X), 2), np.nan))
    with pytest.raises(BaselineError, match=r"method='lle' must .* got 400 others"):
        baseline_embedding("lle", plane[0])


@pytest.mark.parametrize("method", ["hlle", "ltsa"])
def test_a_sample_that_is_nobodys_neighbor_has_a_piece_and_a_coordinate_for_itself(plane, method):
    X, _ = plane
    X = np.vstack([X, X.mean(axis=0) + np.array([0.0, 0.0, 3.0])])
    match = (
        rf"graph of who is in one neighborhood with whom has 2 pieces \(of 200, 1 .*coordinates of method='{method}'"
    )
    with pytest.warns(DisconnectedGraphWarning, match=match):
        baseline_embedding(method, X, n_neighbors=8)
    assert np.isfinite(baseline_embedding("lle", X, n_neighbors=8)).all()


@pytest.mark.parametrize("second", [1.0, 0.0], ids=["constant", "repeat"])
def test_a_constant_and_a_repeat_are_no_coordinates(plane, monkeypatch, second):
    line = np.arange(200.0)
    embeds_as(monkeypatch, lambda self, X: np.column_stack([line, np.full(200, 3.0) if second else 2 * line]))
    with pytest.raises(BaselineError, match=r"method='ltsa' must .* got 1 and a constant or a"):
        baseline_embedding("ltsa", plane[0])


@pytest.fixture
def arpack_first(monkeypatch):
    monkeypatch.setattr(call, "DENSE_MAX", 0)


def test_above_some_thousands_of_samples_arpack_finds_the_same_plane(arpack_first, caplog):
    X = make_swiss_roll(200, even=True, random_state=1).X
    with caplog.at_level(logging.INFO, "hne"):
        sparse = baseline_embedding("lle", X, n_neighbors=7)
    assert "LLE: arpack eigensolver" in caplog.text
    dense = LocallyLinearEmbedding(n_neighbors=7, eigen_solver="dense").fit_transform(X)
    assert subspace_angles(sparse, dense).max() < 1e-5


def test_where_arpack_fails_the_dense_solver_takes_over_and_says_so(plane, arpack_first, caplog, monkeypatch):
    real = LocallyLinearEmbedding.fit_transform

    def fit_transform(self, X):
        if self.eigen_solver == "arpack":
            msg = "Error in determining null-space with ARPACK. Error message: 'singular'"
            raise ValueError(msg)
        return real(self, X)

    embeds_as(monkeypatch, fit_transform)
    X, chart = plane
    assert affine_errors(baseline_embedding("ltsa", X, n_neighbors=8), chart).max() < 1e-3
    assert "Error in determining null-space with ARPACK" in caplog.text
    assert "The dense eigensolver takes over." in caplog.text
    monkeypatch.setattr(call, "STAND_IN_MAX", 0)
    with pytest.raises(BaselineError, match="Error in determining null-space with ARPACK"):
        baseline_embedding("ltsa", X, n_neighbors=8)


def test_unknown_methods_are_refused_with_the_choices(plane):
    with pytest.raises(InputError, match=r"method must .* got 'mds'"):
        baseline_embedding("mds", plane[0])


def test_parameters_and_samples_are_checked_as_everywhere(plane):
    X, _ = plane
    with pytest.raises(InputError, match=r"n_neighbors must .* got 0"):
        baseline_embedding("lle", X, n_neighbors=0)
    with pytest.raises(InputError, match=r"n_neighbors=300 needs .* got n_samples=200"):
        baseline_embedding("lle", X, n_neighbors=300)
    with pytest.raises(InputError, match=r"n_neighbors=5 needs .* got n_samples=20, 4 of them"):
        baseline_embedding("lle", np.repeat(X[:4], 5, axis=0))
    with pytest.raises(InputTypeError, match=r"X must .* got a sparse matrix"):
        baseline_embedding("lle", csr_array(X))
