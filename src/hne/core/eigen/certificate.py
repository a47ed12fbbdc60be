"""Basis of a solver -> EigenPairs: the best eigenpairs in its span, with the proof that they are.

Rayleigh-Ritz on the factors A and B instead of their products gives eigenvalues as squared lengths
gamma |A y|^2 + |B y|^2, which keeps digits that G has lost (the wanted eigenvalues are 1e-10 of its scale and less).
"""

import logging
import math
from dataclasses import dataclass

import numpy as np

from hne.core.eigen.alignment import Operator
from hne.core.records import LANDMARKS, UNFOLDED, Chart, FloatArray, fix_signs
from hne.exceptions import EigenSolverError
from hne.settings import CHART_TOL, Settings

logger = logging.getLogger("hne")

# Largest residual relative to the scale of G. Solvers leave 1e-16 to 1e-14 of it; at 1e-11 a mixture with the wrong
# eigenvectors shows up to some 10 000 samples of a surface, beyond which they differ by less.
LARGEST_RESIDUAL = 1e-11
# The other source of residuals, a plane that is off by tol: how many times tol * next eigenvalue to forgive, because it
# leans to later eigenvectors as well (Gaussians in 10 and 20 dimensions, n = 2 500, leave half of one).
LEANING = 100
# Where samples fill many dimensions, a chart is a picture, for which the bottom of the spectrum is but a smooth space:
# residuals, as shares of the next eigenvalue, that are enough for it, and that are refused. At .03 the eigenvalues are
# 1 % too large at most and the span leans to later eigenvectors by .01 rad (the first two) to .3 (the last). Of five
# synthetic sets (Gaussians in 5 and 8 dimensions, overlapping groups, a curved solid, heavy tails; n = 3 000 and 4 000)
# trustworthiness and continuity are those of converged vectors to .004 in four; Gaussians in 5 lose .012, because
# another picture is chosen.
PICTURE_RESIDUAL, REFUSED_IN_PICTURE = 0.03, 0.05
# A plane at rest must also have residuals this small relative to its gap: slow progress looks like rest.
LARGEST_ANGLE = 1e-3
# Vectors are orthonormal by construction, to a few roundings a sum.
LARGEST_SKEW = 1e-10
# Roundings that a length |A y| gathers, in units of one rounding of the longest.
ROUNDINGS_OF_LENGTH = 10
# Angle of the last refinement beyond which it was not the last one needed: on rolls of 100 000 samples with 1 000 to
# 10 000 landmarks, what was left was 4 to 11 times that angle.
UNSETTLED = 0.005
# Bound of the angle beyond which nothing tells that a plane is that of the eigenvectors: rolls of 3 000 to a million
# samples .1 to .3 where it was, .9 where landmarks were too few.
UNBOUNDED = 0.7
# Stress up to which a chart proves itself, whatever its eigenvectors are. Of 54 rolls, S-curves and holes of 4 000 and
# 15 000 samples with 13 to 1 000 landmarks, those below are right to .0005, those with .009 to .022 to .001 at best and
# .9 at worst, and spans of 20 eigenvectors still move by .01 to .5 in all of them.
KEPT_STRESS = 0.004


