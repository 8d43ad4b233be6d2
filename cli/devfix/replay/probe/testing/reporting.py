"""A plugin of pytest that tells the journal how each test ended, why, and which watched lines it ran."""

from __future__ import annotations

import importlib
import os
import random
import sys
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest

from .. import errors, postmortem
from ..journal import Journal
from . import options
from .devices import renamed
from .files import LIBRARY, owner

POSTMORTEMS = 2
"""How many are told of one and the same error."""
MESSAGE_LIMIT = 200

Gap = Callable[[BaseException], "str | None"]


class Reporter:
    """Tells of each test once it is over, by the name that pytest takes in the working directory.

    `seed` is where random numbers start in each test.

    `again` has the watched lines reported anew. With a `device` type, parameters and fixtures that are called after a
    device and name the host name the device.
    """

    def __init__(
        self, journal: Journal, root: Path, seed: int, again: Callable[[], None], gap: Gap, device: str | None = None
    ) -> None:
        self.patterns: tuple[str, ...] = ()
        self._journal = journal
        self._root = root
        self._seed = seed
        self._again = again
        self._gap = gap
        self._device = device
        self._config: Any = None
        self._told: dict[tuple[Any, ...], int] = {}
        self._now: dict[str, Any] = {}
        self._lines: set[tuple[str, int]] = set()

    def line_ran(self, file: str, line: int) -> None:
        """A watched line ran."""
        self._lines.add((file, line))
        self._journal.write("line", file=file, line=line)

    def not_simulated(self, what: str) -> None:
        """The test that runs met something that is not simulated."""
        self._now.setdefault("gap", what[:MESSAGE_LIMIT])

    # How it is run

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_load_initial_conftests(self, early_config: Any) -> Generator[None, Any, None]:
        options.set_aside(early_config.known_args_namespace)
        yield

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_cmdline_main(self, config: Any) -> Generator[None, Any, None]:
        options.set_aside(config.option)
        self.patterns = tuple(config.getini("python_files"))
        self._config = config
        yield

    @pytest.hookimpl(optionalhook=True, tryfirst=True)
    def pytest_timeout_set_timer(self) -> bool:
        """The limit is that of the whole run: a test is slower here."""
        return True

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        """Only tests in Python: neither documents nor what plugins check of files."""
        items[:] = [item for item in items if isinstance(item, pytest.Function)]
        self._journal.write("collected", count=len(items))

    @pytest.hookimpl(hookwrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Generator[None, Any, None]:
        outcome = yield
        if self._device is None or outcome.excinfo is not None or "device" not in fixturedef.argname.lower():
            return
        value = outcome.get_result()
        now = renamed(value, self._device)
        if now is not value:
            outcome.force_result(now)
            fixturedef.cached_result = (now, *fixturedef.cached_result[1:])

    # What is told

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._now = {"outcome": "passed", "seconds": 0.0}
        self._lines.clear()
        self._again()
        self._start_random_numbers()
        self._journal.write("test begins", id=self._named(nodeid))

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        lines = [list(line) for line in sorted(self._lines)]
        self._journal.write("test", **{**self._now, "id": self._named(nodeid), "lines": lines})
        self._now = {}

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, call: Any) -> Generator[None, Any, None]:
        outcome = yield
        report = outcome.get_result()
        self._now["seconds"] = self._now.get("seconds", 0.0) + report.duration
        if report.failed:
            self._now["outcome"] = "failed"
            if "error" not in self._now and call.excinfo is not None:
                self._now.update(self._why(call.excinfo.value))
        elif report.skipped and self._now.get("outcome") == "passed":
            self._now["outcome"] = "skipped"

    def pytest_exception_interact(self, node: Any, call: Any, report: Any) -> None:
        """A file that could not be collected. Of tests the reports tell."""
        if isinstance(node, pytest.Collector) and call.excinfo is not None:
            error = call.excinfo.value
            if isinstance(error, pytest.Collector.CollectError):
                error = error.__cause__ or error.__context__ or error
            self._journal.write("uncollected", id=self._named(node.nodeid), **self._why(error))

    def _named(self, nodeid: str) -> str:
        """A test, or a file of such, as one would name it here; pytest names it from where its settings are."""
        here, top = self._config.invocation_params.dir, self._config.rootpath
        path, *inside = nodeid.split("::", 1)
        return "::".join((Path(os.path.relpath(top / path, here)).as_posix(), *inside)) if here != top else nodeid

    def _why(self, error: BaseException) -> dict[str, Any]:
        """The error, in whose code it arose, and where it is a device error of the library what was in reach."""
        record: Any = errors.describe(error, self._root)
        found = self._gap(error)
        if found is not None:
            self.not_simulated(found)
        place = record["file"]
        cause = owner(place, self.patterns) if place is not None else None
        told = {"error": {**record, "message": record["message"][: 2 * MESSAGE_LIMIT]}, "cause": cause}
        if not record["device"] or cause != LIBRARY:
            return told
        key = (record["file"], record["line"], record["message"])
        self._told[key] = self._told.get(key, 0) + 1
        if self._told[key] <= POSTMORTEMS:
            told["postmortem"] = postmortem.examine(error, self._root)
        return told

    def _start_random_numbers(self) -> None:
        """From one seed in each test, so that one that fails half-way changes no other."""
        random.seed(self._seed)
        if "numpy" in sys.modules:
            importlib.import_module("numpy.random").seed(self._seed)
        if "torch" in sys.modules:
            sys.modules["torch"].manual_seed(self._seed)
