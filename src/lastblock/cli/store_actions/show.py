"""``lastblock store show``: what a bandit of a store has learnt."""

import argparse
import json
from typing import TYPE_CHECKING, Any

from lastblock.cli.arguments import Parser, number
from lastblock.cli.failures import UserError
from lastblock.cli.policy_words import add_imports, import_all
from lastblock.cli.store_actions.places import (
    add_bandit,
    add_json,
    add_place,
    shown_time,
)

if TYPE_CHECKING:
    from lastblock.store.reading import About


def add(actions: "argparse._SubParsersAction[Parser]") -> Parser:
    """Declare the arguments."""
    parser = actions.add_parser(
        "show",
        help="show what a bandit has learnt",
        description="Show a bandit: arms, traffic, means with intervals, the best arm and how sure "
        "that is, rewards that are waited for, the last change of the world that the policy "
        "noticed, and who has the bandit open. Nothing is changed, and others may go on writing.",
    )
    add_place(parser, "store", "the path or URL of a store")
    add_bandit(parser)
    parser.add_argument(
        "--confidence",
        type=number,
        default=0.95,
        metavar="P",
        help="the confidence of the intervals (default: 0.95)",
    )
    add_imports(parser)
    add_json(parser)
    parser.set_defaults(execute=execute)
    return parser


def execute(options: argparse.Namespace) -> int:
    """Print the summary."""
    import_all(options)
    from lastblock.store.reading import reading  # noqa: PLC0415  # slow to import

    with reading(options.store) as store:
        about, bandit = store.about(options.bandit), store.bandit(options.bandit)
        begun = store.view.snapshot(store.number(options.bandit), first=True).next_id
        try:
            summary = bandit.summary(confidence=options.confidence)
        except ValueError as error:
            raise UserError(f"--confidence: {error}") from None
        try:
            verdict = bandit.verdict(options.confidence)
        except ValueError:  # a fleet took the rewards and did not keep enough of them
            verdict = None
    if options.json:
        told = {**about.to_dict(), "log_begins": begun, "summary": summary.to_dict()}
        told["verdict"] = None if verdict is None else verdict.to_dict()
        told["changes"] = [change.to_dict() for change in bandit.changes]
        print(json.dumps(told, indent=2, ensure_ascii=False))
        return 0
    print(f"{about.name}\n{_facts(about, bandit, begun)}\n\n{summary}")
    if verdict is not None:
        print(f"\n{verdict}")
    return 0


def _facts(about: "About", bandit: Any, begun: int) -> str:
    """Return lines about the bandit that its summary does not have."""
    oldest = bandit.pending[0].age if bandit.pending else None
    waiting = f"{len(bandit.pending):,}"
    if oldest is not None:
        waiting += f", the oldest with {oldest:,} decisions after it"
    facts = {
        "open in": about.owner or "no process",
        "last event": f"{shown_time(about.last)} UTC" if about.last is not None else "–",
        "log": f"from decision {begun:,} on",
        "waiting for a reward": waiting,
    }
    width = max(map(len, facts))
    return "\n".join(f"{name:<{width}}  {words}" for name, words in facts.items())
