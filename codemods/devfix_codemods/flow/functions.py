"""Functions and classes of the project: calls are followed with the caller's values, to a bounded depth."""

import ast

from devfix_codemods.flow import tables
from devfix_codemods.flow.calls import Calls
from devfix_codemods.flow.evidence import Evidence
from devfix_codemods.flow.facts import Context
from devfix_codemods.flow.handed_back import gives_host
from devfix_codemods.flow.inputs import is_input_tensor, is_read_as_number
from devfix_codemods.flow.machine import DEPTH, Arguments, Frame, Function
from devfix_codemods.flow.places import ANYWHERE, HOST, UNKNOWN, Place, Symbol, may_be_device
from devfix_codemods.flow.project import Project
from devfix_codemods.flow.records import replace
from devfix_codemods.flow.state import State, holds_nothing, join_states
from devfix_codemods.flow.tree import declared, given_to, walk
from devfix_codemods.flow.units import Unit
from devfix_codemods.flow.values import NONE, NOTHING, Birth, Kind, Object, Origin, Value, join_values


class Functions(Calls):
    """Follows calls into the file's own code."""

    def __init__(self, root: Unit, project: Project | None = None) -> None:
        super().__init__(root, project)
        self.interest = root.interest
        self._annotations: dict[ast.expr, Kind] = {}
        self.observed: dict[tuple[ast.AST, str], Value] = {}
        self.followed: set[ast.AST] = set()
        self._placed_by: dict[Function, set[str]] = {}
        self._gives_host: dict[ast.ClassDef, bool] = {}

    def method_of(self, value: Value, name: str) -> ast.AST | None:
        if not isinstance(value.definition, ast.ClassDef) or value.kind is Kind.CLASS:
            return None
        if value.kind is Kind.MODULE and name == "forward":
            return None
        found = self.classes.methods(value.definition).get(name)
        return found if found is not None and not _is_property(found) else None

    def made_by_property(self, owner: Value, name: str, state: State) -> Value | None:
        """The tensors that a property of a class of this file makes on the host; None of other attributes."""
        if not isinstance(owner.definition, ast.ClassDef) or owner.kind is not Kind.INSTANCE:
            return None
        found = self.classes.methods(owner.definition).get(name)
        if found is None or not _is_property(found) or self.unit is not self.root or not self.is_here(found):
            return None
        if found in self.calls or len(self.calls) >= DEPTH or not self.interest.in_function(found):
            return None
        value = self._activate(found, self.bind(found, Arguments([], {}, starred=False), state, owner), state)
        held = [one for _, one in value.items or ()] if value.kind is Kind.SEQUENCE else [value]
        return value if held and all(one.place == HOST and one.sources for one in held) else None

    def runs_setter(self, owner: Value, name: str) -> bool:
        """Whether an assignment to the attribute is a call of a property's setter, which may register a buffer."""
        if not isinstance(owner.definition, ast.ClassDef) or owner.kind is Kind.CLASS:
            return False
        found = self.classes.methods(owner.definition).get(name)
        return found is not None and any(one.endswith(".setter") for one in _decorators(found))

    def placed_by_forward(self, callee: Value) -> set[str]:
        """Parameters, by name and position, that the `forward` of a class of this file may get from the host.

        It moves them, reads them as text, or only picks with them: an index on the host suits every tensor.
        """
        if not isinstance(callee.definition, ast.ClassDef):
            return set()
        forward = self.classes.methods(callee.definition).get("forward")
        if forward is None:
            return set()
        if forward not in self._placed_by:
            evidence = self.evidence(forward)
            names = [one.arg for one in (*forward.args.posonlyargs, *forward.args.args)][1:]
            placed = (evidence.moved | evidence.texts).union(_only_picked(forward))
            own = placed.intersection(names)
            self._placed_by[forward] = own | {str(names.index(name)) for name in own}
        return self._placed_by[forward]

    def gives_host(self, definition: ast.ClassDef) -> bool:
        if definition not in self._gives_host:
            self._gives_host[definition] = gives_host(self.classes, definition)
        return self._gives_host[definition]

    # -- following a call

    def follow(
        self, definition: ast.AST, node: ast.Call, arguments: Arguments, state: State, owner: Value | None
    ) -> Value:
        if not isinstance(definition, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            return NOTHING
        result = self._follow_call(definition, node, arguments, state, owner)
        is_open = result.kind is Kind.UNKNOWN and result.place == UNKNOWN
        if is_open and _leaves_device_out(definition, arguments, owner):
            return replace(result, of_host=True)
        return result

    def _follow_call(
        self,
        definition: Function | ast.Lambda,
        node: ast.Call,
        arguments: Arguments,
        state: State,
        owner: Value | None,
    ) -> Value:
        home = self.home_of(definition)
        if home is not self.unit:
            return self.follow_abroad(home, definition, node, arguments, state, owner)
        env = self.bind(definition, arguments, state, owner)
        self.observe(definition, env)
        if definition in self.calls or len(self.calls) >= DEPTH:
            return self.unknown_call(node, arguments, state)
        result = self._activate(definition, env, state, node)
        if result.kind is Kind.MODULE and result.origin is not None and result.origin.birth is Birth.MODULE:
            return replace(result, origin=Origin(Birth.MODULE, node))  # for the caller, it is built by this call
        return result

    def _activate(
        self, definition: Function | ast.Lambda, env: dict[str, Value], state: State, site: ast.Call | None = None
    ) -> Value:
        """Run a body in a frame of its own; its effects on objects reach the caller."""
        caller = self.frame
        caller.env = state.env
        self.followed.add(definition)
        context = self.context_of(definition, symbolic=False)
        if site is not None:
            context = replace(context, sites=(*caller.context.sites, site))
        frame = Frame(context, self._scope_of(definition), evidence=self.evidence(definition))
        self.frame = frame
        self.calls.append(definition)
        try:
            inner = state.entering(env)
            if isinstance(definition, ast.Lambda):
                return self.evaluate(definition.body, inner)
            end = self.run_block(definition.body, inner)
        finally:
            self.calls.pop()
            self.frame = caller
        value, final = self._result(definition, frame, end)
        if final is not None:
            state.objects, state.moved, state.default = final.objects, final.moved, final.default
            if site is not None:
                self._keep_changes(definition, site, env, final, state)
        return value

    def _keep_changes(
        self, definition: Function, site: ast.Call, env: dict[str, Value], end: State, state: State
    ) -> None:
        """`place(batch, device)`: what the function puts into a container that it is given, the caller finds there."""
        for node in given_to(site):
            value = state.env.get(node.id) if isinstance(node, ast.Name) else None
            if value is None or value.kind not in _CONTAINERS:
                continue
            assert isinstance(node, ast.Name)
            for name, given in env.items():
                left = end.env.get(name, value)
                if given is value and left is not value and name not in self.evidence(definition).stores:
                    forgotten = replace(value, place=UNKNOWN, batch=None, items=None, element=None)
                    state.env[node.id] = left if self.is_here(site) else forgotten

    def _result(self, definition: Function, frame: Frame, end: State | None) -> tuple[Value, State | None]:
        """What a function gives back, and the state in which it ends, if it does."""
        value: Value | None = NONE if end is not None else None
        final = end
        for returned, at in frame.returns:
            value = returned if value is None else join_values(value, returned)
            final = join_states(final, at)
        if self.evidence(definition).yields:
            return Value(Kind.SEQUENCE, element=value if frame.returns else NOTHING), final
        return value if value is not None else NOTHING, final

    def _scope_of(self, definition: ast.AST) -> Frame:
        """The frame whose names the body sees: the running one that defines it, or the module."""
        parent = self.names.parent(definition)
        while parent is not None and not isinstance(parent, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Module)):
            parent = self.names.parent(parent)
        frame: Frame | None = self.frame
        while frame is not None:
            if frame.context.function is parent and not isinstance(parent, ast.Module):
                return frame
            frame = frame.parent
        return self.module_frame

    def context_of(self, definition: Function | ast.Lambda, *, symbolic: bool) -> Context:
        if isinstance(definition, ast.Lambda):
            return self.frame.context
        owner = self.owners.get(definition)
        managed = self.traits.managed or (owner is not None and self.classes.is_managed(owner))
        worker = "collate" in definition.name or (
            owner is not None and (self.classes.is_dataset(owner) or self.classes.prepares_data(owner))
        )
        forward = owner is not None and definition.name == "forward" and self.classes.is_module(owner)
        return Context(definition, owner, managed, worker or self.frame.context.worker, symbolic, forward)

    # -- parameters

    def bind(
        self, definition: Function | ast.Lambda, arguments: Arguments, state: State, owner: Value | None
    ) -> dict[str, Value]:
        """The parameters of a call, by name; `owner` is the object whose method is called."""
        receiver = None if _is_static(definition) else owner
        spec = definition.args
        names = [one.arg for one in (*spec.posonlyargs, *spec.args)]
        defaults = _defaults(definition)
        env = {one.arg: self._default(defaults.get(one.arg), state) for one in declared(definition)}
        positional = [value for _, value in arguments.positional]
        if receiver is not None and names:
            positional.insert(0, receiver)
        if arguments.starred:
            positional = positional[: 1 if receiver is not None else 0]
            env = dict.fromkeys(env, NOTHING)
        env.update(zip(names, positional))
        if spec.vararg is not None:
            rest = positional[len(names) :]
            env[spec.vararg.arg] = Value(Kind.SEQUENCE, items=tuple(enumerate(rest)))
        for name, (_, value) in arguments.keywords.items():
            if name in env:
                env[name] = value
        for one in declared(definition):
            env[one.arg] = self.as_module(self._annotated(one, env[one.arg]), one.arg, self.evidence(definition))
        return env

    def _default(self, node: ast.expr | None, state: State) -> Value:
        return self.evaluate(node, state.entering({})) if isinstance(node, ast.Constant) else NOTHING

    def _annotated(self, parameter: ast.arg, value: Value) -> Value:
        """`value` with the kind that the annotation gives, where nothing better is known."""
        if value.kind is not Kind.UNKNOWN or parameter.annotation is None:
            return value
        kind = self.annotation_kind(parameter.annotation)
        if kind is Kind.SEQUENCE and value.batch is not None and _head(parameter.annotation) in _MAPPING_ANNOTATIONS:
            return replace(value, kind=Kind.MAPPING)
        if kind is Kind.SEQUENCE:
            return Value(kind)  # a list of something: `.to` is none of its methods
        if kind is Kind.STRING and _says_device(parameter.arg):
            return value  # the name of a device
        return replace(value, kind=kind) if kind is not Kind.UNKNOWN else value

    def annotation_kind(self, node: ast.expr) -> Kind:
        known = self._annotations.get(node)
        if known is None:
            known = self._annotations[node] = self._annotation_kind(node)
        return known

    def _annotation_kind(self, node: ast.expr) -> Kind:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return _ANNOTATIONS.get(node.value.rpartition(".")[2], Kind.UNKNOWN)
        if isinstance(node, ast.Subscript) and ast.unparse(node.value).endswith("Optional"):
            return self.annotation_kind(node.slice)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
            kinds = {self.annotation_kind(one) for one in (node.left, node.right)} - {Kind.UNKNOWN, Kind.NONE}
            return kinds.pop() if len(kinds) == 1 else Kind.UNKNOWN
        if _head(node) in _CONTAINER_ANNOTATIONS:
            return Kind.SEQUENCE
        if isinstance(node, ast.Name) and node.id in _BUILTIN_ANNOTATIONS and not self.names.bound_in_module(node.id):
            return _BUILTIN_ANNOTATIONS[node.id]
        name = self.names.qualified(node)
        if name and name.startswith("transformers.") and (name.endswith("Model") or "For" in name):
            return Kind.MODULE
        return (
            _ANNOTATIONS.get(name.rpartition(".")[2], Kind.UNKNOWN)
            if name and name.startswith("torch")
            else Kind.UNKNOWN
        )

    def observe(self, definition: ast.AST, env: dict[str, Value]) -> None:
        """Remember the kinds that callers in this file pass: they hold when the function is read by itself."""
        for name, value in env.items():
            key = (definition, name)
            known = self.observed.get(key)
            if known is None or known.kind is not Kind.UNKNOWN:  # which no other value makes known
                self.observed[key] = value if known is None else join_values(known, value)

    def symbolic_parameters(self, definition: Function, receiver: Value | None, place: Place) -> dict[str, Value]:
        """Parameters whose caller is unknown: each lives somewhere of its own, or with the module in `forward`."""
        env: dict[str, Value] = {}
        evidence = self.evidence(definition)
        for one in declared(definition):
            token = f"parameter:{self.unit.tag}{definition.lineno}:{one.arg}"
            if place != UNKNOWN and self._is_read_as_number(definition, one, evidence):
                env[one.arg] = self._symbolic(one, token, Symbol(token), evidence)
                continue
            value = self._symbolic(one, token, place, evidence)
            if place != UNKNOWN and value.kind is Kind.UNKNOWN and is_input_tensor(self.names, definition, one):
                value = replace(value, kind=Kind.TENSOR)
            if value.kind is Kind.TENSOR and receiver is not None and receiver.kind is Kind.MODULE:
                value = replace(value, place=receiver.place)  # what a module works on lives with it
            env[one.arg] = self._with_observed(definition, one.arg, value)
        names = [one.arg for one in (*definition.args.posonlyargs, *definition.args.args)]
        if receiver is not None and names and not _is_static(definition):
            env[names[0]] = receiver
        return env

    def _is_read_as_number(self, definition: Function, parameter: ast.arg, evidence: Evidence) -> bool:
        reads = not evidence.methods.isdisjoint({"item", "tolist"}) or not evidence.called.isdisjoint({"float", "int"})
        return reads and is_read_as_number(self.names, definition, parameter)

    def _symbolic(self, parameter: ast.arg, token: str, place: Place, evidence: Evidence) -> Value:
        name = parameter.arg
        is_module = name in evidence.modules
        kind = self.annotation_kind(parameter.annotation) if parameter.annotation is not None else Kind.UNKNOWN
        origin = Origin(Birth.PARAMETER, parameter, name)
        if kind is Kind.DEVICE or (kind in {Kind.UNKNOWN, Kind.STRING} and _says_device(name)):
            qualified = "torch.device" if kind is Kind.DEVICE and _only_device(parameter) else None
            kind = Kind.STRING if kind is Kind.STRING else Kind.DEVICE
            return Value(kind, token=token, denotes=Symbol(f"{token}#{name}", chosen=True), qualified=qualified)
        if is_module or kind is Kind.MODULE:
            return Value(Kind.MODULE, Symbol(token), origin, token=token)
        if kind is Kind.UNKNOWN and evidence.is_tensor(name, parameter.lineno):
            kind = Kind.TENSOR
        if kind is Kind.UNKNOWN and place != UNKNOWN and _is_array(name, evidence):
            kind = Kind.TENSOR  # arrays of numpy have no business in `forward`
        if kind is Kind.TENSOR or place != UNKNOWN:
            return Value(kind, place if place != UNKNOWN else Symbol(token), origin, token=None)
        return Value(kind, origin=origin, token=token)

    def _with_observed(self, definition: Function, name: str, value: Value) -> Value:
        seen = self.observed.get((definition, name))
        if seen is None or value.kind is not Kind.UNKNOWN:
            return value
        if seen.kind in {Kind.LOADER, Kind.DATASET}:
            return replace(value, kind=seen.kind, element=seen.element)
        if seen.kind in {Kind.MODULE, Kind.TENSOR}:
            token = value.token or name
            return replace(value, kind=seen.kind, place=Symbol(token) if value.place == UNKNOWN else value.place)
        if seen.kind in {Kind.STRING, Kind.NUMBER, Kind.TOKENIZER, Kind.OPTIMIZER, Kind.SCALER}:
            return replace(value, kind=seen.kind)
        return value

    # -- classes

    def instantiate(self, definition: ast.ClassDef, node: ast.Call, arguments: Arguments, state: State) -> Value:
        token = self.new_token(node)
        if self.classes.is_dataset(definition):
            return Value(
                Kind.DATASET,
                token=token,
                element=self._item_of(definition, node, arguments, state),
                definition=definition,
                computed=_places_items(self.classes.methods(definition).get("__getitem__")),
            )
        is_module = self.classes.is_module(definition)
        kind = Kind.MODULE if is_module else Kind.INSTANCE
        origin = Origin(Birth.MODULE, node)
        instance = Value(kind, UNKNOWN, origin, token=token, definition=definition)
        state.objects[token] = Object(UNKNOWN, born=origin)
        constructor = self.classes.methods(definition).get("__init__")
        if constructor is not None:
            self.follow(constructor, node, arguments, state, instance)
        if is_module:
            self._settle(token, definition, state)
        bare = replace(instance, qualified="torch.nn.Module")
        if is_module and holds_nothing(bare, state) and self._holds_only(definition, state.objects[token].attributes):
            instance = bare
        return replace(instance, place=state.objects[token].place)

    def _holds_only(self, definition: ast.ClassDef, attributes: dict[str, Value]) -> bool:
        """Whether objects of a class of modules hold nothing but these attributes."""
        if self.classes.bases(definition) != ("torch.nn.Module",):
            return False
        kept = self.classes.assigned(definition)
        return kept is not None and kept <= attributes.keys()

    def _settle(self, token: str, definition: ast.ClassDef, state: State) -> None:
        """A new module that did not move itself lives on the host, if it is seen to hold parameters there."""
        known = state.objects[token]
        if known.place != UNKNOWN or known.moved is not None:
            return
        parts = [state.place_of(one) for one in known.attributes.values() if _is_part(one)]
        if HOST in parts and all(place in {HOST, UNKNOWN, ANYWHERE} for place in parts):
            state.objects[token] = replace(known, place=HOST, managed=self.classes.is_managed(definition))

    def _item_of(self, definition: ast.ClassDef, node: ast.Call, arguments: Arguments, state: State) -> Value | None:
        """What one item of a dataset looks like, by its `__getitem__`."""
        methods = self.classes.methods(definition)
        method = methods.get("__getitem__")
        if method is None or method in self.calls or len(self.calls) >= DEPTH:
            return None
        inner = state.copy()
        receiver = Value(Kind.INSTANCE, token=self.new_token(node), definition=definition)
        if (constructor := methods.get("__init__")) is not None:
            self.follow(constructor, node, arguments, inner, receiver)
        with self.at(self.home_of(method)):
            return _collated(self._activate(method, self.symbolic_parameters(method, receiver, UNKNOWN), inner))


