"""One run of pytest in the place of a script."""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol, cast

from .. import errors, lines
from ..journal import Journal
from . import files

_SOURCES = "src"
"""Where many projects keep their packages: an installation in place adds it to the module path."""


class Config(Protocol):
    """What is needed of the session's."""

    @property
    def root(self) -> str: ...
    @property
    def seed(self) -> int: ...
    @property
    def watch(self) -> dict[str, list[int]]: ...
    @property
    def simulate(self) -> Any: ...


def run(config: Config, journal: Journal, arguments: Sequence[str]) -> int:
    """Run the suite in the working directory as `python -m pytest ARGUMENTS`, and answer the exit status."""
    if importlib.util.find_spec("pytest") is None:
        journal.write("no pytest")
        return 1
    for folder in (Path.cwd() / _SOURCES, Path.cwd()):
        if folder.is_dir():
            sys.path.insert(0, str(folder))
    pytest: Any = importlib.import_module("pytest")
    reporting = importlib.import_module(f"{__package__}.reporting")
    root = Path(config.root)
    reporter: Any = None

    def line_ran(file: str, line: int) -> None:
        reporter.line_ran(names[file], line)

    names = {str(root / file): file for file in config.watch}
    again = lines.watch({path: set(config.watch[file]) for path, file in names.items()}, line_ran)
    kind = (
        _place(root, lambda what: reporter.not_simulated(what), lambda: reporter.patterns) if config.simulate else None
    )
    reporter = reporting.Reporter(journal, root, config.seed, again, _gap(config), kind)
    return int(pytest.main([*arguments], plugins=[reporter]))


def join(config: Config, journal: Journal) -> None:
    """Have what tests make live on the device in a process that they spawned, which has torch."""
    if config.simulate:
        _place(Path(config.root), lambda what: journal.write("not simulated", what=what), lambda: files.PATTERNS)


def _gap(config: Config) -> Callable[[BaseException], str | None]:
    if not config.simulate:
        return lambda error: None
    importlib.import_module("torch")
    gaps: Any = importlib.import_module("..simulated.gaps", __package__)
    return cast("Callable[[BaseException], str | None]", gaps.gap)


def _place(root: Path, not_simulated: Callable[[str], None], patterns: Callable[[], Sequence[str]]) -> str:
    """Have what tests make live on the simulated accelerator, and answer its type of device."""
    torch: Any = importlib.import_module("torch")
    placing = importlib.import_module(f"{__package__}.placing")
    standing = importlib.import_module(f"{__package__}.standing")
    simulation = importlib.import_module("..simulated", __package__).active
    optimizers = str(Path(torch.__file__).parent / "optim") + os.sep

    def owner_of(file: str) -> str | None:
        if file.startswith(optimizers):
            return str(standing.TORCH)
        name = errors.inside(file, root)
        return None if name is None else files.owner(name, patterns())

    policy = placing.SuitePolicy(simulation.kind, standing.Stands(owner_of))
    simulation.policy, simulation.report = policy, not_simulated
    placing.follow_modules(policy, lambda file: errors.inside(file, root) is not None)
    placing.compare_anywhere()
    kind: str = simulation.kind
    return kind
