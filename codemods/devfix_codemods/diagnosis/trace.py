"""Where an expression's value got its name on its way to the crash: from the sink back to the statement that made it.

The way goes through assignments, loop targets, attributes of `self`, and from a parameter to the argument in the frame
that called. Nothing is decided here; what stands at each stop picks the repair.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto

from devfix_codemods.assumptions.index import method
from devfix_codemods.catalogue import Effect, canonical, effect, method_effect
from devfix_codemods.catalogue import torch as rows
from devfix_codemods.diagnosis.project import Project
from devfix_codemods.ir import Function, Node, Op
from devfix_codemods.ir.keys import name, resolved
from devfix_codemods.ir.nodes import Environment
from devfix_codemods.ir.passing import written
from devfix_codemods.placement.calls import bound
from devfix_codemods.program import Program

_PLACELESS_CALLS = frozenset(
    f"builtins.{one}" for one in ["len", "range", "int", "float", "str", "print", "isinstance", "max", "min", "open"]
)
_NO_WAY_BACK = frozenset({Effect.READ, Effect.SYNC, Effect.TO_HOST, Effect.NEEDS_HOST})
"""Methods whose result is no tensor, or is where it is by the program's own choice."""
_LEGACY = re.compile(r"torch\.\w*Tensor")
_BIRTHS = frozenset({Effect.FACTORY, Effect.HOST, Effect.CONVERSION})
_ENDS = frozenset({Op.CONST, Op.FUNCTION, Op.CLASS, Op.COMPARE, Op.REF})
_EARLY = frozenset({"__init__", "setup", "build"})


class Way(Enum):
    """How a name is bound."""

    LOOP = auto()
    """The target of a loop; the value is what the loop goes over."""
    COMPREHENDED = auto()
    """The target of a comprehension, where no statement can stand."""
    ASSIGNED = auto()
    """`name = value`."""
    UNPACKED = auto()
    """`a, name = value`."""
    ARGUMENT = auto()
    """An argument of the call that the frame outside is in."""


@dataclass(frozen=True)
class Site:
    """A stop: in `file`, at `statement`, `target` is bound to (a part of) `value`.

    `frame` is the index of the frame in which the stop lies, where it lies in one.
    """

    file: str
    statement: ast.stmt
    target: str
    value: ast.expr
    way: Way
    frame: int | None = None


