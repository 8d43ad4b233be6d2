"""Where a file spells CUDA out, and how each such place is told another device."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from devfix_codemods.assumptions.index import Index, called, method
from devfix_codemods.catalogue import Effect, Kind, canonical, effect
from devfix_codemods.edits.operations import Argument, Edit, ReplaceExpression, RewriteCall
from devfix_codemods.ir import Function, Node, Op
from devfix_codemods.ir.keys import name
from devfix_codemods.placement.arguments import keyword, loaded_to
from devfix_codemods.placement.calls import function_of

_FIRST = re.compile(r"cuda(:0)?$")
_LEGACY = re.compile(r"torch\.cuda\.([A-Z]\w*)Tensor$")
_DTYPES = {
    "Float": "float32",
    "Double": "float64",
    "Half": "float16",
    "BFloat16": "bfloat16",
    "Long": "int64",
    "Int": "int32",
    "Short": "int16",
    "Char": "int8",
    "Byte": "uint8",
    "Bool": "bool",
}
_MAKES = frozenset({Effect.FACTORY, Effect.CONVERSION, Effect.LIKE, Effect.MODULE, Effect.DRAW})


@dataclass(frozen=True, slots=True, eq=False)
class SpelledCuda:
    """One place at which CUDA is spelled out.

    `call` moves a value (`moved`), or makes one (`moved` is None). `literal` names CUDA, where something does: another
    device stands in its place. `dtype` is what a type's name also says.
    """

    call: Node
    syntax: ast.Call
    moved: Node | None = None
    literal: ast.expr | None = None
    dtype: str | None = None


def spelled(index: Index) -> list[SpelledCuda]:
    """All of them in a file; those that name a card other than the first are somebody's choice."""
    found = [one for call in index.calls if (one := _spelled(call)) is not None]
    inside = {inner for one in found if one.literal is not None for inner in ast.walk(one.literal)}
    return [one for one in found if one.syntax not in inside]


def _spelled(call: Node) -> SpelledCuda | None:
    syntax = call.syntax
    assert isinstance(syntax, ast.Call)
    callee = call.args[0]
    if callee.op is Op.ATTR and _holds_nothing(callee.args[0]):
        return None
    if method(call) in {"cuda", "to", "type"} and isinstance(syntax.func, ast.Attribute):
        base = callee.args[0]
        device = keyword(call, "device") or _first(call)
        if callee.extra == "cuda":
            plain = device is None and "**" not in call.extras and not called(base, "builtins.super")
            if plain or (device is not None and _is_first_card(device) and _written(syntax, call, device)):
                return SpelledCuda(call, syntax, base, _written(syntax, call, device))
        elif callee.extra == "to":
            if device is not None and names_cuda(device) and (literal := _written(syntax, call, device)) is not None:
                return SpelledCuda(call, syntax, base, literal)
        elif device is not None and len(call.args) == 2 and (dtype := legacy_type(device)) is not None:
            literal = _written(syntax, call, device)
            return SpelledCuda(call, syntax, base, literal, dtype) if literal is not None else None
        return None
    return _made(call, syntax)


def _made(call: Node, syntax: ast.Call) -> SpelledCuda | None:
    """`torch.zeros(3, device="cuda")`, `torch.Generator("cuda")`, `torch.cuda.FloatTensor(3)`."""
    qualified = canonical(name(call.args[0]) or "")
    if legacy_type(call.args[0]) is not None and not syntax.keywords:
        return SpelledCuda(call, syntax, None, syntax.func) if call.args[0].op is not Op.PHI else None
    generator = qualified == "torch.Generator"
    makes = generator or effect(qualified) in _MAKES or (method(call) or "").startswith("new_")
    device = keyword(call, "device") or (_first(call) if generator else None)
    if device is not None:
        literal = _written(syntax, call, device)
        return (
            SpelledCuda(call, syntax, None, literal) if makes and names_cuda(device) and literal is not None else None
        )
    out = keyword(call, "out") if effect(qualified) is Effect.FACTORY else None
    literal = _written(syntax, call, out) if out is not None and _is_empty_on_cuda(out) else None
    return SpelledCuda(call, syntax, None, literal) if literal is not None else None


