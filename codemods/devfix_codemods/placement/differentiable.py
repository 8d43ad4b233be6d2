"""Values that reach `backward`."""

from devfix_codemods.ir import Function, Module, Node, Op
from devfix_codemods.ir.keys import name


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
