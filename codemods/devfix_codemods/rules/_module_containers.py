"""Plain lists, tuples and dicts of modules that a class keeps in its attributes."""

import ast
from collections.abc import Iterator
from functools import cached_property

from devfix_codemods import scope
from devfix_codemods.flow.tables import CONTAINER_MODULES, MODULE_DICT_ATTRIBUTES
from devfix_codemods.flow.tree import walk
from devfix_codemods.program import Program
from devfix_codemods.rules._container_uses import READERS, Holder, Uses, calls
from devfix_codemods.rules._module_values import ModuleValues, Sort, joined

_LISTS = (ast.List, ast.Tuple, ast.ListComp)
_DICTS = (ast.Dict, ast.DictComp)
_GROWING = frozenset({"append", "insert", "extend", "update"})
_REGISTERING = frozenset({"add_module", "register_module", "__setattr__", "_modules"})
_OWN_WAYS = frozenset(
    {"parameters", "named_parameters", "state_dict", "to", "cuda", "_apply", "children", "train", "eval"}
)
"""Methods by which a class answers for its parts itself."""


def container_of(node: ast.expr) -> str | None:
    """The module container that can stand for a plain one; None for any other expression."""
    if isinstance(node, _LISTS):
        return "ModuleList"
    if isinstance(node, _DICTS):
        return "ModuleDict"
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
        if node.func.id in {"list", "tuple"} and all(isinstance(one, (*_LISTS, ast.GeneratorExp)) for one in node.args):
            return "ModuleList"
        if node.func.id in {"dict", "OrderedDict"} and not node.args:
            return "ModuleDict"
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        sides = {container_of(node.left), container_of(node.right)}
        return "ModuleList" if sides == {"ModuleList"} else None
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        return "ModuleList" if isinstance(node.left, ast.List) else None
    return None


