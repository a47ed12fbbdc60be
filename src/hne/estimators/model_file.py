"""Fitted estimator <-> one file: arrays as `np.savez` writes them, and a header of JSON (docs/guide/model_file.md).

Records are taken apart field by field and put together again. Every number that later code relies on is checked before
a model has it, and nothing that a file says is run.
"""

import json
import math
import os
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from pathlib import Path
from types import UnionType
from typing import IO, Any, NoReturn, Union, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, csr_matrix, issparse, sparray

from hne import __version__
from hne._runtime.files import atomic_write
from hne.core import records
from hne.core.eigen.certificate import Certificate, EigenPairs
from hne.core.parameters import check_settings
from hne.core.records import ROUTES, Core, Embedding, IndexArray, NeighborGraph, SparseMatrix, UniqueSamples
from hne.core.samples.canonical import FARTHEST, ORDINARY, InputScaling
from hne.core.samples.kinds import Distances, stored_matrix, stored_values
from hne.exceptions import ModelFileError, refuse
from hne.settings import PRECOMPUTED, Settings

Arrays = dict[str, NDArray[Any]]

FORMAT, VERSION = "hne-model", 2
OTHER_FILE = "Pass the file that save wrote"
# All kinds of numbers that NumPy has but long doubles, which are not the same everywhere, and complex ones.
NUMBERS = ("b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8")
CSR: dict[str, Any] = {"csr_array": csr_array, "csr_matrix": csr_matrix}
# The records that a file may hold.
RECORDS: dict[str, Any] = {name: record for name, record in vars(records).items() if is_dataclass(record)}
RECORDS |= {each.__name__: each for each in (Certificate, EigenPairs, Distances, InputScaling)}
# Kinds of arrays by their hints, which are taken whole: what NDArray[...] is made of depends on the version of NumPy.
ARRAYS: dict[Any, Any] = {NDArray[np.float32]: np.float32, NDArray[np.float64]: np.float64, IndexArray: np.intp}
# Made before any file is read: nothing is evaluated then.
HINTS = {each: get_type_hints(each, localns=RECORDS) for each in RECORDS.values()}
# Kinds of what the header holds, and of the fit of HNE.
HEADER: dict[str, Any] = dict.fromkeys(("format", "hne", "class"), str) | {"version": int, "n_features_in": int}
HEADER |= dict.fromkeys(("parameters", "settings", "fit"), dict) | {"preparation": dict | None, "arrays": list}
HEADER |= {"feature_names_in": list[str] | None, "set_output": str | None}
FIT: dict[str, Any] = {"distinct": UniqueSamples, "units": InputScaling, "core": Core, "dtype": str}
DTYPES = {"float32": np.float32, "float64": np.float64}
FEATURES, OUTPUTS = ("n_features_in", "feature_names_in", "set_output"), (None, "default", "pandas", "polars")
# Samples and what is of their size, in the units of the fit; lengths of ways among them; any number of float64.
LARGEST, LONGEST, FINITE = 2.0**ORDINARY, 2.0**FARTHEST, float(np.finfo(np.float64).max)
SMALLEST_UNIT = float(np.finfo(np.float64).tiny)
# How far weights of a row may be from one in sum, in units of their sizes: some digits more than rounding takes.
SUM_ERROR = 1e-9


def write_model(path: str | os.PathLike[str], model: Any) -> None:
    """Write a fitted estimator, whole or not at all; the same model gives the same bytes."""
    arrays: dict[str, Any] = {}

    def pack_all(prefix: str, values: Mapping[str, Any]) -> dict[str, Any]:
        return {name: _pack(prefix + name, value, arrays) for name, value in values.items()}

    parameters = model._saved_parameters()  # noqa: SLF001, of a SavedMixin
    fit, settings = model._saved_fit()  # noqa: SLF001
    header = {
        "format": FORMAT,
        "version": VERSION,
        "hne": __version__,
        "class": type(model).__name__,
        "parameters": pack_all("parameters.", parameters),
        "settings": pack_all("settings.", settings),
        "n_features_in": int(model.n_features_in_),
        "feature_names_in": list(map(str, model.feature_names_in_)) if hasattr(model, "feature_names_in_") else None,
        "set_output": getattr(model, "_sklearn_output_config", {}).get("transform"),
        "preparation": None if model.preparation_ is None else pack_all("preparation.", _fields(model.preparation_)),
        "fit": pack_all("", fit),
        "arrays": sorted(arrays),
    }
    _checked(model._checked_parameters, parameters)  # noqa: SLF001
    arrays["header"] = np.frombuffer(json.dumps(header, allow_nan=False).encode(), dtype=np.uint8)
    with atomic_write(Path(path)) as temporary, temporary.open("wb") as stream:
        np.savez(stream, **arrays)


