"""The full screen, key by key."""

import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import pytest
from devfix.review import plain
from devfix.review.decisions import Decision
from devfix.review.screens.app import ReviewApp
from devfix.review.screens.dialogs import Confirm
from devfix.review.session import Session

from ..conftest import BUGGY, FIXED, Devfix, commit
from .conftest import NARROW, Shown, Step, driven, session_of
from .test_plain import editor_that

pytestmark = pytest.mark.usefixtures("library")


def sees(*texts: str) -> Step:
    def check(shown: Shown) -> None:
        screen = shown.text
        assert all(text in screen for text in texts), screen

    return check


def sees_not(*texts: str) -> Step:
    def check(shown: Shown) -> None:
        screen = shown.text
        assert not any(text in screen for text in texts), screen

    return check


def at(place: str) -> Step:
    def check(shown: Shown) -> None:
        assert shown.current == place

    return check


def decided(marks: str) -> Step:
    def check(shown: Shown) -> None:
        assert shown.decisions == marks

    return check


# What must not happen


def test_nothing_is_preselected_and_nothing_written(three: Path) -> None:
    before = {path: path.read_bytes() for path in three.iterdir()}
    assert driven(decided("....."), "y", "n", "y", "y", "i", "w", "escape", "q") is None
    assert {path: path.read_bytes() for path in three.iterdir()} == before


@pytest.mark.slow
def test_leaving_the_last_look_goes_back_to_the_review(three: Path) -> None:
    for key in ("escape", "n", "q"):
        plan = driven("y", "w", sees("w: write 1 fix in 1 file"), key, decided("y...."), sees("undecided"), "q")
        assert plan is None
        session_of().saved_review.save([])


def test_unsafe_fixes_are_taken_along_only_by_unsafe_ones(three: Path) -> None:
    driven("a", decided("y.y.."), sees("1 unsafe left to decide"), at("a.py:3"), "u", "j", "a", decided("yyy.."))
    driven("A", decided("y.yy."), "q")


def test_advice_cannot_be_accepted(three: Path) -> None:
    driven("end", at("b.py:3"), "y", decided("....."), sees("there is no fix to accept"), "i", decided("....i"))


def test_what_lies_outside_can_be_neither_accepted_nor_ignored(tree: Path, tmp_path: Path) -> None:
    (tmp_path / "outside.py").write_text(BUGGY)
    (tree / "link.py").symlink_to(tmp_path / "outside.py")
    session = session_of("link.py")
    driven("y", "i", "a", decided("."), sees("not written: a symbolic link"), "n", decided("n"), session=session)


def test_uncommitted_work_is_written_only_on_demand(repository: Path) -> None:
    (repository / "a.py").write_text("x = 1\n")
    commit(repository)
    (repository / "a.py").write_text(BUGGY)
    assert driven("y", "w", sees("uncommitted changes", "a.py (modified)"), "w", "enter", "y", "escape") is None
    session = session_of()
    plan = driven("y", "w", "D", sees_not("uncommitted"), "w", session=session)
    assert plan is not None
    assert session.write(plan).run is not None
    assert (repository / "a.py").read_text() == FIXED


def test_markup_and_control_characters_do_nothing(tree: Path) -> None:
    name = "[red]\x1b[2J[bold].py"
    (tree / name).write_bytes(b"import torch\nx = wrong('[bold]\x1b[31m[/]')  # [link=x]\xc2\x9b\t$error\n")

    def harmless(shown: Shown) -> None:
        assert not {"\x1b", "\x9b"} & set(shown.svg)

    def whole(shown: Shown) -> None:
        harmless(shown)
        assert "[bold]\N{REPLACEMENT CHARACTER}[31m[/]" in shown.text
        assert "[link=x]" in shown.text

    driven(whole, "y", whole, "w", whole, "escape", "slash", *"[bold]", whole, "enter", "e", "p", "f", harmless)
    driven(harmless, "s", harmless, "r", size=NARROW)


# Deciding


