"""Evidence of what sort of thing values are, from calls: of functions and classes that are known, and of methods."""

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from devfix_codemods.catalogue import Effect, Kind, canonical, effect, is_metric_class, kind, libraries, method_effect
from devfix_codemods.catalogue import torch as rows
from devfix_codemods.ir import Class, Node, Op
from devfix_codemods.ir.elements import VALUE
from devfix_codemods.ir.items import choices, whole
from devfix_codemods.ir.keys import key, method_name, name, names
from devfix_codemods.ir.simple import REGISTERING
from devfix_codemods.placement.arguments import is_none, keyword
from devfix_codemods.placement.arrays import of_numpy, taken_as_array
from devfix_codemods.placement.dimension_arguments import dimensions_given, dimensions_of_function
from devfix_codemods.placement.indices import compared, indices, slices_columns
from devfix_codemods.placement.naming import sounds_like_optimizer

if TYPE_CHECKING:
    from devfix_codemods.placement.kinds import Kinds


def of_api(kinds: "Kinds", call: Node, qualified: str) -> None:
    """What a call of a function or a class of a library says of its result, and of what it gets."""
    found = kind(qualified)
    if found is not None:
        kinds.say(call, found, 3)
    if qualified in libraries.NUMBERS:
        kinds.say(call, Kind.NUMBER)
    if qualified in libraries.OF_PATHS:
        for one in call.args[1:]:
            _is_text(kinds, one)
    _sorts_of_modules(kinds, call, qualified)
    if effect(qualified) is Effect.OTHER:
        kinds.others.append(call)
    if is_metric_class(qualified):
        kinds.metrics.append(call)
    _result(kinds, call, qualified)
    taken_as_array(kinds, call, qualified)
    if qualified.startswith("torch."):
        _tensors(kinds, call, qualified)
        dimensions_of_function(kinds, call, qualified)
        if qualified.startswith("torch.optim.") and qualified.rpartition(".")[2][:1].isupper():
            kinds.say(call, Kind.OPTIMIZER, 3)
        for argument, word in zip(call.args[1:], call.extras):
            if word in _KEYWORDS:
                kinds.say(argument, _KEYWORDS[word], 3)
    if qualified.rpartition(".")[2] in libraries.MODULE_MAKERS:
        kinds.say(call, libraries.kind_of_loaded(qualified.rpartition(".")[0]))


def _is_text(kinds: "Kinds", value: Node) -> None:
    """A text, and what it is taken out of by its place: a row of such."""
    kinds.say(value, Kind.TEXT, 1)
    if value.op is Op.ITER or (
        value.op is Op.ITEM and not isinstance(value.extra, str) and kinds.of(value.args[0]) is None
    ):
        kinds.say(value.args[0], Kind.SEQUENCE, 1)


def _sorts_of_modules(kinds: "Kinds", call: Node, qualified: str) -> None:
    if canonical(qualified) in rows.RECURRENT:
        kinds.recurrent.append(call)
    if canonical(qualified) in rows.LOSSES:
        kinds.losses.append(call)
    if qualified.startswith(libraries.PLACING_LABELS):
        kinds.placing_labels.append(call)


def _result(kinds: "Kinds", call: Node, qualified: str) -> None:
    row = effect(qualified)
    if row in _MAKING_TENSORS or qualified == "torch.normal" or qualified.startswith(libraries.ON_DEVICE):
        kinds.say(call, Kind.TENSOR, 3)
    elif row in _MAKING_MODULES:
        kinds.say(call, Kind.MODULE, 3)
        if row is Effect.WRAP and len(call.args) > 1:
            kinds.say(call.args[1], Kind.MODULE)
            if qualified.endswith("DataParallel"):  # which is for what has parameters
                kinds.stateful.append(call.args[1])
    elif row is Effect.ARRAY:
        of_numpy(kinds, call, qualified)
    elif row is Effect.PASS and len(call.args) > 1:
        kinds.unify(call, call.args[1])