_CONTAINERS = frozenset({Kind.SEQUENCE, Kind.MAPPING, Kind.ENCODING})
_ANNOTATIONS = {
    "device": Kind.DEVICE,
    "Tensor": Kind.TENSOR,
    **{f"{name}Tensor": Kind.TENSOR for name in tables.TENSOR_TYPES},
    "Module": Kind.MODULE,
    "DataLoader": Kind.LOADER,
    "Optimizer": Kind.OPTIMIZER,
    "GradScaler": Kind.SCALER,
    "Generator": Kind.GENERATOR,
}
_MAPPING_ANNOTATIONS = frozenset({"Dict", "dict", "Mapping"})
_CONTAINER_ANNOTATIONS = _MAPPING_ANNOTATIONS | {"List", "list", "Sequence", "Iterable", "Set", "set"}
_BUILTIN_ANNOTATIONS = {"str": Kind.STRING, "int": Kind.NUMBER, "float": Kind.NUMBER, "bool": Kind.NUMBER}


def _is_array(name: str, evidence: Evidence) -> bool:
    """Whether a parameter that is bound once is used as an array, of whichever library."""
    other = evidence.texts | evidence.modules | evidence.called | evidence.plain
    return name in (evidence.tensors | evidence.shaped) - other and not evidence.bindings.get(name)


