"""What the user is told when a run cannot be what was asked for."""

from collections.abc import Iterable, Sequence


class UsageError(Exception):
    """The run cannot start. The message is one line: what, where, what to do. Exit code 2.

    `details` are lines below it, where the message speaks of several things.
    """

    def __init__(self, message: str, details: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.details = tuple(details)


def close_match(word: str, known: Iterable[str]) -> str:
    """`; did you mean …?` or nothing."""
    from difflib import get_close_matches

    found = get_close_matches(word, list(known), n=1)
    return f"; did you mean {found[0]!r}?" if found else ""
