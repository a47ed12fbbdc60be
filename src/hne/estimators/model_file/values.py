"""Parameters -> JSON and arrays, and back.

JSON has numbers, text, lists, None, True and False. What is more than that becomes an object with a "kind".
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, issparse, sparray

from hne.core.records import NeighborGraph, SparseMatrix
from hne.estimators.model_file.archive import Archive
from hne.exceptions import InputError

Arrays = dict[str, NDArray[Any]]

# All that NumPy has but long doubles, which are not the same everywhere, and complex numbers.
NUMBERS = "b1 i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8"


def packed(name: str, value: Any, arrays: Arrays) -> Any:
    """The value as JSON; arrays in it are put among the others, under names that begin with this one."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | str) or (isinstance(value, float) and math.isfinite(value)):
        return value
    writer = next((writer for is_kind, writer in WRITERS if is_kind(value)), None)
    if writer is None:
        raise _unsavable(name, value)
    return writer(name, value, arrays)


def _packed_items(name: str, value: list[Any] | tuple[Any, ...], arrays: Arrays) -> Any:
    items = [packed(f"{name}.{number}", item, arrays) for number, item in enumerate(value)]
    return items if isinstance(value, list) else {"kind": "tuple", "items": items}


def _packed_dict(name: str, value: dict[str, Any], arrays: Arrays) -> Any:
    return {"kind": "dict", "items": {key: packed(f"{name}.{key}", item, arrays) for key, item in value.items()}}


def _packed_array(name: str, value: NDArray[Any], arrays: Arrays) -> Any:
    arrays[name] = np.asarray(value)
    return {"kind": "array", "name": name}


def _packed_graph(name: str, value: NeighborGraph, arrays: Arrays) -> Any:
    arrays[f"{name}.indices"] = value.indices.astype(np.int64, copy=False)
    arrays[f"{name}.distances"] = value.distances
    return {"kind": "graph", "name": name, "method": value.method, "recall": packed("recall", value.recall, arrays)}


def _packed_sparse(name: str, value: SparseMatrix, arrays: Arrays) -> Any:
    matrix = value.tocsr()
    count = int(matrix.indptr[-1])
    arrays[f"{name}.data"], arrays[f"{name}.indices"] = matrix.data[:count], matrix.indices[:count]
    arrays[f"{name}.indptr"] = matrix.indptr
    kind = "csr_array" if isinstance(value, sparray) else "csr_matrix"
    return {"kind": kind, "name": name, "shape": [int(length) for length in matrix.shape]}


WRITERS: list[tuple[Callable[[Any], bool], Callable[[str, Any, Arrays], Any]]] = [
    (lambda value: isinstance(value, float), lambda _name, value, _arrays: {"kind": "float", "value": str(value)}),
    (lambda value: isinstance(value, list | tuple), _packed_items),
    (lambda value: isinstance(value, dict) and all(isinstance(key, str) for key in value), _packed_dict),
    (lambda value: isinstance(value, NeighborGraph), _packed_graph),
    (lambda value: issparse(value) and value.ndim == 2 and _is_of_numbers(value), _packed_sparse),
    (lambda value: isinstance(value, np.ndarray) and _is_of_numbers(value), _packed_array),
]


def _is_of_numbers(value: Any) -> bool:
    return value.dtype.str[1:] in NUMBERS.split()


def _unsavable(name: str, value: Any) -> InputError:
    name = name.removeprefix("parameters.").removeprefix("parameters_of_fit.")
    if callable(value):
        got = f"the function {getattr(value, '__name__', type(value).__name__)}"
        msg = f"{name} must be a name to be saved, got {got}. Fit with a metric of scikit-learn, or use joblib.dump."
    elif name == "random_state":
        msg = f"{name} must be an integer or None to be saved, got {value!r}. Fit with an integer, or use joblib.dump."
    else:
        msg = (
            f"{name} must be made of numbers, text and arrays of numbers to be saved, got {type(value).__name__}. "
            "Convert it, fit again and save, or use joblib.dump."
        )
    return InputError(msg)


