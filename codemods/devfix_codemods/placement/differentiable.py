"""What models and losses compute: what reaches `backward`, or is read as the number that a loss gives."""

from devfix_codemods.ir import Function, Module, Node, Op
from devfix_codemods.ir.items import whole
from devfix_codemods.ir.keys import method_name, name
from devfix_codemods.placement.naming import sounds_like_loss


def differentiable(module: Module, calls: dict[Node, Function]) -> set[Node]:
    """Values that reach `backward`, or are detached, through calls and arithmetic: models and losses made them."""
    found: set[Node] = set()
    pending = [
        node.args[0].args[0]
        for node in module.of(Op.CALL)
        if node.args[0].op is Op.ATTR and node.args[0].extra in {"backward", "detach"} and name(node.args[0]) is None
    ]
    pending += [node.args[1] for node in module.of(Op.CALL) if _scales_loss(node)]
    while pending:
        node = pending.pop()
        if node in found:
            continue
        found.add(node)
        if node.op in {Op.PHI, Op.OPERATION, Op.AFTER, Op.ITEM, Op.SEQUENCE, Op.ITER}:
            pending += node.args
        elif node.op is Op.CALL:
            callee = node.args[0]
            pending += node.args[1:]
            if callee.op is Op.ATTR and name(callee) is None:
                pending.append(callee.args[0])
            called = calls.get(node)
            if called is not None:
                pending += [value for value, _ in called.returns]
    return found


def _scales_loss(node: Node) -> bool:
    """`scaler.scale(loss)`, `accelerator.backward(loss)`."""
    if len(node.args) != 2 or node.args[0].op is not Op.ATTR:
        return False
    return node.args[0].extra in {"scale", "backward"} and name(node.args[0]) is None


def losses_by_name(module: Module) -> set[Node]:
    """The calls of what has the name of a loss whose results are read as numbers, as in an evaluation."""
    return {read for node in module.of(Op.CALL) if (read := _read_as_number(node)) is not None and _is_loss(read)}


def _read_as_number(node: Node) -> Node | None:
    """`x` of `x.item()` and of `float(x)`."""
    callee = node.args[0]
    if method_name(node) == "item" and name(callee) is None:
        return callee.args[0]
    return node.args[1] if len(node.args) == 2 and name(callee) == "builtins.float" else None


def _is_loss(value: Node) -> bool:
    """Whether what nobody imports, and has the name of a loss, computes a value of two, of which a call gave one."""
    if value.op is not Op.CALL or len(value.args) < _OPERANDS or name(value.args[0]) is not None:
        return False
    return is_held_loss(value.args[0]) and any(whole(one, _PARTS).op is Op.CALL for one in value.args[1:])


_OPERANDS = 3
"""The callee, what a model gave, and the target."""
_PARTS = frozenset({Op.ITEM, Op.ATTR})
"""`out[0]` and `out.logits`, of `out = net(x)`."""


def is_held_loss(callee: Node) -> bool:
    """Whether what is called, or has its `forward` called, has the name of a loss: `criterion`, `args.criterion`,
    `self.loss`. `net.loss` is a method more often."""
    held = callee.args[0] if callee.op is Op.ATTR and callee.extra == "forward" else callee
    if not isinstance(held.extra, str) or not sounds_like_loss(held.extra):
        return False
    return held.op is not Op.ATTR or held.args[0] is held.function.self_node or not held.extra.endswith("loss")
