"""Commands fill in their places on the pages and nothing else, and miss no mark too late."""

import importlib
import re
import sys
from unittest import mock

import pytest

from benchmark_modules import ROOT, imported

COMPUTES = {
    "adaptive --promises": "promises",
    "comparison": "compute",
    "figures": "figure",
    "figures --missing": "rows_of",
    "identification": "policies",
    "peers --write": "measured",
    "sections": "regret",
    "worlds": "measure",
}
"""The commands that fill in pages: the function of each without which it computes nothing."""


def command(line, monkeypatch):
    """Import a command to be run with these options; return its module."""
    name, *options = line.split()
    monkeypatch.setattr(sys, "argv", [name, *options])
    return importlib.import_module(
        f"benchmarks.{name.replace('comparison', 'comparison.__main__')}"
    )


@pytest.fixture
def pages():
    with imported("pages") as module:
        yield module


@pytest.fixture
def places(pages, monkeypatch):
    """All places that the commands check before they compute."""
    found = []

    def check_marks(parser, *places):
        found.extend(places)
        sys.exit()

    monkeypatch.setattr(pages, "check_marks", check_marks)
    for line, computes in COMPUTES.items():
        module = command(line, monkeypatch)
        monkeypatch.setattr(module, computes, None)
        with pytest.raises(SystemExit):
            module.main()
    return found


def between_marks(place):
    text = place.page.read_text(encoding="utf-8")
    return text.partition(f"<!-- {place.name} -->")[2].partition(f"<!-- end of {place.name} -->")[0]


def test_every_mark_on_a_page_is_of_a_command(places):
    files = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    marked = {
        (page, name)
        for page in files
        for name in re.findall(r"<!-- end of (.*?) -->", page.read_text(encoding="utf-8"))
    }
    assert {(place.page, place.name) for place in places} == marked


def test_what_stands_on_the_pages_is_what_would_be_filled_in(places):
    for place in places:
        text = place.page.read_text(encoding="utf-8")
        assert place.filled(between_marks(place).splitlines()) == text


def copied(folder, place):
    """Copy a page; return the place on the copy."""
    page = folder / place.page.name
    page.write_bytes(place.page.read_bytes())
    return place._replace(page=page)


def test_a_command_plays_and_fills_in_the_figures(pages, monkeypatch, tmp_path):
    figures = command("figures LBSDALM", monkeypatch)
    page = figures.PAGES / "lbsdalm.md"
    copy = copied(tmp_path, pages.Place(page, "figures")).page
    known = figures.rows_of(page)
    monkeypatch.setattr(figures, "PAGES", tmp_path)
    monkeypatch.setattr(figures, "figure", lambda name, text, *_: known[name, text])
    figures.main()
    assert copy.read_bytes() == page.read_bytes()
    known["stationary", "offset=50"] = "1.00 ± 0.10"
    figures.main()
    assert "| stationary | offset=50 | 1.00 ± 0.10 |" in copy.read_text(encoding="utf-8")


def test_a_section_is_filled_in_as_it_stands(pages, monkeypatch, capsys, tmp_path):
    sections = command("sections master", monkeypatch)
    page = sections.SECTIONS["master"].page
    place = pages.Place(sections.PAGES / f"{page}.md", "master")
    copy = copied(tmp_path, place).page
    lines = between_marks(place).strip().splitlines()[:-2]  # without the command's name
    monkeypatch.setitem(sections.SECTIONS, "master", sections.Section(page, lambda: iter(lines)))
    monkeypatch.setattr(sections, "PAGES", tmp_path)
    sections.main()
    assert copy.read_bytes() == place.page.read_bytes()
    assert "`python -m benchmarks.sections master`" in between_marks(place)
    assert "\n".join(lines) in capsys.readouterr().out


@pytest.mark.parametrize(
    ("line", "name", "made", "told"),
    [
        ("adaptive --promises", "promises", lambda: ["| new |"], "\n\n| new |\n\n"),
        ("identification", "stops", dict, "|---|---|---|---|---|\n\n<!-- end of stops -->"),
        (
            "worlds",
            "worlds",
            lambda _: {"Clicks": {"LBSDA()": (1.23, 0.1)}},
            "| Clicks | **1.2** |",
        ),
    ],
    ids=["adaptive", "identification", "worlds"],
)
def test_a_command_fills_in_what_it_has_found(line, name, made, told, pages, monkeypatch, tmp_path):
    module = command(line, monkeypatch)
    page = module.PAGE
    copy = copied(tmp_path, pages.Place(page, name))
    monkeypatch.setattr(module, "PAGE", copy.page)
    monkeypatch.setattr(module, COMPUTES[line], made)
    monkeypatch.setattr(module, "draw", mock.Mock(), raising=False)
    module.main()
    text = copy.page.read_text(encoding="utf-8")
    assert told in text
    assert pages.Place(page, name).filled(between_marks(copy).splitlines()) == text


def test_a_missing_page_is_an_error_of_one_line(pages, capsys, tmp_path):
    """All commands look for it before they compute anything; `places` needs that."""
    parser = importlib.import_module("benchmarks.options").Parser("worlds", "About.", "no time")
    with pytest.raises(SystemExit) as ended:
        pages.check_marks(parser, pages.Place(tmp_path / "page.md", "worlds"))
    told = capsys.readouterr().err
    assert (ended.value.code, told.count("\n")) == (2, 1)
    assert re.search(r": error: \S+\.md: No such file or directory", told)


@pytest.mark.parametrize(
    "text",
    [
        "no marks",
        "<!-- worlds --> the end is missing",
        "the beginning is missing <!-- end of worlds -->",
        "<!-- end of worlds --> the wrong way round <!-- worlds -->",
        "<!-- worlds --> twice <!-- end of worlds --><!-- worlds --> twice <!-- end of worlds -->",
        "<!-- worlds --> two ends <!-- end of worlds --> <!-- end of worlds -->",
    ],
)
def test_marks_that_are_not_there_once_are_an_error(text, pages, tmp_path):
    place = pages.Place(tmp_path / "page.md", "worlds")
    place.page.write_text(text)
    with pytest.raises(ValueError, match=r"the page needs the marks <!-- worlds --> .* each once"):
        place.fill(["| new |"])
    assert place.page.read_text() == text


@pytest.mark.parametrize("lines", [["| new |"], ["", "| new |", ""], iter(["| new |", "", ""])])
def test_a_blank_line_stands_above_and_below(lines, pages, tmp_path):
    place = pages.Place(tmp_path / "page.md", "gaps")
    place.page.write_text("é <!-- gaps -->old<!-- end of gaps --> \\1", encoding="utf-8")
    for inside, found in ((lines, "\n\n| new |"), ([], "")):
        place.fill(inside)
        text = place.page.read_text(encoding="utf-8")
        assert text == f"é <!-- gaps -->{found}\n\n<!-- end of gaps --> \\1"
