"""The application: the full screen around a session. It ends with the plan to write, or with None."""

import os
from collections.abc import Callable
from multiprocessing import resource_tracker
from typing import TYPE_CHECKING, ClassVar

from devfix.review import messages
from devfix.review.screens.dialogs import Question
from devfix.review.screens.main import MainScreen
from devfix.review.session import Plan, Session
from textual.app import App
from textual.binding import Binding, BindingType

if TYPE_CHECKING:
    from devfix.replay import ReplayOptions

INTERRUPTED = 130


class ReviewApp(App[Plan]):
    """The review of a session. Nothing is written here: that is for whoever runs it."""

    ENABLE_COMMAND_PALETTE = False
    TITLE = "devfix review"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("ctrl+c", "interrupt", show=False, priority=True)]

    def __init__(
        self, session: Session, replay: "Callable[[], ReplayOptions]", *, asks_to_resume: bool = False, notice: str = ""
    ) -> None:
        super().__init__()
        if os.name != "nt":
            resource_tracker.ensure_running()  # processes need it, and it cannot start once the screen is taken
        self.session = session
        self.replay = replay
        self._asks_to_resume = asks_to_resume
        self._notice = notice

    def on_mount(self) -> None:
        self.push_screen(MainScreen(self.session, self.replay, self._notice))
        kept = self.session.saved_review.load() if self._asks_to_resume else ()
        if kept:
            text = f"An interrupted review of these paths has {len(kept)} decisions."
            answers = [("r", "go on with it"), ("n", "begin anew, and drop them"), ("q", "quit")]
            self.push_screen(Question(text, answers), self._resumed)

    def action_interrupt(self) -> None:
        """End at once; `return_code` says why."""
        self.main.workers.cancel_all()
        self.exit(None, return_code=INTERRUPTED)

    def _resumed(self, answer: str | None) -> None:
        if answer == "q":
            self.exit(None)
        elif answer == "r":
            lost = self.session.resume(self.session.saved_review.load())
            self.main.refill()
            if lost:
                self.main.say("; ".join(messages.lost_lines(lost)))
        else:
            self.session.keep()

    @property
    def main(self) -> MainScreen:
        """The screen of the review itself."""
        return next(screen for screen in self.screen_stack if isinstance(screen, MainScreen))
