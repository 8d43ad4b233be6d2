"""What the use of a name in a function says of its kind, read before the function is interpreted.

A parameter called `model` may be anything; one on which `.parameters()` is called is a module. Only uses count, never
the name.
"""

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from devfix_codemods.flow import tables
from devfix_codemods.flow.names import Names
from devfix_codemods.flow.tree import children, stored


@dataclass(slots=True)
class Evidence:
    """Dotted names (`model`, `self.net`) by what is done with them in one function, or one class.

    `applied` are the dotted names that are called with something: what is moved as well is a module.
    `methods` are the last parts of what is called by a dotted name, `built` the dotted names of calls that look like
    those of classes. `kept` are the assignments to attributes, `read` the attributes that are read.
    `results` are the dotted names of the functions that give each plain name its value, `criteria` those that give what
    is then differentiated, `numbers` the names that `.item()` is asked of.
    `surely` are those with which something is done that only a torch tensor stands (no number, no numpy array), each
    with the lines where that is seen; `stores` are the lines at which a plain name is bound, `drawn` the first and last
    lines of the comprehensions that bind one for themselves. `shaped` and `placed` have a `shape` and a `device`: what
    has both is a tensor too. `arrays` are used as an array of some library: a tensor
    where the file imports no other.
    """

    modules: set[str] = field(default_factory=set)
    tensors: set[str] = field(default_factory=set)
    losses: set[str] = field(default_factory=set)
    results: dict[str, set[str]] = field(default_factory=dict)
    criteria: set[str] = field(default_factory=set)
    numbers: set[str] = field(default_factory=set)
    texts: set[str] = field(default_factory=set)
    plain: set[str] = field(default_factory=set)
    numpy: set[str] = field(default_factory=set)
    bindings: dict[str, int] = field(default_factory=dict)
    surely: dict[str, list[int]] = field(default_factory=dict)
    stores: dict[str, list[int]] = field(default_factory=dict)
    drawn: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    shaped: set[str] = field(default_factory=set)
    arrays: dict[str, list[int]] = field(default_factory=dict)
    placed: set[str] = field(default_factory=set)
    iterated: set[str] = field(default_factory=set)
    called: set[str] = field(default_factory=set)
    applied: set[str] = field(default_factory=set)
    moved: set[str] = field(default_factory=set)
    methods: set[str] = field(default_factory=set)
    built: set[str] = field(default_factory=set)
    kept: list[ast.Assign] = field(default_factory=list)
    read: set[str] = field(default_factory=set)
    yields: bool = False

    def absorb(self, inner: "Evidence") -> None:
        """Add what nested code says: it sees the same names."""
        self.modules |= inner.modules
        self.tensors |= inner.tensors
        self.losses |= inner.losses
        self.criteria |= inner.criteria
        self.texts |= inner.texts
        self.plain |= inner.plain
        self.numpy |= inner.numpy
        self.moved |= inner.moved
        self.iterated |= inner.iterated
        self.called |= inner.called
        self.applied |= inner.applied
        self.methods |= inner.methods
        self.built |= inner.built
        self.kept += inner.kept
        self.read |= inner.read
        for name, count in inner.bindings.items():
            self.bindings[name] = self.bindings.get(name, 0) + count
        self.shaped |= inner.shaped
        self.placed |= inner.placed
        for name, lines in inner.arrays.items():
            self.arrays.setdefault(name, []).extend(lines)
        for name, lines in inner.surely.items():
            self.surely.setdefault(name, []).extend(lines)
        for name, lines in inner.stores.items():
            self.stores.setdefault(name, []).extend(lines)
        for name, spans in inner.drawn.items():
            self.drawn.setdefault(name, []).extend(spans)

    def sure(self, name: str, line: int) -> None:
        """Note that `name` is a tensor at `line`."""
        self.surely.setdefault(name, []).append(line)

    def is_tensor(self, name: str, bound: int) -> bool:
        """Whether what `name` is bound to at line `bound` is surely a tensor: by what is done with it until it is bound
        again."""
        both = name in self.shaped and name in self.placed
        if (name not in self.surely and not both) or name in self.modules or name in self.called:
            return False
        later = [line for line in self.stores.get(name, ()) if line > bound]
        if not later and (both or len(self.stores.get(name, ())) <= 1):
            return True
        spans = self.drawn.get(name, ())
        own = next(((first, last) for first, last in spans if first <= bound <= last), None)
        if own is not None:
            return any(own[0] <= line <= own[1] for line in self.surely.get(name, ()))
        end = min(later, default=None)
        seen = [one for one in self.surely.get(name, ()) if not any(first <= one <= last for first, last in spans)]
        return any(bound <= line and (end is None or line <= end) for line in seen)


def dotted(node: ast.expr) -> str | None:
    """`a.b.c` as text, or None for any other expression."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    return ".".join([node.id, *reversed(parts)])


def last_name(node: ast.expr) -> str | None:
    """`c` of `a().b.c`, whatever stands before it; None for what is neither a name nor an attribute."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else None


