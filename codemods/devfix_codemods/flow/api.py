"""Calls of the torch API: devices, factories, operations that need one place, datasets and loaders."""

import ast
import re

from devfix_codemods.flow import tables
from devfix_codemods.flow.converted import defaults, has_dimensions, may_be_tensor
from devfix_codemods.flow.evidence import dotted
from devfix_codemods.flow.expressions import derived, sequence
from devfix_codemods.flow.facts import DISTRIBUTION, Operand
from devfix_codemods.flow.library import is_metric_api, is_model_factory, is_module_api, is_tokenizer_api
from devfix_codemods.flow.machine import Arguments
from devfix_codemods.flow.modules import Modules
from devfix_codemods.flow.places import HOST, UNKNOWN, Device, Symbol, may_be_device
from devfix_codemods.flow.records import replace
from devfix_codemods.flow.state import State
from devfix_codemods.flow.tree import walk
from devfix_codemods.flow.values import (
    NONE,
    Birth,
    Kind,
    Object,
    Origin,
    Value,
    join_sources,
    tensor,
    with_dimensions,
)

_PLACING = frozenset({"device_map", "device", "quantization_config", "load_in_4bit", "load_in_8bit"})
"""Arguments of `from_pretrained` with which transformers places the model: to CUDA itself, where it quantizes it."""
_ACCELERATOR = Symbol("torch.accelerator#accelerator", chosen=True)


