"""What was decided about each finding, and how it is taken back."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from devfix.reporting.text import count
from devfix.results import Replacement
from devfix.review.documents import Item
from devfix.review.matching import paired


class Decision(StrEnum):
    ACCEPTED = "accepted"
    REFUSED = "refused"
    IGNORED = "ignored"
    """To be silenced by a comment."""


@dataclass(frozen=True)
class Renewed:
    """What a new reading of a file did to its findings: how many are new, and gone; `decided` are among the gone."""

    new: int
    gone: int
    decided: int


class Review:
    """The findings in their order, and the decisions, each of which can be undone."""

    def __init__(self, items: Sequence[Item]) -> None:
        self.items = list(items)
        self._decisions: dict[int, Decision] = {}
        self._done: list[dict[int, Decision | None]] = []
        self._undone: list[dict[int, Decision | None]] = []

    def decision(self, item: Item) -> Decision | None:
        return self._decisions.get(item.number)

    def those(self, decision: Decision | None) -> list[Item]:
        """The findings decided that way; with None, those that are not."""
        return [item for item in self.items if self.decision(item) is decision]

    @property
    def undecided(self) -> list[Item]:
        return self.those(None)

    @property
    def decisions(self) -> list[tuple[Item, Decision]]:
        return [(item, found) for item in self.items if (found := self.decision(item)) is not None]

    def decide(self, items: Iterable[Item], decision: Decision | None) -> list[Item]:
        """Decide about those of `items` that this can be decided of, as one step of `undo`. Returns which changed."""
        able = [item for item in items if self.decision(item) is not decision and _can(item, decision)]
        if able:
            self._done.append(self._set({item.number: decision for item in able}))
            self._undone.clear()
        return able

    def rest_of_file(self, item: Item) -> list[Item]:
        """What is undecided in the file of `item`, and `item` itself."""
        return self._rest(item, [other for other in self.items if other.path == item.path])

    def rest_of_rule(self, item: Item) -> list[Item]:
        """What is undecided of the rule of `item`, and `item` itself."""
        return self._rest(item, [other for other in self.items if other.code == item.code])

    def same_change(self, item: Item) -> list[Item]:
        """`item`, and the findings of its file that the very same edits repair."""
        edits = _edits(item)
        return [one for one in self.items if one is item or (edits and one.path == item.path and _edits(one) == edits)]

    def undo(self) -> list[Item]:
        """Take the last step back. Returns the findings that it was about; none where there is no such step."""
        return self._step(self._done, self._undone)

    def redo(self) -> list[Item]:
        return self._step(self._undone, self._done)

    def restore(self, decisions: Mapping[int, Decision]) -> None:
        """Begin with the decisions of an earlier day."""
        self._set({item.number: found for item in self.items if (found := decisions.get(item.number)) is not None})

    def renew(self, path: str, fresh: Sequence[Item]) -> Renewed:
        """Put `fresh` in the place of a file's findings; what is the same keeps its number and its decision."""
        old = [item for item in self.items if item.path == path]
        same = {new: old[index].number for index, new in _matched(old, fresh).items()}
        first = max((item.number for item in self.items), default=-1) + 1
        numbered = [Item(same.get(index, first + index), one.document, one.problem) for index, one in enumerate(fresh)]
        gone = {item.number for item in old} - set(same.values())
        decided = sum(number in self._decisions for number in gone)
        at = next((index for index, item in enumerate(self.items) if item.path == path), len(self.items))
        others = [item for item in self.items if item.path != path]
        self.items = [*others[:at], *numbered, *others[at:]]
        self._forget(gone)
        return Renewed(len(fresh) - len(same), len(gone), decided)

    def _rest(self, item: Item, others: Sequence[Item]) -> list[Item]:
        return [other for other in others if other.number == item.number or self.decision(other) is None]

    def _step(self, source: list[dict[int, Decision | None]], target: list[dict[int, Decision | None]]) -> list[Item]:
        while source:
            change = source.pop()
            known = [item for item in self.items if item.number in change]
            if known:
                target.append(self._set({item.number: change[item.number] for item in known}))
                return known
        return []

    def _set(self, change: Mapping[int, Decision | None]) -> dict[int, Decision | None]:
        """Make the change, and answer the one that takes it back."""
        before = {number: self._decisions.get(number) for number in change}
        for number, decision in change.items():
            if decision is None:
                self._decisions.pop(number, None)
            else:
                self._decisions[number] = decision
        return before

    def _forget(self, numbers: Iterable[int]) -> None:
        for number in numbers:
            self._decisions.pop(number, None)


def as_safe_as(safety: str, items: Iterable[Item]) -> list[Item]:
    """Those of `items` that are safe or of that safety: unsafe ones and suggestions are never taken along unseen."""
    return [item for item in items if item.safety in ("safe", safety)]


def left_over(able: Sequence[Item], taken: Sequence[Item]) -> str:
    """What could be accepted and was not taken along: `2 unsafe, 1 suggestion left to decide`; empty if all was."""
    counts = Counter(item.safety for item in able) - Counter(item.safety for item in taken)
    suggested = count(counts["suggestion"], "suggestion")
    parts = [f"{counts['unsafe']} unsafe"] if counts["unsafe"] else []
    parts += [suggested] if counts["suggestion"] else []
    return f"{', '.join(parts)} left to decide" if parts else ""


def _edits(item: Item) -> tuple[Replacement, ...]:
    return item.problem.repair.edits if item.problem.repair is not None else ()


def _can(item: Item, decision: Decision | None) -> bool:
    match decision:
        case Decision.ACCEPTED:
            return item.can_accept
        case Decision.IGNORED:
            return item.can_ignore
        case _:
            return True


def _matched(old: Sequence[Item], new: Sequence[Item]) -> dict[int, int]:
    return paired([item.fingerprint for item in old], [item.fingerprint for item in new])
