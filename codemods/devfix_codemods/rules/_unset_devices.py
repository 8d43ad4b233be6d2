"""Modules that are asked for a `device` which nothing gives them: `nn.Module` has none, and raises."""

import ast
from collections.abc import Iterator

from devfix_codemods import scope
from devfix_codemods.edits.operations import ReplaceExpression
from devfix_codemods.flow import tables
from devfix_codemods.flow.evidence import dotted
from devfix_codemods.program import Program
from devfix_codemods.rules._devices import Devices
from devfix_codemods.rules._unbound_devices import Unbound, known_at

_SETS_UNSEEN = frozenset({"__dict__", "__getattr__", "__getattribute__", "__setattr__"})
_FOR_OTHERS = ("Base", "Abstract", "Mixin")


def unset_devices(program: Program) -> Iterator[Unbound]:
    """`self.device` in a plain `nn.Module`, where nothing defines it, here or in the files that use the class."""
    if b"self.device" not in program.source.data or _is_set(program.tree):
        return
    for owner in ast.walk(program.tree):
        if not isinstance(owner, ast.ClassDef) or not _is_plain_module(program, owner):
            continue
        if any(owner.name.encode() in one.source.data and _is_set(one.tree) for one in program.importing):
            continue
        for method in owner.body:
            reads = [one for one in ast.walk(method) if isinstance(one, ast.Attribute) and dotted(one) == "self.device"]
            if isinstance(method, scope.Function) and reads:
                yield _unset(program, reads)


def _is_set(tree: ast.Module) -> bool:
    """Whether the file sets the `device` of anything, defines one in a class, or has ways to do that unseen."""
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(attr="device", ctx=ast.Store()) | ast.FunctionDef(name="device"):
                return True
            case ast.Attribute(attr=name) | ast.FunctionDef(name=name) if name in _SETS_UNSEEN:
                return True
            case ast.Call(func=ast.Name(id="setattr" | "vars" | "hasattr" | "getattr")):
                return True
            case ast.ClassDef(body=body) if any("device" in scope.stored(one) for one in body if _assigns(one)):
                return True
            case ast.Constant(value="device"):
                return True
    return False


def _assigns(node: ast.stmt) -> bool:
    return isinstance(node, ast.Assign | ast.AnnAssign)


def _is_plain_module(program: Program, owner: ast.ClassDef) -> bool:
    """Derived from `nn.Module` and nothing else, and not for others to derive from."""
    names = [tables.canonical(program.names.qualified(one) or "") for one in owner.bases]
    meant = any(one in owner.name for one in _FOR_OTHERS) or owner.decorator_list or owner.keywords
    raises = any(isinstance(one, ast.Name) and one.id == "NotImplementedError" for one in ast.walk(owner))
    return names == ["torch.nn.Module"] and not meant and not raises


def _unset(program: Program, reads: list[ast.Attribute]) -> Unbound:
    devices = Devices(program)
    known = [[one for one in known_at(program, devices, node) if one != "self.device"] for node in reads]
    device = next((one for one in known[0] if all(one in each for each in known)), None)
    spans = [program.source.span(one) for one in reads]
    edits = tuple(ReplaceExpression(span, device) for span in spans) if device is not None else ()
    return Unbound(tuple(reads), device, edits)
