"""Evidence of what sort of thing values are, from what each of them is: a constant, an attribute, a sum, a call."""

import re
from typing import TYPE_CHECKING

from devfix_codemods.catalogue import Kind, kind, libraries
from devfix_codemods.catalogue import torch as rows
from devfix_codemods.catalogue.tensor_names import TENSOR_NAMES
from devfix_codemods.ir import Class, Function, Guard, Node, Op
from devfix_codemods.ir.keys import key, name, names
from devfix_codemods.ir.nodes import ALWAYS
from devfix_codemods.placement.arguments import calls_builtin, is_none
from devfix_codemods.placement.calls import bound, getter, method, own_class, returned
from devfix_codemods.placement.evidence import UNKNOWN, gives_weights, of_api, of_item, of_method, of_tokenizer
from devfix_codemods.placement.looked_up import is_looked_up, makes_module
from devfix_codemods.placement.naming import bound_name, is_device_text, sounds_like_class
from devfix_codemods.placement.pass_through import passed

if TYPE_CHECKING:
    from devfix_codemods.placement.kinds import Kinds


def of_value(kinds: "Kinds", node: Node) -> None:
    """What a value says of itself, and of what it is made of."""
    handler = _HANDLERS.get(node.op)
    if handler is not None:
        handler(kinds, node)


def given_elsewhere(kinds: "Kinds") -> None:
    """A parameter is what calls in other files give, where they agree; another value is what other files make it by,
    where all of that is known."""
    for one in dict.fromkeys(one for values in kinds.elsewhere.values() for one in values):
        if one.function.module is not kinds.module:
            of_value(kinds, one)
    for node, values in kinds.elsewhere.items():
        known = set(map(kinds.of, values)) - ({None} if node.op is Op.PARAM else set())
        for one in values if len(known) == 1 else ():
            kinds.unify(node, one)


def _phi(kinds: "Kinds", node: Node) -> None:
    shared = node.syntax is node.function.syntax  # one name for several things, as functions inside see it
    if shared or node not in kinds.module.read:
        known = {kind_ for one in node.args if (kind_ := kinds.of(one)) is not None}
        for kind_ in known if len(known) == 1 else ():
            kinds.say(node, kind_, 1)
        for one in node.args if known == {Kind.TENSOR} and not shared else ():
            if kinds.of(one) is None and not is_none(one):
                kinds.say(one, Kind.TENSOR, 1)  # what was a tensor is one again, under the same name
        return
    guards = node.extra if isinstance(node.extra, tuple) else (ALWAYS,) * len(node.args)
    for one, guard in zip(node.args, guards):
        if not is_none(one) and not _is_no_tensor_there(one, guard):
            kinds.unify(node, one)


def _is_no_tensor_there(value: Node, guard: Guard) -> bool:
    """`if isinstance(x, torch.Tensor): x = to_array(x)`: what goes on as it was is no tensor behind that."""
    asked = (atom for atom, holds in guard if not holds and isinstance(atom, tuple) and atom[0] == "isinstance")
    return any(atom[1] == key(value) and "Tensor" in str(atom[2]) for atom in asked)


def _const(kinds: "Kinds", node: Node) -> None:
    value = node.extra
    if isinstance(value, (int, float, complex)):
        kinds.say(node, Kind.NUMBER)
    elif isinstance(value, (str, bytes)):
        kinds.say(node, Kind.DEVICE if is_device_text(value) else Kind.TEXT)


def _is_of_no_tensor(kinds: "Kinds", attribute: Node) -> bool:
    """`semiring.one`: no tensor has it, and nothing in the file gives it to one."""
    word = str(attribute.extra)
    return not word.startswith("_") and word not in TENSOR_NAMES and word not in kinds.set_outside


