"""What a `DataLoader` yields: its tensors claim that they come from the loader, at the user's line."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import torch
from torch.utils.data import dataloader

from .claims import HOST, Claim, claim_of, set_claim
from .mode import ClaimMode
from .patching import wrap
from .state import Simulation

HOW = "it comes from the loader"
"""A sentence of its own, where other claims say what was done: `made by torch.zeros`."""

DEPTH = 6
"""How deep a batch is searched for tensors: a torch_geometric batch keeps them four levels down."""
SIZE = 2_000
"""How many values of a batch are looked at."""

_LEAVES = (str, bytes, bytearray, int, float, complex, type(None), type, torch.nn.Module)


def install(simulation: Simulation, _mode: ClaimMode) -> None:
    """Have each batch claim that it comes from the loader."""

    def next_batch(original: Callable[..., Any], iterator: Any) -> Any:
        batch = original(iterator)
        _claim_loaded(batch, simulation)
        return batch

    wrap(dataloader._BaseDataLoaderIter, "__next__", next_batch)


def _claim_loaded(batch: Any, simulation: Simulation) -> None:
    """Claims on one batch; values in one place that came from one claim share the new one."""
    now = simulation.claim(HOST, HOW)
    claims: dict[tuple[Claim | None, torch.device, type[Claim]], Claim] = {}
    for tensor in tensors_of(batch):
        former = claim_of(tensor)
        place = HOST if former is None else former.place
        kind = Claim if former is None else type(former)
        if place is HOST:
            place = simulation.policy.birthplace(place)
        while former is not None and _is_the_loaders(former, now):
            former = former.before
        shared = former, place, kind
        if shared not in claims:
            claims[shared] = kind(place, HOW, now.file, now.line, former)
        set_claim(tensor, claims[shared])


def _is_the_loaders(claim: Claim, now: Claim) -> bool:
    """Whether the loader itself made `claim`: by the user's line that asks for a batch, or in a thread or a worker.

    Such claims are dropped, so that the history of a tensor that the dataset hands out again and again stays short.
    """
    return claim.how == HOW or claim.line is None or (claim.file, claim.line) == (now.file, now.line)


def tensors_of(batch: Any) -> list[torch.Tensor]:
    """The tensors in `batch`: in containers, dataclasses, and the attributes of objects, to a limit."""
    found: list[torch.Tensor] = []
    seen: set[int] = set()
    level = [batch]
    for _ in range(DEPTH):
        deeper: list[Any] = []
        for value in level:
            if isinstance(value, torch.Tensor):
                found.append(value)
            elif not isinstance(value, _LEAVES) and id(value) not in seen and len(seen) < SIZE:
                seen.add(id(value))
                deeper.extend(_parts(value))
        level = deeper[:SIZE]
    return found


def _parts(value: Any) -> Iterable[Any]:
    try:
        if isinstance(value, Mapping):
            return list(value.values())
        if isinstance(value, (list, tuple, set, frozenset)):
            return list(value)
        if dataclasses.is_dataclass(value):
            return [getattr(value, field.name, None) for field in dataclasses.fields(value)]
        return list(vars(value).values())
    except Exception:
        return ()  # An object without attributes, or one whose own `values` raises: the script shall meet that, not we.
