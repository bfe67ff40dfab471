"""Figures that need no window: notebooks display them, and files are written atomically."""

import io
import threading
import warnings
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lastblock.support import files

# Leave out what differs from one run to the next, so that the same figure is the same bytes.
_METADATA: dict[str, dict[str, Any]] = {
    "png": {"Software": None},
    "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}
FORMATS = tuple(_METADATA)

TITLE, TEXT, SMALL = 12.0, 10.5, 9.0
"""Font sizes in points; they suit both a slide and a printed column."""

_LONGEST_TITLE = 60  # letters
_PNG_DPI = 200
_SCREEN_DPI = 144
_settings_lock = threading.Lock()  # matplotlib's settings are global to the process


class Picture(Figure):
    """A Matplotlib figure that belongs to no window and needs no backend."""

    def save(self, path: str | Path) -> Path:
        """Write the figure to a file and return its path.

        Parameters
        ----------
        path
            The file; its suffix (.png, .svg or .pdf) chooses the format. Missing folders are made.
            The file is written completely or, if an error happens, not at all.

        Raises
        ------
        ValueError
            If the suffix is another one.
        """
        path = Path(path)
        kind = kind_of(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        files.write(path, self.rendered(kind))
        return path

    def rendered(self, kind: str, dpi: float = _PNG_DPI) -> bytes:
        """Return the bytes of a file of this format ("png", "svg" or "pdf")."""
        buffer = io.BytesIO()
        with (
            _settings_lock,
            warnings.catch_warnings(),
            mpl.rc_context({"svg.hashsalt": "lastblock", "pdf.fonttype": 42}),
        ):
            self._settle()
            # Characters that the font lacks are drawn as boxes; do not warn about them.
            warnings.filterwarnings("ignore", "Glyph .* missing from font")
            self.savefig(buffer, format=kind, dpi=dpi, metadata=_METADATA[kind])
        return buffer.getvalue()

    def _settle(self) -> None:
        """Fix the layout, because it would move a little each time the figure is drawn."""
        if self.get_layout_engine() is not None:
            for _ in range(2):  # twice, since the names beside a panel scale with the panel
                self.draw_without_rendering()
            self.set_layout_engine("none")

    def _repr_png_(self) -> tuple[bytes, dict[str, int]]:
        """Return what a notebook displays: a PNG for sharp screens, and its size in pixels."""
        width, height = self.get_size_inches()
        return self.rendered("png", _SCREEN_DPI), {
            "width": round(float(width) * 96),
            "height": round(float(height) * 96),
        }


def kind_of(path: str | Path) -> str:
    """Return the format that the suffix of `path` names; raise a `ValueError` for others."""
    kind = Path(path).suffix.lower().removeprefix(".")
    if kind not in FORMATS:
        given = f"the suffix {Path(path).suffix!r}" if kind else "no suffix"
        raise ValueError(f"{path} has {given}; use one of .{', .'.join(FORMATS)}")
    return kind


def panels(number: int, width: float, height: float) -> tuple[Picture, list[Axes]]:
    """Return a figure with `number` panels in one or two columns; sizes are in inches."""
    columns = min(2, number)
    rows = -(-number // columns)
    picture = Picture(figsize=(width * columns, height * rows), layout="constrained")
    engine: Any = picture.get_layout_engine()
    engine.set(w_pad=0.08, h_pad=0.08, hspace=0.04, wspace=0.02)
    made = picture.subplots(rows, columns, squeeze=False).ravel().tolist()
    for spare in made[number:]:
        spare.set_visible(False)
    return picture, made[:number]


def written_as(text: str, longest: int) -> str:
    """Return `text` on one line, cut to at most `longest` characters."""
    line = " ".join(text.split())
    return line if len(line) <= longest else f"{line[: longest - 1].rstrip()}…"


def dress(panel: Axes, title: str, subtitle: str, x: str, y: str) -> None:
    """Set the titles and the names of the axes, and remove needless lines from a panel."""
    written = written_as(title, _LONGEST_TITLE)
    panel.set_title(
        written, loc="left", fontsize=TITLE, fontweight="bold", pad=20, parse_math=False
    )
    panel.annotate(
        subtitle,
        (0.0, 1.0),
        xycoords="axes fraction",
        xytext=(0, 6),
        textcoords="offset points",
        fontsize=SMALL,
        color="0.35",
    )
    panel.set_xlabel(x, fontsize=TEXT)
    panel.set_ylabel(y, fontsize=TEXT)
    panel.tick_params(labelsize=SMALL + 0.5, color="0.5")
    panel.spines[["top", "right"]].set_visible(False)
    panel.spines[["left", "bottom"]].set_color("0.5")
    panel.grid(axis="y", color="0.92", linewidth=0.8)
    panel.set_axisbelow(True)
