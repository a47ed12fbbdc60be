"""Agreement with the authors' program: joint weights, planes, and the error tables of the paper."""

import numpy as np
import pytest
from scipy.io import loadmat
from scipy.linalg import subspace_angles
from scipy.sparse import csr_array

from hne import HNE, PUBLISHED, embed
from hne.settings import VARIANTS
from tests.conftest import frozen, one_fast, shared_file

FAST_CASE = "arc300_k5"
CASES = one_fast(FAST_CASE, "faces_k5", *(f"{data}_k{k}" for k in (4, 6, 8) for data in ("arc300", "faces")))
# The authors' constants for embeddings, and those of their error tables.
EMBEDDING_REGS = {"ihne": (1e-5, 1e-5), "rhne": (1e-5, 1e-5), "bhne": (1e-5, 1e-6)}
TABLE_REGS = {"ihne": (1e-4, 1e-4), "rhne": (1e-4, 1e-4), "bhne": (1e-5, 1e-6)}
# Faces of 32 x 32 pixels, lengths doubled: what the authors' program gives.
FACE_ERRORS = {
    "ihne": {4: 1.1255, 6: 0.9607, 8: 0.8390, 10: 0.7711, 12: 0.7380},
    "rhne": {4: 0.0684, 6: 0.0393, 8: 0.0486, 10: 0.0584, 12: 0.0757},
    "bhne": {4: 1.3123, 6: 1.2477, 8: 1.2021, 10: 1.0947, 12: 1.0159},
}


def faces():
    return frozen(loadmat(shared_file("data", "statue_face_32x32.mat"))["dataY"].T)


def published(k, variant, reg):
    return PUBLISHED | {"n_neighbors": k, "variant": variant, "reg": reg}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("variant", VARIANTS)
def test_weights_and_planes_are_those_of_the_authors_program(case, variant):
    golden = np.load(shared_file("golden", f"{case}.npz"))
    X = frozen(golden["X"]) if "X" in golden else faces()
    n = len(X)
    parts = [golden[f"{variant}_{part}"] for part in ("data", "indices", "indptr")]
    reg, outer_reg = EMBEDDING_REGS[variant]
    result = embed(X, **published(int(case.split("_k")[1]), variant, reg), outer_reg=outer_reg)
    expected = csr_array(tuple(parts), shape=(n, n))
    assert abs(result.weights.J - expected).max() < 1e-7
    assert subspace_angles(result.Y, golden[f"{variant}_Y"]).max() < 1e-4


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("variant", VARIANTS)
def test_errors_are_those_of_the_authors_program(case, variant):
    golden = np.load(shared_file("golden", f"{case}.npz"))
    X = frozen(golden["X"]) if "X" in golden else faces()
    reg, outer_reg = TABLE_REGS[variant]
    model = HNE(**published(int(case.split("_k")[1]), variant, reg), outer_reg=outer_reg).fit(X)
    assert model.reconstruction_error_ == pytest.approx(float(golden[f"error_{variant}"]), rel=1e-4)


@pytest.mark.parametrize("variant", one_fast(*VARIANTS))
@pytest.mark.parametrize("k", one_fast(4, 6, 8, 10, 12))
def test_face_errors_are_those_of_the_table(variant, k):
    reg, outer_reg = TABLE_REGS[variant]
    model = HNE(**published(k, variant, reg), outer_reg=outer_reg).fit(faces())
    assert 2 * model.reconstruction_error_ == pytest.approx(FACE_ERRORS[variant][k], rel=0.02)
