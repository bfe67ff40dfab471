"""The report in a real browser."""

import re
from functools import partial

import pytest
from selenium.webdriver import ActionChains, Keys
from selenium.webdriver.support.ui import WebDriverWait
from small_runs import HORIZON, HOSTILE, ODD

from browser import Page, open_browser
from lastblock.lab.report.page import write_report


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with open_browser(tmp_path_factory.mktemp("browser")) as browser:
        yield browser


@pytest.fixture
def page(browser, page_path):
    """The page, opened anew; whatever a test does, the console stays silent."""
    page = Page(browser).open(page_path)
    WebDriverWait(browser, 60).until(lambda _: ticks(page))  # drawn when the page knows its size
    yield page
    assert page.messages() == []
    page.show_plainly()


def drag(page, start, end):
    """Press the button at one share of the plot's width and height, move, let go at another."""
    plot = page.one(".plot svg")
    page.run("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", plot)
    size = plot.size
    at = [((x - 0.5) * size["width"], (y - 0.5) * size["height"]) for x, y in (start, end)]
    chain = ActionChains(page.browser, duration=20).move_to_element_with_offset(plot, *at[0])
    chain.click_and_hold().move_to_element_with_offset(plot, *at[1]).release().perform()


def ticks(page):
    return page.texts("#scenario-1 .tick-x")


def curves(page):
    return page.run(
        "return [...document.querySelectorAll('#scenario-1 .curve')]"
        ".filter(c => c.querySelector('path.line').getTotalLength() > 100)"
        ".map(c => c.dataset.label)"
    )


def test_everything_that_takes_the_focus_has_a_name(page):
    """As a screen reader says it: the browser's own idea of the accessible name."""
    page.run("document.querySelectorAll('details').forEach((d) => { d.open = true })")
    focused = page.all("button, a[href], summary, [tabindex='0'][role]")
    assert len(focused) > 50
    assert [item.get_attribute("outerHTML") for item in focused if not item.accessible_name] == []


def test_it_opens_with_figures_and_asks_the_network_for_nothing(page):
    assert page.browser.title == "Bandit policies in 5 scenarios"
    assert len(page.all(".plot svg")) == 5
    for number, count in [(1, 4), (2, 2), (3, 3), (4, 20), (5, 1)]:  # 2 and 3 with Lai–Robbins
        assert len(page.all(f"#scenario-{number} .curve path.line")) == count
    assert len(page.all("#scenario-1 path.band")) == 4
    assert len(page.all("#scenario-1 line.change")) == 1
    assert "Lai–Robbins bound" in page.texts("#scenario-2 .legend .name")
    assert page.run("return performance.getEntriesByType('resource').map(e => e.name)") == []
    broken = "return [...document.images].filter(i => !i.naturalWidth).length"
    assert page.run(broken) == 0
    assert page.run("return document.evil") is None
    colours = page.run(
        "return [...document.querySelectorAll('#scenario-4 .curve')]"
        ".map(c => [getComputedStyle(c.querySelector('.line')).stroke,"
        " c.querySelector('.line').getAttribute('stroke-dasharray')].join())"
    )
    assert len(set(colours)) == 20


def test_curves_are_switched_off_and_on(page):
    assert sorted(curves(page)) == sorted(ODD)
    button = page.one("#scenario-1 .legend button")
    for press in (
        button.click,
        *(partial(button.send_keys, key) for key in (Keys.SPACE, Keys.ENTER)),
    ):
        press()
        assert sorted(curves(page)) == sorted(set(ODD) - {"window"})
        assert len(page.all("#scenario-1 path.band")) == 3
        assert button.get_attribute("aria-pressed") == "false"
        press()
        assert sorted(curves(page)) == sorted(ODD)
        assert button.get_attribute("aria-pressed") == "true"
    everything = page.one("#scenario-1 .legend-head button")
    everything.click()
    assert curves(page) == []
    everything.click()
    assert len(curves(page)) == 4
    page.one("#scenario-1 .tools > button").click()  # the quartiles
    assert page.all("#scenario-1 path.band") == []


