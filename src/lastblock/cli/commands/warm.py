"""``lastblock warm``: compile ahead what live bandits will need."""

import argparse
import json

from lastblock.cli.arguments import Parser, whole
from lastblock.cli.failures import UserError
from lastblock.cli.policy_words import add_imports, import_all, offer_policies, read_policy
from lastblock.core.registry import as_written

_EPILOG = """\
examples:
  lastblock warm LBSDAGM
  lastblock warm LBSDAGM 'Thompson(family="gaussian")' --rooms 2,4,8,16,32 --floors
  lastblock warm 'InTurn(first=1)' --imports my_policies.py
  NUMBA_CACHE_DIR=/cache lastblock warm LBSDAGM      in the image of a container, say
"""


def add(commands: "argparse._SubParsersAction[Parser]") -> Parser:
    """Declare the arguments."""
    parser = commands.add_parser(
        "warm",
        help="compile ahead what live bandits need",
        description="Compile ahead what live bandits need, on all cores, and say what was on the "
        "disk already. Every later process finds the code there. A bandit has room for 2, 4, 8, "
        "16, 32 … arms.",
        epilog=_EPILOG,
    )
    policies = parser.add_argument(
        "policies",
        nargs="+",
        metavar="POLICY",
        help="a policy with its parameters, as in Python: LBSDAGM, 'SWLBSDA(window=400)'",
    )
    offer_policies(policies)
    parser.add_argument(
        "--rooms",
        type=_rooms,
        default=[2, 4, 8, 16],
        metavar="N,N,…",
        help="for how many arms (default: 2,4,8,16)",
    )
    parser.add_argument(
        "--floors", action="store_true", help="for bandits with traffic floors, too"
    )
    parser.add_argument(
        "--processes",
        type=whole(1),
        metavar="N",
        help="how many compile at the same time (default: one per core)",
    )
    add_imports(parser)
    parser.add_argument("--json", action="store_true", help="print JSON on standard output")
    parser.set_defaults(execute=execute)
    return parser


def _rooms(text: str) -> list[int]:
    """Return the numbers in ``2,4,8``."""
    return [whole(2)(part.strip()) for part in text.split(",")]


def execute(options: argparse.Namespace) -> int:
    """Compile, and print what was done."""
    from lastblock.kernels.compile_cache import cache_folder  # noqa: PLC0415  # slow to import
    from lastblock.kernels.jit import DISABLED  # noqa: PLC0415  # slow to import
    from lastblock.live.warming import warm  # noqa: PLC0415  # slow to import

    import_all(options)
    policies = [read_policy(text) for text in options.policies]
    folder = cache_folder()
    if DISABLED or folder is None:
        raise UserError(
            "compiled code cannot be kept: "
            + (
                "NUMBA_DISABLE_JIT is set; unset it"
                if DISABLED
                else "no folder can be written; set NUMBA_CACHE_DIR to one that can"
            )
        )
    try:
        done = warm(policies, options.rooms, floors=options.floors, processes=options.processes)
    except ValueError as error:  # a policy cannot play that many arms
        raise UserError(str(error)) from None
    if options.json:
        rows = [
            {
                "policy": as_written(row.policy),
                "room": row.room,
                "was_there": row.was_there,
                "seconds": round(row.seconds, 3),
            }
            for row in done
        ]
        print(json.dumps({"folder": str(folder), "code": rows}, indent=2, ensure_ascii=False))
        return 0
    print(done)
    print(f"kept in {folder}")
    return 0
