"""The report for people."""

from dataclasses import fields
from pathlib import Path

import pytest
from devfix.reporting.frame import apply, code_frame, fix_frame
from devfix.reporting.tally import Tally
from devfix.reporting.terminal import Line, one_line, visible
from devfix.reporting.text import check_summary, finding, rewrite_summary
from devfix.results import Cell, Note, Problem, Repair, Replacement
from devfix_codemods.source import Span

from ..conftest import BUGGY, Devfix

SINK = Span(3, 4, 3, 17)


def plain(lines: list[Line]) -> list[str]:
    return ["".join(text for text, _ in line).rstrip() for line in lines]


def problem(sink: Span = SINK, *trail: tuple[Span, str], origin: Span | None = None) -> Problem:
    return Problem("DVF101", "batch-not-moved", "it is lost", sink, origin, tuple(Note(*note) for note in trail))


def frame(text: str, found: Problem, width: int = 80) -> list[str]:
    return plain(code_frame(text.split("\n"), found, width))


def test_the_sink_is_underlined() -> None:
    assert frame("a\nb\nx = wrong(loader)\n", problem()) == [
        "  |",
        "3 | x = wrong(loader)",
        "  |     ^^^^^^^^^^^^^",
    ]


def test_the_trail_is_told_beside_its_places() -> None:
    found = problem(SINK, (Span(1, 0, 1, 1), "born here"), (SINK, "lost here"), origin=Span(1, 0, 1, 1))
    assert frame("a\nb\nx = wrong(loader)\n", found) == [
        "  |",
        "1 | a",
        "  | - born here",
        "2 | b",
        "3 | x = wrong(loader)",
        "  |     ^^^^^^^^^^^^^ lost here",
    ]


def test_lines_far_apart() -> None:
    text = "\n".join(f"line{number}" for number in range(1, 121))
    found = problem(Span(120, 0, 120, 4), (Span(7, 0, 7, 5), "here"), (Span(8, 0, 8, 5), "then"))
    assert frame(text, found) == [
        "    |",
        "  7 | line7",
        "    | ----- here",
        "  8 | line8",
        "    | ----- then",
        "...",
        "120 | line120",
        "    | ^^^^",
    ]


def test_several_places_in_one_line() -> None:
    line = "loss = criterion(model(x), y)"
    found = problem(Span(1, 7, 1, 29), (Span(1, 23, 1, 24), "on the device"), (Span(1, 27, 1, 28), "on the host"))
    assert frame(line, found) == [
        "  |",
        "1 | " + line,
        "  |        ^^^^^^^^^^^^^^^^-^^^-^ on the host",
        "  |                        on the device",
    ]


def test_an_origin_without_a_note_is_marked() -> None:
    assert frame("ab = 1\nab()", problem(Span(2, 0, 2, 4), origin=Span(1, 0, 1, 2)))[1:3] == ["1 | ab = 1", "  | --"]


def test_a_range_over_several_lines_is_underlined_on_its_first() -> None:
    assert frame("f(a,\n  b)", problem(Span(1, 0, 2, 4))) == ["  |", "1 | f(a,", "  | ^^^^"]


def test_tabs_and_wide_letters_keep_the_underline_in_place() -> None:
    assert frame("\tx = '日本'; wrong()", problem(Span(1, 11, 1, 18)))[1:] == [
        "1 |     x = '日本'; wrong()",
        "  |                 ^^^^^^^",
    ]


def test_a_long_line_is_cut_around_the_place() -> None:
    line = "x" * 500 + "wrong()" + "y" * 500
    shown, underline = frame(line, problem(Span(1, 500, 1, 507)), width=60)[1:]
    assert len(shown) <= 60
    assert shown.index("wrong()") == underline.index("^^^^^^^")
    assert shown.count("…") == 2


def test_a_place_beyond_the_file_is_left_out() -> None:
    assert frame("one line", problem(Span(9, 0, 9, 4))) == ["  |"]


def test_without_the_file_the_trail_is_still_told() -> None:
    assert plain(finding("a.py", problem(SINK, (Span(1, 0, 1, 1), "born here")), None, 80)) == [
        "a.py:3:5: DVF101 batch-not-moved: it is lost",
        "  line 1: born here",
    ]


# Fixes


