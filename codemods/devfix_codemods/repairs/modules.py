"""Cuts of modules: where they are made, behind branches that make them, or behind the device that they wait for."""

import ast
import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import takewhile

from devfix_codemods.catalogue import Kind
from devfix_codemods.edits.operations import AddImport, InsertStatement, ReplaceExpression
from devfix_codemods.ir import Node, Op
from devfix_codemods.placement.analysis import Analysis
from devfix_codemods.placement.arguments import is_optional, shows
from devfix_codemods.placement.graph import Birth, Turn
from devfix_codemods.placement.naming import sounds_like_class
from devfix_codemods.placement.search import Conflict
from devfix_codemods.repairs.cut import Cut, as_of, behind_making, called
from devfix_codemods.repairs.declared_devices import CUDA_OR_HOST
from devfix_codemods.repairs.devices import suffixes
from devfix_codemods.repairs.points import Point, after, before, rest_of_block
from devfix_codemods.repairs.sibling_moves import rank
from devfix_codemods.repairs.siblings import assigned
from devfix_codemods.repairs.suffix import Suffix
from devfix_codemods.source import Source

MOST_CALLS = 2
"""At how many calls of a function, each of which is repaired by itself, what it gives is moved."""


def made_module(analysis: Analysis, source: Source, conflict: Conflict) -> Iterator[Cut]:
    """The cuts of a module that is made by a call of its own, the best first."""
    if conflict.birth.node.op is Op.FIELD:
        if conflict.birth.node in analysis.births.objects.moved_as:
            yield from _in_constructor(analysis, source, conflict)
        return
    yield from _behind_choice(analysis, source, conflict)
    made = list(_where_made(analysis, source, conflict))
    yield from (one for one in made if " if " not in one.title)
    yield from _where_device_is_known(analysis, source, conflict)
    yield from made
    yield from _wrapper(analysis, source, conflict)


def where_unpacked(analysis: Analysis, source: Source, conflict: Conflict) -> Iterator[Cut]:
    """`net, head = make(options)`, and behind it `net.to(device)`: the maker has no name for the device.

    Not where another call may have given the same, and would be left.
    """
    for at, step in enumerate(conflict.path):
        if step.edge.site < 0 and step.edge.turn is Turn.UP:
            joined = any(one.node.op is Op.PHI for one in conflict.path[at:])
            calls = analysis.kinds.calls_of(conflict.birth.node.function)
            if joined or len(calls) > MOST_CALLS:
                return
            if step.node.op is Op.ITEM and isinstance(step.node.syntax, ast.Name):
                there = as_of(conflict, at)
                found = _before_use(analysis, source, there, step.node, _following(step.node))
                yield from (replace(one, at_call=True) for one in found)
            return


def where_given(analysis: Analysis, source: Source, conflict: Conflict) -> Iterator[Cut]:
    """`net.to(device)` in a function that is given the module, and has a name for the device where the maker has none:
    the one that computes with it, or one that keeps it in an attribute for that.

    Each caller's module is moved there, as each meets what is on the device.
    """
    operation = conflict.meeting.node if conflict.meeting is not None else None
    itself = [*takewhile(lambda step: step.edge.turn is not Turn.MEET, conflict.path)]  # then comes what it gives
    given = [step.node for step in itself if step.node.op is Op.PARAM and step.edge.turn is Turn.UP]
    computing = (one for one in given if operation is not None and one.function is operation.function)
    node = next(computing, None) or next(filter(_is_kept, given), None)
    if node is None or not isinstance(node.function.syntax, ast.FunctionDef | ast.AsyncFunctionDef):
        return
    if analysis.kinds.of(node) is Kind.TENSOR:
        return  # an input of the module, by which the path goes
    sure = analysis.kinds.is_given(node) and not analysis.kinds.is_handed_on(node.function)
    found = _before_use(analysis, source, conflict, node, node.function.syntax.body)
    yield from (replace(one, sure=sure) for one in found)


def _is_kept(parameter: Node) -> bool:
    """Whether a function keeps what it gets in an attribute of its object."""
    function = parameter.function
    stores = (one for one in function.stores if one.is_attribute and one.base is function.self_node)
    return any(one.value is parameter for one in stores)


def _behind_choice(analysis: Analysis, source: Source, conflict: Conflict) -> Iterator[Cut]:
    """`net.to(device)` behind the branches, each of which makes the module, as soon as there is a device."""
    node = conflict.birth.node
    match node.statement:
        case ast.Assign(targets=[ast.Name(id=name)]):
            pass
        case _:
            return
    for choice in _around(node):
        made = node.function.after.get(choice, {}).get(name)
        if made is not None and made.op is Op.PHI and _are_modules(analysis, made):
            yield from _before_use(analysis, source, conflict, made, rest_of_block(node.function, choice))
            return


