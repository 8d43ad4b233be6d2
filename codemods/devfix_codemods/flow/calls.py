"""Calls: who is called decides; what cannot be followed may change what it is given."""

import ast

from devfix_codemods.flow import tables
from devfix_codemods.flow.evidence import dotted
from devfix_codemods.flow.expressions import derived, sequence
from devfix_codemods.flow.facts import Operand
from devfix_codemods.flow.library import returns_tensors
from devfix_codemods.flow.losses import differentiated_as, is_called_loss, is_own_loss
from devfix_codemods.flow.machine import Arguments, is_moved, is_of_call
from devfix_codemods.flow.moves import place_of_type
from devfix_codemods.flow.places import HOST, UNKNOWN, Device, Place, Symbol, may_be_device
from devfix_codemods.flow.readouts import Readouts
from devfix_codemods.flow.records import replace
from devfix_codemods.flow.state import State
from devfix_codemods.flow.unread import is_unread_module
from devfix_codemods.flow.values import (
    NONE,
    NOTHING,
    NUMBER,
    STRING,
    Birth,
    Kind,
    Origin,
    Value,
    tensor,
    with_dimensions,
)

PLACELESS_RESULTS = frozenset(
    {"len", "int", "float", "str", "bool", "isinstance", "hasattr", "print", "range", "id", "type", "repr", "round"}
)
PASS_THROUGH = frozenset({"iter", "list", "tuple", "sorted", "reversed", "set"})


