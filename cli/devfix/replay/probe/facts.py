"""What can be said of a value without touching it: its kind, and where its tensors are.

Reading a place, a shape, or a dtype neither waits for a device nor moves anything, and works after a device failed.
"""

from __future__ import annotations

import collections
import linecache
import re
import sys
import time
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import errors, reach

MEMBERS_LIMIT = 20_000
"""How many tensors of one module, optimizer or batch are looked at."""
NAMED_LIMIT = 12
"""How many of them are told by name."""
HISTORY_LIMIT = 8
NAME_LIMIT = 200
BATCH_DEPTH = 2

_DEVICE_NAME = re.compile(r"(cpu|cuda|xpu|mps|npu)(:\d+)?")

_PLACELESS = (type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType, types.MethodType)

Record = dict[str, Any]


@dataclass(frozen=True)
class Part:
    """A tensor of a value: its name there, the identity of its storage, and that of its claim (0 without one)."""

    name: str
    storage: int
    claim: int


@dataclass
class Described:
    """`record` is what goes into the journal, `parts` are the tensors behind it."""

    record: Record
    parts: list[Part] = field(default_factory=list)

    def places(self) -> set[str]:
        """Every place that a part of it is at."""
        if "place" in self.record:
            return {self.record["place"]}
        return set(self.record.get("places", ())) | {item["place"] for item in self.record.get("items", ())}


