"""Where a tensor expression comes from, by syntax: surely the host, or somewhere that its owner may have moved.

Used where only the difference between "surely on the host" and "maybe not" matters, and no flow is asked for.
"""

import ast
import re
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from functools import cached_property

from devfix_codemods import scope
from devfix_codemods.flow import tables
from devfix_codemods.flow.bindings import Binding
from devfix_codemods.flow.evidence import Evidence, dotted, last_name
from devfix_codemods.flow.library import is_module_api, returns_tensors
from devfix_codemods.flow.tree import walk
from devfix_codemods.flow.units import Unit
from devfix_codemods.program import Program
from devfix_codemods.rules._called import called_function, called_method
from devfix_codemods.rules._callers import arguments
from devfix_codemods.rules._host_functions import gives_host
from devfix_codemods.rules._taken_to_host import is_brought, is_on_host, moves_to_host, sets_dtype
from devfix_codemods.rules._tensor_words import (
    COPIES,
    FROM_MODELS,
    HOST_LIBRARIES,
    HOST_MAKERS,
    NO_TENSORS,
    NUMBERS,
    OF_TENSORS,
    PLACES,
    SHAPES,
    TO_NUMBERS,
    sounds_like_model,
)


class Made(Enum):
    """Where a tensor was made; with several, the first in this order wins."""

    GIVEN = "a parameter"
    MODEL = "given by what is called like a module"
    COMPUTED = "given by a function that computes on the device of a model"
    OWNED = "an attribute"
    UNKNOWN = "who knows"
    HOST = "made on the host"


_ORDER = list(Made)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)
_OF_MODULES = frozenset({"parameters", "named_parameters", "buffers", "named_buffers"})
_MAPPINGS = frozenset({"dict", "collections.OrderedDict"})
_STEPS = 3000
"""Expressions looked at for one answer, at most: every name may have several values."""


