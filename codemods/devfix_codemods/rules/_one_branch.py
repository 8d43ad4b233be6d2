"""Moves that one branch makes, and the branch or the method beside it forgets. By syntax alone."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from devfix_codemods import scope
from devfix_codemods.edits.operations import Edit, InsertStatement, RemoveStatement, ReplaceExpression
from devfix_codemods.flow.evidence import dotted, last_name
from devfix_codemods.flow.tree import statements
from devfix_codemods.program import Program
from devfix_codemods.rules._asked_types import is_denied
from devfix_codemods.rules._taken_to_host import moves_to_host

_MOVES = frozenset({"to", "cuda"})
_BEFORE_ELSE = re.compile(rb"\.to\((?:device=)?[\w.]*device[^\n]*\n(?:[ \t]*[)\]}]+\n)*[ \t]*else:")
_AFTER_ELSE = re.compile(rb"else:\n(?:[ \t]*#[^\n]*\n)*[ \t]*(\w+) = [^\n]*(?:\n[^\n]*)?\.to\(")
_AFTER_ELIF = re.compile(rb"\n[ \t]*elif [^\n]*:\n[ \t]*\w+ = \w+\.(?:to|cuda)\(")
_NO_TENSOR = re.compile(rb"if not (?:torch\.is_tensor|isinstance)\([^\n]*\n(?:[^\n]*\n){1,3}?[ \t]*(\w+) = \1\.to\(")


@dataclass(frozen=True, slots=True)
class Forgotten:
    """`name` is moved by `move`, but not where control comes through `node`; `edits` move it there, to `device`.

    `ways` say, for messages, where it is moved and where it is not.
    """

    name: str
    device: str
    node: ast.stmt | ast.expr
    move: ast.Call
    edits: tuple[Edit, ...]
    ways: tuple[str, str] = ("on another path", "on this one")


def moves_in_one_branch(data: bytes) -> bool:
    """Whether the text of a file looks as if one of several branches moves something."""
    if b".to(" not in data and b".cuda(" not in data:
        return False
    return any(one.search(data) for one in (_BEFORE_ELSE, _AFTER_ELSE, _AFTER_ELIF, _NO_TENSOR))


def forgotten_moves(program: Program) -> Iterator[Forgotten]:
    """What one branch of an `if` moves and another leaves where it is."""
    for branch in (one for one in statements(program.tree) if isinstance(one, ast.If)):
        yield from _in_chain(program, branch)
        if asks_for_place(branch.test):
            continue
        yield from _of_tensors(program, branch)
        if (found := _in_else(program, branch)) is not None:
            yield found
        yield from _in_methods(program, branch)


def asks_for_place(test: ast.expr) -> bool:
    """A test that decides whether a move is needed: it names a device, or asks for CUDA."""
    return re.search(r"device|cuda|is_available|cpu\b|gpu", ast.unparse(test)) is not None


# `if …: x = x.to(device)` / `else: x = self.table`


def _in_else(program: Program, branch: ast.If) -> Forgotten | None:
    """The last name that both branches bind: from a moved value, and from what the object holds as it is."""
    if not branch.orelse or isinstance(branch.orelse[0], ast.If):
        return None
    moves = [one for statement in branch.body for one in _moves(statement)]
    devices = {device for one in moves if (device := _device(one)) is not None}
    last = branch.orelse[-1] if len(branch.orelse) == 1 else branch.orelse[0]
    if len(devices) != 1 or not isinstance(last, ast.Assign) or any(_places(one) for one in branch.orelse):
        return None
    (device,) = devices
    target, value = last.targets[0], _held(last.value)
    if not isinstance(target, ast.Name) or value is None or not _binds_moved(branch.body, target.id, moves):
        return None
    held = {ast.dump(one.func.value) for one in moves if isinstance(one.func, ast.Attribute)}
    known = device.partition(".")[0] in scope.bound_at(program, last)
    if any(isinstance(one, ast.Call) and moves_to_host(one) for each in branch.body for one in ast.walk(each)):
        return None  # it comes back from what is computed on the host
    if ast.dump(value) in held or not known or not _used_after(program, branch, target.id, device):
        return None
    if _is_carried(program, value) or _is_moved_as_part(program, value) or _is_made_tensor(branch.body, value):
        return None
    if device.endswith(".device") and is_denied(program, device.removesuffix(".device"), last):
        return None
    edit = ReplaceExpression(program.source.span(value), f"__node__.to({device})")
    return Forgotten(target.id, device, value, moves[-1], (edit,))


def _held(value: ast.expr) -> ast.expr | None:
    """`self.table`, `data.x["feat"]`, or that as the value of a comprehension: nothing is computed or made."""
    if isinstance(value, ast.DictComp):
        return _held(value.value)
    inner = value
    while isinstance(inner, (ast.Attribute, ast.Subscript)):
        inner = inner.value
    return value if isinstance(inner, ast.Name) and inner is not value else None


def _is_carried(program: Program, value: ast.expr) -> bool:
    """Whether a module holds the value, and takes it along."""
    owner = scope.class_around(program, value)
    own = (dotted(value) or ast.unparse(value)).startswith("self.")
    return own and owner is not None and program.classes.is_module(owner)


def _is_made_tensor(block: list[ast.stmt], value: ast.expr) -> bool:
    """Whether the other branch makes a tensor of the value: it is an array or a list then, and so it stays here."""
    calls = (one for each in block for one in ast.walk(each) if isinstance(one, ast.Call))
    made = (
        one for one in calls if last_name(one.func) in {"tensor", "as_tensor", "from_numpy", "Tensor", "FloatTensor"}
    )
    return any(ast.dump(given) == ast.dump(value) for one in made for given in one.args)


def _is_moved_as_part(program: Program, value: ast.expr) -> bool:
    """Whether a statement above moves the object that the value is taken from: `batch.to(device)`, and `batch.x` later.

    Graphs and their batches move in place, together with what they hold.
    """
    around = scope.function_around(program, value) or program.tree
    above = (one for one in ast.walk(around) if isinstance(one, (ast.Expr, ast.Assign)) and one.lineno < value.lineno)
    moved = {owner for one in above if (owner := _moved_whole(one)) is not None}
    while isinstance(value, (ast.Attribute, ast.Subscript)):
        value = value.value
        if dotted(value) in moved:
            return True
    return False


def _moved_whole(statement: ast.Expr | ast.Assign) -> str | None:
    """`x` of `x.to(device)` and of `x = x.to(device)`."""
    call = statement.value
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or not _moves_somewhere(call):
        return None
    name = dotted(call.func.value)
    kept = isinstance(statement, ast.Expr) or [dotted(one) for one in statement.targets] == [name]
    return name if kept else None


def _moves_somewhere(call: ast.Call) -> bool:
    """`x.to(device)`, `x.to("cuda")`, `x.cuda()`."""
    literal = bool(call.args) and isinstance(call.args[0], ast.Constant) and isinstance(call.args[0].value, str)
    return _device(call) is not None or last_name(call.func) == "cuda" or (literal and last_name(call.func) == "to")


def _binds_moved(block: list[ast.stmt], name: str, moves: list[ast.Call]) -> bool:
    """Whether the last statement of a branch gives `name` something moved, or puts that into it."""
    last = block[-1]
    if not any(one in moves for one in ast.walk(last)):
        return False
    if isinstance(last, ast.Assign):
        return name in scope.stored(last)
    bound = any(name in scope.stored(one) for one in block if isinstance(one, ast.Assign))
    call = last.value if isinstance(last, ast.Expr) else None
    return bound and isinstance(call, ast.Call) and dotted(call.func) == f"{name}.update"


def _used_after(program: Program, branch: ast.If, name: str, device: str) -> bool:
    """Whether `name` is read below the branches, and no move to the device comes first."""
    around = scope.function_around(program, branch) or program.tree
    end = branch.end_lineno or branch.lineno
    below = [one for one in ast.walk(around) if getattr(one, "lineno", 0) > end]
    moved = any(_is_move(one, name) and device in ast.unparse(one) for one in below)
    return not moved and any(isinstance(one, ast.Name) and one.id == name for one in below)


# `if a: x = x.cuda()` / `elif b: y = y.cuda()`


def _in_chain(program: Program, branch: ast.If) -> Iterator[Forgotten]:
    """Items of one loop, of which each branch moves others."""
    loop = program.names.parent(branch)
    if not isinstance(loop, (ast.For, ast.AsyncFor)) or branch not in loop.body or not branch.orelse:
        return
    blocks = list(_blocks(branch))
    moved = [_moved_in(one, scope.stored(loop.target)) for one in blocks]
    together = {name: call for one in moved for name, call in one.items()}
    elsewhere = {
        name
        for name in together
        for one in loop.body
        if one is not branch
        for node in ast.walk(one)
        if _is_move(node, name)
    }
    for block, own in zip(blocks, moved):
        for name in (one for one in together if own and one not in own and one not in elsewhere):
            sibling, call = list(own.items())[-1]
            after = next(one for one in block if call in ast.walk(one))
            text = program.source.segment(program.source.span(after))
            receiver = f"{sibling} = {sibling}."
            if text.startswith(receiver) and "\n" not in text:
                code = f"{name} = {name}.{text.removeprefix(receiver)}"
                edit = InsertStatement(program.source.span(after), "after", code)
                yield Forgotten(name, _device(call) or "cuda", after, together[name], (edit,))


def _blocks(branch: ast.If) -> Iterator[list[ast.stmt]]:
    yield branch.body
    if len(branch.orelse) == 1 and isinstance(branch.orelse[0], ast.If):
        yield from _blocks(branch.orelse[0])
    elif branch.orelse:
        yield branch.orelse


def _moved_in(block: list[ast.stmt], names: set[str]) -> dict[str, ast.Call]:
    """The names that `x = x.to(…)` moves in a block."""
    found: dict[str, ast.Call] = {}
    for one in block:
        match one:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call() as call) if name in names and _is_move(
                call, name
            ):
                found[name] = call
    return found


# `if not torch.is_tensor(x): x = torch.from_numpy(x); x = x.to(device)`


def _of_tensors(program: Program, branch: ast.If) -> Iterator[Forgotten]:
    """A move at the end of the branch for what is no tensor yet: a tensor stays where it is."""
    function = scope.function_around(program, branch)
    name = _no_tensor(program, branch.test)
    if function is None or name not in scope.parameters(function) or branch.orelse or len(branch.body) < 2:
        return
    last = branch.body[-1]
    call = next((one for one in _moves(last) if _is_move(one, name or "")), None)
    device = _device(call) if call is not None else None
    if call is None or device is None or not isinstance(last, ast.Assign) or scope.stored(last) != {name}:
        return
    if device == f"{name}.device" or not _used_after(program, branch, name or "", device):
        return
    text = program.source.segment(program.source.span(call))
    left: Edit = RemoveStatement(program.source.span(last))
    if last.value is not call:
        left = ReplaceExpression(program.source.span(call), name or "")
    if "\n" not in text:
        edits = (left, InsertStatement(program.source.span(branch), "after", f"{name} = {text}"))
        yield Forgotten(name or "", device, branch.test, call, edits)


def _no_tensor(program: Program, test: ast.expr) -> str | None:
    """`x` of `not torch.is_tensor(x)`, `not isinstance(x, torch.Tensor)`."""
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=ast.Call(args=[ast.Name(id=name), *rest]) as call):
            asked = program.names.qualified(call.func)
            wanted = [program.names.qualified(one) for one in rest]
            if asked == "torch.is_tensor" or (dotted(call.func) == "isinstance" and wanted == ["torch.Tensor"]):
                return name
    return None


# The same branch in two methods, one of them with an `else` that moves


def _in_methods(program: Program, branch: ast.If) -> Iterator[Forgotten]:
    """`if p is not None: x = p(x)` in two methods of a class, where one of them moves `x` otherwise."""
    function, owner = scope.function_around(program, branch), scope.class_around(program, branch)
    if function is None or owner is None or len(branch.orelse) != 1 or not isinstance(branch.orelse[0], ast.Assign):
        return
    other = branch.orelse[0]
    moves = [one for one in _moves(other) if (_device(one) or "").startswith("self.")]
    match branch.test, other.targets:
        case ast.Compare(left=left, ops=[ast.IsNot()], comparators=[ast.Constant(value=None)]), [ast.Name(id=name)]:
            pass
        case _:
            return
    code = program.source.segment(program.source.span(other))
    for twin in (one for one in statements(owner) if isinstance(one, ast.If) and one is not branch and not one.orelse):
        within = scope.function_around(program, twin)
        same = ast.dump(twin.test) == ast.dump(branch.test) and _dumped(twin.body) == _dumped(branch.body)
        if moves and same and within is not function and within is not None and not _moved_at_all(within, name):
            indented = code.replace("\n" + " " * other.col_offset, "\n    ")
            text = f"if {program.source.segment(program.source.span(left))} is None:\n    {indented}"
            edit = InsertStatement(program.source.span(twin), "after", text)
            yield Forgotten(name, _device(moves[0]) or "", twin.test, moves[0], (edit,))


def _moved_at_all(function: scope.Function, name: str) -> bool:
    return any(_is_move(node, name) or (isinstance(node, ast.Call) and _device(node)) for node in ast.walk(function))


def _dumped(block: list[ast.stmt]) -> list[str]:
    return [ast.dump(one) for one in block]


# Moves


def _moves(node: ast.AST) -> Iterator[ast.Call]:
    """The calls `….to(device)` inside, to what is called a device."""
    return (one for one in ast.walk(node) if isinstance(one, ast.Call) and _device(one) is not None)


def _device(call: ast.Call) -> str | None:
    """The dotted name of the device that `x.to(device)` moves to."""
    if not isinstance(call.func, ast.Attribute) or call.func.attr != "to":
        return None
    given = next((one.value for one in call.keywords if one.arg == "device"), call.args[0] if call.args else None)
    name = dotted(given) if given is not None else None
    return name if name is not None and "device" in name.rpartition(".")[2] else None


def _places(node: ast.AST) -> bool:
    """Whether something inside moves, or makes a value on a device."""
    return any(
        isinstance(one, ast.Call)
        and (
            any(key.arg == "device" for key in one.keywords)
            or (isinstance(one.func, ast.Attribute) and one.func.attr in {*_MOVES, "cpu", "type_as"})
        )
        for one in ast.walk(node)
    )


def _is_move(node: ast.AST, name: str) -> bool:
    """`name.to(…)`, `name.cuda(…)`."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.func.attr not in _MOVES:
        return False
    return dotted(node.func.value) == name
