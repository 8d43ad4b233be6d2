"""Which fixes of a repository hold when its code runs: the set-up, then the project's own checks, then the replay.

All of it runs in copies of the tree, never in the worktree itself. No copy holds what git keeps there: with that, code
could change the repository.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from devfix.batch.errors import RepositoryError
from devfix.batch.migration.commands import CommandLimits, CommandResult, Surroundings, run_command
from devfix.batch.migration.fixes import Fixes
from devfix.batch.migration.timing import Timer
from devfix.batch.records import CheckRun, Job, Plan, Replay
from devfix.replay import (
    Limits,
    Program,
    ProgramError,
    ReplayOptions,
    ReplayResult,
    WorkspaceError,
    parse_command,
    run_replays,
)
from devfix.replay.backends import SIMULATED
from devfix.replay.bisecting import sift
from devfix.replay.changes import Part
from devfix.replay.confinement import Allowance, Bubblewrap, find_confinement
from devfix.replay.trials import BISECT_RUNS
from devfix.replay.workspace import Workspace
from devfix.reporting.terminal import one_line

_SETUP_ROOM = 8
"""A set-up may write so many times the bytes that a run may: torch alone unpacks to gigabytes."""
_SETUP_FILES = 1_000_000
"""A set-up may write so many files: environments have many small ones."""
_MAKE_ENVIRONMENT = """
import pathlib, site, sys, sysconfig, venv
venv.create(sys.argv[1], system_site_packages=True, with_pip=True, symlinks=True)
scheme = {"base": sys.argv[1], "platbase": sys.argv[1]}
own = pathlib.Path(sysconfig.get_path("purelib", "posix_prefix", scheme))
(own / "packages_of_parent.pth").write_text("\\n".join(site.getsitepackages()), encoding="utf-8")
"""
"""Run by the repository's interpreter, to make an environment that sees its packages.

