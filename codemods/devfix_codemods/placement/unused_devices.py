"""Devices that a function knows and forgets: they are told to some of what it makes, or to nothing at all."""

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence, Set
from typing import TYPE_CHECKING

from devfix_codemods.catalogue import Effect, Kind, canonical, effect, method_effect
from devfix_codemods.ir import Function, Node, Op
from devfix_codemods.ir.items import whole
from devfix_codemods.ir.keys import method_name, names
from devfix_codemods.placement.arguments import calls_builtin, has_device, is_optional, makes_parameter, shows
from devfix_codemods.placement.calls import parameters
from devfix_codemods.placement.device_conditions import is_of_accelerator
from devfix_codemods.placement.graph import Birth
from devfix_codemods.placement.joined import Joined
from devfix_codemods.placement.naming import sounds_like_class, sounds_like_model
from devfix_codemods.placement.places import Where, place_of
from devfix_codemods.placement.together import supports

if TYPE_CHECKING:
    from devfix_codemods.placement.births import Births

MOST_STEPS = 20
SEVERAL = 3
"""How many factories of a function must be moved on the spot to say where others belong."""
_INTO = frozenset({Op.OPERATION, Op.PHI, Op.AFTER, Op.ITEM, Op.CALL, Op.ATTR, Op.SEQUENCE})