def _pack(name: str, value: Any, arrays: Arrays) -> Any:  # noqa: PLR0911, one for each kind
    """The value as JSON; arrays in it are put among the others, under names that begin with this one."""
    if isinstance(value, np.generic):
        value = value.item()
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if math.isfinite(value) else {"kind": "float", "value": str(value)}
        case list():
            return [_pack(f"{name}.{number}", item, arrays) for number, item in enumerate(value)]
        case tuple():
            return {"kind": "tuple", "items": _pack(name, list(value), arrays)}
        case dict() if all(isinstance(key, str) for key in value):
            return {"kind": "dict", "items": {key: _pack(f"{name}.{key}", item, arrays) for key, item in value.items()}}
        case np.ndarray() if value.dtype.str[1:] in NUMBERS:
            arrays[name] = np.asarray(value)
            return {"kind": "array", "name": name}
    if issparse(value) and value.ndim == 2 and value.dtype.str[1:] in NUMBERS:
        matrix = value.tocsr()
        count = int(matrix.indptr[-1])
        arrays[f"{name}.data"], arrays[f"{name}.indices"] = matrix.data[:count], matrix.indices[:count]
        arrays[f"{name}.indptr"] = matrix.indptr
        kind = "csr_array" if isinstance(value, sparray) else "csr_matrix"
        return {"kind": kind, "name": name, "shape": [int(length) for length in matrix.shape]}
    if type(value) in RECORDS.values():
        parts = {part: _pack(f"{name}.{part}", item, arrays) for part, item in _fields(value).items()}
        return {"kind": type(value).__name__, **parts}
    got = f"the function {value.__name__}" if hasattr(value, "__name__") else type(value).__name__
    rule, remedy = "must be made of numbers, text and arrays to be saved", "Fit with another, or use joblib.dump"
    return refuse(name.partition(".")[2], rule, got, remedy)


def _fields(record: Any) -> dict[str, Any]:
    return {field.name: getattr(record, field.name) for field in fields(record)}


def read_model(path: str | os.PathLike[str], cls: Any) -> Any:
    """The fitted estimator of that class that a file holds."""
    file = ModelFile(Path(path), {}, {})
    try:
        with file.path.open("rb") as stream:
            return _restored(_read_file(file, stream), cls)
    except ModelFileError:
        raise
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError, PermissionError) as error:
        file.refuse((error.strerror or str(error)).lower(), "Check the path, and whether you may read it")
    except Exception as error:  # noqa: BLE001, what wrong bytes and forged numbers may lead to is no list that ends
        return file.refuse(f"it is damaged or cut short ({str(error).rstrip('.') or type(error).__name__:.300})")


def _restored(file: "ModelFile", cls: Any) -> Any:
    kind = file.header["class"]
    if kind != cls.__name__:
        file.refuse(f"it holds a {kind:.60}, not a {cls.__name__}", f"Use {kind:.60}.load")
    parameters, settings, fit = (file.unpack_all(key) for key in ("parameters", "settings", "fit"))
    unknown = parameters.keys() - cls()._saved_parameters().keys()  # noqa: SLF001, of a SavedMixin
    file.require(not unknown, f"{min(unknown, default='')!r:.40} in its header is not a parameter of {cls.__name__}")
    # Parameters that the file lacks are younger than it is.
    model = cls(**parameters)
    _checked(model._checked_parameters, model._saved_parameters())
    model.n_features_in_, names, output = (file.header[key] for key in FEATURES)
    are_named = model.n_features_in_ > 0 and (names is None or len(names) == model.n_features_in_)
    file.require(are_named, "'feature_names_in' in its header must name all features")
    file.require(output in OUTPUTS, f"'set_output' in its header is unknown ({output!r:.40})")
    if names is not None:
        model.feature_names_in_ = np.array(names, dtype=object)
    if output is not None:
        model.set_output(transform=output)
    model._restore(file, fit, _checked(check_settings, settings))
    model.preparation_ = None if file.header["preparation"] is None else _preparation(file)
    return model


