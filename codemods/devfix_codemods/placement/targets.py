"""Where calls move what they are called on: `x.cuda()`, `x.to(device)`, `x.type(torch.cuda.FloatTensor)`."""

import ast
from collections.abc import Set

from devfix_codemods.catalogue import MOVES, Effect, method_effect
from devfix_codemods.ir import Node, Op
from devfix_codemods.ir.keys import method_name, names
from devfix_codemods.placement.arguments import keyword
from devfix_codemods.placement.kinds import Kinds
from devfix_codemods.placement.places import CUDA, HOST, Place, place_of


class Targets:
    """Reads the targets of moves off the calls themselves."""

    def __init__(self, kinds: Kinds, undone: Set[ast.AST] = frozenset()) -> None:
        self._kinds = kinds
        self._undone = undone

    def is_undone(self, call: Node) -> bool:
        """Whether the file is read as if a call, which moves or makes something, left it on the host."""
        return call.syntax in self._undone

    def of(self, call: Node) -> Place | None:
        """Where a call moves its receiver; None where it does not move."""
        if call.op is not Op.CALL or call.args[0].op is not Op.ATTR or self.is_undone(call):
            return None
        row = method_effect(str(call.args[0].extra))
        if row is Effect.CUDA or is_typed_cuda(call):
            return CUDA
        if row is Effect.TO_HOST or is_typed_host(call):
            return HOST
        if row is not Effect.MOVE:
            return None
        device = keyword(call, "device")
        if device is None and len(call.args) > 1 and call.extras[:1] == (None,):
            device = call.args[1]
        return place_of(device, self._kinds) if device is not None else None

    def is_move(self, node: Node) -> bool:
        return node.op is Op.CALL and self.of(node) is not None

    def told(self, call: Node) -> Place | None:
        """What `device=` says of the result of a call."""
        device = keyword(call, "device") if not self.is_undone(call) else None
        return place_of(device, self._kinds) if device is not None else None

    def given(self, node: Node) -> Place | None:
        """Where a call moves its receiver, or makes its result; None where it does not say."""
        return self.of(node) or self.told(node) if node.op is Op.CALL else None


def moving_call(call: Node) -> Node:
    """`net.to(device)` in `net.to(device).eval()`."""
    while call.op is Op.CALL and call.args[0].op is Op.ATTR:
        if method_effect(str(call.args[0].extra)) in MOVES or is_typed_cuda(call) or is_typed_host(call):
            return call
        call = call.args[0].args[0]
    return call


def is_typed_cuda(call: Node) -> bool:
    """`x.type(torch.cuda.FloatTensor)`, which moves."""
    return (
        call.args[0].extra == "type"
        and len(call.args) > 1
        and any("torch.cuda." in one for one in _types(call.args[1]))
    )


def is_typed_host(call: Node) -> bool:
    """`x.type(torch.FloatTensor)`, a type of tensors on the host, whatever the program chooses; also as text."""
    given = _types(call.args[1]) if call.args[0].extra == "type" and len(call.args) == 2 else ()
    return bool(given) and all(
        one.startswith("torch.") and one.endswith("Tensor") and one.count(".") == 1 for one in given
    )


def typed_like(call: Node) -> Node | None:
    """`y` of `x.type_as(y)` and of `x.type(y.type())`: the type of a tensor says its place as well."""
    method = method_name(call)
    if method == "type_as" and len(call.args) > 1:
        return call.args[1]
    asked = call.args[1] if method == "type" and len(call.args) == 2 else None
    is_type = asked is not None and method_name(asked) == "type" and len(asked.args) == 1
    return asked.args[0].args[0] if is_type and asked is not None else None


def is_cast(call: Node) -> bool:
    """`net.type(torch.float16)`, whose type is known, and says no place."""
    if call.args[0].extra != "type" or len(call.args) != 2 or is_typed_cuda(call) or is_typed_host(call):
        return False
    return call.args[1].op is Op.CONST or bool(names(call.args[1]))


def _types(node: Node) -> tuple[str, ...]:
    """The names of a type, which `type` takes as text as well."""
    return (node.extra,) if isinstance(node.extra, str) and node.op is Op.CONST else names(node)
