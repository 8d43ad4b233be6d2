"""What an omitted argument, or an empty cache, is filled with: `if h is None: h = torch.zeros(…)`.

The two branches leave values of different places, and a join would forget both. The run in which nothing was given is
one that the program provides for, so what that branch makes on the host is kept.
"""

import ast

from devfix_codemods.flow.evidence import dotted
from devfix_codemods.flow.places import HOST
from devfix_codemods.flow.records import replace
from devfix_codemods.flow.state import State
from devfix_codemods.flow.values import Birth, Kind, Value


def omission(test: ast.expr) -> tuple[ast.expr, bool] | None:
    """The name or attribute that `test` compares with None, and whether the test holds where it is None."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = omission(test.operand)
        return None if inner is None else (inner[0], not inner[1])
    if isinstance(test, ast.BoolOp):
        return _of_several(test)
    if not isinstance(test, ast.Compare) or len(test.ops) != 1 or not isinstance(test.ops[0], (ast.Is, ast.IsNot)):
        return None
    with_none = isinstance(test.comparators[0], ast.Constant) and test.comparators[0].value is None
    return (test.left, isinstance(test.ops[0], ast.Is)) if with_none and dotted(test.left) else None


def _of_several(test: ast.BoolOp) -> tuple[ast.expr, bool] | None:
    """`a is None or …` holds where `a` is None; `a is not None and …` does not."""
    found = omission(test.values[0])
    return found if found is not None and found[1] is isinstance(test.op, ast.Or) else None


def keep_defaults(joined: State, without: State, before: State) -> None:
    """Let `joined` hold the host tensors that the branch without the argument, `without`, has made."""
    for name, value in without.env.items():
        if is_default(value) and before.env.get(name) is not value and name in joined.env:
            joined.env[name] = replace(value, optional=joined.env[name].optional)
    for token, known in without.objects.items():
        held = before.objects.get(token)
        for name, value in known.attributes.items():
            if is_default(value) and (held is None or held.attributes.get(name) is not value):
                joined.set_attribute(token, name, value)


def is_default(value: Value) -> bool:
    """A tensor that a factory has just made on the host, or a tuple of such."""
    if value.kind is Kind.SEQUENCE and value.items:
        return all(is_default(one) for _, one in value.items)
    return (
        value.kind is Kind.TENSOR
        and value.place == HOST
        and value.origin is not None
        and value.origin.birth is Birth.FACTORY
    )
