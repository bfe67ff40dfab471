"""Figures that need no window: notebooks display them, and files are written atomically."""

import io
import textwrap
import threading
import warnings
from pathlib import Path
from typing import Any

try:
    import matplotlib as mpl
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
except ImportError:
    raise ImportError(
        "figures need matplotlib: pip install 'lastblock[lab]'", name="matplotlib"
    ) from None

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
_SMALLEST = 0.7  # of the font sizes above, in a figure that is narrow: 6.3 points
_PNG_DPI = 200
_SCREEN_DPI = 144
_settings_lock = threading.Lock()  # matplotlib's settings are global to the process


class Picture(Figure):
    """A Matplotlib figure that belongs to no window and needs no backend."""

    scale = 1.0
    """The size of letters and lines, relative to those of a figure of the usual width."""

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


def panels(
    count: int, width: float, height: float, total: float | None = None
) -> tuple[Picture, list[Axes]]:
    """Return a figure with `count` panels in one or two columns.

    Parameters
    ----------
    count
        The number of panels.
    width, height
        The usual size of a panel, in inches.
    total
        The width of the whole figure, in inches; by default what the panels usually take. In a
        narrower figure letters and lines are smaller, but not as much: they must stay readable.
    """
    columns = min(2, count)
    rows = -(-count // columns)
    share = 1.0 if total is None else total / (width * columns)
    scale = min(1.0, max(_SMALLEST, share))
    size = total or width * columns, height * rows * (scale if share < 1.0 else share)
    picture = Picture(figsize=size, layout="constrained")
    picture.scale = scale
    engine: Any = picture.get_layout_engine()
    engine.set(w_pad=0.08, h_pad=0.08, hspace=0.04, wspace=0.02)
    made = picture.subplots(rows, columns, squeeze=False).ravel().tolist()
    for spare in made[count:]:
        spare.set_visible(False)
    return picture, made[:count]


def written_as(text: str, longest: int) -> str:
    """Return `text` on one line, cut to at most `longest` characters."""
    line = " ".join(text.split())
    return line if len(line) <= longest else f"{line[: longest - 1].rstrip()}…"


def dress(panel: Axes, title: str, subtitle: str, x: str, y: str) -> None:
    """Set the titles and the names of the axes, and remove needless lines from a panel."""
    figure: Any = panel.figure
    scale = figure.scale
    columns = panel.get_subplotspec().get_gridspec().ncols  # type: ignore[union-attr]  # it has one
    letters = int(_LONGEST_TITLE * min(1.0, figure.get_figwidth() / columns / scale / 6.0))
    below = textwrap.wrap(subtitle, max(20, round(1.35 * letters)))
    panel.set_title(
        "\n".join(textwrap.wrap(written_as(title, _LONGEST_TITLE), letters)),
        loc="left",
        fontsize=TITLE * scale,
        fontweight="bold",
        pad=8.0 + 12.0 * scale * len(below),
        parse_math=False,
    )
    panel.annotate(
        "\n".join(below),
        (0.0, 1.0),
        xycoords="axes fraction",
        xytext=(0, 6),
        textcoords="offset points",
        fontsize=SMALL * scale,
        color="0.35",
    )
    panel.set_xlabel(x, fontsize=TEXT * scale)
    panel.set_ylabel(y, fontsize=TEXT * scale)
    panel.tick_params(labelsize=(SMALL + 0.5) * scale, color="0.5")
    panel.spines[["top", "right"]].set_visible(False)
    panel.spines[["left", "bottom"]].set_color("0.5")
    panel.grid(axis="y", color="0.92", linewidth=0.8)
    panel.set_axisbelow(True)
