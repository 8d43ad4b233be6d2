"""Statements into SSA: one walk over each function, an environment in hand, phis where paths join."""

import ast
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from typing import Any

from devfix_codemods.ir.closures import Sites
from devfix_codemods.ir.expressions import Expressions, item_key, unkeyed
from devfix_codemods.ir.failing import MEANT_TO_FAIL, expects_error, fails_behind, is_marked
from devfix_codemods.ir.guards import NEVER, joined, never
from devfix_codemods.ir.keys import key
from devfix_codemods.ir.keys import name as name_of
from devfix_codemods.ir.loops import runs, takes_all
from devfix_codemods.ir.nodes import (
    ALWAYS,
    Class,
    Definition,
    Environment,
    Function,
    Guard,
    Key,
    Literal,
    Module,
    Node,
    Op,
    Store,
    walk,
)

MOVING = frozenset(
    {"to", "cuda", "cpu", "to_empty", "half", "float", "mps", "xpu", "npu", "hpu", "share_memory", "type"}
)
"""Methods that, as a statement, may change a module in place."""


def lower(tree: ast.Module) -> Module:
    """The SSA form of a file.

    Raises:
        RecursionError: it is nested too deeply.
    """
    module = Module(tree)
    top = Function("<module>", tree, module)
    module.functions.append(top)
    pending = [Lowering(top, {})]
    for one in pending:  # grows by the functions inside of each
        one.run()
        if one.function is top:
            _open_globals(top)
        pending += one.inner
    return module


def _as_set(flag: Node) -> Literal:
    """What holds of a flag in the first turn of a loop, as it was set before."""
    return key(flag), flag.args[0].extra is True


def _open_globals(top: Function) -> None:
    """What functions rebind by `global` may be what they bind, too: phis that grow when these are lowered."""
    for one in _globals(top.syntax):
        for name in one.names:
            known = top.finals.get(name)
            if known is not None and not (known.op is Op.PHI and known.syntax is top.syntax):
                top.finals[name] = Node(Op.PHI, top.syntax, (known,), (ALWAYS,), ALWAYS, top, None)


def _globals(syntax: ast.AST) -> Iterator[ast.Global]:
    """The `global` statements below; expressions, of which there are many more, hold none."""
    pending = [syntax]
    for one in pending:  # grows by what is inside of each
        if isinstance(one, ast.Global):
            yield one
        for block in ("body", "orelse", "finalbody", "handlers", "cases"):
            inside = getattr(one, block, None)
            if isinstance(inside, list):
                pending += inside


