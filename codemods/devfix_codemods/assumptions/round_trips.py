"""Values that are computed on the host of a tensor which a function was given: what goes to CUDA goes back."""

from collections.abc import Iterator

from devfix_codemods.assumptions.index import method
from devfix_codemods.catalogue import Effect, Kind, canonical, effect, method_effect
from devfix_codemods.ir import Node, Op
from devfix_codemods.ir.keys import name
from devfix_codemods.placement.analysis import Analysis
from devfix_codemods.placement.places import HOST

_FOR_DATA = frozenset({"__getitem__", "__init__", "__iter__", "__next__"})
_GIVES_NUMBERS = frozenset({"builtins.int", "builtins.float", "builtins.bool", "builtins.len", "builtins.range"})
_MOST = 60


def came_from(analysis: Analysis, call: Node, made: bool) -> Node | None:
    """`x` in `torch.from_numpy(f(x.cpu().numpy())).cuda()`: the first parameter that a value was computed of."""
    function = call.function
    if function.name in _FOR_DATA or "collate" in function.name:
        return None
    if made and effect(canonical(name(call.args[0]) or "")) is Effect.FACTORY:
        return None
    start = call.args[1:2] if made else call.args[0].args[:1]
    found = (one for node in start for one in _origins(analysis, node, set()))
    return next((one for one in found if _has_device(analysis, one)), None)


def _origins(analysis: Analysis, node: Node, seen: set[Node]) -> Iterator[Node]:
    """The parameters that were taken to the host on the way to a value."""
    if node in seen or len(seen) > _MOST or analysis.kinds.of(node) is Kind.NUMBER:
        return
    seen.add(node)
    inner = node.args
    if node.op is Op.CALL:
        short, qualified = method(node), name(node.args[0])
        if short is not None and _takes_to_host(analysis, node):
            yield from _parameter(node.args[0].args[0])
            return
        row = effect(canonical(qualified)) if qualified is not None else method_effect(short or "")
        if qualified in _GIVES_NUMBERS or row in {Effect.READ, Effect.SYNC, Effect.FACTORY}:
            return
        inner = (*(node.args[0].args if short is not None else ()), *node.args[1:])
    elif node.op in {Op.CONST, Op.PARAM, Op.ATTR, Op.GLOBAL, Op.COMPARE}:
        return
    for one in (*inner, *_collected(node)):
        yield from _origins(analysis, one, seen)


def _collected(node: Node) -> Iterator[Node]:
    """What is put into a list."""
    return (one.value for one in node.function.stores if one.base is node and not one.is_attribute)


def _takes_to_host(analysis: Analysis, call: Node) -> bool:
    return method(call) == "cpu" or analysis.births.place_given(call) == HOST


def _parameter(node: Node) -> Iterator[Node]:
    """`x` of `x.detach()`."""
    while method(node) is not None and method_effect(str(method(node))) is not None:
        node = node.args[0].args[0]
    if node.op is Op.PARAM:
        yield node


def _has_device(analysis: Analysis, parameter: Node) -> bool:
    """Whether a parameter is a tensor that is never None, stays under its name, and goes nowhere else itself."""
    function = parameter.function
    uses = [one for one in function.nodes if parameter in one.args]
    tested = any(one.op is Op.COMPARE or name(one.args[0]) in _TESTS for one in uses)
    renamed = function.finals.get(str(parameter.extra)) is not parameter
    moved = any(not _takes_to_host(analysis, one) for one in _moves(analysis, parameter))
    optional = str(parameter.extra) in function.defaults
    copies = [one for one in function.nodes if method(one) is not None and _takes_to_host(analysis, one)]
    taken = {one for one in copies if parameter in _parameter(one.args[0].args[0])}
    read = any(one.op is Op.ATTR and one.args[0] in taken and _is_of_tensor(str(one.extra)) for one in function.nodes)
    surely = analysis.kinds.says_surely(parameter, Kind.TENSOR) or read
    return surely and not (tested or renamed or moved or optional)


def _is_of_tensor(attribute: str) -> bool:
    """Whether only tensors have a method: what casts is known of modules, too."""
    return attribute not in {"cpu", "to", "cuda", "type", "half", "float"} and method_effect(attribute) is not None


_TESTS = frozenset({"torch.is_tensor", "builtins.isinstance"})


def _moves(analysis: Analysis, parameter: Node) -> Iterator[Node]:
    for one in parameter.function.nodes:
        if one.op is Op.CALL and method(one) in {"cuda", "to"} and one.args[0].args[0] is parameter:
            yield one
