"""The folder through which an eigenproblem travels to a solver of its own: A and B in row blocks, and what came back.

    A-<start>-<stop>.indptr.npy, .indices.npy, .data.npy    rows start to stop of A, columns of the whole
    B-<start>-<stop>.indptr.npy, ...                        rows of B, in blocks of their own
    problem.json                                            written last: a folder with it is ready to be solved
    vectors-<start>-<stop>.npy                              rows of the found vectors
    result.json                                             written last: a folder with it is solved

Blocks may be written by different processes on different machines that share the folder: each returns a short record
of what it wrote, and whoever has all records writes problem.json. Every file is there whole or not at all.
"""

import hashlib
import json
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hne._runtime.files import atomic_write, make_folder
from hne.core.records import Alignment, FloatArray, SparseMatrix, index_kind
from hne.exceptions import InputError

PROBLEM_FORMAT, RESULT_FORMAT, VERSION = "hne eigenproblem", "hne eigenpairs", 1
PROBLEM_FILE, RESULT_FILE = "problem.json", "result.json"
MATRICES = ("A", "B")
PIECES = ("indptr", "indices", "data")
# Rows a block where one process writes them all: 30 MB of B on a surface.
BLOCK_ROWS = 100_000
# Eigenvectors beyond the wanted ones: Rayleigh-Ritz in the span of all brings back digits that G has lost.
SPARE = 6
# Of the scale of G, the smallest first that makes it positive definite (see `_eigen/_direct`).
SHIFTS = (1e-14, 1e-12, 1e-10)


@dataclass(frozen=True)
class RowBlock:
    """What was written of a matrix: its rows from start to stop, and a checksum of each file."""

    matrix: str  # "A" or "B"
    start: int
    stop: int
    entries: int
    checksums: tuple[int, ...]  # of indptr, indices and data


@dataclass(frozen=True)
class Result:
    """What a solver wrote into a folder."""

    basis: FloatArray  # (n, count + spare) orthonormal, ascending; fewer columns where n is small
    facts: dict[str, Any]  # eigenvalues, residuals, seconds, memory and more, as result.json has them

    def __str__(self) -> str:
        n = len(self.basis)
        return f"{self.facts['count']} of {n} x {n}, slepc solver on {self.facts['n_ranks']} rank(s)"


def write_rows(folder: Path, matrix: str, start: int, rows: SparseMatrix) -> RowBlock:
    """Write consecutive rows of A or B, CSR, the first of them number `start`, into a folder that is there.

    The records of all blocks go to `write_problem`, in any order.
    """
    stop = start + rows.shape[0]
    arrays = (
        rows.indptr.astype(np.int64),
        rows.indices.astype(index_kind(rows.shape[1]), copy=False),
        rows.data.astype(np.float64, copy=False),
    )
    for name, array in zip(PIECES, arrays, strict=True):
        _write_array(folder / block_file(matrix, start, stop, name), array)
    return RowBlock(matrix, start, stop, int(rows.nnz), tuple(map(checksum, arrays)))


def write_problem(
    folder: Path,
    blocks: Iterable[RowBlock],
    n_samples: int,
    *,
    count: int,
    gamma: float = 1.0,
    tol: float = 1e-7,
    seed: int = 0,
    spare: int = SPARE,
    shifts: Sequence[float] = SHIFTS,
) -> None:
    """Write problem.json, once all blocks are there: `count` eigenpairs of gamma A'A + B'B are wanted."""
    known = list(blocks)
    tables = {matrix: _in_order(folder, known, matrix, n_samples) for matrix in MATRICES}
    problem = {
        "format": PROBLEM_FORMAT,
        "version": VERSION,
        "n_samples": n_samples,
        "gamma": gamma,
        "count": count,
        "spare": spare,
        "tol": tol,
        "seed": seed,
        "shifts": list(shifts),
        "blocks": {matrix: [_plain(block) for block in table] for matrix, table in tables.items()},
    }
    _write_json(folder / PROBLEM_FILE, problem)


def write_alignment(folder: Path, alignment: Alignment, *, block_rows: int = BLOCK_ROWS, **parameters: Any) -> None:
    """Write a whole alignment and its problem.json; `parameters` are those of `write_problem`."""
    make_folder(folder)
    blocks = [
        write_rows(folder, matrix, start, rows)
        for matrix, whole in zip(MATRICES, (alignment.A, alignment.B), strict=True)
        for start, rows in _row_blocks(whole, block_rows)
    ]
    write_problem(folder, blocks, alignment.n_samples, gamma=alignment.gamma, **parameters)


def has_problem(folder: Path) -> bool:
    """Whether there is a problem to solve."""
    return (folder / PROBLEM_FILE).is_file()


def has_whole_problem(folder: Path) -> bool:
    """Whether there is a problem, and every file of its blocks; what they hold, ranks check when they read them."""
    try:
        tables = json.loads((folder / PROBLEM_FILE).read_bytes())["blocks"]
        names = [
            block_file(matrix, int(block["start"]), int(block["stop"]), piece)
            for matrix in MATRICES
            for block in tables[matrix]
            for piece in PIECES
        ]
    except (OSError, ValueError, KeyError, TypeError):
        return False
    return all((folder / name).is_file() for name in names)


