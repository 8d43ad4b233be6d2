"""Messages of commits and texts of pull requests: nothing in them is anything but text."""

import re

from devfix.batch.publishing.messages import LONGEST_TEXT, commit_message, pull_request
from devfix.batch.records import CheckRun, Fix, Outcome, Repository, Rules, State, Stop, Verdict
from markdown_it import MarkdownIt
from msgspec.structs import replace
from selectolax.lexbor import LexborHTMLParser as HTMLParser

HOSTILE = (
    "a|b `c` ``d`` <img src=x onerror=alert(1)> @torch #12 owner/repo#3 GH-7 **bold** _it_ [x](http://evil) "
    "![i](http://evil) www.evil.com https://evil.org \\| \\ &amp; &#64; ~~s~~ :tada: $`x`$ <!-- --> </code></details> "
    "\x1b[31mred\x1b[0m \u202eback\nnew line\n\n# head\n---\ndiff --git a b\n1. one\n- item\nFixes #9\r\n@x"
)
FIX = Fix(
    path="train.py",
    line=12,
    column=5,
    code="DVF101",
    name="batch-not-moved",
    message="`images` stays on the host while the model is on `device`",
    safety="safe",
    title="move it with `.to(device, non_blocking=True)`",
    trail=(Stop("train.py", 8, "made by the loader here"), Stop("train.py", 12, "meets the model here")),
    verdict="confirmed",
)


def outcome(*fixes: Fix, **fields: object) -> Outcome:
    return replace(Outcome("project", State.CHANGED, commit="a" * 40, fixes=fixes), **fields)


def body(told: Outcome, **fields: object) -> str:
    return pull_request(told, Repository("project", "https://github.com/o/p", **fields))[1]


def read(text: str) -> HTMLParser:
    """The text as a host shows it."""
    return HTMLParser(MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).render(text))


def test_nothing_hostile_is_markup_in_a_pull_request() -> None:
    fix = Fix(HOSTILE, 1, 1, HOSTILE, HOSTILE, HOSTILE, HOSTILE, HOSTILE, trail=(Stop(HOSTILE, 1, HOSTILE),))
    check = CheckRun(HOSTILE, HOSTILE, HOSTILE, True, True, 1.0)
    told = outcome(
        replace(fix, verdict=HOSTILE),
        replace(fix, dropped=HOSTILE),
        verdicts=(Verdict(HOSTILE, HOSTILE, HOSTILE, HOSTILE, (HOSTILE,)),),
        checks=(check,),
        unhandled=((HOSTILE, HOSTILE),),
        commit=HOSTILE,
    )
    text = body(told, subfolder=HOSTILE)
    page = read(text)
    names = {node.tag for node in page.root.traverse() if node.tag != "-text"}  # type: ignore[union-attr]
    expected = {"html", "head", "body", "p", "table", "thead", "tbody", "tr", "th", "td", "code", "details"}
    assert names == expected | {"summary", "ul", "li"}
    shown = [node.text() for node in page.css("code") if "onerror" in (node.text() or "")]
    assert len(shown) > 10
    assert all("a|b `c` ``d`` <img src=x onerror=alert(1)> @torch #12 owner/repo#3" in one for one in shown[:1])
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f\u202e]", text)
    for node in page.css("code"):
        node.decompose()
    assert not re.search(r"[@#`|]|evil", page.text())
    assert all(len(row.css("td")) == 6 for row in page.css("table")[0].css("tbody tr"))


def test_a_pull_request() -> None:
    told = outcome(
        FIX,
        replace(FIX, path="eval.py", cell=3, code="DVF201", name="submodule-after-move", safety="unsafe", verdict=None),
        replace(FIX, line=40, dropped="refuted: the loss is another"),
        verdicts=(Verdict("train.py", "confirmed", "cpu", "python train.py", ("before: failed", "after: passed")),),
        checks=(CheckRun("pytest -q", "passed", "passed", True, True, 1.0),),
        unhandled=(("old.py", "not Python 3"),),
    )
    title, text = pull_request(told, Repository("project", "https://github.com/o/p", subfolder="my examples"))
    assert title == "devfix: 2 fixes of device placement (DVF101, DVF201)"
    shown = " ".join(read(text).text().split())
    assert "devfix found and repaired 2 device-placement bugs in 2 files." in shown
    assert "eval.py: cell 3, line 12" in shown
    assert "DVF101 train.py:40: refuted: the loss is another" in shown
    assert "train.py confirmed python train.py before: failed after: passed" in shown
    assert "pytest -q passed passed" in shown
    assert "old.py: not Python 3" in shown
    assert shown.endswith("To do it again: devfix rewrite --select DVF101,DVF201 --unsafe 'my examples'")


