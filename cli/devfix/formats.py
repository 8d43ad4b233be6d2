"""The kinds of report."""

from enum import StrEnum


class OutputFormat(StrEnum):
    """What every command can answer with."""

    TEXT = "text"
    JSON = "json"


class Colour(StrEnum):
    """Whether reports are coloured. On its own that depends on the terminal, `NO_COLOR` and `FORCE_COLOR`."""

    AUTO = "auto"
    ALWAYS = "always"
    NEVER = "never"


class ReportFormat(StrEnum):
    """What the commands that look through files can answer with."""

    TEXT = "text"
    JSON = "json"
    SARIF = "sarif"
    GITHUB = "github"
    GITLAB = "gitlab"
    JUNIT = "junit"
    HTML = "html"
