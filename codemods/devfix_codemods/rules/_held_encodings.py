"""Encodings for models that a class, or the caller, holds: what the code around says of where these are. By syntax."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from devfix_codemods import scope
from devfix_codemods.flow.evidence import dotted
from devfix_codemods.flow.library import returns_tensors
from devfix_codemods.program import Program
from devfix_codemods.rules._devices import Devices

_TOKENIZES = re.compile(rb"tokenize\([^\n]*\)\.to\(")
_PLACES = re.compile(r"\.to\(|\.cuda\(|device")


@dataclass(frozen=True, slots=True)
class HeldEncoding:
    """The encoding that `made` makes goes to `call` unmoved; `witness` is the move that says that it needs `device`."""

    made: ast.Call
    call: ast.Call
    witness: ast.Call
    device: str


def moves_tokens(data: bytes) -> bool:
    """Whether the result of some `tokenize` is moved at once."""
    return _TOKENIZES.search(data) is not None


def of_classes(program: Program) -> Iterator[HeldEncoding]:
    """Encodings made in a method for `self.model`, which the class moves to the device that it keeps."""
    if any(one.arg == "device_map" for call in program.names.calls for one in call.keywords):
        return
    devices: Devices | None = None
    for made in (one for one in program.names.calls if returns_tensors(one)):
        statement, function = program.names.statement(made), scope.function_around(program, made)
        owner = scope.class_around(program, made)
        name = _named(statement, made)
        if name is None or function is None or owner is None or _is_placed(program, name, statement):
            continue
        call = next((one for one in ast.walk(function) if isinstance(one, ast.Call) and _gets(one, name)), None)
        move = _move_of(owner, call) if call is not None else None
        if call is None or move is None or program.classes.is_managed(owner):
            continue
        devices = devices or Devices(program)
        if any(one.text == "self.device" for one in devices.at(statement)):
            yield HeldEncoding(made, call, move, "self.device")


def _named(statement: ast.stmt, made: ast.Call) -> str | None:
    """The name that a statement gives to nothing but the encoding."""
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if value is made:
            return name
    return None


def _is_placed(program: Program, name: str, made: ast.stmt) -> bool:
    """Whether something below, in the same block, moves the encoding or parts of it, or binds its name anew."""
    block = scope.block_of(program, made)
    for one in (inner for below in block[block.index(made) + 1 :] for inner in ast.walk(below)):
        if isinstance(one, ast.Assign) and name in scope.stored(one):
            return True
        if isinstance(one, ast.Call) and _places(one, name):
            return True
        if isinstance(one, (ast.For, ast.DictComp, ast.ListComp)):
            items = one.iter if isinstance(one, ast.For) else one.generators[0].iter
            if name in scope.reads(items) and _PLACES.search(ast.unparse(one)):
                return True
    return False


def _places(call: ast.Call, name: str) -> bool:
    """`name.to(…)`, `name["ids"].cuda()`, `to_device(name)`, `f(name, device=…)`."""
    if isinstance(call.func, ast.Attribute) and call.func.attr in {"to", "cuda"} and _root(call.func.value) == name:
        return True
    given = scope.given_to(call)
    helps = "device" in (dotted(call.func) or "") or any("device" in ast.unparse(one) for one in given)
    return helps and any(_root(one) == name for one in given)


def _gets(node: ast.Call, name: str) -> bool:
    """`self.model(**name)`, `self.model.generate(name.input_ids)`."""
    parts = (dotted(node.func) or "").split(".")
    if parts[0] != "self" or len(parts) not in {2, 3} or parts[2:] not in ([], ["generate"]):
        return False
    given = scope.given_to(node)
    return any(_root(one) == name for one in given)


def _root(node: ast.expr) -> str | None:
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None


def _move_of(owner: ast.ClassDef, call: ast.Call) -> ast.Call | None:
    """The move of the called model to the device that the class keeps."""
    model = ".".join((dotted(call.func) or "").split(".")[:2])
    for one in ast.walk(owner):
        if not isinstance(one, ast.Call) or not isinstance(one.func, ast.Attribute) or one.func.attr != "to":
            continue
        to_own = [dotted(given) for given in one.args] in (["device"], ["self.device"])
        if to_own and dotted(one.func.value) == model:
            return one
    return None


# The result of one function, moved in one place and not in another


def moved_elsewhere(program: Program) -> Iterator[HeldEncoding]:
    """`tokens = tokenize(text)`, given to what gets `tokenize(text).to(device)` elsewhere in the file."""
    calls = [one for one in program.names.calls if (dotted(one.func) or "").rpartition(".")[2] == "tokenize"]
    witnesses = [(one, move) for one in calls if (move := _moved_at_once(program, one)) is not None]
    devices: Devices | None = None
    for made in calls if witnesses else ():
        statement, function = program.names.statement(made), scope.function_around(program, made)
        name = _named(statement, made)
        if name is None or function is None or _is_placed(program, name, statement):
            continue
        for other, move in witnesses:
            call = _same_call(program, function, name, statement, move)
            if call is None or ast.dump(other.func) != ast.dump(made.func):
                continue
            devices = devices or Devices(program)
            device = _device_at(program, devices, statement, move)
            if device is not None:
                yield HeldEncoding(made, call, move, device)
                break


def _moved_at_once(program: Program, made: ast.Call) -> ast.Call | None:
    """The `.to(…)` on the result of a call, where that gets a name."""
    method = program.names.parent(made)
    move = program.names.parent(method) if isinstance(method, ast.Attribute) and method.attr == "to" else None
    is_move = isinstance(move, ast.Call) and len(move.args) + len(move.keywords) == 1
    named = _named(program.names.statement(made), move) if isinstance(move, ast.Call) else None
    return move if isinstance(move, ast.Call) and is_move and named is not None else None


def _same_call(
    program: Program, function: scope.Function, name: str, statement: ast.stmt, move: ast.Call
) -> ast.Call | None:
    """The call that gets `name` below `statement`, of what gets the moved one."""
    around = scope.function_around(program, move)
    moved = _named(program.names.statement(move), move)
    takers = {dotted(one.func) for one in _takers(around, moved or "")} if around is not None else set()
    return next(
        (
            one
            for one in _takers(function, name)
            if one.lineno >= statement.lineno and dotted(one.func) in takers - {None}
        ),
        None,
    )


def _takers(function: scope.Function, name: str) -> Iterator[ast.Call]:
    for one in ast.walk(function):
        if isinstance(one, ast.Call) and any(isinstance(given, ast.Name) and given.id == name for given in one.args):
            yield one


def _device_at(program: Program, devices: Devices, statement: ast.stmt, move: ast.Call) -> str | None:
    """The device of the move, where it is bound; else the best that is at hand."""
    given = move.args[0] if move.args else move.keywords[0].value
    text = dotted(given)
    if text is None or "device" not in text:
        return None
    if text.partition(".")[0] in scope.bound_at(program, statement):
        return text
    device = devices.first(statement, optional=True)
    if device is None:
        return None
    return f"device={device.text}" if device.optional else device.text
