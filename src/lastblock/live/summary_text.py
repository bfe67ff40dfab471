"""The summary of a bandit in words."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lastblock.live.summary import Summary

_LISTED = 6
"""How many arms a sentence names."""


def summary_text(summary: "Summary[Any]") -> str:
    """Return a summary as text: a line on the leader, one on the best arm, a table, and notes."""
    first = f"{summary.policy}, {summary.asked} decisions"
    if summary.leader is not None:
        since = "" if summary.since is None else f" since decision {summary.since}"
        first += f", {summary.leader!r} leads{since}"
    lines = [first]
    if summary.change is not None:
        lines.append(str(summary.change))
    if summary.best is not None:
        lines.append(_best(summary))
    return "\n".join([*lines, *_table(summary), *_notes(summary)])


def _best(summary: "Summary[Any]") -> str:
    if len(summary.contenders) == 1:
        return f"{summary.best!r} is best: {_percent(summary.sure or 0.0)} % sure, at any time."
    (chance,) = (row.chance for row in summary.arms if row.arm == summary.best)
    first = f"{summary.best!r} has the largest mean"
    if chance is not None:
        first += f" and is best with a probability of {chance:.3g}"
    others = [repr(arm) for arm in summary.contenders if arm != summary.best]
    level = _percent(summary.confidence)
    return f"{first}. Not ruled out at {level} %, at any time: {_listed(others)}."


def _listed(arms: Sequence[str]) -> str:
    """Return some arms by name, and how many others there are."""
    listed = ", ".join(arms[:_LISTED])
    return f"{listed} and {len(arms) - _LISTED} other arms" if len(arms) > _LISTED else listed


def _table(summary: "Summary[Any]") -> list[str]:
    level = _percent(summary.confidence)
    head = ["arm", "state", "pulls", "out", "mean", f"{level} % at any time"]
    rows = [
        [str(row.arm), row.state, str(row.pulls), str(row.out), _mean(row.mean), *_ends(row[6:8])]
        for row in summary.arms
    ]
    if _forgets(summary):
        head += ["held", "their mean", f"{level} %"]
        for cells, row in zip(rows, summary.arms, strict=True):
            held = "" if row.held is None else f"{row.held:.6g}"
            cells += [held, _mean(row.held_mean), *_ends((row.held_low, row.held_high))]
    widths = [max(len(cells[i]) for cells in (head, *rows)) for i in range(len(head))]
    return ["  ".join(_aligned(cells, widths)).rstrip() for cells in (head, *rows)]


def _aligned(cells: Sequence[str], widths: Sequence[int]) -> list[str]:
    """Return cells in their widths: words to the left, numbers to the right."""
    return [
        cell.ljust(width) if i in (0, 1, 5, 8) else cell.rjust(width)
        for i, (cell, width) in enumerate(zip(cells, widths, strict=True))
    ]


def _forgets(summary: "Summary[Any]") -> bool:
    """Return whether the policy uses other rewards than all of them."""
    return any(row.held is not None and row.held != row.pulls for row in summary.arms)


def _notes(summary: "Summary[Any]") -> list[str]:
    notes: list[str] = []
    if not any(row.pulls for row in summary.arms):
        return notes
    if not summary.rewards:
        notes.append("A fleet took some of these rewards. It does not note their means.")
    elif summary.change is not None:
        notes.append(
            "The means of all pulls mix rewards from before and after the change, so they do not "
            "say which arm is best."
        )
    else:
        notes.append(
            f'Means and "at any time": all pulls, for {summary.rewards}, if no arm\'s mean changes.'
        )
    blank = [
        repr(row.arm) for row in summary.arms if row.mean is not None and _ends(row[6:8]) == [""]
    ]
    if blank:
        notes.append(
            f"No interval for {_listed(blank)}: the rewards so far do not tell how much they vary. "
            "If you know the smallest and the largest possible reward, give them: "
            "summary(bounds=(…, …))."
        )
    if _forgets(summary):
        notes.append(
            "Held: the rewards that the policy still uses; their intervals are for one look."
        )
    return notes


def _mean(mean: float | None) -> str:
    return "" if mean is None else f"{mean:.5g}"


def _ends(ends: Sequence[float]) -> list[str]:
    low, high = ends
    if math.isfinite(low) and math.isfinite(high):
        return [f"{low:.5g} … {high:.5g}"]
    return [""]


def _percent(share: float) -> str:
    """Return a share in per cent, never rounded up to 100."""
    percent = min(math.floor(share * 1000), 999) / 10  # 1 - 1e-20 is 1.0
    return f"{percent:g}"
