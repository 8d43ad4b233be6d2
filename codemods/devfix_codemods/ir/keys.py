"""Which nodes surely hold the same: keys by structure, so that a test or a device that is read twice is one."""

from collections.abc import Hashable

from devfix_codemods.ir.nodes import Node, Op


def key(node: Node) -> Hashable:
    """A key that two nodes share only if they compute the same from the same values, attributes being left alone."""
    match node.op:
        case Op.CONST:
            return ("const", repr(node.extra))
        case Op.REF | Op.GLOBAL:
            return (node.op.name, node.extra)
        case Op.PARAM:
            owner = node.function.owner
            if owner is not None and node is node.function.self_node:
                return ("self", owner.name, owner.syntax.lineno)
            return ("param", node.index)
        case Op.ATTR:
            return ("attr", key(node.args[0]), node.extra)
        case Op.COMPARE:
            return ("compare", node.extra, *(key(one) for one in node.args))
        case Op.ITEM if len(node.args) == 1:
            return ("item", key(node.args[0]), node.extra)
        case Op.ITEM if len(node.args) == 2:
            return ("element", key(node.args[0]), key(node.args[1]))
        case Op.CALL if node.args[0].op is Op.REF and len(node.args) <= 2:
            return ("call", *(key(one) for one in node.args))
    return ("node", node.index)


def names(node: Node) -> tuple[str, ...]:
    """The qualified names that a value may have: one of an import, several where `try` chooses between two."""
    match node.op:
        case Op.REF:
            return (str(node.extra),)
        case Op.ATTR:
            return tuple(f"{one}.{node.extra}" for one in names(node.args[0]))
        case Op.PHI:
            parts = [names(one) for one in node.args if one.op in _NAMING]
            return tuple(dict.fromkeys(one for part in parts for one in part)) if len(parts) == len(node.args) else ()
    return ()


_NAMING = frozenset({Op.REF, Op.ATTR})


def name(node: Node) -> str | None:
    """The first of `names`."""
    found = names(node)
    return found[0] if found else None
