"""Walking finds what `ast.walk` finds, in its order."""

import ast

import pytest
from devfix_codemods.project.tree import walk

CODE = """
@decorated(1)
class A(B, metaclass=C):
    x: int = y[1:2, ...]
    async def f(self, a, /, b: T = 1, *c, d=None, **e) -> U:
        async for i in self.g(*a, k=b):
            if i < 1 < 2:
                continue
            elif not i:
                break
            else:
                del a.b, a[0]
        else:
            await b
        try:
            with c as d, e:
                assert d, 'text'
        except (V, W) as error:
            raise X from error
        else:
            a.b += lambda q=1: (yield q)
        finally:
            return {**a, 'k': [j for j in c if j], 's': {*b}}
"""
MORE = """
match x:
    case {'a': [1, *rest], **others} if rest:
        while (y := x @ z):
            global g
            g = f'{y!r:>{w}}'
    case P(q, r=None) | True as s:
        import a.b as c, d
        from . import *
print(-x if x else x ** 2, (a and b) is c)
"""


def holds_code(node: ast.AST) -> bool:
    return not isinstance(node, (ast.expr_context, ast.operator, ast.unaryop, ast.boolop, ast.cmpop))


@pytest.mark.parametrize("code", [CODE, MORE])
def test_walk_leaves_out_nothing_that_holds_code(code: str) -> None:
    tree = ast.parse(code)
    assert list(walk(tree)) == [one for one in ast.walk(tree) if holds_code(one)]
