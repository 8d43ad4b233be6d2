"""Calls that give the elements of what they are given, one by one as they are: progress bars, of a library or of the
file."""

from devfix_codemods.catalogue import Effect, canonical, effect
from devfix_codemods.ir import Class, Function, Node, Op
from devfix_codemods.ir.keys import name, resolved


def passed(call: Node) -> Node | None:
    """What a call gives the elements of, whichever of several callees it runs: always what it is given first."""
    if len(call.args) < 2 or call.extras[:1] != (None,):
        return None
    callee = resolved(call.args[0])
    return call.args[1] if all(map(_passes, callee.args if callee.op is Op.PHI else (callee,))) else None


def _passes(callee: Node) -> bool:
    callee = resolved(callee)
    made = callee.extra
    if isinstance(made, Class):
        return _goes_through_kept(made)
    if isinstance(made, Function):
        first = next(iter(made.parameters.values()), None)
        values = [value.args[0] if made.yields and value.op is Op.ITER else value for value, _ in made.returns]
        return bool(values) and all(one is first for one in values) and (made.yields or made.exit is None)
    return effect(canonical(name(callee) or "")) is Effect.PASS


def _goes_through_kept(made: Class) -> bool:
    """Whether an iterator goes through an attribute that the constructor keeps its first argument in."""
    start, iterate = made.methods.get("__init__"), made.methods.get("__iter__")
    if start is None or iterate is None or not iterate.returns:
        return False
    first = next((one for one in start.parameters.values() if one is not start.self_node), None)
    kept = {store.key for store in start.stores if store.value is first and store.base is start.self_node}
    return all(_is_element(value, iterate, kept) for value, _ in iterate.returns)


def _is_element(value: Node, iterate: Function, kept: set[object]) -> bool:
    """`yield from self.items`, `for one in self.items: yield one`, `return iter(self.items)`."""
    if value.op is Op.CALL and name(value.args[0]) == "builtins.iter" and len(value.args) == 2:
        value = value.args[1]
    elif value.op is Op.ITER:
        value = value.args[0]
    else:
        return False
    return value.op is Op.ATTR and value.args[0] is iterate.self_node and value.extra in kept
