"""Values of expressions."""

import ast
from collections.abc import Callable, Hashable
from functools import lru_cache
from typing import ClassVar

from devfix_codemods.flow import tables
from devfix_codemods.flow.asked import tensor_branch
from devfix_codemods.flow.evidence import dotted, last_name
from devfix_codemods.flow.facts import Operand
from devfix_codemods.flow.machine import Frame, Machine, OutOfBudgetError, is_unknown_item
from devfix_codemods.flow.omitted import is_default, omission
from devfix_codemods.flow.places import HOST, UNKNOWN, Device, Place, Symbol, may_be_device
from devfix_codemods.flow.records import replace
from devfix_codemods.flow.state import State, join_states
from devfix_codemods.flow.values import (
    NONE,
    NOTHING,
    NUMBER,
    PLACELESS,
    STRING,
    BatchItem,
    Birth,
    Kind,
    Object,
    Origin,
    Value,
    join_sources,
    join_values,
    with_dimensions,
)


class Expressions(Machine):
    """Evaluates every form of expression but calls."""

    _evaluators: ClassVar[dict[type[ast.expr], Callable[..., Value]]] = {}

    def evaluate(self, node: ast.expr, state: State) -> Value:
        self.steps += 1  # as `step`, at half the cost
        if self.steps > self.limit:
            raise OutOfBudgetError
        kind = node.__class__
        method = self._evaluators.get(kind)
        if method is None:
            method = self._evaluators[kind] = getattr(type(self), f"_{kind.__name__.lower()}", Expressions._other)
        return method(self, node, state)

    def _other(self, node: ast.expr, state: State) -> Value:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                self.evaluate(child, state)
        return NOTHING

    # -- atoms

    def _constant(self, node: ast.Constant, state: State) -> Value:
        return _constant_value(type(node.value).__name__, node.value)

    def _joinedstr(self, node: ast.JoinedStr, state: State) -> Value:
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                self.evaluate(part.value, state)
        first = node.values[0] if node.values else None
        if isinstance(first, ast.Constant) and str(first.value).startswith(("cuda:", "xpu:", "npu:")):
            return replace(STRING, denotes=Symbol(ast.unparse(node), chosen=True))
        return STRING

    def _name(self, node: ast.Name, state: State) -> Value:
        found = self.lookup(node.id, state)
        if found is not None:
            return found
        if (elsewhere := self.imported(node, state)) is not None:
            return elsewhere
        qualified = self.api(node)
        if qualified is not None:
            return Value(Kind.API, qualified=qualified)
        return Value(token=f"name#{node.id}", qualified=None)

    def lookup(self, name: str, state: State) -> Value | None:
        """What `name` is bound to: in this frame, in the functions around it, in the module."""
        if name in state.env:
            return state.env[name]
        frame: Frame | None = self.frame.parent
        while frame is not None:
            if name in frame.env:
                return frame.env[name]
            frame = frame.parent
        return None

    # -- attributes

    def _attribute(self, node: ast.Attribute, state: State) -> Value:
        if self.project is not None and self._is_import(node, state):
            if (elsewhere := self.imported(node, state)) is not None:
                return elsewhere
            if self.imported(node.value, state) is not None:
                return self.attribute_of(self.evaluate(node.value, state), node, state)
        qualified = self.api(node)
        if qualified is not None and self._is_import(node, state):
            return Value(Kind.API, qualified=qualified)
        base = self.evaluate(node.value, state)
        return self.attribute_of(base, node, state)

    def _is_import(self, node: ast.Attribute, state: State) -> bool:
        root: ast.expr = node
        while isinstance(root, ast.Attribute):
            root = root.value
        return isinstance(root, ast.Name) and self.lookup(root.id, state) is None

    def attribute_of(self, base: Value, node: ast.Attribute, state: State) -> Value:
        """The value of `base.attr`."""
        name = node.attr
        if name in tables.TENSOR_PLAIN_ATTRIBUTES and base.kind not in {Kind.INSTANCE, Kind.API, Kind.MODULE}:
            return Value(Kind.DTYPE) if name == "dtype" else NUMBER
        if base.token is not None and (held := state.attribute(base.token, name)) is not None:
            return self._held(base, held, state)
        if name == "__dict__":
            self.disturb_parts(base, state)
        if name == "device" and base.kind not in {Kind.INSTANCE, Kind.API}:
            return self._device_of(base, node, state)
        if base.kind is Kind.API:
            return Value(Kind.API, qualified=f"{base.qualified}.{name}")
        if base.kind is Kind.MODULE:
            return self._module_attribute(base, node, state)
        if base.kind in {Kind.TENSOR, Kind.BATCH, Kind.ENCODING}:
            return self._tensor_attribute(base, name, node)
        moved = base.origin is not None and base.origin.birth is Birth.MOVE
        if base.kind is Kind.INSTANCE or (base.token is not None and not moved):
            made = self.made_by_property(base, name, state)
            return made if made is not None else self._unknown_attribute(base, node)
        if base.place != UNKNOWN and base.kind not in PLACELESS:
            return replace(base, kind=Kind.UNKNOWN, token=None, items=None, element=None, batch=None)
        return NOTHING

    def _held(self, base: Value, held: Value, state: State) -> Value:
        """What an object holds: parameters, buffers and modules from elsewhere live where their module does."""
        place = state.place_of(base)
        from_elsewhere = held.kind is Kind.MODULE and held.token not in state.objects and isinstance(place, Symbol)
        return replace(held, place=place, sources=()) if is_carried(held) or from_elsewhere else held

    def _device_of(self, base: Value, node: ast.Attribute, state: State) -> Value:
        place = HOST if base.sources else state.place_of(base)
        text = dotted(node)
        if place == UNKNOWN and text is not None:
            owner = base.token or text.rpartition(".")[0]
            place = Symbol(f"{owner}.device#{text}", chosen=True)
        return Value(Kind.DEVICE, denotes=place, qualified="torch.device", spelled=text, sources=base.sources)

    def _module_attribute(self, base: Value, node: ast.Attribute, state: State) -> Value:
        place = state.place_of(base)
        if node.attr in {"weight", "bias"} or node.attr.endswith(("_weight", "_embedding", "_token")):
            return Value(Kind.TENSOR, place)
        if node.attr in {"training", "in_features", "out_features", "config"}:
            return Value(token=f"{base.token}.{node.attr}" if base.token else None)
        if node.attr == "module":
            return base
        if node.attr == "features" and base.origin is not None and base.origin.birth is Birth.MODULE:
            return self._piece(base, node.attr, state)
        return Value(Kind.UNKNOWN, place, token=None, spelled=dotted(node))

    def _piece(self, base: Value, name: str, state: State) -> Value:
        """A module that is a part of one that was built as a whole, and moves with it."""
        known = state.objects.get(base.token or "")
        part = Value(
            Kind.MODULE, state.place_of(base), base.origin, token=f"{base.token}.{name}" if base.token else None
        )
        if known is not None and base.token and part.token and part.token not in state.objects:
            state.objects[part.token] = Object(part.place, known.moved, born=known.born)
            state.objects[base.token] = replace(known, attributes={**known.attributes, name: part})
        return part

    def disturb_parts(self, base: Value, state: State) -> None:
        """Any attribute may be meant: where the modules among them are is open from here on."""
        known = state.objects.get(base.token or "")
        for value in list(known.attributes.values()) if known is not None else ():
            state.disturb(value)

    def _tensor_attribute(self, base: Value, name: str, node: ast.Attribute) -> Value:
        if base.kind is Kind.ENCODING:
            return encoding_part(base, node, node.value)
        if name in tables.TENSOR_ATTRIBUTES and base.kind is Kind.TENSOR:
            return replace(base, token=None)
        if base.batch is not None:
            return child_of_batch(base, name, node)
        return replace(base, kind=Kind.UNKNOWN if base.kind is not Kind.TENSOR else Kind.TENSOR, token=None, items=None)

    def _unknown_attribute(self, base: Value, node: ast.Attribute) -> Value:
        token = f"{base.token}.{node.attr}"
        text = dotted(node)
        kind = Kind.MODULE if text and text in self.module_evidence() else Kind.UNKNOWN
        computed = base.place if token.startswith("call@") else UNKNOWN
        place = Symbol(token) if kind is Kind.MODULE else computed
        return Value(kind, place, token=token, spelled=text)

    # -- subscripts and displays

    def _subscript(self, node: ast.Subscript, state: State) -> Value:
        base = self.evaluate(node.value, state)
        key = self.evaluate(node.slice, state)
        const = key.const if isinstance(key.const, (int, str)) else None
        return self.element_at(base, const, node, key, state)

    def _slice(self, node: ast.Slice, state: State) -> Value:
        for part in (node.lower, node.upper, node.step):
            if part is not None:
                self.evaluate(part, state)
        return NOTHING

    def element_at(self, base: Value, key: int | str | None, node: ast.Subscript, index: Value, state: State) -> Value:
        """`base[key]`; `key` is None where it is not constant."""
        if key is not None and (known := base.item(key)) is not None:
            return replace(known, origin=Origin(Birth.LOADER, node)) if born_in_batch(known) else known
        if base.kind is Kind.SEQUENCE and isinstance(node.slice, ast.Slice):
            return replace(base, items=None)
        if base.batch is not None and base.kind is not Kind.TENSOR:
            return child_of_batch(base, key, node) if key is not None else replace(base, kind=Kind.UNKNOWN, batch=None)
        if base.kind in {Kind.SEQUENCE, Kind.MAPPING, Kind.LOADER}:
            return base.element or NOTHING
        if base.kind is Kind.ENCODING:
            return encoding_part(base, node, node.value)
        if base.kind is Kind.TENSOR:
            self.indexing(base, node, index, state)
            one = base.sources and index.kind in {Kind.NUMBER, Kind.UNKNOWN} and not isinstance(node.slice, ast.Slice)
            scalar = (base.scalar or (bool(one) and not _has_rows(base))) and not _has_dimensions(node.slice)
            return replace(base, token=None, origin=base.origin, scalar=scalar, computed=True)
        if base.kind is Kind.MODULE:
            if isinstance(node.slice, ast.Slice):
                return self._piece(base, f"[{ast.unparse(node.slice)}]", state)
            return Value(Kind.MODULE, state.place_of(base), token=f"{base.token}[{key}]" if base.token else None)
        if base.kind is Kind.UNKNOWN and not base.of_host and _picks_rows(node.slice, index):
            place = base.place if base.place != UNKNOWN else Symbol(f"tensor@{self.position(node)}")
            return Value(Kind.TENSOR, place, Origin(Birth.OPERATION, node))
        if base.place != UNKNOWN and base.kind is Kind.UNKNOWN:
            return replace(base, token=None, items=None)
        token = f"{base.token}[{key}]" if base.token and key is not None else None
        return Value(token=token, of_host=base.of_host)

    def indexing(self, base: Value, node: ast.Subscript, index: Value, state: State) -> None:
        """A device index into a host tensor fails; the reverse is legal."""
        if base.place != HOST and not base.sources:
            return
        parts = [(node.slice, index)]
        if isinstance(node.slice, ast.Tuple) and index.items is not None:
            parts = [(one, held) for one, (_, held) in zip(node.slice.elts, index.items)]
        for expression, value in parts:
            if _is_tensor_index(expression, value):
                indexed = Operand(node.value, base, base.place, "indexed")
                self.meet(node, "indexing", [indexed, Operand(expression, value, value.place, "index")], state)

    def _tuple(self, node: ast.Tuple | ast.List, state: State) -> Value:
        values = [self.evaluate(one, state) for one in node.elts]
        if any(isinstance(one, ast.Starred) for one in node.elts):
            return Value(Kind.SEQUENCE, element=_join_all(values))
        return sequence(values)

    _list = _tuple

    def _set(self, node: ast.Set, state: State) -> Value:
        return Value(Kind.SEQUENCE, element=_join_all([self.evaluate(one, state) for one in node.elts]))

    def _dict(self, node: ast.Dict, state: State) -> Value:
        items: list[tuple[int | str, Value]] = []
        exact = True
        for key, value in zip(node.keys, node.values):
            name = self.evaluate(key, state).const if key is not None else None
            held = self.evaluate(value, state)
            exact = exact and isinstance(name, (int, str))
            items.append((name if isinstance(name, (int, str)) else "", held))
        element = _join_all([value for _, value in items])
        return Value(Kind.MAPPING, items=tuple(items) if exact else None, element=element)

    def _starred(self, node: ast.Starred, state: State) -> Value:
        inner = self.evaluate(node.value, state)
        return self.elements(inner, node, None)

    # -- operators

    def _binop(self, node: ast.BinOp, state: State) -> Value:
        left, right = self.evaluate(node.left, state), self.evaluate(node.right, state)
        if isinstance(node.op, ast.Mult) and Kind.SEQUENCE in {left.kind, right.kind}:
            return Value(Kind.SEQUENCE)  # `[x] * n`, also where `n` is a tensor, which is read as a number
        if isinstance(node.op, ast.MatMult):
            left, right = with_dimensions(left), with_dimensions(right)
        return self._operator(node, [(node.left, left), (node.right, right)], _symbol(node.op), state)

    def _compare(self, node: ast.Compare, state: State) -> Value:
        parts = [(one, self.evaluate(one, state)) for one in (node.left, *node.comparators)]
        if all(isinstance(op, (ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE)) for op in node.ops):
            return self._operator(node, parts, _symbol(node.ops[0]), state)
        return NUMBER

    def _operator(self, node: ast.expr, parts: list[tuple[ast.expr, Value]], sign: str, state: State) -> Value:
        """Arithmetic and comparison: tensors must be on one device, 0-dim host tensors excepted."""
        tensors = [(one, value) for one, value in parts if value.kind not in PLACELESS]
        if not tensors:
            kinds = {value.kind for _, value in parts}
            return Value(kinds.pop()) if len(kinds) == 1 else NUMBER
        if any(value.kind is Kind.TENSOR and value.sources for _, value in tensors):
            tensors = [(one, self._as_shaped(value)) for one, value in tensors]
        operands = [Operand(one, value, state.place_of(value)) for one, value in tensors if not value.scalar]
        if not any(value.kind is Kind.TENSOR or may_be_device(value.place) for _, value in tensors):
            of_host = any(value.of_host for _, value in tensors)
            return Value(place=self._quiet_place(operands), origin=Origin(Birth.OPERATION, node), of_host=of_host)
        place = self.meet(node, f"`{sign}`", operands, state) if operands else tensors[0][1].place
        return replace(derived(node, place, operands), scalar=all(value.scalar for _, value in tensors))

    def _as_shaped(self, value: Value) -> Value:
        """A parameter of a module's method that has a `shape`, and meets a tensor: no array of numpy does that."""
        origin, owner = value.origin, self.frame.context.owner
        given = (
            origin is not None and origin.birth is Birth.PARAMETER and not value.computed and value.token is not None
        )
        if value.kind is not Kind.UNKNOWN or not given or owner is None or not self.classes.is_module(owner):
            return value
        evidence = self.frame.evidence
        if origin is None or origin.name not in evidence.shaped - evidence.numpy - evidence.modules:
            return value
        return replace(value, kind=Kind.TENSOR, place=Symbol(value.token or ""), token=None)

    def _quiet_place(self, operands: list[Operand]) -> Place:
        places = {one.place for one in operands}
        return places.pop() if len(places) == 1 else UNKNOWN

    def _unaryop(self, node: ast.UnaryOp, state: State) -> Value:
        value = self.evaluate(node.operand, state)
        return NUMBER if isinstance(node.op, ast.Not) else replace(value, token=None, const=None)

    def _boolop(self, node: ast.BoolOp, state: State) -> Value:
        values = [self.evaluate(one, state) for one in node.values]
        return values[0] if all(one == values[0] for one in values) else _join_all(values) or NOTHING

    def _ifexp(self, node: ast.IfExp, state: State) -> Value:
        self.evaluate(node.test, state)
        other = state.copy()
        first, second = self.evaluate(node.body, state), self.evaluate(node.orelse, other)
        _absorb(state, join_states(state, other))
        found = omission(node.test) if self.frame.context.symbolic else None
        if found is not None and is_default(default := first if found[1] else second):
            return default
        if (tensor := tensor_branch(node)) is not None:
            return first if tensor is node.body else second
        return join_values(first, second)

    def _namedexpr(self, node: ast.NamedExpr, state: State) -> Value:
        value = self.evaluate(node.value, state)
        state.bind(node.target.id, value)
        return value

    def _await(self, node: ast.Await, state: State) -> Value:
        return self.evaluate(node.value, state)

    def _lambda(self, node: ast.Lambda, state: State) -> Value:
        return Value(Kind.FUNCTION, definition=node)

    def _call(self, node: ast.Call, state: State) -> Value:
        return self.call(node, state)

    # -- comprehensions

    def _listcomp(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp, state: State) -> Value:
        inner = self._generators(node.generators, state)
        return Value(Kind.SEQUENCE, element=self.evaluate(node.elt, inner))

    _setcomp = _listcomp
    _generatorexp = _listcomp

    def _dictcomp(self, node: ast.DictComp, state: State) -> Value:
        inner = self._generators(node.generators, state)
        self.evaluate(node.key, inner)
        return Value(Kind.MAPPING, element=self.evaluate(node.value, inner))

    def _generators(self, generators: list[ast.comprehension], state: State) -> State:
        inner = state.copy()
        inner.objects = state.objects  # what a comprehension builds or moves outlives it
        for generator in generators:
            iterated = self.evaluate(generator.iter, inner)
            self.assign(generator.target, self.elements(iterated, generator.iter, None), inner)
            for test in generator.ifs:
                self.evaluate(test, inner)
        return inner

    def assign(self, target: ast.expr, value: Value, state: State) -> None:
        raise NotImplementedError

    # -- iteration

    def elements(self, value: Value, node: ast.AST, statement: ast.AST | None) -> Value:
        """What iterating over `value` yields. `statement` is the loop, for values that come fresh from a loader."""
        if value.items is not None and value.kind is Kind.SEQUENCE:
            return _join_all([one for _, one in value.items]) or NOTHING
        if value.kind in {Kind.SEQUENCE, Kind.MAPPING} and value.element is not None:
            return STRING if value.kind is Kind.MAPPING else value.element
        if value.kind is Kind.LOADER:
            return self._fresh_batch(value, node, statement or node, UNKNOWN if value.computed else HOST)
        if value.kind in {Kind.TENSOR, Kind.ENCODING}:
            return replace(value, token=None, batch=None, scalar=value.scalar or bool(value.sources))
        if value.batch is not None:
            return replace(value, kind=Kind.UNKNOWN, batch=None, place=UNKNOWN, items=None, element=None)
        if statement is not None and value.kind is Kind.UNKNOWN and value.place == UNKNOWN:
            return self._fresh_batch(value, node, statement, Symbol(f"batch@{self.position(node)}"))
        if value.kind is Kind.NUMBER:
            return NUMBER  # of a range
        return Value(place=value.place) if value.kind is Kind.UNKNOWN else NOTHING

    def _fresh_batch(self, loader: Value, node: ast.AST, statement: ast.AST, place: Place) -> Value:
        """A batch from a loader. Its parts live on the host: workers and collation know no device."""
        token = f"batch@{self.position(node)}"
        origin = Origin(Birth.LOADER, statement)
        prototype = loader.element
        loaded = loader.kind is Kind.LOADER or any("loader" in text.lower() for text in _dotted_parts(node))
        batch = Value(Kind.UNKNOWN, place, origin, batch=BatchItem(token, (), statement, loaded))
        shaped = _shaped(batch, prototype) if prototype is not None else batch
        self.facts.batches.setdefault(token, shaped)
        return shaped


