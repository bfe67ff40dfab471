"""The dashboard in a real browser: live, in the dark, on a phone, by keyboard, under attack."""

from urllib.parse import quote

import pytest
from selenium.webdriver import Keys
from selenium.webdriver.support.ui import Select, WebDriverWait

from browser import Page, open_browser
from serve.program import NEW, Program

HOSTILE = (
    "</script><script>document.evil=1</script>\"'<img src=x onerror=document.evil=1>\u202e abc"
)
ODD = quote(HOSTILE, safe="")
PAGES = ["", "/alerts", f"/events?bandit={ODD}", f"/bandits/{ODD}"]
LONG = "a-label-that-goes-on-and-on-" + "x" * 120


class Site(Program):
    """A server in a process of its own, which the browser can reach."""

    def ask(self, method, path, body=None):
        status, found = self.call(method, f"/v1{path}", body)
        assert status < 300
        return found

    def create(self, name, **more):
        return self.ask("POST", "/bandits", {**NEW, "name": name, **more})

    def learn(self, name, times, guardrail=None, **asked):
        for number in range(times):
            made = self.ask("POST", f"/bandits/{quote(name, safe='')}/decisions", asked)
            reward = {"reward": float(number % 3 == 0), "guardrail": guardrail}
            self.ask("PUT", f"/decisions/{made['token']}/reward", reward)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    with Site(tmp_path_factory.mktemp("site") / "shop.db") as site:
        site.create("button")
        arms = [{"label": HOSTILE, "payload": {HOSTILE: HOSTILE}}, LONG, "b"]
        rail = {"control": HOSTILE, "worse": "higher", "metric": HOSTILE}
        more = {"description": HOSTILE, "guardrail": rail, "floor": 0.1}
        site.create(HOSTILE, arms=arms, **more, holdout={"share": 1e-9, "control": HOSTILE})
        site.ask("PATCH", f"/bandits/{ODD}/arms/b", {"paused": True})  # raises an alert
        site.learn("button", 20)
        site.learn(HOSTILE, 6, unit="a", segment=HOSTILE, guardrail=2.0)
        site.learn(HOSTILE, 6, unit="a", guardrail=2.0)
        yield site


@pytest.fixture(scope="module")
def chromium(tmp_path_factory):
    with open_browser(tmp_path_factory.mktemp("browser")) as browser:
        yield browser


class Visit(Page):
    """The dashboard in the browser."""

    def __init__(self, browser, site):
        super().__init__(browser)
        self.site = site

    def go(self, path=""):
        self.browser.get(f"{self.site.url}/dashboard{path}")
        return self

    def wait(self, what):
        return WebDriverWait(self.browser, 20, 0.05).until(lambda _: what())

    def said(self, selector):
        """The text of an element, which may be replaced at any moment."""
        return self.run("return document.querySelector(arguments[0])?.innerText || ''", selector)

    def forget(self):
        """End the page before, which may ask for more, and whoever was signed in."""
        self.browser.get("about:blank")
        self.devtools("Network.clearBrowserCookies")
        return self

    def sign_in(self, key=None):
        self.forget().go("/sign-in")
        self.wait(lambda: self.all("input[name=key]"))
        self.one("input[name=key]").send_keys((key or self.site.key) + Keys.ENTER)
        self.wait(lambda: self.all("nav[aria-label=Pages]"))
        return self


@pytest.fixture(scope="module")
def session(chromium, site):
    """The cookies of an admin: to sign in again before every test takes longer than most tests."""
    return Visit(chromium, site).sign_in().devtools("Storage.getCookies")["cookies"]


@pytest.fixture
def visit(chromium, site, session):
    visit = Visit(chromium, site).forget()
    visit.devtools("Storage.setCookies", cookies=session)
    visit.messages()
    yield visit
    visit.show_plainly()
    problems = [each for each in visit.messages() if each["level"] == "SEVERE"]
    assert problems == []  # no error of a script, nothing that the security policy has stopped
    assert visit.run("return document.evil") is None


