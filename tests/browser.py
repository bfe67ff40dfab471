"""A headless Chromium for tests of pages, if Debian's packages are installed."""

import shutil
from contextlib import contextmanager
from pathlib import Path

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service

_FLAGS = (
    "--headless=new",
    "--no-sandbox",  # the tests may run as root
    "--disable-gpu",
    "--disable-dev-shm-usage",
    # Without these, the browser itself asks for updates and services on the network.
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--window-size=1280,900",
    "--force-prefers-reduced-motion",  # so that a click need not wait for the page to scroll
)


@contextmanager
def open_browser(folder):
    """A browser with its profile in a folder; skips the test where there is none."""
    chromium, driver = (
        next(filter(None, map(shutil.which, names)), None)
        for names in (("chromium", "chromium-browser", "google-chrome"), ("chromedriver",))
    )
    if chromium is None or driver is None:
        pytest.skip("needs chromium and chromedriver: apt-get install chromium chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in (*_FLAGS, f"--user-data-dir={folder / 'profile'}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    # With the path given, selenium looks for nothing on the network.
    browser = webdriver.Chrome(options=options, service=Service(executable_path=driver))
    try:
        yield browser
    finally:
        browser.quit()


class Page:
    """A page in the browser, and what tests do with it."""

    def __init__(self, browser):
        self.browser = browser

    def open(self, path: Path) -> "Page":
        self.browser.get_log("browser")
        self.browser.get(path.as_uri())
        return self

    def run(self, script, *arguments):
        return self.browser.execute_script(script, *arguments)

    def all(self, selector):
        return self.browser.find_elements("css selector", selector)

    def one(self, selector):
        return self.browser.find_element("css selector", selector)

    def texts(self, selector):
        """The texts of all such elements, in view or not."""
        script = "return [...document.querySelectorAll(arguments[0])].map(e => e.textContent)"
        return self.run(script, selector)

    def messages(self):
        """What the console has said since the page was opened."""
        return self.browser.get_log("browser")

    def devtools(self, command, **arguments):
        return self.browser.execute_cdp_cmd(command, arguments)

    def show_as(self, width, height, *, mobile=False, media="", dark=False):
        """Emulate a screen, or paper."""
        self.devtools(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=mobile,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.devtools("Emulation.setEmulatedMedia", media=media, features=[scheme])

    def show_plainly(self):
        """End all emulation."""
        self.devtools("Emulation.clearDeviceMetricsOverride")
        self.devtools("Emulation.setEmulatedMedia", media="", features=[])
        self.devtools("Emulation.setScriptExecutionDisabled", value=False)
        self.devtools("Emulation.setTouchEmulationEnabled", enabled=False)
