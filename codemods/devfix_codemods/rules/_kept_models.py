"""Models that a trainer is given and keeps, while it brings its batches to a device of its own choice."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from devfix_codemods import scope
from devfix_codemods.edits.operations import Edit, InsertStatement, ReplaceExpression
from devfix_codemods.flow.evidence import Evidence, dotted
from devfix_codemods.program import Program


@dataclass(frozen=True, slots=True)
class KeptModel:
    """`self.model = model` in a constructor, the move of a batch that the model gets, and where that goes.

    `edit` moves the model, where it is kept or where the device is known.
    """

    statement: ast.Assign
    call: ast.Call
    move: ast.Call
    device: str
    edit: Edit


def brings_to_own_device(data: bytes) -> bool:
    """Whether some helper brings something to `self.device`."""
    return _HELPER.search(data) is not None


_HELPER = re.compile(rb"(?:to_device|to_gpu|move_to)\(\w+, self\.device\)")


def kept_models(program: Program) -> Iterator[KeptModel]:
    """Models that no line of their class moves. Frameworks' classes and modules are left out."""
    classes = program.classes
    for owner in program.names.classes:
        constructor = classes.methods(owner).get("__init__")
        if (
            constructor is None
            or constructor not in owner.body
            or classes.is_managed(owner)
            or classes.is_module(owner)
        ):
            continue
        for statement in constructor.body:
            name = _kept(statement, constructor)
            found = _found(program, owner, statement, name) if name is not None else None
            found = found or _found_by_helper(program, owner, constructor, statement)
            if found is not None:
                yield found


def _kept(statement: ast.stmt, constructor: scope.Function) -> str | None:
    """The parameter without a default that `self.name = name` keeps."""
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return None
    spec = constructor.args
    required = [one.arg for one in spec.args[: len(spec.args) - len(spec.defaults)]]
    required += [one.arg for one, default in zip(spec.kwonlyargs, spec.kw_defaults) if default is None]
    value = statement.value
    same = isinstance(value, ast.Name) and dotted(statement.targets[0]) == f"self.{value.id}"
    return value.id if isinstance(value, ast.Name) and same and value.id in required else None


def _found(program: Program, owner: ast.ClassDef, statement: ast.stmt, name: str) -> KeptModel | None:
    kept = f"self.{name}"
    for call in program.names.calls:
        if dotted(call.func) != kept or not call.args or owner not in program.names.ancestors(call):
            continue
        move = _moved_before(program, call)
        device = _device(program, move) if move is not None else None
        if move is not None and device is not None and isinstance(statement, ast.Assign):
            evidence: Evidence = program.facts.evidence[owner]
            stays = kept in evidence.modules and evidence.moved.isdisjoint({kept, name})
            edit = ReplaceExpression(program.source.span(statement.value), f"__node__.to({device})")
            return KeptModel(statement, call, move, device, edit) if stays else None
    return None


def _found_by_helper(
    program: Program, owner: ast.ClassDef, constructor: scope.Function, statement: ast.stmt
) -> KeptModel | None:
    """`batch = batch_to_device(batch, self.device)`, where the class itself has chosen that device."""
    match statement:
        case ast.Assign(targets=[ast.Attribute(value=ast.Name(id="self")) as kept], value=ast.Name(id=name)):
            pass
        case _:
            return None
    chosen = next((one for one in constructor.body if _chooses(program, one)), None)
    if chosen is None or name not in scope.parameters(constructor) or not _IS_MODEL.search(name):
        return None
    if program.facts.evidence[owner].moved & {dotted(kept), name, "self"}:
        return None
    for call in program.names.calls:
        if dotted(call.func) == dotted(kept) and call.args and owner in program.names.ancestors(call):
            move = _brought(program, call)
            if move is not None:
                edit = _moved_if_given(program, constructor, name, max(statement, chosen, key=lambda one: one.lineno))
                return KeptModel(statement, call, move, "self.device", edit)
    return None


_IS_MODEL = re.compile(r"(?:^|_)(?:model|net|network|encoder|decoder|backbone|classifier|head)$")


def _chooses(program: Program, statement: ast.stmt) -> bool:
    """`self.device = torch.device("cuda" if … else "cpu")`."""
    match statement:
        case ast.Assign(targets=[target], value=ast.Call(args=[ast.IfExp()]) as call):
            return dotted(target) == "self.device" and program.names.qualified(call.func) == "torch.device"
    return False


def _brought(program: Program, call: ast.Call) -> ast.Call | None:
    """The call of a helper that brings what `call` is given to `self.device`."""
    function, given = scope.function_around(program, call), call.args[0]
    for node in ast.walk(function) if function is not None else ():
        if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Call) or not isinstance(given, ast.Name):
            continue
        helper = (dotted(node.value.func) or "").rpartition(".")[2]
        to_own = [dotted(one) for one in node.value.args[1:]] == ["self.device"]
        if helper.endswith(("to_device", "to_gpu", "move_to")) and to_own and given.id in scope.stored(node):
            return node.value
    return None


def _moved_if_given(program: Program, constructor: scope.Function, name: str, after: ast.stmt) -> InsertStatement:
    """A line that moves the model; where the parameter has a default, if one is given."""
    spec = constructor.args
    optional = name in [one.arg for one in spec.args[len(spec.args) - len(spec.defaults) :]]
    optional |= name in [one.arg for one, default in zip(spec.kwonlyargs, spec.kw_defaults) if default is not None]
    code = f"{name}.to(self.device)"
    code = f"if {name} is not None:\n    {code}" if optional else code
    return InsertStatement(program.source.span(after), "after", code)


def _moved_before(program: Program, call: ast.Call) -> ast.Call | None:
    """The move `x = x.to(device)` of an item of the loop around the call, which the call gets."""
    loop = next((one for one in program.names.ancestors(call) if isinstance(one, (ast.For, ast.AsyncFor))), None)
    given = call.args[0]
    if loop is None or not isinstance(given, ast.Name) or given.id not in scope.stored(loop.target):
        return None
    for node in ast.walk(loop):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "to":
            receiver = node.func.value
            if isinstance(receiver, ast.Name) and receiver.id == given.id and len(node.args) == 1:
                return node
    return None


def _device(program: Program, move: ast.Call) -> str | None:
    """A device that the module names: its constant, or one that it imports."""
    target = move.args[0]
    if not isinstance(target, ast.Name) or not program.names.bound_in_module(target.id):
        return None
    function = scope.function_around(program, move)
    local = function is not None and any(scope.stores(function, target.id))
    if local or (function is not None and target.id in scope.parameters(function)):
        return None
    return target.id
