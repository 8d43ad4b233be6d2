"""A real Chromium for the tests of pages. Where there is none they are skipped."""

import os
import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


# Not for the whole session: playwright holds an event loop, which would stand in the way of other tests.
@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    path = os.environ.get("DEVFIX_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        pytest.skip("there is no Chromium; DEVFIX_CHROMIUM names one")
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=path, args=FLAGS, timeout=120_000)
        yield found
        found.close()