class Containers:
    """Finds the holders of one class."""

    def __init__(self, program: Program, values: ModuleValues, owner: ast.ClassDef) -> None:
        self._program = program
        self._names = program.names
        self._values = values
        self._owner = owner

    @cached_property
    def _nodes(self) -> list[ast.AST]:
        return [node for one in self._values.family(self._owner) for node in self._values.nodes(one)]

    @cached_property
    def _uses(self) -> Uses:
        return Uses(self._program, self._nodes)

    def holders(self) -> Iterator[Holder]:
        """The containers that hold, or may get, modules."""
        found: dict[str, list[Holder]] = {}
        for node in self._values.nodes(self._owner):
            for one in self._assigned(node):
                found.setdefault(one.attribute, []).append(one)
        if not found or self._registers_by_name():
            return
        for attribute, holders in found.items():
            inner: list[ast.expr] = []
            container = holders[0].container
            added = [sort for use in self._uses.of(attribute) for sort in self._grown(use, inner, container)]
            registered = self._is_registered_elsewhere(attribute)
            for one in holders:
                self._fill(one)
                one.sorts.extend(added)
                one.inner.extend(inner)
                one.hidden |= registered or Sort.HELD in one.sorts
            if any({Sort.MODULE, Sort.LIKELY} & set(one.sorts) and not one.hidden for one in holders):
                self._uses.judge(attribute, holders)
                yield from (one for one in holders if not one.hidden)

    # -- assignments

    def _assigned(self, node: ast.AST) -> Iterator[Holder]:
        if not isinstance(node, (ast.Assign, ast.AnnAssign)) or node.value is None:
            return
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        if len(targets) != 1 or not isinstance(targets[0], ast.Attribute):
            return
        target = targets[0]
        function = scope.function_around(self._program, node)
        if not (isinstance(target.value, ast.Name) and target.value.id == "self") or function is None:
            return
        if scope.class_around(self._program, node) is not self._owner or function.name == "forward":
            return
        for value in _arms(node.value):
            if (container := container_of(value)) is not None:
                yield Holder(target.attr, node, value, container)
            elif isinstance(value, ast.Name) and (made := self._local_list(value, function)) is not None:
                yield Holder(target.attr, node, value, made, local=value.id)

    def _local_list(self, node: ast.Name, function: scope.Function) -> str | None:
        """The container kind of a local name that is bound once, to a container, and not used after `node`."""
        container = None
        for one in walk(function):
            if not (isinstance(one, ast.Name) and one.id == node.id):
                continue
            if isinstance(one.ctx, ast.Store):
                parent = self._names.parent(one)
                if container is not None or not isinstance(parent, ast.Assign) or len(parent.targets) != 1:
                    return None
                container = container_of(parent.value) if parent.targets[0] is one else None
                if container is None:
                    return None
            elif one is not node and (one.lineno > node.lineno or self._is_handed_on(one)):
                return None
        return container if node.id not in scope.parameters(function) else None

    def _is_handed_on(self, node: ast.Name) -> bool:
        """Whether a local list is given to something that may register what it holds."""
        parent = self._names.parent(node)
        if isinstance(parent, (ast.Starred, ast.keyword, ast.Return, ast.Assign, ast.Tuple, ast.List)):
            return True
        return isinstance(parent, ast.Call) and not calls(parent, READERS)

    # -- what they get

    def _fill(self, holder: Holder) -> None:
        function = scope.function_around(self._program, holder.statement)
        value = holder.value
        if holder.local is None:
            holder.sorts.extend(self._elements(value, holder.inner))
            single = isinstance(value, (ast.List, ast.Tuple)) and len(value.elts) == 1
            holder.hidden = single and self._uses.is_only_first(holder.attribute)
        elif function is not None:
            for one in walk(function):
                if isinstance(one, ast.Name) and one.id == holder.local:
                    holder.sorts.extend(self._into_local(one, holder.inner, holder.container))

    def _into_local(self, node: ast.Name, inner: list[ast.expr], container: str) -> Iterator[Sort]:
        parent = self._names.parent(node)
        if isinstance(node.ctx, ast.Store) and isinstance(parent, ast.Assign):
            yield from self._elements(parent.value, inner)
        elif isinstance(node.ctx, ast.Store):
            yield Sort.UNKNOWN
        else:
            yield from self._grown(node, inner, container)

    def _grown(self, use: ast.expr, inner: list[ast.expr], container: str) -> Iterator[Sort]:
        """What one use of a container adds to it."""
        parent = self._names.parent(use)
        call = self._names.parent(parent) if isinstance(parent, ast.Attribute) else None
        if isinstance(parent, ast.Attribute) and isinstance(call, ast.Call) and call.func is parent:
            if parent.attr in _GROWING and call.args:
                whole = parent.attr in {"extend", "update"}
                yield from self._elements(call.args[-1], inner) if whole else self._element(call.args[-1], inner)
        elif isinstance(parent, ast.AugAssign) and parent.target is use:
            yield from self._elements(parent.value, inner)
        elif isinstance(parent, ast.Subscript) and isinstance(parent.ctx, ast.Store):
            statement = self._names.parent(parent)
            known = isinstance(statement, ast.Assign) and parent in statement.targets
            if container == "ModuleDict" and not _is_key(parent.slice):
                yield Sort.UNKNOWN
            yield from self._element(statement.value, inner) if known else [Sort.UNKNOWN]  # type: ignore[union-attr]

    def _elements(self, node: ast.expr, inner: list[ast.expr]) -> Iterator[Sort]:
        """What the elements of a container expression are."""
        match node:
            case ast.List(elts=elts) | ast.Tuple(elts=elts):
                for one in elts:
                    yield from self._element(one, inner)
            case ast.ListComp(elt=elt) | ast.GeneratorExp(elt=elt):
                yield from self._element(elt, inner)
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                yield from (*self._elements(left, inner), *self._elements(right, inner))
            case ast.BinOp(left=left, op=ast.Mult()):
                yield from self._elements(left, inner)
            case ast.Dict(keys=keys, values=values):
                yield from ([] if all(map(_is_key, keys)) else [Sort.UNKNOWN])
                for one in values:
                    yield from self._element(one, inner)
            case ast.DictComp(key=key, value=value):
                yield from ([] if _is_key(key) else [Sort.UNKNOWN])
                yield from self._element(value, inner)
            case ast.Call(func=ast.Name(id="list" | "tuple" | "dict" | "OrderedDict"), args=args):
                for one in args:
                    yield from self._elements(one, inner)
            case _:
                yield Sort.UNKNOWN

    def _element(self, node: ast.expr, inner: list[ast.expr]) -> Iterator[Sort]:
        """One element: a module, or a container of modules, which then has to become one too."""
        container = container_of(node)
        if container is None:
            yield self._values.sort(node)
            return
        sorts = list(self._elements(node, inner))
        if joined(sorts) is Sort.MODULE:
            inner.append(node)
        yield from sorts

    def _is_registered_elsewhere(self, attribute: str) -> bool:
        """Whether the attribute is a module container already, in another branch or later on."""
        values = [
            arm
            for use in self._uses.of(attribute)
            if isinstance(parent := self._names.parent(use), ast.Assign) and use in parent.targets
            for arm in _arms(parent.value)
        ]
        return any(
            isinstance(one, ast.Call) and self._values.qualified(one.func) in CONTAINER_MODULES for one in values
        )

    def _registers_by_name(self) -> bool:
        """Whether the class registers parts by name, or answers for its parameters itself."""
        overridden = self._values.classes.methods(self._owner).keys() & _OWN_WAYS
        return bool(overridden) or any(
            (isinstance(node, ast.Attribute) and node.attr in _REGISTERING)
            or (isinstance(node, ast.Name) and node.id == "setattr")
            for node in self._nodes
        )


def _arms(node: ast.expr) -> Iterator[ast.expr]:
    """The values that an expression may have: both of `a if c else b`."""
    if isinstance(node, ast.IfExp):
        yield from _arms(node.body)
        yield from _arms(node.orelse)
    else:
        yield node


def _is_key(node: ast.expr | None) -> bool:
    """Whether a key is a string that a `ModuleDict` takes."""
    if isinstance(node, ast.Constant):
        text = node.value
        return isinstance(text, str) and text not in MODULE_DICT_ATTRIBUTES and text != "" and "." not in text
    if isinstance(node, ast.JoinedStr):
        return not any(isinstance(one, ast.Constant) and "." in str(one.value) for one in node.values)
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "str"
