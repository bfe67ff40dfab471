"""The figure of a passive takeover: the contents of the window before and after a round."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from lastblock.drawing.styles import COLOURS
from lastblock.lab.paper.takeover import ROUND, WINDOW, takeover

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from lastblock.drawing.canvas import Picture

_BLUE, _RED = COLOURS[0], COLOURS[1]


def takeover_figure(path: str | Path | None = None) -> "Picture":
    """Draw the paper's figure 1 from a real run, beside what the paper's rule does instead.

    Parameters
    ----------
    path
        A file to write the figure to; its name ends in .png, .svg or .pdf. None writes none.

    Returns
    -------
    Picture
        The figure.
    """
    from lastblock.drawing import canvas  # matplotlib is optional, and slow to import  # noqa: PLC0415

    if path is not None:
        canvas.kind_of(path)  # a wrong suffix fails before the work
    frame = takeover()
    picture = canvas.Picture(figsize=(11.6, 3.5), layout="constrained")
    before, naive, paper = picture.subplots(1, 3, width_ratios=[1.32, 1.0, 1.0])
    _draw(before, frame, "naive", ROUND, f"Before round {ROUND}, by both rules")
    _draw(naive, frame, "naive", ROUND + 1, f"Before round {ROUND + 1}, naive rule")
    _draw(paper, frame, "paper", ROUND + 1, f"Before round {ROUND + 1}, the paper's rule")
    _note_duels(before, frame)
    picture.supxlabel(
        "Blue: a pull within the window of 4 rounds.  Red: what the round will push out.  "
        "Bold: the leader.",
        fontsize=canvas.SMALL + 0.5,
        color="0.35",
    )
    if path is not None:
        picture.save(path)
    return picture


def _draw(panel: "Axes", frame: "pd.DataFrame", rule: str, number: int, title: str) -> None:
    """Draw the window before round `number`, with a row for each arm."""
    from matplotlib.patches import Rectangle  # noqa: PLC0415  # optional, and slow to import

    from lastblock.drawing import canvas  # noqa: PLC0415  # slow to import

    rows = frame[frame["rule"] == rule].set_index(["round", "arm"])
    rounds = range(number - WINDOW, number)
    arms = sorted(frame["arm"].unique().tolist())
    now: Any = rows.loc[number]
    leader = int(now.index[now["leads"]][0])
    for arm in arms:
        y = len(arms) - 1 - arm
        for x, past in enumerate(rounds):
            cell: dict[str, Any] = {"xy": (x + 0.04, y + 0.14), "width": 0.92, "height": 0.72}
            if rows.loc[(past, arm), "pulled"]:
                blue: dict[str, Any] = {"facecolor": "#D6E8F4", "edgecolor": _BLUE, "linewidth": 0}
                panel.add_patch(Rectangle(**cell, hatch="////", **blue))
            leaving = x == 0
            panel.add_patch(
                Rectangle(
                    **cell,
                    fill=False,
                    edgecolor=_RED if leaving else "0.2" if arm == leader else "0.65",
                    linewidth=(2.6 if arm == leader else 1.1) + 0.5 * leaving,
                    zorder=3 + leaving,
                )
            )
        weight = "bold" if arm == leader else "normal"
        style: dict[str, Any] = {"va": "center", "fontsize": canvas.TEXT, "fontweight": weight}
        panel.text(-0.15, y + 0.5, f"arm {arm + 1}", ha="right", **style)
        panel.text(WINDOW + 0.12, y + 0.5, _pulls(now.loc[arm, "in_window"]), **style)
    leads = f"arm {leader + 1} leads"
    panel.set_title(f"{title}:\n{leads}", fontsize=canvas.TITLE, fontweight="bold", loc="left")
    panel.set_xlim(-1.0, WINDOW + 1.2)
    panel.set_ylim(-0.05, len(arms) + 0.05)
    panel.set_xticks([x + 0.5 for x in range(WINDOW)], [str(past) for past in rounds])
    panel.set_xlabel("round", fontsize=canvas.TEXT)
    panel.tick_params(labelsize=canvas.SMALL + 0.5, length=0)
    panel.set_yticks([])
    panel.spines[:].set_visible(False)


def _pulls(number: int) -> str:
    return "1 pull" if number == 1 else f"{number} pulls"


def _note_duels(panel: "Axes", frame: "pd.DataFrame") -> None:
    """Write beside each arm whether it wins its duel with the leader."""
    from lastblock.drawing import canvas  # noqa: PLC0415  # slow to import

    now = frame[(frame["rule"] == "naive") & (frame["round"] == ROUND)].set_index("arm")
    for arm, won in now["won"].dropna().items():
        text, colour = ("wins: pulled", _BLUE) if won else ("loses its duel", _RED)
        y = len(now) - 1 - int(str(arm)) + 0.5
        panel.text(WINDOW + 1.3, y, text, va="center", fontsize=canvas.TEXT, color=colour)
    panel.set_xlim(-1.0, WINDOW + 3.0)
