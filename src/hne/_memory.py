"""How much memory this process may still take."""

from pathlib import Path

import psutil

# Where Linux keeps the limit of a container, in the second version of control groups and in the first.
_LIMITS = (
    (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory.current")),
    (Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"), Path("/sys/fs/cgroup/memory/memory.usage_in_bytes")),
)


def available_bytes() -> int:
    """Memory that can be taken without swapping: the machine's, or less where a container has a limit."""
    available = int(psutil.virtual_memory().available)
    for limit, used in _LIMITS:
        try:
            # A container without a limit says "max", or a number beyond any machine's memory.
            available = min(available, max(0, int(limit.read_text()) - int(used.read_text())))
        except (OSError, ValueError):
            continue
    return available


def gigabytes(count: float) -> str:
    """Bytes as people say them.

    >>> gigabytes(2.5e9), gigabytes(3e7)
    ('2.5 GB', '0.03 GB')
    """
    return f"{count / 1e9:.1f} GB" if count >= 1e9 else f"{count / 1e9:.2g} GB"
