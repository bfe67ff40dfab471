"""The types of which the bodies of requests and answers are made."""

from typing import Annotated, TypeAlias

from msgspec import Meta, Struct

MOST_ARMS, MOST_DECISIONS, USUAL_SEGMENTS = 1000, 10_000, 100

Label: TypeAlias = (
    Annotated[str, Meta(min_length=1, max_length=200, description="The label of an arm.")] | int
)
Name: TypeAlias = Annotated[
    str, Meta(min_length=1, max_length=200, description="The name of a bandit: one line of text.")
]
Floor: TypeAlias = Annotated[
    float, Meta(ge=0.0, le=1.0, description="The least share of decisions.")
]
Floors: TypeAlias = Annotated[
    float | dict[str, Floor],
    Meta(
        description="The least share of decisions: of every arm, also of arms that come later; or "
        "of single arms, by label. An arm that is not named has none.",
    ),
]
Text: TypeAlias = Annotated[str, Meta(max_length=2000)]
Unit: TypeAlias = Annotated[str, Meta(min_length=1, max_length=200)]
Segment: TypeAlias = Annotated[str, Meta(min_length=1, max_length=100)]
MostSegments: TypeAlias = Annotated[int, Meta(ge=1, le=1000)]
Seconds: TypeAlias = Annotated[float, Meta(gt=0.0, le=31_536_000.0)]


AlertAfter: TypeAlias = Annotated[
    float,
    Meta(
        gt=0.0,
        le=31_536_000.0,
        description="Raise an alert if no reward comes for so many seconds while decisions are "
        "taken; null for none.",
    ),
]


class Sent(Struct, forbid_unknown_fields=True, kw_only=True):
    """A body that a client sends."""


class Got(Struct, kw_only=True):
    """A body that a client gets."""
