"""Arrays that lie on disk: opened without being read, and handed to other processes by name.

A stage of a run keeps its arrays in a folder of its own. While it runs, each block of rows is a set of files, each
written under a temporary name and renamed, with a receipt written last; when all are there, they become one file an
array, and the stage is sealed by its record, written last again. So a run that is killed at any moment leaves whole
blocks, and nothing that is half there is taken for a result. Receipts and records hold checksums: what a disk or a
hand has changed since is found when it is read again.
"""

import json
import shutil
import zlib
from collections.abc import Sequence
from contextlib import AbstractContextManager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn, TypeAlias

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from hne._runtime.files import atomic_write, make_folder
from hne._runtime.progress import bound
from hne.exceptions import CheckpointError

# Rows from and up to which a block goes.
Block: TypeAlias = tuple[int, int]
Arrays: TypeAlias = dict[str, NDArray[Any]]

RECORD, BLOCKS = "stage.json", "blocks"
CHUNK_BYTES = 2**24

_BY_NAME: ContextVar[bool] = ContextVar("hne_arrays_by_name", default=False)


class MappedArray(np.memmap):
    """An array on disk, read as it is used; between processes of one run its path travels, not its numbers."""

    path: str | None = None

    def __array_finalize__(self, origin: Any) -> None:
        """Parts of it and what is computed from it are arrays like any other."""
        super().__array_finalize__(origin)
        self.path = None

    def __reduce_ex__(self, protocol: Any) -> Any:
        if self.path is not None and _BY_NAME.get():
            return open_array, (self.path,)
        return np.asarray(self).__reduce_ex__(protocol)


def pickled_by_name() -> AbstractContextManager[None]:
    """Let arrays on disk be pickled as their paths for a while; elsewhere a pickle holds all it needs."""
    return bound(_BY_NAME, True)


def open_array(path: str | Path) -> NDArray[Any]:
    """The array of an .npy file, on disk."""
    try:
        mapped: Any = np.load(path, mmap_mode="r", allow_pickle=False).view(MappedArray)
    except (OSError, ValueError, EOFError) as error:
        # There is nothing to map of an array without entries.
        with suppress(OSError, ValueError, EOFError):
            empty: NDArray[Any] = np.load(path, allow_pickle=False)
            if not empty.size:
                return empty
        refuse(path, f"it cannot be read ({error})")
    mapped.path = str(path)
    return mapped


def is_on_disk(array: object) -> bool:
    """Whether this is an array on disk, as a whole."""
    return isinstance(array, MappedArray) and array.path is not None


def row_blocks(n_rows: int, block_rows: int) -> list[Block]:
    """Rows in blocks of that many, the last one shorter."""
    return [(start, min(start + block_rows, n_rows)) for start in range(0, n_rows, block_rows)]


