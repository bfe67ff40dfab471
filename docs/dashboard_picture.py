"""Draw docs/images/dashboard.png: a page of the dashboard, in Chromium, of a bandit with a past.

Run it from the root of the repository: ``python docs/dashboard_picture.py``.
"""

import json
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from selenium import webdriver
from selenium.webdriver.chrome.service import Service

import lastblock as lb

PICTURE = Path(__file__).parent / "images" / "dashboard.png"
DECISIONS, DAYS = 30_000, 5.0
BEFORE = {"calm": 0.031, "bold": 0.046, "playful": 0.037}
AFTER = {"calm": 0.033, "bold": 0.018, "playful": 0.041}


def fill(path: str) -> None:
    """Make a store with a bandit that has seen a change, five days long."""
    rng = np.random.default_rng(3)
    with lb.Store(path, durability="never", keep_events=True) as store:
        bandit = store.create("checkout-headline", lb.AdaptiveLBSDA(), list(BEFORE), seed=2)
        store.create("search-ranking", lb.LBSDAGM(), ["a", "b"], seed=1)
        for number in range(DECISIONS):
            decision = bandit.ask()
            rates = BEFORE if number < DECISIONS // 2 else AFTER
            bandit.tell(decision, float(rng.random() < rates[decision.arm]))
    # The past five days instead of the past seconds, with more traffic by day than by night.
    now = time.time_ns() // 1000
    with sqlite3.connect(path) as file:
        ((last,),) = file.execute("SELECT max(event) FROM events WHERE bandit = 1")
        days = np.linspace(0.0, DAYS, 20_000)
        traffic = np.cumsum(1.2 + np.sin(2.0 * np.pi * days))
        at = np.interp(np.arange(1, last + 1) / last, traffic / traffic[-1], days) - DAYS
        times = (now + at * 86_400e6).astype(np.int64)
        rows = zip(times.tolist(), range(1, last + 1), strict=True)
        file.executemany("UPDATE events SET time = ? WHERE bandit = 1 AND event = ?", rows)
    file.close()


def take(url: str, key: str, folder: str, *, dark: bool = False, width: int = 1120) -> bytes:
    """Sign in, open the page of the bandit, and return a picture of it."""
    options = webdriver.ChromeOptions()
    options.binary_location = str(shutil.which("chromium") or shutil.which("google-chrome"))
    for flag in ("--headless=new", "--no-sandbox", "--hide-scrollbars", "--disable-gpu"):
        options.add_argument(flag)
    options.add_argument(f"--user-data-dir={folder}/profile")
    driver = Service(executable_path=str(shutil.which("chromedriver")))
    browser = webdriver.Chrome(options=options, service=driver)
    try:
        features = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        size = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 600}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        browser.get(f"{url}/dashboard/bandits/checkout-headline")
        browser.find_element("name", "key").send_keys(key + "\n")
        for _ in range(100):
            if browser.find_elements("css selector", ".chart canvas"):
                break
            time.sleep(0.1)
        time.sleep(0.5)
        size["height"] = browser.execute_script(
            "const table = document.querySelector('#details section');"
            "return Math.ceil(table.getBoundingClientRect().bottom) + 24"
        )
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        time.sleep(0.5)
        return bytes(browser.get_screenshot_as_png())
    finally:
        browser.quit()


def main() -> None:
    """Serve a store, and take the picture."""
    with tempfile.TemporaryDirectory() as folder:
        fill(f"{folder}/shop.db")
        command = [sys.executable, "-m", "lastblock", "serve", f"{folder}/shop.db", "--port", "0"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
            try:
                assert server.stdout is not None
                lines = [server.stdout.readline() for _ in range(2)]
                (url,) = re.findall(r"http://\S+", lines[0])
                PICTURE.write_bytes(take(url, lines[1].split()[-1], folder))
            finally:
                server.terminate()
    print(json.dumps({"picture": str(PICTURE.relative_to(Path.cwd()))}))


if __name__ == "__main__":
    main()
