"""Values of calls: the torch API, methods of tensors and modules, moves, functions and classes of the same file."""

import ast
from dataclasses import dataclass, replace

from devfix_codemods.flow import tables
from devfix_codemods.flow.evidence import dotted
from devfix_codemods.flow.expressions import Expressions, derived, device_constant, sequence
from devfix_codemods.flow.facts import Attachment, Meeting, Move, Operand, Update
from devfix_codemods.flow.places import ANYWHERE, HOST, UNKNOWN, Device, Place, Symbol, choice, may_be_device
from devfix_codemods.flow.state import State
from devfix_codemods.flow.values import (
    NONE,
    NOTHING,
    NUMBER,
    PLACELESS,
    STRING,
    Birth,
    Kind,
    Object,
    Origin,
    Value,
    tensor,
)

PLACELESS_RESULTS = frozenset(
    {"len", "int", "float", "str", "bool", "isinstance", "hasattr", "print", "range", "id", "type", "repr", "round"}
)
PASS_THROUGH = frozenset({"iter", "list", "tuple", "sorted", "reversed", "set"})


@dataclass(slots=True)
class Arguments:
    """The evaluated arguments of one call."""

    positional: list[tuple[ast.expr, Value]]
    keywords: dict[str, tuple[ast.expr, Value]]
    starred: bool

    def get(self, index: int, name: str) -> tuple[ast.expr, Value] | None:
        """The argument by position or keyword."""
        if name in self.keywords:
            return self.keywords[name]
        return self.positional[index] if index < len(self.positional) and not self.starred else None

    def all(self) -> list[tuple[ast.expr, Value]]:
        return [*self.positional, *self.keywords.values()]


