"""The report for people. What shows code is imported when there is something to show."""

from collections.abc import Sequence

from devfix_codemods.source import Source, SourceError, Span

from devfix.project.discovery import label_of
from devfix.reporting.tally import Tally, has_fix, is_guard, remaining
from devfix.reporting.terminal import Line, Printer, one_line
from devfix.results import Checked, Failed, Note, Problem, Repair, Result, Rewritten, Skipped, Target

NOTES_SHOWN = 10
_WITH_REVIEW = "with `devfix review --suggestions`"


def report_findings(results: Sequence[Result], printer: Printer) -> None:
    """Each finding with its lines, its reasons and its repair."""
    for result in results:
        if isinstance(result, Checked) and result.problems:
            text = text_of(result.target)
            for problem in result.problems:
                printer.lines(finding(result.target.label, problem, text, printer.width))
                printer.line()


def finding(label: str, problem: Problem, text: str | None, width: int) -> list[Line]:
    """One finding. Without `text` (the file is gone) it has no lines of code."""
    from devfix.reporting.frame import code_frame, split_lines

    lines = [headline(label, problem)]
    if text is not None:
        lines += code_frame(split_lines(text), problem, width)
    else:
        lines += [_told(problem, note) for note in problem.own_trail]
    lines += [_elsewhere(note.path, note) for note in problem.trail if note.path is not None]
    return lines + _remedy(problem, text, width)


def headline(label: str, problem: Problem) -> Line:
    place = f"{one_line(label)}:{place_of(problem, problem.span)}: "
    words = (f"{problem.code} ", "code"), (f"{problem.name}", "name"), (f": {one_line(problem.message)}", "message")
    return [(place, "path"), *words, *_doubt(problem)]


def report_rewritten(results: Sequence[Result], unsafe: bool, printer: Printer) -> None:
    """For each file what was fixed in it and what is left."""
    for result in results:
        if isinstance(result, Rewritten):
            printer.line((one_line(result.target.label), "path"), (f": {_done(result)}", ""))
        elif remaining(result):
            printer.line((one_line(result.target.label), "path"), (f": {len(remaining(result))} left", ""))
        if isinstance(result, Rewritten):
            printer.lines([_fixed_line(problem) for problem in result.fixed])
        printer.lines([_left_line(problem, unsafe) for problem in remaining(result)])


def rewrite_summary(tally: Tally, verb: str, unsafe: bool) -> Line:
    """`Fixed 2 bugs and added 1 guard in 1 file (120 checked); 1 left: 1 with --unsafe.`"""
    if not tally.changed_files and not tally.problems:
        return [("Nothing to fix", "good"), (f" ({_checked(tally)}).", "")]
    added = (
        f" and {'add' if verb.startswith('Would') else 'added'} {count(tally.guards, 'guard')}" if tally.guards else ""
    )
    done = f"{verb} {count(tally.fixed, 'bug')}{added} in {count(tally.changed_files, 'file')}"
    by_hand = tally.problems - tally.reviewable - (0 if unsafe else tally.unsafe)
    ways = [f"{tally.unsafe} with --unsafe"] if tally.unsafe and not unsafe else []
    ways += [f"{tally.reviewable} {_WITH_REVIEW}"] if tally.reviewable else []
    told_by = "devfix check --suggestions" if tally.suggestions > tally.reviewable else "devfix check"
    ways += [f"{by_hand} by hand (see `{told_by}`)"] if by_hand else []
    left = f"; {tally.problems} left: {', '.join(ways)}" if tally.problems else ""
    return [(done, "message"), (f" ({_checked(tally)}){left}.", "")]


def check_summary(tally: Tally, unsafe: bool, known: int = 0) -> Line:
    """`Found 3 bugs in 2 files (120 checked): 2 fixable, 1 more with --unsafe.` `known` are those of the baseline."""
    checked = f"{_checked(tally)}, {known} in the baseline" if known else _checked(tally)
    if not tally.problems:
        return [(f"No {'new ' if known else ''}device bugs found", "good"), (f" ({checked}).", "")]
    found = f"Found {found_in(tally, 'new ' if known else '')} in {count(tally.problem_files, 'file')}"
    return [(found, "message"), (f" ({checked}){_fixable(tally, unsafe)}.", "")]


def found_in(tally: Tally, kind: str = "") -> str:
    """`2 bugs and 1 suggestion`; with a kind, `2 new bugs and 1 new suggestion`."""
    suggested = count(tally.suggestions, f"{kind}suggestion")
    if not tally.bugs and tally.suggestions:
        return suggested
    return count(tally.bugs, f"{kind}bug") + (f" and {suggested}" if tally.suggestions else "")


def count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def report_left_out(skipped: Sequence[Skipped], printer: Printer) -> None:
    """The files that were passed over, a few by name."""
    for entry in skipped[:NOTES_SHOWN]:
        printer.line(("skipped ", "faint"), (one_line(entry.target.label), "path"), (f": {one_line(entry.reason)}", ""))
    if len(skipped) > NOTES_SHOWN:
        printer.line((f"skipped {len(skipped) - NOTES_SHOWN} more", "faint"))


def report_errors(errors: Sequence[Failed], printer: Printer) -> None:
    """Every file that could not be handled."""
    for error in errors:
        printer.line(("error: ", "error"), (one_line(error.target.label), "path"), (f": {one_line(error.reason)}", ""))


