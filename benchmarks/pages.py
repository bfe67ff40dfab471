"""Places on pages that commands fill in: what stands between two marks.

The marks are comments in Markdown, such as ``<!-- gaps -->`` and ``<!-- end of gaps -->``. A
command checks them before it computes anything, and fills in its lines afterwards.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from benchmarks.options import Parser
from lastblock.support import files

__all__ = ["Place", "check_marks"]


class Place(NamedTuple):
    """Where on a page a command's lines stand: between the marks of this name."""

    page: Path
    name: str

    def filled(self, lines: Iterable[str]) -> str:
        """Return the page with these lines, and a blank line above and below, between the marks.

        Blank lines at the beginning and at the end of `lines` are left out.

        Raises
        ------
        OSError
            If the page cannot be read.
        ValueError
            If it does not have both marks, each once, the first one first.
        """
        text = self.page.read_text(encoding="utf-8")
        begin, end = f"<!-- {self.name} -->", f"<!-- end of {self.name} -->"
        before, after = text.partition(begin)[0], text.partition(end)[2]
        is_once = text.count(begin) == text.count(end) == 1
        if not is_once or text.index(end) < text.index(begin):
            raise ValueError(
                f"the page needs the marks {begin} and {end}, each once: put them where the text "
                "should stand"
            )
        inside = "\n".join(lines).strip("\n")
        return before + "\n\n".join([begin, inside, end] if inside else [begin, end]) + after

    def fill(self, lines: Iterable[str]) -> None:
        """Write the page with these lines between the marks; `filled` says how."""
        files.write(self.page, self.filled(lines).encode())


def check_marks(parser: Parser, *places: Place) -> None:
    """End the command with an error of one line if a page, or one of its marks, is missing."""
    for place in places:
        try:
            place.filled([])
        except OSError as error:
            parser.error(f"{place.page}: {error.strerror}")
        except ValueError as error:
            parser.error(f"{place.page}: {error}")
