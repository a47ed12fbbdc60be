"""EigenPairs: ascending, orthonormal, apart from the constant vector, the same from every solver."""

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from scipy.linalg import subspace_angles
from scipy.sparse import eye_array

from hne.core.eigen import certificate as _certificate
from hne.core.eigen import cholesky as _cholesky
from hne.core.eigen import costs as _costs
from hne.core.eigen import direct as _direct
from hne.core.eigen import direct as _factor
from hne.core.eigen import filtered as _filtered
from hne.core.eigen import iterative as _iterative
from hne.core.eigen import solve as _solve
from hne.core.eigen.alignment import upper_triangle
from hne.core.eigen.solve import bottom_eigenpairs
from hne.core.records import fix_signs
from hne.datasets import make_swiss_roll
from hne.exceptions import EigenSolverError
from hne.settings import VARIANTS, Settings
from tests.conftest import lattice_clouds, one_fast
from tests.core.test_alignment import aligned
from tests.helpers import reference


@settings(max_examples=20)
@given(X=lattice_clouds(min_samples=8))
def test_pairs_are_orthonormal_ascending_and_solve_the_problem(X):
    record = aligned(X)
    pairs = bottom_eigenpairs(record, Settings(n_components=3))
    np.testing.assert_allclose(pairs.vectors.T @ pairs.vectors, np.eye(3), atol=1e-12)
    np.testing.assert_allclose(pairs.vectors.sum(axis=0), 0.0, atol=1e-10)
    assert (np.diff(pairs.values) >= 0).all()
    assert (pairs.values >= 0).all()
    assert (pairs.residuals <= 1e-12 * record.diagonal().max()).all()


@pytest.mark.parametrize("variant", one_fast(*VARIANTS))
@pytest.mark.parametrize("solver", ["dense", "direct", "iterative"])
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


@pytest.mark.parametrize("solver", ["direct", "iterative"])
def test_solvers_find_the_many_vectors_of_a_chart_as_well_as_it_needs_them(roll, solver):
    record = aligned(roll.X, 12, reg=1e-3)
    chart = Settings(coordinates="chart")
    dense, found = (bottom_eigenpairs(record, replace(chart, eigen_solver=s)) for s in ("dense", solver))
    assert dense.vectors.shape == found.vectors.shape == (400, 20)
    np.testing.assert_allclose(found.values, dense.values, rtol=1e-3)
    # What a chart is made of first is right to more than what comes last.
    assert subspace_angles(found.vectors[:, :10], dense.vectors[:, :10]).max() < 0.01
    assert found.gap(2) == pytest.approx(dense.values[2] / dense.values[1], rel=1e-3)


def test_the_iterative_solver_does_not_rest_for_a_chart_with_residuals_that_are_refused():
    """A span of twenty that moves little may be on its way yet: residuals of 1.8e-5 where 5e-6 is allowed."""
    pytest.importorskip("pyamg", reason="needs the extra 'fast'")
    roll = make_swiss_roll(700, random_state=1)
    by = Settings(coordinates="chart", variant="ihne", reg=1e-4, eigen_solver="iterative")
    pairs = bottom_eigenpairs(aligned(roll.X, 6, variant="ihne"), by, 1, roll.X)
    allowed = _certificate.allowed_residual(float(aligned(roll.X, 6).diagonal().max()), pairs.next_value, 1e-4)
    assert pairs.residuals.max() < allowed


def test_a_loose_tolerance_is_no_chart(roll):
    """Who asks for eigenvectors gets them to the tolerance that he gives, whatever is enough for charts."""
    record = aligned(roll.X, 6)
    loose = Settings(eigen_solver="iterative", tol=1e-4)
    exact = bottom_eigenpairs(record, Settings(eigen_solver="dense"))
    assert subspace_angles(bottom_eigenpairs(record, loose, 1, roll.X).vectors, exact.vectors).max() < 2e-3
    assert loose.n_eigenvectors(400) == 2
    assert loose.effective_tol == 1e-4
    assert replace(loose, coordinates="chart", tol=1e-9).effective_tol == 1e-4


@pytest.mark.parametrize(
    ("n_samples", "d", "count"), [(5, 2, 2), (30, 2, 5), (120, 2, 20), (10_000, 2, 20), (10_001, 2, 12), (60, 15, 15)]
)
def test_a_chart_has_as_many_eigenvectors_as_its_samples_carry(n_samples, d, count):
    assert Settings(n_components=d, coordinates="chart").n_eigenvectors(n_samples) == count
    assert Settings(n_components=d, coordinates="rescaled").n_eigenvectors(n_samples) == d


