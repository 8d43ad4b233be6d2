"""One repository from its clone to its outcome."""

import importlib.util
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from devfix.batch.choices import Commits
from devfix.batch.migration.migrate import migrate
from devfix.batch.records import Job, Outcome, Replay, Rules, State
from devfix.replay import Change, ReplayOptions, ReplayResult
from devfix.replay.backends import HIDDEN
from devfix.replay.verdict_kinds import inconclusive

from ..cli.conftest import TIERED, install
from .git_repositories import BRANCH, committed, git, plan, repository

BUGGY = b"""import torch

scaler = torch.cuda.amp.GradScaler()
model = torch.nn.Linear(2, 2)
model.load_state_dict(torch.load("a.pt"))
"""
CLEAN = b"import torch\n\nprint(torch.zeros(3).sum())\n"
CRASHES = b"""import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = torch.nn.Linear(4, 4).to(device)
model.head = torch.nn.Linear(4, 2)


def main():
    print(tuple(model.head(model(torch.ones(1, 4, device=device))).shape))


if __name__ == "__main__":
    main()
"""
KEEPS_A_TENSOR = b"""import torch
from torch import nn


class Scale(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)
        self.scale = torch.arange(4).float()

    def forward(self, x):
        return self.layer(x) * self.scale
"""
TESTS_IT = b"""import importlib

import torch


def test_scale():
    importlib.import_module("lib").Scale()(torch.ones(4))
"""
UNSAFE = Rules(unsafe=True)

sandbox = pytest.mark.usefixtures("bubblewrap")
torch = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed")


def done(tmp_path: Path, files: dict[str, bytes | str], job: dict[str, Any] | None = None, **wanted: Any) -> Outcome:
    """The outcome for a repository with these files; `job` are fields of the plan."""
    source = tmp_path / "source"
    if not source.exists():
        committed(source, files)
    wanted = {"rules": UNSAFE, **wanted}
    shown = tuple(HIDDEN.items())  # as a worker without an accelerator is told
    return migrate(Job(plan(tmp_path / "run", **(job or {})), repository(source, **wanted), environment=shown))


def branch_of(tmp_path: Path, name: str = BRANCH) -> list[str]:
    """The subjects of the commits on the branch in the cached clone, the last one first."""
    [clone] = (tmp_path / "run" / "clones").glob("*.git")
    return git(clone, "log", "--format=%s", name).splitlines()


def test_nothing_to_fix(tmp_path: Path) -> None:
    outcome = done(tmp_path, {"a.py": CLEAN})
    assert (outcome.state, outcome.files, outcome.commits, outcome.patch) == (State.CLEAN, 1, (), b"")
    assert branch_of(tmp_path) == ["Work"]


def test_the_source_is_never_touched(tmp_path: Path) -> None:
    committed(tmp_path / "source", {"a.py": BUGGY})
    before = git(tmp_path / "source", "for-each-ref"), git(tmp_path / "source", "status", "--porcelain")
    assert done(tmp_path, {}).state is State.CHANGED
    assert (git(tmp_path / "source", "for-each-ref"), git(tmp_path / "source", "status", "--porcelain")) == before
    assert (tmp_path / "source" / "a.py").read_bytes() == BUGGY


def test_their_settings_cannot_make_us_run_anything(tmp_path: Path) -> None:
    canary = tmp_path / "canary"
    table = f'[tool.devfix]\nselect = ["DVF302"]\n[tool.devfix.replay]\ncommand = "touch {canary}"\n'
    outcome = done(tmp_path, {"a.py": BUGGY, "pyproject.toml": table.encode()})
    assert outcome.state is State.FAILED
    assert outcome.error is not None
    assert outcome.error.kind == "settings"
    assert "command" in outcome.error.message
    assert not canary.exists()


def test_no_code_is_run_unless_that_was_asked_for(tmp_path: Path) -> None:
    canary = tmp_path / "canary"
    script = BUGGY + f"open({str(canary)!r}, 'w')\n".encode()
    wanted = {"checks": (f"touch {canary}",), "setup": f"touch {canary}"}
    outcome = done(tmp_path, {"a.py": script, "setup.py": script}, **wanted)
    assert outcome.state is State.CHANGED
    assert (outcome.checks, outcome.verdicts) == ((), ())
    assert not canary.exists()


