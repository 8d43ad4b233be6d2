"""Modules: how they are built, called, taken apart, and what they do to what they hold."""

import ast

from devfix_codemods.flow import tables
from devfix_codemods.flow.evidence import dotted
from devfix_codemods.flow.expressions import derived, sequence
from devfix_codemods.flow.facts import Meeting, Operand
from devfix_codemods.flow.library import is_metric_api
from devfix_codemods.flow.machine import Arguments
from devfix_codemods.flow.moves import Moves, place_of_type
from devfix_codemods.flow.places import ANYWHERE, HOST, UNKNOWN, Place, Symbol, may_be_device
from devfix_codemods.flow.records import replace
from devfix_codemods.flow.state import State
from devfix_codemods.flow.values import (
    NONE,
    NOTHING,
    STRING,
    Birth,
    Kind,
    Object,
    Origin,
    Value,
)


class Modules(Moves):
    """Evaluates the construction and the methods of modules."""

    def new_module(
        self, node: ast.AST, place: Place, state: State, attributes: dict[str, Value] | None = None
    ) -> Value:
        token = self.new_token(node)
        origin = Origin(Birth.MODULE, node)
        state.objects[token] = Object(place, born=origin, attributes=attributes or {})
        return Value(Kind.MODULE, place, origin, token=token)

    def unread_module(self, node: ast.Call, arguments: Arguments, state: State) -> Value:
        """A module of a class that cannot be read: on the host, unless it is given what lives somewhere."""
        given = any(value.kind in {Kind.MODULE, Kind.TENSOR, Kind.INSTANCE} for _, value in arguments.all())
        place = UNKNOWN if given or state.default is not None else HOST
        built = self.new_module(node, place, state)
        return replace(built, origin=Origin(Birth.INSTANCE, node))

    def _torch_module(self, node: ast.Call, name: str, arguments: Arguments, state: State) -> Value:
        if "device" in arguments.keywords:
            return self.new_module(node, self.device_of(*arguments.keywords["device"], state), state)
        children = {str(index): value for index, (_, value) in enumerate(arguments.all()) if value.kind is Kind.MODULE}
        if _is_loss(name):
            return self._loss_module(node, name, arguments, state)
        if name in tables.PARAMETERLESS_MODULES:
            return replace(self.new_module(node, ANYWHERE, state), qualified=name)
        if name in tables.CONTAINER_MODULES:
            return self._container(node, arguments, children, state)
        if any(one.startswith("**") for one in arguments.keywords):
            return self.new_module(node, UNKNOWN, state)
        place = state.default if state.default is not None else HOST
        return replace(self.new_module(node, place, state), qualified=name)

    def _loss_module(self, node: ast.Call, name: str, arguments: Arguments, state: State) -> Value:
        """A loss lives where the weights are that it was given, and anywhere without them."""
        first = {"weight": 0} if name in tables.WEIGHTED_LOSSES else {}
        given = {one: arguments.get(first.get(one, 9), one) for one in ("weight", "pos_weight")}
        held = {one: pair[1] for one, pair in given.items() if pair is not None and pair[1].kind is Kind.TENSOR}
        places = {value.place for value in held.values() if not value.scalar}
        place = HOST if HOST in places else places.pop() if len(places) == 1 else ANYWHERE
        return replace(self.new_module(node, place, state, held), qualified=name)

    def _container(self, node: ast.Call, arguments: Arguments, children: dict[str, Value], state: State) -> Value:
        """A container lives where its parts live."""
        parts = [value for _, value in arguments.all() if value.kind is not Kind.MODULE]
        for value in list(parts):
            if value.kind in {Kind.SEQUENCE, Kind.MAPPING} and value.element is not None:
                items = {f"*{key}": one for key, one in value.items or ()}
                children.update(items or {"*": value.element})
                parts.remove(value)
        places = {state.place_of(one) for one in children.values()}
        needed = places - {ANYWHERE} or {ANYWHERE}
        known = len(needed) == 1 and not parts and bool(children)
        container = self.new_module(node, needed.pop() if known else UNKNOWN, state, children)
        return replace(container, qualified="torch.nn.Module") if known and places == {ANYWHERE} else container

    def _metric(self, node: ast.Call, name: str, arguments: Arguments, state: State) -> Value:
        """A metric of torchmetrics accumulates on the host; a collection lives where its metrics live."""
        children = {str(index): value for index, (_, value) in enumerate(arguments.all()) if value.kind is Kind.MODULE}
        if name.endswith("MetricCollection"):
            return replace(self._container(node, arguments, children, state), qualified=name)
        lists = any(word in name.rpartition(".")[2] for word in tables.METRICS_OF_LISTS)
        place = UNKNOWN if lists or children or state.default is not None else HOST
        return replace(self.new_module(node, place, state), qualified=name)

    def _copy(self, node: ast.Call, arguments: Arguments, state: State) -> Value:
        first = arguments.first
        if first.kind is not Kind.MODULE and (first.token is None or first.kind is not Kind.UNKNOWN):
            return first
        token = self.new_token(node)
        place = state.place_of(first)
        if place == UNKNOWN and first.token:
            place = Symbol(first.token)
        known = state.objects.get(first.token or "", Object())
        state.objects[token] = replace(known, place=place, moved=None, attributes={})
        return Value(first.kind, place, first.origin, token=token)

    def _module_call(
        self, node: ast.Call, callee_node: ast.expr, callee: Value, arguments: Arguments, state: State
    ) -> Value:
        """`model(x, …)`: parameters and arguments meet."""
        known = state.objects.get(callee.token or "")
        managed = known is not None and known.managed
        if known is not None and isinstance(known.born, Origin) and callee.definition is None:
            self.facts.tensors.update(value.token for _, value in arguments.all()[:1] if value.token)
        operands = [Operand(callee_node, callee, self.place_of_module(callee, state), "module")]
        for expression, value in self._meeting_arguments(callee, arguments):
            operands.extend(self._argument(callee, expression, value, state))
        self.infer(operands[0], operands[1:])
        self._note_followers(node, operands, state)
        if managed:
            return Value(place=UNKNOWN, origin=Origin(Birth.OPERATION, node))
        place = self.meet(node, f"`{dotted(callee_node) or 'the module'}`", operands, state)
        if isinstance(callee.definition, ast.ClassDef) and self.gives_host(callee.definition):
            return Value(place=UNKNOWN, origin=Origin(Birth.OPERATION, node))
        if _is_unread(callee):
            return Value(place=place if may_be_device(place) else UNKNOWN, origin=Origin(Birth.OPERATION, node))
        if not may_be_device(place) and operands[0].place not in {HOST, ANYWHERE}:
            with_module = operands[0].place if isinstance(operands[0].place, Symbol) else UNKNOWN
            return Value(place=with_module, origin=Origin(Birth.OPERATION, node))
        result = replace(derived(node, place, operands[1:]), kind=Kind.UNKNOWN)
        return result if operands[0].place == ANYWHERE else replace(result, sources=())

    def _meeting_arguments(self, callee: Value, arguments: Arguments) -> list[tuple[ast.expr, Value]]:
        """The arguments that a module needs where it is: not those that its `forward` places itself, nor lengths."""
        if callee.qualified == "torch.nn.CTCLoss":
            return arguments.positional[:2]
        own = self.placed_by_forward(callee)
        if not own:
            return arguments.all()
        named = [(str(index), *one) for index, one in enumerate(arguments.positional)]
        named += [(name, *one) for name, one in arguments.keywords.items()]
        return [(expression, value) for name, expression, value in named if name not in own]

    def _note_followers(self, node: ast.Call, operands: list[Operand], state: State) -> None:
        """Host encodings that a model of unknown place gets."""
        model = operands[0]
        if model.place == HOST or may_be_device(model.place) or self.is_meant_to_fail(node):
            return
        for one in operands[1:]:
            origin = one.value.origin
            if one.place == HOST and origin is not None and origin.birth is Birth.ENCODING:
                devices = self.device_names(state)
                fact = Meeting(node, "the model call", one, model, tuple(operands), None, devices, self.frame.context)
                self.facts.followers.append(fact)

    def _argument(self, callee: Value, node: ast.expr, value: Value, state: State) -> list[Operand]:
        """One argument; of the states that a recurrent module gets in a tuple, each by itself."""
        if callee.qualified not in tables.RECURRENT_MODULES or value.kind is not Kind.SEQUENCE:
            return [Operand(node, value, self._argument_place(value, state))]
        if isinstance(node, ast.Tuple) and value.items is not None and len(node.elts) == len(value.items):
            return [Operand(one, held, state.place_of(held), "state") for one, (_, held) in zip(node.elts, value.items)]
        held = value.element if value.element is not None else value
        return [Operand(node, held, state.place_of(held), "state")]

    def _argument_place(self, value: Value, state: State) -> Place:
        """Where an argument lives; a sequence or mapping lives where its elements do."""
        if value.kind in {Kind.SEQUENCE, Kind.MAPPING} and value.element is not None and value.batch is None:
            return state.place_of(value.element)
        return state.place_of(value)

    def _module_method(
        self, node: ast.Call, function: ast.Attribute, base: Value, arguments: Arguments, state: State
    ) -> Value:
        name = function.attr
        metric = is_metric_api(base.qualified or "")
        if name in {"generate", "forward", "__call__"} or (metric and name == "update"):
            return self._module_call(node, function.value, base, arguments, state)
        if name == "type" and (place := place_of_type(arguments)) is not None:
            return self._move_object(node, base, place, state)
        if name in tables.MODULE_METHODS_RETURNING_SELF or (metric and name in {"clone", "reset"}):
            return base
        if name in {"add_module", "append", "insert", "extend"} and arguments.positional:
            added = arguments.positional[-1][1]
            self.attach(node, base, added, state)
            return base
        if name in {"register_buffer", "register_parameter"}:
            _register(base, arguments, state)
        if name in {"load_state_dict", "zero_grad", "register_buffer", "register_parameter"}:
            return NONE
        held = _contents(name, base, state.place_of(base))
        if held is not None:
            return held
        if any(value.kind is Kind.MODULE for _, value in arguments.all()):
            return self.unknown_call(node, arguments, state)
        if _is_unread(base) and base.token is not None and name not in tables.MODULE_EVIDENCE_METHODS:
            state.relocate(base.token, UNKNOWN)  # its own method may move it
        return NOTHING


