"""From what the user wrote (`DVF1`, `DVF101`, `batch-not-moved`, `ALL`) to the codes of rules."""

import re
from collections.abc import Iterable
from functools import cache

from devfix_codemods.outcomes import Options
from devfix_codemods.rules import Rule, all_rules

from devfix.errors import UsageError, close_match
from devfix.project.settings import Choice

EVERYTHING = "ALL"
_SELECTOR = re.compile(r"([A-Z]{2,12})(\d{0,3})")


@cache
def options_of(choice: Choice) -> Options:
    """What the library is asked for.

    Raises:
        UsageError: a selector names no rule.
    """
    selected = (EVERYTHING,) if choice.select is None else choice.select
    chosen = codes_of(selected, f"{choice.origin}: [tool.devfix] select: ")
    ignored = codes_of(choice.ignore, f"{choice.origin}: [tool.devfix] ignore or per-file-ignores: ")
    return Options(
        chosen - ignored,
        unsafe=choice.unsafe,
        target_torch=choice.target_torch,
        prefer=choice.prefer,
        guards=choice.guards,
        target_origin=choice.declared_by,
        suggestions=choice.suggestions,
        min_confidence=choice.min_confidence,
    )


@cache
def rules_of(choice: Choice) -> tuple[Rule, ...]:
    """The rules themselves, by code; guards come last."""
    selected = options_of(choice).select
    asked = tuple(rule for rule in all_rules() if rule.code in selected)
    if not choice.guards:
        return asked
    from devfix_codemods import guards

    return (*asked, guards.RULE)


def codes_of(selectors: Iterable[str], where: str = "") -> frozenset[str]:
    """The codes that the selectors stand for. `where` names their place in messages.

    Raises:
        UsageError: one names no rule.
    """
    return frozenset(code for selector in selectors for code in _codes(selector, where))


def unknown_rule(word: str, where: str = "") -> UsageError:
    """What to raise where `word` names no rule; `where` names its place."""
    known = [text for rule in all_rules() for text in (rule.code, rule.name)]
    folded = word.upper() if _SELECTOR.fullmatch(word.upper()) else word.lower()
    return UsageError(f"{where}no rule {word!r}{close_match(folded, known) or ';'} `devfix rules` lists them")


def _codes(selector: str, where: str) -> list[str]:
    wanted = selector.upper()
    if wanted == EVERYTHING:
        return [rule.code for rule in all_rules()]
    found = [rule.code for rule in all_rules() if _matches(rule, selector, wanted)]
    if not found:
        raise unknown_rule(selector, where)
    return found


def _matches(rule: Rule, selector: str, wanted: str) -> bool:
    asked, own = _SELECTOR.fullmatch(wanted), _SELECTOR.fullmatch(rule.code)
    is_prefix = asked and own and asked[1] == own[1] and own[2].startswith(asked[2])
    return bool(is_prefix) or rule.name == selector.lower()
