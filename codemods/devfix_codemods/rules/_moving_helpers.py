"""Functions of the project that bring what they are given to a device: `create_var(x)` for `Variable(x).cuda()`.

A parameter, its items and what is taken out of them count as one: `[one.to(device) for one in inputs]`. So do branches:
a function that moves what it is given on one of them has thought of the others.
"""

import ast
import re
from collections.abc import Iterator

from devfix_codemods import scope
from devfix_codemods.flow.evidence import dotted, last_name
from devfix_codemods.flow.tree import walk
from devfix_codemods.program import Program
from devfix_codemods.rules._arguments import given
from devfix_codemods.rules._called import called_function, called_method, called_object
from devfix_codemods.rules._taken_to_host import moves_to_host, sets_dtype

MOVES = frozenset({"to", "cuda", "to_device", "type_as"})
HELPER = re.compile(r"(?i)^(?!get|is_|remove).*(?:device|cuda|gpu|move|prepare_inputs)|^to_var$")
"""What is called so, and not in sight, moves what it is given."""
_TAKES = frozenset({"zip", "enumerate", "list", "tuple", "dict", "iter", "next", "reversed", "map", "filter"})
_DEPTH = 3


def moves(program: Program, node: ast.Attribute) -> bool:
    """`.to(device)`, not `.to(torch.long)`."""
    call = program.names.parent(node)
    if node.attr != "to" or not isinstance(call, ast.Call) or len(call.args) + len(call.keywords) != 1:
        return True
    if call.keywords and call.keywords[0].arg == "dtype":
        return False
    (target,) = (*call.args, *(one.value for one in call.keywords))
    return not (program.names.qualified(target) or "").startswith("torch.")


def is_moved_inside(program: Program, call: ast.Call, argument: ast.expr, depth: int = _DEPTH) -> bool:
    """Whether what `call` runs moves its parameter for `argument`, or a copy of that alone, or has another do so."""
    found = _called(program, call)
    if found is None or depth == 0:
        return False
    there, function = found
    return any(
        _moves_parameter(there, function, name, depth)
        for name, taken in _taken(there, function, call)
        if any(one is argument for one in taken)
    )


def _taken(program: Program, function: scope.Function, call: ast.Call) -> Iterator[tuple[str, list[ast.expr]]]:
    """The parameters of a function, each with the arguments of `call` that it gets."""
    spec = function.args
    is_method = isinstance(program.names.parent(function), ast.ClassDef)
    bound = is_method and "staticmethod" not in map(dotted, function.decorator_list)
    names = [one.arg for one in (*spec.posonlyargs, *spec.args)][1 if bound else 0 :]
    named = [*enumerate(names), *((-1, one.arg) for one in spec.kwonlyargs)]
    for position, name in named:
        value = given(call, position, name)
        yield name, [value] if value is not None else []
    if spec.vararg is not None:
        yield spec.vararg.arg, [one.value if isinstance(one, ast.Starred) else one for one in call.args[len(names) :]]
    if spec.kwarg is not None:
        known = {name for _, name in named}
        yield spec.kwarg.arg, [one.value for one in call.keywords if one.arg not in known]


def _moves_parameter(program: Program, function: scope.Function, name: str, depth: int) -> bool:
    parts = item_names(function, name)
    return any(
        _is_move_of(program, one, parts) or (isinstance(one, ast.Call) and _is_given_away(program, one, parts, depth))
        for one in walk(function)
    )


def _is_move_of(program: Program, node: ast.AST, names: set[str]) -> bool:
    """`x.cuda()`, `Variable(x).cuda()`: no sum with what is elsewhere, and not what a module makes of it."""
    if not isinstance(node, ast.Attribute) or node.attr not in MOVES or not moves(program, node):
        return False
    call = program.names.parent(node)
    whole = not any(isinstance(one, ast.BinOp) for one in ast.walk(node.value))
    if not whole or not isinstance(call, ast.Call) or call.func is not node or moves_to_host(call) or sets_dtype(call):
        return False
    return not names.isdisjoint(_wholes(program, node.value))