def _is_tensor_index(node: ast.expr, value: Value) -> bool:
    """A tensor; or an item by name of what lives with a module: `batch["index"]`."""
    named = isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and type(node.slice.value) is str
    return value.kind is Kind.TENSOR or (named and value.kind is Kind.UNKNOWN and isinstance(value.place, Symbol))


def is_carried(value: Value) -> bool:
    """A parameter or a buffer: it lives where its module lives."""
    return value.qualified in tables.PARAMETER_CLASSES


def _dotted_parts(node: ast.AST) -> list[str]:
    """The names from which an iterable is taken."""
    return [text for one in ast.walk(node) if isinstance(one, ast.expr) and (text := dotted(one)) is not None]


def _shaped(batch: Value, prototype: Value) -> Value:
    """`batch` with the structure that the dataset's items have."""
    if prototype.kind in {Kind.STRING, Kind.NONE}:
        return replace(prototype, place=UNKNOWN)
    if may_be_device(prototype.place):
        return replace(prototype, batch=None)
    if prototype.element is not None and may_be_device(prototype.element.place):
        return prototype
    if isinstance(prototype.place, Symbol):
        return replace(batch, kind=prototype.kind, place=UNKNOWN)
    items = None
    if prototype.items is not None and batch.batch is not None:
        path = batch.batch
        items = tuple((key, _shaped(replace(batch, batch=path.child(key)), one)) for key, one in prototype.items)
    element = _join_all([value for _, value in items]) if items else None
    return replace(batch, kind=prototype.kind, items=items, element=element)