@dataclass(frozen=True)
class Stage:
    """The folder of one stage of a run: its arrays, in blocks or whole."""

    folder: Path
    key: str  # tells of which data and parameters it is

    def arrays(self) -> Arrays | None:
        """The arrays of a finished stage, checked; None where it is not finished."""
        if not self._is_whole(self.folder / RECORD):
            return None
        # Who was killed between the last file and this has left them.
        shutil.rmtree(self.folder / BLOCKS, ignore_errors=True)
        return self.opened()

    def opened(self) -> Arrays:
        """The arrays of a stage that is known to be finished and whole."""
        record = self._read(self.folder / RECORD)
        return {name.removesuffix(".npy"): open_array(self.folder / name) for name in record["checksums"]}

    def facts(self) -> Any:
        """What was noted when the stage was finished; nothing where it is not."""
        return self._read(self.folder / RECORD)["facts"]

    def missing(self, blocks: Sequence[Block]) -> list[Block]:
        """Blocks that are not there yet; those that are, are checked."""
        return [block for block in blocks if not self._is_whole(self._receipt(block))]

    def keep(self, block: Block, arrays: Arrays) -> None:
        """Write a block; whoever is killed meanwhile leaves nothing that counts."""
        receipt = self._receipt(block)
        make_folder(receipt.parent)
        checksums = {}
        for name, array in arrays.items():
            path = receipt.with_suffix(f".{name}.npy")
            with atomic_write(path, overwrite=True) as temporary, temporary.open("wb") as file:
                np.save(file, np.ascontiguousarray(array), allow_pickle=False)
                file.flush()
                checksums[path.name] = checksum_of(temporary)
        self._write(receipt, checksums)

    def seal(self, blocks: Sequence[Block], facts: dict[str, Any] | None = None) -> Arrays:
        """Make one file an array of the blocks, one below the other, and finish the stage."""
        files: dict[str, list[Path]] = {}
        for block in blocks:
            for name in self._read(self._receipt(block))["checksums"]:
                files.setdefault(name.partition(".")[2], []).append(self.folder / BLOCKS / name)
        if not files or any(len(paths) < len(blocks) for paths in files.values()):
            refuse(self.folder / BLOCKS, "not all blocks are there, or not all alike")
        checksums = {}
        for name, paths in files.items():
            parts = [open_array(path) for path in paths]
            shape = (sum(len(part) for part in parts), *parts[0].shape[1:])
            header = {"descr": npy.dtype_to_descr(parts[0].dtype), "fortran_order": False, "shape": shape}
            with atomic_write(self.folder / name, overwrite=True) as temporary:
                with temporary.open("wb") as file:
                    npy.write_array_header_1_0(file, header)
                    for part in parts:
                        part.tofile(file)
                checksums[name] = checksum_of(temporary)
        self._write(self.folder / RECORD, checksums, facts)
        shutil.rmtree(self.folder / BLOCKS, ignore_errors=True)
        return self.opened()

    def put(self, arrays: Arrays, facts: dict[str, Any] | None = None) -> Arrays:
        """Keep a stage that was made in one go."""
        whole = (0, len(next(iter(arrays.values()))))
        self.keep(whole, arrays)
        return self.seal([whole], facts)

    def _receipt(self, block: Block) -> Path:
        return self.folder / BLOCKS / f"{block[0]:012d}-{block[1]:012d}.json"

    def _is_whole(self, path: Path) -> bool:
        """Whether there is a record, or a receipt; what it tells of is then checked."""
        checksums = self._read(path)["checksums"]
        for file, checksum in ((path.with_name(name), number) for name, number in checksums.items()):
            try:
                is_same = checksum_of(file) == checksum
            except OSError as error:
                refuse(file, f"it cannot be read ({(error.strerror or str(error)).lower()})")
            if not is_same:
                refuse(file, "its bytes have changed since they were written")
        return bool(checksums)

    def _write(self, path: Path, checksums: dict[str, int], facts: dict[str, Any] | None = None) -> None:
        text = json.dumps({"key": self.key, "checksums": checksums, "facts": facts or {}})
        with atomic_write(path, overwrite=True) as temporary:
            temporary.write_text(json.dumps({"record": text, "checksum": zlib.crc32(text.encode())}), encoding="utf-8")

    def _read(self, path: Path) -> dict[str, Any]:
        """A record or a receipt; one of nothing where there is none."""
        try:
            written = json.loads(path.read_text(encoding="utf-8"))
            record: dict[str, Any] = json.loads(written["record"])
            key, is_same = record["key"], zlib.crc32(written["record"].encode()) == written["checksum"]
        except FileNotFoundError:
            return {"checksums": {}, "facts": {}}
        except (OSError, ValueError, KeyError, TypeError) as error:
            refuse(path, f"it cannot be read ({error})")
        if not is_same:
            refuse(path, "it has changed since it was written")
        if key != self.key:
            refuse(path, f"it belongs to another run ({key}, not {self.key})")
        return record


def checksum_of(path: Path) -> int:
    """CRC-32 of a file's bytes."""
    checksum = 0
    with path.open("rb") as file:
        while chunk := file.read(CHUNK_BYTES):
            checksum = zlib.crc32(chunk, checksum)
    return checksum


def refuse(path: str | Path, reason: str) -> NoReturn:
    """Raise the error about a file of a checkpoint that is not what it should be."""
    msg = (
        f"checkpoint '{path}' must be what a run of hne wrote, got a file that is not: {reason}. "
        f"Remove the folder '{Path(path).parent}', and it is computed again; or choose another checkpoint."
    )
    raise CheckpointError(msg)
