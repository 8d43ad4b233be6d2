"""Which exceptions are device errors, and where in the script's own code they arose.

The messages are those that torch, torchmetrics and DistributedDataParallel raise, in the wordings of torch 1.x to
2.13; alternatives that differ only by release stand in one pattern.
"""

from __future__ import annotations

import os.path
import re
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import TypedDict

MESSAGE_LIMIT = 500

DEVICE_ERRORS = tuple(
    re.compile(pattern)
    for pattern in (
        # Tensors of two devices in one operation (TensorIterator, generated wrappers, `cat`, nested checks).
        r"(?:to|must) (?:all )?(?:be (?:on|in)|have) (?:the )?same (?:GPU )?device",
        r"Input, output and indices must be on the current device",
        r"should have same device type, but got",
        r"Expected self\.device\(\) == \w+\.device\(\) to be true",
        r"Trying to pass too many CPU scalars to non-CPU kernel",
        r"Expected out tensor to have device \S+ but got \S+ instead",
        r"Bad in-place call: input tensor device \S+ and output tensor device",
        r"Expected \w+\.get_device\(\) == \w+\.get_device\(\) to be true",
        r"Expected tensor to have \w+ Device, but got tensor with \w+ Device",
        r"tensor_split expected \w+ to be on cpu",
        r"[Ss]calar tensor (?:is )?expected to be on \S+ but is on",
        r"set the storage of a tensor on device \S+ to a storage on different device",
        r"assigned grad has data located on a different device",
        r"attempting to assign a gradient (?:with device type|located on device)",
        r"legacy constructor expects device type: \w+ but device type: \w+ was passed",
        r"[Ee]xpected device \S+ but got device",
        r"Tensor on device \S+ is not on the expected device",
        r"Tensor for argument #?\d+ '\w+' is on \w+, but expected (?:it|them) to be on",
        r"Tensor for argument \w+ is on \w+ but expected on",
        r"Expected object of (?:backend|device type) \w+ but got (?:backend|device type)",
        r"expected backend \w+ and dtype \w+ but got backend",
        r"arguments are located on different GPUs",
        r"indices should be (?:either )?on (?:cpu|the same device)",
        r"Input and \w+ tensors are not at the same device",
        r"Input type \(torch\.\w+\) and \w+ type \((?:torch\.\w+\.|MPS)\w+\) should be the same",
        r"Input type \((?:torch\.\w+\.|MPS)\w+\) and \w+ type \(torch\.\w+\) should be the same",
        r"Placeholder storage has not been allocated on MPS device",
        r"lengths.* should be a 1D CPU int64 tensor(?!, but got \d+D cpu )",
        r"Expected a '\S+' (?:device type for generator|generator device) but found",
        r"RNG state must be a torch\.ByteTensor",
        r"\bmust be (?:a )?(?:CPU|CUDA) tensor",  # extensions of torch, such as torch_scatter
        # A device tensor where the host is wanted.
        r"can't convert \S+(?: device type)? tensor to numpy",
        r"cannot pin '\S+' only dense CPU tensors can be pinned",
        # An accelerator asked for where there is none, or one fewer than asked for.
        r"Torch not compiled with \w+ enabled",
        r"[Nn]ot linked with support for \w+ devices",
        r"No (?:CUDA|XPU|HIP) (?:GPUs|devices) are available",
        r"Found no NVIDIA driver",
        r"Attempting to deserialize object on (?:a )?\S+ device",
        r"Cannot access accelerator device when none is available",
        r"Cannot get \w+ generator without ATen_\w+ library",
        r"module 'torch\._C' has no attribute '_cuda_\w+'",
        r"invalid device ordinal",
        # Workers, wrappers and metrics.
        r"Cannot re-initialize CUDA in forked subprocess",
        r"CUDA error: initialization error",
        r"module must have its parameters and buffers on device",
        r"DistributedDataParallel device_ids and output_device arguments only work",
        r"Encountered different devices in metric calculation",
        # The device type of autocast and GradScaler.
        r"__init__\(\) missing 1 required positional argument: 'device_type'",
        r"autocast\S* got an unexpected keyword argument 'device'",
        r"User specified an unsupported autocast device_type",
        r"User specified autocast device_type must be",
        r"Expected `device_type` of type `str`",
    )
)


