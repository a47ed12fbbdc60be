"""How much memory this process may still take."""

from pathlib import Path

import psutil

# Where Linux keeps the limit of a container, what it uses, and how much of that is cached files that can go: in the
# second version of control groups and in the first.
_GROUPS = (
    (Path("/sys/fs/cgroup"), "memory.max", "memory.current", "inactive_file"),
    (Path("/sys/fs/cgroup/memory"), "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
)


def available_bytes() -> int:
    """Memory that can be taken without swapping: the machine's, or less where a container or process has a limit."""
    available = int(psutil.virtual_memory().available)
    for folder, most, used, cached in _GROUPS:
        try:
            statistics = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
            taken = int((folder / used).read_text()) - int(statistics.get(cached, 0))
            # A container without a limit says "max", or a number beyond any machine's memory.
            available = min(available, max(0, int((folder / most).read_text()) - taken))
        except (OSError, ValueError):
            continue
    try:
        import resource  # noqa: PLC0415, Windows has none
    except ImportError:
        return available
    # The limit on addresses, `ulimit -v`.
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    return available if limit == resource.RLIM_INFINITY else min(available, max(0, limit - addresses_taken()))


def addresses_taken() -> int:
    """Bytes of addresses that this process has, used or not."""
    return int(psutil.Process().memory_info().vms)


def gigabytes(count: float) -> str:
    """Bytes as people say them.

    >>> gigabytes(2.5e9), gigabytes(3e7)
    ('2.5 GB', '0.03 GB')
    """
    return f"{count / 1e9:.1f} GB" if count >= 1e9 else f"{count / 1e9:.2g} GB"
