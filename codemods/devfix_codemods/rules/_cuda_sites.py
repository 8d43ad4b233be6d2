"""Where a file spells CUDA out, and how each such place is told another device."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from devfix_codemods import scope
from devfix_codemods.edits.operations import Argument, Edit, ReplaceExpression, RewriteCall
from devfix_codemods.flow import tables
from devfix_codemods.flow.evidence import dotted
from devfix_codemods.program import Program
from devfix_codemods.rules._arguments import given
from devfix_codemods.rules._given_arrays import has_no_device
from devfix_codemods.rules._no_tensors import is_no_tensor

_CUDA = re.compile(r"cuda(:0)?$")
_LEGACY = {
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
_PLACED = tables.FACTORIES | tables.LIKE_FACTORIES | tables.GENERATORS | {"torch.as_tensor", "torch.asarray"}


@dataclass(frozen=True, slots=True)
class Site:
    """One place at which CUDA is spelled out.

    `call` moves a value (`receiver`), or makes a tensor (`receiver` is None). `literal` is the expression that names
    CUDA, where there is one: another device stands in its place. `dtype` is what a type string also says.
    """

    call: ast.Call
    receiver: ast.expr | None
    literal: ast.expr | None = None
    dtype: str | None = None


def sites(program: Program) -> Iterator[Site]:
    """All of them in a file, in source order; those that name a card other than the first are somebody's choice."""
    for call in program.names.calls:
        found = _site(program, call)
        if found is not None:
            yield found


def _site(program: Program, call: ast.Call) -> Site | None:
    function = call.func
    if isinstance(function, ast.Attribute):
        if function.attr == "cuda":
            return _by_method(program, call, function)
        if function.attr == "to":
            literal = given(call, 0, "device")
            named = literal is not None and names_cuda(program, literal)
            return Site(call, function.value, literal) if named and not _is_api(program, function.value) else None
        if function.attr == "type" and len(call.args) == 1:
            dtype = _legacy_type(program, call.args[0])
            return Site(call, function.value, call.args[0], dtype) if dtype else None
    return _by_factory(program, call)


def _by_method(program: Program, call: ast.Call, function: ast.Attribute) -> Site | None:
    """`x.cuda()`, `x.cuda(0)`, `x.cuda(non_blocking=True)`, but for methods of classes that are no values."""
    if _is_api(program, function.value) or isinstance(call.func, ast.Name):
        return None
    if isinstance(function.value, ast.Call) and dotted(function.value.func) == "super":
        return None
    device = given(call, 0, "device")
    if device is None and not any(one.arg is None for one in call.keywords):
        return Site(call, function.value)
    return Site(call, function.value, device) if device is not None and _is_first_card(program, device) else None


def _by_factory(program: Program, call: ast.Call) -> Site | None:
    name = tables.canonical(program.names.qualified(call.func) or "")
    if _legacy_type(program, call.func) is not None and not call.keywords:
        return Site(call, None, call.func)
    if name not in _PLACED and not name.startswith("torch.nn."):
        is_new = isinstance(call.func, ast.Attribute) and call.func.attr in tables.NEW_METHODS
        if not is_new:
            return None
    literal = next((one.value for one in call.keywords if one.arg == "device"), None)
    if literal is None and name in tables.GENERATORS:
        literal = next(iter(call.args), None)
    if literal is None and name in tables.FACTORIES:
        out = next((one.value for one in call.keywords if one.arg == "out"), None)
        return Site(call, None, out) if out is not None and _is_empty_on_cuda(program, out) else None
    return Site(call, None, literal) if literal is not None and names_cuda(program, literal) else None


def _is_empty_on_cuda(program: Program, node: ast.expr) -> bool:
    """`out=torch.cuda.FloatTensor()`, which says no more than where the result goes; or that where CUDA is there."""
    if isinstance(node, ast.IfExp):
        other = isinstance(node.orelse, ast.Call) and program.names.qualified(node.orelse.func) == "torch.FloatTensor"
        return other and _is_empty_on_cuda(program, node.body)
    empty = isinstance(node, ast.Call) and not node.args and not node.keywords
    return empty and isinstance(node, ast.Call) and _legacy_type(program, node.func) == "float32"


