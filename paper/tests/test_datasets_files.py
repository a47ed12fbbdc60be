"""Datasets from files: upright, with their angles, and what is said where a file is not what it should be."""

import gzip

import numpy as np
import pytest
from scipy.io import loadmat, savemat

from hne.exceptions import InputError, InputTypeError
from hne_paper.datasets import load_statue_faces, load_teapots
from tests.conftest import shared_file

RNG = np.random.default_rng(0)


def face_file(**changes):
    """Contents of a small file like the original: five faces of 64 x 64 with their angles."""
    faces = {
        "images": RNG.random((4096, 5)),
        "image_pcs": RNG.normal(size=(240, 5)),
        "poses": np.array([[-75.0, 0, 10, 20, 75], [-10, -5, 0, 5, 10]]),
        "lights": np.array([[105.0, 140, 180, 220, 255]]),
    }
    faces.update(changes)
    return {name: value for name, value in faces.items() if value is not None}


@pytest.fixture
def written(tmp_path):
    """Write contents to a MAT file and give its path."""

    def write(contents, name="face_data.mat"):
        savemat(tmp_path / name, contents)
        return tmp_path / name

    return write


def test_faces_come_out_upright_with_pan_tilt_and_light(written):
    contents = face_file()
    faces = load_statue_faces(written(contents))
    assert faces.X.shape == (5, 4096)
    assert faces.image_shape == (64, 64)
    for sample in range(5):
        # MATLAB's own reshape(images(:, i), 64, 64).
        picture = contents["images"][:, sample].reshape(64, 64, order="F")
        np.testing.assert_array_equal(faces.X[sample].reshape(64, 64), picture)
    np.testing.assert_array_equal(faces.chart[0], [-75, -10, 105])
    np.testing.assert_array_equal(faces.chart[4], [75, 10, 255])
    assert faces.chart_names == ("pan", "tilt", "light")
    assert (faces.labels == 0).all()


def test_halved_faces_have_their_light_last_as_well(written):
    light_pan_tilt = np.array([[1.0, 2], [3, 4], [5, 6]])
    faces = load_statue_faces(written({"dataY": RNG.random((1024, 2)), "dataT": light_pan_tilt}))
    assert faces.image_shape == (32, 32)
    np.testing.assert_array_equal(faces.chart, [[3, 5, 1], [4, 6, 2]])


def test_a_folder_and_the_home_sign_lead_to_the_file(written, tmp_path, monkeypatch):
    path = written(face_file())
    expected = load_statue_faces(path).X
    np.testing.assert_array_equal(load_statue_faces(tmp_path).X, expected)
    np.testing.assert_array_equal(load_statue_faces(str(path)).X, expected)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    np.testing.assert_array_equal(load_statue_faces("~/face_data.mat").X, expected)


def test_the_original_is_preferred_and_names_may_be_capital(written, tmp_path):
    written({"dataY": RNG.random((1024, 1)), "dataT": np.zeros((3, 1))}, "statue_face_32x32.mat")
    written(face_file(), "Face_Data.mat")
    assert load_statue_faces(tmp_path).image_shape == (64, 64)


def pots(n_samples, kind=np.uint8):
    return RNG.integers(0, 256, (23028, n_samples)).astype(kind)


def test_teapots_come_out_upright_in_color_at_even_angles(written):
    images = pots(4)
    teapots = load_teapots(written({"teapots": images}))
    assert teapots.X.shape == (4, 23028)
    assert teapots.image_shape == (76, 101, 3)
    np.testing.assert_array_equal(teapots.chart, [[0], [90], [180], [270]])
    picture = images[:, 2].reshape(76, 101, 3, order="F") / 255
    np.testing.assert_array_equal(teapots.X[2].reshape(76, 101, 3), picture)
    assert teapots.X.dtype == np.float64


@pytest.mark.parametrize("contents", [
    lambda images: {"Input": {"X": images, "note": "a struct, as in the original"}},
    lambda images: {"anything": images.astype(float)},
    lambda images: {"rows": images.T},
    lambda images: {"unit": images / 255, "other": np.eye(3)},
])  # fmt: skip
def test_teapots_are_known_by_their_shape_whatever_the_name(written, contents):
    images = pots(2)
    teapots = load_teapots(written(contents(images), "Teapots.mat").parent)
    np.testing.assert_allclose(teapots.X[1].reshape(76, 101, 3), images[:, 1].reshape(76, 101, 3, order="F") / 255)


def test_real_statue_faces_are_the_698_with_standardized_angles():
    path = shared_file("data", "statue_face_32x32.mat")
    faces = load_statue_faces(path)
    assert faces.X.shape == (698, 1024)
    np.testing.assert_allclose(faces.chart.mean(axis=0), 0, atol=1e-6)
    np.testing.assert_allclose(faces.chart.std(axis=0, ddof=1), 1, atol=1e-2)
    # The hair is above, and the ground beside the neck is black: the lowest corners of the picture are dark.
    pictures = faces.X.reshape(698, 32, 32)
    assert pictures[:, -3:, :3].mean() < 0.5 * pictures[:, :3, 14:18].mean()
    np.testing.assert_allclose(np.sort(faces.X, axis=1), np.sort(loadmat(path)["dataY"].T, axis=1))


def test_real_statue_faces_turn_with_their_pan():
    faces = load_statue_faces(shared_file("data", "statue_face_32x32.mat"))
    lit = faces.X.reshape(698, 32, 32) > 0.02
    middle = (lit * np.arange(32)).sum(axis=(1, 2)) / lit.sum(axis=(1, 2))
    # Who looks to the right has the back of the head on the left, and most of the silhouette is back.
    assert np.corrcoef(middle, faces.chart[:, 0])[0, 1] < -0.8


