"""What a random_state stands for."""

from typing import Any

import numpy as np


def random_generator(random_state: Any) -> np.random.RandomState:
    """NumPy's generator for it, the one that scikit-learn would make; for None the same one every time."""
    if random_state is None:
        return np.random.RandomState(0)
    if isinstance(random_state, int | np.integer):
        return np.random.RandomState(random_state)
    # scikit-learn takes a second to load, and what goes by a number needs none of it.
    from sklearn.utils import check_random_state  # noqa: PLC0415

    return check_random_state(random_state)
