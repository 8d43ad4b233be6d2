"""Tests that hold the old names of mixed precision against another library's of the same name."""

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


def _is_of_another(program: Program, node: ast.Attribute) -> bool:
    if _OLD.fullmatch(dotted(node) or "") is None:
        return False
    return not any(one.qualified.startswith("torch.") for one in program.names.candidates(node))
