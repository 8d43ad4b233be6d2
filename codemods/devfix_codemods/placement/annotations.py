"""Evidence of what sort of thing parameters are, from their annotations."""

import ast
import re
from typing import TYPE_CHECKING

from devfix_codemods.catalogue import Kind
from devfix_codemods.ir import Node

if TYPE_CHECKING:
    from devfix_codemods.placement.kinds import Kinds


def annotated(kinds: "Kinds", node: Node, annotation: ast.expr) -> None:
    text = annotation.id if isinstance(annotation, ast.Name) else _text(annotation)
    if _LISTS.search(text) and _TENSORS.search(text):
        kinds.rows.add(node)  # it may be either
        return
    text, mappings = _KEYS.subn("", text)
    if mappings:
        kinds.rows.add(node)
    last = _words(text)
    if text.partition("[")[0].rpartition(".")[2] in _CONTAINERS and not last & _ANNOTATIONS[Kind.TENSOR]:
        kinds.say(node, Kind.SEQUENCE, 3)  # one of tensors counts as a tensor, which its elements are
        return
    if last & (_CONTAINERS | {"dict", "Dict", "Mapping"}):
        kinds.rows.add(node)
    for kind_, found in _ANNOTATIONS.items():
        if last & found:
            kinds.say(node, kind_, 3)


def says_placeless(annotation: ast.expr) -> bool:
    """`np.ndarray | None`, `list[str]`: whether an annotation speaks of arrays, numbers or texts, and of no tensors."""
    last = _words(_text(annotation))
    return not last.isdisjoint(_PLACELESS) and last.isdisjoint(_ANNOTATIONS[Kind.TENSOR])


def names_other_object(annotation: ast.expr) -> bool:
    """`Skeleton`, `config.Options | None`: whether an annotation names classes of which none speaks of tensors, of
    arrays, or of anything."""
    named = _words(_text(annotation)) - {"None", "Optional", "Union"}
    return bool(named) and all(one[:1].isupper() and _ANYTHING.search(one) is None for one in named)


def _words(text: str) -> set[str]:
    """The last parts of the names in an annotation."""
    return {one.rpartition(".")[2] for one in _BETWEEN.sub(" ", text).split()}


def _text(annotation: ast.expr) -> str:
    """What is written, without what a callable takes and gives, and what a class makes: that is not the value."""
    text = ast.unparse(annotation).strip("'\"")
    if not _OF_OTHERS.search(text):
        return text
    try:
        return ast.unparse(_Itself().visit(ast.parse(text, mode="eval")))
    except SyntaxError:
        return text


class _Itself(ast.NodeTransformer):
    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        self.generic_visit(node)
        return node.value if _OF_OTHERS.fullmatch(f"{ast.unparse(node.value)}[") else node


_ANNOTATIONS = {
    Kind.TENSOR: {"Tensor", "FloatTensor", "LongTensor", "BoolTensor", "IntTensor", "FloatTensorType"},
    Kind.MODULE: {"Module", "PreTrainedModel"},
    Kind.DEVICE: {"device"},
    Kind.NUMBER: {"int", "float", "bool"},
    Kind.TEXT: {"str", "Path"},
    Kind.LOADER: {"DataLoader"},
    Kind.ARRAY: {"ndarray", "array", "DataArray"},
    Kind.MAPPING: {"dict", "Dict", "Mapping", "MutableMapping"},
    Kind.OPTIMIZER: {"Optimizer"},
}
_PLACELESS = frozenset().union(*(_ANNOTATIONS[one] for one in (Kind.NUMBER, Kind.TEXT, Kind.ARRAY)))
_ANYTHING = re.compile(
    r"(?i)tensor|array|any|float|int|long|bool|shaped|number|object|data|batch|graph|^[a-z]\d*$|^_?T"
)
"""Names that speak of tensors, of what may hold them, or of no class: `Float`, `ArrayLike`, `T`, `TInput`."""
_BETWEEN = re.compile(r"[|\[\],]")
_OF_OTHERS = re.compile(r"\b(?:\w+\.)*(?:Callable|Type|type)\[")
_LISTS = re.compile(r"(?i)\b(?:list|sequence|tuple)\[(?:int|float|bool|str)")
_KEYS = re.compile(r"(?i)^(?:\w+\.)*(?:dict|mapping|mutablemapping)\[\w+,\s*")
"""Of a mapping, what is told is what its values are."""
_TENSORS = re.compile(r"\bTensor\b")
_CONTAINERS = frozenset({"Sequence", "List", "list", "Tuple", "tuple", "Iterable", "Set", "set", "Collection"})