def _checked(check: Callable[[dict[str, Any]], Settings], parameters: dict[str, Any]) -> Settings:
    """Settings of these parameters. What searched approximately needs no faiss to be written, read and used."""
    if isinstance(parameters.get("neighbors"), str) and parameters["neighbors"] == "approximate":
        return replace(check(parameters | {"neighbors": "auto"}), neighbors="approximate")
    return check(parameters)


def _preparation(file: "ModelFile") -> Any:
    """What was done to columns before the fit."""
    from hne.io.preprocess import SCALINGS, ColumnPreprocessor  # noqa: PLC0415, few files have one

    preparation, n = file.build(ColumnPreprocessor, file.unpack_all("preparation")), file.header["n_features_in"]
    shape, pixel_scale = preparation.image_shape, preparation.pixel_scale
    is_whole = len(preparation.feature_names) == n and preparation.scaling in SCALINGS
    is_image = shape is None or (len(shape) in {2, 3} and min(shape) > 0 and math.prod(shape) == n)
    is_scaled = pixel_scale is None or 0 < pixel_scale < math.inf
    file.require(is_whole and is_image and is_scaled, f"'preparation' in its header must be that of {n} features")
    for name, low in {"fill": -FINITE, "center": -FINITE, "scale": 5e-324}.items():
        if getattr(preparation, name) is not None:
            file.check_numbers(f"preparation.{name}", getattr(preparation, name), (n,), low, FINITE)
    return preparation


