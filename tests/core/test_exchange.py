"""The exchange folder: blocks written apart make one problem; what is damaged, missing or foreign is named."""

import ast
import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array

from hne.core.eigen import exchange as _exchange
from hne.core.eigen.exchange import (
    PROBLEM_FILE,
    block_file,
    checksum,
    digest,
    has_result,
    read_result,
    vectors_file,
    write_alignment,
    write_problem,
    write_rows,
)
from hne.exceptions import InputError
from hne.scale import slepc_program as slepc
from tests.core.test_alignment import aligned

PROGRAM = Path(slepc.__file__)


@pytest.fixture
def problem(roll, tmp_path):
    write_alignment(tmp_path, aligned(roll.X, 6), block_rows=150, count=2)
    return tmp_path


def solve(folder, width=3, cuts=(0, 130, 400)):
    """Write what a solver would."""
    basis = np.random.default_rng(0).normal(size=(cuts[-1], width))
    vectors = []
    for start, stop in pairwise(cuts):
        np.save(folder / vectors_file(start, stop), basis[start:stop])
        vectors.append({"start": start, "stop": stop, "checksum": checksum(basis[start:stop])})
    facts = {
        "format": _exchange.RESULT_FORMAT,
        "version": _exchange.VERSION,
        "problem": digest((folder / "problem.json").read_bytes()),
        "n_samples": cuts[-1],
        "width": width,
        "vectors": vectors,
    }
    (folder / "result.json").write_text(json.dumps(facts))
    return basis, facts


def test_blocks_of_rows_are_the_matrix(roll, problem):
    record, described = aligned(roll.X, 6), json.loads((problem / "problem.json").read_text())
    assert (described["n_samples"], described["count"], described["gamma"]) == (400, 2, 1.0)
    for matrix, whole in (("A", record.A), ("B", record.B)):
        rows = []
        for block in described["blocks"][matrix]:
            arrays = [
                np.load(problem / block_file(matrix, block["start"], block["stop"], piece))
                for piece in _exchange.PIECES
            ]
            assert [checksum(array) for array in arrays] == block["checksums"]
            indptr, indices, data = arrays
            rows.append(csr_array((data, indices, indptr), shape=(len(indptr) - 1, 400)).toarray())
        np.testing.assert_array_equal(np.vstack(rows), whole.toarray())


def test_blocks_come_in_any_order_and_of_any_size(roll, problem, tmp_path_factory):
    record, other = aligned(roll.X, 6), tmp_path_factory.mktemp("other")
    blocks = [
        write_rows(other, matrix, start, whole[start:stop])
        for matrix, whole in (("B", record.B), ("A", record.A))
        for start, stop in ((150, 300), (300, 400), (0, 150))
    ]
    assert not (other / PROBLEM_FILE).is_file()
    write_problem(other, blocks, 400, count=2)
    assert (other / PROBLEM_FILE).is_file()
    for path in problem.iterdir():
        assert (other / path.name).read_bytes() == path.read_bytes()


@pytest.mark.parametrize(("rows", "got"), [([(0, 400)], "none"), ([(0, 200), (150, 400)], "0 to 200, 150 to 400")])
def test_rows_that_are_missing_or_there_twice_are_refused(roll, tmp_path, rows, got):
    record = aligned(roll.X, 6)
    blocks = [write_rows(tmp_path, "A", 0, record.A)]
    if got != "none":
        blocks += [write_rows(tmp_path, "B", start, record.B[start:stop]) for start, stop in rows]
    with pytest.raises(InputError, match=f"blocks of B must cover rows 0 to 400 once each, got {got}\\. Write"):
        write_problem(tmp_path, blocks, 400, count=2)
    assert not (tmp_path / PROBLEM_FILE).is_file()


def test_a_result_comes_back_whole(problem):
    assert not has_result(problem)
    basis, facts = solve(problem)
    assert has_result(problem)
    result = read_result(problem)
    np.testing.assert_array_equal(result.basis, basis)
    assert result.facts == facts


def test_a_result_of_another_problem_is_none(roll, problem):
    solve(problem)
    write_alignment(problem, replace(aligned(roll.X, 6), gamma=2.0), block_rows=150, count=2)
    assert not has_result(problem)
    with pytest.raises(InputError, match=r"result.json' belongs to another problem than the folder's\. Remove it"):
        read_result(problem)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "result.json' is damaged"),
        (b"[1]", "result.json' is not a file of hne's"),
        (b'{"format": "hne eigenpairs", "version": 9}', "result.json' has version 9 where 1 is read"),
        (b'{"format": "hne eigenpairs", "version": 1}', "result.json' is damaged"),
        (None, "result.json' cannot be read: no such file"),
    ],
)
def test_a_damaged_or_foreign_result_is_named(problem, text, message):
    if text is not None:
        (problem / "result.json").write_bytes(text)
    assert not has_result(problem)
    with pytest.raises(InputError, match=message):
        read_result(problem)


@pytest.mark.parametrize("harm", ["gone", "truncated", "flipped", "foreign", "pickled"])
def test_damaged_vectors_are_named(problem, harm):
    solve(problem)
    path = problem / vectors_file(130, 400)
    whole = path.read_bytes()
    if harm == "gone":
        path.unlink()
    elif harm == "pickled":
        np.save(path, np.array([{}], dtype=object), allow_pickle=True)
    else:
        flipped = whole[:-1] + bytes([whole[-1] ^ 1])
        path.write_bytes({"truncated": whole[:-100], "flipped": flipped, "foreign": b"%PDF"}[harm])
    with pytest.raises(InputError, match=rf"{path.name}' (is damaged|cannot be read)"):
        read_result(problem)


def test_vectors_of_some_rows_are_no_result(problem):
    solve(problem, cuts=(0, 130, 400))
    facts = json.loads((problem / "result.json").read_text())
    facts["vectors"].pop()
    (problem / "result.json").write_text(json.dumps(facts))
    with pytest.raises(InputError, match=r"result.json' has vectors for some rows only"):
        read_result(problem)


def test_a_place_that_cannot_be_written_to_is_named(roll, tmp_path):
    (tmp_path / "file").write_text("mine")
    with pytest.raises(InputError, match=r"cannot write '.*file'"):
        write_alignment(tmp_path / "file", aligned(roll.X, 6), count=2)
    with pytest.raises(InputError, match=r"cannot write '.*indptr.npy'"):
        write_rows(tmp_path / "nowhere", "A", 0, aligned(roll.X, 6).A)


def test_no_half_written_file_stays(roll, tmp_path, monkeypatch):
    def fill_the_disk(file, _):
        file.write(b"half")
        raise OSError("4096 requested and 512 written")

    monkeypatch.setattr(np, "save", fill_the_disk)
    with pytest.raises(InputError, match=r"cannot write '.*': no space left on device\. Choose another place"):
        write_alignment(tmp_path, aligned(roll.X, 6), count=2)
    assert list(tmp_path.iterdir()) == []


def test_the_program_speaks_the_same_words():
    for name in ("PROBLEM_FORMAT", "RESULT_FORMAT", "VERSION", "PROBLEM_FILE", "RESULT_FILE"):
        assert getattr(slepc, name) == getattr(_exchange, name)


def test_the_program_imports_nothing_of_this_package():
    imported = set()
    for node in ast.walk(ast.parse(PROGRAM.read_text())):
        if isinstance(node, ast.Import):
            imported |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            imported.add(node.module.split(".")[0])
    assert not imported & {"hne", "scipy", "sklearn", "psutil", "mpi4py"}
