"""Simple statements, and what they bind."""

import ast
from collections.abc import Callable
from typing import Any, ClassVar

from devfix_codemods import annotated
from devfix_codemods.ir.elements import Elements
from devfix_codemods.ir.items import item_key
from devfix_codemods.ir.keys import name as name_of
from devfix_codemods.ir.nodes import Node, Op, Store
from devfix_codemods.ir.spelled_names import stored_by_name

MOVING = frozenset(
    {"to", "cuda", "cpu", "to_empty", "half", "float", "mps", "xpu", "npu", "hpu", "share_memory", "type"}
)
"""Methods that, as a statement, may change a module in place."""
REGISTERING = frozenset({"register_buffer", "register_parameter"})
"""Methods of modules that set attributes."""


class Simple(Elements):
    """Expressions, and the statements that hold no others."""

    live = True
    """Whether what comes next is reached."""

    def bind(self, target: ast.expr, value: Node) -> None:
        """Give a target its value."""
        match target:
            case ast.Name(id=name):
                self.assign(name, value)
            case ast.Tuple(elts=elements) | ast.List(elts=elements):
                for index, element in enumerate(elements):
                    is_behind = any(isinstance(one, ast.Starred) for one in elements[:index])
                    self._unpack(element, value, index - len(elements) if is_behind else index, len(elements))
            case ast.Starred(value=inner):
                self.bind(inner, value)
            case ast.Attribute(value=owner, attr=name):
                self._store(self.value(owner), name, value)
            case ast.Subscript(value=owner, slice=index):
                base = self.value(owner)
                found = self.value(index)
                constant = found.extra if found.op is Op.CONST else None
                self.versions.holds_other(base)
                self.function.stores.append(Store(base, constant, value, self.guard, self.statement, False, found))
                if (item := item_key(found)) is not None:
                    self.environment[(base, item)] = value
                    self.touched()

    def _store(self, base: Node, name: str, value: Node) -> None:
        """An attribute of an object gets a value."""
        self.function.stores.append(Store(base, name, value, self.guard, self.statement, True))
        if base is self.function.self_node and self.function.owner is not None:
            self.function.owner.keeps(name)
        self.environment[(base, name)] = value
        self.touched()

    def registered(self, call: Node) -> None:
        """`setattr(self, "x", value)` and `self.register_buffer("x", value)` set an attribute as well."""
        stored = stored_by_name(call)
        if stored is not None and stored[0] is self.function.self_node:
            self._store(*stored)
            return
        callee, owner = call.args[0], self.function.owner
        named = call.args[1] if len(call.args) > 1 else None
        if owner is None or named is None or callee.extra not in REGISTERING or named.op is not Op.CONST:
            return
        if callee.args and callee.args[0] is self.function.self_node and isinstance(named.extra, str):
            owner.keeps(named.extra)

    def _unpack(self, element: ast.expr, value: Node, index: int, count: int) -> None:
        """Bind one of `count` targets; behind a starred one the `index` counts from the end."""
        elements = value.args if value.op is Op.SEQUENCE else ()
        last = len(elements) > count and index < 0 and all(one.op is not Op.ITER for one in elements)
        if isinstance(element, ast.Starred):
            self.bind(element.value, self.node(Op.ITEM, element, (value,), None))
        elif len(elements) == count or last:
            self.bind(element, self.read_first(elements[index], element))
        else:
            self.bind(element, self.node(Op.ITEM, element, (value,), index))

    # One for each kind

    def _expr(self, one: ast.Expr) -> None:
        call = self.value(one.value)
        moved = receiver(one)
        place = self.place_of(moved) if moved is not None else None
        if place is not None and moved is not None:
            base = self.environment.get(place) or self.value(moved)
            after = self.environment[place] = self.node(Op.AFTER, moved, (base, call), None)
            if isinstance(place, str) and self.function.finals.get(place) is base and self.guard <= base.guard:
                self.function.finals[place] = after  # functions inside see the moved one
            self.touched()
        self.live = call.op is not Op.CALL or name_of(call.args[0]) not in _ENDING

    def _assign(self, one: ast.Assign) -> None:
        value = self.value(one.value)
        for target in one.targets:
            self.bind(target, value)

    def _annassign(self, one: ast.AnnAssign) -> None:
        if one.value is not None:  # in the body of a class
            self.bind(one.target, self.value(one.value))

    def _augassign(self, one: ast.AugAssign) -> None:
        read = _read(one.target)
        old, new = self.value(read), self.value(one.value)
        self.bind(one.target, self.node(Op.OPERATION, one, (old, new), type(one.op).__name__))

    def _delete(self, one: ast.Delete) -> None:
        pending = list(one.targets)
        for target in pending:  # grows
            if isinstance(target, ast.Name):
                self.environment.pop(target.id, None)
            elif isinstance(target, ast.Tuple | ast.List):
                pending += target.elts
            else:
                self.value(_read(target))
                if isinstance(target, ast.Subscript):
                    self.versions.holds_other(self.value(target.value))
        self.touched()

    def _import(self, one: ast.Import) -> None:
        for alias in one.names:
            name = alias.name if alias.asname else alias.name.partition(".")[0]
            self.assign(alias.asname or name, self.node(Op.REF, one, (), name))

    def _importfrom(self, one: ast.ImportFrom) -> None:
        head = "." * one.level + (one.module or "")
        for alias in one.names:
            if alias.name == "*":
                self.function.module.starred = True
                continue
            dotted = f"{head}{'' if head.endswith('.') else '.'}{alias.name}"
            self.assign(alias.asname or alias.name, self.node(Op.REF, one, (), dotted))

    def _global(self, one: ast.Global | ast.Nonlocal) -> None:
        for name in one.names:
            if isinstance(one, ast.Global):
                self.shared.add(name)
            if name in self.outer:
                self.environment.setdefault(name, self.outer[name])

    statements: ClassVar[dict[type[ast.stmt], Callable[[Any, Any], None]]] = {
        ast.Expr: _expr,
        ast.Assign: _assign,
        annotated.Assign: _assign,
        ast.AnnAssign: _annassign,
        ast.AugAssign: _augassign,
        ast.Delete: _delete,
        ast.Import: _import,
        ast.ImportFrom: _importfrom,
        ast.Global: _global,
        ast.Nonlocal: _global,
    }
    """What lowers each sort of statement."""


def receiver(one: ast.stmt) -> ast.expr | None:
    """`net` in `net.to(device)`, `net.eval().to(device)`, `net.to(device).eval()`, `(net := Net()).to(device)`."""
    if not isinstance(one, ast.Expr):
        return None
    node, moved = one.value, False
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        moved |= node.func.attr in MOVING
        node = node.func.value
    node = node.target if isinstance(node, ast.NamedExpr) else node
    return node if moved and isinstance(node, (ast.Name, ast.Attribute)) else None


def _read(target: ast.expr) -> ast.expr:
    """The target of an augmented assignment, as it is read."""
    match target:
        case ast.Name(id=name):
            return ast.copy_location(ast.Name(name, ast.Load()), target)
        case ast.Attribute(value=value, attr=attr):
            return ast.copy_location(ast.Attribute(value, attr, ast.Load()), target)
        case ast.Subscript(value=value, slice=index):
            return ast.copy_location(ast.Subscript(value, index, ast.Load()), target)
    return target


_ENDING = frozenset({"sys.exit", "os._exit", "os.abort", "builtins.exit", "builtins.quit"})
"""Functions that do not come back."""
