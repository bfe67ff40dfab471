"""What the site is built from: it lists everything, and needs no network. `make docs` builds it."""

import importlib
import inspect
import re
import sys
from pathlib import Path

import pytest
from sphinx.util.inventory import InventoryFile

import lastblock as lb

DOCS = Path(__file__).parents[1] / "docs"
REGISTERED = {*lb.POLICIES, *lb.DETECTORS, *lb.FAMILIES}  # listed by the site itself


@pytest.fixture
def extensions(monkeypatch):
    """The folder docs/extensions, as conf.py imports it."""
    monkeypatch.syspath_prepend(DOCS)
    yield
    for name in [name for name in sys.modules if name.split(".")[0] == "extensions"]:
        del sys.modules[name]


def described():
    """The names on the API page, as written there after `import lastblock as lb`."""
    page = (DOCS / "reference" / "api.md").read_text()
    names = set(re.findall(r"`lb\.(\w+)`", page))
    for module, block in re.findall(r"module:: lastblock(\S*)\n(.*?)^```", page, re.S | re.M):
        listed = re.findall(r"^   ([\w.]+)$", block, re.M)
        names |= {f"{module}.{name}".lstrip(".") for name in listed}
    return names


def test_the_api_page_has_every_public_name():
    names = {name for name in lb.__all__ if not inspect.ismodule(getattr(lb, name))} - REGISTERED
    for module in ("client", "lab", "testing"):
        public = importlib.import_module(f"lastblock.{module}").__all__
        names |= {f"{module}.{name}" for name in public}
    assert sorted(names - described()) == []


@pytest.mark.usefixtures("extensions")
def test_every_policy_has_a_page_and_a_kind():
    from extensions.policy_pages import OTHERS, kinds, table  # noqa: PLC0415  # found by the fixture

    found = kinds()
    assert OTHERS not in found, "add them to the README's table of policies"
    pages = sorted(page for group in found.values() for page in group)
    ours = [cls for cls in lb.POLICIES.values() if cls.__module__.startswith("lastblock")]
    assert pages == sorted(cls.__name__.lower() for cls in ours)
    assert "[LB-SDA-LM](/policies/lbsdalm.md) |" in table(["lbsdalm"])


@pytest.mark.usefixtures("extensions")
def test_every_command_is_on_the_page():
    from extensions.command_help import commands  # noqa: PLC0415  # found by the fixture

    assert {"run", "reproduce", "compare"} <= commands().keys()
    assert all("usage: lastblock" in parser.format_help() for parser in commands().values())


@pytest.mark.usefixtures("extensions")
def test_links_to_other_projects_need_no_network(tmp_path):
    from extensions.inventories import local_inventories  # noqa: PLC0415  # found by the fixture

    mapping = local_inventories(DOCS / "inventories.toml", tmp_path)
    address, file = mapping["numpy"]
    with Path(file).open("rb") as stream:
        inventory = InventoryFile.load(stream, address, lambda base, page: base + page)
    seeds = inventory["py:class"]["numpy.random.SeedSequence"]
    assert seeds.uri.startswith(address)
    assert seeds.uri.endswith("#numpy.random.SeedSequence")
    assert local_inventories(DOCS / "inventories.toml", None)["numpy"] == (address, None)
