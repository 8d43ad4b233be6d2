"""The prompt: what its answers do, that nothing is written before the last one, and that nothing decided is lost."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from ..conftest import BUGGY, FIXED, Devfix, commit

pytestmark = pytest.mark.usefixtures("library")

TWO = "import torch\nx = wrong(1)\nprint(x)\ny = wrong(2)\n"


def asked(devfix: Devfix, answers: str, *options: str) -> tuple[int, str, str]:
    ran = devfix("review", "--plain", *options, stdin=answers.replace(" ", "\n").encode() + b"\n" * bool(answers))
    return ran.code, ran.out, ran.err


# What must not happen


@pytest.mark.parametrize("answers", ["", "y", "y y", "y n q", "q", "a", "y y n", "i", "i i", "w", "A"])
def test_nothing_is_written_without_the_last_yes(tree: Path, devfix: Devfix, answers: str) -> None:
    (tree / "a.py").write_text(TWO)
    (tree / "b.py").write_text(BUGGY)
    assert asked(devfix, answers)[0] == 1
    assert [(tree / name).read_text() for name in ("a.py", "b.py")] == [TWO, BUGGY]
    assert devfix("undo").code == 2


def test_uncommitted_work_is_not_touched_and_no_decision_is_lost(repository: Path, devfix: Devfix) -> None:
    (repository / "a.py").write_text("x = 1\n")
    commit(repository)
    (repository / "a.py").write_text(BUGGY)
    code, _, err = asked(devfix, "y y")
    assert code == 2
    assert "a file that has uncommitted changes" in err
    assert "devfix review --resume ." in err
    assert (repository / "a.py").read_text() == BUGGY
    assert asked(devfix, "y", "--resume", "--allow-dirty")[0] == 0
    assert (repository / "a.py").read_text() == FIXED


def test_a_review_that_was_interrupted_is_not_dropped_unasked(tree: Path, devfix: Devfix) -> None:
    (tree / "a.py").write_text(TWO)
    asked(devfix, "y")
    code, out, err = asked(devfix, "n n")
    assert (code, out) == (2, "")
    assert "an interrupted review of these paths has 1 decision: --resume goes on with it, --restart drops it" in err
    code, out, _ = asked(devfix, "n n", "--restart")
    assert code == 0
    assert "Nothing to write (2 refused)." in out


def test_what_was_decided_is_dropped_where_a_review_begins_anew(tree: Path, devfix: Devfix) -> None:
    (tree / "a.py").write_text(TWO)
    asked(devfix, "y")
    asked(devfix, "q", "--restart")
    code, out, _ = asked(devfix, "n n")
    assert code == 0
    assert "Nothing to write (2 refused)." in out


def test_a_file_that_changed_meanwhile_is_left_and_its_decisions_kept(
    tree: Path, devfix: Devfix, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tree / "a.py").write_text(BUGGY)
    (tree / "b.py").write_text(BUGGY)
    from devfix.review.session import Session

    honest = Session.write

    def edited(self: Session, plan: object) -> object:
        (tree / "a.py").write_text("# mine\n" + BUGGY)
        return honest(self, plan)  # type: ignore[arg-type]

    monkeypatch.setattr(Session, "write", edited)
    code, out, err = asked(devfix, "y y y")
    assert code == 2
    assert "a.py: changed on disk" in err
    assert "b.py: 1 fixed" in out
    assert (tree / "a.py").read_text() == "# mine\n" + BUGGY
    assert (tree / "b.py").read_text() == FIXED
    monkeypatch.undo()


def test_odd_names_and_control_characters_are_shown_harmlessly(tree: Path, devfix: Devfix) -> None:
    (tree / "a\x1b[2J[red].py").write_bytes(b"import torch\nx = wrong('\x1b[31m[/]')  # \xc2\x9b31m\n")
    code, out, err = asked(devfix, "y d y")
    assert code == 0
    shown = out.split("[y,n,d,?]? d\n")[0]
    assert "\x1b" not in shown + err
    assert "\x9b" not in shown + err
    assert b"right" in (tree / "a\x1b[2J[red].py").read_bytes()


@pytest.mark.parametrize(
    ("options", "what"),
    [
        (("-",), "a review writes files"),
        (("--resume", "--restart"), "contradict"),
        (("--select", "DVF9"), "no rule 'DVF9'"),
    ],
)
def test_wrong_usage(tree: Path, devfix: Devfix, options: tuple[str, ...], what: str) -> None:
    (tree / "a.py").write_text(BUGGY)
    code, out, err = asked(devfix, "y", *options)
    assert (code, out) == (2, "")
    assert what in err


def test_what_leads_out_of_the_tree_cannot_be_accepted(tree: Path, tmp_path: Path, devfix: Devfix) -> None:
    (tmp_path / "outside.py").write_text(BUGGY)
    (tree / "link.py").symlink_to(tmp_path / "outside.py")
    code, out, _ = asked(devfix, "y i n", "link.py")
    assert (code, out.count("That cannot be done here.")) == (0, 2)
    assert "not written: a symbolic link that leads out of the tree" in out
    assert (tmp_path / "outside.py").read_text() == BUGGY


# What the answers do


@pytest.mark.parametrize(
    ("answers", "fixed", "code"),
    [
        ("y y y", "12", 0),
        ("y n y", "1", 0),
        ("n y y", "2", 0),
        ("n n", "", 0),
        ("y w y", "1", 1),
        ("s y y", "2", 1),
        ("a y", "12", 0),
        ("A y", "12", 0),
        ("d", "", 0),
        ("D", "", 0),
        ("y u n n", "", 0),
        ("y u y n y", "1", 0),
        ("u bogus ? y y y", "12", 0),
    ],
)
def test_answers(tree: Path, devfix: Devfix, answers: str, fixed: str, code: int) -> None:
    (tree / "a.py").write_text(TWO)
    ran = asked(devfix, answers)
    assert ran[0] == code
    expected = TWO
    for number in fixed:
        expected = expected.replace(f"wrong({number})", f"right({number})")
    assert (tree / "a.py").read_text() == expected
    assert ("Undo with: devfix undo" in ran[1]) is bool(fixed)


def test_a_and_d_stay_in_the_file_and_the_capitals_do_not(tree: Path, devfix: Devfix) -> None:
    (tree / "a.py").write_text(TWO)
    (tree / "b.py").write_text(BUGGY)
    _, out, _ = asked(devfix, "a n y")
    assert "Wrote 2 fixes in 1 file (2 accepted, 1 refused)." in out
    (tree / "a.py").write_text(TWO)
    assert "Wrote 3 fixes in 2 files (3 accepted)." in asked(devfix, "A y")[1]


def test_unsafe_fixes_are_offered_and_never_taken_along(tree: Path, devfix: Devfix) -> None:
    (tree / "a.py").write_text("import torch\nx = wrong(1)\ny = wrong(2)  # unsafe\nz = wrong(3)\n")
    _, out, _ = asked(devfix, "a n y")
    assert "1 unsafe left to decide" in out
    assert "Apply this unsafe fix" in out
    assert (tree / "a.py").read_text() == "import torch\nx = right(1)\ny = wrong(2)  # unsafe\nz = right(3)\n"


def test_advice_is_shown_and_cannot_be_accepted(tree: Path, devfix: Devfix) -> None:
    (tree / "a.py").write_text("import torch\nx = wrong(1)  # manual\n")
    code, out, _ = asked(devfix, "y a i y")
    assert code == 0
    assert out.count("That cannot be done here.") == 2
    assert "advice: Think about it" in out
    assert (tree / "a.py").read_text() == "import torch\nx = wrong(1)  # manual  # devfix: ignore[DVF101]\n"
    assert devfix("check").code == 0


def test_comments_stand_right_after_fixes_that_move_lines(tree: Path, devfix: Devfix) -> None:
    (tree / "a.py").write_text("import torch\nx = wrong(1)\ny = wrong(2)\nz = wrong(3)\n")
    code, out, _ = asked(devfix, "i y i y")
    assert (code, "Wrote 1 fix and 2 comments in 1 file (1 accepted, 2 to be ignored)." in out) == (0, True)
    comment = "  # devfix: ignore[DVF101]"
    assert (tree / "a.py").read_text() == f"import torch\nx = wrong(1){comment}\ny = right(2)\nz = wrong(3){comment}\n"
    assert devfix("undo").code == 0


def test_the_combined_diff_before_the_last_yes(tree: Path, devfix: Devfix) -> None:
    (tree / "a.py").write_text(TWO)
    _, out, _ = asked(devfix, "y i ? d n")
    assert "--- a/a.py\n+++ b/a.py\n" in out
    assert "-x = wrong(1)\n+x = right(1)\n" in out
    assert "+y = wrong(2)  # devfix: ignore[DVF101]\n" in out
    assert (tree / "a.py").read_text() == TWO


def test_the_page_of_the_rule(tree: Path, devfix: Devfix) -> None:
    (tree / "a.py").write_text(BUGGY)
    assert "Batches that stay behind." in asked(devfix, "r q")[1]


def test_nothing_found(tree: Path, devfix: Devfix) -> None:
    (tree / "a.py").write_text(FIXED)
    assert asked(devfix, "")[:2] == (0, "No device bugs found (1 file checked).\n")
    (tree / "b.py").write_text("import torch\nx = wrong(\n")
    code, _, err = asked(devfix, "")
    assert (code, "error: b.py: syntax error" in err) == (2, True)


def test_a_file_that_cannot_be_handled_does_not_keep_the_others(tree: Path, devfix: Devfix) -> None:
    (tree / "a.py").write_text(BUGGY)
    (tree / "b.py").write_text("import torch\nx = wrong(\n")
    code, _, err = asked(devfix, "y y")
    assert (code, err.count("error: b.py")) == (2, 1)
    assert (tree / "a.py").read_text() == FIXED


# The editor


def editor_that(tree: Path, monkeypatch: pytest.MonkeyPatch, python: str) -> None:
    script = tree.parent / "editor"
    script.write_text(f"#!{sys.executable}\nimport sys, pathlib\npath = pathlib.Path(sys.argv[-1])\n{python}\n")
    script.chmod(0o755)
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", str(script))


def test_after_an_edit_the_file_is_analysed_anew(tree: Path, devfix: Devfix, monkeypatch: pytest.MonkeyPatch) -> None:
    (tree / "a.py").write_text(TWO)
    editor_that(tree, monkeypatch, "path.write_text('# new\\n' + path.read_text().replace('wrong(2)', 'fine(2)'))")
    code, out, _ = asked(devfix, "y e y")
    assert code == 0
    assert "a.py: 1 gone" in out
    assert (tree / "a.py").read_text() == "# new\nimport torch\nx = right(1)\nprint(x)\ny = fine(2)\n"


def test_an_edit_that_breaks_the_file(tree: Path, devfix: Devfix, monkeypatch: pytest.MonkeyPatch) -> None:
    (tree / "a.py").write_text(TWO)
    editor_that(tree, monkeypatch, "path.write_text('import torch\\nwrong(')")
    code, out, err = asked(devfix, "e")
    assert code == 2
    assert "a.py: syntax error" in out
    assert "error: a.py: syntax error" in err


def test_an_editor_with_a_window_of_its_own_is_waited_for(
    tree: Path, devfix: Devfix, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tree / "a.py").write_text(TWO)
    editor = tree.parent / "gvim"
    editor.write_text(
        f"#!{sys.executable}\nimport pathlib, sys\npath = pathlib.Path(sys.argv[-1])\n"
        "if '--nofork' in sys.argv:  # else it goes on in the background\n"
        "    path.write_text(path.read_text().replace('wrong(2)', 'fine(2)'))\n"
    )
    editor.chmod(0o755)
    monkeypatch.setenv("VISUAL", str(editor))
    code, out, _ = asked(devfix, "y e y")
    assert (code, "a.py: 1 gone" in out) == (0, True)


@pytest.mark.parametrize(("command", "reason"), [("/no/such", "cannot be started"), ("false", "ended with status 1")])
def test_an_editor_that_fails(
    tree: Path, devfix: Devfix, monkeypatch: pytest.MonkeyPatch, command: str, reason: str
) -> None:
    (tree / "a.py").write_text(BUGGY)
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", command)
    code, out, _ = asked(devfix, "e y y")
    assert (code, reason in out) == (0, True)


# Where there is no full screen


def test_a_pipe_is_asked_line_by_line_unasked(tree: Path) -> None:
    (tree / "a.py").write_text("import torch\n\nmodel = torch.nn.Linear(1, 1).cuda()\nx = torch.zeros(3)\nmodel(x)\n")
    command = [sys.executable, "-m", "devfix", "review"]
    done = subprocess.run(command, input=b"q\n", capture_output=True, check=False)
    assert done.returncode in (0, 1)
    assert b"\x1b" not in done.stdout


def test_a_dumb_terminal_is_asked_line_by_line(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from devfix.review import plain

    (tree / "a.py").write_text(BUGGY)
    ours, theirs = pty.openpty()
    with os.fdopen(theirs) as terminal:
        monkeypatch.setattr(sys, "stdin", terminal)
        monkeypatch.setenv("TERM", "dumb")
        assert plain.is_due(True)
        monkeypatch.setenv("TERM", "xterm")
        assert not plain.is_due(True)
        assert plain.is_due(False)
    os.close(ours)


def test_without_textual_one_line_says_what_to_install(
    tree: Path, devfix: Devfix, monkeypatch: pytest.MonkeyPatch
) -> None:
    from devfix.review import plain

    (tree / "a.py").write_text(BUGGY)
    monkeypatch.setattr(plain, "is_due", lambda _terminal: False)
    monkeypatch.setitem(sys.modules, "textual", None)
    ran = devfix("review")
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert "devfix review needs textual: pip install 'devfix[review]'" in ran.err
