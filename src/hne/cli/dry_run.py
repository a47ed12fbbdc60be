"""`hne embed --dry-run`: what would be done, with its memory and rough time."""

import argparse
import math
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hne._runtime.progress import one_line
from hne.cli.inputs import are_distances, choices_of, parameters_of, source_of, title_of
from hne.cli.talk import print_json
from hne.cli.tune import SEARCHED
from hne.exceptions import InputError
from hne.settings import AUTO

if TYPE_CHECKING:
    from hne.core.forecast import Forecast
    from hne.io.record import Outline

# Bytes of a table that is read for its plan, a second or so; and names of columns that a plan lists.
MAX_READ, LISTED = 50_000_000, 20
# Dimensions that a forecast takes where they are to be found out.
DIMENSION = 2
# How near the samples are to a surface, where nobody has looked.
NOT_KNOWN = float("nan")


def tell(options: argparse.Namespace, outputs: dict[str, Path]) -> None:
    """Print the plan; nothing is written."""
    from hne import forecast
    from hne.core.parameters import check_parameters
    from hne.tuning import GRID

    check_parameters(parameters_of(options))
    found, columns, X = _looked_at(options)
    if found.n_samples < 2:
        msg = f"'{options.input}' must have at least 2 samples, got {found.n_samples}. Pass more rows."
        raise InputError(msg)
    parameters, most = _suited(options, X, found.n_samples)
    k, d, n = parameters["n_neighbors"], options.n_components, found.n_samples
    k = min(max(GRID["n_neighbors"]), max(n - 1, 1)) if k == AUTO else most if k is None else k
    d = min(DIMENSION, found.n_features) if d == AUTO else d
    by = {"eigen_solver": options.eigen_solver, "n_landmarks": options.n_landmarks}
    expected = forecast(n, found.n_features, k, n_components=d, **by)
    if any(getattr(options, name) == AUTO for name in SEARCHED):
        expected = replace(expected, seconds=expected.seconds | {"tuning": _tuning_seconds(parameters, found, d, k)})
    if options.json:
        print_json(_facts(options, parameters, found, expected, outputs) | columns)
        return
    for line in _lines(options, parameters, found, expected, outputs, columns):
        print(one_line(line))


def _suited(options: argparse.Namespace, X: Any, n_samples: int) -> tuple[dict[str, Any], int]:
    """Parameters with what a run would find for those left open, None where that is not known; and the most neighbors.

    That is not known of samples that were not read, and of a dimension that is to be found out first.
    """
    from hne._runtime.threads import thread_count
    from hne.core.neighbors.graph import canonicalize
    from hne.core.parameters import check_parameters
    from hne.core.pipeline import known_distances
    from hne.core.samples.check import check_samples
    from hne.core.tangent.frames import flat_share
    from hne.settings import suited

    parameters = parameters_of(options)
    wished, automatic, unset = check_parameters(parameters)
    if unset and X is not None and "n_components" not in automatic:
        _, _, places, wished = canonicalize(check_samples(X, wished), wished)
        by = (wished.metric, wished.metric_params, thread_count(wished.n_jobs))
        share = flat_share(places, wished.n_components, *by)
        settings = suited(wished, unset, share, places.shape[0], known_distances(places))
        # The ridge goes with the neighbors.
        known = unset - {"reg"} if "n_neighbors" in automatic else unset
        parameters |= {name: getattr(settings, name) for name in known}
    return parameters, suited(wished, unset, NOT_KNOWN, n_samples).n_neighbors


def _tuning_seconds(parameters: dict[str, Any], found: "Outline", d: int, k: int) -> float:
    """Rough time of trying all settings, none of them stopped early: each about as long as an embedding of its k."""
    from hne import forecast
    from hne.tuning import GRID
    from hne.tuning.tune import MAX_SAMPLES, PATCH_SAMPLES

    n = PATCH_SAMPLES if found.n_samples > MAX_SAMPLES else found.n_samples
    ks = [k for k in GRID["n_neighbors"] if k < n] if parameters["n_neighbors"] == AUTO else [k]
    settings = math.prod(len(GRID[name]) for name in ("variant", "reg") if parameters[name] == AUTO)
    return settings * sum(sum(forecast(n, found.n_features, k, n_components=d).seconds.values()) for k in ks)


