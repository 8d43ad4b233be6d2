"""Items of a batch that one method of a class moves, and a method beside it takes as they are. By syntax alone."""

import ast
import re
from collections.abc import Iterator

from devfix_codemods import scope
from devfix_codemods.edits.operations import ReplaceExpression
from devfix_codemods.flow.evidence import dotted, last_name
from devfix_codemods.flow.tree import given_to, walk
from devfix_codemods.program import Program
from devfix_codemods.rules._arguments import given
from devfix_codemods.rules._one_branch import Forgotten

_MOVED_ITEM = re.compile(rb"\w\[[\"']\w+[\"']\]\.to\([^\n]*device\)")
_COMPARES = re.compile(r"(?i)loss|criterion|psnr|ssim|lpips|mse|l1|entropy|metric|accuracy")
_PLACES = frozenset({"to", "cuda", "cpu", "type_as", "numpy", "tolist", "item", "device", "to_device"})

Item = tuple[str, str]
"""A parameter and the key of an item of it: `batch["image"]`."""


def moves_items(data: bytes) -> bool:
    """Whether an item of something is moved where it is read."""
    return _MOVED_ITEM.search(data) is not None


def twin_moves(program: Program) -> Iterator[Forgotten]:
    """`x = batch["x"].to(device)` in one method, and `loss(out["y"], batch["x"])` in another one."""
    for owner in program.names.classes:
        if program.classes.is_managed(owner) or program.classes.is_dataset(owner):
            continue
        methods = [one for one in owner.body if isinstance(one, scope.Function)]
        moves = {one: dict(_moved_items(one)) for one in methods}
        for method in methods:
            own = set(moves[method])
            others = {item: call for one in methods if one is not method for item, call in moves[one].items()}
            for item, move in others.items():
                if item not in own and item[0] in scope.parameters(method):
                    yield from _left(program, method, item, move)


def _moved_items(method: scope.Function) -> Iterator[tuple[Item, ast.Call]]:
    """The items of parameters that a method moves where it reads them."""
    for one in walk(method):
        match one:
            case ast.Call(
                func=ast.Attribute(
                    value=ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=str(key))), attr="to"
                ),
                args=[ast.Attribute(attr="device")],
                keywords=[],
            ) if name in scope.parameters(method):
                yield (name, key), one


def _left(program: Program, method: scope.Function, item: Item, move: ast.Call) -> Iterator[Forgotten]:
    """The one place where a method takes the item, and uses it beside what it gets from elsewhere."""
    reads = [one for one in walk(method) if _is_read(one, item)]
    if len(reads) != 1 or any(scope.changes(method, item[0])) or _is_placed_before(program, method, item[0]):
        return
    read, statement = reads[0], program.names.statement(reads[0])
    assert isinstance(read, ast.Subscript)
    name = _name_of(statement, read)
    uses = [read] if name is None else [one for one in scope.loads(method, {name}) if one.lineno > statement.lineno]
    if name is not None and len(list(scope.changes(method, name))) > 1:
        return
    if not uses or any(_is_placed(program, one) for one in uses):
        return
    beside = next((other for one in uses if (other := _met(program, method, one, item[0])) is not None), None)
    if beside is not None:
        device = _device(program, move, beside)
        edit = ReplaceExpression(program.source.span(read), f"__node__.to({device})")
        yield Forgotten(f'{item[0]}["{item[1]}"]', device, read, move, (edit,), ("in another method", "in this one"))


def _is_read(node: ast.AST, item: Item) -> bool:
    match node:
        case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=key), ctx=ast.Load()):
            return (name, key) == item
    return False


def _name_of(statement: ast.stmt, read: ast.expr) -> str | None:
    """`x` of `x = batch["x"]`."""
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if value is read:
            return name
    return None


def _is_placed(program: Program, use: ast.expr) -> bool:
    """Whether something asks where the item is, or takes it elsewhere, maybe later: `x.float().to()`."""
    inner: ast.expr = use
    for outer in program.names.ancestors(use):
        if isinstance(outer, ast.Attribute) and outer.attr in _PLACES:
            return True
        if not isinstance(outer, (ast.Attribute, ast.Subscript, ast.Call)) or (
            isinstance(outer, ast.Call) and inner in given_to(outer)
        ):
            return isinstance(outer, ast.Call) and "device" in (last_name(outer.func) or "")
        inner = outer
    return False


def _is_placed_before(program: Program, method: scope.Function, name: str) -> bool:
    """Whether the class moves the batch itself, or a caller in the file gives what it has set itself."""
    if any(dotted(one.value) == name for one in walk(method) if isinstance(one, ast.Attribute) and one.attr in _PLACES):
        return True
    position = scope.parameters(method).index(name) - 1
    for where, call in program.callers(method.name):
        value = given(call, position, name)
        around = scope.function_around(where, call)
        if around is not None and isinstance(value, ast.Name) and any(scope.changes(around, value.id)):
            return True
    return False


def _met(program: Program, method: scope.Function, use: ast.expr, batch: str) -> ast.expr | None:
    """The item of another parameter that a loss or a metric gets beside the item of the batch."""
    call = program.names.parent(use)
    if not isinstance(call, ast.Call) or use not in call.args or not _COMPARES.search(last_name(call.func) or ""):
        return None
    others = {*scope.parameters(method)} - {batch, "self"}
    for one in call.args:
        other = scope.given_last(method, one.id, one.lineno) if isinstance(one, ast.Name) else one
        match other:
            case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=str())) if name in others:
                return other
    return None


def _device(program: Program, move: ast.Call, beside: ast.expr) -> str:
    """The device of the move, where `self` knows it; else that of what the item meets."""
    text = program.source.segment(program.source.span(move.args[0]))
    return text if text.startswith("self.") else f"{program.source.segment(program.source.span(beside))}.device"
