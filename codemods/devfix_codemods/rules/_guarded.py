"""Under which conditions code runs: what is copied from under a guard (`if use_cuda:`) may fail outside of it.

A copied move stands under the guard of what it copies, or follows that: `y.to(x.device)`.
"""

import ast
import re
from collections.abc import Iterable, Iterator

from devfix_codemods import scope
from devfix_codemods.flow.evidence import dotted, last_name
from devfix_codemods.flow.facts import Meeting
from devfix_codemods.flow.places import Device, Place
from devfix_codemods.flow.tree import walk
from devfix_codemods.program import Program

Condition = tuple[str, bool]
"""The text of a test, and whether it holds."""

_ASKS = re.compile(r"(?i)cuda|gpu|device|is_available|accelerat")


def conditions(program: Program, node: ast.AST) -> frozenset[Condition]:
    """What is known to hold where `node` runs, by the branches around it and by what left above it."""
    return frozenset(_conditions(program, node))


def _conditions(program: Program, node: ast.AST) -> Iterator[Condition]:
    inner = node
    for outer in program.names.ancestors(node):
        match outer:
            case ast.If(test=test, body=body) if inner is not test and not _is_main(test):
                yield from _told(test, holds=any(one is inner for one in body))
            case ast.IfExp(test=test, body=first) if inner is not test:
                yield from _told(test, holds=inner is first)
            case ast.BoolOp(op=op, values=values):
                for one in values[: next(i for i, each in enumerate(values) if each is inner)]:
                    yield from _told(one, holds=isinstance(op, ast.And))
            case ast.Try(body=body, handlers=[_, *_]) if any(one is inner for one in body):
                yield f"try in line {outer.lineno}", True
        if isinstance(inner, ast.stmt):
            yield from _left_above(program, inner)
        inner = outer


def _left_above(program: Program, statement: ast.stmt) -> Iterator[Condition]:
    """`if not use_cuda: return` above a statement, in its block. Only what asks for a device: the rest is no guard."""
    for one in scope.block_of(program, statement):
        if one is statement:
            return
        if isinstance(one, ast.If) and scope.leaves(one.body) and not one.orelse and _asks(program, one.test):
            yield from _told(one.test, holds=False)


def _asks(program: Program, test: ast.expr) -> bool:
    around = scope.function_around(program, test) or program.tree
    line = getattr(test, "lineno", 0)
    given = [scope.given_last(where, name, line) for name in scope.reads(test) for where in {around, program.tree}]
    return any(_ASKS.search(ast.unparse(one)) for one in (test, *given) if one is not None)


def _is_main(test: ast.expr) -> bool:
    return "__name__" in scope.reads(test)


def _told(test: ast.expr, *, holds: bool) -> Iterator[Condition]:
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            yield from _told(inner, holds=not holds)
        case ast.BoolOp(op=op, values=values) if isinstance(op, ast.And) is holds:
            for one in values:
                yield from _told(one, holds=holds)
        case ast.Compare(left=left, ops=[ast.Is() | ast.IsNot() as op], comparators=[ast.Constant(value=None)]):
            yield f"{ast.unparse(left)} is None", isinstance(op, ast.Is) is holds
        case _:
            yield ast.unparse(test), holds


def holds_at(program: Program, node: ast.AST, at: ast.AST, sites: Iterable[ast.Call] = ()) -> bool:
    """Whether whatever decides that `node` runs is so decided at `at`, too. `sites` are the calls that led to it."""
    there = conditions(program, at)
    return all(conditions(program, one) <= there for one in _on_the_way(program, node, at, tuple(sites)))


def _on_the_way(program: Program, node: ast.AST, at: ast.AST, sites: tuple[ast.Call, ...]) -> tuple[ast.AST, ...]:
    """`node`, and the calls that lead to it from the function of `at`; all calls where none is made there."""
    function = scope.function_around(program, at)
    way: list[ast.AST] = [node]
    for one in reversed(sites):
        if scope.function_around(program, way[-1]) is function:
            break
        way.append(one)
    return tuple(way)


