"""Links into other projects' documentation, without the network.

Sphinx's intersphinx reads an inventory: a file that says on which page each name is explained. The
few names that our pages need are listed in `inventories.toml`; this module writes them as
inventories into the build folder.
"""

import tomllib
import zlib
from pathlib import Path

Mapping = dict[str, tuple[str, str | None]]


def local_inventories(names: Path, folder: Path | None) -> Mapping:
    """Write an inventory for each project, and return what intersphinx wants to know.

    Parameters
    ----------
    names
        A TOML file with a table for each project: its address (`url`), and the names that we link
        to with the page of each.
    folder
        Where to write the inventories. None writes nothing and lets Sphinx download the projects'
        own.
    """
    mapping: Mapping = {}
    for project, about in tomllib.loads(names.read_text(encoding="utf-8")).items():
        path = None
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
            path = folder / f"{project}.inv"
            path.write_bytes(_inventory(project, about["names"]))
        mapping[project] = (about["url"], None if path is None else str(path))
    return mapping


def _inventory(project: str, names: dict[str, str]) -> bytes:
    """The file format "version 2": four lines of text, then compressed lines, one for each name."""
    head = f"# Sphinx inventory version 2\n# Project: {project}\n# Version: \n"
    lines = []
    for name, place in sorted(names.items()):
        role, page = place.split(" ", 1)
        lines.append(f"{name} py:{role} 1 {page} -\n")
    body = zlib.compress("".join(lines).encode())
    return (head + "# The remainder of this file is compressed using zlib.\n").encode() + body
