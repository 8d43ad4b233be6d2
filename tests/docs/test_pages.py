"""The pages say what the code knows, and the site is whole and loads nothing from elsewhere."""

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import msgspec
import pytest
from devfix.batch.manifest.document import _keys, _replay_keys
from devfix.formats import ReportFormat
from devfix.project import settings
from devfix.replay.verdicts import Kind
from devfix.review import plain
from devfix.review.screens import main
from devfix_codemods.rules import own_rules

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


def page(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


def rows(text: str) -> dict[str, str]:
    """The first two columns of the tables in the text."""
    found = re.findall(r"^\| `?([^|`]+)`? \| ([^|]*) \|", text, re.MULTILINE)
    return {key.strip(): value.strip() for key, value in found if key.strip() != "key"}


@pytest.mark.parametrize(("heading", "table"), [("# Settings", settings._Table), ("## Replay", settings._ReplayTable)])
def test_every_setting_is_there_with_its_default(heading: str, table: type[msgspec.Struct]) -> None:
    part = page("settings.md").partition(heading + "\n")[2].partition("\n## ")[0]
    documented = rows(part)
    fields = {field.encode_name: field for field in msgspec.structs.fields(table)}
    assert set(documented) == set(fields)
    for name, field in fields.items():
        if isinstance(field.default, (str, bool)):
            assert documented[name] == "`" + msgspec.json.encode(field.default).decode() + "`"
        elif field.default_factory is not msgspec.NODEFAULT:
            assert documented[name] == "none"
        else:
            assert documented[name]


@pytest.mark.parametrize(
    ("heading", "keys"), [("### Repository", _keys(ROOT)), ("### `[repo.replay]`", _replay_keys(ROOT))]
)
def test_every_key_of_a_manifest_is_there(heading: str, keys: dict[str, object]) -> None:
    table = page("batch.md").partition(heading + "\n")[2].partition("\n### ")[0]
    named = [
        key for cell in re.findall(r"^\| (`[^|]*) \|", table, re.MULTILINE) for key in re.findall(r"`([^`]+)`", cell)
    ]
    assert sorted(named) == sorted(set(keys) - {"replay"})


def test_every_format_and_verdict_is_there() -> None:
    assert {f"{one}" for one in ReportFormat} <= set(rows(page("formats.md")))
    for verdict in Kind:
        assert f"| **{verdict.value.replace('_', ' ')}** |" in page("replay.md")


def test_the_keys_of_a_review_are_those_that_it_has() -> None:
    for text in (main.HELP, plain.HELP):
        assert f"```text\n{text.strip()}\n```" in page("review.md")


@pytest.mark.parametrize("page", ["docs/architecture.md", "CONTRIBUTING.md", "README.md"])
def test_every_file_that_a_page_names_is_there(page: str) -> None:
    named = re.findall(
        r"`((?:cli|codemods|corpus|bench|tests|docs)/[\w./-]*)`", (ROOT / page).read_text(encoding="utf-8")
    )
    assert named
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_the_table_of_rules_has_each_of_them() -> None:
    table = (ROOT / "README.md").read_text(encoding="utf-8").partition("## What it repairs\n")[2]
    named = re.findall(r"^\| (DVF\d+) ([\w-]+) \|", table, re.MULTILINE)
    assert named == sorted((rule.code, rule.name) for rule in own_rules())


def test_the_first_screen_says_what_is_measured() -> None:
    """What devfix finds of what is wrong, by the last table of the bench."""
    measured = (ROOT / "bench" / "README.md").read_text(encoding="utf-8").partition("## Recall\n")[2]
    first_screen = (ROOT / "README.md").read_text(encoding="utf-8").partition("\n## ")[0]
    said = re.findall(r"(\d+) % of\sthe \w+[^(]*\(([\d,]+) of ([\d,]+)\)", first_screen)
    assert len(said) == 2
    for percent, found, number in said:
        assert re.search(rf"\| {number} \|.*\| {found} \(", measured)
        assert round(100 * int(found.replace(",", "")) / int(number.replace(",", ""))) == int(percent)
    [alarms] = re.findall(r"([\d.]+) % of\sthe correct files", first_screen)
    assert re.search(rf"\({alarms} %\) are now", measured)


class _Loads(HTMLParser):
    """What a browser fetches for a page."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "link" and given.get("rel") not in ("canonical", "next", "prev"):
            self.found.append(given.get("href") or "")
        if tag in ("script", "img", "iframe", "source", "video", "object", "embed") and given.get("src"):
            self.found.append(given["src"] or "")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder


def test_the_site_has_a_page_for_each_rule(site: Path) -> None:
    names = {path.stem for path in (site / "rules").glob("*.html")}
    assert names == {
        "index",
        "DVF001-unused-ignore",
        "DVF002-device-guard",
        *(f"{r.code}-{r.name}" for r in own_rules()),
    }


def test_the_site_loads_nothing_from_elsewhere(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    assert len(pages) > 30
    for path in pages:
        reader = _Loads()
        reader.feed(path.read_text(encoding="utf-8"))
        assert reader.found
        outside = [one for one in reader.found if re.match(r"(?:\w+:)?//", one)]
        assert not outside, path
    for style in site.rglob("*.css"):
        assert not re.search(r"url\([\"']?(?:\w+:)?//", style.read_text(encoding="utf-8")), style


def test_every_command_is_there(site: Path) -> None:
    text = (site / "commands.html").read_text(encoding="utf-8")
    for name in ("check", "rewrite", "review", "replay", "repair", "baseline", "undo"):
        assert f'<h2 id="{name}">' in text
    assert "--side-by-side" in text
