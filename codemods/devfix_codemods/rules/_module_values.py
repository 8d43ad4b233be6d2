"""Whether an expression gives a module, judged by what builds it: an API, a class or a function of the same file."""

import ast
import builtins
import re
from collections.abc import Iterable
from enum import Enum, auto

from devfix_codemods import scope
from devfix_codemods.flow.evidence import dotted
from devfix_codemods.flow.library import is_model_factory, is_module_api
from devfix_codemods.flow.tables import CONTAINER_MODULES, PARAMETERLESS_MODULES, canonical
from devfix_codemods.program import Program
from devfix_codemods.scope import Function

_LIBRARIES = ("torch_geometric.nn.", "dgl.nn.", "torchmetrics.", "torchvision.ops.")
"""Libraries whose classes, below these names, are modules."""
_WRAPPERS = (
    "torch.nn.utils.",
    "torch.jit.script",
    "torch.compile",
    "torchvision.models.feature_extraction.",
    "copy.deepcopy",
    "copy.copy",
)
"""Functions that give back the module that they get, or one like it."""
_SELF_METHODS = frozenset({"to", "cuda", "cpu", "float", "double", "half", "bfloat16", "apply", "train", "eval"})
_LAYER = re.compile(
    "(Attention|Block|Cell|Conv[123]?d?|Decoder|Embedding|Encoder|Experts?|FFN|FeedForward|Head|Layer|Linear|MLP|Mlp|"
    "Module|Net|Network|Norm|Stage|Transformer|Unit)$"
)
_MODULE_BASES = ("LightningModule", "PreTrainedModel", "MessagePassing")
_DEPTH = 4


class Sort(Enum):
    """What an expression gives."""

    MODULE = auto()
    BARE = auto()
    """A module without parameters, which lives nowhere."""
    LIKELY = auto()
    """Named or used like a module, but built by code that was not read."""
    NONE = auto()
    OTHER = auto()
    """Surely no module."""
    UNKNOWN = auto()


def joined(sorts: Iterable[Sort]) -> Sort:
    """What any one of several expressions may give: the least certain of them, `None` aside."""
    found = set(sorts) - {Sort.NONE}
    for sort in (Sort.OTHER, Sort.UNKNOWN, Sort.LIKELY, Sort.MODULE, Sort.BARE):
        if sort in found:
            return sort
    return Sort.NONE