def test_real_teapots_turn_on_a_closed_curve():
    teapots = load_teapots(shared_file("data", "teapots100.mat"))
    assert teapots.X.shape == (100, 23028)
    assert teapots.chart[1, 0] == pytest.approx(3.6)
    ahead = np.linalg.norm(teapots.X - np.roll(teapots.X, 1, axis=0), axis=1)
    across = np.linalg.norm(teapots.X - np.roll(teapots.X, 50, axis=0), axis=1)
    assert ahead.max() < across.min()
    # Yellow light: more red than blue in every picture.
    red, _, blue = teapots.X.reshape(100, -1, 3).mean(axis=1).T
    assert (red > blue).all()


@pytest.mark.parametrize(("load", "where"), [
    (load_statue_faces, "https://web.mit.edu/cocosci/isomap/datasets.html"),
    (load_teapots, "https://github.com/calebralphs/maximum-variance-unfolding"),
])  # fmt: skip
def test_missing_files_are_named_with_a_place_to_get_them(load, where, tmp_path):
    with pytest.raises(InputError, match=rf"cannot read '.*nothing\.mat': no such file\. .*{where}"):
        load(tmp_path / "nothing.mat")
    with pytest.raises(InputError, match=rf"must hold .*\.mat or .*\.mat, got a folder with none of them\. .*{where}"):
        load(tmp_path)
    with pytest.raises(InputTypeError, match="path must be text or a Path, got 3 of type int"):
        load(3)


@pytest.mark.parametrize("content", [b"", b"x", b"name,value\n1,2\n" * 40, bytes(600)])
def test_files_of_another_kind_are_refused(tmp_path, content):
    path = tmp_path / "teapots.mat"
    path.write_bytes(content)
    with pytest.raises(
        InputError, match=r"'.*teapots\.mat' must be a MAT file, got one that cannot be read \(.* Weinberger"
    ):
        load_teapots(path)


@pytest.mark.parametrize("kept", [140, 200, 5000])
def test_a_truncated_file_is_refused(written, kept):
    path = written({"teapots": pots(2)})
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(
        InputError, match=r"'.*' must be a MAT file, got one that cannot be read \(could not read bytes\)"
    ):
        load_teapots(path)


def test_packed_files_are_to_be_unpacked(written):
    path = written(face_file())
    for packed in (gzip.compress(path.read_bytes()), b"\x1f\x9d\x90" + bytes(200)):
        path.write_bytes(packed)
        with pytest.raises(InputError, match=r"must be a MAT file, got a packed one\. Unpack it first: gunzip"):
            load_statue_faces(path)


def test_version_7_3_is_to_be_saved_anew(tmp_path):
    # The header of such a file: 116 bytes of text, 8 of offset, version 2.0, and the mark of the byte order.
    header = b"MATLAB 7.3 MAT-file".ljust(116) + bytes(8) + b"\x00\x02IM"
    (tmp_path / "teapots.mat").write_bytes(header + bytes(600))
    with pytest.raises(InputError, match=r"version 7 or older, got version 7\.3\. .* save\(name, '-v7'\)"):
        load_teapots(tmp_path)


def test_files_without_pictures_say_what_they_hold(written):
    with pytest.raises(InputError, match=r"must hold a matrix of 23028 rows, .* got x \(3 x 3\), y \(1 x 2\)\. Wein"):
        load_teapots(written({"x": np.eye(3), "y": np.ones((1, 2)), "note": "text"}))
    with pytest.raises(InputError, match=r"must hold a matrix of 4096 or 1024 rows, .* got no matrix of numbers"):
        load_statue_faces(written({"note": "text"}))


def test_faces_need_an_angle_for_each_picture(written):
    with pytest.raises(InputError, match=r"must hold the angles, poses and lights or dataT, got images \(4096 x 5\)"):
        load_statue_faces(written(face_file(poses=None, lights=None)))
    with pytest.raises(InputError, match=r"poses of '.*' must be 2 x 5, .* got 2 x 4\. Save the angles of all pict"):
        load_statue_faces(written(face_file(poses=np.zeros((2, 4)))))
    with pytest.raises(InputError, match=r"lights of '.*' must be 1 x 5, .* got 3 x 5"):
        load_statue_faces(written(face_file(lights=np.zeros((3, 5)))))
    with pytest.raises(InputError, match=r"dataT of '.*' must be 3 x 2, .* got 2 x 2"):
        load_statue_faces(written({"dataY": RNG.random((1024, 2)), "dataT": np.zeros((2, 2))}))


def test_values_out_of_range_are_refused(written):
    images = face_file()["images"]
    with pytest.raises(InputError, match=r"images of '.*' must lie between .* and 1, got values from .* to 2\d\d"):
        load_statue_faces(written(face_file(images=255 * images)))
    images[3, 2] = np.nan
    with pytest.raises(InputError, match=r"images of '.*' must be finite, got 1 values that are not\. The original"):
        load_statue_faces(written(face_file(images=images)))
    with pytest.raises(InputError, match=r"the angles of '.*' must be finite, got 1 values"):
        load_statue_faces(written(face_file(lights=np.array([[1, 2, 3, 4, np.inf]]))))
    with pytest.raises(InputError, match=r"teapots of '.*' must lie between 0 and 255, got values from -1 to"):
        load_teapots(written({"teapots": pots(2, float) - 1.0}))


def test_a_number_of_teapots_that_does_not_share_the_circle_is_refused(written):
    with pytest.raises(InputError, match=r"teapots of '.*' must hold 400 pictures or an even share .* got 3\. Weinb"):
        load_teapots(written({"teapots": pots(3)}))
