"""Where an expression's value got its name on its way to the crash: from the sink back to the statement that made it.

The way goes through assignments, loop targets, attributes of `self`, and from a parameter to the argument in the frame
that called. Nothing is decided here; what stands at each stop picks the repair.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto

from devfix_codemods import scope
from devfix_codemods.diagnosis.project import Project, calls_on, parse
from devfix_codemods.flow import tables
from devfix_codemods.flow.evidence import dotted
from devfix_codemods.program import Program

_DEPTH = 16
_PLACELESS_CALLS = frozenset({"len", "range", "int", "float", "str", "print", "isinstance", "max", "min", "open"})


_NO_WAY_BACK = tables.TENSOR_SHAPE_METHODS | {"cpu", "numpy"}
"""Methods whose result is no tensor, or is where it is by the program's own choice."""


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
        self._seen: set[tuple[str, int, str]] = set()

    def sites(self, expression: str, frame: int) -> list[Site]:
        """The stops of an expression of a frame."""
        where = self._project.frames[frame]
        node, statement = parse(expression), self._project.statement(where.file, where.line)
        if node is None or statement is None:
            return []
        return list(self._expression(where.file, node, statement, frame % len(self._project.frames), _DEPTH))

    def _expression(self, file: str, node: ast.expr, at: ast.stmt, frame: int | None, depth: int) -> Iterator[Site]:
        if depth == 0 or not self._is_new(file, node, at):
            return
        match node:
            case ast.Name(id=name):
                yield from self._name(file, name, at, frame, depth)
            case ast.Attribute(value=inner, attr=attribute):
                own = list(self._attribute(file, node, at, frame, depth))
                yield from own
                if self._goes_inside(inner, attribute, bool(own)):
                    yield from self._expression(file, inner, at, frame, depth - 1)
            case ast.Subscript(value=inner) | ast.Starred(value=inner) | ast.Await(value=inner):
                yield from self._expression(file, inner, at, frame, depth - 1)
            case ast.Call():
                yield from self._call(file, node, at, frame, depth)
            case ast.Constant() | ast.Lambda() | ast.Compare():
                return
            case _:
                for child in ast.iter_child_nodes(node):
                    if isinstance(child, ast.expr):
                        yield from self._expression(file, child, at, frame, depth - 1)

    def _goes_inside(self, inner: ast.expr, attribute: str, found: bool) -> bool:
        """Whether an attribute's value comes from the object: not a tensor's shape, nor what `self` only holds."""
        if self._through_self:
            return True
        if attribute in tables.TENSOR_PLAIN_ATTRIBUTES or (isinstance(inner, ast.Name) and inner.id == "self"):
            return False
        return not found

    def _is_new(self, file: str, node: ast.expr, at: ast.stmt) -> bool:
        key = (file, at.lineno, ast.dump(node))
        if key in self._seen:
            return False
        self._seen.add(key)
        return True

    # Names

    def _name(self, file: str, name: str, at: ast.stmt, frame: int | None, depth: int) -> Iterator[Site]:
        program = self._project.program(file)
        if program is None:
            return
        function = scope.function_around(program, at)
        binding = _in_comprehension(name, at) or _binding(program, function, name, at)
        if binding is not None:
            yield from self._bound(file, name, binding, frame, depth)
        elif function is not None and name in scope.parameters(function):
            yield from self._parameter(file, name, function, frame, depth)
        elif function is not None:
            binding = _binding(program, None, name, None)
            if binding is not None:
                yield from self._bound(file, name, binding, None, depth)

    def _bound(
        self, file: str, name: str, binding: tuple[ast.stmt, ast.expr, Way], frame: int | None, depth: int
    ) -> Iterator[Site]:
        statement, value, way = binding
        yield Site(file, statement, name, value, way, frame)
        yield from self._expression(file, value, statement, frame, depth - 1)

    def _parameter(
        self, file: str, name: str, function: scope.Function, frame: int | None, depth: int
    ) -> Iterator[Site]:
        """From a parameter to the argument, in the next frame outside."""
        if frame is None or frame == 0:
            return
        outside = self._project.frames[frame - 1]
        program = self._project.program(outside.file)
        statement = self._project.statement(outside.file, outside.line)
        if program is None or statement is None:
            return
        found = _argument(program, outside.line, function, name)
        if found is not None:
            yield Site(outside.file, statement, name, found, Way.ARGUMENT, frame - 1)
            yield from self._expression(outside.file, found, statement, frame - 1, depth - 1)

    # Attributes

    def _attribute(self, file: str, node: ast.Attribute, at: ast.stmt, frame: int | None, depth: int) -> Iterator[Site]:
        """`self.x`: what the class assigns to it, in the constructor first."""
        program = self._project.program(file)
        if program is None or not isinstance(node.value, ast.Name):
            return
        owner = scope.class_around(program, at) if node.value.id == "self" else program.tree
        if owner is None:
            return
        text = dotted(node)
        found = [
            one
            for one in ast.walk(owner)
            if isinstance(one, ast.Assign) and any(dotted(target) == text for target in one.targets) and one is not at
        ]
        for one in sorted(found, key=lambda each: (not _in_constructor(program, each), each.lineno)):
            yield Site(file, one, text or "", one.value, Way.ASSIGNED, None)
            yield from self._expression(file, one.value, one, frame, depth - 1)

    # Calls

    def _call(self, file: str, node: ast.Call, at: ast.stmt, frame: int | None, depth: int) -> Iterator[Site]:
        """A method of a value is computed from it; a function of the user's from what it returns; torch's factories
        and constructors from nothing."""
        program = self._project.program(file)
        if program is None or is_birth(program, node):
            return
        name = dotted(node.func) or ""
        if name in _PLACELESS_CALLS:
            return
        if isinstance(node.func, ast.Attribute) and node.func.attr in _NO_WAY_BACK:
            return
        for one in self._returned(name.rpartition(".")[2]):
            yield one
            yield from self._expression(one.file, one.value, one.statement, None, depth - 1)
        receiver = node.func.value if isinstance(node.func, ast.Attribute) else None
        is_self = isinstance(receiver, ast.Name) and receiver.id == "self" and not self._through_self
        if receiver is not None and not is_self and program.names.qualified(node.func) is None:
            yield from self._expression(file, receiver, at, frame, depth - 1)
        for argument in (*node.args, *(one.value for one in node.keywords)):
            yield from self._expression(file, argument, at, frame, depth - 1)

    def _returned(self, name: str) -> Iterator[Site]:
        """What the user's functions of that name return."""
        if not name or name == "forward":
            return
        for file, program in self._project.mentioning(f"def {name}"):
            for function in ast.walk(program.tree):
                if not isinstance(function, scope.Function) or function.name != name:
                    continue
                for one in ast.walk(function):
                    if isinstance(one, ast.Return) and one.value is not None:
                        yield Site(file, one, name, one.value, Way.ASSIGNED, None)


