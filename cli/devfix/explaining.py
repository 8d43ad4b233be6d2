"""`devfix rules` and `devfix rule`: the rules and their pages."""

import inspect

from devfix_codemods import guards, suppressions
from devfix_codemods.rules import all_rules

from devfix.formats import OutputFormat
from devfix.reporting import json
from devfix.reporting.terminal import out
from devfix.selection import rule_named


def list_rules(output_format: OutputFormat) -> int:
    """Print every rule with its code, name and summary."""
    if output_format is OutputFormat.JSON:
        entries = [{"code": rule.code, "name": rule.name, "summary": rule.summary} for rule in all_rules()]
        print(json.encode({"version": json.VERSION, "rules": entries}))
        return 0
    printer = out()
    width = max((len(rule.name) for rule in all_rules()), default=0)
    for rule in all_rules():
        printer.line((f"{rule.code} ", "code"), (f"{rule.name:{width}}  ", "name"), (rule.summary, ""))
    return 0


def explain(word: str) -> int:
    """Print the page of the rule of that code or name.

    Raises:
        UsageError: there is none.
    """
    code, name, documentation = _page(word)
    printer = out()
    printer.line((f"{code} ", "code"), (name, "name"))
    printer.line()
    for line in inspect.cleandoc(documentation).splitlines():
        printer.line((line, ""))
    return 0


def _page(word: str) -> tuple[str, str, str]:
    """The code, the name and the page of a rule, or of what reports name though no rule finds it."""
    for other in (suppressions, guards):
        if word.upper() == other.CODE or word.lower() == other.NAME:
            return other.CODE, other.NAME, other.__doc__ or ""
    rule = rule_named(word)
    return rule.code, rule.name, rule.documentation
