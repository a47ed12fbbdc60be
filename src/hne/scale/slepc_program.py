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
SHARE_OF_TOL, SMALLEST_SHARE, MAX_RESTARTS = 1e-2, 1e-12, 200
# Rows that one generator draws the start for: the start is the same for any number of ranks.
DRAWN_ROWS = 65_536
INT32_MAX = 2**31 - 1
# Seconds in which the first rank may speak for all.
PATIENCE = 2.0
# A part at which the program waits to be killed, for tests.
WAIT_AT = "HNE_SLEPC_WAIT_AT"


class RefusedError(Exception):
    """What the user can do something about, in one line."""


def refuse(line: str) -> NoReturn:
    """End with this line."""
    raise RefusedError(line)


def main(words: list[str] | None = None) -> int:
    """Solve the problem in the folder, and return the exit status."""
    parser = argparse.ArgumentParser(prog="slepc_program", description="Bottom eigenvectors of a problem folder.")
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="folder with a problem.json")
    parser.add_argument("--ranks", type=int, help="refuse to run with another number of ranks than this")
    options = parser.parse_args(words)
    rank = size = 0
    try:
        try:
            import slepc4py  # noqa: PLC0415

            # Other words are not PETSc's; the variable PETSC_OPTIONS is.
            slepc4py.init([sys.argv[0]])
            from petsc4py import PETSc  # noqa: PLC0415
            from slepc4py import SLEPc  # noqa: PLC0415
        except ImportError as error:
            remedy = "Run apt install python3-slepc4py openmpi-bin, or pip install slepc4py."
            refuse(f"slepc4py cannot be imported by {sys.executable} ({error}). {remedy}")
        rank, size = PETSc.COMM_WORLD.rank, PETSc.COMM_WORLD.size
        check_build(PETSc, size, options.ranks)
        solve(PETSc, SLEPc, options.folder)
    except Exception as error:  # noqa: BLE001, whatever it is, the other ranks wait for this one
        if rank:
            time.sleep(PATIENCE)  # an error that all ranks have is told by the first
        text = str(error) if isinstance(error, RefusedError) else f"rank {rank}: {described(error)}"
        print(f"hne slepc: error: {text}", file=sys.stderr, flush=True)
        if size > 1:
            os._exit(1)  # at once, which makes the launcher end the other ranks
        return 1
    return 0


def check_build(PETSc: Any, size: int, expected: int | None) -> None:
    """Refuse a PETSc that cannot do this."""
    if expected is not None and size != expected:
        reason = "it was built with another MPI than the launcher's"
        remedy = "Set HNE_MPIEXEC to the mpiexec that belongs to it."
        refuse(f"{expected} ranks were started, but PETSc sees {size}: {reason}. {remedy}")
    if np.dtype(PETSc.ScalarType).kind == "c":
        refuse("PETSc has complex numbers, real ones are needed. Install a real build, such as python3-slepc4py-real.")
    if not PETSc.Sys.hasExternalPackage("mumps"):
        refuse("PETSc was built without MUMPS, which factors G. Install a build that has it (Debian's has).")


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
        """End the part before, and begin this one; none where it has no name."""
        now = time.perf_counter()
        if self._name:
            self.seconds[self._name] = self.seconds.get(self._name, 0.0) + now - self._began
        self._name, self._began = name, now
        if name and self._comm.rank == 0:
            print(f"hne slepc: {name}{': ' if facts else ''}{facts}", flush=True)
        if os.environ.get(WAIT_AT) == name:
            time.sleep(600)


