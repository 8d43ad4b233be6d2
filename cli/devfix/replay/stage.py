"""Runs of programs in copies of one tree."""

import contextlib
import os
import shlex
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from devfix.replay.backends import Backend
from devfix.replay.options import ReplayOptions, most_memory
from devfix.replay.outcomes import Outcome
from devfix.replay.programs import Program
from devfix.replay.runner import Task, Unlike, execute
from devfix.replay.scripts import module_name
from devfix.replay.workspace import Workspace, WorkspaceError

Progress = Callable[[Path, str, float], None]
"""Called with the script's path, what is run (`before`, `after`, …), and for how many seconds it has; many times."""


def silent(_path: Path, _step: str, _seconds: float) -> None:
    """Report no progress."""


@dataclass(frozen=True, slots=True)
class Stage:
    """The place where programs of one tree run."""

    workspace: Workspace
    options: ReplayOptions
    progress: Progress = silent
    _unlike: set[Program] = field(default_factory=set)
    """The programs whose runs cannot be forks."""

    def run(
        self,
        program: Program,
        step: str,
        backend: Backend,
        files: Mapping[Path, bytes | None],
        watch: Mapping[str, Sequence[int]] | None = None,
    ) -> Outcome:
        """One run, called `step`, with `files` (by path relative to the tree) as they are given, None for absent ones.

        `watch` are the lines, by file, whose running is to be known.

        Raises:
            WorkspaceError: the tree could not be copied, or `--cwd` is not in it.
        """
        started = time.monotonic()

        def tick() -> None:
            self.progress(program.script, step, time.monotonic() - started)

        tick()
        task = self._task(program, backend, watch or {})
        if backend.forks and program not in self._unlike and self.workspace.mentions(b"torch"):
            with contextlib.suppress(Unlike):
                self.workspace.fresh(files, step)
                return execute(replace(task, imported=self._imported()), tick)
            self._unlike.add(program)
        self.workspace.fresh(files, step)
        return execute(task, tick)

    def _imported(self) -> tuple[str, ...]:
        """What programs of this tree import beside torch, without a word of theirs: their first optimizer does."""
        return ("torch._dynamo",) if self.workspace.mentions(b"optim") else ()

    def command(self, program: Program) -> str:
        """The command line that a run stands for."""
        module = self._module(program)
        script = self.workspace.root / self.relative(program.script)
        target = ["-m", module.removesuffix(".__main__")] if module else [os.path.relpath(script, self._cwd(script))]
        return shlex.join(["python", *target, *program.arguments])

    def relative(self, path: Path) -> str:
        """`path` of the original tree relative to it, with forward slashes."""
        return path.resolve().relative_to(self.workspace.original).as_posix()

    def _task(self, program: Program, backend: Backend, watch: Mapping[str, Sequence[int]]) -> Task:
        script = self.workspace.root / self.relative(program.script)
        cwd = self._cwd(script)
        options = self.options
        memory = options.memory or most_memory()
        return Task(
            python=options.python,
            root=self.workspace.root,
            original=self.workspace.original,
            script=script,
            typed=str(script) if program.module else os.path.relpath(script, cwd),
            cwd=cwd,
            control=self.workspace.control,
            temporary=self.workspace.temporary,
            timeout=options.timeout,
            module=self._module(program),
            arguments=program.arguments,
            watch=watch,
            variables=dict(options.env),
            environment=backend.environment,
            probe_options=backend.probe_options(memory),
            seed=options.seed,
            steps=options.steps,
            audit=options.audit,
            output_limit=options.output_limit,
            file_limit=options.file_limit,
            confinement=options.confinement,
            allowance=replace(options.allowance, memory=options.allowance.memory or memory),
            readable=backend.files,
            devices=backend.is_hardware,
        )

    def _module(self, program: Program) -> str | None:
        path = program.script.resolve()
        return program.module or module_name(path, path.read_bytes())

    def _cwd(self, script: Path) -> Path:
        """`--cwd`; else where the user stands, as if the command had been typed there, or the script's own folder."""
        original, root = self.workspace.original, self.workspace.root
        if self.options.cwd is not None:
            return root / self._below(self.options.cwd)
        with contextlib.suppress(ValueError):
            here = Path.cwd().relative_to(original)
            if self.workspace.has_folder(here):
                return root / here
        return script.parent

    def _below(self, cwd: Path) -> Path:
        with contextlib.suppress(ValueError):
            folder = cwd.resolve().relative_to(self.workspace.original)
            if self.workspace.has_folder(folder):
                return folder
        raise WorkspaceError(f"--cwd {cwd} is no folder of the tree {self.workspace.original}")
