"""Tensors made alike that leave a function together: on the device all of them, or none. Callers let them meet."""

import ast
from collections.abc import Iterator, Sequence
from dataclasses import replace

from devfix_codemods import scope
from devfix_codemods.edits.operations import Edit, ReplaceExpression, RewriteCall
from devfix_codemods.findings import Finding
from devfix_codemods.flow.tree import walk
from devfix_codemods.program import Program
from devfix_codemods.rules._following import with_device
from devfix_codemods.rules._host_company import parted
from devfix_codemods.source import Span

_BESIDE = "what the function gives back beside it would stay on the host: make all of them there"


def with_siblings(program: Program, findings: Sequence[Finding]) -> Iterator[Finding]:
    """`findings`, those that move a factory's tensor with the siblings that are returned beside it; else unfixed."""
    calls = {program.source.span(one): one for one in program.names.calls} if findings else {}
    moved = {calls[span] for one in findings for span, _ in _placed(one) if span in calls}
    for one in findings:
        fix = one.fix
        edits: list[Edit] | None = [] if not _leaves_others(program, one, calls) else None
        for span, device in _placed(one):
            more = _of_siblings(program, calls[span], device, moved) if span in calls else []
            edits = None if edits is None or more is None else edits + more
        if edits is None:
            yield replace(one, fix=None, advice=_BESIDE)
        else:
            yield replace(one, fix=replace(fix, edits=(*fix.edits, *edits))) if fix is not None and edits else one


def _leaves_others(program: Program, finding: Finding, calls: dict[Span, ast.Call]) -> bool:
    """Whether a fix moves a copy where it is used, of a tensor that is returned as it was made, beside its siblings."""
    copies = any(isinstance(one, ReplaceExpression) and one.span != finding.span for one in _edits(finding))
    return copies and finding.span in calls and any(_siblings(program, calls[finding.span]))


def _edits(finding: Finding) -> tuple[Edit, ...]:
    return finding.fix.edits if finding.fix is not None else ()


def _placed(finding: Finding) -> Iterator[tuple[Span, str]]:
    """The calls that a fix tells their device."""
    for edit in _edits(finding):
        if isinstance(edit, RewriteCall):
            device = next((one.value for one in edit.arguments or () if one.keyword == "device"), None)
            if isinstance(device, str):
                yield edit.span, device


def _of_siblings(program: Program, call: ast.Call, device: str, moved: set[ast.Call]) -> list[Edit] | None:
    """The edits that take the siblings of a factory along; None where one of them has to stay, or cannot be told."""
    left = [one for one in _siblings(program, call) if one not in moved]
    if not left:
        return []
    if parted(program, {*left, *moved}) & {*left} or any(_is_for_numpy(program, one) for one in left):
        return None
    root = device.partition(".")[0].partition("(")[0]
    if any(root not in scope.bound_at(program, program.names.statement(one)) for one in left):
        return None
    edits = [edit for one in left if (edit := with_device(program, one, device)) is not None]
    return edits if len(edits) == len(left) else None


def _siblings(program: Program, call: ast.Call) -> Iterator[ast.Call]:
    """Calls of the same factory in the same block, whose tensors one statement returns with that of `call`."""
    function, statement = scope.function_around(program, call), program.names.statement(call)
    name = _name(statement, call)
    if function is None or name is None:
        return
    assigned = [one for one in walk(function) if isinstance(one, ast.Assign)]
    own = scope.computed_of(assigned, {name})
    placed = own | program.facts.evidence[function].moved
    for names in _returned(program, function):
        for one in scope.block_of(program, statement) if own & names else ():
            made = one.value if isinstance(one, ast.Assign) else None
            if isinstance(made, ast.Call) and _name(one, made) in names - placed and _is_alike(program, call, made):
                yield made


def _is_alike(program: Program, first: ast.Call, second: ast.Call) -> bool:
    """Whether two calls are of one factory, and neither says where its tensor is."""
    known = program.names.qualified(first.func)
    return known == program.names.qualified(second.func) and all(one.arg != "device" for one in second.keywords)


def _name(statement: ast.stmt, call: ast.Call) -> str | None:
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if value is call:
            return name
    return None


def _returned(program: Program, function: scope.Function) -> Iterator[set[str]]:
    """The names that each `return` gives back as they are, beside others."""
    for one in walk(function):
        if not isinstance(one, ast.Return) or scope.function_around(program, one) is not function:
            continue
        match one.value:
            case ast.Tuple(elts=parts) | ast.List(elts=parts) | ast.Dict(values=parts):
                yield {part.id for part in parts if isinstance(part, ast.Name)}


def _is_for_numpy(program: Program, call: ast.Call) -> bool:
    """Whether the function gives the tensor to numpy as it is."""
    function = scope.function_around(program, call)
    name = _name(program.names.statement(call), call)
    return function is not None and any(
        one.id == name and (program.names.qualified(outer.func) or "").startswith("numpy.")
        for outer in walk(function)
        if isinstance(outer, ast.Call)
        for one in scope.given_to(outer)
        if isinstance(one, ast.Name)
    )
