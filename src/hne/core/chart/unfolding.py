"""Eigenvectors V (n, m), Pairs -> B (m, d): the map Y = V B that keeps local lengths and spreads the most.

Of all maps that keep the lengths of near pairs, the unfolded one has the largest variance. Within the span of a few
eigenvectors that is a small convex problem (Weinberger, Sha, Zhu and Saul 2006), without a start, folds or landmarks:
with a_e = (v_i - v_j) / d_e for the pair e, over positive semidefinite P = B B' (m, m),

    minimize  mean_e (a_e' P a_e - 1)^2 / 2  -  lambda (trace of P in units of the columns)

by ADMM. Then B is polished: the mean of (|B' a_e| - 1)^2, the stress of near pairs, falls by majorization (SMACOF).
"""

import numpy as np

from hne.core.records import FloatArray, IndexArray

# How much spreading counts beside lengths: .03 and .3 do nearly the same after polishing, .001 and 1 fail.
SPREADING = 0.1
ADMM_STEPS, POLISHING_STEPS = 400, 60
# What the penalty of ADMM is, in mean eigenvalues of the quadratic form.
PENALTY = 0.1
# ADMM has come to rest when its iterates move by less than this share of themselves.
AT_REST = 1e-6
# Columns whose slopes are below this share of the steepest are rounding.
FLAT = 1e-10
# Ridge of a normal matrix, in shares of its trace.
RIDGE = 1e-12
TINY = 1e-12
# Pairs whose products are held at once: 7 MB for twenty eigenvectors.
BLOCK_PAIRS = 4096


def unfolded(ratios: FloatArray, n_components: int) -> tuple[FloatArray, FloatArray]:
    """B (m, d), the leading eigenvectors of P times the roots of their eigenvalues, and all of these, descending."""
    slopes = np.sqrt((ratios**2).mean(axis=0))
    # A column that is flat wherever pairs are tells nothing of lengths.
    scale = np.where(slopes > FLAT * slopes.max(), 1 / np.maximum(slopes, np.finfo(np.float64).tiny), 0.0)
    scaled = ratios * scale
    m = scaled.shape[1]
    rows, columns = np.triu_indices(m)
    # Products off the diagonal stand for two entries of the matrix.
    double = np.where(rows == columns, 1.0, np.sqrt(2.0))
    form, pull = np.zeros((len(rows), len(rows))), np.zeros(len(rows))
    for start in range(0, len(scaled), BLOCK_PAIRS):
        some = scaled[start : start + BLOCK_PAIRS]
        products = some[:, rows] * some[:, columns] * double
        form += products.T @ products / len(scaled)
        pull += products.sum(axis=0) / len(scaled)
    pull[rows == columns] += SPREADING * (scale / scale.max()) ** 2
    Q = _least(form, pull, rows, columns, double)
    values, vectors = np.linalg.eigh(scale[:, None] * Q * scale)
    values, vectors = np.maximum(values[::-1], 0.0), vectors[:, ::-1]
    return vectors[:, :n_components] * np.sqrt(values[:n_components]), values


def _least(form: FloatArray, pull: FloatArray, rows: IndexArray, columns: IndexArray, double: FloatArray) -> FloatArray:
    """The positive semidefinite Q with the least q' form q / 2 - pull' q, q being its triangle."""
    m = int(rows.max()) + 1
    penalty = PENALTY * np.trace(form) / len(form)
    lower = np.linalg.cholesky(form + penalty * np.eye(len(form)))
    inverse_lower = np.linalg.solve(lower, np.eye(len(form)))
    inverse = inverse_lower.T @ inverse_lower
    Q, feasible, lag = np.zeros((m, m)), np.zeros(len(form)), np.zeros(len(form))
    for _ in range(ADMM_STEPS):
        free = inverse @ (pull + penalty * (feasible - lag))
        wanted = (free + lag) / double
        Q[rows, columns] = Q[columns, rows] = wanted
        values, vectors = np.linalg.eigh(Q)
        Q = (vectors * np.maximum(values, 0.0)) @ vectors.T
        before, feasible = feasible, Q[rows, columns] * double
        lag += free - feasible
        size = np.linalg.norm(feasible)
        moved = max(np.linalg.norm(feasible - before), np.linalg.norm(free - feasible))
        if moved <= AT_REST * size:
            break
    return Q


def polished(ratios: FloatArray, B: FloatArray) -> FloatArray:
    """The map nearby with the least stress of near pairs."""
    normal = ratios.T @ ratios
    normal += RIDGE * np.trace(normal) * np.eye(len(normal))
    lower = np.linalg.cholesky(normal)
    for _ in range(POLISHING_STEPS):
        images = ratios @ B
        lengths = np.sqrt(np.einsum("ij,ij->i", images, images))
        images /= np.maximum(lengths, TINY)[:, None]
        B = np.linalg.solve(lower.T, np.linalg.solve(lower, ratios.T @ images))
    return B


def stress_of(images: FloatArray) -> float:
    """Mean of (|y_i - y_j| / d_ij - 1)^2 over pairs, given (y_i - y_j) / d_ij."""
    return float(np.mean((np.sqrt(np.einsum("ij,ij->i", images, images)) - 1) ** 2))
