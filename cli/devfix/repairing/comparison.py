"""Whether a patch leaves alone what a script computes, as far as the plain CPU shows it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from devfix.repairing.trials import Bench
from devfix.replay.backends import PlainCpu
from devfix.replay.comparing import loss_difference
from devfix.replay.outcomes import Ending, Outcome

_COMPLETE = (Ending.PASSED, Ending.TIMED_OUT)


@dataclass(frozen=True)
class Compared:
    """What is said of two runs on the plain CPU, None where they cannot be compared. `refutes` the patch or not."""

    told: str | None
    refutes: bool = False


class Comparison:
    """Compares patched scripts with the original, which runs once."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._before: Outcome | None = None

    def of(self, files: Mapping[str, bytes], effects: Sequence[str]) -> Compared:
        """Run the script with `files`. `effects` are what the patch is meant to change in what it computes."""
        if self._before is None:
            self._before = self._bench.run("before, on the plain CPU", PlainCpu(), {})
        before = self._before
        if before.ending not in _COMPLETE or before.error is not None:
            return Compared(None)
        after = self._bench.run("after, on the plain CPU", PlainCpu(), files)
        if after.ending not in _COMPLETE or after.error is not None:
            return Compared(f"on the plain CPU the patched script fails: {after.failure}", refutes=True)
        if not before.losses or not after.losses:
            return Compared("both run")
        found = loss_difference(before, after)
        if found is None:
            return Compared(f"{min(len(before.losses), len(after.losses))} losses agree")
        if effects and loss_difference(_first_loss(before), after) is None:
            return Compared(f"{found}, since {effects[0]}")
        return Compared(f"the patch changes the computation: {found}", refutes=True)


def _first_loss(outcome: Outcome) -> Outcome:
    """What a change to the training cannot have touched yet."""
    return replace(outcome, losses=outcome.losses[:1])
