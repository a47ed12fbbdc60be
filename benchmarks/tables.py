"""Rows of measurements -> cells and tables of Markdown."""

from collections.abc import Iterable, Sequence

from runner import Row


def table(header: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """A table of Markdown."""
    texts = ["| " + " | ".join(cells) + " |" for cells in [header, *lines]]
    return "\n".join([texts[0].replace("|  |", "| |", 1), "|" + "---|" * len(header), *texts[1:]])


def seconds(row: Row) -> str:
    """Time, or why there is none."""
    return str(row["failure"]) if "failure" in row else f"{row['seconds']:.3g}"


def megabytes(row: Row) -> str:
    """Peak memory of the process in MB."""
    return "-" if "failure" in row else f"{row['peak_bytes'] / 1e6:.0f}"


def gigabytes(row: Row) -> str:
    """Peak memory of the process in GB."""
    return "-" if "failure" in row else f"{row['peak_bytes'] / 1e9:.2f}"


def errors(row: Row) -> str:
    """Affine errors of the true coordinates."""
    return ", ".join(f"{error:.4f}" for error in row.get("errors", ())) or "-"


def worst_error(row: Row) -> str:
    """Affine error of the coordinate that is farthest off."""
    return f"{max(row['errors']):.3f}" if "errors" in row else "-"


def residual(row: Row) -> str:
    """The largest residual of the eigenpairs."""
    return f"{max(row['residuals']):.1e}" if "residuals" in row else "-"


def ratio(row: Row, other: Row) -> str:
    """How many times longer the other took."""
    if "failure" in row or "failure" in other:
        return "-"
    return f"{other['seconds'] / row['seconds']:.2g}"
