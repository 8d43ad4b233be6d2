"""What chains of conversions, moves and choices start from: `x` in `Variable(x).float().to(device)`."""

from collections.abc import Set

from devfix_codemods.catalogue import Effect, canonical, effect
from devfix_codemods.catalogue import torch as rows
from devfix_codemods.ir import Module, Node, Op
from devfix_codemods.ir.keys import name
from devfix_codemods.placement.calls import chained, moved_by
from devfix_codemods.placement.kinds import Kinds
from devfix_codemods.placement.naming import sounds_like_class

DEEPCOPY = "copy.deepcopy"
MOST_STEPS = 40


class Roots:
    """The roots of the values of one file."""

    def __init__(self, module: Module, kinds: Kinds) -> None:
        self._module = module
        self._kinds = kinds
        self.called_with: dict[Node, Node] = {}
        """Each call of a function of this file that gives back, moved, what it gets; and what that is."""

    def of(self, node: Node) -> Set[Node]:
        """The values that a chain of conversions, and of choices, starts from, in one order: `x` in `Variable(x)`."""
        return self._followed(node)[0].keys()

    def way(self, node: Node) -> Set[Node]:
        """All that such a chain leads over, from `node` to its roots."""
        return self._followed(node)[1]

    def _followed(self, node: Node) -> tuple[dict[Node, None], set[Node]]:
        found: dict[Node, None] = {}
        pending, seen = [node], set[Node]()
        while pending and len(seen) < MOST_STEPS:
            one = pending.pop()
            if one in seen:
                continue
            seen.add(one)
            inner = self._inner(one)
            if inner is not None:
                pending.append(inner)
            elif one.op is Op.PHI:
                pending += one.args
            elif (display := _display_of(one)) is not None:
                found[one] = None
                pending += display.args
            else:
                found[one] = None
        return found, seen

    def same_module(self, call: Node) -> Node | None:
        """What gets one module and gives one probably gives the same: `net = load_weights(net, path)`."""
        if not self._kinds.is_module(call) or effect(name(call.args[0]) or "") is Effect.MODULE:
            return None
        given = [one for one in call.args[1:] if self._kinds.is_module(one)]
        if len(given) != 1 or call.args[0].op is Op.CLASS or (sounds_like_class(call.args[0]) and _is_layer(given[0])):
            return None
        return given[0]

    def _inner(self, node: Node) -> Node | None:
        """What a conversion, or a move, was given."""
        if node.op is Op.AFTER:
            return node.args[0]
        if node.op is not Op.CALL:
            return None
        if node in self.called_with:
            return self.called_with[node]
        callee = node.args[0]
        qualified = name(callee)
        if qualified is not None:
            if qualified == DEEPCOPY and self._kinds.is_module(node):
                return None  # which moves by itself
            wraps = effect(canonical(qualified)) in {Effect.PASS, Effect.WRAP}
            return node.args[1] if wraps and len(node.args) > 1 else self.same_module(node)
        return chained(node, _CHAINED) or moved_by(node) or self.same_module(node)


def _display_of(node: Node) -> Node | None:
    """The display of which a value is any element: `(x, y)` for `t` in `[t.cuda() for t in (x, y)]`."""
    iterable = node.args[0] if node.op is Op.ITER else None
    return iterable if iterable is not None and iterable.op is Op.SEQUENCE else None


def _is_layer(module: Node) -> bool:
    """`nn.Embedding(3, 4)`, of which a class makes a module that has more."""
    return module.op is Op.CALL and effect(name(module.args[0]) or "") is Effect.MODULE


_CHAINED = rows.SHAPING | {"type", "requires_grad_", "eval", "train"}
"""Methods that give what they are called on, converted or seen in another shape."""