class Calls(Expressions):
    """Evaluates calls."""

    # -- what the functions part gives

    def follow(self, definition: ast.AST, node: ast.Call, arguments: Arguments, state: State, owner: Value | None) -> Value:
        raise NotImplementedError

    def instantiate(self, definition: ast.ClassDef, node: ast.Call, arguments: Arguments, state: State) -> Value:
        raise NotImplementedError

    def method_of(self, value: Value, name: str) -> ast.AST | None:
        raise NotImplementedError

    def is_module_class(self, definition: ast.ClassDef) -> bool:
        raise NotImplementedError

    # -- dispatch

    def call(self, node: ast.Call, state: State) -> Value:
        function = node.func
        if isinstance(function, ast.Attribute) and not self._is_api_call(function, state):
            base = self.evaluate(function.value, state)
            arguments = self._arguments(node, state)
            return self._method(node, function, base, arguments, state)
        callee = self.evaluate(function, state)
        arguments = self._arguments(node, state)
        return self.apply(node, callee, arguments, state)

    def _is_api_call(self, function: ast.Attribute, state: State) -> bool:
        return self.api(function) is not None and self._is_import(function, state)

    def apply(self, node: ast.Call, callee: Value, arguments: Arguments, state: State) -> Value:
        """Call a value."""
        if returns_tensors(node):
            return self._encode(node, "__call__", arguments)
        if callee.kind is Kind.API and callee.qualified:
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
        if isinstance(node.func, ast.Name) and callee.token == f"name#{node.func.id}":
            return self._builtin(node, node.func.id, arguments, state)
        return self._unknown_call(node, arguments, state)

    def _arguments(self, node: ast.Call, state: State) -> Arguments:
        positional = [(one, self.evaluate(one, state)) for one in node.args]
        keywords: dict[str, tuple[ast.expr, Value]] = {}
        for keyword in node.keywords:
            name = keyword.arg or f"**{len(keywords)}"
            keywords[name] = (keyword.value, self.evaluate(keyword.value, state))
        starred = any(isinstance(one, ast.Starred) for one in node.args)
        return Arguments(positional, keywords, starred)

    def _is_loss_by_use(self, node: ast.Call) -> bool:
        """`loss = f(…)` with `loss.backward()` in the same function: the arguments meet."""
        parent = self.names.parent(node)
        if isinstance(parent, ast.Attribute) and parent.attr == "backward":
            return True
        if not isinstance(parent, ast.Assign) or len(parent.targets) != 1 or not isinstance(parent.targets[0], ast.Name):
            return False
        name = parent.targets[0].id
        return name in self.frame.evidence.losses and self.frame.evidence.bindings.get(name) == 1

    # -- builtins and unknown callables

    def _builtin(self, node: ast.Call, name: str, arguments: Arguments, state: State) -> Value:
        first = arguments.positional[0][1] if arguments.positional else NOTHING
        if name in PLACELESS_RESULTS:
            return STRING if name in {"str", "repr"} else NUMBER
        if name in PASS_THROUGH:
            return replace(first, origin=first.origin) if first.kind is not Kind.TENSOR else NOTHING
        if name == "next":
            return self.elements(first, node, self.frame.statement)
        if name == "enumerate":
            return Value(Kind.SEQUENCE, element=sequence([NUMBER, self._element_of(arguments.positional[:1], node)]))
        if name == "zip":
            return Value(Kind.SEQUENCE, element=sequence([self._element_of([one], node) for one in arguments.positional]))
        if name == "dict":
            pair = self._element_of(arguments.positional[:1], node)
            held = pair.item(1) if pair.kind is Kind.SEQUENCE else None
            return Value(Kind.MAPPING, element=held) if held is not None else first
        if name == "super":
            return state.env.get("self", NOTHING)
        if name == "getattr" and len(arguments.positional) >= 2:
            return NOTHING
        return self._unknown_call(node, arguments, state)

    def _element_of(self, arguments: list[tuple[ast.expr, Value]], node: ast.Call) -> Value:
        """What iterating over the first argument yields, for `enumerate` and `zip` at the head of a loop."""
        if not arguments:
            return NOTHING
        expression, value = arguments[0]
        loop = self.frame.statement
        at_head = isinstance(loop, (ast.For, ast.AsyncFor)) and loop.iter.lineno <= node.lineno <= _last_line(loop.iter)
        return self.elements(value, expression, loop if at_head else None)

    def _unknown_call(self, node: ast.Call, arguments: Arguments, state: State) -> Value:
        """Something that cannot be followed: what is handed over may be changed by it."""
        for expression, value in arguments.all():
            self._hand_over(expression, value, state)
        return Value(token=f"call@{self.position(node)}")

    def _hand_over(self, expression: ast.expr, value: Value, state: State) -> None:
        """A host module that unknown code gets may be moved there; a stale one is used there."""
        if value.kind is not Kind.MODULE or value.token is None or value.token not in state.objects:
            return
        known = state.objects[value.token]
        self.check_stale(expression, value, state, escapes=True)
        if known.place == HOST:
            state.relocate(value.token, UNKNOWN)

    # -- the torch API

    def _api_call(self, node: ast.Call, name: str, arguments: Arguments, state: State) -> Value:
        if name == "torch.device":
            return self._device(node, arguments, state)
        if name in tables.FACTORIES:
            return self._factory(node, name, arguments, state)
        if name in tables.LIKE_FACTORIES:
            return self._like(node, arguments, state)
        if name in tables.HOST_FACTORIES or name in tables.LEGACY_CONSTRUCTORS:
            return self._host_factory(node, arguments)
        if name.startswith(tables.FUNCTIONAL) and name not in tables.FUNCTIONAL_PLACELESS:
            return self._functional(node, name, arguments, state)
        if name in tables.ONE_PLACE:
            return self._one_place(node, name, arguments, state)
        return self._api_object(node, name, arguments, state)

    def _api_object(self, node: ast.Call, name: str, arguments: Arguments, state: State) -> Value:
        if name in tables.LOADERS:
            return self._loader(node, arguments)
        if name in tables.TENSOR_DATASETS:
            return Value(Kind.DATASET, element=sequence([tensor(value.place) for _, value in arguments.positional]))
        if name == "torch.utils.data.random_split":
            first = arguments.positional[0][1] if arguments.positional else NOTHING
            return Value(Kind.SEQUENCE, element=replace(first, kind=Kind.DATASET))
        if name in tables.DATASET_WRAPPERS:
            return arguments.positional[0][1] if arguments.positional else NOTHING
        if name in tables.ITERATOR_WRAPPERS:
            return arguments.positional[0][1] if arguments.positional else NOTHING
        if name.endswith("DataParallel"):
            inner = arguments.positional[0][1] if arguments.positional else NOTHING
            token = self.new_token(node)
            state.objects[token] = Object(managed=True)
            return Value(inner.kind, UNKNOWN, token=token)
        if name in tables.WRAPPERS:
            return arguments.positional[0][1] if arguments.positional else NOTHING
        if name in {"copy.deepcopy", "copy.copy"}:
            return self._copy(node, arguments, state)
        if name == "torch.set_default_device":
            state.default = self.device_of(*arguments.positional[0], state) if arguments.positional else UNKNOWN
            return NONE
        if name == "torch.autograd.Variable":
            return arguments.positional[0][1] if arguments.positional else NOTHING
        if name.startswith(tables.OPTIMIZER_PREFIX):
            return Value(Kind.OPTIMIZER, token=self.new_token(node))
        if name in tables.SCALERS:
            return Value(Kind.SCALER)
        return self._module_or_unknown(node, name, arguments, state)

    def _module_or_unknown(self, node: ast.Call, name: str, arguments: Arguments, state: State) -> Value:
        if name in tables.PARAMETER_CLASSES:
            inner = arguments.positional[0][1] if arguments.positional else NOTHING
            return replace(inner, kind=Kind.TENSOR, qualified=name)
        if is_module_api(name):
            return self._torch_module(node, name, arguments, state)
        if name in {"torch.nn.Embedding.from_pretrained", "torch.nn.EmbeddingBag.from_pretrained"}:
            return self.new_module(node, HOST, state)
        if is_tokenizer_api(name):
            return Value(Kind.TOKENIZER)
        if is_model_factory(name):
            managed = any(key.arg in {"device_map", "device"} or key.arg is None for key in node.keywords)
            return self.new_module(node, UNKNOWN if managed else HOST, state)
        if name in {"torch.no_grad", "torch.inference_mode", "torch.manual_seed", "torch.save"}:
            return NONE
        if name.startswith("torch.") and name.rpartition(".")[2] in {"sigmoid", "softmax", "exp", "log", "sum", "mean"}:
            return self._one_place(node, name, arguments, state)
        return self._unknown_call(node, arguments, state)

    def _device(self, node: ast.Call, arguments: Arguments, state: State) -> Value:
        if not arguments.positional:
            return Value(Kind.DEVICE, qualified="torch.device")
        place = self.device_of(*arguments.positional[0], state)
        if len(arguments.positional) > 1 and isinstance(place, Device):
            index = arguments.positional[1][1].const
            place = Device(f"{place.type}:{index}") if isinstance(index, int) else Symbol(ast.unparse(node), chosen=True)
        if place == UNKNOWN:
            place = Symbol(f"device@{self.position(node)}#{_short(node)}", chosen=True)
        return Value(Kind.DEVICE, denotes=place, qualified="torch.device", origin=Origin(Birth.CALL, node))

    def device_of(self, node: ast.expr, value: Value, state: State) -> Place:
        """The place that an expression names where a device is wanted; Unknown for a dtype, a tensor of unknown place."""
        if value.denotes != UNKNOWN:
            if (text := dotted(node)) is not None and "." in text:
                state.devices[text] = value.denotes
            return value.denotes
        if value.kind is Kind.TENSOR:
            return value.place
        if value.kind is Kind.STRING and isinstance(value.const, str):
            return device_constant(value.const)
        text = self.chosen_by_name(node, value)
        if text is None:
            return UNKNOWN
        identity = value.token or value.qualified or f"name#{text}"
        place = Symbol(f"{identity}#{text}", chosen=True)
        if value.kind is Kind.API:
            self.imported_devices[text] = place
        elif "." in text:
            state.devices[text] = place
        return place

    def _factory(self, node: ast.Call, name: str, arguments: Arguments, state: State) -> Value:
        if "device" in arguments.keywords:
            return tensor(self.device_of(*arguments.keywords["device"], state), Origin(Birth.FACTORY, node))
        if any(name.startswith("**") for name in arguments.keywords):
            return tensor(UNKNOWN)
        place = state.default if state.default is not None else HOST
        first = arguments.positional[0][1] if arguments.positional else NOTHING
        if first.kind is Kind.TENSOR and name == "torch.tensor":
            place = first.place
        scalar = name in {"torch.tensor", "torch.scalar_tensor"} and first.kind is Kind.NUMBER
        return tensor(place, Origin(Birth.FACTORY, node), scalar=scalar)

    def _host_factory(self, node: ast.Call, arguments: Arguments) -> Value:
        first = arguments.positional[0][1] if arguments.positional else NOTHING
        place = first.place if first.kind in {Kind.TENSOR, Kind.SEQUENCE} and first.place != UNKNOWN else HOST
        return tensor(place, Origin(Birth.FACTORY, node))

    def _like(self, node: ast.Call, arguments: Arguments, state: State) -> Value:
        if "device" in arguments.keywords:
            return tensor(self.device_of(*arguments.keywords["device"], state), Origin(Birth.FACTORY, node))
        first = arguments.positional[0][1] if arguments.positional else NOTHING
        return derived(node, first.place, [Operand(node, first, first.place)])

    def _functional(self, node: ast.Call, name: str, arguments: Arguments, state: State) -> Value:
        operands = [
            Operand(expression, value, state.place_of(value), _loss_role(name, index))
            for index, (expression, value) in enumerate(arguments.all())
        ]
        place = self.meet(node, name.removeprefix("torch.nn."), operands, state)
        return derived(node, place, operands)

    def _one_place(self, node: ast.Call, name: str, arguments: Arguments, state: State) -> Value:
        operands: list[Operand] = []
        for index, (expression, value) in enumerate(arguments.positional):
            if index == 0 and name in tables.SEQUENCE_FUNCTIONS:
                operands.extend(self._parts(expression, value, state))
            elif not (value.scalar and name not in tables.SEQUENCE_FUNCTIONS):
                operands.append(Operand(expression, value, state.place_of(value)))
        if "tensors" in arguments.keywords:
            operands.extend(self._parts(*arguments.keywords["tensors"], state))
        place = self.meet(node, f"`{name}`", operands, state)
        return derived(node, place, operands)

    def _parts(self, node: ast.expr, value: Value, state: State) -> list[Operand]:
        """The tensors inside a sequence argument, each with its own expression where it is spelled out."""
        if isinstance(node, (ast.Tuple, ast.List)) and value.items is not None and len(node.elts) == len(value.items):
            return [Operand(one, held, state.place_of(held)) for one, (_, held) in zip(node.elts, value.items)]
        if value.element is not None:
            return [Operand(node, value.element, state.place_of(value.element))]
        return [Operand(node, value, state.place_of(value))]

    # -- datasets and loaders

    def _loader(self, node: ast.Call, arguments: Arguments) -> Value:
        dataset = arguments.get(0, "dataset")
        custom = any(key.arg in {"collate_fn", None} for key in node.keywords) or len(node.args) > 6
        prototype = _item_of(dataset[1]) if dataset and not custom else None
        return Value(Kind.LOADER, element=prototype, token=self.new_token(node))

    # -- modules

    def new_module(self, node: ast.AST, place: Place, state: State, attributes: dict[str, Value] | None = None) -> Value:
        token = self.new_token(node)
        origin = Origin(Birth.MODULE, node)
        state.objects[token] = Object(place, born=origin, attributes=attributes or {})
        return Value(Kind.MODULE, place, origin, token=token)

    def _torch_module(self, node: ast.Call, name: str, arguments: Arguments, state: State) -> Value:
        if "device" in arguments.keywords:
            return self.new_module(node, self.device_of(*arguments.keywords["device"], state), state)
        children = {str(index): value for index, (_, value) in enumerate(arguments.all()) if value.kind is Kind.MODULE}
        if name in tables.PARAMETERLESS_MODULES or _is_loss(name):
            return self.new_module(node, ANYWHERE, state)
        if name in tables.CONTAINER_MODULES:
            return self._container(node, arguments, children, state)
        place = state.default if state.default is not None else HOST
        return self.new_module(node, place, state)

    def _container(self, node: ast.Call, arguments: Arguments, children: dict[str, Value], state: State) -> Value:
        """A container lives where its parts live."""
        parts = [value for _, value in arguments.all() if value.kind is not Kind.MODULE]
        for value in list(parts):
            if value.kind in {Kind.SEQUENCE, Kind.MAPPING} and value.element is not None:
                children["*"] = value.element
                parts.remove(value)
        places = {state.place_of(one) for one in children.values()}
        needed = places - {ANYWHERE} or {ANYWHERE}
        known = len(needed) == 1 and not parts and bool(children)
        return self.new_module(node, needed.pop() if known else UNKNOWN, state, children)

    def _copy(self, node: ast.Call, arguments: Arguments, state: State) -> Value:
        first = arguments.positional[0][1] if arguments.positional else NOTHING
        if first.kind is not Kind.MODULE and (first.token is None or first.kind is not Kind.UNKNOWN):
            return first
        token = self.new_token(node)
        place = state.place_of(first)
        if place == UNKNOWN and first.token:
            place = Symbol(first.token)
        known = state.objects.get(first.token or "", Object())
        state.objects[token] = replace(known, place=place, moved=None, visited=frozenset(), attributes={}, stale=())
        return Value(first.kind, place, first.origin, token=token)

    def _module_call(self, node: ast.Call, callee_node: ast.expr, callee: Value, arguments: Arguments, state: State) -> Value:
        """`model(x, …)`: parameters and arguments meet."""
        self.check_stale(callee_node, callee, state, escapes=False)
        known = state.objects.get(callee.token or "")
        managed = known is not None and known.managed
        if known is not None and isinstance(known.born, Origin) and callee.definition is None:
            self.facts.tensors.update(value.token for _, value in arguments.all()[:1] if value.token)
        operands = [Operand(callee_node, callee, self.place_of_module(callee, state), "module")]
        for expression, value in arguments.all():
            operands.append(Operand(expression, value, self._argument_place(value, state)))
        self.infer(operands[0], operands[1:])
        self._note_followers(node, operands, state)
        if managed:
            return Value(place=UNKNOWN, origin=Origin(Birth.OPERATION, node))
        place = self.meet(node, f"`{dotted(callee_node) or 'the module'}`", operands, state)
        return replace(derived(node, place, operands[1:]), kind=Kind.UNKNOWN)

    def _note_followers(self, node: ast.Call, operands: list[Operand], state: State) -> None:
        """Host encodings that a model of unknown place gets."""
        model = operands[0]
        if model.place == HOST or may_be_device(model.place):
            return
        for one in operands[1:]:
            origin = one.value.origin
            if one.place == HOST and origin is not None and origin.birth is Birth.ENCODING:
                devices = self.device_names(state)
                fact = Meeting(node, "the model call", one, model, tuple(operands), None, devices, self.frame.context)
                self.facts.followers.append(fact)

    def _argument_place(self, value: Value, state: State) -> Place:
        """Where an argument lives; a sequence or mapping lives where its elements do."""
        if value.kind in {Kind.SEQUENCE, Kind.MAPPING} and value.element is not None and value.batch is None:
            return state.place_of(value.element)
        return state.place_of(value)

    def check_stale(self, node: ast.expr, value: Value, state: State, *, escapes: bool) -> None:
        """Report modules that were attached on the host to `value`, which is now used."""
        known = state.objects.get(value.token or "")
        if known is None or not known.stale or known.moved is None:
            return
        fact = Attachment(known.stale, known.place, known.moved, node, escapes, self.frame.context)
        if all(one.parts != fact.parts or one.escapes != fact.escapes for one in self.facts.attachments):
            self.facts.attachments.append(fact)

    # -- tokenizers

    def _encode(self, node: ast.Call, method: str, arguments: Arguments) -> Value:
        if not returns_tensors(node):
            return NOTHING
        kind = Kind.TENSOR if method in tables.TENSOR_TOKENIZER_METHODS else Kind.ENCODING
        flag = arguments.keywords.get("return_dict")
        if method == "apply_chat_template":
            kind = Kind.ENCODING if flag is not None and flag[1].const is True else Kind.UNKNOWN
        return Value(kind, HOST, Origin(Birth.ENCODING, node))

    # -- methods

    def _method(self, node: ast.Call, function: ast.Attribute, base: Value, arguments: Arguments, state: State) -> Value:
        name = function.attr
        if returns_tensors(node):
            return self._encode(node, name, arguments)
        if name in {"to", "cuda", "cpu", "to_empty"} and base.kind not in {Kind.API, Kind.CLASS}:
            return self._move(node, function, base, arguments, state)
        if base.token is not None and (held := state.attribute(base.token, name)) is not None:
            return self.apply(node, held, arguments, state)
        definition = self.method_of(base, name)
        if definition is not None:
            return self.follow(definition, node, arguments, state, base)
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
            case Kind.STRING | Kind.NUMBER | Kind.NONE:
                return NOTHING
        return self._tensor_method(node, function, base, arguments, state)

    def _tensor_method(
        self, node: ast.Call, function: ast.Attribute, base: Value, arguments: Arguments, state: State
    ) -> Value:
        name = function.attr
        if base.kind is Kind.UNKNOWN and (text := dotted(function)) and text in self._module_evidence():
            return self._module_call(node, function, replace(base, kind=Kind.MODULE), arguments, state)
        if name in {"append", "insert"} and arguments.positional and arguments.positional[-1][1].kind is Kind.MODULE:
            self.attach(node, function.value, base, name, arguments.positional[-1][1], state)
            return NONE
        update = self._update(node, function, base, arguments, state)
        if name in tables.TENSOR_SHAPE_METHODS or name == "numpy":
            return Value(Kind.ARRAY) if name == "numpy" else NUMBER
        if name in tables.NEW_METHODS and base.kind is Kind.TENSOR:
            return tensor(base.place, Origin(Birth.FACTORY, node))
        bare = name.rstrip("_")
        if bare in tables.TENSOR_METHODS_ONE_PLACE and base.kind in {Kind.TENSOR, Kind.UNKNOWN}:
            return self._tensor_operation(node, function, base, arguments, update, state)
        if name in {"items", "values", "keys"} and base.kind in {Kind.UNKNOWN, Kind.ENCODING}:
            return self._pairs(name, base, node)
        if base.kind is Kind.TENSOR or (base.place != UNKNOWN and base.kind is Kind.UNKNOWN) or base.batch is not None:
            kind = Kind.TENSOR if name in tables.TENSOR_EVIDENCE_METHODS else base.kind
            return replace(base, kind=kind, token=None, const=None, items=None, computed=True)
        if base.kind is Kind.ENCODING:
            return NOTHING
        return self._unknown_call(node, arguments, state)

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
        for expression, value in arguments.all():
            if not value.scalar:
                operands.append(Operand(expression, value, state.place_of(value)))
        if base.kind is Kind.UNKNOWN and not may_be_device(operands[0].place):
            return replace(base, token=None)
        place = operands[0].place if update else self.meet(node, f"`.{function.attr}`", operands, state)
        return derived(node, place, operands)

    def _pairs(self, name: str, base: Value, node: ast.Call) -> Value:
        if base.kind is Kind.ENCODING or base.batch is not None:
            one = Value(Kind.UNKNOWN, base.place, base.origin, batch=base.batch)
        else:
            one = Value(place=base.place)
        key = Value(Kind.STRING)
        return Value(Kind.SEQUENCE, element=sequence([key, one]) if name == "items" else one if name == "values" else key)

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

    # -- modules: methods

    def _module_method(
        self, node: ast.Call, function: ast.Attribute, base: Value, arguments: Arguments, state: State
    ) -> Value:
        name = function.attr
        place = state.place_of(base)
        if name in {"generate", "forward", "__call__"}:
            return self._module_call(node, function.value, base, arguments, state)
        if name in tables.MODULE_METHODS_RETURNING_SELF:
            return base
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
        if name in {"load_state_dict", "zero_grad"}:
            return NONE
        if name == "add_module" and len(arguments.positional) == 2:
            self.attach(node, function.value, base, str(arguments.positional[0][1].const), arguments.positional[1][1], state)
            return NONE
        if name in {"append", "insert", "extend"} and arguments.positional:
            self.attach(node, function.value, base, name, arguments.positional[-1][1], state)
            return base
        if name == "register_buffer":
            return NONE
        if any(value.kind is Kind.MODULE for _, value in arguments.all()):
            return self._unknown_call(node, arguments, state)
        return Value(place=UNKNOWN)

    def attach(
        self, node: ast.expr, parent: ast.expr, owner: Value, attribute: str, child: Value, state: State
    ) -> None:
        raise NotImplementedError

    # -- moves

    def _move(self, node: ast.Call, function: ast.Attribute, base: Value, arguments: Arguments, state: State) -> Value:
        target = self._target(node, function, arguments, state)
        if target is None:
            return replace(base, const=None)
        used = not isinstance(self.names.parent(node), ast.Expr)
        before = state.place_of(base)
        self.record_move(Move(node, function.value, base, before, target, function.attr, used, self.frame.context))
        if self._is_object(base, function):
            return self._move_object(node, base, target, state)
        if base.batch is not None:
            state.moved[base.batch.token] = state.moved.get(base.batch.token, frozenset()) | {target}
        if base.kind in PLACELESS and base.kind is not Kind.ARRAY:
            return base
        moved = replace(base, place=target, origin=Origin(Birth.MOVE, node), token=None, scalar=base.scalar)
        if base.items is not None:
            moved = replace(moved, items=tuple((key, _relocated(one, target, node)) for key, one in base.items))
        if base.kind is Kind.ENCODING and isinstance(function.value, ast.Name):
            state.env[function.value.id] = moved  # encodings move in place, and return themselves
        return moved

    def _is_object(self, base: Value, function: ast.Attribute) -> bool:
        if base.kind is Kind.MODULE:
            return True
        text = dotted(function.value)
        return base.kind is Kind.UNKNOWN and base.token is not None and text in self._module_evidence()

    def _move_object(self, node: ast.Call, base: Value, target: Place, state: State) -> Value:
        token = base.token or self.new_token(node)
        known = state.objects.setdefault(token, Object())
        origin = Origin(Birth.MOVE, node)
        state.relocate(token, target, moved=origin, visited=known.visited | {target}, stale=())
        return replace(base, kind=Kind.MODULE, place=target, token=token)

    def _target(self, node: ast.Call, function: ast.Attribute, arguments: Arguments, state: State) -> Place | None:
        """Where a move goes; None where the call moves nothing (`.to(dtype)`)."""
        if function.attr == "cpu":
            return HOST
        if function.attr == "cuda":
            target = self._cuda_target(arguments, state)
            return choice(target, HOST) if self.frame.guards and isinstance(target, Device) else target
        found = arguments.keywords.get("device") or (arguments.positional[0] if arguments.positional else None)
        if found is None:
            return None
        expression, value = found
        if value.kind is Kind.DTYPE or (value.kind is Kind.API and (value.qualified or "").startswith("torch.")):
            return None
        place = self.device_of(expression, value, state)
        if self.frame.guards and isinstance(place, Device):
            return choice(place, HOST)
        if place == UNKNOWN and value.kind is Kind.STRING:
            return None
        if place == UNKNOWN and "dtype" in (dotted(expression) or "").lower():
            return None
        return place

    def _cuda_target(self, arguments: Arguments, state: State) -> Place:
        found = arguments.keywords.get("device") or (arguments.positional[0] if arguments.positional else None)
        if found is None:
            return Device("cuda")
        expression, value = found
        if isinstance(value.const, int):
            return Device(f"cuda:{value.const}")
        place = self.device_of(expression, value, state)
        return place if place != UNKNOWN else Symbol(f"cuda#{ast.unparse(expression)}", chosen=True)

    # -- averages in place

    def _update(
        self, node: ast.Call, function: ast.Attribute, base: Value, arguments: Arguments, state: State
    ) -> bool:
        """Record `shadow.lerp_(live, …)` and its relatives; whether the call is one."""
        name = function.attr
        shadow, receiver = function.value, base
        if name == "add_":
            scaled = self._scaled_before(node, function)
            if scaled is None:
                return False
            shadow = scaled
        elif name not in {"lerp_", "copy_"}:
            return False
        live = arguments.get(0, "end" if name == "lerp_" else "other") or arguments.get(1, "other")
        if live is None or receiver.kind not in {Kind.TENSOR, Kind.UNKNOWN}:
            return False
        expression, value = live
        place, other = state.place_of(receiver), state.place_of(value)
        loop = self.frame.loops[-1] if self.frame.loops else None
        visited = self._visited(receiver, state)
        fact = Update(node, name, shadow, place, visited, expression, other, loop, self.frame.context)
        if fact not in self.facts.updates:
            self.facts.updates.append(fact)
        return True

    def _scaled_before(self, node: ast.Call, function: ast.Attribute) -> ast.expr | None:
        """The shadow of `shadow.mul_(…).add_(…)`, or of `shadow.mul_(…)` on the line before `shadow.add_(…)`."""
        inner = function.value
        if isinstance(inner, ast.Call):
            return inner.func.value if isinstance(inner.func, ast.Attribute) and inner.func.attr == "mul_" else None
        before = self._statement_before(self.names.statement(node))
        call = before.value if isinstance(before, ast.Expr) else None
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or call.func.attr != "mul_":
            return None
        return inner if ast.dump(call.func.value) == ast.dump(inner) else None

    def _statement_before(self, statement: ast.stmt) -> ast.stmt | None:
        body = getattr(self.names.parent(statement), "body", None)
        if not isinstance(body, list) or statement not in body or body[0] is statement:
            return None
        before: ast.stmt = body[body.index(statement) - 1]
        return before

    def _visited(self, value: Value, state: State) -> frozenset[Place]:
        """Where the module that holds a parameter was ever moved."""
        owner = value.receiver
        known = state.objects.get(owner.token) if owner is not None and owner.token else None
        return known.visited if known is not None else frozenset()


