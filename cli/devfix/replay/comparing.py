"""Whether two runs computed the same: their losses, and what they printed but for times, sizes and addresses."""

import math
import re
from itertools import zip_longest

from devfix.replay.outcomes import Outcome, Output

RELATIVE, ABSOLUTE = 1e-3, 1e-5
"""How far two losses, or two printed numbers, may be apart: beyond rounding and the order of sums."""

_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
_VOLATILE = re.compile(
    r"0x[0-9a-fA-F]+"
    r"|\d{4}-\d\d-\d\d"
    r"|\d{1,2}:\d\d(?::\d\d)?(?:[.,]\d+)?"
    r"|\d+(?:\.\d+)?\s*(?:[KMG]i?B|[nuµm]?s|secs?|seconds?|min|minutes?|h|hours?|it/s|s/it)\b(?:/s\b)?"
)
_TIMED = re.compile(r"time|elapsed|took|speed|throughput|duration|latency|\beta\b|/s\b|memory", re.IGNORECASE)


def difference(first: Outcome, second: Outcome) -> str | None:
    """The first thing that two complete runs computed differently, in words; None where they agree."""
    if len(first.losses) != len(second.losses):
        return f"{len(first.losses)} losses before and {len(second.losses)} after"
    return loss_difference(first, second) or _output_difference(first.stdout, second.stdout)


def loss_difference(first: Outcome, second: Outcome) -> str | None:
    """The first loss that differs, as far as both runs went."""
    for step, (one, other) in enumerate(zip(first.losses, second.losses), 1):
        if not _close(one, other):
            return f"loss {step} is {one:.6g} before and {other:.6g} after"
    return None


def _close(one: float, other: float) -> bool:
    if math.isnan(one) or math.isnan(other):
        return math.isnan(one) and math.isnan(other)
    return math.isclose(one, other, rel_tol=RELATIVE, abs_tol=ABSOLUTE)


def _output_difference(first: Output, second: Output) -> str | None:
    for one, other in zip_longest(_printed(first), _printed(second)):
        if one is None or other is None:
            # Times make lines longer or shorter, so that of two outputs of the same lines one may be cut earlier.
            if _was_cut(first if one is None else second):
                return None
            return f"{_quoted(one or other)} is printed only {'after' if one is None else 'before'}"
        if not _same_line(one, other):
            return f"prints {_quoted(one)} before and {_quoted(other)} after"
    return None


def _printed(output: Output) -> list[str]:
    """The lines to compare, as a terminal leaves them. Of an output that was cut, the last line is not whole.

    How often a progress bar is drawn depends on the clock: what a carriage return goes back over does not count.
    """
    *lines, last = output.head.split("\n")
    whole = lines if _was_cut(output) or not last else [*lines, last]
    return [shown for line in whole for shown in (line.rstrip("\r").rpartition("\r")[2].splitlines() or [""])]


def _was_cut(output: Output) -> bool:
    return output.size > len(output.head.encode())


def _same_line(one: str, other: str) -> bool:
    if one == other:
        return True
    one, other = _stable(one), _stable(other)
    if _NUMBER.split(one) != _NUMBER.split(other):
        return False
    return all(_close(float(a), float(b)) for a, b in zip(_NUMBER.findall(one), _NUMBER.findall(other)))


def _stable(line: str) -> str:
    """`line` without what two runs of one program never print alike."""
    line = _VOLATILE.sub("…", line)
    return _NUMBER.sub("…", line) if _TIMED.search(line) else line


def _quoted(line: str | None) -> str:
    text = (line or "").strip()
    return repr(text if len(text) <= 60 else text[:57] + "...")
