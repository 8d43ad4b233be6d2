"""What a command works on, however it was named: files, folders, or standard input."""

import sys
from dataclasses import dataclass
from pathlib import Path

from devfix.analysis.cache import Cache, cache_for, no_cache
from devfix.errors import UsageError
from devfix.formats import ReportFormat
from devfix.project.discovery import STANDARD_INPUT, Discovery, File, choice_of, discover
from devfix.project.settings import Overrides, SettingsTree
from devfix.reporting.tally import Tally
from devfix.results import Failed, Result, Skipped, Target


@dataclass(frozen=True)
class Ask:
    """What the user asks of a command that reads files: the options that all of these share."""

    names: tuple[str, ...]
    overrides: Overrides
    output_format: ReportFormat = ReportFormat.TEXT
    quiet: bool = False
    use_cache: bool = True
    stdin_filename: str | None = None
    output_file: str | None = None
    baseline_file: str | None = None
    use_baseline: bool = True
    verbose: bool = False

    @property
    def reads_standard_input(self) -> bool:
        return STANDARD_INPUT in self.names

    def cache(self) -> Cache:
        """The cache to use; what comes from standard input is not remembered."""
        return cache_for(str(Path.cwd())) if self.use_cache and not self.reads_standard_input else no_cache()

    def baseline(self) -> str | None:
        """The file of accepted findings: the one that was named, else that of the settings here."""
        if self.baseline_file is not None or not self.use_baseline:
            return self.baseline_file
        return SettingsTree(self.overrides).of(str(Path.cwd())).baseline

    def jobs(self) -> int | None:
        """How many processes, where the user said so."""
        return SettingsTree(self.overrides).of(str(Path.cwd())).jobs


def gather(ask: Ask) -> Discovery:
    """The files that the user named.

    Raises:
        UsageError: `-` stands beside other names, or a settings file holds a mistake.
    """
    if not ask.reads_standard_input:
        if ask.stdin_filename is not None:
            raise UsageError("--stdin-filename is for `-`, standard input")
        return discover(ask.names, ask.overrides)
    if len(ask.names) > 1:
        raise UsageError("`-` is standard input and cannot stand beside other paths")
    return Discovery([_standard_input(ask)])


@dataclass(frozen=True)
class Outcome:
    """What became of all that was found: a result for each file, what could not be handled, what was left out."""

    found: Discovery
    results: tuple[Result, ...]
    known: int = 0
    """Findings that a baseline has, and that are no longer among the results."""

    @property
    def errors(self) -> list[Failed]:
        return [*self.found.errors, *(result for result in self.results if isinstance(result, Failed))]

    @property
    def left_out(self) -> list[Skipped]:
        return [*self.found.skipped, *(result for result in self.results if isinstance(result, Skipped))]

    @property
    def tally(self) -> Tally:
        return Tally.of(self.results, self.errors)

    @property
    def unsafe(self) -> bool:
        """Whether fixes that are a choice count for any of the files."""
        return any(file.choice.unsafe for file in self.found.files)

    def exit_code(self, something_left: bool) -> int:
        """2 where a file could not be handled, 1 where something is left to do, else 0."""
        return 2 if self.errors else int(something_left)


def _standard_input(ask: Ask) -> File:
    data = sys.stdin.buffer.read()
    label = ask.stdin_filename or "<stdin>"
    choice = choice_of(ask.stdin_filename or "stdin.py", ask.overrides)
    return File(Target("", label, content=data), choice, 0, len(data))