def child_of_batch(base: Value, key: int | str | None, node: ast.AST) -> Value:
    """One element of a batch: as unplaced as the batch is."""
    assert base.batch is not None
    if key is not None and (known := base.item(key)) is not None:
        return replace(known, origin=Origin(Birth.LOADER, node)) if known.batch else known
    path = base.batch.child("*" if key is None else key)
    birth = base.origin.birth if base.origin else Birth.LOADER
    origin = base.origin if birth is Birth.MOVE else Origin(Birth.LOADER, node)
    return replace(base, kind=Kind.UNKNOWN, items=None, element=None, batch=path, origin=origin, token=None)


def sequence(values: list[Value]) -> Value:
    """A tuple or list of known elements."""
    return Value(Kind.SEQUENCE, items=tuple(enumerate(values)), element=_join_all(values))


def device_constant(text: str) -> Place:
    """The place that a device string names; Unknown for any other text."""
    kind, _, index = text.partition(":")
    if kind == "cpu" and (not index or index.isdigit()):
        return HOST
    known = kind in {"cuda", "mps", "xpu", "npu", "hpu", "mlu", "xla", "musa"}
    return Device(text) if known and (not index or index.isdigit()) else UNKNOWN


@lru_cache(maxsize=4096)
def _constant_value(kind: str, value: Hashable) -> Value:
    """The value of a literal. The type is part of the key: `True` and `1` are equal, and not the same."""
    match value:
        case str(text):
            return Value(Kind.STRING, const=text, denotes=device_constant(text))
        case bool() | int() | float():
            return Value(Kind.NUMBER, const=value)
        case None:
            return NONE
    return NOTHING


