"""Modules that are made together, beside moves, beside a device, or as others are that are moved."""

import ast
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from devfix_codemods.catalogue import Kind, canonical
from devfix_codemods.catalogue import torch as rows
from devfix_codemods.ir import Class, Function, Node, Op
from devfix_codemods.ir.items import made_of
from devfix_codemods.ir.keys import key, name, names
from devfix_codemods.placement.arguments import loaded_to
from devfix_codemods.placement.device_conditions import is_of_accelerator
from devfix_codemods.placement.graph import Birth, Graph, Source
from devfix_codemods.placement.naming import sounds_like_class, sounds_like_length
from devfix_codemods.placement.operands import is_only_returned
from devfix_codemods.placement.places import HOST, Where, place_of, speaks_of_several
from devfix_codemods.placement.roots import DEEPCOPY
from devfix_codemods.placement.strengths import COSTS, counted

if TYPE_CHECKING:
    from devfix_codemods.placement.births import Births


class Together:
    """Says of the modules of one file where they belong, by what stands around them."""

    def __init__(self, births: "Births") -> None:
        self._births = births
        self._graph = births.graph
        self._kinds = births.kinds

    def all(self) -> None:
        self._outputs()
        groups: dict[Function, list[Node]] = defaultdict(list)
        for node, sources in self._graph.sources.items():
            if any(one.birth is Birth.MODULE and "maybe-bare" not in one.links for one in sources):
                groups[node.function].append(node)
        for call in self._calls_that_make():
            groups[call.function].append(call)
        twins, usual = self._moved_twins(), self._usually_moved(groups)
        placed = [one for one in self._births.movers if _is_original(one) and self._births.moves_of(one)]
        self._made_as_moved(groups, {_maker(one) for one in placed})
        callees = [one.args[0] for one in placed]
        on_host, left = self._on_host(callees), self._left_on_purpose(callees)
        for members in groups.values():
            moved = {one: moves for one in members if (moves := self._births.moves_of(one))}
            moved = {one: moves for one, moves in moved.items() if not self._births.may_miss(moves, one)}
            for one in members:
                stays = self._births.is_sent_to_host(one) or self._kinds.find(one) in on_host
                stays = stays or self._counts_numbers(one) or self._is_updated_elsewhere(one)
                if one not in moved and one not in left and self._is_used(one) and not stays:
                    alike = [each for each in twins.get(_twin(one), ()) if each not in self._births.moves_of(one)]
                    alike = [each for each in alike if not self._is_of_accelerator(each, one)]
                    near = [each for each in alike if each.function is one.function or self._is_meant(one, each, usual)]
                    beside = {each: by for each, by in moved.items() if not self._is_of_accelerator(each, one)}
                    self._belongs(one, beside, near)

    def _calls_that_make(self) -> Iterator[Node]:
        """The calls of functions of this file that make a module, and leave it where it is."""
        births = self._births
        for call, called in births.calls.items():
            makes = call.args[0].op is not Op.CLASS and called.name != "__init__" and self._kinds.is_module(call)
            if not makes or len(self._kinds.calls_of(called)) == 1:
                continue
            made = self._made_by(called)
            if made and all(self._is_left(one) for one in made):
                yield call

    def _links_of_made(self, call: Node) -> tuple[str, ...]:
        """How surely what a function of this file gives is a module on the host: as surely as the least of it."""
        called = self._births.calls[call]
        links = max((source.links for one in self._made_by(called) for source in self._graph.sources[one]), key=_length)
        return (*links, "handed-over") if call in self._births.handed else links

    def _is_left(self, made: Node) -> bool:
        """Whether a module is made here, surely holds tensors, and is moved by nothing."""
        sources = self._graph.sources.get(made, ())
        known = any(one.birth is Birth.MODULE and "maybe-bare" not in one.links for one in sources)
        return known and not self._births.moves_of(made)

    def _is_meant(self, module: Node, move: Node, usual: set[object]) -> bool:
        """Whether the move of a twin in another function shows what is meant for a module: whoever gets what is only
        returned places it, but for where the twin is returned, too. Of tests, each is for itself."""
        return (
            not self._births.defaults.is_test
            and _maker(module) in usual
            and (not is_only_returned(module) or self._is_returned(move))
        )

    def _is_returned(self, move: Node) -> bool:
        return not set(self._made_by(move.function)).isdisjoint(self._births.roots(move))

    def _made_by(self, function: Function) -> list[Node]:
        """What the values are made by that a function gives."""
        return [root for value, _ in function.returns for root in self._births.roots(value)]

    def _made_as_moved(self, groups: dict[Function, list[Node]], makers: set[object]) -> None:
        """What makes a module that the program moves places none: `build(args)`, beside `build(args).cuda()`."""
        for one in (each for members in groups.values() for each in members):
            if _maker(one) in makers and not self._births.moves_of(one) and one in self._graph.sources:
                sources = self._graph.sources[one]
                self._graph.sources[one] = [replace(each, links=tuple(map(_known, each.links))) for each in sources]

    def _usually_moved(self, groups: dict[Function, list[Node]]) -> set[object]:
        """The makers whose modules are moved in half at least of the functions that make some: an oversight is no
        rule."""
        made: dict[tuple[object, Function], bool] = {}
        for module in {*self._births.movers, *(one for members in groups.values() for one in members)}:
            place = _maker(module), module.function
            made[place] = made.get(place, False) or bool(self._births.moves_of(module))
        count: Counter[object] = Counter()
        for (maker, _), is_moved in made.items():
            count[maker] += 1 if is_moved else -1
        return {maker for maker, more in count.items() if more >= 0}

    def _on_host(self, callees: list[Node]) -> set[Node]:
        """What stands for the callees whose results are moved: those compute on the host, as they are meant to."""
        return {self._kinds.find(one) for one in callees}

    def _outputs(self) -> None:
        """What `forward` gives is where the module is: whoever calls it goes on with it there."""
        for owner in self._kinds.module_classes:
            forward = owner.methods.get("forward")
            for value, _ in forward.returns if forward is not None else ():
                for one in value.args if value.op is Op.SEQUENCE else (value,):
                    made = self._graph.is_made(one)
                    if made and not sounds_like_length(one):
                        self._graph.supports(one, self._births.place_of_module(owner), "forward-output", one.guard)

    def _is_used(self, module: Node) -> bool:
        """Whether the file computes anything with a module, also by a global name: else it meets nothing."""
        if module.op is not Op.CALL or (module in self._births.used and not _only_holds_state(module)):
            return True
        names = {bound for bound, node in module.function.finals.items() if node is module}
        return any(one.extra in names for one in module.function.module.of(Op.GLOBAL))

    def _counts_numbers(self, module: Node) -> bool:
        """Whether a module is a metric that is updated with numbers alone, which are nowhere."""
        given = [one for call in self._updates(module) for one in call.args[1:]]
        return bool(given) and all(self._kinds.of(one) is Kind.NUMBER for one in given)

    def _is_updated_elsewhere(self, module: Node) -> bool:
        """Whether a module is a metric that only others update, who often do so with what they have copied to the
        host: models that are moved beside it say nothing of it."""
        return self._kinds.is_metric(module) and not any(self._updates(module))

    def _updates(self, metric: Node) -> Iterator[Node]:
        if self._kinds.is_metric(metric):
            for node in metric.function.module.of(Op.CALL):
                callee = node.args[0]
                updates = callee.op is Op.ATTR and callee.extra in {"update", "forward"}
                called = callee.args[0] if updates else callee
                if self._kinds.find(called) is self._kinds.find(metric):
                    yield node

    def _belongs(self, module: Node, moved: dict[Node, list[Node]], twins: list[Node]) -> None:
        function = module.function
        if module not in self._graph.sources:
            if not moved and not twins:
                return  # what the function makes is told by itself
            self._births.left_by_calls.add(module)
            self._graph.add(Source(module, HOST, Birth.MODULE, self._links_of_made(module)))
        if moved:
            supports(self._graph, module, moved, "modules")
        elif (near := self._move_beside(module)) is not None:
            self._graph.supports(module, near, "made-beside-moves", near.guard)
        elif (device := self._device_of(function)) is not None and not _holds_others(module):
            self._births.wanted_at(device)
            self._graph.supports(module, device, "made-beside-device", device.guard)
        if twins:
            self._graph.supports(module, twins[-1], "twin-made", twins[-1].guard)

    def _left_on_purpose(self, callees: list[Node]) -> set[Node]:
        """Modules whose results the program moves: `embed(rows).cuda()`. It knows that they are on the host."""
        return {root for one in callees for root in self._births.roots(one)}

    def _move_beside(self, module: Node) -> Node | None:
        """A move of something else to a device in the function of a module."""
        births, own = self._births, set(self._births.moves_of(module))
        moves = (one for one in module.function.nodes if births.is_move(one) and births.is_elsewhere(one))
        return next((one for one in moves if one not in own and not self._is_of_accelerator(one, module)), None)

    def _moved_twins(self) -> dict[object, list[Node]]:
        """The moves of modules, by what makes them."""
        found: dict[object, list[Node]] = defaultdict(list)
        for module, moves in self._births.movers.items():
            if _is_original(module) and self._kinds.is_module(module):
                found[_twin(module)] += [one for one in moves if self._births.is_elsewhere(one)]
        return found

    def _is_of_accelerator(self, moved: Node, module: Node) -> bool:
        """Whether what is moved is made only where there is an accelerator, and the module is not."""
        made = self._births.roots(moved) or {moved}
        return all(is_of_accelerator(one, module, self._graph.host_only) for one in made)

    # Devices at hand

    def _device_of(self, function: Function) -> Node | None:
        """A device that a function declares, or is told, or finds around it, or in its object."""
        around: Function | None = function
        while around is not None:
            for bound, node in around.finals.items():
                if isinstance(bound, str) and self._is_device(bound, node):
                    return node
            around = around.parent
        owner = function.owner
        if owner is None:
            return None
        kept = (one for one in ("device", "_device") if owner.sets(one) and self._is_asked(owner, one))
        return next(map(owner.field_of, kept), None)

    def _is_device(self, bound: str, node: Node) -> bool:
        if "device" not in bound or speaks_of_several(bound) or node in self._births.callees:
            return False
        if not self._is_read(bound, node) or (node.op is Op.PARAM and self._only_loads(node)):
            return False
        place = place_of(node, self._kinds)
        return place is not None and place.where is Where.DEVICE

    def _is_read(self, bound: str, node: Node) -> bool:
        """Whether anything is done with a device: to one where nothing else goes, a module goes alone."""
        return node in self._births.used or any(one.extra == bound for one in self._births.module.of(Op.GLOBAL))

    def _is_asked(self, owner: Class, attribute: str) -> bool:
        """Whether a method of a class reads the device that its object keeps."""
        asked = (one for one in self._births.module.of(Op.ATTR) if one.extra == attribute)
        return any(self._kinds.object_class(one.args[0]) is owner for one in asked)

    def _only_loads(self, device: Node) -> bool:
        """Whether a device only says where to load a state, which the parameters are filled from wherever they are."""
        return all(one.op is Op.CALL and loaded_to(one) is device for one in self._births.module.users.get(device, ()))