@pytest.mark.parametrize(
    ("edits", "after"),
    [
        ([], "a\r\nc\r\n"),
        ([Replacement(Span(1, 0, 1, 1), "b")], "b\r\nc\r\n"),
        ([Replacement(Span(2, 0, 2, 0), "x\r\n")], "a\r\nx\r\nc\r\n"),
        ([Replacement(Span(1, 0, 2, 0), "")], "c\r\n"),
        ([Replacement(Span(9, 0, 9, 0), "beyond the end")], "a\r\nc\r\n"),
        ([Replacement(Span(3, 0, 3, 0), "end"), Replacement(Span(1, 1, 1, 1), "!")], "a!\r\nc\r\nend"),
    ],
)
def test_edits_are_applied_where_they_say(edits: list[Replacement], after: str) -> None:
    assert apply("a\r\nc\r\n", edits) == after
    plain_edits = [Replacement(edit.span, edit.text.replace("\r\n", "\n")) for edit in edits]
    assert apply("a\nc\n", plain_edits) == after.replace("\r\n", "\n")


def test_a_fix_shows_the_lines_that_it_changes() -> None:
    text = "".join(f"line{number}\n" for number in range(1, 13))
    edits = [Replacement(Span(3, 0, 4, 0), "three\n"), Replacement(Span(11, 0, 11, 0), "new\n")]
    assert plain(fix_frame(text, edits, 80)) == [
        " 3 - line3",
        " 3 + three",
        "10   line10",
        "11 + new",
    ]


@pytest.mark.parametrize(
    ("edit", "shown"),
    [
        (Replacement(Span(2, 0, 2, 1), "x"), ["  | cell 1", "2 - b", "2 + x"]),
        (Replacement(Span(3, 0, 3, 0), "x\n"), ["  | cell 1", "2   b", "3 + x"]),
        (Replacement(Span(5, 0, 5, 1), "x"), ["  | cell 2", "1 - c", "1 + x"]),
        (Replacement(Span(5, 0, 5, 0), "x\n"), ["  | cell 2", "1 + x"]),
        (Replacement(Span(6, 0, 6, 1), "x"), ["  | cell 2", "2 - d", "2 + x"]),
        (Replacement(Span(6, 1, 6, 1), "\nx"), ["  | cell 2", "2   d", "3 + x"]),
    ],
    ids=["the end of one", "behind one", "the first line", "before the first line", "the last line", "behind the last"],
)
def test_a_fix_stands_in_its_cell(edit: Replacement, shown: list[str]) -> None:
    assert plain(fix_frame("a\nb\n\n\nc\nd", [edit], 80, (Cell(1, 1), Cell(2, 5)))) == shown


@pytest.mark.parametrize(
    ("edit", "shown"),
    [
        (Replacement(Span(1, 0, 1, 0), "a\n"), ["2   a", "3 + a"]),
        (Replacement(Span(4, 0, 4, 0), "b\n"), ["4   b", "5 + b"]),
        (Replacement(Span(2, 0, 3, 0), ""), ["2 - a"]),
        (Replacement(Span(1, 0, 4, 1), "c"), ["1 - a", "2 - a", "3 - b", "4 - b", "1 + c"]),
        (Replacement(Span(1, 0, 1, 0), ""), []),
    ],
    ids=["one more", "one more at the end", "one less", "all others", "nothing"],
)
def test_a_fix_among_equal_lines(edit: Replacement, shown: list[str]) -> None:
    assert plain(fix_frame("a\na\nb\nb", [edit], 80)) == shown


def test_advice_stands_where_no_fix_does() -> None:
    manual = Problem("DVF1", "n", "m", SINK, repair=Repair("manual", "Do it by hand"))
    advised = Problem("DVF1", "n", "m", SINK, advice="Think")
    both = Problem("DVF1", "n", "m", SINK, repair=Repair("safe", "Do it"), advice="Think")
    assert plain(finding("a.py", manual, None, 80))[-1] == "  = advice: Do it by hand"
    assert plain(finding("a.py", advised, None, 80))[-1] == "  = advice: Think"
    assert plain(finding("a.py", both, None, 80))[-1] == "  = fix (safe): Do it"


# Summaries


