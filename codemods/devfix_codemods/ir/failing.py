"""Code that is meant to fail: what a test says it expects an error of."""

import ast
import re

from devfix_codemods.ir.nodes import Function, Guard, Node

MEANT_TO_FAIL: Guard = frozenset({(("meant-to-fail",), True)})
"""What holds where an error is expected."""

_RAISES = re.compile(r"assert_?[rR]aises\w*|raises|expect_?[rR]aises\w*")


def expects_error(callee: Node) -> bool:
    """`pytest.raises`, `self.assertRaises`"""
    return _RAISES.fullmatch(str(callee.extra).rpartition(".")[2]) is not None


def is_marked(function: Function) -> bool:
    """Whether a test is marked as one that fails."""
    return not {"expectedFailure", "xfail"}.isdisjoint(function.decorators)


def fails_behind(body: list[ast.stmt]) -> bool:
    """Whether a test fails where nothing is raised: `self.fail()` at the end, `raise AssertionError`."""
    match body[-1]:
        case ast.Assert(test=ast.Constant(value=value)):
            return not value
        case ast.Expr(value=ast.Call(func=called)) | ast.Raise(exc=ast.Call(func=called) | (ast.Name() as called)):
            name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", None)
            return name in {"fail", "AssertionError"}
    return False
