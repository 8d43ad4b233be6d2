"""What two runs prove. Pure: outcomes in, a verdict out.

A confirmation requires having seen the original fail with a device error. On a backend where device bugs cannot show,
such as the plain CPU, most originals pass and the verdict is inconclusive. Some device errors arise everywhere, though:
`autocast()` without its device type, `.cuda()` on a machine that has none, loading a CUDA checkpoint there. An
original that really failed with one of those, and whose patched form ran past it, is confirmed wherever it ran: the
patch is the only difference between the two runs. A bug that only warns, such as a deprecated call, is confirmed by its
warning in the same way.

Where the accelerator is simulated, a run that met something that is not simulated shows nothing.
"""

import errno
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from devfix.replay.backends import Backend
from devfix.replay.comparing import difference, loss_difference
from devfix.replay.outcomes import Deprecation, Ending, Outcome, ScriptError
from devfix.replay.patches import Coverage, Patch
from devfix.replay.suites.verdicts import SuiteRuns, decide_suite
from devfix.replay.verdict_kinds import Kind, Verdict, first_lines, inconclusive, never_ran

Comparison = Callable[[Outcome, Outcome], str | None]


@dataclass(frozen=True, slots=True)
class Runs:
    """The runs of one script before and after a patch.

    `again` is a second run of the original, worth having where the first did not fail and the verdict is refuted
    without it: an original that does not agree with itself refutes nothing. `plain` are its runs on the plain CPU,
    worth having where the original failed on an accelerator, so that what it computes cannot be compared there.
    `effects` are what the fixes change on purpose: a training that begins alike and then goes on otherwise is theirs.
    """

    before: Outcome
    after: Outcome
    again: Outcome | None = None
    plain: "Runs | None" = None
    effects: tuple[str, ...] = ()

    def effect_on_training(self) -> str | None:
        """The effect that explains why losses differ from the second on, in words; None where none does."""
        first = [replace(one, losses=one.losses[:1]) for one in (self.before, self.after)]
        alike = all(one.losses for one in first) and loss_difference(*first) is None
        return self.effects[0] if self.effects and alike else None


def decide(runs: Runs, backend: Backend, patches: Mapping[str, Patch], path: str) -> Verdict:
    """The verdict on the patch of the file `path`. `patches` are those of all files that differ, by their paths.

    Paths are relative to the tree.
    """
    if runs.before.suite is not None and runs.after.suite is not None and runs.plain is not None:
        plain = SuiteRuns(runs.plain.before, runs.plain.after, runs.plain.again)
        ours = SuiteRuns(runs.before, runs.after, runs.again)
        return decide_suite(ours, plain, backend.can_show_device_bugs, patches, path)
    return _Trial(runs, backend, patches, path).verdict()