def _attr(kinds: "Kinds", node: Node) -> None:
    base = node.args[0]
    owner = kinds.object_class(base)
    if owner is not None:
        _of_field(kinds, node, owner)
        _property(kinds, node, owner)
    for qualified in names(node)[:1]:
        found = kind(qualified)
        if found in {Kind.DTYPE, Kind.NUMBER}:
            kinds.say(node, found, 9)
    if owner is None and base.op in UNKNOWN and _is_of_no_tensor(kinds, node):
        kinds.asked_as_object(base)
    if node.extra == "shape" and node.function.owner in kinds.module_classes and base.op in UNKNOWN:
        kinds.say(base, Kind.TENSOR, 1)  # modules seldom get arrays
    if node.extra == "n" and _SPACE.search(str(base.extra)):
        kinds.say(node, Kind.NUMBER, 9)  # the count of the actions of gym
    if node.extra in libraries.PARTS_OF_GRAPHS and kinds.has_graphs and base.op is not Op.REF and owner is None:
        kinds.say(node, Kind.TENSOR, 1)
    if kinds.has_graphs and owner is None and str(node.extra).startswith(libraries.COUNTS_OF_GRAPHS):
        kinds.say(node, Kind.NUMBER, 1)
    if node.extra == "device":
        kinds.say(node, Kind.DEVICE)
    elif node.extra == "dtype":
        kinds.say(node, Kind.DTYPE)
    elif not names(node) and (
        node.extra == "grad" or (node.extra in rows.TENSOR_ATTRIBUTES and kinds.of(base) is Kind.TENSOR)
    ):
        kinds.say(node, Kind.TENSOR)


def _property(kinds: "Kinds", node: Node, owner: Class) -> None:
    read = getter(owner, str(node.extra))
    for value, _ in read.returns if read is not None else ():
        if not is_none(value):
            kinds.unify(node, value)


def _of_field(kinds: "Kinds", node: Node, owner: Class) -> None:
    """An attribute that its class sets, or declares, is what is kept there."""
    field = owner.fields.get(str(node.extra))
    if owner.sets(str(node.extra)) or field in kinds.declared:
        kinds.unify(owner.field_of(str(node.extra)), node)


def of_fields(kinds: "Kinds") -> None:
    """The same once more, of parameters whose class the calls have told."""
    for node in kinds.module.of(Op.ATTR):
        if (owner := kinds.object_class(node.args[0])) is not None:
            _of_field(kinds, node, owner)


def _after(kinds: "Kinds", node: Node) -> None:
    kinds.unify(node, node.args[0])


def _enter(kinds: "Kinds", node: Node) -> None:
    """`with Trainer() as trainer`, where `__enter__` returns the very object, as that of files of arrays does."""
    manager = node.args[0]
    if kinds.of(manager) is Kind.ARRAY:
        kinds.unify(node, manager)
    made = kinds.object_class(manager)
    enter = method(made, "__enter__") if made is not None else None
    if enter is not None and all(value is enter.self_node for value, _ in enter.returns):
        kinds.unify(node, manager)
        if manager in kinds.gone_through:
            kinds.gone_through[node] = kinds.gone_through[manager]


def _operation(kinds: "Kinds", node: Node) -> None:
    for one in node.args:
        if one.op is Op.CALL and one.args[0].op is Op.ATTR and one.args[0].extra in _CASTS_OF_TENSORS:
            kinds.say(one, Kind.TENSOR)  # modules have these methods too, but nobody computes with modules
    if any(kinds.of(one) is Kind.TENSOR for one in node.args):
        kinds.say(node, Kind.TENSOR)
    elif any(kinds.of(one) is Kind.ARRAY for one in node.args):
        kinds.say(node, Kind.ARRAY, 1)
    elif node.extra in _SHIFTS or all(kinds.of(one) is Kind.NUMBER for one in node.args):
        kinds.say(node, Kind.NUMBER, 1)


def _compare(kinds: "Kinds", node: Node) -> None:
    element_wise = isinstance(node.extra, tuple) and not _IDENTITY.issuperset(node.extra)
    if element_wise and any(kinds.of(one) is Kind.TENSOR for one in node.args):
        kinds.say(node, Kind.TENSOR)
    if any(one.op is Op.CONST and isinstance(one.extra, str) for one in node.args) and node.extra in _EQUAL:
        for one in node.args:
            kinds.say(one, Kind.TEXT, 1)


def _sequence(kinds: "Kinds", node: Node) -> None:
    kinds.say(node, Kind.SEQUENCE)


def _mapping(kinds: "Kinds", node: Node) -> None:
    kinds.say(node, Kind.MAPPING)


def _comprehension(kinds: "Kinds", node: Node) -> None:
    kinds.say(node, Kind.MAPPING if node.extra == "dict" else Kind.SEQUENCE)


def _iter(kinds: "Kinds", node: Node) -> None:
    if calls_builtin(node.args[0], "range"):
        kinds.say(node, Kind.NUMBER, 3)
    if gives_weights(kinds, node.args[0], node.extra):
        kinds.say(node, Kind.TENSOR)
    _iterated(kinds, node.args[0])
    of_item(kinds, node)


