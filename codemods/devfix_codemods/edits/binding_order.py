"""Names of functions that are read above whatever binds them: `UnboundLocalError`, whichever way a run goes."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

_Function = ast.FunctionDef | ast.AsyncFunctionDef
_INNER = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_LOOPS = (ast.For, ast.AsyncFor, ast.While)


def read_too_early(tree: ast.Module) -> set[tuple[str, str]]:
    """Functions and their names that are read before anything can have bound them.

    Said only of what is certain: a loop around a read may have bound the name in an earlier turn.
    """
    functions = (node for node in ast.walk(tree) if isinstance(node, _Function))
    return {(one.name, name) for one in functions for name in _Names().of(one)}


@dataclass
class _Names:
    """What one function reads and binds of its own, in the order of the text."""

    bound: dict[str, tuple[int, int]] = field(default_factory=dict)
    read: list[tuple[str, tuple[int, int], list[ast.AST]]] = field(default_factory=list)
    others: set[str] = field(default_factory=set)
    """Names whose order the text does not tell: parameters, those of other scopes and of comprehensions."""

    def of(self, function: _Function) -> Iterator[str]:
        self.others = {one.arg for one in ast.walk(function.args) if isinstance(one, ast.arg)}
        for statement in function.body:
            self._visit(statement, [])
        for name, place, loops in self.read:
            is_above = name in self.bound and name not in self.others and place < self.bound[name]
            if is_above and not any(_binds(loop, name) for loop in loops):
                yield name

    def _visit(self, node: ast.AST, loops: list[ast.AST]) -> None:
        match node:
            case ast.Name(id=name, ctx=ast.Load()):
                self.read.append((name, (node.lineno, node.col_offset), loops))
            case ast.Global(names=names) | ast.Nonlocal(names=names):
                self.others.update(names)
            case _ if (bound := _bound_by(node)) is not None:
                self._bind(bound, node)
        if isinstance(node, _INNER):
            return
        if isinstance(node, _COMPREHENSIONS):
            self.others |= {one.id for one in ast.walk(node) if isinstance(one, ast.Name) and _is_bound(one)}
        inner = [*loops, node] if isinstance(node, _LOOPS) else loops
        for child in ast.iter_child_nodes(node):
            self._visit(child, inner)

    def _bind(self, name: str, node: ast.AST) -> None:
        place = (getattr(node, "lineno", 0), getattr(node, "col_offset", 0))
        self.bound[name] = min(place, self.bound.get(name, place))


def _bound_by(node: ast.AST) -> str | None:
    """The name that a node binds, but for imports and patterns, which may bind several: those are taken apart."""
    match node:
        case ast.Name(id=name) if _is_bound(node):
            return name
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return name
        case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
            return name
        case ast.MatchMapping(rest=str(name)):
            return name
        case ast.alias(name=name, asname=asname):
            return asname or name.partition(".")[0]
    return None


def _is_bound(node: ast.Name) -> bool:
    return isinstance(node.ctx, ast.Store | ast.Del)


def _binds(loop: ast.AST, name: str) -> bool:
    return any(_bound_by(node) == name for node in ast.walk(loop))
