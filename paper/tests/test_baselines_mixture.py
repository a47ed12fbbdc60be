"""Mixtures of probabilistic PCA: densities by brute force, EM that never falls, planted models found again."""

import logging

import numpy as np
import pytest
from scipy.linalg import subspace_angles
from scipy.stats import multivariate_normal, ortho_group

from hne._runtime.threads import limit_blas_threads
from hne.datasets import make_swiss_roll
from hne.estimators.projection import span_of
from hne_paper.baselines.mixture import FLOOR, Mixture, best_models, fit_mixture, memberships


@pytest.fixture(autouse=True)
def one_thread():
    with limit_blas_threads(1):
        yield


def inside_and_axes(X):
    """Coordinates within the span of the samples, and the directions that they belong to."""
    span = span_of(X)
    return span.left * span.lengths, span


def covariance(mixture, model, directions):
    """D x D covariance of a model, written out."""
    axes = directions.T @ mixture.axes[model]
    along = axes @ np.diag(mixture.variances[model] - mixture.noise[model]) @ axes.T
    return along + mixture.noise[model] * np.eye(directions.shape[1])


@pytest.mark.parametrize(("n", "n_features"), [(40, 3), (40, 6), (9, 15)], ids=["flat", "full", "wide"])
def test_densities_and_responsibilities_are_those_of_full_covariances(n, n_features):
    X = np.random.default_rng(0).normal(size=(n, n_features)) * np.geomspace(1, 0.2, n_features)
    inside, span = inside_and_axes(X)
    fitted = fit_mixture(inside, 2, 2, n_features, 0, 50, 1e-6)
    mixture = fitted.mixture
    new = np.random.default_rng(1).normal(size=(7, n_features))
    joint = np.empty((7, mixture.n_models))
    for model in range(mixture.n_models):
        mean = span.mean + mixture.means[model] @ span.directions
        density = multivariate_normal(mean, covariance(mixture, model, span.directions))
        joint[:, model] = mixture.shares[model] * density.pdf(new)
    moved = new - span.mean
    coordinates = moved @ span.directions.T
    outside = ((moved - coordinates @ span.directions) ** 2).sum(axis=1)
    found = memberships(mixture, coordinates, outside)
    np.testing.assert_allclose(np.exp(found.log_densities), joint.sum(axis=1), rtol=1e-8)
    np.testing.assert_allclose(found.responsibilities, joint / joint.sum(axis=1, keepdims=True), atol=1e-8)


@pytest.mark.parametrize("n_features", [5, 12], ids=["fewer features than samples", "more"])
def test_the_span_and_all_features_give_the_same_mixture(n_features):
    X = np.random.default_rng(2).normal(size=(10, n_features))
    X -= X.mean(axis=0)
    memberships_given = np.random.default_rng(3).dirichlet([1, 1], size=10)
    inside, span = inside_and_axes(X)
    reduced, full = (best_models(Z, memberships_given, 2, n_features, 1e-9) for Z in (inside, X))
    np.testing.assert_allclose(reduced.noise, full.noise)
    np.testing.assert_allclose(reduced.variances, full.variances)
    np.testing.assert_allclose(reduced.means @ span.directions, full.means, atol=1e-12)
    for ours, theirs in zip(reduced.axes, full.axes, strict=True):
        assert subspace_angles(span.directions.T @ ours, theirs).max() < 1e-7


@pytest.mark.parametrize("n", [30, 5], ids=["more samples than features", "fewer"])
def test_both_ways_to_a_models_axes_agree(n):
    X = np.random.default_rng(4).normal(size=(n, 6))
    given = np.random.default_rng(5).dirichlet([1, 1, 1], size=n)
    moments, members = (best_models(X, given, 2, 6, 1e-9, many_coordinates=most) for most in (6, 5))
    for ours, theirs in zip(moments.axes, members.axes, strict=True):
        assert subspace_angles(ours, theirs).max() < 1e-7
    np.testing.assert_allclose(moments.variances, members.variances)
    np.testing.assert_allclose(moments.noise, members.noise)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("n_features", [3, 60])
def test_the_likelihood_never_falls(n_features, seed):
    X = make_swiss_roll(200, random_state=seed).X @ ortho_group.rvs(60, random_state=0)[:3, :]
    X = X if n_features == 60 else make_swiss_roll(200, random_state=seed).X
    noisy = X + 0.1 * np.random.default_rng(seed).normal(size=X.shape)
    fitted = fit_mixture(inside_and_axes(noisy)[0], 12, 2, n_features, seed, 60, 0.0)
    assert len(fitted.log_likelihoods) > 5
    assert np.diff(fitted.log_likelihoods).min() > -1e-9


