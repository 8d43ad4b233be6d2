"""Values that go to CUDA for what works there alone, and go back to where they were."""

import ast
from collections.abc import Iterator

from devfix_codemods import scope
from devfix_codemods.flow.evidence import dotted
from devfix_codemods.program import Program
from devfix_codemods.rules._cuda_sites import Site


def comes_back(program: Program, site: Site, device: str) -> bool:
    """`f(x.cuda()).to(device)`: what works on CUDA alone gets it, and its result goes back."""
    inner: ast.AST = site.call
    called = False
    for outer in program.names.ancestors(site.call):
        if not isinstance(outer, (ast.expr, ast.keyword)):
            return False
        called = called or (isinstance(outer, ast.Call) and inner is not outer.func)
        if called and isinstance(outer, ast.Call) and isinstance(inner, ast.Attribute) and inner.attr == "to":
            return [dotted(one) for one in scope.given_to(outer)] == [device]
        inner = outer
    return False


def is_one_of_both(program: Program, site: Site) -> bool:
    """`(x.cuda(), x.cpu())`: the code wants it in both places."""
    around = program.names.parent(site.call)
    if site.receiver is None or not isinstance(around, (ast.Tuple, ast.List)):
        return False
    receiver = ast.dump(site.receiver)
    return any(
        isinstance(one, ast.Call)
        and isinstance(one.func, ast.Attribute)
        and one.func.attr == "cpu"
        and ast.dump(one.func.value) == receiver
        for one in around.elts
    )


def is_remembered(program: Program, site: Site) -> bool:
    """`before = x.device` above `x = x.cuda()`: `before` is where it was, and never where it is to go."""
    moved = dotted(site.receiver) if site.receiver is not None else None
    if moved is None:
        return False
    own = {f"{moved}.device", f"next({moved}.parameters()).device"}
    around = scope.function_around(program, site.call) or program.tree
    above = [one for one in _assigned(around) if one[0].lineno < site.call.lineno]
    for statement, name, value in above:
        if ast.unparse(value) in own:
            later = {other for one, other, _ in above if one.lineno > statement.lineno}
            if later.isdisjoint({moved, name}):
                return True
    return False


def _assigned(around: ast.AST) -> Iterator[tuple[ast.Assign, str, ast.expr]]:
    """What gets a value of its own, by its dotted name."""
    for one in ast.walk(around):
        if isinstance(one, ast.Assign):
            yield from ((one, text, one.value) for target in one.targets if (text := dotted(target)) is not None)
