"""Tensors that take the place of others, which say where they belong.

In the next turn of a loop, where a test has found the old one elsewhere, and where they are filled with the old one.
"""

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from devfix_codemods.catalogue import Kind
from devfix_codemods.ir import Node, Op
from devfix_codemods.ir.keys import key
from devfix_codemods.ir.nodes import Store, walk
from devfix_codemods.placement.graph import MADE, Birth
from devfix_codemods.placement.places import Where

if TYPE_CHECKING:
    from devfix_codemods.placement.births import Births


def replacements(births: "Births") -> None:
    """Add what the places of others say of those that take their place to the graph."""
    for node in births.module.nodes():
        if node.op is Op.PHI and isinstance(node.syntax, ast.For | ast.While | ast.AsyncFor):
            _in_next_turn(births, node)
        elif node.op is Op.PHI and node.syntax is None:
            _instead(births, node)
        elif node.op is Op.COMPARE and node.extra in _COMPARING:
            _rebuilt(births, node)
    for store in births.module.stores:
        old = store.value.args[0] if store.value.op is Op.ITEM else store.value
        if not store.is_attribute and old.op is Op.PARAM and births.kinds.of(old) is Kind.TENSOR:
            _filled(births, old, store.base)


def _in_next_turn(births: "Births", turn: Node) -> None:
    """`mask = torch.zeros(n, device=device)`, and in a loop `mask = torch.tensor(rows)`, for an unread call."""
    before, *others = turn.args
    is_given = any(one.op is Op.CALL and turn in one.args[1:] for one in turn.function.nodes)
    if not is_given or births.moves_of(turn) or not _is_placed(births, before):
        return
    for one in others:
        if any(_is_made(births, root) for root in births.roots(one)):
            births.graph.supports(one, before, "made-anew", one.guard)


def _instead(births: "Births", choice: Node) -> None:
    """`if isinstance(x, torch.Tensor) and x.isnan(): x = torch.tensor(0.0)`: the old one was a tensor, of any place."""
    for old in choice.args if len(choice.args) == 2 else ():
        was_tensor = ("isinstance", key(old), "torch.Tensor"), True
        for new in choice.args:
            made = births.graph.is_made(new)
            if new is not old and was_tensor in new.guard and made and not births.moves_of(new):
                births.graph.supports(new, old, "replaces", new.guard)


def _is_placed(births: "Births", node: Node) -> bool:
    sources = births.graph.sources.get(node, ())
    return any(one.birth is Birth.MOVE and one.place.where is Where.DEVICE for one in sources)


def _is_made(births: "Births", node: Node) -> bool:
    return any(one.birth in MADE and not one.scalar for one in births.graph.sources.get(node, ()))


def _rebuilt(births: "Births", test: Node) -> None:
    """`if self.mask.device != x.device: self.mask = torch.zeros(n)`"""
    if not all(one.op is Op.ATTR and one.extra == "device" for one in test.args):
        return
    asked = [one.args[0] for one in test.args]
    bodies = _bodies(test)
    for old, other in (asked, reversed(asked)) if bodies else ():
        for store in test.function.stores if old.op is Op.ATTR and births.kinds.of(other) is Kind.TENSOR else ():
            same = store.is_attribute and store.key == old.extra and key(store.base) == key(old.args[0])
            if same and store.statement in bodies and not _is_moved(births, store.value):
                for one in (store.value, *_made_for(births, store)):
                    births.graph.supports(one, other, "rebuilt-elsewhere", store.guard)


def _made_for(births: "Births", store: Store) -> Iterator[Node]:
    """What is made on the spot, where functions that are not read make the new value of it."""
    for one in store.value.function.nodes:
        if one is not store.value and one.statement is store.statement and _is_made(births, one):
            yield one


def _is_moved(births: "Births", value: Node) -> bool:
    return any(births.moves_of(one) for one in (value, *births.roots(value)))


def _bodies(test: Node) -> set[ast.AST]:
    """The statements that run where a comparison finds two different places."""
    choices = [one for one in walk(test.function.syntax) if isinstance(one, ast.If)]
    differing = test.extra in {("NotEq",), ("IsNot",)}
    found = [one for one in choices if _holds(test.syntax, one.test) is differing]
    return {each for one in found for each in walk(ast.Module(one.body, []))}


def _holds(part: ast.AST | None, test: ast.expr) -> bool | None:
    """Whether a test speaks for one of its parts, or against it; None where it has no such part."""
    if test is part:
        return True
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        held = _holds(part, test.operand)
        return None if held is None else not held
    parts = test.values if isinstance(test, ast.BoolOp) else []
    return next((held for one in parts if (held := _holds(part, one)) is not None), None)


def _filled(births: "Births", old: Node, new: Node) -> None:
    """`wider[:-1] = x` before `x = wider`: all that `x` met, `wider` meets."""
    if any(environment.get(str(old.extra)) is new for environment in old.function.after.values()):
        for root in (root for root in _origins(new) if _is_made(births, root)):
            births.graph.supports(root, old, "replaces", root.guard)


def _origins(node: Node) -> Iterator[Node]:
    """A value, and what it was before a loop filled it."""
    yield node
    if node.op in {Op.PHI, Op.AFTER}:
        yield from node.args[:1]


_COMPARING = frozenset({("NotEq",), ("Eq",), ("IsNot",), ("Is",)})
"""Comparisons of places."""
