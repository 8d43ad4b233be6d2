"""Streams and events of the simulated device: the work is done when the call returns, so nothing ever waits.

Only the C classes below torch's own `torch.cuda.Stream` and `torch.cuda.Event` are ours. Meanings and messages are
those of `c10/cuda/CUDAStream.h` and `CUDAEvent.h`.
"""

from __future__ import annotations

import importlib
import itertools
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import torch

from .state import Simulation

_CUDA = 1
"""`c10::DeviceType::CUDA`."""

_PRIORITIES = (0, -3)
"""Least and greatest: `max_compile_time_stream_priorities` of CUDAStream.h is 4."""

_Stream: Any = torch.Stream
_Event: Any = getattr(torch, "Event", object)

_stream_numbers = itertools.count(1)
_event_numbers = itertools.count(1)


class _Current(threading.local):
    """The stream that is current in this thread, by device; the default stream, 0, where there is no entry."""

    def __init__(self) -> None:
        self.numbers: dict[int, int] = {}


_current = _Current()


class StreamBase(_Stream):  # type: ignore[misc]
    """What `torch.cuda.Stream` derives from: `torch._C._CudaStreamBase`."""

    priority: int
    _contexts: list[Any]

    def __new__(
        cls,
        priority: int = 0,
        stream_id: int | None = None,
        device_index: int | None = None,
        device_type: int = _CUDA,
        stream_ptr: int = 0,
    ) -> Any:
        index = torch.cuda.current_device() if device_index is None else device_index
        number = (stream_ptr or next(_stream_numbers)) if stream_id is None else stream_id
        stream = super().__new__(cls, stream_id=number, device_index=index, device_type=device_type)
        least, greatest = _PRIORITIES
        stream.priority, stream._contexts = max(greatest, min(least, priority)), []
        return stream

    def __init__(self, *_args: Any, **_kwargs: Any) -> None:
        """Everything is done in `__new__`, as in C++."""

    @staticmethod
    def priority_range() -> tuple[int, int]:
        return _PRIORITIES

    @property
    def cuda_stream(self) -> int:
        """Stands for the address of a `cudaStream_t`: 0 for the default stream."""
        number: int = self.stream_id
        return number

    native_handle = cuda_stream

    def query(self) -> bool:
        return True

    def is_capturing(self) -> bool:
        return False

    def synchronize(self) -> None:
        """All work is done."""

    def wait_event(self, event: Any) -> None:
        """It has happened."""

    def wait_stream(self, stream: Any) -> None:
        """All of its work is done."""

    def record_event(self, event: Any = None) -> Any:
        recorded = torch.Event(torch.device("cuda", self.device_index)) if event is None else event
        recorded.record(self)
        return recorded

    def __enter__(self) -> Any:
        context: Any = torch.cuda.stream(self)
        context.__enter__()
        self._contexts.append(context)
        return self

    def __exit__(self, *error: Any) -> None:
        self._contexts.pop().__exit__(*error)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StreamBase) and (self.stream_id, self.device_index) == (
            other.stream_id,
            other.device_index,
        )

    __hash__ = _Stream.__hash__