def names_cuda(program: Program, node: ast.expr) -> bool:
    """`"cuda"`, `"cuda:0"`, `torch.device("cuda")`."""
    if isinstance(node, ast.Call) and program.names.qualified(node.func) == "torch.device":
        return bool(node.args) and names_cuda(program, node.args[0])
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and _CUDA.match(node.value) is not None


def _is_first_card(program: Program, node: ast.expr) -> bool:
    if isinstance(node, ast.Call):
        return program.names.qualified(node.func) == "torch.cuda.current_device" or names_cuda(program, node)
    return names_cuda(program, node) or (isinstance(node, ast.Constant) and node.value in {0, None})


def _legacy_type(program: Program, node: ast.expr) -> str | None:
    """The dtype of `torch.cuda.FloatTensor`, of its name in a string, or None."""
    text = node.value if isinstance(node, ast.Constant) else program.names.qualified(node) if _is_dotted(node) else None
    if not isinstance(text, str) or not text.startswith("torch.cuda.") or not text.endswith("Tensor"):
        return None
    return _LEGACY.get(text.removeprefix("torch.cuda.").removesuffix("Tensor"))


def _is_dotted(node: ast.expr) -> bool:
    return isinstance(node, (ast.Name, ast.Attribute))


def _is_api(program: Program, node: ast.expr) -> bool:
    return program.names.qualified(node) is not None


def goes_on(program: Program, site: Site, found: list[Site]) -> bool:
    """Whether the same value is moved again at once, by what is none of `found`: that has the last word.

    `x.cuda().to(device)`; `x = x.type(torch.cuda.FloatTensor)` above `x = x.cuda(self.card)`.
    """
    others = {one.call for one in found}
    method = program.names.parent(site.call)
    next_call = program.names.parent(method) if isinstance(method, ast.Attribute) else None
    if _moves(next_call) is not None and next_call not in others:
        return True
    below = _moved_below(program, site)
    return below is not None and below not in others


def _moved_below(program: Program, site: Site) -> ast.expr | None:
    """The move of the same name that is the first thing done with it below, in the same block."""
    statement = program.names.statement(site.call)
    if not isinstance(statement, ast.Assign) or statement.value is not site.call:
        return None
    block, names = scope.block_of(program, statement), scope.stored(statement)
    below = block[block.index(statement) + 1 :]
    used = next((one for one in below if not names.isdisjoint(scope.reads(one))), None)
    if not isinstance(used, ast.Assign) or scope.stored(used) != names:
        return None
    return used.value if _moves(used.value) in names else None


