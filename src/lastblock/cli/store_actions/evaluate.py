"""``lastblock store evaluate``: what would other policies have earned on a bandit's own log?"""

import argparse
import json
from typing import TYPE_CHECKING, Any

from lastblock.cli.arguments import Parser, whole
from lastblock.cli.failures import UserError
from lastblock.cli.policy_words import add_imports, import_all, offer_policies, read_policy
from lastblock.cli.store_actions.places import (
    add_bandit,
    add_json,
    add_place,
)
from lastblock.cli.tables import table
from lastblock.core.registry import as_written
from lastblock.support.json_safe import json_safe

if TYPE_CHECKING:
    from lastblock.replay.evaluation import Evaluations
    from lastblock.replay.replay import Replay

_LOGGED = "as it was"


def add(actions: "argparse._SubParsersAction[Parser]") -> Parser:
    """Declare the arguments."""
    parser = actions.add_parser(
        "evaluate",
        help="replay other policies on a bandit's log",
        description="Estimate what other policies would have earned, by replaying the log of a "
        "bandit to them (Li, Chu, Langford & Wang, 2011). The bandit needs a traffic floor for "
        "every arm, since only then do decisions have probabilities, and a store with "
        "keep_events. Events are dropped at random until all arms are equally likely: about K "
        "times the floor of them are left. If arms came and went, were paused or were left out, "
        "only those decisions count in which all arms could be chosen that there are now; if there "
        "is none, those with the arms of the last decision.",
    )
    add_place(parser, "store", "the path or URL of a store")
    add_bandit(parser)
    policies = parser.add_argument(
        "--policy",
        action="append",
        required=True,
        dest="policies",
        metavar="POLICY",
        help="a policy with its parameters, as in Python: LBSDAGM, 'SWLBSDA(window=400)'; "
        "several times for several policies",
    )
    offer_policies(policies)
    parser.add_argument(
        "--replications", type=whole(1), default=20, metavar="N", help="passes (default: 20)"
    )
    parser.add_argument(
        "--bootstrap",
        type=whole(0),
        default=200,
        metavar="N",
        help="passes over resampled logs, for the errors (default: 200; 0 for none)",
    )
    parser.add_argument(
        "--seed", type=whole(0), default=0, metavar="N", help="seed of all draws (default: 0)"
    )
    add_imports(parser)
    add_json(parser)
    parser.set_defaults(execute=execute)
    return parser


def execute(options: argparse.Namespace) -> int:
    """Evaluate the policies, and print a table."""
    import_all(options)
    policies = {as_written(made): made for made in map(read_policy, options.policies)}
    log, present = _read(options)
    try:
        whole_log = _replay(log)
        part = _with_arms(options, whole_log, log["choices"], present)
        usable = part.uniform(seed=options.seed)
        found: Evaluations = usable.evaluate(
            policies,
            replications=options.replications,
            bootstrap=options.bootstrap,
            seed=options.seed,
        )
    except ValueError as error:
        raise UserError(f"bandit {options.bandit!r}: {error}") from None
    logged = part.estimate()
    told = _told(options, whole_log, part, usable, found, logged)
    if options.json:
        print(json.dumps(json_safe(told), indent=2, ensure_ascii=False))
        return 0
    rows = [
        (_LOGGED, *_cells(logged.ips.value, logged.ips.standard_error, logged.ips.interval()), "")
    ]
    for name, each in found.items():
        cells = _cells(each.estimate, each.standard_error, each.interval())
        rows.append((name, *cells, f"{each.matched[:, -1].mean():,.0f}"))
    header = "policy", "mean reward", "± s.e.", "95 % interval", "matched"
    print(table(header, rows, aligned="<>><>"))
    print(_note(told))
    return 0