def test_as_many_vectors_as_there_are(cloud):
    record = aligned(cloud[:12])
    pairs = bottom_eigenpairs(record, Settings(n_components=11))
    assert pairs.vectors.shape == (12, 11)
    np.testing.assert_allclose(pairs.vectors.T @ pairs.vectors, np.eye(11), atol=1e-12)


def test_signs_follow_the_largest_entry_and_the_first_of_near_ties():
    vectors = np.array([[-3.0, 1.0, -1.0], [1.0, -2.0, 1.0 + 1e-9]])
    np.testing.assert_array_equal(np.sign(fix_signs(vectors)), [[1, -1, 1], [-1, 1, -1]])


def test_no_convergence_is_an_error_that_says_what_to_try(roll, monkeypatch):
    monkeypatch.setattr(_direct, "MAX_BLOCKS", 1)
    with pytest.raises(EigenSolverError, match=r"after 1 block solves.*Try eigen_solver='dense'"):
        bottom_eigenpairs(aligned(roll.X, 6), Settings(eigen_solver="direct"))


def test_auto_goes_on_to_the_dense_solver_and_says_so(monkeypatch, caplog):
    record = aligned(make_swiss_roll(600).X, 6)
    monkeypatch.setattr(_direct, "MAX_BLOCKS", 1)
    pairs = bottom_eigenpairs(record, Settings())
    assert pairs.solver == "dense"
    assert "The dense solver takes over" in caplog.text


def test_auto_goes_on_to_the_iterative_solver_where_n_is_too_large_for_the_dense_one(monkeypatch, caplog):
    pytest.importorskip("pyamg", reason="needs the extra 'fast'")
    roll = make_swiss_roll(600)
    monkeypatch.setattr(_direct, "MAX_BLOCKS", 1)
    monkeypatch.setattr(_costs, "DENSE_RESCUE_SAMPLES", 500)
    for module in (_solve, _costs):
        monkeypatch.setattr(module, "UNCOUNTED", 500)
    assert bottom_eigenpairs(aligned(roll.X, 6), Settings(), 1, roll.X).solver == "iterative"
    assert "The iterative solver takes over" in caplog.text
    monkeypatch.setattr(_iterative, "MAX_STEPS", 1)
    with pytest.raises(EigenSolverError, match=r"no result of the iterative solver .* after 1 steps"):
        bottom_eigenpairs(aligned(roll.X, 6), Settings(), 1, roll.X)


def test_a_factorization_without_memory_is_an_error_of_ours(roll, monkeypatch):
    def exhaust(*_, **__):
        raise MemoryError

    monkeypatch.setattr(_cholesky, "Factor", exhaust)
    with pytest.raises(EigenSolverError, match=r"alignment matrix \(MemoryError\)"):
        bottom_eigenpairs(aligned(roll.X, 6), Settings(eigen_solver="direct"))


@pytest.mark.parametrize(("n", "leaf"), [(400, 20), (400, 500), (30, 1), (4, 64)])
@pytest.mark.parametrize("gamma", [0.3, 1.0])
def test_a_factor_solves_with_g_whatever_its_tree(roll, monkeypatch, n, leaf, gamma):
    monkeypatch.setattr(_cholesky, "LEAF", leaf)
    record = aligned(roll.X[:n], 3 if n < 10 else 6, gamma=gamma)
    whole = record.matrix().toarray() + 1e-3 * np.eye(n)
    factor = _cholesky.Cholesky(record, 2)
    factor.factorize(1e-3)
    for width in (1, 8, 11):
        block = np.random.default_rng(0).normal(size=(n, width))
        np.testing.assert_allclose(whole @ factor.solve(block), block, atol=1e-9)


def test_samples_that_nobody_links_are_parts_of_the_tree():
    """Two rolls far apart, and rows of W without entries: cuts without separators, and more than one root."""
    X = make_swiss_roll(120, random_state=0).X
    record = aligned(np.concatenate([X, X + 1e4]), 6)
    factor = _cholesky.Cholesky(record, 2)
    factor.factorize(1e-3)
    block = np.random.default_rng(0).normal(size=(240, 2))
    np.testing.assert_allclose(record.apply(factor.solve(block)) + 1e-3 * factor.solve(block), block, atol=1e-9)