class Api(Modules):
    """Evaluates calls of functions and classes that are known by their qualified name."""

    def _api_call(self, node: ast.Call, name: str, arguments: Arguments, state: State) -> Value:
        if name == "torch.device":
            return self._device(node, arguments, state)
        if node in self.undone:
            return self.left_on_host(node, state)
        if name == "torch.accelerator.current_accelerator":
            return Value(Kind.DEVICE, denotes=_ACCELERATOR, qualified="torch.device", origin=Origin(Birth.CALL, node))
        if name == "torch.normal" and not tables.takes_size(node):
            return self._one_place(node, name, arguments, state)
        if name in tables.FACTORIES:
            return self._factory(node, name, arguments, state)
        if name in tables.LIKE_FACTORIES:
            return self._like(node, arguments, state)
        if name in tables.HOST_FACTORIES or name in tables.LEGACY_CONSTRUCTORS:
            return self._host_factory(node, name, arguments, state)
        if name.startswith(tables.FUNCTIONAL):
            return self._functional(node, name, arguments, state)
        if name in tables.ONE_PLACE or name in tables.SAME_PLACE:
            return self._one_place(node, name, arguments, state)
        return self._api_object(node, name, arguments, state)

    def _api_object(self, node: ast.Call, name: str, arguments: Arguments, state: State) -> Value:
        if name in tables.LOADERS:
            return self._loader(node, arguments, state)
        if name in tables.TENSOR_DATASETS:
            elsewhere = any(value.computed and value.kind is Kind.UNKNOWN for _, value in arguments.positional)
            parts = [tensor(value.place) for _, value in arguments.positional]
            return Value(Kind.DATASET, element=sequence(parts), computed=elsewhere)
        if name == "torch.utils.data.random_split":
            first = arguments.first
            return Value(Kind.SEQUENCE, element=replace(first, kind=Kind.DATASET))
        if name.endswith("DataParallel"):
            inner = arguments.first
            token = self.new_token(node)
            state.objects[token] = Object(managed=True)
            return Value(inner.kind, UNKNOWN, token=token)
        if name in tables.PASSED_ON:
            return arguments.first
        if name in {"copy.deepcopy", "copy.copy"}:
            return self._copy(node, arguments, state)
        if name == "torch.set_default_device":
            state.default = self.device_of(*arguments.positional[0], state) if arguments.positional else UNKNOWN
            return NONE
        if name == "torch.set_default_tensor_type":
            state.default = UNKNOWN
            return NONE
        if tables.is_distribution(name):
            return self._distribution(node, name, arguments, state)
        self._note_uses(node, name, arguments, state)
        if name.startswith(tables.OPTIMIZER_PREFIX):
            return Value(Kind.OPTIMIZER, token=self.new_token(node))
        if name in tables.SCALERS:
            return Value(Kind.SCALER)
        return self._module_or_unknown(node, name, arguments, state)

    def _module_or_unknown(self, node: ast.Call, name: str, arguments: Arguments, state: State) -> Value:
        if name in tables.PARAMETER_CLASSES:
            inner = arguments.first
            return replace(inner, kind=Kind.TENSOR, qualified=name, sources=(), scalar=False)
        if is_module_api(name):
            return self._torch_module(node, name, arguments, state)
        if name in {"torch.nn.Embedding.from_pretrained", "torch.nn.EmbeddingBag.from_pretrained"}:
            return self.new_module(node, HOST, state)
        if is_metric_api(name):
            return self._metric(node, name, arguments, state)
        if is_tokenizer_api(name):
            return Value(Kind.TOKENIZER)
        if is_model_factory(name):
            managed = any(key.arg in _PLACING or key.arg is None for key in node.keywords)
            around = any(value.kind is Kind.MODULE for _, value in arguments.all())  # its parts may be anywhere
            return self.new_module(node, UNKNOWN if managed or around else HOST, state)
        if name in tables.SHAPES_AS_TENSORS:
            return tensor(HOST, Origin(Birth.CALL, node))
        if name in tables.GENERATORS:
            return Value(Kind.GENERATOR, HOST, Origin(Birth.FACTORY, node))
        if name in {"torch.no_grad", "torch.inference_mode", "torch.save", "torch.onnx.export"}:
            return NONE
        if name.startswith("torch.") and name.rpartition(".")[2] in {"sigmoid", "softmax", "exp", "log", "sum", "mean"}:
            return self._one_place(node, name, arguments, state)
        return self.unknown_call(node, arguments, state)

    def _device(self, node: ast.Call, arguments: Arguments, state: State) -> Value:
        if not arguments.positional:
            return Value(Kind.DEVICE, qualified="torch.device")
        place = self.device_of(*arguments.positional[0], state)
        if len(arguments.positional) > 1 and isinstance(place, Device):
            index = arguments.positional[1][1].const
            place = (
                Device(f"{place.type}:{index}") if isinstance(index, int) else Symbol(ast.unparse(node), chosen=True)
            )
        if place == UNKNOWN:
            place = Symbol(f"device@{self.position(node)}#{_short(node)}", chosen=True)
        return Value(Kind.DEVICE, denotes=place, qualified="torch.device", origin=Origin(Birth.CALL, node))

    def _factory(self, node: ast.Call, name: str, arguments: Arguments, state: State) -> Value:
        if "device" in arguments.keywords:
            return self._made_where_told(node, arguments, state)
        if any(name.startswith("**") for name in arguments.keywords):
            return tensor(UNKNOWN)
        if name in tables.CONVERSIONS and arguments.first.kind is Kind.TENSOR:
            first = arguments.first
            return replace(tensor(first.place, Origin(Birth.FACTORY, node), scalar=first.scalar), sources=first.sources)
        if name in tables.KEEPING and _is_part_of_placed(arguments, state):
            return tensor(UNKNOWN, Origin(Birth.FACTORY, node))
        if node.args and isinstance(node.args[0], (ast.List, ast.Tuple)) and not node.args[0].elts:
            return self._made_on_host(node, state, scalar=name not in tables.CONVERSIONS)
        scalar = name in tables.CONVERSIONS and arguments.first.kind not in {Kind.SEQUENCE, Kind.ARRAY, Kind.MAPPING}
        if scalar and arguments.positional and arguments.first.kind is not Kind.NUMBER:
            given = arguments.positional[0][0]
            scalar = not has_dimensions(self.names, given)
            if not scalar and may_be_tensor(self.names, given):
                return replace(self._made_on_host(node, state), place=UNKNOWN)
        return self._made_on_host(node, state, scalar=scalar)

    def _made_where_told(self, node: ast.Call, arguments: Arguments, state: State) -> Value:
        """A tensor with `device=`: beside one that a factory left on the host, it is there by the same fault."""
        expression, device = arguments.keywords["device"]
        made = tensor(self.device_of(expression, device, state), Origin(Birth.FACTORY, node))
        return replace(made, sources=device.sources) if made.place == HOST else made

    def _made_on_host(self, node: ast.Call, state: State, *, scalar: bool = False) -> Value:
        """A new tensor where factories put theirs."""
        place = state.default if state.default is not None else HOST
        made = tensor(place, Origin(Birth.FACTORY, node), scalar=scalar)
        if place != HOST or self.frame.context.worker or any(one.arg in {"generator", "out"} for one in node.keywords):
            return made
        return replace(made, sources=(node,))

    def _distribution(self, node: ast.Call, name: str, arguments: Arguments, state: State) -> Value:
        """A distribution of numbers, or of tensors that factories put on the host: it samples there."""
        given = [value for _, value in arguments.all() if value.kind is not Kind.NONE and not self._is_number(value)]
        alone = not arguments.all() or not all(map(_is_of_host, given))
        if alone or self._sets_parameters():
            return self.unknown_call(node, arguments, state)
        made = Value(Kind.INSTANCE, UNKNOWN, Origin(Birth.CALL, node), self.new_token(node), qualified=name)
        shaped = [value.sources for value in given if not value.scalar]
        return replace(made, scalar=all(value.scalar for value in given), sources=join_sources(*shaped))

    def _is_number(self, value: Value) -> bool:
        """A number; or a parameter that is one by default, as it came."""
        if value.kind is Kind.NUMBER:
            return True
        if value.kind is not Kind.UNKNOWN or value.computed or value.origin is None:
            return False
        spec = self.names.parent(value.origin.node) if value.origin.birth is Birth.PARAMETER else None
        function = self.names.parent(spec) if spec is not None else None
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            return False
        default = dict(defaults(function)).get(value.origin.name or "")
        return isinstance(default, ast.Constant) and type(default.value) in {int, float}

    def _sets_parameters(self) -> bool:
        """`normal.loc = normal.loc.cuda()` takes a distribution to a device, in whichever part of the file."""
        return _SETS_PARAMETER.search(self.source.data) is not None

    def sample(self, node: ast.Call, distribution: Value, arguments: Arguments, state: State) -> Value:
        """What `distribution`, which samples on the host, gives: one number where it is asked for no shape."""
        return self._made_on_host(node, state, scalar=distribution.scalar and not arguments.all())

    def density(self, node: ast.Call, distribution: Value, arguments: Arguments, state: State) -> None:
        """`normal.log_prob(x)`: parameters that have dimensions must be where `x` is."""
        held = Value(Kind.TENSOR, HOST, distribution.origin, sources=distribution.sources)
        function = node.func.value if isinstance(node.func, ast.Attribute) else node.func
        parameters = Operand(function, held, HOST, DISTRIBUTION)
        given = [Operand(one, value, state.place_of(value)) for one, value in arguments.positional[:1]]
        self.meet(node, f"`.{ast.unparse(node.func).rpartition('.')[2]}`", [*given, parameters], state, demands=1)

    def _host_factory(self, node: ast.Call, name: str, arguments: Arguments, state: State) -> Value:
        first = arguments.first
        if first.kind is Kind.TENSOR or (first.kind is Kind.SEQUENCE and first.place != UNKNOWN):
            place = first.place if first.place != UNKNOWN else HOST
            return replace(tensor(place, Origin(Birth.FACTORY, node)), sources=first.sources)
        if first.kind is Kind.SEQUENCE and name == tables.PAD_SEQUENCE:
            return self._one_place(node, tables.PAD_SEQUENCE, arguments, state)
        if "device" in arguments.keywords:
            return self._made_where_told(node, arguments, state)
        if name == tables.PAD_SEQUENCE and not self.frame.context.worker:
            return tensor(UNKNOWN)
        made = self._made_on_host(node, state)
        return replace(made, place=HOST) if name != tables.PAD_SEQUENCE else replace(made, sources=())

    def _like(self, node: ast.Call, arguments: Arguments, state: State) -> Value:
        if "device" in arguments.keywords:
            return self._made_where_told(node, arguments, state)
        first = arguments.first
        return derived(node, first.place, [Operand(node, first, first.place)])

    def _functional(self, node: ast.Call, name: str, arguments: Arguments, state: State) -> Value:
        given = arguments.positional[:2] if name.endswith("ctc_loss") else arguments.all()
        operands = [
            Operand(expression, value, state.place_of(value), _loss_role(name, index))
            for index, (expression, value) in enumerate(given)
            if not (name.endswith("multi_head_attention_forward") and _holds_nothing(expression))
        ]
        place = self.meet(node, name.removeprefix("torch.nn."), operands, state, demands=_demands(name))
        return derived(node, place, operands)

    def _one_place(self, node: ast.Call, name: str, arguments: Arguments, state: State) -> Value:
        operands: list[Operand] = []
        shaped = name.removeprefix("torch.") in tables.MATRIX_PRODUCTS
        for index, (expression, one) in enumerate(arguments.positional):
            value = with_dimensions(one) if shaped else one
            if index == 0 and name in tables.SEQUENCE_FUNCTIONS:
                operands.extend(self._parts(expression, value, state))
            elif not (value.scalar and name not in tables.NO_SCALARS) and not _are_numbers(expression):
                operands.append(Operand(expression, value, state.place_of(value)))
        if "tensors" in arguments.keywords:
            operands.extend(self._parts(*arguments.keywords["tensors"], state))
        named = [arguments.keywords[one] for one in tables.TENSOR_KEYWORDS if one in arguments.keywords]
        others = [Operand(one, value, state.place_of(value)) for one, value in named if not value.scalar]
        operands = [*others, *operands] if "input" in arguments.keywords else [*operands, *others]
        if not operands and arguments.first.scalar:
            return replace(arguments.first, origin=Origin(Birth.OPERATION, node), token=None)
        place = self.meet(node, f"`{name}`", operands, state, demands=_demands(name))
        last = name.rpartition(".")[2]
        alone = last in tables.REDUCTIONS and len(arguments.positional) == 1 and not arguments.keywords
        result = derived(node, place, operands)
        numbers = name not in tables.SEQUENCE_FUNCTIONS and all(one.value.scalar for one in operands)
        return replace(result, scalar=(alone and bool(result.sources)) or (numbers and bool(operands)))

    def _note_uses(self, node: ast.Call, name: str, arguments: Arguments, state: State) -> None:
        """What calls that give no tensor need of those they get."""
        if name in tables.COLLECTIVES:
            self.note_collective(node, name, arguments, state)
        if name in tables.BACKWARD:
            self._differentiate(node, name, arguments, state)

    def _differentiate(self, node: ast.Call, name: str, arguments: Arguments, state: State) -> None:
        """`torch.autograd.grad(outputs, inputs, grad_outputs)`: each output and its gradient must be on one device."""
        index, keyword = tables.BACKWARD[name]
        given = arguments.get(index, keyword)
        if given is None or not arguments.positional:
            return
        parts = [*self._parts(*arguments.positional[0], state), *self._parts(*given, state)]
        operands = [one for one in parts if not one.value.scalar and one.value.kind is not Kind.NONE]
        self.meet(node, f"`{name}`", operands, state, demands=1)

    def _parts(self, node: ast.expr, value: Value, state: State) -> list[Operand]:
        """The tensors inside a sequence argument, each with its own expression where it is spelled out."""
        if isinstance(node, (ast.Tuple, ast.List)) and value.items is not None and len(node.elts) == len(value.items):
            return [Operand(one, held, state.place_of(held)) for one, (_, held) in zip(node.elts, value.items)]
        if value.element is not None:
            return [Operand(node, value.element, state.place_of(value.element))]
        return [Operand(node, value, state.place_of(value))]

    def _loader(self, node: ast.Call, arguments: Arguments, state: State) -> Value:
        dataset = arguments.get(0, "dataset")
        custom = any(key.arg in {"collate_fn", None} for key in node.keywords) or len(node.args) > 6
        prototype = _item_of(dataset[1]) if dataset and not custom else None
        elsewhere = self._may_place(node, arguments, state)
        return Value(Kind.LOADER, element=prototype, token=self.new_token(node), computed=elsewhere)

    def _may_place(self, node: ast.Call, arguments: Arguments, state: State) -> bool:
        """Workers collate on the host, unless a collate function, the dataset or the default device says otherwise."""
        collate = arguments.keywords.get("collate_fn")
        own = collate[1].definition if collate is not None else None
        if isinstance(own, (ast.FunctionDef, ast.Lambda)) and self._moves_inside(own):
            return True
        if collate is not None and own is None and collate[1].kind not in {Kind.API, Kind.NONE}:
            return True
        dataset = arguments.get(0, "dataset")
        given_device = dataset is not None and dataset[1].kind in {Kind.UNKNOWN, Kind.DATASET} and dataset[1].computed
        return (
            given_device or state.default is not None or (dataset is not None and self._knows_place(node, dataset[0]))
        )

    def _knows_place(self, node: ast.Call, dataset: ast.expr) -> bool:
        """Whether the code around reads `dataset.device`, or `loader.dataset.device`: it takes items to be there.

        Not where it moves them there, in a loop.
        """
        statement = self.names.statement(node)
        loaders = [dotted(one) for one in statement.targets] if isinstance(statement, ast.Assign) else []
        text = dotted(dataset) or ""
        texts = {f"{text}.device", *(f"{one}.dataset.device" for one in loaders)}
        if not text or not any(one.encode() in self.source.data for one in texts):
            return False
        kind = (ast.ClassDef,) if text.startswith("self.") else (ast.FunctionDef, ast.AsyncFunctionDef)
        around = next((one for one in self.names.ancestors(node) if isinstance(one, kind)), self.source.tree)
        reads = [one for one in walk(around) if isinstance(one, ast.Attribute) and dotted(one) in texts]
        return bool(reads) and not any(self._is_target_in_loop(one) for one in reads)

    def _is_target_in_loop(self, device: ast.expr) -> bool:
        """Whether a loop moves something to `device`."""
        call = self.names.parent(device)
        moves = isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "to"
        return moves and any(isinstance(one, ast.For | ast.AsyncFor) for one in self.names.ancestors(device))

    def _moves_inside(self, definition: ast.AST) -> bool:
        """Whether a function moves anything, or makes anything on a device."""
        return any(
            (isinstance(node, ast.Attribute) and node.attr in {"to", "cuda"})
            or (isinstance(node, ast.keyword) and node.arg == "device")
            for node in ast.walk(definition)
        )


