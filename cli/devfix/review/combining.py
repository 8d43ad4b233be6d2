"""One file with the fixes that were accepted, and after them the comments that silence what was ignored."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from devfix_codemods import engine
from devfix_codemods.edits import lines
from devfix_codemods.notebooks.notebook import is_notebook, read
from devfix_codemods.source import Source
from devfix_codemods.suppressions import silencing

from devfix.analysis.jobs import Job, Task
from devfix.analysis.one_file import analyse, with_chosen
from devfix.results import Checked, Failed, Problem, Rewritten, Skipped, Target

Key = tuple[str, str]
"""Rule and message: what findings are told apart by where lines have moved."""

_TOGETHER = "its fix does not go together with the others"
_ALONE = "its fix does not hold in the file as it is now"
_REPAIRED = "another fix repairs it already"
_GONE = "it is not found any more"
_NO_ROOM = "no line of it can hold a comment"
_NO_USE = "the comment does not silence it"


@dataclass(frozen=True)
class Wish:
    """What was decided for one file. `others` are its findings of which nothing is wanted."""

    job: Job
    fixes: tuple[Problem, ...]
    comments: tuple[Problem, ...]
    others: tuple[Problem, ...] = ()


@dataclass(frozen=True)
class Missed:
    """A decision that does not come true, and why."""

    problem: Problem
    reason: str


@dataclass(frozen=True)
class Combined:
    """What becomes of a file. `rewritten` has its fixes alone, None where there are none; `notes` are worth a line."""

    target: Target
    before: bytes
    after: bytes
    fixed: tuple[Problem, ...] = ()
    silenced: tuple[Problem, ...] = ()
    missed: tuple[Missed, ...] = ()
    notes: tuple[str, ...] = ()
    rewritten: Rewritten | None = None

    @property
    def changed(self) -> bool:
        return self.after != self.before


def combine(wish: Wish) -> Combined | Failed:
    """The file as it was decided. What cannot be done is among the `missed`, with its reason."""
    job = wish.job
    rewritten: Rewritten | None = None
    if wish.fixes:
        result = with_chosen(job, wish.fixes)
        if isinstance(result, Failed | Skipped):
            return Failed(job.target, result.reason)
        rewritten = result if isinstance(result, Rewritten) else None
    after = rewritten.after if rewritten is not None else job.data
    fixed, missed = _came_true(wish.fixes, rewritten)
    notes = _taken_along(wish, missed, rewritten) if rewritten is not None else ()
    combined = Combined(job.target, job.data, after, fixed, missed=missed, notes=notes, rewritten=rewritten)
    return _with_comments(combined, wish) if wish.comments else combined


def _came_true(
    wanted: Sequence[Problem], rewritten: Rewritten | None
) -> tuple[tuple[Problem, ...], tuple[Missed, ...]]:
    done = Counter(map(_key, rewritten.fixed)) if rewritten is not None else Counter()
    left = {_key(problem) for problem in rewritten.left} if rewritten is not None else set(map(_key, wanted))
    exact = {(*_key(one), one.span) for one in rewritten.fixed} if rewritten is not None else set()
    fixed: list[Problem] = []
    missed: list[Missed] = []
    for problem in sorted(wanted, key=lambda one: (*_key(one), one.span) not in exact):
        if done[_key(problem)]:
            done[_key(problem)] -= 1
            fixed.append(problem)
        elif _key(problem) not in left:
            missed.append(Missed(problem, _REPAIRED))
        else:
            missed.append(Missed(problem, _TOGETHER if len(wanted) > 1 else _ALONE))
    return tuple(sorted(fixed, key=lambda one: one.span)), tuple(missed)


def _taken_along(wish: Wish, missed: Sequence[Missed], rewritten: Rewritten) -> tuple[str, ...]:
    """What the fixes repair besides, where one change serves several findings."""
    again = _found_again(wish, missed, rewritten.after, rewritten.left)
    gone = dict.fromkeys(_key(one) for one in wish.others if one not in again)
    return tuple(f"the fixes also repair {code}: {message}" for code, message in gone)


# Comments


@dataclass(frozen=True)
class _Commented:
    """A file with comments: what is found in it, whom they silence, and whom they do not."""

    data: bytes
    found: Counter[Key]
    silenced: tuple[Problem, ...] = ()
    missed: tuple[Missed, ...] = ()


def _with_comments(combined: Combined, wish: Wish) -> Combined | Failed:
    job, wanted = wish.job, wish.comments
    checked = _check(job, combined.after)
    if isinstance(checked, Failed):
        return checked
    again = _found_again(wish, combined.missed, combined.after, checked.problems)
    places = {one: again[one] for one in wanted if one in again}
    gone = tuple(Missed(one, _REPAIRED if combined.fixed else _GONE) for one in wanted if one not in places)
    start = _Commented(combined.after, Counter(map(_key, checked.problems)))
    done = _commented(start, places, job)
    others = start.found - done.found - Counter(_key(places[one]) for one in done.silenced)
    return replace(
        combined,
        after=done.data,
        silenced=done.silenced,
        missed=(*combined.missed, *gone, *done.missed),
        notes=(*combined.notes, *(f"the comments also silence {code}: {message}" for code, message in others)),
    )


def _commented(start: _Commented, places: dict[Problem, Problem], job: Job) -> _Commented:
    """All comments at once; where one of them does not do what it should, one after the other."""
    every = _tried(start, tuple(places), places, job)
    if every is not None and not every.missed:
        return every
    best = start
    for problem in places:
        attempt = _tried(best, (problem,), places, job)
        best = attempt or replace(best, missed=(*best.missed, Missed(problem, _NO_USE)))
    return best


def _tried(start: _Commented, wanted: Sequence[Problem], places: dict[Problem, Problem], job: Job) -> _Commented | None:
    """The comments added; None where what is found afterwards is not what was found before less the silenced."""
    source, silenced, missed = _program(job, start.data), list(start.silenced), list(start.missed)
    for problem in wanted:
        place = places[problem]
        line = silencing(source, place.span, place.code)
        if line is not None:
            source = _with_line(source, *line)
        if line is not None or any(_share_a_comment(place, places[other]) for other in silenced):
            silenced.append(problem)
        else:
            missed.append(Missed(problem, _NO_ROOM))
    data = _written(job, start.data, source)
    checked = _check(job, data)
    if isinstance(checked, Failed):
        return None
    found = Counter(map(_key, checked.problems))
    new = Counter(_key(places[one]) for one in silenced) - Counter(_key(places[one]) for one in start.silenced)
    if found - start.found or any(start.found[key] - found[key] < count for key, count in new.items()):
        return None
    return _Commented(data, found, tuple(silenced), tuple(missed))


def _share_a_comment(one: Problem, other: Problem) -> bool:
    first, second = sorted((one.span, other.span))
    return one.code == other.code and second.line <= first.end_line


def _found_again(wish: Wish, missed: Sequence[Missed], data: bytes, found: Sequence[Problem]) -> dict[Problem, Problem]:
    """What the findings that no fix was made for have become in `data`, where they are still `found`.

    A message quotes code, which the fix of another finding may change: what says the same counts first, and then what
    the same rule says of the same line.
    """
    before, after = (lines.split(_program(wish.job, one).text) for one in (wish.job.data, data))
    codes = list(lines.opcodes(before, after))
    free = list(found)
    again: dict[Problem, Problem] = {}
    wanted = (*wish.comments, *wish.others, *(one.problem for one in missed))
    for says_the_same in (True, False):
        for problem in (one for one in wanted if one not in again):
            line, column = _moved(codes, problem.span.line), problem.span.column
            alike = [
                one
                for one in free
                if one.code == problem.code
                and (one.message == problem.message if says_the_same else one.span.line == line)
            ]
            if alike:
                nearest = min(alike, key=lambda one: (abs(one.span.line - line), abs(one.span.column - column)))
                again[problem] = nearest
                free.remove(nearest)
    return again


def _moved(codes: Sequence[lines.Opcode], line: int) -> int:
    """Where a line of the old text stands in the new one, or about where."""
    for _, start, end, new_start, new_end in codes:
        if start < line <= end:
            return min(new_start + line - start, max(new_end, new_start + 1))
    return line


def _with_line(source: Source, number: int, text: str) -> Source:
    parts = lines.split(source.text)
    line = parts[number - 1]
    parts[number - 1] = text + line[len(line.rstrip("\r\n")) :]
    return Source(source.path, "".join(parts).encode(source.encoding))


def _program(job: Job, data: bytes) -> Source:
    return engine.program(replace(job, data=data).source)


def _written(job: Job, data: bytes, program: Source) -> bytes:
    path = job.source.path
    return read(path, data).written(program.data) if is_notebook(path) else program.data


def _check(job: Job, data: bytes) -> Checked | Failed:
    result = analyse(replace(job, data=data, task=Task.CHECK, detailed=False))
    if isinstance(result, Checked | Failed):
        return result
    return Failed(job.target, "it cannot be checked with its comments")


def _key(problem: Problem) -> Key:
    return problem.code, problem.message