@pytest.mark.parametrize(
    ("keys", "marks", "place"),
    [
        ("y", "y....", "a.py:3"),
        pytest.param("n", "n....", "a.py:3", marks=pytest.mark.slow),
        pytest.param("i", "i....", "a.py:3", marks=pytest.mark.slow),
        ("d", "nnn..", "b.py:2"),
        ("D", "nnnnn", "a.py:2"),
        pytest.param("yy", "yy...", "a.py:4", marks=pytest.mark.slow),
        ("ydu", "y....", "a.py:3"),
        ("yuU", "y....", "a.py:2"),
        pytest.param("yuuUU", "y....", "a.py:2", marks=pytest.mark.slow),
        ("ykx", ".....", "a.py:2"),
        pytest.param("jjn", "..n..", "b.py:2", marks=pytest.mark.slow),
        ("yynyn", "yynyn", "b.py:3"),
        pytest.param("jykn", ".n...", "a.py:4", marks=pytest.mark.slow),
    ],
)
def test_keys_that_decide(three: Path, keys: str, marks: str, place: str) -> None:
    driven(*keys, decided(marks), at(place))


def test_on_a_file_y_and_n_are_about_all_of_it(three: Path) -> None:
    driven("home", "y", decided("y.y.."), "home", "n", decided("yny.."), "home", "i", decided("iny.."))


def test_when_all_is_decided_it_says_so(three: Path) -> None:
    driven(*"yynnn", sees("everything shown is decided: w writes", "2 accepted, 3 refused"))


# Moving


MOVING = (
    (["j"], "a.py:3"),
    (["down", "down"], "a.py:4"),
    (["j", "k"], "a.py:2"),
    (["j", "up"], "a.py:2"),
    (["right_square_bracket"], "b.py:2"),
    (["j", "right_square_bracket", "left_square_bracket"], "a.py:2"),
    (["left_square_bracket"], "b.py:2"),
    (["tab", "tab", "tab", "tab", "tab"], "a.py:2"),
    (["end"], "b.py:3"),
)


def test_keys_that_move(three: Path) -> None:
    """One after the other, each from the first fix."""
    driven(*(step for keys, place in MOVING for step in ("home", "j", at("a.py:2"), *keys, at(place))))


@pytest.mark.parametrize(("keys", "place"), [(["y", "k", "tab"], "a.py:3"), (["y", "shift+tab"], "b.py:3")])
def test_keys_that_move_to_what_is_undecided(three: Path, keys: list[str], place: str) -> None:
    driven(*keys, at(place))


def test_the_change_and_the_reason_scroll(tree: Path) -> None:
    lines = [f"print({number})\n" for number in range(30)]
    (tree / "a.py").write_text("import torch\nx = wrong(\n" + "".join(f"    {n},\n" for n in range(40)) + ")\n")
    (tree / "b.py").write_text("".join(["import torch\n", *lines, "x = wrong(1)\n"]))

    def offset(pane: str, moved: bool) -> Step:
        def check(shown: Shown) -> None:
            assert (shown.app.screen.query_one(pane).scroll_offset.y > 0) is moved

        return check

    (tree / "a.py").write_text("import torch\n" + "x = wrong(1) + " + " + ".join(map(str, range(300))) + "\n")
    driven(
        offset("#change", False), "pagedown", offset("#change", True), "pageup", offset("#change", False), size=NARROW
    )
    driven("greater_than_sign", offset("#reason", True), "less_than_sign", offset("#reason", False), size=(40, 14))


def test_the_tree_can_be_hidden(three: Path) -> None:
    driven(sees("0/3 a.py"), "z", sees_not("0/3 a.py"), "z", sees("0/3 a.py"))


# Looking


def test_the_change_on_one_column_or_two(three: Path) -> None:
    def columns(shown: Shown) -> None:
        assert any("x = wrong(1)" in line and "x = right(1)" in line for line in shown.text.splitlines())

    def column(shown: Shown) -> None:
        assert not any("x = wrong(1)" in line and "x = right(1)" in line for line in shown.text.splitlines())

    driven(column, "s", columns, "s", column)
    driven(columns, "s", column, "s", columns, size=(200, 60))


def test_the_reason(three: Path) -> None:
    driven(sees("DVF101 batch-not-moved", "`loader` is on the host", "fix: Say `right`", "safe: cannot change"))
    driven(sees("line 1  comes from here", "import torch", "line 2  meets `model` here"))
    driven("j", sees("unsafe: a choice"), "end", sees("advice: Think about it", "nothing to apply"))


