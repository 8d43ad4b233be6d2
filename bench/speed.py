"""How fast is `devfix check`? Against TorchFix and ruff, on the same files, in the same run.

    python bench/speed.py [FOLDER]

brings the pinned libraries and tools into FOLDER, times them in turns, and writes the tables into `bench/README.md`.
"""

import argparse
import os
import random
import shutil
import statistics
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from workshop import (
    HERE,
    REPOSITORY,
    BenchError,
    Run,
    Workshop,
    conditions,
    default_folder,
    measured,
    program,
    python_files,
    replace_between,
    table,
)

SMALL = REPOSITORY / "corpus" / "DVF101-batch-not-moved" / "classifier-labels" / "before.py"
FINE = (0, 1)
"""What each of the tools answers when it did its work: 1 for findings, and TorchFix's files that it could not parse."""

PARSE = "import ast, pathlib\nfor one in pathlib.Path('.').rglob('*.py'): ast.parse(one.read_bytes())"

BAR_COLD = 100
BAR_WARM = 2

TIMES = ("seconds, best", "seconds, median", "CPU seconds", "files/s", "peak MB")


@dataclass(frozen=True)
class Contestant:
    """A command, and what has to be done before each of its runs."""

    name: str
    command: Sequence[str]
    prepare: Callable[[], None] = lambda: None


@dataclass
class Series:
    """The runs of one contestant over the same files."""

    name: str
    files: int
    runs: list[Run] = field(default_factory=list)

    @property
    def best(self) -> float:
        return min(run.seconds for run in self.runs)

    @property
    def median(self) -> float:
        return statistics.median(run.seconds for run in self.runs)

    @property
    def cpu(self) -> float:
        return statistics.median(run.cpu for run in self.runs)

    def row(self) -> list[str]:
        peak = max(run.peak_mb for run in self.runs)
        speed = (
            f"{self.files / self.median:,.0f}" if self.files / self.median >= 10 else f"{self.files / self.median:.1f}"
        )
        return [self.name, _seconds(self.best), _seconds(self.median), _seconds(self.cpu), speed, f"{peak:.0f}"]


def main() -> int:
    """Measure everything, print it, and write it into the page."""
    options = _options()
    try:
        report = _Benchmark(Workshop(options.folder.resolve()), options).report()
    except BenchError as error:
        print(f"speed.py: {error}", file=sys.stderr)
        return 2
    print(report)
    if not options.no_write:
        replace_between(HERE / "README.md", "speed", report)
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Times devfix check against TorchFix and ruff.")
    parser.add_argument("folder", nargs="?", type=Path, default=default_folder(), help="where to work")
    parser.add_argument("--rounds", type=int, default=5, help="runs of each tool on the whole tree")
    parser.add_argument("--sample", type=int, default=200, help="how many files TorchFix gets in every round")
    parser.add_argument("--sample-rounds", type=int, default=3, help="runs of each tool on the sample")
    parser.add_argument("--seed", type=int, default=0, help="of the choice of the sample")
    parser.add_argument("--limit", type=float, default=3600, help="seconds for TorchFix on the whole tree, or 0")
    parser.add_argument("--no-write", action="store_true", help="leave bench/README.md as it is")
    return parser.parse_args()


