"""Which rules the bytes of a file can possibly concern, before anything is parsed."""

from collections.abc import Iterable, Iterator

from devfix_codemods.repairs.findings import may_conflict
from devfix_codemods.rules import Rule

_OF_TORCH = (b"torch", b"transformers", b".detach().numpy()", b'.to("cpu", pin_memory')
"""What a file says that handles tensors of torch, even where it imports nothing of it."""


def triggered(data: bytes, rules: Iterable[Rule]) -> tuple[Rule, ...]:
    """The rules of which one trigger has all its byte strings in `data`, and that do not think better of it."""
    return tuple(_triggered(data, rules))


def any_triggered(data: bytes, rules: Iterable[Rule]) -> bool:
    """Whether there is such a rule, or one that owns conflicts which the bytes allow for."""
    chosen = tuple(rules)
    return any(True for _ in _triggered(data, chosen)) or (may_conflict(data) and any(one.owns for one in chosen))


def _triggered(data: bytes, rules: Iterable[Rule]) -> Iterator[Rule]:
    if not any(word in data for word in _OF_TORCH):
        return
    seen: dict[bytes, bool] = {}

    def holds(word: bytes) -> bool:
        if word not in seen:
            seen[word] = word in data
        return seen[word]

    for rule in rules:
        if any(all(map(holds, words)) for words in rule.triggers) and (rule.looks is None or rule.looks(data)):
            yield rule
