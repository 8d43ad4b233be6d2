"""Elements of a batch that are lists: by the collate functions in sight, and by the model that goes through them."""

import ast
import re
from collections.abc import Iterator

from devfix_codemods import scope
from devfix_codemods.flow.evidence import dotted, last_name
from devfix_codemods.flow.facts import Meeting
from devfix_codemods.flow.tree import walk
from devfix_codemods.flow.units import Unit
from devfix_codemods.program import Program
from devfix_codemods.rules._texts import parameters_of

_COLLATES = re.compile(r"(?i)collat")
_OF_DATA = re.compile(r"(?i)collat|data|load")
_LIST_MAKERS = frozenset({"list", "tuple", "sorted", "len"})


def is_collated_to_list(program: Program, meeting: Meeting, birth: ast.AST) -> bool:
    """Whether a collate function, here or where this file and its callers have their data from, gives a list there.

    Or an array of numpy: neither has a `.to`.
    """
    return _are_blocks(program, birth) or any(
        _is_list(function, part) for function, part in _collated(program, meeting, birth)
    )


def may_be_collated_to_none(program: Program, meeting: Meeting, birth: ast.AST) -> bool:
    """Whether such a collate function gives None there, at least for some data."""
    return any(_may_be_none(function, part) for function, part in _collated(program, meeting, birth))


def _are_blocks(program: Program, birth: ast.AST) -> bool:
    """The last of what a loader of DGL yields: a list of the blocks that the layers of a model go through.

    https://docs.dgl.ai/api/python/dgl.dataloading.html: `input_nodes, output_nodes, blocks`, and graphs between these.
    """
    around = program.names.parent(birth)
    return (
        isinstance(around, ast.Tuple)
        and len(around.elts) >= _WITH_BLOCKS
        and around.elts[-1] is birth
        and "dgl" in scope.packages(program)
    )


_WITH_BLOCKS = 3


def _collated(program: Program, meeting: Meeting, birth: ast.AST) -> Iterator[tuple[scope.Function, ast.expr]]:
    """What each collate function in sight gives as the element."""
    batch = meeting.misplaced.value.batch
    if batch is None or len(batch.path) != 1:
        return
    around = program.names.parent(birth)
    count = len(around.elts) if isinstance(around, (ast.Tuple, ast.List)) else None
    for unit in _units(program):
        for function in _collate_functions(unit):
            yield from ((function, part) for part in _parts(function, batch.path[0], count))


def goes_through(program: Program, meeting: Meeting, name: str) -> bool:
    """Whether the model is seen to loop over the parameter that gets `name`."""
    classes = [one.value.definition for one in meeting.operands if one.role == "module"]
    for one in classes:
        home = program.project.home_of(one) if program.project is not None and one is not None else program.unit
        if not isinstance(one, ast.ClassDef) or home is None or not isinstance(meeting.node, ast.Call):
            continue
        forward = home.classes.methods(one).get("forward")
        evidence = home.evidence.get(forward) if forward is not None else None
        if forward is not None and evidence is not None:
            return not evidence.iterated.isdisjoint(parameters_of(forward, meeting.node, name))
    return False


def _units(program: Program) -> Iterator[Unit]:
    """This file, those that import it, and those from which either has what is called after data."""
    yield program.unit
    if program.project is None:
        return
    seen = {program.unit.path}
    for unit in (program.unit, *program.project.importing(program.unit)):
        imported = (one.imported for each in unit.top_level.values() for one in each)
        for name in (one for one in imported if one is not None and _OF_DATA.search(one)):
            found = program.project.lookup(unit, name)
            if found is not None and found.unit.path not in seen:
                seen.add(found.unit.path)
                yield found.unit
        if unit.path not in seen:
            seen.add(unit.path)
            yield unit


def _collate_functions(unit: Unit) -> Iterator[scope.Function]:
    """What is called so, the call of a class that is, and what a loader gets as its `collate_fn`."""
    given = {last_name(key.value) for call in unit.names.calls for key in call.keywords if key.arg == "collate_fn"}
    for one in unit.evidence:
        if not isinstance(one, scope.Function):
            continue
        owner = unit.owners.get(one)
        called = owner is not None and one.name == "__call__" and _COLLATES.search(owner.name)
        if called or one.name in given or _COLLATES.search(one.name):
            yield one


def _parts(function: scope.Function, key: int | str, count: int | None) -> Iterator[ast.expr]:
    """What the function returns under `key`, in a batch of `count` parts."""
    for one in walk(function):
        match one:
            case ast.Return(value=ast.Tuple(elts=parts) | ast.List(elts=parts)) if isinstance(key, int):
                if len(parts) == count or (count is None and key < len(parts)):
                    yield parts[key]
            case ast.Return(value=ast.Dict(keys=keys, values=values)):
                yield from (value for name, value in zip(keys, values) if _is_constant(name, key))


def _is_constant(node: ast.expr | None, value: int | str) -> bool:
    return isinstance(node, ast.Constant) and node.value == value


def _is_list(function: scope.Function, value: ast.expr | None) -> bool:
    """Whether an expression surely gives a list, a tuple or an array, which has no `.to`, or a number."""
    match value:
        case ast.Call(func=ast.Attribute(value=ast.Name(id="np" | "numpy"))):
            return True
        case ast.Call(func=ast.Name(id=maker)):
            return maker in _LIST_MAKERS
        case ast.Name(id=name):
            given = list(_given(function, name))
            return bool(given) and all(not isinstance(one, ast.Name) and _is_list(function, one) for one in given)
    return isinstance(value, (ast.List, ast.Tuple, ast.ListComp))


def _may_be_none(function: scope.Function, value: ast.expr | None) -> bool:
    match value:
        case ast.Name(id=name):
            return any(not isinstance(one, ast.Name) and _may_be_none(function, one) for one in _given(function, name))
        case ast.IfExp(body=body, orelse=other):
            return any(isinstance(one, ast.Constant) and one.value is None for one in (body, other))
    return isinstance(value, ast.Constant) and value.value is None


def _given(function: scope.Function, name: str) -> Iterator[ast.expr | None]:
    """What `name` is bound to in the function, each time; None where that cannot be told."""
    for one in walk(function):
        if isinstance(one, ast.AugAssign) or not isinstance(one, ast.stmt) or isinstance(one, scope.Function):
            continue
        match one:
            case ast.Assign(targets=[target], value=value) | ast.AnnAssign(target=target, value=value):
                if name in scope.stored(target):
                    yield _part(target, value, name)
            case ast.For(target=target) if name in scope.stored(target):
                yield None


def _part(target: ast.expr, value: ast.expr | None, name: str) -> ast.expr | None:
    """What of `value` a target gives to `name`: itself, or a part."""
    match target, value:
        case ast.Name(), _:
            return value
        case ast.Tuple(elts=names), ast.Tuple(elts=values) | ast.List(elts=values) if len(names) == len(values):
            found = (part for one, part in zip(names, values) if isinstance(one, ast.Name) and one.id == name)
            return next(found, None)
        case ast.Tuple(), ast.Call() if _turns_about(value):
            return ast.Tuple(elts=[])
    return None


def _turns_about(value: ast.Call) -> bool:
    """`zip(*batch)`, `list(zip(*batch))`, `map(list, zip(*batch))`: columns, each a tuple or a list."""
    match value:
        case ast.Call(func=ast.Name(id="list" | "tuple"), args=[ast.Call() as inner]):
            return _turns_about(inner)
        case ast.Call(func=ast.Name(id="map"), args=[ast.Name(id="list" | "tuple"), ast.Call() as inner]):
            return _turns_about(inner)
    return dotted(value.func) == "zip"