def column(page, table, number):
    return page.run(
        "return [...arguments[0].tBodies[0].rows].map(r => r.cells[arguments[1]].dataset.value)",
        table,
        number,
    )


def test_tables_sort(page):
    def press(head, key=Keys.ENTER):
        head.find_element("css selector", "button").send_keys(key)
        return head.get_attribute("aria-sort")

    table = page.one("#scenario-1 h3 + .scroll table.sortable")
    means = column(page, table, 1)
    ascending = sorted(means, key=float)
    assert means != ascending
    head, mean = table.find_elements("css selector", "thead th")[:2]
    for order, expected in (("ascending", ascending), ("descending", ascending[::-1])):
        assert press(mean) == order
        assert column(page, table, 1) == expected
    head.find_element("css selector", "button").click()
    assert [h.get_attribute("aria-sort") for h in (head, mean)] == ["ascending", "none"]
    labels = [row.text for row in table.find_elements("css selector", "tbody th")]
    assert labels == sorted(ODD)
    # What is missing stays last, either way.
    table = page.one("#table-1 table")
    for _ in range(2):
        press(table.find_elements("css selector", "thead th")[2])
        assert column(page, table, 2) == ["1.5", ""]


def test_zooming_changes_the_axes_and_resetting_restores_them(page):
    def view():
        line = page.one("#scenario-1 .curve path.line").get_attribute("d")
        return ticks(page), page.texts("#scenario-1 .tick-y"), line

    whole, plot = view(), page.one(".plot svg")
    reset = page.all("#scenario-1 .tools > button")[2]
    assert not reset.is_enabled()
    drag(page, (0.4, 0.5), (0.6, 0.5))
    assert all(90 < float(t) < 190 for t in ticks(page))
    assert view()[2] != whole[2]
    reset.click()
    assert view() == whole
    drag(page, (0.4, 0.3), (0.6, 0.7))  # a box
    assert view()[1] != whole[1]
    ActionChains(page.browser, duration=20).double_click(plot).perform()
    assert view() == whole
    for key in ("0", Keys.ESCAPE):
        plot.send_keys("+")
        assert ticks(page) != whole[0]
        plot.send_keys(key)
        assert view() == whole


def test_two_fingers_zoom(page):
    page.show_as(390, 844, mobile=True)
    page.devtools("Emulation.setTouchEmulationEnabled", enabled=True, maxTouchPoints=2)
    plot = page.one(".plot svg")
    page.run("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", plot)
    box = page.run("return arguments[0].getBoundingClientRect().toJSON()", plot)
    middle = box["x"] + 0.55 * box["width"]
    whole, top = ticks(page), page.run("return scrollY")
    for kind, apart in [("Start", 30), ("Move", 50), ("Move", 90), ("End", None)]:
        fingers = [] if apart is None else [middle - apart, middle + apart]
        points = [
            {"x": x, "y": box["y"] + box["height"] / 2, "id": i} for i, x in enumerate(fingers)
        ]
        page.devtools("Input.dispatchTouchEvent", type=f"touch{kind}", touchPoints=points)
    # Three times as wide: a third of the time is left.
    assert len(ticks(page)) > 1
    assert float(ticks(page)[-1]) - float(ticks(page)[0]) <= HORIZON / 3
    assert ticks(page) != whole
    assert page.run("return scrollY") == top
    page.all("#scenario-1 .tools > button")[2].click()
    assert ticks(page) == whole


def test_values_are_read_at_a_time(page, results):
    def head():
        return page.texts("#scenario-1 .when")[0]

    def values():
        return [t.split(" ")[0] for t in page.texts("#scenario-1 .legend .value")]

    assert head().endswith("at time 300")
    last = values()
    plot = page.one(".plot svg")
    ActionChains(page.browser, duration=20).move_to_element(plot).perform()
    assert 130 < int(head().split()[-1]) < 170
    assert values() != last
    assert len(page.all("#scenario-1 .cursor circle")) == 4
    ActionChains(page.browser, duration=20).move_to_element(page.one("h1")).perform()
    assert values() == last
    plot.send_keys(Keys.HOME)
    plot.send_keys(Keys.ARROW_RIGHT)
    curve = results["changing"].curves
    window = curve[curve["policy"] == "window"].iloc[1]
    assert head().endswith(f"at time {window['t']}")
    assert float(values()[0]) == pytest.approx(window["mean"], abs=0.01)
    assert f"window {values()[0]}" in page.texts("#scenario-1 .unseen[aria-live]")[0]