class Calls(Readouts):
    """Evaluates calls."""

    def call(self, node: ast.Call, state: State) -> Value:
        function = node.func
        if isinstance(function, ast.Attribute) and not self._is_api_call(function, state):
            base = self.evaluate(function.value, state)
            arguments = self._arguments(node, state)
            if function.attr == "generate" and base.kind is Kind.UNKNOWN and _gets_encoding(arguments):
                base = replace(base, kind=Kind.MODULE)
            self.note_method_readout(node, function, base, arguments, state)
            return self._method(node, function, base, arguments, state)
        callee = self.evaluate(function, state)
        arguments = self._arguments(node, state)
        return self.apply(node, callee, arguments, state)

    def _is_api_call(self, function: ast.Attribute, state: State) -> bool:
        if not self._is_import(function, state):
            return False
        if self.imported(function.value, state) is not None:
            return False
        return self.api(function) is not None or self.imported(function, state) is not None

    def apply(self, node: ast.Call, callee: Value, arguments: Arguments, state: State) -> Value:
        """Call a value."""
        if returns_tensors(node):
            return self._encode(node, "__call__", arguments)
        if callee.kind is Kind.API and callee.qualified:
            self.note_api_readout(node, callee.qualified, arguments, state)
            return self._api_call(node, callee.qualified, arguments, state)
        if callee.kind is Kind.FUNCTION and callee.definition is not None:
            return self.follow(callee.definition, node, arguments, state, callee.receiver)
        if callee.kind is Kind.CLASS and isinstance(callee.definition, ast.ClassDef):
            return self.instantiate(callee.definition, node, arguments, state)
        if callee.kind is Kind.MODULE:
            return self._module_call(node, node.func, callee, arguments, state)
        if callee.kind is Kind.TOKENIZER:
            return self._encode(node, "__call__", arguments)
        if self._is_loss_by_use(node):
            return self._module_call(node, node.func, callee, arguments, state)
        if _may_be_moved_module(callee) and not tables.PLACES_ITS_INPUTS.search(dotted(node.func) or ""):
            return self._module_call(node, node.func, replace(callee, kind=Kind.MODULE), arguments, state)
        if isinstance(node.func, ast.Name) and callee.token == f"name#{node.func.id}":
            return self._builtin(node, node.func.id, arguments, state)
        return self.unknown_call(node, arguments, state)

    def _arguments(self, node: ast.Call, state: State) -> Arguments:
        positional = [(one, self.evaluate(one, state)) for one in node.args]
        keywords: dict[str, tuple[ast.expr, Value]] = {}
        for keyword in node.keywords:
            name = keyword.arg or f"**{len(keywords)}"
            keywords[name] = (keyword.value, self.evaluate(keyword.value, state))
        starred = any(isinstance(one, ast.Starred) for one in node.args)
        return Arguments(positional, keywords, starred)

    def _is_loss_by_use(self, node: ast.Call) -> bool:
        """`loss = f(…)` with `loss.backward()` in the same function: the arguments meet.

        So they do in `loss = (loss_fn(…) * w).mean()`, in each of several branches.
        So they do in `f(…).item()` where another function of the file differentiates what `f` gives.
        """
        parent = self.names.parent(node)
        if isinstance(parent, ast.Attribute):
            return parent.attr == "backward" or (parent.attr == "item" and self._is_criterion(node.func))
        if is_called_loss(node) and differentiated_as(self.names, node, self.frame.evidence) is not None:
            return True
        if (
            not isinstance(parent, ast.Assign)
            or len(parent.targets) != 1
            or not isinstance(parent.targets[0], ast.Name)
        ):
            return False
        name, own = parent.targets[0].id, self.frame.evidence
        is_loss = name in own.losses or (name in own.numbers and self._is_criterion(node.func))
        return is_loss and own.bindings.get(name) == 1

    def _is_criterion(self, function: ast.expr) -> bool:
        """Whether the file differentiates what a function of this name gives: of `self`, in the same class."""
        text, owner = dotted(function), self.frame.context.owner
        if text is None:
            return False
        known = self.evidence(owner) if owner is not None and text.startswith("self.") else self.module_frame.evidence
        return text in known.criteria

    def _builtin(self, node: ast.Call, name: str, arguments: Arguments, state: State) -> Value:
        first = arguments.first
        if name in PLACELESS_RESULTS:
            return STRING if name in {"str", "repr"} else NUMBER
        if name == "list" and not arguments.all():
            return sequence([])
        if name in PASS_THROUGH:
            return replace(first, origin=first.origin) if first.kind is not Kind.TENSOR else NOTHING
        if name == "next":
            return self.elements(first, node, self.frame.statement)
        if name == "enumerate":
            return Value(Kind.SEQUENCE, element=sequence([NUMBER, self._element_of(arguments.positional[:1], node)]))
        if name == "zip":
            return Value(
                Kind.SEQUENCE, element=sequence([self._element_of([one], node) for one in arguments.positional])
            )
        if name == "dict":
            pair = self._element_of(arguments.positional[:1], node)
            held = pair.item(1) if pair.kind is Kind.SEQUENCE else None
            return Value(Kind.MAPPING, element=held) if held is not None else first
        if name == "super":
            return state.env.get("self", NOTHING)
        if name in {"getattr", "vars"}:
            self.disturb_parts(first, state)
            return NOTHING
        return self.unknown_call(node, arguments, state)

    def _element_of(self, arguments: list[tuple[ast.expr, Value]], node: ast.Call) -> Value:
        """What iterating over the first argument yields, for `enumerate` and `zip` at the head of a loop."""
        if not arguments:
            return NOTHING
        expression, value = arguments[0]
        loop = self.frame.statement
        at_head = isinstance(loop, (ast.For, ast.AsyncFor)) and loop.iter.lineno <= node.lineno <= _last_line(loop.iter)
        return self.elements(value, expression, loop if at_head else None)

    def unknown_call(self, node: ast.Call, arguments: Arguments, state: State) -> Value:
        """Something that cannot be followed: what is handed over may be changed by it."""
        with_device = any(_may_name_device(expression, value) for expression, value in arguments.all())
        for expression, value in arguments.all():
            self._hand_over(expression, value, state, with_device)
        if is_unread_module(self.names, node, self.frame.evidence) and not with_device:
            return self.unread_module(node, arguments, state)
        token = self.new_token(node).replace("new", "call", 1)
        place = _with_tensors(arguments)
        return Value(place=place, token=token, computed=with_device, of_host=place == UNKNOWN and _has_host(arguments))

    def _hand_over(self, expression: ast.expr, value: Value, state: State, with_device: bool) -> None:
        """A host module that unknown code gets may be moved there.

        With a device at hand, the same holds for encodings and whole batches, which can be moved in place.
        """
        in_place = value.kind in {Kind.ENCODING, Kind.MAPPING, Kind.SEQUENCE} or value.batch is not None
        if with_device and in_place and value.kind is not Kind.TENSOR and isinstance(expression, ast.Name):
            state.env[expression.id] = replace(value, place=UNKNOWN, batch=None, items=None, element=None)
        if value.kind is not Kind.MODULE or value.token is None or value.token not in state.objects:
            return
        known = state.objects[value.token]
        if known.place == HOST:
            state.relocate(value.token, UNKNOWN)

    def _encode(self, node: ast.Call, method: str, arguments: Arguments) -> Value:
        if not returns_tensors(node):
            return NOTHING
        kind = Kind.TENSOR if method in tables.TENSOR_TOKENIZER_METHODS else Kind.ENCODING
        flag = arguments.keywords.get("return_dict")
        if method == "apply_chat_template":
            kind = Kind.ENCODING if flag is not None and flag[1].const is True else Kind.UNKNOWN
        return Value(kind, HOST, Origin(Birth.ENCODING, node))

    def _method(
        self, node: ast.Call, function: ast.Attribute, base: Value, arguments: Arguments, state: State
    ) -> Value:
        name = function.attr
        if returns_tensors(node):
            return self._encode(node, name, arguments)
        own = self.method_of(base, name)
        if own is None and name in {"to", "cuda", "cpu", "to_empty"} and base.kind not in {Kind.API, Kind.CLASS}:
            return self._move(node, function, base, arguments, state)
        held = state.attribute(base.token, name) if base.token is not None else None
        if held is not None or (own is None and is_own_loss(node) and self._is_loss_by_use(node)):
            return self.apply(node, held or NOTHING, arguments, state)
        if own is not None:
            result = self.follow(own, node, arguments, state, base)
            if name in {"to", "cuda", "cpu"}:
                state.disturb(base)
            return result
        if name == "from_pretrained" and base.kind is Kind.API and base.qualified:
            return self._api_call(node, f"{base.qualified}.{name}", arguments, state)
        match base.kind:
            case Kind.API:
                return self._api_call(node, f"{base.qualified}.{name}", arguments, state)
            case Kind.MODULE:
                return self._module_method(node, function, base, arguments, state)
            case Kind.TOKENIZER:
                return self._encode(node, name, arguments)
            case Kind.SEQUENCE | Kind.MAPPING:
                return self._container_method(node, function, base, arguments, state)
            case Kind.STRING | Kind.NUMBER | Kind.NONE | Kind.GENERATOR:
                return base if name == "manual_seed" else NOTHING
        return self._tensor_method(node, function, base, arguments, state)

    def _tensor_method(
        self, node: ast.Call, function: ast.Attribute, base: Value, arguments: Arguments, state: State
    ) -> Value:
        name = function.attr
        if (placed := self._placed(node, name, base, arguments, state)) is not None:
            return placed
        if base.kind is Kind.UNKNOWN and (text := dotted(function)) and text in self.module_evidence():
            return self._module_call(node, function, replace(base, kind=Kind.MODULE), arguments, state)
        if name in {"append", "insert"} and arguments.positional and arguments.positional[-1][1].kind is Kind.MODULE:
            self.attach(node, base, arguments.positional[-1][1], state)
            return NONE
        self._note_use(node, function, base, arguments, state)
        update = self._is_update(node, function, base, arguments)
        if name in tables.TENSOR_SHAPE_METHODS or name == "numpy":
            return Value(Kind.ARRAY) if name == "numpy" else NUMBER
        if name in tables.NEW_METHODS and base.kind is Kind.TENSOR:
            return replace(tensor(base.place, Origin(Birth.FACTORY, node)), sources=base.sources)
        bare = name.rstrip("_")
        if bare in tables.TENSOR_METHODS_ONE_PLACE and base.kind in {Kind.TENSOR, Kind.UNKNOWN}:
            return self._tensor_operation(node, function, base, arguments, update, state)
        if name in {"items", "values", "keys"} and base.kind in {Kind.UNKNOWN, Kind.ENCODING}:
            return self._pairs(name, base, node)
        if name == "get" and base.batch is not None:
            return NOTHING  # it may be missing
        with_device = any(_may_name_device(expression, value) for expression, value in arguments.all())
        if with_device and base.kind is Kind.UNKNOWN and isinstance(function.value, ast.Name):
            state.env[function.value.id] = NOTHING  # it may move in place
            return NOTHING
        if base.kind is Kind.TENSOR or (base.place != UNKNOWN and base.kind is Kind.UNKNOWN) or base.batch is not None:
            kind = Kind.TENSOR if name in tables.TENSOR_EVIDENCE_METHODS else base.kind
            alone = name in tables.REDUCTIONS or (name == "squeeze" and _has_one_element(base))
            scalar = base.scalar or (alone and bool(base.sources) and not node.args and not node.keywords)
            scalar = scalar and not (name in _WITH_DIMENSIONS and bool(node.args))
            origin = _origin_of_part(base, node)
            return replace(
                base, kind=kind, origin=origin, token=None, const=None, items=None, computed=True, scalar=scalar
            )
        if base.kind is Kind.ENCODING:
            return NOTHING
        return self._unknown_method(node, name, arguments, state)

    def _unknown_method(self, node: ast.Call, name: str, arguments: Arguments, state: State) -> Value:
        result = self.unknown_call(node, arguments, state)
        if name in tables.TENSOR_ONLY_METHODS:
            return Value(Kind.TENSOR, result.place, Origin(Birth.OPERATION, node))
        return result

    def _note_use(
        self, node: ast.Call, function: ast.Attribute, base: Value, arguments: Arguments, state: State
    ) -> None:
        """A gradient, `y.backward(gradient)`, must be where its tensor is."""
        gradient = arguments.get(0, "gradient") if function.attr == "backward" else None
        if gradient is not None and gradient[1].sources and not gradient[1].scalar:
            given = Operand(*gradient, gradient[1].place)
            output = Operand(function.value, base, state.place_of(base), "self")
            self.meet(node, "`.backward`", [output, given], state, demands=1)

    def _placed(self, node: ast.Call, name: str, base: Value, arguments: Arguments, state: State) -> Value | None:
        """What a method puts somewhere: `x.npu()`, `x.new_zeros(3, device=d)`, a change of type, a sample."""
        if name in {"type", "type_as"}:
            return self._retyped(node, name, base, arguments, state)
        if name in tables.SAMPLING and tables.is_distribution(base.qualified or ""):
            return self.sample(node, base, arguments, state)
        if name in tables.DENSITIES and base.sources and tables.is_distribution(base.qualified or ""):
            self.density(node, base, arguments, state)
        if base.kind is not Kind.TENSOR:
            return None
        if name in tables.ACCELERATOR_MOVES:
            return replace(base, place=Device(name), origin=Origin(Birth.MOVE, node), token=None, sources=())
        if name in tables.NEW_METHODS and "device" in arguments.keywords:
            return tensor(self.device_of(*arguments.keywords["device"], state), Origin(Birth.FACTORY, node))
        return None

    def _retyped(self, node: ast.Call, name: str, base: Value, arguments: Arguments, state: State) -> Value | None:
        """`x.type_as(y)`, `x.type(torch.cuda.FloatTensor)`: a type may also be a place."""
        if node in self.undone:
            return self.left_on_host(node, state)
        if name == "type_as" and base.kind is Kind.TENSOR:
            other = arguments.first
            return replace(tensor(state.place_of(other), Origin(Birth.MOVE, node)), sources=other.sources)
        if name == "type_as":
            return None
        if name == "type" and not node.args and not node.keywords and base.kind is Kind.TENSOR:
            return Value(Kind.STRING)
        place = place_of_type(arguments) if base.kind is Kind.TENSOR or base.batch is not None else None
        if place == HOST and base.kind is not Kind.TENSOR:
            return None  # what a loader gives is there already
        return replace(base, place=place, origin=Origin(Birth.MOVE, node), sources=()) if place is not None else None

    def _tensor_operation(
        self,
        node: ast.Call,
        function: ast.Attribute,
        base: Value,
        arguments: Arguments,
        update: bool,
        state: State,
    ) -> Value:
        operands = [Operand(function.value, base, state.place_of(base), "self")]
        shaped = function.attr in tables.MATRIX_PRODUCTS
        for expression, one in arguments.all():
            value = with_dimensions(one) if shaped else one
            if not value.scalar:
                operands.append(Operand(expression, value, state.place_of(value)))
        if base.kind is Kind.UNKNOWN and not may_be_device(operands[0].place):
            if function.attr in tables.TENSOR_ONLY_METHODS and not update:
                operands[0] = replace(operands[0], value=replace(base, kind=Kind.TENSOR))
                self.meet(node, f"`.{function.attr}`", operands, state)
            return replace(base, token=None, origin=_origin_of_part(base, node))
        place = operands[0].place if update else self.meet(node, f"`.{function.attr}`", operands, state)
        plain = all(value.scalar or value.kind is Kind.NUMBER for _, value in arguments.all())
        return replace(derived(node, place, operands), scalar=base.scalar and plain)

    def _pairs(self, name: str, base: Value, node: ast.Call) -> Value:
        if base.kind is Kind.ENCODING or base.batch is not None:
            one = Value(Kind.UNKNOWN, base.place, base.origin, batch=base.batch)
        else:
            one = Value(place=base.place)
        key = Value(Kind.STRING)
        return Value(
            Kind.SEQUENCE, element=sequence([key, one]) if name == "items" else one if name == "values" else key
        )

    def _container_method(
        self, node: ast.Call, function: ast.Attribute, base: Value, arguments: Arguments, state: State
    ) -> Value:
        name = function.attr
        if name in {"append", "add", "extend", "insert", "update"}:
            self._grow(function, base, arguments, state)
            return NONE
        if name in {"items", "values", "keys"}:
            one = base.element or NOTHING
            element = sequence([STRING, one]) if name == "items" else one if name == "values" else STRING
            return Value(Kind.SEQUENCE, element=element)
        if name in {"get", "pop"} and base.element is not None:
            return base.element
        return NOTHING

    def _grow(self, function: ast.Attribute, base: Value, arguments: Arguments, state: State) -> None:
        """`xs.append(x)`: any element may now be what came in."""
        if not isinstance(function.value, ast.Name) or function.value.id not in state.env:
            return
        added = arguments.positional[-1][1] if arguments.positional else NOTHING
        if function.attr == "extend":
            added = self.elements(added, function, None)
        known = base.element
        element = added if known is None else known if known == added else replace(added, place=UNKNOWN, batch=None)
        state.env[function.value.id] = Value(Kind.SEQUENCE, element=element)


