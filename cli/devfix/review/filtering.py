"""Which of the findings are shown."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from devfix.review.decisions import Decision
from devfix.review.documents import Item

UNDECIDED = "undecided"


@dataclass(frozen=True)
class Filter:
    """What to show: findings with this text, of this rule, with this safety, in this state. None stands for all."""

    text: str = ""
    code: str | None = None
    safety: str | None = None
    state: str | None = None

    def shows(self, item: Item, decision: Decision | None) -> bool:
        """Whether a finding with that decision is shown."""
        return (
            self.code in (None, item.code)
            and self.safety in (None, item.safety)
            and self.state in (None, state_of(decision))
            and (not self.text or self.text.casefold() in _searched(item))
        )

    def searching(self, text: str) -> "Filter":
        return replace(self, text=text)

    def choosing(self, key: str) -> "Filter":
        """The filter with one of the `choices` besides."""
        kind, _, word = key.partition(" ")
        match kind:
            case "code":
                return replace(self, code=word)
            case "safety":
                return replace(self, safety=word)
            case "state":
                return replace(self, state=word)
            case _:
                return Filter()

    @property
    def words(self) -> str:
        """What it says, for people; empty where it shows everything."""
        text = f"“{self.text}”" if self.text else ""
        return " · ".join(part for part in (text, self.code, self.safety, self.state) if part)


def choices(items: Sequence[Item]) -> list[tuple[str, str]]:
    """What to choose from: keys, and the words for them."""
    rules = Counter((item.code, item.problem.name) for item in items)
    found = {item.safety for item in items}
    return [
        ("all", "everything"),
        *((f"code {code}", f"{code} {name} ({number})") for (code, name), number in sorted(rules.items())),
        *((f"safety {word}", word) for word in ("safe", "unsafe", "suggestion", "advice") if word in found),
        *((f"state {word}", word) for word in (UNDECIDED, *Decision)),
    ]


def state_of(decision: Decision | None) -> str:
    return UNDECIDED if decision is None else decision.value


def _searched(item: Item) -> str:
    """What a search looks through: the file, the rule, what is said, and the code."""
    problem = item.problem
    code = item.document.lines[problem.span.line - 1 : problem.span.end_line]
    return "\n".join([item.document.label, problem.code, problem.name, problem.message, item.remedy, *code]).casefold()
