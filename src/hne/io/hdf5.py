"""MAT, HDF5 and AnnData files -> Table, and a process of its own to read them in.

Libraries of C that parse these files crash or never end on some that are damaged or made to do it. A child that dies
takes nobody with it, and tells no more than a table: what it says is read by a reader of a few known kinds.
"""

import faulthandler
import os
import pickle
import select
import signal
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from math import ceil, prod
from tempfile import TemporaryFile
from typing import IO, Any, NoReturn, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from hne._runtime.memory import addresses_taken, available_bytes
from hne.exceptions import HNEError, InputError, MissingExtraError, TooLargeError, shortened
from hne.io.arrays import DEFLATED, Entry, check_indices, table_of_arrays
from hne.io.files import File, ReadOptions, extra, reason_of
from hne.io.table import Table, as_ids, as_label, listed, matrix_table, numbered, with_gaps

Result = TypeVar("Result")

# MATLAB's classes of plain numbers, as NumPy calls them.
MATLAB_NUMBERS = {"double": "float64", "single": "float32", "logical": "bool"}
MATLAB_NUMBERS |= {name: name for bits in (8, 16, 32, 64) for name in (f"int{bits}", f"uint{bits}")}
# In HDF5 files, MATLAB marks each of its arrays with its class.
MATLAB_CLASS = "MATLAB_class"
# Where AnnData has matrices with a row for each cell, and the one that most people mean.
ANNDATA_PLACES = ("layers", "obsm")
PRINCIPAL = "obsm/X_pca"
# Seconds of computing that a file of no size may take, and for each byte of it: a hundred times what is usual.
SECONDS, SECONDS_PER_BYTE = 10.0, 1e-6
# Seconds on the clock for one of computing, as on a slow disk; a child that takes more waits for what never comes.
PATIENCE = 10
# What a table consists of: everything else that a child could name stays what it is, a name.
KNOWN = {
    ("hne.io.table", "Table"), ("numpy", "dtype"), ("numpy", "ndarray"), ("numpy._core.multiarray", "_reconstruct"),
    ("numpy._core.multiarray", "scalar"), ("numpy._core.numeric", "_frombuffer"), ("scipy.sparse._csr", "csr_array"),
}  # fmt: skip
ERRORS = {kind.__name__: kind for kind in (InputError, MissingExtraError, TooLargeError)}


def can_fork() -> bool:
    """Whether a child costs milliseconds here; frameworks of macOS do not live through it."""
    return hasattr(os, "fork") and sys.platform != "darwin"


# Copies of a table that are in memory at once: the child's, and what it hands over.
HANDED_OVER = 2 if can_fork() else 1


def read_mat(file: File, options: ReadOptions) -> Table:
    """Read a MAT file of version 7 or older: arrays of numbers, and what structs, cells and text hold."""
    from scipy.io import loadmat, whosmat

    def load(*names: str) -> dict[str, Any]:
        # SciPy's reader of damaged files raises whatever comes, and warns that sparse ones will be of another class.
        with file.reading("a MAT file", (Exception,)), warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            return loadmat(file.path, variable_names=names)

    entries, others = [], []
    # A number takes a byte or more, whatever its class: small ones are stored as small integers.
    most = DEFLATED * file.path.stat().st_size
    with file.reading("a MAT file", (Exception,)):
        for name, shape, kind in whosmat(file.path):
            if kind not in MATLAB_NUMBERS:
                others.append(name)
                continue
            if not 0 <= prod(shape) <= most:
                msg = f"{name} claims {' x '.join(map(str, shape))} numbers"
                raise ValueError(msg)
            dtype = np.dtype(MATLAB_NUMBERS[kind])
            entries.append(Entry(name, tuple(shape), dtype, lambda name=name: load(name)[name]))  # type: ignore[misc]
    for name, value in named_values(load(*others)) if others else ():
        known = _texts(value) if isinstance(value, np.ndarray) and value.dtype.kind == "O" else value
        if issparse(known) or (isinstance(known, np.ndarray) and known.dtype.kind in "biufcU"):
            entries.append(Entry(name, known.shape, known.dtype, partial(lambda value: value, known)))
    return table_of_arrays(file, entries, options, "MAT", is_matlab=True, copies=HANDED_OVER)


