"""The policy and the arms of one's own that docs/how-to/own-policy.md shows."""

import re
from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs" / "how-to" / "own-policy.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.S | re.M)
EXPLORE_FIRST = BLOCKS[0]
FAMILY = next(block for block in BLOCKS if "@family()" in block)


def exploring(imported, expression):
    """The policy, with an import, and with another arm than one at random."""
    return f"{imported}\n{EXPLORE_FIRST.replace('below(s.stream, s.arms)', expression)}"
