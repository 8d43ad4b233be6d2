"""The pages in a real Chromium: nothing of the repositories runs, nothing is fetched, and the controls work."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from devfix.batch.ledger import View
from devfix.batch.records import Repository, State
from devfix.batch.report import write_index, write_pages
from playwright.sync_api import Browser, Page, expect

from ..chromium import Served, watched
from ..cli.reporting.hostile import PAYLOADS
from .runs import changed, failed, fix, made
from .test_report import hostile

pytestmark = pytest.mark.slow


def write(folder: Path) -> Path:
    with View.read_only(folder) as view:
        write_index(folder, view)
        write_pages(folder, view)
    return folder / "report"


def provoke(page: Page) -> None:
    """What a reader may do to the page, so that whatever waits for it gets its chance."""
    for selector in ("td", ".path", ".message", ".diff", "dd", "li", ".groups p", "label"):
        for node in page.locator(selector).all()[:12]:
            if node.is_visible():
                node.hover()
    for _ in range(30):
        page.keyboard.press("Tab")
    page.wait_for_timeout(200)


@pytest.fixture(scope="module")
def strange(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of repositories that say what would run."""
    outcomes = [hostile(payload, f"x{number}") for number, payload in enumerate(PAYLOADS)]
    wanted = [
        Repository(f"x{number}", payload, payload, payload, labels=(payload,))
        for number, payload in enumerate(PAYLOADS)
    ]
    return write(made(tmp_path_factory.mktemp("strange"), outcomes, wanted, branch="<script>window.owned=1</script>"))


