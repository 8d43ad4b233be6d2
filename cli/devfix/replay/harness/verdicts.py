"""What the runs of a driver prove of a patch. Pure: outcomes in, a verdict out.

The arguments are devfix's own, so that less can be told than of a program of the user's. A patch is confirmed where a
device error arose where the finding says, and the patched code ran past it. It is refuted only where the arguments had
run and now meet a device error or an unbound name: other failures may be those of the arguments.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from devfix.replay.backends import Backend, PlainCpu
from devfix.replay.outcomes import Outcome
from devfix.replay.patches import Patch
from devfix.replay.verdict_kinds import Kind, Verdict, first_lines, inconclusive
from devfix.replay.verdicts import BREAKAGES, Runs, decide

LOADED_FROM_ACCELERATOR = "Attempting to deserialize"
"""How torch's error begins where what was saved on an accelerator is loaded on a machine without one."""


@dataclass(frozen=True, slots=True)
class Proof:
    """Runs of one driver: on the backend and on the plain CPU. `places` are files and lines of the bug before.

    `has_host` says that arguments are on the host because a finding says so: where the finding is wrong, a device error
    is not the patch's. With `needs_accelerator`, code before or behind the patch fails on the plain CPU, so that runs
    there show nothing. With `saved_on_host`, what the code loads was saved on the host, or by the program itself on the
    same machine: that it cannot be loaded without an accelerator is then no bug.
    """

    runs: Runs
    plain: Runs
    backend: Backend
    patches: Mapping[str, Patch]
    path: str
    places: Collection[tuple[str, int]]
    has_host: bool = False
    needs_accelerator: bool = False
    saved_on_host: bool = False

    def verdict(self) -> Verdict:
        """What the driver shows of the patch."""
        verdict = decide(replace(self.runs, plain=self.plain), self.backend, self.patches, self.path)
        if verdict.kind is Kind.CONFIRMED:
            return self._confirmed(verdict)
        if verdict.kind is Kind.NOT_REACHED:
            return verdict
        shown = self._without_accelerator() or self._until_the_arguments_end(self.runs, self.plain, "the CPU")
        if shown is not None:
            return shown
        return self._broken_on_the_host() or (self._refuted(verdict) if verdict.kind is Kind.REFUTED else verdict)

    def _confirmed(self, verdict: Verdict) -> Verdict:
        """The verdict, unless the device error arose elsewhere than at the bug."""
        error = self.runs.before.device_error
        if error is None or self._arose_at_the_bug(self.runs.before):
            return verdict
        return inconclusive(f"the driver meets a device error elsewhere: {error.told}: {error.message}")

    def _arose_at_the_bug(self, outcome: Outcome) -> bool:
        """Whether an error arose at the bug's place, or in what is called there."""
        return any(place in self.places for place in outcome.frames)

    def _without_accelerator(self) -> Verdict | None:
        """Code that asks for an accelerator shows its bug where there is none."""
        error = self.plain.before.device_error
        met = self.runs.before.device_error or self.runs.after.device_error
        if met is not None or self.needs_accelerator:
            return None
        if self.saved_on_host and error is not None and error.message.startswith(LOADED_FROM_ACCELERATOR):
            return None
        plain = decide(self.plain, PlainCpu(), self.patches, self.path)
        if plain.kind is Kind.CONFIRMED and self._arose_at_the_bug(self.plain.before):
            found: Verdict | None = plain
        else:
            found = self._until_the_arguments_end(self.plain, self.runs, "an accelerator")
        return None if found is None else Verdict(found.kind, f"without an accelerator {found.reason}", found.missed)

    def _until_the_arguments_end(self, ours: Runs, others: Runs, where: str) -> Verdict | None:
        """The bug is passed, and then the run fails because of the arguments, as the original does elsewhere."""
        error, after = ours.before.device_error, ours.after
        if error is None or after.error is None or after.device_error is not None or after.was_cut:
            return None
        patch = self.patches[self.path]
        coverage = patch.coverage({line for file, line in after.reached if file == self.path})
        if (
            coverage.is_empty
            or not self._arose_at_the_bug(ours.before)
            or not _is_same(others.before, after, self.patches)
        ):
            return None
        told = f"{error.told} is gone: {error.message}; the driver then ends with {after.error.told}, as on {where}"
        return Verdict(Kind.CONFIRMED, told, first_lines(coverage))

    def _broken_on_the_host(self) -> Verdict | None:
        """What ran on the plain CPU, and there meets an unbound name now, is broken by the patch."""
        error = self.plain.after.error
        if not self.plain.before.passed or error is None or error.type not in BREAKAGES:
            return None
        verdict = decide(self.plain, PlainCpu(), self.patches, self.path)
        return verdict if verdict.kind is Kind.REFUTED else None

    def _refuted(self, verdict: Verdict) -> Verdict:
        """The verdict, unless what now fails may be the arguments' fault and not the patch's."""
        error = self.runs.after.error
        is_of_patch = error is not None and (error.type in BREAKAGES or (error.is_device_error and not self.has_host))
        if self.runs.before.passed and is_of_patch:
            return verdict
        return inconclusive(f"with the driver's arguments the patched code {verdict.reason}")


def _is_same(first: Outcome, second: Outcome, patches: Mapping[str, Patch]) -> bool:
    """Whether two runs fail with one and the same error, which is no device error, where `patches` are between them.

    A type and a line are enough. A patched line has no counterpart before: there the messages have to agree.
    """
    one, other = first.error, second.error
    if one is None or other is None or one.is_device_error or (one.type, one.file) != (other.type, other.file):
        return False
    patch = patches.get(one.file or "")
    if patch is None or one.line is None or other.line is None:
        return one.line == other.line and one.line is not None
    line = patch.moved(one.line)
    if line is not None:
        return line == other.line
    return patch.is_patched(other.line) and one.message == other.message
