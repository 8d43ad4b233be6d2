"""Hostile and unusual files: each with a stated outcome, each beside a good file that must get its treatment."""

import errno
import os
import stat
from dataclasses import dataclass
from pathlib import Path

import pytest

from .conftest import BUGGY, FIXED, Devfix, as_nobody

pytestmark = pytest.mark.usefixtures("library")

HEAD = b"import torch\n"
CALL = b"x = wrong(1)\n"
DONE = b"x = right(1)\n"


@dataclass(frozen=True)
class Refused:
    """A file that devfix cannot handle: exit code 2, the reason named, not a byte changed."""

    data: bytes
    reason: str


@dataclass(frozen=True)
class Rewritten:
    """An unusual file that is handled like any other."""

    before: bytes
    after: bytes


REFUSED = {
    "syntax error": Refused(HEAD + b"x = wrong(\n", "syntax error"),
    "undecodable": Refused(HEAD + b"# caf\xe9 \xff\n" + CALL, "not valid utf-8"),
    "unknown cookie": Refused(b"# coding: klingon\n" + HEAD + CALL, "unknown encoding: klingon"),
    "cookie against BOM": Refused(b"\xef\xbb\xbf# coding: latin-1\n" + HEAD + CALL, "encoding"),
    "NUL": Refused(HEAD + b"\0\n" + CALL, "null byte"),
    "3000 nested brackets": Refused(HEAD + b"y = " + b"(" * 3000 + b")" * 3000 + b"\n" + CALL, "nested"),
    "template": Refused(HEAD + b"x = {% if wrong %}\n", "syntax error"),
    "nothing of torch": Refused(b"x = wrong(\n", "syntax error: '(' was never closed (line 1)"),
    "no word of a rule": Refused(HEAD + b"x = (\n", "syntax error: '(' was never closed (line 2)"),
    "Python 2": Refused(b"print 1\n", "syntax error: Missing parentheses"),
    "binary": Refused(bytes(range(256)), "not valid utf-8 at byte 128"),
}

HANDLED = {
    "latin-1 with cookie": Rewritten(
        b"# coding: latin-1\n" + HEAD + b"# caf\xe9\n" + CALL, b"# coding: latin-1\n" + HEAD + b"# caf\xe9\n" + DONE
    ),
    "byte order mark": Rewritten(b"\xef\xbb\xbf" + HEAD + CALL, b"\xef\xbb\xbf" + HEAD + DONE),
    "CRLF": Rewritten(b"import torch\r\nx = wrong(1)\r\n", b"import torch\r\nx = right(1)\r\n"),
    "mixed line ends": Rewritten(
        b"import torch\r\nx = wrong(1)\ny = 2\r\n", b"import torch\r\nx = right(1)\ny = 2\r\n"
    ),
    "no last newline": Rewritten(HEAD + CALL.rstrip(), HEAD + DONE.rstrip()),
    "form feed": Rewritten(HEAD + b"\x0c\n" + CALL, HEAD + b"\x0c\n" + DONE),
    "beyond the BMP": Rewritten(
        "import torch\ns = '🐍'; x = wrong(1)\n".encode(), "import torch\ns = '🐍'; x = right(1)\n".encode()
    ),
}

UNTOUCHED = {
    "empty": b"",
    "only a BOM": b"\xef\xbb\xbf",
    "invalid escape": b"x = '\\d'\n",
    "nothing of torch": b"x = wrong(1)\n",
    "skip-file": b"# devfix: skip-file\n" + HEAD + CALL,
}