def test_a_bandit_is_drawn_and_followed(visit, site):
    visit.go("/bandits/button")
    visit.wait(lambda: len(visit.all(".chart canvas")) == 2)
    rows = visit.texts("[data-chart=share] .u-legend .u-label")
    assert [row for row in rows if row] == ["Time", *NEW["arms"]]
    drawn = "const c = document.querySelector('.chart canvas');"
    drawn += "const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;"
    colours = "const s = new Set(); for (let i = 0; i < d.length; i += 4)"
    colours += "if (d[i + 3] === 255) s.add([d[i], d[i + 1], d[i + 2]].join()); return [...s]"
    assert {"0,114,178", "213,94,0", "0,158,115"} <= set(visit.run(drawn + colours))
    assert visit.said("#figures dd").startswith("20")
    site.learn("button", 3)
    visit.wait(lambda: visit.said("#figures dd").startswith("23"))  # nobody has reloaded it


def test_an_admin_adds_pauses_and_retires_arms(visit, site):
    site.create("changing")
    visit.go("/bandits/changing")
    visit.one("input[name=label]").send_keys("gold" + Keys.ENTER)
    visit.wait(lambda: visit.all(".note.good"))
    assert "gold" in visit.said("#details table")
    Select(visit.one("form[action$='arms/pause'] select")).select_by_visible_text("blue")
    visit.one("form[action$='arms/pause'] button[value=yes]").click()
    visit.wait(lambda: "paused" in visit.said("#details table"))
    Select(visit.one("form[action$=retire] select")).select_by_visible_text("red")
    visit.one("form[action$=retire] button").click()  # the box is not ticked: nothing is sent
    visit.one("form[action$=retire] input[type=checkbox]").click()
    visit.one("form[action$=retire] button").click()
    visit.wait(lambda: "retired" in visit.said("#details table"))
    states = {arm["label"]: arm["state"] for arm in site.ask("GET", "/bandits/changing")["arms"]}
    assert states == {"red": "retired", "green": "active", "blue": "paused", "gold": "active"}


def test_a_reader_signs_in_and_out(visit, site):
    key = site.ask("POST", "/keys", {"scopes": ["read"]})["key"]
    visit.sign_in(key).go("/bandits/button")
    assert "may read" in visit.said("footer")
    assert visit.all("main form") == []
    assert visit.texts("nav a") == ["Bandits", "Events", "Alerts"]
    visit.one("header form button").click()
    visit.wait(lambda: visit.all("input[name=key]"))


@pytest.mark.parametrize("path", PAGES)
def test_everything_has_an_accessible_name_and_on_a_phone_nothing_hangs_over(visit, path):
    visit.show_as(390, 844, mobile=True)
    visit.go(path)
    ground = []
    for dark in (False, True):
        visit.show_as(390, 844, mobile=True, dark=dark)
        if visit.all("[data-chart]"):
            visit.wait(lambda: len(visit.all(".chart canvas")) == 2)
        assert visit.run("return document.documentElement.scrollWidth") <= 390
        ground.append(visit.run("return getComputedStyle(document.body).backgroundColor"))
    assert ground[0] != ground[1]
    visit.show_plainly()
    roles = "[role=img], [role=group], [role=log]"
    wanted = f"a, button, input:not([type=hidden]), select, textarea, {roles}"
    items = [item for item in visit.all(wanted) if item.is_displayed()]
    assert items
    assert [item.get_attribute("outerHTML") for item in items if not item.accessible_name] == []
    assert visit.run("return document.documentElement.lang") == "en"
    assert len(visit.all("h1")) == 1
    assert visit.all("main")


def test_dark_mode_follows_the_system_and_the_button(visit):
    ground = "return getComputedStyle(document.body).backgroundColor"
    visit.show_as(1280, 900, dark=True)
    visit.go()
    dark, button = visit.run(ground), visit.one("#theme")
    assert (button.accessible_name, button.get_attribute("aria-pressed")) == ("Dark mode", "true")
    button.click()
    light = visit.run(ground)
    assert light != dark
    visit.go("/alerts")
    assert visit.run(ground) == light  # it is remembered
    visit.one("#theme").click()
    assert visit.run(ground) == dark
    visit.run("localStorage.clear()")


def test_the_keyboard_reaches_everything_and_the_list_follows(visit, site):
    visit.go()
    body = visit.one("body")
    body.send_keys(Keys.TAB)
    focused = visit.browser.switch_to.active_element
    assert focused.text == "Skip to the content"
    focused.send_keys(Keys.ENTER)
    assert visit.browser.switch_to.active_element.tag_name == "main"
    visit.one("input[type=search]").send_keys("butt" + Keys.ENTER)
    visit.wait(lambda: "q=butt" in visit.browser.current_url)
    assert visit.texts("tbody th a") == ["button"]
    before = int(visit.said("tbody td:nth-of-type(4)"))
    site.learn("button", 4)
    visit.wait(lambda: visit.said("tbody td:nth-of-type(4)") == f"{before + 4}")  # by itself