class Whereabouts:
    """Answers for the expressions of one file. Those of the file at `home` keep those of the files that it asks."""

    def __init__(self, program: Program, home: "Whereabouts | None" = None) -> None:
        self._program = program
        self._names = program.names
        self._bindings = program.bindings
        self._evidence: dict[ast.AST, Evidence] = program.unit.evidence
        self._open: set[int] = set()
        self._steps = 0
        self._arguments: dict[ast.AST, Made] = {}
        self._brings: dict[ast.AST, bool] = {}
        # A cycle would keep the file for good: workers of the CLI collect none.
        self._home: Whereabouts = weakref.proxy(self) if home is None else home
        self._others: dict[Unit, Whereabouts] = {}

    _again = Made.UNKNOWN
    _depth = 12

    def source(self, node: ast.expr) -> Made:
        """Where the tensor that `node` gives was made."""
        if id(node) in self._open:
            return self._again
        self._steps = self._steps + 1 if self._open else 0
        if len(self._open) > self._depth or self._steps > _STEPS:
            return Made.UNKNOWN
        self._open.add(id(node))
        try:
            return self._source(node)
        finally:
            self._open.discard(id(node))

    def _source(self, node: ast.expr) -> Made:
        match node:
            case ast.Call():
                return self._call(node)
            case ast.Attribute():
                return self._attribute(node)
            case ast.Name():
                return self._name(node)
            case ast.Subscript(slice=index) if moves_to_host(index) or self._is_filled_on_host(node):
                return Made.HOST
            case ast.Subscript(slice=ast.Constant(value=str())):
                return self._least(node.value)
            case ast.Subscript(value=value) | ast.UnaryOp(operand=value) | ast.Starred(value=value):
                return self.source(value)
            case ast.BinOp(left=first, right=second) if any(map(self._is_on_host, (first, second))):
                return Made.HOST
            case ast.BinOp(left=first, right=second) | ast.IfExp(body=first, orelse=second):
                return self._first([first, second])
            case ast.List(elts=parts) | ast.Tuple(elts=parts):
                return self._first(parts)
            case ast.ListComp(elt=element) | ast.GeneratorExp(elt=element):
                return self.source(element)
            case ast.Constant():
                return Made.HOST
        return Made.UNKNOWN

    def _is_filled_on_host(self, node: ast.expr) -> bool:
        """`parts[key]`, where `parts[other] = y.cpu()` or an array stands before it: somebody has thought of it."""
        around = scope.function_around(self._program, node) or self._program.tree
        if not isinstance(node, ast.Subscript) or not isinstance(node.value, ast.Name):
            return False
        return any(
            isinstance(one, ast.Assign)
            and (one.end_lineno or one.lineno) < node.lineno
            and (moves_to_host(one.value) or (isinstance(one.value, ast.Call) and last_name(one.value.func) == "numpy"))
            and any(isinstance(each, ast.Subscript) and dotted(each.value) == node.value.id for each in one.targets)
            for one in walk(around)
        )

    def _is_on_host(self, node: ast.expr) -> bool:
        """What says of its neighbour in arithmetic that this is on the host as well: `x.cpu()`, a size."""
        moves = any(moves_to_host(one) for one in ast.walk(node) if isinstance(one, ast.Call))
        return self._is_size(node) or (moves and self.source(node) is Made.HOST)

    def _is_size(self, node: ast.expr) -> bool:
        """`torch.Size(...)`: what it is added to is one as well."""
        return isinstance(node, ast.Call) and self._names.qualified(node.func) == "torch.Size"

    def _least(self, node: ast.expr) -> Made:
        """An entry of a mapping: on the host if the mapping is, else anywhere."""
        return Made.HOST if self.source(node) is Made.HOST else Made.UNKNOWN

    def _first(self, nodes: list[ast.expr]) -> Made:
        found = [self.source(one) for one in nodes]
        return min(found, key=_ORDER.index, default=Made.HOST)

    def _call(self, node: ast.Call) -> Made:
        if moves_to_host(node) or any(one.arg == "return_tensors" for one in node.keywords):
            return Made.HOST
        if self._makes_on_host(node) or self._brings_to_host(node) or any(map(moves_to_host, scope.given_to(node))):
            return Made.HOST
        name = self._names.qualified(node.func)
        if len(node.args) == 1 and not node.keywords and (name or dotted(node.func)) in _MAPPINGS:
            return self.source(node.args[0])
        if name in FROM_MODELS:
            return Made.COMPUTED
        if name is not None:
            return self._of_library(node, tables.canonical(name))
        if isinstance(node.func, ast.Attribute):
            if dotted(node.func) is not None and self._is_module(node.func):
                return self._of_module(node, node.func)
            return self._method(node, node.func)
        if isinstance(node.func, ast.Name) and self._gives_plain(node, node.func.id):
            return Made.HOST
        if self._is_new_module(node.func) and any(self.source(one) is Made.HOST for one in node.args):
            return Made.HOST  # it works where what it gets is, or fails
        if not isinstance(node.func, ast.Name) or self._is_function(node.func.id):
            return Made.UNKNOWN
        if self._gets_host_batch(node) and self._is_local(node.func):
            return Made.HOST
        return self._of_module(node, node.func) if self._is_module(node.func) else Made.UNKNOWN

    def _is_new_module(self, node: ast.expr) -> bool:
        """`nn.Softmax(dim=1)`, maybe by a name that nothing else is bound to: it was moved nowhere."""
        if isinstance(node, ast.Name):
            found = self._bindings.seen(node.id, node)
            node = found[0].value or node if len(found) == 1 else node
        return isinstance(node, ast.Call) and is_module_api(tables.canonical(self._names.qualified(node.func) or ""))

    def _of_module(self, node: ast.Call, module: ast.expr) -> Made:
        """What a module gives: on the host, if the code around took it there last, or what it is given."""
        brought = any(is_brought(self._program, one) for one in scope.given_to(node))
        brought = brought or self._gets_host_batch(node)
        return Made.HOST if brought or is_on_host(self._program, module) else Made.MODEL

    def _gives_plain(self, node: ast.Call, name: str) -> bool:
        """`list()`, `float(x)`."""
        return (name == "list" and not node.args) or (name in TO_NUMBERS and not self._names.bound_in_module(name))

    def _is_local(self, node: ast.Name) -> bool:
        """A name that an assignment or a parameter binds: a model, and no function of another file."""
        owner = self._bindings.owner(node.id, node)
        return isinstance(owner, scope.Function) or (owner is not None and bool(self._bindings.of(owner, node.id)))

    def _gets_host_batch(self, node: ast.Call) -> bool:
        """Whether all that is given was made by torch on the host in the same function: elsewhere the call fails."""
        around = scope.function_around(self._program, node) or self._program.tree
        given = [one for one in scope.given_to(node) if not isinstance(one, ast.Constant)]
        return bool(given) and all(self._is_made_in(around, one) and self.source(one) is Made.HOST for one in given)

    def _is_made_in(self, function: scope.Function | ast.Module, node: ast.expr) -> bool:
        """`torch.from_numpy(x).float()`, `tokenizer(x, return_tensors="pt")`, what is joined of such, maybe by names
        that nothing else is bound to."""
        while isinstance(node, (ast.Attribute, ast.Call, ast.Subscript)):
            name = tables.canonical(self._names.qualified(node.func) or "") if isinstance(node, ast.Call) else ""
            if name in HOST_MAKERS or (isinstance(node, ast.Call) and returns_tensors(node)):
                return True
            if isinstance(node, ast.Call) and name.startswith("torch.") and node.args:
                first = node.args[0]
                parts = first.elts if isinstance(first, ast.List | ast.Tuple) else [first]
                return bool(parts) and all(self._is_made_in(function, one) for one in parts)
            node = node.func if isinstance(node, ast.Call) else node.value
        if not isinstance(node, ast.Name):
            return False
        found = [one for one in self._bindings.of(function, node.id) if one.node.lineno <= node.lineno]
        values = [one.node.value if isinstance(one.node, ast.Assign) else one.value for one in found]
        return bool(values) and all(
            one is not None and node.id not in scope.reads(one) and self._is_made_in(function, one) for one in values
        )

    def _is_function(self, name: str) -> bool:
        """Whether the file has a function of this name, as `run_model`, which is no model."""
        return any(isinstance(one, scope.Function) and one.name == name for one in self._program.tree.body)

    def _makes_on_host(self, node: ast.Call) -> bool:
        """Whether a plain name is one function of the file, and all that this returns is made on the host."""
        callee = node.func
        named = [
            one
            for one in self._program.tree.body
            if isinstance(one, scope.Function) and isinstance(callee, ast.Name) and one.name == callee.id
        ]
        returned = [one for each in named for one in returned_by(each)]
        if len(named) != 1 or not returned:
            return False
        with self._given(named[0], node):
            return all(self.source(one) is Made.HOST for one in returned)

    def _brings_to_host(self, node: ast.Call) -> bool:
        """Whether a function or method of the project gives nothing but tensors of the host, or says so."""
        found = called_function(self._program, node) or called_method(self._program, node)
        if found is None:
            return False
        program, function = found
        if function not in self._brings:
            self._brings[function] = False  # while it is asked for what it calls
            returned, where = returned_by(function), self._elsewhere(program)
            brings = bool(returned) and all(where.source(one) is Made.HOST for one in returned)
            self._brings[function] = brings or gives_host(function)
        return self._brings[function]

    @contextmanager
    def _given(self, function: scope.Function, call: ast.Call) -> Iterator[None]:
        """While a function runs for `call`: its parameters are where what it is given here is."""
        before = self._arguments
        names = {one.arg: one for one in scope.declared(function)}
        given: dict[ast.AST, Made] = {}
        if not any(isinstance(one, ast.Starred) for one in call.args):
            given = {one: self.source(value) for one, value in zip(names.values(), call.args)}
        given |= {names[one.arg]: self.source(one.value) for one in call.keywords if one.arg in names}
        self._arguments = before | given
        try:
            yield
        finally:
            self._arguments = before

    def _method(self, node: ast.Call, function: ast.Attribute) -> Made:
        """What a method gives is where its tensor is; `model.encode(x)` is a module's."""
        if function.attr in _OF_MODULES and self._is_parameter(function.value):
            return Made.GIVEN
        if self._is_module(function.value):
            brought = all(moves_to_host(one) or self._is_filled_on_host(one) for one in node.args)
            return Made.HOST if node.args and brought else self._of_module(node, function.value)
        if function.attr.islower() and _is_attribute_of_self(function) and not self._is_own_method(function):
            return Made.HOST if self._gets_host_batch(node) else Made.OWNED
        if function.attr == "to" and self._goes_back_to_host(node):
            return Made.HOST
        if function.attr in {"cuda", "to_device"} or (function.attr == "to" and not sets_dtype(node)):
            return Made.UNKNOWN
        if function.attr in NUMBERS:
            return Made.HOST
        inner = self.source(function.value)
        known = function.attr.rstrip("_") in tables.TENSOR_EVIDENCE_METHODS | SHAPES
        return inner if known or inner is Made.HOST else Made.UNKNOWN

    def _is_parameter(self, node: ast.expr) -> bool:
        """A name that a function is given, or what is computed of it under the same name."""
        if not isinstance(node, ast.Name):
            return False
        found = self._bindings.seen(node.id, node)
        others = [one.value for one in found if not isinstance(one.node, ast.arg)]
        return len(others) < len(found) and all(one is not None and node.id in scope.reads(one) for one in others)

    def _goes_back_to_host(self, node: ast.Call) -> bool:
        """`y.to(x.device)`, `d = get_device(x); y.to(d)`, where `x` is surely on the host."""
        target = scope.given_to(node)[0] if len(scope.given_to(node)) == 1 else None
        if isinstance(target, ast.Name):
            found = self._bindings.seen(target.id, target)
            target = found[0].value if len(found) == 1 else None
        match target:
            case ast.Attribute(value=tensor, attr="device"):
                return self.source(tensor) is Made.HOST
            case ast.Call(func=function, args=[tensor, *_]) if (dotted(function) or "").endswith("device"):
                return (self._names.qualified(function) or "") != "torch.device" and self.source(tensor) is Made.HOST
        return False

    def _is_own_method(self, function: ast.Attribute) -> bool:
        owner = scope.class_around(self._program, function)
        return owner is None or any(isinstance(one, scope.Function) and one.name == function.attr for one in owner.body)

    def _of_library(self, node: ast.Call, name: str) -> Made:
        placed = any(one.arg in {"device", None} for one in node.keywords)
        if name in HOST_MAKERS:
            return Made.UNKNOWN if placed or not self._is_new(node, name) else Made.HOST
        if name.startswith(HOST_LIBRARIES) or name in NO_TENSORS:
            return Made.HOST
        if name == "torch.load" and any("cpu" in ast.unparse(one.value) for one in node.keywords):
            return Made.HOST
        if name in tables.SEQUENCE_FUNCTIONS and node.args:
            return self._joined(node.args[0])
        if name.startswith("torch.") and node.args:
            return self._first(node.args[:2])
        return Made.HOST if self._gets_host_tensors(node, name) else Made.UNKNOWN

    def _gets_host_tensors(self, node: ast.Call, name: str) -> bool:
        """A function of a library that is given tensors of the host, and nothing else, answers there."""
        if PLACES.search(name) or any(one.arg is None or PLACES.search(one.arg) for one in node.keywords):
            return False
        return any(self._is_library_made(one) for one in node.args) and all(
            self.source(one) is Made.HOST for one in node.args
        )

    def _is_library_made(self, node: ast.expr, *, named: bool = True) -> bool:
        """Certainly a tensor: the result of a function of torch, or of a method that only tensors have."""
        match node:
            case ast.Call(func=ast.Attribute(attr=method)) if method in OF_TENSORS:
                return True
            case ast.Call(func=function):
                return (self._names.qualified(function) or "").startswith("torch.")
            case ast.BinOp(left=left, right=right):
                return any(self._is_library_made(one, named=named) for one in (left, right))
            case ast.Name(id=name) if named:
                found = self._bindings.seen(name, node)
                return any(one.value is not None and self._is_library_made(one.value, named=False) for one in found)
        return False

    def _is_new(self, node: ast.Call, name: str) -> bool:
        """Not a copy of what may be a tensor: `torch.tensor(x)` is where `x` is."""
        if name not in COPIES or self._first(node.args[:1]) is Made.HOST or any(map(self._is_array, node.args[:1])):
            return True
        return name == "torch.tensor" and any(map(self._is_open_parameter, node.args[:1]))

    def _is_open_parameter(self, node: ast.expr) -> bool:
        """A parameter that nothing says to be a tensor: of one, `torch.tensor` warns."""
        found = self._bindings.seen(node.id, node) if isinstance(node, ast.Name) else []
        return bool(found) and all(
            isinstance(one.node, ast.arg) and one.annotation is None and not self._is_tensor(one, one.node)
            for one in found
        )

    def _is_array(self, node: ast.expr) -> bool:
        """A name that goes to numpy as it is in the same function, `np.save(path, x)`."""
        function = scope.function_around(self._program, node)
        if function is None or not isinstance(node, ast.Name):
            return False
        return any(
            isinstance(one, ast.Call)
            and any(isinstance(each, ast.Name) and each.id == node.id for each in one.args)
            and (self._names.qualified(one.func) or "").startswith("numpy.")
            for one in walk(function)
        )

    def _joined(self, parts: ast.expr) -> Made:
        """Joined tensors are in one place: on the host, as soon as one of them is."""
        elements = parts.elts if isinstance(parts, ast.List | ast.Tuple) else [parts]
        made = [self.source(one) for one in elements]
        return Made.HOST if Made.HOST in made else min(made, key=_ORDER.index, default=Made.UNKNOWN)

    def _attribute(self, node: ast.Attribute) -> Made:
        text = dotted(node)
        if node.attr in NUMBERS or node.attr.endswith("shape"):
            return Made.HOST
        if node.attr in {"data", "T", "mT", "grad", "real", "imag"} and text != f"self.{node.attr}":
            return self.source(node.value)
        owner = scope.class_around(self._program, node)
        if text is None:
            return Made.UNKNOWN
        if owner is None or not text.startswith("self."):
            part = isinstance(node.value, ast.Name) and self.source(node.value) is Made.HOST  # `outputs.logits`
            return Made.HOST if part else Made.OWNED
        found = self._bindings.of_class(owner, ".".join(text.split(".")[:2]))
        sources = {self._bound(one) for one in found if not _is_none(one)}
        return Made.HOST if sources == {Made.HOST} else Made.OWNED

    def _name(self, node: ast.Name) -> Made:
        owner = self._bindings.owner(node.id, node)
        if owner is None:
            return Made.UNKNOWN
        found = self._bindings.of(owner, node.id)
        if owner is self._bindings.scope(node):
            found = self._bindings.reaching(found, node)
            found = [one for one in found if one.start <= (node.lineno, node.col_offset)] or found
        if node.id in self._moved_in_vain or self._is_drawn_on_host(node):
            return Made.HOST
        own = self._names.statement(node)
        found = [one for one in found if one.node is not own] or found  # `x = f(x)` is where `x` was
        found = [one for one in found if not _is_none(one)]
        sources = [self._gathered(node) if _is_empty(one) else self._bound(one) for one in found]
        if any(source is Made.HOST and _is_move(one) for source, one in zip(sources, found)):
            return Made.HOST  # brought to the host on some path: somebody has thought of it
        return min(sources, key=_ORDER.index, default=Made.UNKNOWN)

    def _is_drawn_on_host(self, node: ast.Name) -> bool:
        """`a` of `for a, b in zip(first, second)`, in a comprehension or a loop, where `first` is on the host."""
        for around in self._names.ancestors(node):
            loops = around.generators if isinstance(around, _COMPREHENSIONS) else [around]
            for loop in loops:
                if isinstance(loop, ast.For | ast.comprehension) and node not in ast.walk(loop.iter):
                    source = zipped(loop.target, loop.iter, node.id)
                    if source is not None:
                        return self.is_on_host(source) or self._is_brought_by_name(source)
            if isinstance(around, scope.Function):
                break
        return False

    def _is_brought_by_name(self, node: ast.expr) -> bool:
        """Whether the last value of a name is a move to the host: what the name collected before counts no more."""
        owner = self._bindings.owner(node.id, node) if isinstance(node, ast.Name) else None
        if owner is None or not isinstance(node, ast.Name):
            return False
        found = self._bindings.reaching(self._bindings.of(owner, node.id), node)
        return bool(found) and all(_is_move(one) and self._bound(one) is Made.HOST for one in found)

    @cached_property
    def _moved_in_vain(self) -> set[str]:
        """Names with a `x.cpu()` that is thrown away: that line is the bug, and another rule's."""
        return {
            one.func.value.id
            for one in self._names.calls
            if isinstance(one.func, ast.Attribute) and isinstance(one.func.value, ast.Name) and moves_to_host(one)
            if isinstance(self._names.parent(one), ast.Expr)
        }

    def _bound(self, binding: Binding) -> Made:
        node = binding.node
        if node in self._arguments:
            return self._arguments[node]
        if isinstance(node, ast.arg):
            lambdas = [one for one in self._names.ancestors(node) if isinstance(one, ast.Lambda | scope.Function)][:1]
            if any(isinstance(one, ast.Lambda) for one in lambdas):
                return Made.UNKNOWN
            if binding.annotation is not None and ast.unparse(binding.annotation) in TO_NUMBERS:
                return Made.HOST
            if self._callers_bring_to_host(node):
                return Made.HOST
            return Made.GIVEN if self._is_tensor(binding, node) else Made.UNKNOWN
        if binding.value is not None:
            return self.source(binding.value)
        match node:
            case ast.Assign(value=value) | ast.AugAssign(value=value):
                return self.source(value)
            case ast.For(iter=items):
                return self._element(items)
        return Made.UNKNOWN

    def _callers_bring_to_host(self, parameter: ast.arg) -> bool:
        """Whether the file itself calls a function, and all known callers give it tensors of the host."""
        function = scope.function_around(self._program, parameter)
        if function is None or parameter not in scope.declared(function):
            return False
        given = arguments(self._program, function, parameter.arg)
        if any(one is not None and _hands_on(where, one, function) for where, one in given):
            return False
        return any(where.unit is self._program.unit for where, _ in given) and all(
            one is not None and self._elsewhere(where).is_on_host(one) for where, one in given
        )

    def _elsewhere(self, program: Program) -> "Whereabouts":
        home = self._home
        if program.unit is home._program.unit:
            return home
        if program.unit not in home._others:
            home._others[program.unit] = type(self)(program, home)
        return home._others[program.unit]

    def is_on_host(self, node: ast.expr) -> bool:
        """Whether a tensor, or all that a list collects, is surely on the host."""
        collected = list(self._collected(node)) if isinstance(node, ast.Name) else []
        return self.source(node) is Made.HOST and all(self.source(one) is Made.HOST for one in collected)

    def _gathered(self, node: ast.Name) -> Made:
        """Where the tensors of a list are that begins empty: on the host, as soon as one of them is."""
        made = [self.source(one) for one in self._collected(node)]
        return Made.HOST if Made.HOST in made else min(made, key=_ORDER.index, default=Made.HOST)

    def _collected(self, node: ast.Name) -> Iterator[ast.expr]:
        """What the scope of a list appends to it."""
        around = scope.function_around(self._program, node) or self._program.tree
        for one in walk(around):
            match one:
                case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="append" | "extend"), args=[value]):
                    if name == node.id:
                        yield value

    def _element(self, items: ast.expr) -> Made:
        """What a loop over `items` gives. What a loader yields is made by its workers, on the host."""
        if isinstance(items, ast.Call) and isinstance(items.func, ast.Name) and items.func.id in {"enumerate", "zip"}:
            return self._first(list(items.args)) if items.func.id == "enumerate" else Made.UNKNOWN
        named = dotted(items.func if isinstance(items, ast.Call) else items) or ""
        return Made.HOST if re.search(r"(?i)loader|dataset", named) else self.source(items)

    def _is_tensor(self, binding: Binding, parameter: ast.arg) -> bool:
        """A parameter that is annotated as a tensor, tested to be one, or used as one in other ways."""
        if (said := binding.annotation) is not None:
            text = ast.unparse(said)
            return "Tensor" in text and "tf." not in text and self._program.unit.classes.named(said) is None
        function = scope.function_around(self._program, parameter)
        known = self._evidence.get(function) if function is not None else None
        turned = (f"{parameter.arg}.{one}" for one in ("T", "mT", "H", "mH"))
        return known is not None and not known.tensors.isdisjoint({parameter.arg, *turned})

    def _is_module(self, node: ast.expr) -> bool:
        """By its uses in the function and the class around, or by what it is called."""
        text = dotted(node)
        if text is None:
            return False
        around = [one for one in self._names.ancestors(node) if one in self._evidence]
        if any(text in self._evidence[one].modules for one in around):
            return True
        return sounds_like_model(text) and not (isinstance(node, ast.Name) and self.source(node) is Made.HOST)