class EventBase(_Event):  # type: ignore[misc]
    """What `torch.cuda.Event` derives from: `torch._C._CudaEventBase`."""

    cuda_event: int
    _index: int | None
    _time: float | None
    _timed: bool

    def __new__(cls, enable_timing: bool = False, **_flags: Any) -> Any:
        event = super().__new__(cls)
        event._timed, event._time, event._index, event.cuda_event = enable_timing, None, None, 0
        return event

    def __init__(self, *_args: Any, **_kwargs: Any) -> None:
        """Everything is done in `__new__`, as in C++."""

    @property
    def device(self) -> torch.device | None:
        """None before the event was recorded."""
        return None if self._index is None else torch.device("cuda", self._index)

    def record(self, stream: Any = None) -> None:
        index = torch.cuda.current_device() if stream is None else stream.device_index
        if self._index is None:
            self._index = index
        if self._index != index:
            raise RuntimeError(f"Event device {self._index} does not match recording stream's device {index}.")
        self.cuda_event = self.cuda_event or next(_event_numbers)
        self._time = time.perf_counter()

    def wait(self, stream: Any = None) -> None:
        """It has happened."""

    def query(self) -> bool:
        return True

    def synchronize(self) -> None:
        """It has happened."""

    def elapsed_time(self, end: Any) -> float:
        """Milliseconds of the host's clock."""
        if not (self._timed and end._timed):
            raise ValueError("Both events must be created with argument 'enable_timing=True'.")
        if self._time is None or end._time is None:
            raise ValueError("Both events must be recorded before calculating elapsed time.")
        milliseconds: float = (end._time - self._time) * 1e3
        return milliseconds


class _AlsoForTorchsOwn(type):
    """`isinstance` and `issubclass` also hold for what is of `former`, the class that was there before."""

    def __instancecheck__(cls, instance: Any) -> bool:
        former = cls.__dict__.get("former")
        return super().__instancecheck__(instance) if former is None else isinstance(instance, former)

    def __subclasscheck__(cls, subclass: type) -> bool:
        former = cls.__dict__.get("former")
        return super().__subclasscheck__(subclass) if former is None else issubclass(subclass, former)


def _generic_classes(simulation: Simulation) -> tuple[type, type]:
    """`torch.Stream` and `torch.Event`, which are for any device."""

    def place(device: Any) -> torch.device:
        return simulation.resolve(simulation.kind if device is None else device)

    class Stream(StreamBase, metaclass=_AlsoForTorchsOwn):
        former = _Stream

        def __new__(cls, device: Any = None, *, priority: int = 0, **ids: Any) -> Any:
            if "stream_id" in ids:
                return _Stream(device, **ids) if ids.get("device_type") != _CUDA else super().__new__(cls, **ids)
            where = place(device)
            if not simulation.is_device(where):
                return _Stream(where)
            return super().__new__(cls, priority=priority, device_index=where.index)

    class Event(EventBase, metaclass=_AlsoForTorchsOwn):
        former = _Event

        def __new__(cls, device: Any = None, *, enable_timing: bool = False, **_flags: Any) -> Any:
            where = place(device)
            if not simulation.is_device(where):
                return _Event(where, enable_timing=enable_timing)
            event = super().__new__(cls, enable_timing)
            event._index = where.index
            return event

    for made in (Stream, Event):
        made.__module__, made.__qualname__ = "torch", made.__name__
    return Stream, Event


def bindings(simulation: Simulation) -> dict[str, Callable[..., Any]]:
    """The functions of `torch._C` that get and set streams."""

    def index_of(device: int) -> int:
        return simulation.current if device < 0 else device

    def current(device: int) -> tuple[int, int, int]:
        return _current.numbers.get(index_of(device), 0), index_of(device), _CUDA

    def select(stream_id: int, device_index: int, device_type: int) -> None:
        simulation.current = device_index
        _current.numbers[device_index] = stream_id

    return {
        "_CudaStreamBase": StreamBase,
        "_CudaEventBase": EventBase,
        "_cuda_getCurrentStream": current,
        "_cuda_getCurrentRawStream": lambda device: current(device)[0],
        "_cuda_getDefaultStream": lambda device: (0, index_of(device), _CUDA),
        "_cuda_setStream": select,
        "_cuda_synchronize": lambda: None,
    }


def install(simulation: Simulation) -> None:
    """Have torch derive its classes from ours, which are in `torch._C` by now."""
    module = importlib.reload(sys.modules["torch.cuda.streams"])
    for name in ("Stream", "ExternalStream", "Event"):
        setattr(torch.cuda, name, getattr(module, name))
    for made in _generic_classes(simulation):
        if hasattr(torch, made.__name__):
            setattr(torch, made.__name__, made)
