"""The report, as a file and in a real browser."""

import base64
import errno
import json
import os
import re
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from selenium.webdriver import ActionChains, Keys
from selenium.webdriver.support.ui import WebDriverWait

import lastblock as lb
from browser import Page, open_browser
from lastblock.cli import main
from lastblock.kernels.background import compiling
from lastblock.lab import statistics
from lastblock.lab.descriptions import describe_environment
from lastblock.lab.report.page import write_report
from lastblock.lab.report.results import pooled

HOSTILE = (
    "</script><b class=evil>$title & \"quoted\" 'text'</b><script>document.evil = 1</script>"
    r" $\bad{$ 漢字"
)
HORIZON = 300
FIRST = [lb.Bernoulli(0.9), lb.Bernoulli(0.1), lb.Bernoulli(0.9)]
SECOND = [lb.Bernoulli(0.1), lb.Bernoulli(0.9), lb.Bernoulli(0.2)]
WINDOW, MEMORY = lb.SWLBSDA(window=60), lb.LBSDALM()
POLICIES = {
    "window": WINDOW,
    "memory": MEMORY,
    "window again": WINDOW,
    "memory again": MEMORY,
}
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
SVG = (
    b'<svg xmlns="http://www.w3.org/2000/svg" width="40" height="20">'
    b"<script>document.evil = 1</script></svg>"
)