class Facts:
    """Describes values until `deadline` (of `time.monotonic`), after which nothing more has any place.

    `claims` is the module of the simulation that knows the places which tensors claim, None on real hardware. Paths are
    told relative to `root`.
    """

    def __init__(self, torch: Any, root: Path, claims: Any, deadline: float) -> None:
        self._torch = torch
        self._root = root
        self._claims = claims
        self._deadline = deadline

    @property
    def late(self) -> bool:
        return time.monotonic() > self._deadline

    def describe(self, value: Any) -> Described | None:
        """What there is to say of `value`, None where it has no place."""
        if self.late:
            return None
        if self._is_tensor(value):
            return self._tensor(value)
        for kind, describe in self._kinds():
            if reach.is_a(value, kind):
                return describe(value)
        if type(value) is str and _DEVICE_NAME.fullmatch(value):
            return Described({"kind": "other", "type": "device", "place": value})
        return None if any(reach.is_a(value, kind) for kind in _PLACELESS) else self._batch(value)

    def _kinds(self) -> Iterator[tuple[type, Callable[[Any], Described | None]]]:
        torch = self._torch
        yield torch.nn.Module, self._module
        yield torch.optim.Optimizer, self._optimizer
        yield torch.device, lambda value: Described({"kind": "other", "type": "device", "place": str(value)})
        yield torch.Generator, self._generator
        numpy = sys.modules.get("numpy")
        if numpy is not None:
            yield numpy.ndarray, lambda value: Described({"kind": "other", "type": "array", "place": "cpu"})

    def _is_tensor(self, value: Any) -> bool:
        return reach.is_a(value, self._torch.Tensor)

    def _tensor(self, tensor: Any) -> Described | None:
        facts = self.of_tensor(tensor)
        return None if facts is None else Described({"kind": "tensor", **facts}, [self.part("", tensor)])

    def _generator(self, generator: Any) -> Described | None:
        try:
            return Described({"kind": "other", "type": "generator", "place": str(generator.device)})
        except Exception:
            return None

    def _module(self, module: Any) -> Described | None:
        members = list(self._members(module))
        if not members:
            return None
        places = collections.Counter(place for _, place, _ in members)
        main = places.most_common(1)[0][0]
        odd = [(name, tensor) for name, place, tensor in members if place != main][:NAMED_LIMIT]
        usual = next(tensor for _, place, tensor in members if place == main)
        record = {
            "kind": "module",
            "type": reach.class_name(module),
            "places": dict(places),
            "odd": [{"name": name[:NAME_LIMIT], **self._facts(tensor)} for name, tensor in odd],
            "history": self._history(usual),
        }
        return Described(record, [self.part(name, tensor) for name, _, tensor in members])

    def _members(self, module: Any) -> Iterator[tuple[str, str, Any]]:
        """The name, place, and object of each parameter and buffer of `module`, each once."""
        seen: set[int] = set()
        pending = [("", module)]
        while pending and len(seen) < MEMBERS_LIMIT and not self.late:
            prefix, owner = pending.pop()
            if id(owner) in seen:
                continue
            seen.add(id(owner))
            own = reach.own_dict(owner)
            for registry in ("_parameters", "_buffers"):
                for name, tensor in reach.entries(own.get(registry), MEMBERS_LIMIT - len(seen)):
                    if not self._is_tensor(tensor) or id(tensor) in seen:
                        continue
                    seen.add(id(tensor))
                    place = self.place(tensor)
                    if place is not None:
                        yield f"{prefix}{name}", place, tensor
            children = list(reach.entries(own.get("_modules"), MEMBERS_LIMIT))
            pending += [(f"{prefix}{name}.", child) for name, child in reversed(children)]

    def tensors(self, module: Any) -> list[Any]:
        """The parameters and buffers of `module`."""
        return [tensor for _, _, tensor in self._members(module)]

    def _optimizer(self, optimizer: Any) -> Described | None:
        own = reach.own_dict(optimizer)
        parameters = [
            tensor
            for _, group in reach.entries(own.get("param_groups"), MEMBERS_LIMIT)
            for tensor in self._tensors(dict.get(group, "params") if reach.is_a(group, dict) else None)
        ]
        state = [
            tensor
            for _, values in reach.entries(own.get("state"), MEMBERS_LIMIT)
            for tensor in self._tensors(values)
            if self._shape(tensor) != []  # the count of steps stays on the host
        ]
        if not parameters:
            return None
        record = {
            "kind": "optimizer",
            "type": reach.class_name(optimizer),
            "places": self._counted(parameters),
            "state_places": self._counted(state),
            "history": self._history(parameters[0]),
            "state_history": self._history(state[0]) if state else [],
        }
        return Described(record, [self.part("", tensor) for tensor in (*parameters, *state)])

    def _tensors(self, container: Any) -> list[Any]:
        return [value for _, value in reach.entries(container, MEMBERS_LIMIT) if self._is_tensor(value)]

    def _counted(self, tensors: list[Any]) -> dict[str, int]:
        places = (None if self.late else self.place(tensor) for tensor in tensors[:MEMBERS_LIMIT])
        return dict(collections.Counter(place for place in places if place is not None))

    def _batch(self, value: Any) -> Described | None:
        items: list[Record] = []
        parts: list[Part] = []
        for key, access, tensor in self._items(value, BATCH_DEPTH):
            facts = self.of_tensor(tensor)
            if facts is None:
                continue
            parts.append(self.part(key, tensor))
            if len(items) < NAMED_LIMIT:
                items.append({"key": key[:NAME_LIMIT], "expression": access[:NAME_LIMIT], **facts})
        if not items:
            return None
        return Described({"kind": "batch", "type": reach.class_name(value), "items": items}, parts)

    def _items(self, value: Any, depth: int) -> Iterator[tuple[str, str, Any]]:
        """The tensors in a container or an object: key, how to reach it from there, tensor."""
        container = any(reach.is_a(value, kind) for kind in (dict, list, tuple, collections.UserDict))
        for key, each in reach.entries(value, MEMBERS_LIMIT) if container else reach.own_attributes(value):
            if self.late:
                return
            name = str(key) if type(key) in (str, int) else reach.class_name(key)
            by_name = not container or name in reach.named_fields(value)
            access = f".{name}" if by_name else f"[{key!r}]" if type(key) in (str, int) else "[…]"
            if self._is_tensor(each):
                yield name, access, each
            elif depth > 1 and any(reach.is_a(each, kind) for kind in (dict, list, tuple)):
                for inner, rest, tensor in self._items(each, depth - 1):
                    yield f"{name}.{inner}", access + rest, tensor

    def of_tensor(self, tensor: Any) -> Record | None:
        """Place, shape, dtype and history of a tensor, None where it has no place."""
        facts = self._facts(tensor)
        return None if facts["place"] is None else facts

    def _facts(self, tensor: Any) -> Record:
        return {
            "place": self.place(tensor),
            "shape": self._shape(tensor),
            "dtype": self._dtype(tensor),
            "history": self._history(tensor),
        }

    def place(self, tensor: Any) -> str | None:
        """Where `tensor` is, None where it would not say."""
        if self._claims is not None:
            return str(self._claims.place_of(tensor))
        try:
            with self._torch._C.DisableTorchFunctionSubclass():
                return str(tensor.device)
        except Exception:
            return None

    def _shape(self, tensor: Any) -> list[int] | None:
        try:
            with self._torch._C.DisableTorchFunctionSubclass():
                return [size for size in tensor.shape if type(size) is int]
        except Exception:
            return None

    def _dtype(self, tensor: Any) -> str | None:
        try:
            with self._torch._C.DisableTorchFunctionSubclass():
                return str(tensor.dtype).replace("torch.", "")
        except Exception:
            return None

    def _history(self, tensor: Any) -> list[Record]:
        """The steps in the life of `tensor`, oldest first; of a long one the latest."""
        steps: list[Record] = []
        claim = None if self._claims is None else self._claims.claim_of(tensor)
        while claim is not None and len(steps) < HISTORY_LIMIT:
            file = None if claim.file is None else errors.inside(claim.file, self._root)
            line = None if file is None else claim.line
            code = "" if line is None else linecache.getline(claim.file, line).strip()[:NAME_LIMIT]
            steps.append({"place": str(claim.place), "how": claim.how, "file": file, "line": line, "code": code})
            claim = claim.before
        return steps[::-1]

    def part(self, name: str, tensor: Any) -> Part:
        """What tells whether two tensors are the same memory, or one comes from the other."""
        try:
            with self._torch._C.DisableTorchFunctionSubclass():
                storage = int(self._torch.Tensor.untyped_storage(tensor)._cdata)
        except Exception:
            storage = id(tensor)
        claim = None if self._claims is None else self._claims.claim_of(tensor)
        return Part(name, storage, 0 if claim is None else id(claim))
