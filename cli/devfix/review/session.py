"""A review from the findings to what is written: what both the full screen and the plain prompt work on."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from devfix.analysis.jobs import Job, Task
from devfix.analysis.pool import Lost, Pool
from devfix.analysis.runner import Request, jobs_of, processors, run
from devfix.changes import journal
from devfix.changes.saving import refuse_dirty, write_all
from devfix.errors import UsageError
from devfix.operations import baselines
from devfix.operations.check import analyse, without_baseline
from devfix.operations.inputs import Ask, Outcome
from devfix.project.discovery import File, label_of
from devfix.reporting import diff
from devfix.reporting.progress import Advance, no_progress
from devfix.results import Failed, Problem, Result
from devfix.review.combining import Combined, Missed, Wish, combine
from devfix.review.decisions import Decision, Renewed, Review
from devfix.review.documents import Document, Item, documents, items
from devfix.review.saved_decisions import SavedDecision, SavedReview, restored

if TYPE_CHECKING:
    from devfix.replay import ReplayOptions

_FEW = 8
"""So many files are put together sooner than processes have started."""
_SECONDS_PER_FILE = 120.0

Make = Callable[[File, bytes], Job]


@dataclass(frozen=True)
class Plan:
    """What writing now would do. `files` are those that change, or for which something does not come true."""

    files: tuple[Combined, ...]
    errors: tuple[Failed, ...] = ()

    @property
    def changed(self) -> list[Combined]:
        return [one for one in self.files if one.changed]

    @property
    def fixes(self) -> int:
        return sum(len(one.fixed) for one in self.changed)

    @property
    def comments(self) -> int:
        return sum(len(one.silenced) for one in self.changed)

    @property
    def missed(self) -> list[tuple[Combined, Missed]]:
        return [(one, missed) for one in self.files for missed in one.missed]

    @property
    def notes(self) -> list[tuple[Combined, str]]:
        return [(one, note) for one in self.files for note in one.notes]

    def patch(self) -> bytes:
        """The combined diff."""
        return b"".join(diff.patch(label_of(one.target.path), one.before, one.after) for one in self.changed)


@dataclass(frozen=True)
class Written:
    """What was written: the files, why others were not, and the run that `devfix undo` takes back."""

    files: tuple[Combined, ...]
    errors: tuple[Failed, ...]
    run: journal.Run | None


@dataclass(frozen=True)
class Judged:
    """What a replay said of one fix. `together` are the numbers of the fixes that it ran with."""

    kind: str
    lines: tuple[str, ...]
    together: frozenset[int] = field(repr=False)

    @property
    def words(self) -> str:
        return self.kind.replace("_", " ")


class Session:
    """The review of the paths that were named."""

    def __init__(self, ask: Ask, found: Sequence[Document | Failed], outcome: Outcome, allow_dirty: bool) -> None:
        self.ask = ask
        self.allow_dirty = allow_dirty
        self.outcome = outcome
        self.failed = [one for one in found if isinstance(one, Failed)]
        self.review = Review(items(one for one in found if isinstance(one, Document)))
        self.saved_review = SavedReview(ask.names)
        self.verdicts: dict[int, Judged] = {}
        self.trouble: str | None = None
        self._make: Make | None = None
        self._combined: dict[str, tuple[Wish, Combined | Failed]] = {}

    @property
    def errors(self) -> list[Failed]:
        """The files that could not be handled."""
        return [*self.outcome.found.errors, *self.failed]

    # Decisions

    def decide(self, chosen: Iterable[Item], decision: Decision | None) -> list[Item]:
        return self._saved(self.review.decide(chosen, decision))

    def undo(self) -> list[Item]:
        return self._saved(self.review.undo())

    def redo(self) -> list[Item]:
        return self._saved(self.review.redo())

    def resume(self, kept: Sequence[SavedDecision]) -> list[SavedDecision]:
        """Bring the decisions of an interrupted review back. Returns those that match no finding any more."""
        found, lost = restored(kept, self.review.items)
        self.review.restore(found)
        return lost

    def keep(self) -> None:
        """Put the decisions on the disk. Where that fails, `trouble` says so."""
        try:
            self.saved_review.save(self.review.decisions)
            self.trouble = None
        except OSError as error:
            self.trouble = f"decisions cannot be saved: {error.strerror} ({error.filename})"

    def _saved(self, changed: list[Item]) -> list[Item]:
        if changed:
            self.keep()
        return changed

    # Files

    def renew(self, document: Document) -> Renewed | Failed:
        """Read and analyse a file anew, as after an edit. What a replay said of other text is forgotten."""
        fresh = _read_anew(document.file, self.ask)
        if not isinstance(fresh, Document) or fresh.data != document.data:
            self.verdicts.clear()
        renewed = self.review.renew(document.path, items([fresh]) if isinstance(fresh, Document) else [])
        self._make = None
        self._combined.clear()
        self.failed = [one for one in self.failed if one.target.path != document.path]
        self.keep()
        if isinstance(fresh, Failed):
            self.failed.append(fresh)
            return fresh
        return renewed

    # What comes of it

    def plan(self, advance: Advance) -> Plan:
        """Put every file together as it was decided; those that are as before are not worked out again."""
        wishes = self._wishes()
        todo = [wish for wish in wishes if self._known(wish) is None]
        for done, (wish, result) in enumerate(_combined(todo), 1):
            self._combined[wish.job.target.path] = (wish, result)
            advance(done, len(todo))
        results = [found for wish in wishes if (found := self._known(wish)) is not None]
        return Plan(
            tuple(one for one in results if isinstance(one, Combined)),
            tuple(one for one in results if isinstance(one, Failed)),
        )

    def refuse_dirty(self, plan: Plan) -> None:
        """Go on only where what would be written has no uncommitted changes, or they were allowed.

        Raises:
            UsageError: it has.
        """
        if not self.allow_dirty:
            refuse_dirty(one.target.path for one in plan.changed)

    def write(self, plan: Plan) -> Written:
        """Write what was planned. Decisions about files that could not be written are kept.

        Raises:
            UsageError: it would touch uncommitted work, or the originals cannot be saved; nothing was written.
        """
        self.refuse_dirty(plan)
        saved_run, refused = None, dict[str, str]()
        if plan.changed:
            saved_run, refused = write_all([(one.target.path, one.before, one.after) for one in plan.changed])
        errors = [Failed(one.target, refused[one.target.path]) for one in plan.changed if one.target.path in refused]
        errors += plan.errors
        done = tuple(one for one in plan.changed if one.target.path not in refused)
        self._keep_only({error.target.path for error in errors})
        return Written(done, tuple(errors), saved_run)

    def _keep_only(self, paths: set[str]) -> None:
        try:
            self.saved_review.save((item, decision) for item, decision in self.review.decisions if item.path in paths)
        except OSError as error:
            self.trouble = f"decisions cannot be saved: {error.strerror} ({error.filename})"

    def _known(self, wish: Wish) -> Combined | Failed | None:
        before = self._combined.get(wish.job.target.path)
        return before[1] if before is not None and before[0] == wish else None

    def _wishes(self) -> list[Wish]:
        if self._make is None:
            files = {item.path: item.document.file for item in self.review.items}
            self._make = jobs_of(list(files.values()), self.ask.cache())
        make = self._make
        chosen: dict[str, list[tuple[Item, Decision]]] = {}
        for item, decision in self.review.decisions:
            if decision is not Decision.REFUSED:
                chosen.setdefault(item.path, []).append((item, decision))
        return [_wish(pairs, make) for pairs in chosen.values()]

    # Replay

    def replay(self, options: "ReplayOptions", tell: Callable[[Path, str, float], None]) -> list[str]:
        """Run what was accepted, before and after, and keep the verdict on each fix. Returns the report, line by line.

        Raises:
            UsageError: it cannot run.
        """
        from devfix.operations.rewrite import as_changes
        from devfix.replay import BackendError, choose_backend, render, replay_on, runs_to_come

        accepted = self.review.those(Decision.ACCEPTED)
        plan = self.plan(no_progress)
        choices = {item.path: item.document.file.choice for item in accepted}
        changes = as_changes([one.rewritten for one in plan.files if one.rewritten is not None], choices)
        if not changes:
            raise UsageError("nothing to replay: no fix is accepted")
        with runs_to_come():
            try:
                backend = choose_backend(options)
            except BackendError as error:
                raise UsageError(str(error)) from error
            results = replay_on(backend, changes, options, tell)
        together = frozenset(item.number for item in accepted)
        numbers = {(item.path, *_key(item.problem)): item.number for item in accepted}
        for result in results:
            for fix in result.fixes:
                key = (str(result.path), fix.finding.code, fix.finding.message, fix.finding.span)
                reason = fix.reason or (result.verdict.reason if fix.kind == result.verdict.kind else "")
                if key in numbers:
                    where = f"on {result.on}: " if result.before is not None else ""
                    self.verdicts[numbers[key]] = Judged(fix.kind.value, (f"{where}{reason}",), together)
        return render(results)


def prepare(ask: Ask, allow_dirty: bool) -> Session:
    """Analyse what was named.

    Raises:
        UsageError: the run cannot start.
    """
    if ask.reads_standard_input:
        raise UsageError("a review writes files, and `-` is none: name the files")
    outcome = without_baseline(ask, analyse(ask))
    return Session(ask, list(documents(outcome.found.files, outcome.results)), outcome, allow_dirty)


def _read_anew(file: File, ask: Ask) -> Document | Failed | None:
    """None where nothing is found in it any more."""
    try:
        status = Path(file.target.path).stat()
    except OSError as error:
        return Failed(file.target, f"cannot be read: {error.strerror}")
    file = replace(file, mtime_ns=status.st_mtime_ns, size=status.st_size)
    results: Sequence[Result] = run([file], Request(Task.CHECK, 1), ask.cache(), no_progress)
    baseline = ask.baseline()
    if baseline is not None:
        results = baselines.sift(baseline, results, ()).results
    return next(documents([file], results), None)


def _wish(pairs: Sequence[tuple[Item, Decision]], make: Make) -> Wish:
    document = pairs[0][0].document
    fixes = tuple(item.problem for item, decision in pairs if decision is Decision.ACCEPTED)
    comments = tuple(item.problem for item, decision in pairs if decision is Decision.IGNORED)
    others = tuple(problem for problem in document.problems if problem not in (*fixes, *comments))
    return Wish(make(document.file, document.data), fixes, comments, others)


def _combined(wishes: Sequence[Wish]) -> Iterable[tuple[Wish, Combined | Failed]]:
    if len(wishes) <= _FEW:
        return ((wish, combine(wish)) for wish in wishes)
    pool: Pool[Wish, Combined | Failed] = Pool(combine, processors(), _SECONDS_PER_FILE)
    return ((wishes[number], _received(wishes[number], answer)) for number, answer in pool.run(enumerate(wishes)))


def _received(wish: Wish, answer: Combined | Failed | Lost) -> Combined | Failed:
    return Failed(wish.job.target, answer.reason) if isinstance(answer, Lost) else answer


def _key(problem: Problem) -> tuple[object, ...]:
    return problem.code, problem.message, problem.span
