"""Triangles in the picture plane -> picture of the nearest ones, compiled by numba.

Imported only when pictures are made: numba costs a second to import and, on the first call of a fresh installation,
some more to compile (kept in its cache afterwards).
"""

import math

import numpy as np
from numba import njit

compiled = njit(nogil=True, cache=True)


@compiled
def paint(corners, colors, triangles, background, picture, side):
    """Write a picture (rows, columns, channels), each pixel of it the mean of `side` x `side` samples.

    `corners` holds row, column and nearness of each corner in units of samples.
    """
    n_rows, n_columns, n_channels = picture.shape
    depth = np.empty((n_rows * side, n_columns * side))
    samples = np.empty((n_rows * side, n_columns * side, n_channels))
    # Plain loops instead of NumPy's words for them: they compile in less time.
    for row in range(n_rows * side):
        for column in range(n_columns * side):
            depth[row, column] = -math.inf
            for channel in range(n_channels):
                samples[row, column, channel] = background[channel]
    rasterize(corners, colors, triangles, depth, samples)
    share = 1 / (side * side)
    for row in range(n_rows * side):
        for column in range(n_columns * side):
            for channel in range(n_channels):
                picture[row // side, column // side, channel] += share * samples[row, column, channel]


@compiled
def rasterize(corners, colors, triangles, depth, samples):
    """Draw triangles with colors at their corners, in between in proportion; the nearest hides the others.

    The middle of sample (i, j) is at (i + 1/2, j + 1/2); `depth` and `samples` are written to. Triangles that turn
    clockwise are backs, and left out.
    """
    n_rows, n_columns = depth.shape
    n_channels = colors.shape[1]
    for triangle in range(len(triangles)):
        a, b, c = triangles[triangle, 0], triangles[triangle, 1], triangles[triangle, 2]
        a_row, a_column = corners[a, 0], corners[a, 1]
        # Differences from corner a: twice the area is their cross product, of which edge functions are shares.
        b_row, b_column = corners[b, 0] - a_row, corners[b, 1] - a_column
        c_row, c_column = corners[c, 0] - a_row, corners[c, 1] - a_column
        area = b_row * c_column - b_column * c_row
        if not area > 0:
            continue
        per_area = 1 / area
        first_row = max(0, math.ceil(a_row + min(0.0, b_row, c_row) - 0.5))
        last_row = min(n_rows - 1, math.floor(a_row + max(0.0, b_row, c_row) - 0.5))
        first_column = max(0, math.ceil(a_column + min(0.0, b_column, c_column) - 0.5))
        last_column = min(n_columns - 1, math.floor(a_column + max(0.0, b_column, c_column) - 0.5))
        for row in range(first_row, last_row + 1):
            for column in range(first_column, last_column + 1):
                row_offset, column_offset = row + 0.5 - a_row, column + 0.5 - a_column
                of_b = (row_offset * c_column - column_offset * c_row) * per_area
                of_c = (b_row * column_offset - b_column * row_offset) * per_area
                of_a = 1 - of_b - of_c
                if of_a < 0 or of_b < 0 or of_c < 0:
                    continue
                nearness = of_a * corners[a, 2] + of_b * corners[b, 2] + of_c * corners[c, 2]
                if nearness > depth[row, column]:
                    depth[row, column] = nearness
                    for channel in range(n_channels):
                        samples[row, column, channel] = (
                            of_a * colors[a, channel] + of_b * colors[b, channel] + of_c * colors[c, channel]
                        )