@pytest.mark.parametrize(
    "back", ["escape", *(pytest.param(one, marks=pytest.mark.slow) for one in ("q", "r", "enter"))]
)
def test_the_page_of_the_rule(three: Path, back: str) -> None:
    driven("r", sees("Batches that stay behind."), "y", decided("....."), back, sees_not("Batches that stay behind."))


@pytest.mark.parametrize("size", [NARROW, (200, 60)])
def test_the_help_names_every_key(three: Path, size: tuple[int, int]) -> None:
    from devfix.review.screens.keys import BINDINGS, HELP

    names = {"question_mark": "?", "slash": "/", "right_square_bracket": "]", "left_square_bracket": "["}
    names |= {"greater_than_sign": ">", "less_than_sign": "<", "pagedown": "pgdn", "pageup": "pgup", "escape": "esc"}
    names |= {"shift+tab": "shift"}
    keys = {binding.key for binding in BINDINGS}  # type: ignore[union-attr]
    missing = [key for key in keys - {"question_mark"} if f" {names.get(key, key)}" not in HELP.replace("(", " ")]
    assert not missing
    assert max(map(len, HELP.splitlines())) <= 68
    driven("question_mark", sees("accept this fix"), "escape", sees_not("accept this fix"), size=size)


@pytest.mark.slow
def test_searching(three: Path) -> None:
    driven("slash", *"wrong(3)", sees("1 shown", "only “wrong(3)”"), "enter", at("a.py:4"), "y", decided("..y.."))
    driven("slash", *"WRONG(4", "enter", at("b.py:2"), "escape", sees_not("shown"), at("b.py:2"), "y", decided("...y."))


def test_a_search_without_hits(three: Path) -> None:
    driven("slash", *"nowhere", sees("0 shown", "Nothing is shown."), "enter", *"yniadADxuUjks", decided("....."))


@pytest.mark.parametrize(
    ("keys", "shown"),
    [
        pytest.param(["enter"], 5, marks=pytest.mark.slow),
        pytest.param(["j", "enter"], 5, marks=pytest.mark.slow),
        (["j", "j", "enter"], 3),
        pytest.param(["j", "j", "j", "enter"], 1, marks=pytest.mark.slow),
        (["j", "j", "j", "j", "k", "down", "enter"], 1),
        (["end", "enter"], 0),
        (["escape"], 5),
    ],
)
def test_filters(three: Path, keys: list[str], shown: int) -> None:
    def check(now: Shown) -> None:
        assert len(now.app.main.findings.numbers) == shown

    driven("f", sees("DVF101 batch-not-moved (5)"), *keys, check)


def test_a_filter_by_state_follows_the_decisions(three: Path) -> None:
    driven(
        "y", "f", "end", "k", "k", "enter", sees("only accepted: 1 shown"), at("a.py:2"), "escape", sees_not("shown")
    )


# Doing


def test_an_edit_is_analysed_anew(three: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ReviewApp, "suspend", lambda _app: nullcontext())
    editor_that(three, monkeypatch, "path.write_text('# new\\n' + path.read_text().replace('wrong(3)', 'fine(3)'))")
    driven("y", "e", decided("y..."), sees("a.py: 1 gone", "0/2 b.py"), "u", decided("...."), "U", decided("y..."))


def test_an_edit_that_breaks_the_file(three: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ReviewApp, "suspend", lambda _app: nullcontext())
    editor_that(three, monkeypatch, "path.write_text('import torch\\nwrong(')")
    session = session_of()
    driven("y", "e", sees("a.py: syntax error"), at("b.py:2"), session=session)
    assert [error.target.label for error in session.errors] == ["a.py"]


