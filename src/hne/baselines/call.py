"""baseline_embedding(): X -> Y by an estimator of scikit-learn or another library, its warnings passed on, each once.

scikit-learn's LLE, MLLE, HLLE and LTSA count a sample as its own neighbor where it has copies: here X has none. Their
ARPACK solver inverts a matrix that is singular to rounding: here LAPACK runs where it can.
"""

import logging
import math
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import SparseEfficiencyWarning, csr_array
from sklearn import config_context, get_config
from sklearn.manifold import LocallyLinearEmbedding
from sklearn.neighbors import NearestNeighbors

from hne._runtime.threads import limit_blas_threads, load_unbroken, thread_count
from hne.baselines.methods import BASELINES, METHODS, Baseline, check_common, check_unique
from hne.core.parameters import check_choice
from hne.core.pieces.split import connected_pieces
from hne.core.records import FloatArray, NeighborGraph, Pieces
from hne.core.samples.check import check_graph
from hne.exceptions import BaselineError, MissingExtraError, caller_stacklevel
from hne.settings import Settings

logger = logging.getLogger("hne")

DEFAULT_NEIGHBORS = 5
# What scikit-learn is told while it works for us, whatever it is told to give to others: arrays come out, and its
# spectral embedding of 1.9.1 takes none of the sparse arrays with 64-bit indices that its own search then makes.
PLAIN = {"transform_output": "default", "sparse_interface": "spmatrix"}
SKLEARN_NAMES = {"lle": "standard", "mlle": "modified", "hlle": "hessian", "ltsa": "ltsa"}
# Samples up to which LAPACK comes first (some seconds), and up to which it stands in for ARPACK (minutes, 2 GB).
DENSE_MAX, STAND_IN_MAX = 2_500, 8_000
# scikit-learn's own perplexity of t-SNE, which looks at three times as many neighbors.
PERPLEXITY = 30.0
# Who works in single precision, and powers of two beyond which these get samples in other units: at 1e15 t-SNE goes
# wrong, at 1e60 it crashes the interpreter.
SINGLE, ORDINARY = ("tsne", "umap"), 40
# What is said to those who wrote the library, not to those who use it.
UNSEEN = (DeprecationWarning, PendingDeprecationWarning, ImportWarning, ResourceWarning, SparseEfficiencyWarning)


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

    Copies of a sample count once and get the same coordinates, and the order of the samples does not matter. LLE, MLLE,
    HLLE and LTSA are scikit-learn's; methods from "pca" on run with the defaults of their libraries.

    Parameters
    ----------
    method : {"lle", "mlle", "hlle", "ltsa", "pca", "isomap", "spectral", "tsne", "umap", "phate"}
        The method: a name of `METHODS`. `BASELINES` tells more of each. "umap" needs umap-learn, "phate" phate.
    X : array-like of shape (n_samples, n_features)
        The samples, one in each row.
    n_neighbors : int or None, default=None
        Neighbors k of each sample. More smooth over noise and gaps, fewer follow finer structure. "mlle" needs d,
        "ltsa" d + 2, "hlle" more than d(d + 3) / 2 of them. None is 5 up to "ltsa", and else what the library chooses;
        "pca" and "tsne" have no such parameter.
    n_components : int, default=2
        Number d of coordinates; 2 are good to look at.
    reg : float, default=1e-3
        Ridge of the small problems of "lle", relative to the trace of their Gram matrix. Larger bends straight lines,
        smaller chases noise. "mlle" uses 1e-3 whatever it is told, the others none.
    random_state : int, RandomState or None, default=0
        Seed of the iterative eigensolver, which runs from some thousands of samples on, and of all that "tsne", "umap"
        and "phate" draw.
    n_jobs : int or None, default=None
        Number of threads, as in `hne.HNE`: None or -1 for all cores.

    Returns
    -------
    ndarray of shape (n_samples, n_components)
        The coordinates, in the units of the method.

    Raises
    ------
    BaselineError
        The method has no answer: neighborhoods are too small for it, its solver fails, or its coordinates are not
        finite, repeat each other, or put every piece of the neighbor graph (its connected components) at one point.
    MissingExtraError
        The library of the method is not installed.

    Warns
    -----
    DisconnectedGraphWarning
        The neighbor graph is in several pieces, and coordinates may only tell them apart. scikit-learn's "hlle" and
        "ltsa" leave a sample out of its own neighborhood: there, one that is nobody's neighbor is a piece, too.

    See Also
    --------
    hne.HNE : The method that these are compared with.
    hne.viz.compare : Several embeddings side by side.

    Notes
    -----
    The methods are LLE [1]_, MLLE [2]_, Hessian eigenmaps (HLLE) [3]_, LTSA [4]_, PCA, Isomap [5]_, Laplacian eigenmaps
    ("spectral") [6]_, t-SNE [7]_, UMAP [8]_ and PHATE [9]_. The perplexity of t-SNE is 30, or a third of the other
    samples where these are fewer than 90.

    References
    ----------
    .. [1] Roweis and Saul, Science 290 (2000) 2323-2326.
    .. [2] Zhang and Wang, Advances in Neural Information Processing Systems 19 (2006) 1593-1600.
    .. [3] Donoho and Grimes, Proceedings of the National Academy of Sciences 100 (2003) 5591-5596.
    .. [4] Zhang and Zha, SIAM Journal on Scientific Computing 26 (2004) 313-338.
    .. [5] Tenenbaum, de Silva and Langford, Science 290 (2000) 2319-2323.
    .. [6] Belkin and Niyogi, Neural Computation 15 (2003) 1373-1396.
    .. [7] van der Maaten and Hinton, Journal of Machine Learning Research 9 (2008) 2579-2605.
    .. [8] McInnes, Healy and Melville, arXiv:1802.03426 (2018).
    .. [9] Moon et al., Nature Biotechnology 37 (2019) 1482-1492.

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


