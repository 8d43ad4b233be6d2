"""The page in a real Chromium: no script of the analysed code runs, nothing is fetched, and the controls work."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from ...chromium import Served, watched
from ..conftest import BUGGY, Devfix
from ..test_notebooks import small
from .hostile import NAMES, PAYLOADS

pytestmark = pytest.mark.slow

BUG = (
    "import torch\nfrom torch import nn\nfrom torch.utils.data import DataLoader\n"
    "device = torch.device('cuda')\nmodel = nn.Linear(2, 2).to(device)\ncriterion = nn.MSELoss()\n"
    "def train(loader: DataLoader):\n    for x, y in loader:  # {text}\n"
    "        x = x.to(device)\n        note = '''{text}'''\n        loss = criterion(model(x), y)\n"
)


def provoke(page: Page) -> None:
    """What a reader may do to the page, so that whatever waits for it gets its chance."""
    for selector in (".finding h4", ".path", ".message", ".diff"):
        for node in page.locator(selector).all()[:50]:
            node.hover()
    for _ in range(30):
        page.keyboard.press("Tab")
    page.wait_for_timeout(300)


class TestHostile:
    def test_no_script_of_the_code_runs(self, tree: Path, devfix: Devfix, view: Page, served: Served) -> None:
        _write_hostile(tree)
        assert devfix("report", "--jobs", "1").code == 2
        served.html = (tree / "devfix-report.html").read_bytes()
        seen = watched(view)
        view.goto(served.address)
        provoke(view)
        assert view.evaluate("window.owned") is None
        assert view.locator(".file").count() == len(PAYLOADS) * 2 + len(NAMES)
        assert view.locator(".errors li").count() == len(NAMES)
        assert (seen.requests, seen.errors) == ([served.address], [])
        assert served.asked == ["/"]
        assert view.url == served.address

    def test_even_markup_that_slipped_through_could_not_run(
        self, view: Page, served: Served, tree: Path, devfix: Devfix
    ) -> None:
        (tree / "a.py").write_text(BUG.format(text="here"))
        assert devfix("report").code == 1
        html = (tree / "devfix-report.html").read_text()
        served.html = html.replace("</h1>", f"</h1>{''.join(map(str, PAYLOADS[4:8]))}").encode()
        view.goto(served.address)
        provoke(view)
        assert view.locator("header img").count() == 2
        assert view.evaluate("window.owned") is None
        assert served.asked == ["/"]

    @pytest.mark.parametrize("payload", [PAYLOADS[0], PAYLOADS[4], PAYLOADS[6]])
    def test_without_escapes_they_would(self, view: Page, served: Served, payload: str) -> None:
        served.html = f"<!doctype html><p>{payload}</p>".encode()
        view.goto(served.address)
        view.wait_for_function("window.owned === 1")


def _write_hostile(tree: Path) -> None:
    """Each payload in a comment and a string of a script and a notebook; each name for a file that is broken, too."""
    for number, payload in enumerate(PAYLOADS):
        text = payload.replace("\x00", "").replace("'", "\u2019")
        code = BUG.format(text=text.replace("\\", ""))
        (tree / f"script{number}.py").write_text(code)
        (tree / f"notebook{number}.ipynb").write_bytes(small(code))
    for name in NAMES:
        path = tree / name.replace("{slash}", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(BUG.format(text="here"))
        broken = path.with_name(f"broken{path.name}")
        broken.write_text(BUG.format(text="here") + "x = (\n")


@pytest.fixture
def page(tree: Path, devfix: Devfix, view: Page, library: None) -> Iterator[Page]:
    """The report of three files in two folders."""
    for name, text in {
        "one/a.py": BUGGY + "y = wrong(loader)  # unsafe needle\n",
        "one/b.py": BUGGY,
        "two/c.py": BUGGY + "z = wrong(loader)  # manual\n",
    }.items():
        (tree / name).parent.mkdir(exist_ok=True)
        (tree / name).write_text(text)
    assert devfix("report").code == 1
    seen = watched(view)
    view.goto((tree / "devfix-report.html").as_uri())
    yield view
    assert seen.errors == []


def shown(page: Page) -> list[str]:
    return [f"{one.inner_text()}" for one in page.locator(".finding h4 .place").all() if one.is_visible()]


def box(page: Page, value: str) -> Locator:
    return page.locator(f"input[value='{value}']")


class TestFilters:
    def test_at_first_everything_shows(self, page: Page) -> None:
        assert shown(page) == ["3:5", "4:5", "3:5", "3:5", "4:5"]
        assert page.inner_text("#shown") == "5 shown"
        assert not page.locator("#clear").is_visible()

    def test_boxes_of_one_kind_add_up_and_kinds_narrow(self, page: Page) -> None:
        box(page, "one").check()
        assert len(shown(page)) == 3
        box(page, "unsafe").check()
        assert shown(page) == ["4:5"]
        assert page.inner_text("#shown") == "1 of 5 shown"
        assert [one.inner_text() for one in page.locator(".file h3 .path").all() if one.is_visible()] == ["one/a.py"]
        box(page, "safe").check()
        assert len(shown(page)) == 3

    def test_search_by_keyboard(self, page: Page) -> None:
        page.keyboard.press("/")
        page.keyboard.type("NEEDLE wrong")
        expect(page).to_have_url(re.compile(r"#\?q=NEEDLE\+wrong$"))
        assert page.inner_text("#shown") == "2 of 5 shown"
        assert shown(page) == ["3:5", "4:5"]
        page.locator("#query").fill("c.py")
        expect(page).to_have_url(re.compile(r"#\?q=c\.py$"))
        assert shown(page) == ["3:5", "4:5"]
        page.locator("#query").fill("such a thing is nowhere")
        page.locator("#nothing").wait_for(state="visible")
        page.get_by_role("button", name="Clear filters").click()
        assert len(shown(page)) == 5
        expect(page).to_have_url(re.compile(r"^[^?]*$"))

    def test_the_address_holds_the_filters(self, page: Page) -> None:
        box(page, "two").check()
        box(page, "by hand").check()
        expect(page).to_have_url(re.compile(r"by[+ %]"))
        filtered = page.url
        page.goto("about:blank")
        page.goto(filtered)
        assert shown(page) == ["4:5"]
        assert box(page, "two").is_checked()
        page.evaluate("location.hash = '#?folder=one'")
        expect(box(page, "two")).not_to_be_checked()
        assert len(shown(page)) == 3

    def test_an_address_of_something_else_filters_nothing(self, page: Page) -> None:
        page.goto(page.url.partition("#")[0] + "#?rule=DVF999&q=")
        assert page.locator("#query").input_value() == ""
        assert len(shown(page)) == 5

    def test_a_link_to_a_rule_leaves_the_filters(self, page: Page) -> None:
        box(page, "two").check()
        page.get_by_role("link", name="About DVF101").last.click()
        expect(page).to_have_url(re.compile(r"#rule-DVF101$"))
        assert page.locator("#about-DVF101").is_visible()
        assert len(shown(page)) == 2


class TestReading:
    def test_folding(self, page: Page) -> None:
        page.get_by_role("button", name="Fold all").click()
        assert not page.locator(".diff").first.is_visible()
        page.get_by_role("button", name="Unfold all").click()
        assert page.locator(".diff").first.is_visible()
        page.locator(".finding summary").first.focus()
        page.keyboard.press("Enter")
        assert not page.locator(".diff").first.is_visible()

    def test_the_theme(self, page: Page) -> None:
        colours = []
        for _ in range(3):
            page.locator("#theme").click()
            colours.append(page.evaluate("getComputedStyle(document.body).backgroundColor"))
        assert colours[0] == colours[2] != colours[1]
        page.emulate_media(color_scheme="dark")
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == colours[1]

    def test_what_is_chosen_is_remembered(self, page: Page, tree: Path, served: Served) -> None:
        served.html = (tree / "devfix-report.html").read_bytes()
        page.goto(served.address)
        for _ in range(2):
            page.locator("#theme").click()
        page.reload()
        assert page.inner_text("#theme") == "Theme: dark"

    @pytest.mark.parametrize("width", [320, 360, 390])
    def test_a_phone(self, page: Page, width: int) -> None:
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        gone, come = (page.locator(f".edit {tag}").first.bounding_box() for tag in ("del", "ins"))
        assert gone
        assert come
        assert (gone["x"], gone["y"] + gone["height"]) == (come["x"], come["y"])
        assert page.locator(".same").first.locator("code").nth(0).is_visible()
        assert not page.locator(".same").first.locator("code").nth(1).is_visible()

    def test_a_wide_screen(self, page: Page) -> None:
        gone, come = (page.locator(f".edit {tag}").first.bounding_box() for tag in ("del", "ins"))
        assert gone
        assert come
        assert gone["y"] == come["y"]
        assert gone["x"] + gone["width"] < come["x"]

    def test_paper(self, page: Page) -> None:
        page.get_by_role("button", name="Fold all").click()
        page.emulate_media(media="print", color_scheme="dark")
        assert not page.locator(".tools").is_visible()
        assert page.locator(".diff").first.bounding_box()
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"

    def test_by_keyboard_the_first_stop_leads_to_the_findings(self, page: Page) -> None:
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.textContent") == "Skip to the findings"
        page.keyboard.press("Enter")
        assert page.evaluate("document.activeElement.id") == "findings"

    def test_without_scripts_everything_can_be_read(self, browser: Browser, page: Page) -> None:
        with browser.new_context(java_script_enabled=False) as context:
            plain = context.new_page()
            plain.goto(page.url)
            assert plain.locator(".finding:visible").count() == 5
            assert not plain.locator("input:visible").count()
