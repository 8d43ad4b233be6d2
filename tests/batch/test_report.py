"""The report by its structure: what it holds, what it must never hold, and that it is there whole or not at all."""

import json
import re
import tracemalloc
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from devfix.batch.ledger import ErrorGroup, Row, Run, Summary, View
from devfix.batch.records import CheckRun, Commit, Error, Outcome, Repository, State, Stop, Verdict
from devfix.batch.report import (
    Neighbours,
    Totals,
    repository,
    status_document,
    status_lines,
    summary_lines,
    write_index,
    write_page,
    write_pages,
)
from devfix.batch.report.words import duration, told, web_address
from devfix.reporting.terminal import Line
from markdown_it import MarkdownIt
from markdown_it.token import Token
from selectolax.lexbor import LexborHTMLParser, LexborNode

from ..cli.reporting.hostile import PAYLOADS
from .runs import DIFF, changed, failed, fix, made, plan

BAD = "a\u202e\u2066\u200b\x07\x1b[31m\x00z"


def texts(tree: LexborHTMLParser | LexborNode, selector: str) -> list[str]:
    return [re.sub(r"\s+", " ", node.text()).strip() for node in tree.css(selector)]


def parsed(path: Path) -> LexborHTMLParser:
    return LexborHTMLParser(path.read_bytes().decode("ascii"))


def page(folder: Path, outcome: Outcome, **wanted: object) -> LexborHTMLParser:
    """The page of a repository."""
    source = wanted.pop("source", "https://git.example/x.git")
    if outcome.patch:
        (folder / "patches").mkdir(exist_ok=True)
        (folder / "patches" / f"{outcome.name}.patch").write_bytes(outcome.patch)
    write_page(folder, outcome, Repository(outcome.name, source, **wanted))  # type: ignore[arg-type]
    return parsed(folder / "report" / "repositories" / f"{outcome.name}.html")


def index(folder: Path, *outcomes: Outcome, more: Iterable[Repository] = ()) -> LexborHTMLParser:
    with View.read_only(made(folder, outcomes, more)) as view:
        write_index(folder, view)
    return parsed(folder / "report" / "index.html")


def hostile(text: str, name: str = "x") -> Outcome:
    """A repository that says `text` wherever it can."""
    return changed(
        name,
        state=State.FAILED,
        commit=text,
        branch=text,
        fixes=(
            fix(
                path=text, code=text, name=text, message=text, safety=text, title=text, verdict=text, dropped=text,
                trail=(Stop(text, 1, text),),
            ),
        ),
        suggestions=(fix(path=text, code=text, name=text, message=text, safety=text, title=text, confidence=0.5),),
        verdicts=(Verdict(text, text, text, text, (text,)),),
        checks=(CheckRun(text, text, text, True, False, 1.0),),
        commits=(Commit(text, text),),
        diff=b"+++ b/a.py\n@@ -1,2 +1,2 @@\n " + text.encode("utf-8", "replace").replace(b"\n", b"") + b"\n-x\n+"
        + text.encode("utf-8", "replace").replace(b"\n", b"") + b"\n",
        body=text,
        published=text,
        unhandled=((text, text),),
        notes=(text,),
        error=Error(text, text),
        seconds={text: 1.0},
        worker=text,
    )  # fmt: skip


def wanted_by(text: str) -> Repository:
    return Repository("x", text, revision=text, subfolder=text, labels=(text,))


def shape(tree: LexborHTMLParser) -> list[tuple[str, tuple[str, ...]]]:
    body = tree.body
    assert body is not None
    plain = ("span", "wbr", "code", "mark")
    return [(node.tag, tuple(sorted(node.attributes))) for node in body.css("*") if node.tag not in plain]


