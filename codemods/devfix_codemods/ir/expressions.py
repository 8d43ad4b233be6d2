"""Expressions into SSA nodes."""

import ast
import builtins
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from devfix_codemods.ir.failing import MEANT_TO_FAIL, expects_error
from devfix_codemods.ir.guards import Tests, joined
from devfix_codemods.ir.items import item_key, part_of
from devfix_codemods.ir.nodes import ALWAYS, Environment, Function, Guard, Key, Node, Op, Store
from devfix_codemods.ir.passing import bound_to, completed, is_next_of_iterator, is_next_of_loop
from devfix_codemods.ir.spelled_names import read_by_name
from devfix_codemods.ir.versions import FILLING, Versions

if TYPE_CHECKING:
    from devfix_codemods.ir.nodes import Class, Definition

BUILTINS = frozenset(dir(builtins))
STARRED = {"torch": "torch", "nn": "torch.nn", "F": "torch.nn.functional", "Tensor": "torch.Tensor", "np": "numpy"}
"""What a name that nothing binds is taken for where `from … import *` may have bound it."""


class Expressions:
    """Values of expressions in the environment of the moment."""

    def __init__(self, function: Function, outer: Environment) -> None:
        self.function = function
        self.outer = outer
        self.environment: Environment = {}
        self.guard: Guard = ALWAYS
        self.statement: ast.stmt | None = None
        self.tests = Tests()
        self.versions = Versions()
        self.managers: list[Node] = []
        self.calls: dict[ast.expr, Node] = {}
        self.refilled: set[Node] = set()
        """Displays in which methods have put other values in the place of those that are written there."""
        self.mappings: dict[Node, tuple[Node, Sequence[Node]]] = {}
        """The functions that `map` gives the elements of iterables, and these, by what stands for its result."""
        self.shared: set[str] = set()
        self.owner: Class | None = None
        self._snapshot: Environment | None = None

    def node(self, op: Op, syntax: ast.AST | None, args: tuple[Node, ...], extra: object = None) -> Node:
        return Node(op, syntax, args, extra, self.guard, self.function, self.statement)

    def read_first(self, part: Node, syntax: ast.AST) -> Node:
        """A part of a display; of a row of `zip(images, labels)`, whose parts have no syntax, read or named here."""
        is_unread = part.op is Op.ITER and part.syntax is None
        return self.node(part.op, syntax, part.args, part.extra) if is_unread else part

    def snapshot(self) -> Environment:
        """The environment of the moment, copied once until it changes."""
        if self._snapshot is None:
            self._snapshot = dict(self.environment)
        return self._snapshot

    def touched(self) -> None:
        """The environment is another one now."""
        self._snapshot = None

    def assign(self, name: str, value: Node) -> None:
        self.environment[name] = value
        self._snapshot = None
        known = self.function.finals.get(name)
        if known is None or known is value:
            self.function.finals[name] = value
        else:  # what functions inside see may be either
            self.function.finals[name] = Node(
                Op.PHI, self.function.syntax, (known, value), (ALWAYS, ALWAYS), ALWAYS, self.function, self.statement
            )
        if name in self.shared:
            finals = self.function.module.top.finals
            before = finals.get(name)
            if before is None:
                finals[name] = value
            elif before.op is Op.PHI and before.syntax is self.function.module.tree:
                before.args, before.extra = (*before.args, value), (*before.extra, ALWAYS)  # type: ignore[misc]
            elif before is not value:  # functions alone bind it, and more than once
                module = self.function.module
                finals[name] = Node(Op.PHI, module.tree, (before, value), (ALWAYS, ALWAYS), ALWAYS, module.top, None)

    def test(self, expression: ast.expr) -> Node:
        """The value of a test, its parts remembered for the guard."""
        match expression:
            case ast.BoolOp(values=values):
                for one in values:
                    self.test(one)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                self.test(operand)
            case ast.NamedExpr(value=value):
                self.test(value)
        found = self.value(expression)
        self.tests.states[expression] = self.versions.read_by(found)
        return found

    def value(self, expression: ast.expr) -> Node:
        known = self.tests.values.get(expression)
        if known is not None:
            return known
        handler = _HANDLERS.get(type(expression))
        node: Node = handler(self, expression) if handler is not None else self._parts(expression)
        self.tests.values[expression] = node
        return node

    def place_of(self, expression: ast.expr) -> Key | None:
        """Where the environment keeps what `expression` reads: a name, or an attribute of a value."""
        if isinstance(expression, ast.Name):
            return expression.id
        if isinstance(expression, ast.Attribute):
            return (self.value(expression.value), expression.attr)
        return None

    # One for each kind

    def _parts(self, expression: ast.AST) -> Node:
        """An expression of which nothing is known, but whose parts are evaluated."""
        args = tuple(self.value(one) for one in ast.iter_child_nodes(expression) if isinstance(one, ast.expr))
        return self.node(Op.UNKNOWN, expression, args)

    def _constant(self, one: ast.Constant) -> Node:
        return self.node(Op.CONST, one, (), one.value)

    def _name(self, one: ast.Name) -> Node:
        found = self.environment.get(one.id)
        if found is not None:
            return found
        found = self.outer.get(one.id)
        if found is not None:
            return found
        if one.id in BUILTINS:
            made = self.node(Op.REF, one, (), f"builtins.{one.id}")
        elif (brought := self._brought(one.id)) is not None:
            made = self.node(Op.REF, one, (), brought)
        else:
            made = self.node(Op.GLOBAL, one, (), one.id)
        self.environment[one.id] = made
        self._snapshot = None
        return made

    def _brought(self, name: str) -> str | None:
        """What a star import binds a name to, as the file says that it names, or else as such names are used."""
        module = self.function.module
        return (module.brought(name) or STARRED.get(name)) if module.starred else None

    def _attribute(self, one: ast.Attribute) -> Node:
        return self._read(one, self.value(one.value), one.attr)

    def _read(self, one: ast.expr, base: Node, name: str) -> Node:
        found = self.environment.get((base, name))
        if found is None:
            found = self.environment[(base, name)] = self.node(Op.ATTR, one, (base,), name)
            self._snapshot = None
        return self._read_again(found, one)

    def _read_again(self, found: Node, one: ast.expr) -> Node:
        """What a part of something is known to be; where it is that part itself, it is read here as well."""
        if found.op in {Op.ATTR, Op.ITEM, Op.ITER} and found.syntax is not one and found.function is self.function:
            self.function.readings.setdefault(found, []).append((one, self.statement))
            found.guard &= self.guard
        return found

    def _subscript(self, one: ast.Subscript) -> Node:
        base, index = self.value(one.value), self.value(one.slice)
        if index.op is Op.CONST:
            key = item_key(index)
            found = self.environment.get((base, key)) if key is not None else None
            if found is not None:
                return self._read_again(found, one)
            part = part_of(base, index.extra) if base not in self.refilled else None
            found = self.node(Op.ITEM, one, (base,), index.extra) if part is None else self.read_first(part, one)
            if key is not None and found is not part:
                self.environment[(base, key)] = found
                self._snapshot = None
            return found
        return self.node(Op.ITEM, one, (base, index))

    def _slice(self, one: ast.Slice) -> Node:
        parts = tuple(self.value(each) for each in (one.lower, one.upper, one.step) if each is not None)
        return self.node(Op.UNKNOWN, one, parts, "slice")

    def _call(self, one: ast.Call) -> Node:
        callee, guard = self.value(one.func), self.guard
        if expects_error(callee):
            self.guard = joined(guard, MEANT_TO_FAIL)  # `self.assertRaises(Error, lambda: …)`
        args: list[Node] = []
        names: list[str | None] = []
        for each in one.args:
            starred = isinstance(each, ast.Starred)
            args.append(self.value(each.value if isinstance(each, ast.Starred) else each))
            names.append("*" if starred else None)
        for keyword in one.keywords:
            args.append(self.value(keyword.value))
            names.append(keyword.arg or "**")
        self.guard = guard
        args, names = completed(callee, args, names)
        callee = args[0]
        if (read := read_by_name(callee, args[1:])) is not None and not any(names):
            return self._read(one, *read)
        if callee.extra == "builtins.dict" and names and not {None, "*", "**"}.intersection(names):
            return self.node(Op.MAPPING, one, tuple(args[1:]), tuple(names))  # `dict(x=1)` is `{"x": 1}`
        if callee.extra == "builtins.map" and len(args) > 2 and not any(names):
            return self.mapped(one, args[1], args[2:])
        if is_next_of_iterator(callee) and not names:  # as Python 2 and old loaders of torch have it: `next(rows)`
            args, names = [self.node(Op.REF, one.func, (), "builtins.next"), callee.args[0]], [None]
        if is_next_of_loop(args) and not names[1:]:
            return self.element(args[1], bound_to(self.statement, one) or one)
        made = self.node(Op.CALL, one, tuple(args), tuple(names))
        self.calls[one] = made
        if self.managers:
            self.function.module.managed[made] = tuple(self.managers)
        if isinstance(one.func, ast.Attribute) and one.func.attr in FILLING and len(args) > 1:
            self._filled(one.func.attr, callee.args[0] if callee.args else callee, args[1:])
        self.registered(made)
        if callee.op is Op.ATTR:
            self.versions.called(callee.args[0], str(callee.extra), self.function)
        self.called(one, callee)
        return made

    def _filled(self, method: str, base: Node, values: list[Node]) -> None:
        for value in values[-1:] if method in {"insert", "setdefault"} else values[:1]:
            if method in {"extend", "update"}:
                value = self.node(Op.ITER, value.syntax, (value,))
            self.function.stores.append(Store(base, None, value, self.guard, self.statement, False))
        if method in {"insert", "update", "appendleft"}:
            self.refilled.add(base)

    def _operation(self, one: ast.BinOp) -> Node:
        return self.node(Op.OPERATION, one, (self.value(one.left), self.value(one.right)), type(one.op).__name__)

    def _unary(self, one: ast.UnaryOp) -> Node:
        return self.node(Op.OPERATION, one, (self.value(one.operand),), type(one.op).__name__)

    def _compare(self, one: ast.Compare) -> Node:
        args = (self._compared(one.left), *map(self._compared, one.comparators))
        return self.node(Op.COMPARE, one, args, tuple(type(each).__name__ for each in one.ops))

    def _compared(self, one: ast.expr) -> Node:
        """A side of a comparison: `-1` is a constant there, so that a test which stands twice is one."""
        match one:
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as number)):
                return self.node(Op.CONST, one, (), -number)
        return self.value(one)

    def _boolean(self, one: ast.BoolOp) -> Node:
        values: list[Node] = []
        guards: list[Guard] = []
        before = self.guard
        for each in one.values:
            values.append(self.test(each))
            guards.append(self.guard)
            self.guard = joined(self.guard, self.tests.guard(each, isinstance(one.op, ast.And)))
        self.guard = before
        return self.node(Op.PHI, one, tuple(values), tuple(guards))

    def _choice(self, one: ast.IfExp) -> Node:
        self.test(one.test)
        before = self.guard
        self.function.choices[one] = said = self.tests.guard(one.test, True)
        self.guard = yes = joined(before, said)
        first = self.value(one.body)
        self.guard = no = joined(before, self.tests.guard(one.test, False))
        second = self.value(one.orelse)
        self.guard = before
        return self.node(Op.PHI, one, (first, second), (yes, no))

    def _sequence(self, one: ast.Tuple | ast.List | ast.Set) -> Node:
        args = tuple(self.value(each) for each in one.elts)
        return self.node(Op.SEQUENCE, one, args, type(one).__name__.lower())

    def _mapping(self, one: ast.Dict) -> Node:
        args: list[Node] = []
        keys: list[object] = []
        for key, value in zip(one.keys, one.values):
            node = self.value(value)
            args.append(node if key is not None else self.node(Op.ITER, value, (node,)))
            found = self.value(key) if key is not None else None
            keys.append(found.extra if found is not None and found.op is Op.CONST else None)
        return self.node(Op.MAPPING, one, tuple(args), tuple(keys))

    def _comprehension(self, one: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> Node:
        kept, guard = dict(self.environment), self.guard
        finals = dict(self.function.finals)
        if isinstance(one, ast.ListComp | ast.GeneratorExp) and (listed := _listed(one)) is not None:
            elements = [self._of_listed(one, each) for each in listed]
            self._restore(kept, guard, finals)
            return self.node(Op.SEQUENCE, one, tuple(elements), "list")
        for generator in one.generators:
            self.bind(generator.target, self.element(self.value(generator.iter), generator.target))
            for test in generator.ifs:
                self.test(test)
                self.guard = joined(self.guard, self.tests.guard(test, True))
        if isinstance(one, ast.DictComp):
            self.value(one.key)
            element = self.value(one.value)
        else:
            element = self.value(one.elt)
        self._restore(kept, guard, finals)
        return self.node(Op.COMPREHENSION, one, (element,), _COMPREHENSIONS[type(one)])

    def _of_listed(self, one: ast.ListComp | ast.GeneratorExp, each: ast.expr) -> Node:
        """What a comprehension makes of one of the values that it lists: each has its own way through it."""
        self.bind(one.generators[0].target, self.value(each))
        for known in ast.walk(one.elt):
            self.tests.values.pop(known, None)  # type: ignore[call-overload]
        return self.value(one.elt)

    def _restore(self, kept: Environment, guard: Guard, finals: Environment) -> None:
        """Forget the names of a comprehension."""
        self.environment, self.guard = kept, guard
        self.function.finals.clear()
        self.function.finals.update(finals)
        self._snapshot = None

    def _lambda(self, one: ast.Lambda) -> Node:
        function = self.define(one, "<lambda>")
        return self.node(Op.FUNCTION, one, (), function)

    def _walrus(self, one: ast.NamedExpr) -> Node:
        value = self.value(one.value)
        self.bind(one.target, value)
        return value

    def _starred(self, one: ast.Starred) -> Node:
        return self.node(Op.ITER, one, (self.value(one.value),))

    def _yield(self, one: ast.Yield | ast.YieldFrom) -> Node:
        self.function.yields = True
        if one.value is not None:
            value = self.value(one.value)
            if isinstance(one, ast.YieldFrom):
                value = self.node(Op.ITER, one, (value,))
            self.function.returns.append((value, self.guard))
        return self.node(Op.UNKNOWN, one, ())

    def _await(self, one: ast.Await) -> Node:
        return self.value(one.value)

    def bind(self, target: ast.expr, value: Node) -> None:
        raise NotImplementedError

    def element(self, iterable: Node, target: ast.AST | None) -> Node:
        raise NotImplementedError

    def mapped(self, call: ast.Call, function: Node, iterables: list[Node]) -> Node:
        raise NotImplementedError

    def define(self, syntax: "Definition", name: str) -> Function:
        raise NotImplementedError

    def registered(self, call: Node) -> None:
        raise NotImplementedError

    def called(self, call: ast.Call, callee: Node) -> None:
        raise NotImplementedError


def _listed(one: ast.ListComp | ast.GeneratorExp) -> list[ast.expr] | None:
    """The values that a comprehension goes through, where it lists them itself: `[x.cuda() for x in (a, b)]`."""
    match one.generators:
        case [ast.comprehension(iter=ast.Tuple(elts=listed) | ast.List(elts=listed), ifs=[])]:
            plain = not any(isinstance(each, ast.Starred) for each in listed)
            return listed if plain and not any(isinstance(each, _SCOPES) for each in ast.walk(one.elt)) else None
    return None


_SCOPES = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.NamedExpr, ast.Await)
_COMPREHENSIONS = {ast.ListComp: "list", ast.SetComp: "set", ast.DictComp: "dict", ast.GeneratorExp: "generator"}
_HANDLERS: dict[type[ast.expr], Callable[[Any, Any], Node]] = {
    ast.Constant: Expressions._constant,
    ast.Name: Expressions._name,
    ast.Attribute: Expressions._attribute,
    ast.Subscript: Expressions._subscript,
    ast.Slice: Expressions._slice,
    ast.Call: Expressions._call,
    ast.BinOp: Expressions._operation,
    ast.UnaryOp: Expressions._unary,
    ast.Compare: Expressions._compare,
    ast.BoolOp: Expressions._boolean,
    ast.IfExp: Expressions._choice,
    ast.Tuple: Expressions._sequence,
    ast.List: Expressions._sequence,
    ast.Set: Expressions._sequence,
    ast.Dict: Expressions._mapping,
    ast.ListComp: Expressions._comprehension,
    ast.SetComp: Expressions._comprehension,
    ast.DictComp: Expressions._comprehension,
    ast.GeneratorExp: Expressions._comprehension,
    ast.Lambda: Expressions._lambda,
    ast.NamedExpr: Expressions._walrus,
    ast.Starred: Expressions._starred,
    ast.Yield: Expressions._yield,
    ast.YieldFrom: Expressions._yield,
    ast.Await: Expressions._await,
}