def _length(links: tuple[str, ...]) -> float:
    return sum(COSTS[one] for one in links)


def _maker(module: Node) -> object:
    """What makes a module: a class, or a function, under whatever name."""
    if _is_copy(module):
        return _maker(module.args[1])
    callee = module.args[0] if module.op is Op.CALL else module
    return callee.extra if callee.op is Op.CLASS else key(callee)


def _is_original(module: Node) -> bool:
    """Whether a call makes a module: that a copy is moved says nothing of what was copied."""
    return module.op is Op.CALL and not _is_copy(module)


def _is_copy(module: Node) -> bool:
    return module.op is Op.CALL and name(module.args[0]) == DEEPCOPY and len(module.args) == 2


def _twin(module: Node) -> object:
    """What twins share: their class; what other functions give is alike where it gets one name. A copy is a twin."""
    if _is_copy(module):
        return _twin(module.args[1])
    callee = module.args[0] if module.op is Op.CALL else module
    if _is_class(callee):
        return _maker(module)
    target = module.statement.targets[0] if isinstance(module.statement, ast.Assign) else None
    return _maker(module), ast.unparse(target) if target is not None else module


def _known(link: str) -> str:
    return "built-as-moved" if link == "built-by-unknown" else link


def _only_holds_state(module: Node) -> bool:
    """`torch.save(Net().state_dict(), path)`"""
    function = module.function
    users = function.module.users.get(module, ())
    if not users or any(one.op is not Op.ATTR or one.extra not in _OF_STATE for one in users):
        return False
    kept = {store.value for store in function.module.stores}
    kept.update(value for value, _ in function.returns)
    return module not in kept


