"""Tables that stay on the host: an index from elsewhere is copied there."""

from collections.abc import Iterator

from devfix_codemods.edits.operations import ReplaceExpression
from devfix_codemods.ir import Node
from devfix_codemods.placement.analysis import Analysis
from devfix_codemods.placement.graph import Turn
from devfix_codemods.placement.search import Conflict
from devfix_codemods.repairs.cut import Cut, operand_syntax
from devfix_codemods.source import Source

MOST_VALUES = 20


def stays(analysis: Analysis, conflict: Conflict) -> bool:
    """Whether the program moves the rows that it picks from a table, which so is on the host on purpose."""
    picked = _picked(conflict)
    if picked is None:
        return False
    seen, pending = {picked}, [picked]
    for one in pending:  # grows
        if analysis.births.moves_of(one):
            return True
        for edge in analysis.graph.edges.get(one, ()):
            on = edge.turn is Turn.UP or (edge.turn is Turn.SAME and edge.other.index > one.index)
            if on and edge.other not in seen and len(seen) < MOST_VALUES:
                seen.add(edge.other)
                pending.append(edge.other)
    return False


def index_copied(source: Source, conflict: Conflict) -> Iterator[Cut]:
    """`table[index.cpu()]`"""
    picked, meeting = _picked(conflict), conflict.meeting
    syntax = operand_syntax(meeting.node, picked) if picked is not None and meeting is not None else None
    if syntax is not None:
        edit = ReplaceExpression(source.span(syntax), "__node__.cpu()")
        yield Cut((edit,), "Copy the index to the host", harmless=True, copies=True)


def _picked(conflict: Conflict) -> Node | None:
    """What is picked from the table by an index that is elsewhere."""
    meeting = conflict.meeting
    return meeting.before.node if meeting is not None and meeting.before is not None and conflict.is_of_index else None