def locally_linear_embedding(baseline: Baseline, X: FloatArray, settings: Settings) -> FloatArray:
    """Embed distinct samples by scikit-learn's LLE, MLLE, HLLE or LTSA."""
    n, k = len(X), settings.n_neighbors
    for algorithm in ("auto", "kd_tree"):
        search = NearestNeighbors(n_neighbors=k + 1, algorithm=algorithm, n_jobs=settings.n_jobs).fit(X)
        distances, indices = search.kneighbors(X)
        # Brute force takes differences of squares: a near-copy may come out nearer than the sample itself.
        if (indices[:, 0] == np.arange(n)).all():
            break
    pieces = _pieces(baseline, NeighborGraph(indices[:, 1:], distances[:, 1:], algorithm))
    solvers = ["dense"] if n <= DENSE_MAX else ["arpack", "dense"] if n <= STAND_IN_MAX else ["arpack"]
    model = LocallyLinearEmbedding(
        n_neighbors=k,
        n_components=settings.n_components,
        reg=settings.reg,
        method=SKLEARN_NAMES[baseline.name],
        neighbors_algorithm=algorithm,
        random_state=settings.random_state,
        n_jobs=settings.n_jobs,
    )
    logger.info("%s: %s eigensolver, %s neighbor search", baseline.label, solvers[0], algorithm)
    for solver, substitute in pairwise(solvers):
        try:
            return fitted_coordinates(baseline, model.set_params(eigen_solver=solver), X, pieces, settings)
        except BaselineError as error:
            logger.warning("%s: %s The %s eigensolver takes over.", baseline.label, error, substitute)
    return fitted_coordinates(baseline, model.set_params(eigen_solver=solvers[-1]), X, pieces, settings)


def _pieces(baseline: Baseline, graph: NeighborGraph) -> Pieces:
    """Samples that hang together in the matrix of the method.

    scikit-learn leaves a sample out of its own neighborhood in HLLE and LTSA: one that is nobody's neighbor has a row
    of zeros, and takes a coordinate for itself.
    """
    if not baseline.leaves_out_self:
        return connected_pieces(graph)
    n, k = graph.indices.shape
    members = csr_array((np.ones(n * k), graph.indices.ravel(), np.arange(0, n * k + 1, k)), shape=(n, n))
    return connected_pieces(check_graph(members.T @ members))


