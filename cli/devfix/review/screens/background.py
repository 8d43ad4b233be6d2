"""What takes long and runs in a thread, while the screen goes on: a replay, and putting the new files together."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from devfix.review.session import Plan, Session
from textual.message import Message
from textual.message_pump import MessagePump
from textual.worker import get_current_worker

if TYPE_CHECKING:
    from devfix.replay import ReplayOptions


class _LeftError(Exception):
    """The user has left."""


class Progress(Message):
    """How far a thread is. It does not wait until that is shown: the screen may be an editor's for long."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text


def replay(screen: MessagePump, session: Session, options: "Callable[[], ReplayOptions]") -> list[str]:
    """Run the accepted fixes, and answer the report."""
    progress = _progress_on(screen)

    def advance(path: Path, step: str, seconds: float) -> None:
        progress(f"replay {path.name}: {step}, {seconds:.0f} s")

    return session.replay(options(), advance)


def put_together(screen: MessagePump, session: Session) -> Plan:
    """What the decisions make of the files."""
    progress = _progress_on(screen)

    def advance(done: int, total: int) -> None:
        progress(f"putting together: {done} of {total} files" if total > 1 else "")

    return session.plan(advance)


def _progress_on(screen: MessagePump) -> Callable[[str], None]:
    """Tell a screen how far this thread is. That ends the thread where the user has left."""
    worker = get_current_worker()

    def tell(text: str) -> None:
        if worker.is_cancelled:
            raise _LeftError
        if text:
            screen.post_message(Progress(text))

    return tell