def _is_unread(value: Value) -> bool:
    return value.origin is not None and value.origin.birth is Birth.INSTANCE


_CARRIED = "torch.nn.Parameter"
"""Of buffers too: a branch may leave either under one name."""


def _register(base: Value, arguments: Arguments, state: State) -> None:
    """Remember a buffer or parameter: from now on the module carries what is assigned to its name."""
    given = arguments.get(1, "tensor") or arguments.get(1, "param")
    name = arguments.first.const if arguments.positional else None
    if base.token is not None and isinstance(name, str) and given is not None:
        value = replace(given[1], kind=Kind.TENSOR, qualified=_CARRIED, token=None, sources=())
        state.set_attribute(base.token, name, value)


def _contents(name: str, base: Value, place: Place) -> Value | None:
    """What the methods give that list a module's parts: all of it lives where the module does."""
    if name in tables.PARAMETER_ITERATORS:
        return Value(Kind.SEQUENCE, element=_parameter(base, place))
    if name in tables.NAMED_PARAMETER_ITERATORS:
        return Value(Kind.SEQUENCE, element=sequence([STRING, _parameter(base, place)]))
    if name == "state_dict":
        return Value(Kind.MAPPING, element=_parameter(base, place))
    if name in {"modules", "children"}:
        return Value(Kind.SEQUENCE, element=Value(Kind.MODULE, place))
    if name in {"named_modules", "named_children"}:
        return Value(Kind.SEQUENCE, element=sequence([STRING, Value(Kind.MODULE, place)]))
    return None


def _parameter(base: Value, place: Place) -> Value:
    known = place if place != UNKNOWN else Symbol(base.token) if base.token else UNKNOWN
    return Value(Kind.TENSOR, known, receiver=base)


def _is_loss(name: str) -> bool:
    return name.endswith("Loss")
