"""Folders of images: sizes, colors, order, and what is left out."""

import numpy as np
import pytest
from PIL import Image

from hne._runtime.progress import listening
from hne.exceptions import InputError
from hne.io import ReadOptions, read_table

RNG = np.random.default_rng(0)


def save(path, pixels, **options):
    """Save an array as an image of the kind that the path names."""
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels).save(path, **options)
    return pixels


def grey(height=6, width=5):
    return RNG.integers(0, 256, (height, width)).astype(np.uint8)


def color(height=6, width=5):
    return RNG.integers(0, 256, (height, width, 3)).astype(np.uint8)


@pytest.mark.parametrize("ending", ["png", "bmp", "tiff", "gif", "pgm"])
def test_grey_images_stay_grey_in_natural_order(tmp_path, ending):
    images = [save(tmp_path / f"shot{number}.{ending}", grey()) for number in (1, 2, 10)]
    table = read_table(tmp_path)
    assert table.image_shape == (6, 5)
    assert table.ids == (f"shot1.{ending}", f"shot2.{ending}", f"shot10.{ending}")
    assert table.id_name == "file"
    np.testing.assert_array_equal(table.X.reshape(3, 6, 5), np.array(images) / 255)
    assert table.notices == ()
    assert table.source == "3 images of 5 x 6, grey"


def test_one_color_image_makes_all_of_them_color(tmp_path):
    first, second = save(tmp_path / "a.png", grey()), save(tmp_path / "b.png", color())
    table = read_table(tmp_path)
    assert table.image_shape == (6, 5, 3)
    np.testing.assert_array_equal(table.X[0].reshape(6, 5, 3), np.repeat(first[..., None], 3, axis=2) / 255)
    np.testing.assert_array_equal(table.X[1].reshape(6, 5, 3), second / 255)
    assert read_table(tmp_path, ReadOptions(image_mode="grey")).image_shape == (6, 5)


def test_folders_below_are_labels(tmp_path):
    save(tmp_path / "cats" / "1.png", grey())
    save(tmp_path / "dogs" / "1.png", grey())
    save(tmp_path / ".hidden" / "1.png", grey())
    (tmp_path / "notes.txt").write_text("no image")
    table = read_table(tmp_path)
    assert table.ids == ("cats/1.png", "dogs/1.png")
    assert table.labels["folder"].tolist() == ["cats", "dogs"]
    assert table.notices == ("Files that are no images are left out: 1.",)


def test_large_images_are_made_small_in_their_shape(tmp_path):
    save(tmp_path / "a.png", np.full((300, 200), 128, np.uint8))
    table = read_table(tmp_path)
    assert table.image_shape == (64, 43)
    np.testing.assert_allclose(table.X, 128 / 255)
    assert table.notices == ("Images of 200 x 300 are resized to 43 x 64; image_size chooses another size.",)
    save(tmp_path / "b.png", np.full((100, 200), 128, np.uint8))
    table = read_table(tmp_path)
    assert table.image_shape == (64, 64)
    assert table.notices == ("Images of 2 sizes are resized to 64 x 64; image_size chooses another size.",)
    table = read_table(tmp_path, ReadOptions(image_size=(10, 20)))
    assert (table.image_shape, table.notices) == ((20, 10), ())


def test_shrinking_by_a_whole_number_averages(tmp_path):
    save(tmp_path / "a.png", np.array([[0, 100, 40, 40], [100, 200, 40, 40]], np.uint8))
    np.testing.assert_array_equal(read_table(tmp_path, ReadOptions(image_size=(2, 1))).X, [[100 / 255, 40 / 255]])


def test_transparent_pixels_are_white(tmp_path):
    pixels = np.zeros((2, 2, 4), np.uint8)
    pixels[0, 0] = (255, 0, 0, 255)
    save(tmp_path / "a.png", pixels)
    np.testing.assert_array_equal(read_table(tmp_path).X, [[1, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1]])


def test_palettes_are_looked_through(tmp_path):
    Image.fromarray(color()).convert("P").save(tmp_path / "a.gif")
    assert read_table(tmp_path).image_shape == (6, 5, 3)
    Image.fromarray(grey()).convert("RGB").convert("P").save(tmp_path / "a.gif")
    assert read_table(tmp_path).image_shape is not None