def _wholes(program: Program, node: ast.AST) -> Iterator[str]:
    """The names that an expression reads as they are: no `batch["x"]`, no `batch.x`, nothing that a module gets."""
    match node:
        case ast.Name(id=name):
            yield name
        case ast.Attribute() | ast.Subscript(slice=ast.Constant()):
            return
        case ast.Call(func=func):
            if not _is_module(program, func):
                inner = [func.value] if isinstance(func, ast.Attribute) else []
                yield from (name for one in (*inner, *scope.given_to(node)) for name in _wholes(program, one))
        case _:
            yield from (name for one in ast.iter_child_nodes(node) for name in _wholes(program, one))


def _is_module(program: Program, func: ast.expr) -> bool:
    """Whether what is called is a parameter, or an attribute of `self` that is no method."""
    function, owner = scope.function_around(program, func), scope.class_around(program, func)
    if isinstance(func, ast.Name):
        return function is not None and func.id in scope.parameters(function)
    text = dotted(func) or ""
    return owner is not None and text.startswith("self.") and text[5:] not in program.classes.methods(owner)


def _is_given_away(program: Program, call: ast.Call, names: set[str], depth: int) -> bool:
    """`move(x, device)`, `tree_map(lambda one: one.to(device), x)`: helpers that move, as seen or by their names."""
    arguments = [one for one in scope.given_to(call) if not names.isdisjoint(_wholes(program, one))]
    if not arguments:
        return False
    if any(_moves_own(program, one) for one in scope.given_to(call)):
        return True
    if _called(program, call) is not None:
        return any(is_moved_inside(program, call, one, depth - 1) for one in arguments)
    return HELPER.search(last_name(call.func) or "") is not None


def _moves_own(program: Program, node: ast.expr) -> bool:
    """`lambda one: one.to(device)`."""
    if not isinstance(node, ast.Lambda):
        return False
    names = {one.arg for one in node.args.args}
    return any(_is_move_of(program, one, names) for one in ast.walk(node.body))


def _called(program: Program, call: ast.Call) -> tuple[Program, scope.Function] | None:
    return called_function(program, call) or called_method(program, call) or called_object(program, call)


def item_names(function: scope.Function, name: str) -> set[str]:
    """The names of a parameter and of its items; not of what it is unpacked into, which may be moved one by one."""
    found = {name}
    while more := {each for targets, value in _bound(function) if _is_of(value, found) for each in targets} - found:
        found |= more
    return found


def _bound(function: scope.Function) -> Iterator[tuple[set[str], ast.expr]]:
    """What the statements and comprehensions of a function bind, and to what."""
    for one in walk(function):
        match one:
            case ast.Assign(targets=targets, value=value):
                yield {each.id for each in targets if isinstance(each, ast.Name)}, value
            case (
                ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
                | ast.NamedExpr(target=ast.Name(id=name), value=value)
            ):
                yield {name}, value
            case ast.For(target=target, iter=value) | ast.comprehension(target=target, iter=value):
                yield scope.stored(target), value


def _is_of(node: ast.expr, names: set[str]) -> bool:
    """Whether an expression gives one of `names`, an item of it, or a container with it."""
    match node:
        case ast.Name(id=name):
            return name in names
        case ast.Subscript(slice=ast.Constant()):
            return False
        case ast.Subscript(value=inner) | ast.Starred(value=inner) | ast.Call(func=ast.Attribute(value=inner)):
            return _is_of(inner, names)
        case ast.Call(func=ast.Name(id=maker)):
            return maker in _TAKES and any(_is_of(one, names) for one in scope.given_to(node))
        case ast.IfExp(body=first, orelse=second):
            return _is_of(first, names) or _is_of(second, names)
        case ast.BoolOp(values=values) | ast.Tuple(elts=values) | ast.List(elts=values) | ast.Dict(values=values):
            return any(_is_of(one, names) for one in values)
        case ast.ListComp(generators=made) | ast.GeneratorExp(generators=made) | ast.DictComp(generators=made):
            return any(_is_of(one.iter, names) for one in made)
    return False
