"""Which nodes surely hold the same: keys by structure, so that a test or a device that is read twice is one."""

from collections.abc import Hashable

from devfix_codemods.ir.nodes import Class, Node, Op


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
            kept = _kept_as(node, owner) if owner is not None and node.function.name == "__init__" else None
            return ("param", node.index) if kept is None else kept
        case Op.ATTR:
            return ("attr", key(node.args[0]), node.extra)
        case Op.COMPARE:
            return ("compare", node.extra, *(key(one) for one in node.args))
        case Op.ITEM if len(node.args) == 1:
            return ("item", key(node.args[0]), node.extra)
        case Op.ITEM if len(node.args) == 2:
            return ("element", key(node.args[0]), key(node.args[1]))
        case Op.CALL if (called := name(node.args[0])) is not None and _answers_again(node, called):
            return ("call", ("REF", called), *map(_given, node.args[1:], node.extras))
    return ("node", node.index)


def _kept_as(parameter: Node, owner: Class) -> Hashable | None:
    """The attribute that holds a parameter of a constructor and nothing else: the other methods know it by that."""
    itself = parameter.function.self_node
    for store in parameter.function.stores if itself is not None else ():
        if store.value is parameter and store.base is itself and owner.sets_once(str(itself.extra), str(store.key)):
            return ("attr", key(itself), store.key)
    return None


def _given(argument: Node, word: str | None) -> Hashable:
    """The key of an argument, with its keyword or its stars: `f(a=True)` and `f(b=True)` ask two things."""
    return key(argument) if word is None else (word, key(argument))


def _answers_again(call: Node, called: str) -> bool:
    """Whether a call that is made again gives the same: no chance, no clock, no next element."""
    short = len(call.args) <= 2 or called == "builtins.hasattr"
    *packages, last = called.split(".")
    if last.startswith(("rand", "next", "input", "iter")) or last in _DRAWING:
        return False
    return short and not any(one == "time" or one.startswith("rand") for one in packages)


_DRAWING = frozenset({"bernoulli", "multinomial", "normal", "poisson"})
"""What draws numbers in packages that are not called after that, as `random` and `numpy.random` are."""


def resolved(node: Node) -> Node:
    """What a name of the module stands for at its end; any other value as it is."""
    return node.function.module.top.finals.get(str(node.extra), node) if node.op is Op.GLOBAL else node


def names(node: Node) -> tuple[str, ...]:
    """The qualified names that a value may have: one of an import, several where `try` chooses between two."""
    found = node.named
    if found is not None:
        return found
    base = node
    while base.op is Op.ATTR:
        base = base.args[0]
    if base.op is Op.PHI:  # which may yet grow
        return _names_of_choice(base, node)
    found = node.named = (f"{base.extra}{_behind(node)}",) if base.op is Op.REF else ()
    return found


def _names_of_choice(choice: Node, node: Node) -> tuple[str, ...]:
    """The names of a node by each of the imports that its base is chosen from, whatever stands in for a missing one."""
    imported = [_imported(one) for one in choice.args if not _stands_in(one)]
    if None in imported:
        return ()
    behind = _behind(node)
    return tuple(dict.fromkeys(f"{one}{behind}" for one in imported))


def _stands_in(node: Node) -> bool:
    """What a program has where an import fails: a function or a class that does the same, or None."""
    return node.op in {Op.FUNCTION, Op.CLASS} or (node.op is Op.CONST and node.extra is None)


def _behind(node: Node) -> str:
    """The attributes that are read of a base, dots before them."""
    attributes = ""
    while node.op is Op.ATTR:
        attributes = f".{node.extra}{attributes}"
        node = node.args[0]
    return attributes


def _imported(node: Node) -> str | None:
    """The name of what is imported, and of its attributes; a loop is no import."""
    base = node
    while base.op is Op.ATTR:
        base = base.args[0]
    return f"{base.extra}{_behind(node)}" if base.op is Op.REF else None


def name(node: Node) -> str | None:
    """The first of `names`."""
    found = names(node)
    return found[0] if found else None


def before_methods(node: Node) -> Node:
    """What a chain of methods is called on: `x` of `x.detach().repeat(2, 1).to(device)`."""
    while node.op is Op.CALL and node.args[0].op is Op.ATTR and not names(node.args[0]):
        node = node.args[0].args[0]
    return node


def method_name(node: Node) -> str | None:
    """The name of the method that a call runs."""
    callee = node.args[0] if node.op is Op.CALL else None
    return str(callee.extra) if callee is not None and callee.op is Op.ATTR else None