def _around(node: Node) -> Iterator[ast.stmt]:
    """The statement of a value, and those around it whose branches bind names, the inner ones first; an `elif` is part
    of its `if`."""
    inner = node.statement
    around = [*ast.walk(node.function.syntax)] if inner is not None else []
    elifs = {id(one.orelse[0]) for one in around if isinstance(one, ast.If) and len(one.orelse) == 1}
    choices = [one for one in reversed(around) if isinstance(one, _CHOICES) and one is not inner]
    for one in (inner, *choices):
        is_elif = isinstance(one, ast.If) and id(one) in elifs
        if isinstance(one, ast.stmt) and not is_elif and any(each is inner for each in ast.walk(one)):
            yield one


def _are_modules(analysis: Analysis, choice: Node) -> bool:
    """Whether a value is one of several modules, all of which are made here and not moved."""
    sources = analysis.graph.sources
    roots = analysis.births.roots(choice)
    if any(analysis.births.moves_of(root) for root in roots):
        return False  # one is moved where it is made, and so the others
    return len(roots) > 1 and all(any(one.birth is Birth.MODULE for one in sources.get(root, ())) for root in roots)


def _wrapper(analysis: Analysis, source: Source, conflict: Conflict) -> Iterator[Cut]:
    """`DataParallel(net).to(…)`, where nothing says where to but the wrapper, which wants CUDA where that is.

    Without CUDA the wrapper hands on what it gets, so the program runs there too: a bare `.cuda()` would end that.
    """
    end, node = conflict.end.node, conflict.birth.node
    if "data-parallel" not in conflict.end.links or not isinstance(end.syntax, ast.expr):
        return
    place = end if end.guard <= node.guard and end.function is node.function else node
    if isinstance(place.syntax, ast.expr):
        text = f".to({CUDA_OR_HOST})"
        edit = ReplaceExpression(source.span(place.syntax), f"__node__{text}")
        yield Cut((edit, AddImport("torch")), f"Move the module: `{text}`")


def _as_object(analysis: Analysis, source: Source, conflict: Conflict) -> Iterator[Cut]:
    """`net = Net.load(path)`, and behind it `net.to(device)`, of a class that is not read and that the program moves in
    a statement elsewhere: its `to` may give nothing."""
    node, made = conflict.birth.node, conflict.birth.node.statement
    by_method = node.op is Op.CALL and node.args[0].op is Op.ATTR and sounds_like_class(node.args[0].args[0])
    in_statement = conflict.end.node.op is Op.AFTER and analysis.kinds.object_class(node) is None
    point = after(node) if by_method and in_statement else None
    if point is None or not isinstance(made, ast.Assign) or made.value is not node.syntax:
        return
    name = called(analysis, node, point)
    for suffix in _suffixes(analysis, conflict, point) if name is not None else ():
        if suffix.test is None:
            edit = InsertStatement(source.span(made), "after", f"{name}{suffix.text}")
            yield Cut((edit, *suffix.edits), suffix.title(str(name)))


def _where_made(analysis: Analysis, source: Source, conflict: Conflict) -> Iterator[Cut]:
    yield from _as_object(analysis, source, conflict)
    node = conflict.birth.node
    point = before(node)
    if not isinstance(node.syntax, ast.expr) or point is None:
        return
    for suffix in _suffixes(analysis, conflict, point):
        if suffix.test is not None:
            yield from behind_making(source, conflict, suffix)
            continue
        edit = ReplaceExpression(source.span(node.syntax), f"__node__{suffix.text}")
        yield Cut((edit, *suffix.edits), f"Move the module: `{suffix.text}`", harmless=suffix.follows)


def beside_module(analysis: Analysis, source: Source, conflict: Conflict) -> Iterator[Cut]:
    """`D.to(device)` behind `G.to(device)`, under the same condition."""
    move, node = conflict.end.node, conflict.birth.node
    if move.op is not Op.AFTER or move.function is not node.function or move.statement is None:
        return
    point = after(move)
    if point is None or not isinstance(move.statement, ast.Expr):
        return
    name = called(analysis, node, point)
    itself = node in analysis.births.roots(move.args[0])
    if name is None or itself or _is_used_before(node, move, analysis):
        return
    for suffix in _suffixes(analysis, conflict, point):
        code = f"{name}{suffix.text}" if suffix.test is None else f"if {suffix.test}:\n    {name}{suffix.text}"
        edit = InsertStatement(source.span(move.statement), "after", code)
        yield Cut((edit, *suffix.edits), suffix.title(name, assigned(move.statement)))
        return


def _kept_as(value: Node) -> str | None:
    """The attribute of the object of a method that keeps a value."""
    stores = (one for one in value.function.stores if one.value is value and one.base is value.function.self_node)
    return next((str(one.key) for one in stores if one.is_attribute), None)


def beside_kept(analysis: Analysis, source: Source, conflict: Conflict) -> Iterator[Cut]:
    """`self.actor = self.actor.to(device)` behind the same of `self.critic`, in the method that moves what is kept."""
    node = conflict.birth.node
    kept = str(node.extra) if node.op is Op.FIELD else _kept_as(node)
    if kept is None:
        return
    for move in (edge.other for edge in analysis.graph.edges[node] if edge.link.startswith("modules-")):
        statement, itself = move.statement, move.function.self_node
        moved = _moved_attribute(move)
        if moved is None or itself is None or not isinstance(statement, ast.Assign | ast.Expr):
            continue
        span = source.span(statement)
        code = re.sub(rf"\b{itself.extra}\.{moved}\b", f"{itself.extra}.{kept}", source.segment(span))
        owner = move.function.owner
        same = owner is node.function.owner or (owner is not None and owner.field_of(kept) is node)
        if same and code != source.segment(span) and not _is_before_made(node, move):
            yield Cut((InsertStatement(span, "after", code),), f"Move `{itself.extra}.{kept}` as well")