_SETS_PARAMETER = re.compile(
    rb"(?<!self)\.(?:loc|scale|low|high|probs|logits|rate|df|mean|concentration\w*|covariance_matrix|scale_tril)\s*=[^=]"
)


def _is_of_host(value: Value) -> bool:
    """Of what a distribution gets: a tensor that a factory put on the host, or such a distribution."""
    made = value.kind is Kind.TENSOR and value.place == HOST and bool(value.sources)
    return made or (value.kind is Kind.INSTANCE and tables.is_distribution(value.qualified or ""))


def _is_part_of_placed(arguments: Arguments, state: State) -> bool:
    """`net.table`, of an object that is somewhere: what is converted may be a tensor there."""
    text = dotted(arguments.positional[0][0]) if arguments.positional else None
    if text is None or "." not in text or arguments.first.kind is not Kind.UNKNOWN:
        return False
    owner = state.env.get(text.partition(".")[0])
    return owner is not None and text.partition(".")[0] != "self" and may_be_device(state.place_of(owner))


def _item_of(dataset: Value) -> Value | None:
    """What one item of a dataset is: a tensor's rows are tensors."""
    if dataset.kind is Kind.TENSOR or (dataset.kind is Kind.UNKNOWN and may_be_device(dataset.place)):
        return tensor(dataset.place)
    return dataset.element


def _demands(name: str) -> int:
    """How many arguments, or elements of the first, can be nothing but tensors."""
    if name not in tables.TENSOR_FUNCTIONS:
        return 0
    return 2 if name in tables.TENSOR_PAIRS else 99 if name in tables.SEQUENCE_FUNCTIONS else 1


def _loss_role(name: str, index: int) -> str:
    return "target" if name in tables.LOSS_FUNCTIONS and index == 1 else "argument"


def _short(node: ast.AST) -> str:
    text = ast.unparse(node)
    return text if len(text) <= 40 else f"{text[:37]}..."


def _holds_nothing(node: ast.expr) -> bool:
    """`torch.empty([0])`, in the place of weights that are given one by one."""
    sizes = node.args if isinstance(node, ast.Call) else []
    return len(sizes) == 1 and ast.unparse(sizes[0]) in {"0", "[0]", "(0,)"}


def _are_numbers(node: ast.expr) -> bool:
    """`[1]`, `(0, -1)`: dimensions, which are nowhere."""
    return isinstance(node, ast.List | ast.Tuple) and all(
        isinstance(one.operand if isinstance(one, ast.UnaryOp) else one, ast.Constant) for one in node.elts
    )
