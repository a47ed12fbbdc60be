"""Dense samples -> the same in another kind of number, place in memory or container."""

import tempfile
from collections.abc import Callable
from importlib.util import find_spec

import numpy as np
from scipy import sparse

Dress = Callable[[np.random.Generator, np.ndarray], object]

NUMBERS = ("float64", "float32", "float16", "int64", "int8", "uint8", "uint64", "bool", "longdouble", ">f8", ">i2")
OTHER_KINDS = ("object", "mixed object", "complex", "text", "text of numbers", "bytes", "dates", "record", "void")
FORMATS = ("csr", "csc", "coo", "lil", "dok", "dia", "bsr")


def as_given(rng, X):
    """The samples, read-only: whoever writes to an argument fails at once."""
    X.flags.writeable = False
    return X


def in_numbers(rng, X):
    with np.errstate(all="ignore"):
        return X.astype(rng.choice(NUMBERS))


def of_other_kind(rng, X):
    with np.errstate(all="ignore"):
        match rng.choice(OTHER_KINDS):
            case "object":
                return X.astype(object)
            case "mixed object":
                X = X.astype(object)
                if X.size:
                    X[-1, -1] = rng.choice(np.array([None, "seven", "7", True, 10**400, 1 + 2j, np.nan, [1]], object))
                return X
            case "complex":
                return X.astype(complex)
            case "text":
                return np.full(X.shape, "text")
            case "text of numbers":
                return X.astype(str)
            case "bytes":
                return X.astype("S")
            case "dates":
                return np.zeros(X.shape, dtype=rng.choice(["datetime64[s]", "timedelta64[s]"]))
            case "record":
                return np.zeros(X.shape, dtype=[("a", float), ("b", int)])
            case _:
                return np.zeros(X.shape, dtype="V8")


def in_memory(rng, X):
    match rng.integers(6):
        case 0:
            return np.asfortranarray(X)
        case 1:
            wide = np.zeros((2 * X.shape[0], 3 * X.shape[1]))
            wide[::2, ::3] = X
            return wide[::2, ::3]
        case 2:
            return np.ascontiguousarray(X[::-1])[::-1]
        case 3:
            if not X.size:
                return X
            with tempfile.TemporaryFile() as file:
                X.tofile(file)
                file.flush()
                return np.memmap(file, dtype=X.dtype, mode="r", shape=X.shape)
        case 4:
            # Not aligned to 8 bytes.
            raw = np.zeros(X.nbytes + 1, dtype=np.uint8)[1:].view(np.uint8)
            off = np.frombuffer(raw.data, dtype=np.float64, count=X.size).reshape(X.shape)
            np.copyto(off, X)
            return off
        case _:
            return np.broadcast_to(X[:, :1], X.shape)


def in_container(rng, X):
    return CONTAINERS[rng.choice(list(CONTAINERS))](rng, X)


def sparse_of(rng, X):
    """Any sparse format, array or matrix, some with zeros or repeats stored."""
    X = np.where(rng.random(X.shape) < rng.choice([0.0, 0.5, 0.9]), 0.0, X)
    name, kind = rng.choice(FORMATS), rng.choice(["array", "matrix"])
    made = getattr(sparse, f"{name}_{kind}")(X)
    if name == "coo" and made.nnz:
        row, column, value = made.row, made.col, made.data
        twice = (np.concatenate([value, value]), (np.concatenate([row, row]), np.concatenate([column, column])))
        return type(made)(twice, shape=X.shape)
    if name in {"csr", "csc"}:
        made.data[rng.random(len(made.data)) < 0.1] = 0.0
        for array in (made.data, made.indices, made.indptr):
            array.flags.writeable = False
    return made


class Arrayable:
    """Something that is no array and converts to one."""

    def __init__(self, X):
        self.X = X

    def __array__(self, dtype=None, copy=None):
        return np.array(self.X, dtype=dtype)


class Sub(np.ndarray):
    """An array by another name."""


def _frame(rng, X):
    import pandas as pd

    frame = pd.DataFrame(X, columns=[f"x{column}" for column in range(X.shape[1])])
    match rng.integers(6):
        case 0:
            return frame.convert_dtypes()
        case 1 if X.shape[1]:
            return frame.assign(name="text")
        case 2 if X.shape[1]:
            return frame.astype({"x0": "category"})
        case 3:
            return frame.astype("float32")
        case 4 if X.shape[1]:
            return frame.assign(when=pd.Timestamp("2024-02-29"))
        case _:
            return frame


def _polars(rng, X):
    import polars as pl

    frame = pl.DataFrame(X, schema=[f"x{column}" for column in range(X.shape[1])])
    return frame.with_columns(pl.lit("text").alias("name")) if rng.random() < 0.2 else frame


def _arrow(rng, X):
    import pyarrow as pa

    return pa.table({f"x{column}": X[:, column] for column in range(X.shape[1])})


def _not_a_table(rng, X):
    strange = (
        None,
        "samples",
        3.0,
        {},
        object(),
        X.ravel(),
        X[None],
        [*list(X)[:2], [1.0]],
        np.float64(2),
        set(),
        iter(X.tolist()),
        sparse.coo_array(X.ravel()),
        np.array(2.0),
        b"bytes",
        list,
    )
    return strange[rng.integers(len(strange))]


CONTAINERS: dict[str, Dress] = {
    "list": lambda rng, X: X.tolist(),
    "tuple": lambda rng, X: tuple(map(tuple, X.tolist())),
    "list of arrays": lambda rng, X: list(X),
    "np.matrix": lambda rng, X: X.view(np.matrix),
    "subclass": lambda rng, X: X.view(Sub),
    "__array__": lambda rng, X: Arrayable(X),
    "masked": lambda rng, X: np.ma.masked_array(X, rng.choice([0.0, np.inf]) < X),
    "pandas": _frame,
    "memoryview": lambda rng, X: memoryview(X),
    "not a table": _not_a_table,
}
if find_spec("polars"):
    CONTAINERS["polars"] = _polars
if find_spec("pyarrow"):
    CONTAINERS["pyarrow"] = _arrow