def _moves(node: ast.AST | None) -> str | None:
    """`x` in `x.to(device)` and `x.cuda(1)`, some text for what has no name; None for anything else."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in {"cuda", "to"}:
        given = [dotted(one) or "" for one in scope.given_to(node)]
        plain = node.func.attr == "to" and all("dtype" in one or one.startswith("torch.") for one in given)
        return None if plain else dotted(node.func.value) or ""
    return None


# The edit


def placed_on(program: Program, site: Site, device: str) -> Edit | None:
    """The edit that puts `device` in the place of CUDA; None where the text of the call cannot be taken over."""
    call = site.call
    if (places := _places_storage(program, site)) is not None:
        whole = isinstance(places, ast.Lambda) and places.body is call
        return ReplaceExpression(program.source.span(places), device) if whole else None
    if site.dtype is not None:
        there = () if _moved_below(program, site) is not None else (Argument(device),)
        return RewriteCall(program.source.span(call), None, (*there, Argument(f"torch.{site.dtype}")), "to")
    if site.receiver is None and site.literal is call.func:
        return _host_constructor(program, site, device)
    if isinstance(call.func, ast.Attribute) and call.func.attr == "cuda":
        named = [(len(call.args) + index, one.arg) for index, one in enumerate(call.keywords)]
        kept = [Argument(index, name) for index, name in named if name != "device"]
        flag = [Argument(1, "non_blocking")] if len(call.args) > 1 else []
        return RewriteCall(program.source.span(call), None, (Argument(device), *flag, *kept), "to")
    assert site.literal is not None
    if any(one.arg == "out" and one.value is site.literal for one in call.keywords):
        return _without_out(program, call, device)
    return ReplaceExpression(program.source.span(site.literal), device)


def _places_storage(program: Program, site: Site) -> ast.Lambda | scope.Function | None:
    """`lambda storage, loc: storage.cuda()`, which places what is loaded: no tensors, and a device says the same."""
    function = next(
        (one for one in program.names.ancestors(site.call) if isinstance(one, ast.Lambda | scope.Function)), None
    )
    first = function.args.args[0].arg if function is not None and len(function.args.args) == _OF_STORAGE else None
    if function is None or first is None or site.receiver is None or dotted(site.receiver) != first:
        return None
    return function if _is_map_location(program, function) else None


_OF_STORAGE = 2
"""What places a storage gets that, and where it was."""


def _is_map_location(program: Program, function: ast.Lambda | scope.Function) -> bool:
    for call in program.names.calls:
        given = next((one.value for one in call.keywords if one.arg == "map_location"), None)
        if given is None and program.names.qualified(call.func) in {"torch.load", "torch.jit.load"}:
            given = call.args[1] if len(call.args) > 1 else None
        named = isinstance(function, scope.Function) and isinstance(given, ast.Name) and given.id == function.name
        if given is function or named:
            return True
    return False


def _without_out(program: Program, call: ast.Call, device: str) -> Edit:
    """`device=` in the place of `out=`."""
    arguments = [Argument(index) for index in range(len(call.args))]
    for index, one in enumerate(call.keywords, len(call.args)):
        arguments.append(Argument(device, "device") if one.arg == "out" else Argument(index, one.arg))
    return RewriteCall(program.source.span(call), None, tuple(arguments))


def _host_constructor(program: Program, site: Site, device: str) -> Edit | None:
    """`torch.cuda.FloatTensor(…)` as `torch.FloatTensor(…).to(device)`: legacy constructors take no other device."""
    text = program.source.segment(program.source.span(site.call))
    callee = program.source.segment(program.source.span(site.call.func))
    if ".cuda." not in callee or (len(site.call.args) == 1 and _may_be_tensor(program, site.call.args[0])):
        return None  # a tensor on CUDA is taken by the constructor for CUDA alone
    return ReplaceExpression(
        program.source.span(site.call), f"{callee.replace('.cuda.', '.')}{text[len(callee) :]}.to({device})"
    )


def _may_be_tensor(program: Program, node: ast.expr, depth: int = 4) -> bool:
    """Whether nothing says that a value is a number, a size, a list or an array; of a name, that each of its values is.

    Values are looked for through at most `depth` names and operators.
    """
    if has_no_device(program.names, node):
        return False
    match node:
        case ast.Call(func=ast.Attribute(attr=method) as function):
            name = program.names.qualified(function)
            return name.startswith("torch.") if name is not None else method not in _GIVES_NO_TENSOR
        case ast.Attribute(attr="shape") | ast.Subscript(value=ast.Attribute(attr="shape")):
            return False
        case ast.BinOp(left=left, right=right) if depth:
            lists = any(isinstance(one, ast.List | ast.Tuple | ast.ListComp) for one in (left, right))
            return not lists and any(_may_be_tensor(program, one, depth - 1) for one in (left, right))
        case ast.Name(id=name) if depth:
            return not is_no_tensor(program, name, node) and _may_be_bound_to_tensor(program, node, depth - 1)
    return True


def _may_be_bound_to_tensor(program: Program, node: ast.Name, depth: int) -> bool:
    around = scope.function_around(program, node)
    if around is not None and node.id in scope.parameters(around):
        said = scope.annotation(around, node.id)
        return said is None or "Tensor" in ast.unparse(said)
    values = [program.names.statement(one) for one in scope.stores(around or program.tree, node.id)]
    return not values or any(
        not isinstance(one, ast.Assign) or _may_be_tensor(program, one.value, depth) for one in values
    )


_GIVES_NO_TENSOR = frozenset({"size", "numel", "dim", "item", "tolist", "numpy", "copy", "count", "index", "values"})
