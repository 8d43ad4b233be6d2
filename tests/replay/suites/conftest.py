"""A small library with tests of its own, and a way to run these as `devfix replay --tests` does."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from devfix.replay.backends import Simulated
from devfix.replay.changes import Change
from devfix.replay.options import ReplayOptions
from devfix.replay.programs import suite_of
from devfix.replay.replaying import replay_suite
from devfix.replay.results import SuiteReplay
from devfix.replay.suites.comparing import Comparison, compared

Suite = Callable[..., SuiteReplay]


@pytest.fixture
def suite(tree: Path, simulation: Simulated) -> Suite:
    """Write files into the tree, and run its tests with these changes."""

    def run(files: dict[str, str], changes: Sequence[Change] = (), *arguments: str) -> SuiteReplay:
        for name, text in files.items():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            (tree / name).write_text(text)
        program = suite_of(tree, arguments)
        return replay_suite(program, lambda _: changes, simulation, ReplayOptions(timeout=240))

    return run


def comparison(found: SuiteReplay) -> Comparison:
    """What the two runs of the original say of each test."""
    return compared(found.plain, found.run.outcome)
