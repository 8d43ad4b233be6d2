"""One cut, and how operations spell what they are given."""

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from devfix_codemods.edits.operations import Argument, Edit, InsertStatement, ReplaceExpression, RewriteCall
from devfix_codemods.ir import Node, Op
from devfix_codemods.ir.passing import written
from devfix_codemods.placement.analysis import Analysis
from devfix_codemods.placement.search import Conflict
from devfix_codemods.repairs.points import Point, before
from devfix_codemods.repairs.readings import Reading, is_read_by
from devfix_codemods.repairs.suffix import Suffix
from devfix_codemods.source import Source

SAFE, UNSAFE, SUGGESTION = 0.86, 0.6, 0.35
"""From which confidence on a fix is written unasked, written with `--unsafe`, and shown at all."""

TOO_WEAK = frozenset(
    {
        *("unpacked-beside-moved", "operation-unknown-operand", "module-method", "conversion"),
        *("factories-one", "factories-two", "factories-many"),
    }
)
"""Links of suggestions whose edits were wrong as often as not when people read them, in ten repositories at least
(bench/README.md, *Precision*): they are told without one, but for those that follow what is at hand."""


@dataclass(frozen=True, slots=True)
class Cut:
    """Edits that move one value, and the words for it."""

    edits: tuple[Edit, ...]
    title: str
    sure: bool = True
    harmless: bool = False
    since: tuple[int, int] | None = None
    copies: bool = False
    """It moves a copy for one use: others find the value where it was."""
    with_whole: bool = False
    """It moves a part to where its module is, also where that is the host."""
    effect: str | None = None
    """What else it changes."""
    at_call: bool = False
    """It moves what a function gives, for one of its calls."""


def text_of(edit: Edit) -> str:
    """What an edit writes."""
    if isinstance(edit, RewriteCall):
        return " ".join(str(each.value) for each in edit.arguments or ())
    return edit.code if isinstance(edit, InsertStatement | ReplaceExpression) else ""


def follows_at_hand(cut: Cut) -> bool:
    """Whether a cut asks what is at hand for its device, and neither settings nor an object for one they were told."""
    text = " ".join(map(text_of, cut.edits))
    return cut.harmless or (".device" in text and _TOLD.search(text) is None)


_TOLD = re.compile(r"\b(?:self|args)\.device\b")


def as_of(conflict: Conflict, at: int) -> Conflict:
    """The conflict of what a value has become behind a step of its path."""
    return replace(conflict, birth=replace(conflict.birth, node=conflict.path[at].node), path=conflict.path[at + 1 :])


def operand_syntax(operand: Node, operation: Node) -> ast.expr | None:
    """The expression of an operand inside of its operation, or of the row that this gets."""
    syntax = operation.syntax
    if not isinstance(syntax, ast.AST):
        return None
    name = name_at(operand, operation)
    written = syntax.target if isinstance(syntax, ast.AugAssign) else None
    given = [one.value if isinstance(one, ast.keyword) else one for one in ast.iter_child_nodes(syntax)]
    parts = [one for one in given if one is not written]
    for one in (*parts, *(each for row in parts if isinstance(row, ast.List | ast.Tuple) for each in row.elts)):
        if isinstance(one, ast.expr) and is_read_by(one, operand):
            return one
        if isinstance(one, ast.Name) and one.id == name:
            return one
    return None


def operands(operation: Node) -> list[Node]:
    """What an operation gets, one by one where it stands in a row: `torch.cat([x, y])`."""
    return [one for each in operation.args for one in (each.args if each.op is Op.SEQUENCE else (each,))]


def name_at(node: Node, user: Node) -> str | None:
    """What a value is called at the statement that uses it."""
    point = before(user)
    if point is None:
        return None
    return next((name for name, one in point.environment.items() if isinstance(name, str) and one is node), None)


def spelled_in(operand: Node, operation: Node) -> ast.expr | None:
    """How an operand is spelled in its operation, also where the statement has no name for it: in comprehensions, or of
    a part that is asked for by its key, `batch["index"]`."""
    for one in (operation, *(each for each in operation.args if each.op is Op.SEQUENCE)):
        row = (one.args, row_of(one.syntax)) if one.op is Op.SEQUENCE else (one.args[1:], _given(one))
        for node, spelled in zip(*row):
            if node is operand and _is_part(spelled):
                return spelled
    return None


