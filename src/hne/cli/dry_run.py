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
    from hne.io import PreparedTable

# Bytes of samples that are looked at for the parameters that suit them, a second or so; and columns that a plan lists.
MAX_LOOKED_AT, LISTED = 50_000_000, 20
# Dimensions that a forecast takes where they are to be found out.
DIMENSION = 2
# How near the samples are to a surface, where nobody has looked.
NOT_KNOWN = float("nan")


def tell(options: argparse.Namespace, outputs: dict[str, Path]) -> None:
    """Print the plan; nothing is written."""
    from hne import forecast
    from hne.core.parameters import check_parameters
    from hne.io import prepare_table, read_table
    from hne.tuning import GRID

    check_parameters(parameters_of(options))
    table = read_table(source_of(options), choices_of(options))
    ready = prepare_table(table, options.missing, options.scale, are_distances=are_distances(options))
    n, n_features = ready.X.shape
    if n < 2:
        msg = f"'{options.input}' must have at least 2 samples, got {n}. Pass more rows."
        raise InputError(msg)
    parameters, most = _suited(options, ready.X if _bytes(ready) <= MAX_LOOKED_AT else None, n)
    k, d = parameters["n_neighbors"], options.n_components
    k = min(max(GRID["n_neighbors"]), max(n - 1, 1)) if k == AUTO else most if k is None else k
    d = min(DIMENSION, n_features) if d == AUTO else d
    by = {"eigen_solver": options.eigen_solver, "n_landmarks": options.n_landmarks}
    expected = forecast(n, n_features, k, n_components=d, **by)
    if any(getattr(options, name) == AUTO for name in SEARCHED):
        seconds = _tuning_seconds(parameters, ready.X.shape, d, k)
        expected = replace(expected, seconds=expected.seconds | {"tuning": seconds})
    if options.json:
        print_json(_facts(options, parameters, ready, expected, outputs))
        return
    for line in _lines(options, parameters, ready, expected, outputs):
        print(one_line(line))


def _bytes(ready: "PreparedTable") -> int:
    """Memory of the samples as they were read."""
    X: Any = ready.table.X
    parts = (X.data, X.indices, X.indptr) if hasattr(X, "indptr") else (X,)
    return sum(int(part.nbytes) for part in parts)


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


def _tuning_seconds(parameters: dict[str, Any], shape: tuple[int, int], d: int, k: int) -> float:
    """Rough time of trying all settings, none of them stopped early: each about as long as an embedding of its k."""
    from hne import forecast
    from hne.tuning import GRID
    from hne.tuning.auto import MAX_SAMPLES, PATCH_SAMPLES

    n = PATCH_SAMPLES if shape[0] > MAX_SAMPLES else shape[0]
    ks = [k for k in GRID["n_neighbors"] if k < n] if parameters["n_neighbors"] == AUTO else [k]
    settings = math.prod(len(GRID[name]) for name in ("variant", "reg") if parameters[name] == AUTO)
    return settings * sum(sum(forecast(n, shape[1], k, n_components=d).seconds.values()) for k in ks)


def _facts(
    options: argparse.Namespace,
    parameters: dict[str, Any],
    ready: "PreparedTable",
    expected: "Forecast",
    outputs: dict[str, Path],
) -> dict[str, Any]:
    n_samples, n_features = ready.X.shape
    return {
        "input": options.input,
        "source": ready.table.source,
        "n_samples": n_samples,
        "n_features": n_features,
        "parameters": parameters,
        "n_neighbors": expected.n_neighbors,
        "solver": expected.solver,
        "peak_bytes": max(expected.peak_bytes, _bytes(ready)),
        "stage_bytes": {"reading": _bytes(ready), **expected.stages},
        "available_bytes": expected.available_bytes,
        "fits": expected.fits,
        "advice": expected.advice,
        "seconds": expected.seconds,
        "outputs": {option[2:]: str(path) for option, path in outputs.items()},
        **_columns(ready),
    }


def _lines(
    options: argparse.Namespace,
    parameters: dict[str, Any],
    ready: "PreparedTable",
    expected: "Forecast",
    outputs: dict[str, Path],
) -> list[str]:
    from hne._runtime.memory import gigabytes
    from hne._runtime.progress import duration

    stages = {"reading": float(_bytes(ready)), **expected.stages}
    memory = ", ".join(f"{name} {gigabytes(count)}" for name, count in stages.items())
    own = {name: time for name, time in expected.seconds.items() if name != "tuning"}
    seconds = ", ".join(f"{name} {duration(time)}" for name, time in own.items())
    fits = "it fits" if expected.fits else f"it does not fit. {expected.advice}"
    written = ", ".join(str(path) for path in outputs.values()) or "coordinates to standard output"
    n_samples, n_features = ready.X.shape
    shape = f"{n_samples} samples of {n_features} features"
    k, reg = parameters["n_neighbors"], parameters["reg"]
    neighbors = "neighbors that suit the samples" if k is None else f"{k} neighbors"
    ridge = "reg that suits them" if reg is None else f"reg {reg:.3g}" if isinstance(reg, float) else f"reg {reg}"
    method = f"{options.variant}, {neighbors}, {options.n_components} dimensions, {ridge}"
    peak, free = gigabytes(max(stages.values())), gigabytes(expected.available_bytes)
    total = duration(sum(own.values()))
    caveat = "longer where samples fill more dimensions than these, or where kernels compile for the first time"
    return [
        f"input    {title_of(options)}: {ready.table.source}, {shape}",
        _columns_line(_columns(ready)),
        f"method   {method}, {expected.solver} solver{_taken(parameters, expected)}",
        f"memory   about {peak} at the peak ({memory}), {free} free: {fits}",
        f"time     roughly {total} for the embedding on 2 cores ({seconds}); {caveat}",
        *([_tuning_line(n_samples, expected)] if "tuning" in expected.seconds else []),
        f"outputs  {written}; nothing is written by a dry run",
    ]


def _taken(parameters: dict[str, Any], expected: "Forecast") -> str:
    """What the forecast takes for numbers that are to be chosen."""
    told = [f"{expected.n_neighbors} neighbors, the most"] if parameters["n_neighbors"] in {AUTO, None} else []
    told += [f"{expected.intrinsic_dimension} dimensions"] if parameters["n_components"] == AUTO else []
    return f"; forecast for {' and '.join(told)}" if told else ""


def _tuning_line(n_samples: int, expected: "Forecast") -> str:
    from hne._runtime.progress import duration
    from hne.tuning.auto import MAX_SAMPLES, PATCH_SAMPLES

    patch = f", on a patch of {PATCH_SAMPLES} samples" if n_samples > MAX_SAMPLES else ""
    longest = duration(expected.seconds["tuning"])
    return f"tuning   comes on top, very roughly {longest}{patch}; settings that fall behind are stopped early"


def _columns(ready: "PreparedTable") -> dict[str, Any]:
    table = ready.table
    ids = None if table.ids is None else table.id_name
    return {"features": table.feature_names[:LISTED], "labels": list(table.labels)[:LISTED], "ids": ids}


def _columns_line(columns: dict[str, Any]) -> str:
    """Which columns are what."""
    parts = [f"features {', '.join(columns['features'])}{', ...' if len(columns['features']) == LISTED else ''}"]
    parts += [f"labels {', '.join(columns['labels'])}"] if columns["labels"] else []
    parts += [f"ids {columns['ids']}"] if columns["ids"] else []
    return f"columns  {'; '.join(parts)}"
