"""What a program does with what it has loaded: the uses of a value, wherever the program takes it.

The value is followed through names, attributes, containers, loops, and calls of functions of the project.
"""

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import Enum, auto

from devfix_codemods.assumptions.index import Index, Users, extras, method
from devfix_codemods.catalogue import Effect, Kind, canonical, effect, kind, method_effect
from devfix_codemods.catalogue import torch as rows
from devfix_codemods.ir import Function, Module, Node, Op
from devfix_codemods.ir.expressions import FILLING, VALUE
from devfix_codemods.ir.keys import names, resolved
from devfix_codemods.ir.nodes import Store
from devfix_codemods.loading import words
from devfix_codemods.loading.calls import Calls, Load
from devfix_codemods.placement.kinds import bound
from devfix_codemods.placement.naming import sounds_like_class


class Use(Enum):
    """One sort of thing that is done with a loaded value."""

    FEEDS = auto()
    """Copied into a module or an optimizer, wherever that is."""
    FEEDS_NUMBERS = auto()
    """Given to a scheduler, a scaler, a sampler: numbers."""
    FEEDS_UNSURE = auto()
    """Given to what loads a state, and may keep the tensors."""
    READS = auto()
    """Looked at: keys, shapes, plain entries."""
    OPTIONS = auto()
    """The options of a model are read from it."""
    APART = auto()
    """Taken apart, as a mapping is."""
    MOVED = auto()
    STATES = auto()
    """States of random generators, which are always on the host."""
    KEPT = auto()
    """A plain entry that is moved on one path, and so is a tensor."""
    HELD = auto()
    """An attribute of an object gets it."""
    RESTORED = auto()
    """All attributes of an object get it: `setattr(self, key, value)`."""
    SAVED = auto()
    ON_HOST = auto()
    """Read by numpy, or by what loaders read, as it is."""
    OPERAND = auto()
    """In one operation with others: `meetings` says which."""
    RETURNED = auto()
    RUN = auto()
    """The value itself is called, or asked for what modules have."""
    GIVEN = auto()
    """Given to code that is not read."""
    OTHER = auto()


LOOKS = frozenset({Use.READS, Use.OPTIONS, Use.APART})


@dataclass(slots=True)
class Uses:
    """All that is done with a loaded value. `values`: all that is it, or a part of it, and whether the whole of it."""

    found: dict[Use, list[Node]] = field(default_factory=lambda: defaultdict(list))
    values: dict[Node, bool] = field(default_factory=dict)
    meetings: list[tuple[Node, tuple[Node, ...], bool]] = field(default_factory=list)
    """Operations, what else they get, and whether they say that these are tensors."""
    fed: set[Node] = field(default_factory=set)
    """The modules that it is copied into."""

    def __contains__(self, use: Use) -> bool:
        return use in self.found

    def only(self, *allowed: Use) -> bool:
        return self.found.keys() <= {*allowed}

    @property
    def moved(self) -> list[Node]:
        return self.found.get(Use.MOVED, [])


class Following:
    """The files in which loaded values are followed."""

    def __init__(self, index: Index, calls: Calls) -> None:
        self.index = index
        self.kinds = index.analysis.kinds
        self.calls = calls
        self._users: dict[Module, Users] = {index.analysis.module: index}
        self._reads: dict[Module, dict[Node, list[Node]]] = {}

    def of_load(self, load: Load) -> Uses:
        """The uses of what a call loads, inside of the function that wraps it, and behind it."""
        return _Follower(self, load).run(load.sources if load.wrapper is not None else (load.call,))

    def of_value(self, node: Node) -> Uses:
        return _Follower(self).run((node,))

    def users(self, node: Node) -> Users:
        module = node.function.module
        if module not in self._users:
            self._users[module] = Users(module)
        return self._users[module]

    def reads(self, node: Node) -> list[Node]:
        """Where functions read a name of the module that stands for a value."""
        module = node.function.module
        if module not in self._reads:
            found: dict[Node, list[Node]] = defaultdict(list)
            for one in module.nodes():
                if one.op is Op.GLOBAL:
                    found[resolved(one)].append(one)
            self._reads[module] = found
        return self._reads[module].get(node, [])


