"""All measures of recall and precision on code that nobody tuned on, and their bars, in one table.

    python bench/recall.py --mirrors DIR --work DIR --devfix CMD [--old CMD] [--only LIST]... [--cases ROWS DIR]

WORK keeps the rows and files of the sets that are drawn from MIRRORS, and draws none again that are there:
`WORK/deletions` and `WORK/history`. What devfix made of them is written to `new.json` and `old.json` beside the rows.
`--cases` adds known fixes, those of which one file tells. Programs in many shapes are measured where `variations.py`
is. Sets drawn here are for measuring: no row of them is ever shown. The tables by kind go to standard error.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import deletions
import history
from cases import Row, read_rows
from scoring import Outcome, outcomes_of, report, write_outcomes
from workshop import HERE, table

VARIATIONS = HERE / "variations.py"


@dataclass(frozen=True)
class Measure:
    """A line of the table. A bar is a least share in percent, a most one, or how many times the old number."""

    name: str
    seen: float
    bar: float
    unit: str = "%"
    at_most: bool = False

    @property
    def is_met(self) -> bool:
        return self.seen <= self.bar if self.at_most else self.seen >= self.bar

    @property
    def cells(self) -> tuple[str, str, str, str]:
        sign = "≤" if self.at_most else "≥"
        return self.name, f"{self.seen:.1f} {self.unit}", f"{sign} {self.bar:g} {self.unit}", self._verdict

    @property
    def _verdict(self) -> str:
        return "met" if self.is_met else "**missed**"


def share(many: Sequence[Outcome], is_one: Callable[[Outcome], bool]) -> float:
    return 100 * sum(map(is_one, many)) / max(len(many), 1)


def of_deletions(outcomes: Sequence[Outcome]) -> Iterator[Measure]:
    yield Measure("deletions: edited", share(outcomes, lambda one: one.edited), 55)
    yield Measure("deletions: edited, and the original not", share(outcomes, lambda one: one.told), 55)
    yield Measure("deletions: found", share(outcomes, lambda one: one.found), 70)
    for kind, bar in (("move", 45), ("factory", 65), ("buffer", 40)):
        many = [one for one in outcomes if one.kind == kind]
        yield Measure(f"deletions: {kind}, edited", share(many, lambda one: one.edited), bar)
    yield Measure("originals: edited as misplaced", share(outcomes, lambda one: one.is_alarm), 1, at_most=True)


def of_history(outcomes: Sequence[Outcome], old: Sequence[Outcome]) -> Iterator[Measure]:
    """How many times as many fixes as the old devfix: without one there is nothing to tell."""
    if old:
        edited = sum(one.edited for one in outcomes) / max(sum(one.edited for one in old), 1)
        found = sum(one.found for one in outcomes) / max(sum(one.found for one in old), 1)
        yield Measure("history: edited", edited, 1.9, "times")
        yield Measure("history: found", found, 2, "times")


def of_cases(outcomes: Sequence[Outcome]) -> Iterator[Measure]:
    yield Measure("cases: edited", share(outcomes, lambda one: one.edited), 75)
    yield Measure("cases: found", share(outcomes, lambda one: one.found), 85)


def of_variations(told: Sequence[dict[str, bool]]) -> Iterator[Measure]:
    """What `variations.py --json` wrote; of what is repaired, all has to pass."""
    repaired = [one for one in told if one["repaired"]]
    yield Measure("variations: found", 100 * sum(one["found"] for one in told) / max(len(told), 1), 98)
    yield Measure("variations: repaired", 100 * len(repaired) / max(len(told), 1), 95)
    passing = 100 * sum(one["passes"] for one in repaired) / max(len(repaired), 1)
    yield Measure("variations: of these, pass", passing, 100)


def scored(name: str, rows: Sequence[Row], cases: Path, folder: Path, asked: argparse.Namespace) -> list[list[Outcome]]:
    """What the new and the old devfix make of a set; the tables by kind go to standard error."""
    both: list[list[Outcome]] = []
    for which, devfix in (("new", asked.devfix), ("old", asked.old)):
        outcomes = outcomes_of(devfix, rows, cases, quick=asked.quick) if devfix else []
        if devfix:
            write_outcomes(folder / f"{which}.json", devfix, outcomes)
            print(f"\n{name}, {which}\n{report(outcomes)}", file=sys.stderr)
        both.append(outcomes)
    return both


def drawn(folder: Path, asked: argparse.Namespace, draw: Callable[[argparse.Namespace], list[Row]]) -> list[Row]:
    rows = folder / "rows.jsonl"
    if rows.is_file():
        return read_rows(rows)
    given = {"rows": rows, "cases": folder / "cases", "only": asked.only, "mirrors": asked.mirrors}
    return draw(
        argparse.Namespace(**given, seed=asked.seed, half=asked.half, count=asked.count, per_repo=asked.per_repo)
    )


def measures(asked: argparse.Namespace) -> Iterable[Measure]:
    if VARIATIONS.is_file():
        out = asked.work / "variations.json"
        command = [sys.executable, str(VARIATIONS), "--devfix", asked.devfix, "--json", str(out)]
        subprocess.run([*command, "--count", str(asked.programs)], stdout=sys.stderr, check=True)
        yield from of_variations(json.loads(out.read_text(encoding="utf-8")))
    folder = asked.work / "deletions"
    rows = drawn(folder, asked, deletions.make)
    yield from of_deletions(scored("deletions", rows, folder / "cases", folder, asked)[0])
    folder = asked.work / "history"
    rows = drawn(folder, asked, history.mine)
    yield from of_history(*scored("history", rows, folder / "cases", folder, asked))
    if asked.cases:
        known, files = asked.cases
        rows = [row for row in read_rows(known) if row.local_evidence]
        folder = asked.work / "cases"
        yield from of_cases(scored("cases", rows, files, folder, asked)[0])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mirrors", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--devfix", required=True, help="the command to measure")
    parser.add_argument("--old", default="", help="the one to compare with: history has no bar without it")
    parser.add_argument("--cases", type=Path, nargs=2, metavar=("ROWS", "DIR"), help="known fixes, and their files")
    parser.add_argument(
        "--only", type=Path, action="append", default=[], help="a list of names, or of rows with `repo`"
    )
    parser.add_argument("--half", choices=["dev", "held", "both"], default="dev")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--count", type=int, default=1000, help="how many deletions")
    parser.add_argument("--per-repo", type=int, default=6)
    parser.add_argument("--programs", type=int, default=2000, help="how many variations")
    parser.add_argument("--quick", action="store_true", help="only `check`, see scoring.py")
    asked = parser.parse_args()
    asked.work.mkdir(parents=True, exist_ok=True)
    found = list(measures(asked))
    print(table(("measure", "seen", "bar", ""), [one.cells for one in found]))
    return 0 if all(one.is_met for one in found) else 1


if __name__ == "__main__":
    sys.exit(main())
