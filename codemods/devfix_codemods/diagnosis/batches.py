"""Repairs of batches and of what is taken out of them: in the loop, beside their siblings and in their style."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from devfix_codemods import scope
from devfix_codemods.assumptions.index import Index
from devfix_codemods.catalogue import torch as rows
from devfix_codemods.diagnosis.devices import mover_at
from devfix_codemods.diagnosis.live import Live, moved
from devfix_codemods.diagnosis.project import Project, parse
from devfix_codemods.diagnosis.records import Diagnosis, Form, Kind, Operand, Repair
from devfix_codemods.diagnosis.trace import Site, Way
from devfix_codemods.edits.operations import Edit, InsertStatement, ReplaceExpression
from devfix_codemods.program import Program

_OF_TENSORS = rows.TENSOR_ATTRIBUTES | rows.PLAIN_ATTRIBUTES
_DICTS = frozenset({"dict", "OrderedDict", "defaultdict"})


def is_batch_part(site: Site) -> bool:
    """`x, y = batch`, `x = batch["image"]`, `batch = next(iter(loader))`."""
    if not isinstance(site.statement, ast.Assign):
        return False
    value = site.value
    is_next = isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == "next"
    return is_next or _is_item(site) or (site.way is Way.UNPACKED and isinstance(value, ast.Name))


def _is_item(site: Site) -> bool:
    return isinstance(site.value, ast.Subscript) and isinstance(site.value.value, ast.Name)


@dataclass(frozen=True, slots=True)
class _Style:
    """How to move something: the suffix, what else that needs, and the line beside which it is done."""

    suffix: str
    edits: tuple[Edit, ...]
    anchor: ast.stmt
    is_after: bool


def batch_repairs(
    project: Project, program: Program, diagnosis: Diagnosis, operand: Operand, site: Site
) -> Iterator[Repair]:
    """An item is moved where it is taken out of its batch, else in a line of its own beside the siblings' moves."""
    style = _style(project, program, diagnosis, operand, site)
    if style is None:
        return
    form = Live(project, diagnosis).form(site)
    if _is_item(site) and site.way is Way.ASSIGNED:
        code = moved("__node__", form, style.suffix)
        bound = project.bound_at(site.file, site.statement)
        if code is not None and set(scope.reads(_parsed(style.suffix))) - {"_"} <= bound:
            edit = ReplaceExpression(program.source.span(site.value), code)
            yield Repair(f"Move `{site.target}` where it is taken out", ((site.file, (*style.edits, edit)),))
            return
    code = _code(site, operand, form, style.suffix)
    if code is not None:
        where = "after" if style.is_after else "before"
        insert = InsertStatement(program.source.span(style.anchor), where, code)  # type: ignore[arg-type]
        title = f"Move `{code.partition(' = ')[0]}` beside its loop"
        yield Repair(title, ((site.file, (*style.edits, insert)),))


def _style(project: Project, program: Program, diagnosis: Diagnosis, operand: Operand, site: Site) -> _Style | None:
    """That of a sibling which is moved; else the first way to move anything there."""
    statement = site.statement
    is_loop = isinstance(statement, (ast.For, ast.AsyncFor))
    block = statement.body if isinstance(statement, (ast.For, ast.AsyncFor)) else scope.block_of(program, statement)
    index = project.index(site.file)
    sibling = _sibling_of_item(index, site, block) if _is_item(site) else None
    sibling = sibling or _sibling(index, statement, block)
    if sibling is not None:
        line, suffix, names = sibling
        if names <= project.bound_at(site.file, line):
            return _Style(suffix, (), line, True)
    first = block[0] if is_loop else statement
    mover = mover_at(project, site.file, first, operand.wanted, diagnosis.at(operand.wanted))
    if mover is None:
        return None
    return _Style(mover.relaxed if is_loop else mover.suffix, mover.edits, first, not is_loop)


def _parsed(suffix: str) -> ast.expr:
    return parse(f"_{suffix}") or ast.Constant(None)


def _code(site: Site, operand: Operand, form: Form | None, suffix: str) -> str | None:
    """The statement that moves an item, an element of it, or all its tensors; None where it has none."""
    name = site.target
    part = _item_of(operand.expression, name)
    if part is not None and (form is None or not form.parts or _is_mixed(form)):
        return f"{part} = {part}{suffix}"
    if form is None and operand.kind is Kind.BATCH and operand.expression == name:
        form = _of_type(operand.type)
    whole = moved(name, form, suffix)
    return None if whole is None else f"{name} = {whole}"


