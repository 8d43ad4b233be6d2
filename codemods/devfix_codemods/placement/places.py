"""Places: what a value that is used as a device denotes."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import permutations

from devfix_codemods.catalogue import Kind
from devfix_codemods.ir import Function, Node, Op
from devfix_codemods.ir.keys import key, name, names, resolved
from devfix_codemods.members import Enum, auto
from devfix_codemods.placement.arguments import argument
from devfix_codemods.placement.kinds import Kinds
from devfix_codemods.placement.naming import is_device_text


class Where(Enum):
    """The sorts of places."""

    __hash__ = object.__hash__

    HOST = auto()
    DEVICE = auto()
    """An accelerator, or what the program chose instead of it."""
    CALLER = auto()
    """Wherever the caller put it."""
    MODULE = auto()
    """Where the module of a method is: wherever `.to` moved it."""
    FOLLOWS = auto()
    """Where another value is."""


@dataclass(frozen=True, slots=True)
class Place:
    """A place and what names it: the device expression, or the value that is followed."""

    where: Where
    node: Node | None = None
    sure: bool = True


HOST = Place(Where.HOST)
CUDA = Place(Where.DEVICE)

_WORDS = re.compile(
    r"(?i)(^|[_.\[\'\"])(device|dev|gpu|gpus|cuda|rank|local_rank|gpu_id|device_id)s?($|[_\d.\]\'\"])|device"
)
_SEVERAL = re.compile(r"(?i)devices|device_?(?:ids|list|map|count)|mesh")
_ASKS_DEVICE = re.compile(r"(?i)(^|[._])device(_of)?$")
_HOST_WORDS = re.compile(r"(?i)^(\w+\.)?(cpu_?device|device_?cpu|host_device)$")
_DOING = re.compile(
    r"_*(apply|get|set|to|move|select|find|check|choose|pick|resolve|parse|make|create|detect|infer|init|setup|use"
    r"|is|has|with|on)_"
)
_ACCELERATORS = ("cuda", "mps", "xpu", "npu", "hpu", "gpu", "privateuse")


@lru_cache(maxsize=1 << 12)
def sounds_like_device(text: str) -> bool:
    """Whether a name speaks of a device."""
    return _WORDS.search(text) is not None


def speaks_of_several(text: str) -> bool:
    """Whether a name speaks of several devices, or of how many there are."""
    return _SEVERAL.search(text) is not None


def place_of(node: Node, kinds: Kinds, depth: int = 0) -> Place | None:
    """What `node` denotes where a device is wanted; None where it is no device."""
    if depth > 12:
        return None
    handler = _HANDLERS.get(node.op)
    if handler is not None:
        return handler(node, kinds, depth)
    return _by_name(node, kinds, depth)


def _const(node: Node, kinds: Kinds, depth: int) -> Place | None:
    value = node.extra
    if isinstance(value, str):
        if value.partition(":")[0] == "cpu":
            return HOST
        return Place(Where.DEVICE, node) if is_device_text(value) else None
    if isinstance(value, int) and not isinstance(value, bool):
        return Place(Where.DEVICE, node)
    return None


def _call(node: Node, kinds: Kinds, depth: int) -> Place | None:
    qualified = name(node.args[0])
    if _is_meta(node):
        return None
    if qualified == "torch.device":
        named = argument(node, 0, "type") or argument(node, 0, "device")
        inner = place_of(named, kinds, depth + 1) if named is not None else None
        return inner if inner == HOST else Place(Where.DEVICE, node)
    if qualified in {"torch.cuda.current_device", "torch.accelerator.current_accelerator"}:
        return Place(Where.DEVICE, node)
    if qualified == "builtins.len" or (qualified or "").endswith(".device_count"):
        return None  # a number of cards names none of them
    if qualified == "builtins.str" and len(node.args) > 1:
        return place_of(node.args[1], kinds, depth + 1)
    asked = [one for one in node.args[1:] if kinds.of(one) is Kind.TENSOR]
    if len(asked) == 1 and qualified is not None and not qualified.startswith("torch.") and _asks_where(node):
        return Place(Where.FOLLOWS, asked[0])
    return _by_name(node, kinds, depth)


def _is_meta(node: Node) -> bool:
    """`torch.device("meta")`: tensors there have no values, and get them when they are put to a place."""
    if node.op is Op.CALL and name(node.args[0]) == "torch.device":
        return any(map(_is_meta, node.args[1:]))
    return node.op is Op.CONST and node.extra == "meta"


def _asks_where(node: Node) -> bool:
    """`get_device(x)`: what is asked of a tensor by such a name is where it is."""
    return any(_ASKS_DEVICE.search(one) for one in names(node.args[0]))


def _phi(node: Node, kinds: Kinds, depth: int) -> Place | None:
    found = [place_of(one, kinds, depth + 1) for one in _arms(node)]
    known = [one for one in found if one is not None]
    if not known:
        return None
    if all(one == HOST for one in known):
        return HOST if len(known) == len(found) else Place(Where.DEVICE, node, sure=False)
    follows = [one for one in known if one.where is Where.FOLLOWS]
    if len(follows) == len(known) == 1:
        return follows[0]
    if (asked := _asked_whether_on_cuda(node, kinds)) is not None:
        return Place(Where.FOLLOWS, asked)
    return Place(Where.DEVICE, node)


def _arms(choice: Node) -> list[Node]:
    """What a value is on some path, also by way of other choices: each once, as these share most of theirs."""
    found = [choice]
    for one in found:  # grows
        found += [each for each in dict.fromkeys(one.args) if each not in found] if one.op is Op.PHI else []
    return [one for one in found if one.op is not Op.PHI]


def _asked_whether_on_cuda(choice: Node, kinds: Kinds) -> Node | None:
    """`x`, a tensor that a function is given, of `"cuda" if x.is_cuda else "cpu"`: nothing else decides."""
    if len(choice.args) != 2:
        return None
    for parameter in choice.function.parameters.values():
        if kinds.of(parameter) is not Kind.TENSOR:
            continue
        atom = ("attr", key(parameter), "is_cuda")
        for (one, where), (other, elsewhere) in permutations(zip(choice.args, choice.extras)):
            alone = where - elsewhere == {(atom, True)} and elsewhere - where == {(atom, False)}
            if alone and place_of(other, kinds) == HOST and place_of(one, kinds) != HOST:
                return parameter
    return None


def _param(node: Node, kinds: Kinds, depth: int) -> Place | None:
    given = kinds.given.get(node, ())
    if given and all(place_of(one, kinds, depth + 1) == HOST for one in given):
        return HOST
    place = _by_name(node, kinds, depth)
    return None if place is not None and node in _of_own_words(node.function, kinds) else place


def _of_own_words(function: Function, kinds: Kinds) -> frozenset[Node]:
    """The parameters that are `"gpu"` or the like by default, or are compared with it."""
    found = kinds.of_own_words.get(function)
    if found is None:  # once for a function: its parameters are asked for again and again
        told = [(function.parameters.get(one), default) for one, default in function.defaults.items()]
        compared = [one.args for one in function.nodes if one.op is Op.COMPARE and any(map(_is_own_word, one.args))]
        said = {parameter for parameter, default in told if parameter is not None and _is_own_word(default)}
        found = kinds.of_own_words[function] = frozenset(said.union(*compared))
    return found


def _is_own_word(node: Node) -> bool:
    """`"CPU"`, `"gpu"`: torch writes its devices in small letters, and takes no others."""
    return node.op is Op.CONST and isinstance(node.extra, str) and node.extra in {"CPU", "GPU", "CUDA", "gpu"}


def _attr(node: Node, kinds: Kinds, depth: int) -> Place | None:
    base = node.args[0]
    if node.extra == "type" and (named := place_of(base, kinds, depth + 1)) is not None:
        return Place(Where.DEVICE, node) if named.where is Where.DEVICE else named  # `"cuda"`
    if node.extra == "device":
        if base.op is Op.CALL and name(base.args[0]) == "builtins.next" and len(base.args) > 1:
            inner = base.args[1]
            if inner.op is Op.CALL and inner.args[0].op is Op.ATTR and inner.args[0].extra in {"parameters", "buffers"}:
                return Place(Where.FOLLOWS, inner.args[0].args[0])
        if (owner := kinds.class_of(base)) is not None and "device" in owner.methods:
            return Place(Where.FOLLOWS, base) if owner in kinds.module_classes else Place(Where.DEVICE, node)
        kind = kinds.of(base)
        if kind is Kind.TENSOR or kinds.says(base, Kind.TENSOR):
            return Place(Where.FOLLOWS, base)
        if kind is Kind.MODULE and base.op is not Op.PARAM and kinds.class_of(base) is None:
            return Place(Where.FOLLOWS, base)
        made = base.op is Op.CALL and _short(base.args[0])[:1].isupper()  # `Accelerator().device`
        if (
            kind is None
            and not made
            and kinds.class_of(base) is None
            and base.op in {Op.PARAM, Op.CALL, Op.ITEM, Op.OPERATION}
        ):
            text = ast.unparse(base.syntax) if base.syntax is not None else ""
            if not re.search(r"(?i)arg|opt|cfg|conf|param(?!eter\b)|setting|flag|hp", text):
                return Place(Where.FOLLOWS, base)
    return _by_name(node, kinds, depth)


def _short(callee: Node) -> str:
    return (name(callee) or str(callee.extra)).rpartition(".")[2]


def _unknown(node: Node, kinds: Kinds, depth: int) -> Place | None:
    if isinstance(node.syntax, ast.JoinedStr) and node.syntax.values:
        first = node.syntax.values[0]
        if isinstance(first, ast.Constant) and str(first.value).startswith(_ACCELERATORS):
            return Place(Where.DEVICE, node)
    return _by_name(node, kinds, depth)


def _by_name(node: Node, kinds: Kinds, depth: int) -> Place | None:
    kind = kinds.of(node)
    if kind in {Kind.TENSOR, Kind.MODULE, Kind.DTYPE, Kind.NUMBER, Kind.ARRAY, Kind.SEQUENCE}:
        sure = False
        if kind is not Kind.NUMBER:
            return Place(Where.FOLLOWS, node) if kind is Kind.TENSOR else None
    else:
        sure = kinds.says(node, Kind.DEVICE)
    text = _text(node)
    if node.op is Op.REF and (text.startswith("torch.") or _DOING.match(text.rpartition(".")[2])):
        return None  # the class, `from torch import device`, and functions, `from tools import apply_device`
    given = list(_given(node, kinds))
    if given and all(map(_is_meta, given)):
        return None
    if text and sounds_like_device(text):
        return HOST if _HOST_WORDS.search(text) else Place(Where.DEVICE, node)
    if not sure or _speaks_of_type(text):
        return None
    found = [place_of(one, kinds, depth + 1) for one in given]
    surely = bool(found) and all(one is not None and one.where is Where.DEVICE and one.sure for one in found)
    return Place(Where.DEVICE, node, sure=surely)  # as far as this file shows


def _given(node: Node, kinds: Kinds) -> Iterator[Node]:
    """What calls give a parameter, what methods keep in an attribute, what the module binds to a name."""
    if node.op is Op.PARAM:
        yield from kinds.given.get(node, ())
    elif node.op is Op.ATTR and (owner := kinds.class_of(node.args[0])) is not None:
        stores = (one for each in owner.lineage() for run in each.methods.values() for one in run.stores)
        yield from (one.value for one in stores if one.is_attribute and one.key == node.extra)
    elif (bound := resolved(node)) is not node:
        yield bound


def _speaks_of_type(text: str) -> bool:
    return "dtype" in text or "type" in text


def _text(node: Node) -> str:
    if node.op in {Op.PARAM, Op.GLOBAL, Op.REF, Op.FIELD}:
        return str(node.extra)
    if isinstance(node.syntax, ast.Call):
        return _of_call(node.syntax)
    if isinstance(node.syntax, ast.expr):
        return node.syntax.id if isinstance(node.syntax, ast.Name) else ast.unparse(node.syntax)
    return next(iter(names(node)), "")


def _of_call(call: ast.Call) -> str:
    """What is called, and by which words: `options.get("device")`; what else a call is given says nothing of it."""
    function = call.func
    receiver = function.value if isinstance(function, ast.Attribute) else None
    called = function.attr if isinstance(function, ast.Attribute) else ast.unparse(function)
    before = ast.unparse(receiver) if receiver is not None and not _calls(receiver) else ""
    words = [one.value for one in call.args if isinstance(one, ast.Constant) and isinstance(one.value, str)]
    return ".".join([*filter(None, [before]), called, *words])


def _calls(expression: ast.expr) -> bool:
    return any(isinstance(one, ast.Call) for one in ast.walk(expression))


_HANDLERS = {Op.CONST: _const, Op.CALL: _call, Op.PARAM: _param, Op.PHI: _phi, Op.ATTR: _attr, Op.UNKNOWN: _unknown}
