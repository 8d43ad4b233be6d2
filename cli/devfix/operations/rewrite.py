"""`devfix rewrite`: the patch, shown or written.

Refuse, remember, write: nothing is written while a file that would change has uncommitted work, and the originals are
saved before the first write.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from devfix_codemods.findings import Finding

from devfix.analysis.jobs import Job, Task
from devfix.analysis.one_file import with_only
from devfix.analysis.runner import Request, run
from devfix.changes import journal
from devfix.changes.saving import refuse_dirty, write_all
from devfix.errors import UsageError
from devfix.formats import ReportFormat
from devfix.operations.inputs import Ask, Outcome, gather
from devfix.project.discovery import Discovery, label_of
from devfix.project.settings import Choice
from devfix.reporting import diff, json, text
from devfix.reporting.columns import side_by_side
from devfix.reporting.destination import destination
from devfix.reporting.progress import progress, replay_progress
from devfix.reporting.rendering import rendered
from devfix.reporting.report import FixVerdict, Report, Verdict
from devfix.reporting.tally import remaining
from devfix.reporting.terminal import Printer, err, visible, write_bytes
from devfix.results import Checked, Failed, Result, Rewritten
from devfix.rules.selection import options_of

if TYPE_CHECKING:
    from devfix.replay import Change, ReplayOptions, ReplayResult


@dataclass(frozen=True)
class Mode:
    """What to do with the patch. `replay` runs each changed script before and after it."""

    show_diff: bool = False
    allow_dirty: bool = False
    replay: "ReplayOptions | None" = None
    side_by_side: bool = False


def rewrite(ask: Ask, mode: Mode) -> int:
    """Fix all files, or show how, and return the exit code.

    Raises:
        UsageError: the run cannot start, or would touch uncommitted work.
    """
    if ask.reads_standard_input and mode.replay is not None:
        raise UsageError("--replay needs a file that can be run, not `-`")
    found = gather(ask)
    with progress("Rewriting", ask.quiet) as advance:
        request = Request(Task.REWRITE, ask.jobs(), detailed=ask.output_format is not ReportFormat.TEXT)
        results = run(found.files, request, ask.cache(), advance)
    if ask.reads_standard_input and not mode.show_diff:
        return _filter(ask, Outcome(found, tuple(results)))
    return _Rewrite(ask, mode, found, results).finish()


def _filter(ask: Ask, outcome: Outcome) -> int:
    """Standard input, patched, on standard output. Where it could not be read as Python there is no output."""
    result = outcome.results[0]
    if isinstance(result, Failed):
        text.report_errors([result], err())
    else:
        with destination(ask.output_file) as stream:
            write_bytes(result.after if isinstance(result, Rewritten) else result.target.read(), stream)
    if not ask.quiet and remaining(result):
        text.report_rewritten([result], outcome.found.files[0].choice.unsafe, err())
    return outcome.exit_code(bool(remaining(result)))


class _Rewrite:
    """From the results of the analysis to files on the disk and a report."""

    def __init__(self, ask: Ask, mode: Mode, found: Discovery, results: list[Result]) -> None:
        self._ask = ask
        self._mode = mode
        self._found = found
        self._results = results if mode.show_diff else [_unless_outside(result) for result in results]
        self._unsafe = any(file.choice.unsafe for file in found.files)
        self._replays: list[ReplayResult] = []
        self._run: journal.Run | None = None

    def finish(self) -> int:
        if not self._mode.show_diff and not self._mode.allow_dirty:
            refuse_dirty(result.target.path for result in self._changed())
        if self._mode.replay is not None and self._changed():
            self._replay(self._mode.replay)
        if not self._mode.show_diff:
            self._write()
        outcome = Outcome(self._found, tuple(self._results))
        with destination(self._ask.output_file) as stream:
            if self._mode.show_diff:
                self._show(stream)
            self._report(outcome, stream)
        text.report_errors(outcome.errors, err())
        return outcome.exit_code(self._something_left())

    def _changed(self) -> list[Rewritten]:
        return [result for result in self._results if isinstance(result, Rewritten)]

    def _something_left(self) -> bool:
        left = any(remaining(result) for result in self._results)
        return left or (self._mode.show_diff and bool(self._changed())) or not all(map(_holds, self._replays))

    def _replay(self, options: "ReplayOptions") -> None:
        """Run before and after; a patch that breaks its script is not written."""
        jobs = self._found.choice_by_path
        self._replays = replayed(self._changed(), jobs, options, self._ask.quiet)
        replays = {str(result.path): result for result in self._replays}
        self._results = [
            _what_holds(result, replays[result.target.path], jobs[result.target.path])
            if isinstance(result, Rewritten)
            else result
            for result in self._results
        ]

    def _show(self, stream: TextIO) -> None:
        if self._ask.output_format is ReportFormat.TEXT:
            for result in self._changed():
                if self._mode.side_by_side:
                    printer = Printer(stream)
                    printer.lines(side_by_side(_name_of(result), result.before, result.after, printer.width))
                else:
                    diff.show(diff.patch(_name_of(result), result.before, result.after), stream)

    def _write(self) -> None:
        if not self._changed():
            return
        self._run, refused = write_all([(one.target.path, one.before, one.after) for one in self._changed()])
        self._results = [
            Failed(one.target, refused[one.target.path]) if one.target.path in refused else one for one in self._results
        ]

    def _report(self, outcome: Outcome, stream: TextIO) -> None:
        if self._ask.output_format is ReportFormat.TEXT:
            self._report_text(outcome, err() if self._mode.show_diff else Printer(stream))
        else:
            report = Report(
                self._found_in(outcome),
                outcome.errors,
                self._unsafe,
                tuple(map(verdict_of, self._replays)),
                self._extra(),
                self._found.choices,
            )
            stream.write(rendered(report, self._ask.output_format))

    def _found_in(self, outcome: Outcome) -> Sequence[Result]:
        """What documents tell: what the files hold now. Only JSON tells what a dry run would leave in them."""
        if self._ask.output_format is ReportFormat.JSON or not self._mode.show_diff:
            return outcome.results
        with progress("Checking", self._ask.quiet) as advance:
            return run(self._found.files, Request(Task.CHECK, self._ask.jobs()), self._ask.cache(), advance)

    def _report_text(self, outcome: Outcome, printer: Printer) -> None:
        if not self._mode.show_diff:
            text.report_rewritten(outcome.results, self._unsafe, printer)
        for line in self._replay_lines():
            printer.paragraph(visible(line))
        if not self._ask.quiet:
            text.report_left_out(outcome.left_out, err())
            verb = "Would fix" if self._mode.show_diff else "Fixed"
            printer.line(*text.rewrite_summary(outcome.tally, verb, self._unsafe))
            self._report_undo(printer)

    def _report_undo(self, printer: Printer) -> None:
        if self._run is not None:
            printer.line(("Undo with: devfix undo", "faint"))

    def _replay_lines(self) -> list[str]:
        if not self._replays:
            return []
        from devfix.replay import render

        return render(self._replays)

    def _extra(self) -> dict[str, Any]:
        extra: dict[str, Any] = {"changed": json.changed(self._results), "written": self._run is not None}
        if self._replays:
            from devfix.replay import as_json

            extra |= as_json(self._replays)
        return extra


def _unless_outside(result: Result) -> Result:
    if isinstance(result, Rewritten) and result.target.outside:
        return Failed(result.target, "a symbolic link that leads out of the tree; name the file that it leads to")
    return result


def as_changes(changed: Iterable[Rewritten], choices: Mapping[str, Choice]) -> "list[Change]":
    """Rewritten files as what a replay judges. `choices` are those of the files, by their paths."""
    return [_change(result, choices[result.target.path]) for result in changed]


def _change(result: Rewritten, choice: Choice) -> "Change":
    from devfix.replay import Change

    def only(findings: Sequence[Finding]) -> bytes:
        partial = with_only(_job(result, choice), findings)
        return partial.after if isinstance(partial, Rewritten) else result.before

    return Change(Path(result.target.path), result.before, result.after, result.findings, only)


def replayed(
    changed: Sequence[Rewritten], choices: Mapping[str, Choice], options: "ReplayOptions", quiet: bool
) -> "list[ReplayResult]":
    """What running says of each changed file. `choices` are those of the files, by their paths. Writes nothing.

    Raises:
        UsageError: there is no place to run.
    """
    from devfix.replay import BackendError, choose_backend, replay_on, runs_to_come

    with runs_to_come():
        try:
            backend = choose_backend(options)
        except BackendError as error:
            raise UsageError(f"{error}; nothing was written") from error
        with replay_progress(quiet) as tell:
            return replay_on(backend, as_changes(changed, choices), options, tell)


def verdict_of(result: "ReplayResult") -> Verdict:
    """A replay as reports tell it."""
    from devfix.replay import reasons

    fixes = ((fix.finding, fix) for fix in result.fixes)
    return Verdict(
        str(result.path),
        str(result.verdict.kind),
        tuple(reasons(result)),
        tuple(FixVerdict(one.code, one.message, one.span, str(fix.kind), fix.reason) for one, fix in fixes),
    )


def _what_holds(result: Rewritten, replay: "ReplayResult", choice: Choice) -> Result:
    """The file with the fixes that stood the replay."""
    if not replay.withdrawn:
        return result
    kept = [finding for finding in result.findings if finding not in replay.withdrawn]
    return with_only(_job(result, choice), kept) if kept else Checked(result.target, result.fixed)


def _job(result: Rewritten, choice: Choice) -> Job:
    return Job(result.target, result.before, options_of(choice), Task.REWRITE, place=result.place)


def _holds(result: "ReplayResult") -> bool:
    from devfix.replay import Kind

    return result.verdict.kind in (Kind.CONFIRMED, Kind.HARMLESS)


def _name_of(result: Rewritten) -> str:
    return result.target.label if result.target.content is not None else label_of(result.target.path)