def _tensors(kinds: "Kinds", call: Node, qualified: str) -> None:
    """What functions of torch get first, and second if they let the two meet, are tensors."""
    row = effect(qualified)
    mask = rows.MASKS.get(qualified)
    if mask is not None and len(call.args) > mask + 1 and call.extras[mask] is None:
        kinds.say(call.args[mask + 1], Kind.TENSOR)
    if row is Effect.FACTORY:
        _sizes(kinds, call)
    if row is Effect.SEQUENCE and len(call.args) > 1 and call.args[1].op is Op.SEQUENCE:
        for one in call.args[1].args:
            kinds.say(one, Kind.TENSOR)
        return
    computes = row is Effect.ARITHMETIC and qualified.startswith("torch.nn.functional.")
    if (row not in _TAKING_TENSORS and not computes) or len(call.args) < 2:
        return
    kinds.say(call.args[1], Kind.TENSOR)
    meets = (row is Effect.MEET and canonical(qualified) not in rows.SECOND_IS_NUMBER) or computes
    if meets and len(call.args) > 2 and call.extra[1] is None:  # type: ignore[index]
        kinds.say(call.args[2], Kind.TENSOR)
    weight = keyword(call, "weight") if computes or row is Effect.MEET else None
    if weight is not None and not is_none(weight):
        kinds.say(weight, Kind.TENSOR)


def _sizes(kinds: "Kinds", call: Node) -> None:
    """What factories get are sizes and bounds: numbers, as far as nothing else is known of them."""
    pending = [one for one, word in zip(call.args[1:], call.extras) if word in _BOUNDS]
    for one in pending:  # grows
        if one.op in _NAMED:
            kinds.say(one, Kind.NUMBER, 1)
        elif one.op is Op.OPERATION and kinds.of(one) in {None, Kind.NUMBER}:
            kinds.say(one, Kind.NUMBER, 1)
            pending += (each for each in one.args if each not in pending)  # what a number is computed of
        elif one.op is Op.SEQUENCE or (one.op is Op.CALL and not _ROUNDING.isdisjoint(names(one.args[0]))):
            pending += (each for each in one.args if each not in pending)


_ROUNDING = frozenset({"builtins.int", "builtins.round", "math.ceil", "math.floor", "numpy.ceil", "numpy.floor"})


def of_method(kinds: "Kinds", call: Node, callee: Node) -> None:
    """What a call of a method says of its receiver, of its result, and of what it gets."""
    base, method = callee.args[0], str(callee.extra)
    owner = kinds.object_class(base)
    if owner is not None and method in owner.methods and call not in kinds.calls:
        return
    _receiver(kinds, call, base, method)
    if method in _OF_TEXTS:
        _is_text(kinds, base)
    _operand(kinds, call, base, method)
    if kinds.of(base) is Kind.TENSOR or method in rows.TENSOR_ONLY:
        dimensions_given(kinds, call, method, 0)
    if method in REGISTERING and owner is not None and len(call.args) > 1 and owner.sets(str(call.args[1].extra)):
        kinds.say(owner.field_of(str(call.args[1].extra)), Kind.TENSOR, 3)
    if method in libraries.MODULE_MAKERS and isinstance(base.extra, Class) and base.extra in kinds.module_classes:
        kinds.say(call, Kind.MODULE, 3)
        kinds.instances.setdefault(kinds.find(call), base.extra)
    _result_of_method(kinds, call, base, method)
    known = method != "to" and method_effect(method) is not None  # modules have `.to`, too
    if known and any(kinds.of(one) is Kind.DTYPE for one in call.args[1:]):
        kinds.say(base, Kind.TENSOR, 1)
    if method in {"items", "keys"} and len(call.args) == 1:
        kinds.itemized.append(base)
    device = keyword(call, "device")
    if device is not None:
        kinds.say(device, Kind.DEVICE, 2)
    if method in libraries.VIEWS_OF_ARRAYS and kinds.of(base) is Kind.ARRAY:
        kinds.say(call, Kind.ARRAY, 1)
    if method == "transpose" and len(call.args) > 3:  # tensors swap two axes
        kinds.say(base, Kind.ARRAY, 3)
        kinds.say(call, Kind.ARRAY, 9)


def gives_weights(kinds: "Kinds", iterable: Node, part: object) -> bool:
    """Whether a part of each element of a value, or each, is a parameter or a buffer: `v` of `state_dict().items()`."""
    asked = method_name(iterable)
    if asked == "state_dict":  # that of an optimizer holds more
        return part == VALUE and kinds.of(iterable.args[0].args[0]) is Kind.MODULE
    return (asked, part) in _OF_WEIGHTS


_OF_WEIGHTS = {("parameters", None), ("buffers", None), ("named_parameters", 1), ("named_buffers", 1)}


