"""Values that are no tensors, or may be none, by what the program does with them and by what they start as."""

import ast

from devfix_codemods.catalogue import Effect, canonical, effect, method_effect
from devfix_codemods.catalogue import torch as rows
from devfix_codemods.ir import Function, Guard, Node, Op
from devfix_codemods.ir.items import reads_of
from devfix_codemods.ir.keys import key, names
from devfix_codemods.ir.nodes import contradictory
from devfix_codemods.placement.arguments import is_none
from devfix_codemods.placement.naming import sounds_like_count, sounds_like_function

_SET_OF_TENSORS = frozenset({"data", "grad", "requires_grad", "names"})
"""The attributes that programs set of a tensor."""


def is_used_as_object(node: Node) -> bool:
    """Whether a value is called, asked for what only modules have, or given attributes: no tensor."""
    for one in node.function.nodes:
        if one.op is Op.CALL and one.args[0] is node:
            return True
        if one.op is Op.ATTR and one.args[0] is node and one.extra in rows.MODULE_ONLY:
            return True
    return is_given_attributes(node)


def is_function(node: Node) -> bool:
    """Whether a parameter is called, or is a function or a class by its name, or by default."""
    if node.op is not Op.PARAM:
        return False
    if sounds_like_function(node):
        return True
    default = node.function.defaults.get(str(node.extra))
    if default is not None and default.op in _CALLABLE:
        return True
    return any(one.op is Op.CALL and one.args[0] is node for one in node.function.module.users.get(node, ()))


_CALLABLE = frozenset({Op.REF, Op.FUNCTION, Op.CLASS})


def is_given_attributes(node: Node) -> bool:
    """`options.rate = 0.1`: whether a value gets attributes that tensors have not."""
    return any(one.base is node and one.is_attribute and one.key not in _SET_OF_TENSORS for one in node.function.stores)


def holds_mappings(node: Node) -> bool:
    """Whether loops over a value ask what they take for its items: a list of mappings, as detection models get."""
    users = node.function.module.users
    taken = (one for one in users.get(node, ()) if one.op is Op.ITER and one.args[0] is node)
    return any(_is_mapping(user) for one in taken for user in users.get(one, ()))


def _is_mapping(user: Node) -> bool:
    """`row.items()`, `row["pixels"]`: what asks a value for this asks no tensor."""
    asked = user.op is Op.ATTR and user.extra in _OF_MAPPINGS
    return asked or (user.op is Op.ITEM and isinstance(user.extra, str))


_OF_MAPPINGS = frozenset({"items", "keys"})


def has_no_move(node: Node) -> bool:
    """Whether the program does with a value what it can do with none that has `.to`."""
    return is_distribution(node) or holds_containers(node)


def is_distribution(node: Node) -> bool:
    """Whether a value is asked for what only the distributions of torch have, or is compared as one of them."""
    users = node.function.module.users.get(node, ())
    return any(
        (one.op is Op.ATTR and one.extra in _OF_DISTRIBUTIONS)
        or (
            one.op is Op.CALL
            and node in one.args[1:]
            and any(each.endswith(_DIVERGENCE) for each in names(one.args[0]))
        )
        for one in users
    )


_OF_DISTRIBUTIONS = frozenset({"log_prob", "rsample", "loc", "stddev", "icdf", "base_dist", "has_rsample"})
_DIVERGENCE = "distributions.kl_divergence"


def holds_containers(node: Node) -> bool:
    """Whether what is taken out of a value by number is a mapping, a list whose elements are joined, or an object that
    a statement moves where it is."""
    users = node.function.module.users
    taken = (one for one in users.get(node, ()) if one.op is Op.ITEM and one.args[0] is node)
    parts = (one for one in taken if not isinstance(one.extra, str))
    return any(
        _is_mapping(user) or joins(user, one) or _is_moved_in_place(user)
        for one in parts
        for user in users.get(one, ())
    )


def _is_moved_in_place(asked: Node) -> bool:
    """`graphs[0].to(device)` as a statement: a part of a tensor would stay where it is."""
    match asked.statement:
        case ast.Expr(value=ast.Call(func=function)):
            return function is asked.syntax and asked.op is Op.ATTR and asked.extra in {"to", "cuda"}
    return False


