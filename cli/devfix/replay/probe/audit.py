"""What a training script has where, and what it moves between host and device, for `devfix audit`.

Observed through Python alone: calls of modules, batches of loaders, `backward`, steps of optimizers, and the methods of
tensors that move values or wait for them. The simulation and real hardware are observed alike.
"""

from __future__ import annotations

import atexit
import functools
import importlib
import linecache
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

from . import errors, postmortem, reach
from .facts import BATCH_DEPTH, Described, Facts, Record

SECONDS = 5.0
"""For looking at what is in reach after one step."""
SITES_LIMIT = 200
FRAMES_LIMIT = 20
CODE_LIMIT = 200

_MOVES = ("to", "cuda", "cpu", "xpu", "npu")
_WAITS = ("item", "tolist", "numpy", "__bool__", "__float__", "__int__", "__index__", "__repr__", "__format__")
"""Methods for which the host needs a value, and so waits for the device."""
_SHOWN = {"__bool__": "bool()", "__float__": "float()", "__int__": "int()", "__index__": "an index"}
_PROBE = str(Path(__file__).parent)

Report = Callable[[Record], None]


class Audit:
    """Call `install` once torch is there, after all else that patches it.

    `report` gets all that is known so far at the end of each optimizer step, and when the script ends.
    """

    def __init__(self, torch: Any, root: Path, report: Report) -> None:
        self._torch = torch
        self._root = root
        self._report = report
        self._step = 0
        self._moves: dict[tuple[Any, ...], Record] = {}
        self._waits: dict[tuple[Any, ...], Record] = {}
        self._inputs: dict[tuple[Any, ...], Record] = {}
        self._batches: dict[tuple[Any, ...], Record] = {}
        self._losses: dict[tuple[Any, ...], Record] = {}
        self._values: list[Record] = []
        self._versions: dict[int, int] = {}
        self._within = threading.local()

    def install(self) -> None:
        torch = self._torch
        tensor, loading = torch.Tensor, importlib.import_module("torch.utils.data.dataloader")
        for name in _MOVES:
            self._wrap(tensor, name, self._moved)
        for name in _WAITS:
            self._wrap(tensor, name, functools.partial(self._waited, _SHOWN.get(name, f".{name}()")))
        self._wrap(tensor, "backward", self._backward)
        self._wrap(torch.nn.Module, "__call__", self._called)
        self._wrap(loading._BaseDataLoaderIter, "__next__", self._loaded)
        importlib.import_module("torch.optim.optimizer").register_optimizer_step_post_hook(self._stepped)
        atexit.register(lambda: self._report(self.record()))

    def _wrap(self, owner: Any, name: str, around: Callable[..., Any]) -> None:
        original = getattr(owner, name, None)
        if original is None:
            return

        @functools.wraps(original, updated=())
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            # What the probe itself asks, and what a method calls in turn, is none of the script's doing.
            if sys._getframe(1).f_code.co_filename.startswith(_PROBE) or getattr(self._within, "busy", False):
                return original(*args, **kwargs)
            return around(original, *args, **kwargs)

        setattr(owner, name, wrapped)

    def _moved(self, original: Any, tensor: Any, *args: Any, **kwargs: Any) -> Any:
        before = self._place(tensor)
        result = self._alone(original, tensor, *args, **kwargs)
        after = self._place(result)
        if before is not None and after is not None and before != after:
            site = self._site(self._moves, (before, after))
            site.update({"from": before, "to": after})
            self._count(site, tensor.numel() * tensor.element_size())
            flags = (each for each in args[1:] if isinstance(each, bool))  # `non_blocking`, and `copy` after it
            asynchronous = bool(kwargs.get("non_blocking", next(flags, False)))
            site["non_blocking"] = site.get("non_blocking", True) and asynchronous
            site["pinned"] = site.get("pinned", True) and before == "cpu" and self._pinned(tensor)
        return result

    def _waited(self, how: str, original: Any, tensor: Any, *args: Any, **kwargs: Any) -> Any:
        place = self._place(tensor)
        if place not in (None, "cpu", "meta"):
            site = self._site(self._waits, (how,))
            site["how"] = how
            self._count(site, 0)
        return self._alone(original, tensor, *args, **kwargs)

    def _alone(self, original: Any, *args: Any, **kwargs: Any) -> Any:
        """Call `original` without counting what it calls."""
        self._within.busy = True
        try:
            return original(*args, **kwargs)
        finally:
            self._within.busy = False

    def _backward(self, original: Any, loss: Any, *args: Any, **kwargs: Any) -> Any:
        place = self._place(loss)
        if place is not None:
            self._site(self._losses, (place,))["place"] = place
        return original(loss, *args, **kwargs)

    def _called(self, original: Any, module: Any, *args: Any, **kwargs: Any) -> Any:
        """Note what reaches a module that the script itself calls."""
        caller = sys._getframe(2)
        if errors.inside(caller.f_code.co_filename, self._root) is not None:
            described = self._facts().describe([*args, *kwargs.values()])
            places = set() if described is None else described.places()
            name = reach.class_name(module)
            site = self._site(self._inputs, (name, *sorted(places))) if places else {}
            if "code" in site and "module" not in site:
                whole = self._facts().describe(module)
                site.update({"module": name, "places": sorted(places), "at": sorted(whole.places()) if whole else []})
        return original(module, *args, **kwargs)

    def _loaded(self, original: Any, iterator: Any) -> Any:
        batch = original(iterator)
        described = self._facts().describe(batch if not self._is_tensor(batch) else (batch,))
        if described is not None and described.record["kind"] == "batch":
            tensors = list(_tensors(batch, self._is_tensor))
            site = self._site(self._batches, (tuple(sorted(described.places())),))
            site["items"] = described.record["items"]
            site["pinned"] = bool(tensors) and all(map(self._pinned, tensors))
        return batch

    def _stepped(self, _optimizer: Any, _args: Any, _kwargs: Any) -> None:
        self._step += 1
        self._values = list(self._in_reach())
        self._report(self.record())

    def record(self) -> Record:
        """All that is known so far."""
        return {
            "steps": self._step,
            "values": self._values,
            "batches": list(self._batches.values()),
            "inputs": list(self._inputs.values()),
            "losses": list(self._losses.values()),
            "moves": list(self._moves.values()),
            "waits": list(self._waits.values()),
        }

    def _in_reach(self) -> Iterator[Record]:
        """The modules, optimizers, and objects with tensors that names of the user's frames stand for, each once."""
        facts = self._facts()
        found: dict[int, tuple[str, Any, Described]] = {}
        for frame in self._user_frames():
            for expression, value in postmortem.in_reach(frame):
                if id(value) in found or facts.late or _is_plain(value):
                    continue
                described = facts.describe(value)
                if described is not None and described.record["kind"] in ("module", "optimizer", "batch"):
                    found[id(value)] = (expression, value, described)
        trained = {
            part.storage
            for _, _, described in found.values()
            if described.record["kind"] == "optimizer"
            for part in described.parts
        }
        for expression, value, described in found.values():
            storages = {part.storage for part in described.parts}
            yield {
                "expression": expression,
                "trained": bool(storages & trained),
                "updated": self._updated(value, described),
                **described.record,
            }

    def _updated(self, value: Any, described: Described) -> bool:
        """Whether the tensors of a module were written to since the first step at whose end it was seen."""
        if described.record["kind"] != "module":
            return False
        version = sum(self._version(tensor) for tensor in self._facts().tensors(value))
        return version != self._versions.setdefault(id(value), version)

    def _version(self, tensor: Any) -> int:
        try:
            return int(tensor._version)
        except Exception:
            return 0  # made under inference mode

    def _user_frames(self) -> Iterator[FrameType]:
        frame: FrameType | None = sys._getframe(1)
        count = 0
        while frame is not None and count < FRAMES_LIMIT:
            if errors.inside(frame.f_code.co_filename, self._root) is not None:
                count += 1
                yield frame
            frame = frame.f_back

    def _site(self, sites: dict[tuple[Any, ...], Record], key: tuple[Any, ...]) -> Record:
        """The entry of `sites` for the user's line that runs now, and `key`. Beyond the limit one that nobody keeps."""
        frame = next(self._user_frames(), None)
        file, line, code = None, None, ""
        if frame is not None:
            file, line = errors.inside(frame.f_code.co_filename, self._root), frame.f_lineno
            code = linecache.getline(frame.f_code.co_filename, line).strip()[:CODE_LIMIT]
        if (file, line, *key) not in sites and len(sites) >= SITES_LIMIT:
            return {}
        return sites.setdefault((file, line, *key), {"file": file, "line": line, "code": code})

    def _count(self, site: Record, size: int) -> None:
        counts = site.setdefault("counts", {}).setdefault(str(self._step), [0, 0])
        counts[0] += 1
        counts[1] += size

    def _facts(self) -> Facts:
        _, claims = postmortem.active_simulation()
        return Facts(self._torch, self._root, claims, time.monotonic() + SECONDS)

    def _place(self, tensor: Any) -> str | None:
        return self._facts().place(tensor) if self._is_tensor(tensor) else None

    def _pinned(self, tensor: Any) -> bool:
        try:
            return bool(self._alone(tensor.is_pinned))
        except Exception:
            return False

    def _is_tensor(self, value: Any) -> bool:
        return reach.is_a(value, self._torch.Tensor)


def _is_plain(value: Any) -> bool:
    """Lists and dictionaries of tensors come and go; the batches among them are told of by their loader."""
    return type(value) in (list, tuple, dict)


def _tensors(value: Any, is_tensor: Callable[[Any], bool], depth: int = BATCH_DEPTH) -> Iterator[Any]:
    if is_tensor(value):
        yield value
    elif depth:
        for _, each in reach.entries(value, SITES_LIMIT):
            yield from _tensors(each, is_tensor, depth - 1)
