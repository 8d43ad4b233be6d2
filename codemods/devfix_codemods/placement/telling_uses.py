"""Uses of values that tell what kind of thing these are: they are gone through, called, or asked for a method."""

from collections.abc import Iterator

from devfix_codemods.ir import Class, Function, Module, Node, Op
from devfix_codemods.ir.keys import name
from devfix_codemods.placement.calls import function_named, parameters
from devfix_codemods.placement.pass_through import passed

MOST_STEPS = 60
"""How many values are looked at to see whether one is asked."""


class TellingUses:
    """What one file does with its values."""

    def __init__(self, module: Module) -> None:
        self._module = module
        self._methods = {text for one in module.classes for text in one.methods}
        self._kept: dict[Node, list[tuple[Class, object]]] = {}
        for function in module.functions:
            for store in function.stores:
                if store.is_attribute and store.base is function.self_node and function.owner is not None:
                    self._kept.setdefault(store.value, []).append((function.owner, store.key))
        self._read: dict[tuple[Class, object], list[Node]] = {}
        for node in module.of(Op.ATTR):
            owner = node.function.owner
            if owner is not None and node.args[0] is node.function.self_node:
                self._read.setdefault((owner, node.extra), []).append(node)

    def any_tells(self, function: Function) -> bool:
        """Whether a function does with a parameter what depends on the sort of thing that it is."""
        return any(map(self.tells, filter(_is_open, function.parameters.values())))

    def tells(self, value: Node) -> bool:
        """Whether a file does with a value, under whatever name, what depends on the sort of thing that it is."""
        users = self._module.users
        return any(self._is_telling(user, one) for one in self.copies(value) for user in users.get(one, ()))

    def copies(self, value: Node) -> list[Node]:
        """What is the value again: under another name, as an attribute of an object, as a parameter."""
        found = [value]
        for one in found:  # grows
            if len(found) > MOST_STEPS:
                break
            for user in self._module.users.get(one, ()):
                found += (each for each in _same(user, one) if each not in found)
            for kept in self._kept.get(one, ()):
                found += (each for each in self._read.get(kept, ()) if each not in found)
        return found

    def _is_telling(self, user: Node, value: Node) -> bool:
        """Whether a value is gone through or called, or a method is that classes of this file have."""
        if user.op is Op.ITER:
            return True
        if user.op is Op.ATTR:
            return user.extra in self._methods
        return user.op is Op.CALL and (user.args[0] is value or name(user.args[0]) in _GOING_THROUGH)


def _same(user: Node, value: Node) -> Iterator[Node]:
    """What is the value again: joined with others, with a progress bar around it, or as a function gets it."""
    joined = user.op is Op.PHI or (user.op is Op.AFTER and user.args[0] is value)
    if joined or (user.op is Op.CALL and passed(user) is value):
        yield user
    elif user.op is Op.CALL:
        yield from parameters(value, user, function_named(user.args[0]))


def _is_open(parameter: Node) -> bool:
    """Whether nothing but calls can say what a parameter is."""
    is_starred = str(parameter.extra).startswith("*")
    annotated = getattr(parameter.syntax, "annotation", None) is not None
    return parameter is not parameter.function.self_node and not annotated and not is_starred


_GOING_THROUGH = frozenset({"builtins.iter", "builtins.next"})
