"""What a run adds up to, as all reports tell it."""

from collections.abc import Mapping

from devfix.batch.report.totals import STATES, Totals
from devfix.batch.report.words import duration, fixes, repositories, spoken


def headline(totals: Totals) -> str:
    """`12 fixes in 100 repositories`, or how far the run is."""
    summary = totals.summary
    if summary.finished < summary.total:
        return f"{summary.finished} of {repositories(summary.total)} done, {fixes(summary.kept)}"
    return f"{fixes(summary.kept)} in {repositories(summary.total)}"


def numbers(totals: Totals) -> list[tuple[str, str]]:
    """Each number with its title."""
    summary = totals.summary
    states = [(str(state), str(summary.states[state])) for state in STATES if summary.states[state]]
    verdicts = [(f"files {spoken(kind)}", str(number)) for kind, number in ranked(summary.verdicts).items()]
    return [
        *states,
        ("files read", str(summary.files)),
        ("fixes kept", str(summary.kept)),
        ("fixes dropped", str(summary.dropped)),
        ("findings left", str(summary.findings)),
        *([("files not handled", str(summary.unhandled))] if summary.unhandled else []),
        *verdicts,
        ("in all", duration(totals.clock)),
        ("work", duration(summary.seconds)),
        *([("repositories a minute", f"{totals.per_minute:.1f}")] if totals.per_minute is not None else []),
    ]


def ranked(counts: Mapping[str, int]) -> dict[str, int]:
    """The most frequent one first; those that are as frequent by the alphabet."""
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))
