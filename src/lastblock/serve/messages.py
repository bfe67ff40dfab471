"""What clients send and get: the types of all bodies. The API's description is made from them."""

from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from lastblock.kernels.exact_sums import LARGEST_REWARD
from lastblock.live.ledger import LARGEST_GUARDED, Rewards
from lastblock.serve.keys import Right
from lastblock.serve.policies import DEFAULT
from lastblock.serve.problems import Problem

MOST_ARMS, MOST_DECISIONS, USUAL_SEGMENTS = 1000, 10_000, 100


def inside(bound: float) -> Meta:
    """Return the description of a number between −`bound` and `bound`."""
    return Meta(extra_json_schema={"exclusiveMinimum": -bound, "exclusiveMaximum": bound})


Label: TypeAlias = (
    Annotated[str, Meta(min_length=1, max_length=200, description="The label of an arm.")] | int
)
Name: TypeAlias = Annotated[
    str, Meta(min_length=1, max_length=200, description="The name of a bandit: one line of text.")
]
# What handlers check, with messages that say more than `msgspec` could.
LINE = Meta(extra_json_schema={"pattern": "^[^\\x00-\\x1f\\x7f-\\x9f\\u2028\\u2029]*$"})
PLAIN = Meta(extra_json_schema={"pattern": "^[^@\\x00-\\x1f\\x7f-\\x9f\\u2028\\u2029]+$"})
AnyPolicy: TypeAlias = Annotated[
    Any, Meta(extra_json_schema={"$ref": "#/components/schemas/Policy"})
]
Reward: TypeAlias = Annotated[float, inside(LARGEST_REWARD)]
Guarding: TypeAlias = Annotated[float, inside(LARGEST_GUARDED)]

Floor: TypeAlias = Annotated[
    float, Meta(ge=0.0, le=1.0, description="The least share of decisions.")
]
Floors: TypeAlias = Annotated[
    Floor | dict[str, Floor],
    Meta(
        description="The least share of decisions: of every arm, also of arms that come later; or "
        "of single arms, by label. An arm that is not named has none.",
    ),
]
Text: TypeAlias = Annotated[str, Meta(max_length=2000)]
Unit: TypeAlias = Annotated[str, Meta(min_length=1, max_length=200)]
Segment: TypeAlias = Annotated[Annotated[str, Meta(min_length=1, max_length=100)], PLAIN]
MostSegments: TypeAlias = Annotated[int, Meta(ge=1, le=1000)]
Seconds: TypeAlias = Annotated[float, Meta(gt=0.0, le=31_536_000.0)]

# The parameters of queries and headers.
PageSize: TypeAlias = Annotated[int, Meta(ge=1, le=1000)]
EventNumber: TypeAlias = Annotated[int, Meta(ge=0, le=2**53)]
Confidence: TypeAlias = Annotated[float, Meta(gt=0.0, lt=1.0)]
Bound: TypeAlias = Annotated[float, Meta(ge=-1e100, le=1e100)]  # their squares are finite
Key: TypeAlias = Annotated[str, Meta(min_length=1, max_length=255, pattern="^[ -~¡-¬®-ÿ]+$")]

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


LowerEnd: TypeAlias = Annotated[
    float | None, Meta(description="The lower end of an interval that holds at any time.")
]


class MeanReward(Got):
    """A mean reward: the mean of all rewards that have come or were set when a window closed."""

    rewards: int
    mean: float | None
    low: LowerEnd
    high: float | None


class Uplift(Got):
    """How much more the policy has earned for each decision than the control arm."""

    policy: MeanReward
    holdout: MeanReward
    difference: float | None = None
    low: LowerEnd = None
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


class NewArm(Sent):
    """An arm, with what to hand back whenever it is chosen."""

    label: Label
    payload: Any = None
    floor: Floor | None = None


class NewBandit(Sent):
    """A bandit to create."""

    name: Annotated[Name, PLAIN]
    arms: Annotated[
        list[Label | NewArm],
        Meta(min_length=2, max_length=MOST_ARMS, extra_json_schema={"uniqueItems": True}),
    ]
    policy: Annotated[
        AnyPolicy,
        Meta(description='A name, or an object such as {"policy": "SWLBSDA", "window": 500}.'),
    ] = DEFAULT
    floor: Floors | None = None
    seed: Annotated[int, Meta(ge=0)] | None = None
    room: Annotated[int, Meta(ge=2, le=MOST_ARMS)] | None = None
    description: Text = ""
    reward_window: Annotated[
        Seconds | None, Meta(description="Seconds after which a decision waits no longer.")
    ] = None
    default_reward: Annotated[
        Reward | None,
        Meta(
            description="The reward of a decision without another one at the end of the window; "
            "the policy learns all rewards then. With null it learns rewards at once, and "
            "decisions without one are forgotten.",
        ),
    ] = None
    aggregation: Annotated[
        Rewards | None,
        Meta(description="Which of several rewards of a decision counts; null if it has one."),
    ] = None
    segments: Annotated[
        MostSegments | None,
        Meta(description="Keep a bandit for each segment, up to this number; null for none."),
    ] = USUAL_SEGMENTS
    alert_after: AlertAfter | None = None
    holdout: Holdout | None = None
    guardrail: Guardrail | None = None