def _given(operation: Node) -> Sequence[ast.expr]:
    """What a call is given, or the index of what picks from a value."""
    if operation.op is Op.ITEM and isinstance(operation.syntax, ast.Subscript):
        return [operation.syntax.slice]
    return written(operation) or ()


def _is_part(expression: ast.expr) -> bool:
    """Whether an expression is a name, or the part of one under a key that is written there."""
    match expression:
        case ast.Name():
            return True
        case ast.Subscript(value=value, slice=ast.Constant(value=str())):
            return _is_part(value)
    return False


def row_of(syntax: object) -> list[ast.expr]:
    """The values of a tuple or a list, and what a call of an object is given."""
    if isinstance(syntax, ast.List | ast.Tuple) and isinstance(syntax.ctx, ast.Load):
        return syntax.elts
    return [*syntax.args, *(one.value for one in syntax.keywords)] if isinstance(syntax, ast.Call) else []


def behind_making(source: Source, conflict: Conflict, suffix: Suffix, read: Reading | None = None) -> Iterator[Cut]:
    """`z = torch.rand(3)`, and behind it `if use_cuda: z = z.cuda()`; so with the loss whose weights are made in it.

    What is read several times is moved behind where it is `read`.
    """
    node = conflict.birth.node
    made = (read.syntax, read.statement, suffix) if read is not None else (node.syntax, node.statement, suffix)
    losses = (step.node for step in conflict.path if step.edge.link == "weighs" and step.node.op is Op.CALL)
    weighed = ((one.syntax, one.statement, suffix.of_module) for one in islice(losses, 1))
    for syntax, statement, move in (made, *weighed):
        match statement:
            case ast.Assign([ast.Name() | ast.Attribute() as target], value) if syntax in chain(value):
                name = ast.unparse(target)
                edit = InsertStatement(source.span(statement), "after", move.statement(name))
                yield Cut((edit,), f"Move `{name}`, under the same condition as what it meets")


def behind_list(source: Source, conflict: Conflict, suffix: Suffix) -> Iterator[Cut]:
    """`kept = [p.clone() for p in ps]`, and behind it `if use_cuda: kept = [one.cuda() for one in kept]`."""
    node = conflict.birth.node
    match node.statement:
        case ast.Assign([ast.Name(id=name)], ast.ListComp(elt=elt)) if node.syntax in chain(elt):
            one = suffix.beside("one")
            moved = f"{name} = [{one}{suffix.text} for {one} in {name}]"
            edit = InsertStatement(source.span(node.statement), "after", f"if {suffix.test}:\n    {moved}")
            yield Cut((edit,), f"Move what `{name}` holds, under the same condition as what it meets")


def chain(value: ast.expr | None) -> list[ast.expr]:
    """An expression, and what its methods are called on: `x.to(device)` in `x.to(device).float()`."""
    found: list[ast.expr] = []
    while value is not None:
        found.append(value)
        value = value.func.value if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) else None
    return found


def called(analysis: Analysis, node: Node, point: Point) -> str | None:
    """What a value, or what a conversion made of it, is called at a point."""
    roots = analysis.births.roots
    for key, one in point.environment.items():
        if one is node or (one.op is not Op.PARAM and roots(one) == {node}):
            if isinstance(key, str):
                return key if key.strip("_") else None  # `_` is for what nobody wants
            if key[0].function.self_node is key[0] and not key[1].startswith("["):
                return f"{key[0].extra}.{key[1]}"
    return None


def with_keyword(source: Source, call: ast.Call, code: str, word: str) -> RewriteCall:
    """A call that is given one more keyword argument, or another value for one that it has: `device=None`."""
    given = [*(ast.keyword(None, each) for each in call.args), *call.keywords]
    kept = [Argument(index, one.arg) for index, one in enumerate(given)]
    if word in (words := [one.arg for one in given]):
        at = words.index(word)
        return RewriteCall(source.span(call), arguments=(*kept[:at], Argument(code, word), *kept[at + 1 :]))
    stars = [one for one in kept if call.keywords and one.value >= len(call.args) and one.keyword is None]  # type: ignore[operator]
    plain = [one for one in kept if one not in stars]
    return RewriteCall(source.span(call), arguments=(*plain, Argument(code, word), *stars))
