"""Values of any kind -> what JSON can hold."""

import math
from typing import Any


def plain(value: Any) -> Any:
    """What JSON can hold of a value: arrays as lists, tuples too, NumPy's numbers as Python's, NaN as null."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)
