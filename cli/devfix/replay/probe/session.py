"""One run of the script, as if it had been started by hand, with what is seen of it in the journal."""

from __future__ import annotations

import builtins
import importlib
import importlib.util
import json
import os
import random
import resource
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any, NoReturn

from . import (
    audit,
    deprecations,
    errors,
    imports,
    leaving,
    lines,
    loading,
    notebook,
    postmortem,
    simulating,
    spawning,
    training,
)
from .guarding import Guard
from .journal import Journal
from .shelf import Shelf
from .stopping import StepLimit
from .testing import running

_FRAMES_LIMIT = 50


@dataclass(frozen=True)
class Config:
    """What the parent asks for; its fields are the keys of the JSON file that it writes.

    `root` is the copied tree and `original` the one it was copied from; the run has a folder `temporary`. `module` is
    the dotted name under which a script inside a package runs, else None. `watch` maps files, relative to `root`, to
    line numbers. `memory` is a limit in bytes, `file_size` one on each file that is written, and `steps` one on the
    steps of each optimizer.
    `simulate` asks for a simulated accelerator, of so many `devices`, with the device checks in the
    file `checks`. `audit` asks for what lives where and what is moved. `tests` asks for pytest in the place of a
    script, and `search` for a driver. `cells` are those of a notebook, each with its number, its source and whether it
    may raise; `ipython` is the first cell and line that only IPython understands. What has a default is set by the
    backend, or for a notebook.
    """

    journal: str
    root: str
    original: str
    temporary: str
    script: str
    module: str | None
    watch: dict[str, list[int]]
    seed: int
    steps: int | None = None
    file_size: int | None = None
    memory: int | None = None
    simulate: dict[str, Any] | None = None
    audit: bool = False
    tests: bool = False
    search: dict[str, Any] | None = None
    cells: list[tuple[int, str, bool]] | None = None
    ipython: tuple[int, int] | None = None


def run(config_file: str, arguments: Sequence[str], shelf: Shelf | None = None) -> NoReturn:
    """Run the script with `arguments` as its `sys.argv` and leave the interpreter by its exit status.

    `shelf` has what was imported for the run already.
    """
    config = Config(**json.loads(Path(config_file).read_text(encoding="utf-8")))
    journal = Journal(config.journal)
    steps = StepLimit(config.steps, journal)
    _limit(config)
    _prepare(config, arguments)
    if shelf is not None:
        shelf.begin(lambda why: _begin_again(why, journal))
    _observe(config, config_file, journal, steps)
    status = 0
    try:
        status = running.run(config, journal, arguments[1:]) if config.tests else _execute(config, journal)
    except BaseException as error:
        if not steps.was_reached:
            _leave(error, config, journal)
    journal.write("end", memory=_peak_memory(), status=status)
    leaving.expect(status)
    sys.exit(status)


def join(config_file: str, has_torch: bool) -> None:
    """Take part in the replay of `config_file` in a process that its script spawned.

    `has_torch` says that the parent has torch. The process reports the watched lines that it runs, and believes in the
    same accelerator.
    """
    config = Config(**json.loads(Path(config_file).read_text(encoding="utf-8")))
    journal = Journal(config.journal, is_worker=True)
    _watch(config, journal)
    _observe(config, config_file, journal, StepLimit(config.steps, journal, is_worker=True))
    if has_torch:
        # It is about to unpickle tensors, and what rebuilds them is part of the simulation.
        importlib.import_module("torch")
        if config.tests:
            running.join(config, journal)


def _limit(config: Config) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if config.memory is not None:
        # RLIMIT_AS would count the address space that libraries reserve and never touch.
        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        soft = config.memory if hard == resource.RLIM_INFINITY else min(config.memory, hard)
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))

    if config.file_size is not None:
        # Python ignores SIGXFSZ, so that writing more raises an OSError.
        _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        soft = config.file_size if hard == resource.RLIM_INFINITY else min(config.file_size, hard)
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def _begin_again(why: str, journal: Journal) -> NoReturn:
    """Have the script run in an interpreter of its own."""
    journal.write("unlike", why=why)
    os._exit(1)


def _prepare(config: Config, arguments: Sequence[str]) -> None:
    sys.argv[:] = arguments
    sys.path[:] = [_in_copy(entry, config) for entry in sys.path]
    if not config.tests and config.cells is None:
        sys.path.insert(0, _import_root(config))


def _observe(config: Config, config_file: str, journal: Journal, steps: StepLimit) -> None:
    """See to it that this process is guarded, and that what it does reaches the journal."""
    root = Path(config.root)
    own = (str(root.parents[1]), config.temporary)
    guard = Guard(config.original, own, lambda what: journal.write("shared", what=what))
    guard.install()
    loading.follow(lambda file: errors.inside(file, root), lambda name: journal.write("loaded", file=name))
    deprecations.observe(
        lambda file: errors.inside(file, root),
        lambda category, message, file, line: journal.write(
            "warning", category=category, message=message, file=file, line=line
        ),
    )
    random.seed(config.seed)
    _follow_imports(config, config_file, lambda torch: _torch_is_here(torch, config, journal, guard, steps))


