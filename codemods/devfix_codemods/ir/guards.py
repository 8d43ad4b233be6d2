"""What a test says on the path where it holds, and where it does not."""

import ast
from collections.abc import Hashable, Sequence

from devfix_codemods.ir.keys import key, name
from devfix_codemods.ir.nodes import ALWAYS, Function, Guard, Literal, Node, Op
from devfix_codemods.ir.versions import State

MOST_LITERALS = 12
"""Longer path conditions are not followed: what is left out makes more paths possible, never fewer."""


NEVER: Guard = frozenset({(("never",), True)})
"""What holds where nothing runs: under `if False:`."""


def never(guard: Guard) -> bool:
    """Whether nothing runs under a condition."""
    return guard >= NEVER


def joined(first: Guard, second: Guard) -> Guard:
    """Both conditions, as far as they are followed."""
    if not second or second <= first:
        return first
    both = first | second
    return both if len(both) <= MOST_LITERALS else first


def held_at_end(function: Function) -> Guard:
    """What holds wherever a function ends in order: what is asserted in it, or raised if not."""
    ends = [*(guard for _, guard in function.returns), *((function.exit,) if function.exit is not None else ())]
    return common(ends)


def common(guards: Sequence[Guard]) -> Guard:
    """What all of several conditions ask for; nothing where there is none."""
    return frozenset[Literal]().union(*guards[:1]).intersection(*guards)


def covers(guards: Sequence[Guard]) -> bool:
    """Whether one of several conditions holds on every path: that none is left open, or both answers of a test."""
    if frozenset() in guards:
        return True
    tested = [one for guard in guards for one in guard]
    both = next((atom for atom, holds in tested if (atom, not holds) in tested), None)
    return both is not None and all(covers(_where(guards, (both, holds))) for holds in (True, False))


def _where(guards: Sequence[Guard], known: Literal) -> list[Guard]:
    """What is left of several conditions where one literal is known to hold."""
    atom, holds = known
    return [one - {known} for one in guards if (atom, not holds) not in one]


class Tests:
    """Turns tests into guards. `value` gives the node of an expression of the test."""

    def __init__(self) -> None:
        self.values: dict[ast.expr, Node] = {}
        self.states: dict[ast.expr, State] = {}
        """What had changed of all that a test reads when it was made."""

    def guard(self, test: ast.expr, holds: bool) -> Guard:
        """The literals that follow from `test` having been `holds`."""
        match test:
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return self.guard(operand, not holds)
            case ast.BoolOp(op=ast.And(), values=values) if holds:
                return self._compound(test, holds).union(*(self.guard(one, True) for one in values))
            case ast.BoolOp(op=ast.Or(), values=values) if not holds:
                return ALWAYS.union(*(self.guard(one, False) for one in values))
            case ast.BoolOp(op=ast.And()):
                return self._compound(test, holds)
            case ast.BoolOp():
                return ALWAYS
            case ast.NamedExpr(value=value):
                return self.guard(value, holds)
            case ast.Constant(value=value):
                return ALWAYS if bool(value) is holds else NEVER
        literal = self._literal(test)
        if literal is None:
            return ALWAYS
        atom, positive = literal
        return frozenset({(atom, positive is holds)})

    def _compound(self, test: ast.BoolOp, holds: bool) -> Guard:
        """A conjunction as an atom of its own: where it does not hold, nothing is known of its parts."""
        parts = [self.guard(one, True) for one in test.values]
        return frozenset({(("and", *parts), holds)}) if all(len(one) == 1 for one in parts) else ALWAYS

    def _literal(self, test: ast.expr) -> Literal | None:
        node = self.values.get(test)
        if node is None:
            return None
        atom, positive = literal(node)
        state = self.states.get(test)
        return (("since", state, atom) if state else atom), positive


def literal(node: Node) -> Literal:
    """The atom that a value tests by being true, and whether it holds then."""
    if node.op is Op.COMPARE and len(node.args) == 2:
        return comparison(node)
    if node.op is Op.CALL and name(node.args[0]) == "builtins.isinstance" and len(node.args) == 3:
        return _is_instance(node.args[1], node.args[2]), True
    if node.op is Op.CALL and name(node.args[0]) == "builtins.bool" and len(node.args) == 2:
        return literal(node.args[1])
    if node.op is Op.CALL and name(node.args[0]) == "torch.is_tensor" and len(node.args) == 2:
        return ("isinstance", key(node.args[1]), "torch.Tensor"), True
    if node.op is Op.PHI and (same := _same_test(node)) is not None:
        return same
    if node.op is Op.CONST:  # two flags that are set to the same are two
        return ("node", node.index), True
    return key(node), True


def _is_instance(value: Node, types: Node) -> Hashable:
    if isinstance(types.syntax, ast.expr):
        return "isinstance", key(value), ast.unparse(types.syntax)
    named = name(types)
    return "isinstance", key(value), named.removeprefix("builtins.") if named is not None else key(types)


def _same_test(node: Node) -> Literal | None:
    """`flag = True if test else False`, and both in branches: the test itself."""
    values = [one.extra if one.op is Op.CONST else None for one in node.args]
    guards = node.extra
    if sorted(map(repr, values)) == ["False", "True"] and isinstance(guards, tuple):
        unset = guards[values.index(False)]
        positive = guards[values.index(True)] - unset
        if len(positive) == 1:
            found: Literal = next(iter(positive))
            return found if (found[0], not found[1]) in unset else None
    return None


def comparison(node: Node) -> Literal:
    """The literal of a comparison of two values."""
    operators = node.extra
    assert isinstance(operators, tuple)
    return compared(operators[0], *node.args)


def compared(operator: str, left: Node, right: Node) -> Literal:
    """`x is None` and `x is not None` are one atom, as are `==` and `!=`, `in` and `not in`.

    `type(x) is T` and `type(x) in (T, U)` ask what `isinstance` asks.
    """
    if right.op is Op.CONST and right.extra is None and operator in {"Is", "IsNot", "Eq", "NotEq"}:
        return ("none", key(left)), operator in {"Is", "Eq"}
    positive = _NEGATED.get(operator)
    asks_type = left.op is Op.CALL and len(left.args) == 2 and name(left.args[0]) == "builtins.type"
    if asks_type and isinstance(right.syntax, _TYPES):
        return _is_instance(left.args[1], right), positive is None
    return ("compare", positive or operator, key(left), key(right)), positive is None


_TYPES = (ast.Name, ast.Attribute, ast.Tuple, ast.List, ast.Set)
_NEGATED = {"NotEq": "Eq", "IsNot": "Is", "NotIn": "In"}


def asks_type(guard: Guard, value: Node) -> bool:
    """Whether a guard asks what sort of thing a value is: it may be another one elsewhere."""
    return any(isinstance(atom, tuple) and atom[:2] == ("isinstance", key(value)) for atom, _ in guard)
