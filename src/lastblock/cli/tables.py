"""Text tables for the terminal."""

from collections.abc import Sequence


def table(header: Sequence[str], rows: Sequence[Sequence[str]], aligned: str) -> str:
    """Return a text table; `aligned` has a `<` (left) or `>` (right) for each column."""
    lines = [header, *rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(header))]
    return "\n".join(
        "  ".join(
            f"{cell:{side}{width}}" for cell, side, width in zip(line, aligned, widths, strict=True)
        ).rstrip()
        for line in lines
    )
