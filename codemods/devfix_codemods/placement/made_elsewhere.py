"""Tensors that functions of other files make, and give without having moved them: they are on the host here as well."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from devfix_codemods.catalogue import Effect, canonical, effect, libraries, method_effect
from devfix_codemods.catalogue import torch as rows
from devfix_codemods.ir import Function, Module, Node, Op
from devfix_codemods.ir.keys import name, names
from devfix_codemods.placement.arguments import has_device, keyword
from devfix_codemods.placement.calls import function_of
from devfix_codemods.placement.graph import Birth, Source
from devfix_codemods.placement.indices import slices
from devfix_codemods.placement.places import HOST, sounds_like_device
from devfix_codemods.placement.unpacked import returned_at

if TYPE_CHECKING:
    from devfix_codemods.placement.births import Births

_VIEWS = frozenset({"T", "mT", "data"})
DEEPEST = 20
"""So many values a tensor that is given may be computed through."""


def made_elsewhere(births: "Births") -> None:
    """Add what functions of other files make, and the parts of what they give, to the graph."""
    if births.defaults.is_test:
        return
    for call in births.module.of(Op.CALL):
        called = births.imported.definition(call.args[0]) if call not in births.calls else None
        if not isinstance(called, Function) or called.module is births.module:
            continue
        if births.is_told_place(call) or not _leaves_place(called) or _says_where(call):
            continue
        for value, given in _results(births, call, called):
            if not births.graph.sources.get(value) and given and all(_is_made(one) for one in given):
                births.graph.add(Source(value, HOST, Birth.ARRAY, ("made-elsewhere",)))
                births.made_elsewhere.add(call)


def _results(births: "Births", call: Node, called: Function) -> Iterator[tuple[Node, list[Node]]]:
    """What a call gives, and each part that is unpacked of it, with all that these may be."""
    yield call, [value for value, _ in called.returns]
    for part in births.module.users.get(call, ()):
        yield part, [value for value, _ in returned_at(part, called) or ()]


def _leaves_place(called: Function) -> bool:
    """Whether a function can only make things where its file does, and that on the host."""
    is_told = any(map(sounds_like_device, called.parameters))
    return not (called.yields or is_told or _changes_default(called.module))


def _changes_default(module: Module) -> bool:
    found = (name(one.args[0]) or "" for one in module.of(Op.CALL))
    return any(one.startswith("torch.set_default_") and one != "torch.set_default_dtype" for one in found)


def _says_where(call: Node) -> bool:
    return has_device(call) or any(isinstance(one, str) and sounds_like_device(one) for one in call.extras)


def _is_made(node: Node, depth: int = 0) -> bool:
    """Whether a value is a tensor with dimensions that was made on the host, and is converted or computed with at most
    numbers and its like since."""
    if depth > DEEPEST:
        return False
    match node.op:
        case Op.PHI:
            return bool(node.args) and all(_is_made(one, depth + 1) for one in node.args if one is not node)
        case Op.ITEM:
            return _is_item_made(node, depth + 1)
        case Op.OPERATION:
            made = [one for one in node.args if one.op is not Op.CONST]
            return bool(made) and all(_is_made(one, depth + 1) for one in made)
        case Op.ATTR:
            return node.extra in _VIEWS and _is_made(node.args[0], depth + 1)
        case Op.CALL:
            return _is_call_made(node, depth + 1)
    return False


def _is_item_made(node: Node, depth: int) -> bool:
    base = node.args[0]
    if base.op is Op.SEQUENCE and isinstance(node.extra, int):
        return -1 < node.extra < len(base.args) and _is_made(base.args[node.extra], depth)
    return any(map(slices, node.args[1:])) and _is_made(base, depth)


def _is_call_made(call: Node, depth: int) -> bool:
    callee = call.args[0]
    local = function_of(callee)
    if local is not None:
        returned = [value for value, _ in local.returns]
        return bool(returned) and _leaves_place(local) and all(_is_made(one, depth) for one in returned)
    if has_device(call) or _is_placed_by_context(call):
        return False
    found = names(callee)
    if not found:
        is_kept = callee.op is Op.ATTR and method_effect(str(callee.extra)) is Effect.SAME
        return is_kept and callee.extra not in rows.REDUCTIONS and _is_made(callee.args[0], depth)
    given = call.args[1:]
    match effect(canonical(found[0])):
        case Effect.FACTORY:
            return keyword(call, "generator") is None
        case Effect.HOST:
            return True
        case Effect.CONVERSION:
            return bool(given) and _is_plain_row(given[0])
        case Effect.SEQUENCE:
            parts = given[0].args if given and given[0].op in {Op.SEQUENCE, Op.COMPREHENSION} else ()
            return bool(parts) and all(_is_element_made(one, depth) for one in parts)
        case Effect.SAME:
            is_reduced = found[0].rpartition(".")[2] in rows.REDUCTIONS
            return bool(given) and not is_reduced and _is_made(given[0], depth)
    return False


def _is_element_made(node: Node, depth: int) -> bool:
    """As `_is_made`; an element of a tensor may be a number, which is joined with others."""
    return _is_made(node.args[0] if node.op is Op.ITEM and node.args[0].op is not Op.SEQUENCE else node, depth)


def _is_plain_row(node: Node, depth: int = 0) -> bool:
    """Whether a value is a display, an array, or what a function gives for a list: no tensor, and not one number."""
    match node.op:
        case Op.SEQUENCE | Op.COMPREHENSION:
            return not any(_is_made(one) for one in node.args)
        case Op.AFTER:  # a list that is filled
            return _is_plain_row(node.args[0], depth + 1)
        case Op.PHI if depth < DEEPEST:
            return all(_is_plain_row(one, depth + 1) for one in node.args if one is not node)
        case Op.CALL if depth < DEEPEST:
            called = names(node.args[0])[:1]
            local = function_of(node.args[0])
            returned = [value for value, _ in local.returns] if local is not None else []
            is_of_numpy = any(one.startswith("numpy.") and one not in libraries.REDUCTIONS for one in called)
            return is_of_numpy or (bool(returned) and all(_is_plain_row(one, depth + 1) for one in returned))
    return False


def _is_placed_by_context(call: Node) -> bool:
    """`with torch.device("cuda"): …`"""
    around = call.function.module.managed.get(call, ())
    return any(one.op is not Op.CALL or sounds_like_device(name(one.args[0]) or "") for one in around)