@dataclass(frozen=True)
class Certificate:
    r"""The proof that vectors are eigenvectors of G, measured on the vectors themselves; print it to read it.

    It says that the eigenproblem was solved, not that the embedding is right: that is `trust_`.

    Attributes
    ----------
    residuals : ndarray of shape (n_eigenvectors,)
        Lengths of G y - lambda y.
    gap : float
        Difference of the last wanted eigenvalue and the next; inf where there is none.
    rounding : float
        What one rounding of the largest entry of G does to a residual.
    resolution : float
        Smallest difference of eigenvalues that float64 can show.
    orthogonality : float
        Largest entry of Y'Y - I, and of Y'1 / sqrt(n), in absolute value.
    ritz_error : float
        Largest relative difference of lambda and :math:`\gamma |A y|^2 + |B y|^2`.
    last_move : float
        Angle in radians of the last refinement on landmarks; 0 for solvers that go on until `tol`.
    next_share : float
        The largest residual over the next eigenvalue.

    See Also
    --------
    hne.HierarchicNeighborsEmbedding : Has it as `eigen_certificate_`, and explains G.
    hne.core.trust.verdict.Assessment : How far to trust the embedding.

    Examples
    --------
    >>> from hne import HNE
    >>> from hne.datasets import make_swiss_roll
    >>> proof = HNE(coordinates="eigenvectors").fit(make_swiss_roll(300, random_state=0).X).eigen_certificate_
    >>> bool(proof.is_resolved), bool(proof.relative_residuals.max() < 1e-6)
    (True, True)
    """

    residuals: FloatArray
    gap: float
    rounding: float
    resolution: float
    orthogonality: float
    ritz_error: float
    last_move: float = 0.0
    next_share: float = 0.0

    @property
    def relative_residuals(self) -> FloatArray:
        """Residuals relative to the gap: the largest bounds the angle between the found plane and the true one.

        Where the gap is below rounding (large n), the bound says nothing, and the angle is far smaller.
        """
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            return self.residuals / self.gap

    @property
    def is_resolved(self) -> bool:
        """Whether the wanted eigenvalues can be told from the next."""
        return self.gap > self.resolution

    def __str__(self) -> str:
        bound = self.relative_residuals.max()
        angle = f"plane right to {bound:.1e} rad or better" if bound < 1 else "gap below the rounding of G: no bound"
        told = "told apart" if self.is_resolved else "NOT told apart"
        values = f"eigenvalues right to {self.ritz_error:.1e} of their size, and {told} from the next"
        if self.last_move:
            # On landmarks, residuals are more than rounding.
            angle = angle if bound < 1 else "residuals above it: no bound"
            values = f"eigenvalues are upper bounds; the last refinement moved the plane by {self.last_move:.1e} rad"
        elif self.next_share > LEANING * CHART_TOL:
            angle = f"for a picture: {self.next_share:.1e} of the next eigenvalue, no bound for the last vectors"
            values = "eigenvalues are upper bounds"
        return (
            f"residuals at most {self.residuals.max():.1e}, gap to the next eigenvalue {self.gap:.1e} ({angle}); "
            f"vectors orthonormal to {self.orthogonality:.1e}; {values}"
        )


@dataclass(frozen=True)
class EigenPairs:
    """The bottom eigenpairs of G after the constant one, ascending, with the proof that they are."""

    values: FloatArray  # (m,), as gamma |A y|^2 + |B y|^2; m is d, or more for a chart
    vectors: FloatArray  # (n, m), orthonormal columns, orthogonal to the constant vector
    next_value: float  # eigenvalue m + 2, what the last one stands out from; inf where there is none
    solver: str  # the one that ran
    certificate: Certificate

    @property
    def residuals(self) -> FloatArray:
        """Lengths of G y - lambda y, (m,)."""
        return self.certificate.residuals

    def gap(self, count: int) -> float:
        """The eigenvalue after the first `count` over the last of them; NaN where there is none, or where that is 0."""
        following = self.values[count] if len(self.values) > count else self.next_value
        last = self.values[count - 1]
        with np.errstate(over="ignore"):
            return float(following / last) if np.isfinite(following) and last > 0 else math.nan

    def leading(self, count: int) -> FloatArray:
        """The first vectors, which are the published coordinates; all of them themselves where there are no more."""
        return self.vectors if self.vectors.shape[1] == count else self.vectors[:, :count]

    def __str__(self) -> str:
        n, d = self.vectors.shape
        return f"{d} of {n} x {n}, {self.solver} solver"


def is_settled(pairs: EigenPairs, chart: Chart | None = None) -> bool:
    """Whether a plane on landmarks came near to rest, at eigenvalues far below the next, or its chart keeps lengths.

    What was not found on landmarks always has.
    """
    if pairs.solver != LANDMARKS:
        return True
    # What leans to later eigenvectors by an angle has at least its squared sine times the next eigenvalue.
    sine = np.sqrt(pairs.values.sum() / pairs.next_value) if pairs.next_value > 0 else np.inf
    if pairs.certificate.last_move <= UNSETTLED and sine <= UNBOUNDED:
        return True
    return chart is not None and chart.route == UNFOLDED and chart.stress <= KEPT_STRESS


