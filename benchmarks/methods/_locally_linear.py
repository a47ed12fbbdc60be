"""What the four methods of scikit-learn's LocallyLinearEmbedding share."""

from hne.core.records import FloatArray

# Below this many samples LTSA and HLLE, whose matrix is singular, get the dense eigensolver: ARPACK often refuses it.
DENSE_BELOW = 5_000


def embed_by(method: str, X: FloatArray, n_neighbors: int, n_components: int, reg: float) -> FloatArray:
    """Coordinates by one of its methods, on all cores."""
    from sklearn.manifold import LocallyLinearEmbedding

    dense = method in {"ltsa", "hessian"} and len(X) < DENSE_BELOW
    model = LocallyLinearEmbedding(
        n_neighbors=n_neighbors,
        n_components=n_components,
        reg=reg,
        method=method,
        eigen_solver="dense" if dense else "arpack",
        n_jobs=-1,
        random_state=0,
    )
    Y: FloatArray = model.fit_transform(X)
    return Y