class TestHostile:
    """First what must not happen."""

    @pytest.mark.parametrize("payload", PAYLOADS)
    def test_text_adds_no_element_and_no_attribute(self, tmp_path: Path, payload: str) -> None:
        shapes = []
        for number, text in enumerate(("harmless", payload)):
            folder = tmp_path / str(number)
            write_page(folder, hostile(text), wanted_by(text))
            shapes.append(shape(parsed(folder / "report/repositories/x.html")))
            shapes.append(shape(index(tmp_path / f"i{number}", hostile(text), more=[wanted_by(text)])))
        assert shapes[:2] == shapes[2:]

    def test_what_hides_or_turns_text_is_replaced_everywhere(self, tmp_path: Path) -> None:
        write_page(tmp_path / "page", hostile(BAD), wanted_by(BAD))
        pages = [(tmp_path / "page/report/repositories/x.html").read_bytes().decode("ascii")]
        index(tmp_path / "index", hostile(BAD), more=[wanted_by(BAD)])
        pages.append((tmp_path / "index/report/index.html").read_bytes().decode("ascii"))
        pages.append((tmp_path / "index/report.md").read_text("utf-8"))
        for shown, least in zip(pages, (20, 5, 4)):
            everything = LexborHTMLParser(shown).html or ""
            assert everything.count("a\ufffd\ufffd") >= least
            assert not {"\u202e", "\u2066", "\u200b", "\x07", "\x1b", "\x00"} & set(everything)

    def test_only_the_page_itself_may_do_anything(self, tmp_path: Path) -> None:
        trees = [index(tmp_path, changed(), failed()), page(tmp_path, changed())]
        for tree in trees:
            policy = tree.css_first("meta[http-equiv=Content-Security-Policy]").attributes["content"] or ""
            rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
            assert rules["default-src"] == "'none'"
            assert {rules["script-src"].split("-")[0], rules["style-src"].split("-")[0]} == {"'sha256"}
            assert "unsafe" not in policy
            attributes = {name for node in tree.css("*") for name in node.attributes}
            assert not {name for name in attributes if name.startswith("on")} | attributes & {"style", "src", "srcset"}

    @pytest.mark.parametrize(
        "address",
        [
            "javascript:alert(1)",
            " https://git.example/x",
            "https://user:pass@git.example/x",
            "https://git.example\u202e/x",
            "https://git.example/x\ny",
            "data:text/html,x",
            "file:///etc/passwd",
            "//git.example/x",
            "https:git.example",
            "origin/devfix/x",
        ],
    )
    def test_what_is_no_address_of_the_web_is_no_link(self, tmp_path: Path, address: str) -> None:
        outcome = changed(published=address)
        for tree in (page(tmp_path, outcome), index(tmp_path / "run", outcome)):
            links = {node.attributes["href"] or "" for node in tree.css("a[href]")}
            assert all(re.fullmatch(r"#[ -~]*|(\.\./)*[\w./-]+\.(html|patch)", link) for link in links)

    def test_an_address_of_the_web_is_one(self, tmp_path: Path) -> None:
        address = "https://git.example:8443/a/b/pull/7?x=1#y"
        assert web_address(address) == address
        outcome = changed(published="http://git.example/x")
        for tree in (page(tmp_path, outcome), index(tmp_path / "run", outcome)):
            (link,) = tree.css('a[href="http://git.example/x"]')
            assert link.attributes["rel"] == "noopener noreferrer"

    def test_credentials_are_shown_nowhere(self, tmp_path: Path) -> None:
        said = "fatal: https://u:secret@git.example/x.git and ssh://u:secret@host/x"
        outcome = changed("x", error=Error("k", said), notes=(said,), published="https://secret@git.example/x")
        folder = made(tmp_path, [outcome])
        with View.read_only(folder) as view:
            totals = write_index(folder, view)
            write_pages(folder, view)
        for name in ("report/index.html", "report/repositories/x.html", "report.md", "report.json"):
            text = (folder / name).read_text("utf-8")
            assert "git.example/x" in text
            assert "secret" not in text, name
        printed = [*status_lines(totals, 0.0, True), *summary_lines(totals, "r")]
        assert "secret" not in str(printed) + str(status_document(totals, 0.0, True))

    @pytest.mark.parametrize("longest", range(16, 40))
    def test_no_credentials_are_left_of_a_text_that_is_cut(self, longest: int) -> None:
        cut = told("failed: https://me:secret@git.example/x.git and more", longest)
        assert not any("secret"[:size] in cut.partition("://")[2] for size in range(1, 7)), cut

    def test_texts_without_end_are_cut(self, tmp_path: Path) -> None:
        endless = "x" * 1_000_000
        diff = b"+++ b/a.py\n@@ -1 +1 @@\n-%s\n+%s\n" % (b"x = 1 + " * 130_000, b"y = 1 + " * 130_000)
        folder = made(tmp_path, [msgspec.structs.replace(hostile(endless), diff=diff)])
        with View.read_only(folder) as view:
            write_index(folder, view)
            write_pages(folder, view)
        for name, most in (("index.html", 60_000), ("repositories/x.html", 180_000)):
            assert (folder / "report" / name).stat().st_size < most
        assert (folder / "report.md").stat().st_size < 5_000
        assert "y = 1" in texts(parsed(folder / "report/repositories/x.html"), ".edit ins")[0]

    def test_lines_without_end_are_left_out_and_counted(self, tmp_path: Path) -> None:
        hunk = b"@@ -%d,1 +%d,2 @@\n x\n+y\n"
        diff = b"+++ b/a.py\n" + b"".join(hunk % (number, number) for number in range(1, 3000))
        tree = page(tmp_path, changed(diff=diff))
        assert len(tree.css(".edit ins")) == 1000
        assert texts(tree, ".left-out") == ["3998 more lines of the diff are not shown; the patch has them."]