def test_nothing_is_left_but_the_clone(tmp_path: Path) -> None:
    before = os.environ.get("TMPDIR"), tempfile.gettempdir()
    done(tmp_path, {"a.py": BUGGY})
    assert [path.name for path in (tmp_path / "run" / "work").iterdir()] == []
    assert (os.environ.get("TMPDIR"), tempfile.gettempdir()) == before


def test_a_repository_that_is_not_there_has_failed(tmp_path: Path) -> None:
    outcome = migrate(Job(plan(tmp_path / "run"), repository(tmp_path / "none")))
    assert outcome.state is State.FAILED
    assert outcome.error is not None
    assert outcome.error.kind == "repository not found"


def test_a_defect_of_ours_fails_its_repository_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def breaks(*_arguments: object) -> None:
        raise ZeroDivisionError("by us")

    monkeypatch.setattr("devfix.batch.migration.migrate.find", breaks)
    outcome = done(tmp_path, {"a.py": BUGGY})
    assert outcome.error is not None
    assert (outcome.state, outcome.error.kind) == (State.FAILED, "a defect of devfix")
    assert "ZeroDivisionError: by us" in outcome.error.message


def test_messages_that_json_cannot_carry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def breaks(*_arguments: object) -> None:
        raise ValueError("a\udcff.py")

    monkeypatch.setattr("devfix.batch.migration.migrate.find", breaks)
    outcome = done(tmp_path, {"a.py": BUGGY})
    assert outcome.error is not None
    assert outcome.error.message.endswith("ValueError: a\\xff.py")
    assert msgspec.json.decode(msgspec.json.encode(outcome), type=Outcome) == outcome


def test_a_commit_for_each_rule(tmp_path: Path) -> None:
    outcome = done(tmp_path, {"a.py": BUGGY, "b/c.py": BUGGY, "d.py": CLEAN})
    assert outcome.state is State.CHANGED
    assert [(fix.path, fix.line, fix.column, fix.code) for fix in outcome.fixes] == [
        ("a.py", 3, 10, "DVF302"),
        ("a.py", 5, 23, "DVF401"),
        ("b/c.py", 3, 10, "DVF302"),
        ("b/c.py", 5, 23, "DVF401"),
    ]
    assert [commit.subject for commit in outcome.commits] == branch_of(tmp_path)[:-1][::-1]
    assert ["DVF302" in commit.subject for commit in outcome.commits] == [True, False]
    assert ["DVF401" in commit.subject for commit in outcome.commits] == [False, True]
    [clone] = (tmp_path / "run" / "clones").glob("*.git")
    first = git(clone, "show", f"{outcome.commits[0].sha}:a.py")
    assert "torch.amp.GradScaler" in first
    assert "map_location" not in first
    assert outcome.diff.count(b"\n+") - outcome.diff.count(b"\n+++") == 4


def test_one_commit_for_all(tmp_path: Path) -> None:
    outcome = done(tmp_path, {"a.py": BUGGY}, {"commits": Commits.ALL})
    assert len(outcome.commits) == 1
    assert outcome.patch.count(b"\nSubject: ") == 1


def test_the_patch_brings_the_same_files(tmp_path: Path) -> None:
    outcome = done(tmp_path, {"a.py": BUGGY.replace(b"\n", b"\r\n"), "b.py": BUGGY})
    copy = tmp_path / "copy"
    git(tmp_path, "clone", "-q", str(tmp_path / "source"), str(copy))
    git(copy, "am", "-q", data=outcome.patch)
    [clone] = (tmp_path / "run" / "clones").glob("*.git")
    assert git(copy, "rev-parse", "HEAD^{tree}") == git(clone, "rev-parse", f"{BRANCH}^{{tree}}")


def test_done_again_it_is_the_same_to_the_commit(tmp_path: Path) -> None:
    first, second = done(tmp_path, {"a.py": BUGGY}), done(tmp_path, {})
    assert first.commits == second.commits
    assert first.patch == second.patch


def test_only_the_subfolder_is_worked_on(tmp_path: Path) -> None:
    outcome = done(tmp_path, {"a.py": BUGGY, "sub/b.py": BUGGY}, subfolder="sub")
    assert {fix.path for fix in outcome.fixes} == {"sub/b.py"}