def of_item(kinds: "Kinds", node: Node) -> None:
    """What an index says of what is indexed, and what is indexed says of what is picked, and of masks."""
    base = node.args[0]
    columns = any(map(slices_columns, node.args[1:]))
    if columns and _is_part_of_element(base):
        kinds.say(base, Kind.TENSOR, 1)  # of what loaders give, only tensors are read by columns
    if columns and base.op in UNKNOWN and any(kinds.of(one) is Kind.TENSOR for one in indices(node)):
        kinds.say(base, Kind.TENSOR, 1)
    if any(one.op is Op.ITER and one.args[0] is base for one in node.args[1:]):
        kinds.say(base, Kind.MAPPING, 2)  # `{k: x[k] for k in x}`
    if any(canonical(name(one) or "") == "numpy.newaxis" for one in indices(node)):
        kinds.say(base, Kind.ARRAY)  # tensors have None there
    found = kinds.of(base)
    if found is Kind.TENSOR and _is_read_by_key(node):
        kinds.rows.add(base)
    if _is_shape(base):
        kinds.say(node, Kind.NUMBER, 3)
    elif _is_of_file(node):
        kinds.say(node, Kind.TENSOR if is_read_from_file(node) else Kind.NUMBER, 3)
    elif found in {Kind.TENSOR, Kind.ARRAY}:
        kinds.say(node, found, 2 if found is Kind.TENSOR else 1)
    for index in indices(node) if found is Kind.TENSOR else ():
        if (mask := compared(index)) is not None:
            for one in (index, mask, *_computed_of_tensors(kinds, mask)):
                kinds.say(one, Kind.TENSOR, 1)


def _is_read_by_key(item: Node) -> bool:
    """`batch["x"]` of what an annotation calls a tensor, here or where it comes from: that holds tensors, and is none.

    Who annotates a mapping of tensors means its values.
    """
    said = getattr(item.args[0].syntax, "annotation", None)
    return isinstance(item.extra, str) and (said is None or "[" not in ast.unparse(said))


def _is_part_of_element(node: Node) -> bool:
    """Whether a value is unpacked in a loop, whether or not it was moved behind it."""
    parts = node.args if node.op is Op.PHI else (node,)
    return any(one.op is Op.ITEM and one.args[0].op is Op.ITER for one in parts)


def is_filling(kinds: "Kinds", value: Node) -> bool:
    """Whether what is put into a list is a tensor: `rows.append(net(x))`, and `rows.extend(out)` of each row."""
    whole = value.args[0] if value.op is Op.ITER else value
    return kinds.of(whole) is Kind.TENSOR or is_result_of_module(kinds, whole)


def is_result_of_module(kinds: "Kinds", value: Node) -> bool:
    """Whether a module gives a value of which nothing else is known."""
    called = value.op is Op.CALL and kinds.of(value) is None and not names(value.args[0])
    return called and kinds.is_module(value.args[0])


def is_read_from_file(part: Node) -> bool:
    """`wave` of `wave, rate = torchaudio.load(path)`"""
    return _is_of_file(part) and libraries.READ_FROM_FILES[name(part.args[0].args[0]) or ""] == part.extra


def _is_of_file(part: Node) -> bool:
    base = part.args[0]
    called = name(base.args[0]) if part.op is Op.ITEM and base.op is Op.CALL else None
    return called in libraries.READ_FROM_FILES and isinstance(part.extra, int)


def _is_shape(node: Node) -> bool:
    """`x.shape`, `x.size()`, whatever it is before it gets that."""
    return any(map(_asks_shape, choices(node)))


def _asks_shape(node: Node) -> bool:
    asked = node.args[0] if node.op is Op.CALL and len(node.args) == 1 else node
    return asked.op is Op.ATTR and asked.extra == ("shape" if asked is node else "size") and not names(asked)


def _computed_of_tensors(kinds: "Kinds", mask: Node) -> Iterator[Node]:
    """What is compared for a mask: the result of a call that gets tensors is no array."""
    for one in mask.args[:1]:
        if one.op is Op.CALL and any(kinds.of(each) is Kind.TENSOR for each in one.args[1:]):
            yield one


def gives_tensor(made: Node) -> bool:
    """Whether calls of a module of torch, made here, give one tensor."""
    found = names(made.args[0])[:1]
    return any(effect(one) in _MAKING_MODULES and _gives_one(canonical(one)) for one in found)


