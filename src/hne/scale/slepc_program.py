"""The eigenproblem on MPI: a folder with A and B in row blocks -> the bottom eigenvectors of G, by PETSc and SLEPc.

    mpiexec -n 4 python -m hne.scale.slepc_program FOLDER         (or srun, or this file as a script)

G = C'C with C = [sqrt(gamma) A; B], whose rows each rank holds for its samples; MUMPS factors G + shift on all ranks,
Krylov-Schur iterates with its inverse, the constant vector deflated. What they find is right to the rounding of G, and
the wanted eigenvalues are 1e-14 of its scale at n = 100 000: so residuals are taken through C, which has lost nothing,
one more solve turns them into corrections, and Rayleigh-Ritz on the lengths |C y| picks the best of both.

Measured and put aside on a roll of 20 000 samples, one solve in place of 2 s of factorization: conjugate gradients with
BoomerAMG (1 300 steps, 77 s, and a residual of 3e-4 after all), with GAMG (2 000 steps, diverged), with incomplete
Cholesky (breaks down).

The program lives in whatever Python has slepc4py: it imports nothing of this package, and of others NumPy, petsc4py
and slepc4py alone. `hne.core.eigen.exchange` writes what it reads, and reads what it writes.
"""

import argparse
import hashlib
import json
import math
import os
import platform
import resource
import sys
import time
import zlib
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

# The same words and numbers as in `hne.core.eigen.exchange`; a test compares.
PROBLEM_FORMAT, RESULT_FORMAT, VERSION = "hne eigenproblem", "hne eigenpairs", 1
PROBLEM_FILE, RESULT_FILE = "problem.json", "result.json"
# Percent that MUMPS takes beyond its estimate of memory; more where that did not do.
WORKSPACES = (30, 100, 300)
# What MUMPS says (INFOG(1)) where its workspace was too small, and where a root pivot was not positive.
TOO_SMALL, NOT_POSITIVE = (-8, -9, -14, -15, -17, -19, -20), (-10, -40)
# Of the wanted angle and at least, the share of an eigenvalue of the inverse at which Krylov-Schur calls a pair found.
SHARE_OF_TOL, SMALLEST_SHARE = 1e-2, 1e-12
MAX_RESTARTS = 200
# Rows that one generator draws the start for: the start is the same for any number of ranks.
DRAWN_ROWS = 65_536
INT32_MAX = 2**31 - 1
# Bytes of a line that ranks tell each other, and seconds in which the first rank may speak for all.
LINE_BYTES, PATIENCE = 1_000, 2.0
# A part at which the program waits to be killed, for tests.
WAIT_AT = "HNE_SLEPC_WAIT_AT"


class RefusedError(Exception):
    """What the user can do something about, in one line."""


def main(words: list[str] | None = None) -> int:
    """Solve the problem in the folder, and return the exit status."""
    parser = argparse.ArgumentParser(prog="slepc_program", description="Bottom eigenvectors of a problem folder.")
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="folder with a problem.json")
    parser.add_argument("--ranks", type=int, help="refuse to run with another number of ranks than this")
    options = parser.parse_args(words)
    try:
        PETSc, SLEPc = _libraries()
    except RefusedError as error:
        print(f"hne slepc: error: {error}", file=sys.stderr, flush=True)
        return 1
    comm = PETSc.COMM_WORLD
    try:
        _check_build(PETSc, comm.size, options.ranks)
        solved(PETSc, SLEPc, options.folder)
    except RefusedError as error:
        # All ranks were told the same.
        if comm.rank == 0:
            print(f"hne slepc: error: {error}", file=sys.stderr, flush=True)
        return 1
    except Exception as error:  # noqa: BLE001, whatever it is, the other ranks wait for this one
        _give_up(comm.rank, error)
    return 0


def _libraries() -> tuple[Any, Any]:
    """PETSc and SLEPc, initialized."""
    try:
        import slepc4py  # noqa: PLC0415

        # Other words are not PETSc's; the variable PETSC_OPTIONS is.
        slepc4py.init([sys.argv[0]])
        from petsc4py import PETSc  # noqa: PLC0415
        from slepc4py import SLEPc  # noqa: PLC0415
    except ImportError as error:
        msg = (
            f"slepc4py cannot be imported by {sys.executable} ({error}). Run apt install python3-slepc4py openmpi-bin, "
            "or pip install slepc4py."
        )
        raise RefusedError(msg) from error
    return PETSc, SLEPc