class ModuleValues:
    """Sorts the expressions of one program."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._names = program.names
        self.classes = program.classes
        self._local = {one.name: one for one in program.names.classes}
        self._stars = any(alias.name == "*" for node in program.names.imports for alias in node.names)
        self._functions = {one.name: one for one in program.tree.body if isinstance(one, Function)}

    def qualified(self, node: ast.expr) -> str | None:
        """The canonical name of what `node` refers to. An unbound `nn` beside a star import is torch's."""
        name = self._names.qualified(node)
        if name is None and self._stars and not self._names.bound_in_module("nn"):
            text = dotted(node) or ""
            name = f"torch.{text}" if text.startswith("nn.") else None
        return canonical(name) if name is not None else None

    def is_module_class(self, definition: ast.ClassDef) -> bool:
        """Surely derived from `torch.nn.Module`."""
        bases = (*self.classes.bases(definition), *(self.qualified(one) or "" for one in definition.bases))
        return any(
            base == "torch.nn.Module"
            or (base.startswith("torch.nn.") and base.rpartition(".")[2][:1].isupper() and is_module_api(base))
            or base.rpartition(".")[2] in _MODULE_BASES
            for base in bases
        )

    def sort(self, node: ast.expr, depth: int = 0) -> Sort:
        """What `node` gives."""
        if depth > _DEPTH:
            return Sort.UNKNOWN
        match node:
            case ast.Call():
                return self._call(node, depth)
            case ast.Name():
                return self._name(node, depth)
            case ast.IfExp(body=body, orelse=orelse):
                return joined((self.sort(body, depth + 1), self.sort(orelse, depth + 1)))
            case ast.Constant(value=None):
                return Sort.NONE
            case ast.Constant() | ast.Lambda() | ast.JoinedStr() | ast.Compare():
                return Sort.OTHER
        return Sort.UNKNOWN

    def _call(self, node: ast.Call, depth: int) -> Sort:
        function = node.func
        name = self.qualified(function)
        if name is not None:
            return self._api(node, name, depth)
        if isinstance(function, ast.Name):
            return self._called_name(node, function, depth)
        if not isinstance(function, ast.Attribute):
            return Sort.UNKNOWN
        if isinstance(function.value, ast.Name) and function.value.id == "self":
            return self._own_method(node, function.attr, depth)
        if function.attr in _SELF_METHODS:
            return self.sort(function.value, depth + 1)
        return Sort.LIKELY if _sounds_like_layer(function.attr) else Sort.UNKNOWN

    def _api(self, node: ast.Call, name: str, depth: int) -> Sort:
        if name in CONTAINER_MODULES:
            return self._container(node, depth)
        if is_module_api(name):
            weighted = any(one.arg in {"weight", "pos_weight"} for one in node.keywords)
            bare = name in PARAMETERLESS_MODULES or (name.endswith("Loss") and not weighted)
            return Sort.BARE if bare else Sort.MODULE
        if name.startswith(_WRAPPERS):
            return self.sort(node.args[0], depth + 1) if node.args else Sort.UNKNOWN
        last = name.rpartition(".")[2]
        if is_model_factory(name) or name.endswith(("nn.Embedding.from_pretrained", "nn.EmbeddingBag.from_pretrained")):
            return Sort.MODULE
        if name.startswith(_LIBRARIES) and last[:1].isupper():
            return Sort.MODULE
        if name.startswith("torch.") or name == "functools.partial":
            return Sort.OTHER
        return Sort.LIKELY if _sounds_like_layer(last) else Sort.UNKNOWN

    def _container(self, node: ast.Call, depth: int) -> Sort:
        """A container of torch is bare where all that it is given is; an empty one may get anything."""
        if node.args and all(self.sort(one, depth + 1) is Sort.BARE for one in node.args):
            return Sort.BARE
        return Sort.MODULE

    def _called_name(self, node: ast.Call, function: ast.Name, depth: int) -> Sort:
        owner = scope.function_around(self._program, node)
        if owner is not None and function.id in scope.parameters(owner):
            return Sort.LIKELY
        if (definition := self._local.get(function.id)) is not None:
            return self._of_class(definition)
        if (helper := self._functions.get(function.id)) is not None:
            return self._returned(helper, depth)
        if function.id in dir(builtins):
            return Sort.OTHER
        return Sort.LIKELY if _sounds_like_layer(function.id) else Sort.UNKNOWN

    def _of_class(self, definition: ast.ClassDef) -> Sort:
        if self.is_module_class(definition):
            return Sort.MODULE if self._has_parts(definition) else Sort.BARE
        return Sort.LIKELY if self.classes.is_module(definition) else Sort.OTHER

    def _has_parts(self, definition: ast.ClassDef) -> bool:
        """Whether a module class may have parameters: it keeps what a call gave, or derives from what does."""
        if [self.qualified(base) for base in definition.bases] != ["torch.nn.Module"]:
            return True
        return any(
            isinstance(one, ast.Assign)
            and isinstance(one.targets[0], ast.Attribute)
            and any(isinstance(inner, ast.Call) for inner in ast.walk(one.value))
            for one in ast.walk(definition)
        )

    def _own_method(self, node: ast.Call, name: str, depth: int) -> Sort:
        owner = scope.class_around(self._program, node)
        method = self.classes.methods(owner).get(name) if owner is not None else None
        return self._returned(method, depth) if method is not None else Sort.UNKNOWN

    def _returned(self, function: Function, depth: int) -> Sort:
        """What a function of this file returns on all its ways."""
        values = [
            one.value
            for one in ast.walk(function)
            if isinstance(one, ast.Return) and scope.function_around(self._program, one) is function
        ]
        if not values or any(isinstance(one, (ast.Yield, ast.YieldFrom)) for one in ast.walk(function)):
            return Sort.OTHER
        return joined(Sort.NONE if one is None else self.sort(one, depth + 1) for one in values)

    def _name(self, node: ast.Name, depth: int) -> Sort:
        """A local name: what all its assignments in the function give."""
        function = scope.function_around(self._program, node)
        if function is None or node.id in scope.parameters(function):
            return Sort.UNKNOWN
        found: list[Sort] = []
        for one in ast.walk(function):
            if isinstance(one, ast.Name) and one.id == node.id and isinstance(one.ctx, ast.Store):
                parent = self._names.parent(one)
                if not (isinstance(parent, ast.Assign) and one in parent.targets):
                    return Sort.UNKNOWN
                found.append(self.sort(parent.value, depth + 1))
        return joined(found) if found else Sort.UNKNOWN


def _sounds_like_layer(name: str) -> bool:
    return name[:1].isupper() and _LAYER.search(name) is not None
