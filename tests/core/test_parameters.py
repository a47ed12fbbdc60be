"""Bad input: one clear error each, with the parameter, the rule, the value and the remedy."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

from hne import HNE
from hne.core import parameters as _parameters
from hne.core.parameters import check_settings
from hne.exceptions import HNEError, InputError, InputTypeError, MissingExtraError
from hne.settings import PLACES, known_settings

RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 3))


def with_value(value, row=4, column=2):
    bad = X.copy()
    bad[row, column] = value
    return bad


BAD_DATA = {
    "nan": (with_value(np.nan), InputError, r"X must be finite, got nan in row 4, column 2 \(1 NaN and 0 inf in all\)"),
    "inf": (with_value(-np.inf), InputError, r"X must be finite, got -inf in row 4, column 2 .* Drop or impute"),
    "one sample": (X[:1], InputError, r"X must have at least 2 samples, got n_samples=1\. Pass more samples"),
    "no sample": (X[:0], InputError, r"X must have samples, got n_samples=0\. Check how X was read"),
    "one feature": (X[:, :1], InputError, r"n_components=2 needs at least 2 features, got n_features=1\. Lower n_comp"),
    "no feature": (X[:, :0], InputError, r"X must have features, got 0 feature\(s\) \(shape=\(30, 0\)\)"),
    "1-D": (X[:, 0], InputError, r"X must have two dimensions .*, got 1 with shape \(30,\)\. Reshape your data"),
    "3-D": (X[None], InputError, r"X must have two dimensions .*, got 3 with shape \(1, 30, 3\)"),
    "a number": (3.0, InputError, r"X must have two dimensions .*, got 0 with shape \(\)"),
    "strings": (
        np.full((30, 3), "a"),
        InputError,
        r"X must be a table of numbers, got ndarray of <U1\. Convert it",
    ),
    "objects": (
        np.full((30, 3), {}),
        InputTypeError,
        r"X must be a table of numbers, got ndarray of object .*not 'dict'",
    ),
    "a text column": (
        pd.DataFrame({"a": X[:, 0], "b": ["z"] * 30}),
        InputError,
        r"X must be a table of numbers, got DataFrame with columns 'b' \(.*'z'.*\)\. Drop or encode",
    ),
    "two columns of one name": (
        pd.DataFrame(X, columns=["a", "b", "a"]),
        InputError,
        r"X must have a name of its own for each column, got 'a' more than once\. Rename one\.",
    ),
    "nan in a frame": (
        pd.DataFrame(with_value(np.nan), columns=["a", "b", "c"]),
        InputError,
        r"X must be finite, got nan in row 4, column 'c'",
    ),
    "dates": (
        pd.DataFrame({"a": X[:, 0], "when": pd.date_range("2026-01-01", periods=30)}),
        InputTypeError,
        r"X must be a table of numbers, got DataFrame with columns 'when' \(.*DateTime64DType'>\)\. Drop or",
    ),
    "strings of numbers": (
        np.full((30, 3), "1.5"),
        InputError,
        r"got ndarray of <U3\. Convert it to numbers",
    ),
    "times": (np.zeros((30, 3), "m8[s]"), InputError, r"X must be a table of numbers, got ndarray of timedelta64\[s\]"),
    "masked": (
        np.ma.masked_less(X, 0),
        InputTypeError,
        r"X must have all its values, got a masked array with \d+ mask",
    ),
    "nothing": (None, InputTypeError, r"X must be a table of numbers, got None\. Pass an array of samples x features"),
    "ragged": ([[1.0, 2.0], [3.0]], InputError, r"X must be a table of numbers, got list \(setting an array element"),
    "complex": (X + 1j, InputError, r"X must be real, got ndarray of complex128 .* Pass X.real and"),
    "complex list": ([[1j, 2.0]] * 8, InputError, r"X must be real, got list \(Complex data not supported\)"),
    "sparse nan": (
        csr_array(with_value(np.nan)),
        InputError,
        r"X must be finite, got nan in row 4, column 2 \(1 NaN and 0 inf in all\)\. Drop or impute",
    ),
    "sparse complex": (
        csr_array(X + 1j),
        InputError,
        r"got a sparse matrix of complex numbers \(Complex data not supp",
    ),
    "sparse without features": (csr_array((30, 0)), InputError, r"X must have features, got 0 feature\(s\)"),
    "all rows equal": (
        np.ones((30, 3)),
        InputError,
        r"X must have different samples, got 30 samples that are all equal",
    ),
    "rounded away": (1e300 + X, InputError, "all equal"),
}

# A value that is refused for each rule, and the class of the error; every parameter of `hne.settings` has one.
BAD_VALUES = [
    ("n_neighbors", 0, InputError),
    ("n_neighbors", 6.0, InputTypeError),
    ("n_neighbors", True, InputTypeError),
    ("n_components", -1, InputError),
    ("variant", "hne", InputError),
    ("variant", None, InputTypeError),
    ("reg", 0.0, InputError),
    ("reg", -1e-3, InputError),
    ("reg", "1e-3", InputTypeError),
    ("reg", 10**400, InputError),
    ("outer_reg", 0.0, InputError),
    ("gamma", 1e300, InputError),
    ("n_rounds", -1, InputError),
    ("n_rounds", 10**18, InputError),
    ("include_self", 1, InputTypeError),
    ("metric", "chess", InputError),
    ("metric", 3, InputTypeError),
    ("metric_params", 3, InputTypeError),
    ("neighbors", "annoy", InputError),
    ("short_circuits", "mend", InputError),
    ("cut_edges", [(0, 1), (3, 3)], InputError),
    ("cut_edges", [(-1, 3)], InputError),
    ("cut_edges", [(0, 1, 2)], InputError),
    ("cut_edges", [(0, 1), (2,)], InputError),
    ("cut_edges", (4, 7), InputError),
    ("cut_edges", [(0.0, 1.0)], InputTypeError),
    ("cut_edges", [(True, False)], InputTypeError),
    ("cut_edges", "4-7", InputTypeError),
    ("keep_edges", 7, InputError),
    ("keep_edges", [(5, 5)], InputError),
    ("pieces", "all", InputError),
    ("coordinates", "polar", InputError),
    ("eigen_solver", "amg", InputError),
    ("n_landmarks", 0, InputError),
    ("tol", 0.0, InputError),
    ("tol", 1.0, InputError),
    ("assess", "yes", InputTypeError),
    ("n_jobs", 0, InputError),
    ("n_jobs", 2.0, InputTypeError),
    ("random_state", "x", InputError),
    ("verbose", -1, InputError),
]
# The sentences of the commonest mistakes, word by word.
SENTENCES = {
    ("n_neighbors", 0): "n_neighbors must be at least 1, got 0. Try n_neighbors=6.",
    ("n_neighbors", 6.0): "n_neighbors must be an integer or 'auto', got 6.0 of type float. Try n_neighbors=6.",
    ("n_neighbors", 30): "n_neighbors=30 needs at least 31 samples, got n_samples=30. Lower n_neighbors or pass more "
    "samples.",
    ("n_components", 4): "n_components=4 needs at least 4 features, got n_features=3. Lower n_components or pass more "
    "features.",
    ("variant", "hne"): "variant must be one of 'ihne', 'rhne', 'bhne', 'auto', got 'hne'. Choose one of them, in "
    "lower case.",
    ("reg", 0.0): "reg must be between 1e-12 and 1e+12, got 0.0. Try reg=1e-4.",
    ("reg", "1e-3"): "reg must be a number or 'auto', got '1e-3' of type str. Pass a float.",
    ("cut_edges", ((0, 1), (3, 3))): "cut_edges must be pairs of different samples, counted from 0, got (3, 3). Pass "
    "pairs such as [(12, 57), (80, 91)].",
    ("cut_edges", (4, 7)): "cut_edges must have two samples a row, got shape (2,). Pass pairs such as [(12, 57), "
    "(80, 91)].",
    ("cut_edges", ((0.0, 1.0),)): "cut_edges must be pairs of whole numbers, got ((0.0, 1.0),). Pass pairs such as "
    "[(12, 57), (80, 91)].",
    ("keep_edges", ((4, 30), (2, 1))): "keep_edges must be pairs of samples from 0 to 29, got (4, 30). Pass rows of X, "
    "counted from 0.",
    ("include_self", 1): "include_self must be True or False, got 1. The paper uses True.",
    ("tol", 1.0): "tol must be at least 1e-12 and below 1, got 1.0. Try tol=1e-7.",
    ("n_jobs", 0): "n_jobs must be positive, or negative to count from all cores, got 0. Try n_jobs=-1.",
}


@pytest.mark.parametrize("case", BAD_DATA)
def test_bad_data_is_refused_in_one_sentence(case):
    data, error, message = BAD_DATA[case]
    with pytest.raises(error, match=message) as caught:
        HNE().fit(data)
    assert isinstance(caught.value, HNEError)


@pytest.mark.parametrize(("name", "value", "error"), BAD_VALUES)
def test_a_bad_value_is_an_error_with_its_parameter_and_value(name, value, error):
    with pytest.raises(error) as caught:
        check_settings({name: value})
    assert (caught.value.parameter, caught.value.value) == (name, value if value != 10**400 else np.inf)
    assert caught.value.rule
    assert caught.value.remedy


def test_every_parameter_has_a_bad_value_in_the_table():
    assert {name for name, *_ in BAD_VALUES} == {*known_settings()} - {*PLACES}


@pytest.mark.parametrize(("name", "value"), SENTENCES)
def test_the_commonest_mistakes_are_told_in_these_words(name, value):
    with pytest.raises(HNEError) as caught:
        HNE(**{name: value}).fit(X)
    assert str(caught.value) == SENTENCES[name, value]


@pytest.mark.parametrize("make", [list, tuple, np.array, pd.DataFrame, lambda pairs: np.array(pairs, dtype=np.uint8)])
def test_pairs_of_any_kind_become_tuples_in_order_each_once(make):
    pairs = [(7, 4), (2, 9), (4, 7), (2, 3)]
    settings = check_settings({"cut_edges": make(pairs), "keep_edges": make([(0, 1)])})
    assert (settings.cut_edges, settings.keep_edges) == (((2, 3), (2, 9), (4, 7)), ((0, 1),))
    assert all(type(end) is int for pair in settings.cut_edges for end in pair)
    hash(settings)


@pytest.mark.parametrize("none", [None, [], (), np.empty((0, 2)), np.empty((0, 2), dtype=int)])
def test_no_pairs_are_none(none):
    assert check_settings({"cut_edges": none, "keep_edges": none}) == check_settings({})


def test_an_edge_is_not_cut_and_kept_nor_are_copies_of_its_ends():
    with pytest.raises(
        InputError, match=r"^keep_edges must have no edge of cut_edges, got \(4, 7\) in both\. Leave it"
    ):
        check_settings({"cut_edges": [(7, 4), (0, 1)], "keep_edges": [(4, 7)]})
    twice = np.vstack([X, X])
    with pytest.raises(InputError, match=r"^keep_edges must have no edge of cut_edges, got \(4, 7\) in both") as caught:
        HNE(cut_edges=[(4, 7)], keep_edges=[(34, 7)]).fit(twice)
    assert caught.value.parameter == "keep_edges"
    # Copies are one place, which has no edge to itself.
    alone = HNE(cut_edges=[(4, 34)], keep_edges=[(34, 64)]).fit(np.vstack([twice, X]))
    assert np.array_equal(alone.embedding_, HNE().fit(np.vstack([twice, X])).embedding_)


def test_the_smallest_of_everything_works():
    line = np.column_stack([np.arange(4.0), np.arange(4.0) ** 2])
    assert HNE(n_neighbors=3, n_components=2).fit_transform(line).shape == (4, 2)
    assert HNE(n_neighbors=1, n_components=1).fit_transform(line[:3]).shape == (3, 1)


@pytest.mark.parametrize("kind", [np.float16, np.int64, np.uint8, bool, object])
def test_numbers_of_any_kind_are_numbers(kind):
    data = (np.random.default_rng(1).random((40, 9)) > 0.5).astype(kind)
    same = HNE(n_components=2).fit(data.astype(float)).embedding_
    np.testing.assert_array_equal(HNE(n_components=2).fit(data).embedding_, same)


@pytest.mark.parametrize("lay_out", [np.asfortranarray, lambda a: np.repeat(a, 2, axis=0)[::2], lambda a: a.tolist()])
def test_memory_layout_does_not_matter(lay_out):
    np.testing.assert_array_equal(HNE().fit(lay_out(X)).embedding_, HNE().fit(X).embedding_)


@pytest.mark.parametrize("number", [np.int8(5), np.uint8(5), np.int64(5)])
def test_integers_of_any_size_become_pythons(number):
    settings = check_settings({"n_neighbors": number, "n_rounds": number})
    assert type(settings.n_neighbors) is type(settings.n_rounds) is int


@pytest.mark.parametrize("number", [Fraction(1, 2), np.float32(0.5), np.longdouble(0.5), Decimal("0.5")])
def test_numbers_of_any_kind_become_floats_or_are_refused(number):
    if isinstance(number, Decimal):
        with pytest.raises(InputTypeError, match=r"gamma must be a number, got Decimal"):
            check_settings({"gamma": number})
        return
    assert type(check_settings({"gamma": number}).gamma) is float


def test_approximate_neighbors_without_their_extra_are_refused_before_any_work(monkeypatch):
    monkeypatch.setattr(_parameters, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match="pip install faiss-cpu"):
        HNE(neighbors="approximate").fit(X)
    assert HNE(neighbors="auto").fit(X).neighbor_method_ == "tree"


def test_a_matrix_of_numpys_old_kind_is_refused_with_what_to_pass():
    with pytest.raises(InputTypeError, match=r"got an np.matrix. Pass np.asarray\(X\)"):
        HNE().fit(np.asarray(X).view(np.matrix))


def test_an_integer_beyond_float64_is_refused():
    with pytest.raises(InputError, match=r"X must be a table of numbers, got .* too large"):
        HNE().fit(np.array([[10**400, 1]] * 9, dtype=object))
