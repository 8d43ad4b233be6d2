"""Where a tensor claims to live, and since when.

Values are computed on the CPU. The claim is an attribute of the tensor's `UntypedStorage`: views, `.data`, `detach()`,
`Parameter` and in-place operations share the storage and so the claim. A result shares the claim *object* of the
argument that decided its place, so that the history of a computed value costs nothing to keep.

A storage without a claim was made inside C++ (a mask, a wrapped scalar): it may be anywhere and adopts the place of
what it meets.
"""

from __future__ import annotations

from typing import Any

import torch

ATTRIBUTE = "_devfix_claim"

_storage_of = torch.Tensor.untyped_storage
_PLACES: dict[tuple[str, int], torch.device] = {}


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
    """The claim of `tensor`, None where it has none. Also None for tensors without a storage (sparse, nested)."""
    try:
        return _storage_of(tensor).__dict__.get(ATTRIBUTE)
    except (NotImplementedError, RuntimeError):
        return None


def place_of(tensor: Any) -> torch.device:
    """The place that `tensor` claims; the host where it claims none."""
    claim = claim_of(tensor)
    return HOST if claim is None else claim.place


def set_claim(tensor: Any, claim: Claim) -> None:
    """Let `tensor`, and all that share its storage, claim `claim`."""
    _storage_of(tensor).__dict__[ATTRIBUTE] = claim
