"""``lastblock completion``: a script that lets the shell complete the program's arguments."""

import argparse
from typing import Any

from lastblock.cli.arguments import OUT, RESULTS, Parser
from lastblock.cli.reading import SIGN

SHELLS = ("bash", "zsh", "fish", "tcsh")
_EPILOG = """\
examples:
  eval "$(lastblock completion bash)"                  in this shell
  lastblock completion zsh > ~/.zfunc/_lastblock       in every shell with ~/.zfunc in $fpath
  lastblock completion fish > ~/.config/fish/completions/lastblock.fish
"""


def add(commands: "argparse._SubParsersAction[Parser]") -> Parser:
    """Declare the arguments."""
    parser = commands.add_parser(
        "completion",
        help="print a completion script for the shell",
        description="Print a script that lets the shell complete commands, options and names.",
        epilog=_EPILOG,
    )
    parser.add_argument("shell", choices=SHELLS, metavar="SHELL", help=", ".join(SHELLS))
    parser.set_defaults(execute=execute)
    return parser


def execute(options: argparse.Namespace) -> int:
    """Print the script."""
    import shtab  # noqa: PLC0415  # optional, and slow to import

    from lastblock.cli.parser import make_parser  # which imports this module  # noqa: PLC0415

    parser = make_parser()
    for action in _actions(parser):
        offered, files = getattr(action, "offered", (None, None))
        if offered and files:
            action.complete = _names_or_files(list(offered()))  # type: ignore[attr-defined]  # shtab reads this attribute
        elif offered:
            action.choices = list(offered())
        elif files == RESULTS:
            action.complete = _RESULTS  # type: ignore[attr-defined]  # shtab reads this attribute
        elif files:
            action.complete = getattr(shtab, files)  # type: ignore[attr-defined]  # shtab reads this attribute
    print(shtab.complete(parser, options.shell))
    return 0


def _actions(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    """Return the arguments of the program and of all its commands."""
    actions = list(parser._actions)
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                actions += _actions(command)
    return actions


def _names_or_files(names: list[str]) -> dict[str, Any]:
    """Return shtab's completion of a scenario: one of `names`, or a TOML file."""
    words = " ".join(names)
    return {
        "bash": "_lastblock_scenario_files",
        "zsh": "_lastblock_scenario_files",
        "fish": "(_lastblock_scenario_files)",
        "tcsh": "f:*.toml",
        "preamble": {
            "bash": (
                "_lastblock_scenario_files() {\n"
                f'  compgen -W "{words}" -- $1\n'
                "  compgen -f -X '!*.toml' -- $1\n"
                "  compgen -d -- $1\n"
                "}\n"
            ),
            "zsh": (
                "_lastblock_scenario_files() {\n"
                f"  _alternative 'names:scenario:({words})' 'files:file:_files -g \"*.toml\"'\n"
                "}\n"
            ),
            "fish": (
                "function _lastblock_scenario_files\n"
                f"  printf '%s\\n' {words}\n"
                "  __fish_complete_suffix .toml\n"
                "end\n"
            ),
        },
    }


_RESULTS: dict[str, Any] = {
    "bash": "_lastblock_results",
    "zsh": "_lastblock_results",
    "fish": "(_lastblock_results)",
    "tcsh": "d",
    "preamble": {
        "bash": (
            "_lastblock_results() {\n"
            f"  local out={OUT} i file names=\n"
            "  for ((i = 1; i < ${#COMP_WORDS[@]} - 1; i++)); do\n"
            '    [[ ${COMP_WORDS[i]} == --out ]] && out="${COMP_WORDS[i + 1]}"\n'
            "  done\n"
            f'  for file in "$out"/*/{SIGN}; do\n'
            f'    [[ -e $file ]] && file="${{file%/{SIGN}}}" && names+="${{file##*/}} "\n'
            "  done\n"
            '  compgen -W "$names" -- $1\n'
            "  compgen -d -- $1\n"
            "}\n"
        ),
        "zsh": (
            "_lastblock_results() {\n"
            "  local -a names\n"
            f"  local out=${{words[${{words[(i)--out]}}+1]:-{OUT}}}\n"
            f"  names=($out/*/{SIGN}(N:h:t))\n"
            "  _alternative \"results:result:($names)\" 'folders:folder:_files -/'\n"
            "}\n"
        ),
        "fish": (
            "function _lastblock_results\n"
            f"  set -l out {OUT}\n"
            "  set -l typed (commandline -opc)\n"
            "  if set -l place (contains -i -- --out $typed)\n"
            "    set -q typed[(math $place + 1)]; and set out $typed[(math $place + 1)]\n"
            "  end\n"
            f"  for file in $out/*/{SIGN}\n"
            "    basename (dirname $file)\n"
            "  end\n"
            "  __fish_complete_directories (commandline -ct)\n"
            "end\n"
        ),
    },
}
"""shtab's completion of results: the names in --out, looked up when the key is pressed."""