def test_more_entries_than_can_be_numbered_are_refused(roll, monkeypatch):
    monkeypatch.setattr(_cholesky, "INT32_MAX", 100)
    with pytest.raises(EigenSolverError, match="entries are more than the factorization can number"):
        bottom_eigenpairs(aligned(roll.X, 6), Settings(eigen_solver="direct"))


@pytest.mark.parametrize("n_threads", [1, 2, 3])
def test_threads_share_fronts_without_changing_a_bit(monkeypatch, n_threads):
    record = aligned(make_swiss_roll(1_500, random_state=0).X, 8)
    block = np.random.default_rng(0).normal(size=(1_500, 20))
    alone = _cholesky.Cholesky(record, 1)
    alone.factorize(1e-9)
    for name, value in (("TASK_SHARE", 0.05), ("MIN_OPERATIONS", 1.0), ("SHARED_OPERATIONS", 1.0)):
        monkeypatch.setattr(_cholesky, name, value)
    together = _cholesky.Cholesky(record, n_threads)
    together.factorize(1e-9)
    np.testing.assert_array_equal(together.solve(block), alone.solve(block))


def test_a_matrix_that_is_not_positive_definite_is_reported_and_gets_a_larger_shift(roll):
    record = aligned(roll.X, 6)
    with pytest.raises(_cholesky.NotPositiveDefiniteError, match="a pivot is not positive"):
        _cholesky.Cholesky(record, 2).factorize(-1.0)
    block = np.random.default_rng(0).normal(size=(400, 1))
    solution = _cholesky.inverted(record, (-1.0, 1e-3), 2)(block)
    shifted = record.apply(solution) + 1e-3 * record.diagonal().max() * solution
    np.testing.assert_allclose(shifted, block, atol=1e-9)
    with pytest.raises(_cholesky.NotPositiveDefiniteError):
        _cholesky.inverted(record, (-2.0, -1.0), 2)


@pytest.mark.parametrize("is_interrupted", [False, True])
def test_a_factor_of_superlu_is_let_go_of_by_the_thread_that_made_it(monkeypatch, is_interrupted):
    """From any other thread, SciPy gives back none of its memory: a hundred fits of 4000 samples took 1.7 GB."""
    made, gone = [], threading.Event()

    class Factor:
        def __init__(self, *_, **__):
            made.append(threading.current_thread())

        def __del__(self):
            made.append(threading.current_thread())
            gone.set()

    monkeypatch.setattr(_factor, "splu", Factor)
    expected = pytest.raises(KeyboardInterrupt) if is_interrupted else nullcontext()
    with expected, _factor.shift_inverted(eye_array(5, format="csr"), 1):
        if is_interrupted:
            raise KeyboardInterrupt
    assert gone.wait(10)
    assert made[0] is made[1] is not threading.current_thread()


def test_a_restart_loses_nothing(roll, monkeypatch):
    record = aligned(roll.X, 6)
    whole = bottom_eigenpairs(record, Settings(eigen_solver="direct"))
    monkeypatch.setattr(_direct, "BLOCKS_BEFORE_RESTART", 2)
    monkeypatch.setattr(_direct, "NARROW", 4)
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


KINDS = {
    "roll": lambda random: make_swiss_roll(500, random_state=1).X,
    "cube": lambda random: random.random((500, 3)),
    "cloud": lambda random: random.normal(size=(400, 9)),
    "circle": lambda random: np.column_stack([np.cos(t := random.uniform(0, 6.28, 600)), np.sin(t), 0.1 * t]),
}


# A filter is for samples that fill many dimensions.
@pytest.mark.parametrize(("kind", "is_installed"), [*((kind, True) for kind in KINDS), ("cloud", False)])
def test_the_iterative_solver_agrees_with_the_direct_one(kind, is_installed, monkeypatch):
    X = KINDS[kind](np.random.default_rng(0))
    record = aligned(X, 8)
    if is_installed:
        pytest.importorskip("pyamg", reason="needs the extra 'fast'")
        monkeypatch.setattr(_iterative, "MAX_COARSE", 100)
        monkeypatch.setattr(_costs, "FILTER_MIN_DIMENSIONS", 100)
    else:
        monkeypatch.setattr(_costs, "find_spec", lambda _: None)
    pairs = bottom_eigenpairs(record, Settings(eigen_solver="iterative"), 1, X)
    expected = bottom_eigenpairs(record, Settings(eigen_solver="direct"))
    assert pairs.solver == "iterative"
    assert subspace_angles(pairs.vectors, expected.vectors).max() < 1e-6
    np.testing.assert_allclose(pairs.values, expected.values, rtol=1e-8, atol=1e-28)


