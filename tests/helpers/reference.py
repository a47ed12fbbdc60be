"""The method transcribed with loops: slow, literal, and the oracle of every other test.

Nothing here is shared with the package. Sections and letters are those of the paper as pinned down by
its authors' program: `affine` is the one small problem, the three `*_row` functions are the outer layers,
`embedding` is the eigenproblem. Points are rows.
"""

import numpy as np


def neighbors(X, k):
    """Lists N(i): the k nearest samples to x_i, never x_i itself, nearest first, ties by index."""
    lists = []
    for i in range(len(X)):
        distance = [(float(np.sum((X[j] - X[i]) ** 2)), j) for j in range(len(X)) if j != i]
        lists.append([j for _, j in sorted(distance)[:k]])
    return np.array(lists)


def affine(points, target, r):
    """Weights that best rebuild the target, summing to one, ridge r relative to the trace."""
    Q = points - target
    C = Q @ Q.T
    if np.trace(C) == 0:
        return np.full(len(points), 1 / len(points))
    v = np.linalg.solve(C + r * np.trace(C) * np.eye(len(points)), np.ones(len(points)))
    return v / v.sum()


def inner_row(X, N, x, own, reg):
    """w: the k neighbors rebuild x (plain LLE)."""
    return affine(X[own], x, reg)


def outer_lists(N, own, leave_out):
    """For each neighbor l its own neighbors, without the sample `leave_out` (None leaves nothing out)."""
    return [[j for j in N[neighbor] if j != leave_out] for neighbor in own]


def ihne_row(X, lists, own, x, w, outer_reg):
    """Each outer neighborhood rebuilds x itself; the joint weight is w[l] * v_l."""
    joint = np.zeros(len(X))
    for l, members in enumerate(lists):
        if not members:
            joint[own[l]] += w[l]
            continue
        v = affine(X[members], x, outer_reg)
        for j, weight in zip(members, v, strict=True):
            joint[j] += w[l] * weight
    return joint


def rhne_row(X, lists, own, x, w, outer_reg):
    """All outer samples at once, repeats kept; the joint weight is v itself."""
    joint = np.zeros(len(X))
    members = [j for one in lists for j in one]
    if not members:
        joint[own] += w
        return joint
    for j, weight in zip(members, affine(X[members], x, outer_reg), strict=True):
        joint[j] += weight
    return joint


def bhne_row(X, lists, own, x, w, outer_reg, n_rounds=1):
    """Block by block: round 1 against the original neighbors, later rounds in turn (Gauss-Seidel)."""
    k = len(own)
    z = X[own].astype(float)
    v = [None] * k

    def block(l, z):
        if not lists[l]:
            return None, X[own[l]]
        target = x - sum(w[m] * z[m] for m in range(k) if m != l)
        weights = affine(w[l] * X[lists[l]], target, outer_reg)
        return weights, weights @ X[lists[l]]

    start = z.copy()
    for l in range(k):
        v[l], z[l] = block(l, start)
    for _ in range(n_rounds):
        for l in range(k):
            v[l], z[l] = block(l, z)

    joint = np.zeros(len(X))
    for l in range(k):
        if v[l] is None:
            joint[own[l]] += w[l]
            continue
        for j, weight in zip(lists[l], v[l], strict=True):
            joint[j] += w[l] * weight
    return joint


ROWS = {"ihne": ihne_row, "rhne": rhne_row, "bhne": bhne_row}


def weights(X, N, variant, reg, outer_reg, n_rounds=1, include_self=True):
    """Dense W and J of all samples; the lists N(i) may be of unequal length."""
    n = len(X)
    W, J = np.zeros((n, n)), np.zeros((n, n))
    extra = {"n_rounds": n_rounds} if variant == "bhne" else {}
    for i in range(n):
        if len(N[i]) == 0:  # without neighbors, both rows are empty
            continue
        w = inner_row(X, N, X[i], N[i], reg)
        W[i, N[i]] = w
        lists = outer_lists(N, N[i], None if include_self else i)
        J[i] = ROWS[variant](X, lists, N[i], X[i], w, outer_reg, **extra)
    return W, J


def embedding(W, J, d, gamma=1.0):
    """Eigenvalues and eigenvectors 2..d+1 of G = gamma (I-W)'(I-W) + (I-J)'(I-J)."""
    A, B = np.eye(len(W)) - W, np.eye(len(J)) - J
    values, vectors = np.linalg.eigh(gamma * A.T @ A + B.T @ B)
    return values[1 : d + 1], vectors[:, 1 : d + 1]


def reconstruction_errors(X, J):
    """|x_i - sum_j J_ij x_j|, one a sample."""
    return np.array([np.linalg.norm(X[i] - J[i] @ X) for i in range(len(X))])
