"""Case -> Outcome: the case is fitted, everything a model can do is done with it, and what may not happen is named."""

import io
import re
import tempfile
import traceback
import warnings
from contextlib import redirect_stderr
from dataclasses import dataclass

import numpy as np
from scipy.sparse import issparse

from hne import HNE, LinearHNE
from hne.exceptions import EigenSolverError, HNEError, HNEWarning, InputError, InputTypeError
from tests.fuzz.cases import Case

EMBEDDED = "embedded"
OTHER = "other"
# What columns may be off orthonormal by; single precision has 7 digits.
SKEW, SKEW_SINGLE = 1e-6, 1e-4
# Affinities are in single precision, so that their divergence from the similarities may be this far below zero.
KL_ERROR = 1e-5
# Samples beyond the inverse of this are within a factor of 10 000 of the end of float64.
SCALE_OF_HUGE = 1e-304
# Numbers below this have fewer digits than others.
SUBNORMAL = 1e-290
SENTENCE = re.compile(r".+, got .*\. .+\.", re.DOTALL)


class Flaw(AssertionError):  # noqa: N818
    """Something that may not be."""


# What ends a worker; and with what else may not be.
CRASH, HANG = "crash", "hang"
FAILURES = (OTHER, CRASH, HANG, "unexpected error", "wrong result")


@dataclass(frozen=True)
class Outcome:
    """How a case ended: embedded, the class of an error of hne, or other; and every message that was seen."""

    label: str
    story: str = ""  # of what may not happen: what did
    messages: tuple[str, ...] = ()

    @property
    def is_failure(self) -> bool:
        """Whether that may not be."""
        return self.label in FAILURES


def outcome_of(case: Case) -> Outcome:
    """Fit the case, use the model, and judge."""
    before = _bits(case.X)
    messages: list[str] = []
    with warnings.catch_warnings(record=True) as caught, redirect_stderr(io.StringIO()):
        # Whatever else warns raises, which tells where.
        warnings.simplefilter("error")
        warnings.simplefilter("always", HNEWarning)
        try:
            label = _label(case, messages)
            _require(_bits(case.X) == before, "X was written to")
        except Exception:  # noqa: BLE001  # that any other exception is a flaw is what is tested
            return Outcome(OTHER, f"{case}\n{traceback.format_exc()}", tuple(messages))
    messages += [f"{warning.category.__name__}: {warning.message}" for warning in caught]
    return Outcome(label, messages=tuple(messages))


def _label(case: Case, messages: list[str]) -> str:
    model = HNE(**case.parameters)
    X = list(case.X) if hasattr(case.X, "__next__") else case.X
    try:
        model.fit(X)
        label = EMBEDDED
    except HNEError as error:
        messages.append(_checked_message(error))
        label = type(error).__name__
    if label == EMBEDDED:
        _check_embedding(model, X)
        _check_doors(model, X, case, messages)
    _check_linear(X, case, messages)
    return label


def _check_embedding(model: HNE, X: object) -> None:
    """Finite where embedded, NaN elsewhere, columns centered over the distinct samples, eigenvectors orthonormal."""
    Y, distinct = model.embedding_, model._fitted.distinct
    there = model.is_embedded_
    _require(Y.shape == (distinct.n_samples, model.n_components), f"shape {Y.shape}")
    _require(model.pieces == "largest" or there.all(), "NaN without pieces='largest'")
    _require((np.isfinite(Y).all(axis=1) == there).all() and np.isnan(Y[~there]).all(), "NaN and is_embedded_ differ")
    if isinstance(X, np.ndarray) and X.dtype == np.float64 and model.metric != "precomputed":
        _require(model.n_distinct_ == len(np.unique(X + 0.0, axis=0)), f"n_distinct_ is {model.n_distinct_}")
    first = distinct.index[there[distinct.index]]
    if model.coordinates == "eigenvectors":
        _check_orthonormal(Y[first])
    else:
        _check_centered(Y[first])
    _require((Y[first][_rank_among(distinct.inverse, there)] == Y[there]).all(), "copies lie apart")
    _check_attributes(model)


def _rank_among(place: np.ndarray, there: np.ndarray) -> np.ndarray:
    """Number of each embedded sample's place among the embedded places."""
    is_place_there = np.zeros(place.max() + 1, dtype=bool)
    is_place_there[place[there]] = True
    return (np.cumsum(is_place_there) - 1)[place[there]]


def _check_orthonormal(Y: np.ndarray) -> None:
    allowed = SKEW if Y.dtype == np.float64 else SKEW_SINGLE
    Y = Y.astype(np.float64)
    skew, lean = np.abs(Y.T @ Y - np.eye(Y.shape[1])).max(), np.abs(Y.sum(axis=0)).max()
    _require(skew <= allowed, f"columns are orthonormal only to {skew:.1e}")
    _require(lean <= allowed, f"columns are centered only to {lean:.1e}")


def _check_centered(Y: np.ndarray) -> None:
    allowed = SKEW if Y.dtype == np.float64 else SKEW_SINGLE
    size = float(np.abs(Y).max(initial=0.0)) or 1.0
    # Numbers below the smallest normal one have lost digits.
    lean = np.abs((Y / size).astype(np.float64).mean(axis=0)).max()
    _require(lean <= allowed or size < SUBNORMAL, f"columns are centered only to {lean:.1e}")


