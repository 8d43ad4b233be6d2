"""What to do with a move that is thrown away: keep its result, or what stands against that."""

import ast
import re
from collections.abc import Callable, Iterator

from devfix_codemods.assumptions.answers import Answer
from devfix_codemods.assumptions.index import Index, method, unindented
from devfix_codemods.catalogue import Kind, canonical, effect, method_effect
from devfix_codemods.catalogue.torch import PARAMETERS
from devfix_codemods.discards.discarded import Discard, are_beside, behind, is_missed
from devfix_codemods.discards.meetings import meets_made
from devfix_codemods.discards.tensors import Tensors
from devfix_codemods.edits.operations import ReplaceStatement
from devfix_codemods.findings import Fix, Safety
from devfix_codemods.ir import Module, Node, Op
from devfix_codemods.ir.keys import name, names
from devfix_codemods.placement.analysis import Analysis
from devfix_codemods.placement.arguments import is_false, keyword
from devfix_codemods.placement.graph import Birth
from devfix_codemods.placement.kinds import Kinds
from devfix_codemods.placement.places import HOST
from devfix_codemods.repairs.scope import values_of

_OF_LAYERS = re.compile(r"(?:\w+_)?(?:weight|bias)$")


def thrown_away(index: Index, without: Callable[[frozenset[ast.AST]], Analysis]) -> Iterator[Answer]:
    """The moves of tensors whose result is missed; `without` reads the file as if calls moved nothing."""
    tensors = Tensors(index, without)
    for one in tensors.all:
        if tensors.is_one(one) and is_missed(index, one):
            yield _told(index, tensors, one)


def _told(index: Index, tensors: Tensors, discard: Discard) -> Answer:
    called, how = index.analysis.text(discard.moved), discard.call.args[0].extra
    done, stays = ("converted", "as") if discard.is_conversion else ("moved", "where")
    advice, fix = _obstacle(index, discard, called), None
    if advice is None:
        advice = f"assign the result to `{discard.target}`"
        text = unindented(index.text(discard.statement), discard.statement)  # with brackets around the call
        edit = ReplaceStatement(index.source.span(discard.statement), f"{discard.target} = {text}")
        fix = Fix(_safety(index, tensors, discard), f"Assign the {done} tensor to `{discard.target}`", (edit,))
    message = f"`{called}.{how}(…)` returns a {done} copy that is thrown away: `{called}` stays {stays} it is"
    return Answer(discard.syntax, message, fix, advice, trail=tuple(_trail(index, discard, called)))


def _trail(index: Index, discard: Discard, called: str) -> Iterator[tuple[ast.AST, str]]:
    for made in index.analysis.births.roots(discard.receiver):
        if made.op in {Op.CALL, Op.OPERATION} and made.syntax is not None:
            yield made.syntax, f"`{called}` is a tensor, made here"
            break
    yield discard.syntax, f"the moved copy of `{called}` is thrown away here"


def _obstacle(index: Index, discard: Discard, called: str) -> str | None:
    """What to do instead where the result cannot be assigned, or should not be."""
    if _is_placed(index, discard):
        return f"delete the line: `{called}` is on the device of the module already"
    if (module := _module_on_host(index, discard)) is not None:
        return f"move `{module}` as well and assign the result to `{called}`, or delete the line"
    if (whole := _whole_of(index, discard)) is not None:
        return f"move `{whole}` as a whole: an assignment to `{called}` moves nothing"
    if discard.owner is not None and isinstance(discard.owner.syntax, ast.expr | ast.arg):
        return f"assign the result to `{called}.data`, or move `{_spelled(discard.owner)}`, which holds it"
    if _is_leaf(index, discard.receiver):
        return f"make `{called}` on the device where it is created: a moved copy is no leaf and gets no gradient"
    if _may_be_parameter(index, discard):
        return f"assign the result to `{called}.data`: in the place of a parameter a module takes no other tensor"
    if _is_of_another_scope(discard):
        return f"read `{index.text(discard.syntax)}` instead: an assignment would make `{called}` a local name"
    return None


def _whole_of(index: Index, discard: Discard) -> str | None:
    """`x` of `x[0]` and `x.T`, if it takes no part from elsewhere: tensors copy it back, or refuse it as tuples do."""
    moved, part = discard.moved, discard.receiver
    if not isinstance(moved, ast.Subscript | ast.Attribute) or part.op not in {Op.ITEM, Op.ATTR}:
        return None
    kinds, whole = index.analysis.kinds, part.args[0]
    if kinds.of(whole) is not Kind.TENSOR or (isinstance(moved, ast.Attribute) and moved.attr == "data"):
        return None
    roots = index.analysis.births.roots(whole)
    refuses = isinstance(moved, ast.Attribute) or (bool(roots) and all(_is_no_list(kinds, one) for one in roots))
    return index.text(moved.value) if refuses else None


