"""One file through the library, in whichever process: bytes in, a reportable result out. Never raises.

The engine is imported when a file needs it: a run that the cache answers never does.
"""

import sys
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

import msgspec
from devfix_codemods import outcomes
from devfix_codemods.findings import Finding, Fix
from devfix_codemods.notebooks.notebook import Notebook, is_notebook, read
from devfix_codemods.project.files import Project
from devfix_codemods.source import Source

from devfix.analysis.jobs import Job, Task
from devfix.project.import_graph import DiskFiles
from devfix.results import (
    Cell,
    Checked,
    Failed,
    Note,
    Place,
    Problem,
    Repair,
    Replacement,
    Result,
    Rewritten,
    Skipped,
    Target,
)

RECURSION_LIMIT = 20_000
"""Long chains of calls and sums nest deeply; the default limit of 1 000 is for runaway recursion."""

_Key = tuple[str, str, bool]
"""What a finding says, and whether it is a suggestion: nobody who wanted one that is certain has accepted that."""


def analyse(job: Job) -> Result:
    """The result for one file. A defect of devfix comes out as `Failed`."""
    sys.setrecursionlimit(max(sys.getrecursionlimit(), RECURSION_LIMIT))
    try:
        return _checked(job) if job.task is Task.CHECK else _rewritten(job)
    except Exception as error:  # the library promises not to raise; one file must not end a run of thousands
        return Failed(job.target, _defect(f"{type(error).__name__}: {error}"))


def with_only(job: Job, wanted: Sequence[Finding]) -> Result:
    """The result for one file of which only the fixes of some findings are applied.

    Fixes that others exposed are known by what they say, because lines move.
    """
    return _with(job, lambda finding: finding in wanted, Counter(map(_key, wanted)))


def with_chosen(job: Job, problems: Sequence[Problem]) -> Result:
    """The result for one file of which only the fixes of some of the findings of a check are applied."""
    wanted = {(problem.code, problem.message, problem.is_suggestion, problem.span) for problem in problems}
    keys = Counter((problem.code, problem.message, problem.is_suggestion) for problem in problems)
    return _with(job, lambda finding: (*_key(finding), finding.span) in wanted, keys)


def _with(job: Job, accept: Callable[[Finding], bool], keys: Counter[_Key]) -> Result:
    from devfix_codemods import engine

    refused: list[Finding] = []

    def chosen(finding: Finding) -> bool:
        is_wanted = accept(finding)
        refused.extend([] if is_wanted else [finding])
        return is_wanted

    project = _project(job.place)
    first = engine.rewrite(job.source, job.options, chosen, project)
    if not isinstance(first, outcomes.Changed):
        return _rewrite_result(job, first)
    fixed, data, left = list(first.fixed), first.data, first.left
    exposed = keys - Counter(map(_key, fixed))
    while exposed:
        source = replace(job, data=data).source
        later = engine.rewrite(source, job.options, _exposed(exposed, _places(job.source, source, refused)), project)
        if not isinstance(later, outcomes.Changed):
            break
        fixed, data, left = [*fixed, *later.fixed], later.data, later.left
        exposed -= Counter(map(_key, later.fixed))
    return _rewrite_result(job, outcomes.Changed(data, tuple(fixed), left))


def _exposed(wanted: Collection[_Key], refused: Collection[tuple[_Key, int]]) -> Callable[[Finding], bool]:
    return lambda finding: _key(finding) in wanted and (_key(finding), finding.span.line) not in refused


def _places(before: Source, after: Source, findings: Sequence[Finding]) -> set[tuple[_Key, int]]:
    """What findings `before` say, and the lines that theirs are in `after`."""
    from devfix_codemods.edits import lines

    keys: dict[int, list[_Key]] = {}
    for one in findings:
        keys.setdefault(one.span.line, []).append(_key(one))
    found: set[tuple[_Key, int]] = set()
    for tag, start, end, new_start, new_end in lines.opcodes(_lines(before), _lines(after)):
        for line in range(start + 1, end + 1):
            moved = line - start + new_start
            now = [moved] if tag == "equal" else range(new_start + 1, new_end + 1)
            found.update((key, place) for key in keys.get(line, ()) for place in now)
    return found


