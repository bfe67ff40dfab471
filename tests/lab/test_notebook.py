"""The notebooks in docs/ run from top to bottom, and show what they hold."""

import importlib.util
from pathlib import Path

import nbformat
import pytest

from trials import trial

DOCS = Path(__file__).parents[2] / "docs"


def executed(path, folder):
    """What `python docs/run_notebooks.py` makes of a notebook."""
    spec = importlib.util.spec_from_file_location("run_notebooks", DOCS / "run_notebooks.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.executed(path, folder)


def outputs(notebook):
    return [output for cell in notebook.cells for output in cell.get("outputs", [])]


def words(notebook):
    """All text that the cells show, without spaces, since versions of pandas align differently."""
    texts = [
        output.get("text", output.get("data", {}).get("text/plain", ""))
        for output in outputs(notebook)
    ]
    return [text.split() for text in texts]


@trial
@pytest.mark.parametrize("path", sorted(DOCS.rglob("*.ipynb")), ids=lambda path: path.name)
def test_notebook(path, tmp_path):
    kept, fresh = nbformat.read(path, as_version=4), executed(path, tmp_path)
    assert words(kept) == words(fresh)  # else run `python docs/run_notebooks.py`
    shown = [mime for output in outputs(kept) for mime in output.get("data", {})]
    assert "text/html" in shown  # a result shows itself
    assert "image/png" in shown  # and so does a figure