`system_site_packages` is not enough: if that interpreter belongs to a virtual environment itself, it gives the packages
of the Python which that was made from. The `.pth` file adds those of the virtual environment.
"""
_UNKNOWN = "not known to hold: the search for what breaks the checks ended"


@dataclass(frozen=True)
class Proof:
    """What the runs said of the tree at `root`, which is the worktree or a copy of it."""

    root: Path
    replays: Sequence[ReplayResult] = ()
    checks: tuple[CheckRun, ...] = ()
    notes: tuple[str, ...] = ()


def prove(job: Job, fixes: Fixes, timer: Timer) -> Proof:
    """Run the repository's code, and drop the fixes that do not hold.

    Raises:
        RepositoryError: the code cannot be run as it was asked for.
    """
    repository = job.repository
    with timer.of("setup"):
        prepared = _prepared(job, fixes.top)
    checks, notes = tuple[CheckRun, ...](), tuple[str, ...]()
    if repository.checks:
        with timer.of("checks"), _workspace(prepared.root) as workspace:
            checks, notes = _Checks(job, prepared, fixes, workspace).run()
    with timer.of("replay"):
        replays = _replayed(job, prepared, fixes)
    return Proof(prepared.root, replays, checks, notes)


@dataclass(frozen=True)
class _Prepared:
    """What the copies are made from, and how code runs in them.

    `root` is a tree whose set-up is done, `folder` the repository's subfolder in it. `venv` is the virtual environment
    that the set-up filled, and `python` its interpreter; without a set-up, `python` is the repository's own, and `venv`
    None. `temporary` is for the temporary files of the set-up.
    """

    root: Path
    folder: Path
    python: str
    temporary: Path
    venv: Path | None
    confinement: Bubblewrap | None


def _prepared(job: Job, top: Path) -> _Prepared:
    """The tree itself, or a copy of it in which the set-up was run."""
    repository, work = job.repository, top.parent
    temporary = work / "tmp"
    python = repository.replay.python or sys.executable
    confinement = _confinement(job.plan, python)
    if repository.setup is None:
        return _Prepared(top, top / repository.subfolder, python, temporary, None, confinement)
    root = _copied(top, work / "prepared")
    venv = _environment(python, work / "venv")
    prepared = _Prepared(root, root / repository.subfolder, str(venv / "bin" / "python"), temporary, venv, confinement)
    _set_up(job, prepared)
    # An editable install leads from the environment back to the tree that was set up.
    return prepared if confinement is None else replace(prepared, confinement=confinement.seeing(venv, root))


def _confinement(plan: Plan, python: str) -> Bubblewrap | None:
    """The sandbox, in which `python` can be run; None where there is none and the code is trusted.

    Raises:
        RepositoryError: there is none, and the code is not trusted.
    """
    found = find_confinement(python)
    if not isinstance(found, str):
        return found
    if plan.trust_code:
        return None
    raise RepositoryError("no sandbox", f"{found}; --trust-code runs code without one")


def _copied(top: Path, to: Path) -> Path:
    """A copy of the tree, in which the set-up may write."""
    with _workspace(top) as workspace:
        workspace.fresh({})
        shutil.move(workspace.root, to)
    (to / ".git").mkdir()  # marks the root of a project, for the replay; copies leave it out
    return to


def _environment(python: str, folder: Path) -> Path:
    """Make a virtual environment that sees the packages of `python`, and return its folder."""
    made = subprocess.run(
        [python, "-I", "-c", _MAKE_ENVIRONMENT, str(folder)], capture_output=True, check=False, stdin=subprocess.DEVNULL
    )
    if made.returncode:
        told = one_line((made.stderr or made.stdout).decode("utf-8", "replace"))
        raise RepositoryError("no virtual environment", f"{python} makes none: {told}")
    return folder


def _set_up(job: Job, prepared: _Prepared) -> None:
    command, venv = job.repository.setup or "", prepared.venv
    writable = (prepared.root,) if venv is None else (prepared.root, venv)
    where = Surroundings(prepared.folder, writable, prepared.temporary, environment=_variables(job), venv=venv)
    result = run_command(command, where, _setup_limits(job), prepared.confinement)
    if not result.passed:
        raise RepositoryError("set-up failed", f"`{command}`: {result.ending}{_last_line(result)}")


def _limits(job: Job) -> CommandLimits:
    replay = job.repository.replay
    return CommandLimits(job.repository.timeout, replay.memory, allowance=_allowance(replay))


def _setup_limits(job: Job) -> CommandLimits:
    """The limits of a run, but with room for what an installation unpacks."""
    usual = _limits(job)
    network, disk = job.repository.setup_network, _SETUP_ROOM * usual.allowance.disk
    return replace(usual, allowance=replace(usual.allowance, network=network, disk=disk, files=_SETUP_FILES))


def _allowance(replay: Replay) -> Allowance:
    return Allowance(replay.processes, None, replay.disk, network=replay.network)


def _variables(job: Job) -> Mapping[str, str]:
    return dict([*job.environment, *job.repository.replay.env])


def _last_line(result: CommandResult) -> str:
    lines = [line for line in (result.stderr.tail or result.stdout.tail).splitlines() if line.strip()]
    return f": {one_line(lines[-1].strip())}" if lines else ""


def _replayed(job: Job, prepared: _Prepared, fixes: Fixes) -> Sequence[ReplayResult]:
    """Replay the fixes that the checks left, and drop those that the replay refutes."""
    changes = fixes.changes()
    moved = [replace(change, path=prepared.root / change.path.relative_to(fixes.top)) for change in changes]
    results = run_replays(moved, _replay_options(job, prepared))
    for change, result in zip(changes, results, strict=True):
        told = {fix.finding: fix.reason for fix in result.fixes}
        for finding in result.withdrawn:
            reason = told.get(finding) or result.verdict.reason
            fixes.drop([fixes.part_of(change.path, finding)], f"the replay refuted it: {reason}")
    return results


def _replay_options(job: Job, prepared: _Prepared) -> ReplayOptions:
    replay = job.repository.replay
    program = None if replay.command is None else _program(replay, prepared.folder)
    suite = () if program is None and (replay.tests or job.plan.tests) else None
    return ReplayOptions(
        on=replay.on if suite is None else SIMULATED,
        timeout=replay.timeout,
        python=prepared.python,
        memory=replay.memory,
        seed=replay.seed,
        devices=replay.devices,
        steps=replay.steps,
        program=program,
        suite=suite,
        env=job.repository.replay.env,  # not what hides accelerators: a simulated one is seen all the same
        cwd=prepared.folder if program is not None or job.repository.subfolder else None,
        confinement=prepared.confinement,
        allowance=_allowance(replay),
    )


def _program(replay: Replay, folder: Path) -> Program:
    assert replay.command is not None
    try:
        return parse_command(replay.command, folder, dict(replay.env).get("PYTHONPATH"))
    except ProgramError as error:
        raise RepositoryError("replay command", str(error)) from error


class _Checks:
    """The project's own commands, without the fixes and with them.

    A command says something of the fixes only if it passes without them, each time.
    """

    def __init__(self, job: Job, prepared: _Prepared, fixes: Fixes, workspace: Workspace) -> None:
        self._job = job
        self._prepared = prepared
        self._fixes = fixes
        self._commands = job.repository.checks
        self._workspace = workspace
        self._notes: list[str] = []

    def run(self) -> tuple[tuple[CheckRun, ...], tuple[str, ...]]:
        """How each command ended, and notes for the report. Fixes that break one are dropped."""
        before = self._results(self._commands, ())
        after = self._results(self._commands, self._fixes.parts)
        broken = self._broken(before, after)
        if broken:
            self._drop(broken)
            after = self._results(self._commands, self._fixes.parts)
        pairs = zip(self._commands, before, after, strict=True)
        return tuple(_check_run(*pair) for pair in pairs), tuple(self._notes)

    def _broken(self, before: Sequence[CommandResult], after: Sequence[CommandResult]) -> Sequence[int]:
        """The numbers of the commands that passed, fail with the fixes, and pass again without them.

        A command may need what one before it left, so those are run again as well.
        """
        results = enumerate(zip(before, after, strict=True))
        suspects = [number for number, (old, new) in results if old.passed and not new.passed]
        if not suspects:
            return ()
        again = self._results(self._commands[: suspects[-1] + 1], ())
        fail = [self._commands[number] for number in suspects if not again[number].passed]
        self._notes += [f"`{one}` fails at times without the fixes too" for one in fail]
        return [number for number in suspects if again[number].passed]

    def _drop(self, broken: Sequence[int]) -> None:
        """Drop the fixes that break these commands. They are searched for in a bounded number of runs."""

        def holds(parts: Sequence[Part]) -> bool:
            results = self._results(self._commands[: broken[-1] + 1], parts)
            return all(results[number].passed for number in broken)

        parts = self._fixes.parts
        _, bad, unknown = sift(parts, holds, BISECT_RUNS) if len(parts) > 1 else ((), parts, ())
        commands = ", ".join(f"`{one_line(self._commands[number])}`" for number in broken)
        self._fixes.drop(bad, f"{commands} passes without it and fails with it")
        self._fixes.drop(unknown, _UNKNOWN)

    def _results(self, commands: Sequence[str], parts: Collection[Part]) -> list[CommandResult]:
        """Run commands one after the other in a fresh copy of the tree, with these parts of the fixes."""
        prepared, workspace = self._prepared, self._workspace
        files = self._fixes.files(parts)
        workspace.fresh({path.relative_to(self._fixes.top): data for path, data in files.items()})
        where = Surroundings(
            workspace.root / prepared.folder.relative_to(prepared.root),
            (workspace.root,),
            workspace.temporary,
            environment={**self._path(), **_variables(self._job)},
            venv=prepared.venv,
            devices=bool(self._job.environment),
        )
        limits = _limits(self._job)
        return [run_command(command, where, limits, prepared.confinement) for command in commands]

    def _path(self) -> Mapping[str, str]:
        """The `PATH` that makes `python` the interpreter of the replay. With an active environment it is already."""
        prepared = self._prepared
        if prepared.venv is not None:
            return {}
        known = os.environ if prepared.confinement is None else prepared.confinement.environment()
        return {"PATH": f"{Path(prepared.python).parent}{os.pathsep}{known.get('PATH', os.defpath)}"}


def _check_run(command: str, before: CommandResult, after: CommandResult) -> CheckRun:
    seconds = round(before.seconds + after.seconds, 3)
    return CheckRun(command, before.ending, after.ending, before.passed, after.passed, seconds)


@contextmanager
def _workspace(root: Path) -> Iterator[Workspace]:
    """Copies of a tree.

    Raises:
        RepositoryError: it cannot be copied.
    """
    try:
        with Workspace(root, Limits()) as workspace:
            yield workspace
    except WorkspaceError as error:
        raise RepositoryError("tree not copied", str(error)) from error
