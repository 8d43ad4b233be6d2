"""What methods of classes of other files give of what their objects keep: a prefetcher moves its next batch itself."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from devfix_codemods.ir import Class, Function, Node, Op
from devfix_codemods.placement.calls import moved_by, returned_at

if TYPE_CHECKING:
    from devfix_codemods.placement.births import Births


def placed_elsewhere(births: "Births") -> Iterator[Node]:
    """The results of such methods, and their parts, where the class moves the attribute that these are read of."""
    for call in births.module.of(Op.CALL):
        found = _method(births, call) if call not in births.calls else None
        if found is None:
            continue
        owner, method = found
        if any(_is_moved(births, owner, value) for value, _ in method.returns):
            yield call
        for part in births.module.users.get(call, ()):
            values = returned_at(part, method) or ()
            if any(_is_moved(births, owner, value) for value, _ in values):
                yield part


def _method(births: "Births", call: Node) -> tuple[Class, Function] | None:
    """The class of the object of which a method is called, where another file has both, and the method."""
    callee = call.args[0]
    made = births.kinds.makers(callee.args[0]) if callee.op is Op.ATTR else ()
    owners = {births.imported.definition(one.args[0]) for one in made}  # be they written as classes are or not
    owner = owners.pop() if len(owners) == 1 else None
    if not isinstance(owner, Class) or owner in births.module.classes:
        return None
    methods = (one.methods.get(str(callee.extra)) for one in births.imported.lineage(owner))
    method = next((one for one in methods if one is not None and not one.is_property), None)
    return None if method is None else (owner, method)


def _is_moved(births: "Births", owner: Class, value: Node) -> bool:
    """Whether some method stores a moved value in the attribute that a value is read of."""
    values = value.args if value.op is Op.PHI else (value,)
    read = {one.extra for one in values if one.op is Op.ATTR and one.args[0] is one.function.self_node}
    methods = (method for each in births.imported.lineage(owner) for method in each.methods.values())
    stores = (store for method in methods for store in method.stores if store.base is method.self_node)
    return any(one.is_attribute and one.key in read and moved_by(one.value) is not None for one in stores)