def text_of(target: Target) -> str | None:
    """The text of a file for its code frames, or None where it cannot be had any more. Of a notebook, its program's."""
    try:
        source = Source(target.label, target.read())
        return _text_of_program(source) if source.path.endswith(".ipynb") else source.text
    except (OSError, SourceError):
        return None


def _text_of_program(notebook: Source) -> str | None:
    from devfix_codemods.notebooks.cells import ForeignNotebookError
    from devfix_codemods.notebooks.notebook import read

    try:
        return read(notebook.path, notebook.data).source.text
    except ForeignNotebookError:
        return None


def place_of(problem: Problem, span: Span) -> str:
    """Where a span of the finding's file begins: `21:16`, or `cell 3:4:1` in a notebook."""
    cell, line = problem.place(span.line)
    return f"{'' if cell is None else f'cell {cell}:'}{line}:{span.column + 1}"


def remedy_of(problem: Problem) -> str:
    """`fix (safe): Move it`, or `advice: …` where there is no edit; empty where there is neither."""
    if problem.repair is not None and problem.fixable:
        return f"fix ({problem.repair.safety}): {problem.repair.title}"
    return f"advice: {problem.advice}" if problem.advice else ""


def doubt_of(problem: Problem) -> str:
    """`suggestion, 0.62` or `confidence 0.84`; empty where a finding is certain, and no suggestion."""
    if problem.is_suggestion:
        return "suggestion" if problem.confidence >= 1 else f"suggestion, {problem.confidence:.2f}"
    return "" if problem.confidence >= 1 else f"confidence {problem.confidence:.2f}"


def message_of(problem: Problem) -> str:
    """The message, and after it what is in doubt: `… (confidence 0.84)`."""
    doubt = doubt_of(problem)
    return f"{problem.message} ({doubt})" if doubt else problem.message


def _doubt(problem: Problem) -> Line:
    doubt = doubt_of(problem)
    return [(f" ({doubt})", "faint")] if doubt else []


def _told(problem: Problem, note: Note) -> Line:
    """A stop of the trail without its code."""
    cell, line = problem.place(note.span.line)
    where = f"line {line}" if cell is None else f"cell {cell}, line {line}"
    return [(f"  {where}: {one_line(note.text)}", "note")]


def _elsewhere(path: str, note: Note) -> Line:
    """A stop of the trail in another file."""
    return [
        ("  = ", "faint"),
        (f"{one_line(label_of(path))}:{note.span.line}", "path"),
        (f": {one_line(note.text)}", "note"),
    ]


def _done(result: Rewritten) -> str:
    """`2 fixed, 1 added, 1 left`."""
    added = sum(map(is_guard, result.fixed))
    parts = [f"{len(result.fixed) - added} fixed"] if added < len(result.fixed) else []
    parts += [f"{added} added"] if added else []
    parts += [f"{len(result.left)} left"] if result.left else []
    return ", ".join(parts)


def _fixed_line(problem: Problem) -> Line:
    title = problem.repair.title if problem.repair is not None else problem.message
    return [
        ("  added " if is_guard(problem) else "  fixed ", "good"),
        *_short(problem),
        (f": {one_line(title)}", ""),
        *_doubt(problem),
    ]


def _left_line(problem: Problem, unsafe: bool) -> Line:
    how = " (has a fix with --unsafe)" if has_fix(problem, "unsafe") and not unsafe else ""
    message = one_line(message_of(problem))
    return [("  left  ", "unsafe"), *_short(problem), (f": {message}{how}", "")]


def _short(problem: Problem) -> Line:
    return [(f"{place_of(problem, problem.span)} ", "faint"), (f"{problem.code} ", "code"), (problem.name, "name")]


def _checked(tally: Tally) -> str:
    parts = [f"{count(tally.files, 'file')} checked"]
    parts += [f"{tally.failed} failed"] if tally.failed else []
    parts += [f"{tally.silenced} silenced by comments"] if tally.silenced else []
    return ", ".join(parts)


def _fixable(tally: Tally, unsafe: bool) -> str:
    by_default = tally.safe + (tally.unsafe if unsafe else 0)
    parts = [f"{by_default} fixable with `devfix rewrite`"] if by_default else []
    if tally.unsafe and not unsafe:
        parts.append(f"{tally.unsafe}{' more' if by_default else ''} with --unsafe")
    parts += [f"{tally.reviewable} {_WITH_REVIEW}"] if tally.reviewable else []
    return ": " + ", ".join(parts) if parts else ""


def _remedy(problem: Problem, text: str | None, width: int) -> list[Line]:
    """The fix with the lines that it changes, or what to do by hand."""
    repair = problem.repair
    if repair is None or not problem.fixable:
        advice = problem.advice or (repair.title if repair is not None else None)
        return [[("  = advice: ", "fix"), (one_line(advice), "")]] if advice else []
    from devfix.reporting.frame import fix_frame

    lines = [_fix_title(repair)]
    if text is not None:
        lines += [[("  ", ""), *line] for line in fix_frame(text, repair.edits, width - 2, problem.cells)]
    return lines


def _fix_title(repair: Repair) -> Line:
    style = "fix" if repair.safety == "safe" else "unsafe"
    return [(f"  = fix ({repair.safety}): ", style), (one_line(repair.title), "")]
