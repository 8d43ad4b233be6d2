"""Readers: numpy and its like want what they are given on the host. What they are told, and where that says more."""

import ast
import re
from collections import defaultdict
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from devfix_codemods.catalogue import Effect, Kind, canonical, effect, libraries
from devfix_codemods.catalogue import torch as rows
from devfix_codemods.ir import Class, Function, Guard, Node, Op
from devfix_codemods.ir.guards import joined, literal
from devfix_codemods.ir.keys import method_name, name, names
from devfix_codemods.ir.nodes import ALWAYS
from devfix_codemods.placement.arguments import is_false, keyword
from devfix_codemods.placement.arrays import becomes_tensor
from devfix_codemods.placement.evidence import is_filling, is_result_of_module
from devfix_codemods.placement.graph import Birth, Source
from devfix_codemods.placement.left_parts import LeftParts
from devfix_codemods.placement.loaders import is_other_than_tensor
from devfix_codemods.placement.manual_moves import is_thrown_away
from devfix_codemods.placement.naming import sounds_like_data, sounds_like_host, speaks_of_host
from devfix_codemods.placement.non_tensors import starts_as_number
from devfix_codemods.placement.places import CUDA, HOST
from devfix_codemods.placement.views import chain, origin, wholes
from devfix_codemods.placement.written_arrays import Written

if TYPE_CHECKING:
    from devfix_codemods.placement.births import Births

_TYPE_TESTS = frozenset({"builtins.isinstance", "torch.is_tensor"})
_NEAR = 2
"""How many lines apart what numpy reads is probably in one place."""
_DEVICE = re.compile(r"(?i)^(to|cuda|\w*device\w*|\w*gpus?)$")
_AXES = re.compile(r"(?i)^(ax|axs|axes|axis|plt|fig|figure)\d*$|^(subplots?|add_subplot|gca|subplot_mosaic)$")


@dataclass(frozen=True, slots=True)
class _Call:
    """A call that may read `values`.

    With `tensors` it reads those among them that are tensors, with `holds` the tensors of the lists among them.
    """

    call: Node
    values: tuple[Node, ...]
    tensors: bool = True
    holds: bool = True