class _Follower:
    """Follows one value, and notes what is done with it."""

    def __init__(self, files: Following, load: Load | None = None) -> None:
        self._files = files
        self._kinds = files.kinds
        self._load = load
        self._entered: dict[Function, list[Node]] = defaultdict(list)
        if load is not None and load.wrapper is not None:
            self._entered[load.wrapper].append(load.call)
        self._pending: list[Node] = []
        self.uses = Uses()

    def run(self, starts: Iterable[Node]) -> Uses:
        for one in starts:
            self._go(one, True)
        while self._pending:
            self._visit(self._pending.pop())
            if not self._pending:  # what meets nothing but parts of itself goes on
                for operation, others, _ in self.uses.meetings:
                    if all(one in self.uses.values for one in others):
                        self._go(operation)
        return self.uses

    def _go(self, node: Node, whole: bool = False) -> None:
        if node not in self.uses.values:
            self.uses.values[node] = whole
            self._pending.append(node)

    def _note(self, use: Use, node: Node) -> None:
        self.uses.found[use].append(node)

    def _visit(self, node: Node) -> None:
        users, whole = self._files.users(node), self.uses.values[node]
        for read in self._files.reads(node):
            self._go(read, whole)
        for user in users.users.get(node, ()):
            if user.op is Op.CALL:
                self._called(node, user)
            else:
                self._used(node, user)
        for store in users.stores.get(node, ()):
            self._stored(node, store)
        for function in users.returned.get(node, ()):
            self._returned(node, function)

    def _used(self, node: Node, user: Node) -> None:
        match user.op:
            case Op.PHI | Op.ENTER:
                self._go(user, self.uses.values[node])
            case Op.AFTER:  # what is moved in place is another value from then on
                if user.args[0] is node and method_effect(method(user.args[1]) or "") not in MOVES:
                    self._go(user, self.uses.values[node])
            case Op.SEQUENCE | Op.MAPPING | Op.COMPREHENSION:
                self._go(user)
            case Op.ITER:
                self._element(user)
            case Op.ITEM:
                self._entry(user, user.extra) if user.args[0] is node else self._note(Use.READS, user)
            case Op.ATTR:
                self._attribute(node, user)
            case Op.OPERATION | Op.COMPARE:
                self._computed(node, user)
            case Op.UNKNOWN if isinstance(user.syntax, ast.JoinedStr | ast.FormattedValue | ast.Slice):
                self._note(Use.READS, user)
            case _:
                self._note(Use.OTHER, user)

    def _element(self, element: Node) -> None:
        """A loop over `.items()` and `.values()` gives values, one over a mapping its keys."""
        users = self._files.users(element).users.get(element, ())
        if element.extra != VALUE and any(_is_key(element, one) for one in users):
            self._note(Use.READS, element)
        else:
            self._note(Use.APART, element)
            self._go(element)

    def _entry(self, entry: Node, key: object) -> None:
        self._note(Use.APART, entry)
        if isinstance(key, str) and words.RANDOM.search(key):
            self._note(Use.STATES, entry)
        elif isinstance(key, str) and words.PLAIN.match(key):
            attributes = [one for one in self._files.users(entry).users.get(entry, ()) if one.op is Op.ATTR]
            if any(one.extra in {"to", "cuda"} for one in attributes):
                self._note(Use.KEPT, entry)
            else:
                self._note(Use.OPTIONS if words.OPTIONS.search(key) else Use.READS, entry)
        else:
            self._go(entry)

    def _attribute(self, node: Node, attribute: Node) -> None:
        calls = [one for one in self._files.users(node).users.get(attribute, ()) if one.args[0] is attribute]
        calls = [one for one in calls if one.op is Op.CALL]
        for call in calls:
            self._method(node, call, str(attribute.extra))
        if calls:
            return
        if attribute.extra in rows.TENSOR_ATTRIBUTES:
            self._go(attribute)
        else:
            self._note(Use.READS if attribute.extra in rows.PLAIN_ATTRIBUTES else Use.OTHER, attribute)

    def _computed(self, node: Node, user: Node) -> None:
        """An operation with numbers alone gives a part of the value; keys are looked up, None is asked for."""
        others = tuple(one for one in user.args if one is not node)
        if (user.op is Op.COMPARE and (
            _LOOKUPS.issuperset(extras(user)) or any(one.op is Op.CONST for one in others)  # keys, numbers
        )) or user.extra == "Not":
            self._note(Use.READS, user)
        elif all(one.op is Op.CONST or self._kinds.of(one) is Kind.NUMBER for one in others):
            self._go(user)
        else:
            self._meet(user, others, is_tensor=False)

    def _meet(self, operation: Node, others: Iterable[Node], *, is_tensor: bool) -> None:
        self._note(Use.OPERAND, operation)
        self.uses.meetings.append((operation, tuple(others), is_tensor))

    # Calls

    def _method(self, node: Node, call: Node, name: str) -> None:
        """A method of the value itself."""
        whole, row = self.uses.values[node], method_effect(name)
        if row in MOVES:
            if self._sets_type(call):
                self._go(call, whole)
            else:
                self._note(Use.MOVED, call)
        elif name in {"get", "pop"} and len(call.args) > 1:
            self._entry(call, call.args[1].extra)
        elif name in _MODULES:
            self._note(Use.RUN if whole else Use.OTHER if name not in _SETS else Use.READS, call)
            self._go(call, whole)
        elif name in _COPIES or row in {Effect.SAME, Effect.LIKE}:
            self._note(Use.APART, call) if name in {"items", "values"} else None
            self._go(call, whole and name == "copy")
        elif row in _MEETING:
            self._meet(call, call.args[1:], is_tensor=True)
        elif row is Effect.NEEDS_HOST:
            self._note(Use.ON_HOST, call)
        elif row in {Effect.READ, Effect.SYNC} or name in _LOOKING:
            self._note(Use.READS, call)
        elif name == "save":
            self._note(Use.SAVED, call)
        else:
            self._note(Use.RUN if whole else Use.OTHER, call)
            if whole:
                self._go(call)

    def _sets_type(self, call: Node) -> bool:
        """`x.to(torch.float16)`"""
        given = call.args[1:]
        return bool(given) and all(self._kinds.says(one, Kind.DTYPE) for one in given)

    def _called(self, node: Node, call: Node) -> None:
        if call.args[0] is node:
            self._note(Use.RUN if self.uses.values[node] else Use.OTHER, call)
        if node not in call.args[1:]:
            return
        function = self._files.calls.function(call) if call is not (self._load.call if self._load else None) else None
        if function is not None:
            self._passed(node, call, function)
        elif found := names(call.args[0]):
            self._api(node, call, found[0])
        elif call.args[0].op is Op.ATTR:
            self._method_of_other(node, call, str(call.args[0].extra))
        else:
            self._unread(node, call, str(call.args[0].extra))

    def _passed(self, node: Node, call: Node, function: Function) -> None:
        parameters = [parameter for argument, parameter in bound(call, function) if argument is node]
        for one in parameters:
            self._entered[function].append(call)
            if one in self.uses.values and self._files.users(one).returned.get(one):
                self._into(call, one)
            self._go(one, self.uses.values[node])
        if not parameters:
            self._note(Use.OTHER, call)

    def _api(self, node: Node, call: Node, qualified: str) -> None:
        """A function of a library."""
        row, package, last = effect(canonical(qualified)), qualified.partition(".")[0], qualified.rpartition(".")[2]
        if qualified in {"torch.save", "torch.jit.save"}:
            self._note(Use.SAVED, call)
        elif qualified == "builtins.setattr":
            itself = call.args[1] is call.function.self_node
            self._note(Use.RESTORED if itself and call.args[2].op is not Op.CONST else Use.HELD, call)
        elif package == "builtins":
            self._go(call) if last in _PASSING else self._note(Use.READS, call)
        elif row is Effect.ARRAY or kind(qualified) is Kind.DATASET or self._is_data(node, call, last):
            self._note(Use.ON_HOST, call)
        elif row in _MEETING:
            self._meet(call, self._others(node, call), is_tensor=True)
        elif row in {Effect.SAME, Effect.FIRST, Effect.PASS, Effect.WRAP, Effect.LIKE} or last in _WRAPPERS:
            self._go(call, self.uses.values[node] and row in {Effect.PASS, Effect.WRAP})
        elif row is Effect.READ:
            self._note(Use.READS, call)
        elif package == "torch":
            self._note(Use.STATES if words.RANDOM.search(last) else Use.OTHER, call)
        else:
            self._unread(node, call, last)

    def _others(self, node: Node, call: Node) -> Iterator[Node]:
        for one in call.args[1:]:
            if one is not node:
                yield one
            elif one.op is Op.SEQUENCE:
                yield from (each for each in one.args if each not in self.uses.values)

    def _method_of_other(self, node: Node, call: Node, name: str) -> None:
        """A method of another value, which gets this one."""
        base = call.args[0].args[0]
        if name == "copy_":
            self._note(Use.FEEDS, call)
        elif name in {"load_state_dict", "_load_from_state_dict"}:
            self._fed(call, base)
        elif name in FILLING:
            return  # a store says what is filled
        elif method_effect(name) in _MEETING:
            self._meet(call, (base,), is_tensor=True)
        elif words.LOGS.fullmatch(name):
            self._note(Use.READS, call)
        else:
            self._unread(node, call, name)

    def _fed(self, call: Node, base: Node) -> None:
        """`receiver.load_state_dict(…)`: a copy, unless it assigns, or the receiver may keep the tensors."""
        owner = self._kinds.class_of(base)
        syntax = call.syntax.func if isinstance(call.syntax, ast.Call) else None
        text = ast.unparse(syntax).rpartition(".")[0] if syntax is not None else ""
        is_module = owner in self._kinds.module_classes or any(map(self._is_copy, self._origins(base)))
        if {"assign", "**"}.intersection(extras(call)):
            self._note(Use.FEEDS_UNSURE, call)
        elif not is_module and owner is not None and not any(map(names, owner.bases)):
            self._note(Use.OTHER, call)
        elif not is_module and words.NUMBERS.search(text):
            self._note(Use.FEEDS_NUMBERS, call)
        elif not is_module and words.KEEPS.search(text.rpartition(".")[2]):
            self._note(Use.FEEDS_UNSURE, call)
        else:
            self._note(Use.FEEDS, call)
            self.uses.fed |= set(self._origins(base))

    def _origins(self, node: Node) -> Iterator[Node]:
        """What an object is, before whatever methods it was asked for; all that its attribute may be."""
        while node.op is Op.AFTER:
            node = node.args[0]
        yield node
        owner = self._kinds.class_of(node.args[0]) if node.op is Op.ATTR else None
        if owner is not None:
            stores = (one for each in owner.methods.values() for one in each.stores)
            yield from (one.value for one in stores if one.is_attribute and one.key == node.extra)

    def _is_copy(self, node: Node) -> bool:
        """`deepcopy(model)`, a module like the other."""
        return node.op is Op.CALL and any(one.endswith("deepcopy") for one in names(node.args[0]))

    def _unread(self, node: Node, call: Node, name: str) -> None:
        """A call of which nothing is read but its name, and the names of what it gets."""
        if self._is_data(node, call, name):
            self._note(Use.ON_HOST, call)
        elif words.STATE.search(name):
            self._note(Use.FEEDS_UNSURE, call)
        elif words.LOGS.fullmatch(name):
            self._note(Use.READS, call)
        else:
            self._note(Use.GIVEN, call)

    def _is_data(self, node: Node, call: Node, name: str) -> bool:
        """`DataLoader(loaded)`, `Batches(dataset=loaded)`, `DataLoader(Rows(loaded))`"""
        given = next(word for word, one in zip(extras(call), call.args[1:]) if one is node)
        if given == "dataset" or (node is call.args[1] and words.TAKES_DATA.search(name)):
            return True
        made = self._files.users(call).users.get(call, ()) if sounds_like_class(call.args[0]) else ()
        return any(self._kinds.of(one) is Kind.LOADER for one in made)

    # Where it is kept, and comes back

    def _stored(self, node: Node, store: Store) -> None:
        base = store.base
        if base in self.uses.values:
            return
        if store.is_attribute:
            of_module = base.function.name == "__init__" and base.function.owner in self._kinds.module_classes
            self._note(Use.OTHER if of_module else Use.HELD, node)  # modules are made of options
            for one in self._attributes(base, store.key):
                self._go(one)
            return
        kept = [base]
        for one in kept:  # grows: what a container is filled with is in it under all of its names
            kept += (each for each in one.args if one.op in {Op.PHI, Op.AFTER} and each not in kept)
        for one in kept:
            if one.op in {Op.PARAM, Op.GLOBAL, Op.REF, Op.ATTR}:
                self._note(Use.HELD if one.op is Op.ATTR else Use.OTHER, node)
            elif one.op not in {Op.PHI, Op.AFTER} or one is base:
                self._go(one)

    def _attributes(self, base: Node, name: object) -> Iterator[Node]:
        """Where the methods of an object read an attribute of it."""
        owner = base.function.owner
        for function in owner.methods.values() if owner is not None and base is base.function.self_node else ():
            for one in function.nodes:
                if one.op is Op.ATTR and one.extra == name and one.args[0] is function.self_node:
                    yield one

    def _returned(self, node: Node, function: Function) -> None:
        entered = self._entered.get(function)
        if entered is None:
            self._note(Use.RETURNED, node)
            entered = [one for one, run in self._files.index.analysis.constraints.calls.items() if run is function]
        for call in entered:
            self._into(call, node)

    def _into(self, call: Node, value: Node) -> None:
        """What a function returns, of a tuple the parts by their places, is what its call gives."""
        if value.op is not Op.SEQUENCE:
            self._go(call, self.uses.values[value])
            return
        for one in self._files.users(call).users.get(call, ()):
            at = one.extra if one.op is Op.ITEM else None
            if isinstance(at, int) and -len(value.args) <= at < len(value.args) and value.args[at] in self.uses.values:
                self._go(one, self.uses.values[value.args[at]])


