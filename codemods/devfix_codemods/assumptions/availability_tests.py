"""Whether code asks for the machine before it needs something of it: by the guards of a value, and by names."""

import ast
import re
from collections.abc import Hashable, Iterable, Iterator

from devfix_codemods.assumptions.index import Index, called, method
from devfix_codemods.catalogue import Kind
from devfix_codemods.ir import Function, Guard, Node, Op
from devfix_codemods.ir.keys import name
from devfix_codemods.ir.nodes import ALWAYS

_DEVICES = (
    r"cuda|gpu|device|torch\.accelerator|(?<![a-z])(?:hip|rocm|mps|cpu|xpu|npu|trt)(?![a-z])|nccl|triton"
    r"|tensorrt|is_available"
)
_WORDS = re.compile(_DEVICES, re.IGNORECASE)
_ROUNDABOUT = re.compile(
    rf"{_DEVICES}|distributed|(?<![a-z])(?:dist|ddp|amp|fp16|float16|half|bf16|fp8|apex)(?![a-z])", re.IGNORECASE
)
"""What tests speak of that hold only where CUDA is; in the callers of a function, only the plain words count."""
_MEANT = re.compile(
    r"cuda|gpu|nccl|triton|bench|profil|latency|tensorrt|(?<![a-z])trt(?![a-z])|graph_capture", re.IGNORECASE
)
"""Names of functions and classes that are for CUDA, or for measuring it."""
_SKIPS = re.compile(r"cuda|gpu|skip|device|accelerator|triton|numba", re.IGNORECASE)
_DEEPEST = 8
_CALLERS = 2


def is_guarded(index: Index, node: Node, depth: int = _CALLERS) -> bool:
    """Whether `node` is computed only where the program knows of a card: by a test, a `try`, a name, or all callers."""
    words = _ROUNDABOUT if depth == _CALLERS else _WORDS
    if speaks(index, node.guard, words) or any(words.search(ast.unparse(one)) for one in _filters(node)):
        return True
    if is_caught(index, node) or _is_settled(node):
        return True
    function: Function | None = node.function
    while function is not None and not isinstance(function.syntax, ast.Module):
        owner = function.owner
        if _MEANT.search(function.name) or (owner is not None and _MEANT.search(owner.name)):
            return True
        decorators = getattr(function.syntax, "decorator_list", ())
        if any(_SKIPS.search(ast.unparse(one)) for one in decorators):
            return True
        callers = index.callers(function)
        if depth and callers and all(is_guarded(index, one, depth - 1) for one in callers):
            return True
        if speaks(index, _defined_under(function), _WORDS):
            return True
        function = function.parent
    return False


def _defined_under(function: Function) -> Guard:
    """What held where a function was defined, or its class: `assert torch.cuda.is_available()` at the top of a file."""
    syntax = function.syntax if function.owner is None else function.owner.syntax
    around = function.parent if function.owner is None else function.owner.home
    return around.guards.get(syntax, ALWAYS) if around is not None and isinstance(syntax, ast.stmt) else ALWAYS


def speaks(index: Index, guard: Guard, words: re.Pattern[str] = _ROUNDABOUT) -> bool:
    """Whether a condition speaks of devices. Where a conjunction does not hold, nothing is known of its parts."""
    atoms = (atom for atom, holds in guard if holds or not (isinstance(atom, tuple) and atom[:1] == ("and",)))
    return any(words.search(one) for atom in atoms for one in _of_atom(index, atom, 0))


def _of_atom(index: Index, atom: Hashable, depth: int) -> Iterator[str]:
    """The words of which a test is made."""
    if isinstance(atom, frozenset):
        for inner in atom:
            yield from _of_atom(index, inner, depth)
    if not isinstance(atom, tuple) or not atom or depth > _DEEPEST:
        return
    head, *rest = atom
    if head in {"node", "param"} and isinstance(rest[0], int):
        yield from _of_node(index, index.numbered[rest[0]], depth + 1)
        return
    if head == "self":
        return
    if head == "attr" and isinstance(rest[0], tuple) and rest[0][0] == "self":
        yield from _of_field(index, str(rest[0][1]), str(rest[1]), depth + 1)
    for one in rest if isinstance(head, str) else atom:
        if isinstance(one, str):
            yield one
            if head == "GLOBAL" and (made := index.analysis.module.top.finals.get(one)) is not None:
                yield from _of_node(index, made, depth + 1)
        else:
            yield from _of_atom(index, one, depth + 1)


def _of_field(index: Index, owner: str, attribute: str, depth: int) -> Iterator[str]:
    """What an attribute of an object was set to: `self.waits = device.type == "cuda"`."""
    for stores in list(index.stores.values()):
        for store in stores:
            home = store.base.function.owner
            if store.is_attribute and store.key == attribute and home is not None and home.name == owner:
                yield from _of_node(index, store.value, depth)