def solve(PETSc: Any, SLEPc: Any, folder: Path) -> None:
    """Read, factor, iterate, correct, write."""
    comm = PETSc.COMM_WORLD
    parts = Parts(comm)
    parts.begin("read", f"{folder}, {comm.size} ranks")
    problem = read_problem(folder, PETSc)
    n, count = problem["n_samples"], problem["count"]
    width = min(count + problem["spare"], n - 1)
    C = stacked_matrix(PETSc, folder, problem)
    parts.begin("assemble", f"n = {n}")
    G = C.transposeMatMult(C)
    for option in (PETSc.Mat.Option.SYMMETRIC, PETSc.Mat.Option.SYMMETRY_ETERNAL, PETSc.Mat.Option.SPD):
        G.setOption(option, True)
    diagonal = G.getDiagonal()
    scale = float(diagonal.max()[1])
    diagonal.destroy()
    if not (math.isfinite(scale) and scale > 0):
        refuse("G is not finite, or zero. Check the data, or take a larger reg.")
    parts.begin("factor", f"{G.getInfo(PETSc.Mat.InfoType.GLOBAL_SUM)['nz_used'] / n:.0f} entries a row of G")
    ksp, shift = factorized(PETSc, G, scale, problem["shifts"], parts)
    parts.begin("iterate", f"{width} pairs")
    eps, basis = krylov_schur(SLEPc, G, ksp, width, problem)
    parts.begin("correct")
    # The iteration takes its solver with it when it goes: it stays until the correction is made.
    values, vectors, residuals = corrected(PETSc, C, ksp, basis, width)
    eps.destroy()
    parts.begin("write")
    next_value = float(values[count]) if len(values) > count else None
    facts = {"eigenvalues": values.tolist(), "residuals": residuals.tolist(), "next_value": next_value}
    versions = {"python": platform.python_version(), "numpy": np.__version__}
    versions |= {name: ".".join(map(str, one.Sys.getVersion())) for name, one in (("petsc", PETSc), ("slepc", SLEPc))}
    facts |= {"scale": scale, "shift": shift, "n_ranks": comm.size, "versions": versions}
    write_result(PETSc, folder, problem, vectors, facts, parts)


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
        problem: dict[str, Any] = json.loads(text)
        kind, version, n = problem["format"], problem["version"], problem["n_samples"]
    except OSError as error:
        refuse(f"cannot read '{path}': {(error.strerror or str(error)).lower()}. Name a folder that hne wrote.")
    except (ValueError, KeyError, TypeError):
        kind, version, n = None, VERSION, 0
    if kind != PROBLEM_FORMAT:
        refuse(f"'{path}' is damaged, or not a problem that hne wrote. Write it anew.")
    if version != VERSION:
        refuse(f"the problem has version {version}, this program reads {VERSION}. Use one hne for both.")
    if PETSc.IntType == np.int32 and n > INT32_MAX // 2:
        refuse(f"{n} samples are too many for 32-bit indices. Use a PETSc with 64-bit indices.")
    if not os.access(folder, os.W_OK):
        refuse(f"cannot write to '{folder}'. Give its owner, or whoever runs this, leave to write there.")
    return problem | {"digest": hashlib.blake2b(text, digest_size=16).hexdigest()}


def stacked_matrix(PETSc: Any, folder: Path, problem: dict[str, Any]) -> Any:
    """C = [sqrt(gamma) A; B]: each rank has the rows of A and of B of its samples, one below the other."""
    n, comm = problem["n_samples"], PETSc.COMM_WORLD
    start, stop = rows_of_rank(n, comm.rank, comm.size)
    A, B = (read_rows(folder, problem, matrix, start, stop) for matrix in "AB")
    entries = int(A[0][-1] + B[0][-1])
    if PETSc.IntType == np.int32 and entries > INT32_MAX:
        refuse(f"{entries} entries on a rank are too many for 32-bit indices. Start more ranks.")
    indptr = np.concatenate([A[0], A[0][-1] + B[0][1:]]).astype(PETSc.IntType)
    indices = np.concatenate([A[1], B[1]]).astype(PETSc.IntType)
    data = np.concatenate([math.sqrt(problem["gamma"]) * A[2], B[2]])
    sizes = ((2 * (stop - start), 2 * n), (stop - start, n))
    C = PETSc.Mat().createAIJ(sizes, csr=(indptr, indices, data), comm=comm)
    C.assemble()
    return C


def rows_of_rank(n: int, rank: int, size: int) -> tuple[int, int]:
    """First row of a rank and the one behind its last."""
    return n * rank // size, n * (rank + 1) // size


def read_rows(folder: Path, problem: dict[str, Any], matrix: str, start: int, stop: int) -> tuple[Any, Any, Any]:
    """Rows of A or B as indptr, indices and data, from the blocks that have some of them."""
    lengths, indices, data = [np.zeros(1, dtype=np.int64)], [np.zeros(0, dtype=np.int32)], [np.zeros(0)]
    for block in problem["blocks"][matrix]:
        first, last = max(start, block["start"]), min(stop, block["stop"])
        if first < last:
            ends, columns, entries = (_read_array(folder, matrix, block, number) for number in range(3))
            ends = ends[first - block["start"] : last - block["start"] + 1]
            lengths.append(np.diff(ends))
            # Copies: the rest of a block need not stay.
            indices.append(columns[ends[0] : ends[-1]].copy())
            data.append(entries[ends[0] : ends[-1]].copy())
    indptr = np.cumsum(np.concatenate(lengths))
    if len(indptr) != stop - start + 1:
        refuse(f"'{folder / PROBLEM_FILE}' is damaged: rows of {matrix} are missing. Write it anew.")
    return indptr, np.concatenate(indices), np.concatenate(data)


