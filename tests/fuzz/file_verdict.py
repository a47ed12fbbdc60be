"""FileCase -> Outcome: the file is read and what it gives is used; whatever is no result and no refusal is named."""

import io
import tempfile
import traceback
import warnings
import zipfile
from contextlib import redirect_stderr, redirect_stdout
from functools import cache
from pathlib import Path

import numpy as np
from scipy.sparse import issparse

from hne import HNE, LinearHNE, embed
from hne.cli import main
from hne.exceptions import HNEError, HNEWarning
from hne.io import read_table
from tests.fuzz.bases import bases, samples
from tests.fuzz.file_cases import FileCase
from tests.fuzz.verdict import Flaw, Outcome

FINE, REFUSED, UNEXPECTED, WRONG = "fine", "refused", "unexpected error", "wrong result"
# Characters of a message, beyond which nobody reads it.
LONGEST = 1600


def file_outcome(case: FileCase) -> Outcome:
    """Read the file, use what it holds, and judge."""
    with tempfile.TemporaryDirectory(prefix="hne-fuzz-") as folder, warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", HNEWarning)
        # NumPy's advice about files of Python 2.
        warnings.filterwarnings("ignore", "Reading `.npy`")
        use = {"models": _use_model, "checkpoints": _use_checkpoint}.get(case.kind, _use_table)
        try:
            use(case, Path(folder))
        except HNEError as error:
            message = str(error)
            if len(message) > LONGEST or message.count("\n") or not message.endswith((".", "?")):
                return Outcome(WRONG, f"{case}\nthe message is {message!r}", (message[:LONGEST],))
            return Outcome(REFUSED, messages=(f"{type(error).__name__}: {message.replace(folder, '')}",))
        except Flaw as flaw:
            return Outcome(WRONG, f"{case}\n{flaw}")
        except Exception:  # noqa: BLE001, that any other exception is a flaw is what is tested
            return Outcome(UNEXPECTED, f"{case}\n{traceback.format_exc()}")
    return Outcome(FINE)


def _require(holds: bool, what: str) -> None:
    if not holds:
        raise Flaw(what)


def _use_table(case: FileCase, folder: Path) -> None:
    path = folder / case.name
    path.write_bytes(case.content)
    if case.kind == "images":
        for name, content in bases("images")[:3]:
            (folder / f"good-{name}").write_bytes(content)
        path = folder
    table = read_table(path)
    n, d = table.X.shape
    _require(table.X.dtype in (np.float32, np.float64), f"features of {table.X.dtype}")
    _require(issparse(table.X) or isinstance(table.X, np.ndarray), f"features in a {type(table.X)}")
    _require(len(table.feature_names) == d, f"{len(table.feature_names)} names of {d} features")
    _require(all(isinstance(name, str) for name in table.feature_names), "names that are no text")
    _require(len(set(table.feature_names)) == d, "a name twice")
    _require(table.ids is None or len(table.ids) == n, "other names of samples than samples")
    for name, column in table.labels.items():
        _require(column.shape == (n,), f"label {name} of shape {column.shape}")
    # The whole way, of some.
    if len(case.content) % 16 == 0:
        _embed_by_command(path, folder)


def _embed_by_command(path: Path, folder: Path) -> None:
    said = io.StringIO()
    with redirect_stderr(said), redirect_stdout(io.StringIO()), tempfile.TemporaryDirectory(prefix="hne-fuzz-") as out:
        status = main(["embed", str(path), "-q", "-o", f"{out}/out.csv"])
    _require(status in (0, 2), f"status {status}: {said.getvalue()}")
    _require(said.getvalue().count("\n") == (status > 0), f"more than a line: {said.getvalue()}")


def _use_model(case: FileCase, folder: Path) -> None:
    path = folder / "model.hne"
    path.write_bytes(case.content)
    try:
        model = HNE.load(path)
    except HNEError as error:
        if "LinearHNE" not in str(error):
            raise
        model = LinearHNE.load(path)
    X = samples()[:7] + 0.01
    width = model.n_features_in_
    _require(width < 10**6, f"{width} features")
    new = X[:, :width] if width <= X.shape[1] else np.hstack([X, np.ones((7, width - X.shape[1]))])
    Y = model.transform(np.abs(new))
    found = Y.to_numpy() if hasattr(Y, "to_numpy") else np.asarray(Y)
    _require(len(found) == 7, f"{len(found)} rows of 7")
    _require(found.dtype.kind == "f" and not np.isinf(found).any(), "coordinates that are inf")
    if isinstance(model, HNE):
        model.inverse_transform(np.nan_to_num(found.astype(float)))
        model.reconstruct()
        _require(model.trust_ is not None, "no trust")
        model.report(folder / "page.html")
    again = folder / "again.hne"
    model.save(again)
    type(model).load(again)


@cache
def _truth(coordinates: str) -> bytes:
    return embed(samples(), coordinates=coordinates).Y.tobytes()


def _use_checkpoint(case: FileCase, folder: Path) -> None:
    """A run that goes on from there ends with the same bits, or does not begin."""
    with zipfile.ZipFile(io.BytesIO(case.content)) as archive:
        for info in archive.infolist():
            path = folder / "run" / info.filename
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(archive.read(info))
    coordinates = ("chart", "auto")[len(case.content) % 2]
    Y = embed(samples(), checkpoint=folder / "run", coordinates=coordinates).Y
    _require(Y.tobytes() == _truth(coordinates), "other coordinates than without a checkpoint")
