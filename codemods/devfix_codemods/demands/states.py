"""States of the host's generator, which are restored from the host: whether one may have been taken to a device."""

import ast
import re
from collections.abc import Iterator

from devfix_codemods.assumptions.answers import Answer
from devfix_codemods.assumptions.index import Index, called
from devfix_codemods.catalogue import Effect, canonical, effect
from devfix_codemods.edits.operations import ReplaceExpression
from devfix_codemods.findings import Fix, Safety
from devfix_codemods.ir import Node, Op
from devfix_codemods.ir.items import part_of
from devfix_codemods.ir.keys import name
from devfix_codemods.placement.arguments import is_none, keyword
from devfix_codemods.placement.places import HOST, place_of

_RESTORES = ("torch.set_rng_state", "torch.random.set_rng_state")
_TAKES = ("torch.get_rng_state", "torch.random.get_rng_state")
_LOADED = re.compile(r"load|resume|restore|setstate")
"""What functions are called by that get what was saved, by convention."""


def restored_states(index: Index) -> Iterator[Answer]:
    """Items of what was loaded to a device, or of what a caller gives, that nothing takes to the host."""
    for call in index.calls:
        state = call.args[1] if called(call, *_RESTORES) and len(call.args) == 2 else None
        if (
            state is None
            or state.op is not Op.ITEM
            or state.extra is None
            or not isinstance(state.syntax, ast.Subscript)
        ):
            continue
        if any(_may_be_elsewhere(index, call, state, one) for one in index.origins.of(state.args[0])):
            text = index.text(state.syntax)
            edit = ReplaceExpression(index.source.span(state.syntax), "__node__.cpu()")
            message = (
                f"`{text}` may have been restored on a device; the state of the host's generator must be on the host"
            )
            assert isinstance(call.syntax, ast.Call)
            yield Answer(call.syntax, message, Fix(Safety.SAFE, f"Move `{text}` to the host", (edit,)))


def _may_be_elsewhere(index: Index, call: Node, state: Node, origin: Node) -> bool:
    """Whether a state may be on a device, as an item of what `origin` is."""
    if origin.op is not Op.PARAM and not _is_kept_elsewhere(index, origin):
        device = _loaded_to(origin)
        return device is not None and place_of(device, index.analysis.kinds) != HOST
    mappings = (one for one in index.nodes.values() if one.op is Op.MAPPING)
    taken = (part for one in mappings if (part := part_of(one, state.extra)) is not None)
    kept = any(called(one, *_TAKES) for one in taken)  # the file gives back what it took itself
    return not kept or _LOADED.search(call.function.name) is not None


def _is_kept_elsewhere(index: Index, origin: Node) -> bool:
    """`getattr(engine.state, "rng_states", None)`, of an object that is not read: it may have been loaded."""
    named = called(origin, "builtins.getattr") and len(origin.args) > 2
    return named and index.analysis.kinds.class_of(origin.args[1]) is None


def _loaded_to(call: Node) -> Node | None:
    """`device` of `torch.load(path, map_location=device)`"""
    if call.op is not Op.CALL or effect(canonical(name(call.args[0]) or "")) is not Effect.LOAD:
        return None
    device = keyword(call, "map_location") or next(iter(call.args[2:]), None)
    return device if device is not None and not is_none(device) and device.op not in {Op.FUNCTION, Op.MAPPING} else None
