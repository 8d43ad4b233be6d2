"""Modules that do not go to the device to which they bring their inputs, as other modules of their family do."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from devfix_codemods import scope
from devfix_codemods.edits.operations import InsertStatement
from devfix_codemods.flow.evidence import dotted
from devfix_codemods.program import Program
from devfix_codemods.rules._fresh_modules import holds_tensors

_MOVES_ITSELF = re.compile(rb"\n[ \t]+self\.(?:to\([\w.]+\)|cuda\(\))")
_GUARDED = "if torch.cuda.is_available():\n    self.cuda()"


@dataclass(frozen=True, slots=True)
class StayedBehind:
    """`owner` calls its part in `call`, with what it places itself; `sibling` says how the family moves, in `edit`."""

    owner: ast.ClassDef
    call: ast.Call
    sibling: ast.stmt
    code: str
    edit: InsertStatement


def moves_itself(data: bytes) -> bool:
    """Whether some class looks as if it moved itself."""
    return _MOVES_ITSELF.search(data) is not None


def stayed_behind(program: Program) -> Iterator[StayedBehind]:
    """Modules whose constructor does not move them, where those of their family do, all in the same way."""
    movers = {one: found for one in program.names.classes if (found := _own_move(program, one)) is not None}
    codes = {ast.unparse(one) for one in movers.values()}
    if len(codes) != 1 or program.unit.traits.managed:
        return
    (code,) = codes
    for owner in program.names.classes:
        sibling = next((movers[one] for one in movers if _family(program, one) & _family(program, owner)), None)
        constructor = scope.constructor(owner)
        if owner in movers or sibling is None or constructor is None or not program.classes.may_be_module(owner):
            continue
        call = _call_of_part(program, owner, constructor, code)
        if call is not None and not _moves(constructor):
            edit = InsertStatement(program.source.span(constructor.body[-1]), "after", code)
            yield StayedBehind(owner, call, sibling, code, edit)


def _own_move(program: Program, owner: ast.ClassDef) -> ast.stmt | None:
    """`self.to(lib.device)`, or `self.cuda()` where CUDA is available, in a constructor."""
    constructor = scope.constructor(owner)
    if constructor is None:
        return None
    for one in constructor.body:
        if ast.unparse(one) == _GUARDED:
            return one
        call = one.value if isinstance(one, ast.Expr) else None
        if isinstance(call, ast.Call) and dotted(call.func) == "self.to" and len(call.args) == 1:
            given = call.args[0]
            root = (dotted(given) or "self").partition(".")[0]
            if root != "self" and program.names.bound_in_module(root) and root not in scope.parameters(constructor):
                return one
    return None


def _family(program: Program, owner: ast.ClassDef) -> set[str]:
    """The names of the bases of a class, and of theirs, but for those of torch itself."""
    local = {one.name: one for one in program.names.classes}
    found: set[str] = set()
    pending = [owner]
    while pending:
        for base in pending.pop().bases:
            name = dotted(base)
            if name is None or name in found or (program.names.qualified(base) or "").startswith("torch."):
                continue
            found.add(name)
            if name in local:
                pending.append(local[name])
    return found - {"ABC", "object", "Generic", "Protocol"}


def _call_of_part(program: Program, owner: ast.ClassDef, constructor: scope.Function, code: str) -> ast.Call | None:
    """The first call of a part with parameters, in a method that places tensors, where nothing moves the part."""
    parts = {
        name
        for one in ast.walk(constructor)
        if isinstance(one, ast.Assign) and isinstance(one.value, ast.Call) and _has_parameters(program, one.value)
        for target in one.targets
        if (name := dotted(target)) is not None and name.startswith("self.")
    }
    for method in owner.body:
        if not isinstance(method, scope.Function) or method is constructor or method.name == "forward":
            continue
        calls = [one for one in ast.walk(method) if isinstance(one, ast.Call) and dotted(one.func) in parts]
        if calls and _places(method, code) and not _moves(method):
            return min(calls, key=lambda one: one.lineno)
    return None


def _has_parameters(program: Program, build: ast.Call) -> bool:
    if dotted(build.func) is not None and (dotted(build.func) or "").endswith(".from_pretrained"):
        owner = (dotted(build.func) or "").split(".")[-2]
        return owner.endswith(("Model", "Embedding", "EmbeddingBag")) or "For" in owner
    return holds_tensors(program, build)


def _places(method: scope.Function, code: str) -> bool:
    """Whether the method brings something to where its family goes."""
    if code == _GUARDED:
        return any(isinstance(one, ast.Attribute) and one.attr == "cuda" for one in ast.walk(method))
    device = code.removeprefix("self.to(").removesuffix(")")
    given = [one.value for one in ast.walk(method) if isinstance(one, ast.keyword) and one.arg == "device"]
    given += [
        one.args[0]
        for one in ast.walk(method)
        if isinstance(one, ast.Call) and isinstance(one.func, ast.Attribute) and one.func.attr == "to" and one.args
    ]
    return any(dotted(one) in {device, "self.device"} for one in given)


def _moves(method: scope.Function) -> bool:
    """Whether the method moves the object or a part of it; a constructor, anything."""
    calls = (one for one in ast.walk(method) if isinstance(one, ast.Call) and isinstance(one.func, ast.Attribute))
    moved = [one.func.value for one in calls if isinstance(one.func, ast.Attribute) and one.func.attr in {"to", "cuda"}]
    return any(method.name == "__init__" or (dotted(one) or "").partition(".")[0] == "self" for one in moved)
