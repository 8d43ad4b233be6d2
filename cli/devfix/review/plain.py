"""The review as a prompt, a line at a time: for terminals without a full screen, and for pipes."""

import os
import sys
from collections.abc import Callable
from enum import Enum, auto
from typing import TYPE_CHECKING

from devfix.errors import UsageError
from devfix.operations.rules import explain
from devfix.reporting import diff
from devfix.reporting.progress import replay_progress
from devfix.reporting.terminal import Printer, visible
from devfix.reporting.text import finding
from devfix.results import Failed
from devfix.review import messages
from devfix.review.decisions import Decision, as_safe_as, left_over
from devfix.review.documents import Item
from devfix.review.editor import EditorError, edit
from devfix.review.session import Plan, Session

if TYPE_CHECKING:
    from devfix.replay import ReplayOptions

HELP = """\
y  accept this fix                      n  refuse it
a  accept it and the rest of the file   d  refuse it and the rest of the file
A  accept it and the rest of the rule   D  refuse it and the rest of the rule
i  write a `# devfix: ignore` comment   s  skip it: leave it undecided
u  undo the last decision               e  open the file in $EDITOR
r  the page of the rule                 p  replay what is accepted
w  go on to writing                     q  quit; decisions are kept for --resume
?  this help
`a` and `A` take along unsafe fixes only where this fix is unsafe too, suggestions only where it is one."""


class Ending(Enum):
    """How the questions ended."""

    TO_WRITE = auto()
    QUIT = auto()


class Prompt:
    """Asks about one finding after the other."""

    def __init__(self, session: Session, printer: Printer, replay: "Callable[[], ReplayOptions]") -> None:
        self._session = session
        self._printer = printer
        self._replay_options = replay
        self._skipped: set[int] = set()
        self._actions: dict[str, Callable[[Item], None]] = {
            "y": lambda item: self._decide(self._session.review.same_change(item), Decision.ACCEPTED),
            "n": lambda item: self._decide(self._session.review.same_change(item), Decision.REFUSED),
            "i": lambda item: self._decide([item], Decision.IGNORED),
            "a": lambda item: self._accept(item, self._session.review.rest_of_file(item)),
            "d": lambda item: self._decide(self._session.review.rest_of_file(item), Decision.REFUSED),
            "A": lambda item: self._accept(item, self._session.review.rest_of_rule(item)),
            "D": lambda item: self._decide(self._session.review.rest_of_rule(item), Decision.REFUSED),
            "s": lambda item: self._skipped.add(item.number),
            "u": self._undo,
            "e": self._edit,
            "r": lambda item: self._page(item),
            "p": self._replay,
            "?": lambda _item: self._say(HELP),
        }

    def decide(self) -> Ending:
        """Ask until nothing is undecided, or the user has had enough."""
        shown: int | None = None
        while (item := self._next()) is not None:
            if item.number != shown:
                self._show(item)
            shown = item.number
            answer = self._ask(self._question(item))
            if answer is None or answer == "q":
                return Ending.QUIT
            if answer == "w":
                return Ending.TO_WRITE
            action = self._actions.get(answer)
            if action is None or (answer in "yai" and not self._allowed(answer, item)):
                self._say(HELP if action is None else "That cannot be done here.")
                continue
            action(item)
            if answer in "uep":
                shown = None
            if self._session.trouble is not None:
                self._say(self._session.trouble)
        return Ending.TO_WRITE

    def confirm(self, plan: Plan) -> bool:
        """Show what would be written, and ask whether it shall be."""
        self._printer.lines(messages.plan_lines(plan) + messages.doubts(self._session))
        if not plan.changed:
            return True
        while True:
            answer = self._ask(f"Write {messages.amount(plan)} [y,n,d,?]? ")
            if answer == "d":
                diff.show(plan.patch())
            elif answer == "?":
                self._say("y  write\nn  leave; decisions are kept for --resume\nd  show the combined diff")
            elif answer in (None, "n", "q"):
                return False
            elif answer == "y":
                return True

    def _next(self) -> Item | None:
        return next((item for item in self._session.review.undecided if item.number not in self._skipped), None)

    def _question(self, item: Item) -> str:
        review = self._session.review
        at = f"({review.items.index(item) + 1}/{len(review.items)})"
        if not item.can_accept:
            return f"{at} Leave it, or ignore it [n,{'i,' if item.can_ignore else ''}d,D,s,u,e,r,p,w,q,?]? "
        kind = "suggested" if item.problem.is_suggestion else item.safety
        return f"{at} Apply this {kind} fix [y,n,a,d,A,D,{'i,' if item.can_ignore else ''}s,u,e,r,p,w,q,?]? "

    def _allowed(self, answer: str, item: Item) -> bool:
        return item.can_ignore if answer == "i" else item.can_accept

    def _show(self, item: Item) -> None:
        lines = finding(item.document.label, item.problem, item.document.text, self._printer.width)
        verdict = self._session.verdicts.get(item.number)
        if verdict is not None:
            lines.append([("  = replay: ", "fix"), (visible(" ".join((verdict.words, *verdict.lines))), "")])
        if item.document.obstacle is not None:
            lines.append([("  = not written: ", "unsafe"), (item.document.obstacle, "")])
        self._printer.lines(lines)

    def _decide(self, items: list[Item], decision: Decision) -> None:
        changed = self._session.decide(items, decision)
        if len(changed) > 1:
            self._say(f"{len(changed)} {decision}")

    def _accept(self, item: Item, rest: list[Item]) -> None:
        able = [other for other in rest if other.can_accept]
        taken = as_safe_as(item.safety, able)
        self._decide(taken, Decision.ACCEPTED)
        if left := left_over(able, taken):
            self._say(left)

    def _undo(self, _item: Item) -> None:
        self._skipped.clear()
        if not self._session.undo():
            self._say("Nothing to undo.")

    def _edit(self, item: Item) -> None:
        line = item.problem.span.line if not item.problem.cells else None
        try:
            edit(item.path, line)
        except EditorError as error:
            self._say(str(error))
            return
        renewed = self._session.renew(item.document)
        if isinstance(renewed, Failed):
            self._say(f"{visible(renewed.target.label)}: {visible(renewed.reason)}")
        else:
            self._say(messages.renewed_line(item.document.label, renewed))

    def _page(self, item: Item) -> None:
        sys.stdout.flush()
        explain(item.code)

    def _replay(self, _item: Item) -> None:
        try:
            with replay_progress(self._session.ask.quiet) as tell:
                lines = self._session.replay(self._replay_options(), tell)
        except UsageError as error:
            lines = [str(error)]
        for line in lines:
            self._printer.paragraph(visible(line))

    def _ask(self, question: str) -> str | None:
        """The answer, its first word; None at the end of input."""
        print(question, end="", flush=True)
        line = sys.stdin.readline()
        if not line:
            print()
            return None
        if not _is_terminal():
            print(visible(line.strip()))
        return line.split()[0] if line.split() else ""

    def _say(self, text: str) -> None:
        for line in text.splitlines():
            self._printer.line((line, ""))


def is_due(stream_is_terminal: bool) -> bool:
    """Whether there is no full screen to be had."""
    return not stream_is_terminal or not _is_terminal() or os.environ.get("TERM", "") in ("dumb", "")


def _is_terminal() -> bool:
    return sys.stdin.isatty()
