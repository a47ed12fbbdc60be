"""An AnnData file (.h5ad) -> Table: X or another matrix, names of cells and genes, and what is known of the cells."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array

from hne.exceptions import shortened
from hne.io.arrays import check_indices
from hne.io.finish import finished, n_features_foreseen
from hne.io.labels import as_categories, as_ids, as_label, with_gaps
from hne.io.names import listed, numbered
from hne.io.record import Outline, ReadOptions, Table
from hne.io.sources import File

# Where matrices with a row for each cell are.
PLACES = ("layers", "obsm")
PRINCIPAL = "obsm/X_pca"


def is_anndata(root: Any) -> bool:
    """Whether the file says so, or is of a time when it did not and has its parts."""
    return root.attrs.get("encoding-type") == "anndata" or {"X", "obs", "var"} <= set(root)


def read_anndata(file: File, root: Any, choices: ReadOptions) -> Table:
    """Read a matrix, with the columns of `obs` as labels."""
    path = _path(file, root, choices)
    X = _matrix(file, root[path])
    if X.dtype.kind not in "biuf":
        msg = f"must hold numbers in {path}, got {X.dtype}. Choose another --array."
        raise file.error(msg)
    if X.dtype not in (np.float32, np.float64):
        X = X.astype(np.float64)
    ids, labels = _index(root["obs"]), _columns(root)
    return finished(
        file,
        X,
        choices,
        source=f"AnnData, {path}",
        feature_names=_feature_names(root, path, X.shape[1]),
        ids=ids,
        id_name=_index_name(root["obs"]),
        labels=labels,
        notices=_notices(root, path, choices),
    )


def outline_anndata(file: File, root: Any, choices: ReadOptions) -> Outline:
    """Foresee the matrix from its shape."""
    path = _path(file, root, choices)
    item = root[path]
    n_samples, n_features = _shape(item)
    chosen = n_features_foreseen(file, _feature_names(root, path, n_features), _column_names(root["obs"]), choices)
    size = 8 * n_samples * n_features if hasattr(item, "shape") else 16 * item["data"].shape[0]
    return Outline(n_samples=n_samples, n_features=chosen, is_exact=True, bytes=size, source=f"AnnData, {path}")


def _path(file: File, root: Any, choices: ReadOptions) -> str:
    known = ["X"] if "X" in root else []
    known += [f"{place}/{name}" for place in PLACES if place in root for name in root[place]]
    path = (choices.array or (known[0] if known else "X")).strip("/")
    if choices.transpose:
        msg = "has cells as rows, which are the samples, got --transpose. Leave it out."
        raise file.error(msg)
    if path not in known or len(_shape(root[path])) != 2:
        msg = f"must hold the matrix that is chosen, got --array {shortened(path)}. It has {listed(known) or 'none'}."
        raise file.error(msg)
    return path


def _feature_names(root: Any, path: str, n_features: int) -> tuple[str, ...]:
    """Names of genes; columns of other matrices are numbered."""
    return numbered(n_features, f"{path.rpartition('/')[2]}_") if path.startswith("obsm/") else _index(root["var"])


def _notices(root: Any, path: str, choices: ReadOptions) -> tuple[str, ...]:
    if choices.array is None and path != PRINCIPAL and PRINCIPAL in root:
        shape = " x ".join(map(str, _shape(root[path])))
        columns = _shape(root[PRINCIPAL])[1]
        notice = f"{path} ({shape}) is read; its {columns} principal components are there too: --array {PRINCIPAL}."
        return (notice,)
    return ()


def _shape(item: Any) -> tuple[int, ...]:
    if hasattr(item, "shape"):
        return tuple(item.shape)
    # Files of before 2020 say h5sparse_shape.
    return tuple(int(side) for side in item.attrs.get("shape", item.attrs.get("h5sparse_shape", ())))


def _matrix(file: File, item: Any) -> Any:
    """A dense array, or a CSR matrix from one that is stored by rows or by columns."""
    if hasattr(item, "shape"):
        return item[()]
    form = item.attrs.get("encoding-type", item.attrs.get("h5sparse_format", "csr"))
    form = form.decode() if isinstance(form, bytes) else form
    maker = csc_array if form.startswith("csc") else csr_array
    matrix = maker((item["data"][()], item["indices"][()], item["indptr"][()]), shape=_shape(item))
    check_indices(file, matrix)
    return csr_array(matrix)


def _index(frame: Any) -> tuple[str, ...]:
    """Names of cells or genes; versions before 0.7 wrote records, which begin with them."""
    values = frame[frame.dtype.names[0]] if hasattr(frame, "shape") else _plain(frame[_index_column(frame)])
    return as_ids(values)


def _column_names(frame: Any) -> list[str]:
    if hasattr(frame, "shape"):
        return list(frame.dtype.names[1:])
    index = _index_column(frame)
    order = [_text(column) for column in frame.attrs.get("column-order", ())] or [key for key in frame if key != index]
    return [column for column in order if column in frame and column != "__categories"]


def _columns(root: Any) -> dict[str, NDArray[Any]]:
    """What is known of the cells."""
    frame = root["obs"]
    read = _old_column if hasattr(frame, "shape") else _column
    return {name: read(root, frame, name) for name in _column_names(frame)}


def _index_column(frame: Any) -> str:
    return _text(frame.attrs.get("_index", "_index" if "_index" in frame else "index"))


def _index_name(frame: Any) -> str:
    name = "id" if hasattr(frame, "shape") else _index_column(frame)
    return "id" if name in ("_index", "index") else name


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def _column(_: Any, frame: Any, name: str) -> NDArray[Any]:
    """A column in any of AnnData's encodings."""
    item = frame[name]
    if hasattr(item, "shape"):
        if "__categories" in frame and name in frame["__categories"]:  # until version 0.7
            return _categorical(item[()], _plain(frame["__categories"][name]))
        return as_label(_plain(item))
    if "codes" in item:
        return _categorical(item["codes"][()], _plain(item["categories"]))
    return with_gaps(_plain(item["values"]), item["mask"][()])


def _plain(item: Any) -> NDArray[Any]:
    """Values of an array; text, and arrays of text with a mask, as Python's strings."""
    if not hasattr(item, "shape"):
        return with_gaps(_plain(item["values"]), item["mask"][()])
    values: NDArray[Any] = item.asstr()[()] if item.dtype.kind == "O" else item[()]
    return values


def _categorical(codes: NDArray[Any], categories: NDArray[Any]) -> NDArray[Any]:
    texts = [*as_categories(categories), None]
    return np.array([texts[code] for code in codes.tolist()], dtype=object)  # code -1 is None, the last


def _old_column(root: Any, frame: Any, name: str) -> NDArray[Any]:
    """A field of records, as versions before 0.7 wrote them; categories are among `uns`."""
    categories = root["uns"].get(f"{name}_categories") if "uns" in root else None
    values = frame[name]
    return as_label(values) if categories is None else _categorical(values, _plain(categories))