class UnusedDevices:
    """Says of what the functions of a file make that it belongs on the devices that these know."""

    def __init__(self, births: "Births") -> None:
        self._births = births
        self._graph = births.graph
        self._users = births.module.users
        self._uses = Joined(births)
        self._kept = births.module.kept

    def all(self) -> None:
        self._not_used()
        self._not_all_told()

    def only_unused(self, function: Function) -> Node | None:
        """The one device with which a function does nothing; None where there are more."""
        return _only(one for one in self._all_unused(function) if not is_optional(one))

    def left(self, device: Node, values: list[Node], link: str) -> None:
        """What a function leaves where it is belongs on a device that it does not use."""
        for one in dict.fromkeys(values):
            self._births.beside_moved(one, None, link)
            self._births.wanted_at(device)
            self._graph.supports(one, device, "unused-device", one.guard)

    # Devices with which nothing is done

    def _not_used(self) -> None:
        """One that is given, or gets a name, and with which nothing is done."""
        made: dict[Function, list[Node]] = defaultdict(list)
        for node in self._graph.sources:
            if self._is_made(node) and node not in self._births.exchanged and not self._births.moves_of(node):
                made[node.function].append(node)
        for call, called in self._births.calls.items():
            if call.args[0].op is not Op.CLASS and called.name != "__init__" and self._is_given_module(call):
                made[call.function].append(call)
        for function, values in made.items():
            if (device := self.only_unused(function)) is not None:
                self._forgotten(device, values)
            elif (device := _only(self._all_unused(function))) is not None:
                self._forgotten(device, [one for one in values if self._takes_none(one)])
        for function in self._births.module.functions:
            fed = list(self._fed(function))
            if fed and (device := self.only_unused(function)) is not None:
                self.left(device, fed, "fed-beside-device")

    def _fed(self, function: Function) -> Iterator[Node]:
        """What a loop gives, of which a module computes something, and which nothing moves."""
        births, kinds = self._births, self._births.kinds
        for call in function.nodes:
            if call.op is Op.CALL and len(call.args) > 1 and self._is_given(call.args[0]):
                roots = () if kinds.is_loss(call.args[0]) else births.roots(call.args[1])
                yield from (one for one in roots if whole(one, {Op.ITEM}).op is Op.ITER and not births.moves_of(one))

    def _is_given(self, module: Node) -> bool:
        """Whether a callee is a model that the function is given, or gets from what is not read: it may be anywhere."""
        births, kinds = self._births, self._births.kinds
        named = kinds.of(module) is None and module.op is Op.PARAM and sounds_like_model(str(module.extra))
        known = (one.op is Op.PARAM or self._is_unread(one) for one in births.roots(module))
        return (named or kinds.is_module(module)) and all(known)

    def _is_unread(self, made: Node) -> bool:
        """Whether nobody knows of a module where it is made."""
        links = [one.links for one in self._graph.sources.get(made, ())]
        return made.op is Op.CALL and made not in self._births.calls and links == [("built-by-unknown",)]

    def _is_made(self, node: Node) -> bool:
        """Whether a value is a tensor that is made here, or a module for others, or for an object."""
        if any(one.birth is Birth.MODULE for one in self._graph.sources[node]):
            return node.op is Op.CALL and self._is_for_others(node)
        return self._graph.is_made(node)

    def _is_given_module(self, call: Node) -> bool:
        """Whether a function of this file gives a module, that nothing moves."""
        return self._births.kinds.is_module(call) and not self._births.moves_of(call) and self._is_for_others(call)

    def _is_for_others(self, node: Node) -> bool:
        """Whether a module is no part of another one, and is given to nothing that uses it here."""
        calls = (one for one in self._users.get(node, ()) if one.op is Op.CALL and node in one.args[1:])
        given = not all(self._leaves(node, one) or self._is_wrapped_for_others(one) for one in calls)
        stored = (one.base for one in node.function.stores if one.value is node)
        part = node in self._births.owned or any(one is not node.function.self_node for one in stored)
        return not part and not given

    def _is_wrapped_for_others(self, call: Node) -> bool:
        """`return Predictor(net)`, of a class that is not read: a function that is told a device gives its module in an
        object."""
        known = call in self._births.calls or any(effect(canonical(one)) is not None for one in names(call.args[0]))
        if (
            known
            or not sounds_like_class(call.args[0])
            or not any(map(self._may_be_device, call.function.parameters.values()))
        ):
            return False
        return any(call in (value, *_parts_of(value)) for value, _ in call.function.returns)

    def _leaves(self, value: Node, call: Node) -> bool:
        """Whether a call only shows a value, or runs a function of this file that does not move it."""
        called = self._births.calls.get(call)
        if called is None:
            return shows(call)
        given = parameters(value, call, called)
        return bool(given) and not any(map(self._births.moves_of, given))

    def _all_unused(self, function: Function) -> list[Node]:
        return list(self._unused(function)) if isinstance(function.syntax, _DEFINITIONS) else []

    def _unused(self, function: Function) -> Iterator[Node]:
        """The parameters, and the other names, for a device with which nothing is done but to compare it."""
        for name, one in {**function.parameters, **_names(function)}.items():
            place = place_of(one, self._births.kinds) if one.op is not Op.PARAM else None
            known = self._may_be_device(one) if place is None else place.where in _ELSEWHERE and "devices" not in name
            if "device" in name and known and not self._is_used(one):
                yield one

    def _takes_none(self, made: Node) -> bool:
        """Whether `device=None` changes nothing for what makes a value, and nothing reads that on the host."""
        is_factory = {one.birth for one in self._graph.sources.get(made, ())} == {Birth.FACTORY}
        return is_factory and not self._uses.ends_on_host(made)

    def _may_be_device(self, parameter: Node) -> bool:
        word, kind = str(parameter.extra), self._births.kinds.of(parameter)
        named = (kind in _KINDS and "device" in word) or (kind is Kind.TEXT and word == "device")
        return named and place_of(parameter, self._births.kinds) is not None

    def _is_used(self, device: Node) -> bool:
        """Whether anything is done with a value but to give it its name, be it in a row: `n, device = 3, x.device`."""
        made_of = set(device.args) if device.op is Op.PHI else set[Node]()
        users = {one for part in (device, *made_of) for one in self._users.get(part, ())} - {device}
        place = place_of(device, self._births.kinds)
        is_chosen = device.op is not Op.PARAM and place is not None and place.where is Where.DEVICE
        return device in self._kept or not all(
            one.op is Op.COMPARE or self._only_unpacks(one) or (is_chosen and self._only_shows(one)) for one in users
        )

    def _only_shows(self, user: Node, depth: int = 0) -> bool:
        """`print(device)`, `log.info(f"on {device}")`"""
        if shows(user):
            return True
        is_text = isinstance(user.syntax, ast.JoinedStr) or calls_builtin(user, "str") or method_name(user) == "format"
        users = self._users.get(user, ()) if is_text and depth < MOST_STEPS else ()
        return is_text and user not in self._kept and all(self._only_shows(one, depth + 1) for one in users)

    def _only_unpacks(self, row: Node) -> bool:
        return row.op is Op.SEQUENCE and row not in self._births.used and isinstance(row.statement, ast.Assign)

    def _forgotten(self, device: Node, values: list[Node]) -> None:
        if device.op is Op.PARAM and any(map(self._is_handed_on, values)):
            return  # what it makes is for others to place, and what meets that as well
        place = place_of(device, self._births.kinds)
        for node in values:
            weak = self._is_parameter(node) or is_optional(device)
            link = "unused-beside-parameter" if weak else "unused-device"
            if place is not None and place.where is Where.FOLLOWS and place.node is not None:
                self._graph.supports(node, place.node, link, node.guard)
            else:
                self._births.wanted_at(device)
                self._graph.supports(node, device, link, node.guard)

    def _is_parameter(self, made: Node) -> bool:
        """`nn.Parameter(torch.ones(3))`, which whoever has the module moves with it."""
        return any(map(makes_parameter, self._computed(made, _FILLED)))

    def _is_number(self, node: Node, itself: Set[Node], depth: int = 0) -> bool:
        """Whether a value is computed of numbers, of parameters of which nothing is known, and of parts of `itself`:
        `rows[:, 0] += 1`."""
        if self._births.kinds.of(node) is Kind.NUMBER:
            return True
        if node.op is Op.OPERATION and depth < MOST_STEPS:
            return all(self._is_number(one, itself, depth + 1) for one in node.args)
        if node.op is Op.ITEM and depth > 0 and node.args[0] in itself:
            return True
        return node.op is Op.PARAM and depth > 0 and self._births.kinds.of(node) is None

    def _is_handed_on(self, made: Node) -> bool:
        """Whether a call that is not read gets a value, or what holds it, or tensors are put into it."""
        users = list(self._users.get(made, ()))
        for one in users:  # grows
            if one.op in _HOLDING:
                users += (each for each in self._users.get(one, ()) if each not in users)
        itself = {made, *(one for one in users if one.op in {Op.PHI, Op.AFTER})}
        filled = any(
            store.base in itself and not self._is_number(store.value, itself)
            for store in made.function.stores
            if not store.is_attribute
        )
        return filled or any(
            one.op is Op.CALL
            and one not in self._births.calls
            and not any(effect(canonical(each)) is not None for each in names(one.args[0]))
            and (one.args[0].op is not Op.ATTR or method_effect(str(one.args[0].extra)) is None)
            and one.args[0] is not made
            and not self._is_given(one.args[0])
            and not (self._graph.is_born(made, {Birth.MODULE}) and self._is_wrapped_for_others(one))
            for one in users
        )

    # Devices that some of what is made gets

    def _not_all_told(self) -> None:
        """Factories of one function, some of which are told a device, or several of which are moved on the spot."""
        told: dict[Function, list[Node]] = defaultdict(list)
        bare: dict[Function, list[Node]] = defaultdict(list)
        placed = set(self._placed_again())
        for node, sources in self._graph.sources.items():
            if not any(one.birth is Birth.FACTORY for one in sources) or node in placed:
                continue
            if not (moves := self._births.moves_of(node)):
                bare[node.function].append(node)
            elif moves[0].statement is node.statement:
                told[node.function].append(moves[0])
        told = defaultdict(list, {function: moves for function, moves in told.items() if len(moves) >= SEVERAL})
        for node, place in self._births.moves.items():
            if has_device(node) and self._makes(node) and place.where is not Where.HOST:
                told[node.function].append(node)
        for function, members in bare.items():
            all_told = told.get(function, ())
            joined = self._joined(members) if all_told else set()
            alike: dict[str, list[Node]] = defaultdict(list)
            for one in all_told:
                alike[_making(one)].append(one)
            for one in members if all_told else ():
                beside = [each for each in all_told if not is_of_accelerator(each, one, self._graph.host_only)]
                on_host = self._uses.ends_on_host(one) or self._is_taken_for_host(one)
                goes_on = self._is_taken_along(one) or self._picks(one) or self._is_put_into_moved(one)
                if not beside or one in joined or on_host or goes_on:
                    continue  # moved alone, it would meet the others on the host, where workers read it
                self._left_out(one, beside, [each for each in alike.get(_making(one), ()) if each in beside])

    def _left_out(self, made: Node, told: Sequence[Node], alike: Sequence[Node]) -> None:
        """A factory, beside those that are told a device: one `alike` says as much as many others, and more where both
        are kept by one object."""
        kept = [one for one in alike if _is_kept(one) and _is_kept(made)]
        if alike and not kept:
            self._graph.supports(made, alike[0], "factories-many", alike[0].guard)
        else:
            sort = "twin" if kept else "factories"
            supports(self._graph, made, {one: [one] for one in kept or told}, sort)

    def _joined(self, members: list[Node]) -> set[Node]:
        """Those of several values that one function of torch joins: `torch.cartesian_prod(rows, columns)`."""
        joining: dict[Node, set[Node]] = defaultdict(set)
        for one in members:
            for each in self._computed(one):
                found = names(each.args[0]) if each.op is Op.CALL else ()
                if any(effect(canonical(called)) in _JOINING for called in found):
                    joining[each].add(one)
        return {one for row in joining.values() if len(row) > 1 for one in row}

    def _makes(self, told: Node) -> bool:
        """Whether a call that is told a device makes what it gives, or moves what is made on the spot."""
        made = (self._graph.is_made(one) for one in self._births.roots(told))
        return not self._births.is_move(told) or any(made)

    def _is_taken_along(self, made: Node) -> bool:
        """Whether a value, or what is computed of it, becomes the data of a loader, which reads that on the host, or a
        weight of a module, with which it is moved."""
        kinds, into = self._births.kinds, _INTO | _HOLDING | {Op.ITER}
        computed = self._computed(made, into)
        return any(one.op is Op.CALL and kinds.of(one) in _TAKING_ALONG for one in computed)

    def _is_put_into_moved(self, made: Node) -> bool:
        """`table[:, 0] = torch.sin(steps)`, of a table that is moved when it is full."""
        computed = set(self._computed(made))
        filled = (one.base for one in made.function.stores if not one.is_attribute and one.value in computed)
        return any(self._births.moves_of(root) for one in filled for root in self._births.roots(one))

    def _is_taken_for_host(self, made: Node) -> bool:
        """`torch.FloatTensor(torch.ones(3))`: a legacy constructor takes no tensor of a device."""
        calls = (one for one in self._users.get(made, ()) if one.op is Op.CALL and made in one.args[1:2])
        return any(effect(canonical(each)) is Effect.HOST for call in calls for each in names(call.args[0]))

    def _picks(self, made: Node) -> bool:
        """Whether a value, or what is computed of it, picks from another one what is moved then.

        What `kept[rows].to(device)` picks from was on the host, and so has to be what picks from it.
        """
        users = ((one, user) for one in self._computed(made) for user in self._users.get(one, ()))
        picked = (user for one, user in users if user.op is Op.ITEM and user.args[0] is not one)
        return any(map(self._births.moves_of, picked))

    def _placed_again(self) -> Iterator[Node]:
        """What factories get that are told a device: `torch.as_tensor(rows, device=device)`."""
        for node in self._births.moves:
            if node.op is Op.CALL and has_device(node):
                for one in node.args[1:2]:
                    yield from self._births.roots(one)

    def _computed(self, made: Node, into: Set[Op] = _INTO) -> Iterator[Node]:
        """A value, and what is computed of it, as far as a few steps lead."""
        pending = [made]
        for one in pending:  # grows
            yield one
            if len(pending) < MOST_STEPS:
                pending += (each for each in self._users.get(one, ()) if each.op in into and each not in pending)


