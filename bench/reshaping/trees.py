"""What changes of shape share: blocks, names, and the making of nodes."""

import ast
from collections.abc import Callable, Iterator, Sequence
from itertools import count

Reshaping = Callable[[ast.Module], None]
Function = ast.FunctionDef | ast.AsyncFunctionDef
Statements = list[ast.stmt]
SUSPENDS = (ast.Yield, ast.YieldFrom, ast.Await, ast.NamedExpr)
OWN = "zq_"
"""What the names that a reshaping makes begin with: it says nothing to devfix, which reads names as well."""


class NewNames:
    """New names, which no program has."""

    def __init__(self) -> None:
        self._count = count(1)

    def new(self) -> str:
        return f"{OWN}{next(self._count)}"


def functions(tree: ast.Module) -> Iterator[Function]:
    return (node for node in ast.walk(tree) if isinstance(node, Function))


def each_block(tree: ast.Module, change: Callable[[Statements], Statements], *, module: bool = False) -> None:
    """All blocks of statements within functions, where asked for those of the module too, the inner ones first."""

    def within(node: ast.AST, is_inside: bool) -> None:
        for name in ("body", "orelse", "finalbody"):
            block = getattr(node, name, None)
            if not (isinstance(block, list) and block):
                continue
            for one in block:
                within(one, (is_inside or isinstance(one, Function)) and not isinstance(one, ast.ClassDef))
            if is_inside:
                setattr(node, name, change(block))
        for part in [*getattr(node, "handlers", ()), *getattr(node, "cases", ())]:
            within(part, is_inside)

    within(tree, module)


def each_statement(tree: ast.Module, change: Callable[[ast.stmt], Sequence[ast.stmt]], *, module: bool = False) -> None:
    each_block(tree, lambda block: [new for one in block for new in change(one)], module=module)


def has(node: ast.AST, *sorts: type[ast.AST]) -> bool:
    return any(isinstance(one, sorts) for one in ast.walk(node))


def calls(node: ast.AST, *names: str) -> bool:
    return any(
        isinstance(one, ast.Call) and isinstance(one.func, ast.Name) and one.func.id in names for one in ast.walk(node)
    )


def assigned(name: str, value: ast.expr) -> ast.Assign:
    return ast.Assign(targets=[ast.Name(name, ast.Store())], value=value)


def read(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())


def inserted(tree: ast.Module, statements: Sequence[ast.stmt]) -> None:
    """New statements at the top of the module, behind its docstring and what must come first."""
    at = int(ast.get_docstring(tree, clean=False) is not None)
    while at < len(tree.body) and isinstance(one := tree.body[at], ast.ImportFrom) and one.module == "__future__":
        at += 1
    tree.body[at:at] = statements


def without_docstring(body: Statements) -> tuple[Statements, Statements]:
    match body:
        case [ast.Expr(value=ast.Constant(value=str())) as first, *rest] if rest:
            return [first], rest
    return [], body


class Renamed(ast.NodeTransformer):
    def __init__(self, names: dict[str, str]) -> None:
        self._names = names

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.copy_location(ast.Name(self._names.get(node.id, node.id), node.ctx), node)