# What fails without an accelerator


def demands(program: Program, suffix: str, at: ast.stmt, guards: frozenset[Condition] = frozenset()) -> bool:
    """Whether a move's text may fail at a statement, on a machine without what the `guards` ask for."""
    tree = ast.parse(f"_{suffix}", mode="eval").body
    return isinstance(tree, ast.Call) and any(_fails(program, one, at, guards) for one in _moves(tree))


def _moves(tree: ast.Call) -> Iterator[ast.Call]:
    return (one for one in walk(tree) if isinstance(one, ast.Call))


def _fails(program: Program, call: ast.Call, at: ast.stmt, guards: frozenset[Condition]) -> bool:
    if demands_cuda(call):
        return True
    return any(_is_unsure(program, one, at, guards) for one in scope.given_to(call))


def _is_unsure(program: Program, device: ast.expr, at: ast.stmt, guards: frozenset[Condition]) -> bool:
    """Whether a name gives CUDA for sure, is bound under the guard alone, or is what the guard asks for."""
    text = dotted(device)
    if text is None:
        return isinstance(device, ast.Call) and demands_cuda(device)
    if any(text == test.removesuffix(" is None") for test, _ in guards):
        return True
    places: list[Place] = [one.place for one in program.facts.devices_at.get(at, ()) if one.text == text]
    if places:
        return any(isinstance(one, Device) and one.type != "cpu" for one in places)
    around = scope.function_around(program, at) or program.tree
    given = scope.given_last(around, text, at.lineno) or scope.given_last(program.tree, text, at.lineno)
    if given is not None and _is_cuda(given):
        return True
    return text.partition(".")[0] not in scope.bound_at(program, at)


_WITHOUT_HARM = frozenset({"autocast", "GradScaler", "is_autocast_enabled", "get"})
"""What takes `"cuda"` on any machine."""


def demands_cuda(call: ast.Call) -> bool:
    """`x.cuda()`, `x.to("cuda")`, `f(device="cuda:0")`."""
    name = last_name(call.func)
    if name == "cuda" and isinstance(call.func, ast.Attribute):
        return True
    given = [one.value for one in call.keywords if one.arg == "device"]
    given += call.args[:1] if name in {"to", "device"} else []
    return name not in _WITHOUT_HARM and any(_is_cuda(one) for one in given)


def _is_cuda(node: ast.expr) -> bool:
    if isinstance(node, ast.Call) and last_name(node.func) == "device" and node.args:
        node = node.args[0]
    value = node.value if isinstance(node, ast.Constant) else None
    return value.startswith("cuda") if isinstance(value, str) else type(value) is int


# What is written instead


def may_be_written(program: Program, suffix: str, move: ast.AST, at: ast.stmt, sites: Iterable[ast.Call] = ()) -> bool:
    """Whether a text copied of `move` works at `at` wherever that runs."""
    sites = tuple(sites)
    if holds_at(program, move, at, sites):
        return True
    guards = frozenset[Condition]().union(*(conditions(program, one) for one in _on_the_way(program, move, at, sites)))
    return not demands(program, suffix, at, guards)


def source_of(meeting: Meeting) -> ast.AST | None:
    """What took the anchor of a meeting to its place."""
    origin = meeting.moved or meeting.anchor.value.origin
    return origin.node if origin is not None else None


def _gives(value: ast.expr, node: ast.AST) -> bool:
    """Whether a value is what a call gives, maybe as a `Variable`, and maybe only in one branch."""
    match value:
        case ast.IfExp(body=first, orelse=other):
            return _gives(first, node) or _gives(other, node)
        case ast.Call(func=function, args=[inner]) if last_name(function) == "Variable":
            return _gives(inner, node)
        case ast.BoolOp(values=values):
            return any(_gives(one, node) for one in values)
    return any(one is node for one in scope.chain(value)) and not isinstance(value, ast.Attribute)