def is_joined(node: Node) -> bool:
    """Whether a value is a list of tensors, which are joined."""
    return any(joins(one, node) for one in node.function.module.users.get(node, ()))


def joins(user: Node, value: Node) -> bool:
    """`torch.stack(rows)`, which takes a list and no tensor."""
    joins = user.op is Op.CALL and user.args[1:2] == (value,)
    return joins and any(effect(canonical(one)) is Effect.SEQUENCE for one in names(user.args[0]))


def is_asked_as_object(node: Node) -> bool:
    """Whether a value, or the attribute of an object that keeps it, is asked for what no tensor has: `config.rate`."""
    users = node.function.module.users
    owner, itself = node.function.owner, node.function.self_node
    stores = (one for one in node.function.stores if one.value is node and one.is_attribute and one.base is itself)
    kept = {str(one.key) for one in stores} if owner is not None and itself is not None else ()
    read = [one for attribute in kept for one in reads_of(owner, attribute)] if owner is not None else []
    asked = (one for each in (node, *read) for one in users.get(each, ()) if one.op is Op.ATTR and one.args[0] is each)
    return any(is_of_no_tensor(str(one.extra)) for one in asked)


def is_of_no_tensor(attribute: str) -> bool:
    """Whether no tensor has an attribute of that name."""
    known = attribute in rows.TENSOR_ATTRIBUTES | rows.PLAIN_ATTRIBUTES | rows.TENSOR_ONLY
    return not known and method_effect(attribute) is None


def is_plain(attribute: Node) -> bool:
    """`x.shape`, `dataset.num_classes`: an attribute that is no tensor, whatever it is of."""
    plain = attribute.extra in rows.PLAIN_ATTRIBUTES or sounds_like_count(attribute)
    return attribute.op is Op.ATTR and plain


def starts_as_number(node: Node, guard: Guard) -> bool:
    """Whether a parameter is a number where callers leave it out, and no test has said that it is a tensor here."""
    default = node.function.defaults.get(str(node.extra)) if node.op is Op.PARAM else None
    if default is None or not isinstance(default.extra, int | float) or isinstance(default.extra, bool):
        return False
    tests = (atom for atom, holds in guard if holds and isinstance(atom, tuple) and atom[0] == "isinstance")
    return not any(atom[1] == key(node) and "Tensor" in str(atom[2]) for atom in tests)


def may_be_number(node: Node, guard: Guard) -> bool:
    """Whether a value is a number on some path: `total = 0.0`, to which a loop adds."""
    found = [node]
    for one in found:  # grows
        if starts_as_number(one, guard):
            return True
        if one.op is Op.CONST and isinstance(one.extra, int | float):
            return True
        if one.op is Op.PHI:
            guards = one.extra if isinstance(one.extra, tuple) else ()
            possible = (each for each, under in zip(one.args, guards) if not contradictory(guard, under))
            found += (each for each in possible if each not in found)
    return False


def context_of_autograd(function: Function) -> tuple[Node, set[Node]] | None:
    """The context of the `forward` of an `autograd.Function`, and the parameters that `backward` gives no gradient for:
    options, or indices. https://docs.pytorch.org/docs/stable/notes/extending.html"""
    owner, parameters = function.owner, list(function.parameters.values())
    if owner is None or function.name != "forward" or not parameters:
        return None
    if not any(one.endswith("autograd.Function") for base in owner.bases for one in names(base)):
        return None
    backward = owner.methods.get("backward")
    given = [value.args for value, _ in backward.returns if value.op is Op.SEQUENCE] if backward is not None else []
    gradients = zip(parameters[1:], zip(*given))
    without = {one for one, of_each in gradients if all(map(is_none, of_each))}
    measured = {one.args[0] for one in function.nodes if one.op is Op.ATTR and one.extra in _MEASURES}
    return parameters[0], without - measured


_MEASURES = frozenset({"shape", "size", "dim", "ndim", "device", "dtype"})
"""What tensors are asked for, and numbers are not, though no gradient goes through them."""