def test_files_that_are_no_python_are_told(tmp_path: Path) -> None:
    outcome = done(tmp_path, {"a.py": BUGGY, "old.py": b"import torch\nprint torch.load(1)\n"})
    assert outcome.state is State.CHANGED
    assert [path for path, _ in outcome.unhandled] == ["old.py"]


@pytest.mark.slow
@sandbox
@torch
def test_a_replay_in_the_sandbox_confirms(tmp_path: Path) -> None:
    outcome = done(tmp_path, {"train.py": CRASHES}, {"execute": True}, rules=Rules(select=("DVF201",)))
    assert outcome.state is State.CHANGED
    assert [(fix.code, fix.verdict, fix.dropped) for fix in outcome.fixes] == [("DVF201", "confirmed", None)]
    assert [(verdict.path, verdict.kind) for verdict in outcome.verdicts] == [("train.py", "confirmed")]
    assert "replay" in outcome.seconds


@pytest.mark.slow
@sandbox
@torch
def test_a_function_that_nothing_runs_is_driven(tmp_path: Path) -> None:
    ops = b"import torch\n\n\ndef moved(x: torch.Tensor):\n    return x + torch.arange(x.shape[-1])\n"
    outcome = done(tmp_path, {"ops.py": ops}, {"execute": True}, rules=Rules(select=("DVF104",), unsafe=True))
    assert [(fix.code, fix.verdict, fix.dropped) for fix in outcome.fixes] == [("DVF104", "confirmed", None)]
    assert [(verdict.path, verdict.kind) for verdict in outcome.verdicts] == [("ops.py", "confirmed")]
    assert outcome.verdicts[0].command == "python devfix_driver.py"


@pytest.mark.slow
@sandbox
@torch
def test_the_own_tests_of_a_repository_confirm(tmp_path: Path) -> None:
    files: dict[str, bytes | str] = {"lib.py": KEEPS_A_TENSOR, "test_lib.py": TESTS_IT}
    outcome = done(tmp_path, files, {"execute": True, "tests": True}, rules=Rules(select=("DVF203",), unsafe=True))
    assert outcome.error is None
    assert [(fix.path, fix.verdict, fix.dropped) for fix in outcome.fixes] == [("lib.py", "confirmed", None)]
    assert outcome.verdicts[0].command == "python -m pytest"


@sandbox
def test_own_tests_are_run_where_the_run_or_the_repository_asks_for_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, ...] | None] = []

    def replays(changes: Sequence[Change], options: ReplayOptions) -> list[ReplayResult]:
        asked.append(options.suite)
        return [ReplayResult(one.path, "", options.on, inconclusive("not run"), holds=one.after) for one in changes]

    monkeypatch.setattr("devfix.batch.migration.verification.run_replays", replays)
    job, rules = {"execute": True}, Rules(select=("DVF302",))
    for folder, said in (("no", {}), ("one", {"replay": Replay(tests=True)}), ("all", {"job": {"tests": True}})):
        given = {**said, "job": {**job, **said.get("job", {})}}
        assert done(tmp_path / folder, {"a.py": BUGGY}, rules=rules, **given).error is None
    assert asked == [None, (), ()]


@pytest.mark.slow
@sandbox
@torch
def test_each_project_of_a_repository_is_judged_by_its_own_tests(tmp_path: Path) -> None:
    files: dict[str, bytes | str] = {"pyproject.toml": b"", "packages/one/pyproject.toml": b""}
    files |= {"packages/one/lib.py": KEEPS_A_TENSOR, "packages/one/test_lib.py": TESTS_IT}
    outcome = done(tmp_path, files, {"execute": True, "tests": True}, rules=Rules(select=("DVF203",), unsafe=True))
    assert [(fix.path, fix.verdict) for fix in outcome.fixes] == [("packages/one/lib.py", "confirmed")]


@pytest.mark.slow
@sandbox
@torch
def test_what_breaks_a_check_is_dropped_and_the_rest_kept(tmp_path: Path) -> None:
    """The check forbids one of the two edits; a second one fails without any of them, and says nothing."""
    outcome = done(
        tmp_path,
        {"a.py": BUGGY},
        {"execute": True},
        checks=("! grep -q map_location a.py", "false"),
        replay=Replay(command="python a.py", on="cpu"),
    )
    assert outcome.state is State.REFUTED
    assert [(fix.code, fix.dropped is None) for fix in outcome.fixes] == [("DVF302", True), ("DVF401", False)]
    assert outcome.fixes[1].dropped is not None
    assert "grep" in outcome.fixes[1].dropped
    assert [(check.passed_before, check.passed_after) for check in outcome.checks] == [(True, True), (False, False)]
    assert len(outcome.commits) == 1
    assert b"map_location" not in outcome.patch


