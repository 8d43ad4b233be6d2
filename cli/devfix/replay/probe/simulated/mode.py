"""The dispatch mode below autograd: every operation's arguments are checked for their places and its results get one.

Below autograd every composite operator has been taken apart, and backward passes by as well: one check serves forward,
backward and the optimizer. What is done for each operation is little: most have all of their arguments in one place,
and nothing more is asked of these.
"""

from __future__ import annotations

from typing import Any

import torch
from torch._ops import OpOverload
from torch.utils._python_dispatch import TorchDispatchMode

from .checks import Checks, composite_key
from .claims import ATTRIBUTE, Claim, claim_of, set_claim
from .low_precision import recovered
from .randomness import drawing_apart
from .state import Simulation

_storage_of = torch.Tensor.untyped_storage
_Tensor = torch.Tensor
_Parameter = torch.nn.Parameter
_strided = torch.strided
_no_dispatch = torch._C._disabled_torch_dispatch_impl
_ORDINARY, _VIEW, _DRAW = "ordinary", "view", "draw"
"""Kinds of operators: those of which `_is_view` is true, those that draw random numbers, and all others."""


class ClaimMode(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Enter it once in each thread that runs operations: `with mode:`. `checks` are asked where places differ."""

    def __init__(self, simulation: Simulation, checks: Checks) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.checks = checks
        self._simulation = simulation
        # By the identity of the operator, for its own hash is computed in Python; kept, so that no identity is reused.
        self._kinds: dict[int, str] = {}
        self._known: list[Any] = []

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Not to be wrapped for torch.compile, which nothing runs under here: importing it takes seconds."""
        return False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if types and any(_has_own_dispatch(kind) for kind in types):
            return _left_to_subclass(func, types, args, kwargs or {})
        kind = self._kinds.get(id(func)) or self._kind(func)
        if kind is _VIEW:
            view = func(*args, **kwargs) if kwargs else func(*args)
            if args and isinstance(args[0], torch.Tensor) and args[0].layout is not _strided:
                _claim_like(view, args[0])
            return view
        if kind is _DRAW and self._simulation.generators:
            return self._drawn_apart(func, args, kwargs or {})
        try:
            first, mixed = _common(args, None, False)
            if kwargs:
                first, mixed = _common(kwargs.values(), first, mixed)
        except (NotImplementedError, RuntimeError):
            first, mixed = _common_of_any((args, kwargs))
        if mixed and isinstance(func, OpOverload):
            first, in_parts = self.checks.check(func, args, kwargs or {})
            if in_parts:
                return self._in_parts(func, args, kwargs or {}, first)
        try:
            result = func(*args, **kwargs) if kwargs else func(*args)
        except RuntimeError as error:
            if first is None or not self._simulation.is_device(first.place):
                raise
            result = recovered(self._simulation, func, args, kwargs or {}, error)
        if first is not None:
            _claim_new(result, first)
        return result

    def _kind(self, func: Any) -> str:
        """What is to be done for `func`, from now on known by its identity."""
        kind = _ORDINARY
        if isinstance(func, OpOverload):
            if torch.Tag.nondeterministic_seeded in func.tags:
                kind = _DRAW
            elif _is_view(func):
                kind = _VIEW
        self._kinds[id(func)] = kind
        self._known.append(func)
        return kind

    def _drawn_apart(self, func: Any, args: Any, kwargs: Any) -> Any:
        """Run an operator that draws random numbers, when a device has a generator of its own."""
        first, mixed = _common_of_any((args, kwargs))
        if mixed:
            first, _ = self.checks.check(func, args, kwargs)
        if first is None:
            return func(*args, **kwargs)
        with drawing_apart(self._simulation, first.place):
            result = func(*args, **kwargs)
        _claim_new(result, first)
        return result

    def _in_parts(self, func: Any, args: Any, kwargs: Any, claim: Claim | None) -> Any:
        """Run the operators that `func` is made of in this mode, so that each is checked on its own."""
        key = composite_key(func)
        if key is None:
            result = func(*args, **kwargs)
        else:
            with self:
                result = func._op_dk(key, *args, **kwargs)
        if claim is not None:
            _claim_new(result, claim)
        return result


def _has_own_dispatch(kind: Any) -> bool:
    return kind is not _Tensor and kind.__torch_dispatch__ is not _no_dispatch


def _left_to_subclass(func: Any, types: Any, args: Any, kwargs: Any) -> Any:
    """A subclass with a dispatch of its own calls operators on the tensors that it holds, and those come to the mode.

    Fake tensors hold nothing: they want their operators as if there were no other mode.
    """
    if any(kind.__name__ == "FakeTensor" for kind in types):
        return func(*args, **kwargs)
    return NotImplemented


def _is_view(func: OpOverload) -> bool:
    """Whether `func` has a single tensor, and gives nothing but views of it or itself: then claims stay as they are.

    Composite operators are not among them: `reshape`, `contiguous` and `to` are declared as views, and copy at times.
    """
    if func.has_kernel_for_dispatch_key(torch._C.DispatchKey.CompositeImplicitAutograd):
        return False
    schema = func._schema
    tensors = [str(argument.type) for argument in schema.arguments if "Tensor" in str(argument.type)]
    return tensors == ["Tensor"] and all(value.alias_info is not None for value in schema.returns)


def _common(values: Any, first: Claim | None, mixed: bool) -> tuple[Claim | None, bool]:
    """The first claim among the tensors of `values`, and whether another one has a different place.

    Raises:
        NotImplementedError, RuntimeError: a tensor has no plain storage.
    """
    for value in values:
        kind = type(value)
        if kind is _Tensor or kind is _Parameter or isinstance(value, _Tensor):
            claim = _storage_of(value).__dict__.get(ATTRIBUTE)
            if claim is None:
                continue
            if first is None:
                first = claim
            elif claim.place is not first.place:
                mixed = True
        elif kind is list or kind is tuple:
            first, mixed = _common(value, first, mixed)
    return first, mixed


def _common_of_any(values: Any) -> tuple[Claim | None, bool]:
    """The same where tensors have no plain storage: sparse ones claim what their values do, nested ones nothing."""
    tensors = [leaf for leaf in torch.utils._pytree.tree_leaves(values) if isinstance(leaf, _Tensor)]
    claims = [claim for claim in map(claim_of, tensors) if claim is not None]
    return (claims[0] if claims else None), len({id(claim.place) for claim in claims}) > 1


def _claim_like(view: Any, source: Any) -> None:
    """Let a view of `source`, which has no plain storage, claim what that does: parts of it may be copies."""
    claim = claim_of(source)
    if claim is not None:
        _claim_new(view, claim)


def _claim_new(result: Any, claim: Claim) -> None:
    """Let the tensors of `result` that claim nothing yet claim `claim`."""
    if isinstance(result, _Tensor):
        try:
            _storage_of(result).__dict__.setdefault(ATTRIBUTE, claim)
        except (NotImplementedError, RuntimeError):
            if claim_of(result) is None:
                set_claim(result, claim)
    elif isinstance(result, (list, tuple)):
        for value in result:
            _claim_new(value, claim)
