"""`devfix rules` and `devfix rule`: the rules and their pages."""

from devfix_codemods.rules import all_rules

from devfix.formats import OutputFormat
from devfix.reporting import json
from devfix.reporting.terminal import out
from devfix.rules import plugins
from devfix.rules.pages import page_named
from devfix.rules.selection import unknown_rule


def list_rules(output_format: OutputFormat) -> int:
    """Print every rule with its code, name and summary.

    Raises:
        UsageError: a plug-in is broken.
    """
    plugins.load()
    if output_format is OutputFormat.JSON:
        entries = [
            {"code": rule.code, "name": rule.name, "summary": rule.summary, "plugin": plugins.title_of(rule.code)}
            for rule in all_rules()
        ]
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
        UsageError: there is none, or a plug-in is broken.
    """
    plugins.load()
    page = page_named(word)
    if page is None:
        raise unknown_rule(word)
    printer = out()
    title = plugins.title_of(page.code)
    printer.line((f"{page.code} ", "code"), (page.name, "name"), (f" ({title})" if title else "", "faint"))
    printer.line()
    for line in page.text.splitlines():
        printer.line((line, ""))
    return 0
