"""The wheel has all that the dashboard loads: nothing is fetched from elsewhere."""

import os
import re
import zipfile
from pathlib import Path

import pytest
from hatchling.build import build_wheel

ROOT = Path(__file__).parents[2]
DASHBOARD = "lastblock/serve/dashboard"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    before = Path.cwd()
    os.chdir(ROOT)
    try:
        folder = tmp_path_factory.mktemp("wheel")
        return zipfile.ZipFile(folder / build_wheel(str(folder)))
    finally:
        os.chdir(before)


def test_it_has_every_file_of_the_dashboard(wheel):
    names = set(wheel.namelist())
    source = ROOT / "src" / DASHBOARD
    files = [*(source / "templates").iterdir(), *(source / "assets").iterdir()]
    assert {f"{DASHBOARD}/{path.relative_to(source)}" for path in files} <= names
    for name in ("uplot.js", "uplot.css", "uplot-LICENSE.txt", "dashboard.css", "dashboard.js"):
        assert len(wheel.read(f"{DASHBOARD}/assets/{name}")) > 500
    assert "lastblock/py.typed" in names
    # What templates and scripts load is in there as well.
    for path in files:
        text = wheel.read(f"{DASHBOARD}/{path.relative_to(source)}").decode()
        for asset in re.findall(r"asset\('([^']+)'\)", text):
            assert f"{DASHBOARD}/assets/{asset}" in names
        if path.suffix in (".html", ".css"):
            assert not re.search(r"(src|href|url\()\s*=?\s*[\"']?(https?:)?//", text)


def test_it_has_nothing_else(wheel):
    tops = {name.partition("/")[0] for name in wheel.namelist()}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"lastblock"}
    assert not [name for name in wheel.namelist() if name.endswith((".pyc", ".db"))]
