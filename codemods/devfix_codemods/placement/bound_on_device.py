"""Names that are bound to what the program puts on a device, as far as the file and those that import it show."""

from collections.abc import Iterator

from devfix_codemods.catalogue import Effect
from devfix_codemods.ir import Node, Op
from devfix_codemods.ir.keys import names
from devfix_codemods.placement.analysis import Analysis
from devfix_codemods.placement.arguments import has_device
from devfix_codemods.placement.bindings import given, latest_bindings
from devfix_codemods.placement.calls import effect_of
from devfix_codemods.placement.graph import Birth, Turn
from devfix_codemods.placement.places import Where
from devfix_codemods.placement.targets import moving_call

MOST_STEPS = 120
_BACK = frozenset({Turn.SAME, Turn.DOWN})
"""From a value to what it is a view or one of, and from a parameter to what it is given."""
_ON_DEVICE = frozenset({Where.DEVICE, Where.MODULE})


def bound_on_device(analysis: Analysis, function: str, line: int) -> frozenset[str]:
    """The names that a function, or without one the file, last binds before a line to what may be on a device.

    It may be where it is moved or made there in one way, or computed of what is; a parameter where one call gives such.
    `function` is a qualified name, `Trainer.fit`.
    """
    latest = latest_bindings(analysis, function, line)
    return frozenset(word for word, node in latest.items() if _may_be_on_device(analysis, node))


def _may_be_on_device(analysis: Analysis, node: Node) -> bool:
    pending = [node]
    for one in pending:  # grows
        if one.function.module is not analysis.module:
            if _is_moved(one):
                return True
            continue
        sources = analysis.graph.sources.get(one, ())
        if any(source.birth is Birth.CHOSEN_HOST for source in sources):
            continue  # `x.cpu()` is on the host, wherever `x` is
        if any(source.place.where in _ON_DEVICE for source in sources):
            return True
        pending += [other for other in _made_of(analysis, one) if other not in pending]
        if len(pending) > MOST_STEPS:
            return False
    return False


def _made_of(analysis: Analysis, node: Node) -> Iterator[Node]:
    """What a value is made of, or a parameter is given."""
    for edge in analysis.graph.edges.get(node, ()):
        is_back = edge.turn in _BACK or (edge.turn is Turn.MEET and edge.link.startswith("operation"))
        if is_back and (edge.other.index < node.index or edge.other.function is not node.function):
            yield edge.other
    for source in analysis.graph.sources.get(node, ()):
        if source.place.where is Where.FOLLOWS and source.place.node is not None:
            yield source.place.node
    if node.op is Op.PARAM:
        yield from given(analysis, node)


def _is_moved(value: Node) -> bool:
    """Whether a value of another file is moved, or made with a device, there."""
    if value.op is Op.PHI:
        return any(one.op is not Op.PHI and _is_moved(one) for one in value.args)
    if value.op is not Op.CALL:
        return False
    moved = moving_call(value)
    if moved.op is Op.CALL and moved.args[0].op is Op.ATTR and not names(moved.args[0]):
        return effect_of(moved.args[0]) in {Effect.CUDA, Effect.MOVE}
    return has_device(value)