_OF_STATE = frozenset({"state_dict", "load_state_dict"})


def _holds_others(module: Node) -> bool:
    """`nn.ModuleList(parts)`: where it belongs is for those to say."""
    callee = module.args[0] if module.op is Op.CALL else module
    return any(canonical(one) in rows.CONTAINERS for one in names(callee))


def _is_class(callee: Node) -> bool:
    return callee.op is Op.CLASS or sounds_like_class(callee)


def supports(graph: Graph, member: Node, moved: dict[Node, list[Node]], sort: str) -> None:
    """`member` belongs where the nearest of those that are `moved` goes."""
    nearest = min(moved, key=lambda each: abs(each.index - member.index))
    move = moved[nearest][-1]
    graph.supports(member, move, counted(sort, len(moved)), move.guard)


def is_followed(births: "Births", node: Node, moves: Iterable[Node]) -> bool:
    """`y.to(x.device)`, `y.type_as(x)`: whether others are brought to a value, or to what is computed of it."""
    for move in moves:
        place = births.place_of_move(move)
        by = place.node if place is not None and place.where is Where.FOLLOWS else None
        if by is None and move.op is Op.CALL and move.args[0].extra == "type_as":
            by = move.args[1]
        if by is not None and node in made_of(by):
            return True
    return False