@dataclass(frozen=True)
class ModelFile:
    """What a file holds; what is not as it should be is a `ModelFileError`."""

    path: Path
    header: Mapping[str, Any]
    arrays: Arrays

    def refuse(self, reason: str, remedy: str = "Save the model again, or fetch a fresh copy of it") -> NoReturn:
        """Raise the error that says what is wrong with the file."""
        msg = f"cannot read '{self.path}': {reason}. {remedy}."
        raise ModelFileError(msg)

    def require(self, holds: bool | np.bool_, rule: str) -> None:
        """Refuse the file unless it keeps a rule."""
        if not holds:
            self.refuse(rule)

    def check_numbers(self, name: str, numbers: Any, shape: Any, low: float, high: float, *, nan: bool = False) -> None:
        """Refuse numbers of another shape, in which None is any length, or beyond these limits; `nan` allows NaN."""
        array = np.asarray(numbers)
        fits = len(shape) == array.ndim and all(a in {None, b} for a, b in zip(shape, array.shape, strict=True))
        self.require(fits, f"array '{name}' must have shape {shape}, got {array.shape}")
        # Limits of double precision, for numbers of single precision too.
        beyond = ~((array >= np.float64(low)) & (array <= np.float64(high))) & ~(nan & np.isnan(array))
        if beyond.any():
            self.refuse(f"array '{name}' must hold numbers from {low:g} to {high:g}, got {array[beyond][0]:g}")

    def unpack_all(self, key: str) -> dict[str, Any]:
        """The values that the header has under that key, by name."""
        return {name: self._unpack(value) for name, value in self.header[key].items()}

    def _unpack(self, value: Any) -> Any:  # noqa: PLR0911, one for each kind
        """What `_pack` was given."""
        match value:
            case list():
                return [self._unpack(item) for item in value]
            case {"kind": "float", "value": "nan" | "inf" | "-inf" as text}:
                return float(text)
            case {"kind": "tuple", "items": list(items)}:
                return tuple(self._unpack(items))
            case {"kind": "dict", "items": dict(items)}:
                return {key: self._unpack(item) for key, item in items.items()}
            case {"kind": "array", "name": str(name)}:
                return self.arrays[name]
            case {"kind": "csr_array" | "csr_matrix" as kind, "name": str(name), "shape": [int(), int()] as shape}:
                return self._csr(CSR[kind], name, (shape[0], shape[1]))
            case {"kind": str(kind), **parts} if kind in RECORDS:
                return self.build(RECORDS[kind], {str(name): self._unpack(part) for name, part in parts.items()})
            case dict():
                self.refuse(f"its header holds a value of no kind that is known ({value.get('kind')!r:.40})")
        return value

    def _csr(self, cls: Any, name: str, shape: tuple[int, int]) -> SparseMatrix:
        """The CSR matrix of that name and shape; nothing in it points outside."""
        data, columns, ends = (self.arrays[f"{name}.{part}"] for part in ("data", "indices", "indptr"))
        is_whole = (
            (data.ndim, columns.shape, ends.shape) == (1, data.shape, (shape[0] + 1,))
            and (ends.dtype.str[1:] in {"i4", "i8"} and columns.dtype == ends.dtype)
            and (ends[0] == 0 and ends[-1] == len(data) and (ends[1:] >= ends[:-1]).all())
        )
        self.require(is_whole, f"arrays '{name}.indptr', '.indices' and '.data' must be a CSR matrix of shape {shape}")
        self.check_numbers(f"{name}.indices", columns, (None,), 0, shape[1] - 1)
        matrix = cls(shape, dtype=data.dtype)
        # SciPy's constructor would choose a kind of index of its own.
        matrix.data, matrix.indices, matrix.indptr = data, columns, ends
        return matrix

    def build(self, cls: Any, parts: dict[str, Any]) -> Any:
        """The record of these parts, each of the kind that its field has."""
        hints = HINTS.get(cls) or get_type_hints(cls)
        self.check_kinds(cls.__name__, parts, {field.name: hints[field.name] for field in fields(cls)})
        record = cls(**parts)
        if isinstance(record, NeighborGraph):
            n, k = record.indices.shape
            self.check_numbers("indices of neighbors", record.indices, (n, max(1, k)), -1, n - 1)
            # Behind the last neighbor they are inf, and of a graph without lengths NaN.
            self.check_numbers("distances of neighbors", record.distances, (n, k), 0, np.inf, nan=True)
            self.check_numbers("recall", record.recall, (), 0, 1, nan=True)
        return record

    def check_kinds(self, whose: str, parts: dict[str, Any], hints: Mapping[str, Any]) -> None:
        """Refuse parts of other names or kinds than these; indices become the machine's own."""
        for name in sorted(parts.keys() ^ hints.keys()):
            self.refuse(f"{whose} lacks '{name}'" if name in hints else f"{whose} has no '{name:.40}'")
        for name, hint in hints.items():
            part = parts[name]
            if hint == IndexArray and isinstance(part, np.ndarray) and part.dtype.kind == "i":
                parts[name] = part = part.astype(np.intp, copy=False)
            kind = f"array of {part.dtype}" if isinstance(part, np.ndarray) else type(part).__name__
            self.require(_is_of(part, hint), f"'{name}' of {whose} is of another kind ({kind})")