def gather(tree: ast.Module, names: Names) -> dict[ast.AST, Evidence]:
    """The evidence of the module, of each class and each function, from one walk."""
    found: dict[ast.AST, Evidence] = {}
    _collect(tree, found, names)
    if not _imports_arrays(names):
        for own in found.values():
            for name, lines in own.arrays.items():
                own.surely.setdefault(name, []).extend(lines)
    return found


def _imports_arrays(names: Names) -> bool:
    """Whether another library with arrays is imported."""
    for node in names.imports:
        modules = [one.name for one in node.names] if isinstance(node, ast.Import) else [node.module or ""]
        if any(one.partition(".")[0] in _ARRAY_LIBRARIES for one in modules):
            return True
    return False


_ARRAY_LIBRARIES = frozenset({"numpy", "jax", "tensorflow", "pandas", "cupy", "paddle", "mlx", "scipy", "cv2"})


def _collect(scope: ast.AST, found: dict[ast.AST, Evidence], names: Names) -> Evidence:
    own = found[scope] = Evidence()
    pending = children(scope)
    while pending:
        node = pending.pop()
        kind = node.__class__
        if kind is ast.Name:
            _name(node, own)  # type: ignore[arg-type]
            continue
        if kind in _SCOPES:
            own.absorb(_collect(node, found, names))
            continue
        if (noter := _NOTERS.get(kind)) is not None:
            noter(node, own)
            if kind is ast.Call:
                _tensor_arguments(node, own, names)  # type: ignore[arg-type]
        if kind is not ast.Constant:
            pending += children(node)
    own.criteria |= {one for name in own.losses if own.bindings.get(name) == 1 for one in own.results.get(name, ())}
    own.modules |= {name for name in own.moved & own.applied if not tables.PLACES_ITS_INPUTS.search(name)}
    return own


_SCOPES = frozenset({ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda})


def _name(node: ast.Name, found: Evidence) -> None:
    if node.ctx.__class__ is ast.Store:
        found.bindings[node.id] = found.bindings.get(node.id, 0) + 1
        found.stores.setdefault(node.id, []).append(node.lineno)


def _assign(node: ast.Assign, found: Evidence) -> None:
    if any(attributes_set(node)):
        found.kept.append(node)
    target, value = node.targets[0], node.value
    if isinstance(target, ast.Name) and isinstance(value, ast.Call) and (text := dotted(value.func)) is not None:
        found.results.setdefault(target.id, set()).add(text)


def attributes_set(node: ast.Assign) -> Iterator[str]:
    """The attributes that an assignment sets, in tuples too."""
    for target in node.targets:
        for one in target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]:
            if isinstance(one, ast.Attribute):
                yield one.attr


def _compare(node: ast.Compare, found: Evidence) -> None:
    if isinstance(node.left, ast.Name) and _is_plain(node.comparators[0]):
        found.plain.add(node.left.id)


def _formatted(node: ast.FormattedValue, found: Evidence) -> None:
    if isinstance(node.value, ast.Name):
        found.texts.add(node.value.id)


def _yield(node: ast.Yield | ast.YieldFrom, found: Evidence) -> None:
    found.yields = True


def _loop(node: ast.For | ast.comprehension, found: Evidence) -> None:
    if isinstance(node.iter, ast.Name):
        found.iterated.add(node.iter.id)


def _comprehension(node: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp, found: Evidence) -> None:
    span = (node.lineno, node.end_lineno or node.lineno)
    for generator in node.generators:
        for name in stored(generator.target):
            found.drawn.setdefault(name, []).append(span)


def _item(node: ast.Subscript, found: Evidence) -> None:
    """`targets[0]["boxes"]`: a list of mappings; `x[:, None]`: an array."""
    inner = node.value
    if isinstance(node.slice, ast.Tuple) and any(_cuts(one) for one in node.slice.elts):
        if (owner := dotted(inner)) is not None:
            found.arrays.setdefault(owner, []).append(node.lineno)
        return
    text = isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str)
    if text and isinstance(inner, ast.Subscript) and isinstance(inner.value, ast.Name):
        found.iterated.add(inner.value.id)


def _cuts(node: ast.expr) -> bool:
    """A slice, `None` or `...` among several indices."""
    return isinstance(node, ast.Slice) or (isinstance(node, ast.Constant) and node.value in {None, ...})


def _statement(node: ast.Expr, found: Evidence) -> None:
    """`model.half()` as a statement works in place: on modules only."""
    call = node.value
    if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr in _IN_PLACE:
        receiver = dotted(call.func.value)
        if receiver is not None:
            found.modules.add(receiver)


_IN_PLACE = frozenset({"half", "float", "double", "bfloat16"})


