"""The rules, one a file. A rule is found by walking this package: there is no list to edit.

A rule module's docstring is the rule's page. It holds `RULE`, and a function that decides. Rules of others join these
with `use`.
"""

import importlib
import pkgutil
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cache

from devfix_codemods.findings import Finding
from devfix_codemods.placement.search import Conflict
from devfix_codemods.program import Program

RESERVED = "DVF"
"""The prefix of devfix's own codes."""

CODE = re.compile(r"([A-Z]{2,12})(\d{3})")
"""What a code looks like: a prefix that says whose rule it is, and a number."""

_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule: its code, its name, and what it finds: what `check` says of a file, or the conflicts that it `owns`.

    `triggers` is a choice of conjunctions: the rule can concern a file only if, for one of the tuples, all of its byte
    strings occur in the file. `looks` is a second, closer look at the bytes of such a file; it may only refuse files in
    which the rule finds nothing. `owns` says which conflicts of the placement analysis the rule tells: these need no
    triggers, and no `check`. `respells` says that its fixes name a place in another way, and bring no value elsewhere.
    """

    code: str
    name: str
    triggers: tuple[tuple[bytes, ...], ...] = ()
    check: Callable[[Program], Iterable[Finding]] | None = None
    documentation: str = ""
    looks: Callable[[bytes], bool] | None = None
    owns: Callable[[Conflict], bool] | None = None
    respells: bool = False

    @property
    def summary(self) -> str:
        """The first line of the documentation."""
        return self.documentation.strip().partition("\n")[0]


class RuleError(ValueError):
    """A rule that cannot join the others. The message says what is wrong with it."""


_others: tuple[Rule, ...] = ()


def use(others: Iterable[Rule]) -> None:
    """Let these rules, and no other foreign ones, stand beside devfix's own in this process.

    Raises:
        RuleError: one is malformed, or has the code or the name of another one.
    """
    global _others
    accepted: list[Rule] = []
    for rule in others:
        _verify(rule, (*own_rules(), *accepted))
        accepted.append(rule)
    _others = tuple(accepted)
    all_rules.cache_clear()


def other_rules() -> tuple[Rule, ...]:
    """The rules of others that are in use."""
    return _others


@cache
def all_rules() -> tuple[Rule, ...]:
    """Every rule, by code."""
    return tuple(sorted((*own_rules(), *_others), key=lambda rule: rule.code))


@cache
def own_rules() -> tuple[Rule, ...]:
    """The rules of this package."""
    rules: list[Rule] = []
    for info in pkgutil.iter_modules(__path__):
        if info.name.startswith("_"):
            continue
        module = importlib.import_module(f"{__name__}.{info.name}")
        rule: Rule = module.RULE
        rules.append(replace(rule, documentation=module.__doc__ or ""))
    return tuple(rules)


def is_foreign(code: str) -> bool:
    """Whether it is the code of a rule of somebody else."""
    return not code.startswith(RESERVED)


def blame(code: str) -> str:
    """Whose bug it is where a rule fails."""
    return f"this is a bug of the rule {code}" if is_foreign(code) else "this is a devfix bug"


def _verify(rule: Rule, known: Iterable[Rule]) -> None:
    for other in known:
        for what in ("code", "name"):
            if getattr(rule, what) == getattr(other, what):
                raise RuleError(f"the {what} {getattr(rule, what)!r} is taken by {other.code} {other.name}")
    found = CODE.fullmatch(str(rule.code))
    if found is None:
        raise RuleError(f"{rule.code!r} is no code; write a prefix of 2 to 12 capitals and three digits, like ACME101")
    if found[1] == RESERVED:
        raise RuleError(f"{rule.code}: codes with {RESERVED} are devfix's own; take another prefix")
    if not _NAME.fullmatch(str(rule.name)) or rule.name == "all":
        raise RuleError(f"{rule.code}: {rule.name!r} is no name; write words in small letters, like no-such-thing")
    if rule.check is None and rule.owns is None:
        raise RuleError(f"{rule.code}: a rule has a `check`, or says which conflicts it `owns`")
    if rule.check is not None and not _are_triggers(rule.triggers):
        raise RuleError(f'{rule.code}: triggers are tuples of byte strings, like ((b".to(",), (b".cuda(",))')


def _are_triggers(triggers: object) -> bool:
    """Whether it is what a rule says that it is; a pair of brackets is easily forgotten."""
    alternatives = _items(triggers)
    return bool(alternatives) and all(
        _items(words) and all(isinstance(word, bytes) and word for word in _items(words)) for words in alternatives
    )


def _items(value: object) -> tuple[object, ...]:
    return value if isinstance(value, tuple) else ()
