"""Where the values of a test suite live: what tests make on the device, what the library makes where its code says.

A call of the library that was given nothing of a device cannot know of one: what it gives back is on the host, and its
caller would move it where it has to be on a device. State that an object keeps is not: nobody but the library can move
it.
"""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Iterable, Iterator, Sequence
from types import FrameType
from typing import Any

import torch

from ..simulated.claims import HOST, Claim, claim_of, interned, place_of
from ..simulated.policy import PlacementPolicy
from .files import TESTS
from .given import devices_and_tensors
from .standing import Standing, Stands, arguments, constructed


class OwedClaim(Claim):
    """On the host because the tests said so, or left out a `device`: theirs to move where it meets a device."""

    __slots__ = ()


class KeptClaim(Claim):
    """On the host, made by a call that knew of no device. Where the tests hand it on, it is theirs to move."""

    __slots__ = ()


class _Thread(threading.local):
    constructing = 0


class SuitePolicy(PlacementPolicy):
    """The policy for a suite. `kind` is the type of the device."""

    shares_with_forks = True

    def __init__(self, kind: str, stands: Stands) -> None:
        self.device = interned(torch.device(kind, 0))
        self._stands = stands
        self._thread = _Thread()

    def birthplace(self, place: torch.device) -> torch.device:
        return self.device if place is HOST and self._is_placed(self._stands.here()) else place

    def _is_placed(self, standing: Standing) -> bool:
        if standing.owner == TESTS:
            return True
        entry = standing.entry
        if entry is None or self._thread.constructing or self.knows_device(entry) or _knows_host(entry):
            return False
        made = constructed(entry)
        return made is not None and _can_be_told(made, entry)

    def _is_for_tests(self, standing: Standing) -> bool:
        """Whether a module that is made now is one that the tests get, and would move."""
        entry = standing.entry
        if standing.owner == TESTS or entry is None:
            return standing.owner == TESTS
        return not (constructed(entry) or self.knows_device(entry) or _knows_host(entry))

    def draws_anywhere(self) -> bool:
        return self._stands.here().owner == TESTS

    def knows_device(self, entry: FrameType) -> bool:
        """Whether the tests gave something of a device to the library's function `entry`."""
        return any(map(self._is_of_device, devices_and_tensors(arguments(entry))))

    def _is_of_device(self, value: Any) -> bool:
        if isinstance(value, torch.Tensor):
            return place_of(value).type == self.device.type
        if isinstance(value, str):
            return value.partition(":")[0] == self.device.type
        return bool(value.type == self.device.type)

    def claim_type(self, place: torch.device) -> type[Claim]:
        if place is not HOST:
            return Claim
        standing = self._stands.here()
        if standing.owner == TESTS:
            return OwedClaim
        entry = standing.entry
        if entry is None:
            return Claim
        if _knows_host(entry):
            return OwedClaim
        return Claim if self._thread.constructing or self.knows_device(entry) else KeptClaim

    def excuses(self, arguments_: Sequence[tuple[str, Any]]) -> bool:
        """In tests always: what they compare is theirs. In the library where what is on the host is the tests' to move.

        It is moved now, with all that was computed from it.
        """
        standing = self._stands.here()
        if standing.owner == TESTS:
            return True
        entry = standing.entry
        if entry is None or self._thread.constructing:
            return False
        if not self.knows_device(entry):
            return True
        claims = [claim_of(tensor) for _, tensor in arguments_]
        theirs = [claim for claim in claims if claim is not None and self._is_theirs(claim, entry)]
        for claim in theirs:
            claim.place = self.device
        return bool(theirs)

    def _is_theirs(self, claim: Claim, entry: FrameType) -> bool:
        """Whether a claim on the host is the tests' to change."""
        if claim.place is not HOST or not isinstance(claim, (OwedClaim, KeptClaim)):
            return False
        return isinstance(claim, OwedClaim) or any(claim_of(one) is claim for one in _handed(entry))

    def reads_from_host(self) -> bool:
        standing = self._stands.here()
        if standing.owner == TESTS:
            return True
        return standing.entry is not None and not self.knows_device(standing.entry)

    # Modules

    @contextlib.contextmanager
    def construction(self, module: Any) -> Iterator[None]:
        """While a module is constructed. The outermost one is then moved, where it is one that the tests would move."""
        is_outermost = not self._thread.constructing
        is_placed = is_outermost and self._is_for_tests(self._stands.here())
        self._thread.constructing += 1
        try:
            yield
        finally:
            self._thread.constructing -= 1
        if is_placed:
            # One that cannot be moved (it has parameters on meta, say) is not, as on a device.
            with contextlib.suppress(Exception):
                module.to(self.device)


def _handed(entry: FrameType) -> Iterator[torch.Tensor]:
    """The tensors that were handed to `entry`: not those of the object whose method it is."""
    receiver = entry.f_locals.get("self")
    given = (value for value in arguments(entry) if value is not receiver)
    return (value for value in devices_and_tensors(given) if isinstance(value, torch.Tensor))


def _knows_host(entry: FrameType) -> bool:
    """Whether the tests gave something of the host to the library's function `entry`, which then works there."""
    return any(map(_is_of_tests_host, devices_and_tensors(arguments(entry))))


def _is_of_tests_host(value: Any) -> bool:
    """Whether a value that the tests gave to the library says: on the host."""
    if isinstance(value, torch.Tensor):
        claim = claim_of(value)
        return claim is not None and claim.place is HOST and isinstance(claim, (OwedClaim, KeptClaim))
    return value == "cpu" if isinstance(value, str) else bool(value.type == "cpu")


def _can_be_told(made: Any, constructor: FrameType) -> bool:
    """Whether an object that knows of no device can be told of one: by a parameter, or by a method."""
    if isinstance(made, torch.nn.Module):
        return False
    code = constructor.f_code
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    return any("device" in name for name in names) or callable(getattr(type(made), "to", None))


def follow_modules(policy: SuitePolicy, is_of_project: Any) -> None:
    """Have every module of the project whose class is made from now on constructed under `policy`.

    `is_of_project` says whether a file is of the project.
    """

    def follow(cls: Any, /, **kwargs: Any) -> None:
        super(torch.nn.Module, cls).__init_subclass__(**kwargs)
        constructor = vars(cls).get("__init__")
        code = getattr(constructor, "__code__", None)
        if code is not None and is_of_project(code.co_filename):
            cls.__init__ = _constructing(constructor, policy)

    torch.nn.Module.__init_subclass__ = classmethod(follow)  # type: ignore[assignment]


def _constructing(constructor: Any, policy: SuitePolicy) -> Any:
    @functools.wraps(constructor)
    def wrapped(self: Any, *args: Any, **kwargs: Any) -> None:
        with policy.construction(self):
            constructor(self, *args, **kwargs)

    return wrapped


def compare_anywhere(names: Iterable[str] = ("TensorLikePair",)) -> None:
    """Have `torch.testing` compare tensors of different places by their values: what tests expect is made anywhere."""
    for name in names:
        pair = getattr(torch.testing._comparison, name)
        pair.__init__ = _without_devices(pair.__init__)


def _without_devices(constructor: Any) -> Any:
    @functools.wraps(constructor)
    def wrapped(self: Any, *args: Any, **kwargs: Any) -> None:
        constructor(self, *args, **kwargs)
        self.check_device = False

    return wrapped
