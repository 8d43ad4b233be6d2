"""Tensors that a class keeps in plain attributes: from which attribute a value came, and who sets and moves that."""

import ast

from devfix_codemods.flow.evidence import dotted
from devfix_codemods.flow.facts import Meeting
from devfix_codemods.flow.library import is_module_api
from devfix_codemods.program import Program


def births(meeting: Meeting) -> list[ast.AST]:
    """The calls that made the misplaced value."""
    value = meeting.misplaced.value
    if value.sources:
        return list(value.sources)
    return [value.origin.node] if value.origin is not None else []


def is_registered(program: Program, birth: ast.AST) -> bool:
    """Whether a value becomes a parameter or a buffer in the statement that makes it."""
    calls = [one for one in program.names.ancestors(birth) if isinstance(one, ast.Call)]
    if isinstance(birth, ast.Call) and is_module_api(program.names.qualified(birth.func) or ""):
        return True  # a module in one branch, a parameter in another
    return any((dotted(one.func) or "").endswith(_REGISTERED) for one in calls)


_REGISTERED = ("Parameter", "register_buffer", "register_parameter", "nn.Buffer")


def own_attribute(node: ast.AST) -> str | None:
    """`name` of `self.name`."""
    own = isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"
    return node.attr if own and isinstance(node, ast.Attribute) else None


def targets(statement: ast.stmt) -> list[ast.expr]:
    """What a statement assigns to, in tuples too."""
    match statement:
        case ast.Assign(targets=given):
            return [one for each in given for one in (each.elts if isinstance(each, ast.Tuple | ast.List) else [each])]
        case ast.AnnAssign(target=target) | ast.AugAssign(target=target):
            return [target]
    return []


def lineage(program: Program, owner: ast.ClassDef) -> list[ast.ClassDef]:
    """A class, its bases and what derives from it, as far as they stand in the file."""
    family = [owner]
    for one in family:
        names = {base.id for base in one.bases if isinstance(base, ast.Name)}
        for other in program.names.classes:
            derived = any(isinstance(base, ast.Name) and base.id == one.name for base in other.bases)
            if (other.name in names or (derived and other is not one)) and other not in family:
                family.append(other)
    return family
