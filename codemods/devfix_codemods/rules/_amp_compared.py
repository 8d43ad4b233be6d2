"""Tests of the old names of mixed precision themselves, or against another library's of the same name."""

import ast
import re
from typing import TypeGuard

from devfix_codemods.flow.evidence import dotted
from devfix_codemods.program import Program

_OLD = re.compile(r"(\w+(?:\.\w+)*)\.(?:cuda|cpu)\.amp\.(?:autocast|GradScaler|custom_fwd|custom_bwd)")


def compares_libraries(program: Program) -> bool:
    """Whether a file spells an old name behind something other than torch: `other.cuda.amp.GradScaler()`."""
    if all(found == "torch" for found in _OLD.findall(program.source.text)):
        return False
    return any(isinstance(node, ast.Attribute) and _is_of_another(program, node) for node in ast.walk(program.tree))


def tests_old_names(program: Program) -> bool:
    """Whether the docstring of a test says that the old names are what it tests: `Test torch.cuda.amp as patched.`"""
    if b"cuda.amp" not in program.source.data:
        return False
    said = (ast.get_docstring(one) or "" for one in ast.walk(program.tree) if _is_test(one))
    return any("torch.cuda.amp" in one for one in said)


def _is_test(node: ast.AST) -> TypeGuard[ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef]:
    definitions = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    return isinstance(node, definitions) and node.name.lower().startswith("test")


def _is_of_another(program: Program, node: ast.Attribute) -> bool:
    if _OLD.fullmatch(dotted(node) or "") is None:
        return False
    return not any(one.qualified.startswith("torch.") for one in program.names.candidates(node))
