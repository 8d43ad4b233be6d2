"""One run of a script under the probe: an outcome, whatever happens to it."""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from devfix.replay.confinement import Allowance, Confinement, Reach
from devfix.replay.environments import inherited
from devfix.replay.forkserver import MAIN, Gone
from devfix.replay.journal import (
    Audited,
    Differs,
    Driver,
    End,
    Events,
    Failure,
    Line,
    Loaded,
    Loss,
    NoPytest,
    Note,
    NotSimulated,
    Shared,
    Stopped,
    Warned,
    read_events,
)
from devfix.replay.notebooks import Lines
from devfix.replay.notebooks import Program as Notebook
from devfix.replay.outcomes import Deprecation, Ending, FoundDriver, Outcome, ScriptError, SuiteRun, not_started
from devfix.replay.postmortem import decode
from devfix.replay.processes import Command, Ended, Start, Tick, nobody_watches, run, signal_name
from devfix.replay.suites.reading import suite_run
from devfix.replay.warm import fork_for


@dataclass(frozen=True, slots=True)
class Task:
    """What to run. `typed` is the script as one would type it in `cwd`; the rest is as in the probe's `Config`.

    `output_limit` and `file_limit` are in bytes: of all that is printed, and of each file that is written.
    `environment` wins over `variables`, which are the user's; what is None there is not inherited. With a `confinement`
    the run reads `readable` and writes to its copy, no more, within its `allowance`; `devices` opens the accelerators.
    `imported` are modules, beside torch, that a process has imported which the run is to be a fork of; None is for an
    interpreter of its own. With `tests` the program is pytest. `notebook` is what the script is where it is one;
    `watch` counts the lines of its program. With `search` a driver is searched for in the place of running the script:
    as JSON text, what for.
    """

    python: str
    root: Path
    original: Path
    script: Path
    typed: str
    cwd: Path
    control: Path
    temporary: Path
    timeout: float
    module: str | None = None
    arguments: tuple[str, ...] = ()
    watch: Mapping[str, Sequence[int]] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, str | None] = field(default_factory=dict)
    probe_options: Mapping[str, object] = field(default_factory=dict)
    seed: int = 0
    steps: int | None = None
    audit: bool = False
    output_limit: int | None = None
    file_limit: int | None = None
    confinement: Confinement | None = None
    allowance: Allowance = field(default_factory=Allowance)
    readable: tuple[Path, ...] = ()
    devices: bool = False
    imported: tuple[str, ...] | None = None
    tests: bool = False
    notebook: Notebook | None = None
    search: str | None = None


_NO_PYTEST = "pytest is not installed in this interpreter; pip install pytest, or name the project's with --python"


class Unlike(Exception):  # noqa: N818 - it says what it is
    """A run in a fork that would not be as in an interpreter of its own: it has to be made there, in a fresh copy."""


def execute(task: Task, tick: Tick = nobody_watches) -> Outcome:
    """Run `task` to its end or one of its limits. Never raises for anything that the script does.

    Every process that the run started is gone when this returns, or is left by an exception.

    Raises:
        Unlike: it was to run in a fork, and cannot.
    """
    journal = task.control / "journal"
    journal.touch(0o600)
    config = task.control / "config.json"
    config.write_text(json.dumps(_config(task, journal)), encoding="utf-8")
    command = _command(task, config, journal)
    try:
        ended = run(command, tick, _start(task, command))
    except Gone as error:
        raise Unlike(str(error)) from error
    except OSError as error:
        return not_started(f"{task.python} could not be started: {error.strerror}")
    events = read_events(journal)
    for event in events.of(Differs):
        raise Unlike(event.why)
    trouble = _NO_PYTEST if events.of(NoPytest) else ended.trouble
    if trouble:
        return not_started(trouble)
    cells = task.notebook.lines if task.notebook is not None else None
    outcome = replace(_outcome(ended, events, cells), shared=_shared(task, events))
    return _of_suite(outcome, suite_run(events)) if task.tests else outcome


def _of_suite(outcome: Outcome, suite: SuiteRun) -> Outcome:
    """The outcome of a run of pytest: its error is the first device error of the library, else that of any test.

    The latter counts as no device error: it is none, or it is not the library's.
    """
    failed = [one for one in suite.all if one.failed]
    revealing = next((one for one in failed if one.reveals is not None), None)
    if revealing is not None:
        return replace(outcome, suite=suite, error=revealing.reveals, postmortem=revealing.postmortem)
    error = next((one.error for one in failed if one.error is not None), None)
    return replace(outcome, suite=suite, error=None if error is None else replace(error, is_device_error=False))


def _start(task: Task, command: Command) -> Start | None:
    if task.imported is None:
        return None
    return fork_for(command, task.imported, task.probe_options.get("simulate"), search=task.search is not None)


def _config(task: Task, journal: Path) -> dict[str, object]:
    return {
        "journal": str(journal),
        "root": str(task.root),
        "original": str(task.original),
        "temporary": str(task.temporary),
        "script": str(task.script),
        "module": task.module,
        "watch": _watched(task),
        "seed": task.seed,
        "steps": task.steps,
        "audit": task.audit,
        "tests": task.tests,
        "search": None if task.search is None else json.loads(task.search),
        "file_size": task.file_limit,
        **_of_notebook(task.notebook),
        **task.probe_options,
    }


def _of_notebook(notebook: Notebook | None) -> dict[str, object]:
    if notebook is None:
        return {}
    cells = [(cell.number, cell.text, cell.may_raise) for cell in notebook.cells]
    return {"cells": cells, "ipython": notebook.ipython}


