"""The notebooks in docs/ run from top to bottom."""

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize("path", sorted(DOCS.rglob("*.ipynb")), ids=lambda path: path.name)
def test_notebook(path, tmp_path):
    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}})
    client.execute()
    shown = [
        mime
        for cell in notebook.cells
        for output in cell.get("outputs", [])
        for mime in output.get("data", {})
    ]
    assert "text/html" in shown  # a result shows itself
    assert "image/png" in shown  # and so does a figure