def tally(**counts: int) -> Tally:
    return Tally(**(dict.fromkeys((field.name for field in fields(Tally)), 0) | counts))


@pytest.mark.parametrize(
    ("counts", "unsafe", "text"),
    [
        ({"files": 1}, False, "No device bugs found (1 file checked)."),
        (
            {"files": 0, "failed": 2, "silenced": 3},
            False,
            "No device bugs found (0 files checked, 2 failed, 3 silenced by comments).",
        ),
        (
            {"files": 120, "problems": 3, "problem_files": 2, "safe": 1, "unsafe": 1},
            False,
            "Found 3 bugs in 2 files (120 files checked): 1 fixable with `devfix rewrite`, 1 more with --unsafe.",
        ),
        (
            {"files": 120, "problems": 3, "problem_files": 2, "safe": 1, "unsafe": 1},
            True,
            "Found 3 bugs in 2 files (120 files checked): 2 fixable with `devfix rewrite`.",
        ),
        (
            {"files": 1, "problems": 1, "problem_files": 1, "unsafe": 1},
            False,
            "Found 1 bug in 1 file (1 file checked): 1 with --unsafe.",
        ),
        ({"files": 1, "problems": 1, "problem_files": 1}, False, "Found 1 bug in 1 file (1 file checked)."),
        (
            {"files": 1, "problems": 3, "problem_files": 1, "suggestions": 3, "reviewable": 2},
            False,
            "Found 3 suggestions in 1 file (1 file checked): 2 with `devfix review --suggestions`.",
        ),
        (
            {"files": 1, "problems": 1, "problem_files": 1, "suggestions": 1},
            False,
            "Found 1 suggestion in 1 file (1 file checked).",
        ),
    ],
)
def test_the_summary_of_a_check(counts: dict[str, int], unsafe: bool, text: str) -> None:
    assert plain([check_summary(tally(**counts), unsafe)]) == [text]


@pytest.mark.parametrize(
    ("counts", "unsafe", "text"),
    [
        ({"files": 3}, False, "Nothing to fix (3 files checked)."),
        ({"files": 3, "fixed": 2, "changed_files": 1}, False, "Fixed 2 bugs in 1 file (3 files checked)."),
        (
            {"files": 3, "fixed": 2, "guards": 1, "changed_files": 1},
            False,
            "Fixed 2 bugs and added 1 guard in 1 file (3 files checked).",
        ),
        (
            {"files": 3, "problems": 3, "unsafe": 1},
            False,
            "Fixed 0 bugs in 0 files (3 files checked); 3 left: 1 with --unsafe, 2 by hand (see `devfix check`).",
        ),
    ],
)
def test_the_summary_of_a_rewrite(counts: dict[str, int], unsafe: bool, text: str) -> None:
    assert plain([rewrite_summary(tally(**counts), "Fixed", unsafe)]) == [text]


# Terminals


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain é 日本 🐍\t", "plain é 日本 🐍\t"),
        ("\x1b[31mred\x07\x00\x7f", "�[31mred���"),
        ("a\u202eb\u200b\u2028\x85c", "a�b���c"),
        ("\udce9", "�"),
    ],
)
def test_nothing_hidden_reaches_a_terminal(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_one_line() -> None:
    assert one_line(" two\r\n  lines\x1b ") == "two lines�"


@pytest.fixture
def colour(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "80")


@pytest.mark.usefixtures("library", "colour")
def test_colours_change_nothing_but_colours(tree: Path, devfix: Devfix, monkeypatch: pytest.MonkeyPatch) -> None:
    (tree / "a.py").write_text(BUGGY + "y = [bold]  # :smile: [link=x]\nz = wrong('\x1b[2J')\n")
    coloured = devfix("check", "--no-cache").out
    diff = devfix("rewrite", "--diff").out
    monkeypatch.setenv("NO_COLOR", "1")
    uncoloured = devfix("check", "--no-cache").out
    assert "\x1b[1m" in coloured
    assert "\x1b[2J" not in coloured + diff + uncoloured
    assert _without_colours(coloured) == uncoloured
    assert "+x = right(loader)" in _without_colours(diff)
    assert "\x1b[32m+x = right(loader)" in diff


def _without_colours(text: str) -> str:
    import re

    return re.sub(r"\x1b\[[0-9;]*m", "", text)
