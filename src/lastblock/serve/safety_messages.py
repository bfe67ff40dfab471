"""What clients send and get about holdouts, guardrails and alerts."""

from typing import Annotated, Any, Literal

from msgspec import Meta

from lastblock.serve.message_types import Got, Label, Sent


class Holdout(Sent):
    """A share of units that always get the control arm, so that the uplift is an honest one."""

    share: Annotated[float, Meta(gt=0.0, lt=1.0)]
    control: Label


class Guardrail(Sent):
    """A second number that comes with rewards; arms that are surely worse by it are paused."""

    control: Annotated[Label, Meta(description="The arm with which the others are compared.")]
    worse: Annotated[
        Literal["higher", "lower"], Meta(description="Which values are the worse ones.")
    ]
    metric: Annotated[
        str, Meta(min_length=1, max_length=100, description="What it is, for people.")
    ] = "the guardrail"
    confidence: Annotated[
        float,
        Meta(gt=0.5, lt=1.0, description="How sure it must be that an arm is worse, at any time."),
    ] = 0.99


class Group(Got):
    """The rewards of a group of decisions; null where there are too few."""

    rewards: int
    mean: float | None = None
    standard_error: float | None = None
    low: Annotated[
        float | None, Meta(description="The lower end of an interval that holds at any time.")
    ] = None
    high: float | None = None


class Uplift(Got):
    """How much more the policy has earned for each decision than the control arm."""

    policy: Group
    holdout: Group
    difference: float | None = None
    low: Annotated[
        float | None, Meta(description="The lower end of an interval that holds at any time.")
    ] = None
    high: float | None = None
    relative: Annotated[
        float | None, Meta(description="The difference by the mean of the holdout.")
    ] = None
    better: Annotated[str | None, Meta(description="`policy` or `holdout`.")] = None
    sure: Annotated[float | None, Meta(description="How sure that is, however often you look.")] = (
        None
    )
    text: str = ""


class GuardedArm(Got):
    """An arm by the guardrail's values."""

    arm: Label
    values: int
    mean: float | None
    sure: Annotated[float, Meta(description="How sure it is, at any time, that it is worse.")]


class Guarded(Got):
    """All arms by the guardrail's values."""

    metric: str
    control: Label
    arms: list[GuardedArm]


class Alert(Got):
    """Word that something happened."""

    id: str
    time: str
    kind: Annotated[str, Meta(description="`change`, `rewards-stopped` or `arm-paused`.")]
    bandit: str
    text: str
    data: dict[str, Any]
    state: Annotated[
        str, Meta(description="`waiting` or `sent`; `failed`; `kept` if there is no webhook.")
    ]
    attempts: int = 0
    problem: Annotated[str | None, Meta(description="Why it could not be sent.")] = None


class AlertList(Got):
    """The last alerts, latest first."""

    alerts: list[Alert]
