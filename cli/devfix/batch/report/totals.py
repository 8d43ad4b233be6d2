"""What a run adds up to. However many repositories there are, little of them is kept."""

from bisect import bisect_left, bisect_right
from collections import Counter
from dataclasses import dataclass, field

from devfix.batch.ledger import Row, Summary, View
from devfix.batch.records import State

LABELS = 200
"""Of the labels, this many are told apart."""

LAST = 5
"""Of the errors, this many last ones are kept."""

PAUSE = 60.0
"""Seconds without work after which a run was not going on."""

STATES = (
    State.CHANGED,
    State.REFUTED,
    State.FAILED,
    State.CLEAN,
    State.SKIPPED,
    State.RUNNING,
    State.QUEUED,
)
"""In the order of reports: first what somebody should look at."""


@dataclass
class Totals:
    """The ledger's sums, and what else only a look at each row tells.

    `clock` is for how long the run went on, in seconds, however often it was cut off. `replayed` counts the
    repositories that have some verdict of each kind, `messages` is what the first repository of each kind of error
    says, `running` are in work, and `failed` the last that failed.
    """

    summary: Summary
    clock: float = 0.0
    replayed: Counter[str] = field(default_factory=Counter)
    labels: Counter[str] = field(default_factory=Counter)
    messages: dict[str, str] = field(default_factory=dict)
    running: list[Row] = field(default_factory=list)
    failed: list[Row] = field(default_factory=list)

    @property
    def per_minute(self) -> float | None:
        """Repositories done in a minute of work; None as long as none is."""
        return 60 * self.summary.finished / self.clock if self.summary.finished and self.clock else None

    @property
    def remaining(self) -> float | None:
        """Seconds that the others will take at this rate."""
        return 60 * (self.summary.total - self.summary.finished) / self.per_minute if self.per_minute else None

    @staticmethod
    def of(view: View) -> "Totals":
        """The sums over all repositories of a run."""
        totals = Totals(view.summary())
        kinds = {group.kind for group in totals.summary.errors}
        spans = Spans()
        for row in view.rows():
            totals._add(row, kinds)
            if row.started is not None and row.finished is not None:
                spans.add(row.started, row.finished)
        totals.clock = spans.seconds
        return totals

    def _add(self, row: Row, kinds: set[str]) -> None:
        self.replayed.update(kind for kind, number in row.verdicts.items() if number)
        if row.state is State.RUNNING:
            self.running.append(row)
        for label in row.labels:
            if label in self.labels or len(self.labels) < LABELS:
                self.labels[label] += 1
        if row.error is not None and row.error.kind in kinds:
            self.messages.setdefault(row.error.kind, row.error.message)
            self.failed = sorted([*self.failed, row], key=lambda one: one.finished or 0.0)[-LAST:]


class Spans:
    """Spans of time, kept as the few that they make up together: what lies between two that nearly meet counts."""

    def __init__(self) -> None:
        self._spans: list[tuple[float, float]] = []

    @property
    def seconds(self) -> float:
        return sum(end - start for start, end in self._spans)

    def add(self, start: float, end: float) -> None:
        first = bisect_left(self._spans, start - PAUSE, key=lambda span: span[1])
        last = bisect_right(self._spans, end + PAUSE, key=lambda span: span[0])
        met = self._spans[first:last]
        start = min([start, *(span[0] for span in met)])
        end = max([start, end, *(span[1] for span in met)])
        self._spans[first:last] = [(start, end)]
