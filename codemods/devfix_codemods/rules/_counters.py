"""Tensors that a class only counts with or keeps a flag in: they meet no other tensor, so nobody has to move them."""

import ast

from devfix_codemods.flow.tree import walk
from devfix_codemods.program import Program

_READ = frozenset({"item", "tolist", "numpy", "cpu"})
_WRITTEN = frozenset({"add_", "sub_", "mul_", "fill_", "zero_", "copy_"})
_TO_NUMBER = frozenset({"int", "float", "bool", "print", "str"})


def is_counter(program: Program, text: str) -> bool:
    """Whether `self.steps` is only counted up, set, and read as a number, wherever the file has the attribute.

    What is asked for its `device` is there to say where the module is.
    """
    root, _, name = text.partition(".")
    if root != "self" or not name or "." in name:
        return False
    uses = [one for one in walk(program.tree) if isinstance(one, ast.Attribute) and one.attr == name]
    read = [one for one in uses if not _is_set(program, one)]
    return bool(read) and all(_counts(program, one) for one in read)


def _is_set(program: Program, use: ast.Attribute) -> bool:
    parent = program.names.parent(use)
    return isinstance(use.ctx, ast.Store) and not isinstance(parent, ast.AugAssign)


def _counts(program: Program, use: ast.expr) -> bool:
    parent = program.names.parent(use)
    match parent:
        case ast.AugAssign(value=value):
            return value is not use and _is_number(value)
        case ast.Attribute(attr=attr):
            if attr == "data":
                return _counts(program, parent)
            return attr in _READ or (attr in _WRITTEN and _is_called_with_numbers(program, parent))
        case ast.Call(func=ast.Name(id=function)):
            return function in _TO_NUMBER
        case ast.BinOp(left=left, right=right):
            return _is_number(right if use is left else left)
        case ast.Compare(left=left, comparators=[other]):
            return _is_number(other if use is left else left)
        case ast.UnaryOp(op=ast.Not()) | ast.FormattedValue():
            return True
        case ast.If(test=test) | ast.IfExp(test=test) | ast.While(test=test) | ast.Assert(test=test):
            return test is use
    return False


def _is_called_with_numbers(program: Program, method: ast.Attribute) -> bool:
    call = program.names.parent(method)
    return isinstance(call, ast.Call) and call.func is method and all(_is_number(one) for one in call.args)


def _is_number(node: ast.expr) -> bool:
    """A literal, or what gives a number whatever it gets; a copy of new numbers goes from anywhere to anywhere."""
    match node:
        case ast.Constant():
            return True
        case ast.UnaryOp(operand=operand):
            return _is_number(operand)
        case ast.Call(func=ast.Name(id="int" | "float" | "bool" | "len")):
            return True
        case ast.Call(func=ast.Attribute(attr="tensor" | "Tensor" | "item")):
            return True
    return False