class _Benchmark:
    def __init__(self, shop: Workshop, options: argparse.Namespace) -> None:
        self._shop = shop
        self._options = options
        self._environment = shop.environment
        print("preparing", file=sys.stderr)
        self._tree = shop.tree()
        self._files = python_files(self._tree)
        self._sample = self._copied_sample()
        self._small = shop.folder / "small"
        self._small.mkdir(exist_ok=True)
        shutil.copy(SMALL, self._small / "small.py")
        self._devfix = program(shop.devfix(), "devfix")
        self._python = program(shop.devfix(), "python")
        self._ruff = program(shop.tool("ruff"), "ruff")
        self._torchfix = program(shop.tool("torchfix"), "torchfix")
        self._size = sum(len(path.read_bytes()) for path in self._files)  # and now the system has them all in memory

    def report(self) -> str:
        """All measurements, as Markdown."""
        rounds = self._options.rounds
        cold = self._race(self._tree, [self._devfix_cold(), *self._ruffs(cold=True)], rounds)
        warm = self._race(self._tree, [self._devfix_warm(), *self._ruffs(cold=False)], rounds * 2)
        sample = self._race(
            self._sample,
            [self._devfix_cold(), self._torchfix_run(), *self._ruffs(cold=True)[:1], self._parsing()],
            self._options.sample_rounds,
        )
        start = self._race(self._small, self._starts(), rounds * 4)
        whole = self._torchfix_whole()
        return "\n\n".join(
            [
                conditions("TorchFix", "libcst", "ruff"),
                f"### The whole tree: {len(self._files):,} files, {self._size / 1e6:.1f} MB",
                table(
                    ("", *TIMES), [series.row() for series in [*cold.values(), *warm.values()]] + self._row_of(whole)
                ),
                f"### A sample: {self._options.sample} of these files, chosen by `random.seed({self._options.seed})`",
                table(("", *TIMES), _rows(sample)),
                "### Bars",
                table(("bar", "by the clock", "by CPU seconds", ""), self._bars(cold, warm, sample, whole), left=1),
                "### Start-up",
                table(("", "ms, best", "ms, median"), [_start_row(series) for series in start.values()]),
            ]
        )

    def _race(self, folder: Path, contestants: Sequence[Contestant], rounds: int) -> dict[str, Series]:
        """Every contestant once in each round, each round beginning with another one."""
        found = {one.name: Series(one.name, len(python_files(folder))) for one in contestants}
        for number in range(rounds):
            shift = number % len(contestants)
            for one in [*contestants[shift:], *contestants[:shift]]:
                run = self._run(one, folder)
                found[one.name].runs.append(run)
        return found

    def _run(self, one: Contestant, folder: Path, limit: float | None = None) -> Run:
        one.prepare()
        run, said = measured(one.command, folder, self._environment, limit)
        if run.code is not None and run.code not in FINE:
            raise BenchError(f"{one.name} ended with {run.code}:\n{os.fsdecode(said)[-2000:]}")
        print(f"{one.name}: {run.seconds:.3f} s, {run.cpu:.3f} s of CPU", file=sys.stderr)
        return run

    # The contestants

    def _devfix_cold(self) -> Contestant:
        return Contestant("devfix, cold", self._devfix_check("."), lambda: _clear(self._cache))

    def _devfix_warm(self) -> Contestant:
        return Contestant("devfix, warm", self._devfix_check("."))

    def _devfix_check(self, *arguments: str) -> list[str]:
        return [self._devfix, "check", "--isolated", *arguments]

    def _ruffs(self, cold: bool) -> list[Contestant]:
        state = "cold" if cold else "warm"
        return [
            self._ruff_check(f"ruff `--select NPY`, {state}", "npy", cold, "--select", "NPY"),
            self._ruff_check(f"ruff, its default rules, {state}", "default", cold),
        ]

    def _ruff_check(self, name: str, cache: str, cold: bool, *arguments: str) -> Contestant:
        place = self._shop.folder / f"ruff-cache-{cache}"
        command = [self._ruff, "check", "--isolated", "--cache-dir", str(place), *arguments, "."]
        return Contestant(name, command, (lambda: _clear(place)) if cold else lambda: None)

    def _torchfix_run(self) -> Contestant:
        return Contestant("TorchFix", [self._torchfix, "."])

    def _parsing(self) -> Contestant:
        """What no tool that reads the files with Python's own parser can do without, in one process."""
        return Contestant("`ast.parse` alone", [self._python, "-c", PARSE])

    def _starts(self) -> list[Contestant]:
        ruff = [self._ruff, "check", "--isolated"]
        return [
            Contestant("`python -c pass`", [self._python, "-c", "pass"]),
            Contestant("`ruff --version`", [self._ruff, "--version"]),
            Contestant("`ruff check --no-cache small.py`", [*ruff, "--no-cache", "small.py"]),
            Contestant("`devfix --version`", [self._devfix, "--version"]),
            Contestant("`devfix --help`", [self._devfix, "--help"]),
            Contestant("`devfix check --no-cache small.py`", self._devfix_check("--no-cache", "small.py")),
            Contestant("`devfix check small.py`, warm", self._devfix_check("small.py")),
        ]

    @property
    def _cache(self) -> Path:
        return Path(self._environment["XDG_CACHE_HOME"]) / "devfix"

    # TorchFix takes its time

    def _copied_sample(self) -> Path:
        place = self._shop.folder / "sample"
        shutil.rmtree(place, ignore_errors=True)
        for path in random.Random(self._options.seed).sample(self._files, self._options.sample):
            copy = place / path.relative_to(self._tree)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, copy)
        return place

    def _torchfix_whole(self) -> Run | None:
        if not self._options.limit:
            return None
        return self._run(self._torchfix_run(), self._tree, self._options.limit)

    def _row_of(self, whole: Run | None) -> list[list[str]]:
        if whole is None:
            return []
        if whole.code is None:
            return [["TorchFix", f"not done after {whole.seconds:,.0f}", "", "", "", ""]]
        return [Series("TorchFix, one run", len(self._files), [whole]).row()]

    # What it comes to

    def _bars(
        self, cold: dict[str, Series], warm: dict[str, Series], sample: dict[str, Series], whole: Run | None
    ) -> list[list[str]]:
        ours, theirs = sample["devfix, cold"], sample["TorchFix"]
        rows = [_faster("the sample", ours, theirs)]
        if whole is not None and whole.code is not None:
            rows.append(_faster("the whole tree", cold["devfix, cold"], Series("", len(self._files), [whole])))
        ruffs = [series for series in [*warm.values(), *cold.values()] if series.name.startswith("ruff")]
        return rows + [_within(warm["devfix, warm"], ruff) for ruff in ruffs]


def _rows(*races: dict[str, Series]) -> list[list[str]]:
    return [series.row() for race in races for series in race.values()]


def _faster(where: str, ours: Series, theirs: Series) -> list[str]:
    """How many times the files per second of TorchFix."""
    clock, cpu = theirs.median / ours.median, theirs.cpu / ours.cpu
    name = f"devfix cold, files per second on {where}: at least {BAR_COLD} times TorchFix"
    return [name, f"{clock:.0f} times", f"{cpu:.0f} times", _verdict(clock >= BAR_COLD)]


def _within(ours: Series, theirs: Series) -> list[str]:
    """How many times the seconds of ruff."""
    clock, cpu = ours.median / theirs.median, ours.cpu / theirs.cpu
    name = f"devfix warm, seconds: at most {BAR_WARM} times {theirs.name}"
    return [name, f"{clock:.2f} times", f"{cpu:.2f} times", _verdict(clock <= BAR_WARM)]


def _verdict(holds: bool) -> str:
    return "met" if holds else "**missed**"


def _start_row(series: Series) -> list[str]:
    return [series.name, f"{series.best * 1000:.0f}", f"{series.median * 1000:.0f}"]


def _seconds(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.2f}"


def _clear(*folders: Path) -> None:
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
