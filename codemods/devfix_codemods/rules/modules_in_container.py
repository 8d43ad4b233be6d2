"""Modules are kept in a plain list, tuple or dict.

## What it does

Finds modules that an `nn.Module` builds into a plain container, and keeps them in `nn.ModuleList` or `nn.ModuleDict`.

## Why it fails

A module knows its parts from its attributes: modules, `nn.ModuleList` and `nn.ModuleDict`, but not lists. So
`model.to(device)` leaves the layers in a list on the host:

    RuntimeError: Expected all tensors to be on the same device, but got mat1 is on cuda:0, different from other tensors
    on cpu (when checking argument in method wrapper_CUDA_addmm)

`model.parameters()` does not give their weights to the optimizer, `state_dict()` does not save them, and `eval()` does
not reach them.

## Before

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = [nn.Linear(8, 8) for _ in range(4)]

## After

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList([nn.Linear(8, 8) for _ in range(4)])

## Fix safety

Unsafe: `parameters()` and `state_dict()` gain what the container holds, so more is trained than before, and checkpoints
saved before lack these keys. There is advice and no edit where the class uses its container in a way that a
`ModuleList` or `ModuleDict` does not support, or where it may hold something that is no module. Lists of modules that
are registered elsewhere too, lists of one that keep a module out of the parameters, and lists whose parameters the
class handles itself are left alone.

## Since torch

Any.
"""

import ast
import re
from collections.abc import Iterator

from devfix_codemods.edits.operations import AddImport, Edit, ReplaceExpression
from devfix_codemods.findings import Finding, Fix, Safety
from devfix_codemods.program import Program
from devfix_codemods.rules import Rule
from devfix_codemods.rules._container_uses import Holder
from devfix_codemods.rules._module_containers import Containers
from devfix_codemods.rules._module_values import ModuleValues, Sort, joined

_ON_PURPOSE = re.compile(r"#.*(?i:regist|hid(?:e|den)\b|state.?dict|on purpose|intention|deliberate|parameters)")
_KEPT_OUT = re.compile(r"(?i)teacher|frozen|ema|momentum|shadow|loss|criteri")
_PLAIN_TYPES = ("list", "List", "tuple", "Tuple", "dict", "Dict", "Sequence", "Mapping")


def check(program: Program) -> Iterator[Finding]:
    values = ModuleValues(program)
    for owner in program.names.classes:
        if values.is_module_class(owner):
            for holder in Containers(program, values, owner).holders():
                if not _is_on_purpose(program, holder):
                    yield from _finding(program, holder)


def _is_on_purpose(program: Program, holder: Holder) -> bool:
    """Whether the name or a comment says that the modules are not to be registered."""
    lines = program.source.text.splitlines()[max(holder.statement.lineno - 3, 0) : holder.statement.end_lineno]
    return _KEPT_OUT.search(holder.attribute) is not None or any(map(_ON_PURPOSE.search, lines))


def _finding(program: Program, holder: Holder) -> Iterator[Finding]:
    sort = joined(holder.sorts)
    if Sort.MODULE not in holder.sorts and (sort is not Sort.LIKELY or not holder.is_called):
        return
    obstacles = list(dict.fromkeys(holder.obstacles))
    if sort not in {Sort.MODULE, Sort.BARE}:
        obstacles.append("not all that it holds is surely a module")
    name = f"self.{holder.attribute}"
    edits = () if obstacles else _edits(program, holder)
    effect = f"the parameters in `{name}` are trained and saved with their module from now on" if edits else None
    title = f"Keep `{name}` in `nn.{holder.container}`: parameters() and state_dict() gain what it holds"
    yield Finding(
        code=RULE.code,
        name=RULE.name,
        message=f"`{name}` keeps modules in a plain container: `.to()`, `parameters()` and `state_dict()` miss them",
        span=program.source.span(holder.value),
        fix=Fix(Safety.UNSAFE if edits else Safety.MANUAL, title, edits, effect=effect),
        advice=None if edits else f"keep them in `nn.{holder.container}`; check first: {'; '.join(obstacles)}",
    )


def _edits(program: Program, holder: Holder) -> tuple[Edit, ...]:
    name, imports = _spelled(program, holder.container)
    value = program.source.span(holder.value)
    bare = isinstance(holder.value, ast.Tuple) and not program.source.segment(value).startswith("(")
    code = f"{name}()" if holder.is_empty else f"{name}((__node__))" if bare else f"{name}(__node__)"
    edits: list[Edit] = [*imports, ReplaceExpression(value, code)]
    for one in holder.inner:
        inner = "ModuleDict" if isinstance(one, (ast.Dict, ast.DictComp)) else "ModuleList"
        edits.append(ReplaceExpression(program.source.span(one), f"{_spelled(program, inner)[0]}(__node__)"))
    statement = holder.statement
    if isinstance(statement, ast.AnnAssign) and ast.unparse(statement.annotation).startswith(_PLAIN_TYPES):
        edits.append(ReplaceExpression(program.source.span(statement.annotation), name))
    return tuple(edits)


def _spelled(program: Program, container: str) -> tuple[str, tuple[Edit, ...]]:
    """The container's name as the file writes such names, and the import that it needs."""
    bound = {"torch.nn": f".{container}", "torch": f".nn.{container}", f"torch.nn.{container}": ""}
    found: dict[str, str] = {}
    for node in program.names.imports:
        if node not in program.tree.body:
            continue
        for alias in node.names:
            module = f"{node.module}." if isinstance(node, ast.ImportFrom) and not node.level else ""
            whole = f"{module}{alias.name}"
            if isinstance(node, ast.Import) and alias.asname is None:
                found["torch"] = "torch" if whole.partition(".")[0] == "torch" else found.get("torch", "")
            elif whole in bound:
                found[whole] = alias.asname or alias.name
    for whole in (f"torch.nn.{container}", "torch.nn", "torch"):
        if found.get(whole):
            return f"{found[whole]}{bound[whole]}", ()
    if not program.names.bound_in_module("nn"):
        stars = any(alias.name == "*" for node in program.names.imports for alias in node.names)
        return f"nn.{container}", () if stars else (AddImport("torch", "nn"),)
    return container, (AddImport("torch.nn", container),)


_GROWN = re.compile(rb"self\.(\w+)\s*(?::[^=\n]+)?=\s*(?:\[\s*\]|\{\s*\}|list\(\)|dict\(\)|\(\))")
_GROWS = re.compile(rb"self\.(\w+)(?:\.(?:append|insert|extend|update)\(|\s*\+=|\[[^\]\n]+\]\s*=[^=])")
_FILLED = re.compile(
    rb"self\.\w+\s*(?::[^=\n]+)?=\s*(?:[\[({][\s\[({]*[^()]{0,200}?|(?:list|tuple)\(\s*[\[(]?\s*|\(\s*\(\s*)[A-Za-z_][\w.]*\("
)
_LISTED = re.compile(rb"\b(\w+)(?:\.append\(|\s*=\s*[\[(]\s*\w)")
_LOCAL = re.compile(rb"self\.\w+\s*=\s*(\w+)\s*(?:#[^\n]*)?\n")


def _looks(data: bytes) -> bool:
    """Some attribute is a container that is built with calls, or that something is put into."""
    if b"Module" not in data:
        return False
    if _FILLED.search(data):
        return True
    if set(_GROWN.findall(data)) & set(_GROWS.findall(data)):
        return True
    local = set(_LOCAL.findall(data))
    return any(found.group(1) in local for found in _LISTED.finditer(data))


RULE = Rule("DVF204", "modules-in-container", ((b"nn", b"self.", b"class "),), check, looks=_looks)
