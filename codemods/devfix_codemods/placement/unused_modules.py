"""Modules that a program makes and does nothing with."""

import ast

from devfix_codemods.ir import Module, Node, Op
from devfix_codemods.placement.non_tensors import is_plain


def is_for_nothing(module: Module, made: Node) -> bool:
    """`Net().num_classes`, or `net = Net()` before `net = load(path)`: nothing runs what is made, or keeps it."""
    users = [one for one in module.users.get(made, ()) if not _is_of_unread_name(module, one)]
    is_bound = isinstance(made.statement, ast.Assign) and made.statement.value is made.syntax
    if not all(map(is_plain, users)) or not (users or is_bound):
        return False
    return made not in made.function.finals.values() and made not in module.kept


def _is_of_unread_name(module: Module, node: Node) -> bool:
    """Whether a value is what functions would see under a name of the file that is bound again, and none reads it."""
    return node.op is Op.PHI and node.syntax is node.function.syntax and node not in module.read
