"""How often each rule finds something."""

from collections.abc import Sequence
from typing import Any

from devfix.reporting.tally import remaining
from devfix.results import Result

_SAFETIES = ("safe", "unsafe", "manual")
_SHOWN = ("safe", "unsafe", "suggestion", "manual")


def count(results: Sequence[Result]) -> list[dict[str, Any]]:
    """For each rule with findings its code and name, how many there are, and how many fixes of each safety.

    The most frequent rule comes first; `manual` are findings without an edit; `suggestion` is there where
    there are some.
    """
    rows: dict[str, dict[str, Any]] = {}
    for problem in (one for result in results for one in remaining(result)):
        row = rows.setdefault(problem.code, {"code": problem.code, "name": problem.name, "count": 0})
        row["count"] += 1
        row[problem.tier] = row.get(problem.tier, 0) + 1
    complete = [{**row, **{safety: row.get(safety, 0) for safety in _SAFETIES}} for row in rows.values()]
    return sorted(complete, key=lambda row: (-row["count"], row["code"]))


def table(rows: Sequence[dict[str, Any]]) -> str:
    """The same as aligned lines: `12 DVF101 batch-not-moved (10 safe, 2 unsafe)`."""
    width = max((len(str(row["count"])) for row in rows), default=0)
    return "".join(f"{row['count']:>{width}} {row['code']} {row['name']} ({_fixes(row)})\n" for row in rows)


def _fixes(row: dict[str, Any]) -> str:
    return ", ".join(f"{row[safety]} {safety}" for safety in _SHOWN if row.get(safety))