def _holds_nothing(moved: Node) -> bool:
    """A module without tensors, `nn.CrossEntropyLoss()`: to move it needs no device, and does nothing."""
    return moved.op is Op.CALL and effect(canonical(name(moved.args[0]) or "")) is Effect.BARE and len(moved.args) == 1


def _first(call: Node) -> Node | None:
    """What a call is given first, without a name."""
    return call.args[1] if len(call.args) > 1 and call.extras[:1] == (None,) else None


def _written(call: ast.Call, node: Node, given: Node | None) -> ast.expr | None:
    """What a call is given, if it stands there, and not under a name."""
    if given is None or given not in node.args[1:]:
        return None
    written = (*call.args, *(one.value for one in call.keywords))[node.args[1:].index(given)]
    plain = isinstance(written, ast.Constant | ast.Call | ast.IfExp) or name(given) is not None
    return written if plain and not isinstance(written, ast.Name) else None


def names_cuda(node: Node) -> bool:
    """`"cuda"`, `"cuda:0"`, `torch.device("cuda")`, `torch.device("cuda", 0)`, written there."""
    if called(node, "torch.device"):
        return len(node.args) > 1 and names_cuda(node.args[1]) and all(map(_is_first_card, node.args[2:]))
    return node.op is Op.CONST and isinstance(node.extra, str) and _FIRST.match(node.extra) is not None


def _is_first_card(node: Node) -> bool:
    plain = node.op is Op.CONST and node.extra in {0, None} and not isinstance(node.extra, bool)
    return plain or names_cuda(node) or called(node, "torch.cuda.current_device")


def legacy_type(node: Node) -> str | None:
    """The dtype of `torch.cuda.FloatTensor`, or of its name in a string."""
    text = node.extra if node.op is Op.CONST else name(node)
    found = _LEGACY.match(text) if isinstance(text, str) else None
    return _DTYPES.get(found[1]) if found is not None else None


def _is_empty_on_cuda(out: Node) -> bool:
    """`out=torch.cuda.FloatTensor()`, which says no more than where the result goes; or that where CUDA is there."""
    if out.op is Op.PHI and isinstance(out.syntax, ast.IfExp) and len(out.args) == 2:
        return called(out.args[1], "torch.FloatTensor") and _is_empty_on_cuda(out.args[0])
    return out.op is Op.CALL and len(out.args) == 1 and legacy_type(out.args[0]) == "float32"


# The edit


def placed_on(index: Index, site: SpelledCuda, device: str, *, moved_later: bool = False) -> Edit | None:
    """The edit that puts `device` in the place of CUDA; None where the text of the call cannot be taken over.

    What is `moved_later` is only cast here.
    """
    syntax, source = site.syntax, index.source
    span = source.span(syntax)
    storage = storage_function(index, site)
    if storage is not None:
        whole = isinstance(storage.syntax, ast.Lambda) and storage.syntax.body is syntax
        return ReplaceExpression(source.span(storage.syntax), device) if whole else None
    if site.dtype is not None:
        there = () if moved_later else (Argument(device),)
        return RewriteCall(span, None, (*there, Argument(f"torch.{site.dtype}")), "to")
    if site.moved is None and site.literal is syntax.func:
        return _host_constructor(index, site, device)
    if method(site.call) == "cuda":
        named = [(len(syntax.args) + at, one.arg) for at, one in enumerate(syntax.keywords)]
        kept = [Argument(at, word) for at, word in named if word != "device"]
        flag = [Argument(1, "non_blocking")] if len(syntax.args) > 1 else []
        return RewriteCall(span, None, (Argument(device), *flag, *kept), "to")
    assert site.literal is not None
    if any(one.arg == "out" and one.value is site.literal for one in syntax.keywords):
        given = [Argument(at) for at in range(len(syntax.args))]
        for at, one in enumerate(syntax.keywords, len(syntax.args)):
            given.append(Argument(device, "device") if one.arg == "out" else Argument(at, one.arg))
        return RewriteCall(span, None, tuple(given))
    return ReplaceExpression(source.span(site.literal), device)


