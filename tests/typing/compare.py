"""Two type checkers on user code: ``python -m tests.typing.compare``.

They must pass `good.py`, and report the lines of `mistakes.py` that say "# mistake", and no others.
"""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
GOOD, MISTAKES = HERE / "good.py", HERE / "mistakes.py"
MARK = "# mistake"

Reported = dict[tuple[Path, int], str]
"""The first message on each line; line 0 stands for the whole file."""


def run(*command: str) -> str:
    """What a checker prints; it ends with 1 when it has found something."""
    done = subprocess.run(
        [sys.executable, "-m", *command], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if done.returncode not in (0, 1):
        raise SystemExit(f"{command[0]} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def by_mypy() -> Reported:
    """What mypy reports, as strict as it is with the package."""
    reported: Reported = {}
    for line in run("mypy", "--strict", "--output=json", str(GOOD), str(MISTAKES)).splitlines():
        found = json.loads(line)
        if found["severity"] == "error":
            reported.setdefault((ROOT / found["file"], max(found["line"], 0)), found["message"])
    return reported


def by_pyright() -> Reported:
    """What pyright reports as it comes; basedpyright is pyright with all that it needs."""
    reported: Reported = {}
    same_python = ("--pythonpath", sys.executable)
    for found in json.loads(run("basedpyright", "--outputjson", *same_python))[
        "generalDiagnostics"
    ]:
        if found["severity"] == "error":
            line = found["range"]["start"]["line"] + 1 if "range" in found else 0
            reported.setdefault((Path(found["file"]), line), found["message"])
    return reported


def planted() -> set[tuple[Path, int]]:
    """The lines that must be reported."""
    lines = MISTAKES.read_text(encoding="utf-8").splitlines()
    return {(MISTAKES, number) for number, line in enumerate(lines, 1) if line.endswith(MARK)}


def compare(checker: str, check: Callable[[], Reported]) -> list[str]:
    """How a checker's report differs from what was planted, one sentence each."""
    reported, wanted = check(), planted()
    if not wanted:
        return [f"{MISTAKES.name} has no line that ends with {MARK!r}"]
    differences = [
        f"{path.relative_to(ROOT)}:{line}: {checker} does not report this mistake"
        for path, line in sorted(wanted - reported.keys())
    ] + [
        f"{path.relative_to(ROOT)}:{line}: {checker} reports good code: {reported[path, line]}"
        for path, line in sorted(reported.keys() - wanted)
    ]
    if not differences:
        print(f"{checker}: {GOOD.name} passes, all {len(wanted)} lines of {MISTAKES.name} reported")
    return differences


def main() -> int:
    """1 if a checker and the plan differ."""
    differences = compare("mypy", by_mypy) + compare("pyright", by_pyright)
    print("\n".join(differences), file=sys.stderr, end="\n" if differences else "")
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
