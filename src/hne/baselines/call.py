"""baseline_embedding(): from samples to their coordinates by the method of that name."""

from typing import Any

from numpy.typing import ArrayLike
from sklearn import config_context, get_config

from hne._runtime.threads import limit_blas_threads
from hne.baselines.methods import BASELINES, METHODS, check_common, check_unique
from hne.baselines.sklearn_methods import estimator_embedding, locally_linear_embedding
from hne.core.parameters import check_choice
from hne.core.records import FloatArray

DEFAULT_NEIGHBORS = 5
# What scikit-learn is told while it works for us, whatever it is told to give to others: arrays come out, and its
# spectral embedding of 1.9.1 takes none of the sparse arrays with 64-bit indices that its own search then makes.
PLAIN = {"transform_output": "default", "sparse_interface": "spmatrix"}


def baseline_embedding(
    method: str,
    X: ArrayLike,
    *,
    n_neighbors: int | None = None,
    n_components: int = 2,
    reg: float = 1e-3,
    random_state: Any = 0,
    n_jobs: int | None = None,
) -> FloatArray:
    """Embed the samples of X by another method than HNE.

    Copies of a sample count once and get the same coordinates, and the order of the samples does not matter. Methods
    from "pca" on run with the defaults of their libraries, but for the parameters below; the perplexity of "tsne" is a
    third of the other samples where these are fewer than 90.

    Parameters
    ----------
    method : {"lle", "mlle", "hlle", "ltsa", "pca", "isomap", "spectral", "tsne", "umap", "phate"}
        The method: a name of `METHODS`; `BASELINES` tells more of each. "umap" needs umap-learn, "phate" phate.
    X : array-like of shape (n_samples, n_features)
        The samples, one a row.
    n_neighbors : int, default=None
        k, the neighbors of a sample. "mlle" needs d, "ltsa" d + 2, "hlle" more than d(d + 3) / 2 of them. None is 5 up
        to "ltsa", and beyond what the libraries choose; "pca" and "tsne" have no such parameter.
    n_components : int, default=2
        d, the number of coordinates.
    reg : float, default=1e-3
        Ridge of the small problems, relative to the trace of their Gram matrix. "mlle" uses 1e-3 whatever it is told,
        "hlle" and "ltsa" use none: see `BASELINES[method].uses_reg`.
    random_state : int, RandomState or None, default=0
        The start of the iterative eigensolver, which runs from some thousands of samples on, and all that "tsne",
        "umap" and "phate" draw.
    n_jobs : int or None, default=None
        Threads: -1 for all cores, None for one unless joblib says otherwise.

    Returns
    -------
    ndarray of shape (n_samples, n_components)
        The coordinates.

    Raises
    ------
    BaselineError
        The method has no answer: neighborhoods are too small for it, its solver fails, or its coordinates are not
        finite, not of full rank, or put every piece of the neighbor graph at one point.
    MissingExtraError
        The library of the method is not installed.

    Warns
    -----
    DisconnectedGraphWarning
        The neighbor graph is in several pieces, and coordinates may only tell them apart. scikit-learn's "hlle" and
        "ltsa" leave a sample out of its own neighborhood: there, one that is nobody's neighbor is a piece, too.

    Examples
    --------
    >>> import numpy as np
    >>> from hne.baselines import baseline_embedding
    >>> line = np.outer(np.arange(20.0), [3.0, 4.0])
    >>> y = baseline_embedding("lle", line, n_neighbors=2, n_components=1)[:, 0]
    >>> np.allclose(np.diff(y), y[1] - y[0], rtol=0.1)  # evenly spaced
    True
    """
    baseline = BASELINES[check_choice("method", method, METHODS)]
    baseline.check_installed()
    common = {"n_components": n_components, "reg": reg, "random_state": random_state, "n_jobs": n_jobs}
    # One that keeps its own defaults needs no neighbors that we know of.
    default = 1 if baseline.estimator else DEFAULT_NEIGHBORS
    settings = check_common({"n_neighbors": default if n_neighbors is None else n_neighbors, **common})
    baseline.check_neighbors(settings)
    distinct, _, inside = check_unique(X, settings)
    # Versions before 1.9 have only one kind of sparse matrices.
    plain = {name: value for name, value in PLAIN.items() if name in get_config()}
    # One thread: LAPACK sums in an order that depends on their number, and the same bits are worth more here.
    with limit_blas_threads(1), config_context(**plain):
        if baseline.estimator:
            Y = estimator_embedding(baseline, inside, settings, is_named=n_neighbors is not None)
        else:
            Y = locally_linear_embedding(baseline, inside, settings)
    return Y[distinct.inverse]
