"""Where old names are meant: in tests of them, and under comments that put the new ones off."""

import ast
import re
from typing import TypeGuard

from devfix_codemods.assumptions.purpose import is_for_machine
from devfix_codemods.precision.uses import Use
from devfix_codemods.project.units import Unit

_OLD = re.compile(r"(\w+(?:\.\w+)*)\.(?:cuda|cpu)\.amp\.(?:autocast|GradScaler|custom_fwd|custom_bwd)")
_TOO_EARLY = re.compile(
    r"(?i)unavailable|not (?:yet )?(?:available|supported)|until|when we|once we|(?:drop|stop) support|<=? ?\d"
)


def tests_old_names(unit: Unit) -> bool:
    """Whether a file tests the old names, or compares them with those of another library."""
    return is_for_machine(unit.source) and (_compares_libraries(unit) or _says_so(unit))


def _compares_libraries(unit: Unit) -> bool:
    """Whether a file spells an old name behind something other than torch: `other.cuda.amp.GradScaler()`."""
    if all(found == "torch" for found in _OLD.findall(unit.source.text)):
        return False
    spelled = (one for one in ast.walk(unit.source.tree) if isinstance(one, ast.Attribute))
    return any(
        _OLD.fullmatch(ast.unparse(one)) is not None
        and not any(each.qualified.startswith("torch.") for each in unit.names.candidates(one))
        for one in spelled
    )


def _says_so(unit: Unit) -> bool:
    """Whether the docstring of a test says that the old names are what it tests: `Test torch.cuda.amp as patched.`"""
    if b"cuda.amp" not in unit.source.data:
        return False
    said = (ast.get_docstring(one) or "" for one in ast.walk(unit.source.tree) if _is_test(one))
    return any("torch.cuda.amp" in one for one in said)


def _is_test(node: ast.AST) -> TypeGuard[ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef]:
    definitions = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    return isinstance(node, definitions) and node.name.lower().startswith("test")


def is_put_off(unit: Unit, use: Use) -> bool:
    """Whether the comment right above names what takes its place, and says what has to come first."""
    lines = unit.source.lines
    above = unit.names.statement(use.node).lineno - 1
    first = above
    while first > 0 and lines[first - 1].lstrip().startswith("#"):
        first -= 1
    comment = " ".join(one.strip(" \t#") for one in lines[first:above])
    return f"torch.amp.{use.old.symbol}" in comment and _TOO_EARLY.search(comment) is not None
