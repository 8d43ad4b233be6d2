"""Blocks and control flow: branches with an environment each, phis where they join."""

import ast
from collections.abc import Callable, Iterable, Sequence, Set
from functools import partial

from devfix_codemods.ir.failing import MEANT_TO_FAIL, expects_error, fails_behind
from devfix_codemods.ir.guards import NEVER, compared, joined, never
from devfix_codemods.ir.items import unkeyed
from devfix_codemods.ir.keys import key
from devfix_codemods.ir.keys import name as name_of
from devfix_codemods.ir.loops import runs, takes_all
from devfix_codemods.ir.nodes import Environment, Function, Guard, Key, Literal, Node, Op, walk
from devfix_codemods.ir.passing import shows_progress
from devfix_codemods.ir.patterns import fits, identity
from devfix_codemods.ir.simple import MOVING, Simple, receiver
from devfix_codemods.ir.versions import changed_by


class ControlFlow(Simple):
    """Statements, and the blocks inside of them."""

    def __init__(self, function: Function, outer: Environment) -> None:
        super().__init__(function, outer)
        self._loops: list[tuple[list[tuple[Environment, Guard]], list[tuple[Environment, Guard]]]] = []

    def block(self, statements: Sequence[ast.stmt]) -> None:
        for one in statements:
            if not self.live:
                return
            self.statement = one
            self.function.before[one] = self.snapshot()
            self.function.guards[one] = self.guard
            handler = self.statements.get(type(one))
            if handler is not None:
                handler(self, one)
            self.function.after[one] = self.snapshot()

    def _branch(self, body: Sequence[ast.stmt], start: Environment, guard: Guard) -> tuple[Environment, Guard] | None:
        """What holds after `body`; None where it never ends, or never runs."""
        self.environment, self.guard, self.live = dict(start), guard, True
        self.touched()
        before = self.versions.enter()
        self.block(body)
        end = (self.environment, self.guard) if self.live and not NEVER.issubset(self.guard) else None
        self.versions.leave(before, goes_on=end is not None or isinstance(self.statement, _TURNS))
        self.live = True
        return end

    def _join(self, ends: Iterable[tuple[Environment, Guard] | None], guard: Guard) -> None:
        """Go on after branches; where all but one ended early, under the condition of that one."""
        self.versions.join()
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

    # One for each kind

    def _if(self, one: ast.If) -> None:
        self.test(one.test)
        start, guard = self.environment, self.guard
        self.function.choices[one] = said = self.tests.guard(one.test, True)
        yes = self._branch(one.body, start, joined(guard, said))
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
        self._changed_in_turns(one)
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
                header.setdefault(name, node)  # bound inside, read after it
        self.environment, self.guard = header, guard
        if not isinstance(one, ast.While):
            self._bind_last(one.target, every)
        self.touched()
        if isinstance(one, ast.While) and never(self.tests.guard(one.test, False)):
            self._leave_loop(breaks, header)
        elif not isinstance(one, ast.While) and runs(self.value(one.iter)):
            self._leave_loop([(e, guard) for e, _ in every], header)
        self.versions.join()
        if one.orelse:
            self._join([self._branch(one.orelse, header, guard), *((dict(e), guard) for e, _ in breaks)], guard)

    def _bind_last(self, target: ast.expr, ends: Sequence[tuple[Environment, Guard]]) -> None:
        """Who reads a target behind its loop counts on a turn: what the name was before, it is no more."""
        bound = (one for one in ast.walk(target) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store))
        for name in (one.id for one in bound):
            last = [(environment[name], guard) for environment, guard in ends if name in environment]
            if last:
                same = len({node for node, _ in last}) == 1
                nodes, guards = zip(*(last[:1] if same else last))
                self.environment[name] = self._phi(name, [*nodes], [*guards])

    def _changed_in_turns(self, loop: ast.stmt) -> None:
        """A test in a loop may see what another turn has changed: it is not the one that was made before the loop."""
        for one in walk(loop):
            changed, method = changed_by(one)
            known = self._known(changed) if changed is not None else None
            if known is not None:
                self.versions.called(known, method, self.function)

    def _known(self, expression: ast.expr) -> Node | None:
        """What a name or an attribute is, where it has been read or bound already."""
        match expression:
            case ast.Name(id=name):
                return self.environment.get(name)
            case ast.Attribute(value=ast.Name(id=name), attr=attribute) if name in self.environment:
                return self.environment.get((self.environment[name], attribute))
        return None

    def _leave_loop(self, ends: Sequence[tuple[Environment, Guard]], header: Environment) -> None:
        """Go on after a loop that surely ran, as one of its turns ended."""
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
            moved = receiver(body)
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

    def _leave(self) -> None:
        """Attributes that are set by then are set for whoever comes later."""
        for name, node in self.environment.items():
            if not isinstance(name, str):
                self.function.finals[name] = node
        self.live = False

    def _raise(self, one: ast.Raise) -> None:
        for part in (one.exc, one.cause):
            if part is not None:
                self.value(part)
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
                gives_itself = shows_progress(manager)
                entered = manager if gives_itself else self.node(Op.ENTER, item.context_expr, (manager,), None)
                self.bind(item.optional_vars, entered)
        fails = any(made.op is Op.CALL and expects_error(made.args[0]) for made in self.managers[depth:])
        suppresses = any(made.op is Op.CALL and name_of(made.args[0]) == _SUPPRESS for made in self.managers[depth:])
        self.guard = joined(guard, MEANT_TO_FAIL) if fails else guard
        before = dict(self.environment) if suppresses else {}
        self.block(one.body)
        if fails:
            self.guard, self.live = guard, True
        elif suppresses and not self.live:  # an error on the way to its end leads on
            self.environment, self.guard, self.live = before, guard, True
            self.touched()
        del self.managers[depth:]

    def _match(self, one: ast.Match) -> None:
        subject = self.value(one.subject)
        start, guard = self.environment, self.guard
        equal = partial(self._equal, subject)
        left = guard
        ends: list[tuple[Environment, Guard] | None] = []
        for case in one.cases:
            before = dict(start)
            for part in ast.walk(case.pattern):
                name = getattr(part, "name", None) or getattr(part, "rest", None)
                if isinstance(name, str):
                    before[name] = self.node(Op.UNKNOWN, part, (subject,), None)
            self.environment, self.guard = before, left
            self.touched()
            inside = joined(left, fits(case.pattern, True, equal))
            if case.guard is not None:
                self.guard = inside
                self.test(case.guard)
                inside = joined(inside, self.tests.guard(case.guard, True))
            else:
                left = joined(left, fits(case.pattern, False, equal))
            ends.append(self._branch(case.body, before, inside))
        self._join(ends if takes_all(one.cases[-1]) else [(start, left), *ends], guard)

    def _equal(self, subject: Node, value: ast.expr | bool | None) -> Literal:
        """The literal of a constant pattern, by what had changed of all that it compares."""
        if isinstance(value, ast.expr):
            constant = self.value(value)
            (atom, positive), state = compared("Eq", subject, constant), self.versions.read_by(subject, constant)
        else:
            atom, positive, state = identity(subject, value), True, self.versions.read_by(subject)
        return (("since", state, atom) if state else atom), positive

    statements = Simple.statements | {
        ast.If: _if,
        ast.For: _for,
        ast.AsyncFor: _for,
        ast.While: _while,
        ast.Break: _break,
        ast.Continue: _break,
        ast.Return: _return,
        ast.Raise: _raise,
        ast.Assert: _assert,
        ast.Try: _try,
        ast.TryStar: _try,
        ast.With: _with,
        ast.AsyncWith: _with,
        ast.Match: _match,
    }


def _as_set(flag: Node) -> Literal:
    """What holds of a flag in the first turn of a loop, as it was set before."""
    return key(flag), flag.args[0].extra is True


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
        elif isinstance(node, ast.Expr) and (moved := receiver(node)) is not None:
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


_TURNS = (ast.Break, ast.Continue)
_SUPPRESS = "contextlib.suppress"
_OF_MOVES = frozenset({"RuntimeError", "AssertionError", "Exception", "BaseException"})
"""What moves raise where there is no card."""