@pytest.fixture
def good(tree: Path) -> Path:
    """A file that every run must fix, whatever lies beside it."""
    path = tree / "good.py"
    path.write_text(BUGGY)
    return path


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED.keys())
def test_a_file_that_cannot_be_handled_is_named_and_left_alone(
    case: Refused, tree: Path, good: Path, devfix: Devfix
) -> None:
    bad = tree / "bad.py"
    bad.write_bytes(case.data)
    checked = devfix("check", "--output-format", "json")
    assert checked.code == 2
    assert [entry["path"] for entry in checked.json["errors"]] == ["bad.py"]
    assert case.reason in checked.json["errors"][0]["reason"]
    rewritten = devfix("rewrite")
    assert rewritten.code == 2
    assert rewritten.err.count("\n") == 1
    assert "error: bad.py: " in rewritten.err
    assert bad.read_bytes() == case.data
    assert good.read_text() == FIXED


@pytest.mark.parametrize("case", HANDLED.values(), ids=HANDLED.keys())
def test_an_unusual_file_is_fixed_and_otherwise_kept(case: Rewritten, tree: Path, good: Path, devfix: Devfix) -> None:
    odd = tree / "odd.py"
    odd.write_bytes(case.before)
    assert devfix("check").code == 1
    assert devfix("rewrite").code == 0
    assert odd.read_bytes() == case.after
    assert good.read_text() == FIXED
    assert devfix("check").code == 0
    assert devfix("undo").code == 0
    assert odd.read_bytes() == case.before


