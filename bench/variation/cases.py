"""Draws programs, proves them, and lays those that behave as promised in folders of their own."""

from __future__ import annotations

import hashlib
import json
import shutil
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from variation.kinds import all_kinds
from variation.plans import Kind
from variation.proving import Machine, broken_promise, lay
from variation.shapes import Draws
from variation.writing import Program, write

WRONG, RIGHT = "wrong", "right"
"""The folders of the programs and of their twins."""

_TRIES = 4


@dataclass(frozen=True)
class Case:
    """A proven program: `folder` is its name below `WRONG` and `RIGHT`.

    `omitted` are the lines, by file, where the move is missing; `error`, `file` and `line` say how the program fails.
    """

    folder: str
    kind: str
    values: dict[str, str]
    is_portable: bool
    omitted: dict[str, list[int]]
    error: str
    file: str
    line: int


@dataclass
class Drawn:
    """The cases, and by kind and reason how many programs were left out."""

    cases: list[Case]
    left_out: Counter[tuple[str, str]]


def programs(count: int, seed: int, kinds: Sequence[str] = ()) -> Iterator[Iterator[Program]]:
    """For each of `count` programs, of all kinds in turn, the candidates for it in the order of preference.

    Each kind has its own draws: a kind more or less does not change the programs of the others.
    """
    chosen = [kind for name, kind in all_kinds().items() if not kinds or name in kinds]
    draws = {kind.name: Draws(f"{seed} {kind.name}") for kind in chosen}

    def candidates(kind: Kind) -> Iterator[Program]:
        for _ in range(_TRIES):
            yield write(kind, draws[kind.name].draw(kind.limits))

    return (candidates(chosen[number % len(chosen)]) for number in range(count))


def draw(top: Path, count: int, seed: int, kinds: Sequence[str]) -> Drawn:
    """`count` proven programs below `top`. Those that are there from an earlier call are used again."""
    index = top / "cases.json"
    asked = {"count": count, "seed": seed, "kinds": sorted(kinds), "generator": _digest()}
    if index.is_file() and (known := json.loads(index.read_text(encoding="utf-8")))["asked"] == asked:
        left_out = Counter({(kind, reason): number for kind, reason, number in known["left_out"]})
        return Drawn([Case(**case) for case in known["cases"]], left_out)
    for folder in (WRONG, RIGHT):
        shutil.rmtree(top / folder, ignore_errors=True)
    top.mkdir(parents=True, exist_ok=True)
    drawn = Drawn([], Counter())
    with Machine(top, simulated=True) as simulated, Machine(top, simulated=False) as plain:
        for number, candidates in enumerate(programs(count, seed, kinds), 1):
            for program in candidates:
                case = _prove(top, f"{number:05}-{program.kind}", program, simulated, plain)
                if isinstance(case, Case):
                    drawn.cases.append(case)
                    break
                drawn.left_out[program.kind, case] += 1
            if number % 200 == 0:
                print(f"{number} of {count} programs proven", file=sys.stderr, flush=True)
    told = {
        "asked": asked,
        "cases": [asdict(case) for case in drawn.cases],
        "left_out": [[*key, number] for key, number in drawn.left_out.items()],
    }
    index.write_text(json.dumps(told), encoding="utf-8")
    return drawn


def _prove(top: Path, folder: str, program: Program, simulated: Machine, plain: Machine) -> Case | str:
    """The case, if program and twin behave; else why they do not, and nothing is left of them."""
    wrong, right = top / WRONG / folder, top / RIGHT / folder
    failed = broken_promise(program, lay(wrong, program.wrong), lay(right, program.right), simulated, plain)
    if not isinstance(failed, str) and failed.file is not None and failed.line is not None:
        omitted = {name: sorted(lines) for name, lines in program.omitted.items()}
        shape = program.shape
        known = (folder, program.kind, shape.values, shape.is_portable, omitted)
        return Case(*known, failed.error, failed.file, failed.line)
    for place in (wrong, right):
        shutil.rmtree(place)
    return failed if isinstance(failed, str) else "the wrong program fails nowhere"


def _digest() -> str:
    """Changes with the generator."""
    files = [file for file in sorted(Path(__file__).parent.glob("*.py")) if file.stem not in {"measuring", "tables"}]
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()
