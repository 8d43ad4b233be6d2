"""Runs of programs in copies of one tree."""

import contextlib
import os
import shlex
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from devfix_codemods.notebooks.notebook import is_notebook

from devfix.replay.backends import Backend
from devfix.replay.leftovers import interrupted
from devfix.replay.notebooks import NotebookError, program_of
from devfix.replay.notebooks import Program as Notebook
from devfix.replay.options import ReplayOptions, most_memory
from devfix.replay.outcomes import Outcome, not_started
from devfix.replay.processes import Tick
from devfix.replay.programs import Program
from devfix.replay.run_lock import Hold, RunLock
from devfix.replay.runner import Task, Unlike, execute
from devfix.replay.scripts import module_name
from devfix.replay.workspace import Workspace, WorkspaceError
from devfix.replay.workspace_pool import WorkspacePool, default_parallelism

Progress = Callable[[Path, str, float], None]
"""Called with the script's path, what is run (`before`, `after`, …), and for how many seconds it has; many times."""


def silent(_path: Path, _step: str, _seconds: float) -> None:
    """Report no progress."""


def always() -> bool:
    """What is wanted whatever happens."""
    return True


def _is_left() -> bool:
    """Whether devfix was interrupted: the first thread ends then, and whoever runs beside it."""
    return interrupted() and threading.current_thread() is not threading.main_thread()


class Unwanted(Exception):  # noqa: N818 - it says what it is
    """A run was given up before its end."""