def _watched(task: Task) -> dict[str, list[int]]:
    """The watched lines as the run counts them."""
    cells = task.notebook.lines if task.notebook is not None else None
    watched: dict[str, list[int]] = {}
    for file, lines in task.watch.items():
        for line in lines:
            name, own = cells.in_cell(line) if cells is not None and file == cells.file else (file, line)
            watched.setdefault(name, []).append(own)
    return watched


def _command(task: Task, config: Path, journal: Path) -> Command:
    """The command line. Beside the copy a confined run can write to the journal and its temporary folder."""
    reach = Reach(
        task.cwd,
        (task.root, task.temporary, journal),
        (config, MAIN.parent, *task.readable),
        task.devices,
        task.allowance,
    )
    return Command(
        (task.python, str(MAIN), str(config), task.typed, *task.arguments),
        task.cwd,
        _environment(task),
        task.timeout,
        str(task.control),
        task.root,
        task.output_limit,
        task.confinement,
        reach,
    )


def _environment(task: Task) -> dict[str, str]:
    without = frozenset(name for name, value in task.environment.items() if value is None)
    return {
        **inherited(task.python, task.variables, task.seed, task.confinement, task.allowance.network, without),
        "TMPDIR": str(task.temporary),
        **{name: value for name, value in task.environment.items() if value is not None},
    }


def _outcome(ended: Ended, events: Events, cells: Lines | None) -> Outcome:
    last = next(iter(events.of(End)[-1:]), End())
    if last.status is not None and ended.code == 128 - last.status:
        # In a sandbox a status over 128 is taken for death by a signal, and `code` is negative; but this is the status
        # that the script asked for itself.
        ended = replace(ended, code=last.status)
    ending = _ending(ended, events)
    return Outcome(
        ending,
        seconds=ended.seconds,
        status=ended.code if ended.code >= 0 else None,
        signal=signal_name(-ended.code) if ending is Ending.KILLED else None,
        reason=ended.limit if ending is Ending.OVERRAN else None,
        peak_memory=last.memory or ended.peak_memory,
        error=next((_error(event, cells) for event in events.of(Failure)), None),
        stdout=ended.stdout,
        stderr=ended.stderr,
        reached=frozenset(_place(event.file, event.line, cells)[:2] for event in events.of(Line)),
        loaded=frozenset(event.file for event in events.of(Loaded)),
        losses=tuple(math.nan if event.value is None else event.value for event in events.of(Loss)),
        stopped_after=next((event.steps for event in events.of(Stopped)), None),
        warnings=tuple(_deprecation(event, cells) for event in events.of(Warned)),
        not_simulated=_once(event.what for event in events.of(NotSimulated)),
        notes=_once(event.text for event in events.of(Note)),
        postmortem=next((decode(event.postmortem) for event in events.of(Failure)), None),
        audit=next((event.record for event in reversed(events.of(Audited))), None),
        processor_seconds=ended.processor_seconds,
        notebook=cells,
        driver=next((_driver(event) for event in reversed(events.of(Driver)) if not event.part), None),
        parts=tuple(_driver(event) for event in events.of(Driver) if event.part),
        frames=tuple(place for event in events.of(Failure)[:1] for place in event.frames),
    )


def _driver(event: Driver) -> FoundDriver:
    absent = tuple(one for one in event.absent if "#" not in one)
    left_out = tuple(one.partition("#")[0] for one in event.absent if "#" in one)
    reached, part = tuple(event.reached), tuple(event.part)
    return FoundDriver(event.text, event.step, event.why, absent, reached, event.is_inert, part, left_out)


def _ending(ended: Ended, events: Events) -> Ending:
    """How the script ended.

    One that we stopped has passed and one that raised has failed, whatever its handlers did afterwards, and even where
    the interpreter then hung or crashed. One that came to its own end and hangs there has timed out: what is still at
    work, such as a thread, may belong to it.
    """
    if events.of(Stopped):
        return Ending.PASSED
    if events.of(Failure):
        return Ending.FAILED
    if ended.limit is not None:
        return Ending.OVERRAN
    if ended.timed_out:
        return Ending.TIMED_OUT
    if ended.code < 0:
        return Ending.KILLED
    return Ending.PASSED if ended.code == 0 else Ending.FAILED


def _shared(task: Task, events: Events) -> str | None:
    """What the run did that others could see, if anything. In a sandbox without the network nothing can be seen."""
    if task.confinement is not None and not task.allowance.network:
        return None
    return next((event.what for event in events.of(Shared)), None)


def _deprecation(event: Warned, cells: Lines | None) -> Deprecation:
    return Deprecation(event.category, event.message, *_place(event.file, event.line, cells))


def _error(event: Failure, cells: Lines | None) -> ScriptError:
    if event.file is None or event.line is None:
        return ScriptError(event.type, event.message, event.file, event.line, event.device)
    file, line, cell = _place(event.file, event.line, cells)
    return ScriptError(event.type, event.message, file, line, event.device, cell)


def _place(file: str, line: int, cells: Lines | None) -> tuple[str, int, tuple[int, int] | None]:
    """File and line as devfix counts them, and in a notebook the cell and the line in it."""
    found = cells.in_program(file, line) if cells is not None else None
    if cells is None or found is None:
        return file, line, None
    whole, cell = found
    return cells.file, whole, (cell, line)


def _once(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(texts))
