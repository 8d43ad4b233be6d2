"""Which expression of a frame failed: its source, its operation, and its operands.

From Python 3.11 on code objects tell the columns of each instruction; before that only the line is known, and the whole
statement counts as the failing expression.
"""

from __future__ import annotations

import ast
import linecache
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from types import TracebackType
from typing import Any

CODE_LIMIT = 500

_OPERATORS = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.MatMult: "@",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.LShift: "<<",
    ast.RShift: ">>",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.BitAnd: "&",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.In: "in",
    ast.NotIn: "not in",
    ast.Invert: "~",
    ast.Not: "not",
    ast.UAdd: "+",
    ast.USub: "-",
}


@dataclass(frozen=True)
class Failing:
    """The expression that failed. `node` is None where the source cannot be had."""

    line: int
    code: str
    operation: str = ""
    node: ast.AST | None = None
    column: int | None = None
    end_line: int | None = None
    end_column: int | None = None


def failing(trace: TracebackType) -> Failing:
    """What failed in the frame of `trace`."""
    file = trace.tb_frame.f_code.co_filename
    lines = linecache.getlines(file, trace.tb_frame.f_globals)
    line, end_line, column, end_column = _span(trace)
    whole = lines[line - 1].strip()[:CODE_LIMIT] if 0 < line <= len(lines) else ""
    tree = _parsed("".join(lines))
    if tree is None:
        return Failing(line, whole)
    if column is None or end_line is None or end_column is None:
        statement = _statement(tree, line)
        callee = None if trace.tb_next is None else trace.tb_next.tb_frame.f_code.co_name
        return Failing(line, whole, _named_call(statement, callee), statement)
    around = _around(tree, (line, column), (end_line, end_column))
    if not around:
        return Failing(line, whole)
    node = _meant(around)
    code = ast.get_source_segment("".join(lines), node) or whole
    place = (node.lineno, node.col_offset, node.end_lineno, node.end_col_offset)
    return Failing(place[0], code[:CODE_LIMIT], _operation(node, around), node, *place[1:])


def operands(node: ast.AST) -> list[ast.expr]:
    """The expressions that the operation of `node` works on: receiver and arguments, left and right side."""
    return [part for each in _direct(node) for part in _elements(each)]


def within(node: ast.AST) -> Iterator[ast.expr]:
    """The names, attributes and subscripts inside `node`, each before those that it is made of."""
    for child in _header(node):
        if isinstance(child, (ast.Name, ast.Attribute, ast.Subscript)):
            yield child
        yield from within(child)


