"""The options of all commands that analyse code, and what they come to."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

import typer
from devfix_codemods.preferences import Prefer

from devfix.commands import completing
from devfix.errors import UsageError
from devfix.formats import Colour, OutputFormat, ReportFormat

if TYPE_CHECKING:
    from devfix.operations.inputs import Ask
    from devfix.project.settings import Overrides

Paths = Annotated[
    list[str] | None, typer.Argument(metavar="[PATH]...", help="Files, folders, or - for standard input.")
]
Select = Annotated[
    list[str] | None,
    typer.Option(
        "--select",
        metavar="RULE",
        help="Only these rules: codes, prefixes (DVF1) or names.",
        autocompletion=completing.rule_selectors,
    ),
]
Ignore = Annotated[
    list[str] | None,
    typer.Option("--ignore", metavar="RULE", help="Not these rules.", autocompletion=completing.rule_selectors),
]
Unsafe = Annotated[
    bool | None, typer.Option("--unsafe/--no-unsafe", help="Count fixes that are a choice or have a visible effect.")
]
Suggestions = Annotated[
    bool | None,
    typer.Option("--suggestions/--no-suggestions", help="Show suggestions, too: less certain, never written unasked."),
]
MinConfidence = Annotated[
    float | None,
    typer.Option("--min-confidence", metavar="P", help="Only findings that are this probable, from 0 to 1."),
]
TargetTorch = Annotated[
    str | None, typer.Option("--target-torch", metavar="X.Y", help="The oldest torch that the code must run on.")
]
PreferDevice = Annotated[
    Prefer | None,
    typer.Option("--prefer", help="What a declared device is: CUDA, or torch's accelerator (torch 2.6), or the host."),
]
Exclude = Annotated[
    list[str] | None, typer.Option("--exclude", metavar="PATTERN", help="Leave out more files, in .gitignore syntax.")
]
ForceExclude = Annotated[bool, typer.Option("--force-exclude", help="Leave out excluded files even when named.")]
Jobs = Annotated[int | None, typer.Option("--jobs", "-j", metavar="N", min=1, help="How many processes.")]
NoCache = Annotated[bool, typer.Option("--no-cache", help="Analyse every file anew.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No summary, no notes.")]
Format = Annotated[OutputFormat, typer.Option("--output-format", help="How to report.")]
AnyFormat = Annotated[ReportFormat, typer.Option("--output-format", help="How to report.")]
OutputFile = Annotated[
    str | None, typer.Option("--output-file", "-o", metavar="FILE", help="Write the report into this file.")
]
StdinFilename = Annotated[
    str | None, typer.Option("--stdin-filename", metavar="PATH", help="The name of what comes from standard input.")
]


def _chosen_colour(choice: Colour | None) -> Colour | None:
    if choice is not None:
        from devfix.reporting.terminal import choose_colour

        choose_colour(choice)
    return choice


WithColour = Annotated[
    Colour | None, typer.Option("--color", callback=_chosen_colour, help="Whether to colour what is printed.")
]
Config = Annotated[
    str | None, typer.Option("--config", metavar="FILE", help="A TOML file whose [tool.devfix] holds for all files.")
]
Isolated = Annotated[bool, typer.Option("--isolated", help="Read no settings file, load no plug-in.")]


@dataclass(frozen=True)
class AnalysisOptions:
    """How to analyse, as it was given: None where an option was not."""

    select: Select = None
    ignore: Ignore = None
    unsafe: Unsafe = None
    suggestions: Suggestions = None
    min_confidence: MinConfidence = None
    target_torch: TargetTorch = None
    prefer: PreferDevice = None
    exclude: Exclude = None
    jobs: Jobs = None
    no_cache: NoCache = False
    quiet: Quiet = False
    color: WithColour = None
    config: Config = None
    isolated: Isolated = False

    def overrides(self, force_exclude: bool = False, guards: bool = False) -> "Overrides":
        """The command line's part of the settings.

        Raises:
            UsageError: `--target-torch` is no version, `--min-confidence` no probability, a selector names no rule,
                two options contradict each other, or a plug-in is broken.
        """
        from devfix.project.settings import Overrides, is_confidence, parse_version
        from devfix.rules import plugins

        plugins.load(self.isolated)
        if self.config is not None and self.isolated:
            raise UsageError("--config and --isolated contradict each other")
        version = None if self.target_torch is None else parse_version(self.target_torch)
        if self.target_torch is not None and version is None:
            raise UsageError(f"--target-torch {self.target_torch!r} is no torch version; write it like 2.4")
        if self.min_confidence is not None and not is_confidence(self.min_confidence):
            raise UsageError(f"--min-confidence {self.min_confidence:g} is no probability; write a number from 0 to 1")
        select = None if self.select is None else _selectors(self.select)
        if select == ():
            raise UsageError("--select names no rule; `devfix rules` lists them")
        return Overrides(
            select=select,
            ignore=_selectors(self.ignore or ()),
            exclude=tuple(self.exclude or ()),
            unsafe=self.unsafe,
            suggestions=self.suggestions,
            min_confidence=self.min_confidence,
            target_torch=version,
            prefer=self.prefer,
            jobs=self.jobs,
            force_exclude=force_exclude,
            config=self.config,
            isolated=self.isolated,
            guards=guards,
        )

    def ask(self, names: Sequence[str], overrides: "Overrides", output_format: ReportFormat) -> "Ask":
        """The request to analyse what is at `names`."""
        from devfix.operations.inputs import Ask

        return Ask(tuple(names), overrides, output_format, self.quiet, not self.no_cache)


@dataclass(frozen=True)
class PathOptions(AnalysisOptions):
    """How to analyse any number of paths, or standard input."""

    output_format: AnyFormat = ReportFormat.TEXT
    output_file: OutputFile = None
    force_exclude: ForceExclude = False
    stdin_filename: StdinFilename = None

    def ask_for(self, paths: Sequence[str] | None, guards: bool = False) -> "Ask":
        """The request that the options make; without paths it is about the working directory.

        Raises:
            UsageError: as `overrides`.
        """
        names = paths or ("-" if self.stdin_filename is not None else ".",)
        ask = self.ask(names, self.overrides(self.force_exclude, guards), self.output_format)
        return replace(ask, stdin_filename=self.stdin_filename, output_file=self.output_file)


def _selectors(values: Sequence[str]) -> tuple[str, ...]:
    """Commas separate selectors; each has to name a rule."""
    found = tuple(word.strip() for value in values for word in value.split(",") if word.strip())
    if found:
        from devfix.rules.selection import codes_of

        codes_of(found)
    return found