def is_birth(program: Program, node: ast.Call) -> bool:
    """Whether a call makes a tensor from host data or from nothing."""
    name = program.names.qualified(node.func)
    if name is None:
        return False
    name = tables.canonical(name)
    return name in tables.FACTORIES | tables.HOST_FACTORIES | tables.LEGACY_CONSTRUCTORS | {
        "torch.as_tensor",
        "torch.asarray",
    }


def _in_comprehension(name: str, at: ast.stmt) -> tuple[ast.stmt, ast.expr, Way] | None:
    """What a comprehension in the statement goes over, where it binds the name."""
    for node in ast.walk(at):
        if isinstance(node, ast.comprehension) and name in scope.stored(node.target):
            return at, node.iter, Way.COMPREHENDED
    return None


def _binding(
    program: Program, function: scope.Function | None, name: str, at: ast.stmt | None
) -> tuple[ast.stmt, ast.expr, Way] | None:
    """What binds `name` for a statement of `function` (or of the module): the nearest above, or a loop around."""
    line = at.lineno if at is not None else None
    best: tuple[ast.stmt, ast.expr, Way] | None = None
    for node in ast.walk(function or program.tree):
        if not isinstance(node, ast.stmt) or scope.function_around(program, node) is not function:
            continue
        found = _binds(node, name)
        if found is None or (line is not None and not _before(node, at, line)):
            continue
        if best is None or node.lineno > best[0].lineno:
            best = (node, *found)
    return best


def _before(node: ast.stmt, at: ast.stmt | None, line: int) -> bool:
    """Above the statement; a loop binds its target for itself as well."""
    return node.lineno < line or (node is at and isinstance(node, (ast.For, ast.AsyncFor)))


def _binds(node: ast.stmt, name: str) -> tuple[ast.expr, Way] | None:
    match node:
        case ast.For(target=target, iter=value) | ast.AsyncFor(target=target, iter=value):
            return (value, Way.LOOP) if name in scope.stored(target) else None
        case ast.Assign(targets=targets, value=value):
            for target in targets:
                if isinstance(target, ast.Name) and target.id == name:
                    return value, Way.ASSIGNED
                if isinstance(target, (ast.Tuple, ast.List)) and name in scope.stored(target):
                    return _part(target, value, name)
        case ast.AnnAssign(target=ast.Name(id=bound), value=ast.expr() as value) if bound == name:
            return value, Way.ASSIGNED
        case ast.With(items=items) | ast.AsyncWith(items=items):
            for item in items:
                if item.optional_vars is not None and name in scope.stored(item.optional_vars):
                    return item.context_expr, Way.ASSIGNED
    return None


def _part(target: ast.Tuple | ast.List, value: ast.expr, name: str) -> tuple[ast.expr, Way]:
    """`a, b = x, y`: the part that belongs to the name."""
    if isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == len(target.elts):
        for one, part in zip(target.elts, value.elts):
            if isinstance(one, ast.Name) and one.id == name and not isinstance(part, ast.Starred):
                return part, Way.UNPACKED
    return value, Way.UNPACKED


def _argument(program: Program, line: int, function: scope.Function, name: str) -> ast.expr | None:
    """What a call at `line` passes to the parameter `name` of `function`; for `self`, whose method is called."""
    names = scope.parameters(function)
    method = bool(names) and names[0] in {"self", "cls"}
    through_call = function.name in {"forward", "__call__"}
    for call in calls_on(program, line):
        callee = dotted(call.func) or ""
        if not through_call and callee.rpartition(".")[2] != function.name and function.name != "__init__":
            continue
        if program.names.qualified(call.func) is not None and through_call:
            continue
        found = _passed(call, names, name, function.name if method else None)
        if found is not None:
            return found
    return None


def _passed(call: ast.Call, names: list[str], name: str, method: str | None) -> ast.expr | None:
    if method is not None and name == names[0]:
        by_name = isinstance(call.func, ast.Attribute) and call.func.attr == method
        return call.func.value if by_name and isinstance(call.func, ast.Attribute) else call.func
    for keyword in call.keywords:
        if keyword.arg == name:
            return keyword.value
    index = names.index(name) - int(method is not None)
    if index < len(call.args) and not any(isinstance(one, ast.Starred) for one in call.args[: index + 1]):
        return call.args[index]
    return next((one.value for one in call.keywords if one.arg is None), None)


def _in_constructor(program: Program, node: ast.AST) -> bool:
    function = scope.function_around(program, node)
    return function is not None and function.name in {"__init__", "setup", "build"}
