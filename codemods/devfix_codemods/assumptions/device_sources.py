"""What a value that is taken to CUDA by name could follow instead: what it meets, a device in scope, a model."""

import ast
import re
from collections.abc import Callable, Hashable, Iterator, Set
from dataclasses import dataclass
from functools import cached_property
from math import exp

from devfix_codemods.assumptions.round_trips import came_from
from devfix_codemods.assumptions.spelled_cuda import SpelledCuda
from devfix_codemods.catalogue import Effect, Kind, canonical, effect, method_effect
from devfix_codemods.catalogue import torch as rows
from devfix_codemods.findings import Safety
from devfix_codemods.ir import Class, Function, Guard, Node, Op
from devfix_codemods.ir.keys import before_methods, key, name, names
from devfix_codemods.placement.analysis import Analysis
from devfix_codemods.placement.arguments import is_asked_for_none, is_none, is_optional
from devfix_codemods.placement.graph import Birth, Source, Turn
from devfix_codemods.placement.naming import sounds_like_model
from devfix_codemods.placement.places import CUDA, Place, Where
from devfix_codemods.placement.search import Conflict
from devfix_codemods.placement.strengths import COSTS
from devfix_codemods.repairs.conditions import is_accelerator
from devfix_codemods.repairs.devices import suffixes
from devfix_codemods.repairs.points import Point, before, names_in
from devfix_codemods.repairs.scope import devices_at, is_cuda_if_there, may_be_unset, values_of

SURE, PROBABLE, LIKELY = 0.86, 0.6, 0.42
"""From which probability on that values meet one follows the other unasked, rather than a device, and at all."""


@dataclass(frozen=True, slots=True)
class Followed:
    """The device expression to write in the place of CUDA, and how safe that is."""

    device: str
    safety: Safety
    model: Node | None = None
    """The model whose parameters are asked, where one is."""
    sure: float = 1.0


