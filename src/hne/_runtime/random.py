"""What a random_state stands for."""

from typing import Any

import numpy as np


def random_generator(random_state: Any, *, is_draw: bool = False) -> np.random.RandomState:
    """NumPy's generator for it, the one that scikit-learn would make.

    None stands for the same one every time, where nothing random is left to decide; of a draw, for another every time.
    """
    if random_state is None and not is_draw:
        random_state = 0
    if isinstance(random_state, int | np.integer):
        return np.random.RandomState(random_state)
    # scikit-learn takes a second to load, and what goes by a number needs none of it.
    from sklearn.utils import check_random_state  # noqa: PLC0415

    return check_random_state(random_state)
