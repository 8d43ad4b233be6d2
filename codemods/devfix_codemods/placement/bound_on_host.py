"""Names that are bound to what is surely made on the host, as far as the file and those that it imports show."""

from collections.abc import Iterator

from devfix_codemods.ir import Function, Module, Node, Op
from devfix_codemods.placement.analysis import Analysis
from devfix_codemods.placement.bindings import given, latest_bindings, runs, speaking
from devfix_codemods.placement.calls import bound, effect_of
from devfix_codemods.placement.collations import run_by_calling
from devfix_codemods.placement.graph import MADE, Birth, Turn
from devfix_codemods.placement.imported_calls import stays_on_host
from devfix_codemods.placement.places import Where

MOST_STEPS = 60
DEEPEST = 3
"""Through so many callers it is asked what these give."""
_MADE = MADE | {Birth.CHOSEN_HOST}
_COPIES = frozenset({Turn.SAME, Turn.DOWN})


def bound_on_host(analysis: Analysis, function: str, line: int) -> frozenset[str]:
    """The names that a function, or without one the file, last binds before a line to what is made on the host.

    Parameters are bound to what all calls give that are known; those of a collate function to samples, which loaders
    read on the host, and so are the names that loops go through these with. `function` is a qualified name,
    `Trainer.fit`.
    """
    latest = latest_bindings(analysis, function, line)
    return frozenset(word for word, node in latest.items() if _is_on_host(analysis, node))


def _is_on_host(analysis: Analysis, node: Node, depth: int = 0) -> bool:
    if node.op is Op.ITER and node.args[0].op is Op.PARAM:
        return _is_samples(analysis, node.args[0])
    if node.op is not Op.PARAM:
        return _is_made_on_host(analysis, node, depth)
    if depth > DEEPEST:
        return False
    if _is_samples(analysis, node):
        return True
    values = list(given(analysis, node))
    return bool(values) and all(_is_given_on_host(analysis, one, depth + 1) for one in values)


def _is_samples(analysis: Analysis, parameter: Node) -> bool:
    """Whether a loader gives a parameter the samples of a batch: of a collate function, or of what that calls with
    them."""
    function = parameter.function
    for module in speaking(analysis, function):
        for collate in _collate_functions(analysis, module):
            if collate is function:
                return True
            calls = (one for one in collate.nodes if one.op is Op.CALL and runs(analysis, one.args[0], function))
            values = (argument for call in calls for argument, each in bound(call, function) if each is parameter)
            if any(one.op is Op.PARAM and one.function is collate for one in values):
                return True
    return False


def _collate_functions(analysis: Analysis, module: Module) -> Iterator[Function]:
    return (found for value in _collating(module) for found in run_by_calling(value, analysis.kinds))


def _collating(module: Module) -> Iterator[Node]:
    """What a file names as `collate_fn`, in a call of a loader or in a mapping of what that gets."""
    for node in (*module.of(Op.CALL), *module.of(Op.MAPPING)):
        values = node.args[1:] if node.op is Op.CALL else node.args
        yield from (value for word, value in zip(node.extras, values) if word == "collate_fn")


def _is_given_on_host(analysis: Analysis, value: Node, depth: int) -> bool:
    """Whether a caller, perhaps in another file, gives what is made on the host or copied there."""
    if value.function.module is analysis.module:
        return _is_on_host(analysis, value, depth)
    called = analysis.kinds.imported.definition(value.args[0]) if value.op is Op.CALL else None
    if isinstance(called, Function) and called.module is analysis.module and called.returns:
        return all(_is_made_on_host(analysis, one, depth) for one, _ in called.returns)
    return stays_on_host(value)


def _is_made_on_host(analysis: Analysis, node: Node, depth: int) -> bool:
    """Whether all that says where a value is, or what it is made of, says that it was made on the host."""
    graph, is_made = analysis.graph, False
    pending, seen = [node], {node}
    while pending:
        one = pending.pop()
        if one.op is Op.PARAM and one is not node:
            if not _is_on_host(analysis, one, depth + 1):
                return False
            is_made = True
            continue
        sources = [one for one in graph.sources.get(one, ()) if one.birth in _MADE or not one.is_on_host]
        if any(source.birth not in _MADE or source.place.where is not Where.HOST for source in sources):
            return False
        is_made = is_made or bool(sources)
        edges = () if sources else graph.edges.get(one, ())
        turns = _COPIES | {Turn.MEET} if _is_known(one) else _COPIES
        new = [edge.other for edge in edges if edge.turn in turns and edge.other.index < one.index]
        pending += [other for other in dict.fromkeys(new) if other not in seen]
        seen.update(new)
        if len(seen) > MOST_STEPS:
            return False
    return is_made


def _is_known(node: Node) -> bool:
    """Whether a value is computed by an operation of torch, so that it is where its operands are."""
    if node.op is not Op.CALL:
        return True
    return effect_of(node.args[0]) is not None