def claim(text, check, *policies, margin=None):
    return lb.lab.Claim(text, check, policies, margin)


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Everyday results and odd ones, all from the same two kernels."""
    out = tmp_path_factory.mktemp("results")

    def run(name, environment, policies, replications, **more):
        scenario = lb.lab.Scenario(
            name=name,
            environment=environment,
            horizon=HORIZON,
            policies=policies,
            replications=replications,
            **more,
        )
        return lb.lab.run(scenario, out=out)

    many = {f"a label that goes on <i>&</i> on, {'x' * k}, number {k}": WINDOW for k in range(20)}
    drifting = lb.Drifting(
        [lb.Bernoulli(0.5), lb.Bernoulli(0.5), lb.Gaussian(0.5, 0.1)],
        means=[lb.Sinusoid(0.5, 0.4, 200), lb.Table([0.2, 0.8], [0, 100]), lb.Table([0.1] * 300)],
    )
    steady = run("steady", lb.Stationary(SECOND), {"only": MEMORY}, 30)
    about = json.loads(json.dumps(steady.about))
    about["scenario"] |= {"name": "drift", "environment": describe_environment(drifting)}
    return {
        "changing": run(
            "changing",
            lb.Piecewise({0: FIRST, 150: SECOND}),
            POLICIES,
            60,
            title="Three coins",
            source='title = "Three coins"\n',
            claims=(
                claim("remembering helps", "order", "memory", "window"),
                claim("forgetting helps", "order", "window", "memory"),
            ),
        ),
        "steady": steady,
        "single": run("single", lb.Stationary(FIRST), {"a": WINDOW, "b": MEMORY}, 1),
        "many": run("many", lb.Piecewise({0: FIRST, 150: SECOND}), many, 60),
        "hostile": run(
            "hostile",
            lb.Stationary(SECOND),
            {HOSTILE: MEMORY, "b": WINDOW},
            2,
            title=HOSTILE,
            source=HOSTILE,
            claims=(claim(HOSTILE, "best", HOSTILE),),
        ),
        "drift": replace(steady, about={**about, "lai_robbins": None}),
    }


@pytest.fixture(scope="module")
def page_path(results, tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "report.html"
    frame = pd.DataFrame({"policy": ["LB-SDA", "<b>"], "T = 10³": [12, 3], "ns": [1.5, None]})
    commands = ["lastblock reproduce --replications 60", "lastblock report"]
    everything = [results[name] for name in ("changing", "steady", "single", "many", "drift")]
    return write_report(path, everything, table1=frame, takeover=SVG, means=PNG, commands=commands)


# ---- The file


def texts(html, pattern):
    return [re.sub(r"<[^>]*>", "", found) for found in re.findall(pattern, html, re.S)]


def table_after(html, heading):
    """The cells of each row below a heading: the numbers to sort by, or the texts."""
    table = html.split(f"{heading}</h3>")[1].split("</table>")[0].split("<tbody>")[1]
    rows = []
    for row in re.findall(r"<tr.*?</tr>", table, re.S):
        cells = re.findall(r"<t[hd]([^>]*)>(.*?)</t[hd]>", row, re.S)
        values = [(re.search('data-value="(.*?)"', about), text) for about, text in cells]
        rows.append([float(v[1]) if v else re.sub(r"<[^>]*>", "", text) for v, text in values])
    return rows


def test_the_tables_hold_the_statistics(results, tmp_path):
    result = results["changing"]
    html = write_report(tmp_path / "report.html", result).read_text()
    summary = result.summary()
    rows = table_after(html, "Final regret")
    assert [row[0] for row in rows] == list(POLICIES)
    columns = ["mean", "mean", "se", "low", "high", "q25", "q75"]
    for row, expected in zip(rows, summary[columns].to_numpy(), strict=True):
        assert row[1:8] == pytest.approx(expected.tolist(), rel=1e-8)
    assert [row[8] for row in rows] == pytest.approx(result.timing["ns_per_step"].tolist())
    assert [row[9] for row in rows] == result.policies["state_bytes"].tolist()

    differences = result.differences()
    rows = table_after(html, "Paired differences")
    assert [row[0] for row in rows] == differences["policy"].tolist()
    columns = ["difference", "difference", "low", "high", "p", "significant", "variance_reduction"]
    for row, expected in zip(rows, differences[columns].astype(float).to_numpy(), strict=True):
        assert row[1:] == pytest.approx(expected.tolist(), rel=1e-8)
    unclear = differences[~differences["significant"]]["policy"].tolist()
    assert 0 < len(unclear) < len(rows)
    (note,) = texts(html, r'<p class="note">.*?</p>')
    assert note.startswith(f"Not significant at 95 %: {unclear[0]} (p = ")

    delays = result.delay_summary().set_index(["policy", "phase"])
    for label, *cells in table_after(html, "Detection delays"):
        for phase in (0, 1):
            median, _, found = cells[3 * phase : 3 * phase + 3]
            assert median == delays["median"][label, phase]
            assert found == pytest.approx(delays["found"][label, phase])


def test_tables_are_called_by_their_names(results, tmp_path):
    """Whatever their rows are marked with."""
    html = write_report(tmp_path / "report.html", [results["changing"], results["steady"]])
    found = re.findall(r'<div class="scroll"[^>]* aria-label="(.*?)"', html.read_text())
    scenario = ["Final regret", "Paired differences", "Detection delays"]
    details = ["Pulls per phase and arm", "Arms", "Policies"]
    alone = [name for name in scenario if name != "Paired differences"]
    assert found == ["At a glance", *scenario, *details, *alone, *details]


def test_claims_are_marked_with_their_figures(results, tmp_path):
    result = results["changing"]
    html = write_report(tmp_path / "report.html", result).read_text()
    verdicts = [claim.judge(result) for claim in result.claims]
    assert [verdict.seen for verdict in verdicts] == [True, False]
    listed = texts(html.split('<ul class="claims">')[1].split("</ul>")[0], r"<li>.*?</li>")
    assert listed == [
        f"✓ seenremembering helps{verdicts[0].figures}",
        f"✗ not seenforgetting helps{verdicts[1].figures}",
    ]


def test_what_was_run_and_how_to_run_it_again(results, tmp_path, page_path):
    html = page_path.read_text()
    versions = results["changing"].about["versions"]
    for name, version in versions.items():
        assert f"<dt>{name}</dt><dd>{version}</dd>" in html
    assert "lastblock reproduce --replications 60\nlastblock report" in html
    assert "window = 60, reference = False" in html
    assert "Bernoulli(mean=0.9)" in html or "Bernoulli(0.9)" in html
    assert "centre = 0.5, amplitude = 0.4, period = 200, phase = 0" in html
    assert "linear through 0.2 at 0, 0.8 at 100" in html
    assert "table of 300 values, from 0.1 to 0.1" in html
    assert "title = &quot;Three coins&quot;" in html
    alone = write_report(tmp_path / "alone.html", results["changing"]).read_text()
    horizon = results["changing"].horizon
    assert f"lastblock run changing.toml --horizon {horizon} --replications 60 --seed 1" in alone


def test_the_paper_s_extras_make_a_page_of_their_own(tmp_path):
    frame = pd.DataFrame({"policy": ["LB-SDA"], "storage, paper": ["O(T)"], "ns": [12.5]})
    html = write_report(tmp_path / "report.html", [], table1=frame).read_text()
    assert "Table 1, measured</h2>" in html
    assert '<td data-value="12.5">12.50</td>' in html
    assert "Run it again" not in html


def test_shares_of_neighbouring_times_are_pooled():
    times = [10, 500, 501, 1000]
    shares = [0.5, 1.0, 0.0, 0.25]
    pulls = [5.0, 495.0, 495.0, 619.75]
    over = [(0, 10), (10, 500), (10, 501), (501, 1000)]  # one step alone says little
    at = dict(zip([0, *times], [0.0, *pulls], strict=True))
    assert pooled(times, shares) == pytest.approx([(at[b] - at[a]) / (b - a) for a, b in over])


def test_the_file_stands_alone_and_is_small(page_path):
    html = page_path.read_text()
    assert set(re.findall(r"https?://[\w./-]+", html)) == {"http://www.w3.org/2000/svg"}
    assert not re.search(r'(src|href)="(?!#|data:)', html)
    assert "@import" not in html
    assert "url(" not in html.split("</style>")[0]
    assert len(html) < 1_000_000


def test_the_same_results_give_the_same_file(results, tmp_path):
    one, two = (write_report(tmp_path / n, results["changing"]).read_bytes() for n in "ab")
    assert one == two


def test_a_full_disk_leaves_the_old_file(results, tmp_path, monkeypatch):
    path = tmp_path / "report.html"
    path.write_text("old")

    def full(descriptor):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        write_report(path, results["changing"])
    assert path.read_text() == "old"
    assert [file.name for file in tmp_path.iterdir()] == ["report.html"]


def test_bad_input_writes_nothing(results, tmp_path):
    path = tmp_path / "report.html"
    with pytest.raises(lb.lab.ResultError, match="give at least one"):
        write_report(path, [])
    with pytest.raises(ValueError, match="neither a PNG nor an SVG"):
        write_report(path, results["changing"], means=b"GIF89a")
    with pytest.raises(FileNotFoundError):
        write_report(path, results["changing"], takeover=tmp_path / "gone.svg")
    assert not path.exists()


# ---- In the browser


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
    groups = page.all("div.scroll[role=group]")
    names = [group.accessible_name for group in groups]
    assert names[:3] == ["At a glance", "Final regret", "Paired differences"]
    assert {"Table 1", "Arms", "Policies", "Pulls per phase and arm"} <= set(names)
    assert "" not in names
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
    assert sorted(curves(page)) == sorted(POLICIES)
    button = page.one("#scenario-1 .legend button")
    button.click()
    assert sorted(curves(page)) == sorted(set(POLICIES) - {"window"})
    assert len(page.all("#scenario-1 path.band")) == 3
    assert button.get_attribute("aria-pressed") == "false"
    button.click()
    assert sorted(curves(page)) == sorted(POLICIES)
    assert button.get_attribute("aria-pressed") == "true"
    for key in (Keys.SPACE, Keys.ENTER):
        button.send_keys(key)
        assert "window" not in curves(page)
        button.send_keys(key)
        assert "window" in curves(page)
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


def test_tables_sort(page, results):
    table = page.one("#scenario-1 h3 + .scroll table.sortable")
    means = column(page, table, 1)
    assert [float(m) for m in means] == pytest.approx(
        statistics.summary(results["changing"])["mean"].tolist()
    )
    ascending = sorted(means, key=float)
    assert means != ascending
    head, mean = table.find_elements("css selector", "thead th")[:2]
    mean.find_element("css selector", "button").click()
    assert mean.get_attribute("aria-sort") == "ascending"
    assert column(page, table, 1) == ascending
    mean.find_element("css selector", "button").send_keys(Keys.ENTER)
    assert mean.get_attribute("aria-sort") == "descending"
    assert column(page, table, 1) == ascending[::-1]
    head.find_element("css selector", "button").click()
    assert [h.get_attribute("aria-sort") for h in (head, mean)] == ["ascending", "none"]
    labels = page.run(
        "return [...arguments[0].tBodies[0].rows].map(r => r.cells[0].textContent)", table
    )
    assert labels == sorted(POLICIES)
    # What is missing stays last, either way.
    table = page.one("#table-1 table")
    cost = table.find_elements("css selector", "thead th")[2]
    for _ in range(2):
        cost.find_element("css selector", "button").click()
        assert column(page, table, 2) == ["1.5", ""]


def test_zooming_changes_the_axis_and_resetting_restores_it(page):
    whole = ticks(page)
    path = page.one("#scenario-1 .curve path.line").get_attribute("d")
    reset = page.all("#scenario-1 .tools > button")[2]
    assert not reset.is_enabled()

    drag(page, (0.4, 0.5), (0.6, 0.5))
    zoomed = ticks(page)
    assert zoomed != whole
    assert all(90 < float(t) < 190 for t in zoomed)
    assert page.one("#scenario-1 .curve path.line").get_attribute("d") != path
    reset.click()
    assert ticks(page) == whole
    assert page.one("#scenario-1 .curve path.line").get_attribute("d") == path

    values = page.texts("#scenario-1 .tick-y")
    drag(page, (0.4, 0.3), (0.6, 0.7))  # a box
    assert page.texts("#scenario-1 .tick-y") != values
    ActionChains(page.browser, duration=20).double_click(page.one(".plot svg")).perform()
    assert (ticks(page), page.texts("#scenario-1 .tick-y")) == (whole, values)

    plot = page.one(".plot svg")
    plot.send_keys("+")
    assert ticks(page) != whole
    plot.send_keys("0")
    assert ticks(page) == whole
    plot.send_keys("+")
    plot.send_keys(Keys.ESCAPE)
    assert ticks(page) == whole


def test_two_fingers_zoom(page):
    page.show_as(390, 844, mobile=True)
    page.devtools("Emulation.setTouchEmulationEnabled", enabled=True, maxTouchPoints=2)
    try:
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
    finally:
        page.devtools("Emulation.setTouchEmulationEnabled", enabled=False)


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
    assert ticks(page)[0] == "1"
    assert "100" in ticks(page)
    x = page.run(
        "return [...document.querySelectorAll('#scenario-1 .tick-x')]"
        ".map(t => +t.getAttribute('x'))"
    )
    places = dict(zip(ticks(page), x, strict=True))
    assert places["100"] - places["10"] == pytest.approx(places["10"] - places["1"], abs=0.2)


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
    assert page.texts(".claims li p")[0] == HOSTILE
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


# The page of a store's bandit.


def test_the_page_of_a_bandit(browser, tmp_path, monkeypatch):
    """No script, no error, nothing cut off on a phone, dark where the reader wants it so."""
    monkeypatch.chdir(tmp_path)
    with (
        compiling("never"),
        lb.Store(tmp_path / "shop.db", keep_events=True, durability="never") as store,
    ):
        bandit = store.create("button", MEMORY, arms=[HOSTILE, "red", "blue"], seed=7)
        for step in range(100):
            bandit.tell(bandit.ask(), float(step % 3 == 0))
        bandit.retire_arm("red")
    with compiling("never"):
        assert main(["store", "show", str(tmp_path / "shop.db"), "button", "--html", "b.html"]) == 0
    page = Page(browser).open(Path("b.html").resolve())
    assert page.messages() == []
    assert page.all(".evil") == []
    assert HOSTILE in page.texts("ul.arms li")
    assert [page.one("h1").text, *page.texts("h2")] == ["button", "Arms", "Over time", "Changes"]
    drawings = page.all("svg[role=img]")
    assert [drawing.get_attribute("aria-label") for drawing in drawings] == [
        "Share of decisions of each arm",
        "Mean reward of each arm",
    ]
    assert "arm retired: red" in page.texts("td")
    page.show_as(390, 844, mobile=True, dark=True)
    assert page.run("return document.documentElement.scrollWidth") == 390
    ground = page.run("return getComputedStyle(document.body).backgroundColor")
    assert ground == "rgb(14, 17, 22)"
    page.show_plainly()
