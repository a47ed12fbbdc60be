"""What a page asks for -> Request: settings, columns and edges, checked before any work begins."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

from hne.core.parameters import check_integer
from hne.exceptions import InputError, InputTypeError, quoted, refuse
from hne.io.preprocess import SCALINGS
from hne.settings import COORDINATES, DEFAULTS, EDGES, PRECOMPUTED, VARIANTS, known_settings

# Parameters that a page has knobs for; all others stay as they were when it was opened.
KNOBS = ("n_neighbors", "reg", "variant", "n_components", "coordinates", "short_circuits", "pieces", "metric")
# What a request is made of.
KEYS = ("parameters", "scale", "columns", "cut", "keep", "whole")
METRICS = ("euclidean", "cosine", "correlation", "manhattan", "chebyshev")
# Where the sliders of k and d end, and that of reg begins and ends; what the library takes goes further.
MOST_NEIGHBORS, MOST_COMPONENTS, REG_RANGE = 40, 10, (1e-7, 1.0)
# What each choice does, in a few words.
WORDS = {
    "variant": {
        "ihne": "each neighbor's neighborhood on its own: affine invariance first",
        "rhne": "all of them at once: reconstruction first",
        "bhne": "in turn, each rebuilding what the others leave: balanced",
    },
    "coordinates": {
        "auto": "a chart near a surface, a layout elsewhere",
        "chart": "preserves distances: a surface is unfolded",
        "layout": "preserves neighborhoods and groups, not distances",
        "eigenvectors": "as published, each axis of unit length",
    },
    "short_circuits": {"cut": "edges across a gap are cut", "keep": "they stay, as published"},
    "pieces": {
        "separate": "each on its own, side by side",
        "join": "joined by the shortest edges",
        "largest": "the largest alone",
    },
    "scale": {
        "none": "columns as they are",
        "standard": "by mean and standard deviation",
        "robust": "by median and quartiles",
    },
}

Pairs = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Request:
    """One picture that is asked for; it and nothing else decides what is drawn."""

    parameters: Mapping[str, Any]  # of KNOBS
    scale: str = "none"
    columns: tuple[str, ...] | None = None  # features that take part; None for all
    cut: Pairs = ()  # edges cut by hand, numbers of samples as drawn
    keep: Pairs = ()  # edges put back by hand
    whole: bool = False  # all samples, where a page shows a part of them
    fixed: Mapping[str, Any] = field(default_factory=dict)  # parameters without a knob

    @classmethod
    def start(cls, parameters: Mapping[str, Any], scale: str = "none") -> Self:
        """What is embedded first: parameters as they were given, or defaults."""
        given = {**DEFAULTS, **parameters}
        fixed = {name: given[name] for name in parameters if name not in KNOBS}
        cut, keep = (tuple((int(i), int(j)) for i, j in fixed.pop(name, None) or ()) for name in EDGES)
        return cls({name: given[name] for name in KNOBS}, scale, cut=cut, keep=keep, fixed=fixed)

    def changed_by(self, message: Any, features: Sequence[str]) -> Self:
        """The request that a message describes; what it leaves out is as here."""
        check_keys("settings", message, KEYS)
        given = message.get("parameters", {})
        check_keys("parameters", given, KNOBS)
        scale = message.get("scale", self.scale)
        if scale not in SCALINGS:
            refuse("scale", f"must be one of {', '.join(SCALINGS)}", quoted(scale), "Choose one of them")
        return replace(
            self,
            parameters={**self.parameters, **given},
            scale=scale,
            columns=_check_columns(message.get("columns", self.columns), features),
            cut=check_pairs("cut", message.get("cut", self.cut)),
            keep=check_pairs("keep", message.get("keep", self.keep)),
            whole=bool(message.get("whole", self.whole)),
        )

    @property
    def embed_parameters(self) -> dict[str, Any]:
        """Arguments of `hne.embed`."""
        edges = dict(zip(EDGES, (self.cut or None, self.keep or None), strict=True))
        return {**self.fixed, **self.parameters, **edges}

    @property
    def message(self) -> dict[str, Any]:
        """What a page is told of it."""
        named = {name: getattr(self, name) for name in KEYS}
        return named | {"parameters": dict(self.parameters)}


def check_keys(name: str, message: Any, known: Sequence[str]) -> None:
    """Raise unless it is an object with these keys alone."""
    if not isinstance(message, dict):
        refuse(name, f"must be a dict with some of {', '.join(known)}", quoted(message), "Pass one", InputTypeError)
    unknown = [key for key in message if key not in known]
    if unknown:
        remedy = f"Put it into 'parameters': {{'parameters': {{{unknown[0]!r}: ...}}}}"
        remedy = remedy if unknown[0] in KNOBS else "Leave it out"
        refuse(name, f"must be among {', '.join(known)}", quoted(unknown[0]), remedy)


def _check_columns(wanted: Any, features: Sequence[str]) -> tuple[str, ...] | None:
    """The features that take part, in the order of the data."""
    if wanted is None:
        return None
    if not isinstance(wanted, list | tuple) or not all(isinstance(name, str) for name in wanted):
        refuse("columns", "must be names of features", quoted(wanted), "Choose some of them")
    unknown = [name for name in wanted if name not in {*features}]
    if unknown:
        refuse("columns", "must be names of features", quoted(unknown[0]), "Choose some of them")
    if not wanted:
        refuse("columns", "must have a feature at least", "none", "Choose one")
    chosen = {*wanted}
    return None if len(chosen) == len(features) else tuple(name for name in features if name in chosen)


def check_pairs(name: str, pairs: Any) -> Pairs:
    """Pairs of samples, each a whole number; whether there are such samples is checked by the fit."""
    if not isinstance(pairs, list | tuple):
        refuse(name, "must be a list of pairs of samples", quoted(pairs), "Pass pairs such as [[12, 57]]")
    checked = []
    for pair in pairs:
        if not isinstance(pair, list | tuple) or len(pair) != 2:
            refuse(name, "must be a list of pairs of samples", quoted(pair), "Pass pairs such as [[12, 57]]")
        one, other = (check_integer(name, end, 0, "Pass pairs such as [[12, 57]]") for end in pair)
        checked.append((one, other))
    return tuple(checked)


def check_selection(message: Any, n: int) -> list[int]:
    """Numbers of some of n samples, ascending, each once."""
    if not isinstance(message, list) or not message:
        raise InputError(parameter="samples", rule="must be a list of samples", value=message, remedy="Select some")
    numbers = sorted({check_integer("samples", one, 0, "Select some of the samples") for one in message})
    if numbers[-1] >= n:
        refuse("samples", f"must be below {n}", str(numbers[-1]), "Select some of the samples")
    return numbers


def limits_of(n_samples: int, n_features: int) -> dict[str, tuple[float, float]]:
    """Where the sliders begin and end."""
    return {
        "n_neighbors": (1, max(1, min(MOST_NEIGHBORS, n_samples - 1))),
        "n_components": (1, max(1, min(MOST_COMPONENTS, n_features))),
        "reg": REG_RANGE,
    }


def choices_of(start: Request) -> dict[str, list[tuple[str, str]]]:
    """Values of the other knobs, each with what it does."""
    metric = start.parameters["metric"]
    metrics = [metric] if metric == PRECOMPUTED else [*METRICS, *([] if metric in METRICS else [metric])]
    values = {"variant": VARIANTS, "coordinates": COORDINATES, "scale": SCALINGS, "metric": metrics}
    values |= {name: known_settings()[name].choices for name in ("short_circuits", "pieces")}
    return {
        name: [(one, WORDS.get(name, {}).get(one, "")) for one in some if name != "pieces" or one != "raise"]
        for name, some in values.items()
    }
