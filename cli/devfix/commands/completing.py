"""What a shell may offer for a word that is being typed."""

Offer = tuple[str, str]
"""A word and what it stands for."""


def rule_selectors(incomplete: str) -> list[Offer]:
    """Codes and names of rules for the last of the selectors, which commas separate."""
    head, comma, last = incomplete.rpartition(",")
    return [(head + comma + word, meaning) for word, meaning in rule_words(last)]


def rule_words(incomplete: str) -> list[Offer]:
    """The codes of the rules that begin so, and the names."""
    from devfix_codemods.rules import all_rules

    rules = all_rules()
    codes = [(rule.code, rule.name) for rule in rules if rule.code.startswith(incomplete)]
    names = [(rule.name, rule.code) for rule in rules if incomplete and rule.name.startswith(incomplete)]
    return codes + names