def _read(options: argparse.Namespace) -> tuple[dict[str, list[Any]], set[Any]]:
    """Return the columns of the log that replay needs, and the arms that can be chosen now."""
    from lastblock.store.reading import reading  # noqa: PLC0415  # slow to import

    with reading(options.store) as store:
        log = store.log(options.bandit)
        names = list(log.columns)
        columns: dict[str, list[Any]] = {name: [] for name in names}
        for rows in log.parts:
            for name, values in zip(names, zip(*rows, strict=True), strict=True):
                columns[name] += values
        keeps = store.view.keeps(store.number(options.bandit))
        arms = store.bandit(options.bandit).arms
    if not columns["arm"]:
        kept = "" if keeps else "; open the store with keep_events=True to keep them"
        raise UserError(
            f"bandit {options.bandit!r} has no decisions with a reward in its log{kept}"
        )
    known = [row for row, chance in enumerate(columns["probability"]) if chance is not None]
    if not known:
        raise UserError(
            f"the log of bandit {options.bandit!r} does not say with which probability arms were "
            "chosen, and so nothing can be said of other policies; give a bandit traffic floors "
            "for that: create(…, floor=0.05), or set_floors(0.05) from now on"
        )
    if len(known) < len(columns["arm"]):  # there were no floors all the time
        columns = {name: [values[row] for row in known] for name, values in columns.items()}
    return columns, {label for label, state in arms.items() if state == "active"}


def _replay(columns: dict[str, list[Any]]) -> "Replay":
    from lastblock.replay.replay import Replay  # noqa: PLC0415  # slow to import

    return Replay(
        {name: columns[name] for name in ("arm", "reward", "probability", "choices")},
        propensity="probability",
    )


def _with_arms(
    options: argparse.Namespace, log: "Replay", choices: list[str | None], present: set[Any]
) -> "Replay":
    """Return the decisions among the present arms; without one, those like the last decision."""
    texts = dict.fromkeys(text for text in reversed(choices) if text is not None)
    sets = [set(json.loads(text)) for text in texts]  # the last decision's first
    if sets:
        wanted = present if present in sets else sets[0]
        for part in log.by_choices():
            if set(part.arms) == wanted:
                return part
    raise UserError(
        f"the log of bandit {options.bandit!r} does not have the decisions of all arms that could "
        "be chosen; give every arm a traffic floor: create(…, floor=0.05)"
    )


def _told(
    options: argparse.Namespace,
    log: "Replay",
    part: "Replay",
    usable: "Replay",
    found: "Evaluations",
    logged: Any,
) -> dict[str, Any]:
    """Return what to print as JSON."""
    low, high = logged.ips.interval()
    return {
        "bandit": options.bandit,
        "decisions": len(log),
        "with_these_arms": len(part),
        "used": len(usable),
        "arms": list(part.arms),
        "logged": {
            "mean": logged.ips.value,
            "se": logged.ips.standard_error,
            "interval": [low, high],
        },
        "policies": [
            {
                "policy": name,
                "mean": each.estimate,
                "se": each.standard_error,
                "interval": list(each.interval()),
                "matched": float(each.matched[:, -1].mean()),
                "covers": each.covers,
            }
            for name, each in found.items()
        ],
    }


def _cells(value: float, error: float, interval: tuple[float, float]) -> tuple[str, str, str]:
    from lastblock.support.rounding import rounded  # noqa: PLC0415  # with the others

    shown, spread = rounded(value, error)
    return shown, spread, f"{interval[0]:.4g} … {interval[1]:.4g}"


def _note(told: dict[str, Any]) -> str:
    """Return on what the estimates rest."""
    words = f"{told['used']:,} of {told['decisions']:,} decisions, in which all "
    words += f"{len(told['arms'])} arms are equally likely"
    left = told["decisions"] - told["with_these_arms"]
    if left:
        arms = ", ".join(map(str, told["arms"]))
        words += f" ({arms}); {left:,} others, in which other arms could be chosen, are left out"
    covers = told["policies"][0]["covers"]
    return f"{words}.\nThe errors of policies cover {covers}."