def test_the_other_figure_and_the_logarithmic_axis(page):
    regret, share = page.all("#scenario-1 [role=tab]")
    regret.send_keys(Keys.ARROW_RIGHT)
    assert share.get_attribute("aria-selected") == "true"
    assert page.texts("#scenario-1 .tick-y")[-1] == "100\u202f%"
    assert len(page.all("#scenario-2 .curve")) == 2
    assert page.all("#scenario-1 path.band") == []
    regret.click()
    assert len(page.all("#scenario-1 path.band")) == 4
    log = page.all("#scenario-1 .tools > button")[1]
    log.click()
    assert log.get_attribute("aria-pressed") == "true"
    x = {t.text: float(t.get_attribute("x")) for t in page.all("#scenario-1 .tick-x")}
    assert x["100"] - x["10"] == pytest.approx(x["10"] - x["1"], abs=0.2)


@pytest.mark.parametrize("name", ["page", "hostile"])
def test_on_a_phone_nothing_is_cut_off(page, results, tmp_path, name):
    if name == "hostile":
        page.open(write_report(tmp_path / "hostile.html", results["hostile"]))
    page.show_as(390, 844, mobile=True)
    page.run("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    assert page.run("return document.documentElement.scrollWidth") == 390
    page.run("scrollTo({left: 200, behavior: 'instant'})")
    assert page.run("return scrollX") == 0
    wide = page.run(
        "return [...document.querySelectorAll('.plot svg, .legend, .tools, .code, h1, h2, p')]"
        ".filter(e => e.getBoundingClientRect().right > innerWidth).length"
    )
    assert wide == 0


def luminance(page, script):
    """The light of a colour, from 0 to 1."""
    colour = page.run(f"return getComputedStyle({script}")
    channels = [int(c) / 255 for c in re.findall(r"\d+", colour)[:3]]
    linear = [c / 12.92 if c <= 0.04 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def test_dark_mode_and_paper(page):
    ground, ink = "document.body).backgroundColor", "document.body).color"
    soft = "document.querySelector('.lead')).color"
    for dark in (False, True):
        page.show_as(1280, 900, dark=dark)
        light = luminance(page, ground)
        assert (light < 0.05) is dark
        for text, contrast in ((ink, 7.0), (soft, 4.5)):
            other = luminance(page, text)
            assert (max(light, other) + 0.05) / (min(light, other) + 0.05) > contrast
    page.show_as(800, 1100, media="print", dark=True)
    assert luminance(page, ground) == pytest.approx(1.0)
    assert luminance(page, ink) < 0.05
    assert not page.one("#scenario-1 .tools").is_displayed()


def test_hostile_text_is_only_text(page, results, tmp_path):
    page.open(write_report(tmp_path / "hostile.html", results["hostile"]))
    assert page.browser.title == HOSTILE
    assert page.texts("h1") == [HOSTILE]
    assert page.run("return document.evil") is None
    assert page.all(".evil") == []
    assert page.texts(".legend .name")[0] == HOSTILE
    assert HOSTILE in page.texts("pre")


def test_commands_are_copied(page):
    page.devtools(
        "Browser.grantPermissions", permissions=["clipboardReadWrite", "clipboardSanitizedWrite"]
    )
    button = page.one("#again .copy")
    button.click()
    pasted = page.browser.execute_async_script(
        "navigator.clipboard.readText().then(arguments[0], e => arguments[0](String(e)))"
    )
    assert pasted == "lastblock reproduce --replications 60\nlastblock report"
    assert button.text == "Copied"


def test_without_scripts_there_are_tables_and_a_picture(page, page_path):
    page.devtools("Emulation.setScriptExecutionDisabled", value=True)
    page.open(page_path)
    assert page.all(".plot") == []
    assert len(page.all("#scenario-1 table tbody tr")) >= 12
    assert page.one("#scenario-1 .figure noscript > *").is_displayed()