def _join_all(values: list[Value]) -> Value | None:
    result: Value | None = None
    for value in values:
        result = value if result is None else join_values(result, value)
    return result


def _absorb(state: State, joined: State | None) -> None:
    if joined is not None:
        state.env, state.objects, state.moved = joined.env, joined.objects, joined.moved


def derived(node: ast.expr, place: Place, operands: list[Operand]) -> Value:
    """The result of an operation. On the host, it is still the batch or the encoding that it was computed from."""
    if not may_be_device(place):
        for one in operands:
            origin = one.value.origin
            if origin is not None and origin.birth in {Birth.LOADER, Birth.ENCODING} and not is_unknown_item(one):
                return Value(Kind.TENSOR, place, origin, batch=one.value.batch, computed=True)
    of_host = any(one.value.of_host or (place == UNKNOWN and _is_on_host(one)) for one in operands)
    return Value(Kind.TENSOR, place, Origin(Birth.OPERATION, node), sources=_sources(place, operands), of_host=of_host)


def _is_on_host(operand: Operand) -> bool:
    return operand.place == HOST and operand.value.kind is Kind.TENSOR and not operand.value.sources


def _sources(place: Place, operands: list[Operand]) -> tuple[ast.Call, ...]:
    """The factories whose tensors alone a value on the host was computed from; none where others took part."""
    if place not in {HOST, UNKNOWN} or any(one.value.kind is Kind.TENSOR and not one.value.sources for one in operands):
        return ()
    return join_sources(*(one.value.sources for one in operands))