def _call(node: ast.Call, found: Evidence) -> None:
    text = dotted(node.func)
    if node.args and text is not None:
        found.applied.add(text)
    if isinstance(node.func, ast.Attribute):
        found.methods.add(node.func.attr)
        if node.func.attr[:1].isupper() and text is not None:
            found.built.add(text)
        _method(node.func, node, found)
    elif isinstance(node.func, ast.Name):
        found.called.add(node.func.id)
        if node.func.id[:1].isupper():
            found.built.add(node.func.id)
        names = {one.id for one in node.args if isinstance(one, ast.Name)}
        if node.func.id in {"str", "open"}:
            found.texts |= names
        if node.func.id in {"enumerate", "zip"}:
            found.iterated |= names
    if _is_tokenizing(node, text or ""):
        found.texts.update(one.id for one in node.args if isinstance(one, ast.Name))


def _attribute(node: ast.Attribute, found: Evidence) -> None:
    found.read.add(node.attr)
    if node.attr not in _ATTRIBUTES or (owner := dotted(node.value)) is None:
        return
    if node.attr == "is_cuda":
        found.sure(owner, node.lineno)
    elif node.attr == "device":
        found.placed.add(owner)
    else:
        found.shaped.add(owner)


_ATTRIBUTES = frozenset({"is_cuda", "device", "shape", "ndim"})


def _tensor_arguments(node: ast.Call, found: Evidence, names: Names) -> None:
    """What is given to functions of torch that take nothing but tensors, alone or in a list."""
    if not node.args or last_name(node.func) not in _TENSOR_FUNCTIONS:
        return
    name = tables.canonical(names.qualified(node.func) or "")
    if name not in tables.TENSOR_FUNCTIONS:
        return
    count = 2 if name in tables.TENSOR_PAIRS else 1
    for one in node.args[:count]:
        for part in one.elts if isinstance(one, (ast.List, ast.Tuple)) else [one]:
            if name in tables.SEQUENCE_FUNCTIONS and part is one:
                continue  # the sequence itself is no tensor
            if (given := dotted(part)) is not None:
                found.sure(given, node.lineno)


_TENSOR_FUNCTIONS = frozenset(one.rpartition(".")[2] for one in tables.TENSOR_FUNCTIONS)


def _is_plain(node: ast.expr) -> bool:
    """A number or a string: what is compared with it, outside a tensor expression, is one too."""
    return isinstance(node, ast.Constant) and isinstance(node.value, (int, float, str)) and node.value is not None


def _method(function: ast.Attribute, call: ast.Call, found: Evidence) -> None:
    receiver, arguments = dotted(function.value) if function.attr in _TELLING else None, call.args
    if receiver is None:
        return
    if function.attr in tables.MODULE_EVIDENCE_METHODS and not _trains_another(function, call):
        found.modules.add(receiver)
    if function.attr in tables.TENSOR_EVIDENCE_METHODS:
        found.tensors.add(receiver)
    if function.attr in tables.TENSOR_ONLY_METHODS:
        found.sure(receiver, function.lineno)
    if function.attr in _MOVES:
        found.moved.add(receiver)
    if function.attr == "backward":
        found.losses.add(receiver)
        if not arguments:
            found.sure(receiver, function.lineno)
    if function.attr == "item":
        found.numbers.add(receiver)
    if function.attr in {"numpy", "__array__"}:
        found.numpy.add(receiver)
    if function.attr in _TEXT_METHODS:
        found.texts.add(receiver)


_MOVES = frozenset({"to", "cuda", "cpu", "type_as", "to_device"})
_TEXT_METHODS = frozenset({"lower", "upper", "strip", "startswith", "endswith", "format", "encode", "join"})
_TELLING = (
    tables.MODULE_EVIDENCE_METHODS
    | tables.TENSOR_EVIDENCE_METHODS
    | tables.TENSOR_ONLY_METHODS
    | {"backward", "item", "numpy", "__array__"}
    | _MOVES
    | _TEXT_METHODS
)
"""All methods that `_method` looks at; for others, the name of their owner is not worked out."""


def _trains_another(function: ast.Attribute, call: ast.Call) -> bool:
    """`trainer.train(epochs=3)`: of a module, `train` and `eval` take nothing but the mode."""
    named = {one.arg for one in call.keywords}
    return function.attr in {"train", "eval"} and (len(call.args) > 1 or not named <= {"mode"})


def _is_tokenizing(node: ast.Call, name: str) -> bool:
    """A call that reads its arguments as text: `tokenizer(text)`, `clip.tokenize(text)`."""
    last = name.rpartition(".")[2].lower()
    return "tokeniz" in last or any(keyword.arg == "return_tensors" for keyword in node.keywords)


_NOTERS: dict[type[ast.AST], Callable[[Any, Evidence], None]] = {
    ast.Call: _call,
    ast.Attribute: _attribute,
    ast.Assign: _assign,
    ast.Compare: _compare,
    ast.FormattedValue: _formatted,
    ast.Yield: _yield,
    ast.YieldFrom: _yield,
    ast.For: _loop,
    ast.comprehension: _loop,
    ast.ListComp: _comprehension,
    ast.SetComp: _comprehension,
    ast.DictComp: _comprehension,
    ast.GeneratorExp: _comprehension,
    ast.Subscript: _item,
    ast.Expr: _statement,
}
