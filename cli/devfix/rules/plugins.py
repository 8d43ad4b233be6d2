"""Rules of others: installed distributions name them under the entry point `devfix.rules`.

To look for them must cost next to nothing where there are none: `importlib.metadata` takes longer to import than a
small file takes to check, so it is only asked where an `entry_points.txt` on the path says that there is something.
"""

import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, TypeVar

from devfix.errors import UsageError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from devfix_codemods.rules import Rule

Job = TypeVar("Job")
Answer = TypeVar("Answer")

GROUP = "devfix.rules"
_METADATA = (".dist-info", ".egg-info")


@dataclass(frozen=True)
class Plugin:
    """One rule of an installed distribution: `title` is its name and version, `module` holds the rule."""

    title: str
    module: str
    rule: "Rule"

    def places(self) -> Iterator[str]:
        """The folders or files that the rule's code lies in: the package around it, as far as it is a regular one."""
        name = ""
        for part in self.module.split("."):
            name = f"{name}.{part}".lstrip(".")
            module = sys.modules[name]
            if getattr(module, "__file__", None):
                yield from getattr(module, "__path__", None) or [str(module.__file__)]
                return


def load(isolated: bool = False) -> None:
    """Let the installed plug-ins, or none, take part in all that this process does from now on.

    Raises:
        UsageError: one cannot be loaded, or its rule cannot join the others.
    """
    global _in_use
    found = () if isolated else _installed()
    if found or _in_use:
        _join(found)
    _in_use = found


def _join(found: tuple[Plugin, ...]) -> None:
    """Let these rules, and no others, join devfix's own."""
    from devfix_codemods import rules
    from devfix_codemods.rules import RuleError

    accepted: list[Plugin] = []
    for plugin in found:
        try:
            rules.use([*(one.rule for one in accepted), plugin.rule])
        except RuleError as error:
            raise _broken(plugin.title, plugin.module, str(error)) from error
        accepted.append(plugin)
    if not accepted:
        rules.use(())


_in_use: tuple[Plugin, ...] = ()


def in_use() -> tuple[Plugin, ...]:
    """The plug-ins that take part."""
    return _in_use


def title_of(code: str) -> str | None:
    """The distribution that the rule of this code comes from, with its version; None for devfix's own."""
    return next((plugin.title for plugin in _in_use if plugin.rule.code == code), None)


def carried(function: Callable[[Job], Answer]) -> Callable[[Job], Answer]:
    """`function` for another process, which starts without plug-ins unless it is a fork of this one."""
    return partial(_with_plugins, function) if _in_use else function


def _with_plugins(function: Callable[[Job], Answer], job: Job) -> Answer:
    if not _in_use:
        load()
    return function(job)


@cache
def _installed() -> tuple[Plugin, ...]:
    if not any(map(_announces, sys.path)):
        return ()
    from importlib.metadata import entry_points

    found = sorted(entry_points(group=GROUP), key=lambda entry: (entry.dist.name if entry.dist else "", entry.name))
    return tuple(map(_loaded, found))


def _announces(folder: str) -> bool:
    """Whether a distribution in this entry of the path may have plug-ins. Of an archive that is not known."""
    try:
        with os.scandir(folder or ".") as entries:
            return any(_says_so(entry.path) for entry in entries if entry.name.endswith(_METADATA))
    except NotADirectoryError:
        return True
    except OSError:
        return False


def _says_so(metadata: str) -> bool:
    try:
        return GROUP.encode() in Path(metadata, "entry_points.txt").read_bytes()
    except OSError:
        return False


def _loaded(entry: "EntryPoint") -> Plugin:
    from devfix_codemods.rules import Rule

    title = f"{entry.dist.name} {entry.dist.version}" if entry.dist else entry.name
    try:
        what = entry.load()
    except (Exception, SystemExit) as error:  # it is the code of somebody else, and may raise anything
        raise _broken(title, entry.value, f"{type(error).__name__}: {error}") from error
    rule = getattr(what, "RULE", None) if isinstance(what, ModuleType) else what
    if not isinstance(rule, Rule):
        raise _broken(title, entry.value, "it is neither a module with a RULE nor a Rule")
    if not rule.documentation:
        rule = replace(rule, documentation=sys.modules[entry.module].__doc__ or "")
    return Plugin(title, entry.module, rule)


def _broken(title: str, value: str, reason: str) -> UsageError:
    said = " ".join(reason.split())
    return UsageError(f"the plug-in {title} ({value}) does not work: {said}; remove it, or run with --isolated")