class TestMarkdown:
    @pytest.mark.parametrize(
        "text",
        [
            *PAYLOADS,
            "@someone #12 GH-3 org/repo#4 https://git.example www.git.example a@b.example",
            "a | b \\| c \\\\| d",
            "` `` ``` ```` *a* _b_ [x](y) ![x](y)",
            "`",
            "\\",
            "a\n\n# b\n\n- c",
        ],
    )
    def test_what_strangers_say_is_code(self, tmp_path: Path, text: str) -> None:
        outcome = msgspec.structs.replace(hostile(text), fixes=(), verdicts=())
        index(tmp_path, outcome, more=[wanted_by(text)])
        tokens = MarkdownIt("gfm-like", {"linkify": False}).parse((tmp_path / "report.md").read_text("utf-8"))
        assert {token.type for token in tokens if token.type.startswith("html")} == set()
        rows = [list(row) for row in _rows(tokens)]
        assert {len(row) for row in rows if len(row) > 4} == {8}
        inside = [child for token in tokens for child in token.children or ()]
        assert not [child for child in inside if child.type in ("html_inline", "image", "em_open", "strong_open")]
        links = [str(child.attrs["href"]) for child in inside if child.type == "link_open"]
        assert set(links) <= {"report/repositories/x.html"}
        plain = "".join(child.content for child in inside if child.type == "text")
        assert not set("@#`\\|<>[]") & set(plain)

    def test_the_numbers_and_the_table(self, tmp_path: Path) -> None:
        index(tmp_path, changed(), failed())
        text = (tmp_path / "report.md").read_text("utf-8")
        assert text.startswith("# devfix batch: 1 fix in 2 repositories\n")
        assert "| `clone failed` | 1 | `no such host` | [`bad`](report/repositories/bad.html) |" in text
        assert (
            "| [`good`](report/repositories/good.html) | changed | 12 | 1 | 0 | 1 `confirmed` | 13.5"
            " | `https://git.example/good/pull/1` |"
        ) in text


def _rows(tokens: list[Token]) -> Iterator[Iterator[Token]]:
    """The cells of each row of the tables."""
    starts = [number for number, token in enumerate(tokens) if token.type == "tr_open"]
    for start in starts:
        end = next(number for number in range(start, len(tokens)) if tokens[number].type == "tr_close")
        yield (token for token in tokens[start:end] if token.type == "inline")


class TestWriting:
    def test_what_fails_on_the_way_leaves_the_old_file(self, tmp_path: Path) -> None:
        folder = made(tmp_path, [changed()])
        with View.read_only(folder) as view:
            write_index(folder, view)
        before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        with View.read_only(folder) as view, pytest.raises(RuntimeError):
            write_index(folder, _Broken(view))
        assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before

    @pytest.mark.slow
    def test_memory_does_not_grow_with_the_repositories(self, tmp_path: Path) -> None:
        peaks = []
        for number in (100, 1000, 1000):
            tracemalloc.start()
            write_index(tmp_path, _Many(number))
            peaks.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()
        assert len(parsed(tmp_path / "report/index.html").css("tbody tr")) == 1000
        # Once in a while a cache of the standard library is filled anew.
        assert min(peaks[1:]) < peaks[0] + 300_000

    def test_written_again_it_is_the_same(self, tmp_path: Path) -> None:
        folder = made(tmp_path, [changed(), failed()])
        written = []
        for _ in range(2):
            with View.read_only(folder) as view:
                write_index(folder, view)
                write_pages(folder, view)
            files = [*folder.glob("report/**/*.html"), folder / "report.md", folder / "report.json"]
            written.append({path: path.read_bytes() for path in files})
        assert written[0] == written[1]
        assert len(written[0]) == 5

    @pytest.mark.parametrize("spoil", [Path.unlink, lambda path: path.write_bytes(b'{"name": 1')])
    def test_a_result_that_cannot_be_read_is_said(self, tmp_path: Path, spoil: Callable[[Path], None]) -> None:
        folder = made(tmp_path, [changed(), failed()])
        for name in ("good", "bad"):
            spoil(folder / "results" / f"{name}.json")
        with View.read_only(folder) as view:
            write_index(folder, view)
            write_pages(folder, view)
        good, bad = (parsed(folder / "report/repositories" / f"{name}.html") for name in ("good", "bad"))
        assert texts(good, "section:has(#error) p")[0].startswith("the result file cannot be read")
        assert texts(bad, "section:has(#error) p") == ["clone failed no such host"]
        assert texts(bad, "section:has(#notes) li")[0].startswith("The result file cannot be read: ")
        errors = [one["error"] for one in json.loads((folder / "report.json").read_bytes())["repositories"]]
        assert [error["kind"] for error in errors] == ["the result file cannot be read", "clone failed"]