class Tracer:
    """Follows one expression back. `sites` come nearest first.

    `through_self` also goes from an attribute of `self` to whatever the method was called on: a part of a module is
    where the module is.
    """

    def __init__(self, project: Project, through_self: bool = False) -> None:
        self._project = project
        self._through_self = through_self
        self._seen: set[Node] = set()

    def sites(self, expression: str, frame: int) -> list[Site]:
        """The stops of an expression of a frame."""
        frame %= len(self._project.frames)
        where = self._project.frames[frame]
        statement = self._project.statement(where.file, where.line)
        nodes = self._project.values(where.file, expression, statement) if statement is not None else []
        return [site for one in nodes for site in self._value(where.file, one, frame)]

    def _value(self, file: str, node: Node, frame: int | None) -> Iterator[Site]:
        if node in self._seen:
            return
        self._seen.add(node)
        yield from self._bindings(file, node, frame)
        match node.op:
            case Op.PARAM:
                yield from self._parameter(file, node, frame)
            case Op.ATTR:
                yield from self._attribute(file, node, frame)
            case Op.CALL:
                yield from self._call(file, node, frame)
            case Op.GLOBAL if resolved(node) is not node:
                yield from self._value(file, resolved(node), None)
            case _ if node.op not in _ENDS:
                for one in reversed(node.args) if node.op is Op.PHI else node.args:
                    yield from self._value(file, one, frame)

    # Names

    def _bindings(self, file: str, node: Node, frame: int | None) -> Iterator[Site]:
        """The targets that a statement, or a comprehension, binds to a value."""
        statement = node.statement
        if statement is None:
            return
        comprehension = self._comprehension(file, node)
        if comprehension is not None:
            text = ast.unparse(node.syntax) if isinstance(node.syntax, ast.expr) else ""
            yield Site(file, statement, text, comprehension.iter, Way.COMPREHENDED, frame)
            return
        first = statement.body[0] if isinstance(statement, ast.For | ast.AsyncFor | ast.With) else None
        function = node.function
        environment = function.after.get(statement, {}) if first is None else function.before.get(first, {})
        for target, value, way in _targets(statement):
            for one in ast.walk(target):
                match one:
                    case ast.Name(id=word) if environment.get(word) is node:
                        yield Site(file, statement, word, *_part(target, value, word, way), frame)
                    case ast.Attribute(attr=word) if one is target and _holds(environment, word, node):
                        yield Site(file, statement, ast.unparse(one), value, way, frame)

    def _comprehension(self, file: str, node: Node) -> ast.comprehension | None:
        """The part of a comprehension whose target a value is."""
        index = self._project.index(file)
        outer = index.parents.get(node.syntax) if node.syntax is not None else None
        while isinstance(outer, ast.Tuple):
            outer = index.parents.get(outer)
        return outer if isinstance(outer, ast.comprehension) and node.op in {Op.ITER, Op.ITEM} else None

    # Parameters

    def _parameter(self, file: str, node: Node, frame: int | None) -> Iterator[Site]:
        """From a parameter to the argument, in the next frame outside; to all in the file where no frame is known."""
        if frame is None:
            calls = [(file, one) for one in self._project.index(file).callers(node.function)]
        else:
            calls = list(self._imported(node.function, frame))
        for other, call in calls:
            argument = self._argument(call, node)
            if argument is not None and call.statement is not None:
                given, written = argument
                outer = frame - 1 if frame is not None else None
                if written is not None:
                    yield Site(other, call.statement, str(node.extra), written, Way.ARGUMENT, outer)
                yield from self._value(other, given, outer)
                return

    def _imported(self, function: Function, frame: int) -> Iterator[tuple[str, Node]]:
        """The calls at the line of the frame outside that may run a function, the innermost first."""
        outside = self._project.frames[frame - 1] if frame else None
        if outside is None or self._project.program(outside.file) is None:
            return
        found = []
        for call in self._project.index(outside.file).calls:
            last = getattr(call.syntax, "end_lineno", 0)
            if call.line <= outside.line <= last:
                found.append((last - call.line, -getattr(call.syntax, "col_offset", 0), call.index, call))
        for *_, call in sorted(found):
            qualified = name(call.args[0])
            through_call = function.name in {"forward", "__call__"} and qualified is None
            last = str(call.args[0].extra) if qualified is None else qualified.rpartition(".")[2]
            named = call.args[0].extra.name if isinstance(call.args[0].extra, Function) else last
            if through_call or function.name in {named, "__init__"}:
                yield outside.file, call

    def _argument(self, call: Node, parameter: Node) -> tuple[Node, ast.expr | None] | None:
        """What a call gives a parameter, and how that is written; for `self`, what the method is called on."""
        function, callee = parameter.function, call.args[0]
        if parameter is function.self_node:
            if not self._through_self:
                return None
            by_name = method(call) == function.name
            named = call.syntax.func if isinstance(call.syntax, ast.Call) else None
            if by_name and isinstance(named, ast.Attribute):
                return callee.args[0], named.value
            return callee, named
        given = next((one for one, each in bound(call, function) if each is parameter), None)
        words = call.extras
        if given is None and "**" in words:
            given = call.args[1 + words.index("**")]
        spelled = written(call)
        if given is None or spelled is None:
            return None
        return given, spelled[call.args[1:].index(given)]

    # Attributes

    def _attribute(self, file: str, node: Node, frame: int | None) -> Iterator[Site]:
        """`self.x`: what the class assigns to it, in the constructor first; else what the object is, or was."""
        base = node.args[0]
        analysis = self._project.index(file).analysis
        owner = analysis.births.class_of(base)
        stores = [
            (one, function)
            for function in analysis.module.functions
            for one in function.stores
            if one.is_attribute and one.key == node.extra
            if (analysis.births.class_of(one.base) is owner if owner is not None else one.base is base)
        ]
        found = False
        for store, _ in sorted(stores, key=lambda one: (one[1].name not in _EARLY, one[0].value.index)):
            if isinstance(store.statement, ast.Assign):
                found = True
                itself = ast.unparse(node.syntax) if isinstance(node.syntax, ast.expr) else str(node.extra)
                yield Site(file, store.statement, itself, store.statement.value, Way.ASSIGNED, None)
                yield from self._value(file, store.value, None)
        inside = node.extra not in rows.PLAIN_ATTRIBUTES and base is not base.function.self_node and not found
        if self._through_self or inside:
            yield from self._value(file, base, frame)

    # Calls

    def _call(self, file: str, node: Node, frame: int | None) -> Iterator[Site]:
        """A method of a value is computed from it; a function of the user's from what it returns; torch's factories
        and constructors from nothing."""
        callee, qualified = node.args[0], name(node.args[0])
        is_made = qualified is not None and _makes(canonical(qualified))
        if is_made or qualified in _PLACELESS_CALLS or method_effect(method(node) or "") in _NO_WAY_BACK:
            return
        function = callee.extra.name if isinstance(callee.extra, Function) else callee.extra
        yield from self._returned(str(qualified or function).rpartition(".")[2])
        receiver = callee.args[0] if method(node) is not None else None
        if receiver is not None and (receiver is not receiver.function.self_node or self._through_self):
            yield from self._value(file, receiver, frame)
        for one in node.args[1:]:
            yield from self._value(file, one, frame)

    def _returned(self, word: str) -> Iterator[Site]:
        """What the user's functions of that name return."""
        for file, _ in self._project.mentioning(f"def {word}") if word and word != "forward" else ():
            functions = self._project.index(file).analysis.module.functions
            for function in (one for one in functions if one.name == word):
                returns = [one for one in function.before if isinstance(one, ast.Return) and one.value is not None]
                for one in returns:
                    assert one.value is not None
                    yield Site(file, one, word, one.value, Way.ASSIGNED, None)
                    for value in self._project.values(file, ast.unparse(one.value), one):
                        yield from self._value(file, value, None)


