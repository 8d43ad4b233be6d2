"""What numpy and its like read: copies on the host for them, and values that they need there."""

import ast
from collections.abc import Iterator

from devfix_codemods.catalogue import Effect, Kind, canonical, effect
from devfix_codemods.edits.operations import ReplaceExpression
from devfix_codemods.edits.quotes import quoted
from devfix_codemods.ir import Node, Op
from devfix_codemods.ir.keys import name
from devfix_codemods.placement.analysis import Analysis
from devfix_codemods.placement.arguments import loaded_to
from devfix_codemods.placement.graph import Birth
from devfix_codemods.placement.places import Where
from devfix_codemods.placement.search import Conflict
from devfix_codemods.placement.views import chain
from devfix_codemods.repairs.cut import Cut, with_keyword
from devfix_codemods.source import Source


def copies(analysis: Analysis, source: Source, conflict: Conflict) -> Iterator[Cut]:
    """The copy of what a reader gets, wherever it gets that."""
    node = conflict.birth.node
    reader = conflict.birth.by
    given = [*map(_plain, _operands(reader, node))] if reader is not None else []
    if not given:
        return
    if node.op is Op.COMPREHENSION or analysis.kinds.of(node) is Kind.SEQUENCE:
        yield _copied(source, given, "[one.detach().cpu() for one in __node__]", "Copy what it holds to the host first")
    elif isinstance(given[0], ast.Call) and given[0] is node.syntax and _is_load(node):
        edit = with_keyword(source, given[0], quoted(source, "cpu"), "map_location")
        yield Cut((edit,), "Load it to the host", harmless=True, copies=True)
    else:
        yield _copied(source, given, "__node__.cpu()", "Copy it to the host first")


def _copied(source: Source, given: list[ast.expr], code: str, title: str) -> Cut:
    return Cut(tuple(ReplaceExpression(source.span(one), code) for one in given), title, harmless=True, copies=True)


def _plain(syntax: ast.expr) -> ast.expr:
    """`x` of `-x` and of `*x`."""
    while isinstance(syntax, ast.UnaryOp | ast.Starred):
        syntax = syntax.operand if isinstance(syntax, ast.UnaryOp) else syntax.value
    return syntax


def _is_load(node: Node) -> bool:
    """Whether a call loads a file to wherever that was saved from."""
    return effect(canonical(name(node.args[0]) or "")) is Effect.LOAD and loaded_to(node) is None


def _operands(reader: Node, node: Node) -> list[ast.expr]:
    """The expressions of a value inside of the call that reads it, or of what it is an index into."""
    call = reader.syntax
    if isinstance(call, ast.Subscript):
        return [*_inside(call.slice, reader.args[1], node)]
    if not isinstance(call, ast.Call):
        return []
    if isinstance(call.func, ast.Attribute) and call.func.attr == "numpy" and reader.args[0].args[0] is node:
        return [call.func.value]
    given = [*call.args, *(one.value for one in call.keywords)]
    return [each for one, value in zip(given, reader.args[1:]) for each in _inside(one, value, node)]


def _inside(syntax: ast.expr, value: Node, node: Node) -> Iterator[ast.expr]:
    """The expressions of `node` in that of `value`, which it is, or in whose display it stands."""
    if value is node:
        yield syntax
        return
    held: list[ast.expr] = []
    if isinstance(syntax, ast.List | ast.Tuple | ast.Set):
        held = syntax.elts
    elif isinstance(syntax, ast.Dict):
        held = syntax.values
    for one, each in zip(held, value.args):
        yield from _inside(one, each, node)


def wanted_on_host(analysis: Analysis, conflict: Conflict) -> bool:
    """Whether the moved value would meet what needs it on the host: then the cut breaks what works.

    An index there suits what is indexed, wherever that is. What numpy reads of a result with what the code puts on a
    device says nothing.
    """
    put = conflict.end.place.where not in {Where.CALLER, Where.MODULE}
    meetings = {*conflict.operations} if put else set()
    read = conflict.birth.birth is not Birth.READER and is_read(analysis, conflict.birth.node)
    return (
        read
        or any(one.birth is Birth.CHOSEN_HOST for one in analysis.graph.sources.get(conflict.birth.node, ()))
        or any(
            one.end.birth in {Birth.READER, Birth.CHOSEN_HOST} and one.confidence >= 0.5 * conflict.confidence
            for one in analysis.ends(conflict.birth)
            if not any(step.edge.link.startswith("index") for step in one.path)
            and not (one.end.birth is Birth.READER and any(step.node in meetings for step in one.path))
        )
    )


def is_read(analysis: Analysis, node: Node) -> bool:
    """Whether numpy reads the value itself, or a view of it: `y.data.numpy()`."""
    return any(
        one.function is node.function
        and any(source.birth is Birth.READER for source in sources)
        and any(each is node for each in chain(one))
        for one, sources in analysis.graph.sources.items()
    )
