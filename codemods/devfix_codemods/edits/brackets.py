"""When an expression needs brackets in its place."""

import libcst as cst

BARE, NAMED, CONDITIONAL, OR, AND, NOT, COMPARISON = range(7)
_SUM, _UNARY, _POWER, _AWAIT, ATOM = 11, 13, 14, 15, 16

_BINARY: dict[type[cst.BaseBinaryOp], int] = {
    cst.BitOr: 7,
    cst.BitXor: 8,
    cst.BitAnd: 9,
    cst.LeftShift: 10,
    cst.RightShift: 10,
    cst.Add: _SUM,
    cst.Subtract: _SUM,
    cst.Multiply: 12,
    cst.Divide: 12,
    cst.FloorDivide: 12,
    cst.Modulo: 12,
    cst.MatrixMultiply: 12,
    cst.Power: _POWER,
}
_LEVELS: dict[type[cst.BaseExpression], int] = {
    cst.Tuple: BARE,
    cst.GeneratorExp: BARE,
    cst.Yield: BARE,
    cst.NamedExpr: NAMED,
    cst.Lambda: CONDITIONAL,
    cst.IfExp: CONDITIONAL,
    cst.Comparison: COMPARISON,
    cst.Await: _AWAIT,
}


def level(node: cst.BaseExpression) -> int:
    """How tightly `node` binds, from `BARE` to `ATOM`."""
    if node.lpar:
        return ATOM
    if isinstance(node, cst.BinaryOperation):
        return _BINARY[type(node.operator)]
    if isinstance(node, cst.BooleanOperation):
        return OR if isinstance(node.operator, cst.Or) else AND
    if isinstance(node, cst.UnaryOperation):
        return NOT if isinstance(node.operator, cst.Not) else _UNARY
    return _LEVELS.get(type(node), ATOM)


def demanded(parent: cst.CSTNode, child: cst.CSTNode) -> int:
    """How tightly an expression in the place of `child` must bind to need no brackets in `parent`."""
    if isinstance(parent, cst.Attribute | cst.Subscript):
        return ATOM if child is parent.value else CONDITIONAL
    if isinstance(parent, cst.Call):
        return ATOM
    if isinstance(parent, cst.BinaryOperation):
        return _operand(parent, child)
    if isinstance(parent, cst.BooleanOperation):
        return level(parent) + (child is parent.right)
    if isinstance(parent, cst.UnaryOperation):
        return level(parent)
    if isinstance(parent, cst.IfExp):
        return CONDITIONAL if child is parent.orelse else OR
    if isinstance(parent, cst.CompFor | cst.CompIf | cst.FormattedStringExpression):
        return OR
    if isinstance(parent, cst.Comparison | cst.ComparisonTarget | cst.StarredElement | cst.StarredDictElement):
        return COMPARISON + 1
    if isinstance(parent, cst.Arg) and parent.star:
        return COMPARISON + 1
    return ATOM if isinstance(parent, cst.Await) else CONDITIONAL


def _operand(parent: cst.BinaryOperation, child: cst.CSTNode) -> int:
    if isinstance(parent.operator, cst.Power):
        return _AWAIT if child is parent.left else _UNARY
    return level(parent) + (child is parent.right)


def holds_number(node: cst.BaseExpression) -> bool:
    """Whether `node` is a bare integer, after which a dot would be a decimal point."""
    return isinstance(node, cst.Integer) and not node.lpar


def add(node: cst.BaseExpression) -> cst.BaseExpression:
    """`node` in one more pair of brackets."""
    return node.with_changes(lpar=[cst.LeftParen(), *node.lpar], rpar=[*node.rpar, cst.RightParen()])


def fit(node: cst.BaseExpression, demand: int) -> cst.BaseExpression:
    """`node`, in brackets if it binds less tightly than `demand`."""
    return add(node) if level(node) < demand else node
