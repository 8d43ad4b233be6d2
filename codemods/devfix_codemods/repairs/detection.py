"""Cuts of what detection models get: a list of pictures, and a list of mappings with their boxes and labels.

https://docs.pytorch.org/vision/stable/models/generated/torchvision.models.detection.fasterrcnn_resnet50_fpn.html
"""

from collections.abc import Iterator

from devfix_codemods.catalogue import Kind, libraries
from devfix_codemods.edits.operations import InsertStatement
from devfix_codemods.ir import Node, Op
from devfix_codemods.ir.keys import name as name_of
from devfix_codemods.placement.analysis import Analysis
from devfix_codemods.placement.search import Conflict
from devfix_codemods.repairs.cut import Cut, name_at
from devfix_codemods.repairs.devices import suffixes
from devfix_codemods.repairs.points import before
from devfix_codemods.repairs.suffix import Suffix
from devfix_codemods.repairs.unpacked import where_told
from devfix_codemods.source import Source


def detected(analysis: Analysis, source: Source, conflict: Conflict, call: Node) -> Iterator[Cut]:
    """`targets = [{k: v.to(device) for k, v in one.items()} for one in targets]`, in front of the call of the model."""
    node = conflict.birth.node
    name, point = name_at(node, call), before(call)
    if name is None or point is None or call.statement is None:
        return
    for suffix in suffixes(analysis, conflict, point):
        code = f"{name} = {_moved(name, suffix, is_first=call.args[1] is node)}"
        edit = InsertStatement(source.span(call.statement), "before", where_told(suffix, code))
        yield Cut((edit, *suffix.edits), f"Move the tensors of `{name}`", sure=False)


def detecting(analysis: Analysis, node: Node) -> Node | None:
    """The call of a detection model that gets a value as it is, unless that is one tensor."""
    if analysis.kinds.of(node) is Kind.TENSOR:
        return None
    given = (one for one in analysis.module.users.get(node, ()) if one.op is Op.CALL and node in one.args[1:])
    return next((one for one in given if one.function is node.function and _is_detection(analysis, one.args[0])), None)


def _is_detection(analysis: Analysis, model: Node) -> bool:
    made = [one for one in analysis.origins.made(model) if one.op is Op.CALL]
    return bool(made) and all((name_of(one.args[0]) or "").startswith(libraries.DETECTION) for one in made)


def _moved(name: str, suffix: Suffix, *, is_first: bool) -> str:
    one, key, value = suffix.beside("one"), suffix.beside("k"), suffix.beside("v")
    entries = f"{{{key}: {value}{suffix.text} for {key}, {value} in {one}.items()}}"
    return f"[{f'{one}{suffix.text}' if is_first else entries} for {one} in {name}]"