def _says_device(name: str) -> bool:
    return name == "device" or name.endswith("_device") or (name.startswith("device_") and not name.endswith("ids"))


def _head(annotation: ast.expr) -> str:
    """`Dict` of `typing.Dict[str, torch.Tensor]`."""
    head = annotation.value if isinstance(annotation, ast.Subscript) else annotation
    return ast.unparse(head).rpartition(".")[2]


def _only_device(parameter: ast.arg) -> bool:
    """Whether the annotation allows nothing but a `torch.device`."""
    return isinstance(parameter.annotation, (ast.Attribute, ast.Name))


def _defaults(definition: Function | ast.Lambda) -> dict[str, ast.expr | None]:
    """The default of each parameter that has one."""
    spec = definition.args
    positional = [one.arg for one in (*spec.posonlyargs, *spec.args)]
    defaults: dict[str, ast.expr | None] = dict(zip(reversed(positional), reversed(spec.defaults)))
    defaults.update((one.arg, node) for one, node in zip(spec.kwonlyargs, spec.kw_defaults))
    return defaults


def _leaves_device_out(definition: Function | ast.Lambda, arguments: Arguments, owner: Value | None) -> bool:
    """Whether a call gives a `device` that is None by default no value, and nothing that may have one of its own."""
    default = _defaults(definition).get("device")
    if not isinstance(default, ast.Constant) or default.value is not None or owner is not None:
        return False
    names = [one.arg for one in (*definition.args.posonlyargs, *definition.args.args)]
    given = arguments.starred or "device" in names[: len(arguments.positional)]
    given = given or any(one == "device" or one.startswith("**") for one in arguments.keywords)
    return not given and all(
        value.kind is not Kind.TENSOR and not may_be_device(value.place) for _, value in arguments.all()
    )