def _is_of(value: Any, hint: Any) -> bool:
    """Whether a value is of the kind that a record's field has."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin in {Union, UnionType}:
        return any(_is_of(value, part) for part in parts)
    if origin in {tuple, list}:
        return isinstance(value, origin) and all(_is_of(item, parts[0]) for item in value)
    if hint in ARRAYS:
        return isinstance(value, np.ndarray) and value.dtype == ARRAYS[hint]
    return hint is Any or type(value) is hint


def _read_file(file: ModelFile, stream: IO[bytes]) -> ModelFile:
    """The header and the arrays of a file of this format, version and wholeness."""
    if stream.read(4) != b"PK\x03\x04":
        file.refuse("it is not a saved model", OTHER_FILE)
    arrays: Arrays = {}
    with zipfile.ZipFile(stream) as archive:
        members, size = archive.infolist(), os.fstat(stream.fileno()).st_size
        # A few bytes that claim to be many would fill the memory.
        file.require(sum(one.file_size for one in members) <= size, "its members claim more bytes than the file has")
        for one in members:
            name = one.filename.removesuffix(".npy")
            file.require(name not in arrays and name != one.filename, "it holds members that no model has")
            with archive.open(one) as member:
                array = np.lib.format.read_array(member, allow_pickle=False)
                # Its checksum is compared where a member ends.
                file.require(not member.read(1), f"array '{name:.60}' is longer than its shape")
            file.require(array.dtype.str[1:] in NUMBERS, f"array '{name:.60}' is not one of numbers")
            arrays[name] = array.astype(array.dtype.newbyteorder("="), copy=False)
    try:
        header = json.loads(arrays.pop("header").tobytes())
    except (KeyError, ValueError, RecursionError):
        header = None
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        file.refuse(f"it is not a saved model (no header of '{FORMAT}')", OTHER_FILE)
    if header.get("version") != VERSION:
        got = header.get("version")
        file.refuse(f"it is of format {got!r:.20}, and this hne reads {VERSION}", "Use the hne that wrote it")
    file.check_kinds("its header", header, HEADER)
    file.require(header["arrays"] == sorted(arrays), "its arrays are not those that its header lists")
    return replace(file, header=header, arrays=arrays)


def read_embedding(file: ModelFile, fit: dict[str, Any], settings: Settings) -> Embedding:
    """The embedding that these parts make, every number of them checked."""
    file.check_kinds("its fit", fit, FIT)
    distinct, core, require, check = fit["distinct"], fit["core"], file.require, file.check_numbers
    n, m = len(distinct.inverse), len(distinct.index)
    check("distinct.index", distinct.index, (m,), 0, n - 1)
    check("distinct.inverse", distinct.inverse, (n,), 0, m - 1)
    belong = np.array_equal(distinct.inverse[distinct.index], np.arange(m))
    require(belong, "arrays 'distinct.index' and 'distinct.inverse' must belong together")
    for pairs in (settings.cut_edges, settings.keep_edges):
        require(all(larger < n for _, larger in pairs or ()), f"its edges must be pairs of {n} samples")
    n_needed = 0 if isinstance(settings.neighbors, NeighborGraph) else settings.n_neighbors
    require(m > n_needed, f"n_neighbors={n_needed} needs more than {m} samples")
    _check_samples(file, core.X, fit["units"], (n, m), settings)
    # Kernels take the graph as it is: a list ends where its first -1 is.
    indices, labels, sizes = core.graph.indices, core.pieces.labels, core.pieces.sizes
    belong = len(indices) == m and not ((indices[:, :-1] < 0) & (indices[:, 1:] >= 0)).any()
    belong = belong and (indices != np.arange(m)[:, None]).all()
    require(belong, f"array 'core.graph.indices' must list others of {m} samples, and -1 behind the last")
    check("core.pieces.sizes", sizes, (None,), 1, m)
    check("core.pieces.labels", labels, (m,), 0, len(sizes) - 1)
    belong = np.array_equal(np.bincount(labels, minlength=len(sizes)), sizes) and (sizes[1:] <= sizes[:-1]).all()
    require(belong, "array 'core.pieces.sizes' must count the labels, the largest piece first")
    require(fit["dtype"] in DTYPES, "'dtype' in its header is unknown")
    check_weights(file, {"core.weights.W": core.weights.W, "core.weights.J": core.weights.J}, m)
    check("core.short_circuits", core.short_circuits, (None, 2), 0, m - 1)
    check("core.reconstruction_errors", core.reconstruction_errors, (m,), 0, np.inf, nan=True)
    check("core.Y", core.Y, (m, settings.n_components), -LONGEST, LONGEST, nan=True)
    left_out = ((labels > 0) & (settings.pieces == "largest"))[:, None]
    require((np.isnan(core.Y) == left_out).all(), "array 'core.Y' must hold the samples of embedded components")
    require(settings.coordinates != "auto", "its settings must say which coordinates were used")
    if settings.coordinates == "layout":
        check("core.kl_divergence", core.kl_divergence, (), -FINITE, FINITE)
        check("core.layout_unit", core.layout_unit, (), SMALLEST_UNIT, LONGEST)
        require(not core.eigenpairs and not core.charts, "a layout must have neither eigenpairs nor charts")
    else:
        _check_pieces(file, core, settings)
    return Embedding(settings, distinct, fit["units"], core, DTYPES[fit["dtype"]])


def _check_samples(file: ModelFile, X: Any, units: InputScaling, sizes: tuple[int, int], settings: Settings) -> None:
    (n, m), n_features, matrix = sizes, file.header["n_features_in"], stored_matrix(X)
    are_distances = settings.metric == PRECOMPUTED
    belong = isinstance(X, Distances) == are_distances and (n_features == n or not are_distances)
    file.require(belong, f"its samples do not go with metric={settings.metric!r:.40}")
    shape = (m, m if are_distances else n_features)
    is_matrix = isinstance(matrix, np.ndarray | csr_array) and matrix.dtype == np.float64
    file.require(is_matrix and matrix.shape == shape, f"'core.X' must be a matrix of shape {shape}")
    file.check_numbers("core.X", stored_values(X), stored_values(X).shape, -LARGEST, LARGEST)
    is_power = 0 < units.scale < math.inf and math.frexp(units.scale)[0] == 0.5
    file.require(is_power, f"'scale' in its header must be a power of two, got {units.scale}")
    if units.origin is not None:
        file.require(isinstance(X, np.ndarray), "'origin' in its header must be null for what is not moved")
        file.check_numbers("units.origin", units.origin, shape[1:], -FINITE, FINITE)


def check_weights(file: ModelFile, matrices: Mapping[str, SparseMatrix], n: int) -> None:
    """Refuse what are no matrices of weights among n samples."""
    for name, matrix in matrices.items():
        is_matrix = isinstance(matrix, csr_array) and matrix.shape == (n, n) and matrix.dtype == np.float64
        file.require(is_matrix, f"'{name}' must be a CSR array of shape {(n, n)}")
        file.check_numbers(f"{name}.data", matrix.data, (None,), -LARGEST, LARGEST)
        sums, sizes = matrix.sum(axis=1), np.abs(matrix).sum(axis=1)
        sum_up = ((np.abs(sums - 1) <= SUM_ERROR * sizes) | (sizes == 0)).all()
        file.require(sum_up, f"array '{name}.data' must hold weights that sum to one in each row")


def _check_pieces(file: ModelFile, core: Core, settings: Settings) -> None:
    """Refuse eigenpairs and charts that cannot be those of the embedded components."""
    check, d, sizes = file.check_numbers, settings.n_components, list(core.pieces.sizes)
    sizes = {"join": [sum(sizes)], "largest": sizes[:1]}.get(settings.pieces, sizes)
    charts = core.charts or (None,) * len(sizes)
    belong = len(core.eigenpairs) == len(charts) == len(sizes) and bool(core.charts) == (
        settings.coordinates == "chart"
    )
    file.require(belong, f"'eigenpairs' and 'charts' in its header must be of {len(sizes)} components")
    for size, pairs, chart in zip(sizes, core.eigenpairs, charts, strict=True):
        if pairs is None:
            file.require(chart is None, "'charts' in its header must be of components with eigenvectors")
            continue
        width = len(pairs.values)
        check("values of eigenpairs", pairs.values, (width,), 0, FINITE)
        is_sorted = width >= d and (pairs.values[1:] >= pairs.values[:-1]).all()
        file.require(is_sorted, f"array 'values of eigenpairs' must have {d} numbers at least, ascending")
        check("vectors of eigenpairs", pairs.vectors, (size, width), -LARGEST, LARGEST)
        check("residuals of eigenpairs", pairs.residuals, (width,), 0, np.inf)
        for name, number in (_fields(pairs.certificate) | {"residuals": 0.0, "next_value": pairs.next_value}).items():
            check(f"{name} of eigenpairs", number, (), 0, np.inf)
        if chart is not None:
            is_known = chart.route in ROUTES and chart.n_put_back >= 0
            file.require(is_known, "'charts' in its header must say how each chart was found")
            check("B of a chart", chart.B, (width, d), -LONGEST, LONGEST)
            check("spectrum of a chart", chart.spectrum, (width,), 0, FINITE)
            check("stress of a chart", chart.stress, (), 0, np.inf)
            check("way_stress of a chart", chart.way_stress, (), 0, np.inf, nan=True)