class ChangedBandit(Sent):
    """What to change of a bandit; what is left out stays."""

    description: Text | UnsetType = UNSET
    paused: bool | UnsetType = UNSET
    reward_window: Seconds | UnsetType | None = UNSET
    default_reward: Reward | UnsetType | None = UNSET
    aggregation: Rewards | UnsetType | None = UNSET
    floor: Annotated[Floors | UnsetType | None, Meta(description="The floors from now on.")] = UNSET
    segments: MostSegments | UnsetType | None = UNSET
    alert_after: AlertAfter | UnsetType | None = UNSET
    guardrail: Guardrail | UnsetType | None = UNSET


class ChangedArm(Sent):
    """What to change of an arm; what is left out stays."""

    payload: Any = UNSET
    paused: Annotated[
        bool | UnsetType, Meta(description="Whether to choose it no more, until further notice.")
    ] = UNSET
    floor: Annotated[
        Floor | UnsetType | None, Meta(description="Its floor; those of others stay. null for 0.")
    ] = UNSET


class ArmState(Got):
    """An arm as it is now."""

    label: Label
    state: str
    pulls: int
    floor: float | None
    payload: Any


class BanditState(Got):
    """A bandit as it is now."""

    name: str
    description: str
    policy: dict[str, Any]
    arms: list[ArmState]
    paused: bool
    floor: Annotated[
        float | None, Meta(description="The floor of every arm, also of arms that come later.")
    ]
    reward_window: float | None
    default_reward: float | None
    aggregation: Rewards | None
    holdout: Holdout | None
    segments: int | None
    guardrail: Guardrail | None
    alert_after: float | None
    seen_segments: Annotated[
        list[str], Meta(description="The segments that have a bandit of their own.")
    ]
    decisions: int
    waiting: int
    created: str | None
    version: int


class BanditLine(Got):
    """A bandit in the list of bandits."""

    name: str
    description: str
    policy: str
    arms: int
    paused: bool
    decisions: int
    waiting: Annotated[
        int | None, Meta(description="Decisions without a reward; null if another process knows.")
    ]
    damage: Annotated[
        str | None, Meta(description="Why the bandit cannot be opened, and what to do; else null.")
    ]


class BanditList(Got):
    """The bandits that a key may see, by name."""

    bandits: list[BanditLine]
    following: Annotated[
        str | None, Meta(description="Give it as `after` to get the next ones; null at the end.")
    ]


class NewDecision(Sent):
    """What to decide."""

    n: Annotated[int, Meta(ge=1, le=MOST_DECISIONS)] | None = None
    among: Annotated[
        list[Label] | None,
        Meta(description="The arms that may be chosen.", extra_json_schema={"minItems": 1}),
    ] = None
    without: Annotated[list[Label] | None, Meta(description="Arms that may not be chosen.")] = None
    segment: Annotated[
        Segment | None,
        Meta(
            description="Who is asking, as one word: each segment has a bandit of its own. There "
            "is no other context.",
        ),
    ] = None
    unit: Annotated[
        Unit | None,
        Meta(description="Whom the decision is for, such as a visitor: for the holdout."),
    ] = None
    distinct: Annotated[bool, Meta(description="Whether `n` arms must be different ones.")] = False
    why: Annotated[bool, Meta(description="Whether to say why the last one was taken.")] = False


class KeyedDecision(NewDecision):
    """One of several requests for decisions."""

    key: Key | None = None


class NewDecisions(Sent):
    """Several requests for decisions: all are taken, or none."""

    requests: Annotated[list[KeyedDecision], Meta(min_length=1, max_length=MOST_DECISIONS)]


class DecisionMade(Got):
    """An arm to use, and the token under which to report its reward."""

    arm: Label
    token: str
    probability: float | None
    payload: msgspec.Raw
    held_out: Annotated[
        bool | UnsetType, Meta(description="Whether the unit is one of the holdout.")
    ] = UNSET
    segment: Annotated[
        str | UnsetType | None,
        Meta(description="The segment whose bandit decided; null if the pooled one did."),
    ] = UNSET
    why: str | UnsetType = UNSET