@dataclass(frozen=True, slots=True)
class _Trial:
    runs: Runs
    backend: Backend
    patches: Mapping[str, Patch]
    path: str

    @property
    def before(self) -> Outcome:
        return self.runs.before

    @property
    def after(self) -> Outcome:
        return self.runs.after

    @property
    def patch(self) -> Patch:
        return self.patches[self.path]

    def verdict(self) -> Verdict:
        for outcome in (self.before, self.after):
            if outcome.ending is Ending.NOT_STARTED:
                return inconclusive(outcome.reason or "could not start")
        for what in (*self.before.not_simulated, *self.after.not_simulated):
            return inconclusive(f"not simulated: {what}")
        if self.before.passed:
            return self._both_passed() if self.after.passed else self._only_after_failed()
        if self.before.device_error is not None:
            return self._device_error(self.before.device_error)
        if self.before.was_cut:
            return self._before_was_cut()
        return self._failed_otherwise()

    def _both_passed(self) -> Verdict:
        coverage = self._coverage
        if coverage.is_empty:
            return Verdict(Kind.NOT_REACHED, "none of the patched lines ran", first_lines(coverage))
        found = difference(self.before, self.after)
        if found is not None:
            return self._computes_otherwise(found, difference)
        gone = next(filter(self._is_gone, self.before.warnings), None)
        if gone is not None:
            return self._positive(Kind.CONFIRMED, f"{gone.category} at {gone.where} is gone: {gone.message}")
        if not self.backend.can_show_device_bugs:
            return inconclusive(f"a device bug cannot show on {self.backend.title}; {self._agreement()}")
        return self._positive(Kind.HARMLESS, f"ran before and after; {self._agreement()}")

    def _is_gone(self, warning: Deprecation) -> bool:
        """Whether a warning in the patched file did not come back at the place where its line now is."""
        if warning.file != self.path:
            return False
        line = self.patch.moved(warning.line)
        return not any(
            later.message == warning.message
            and later.file == self.path
            and (self.patch.is_patched(later.line) if line is None else later.line == line)
            for later in self.after.warnings
        )

    def _computes_otherwise(self, found: str, compare: Comparison) -> Verdict:
        again, effect = self.runs.again, self.runs.effect_on_training()
        if effect is not None:
            return inconclusive(f"{found}, since {effect}")
        if again is not None and compare(self.before, again) is not None:
            return inconclusive("two runs of the original do not agree with each other, so nothing can be compared")
        return Verdict(Kind.REFUTED, f"computes something else: {found}")

    def _only_after_failed(self) -> Verdict:
        if self.after.was_cut:
            return inconclusive(f"the patched script {obstacle(self.after)}, which the original did not")
        if self.after.signal == "SIGKILL":
            return inconclusive(f"the patched script {obstacle(self.after)}")
        again = self.runs.again
        if again is not None and not again.passed:
            return inconclusive(f"the original itself passes only sometimes: it failed with {again.failure}")
        return Verdict(Kind.REFUTED, f"fails where the original did not: {self.after.failure}")

    def _device_error(self, error: ScriptError) -> Verdict:
        if self.after.passed or self._was_cut_further_on:
            return self._ran_past(error)
        if self.after.ending is Ending.TIMED_OUT:
            return inconclusive(f"the patched script {obstacle(self.after)}, perhaps before the original's error")
        if self._same_failure:
            return Verdict(Kind.REFUTED, f"still fails there: {self.after.failure}")
        if self._is_broken:
            return Verdict(Kind.REFUTED, f"fails where the original did not: {self.after.failure}")
        return inconclusive(f"the original's {error.type} is gone, but then it failed with {self.after.failure}")

    def _ran_past(self, error: ScriptError) -> Verdict:
        coverage = self._coverage
        if coverage.is_empty:
            reason = "the original's error did not come back, but none of the patched lines ran"
            return Verdict(Kind.NOT_REACHED, reason, first_lines(coverage))
        elsewhere = self._on_the_plain_cpu()
        if elsewhere is not None:
            return Verdict(Kind.REFUTED, elsewhere)
        until = f", until it {obstacle(self.after)}" if self.after.was_cut else ""
        return self._positive(Kind.CONFIRMED, f"{error.told} is gone: {error.message}{until}")

    def _on_the_plain_cpu(self) -> str | None:
        """What the patch changed for the worse there, in words; None where it did not, or where that cannot be told."""
        plain = self.runs.plain
        if plain is None or not (plain.before.passed or plain.before.was_cut):
            return None
        if not plain.after.passed and not plain.after.was_cut:
            is_ours = obstacle(plain.after) is None and plain.before.passed
            return f"fails on the plain CPU where the original did not: {plain.after.failure}" if is_ours else None
        compare = difference if plain.before.passed and plain.after.passed else loss_difference
        found = compare(plain.before, plain.after)
        if found is None or plain.effect_on_training() is not None:
            return None
        if plain.again is not None and compare(plain.before, plain.again) is not None:
            return None
        return f"computes something else on the plain CPU: {found}"

    def _before_was_cut(self) -> Verdict:
        found = loss_difference(self.before, self.after)
        if found is not None:
            return self._computes_otherwise(found, loss_difference)
        earlier = len(self.after.losses) < len(self.before.losses)
        if not self.after.was_cut and not self.after.passed and (earlier or self._is_broken):
            return Verdict(Kind.REFUTED, f"fails where the original did not: {self.after.failure}")
        return inconclusive(f"the original {obstacle(self.before)}")

    def _failed_otherwise(self) -> Verdict:
        told = obstacle(self.before) or f"failed with {self.before.failure}, which is no device error"
        if self.after.passed:
            return inconclusive(f"the original {told}; the patched script passed")
        if self._same_failure or self.after.was_cut:
            return inconclusive(f"the original {told}")
        if obstacle(self.after) is not None and not self._is_broken:
            return inconclusive(f"the patched script {obstacle(self.after)}")
        return Verdict(Kind.REFUTED, f"fails where the original did not: {self.after.failure}")

    def _positive(self, kind: Kind, reason: str) -> Verdict:
        missed = first_lines(self._coverage)
        return Verdict(kind, reason + never_ran(missed, self.patch.cells), missed)

    def _agreement(self) -> str:
        if self.before.losses:
            return f"losses agree ({len(self.before.losses)})"
        return "output agrees" if self.before.stdout.size else "there was no loss or output to compare"

    @property
    def _coverage(self) -> Coverage:
        return self.patch.coverage({line for file, line in self.after.reached if file == self.path})

    @property
    def _was_cut_further_on(self) -> bool:
        """Whether the patched run made a training step that the original's error had kept it from."""
        return self.after.was_cut and len(self.after.losses) > len(self.before.losses)

    @property
    def _is_broken(self) -> bool:
        """Whether the patched script failed as patches break scripts: in a patched line, or for want of a name."""
        error = self.after.error
        if error is None:
            return False
        patch = self.patches.get(error.file or "")
        in_patch = patch is not None and error.line is not None and patch.is_patched(error.line)
        return in_patch or error.type in BREAKAGES

    @property
    def _same_failure(self) -> bool:
        first, second = self.before.error, self.after.error
        if first is None or second is None:
            ends = [(outcome.ending, outcome.status, outcome.signal) for outcome in (self.before, self.after)]
            return first is second and ends[0] == ends[1]
        return first.type == second.type and self._same_place(first, second)

    def _same_place(self, first: ScriptError, second: ScriptError) -> bool:
        if first.file != second.file or first.line is None or second.line is None:
            return first.file == second.file and first.message == second.message
        patch = self.patches.get(first.file or "")
        if patch is None:
            return first.line == second.line
        moved = patch.moved(first.line)
        return moved == second.line if moved is not None else patch.is_patched(second.line)


