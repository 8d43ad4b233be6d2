"""A file's content, put there whole or not at all: reports, baselines, and what else devfix keeps."""

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO


def put(file: str, data: bytes) -> None:
    """Make `data` the file's content, whole or not at all; what is no regular file, such as a pipe, is written to.

    Raises:
        OSError: the file cannot be written.
    """
    with replacing(file) as stream:
        stream.write(data)


@contextlib.contextmanager
def replacing(file: str) -> Iterator[IO[bytes]]:
    """A stream that becomes the file's content when the block ends: whole, or not at all where it raises.

    What is no regular file, such as a pipe, is written to as it goes.

    Raises:
        OSError: the file cannot be written.
    """
    path = Path(file)
    if path.exists() and not path.is_file():
        with path.open("wb") as stream:
            yield stream
        return
    path = path.resolve()
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as temporary:
            yield temporary
            temporary.flush()
            os.fsync(temporary.fileno())
        Path(name).chmod(path.stat().st_mode & 0o7777 if path.exists() else 0o666 & ~_umask())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _umask() -> int:
    mask = os.umask(0o022)
    os.umask(mask)
    return mask
