"""Files that a command will write, checked before anything is computed."""

import argparse
import os
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryFile

from hne._runtime.files import already_there, expanded, is_stream
from hne.exceptions import InputError, MissingExtraError

PICTURES = (".png", ".svg", ".pdf", ".jpg", ".jpeg", ".webp")
PAGES = (".html", ".htm")


def check_outputs(outputs: Mapping[str, Path | None], source: str, *, force: bool) -> dict[str, Path]:
    """The outputs that were asked for, by option; an error for one that could not or should not be written."""
    asked = {option: path for option, path in outputs.items() if path is not None}
    seen: dict[Path, str] = {}
    read = None if source == "-" else _real(expanded(source))
    for option, path in asked.items():
        _check_place(path)
        whole = _real(path)
        if whole in seen:
            msg = f"{option} and {seen[whole]} must be different files, got '{path}' twice. Rename one."
            raise InputError(msg)
        if whole == read:
            msg = f"{option} must not be the input, got '{path}'. Choose another name."
            raise InputError(msg)
        if read is not None and whole.is_relative_to(read):
            msg = f"{option} must not lie in the folder that is read, got '{path}'. Choose another place."
            raise InputError(msg)
        if os.path.lexists(path) and not force and not is_stream(path):
            raise already_there(path)
        seen[whole] = option
    return asked


def _real(path: Path) -> Path:
    """The path without links; loops of them, about which `Path.resolve` raises, stay as they are."""
    return Path(os.path.realpath(path))


def _check_place(path: Path) -> None:
    """Raise where no file of that name can be made."""
    try:
        reason, remedy = _obstacle(path)
    except OSError as error:
        reason, remedy = (error.strerror or str(error)).lower(), "Choose another name"
    if reason:
        msg = f"cannot write '{path}': {reason}. {remedy}."
        raise InputError(msg)


def _obstacle(path: Path) -> tuple[str, str]:
    """What stands in the way of a file of that name, and what to do about it; empty where nothing does."""
    if path.is_dir():
        return "it is a folder", "Add a file name"
    if not path.parent.exists():
        return f"there is no folder '{path.parent}'", "Make it, or choose another place"
    if not path.parent.is_dir():
        return f"'{path.parent}' is not a folder", "Choose another place"
    # Asking raises where the name is too long, or a loop of links.
    return "" if is_stream(path) else _refusal(path.parent), "Choose another place"


def _refusal(folder: Path) -> str:
    """Why no file can be made in a folder, empty where one can: permissions do not tell of full or frozen disks."""
    try:
        with TemporaryFile(dir=folder):
            return ""
    except OSError as error:
        return (error.strerror or str(error)).lower()


def check_printed(options: argparse.Namespace) -> None:
    """Raise where two things would be printed in one stream."""
    if options.json and str(options.output) == "-":
        msg = "--json and -o - must not both print to standard output, got both. Choose one."
        raise InputError(msg)


def check_picture(path: Path | None) -> None:
    """Raise for a picture of an unknown kind, or where nothing is there to draw it."""
    if path is None:
        return
    check_ending("--plot", path, PICTURES)
    if find_spec("matplotlib") is None:
        msg = "--plot needs matplotlib, got none installed. Run: pip install 'hne[plot]'."
        raise MissingExtraError(msg)


def check_page(path: Path | None) -> None:
    """Raise for a report that no browser would open."""
    if path is not None:
        check_ending("--report", path, PAGES)


def check_thumbnails(image_shape: tuple[int, ...] | None) -> None:
    """Raise before the work where samples are images and nothing is there to make thumbnails of them."""
    if image_shape is not None and find_spec("PIL") is None:
        msg = "--report of images needs pillow, got none installed. Run: pip install 'hne[io]'."
        raise MissingExtraError(msg)


def check_ending(option: str, path: Path, endings: tuple[str, ...]) -> None:
    """Raise for a file whose ending is none of these."""
    if path.suffix.lower() not in endings:
        msg = f"{option} must end in {', '.join(endings[:-1])} or {endings[-1]}, got '{path.name}'. Rename it."
        raise InputError(msg)