@pytest.mark.parametrize("data", UNTOUCHED.values(), ids=UNTOUCHED.keys())
def test_a_file_without_a_bug_is_no_error(data: bytes, tree: Path, good: Path, devfix: Devfix) -> None:
    plain = tree / "plain.py"
    plain.write_bytes(data)
    before = plain.stat()
    assert devfix("rewrite").code == 0
    assert plain.read_bytes() == data
    assert (plain.stat().st_ino, plain.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert good.read_text() == FIXED


def test_an_unreadable_file(open_tree: Path, devfix: Devfix) -> None:
    _good_and(open_tree, "bad.py")
    (open_tree / "bad.py").chmod(0)
    with as_nobody():
        checked, rewritten = devfix("check"), devfix("rewrite")
    for ran in (checked, rewritten):
        assert (ran.code, ran.err) == (2, "error: bad.py: cannot be read: Permission denied\n")
    assert "good.py:3:5" in checked.out
    assert (open_tree / "good.py").read_text() == FIXED


def test_a_folder_that_cannot_be_listed(open_tree: Path, devfix: Devfix) -> None:
    _good_and(open_tree, "bad/inside.py")
    (open_tree / "bad").chmod(0)
    with as_nobody():
        ran = devfix("rewrite")
    (open_tree / "bad").chmod(0o755)
    assert (ran.code, ran.err) == (2, "error: bad: cannot be listed: Permission denied\n")
    assert (open_tree / "good.py").read_text() == FIXED


def test_a_folder_in_which_nothing_can_be_written(open_tree: Path, devfix: Devfix) -> None:
    _good_and(open_tree, "bad/inside.py")
    (open_tree / "bad").chmod(0o555)
    with as_nobody():
        ran = devfix("rewrite")
    assert (ran.code, ran.err) == (2, "error: bad/inside.py: cannot be written: Permission denied\n")
    assert (open_tree / "bad/inside.py").read_text() == BUGGY
    assert [path.name for path in (open_tree / "bad").iterdir()] == ["inside.py"]
    assert (open_tree / "good.py").read_text() == FIXED


def test_a_read_only_file(tree: Path, good: Path, devfix: Devfix) -> None:
    bad = tree / "bad.py"
    bad.write_text(BUGGY)
    bad.chmod(0o444)
    ran = devfix("rewrite")
    assert (ran.code, ran.err) == (2, "error: bad.py: is read-only; it was left as it was\n")
    assert bad.read_text() == BUGGY
    assert good.read_text() == FIXED
    assert devfix("rewrite", "--diff").out.startswith("--- a/bad.py\n")


def test_a_folder_that_can_be_written_to_and_not_listed(open_tree: Path, devfix: Devfix) -> None:
    _good_and(open_tree, "closed/bad.py")
    (open_tree / "closed").chmod(0o300)
    with as_nobody():
        ran = devfix("rewrite", "closed/bad.py")
        assert (ran.code, ran.err) == (0, "")
        assert (open_tree / "closed" / "bad.py").read_text() == FIXED
        assert devfix("undo").code == 0
        assert (open_tree / "closed" / "bad.py").read_text() == BUGGY
    (open_tree / "closed").chmod(0o700)


def test_somebody_elses_file(open_tree: Path, devfix: Devfix) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can make a file that belongs to another user")
    _good_and(open_tree, "bad.py")
    os.chown(open_tree / "bad.py", 1, 1)
    (open_tree / "bad.py").chmod(0o644)
    with as_nobody():
        ran = devfix("rewrite")
    assert (ran.code, ran.err) == (2, "error: bad.py: is read-only; it was left as it was\n")
    assert (open_tree / "good.py").read_text() == FIXED


def test_a_file_stays_with_the_group_that_shares_it(open_tree: Path, devfix: Devfix) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can make a file that belongs to another user")
    _good_and(open_tree, "bad.py")
    os.chown(open_tree / "bad.py", 1, 2000)
    (open_tree / "bad.py").chmod(0o664)
    groups = os.getgroups()
    os.setgroups([*groups, 2000])
    try:
        with as_nobody():
            ran = devfix("rewrite")
    finally:
        os.setgroups(groups)
    assert (ran.code, ran.err) == (0, "")
    assert (open_tree / "bad.py").read_text() == FIXED
    status = (open_tree / "bad.py").stat()
    assert (status.st_gid, stat.S_IMODE(status.st_mode)) == (2000, 0o664)


def test_a_file_of_a_user_whom_a_container_does_not_know(
    tree: Path, good: Path, devfix: Devfix, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unknown(*_args: object) -> None:
        raise OSError(errno.EINVAL, "Invalid argument")

    monkeypatch.setattr(os, "chown", unknown)
    assert devfix("rewrite").code == 0
    assert good.read_text() == FIXED


def test_a_link_to_nothing(tree: Path, good: Path, devfix: Devfix) -> None:
    (tree / "bad.py").symlink_to("nowhere.py")
    walked = devfix("rewrite")
    assert (walked.code, walked.err) == (0, "skipped bad.py: a symbolic link to nothing\n")
    assert good.read_text() == FIXED
    named = devfix("check", "bad.py")
    assert (named.code, named.err) == (2, "error: bad.py: a symbolic link to nothing\n")


def test_links_in_a_circle(tree: Path, good: Path, devfix: Devfix) -> None:
    (tree / "one.py").symlink_to("two.py")
    (tree / "two.py").symlink_to("one.py")
    (tree / "folder").symlink_to(".")
    assert devfix("rewrite").code == 0
    assert good.read_text() == FIXED


def test_a_link_out_of_the_tree(tree: Path, good: Path, devfix: Devfix) -> None:
    outside = tree.parent / "outside.py"
    outside.write_text(BUGGY)
    (tree / "bad.py").symlink_to(outside)
    (tree / "folder").symlink_to(tree.parent)
    walked = devfix("rewrite")
    assert (walked.code, walked.err) == (0, "skipped bad.py: a symbolic link that leads out of the tree\n")
    named = devfix("rewrite", "bad.py")
    assert named.code == 2
    assert "error: bad.py: a symbolic link that leads out of the tree" in named.err
    assert outside.read_text() == BUGGY
    assert (tree / "bad.py").is_symlink()
    assert devfix("check", "bad.py").code == 1


def test_a_link_within_the_tree_is_one_file(tree: Path, good: Path, devfix: Devfix) -> None:
    (tree / "again.py").symlink_to("good.py")
    ran = devfix("rewrite")
    assert (ran.code, ran.err) == (0, "")
    assert "Fixed 1 bug in 1 file" in ran.out
    assert (tree / "again.py").is_symlink()
    assert good.read_text() == FIXED


def test_a_hard_link_out_of_the_tree_is_dissolved(tree: Path, good: Path, devfix: Devfix) -> None:
    outside = tree.parent / "outside.py"
    os.link(good, outside)
    assert devfix("rewrite").code == 0
    assert (good.read_text(), outside.read_text()) == (FIXED, BUGGY)


def test_two_hard_links_in_the_tree_get_the_same_text(tree: Path, good: Path, devfix: Devfix) -> None:
    os.link(good, tree / "twin.py")
    assert devfix("rewrite").code == 0
    assert (good.read_text(), (tree / "twin.py").read_text()) == (FIXED, FIXED)


@pytest.mark.slow
def test_a_large_file(tree: Path, good: Path, devfix: Devfix) -> None:
    large = tree / "large.py"
    large.write_text(BUGGY + "y = 1  # padding\n" * 200_000)
    walked = devfix("rewrite")
    assert walked.code == 0
    assert walked.err.startswith("skipped large.py: 3,400,0")
    assert good.read_text() == FIXED
    named = devfix("check", "large.py")
    assert named.code == 2
    assert "max-file-size" in named.err
    (tree / "pyproject.toml").write_text('[tool.devfix]\nmax-file-size = "4MiB"\n')
    assert devfix("rewrite").code == 0
    assert large.read_text().startswith(FIXED)


def test_a_pipe(tree: Path, good: Path, devfix: Devfix) -> None:
    os.mkfifo(tree / "pipe.py")
    assert devfix("rewrite").code == 0
    named = devfix("check", "pipe.py")
    assert (named.code, named.err) == (2, "error: pipe.py: not a regular file\n")


@pytest.mark.parametrize("name", ["with blank.py", "ünïcode.py", "new\nline.py", "esc\x1b[31m.py", "[bold]x.py"])
def test_an_odd_name(name: str, tree: Path, devfix: Devfix) -> None:
    (tree / name).write_text(BUGGY)
    ran = devfix("rewrite")
    assert ran.code == 0
    assert "\x1b" not in ran.out
    assert (tree / name).read_text() == FIXED


def test_a_name_that_is_no_text(tree: Path, devfix: Devfix) -> None:
    path = Path(os.fsdecode(os.fsencode(tree) + b"/caf\xe9.py"))
    path.write_text(BUGGY)
    assert devfix("check").code == 1
    assert devfix("check", "--output-format", "json").json["findings"][0]["path"] == "caf\\udce9.py"
    assert devfix("rewrite").code == 0
    assert path.read_text() == FIXED
    assert devfix("undo").code == 0
    assert path.read_text() == BUGGY


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("please segfault", "the analysis process died (signal 11)"),
        ("please raise", "a defect of devfix, please report it: RuntimeError: two lines"),
    ],
)
def test_a_file_that_breaks_the_analysis(word: str, reason: str, tree: Path, good: Path, devfix: Devfix) -> None:
    (tree / "bad.py").write_text(BUGGY + f"# {word}\n")
    for number in range(20):
        (tree / f"other{number}.py").write_text(BUGGY)
    ran = devfix("rewrite")
    assert (ran.code, ran.err) == (2, f"error: bad.py: {reason}\n")
    assert good.read_text() == FIXED
    assert all((tree / f"other{number}.py").read_text() == FIXED for number in range(20))


def test_the_mode_is_kept(tree: Path, good: Path, devfix: Devfix) -> None:
    good.chmod(0o750)
    assert devfix("rewrite").code == 0
    assert stat.S_IMODE(good.stat().st_mode) == 0o750


def _good_and(tree: Path, name: str) -> None:
    for path in (tree / "good.py", tree / name):
        path.parent.mkdir(exist_ok=True)
        path.write_text(BUGGY)
        if os.geteuid() == 0:
            os.chown(path.parent, 65534, 65534)
            os.chown(path, 65534, 65534)