def _lines(source: Source) -> list[str]:
    from devfix_codemods.edits import lines

    return lines.split((read(source.path, source.data).source if is_notebook(source.path) else source).text)


def _key(finding: Finding) -> _Key:
    return finding.code, finding.message, finding.is_suggestion


def _checked(job: Job) -> Result:
    from devfix_codemods import engine

    source, project = job.source, _project(job.place)
    outcome = engine.check(source, job.options, project)
    if isinstance(outcome, outcomes.Checked):
        problems = _problems(source, outcome.findings, job.detailed)
        consulted = project.consulted(source.path) if project is not None else None
        return Checked(job.target, problems, outcome.ignored, None if consulted is None else tuple(sorted(consulted)))
    return _unhandled(job.target, outcome)


def _rewritten(job: Job) -> Result:
    from devfix_codemods import engine

    return _rewrite_result(job, engine.rewrite(job.source, job.options, project=_project(job.place)))


def _rewrite_result(job: Job, outcome: outcomes.RewriteOutcome) -> Result:
    source = job.source
    if isinstance(outcome, outcomes.Clean):
        return Checked(job.target, _problems(source, outcome.left, job.detailed))
    if isinstance(outcome, outcomes.Changed):
        fixed = _problems(source, outcome.fixed, job.detailed)
        left = _problems(Source(job.target.label, outcome.data), outcome.left, job.detailed)
        return Rewritten(job.target, job.data, outcome.data, fixed, left, outcome.fixed, job.place)
    return _unhandled(job.target, outcome)


_projects: dict[tuple[int, str], tuple[DiskFiles, Project]] = {}
"""The projects of the run that this process works for: files parsed for one file of it serve the next."""


def _project(place: Place | None) -> Project | None:
    if place is None:
        return None
    key = (place.run, place.top)
    if key not in _projects:
        for other in [one for one in _projects if one[0] != place.run]:
            del _projects[other]
        new = DiskFiles(place.top, unsaved=dict(place.unsaved))
        _projects[key] = (new, Project(new, place.room))
    files, project = _projects[key]
    files.callers[place.path] = place.importers
    return project


def _unhandled(target: Target, outcome: outcomes.Skipped | outcomes.Failed) -> Result:
    if isinstance(outcome, outcomes.Skipped):
        return Skipped(target, outcome.reason)
    return Failed(target, _defect(outcome.reason) if outcome.internal else outcome.reason)


def _defect(reason: str) -> str:
    return f"a defect of devfix, please report it: {reason}"


def _problems(source: Source, findings: tuple[Finding, ...], detailed: bool) -> tuple[Problem, ...]:
    if not findings:
        return ()
    if not is_notebook(source.path):
        return tuple(_problem(source, finding, detailed) for finding in findings)
    notebook = read(source.path, source.data)
    problems = (_problem(notebook.source, finding, detailed) for finding in findings)
    return tuple(msgspec.structs.replace(one, cells=_cells(notebook, one)) for one in problems)


def _cells(notebook: Notebook, problem: Problem) -> tuple[Cell, ...]:
    spans = [problem.span, *(note.span for note in problem.own_trail)]
    spans += [problem.origin] if problem.origin is not None else []
    spans += [edit.span for edit in problem.repair.edits] if problem.repair is not None else []
    places = {notebook.place(line) for span in spans for line in (span.line, span.end_line)}
    return tuple(Cell(number, first) for number, first in sorted(places, key=lambda place: place[1]))


def _problem(source: Source, finding: Finding, detailed: bool) -> Problem:
    return Problem(
        code=finding.code,
        name=finding.name,
        message=finding.message,
        span=finding.span,
        origin=finding.origin,
        trail=tuple(Note(step.span, step.note, step.path) for step in finding.trail),
        repair=None if finding.fix is None else _repair(source, finding.fix, detailed),
        advice=finding.advice,
        confidence=finding.told_confidence,
        links=finding.links,
        weak=finding.weak,
    )


def _repair(source: Source, fix: Fix, detailed: bool) -> Repair:
    from devfix_codemods import engine

    edits = engine.text_edits(source, fix) if detailed and fix.edits else ()
    return Repair(fix.safety.value, fix.title, tuple(Replacement(edit.span, edit.text) for edit in edits))
