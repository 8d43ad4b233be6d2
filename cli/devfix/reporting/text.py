"""The report for people."""

from collections.abc import Sequence
from dataclasses import dataclass

from devfix_codemods.source import Source, SourceError

from devfix.reporting.frame import code_frame, fix_frame, split_lines
from devfix.reporting.terminal import Line, Printer, one_line
from devfix.results import Checked, Failed, Problem, Repair, Result, Rewritten, Skipped, Target

NOTES_SHOWN = 10


@dataclass(frozen=True)
class Tally:
    """What a run came to, counted."""

    files: int = 0
    problems: int = 0
    in_files: int = 0
    safe: int = 0
    unsafe: int = 0
    silenced: int = 0

    @staticmethod
    def of(results: Sequence[Result]) -> "Tally":
        problems = [problem for result in results for problem in remaining(result)]
        return Tally(
            files=sum(isinstance(result, Checked | Rewritten) for result in results),
            problems=len(problems),
            in_files=sum(bool(remaining(result)) for result in results),
            safe=sum(_has(problem, "safe") for problem in problems),
            unsafe=sum(_has(problem, "unsafe") for problem in problems),
            silenced=sum(result.ignored for result in results if isinstance(result, Checked)),
        )


def remaining(result: Result) -> tuple[Problem, ...]:
    """The findings that a result leaves."""
    if isinstance(result, Checked):
        return result.problems
    return result.left if isinstance(result, Rewritten) else ()


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
    lines = [headline(label, problem)]
    if text is not None:
        lines += code_frame(split_lines(text), problem, width)
    else:
        lines += [[(f"  line {note.span.line}: {one_line(note.text)}", "note")] for note in problem.trail]
    return lines + _remedy(problem, text, width)


def headline(label: str, problem: Problem) -> Line:
    place = f"{one_line(label)}:{problem.span.line}:{problem.span.column + 1}: "
    words = (f"{problem.code} ", "code"), (f"{problem.name}", "name"), (f": {one_line(problem.message)}", "message")
    return [(place, "path"), *words]


def report_rewritten(results: Sequence[Result], unsafe: bool, printer: Printer) -> None:
    """For each file what was fixed in it and what is left."""
    for result in results:
        if isinstance(result, Rewritten):
            heading = f": {len(result.fixed)} fixed" + (f", {len(result.left)} left" if result.left else "")
            printer.line((one_line(result.target.label), "path"), (heading, ""))
        elif remaining(result):
            printer.line((one_line(result.target.label), "path"), (f": {len(remaining(result))} left", ""))
        if isinstance(result, Rewritten):
            printer.lines([_fixed_line(problem) for problem in result.fixed])
        printer.lines([_left_line(problem, unsafe) for problem in remaining(result)])


def rewrite_summary(results: Sequence[Result], verb: str, unsafe: bool) -> Line:
    """`Fixed 2 bugs in 1 file (120 checked); 1 left: 1 with --unsafe.`"""
    tally = Tally.of(results)
    fixed = [len(result.fixed) for result in results if isinstance(result, Rewritten)]
    if not fixed and not tally.problems:
        return [("Nothing to fix", "good"), (f" ({count(tally.files, 'file')} checked).", "")]
    done = f"{verb} {count(sum(fixed), 'bug')} in {count(len(fixed), 'file')}"
    by_hand = tally.problems - (0 if unsafe else tally.unsafe)
    ways = [f"{tally.unsafe} with --unsafe"] if tally.unsafe and not unsafe else []
    ways += [f"{by_hand} by hand (see `devfix check`)"] if by_hand else []
    left = f"; {tally.problems} left: {', '.join(ways)}" if tally.problems else ""
    return [(done, "message"), (f" ({tally.files} checked){left}.", "")]


def check_summary(tally: Tally, unsafe: bool) -> Line:
    """`Found 3 bugs in 2 files (120 checked): 2 fixable, 1 more with --unsafe.`"""
    silenced = f", {tally.silenced} silenced by comments" if tally.silenced else ""
    if not tally.problems:
        return [("No device bugs found", "good"), (f" ({count(tally.files, 'file')} checked{silenced}).", "")]
    found = f"Found {count(tally.problems, 'bug')} in {count(tally.in_files, 'file')}"
    return [(found, "message"), (f" ({tally.files} checked{silenced}){_fixable(tally, unsafe)}.", "")]


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
    """The text of a file for its code frames, or None where it cannot be had any more."""
    try:
        return Source(target.label, target.read()).text
    except (OSError, SourceError):
        return None


def _fixed_line(problem: Problem) -> Line:
    title = problem.repair.title if problem.repair is not None else problem.message
    return [("  fixed ", "good"), *_short(problem), (f": {one_line(title)}", "")]


def _left_line(problem: Problem, unsafe: bool) -> Line:
    how = " (has a fix with --unsafe)" if _has(problem, "unsafe") and not unsafe else ""
    return [("  left  ", "unsafe"), *_short(problem), (f": {one_line(problem.message)}{how}", "")]


def _short(problem: Problem) -> Line:
    place = f"{problem.span.line}:{problem.span.column + 1} "
    return [(place, "faint"), (f"{problem.code} ", "code"), (problem.name, "name")]


def _has(problem: Problem, safety: str) -> bool:
    return problem.repair is not None and problem.repair.safety == safety


def _fixable(tally: Tally, unsafe: bool) -> str:
    by_default = tally.safe + (tally.unsafe if unsafe else 0)
    parts = [f"{by_default} fixable with `devfix rewrite`"] if by_default else []
    if tally.unsafe and not unsafe:
        parts.append(f"{tally.unsafe}{' more' if by_default else ''} with --unsafe")
    return ": " + ", ".join(parts) if parts else ""


def _remedy(problem: Problem, text: str | None, width: int) -> list[Line]:
    lines: list[Line] = []
    if problem.repair is not None and problem.repair.safety != "manual":
        lines.append(_fix_title(problem.repair))
        if text is not None:
            lines += [[("  ", ""), *line] for line in fix_frame(text, problem.repair.edits, width - 2)]
    if problem.advice:
        lines.append([("  = advice: ", "fix"), (one_line(problem.advice), "")])
    elif problem.repair is not None and problem.repair.safety == "manual":
        lines.append([("  = advice: ", "fix"), (one_line(problem.repair.title), "")])
    return lines


def _fix_title(repair: Repair) -> Line:
    style = "unsafe" if repair.safety == "unsafe" else "fix"
    return [(f"  = fix ({repair.safety}): ", style), (one_line(repair.title), "")]
