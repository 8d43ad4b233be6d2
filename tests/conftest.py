"""What holds for all tests."""

import functools
import gc
import os
import signal
import sys
from collections.abc import Generator, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from devfix.replay import backends, device_checks, forkserver, warm
from devfix.replay.confinement import Bubblewrap, find_confinement

# A shell lets what it starts in the background ignore these, and programs that tests start and end would do the same.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Two workers more than processors, for many tests wait for something. Not too many: each has a torch in memory."""
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(processors, 8) + 2


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Ten thousand tests stay to the end: they are not looked through for garbage, again and again.

    And what each of them makes is looked through less often than by default: it is seldom garbage by then.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(50_000)
        gc.enable()


_slow_left_out = pytest.StashKey[bool]()


def pytest_deselected(items: Sequence[pytest.Item]) -> None:
    for item in items:
        if item.get_closest_marker("slow") is not None:
            item.config.stash[_slow_left_out] = True


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A worker tells whoever started it, who collects nothing."""
    output: dict[str, Any] | None = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["slow left out"] = session.config.stash.get(_slow_left_out, False)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    if getattr(node, "workeroutput", {}).get("slow left out", False):
        node.config.stash[_slow_left_out] = True


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if terminalreporter.config.stash.get(_slow_left_out, False):
        terminalreporter.write_line("Slow tests were left out: -m slow runs them, -m '' runs everything.")


@pytest.fixture(scope="session")
def bubblewrap() -> Bubblewrap:
    """The sandbox, in which these tests' own interpreter can be run."""
    found = find_confinement(sys.executable)
    if isinstance(found, str):
        pytest.skip(found)
    return found


@pytest.fixture(scope="session", autouse=True)
def _warm_starts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Runs of all tests are forked from the interpreters that the first of them started, as those of one command are.

    To import torch takes longer than most tests do. What each test has for itself makes no interpreter another one.
    """
    of_a_test = {"HOME", "PYTEST_CURRENT_TEST", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"}
    folder = tmp_path_factory.mktemp("forkservers")

    @functools.cache
    def table_file(torch: Path, version: str) -> Path:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("XDG_CACHE_HOME", str(folder))
            return device_checks.table_file(torch, version)

    with pytest.MonkeyPatch.context() as patch, warm.warm_starts():
        patch.setattr(warm, "_OF_A_RUN", warm._OF_A_RUN | of_a_test)
        patch.setattr(forkserver, "Folder", functools.partial(forkserver.Folder, parent=folder))
        patch.setattr(backends, "table_file", table_file)
        yield
