"""Values, angles and places -> RGB colors, one a sample, that color-blind eyes and print can tell apart."""

from typing import Any

import numpy as np

from hne.core.records import FloatArray
from hne.core.samples.tables import check_matrix
from hne.viz.plots.pyplot import pyplot

# Part of matplotlib's plasma that stands out on white; its lightness rises throughout, so it survives print
# and color-blind eyes.
COLOR_MAP, COLOR_RANGE = "plasma", (0.02, 0.86)


def position_colors(chart: FloatArray) -> FloatArray:
    """Color each sample by one or two coordinates: hue by the first, lightness by the second; (n, 3) RGB."""
    places = check_matrix(chart, "chart")
    hue = value_colors(places[:, 0])
    if places.shape[1] == 1:
        return hue
    low, high = places[:, 1].min(), places[:, 1].max()
    across = (places[:, 1] - low) / (high - low if high > low else 1.0)
    colors: FloatArray = hue * (0.6 + 0.4 * across)[:, None]
    return colors


def value_colors(values: FloatArray) -> FloatArray:
    """Color each sample by one value, dark for the lowest; (n, 3) RGB."""
    values = check_matrix(np.reshape(values, (-1, 1)), "values")[:, 0]
    low, high = float(values.min()), float(values.max())
    share = (values - low) / (high - low if high > low else 1.0)
    low_end, high_end = COLOR_RANGE
    colors: FloatArray = pyplot().get_cmap(COLOR_MAP)(low_end + (high_end - low_end) * share)[:, :3]
    return colors


def angle_colors(degrees: FloatArray) -> FloatArray:
    """Color each sample by an angle: hues of one lightness, 0 and 360 degrees the same; (n, 3) RGB."""
    angle = np.deg2rad(check_matrix(np.reshape(degrees, (-1, 1)), "degrees")[:, 0])
    # Oklab (Ottosson 2020): lightness, and the two axes of hue, to the cubes of three cones, to linear RGB.
    lab = np.column_stack([np.full(len(angle), 0.66), 0.13 * np.cos(angle), 0.13 * np.sin(angle)])
    cones = lab @ [
        [1, 1, 1],
        [0.3963377774, -0.1055613458, -0.0894841775],
        [0.2158037573, -0.0638541728, -1.2914855480],
    ]
    to_rgb = [
        [4.0767416621, -1.2684380046, -0.0041960863],
        [-3.3077115913, 2.6097574011, -0.7034186147],
        [0.2309699292, -0.3413193965, 1.7076147010],
    ]
    linear = np.clip(cones**3 @ to_rgb, 0, 1)
    colors: FloatArray = np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055)
    return colors


def value_map() -> Any:
    """The color map of `value_colors`, for color bars."""
    from matplotlib.colors import ListedColormap

    return ListedColormap(pyplot().get_cmap(COLOR_MAP)(np.linspace(*COLOR_RANGE, 256)), name="hne_values")
