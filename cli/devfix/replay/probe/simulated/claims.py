"""Where a tensor claims to live, and what put it there.

Values are computed on the CPU. The claim is an attribute of the tensor's `UntypedStorage`: views, `.data`, `detach()`,
`Parameter` and in-place operations share the storage and so the claim. A result shares the claim *object* of the
argument that decided its place, so that the history of a computed value costs nothing to keep.

A storage without a claim was made inside C++ (a mask, a wrapped scalar): it may be anywhere and adopts the place of
what it meets.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

ATTRIBUTE = "_devfix_claim"
PINNED = "_devfix_pinned"
"""Attributes of an `UntypedStorage`."""

# The real functions: the script, and the simulation itself, see others under these names.
_functorch = torch._C._functorch
_storage_of = torch.Tensor.untyped_storage
_device_of = torch._C.TensorBase.device.__get__
_is_meta: Any = torch._C.TensorBase.is_meta.__get__  # type: ignore[attr-defined]
_PLACES: dict[tuple[str, int], torch.device] = {}
"""By type and index, which is -1 for none."""


def interned(place: torch.device) -> torch.device:
    """The one object that stands for `place`, so that equal places can be compared by identity."""
    index: Any = place.index
    return _PLACES.setdefault((place.type, -1 if index is None else index), place)


HOST = interned(torch.device("cpu"))


class Claim:
    """A place, what put the value there, the user's line that did so, and the claim before it.

    `place` is interned. `how` completes the sentence "it is there since it was …": `made by torch.zeros`,
    `moved by .to`. `file` and `line` are those of the user's own frame, None where there is none.
    """

    __slots__ = ("before", "file", "how", "line", "place")

    def __init__(
        self,
        place: torch.device,
        how: str,
        file: str | None = None,
        line: int | None = None,
        before: Claim | None = None,
    ) -> None:
        self.place = place
        self.how = how
        self.file = file
        self.line = line
        self.before = before


def claim_of(tensor: Any) -> Claim | None:
    """The claim of `tensor`; None where it has none, or no storage that Python can reach."""
    try:
        return _storage_of(tensor).__dict__.get(ATTRIBUTE)
    except (NotImplementedError, RuntimeError):
        holder = next(holders(tensor), None)
        return None if holder is None else claim_of(holder)


def place_of(tensor: Any) -> torch.device:
    """The place that `tensor` claims; where it claims none, that of its storage: the host, or meta.

    A meta tensor made from device tensors, as shape functions do, shares their claim and is nevertheless on meta.
    """
    claim = claim_of(tensor)
    return interned(_device_of(tensor)) if claim is None or _is_meta(tensor) else claim.place


def set_claim(tensor: Any, claim: Claim) -> None:
    """Let `tensor`, and all that share its storage, claim `claim`. Nothing happens where Python cannot reach it."""
    try:
        _storage_of(tensor).__dict__[ATTRIBUTE] = claim
    except (NotImplementedError, RuntimeError):
        for holder in holders(tensor):
            set_claim(holder, claim)


def holders(tensor: Any) -> Iterator[Any]:
    """The plain tensors that `tensor`, which has no storage of its own, is made of.

    They are what a functorch transform wraps, and the values and indices of a sparse tensor.
    """
    if _functorch.is_functorch_wrapped_tensor(tensor):
        yield _functorch.get_unwrapped(tensor)
    elif tensor.layout is torch.sparse_coo:
        yield from (tensor._values(), tensor._indices())
    elif tensor.layout in (torch.sparse_csr, torch.sparse_bsr):
        yield from (tensor.values(), tensor.crow_indices(), tensor.col_indices())
    elif tensor.layout in (torch.sparse_csc, torch.sparse_bsc):
        yield from (tensor.values(), tensor.ccol_indices(), tensor.row_indices())


def tensors_in(values: Any) -> Iterator[Any]:
    """The tensors among `values`, and among the items of its lists and tuples, in order."""
    for value in values:
        if isinstance(value, torch.Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from tensors_in(value)


def adopt(values: Any, claim: Claim | None) -> None:
    """Let the tensors among `values` that claim nothing, since C++ made them, claim `claim`."""
    if claim is not None:
        for tensor in tensors_in(values):
            if claim_of(tensor) is None:
                set_claim(tensor, claim)


def is_pinned(tensor: Any) -> bool:
    """Whether the memory of `tensor`, a tensor with a plain storage, counts as pinned."""
    return PINNED in _storage_of(tensor).__dict__


def pin(tensor: Any) -> None:
    """Let the memory of `tensor` count as pinned from now on."""
    _storage_of(tensor).__dict__[PINNED] = True


def forget_claim(tensor: Any) -> None:
    """Let `tensor`, a tensor with a plain storage, adopt the place of what it meets."""
    _storage_of(tensor).__dict__.pop(ATTRIBUTE, None)
