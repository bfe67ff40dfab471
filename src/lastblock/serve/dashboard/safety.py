"""What a bandit's page shows of its holdout, guardrail, segments and alerts."""

import json
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from lastblock.live.labels import Label
from lastblock.serve.dashboard.glance import Glance, glance
from lastblock.serve.guardrails import compare
from lastblock.serve.hosted import Hosted
from lastblock.serve.safety_messages import Uplift
from lastblock.serve.uplift import uplift

MOST_SEGMENTS = 50
"""How many segments the page of a bandit lists: those with most decisions."""


class GuardRow(NamedTuple):
    """An arm by the guardrail's values."""

    arm: Label
    values: int
    mean: float | None
    sure: float
    is_control: bool
    is_free: bool
    """Whether somebody has resumed it, so that it is guarded no longer."""


class Safety(NamedTuple):
    """All of it; None or empty for what a bandit does not have."""

    parent: str | None
    """The bandit to which this one belongs."""
    role: str
    """What it is to that one, in words."""
    uplift: Uplift | None
    control: Label | None
    share: float | None
    guardrail: dict[str, Any] | None
    guarded: list[GuardRow]
    segments: list[Glance]
    more_segments: int


def safety(hosted: Hosted) -> Safety:
    """Return what is known of a bandit's safety; it takes milliseconds."""
    notes = hosted.family.notes
    holdout, guardrail = notes.get("holdout"), notes.get("guardrail")
    is_root = hosted.parent is None
    segments = sorted(hosted.segments.values(), key=lambda each: -each.bandit.asked)
    return Safety(
        None if hosted.parent is None else hosted.parent.name,
        _role(hosted),
        uplift_of(hosted),
        holdout["control"] if isinstance(holdout, dict) and is_root else None,
        holdout["share"] if isinstance(holdout, dict) and is_root else None,
        guardrail if is_root or hosted.segment is not None else None,
        _guarded(hosted),
        [glance(each) for each in segments[:MOST_SEGMENTS]],
        max(0, len(segments) - MOST_SEGMENTS),
    )


def uplift_of(hosted: Hosted) -> Uplift | None:
    """Return what the policy has earned beyond the holdout; None if there is none."""
    return None if hosted.holdout is None else uplift(hosted)


def _role(hosted: Hosted) -> str:
    if hosted.parent is None:
        return ""
    if hosted.segment is not None:
        return f"the segment {hosted.segment}"
    return "the holdout"


def _guarded(hosted: Hosted) -> list[GuardRow]:
    found = compare(hosted)
    if found is None:
        return []
    free = hosted.family.notes.get("unguarded", ())
    return [
        GuardRow(
            each.arm,
            each.values,
            each.mean,
            each.sure,
            each.arm == found.control,
            json.dumps(each.arm) in free,
        )
        for each in found.arms
    ]


def webhook(url: str) -> str:
    """Return where alerts go, without what may be a secret in the address; empty for nowhere."""
    if not url:
        return ""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return f"{parts.scheme}://{host}" + ("/…" if parts.path.strip("/") or parts.query else "")
