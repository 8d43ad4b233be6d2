"""Arrays that are written to: they share the memory of their tensors, and a copy would swallow what is written."""

from typing import TYPE_CHECKING

from devfix_codemods.ir import Class, Function, Node, Op
from devfix_codemods.ir.keys import name
from devfix_codemods.ir.versions import FILLING
from devfix_codemods.placement.graph import MADE, Birth
from devfix_codemods.placement.views import chain

if TYPE_CHECKING:
    from devfix_codemods.placement.births import Births

_FILLING = frozenset({"fill", "sort", "put", "partition"})
"""Methods of arrays that change them."""
_INTO = frozenset({"out", "dst"})
"""What functions call the array that gets their result."""

_PLACED = MADE | {Birth.MOVE}


class Written:
    """What the arrays of one file are used for."""

    def __init__(self, births: "Births") -> None:
        self._births = births
        self._users = births.module.users
        self._stored = {store.base for store in births.module.stores}

    def through(self, value: Node, call: Node) -> bool:
        """Whether the array that `call` makes of a tensor, which may be on a device, is written to."""
        if call.args[0].op is not Op.ATTR or call.args[0].args[0] is not value:
            return False
        named = any(one.statement is not call.statement for one in self._users.get(call, ()))
        stored = call in self._stored and (not named or self._is_used_after(value, call))
        written = stored or any(self._writes(one, call, value) for one in self._users.get(call, ()))
        roots = (root for part in chain(value) for root in self._births.roots(part))
        return written and not any(self._births.graph.is_born(one, _PLACED) for one in roots)

    def _writes(self, user: Node, array: Node, tensor: Node) -> bool:
        if user.op is Op.ATTR:
            return user.extra in _FILLING and user in self._births.callees
        if user.op is not Op.CALL or not isinstance(user.extra, tuple):
            return False
        if user.args[0].op is Op.ATTR and user.args[0].extra in FILLING and name(user.args[0]) is None:
            return False  # `rows.append(x.numpy())` keeps the array as it is
        called = _called(user.args[0])
        if called == "numpy.copyto":
            return user.args[1:2] == (array,)
        if any(one is array and word in _INTO for one, word in zip(user.args[1:], user.extra)):
            return True
        return "inplace" in called or (user not in self._births.used and self._is_used_after(tensor, user))

    def _is_used_after(self, tensor: Node, call: Node) -> bool:
        """`kernel(x.numpy())`, which gives nothing, and then `x`."""
        parts = set(chain(tensor))
        returned = {value for value, _ in call.function.returns}
        return not parts.isdisjoint(returned) or any(
            one.index > call.index and one.op is not Op.AFTER and (one.op is not Op.PHI or one in self._births.used)
            for part in parts
            for one in self._users.get(part, ())
        )


def _called(callee: Node) -> str:
    """The name of what is called; that of a function of the file, and not all that it holds."""
    if isinstance(callee.extra, Function | Class):
        return callee.extra.name
    return name(callee) or (callee.extra if isinstance(callee.extra, str) else "")