class TestHostile:
    @pytest.mark.parametrize("name", ["index.html", *(f"repositories/x{n}.html" for n in (0, 4, 7, 11))])
    def test_nothing_of_the_repositories_runs(self, strange: Path, view: Page, served: Served, name: str) -> None:
        served.html = (strange / name).read_bytes()
        seen = watched(view)
        view.goto(served.address)
        assert view.locator("html.live").count() == 1
        provoke(view)
        assert view.evaluate("window.owned") is None
        assert (seen.requests, seen.errors) == ([served.address], [])
        assert served.asked == ["/"]
        assert view.url == served.address

    def test_even_markup_that_slipped_through_could_not_run(self, strange: Path, view: Page, served: Served) -> None:
        for name in ("index.html", "repositories/x0.html"):
            html = (strange / name).read_text()
            served.html = html.replace("</h1>", f"</h1>{''.join(map(str, PAYLOADS[4:8]))}").encode()
            view.goto(served.address)
            assert view.locator("header img").count() == 2
            view.wait_for_timeout(200)
            assert view.evaluate("window.owned") is None
        assert served.asked == ["/", "/"]

    @pytest.mark.parametrize("payload", [PAYLOADS[0], PAYLOADS[4], PAYLOADS[6]])
    def test_without_escapes_it_would(self, view: Page, served: Served, payload: str) -> None:
        served.html = f"<!doctype html><p>{payload}</p>".encode()
        view.goto(served.address)
        view.wait_for_function("window.owned === 1")

    def test_filters_hold_what_strangers_wrote(self, strange: Path, view: Page) -> None:
        view.goto((strange / "index.html").as_uri())
        for box in view.locator("input[name=label]").all()[:5]:
            box.check()
            expect(view.locator("#shown")).to_have_text(f"1 of {len(PAYLOADS)} shown")
            box.uncheck()
        assert view.evaluate("window.owned") is None


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of 450 repositories, of which a few are of interest."""
    outcomes = [
        changed("good", files=100, seconds={"replay": 7.0}),
        changed("better", files=9, fixes=(fix(), fix()), seconds={"replay": 30.0}),
        failed("bad"),
        changed("ugly", state=State.REFUTED, fixes=(fix(dropped="no"),), seconds={"replay": 100.0}),
        failed("late", "time limit", "after an hour"),
    ]
    more = [Repository(f"later-{number}", "/x", labels=("night", f"team {number % 3}")) for number in range(445)]
    return write(made(tmp_path_factory.mktemp("run"), outcomes, more))


@pytest.fixture
def page(report: Path, view: Page) -> Iterator[Page]:
    seen = watched(view)
    view.goto((report / "index.html").as_uri())
    yield view
    assert seen.errors == []


def shown(page: Page) -> list[str]:
    return page.locator("tbody tr td:first-child").evaluate_all(
        "cells => cells.map(cell => cell.firstChild.textContent.trim())"
    )


class TestTable:
    def test_at_first_the_first_rows_show(self, page: Page) -> None:
        assert shown(page)[:6] == ["good", "better", "bad", "ugly", "late", "later-0"]
        assert page.locator("tbody tr").count() == 200
        assert page.inner_text("#shown") == "450 shown"
        page.get_by_role("button", name="Show 200 more").click()
        assert page.locator("tbody tr").count() == 400
        page.get_by_role("button", name="Show all 450").click()
        assert page.locator("tbody tr").count() == 450
        assert not page.locator("#more").is_visible()

    def test_filters_by_what_became_of_them(self, page: Page) -> None:
        page.locator("input[value=failed]").check()
        assert shown(page) == ["bad", "late"]
        page.locator("input[value=refuted]").check()
        assert shown(page) == ["bad", "ugly", "late"]
        page.locator("input[value='time limit']").check()
        assert shown(page) == ["late"]
        assert page.inner_text("#shown") == "1 of 450 shown"
        page.get_by_role("button", name="Clear filters").click()
        assert page.inner_text("#shown") == "450 shown"
        page.locator("input[value='team 1']").check()
        assert page.inner_text("#shown") == "148 of 450 shown"

    def test_search_by_keyboard(self, page: Page) -> None:
        page.keyboard.press("/")
        page.keyboard.type("HOST bad")
        expect(page).to_have_url(re.compile(r"#\?q=HOST\+bad$"))
        assert page.inner_text("#shown") == "1 of 450 shown"
        assert shown(page) == ["bad"]
        page.reload()
        assert shown(page) == ["bad"]
        page.locator("#query").fill("nowhere at all")
        page.locator("#nothing").wait_for(state="visible")

    def test_an_error_leads_to_its_repositories(self, page: Page) -> None:
        page.locator(".groups details", has_text="time limit").get_by_role("link", name="in the table").click()
        expect(page.locator("#shown")).to_have_text("1 of 450 shown")
        assert shown(page) == ["late"]
        assert page.locator("input[value='time limit']").is_checked()

    def test_sorting(self, page: Page) -> None:
        page.locator("input[value=queued]").check()
        page.locator("#clear").click()
        page.get_by_role("button", name="Files").click()
        assert shown(page)[:3] == ["good", "ugly", "better"]
        page.get_by_role("button", name="Seconds").click()
        assert shown(page)[:3] == ["ugly", "better", "good"]
        assert page.locator("th[aria-sort=descending]").count() == 1
        page.get_by_role("button", name="Seconds").click()
        assert page.locator("th[aria-sort=ascending]").count() == 1
        assert "ugly" not in shown(page)
        page.get_by_role("button", name="Seconds").click()
        assert shown(page)[:2] == ["good", "better"]
        assert page.locator("th[aria-sort=none]").count() == 8
        page.get_by_role("button", name="Repository").focus()
        page.keyboard.press("Enter")
        assert shown(page)[:3] == ["bad", "better", "good"]

    def test_names_with_numbers_are_in_their_order(self, page: Page) -> None:
        page.get_by_role("button", name="Repository").click()
        assert shown(page)[4:8] == ["later-0", "later-1", "later-2", "later-3"]

    def test_a_row_leads_to_its_page_and_back(self, page: Page) -> None:
        page.get_by_role("link", name="better", exact=True).click()
        expect(page.locator("h1")).to_have_text(re.compile(r"better\s+changed"))
        page.get_by_role("link", name="bad →").click()
        expect(page.locator("h1")).to_have_text(re.compile(r"bad\s+failed"))
        page.get_by_role("link", name="← better").click()
        page.get_by_role("link", name="All repositories").click()
        expect(page).to_have_url(re.compile(r"report/index\.html$"))

    def test_without_scripts_it_is_a_plain_table(self, browser: Browser, report: Path) -> None:
        with browser.new_context(java_script_enabled=False) as context:
            plain = context.new_page()
            plain.goto((report / "index.html").as_uri())
            assert plain.locator("tbody tr:visible").count() == 450
            assert not plain.locator("input:visible, button:visible, .only:visible").count()


class TestReading:
    @pytest.mark.parametrize("width", [320, 390])
    @pytest.mark.parametrize("name", ["index.html", "repositories/good.html"])
    def test_a_phone(self, report: Path, view: Page, width: int, name: str) -> None:
        view.set_viewport_size({"width": width, "height": 800})
        view.goto((report / name).as_uri())
        assert view.evaluate("document.documentElement.scrollWidth") <= width

    @pytest.mark.parametrize("width", [320, 1400])
    def test_a_phone_shows_long_words_of_strangers(self, strange: Path, view: Page, width: int) -> None:
        view.set_viewport_size({"width": width, "height": 800})
        for name in ("index.html", "repositories/x8.html"):
            view.goto((strange / name).as_uri())
            assert view.evaluate("document.documentElement.scrollWidth") <= width

    def test_the_theme_goes_with_the_reader(self, page: Page, report: Path, served: Served) -> None:
        served.folder = report
        page.goto(served.address + "index.html")
        for _ in range(2):
            page.locator("#theme").click()
        expect(page.locator("#theme")).to_have_text("Theme: dark")
        dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
        page.get_by_role("link", name="good", exact=True).click()
        expect(page.locator("h1")).to_have_text(re.compile("good"))
        expect(page.locator("#theme")).to_have_text("Theme: dark")
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == dark

    def test_a_page_that_is_open_takes_the_theme_of_another(
        self, browser: Browser, report: Path, served: Served
    ) -> None:
        served.folder = report
        with browser.new_context() as context:
            one, other = context.new_page(), context.new_page()
            one.goto(served.address + "index.html")
            other.goto(served.address + "repositories/good.html")
            one.locator("#theme").click()
            expect(other.locator("#theme")).to_have_text("Theme: light")

    def test_a_page_that_opens_leaves_the_theme_as_it_is(self, page: Page) -> None:
        page.evaluate("localStorage.clear()")
        page.reload()
        assert page.evaluate("localStorage.length") == 0

    def test_folding(self, report: Path, view: Page) -> None:
        view.goto((report / "repositories/good.html").as_uri())
        view.get_by_role("button", name="Fold all").click()
        assert not view.locator(".trail").first.is_visible()
        view.locator(".finding summary").first.focus()
        view.keyboard.press("Enter")
        assert view.locator(".trail").first.is_visible()

    def test_paper(self, report: Path, view: Page) -> None:
        for name in ("index.html", "repositories/good.html"):
            view.goto((report / name).as_uri())
            view.emulate_media(media="print", color_scheme="dark")
            assert not view.locator(".tools:visible, .pages:visible, .more:visible").count()
            assert view.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"

    @pytest.mark.parametrize(("name", "target"), [("index.html", "repositories"), ("repositories/good.html", "files")])
    def test_by_keyboard_the_first_stop_leads_to_the_content(
        self, report: Path, view: Page, name: str, target: str
    ) -> None:
        view.goto((report / name).as_uri())
        view.keyboard.press("Tab")
        assert re.match("Skip to the", view.evaluate("document.activeElement.textContent"))
        view.keyboard.press("Enter")
        assert view.evaluate("document.activeElement.id") == target
