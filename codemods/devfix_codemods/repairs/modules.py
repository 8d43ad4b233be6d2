"""Cuts of modules: where they are made, behind branches that make them, or behind the device that they wait for."""

import ast
from collections.abc import Iterator

from devfix_codemods.edits.operations import InsertStatement, ReplaceExpression
from devfix_codemods.ir import Node, Op
from devfix_codemods.placement.analysis import Analysis
from devfix_codemods.placement.graph import Birth
from devfix_codemods.placement.search import Conflict
from devfix_codemods.repairs.cut import Cut, behind_making, called
from devfix_codemods.repairs.devices import suffixes
from devfix_codemods.repairs.points import Point, after, before
from devfix_codemods.source import Source


def made_module(analysis: Analysis, source: Source, conflict: Conflict) -> Iterator[Cut]:
    """The cuts of a module that is made by a call of its own, the best first."""
    yield from _behind_choice(analysis, source, conflict)
    yield from _where_made(analysis, source, conflict)
    yield from _behind_device(analysis, source, conflict)
    yield from _wrapper(analysis, source, conflict)


def _behind_choice(analysis: Analysis, source: Source, conflict: Conflict) -> Iterator[Cut]:
    """`net.to(device)` behind the branches, each of which makes the module."""
    node = conflict.birth.node
    match node.statement:
        case ast.Assign(targets=[ast.Name(id=name)]):
            pass
        case _:
            return
    for choice in ast.walk(node.function.syntax):
        if not isinstance(choice, ast.If) or all(one is not node.statement for one in ast.walk(choice)):
            continue
        point = Point(node.function.after.get(choice, {}), node.function.guards.get(choice, node.guard), node)
        made = point.environment.get(name)
        if made is None or made.op is not Op.PHI or not _are_modules(analysis, made):
            continue
        for suffix in suffixes(analysis, conflict, point):
            if suffix.test is None:
                edit = InsertStatement(source.span(choice), "after", f"{name}{suffix.text}")
                yield Cut((edit,), f"Move `{name}`: `{suffix.text}`")
        return


def _are_modules(analysis: Analysis, choice: Node) -> bool:
    """Whether a value is one of several modules, all of which are made here and not moved."""
    sources = analysis.graph.sources
    roots = analysis.constraints.births.roots(choice)
    return len(roots) > 1 and all(any(one.birth is Birth.MODULE for one in sources.get(root, ())) for root in roots)


def _behind_device(analysis: Analysis, source: Source, conflict: Conflict) -> Iterator[Cut]:
    """`net.to(device)`, behind the statement that declares the device, where that comes after the module."""
    node = conflict.birth.node
    function = node.function
    for statement, environment in function.after.items():
        declares = isinstance(statement, ast.Assign) and "device" in ast.unparse(statement.targets[0])
        if not declares or statement.lineno < node.line or function.guards.get(statement) != node.guard:
            continue
        point = Point(environment, node.guard, node)
        name = called(analysis, node, point)
        for suffix in suffixes(analysis, conflict, point) if name is not None else ():
            if suffix.test is None:
                edit = InsertStatement(source.span(statement), "after", f"{name}{suffix.text}")
                yield Cut((edit,), f"Move `{name}`: `{suffix.text}`")


def _wrapper(analysis: Analysis, source: Source, conflict: Conflict) -> Iterator[Cut]:
    """`DataParallel(net).cuda()`, where nothing says where to but the wrapper, which wants CUDA."""
    end, node = conflict.end.node, conflict.birth.node
    if "data-parallel" not in conflict.end.links or not isinstance(end.syntax, ast.expr):
        return
    place = end if end.guard <= node.guard and end.function is node.function else node
    if isinstance(place.syntax, ast.expr):
        edit = ReplaceExpression(source.span(place.syntax), "__node__.cuda()")
        yield Cut((edit,), "Move the module: `.cuda()`")


def _where_made(analysis: Analysis, source: Source, conflict: Conflict) -> Iterator[Cut]:
    node = conflict.birth.node
    point = before(node)
    if not isinstance(node.syntax, ast.expr) or point is None:
        return
    for suffix in suffixes(analysis, conflict, point):
        text = suffix.text.replace(", non_blocking=True", "")
        if suffix.test is not None:
            yield from behind_making(source, conflict, suffix)
            continue
        edit = ReplaceExpression(source.span(node.syntax), f"__node__{text}")
        yield Cut((edit,), f"Move the module: `{text}`")


def beside_module(analysis: Analysis, source: Source, conflict: Conflict) -> Iterator[Cut]:
    """`D.to(device)` behind `G.to(device)`, under the same condition."""
    move, node = conflict.end.node, conflict.birth.node
    if move.op is not Op.AFTER or move.function is not node.function or move.statement is None:
        return
    point = after(move)
    if point is None or not isinstance(move.statement, ast.Expr):
        return
    name = called(analysis, node, point)
    if name is None:
        return
    for suffix in suffixes(analysis, conflict, point):
        edit = InsertStatement(source.span(move.statement), "after", f"{name}{suffix.text}")
        yield Cut((edit,), f"Move `{name}` beside it")
        return