_TAKING_ALONG = frozenset({Kind.DATASET, Kind.LOADER, Kind.MODULE})


def _making(made: Node) -> str:
    """What makes a value, and of what, whatever it is told of devices: two of one name differ in nothing else."""
    call = made.syntax
    if not isinstance(call, ast.Call):
        return ""
    given = sorted(ast.dump(one) for one in call.keywords if one.arg != "device")
    return " ".join([ast.dump(call.func), *map(ast.dump, call.args), *given])


def _is_kept(made: Node) -> bool:
    """`self.count = torch.tensor(0.0)`"""
    match made.statement:
        case ast.Assign(targets=[ast.Attribute()], value=value):
            return value is made.syntax
    return False


def _only(devices: Iterable[Node]) -> Node | None:
    found = list(devices)
    return found[0] if len(found) == 1 else None


def _parts_of(value: Node) -> tuple[Node, ...]:
    return value.args if value.op is Op.SEQUENCE else ()


def _names(function: Function) -> dict[str, Node]:
    """What the names of a function mean at its end, as far as it gave them that meaning."""
    return {name: one for name, one in function.finals.items() if isinstance(name, str) and one.function is function}


_FILLED = frozenset({Op.ATTR, Op.CALL, Op.OPERATION})
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_ELSEWHERE = frozenset({Where.DEVICE, Where.FOLLOWS})
_HOLDING = frozenset({Op.PHI, Op.AFTER, Op.SEQUENCE, Op.MAPPING, Op.COMPREHENSION})
_KINDS = frozenset({None, Kind.DEVICE, Kind.NUMBER})
_JOINING = frozenset({Effect.SEQUENCE, Effect.MEET})
