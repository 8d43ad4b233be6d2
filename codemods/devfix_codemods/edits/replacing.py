"""New code in the place of an expression, with the brackets that either needs."""

import libcst as cst
from devfix_codemods.edits import brackets, fragments
from devfix_codemods.edits.operations import NODE

Brackets = tuple[list[cst.LeftParen], list[cst.RightParen]]


def replaced(
    code: str, old: cst.BaseExpression, new: cst.BaseExpression, parent: cst.CSTNode, beside: tuple[str, str]
) -> cst.BaseExpression:
    """`code` in the place of `old`, its `__node__` being `new` (which is `old` with the edits inside it).

    `beside` are the characters next to `old` and its brackets.
    """
    fragment = fragments.expression(code)
    finder = _Finder()
    fragment.visit(finder)
    core, around = _without_brackets(new)
    if finder.demand is not None and brackets.level(core) < finder.demand:
        # brackets that the original needs go with it
        core = _bracketed(core, around) if around[0] else brackets.add(core)
        around = ([], [])
    elif finder.beside_dot and brackets.holds_number(core):
        core = brackets.add(core)
    result = fragment.visit(_Filler(core))
    assert isinstance(result, cst.BaseExpression)  # the filler puts expressions in the place of names
    if not around[0] and _needs_brackets(result, old, parent, beside):
        return brackets.add(result)
    return _bracketed(result, around)


def _without_brackets(node: cst.BaseExpression) -> tuple[cst.BaseExpression, Brackets]:
    """`node` and the brackets around it; the innermost pair of a tuple or generator is part of it."""
    own = 1 if node.lpar and isinstance(node, cst.Tuple | cst.GeneratorExp) else 0
    outer = len(node.lpar) - own
    around = (list(node.lpar[:outer]), list(node.rpar[own:]))
    return node.with_changes(lpar=node.lpar[outer:], rpar=node.rpar[:own]), around


def _bracketed(node: cst.BaseExpression, around: Brackets) -> cst.BaseExpression:
    left, right = around
    return node.with_changes(lpar=[*left, *node.lpar], rpar=[*node.rpar, *right]) if left else node


def _needs_brackets(
    node: cst.BaseExpression, old: cst.BaseExpression, parent: cst.CSTNode, beside: tuple[str, str]
) -> bool:
    level = brackets.level(node)
    if level < min(brackets.demanded(parent, old), brackets.level(old)):
        return True
    text = cst.Module(()).code_for_node(node)
    if isinstance(parent, cst.FormattedStringExpression):
        return level <= brackets.CONDITIONAL or text.startswith("{")
    if isinstance(parent, cst.Attribute) and parent.value is old and brackets.holds_number(node):
        return True
    before, after = beside
    return _joins(before, text[:1]) or _joins(text[-1:], after)


def _joins(left: str, right: str) -> bool:
    """Whether two characters side by side would be read as one word or number."""
    return bool(left and right) and (left.isalnum() or left == "_") and (right.isalnum() or right in "_\"'")


class _Finder(cst.CSTVisitor):
    """Finds `__node__`: how tightly it must bind at the tightest of its places."""

    def __init__(self) -> None:
        self.demand: int | None = None
        self.beside_dot = False
        self._parents: list[cst.CSTNode] = []

    def on_visit(self, node: cst.CSTNode) -> bool:
        if isinstance(node, cst.Name) and node.value == NODE:
            parent = self._parents[-1] if self._parents else None
            demand = brackets.BARE if parent is None else brackets.demanded(parent, node)
            self.demand = max(self.demand or brackets.BARE, demand)
            self.beside_dot |= isinstance(parent, cst.Attribute)
        self._parents.append(node)
        return True

    def on_leave(self, original_node: cst.CSTNode) -> None:
        self._parents.pop()


class _Filler(cst.CSTTransformer):
    def __init__(self, node: cst.BaseExpression) -> None:
        super().__init__()
        self._node = node

    def leave_Name(self, original_node: cst.Name, updated_node: cst.Name) -> cst.BaseExpression:  # noqa: N802 (libcst)
        return self._node if updated_node.value == NODE else updated_node
