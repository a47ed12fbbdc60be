"""EigenPairs: ascending, orthonormal, apart from the constant vector, the same from every solver."""

import numpy as np
import pytest
from hypothesis import given
from scipy.linalg import subspace_angles
from scipy.sparse import eye_array

from hne._assembly import upper_triangle
from hne._eigen import _direct, _factor, _solve, bottom_eigenpairs
from hne._types import Settings
from hne.datasets import make_swiss_roll
from hne.exceptions import EigenSolverError, InputError
from tests import reference
from tests.conftest import lattice_clouds
from tests.test_alignment import aligned


@given(X=lattice_clouds(min_samples=8))
def test_pairs_are_orthonormal_ascending_and_solve_the_problem(X):
    record = aligned(X)
    pairs = bottom_eigenpairs(record, Settings(n_components=3))
    np.testing.assert_allclose(pairs.vectors.T @ pairs.vectors, np.eye(3), atol=1e-12)
    np.testing.assert_allclose(pairs.vectors.sum(axis=0), 0.0, atol=1e-10)
    assert (np.diff(pairs.values) >= 0).all()
    assert (pairs.values >= 0).all()
    assert (pairs.residuals <= 1e-12 * record.diagonal().max()).all()


@pytest.mark.parametrize("variant", ["ihne", "rhne", "bhne"])
@pytest.mark.parametrize("solver", ["dense", "direct"])
def test_each_solver_finds_the_oracles_plane_and_eigenvalues(roll, variant, solver):
    X = roll.X[:150]
    W, J = reference.weights(X, reference.neighbors(X, 6), variant, 1e-4, 1e-4)
    values, Y = reference.embedding(W, J, 2)
    record = aligned(X, 6, variant=variant)
    pairs = bottom_eigenpairs(record, Settings(eigen_solver=solver))
    assert pairs.solver == solver
    assert subspace_angles(pairs.vectors, Y).max() < 1e-6
    np.testing.assert_allclose(pairs.values, values, rtol=1e-5)


def test_eigenvalues_are_squared_lengths_with_all_their_digits(roll):
    record = aligned(roll.X, 6)
    pairs = bottom_eigenpairs(record, Settings(eigen_solver="direct"))
    lengths = np.linalg.norm(record.stacked(pairs.vectors), axis=0)
    np.testing.assert_allclose(pairs.values, lengths**2, rtol=1e-12)


def test_the_start_vector_does_not_decide_the_answer(roll):
    record = aligned(roll.X, 6)
    one, other = (bottom_eigenpairs(record, Settings(eigen_solver="direct", random_state=s)) for s in (0, 1))
    np.testing.assert_allclose(one.vectors, other.vectors, atol=1e-6)
    again = bottom_eigenpairs(record, Settings(eigen_solver="direct", random_state=0))
    np.testing.assert_array_equal(one.vectors, again.vectors)


@pytest.mark.parametrize("count", [1, 4, 20, 56])
def test_the_direct_solver_finds_many_vectors_of_a_small_matrix(cloud, count):
    record = aligned(cloud, 8, reg=1.0)
    dense, direct = (
        bottom_eigenpairs(record, Settings(n_components=count, eigen_solver=s)) for s in ("dense", "direct")
    )
    np.testing.assert_allclose(direct.values, dense.values, rtol=1e-6, atol=1e-13)


def test_as_many_vectors_as_there_are(cloud):
    record = aligned(cloud[:12])
    pairs = bottom_eigenpairs(record, Settings(n_components=11))
    assert pairs.vectors.shape == (12, 11)
    np.testing.assert_allclose(pairs.vectors.T @ pairs.vectors, np.eye(11), atol=1e-12)


def test_auto_goes_by_size_and_never_to_a_solver_without_room():
    assert _solve.choose_solver(500, 2, "auto") == "dense"
    assert _solve.choose_solver(501, 2, "auto") == "direct"
    assert _solve.choose_solver(501, 500, "auto") == "dense"
    with pytest.raises(InputError, match=r"eigen_solver='direct' needs n_components < n_samples - 3, got n_comp"):
        _solve.choose_solver(12, 10, "direct")


def test_signs_follow_the_largest_entry_and_the_first_of_near_ties():
    vectors = np.array([[-3.0, 1.0, -1.0], [1.0, -2.0, 1.0 + 1e-9]])
    np.testing.assert_array_equal(np.sign(_solve.fix_signs(vectors)), [[1, -1, 1], [-1, 1, -1]])


