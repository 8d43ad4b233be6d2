"""Where a report goes: to standard output, or whole into a file."""

import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from devfix.atomic import put
from devfix.errors import UsageError


@contextmanager
def destination(file: str | None, option: str = "--output-file") -> Iterator[TextIO]:
    """A stream for the report. A file gets it when all of it is there, in UTF-8; one that exists is replaced.

    Raises:
        UsageError: the file cannot be written.
    """
    if file is None:
        yield sys.stdout
        return
    stream = io.TextIOWrapper(io.BytesIO(), "utf-8", errors="backslashreplace", newline="", write_through=True)
    yield stream
    try:
        put(file, stream.buffer.getvalue())
    except OSError as error:
        raise UsageError(f"{option} {file}: {error.strerror}") from error
