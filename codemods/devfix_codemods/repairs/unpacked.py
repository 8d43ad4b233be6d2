"""Cuts of batches whose parts a call gets: `model(**batch)`, `model(*batch)`."""

import ast
from collections.abc import Iterator

from devfix_codemods.catalogue import Kind
from devfix_codemods.edits.operations import Edit, InsertStatement, ReplaceExpression
from devfix_codemods.ir import Function, Node, Op
from devfix_codemods.placement.analysis import Analysis
from devfix_codemods.placement.arguments import is_none
from devfix_codemods.placement.calls import method
from devfix_codemods.placement.search import Conflict
from devfix_codemods.repairs.cut import Cut, name_at
from devfix_codemods.repairs.devices import suffixes
from devfix_codemods.repairs.points import before
from devfix_codemods.repairs.suffix import Suffix
from devfix_codemods.source import Source


def unpacked(analysis: Analysis, source: Source, conflict: Conflict) -> Iterator[Cut]:
    """The move of all entries of what a function gives, in front of the call that unpacks it."""
    call = next((one for one in conflict.operations if one.op is Op.CALL), None)
    mapping = _unpacked_by(call) if call is not None else None
    point = before(call) if call is not None else None
    if call is None or mapping is None or point is None or mapping not in {one.node for one in conflict.path}:
        return
    if call.function is conflict.birth.node.function:
        return  # each entry is at hand
    move = _move_of(analysis, mapping)
    if move is None and not _holds_tensors(analysis, conflict):
        return
    for suffix in suffixes(analysis, conflict, point):
        cuts = _itself(source, mapping, call, suffix, move) if move else rebuilt(source, mapping, call, suffix, "**")
        yield from cuts


def rebuilt(source: Source, batch: Node, call: Node, suffix: Suffix, star: str, *, sure: bool = True) -> Iterator[Cut]:
    """`batch = {k: v.to(device) for k, v in batch.items()}` in front of the call that unpacks it; of `*`, a list."""
    name = name_at(batch, call)
    moved = _moved if star == "**" else _moved_row
    if name is not None and call.statement is not None:
        code = f"{name} = {moved(name, suffix)}"
        edit: Edit = InsertStatement(source.span(call.statement), "before", where_told(suffix, code))
        yield Cut((edit, *suffix.edits), f"Move the items of `{name}`", sure=sure, harmless=suffix.follows)
    elif suffix.test is None and isinstance(batch.syntax, ast.expr) and batch.statement is call.statement:
        edit = ReplaceExpression(source.span(batch.syntax), moved("__node__", suffix))
        yield Cut((edit, *suffix.edits), "Move its items", sure=sure, harmless=suffix.follows)


def _moved(mapping: str, suffix: Suffix) -> str:
    key, value = suffix.beside("k"), suffix.beside("v")
    return f"{{{key}: {value}{suffix.text} for {key}, {value} in {mapping}.items()}}"


def _moved_row(row: str, suffix: Suffix) -> str:
    one = suffix.beside("one")
    return f"[{one}{suffix.text} for {one} in {row}]"


def where_told(suffix: Suffix, code: str) -> str:
    """A statement under the condition under which a value is moved, if there is one."""
    return code if suffix.test is None else f"if {suffix.test}:\n    {code}"


def _itself(source: Source, mapping: Node, call: Node, suffix: Suffix, move: Function) -> Iterator[Cut]:
    """`batch = batch.to(device)`, of an object that has such a method; `batch.to(device)` where that gives nothing."""
    name = name_at(mapping, call)
    gives = any(not is_none(value) for value, _ in move.returns)
    if gives and suffix.test is None and isinstance(mapping.syntax, ast.Call):
        edit: Edit = ReplaceExpression(source.span(mapping.syntax), f"__node__{suffix.text}")
        yield Cut((edit, *suffix.edits), f"Move it: `{suffix.text}`", harmless=suffix.follows)
    elif name is not None and call.statement is not None:
        code = suffix.statement(name) if gives else where_told(suffix, f"{name}{suffix.text}")
        edit = InsertStatement(source.span(call.statement), "before", code)
        yield Cut((edit, *suffix.edits), f"Move `{name}`", harmless=suffix.follows)


def _unpacked_by(call: Node) -> Node | None:
    """What a call gets as `**batch`, and nothing else in that way."""
    found = [one for one, word in zip(call.args[1:], call.extras) if word == "**"]
    return found[0] if len(found) == 1 else None


def _move_of(analysis: Analysis, mapping: Node) -> Function | None:
    """The `.to` of a value that is an object of a class of this file."""
    owner = analysis.kinds.class_of(mapping)
    return method(owner, "to") if owner is not None else None


def _holds_tensors(analysis: Analysis, conflict: Conflict) -> bool:
    """Whether a path leads through a display all of whose entries, also later ones, are tensors, which have `.to`."""
    nodes = {step.node for step in conflict.path}
    displays = [one for one in nodes if one.op is Op.MAPPING]
    stores = (one for function in analysis.module.functions for one in function.stores if not one.is_attribute)
    entries = [*(one for each in displays for one in each.args), *(one.value for one in stores if one.base in nodes)]
    return bool(displays) and all(analysis.kinds.of(one) is Kind.TENSOR for one in entries)