class Lowering(Expressions):
    """One function. `outer` is what the functions around it bind when they are done."""

    def __init__(self, function: Function, outer: Environment, *, owner: Class | None = None) -> None:
        super().__init__(function, outer)
        self.owner = owner
        self.inner: list[Lowering] = []
        self.sites = Sites(function)
        self.live = True
        self._loops: list[tuple[list[tuple[Environment, Guard]], list[tuple[Environment, Guard]]]] = []

    def run(self) -> None:
        syntax = self.function.syntax
        if seen := self.sites.seen():
            self.outer = _Chained(seen, self.outer)
        if is_marked(self.function):
            self.guard = joined(self.guard, MEANT_TO_FAIL)
        if isinstance(syntax, ast.Module):
            self.block(syntax.body)
        elif isinstance(syntax, ast.Lambda):
            self.parameters(syntax)
            self.function.returns.append((self.value(syntax.body), ALWAYS))
        else:
            self.parameters(syntax)
            self.block(syntax.body)
        self.function.exit = self.guard if self.live else None
        self.sites.ended(self.environment)
        for one, node in self.environment.items():
            if self.live:  # functions inside are called when this one is done, more often than in between
                self.function.finals[one] = node
            else:
                self.function.finals.setdefault(one, node)

    def parameters(self, syntax: Definition) -> None:
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

    # Blocks

    def block(self, statements: Sequence[ast.stmt]) -> None:
        for one in statements:
            if not self.live:
                return
            self.statement = one
            self.function.before[one] = self.snapshot()
            self.function.guards[one] = self.guard
            handler = _HANDLERS.get(type(one))
            if handler is not None:
                handler(self, one)
            self.function.after[one] = self.snapshot()

    def _branch(self, body: Sequence[ast.stmt], start: Environment, guard: Guard) -> tuple[Environment, Guard] | None:
        """What holds after `body`; None where it never ends, or never runs."""
        self.environment, self.guard, self.live = dict(start), guard, True
        self.touched()
        self.block(body)
        end = (self.environment, self.guard) if self.live and not self.guard >= NEVER else None
        self.live = True
        return end

    def _join(self, ends: Iterable[tuple[Environment, Guard] | None], guard: Guard) -> None:
        """Go on after branches; where all but one ended early, under the condition of that one."""
        left = [one for one in ends if one is not None]
        if not left:
            self.live = False
            return
        if len(left) == 1:
            self.environment, self.guard = left[0]
        else:
            self.guard = guard
            self.environment = self._merged(left)
        self.touched()

    def _merged(self, ends: list[tuple[Environment, Guard]]) -> Environment:
        first, *others = (one for one, _ in ends)
        if all(one == first for one in others):
            return first
        result = _first_bound(ends)
        unlike = {name for one in others for name, known in result.items() if one.get(name) is not known}
        unlike |= result.keys() - first.keys()
        for name in [one for one in result if one in unlike] if unlike else ():
            values = [one.get(name) for one, _ in ends]
            if not all(one is None or _is_read(one, name) for one in values):
                result[name] = self._phi(name, values, [guard for _, guard in ends])
        return result

    def _phi(self, name: Key, values: list[Node | None], guards: list[Guard]) -> Node:
        found: list[Node] = []
        kept: list[Guard] = []
        for one, guard in zip(values, guards):
            if one is None and not isinstance(name, str):
                one = self.node(Op.ITEM if name[1][0] == "[" else Op.ATTR, None, (name[0],), unkeyed(name[1]))
            if one is not None:
                found.append(one)
                kept.append(guard)
        return found[0] if len(found) == 1 else self.node(Op.PHI, None, tuple(found), tuple(kept))

    # Control flow

    def _if(self, one: ast.If) -> None:
        self.function.choices.append(one)
        self.test(one.test)
        start, guard = self.environment, self.guard
        yes = self._branch(one.body, start, joined(guard, self.tests.guard(one.test, True)))
        no = self._branch(one.orelse, start, joined(guard, self.tests.guard(one.test, False)))
        self._join([yes, no], guard)

    def _for(self, one: ast.For | ast.AsyncFor) -> None:
        iterable = self.value(one.iter)
        self._loop(one, lambda: self.bind(one.target, self.element(iterable, one.target)))
        self._moved_in_turn(one, iterable)

    def _while(self, one: ast.While) -> None:
        self._loop(one, lambda: self.test(one.test))

    def _loop(self, one: ast.For | ast.AsyncFor | ast.While, enter: Callable[[], object]) -> None:
        """The body once, over phis for all that it binds."""
        start, guard = self.environment, self.guard
        names, attributes = _stored(one)
        header: Environment = {}
        phis: dict[Key, Node] = {}
        for name, node in start.items():
            if (name in names) if isinstance(name, str) else name[1] in attributes:
                phis[name] = header[name] = self.node(Op.PHI, one, (node,), (guard,))
            else:
                header[name] = node
        self.environment = dict(header)
        self.touched()
        enter()
        if isinstance(one, ast.While):
            inside = joined(guard, self.tests.guard(one.test, True))
        else:
            inside = guard
        self._loops.append(([], []))
        end = self._branch(one.body, self.environment, inside)
        breaks, turns = self._loops.pop()
        every = [*([end] if end else ()), *breaks, *turns]
        first = frozenset(_as_set(phi) for phi in phis.values() if isinstance(phi.args[0].extra, bool))
        for name, phi in phis.items():
            ends = [(e, g) for e, g in every if e.get(name, phi) is not phi]
            phi.args = (*phi.args, *(e[name] for e, _ in ends))
            before = joined(guard, frozenset(one for one in first if one[0] != key(phi)))
            phi.extra = (before, *(g for _, g in ends))
        for e, _ in every:
            for name, node in e.items():
                header.setdefault(name, node)  # bound inside, read behind
        self.environment, self.guard = header, guard
        self.touched()
        if isinstance(one, ast.While) and never(self.tests.guard(one.test, False)):
            self._leave_loop(breaks, header)
        elif not isinstance(one, ast.While) and runs(self.value(one.iter)):
            self._leave_loop([(e, guard) for e, _ in every], header)
        if one.orelse:
            self._join([self._branch(one.orelse, header, guard), *((dict(e), guard) for e, _ in breaks)], guard)

    def _leave_loop(self, ends: Sequence[tuple[Environment, Guard]], header: Environment) -> None:
        """Go on behind a loop that surely ran, as one of its turns ended."""
        guard = self.guard
        self._join(ends, guard)
        self.guard = guard
        for name, node in header.items():
            self.environment.setdefault(name, node)

    def _moved_in_turn(self, one: ast.For | ast.AsyncFor, iterable: Node) -> None:
        """`for net in (a, b): net.to(device)`: each of them is another one afterwards."""
        if iterable.op is not Op.SEQUENCE or not isinstance(one.target, ast.Name):
            return
        syntax = iterable.syntax
        if not isinstance(syntax, (ast.Tuple, ast.List)):
            return
        for body in one.body:
            moved = _receiver(body)
            if not isinstance(moved, ast.Name) or moved.id != one.target.id or not isinstance(body, ast.Expr):
                continue
            call = self.calls.get(body.value)
            for element in syntax.elts:
                found = self.place_of(element)
                if found is not None and call is not None and found in self.environment:
                    self.environment[found] = self.node(Op.AFTER, element, (self.environment[found], call))
        self.touched()

    def _break(self, one: ast.Break | ast.Continue) -> None:
        if self._loops:
            breaks, turns = self._loops[-1]
            (breaks if isinstance(one, ast.Break) else turns).append((self.environment, self.guard))
        self.live = False

    def _return(self, one: ast.Return) -> None:
        if one.value is not None:
            self.function.returns.append((self.value(one.value), self.guard))
        self._leave()

    def _raise(self, one: ast.Raise) -> None:
        for part in (one.exc, one.cause):
            if part is not None:
                self.value(part)
        self.live = False

    def _leave(self) -> None:
        """Attributes that are set by then are set for whoever comes later."""
        for name, node in self.environment.items():
            if not isinstance(name, str):
                self.function.finals[name] = node
        self.live = False

    def _assert(self, one: ast.Assert) -> None:
        self.test(one.test)
        if one.msg is not None:
            self.value(one.msg)
        self.guard = joined(self.guard, self.tests.guard(one.test, True))

    def _try(self, one: ast.Try) -> None:
        start, guard = self.environment, self.guard
        errors = {"AttributeError"} | (_OF_MOVES if any(map(_moves, one.body)) else set())
        failing = [
            each for each in one.handlers if _catches(each, errors)
        ]  # what cannot be moved leaves all on the host
        raised = ("raised", one.lineno)
        inside = joined(guard, frozenset({(raised, False)})) if failing else guard
        inside = joined(inside, MEANT_TO_FAIL) if fails_behind(one.body) else inside
        body = self._branch(one.body, start, inside)
        broken = self._merged([(start, guard), *([body] if body else ())])
        body = self._branch(one.orelse, *body) if body else None
        ends = [body]
        for handler in one.handlers:
            before = dict(broken)
            if handler.type is not None:
                self.environment, self.guard = before, guard
                self.value(handler.type)
            if handler.name:
                before[handler.name] = self.node(Op.UNKNOWN, handler, (), None)
            under = joined(guard, frozenset({(raised, True)})) if handler in failing else guard
            ends.append(self._branch(handler.body, before, under))
        self._join(ends, guard)
        live = self.live
        if not live and one.finalbody:  # it runs all the same
            self._branch(one.finalbody, broken, guard)
        self.live = live
        if live:
            self.block(one.finalbody)

    def _with(self, one: ast.With | ast.AsyncWith) -> None:
        depth, guard = len(self.managers), self.guard
        for item in one.items:
            manager = self.value(item.context_expr)
            self.managers.append(manager)
            if item.optional_vars is not None:
                self.bind(item.optional_vars, self.node(Op.ENTER, item.context_expr, (manager,), None))
        fails = any(made.op is Op.CALL and expects_error(made.args[0]) for made in self.managers[depth:])
        self.guard = joined(guard, MEANT_TO_FAIL) if fails else guard
        self.block(one.body)
        if fails:
            self.guard, self.live = guard, True
        del self.managers[depth:]

    def _match(self, one: ast.Match) -> None:
        subject = self.value(one.subject)
        start, guard = self.environment, self.guard
        ends: list[tuple[Environment, Guard] | None] = [] if takes_all(one.cases[-1]) else [(start, guard)]
        for case in one.cases:
            before = dict(start)
            for part in ast.walk(case.pattern):
                name = getattr(part, "name", None) or getattr(part, "rest", None)
                if isinstance(name, str):
                    before[name] = self.node(Op.UNKNOWN, part, (subject,), None)
            inside = guard
            if case.guard is not None:
                self.environment, self.guard = before, guard
                self.touched()
                self.test(case.guard)
                inside = joined(guard, self.tests.guard(case.guard, True))
            ends.append(self._branch(case.body, before, inside))
        self._join(ends, guard)

    # Simple statements

    def _expr(self, one: ast.Expr) -> None:
        call = self.value(one.value)
        moved = _receiver(one)
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
        if one.value is not None:
            self.bind(one.target, self.value(one.value))

    def _augassign(self, one: ast.AugAssign) -> None:
        read = _read(one.target)
        old, new = self.value(read), self.value(one.value)
        self.bind(one.target, self.node(Op.OPERATION, one, (old, new), type(one.op).__name__))

    def _delete(self, one: ast.Delete) -> None:
        for target in one.targets:
            if isinstance(target, ast.Name):
                self.environment.pop(target.id, None)
            else:
                self.value(_read(target))
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

    # Definitions

    def _functiondef(self, one: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        function = self.define(one, one.name)
        self.assign(one.name, self.node(Op.FUNCTION, one, (), function))

    def define(self, syntax: Definition, name: str) -> Function:
        """A function inside, whose body is lowered when this one is done."""
        function = Function(name, syntax, self.function.module, self.function, self.owner)
        self.function.module.functions.append(function)
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
            self.owner.methods.setdefault(name, function)
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
        made = Class(one.name, one, bases, self.function)
        self.function.module.classes.append(made)
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

    # Stores

    def bind(self, target: ast.expr, value: Node) -> None:
        """Give a target its value."""
        match target:
            case ast.Name(id=name):
                self.assign(name, value)
            case ast.Tuple(elts=elements) | ast.List(elts=elements):
                for index, element in enumerate(elements):
                    self._unpack(element, value, index, len(elements))
            case ast.Starred(value=inner):
                self.bind(inner, value)
            case ast.Attribute(value=owner, attr=name):
                base = self.value(owner)
                self.function.stores.append(Store(base, name, value, self.guard, self.statement, True))
                if base is self.function.self_node and self.function.owner is not None:
                    self.function.owner.stored.add(name)
                self.environment[(base, name)] = value
                self.touched()
            case ast.Subscript(value=owner, slice=index):
                base = self.value(owner)
                found = self.value(index)
                constant = found.extra if found.op is Op.CONST else None
                self.function.stores.append(Store(base, constant, value, self.guard, self.statement, False, found))
                if (item := item_key(found)) is not None:
                    self.environment[(base, item)] = value
                    self.touched()

    def _unpack(self, element: ast.expr, value: Node, index: int, count: int) -> None:
        if value.op is Op.SEQUENCE and len(value.args) == count and not isinstance(element, ast.Starred):
            self.bind(element, value.args[index])
        elif isinstance(element, ast.Starred):
            self.bind(element.value, self.node(Op.ITEM, element, (value,), None))
        else:
            self.bind(element, self.node(Op.ITEM, element, (value,), index))


_HANDLERS: dict[type[ast.stmt], Callable[[Lowering, Any], None]] = {
    ast.If: Lowering._if,
    ast.For: Lowering._for,
    ast.AsyncFor: Lowering._for,
    ast.While: Lowering._while,
    ast.Break: Lowering._break,
    ast.Continue: Lowering._break,
    ast.Return: Lowering._return,
    ast.Raise: Lowering._raise,
    ast.Assert: Lowering._assert,
    ast.Try: Lowering._try,
    ast.TryStar: Lowering._try,
    ast.With: Lowering._with,
    ast.AsyncWith: Lowering._with,
    ast.Match: Lowering._match,
    ast.Expr: Lowering._expr,
    ast.Assign: Lowering._assign,
    ast.AnnAssign: Lowering._annassign,
    ast.AugAssign: Lowering._augassign,
    ast.Delete: Lowering._delete,
    ast.Import: Lowering._import,
    ast.ImportFrom: Lowering._importfrom,
    ast.Global: Lowering._global,
    ast.Nonlocal: Lowering._global,
    ast.FunctionDef: Lowering._functiondef,
    ast.AsyncFunctionDef: Lowering._functiondef,
    ast.ClassDef: Lowering._classdef,
}


class _Chained(dict[Key, Node]):
    """A mapping behind another one; the first may still grow."""

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


def _first_bound(ends: list[tuple[Environment, Guard]]) -> Environment:
    """All that any of the environments binds, as the first one does that binds it."""
    bound: Environment = {}
    for one, _ in ends:
        if not bound:
            bound = dict(one)
        elif not one.keys() <= bound.keys():
            bound = {**bound, **one, **bound}
    return bound


def _is_read(node: Node, name: Key) -> bool:
    """Whether `node` is what `name` held before anything was stored there."""
    if isinstance(name, str) or node.op not in {Op.ATTR, Op.ITEM} or node.args != (name[0],):
        return False
    return node.extra == unkeyed(name[1])


def _unsubscripted(base: Node) -> Node:
    """The class that is told the types of its parameters: `Base` of `Base[int]`."""
    return base.args[0] if base.op is Op.ITEM and base.args else base


def _receiver(one: ast.stmt) -> ast.expr | None:
    """`net` in `net.to(device)`, `net.eval().to(device)`, `net.to(device).eval()`."""
    if not isinstance(one, ast.Expr):
        return None
    node, moved = one.value, False
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        moved |= node.func.attr in MOVING
        node = node.func.value
    return node if moved and isinstance(node, (ast.Name, ast.Attribute)) else None


def _moves(one: ast.stmt) -> bool:
    """`x = x.cuda()`, `net.to(device)`"""
    call = one.value if isinstance(one, ast.Assign | ast.Expr) else None
    return isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr in MOVING


def _stored(loop: ast.stmt) -> tuple[set[str], set[str]]:
    """The names and the attributes that code inside of a loop may bind."""
    names: set[str] = set()
    attributes: set[str] = set()
    for node in walk(loop):
        if isinstance(node, ast.Name):
            if not isinstance(node.ctx, ast.Load):
                names.add(node.id)
        elif isinstance(node, ast.Attribute):
            if not isinstance(node.ctx, ast.Load):
                attributes.add(node.attr)
        elif isinstance(node, ast.Subscript):
            if not isinstance(node.ctx, ast.Load) and isinstance(node.slice, ast.Constant):
                attributes.add(f"[{node.slice.value!r}]")
        elif isinstance(node, ast.Expr) and (moved := _receiver(node)) is not None:
            match moved:
                case ast.Name(id=name):
                    names.add(name)
                case ast.Attribute(attr=name):
                    attributes.add(name)
    return names, attributes


def _catches(handler: ast.ExceptHandler, errors: Set[str]) -> bool:
    """Whether a handler names one of some errors: `except AttributeError`, that is where something lacks a method."""
    named = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(
        (isinstance(one, ast.Name) and one.id in errors) or (one is None and "Exception" in errors) for one in named
    )


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


_OF_MOVES = frozenset({"RuntimeError", "AssertionError", "Exception", "BaseException"})
"""What moves raise where there is no card."""
_ENDING = frozenset({"sys.exit", "os._exit", "os.abort", "builtins.exit", "builtins.quit"})
"""Functions that do not come back."""
