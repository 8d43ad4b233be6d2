"""Which of the findings are shown."""

from dataclasses import dataclass, replace

from devfix.review.deciding import Decision
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

    @property
    def words(self) -> str:
        """What it says, for people; empty where it shows everything."""
        text = f"“{self.text}”" if self.text else ""
        return " · ".join(part for part in (text, self.code, self.safety, self.state) if part)


def state_of(decision: Decision | None) -> str:
    return UNDECIDED if decision is None else decision.value


def _searched(item: Item) -> str:
    """What a search looks through: the file, the rule, what is said, and the code."""
    problem = item.problem
    code = item.document.lines[problem.span.line - 1 : problem.span.end_line]
    return "\n".join([item.document.label, problem.code, problem.name, problem.message, item.remedy, *code]).casefold()
