"""A headless Chromium for tests: Debian's packages chromium and chromium-driver, driven by selenium."""

from __future__ import annotations

import base64
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

# A folder for pictures of the moments that tests look at; none are made without it.
PICTURES = os.environ.get("ARMOR_PICTURES")
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--no-first-run",
    "--force-prefers-reduced-motion",
)

_NAMED_BUTTON = """
    const named = (each) => (each.getAttribute("aria-label") ?? each.textContent).trim() === arguments[0];
    const found = [...document.querySelectorAll("button")].filter(named);
    if (found.length !== 1) throw new Error(`${found.length} buttons are named ${arguments[0]}`);
    found[0].id ||= `button-${Math.random().toString(36).slice(2)}`;
    return found[0].id;
"""


def why_no_browser() -> str | None:
    """Why pages cannot be tested here; None when they can."""
    lacking = [name for name in ("chromium", "chromedriver") if shutil.which(name) is None]
    if lacking:
        return f"{', '.join(lacking)} not found: apt-get install chromium chromium-driver"
    try:
        import selenium  # noqa: F401
    except ImportError:
        return "Python package selenium is not installed: pip install -c requirements/constraints.txt selenium"
    return None


class Browser:
    """One tab; what tests do with it."""

    def __init__(self, driver) -> None:
        self.driver = driver

    def open(self, url: str, width: int = 1280, height: int = 900, scheme: str = "light") -> None:
        """Load a page on a screen of this size and colour scheme."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
        self.driver.get(url)

    def run(self, script: str, *arguments):
        """Value of a JavaScript expression in the page; `arguments[0]` is the first argument."""
        return self.driver.execute_script(f"return {script.strip()}", *arguments)

    def text(self, element_id: str) -> str:
        """Text of an element, as it is shown."""
        return self.run("document.getElementById(arguments[0]).innerText", element_id)

    def press(self, *keys: str) -> None:
        """Type into whatever has the focus."""
        from selenium.webdriver import ActionChains

        ActionChains(self.driver).send_keys(*keys).perform()

    def click(self, selector: str) -> None:
        """Click an element with the mouse."""
        from selenium.webdriver.common.by import By

        element = self.driver.find_element(By.CSS_SELECTOR, selector)
        self.driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", element)
        element.click()

    def click_button(self, name: str) -> None:
        """Click the button of this name."""
        self.click(f"#{self.button(name)}")

    def button(self, name: str) -> str:
        """Give the button of this name an id, and return it."""
        return str(self.driver.execute_script(_NAMED_BUTTON, name))

    def click_link(self, link: str) -> None:
        """Click a link on the map."""
        from selenium.webdriver import ActionChains
        from selenium.webdriver.common.by import By

        frame = self.driver.find_element(By.ID, "map")
        self.driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", frame)
        point = self.run("armor.linkPoint(arguments[0])", link)
        size = frame.size
        across, down = round(point["x"] - size["width"] / 2), round(point["y"] - size["height"] / 2)
        ActionChains(self.driver).move_to_element_with_offset(frame, across, down).click().perform()

    def complaints(self) -> list[str]:
        """What the console said since the last call."""
        return [str(entry["message"]) for entry in self.driver.get_log("browser")]

    def picture(self, name: str) -> None:
        """Keep a picture of the whole page, where the environment names a folder for it."""
        if PICTURES is None:
            return
        size = self.run("[innerWidth, document.documentElement.scrollHeight]")
        clip = {"x": 0, "y": 0, "width": size[0], "height": size[1], "scale": 1}
        shot = self.driver.execute_cdp_cmd("Page.captureScreenshot", {"captureBeyondViewport": True, "clip": clip})
        (Path(PICTURES) / f"{name}.png").write_bytes(base64.b64decode(shot["data"]))


@contextmanager
def chromium() -> Iterator[Browser]:
    """A browser with an empty profile; the test is skipped, with the reason, where there is none."""
    reason = why_no_browser()
    if reason is not None:
        pytest.skip(reason)
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    with TemporaryDirectory() as profile:
        options = webdriver.ChromeOptions()
        options.binary_location = shutil.which("chromium") or ""
        for flag in (*FLAGS, f"--user-data-dir={profile}"):
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
        try:
            yield Browser(driver)
        finally:
            driver.quit()