class Followings:
    """What the sites of one file could follow, in a reading of the file in which none of them moves anything."""

    def __init__(self, undone: Callable[[], Analysis], moving: Set[ast.AST]) -> None:
        self._read = undone
        self._moving = moving

    @cached_property
    def _reading(self) -> tuple[Analysis, set[Node]]:
        """The file without the moves, read when a site is first asked about, and the models that are added to it."""
        undone = self._read()
        return undone, _add_models(undone)

    @property
    def _undone(self) -> Analysis:
        return self._reading[0]

    @property
    def _models(self) -> set[Node]:
        return self._reading[1]

    @cached_property
    def _nodes(self) -> dict[ast.AST, Node]:
        return {one.syntax: one for one in self._undone.module.of(Op.CALL) if one.syntax is not None}

    def of(self, site: SpelledCuda) -> Followed | None:
        """The best of them; None where nothing is at hand."""
        here = self._nodes.get(site.syntax)
        point = self._point(here) if here is not None else None
        if here is None or point is None:
            return None
        met = self._met(here, point)
        if met is not None and (met.safety is Safety.SAFE or (met.model is None and met.sure >= PROBABLE)):
            return met
        taken = came_from(self._undone, here, site.moved is None)
        back = Followed(f"{taken.extra}.device", Safety.UNSAFE) if taken is not None else None
        return self.chosen(point) or met or back or self._of_first(here, point)

    def taken_back(self, site: SpelledCuda) -> Followed | None:
        """Where a value is computed on the host of a tensor that is on CUDA, as the code has asked, it goes back."""
        here = self._nodes.get(site.syntax)
        taken = came_from(self._undone, here, site.moved is None) if here is not None else None
        if here is None or taken is None or (("attr", key(taken), "is_cuda"), True) not in here.guard:
            return None
        return Followed(f"{taken.extra}.device", Safety.SAFE)

    def _point(self, node: Node) -> Point | None:
        """The point before a value; a lambda runs as if where it is made."""
        point, function = before(node), node.function
        made = (one for one in self._undone.module.of(Op.FUNCTION) if one.extra is function)
        maker = next(made, None) if point is None and isinstance(function.syntax, ast.Lambda) else None
        return before(maker) if maker is not None else point

    def _of_first(self, here: Node, point: Point) -> Followed | None:
        """`torch.stack([norm(g).cuda() for g in grads])`: all go where the first one of a list is."""
        for row in self._undone.module.of(Op.COMPREHENSION):
            if row.args[0] is here and isinstance(row.syntax, ast.ListComp):
                over = row.syntax.generators[0].iter
                listed = point.environment.get(over.id) if isinstance(over, ast.Name) else None
                made = (
                    name(here.args[0].args[0].args[0])
                    if here.args[0].op is Op.ATTR and here.args[0].args[0].args
                    else None
                )
                converts = made is not None and effect(canonical(made)) in {Effect.CONVERSION, Effect.FACTORY}
                if (
                    listed is not None
                    and not converts
                    and (listed.op is Op.SEQUENCE or isinstance(listed.syntax, ast.ListComp))
                ):
                    return Followed(f"{ast.unparse(over)}[0].device", Safety.UNSAFE)
        return None

    def _met(self, here: Node, point: Point) -> Followed | None:
        """What the value must share its place with: a tensor before a model, what is sure before what is likely."""
        own = self._undone.births.roots(here)
        sources = _sources(here)
        start = Source(here, CUDA, Birth.MOVE, ("certain",))
        found: list[Followed] = []
        for conflict in self._undone.ends(start):
            end = conflict.end
            if end.place.where is Where.HOST or end.node in own or self._is_spelled(end):
                continue
            if self._crosses_move(conflict) or _is_within(conflict, sources) or _came_together(end.node, own):
                continue
            if not any(step.edge.turn is Turn.MEET for step in conflict.path) and _was_there(here, end.node):
                continue
            if conflict.is_of_index:
                continue  # what picks from it may be on the host, whatever it picks from
            sure = conflict.confidence * exp(sum(COSTS[one] for one in end.links))
            if sure >= LIKELY:
                found += self._expressions(conflict, point, sure, _names_of(own, point))
        return min(found, key=_rank, default=None)

    def _is_spelled(self, end: Source) -> bool:
        """Whether what is met is on CUDA by name as well."""
        node = end.place.node
        return end.place.where is Where.DEVICE and (node is None or is_accelerator(self._undone, node))

    def _crosses_move(self, conflict: Conflict) -> bool:
        """Whether the other goes to CUDA itself before they meet, so that it may be on the host until then."""
        here = conflict.birth.node
        for step in conflict.path:
            move = here.args[1] if here.op is Op.AFTER else here
            moved = here.args[:1] if here.op is Op.AFTER else move.args[0].args[:1] if move.args else ()
            if here is not conflict.birth.node and move.syntax in self._moving and step.node in moved:
                return True
            here = step.node
        return False

    def _expressions(self, conflict: Conflict, point: Point, sure: float, own: set[str]) -> Iterator[Followed]:
        origin = before_methods(conflict.birth.node)
        node, elsewhere = conflict.end.node, conflict.end.place.where is Where.DEVICE
        own = own | self._texts(conflict.birth.node)
        if node in self._models and (
            _may_be_session(node, point.guard) or self._is_moved_in(point.node.function, node)
        ):
            return
        if node in self._models and not _runs_in_replicas(self._undone, point.node.function):
            text = _name_of(node, point)
            if text is not None and text not in own:
                yield Followed(f"next({text}.parameters()).device", Safety.UNSAFE, node)
        for suffix in suffixes(self._undone, conflict, point):
            device, base = suffix.device, _plain((suffix.device or "").removesuffix(".device"))
            if device is None or suffix.test is not None or own & {base, _parameters_owner(base)}:
                continue
            bound = point.environment.get(base) if base != device else None
            follows = suffix.follows or (bound is not None and _is_input(self._undone, bound))
            unknown = bound is not None and self._undone.kinds.of(bound) is None
            meets = sure >= SURE and _TAKING_ANYTHING.isdisjoint(conflict.links)  # an operator, which takes tensors
            follows = follows or (unknown and meets)
            if bound is not None and (not follows or may_be_none(self._undone, bound, point)):
                continue
            if bound is not None and (bound is origin or self._was_elsewhere(bound, conflict)):
                continue
            model = node if device.startswith("next(") else None
            if bound is None and model is None and node.function is not point.node.function:
                continue  # the function follows its own tensors, whatever its callers call a device
            if model is not None and _runs_in_replicas(self._undone, point.node.function):
                continue
            certain = sure >= SURE and (follows or elsewhere) and model is None
            yield Followed(device, Safety.SAFE if certain else Safety.UNSAFE, model, sure)

    def _texts(self, move: Node) -> set[str]:
        """What is moved, as the move spells it and as what gave it a name does: its own device is no place to go."""
        found = [one.syntax for one in self._undone.births.roots(move)]
        if isinstance(move.syntax, ast.Call) and isinstance(move.syntax.func, ast.Attribute):
            found.append(move.syntax.func.value)
        return {ast.unparse(one) for one in found if isinstance(one, ast.Name | ast.Attribute | ast.Subscript)}

    def _was_elsewhere(self, bound: Node, conflict: Conflict) -> bool:
        """Whether a name stands for what it held before its own move to CUDA, where what is moved meets the others.

        `x, y = x.cuda(), y.to(x.device)` asks the `x` of before.
        """
        if bound is conflict.end.node or any(step.node is bound for step in conflict.path):
            return False
        calls = (one for one in bound.function.nodes if one.op is Op.CALL and one.syntax in self._moving)
        return any(one.args[0].op is Op.ATTR and one.args[0].args[0] is bound for one in calls)

    def _is_moved_in(self, function: Function, field: Node) -> bool:
        """Whether a function takes an attribute to CUDA itself, under whatever name: it was elsewhere before."""
        births = self._undone.births
        calls = (one for one in function.nodes if one.op is Op.CALL and one.syntax in self._moving)
        bases = (one.args[0].args[0] for one in calls if one.args[0].op is Op.ATTR)
        roots = (root for one in bases for root in births.roots(one) if root.op is Op.ATTR)
        owners = ((root, births.class_of(root.args[0])) for root in roots)
        return any(owner is not None and owner.fields.get(str(root.extra)) is field for root, owner in owners)

    def at_hand(self, node: Node, *, asks: bool = False) -> Followed | None:
        """The device that was chosen where a call stands."""
        here = self._nodes.get(node.syntax) if node.syntax is not None else None
        point = self._point(here) if here is not None else None
        return self.chosen(point, asks=asks) if point is not None else None

    def chosen(self, point: Point, *, asks: bool = False) -> Followed | None:
        """A device in scope, which is more than another way to spell CUDA out.

        Where the code `asks` whether CUDA is there, one that is CUDA wherever that is says nothing new.
        """
        for text, node in devices_at(self._undone, point):
            says_more = not may_be_unset(node) and not is_optional(node) and not (asks and is_cuda_if_there(node))
            if says_more and _CARD.search(text) is None and all(map(point.binds_surely, names_in(text))):
                return Followed(text, Safety.UNSAFE)
        return None