def test_deep_grey_keeps_its_sixteen_bits(tmp_path):
    pixels = RNG.integers(0, 65536, (4, 3)).astype(np.uint16)
    for ending in ("png", "tiff"):
        save(tmp_path / f"a.{ending}", pixels)
    table = read_table(tmp_path)
    np.testing.assert_allclose(table.X.reshape(2, 4, 3), [pixels / 65535] * 2, atol=1e-7)
    assert read_table(tmp_path, ReadOptions(image_size=(2, 2), image_mode="rgb")).X.shape == (2, 12)
    (tmp_path / "a.png").unlink()
    save(tmp_path / "a.tiff", (pixels / 65535).astype(np.float32))
    np.testing.assert_allclose(read_table(tmp_path).X[0].reshape(4, 3), pixels / 65535, atol=1e-7)


def test_cameras_held_upright_give_upright_images(tmp_path):
    pixels = np.zeros((8, 16), np.uint8)
    pixels[:, :8] = 255
    exif = Image.Exif()
    exif[274] = 6  # to be turned clockwise by a quarter
    save(tmp_path / "a.jpg", pixels, exif=exif, quality=100)
    table = read_table(tmp_path)
    assert table.image_shape == (16, 8)
    picture = table.X[0].reshape(16, 8)
    assert picture[:8].min() > 0.9
    assert picture[8:].max() < 0.1


def test_progress_is_told(tmp_path):
    for number in range(3):
        save(tmp_path / f"{number}.webp", color())
    steps = []

    class Listener:
        def step(self, *told):
            steps.append(told)

    with listening(Listener()):
        read_table(tmp_path)
    assert steps[-1] == ("images", 3, 3)


def test_folders_without_images_are_told(tmp_path):
    with pytest.raises(InputError, match=r"folder of images .* got an empty one"):
        read_table(tmp_path)
    (tmp_path / "a.csv").write_text("1,2\n")
    with pytest.raises(InputError, match=r"a folder of images .* got 1"):
        read_table(tmp_path)


@pytest.mark.parametrize("kept", [0, 30, 200])
def test_a_damaged_image_is_named(tmp_path, kept):
    save(tmp_path / "good.png", color(40, 40))
    save(tmp_path / "below" / "bad.png", color(40, 40))
    bad = tmp_path / "below" / "bad.png"
    bad.write_bytes(bad.read_bytes()[:kept])
    with pytest.raises(InputError, match=r"got a damaged one, 'below/bad\.png'"):
        read_table(tmp_path)


def test_choices_that_make_no_sense_are_told(tmp_path):
    save(tmp_path / "a.png", grey())
    with pytest.raises(InputError, match=r"no columns or arrays .* got `columns`"):
        read_table(tmp_path, ReadOptions(columns=("a",)))
    with pytest.raises(InputError, match=r"grey and rgb, got image_mode='cmyk'\. Choose"):
        read_table(tmp_path, ReadOptions(image_mode="cmyk"))


@pytest.mark.parametrize(
    "choices", [{"id": "folder"}, {"array": "folder"}, {"drop": ("x1",)}, {"columns": ("folder",)}]
)
def test_columns_of_images_cannot_be_chosen(tmp_path, choices):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        save(tmp_path / name / "1.png", grey())
    option = next(iter(choices))
    with pytest.raises(InputError, match=rf"arrays to choose, got `{option}`\. Leave it"):
        read_table(tmp_path, ReadOptions(**choices))
    assert read_table(tmp_path, ReadOptions(color="folder")).color == "folder"
    assert read_table(tmp_path, ReadOptions(drop=("folder",))).labels == {}
    with pytest.raises(InputError, match=r"got 'folder' for `color` and `drop`\. Leave"):
        read_table(tmp_path, ReadOptions(color="folder", drop=("folder",)))


def test_a_flat_folder_has_no_folders_to_color_by(tmp_path):
    save(tmp_path / "1.png", grey())
    with pytest.raises(InputError, match=r"for color='folder', got all in one\."):
        read_table(tmp_path, ReadOptions(color="folder"))