def certified(
    alignment: Operator, basis: FloatArray, settings: Settings, solver: str, *, is_for_picture: bool = False
) -> EigenPairs:
    """The best eigenpairs in the span of a solver's basis, or EigenSolverError where they are none."""
    pairs = eigenpairs_in(basis, alignment, settings.n_eigenvectors(alignment.n_samples), solver)
    check_certificate(pairs, alignment, REFUSED_IN_PICTURE / LEANING if is_for_picture else settings.effective_tol)
    return pairs


def eigenpairs_in(
    basis: FloatArray, alignment: Operator, count: int, solver: str, last_move: float = 0.0
) -> EigenPairs:
    """The best eigenpairs (Rayleigh-Ritz) in the span of a basis, with what can be measured about them."""
    orthonormal, _ = np.linalg.qr(basis - basis.mean(axis=0))
    _, lengths, rotation = np.linalg.svd(np.linalg.qr(alignment.stacked(orthonormal), mode="r"))
    # Singular values descend; eigenvalues and vectors are turned round together.
    values, vectors = lengths[::-1] ** 2, orthonormal @ rotation[::-1].T
    next_value = float(values[count]) if len(values) > count else math.inf
    values, vectors = values[:count], fix_signs(vectors[:, :count])
    proof = certificate(alignment, values, vectors, next_value, last_move)
    logger.info("eigenpairs: %s solver, eigenvalues %s, next %.2e, %s", solver, values, next_value, proof)
    return EigenPairs(values=values, vectors=vectors, next_value=next_value, solver=solver, certificate=proof)


def certificate(
    alignment: Operator, values: FloatArray, vectors: FloatArray, next_value: float, last_move: float = 0.0
) -> Certificate:
    """Measure residuals, gap, orthogonality and eigenvalues."""
    scale = float(alignment.diagonal().max())
    # Eigenvalues are squared lengths; a length is right to a few roundings of the longest one.
    blur = ROUNDINGS_OF_LENGTH * np.finfo(float).eps * math.sqrt(scale)
    skew = np.abs(vectors.T @ vectors - np.eye(vectors.shape[1])).max()
    lean = np.abs(vectors.sum(axis=0)).max() / math.sqrt(len(vectors))
    lengths = (alignment.stacked(vectors) ** 2).sum(axis=0)
    residuals = np.linalg.norm(alignment.apply(vectors) - vectors * values, axis=0)
    return Certificate(
        residuals=residuals,
        gap=next_value - float(values[-1]),
        rounding=float(np.finfo(float).eps * scale),
        resolution=2 * blur * math.sqrt(next_value) + blur**2 if math.isfinite(next_value) else 0.0,
        orthogonality=float(max(skew, lean)),
        ritz_error=float((np.abs(lengths - values) / np.maximum(values, blur**2)).max()),
        last_move=last_move,
        next_share=float(residuals.max() / next_value) if 0 < next_value < math.inf else 0.0,
    )


def check_certificate(pairs: EigenPairs, alignment: Operator, tol: float) -> None:
    """Raise EigenSolverError for pairs whose residuals or angles are beyond what rounding and `tol` explain."""
    proof, n = pairs.certificate, alignment.n_samples
    leaning = pairs.next_value if math.isfinite(pairs.next_value) else float(pairs.values[-1])
    allowed = allowed_residual(float(alignment.diagonal().max()), leaning, tol)
    if not np.all(proof.residuals <= allowed):
        fault = f"residuals of {np.max(proof.residuals):.1e} where {allowed:.1e} is allowed"
    elif not proof.orthogonality <= LARGEST_SKEW:
        fault = f"vectors that are orthonormal only to {proof.orthogonality:.1e}"
    else:
        return
    msg = (
        f"the {pairs.solver} solver left {fault} for the {n} x {n} alignment matrix. Try another eigen_solver, or a "
        "larger reg."
    )
    raise EigenSolverError(msg)


def allowed_residual(scale: float, next_value: float, tol: float) -> float:
    """The largest residual that rounding, and a plane that is off by `tol`, explain."""
    # A plane that is off by an angle leaves that angle times the eigenvalues it leans to.
    return LARGEST_RESIDUAL * scale + LEANING * tol * next_value
