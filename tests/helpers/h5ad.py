"""Files as AnnData 0.8 to 0.12 writes them, by h5py: anndata itself asks for an old pandas."""

import h5py
import numpy as np
from scipy.sparse import issparse


def write_h5ad(path, X, obs, ids, genes, obsm=None, layers=None):
    """Write a file of cells; columns of `obs` are lists of text, numbers, booleans, None, or (categories, codes)."""
    with h5py.File(path, "w") as file:
        _mark(file, "anndata", "0.1.0")
        _put_matrix(file, "X", X)
        _put_frame(file, "obs", ids, obs)
        _put_frame(file, "var", genes, {})
        for name, matrices in (("obsm", obsm or {}), ("layers", layers or {}), ("uns", {})):
            _mark(file.create_group(name), "dict", "0.1.0")
            for key, matrix in matrices.items():
                _put_matrix(file[name], key, matrix)


def _mark(node, kind, version):
    node.attrs["encoding-type"], node.attrs["encoding-version"] = kind, version


def _put_matrix(parent, name, matrix):
    if not issparse(matrix):
        _mark(parent.create_dataset(name, data=matrix), "array", "0.2.0")
        return
    group = parent.create_group(name)
    _mark(group, f"{matrix.format}_matrix", "0.1.0")
    group.attrs["shape"] = matrix.shape
    for part in ("data", "indices", "indptr"):
        group.create_dataset(part, data=getattr(matrix, part))


def _put_frame(file, name, index, columns):
    group = file.create_group(name)
    _mark(group, "dataframe", "0.2.0")
    group.attrs["_index"], group.attrs["column-order"] = "_index", np.array(list(columns), dtype=h5py.string_dtype())
    _put_column(group, "_index", index)
    for key, values in columns.items():
        _put_column(group, key, values)


def _put_column(parent, name, values):
    if isinstance(values, tuple):
        categories, codes = values
        group = parent.create_group(name)
        _mark(group, "categorical", "0.2.0")
        group.attrs["ordered"] = False
        group.create_dataset("codes", data=np.array(codes, dtype=np.int8))
        _put_column(group, "categories", categories)
    elif any(isinstance(value, str) for value in values):
        _mark(parent.create_dataset(name, data=values, dtype=h5py.string_dtype()), "string-array", "0.2.0")
    elif None in values:
        group, gaps = parent.create_group(name), [value is None for value in values]
        is_boolean = any(isinstance(value, bool) for value in values)
        _mark(group, "nullable-boolean" if is_boolean else "nullable-integer", "0.1.0")
        group.create_dataset("mask", data=gaps)
        group.create_dataset(
            "values", data=[(False if is_boolean else 1) if gap else v for v, gap in zip(values, gaps, strict=True)]
        )
    else:
        _mark(parent.create_dataset(name, data=values), "array", "0.2.0")
