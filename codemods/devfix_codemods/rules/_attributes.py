"""Tensors that a class keeps in plain attributes: from which attribute a value came, and who sets and moves that."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from devfix_codemods import scope
from devfix_codemods.flow.evidence import dotted
from devfix_codemods.flow.facts import Meeting
from devfix_codemods.flow.library import is_module_api
from devfix_codemods.program import Program

_CARRIERS = frozenset({"to", "_apply", "cuda", "cpu", "__getattr__", "__setattr__"})


@dataclass(frozen=True, slots=True)
class Kept:
    """The attribute `self.name` of the class `owner`."""

    owner: ast.ClassDef
    name: str


def births(meeting: Meeting) -> list[ast.AST]:
    """The calls that made the misplaced value."""
    value = meeting.misplaced.value
    if value.sources:
        return list(value.sources)
    return [value.origin.node] if value.origin is not None else []


def kept_in(program: Program, meeting: Meeting) -> Kept | None:
    """The one attribute through which the host value came from another method of its class."""
    found: set[Kept | None] = set()
    for birth in births(meeting):
        where = scope.function_around(program, birth)
        owner = scope.class_around(program, birth) or scope.class_around(program, meeting.node)
        if (
            where is None
            or owner is None
            or is_registered(program, birth)
            or where is scope.function_around(program, meeting.node)
        ):
            return None
        found.add(_assigned(program, owner, birth) or _read(program, meeting.misplaced.node, owner))
    return found.pop() if len(found) == 1 else None


def is_registered(program: Program, birth: ast.AST) -> bool:
    """Whether a value becomes a parameter or a buffer in the statement that makes it."""
    calls = [one for one in program.names.ancestors(birth) if isinstance(one, ast.Call)]
    if isinstance(birth, ast.Call) and is_module_api(program.names.qualified(birth.func) or ""):
        return True  # a module in one branch, a parameter in another
    return any((dotted(one.func) or "").endswith(_REGISTERED) for one in calls)


_REGISTERED = ("Parameter", "register_buffer", "register_parameter", "nn.Buffer")


def _assigned(program: Program, owner: ast.ClassDef, birth: ast.AST) -> Kept | None:
    """The attribute to which the statement around a call assigns."""
    statement = program.names.statement(birth)
    names = [name for target in targets(statement) if (name := own_attribute(target)) is not None]
    return Kept(owner, names[0]) if len(names) == 1 else None


def _read(program: Program, node: ast.expr, owner: ast.ClassDef) -> Kept | None:
    """The attribute from which an expression is taken, where the class sets it; through a local name, too."""
    for taken in (node, _only_value(program, node)):
        while isinstance(taken, (ast.Attribute, ast.Subscript, ast.Call)):
            name = own_attribute(taken)
            if name is not None:
                return Kept(owner, name) if any(assignments(program, Kept(owner, name))) else None
            taken = taken.func if isinstance(taken, ast.Call) else taken.value
    return None


def _only_value(program: Program, node: ast.expr) -> ast.expr | None:
    """What the last statement above that binds a plain name gives it, in the same block."""
    if not isinstance(node, ast.Name):
        return None
    statement, value = program.names.statement(node), None
    for one in scope.block_of(program, statement):
        if one is statement:
            return value
        if node.id in scope.stored(one):
            plain = isinstance(one, ast.Assign) and len(one.targets) == 1 and isinstance(one.targets[0], ast.Name)
            value = one.value if plain and isinstance(one, ast.Assign) else None
    return None


def own_attribute(node: ast.AST) -> str | None:
    """`name` of `self.name`."""
    own = isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"
    return node.attr if own and isinstance(node, ast.Attribute) else None


def targets(statement: ast.stmt) -> list[ast.expr]:
    """What a statement assigns to, in tuples too."""
    match statement:
        case ast.Assign(targets=given):
            return [one for each in given for one in (each.elts if isinstance(each, ast.Tuple | ast.List) else [each])]
        case ast.AnnAssign(target=target) | ast.AugAssign(target=target):
            return [target]
    return []


def lineage(program: Program, owner: ast.ClassDef) -> list[ast.ClassDef]:
    """A class, its bases and what derives from it, as far as they stand in the file."""
    family = [owner]
    for one in family:
        names = {base.id for base in one.bases if isinstance(base, ast.Name)}
        for other in program.names.classes:
            derived = any(isinstance(base, ast.Name) and base.id == one.name for base in other.bases)
            if (other.name in names or (derived and other is not one)) and other not in family:
                family.append(other)
    return family


def assignments(program: Program, kept: Kept) -> Iterator[ast.stmt]:
    """Every statement of the class and its relatives that sets the attribute."""
    for one in lineage(program, kept.owner):
        for node in ast.walk(one):
            if isinstance(node, ast.stmt) and any(own_attribute(target) == kept.name for target in targets(node)):
                yield node


def _makes_buffers(owner: ast.ClassDef) -> bool:
    """Whether a class makes a buffer of whatever tensor an attribute gets, in its `__setattr__`."""
    setters = (one for one in owner.body if isinstance(one, scope.Function) and one.name == "__setattr__")
    return any(
        isinstance(node, ast.Attribute) and node.attr in {"register_buffer", "_buffers"}
        for one in setters
        for node in ast.walk(one)
    )


def is_carried_along(program: Program, kept: Kept, made: ast.stmt | None = None) -> bool:
    """Whether the attribute is a buffer on some path, or somebody moves it by hand: the class itself, or its user.

    What the statement `made`, which makes it, does to its value does not count.
    """
    for one in (*lineage(program, kept.owner), *program.classes.ancestors(kept.owner)):
        if any(_registers(node, kept.name) for node in ast.walk(one)) or _makes_buffers(one):
            return True
        for method in one.body:
            if isinstance(method, scope.Function) and method.name in _CARRIERS and _mentions(method, kept.name):
                return True
    rest = (node for node in ast.walk(program.tree) if node is not made)
    if any((_moves(node, kept.name) or _asks_where(node, kept.name)) and _counts(program, kept, node) for node in rest):
        return True
    users = program.project.importing(program.unit) if program.project is not None else ()
    return any(_moves(node, kept.name) for one in users for node in ast.walk(one.source.tree))


def _counts(program: Program, kept: Kept, node: ast.AST) -> bool:
    """Not what another class does with an attribute of its own, nor a guess of the constructor: `if hasattr(net, "x")`.

    A module that is moved after its constructor leaves such a value behind in either case.
    """
    owner = scope.class_around(program, node)
    own = any(own_attribute(one) == kept.name for one in ast.walk(node))
    if own and owner is not None and owner not in (*lineage(program, kept.owner), *_bases(program, kept.owner)):
        return False
    outer, function = program.names.parent(node), scope.function_around(program, node)
    guessed = isinstance(outer, ast.If) and not outer.orelse and isinstance(outer.test, ast.Call)
    if not guessed or not isinstance(outer, ast.If) or function is not scope.constructor(kept.owner):
        return True
    return not (program.classes.is_module(kept.owner) and ast.unparse(outer.test).startswith("hasattr("))


def _bases(program: Program, owner: ast.ClassDef) -> tuple[ast.ClassDef, ...]:
    return tuple(program.classes.ancestors(owner))


def _registers(node: ast.AST, name: str) -> bool:
    """`self.register_buffer("name", …)`, or `self.register_empty_buffer("name")` of some base."""
    if not isinstance(node, ast.Call) or not (dotted(node.func) or "").startswith("self.register_"):
        return False
    given = [*node.args[:1], *(one.value for one in node.keywords if one.arg == "name")]
    return any(isinstance(one, ast.Constant) and one.value == name for one in given)


def _mentions(method: scope.Function, name: str) -> bool:
    """Whether a method speaks of an attribute, or of attributes whose names it does not spell out."""
    return any(
        (isinstance(node, ast.Attribute) and node.attr in {name, "__dict__"})
        or (isinstance(node, ast.Constant) and node.value == name)
        or (isinstance(node, ast.Name) and node.id in {"vars", "setattr"})
        for node in ast.walk(method)
    )


def _moves(node: ast.AST, name: str) -> bool:
    """`obj.name = obj.name.to(…)`, `obj.name.data = …`, `setattr(obj, "name", …)`, `setattr(obj, key, value.to(…))`.

    So does `obj.name.to(…)` on a line of its own: whoever wrote it looks after the attribute, if not in that way.
    """
    if isinstance(node, ast.Assign):
        texts = [dotted(target) or "" for target in node.targets]
        moved = any(text.endswith(f".{name}") and _has_move(node.value, text) for text in texts)
        return moved or any(text.endswith(f".{name}.data") for text in texts)
    match node:
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Attribute(attr=key), attr="to" | "cuda"))):
            return key == name
        case ast.Call(func=ast.Name(id="setattr"), args=[_, ast.Constant(value=key), _]):
            return key == name
        case ast.Call(func=ast.Name(id="setattr"), args=[_, _, value]):
            return _has_move(value, "")
    return False


def _has_move(value: ast.expr, attribute: str) -> bool:
    """A move; or a call that is given the attribute itself and hands it back, such as `to_device(x, self.name)`."""
    for one in ast.walk(value):
        if isinstance(one, ast.Call):
            moved = isinstance(one.func, ast.Attribute) and one.func.attr in {"to", "cuda", "type_as"}
            moved = moved and not all((dotted(each) or "").endswith(".dtype") for each in scope.given_to(one) or [one])
            given = one is value and any(
                isinstance(each, ast.Attribute) and dotted(each) == attribute for each in one.args
            )
            if moved or given:
                return True
    return False


def _asks_where(node: ast.AST, name: str) -> bool:
    """`self.name.device != x.device`: the program looks after it."""
    if not isinstance(node, ast.Compare):
        return False
    texts = [dotted(one) or "" for one in (node.left, *node.comparators)]
    return any(f".{text}".endswith(f".{name}.device") for text in texts)
