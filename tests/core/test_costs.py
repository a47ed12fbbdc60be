"""Costs and choice: by fill, operations and free memory; what does not fit is refused with the numbers."""

import pytest

from hne.core.eigen import costs as _costs
from hne.core.eigen.costs import Sizes, choose_solver, dissection, solver_bytes
from hne.exceptions import InputError, TooLargeError

PLENTY = 1e12
ROLL = Sizes(100_000, 2, 9, 23, 83.4)
GAUSSIAN = Sizes(20_000, 2, 11, 77, 1_900)


@pytest.fixture(autouse=True)
def all_extras(monkeypatch):
    monkeypatch.setattr(_costs, "find_spec", lambda _: object())


# Entries a row of the factor that PARDISO counted itself: lines, rolls, cubes in 3, 5 and 8 dimensions, digits.
COUNTED = [
    (Sizes(200_000, 2, 7, 11.8, 23.1), 18.9),
    (Sizes(20_000, 2, 9, 22.8, 81.5), 282.9),
    (Sizes(300_000, 2, 9, 23.0, 84.0), 500.5),
    (Sizes(40_000, 2, 11, 39.3, 235.6), 2443.6),
    (Sizes(16_000, 2, 11, 53.0, 576.2), 4833.0),
    (Sizes(8_000, 2, 11, 65.3, 1077.5), 3735.1),
    (Sizes(10_000, 2, 9, 37.5, 333.1), 1840.7),
]


@pytest.mark.parametrize(("sizes", "counted"), COUNTED)
def test_fill_is_predicted_within_a_factor_of_one_and_a_half(sizes, counted):
    entries, operations = dissection(sizes)
    assert 1 / 1.5 < entries / sizes.n_samples / counted < 1.5
    assert operations > entries


def test_no_factor_is_larger_than_a_dense_one():
    entries, operations = dissection(Sizes(3_000, 2, 11, 100, 2_900))
    assert (entries, operations) == (3_000**2 / 2, 3_000**3 / 3)


def test_auto_goes_by_fill_and_memory_not_by_n():
    assert choose_solver(Sizes(250, 2, 9, 23, 80), "auto", PLENTY)[0] == ("dense",)
    assert choose_solver(Sizes(251, 2, 9, 23, 80), "auto", PLENTY)[0] == ("direct", "dense")
    assert choose_solver(ROLL, "auto", PLENTY)[0] == ("direct", "iterative")
    assert choose_solver(GAUSSIAN, "auto", PLENTY)[0] == ("iterative", "direct")


def test_what_fits_alone_is_taken():
    solid = Sizes(1_000_000, 2, 11, 39.3, 236)
    needed = {solver: solver_bytes(solid, solver) for solver in ("direct", "iterative")}
    assert needed["iterative"] < needed["direct"]
    assert choose_solver(solid, "auto", 1.2 * needed["iterative"])[0] == ("iterative",)


def test_the_reason_has_the_numbers():
    reason = choose_solver(ROLL, "auto", PLENTY)[1]
    assert "entries" in reason
    assert "direct" in reason
    assert "free: 1000.0 GB" in reason


def test_what_has_no_room_for_a_block_is_dense_or_refused():
    crowded = Sizes(501, 500, 9, 23, 80)
    assert choose_solver(crowded, "auto", PLENTY)[0] == ("dense",)
    with pytest.raises(InputError, match="eigen_solver='direct' needs n_components <"):
        choose_solver(Sizes(12, 10, 9, 12, 12), "direct", PLENTY)


@pytest.mark.parametrize("asked", ["auto", "direct", "iterative", "dense"])
def test_what_does_not_fit_is_refused_with_the_numbers_and_remedies(asked):
    with pytest.raises(TooLargeError, match="the eigenproblem of 100000 samples") as caught:
        choose_solver(ROLL, asked, 1e6)
    assert "got 0.001 GB of free memory" in str(caught.value)
    assert str(caught.value).endswith("or embed a part of the samples and transform the rest.")
    assert isinstance(caught.value, MemoryError)


def test_ranks_elsewhere_need_no_memory_here_but_for_what_is_written():
    assert choose_solver(ROLL, "slepc", 0.15 * solver_bytes(ROLL, "direct"))[0] == ("slepc",)
    with pytest.raises(TooLargeError, match="with eigen_solver='slepc'"):
        choose_solver(ROLL, "slepc", 1e6)
    with pytest.raises(InputError, match="eigen_solver='slepc' needs n_components <"):
        choose_solver(Sizes(12, 6, 9, 12, 12), "slepc", PLENTY)


def test_without_multigrid_nothing_iterates_on_a_surface(monkeypatch):
    monkeypatch.setattr(_costs, "find_spec", lambda _: None)
    assert choose_solver(ROLL, "auto", PLENTY)[0] == ("direct",)
    assert choose_solver(GAUSSIAN, "auto", PLENTY)[0] == ("iterative", "direct")
    with pytest.raises(TooLargeError, match=r"Install the extra 'fast', .* pass n_landmarks=1000"):
        choose_solver(ROLL, "auto", 1e6)


def test_what_auto_does_not_consider_is_no_remedy(monkeypatch):
    monkeypatch.setattr(_costs, "find_spec", lambda _: None)
    assert "iterative" not in _costs.remedies(ROLL, ("direct",))
    assert "eigen_solver='iterative'" in _costs.remedies(GAUSSIAN, ("direct",))


def test_multigrid_is_for_few_dimensions_and_rows_that_pyamg_can_count(monkeypatch):
    assert _costs.iteration_kind(ROLL) == "multigrid"
    assert _costs.iteration_kind(GAUSSIAN) == "filter"
    assert _costs.iteration_kind(Sizes(30_000_000, 2, 9, 23, 83)) == "filter"
    monkeypatch.setattr(_costs, "find_spec", lambda _: None)
    assert _costs.iteration_kind(ROLL) == "filter"


# Rows of B and G with 5 and 10 neighbors, n = 16 000: a roll, cubes in 3 and 4 dimensions, Gaussians in 5, 8; a cube.
@pytest.mark.parametrize(
    ("rows", "dimensions"),
    [
        ((6, 13.3, 45), 2),
        ((6, 13.7, 56), 3),
        ((6, 16.1, 90), 4),
        ((6, 17.4, 122), 5),
        ((6, 20.2, 223), 8),
        ((11, 39.3, 235.6), 3),
    ],
)
def test_the_dimensions_that_samples_fill_show_in_the_rows(rows, dimensions):
    assert dimensions - 0.9 <= _costs.filled_dimensions(Sizes(16_000, 12, *rows)) <= dimensions + 0.1
