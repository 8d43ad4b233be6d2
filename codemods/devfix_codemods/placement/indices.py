"""What the indices and the operands of an operation say by their shape alone."""

import ast
from collections.abc import Iterator

from devfix_codemods.ir import Node, Op
from devfix_codemods.ir.items import whole
from devfix_codemods.ir.keys import key


def indices(item: Node) -> Iterator[Node]:
    """`i` and `j` of `x[i, :, j]`"""
    for one in item.args[1:]:
        yield from one.args if one.op is Op.SEQUENCE and one.extra == "tuple" else (one,)


def compared(index: Node) -> Node | None:
    """`(x > 1).flatten()`: what tensors are indexed by is element-wise, where it is a comparison."""
    while index.op is Op.CALL and index.args[0].op is Op.ATTR and len(index.args) == 1:
        index = index.args[0].args[0]
    return index if index.op is Op.COMPARE else None


def is_item(index: Node) -> bool:
    """`drawn[0]`: often a 0-dim tensor, which indexes tensors in any place."""
    return index.op is Op.ITEM and isinstance(index.extra, int)


def is_of_given_row(item: Node) -> bool:
    """`x` of `for x in xs`, and `xs[0]`, of what a caller gives."""
    return (item.op is Op.ITER or isinstance(item.extra, int)) and item.args[0].op is Op.PARAM


def slices(index: Node) -> bool:
    return index.extra == "slice" or index.op in {Op.SEQUENCE, Op.COMPREHENSION}


def is_tested(operand: Node, operation: Node) -> bool:
    """`if p: x * p[0]`: what is true or false by itself is a number, or holds some, rather than a tensor."""
    return (key(whole(operand)), True) in operation.guard


def is_asserted(operation: Node) -> bool:
    """`assert torch.equal(x, y)`, `self.assertTrue(…)`: what is expected may be on the host, as all of it then is."""
    match operation.statement:
        case ast.Assert():
            return True
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr=called) | ast.Name(id=called))):
            return called.startswith("assert")
    return False


def is_of_tensor(index: Node | None) -> bool:
    """`x[:, 2]`: what only tensors and arrays are indexed by, and what is stored there is copied."""
    if index is None:
        return False
    return index.extra == "slice" or (index.op is Op.SEQUENCE and any(map(is_of_tensor, index.args)))


def slices_columns(index: Node) -> bool:
    """`x[:, 1:]`: several dimensions at once."""
    return index.op is Op.SEQUENCE and any(one.extra == "slice" for one in index.args)