def named_values(content: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Values of the variables, and of the fields of structs, which SciPy reads as records; what it adds is left out."""
    for name, value in content.items():
        if name.startswith("__"):
            continue
        if isinstance(value, np.ndarray) and value.dtype.names and value.size == 1:
            record = value.reshape(-1)[0]
            yield from named_values({f"{name}.{field}": record[field] for field in value.dtype.names})
        else:
            yield name, value


def _texts(cells: Any) -> Any:
    """Texts of a cell array of them, as SciPy reads one: an array of arrays of one text each; None for other cells."""
    values = cells.reshape(-1).tolist()
    if not all(isinstance(value, np.ndarray) and value.dtype.kind == "U" and value.size <= 1 for value in values):
        return None
    return np.array([str(value.reshape(-1)[0]) if value.size else "" for value in values], dtype=str)


def read_hdf5(file: File, options: ReadOptions) -> Table:
    """Read an HDF5 file: of AnnData, of MATLAB's version 7.3, or any other with matrices in it."""
    h5py = extra("h5py", f"reading {file.title}")
    with file.reading("an HDF5 file"), h5py.File(file.path, "r") as root:
        _check_is_all_here(file, h5py, root)
        if root.attrs.get("encoding-type") == "anndata" or {"X", "obs", "var"} <= set(root):
            return _read_anndata(file, root, options)
        # A link to nothing has no item.
        is_matlab = any(MATLAB_CLASS in item.attrs for item in root.values() if item is not None)
        entries: list[Entry] = []

        def visit(name: str, item: Any) -> None:
            attributes = getattr(item, "attrs", {})
            hidden = name.startswith("#") or "MATLAB_empty" in attributes or attributes.get(MATLAB_CLASS) == b"char"
            if not hasattr(item, "shape") or not item.shape or item.dtype.names or hidden:
                return
            if is_matlab:  # HDF5 reverses the dimensions of MATLAB's arrays
                entry = Entry(name.replace("/", "."), item.shape[::-1], item.dtype, lambda: np.asarray(item[()].T))
            else:
                entry = Entry(name, item.shape, item.dtype, lambda: np.asarray(item[()]))
            entries.append(entry)

        root.visititems(visit)
        source = "MAT 7.3" if is_matlab else "HDF5"
        return table_of_arrays(file, entries, options, source, is_matlab=is_matlab, copies=HANDED_OVER)


def _check_is_all_here(file: File, h5py: Any, root: Any) -> None:
    """Refuse a file that would have others read: by links to them, or by arrays that are stored in them."""

    def look(name: str, link: Any) -> tuple[str, str] | None:
        if isinstance(link, h5py.ExternalLink):
            return name, link.filename
        if isinstance(link, h5py.HardLink) and root.get(name, getclass=True) is h5py.Dataset:
            plan = root[name].id.get_create_plist()
            if plan.get_external_count():
                return name, os.fsdecode(plan.get_external(0)[0])
            if plan.get_layout() == h5py.h5d.VIRTUAL:
                return name, plan.get_virtual_filename(0) if plan.get_virtual_count() else "nowhere"
        return None

    outside = root.visititems_links(look)
    if outside is not None:
        got = f"'{outside[0]}', which is in another file ('{outside[1]}')"
        file.refuse("must hold its arrays itself", got, "Copy it into one file")


def _read_anndata(file: File, root: Any, options: ReadOptions) -> Table:
    """Read X or another matrix of cells, names of cells and genes, and what is known of the cells as labels."""
    known = ["X"] if "X" in root else []
    known += [f"{place}/{name}" for place in ANNDATA_PLACES if place in root for name in root[place]]
    path = (options.array or (known[0] if known else "X")).strip("/")
    if options.transpose:
        file.refuse("has cells as rows, which are the samples", "transpose=True", "Leave it out")
    if path not in known or len(_shape(root[path])) != 2:
        remedy = f"It has {listed(known) or 'none'}"
        file.refuse("must hold the matrix that is chosen", f"array='{shortened(path)}'", remedy)
    n_samples, n_features = _shape(root[path])
    size = 8 * n_samples * n_features if hasattr(root[path], "shape") else 16 * root[path]["data"].shape[0]
    file.check_fits(HANDED_OVER * size, n_samples, n_features)
    X, obs, var = _anndata_parts(file, root, path)
    if X.dtype.kind not in "biuf":
        file.refuse(f"must hold numbers in {path}", X.dtype, "Choose another `array`")
    if issparse(X):
        check_indices(file, X)
        X = csr_array(X)
    notices: tuple[str, ...] = ()
    if options.array is None and path != PRINCIPAL and PRINCIPAL in known:
        n_components = _shape(root[PRINCIPAL])[1]
        there = f"its {n_components} principal components are there too: array='{PRINCIPAL}'."
        notices = (f"{path} ({n_samples} x {n_features}) is read; {there}",)
    # Columns of matrices that are not of genes are numbered.
    genes, place = as_ids(var.index.to_numpy()), path.removeprefix("obsm/")
    return matrix_table(
        file,
        X if X.dtype in (np.float32, np.float64) else X.astype(np.float64),
        options,
        source=f"AnnData, {path}",
        feature_names=genes if place == path else numbered(n_features, f"{place}_"),
        ids=as_ids(obs.index.to_numpy()),
        id_name="id" if obs.index.name in (None, "_index", "index") else str(obs.index.name),
        labels={str(name): _frame_label(obs[name]) for name in obs},
        notices=notices,
    )


def _shape(item: Any) -> tuple[int, ...]:
    # Sparse matrices are groups; those of before 2020 say h5sparse_shape.
    sides = getattr(item, "shape", None) or item.attrs.get("shape", item.attrs.get("h5sparse_shape", ()))
    return tuple(int(side) for side in sides)


def _anndata_parts(file: File, root: Any, path: str) -> tuple[Any, Any, Any]:
    """Matrix, and data frames of cells and genes."""
    extra("anndata", f"reading {file.title}", group="anndata")
    import anndata

    try:
        with warnings.catch_warnings():
            # Of files that older versions wrote.
            warnings.simplefilter("ignore")
            if all(root[name].attrs.get("encoding-type") == "dataframe" for name in ("obs", "var")):
                return tuple(anndata.io.read_elem(root[name]) for name in (path, "obs", "var"))
            cells = anndata.read_h5ad(file.path)
    except MemoryError:
        raise
    except Exception as error:  # of damaged files, anndata raises whatever comes
        raise ValueError(reason_of(error)) from error
    place, _, name = path.partition("/")
    return (getattr(cells, place)[name] if name else cells.X), cells.obs, cells.var


def _frame_label(column: Any) -> NDArray[Any]:
    """A column of a data frame: numbers with NaN, or text with None; categories of numbers are text."""
    if hasattr(column, "cat"):
        texts = [*as_ids(column.cat.categories.to_numpy()), None]
        return np.array([texts[code] for code in column.cat.codes.tolist()], dtype=object)  # code -1 is None, the last
    if column.dtype.kind in "iu" and column.hasnans:
        kind = np.dtype(str(column.dtype).lower())
        return with_gaps(column.to_numpy(dtype=kind, na_value=0), column.isna().to_numpy())
    if column.dtype.kind in "iuf":
        return as_label(column.to_numpy())
    return as_label(column.to_numpy(dtype=object, na_value=None))


def read_in_child(file: File, read: Callable[[], Result]) -> Result:
    """What `read` gives, or the error that it raises; in this process where a child cannot be had.

    A child that crashes, computes for too long or needs more memory than there is, is an error about the file.
    """
    if not can_fork():
        return read()
    seconds = SECONDS + SECONDS_PER_BYTE * file.path.stat().st_size
    # A file without a name, in memory where the system has such files.
    with os.fdopen(os.memfd_create("hne"), "w+b") if hasattr(os, "memfd_create") else TemporaryFile() as answer:
        status = _run(answer, read, seconds)
        try:
            answer.seek(0)
            word, value = _Reader(answer).load()
            kind = str(word)
        except Exception:  # noqa: BLE001, a child that a file has broken may leave anything
            number = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
            name = signal.Signals(number).name if number else f"status {os.WEXITSTATUS(status)}"
            got = f"one that crashes its reader ({name})"
            if number in (signal.SIGXCPU, signal.SIGKILL):
                got = f"one whose reader came to no end within {seconds:.0f} s"
            file.refuse("must be a whole file", got)
    if not kind:
        return value
    if kind in ERRORS:
        raise ERRORS[kind](value)
    if kind == "MemoryError":
        msg = f"{file.title} needs more memory to be read than there is. Write a part of it to a file of its own."
        raise TooLargeError(msg)
    failure = RuntimeError(f"{kind} while {file.title} was read")
    failure.add_note(value)
    raise failure


def _run(answer: IO[bytes], read: Callable[[], Any], seconds: float) -> int:
    """Let a child read and answer; its status at the end, which is forced where it does not come."""
    alive, life = os.pipe()
    with warnings.catch_warnings():
        # Python 3.12 warns of threads that a child does not have: none that reading would wait for.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        _work(answer, life, read, seconds)
    os.close(life)
    ended: list[int] = []
    try:
        # A child says that it has answered; the death of one that has not closes its end of the pipe.
        ended, _, _ = select.select([alive], [], [], PATIENCE * seconds)
    finally:
        os.close(alive)
        if not ended:
            os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
    return status


def _work(answer: IO[bytes], life: int, read: Callable[[], Any], seconds: float) -> NoReturn:
    """Be the child: read, answer, end; nothing of the parent's is flushed, closed or cleaned up."""
    status = 1
    try:
        import resource

        faulthandler.disable()
        # It ends where it computes for too long, fails where it takes too much memory, and leaves no core.
        memory = addresses_taken() + available_bytes()
        limits = {resource.RLIMIT_CPU: ceil(seconds), resource.RLIMIT_AS: memory, resource.RLIMIT_CORE: 0}
        for kind, limit in limits.items():
            _, most = resource.getrlimit(kind)
            resource.setrlimit(kind, (limit if most == resource.RLIM_INFINITY else min(limit, most), most))
        pickle.dump(_try(read), answer, protocol=5)
        answer.flush()
        os.write(life, b"!")
        status = 0
    finally:
        # Whatever happens: a child that went on would be a second parent.
        os._exit(status)


def _try(read: Callable[[], Any]) -> tuple[str, Any]:
    """What reading gives, after an empty word, or the kind of its error and what that says."""
    try:
        return "", read()
    except HNEError as error:
        return next(name for name, kind in ERRORS.items() if isinstance(error, kind)), str(error)
    except MemoryError:
        return "MemoryError", ""
    except Exception as error:  # noqa: BLE001, the parent raises it
        return type(error).__name__, traceback.format_exc()


class _Reader(pickle.Unpickler):
    """Reads tables, and runs nothing that is not part of one."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in KNOWN:
            msg = f"{module}.{name} is no part of a table"
            raise pickle.UnpicklingError(msg)
        return super().find_class(module, name)
