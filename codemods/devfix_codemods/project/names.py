"""Qualified names: what a name or a dotted expression refers to, through imports, aliases and scopes.

`import torch as th`, `from torch import nn`, `try: from torch.amp import autocast / except ImportError: from
torch.cuda.amp import autocast` and `autocast = torch.autocast` are followed. A name that anything else can bind (a
parameter, an assignment, a loop) is never resolved: a name alone identifies no API.
"""

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from devfix_codemods.project.tree import children, declared, walk

Import = ast.Import | ast.ImportFrom


@dataclass(frozen=True, slots=True)
class Candidate:
    """One thing that a name may refer to, and the import that says so (None behind an alias)."""

    qualified: str
    statement: Import | None


@dataclass(slots=True, eq=False)
class Scope:
    """What one function, class, comprehension or module binds."""

    parent: "Scope | None"
    is_class: bool = False
    is_comprehension: bool = False
    imports: dict[str, list[Candidate]] = field(default_factory=dict)
    aliases: dict[str, list[ast.expr]] = field(default_factory=dict)
    relatives: dict[str, str] = field(default_factory=dict)
    others: set[str] = field(default_factory=set)
    outer: set[str] = field(default_factory=set)
    nonlocals: set[str] = field(default_factory=set)

    def binds(self, name: str) -> bool:
        return name in self.imports or name in self.aliases or name in self.others or name in self.relatives

    def sees(self, name: str) -> bool:
        """Whether this scope or one around it binds `name`, wherever in it that is."""
        return _owner(name, self) is not None

    def chain(self) -> "Iterator[Scope]":
        """This scope and those around it, the innermost first."""
        scope: Scope | None = self
        while scope is not None:
            yield scope
            scope = scope.parent


class Names:
    """Name resolution for one module.

    On the way through the tree it also notes what rules ask for first: `classes`, `imports`, `calls`
    and `loops`, and the `scopes` of what has one of its own, outer ones first.
    """

    def __init__(self, tree: ast.Module) -> None:
        self._scopes: dict[ast.Name, Scope] = {}
        self.scopes: dict[ast.expr | ast.stmt, Scope] = {}
        self._parents: dict[ast.AST, ast.AST] = {}
        self.module = Scope(None)
        self.classes: list[ast.ClassDef] = []
        self.imports: list[Import] = []
        self.calls: list[ast.Call] = []
        self.loops: list[ast.For | ast.AsyncFor] = []
        self.starred = False
        self.elsewhere: Callable[[str], str | None] = lambda _: None
        """What the star imports bind a name to that nothing else binds, where the project says it."""
        self._brought: dict[str, str | None] = {}
        self._resolved: dict[tuple[Scope, str], tuple[Candidate, ...]] = {}
        _Binder(self, self.module).visit_module(tree)

    def parent(self, node: ast.AST) -> ast.AST | None:
        """The syntax node that directly holds `node`."""
        return self._parents.get(node)

    def ancestors(self, node: ast.AST) -> Iterator[ast.AST]:
        """The nodes around `node`, innermost first."""
        current = self._parents.get(node)
        while current is not None:
            yield current
            current = self._parents.get(current)

    def statement(self, node: ast.AST) -> ast.stmt:
        """The innermost statement that holds `node` (itself, if it is one)."""
        while not isinstance(node, ast.stmt):
            node = self._parents[node]
        return node

    def qualified(self, node: ast.expr) -> str | None:
        """The one qualified name `node` refers to, such as `torch.nn.Linear`, or None where that is not certain."""
        found = {candidate.qualified for candidate in self.candidates(node)}
        return found.pop() if len(found) == 1 else None

    def candidates(self, node: ast.expr) -> tuple[Candidate, ...]:
        """Everything that `node` may refer to; empty where something unknown may be meant."""
        if isinstance(node, ast.Name):
            return self._resolve(node.id, self._scopes.get(node))
        if isinstance(node, ast.Attribute):
            base = self.candidates(node.value)
            return tuple(Candidate(f"{one.qualified}.{node.attr}", one.statement) for one in base)
        return ()

    def imported(self, node: ast.expr) -> str | None:
        """The dotted name under which `node` is imported, a relative one with its dots first: `..models.Net`."""
        if isinstance(node, ast.Attribute):
            base = self.imported(node.value)
            return f"{base}.{node.attr}" if base is not None else None
        if not isinstance(node, ast.Name):
            return None
        scope = _owner(node.id, self._scopes.get(node))
        if scope is not None and node.id in scope.relatives:
            return None if node.id in scope.others else scope.relatives[node.id]
        return self.qualified(node)

    def references(self, tree: ast.AST) -> Iterator[tuple[ast.Name | ast.Attribute, tuple[Candidate, ...]]]:
        """Each outermost name or dotted expression that is read in `tree` and resolves, with its candidates."""
        for node in walk(tree):
            if not isinstance(node, (ast.Name, ast.Attribute)) or not isinstance(node.ctx, ast.Load):
                continue
            around = self._parents.get(node)
            if isinstance(around, ast.Attribute) and isinstance(around.ctx, ast.Load):
                continue
            outermost: ast.expr = node
            while True:
                if found := self.candidates(outermost):
                    assert isinstance(outermost, (ast.Name, ast.Attribute))
                    yield outermost, found
                    break
                if not isinstance(outermost, ast.Attribute):
                    break
                outermost = outermost.value

    def is_foreign(self, name: str) -> bool:
        """Whether the file reads a `name` that it never binds: something that is not seen does."""
        return any(node.id == name and not scope.sees(name) for node, scope in self._scopes.items())

    def brought(self, name: str) -> str | None:
        """What the star imports bind a name to that nothing else binds: by the project, or by what is read of it."""
        if name not in self._brought:
            self._brought[name] = self.elsewhere(name) or ("torch" if self._is_used_as_torch(name) else None)
        return self._brought[name]

    def _is_used_as_torch(self, name: str) -> bool:
        """Whether what only torch has is read of a name."""
        around = (self._parents.get(node) for node in self._scopes if node.id == name)
        return any(isinstance(one, ast.Attribute) and one.attr in _ONLY_IN_TORCH for one in around)

    def _resolve(self, name: str, scope: Scope | None) -> tuple[Candidate, ...]:
        scope = _owner(name, scope)
        if scope is None and self.starred:
            brought = self.brought(name) or _BY_STAR.get(name)
            return (Candidate(brought, None),) if brought is not None else ()
        if scope is None or name in scope.others or name in scope.relatives:
            return ()
        if (scope, name) in self._resolved:
            return self._resolved[scope, name]
        self._resolved[scope, name] = ()  # what comes back to itself is nothing
        found = list(scope.imports.get(name, ()))
        for alias in scope.aliases.get(name, ()):
            target = self._resolve_alias(alias, scope)
            if not target:
                return ()
            found.extend(Candidate(one.qualified, None) for one in target)
        self._resolved[scope, name] = tuple(dict.fromkeys(found))
        return self._resolved[scope, name]

    def _resolve_alias(self, node: ast.expr, scope: Scope) -> tuple[Candidate, ...]:
        if isinstance(node, ast.Name):
            return self._resolve(node.id, scope)
        if isinstance(node, ast.Attribute):
            base = self._resolve_alias(node.value, scope)
            return tuple(Candidate(f"{one.qualified}.{node.attr}", one.statement) for one in base)
        return ()