class Readers:
    """Adds to the graph of a file what is wanted on the host, and what readers believe to be elsewhere."""

    def __init__(self, births: "Births") -> None:
        self._births = births
        self._graph = births.graph
        self._kinds = births.kinds
        self._wanted: list[tuple[Node, Node]] = []
        """What is read, by which call."""
        self._calls: list[_Call] = []
        self._plots: set[Node] = set()
        self._copies: list[Node] = []
        """The calls of `.cpu()`."""

    # What reads

    def function(self, call: Node, qualified: str) -> bool:
        """`np.asarray(x)`, `pack_padded_sequence(x, lengths)`; whether it is such a call.

        `np.mean(x)` asks the tensor's own method, which works anywhere; of a list it does not.
        """
        if qualified in rows.READ_ON_HOST:
            self._calls.append(_Call(call, tuple(self._births.host_arguments(call)), holds=False))
        elif effect(qualified) is not Effect.ARRAY:
            return False
        elif qualified not in libraries.SIZED and qualified not in libraries.IN_PLACE:
            own = qualified in libraries.METHODS_OF_TENSORS
            self._calls.append(_Call(call, call.args[1:], tensors=not own, holds=not qualified.startswith("pandas.")))
            if qualified.startswith("matplotlib."):
                self._plots.add(call)
        return True

    def plot(self, call: Node, axes: Node) -> None:
        """`axes.imshow(x)`"""
        if any(map(_AXES.search, _words(axes))):
            self._calls.append(_Call(call, call.args[1:]))
            self._plots.add(call)

    def method(self, call: Node, base: Node) -> None:
        """`x.numpy()`; with `force=True` it copies by itself."""
        force = keyword(call, "force")
        forced = force is not None and not is_false(force)
        if forced or self._kinds.of(base) not in {Kind.TENSOR, None} or call.function in self._births.host_functions:
            return
        if (self._kinds.of(base) is Kind.TENSOR and not self._is_own(base)) or self._is_of_torch(base):
            self._wanted.append((base, call))

    def copied(self, call: Node) -> None:
        """`x.cpu()`"""
        self._copies.append(call)

    def _is_own(self, value: Node) -> bool:
        """Whether a parameter is annotated with a class of the project, which is called like that of torch."""
        annotation = getattr(value.syntax, "annotation", None)
        if value.op is not Op.PARAM or not isinstance(annotation, ast.Name):
            return False
        named = value.function.module.top.finals.get(annotation.id)
        return named is not None and isinstance(self._births.imported.definition(named), Class)

    def _is_of_torch(self, value: Node) -> bool:
        """Whether what has `.numpy()` can only be a tensor of torch, by what the file imports."""
        imports = self._births.imports
        return not self._is_own(value) and imports(libraries.AROUND_TORCH) and not imports(libraries.OTHER_FRAMEWORKS)

    def _read_by(self, one: _Call) -> Iterator[Node]:
        if one.holds:
            yield from (
                given
                for given in one.values
                if _is_named_display(given, one.call) and self._is_of_tensors(given, one.call)
            )
        for value in (each for given in one.values for each in _shown(given)):
            if self._holds_tensors(value):
                if one.holds:
                    yield value
            elif (one.tensors or value not in one.values) and self._is_tensor(value, one.call):
                yield value

    def _is_tensor(self, value: Node, call: Node) -> bool:
        """Whether a value is a tensor, by its kind, or by what else the program does with it."""
        if value.op is Op.PARAM and any(self._is_other_than_tensor(one) for one in self._kinds.given.get(value, ())):
            return False
        kind = self._kinds.of(value)
        if kind is not None or self._kinds.is_among(value, self._kinds.itemized):
            return kind is Kind.TENSOR
        if is_result_of_module(self._kinds, value):
            return True
        if value.op is Op.CONST:
            return False
        parts = list(chain(value))
        if any(self._is_moved(one) or self._is_given_by_model(one) for one in parts):
            return True
        return self._is_of_torch(value) and any(
            one.guard <= call.guard and not is_thrown_away(one) for one in self._copies_of(value)
        )

    def _is_other_than_tensor(self, given: Node) -> bool:
        """Whether what a caller gives is surely no tensor: an array or a list has no `.cpu()`."""
        if given.op is Op.SEQUENCE or self._kinds.of(given) not in {None, Kind.TENSOR, Kind.NONE}:
            return True
        if given.op is Op.OPERATION:  # with an array, which computes with no tensor of a device
            return any(self._kinds.of(one) is Kind.ARRAY for one in given.args)
        if given.op is not Op.CALL:
            return False
        found = names(given.args[0])
        return effect(canonical(found[0])) is Effect.ARRAY if found else given.args[0].extra == "numpy"

    def _is_given_by_model(self, node: Node) -> bool:
        """`net.forward(x).data`"""
        if node.op is not Op.ATTR or not self._is_of_tensor(node):
            return False
        ways = node.args[0].args if node.args[0].op is Op.PHI else node.args
        calls = (one.args[0] for one in ways if one.op is Op.CALL)
        return any(one.extra == "forward" or self._kinds.is_module(one) for one in calls)

    def _is_moved(self, value: Node) -> bool:
        """`x.to(device)[0]`, `[one.to(device) for one in batch][0]`, what is moved somewhere else, or on some path."""
        if value.op is Op.PHI:
            moved = [one for one in value.args if self._births.is_move(one)]
            before = {one.args[0].args[0] for one in moved if one.args[0].op is Op.ATTR}
            return bool(moved) and before.union(moved).issuperset(value.args)
        if value.op in {Op.ITEM, Op.ATTR} and value in self._births.movers:
            return True
        return any(map(self._births.is_move, wholes(value)))

    def _holds_tensors(self, value: Node) -> bool:
        """Whether a list was filled with tensors."""
        if value.op is Op.COMPREHENSION:
            return value.extra != "dict" and self._kinds.of(value.args[0]) is Kind.TENSOR
        return self._kinds.of(value) is Kind.SEQUENCE and any(
            not store.is_attribute
            and self._kinds.find(store.base) is self._kinds.find(value)
            and is_filling(self._kinds, store.value)
            for store in value.function.stores
        )

    def _is_of_tensors(self, display: Node, call: Node) -> bool:
        """Whether all that a list begins with is tensors; what it is filled with later is asked of like lists."""
        return all(self._is_tensor(one, call) for one in display.args)

    def _copies_of(self, value: Node) -> Iterator[Node]:
        """The copies of a tensor on the host."""
        parts = set(chain(value))
        for one in self._copies:
            if not parts.isdisjoint(chain(one.args[0].args[0])):
                yield one

    # What it says

    def all(self) -> None:
        """Add what is wanted on the host, and what that says of flags and of other values."""
        self._wanted += [(value, one.call) for one in self._calls for value in self._read_by(one)]
        for value, call in self._wanted:
            self._add(value, call)
        self._flags()
        if self._wanted:
            self._detached()
            self._together()

    def _add(self, value: Node, call: Node) -> None:
        ways = zip(value.args, value.extras) if value.op is Op.PHI else [(value, call.guard)]
        tested = any(isinstance(under, frozenset) and is_other_than_tensor(one, under) for one, under in ways)
        is_other = (tested or is_other_than_tensor(value, call.guard)) and not self._holds_tensors(value)
        is_other = is_other or any(starts_as_number(one, call.guard) for one in self._births.roots(value))
        if is_other or any(self._may_be_array(one, call) for one in (value, *call.args[1:])):
            return
        if becomes_tensor(call) and not self._is_told_as_tensor(value):
            return
        under = joined(call.guard, self._entry(call.function))
        self._graph.add(Source(value, HOST, Birth.READER, tuple(self._links(value, call)), under=under, by=call))
        for one in self._copies_of(value):
            if one.guard <= call.guard and not is_thrown_away(one):
                self._graph.add(Source(one.args[0].args[0], CUDA, Birth.COPIED, ("copied-itself",)))

    def _may_be_array(self, given: Node, call: Node) -> bool:
        """Whether what a call is given comes from a parameter whose type is tested, but not for the call.

        It may be an array there, and these have no `.cpu()`.
        """
        asked = [one for one, atom in self._asked if one.function is call.function and (atom, True) not in call.guard]
        if not asked:
            return False
        roots = {root for one in chain(given) for root in self._births.roots(one) if root.op is Op.PARAM}
        return any(self._births.roots(one) & roots for one in asked)

    def _is_told_as_tensor(self, value: Node) -> bool:
        """Whether something says of what a value is made of that it is a tensor; a parameter alone says nothing."""
        begun = {origin(one) for one in self._births.roots(value) or {value}}
        return any(one.op is not Op.PARAM or self._kinds.says_surely(one, Kind.TENSOR) for one in begun)

    @cached_property
    def _asked(self) -> list[tuple[Node, Hashable]]:
        """What is asked whether it is a tensor, and the atom that says so."""
        asked = (one for one in self._births.module.of(Op.CALL) if len(one.args) > 1)
        tests = ((one.args[1], literal(one)[0]) for one in asked if name(one.args[0]) in _TYPE_TESTS)
        return [(one, atom) for one, atom in tests if isinstance(atom, tuple) and "Tensor" in str(atom[-1])]

    def _links(self, value: Node, call: Node) -> Iterator[str]:
        """How surely what a call reads should be copied for it."""
        function = value.function
        in_module = function.owner in self._kinds.module_classes
        yield "plotted" if call in self._plots and not in_module else "needs-host"
        if not in_module and sounds_like_data(function) and not self._stands_beside_copies(call):
            yield "read-in-data"
        if any(map(sounds_like_host, chain(value))) or any(map(speaks_of_host, _called_as(function))):
            yield "read-for-host"
        if any(map(is_thrown_away, self._copies_of(value))):
            yield "copy-discarded"  # which another rule tells
        if call.statement in self._written:
            yield "written-through"

    def _stands_beside_copies(self, call: Node) -> bool:
        """Whether the lines around copy to the host what numpy reads: what it reads here is where that was."""
        near = [one for one in self._copies if one.function is call.function and abs(one.line - call.line) <= _NEAR]
        return any(one in chain(value) for one in near for value, _ in self._wanted)

    @cached_property
    def _written(self) -> set[ast.stmt | None]:
        """The statements that write into the memory of a tensor by its array, which a copy would swallow, and those
        that read what these show to be on the host."""
        written = Written(self._births)
        found = {call.statement for value, call in self._wanted if written.through(value, call)}
        shown = {value for value, call in self._wanted if call.statement in found}
        return found | {call.statement for value, call in self._wanted if value in shown}

    def _together(self) -> None:
        """What one statement reads is all in one place."""
        read: dict[ast.stmt | None, list[tuple[Node, Node]]] = defaultdict(list)
        for value, call in self._wanted:
            read[call.statement].append((value, call))
        for wanted in read.values():
            shown = [one for value, _ in wanted for one in chain(value) if self._graph.is_born(one, {Birth.COPIED})]
            for value, call in wanted if shown else ():
                if self._births.is_move(value):
                    continue  # it is where the program moves it
                self._graph.supports(value, shown[0], "read-together", call.guard)

    def _entry(self, function: Function) -> Guard:
        """Under what condition a function of this file is always called."""
        calls = self._kinds.all_calls(function)
        always = calls[0].guard.intersection(*(one.guard for one in calls)) if calls else ALWAYS
        made = next((one for one in _made_as(function) if one.op is Op.FUNCTION), None)
        return joined(always, made.guard) if made is not None else always

    def _flags(self) -> None:
        """One branch copies a value to the host for numpy, the other does not: there, all is on the host already."""
        read: dict[Node, list[Guard]] = defaultdict(list)
        for value, call in self._wanted:
            read[origin(value)].append(call.guard)
        copied: dict[Node, list[Guard]] = defaultdict(list)
        for call in self._copies:
            copied[origin(call)].append(call.guard)
        for begun, guards in read.items():
            for guard in guards:
                for atom, holds in guard:
                    if _asks_about_tensor(atom):
                        continue
                    here, there = (
                        any((atom, each) in one for one in copied.get(begun, ())) for each in (holds, not holds)
                    )
                    if there and not here:
                        self._graph.host_only.add((atom, holds))

    def _detached(self) -> None:
        """What is detached, `x.data` and `x.grad` are probably on a device: they come from training.

        What is detached of a batch from which the function moves what it computes with does not, and what is detached
        of a move is where that put it.
        """
        left = LeftParts(self._births)
        aware = any(self._speaks_of_device(one) for one in self._births.module.nodes())
        link = "detached" if aware else "detached-unaware"
        for node in self._births.module.nodes():
            read = node.args[0] if method_name(node) == "detach" else node
            if read is node and not (node.op is Op.ATTR and self._is_of_tensor(node)):
                continue
            if read.args[0] not in left and not any(map(self._births.is_move, wholes(read.args[0]))):
                self._graph.add(Source(node, CUDA, Birth.COPIED, (link,)))

    def _speaks_of_device(self, node: Node) -> bool:
        return self._kinds.of(node) is Kind.DEVICE or (isinstance(node.extra, str) and bool(_DEVICE.search(node.extra)))

    def _is_of_tensor(self, attribute: Node) -> bool:
        """`x.grad`, `x.data`, as against those of other objects."""
        base = attribute.args[0]
        if names(attribute) or attribute.extra not in _TRAINED:
            return False
        return attribute.extra == "grad" or self._kinds.of(base) is Kind.TENSOR or base.op in _COMPUTED


