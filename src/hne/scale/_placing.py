"""New samples in Dask's hands -> their coordinates, chunk by chunk, wherever Dask computes them."""

from contextlib import nullcontext
from functools import lru_cache
from typing import Any

import numpy as np

from hne._shelf import pickled_by_name
from hne._validation import output_kind
from hne.exceptions import InputError
from hne.scale._engines import is_kept
from hne.scale._sources import lazy_samples


def placed_lazily(model: Any, X: Any) -> Any:
    """A Dask array of the coordinates that `model.transform` gives to each chunk of rows."""
    import cloudpickle  # noqa: PLC0415, comes with dask
    from dask import delayed  # noqa: PLC0415, an extra

    array = lazy_samples(X).array
    if array.shape[1] != model.n_features_in_:
        msg = f"X must have {model.n_features_in_} features, as the fitted samples, got {array.shape[1]}."
        raise InputError(msg + " Pass the same columns.")
    # What the model has in a folder that stays, workers open themselves; the rest travels to each of them.
    with pickled_by_name() if is_kept(model.engine, model.checkpoint) else nullcontext():
        packed = delayed(cloudpickle.dumps(model))
    kind, d = output_kind(array), model._n_features_out  # noqa: SLF001
    return array.map_blocks(
        _placed, packed=packed, chunks=(array.chunks[0], (d,)), dtype=kind, meta=np.empty((0, 0), kind)
    )


def _placed(values: Any, packed: bytes) -> Any:
    """Coordinates of one chunk."""
    model = _unpacked(packed)
    if not len(values):
        return np.empty((0, model._n_features_out), output_kind(values))  # noqa: SLF001
    return model.transform(np.asarray(values))


@lru_cache(maxsize=2)
def _unpacked(packed: bytes) -> Any:
    import cloudpickle  # noqa: PLC0415, comes with dask

    return cloudpickle.loads(packed)