def _moved_attribute(move: Node) -> str | None:
    """`critic` of `self.critic.to(device)`; None for what is made, or kept elsewhere."""
    itself = move.function.self_node
    call = move.syntax if move.op is Op.CALL else move.args[0].syntax
    match call:
        case ast.Call(func=ast.Attribute(value=ast.Attribute(value=ast.Name(id=name), attr=attribute))):
            return attribute if itself is not None and name == itself.extra else None
        case ast.Attribute(value=ast.Name(id=name), attr=attribute):
            return attribute if itself is not None and name == itself.extra else None
    return None


def _is_before_made(node: Node, move: Node) -> bool:
    """Whether a sibling is moved before the module is made."""
    return move.function is node.function and node.op is not Op.FIELD and move.index < node.index


def _is_used_before(node: Node, move: Node, analysis: Analysis) -> bool:
    """Whether a module is called before another one is moved, where it would still be on the host."""
    roots = analysis.births.roots
    return any(
        one.op is Op.CALL and one.index < move.index and node in roots(one.args[0]) for one in node.function.nodes
    )


def _suffixes(analysis: Analysis, conflict: Conflict, point: Point) -> Iterator[Suffix]:
    return (one.of_module for one in suffixes(analysis, conflict, point))


_CHOICES = (ast.If, ast.Match, ast.Try)
"""Statements whose branches bind names; `net = A() if deep else B()` is one by itself."""

# As soon as there is a device


def _where_device_is_known(analysis: Analysis, source: Source, conflict: Conflict) -> Iterator[Cut]:
    """`net.to(device)` behind the statement that gives `device` its value, before anything uses the module."""
    node = conflict.birth.node
    yield from _before_use(analysis, source, conflict, node, _following(node))


def _before_use(
    analysis: Analysis, source: Source, conflict: Conflict, node: Node, block: list[ast.stmt]
) -> Iterator[Cut]:
    """The move behind the first statement of a block behind which the device has a name, if none uses the module."""
    for statement in block:
        environment = node.function.after.get(statement)
        if environment is None or _uses(statement, node, analysis):
            return
        point = Point(environment, node.function.guards.get(statement, node.guard), node)
        name = called(analysis, node, point)
        if name is None:
            continue
        for suffix in (one for one in _suffixes(analysis, conflict, point) if " if " not in one.text):
            written = _statement(node, name, suffix)
            order = rank(node) if node.op is Op.ITEM else ()
            edit = InsertStatement(source.span(statement), "after", written, order)
            yield Cut((edit, *suffix.edits), f"Move `{name}`: `{suffix.text}`")
            return


def _following(node: Node) -> list[ast.stmt]:
    """The statement that makes, or keeps, a module, and those behind it in its block."""
    first = node.statement
    if node.op is Op.PARAM:
        first = next((one.statement for one in node.function.stores if one.value is node), None)
    return rest_of_block(node.function, first)


def _uses(statement: ast.stmt, module: Node, analysis: Analysis) -> bool:
    """Whether a module is called, or given to something, in a statement."""
    inside = set(ast.walk(statement))
    roots = analysis.births.roots
    return any(
        node.op is Op.CALL
        and node.syntax in inside
        and any(module in roots(one) for one in node.args)
        and node is not module
        and not shows(node)
        for node in module.function.nodes
    )


def _statement(node: Node, name: str, suffix: Suffix) -> str:
    tests = [suffix.test] if suffix.test is not None else []
    if is_optional(node):
        tests.insert(0, f"{name} is not None")
    move = f"{name}{suffix.text}"
    return f"if {' and '.join(tests)}:\n    {move}" if tests else move


# A class


def _in_constructor(analysis: Analysis, source: Source, conflict: Conflict) -> Iterator[Cut]:
    """`self.to(device)`, the last statement of the constructor of a class."""
    owner = next(one for one in analysis.module.classes if one.syntax is conflict.birth.node.syntax)
    made = owner.methods.get("__init__")
    if made is None or made.self_node is None or not isinstance(made.syntax, ast.FunctionDef):
        return
    last = made.syntax.body[-1]
    environment = made.after.get(last)
    if environment is None:
        return
    point = Point(environment, made.guards.get(last, frozenset()), made.self_node)
    relative = analysis.births.objects.moved_as[conflict.birth.node]
    as_others = replace(conflict, end=analysis.graph.sources[relative][0], path=())
    for suffix in _suffixes(analysis, as_others, point):
        edit = InsertStatement(
            source.span(last), "after", _statement(conflict.birth.node, str(made.self_node.extra), suffix)
        )
        yield Cut((edit,), "Move the module at the end of its constructor")
        return