_WITH_DIMENSIONS = frozenset({"view", "reshape", "unsqueeze", "expand", "repeat", "tile"})
"""Methods of which the result has a dimension, also of a 0-dim tensor."""


def _has_one_element(value: Value) -> bool:
    """`torch.rand(1)`, and what was computed of such ones."""
    sizes = [one.args[0].value for one in value.sources if len(one.args) == 1 and isinstance(one.args[0], ast.Constant)]
    return bool(sizes) and len(sizes) == len(value.sources) and all(size == 1 for size in sizes)


def _may_be_moved_module(callee: Value) -> bool:
    """Whether something unknown was moved: what can be called as well is a module."""
    return callee.kind is Kind.UNKNOWN and is_moved(callee)


def _origin_of_part(base: Value, node: ast.Call) -> Origin | None:
    """Where the result of a method was born: what unknown code computed has no birth of its own."""
    return Origin(Birth.OPERATION, node) if is_of_call(base) else base.origin


def _with_tensors(arguments: Arguments) -> Place:
    """What a call computes from tensors lives with them, wherever their owner put them."""
    for _, value in arguments.all():
        own = isinstance(value.place, Symbol) and not value.place.chosen and value.batch is None and not value.sources
        if value.kind is Kind.TENSOR and own:
            return value.place
    return UNKNOWN


def _has_host(arguments: Arguments) -> bool:
    """Whether a call gets a tensor that is on the host, or may be."""
    return any(value.kind is Kind.TENSOR and (value.place == HOST or value.of_host) for _, value in arguments.all())


def _may_name_device(expression: ast.expr, value: Value) -> bool:
    text = (dotted(expression) or "").rpartition(".")[2].lower()
    return value.kind is Kind.DEVICE or may_be_device(value.denotes) or "device" in text


def _gets_encoding(arguments: Arguments) -> bool:
    origins = [value.origin for _, value in arguments.all()]
    return any(one is not None and one.birth is Birth.ENCODING for one in origins)


def _last_line(node: ast.expr) -> int:
    return node.end_lineno or node.lineno
