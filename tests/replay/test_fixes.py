"""Sets of fixes: what each of them is worth, and which of them broke the others."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from devfix.replay.backends import PlainCpu
from devfix.replay.changes import Change
from devfix.replay.options import ReplayOptions
from devfix.replay.programs import Program
from devfix.replay.replaying import replay_on
from devfix.replay.results import ReplayResult
from devfix.replay.verdicts import Kind
from devfix_codemods.edits.operations import InsertStatement
from devfix_codemods.findings import Finding, Fix, Safety
from devfix_codemods.source import Span

ERROR = "RuntimeError('Expected all tensors to be on the same device')"
Fixed = dict[int, str]


def finding(line: int) -> Finding:
    fix = Fix(Safety.SAFE, "", (InsertStatement(Span(line, 0, line, 1), "pass", "before"),))
    return Finding("DVF104", "factory-without-device", f"line {line}", Span(line, 0, line, 1), fix=fix)


def change(path: Path, before: str, fixes: Fixed) -> Change:
    """A change in which the fix of each line puts another in its place."""
    path.write_text(before)
    findings = {line: finding(line) for line in fixes}

    def only(chosen: Sequence[Finding]) -> bytes:
        lines = before.split("\n")
        for line, each in findings.items():
            if each in chosen:
                lines[line - 1] = fixes[line]
        return "\n".join(lines).encode()

    every = tuple(findings.values())
    return Change(path, before.encode(), only(every), every, only)


@pytest.fixture
def judge(tree: Path) -> Callable[..., list[ReplayResult]]:
    def judge(*changes: Change, **options: object) -> list[ReplayResult]:
        return replay_on(PlainCpu(), changes, ReplayOptions(**{"timeout": 60, **options}))  # type: ignore[arg-type]

    return judge


Judge = Callable[..., list[ReplayResult]]
SCRIPT = f"def check(x):\n    if x: raise {ERROR}\nx = 1\ny = 2\nz = 3\ncheck(x)\nprint(y, z)\n"


def kinds(result: ReplayResult) -> dict[int, Kind]:
    return {fix.finding.span.line: fix.kind for fix in result.fixes}


def test_the_fix_that_breaks_a_set_is_named_and_the_rest_holds(tree: Path, judge: Judge) -> None:
    (result,) = judge(change(tree / "train.py", SCRIPT, {3: "x = 0", 4: "y =  2", 5: "z = device"}))
    assert kinds(result) == {3: Kind.CONFIRMED, 4: Kind.CONFIRMED, 5: Kind.REFUTED}
    assert result.verdict.kind is Kind.REFUTED
    assert result.verdict.reason.startswith("DVF104 at line 5 breaks it: ")
    assert "NameError at train.py:5" in result.verdict.reason
    assert "the rest is confirmed: RuntimeError at train.py:2 is gone" in result.verdict.reason
    assert [each.span.line for each in result.withdrawn] == [5]
    assert result.holds == SCRIPT.replace("x = 1", "x = 0").replace("y = 2", "y =  2").encode()
    assert result.after is not None
    assert result.after.passed
    assert (tree / "train.py").read_text() == SCRIPT


def test_where_nothing_holds_the_file_stays_as_it_was(tree: Path, judge: Judge) -> None:
    (result,) = judge(change(tree / "train.py", SCRIPT, {3: "x = 5", 4: "y = device"}))
    assert kinds(result) == {3: Kind.REFUTED, 4: Kind.REFUTED}
    assert result.holds == SCRIPT.encode()
    assert result.verdict.kind is Kind.REFUTED


def test_fixes_whose_lines_never_run_are_not_to_blame(tree: Path, judge: Judge) -> None:
    script = SCRIPT + "def unused():\n    return 1\n"
    (result,) = judge(change(tree / "train.py", script, {4: "y = device", 9: "    return 2"}))
    assert kinds(result) == {4: Kind.REFUTED, 9: Kind.NOT_REACHED}
    assert result.holds == script.replace("return 1", "return 2").encode()


def test_the_fix_of_another_file_can_be_the_one_that_breaks(tree: Path, judge: Judge) -> None:
    lib = change(tree / "lib.py", "def f():\n    return 3\n", {2: "    return device"})
    script = change(tree / "train.py", f"import lib\n{SCRIPT}print(lib.f())\n", {4: "x = 0"})
    ours, theirs = judge(script, lib)
    assert ours.verdict.kind is Kind.CONFIRMED
    assert theirs.verdict.kind is Kind.REFUTED
    assert theirs.holds == lib.before
    assert ours.holds == script.after


def test_several_bugs_in_one_script_are_confirmed_together(tree: Path, judge: Judge) -> None:
    script = f"{SCRIPT}check(z)\n"
    (result,) = judge(change(tree / "train.py", script.replace("print(y, z)", "print(y)"), {3: "x = 0", 5: "z = 0"}))
    assert kinds(result) == {3: Kind.CONFIRMED, 5: Kind.CONFIRMED}


def test_a_chosen_program_judges_the_files_of_its_tree(tree: Path, judge: Judge, tmp_path: Path) -> None:
    lib = change(tree / "lib.py", f"def f():\n    raise {ERROR}\n", {2: "    return 0"})
    idle = change(tree / "idle.py", "def g():\n    return 1\n", {2: "    return 0"})
    (tmp_path / "other").mkdir()
    stranger = change(tmp_path / "other" / "run.py", "print(1)\n", {1: "print(2)"})
    (tree / "run.py").write_text("import lib, sys\nlib.f()\nprint(sys.argv[1:])\n")
    results = judge(lib, idle, stranger, program=Program(tree / "run.py", ("--fast",)))
    assert [result.verdict.kind for result in results] == [Kind.CONFIRMED, Kind.NOT_REACHED, Kind.INCONCLUSIVE]
    assert results[0].command == "python run.py --fast"
    assert results[2].verdict.reason == "not in the tree of run.py, which was run"


def test_a_new_file_is_absent_before(tree: Path, judge: Judge) -> None:
    script = change(tree / "train.py", "import os\nprint(os.path.exists('new/data.py'))\n", {2: "print(False)"})
    (result, _) = judge(script, Change(tree / "new" / "data.py", None, b"x = 1\n"))
    assert result.before is not None
    assert result.before.stdout.head == "False\n"
    assert not (tree / "new").exists()
