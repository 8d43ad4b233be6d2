"""`devfix audit`: run a script for a few steps, and say where everything lives and what is moved."""

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from devfix.errors import UsageError
from devfix.formats import OutputFormat
from devfix.project.scripts import script_named
from devfix.replay import (
    BackendError,
    LoneRun,
    Program,
    ReplayOptions,
    WorkspaceError,
    auditing,
    auditing_installation,
    auditing_report,
    choose_backend,
    run_alone,
    runs_to_come,
)
from devfix.replay.interpreter_query import QueryError
from devfix.replay.postmortem import as_json as postmortem_as_json
from devfix.replay.postmortem import lines as postmortem_lines
from devfix.reporting import json
from devfix.reporting.terminal import Printer, one_line, out, visible


@dataclass(frozen=True, slots=True)
class Ask:
    """What to audit, and how to tell of it. `options.args` follow the script."""

    script: str
    options: ReplayOptions
    output_format: OutputFormat = OutputFormat.TEXT


def audit(ask: Ask) -> int:
    """Audit and report. The exit code is 0 where nothing is odd and the script ran.

    Raises:
        UsageError: there is no such script or no such place to run on, or the tree cannot be copied.
    """
    try:
        with runs_to_come():
            found = _Found.of(script_named(ask.script), ask.options)
    except (BackendError, WorkspaceError, QueryError) as error:
        raise UsageError(str(error)) from error
    if ask.output_format is OutputFormat.JSON:
        print(json.encode(found.document()))
    else:
        found.tell(out())
    return 1 if found.odd or not found.run.outcome.passed else 0


@dataclass(frozen=True, slots=True)
class _Found:
    """The run, what was seen of it, and what is installed."""

    run: LoneRun
    audit: auditing.Audit
    installation: dict[str, Any]

    @classmethod
    def of(cls, script: Path, options: ReplayOptions) -> "_Found":
        backend = choose_backend(options)
        installation = auditing_installation.facts_of(options.python, dict(options.env), options.confinement)
        audited = dataclasses.replace(options, audit=True)
        run = run_alone(Program(script, options.args), backend, audited)
        return cls(run, auditing.decode(run.outcome.audit or {}), installation)

    @property
    def odd(self) -> list[str]:
        installed = auditing_installation.mismatches(self.installation)
        return [*installed, *auditing.oddities(self.audit, self.run.on)]

    def tell(self, printer: Printer) -> None:
        for line in auditing_installation.lines(self.installation):
            printer.line((one_line(line), ""))
        printer.paragraph(one_line(f"ran {self.run.command} on {self.run.on}: {_ending(self)}"), "message")
        for line in auditing_report.lines(self.audit):
            printer.paragraph(visible(line))
        postmortem = self.run.outcome.postmortem
        for line in postmortem_lines(postmortem) if postmortem is not None else ():
            printer.paragraph(visible(line))
        for note in (*self.run.notes, *(f"not simulated: {what}" for what in self.run.outcome.not_simulated)):
            printer.line((f"note: {one_line(note)}", "note"))
        if self.run.kept is not None:
            printer.line((f"the copy is in {one_line(str(self.run.kept))}", "note"))
        for line in self.odd:
            printer.line(("odd: ", "unsafe"), (one_line(line), ""))
        if not self.odd and self.run.outcome.passed:
            printer.line(("nothing odd", "good"))

    def document(self) -> dict[str, Any]:
        outcome = self.run.outcome
        return {
            "version": json.VERSION,
            "audit": {
                "command": self.run.command,
                "on": self.run.on,
                "outcome": str(outcome.ending),
                "error": None if outcome.error is None else outcome.failure,
                "postmortem": None if outcome.postmortem is None else postmortem_as_json(outcome.postmortem),
                "odd": self.odd,
                "installation": self.installation,
                **self.audit.raw,
            },
        }


def _ending(found: _Found) -> str:
    outcome, steps = found.run.outcome, found.audit.steps
    told = f"{steps} optimizer step{'' if steps == 1 else 's'}"
    return told if outcome.passed else f"{told}, then {outcome.failure}"