def _check_coordinates(model: HNE) -> None:
    """Check which coordinates were used, how they were found, and what was cut."""
    n, d, chart = len(model.embedding_), model.n_components, model.chart_
    chosen = {"auto": ("chart", "layout")}.get(model.coordinates, (model.coordinates,))
    _require(model.coordinates_ in chosen, f"coordinates_ is {model.coordinates_}")
    is_layout = model.coordinates_ == "layout"
    _require(np.isfinite(model.kl_divergence_) == is_layout, f"kl_divergence_ is {model.kl_divergence_}")
    _require(not is_layout or model.kl_divergence_ > -KL_ERROR, f"kl_divergence_ is {model.kl_divergence_}")
    cut = model.short_circuits_
    _require(cut.shape[1:] == (2,) and bool((cut >= 0).all() and (cut < n).all()), "short_circuits_")
    _require(bool((cut[:, 0] < cut[:, 1]).all()), "short_circuits_ are not sorted")
    if chart is None:
        return
    _require(model.coordinates_ == "chart", f"a chart for coordinates {model.coordinates_}")
    _require(_is_finite(chart.B, model) and chart.B.shape[1] == d, f"B of the chart is {chart.B}")
    _require(np.isfinite(chart.stress) and chart.stress >= 0, f"stress of the chart is {chart.stress}")
    _require(chart.spectrum.shape == chart.B.shape[:1] and bool((chart.spectrum >= 0).all()), "spectrum of the chart")


def _check_saved(model: HNE, messages: list[str]) -> None:
    """A file of the model gives the same model."""
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/model.hne"

        def again() -> HNE:
            model.save(path)
            return HNE.load(path)

        loaded = _tried(again, messages)
    if loaded is None:
        return
    _require(np.array_equal(_eigenvalues(loaded), _eigenvalues(model)), "eigenvalues_ are others after loading")
    for name in ("embedding_", "kl_divergence_", "short_circuits_"):
        same = np.array_equal(getattr(loaded, name), getattr(model, name), equal_nan=True)
        _require(same, f"{name} is another after saving and loading")
    _require((loaded.chart_ is None) == (model.chart_ is None), "the chart is lost in a file")
    _require(loaded.verdict_.split(".")[0] == model.verdict_.split(".")[0], "the verdict is another after loading")


def _eigenvalues(model: HNE) -> np.ndarray:
    """Return the eigenvalues; none for a layout if the chosen solver, which runs only now, does not converge."""
    try:
        return model.eigenvalues_
    except EigenSolverError as error:
        _require(model.coordinates_ == "layout", "eigenvalues_ are computed after the fit")
        _checked_message(error)
        return np.empty(0)


def _check_attributes(model: HNE) -> None:
    """What else a fitted model tells."""
    values = _eigenvalues(model)
    _require(bool(np.isfinite(values).all() and (values >= 0).all()), "eigenvalues")
    _require((np.diff(values) >= 0).all(), "eigenvalues descend")
    n = len(model.embedding_)
    for name in ("inner_weights_", "joint_weights_"):
        W = getattr(model, name)
        _require(W.shape == (n, n) and bool(np.isfinite(W.data).all()), f"{name} not finite")
        counts, sums, sizes = np.diff(W.indptr), W.sum(axis=1), abs(W).sum(axis=1)
        wrong = np.abs(sums - (counts > 0)) > 1e-9 * np.maximum(1.0, sizes)
        _require(not wrong.any(), f"rows of {name} sum to {sums[wrong]}")
    no_weights = np.diff(model.joint_weights_.indptr) == 0
    errors = model.reconstruction_errors_
    _require((np.isnan(errors) == no_weights).all() and _is_finite(errors[~no_weights], model), f"errors {errors}")
    _require(model.piece_labels_.max() + 1 == model.n_pieces_, "piece_labels_ and n_pieces_ differ")
    links = model.bridges_
    _require(links.shape[1:] == (2,) and bool((links >= 0).all() and (links < n).all()), "bridges_")
    _require(len(model.get_feature_names_out()) == model.n_components, "feature names")
    _check_coordinates(model)
    repr(model._fitted)


def _check_doors(model: HNE, X: object, case: Case, messages: list[str]) -> None:
    """What can be done with a fitted model."""
    Y, there = model.embedding_, model.is_embedded_
    again = _tried(lambda: model.transform(X), messages)
    if not _may_move(model, X):
        _require(again is not None and np.array_equal(again, Y, equal_nan=True), "fitted samples were moved")
    rows = _new_rows(X, model, case.rng)
    if rows is not None:
        _check_placed(model, rows, messages)
    points = Y[there]
    with np.errstate(over="ignore"):
        size = np.abs(points).max(initial=0.0)
        far = np.vstack([points[:2] * 1e6, points[:2] + 0.1 * size, np.zeros((1, Y.shape[1]))])
    for made in (lambda: model.inverse_transform(points), lambda: model.inverse_transform(far)):
        lifted = _tried(made, messages)
        _require(lifted is None or _is_finite(lifted, model), "inverse_transform not finite")
    rebuilt = _tried(model.reconstruct, messages)
    if rebuilt is not None:
        has_weights = np.diff(model.joint_weights_.indptr) > 0
        _require(_is_finite(rebuilt[np.flatnonzero(has_weights)], model), "reconstruct not finite")
    _check_saved(model, messages)


