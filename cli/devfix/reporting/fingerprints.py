"""What a finding is known by when lines move: its file, its rule and the text around it, never its line number."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from devfix.results import Problem


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The lines that a finding's range touches, and the nearest lines with text before and after; without indents."""

    text: str
    before: str
    after: str


def surroundings(problem: Problem, lines: Sequence[str]) -> Surroundings:
    """The text around a finding, `lines` being those of its file, or of its notebook's program."""
    first, last = problem.span.line - 1, problem.span.end_line
    own = "\n".join(line.strip() for line in lines[first:last])
    return Surroundings(own, _nearest(reversed(lines[:first])), _nearest(lines[last:]))


def fingerprints(label: str, problems: Iterable[Problem], lines: Sequence[str]) -> Iterator[str]:
    """A digest for each of a file's findings. Those that nothing tells apart are counted in their order."""
    seen: Counter[str] = Counter()
    for problem in problems:
        around = surroundings(problem, lines)
        parts = (label, problem.code, around.before, around.text, around.after)
        key = hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:32]
        seen[key] += 1
        yield key if seen[key] == 1 else f"{key}-{seen[key]}"


def _nearest(lines: Iterable[str]) -> str:
    return next((line.strip() for line in lines if line.strip()), "")