def _follow_imports(config: Config, config_file: str, on_torch: imports.Action) -> None:
    """Act on modules once they are imported, or now on those that are."""
    actions: dict[str, imports.Action] = {
        "multiprocessing.spawn": lambda spawn: spawning.invite(spawn, config_file),
        "numpy": training.seed_numpy(config.seed),
        "torch": on_torch,
    }
    for name in [name for name in actions if name in sys.modules]:
        actions.pop(name)(sys.modules[name])
    imports.AfterImport(actions).install()


def _torch_is_here(torch: ModuleType, config: Config, journal: Journal, guard: Guard, steps: StepLimit) -> None:
    if config.simulate is not None:
        _simulate(config, config.simulate, journal)
    training.observe_torch(config.seed, lambda value: journal.write("loss", value=value))(torch)
    steps.install(torch)
    guard.follow_torch(torch)
    if config.audit:
        audit.Audit(torch, Path(config.root), lambda record: journal.write("audit", record=record)).install()


def _simulate(config: Config, options: dict[str, Any], journal: Journal) -> None:
    root = Path(config.root)
    simulation = simulating.simulation(options)
    simulation.inside = lambda file: errors.inside(file, root) is not None
    simulation.report = lambda what: journal.write("not simulated", what=what)
    simulation.note = lambda text: journal.write("note", text=text)


def _in_copy(entry: str, config: Config) -> str:
    """`entry` of the module path, moved from the original tree to its copy: an editable install names the original."""
    try:
        moved = Path(config.root, Path(entry).relative_to(config.original))
    except ValueError:
        return entry
    return str(moved) if moved.exists() else entry


def _import_root(config: Config) -> str:
    depth = config.module.count(".") + 1 if config.module else 1
    return str(Path(config.script).parents[depth - 1])


def _execute(config: Config, journal: Journal) -> int:
    """Run the script, and answer the exit status of one that ends by itself."""
    if config.search is not None:
        importlib.import_module(f"{__package__}.harness.running").run(config.search, config.root, journal)
        return 0
    _watch(config, journal)
    module = _main_module(config)
    if config.cells is not None:
        _become_main(module)
        notebook.run(config.script, config.cells, config.ipython, module, lambda text: journal.write("note", text=text))
        return 0
    code = compile(Path(config.script).read_bytes(), config.script, "exec", dont_inherit=True)
    _become_main(module)
    exec(code, module.__dict__)
    return 0


def _become_main(module: ModuleType) -> None:
    sys.modules["__main__"] = module
    if "__mp_main__" in sys.modules:  # another name for it, since something imported multiprocessing
        sys.modules["__mp_main__"] = module


def _main_module(config: Config) -> ModuleType:
    module = ModuleType("__main__")
    if config.cells is None:
        module.__file__ = config.script
    module.__dict__["__builtins__"] = builtins
    if config.module is not None:
        module.__spec__ = importlib.util.find_spec(config.module)
        module.__package__ = config.module.rpartition(".")[0]
    return module


def _watch(config: Config, journal: Journal) -> None:
    names = {str(Path(config.root, file)): file for file in config.watch}
    wanted = {path: set(config.watch[file]) for path, file in names.items()}
    lines.watch(wanted, lambda file, line: journal.write("line", file=names[file], line=line))


def _leave(error: BaseException, config: Config, journal: Journal) -> NoReturn:
    """End as the interpreter would: the traceback without the probe's own frames, and the same exit status."""
    status = _status(error)
    if status != 0:
        root = Path(config.root)
        _tell_of_gap(error, config, journal)
        told = {**errors.describe(error, root), "frames": errors.frames(error, root)[-_FRAMES_LIMIT:]}
        journal.write("error", **told, postmortem=postmortem.examine(error, root))
    journal.write("end", memory=_peak_memory(), status=status)
    leaving.expect(status)
    if isinstance(error, SystemExit):
        raise error
    trace = _users_part(error, Path(config.root))
    sys.excepthook(type(error), error.with_traceback(trace), trace)
    sys.exit(status)


def _tell_of_gap(error: BaseException, config: Config, journal: Journal) -> None:
    """Tell of an error that is the simulation's, not the script's."""
    if config.simulate is None or "torch" not in sys.modules:
        return
    from .simulated.gaps import gap

    what = gap(error)
    if what is not None:
        journal.write("not simulated", what=what)


def _status(error: BaseException) -> int:
    if not isinstance(error, SystemExit):
        return 1
    if error.code is None:
        return 0
    return error.code & 0xFF if isinstance(error.code, int) else 1  # the system keeps the low byte


def _users_part(error: BaseException, root: Path) -> TracebackType | None:
    """The traceback from the first frame in the tree on; None for what is no Python, which has none there."""
    trace = error.__traceback__
    while trace is not None and errors.inside(trace.tb_frame.f_code.co_filename, root) is None:
        trace = trace.tb_next
    return trace


def _peak_memory() -> int | None:
    """The most memory that this process itself had at a time, in bytes, where Linux tells.

    `getrusage` would count what the parent had when it forked.
    """
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii")
    except OSError:
        return None
    found = [line for line in status.splitlines() if line.startswith("VmHWM:")]
    return int(found[0].split()[1]) * 1024 if found else None