@sandbox
def test_a_replay_command_that_names_no_script_is_told(tmp_path: Path) -> None:
    outcome = done(tmp_path, {"a.py": BUGGY}, {"execute": True}, replay=Replay(command="python none.py"))
    assert outcome.error is not None
    assert (outcome.error.kind, outcome.state) == ("replay command", State.FAILED)


@pytest.mark.slow
@sandbox
def test_set_up_and_checks_see_a_copy_with_an_environment_of_its_own(tmp_path: Path) -> None:
    """What set-up leaves, checks find; the tree that is committed has nothing of it, nor of git."""
    outcome = done(
        tmp_path,
        {"a.py": BUGGY},
        {"execute": True},
        setup='test ! -e .git/HEAD && echo made > made && cp made "$VIRTUAL_ENV/made"',
        checks=(
            'test -e made && test -e "$VIRTUAL_ENV/made"',
            '! touch "$VIRTUAL_ENV/new"',
            "python -c 'import msgspec' && python -m pip --version",  # as the interpreter of these tests has it
        ),
        replay=Replay(on="cpu"),
    )
    assert [check.passed_before for check in outcome.checks] == [True, True, True]
    assert b"made" not in outcome.diff


@pytest.mark.slow
def test_without_a_sandbox_nothing_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "devfix.batch.migration.verification.find_confinement", lambda *_: "bubblewrap is not installed"
    )
    canary = tmp_path / "canary"
    outcome = done(tmp_path, {"a.py": BUGGY}, {"execute": True}, setup=f"touch {canary}")
    assert outcome.error is not None
    assert outcome.error.kind == "no sandbox"
    assert not canary.exists()
    outcome = done(
        tmp_path, {}, {"execute": True, "trust_code": True}, setup=f"touch {canary}; echo no such package >&2; exit 3"
    )
    assert outcome.error is not None
    assert outcome.error.kind == "set-up failed"
    assert "exit status 3: no such package" in outcome.error.message
    assert canary.exists()


def test_suggestions_are_told_where_they_are_asked_for_and_never_applied(tmp_path: Path, site: Path) -> None:
    install(site, TIERED)
    text = b"import torch\nfrom m import right, wrong\n\nwrong(1)  # unsafe 0.84\nwrong(2)  # suggestion 0.62\n"
    plain = done(tmp_path, {"a.py": text})
    assert (plain.state, plain.findings, plain.suggestions) == (State.CHANGED, 0, ())
    asked = Rules(unsafe=True, suggestions=True)
    outcome = done(tmp_path / "asked", {"a.py": text}, rules=asked)
    assert outcome.diff == plain.diff
    assert (outcome.state, outcome.findings) == (State.CHANGED, 1)
    [suggested] = outcome.suggestions
    assert (suggested.path, suggested.line, suggested.safety, suggested.confidence) == ("a.py", 5, "suggestion", 0.62)
    [fix] = outcome.fixes
    assert fix.confidence == 0.84
    assert "(unsafe, confidence 0.84)" in outcome.patch.decode()
    assert "unsafe, confidence 0&#46;84" in outcome.body
    none = done(tmp_path / "none", {"a.py": text}, rules=Rules(unsafe=True, suggestions=True, min_confidence=0.9))
    assert (none.state, none.findings, none.suggestions) == (State.CLEAN, 0, ())


def test_a_check_that_needs_what_an_earlier_one_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("devfix.batch.migration.verification.find_confinement", lambda *_: "none")
    monkeypatch.setattr(
        "devfix.batch.migration.verification.run_replays",
        lambda changes, options: [
            ReplayResult(one.path, "", options.on, inconclusive("not run"), holds=one.after) for one in changes
        ],
    )
    outcome = done(
        tmp_path,
        {"a.py": BUGGY},
        {"execute": True, "trust_code": True},
        checks=("touch built", "test -e built && ! grep -q map_location a.py"),
    )
    assert outcome.state is State.REFUTED
    assert [(fix.code, fix.dropped is None) for fix in outcome.fixes] == [("DVF302", True), ("DVF401", False)]
    assert outcome.notes == ()
