"""Messages between devfix and the processes that fork for it: JSON after its length, with descriptors."""

from __future__ import annotations

import json
import socket
import struct
from collections.abc import Sequence
from typing import Any, NamedTuple

_LENGTH = struct.Struct("!I")
_CREDENTIALS = struct.Struct("3i")
_MOST_DESCRIPTORS = 4
_CHUNK = 1 << 20


class Message(NamedTuple):
    """What was received. `sender` is the process that sent it, where the socket is to tell (`SO_PASSCRED`)."""

    content: dict[str, Any]
    descriptors: list[int]
    sender: int | None


def send(link: socket.socket, content: dict[str, Any], descriptors: Sequence[int] = ()) -> None:
    """Send a message.

    Raises:
        OSError: nobody is there.
    """
    data = json.dumps(content).encode()
    socket.send_fds(link, [_LENGTH.pack(len(data))], list(descriptors))
    link.sendall(data)


def receive(link: socket.socket) -> Message | None:
    """The next message, None where nobody is there to send one."""
    room = socket.CMSG_SPACE(4 * _MOST_DESCRIPTORS) + socket.CMSG_SPACE(_CREDENTIALS.size)
    try:
        head, told, _, _ = link.recvmsg(_LENGTH.size, room, socket.MSG_CMSG_CLOEXEC)
        head += _exactly(link, _LENGTH.size - len(head)) if head else b""
        if len(head) < _LENGTH.size:
            return None
        content = json.loads(_exactly(link, _LENGTH.unpack(head)[0]))
    except (OSError, ValueError):
        return None
    return Message(content, _descriptors(told), _sender(told))


def _exactly(link: socket.socket, size: int) -> bytes:
    """So many bytes, fewer where they end."""
    data = b""
    while len(data) < size and (chunk := link.recv(min(size - len(data), _CHUNK))):
        data += chunk
    return data


def _descriptors(told: Sequence[tuple[int, int, bytes]]) -> list[int]:
    found = [data for level, kind, data in told if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS)]
    return [number for data in found for number in struct.unpack(f"{len(data) // 4}i", data)]


def _sender(told: Sequence[tuple[int, int, bytes]]) -> int | None:
    credentials = (data for level, kind, data in told if (level, kind) == (socket.SOL_SOCKET, socket.SCM_CREDENTIALS))
    return next((_CREDENTIALS.unpack(data)[0] for data in credentials), None)
