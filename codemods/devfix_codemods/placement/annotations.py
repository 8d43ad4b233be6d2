"""Evidence of what sort of thing parameters are, from their annotations."""

import ast
import re
from typing import TYPE_CHECKING

from devfix_codemods.catalogue import Kind
from devfix_codemods.ir import Node

if TYPE_CHECKING:
    from devfix_codemods.placement.kinds import Kinds


def annotated(kinds: "Kinds", node: Node, annotation: ast.expr) -> None:
    text = annotation.id if isinstance(annotation, ast.Name) else ast.unparse(annotation).strip("'\"")
    if _LISTS.search(text) and _TENSORS.search(text):
        kinds.rows.add(node)  # it may be either
        return
    text = _KEYS.sub("", text)
    words = set(text.replace("|", " ").replace("[", " ").replace("]", " ").replace(",", " ").split())
    last = {one.rpartition(".")[2] for one in words}
    if text.partition("[")[0].rpartition(".")[2] in _CONTAINERS and not last & _ANNOTATIONS[Kind.TENSOR]:
        kinds.say(node, Kind.SEQUENCE, 3)  # one of tensors counts as a tensor, which its elements are
        return
    if last & (_CONTAINERS | {"dict", "Dict", "Mapping"}):
        kinds.rows.add(node)
    for kind_, found in _ANNOTATIONS.items():
        if last & found:
            kinds.say(node, kind_, 3)


_ANNOTATIONS = {
    Kind.TENSOR: {"Tensor", "FloatTensor", "LongTensor", "BoolTensor", "IntTensor", "FloatTensorType"},
    Kind.MODULE: {"Module", "PreTrainedModel"},
    Kind.DEVICE: {"device"},
    Kind.NUMBER: {"int", "float", "bool"},
    Kind.TEXT: {"str", "Path"},
    Kind.LOADER: {"DataLoader"},
    Kind.ARRAY: {"ndarray", "array"},
    Kind.MAPPING: {"dict", "Dict", "Mapping", "MutableMapping"},
    Kind.OPTIMIZER: {"Optimizer"},
}
_LISTS = re.compile(r"(?i)\b(?:list|sequence|tuple)\[(?:int|float|bool|str)")
_KEYS = re.compile(r"(?i)^(?:\w+\.)*(?:dict|mapping|mutablemapping)\[\w+,\s*")
"""Of a mapping, what is told is what its values are."""
_TENSORS = re.compile(r"\bTensor\b")
_CONTAINERS = frozenset({"Sequence", "List", "list", "Tuple", "tuple", "Iterable", "Set", "set", "Collection"})