def test_conjugate_gradients_stop_at_columns_that_are_solved(cloud):
    record = aligned(cloud, 8, reg=1.0)
    rough = _iterative.Precondition(lambda r: r / record.diagonal()[:, None], 500)
    residuals = np.zeros((len(cloud), 2))
    residuals[0, 0], residuals[1, 0] = 1.0, -1.0
    solved = _iterative.corrections(record, rough, residuals, 1e-10)
    np.testing.assert_allclose(record.apply(solved), residuals, atol=1e-9)


def test_multigrid_without_samples_knows_the_constant_alone():
    assert _iterative.near_null(None, 5).tolist() == [[1.0]] * 5
    flat = _iterative.near_null(np.outer(np.arange(5.0), [3.0, 4.0]), 5)
    assert flat.shape[1] <= 3
    np.testing.assert_allclose(np.abs(flat[:, 1]), np.sqrt([2.0, 0.5, 0.0, 0.5, 2.0]))


def test_the_certificate_is_measured_on_the_vectors(roll):
    record = aligned(roll.X, 6)
    pairs = bottom_eigenpairs(record, Settings())
    proof = pairs.certificate
    assert proof.is_resolved
    assert proof.gap == pairs.next_value - pairs.values[-1]
    np.testing.assert_array_equal(proof.relative_residuals, pairs.residuals / proof.gap)
    assert proof.orthogonality < 1e-12
    assert proof.ritz_error < 1e-9
    tilted = pairs.vectors + 1e-3
    assert _certificate.certificate(record, pairs.values, tilted, pairs.next_value).orthogonality > 1e-3
    doubled = _certificate.certificate(record, 2 * pairs.values, pairs.vectors, pairs.next_value)
    np.testing.assert_allclose(doubled.ritz_error, 0.5)


def test_skewed_vectors_are_no_eigenvectors(roll):
    record = aligned(roll.X, 6)
    pairs = bottom_eigenpairs(record, Settings())
    skewed = replace(pairs, certificate=replace(pairs.certificate, orthogonality=1e-3))
    with pytest.raises(EigenSolverError, match=r"orthonormal only to 1\.0e-03"):
        _certificate.check_certificate(skewed, record, 1e-7)


def test_entries_of_g_are_counted_on_a_few_rows(roll):
    record = aligned(roll.X, 6)
    sizes = _costs.Sizes.of(record, 2)
    truth = record.matrix().nnz / len(roll.X)
    assert (sizes.n_samples, sizes.inner_row) == (len(roll.X), 7.0)
    assert abs(sizes.row_entries / truth - 1) < 0.1


def test_copies_of_samples_do_not_break_multigrid(monkeypatch):
    pytest.importorskip("pyamg", reason="needs the extra 'fast'")
    X = np.repeat(np.random.default_rng(0).random((700, 2)), 3, axis=0)
    record = aligned(X, 8)
    cycle = _iterative.multigrid(record, X, 1)
    assert np.isfinite(cycle(np.random.default_rng(1).normal(size=(2100, 2)))).all()


def test_iterating_on_a_surface_without_multigrid_gives_up_and_says_so(roll, monkeypatch):
    monkeypatch.setattr(_costs, "find_spec", lambda _: None)
    monkeypatch.setattr(_filtered, "PATIENCE", 0.1)
    with pytest.raises(EigenSolverError, match=r"of the next eigenvalue after \d+ products with G"):
        bottom_eigenpairs(aligned(roll.X, 6), Settings(eigen_solver="iterative"))


@pytest.mark.parametrize("n_threads", [1, 3])
def test_a_filter_has_the_bits_of_any_number_of_threads(n_threads):
    record = aligned(np.random.default_rng(0).normal(size=(1500, 6)), 5, reg=0.1)
    settings = Settings(eigen_solver="iterative", coordinates="chart")
    one, many = (_filtered.filtered_eigenvectors(record, settings, number) for number in (1, n_threads))
    np.testing.assert_array_equal(one, many)


