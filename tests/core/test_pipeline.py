"""embed(): the pipeline as a whole."""

import logging

import numpy as np
import pytest
from hypothesis import given
from scipy.linalg import subspace_angles
from scipy.spatial.distance import pdist

from hne import PUBLISHED, embed
from hne.exceptions import CloseEigenvaluesWarning, InputError, InputTypeError
from hne.metrics import affine_errors
from hne.settings import VARIANTS
from tests.conftest import advised, frozen, lattice_clouds, one_fast
from tests.helpers import reference


def angle(Y, other):
    return subspace_angles(Y, other).max()


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_embedding_is_the_oracles(cloud, variant):
    result = embed(cloud, **PUBLISHED | {"variant": variant, "reg": 1e-3}, outer_reg=1e-2, gamma=0.5)
    lists = reference.neighbors(cloud, 6)
    W, J = reference.weights(cloud, lists, variant, 1e-3, 1e-2)
    np.testing.assert_array_equal(result.graph.indices, lists)
    np.testing.assert_allclose(result.weights.J.toarray(), J, atol=1e-9)
    values, Y = reference.embedding(W, J, 2, gamma=0.5)
    np.testing.assert_allclose(result.eigenpairs.values, values, rtol=1e-8)
    assert angle(result.Y, Y) < 1e-8
    np.testing.assert_allclose(result.reconstruction_errors, reference.reconstruction_errors(cloud, J), atol=1e-8)


@pytest.mark.parametrize("variant", VARIANTS)
@given(X=lattice_clouds())
def test_any_cloud_gives_finite_orthonormal_coordinates_or_a_clear_error(variant, X):
    _, first, copies = np.unique(X, axis=0, return_index=True, return_inverse=True)
    settings = PUBLISHED | {"n_neighbors": 4, "variant": variant}
    if len(first) < 5:
        with pytest.raises(InputError, match=r"all equal|needs at least 5 different samples, got n_samples="):
            embed(X, **settings)
        return
    Y = embed(X, **settings).Y
    assert Y.shape == (len(X), 2)
    np.testing.assert_allclose(Y[first].T @ Y[first], np.eye(2), atol=1e-10)
    np.testing.assert_array_equal(Y, Y[first][copies.ravel()])


@pytest.mark.parametrize("coordinates", ["chart", "layout"])
@given(X=lattice_clouds(min_samples=1))
def test_any_cloud_gives_coordinates_in_its_own_scale_or_a_clear_error(coordinates, X):
    _, first, copies = np.unique(X, axis=0, return_index=True, return_inverse=True)
    if len(first) < 3:
        with pytest.raises(InputError, match=r"all equal|at least \d+ (different )?samples, got n_samples="):
            embed(X, coordinates=coordinates)
        return
    result = embed(X, coordinates=coordinates)
    Y = result.Y
    assert Y.shape == (len(X), 2)
    np.testing.assert_array_equal(Y, Y[first][copies.ravel()])
    np.testing.assert_allclose(Y[first].mean(axis=0), 0.0, atol=1e-9)
    # No wider than the ways along the graph, of which none is longer than all samples in a row; pieces lie apart.
    width = np.linalg.norm(np.ptp(X, axis=0)) * len(first)
    assert np.ptp(Y, axis=0).max() < 3 * width * result.pieces.count


@pytest.mark.parametrize("variant", one_fast(*VARIANTS))
def test_permuting_the_samples_permutes_the_embedding(roll, variant):
    order = np.random.default_rng(2).permutation(len(roll.X))
    here, there = (embed(X, variant=variant) for X in (roll.X, frozen(roll.X[order])))
    np.testing.assert_array_equal(there.Y, here.Y[order])
    np.testing.assert_array_equal(np.sort(order[there.short_circuits], axis=1), np.sort(here.short_circuits, axis=1))
    here, there = (embed(X, **PUBLISHED | {"variant": variant}).Y for X in (roll.X, frozen(roll.X[order])))
    np.testing.assert_array_equal(there, here[order])