_ONLY_IN_TORCH = frozenset(
    {"FloatTensor", "DoubleTensor", "LongTensor", "IntTensor", "ByteTensor", "BoolTensor", "from_numpy", "manual_seed"}
)
_BY_STAR = {"torch": "torch", "nn": "torch.nn", "F": "torch.nn.functional", "Tensor": "torch.Tensor"}
"""What a name that nothing else binds is taken for where `from … import *` may have bound it."""


def _owner(name: str, scope: Scope | None) -> Scope | None:
    """The scope whose binding of `name` a read in `scope` sees. Functions in a class do not see its body."""
    first = True
    while scope is not None:
        visible = first or not scope.is_class
        if visible and scope.binds(name) and name not in scope.outer:
            return scope
        scope, first = scope.parent, False
    return None


class _Binder:
    """Fills scopes and parents in one walk."""

    def __init__(self, names: Names, scope: Scope) -> None:
        self._names = names
        self._scope = scope

    def visit_module(self, tree: ast.Module) -> None:
        self._children(tree)

    def _visit(self, node: ast.AST, parent: ast.AST) -> None:
        self._names._parents[node] = parent
        handler = _HANDLERS.get(type(node))
        if handler is not None:
            handler(self, node)
        else:
            self._children(node)

    def _children(self, node: ast.AST) -> None:
        parents = self._names._parents
        for child in children(node):
            parents[child] = node
            kind = child.__class__
            if kind is ast.Constant:
                continue
            handler = _HANDLERS.get(kind)
            if handler is not None:
                handler(self, child)
            else:
                self._children(child)

    def _inside(self, scope: Scope, node: ast.AST) -> None:
        _Binder(self._names, scope)._children(node)

    def _call(self, node: ast.Call) -> None:
        self._names.calls.append(node)
        self._children(node)

    def _loop(self, node: ast.For | ast.AsyncFor) -> None:
        self._names.loops.append(node)
        self._children(node)

    def _comprehension(self, node: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp) -> None:
        self._inside(self._new_scope(node, is_comprehension=True), node)

    def _new_scope(self, node: ast.expr | ast.stmt, *, is_class: bool = False, is_comprehension: bool = False) -> Scope:
        scope = self._names.scopes[node] = Scope(self._scope, is_class, is_comprehension)
        return scope

    def _constant(self, node: ast.Constant) -> None:
        """Nothing inside."""

    def _name(self, node: ast.Name) -> None:
        self._names._scopes[node] = self._scope
        if not isinstance(node.ctx, ast.Load) and not self._is_alias(node):
            elsewhere = node.id in self._scope.outer  # declared global: the module's name is bound anew
            (self._home(node.id) if elsewhere else self._bound_by(node)).others.add(node.id)

    def _home(self, name: str) -> Scope:
        """The scope in which code here binds a name: another one where that is declared `global` or `nonlocal`."""
        scope = self._scope
        if name not in scope.outer:
            return scope
        if name not in scope.nonlocals:
            return self._names.module
        around = [one for one in scope.chain() if one is not scope and one.parent is not None]
        around = [one for one in around if not one.is_class and name not in one.outer]
        return next((one for one in around if one.binds(name)), around[0] if around else self._names.module)

    def _bound_by(self, node: ast.Name) -> Scope:
        """The scope that gets a name: a walrus in a comprehension binds it around that."""
        scope = self._scope
        if isinstance(self._names._parents[node], ast.NamedExpr):
            while scope.is_comprehension and scope.parent is not None:
                scope = scope.parent
        return scope

    def _is_alias(self, node: ast.Name) -> bool:
        """Record `name = dotted.expression`, the one assignment that names an API anew."""
        parent = self._names._parents[node]
        if not (isinstance(parent, ast.Assign) and len(parent.targets) == 1) or node.id in self._scope.outer:
            return False
        if not is_dotted(parent.value) or (isinstance(parent.value, ast.Name) and parent.value.id == node.id):
            return False
        self._scope.aliases.setdefault(node.id, []).append(parent.value)
        return True

    def _import(self, node: Import) -> None:
        self._names.imports.append(node)
        for alias in node.names:
            self._names.starred |= alias.name == "*"
            if isinstance(node, ast.ImportFrom):
                if node.level == 0 and node.module:
                    self._bind(alias.asname or alias.name, f"{node.module}.{alias.name}", node)
                else:
                    head = "." * node.level + (f"{node.module}." if node.module else "")
                    bound = alias.asname or alias.name
                    self._home(bound).relatives[bound] = head + alias.name
            elif alias.asname:
                self._bind(alias.asname, alias.name, node)
            else:
                top = alias.name.partition(".")[0]
                self._bind(top, top, node)

    def _bind(self, name: str, qualified: str, node: Import) -> None:
        self._home(name).imports.setdefault(name, []).append(Candidate(qualified, node))

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> None:
        inner = self._new_scope(node)
        arguments = node.args
        for one in declared(node):
            inner.others.add(one.arg)
        inner.others.update(one.arg for one in (arguments.vararg, arguments.kwarg) if one)
        if isinstance(node, ast.Lambda):
            self._defaults(node)
            self._names._parents[node.body] = node
            _Binder(self._names, inner)._visit(node.body, node)
            return
        self._home(node.name).others.add(node.name)
        for outside in (*node.decorator_list, *([node.returns] if node.returns else [])):
            self._visit(outside, node)
        self._defaults(node)
        for statement in node.body:
            _Binder(self._names, inner)._visit(statement, node)

    def _defaults(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> None:
        """Defaults and annotations are evaluated outside of the function."""
        self._names._parents[node.args] = node
        self._children(node.args)

    def _class(self, node: ast.ClassDef) -> None:
        self._names.classes.append(node)
        self._home(node.name).others.add(node.name)
        for outside in (*node.decorator_list, *node.bases, *node.keywords):
            self._visit(outside, node)
        inner = _Binder(self._names, self._new_scope(node, is_class=True))
        for statement in node.body:
            inner._visit(statement, node)

    def _outer(self, node: ast.Global | ast.Nonlocal) -> None:
        self._scope.outer.update(node.names)
        if isinstance(node, ast.Nonlocal):
            self._scope.nonlocals.update(node.names)

    def _capture(self, node: ast.ExceptHandler | ast.MatchAs | ast.MatchStar) -> None:
        if node.name:
            self._scope.others.add(node.name)
        self._children(node)

    def _match_rest(self, node: ast.MatchMapping) -> None:
        if node.rest:
            self._scope.others.add(node.rest)
        self._children(node)


_HANDLERS: dict[type[ast.AST], Any] = {
    ast.Name: _Binder._name,
    ast.Constant: _Binder._constant,
    ast.Call: _Binder._call,
    ast.For: _Binder._loop,
    ast.AsyncFor: _Binder._loop,
    ast.Import: _Binder._import,
    ast.ImportFrom: _Binder._import,
    ast.FunctionDef: _Binder._function,
    ast.AsyncFunctionDef: _Binder._function,
    ast.Lambda: _Binder._function,
    ast.ClassDef: _Binder._class,
    ast.ListComp: _Binder._comprehension,
    ast.SetComp: _Binder._comprehension,
    ast.DictComp: _Binder._comprehension,
    ast.GeneratorExp: _Binder._comprehension,
    ast.Global: _Binder._outer,
    ast.Nonlocal: _Binder._outer,
    ast.ExceptHandler: _Binder._capture,
    ast.MatchAs: _Binder._capture,
    ast.MatchStar: _Binder._capture,
    ast.MatchMapping: _Binder._match_rest,
}


def is_dotted(node: ast.expr) -> bool:
    """`model`, `self.model.encoder`"""
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name)