def _check_build(PETSc: Any, size: int, expected: int | None) -> None:
    if expected is not None and size != expected:
        msg = (
            f"{expected} ranks were started, but PETSc sees {size}: it was built with another MPI than the launcher's. "
            "Set HNE_MPIEXEC to the mpiexec that belongs to it."
        )
        raise RefusedError(msg)
    if np.dtype(PETSc.ScalarType).kind == "c":
        msg = "PETSc has complex numbers, real ones are needed. Install a real build, such as python3-slepc4py-real."
        raise RefusedError(msg)
    if not PETSc.Sys.hasExternalPackage("mumps"):
        msg = "PETSc was built without MUMPS, which factors G. Install a build that has it (Debian's has)."
        raise RefusedError(msg)


def _give_up(rank: int, error: Exception) -> NoReturn:
    """Say what went wrong and end at once, which makes the launcher end the other ranks."""
    if rank:
        # An error that all ranks have is told by the first.
        time.sleep(PATIENCE)
    print(f"hne slepc: error: rank {rank}: {described(error)}", file=sys.stderr, flush=True)
    os._exit(1)


def described(error: Exception) -> str:
    """An error of PETSc or Python in one line, and what to do about it."""
    # PETSc's begin with a number and end with the reason, with all functions that were on the way in between.
    first, *_, last = (str(error) or "out of memory").strip().split("\n") * 2
    text = first if first == last else f"{first}: {last}"
    return f"{type(error).__name__}: {text}. Start more ranks if memory ran out, or try eigen_solver='auto'."


class Parts:
    """Seconds of each part, told by the first rank as the parts go by."""

    def __init__(self, comm: Any) -> None:
        self.seconds: dict[str, float] = {}
        self._comm, self._name, self._began = comm, "", 0.0

    def begin(self, name: str, facts: str = "") -> None:
        """End the part before, and begin this one."""
        self.end()
        self._name, self._began = name, time.perf_counter()
        if self._comm.rank == 0:
            print(f"hne slepc: {name}{': ' if facts else ''}{facts}", flush=True)
        if os.environ.get(WAIT_AT) == name:
            time.sleep(600)

    def end(self) -> None:
        """Note the time of the part."""
        if self._name:
            self.seconds[self._name] = self.seconds.get(self._name, 0.0) + time.perf_counter() - self._began
        self._name = ""


def solved(PETSc: Any, SLEPc: Any, folder: Path) -> None:
    """Read, factor, iterate, correct, write."""
    comm = PETSc.COMM_WORLD
    parts = Parts(comm)
    parts.begin("read", f"{folder}, {comm.size} ranks")
    problem = _agreed(PETSc, lambda: read_problem(folder, PETSc))
    n, count = problem["n_samples"], problem["count"]
    width = min(count + problem["spare"], n - 1)
    C = stacked_matrix(PETSc, folder, problem)
    parts.begin("assemble", f"n = {n}")
    G, scale = alignment_matrix(PETSc, C)
    parts.begin("factor", f"{_entries(PETSc, G) / n:.0f} entries a row of G")
    ksp, shift = factorized(PETSc, G, scale, problem["shifts"], parts)
    parts.begin("iterate", f"{width} pairs")
    eps = krylov_schur(SLEPc, G, ksp, width, problem)
    parts.begin("correct")
    # The iteration takes its solver with it when it goes: it stays until the correction is made.
    values, vectors, residuals = corrected(PETSc, C, ksp, found_vectors(eps, width, count), width)
    eps.destroy()
    parts.begin("write")
    facts = {
        "eigenvalues": values.tolist(),
        "residuals": residuals.tolist(),
        "next_value": float(values[count]) if len(values) > count else None,
        "scale": scale,
        "shift": shift,
        "n_ranks": comm.size,
    }
    write_result(PETSc, folder, problem, vectors, facts, parts)


def _agreed(PETSc: Any, task: Any) -> Any:
    """Result of a task that every rank does for itself; where one is refused, all are, with the same words."""
    result, line = None, ""
    try:
        result = task()
    except RefusedError as error:
        line = str(error)
    except OSError as error:
        line = f"cannot use '{error.filename}': {(error.strerror or str(error)).lower()}. Check space and permissions."
    letters = np.zeros(LINE_BYTES)
    said = np.frombuffer(line.encode()[:LINE_BYTES], dtype=np.uint8)
    letters[: len(said)] = said
    for heard in _from_all(PETSc, letters):
        if heard.any():
            raise RefusedError(heard.astype(np.uint8).tobytes().rstrip(b"\0").decode(errors="replace"))
    return result