def _is_mixed(form: Form) -> bool:
    """Whether some elements have no place: then those that are needed are moved one by one."""
    return not all(part.moves for part in form.parts)


def _of_type(kind: str) -> Form:
    """What a batch of a class holds as far as anyone knows: tensors, and what else."""
    is_container = kind in _DICTS or kind in {"list", "tuple"}
    parts = (Form("Tensor", True), Form("object")) if is_container else ()
    return Form(kind, not is_container, kind in _DICTS, parts)


def _item_of(expression: str, name: str) -> str | None:
    """`batch["labels"]` or `batch.labels` of the name `batch`, as the source spells it."""
    node, called = parse(expression), False
    while isinstance(node, (ast.Subscript, ast.Attribute, ast.Call)):
        inner = node.func if isinstance(node, ast.Call) else node.value
        if isinstance(inner, ast.Name) and inner.id == name:
            if isinstance(node, ast.Subscript):
                return ast.unparse(node) if isinstance(node.slice, ast.Constant) else None
            is_field = isinstance(node, ast.Attribute) and not called and node.attr not in _OF_TENSORS
            return ast.unparse(node) if is_field else None
        called = isinstance(node, ast.Call)
        node = inner
    return None


def _sibling(index: Index, statement: ast.stmt, block: list[ast.stmt]) -> tuple[ast.stmt, str, set[str]] | None:
    """The last line of the block that moves another item of the same batch, and the move as text."""
    items = _items(statement)
    for one in block:
        value = getattr(one, "value", None)
        if isinstance(one, ast.Assign) and isinstance(value, ast.Name) and value.id in items:
            items |= {name for target in one.targets for name in scope.stored(target)}
    found: tuple[ast.stmt, str, set[str]] | None = None
    for one in _with_guarded(block):
        if not isinstance(one, ast.Assign) or one.lineno <= statement.lineno:
            continue
        calls = one.value.elts if isinstance(one.value, ast.Tuple) else [one.value]
        for call in calls:
            moved = _moved(index, call)
            if moved is not None and moved[0] in items:
                found = (one, *moved[1:])
    return found


def _sibling_of_item(index: Index, site: Site, block: list[ast.stmt]) -> tuple[ast.stmt, str, set[str]] | None:
    """Another item that is moved where it is taken out of the same batch: `x = batch["x"].to(device)`."""
    assert isinstance(site.value, ast.Subscript)
    batch = ast.unparse(site.value.value)
    for one in block:
        move = _moved(index, one.value) if isinstance(one, ast.Assign) else None
        if move is not None and move[0] == batch:
            return (one, *move[1:])
    return None


def _with_guarded(block: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a block, and those of the guards that lie in it: `if use_cuda:`."""
    for one in block:
        yield one
        if isinstance(one, ast.If):
            yield from one.body


def _items(statement: ast.stmt) -> set[str]:
    if isinstance(statement, (ast.For, ast.AsyncFor)):
        return scope.stored(statement.target)
    return {name for target in getattr(statement, "targets", ()) for name in scope.stored(target)}


def _moved(index: Index, call: ast.expr) -> tuple[str, str, set[str]] | None:
    """The name that a call moves to a device, the move as text, and the names that it reads.

    Of a comprehension it is what that goes over: `[image.to(device) for image in images]`.
    """
    if isinstance(call, ast.ListComp | ast.DictComp):
        return _moved_each(index, call)
    node = index.nodes.get(call)
    births = index.analysis.births
    if node is None or not isinstance(call, ast.Call) or not births.is_move(node) or not births.is_elsewhere(node):
        return None
    given = [*call.args[:1], *(one.value for one in call.keywords)]
    texts = [index.text(one) for one in call.args[:1]]
    texts += [f"{one.arg}={index.text(one.value)}" for one in call.keywords if one.arg in {"device", "non_blocking"}]
    root = next((one.id for one in ast.walk(call.func) if isinstance(one, ast.Name)), None)
    suffix = f".{node.args[0].extra}({', '.join(texts)})"
    return (root, suffix, {word for one in given for word in scope.reads(one)}) if root is not None else None


def _moved_each(index: Index, comprehension: ast.ListComp | ast.DictComp) -> tuple[str, str, set[str]] | None:
    element = comprehension.value if isinstance(comprehension, ast.DictComp) else comprehension.elt
    inner = _moved(index, element)
    over = next((one.id for one in ast.walk(comprehension.generators[0].iter) if isinstance(one, ast.Name)), None)
    return None if inner is None or over is None else (over, *inner[1:])