def _decorators(definition: ast.AST) -> set[str]:
    if not isinstance(definition, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return set()
    return {ast.unparse(one) for one in definition.decorator_list}


def _is_static(definition: ast.AST) -> bool:
    return "staticmethod" in _decorators(definition)


def _is_property(definition: ast.AST) -> bool:
    return any("property" in one for one in _decorators(definition))


def _is_part(value: Value) -> bool:
    """A value that `module.to` would carry along."""
    return value.kind is Kind.MODULE or value.qualified in tables.PARAMETER_CLASSES


def _only_picked(function: Function) -> set[str]:
    """The names with which all that a function does is to use them as an index, or to ask for their shape."""
    uses: dict[str, list[ast.Name]] = {}
    picks: set[ast.AST] = set()
    asked: set[ast.AST] = set()
    for node in walk(function):
        if isinstance(node, ast.Name):
            uses.setdefault(node.id, []).append(node)
        elif isinstance(node, ast.Subscript):
            picks.update(node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice])
        elif isinstance(node, ast.Attribute) and node.attr in {"shape", "size", "ndim", "dim"}:
            asked.add(node.value)
    return {name for name, nodes in uses.items() if not picks.isdisjoint(nodes) and (picks | asked).issuperset(nodes)}


def _places_items(method: ast.AST | None) -> bool:
    """Whether a dataset's `__getitem__` speaks of a device: then its items may be anywhere."""
    return method is not None and any(
        (isinstance(node, ast.keyword) and node.arg == "device")
        or (isinstance(node, ast.Attribute) and node.attr in {"cuda", "device"})
        or (isinstance(node, ast.Name) and node.id == "device")
        for node in ast.walk(method)
    )


def _collated(value: Value) -> Value | None:
    """The structure that default collation gives to items: numbers and arrays become tensors, strings lists of them."""
    match value.kind:
        case Kind.TENSOR:
            return Value(Kind.TENSOR, value.place)
        case Kind.NUMBER | Kind.ARRAY:
            return Value(Kind.TENSOR)
        case Kind.UNKNOWN if value.place != UNKNOWN:
            return Value(place=value.place)
        case Kind.STRING:
            return Value(Kind.STRING)
        case Kind.SEQUENCE | Kind.MAPPING:
            items = tuple((key, _collated(one) or NOTHING) for key, one in value.items or ())
            return Value(value.kind, items=items) if items else _collated_alike(value)
    return None


def _collated_alike(value: Value) -> Value | None:
    """A sequence of which every element was placed: so is what is collated of each."""
    element = _collated(value.element) if value.element is not None else None
    placed = value.kind is Kind.SEQUENCE and element is not None and may_be_device(element.place)
    return Value(Kind.SEQUENCE, element=element) if placed else None