def _may_move(model: HNE, X: object) -> bool:
    """Whether fitted samples may not be known again: at a distance from themselves, by X or by a function of theirs."""
    if model.metric == "precomputed":
        return issparse(X) or np.diagonal(X).any()
    # By Russell and Rao, a sample that is not all true is not at itself.
    return callable(model.metric) or model.metric == "russellrao"


def _check_placed(model: HNE, rows: object, messages: list[str]) -> None:
    """New rows are finite, one by one, and the same in company."""
    together = _tried(lambda: model.transform(rows), messages)
    for row in range(0, rows.shape[0], 2):
        alone = _tried(lambda row=row: model.transform(rows[row : row + 1]), messages)
        if alone is None:
            _require(together is None, f"row {row} is refused alone and not in company")
            continue
        lost = np.isnan(alone).any() and not model.is_embedded_.all()
        _require(np.isfinite(alone).all() or lost, f"new row {row} placed at {alone}")
        if together is not None:
            same = np.array_equal(together[row], alone[0], equal_nan=True)
            _require(same, f"new row {row} lies at {alone[0]} alone and at {together[row]} in company")


def _new_rows(X: object, model: HNE, rng: np.random.Generator) -> object:
    """A few rows beside the fitted ones, far from them, and equal to them."""
    if not isinstance(X, np.ndarray) and not issparse(X):
        return None
    if issparse(X):
        X = X.tocsr()
        return X[np.array([0, -1, 0])] if model.metric == "precomputed" else type(X)(_varied(X.toarray(), rng))
    X = np.array(X, dtype=np.float64)
    return np.abs(_varied(X, rng)) if model.metric == "precomputed" else _varied(X, rng)


def _varied(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    one, other = X[rng.integers(len(X))], X[rng.integers(len(X))]
    with np.errstate(all="ignore"):
        spread = float(np.abs(X - one).max())
        return np.stack(
            [
                one / 2 + other / 2,
                one + 1e-3 * spread * rng.normal(size=len(one)),
                one + 1e-13 * spread,
                one * 1e6 + 1e3 * spread,
                np.zeros(len(one)),
                np.full(len(one), rng.choice([1e-300, 1e10, 1e300])),
                one,
                one,
            ]
        )


def _check_linear(X: object, case: Case, messages: list[str]) -> None:
    """The linear map of the same samples."""
    chosen = {name: value for name, value in case.parameters.items() if name in LinearHNE().get_params()}
    # What HNE leaves to the samples, a linear map has numbers for.
    if case.kind != "parameters" and chosen.get("n_neighbors", 1) is None:
        del chosen["n_neighbors"]
    model = LinearHNE(constraint=case.constraint, **chosen)
    if _tried(lambda: model.fit(X), messages) is None:
        return
    Y, components = model.embedding_, model.components_
    _require(_is_finite(Y) and _is_finite(components) and _is_finite(model.loadings_), "linear map not finite")
    _require(np.array_equal(model.transform(X), Y), "fitted samples were moved by the linear map")
    if case.constraint == "orthonormal":
        skew = np.abs(components @ components.T - np.eye(len(components))).max()
        _require(skew <= SKEW, f"components_ are orthonormal only to {skew:.1e}")
    lifted = _tried(lambda: model.inverse_transform(Y), messages)
    _require(lifted is None or not np.isnan(lifted).any(), "linear inverse_transform gives NaN")


def _tried(door, messages: list[str]):
    """What comes out of a door, None where hne refuses."""
    try:
        return door()
    except HNEError as error:
        messages.append(_checked_message(error))
        return None


def _checked_message(error: HNEError) -> str:
    message = str(error)
    if isinstance(error, InputError | InputTypeError):
        _require(SENTENCE.fullmatch(message) is not None, f"message not of the form '..., got ... . ... .': {message}")
    return f"{type(error).__name__}: {message}"


def _is_finite(values, model: HNE | None = None) -> bool:
    """Whether all values are; beside the largest numbers there are, a sum or a length may be inf."""
    values = values.data if issparse(values) else values
    is_huge = model is not None and model._fitted.units.scale < SCALE_OF_HUGE
    return bool((~np.isnan(values) if is_huge else np.isfinite(values)).all())


def _bits(X: object) -> object:
    """What must not change of an argument."""
    if isinstance(X, np.ndarray) and X.dtype.kind != "O":
        return X.tobytes()
    if issparse(X) and hasattr(X, "data") and isinstance(X.data, np.ndarray) and X.data.dtype.kind != "O":
        return X.data.tobytes(), X.nnz
    return repr(X) if not hasattr(X, "__next__") else None


def _require(holds: bool, flaw: str) -> None:
    if not holds:
        raise Flaw(flaw)