def storage_function(index: Index, site: SpelledCuda) -> Function | None:
    """`lambda storage, place: storage.cuda()`, which places what is loaded: a device says the same."""
    function = site.call.function
    if site.moved is None or list(function.parameters.values())[:1] != [site.moved] or len(function.parameters) != 2:
        return None
    places = any(function_of(one) is function for one in _places_of_storages(index))
    return function if places else None


def _places_of_storages(index: Index) -> Iterator[Node]:
    """What says where things are loaded to, also in options: `{"map_location": place}`, `dict(map_location=place)`."""
    for call in index.calls:
        if effect(canonical(name(call.args[0]) or "")) is Effect.LOAD and (given := loaded_to(call)) is not None:
            yield given
        yield from (value for word, value in zip(call.extras, call.args[1:]) if word == "map_location")
    for options in index.analysis.module.of(Op.MAPPING):
        yield from (value for word, value in zip(options.extras, options.args) if word == "map_location")


def _host_constructor(index: Index, site: SpelledCuda, device: str) -> Edit | None:
    """`torch.cuda.FloatTensor(…)` as `torch.FloatTensor(…).to(device)`: legacy constructors take no other device."""
    given = site.call.args[1:]
    text, callee = index.text(site.syntax), index.text(site.syntax.func)
    if ".cuda." not in callee or (len(given) == 1 and not _is_no_tensor(index, given[0])):
        return None  # a tensor on CUDA is taken by the constructor for CUDA alone
    if given and _are_sizes(index, given, site.syntax):
        dtype = legacy_type(site.call.args[0])
        torch, _, _ = callee.partition(".cuda.")
        words = [f"device={device}"] if dtype == "float32" else [f"dtype={torch}.{dtype}", f"device={device}"]
        sizes = [index.text(one) for one in site.syntax.args]
        return ReplaceExpression(index.source.span(site.syntax), f"{torch}.empty({', '.join([*sizes, *words])})")
    plain = f"{callee.replace('.cuda.', '.')}{text[len(callee) :]}.to({device})"
    return ReplaceExpression(index.source.span(site.syntax), plain)


def _are_sizes(index: Index, given: tuple[Node, ...], syntax: ast.Call) -> bool:
    """Whether a legacy constructor makes a tensor of a size: of several arguments all are numbers."""
    if any(isinstance(one, ast.Starred) for one in syntax.args):
        return False
    number = given[0].op is Op.CONST or index.analysis.kinds.of(given[0]) is Kind.NUMBER
    return len(given) > 1 or number or _is_size(given[0])


def _is_size(node: Node) -> bool:
    """`x.shape`, `x.size(0)`"""
    sized = node.args[0] if node.op is Op.ITEM else node
    return (sized.op is Op.ATTR and sized.extra == "shape") or method(sized) == "size"


def _is_no_tensor(index: Index, node: Node) -> bool:
    """Whether a value is surely a number, a size, a list or an array."""
    kinds = index.analysis.kinds
    if kinds.of(node) in {Kind.NUMBER, Kind.ARRAY, Kind.TEXT}:
        return True
    if kinds.of(node) is Kind.SEQUENCE or node.op in {Op.SEQUENCE, Op.COMPREHENSION, Op.CONST}:
        return True
    if node.op is Op.OPERATION:
        made = [one.op in {Op.SEQUENCE, Op.COMPREHENSION} for one in node.args]
        return any(made) or all(_is_no_tensor(index, one) for one in node.args)
    if any(called(one, "builtins.range") for one in index.users[node]):
        return True
    return _is_size(node) or method(node) == "tolist"
