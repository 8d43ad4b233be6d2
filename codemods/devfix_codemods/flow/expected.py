"""Code that is meant to fail: what a test says it expects an error of."""

import ast
import re

from devfix_codemods.flow.evidence import last_name
from devfix_codemods.flow.names import Names

_RAISES = re.compile(r"assert_?[rR]aises\w*|raises|expect_?[rR]aises\w*")
_MARKS = frozenset({"expectedFailure", "xfail"})
_FAILS = frozenset({"fail", "AssertionError"})


def is_meant_to_fail(names: Names, node: ast.AST) -> bool:
    """Whether an error is expected of `node`: `with pytest.raises(…):`, `assertRaises(Error, lambda: …)`.

    So it is in a `try` that fails the test where nothing is raised, and in a test that is marked as one that fails.
    """
    inner = node
    for outer in names.ancestors(node):
        match outer:
            case ast.With(items=items) | ast.AsyncWith(items=items):
                if inner in outer.body and any(_expects(one.context_expr) for one in items):
                    return True
            case ast.Call() if _expects(outer):
                return True
            case ast.Try(body=body) if inner in body and _fails(body[-1]):
                return True
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                return any(last_name(_called(one)) in _MARKS for one in outer.decorator_list)
        inner = outer
    return False


def _expects(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and _RAISES.fullmatch(last_name(node.func) or "") is not None


def _fails(statement: ast.stmt) -> bool:
    """`self.fail()`, `assert False`, `raise AssertionError`."""
    match statement:
        case ast.Assert(test=ast.Constant(value=value)):
            return not value
        case ast.Expr(value=ast.Call() as call) | ast.Raise(exc=ast.expr() as call):
            return last_name(_called(call)) in _FAILS
    return False


def _called(node: ast.expr) -> ast.expr:
    return node.func if isinstance(node, ast.Call) else node
