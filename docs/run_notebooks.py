"""Run the notebooks in docs/ and keep what they show: ``python docs/run_notebooks.py``."""

import os
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient

DOCS = Path(__file__).parent
_TIME = 300  # seconds for a cell; the first one compiles


def executed(path: Path, folder: Path) -> nbformat.NotebookNode:
    """Return the notebook with what its cells show, when run in this folder."""
    notebook = nbformat.read(path, as_version=4)
    resources = {"metadata": {"path": str(folder)}}
    NotebookClient(notebook, timeout=_TIME, resources=resources).execute()
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)  # when each cell ran
    return notebook


def main() -> None:
    """Run all notebooks, each in a folder of its own."""
    for path in sorted(DOCS.rglob("*.ipynb")):
        with tempfile.TemporaryDirectory() as folder:
            notebook = executed(path, Path(folder))
        notebook.metadata["language_info"] = {"name": "python"}  # not its version here
        nbformat.write(notebook, path)
        print(f"{os.path.relpath(path)}: {path.stat().st_size / 1024:.0f} KiB")


if __name__ == "__main__":
    main()
