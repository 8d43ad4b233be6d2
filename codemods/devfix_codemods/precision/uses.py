"""How a file uses the deprecated amp names: called, decorating, as a type, handed on; and what forbids a rewrite."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum, auto

from devfix_codemods import annotated
from devfix_codemods.precision import api
from devfix_codemods.precision.surroundings import Surroundings
from devfix_codemods.precision.versions import chosen_by_version
from devfix_codemods.project.names import Import, Names
from devfix_codemods.project.units import Unit

_Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


class Shape(Enum):
    """What stands at the place of a use."""

    CALL = auto()
    DECORATOR = auto()
    TYPE = auto()
    PARTIAL = auto()
    VALUE = auto()


@dataclass(frozen=True, slots=True)
class Use:
    """One reference to a deprecated name, and the imports that bind it.

    `obstacle`: why it cannot be rewritten; `silent`: it is deliberate; `risk`: what the rewrite may change.
    """

    node: ast.Name | ast.Attribute
    old: api.Old
    statements: frozenset[Import | None]
    shape: Shape = Shape.VALUE
    obstacle: str | None = None
    silent: bool = False
    risk: str | None = None

    @property
    def is_tested_class(self) -> bool:
        """Whether `isinstance` or `issubclass` tests for it."""
        return self.shape is Shape.TYPE and self.risk is not None


class Uses:
    """Finds and classifies the uses of one file."""

    def __init__(self, unit: Unit) -> None:
        self._tree = unit.source.tree
        self._names = unit.names
        self._surroundings = Surroundings(unit)

    def __iter__(self) -> Iterator[Use]:
        for node, candidates in self._names.references(self._tree):
            qualified = {one.qualified for one in candidates}
            if len(qualified) == 1:
                use = self._use(node, qualified.pop(), frozenset(one.statement for one in candidates))
                if use is not None:
                    yield use

    def _use(self, node: ast.Name | ast.Attribute, qualified: str, statements: frozenset[Import | None]) -> Use | None:
        old = api.old(qualified)
        if old is None:
            parent, _, attribute = qualified.rpartition(".")
            old = api.old(parent)
            return Use(node, old, statements, obstacle=f"its attribute `{attribute}` is used") if old else None
        is_alias = None in statements
        use = Use(node, old, statements, silent=is_alias or chosen_by_version(self._names, node))
        return self._classified(use)

    def _classified(self, use: Use) -> Use:
        call = api.called(self._names, use.node)
        if call is not None:
            return self._call(use, call)
        if use.old.symbol.startswith("custom_") and api.decorates(self._names, use.node):
            return replace(use, shape=Shape.DECORATOR)
        if _is_annotation(self._names, use.node):
            return replace(use, shape=Shape.TYPE)
        if use.old.symbol == "GradScaler" and _is_tested(self._names, use.node):
            return replace(use, shape=Shape.TYPE, risk="an `isinstance` test accepts more")
        return self._handed_on(use)

    def _call(self, use: Use, call: ast.Call) -> Use:
        starred = use.old.symbol == "autocast" and api.has_star(call)
        obstacle = "its positional arguments are not known (`*`)" if starred else None
        return replace(use, shape=Shape.CALL, obstacle=obstacle, risk=self._surroundings.risk(use.old, call))

    def _handed_on(self, use: Use) -> Use:
        """A class that is a value, to be called later: `partial(autocast, …)`, `autocast if amp else nullcontext`."""
        outer = self._names.parent(use.node)
        if _is_compared(outer, use.node) or _is_tested(self._names, use.node):
            return replace(use, silent=True)  # which class it is matters, and nothing warns
        if use.old.symbol.startswith("custom_"):
            return replace(use, obstacle="it is handed on without a call")
        if isinstance(outer, ast.Call) and self._names.qualified(outer.func) == "functools.partial":
            return self._partial(use, outer)
        if self._is_only_called(use.node):
            return use
        return replace(use, obstacle="the name is handed on without a call, which leaves no place for the device type")

    def _partial(self, use: Use, call: ast.Call) -> Use:
        if call.args != [use.node]:
            return replace(use, shape=Shape.PARTIAL, obstacle="`partial` fixes its positional arguments")
        if use.old.symbol == "GradScaler" or api.keyword(call, "enabled") or self._is_only_called(call):
            return replace(use, shape=Shape.PARTIAL)
        return replace(use, shape=Shape.PARTIAL, risk="right unless it is later called with positional arguments")

    def _is_only_called(self, value: ast.expr) -> bool:
        """Whether `value` goes to a local name of which every use is a call with keywords alone."""
        node: ast.AST = value
        outer = self._names.parent(node)
        while isinstance(outer, ast.IfExp) and node is not outer.test:
            node, outer = outer, self._names.parent(outer)
        if not isinstance(outer, ast.Assign) or len(outer.targets) != 1 or not isinstance(outer.targets[0], ast.Name):
            return False
        scope = next((one for one in self._names.ancestors(outer) if isinstance(one, _Function | ast.ClassDef)), None)
        return isinstance(scope, _Function) and self._calls_alone(outer.targets[0].id, scope)

    def _calls_alone(self, name: str, function: _Function) -> bool:
        if any(isinstance(one, ast.Global | ast.Nonlocal) and name in one.names for one in ast.walk(function)):
            return False
        reads = [one for one in ast.walk(function) if isinstance(one, ast.Name) and one.id == name]
        calls = [api.called(self._names, one) for one in reads if isinstance(one.ctx, ast.Load)]
        return all(one is not None and not one.args for one in calls)


def _is_compared(outer: ast.AST | None, node: ast.expr) -> bool:
    """Whether the class is compared, or stands in a collection of classes."""
    if isinstance(outer, ast.Dict):
        return node in outer.keys
    return isinstance(outer, ast.Compare | ast.List | ast.Tuple | ast.Set)


def _is_annotation(names: Names, node: ast.expr) -> bool:
    inner: ast.AST = node
    for outer in names.ancestors(node):
        if isinstance(outer, annotated.Assign | ast.AnnAssign | ast.arg) and outer.annotation is inner:
            return True
        if isinstance(outer, ast.FunctionDef | ast.AsyncFunctionDef) and outer.returns is inner:
            return True
        inner = outer
    return False


def _is_tested(names: Names, node: ast.expr) -> bool:
    inner: ast.AST = node
    for outer in names.ancestors(node):
        if isinstance(outer, ast.Call):
            is_test = isinstance(outer.func, ast.Name) and outer.func.id in {"isinstance", "issubclass"}
            return is_test and inner in outer.args[1:]
        if not isinstance(outer, ast.Tuple | ast.BinOp):
            return False
        inner = outer
    return False
