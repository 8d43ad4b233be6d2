"""Displays that move their values, but one: `x, y = x.cuda(), y`, and `(tensor(a).cuda(), tensor(b))`."""

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from devfix_codemods.catalogue import Effect, Kind, canonical, effect
from devfix_codemods.ir import Node, Op
from devfix_codemods.ir.keys import names
from devfix_codemods.placement.arguments import calls_builtin, is_encoding
from devfix_codemods.placement.naming import sounds_like_length

if TYPE_CHECKING:
    from devfix_codemods.placement.births import Births

LEFT = "left-in-display"
SEVERAL = 3
"""How many values of a row are moved, where the only other one has to be moved as well."""


def left_in_displays(births: "Births") -> None:
    """Who moves a row by one statement, and names a value in it, means to move that too."""
    for op in (Op.SEQUENCE, Op.MAPPING, Op.CALL):
        for row in births.module.of(op):
            moved = list(moved_in(births, row)) if _is_row(row) else []
            if moved:
                _left_behind(births, row, moved)


def moved_in(births: "Births", row: Node) -> Iterator[Node]:
    """What a row moves itself, as against what was moved before it."""
    for one in values_of(row):
        if one.statement is row.statement and births.is_move(one) and births.is_elsewhere(one):
            yield one


def values_of(row: Node) -> tuple[Node, ...]:
    """What stands in a display, or in `dict(x=x, y=y)`."""
    return row.args[1:] if row.op is Op.CALL else row.args


def _is_row(node: Node) -> bool:
    return node.op in {Op.MAPPING, Op.SEQUENCE} or calls_builtin(node, "dict")


def _left_behind(births: "Births", row: Node, moved: list[Node]) -> None:
    left = [*_left(births, row, moved), *_made_alike(births, row, moved), *_of_one(births, row, moved)]
    left += _only_one(births, row, moved)
    for one in dict.fromkeys(left):
        for root in births.roots(one):
            if births.kinds.of(root) in {None, Kind.TENSOR} and not births.moves_of(root):
                base = root.args[0] if root.op is Op.ITEM else None
                if base is None or not is_encoding(base):  # which is told as a whole
                    births.beside_moved(root, base)
                births.graph.supports(root, moved[-1], LEFT, moved[-1].guard)


def _left(births: "Births", row: Node, moved: list[Node]) -> Iterator[Node]:
    """The values of a row that an assignment binds to their own names again; with two that are moved, all tensors."""
    match row.statement:
        case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)) if row.syntax is not None:
            pass
        case ast.Return(value=ast.Tuple(elts=values)) if _is_returned_unmoved(row, values):
            targets = [_origin(one) for one in values]
        case _:
            return
    if len(targets) == len(values) == len(row.args) and row.syntax is row.statement.value:
        for target, value, one in zip(targets, values, row.args):
            if one in moved or not isinstance(base := _origin(value, of_bare_calls=True), ast.Name):
                continue
            beside = len(moved) > 1 and value is base and births.kinds.of(one) is Kind.TENSOR
            if beside or ast.unparse(target) == base.id:
                yield one


def _is_returned_unmoved(row: Node, values: list[ast.expr]) -> bool:
    """Whether the same names are returned on another path as they are: `if gpu: return x, y.cuda()`."""
    names = [ast.unparse(_origin(one)) for one in values]
    others = (one.value for one in ast.walk(row.function.syntax) if isinstance(one, ast.Return))
    return any(isinstance(one, ast.Tuple) and list(map(ast.unparse, one.elts)) == names for one in others)


def _origin(value: ast.expr, *, of_bare_calls: bool = False) -> ast.expr:
    """`x` of `x.to(device).float()`, or only of `x.pin_memory()`, whose method is given nothing by position."""
    while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and not (of_bare_calls and value.args):
        value = value.func.value
    return value


def _made_alike(births: "Births", row: Node, moved: list[Node]) -> Iterator[Node]:
    """The tensors of a row that are made there as those are which it moves; not the very same, which make a pair."""
    roots = [root for one in moved for root in births.roots(one)]
    makers = {_maker(births, root) for root in roots} - {None}
    copied = {_text(root) for root in roots}
    for root in (each for one in values_of(row) if one not in moved for each in births.roots(one)):
        if _maker(births, root) in makers and _text(root) not in copied:
            yield root


def _of_one(births: "Births", row: Node, moved: list[Node]) -> Iterator[Node]:
    """`rows, mask.to(device)`, of what one call gives, and `t["ids"], t["mask"].to(device)`, of what a tokenizer gives:
    the tensors of it; of an encoding that is all."""
    wholes = {root.args[0] for one in moved for root in births.roots(one) if root.op is Op.ITEM}
    for one in values_of(row):
        if one in moved or one.op is not Op.ITEM or one.args[0] not in wholes:
            continue
        if is_encoding(one.args[0]) or (births.kinds.of(one) is Kind.TENSOR and not sounds_like_length(one)):
            yield one


def _only_one(births: "Births", row: Node, moved: list[Node]) -> Iterator[Node]:
    """`a.to(device), b, c.to(device), d.to(device)`, of what modules gave."""
    rest = [one for one in values_of(row) if one not in moved]
    if len(rest) == 1 and len(moved) >= SEVERAL and rest[0].op is Op.ITEM and not sounds_like_length(rest[0]):
        yield from (one for one in rest if _is_given_by_module(births, one.args[0]))


def _is_given_by_module(births: "Births", call: Node) -> bool:
    """`self.cell(x)` of a module, or the call of what is known to be one."""
    callee = call.args[0] if call.op is Op.CALL else None
    if callee is None:
        return False
    owner = call.function.owner if callee.op is Op.ATTR and callee.args[0] is call.function.self_node else None
    is_part = owner is not None and owner in births.kinds.module_classes and str(callee.extra) not in owner.methods
    return births.kinds.is_module(callee) or is_part


def _text(node: Node) -> str:
    return ast.unparse(node.syntax) if isinstance(node.syntax, ast.expr) else str(node.index)


def _maker(births: "Births", node: Node) -> str | None:
    made = node.op is Op.CALL and next(iter(names(node.args[0])), None)
    return made if made and (births.graph.is_made(node) or effect(canonical(made)) is Effect.SEQUENCE) else None
