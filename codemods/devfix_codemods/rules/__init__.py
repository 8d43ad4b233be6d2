"""The rules, one a file. A rule is found by walking this package: there is no list to edit.

A rule module's docstring is the rule's page. It holds `RULE`, and a function that decides.
"""

import importlib
import pkgutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cache

from devfix_codemods.findings import Finding
from devfix_codemods.program import Program


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule: its code, its name, the bytes without which it cannot apply, and the function that decides.

    `triggers` is a choice of conjunctions: the rule can concern a file only if, for one of the tuples, all of its byte
    strings occur in the file. `looks` is a second, closer look at the bytes of such a file; it may only refuse files in
    which the rule finds nothing.
    """

    code: str
    name: str
    triggers: tuple[tuple[bytes, ...], ...]
    check: Callable[[Program], Iterable[Finding]]
    documentation: str = ""
    looks: Callable[[bytes], bool] | None = None

    @property
    def summary(self) -> str:
        """The first line of the documentation."""
        return self.documentation.strip().partition("\n")[0]


@cache
def all_rules() -> tuple[Rule, ...]:
    """Every rule, by code."""
    rules: list[Rule] = []
    for info in pkgutil.iter_modules(__path__):
        if info.name.startswith("_"):
            continue
        module = importlib.import_module(f"{__name__}.{info.name}")
        rule: Rule = module.RULE
        rules.append(replace(rule, documentation=module.__doc__ or ""))
    return tuple(sorted(rules, key=lambda rule: rule.code))