def _read_array(folder: Path, matrix: str, block: dict[str, Any], number: int) -> Any:
    """One of the three arrays of a block, as problem.json says it was written."""
    name = ("indptr", "indices", "data")[number]
    path = folder / f"{matrix}-{block['start']:012d}-{block['stop']:012d}.{name}.npy"
    remedy = "Remove the folder, and run what wrote it again."
    try:
        array = np.load(path, allow_pickle=False)
    except OSError as error:
        refuse(f"cannot read '{path}': {(error.strerror or 'no array').lower()}. {remedy}")
    except (ValueError, EOFError):
        array = None
    if array is None or zlib.crc32(array.data) != block["checksums"][number]:
        refuse(f"'{path}' is damaged, or not of this problem. {remedy}")
    return array


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
            refuse(f"MUMPS ended the factorization with error {status}. {remedy}")
        parts.begin("factor", f"a shift of {shift:g} of the scale of G is too small")
    refuse(f"G is not positive definite even with a shift of {shifts[-1]:g} of its scale. Take a larger reg.")


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


def krylov_schur(SLEPc: Any, G: Any, ksp: Any, width: int, problem: dict[str, Any]) -> tuple[Any, Any]:
    """The iteration with the inverse of G, the constant vector deflated, and this rank's rows of what it found."""
    constant = G.createVecRight()
    constant.set(1.0)
    eps = SLEPc.EPS().create(G.getComm())
    eps.setOperators(G)
    eps.setProblemType(SLEPc.EPS.ProblemType.HEP)
    eps.setType(SLEPc.EPS.Type.KRYLOVSCHUR)
    eps.setWhichEigenpairs(SLEPc.EPS.Which.TARGET_MAGNITUDE)
    eps.setTarget(0.0)
    st = eps.getST()
    st.setType(SLEPc.ST.Type.SINVERT)
    st.setKSP(ksp)
    eps.setDeflationSpace([constant])
    eps.setDimensions(width, min(problem["n_samples"], max(2 * width, width + 15)))
    eps.setTolerances(max(SHARE_OF_TOL * problem["tol"], SMALLEST_SHARE), MAX_RESTARTS)
    start = constant.duplicate()
    low, high = start.getOwnershipRange()
    start.setArray(drawn(problem["seed"], low, high))
    eps.setInitialSpace([start])
    eps.solve()
    count, restarts = eps.getConverged(), eps.getIterationNumber()
    if count < min(problem["count"] + 1, width):
        refuse(f"Krylov-Schur found {count} of {width} pairs in {restarts} restarts. Take a larger reg.")
    basis = np.empty((high - low, min(count, width)))
    for column in range(basis.shape[1]):
        eps.getEigenvector(column, start)
        basis[:, column] = start.getArray()
    return eps, basis


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
    comm, vectors = PETSc.COMM_WORLD, np.ascontiguousarray(vectors)
    start, stop = rows_of_rank(problem["n_samples"], comm.rank, comm.size)
    if start < stop:
        _write_whole(folder / f"vectors-{start:012d}-{stop:012d}.npy", lambda file: np.save(file, vectors))
    peak = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    # Nobody comes past this before all have written.
    records = _from_all(PETSc, [start, stop, zlib.crc32(vectors.data), peak]).astype(int).tolist()
    parts.begin("")
    written = [{"start": low, "stop": high, "checksum": crc} for low, high, crc, _ in records if low < high]
    peaks = [record[3] for record in records]
    result = {"format": RESULT_FORMAT, "version": VERSION, "problem": problem["digest"]}
    result |= {"n_samples": problem["n_samples"], "count": problem["count"], "width": vectors.shape[1]}
    result |= {"vectors": written, **facts, "seconds": parts.seconds, "peak_bytes": peaks}
    if comm.rank == 0:
        _write_whole(folder / RESULT_FILE, lambda file: file.write(json.dumps(result, indent=1).encode() + b"\n"))
        print(f"hne slepc: done: {sum(parts.seconds.values()):.1f} s, {max(peaks) / 1e9:.2f} GB a rank")


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
        # NumPy's error on a full disk has the numbers of bytes and not the reason.
        reason = (error.strerror or "no space left on device").lower()
        refuse(f"cannot write '{path}': {reason}. Make room, or choose another place.")


if __name__ == "__main__":
    sys.exit(main())