def _is_no_list(kinds: Kinds, tensor: Node) -> bool:
    """Whether what counts as a tensor is one, or a tuple of some, and not a list: a list is told by its annotation."""
    if tensor.op is Op.PARAM:
        return kinds.says_surely(tensor, Kind.TENSOR) and tensor not in kinds.rows
    if tensor.op is not Op.CALL:
        return False
    of_torch = (one for one in names(tensor.args[0]) if one.startswith("torch."))
    return (
        any(effect(canonical(one)) is not None for one in of_torch) or method_effect(method(tensor) or "") is not None
    )


def _spelled(node: Node) -> str:
    return node.syntax.arg if isinstance(node.syntax, ast.arg) else ast.unparse(node.syntax)  # type: ignore[arg-type]


def _is_placed(index: Index, discard: Discard) -> bool:
    """Whether a framework has placed what a method of its class is given, or a part of that."""
    whole = discard.receiver
    while whole.op in {Op.ITEM, Op.ITER}:
        whole = whole.args[0]
    function = whole.function
    given = whole.op is Op.PARAM and whole is not function.self_node
    return given and index.analysis.births.imported.is_managed(function.owner)


def _module_on_host(index: Index, discard: Discard) -> str | None:
    """The module that gets the value next, where the function builds it, and nothing takes it to a device."""
    births, graph = index.analysis.births, index.analysis.graph
    users = [user for one in behind(index, discard) for user in index.users[one]]
    for call in users if discard.place not in {None, HOST} else ():
        made = next(iter(births.roots(call.args[0])), call) if call.op is Op.CALL else call
        left = [one for one in graph.sources.get(made, ()) if one.birth is Birth.MODULE]
        stays = any(one.place == HOST and "given-away" not in one.links for one in left)
        if stays and made.function is call.function and not births.moves_of(made) and isinstance(call.syntax, ast.Call):
            return ast.unparse(call.syntax.func)
    return None


def _is_leaf(index: Index, receiver: Node) -> bool:
    """A tensor that is optimized itself: its moved copy is no leaf, and gets no gradient."""
    find = index.analysis.kinds.find
    return any(find(one) is find(receiver) for one in _leaves(index.analysis.module))


def _leaves(module: Module) -> Iterator[Node]:
    """What is made a parameter, or told to need a gradient, or asked whether it needs one."""
    for function in module.functions:
        for store in function.stores:
            if store.is_attribute and store.key == "requires_grad" and not is_false(store.value):
                yield store.base
        for node in function.nodes:
            if node.op is Op.ATTR and node.extra == "requires_grad":
                yield node.args[0]
            elif node.op is Op.CALL and method(node) == "requires_grad_" and not any(map(is_false, node.args[1:])):
                yield node.args[0].args[0]
            elif node.op is Op.CALL:
                asked = keyword(node, "requires_grad")
                if name(node.args[0]) in PARAMETERS or (asked is not None and not is_false(asked)):
                    yield node


def _may_be_parameter(index: Index, discard: Discard) -> bool:
    """`self.bias` of a module, which was given it: of another layer it is a parameter, registered as such."""
    kinds, function = index.analysis.kinds, discard.call.function
    moved, owner = discard.moved, function.owner
    if not isinstance(moved, ast.Attribute) or owner is None or owner not in kinds.module_classes:
        return False
    own = isinstance(moved.value, ast.Name) and moved.value.id == getattr(function.self_node, "extra", None)
    given = any(one.op in {Op.PARAM, Op.ATTR, Op.GLOBAL} for one in values_of(owner.field_of(moved.attr)))
    return own and given and _OF_LAYERS.fullmatch(moved.attr) is not None


def _is_of_another_scope(discard: Discard) -> bool:
    """Whether an assignment would make a local of a name that the function only reads: it would be unbound above."""
    function, made = discard.call.function, discard.receiver
    while made.op is Op.AFTER:
        made = made.args[0]
    if made.function is function or not discard.target.isidentifier():
        return False
    outer = (one for one in ast.walk(function.syntax) if isinstance(one, ast.Global | ast.Nonlocal))
    return not any(discard.target in one.names for one in outer)


def _safety(index: Index, tensors: Tensors, discard: Discard) -> Safety:
    """A tensor that becomes an array must be on the host: that asks for a move there, and forbids one away."""
    analysis, receiver = index.analysis, discard.receiver
    read = any(
        source.birth is Birth.READER
        for node in discard.call.function.nodes
        if node.index >= receiver.index and analysis.kinds.find(node) is analysis.kinds.find(receiver)
        for source in analysis.graph.sources.get(node, ())
    )
    to_host = discard.place == HOST
    beside = (one for one in tensors.all if analysis.kinds.of(one.receiver) is None and are_beside(index, one, discard))
    certain = read is to_host and all(map(tensors.is_one, beside)) and tensors.is_surely_one(discard)
    leaves = not to_host and meets_made(index, discard)
    return Safety.SAFE if certain and not leaves else Safety.UNSAFE