_COMPUTED = frozenset({Op.CALL, Op.ITER, Op.ITEM, Op.PHI, Op.AFTER})
_TRAINED = frozenset({"data", "grad"})


def _made_as(function: Function) -> Iterator[Node]:
    """The value that a function is, and those that hold it."""
    made: Node | None = None
    for node in function.parent.nodes if function.parent is not None else ():
        if node.extra is function:
            made = node
            yield node
        elif made is not None and made in node.args:
            yield node


def _called_as(function: Function) -> Iterator[str]:
    """The name of a function; of a lambda those of what it is assigned to, and given as."""
    yield function.name
    for node in _made_as(function) if function.name == "<lambda>" else ():
        if isinstance(node.statement, ast.Assign):
            yield from (one.id for one in node.statement.targets if isinstance(one, ast.Name))
        if node.op in {Op.MAPPING, Op.CALL} and isinstance(node.extra, tuple):
            held = node.args if node.op is Op.MAPPING else node.args[1:]
            yield from (str(word) for one, word in zip(held, node.extra) if one.extra is function)


def _words(node: Node) -> Iterator[str]:
    """`axs` of `axs[0].twinx()`, and what those are made by."""
    for _ in range(6):  # further back it says nothing of axes, and PHIs may go round
        if isinstance(node.extra, str):
            yield node.extra.rpartition(".")[2]
        if not node.args:
            return
        node = node.args[0]


def _shown(node: Node) -> Iterator[Node]:
    """A value, or what stands in a display: `DataFrame({"total": [total]})`."""
    if node.op in {Op.SEQUENCE, Op.MAPPING} and node.args:
        for one in node.args:
            yield from _shown(one)
    else:
        yield node


def _is_named_display(node: Node, call: Node) -> bool:
    """`[first]` of `parts = [first]`, which a call is given by its name: the list is copied, where that is read."""
    if node.op is not Op.SEQUENCE or not node.args or node.syntax is None or call.syntax is None:
        return False
    return all(one is not node.syntax for one in ast.walk(call.syntax))


def _asks_about_tensor(atom: Hashable) -> bool:
    """`x.requires_grad`: what says nothing of the place."""
    return isinstance(atom, tuple) and atom[0] == "attr" and atom[2] in rows.PLAIN_ATTRIBUTES - {"is_cuda", "device"}
