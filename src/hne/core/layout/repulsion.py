"""Y (n, d) -> repulsion f (n, d), also of other points, and normalization Z of the Student-t similarities.

    q_ij = 1 / (1 + |y_i - y_j|^2),     f_i = sum_j q_ij^2 (y_i - y_j),     Z = sum of q_ij over i != j.

Few samples are summed over all pairs. For many, f is -1/2 of the gradient of the potential phi(y) = sum_j 1 / (1 + |y -
y_j|^2), and Z is the sum of phi(y_i) - 1. The kernel is interpolated by cubic splines on a regular grid, so that phi is
a convolution of grid values, computed by FFT in time linear in n (Linderman et al. 2019 use piecewise polynomials).

Every sum has one order, so the results do not depend on the number of threads.
"""

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import fft

from hne import _kernels
from hne.core.records import FloatArray

SingleArray: TypeAlias = NDArray[np.float32]
# Runs a kernel over rows: the kernel, their number, and the smallest number that is worth a thread.
MapRows: TypeAlias = Callable[[Callable[[int, int], None], int, int], None]

# Largest number of samples whose pairs are all summed, for d = 1, 2, 3; for more coordinates there is no grid. At 600
# samples both methods take 0.5 ms per step for d = 2. For d = 3 they take 60 ms per step at 7 000 samples.
MAX_EXACT_SAMPLES = (600, 600, 6_000)
# Distance between two nodes of the grid; the kernel has width 1. On digits the layout differs from that of exact sums
# by a Procrustes error of 0.00006; with 0.35 by 0.000001 in twice the time, with 1.0 by 0.004.
SPACING = 0.5
# Largest number of nodes along an axis for d = 1, 2, 3, and the factor by which the grid of a wider layout is coarser.
MAX_NODES, COARSER = (100_000, 512, 128), 1.2
# Nodes that cubic splines reach before the first sample and behind the last.
NODES_BEFORE, NODES_BEHIND = 1, 3
# Multiple to which numbers of nodes are rounded up, and nodes up to which threads take longer than they save.
NODES_ROUNDED, SERIAL_NODES = 16, 2**17
# Columns of a block of `repel_all`, and a coordinate so far away that its similarity is zero.
BLOCK, FAR_AWAY = 64, 1e200
# Rows that are worth a thread: of all pairs, of the grid, and of samples on it.
PAIR_ROWS, GRID_ROWS, SAMPLE_ROWS = 256, 64, 8192


# Maps points (t, d) to their repulsion (t, d) from all samples and the sums of their similarities (t,).
Field: TypeAlias = Callable[[FloatArray], tuple[FloatArray, FloatArray]]


def compute_repulsion(Y: FloatArray, map_rows: MapRows, n_threads: int) -> tuple[FloatArray, float]:
    """Compute the repulsion of each sample and the normalization Z."""
    forces, sums = repulsion_field(Y, map_rows, n_threads)(Y)
    # A sample is similar to itself.
    return forces, float(sums.sum()) - len(Y)


def repulsion_field(Y: FloatArray, map_rows: MapRows, n_threads: int) -> Field:
    """Return the repulsion from samples Y as a function of the point at which it is computed."""
    n, d = Y.shape
    is_exact = d > len(MAX_EXACT_SAMPLES) or n <= MAX_EXACT_SAMPLES[d - 1]
    return exact_field(Y, map_rows) if is_exact else grid_field(Y, map_rows, n_threads)


