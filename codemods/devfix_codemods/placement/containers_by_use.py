"""Evidence that values are containers, and of what their keys are, from what the file fills them with."""

import ast
from typing import TYPE_CHECKING

from devfix_codemods.catalogue import Kind, libraries
from devfix_codemods.ir import Node, Op
from devfix_codemods.ir.items import part_of
from devfix_codemods.ir.keys import method_name, name

if TYPE_CHECKING:
    from devfix_codemods.placement.kinds import Kinds


def holds_lists(kinds: "Kinds") -> None:
    """`rows[i].append(x)`: what holds lists is no tensor."""
    for call in kinds.module.of(Op.CALL):
        part = call.args[0].args[0] if method_name(call) in _OF_LISTS else None
        if part is not None and part.op is Op.ITEM and part.args[0].op is Op.PARAM and not isinstance(part.extra, str):
            kinds.say(part.args[0], Kind.SEQUENCE, 1)


def of_firsts(kinds: "Kinds") -> None:
    """`[one[0] for one in batch["flag"]]`: of a tensor people take `[:, 0]`, so this is a list of what was collated."""
    for made in kinds.module.of(Op.COMPREHENSION):
        first = made.args[0]
        if first.op is Op.ITEM and first.extra == 0 and len(first.args) == 1 and first.args[0].op is Op.ITER:
            entry = first.args[0].args[0]
            if entry.op is Op.ITEM and isinstance(entry.extra, str):
                kinds.say(entry, Kind.SEQUENCE, 2)


_OF_LISTS = frozenset({"append", "extend", "insert"})


def kept_as_attributes(kinds: "Kinds") -> None:
    """`x.__dict__`, and what an object gets for it."""
    for node in kinds.module.of(Op.ATTR):
        if node.extra == "__dict__":
            kinds.say(node, Kind.MAPPING, 3)
    for store in kinds.module.stores:
        if store.is_attribute and store.key == "__dict__":
            kinds.say(store.value, Kind.MAPPING, 3)


def of_constants(kinds: "Kinds") -> None:
    """What a loop takes from a display of numbers or of words, `for seed in [1, 2]`, `for n, name in [(1, "a")]`."""
    for taken in kinds.module.of(Op.ITER):
        rows = _elements(kinds, taken.args[0])
        for node in (taken, *kinds.module.users.get(taken, ())):
            is_part = node.op is Op.ITEM and node.args[0] is taken and isinstance(node.extra, int)
            values = [part_of(one, node.extra) for one in rows] if is_part else rows if node is taken else []
            found = {_kind_of(one) for one in values if one is not None}
            for kind in found if len(found) == 1 and None not in values else ():
                if kind is not None:
                    kinds.say(node, kind, 2)


def _elements(kinds: "Kinds", rows: Node) -> tuple[Node, ...]:
    """The elements of a display, also of one that another file binds."""
    if rows.op in {Op.REF, Op.ATTR}:
        value = kinds.imported.value(rows) if kinds.imported.is_bound(rows) else None
        rows = value if value is not None else rows
    return rows.args if rows.op is Op.SEQUENCE else ()


def _kind_of(value: Node) -> Kind | None:
    if value.op is not Op.CONST or isinstance(value.extra, bool):
        return None
    return Kind.TEXT if isinstance(value.extra, str) else Kind.NUMBER if isinstance(value.extra, (int, float)) else None


def filled_by_keys(kinds: "Kinds") -> None:
    """`state[f"{name}.version"] = x`: what is filled under texts that are computed is a dictionary of states."""
    for store in kinds.module.stores:
        base, index = store.base, store.index
        if index is not None and base.op is Op.PARAM and kinds.of(base) is None and _is_computed_text(index):
            kinds.say(base, Kind.MAPPING, 1)


def _is_computed_text(key: Node) -> bool:
    return isinstance(key.syntax, ast.JoinedStr) or method_name(key) == "format"


def keys(kinds: "Kinds") -> None:
    """What a dictionary is asked for is a text or a number, and so is what picks a module, or an optimizer."""
    picked = [(node, node.args[0], index) for node in kinds.module.of(Op.ITEM) for index in node.args[1:]]
    stored = [(one.value, one.base, one.index) for one in kinds.module.stores]
    for value, base, index in (*picked, *stored):
        if index is None or kinds.of(index) is not None:
            continue
        if kinds.of(base) is Kind.MAPPING or (base.op is Op.CALL and name(base.args[0]) in libraries.MAPPINGS):
            kinds.say(index, Kind.TEXT, 1)
        elif kinds.of(value) in _PICKED:
            kinds.say(index, Kind.NUMBER, 1)


_PICKED = frozenset({Kind.MODULE, Kind.OPTIMIZER, Kind.LOADER, Kind.TOKENIZER})
