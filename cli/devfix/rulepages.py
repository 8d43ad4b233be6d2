"""The pages of the rules: their docstrings. What reports name though no rule finds it has one, too."""

import inspect
from dataclasses import dataclass

from devfix_codemods import guards, suppressions
from devfix_codemods.rules import all_rules


@dataclass(frozen=True)
class RulePage:
    """A rule's code, name and page; the page is Markdown that begins with its summary."""

    code: str
    name: str
    text: str


def page_named(word: str) -> RulePage | None:
    """The page of that code or name, in whatever case; None where there is none."""
    for other in (suppressions, guards):
        if _names(word, other.CODE, other.NAME):
            return RulePage(other.CODE, other.NAME, inspect.cleandoc(other.__doc__ or ""))
    for rule in all_rules():
        if _names(word, rule.code, rule.name):
            return RulePage(rule.code, rule.name, inspect.cleandoc(rule.documentation))
    return None


def _names(word: str, code: str, name: str) -> bool:
    return word.upper() == code or word.lower() == name
