"""Changes of single statements."""

import ast
from functools import partial

from reshaping.trees import (
    SUSPENDS,
    Function,
    NewNames,
    assigned,
    calls,
    each_statement,
    functions,
    has,
    inserted,
    read,
)


def arguments_named(tree: ast.Module) -> None:
    """`f(g(x))` is `a = g(x)` and `f(a)`."""
    names = NewNames()

    def change(statement: ast.stmt) -> list[ast.stmt]:
        match statement:
            case (
                ast.Assign(value=ast.Call() as call)
                | ast.Expr(value=ast.Call() as call)
                | ast.Return(value=ast.Call() as call)
            ) if not has(statement, *SUSPENDS) and not has(call.func, ast.Call):
                pass
            case _:
                return [statement]
        if any(isinstance(one, ast.Starred) for one in call.args) or any(one.arg is None for one in call.keywords):
            return [statement]
        made: list[ast.stmt] = []

        def named(value: ast.expr) -> ast.expr:
            if not has(value, ast.Call):
                return value
            name = names.new()
            made.append(assigned(name, value))
            return read(name)

        call.args = [named(one) for one in call.args]
        for one in call.keywords:
            one.value = named(one.value)
        return [*made, statement]

    each_statement(tree, change)


def chains_named(tree: ast.Module) -> None:
    """`y = x.f().g()` is `a = x.f()` and `y = a.g()`."""
    names = NewNames()

    def change(statement: ast.stmt) -> list[ast.stmt]:
        made: list[ast.stmt] = []
        value = getattr(statement, "value", None)
        if not isinstance(statement, ast.Assign | ast.Expr | ast.Return) or has(statement, *SUSPENDS):
            return [statement]
        while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
            inner = value.func.value
            if not isinstance(inner, ast.Call) or calls(inner, "super"):
                break
            name = names.new()
            made.insert(0, assigned(name, inner))
            value.func.value = read(name)
            value = inner
        return [*made, statement]

    each_statement(tree, change)


def values_named_first(tree: ast.Module) -> None:
    """`x = e` is `a = e` and `x = a`."""
    names = NewNames()

    def change(statement: ast.stmt) -> list[ast.stmt]:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                first = names.new()
                return [assigned(first, value), assigned(name, read(first))]
        return [statement]

    each_statement(tree, change)


def names_printed(tree: ast.Module) -> None:
    """Each name is printed when it is bound, as people do who look for a bug."""

    def change(statement: ast.stmt) -> list[ast.stmt]:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)]):
                return [statement, ast.Expr(ast.Call(read("print"), [ast.Constant(name), read(name)], []))]
        return [statement]

    each_statement(tree, change)


def names_annotated(tree: ast.Module) -> None:
    """`x = e` is `x: Any = e`: annotations of local names are not run."""
    for function in functions(tree):
        each_statement(ast.Module([function], []), partial(_annotated, shared=_declared(function)))


def _annotated(statement: ast.stmt, shared: set[str]) -> list[ast.stmt]:
    match statement:
        case ast.Assign(targets=[ast.Name(id=name) as target], value=value) if name not in shared:
            return [ast.AnnAssign(target, read("Any"), value, simple=1)]
    return [statement]


def _declared(function: Function) -> set[str]:
    """Names that are of the module, or of an outer function."""
    nodes = [node for node in ast.walk(function) if isinstance(node, ast.Global | ast.Nonlocal)]
    return {name for node in nodes for name in node.names}


def passed_through(tree: ast.Module) -> None:
    """`x = e` is `x = same(e)`, each by a function of its own that gives what it is given."""
    names, made = NewNames(), list[ast.stmt]()

    def change(statement: ast.stmt) -> list[ast.stmt]:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                same = names.new()
                made.extend(ast.parse(f"def {same}(value):\n    return value").body)
                return [assigned(name, ast.Call(read(same), [value], []))]
        return [statement]

    each_statement(tree, change)
    inserted(tree, made)


def choices_as_statements(tree: ast.Module) -> None:
    """`x = a if c else b` is `if c: x = a` and `else: x = b`."""

    def change(statement: ast.stmt) -> list[ast.stmt]:
        match statement:
            case ast.Assign(targets=[ast.Name() as target], value=ast.IfExp(test=test, body=body, orelse=orelse)):
                return [ast.If(test, [assigned(target.id, body)], [assigned(target.id, orelse)])]
        return [statement]

    each_statement(tree, change)


def choices_as_expressions(tree: ast.Module) -> None:
    """`if c: x = a` and `else: x = b` are `x = a if c else b`."""

    def change(statement: ast.stmt) -> list[ast.stmt]:
        match statement:
            case ast.If(
                test=test,
                body=[ast.Assign(targets=[ast.Name(id=name)], value=body)],
                orelse=[ast.Assign(targets=[ast.Name(id=other)], value=orelse)],
            ) if name == other:
                return [assigned(name, ast.IfExp(test, body, orelse))]
        return [statement]

    each_statement(tree, change, module=True)
