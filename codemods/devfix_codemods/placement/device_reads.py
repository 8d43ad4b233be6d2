"""Functions that ask tensors for their device: who writes `device=x.device` expects `x` on one."""

from collections.abc import Set

from devfix_codemods.catalogue import Kind
from devfix_codemods.ir import Function, Module, Node, Op
from devfix_codemods.ir.keys import name
from devfix_codemods.placement.kinds import Kinds
from devfix_codemods.placement.roots import Roots


class DeviceReads:
    """What the functions of one file expect of the tensors that they are given."""

    def __init__(self, module: Module, kinds: Kinds, roots: Roots) -> None:
        self._kinds = kinds
        read = [one for node in module.of(Op.CALL) for one in _devices_given(node)]
        self._asked: Set[Node] = self._handed_on({root for one in read for root in _asked(one.args[0], roots)}, roots)
        self._asking: Set[Function] = {one.function for one in read}

    def _handed_on(self, asked: Set[Node], roots: Roots) -> Set[Node]:
        """What is asked, and the parameters that its function is given for it by other functions of the file."""
        found = [*asked]
        for one in found:  # grows
            given = (root for value in self._kinds.given.get(one, ()) for root in (value, *roots.of(value)))
            found += [each for each in given if each.op is Op.PARAM and each not in found]
        return {*found}

    def link(self, parameter: Node, otherwise: str) -> str:
        """How surely a value that callers give, or code that is not read, is on a device."""
        if parameter in self._asked:
            return "asked-for-device"
        beside = parameter.function in self._asking and self._kinds.of(parameter) is Kind.TENSOR
        return "beside-asked" if beside else otherwise


def _asked(node: Node, roots: Roots) -> Set[Node]:
    """What is asked where it is: of a choice, what is computed of itself on the other path, and not made there."""
    if node.op is not Op.PHI:
        return roots.of(node)
    return {one for one in node.args if one.op is Op.PARAM and all(one is way or one in way.args for way in node.args)}


def _devices_given(call: Node) -> list[Node]:
    """`x.device` among the arguments of a call that places something there."""
    callee = call.args[0]
    called = name(callee) or ""
    if called.startswith("builtins.") or not (callee.op is Op.ATTR or called.startswith("torch.")):
        return []
    return [one for one in call.args[1:] if one.op is Op.ATTR and one.extra == "device"]