class Stage:
    """The place where programs of one tree run, `parallel_runs` of them at a time if as many threads ask.

    Runs of one program on one backend are always in the same folder, so that they print the same paths. Other stages
    may share its `lock`.
    """

    def __init__(
        self,
        workspace: Workspace,
        options: ReplayOptions,
        progress: Progress = silent,
        lock: RunLock | None = None,
    ) -> None:
        self.workspace = workspace
        self.options = options
        self.parallel_runs = 1 if options.keep else options.parallel_runs or default_parallelism()
        self._workspaces = WorkspacePool(workspace, self.parallel_runs)
        self._lock = lock or RunLock()
        self._progress = progress
        self._unlike: set[Program] = set()
        """Programs whose runs cannot be forks."""

    def run(
        self,
        program: Program,
        step: str,
        backend: Backend,
        files: Mapping[Path, bytes | None],
        watch: Mapping[str, Sequence[int]] | None = None,
        wanted: Callable[[], bool] = always,
    ) -> Outcome:
        """One run, called `step`, with `files` (by path relative to the tree) as they are given, None for absent ones.

        `watch` are the lines, by file, whose running is to be known. The run is given up where it is not `wanted` any
        more. One that others may have disturbed is made again with nothing beside it.

        Raises:
            WorkspaceError: the tree could not be copied, or `--cwd` is not in it.
            Unwanted: it was given up.
        """
        with (
            self._workspaces.workspace_for((program, backend.name)) as workspace,
            self._lock.hardware if backend.is_hardware else contextlib.nullcontext(),
        ):
            started = time.monotonic()

            def once(hold: Hold) -> Outcome:
                def tick() -> None:
                    if self._lock.is_cancelled or not wanted() or _is_left():
                        raise Unwanted
                    if self._lock.is_oldest(hold):
                        self._progress(program.script, step, time.monotonic() - started)

                tick()
                return self._once(workspace, program, step, backend, files, watch or {}, tick)

            with self._lock.shared() as hold:
                outcome = once(hold)
            if not (hold.overlapped and outcome.may_be_disturbed):
                return outcome
            with self._lock.exclusive() as hold:
                return once(hold)

    def _once(
        self,
        workspace: Workspace,
        program: Program,
        step: str,
        backend: Backend,
        files: Mapping[Path, bytes | None],
        watch: Mapping[str, Sequence[int]],
        tick: Tick,
    ) -> Outcome:
        if program.text is not None:
            files = {**files, Path(self.relative(program.script)): program.text.encode()}
        try:
            task = replace(self._task(workspace, program, backend, watch), notebook=self._notebook(program, files))
        except NotebookError as error:
            return not_started(str(error))
        if backend.forks and program not in self._unlike and self._needs_torch(program):
            workspace.fresh(files, step)
            with contextlib.suppress(Unlike):
                return execute(replace(task, imported=self._imported()), tick)
            self._unlike.add(program)
        workspace.fresh(files, step)
        return execute(task, tick)

    def _needs_torch(self, program: Program) -> bool:
        """Whether runs import torch, so that forks save them that. Drivers do, and so does the search for one."""
        return program.text is not None or self.workspace.mentions(b"torch")

    def _imported(self) -> tuple[str, ...]:
        """What programs of this tree import beside torch, without a word of theirs: their first optimizer does."""
        return ("torch._dynamo",) if self.workspace.mentions(b"optim") else ()

    def command(self, program: Program) -> str:
        """The command line that a run stands for."""
        if program.is_suite:
            return shlex.join(["python", "-m", "pytest", *program.arguments])
        module = self._module(program)
        script = self.workspace.root / self.relative(program.script)
        cwd = self._cwd(program, script, self.workspace.root)
        if is_notebook(program.script.name):
            return shlex.join(["jupyter", "execute", os.path.relpath(script, cwd)])
        target = ["-m", module.removesuffix(".__main__")] if module else [os.path.relpath(script, cwd)]
        return shlex.join(["python", *target, *program.arguments])

    def relative(self, path: Path) -> str:
        """`path` of the original tree relative to it, with forward slashes."""
        return path.resolve().relative_to(self.workspace.original).as_posix()

    def _task(
        self, workspace: Workspace, program: Program, backend: Backend, watch: Mapping[str, Sequence[int]]
    ) -> Task:
        script = workspace.root / self.relative(program.script)
        cwd = self._cwd(program, script, workspace.root)
        options = self.options
        memory = options.memory or most_memory()
        return Task(
            python=options.python,
            root=workspace.root,
            original=workspace.original,
            script=script,
            typed=self._typed(program, script, cwd),
            cwd=cwd,
            control=workspace.control,
            temporary=workspace.temporary,
            timeout=options.timeout,
            module=self._module(program),
            tests=program.is_suite,
            arguments=program.arguments,
            watch=watch,
            variables=dict(options.env),
            environment=backend.environment,
            probe_options=backend.probe_options(memory),
            seed=options.seed,
            steps=None if program.is_suite else options.steps,  # a test would fail by it, and the next one end pytest
            audit=options.audit,
            output_limit=options.output_limit,
            file_limit=options.file_limit,
            confinement=options.confinement,
            allowance=replace(options.allowance, memory=options.allowance.memory or memory),
            readable=backend.files,
            devices=backend.is_hardware,
            search=program.search,
        )

    def _typed(self, program: Program, script: Path, cwd: Path) -> str:
        if program.is_suite:
            return "pytest"
        return str(script) if program.module else os.path.relpath(script, cwd)

    def _notebook(self, program: Program, files: Mapping[Path, bytes | None]) -> Notebook | None:
        """What a notebook runs where the tree has `files`.

        Raises:
            NotebookError: it cannot be run.
        """
        if not is_notebook(program.script.name):
            return None
        path = self.relative(program.script)
        data = files.get(Path(path))
        return program_of(path, program.script.read_bytes() if data is None else data)

    def _module(self, program: Program) -> str | None:
        if program.is_suite or program.text is not None:
            return None
        path = program.script.resolve()
        if is_notebook(path.name):
            return None
        return program.module or module_name(path, path.read_bytes())

    def _cwd(self, program: Program, script: Path, root: Path) -> Path:
        """`--cwd`; else where the user stands, as if the command had been typed there, or the script's own folder.

        A notebook always stands in its own. `script` is in the copy `root`, which need not be there yet.
        """
        if self.options.cwd is not None:
            return root / self._below(self.options.cwd)
        if is_notebook(script.name):
            return script.parent
        with contextlib.suppress(ValueError):
            here = Path.cwd().relative_to(self.workspace.original)
            if self.workspace.has_folder(here):
                return root / here
        return script if program.is_suite else script.parent

    def _below(self, cwd: Path) -> Path:
        with contextlib.suppress(ValueError):
            folder = cwd.resolve().relative_to(self.workspace.original)
            if self.workspace.has_folder(folder):
                return folder
        raise WorkspaceError(f"--cwd {cwd} is no folder of the tree {self.workspace.original}")