def _item(kinds: "Kinds", node: Node) -> None:
    if node.args[0].op is Op.ITER and gives_weights(kinds, node.args[0].args[0], node.extra):
        kinds.say(node, Kind.TENSOR)
    of_item(kinds, node)


def _iterated(kinds: "Kinds", iterable: Node) -> None:
    iterable = (passed(iterable) if iterable.op is Op.CALL else None) or iterable
    named = iterable.op in {Op.PARAM, Op.GLOBAL, Op.ATTR, Op.REF, Op.ITEM}
    maker = iterable.args[0] if iterable.op is Op.ITEM else iterable
    unread = maker.op is Op.CALL and maker not in kinds.calls
    built = unread and not sounds_like_class(maker.args[0])  # loaders of libraries may place batches
    if (named and _LOADER.search(str(iterable.extra))) or (built and _LOADER.search(bound_name(iterable))):
        kinds.say(iterable, Kind.LOADER, 1)


def _function_node(kinds: "Kinds", node: Node) -> None:
    kinds.say(node, Kind.FUNCTION, 4)


def _call(kinds: "Kinds", node: Node) -> None:
    callee = node.args[0]
    called = kinds.calls.get(node)
    if called is not None:
        _local_call(kinds, node, called)
    of_tokenizer(kinds, node)
    made = kinds.imported.class_of(callee) or own_class(callee)
    given = passed(node)
    if given is not None and made is not None:
        kinds.gone_through[node] = given
    elif given is not None:
        kinds.unify(node, given)
    if made is not None:
        _object(kinds, node, made)
        return
    if callee.op is Op.ATTR and name(callee) is None:
        of_method(kinds, node, callee)
        return
    if is_looked_up(callee) and makes_module(kinds, node):
        kinds.say(node, Kind.MODULE, 3)
    if calls_builtin(node, "iter"):
        _iterated(kinds, node.args[1])
    for qualified in names(callee)[:1]:
        of_api(kinds, node, qualified)


def _object(kinds: "Kinds", node: Node, made: Class) -> None:
    """An object of a class that is read; of other files, what those that are no modules keep is not followed."""
    here = made in kinds.module.classes
    if not here and made not in kinds.module_classes and kinds.is_module_class(made):
        kinds.module_classes.add(made)
    if here or made in kinds.module_classes:
        kinds.instances.setdefault(kinds.find(node), made)
    kinds.say(node, Kind.MODULE if made in kinds.module_classes else Kind.OTHER, 4)


def _unknown(kinds: "Kinds", node: Node) -> None:
    """A parameter `k` of `x[:k]`: callers seldom give a tensor without dimensions."""
    for one in node.args if node.extra == "slice" else ():
        if one.op is Op.PARAM:
            kinds.say(one, Kind.NUMBER, 1)


def _local_call(kinds: "Kinds", node: Node, called: Function) -> None:
    for argument, parameter in bound(node, called):
        kinds.unify(parameter, argument)
        kinds.given[parameter].append(argument)
    for value, _ in returned(node, called) if not called.yields else ():
        if not is_none(value):
            kinds.unify(node, value)


_IDENTITY = frozenset({"Is", "IsNot", "In", "NotIn"})
"""Comparisons that give one truth value, whatever they compare."""
_EQUAL = frozenset({("Eq",), ("NotEq",)})
_CASTS_OF_TENSORS = frozenset({"to", "cuda", "float", "half", "double", "bfloat16"})
_LOADER = re.compile(r"(?i)loader|_dl$|^dl$")
"""A name that speaks of a loader: weak evidence, which a loop over it turns into a guess."""
_SPACE = re.compile(r"(?:action|observation)_space$")
_SHIFTS = frozenset({"LShift", "RShift"})
"""What is computed of whole numbers, as far as no tensor is known to be among them."""

_HANDLERS = {
    Op.PHI: _phi,
    Op.CONST: _const,
    Op.ATTR: _attr,
    Op.AFTER: _after,
    Op.ENTER: _enter,
    Op.OPERATION: _operation,
    Op.COMPARE: _compare,
    Op.ITEM: _item,
    Op.ITER: _iter,
    Op.SEQUENCE: _sequence,
    Op.MAPPING: _mapping,
    Op.COMPREHENSION: _comprehension,
    Op.FUNCTION: _function_node,
    Op.CALL: _call,
    Op.UNKNOWN: _unknown,
}
