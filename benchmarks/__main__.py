"""Measures speed and memory, as ratios taken in one run: ``python -m benchmarks``.

It runs `core`, `live`, `store`, `field` and `table1` one after the other.
"""

import ast
from pathlib import Path

from benchmarks import core, field, live, store, table1
from benchmarks.options import Parser


def commands() -> dict[str, str]:
    """Return the first line of each command's docstring, by the name of its module."""
    folder = Path(__file__).parent
    found = {}
    for path in sorted([*folder.glob("[a-z]*.py"), *folder.glob("*/__main__.py")]):
        source = path.read_text(encoding="utf-8")
        if '\nif __name__ == "__main__":\n' in source:
            name = path.parent.name if path.stem == "__main__" else path.stem
            found[name] = (ast.get_docstring(ast.parse(source)) or "").partition("\n")[0]
    return found


def main() -> None:
    every = commands()
    wide = max(map(len, every)) + 2
    lines = [f"  {name:<{wide}}{about.partition(': ``')[0]}" for name, about in every.items()]
    about = f"{__doc__}\nCommands, each with its own --help:\n" + "\n".join(lines)
    Parser("", about, "about four minutes, once compiled").parse_args()
    core.main()
    live.main()
    store.main()
    field.main()
    print()
    table1.main()


if __name__ == "__main__":
    main()