def _has_rows(value: Value) -> bool:
    """Whether a tensor is as a factory made it, with two dimensions or more: `torch.zeros(n, 3)`, `torch.eye(3)`."""
    call = value.origin.node if value.origin is not None and value.origin.birth is Birth.FACTORY else None
    if not isinstance(call, ast.Call) or value.computed or any(isinstance(one, ast.Starred) for one in call.args):
        return False
    name = last_name(call.func)
    listed = [one.elts for one in call.args if isinstance(one, ast.Tuple | ast.List)]
    if name in {"tensor", "as_tensor", "FloatTensor", "LongTensor"}:
        return any(bool(each) and all(isinstance(one, ast.List | ast.Tuple) for one in each) for each in listed)
    several = any(len(each) > 1 and not any(isinstance(one, ast.Starred) for one in each) for each in listed)
    return name == "eye" or several or (name in tables.SIZED and len(call.args) > 1)


def _picks_rows(node: ast.expr, index: Value) -> bool:
    """`x[rows, :]` with a tensor of rows: only a tensor is indexed like that."""
    if not isinstance(node, ast.Tuple) or not any(isinstance(one, ast.Slice) for one in node.elts):
        return False
    return any(held.kind is Kind.TENSOR and not held.scalar for _, held in index.items or ())


