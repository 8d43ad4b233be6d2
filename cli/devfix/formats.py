"""The kinds of report."""

from enum import StrEnum


class OutputFormat(StrEnum):
    """What every command can answer with."""

    TEXT = "text"
    JSON = "json"


class ReportFormat(StrEnum):
    """What the commands that look through files can answer with."""

    TEXT = "text"
    JSON = "json"
    SARIF = "sarif"
    GITHUB = "github"
    GITLAB = "gitlab"
    JUNIT = "junit"