def returns_tensors(node: ast.Call) -> bool:
    """`return_tensors="pt"`: the call of a tokenizer or a processor, by whichever name."""
    return any(
        one.arg == "return_tensors" and isinstance(one.value, ast.Constant) and one.value.value == "pt"
        for one in node.keywords
    )


def _item_of(dataset: Value) -> Value | None:
    """What one item of a dataset is: a tensor's rows are tensors."""
    return tensor(dataset.place) if dataset.kind is Kind.TENSOR else dataset.element


def _parameter(base: Value, place: Place) -> Value:
    known = place if place != UNKNOWN else Symbol(base.token) if base.token else UNKNOWN
    return Value(Kind.TENSOR, known, receiver=base)


def _relocated(value: Value, place: Place, node: ast.AST) -> Value:
    return replace(value, place=place, origin=Origin(Birth.MOVE, node))


def is_module_api(name: str) -> bool:
    """A class of `torch.nn`."""
    head, _, last = name.rpartition(".")
    return head.startswith("torch.nn") and "functional" not in head and last[:1].isupper() and name not in tables.NOT_MODULES


def is_tokenizer_api(name: str) -> bool:
    """`transformers.AutoTokenizer.from_pretrained` and its relatives."""
    head, _, last = name.rpartition(".")
    return last == "from_pretrained" and name.startswith("transformers.") and head.endswith(tables.TOKENIZER_CLASSES)


def is_model_factory(name: str) -> bool:
    """Functions of well-known libraries that build a model on the host."""
    last = name.rpartition(".")[2]
    if name.startswith("transformers."):
        built = last in {"from_pretrained", "from_config"} or "For" in last or last.endswith("Model")
        return built and last[:1].isalpha() and "Config" not in name
    return name == "timm.create_model" or (name.startswith("torchvision.models.") and last[:1].islower())


def _is_loss(name: str) -> bool:
    return name.endswith("Loss")


def _loss_role(name: str, index: int) -> str:
    return "target" if name in tables.LOSS_FUNCTIONS and index == 1 else "argument"


def _last_line(node: ast.expr) -> int:
    return node.end_lineno or node.lineno


def _short(node: ast.AST) -> str:
    text = ast.unparse(node)
    return text if len(text) <= 40 else f"{text[:37]}..."
