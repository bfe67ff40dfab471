"""``lastblock store evaluate``: what would other policies have earned on a bandit's own log?"""

import argparse
import json
from typing import TYPE_CHECKING

from lastblock.cli.arguments import Parser, whole
from lastblock.cli.failures import UserError
from lastblock.cli.policy_words import add_imports, import_all, offer_policies, read_policy
from lastblock.cli.store_actions.places import (
    add_bandit,
    add_json,
    add_place,
)
from lastblock.cli.tables import table
from lastblock.core.protocol import Policy
from lastblock.core.registry import as_written
from lastblock.support.json_safe import json_safe
from lastblock.support.rounding import rounded

if TYPE_CHECKING:
    from lastblock.replay.own_log import OwnLog


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
    found = _evaluated(options, policies)
    told = {
        "bandit": options.bandit,
        "decisions": found.decisions,
        "used": found.used,
        "arms": list(found.arms),
        "logged": found.logged,
        "policies": [
            {
                "policy": name,
                "matched": float(each.matched[:, -1].mean()),
                "estimate": each.estimate,
                "standard_error": each.standard_error,
                "low": each.interval()[0],
                "high": each.interval()[1],
                "covers": each.covers,
            }
            for name, each in found.policies.items()
        ],
    }
    if options.json:
        print(json.dumps(json_safe(told), indent=2, ensure_ascii=False))
        return 0
    logged = found.logged
    print(
        f"As it was: a mean reward of {logged.mean:.4g} ({logged.low:.4g} … {logged.high:.4g} at "
        f"95 %, at any time) in {logged.rewards:,} decisions."
    )
    rows = [
        (
            name,
            *rounded(each.estimate, each.standard_error),
            "{:.4g} … {:.4g}".format(*each.interval()),
            f"{each.matched[:, -1].mean():,.0f}",
        )
        for name, each in found.policies.items()
    ]
    header = "policy", "estimate", "± s.e.", "95 % interval", "matched"
    print(table(header, rows, aligned="<>><>"))
    print(_note(found))
    return 0


def _evaluated(options: argparse.Namespace, policies: dict[str, Policy]) -> "OwnLog":
    from lastblock.replay.own_log import COLUMNS, evaluate_own_log  # noqa: PLC0415  # slow
    from lastblock.store.reading import reading  # noqa: PLC0415  # slow to import

    with reading(options.store) as store:
        log = store.log(options.bandit)
        places = [list(log.columns).index(name) for name in COLUMNS]
        rows = [[row[place] for place in places] for part in log.parts for row in part]
        keeps = store.view.keeps(store.number(options.bandit))
        bandit = store.bandit(options.bandit)
    if not rows:
        kept = "" if keeps else "; open the store with keep_events=True to keep them"
        raise UserError(
            f"bandit {options.bandit!r} has no decisions with a reward in its log{kept}"
        )
    try:
        return evaluate_own_log(
            bandit,
            dict(zip(COLUMNS, zip(*rows, strict=True), strict=True)),
            policies,
            replications=options.replications,
            bootstrap=options.bootstrap,
            seed=options.seed,
        )
    except ValueError as error:
        raise UserError(f"bandit {options.bandit!r}: {error}") from None


def _note(found: "OwnLog") -> str:
    """Return on what the estimates rest."""
    words = f"Estimates are by replay of {found.used:,} of {found.decisions:,} decisions, in which "
    words += f"all {len(found.arms)} arms are equally likely"
    left = found.decisions - found.logged.rewards
    if left:
        arms = ", ".join(map(str, found.arms))
        words += f" ({arms}); {left:,} others, in which other arms could be chosen, are left out"
    covers = next(iter(found.policies.values())).covers
    return f"{words}.\nTheir errors cover {covers}."