def is_same(name: str, one: Any, other: Any) -> bool:
    """Whether two values of a parameter are equal to the bit, as far as a file can tell."""
    ours: Arrays = {}
    theirs: Arrays = {}
    if packed(name, one, ours) != packed(name, other, theirs) or ours.keys() != theirs.keys():
        return False
    pairs = [(ours[part], theirs[part]) for part in ours]
    return all(a is b or (a.dtype == b.dtype and np.array_equal(a, b)) for a, b in pairs)


def unpacked(value: Any, archive: Archive) -> Any:
    """What `packed` was given, or a `ModelFileError`."""
    if isinstance(value, list):
        return [unpacked(item, archive) for item in value]
    if not isinstance(value, dict):
        return value
    reader = READERS.get(str(value.get("kind")))
    if reader is None:
        archive.refuse(f"a parameter in its header is of no kind that is known ({value.get('kind')!r:.40})")
    # The entries of this object are asked for as those of a header are.
    return reader(Archive(archive.path, value, archive.arrays))


def _float(entry: Archive) -> float:
    text = entry.entry("value", str)
    if text not in {"nan", "inf", "-inf"}:
        entry.refuse(f"a number in its header is none ({text!r:.40})")
    return float(text)


def _tuple(entry: Archive) -> tuple[Any, ...]:
    return tuple(unpacked(item, entry) for item in entry.entry("items", list))


def _dict(entry: Archive) -> dict[str, Any]:
    return {key: unpacked(item, entry) for key, item in entry.entry("items", dict).items()}


def _array(entry: Archive) -> NDArray[Any]:
    name = entry.entry("name", str)
    return entry.array(name, NUMBERS, getattr(entry.arrays.get(name), "shape", ()))


def _sparse(entry: Archive) -> SparseMatrix:
    shape = entry.entry("shape", list)
    if len(shape) != 2 or not all(type(length) is int and 0 <= length < 2**62 for length in shape):
        entry.refuse("a sparse matrix in its header has no shape")
    matrix = entry.csr(entry.entry("name", str), (shape[0], shape[1]), NUMBERS)
    if entry.header["kind"] == "csr_array":
        return matrix
    old = csr_matrix(matrix.shape, dtype=matrix.dtype)
    old.data, old.indices, old.indptr = matrix.data, matrix.indices, matrix.indptr
    return old


def _graph(entry: Archive) -> NeighborGraph:
    name, method = entry.entry("name", str), entry.entry("method", str)
    return graph_from(entry, name, method, share(entry, "recall"))


def graph_from(archive: Archive, name: str, method: str, recall: float) -> NeighborGraph:
    """The graph of that name; nobody in it has a neighbor outside."""
    n = len(archive.array(f"{name}.indices", "i8", (None, None)))
    indices = archive.indices(f"{name}.indices", (n, None), -1, n)
    if not indices.shape[1]:
        archive.refuse(f"array '{name}.indices' must have columns, got none")
    distances = archive.array(f"{name}.distances", "f8", indices.shape)
    # Behind the last neighbor they are inf, and of a graph without lengths NaN.
    if (distances < 0).any():
        archive.refuse(f"array '{name}.distances' must hold numbers of zero and more")
    return NeighborGraph(indices, distances, method, recall)


def share(archive: Archive, key: str) -> float:
    """The number from 0 to 1 that the header has under that key, or NaN where it was not measured."""
    found = number(archive, key)
    if not (0 <= found <= 1 or math.isnan(found)):
        archive.refuse(f"'{key}' in its header must be between 0 and 1, got {found}")
    return found


def number(archive: Archive, key: str) -> float:
    """The number that the header has under that key; it may be inf or NaN."""
    value = unpacked(archive.entry(key, int, float, dict), archive)
    if not isinstance(value, int | float):
        archive.refuse(f"'{key}' in its header must be a number")
    try:
        return float(value)
    except OverflowError:
        archive.refuse(f"'{key}' in its header must be a number that float64 holds")


READERS: dict[str, Callable[[Archive], Any]] = {
    "float": _float,
    "tuple": _tuple,
    "dict": _dict,
    "array": _array,
    "csr_array": _sparse,
    "csr_matrix": _sparse,
    "graph": _graph,
}