def test_hostile_labels_are_only_words(visit):
    visit.go(f"/bandits/{ODD}")
    visit.wait(lambda: len(visit.all(".chart canvas")) == 2)
    visit.wait(lambda: visit.all("#milestones li"))
    assert visit.said("h1").replace("\u202e", "").startswith("</script><script>")
    assert "Guardrail: </script>" in visit.said("#guardrail-title").replace("\u202e", "")
    assert visit.all("main img, main script") == []
    segment = visit.one("[aria-label=Segments] a").get_attribute("href")
    visit.browser.get(segment)
    visit.wait(lambda: len(visit.all(".chart canvas")) == 2)
    assert visit.all("main img, main script") == []
    visit.go(f"/events?bandit={ODD}")
    before = visit.wait(lambda: visit.texts("#log tbody tr td:first-child"))
    visit.site.learn(HOSTILE, 1, unit="a")
    visit.wait(lambda: len(visit.all("#log tbody tr")) > len(before))  # they come by themselves
    visit.wait(lambda: visit.texts("#log tbody tr:first-child td")[2] in ("tell", "remember"))
    assert int(visit.texts("#log tbody tr:first-child td")[0]) > int(before[0])
    assert visit.all("main img, main script") == []
    for path, words in (("/alerts", "is paused"), ("", "</script>")):
        visit.go(path)
        assert words in visit.said("main").replace("\u202e", "")
        assert visit.all("main img, main script") == []


TEXTS = """
  const found = [], box = document.querySelector("[data-chart=share]");
  const write = CanvasRenderingContext2D.prototype.fillText;
  CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
    const { a, d, e, f } = this.getTransform(), size = this.measureText(text);
    const [left, right] = [size.actualBoundingBoxLeft, size.actualBoundingBoxRight];
    const [up, down] = [size.actualBoundingBoxAscent, size.actualBoundingBoxDescent];
    const at = [a * (x - left) + e, d * (y - up) + f, a * (x + right) + e, d * (y + down) + f];
    if (text) found.push([text, ...at]);
    write.call(this, text, x, y);
  };
  box.style.width = `${arguments[1]}px`;
  lastblockCharts.draw(box, arguments[0], "share");
  const done = arguments[2];
  setTimeout(() => {
    CanvasRenderingContext2D.prototype.fillText = write;
    done([box.querySelector("canvas").width, found]);
  }, 100);
"""
MOMENT = 1_774_742_400  # midnight before the clocks are changed in Berlin, in 2026
SPANS = [(1, 1), (2, 1), (5, 1), (12, 1), (60, 1), (100, 15), (60, 60), (90, 300), (24, 3600)]
SPANS += [(48, 3600), (180, 43_200), (30, 86_400), (180, 604_800), (6, 604_800 << 14)]


@pytest.mark.parametrize("width", [300, 760, 1400])
def test_words_in_charts_never_overlap_whatever_the_span(visit, width):
    visit.devtools("Emulation.setTimezoneOverride", timezoneId="Europe/Berlin")
    visit.go("/bandits/button")
    visit.wait(lambda: len(visit.all(".chart canvas")) == 2)
    for number, length in SPANS:
        times = [MOMENT + k * length for k in range(number)]
        arm = dict.fromkeys(("share", "mean", "low", "high"), [0.5] * number)
        marks = [{"time": time, "kind": "add_arm", "text": f"arm {time} added"} for time in times]
        change = {"arm": "a rather long label", "mark": None, "old": 0.5, "new": 0.25, "text": ""}
        data = {"times": times, "length": length, "decisions": [1] * number, "milestones": marks}
        data["arms"] = [{"label": "a", "mark": None, **arm}]
        data["changes"] = [{**change, "time": time + length / 2} for time in times]
        wide, words = visit.browser.execute_async_script(TEXTS, data, width)
        says = number, length, words
        assert len(words) > 8, says
        for place, (_, left, top, right, bottom) in enumerate(words):
            assert right <= wide, says
            for _, begin, up, end, down in words[:place]:
                assert right <= begin or end <= left or bottom <= up or down <= top, says
        if number == 1:  # not years
            assert any(text.count(":") == 2 for text, *_ in words), says
    visit.devtools("Emulation.setTimezoneOverride", timezoneId="")