def is_birth(program: Program, node: ast.Call) -> bool:
    """Whether a call makes a tensor from host data or from nothing."""
    return _makes(canonical(program.names.qualified(node.func) or ""))


def _makes(qualified: str) -> bool:
    return effect(qualified) in _BIRTHS or _LEGACY.fullmatch(qualified) is not None


def _targets(statement: ast.stmt) -> Iterator[tuple[ast.expr, ast.expr, Way]]:
    """What a statement binds, and to what."""
    match statement:
        case ast.For(target=target, iter=value) | ast.AsyncFor(target=target, iter=value):
            yield target, value, Way.LOOP
        case ast.Assign(targets=targets, value=value):
            yield from ((one, value, Way.ASSIGNED) for one in targets)
        case ast.AnnAssign(target=target, value=ast.expr() as value):
            yield target, value, Way.ASSIGNED
        case ast.With(items=items) | ast.AsyncWith(items=items):
            yield from (
                (one.optional_vars, one.context_expr, Way.ASSIGNED) for one in items if one.optional_vars is not None
            )


def _holds(environment: Environment, word: str, node: Node) -> bool:
    """Whether an attribute of that name is bound to a value."""
    return any(value is node and not isinstance(one, str) and one[1] == word for one, value in environment.items())


def _part(target: ast.expr, value: ast.expr, word: str, way: Way) -> tuple[ast.expr, Way]:
    """`a, b = x, y`: the part that belongs to the name."""
    if way is not Way.ASSIGNED or not isinstance(target, ast.Tuple | ast.List):
        return value, way
    if isinstance(value, ast.Tuple | ast.List) and len(value.elts) == len(target.elts):
        for one, part in zip(target.elts, value.elts):
            if isinstance(one, ast.Name) and one.id == word and not isinstance(part, ast.Starred):
                return part, Way.UNPACKED
    return value, Way.UNPACKED