def test_no_convergence_is_an_error_that_says_what_to_try(roll, monkeypatch):
    monkeypatch.setattr(_direct, "MAX_BLOCKS", 1)
    message = (
        r"no result of the direct solver for 2 eigenpairs of the 400 x 400 alignment matrix \(the plane still moves by "
        r"1.0e\+00 rad after 1 block solves, tol=1e-07\)\. Try eigen_solver='dense', or a larger reg \(now 0.0001\)\."
    )
    with pytest.raises(EigenSolverError, match=message):
        bottom_eigenpairs(aligned(roll.X, 6), Settings(eigen_solver="direct"))


def test_auto_goes_on_to_the_dense_solver_and_says_so(monkeypatch, caplog):
    record = aligned(make_swiss_roll(600).X, 6)
    monkeypatch.setattr(_direct, "MAX_BLOCKS", 1)
    pairs = bottom_eigenpairs(record, Settings())
    assert pairs.solver == "dense"
    assert "The dense solver takes over" in caplog.text
    monkeypatch.setattr(_solve, "DENSE_RESCUE_SAMPLES", 500)
    with pytest.raises(EigenSolverError, match="no result of the direct solver"):
        bottom_eigenpairs(record, Settings())


def test_a_factorization_without_memory_is_an_error_of_ours(roll, monkeypatch):
    def exhaust(*_, **__):
        raise MemoryError

    monkeypatch.setattr(_factor, "splu", exhaust)
    with pytest.raises(EigenSolverError, match=r"alignment matrix \(MemoryError\)"):
        bottom_eigenpairs(aligned(roll.X, 6), Settings(eigen_solver="direct"))


@pytest.mark.parametrize("backend", ["superlu", "pardiso"])
def test_backends_solve_with_the_matrix_of_the_triangle(roll, backend):
    if backend == "pardiso":
        pytest.importorskip("pypardiso", reason="needs the extra 'fast'")
    upper = upper_triangle(aligned(roll.X, 6))
    upper.data[upper.indptr[:-1]] += 1e-3
    whole = upper.toarray() + np.triu(upper.toarray(), 1).T
    block = np.random.default_rng(0).normal(size=(400, 3))
    with _factor.factorized(upper, backend) as solve:
        np.testing.assert_allclose(whole @ solve(block), block, atol=1e-9)


def test_pardiso_says_when_a_matrix_is_not_positive_definite():
    pytest.importorskip("pypardiso", reason="needs the extra 'fast'")
    with pytest.raises(RuntimeError, match="PARDISO"), _factor.factorized(-eye_array(5, format="csr"), "pardiso"):
        pass


def test_small_matrices_and_missing_extras_go_to_superlu(monkeypatch):
    large = eye_array(_factor.PARDISO_MIN_ENTRIES, format="csr")
    assert _factor.choose_backend(eye_array(10, format="csr")) == "superlu"
    monkeypatch.setattr(_factor, "find_spec", lambda _: object())
    assert _factor.choose_backend(large) == "pardiso"
    monkeypatch.setattr(_factor, "find_spec", lambda _: None)
    assert _factor.choose_backend(large) == "superlu"


def test_a_restart_loses_nothing(roll, monkeypatch):
    record = aligned(roll.X, 6)
    whole = bottom_eigenpairs(record, Settings(eigen_solver="direct"))
    monkeypatch.setattr(_direct, "BLOCKS_BEFORE_RESTART", 2)
    restarted = bottom_eigenpairs(record, Settings(eigen_solver="direct"))
    np.testing.assert_allclose(restarted.vectors, whole.vectors, atol=1e-6)


@pytest.mark.parametrize("solver", ["dense", "direct"])
def test_the_next_eigenvalue_is_known(roll, solver):
    record = aligned(roll.X, 6)
    two = bottom_eigenpairs(record, Settings(eigen_solver=solver))
    three = bottom_eigenpairs(record, Settings(eigen_solver=solver, n_components=3))
    assert two.next_value == pytest.approx(three.values[2], rel=1e-3)


def test_with_all_eigenvalues_wanted_there_is_no_next(cloud):
    assert bottom_eigenpairs(aligned(cloud[:12]), Settings(n_components=11)).next_value == np.inf


@pytest.mark.parametrize(
    ("bad_entry", "message"), [(0.0, "the direct solver left residuals of"), (np.nan, "it gave NaN")]
)
def test_a_wrong_basis_never_leaves_the_room(roll, monkeypatch, bad_entry, message):
    basis = np.random.default_rng(0).normal(size=(400, 2))
    basis[3] = bad_entry
    monkeypatch.setattr(_solve, "direct_eigenvectors", lambda *_: basis)
    with pytest.raises(EigenSolverError, match=message):
        bottom_eigenpairs(aligned(roll.X, 6), Settings(eigen_solver="direct"))