_FRAME = re.compile(r'^ *File "(.+?)", line (\d+), in ', re.MULTILINE)
_NAME_OF_ERROR = re.compile(r"^(?:\w+\.)*\w*(?:Error|Exception): ")
"""What stands before the message in the last line of a traceback."""


class ErrorRecord(TypedDict):
    """An exception as it goes into the journal."""

    type: str
    message: str
    file: str | None
    line: int | None
    device: bool


def describe(error: BaseException, root: Path) -> ErrorRecord:
    """What to tell of `error`: itself, or the device error behind it where there is one."""
    found = device_error(error)
    if found is not None:
        link, text = found
        place = elsewhere(error, root) or _innermost(traceback_of(link, error, root), root)
        return _record(link, place, _NAME_OF_ERROR.sub("", text), True)
    told = _reason(error)
    place = _unread(told, root) or _innermost(told.__traceback__, root)
    return _record(told, place, next(iter(str(told).splitlines()), ""), False)


def device_error(error: BaseException) -> tuple[BaseException, str] | None:
    """The device error in the chain of causes of `error`, and the line of its message that says so."""
    for link in chain(error):
        text = _device_line(str(link))
        if text is not None:
            return link, text
    return None


def traceback_of(link: BaseException, error: BaseException, root: Path) -> TracebackType | None:
    """The traceback of `link`, or that of `error` where a library raised and caught `link` all by itself."""
    alone = _innermost(link.__traceback__, root) == (None, None)
    return error.__traceback__ if alone else link.__traceback__


def elsewhere(error: BaseException, root: Path) -> tuple[str, int] | None:
    """Where in the tree `error` arose, if in another process: then the traceback from there is in a message."""
    texts = [text for text in map(str, chain(error)) if "Traceback (most recent call last)" in text]
    frames = [(inside(file, root), int(line)) for text in texts for file, line in _FRAME.findall(text)]
    return next(((file, line) for file, line in reversed(frames) if file is not None), None)


def _record(error: BaseException, place: tuple[str | None, int | None], message: str, device: bool) -> ErrorRecord:
    return {
        "type": type(error).__name__,
        "message": message[:MESSAGE_LIMIT],
        "file": place[0],
        "line": place[1],
        "device": device,
    }


def chain(error: BaseException | None) -> Iterator[BaseException]:
    """`error`, what it was raised from or while handling, and so on."""
    seen = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


def _reason(error: BaseException) -> BaseException:
    """The exception for which a script called `sys.exit` in its handler, else `error`."""
    if isinstance(error, SystemExit) and error.__context__ is not None:
        return error.__context__
    return error


def _device_line(message: str) -> str | None:
    for line in message.splitlines():
        if any(pattern.search(line) for pattern in DEVICE_ERRORS):
            return line.strip()
    return None


def _innermost(trace: TracebackType | None, root: Path) -> tuple[str | None, int | None]:
    found: tuple[str | None, int | None] = (None, None)
    while trace is not None:
        file = inside(trace.tb_frame.f_code.co_filename, root)
        if file is not None:
            found = (file, trace.tb_lineno)
        trace = trace.tb_next
    return found


def frames(error: BaseException, root: Path) -> list[tuple[str, int]]:
    """Where in the tree the device error in the chain of `error`, or itself, came by: the outermost frame first."""
    found = device_error(error)
    link = found[0] if found is not None else _reason(error)
    trace, listed = traceback_of(link, error, root), list[tuple[str, int]]()
    while trace is not None:
        file = inside(trace.tb_frame.f_code.co_filename, root)
        if file is not None:
            listed.append((file, trace.tb_lineno))
        trace = trace.tb_next
    return listed


def _unread(error: BaseException, root: Path) -> tuple[str, int | None] | None:
    """Where a file of the tree is no Python: it has no frame, for it never ran."""
    file = inside(error.filename or "", root) if isinstance(error, SyntaxError) else None
    return (file, error.lineno) if file is not None and isinstance(error, SyntaxError) else None


def inside(file: str, root: Path) -> str | None:
    """`file` relative to `root` with forward slashes, or None where it is not the tree's own code."""
    try:
        # An entry of `sys.path` such as `tools/..` stands as it is in the names of the files found there.
        relative = Path(os.path.normpath(file)).relative_to(root)
    except ValueError:
        return None
    return None if "site-packages" in relative.parts else relative.as_posix()