def _from_all(PETSc: Any, values: Any) -> Any:
    """What every rank has, a row each, on every rank. PETSc's vectors do it: mpi4py may not be there."""
    comm = PETSc.COMM_WORLD
    mine = PETSc.Vec().createMPI((len(values), len(values) * comm.size), comm=comm)
    mine.setArray(np.asarray(values, dtype=np.float64))
    scatter, everyone = PETSc.Scatter.toAll(mine)
    scatter.scatter(mine, everyone, False, PETSc.Scatter.Mode.FORWARD)
    rows = np.array(everyone.getArray()).reshape(comm.size, len(values))
    for one in (scatter, everyone, mine):
        one.destroy()
    return rows


def _summed(PETSc: Any, small: Any) -> Any:
    """Sum over the ranks of a small array, in the same order everywhere."""
    return _from_all(PETSc, small.ravel()).sum(axis=0).reshape(small.shape)


def read_problem(folder: Path, PETSc: Any) -> dict[str, Any]:
    """What problem.json says, checked; "digest" is a checksum of the file."""
    path = folder / PROBLEM_FILE
    try:
        text = path.read_bytes()
        problem = _parsed(json.loads(text))
    except OSError as error:
        msg = f"cannot read '{path}': {(error.strerror or str(error)).lower()}. Name a folder that hne wrote."
        raise RefusedError(msg) from error
    except (ValueError, KeyError, TypeError) as error:
        msg = f"'{path}' is damaged, or not a problem that hne wrote. Write it anew."
        raise RefusedError(msg) from error
    if PETSc.IntType == np.int32 and problem["n_samples"] > INT32_MAX // 2:
        msg = f"{problem['n_samples']} samples are too many for 32-bit indices. Use a PETSc with 64-bit indices."
        raise RefusedError(msg)
    if not os.access(folder, os.W_OK):
        msg = f"cannot write to '{folder}'. Give its owner, or whoever runs this, leave to write there."
        raise RefusedError(msg)
    problem["digest"] = hashlib.blake2b(text, digest_size=16).hexdigest()
    return problem


def _parsed(problem: dict[str, Any]) -> dict[str, Any]:
    """The problem, whose numbers are such; ValueError, KeyError or TypeError where it is none."""
    if problem["format"] != PROBLEM_FORMAT:
        raise ValueError
    if problem["version"] != VERSION:
        msg = f"the problem has version {problem['version']}, this program reads {VERSION}. Use one hne for both."
        raise RefusedError(msg)
    whole = {name: int(problem[name]) for name in ("n_samples", "count", "spare", "seed")}
    real = {name: float(problem[name]) for name in ("gamma", "tol")}
    shifts = tuple(float(shift) for shift in problem["shifts"])
    _check_blocks(problem["blocks"], whole["n_samples"])
    return problem | whole | real | {"shifts": shifts}


def _check_blocks(blocks: dict[str, Any], n: int) -> None:
    """Raise ValueError unless the blocks of both matrices follow each other from the first row to the last."""
    for table in (blocks["A"], blocks["B"]):
        ends = [0, *(int(block["stop"]) for block in table)]
        if ends[:-1] != [int(block["start"]) for block in table] or ends[-1] != n or ends != sorted(ends):
            raise ValueError
        if any(int(block["entries"]) < 0 or len(block["checksums"]) != 3 for block in table):
            raise ValueError


def stacked_matrix(PETSc: Any, folder: Path, problem: dict[str, Any]) -> Any:
    """C = [sqrt(gamma) A; B]: each rank has the rows of A and of B of its samples, one below the other."""
    n, comm = problem["n_samples"], PETSc.COMM_WORLD
    start, stop = own_rows(n, comm.rank, comm.size)
    own = stop - start

    def read() -> tuple[Any, Any, Any]:
        A = read_rows(folder, problem, "A", start, stop)
        B = read_rows(folder, problem, "B", start, stop)
        entries = int(A[0][-1] + B[0][-1])
        if PETSc.IntType == np.int32 and entries > INT32_MAX:
            msg = f"{entries} entries on a rank are too many for 32-bit indices. Start more ranks."
            raise RefusedError(msg)
        indptr = np.concatenate([A[0], A[0][-1] + B[0][1:]]).astype(PETSc.IntType)
        indices = np.concatenate([A[1], B[1]]).astype(PETSc.IntType)
        return indptr, indices, np.concatenate([math.sqrt(problem["gamma"]) * A[2], B[2]])

    C = PETSc.Mat().createAIJ(((2 * own, 2 * n), (own, n)), csr=_agreed(PETSc, read), comm=comm)
    C.assemble()
    return C


