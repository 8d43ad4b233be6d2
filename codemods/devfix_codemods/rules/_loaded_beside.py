"""The place that other loads of the same function say, for one that was forgotten."""

import ast

from devfix_codemods import scope
from devfix_codemods.program import Program


def place_beside(program: Program, call: ast.Call, position: int) -> str | None:
    """The `map_location` that the other loads of the function agree on, where its names are bound at `call`.

    They call the same function, which takes it at `position`: a program is no state.
    """
    around, loader = scope.function_around(program, call), program.names.qualified(call.func)
    bound = scope.bound_at(program, program.names.statement(call)) if around is not None else set()
    texts: set[str | None] = set()
    for other in program.names.calls if around is not None else ():
        if other is call or program.names.qualified(other.func) != loader:
            continue
        if scope.function_around(program, other) is not around:
            continue
        place = _place(other, position)
        if place is not None:
            texts.add(_under_its_test(program, other, call, place) if set(scope.reads(place)) <= bound else None)
    return texts.pop() if len(texts) == 1 else None


def _place(load: ast.Call, position: int) -> ast.expr | None:
    named = next((one.value for one in load.keywords if one.arg == "map_location"), None)
    given = load.args[position] if named is None and len(load.args) > position else named
    return None if isinstance(given, ast.Constant) and given.value is None else given


def _under_its_test(program: Program, other: ast.Call, call: ast.Call, place: ast.expr) -> str | None:
    """`place`, or `place if not torch.cuda.is_available() else None` where that test stands around `other` alone."""
    text = program.source.segment(program.source.span(place))
    shared = set(program.names.ancestors(call))
    inner: ast.AST = other
    for outer in program.names.ancestors(other):
        if outer in shared:
            return text if "\n" not in text else None
        if isinstance(outer, ast.Try | ast.ExceptHandler):
            return None
        if isinstance(outer, ast.If | ast.IfExp) and inner is not outer.test:
            first = outer.body if isinstance(outer.body, list) else [outer.body]
            test = program.source.segment(program.source.span(outer.test))
            if not _asks_for_host(program, outer.test, inner in first) or " if " in text:
                return None
            text = f"{text} if {test} else None" if inner in first else f"None if {test} else {text}"
        inner = outer
    return None


def _asks_for_host(program: Program, test: ast.expr, wanted: bool) -> bool:
    """Whether a branch runs where CUDA is not there: `not torch.cuda.is_available()`, and nothing else."""
    while isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        test, wanted = test.operand, not wanted
    is_asked = isinstance(test, ast.Call) and program.names.qualified(test.func) == "torch.cuda.is_available"
    return is_asked and not wanted
