"""Reconstruction errors: lengths, with a sample in its own rebuilding or without."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from hne import HNE
from hne.exceptions import InputError, InputTypeError
from hne.metrics import reconstruction_errors


def loop(X, weights, *, include_self):
    """The definition, sample by sample."""
    errors = []
    for i in range(len(X)):
        row = np.array(weights[i])
        if not include_self:
            row[[j for j in range(len(X)) if (X[j] == X[i]).all()]] = 0.0
            row /= row.sum()
        errors.append(np.linalg.norm(X[i] - row @ X))
    return errors


@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("kind", [np.asarray, csr_array])
def test_errors_are_those_of_the_definition(cloud, include_self, kind):
    weights = np.random.default_rng(0).normal(size=(60, 60))
    weights /= weights.sum(axis=1, keepdims=True)
    expected = loop(cloud, weights, include_self=include_self)
    np.testing.assert_allclose(reconstruction_errors(cloud, kind(weights), include_self=include_self), expected)


def test_a_fitted_model_has_the_same_errors(cloud):
    model = HNE().fit(cloud)
    np.testing.assert_allclose(reconstruction_errors(cloud, model.joint_weights_), model.reconstruction_errors_)
    without = reconstruction_errors(cloud, model.joint_weights_, include_self=False)
    assert without.mean() > model.reconstruction_error_


def test_a_copy_of_a_sample_is_the_sample_itself():
    X = np.array([[0.0], [0.0], [2.0], [5.0]])
    weights = np.array([[0.0, 0.5, 0.5, 0.0], [0.5, 0.0, 0.5, 0.0], [0.0, 0.0, 0.0, 1.0], [0.0, 0.0, 1.0, 0.0]])
    np.testing.assert_allclose(reconstruction_errors(X, weights), [1.0, 1.0, 3.0, 3.0])
    np.testing.assert_allclose(reconstruction_errors(X, weights, include_self=False), [2.0, 2.0, 3.0, 3.0])


def test_samples_that_nobody_rebuilds_are_nan():
    weights = csr_array([[0.0, 0.0, 0.0], [1.0, 1.0, -1.0], [0.0, 0.0, 1.0]])
    X = np.array([[0.0], [1.0], [3.0]])
    # Nobody at all; others whose weights cancel; itself alone.
    np.testing.assert_array_equal(reconstruction_errors(X, weights), [np.nan, 3.0, 0.0])
    np.testing.assert_array_equal(reconstruction_errors(X, weights, include_self=False), [np.nan] * 3)


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_errors_have_the_units_of_the_samples(cloud, scale):
    weights = np.full((60, 60), 1 / 60)
    np.testing.assert_allclose(
        reconstruction_errors(cloud * scale, weights), scale * reconstruction_errors(cloud, weights)
    )


def test_arguments_are_left_alone(cloud):
    weights = csr_array(np.full((60, 60), 1 / 60))
    weights.data.flags.writeable = False
    reconstruction_errors(cloud, weights, include_self=False)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.ones((2, 2)), r"^weights must have rows that sum to one, got 2 in row 0"),
        (np.eye(3), r"^weights must have as many rows as X, got 3 and 2"),
        (np.ones((2, 1)), r"^weights must be square, got shape \(2, 1\)"),
        (np.full((2, 2), np.nan), r"^weights must be finite, got nan in row 0"),
        (csr_array([[np.nan, 1.0], [0.0, 1.0]]), r"^weights must be finite, got NaN or inf"),
        (csr_array([[1j, 0.0], [0.0, 1.0]]), r"^weights must be a matrix of real numbers, got 2 dimension\(s\) of com"),
    ],
)
def test_weights_that_are_none_are_refused(weights, message):
    with pytest.raises(InputError, match=message):
        reconstruction_errors([[0.0], [1.0]], weights)


def test_include_self_is_a_flag():
    with pytest.raises(InputTypeError, match=r"^include_self must be True or False, got 'no'"):
        reconstruction_errors([[0.0], [1.0]], np.eye(2), include_self="no")