def _gives_one(qualified: str) -> bool:
    head, _, last = qualified.rpartition(".")
    return head == "torchaudio.transforms" or (head == "torch.nn" and last not in rows.GIVING_TUPLES)


def of_tokenizer(kinds: "Kinds", call: Node) -> None:
    """What something of that name gets is a text."""
    called = call.args[0].extra
    if isinstance(called, str) and "tokeniz" in called.lower() and len(call.args) > 1:
        kinds.say(call.args[1], Kind.TEXT, 1)


def _receiver(kinds: "Kinds", call: Node, base: Node, method: str) -> None:
    if method in _SELF_METHODS or (method == "type" and len(call.args) > 1):
        kinds.unify(call, base)
    if base.op is Op.ATTR and base.extra == "data" and method in rows.TENSOR_ONLY:
        kinds.say(base.args[0], Kind.TENSOR, 1)  # `x.data.t_()`
    if method in rows.TENSOR_ONLY or method == "size":  # of arrays, it is no method
        kinds.say(base, Kind.TENSOR, 2 if method != "size" or len(call.args) > 1 else 1)
    if method == "eval" and _is_part_of_module(kinds, base):
        kinds.say(base, Kind.MODULE)
    if method in rows.MODULE_ONLY and (method != "train" or _only_switches(kinds, call)):
        kinds.say(base, Kind.MODULE, 3)
    if method == "eval" and len(call.args) == 1:  # that of a table gets an expression
        kinds.say(base, Kind.MODULE, 1)
        kinds.stateful.append(base)
    if method in _STATEFUL:
        kinds.stateful.append(base)
        if method == "load_state_dict":
            kinds.say(base, Kind.OPTIMIZER if sounds_like_optimizer(base) else Kind.MODULE, 1)
    _optimizes(kinds, base, method)
    if method == "backward":
        kinds.say(base, Kind.TENSOR, 3)
    _axes(kinds, call, base, method)


def _optimizes(kinds: "Kinds", base: Node, method: str) -> None:
    """`optimizer.step()`, and `net.zero_grad()`: optimizers have that as well, and nobody calls them."""
    if method == "configure_optimizers" or (method == "zero_grad" and _is_called(kinds, base)):
        kinds.say(base, Kind.MODULE, 1)
    elif method in {"step", "zero_grad"} or "optim" in method or "_lr" in method:
        kinds.say(base, Kind.OPTIMIZER, 1)


def _is_called(kinds: "Kinds", base: Node) -> bool:
    """Whether something is called with data itself, be it by way of an attribute of the same object."""
    same = {base, *(one for one in kinds.module.of(Op.ATTR) if base.op is Op.ATTR and key(one) == key(base))}
    users = (user for one in same for user in kinds.module.users.get(one, ()))
    return any(user.op is Op.CALL and user.args[0] in same and len(user.args) > 1 for user in users)


def _only_switches(kinds: "Kinds", call: Node) -> bool:
    """`net.train()`, `net.train(is_training)`, as against `trainer.train(loader, epochs)`."""
    given = call.args[1:]
    data = any(one.op in {Op.SEQUENCE, Op.MAPPING} or kinds.of(one) in _DATA for one in given)
    return len(given) < 2 and set(call.extras) <= {None, "mode"} and not data


def _axes(kinds: "Kinds", call: Node, base: Node, method: str) -> None:
    """What the words for the axes of a call say of its receiver."""
    if not _DIMENSIONS.isdisjoint(call.extras) or (method == "sort" and call.extras[:1] == (None,)):
        kinds.say(base, Kind.TENSOR)  # lists are sorted by keywords alone
    moved = method_effect(method_name(base) or "") is Effect.MOVE
    for one in {base, whole(base)} if not moved and not _AXES.isdisjoint(call.extras) else ():
        kinds.say(one, Kind.ARRAY, 1)  # tensors take these words as well, and seldom get them


def _operand(kinds: "Kinds", call: Node, base: Node, method: str) -> None:
    """What a tensor meets in a method that takes no numbers there is a tensor, and so is a mask."""
    function = f"torch.{method.removesuffix('_')}"
    meets = effect(function) is Effect.MEET and function not in rows.SECOND_IS_NUMBER
    if (meets or rows.MASKS.get(function) == 1) and call.extras[:1] == (None,) and kinds.of(base) is Kind.TENSOR:
        kinds.say(call.args[1], Kind.TENSOR)


