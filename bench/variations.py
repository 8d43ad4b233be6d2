"""How well devfix finds and repairs known bugs, whatever shape they are written in.

    python bench/variations.py [--count 2000] [--seed 0] [--kinds KIND ...] [--devfix "python -m devfix"]
        [--keep DIR] [--json OUT] [--misses N]

generates programs: every kind of bug in shapes drawn so that all values of all axes come equally often. Each fails on
the simulated accelerator with an error about devices, and its correct twin passes; both pass on the plain CPU, unless
they name CUDA without a condition. Then `devfix check` and `devfix rewrite --unsafe` run over all of them, and the
tables say what is

    found      a finding that speaks, itself or in its trail or edits, of a line at most three lines from the missing
               move or from the failing line; that CUDA is named without a condition (DVF501, DVF502) is true of a
               shape, and does not count
    repaired   `rewrite --unsafe` changed the program
    passes     what it made passes on the simulated accelerator, and on the plain CPU where the original does

A kind that is found in one shape and not in another is a defect: "switched off" is the share of its programs that are
not found. With `--keep`, the programs stay in DIR, and are used again while the generator is the same.
"""

from __future__ import annotations

import argparse
import json
import shlex
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from variation.cases import Drawn, draw
from variation.kinds import all_kinds
from variation.measuring import Row, measure
from variation.tables import print_misses, print_tables


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=2000, help="how many programs")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kinds", nargs="+", default=[], choices=sorted(all_kinds()), metavar="KIND")
    parser.add_argument("--devfix", default=f"{shlex.quote(sys.executable)} -m devfix", metavar="CMD")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="leave the programs there, and use what is there")
    parser.add_argument("--json", type=Path, metavar="OUT", help="write what became of each program")
    parser.add_argument("--misses", type=int, default=0, metavar="N", help="print so many programs that are missed")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        top = (asked.keep or Path(folder)).resolve()
        drawn = draw(top, asked.count, asked.seed, asked.kinds)
        print_left_out(drawn)
        rows = measure(top, drawn.cases, shlex.split(asked.devfix))
    print_tables(rows)
    if asked.misses:
        print_misses(rows, asked.misses)
    if asked.json:
        asked.json.write_text(json.dumps([told(row) for row in rows], indent=1) + "\n", encoding="utf-8")
    return 0


def print_left_out(drawn: Drawn) -> None:
    """How many programs were not what they should be, and why."""
    print(f"{len(drawn.cases)} programs; {drawn.left_out.total()} were left out.")
    for (kind, reason), number in drawn.left_out.most_common():
        print(f"  {number} of {kind}: {reason}")
    print()


def told(row: Row) -> dict[str, object]:
    """A row for other tools to read."""
    results = {"found": row.is_found, "repaired": row.is_repaired, "passes": row.passes}
    codes: dict[str, Sequence[str]] = {"codes": row.codes, "alarms": row.alarms}
    return {**asdict(row.case), **results, **codes, "after": row.error}


if __name__ == "__main__":
    sys.exit(main())