def has_result(folder: Path) -> bool:
    """Whether the folder has a result, and of the problem that is in it."""
    try:
        facts = json.loads((folder / RESULT_FILE).read_bytes())
        return bool(facts["problem"] == digest((folder / PROBLEM_FILE).read_bytes()))
    except (OSError, ValueError, KeyError, TypeError):
        return False


def read_result(folder: Path) -> Result:
    """Read what the solver found, or raise InputError that names the file at fault."""
    facts = _read_json(folder / RESULT_FILE, RESULT_FORMAT)
    try:
        blocks = [(int(b["start"]), int(b["stop"]), int(b["checksum"])) for b in facts["vectors"]]
        basis = np.empty((int(facts["n_samples"]), int(facts["width"])))
    except (KeyError, TypeError, ValueError) as error:
        raise _refused(folder / RESULT_FILE, "is damaged") from error
    if not has_result(folder):
        raise _refused(folder / RESULT_FILE, "belongs to another problem than the folder's")
    if not _covers([(start, stop) for start, stop, _ in blocks], len(basis)):
        raise _refused(folder / RESULT_FILE, "has vectors for some rows only")
    for start, stop, expected in blocks:
        basis[start:stop] = _read_array(folder / vectors_file(start, stop), basis[start:stop].shape, expected)
    return Result(basis, facts)


def block_file(matrix: str, start: int, stop: int, piece: str) -> str:
    """Name of the file of a row block.

    >>> block_file("B", 0, 50, "data")
    'B-000000000000-000000000050.data.npy'
    """
    return f"{matrix}-{start:012d}-{stop:012d}.{piece}.npy"


def vectors_file(start: int, stop: int) -> str:
    """Name of the file of rows of the vectors."""
    return f"vectors-{start:012d}-{stop:012d}.npy"


def checksum(array: Any) -> int:
    """CRC of the array's bytes."""
    return zlib.crc32(np.ascontiguousarray(array).data)


def digest(text: bytes) -> str:
    """What tells one problem.json from another: it has the checksums of all blocks."""
    return hashlib.blake2b(text, digest_size=16).hexdigest()


def _row_blocks(whole: SparseMatrix, block_rows: int) -> Iterator[tuple[int, SparseMatrix]]:
    for start in range(0, whole.shape[0], block_rows):
        yield start, whole[start : start + block_rows]


def _plain(block: RowBlock) -> dict[str, Any]:
    record = asdict(block)
    del record["matrix"]
    return record


def _in_order(folder: Path, blocks: Sequence[RowBlock], matrix: str, n_samples: int) -> list[RowBlock]:
    """Blocks of one matrix by their rows, which they must cover without overlap."""
    table = sorted((block for block in blocks if block.matrix == matrix), key=lambda block: block.start)
    if not _covers([(block.start, block.stop) for block in table], n_samples):
        ranges = ", ".join(f"{block.start} to {block.stop}" for block in table[:5])
        msg = (
            f"blocks of {matrix} must cover rows 0 to {n_samples} once each, got {ranges or 'none'}. "
            f"Write the rows that are missing in '{folder}'."
        )
        raise InputError(msg)
    return table


def _covers(ranges: Sequence[tuple[int, int]], n_samples: int) -> bool:
    ordered = sorted(ranges)
    starts, stops = [start for start, _ in ordered], [stop for _, stop in ordered]
    return bool(ordered) and starts == [0, *stops[:-1]] and stops[-1] == n_samples


def _write_array(path: Path, array: Any) -> None:
    # What np.save does, but for its error on a full disk, which has the numbers of bytes and not the reason.
    array = np.ascontiguousarray(array)
    with atomic_write(path, overwrite=True) as temporary, temporary.open("wb") as file:
        np.lib.format.write_array_header_1_0(file, np.lib.format.header_data_from_array_1_0(array))
        file.write(array.data)


def _write_json(path: Path, value: Any) -> None:
    with atomic_write(path, overwrite=True) as temporary:
        temporary.write_text(json.dumps(value, indent=1) + "\n")


def _read_json(path: Path, expected: str) -> dict[str, Any]:
    try:
        value = json.loads(path.read_bytes())
    except OSError as error:
        raise _refused(path, f"cannot be read: {(error.strerror or str(error)).lower()}") from error
    except ValueError as error:
        raise _refused(path, "is damaged") from error
    if not isinstance(value, dict) or value.get("format") != expected:
        raise _refused(path, "is not a file of hne's")
    if value.get("version") != VERSION:
        raise _refused(path, f"has version {value.get('version')!r} where {VERSION} is read")
    return value


def _read_array(path: Path, shape: tuple[int, ...], expected: int) -> FloatArray:
    try:
        array: FloatArray = np.load(path, allow_pickle=False)
    except OSError as error:
        raise _refused(path, f"cannot be read: {(error.strerror or 'no array').lower()}") from error
    except (ValueError, EOFError) as error:
        raise _refused(path, "is damaged") from error
    if array.dtype != np.float64 or array.shape != shape or checksum(array) != expected:
        raise _refused(path, "is damaged")
    return array


def _refused(path: Path, reason: str) -> InputError:
    return InputError(f"'{path}' {reason}. Remove it, and solve the problem again.")