def test_an_editor_that_fails_and_a_terminal_that_cannot_be_left(three: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    driven("e", sees("cannot be handed to an editor"))
    monkeypatch.setattr(ReviewApp, "suspend", lambda _app: nullcontext())
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", "/no/such/editor --fast")
    driven("e", sees("/no/such/editor cannot be started: No such file or directory"))


def test_writing_what_was_shown(three: Path) -> None:
    session = session_of()
    plan = driven("y", "n", "i", "w", sees("a.py: 1 fixed, 1 comment added", "+x = right(1)"), "w", session=session)
    assert plan is not None
    written = session.write(plan)
    assert [one.target.label for one in written.files] == ["a.py"]
    comment = "  # devfix: ignore[DVF101]"
    text = f"import torch\nx = right(1)\ny = wrong(2)  # unsafe\nz = wrong(3){comment}\n"
    assert (three / "a.py").read_text() == text


@pytest.mark.parametrize("key", ["w", "enter", "y"])
def test_keys_that_write(three: Path, key: str) -> None:
    assert driven("y", "w", key) is not None


def test_nothing_to_write(three: Path) -> None:
    assert driven("w", sees("there is nothing to write"), "q") is None
    plan = driven("D", "w")
    assert plan is not None
    assert plan.changed == []


def test_the_combined_diff_scrolls(tree: Path) -> None:
    text = "import torch\n" + "".join(f"x = wrong({number})\n\n\n\n\n\n\n\n" for number in range(30))
    (tree / "a.py").write_text(text)

    def offset(expected: int) -> Step:
        def check(shown: Shown) -> None:
            assert isinstance(shown.app.screen, Confirm)
            assert shown.app.screen.query_one("#patch").scroll_offset.y == expected

        return check

    keys: list[Step] = ["j", offset(1), "down", offset(2), "pagedown", offset(12), "space", offset(22)]
    driven("a", "w", *keys, "pageup", offset(12), "k", offset(11), "up", offset(10), size=NARROW)


# Leaving


@pytest.mark.parametrize(
    "before",
    [[], ["w"], *(pytest.param([one], marks=pytest.mark.slow) for one in ("f", "slash", "question_mark", "r"))],
)
def test_an_interruption_ends_it_from_anywhere_and_loses_nothing(three: Path, before: list[str]) -> None:
    session = session_of()
    codes: list[int | None] = []
    driven("y", *before, "ctrl+c", lambda shown: codes.append(shown.app.return_code), session=session)
    assert codes == [130]
    assert len(session.saved_review.load()) == 1


@pytest.mark.parametrize("key", ["q", "ctrl+c"])
def test_leaving_ends_what_goes_on_behind(three: Path, monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    ended: list[bool] = []

    def long(_session: Session, advance: Callable[[int, int], None]) -> None:
        try:
            for _ in range(1000):
                advance(1, 2)
                time.sleep(0.01)
        except Exception:
            ended.append(True)
            raise

    monkeypatch.setattr(Session, "plan", long)
    driven("y", lambda shown: shown.app.main.action_write(), key)
    assert ended == [True]


def test_an_interruption_is_told_by_the_exit_code(three: Path, devfix: Devfix, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(app: ReviewApp) -> None:
        app.session.decide(app.session.review.items[:1], Decision.ACCEPTED)
        app.exit(None, return_code=130)

    monkeypatch.setattr(plain, "is_due", lambda _terminal: False)
    monkeypatch.setattr(ReviewApp, "run", interrupted)
    ran = devfix("review")
    assert (ran.code, ran.err) == (130, "devfix: interrupted\n")
    assert "1 of 5 decisions are kept: devfix review --resume ." in ran.out


# Resuming


def test_the_screen_asks_whether_to_go_on(three: Path) -> None:
    driven("y", "n", "q")
    question = sees("An interrupted review of these paths has 2 decisions.")
    assert driven(question, "q", asks_to_resume=True) is None
    driven(question, "r", decided("yn..."), "u", sees("nothing to undo"), asks_to_resume=True)
    driven(question, "n", decided("....."), asks_to_resume=True)
    driven(decided("....."), sees("devfix review"), asks_to_resume=True)


def test_every_decision_is_on_the_disk_at_once(three: Path) -> None:
    def kept(number: int) -> Step:
        def check(shown: Shown) -> None:
            assert len(shown.session.saved_review.load()) == number

        return check

    driven(kept(0), "y", kept(1), "n", kept(2), "u", kept(1), "U", kept(2), "d", kept(3), "x")


# Size


@pytest.mark.slow
def test_two_thousand_findings(tree: Path) -> None:
    for number in range(100):
        (tree / f"m{number:03}.py").write_text("import torch\n" + "".join(f"x = wrong({n})\n" for n in range(20)))
    driven("y", "n", "end", at("m099.py:21"), "y", "D", sees("2 accepted, 1998 refused"), "u", "slash", *"m05", "q")