def own_rows(n: int, rank: int, size: int) -> tuple[int, int]:
    """First row of a rank and the one behind its last."""
    return n * rank // size, n * (rank + 1) // size


def read_rows(folder: Path, problem: dict[str, Any], matrix: str, start: int, stop: int) -> tuple[Any, Any, Any]:
    """Rows of A or B as indptr, indices and data, from the blocks that have some of them."""
    lengths, indices, data = [np.zeros(1, dtype=np.int64)], [], []
    for block in problem["blocks"][matrix]:
        first, last = max(start, block["start"]), min(stop, block["stop"])
        if first < last:
            ends, columns, entries = _read_block(folder, matrix, block, problem["n_samples"])
            ends = ends[first - block["start"] : last - block["start"] + 1]
            lengths.append(np.diff(ends))
            # Copies: the rest of a block need not stay.
            indices.append(columns[ends[0] : ends[-1]].copy())
            data.append(entries[ends[0] : ends[-1]].copy())
    nothing = np.zeros(0, dtype=np.int32)
    return np.cumsum(np.concatenate(lengths)), np.concatenate([nothing, *indices]), np.concatenate([nothing, *data])


def _read_block(folder: Path, matrix: str, block: dict[str, Any], n: int) -> list[Any]:
    """The three arrays of a block, each as problem.json says it was written."""
    rows, count = block["stop"] - block["start"], block["entries"]
    arrays = []
    for name, length, checksum in zip(
        ("indptr", "indices", "data"), (rows + 1, count, count), block["checksums"], strict=True
    ):
        path = folder / f"{matrix}-{block['start']:012d}-{block['stop']:012d}.{name}.npy"
        try:
            array = np.load(path, allow_pickle=False)
        except OSError as error:
            reason = (error.strerror or "no array").lower()
            msg = f"cannot read '{path}': {reason}. Remove the folder, and run what wrote it again."
            raise RefusedError(msg) from error
        except (ValueError, EOFError) as error:
            raise _damaged(path) from error
        if array.shape != (length,) or _checksum(array) != checksum:
            raise _damaged(path)
        arrays.append(array)
    if count and not (arrays[1].min() >= 0 and arrays[1].max() < n):
        raise _damaged(path)
    return arrays


def _checksum(array: Any) -> int:
    return zlib.crc32(np.ascontiguousarray(array).data)


def _damaged(path: Path) -> RefusedError:
    return RefusedError(f"'{path}' is damaged, or not of this problem. Remove the folder, and run what wrote it again.")


def alignment_matrix(PETSc: Any, C: Any) -> tuple[Any, float]:
    """G = C'C, and its scale, the largest entry of its diagonal."""
    G = C.transposeMatMult(C)
    for option in (PETSc.Mat.Option.SYMMETRIC, PETSc.Mat.Option.SYMMETRY_ETERNAL, PETSc.Mat.Option.SPD):
        G.setOption(option, True)
    diagonal = G.getDiagonal()
    scale = float(diagonal.max()[1])
    diagonal.destroy()
    if not (math.isfinite(scale) and scale > 0):
        msg = "G is not finite, or zero. Check the data, or take a larger reg."
        raise RefusedError(msg)
    return G, scale


def _entries(PETSc: Any, G: Any) -> float:
    return float(G.getInfo(PETSc.Mat.InfoType.GLOBAL_SUM)["nz_used"])


def factorized(PETSc: Any, G: Any, scale: float, shifts: tuple[float, ...], parts: Parts) -> tuple[Any, float]:
    """Solver with G + shift, for the smallest shift with which the factorization succeeds; G is shifted with it."""
    before, workspaces = 0.0, list(WORKSPACES)
    for shift in shifts:
        G.shift((shift - before) * scale)
        before = shift
        while True:
            ksp, status, negative = _cholesky(PETSc, G, workspaces[0])
            if status not in TOO_SMALL or len(workspaces) == 1:
                break
            ksp.destroy()
            parts.begin("factor", f"{workspaces.pop(0)} % of reserve were too few")
        if status == 0 and negative == 0:
            return ksp, shift
        ksp.destroy()
        if status not in (0, *NOT_POSITIVE):
            remedy = "Start more ranks, or on more machines." if status in {-13, *TOO_SMALL} else "Take a larger reg."
            msg = f"MUMPS ended the factorization with error {status}. {remedy}"
            raise RefusedError(msg)
        parts.begin("factor", f"a shift of {shift:g} of the scale of G is too small")
    msg = f"G is not positive definite even with a shift of {shifts[-1]:g} of its scale. Take a larger reg."
    raise RefusedError(msg)


