"""What running says of a repository's fixes: its set-up, its own checks and the replay, in copies of its tree.

Nothing here runs in the worktree itself, and git's own file there is in no copy.
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
"""How many times what a run may write a set-up may: torch alone unpacks to gigabytes."""
_MAKE_ENVIRONMENT = """
import pathlib, site, sys, sysconfig, venv
venv.create(sys.argv[1], system_site_packages=True, with_pip=True, symlinks=True)
scheme = {"base": sys.argv[1], "platbase": sys.argv[1]}
own = pathlib.Path(sysconfig.get_path("purelib", "posix_prefix", scheme))
(own / "packages_of_parent.pth").write_text("\\n".join(site.getsitepackages()), encoding="utf-8")
"""
"""Run by the interpreter: system packages are those of the interpreter that it was itself made from, if any."""
_SETUP_FILES = 1_000_000
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
        ground = _ground(job, fixes.top)
    checks, notes = tuple[CheckRun, ...](), tuple[str, ...]()
    if repository.checks:
        with timer.of("checks"):
            checks, notes = _Checks(job, ground, fixes).run()
    with timer.of("replay"):
        replays = _replayed(job, ground, fixes)
    return Proof(ground.root, replays, checks, notes)


@dataclass(frozen=True)
class _Ground:
    """Where the code is run from: `root` is a tree with its set-up done, `folder` the subfolder of it.

    `python` runs it, from the virtual environment `venv` that the set-up filled, where there was one. `temporary` is
    for the temporary files of the set-up.
    """

    root: Path
    folder: Path
    python: str
    temporary: Path
    venv: Path | None
    confinement: Bubblewrap | None


def _ground(job: Job, top: Path) -> _Ground:
    """The tree itself, or a copy of it in which the set-up was run."""
    repository, work = job.repository, top.parent
    temporary = work / "tmp"
    python = repository.replay.python or sys.executable
    confinement = _confinement(job.plan, python)
    if repository.setup is None:
        return _Ground(top, top / repository.subfolder, python, temporary, None, confinement)
    root = _copied(top, work / "prepared")
    venv = _environment(python, work / "venv")
    ground = _Ground(root, root / repository.subfolder, str(venv / "bin" / "python"), temporary, venv, confinement)
    _set_up(job, ground)
    # An editable install leads from the environment back to the tree that was set up.
    return ground if confinement is None else replace(ground, confinement=confinement.seeing(venv, root))


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
    """A copy of the tree without what git keeps there, in which set-up may write."""
    with _workspace(top) as workspace:
        workspace.fresh({})
        shutil.move(workspace.root, to)
    (to / ".git").mkdir()  # marks the root of a project, for the replay; copies leave it out
    return to


def _environment(python: str, folder: Path) -> Path:
    """A virtual environment that sees the packages of `python`, also where that is of a virtual environment itself."""
    made = subprocess.run(
        [python, "-I", "-c", _MAKE_ENVIRONMENT, str(folder)], capture_output=True, check=False, stdin=subprocess.DEVNULL
    )
    if made.returncode:
        told = one_line((made.stderr or made.stdout).decode("utf-8", "replace"))
        raise RepositoryError("no virtual environment", f"{python} makes none: {told}")
    return folder


def _set_up(job: Job, ground: _Ground) -> None:
    command, venv = job.repository.setup or "", ground.venv
    writable = (ground.root,) if venv is None else (ground.root, venv)
    where = Surroundings(ground.folder, writable, ground.temporary, environment=_variables(job), venv=venv)
    result = run_command(command, where, _setup_limits(job), ground.confinement)
    if not result.passed:
        raise RepositoryError("set-up failed", f"`{command}`: {result.ending}{_last_line(result)}")


def _limits(job: Job) -> CommandLimits:
    replay = job.repository.replay
    return CommandLimits(job.repository.timeout, replay.memory, allowance=_allowance(replay))


def _setup_limits(job: Job) -> CommandLimits:
    """Those of a run, but with room for what an installation unpacks."""
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


def _replayed(job: Job, ground: _Ground, fixes: Fixes) -> Sequence[ReplayResult]:
    """What the replay says of the fixes that are left; those that do not hold are dropped."""
    changes = fixes.changes()
    moved = [replace(change, path=ground.root / change.path.relative_to(fixes.top)) for change in changes]
    results = run_replays(moved, _replay_options(job, ground))
    for change, result in zip(changes, results, strict=True):
        told = {fix.finding: fix.reason for fix in result.fixes}
        for finding in result.withdrawn:
            reason = told.get(finding) or result.verdict.reason
            fixes.drop([fixes.part_of(change.path, finding)], f"the replay refuted it: {reason}")
    return results


def _replay_options(job: Job, ground: _Ground) -> ReplayOptions:
    replay = job.repository.replay
    program = None if replay.command is None else _program(replay, ground.folder)
    suite = () if program is None and (replay.tests or job.plan.tests) else None
    return ReplayOptions(
        on=replay.on if suite is None else SIMULATED,
        timeout=replay.timeout,
        python=ground.python,
        memory=replay.memory,
        seed=replay.seed,
        devices=replay.devices,
        steps=replay.steps,
        program=program,
        suite=suite,
        env=job.repository.replay.env,  # not what hides accelerators: a simulated one is seen all the same
        cwd=None if program is None and suite is None else ground.folder,
        confinement=ground.confinement,
        allowance=_allowance(replay),
    )


def _program(replay: Replay, folder: Path) -> Program:
    assert replay.command is not None
    try:
        return parse_command(replay.command, folder, dict(replay.env).get("PYTHONPATH"))
    except ProgramError as error:
        raise RepositoryError("replay command", str(error)) from error


class _Checks:
    """The project's own commands, before and after the fixes.

    One that fails without them says nothing of them, nor does one that fails at times.
    """

    def __init__(self, job: Job, ground: _Ground, fixes: Fixes) -> None:
        self._job = job
        self._ground = ground
        self._fixes = fixes
        self._commands = job.repository.checks
        self._notes: list[str] = []

    def run(self) -> tuple[tuple[CheckRun, ...], tuple[str, ...]]:
        """How each command ended, and what the reader has to know. Fixes that break one are dropped."""
        with _workspace(self._ground.root) as workspace:
            self._workspace = workspace
            before = self._results(self._commands, ())
            after = self._results(self._commands, self._fixes.parts)
            broken = self._broken(before, after)
            if broken:
                self._drop(broken)
                after = self._results(self._commands, self._fixes.parts)
        pairs = zip(self._commands, before, after, strict=True)
        return tuple(_check_run(*pair) for pair in pairs), tuple(self._notes)

    def _broken(self, before: Sequence[CommandResult], after: Sequence[CommandResult]) -> Sequence[str]:
        """The commands that passed, fail with the fixes, and pass again without them."""
        results = zip(self._commands, before, after, strict=True)
        suspects = [command for command, old, new in results if old.passed and not new.passed]
        if not suspects:
            return ()
        again = self._results(suspects, ())
        steady = [command for command, result in zip(suspects, again, strict=True) if result.passed]
        self._notes += [f"`{one}` fails at times without the fixes too" for one in suspects if one not in steady]
        return steady

    def _drop(self, broken: Sequence[str]) -> None:
        """Drop the fixes that break these commands."""

        def holds(parts: Sequence[Part]) -> bool:
            return all(result.passed for result in self._results(broken, parts))

        parts = self._fixes.parts
        _, bad, unknown = sift(parts, holds, BISECT_RUNS) if len(parts) > 1 else ((), parts, ())
        commands = ", ".join(f"`{one_line(command)}`" for command in broken)
        self._fixes.drop(bad, f"{commands} passes without it and fails with it")
        self._fixes.drop(unknown, _UNKNOWN)

    def _results(self, commands: Sequence[str], parts: Collection[Part]) -> list[CommandResult]:
        """Run commands one after the other in a fresh copy of the tree with these parts."""
        ground, workspace = self._ground, self._workspace
        files = self._fixes.files(parts)
        workspace.fresh({path.relative_to(self._fixes.top): data for path, data in files.items()})
        where = Surroundings(
            workspace.root / ground.folder.relative_to(ground.root),
            (workspace.root,),
            workspace.temporary,
            environment={**self._path(), **_variables(self._job)},
            venv=ground.venv,
            devices=bool(self._job.environment),
        )
        limits = _limits(self._job)
        return [run_command(command, where, limits, ground.confinement) for command in commands]

    def _path(self) -> Mapping[str, str]:
        """What `python` is for a check: the interpreter of the replay."""
        ground = self._ground
        if ground.venv is not None:
            return {}
        known = os.environ if ground.confinement is None else ground.confinement.environment()
        return {"PATH": f"{Path(ground.python).parent}{os.pathsep}{known.get('PATH', os.defpath)}"}


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
