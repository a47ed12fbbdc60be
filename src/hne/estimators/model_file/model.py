"""A fitted estimator -> file, and back: what all classes have in common, parameters and what is known of features."""

import os
from collections.abc import Callable
from dataclasses import fields, replace
from inspect import signature
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from hne import __version__
from hne.core.records import Settings
from hne.estimators.model_file.archive import Archive, read_archive, write_archive
from hne.estimators.model_file.fitted import Scalars
from hne.estimators.model_file.prepared import preparation_parts
from hne.estimators.model_file.values import Arrays, is_same, packed, unpacked
from hne.exceptions import InputError, InputTypeError, ModelFileError

Model = TypeVar("Model")
Check = Callable[[dict[str, Any]], Settings]

# What files were made with that lack a parameter whose default has become another.
ONCE = {"short_circuits": "keep", "coordinates": "eigenvectors"}
OUTPUTS = (None, "default", "pandas", "polars")


def write_model(
    path: str | os.PathLike[str],
    model: Any,
    check: Check,
    fitted: tuple[Scalars, Arrays],
    settings: Settings | None = None,
) -> None:
    """Write a fitted estimator; `settings` are those of its fit, where they matter after it."""
    scalars, arrays = fitted
    prepared, more = preparation_parts(model.preparation_)
    arrays = {**arrays, **more}
    parameters = model._saved_parameters()  # noqa: SLF001, of a SavedMixin
    written = {name: packed(f"parameters.{name}", value, arrays) for name, value in parameters.items()}
    now = _checked(check, parameters)
    # Those that have been set to something else since the fit.
    names = [] if settings is None else [field.name for field in fields(Settings)]
    changed = [name for name in names if not is_same(name, getattr(settings, name), getattr(now, name))]
    header = {
        "hne": __version__,
        "class": type(model).__name__,
        "parameters": written,
        "parameters_of_fit": {
            name: packed(f"parameters_of_fit.{name}", getattr(settings, name), arrays) for name in changed
        },
        "n_features_in": int(model.n_features_in_),
        "feature_names_in": [str(name) for name in model.feature_names_in_]
        if hasattr(model, "feature_names_in_")
        else None,
        "set_output": getattr(model, "_sklearn_output_config", {}).get("transform"),
        **prepared,
        **scalars,
    }
    write_archive(Path(path), header, arrays)


def read_model(path: str | os.PathLike[str], cls: type[Model], check: Check) -> tuple[Model, Archive, Settings]:
    """An estimator with its parameters and features, what else the file holds, and the settings of the fit."""
    archive = read_archive(Path(path))
    found = archive.entry("class", str)
    if found != cls.__name__:
        archive.refuse(f"it holds a {found:.60}, not a {cls.__name__}", f"Use {found:.60}.load")
    try:
        # Parameters that the file lacks are younger than it is: what it was made with are their defaults, or were.
        defaults = {name: parameter.default for name, parameter in signature(cls).parameters.items()}
        once = {name: value for name, value in ONCE.items() if name in defaults}
        parameters = defaults | once | _parameters(archive, "parameters", cls)
        _checked(check, parameters)
        settings = _checked(check, parameters | _parameters(archive, "parameters_of_fit", cls))
    except ModelFileError:
        raise
    except (InputError, InputTypeError, RecursionError) as error:
        archive.refuse(f"its parameters are not valid ({str(error).split('. ')[0]:.300})")
    model: Any = cls(**parameters)
    _set_features(model, archive)
    return model, archive, settings


def _parameters(archive: Archive, key: str, cls: type) -> dict[str, Any]:
    """Parameters that the header has under that key."""
    unknown = archive.entry(key, dict).keys() - signature(cls).parameters.keys()
    if unknown:
        archive.refuse(f"{min(unknown)!r:.40} in its header is not a parameter of {cls.__name__}")
    return {name: unpacked(value, archive) for name, value in archive.entry(key, dict).items()}


def _checked(check: Check, parameters: dict[str, Any]) -> Settings:
    """Settings of these parameters. What searched approximately needs no faiss to be written, read and used."""
    if isinstance(parameters["neighbors"], str) and parameters["neighbors"] == "approximate":
        return replace(check(parameters | {"neighbors": "auto"}), neighbors="approximate")
    return check(parameters)


def _set_features(model: Any, archive: Archive) -> None:
    """Put onto the model what scikit-learn knows of its features, and in which form it hands coordinates out."""
    count = archive.entry("n_features_in", int)
    names = archive.entry("feature_names_in", list, type(None))
    if count < 1 or (names is not None and (len(names) != count or not all(isinstance(name, str) for name in names))):
        archive.refuse("'n_features_in' and 'feature_names_in' in its header must belong together")
    model.n_features_in_ = count
    if names is not None:
        model.feature_names_in_ = np.array(names, dtype=object)
    output = archive.entry("set_output", str, type(None))
    if output not in OUTPUTS:
        archive.refuse(f"'set_output' in its header is unknown ({output!r:.40})")
    if output is not None:
        model.set_output(transform=output)