def _cholesky(PETSc: Any, G: Any, workspace: int) -> tuple[Any, int, int]:
    """A solver by MUMPS, what MUMPS said, and how many pivots were not positive."""
    ksp = PETSc.KSP().create(G.getComm())
    ksp.setOperators(G)
    ksp.setType(PETSc.KSP.Type.PREONLY)
    pc = ksp.getPC()
    pc.setType(PETSc.PC.Type.CHOLESKY)
    pc.setFactorSolverType("mumps")
    pc.setFactorSetUpSolverType()
    factor = pc.getFactorMatrix()
    factor.setMumpsIcntl(14, workspace)
    ksp.setUp()
    return ksp, int(factor.getMumpsInfog(1)), int(factor.getMumpsInfog(12))


def krylov_schur(SLEPc: Any, G: Any, ksp: Any, width: int, problem: dict[str, Any]) -> Any:
    """The iteration with the inverse of G, the constant vector deflated, at its end."""
    comm, n = G.getComm(), problem["n_samples"]
    constant = G.createVecRight()
    constant.set(1.0)
    eps = SLEPc.EPS().create(comm)
    eps.setOperators(G)
    eps.setProblemType(SLEPc.EPS.ProblemType.HEP)
    eps.setType(SLEPc.EPS.Type.KRYLOVSCHUR)
    eps.setWhichEigenpairs(SLEPc.EPS.Which.TARGET_MAGNITUDE)
    eps.setTarget(0.0)
    st = eps.getST()
    st.setType(SLEPc.ST.Type.SINVERT)
    st.setKSP(ksp)
    eps.setDeflationSpace([constant])
    eps.setDimensions(width, min(n, max(2 * width, width + 15)))
    eps.setTolerances(max(SHARE_OF_TOL * problem["tol"], SMALLEST_SHARE), MAX_RESTARTS)
    start = constant.duplicate()
    low, high = start.getOwnershipRange()
    start.setArray(drawn(problem["seed"], low, high))
    eps.setInitialSpace([start])
    eps.solve()
    return eps


def found_vectors(eps: Any, width: int, count: int) -> Any:
    """Rows of this rank of the bottom eigenvectors of G, ascending, the constant one left out."""
    found = eps.getConverged()
    if found < min(count + 1, width):
        msg = f"Krylov-Schur found {found} of {width} pairs in {eps.getIterationNumber()} restarts. Take a larger reg."
        raise RefusedError(msg)
    vector = eps.getOperators()[0].createVecRight()
    basis = np.empty((vector.getLocalSize(), min(found, width)))
    for column in range(basis.shape[1]):
        eps.getEigenvector(column, vector)
        basis[:, column] = vector.getArray()
    return basis


