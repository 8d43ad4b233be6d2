"""Parameters that may be None where a statement runs: they have no device there."""

import ast
from collections.abc import Iterator

from devfix_codemods import scope
from devfix_codemods.program import Program
from devfix_codemods.rules._callers import arguments


def may_be_none(program: Program, name: str, node: ast.AST) -> bool:
    """Whether `name`, read at `node`, is a parameter that may be None, and that nothing above has ruled out.

    By its default or its annotation, by a test in the function, or because a call of it gives None.
    """
    function = scope.function_around(program, node)
    if function is None or name not in scope.parameters(function) or _is_settled(program, name, node):
        return False
    if name in optional_parameters(function) or any(_tested(one) == name for one in ast.walk(function)):
        return True
    given = (one for _, one in arguments(program, function, name))
    return any(isinstance(one, ast.Constant) and one.value is None for one in given)


def optional_parameters(function: scope.Function) -> set[str]:
    """Parameters that may be None: by default, or by annotation."""
    spec = function.args
    positional = [*spec.posonlyargs, *spec.args]
    defaults = dict(zip((one.arg for one in reversed(positional)), reversed(spec.defaults)))
    defaults.update({one.arg: node for one, node in zip(spec.kwonlyargs, spec.kw_defaults) if node is not None})
    found = {name for name, node in defaults.items() if isinstance(node, ast.Constant) and node.value is None}
    for one in (*positional, *spec.kwonlyargs):
        text = ast.unparse(one.annotation) if one.annotation is not None else ""
        if "Optional" in text or "None" in text:
            found.add(one.arg)
    return found


def _tested(node: ast.AST) -> str | None:
    """The name that is compared with None: `x is None`, `x is not None`."""
    match node:
        case ast.Compare(
            left=ast.Name(id=name),
            ops=[ast.Is() | ast.IsNot() | ast.Eq() | ast.NotEq()],
            comparators=[ast.Constant(value=None)],
        ):
            return name
    return None


# What rules it out


def _is_settled(program: Program, name: str, node: ast.AST) -> bool:
    """Read as an object above, given a value where it was None, or asked on the way here."""
    statement = program.names.statement(node)
    return (
        any(name in _dereferenced(one) for one in surely_run_before(program, statement))
        or any(_sorts_out(one, name) for one in _above(program, statement))
        or _is_behind_test(program, name, node)
    )


def _above(program: Program, statement: ast.stmt) -> Iterator[ast.stmt]:
    """All statements that come before `statement` in the blocks around it, in its function."""
    inner: ast.AST = statement
    while isinstance(inner, ast.stmt) and not isinstance(inner, scope.Function | ast.ClassDef):
        for one in scope.block_of(program, inner):
            if one is inner:
                break
            yield one
        outer = program.names.parent(inner)
        if isinstance(outer, ast.ExceptHandler | ast.match_case):
            outer = program.names.parent(outer)
        if outer is None:
            return
        inner = outer


def _sorts_out(statement: ast.stmt, name: str) -> bool:
    """`assert x is not None`, and `if x is None:` with a new value for it, or with a way out."""
    match statement:
        case ast.Assert(test=test):
            return name in _not_none(test, holds=True)
        case ast.If(test=test, body=body, orelse=orelse):
            return (name in _not_none(test, holds=False) and _ends_or_sets(body, name)) or (
                bool(orelse) and name in _not_none(test, holds=True) and _ends_or_sets(orelse, name)
            )
    return False


def _ends_or_sets(block: list[ast.stmt], name: str) -> bool:
    return scope.leaves(block) or any(isinstance(one, ast.Assign) and name in scope.stored(one) for one in block)


def _is_behind_test(program: Program, name: str, node: ast.AST) -> bool:
    """`if x is not None:` around it, `… if x is not None else …`, `x is not None and …`."""
    inner = node
    for outer in program.names.ancestors(node):
        match outer:
            case ast.If(test=test, body=body) | ast.While(test=test, body=body) if inner is not test:
                if name in _not_none(test, holds=inner in body):
                    return True
            case ast.IfExp(test=test, body=first) if inner is not test:
                if name in _not_none(test, holds=inner is first):
                    return True
            case ast.BoolOp(op=op, values=values) if inner in values:
                before = values[: values.index(inner)]
                if any(name in _not_none(one, holds=isinstance(op, ast.And)) for one in before):
                    return True
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                return False
        inner = outer
    return False


def _not_none(test: ast.expr, *, holds: bool) -> set[str]:
    """The names that are surely not None where `test` holds, or where it does not."""
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            return _not_none(inner, holds=not holds)
        case ast.BoolOp(op=op, values=values) if isinstance(op, ast.And) is holds:
            return {name for one in values for name in _not_none(one, holds=holds)}
        case ast.Compare(ops=[ast.IsNot() | ast.NotEq()]) if holds and (name := _tested(test)):
            return {name}
        case ast.Compare(ops=[ast.Is() | ast.Eq()]) if not holds and (name := _tested(test)):
            return {name}
        case ast.Name(id=name) if holds:
            return {name}
        case ast.Call(func=ast.Name(id="isinstance"), args=[ast.Name(id=name), *_]) if holds:
            return {name}
        case ast.Call(func=ast.Attribute(attr="is_tensor"), args=[ast.Name(id=name), *_]) if holds:
            return {name}
    return set()


def surely_run_before(program: Program, statement: ast.stmt) -> Iterator[ast.stmt]:
    """Simple statements that have run whenever `statement` starts, and itself."""
    inner = statement
    while True:
        for one in scope.block_of(program, inner):
            if one is inner:
                break
            if isinstance(one, (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr, ast.Assert)):
                yield one
        outer = program.names.parent(inner)
        if not isinstance(outer, ast.stmt) or isinstance(outer, scope.Function | ast.ClassDef):
            break
        inner = outer
    if isinstance(statement, (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr, ast.Return)):
        yield statement


def _dereferenced(statement: ast.stmt) -> set[str]:
    """Names of which a statement reads an attribute or an item, on every path through it."""
    found: set[str] = set()
    pending: list[ast.AST] = [statement]
    while pending:
        node = pending.pop()
        if isinstance(node, (ast.IfExp, ast.BoolOp, ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp)):
            continue
        if isinstance(node, (ast.Attribute, ast.Subscript)) and isinstance(node.value, ast.Name):
            found.add(node.value.id)
        pending.extend(ast.iter_child_nodes(node))
    return found
