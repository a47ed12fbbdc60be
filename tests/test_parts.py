"""embedded_pieces: each piece on its own, by the solver that was asked for wherever there is room for it."""

import numpy as np
import pytest

from hne import HNE


@pytest.mark.filterwarnings("ignore::hne.exceptions.DisconnectedGraphWarning")
@pytest.mark.parametrize("solver", ["direct", "iterative"])
def test_a_piece_too_small_for_a_solver_is_solved_densely(solver):
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(30, 3)), rng.normal(size=(5, 3)) + 1e4])
    model = HNE(3, n_components=3, eigen_solver=solver).fit(X)
    assert model.n_pieces_ == 2
    assert model.eigen_solver_ == solver
    assert [pairs.solver for pairs in model._fitted.core.parts] == [solver, "dense"]
    np.testing.assert_allclose(model.embedding_.T @ model.embedding_, np.eye(3), atol=1e-9)
