"""What gives each name its value: the statements and parameters that bind it, and which of them reach a line."""

import ast
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from devfix_codemods.project.names import Names
from devfix_codemods.project.tree import dotted, walk

Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
Scope = ast.Module | ast.ClassDef | Function


@dataclass(frozen=True, slots=True)
class Binding:
    """One place that gives a name its value: a statement or a parameter. `value` is None where it says nothing."""

    node: ast.stmt | ast.arg
    value: ast.expr | None = None
    annotation: ast.expr | None = None

    @property
    def start(self) -> tuple[int, int]:
        return (self.node.lineno, self.node.col_offset)


class Bindings:
    """The bindings of one file. Keys are dotted: `device`, `args.device`, `self.device`."""

    def __init__(self, tree: ast.Module, names: Names) -> None:
        self._tree = tree
        self._names = names

    def of(self, scope: Scope, key: str) -> list[Binding]:
        """Everything in `scope` that binds `key`."""
        return self._all.get((scope, key), [])

    def keys(self, scope: Scope) -> list[str]:
        """What `scope` binds."""
        return self._keys.get(scope, [])

    def of_class(self, owner: ast.ClassDef, key: str) -> list[Binding]:
        """Everything in the methods of `owner` that binds `key`."""
        scopes = [scope for scope, name in self._all if name == key and self.class_of(scope) is owner]
        return [one for scope in scopes for one in self._all[(scope, key)]]

    def owner(self, key: str, at: ast.AST) -> Scope | None:
        """The scope whose bindings of `key` a read at `at` sees."""
        scope = self.scope(at)
        first = True
        while True:
            if (first or not isinstance(scope, ast.ClassDef)) and (scope, key) in self._all:
                return scope
            if (scope, key.partition(".")[0]) in self._all or isinstance(scope, ast.Module):
                return None
            scope, first = self.scope(scope), False

    def seen(self, key: str, at: ast.AST) -> list[Binding]:
        """Everything that binds `key` in the scope whose bindings a read at `at` sees."""
        owner = self.owner(key, at)
        return self.of(owner, key) if owner is not None else []

    def reaching(self, found: list[Binding], at: ast.AST) -> list[Binding]:
        """The last binding that certainly precedes `at` and all that may come after it; without such a one, all."""
        certain = [one for one in found if self.dominates(one, at)]
        if not certain:
            return found
        last = max(certain, key=lambda one: one.start)
        return [one for one in found if one.start >= last.start]

    def dominates(self, binding: Binding, at: ast.AST) -> bool:
        """Whether every path to `at` passes `binding`: a parameter, or an earlier statement of a block around it."""
        if isinstance(binding.node, ast.arg):
            return True
        parent = self._names.parent(binding.node)
        around = [one for one in (at, *self._names.ancestors(at)) if self._names.parent(one) is parent]
        if parent is None or not around:
            return False
        blocks = [block for _, block in ast.iter_fields(parent) if isinstance(block, list)]
        return any(binding.node in block[: block.index(one)] for one in around for block in blocks if one in block)

    def class_of(self, at: ast.AST) -> ast.ClassDef | None:
        return next((one for one in self._names.ancestors(at) if isinstance(one, ast.ClassDef)), None)

    def scope(self, node: ast.AST) -> Scope:
        """The scope that runs `node`: decorators, defaults and annotations belong to the one around their function."""
        inner = node
        for outer in self._names.ancestors(node):
            if isinstance(outer, ast.Lambda) and inner is outer.body:
                return outer
            if isinstance(outer, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and inner in outer.body:
                return outer
            inner = outer
        return self._tree

    @cached_property
    def _keys(self) -> dict[Scope, list[str]]:
        found: defaultdict[Scope, list[str]] = defaultdict(list)
        for scope, key in self._all:
            found[scope].append(key)
        return found

    @cached_property
    def _all(self) -> dict[tuple[Scope, str], list[Binding]]:
        found: defaultdict[tuple[Scope, str], list[Binding]] = defaultdict(list)
        nodes = list(walk(self._tree))
        outer = {(self.scope(one), name) for one in nodes if isinstance(one, ast.Global) for name in one.names}
        for node in nodes:
            if isinstance(node, Function):
                for one in _parameters(node):
                    found[(node, one.node.arg if isinstance(one.node, ast.arg) else "")].append(one)
            elif isinstance(node, ast.Name | ast.Attribute) and not isinstance(node.ctx, ast.Load):
                scope, key = self.scope(node), dotted(node) or ast.unparse(node)
                found[(self._tree if (scope, key) in outer else scope, key)].append(self._assigned(node))
            elif isinstance(node, ast.Import | ast.ImportFrom):
                for alias in node.names:
                    name = alias.asname or alias.name.partition(".")[0]
                    found[(self.scope(node), name)].append(Binding(node))
        return dict(found)

    def _assigned(self, node: ast.Name | ast.Attribute) -> Binding:
        statement = self._names.statement(node)
        match statement:
            case ast.Assign(targets=targets, value=value) if node in targets:
                return Binding(statement, value)
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)) if node in targets:
                paired = len(targets) == len(values) and not any(isinstance(one, ast.Starred) for one in values)
                return Binding(statement, values[targets.index(node)] if paired else None)
            case ast.AnnAssign(target=target, annotation=annotation, value=value) if node is target:
                return Binding(statement, value, annotation)
        return Binding(statement)


def initializers(owner: ast.ClassDef) -> Sequence[ast.FunctionDef]:
    """The methods that run before any other."""
    return [one for one in owner.body if isinstance(one, ast.FunctionDef) and one.name in _INITIALIZERS]


_INITIALIZERS = frozenset({"__init__", "__post_init__", "__new__"})


def _parameters(function: Function) -> Iterator[Binding]:
    arguments = function.args
    plain = [*arguments.posonlyargs, *arguments.args]
    defaults = [None] * (len(plain) - len(arguments.defaults)) + list(arguments.defaults)
    for one, default in [*zip(plain, defaults), *zip(arguments.kwonlyargs, arguments.kw_defaults)]:
        yield Binding(one, default, one.annotation)
    for star in (arguments.vararg, arguments.kwarg):
        if star:
            yield Binding(star)
