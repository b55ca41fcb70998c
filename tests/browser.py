"""A real browser for tests of pages: Debian's chromium, started once per session of tests.

    the fixtures `browser` and `open_page` are for all folders of tests (see conftest.py): one browser in a process

Without a browser the tests are skipped; where CI=true they fail, so that a green run cannot hide it.
"""

import os
import shutil
from dataclasses import dataclass, field

import pytest

QUIET = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
MISSING = "no chromium was found; install it with `apt-get install chromium`"


@dataclass
class Observed:
    """A page, and all that it said or asked for."""

    page: object
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)


@pytest.fixture(scope="session")
def browser():
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(MISSING)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=path, args=QUIET)
        yield launched
        launched.close()


@pytest.fixture
def open_page(browser):
    """open_page(address, width=…, …) → Observed; the options are those of a page, such as color_scheme."""
    contexts = []

    def opened(address, *, width=1280, height=800, **options):
        contexts.append(browser.new_context(viewport={"width": width, "height": height}, **options))
        observed = Observed(contexts[-1].new_page())
        observed.page.set_default_timeout(10_000)
        observed.page.on("console", lambda message: observed.complaints.append(f"{message.type}: {message.text}"))
        observed.page.on("pageerror", lambda error: observed.complaints.append(f"error: {error}"))
        observed.page.on("request", lambda request: observed.requests.append(request.url))
        observed.page.goto(address)
        return observed

    yield opened
    for context in contexts:
        context.close()
