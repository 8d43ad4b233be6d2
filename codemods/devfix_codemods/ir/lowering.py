"""Files into SSA: one walk over each function, those inside of it when it is done."""

import ast
from collections.abc import Iterator

from devfix_codemods.ir.closures import Sites
from devfix_codemods.ir.control import ControlFlow
from devfix_codemods.ir.failing import MEANT_TO_FAIL, is_marked
from devfix_codemods.ir.guards import NEVER, joined
from devfix_codemods.ir.nodes import (
    ALWAYS,
    Brought,
    Class,
    Definition,
    Environment,
    Function,
    Key,
    Module,
    Node,
    Op,
    nothing_brought,
)


def lower(tree: ast.Module, brought: Brought = nothing_brought) -> Module:
    """The SSA form of a file, of whose star imports `brought` tells what they bind.

    Raises:
        RecursionError: it is nested too deeply.
    """
    module = Module(tree, brought)
    top = Function("<module>", tree, module)
    module.functions.append(top)
    pending = [Lowering(top, {})]
    for one in pending:  # grows by the functions inside of each
        one.run()
        if one.function is top:
            open_globals(top)
        pending += one.inner
    return module


def open_globals(top: Function) -> None:
    """What functions rebind by `global` may be what they bind, too: phis that grow when these are lowered."""
    for one in globals_of(top.syntax):
        for name in one.names:
            known = top.finals.get(name)
            if known is not None and not (known.op is Op.PHI and known.syntax is top.syntax):
                top.finals[name] = Node(Op.PHI, top.syntax, (known,), (ALWAYS,), ALWAYS, top, None)


def globals_of(syntax: ast.AST) -> Iterator[ast.Global]:
    """The `global` statements below; expressions, of which there are many more, hold none."""
    pending = [syntax]
    for one in pending:  # grows by what is inside of each
        if isinstance(one, ast.Global):
            yield one
        for block in _BLOCKS.get(type(one), ()):
            pending += getattr(one, block)


_BLOCKS: dict[type[ast.AST], tuple[str, ...]] = {
    **dict.fromkeys((ast.Module, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef), ("body",)),
    **dict.fromkeys((ast.With, ast.AsyncWith, ast.ExceptHandler, ast.match_case), ("body",)),
    **dict.fromkeys((ast.If, ast.For, ast.AsyncFor, ast.While), ("body", "orelse")),
    **dict.fromkeys((ast.Try, ast.TryStar), ("body", "handlers", "orelse", "finalbody")),
    ast.Match: ("cases",),
}
"""Where statements are, in what holds some."""


