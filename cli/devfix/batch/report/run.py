"""What is said of a run as a whole, and where."""

from dataclasses import dataclass
from typing import Protocol

from devfix.batch.choices import Commits
from devfix.batch.ledger import Run
from devfix.batch.records import Plan

INDEX = "report/index.html"
"""Below the run's folder: the page over all repositories."""

PAGES = "report/repositories"
"""Below the run's folder: the pages of the repositories, each with the name of its own."""


class Wanted(Protocol):
    """A repository as the manifest wants it: that of a job, or a row of the ledger."""

    @property
    def source(self) -> str: ...
    @property
    def revision(self) -> str | None: ...
    @property
    def subfolder(self) -> str: ...
    @property
    def labels(self) -> tuple[str, ...]: ...


@dataclass(frozen=True)
class Neighbours:
    """The repositories before and after, as far as they have pages."""

    previous: str | None = None
    next: str | None = None


ALONE = Neighbours()


def facts_of(run: Run) -> list[tuple[str, str]]:
    """What holds for all repositories, each with its title."""
    plan = run.plan
    return [
        ("Date", plan.date),
        ("Branch", plan.branch),
        ("Rules", run.rules or "those of each repository"),
        ("Publish", str(plan.publish)),
        ("Commits", "one for each rule" if plan.commits is Commits.RULE else "one for all rules"),
        ("Runs code", _code_runs(plan)),
        ("devfix", run.version),
    ]


def _code_runs(plan: Plan) -> str:
    if not plan.execute:
        return "no"
    return "in a sandbox, without one where there is none" if plan.trust_code else "in a sandbox"
