"""The loop: run, diagnose, try candidates, keep what makes progress, until the script runs clean or nothing helps."""

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from devfix_codemods.diagnosis import Diagnosis, Repair, repairs
from devfix_codemods.edits.apply import apply
from devfix_codemods.edits.errors import EditError
from devfix_codemods.edits.verify import problems
from devfix_codemods.source import Source

from devfix.repairing.comparison import Comparison
from devfix.repairing.diagnosing import bare_diagnosis, diagnosis_of
from devfix.repairing.trials import Bench, Overlay, Progress, Trial, moved, watched
from devfix.replay.backends import Backend
from devfix.replay.outcomes import Ending, Outcome, ScriptError
from devfix.replay.patches import Patch
from devfix.replay.postmortem import story

CANDIDATES = 8
"""How many candidates are run for one error."""


class State(StrEnum):
    """How a repair ends. A closed set."""

    CLEAN = "clean"
    REPAIRED = "repaired"
    PARTLY = "partly repaired"
    UNREPAIRED = "unrepaired"
    NO_DEVICE_ERROR = "no device error"
    INCONCLUSIVE = "inconclusive"


@dataclass(frozen=True)
class Tried:
    """A candidate that was not kept, and why."""

    title: str
    reason: str


@dataclass(frozen=True)
class Fixed:
    """A candidate that was kept: the error that it removed and what came of it. `rejected` were tried before it.

    `story` says in words how values came to meet, where the post-mortem of the error knew.
    """

    repair: Repair
    error: ScriptError
    diagnosis: Diagnosis
    proof: str
    rejected: tuple[Tried, ...] = ()
    story: str | None = None


@dataclass
class Session:
    """What a repair came to. `before` and `after` are the files that changed, by their path in the tree.

    `compared` says what the plain CPU shows of the patch, None where it shows nothing.
    """

    state: State = State.INCONCLUSIVE
    reason: str = ""
    first: Outcome | None = None
    last: Outcome | None = None
    fixes: list[Fixed] = field(default_factory=list)
    rejected: tuple[Tried, ...] = ()
    before: dict[str, bytes] = field(default_factory=dict)
    after: dict[str, bytes] = field(default_factory=dict)
    compared: str | None = None

    @property
    def remaining(self) -> ScriptError | None:
        """The error with which the script ends still."""
        return None if self.last is None else self.last.error


@dataclass(frozen=True)
class Limits:
    """How many fixes, and until when (as `time.monotonic` counts) a new candidate may still be tried."""

    fixes: int
    deadline: float


@dataclass(frozen=True)
class _Candidate:
    """A repair that makes progress: the files with it, and the run of them."""

    repair: Repair
    files: Mapping[str, bytes]
    after: Outcome
    progress: Progress
    reason: str