def _looked_at(options: argparse.Namespace) -> tuple["Outline", dict[str, Any], Any]:
    """What the file holds, its columns, and samples: small files are read, and refused where a run would."""
    from hne.io.prepared import prepared
    from hne.io.read import outline, read_table

    source, choices = source_of(options), choices_of(options)
    found = outline(source, choices)
    if options.input == "-" or found.bytes > MAX_READ:
        return found, {}, None
    ready = prepared(read_table(source, choices), options.missing, options.scale, are_distances=are_distances(options))
    table = ready.table
    n_samples, n_features = table.X.shape
    ids = None if table.ids is None else table.id_name
    columns = {"features": table.feature_names[:LISTED], "labels": list(table.labels)[:LISTED], "ids": ids}
    return replace(found, n_samples=n_samples, n_features=n_features, is_exact=True), columns, ready.X


def _facts(
    options: argparse.Namespace,
    parameters: dict[str, Any],
    found: "Outline",
    expected: "Forecast",
    outputs: dict[str, Path],
) -> dict[str, Any]:
    return {
        "input": options.input,
        "source": found.source,
        "n_samples": found.n_samples,
        "n_features": found.n_features,
        "is_exact": found.is_exact,
        "parameters": parameters,
        "n_neighbors": expected.n_neighbors,
        "solver": expected.solver,
        "peak_bytes": max(expected.peak_bytes, found.bytes),
        "stage_bytes": {"reading": found.bytes, **expected.stages},
        "available_bytes": expected.available_bytes,
        "fits": expected.fits,
        "advice": expected.advice,
        "seconds": expected.seconds,
        "outputs": {option[2:]: str(path) for option, path in outputs.items()},
    }


def _lines(
    options: argparse.Namespace,
    parameters: dict[str, Any],
    found: "Outline",
    expected: "Forecast",
    outputs: dict[str, Path],
    columns: dict[str, Any],
) -> list[str]:
    from hne._runtime.memory import gigabytes
    from hne._runtime.progress import duration

    about = "" if found.is_exact else "about "
    stages = {"reading": float(found.bytes), **expected.stages}
    memory = ", ".join(f"{name} {gigabytes(count)}" for name, count in stages.items())
    own = {name: time for name, time in expected.seconds.items() if name != "tuning"}
    seconds = ", ".join(f"{name} {duration(time)}" for name, time in own.items())
    fits = "it fits" if expected.fits else f"it does not fit. {expected.advice}"
    written = ", ".join(str(path) for path in outputs.values()) or "coordinates to standard output"
    shape = f"{about}{found.n_samples} samples of {found.n_features} features"
    k, reg = parameters["n_neighbors"], parameters["reg"]
    neighbors = "neighbors that suit the samples" if k is None else f"{k} neighbors"
    ridge = "reg that suits them" if reg is None else f"reg {reg:.3g}" if isinstance(reg, float) else f"reg {reg}"
    method = f"{options.variant}, {neighbors}, {options.n_components} dimensions, {ridge}"
    peak, free = gigabytes(max(stages.values())), gigabytes(expected.available_bytes)
    total = duration(sum(own.values()))
    caveat = "longer where samples fill more dimensions than these, or where kernels compile for the first time"
    return [
        f"input    {title_of(options)}: {found.source}, {shape}",
        *([_columns_line(columns)] if columns else []),
        f"method   {method}, {expected.solver} solver{_taken(parameters, expected)}",
        f"memory   about {peak} at the peak ({memory}), {free} free: {fits}",
        f"time     roughly {total} for the embedding on 2 cores ({seconds}); {caveat}",
        *([_tuning_line(found, expected)] if "tuning" in expected.seconds else []),
        f"outputs  {written}; nothing is written by a dry run",
    ]


def _taken(parameters: dict[str, Any], expected: "Forecast") -> str:
    """What the forecast takes for numbers that are to be chosen."""
    told = [f"{expected.n_neighbors} neighbors, the most"] if parameters["n_neighbors"] in {AUTO, None} else []
    told += [f"{expected.intrinsic_dimension} dimensions"] if parameters["n_components"] == AUTO else []
    return f"; forecast for {' and '.join(told)}" if told else ""


def _tuning_line(found: "Outline", expected: "Forecast") -> str:
    from hne._runtime.progress import duration
    from hne.tuning.tune import MAX_SAMPLES, PATCH_SAMPLES

    patch = f", on a patch of {PATCH_SAMPLES} samples" if found.n_samples > MAX_SAMPLES else ""
    longest = duration(expected.seconds["tuning"])
    return f"tuning   comes on top, very roughly {longest}{patch}; settings that fall behind are stopped early"


def _columns_line(columns: dict[str, Any]) -> str:
    """Which columns are what."""
    parts = [f"features {', '.join(columns['features'])}{', ...' if len(columns['features']) == LISTED else ''}"]
    parts += [f"labels {', '.join(columns['labels'])}"] if columns["labels"] else []
    parts += [f"ids {columns['ids']}"] if columns["ids"] else []
    return f"columns  {'; '.join(parts)}"