def _is_key(element: Node, user: Node) -> bool:
    """Whether an element is used as an index, looked for, or asked for what texts have."""
    if user.op is Op.ATTR:
        return hasattr(str, str(user.extra))
    looked_up = user.op is Op.COMPARE and _LOOKUPS.issuperset(extras(user))
    return looked_up or (user.op is Op.ITEM and user.args[0] is not element)


MOVES = frozenset({Effect.MOVE, Effect.CUDA, Effect.TO_HOST})
_MEETING = frozenset({Effect.MEET, Effect.ARITHMETIC, Effect.SEQUENCE, Effect.DRAW})
_LOOKUPS = frozenset({"In", "NotIn", "Is", "IsNot"})
_SETS = frozenset({"eval", "train", "state_dict"})
_MODULES = rows.MODULE_ONLY | {"eval", "state_dict", "load_state_dict"}
_COPIES = frozenset({"items", "values", "copy", "get", "pop"})
_LOOKING = frozenset({*dir(str), *dir(dict)})
_PASSING = frozenset(
    {"dict", "iter", "next", "zip", "enumerate", "reversed", "sorted", "list", "tuple", "map", "filter"}
)
_WRAPPERS = frozenset({"OrderedDict", "deepcopy", "copy", "Namespace", "EasyDict", "SimpleNamespace"})
