"""Tests of the old names of mixed precision themselves, or against another library's of the same name."""

import ast
import re

from devfix_codemods.flow.evidence import dotted
from devfix_codemods.program import Program

_OLD = re.compile(r"(\w+(?:\.\w+)*)\.(?:cuda|cpu)\.amp\.(?:autocast|GradScaler|custom_fwd|custom_bwd)")


def compares_libraries(program: Program) -> bool:
    """Whether a file spells an old name behind something other than torch: `other.cuda.amp.GradScaler()`."""
    if all(found == "torch" for found in _OLD.findall(program.source.text)):
        return False
    return any(isinstance(node, ast.Attribute) and _is_of_another(program, node) for node in ast.walk(program.tree))


def tests_old_names(program: Program) -> bool:
    """Whether a docstring says that the old names are what is tested: `Test torch.cuda.amp under the patch.`"""
    if b"cuda.amp" not in program.source.data:
        return False
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    said = (ast.get_docstring(one) or "" for one in ast.walk(program.tree) if isinstance(one, documented))
    return any("torch.cuda.amp" in one for one in said)


def _is_of_another(program: Program, node: ast.Attribute) -> bool:
    if _OLD.fullmatch(dotted(node) or "") is None:
        return False
    return not any(one.qualified.startswith("torch.") for one in program.names.candidates(node))