def _has_dimensions(node: ast.expr) -> bool:
    """`x[None]`, `x[:, None]`: what is cut or widened has a dimension."""
    parts = node.elts if isinstance(node, ast.Tuple) else [node]
    return any(isinstance(one, ast.Slice) or (isinstance(one, ast.Constant) and one.value is None) for one in parts)


def born_in_batch(value: Value) -> bool:
    """Whether a loader yielded the value, and nothing has been made of it since."""
    return value.batch is not None and value.origin is not None and value.origin.birth is Birth.LOADER


def encoding_part(base: Value, node: ast.expr, owner: ast.expr) -> Value:
    """One tensor of an encoding. Taken straight from the call it is born there; else the encoding stays its origin."""
    if base.origin is None or base.origin.birth is Birth.MOVE:
        return Value(Kind.TENSOR, base.place, base.origin)
    born = Origin(Birth.ENCODING, node) if isinstance(owner, ast.Call) else base.origin
    return Value(Kind.TENSOR, base.place, born, spelled=dotted(owner), definition=node)


def _symbol(op: ast.AST) -> str:
    return _SYMBOLS.get(type(op).__name__, "operator")


_SYMBOLS = {
    "Add": "+",
    "Sub": "-",
    "Mult": "*",
    "Div": "/",
    "FloorDiv": "//",
    "Mod": "%",
    "Pow": "**",
    "MatMult": "@",
    "BitAnd": "&",
    "BitOr": "|",
    "BitXor": "^",
    "Eq": "==",
    "NotEq": "!=",
    "Lt": "<",
    "LtE": "<=",
    "Gt": ">",
    "GtE": ">=",
}
