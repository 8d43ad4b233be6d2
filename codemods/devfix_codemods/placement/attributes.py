"""Attributes of the objects of a file: where each is read, which are registered, and which its class looks after."""

import ast
from collections import defaultdict
from collections.abc import Iterator

from devfix_codemods.catalogue import Kind
from devfix_codemods.ir import Class, Module, Node, Op
from devfix_codemods.placement.imported_definitions import ImportedDefinitions
from devfix_codemods.placement.kinds import Kinds

MOST_OPERANDS = 40


class Attributes:
    """What one file does with the attributes of its objects."""

    def __init__(self, module: Module, kinds: Kinds) -> None:
        self._kinds = kinds
        self.reads: dict[Node, list[Node]] = defaultdict(list)
        """Each attribute, and where it is read."""
        self.registered: dict[Node, Class] = {}
        """Those that move with their modules, and the class: buffers that are registered under a constant name."""
        self.asked: set[Node] = set()
        """Those that the program asks where they are, to compare it: it looks after them."""
        self.followed: set[Node] = set()
        """Those whose device the program takes for that of their module."""
        self.stored: dict[Node, list[Node]] = defaultdict(list)
        """Each attribute, and what is stored in it."""
        for store in module.stores:
            owner = kinds.class_of(store.base) if store.is_attribute else None
            if owner is not None and owner.sets(str(store.key)):
                self.stored[owner.field_of(str(store.key))].append(store.value)
        for node in module.of(Op.ATTR):
            if (field := self.field(node)) is not None:
                self.reads[field].append(node)
        for node in module.of(Op.CALL):
            self.registered.update(self._registered(node))
        for node in module.of(Op.COMPARE):
            self.asked |= set(self._asked_in(node))
        self.followed = set(self._followed(module)) - self.asked

    def field(self, read: Node) -> Node | None:
        """The attribute of a class of this file that is read."""
        owner = self._kinds.class_of(read.args[0])
        if owner is None or not owner.sets(str(read.extra)):
            return None
        return owner.field_of(str(read.extra))

    def is_of_constructor(self, field: Node) -> bool:
        """Whether the constructor alone says what an attribute holds."""
        stored = self.stored.get(field, ())
        return bool(stored) and all(one.function.name == "__init__" for one in stored)

    def is_joined(self, field: Node, value: Node) -> bool:
        """Whether what an attribute held is joined with something else: `torch.cat([self.t, x])`, `self.t + x`."""
        rows = [value] if value.op is Op.OPERATION else value.args[1:] if value.op is Op.CALL else ()
        given = {one for row in rows if row is value or row.op is Op.SEQUENCE for one in row.args}
        return not given.isdisjoint(self.reads.get(field, ()))

    def is_plain(self, owner: Class, name: str) -> bool:
        """Whether what is stored under a name stays as it is: no property, and nothing that registers all tensors."""
        lineage = list(owner.lineage())
        if any(one.methods[name].is_property for one in lineage if name in one.methods):
            return False
        setters = [one.methods["__setattr__"] for one in lineage if "__setattr__" in one.methods]
        return not any(_registers(node) for one in setters for node in one.nodes)

    def carries_all(self, owner: Class, imported: ImportedDefinitions) -> bool:
        """Whether a class moves whatever it holds: its own `to`, or `_apply`, goes over all attributes."""
        return any(
            _goes_over_all(node)
            for one in imported.lineage(owner)
            for name in _CARRYING & one.methods.keys()
            for node in one.methods[name].nodes
        )

    def meets_in_bases(self, owner: Class, name: str, imported: ImportedDefinitions) -> bool:
        """Whether a method that a class has from another file computes with an attribute and what it is given."""
        bases = [one for one in imported.lineage(owner) if one not in owner.lineage()]
        return any(
            node.op is Op.OPERATION and any(_is_own(one, name) for one in node.args) and _is_of_input(node)
            for base in bases
            for method in base.methods.values()
            for node in method.nodes
        )

    def _registered(self, call: Node) -> Iterator[tuple[Node, Class]]:
        """`self.register_buffer("t", …)`, and what classes have of that sort."""
        if not _registers(call) or len(call.args) < 2 or call.args[1].op is not Op.CONST:
            return
        owner = self._kinds.class_of(call.args[0].args[0])
        name = str(call.args[1].extra)
        if owner is not None and owner.sets(name):
            yield owner.field_of(name), owner

    def _asked_in(self, comparison: Node) -> Iterator[Node]:
        for one in comparison.args:
            if one.op is Op.ATTR and one.extra in {"type", "index"}:
                one = one.args[0]
            if one.op is Op.ATTR and one.extra == "device" and one.args[0].op is Op.ATTR:
                field = self.field(one.args[0])
                if field is not None:
                    yield field

    def _followed(self, module: Module) -> Iterator[Node]:
        for node in module.of(Op.ATTR):
            base = node.args[0] if node.extra == "device" else None
            if base is not None and base.op is Op.ATTR and self._kinds.of(base) is Kind.TENSOR:
                field = self.field(base)
                if field is not None and not isinstance(node.statement, ast.Expr):
                    yield field


def _is_own(node: Node, name: str) -> bool:
    return node.op is Op.ATTR and node.extra == name and node.args[0] is node.function.self_node


def _is_of_input(operation: Node) -> bool:
    """Whether an operation has an operand that the method is given, or that is computed of one."""
    pending = [operation]
    for one in pending:  # grows by the operands of each
        if one.op is Op.PARAM and one is not one.function.self_node:
            return True
        pending += one.args if one.op in {Op.OPERATION, Op.ITEM} and len(pending) < MOST_OPERANDS else ()
    return False


def _goes_over_all(node: Node) -> bool:
    if node.op is Op.ATTR:
        return node.extra == "__dict__"
    return node.op is Op.CALL and node.args[0].extra in {"builtins.vars", "builtins.setattr", "__setattr__"}


def _registers(call: Node) -> bool:
    callee = call.args[0] if call.op is Op.CALL else None
    return callee is not None and callee.op is Op.ATTR and str(callee.extra).startswith("register_")


_CARRYING = frozenset({"to", "_apply", "cuda"})
