"""Containers whose parts are replaced by moved ones, by the code or by what it calls: `batch[k] = batch[k].to(d)`."""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from devfix_codemods.catalogue import Kind
from devfix_codemods.ir import Node, Op
from devfix_codemods.ir.items import whole
from devfix_codemods.ir.keys import names
from devfix_codemods.placement.calls import bound
from devfix_codemods.placement.places import HOST, place_of

if TYPE_CHECKING:
    from devfix_codemods.placement.births import Births

_MOVES = re.compile(r"(?i)(^|_)(to|2|on|maybe|try)_?(gpu|cuda|device)s?$|^(cuda|gpu|cudaize|to_var)$")
_HOLDING = frozenset({Op.SEQUENCE, Op.MAPPING, Op.COMPREHENSION, Op.ITEM, Op.ITER, Op.ATTR, Op.PHI, Op.AFTER})


def replaced(births: "Births") -> set[Node]:
    """The values whose parts are moved where they stand."""
    stores = (one for one in births.module.stores if not one.is_attribute)
    found = {store.base for store in stores if births.is_move(store.value)}
    parameters = {root for one in found if (root := whole(one, {Op.ITER, Op.ITEM})).op is Op.PARAM}
    for call in births.module.of(Op.CALL):
        for one in _moved_in_place(births, call, parameters):
            found |= _inside(births, one)
    return found


def _moved_in_place(births: "Births", call: Node, parameters: set[Node]) -> Iterator[Node]:
    """What a call gets to replace its parts: by a function that is read, or that is told a device and gives nothing."""
    called = births.calls.get(call)
    if called is not None:
        yield from (argument for argument, parameter in bound(call, called) if parameter in parameters)
    elif call not in births.used and call.args[0].op is not Op.ATTR and _is_told_device(births, call):
        yield from call.args[1:]


def _is_told_device(births: "Births", call: Node) -> bool:
    return any(
        births.kinds.of(one) is Kind.DEVICE and place_of(one, births.kinds) not in {None, HOST} for one in call.args[1:]
    )


def _inside(births: "Births", container: Node) -> set[Node]:
    """A container, and all that stands in it, or was put into it by the function that made it."""
    found: set[Node] = set()
    pending = [container]
    while pending:
        one = pending.pop()
        if one not in found:
            found.add(one)
            pending += one.args if one.op in _HOLDING else ()
            pending += [store.value for store in one.function.stores if store.base is one]
            called = births.calls.get(one)
            pending += [value for value, _ in called.returns] if called is not None else ()
    return found


def speaks_of_moving(callee: Node) -> bool:
    """`to_gpu(batch)`, whoever wrote it."""
    own = str(callee.extra) if callee.op in {Op.GLOBAL, Op.ATTR} else ""  # decorated, or of a base that is not read
    last = next((one.rpartition(".")[2] for one in names(callee)), own)
    return _MOVES.search(last) is not None
