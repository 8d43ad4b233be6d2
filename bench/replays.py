"""What proof costs: a program's replay against its plain run, README's first command, and `repair` over the corpus.

All in one run, so that all figures are of one machine under one load. Plain runs and replays of a program take turns.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
CORPUS = REPOSITORY / "corpus"
TIMES, MORE = 2.5, 1.0
"""A replay may take so many times its plain run, and so many seconds more."""
FIRST_BAR, REPAIR_BAR = 30.0, 8.0


@dataclass(frozen=True)
class Case:
    """A program of the corpus that fails on an accelerator."""

    folder: Path

    @property
    def name(self) -> str:
        return f"{self.folder.parent.name.partition('-')[0]} {self.folder.name}"


def cases(count: int, seed: int) -> list[Case]:
    """So many programs of the corpus that end with a device error, drawn at random."""
    found = sorted(one.parent for one in CORPUS.glob("DVF*/*/case.toml") if (one.parent / "before.py").is_file())
    failing = [one for one in found if tomllib.loads((one / "case.toml").read_text()).get("error")]
    return [Case(one) for one in random.Random(seed).sample(failing, min(count, len(failing)))]


@dataclass(frozen=True)
class Timed:
    """A command that has run: seconds by the clock, and processor seconds of all its processes."""

    seconds: float
    processor: float
    ran: subprocess.CompletedProcess[str]


def timed(command: Sequence[str], folder: Path) -> Timed:
    started, before = time.monotonic(), os.times()
    ran = subprocess.run(command, cwd=folder, env={**os.environ, "NO_COLOR": "1"}, capture_output=True, text=True)
    after = os.times()
    processor = after.children_user - before.children_user + after.children_system - before.children_system
    return Timed(time.monotonic() - started, processor, ran)


class Bench:
    """Runs of devfix and of the interpreter beside it."""

    def __init__(self, devfix: str, rounds: int) -> None:
        self._devfix = devfix
        self._python = str(Path(devfix).parent / "python")
        self._rounds = rounds

    def replay(self, case: Case) -> tuple[list[Timed], list[Timed], str]:
        """The plain runs of the repaired program, the replays, and their verdict."""
        plain, replayed = [], []
        with _copied(case.folder) as folder:
            for _ in range(self._rounds):
                plain.append(timed([self._python, "after.py"], folder))
                command = [
                    self._devfix,
                    "replay",
                    "before.py",
                    "--on",
                    "simulated",
                    "--unsafe",
                    "--output-format",
                    "json",
                ]
                replayed.append(timed(command, folder))
        return plain, replayed, _verdict(replayed[-1].ran)

    def first_command(self) -> tuple[Timed, int]:
        """README's first command, and how many programs it confirms."""
        with _copied(CORPUS / "seeds") as folder:
            told = timed([self._devfix, "rewrite", "--diff", "--replay", "."], folder)
        return told, (told.ran.stdout + told.ran.stderr).count(": confirmed")

    def repair(self, case: Case) -> tuple[Timed, str]:
        """A repair, and what it came to."""
        with _copied(case.folder) as folder:
            (folder / "after.py").unlink()
            told = timed([self._devfix, "repair", "before.py", "--on", "simulated", "--output-format", "json"], folder)
        printed = told.ran.stdout
        return told, str(json.loads(printed)["outcome"]) if printed else f"exit code {told.ran.returncode}"


def _verdict(ran: subprocess.CompletedProcess[str]) -> str:
    found = json.loads(ran.stdout)["replays"] if ran.stdout else []
    return str(found[0]["verdict"]) if found else f"exit code {ran.returncode}"


class _copied:  # noqa: N801 - it is used as a function
    """A copy of a folder, as a project of its own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._temporary = tempfile.TemporaryDirectory()

    def __enter__(self) -> Path:
        copy = Path(self._temporary.name) / "project"
        shutil.copytree(self._folder, copy, ignore=shutil.ignore_patterns("__pycache__"))
        (copy / "pyproject.toml").touch()
        return copy

    def __exit__(self, *_: object) -> None:
        self._temporary.cleanup()


def replays(bench: Bench, chosen: Sequence[Case]) -> Iterator[str]:
    yield "| program | plain run, s | replay, s | times | bar: 2.5 times, and 1 s | by processor seconds | verdict |"
    yield "| --- | ---: | ---: | ---: | --- | ---: | --- |"
    for case in chosen:
        runs, replayed, verdict = bench.replay(case)
        plain, seconds = (statistics.median(one.seconds for one in some) for some in (runs, replayed))
        own, processor = (statistics.median(one.processor for one in some) for some in (runs, replayed))
        late = seconds - TIMES * plain - MORE
        met = "met" if late <= 0 else f"**missed** by {late:.1f} s"
        told = f"{plain:.1f} | {seconds:.1f} | {seconds / plain:.2f} | {met} | {own:.1f} and {processor:.1f}"
        yield f"| {case.name} | {told} | {verdict} |"


def repairs(bench: Bench, chosen: Sequence[Case]) -> Iterator[str]:
    spent, outcomes = [], []
    for case in chosen:
        told, outcome = bench.repair(case)
        spent.append(told)
        outcomes.append(outcome)
        yield f"| {case.name} | {told.seconds:.1f} | {told.processor:.1f} | {outcome} |"
    median, processor = (statistics.median(each) for each in zip(*((one.seconds, one.processor) for one in spent)))
    met = "met" if median <= REPAIR_BAR else "**missed**"
    fixed = sum(outcome == "repaired" for outcome in outcomes)
    said = f"{median:.1f} s in the median (bar {REPAIR_BAR:g} s: {met}), {processor:.1f} processor seconds"
    yield f"\n`repair` of {len(spent)} programs: {said}; {fixed} repaired"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--programs", type=int, default=5, help="how many programs are replayed")
    parser.add_argument("--repairs", type=int, default=20, help="how many programs are repaired")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--devfix", default=str(Path(sys.executable).parent / "devfix"))
    options = parser.parse_args()
    bench = Bench(options.devfix, options.rounds)
    told, confirmed = bench.first_command()
    met = "met" if told.seconds <= FIRST_BAR else "**missed**"
    said = f"{told.seconds:.1f} s (bar {FIRST_BAR:g} s: {met}), {told.processor:.1f} processor seconds"
    print(f"README's first command: {said}; {confirmed} confirmed\n", flush=True)
    for line in replays(bench, cases(options.programs, options.seed)):
        print(line, flush=True)
    if options.repairs:
        print("\n| program | repair, s | processor, s | outcome |\n| --- | ---: | ---: | --- |")
        for line in repairs(bench, cases(options.repairs, options.seed)):
            print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
