"""`devfix repair` on programs in which one bug was planted: how many are repaired, how, and how long that takes.

Each bug of `planted/bugs.toml` is planted in a copy of its program, and `devfix repair` is run there on the simulated
accelerator, one after the other. The patches are printed for a reader: that a repaired program runs is what `repair`
itself has seen, whether a reviewer would take the patch only a reader can say.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from devfix.formats import OutputFormat
from devfix.repairing import Ask, repair
from devfix.replay import ReplayOptions, runs_to_come

HERE = Path(__file__).resolve().parent
PLANTED = HERE / "planted"
ENTRIES = ("train.py", "main.py", "transfer.py")


@dataclass(frozen=True)
class Bug:
    """In `file` of the program in `folder`, `correct` becomes `planted`. `unseen`: not looked at while building."""

    name: str
    file: str
    correct: str
    planted: str
    unseen: bool = False

    @property
    def folder(self) -> Path:
        return PLANTED / self.name.partition("/")[0]

    @property
    def entry(self) -> str:
        return next(one for one in ENTRIES if (self.folder / one).is_file())

    def plant(self, copy: Path) -> None:
        shutil.copytree(self.folder, copy)
        (copy / "pyproject.toml").touch()
        path = copy / self.file
        before = path.read_text()
        if before.count(self.correct) != 1:
            raise SystemExit(
                f"{self.name}: what is to be planted stands {before.count(self.correct)} times in the file"
            )
        path.write_text(before.replace(self.correct, self.planted))


@dataclass(frozen=True)
class Result:
    """What became of a bug. `runs` are those that it took, `patch` is the diff."""

    bug: Bug
    outcome: str
    seconds: float
    runs: int
    titles: tuple[str, ...]
    patch: str
    reason: str

    @property
    def repaired(self) -> bool:
        return self.outcome == "repaired"


def bugs() -> list[Bug]:
    listed = tomllib.loads((PLANTED / "bugs.toml").read_text())["bug"]
    return [Bug(**each) for each in listed]


def repaired(bug: Bug, devfix: str) -> Result:
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "program"
        bug.plant(copy)
        started = time.monotonic()
        ran = subprocess.run(
            [devfix, "repair", bug.entry, "--on", "simulated", "--output-format", "json"],
            cwd=copy,
            env={**os.environ, "NO_COLOR": "1"},
            capture_output=True,
            text=True,
        )
        seconds = time.monotonic() - started
    if ran.returncode == 2 or not ran.stdout:
        return Result(bug, "failed", seconds, 0, (), "", ran.stderr.strip())
    return _read(bug, json.loads(ran.stdout), seconds)


def repaired_here(bug: Bug) -> Result:
    """As `repaired`, in this process and with what it keeps warm: a busy machine is spared most of the work."""
    printed, here = io.StringIO(), Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "program"
        bug.plant(copy)
        started = time.monotonic()
        os.chdir(copy)
        try:
            with contextlib.redirect_stdout(printed):
                options = ReplayOptions(on="simulated", python=sys.executable)
                repair(Ask(bug.entry, options, output_format=OutputFormat.JSON, quiet=True))
        finally:
            os.chdir(here)
        return _read(bug, json.loads(printed.getvalue()), time.monotonic() - started)


def _read(bug: Bug, told: dict[str, Any], seconds: float) -> Result:
    fixes = told["fixes"]
    tried = sum(1 + len(each["rejected"]) for each in fixes) + len(told["rejected"])
    patch = "".join(each["diff"] for each in told["changed"])
    reason = told["reason"] + "".join(f"; tried: {each['title']}: {each['reason']}" for each in told["rejected"])
    titles = tuple(each["title"] for each in fixes)
    return Result(bug, told["outcome"], seconds, tried, titles, patch, reason)


def rows(results: list[Result]) -> Iterator[str]:
    yield "| bug | outcome | candidates run | s | repair |"
    yield "| --- | --- | ---: | ---: | --- |"
    for one in results:
        said = "; ".join(one.titles) if one.repaired else one.reason
        yield f"| {one.bug.name} | {one.outcome} | {one.runs} | {one.seconds:.1f} | {said.replace('|', '/')} |"
    for words, some in (("built with", False), ("unseen", True)):
        part = [one for one in results if one.bug.unseen is some]
        if part:
            fixed = sum(one.repaired for one in part)
            median = statistics.median(one.seconds for one in part)
            yield f"\n{words}: {fixed} of {len(part)} repaired, {median:.1f} s in the median"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", help="only bugs whose names contain one of these")
    parser.add_argument("--unseen", action="store_true", help="only those that were not looked at while building")
    parser.add_argument("--seen", action="store_true", help="only the others")
    parser.add_argument("--warm", action="store_true", help="one process for all: seconds are then without any start")
    parser.add_argument("--devfix", default=str(Path(sys.executable).parent / "devfix"))
    options = parser.parse_args()
    chosen = [
        one
        for one in bugs()
        if (not options.names or any(name in one.name for name in options.names))
        and (one.unseen or not options.unseen)
        and not (one.unseen and options.seen)
    ]
    results = []
    with runs_to_come() if options.warm else contextlib.nullcontext():
        for bug in chosen:
            result = repaired_here(bug) if options.warm else repaired(bug, options.devfix)
            results.append(result)
            print(f"== {bug.name}: {result.outcome}, {result.runs} candidates, {result.seconds:.1f} s", flush=True)
            print(result.patch or result.reason, flush=True)
    print("\n".join(rows(results)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
