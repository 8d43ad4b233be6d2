"""Entries of a mapping that a loop moves one by one, before a model is given the mapping: tensors, most likely."""

import ast

from devfix_codemods import scope
from devfix_codemods.flow import tables
from devfix_codemods.flow.evidence import Evidence, dotted
from devfix_codemods.flow.facts import Move
from devfix_codemods.flow.tree import walk
from devfix_codemods.program import Program
from devfix_codemods.rules._tensor_words import sounds_like_model

_WRAPPERS = frozenset({"list", "tuple", "sorted"})


def is_entry_of_inputs(program: Program, move: Move) -> bool:
    """Whether the function moves each entry of a mapping in a loop, and gives a model the mapping or an entry after."""
    loop = loop_around(program, move.node)
    mapping = _mapping(loop, move.receiver) if loop is not None else None
    if loop is None or mapping is None or sounds_like_model(mapping.removesuffix("s")):
        return False
    around = move.context.function or program.tree
    evidence = program.facts.evidence[around]
    return not _are_modules(around, mapping) and any(
        isinstance(one, ast.Call)
        and one.lineno > (loop.end_lineno or loop.lineno)
        and _is_given(one, mapping)
        and _is_of_model(one.func, evidence)
        for one in walk(around)
    )


def loop_around(program: Program, node: ast.expr) -> ast.For | None:
    """The loop in whose body a statement stands, maybe under a question."""
    outer = program.names.parent(program.names.statement(node))
    while isinstance(outer, ast.If):
        outer = program.names.parent(outer)
    return outer if isinstance(outer, ast.For) else None


def items_of(loop: ast.For) -> tuple[str, str, ast.expr] | None:
    """The names of the key and of the value, and the mapping, of `for key, value in mapping.items()`."""
    match loop.target, _unwrapped(loop.iter):
        case (
            ast.Tuple(elts=[ast.Name(id=key), ast.Name(id=value)]),
            ast.Call(func=ast.Attribute(value=mapping, attr="items")),
        ):
            return key, value, mapping
    return None


def _mapping(loop: ast.For, receiver: ast.expr) -> str | None:
    """The name of the mapping whose entry the loop has as `receiver` in each round."""
    items = items_of(loop)
    match receiver:
        case ast.Name(id=name) if items is not None and name == items[1]:
            return dotted(items[2])
        case ast.Subscript(value=ast.Name(id=mapping), slice=ast.Name(id=key)):
            if items is not None:
                return mapping if (key, mapping) == (items[0], dotted(items[2])) else None
            same = isinstance(loop.target, ast.Name) and loop.target.id == key
            return mapping if same and _keys_of(loop.iter) == mapping else None
    return None


def _keys_of(node: ast.expr) -> str | None:
    node = _unwrapped(node)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "keys":
        node = node.func.value
    return dotted(node)


def _unwrapped(node: ast.expr) -> ast.expr:
    match node:
        case ast.Call(func=ast.Name(id=name), args=[inner]) if name in _WRAPPERS:
            return inner
    return node


def _are_modules(around: ast.AST, mapping: str) -> bool:
    """Whether a method of modules is called on an entry: `nets[name].eval()`."""
    return any(
        isinstance(one, ast.Attribute)
        and one.attr in tables.MODULE_EVIDENCE_METHODS
        and isinstance(one.value, ast.Subscript)
        and dotted(one.value.value) == mapping
        for one in walk(around)
    )


def _is_given(call: ast.Call, mapping: str) -> bool:
    return any(dotted(one.value if isinstance(one, ast.Subscript) else one) == mapping for one in scope.given_to(call))


def _is_of_model(function: ast.expr, evidence: Evidence) -> bool:
    """`self(…)`, `model(…)`, `model.generate(…)`."""
    for one in [function, function.value] if isinstance(function, ast.Attribute) else [function]:
        text = dotted(one)
        if text is not None and (text in evidence.modules or sounds_like_model(text)):
            return True
    return isinstance(function, ast.Name) and function.id == "self"
