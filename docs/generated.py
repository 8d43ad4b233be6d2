"""Pages that are generated when the site is built: one for each rule, their index, and the options of each command."""

import inspect
import re
from collections.abc import Iterator
from typing import Any

import typer
from devfix.app import application
from devfix.rules.pages import RulePage, page_named
from devfix_codemods.rules import own_rules
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

_GROUPS = {
    "0": "What devfix reports without a rule",
    "1": "Data and tensors",
    "2": "Modules and what training keeps",
    "3": "Mixed precision",
    "4": "The host and files",
    "5": "Other devices",
}
_COLUMNS = 100


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Put the pages of the rules below their index."""
    nested = [{f"{page.code} {page.name}": path_of(page)} for page in pages()]
    config.nav = [
        {"Rules": [entry["Rules"], *nested]} if isinstance(entry, dict) and "Rules" in entry else entry
        for entry in config.nav or []
    ]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages to those that are written."""
    for path, text in texts():
        files.append(File.generated(config, path, content=text))
    return files


def on_page_markdown(markdown: str, **_: object) -> str:
    """Take out what is for `console.py` only."""
    return re.sub(r"^<!-- (?:file|install): .*-->\n+", "", markdown, flags=re.MULTILINE)


def texts() -> Iterator[tuple[str, str]]:
    """The path and the Markdown of each generated page."""
    yield "rules/index.md", index()
    yield "commands.md", commands()
    for page in pages():
        yield path_of(page), f"# {page.code} {page.name}\n\n{page.text}\n"


def pages() -> list[RulePage]:
    """Every page, by code."""
    codes = ["DVF001", "DVF002", *(rule.code for rule in own_rules())]
    return sorted((page for code in codes if (page := page_named(code))), key=lambda page: page.code)


def path_of(page: RulePage) -> str:
    return f"rules/{page.code}-{page.name}.md"


def index() -> str:
    parts = ["# Rules", "`devfix rule DVF101` prints a rule's page. Codes never change their meaning."]
    for digit, title in _GROUPS.items():
        rows = [
            f"| [{page.code}]({path_of(page).removeprefix('rules/')}) | {page.name} | {page.text.splitlines()[0]} |"
            for page in pages()
            if page.code[3] == digit
        ]
        parts.append("\n".join([f"## {title}\n", "| code | name | |", "|---|---|---|", *rows]))
    return "\n\n".join(parts) + "\n"


def commands() -> str:
    parts = ["# Commands", "Every command with its options, as `--help` shows them."]
    for name, command in _commands(typer.main.get_command(application()), ""):
        context = command.make_context(name, [], resilient_parsing=True)
        context.info_name, context.terminal_width, context.max_content_width = f"devfix {name}", _COLUMNS, _COLUMNS
        parts.append(f"## {name}\n\n```text\n{inspect.cleandoc(_plain(command.get_help(context)))}\n```")
    return "\n\n".join(parts) + "\n"


def _commands(group: Any, prefix: str) -> Iterator[tuple[str, Any]]:
    """All commands by their full names, those of groups after the groups."""
    for name, command in group.commands.items():
        yield prefix + name, command
        if hasattr(command, "commands"):
            yield from _commands(command, f"{prefix}{name} ")


def _plain(text: str) -> str:
    return re.sub(r"[ \t]+\n", "\n", text)