class _Broken(View):
    """A ledger that fails behind its first row."""

    def __init__(self, view: View) -> None:
        super().__init__(view._database)
        self._calls = 0

    def rows(self, *states: State) -> Iterator[Row]:
        yield next(super().rows(*states))
        self._calls += 1
        if self._calls > 1:
            raise RuntimeError


class _Many(View):
    """A ledger of many repositories that nothing is known of."""

    def __init__(self, number: int) -> None:
        self._number = number

    def rows(self, *states: State) -> Iterator[Row]:
        for number in range(self._number):
            error = Error(f"kind {number % 7}", f"{number}: " + "x" * 300)
            yield Row(
                number, f"name{number}", "https://git.example/x", None, "", ("one", f"label{number}"), "", State.FAILED,
                started=float(number), finished=number + 2.0, error=error,
            )  # fmt: skip

    def run(self) -> Run:
        return Run(plan(Path("/x")), "", "1", "", 0.0, 0.0)

    def summary(self) -> Summary:
        errors = tuple(ErrorGroup(f"kind {number}", self._number // 7, ("name0",)) for number in range(7))
        states = dict.fromkeys(State, 0) | {State.FAILED: self._number}
        return Summary(states, 0, 0, 0, 0, 0, 0, 0.0, {}, {}, errors, 0.0, 1.0, 0)


class TestIndex:
    def test_what_the_run_adds_up_to(self, tmp_path: Path) -> None:
        tree = index(tmp_path, changed(), failed(), failed("worse"), more=[Repository("last", "/x")])
        assert texts(tree, "h1") == ["3 of 4 repositories done, 1 fix"]
        numbers = dict(zip(texts(tree, ".numbers dt"), texts(tree, ".numbers dd")))
        wanted = {"changed": "1", "failed": "2", "queued": "1", "files read": "12", "fixes kept": "1", "work": "14 s"}
        assert {**wanted, "fixes dropped": "0", "findings left": "2", "files confirmed": "1"}.items() <= numbers.items()
        facts = dict(zip(texts(tree, ".facts dt"), texts(tree, ".facts dd")))
        assert facts["Branch"] == "devfix/x"
        assert facts["Publish"] == "patch"
        assert facts["Runs code"] == "no"

    def test_errors_stand_together(self, tmp_path: Path) -> None:
        many = [failed(f"no{number}", "time limit", f"{number} s") for number in range(8)]
        tree = index(tmp_path, failed(), *many)
        assert texts(tree, ".groups summary") == ["time limit 8", "clone failed 1"]
        first = tree.css(".groups details")[0]
        assert texts(first, "p")[0] == "0 s"
        assert [node.attributes["href"] for node in first.css("a")] == [
            *(f"repositories/no{number}.html" for number in range(5)),
            "#?error=time%20limit",
        ]
        assert "and 3 more" in texts(first, "p")[1]

    def test_a_row_says_what_became_of_its_repository(self, tmp_path: Path) -> None:
        tree = index(tmp_path, changed(), failed(), more=[Repository("last", "/x", labels=("one", "two"))])
        cells = [texts(row, "td") for row in tree.css("tbody tr")]
        assert cells == [
            ["good all", "changed", "12", "1", "0", "confirmed 1", "13.5", "https://git.example/good/pull/1"],
            ["bad all", "failed", "0", "0", "0", "", "0.5", "clone failed no such host"],
            ["last one two", "queued", "0", "0", "0", "", "", ""],
        ]
        assert [node.attributes["href"] for node in tree.css("tbody td:first-child a")] == [
            "repositories/good.html",
            "repositories/bad.html",
        ]

    def test_it_can_be_filtered_by_what_differs(self, tmp_path: Path) -> None:
        tree = index(tmp_path, changed(), failed())
        values = {node.attributes["name"]: node.attributes["value"] for node in tree.css(".option input")}
        assert values == {"state": "failed", "verdict": "confirmed", "error": "clone failed", "label": "all"}

    def test_a_repository_may_be_named_like_the_page(self, tmp_path: Path) -> None:
        folder = made(tmp_path, [changed("index")])
        with View.read_only(folder) as view:
            write_index(folder, view)
            write_pages(folder, view)
        assert texts(parsed(folder / "report/index.html"), "h1") == ["1 fix in 1 repository"]
        assert texts(parsed(folder / "report/repositories/index.html"), "h1") == ["index changed"]


class TestPage:
    def test_ids_are_unique_and_what_is_named_is_there(self, tmp_path: Path) -> None:
        for tree in (page(tmp_path, changed(fixes=(fix(), fix()))), index(tmp_path / "run", changed(), failed())):
            ids = [node.attributes["id"] for node in tree.css("[id]")]
            assert len(ids) == len(set(ids))
            named = {node.attributes["aria-labelledby"] for node in tree.css("[aria-labelledby]")}
            linked = {node.attributes["href"] or "" for node in tree.css("a[href^='#']")}
            assert named | {link[1:] for link in linked if not link.startswith("#?")} <= set(ids)
            levels = [int(node.tag[1]) for node in tree.css("h1, h2, h3, h4, h5, h6")]
            assert levels[0] == 1
            assert all(later <= earlier + 1 for earlier, later in pairwise(levels))
            assert all(box.css_matches("label input") for box in tree.css("input"))
            assert all(button.text().strip() for button in tree.css("button"))

    def test_what_is_told(self, tmp_path: Path) -> None:
        tree = page(tmp_path, changed(), revision="v1", subfolder="src", labels=("nightly",))
        assert texts(tree, "h1") == ["good changed"]
        assert texts(tree, ".label") == ["nightly"]
        facts = dict(zip(texts(tree, ".facts dt"), texts(tree, ".facts dd")))
        assert facts == {
            "Source": "https://git.example/x.git",
            "Revision": "v1",
            "Subfolder": "src",
            "Commit": "a" * 40,
            "Branch": "devfix/x",
            "Worker": "node-1",
            "Time": "clone 2 s, replay 12 s",
            "Published": "https://git.example/good/pull/1",
            "Patch": "good.patch",
        }
        assert texts(tree, ".numbers dd") == ["12", "1", "0", "2", "14 s"]
        assert texts(tree, "section:has(#checks) td") == ["pytest -q", "passed", "passed", "3 s"]
        assert texts(tree, "section:has(#commits) li") == ["bbbbbbbbbbbb DVF101: move batches"]
        assert texts(tree, "section:has(#notes) li") == ["2 runs were stopped"]
        assert texts(tree, "section:has(#unhandled) li") == ["src/old.py a syntax error"]
        assert tree.css_first(".body pre").text() == "# Fixes\n\n| a | b |"
        assert texts(tree, ".replay p") == ["confirmed", "the error is gone", "ran on cpu by python src/train.py"]

    def test_a_fix_with_its_trail(self, tmp_path: Path) -> None:
        trail = (Stop("src/train.py", 4, "made here", 2), Stop("src/a.ipynb", 9, "met here", 1))
        why = "the script fails with it"
        dropped = fix(line=30, cell=3, safety="unsafe", verdict="not_reached", dropped=why, trail=trail)
        tree = page(tmp_path, changed(state=State.REFUTED, fixes=(fix(), dropped)))
        first, second = tree.css(".finding")
        assert texts(first, "h4") == ["22:38 DVF101 batch-not-moved"]
        assert texts(first, ".message code") == ["y"]
        assert texts(first, ".trail li") == ["src/data.py:4 y comes from the loader", "22 it meets model here"]
        assert texts(first, ".trail .sink .place") == ["22"]
        assert texts(first, ".badge") == ["safe", "confirmed"]
        assert texts(second, "h4 .place") == ["cell 3:30:38"]
        assert texts(second, ".trail li") == ["cell 2:4 made here", "src/a.ipynb:cell 1:9 met here"]
        assert texts(second, ".badge") == ["dropped", "unsafe", "not reached"]
        assert texts(second, ".reason") == ["Dropped the script fails with it"]
        assert texts(tree, ".numbers dd")[1:3] == ["1", "1"]

    def test_what_is_in_doubt_and_suggestions(self, tmp_path: Path) -> None:
        suggested = fix(path="src/eval.py", line=7, safety="suggestion", verdict=None, confidence=0.5)
        tree = page(tmp_path, changed(fixes=(fix(confidence=0.84),), suggestions=(suggested,)))
        kept, second = tree.css(".finding")
        assert texts(kept, ".badge") == ["safe", "confidence 0.84", "confirmed"]
        assert texts(tree, "section:has(#suggestions) h4") == ["src/eval.py:7:38 DVF101 batch-not-moved"]
        assert texts(second, ".badge") == ["suggestion", "confidence 0.50"]
        assert (kept.id, second.id) == ("f1", "f2")
        assert "suggestions" in texts(tree, ".numbers dt")
        plain = page(tmp_path, changed("plain"))
        assert "suggestions" not in texts(plain, ".numbers dt")
        assert plain.css_first("#suggestions") is None

    def test_the_pages_lead_to_each_other(self, tmp_path: Path) -> None:
        folder = made(tmp_path, [changed("one"), failed("two"), changed("three")], [Repository("later", "/x")])
        with View.read_only(folder) as view:
            write_pages(folder, view)
        pages = folder / "report" / "repositories"
        assert not (pages / "later.html").exists()
        links = {
            name: [node.attributes["href"] for node in parsed(pages / f"{name}.html").css(".pages a")]
            for name in ("one", "two", "three")
        }
        assert links == {
            "one": ["../index.html", "two.html"],
            "two": ["../index.html", "one.html", "three.html"],
            "three": ["../index.html", "two.html"],
        }

    def test_without_a_patch_it_leads_to_none(self, tmp_path: Path) -> None:
        folder = made(tmp_path, [changed()])
        (folder / "patches/good.patch").unlink()
        with View.read_only(folder) as view:
            write_index(folder, view)
            write_pages(folder, view)
        assert not parsed(folder / "report/repositories/good.html").css('[href$=".patch"]')
        assert json.loads((folder / "report.json").read_bytes())["repositories"][0]["patch"] is None

    def test_on_its_own_it_leads_to_what_it_is_told(self, tmp_path: Path) -> None:
        write_page(tmp_path, changed(), Repository("good", "/x"), Neighbours(next="b"))
        tree = parsed(tmp_path / "report/repositories/good.html")
        assert [node.attributes["href"] for node in tree.css(".pages a")] == ["../index.html", "b.html"]

    def test_a_clean_repository(self, tmp_path: Path) -> None:
        tree = page(tmp_path, Outcome("x", State.CLEAN, files=7))
        assert texts(tree, ".nothing") == ["None of 7 files was changed."]
        assert not tree.css(".finding, .diff, #checks, #commits, #notes, #error, #unhandled, #body")


class TestDiff:
    def _tree(self, tmp_path: Path, diff: bytes, **more: object) -> LexborHTMLParser:
        return page(tmp_path, changed(diff=diff, fixes=(), verdicts=(), **more))

    def test_lines_stand_beside_each_other(self, tmp_path: Path) -> None:
        (file,) = self._tree(tmp_path, DIFF).css(".file")
        assert texts(file, "h3") == ["src/train.py"]
        assert texts(file, ".edit ins") == ["y = y.to(device)", "loss = criterion(model(x), y).mean()"]
        assert texts(file, ".edit del") == ["loss = criterion(model(x), y)"]
        assert texts(file, ".diff i:not(.no)") == "20 20 21 21 22 22 23 23 24 24 25".split()
        assert file.css(".same .k")

    def test_lines_that_look_like_headers_are_lines(self, tmp_path: Path) -> None:
        diff = b"--- a/a.sql\n+++ b/a.sql\n@@ -1,2 +1,2 @@\n--- old\n+++ new\n @@ -1 +1 @@\n"
        (file,) = self._tree(tmp_path, diff).css(".file")
        assert (texts(file, "del"), texts(file, "ins")) == (["-- old"], ["++ new"])
        assert texts(file, ".same code") == ["@@ -1 +1 @@"] * 2

    def test_names_as_git_quotes_them(self, tmp_path: Path) -> None:
        diff = b'+++ "b/t\\303\\244\\t\\"x\\377.py"\n@@ -1 +1 @@\n-a\r\n+b\r\n+++ b/x y.py\t\n@@ -1 +1 @@\n-a\n+b\n'
        tree = self._tree(tmp_path, diff)
        assert texts(tree, ".file h3") == ['tä "x\\xff.py', "x y.py"]
        assert texts(tree, "del") == ["a", "a"]

    def test_a_file_without_a_last_line_end(self, tmp_path: Path) -> None:
        end = b"\\ No newline at end of file\n"
        diff = b"+++ b/a\n@@ -1 +1 @@\n-a\n%s+b\n%s+++ b/c\n@@ -1 +1 @@\n-c\n+d\n" % (end, end)
        tree = self._tree(tmp_path, diff)
        assert (texts(tree, ".file h3"), texts(tree, "ins")) == (["a", "c"], ["b", "d"])

    @pytest.mark.parametrize(
        "diff",
        [
            b"no diff at all",
            b"\x00\xff\n@@ -1 +1 @@",
            b"@@ -1,9 +1,9 @@\n",
            b"+++ \n@@ -1,999999999 +1 @@\n-x",
            b'+++ "b/\\777\\"\n@@ -0,0 +1 @@\n+x\n',
            b"Binary files a/x and b/x differ\n",
        ],
    )
    def test_what_is_none_does_no_harm(self, tmp_path: Path, diff: bytes) -> None:
        assert texts(self._tree(tmp_path, diff), "h1") == ["good changed"]

    def test_a_hunk_that_begins_in_a_string_is_read_so(self, tmp_path: Path) -> None:
        diff = b'+++ b/a.py\n@@ -7,4 +7,4 @@\n for if while\n the end. """\n-x = None\n+x = True\n'
        tree = self._tree(tmp_path, diff)
        assert texts(tree, "del .k") == ["None"]
        assert not tree.css(".same .k")
        diff = b'+++ b/a.py\n@@ -7,4 +7,4 @@\n-x = None\n+x = True\n def f():\n     """\n     for if\n'
        tree = self._tree(tmp_path, diff)
        assert texts(tree, "del .k") == ["None"]
        assert texts(tree, ".same .k") == ["def", "def"]

    def test_a_file_is_there_for_its_verdict_alone(self, tmp_path: Path) -> None:
        tree = page(tmp_path, changed(verdicts=(Verdict("z.py", "not_reached", reasons=("never ran",)),)))
        assert texts(tree, ".file h3") == ["src/train.py 1", "z.py"]
        assert texts(tree, ".replay p") == ["not reached", "never ran"]


class TestJson:
    def test_its_shape(self, tmp_path: Path) -> None:
        index(tmp_path, changed(), failed(), more=[Repository("later", "/x")])
        document = json.loads((tmp_path / "report.json").read_bytes())
        assert list(document) == ["version", "run", "summary", "repositories"]
        assert document["version"] == 1
        assert document["run"]["branch"] == "devfix/x"
        summary = document["summary"]
        assert (summary["repositories"], summary["finished"], summary["kept"]) == (3, 2, 1)
        assert summary["states"]["failed"] == 1
        assert summary["errors"] == [{"kind": "clone failed", "count": 1, "message": "no such host", "names": ["bad"]}]
        good, bad, later = document["repositories"]
        assert good["source"] == "https://***@git.example/good.git"
        assert good["fixes"] == json.loads(msgspec.json.encode([fix()]))
        assert good["replays"][0]["kind"] == "confirmed"
        assert good["patch"] == "patches/good.patch"
        assert good["unhandled"] == [{"path": "src/old.py", "reason": "a syntax error"}]
        assert bad["error"] == {"kind": "clone failed", "message": "no such host"}
        assert (later["state"], "fixes" in later) == ("queued", False)
        assert set(good) == set(bad) > set(later)

    def test_a_repository_stands_on_its_line(self, tmp_path: Path) -> None:
        index(tmp_path, changed(), failed())
        lines = (tmp_path / "report.json").read_text().splitlines()
        assert [json.loads(line.rstrip(","))["name"] for line in lines if line.startswith('{"name"')] == ["good", "bad"]

    def test_a_run_of_nothing(self, tmp_path: Path) -> None:
        tree = index(tmp_path)
        assert texts(tree, "h1") == ["0 fixes in 0 repositories"]
        assert json.loads((tmp_path / "report.json").read_bytes())["repositories"] == []


class TestTerminal:
    def _said(self, lines: list[Line]) -> list[str]:
        return ["".join(text for text, _ in line).rstrip() for line in lines]

    def _totals(self, **more: object) -> Totals:
        summary = _Many(0).summary()
        states = dict.fromkeys(State, 0) | {State.CHANGED: 4, State.FAILED: 2, State.RUNNING: 2, State.QUEUED: 10}
        changes = {"states": states, "files": 40, "kept": 9, "dropped": 1, "verdicts": {"not_reached": 3}}
        summary = msgspec.structs.replace(summary, errors=(ErrorGroup("clone failed", 2, ("a", "b")),), **changes)
        return Totals(summary, clock=180.0, **more)  # type: ignore[arg-type]

    def _row(self, name: str, attempt: int = 1, **more: object) -> Row:
        return Row(0, name, "/x", None, "", (), "", State.RUNNING, attempt, **more)  # type: ignore[arg-type]

    def test_nothing_of_strangers_is_printed_raw(self) -> None:
        rows = [self._row("a", started=0.0, worker=BAD, error=Error(BAD, BAD))]
        totals = self._totals(running=rows, failed=rows)
        errors = (ErrorGroup(BAD, 2, ("a",)),)
        totals.summary = msgspec.structs.replace(totals.summary, errors=errors, verdicts={BAD: 1})
        said = self._said([*status_lines(totals, 5.0, True), *summary_lines(totals, BAD)])
        assert not {"\u202e", "\u2066", "\u200b", "\x07", "\x1b", "\x00"} & set("".join(said))
        assert sum("\ufffd" in line for line in said) == 5

    def test_how_far_a_run_is(self) -> None:
        running = [self._row("one", started=40.0, worker="node-1"), self._row("two", started=95.0, attempt=2)]
        lost = self._row("three", error=Error("clone failed", "no such host"))
        totals = self._totals(running=running, failed=[lost])
        assert self._said(status_lines(totals, 100.0, True)) == [
            "6 of 18 repositories done in 3 min 0 s, 2.0 a minute, about 6 min 0 s left",
            "   4 changed",
            "   2 failed",
            "   2 running",
            "  10 queued",
            "running one: 1 min 0 s on node-1",
            "running two: 5 s, attempt 2",
            "failed three: clone failed: no such host",
        ]
        document = status_document(totals, 100.0, True)
        assert document["running"][0] == {"name": "one", "worker": "node-1", "seconds": 60.0, "attempt": 1}
        assert (document["remaining"], document["summary"]["finished"]) == (360.0, 6)
        json.dumps(document)

    def test_a_run_that_was_cut_off(self) -> None:
        totals = self._totals(running=[self._row("one", started=40.0)])
        said = self._said(status_lines(totals, 100.0, active=False))
        assert "cut off one: 1 min 0 s" in said
        assert said[-1] == "the run is not going on; `devfix batch run` with the same folder continues it"

    def test_before_anything_is_done(self, tmp_path: Path) -> None:
        with View.read_only(made(tmp_path, [], [Repository("a", "/x")])) as view:
            said = self._said(status_lines(Totals.of(view), 0.0, True))
        assert said == ["0 of 1 repository done", "  1 queued"]

    def test_what_came_of_it(self) -> None:
        assert self._said(summary_lines(self._totals(), "out/report/index.html")) == [
            "9 fixes in 4 repositories, 1 dropped (40 files in 6 repositories, 3 min 0 s); replay: 3 not reached",
            "   4 changed",
            "   2 failed",
            "   2 running",
            "  10 queued",
            "2 × clone failed: a, b",
            "report: out/report/index.html",
        ]

    def test_pauses_of_a_run_do_not_count(self, tmp_path: Path) -> None:
        with View.read_only(made(tmp_path, [])) as view:
            spans = [(1001.0, 1002.0), (0.0, 10.0), (5.0, 12.0), (20.0, 21.0), (1000.0, 1003.0), (-5.0, -4.0)]
            totals = Totals.of(_Spans(view, spans))
        assert totals.clock == 29.0

    @pytest.mark.parametrize(
        ("seconds", "words"),
        [(-1, "0.0 s"), (0.42, "0.4 s"), (59.4, "59 s"), (59.6, "1 min 0 s"), (3725, "1 h 2 min"), (90000, "1 d 1 h")],
    )
    def test_durations(self, seconds: float, words: str) -> None:
        assert duration(seconds) == words


class _Spans(_Broken):
    """A ledger whose repositories took these times."""

    def __init__(self, view: View, spans: list[tuple[float, float]]) -> None:
        super().__init__(view)
        self._spans = spans

    def rows(self, *states: State) -> Iterator[Row]:
        for start, end in self._spans:
            yield Row(0, "a", "/x", None, "", (), "", State.CLEAN, started=start, finished=end)


def test_each_verdict_is_asked_once_for_its_path() -> None:
    compared: list[object] = []

    class Counted(str):
        __hash__ = str.__hash__

        def __eq__(self, other: object) -> bool:
            compared.append(other)
            return str.__eq__(self, other)

    verdicts = tuple(Verdict(Counted(f"{number}.py"), "confirmed") for number in range(200))
    outcome = Outcome("x", next(iter(State)), verdicts=verdicts)
    assert len(list(repository._files(outcome, []))) == 200
    assert len(compared) < 2000


@pytest.mark.parametrize(
    ("lines", "lead"),
    [
        (["x = 1", 'usage = """'], ()),
        (["x = 1", 'parse("""'], ()),
        (["the end of a text", '"""', "x = 1"], ('"""',)),
        (['the end of a text."""', "x = 1"], ('"""',)),
    ],
)
def test_a_hunk_that_ends_where_a_string_begins_is_none_inside_of_one(lines: list[str], lead: tuple[str, ...]) -> None:
    rows: Any = [SimpleNamespace(before=SimpleNamespace(text=line)) for line in lines]
    assert repository._lead(rows) == lead
