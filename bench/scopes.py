"""Who encloses what in a file, and where a value is stored and read: what deletions are judged by."""

import ast
from collections.abc import Iterator
from functools import cached_property

Function = ast.FunctionDef | ast.AsyncFunctionDef
Scope = Function | ast.ClassDef | ast.Module
Block = list[ast.stmt]

_TORCH = ("torch", "th")
_MOVES = ("to", "cuda")
_DEVICE_WORDS = ("device", "cuda")


class Scopes:
    """The parents, functions, classes and blocks of a tree."""

    def __init__(self, tree: ast.Module) -> None:
        self.tree = tree

    @cached_property
    def _parents(self) -> dict[ast.AST, ast.AST]:
        return {child: node for node in ast.walk(self.tree) for child in ast.iter_child_nodes(node)}

    @cached_property
    def _blocks(self) -> dict[ast.stmt, Block]:
        return {statement: block for block in blocks(self.tree) for statement in block}

    def parent(self, node: ast.AST) -> ast.AST | None:
        return self._parents.get(node)

    def above(self, node: ast.AST) -> Iterator[ast.AST]:
        """What encloses a node, from the inside out."""
        while (above := self._parents.get(node)) is not None:
            yield above
            node = above

    def statement(self, node: ast.AST) -> ast.stmt:
        """The innermost statement in which an expression stands."""
        around = (node, *self.above(node))
        return next(one for one in around if isinstance(one, ast.stmt))

    def function(self, node: ast.AST) -> Function | None:
        return next((one for one in self.above(node) if isinstance(one, Function)), None)

    def block(self, statement: ast.stmt) -> Block:
        return self._blocks[statement]

    def scope(self, node: ast.AST, name: str) -> Scope:
        """Where a name, or an attribute such as `self.x`, is known: a function, a class or the file."""
        function = self.function(node)
        if "." in name:
            owners = [one for one in self.above(node) if isinstance(one, ast.ClassDef)]
            return owners[0] if name.startswith("self.") and owners else function or self.tree
        if function is None or any(self._is_within(one, function) for one in self._globals.get(name, ())):
            return self.tree
        return function if self._is_bound(function, name) else self.tree

    @cached_property
    def _globals(self) -> dict[str, list[ast.AST]]:
        found: dict[str, list[ast.AST]] = {}
        for node in ast.walk(self.tree):
            for name in node.names if isinstance(node, ast.Global) else ():
                found.setdefault(name, []).append(node)
        return found

    @cached_property
    def _mentions(self) -> dict[str, list[ast.Name | ast.Attribute]]:
        found: dict[str, list[ast.Name | ast.Attribute]] = {}
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Name | ast.Attribute) and (name := dotted(node)):
                found.setdefault(name, []).append(node)
        return found

    def _is_within(self, node: ast.AST, scope: ast.AST) -> bool:
        return scope is self.tree or any(one is scope for one in self.above(node))

    def _is_bound(self, function: Function, name: str) -> bool:
        stores = (one for one in self._mentions.get(name, ()) if isinstance(one.ctx, ast.Store))
        return is_parameter(function, name) or any(self._is_within(one, function) for one in stores)

    def mentions(self, node: ast.AST, name: str) -> list[ast.Name | ast.Attribute]:
        """All places, in the scope of `name` as it is seen from `node`, where it is stored or read."""
        scope = self.scope(node, name)
        return [one for one in self._mentions.get(name, ()) if self._is_within(one, scope)]

    def assigned(self, node: ast.AST, name: str) -> list[ast.expr | None]:
        """The values that are assigned to a name; None for one that is bound in any other way."""
        stores = [one for one in self.mentions(node, name) if isinstance(one.ctx, ast.Store)]
        return [self._value(one) for one in stores]

    def _value(self, target: ast.expr) -> ast.expr | None:
        match self.parent(target):
            case ast.Assign(value=value) | ast.AnnAssign(value=value) | ast.NamedExpr(value=value):
                return value
        return None


def blocks(tree: ast.AST) -> Iterator[Block]:
    """All lists of statements that stand one below the other."""
    for node in ast.walk(tree):
        for name in ("body", "orelse", "finalbody"):
            block = getattr(node, name, None)
            if isinstance(block, list) and block and isinstance(block[0], ast.stmt):
                yield block


def dotted(node: ast.AST) -> str:
    """`x` or `self.net.head`; empty for anything else."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=value, attr=name):
            owner = dotted(value)
            return f"{owner}.{name}" if owner else ""
    return ""


def is_parameter(function: Function, name: str) -> bool:
    given = function.args
    every = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
    return any(one is not None and one.arg == name for one in every)


def names_device(node: ast.expr) -> bool:
    text = ast.unparse(node).lower()
    return any(word in text for word in _DEVICE_WORDS)


def is_of_torch(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id in _TORCH


def is_move(node: ast.AST | None) -> bool:
    """`x.to(device)` or `x.cuda()`."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.func.attr not in _MOVES:
        return False
    if node.func.attr == "cuda":
        return not is_of_torch(node.func.value)
    target = move_target(node)
    return target is not None and names_device(target)


def move_target(call: ast.Call) -> ast.expr | None:
    """The device that a call of `.to` or `.cuda`, or of a factory, is given."""
    given = [*call.args[:1], *(one.value for one in call.keywords if one.arg == "device")]
    return given[0] if given else None


def keyword(call: ast.Call, name: str) -> ast.expr | None:
    return next((one.value for one in call.keywords if one.arg == name), None)
