"""Starts the server on standard input and output."""

import os
import sys
from typing import BinaryIO

from devfix.errors import UsageError


def serve() -> int:
    """Serve until the client says `exit` or is gone; 0 where it had said `shutdown` before.

    Raises:
        UsageError: the extra `server` is not installed.
    """
    try:
        from devfix.server.features import new_server
    except ImportError as error:
        raise UsageError("devfix server needs pygls: pip install 'devfix[server]'") from error
    if sys.stdin.isatty():
        print("devfix server speaks with an editor on standard input; see docs/editors.md", file=sys.stderr)
    server = new_server()
    try:
        server.start_io(*_streams())
    finally:
        server.close()
    return 0 if server.stopped_properly else 1


def _streams() -> tuple[BinaryIO, BinaryIO]:
    """The client's ends. What else would be printed goes to standard error from here on, here and in workers."""
    incoming, outgoing = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return incoming, outgoing