def exact_field(Y: FloatArray, map_rows: MapRows) -> Field:
    """Return the field that sums over all samples, in time linear in n for each point."""
    n, d = Y.shape
    columns = np.full((d, -(-n // BLOCK) * BLOCK), FAR_AWAY)
    columns[:, :n] = Y.T

    def field(points: FloatArray) -> tuple[FloatArray, FloatArray]:
        forces, sums = np.empty(points.shape), np.empty(len(points))
        made_of = (points, columns, forces, sums)
        map_rows(lambda start, stop: _kernels.repel_all(start, stop, *made_of), len(points), PAIR_ROWS)
        return forces, sums

    return field


def grid_field(Y: FloatArray, map_rows: MapRows, n_threads: int) -> Field:
    """Return the field that is interpolated on a grid around all samples; points must be between them."""
    n, d = Y.shape
    room = (MAX_NODES[d - 1] - NODES_BEFORE - NODES_BEHIND) * SPACING
    # Coarser in steps, so that one kernel spectrum serves several steps of a descent.
    coarser = max(0, int(np.ceil(np.log(max(float(np.ptp(Y, axis=0).max()) / room, 1.0)) / np.log(COARSER))))
    spacing, low = SPACING * COARSER**coarser, Y.min(axis=0)

    def to_grid(points: FloatArray) -> FloatArray:
        return (points - low) / spacing + NODES_BEFORE

    positions = to_grid(Y)
    nodes = tuple(int(position) + NODES_BEHIND for position in positions.max(axis=0))
    starts, order = np.empty(nodes[0] + 1, dtype=np.int64), np.empty(n, dtype=np.int64)
    _kernels.bin_rows(positions, starts, order)
    charges = np.empty(nodes + (1,) * (3 - d), dtype=np.float32)
    map_rows(lambda a, b: _kernels.spread_charges(a, b, positions, starts, order, charges), nodes[0], GRID_ROWS)
    values = _convolve(charges.reshape(nodes), spacing, n_threads).reshape(charges.shape)

    def field(points: FloatArray) -> tuple[FloatArray, FloatArray]:
        potential, gradient = np.empty(len(points)), np.empty(points.shape)
        made_of = (to_grid(points), values, potential, gradient)
        map_rows(lambda a, b: _kernels.gather_potential(a, b, *made_of), len(points), SAMPLE_ROWS)
        return gradient * (-0.5 / spacing), potential

    return field


def _convolve(charges: SingleArray, spacing: float, n_threads: int) -> SingleArray:
    """Convolve charges on the grid with the kernel, on a padded grid so that nothing wraps around."""
    shape = charges.shape
    # A layout grows from step to step: sizes are rounded up, so that one kernel spectrum serves several steps.
    padded = tuple(fft.next_fast_len(2 * -(-count // NODES_ROUNDED) * NODES_ROUNDED, real=True) for count in shape)
    n_threads = n_threads if math.prod(padded) > SERIAL_NODES else 1
    # Axis by axis, so that rows of zeros are neither transformed nor transformed back.
    values: Any = fft.rfft(charges, n=padded[-1], workers=n_threads)
    for axis in range(len(shape) - 2, -1, -1):
        values = fft.fft(values, n=padded[axis], axis=axis, overwrite_x=True, workers=n_threads)
    values *= kernel_spectrum(padded, spacing)
    for axis in range(len(shape) - 1):
        values = fft.ifft(values, axis=axis, overwrite_x=True, workers=n_threads)
        values = values[(slice(None),) * axis + (slice(shape[axis]),)]
    return np.ascontiguousarray(fft.irfft(values, n=padded[-1], workers=n_threads)[..., : shape[-1]])


@lru_cache(maxsize=2)
def kernel_spectrum(padded: tuple[int, ...], spacing: float) -> SingleArray:
    """Compute the Fourier transform of the grid values whose splines, on both sides, interpolate 1 / (1 + r^2)."""
    offsets = [np.minimum(np.arange(count), count - np.arange(count)) * spacing for count in padded]
    squares = sum(offset**2 for offset in np.meshgrid(*offsets, indexing="ij", sparse=True))
    # The kernel is even along every axis, so its transform is real.
    spectrum: FloatArray = fft.rfftn(1.0 / (1.0 + squares)).real
    for axis, count in enumerate(padded):
        # Transform of the cubic B-spline at the nodes, 1/6, 4/6 and 1/6.
        smoothing = (2.0 + np.cos(2 * np.pi * np.arange(spectrum.shape[axis]) / count)) / 3.0
        spectrum /= np.expand_dims(smoothing**2, [other for other in range(len(padded)) if other != axis])
    return spectrum.astype(np.float32)
