"""The program in a folder with a scenario."""

import pytest
from coins import SCENARIO

from lastblock.cli import main


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The current folder, with a scenario in it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "coins.toml").write_text(SCENARIO)
    return tmp_path


@pytest.fixture
def lastblock(folder, capsys):
    """Run the program: its exit status, standard output and standard error."""

    def run(*arguments):
        status = main([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        return status, out, err

    return run
