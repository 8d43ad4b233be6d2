"""The runs that judge the changes to one tree, and the search for the fix that breaks a set."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from devfix.replay.backends import Backend, PlainCpu
from devfix.replay.bisecting import sift
from devfix.replay.changes import Change, Part, Version
from devfix.replay.outcomes import Outcome
from devfix.replay.programs import Program
from devfix.replay.schedule import Run, Schedule
from devfix.replay.stage import Stage
from devfix.replay.verdict_kinds import Kind, Verdict, inconclusive
from devfix.replay.verdicts import Runs, decide

BISECT_RUNS = 16
_UNKNOWN = "there were too many fixes to try them all"


def first_run(schedule: Schedule, program: Program, backend: Backend) -> Outcome:
    """The run of the original; that on the plain CPU, with which a bug is compared, begins as well."""
    before = Run(program, "before", backend, is_original=True)
    on_cpu = Run(program, _on_cpu("before"), PlainCpu(), is_original=True)
    if backend.can_show_device_bugs:
        schedule.ahead(lambda: schedule.outcome(on_cpu, lambda: _may_have_bug(schedule.known(before))))
    return schedule.outcome(before)


def plain_run(schedule: Schedule, program: Program) -> Outcome:
    """The run of the original on the plain CPU."""
    return schedule.outcome(Run(program, _on_cpu("before"), PlainCpu(), is_original=True))


def _may_have_bug(original: Outcome | None) -> bool:
    return original is None or original.suite is not None or original.device_error is not None


@dataclass(frozen=True)
class Trial:
    """A version of the tree, and the runs of a program before and after it."""

    program: Program
    version: Version
    runs: Runs


@dataclass
class Trials:
    """Trials of the changes to one tree. `withdrawn` are the parts that did not hold, each with the reason."""

    schedule: Schedule
    changes: tuple[Change, ...]
    backend: Backend
    withdrawn: dict[Part, str] = field(default_factory=dict)

    @property
    def stage(self) -> Stage:
        return self.schedule.stage

    def judge(self, programs: Sequence[Program]) -> list[Trial]:
        """For each program the trial of all parts that hold."""
        for work in (self._run_both, self._run_both_on_cpu):
            for program in programs:
                self.schedule.ahead(partial(work, program))
        judged = [(self._judge(program), frozenset(self.withdrawn)) for program in programs]
        return [self._judge_again(trial, known) for trial, known in judged]

    def verdict(self, trial: Trial, change: Change) -> Verdict | None:
        """What a trial says of one file; None where its version has no part of the file's patch."""
        patches = {self.stage.relative(path): patch for path, patch in trial.version.patches.items()}
        path = self.stage.relative(change.path)
        if path not in patches:
            return None
        verdict = decide(trial.runs, self.backend, patches, path)
        left_out = self._left_out(trial.runs.before)
        if left_out is None or verdict.kind is not Kind.INCONCLUSIVE:
            return verdict
        why = self.stage.workspace.left_out[left_out]
        return inconclusive(f"{verdict.reason} ({left_out} was not copied: {why})")

    def lines(self, trial: Trial, path: Path) -> set[int]:
        """The lines of a patch that ran."""
        name = self.stage.relative(path)
        return {line for file, line in trial.runs.after.reached if file == name}

    def ran(self, trial: Trial, part: Part) -> bool:
        """Whether any statement of a part ran, or it has none that could tell."""
        coverage = trial.version.coverage(part, self.lines(trial, part.path))
        return bool(coverage.reached) or not coverage.missed

    def _judge(self, program: Program) -> Trial:
        trial = self._try(program, self._remaining(), "after")
        return trial if self._refutation(trial) is None else self._bisected(trial)

    def _judge_again(self, trial: Trial, known: frozenset[Part]) -> Trial:
        """The trial of what is left, where programs after it withdrew parts that it ran with; `known` were before."""
        if trial.version.parts.isdisjoint(self.withdrawn.keys() - known) or not self._remaining():
            return trial
        again = self._try(trial.program, self._remaining(), "after, without what broke others")
        reason = self._refutation(again)
        if reason is not None:
            self.withdrawn |= {part: reason for part in again.version.parts if self.ran(again, part)}
        return again

    def _remaining(self) -> list[Part]:
        return [part for change in self.changes for part in change.parts if part not in self.withdrawn]

    def _bisected(self, trial: Trial) -> Trial:
        """The trial of the parts of `trial` that hold together; the others are withdrawn."""
        parts = [part for part in self._remaining() if part in trial.version.parts]
        suspects = [part for part in parts if self.ran(trial, part)] or parts
        others = [part for part in parts if part not in suspects]
        tried = [trial]

        def holds(chosen: Sequence[Part]) -> bool:
            wanted = frozenset((*others, *chosen))
            found = next((each for each in tried if each.version.parts == wanted), None)
            if found is None:
                found = self._try(trial.program, wanted, f"after, with {len(chosen)} of {len(suspects)} fixes")
                tried.append(found)
            return self._refutation(found) is None

        good, bad, unknown = sift(suspects, holds, BISECT_RUNS)
        self.withdrawn |= {part: self._reason(part, tried) for part in bad}
        self.withdrawn |= dict.fromkeys(unknown, _UNKNOWN)
        kept = frozenset((*others, *good))
        return next((each for each in tried if each.version.parts == kept), trial)

    def _reason(self, part: Part, tried: Sequence[Trial]) -> str:
        """Why `part` was refuted: in the smallest set that it broke."""
        having = [trial for trial in tried if part in trial.version.parts]
        reasons = [(len(trial.version.parts), self._refutation(trial)) for trial in having]
        return min((count, reason) for count, reason in reasons if reason is not None)[1]

    def _refutation(self, trial: Trial) -> str | None:
        """Why the trial refutes its version, None where it does not."""
        verdicts = [self.verdict(trial, change) for change in self.changes]
        return next((one.reason for one in verdicts if one is not None and one.kind is Kind.REFUTED), None)

    def _try(self, program: Program, parts: Collection[Part], step: str) -> Trial:
        """Run a program before and after, and where they could change the verdict once more and on the plain CPU."""
        version = Version(self.changes, frozenset(parts))
        before = self._original(program, self.backend)
        runs = Runs(before, self._run(program, version, self.backend, step), effects=version.effects)
        trial = Trial(program, version, runs)
        if program.is_suite:
            return self._suite_compared(trial, step)
        if self._refutation(trial) is not None and runs.before.error is None:
            return replace(trial, runs=replace(runs, again=self._original(program, self.backend, " again")))
        if runs.before.device_error is not None and self.backend.can_show_device_bugs and self._is_confirmed(trial):
            return self._compared(trial, step)
        return trial

    def _is_confirmed(self, trial: Trial) -> bool:
        verdicts = [self.verdict(trial, change) for change in self.changes]
        return any(one is not None and one.kind is Kind.CONFIRMED for one in verdicts)

    def _compared(self, trial: Trial, step: str) -> Trial:
        """The trial with runs on the plain CPU, where the original may run to its end."""
        program, cpu = trial.program, PlainCpu()
        before = self._original(program, cpu)
        if not before.passed and not before.was_cut:
            return trial
        plain = Runs(before, self._run(program, trial.version, cpu, step), effects=trial.version.effects)
        compared = replace(trial, runs=replace(trial.runs, plain=plain))
        if self._refutation(compared) is None:
            return compared
        plain = replace(plain, again=self._original(program, cpu, " again"))
        return replace(compared, runs=replace(compared.runs, plain=plain))

    def _suite_compared(self, trial: Trial, step: str) -> Trial:
        """The trial of a suite, which tells nothing without the plain CPU: on both once more, where it is refuted."""
        program, version, cpu = trial.program, trial.version, PlainCpu()
        plain = Runs(self._original(program, cpu), self._run(program, version, cpu, step))
        compared = replace(trial, runs=replace(trial.runs, plain=plain))
        if self._refutation(compared) is None:
            return compared
        plain = replace(plain, again=self._original(program, cpu, " again"))
        again = self._original(program, self.backend, " again")
        return replace(compared, runs=replace(compared.runs, plain=plain, again=again))

    # Runs

    def _original(self, program: Program, backend: Backend, suffix: str = "") -> Outcome:
        return self.schedule.outcome(self._before(program, backend, suffix))

    def _run(self, program: Program, version: Version, backend: Backend, step: str) -> Outcome:
        return self.schedule.outcome(self._after(program, version, backend, step))

    def _before(self, program: Program, backend: Backend, suffix: str = "") -> Run:
        run = self._after(program, Version(self.changes, frozenset()), backend, f"before{suffix}")
        return replace(run, is_original=True, suffix=suffix)

    def _after(self, program: Program, version: Version, backend: Backend, step: str) -> Run:
        files = {Path(self.stage.relative(path)): data for path, data in version.data.items()}
        watch = {self.stage.relative(path): patch.watched for path, patch in version.patches.items()}
        return Run(program, step if backend is self.backend else _on_cpu(step), backend, files, watch)

    def _run_both(self, program: Program) -> None:
        """The runs of the first trial of a program."""
        self._original(program, self.backend)
        self._run(program, Version(self.changes, frozenset(self._remaining())), self.backend, "after")

    def _run_both_on_cpu(self, program: Program) -> None:
        """The same on the plain CPU, where they are likely to be compared: a bug shows in the original, or may yet."""
        cpu = PlainCpu()
        version = Version(self.changes, frozenset(self._remaining()))
        patched = self._after(program, version, self.backend, "after")

        def is_wanted() -> bool:
            before, after = self.schedule.known(self._before(program, self.backend)), self.schedule.known(patched)
            is_alive = after is None or after.suite is not None or after.passed or after.was_cut
            return _may_have_bug(before) and is_alive

        if self.backend.can_show_device_bugs and is_wanted():
            before = self.schedule.outcome(self._before(program, cpu), is_wanted)
            if before.suite is not None or before.passed or before.was_cut:
                self.schedule.outcome(self._after(program, version, cpu, "after"), is_wanted)

    def _left_out(self, outcome: Outcome) -> Path | None:
        """The file that the workspace left out and that the script then missed."""
        if outcome.error is None or outcome.error.type != "FileNotFoundError":
            return None
        return next((path for path in self.stage.workspace.left_out if path.as_posix() in outcome.error.message), None)


def _on_cpu(step: str) -> str:
    return f"{step}, on the plain CPU"