def _is_part_of_module(kinds: "Kinds", node: Node) -> bool:
    """`net.features`, `net.features[:16]`"""
    node = whole(node)
    return node.op is Op.ATTR and kinds.of(node.args[0]) is Kind.MODULE


def _is_read_as_tensor(kinds: "Kinds", node: Node) -> bool:
    """Whether a program asks a value for its shape, or its place, which devices have not: `h.to(x)` follows `x`."""
    return any(one.op is Op.ATTR and one.extra in _OF_TENSORS for one in kinds.module.users.get(node, ()))


_OF_TENSORS = rows.TENSOR_ONLY | {"shape", "size", "device", "dtype"}


def _is_type(value: Node) -> bool:
    """`torch.long`, `int`: a type, which is no device however often tensors are converted to it."""
    return value.op is not Op.CALL and any(one.startswith(("torch.", "builtins.")) for one in names(value))


def _result_of_method(kinds: "Kinds", call: Node, base: Node, method: str) -> None:
    row = method_effect(method)
    if row is Effect.MOVE and len(call.args) > 1 and not _is_type(call.args[1]):
        kinds.say(call.args[1], Kind.TENSOR if _is_read_as_tensor(kinds, call.args[1]) else Kind.DEVICE, 1)
        if call.args[1].op is Op.CONST and _TYPE.fullmatch(str(call.args[1].extra)):
            kinds.say(base, Kind.OTHER, 9)  # what takes text for a type is no tensor of torch
    if method in rows.STATES or method == "tolist":
        kinds.say(call, Kind.SEQUENCE, 1)
    elif row in {Effect.READ, Effect.SYNC}:
        kinds.say(call, Kind.NUMBER, 1)
    elif row is Effect.NEEDS_HOST:
        kinds.say(call, Kind.ARRAY, 2)
    elif row is not None and kinds.of(base) is Kind.TENSOR and method not in _SELF_METHODS:
        kinds.say(call, Kind.TENSOR)
    elif method in rows.REDUCTIONS and kinds.of(base) is Kind.ARRAY and len(call.args) == 1:
        kinds.say(call, Kind.NUMBER)
    elif method in {"astype", "reshape", "copy"} and kinds.of(base) is Kind.ARRAY:
        kinds.say(call, Kind.ARRAY, 1)


_OF_TEXTS = frozenset({"startswith", "endswith", "strip", "rstrip", "lstrip", "lower", "upper", "splitlines"})
"""Methods of texts that tensors, arrays and modules have not."""
_TYPE = re.compile(r"(?:b?float|u?int|bool|half|double|complex)\d*")
_DIMENSIONS = frozenset({"dim", "keepdim"})
"""What tensors call what arrays call `axis` and `keepdims`."""
_AXES = frozenset({"axis", "keepdims"})
_MAKING_TENSORS = frozenset({Effect.FACTORY, Effect.CONVERSION, Effect.HOST, Effect.LIKE, Effect.MEET}) | frozenset(
    {Effect.ARITHMETIC, Effect.SEQUENCE, Effect.FIRST, Effect.SAME}
)
_MAKING_MODULES = frozenset({Effect.MODULE, Effect.BARE, Effect.WRAP})
_TAKING_TENSORS = frozenset({Effect.LIKE, Effect.MEET, Effect.SAME})
_BOUNDS = frozenset({None, "start", "end", "step", "steps"})
_NAMED = frozenset({Op.PARAM, Op.ATTR, Op.GLOBAL})
"""What says nothing of its kind by itself."""
_KEYWORDS: dict[object, Kind] = {"device": Kind.DEVICE, "dtype": Kind.DTYPE}
_STATEFUL = frozenset({"parameters", "named_parameters", "state_dict", "load_state_dict", "configure_optimizers"})
"""Methods that ask for the parameters, or the state, of modules."""
_CASTS = frozenset({"to", "cuda", "cpu", "half", "float", "double", "bfloat16", "detach", "clone"})
_SELF_METHODS = _CASTS | {"eval", "train", "requires_grad_", "share_memory", "apply"}
"""Methods whose result is of the kind of their receiver."""
UNKNOWN = frozenset({Op.PARAM, Op.ITEM, Op.CALL})
"""What may be of any kind."""
_DATA = frozenset({Kind.TENSOR, Kind.LOADER, Kind.DATASET, Kind.ARRAY, Kind.TEXT, Kind.MODULE})
