"""Tables of text."""

from collections.abc import Sequence


def table(header: Sequence[str], rows: Sequence[Sequence[str]], aligned: str) -> str:
    """Columns side by side; `aligned` has a < or > for each."""
    lines = [header, *rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(header))]
    return "\n".join(
        "  ".join(
            f"{cell:{side}{width}}" for cell, side, width in zip(line, aligned, widths, strict=True)
        ).rstrip()
        for line in lines
    )