BREAKAGES = frozenset({"NameError", "UnboundLocalError", "SyntaxError", "IndentationError", "TabError"})
_NETWORK = re.compile(r"URLError|HTTPError|ConnectionError|gaierror|MaxRetryError|LocalEntryNotFoundError|SSLError")
_MEMORY = re.compile(r"out of memory|can't allocate memory|Cannot allocate memory")
_FULL = tuple(f"[Errno {number}]" for number in (errno.EFBIG, errno.ENOSPC, errno.EDQUOT))
_EXTRAS = {"torch": "replay", "IPython": "notebooks"}
_USAGE = re.compile(r"^usage:", re.IGNORECASE | re.MULTILINE)


def obstacle(outcome: Outcome) -> str | None:
    """What outside the script kept it from running to its end, told of the script; None where nothing did."""
    if outcome.ending is Ending.TIMED_OUT:
        return f"ran into the time limit of {outcome.seconds:.0f} s"
    if outcome.ending is Ending.OVERRAN:
        return outcome.reason
    if outcome.signal == "SIGKILL":
        return "was killed from outside, perhaps for want of memory"
    if outcome.status == 2 and _USAGE.search(outcome.stderr.tail):
        return f"wants other arguments: {_last_line(outcome.stderr.tail)}"
    return _error_obstacle(outcome.error) if outcome.error is not None else None


def _error_obstacle(error: ScriptError) -> str | None:
    if error.type == "ModuleNotFoundError":
        return _missing_module(error.message)
    if error.type in ("FileNotFoundError", "NotADirectoryError"):
        return f"needs a file that is missing: {_quoted_part(error.message)}"
    if error.type == "PermissionError" and "to the original tree" in error.message:
        return f"writes to the original tree: {_quoted_part(error.message)}"
    if error.type == "PermissionError":
        return f"may not open {_quoted_part(error.message)}"
    if error.type == "OSError" and error.message.startswith(_FULL):
        return f"ran out of disk, or went over the limit on the size of a file: {error.message}"
    if error.type == "EOFError" and "reading a line" in error.message:
        return "waits for input"
    if _NETWORK.search(error.type):
        return f"needs the network: {error.message}"
    if error.type == "MemoryError" or _MEMORY.search(error.message):
        return "ran out of memory"
    return None


def _missing_module(message: str) -> str:
    named = re.search(r"(?:No module named|import module) ['\"]([\w.]+)['\"]", message)  # more may be in quotes
    name = named[1] if named is not None else _quoted_part(message)
    extra = _EXTRAS.get(name)
    hint = f"; pip install 'devfix[{extra}]'" if extra is not None else ""
    return f"needs the module {name}, which is not installed in this interpreter{hint}"


def _quoted_part(message: str) -> str:
    found = re.search(r"['\"](.+)['\"]", message)
    return found.group(1) if found else message


def _last_line(text: str) -> str:
    return next(iter(reversed(text.strip().splitlines())), "")