def _is_move(binding: Binding) -> bool:
    """The value ends in a move to the host, maybe with a `.numpy()` behind it."""
    return binding.value is not None and any(
        moves_to_host(one) for one in ast.walk(binding.value) if isinstance(one, ast.expr)
    )


def _hands_on(program: Program, node: ast.expr, function: scope.Function) -> bool:
    """Whether a method of the same name gives what it was given itself: `super().update(x[mask])`."""
    around = scope.function_around(program, node)
    return around is not None and around.name == function.name


def zipped(target: ast.expr, items: ast.expr, name: str) -> ast.expr | None:
    """The argument of `zip` from which a loop draws `name`."""
    match target, items:
        case ast.Tuple(elts=targets), ast.Call(func=ast.Name(id="zip"), args=parts) if len(targets) == len(parts):
            drawn = (part for one, part in zip(targets, parts) if isinstance(one, ast.Name) and one.id == name)
            return next(drawn, None)
    return None


def returned_by(function: scope.Function) -> list[ast.expr]:
    return [one.value for one in ast.walk(function) if isinstance(one, ast.Return) and one.value is not None]


def _is_empty(binding: Binding) -> bool:
    """`x = []`, until something is collected."""
    match binding.value:
        case ast.List(elts=[]) | ast.Call(func=ast.Name(id="list"), args=[], keywords=[]):
            return True
    return False


def _is_none(binding: Binding) -> bool:
    """`x = None`, until something is there."""
    return isinstance(binding.value, ast.Constant) and isinstance(binding.node, ast.stmt)


def _is_attribute_of_self(function: ast.Attribute) -> bool:
    return isinstance(function.value, ast.Name) and function.value.id == "self"