def _header(node: ast.AST) -> Iterator[ast.AST]:
    """The parts of `node` that run with it: a function inside it does not, nor does the body of a loop."""
    if isinstance(node, (ast.Lambda, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.withitem):
            yield child.context_expr
        elif not isinstance(child, ast.stmt):
            yield child


def _span(trace: TracebackType) -> tuple[int, int | None, int | None, int | None]:
    """Line, last line, column and last column; the columns count from 0 in bytes."""
    code = trace.tb_frame.f_code
    if hasattr(code, "co_positions"):
        line, end_line, column, end_column = next(islice(code.co_positions(), trace.tb_lasti // 2, None), (None,) * 4)
        if line is not None:
            return line, end_line, column, end_column
    return trace.tb_lineno, None, None, None


def _parsed(source: str) -> ast.Module | None:
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return None


def _statement(tree: ast.Module, line: int) -> ast.stmt | None:
    """The innermost statement that spans `line`."""
    found: ast.stmt | None = None
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or node.lineno):
            found = node
    return found


def _named_call(statement: ast.stmt | None, callee: str | None) -> str:
    """The callee of the one call in `statement` that can have called a function of that name, else of its only call."""
    if statement is None:
        return ""
    calls = list(_calls(statement))
    named = [call for call in calls if _last_name(call.func) == callee]
    chosen = named or calls
    return ast.unparse(chosen[0].func) if len(chosen) == 1 else ""


def _calls(node: ast.AST) -> Iterator[ast.Call]:
    for child in _header(node):
        if isinstance(child, ast.Call):
            yield child
        yield from _calls(child)


def _last_name(node: ast.expr) -> str | None:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else None


def _around(tree: ast.Module, start: tuple[int, int], end: tuple[int, int]) -> list[Any]:
    """The expressions and statements that span from `start` to `end`, from the outside inwards."""
    return [
        node
        for node in ast.walk(tree)
        if isinstance(node, (ast.expr, ast.stmt))
        and node.end_lineno is not None
        and node.end_col_offset is not None
        and (node.lineno, node.col_offset) <= start
        and end <= (node.end_lineno, node.end_col_offset)
    ]


def _meant(around: list[Any]) -> Any:
    """The innermost of `around`; where that is what is assigned to, the assignment."""
    found = around[-1]
    if isinstance(getattr(found, "ctx", None), ast.Store):
        found = next(node for node in reversed(around) if isinstance(node, ast.stmt))
    parts = _parts_without_columns(found)
    return parts[0] if len(parts) == 1 else found


def _parts_without_columns(node: ast.AST) -> list[ast.expr]:
    """What a loop goes through, and what decides or is entered: before Python 3.13 its columns are those of `node`."""
    if isinstance(node, (ast.For, ast.AsyncFor)):
        return [node.iter]
    if isinstance(node, (ast.If, ast.While)):
        return [node.test]
    if isinstance(node, (ast.With, ast.AsyncWith)):
        return [item.context_expr for item in node.items]
    return [part for each in getattr(node, "generators", ()) for part in (each.iter, *each.ifs)]


def _operation(node: ast.AST, around: list[Any]) -> str:
    if isinstance(node, ast.Call):
        return ast.unparse(node.func)
    if isinstance(node, (ast.BinOp, ast.UnaryOp)):
        return _OPERATORS.get(type(node.op), "")
    if isinstance(node, ast.AugAssign):
        return _OPERATORS.get(type(node.op), "") + "="
    if isinstance(node, ast.Compare):
        return " ".join(_OPERATORS.get(type(operator), "") for operator in node.ops)
    if isinstance(node, ast.Subscript):
        return "[]"
    if isinstance(node, ast.Assign):
        target = node.targets[0]
        return "[] =" if isinstance(target, ast.Subscript) else "="
    return "for" if any(getattr(loop, "iter", None) is node for loop in around) else ""


def _direct(node: ast.AST) -> list[ast.expr]:
    if isinstance(node, ast.Call):
        function = [node.func.value] if isinstance(node.func, ast.Attribute) else []
        return [node.func, *function, *node.args, *(keyword.value for keyword in node.keywords)]
    if isinstance(node, ast.BinOp):
        return [node.left, node.right]
    if isinstance(node, ast.Compare):
        return [node.left, *node.comparators]
    if isinstance(node, ast.Subscript):
        return [node.value, node.slice]
    if isinstance(node, ast.Assign):
        return [*(part for target in node.targets for part in _stored(target)), node.value]
    if isinstance(node, ast.AugAssign):
        return [*_stored(node.target), node.value]
    if isinstance(node, ast.expr) and isinstance(node, (ast.Name, ast.Attribute)):
        return [node, *([node.value] if isinstance(node, ast.Attribute) else [])]
    return [child for child in _header(node) if isinstance(child, ast.expr)]


def _stored(target: ast.expr) -> list[ast.expr]:
    """What an assignment to `target` works on: of `x[i]` both, of `p.grad` p as well."""
    if isinstance(target, ast.Subscript):
        return [target.value, target.slice]
    return [target, target.value] if isinstance(target, ast.Attribute) else [target]


def _elements(node: ast.expr) -> Iterator[ast.expr]:
    """`node`, or what it is a display of: the tensors of `torch.cat([a, b])`."""
    if isinstance(node, (ast.List, ast.Tuple, ast.Set)):
        for element in node.elts:
            yield from _elements(element)
    elif isinstance(node, ast.Dict):
        for value in node.values:
            yield from _elements(value)
    elif isinstance(node, ast.Starred):
        yield from _elements(node.value)
    elif isinstance(node, ast.Slice):
        for part in (node.lower, node.upper, node.step):
            if part is not None:
                yield part
    else:
        yield node