def test_a_filter_is_as_good_as_a_picture_needs_and_its_certificate_says_so():
    record = aligned(np.random.default_rng(0).normal(size=(1500, 6)), 5, reg=0.1)
    settings = Settings(eigen_solver="iterative", coordinates="chart")
    pairs = bottom_eigenpairs(record, settings)
    exact = bottom_eigenpairs(record, replace(settings, eigen_solver="dense"))
    assert pairs.certificate.next_share <= _certificate.REFUSED_IN_PICTURE
    assert (pairs.values >= exact.values * (1 - 1e-12)).all()
    np.testing.assert_allclose(pairs.values, exact.values, rtol=0.03)
    assert subspace_angles(pairs.vectors, exact.vectors[:, :5]).max() < 0.05
    assert "for a picture" in str(pairs.certificate)
    with pytest.raises(EigenSolverError, match="is allowed"):
        _certificate.check_certificate(pairs, record, settings.effective_tol)


def test_a_filter_goes_on_in_double_precision_where_single_ends(monkeypatch):
    record = aligned(np.random.default_rng(0).normal(size=(1500, 6)), 5, reg=0.1)
    monkeypatch.setattr(_filtered, "SINGLE_RESIDUAL", 1.0)
    kinds = []
    monkeypatch.setattr(
        _filtered,
        "ritz_pairs",
        lambda products, block, pairs=_filtered.ritz_pairs: (kinds.append(products.kind), pairs(products, block))[1],
    )
    bottom_eigenpairs(record, Settings(eigen_solver="iterative", coordinates="chart"))
    assert kinds[0] is np.float32
    assert kinds[-1] is np.float64


def test_a_bound_of_the_largest_eigenvalue_that_is_none_is_raised(monkeypatch):
    record = aligned(np.random.default_rng(0).normal(size=(1500, 6)), 5, reg=0.1)
    monkeypatch.setattr(_filtered, "largest_eigenvalue", lambda _: 2.0)
    settings = Settings(eigen_solver="iterative", coordinates="chart")
    assert bottom_eigenpairs(record, settings).certificate.next_share <= _certificate.REFUSED_IN_PICTURE


def test_a_singular_factor_of_superlu_gets_a_larger_shift(roll, monkeypatch):
    factor, shifts = _factor.splu, []

    def singular_at_first(whole, **options):
        shifts.append(whole.diagonal().max())
        if len(shifts) == 1:
            raise RuntimeError("Factor is exactly singular")
        return factor(whole, **options)

    monkeypatch.setattr(_factor, "splu", singular_at_first)
    upper = upper_triangle(aligned(roll.X, 6))
    with _factor.shift_inverted(upper, 1) as solve:
        assert solve(np.ones((400, 1))).shape == (400, 1)
    assert len(shifts) == 2
    assert shifts[1] > shifts[0]
    monkeypatch.setattr(_factor, "splu", lambda *_, **__: singular_at_first(*_, **shifts.clear() or {}))
    with (
        pytest.raises(_cholesky.NotPositiveDefiniteError, match="SuperLU: Factor is"),
        _factor.shift_inverted(upper, 1),
    ):
        pass


def test_two_factorizations_at_once_do_not_disturb_each_other(roll):
    records = [aligned(roll.X, k) for k in (6, 8)]
    block = np.random.default_rng(0).normal(size=(len(roll.X), 2))

    def solved(record):
        solve = _cholesky.inverted(record, (1e-3,), 2)
        return [solve(block) for _ in range(20)]

    alone = [solved(record)[0] for record in records]
    with ThreadPoolExecutor(2) as pool:
        for expected, together in zip(alone, pool.map(solved, records), strict=True):
            for solution in together:
                np.testing.assert_array_equal(solution, expected)


@pytest.mark.parametrize("copies", [3, 12])
def test_eigenvalues_of_any_multiplicity_are_all_found(copies):
    """The same roll several times, joined by nothing: as many null vectors, and each eigenvalue as many times."""
    X = make_swiss_roll(60, random_state=0).X
    record = aligned(np.concatenate([X + 1e3 * number for number in range(copies)]), 6)
    by = Settings(n_components=2 * copies, eigen_solver="direct")
    direct, dense = (bottom_eigenpairs(record, replace(by, eigen_solver=s)) for s in ("direct", "dense"))
    np.testing.assert_allclose(direct.values, dense.values, rtol=1e-4, atol=1e-13)