class DecisionsMade(Got):
    """Several decisions, in order."""

    decisions: list[DecisionMade]


class DecisionsInTurn(Got):
    """The decisions of several requests, in order."""

    answers: list[list[DecisionMade]]


class Closed(Got):
    """The reward that the policy learns: at once, or with a default at the end of the window."""

    reward: float | None


class ClosedBy(Sent):
    """How to close a decision."""

    reward: Annotated[
        Reward | None, Meta(description="What to tell if no reward has come; null to forget it.")
    ] = None


class NewReward(Sent):
    """The reward of a decision."""

    reward: Reward
    guardrail: Annotated[
        Guarding | None, Meta(description="The value of the guardrail, if the bandit has one.")
    ] = None


class RewardOf(NewReward, kw_only=True):
    """The reward of one of several decisions."""

    token: str
    reward: float
    guardrail: float | None = None
    key: Annotated[
        Key | None,
        Meta(
            description="For a bandit that collects several rewards of a decision: a text of your "
            "own for this one, instead of the header's."
        ),
    ] = None


class Observation(Sent):
    """The reward of a decision that somebody else has taken."""

    arm: Label
    reward: Reward


class NewObservations(Sent):
    """What others have decided and got: all are learnt, or none."""

    observations: Annotated[list[Observation], Meta(min_length=1, max_length=MOST_DECISIONS)]


class NewRewards(Sent):
    """The rewards of several decisions."""

    rewards: Annotated[list[RewardOf], Meta(min_length=1, max_length=MOST_DECISIONS)]
    atomic: Annotated[
        bool, Meta(description="Whether to take all of them, or none if one is refused.")
    ] = False


class BatchResult(Got):
    """Whether a reward was taken, now or when it came before, or why not."""

    token: str
    taken: bool
    problem: Problem | UnsetType = UNSET


class BatchResults(Got):
    """A result for each reward, in the order in which they were sent."""

    taken: int
    refused: int
    results: list[BatchResult]


class ChangeList(Got):
    """Changes of the world that a policy has noticed."""

    changes: list[dict[str, Any]]


class NewEvaluation(Sent):
    """Policies to replay on the log of a bandit."""

    policies: Annotated[list[AnyPolicy], Meta(min_length=1, max_length=10)]
    replications: Annotated[int, Meta(ge=1, le=1000)] = 20
    bootstrap: Annotated[int, Meta(ge=0, le=10_000)] = 200
    seed: Annotated[int, Meta(ge=0)] = 0


class Estimated(Got):
    """What a policy would have earned for each decision, by replay; null where nobody can say."""

    policy: str
    matched: Annotated[float, Meta(description="On how many decisions it agrees with the log.")]
    estimate: float | None
    standard_error: float | None
    low: Annotated[
        float | None, Meta(description="The lower end of an interval of 95 % for a single look.")
    ]
    high: float | None


class Evaluated(Got):
    """What the bandit has earned, and what other policies would have earned."""

    decisions: Annotated[
        int, Meta(description="Decisions with a reward and a probability in the log.")
    ]
    logged: Annotated[
        MeanReward, Meta(description="Of decisions in which all present arms could be chosen.")
    ]
    used: Annotated[int, Meta(description="Those that are left when all arms are equally likely.")]
    policies: list[Estimated]


class NewKey(Sent):
    """A key to make."""

    scopes: Annotated[list[Right], Meta(min_length=1)]
    bandits: list[Annotated[Name, LINE]] | None = None
    name: Annotated[Annotated[str, Meta(max_length=200)], LINE] = ""
    days: Annotated[float, Meta(gt=0, lt=365_000)] | None = None


class KeyShown(Got):
    """What may be shown of a key."""

    id: str
    scopes: list[Right]
    bandits: list[str] | None
    name: str
    created: str
    expires: str | None


class KeyMade(KeyShown):
    """A new key; the key itself cannot be had again."""

    key: str


class KeyList(Got):
    """All keys."""

    keys: list[KeyShown]


class Alive(Got):
    """Whether the server runs."""

    status: str


class Ready(Got):
    """Whether the server takes requests, and why not."""

    status: str
    detail: str
    bandits: int
    damaged: Annotated[
        dict[str, str],
        Meta(description="Why bandits cannot be opened, by name: those that the key reaches."),
    ]
    losses: Annotated[
        list[str],
        Meta(description="Which events were lost: the database went back, or others took over."),
    ]
