"""New samples in Dask's hands -> their coordinates, chunk by chunk, wherever Dask computes them."""

from contextlib import nullcontext
from copy import copy
from typing import Any

import numpy as np

from hne._runtime.store import pickled_by_name
from hne.core.samples.tables import is_table, output_kind
from hne.exceptions import InputError
from hne.scale.executors import is_kept, unpacked
from hne.scale.sources import lazy_samples, without_rows


def placed_lazily(model: Any, X: Any) -> Any:
    """A Dask array of the coordinates that `model.transform` gives to each chunk of rows."""
    import cloudpickle  # noqa: PLC0415, comes with dask
    from dask import delayed  # noqa: PLC0415, an extra
    from sklearn.utils.validation import validate_data  # noqa: PLC0415, a second to load

    array = lazy_samples(X).array
    if is_table(X):
        validate_data(model, without_rows(X, array.shape[1]), reset=False, skip_check_array=True)
    if array.shape[1] != model.n_features_in_:
        msg = f"X must have {model.n_features_in_} features, as the fitted samples, got {array.shape[1]}."
        raise InputError(msg + " Pass the same columns.")
    # What the model has in a folder that stays, workers open themselves; the rest travels to each of them.
    with pickled_by_name() if is_kept(model.engine, model.checkpoint) else nullcontext():
        packed = delayed(cloudpickle.dumps(_without_engine(model)))
    kind, d = output_kind(array), model._n_features_out  # noqa: SLF001
    return array.map_blocks(
        _placed, packed=packed, chunks=(array.chunks[0], (d,)), dtype=kind, meta=np.empty((0, 0), kind)
    )


def _without_engine(model: Any) -> Any:
    """The model for workers, who have no use for the engine of its fit."""
    alone = copy(model)
    alone.engine = None
    return alone


def _placed(values: Any, packed: bytes) -> Any:
    """Coordinates of one chunk."""
    model = unpacked(packed)
    if not len(values):
        return np.empty((0, model._n_features_out), output_kind(values))  # noqa: SLF001
    return model.transform(np.asarray(values))