def _of_node(index: Index, node: Node, depth: int) -> Iterator[str]:
    """The words that say what a value was asked for; tensors, and what is computed of them, say nothing."""
    if depth > _DEEPEST or index.analysis.kinds.of(node) in {Kind.TENSOR, Kind.MODULE}:
        if node.op is Op.PARAM:
            yield str(node.extra)
        return
    match node.op:
        case Op.PARAM | Op.REF | Op.FIELD:
            yield str(node.extra)
        case Op.CONST if isinstance(node.extra, str):
            yield node.extra
        case Op.GLOBAL:
            yield from _of_atom(index, ("GLOBAL", node.extra), depth)
        case Op.ATTR:
            yield str(node.extra)
            yield from _of_owner(index, node, depth + 1)
        case _:
            for one in _parts(node):
                yield from _of_node(index, one, depth + 1)
            for atom in _chosen_by(node):
                yield from _of_atom(index, atom, depth + 1)


def _of_owner(index: Index, attribute: Node, depth: int) -> Iterator[str]:
    base = attribute.args[0]
    if base is base.function.self_node and base.function.owner is not None:
        yield from _of_field(index, base.function.owner.name, str(attribute.extra), depth)
    else:
        yield from _of_node(index, base, depth)


def _parts(node: Node) -> Iterable[Node]:
    """What a value is computed of, as far as that says what was asked."""
    if node.op is Op.CALL:
        plain = (name(node.args[0]) or "").startswith(_SAYING)
        return (node.args[0], *(one for one in node.args[1:] if plain or one.op is Op.CONST))
    if node.op is Op.PHI:
        return node.args if isinstance(node.syntax, ast.BoolOp | ast.IfExp) else ()
    return node.args if node.op in _ASKING else ()


_SAYING = ("builtins.", "torch.device", "torch.cuda.", "torch.backends.")
"""What is asked of what it is given, or says it in other words."""
_ASKING = frozenset({Op.COMPARE, Op.OPERATION, Op.UNKNOWN, Op.SEQUENCE, Op.ITEM, Op.ITER, Op.COMPREHENSION})


def _chosen_by(node: Node) -> Iterator[Hashable]:
    """The tests between whose branches a value was chosen."""
    if node.op is Op.PHI:
        for guard in node.extras:
            if isinstance(guard, frozenset):
                yield from (atom for atom, _ in guard - node.guard)


def _filters(node: Node) -> Iterator[ast.expr]:
    """What holds for what a call is given: of an element of a comprehension, the tests of that."""
    for one in node.args[1:]:
        made = one.args[0].syntax if one.op is Op.ITER else None
        if isinstance(made, ast.ListComp | ast.SetComp | ast.GeneratorExp):
            yield from (test for generator in made.generators for test in generator.ifs)


def is_caught(index: Index, node: Node) -> bool:
    """A `try` that lives with the error, a `case`, a test that wants it."""
    inner = node.syntax
    if inner is None:  # what `map` calls has no text of its own
        return False
    for outer in index.ancestors(inner):
        match outer:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda():
                return False
            case ast.Try(body=body, handlers=handlers) if inner in body and any(map(_lives_with, handlers)):
                return True
            case ast.match_case():
                return True
            case ast.IfExp(body=body, orelse=other) if inner in {body, other} and _to_host(
                other if inner is body else body
            ):
                return True
            case ast.With(items=items) if any("aises" in ast.unparse(one.context_expr) for one in items):
                return True
        inner = outer
    return False


def _lives_with(handler: ast.ExceptHandler) -> bool:
    """Whether a handler may catch an error of CUDA: not `except KeyboardInterrupt`."""
    types = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(one is None or ast.unparse(one) not in _NO_ERRORS for one in types)


_NO_ERRORS = frozenset({"KeyboardInterrupt", "SystemExit", "GeneratorExit", "StopIteration"})


def _to_host(node: ast.expr) -> bool:
    """`x.numpy()`, `x.cpu()`: where the other branch takes the value to CUDA, the test chooses between the two."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if node.func.attr in {"numpy", "cpu"}:
            return True
        node = node.func.value
    return False


def _is_settled(node: Node) -> bool:
    """`torch.cuda.set_device(rank)` or a process group of NCCL above, on every path: what follows needs CUDA anyway."""
    return any(
        one.index < node.index and one.guard <= node.guard and _chooses_card(one)
        for one in node.function.nodes
        if one.op is Op.CALL
    )


def _chooses_card(call: Node) -> bool:
    if called(call, "torch.cuda.set_device"):
        return True
    last = (name(call.args[0]) or method(call) or "").rpartition(".")[2]
    return last == "init_process_group" and any("nccl" in str(one.extra) for one in call.args[1:] if one.op is Op.CONST)