_CARD = re.compile(r"(?i)(?:^|[._])(?:(?:local_)?rank|gpus?|gpu_?ids?)$")
"""Numbers of cards, which are CUDA's: to follow one is no choice."""
_TAKING_ANYTHING = frozenset({"module-call", "module-call-by-use", "module-method", "differentiable-call"})
"""Meetings in calls that are given options, too."""


def _plain(text: str) -> str:
    """An expression as `ast.unparse` spells it."""
    return ast.unparse(ast.parse(text, mode="eval")) if text else text


def _parameters_owner(text: str) -> str:
    """`self` of `next(self.parameters())`"""
    return text.removeprefix("next(").removesuffix(".parameters())")


def _sources(here: Node) -> set[Node]:
    """What a value that is moved was computed of: where that is, the value has been, which is no place to go."""
    found = list(here.args[0].args[:1]) if here.args[0].op is Op.ATTR else []
    for one in found:  # grows
        found += (each for each in one.args if each.index < here.index and each not in found)
    return set(found)


def _was_there(here: Node, end: Node) -> bool:
    """`one_hot(x).cuda()`: whether what is moved was where a tensor is, of which it was computed and which nothing
    meets it with: to follow that is no move."""
    origin = before_methods(here)
    given = origin.args[1:] if origin.op is Op.CALL and names(origin.args[0]) else ()
    joined = any(end in one.args for one in here.function.nodes if one.op is Op.OPERATION)
    return end in given and not joined


def _is_within(conflict: Conflict, sources: set[Node]) -> bool:
    """Whether it is what a value was computed of that meets the other, before the value was there."""
    before = conflict.meeting.before if conflict.meeting is not None else None
    return before is not None and before.node in sources


def _came_together(other: Node, moved: Set[Node]) -> bool:
    """`x, y = batch`, of which one is moved: the other is where both were, which is no place to go."""
    return other.op is Op.ITEM and any(one.op is Op.ITEM and one.args[0] is other.args[0] for one in moved)


def _may_be_session(node: Node, guard: Guard) -> bool:
    """Whether another runtime than torch may run a model: it has no parameters."""
    said = getattr(node.syntax, "annotation", None)
    if said is not None and _RUNTIMES.search(ast.unparse(said)):
        return True
    if any(holds and _RUNTIMES.search(str(atom)) for atom, holds in guard):
        return True
    for one in node.function.nodes:
        if one.op is Op.ATTR and one.args[0] is node and one.extra in {"get_outputs", "get_inputs"}:
            return True
        if one.op is Op.CALL and node in one.args[1:] and isinstance(one.syntax, ast.Call):
            callee, words = ast.unparse(one.syntax.func), [str(word) for word in one.extras if word]
            exports = "export" in callee or callee.startswith("torch.")
            if not exports and any(_RUNTIMES.search(each) for each in (callee, *words)):
                return True
    return False


_RUNTIMES = re.compile(r"(?i)onnx|(?<![a-z])ort(?![a-z])|session|openvino|tensorrt|(?<![a-z])trt(?![a-z])")