class Lowering(ControlFlow):
    """One function. `outer` is what the functions around it bind when they are done."""

    def __init__(self, function: Function, outer: Environment, *, owner: Class | None = None) -> None:
        super().__init__(function, outer)
        self.owner = owner
        self.inner: list[Lowering] = []
        self.sites = Sites(function)

    def run(self) -> None:
        syntax = self.function.syntax
        if seen := self.sites.seen():
            self.outer = _Chained(seen, self.outer)
        if is_marked(self.function):
            self.guard = joined(self.guard, MEANT_TO_FAIL)
        if isinstance(syntax, ast.Module):
            self.block(syntax.body)
        elif isinstance(syntax, ast.Lambda):
            self._parameters(syntax)
            self.function.returns.append((self.value(syntax.body), ALWAYS))
        else:
            self._parameters(syntax)
            self.block(syntax.body)
        self.function.exit = self.guard if self.live else None
        self.sites.ended(self.environment)
        at_end = self.live or _ends_in_return(syntax)
        for one, node in self.environment.items():
            if at_end:  # functions inside are called when this one is done, more often than in between
                self.function.finals[one] = node
            else:
                self.function.finals.setdefault(one, node)

    def _parameters(self, syntax: Definition) -> None:
        spec = syntax.args
        for one in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs):
            self._parameter(one, one.arg)
        for star, packed in (("*", spec.vararg), ("**", spec.kwarg)):
            if packed is not None:
                self._parameter(packed, star + packed.arg)
        if self.function.owner is not None and "staticmethod" not in self.function.decorators:
            self.function.self_node = next(iter(self.function.parameters.values()), None)

    def _parameter(self, syntax: ast.arg, name: str) -> None:
        node = self.node(Op.PARAM, syntax, (), name)
        self.function.parameters[name.lstrip("*")] = node
        self.environment[name.lstrip("*")] = node

    def _functiondef(self, one: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        function = self.define(one, one.name)
        self.assign(one.name, self.node(Op.FUNCTION, one, (), function))

    def define(self, syntax: Definition, name: str) -> Function:
        """A function inside, whose body is lowered when this one is done."""
        function = self.function.module.new_function(name, syntax, self.function, self.owner)
        spec = syntax.args
        positional = [*spec.posonlyargs, *spec.args]
        for parameter, default in (
            *zip(positional[len(positional) - len(spec.defaults) :], spec.defaults),
            *zip(spec.kwonlyargs, spec.kw_defaults),
        ):
            if default is not None:
                function.defaults[parameter.arg] = self.value(default)
        for decorator in getattr(syntax, "decorator_list", ()):
            self.value(decorator)
        outer = self.outer if self.owner is not None else _Chained(self.function.finals, self.outer)
        inner = Lowering(function, outer)
        inner.guard = self.guard & (MEANT_TO_FAIL | NEVER)
        if self.owner is not None:
            known = self.owner.methods.get(name)
            if known is None or "overload" in known.decorators:
                self.owner.methods[name] = function
        self.inner.append(inner)
        return function

    def called(self, call: ast.Call, callee: Node) -> None:
        """A function inside sees what is bound where it is called, and may bind it anew."""
        inner = next((one for one in self.inner if one.function is callee.extra), None)
        if inner is None or callee.op is not Op.FUNCTION:
            return
        seen, known = self.snapshot(), self.environment
        rebound = {
            name: self.node(Op.PHI, None, (known[name],), (self.guard,))
            for name in inner.sites.rebinds()
            if name in known
        }
        inner.sites.add(call, seen, rebound)
        self.environment.update(rebound)
        self.touched()

    def _classdef(self, one: ast.ClassDef) -> None:
        bases = tuple(map(_unsubscripted, (self.value(base) for base in one.bases)))
        for part in (*one.decorator_list, *(keyword.value for keyword in one.keywords)):
            self.value(part)
        made = self.function.module.new_class(one.name, one, bases, self.function)
        self.assign(one.name, self.node(Op.CLASS, one, (), made))
        body = Lowering(self.function, _Chained(self.environment, self.outer), owner=made)
        body.guard = self.guard
        finals = dict(self.function.finals)
        body.block(one.body)
        self.function.finals.clear()  # what a class binds, its methods do not see
        self.function.finals.update(finals)
        made.members.update({name: node for name, node in body.environment.items() if isinstance(name, str)})
        self.inner += body.inner
        for inner in body.inner:
            inner.outer = _Chained(self.function.finals, self.outer)

    statements = ControlFlow.statements | {
        ast.FunctionDef: _functiondef,
        ast.AsyncFunctionDef: _functiondef,
        ast.ClassDef: _classdef,
    }


def _ends_in_return(syntax: ast.AST) -> bool:
    """Whether the last statement of a function gives its result: what is bound there is what functions inside see."""
    return isinstance(syntax, ast.FunctionDef | ast.AsyncFunctionDef) and isinstance(syntax.body[-1], ast.Return)


class _Chained(dict[Key, Node]):
    """Two mappings: the second holds where the first, which may still grow, has no key."""

    def __init__(self, first: Environment, second: Environment) -> None:
        super().__init__()
        self._first, self._second = first, second

    def get(self, name: Key, default: Node | None = None) -> Node | None:  # type: ignore[override]
        found = self._first.get(name)
        return found if found is not None else self._second.get(name, default)

    def __contains__(self, name: object) -> bool:
        return name in self._first or name in self._second

    def __getitem__(self, name: Key) -> Node:
        found = self.get(name)
        if found is None:
            raise KeyError(name)
        return found


def _unsubscripted(base: Node) -> Node:
    """The class that is told the types of its parameters: `Base` of `Base[int]`."""
    return base.args[0] if base.op is Op.ITEM and base.args else base