def test_the_likelihood_does_not_fall_at_the_floor_either():
    flat = np.random.default_rng(6).normal(size=(100, 2)) @ np.eye(2, 3)
    fitted = fit_mixture(flat - flat.mean(axis=0), 4, 2, 3, 0, 60, 0.0)
    variance = (flat - flat.mean(axis=0)).var(axis=0).sum() / 3
    np.testing.assert_allclose(fitted.mixture.noise, FLOOR * variance)
    assert np.diff(fitted.log_likelihoods).min() > -1e-9


@pytest.mark.parametrize("n_features", [4, 50])
def test_planted_models_far_from_each_other_are_found_again(n_features):
    rng = np.random.default_rng(7)
    planted, X = [], []
    for model in range(3):
        axes = ortho_group.rvs(n_features, random_state=model)[:2]
        mean = 50 * rng.normal(size=n_features)
        X.append(mean + rng.normal(size=(400, 2)) * [3.0, 2.0] @ axes + 0.1 * rng.normal(size=(400, n_features)))
        planted.append((mean, axes))
    inside, span = inside_and_axes(np.vstack(X))
    mixture = fit_mixture(inside, 3, 2, n_features, 0, 100, 1e-6).mixture
    means = span.mean + mixture.means @ span.directions
    for mean, axes in planted:
        nearest = int(np.linalg.norm(means - mean, axis=1).argmin())
        assert np.linalg.norm(means[nearest] - mean) < 0.7
        assert subspace_angles(span.directions.T @ mixture.axes[nearest], axes.T).max() < 0.05
        np.testing.assert_allclose(mixture.variances[nearest], [9.0, 4.0], rtol=0.25)
        np.testing.assert_allclose(mixture.noise[nearest], 0.01, rtol=0.1)
    np.testing.assert_allclose(mixture.shares, 1 / 3, atol=1e-6)


def test_responsibilities_of_a_sample_sum_to_one_however_far_it_is():
    X = np.random.default_rng(8).normal(size=(60, 3))
    mixture = fit_mixture(X - X.mean(axis=0), 4, 2, 3, 0, 50, 1e-4).mixture
    far = memberships(mixture, np.array([[1e6, -1e6, 1e6], [1e-9, 0, 0]]))
    np.testing.assert_allclose(far.responsibilities.sum(axis=1), 1.0)


def test_models_left_with_too_few_samples_are_dropped_and_it_is_logged(caplog):
    rng = np.random.default_rng(9)
    X = np.vstack([rng.normal(size=(40, 3)), [[100.0, 100.0, 100.0]]])
    with caplog.at_level(logging.INFO, "hne"):
        fitted = fit_mixture(X - X.mean(axis=0), 2, 2, 3, 0, 50, 1e-4)
    assert fitted.mixture.n_models == 1
    assert "mixture: 1 of 2 models dropped, of less than 3 samples" in caplog.text
    np.testing.assert_array_equal(fitted.mixture.shares, 1.0)
    np.testing.assert_allclose(fitted.memberships.responsibilities, 1.0)


def test_a_member_less_than_axes_leaves_an_axis_that_does_not_matter():
    # Two members of 40 coordinates span one axis; the other has the variance of the noise, so that any would do.
    X = np.zeros((2, 40))
    X[:, 0] = [-1.0, 1.0]
    mixture = best_models(X, np.ones((2, 1)), 2, 40, 1e-3)
    np.testing.assert_allclose(mixture.variances, [[1.0, 1e-3]])
    expected = multivariate_normal(np.zeros(40), np.diag([1.0] + [1e-3] * 39)).logpdf(X)
    np.testing.assert_allclose(memberships(mixture, X).log_densities, expected)


def test_a_mixture_without_a_model_shares_its_samples_among_the_others():
    mixture = Mixture(
        np.array([0.5, 0.3, 0.2]), np.eye(3), np.zeros((3, 3, 1)), np.ones((3, 1)), np.array([1.0, 2.0, 3.0]), 3
    )
    rest = mixture.without(0)
    np.testing.assert_allclose(rest.shares, [0.6, 0.4])
    np.testing.assert_array_equal(rest.noise, [2.0, 3.0])
