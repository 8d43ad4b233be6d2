"""Cards that a script names once, for all of it."""

import ast
import re
from collections.abc import Iterator

from devfix_codemods.assumptions.answers import Answer
from devfix_codemods.assumptions.availability_tests import is_guarded, speaks
from devfix_codemods.assumptions.index import Index
from devfix_codemods.assumptions.policy import TITLE, Policy
from devfix_codemods.assumptions.spelled_cuda import names_cuda
from devfix_codemods.edits.operations import ReplaceExpression
from devfix_codemods.edits.quotes import quoted
from devfix_codemods.findings import Fix, Safety
from devfix_codemods.ir.nodes import walk
from devfix_codemods.repairs.declared_devices import binds_torch
from devfix_codemods.repairs.declared_devices import constants as assigned

_CARD = re.compile(r"cuda:\d+")
_FIRST = "cuda:0"
_COUNT = re.compile(r"device_count")


def constants(index: Index, policy: Policy) -> Iterator[Answer]:
    """`device = "cuda"` at the top of a script."""
    module = index.analysis.module
    for statement, made in assigned(module.top, module.tree):
        if not names_cuda(made) or not binds_torch(module.tree) or not policy.host_would_do or is_guarded(index, made):
            continue
        value = statement.value
        inner = _named_first(value)
        host = "'cpu'" if index.text(inner).startswith("'") else '"cpu"'
        code = f"__node__ if torch.cuda.is_available() else {host}"
        fix = Fix(Safety.UNSAFE, TITLE, (ReplaceExpression(index.source.span(inner), code),))
        yield Answer(value, "the device is CUDA, even where CUDA is not available", fix)


def later_cards(index: Index) -> Iterator[Answer]:
    """`device = torch.device("cuda:1" if … else "cpu")` in a script that names no other card."""
    if b"cuda:" not in index.source.data:
        return
    tree = index.analysis.module.tree
    cards = [one for one in walk(tree) if isinstance(one, ast.Constant) and _is_card(one.value)]
    if len(cards) != 1 or cards[0].value == _FIRST:
        return
    choice = index.parents.get(cards[0])
    at_top = any(one in tree.body for one in index.ancestors(cards[0]) if isinstance(one, ast.Assign))
    match choice:
        case ast.IfExp(body=ast.Constant() as card, orelse=ast.Constant(value="cpu"), test=test) if at_top:
            if "is_available" in ast.unparse(test) and not _is_counted(index, card):
                message = f"`{card.value!s}` is not on every machine: CUDA error: invalid device ordinal"
                numbered = b"set_device(" in index.source.data  # which takes no device without a number
                named, which = (_FIRST, "first") if numbered else ("cuda", "current")
                edit = ReplaceExpression(index.source.span(card), quoted(index.source, named))
                title = f"Take the {which} card; CUDA_VISIBLE_DEVICES chooses another"
                yield Answer(card, message, Fix(Safety.UNSAFE, title, (edit,)))


def _named_first(value: ast.expr) -> ast.expr:
    """`"cuda"` itself, and that of `torch.device("cuda", 0)` and `torch.device(type="cuda")`."""
    return [*value.args, *(one.value for one in value.keywords)][0] if isinstance(value, ast.Call) else value


def _is_counted(index: Index, card: ast.Constant) -> bool:
    """Whether a card is taken only where the program asked how many there are."""
    node = index.nodes.get(card)
    return node is not None and speaks(index, node.guard, _COUNT)


def _is_card(value: object) -> bool:
    return isinstance(value, str) and _CARD.fullmatch(value) is not None
