"""A real Chromium for the tests of pages. Where there is none they are skipped."""

import os
import shutil
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, ViewportSize, sync_playwright

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
WIDE: ViewportSize = {"width": 1400, "height": 900}


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


@dataclass
class Served:
    """One page, or a folder of them, on a server of its own, and all that a browser asked the server for.

    Chromium hands what a page of a `file:` address stores to the next one late, or not at all: such pages are served.
    """

    port: int = 0
    html: bytes = b""
    folder: Path | None = None
    asked: list[str] = field(default_factory=list)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}/"


@pytest.fixture
def served() -> Iterator[Served]:
    found = Served()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found.asked.append(self.path)
            file = found.folder / self.path.lstrip("/") if found.folder is not None else None
            known = file is None or file.is_file()
            self.send_response(200 if known else 404)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            if known:
                self.wfile.write(file.read_bytes() if file is not None else found.html)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        found.port = server.server_port
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield found
        server.shutdown()
        thread.join()


@dataclass
class Seen:
    """What a page did that it should not do."""

    requests: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


@pytest.fixture(scope="module")
def tab(browser: Browser) -> Iterator[Page]:
    """The page of all tests of a module: to open one takes longer than most of them do."""
    page = browser.new_page(viewport=WIDE)
    yield page
    page.close()


@pytest.fixture
def view(tab: Page) -> Iterator[Page]:
    """A page as if it were new: it is wide, shows nothing, and finds nothing stored."""
    yield tab
    tab.goto("about:blank")
    tab.mouse.move(0, 0)
    tab.set_viewport_size(WIDE)
    tab.emulate_media(media="null", color_scheme="null")
    everything = {"origin": "*", "storageTypes": "local_storage"}
    tab.context.new_cdp_session(tab).send("Storage.clearDataForOrigin", everything)


def watched(page: Page) -> Seen:
    seen = Seen()
    page.on("request", lambda request: seen.requests.append(request.url))
    page.on("console", lambda message: seen.errors.append(message.text))
    page.on("pageerror", lambda error: seen.errors.append(str(error)))
    return seen
