"""What a run came to, counted."""

from collections.abc import Sequence
from dataclasses import dataclass

from devfix.results import Checked, Failed, Problem, Result, Rewritten

GUARD = "DVF002"


@dataclass(frozen=True)
class Tally:
    """Files that were handled and files that could not be; what was fixed; the findings that remain and their fixes.

    Guards repair nothing: those that were added are counted by themselves.
    """

    files: int
    failed: int
    fixed: int
    guards: int
    changed_files: int
    problems: int
    problem_files: int
    safe: int
    unsafe: int
    suggestions: int
    reviewable: int
    """The suggestions with an edit; the others are repaired by hand."""
    silenced: int

    @property
    def bugs(self) -> int:
        """The findings that remain and are more than suggestions."""
        return self.problems - self.suggestions

    @staticmethod
    def of(results: Sequence[Result], errors: Sequence[Failed]) -> "Tally":
        problems = [problem for result in results for problem in remaining(result)]
        changed = [result for result in results if isinstance(result, Rewritten)]
        return Tally(
            files=sum(isinstance(result, Checked | Rewritten) for result in results),
            failed=len(errors),
            fixed=sum(not is_guard(problem) for result in changed for problem in result.fixed),
            guards=sum(is_guard(problem) for result in changed for problem in result.fixed),
            changed_files=len(changed),
            problems=len(problems),
            problem_files=sum(bool(remaining(result)) for result in results),
            safe=sum(has_fix(problem, "safe") for problem in problems),
            unsafe=sum(has_fix(problem, "unsafe") for problem in problems),
            suggestions=sum(problem.is_suggestion for problem in problems),
            reviewable=sum(has_fix(problem, "suggestion") for problem in problems),
            silenced=sum(result.ignored for result in results if isinstance(result, Checked)),
        )


def remaining(result: Result) -> tuple[Problem, ...]:
    """The findings that a result leaves."""
    if isinstance(result, Checked):
        return result.problems
    return result.left if isinstance(result, Rewritten) else ()


def has_fix(problem: Problem, safety: str) -> bool:
    return problem.repair is not None and problem.repair.safety == safety


def is_guard(problem: Problem) -> bool:
    """Whether it stands for an assertion that was asked for, and not for a bug."""
    return problem.code == GUARD