def test_without_a_replay_nothing_is_said_to_be_proven() -> None:
    text = body(outcome(replace(FIX, verdict=None)))
    assert "The changed code was not run." in text
    assert "confirmed" not in text


def test_a_pull_request_is_never_too_long() -> None:
    many = [replace(FIX, line=number, message="\N{PILE OF POO}" * 400) for number in range(2000)]
    told = outcome(*many, *(replace(fix, dropped="x") for fix in many))
    text = body(told)
    assert len(text.encode()) <= LONGEST_TEXT + 100
    page = read(text)
    rows = len(page.css("tbody tr"))
    assert rows > 10
    assert f"and {2000 - rows} more fixes." in page.text()
    assert "To do it again" in page.text()


def test_what_has_no_room_takes_none_from_the_rest() -> None:
    long = replace(FIX, trail=(Stop("train.py", 8, "`" * 400),) * 8)
    check = CheckRun("pytest -q", "passed", "passed", True, True, 1.0)
    text = body(outcome(*(replace(long, line=number) for number in range(50)), checks=(check,)))
    assert len(text.encode()) <= LONGEST_TEXT
    shown = read(text).text()
    assert "the trail of each value" not in shown
    assert "Some of it has no room here" in shown
    assert "pytest -q" in shown


def test_the_command_says_what_torch_was_aimed_at() -> None:
    text = body(outcome(FIX), rules=Rules(min_confidence=0.5, target_torch=(2, 4)))
    command = "To do it again: devfix rewrite --select DVF101 --min-confidence 0.5 --target-torch 2.4 ."
    assert read(text).text().strip().endswith(command)


def test_the_message_of_a_commit() -> None:
    lines = commit_message([replace(FIX, line=30, trail=(), verdict=None), FIX]).splitlines()
    assert lines == [
        "devfix: DVF101 batch-not-moved (2 fixes)",
        "",
        "DVF101 batch-not-moved",
        "- train.py:12: `images` stays on the host while the model is on `device`",
        "  move it with `.to(device, non_blocking=True)` (safe)",
        "  * train.py:8: made by the loader here",
        "  * train.py:12: meets the model here",
        "  replay: confirmed",
        "- train.py:30: `images` stays on the host while the model is on `device`",
        "  move it with `.to(device, non_blocking=True)` (safe)",
    ]


def test_places_in_a_notebook_name_their_cells() -> None:
    fix = replace(FIX, path="a.ipynb", cell=3, trail=(Stop("a.ipynb", 8, "made here", 2), Stop("data.py", 4, "read")))
    lines = commit_message([fix]).splitlines()
    assert "- a.ipynb: cell 3, line 12: `images` stays on the host while the model" in lines
    assert "  * a.ipynb: cell 2, line 8: made here" in lines
    assert "  * data.py:4: read" in lines
    assert "a.ipynb: cell 2, line 8 made here" in read(body(outcome(fix))).text()


def test_the_message_of_a_commit_for_several_rules() -> None:
    fixes = [replace(FIX, code=f"DVF{number}", name="n") for number in range(100, 160)]
    lines = commit_message(fixes).splitlines()
    assert lines[0] == "devfix: 60 fixes of 60 rules"
    assert lines[-1] == "... and 10 more fixes."


def test_nothing_hostile_counts_in_the_message_of_a_commit() -> None:
    fix = replace(FIX, path=HOSTILE, message=HOSTILE, title=HOSTILE, trail=(Stop(HOSTILE, 1, HOSTILE),), verdict="x")
    for line in commit_message([fix]).splitlines()[3:]:
        assert line.startswith(("- ", "  "))
        assert not re.search(r"@\w|#\w|GH-\w|[\x00-\x1f\u202e]", line)
