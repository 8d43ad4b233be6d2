"""The pages of the rules: their docstrings. What reports name though no rule finds it has one, too."""

import inspect
from collections.abc import Iterator
from dataclasses import dataclass

from devfix_codemods import guards, suppressions
from devfix_codemods.rules import all_rules


@dataclass(frozen=True)
class RulePage:
    """A rule's code, name and page; the page is Markdown that begins with its summary."""

    code: str
    name: str
    text: str


def all_pages() -> Iterator[RulePage]:
    """Every page."""
    for other in (suppressions, guards):
        yield RulePage(other.CODE, other.NAME, inspect.cleandoc(other.__doc__ or ""))
    for rule in all_rules():
        yield RulePage(rule.code, rule.name, inspect.cleandoc(rule.documentation))


def page_named(word: str) -> RulePage | None:
    """The page of that code or name, in whatever case; None where there is none."""
    return next((page for page in all_pages() if word.upper() == page.code or word.lower() == page.name), None)
