"""Attributes that keep tensors: where they are stored, as what they can be registered, and where they are used."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from devfix_codemods.catalogue import Kind, canonical, libraries
from devfix_codemods.edits.operations import Edit, InsertStatement, ReplaceExpression, ReplaceStatement
from devfix_codemods.ir import Class, Function, Node, Op
from devfix_codemods.ir.items import choices
from devfix_codemods.ir.keys import names
from devfix_codemods.ir.nodes import Store, contradictory
from devfix_codemods.placement.analysis import Analysis
from devfix_codemods.placement.arguments import keyword, makes_parameter
from devfix_codemods.placement.graph import Turn
from devfix_codemods.placement.search import Conflict
from devfix_codemods.repairs.numbers import is_whole
from devfix_codemods.source import Source


@dataclass(frozen=True, slots=True)
class Kept:
    """An attribute, of which class, and all that is stored in it."""

    owner: Class
    name: str
    stores: tuple[tuple[Function, Store], ...]


@dataclass(frozen=True, slots=True)
class Buffer:
    """The edits that register an attribute, and whether it holds whole numbers, which nothing converts."""

    name: str
    edits: tuple[Edit, ...]
    whole: bool


def kept(analysis: Analysis, conflict: Conflict) -> Kept | None:
    """The attribute in which the value of a conflict is kept before it meets another one."""
    found: Node | None = None
    inside = 0  # of how many lists and dicts
    for step in conflict.path:
        if step.edge.turn is Turn.MEET and step.node.op is not Op.FIELD:
            break
        inside += (step.edge.link == "element") - (step.edge.turn is Turn.OUT)
        if found is None and step.node.op is Op.FIELD and step.edge.turn is Turn.UP:
            found = step.node
    return _kept_in(analysis, found) if found is not None and inside <= 0 else None


def _kept_in(analysis: Analysis, field: Node) -> Kept | None:
    name = str(field.extra)
    owner = next((one for one in analysis.module.classes if one.fields.get(name) is field), None)
    if owner is None:
        return None
    stores = tuple(
        (function, store)
        for function in analysis.module.functions
        for store in function.stores
        if store.is_attribute and store.key == name and _is_of(analysis, store, field)
    )
    return Kept(owner, name, stores)


def _is_of(analysis: Analysis, store: Store, field: Node) -> bool:
    owner = analysis.kinds.class_of(store.base)
    return owner is not None and owner.sets(str(store.key)) and owner.field_of(str(store.key)) is field


# Buffers


def as_buffer(analysis: Analysis, source: Source, attribute: Kept) -> Buffer | None:
    """The attribute as a buffer that is not saved; None where it cannot be one, or may become another thing."""
    owner = attribute.owner
    if not is_surely_module(analysis, owner) or _is_taken(analysis, owner, attribute.name):
        return None
    tensors = [one for one in attribute.stores if not makes_parameter(one[1].value)]
    others = [store for _, store in attribute.stores if makes_parameter(store.value)]
    made = [one for one in tensors if not isinstance(one[1].statement, ast.AugAssign)]
    here = [one for one in made if one[0].name == "__init__"] or [one for one in made if _is_begun(analysis, one[0])]
    if not here or not all(_gives_tensor(analysis, store) for _, store in tensors):
        return None
    if not all(contradictory(store.guard, other.guard) for _, store in tensors for other in others):
        return None
    edits = [_registered(source, function, store) for function, store in here if not _is_behind(store, here)]
    if not all(edits):
        return None
    whole = all(is_whole(store.value) for _, store in made)
    return Buffer(attribute.name, tuple(edit for each in edits for edit in each), whole)


def is_surely_module(analysis: Analysis, owner: Class) -> bool:
    """Whether a class is one of modules for certain: by its bases, or because it registers what it holds."""
    if owner not in analysis.kinds.module_classes:
        return False
    if any(one.startswith(_MODULES) or one.endswith(libraries.MODULE_CLASSES) for one in _bases(analysis, owner)):
        return True
    return any(
        node.op is Op.CALL
        and ((node.args[0].op is Op.ATTR and node.args[0].extra in _REGISTERING) or makes_parameter(node))
        for each in owner.lineage()
        for function in each.methods.values()
        for node in function.nodes
    )


def _bases(analysis: Analysis, owner: Class) -> Iterator[str]:
    return (canonical(one) for each in _lineage(analysis, owner) for base in each.bases for one in names(base)[:1])


def _lineage(analysis: Analysis, owner: Class) -> Iterator[Class]:
    """A class, and those that it is derived from, in whatever files."""
    return analysis.births.imported.lineage(owner)


def _is_taken(analysis: Analysis, owner: Class, name: str) -> bool:
    """Whether the class has a thing of this name already, or Python mangles the name."""
    return name.startswith("__") or any(name in one.methods or name in one.members for one in _lineage(analysis, owner))


def _is_begun(analysis: Analysis, function: Function) -> bool:
    """Whether a method is one that the constructor of its class calls."""
    return any(
        called is function and call.function.name == "__init__" and call.function.owner is not None
        for call, called in analysis.calls.items()
    )


def _is_behind(store: Store, others: list[tuple[Function, Store]]) -> bool:
    """Whether the attribute is registered whenever a statement sets it, so that it may do that as it does."""
    return any(
        one is not store and one.guard < store.guard and one.value.index < store.value.index for _, one in others
    )


def _gives_tensor(analysis: Analysis, store: Store) -> bool:
    """Whether a tensor is stored for certain, one that is no leaf, which an optimizer may know."""
    value = store.value
    if is_of_any_kind(value) or value.op in {Op.SEQUENCE, Op.MAPPING, Op.COMPREHENSION, Op.CONST}:
        return False
    if any(one.op is Op.CONST for one in choices(value)) or keyword(value, "requires_grad") is not None:
        return False
    return analysis.kinds.of(value) is Kind.TENSOR


def is_of_any_kind(value: Node) -> bool:
    """Whether a value is what a caller gives, who is told of no kind: it may be a number, or a list."""
    annotation = getattr(value.syntax, "annotation", None)
    return value.op is Op.PARAM and (annotation is None or "Tensor" not in ast.unparse(annotation))


def _registered(source: Source, function: Function, store: Store) -> tuple[Edit, ...]:
    """The statement that registers what another one stores; nothing before the module is set up."""
    itself = function.self_node
    if itself is None or store.base is not itself or not is_set_up(function, store):
        return ()
    match store.statement:
        case ast.Assign(targets=[ast.Attribute() as target], value=value) as statement:
            pass
        case _:
            return ()
    name, text = str(store.key), source.segment(source.span(value))
    if "\n" in text and not _is_bound(function, name):
        code = f'{itself.extra}.register_buffer("{name}", {name}, persistent=False)'
        local = ReplaceExpression(source.span(target), name)  # what is written over several lines stays so
        return local, InsertStatement(source.span(statement), "after", code)
    code = f'{itself.extra}.register_buffer("{name}", {text}, persistent=False)'
    return (ReplaceStatement(source.span(statement), code),)


def _is_bound(function: Function, name: str) -> bool:
    """Whether a name is one of the function's own, or read there."""
    return any(
        isinstance(one, ast.Name | ast.arg) and name in (getattr(one, "id", ""), getattr(one, "arg", ""))
        for one in ast.walk(function.syntax)
    )


def is_set_up(function: Function, store: Store) -> bool:
    """Whether the constructor of the base has run: before it, nothing can be registered."""
    if function.name != "__init__":
        return True
    return any(
        node.op is Op.CALL
        and node.args[0].op is Op.ATTR
        and node.args[0].extra == "__init__"
        and node.statement is not None
        and store.statement is not None
        and node.statement.lineno < store.statement.lineno
        for node in function.nodes
    )


_MODULES = ("torch.nn.", "pytorch_lightning.", "lightning.")
_REGISTERING = frozenset({"register_buffer", "register_parameter"})
