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

BAD_PARAMETERS = {
    "k >= n": ({"n_neighbors": 30}, InputError, r"n_neighbors=30 needs at least 31 samples, got n_samples=30\. Lower"),
    "k < 1": ({"n_neighbors": 0}, InputError, r"n_neighbors must be at least 1, got 0\. Try n_neighbors=6"),
    "k a float": ({"n_neighbors": 6.0}, InputTypeError, r"n_neighbors must be an integer, got 6.0 of type float"),
    "k a bool": ({"n_neighbors": True}, InputTypeError, r"n_neighbors must be an integer, got True of type bool"),
    "d >= n": ({"n_components": 30}, InputError, r"n_components=30 needs at least 31 samples, got n_samples=30\. Low"),
    "d > D": ({"n_components": 4}, InputError, r"n_components=4 needs at least 4 features, got n_features=3"),
    "d < 1": ({"n_components": -1}, InputError, r"n_components must be at least 1, got -1\. Try n_components=2"),
    "variant": ({"variant": "hne"}, InputError, r"variant must be one of 'ihne', 'rhne', 'bhne', got 'hne'\. Choose"),
    "variant kind": ({"variant": None}, InputTypeError, r"variant must be one of .* got None"),
    "reg zero": ({"reg": 0.0}, InputError, r"reg must be between 1e-12 and 1e\+12, got 0.0\. Try reg=1e-4"),
    "reg negative": ({"reg": -1e-3}, InputError, r"reg must be between 1e-12 and 1e\+12, got -0.001"),
    "reg nan": ({"reg": np.nan}, InputError, r"reg must be between 1e-12 and 1e\+12, got nan"),
    "reg text": ({"reg": "1e-3"}, InputTypeError, r"reg must be a number, got '1e-3' of type str\. Pass a float"),
    "outer_reg": (
        {"outer_reg": 0},
        InputError,
        r"outer_reg must be between 1e-12 and 1e\+12, got 0.0\. Try outer_reg=1e-4",
    ),
    "reg huge": ({"reg": 10**400}, InputError, r"reg must be between 1e-12 and 1e\+12, got inf"),
    "gamma huge": ({"gamma": 1e300}, InputError, r"gamma must be between 1e-12 and 1e\+12, got 1e\+300"),
    "gamma": ({"gamma": 0.0}, InputError, r"gamma must be between 1e-12 and 1e\+12, got 0.0\. The paper uses"),
    "endless rounds": (
        {"n_rounds": 10**18},
        InputError,
        r"n_rounds must be at most 1000, got 1000000000000000000\. The",
    ),
    "n_rounds": ({"n_rounds": -1}, InputError, r"n_rounds must be at least 0, got -1\. The paper uses n_rounds=1"),
    "include_self": ({"include_self": 1}, InputTypeError, r"include_self must be True or False, got 1\. The paper"),
    "neighbors": (
        {"neighbors": "annoy"},
        InputError,
        r"neighbors must be one of 'auto', 'exact', 'approximate', got 'annoy'\. Choose",
    ),
    "neighbors that are no text": (
        {"neighbors": 5},
        InputTypeError,
        r"neighbors must be 'auto', 'exact', 'approximate' or a graph, got int\. Pass what KNeighborsTransformer",
    ),
    "eigen_solver": (
        {"eigen_solver": "amg"},
        InputError,
        r"eigen_solver must be one of 'auto', 'dense', 'direct', 'iterative', 'slepc', got",
    ),
    "tol zero": ({"tol": 0}, InputError, r"tol must be at least 1e-12 and below 1, got 0.0"),
    "tol": ({"tol": 1.0}, InputError, r"tol must be at least 1e-12 and below 1, got 1.0\. Try tol=1e-7"),
    "n_jobs": ({"n_jobs": 0}, InputError, r"n_jobs must be positive, or negative to count .*, got 0\. Try n_jobs=-1"),
    "n_jobs kind": ({"n_jobs": 2.0}, InputTypeError, r"n_jobs must be an integer, got 2.0 of type float"),
    "random_state": ({"random_state": "x"}, InputError, r"random_state must be an integer, None .*, got 'x'\. Try"),
}


@pytest.mark.parametrize("case", BAD_DATA)
def test_bad_data_is_refused_in_one_sentence(case):
    data, error, message = BAD_DATA[case]
    with pytest.raises(error, match=message) as caught:
        HNE().fit(data)
    assert isinstance(caught.value, HNEError)


@pytest.mark.parametrize("case", BAD_PARAMETERS)
def test_bad_parameters_are_refused_in_one_sentence(case):
    parameters, error, message = BAD_PARAMETERS[case]
    with pytest.raises(error, match=message) as caught:
        HNE(**parameters).fit(X)
    assert str(caught.value).rstrip().endswith(".")


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
def test_memory_layout_does_not_matter(arrange_pieces):
    np.testing.assert_array_equal(HNE().fit(arrange_pieces(X)).embedding_, HNE().fit(X).embedding_)


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
    with pytest.raises(
        MissingExtraError, match=r"neighbors='approximate' needs faiss, got none.*pip install faiss-cpu"
    ):
        HNE(neighbors="approximate").fit(X)
    assert HNE(neighbors="auto").fit(X).neighbor_method_ == "tree"


def test_a_matrix_of_numpys_old_kind_is_refused_with_what_to_pass():
    with pytest.raises(InputTypeError, match=r"got an np.matrix. Pass np.asarray\(X\)"):
        HNE().fit(np.asarray(X).view(np.matrix))


def test_an_integer_beyond_float64_is_refused():
    with pytest.raises(InputError, match=r"X must be a table of numbers, got .* too large"):
        HNE().fit(np.array([[10**400, 1]] * 9, dtype=object))