def drawn(seed: int, start: int, stop: int) -> Any:
    """Rows of the start vector, the same for any number of ranks."""
    blocks = range(start // DRAWN_ROWS, -(-stop // DRAWN_ROWS))
    values = [np.random.default_rng((seed, block)).uniform(-1.0, 1.0, DRAWN_ROWS) for block in blocks]
    first = start // DRAWN_ROWS * DRAWN_ROWS
    return np.concatenate([np.zeros(0), *values])[start - first : stop - first]


def corrected(PETSc: Any, C: Any, ksp: Any, basis: Any, width: int) -> tuple[Any, Any, Any]:
    """Eigenvalues, this rank's rows of the vectors, and residuals, after one correction by the factorization."""
    values, vectors = rayleigh_ritz(PETSc, C, basis)
    residuals = _product(C, vectors) - vectors * values
    more = _by_column(residuals, C.createVecRight(), C.createVecRight(), ksp.solve)
    _, vectors = rayleigh_ritz(PETSc, C, np.hstack([vectors, more]))
    # Once more among those that are kept: the others' lengths, ten thousand times as long, blur the digits of these.
    values, vectors = rayleigh_ritz(PETSc, C, vectors[:, :width])
    rest = _product(C, vectors) - vectors * values
    return values, vectors, np.sqrt(_summed(PETSc, (rest**2).sum(axis=0)))


def rayleigh_ritz(PETSc: Any, C: Any, basis: Any) -> tuple[Any, Any]:
    """Best eigenpairs within the span of the basis, made orthonormal and orthogonal to the constant."""
    n = C.getSize()[1]
    for _ in range(3):
        basis = basis - _summed(PETSc, basis.sum(axis=0)) / n
        # Columns of unit length first: corrections are small.
        basis = basis / np.sqrt(_summed(PETSc, (basis**2).sum(axis=0)))
        lengths, rotation = np.linalg.eigh(_summed(PETSc, basis.T @ basis))
        kept = lengths > 1e-14 * lengths[-1]
        basis = basis @ (rotation[:, kept] / np.sqrt(lengths[kept]))
    image = _by_column(basis, C.createVecRight(), C.createVecLeft(), C.mult)
    values, rotation = np.linalg.eigh(_summed(PETSc, image.T @ image))
    return np.maximum(values, 0.0), basis @ rotation


def _product(C: Any, vectors: Any) -> Any:
    """G @ vectors through C, which keeps digits that G has lost."""
    image = _by_column(vectors, C.createVecRight(), C.createVecLeft(), C.mult)
    return _by_column(image, C.createVecLeft(), C.createVecRight(), C.multTranspose)


def _by_column(block: Any, source: Any, target: Any, apply: Any) -> Any:
    """What an operator of PETSc makes of each column."""
    result = np.empty((target.getLocalSize(), block.shape[1]))
    for column in range(block.shape[1]):
        source.setArray(np.ascontiguousarray(block[:, column]))
        apply(source, target)
        result[:, column] = target.getArray()
    source.destroy()
    target.destroy()
    return result


def write_result(
    PETSc: Any, folder: Path, problem: dict[str, Any], vectors: Any, facts: dict[str, Any], parts: Parts
) -> None:
    """Write this rank's rows; when all have, the first rank writes result.json."""
    comm = PETSc.COMM_WORLD
    start, stop = own_rows(problem["n_samples"], comm.rank, comm.size)
    vectors = np.ascontiguousarray(vectors)

    def write_vectors() -> None:
        if start < stop:
            _write_whole(folder / f"vectors-{start:012d}-{stop:012d}.npy", lambda file: _save(file, vectors))

    _agreed(PETSc, write_vectors)
    peak = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    records = _from_all(PETSc, np.array([start, stop, _checksum(vectors), peak], dtype=np.float64))
    parts.end()
    facts = {
        "format": RESULT_FORMAT,
        "version": VERSION,
        "problem": problem["digest"],
        "n_samples": problem["n_samples"],
        "count": problem["count"],
        "width": vectors.shape[1],
        "vectors": [
            {"start": int(low), "stop": int(high), "checksum": int(crc)} for low, high, crc, _ in records if low < high
        ],
        **facts,
        "seconds": parts.seconds,
        "peak_bytes": [int(record[3]) for record in records],
        "versions": _versions(PETSc),
    }

    def write_facts() -> None:
        if comm.rank == 0:
            text = json.dumps(facts, indent=1) + "\n"
            _write_whole(folder / RESULT_FILE, lambda file: file.write(text.encode()))

    _agreed(PETSc, write_facts)
    if comm.rank == 0:
        print(f"hne slepc: done: {sum(parts.seconds.values()):.1f} s, {max(facts['peak_bytes']) / 1e9:.2f} GB a rank")


def _save(file: Any, array: Any) -> None:
    """What np.save does, but for its error on a full disk, which has the numbers of bytes and not the reason."""
    np.lib.format.write_array_header_1_0(file, np.lib.format.header_data_from_array_1_0(array))
    file.write(array.data)


def _write_whole(path: Path, write: Any) -> None:
    """Write a file under a temporary name, which it loses when it is whole."""
    # Ranks on two machines may have the same number, but no two write the same file.
    temporary = path.with_name(f".hne-{path.stem}-{os.getpid()}.part{path.suffix}")
    try:
        with temporary.open("wb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        msg = f"cannot write '{path}': {(error.strerror or str(error)).lower()}. Make room, or choose another place."
        raise RefusedError(msg) from error


def _versions(PETSc: Any) -> dict[str, str]:
    from slepc4py import SLEPc  # noqa: PLC0415

    return {
        "python": platform.python_version(),
        "numpy": np.__version__,
        "petsc": ".".join(map(str, PETSc.Sys.getVersion())),
        "slepc": ".".join(map(str, SLEPc.Sys.getVersion())),
    }


if __name__ == "__main__":
    sys.exit(main())