@pytest.mark.parametrize("variant", one_fast(*VARIANTS))
@pytest.mark.parametrize("scale", [1e-300, *one_fast(1e300, 1e-150, 1e150)])
def test_the_unit_of_x_does_not_matter_however_extreme(roll, variant, scale):
    here, there = (embed(X, variant=variant) for X in (roll.X, frozen(roll.X * scale)))
    assert angle(here.core.Y, there.core.Y) < 1e-5
    # Lengths, and signs of axes, are those of the samples.
    np.testing.assert_allclose(there.Y / scale, here.Y, atol=1e-4)
    np.testing.assert_allclose(there.reconstruction_errors / scale, here.reconstruction_errors, rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize("variant", one_fast(*VARIANTS))
@pytest.mark.parametrize("n_features", one_fast(30, 3))
def test_a_shift_of_1e8_does_not_matter(roll, variant, n_features):
    lift = np.random.default_rng(0).normal(size=(3, n_features))
    X = roll.X @ lift
    # The shifted numbers themselves are rounded to 1e-8; the unshifted twin is rounded the same way.
    shifted = X + 1e8
    here, there = (embed(frozen(one), variant=variant) for one in (shifted - 1e8, shifted))
    assert angle(here.core.Y, there.core.Y) < 1e-5
    np.testing.assert_allclose(there.Y, here.Y, atol=1e-4)


def test_constant_columns_change_nothing(roll):
    expected = embed(roll.X).Y
    for constant in (3.0, 1e200):
        padded = np.column_stack([roll.X, np.full(400, constant)])
        np.testing.assert_allclose(embed(frozen(padded)).Y, expected, atol=1e-5)


def test_a_flat_sheet_is_returned_up_to_an_affine_map_and_as_a_chart_by_a_rotation():
    sheet = np.random.default_rng(3).random((200, 2))
    X = frozen(sheet @ [[1.0, 2.0, 0.5], [0.0, 1.0, -1.0]])
    assert affine_errors(embed(X, **PUBLISHED | {"n_neighbors": 8}).Y, sheet).max() < 1e-3
    np.testing.assert_allclose(pdist(embed(X).Y), pdist(X), atol=0.002 * pdist(X).max())


def test_pieces_are_warned_about_with_counts_and_sizes():
    rng = np.random.default_rng(0)
    blobs = frozen(np.vstack([rng.normal(size=(15, 3)), rng.normal(size=(20, 3)) + 100]))
    with advised(r"has 2 pieces \(of 20, 15 samples\): .* \(now 6\)"):
        first = embed(blobs, n_neighbors=6)
    with advised("2 pieces"):
        second = embed(blobs, n_neighbors=6)
    assert np.isfinite(first.Y).all()
    np.testing.assert_array_equal(first.Y, second.Y)


def test_many_pieces_are_named_by_their_largest():
    far_apart = np.repeat(np.eye(9) * 100, 2, axis=0)
    far_apart[::2] += 1
    with advised(r"9 pieces \(of 2, 2, 2, 2, 2, \.\.\. samples\)"):
        embed(frozen(far_apart), n_neighbors=1)


@pytest.mark.parametrize("n_pieces", one_fast(16, 3, 4, 100))
def test_any_number_of_pieces_is_finite_orthonormal_and_the_same_twice(n_pieces):
    rng = np.random.default_rng(0)
    X = frozen(rng.normal(size=(400, 3)) + 1000 * (np.arange(400) % n_pieces)[:, None])
    first, second = (embed(X, **PUBLISHED | {"n_neighbors": 3}) for _ in range(2))
    assert first.pieces.count >= n_pieces
    np.testing.assert_allclose(first.Y.T @ first.Y, np.eye(2), atol=1e-10)
    np.testing.assert_array_equal(first.Y, second.Y)


@pytest.mark.parametrize("n_pieces", one_fast(16, 3, 100))
def test_charts_of_any_number_of_pieces_lie_apart_and_are_the_same_twice(n_pieces):
    rng = np.random.default_rng(0)
    X = frozen(rng.normal(size=(400, 3)) + 1000 * (np.arange(400) % n_pieces)[:, None])
    first, second = (embed(X, n_neighbors=3, coordinates="chart") for _ in range(2))
    assert first.pieces.count >= n_pieces
    np.testing.assert_array_equal(first.Y, second.Y)
    labels = first.pieces.labels
    boxes = [(first.Y[labels == one].min(axis=0), first.Y[labels == one].max(axis=0)) for one in range(labels.max())]
    for one, (low, high) in enumerate(boxes):
        for other_low, other_high in boxes[:one]:
            assert ((low > other_high) | (high < other_low)).any()


def test_clouds_without_a_surface_get_their_eigenvectors_all_the_same():
    X = frozen(np.random.default_rng(0).normal(size=(500, 20)))
    direct, dense = (embed(X, **PUBLISHED, eigen_solver=solver) for solver in ("direct", "dense"))
    assert angle(direct.Y, dense.Y) < 1e-6


def test_a_disconnected_graph_is_finite_with_the_direct_solver_too():
    rng = np.random.default_rng(0)
    blobs = frozen(np.vstack([rng.normal(size=(400, 3)), rng.normal(size=(300, 3)) + 1000]))
    with advised(r"2 pieces \(of 400, 300 samples\)"):
        result = embed(blobs, **PUBLISHED, eigen_solver="direct")
    np.testing.assert_allclose(result.Y.T @ result.Y, np.eye(2), atol=1e-10)


def test_the_record_is_a_line_not_a_page(cloud):
    assert repr(embed(cloud)).startswith("Embedding of 60 samples in 2 dimensions, 1 piece(s), mean reconst")
    # Settings that were left open are told as they were chosen.
    told = (
        "(samples left out of their own outer layer) (Settings(n_neighbors=10, n_components=2, variant='ihne', reg=0.1"
    )
    assert told in repr(embed(cloud, include_self=False))


def test_stages_are_logged_with_their_times(cloud, caplog):
    before, after = ("neighbors", "short circuits", "pieces", "weights"), ("trust",)
    for coordinates, stages in (("chart", ("eigenpairs", "chart")), ("layout", ("layout",))):
        caplog.clear()
        with caplog.at_level(logging.INFO, logger="hne"):
            embed(cloud, coordinates=coordinates)
        told = " ".join(record.getMessage() for record in caplog.records)
        for stage in (*before, *stages, *after):
            assert f"{stage}: 0." in told


def test_an_unknown_parameter_is_refused_by_name(cloud):
    with pytest.raises(
        InputTypeError, match=r"n_neighbours is not a parameter of embed\(\)\. Parameters are: n_neighbors, "
    ):
        embed(cloud, n_neighbours=5)


def test_eigenvalues_that_float64_cannot_tell_apart_are_warned_about_with_numbers():
    angle = np.linspace(0, 2 * np.pi, 60, endpoint=False)
    ring = np.column_stack([np.cos(angle), np.sin(angle)])
    settings = PUBLISHED | {"n_neighbors": 4, "variant": "ihne"}
    message = r"eigenvalues 1 and 2 after the constant one, .* are closer than float64 tells apart .* n_components=2"
    with pytest.warns(CloseEigenvaluesWarning, match=message):
        result = embed(ring, **settings, n_components=1)
    assert not result.eigenpairs.certificate.is_resolved
    # Both of the pair are wanted: nothing is left to chance, and nobody is warned.
    assert embed(ring, **settings, n_components=2).eigenpairs.certificate.is_resolved
    # Nor is anybody of a chart, which is made of more than both; nor of so few samples that none is made.
    embed(ring, n_components=2)
    embed(ring[::12], n_components=1)
