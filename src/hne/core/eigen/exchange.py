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
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from hne._runtime.files import atomic_write, make_folder
from hne.core.eigen.alignment import Alignment
from hne.core.records import FloatArray, SparseMatrix, index_kind
from hne.exceptions import InputError

PROBLEM_FORMAT, RESULT_FORMAT, VERSION = "hne eigenproblem", "hne eigenpairs", 1
PROBLEM_FILE, RESULT_FILE = "problem.json", "result.json"
MATRICES = ("A", "B")
PIECES = ("indptr", "indices", "data")
# Rows a block where one process writes them all: 30 MB of B on a surface.
BLOCK_ROWS = 100_000
# Eigenvectors beyond the wanted ones: Rayleigh-Ritz in the span of all brings back digits that G has lost.
SPARE = 6
# Of the scale of G: far below the wanted eigenvalues (1e-10 of it at n = 2 000, 1e-14 at 100 000), above rounding. A
# smaller one would leave the constant vector's pivot to chance; a matrix that needs more to be positive definite gets
# more.
SHIFTS = (1e-14, 1e-12, 1e-10)


@dataclass(frozen=True)
class RowBlock:
    """What was written of a matrix: its rows from start to stop, and a checksum of each file."""

    matrix: str  # "A" or "B"
    start: int
    stop: int
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
    """Write consecutive rows of A or B, CSR, the first of them number `start`, into a folder that is there."""
    stop = start + rows.shape[0]
    arrays = (
        rows.indptr.astype(np.int64),
        rows.indices.astype(index_kind(rows.shape[1]), copy=False),
        rows.data.astype(np.float64, copy=False),
    )
    for name, array in zip(PIECES, arrays, strict=True):
        path = folder / block_file(matrix, start, stop, name)
        with atomic_write(path, overwrite=True) as temporary, temporary.open("wb") as file:
            np.save(file, array)
    return RowBlock(matrix, start, stop, tuple(map(checksum, arrays)))


def write_problem(
    folder: Path,
    blocks: Iterable[RowBlock],
    n_samples: int,
    *,
    count: int,
    gamma: float = 1.0,
    tol: float = 1e-7,
    seed: int = 0,
    shifts: Sequence[float] = SHIFTS,
) -> None:
    """Write problem.json, once all blocks are there: `count` eigenpairs of gamma A'A + B'B are wanted."""
    tables: dict[str, list[dict[str, Any]]] = {matrix: [] for matrix in MATRICES}
    for block in sorted(blocks, key=lambda block: block.start):
        record = asdict(block)
        tables[record.pop("matrix")].append(record)
    for matrix, table in tables.items():
        if not _covers(table, n_samples):
            ranges = ", ".join(f"{block['start']} to {block['stop']}" for block in table[:5])
            msg = (
                f"blocks of {matrix} must cover rows 0 to {n_samples} once each, got {ranges or 'none'}. "
                f"Write the rows that are missing in '{folder}'."
            )
            raise InputError(msg)
    problem = {
        "format": PROBLEM_FORMAT,
        "version": VERSION,
        "n_samples": n_samples,
        "gamma": gamma,
        "count": count,
        "spare": SPARE,
        "tol": tol,
        "seed": seed,
        "shifts": list(shifts),
        "blocks": tables,
    }
    with atomic_write(folder / PROBLEM_FILE, overwrite=True) as temporary:
        temporary.write_text(json.dumps(problem, indent=1) + "\n")


def write_alignment(folder: Path, alignment: Alignment, *, block_rows: int = BLOCK_ROWS, **parameters: Any) -> None:
    """Write a whole alignment and its problem.json; `parameters` are those of `write_problem`."""
    make_folder(folder)
    blocks = [
        write_rows(folder, matrix, start, whole[start : start + block_rows])
        for matrix, whole in zip(MATRICES, (alignment.A, alignment.B), strict=True)
        for start in range(0, whole.shape[0], block_rows)
    ]
    write_problem(folder, blocks, alignment.n_samples, gamma=alignment.gamma, **parameters)


def has_whole_problem(folder: Path) -> bool:
    """Whether there is a problem, and every file of its blocks; what they hold, ranks check when they read them."""
    try:
        tables = json.loads((folder / PROBLEM_FILE).read_bytes())["blocks"]
        files = [
            folder / block_file(matrix, int(block["start"]), int(block["stop"]), piece)
            for matrix in MATRICES
            for block in tables[matrix]
            for piece in PIECES
        ]
    except (OSError, ValueError, KeyError, TypeError):
        return False
    return all(file.is_file() for file in files)


def has_result(folder: Path) -> bool:
    """Whether the folder has a result, and of the problem that is in it."""
    try:
        facts = json.loads((folder / RESULT_FILE).read_bytes())
        return bool(facts["problem"] == digest((folder / PROBLEM_FILE).read_bytes()))
    except (OSError, ValueError, KeyError, TypeError):
        return False


def read_result(folder: Path) -> Result:
    """Read what the solver found, or raise InputError that names the file at fault."""
    path = folder / RESULT_FILE
    try:
        facts = json.loads(path.read_bytes())
        if not isinstance(facts, dict) or facts.get("format") != RESULT_FORMAT:
            _refuse(path, "is not a file of hne's")
        if facts.get("version") != VERSION:
            _refuse(path, f"has version {facts.get('version')!r} where {VERSION} is read")
        blocks = [(int(b["start"]), int(b["stop"]), int(b["checksum"])) for b in facts["vectors"]]
        basis = np.empty((int(facts["n_samples"]), int(facts["width"])))
        if not has_result(folder):
            _refuse(path, "belongs to another problem than the folder's")
        if not _covers(facts["vectors"], len(basis)):
            _refuse(path, "has vectors for some rows only")
        for start, stop, expected in blocks:
            path = folder / vectors_file(start, stop)
            array = np.load(path, allow_pickle=False)
            if array.dtype != np.float64 or array.shape != basis[start:stop].shape or checksum(array) != expected:
                _refuse(path, "is damaged")
            basis[start:stop] = array
    except InputError:
        raise
    except OSError as error:
        _refuse(path, f"cannot be read: {(error.strerror or 'no array').lower()}", error)
    except (KeyError, TypeError, ValueError, EOFError) as error:
        _refuse(path, "is damaged", error)
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


def _covers(table: Sequence[dict[str, Any]], n_samples: int) -> bool:
    """Whether blocks have each row once."""
    ranges = sorted((int(block["start"]), int(block["stop"])) for block in table)
    edges = [0, *(stop for _, stop in ranges)]
    return bool(ranges) and [start for start, _ in ranges] == edges[:-1] and edges[-1] == n_samples


def _refuse(path: Path, reason: str, error: Exception | None = None) -> NoReturn:
    msg = f"'{path}' {reason}. Remove it, and solve the problem again."
    raise InputError(msg) from error