class Loop:
    """One script being repaired on one backend, from what a `session` came to before."""

    def __init__(self, bench: Bench, backend: Backend, limits: Limits, session: Session | None = None) -> None:
        self._bench = bench
        self._backend = backend
        self._session = session or Session()
        self._limits = Limits(limits.fixes + len(self._session.fixes), limits.deadline)
        self._comparison = Comparison(bench)
        self._seen: set[tuple[object, ...]] = set()

    def run(self) -> Session:
        """Repair as far as it goes."""
        session = self._session
        outcome = self._bench.run("before", self._backend, session.after)
        session.last = outcome
        session.first = session.first or outcome
        while outcome.device_error is not None and len(session.fixes) < self._limits.fixes:
            self._seen.add(self._key(outcome, {}))
            better = self._improved(outcome)
            if better is None:
                break
            session.last = outcome = better
        session.state, session.reason = self._conclusion()
        return session

    def _conclusion(self) -> tuple[State, str]:
        session = self._session
        assert session.first is not None
        assert session.last is not None
        if not session.fixes and session.first.device_error is None:
            return self._unhurt(session.first)
        if session.last.device_error is None:
            if session.last.not_simulated:
                reason = f"the device errors are gone, but not simulated: {session.last.not_simulated[0]}"
                return State.PARTLY, reason
            if session.last.passed:
                return State.REPAIRED, "it runs clean"
            if session.last.ending is Ending.TIMED_OUT and session.last.error is None:
                return State.REPAIRED, "it runs until the time limit"
            return State.PARTLY, f"the device errors are gone, but it fails with {session.last.failure}"
        state = State.PARTLY if session.fixes else State.UNREPAIRED
        if len(session.fixes) >= self._limits.fixes:
            return state, f"the limit of {self._limits.fixes} fixes is reached"
        if time.monotonic() >= self._limits.deadline:
            return state, "the time is up"
        return state, "no candidate made progress" if session.rejected else "there is no candidate for this error"

    def _unhurt(self, outcome: Outcome) -> tuple[State, str]:
        if outcome.not_simulated:
            return State.INCONCLUSIVE, f"not simulated: {outcome.not_simulated[0]}"
        if outcome.passed and self._backend.can_show_device_bugs:
            return State.CLEAN, f"it runs clean on {self._backend.title}"
        if outcome.passed:
            return State.INCONCLUSIVE, f"it runs, but a device bug cannot show on {self._backend.title}"
        if outcome.ending is Ending.TIMED_OUT and outcome.error is None:
            return State.INCONCLUSIVE, "no device error until the time limit"
        if outcome.error is not None:
            return State.NO_DEVICE_ERROR, f"it fails with {outcome.failure}, which is no device error"
        return State.INCONCLUSIVE, f"it ends with {outcome.failure}"

    # One error

    def _improved(self, outcome: Outcome) -> Outcome | None:
        """The run after the first candidate that makes progress, which is kept; None where none does."""
        error = outcome.device_error
        assert error is not None
        sources = Overlay(self._bench.sources, self._session.after)
        diagnosis = _diagnosed(outcome, error, sources)
        if diagnosis is None:
            self._session.rejected = ()
            return None
        rejected: list[Tried] = []
        spare: list[_Candidate] = []
        for candidate in self._tried(outcome, diagnosis, sources, rejected):
            if candidate.progress is Progress.OTHER:
                spare.append(candidate)
            elif self._is_kept(candidate, error, diagnosis, rejected, outcome, sources):
                return candidate.after
        for candidate in spare:
            others = [one for one in rejected if one.title != candidate.repair.title]
            if self._is_kept(candidate, error, diagnosis, others, outcome, sources):
                return candidate.after
        self._session.rejected = tuple(rejected)
        return None

    def _tried(
        self, outcome: Outcome, diagnosis: Diagnosis, sources: Mapping[str, Source], rejected: list[Tried]
    ) -> Iterator["_Candidate"]:
        """The candidates that make any progress, one after the other; what is said of the others goes to `rejected`."""
        runs = 0
        for repair in repairs(diagnosis, sources):
            if runs == CANDIDATES or time.monotonic() >= self._limits.deadline:
                return
            files = _edited(repair, sources)
            if isinstance(files, str):
                rejected.append(Tried(repair.title, files))
                continue
            runs += 1
            after, progress, reason = self._try(outcome, diagnosis, repair, files, sources)
            if progress in (Progress.NONE, Progress.OTHER):
                rejected.append(Tried(repair.title, reason))
            if progress is not Progress.NONE:
                yield _Candidate(repair, files, after, progress, reason)

    def _is_kept(
        self,
        candidate: "_Candidate",
        error: ScriptError,
        diagnosis: Diagnosis,
        rejected: list[Tried],
        outcome: Outcome,
        sources: Mapping[str, Source],
    ) -> bool:
        """Keep a candidate, unless the plain CPU shows that it breaks something."""
        session, repair = self._session, candidate.repair
        effects = [one.effect for one in (*(fixed.repair for fixed in session.fixes), repair) if one.effect is not None]
        compared = self._comparison.of({**session.after, **candidate.files}, effects)
        if compared.refutes:
            rejected.append(Tried(repair.title, str(compared.told)))
            return False
        fixed = Fixed(repair, error, diagnosis, candidate.reason, tuple(rejected), _story(outcome))
        self._keep(fixed, candidate.files, sources)
        session.compared = compared.told
        return True

    def _try(
        self,
        before: Outcome,
        diagnosis: Diagnosis,
        repair: Repair,
        files: Mapping[str, bytes],
        sources: Mapping[str, Source],
    ) -> tuple[Outcome, Progress, str]:
        patches = {file: Patch(sources[file].data, data) for file, data in files.items()}
        error = before.error
        assert error is not None
        crash = None if error.file is None or error.line is None else moved(patches, error.file, error.line)
        step = f"fix {len(self._session.fixes) + 1}: {repair.title}"
        changed = {**self._session.after, **files}
        after = self._bench.run(step, self._backend, changed, watched(patches, crash))
        judged = Trial(before, after, diagnosis, patches).judgement()
        if judged.progress is Progress.FURTHER and self._key(after, files) in self._seen:
            return after, Progress.NONE, f"it brings back an earlier error: {judged.reason}"
        return after, judged.progress, judged.reason

    def _key(self, outcome: Outcome, files: Mapping[str, bytes]) -> tuple[object, ...]:
        """What tells one error from another: its line in the original, its message, and what it blames."""
        error, found = outcome.error, outcome.postmortem
        if error is None or error.file is None or error.line is None:
            return ()
        culprits = () if found is None else tuple((one.expression, one.frame) for one in found.culprits)
        now = files.get(error.file, self._session.after.get(error.file))
        line: object = error.line
        if now is not None:
            source = self._bench.sources[error.file]
            text = Source(error.file, now).lines[error.line - 1].strip()
            line = Patch(now, source.data).moved(error.line) or text
        return (error.file, line, error.message, culprits)

    def _keep(self, fixed: Fixed, files: Mapping[str, bytes], sources: Mapping[str, Source]) -> None:
        session = self._session
        for file, data in files.items():
            session.before.setdefault(file, sources[file].data)
            session.after[file] = data
        session.fixes.append(fixed)
        session.rejected = ()


def _diagnosed(outcome: Outcome, error: ScriptError, sources: Mapping[str, Source]) -> Diagnosis | None:
    if outcome.postmortem is not None:
        return diagnosis_of(outcome.postmortem, sources)
    if error.file is None or error.line is None:
        return None
    return bare_diagnosis(error.message, error.file, error.line, sources)


def _edited(repair: Repair, sources: Mapping[str, Source]) -> dict[str, bytes] | str:
    """The files after a candidate, or why it cannot be made."""
    files: dict[str, bytes] = {}
    for file, edits in repair.edits:
        before = sources[file]
        try:
            data = apply(before, edits)
        except EditError as error:
            return str(error)
        wrong = ["nothing changes"] if data == before.data else problems(before, Source(file, data))
        if wrong:
            return "; ".join(wrong)
        files[file] = data
    return files


def _story(outcome: Outcome) -> str | None:
    return None if outcome.postmortem is None else story(outcome.postmortem)