def _is_input(analysis: Analysis, node: Node) -> bool:
    """Whether a value is an input of a module's `forward`, which is a tensor by convention."""
    function = node.function
    of_module = function.owner in analysis.kinds.module_classes and function.name == "forward"
    used = (str(one.extra) for one in function.nodes if one.op is Op.ATTR and one.args[0] is node)
    plain = all(one in rows.PLAIN_ATTRIBUTES or method_effect(one) is not None for one in used)
    return of_module and node.op is Op.PARAM and plain and analysis.kinds.of(node) in {Kind.TENSOR, None}


def _runs_in_replicas(analysis: Analysis, function: Function, depth: int = 3) -> bool:
    """Whether `forward` is, or calls, a function: the replicas of a module in it have no parameters."""
    trains = any(one.op is Op.ATTR and one.extra == "backward" for one in function.nodes)
    if function.name == "forward" or trains:
        return not trains
    callers = {call.function for call, called in analysis.calls.items() if called is function}
    return depth > 0 and any(_runs_in_replicas(analysis, one, depth - 1) for one in callers)


def _rank(one: Followed) -> tuple[bool, bool, bool]:
    """What is sure first; tensors before models, and models that are given before the module itself."""
    return (one.safety is not Safety.SAFE, one.model is not None, one.device == "next(self.parameters()).device")


def may_be_none(analysis: Analysis, node: Node, point: Point) -> bool:
    """Whether a value may be None at a point: it is asked for that, there or elsewhere, or some caller says so."""
    if point.is_none(node):
        return True
    if any(_rules_out_none(atom, holds, node) for atom, holds in point.guard | point.node.guard):
        return False
    uses = [one for one in node.function.nodes if node in one.args]
    if any(one.op is Op.ATTR and one.index < point.node.index and one.guard <= point.guard for one in uses):
        return False
    return is_asked_for_none(node) or is_optional(node) or any(map(is_none, analysis.kinds.given.get(node, ())))


def _rules_out_none(atom: Hashable, holds: bool, node: Node) -> bool:
    if atom == ("none", key(node)):
        return not holds
    return holds and isinstance(atom, tuple) and atom[:2] == ("isinstance", key(node))


def _add_models(analysis: Analysis) -> set[Node]:
    """Models that a function, or an object, is given are wherever the caller put them; also those that are just called
    so."""
    found = {
        parameter
        for function in analysis.module.functions
        for name, parameter in function.parameters.items()
        if parameter is not function.self_node and _is_model(analysis, name, parameter)
    }
    found |= {field for one in analysis.module.classes for field in _given_models(analysis, one)}
    for model in found:
        place = Place(Where.CALLER, model)
        analysis.graph.add(Source(model, place, Birth.PARAMETER, ("parameter",)))
    for call in analysis.module.of(Op.CALL):
        if call.args[0] in found and not analysis.kinds.is_module(call.args[0]):
            analysis.graph.meets(call.args[0], call, "module-call-by-use", call.guard)
    for store in (one for function in analysis.module.functions for one in function.stores):
        if not store.is_attribute and analysis.kinds.of(store.base) is Kind.TENSOR:  # what fills a tensor
            analysis.graph.meets(store.value, store.base, "unknown-call", store.guard)
    return found


def _is_model(analysis: Analysis, name: str, node: Node) -> bool:
    """Whether a parameter is a module that has parameters of its own, by its use, or a callee by its name."""
    if analysis.kinds.is_loss(node) or name in node.function.defaults or _LOSS.search(name):
        return False
    called = any(one.op is Op.CALL and one.args[0] is node for one in node.function.nodes)
    return analysis.kinds.is_module(node) or (called and sounds_like_model(name))


def _given_models(analysis: Analysis, owner: Class) -> Iterator[Node]:
    """Attributes that keep a model which the constructor was given, and that no method moves."""
    for text, field in owner.fields.items():
        values = values_of(field)
        given = values and all(one.op is Op.PARAM and _is_model(analysis, text, one) for one in values)
        if given and not any(analysis.births.moves_of(one) for one in (*values, field)):
            yield field


_LOSS = re.compile(r"(?i)loss|criterion|metric")


def _names_of(nodes: Set[Node], point: Point) -> set[str]:
    return {one for one, node in point.environment.items() if isinstance(one, str) and node in nodes}


def _name_of(node: Node, point: Point) -> str | None:
    """What a value is called at a point; of an attribute, what its object calls it."""
    if node.op is Op.FIELD:
        itself, owner = point.node.function.self_node, point.node.function.owner
        own = owner is not None and owner.fields.get(str(node.extra)) is node
        return f"{itself.extra}.{node.extra}" if own and itself is not None else None
    environments = [point.environment]
    function = point.node.function.parent
    while function is not None:
        environments.append(function.finals)
        function = function.parent
    names = (one for each in environments for one, bound in each.items() if bound is node)
    return next((one for one in names if isinstance(one, str)), None)