def estimator_embedding(baseline: Baseline, X: FloatArray, settings: Settings, *, is_named: bool) -> FloatArray:
    """Embed distinct samples by an estimator with its own defaults, of n_neighbors too unless that `is_named`."""
    baseline.check_memory(len(X))
    model, seed = _load(baseline), settings.random_state
    parameters = {
        "n_components": settings.n_components,
        "random_state": seed,
        # UMAP takes one thread where it has a seed, and warns of more.
        "n_jobs": 1 if baseline.name == "umap" and seed is not None else thread_count(settings.n_jobs),
        "perplexity": min(PERPLEXITY, (len(X) - 1) / 3),
        "verbose": 0,
    }
    if is_named:
        parameters[baseline.neighbors] = settings.n_neighbors
    known = model.get_params()
    model.set_params(**{name: value for name, value in parameters.items() if name in known})
    logger.info("%s: %r", baseline.label, model)
    exponent = math.frexp(np.abs(X).max())[1]
    if baseline.name in SINGLE and abs(exponent) > ORDINARY:
        X = np.ldexp(X, -exponent)
    whole = Pieces(np.zeros(len(X), dtype=np.intp), np.array([len(X)]))
    return fitted_coordinates(baseline, model, X, whole, settings)


def _load(baseline: Baseline) -> Any:
    """The estimator with all defaults, its library imported here and no earlier: UMAP takes seconds to load."""
    module, _, kind = baseline.estimator.rpartition(".")
    try:
        with warnings.catch_warnings():
            # UMAP tells of its extras that are not installed.
            warnings.simplefilter("ignore")
            return getattr(load_unbroken(module), kind)()
    except Exception as error:
        msg = (
            f"method={baseline.name!r} needs {baseline.library}, got one that cannot be loaded: {_reason(error)}. "
            f"Run: pip install --upgrade {baseline.library}."
        )
        raise MissingExtraError(msg) from error


def fitted_coordinates(baseline: Baseline, model: Any, X: FloatArray, pieces: Pieces, settings: Settings) -> FloatArray:
    """What the estimator makes of X, if it is an embedding; warnings become notes of the error where it is none."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            Y = baseline.check_answer(_fit(baseline, model, X, settings), pieces, settings)
        except BaselineError as error:
            for message, category in _different(caught):
                error.add_note(f"{baseline.library} warned of it: {category.__name__}: {message}")
            raise
    for message, category in _different(caught):
        warnings.warn(f"{baseline.label} of {baseline.library}: {message}", category, stacklevel=caller_stacklevel())
    baseline.warn_of_pieces(pieces, settings)
    return Y


def _fit(baseline: Baseline, model: Any, X: FloatArray, settings: Settings) -> FloatArray:
    try:
        with _logs_as_warnings():
            return np.asarray(model.fit_transform(X), dtype=np.float64)
    except MemoryError:
        raise
    except Exception as error:
        k = model.get_params().get(baseline.neighbors or "n_neighbors")
        msg = (
            f"method={baseline.name!r} must embed {len(X)} samples with {'' if k is None else f'n_neighbors={k} and '}"
            f"n_components={settings.n_components}, got {type(error).__name__} of {baseline.library}: "
            f"{_reason(error)}. Try another {'' if k is None else 'n_neighbors or another '}method."
        )
        raise BaselineError(msg) from error


@contextmanager
def _logs_as_warnings() -> Iterator[None]:
    """Make warnings of what PHATE logs, which would go to standard output among the results of others."""

    def warn(record: logging.LogRecord) -> bool:
        warnings.warn(record.getMessage().strip(), UserWarning, stacklevel=2)
        return False

    theirs = logging.getLogger("graphtools")
    theirs.addFilter(warn)
    try:
        yield
    finally:
        theirs.removeFilter(warn)


def _different(caught: list[Any]) -> list[tuple[str, type[Warning]]]:
    seen = [one for one in caught if not issubclass(one.category, UNSEEN)]
    return list(dict.fromkeys((str(one.message), one.category) for one in seen))


def _reason(error: Exception) -> str:
    """The first sentence of what another library says."""
    return str(error).strip().split(". ")[0].partition("\n")[0].rstrip(".:") or "no reason given"
