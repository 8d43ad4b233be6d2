"""Values on their way through a program: names, attributes, containers, loops, and functions of the project."""

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator

from devfix_codemods.assumptions.index import Index, Users, method
from devfix_codemods.catalogue import MOVES, Effect, Kind, canonical, effect, kind, method_effect
from devfix_codemods.catalogue import torch as rows
from devfix_codemods.ir import Function, Module, Node, Op
from devfix_codemods.ir.elements import VALUE
from devfix_codemods.ir.items import reads_of
from devfix_codemods.ir.keys import names
from devfix_codemods.ir.nodes import Store
from devfix_codemods.ir.versions import FILLING
from devfix_codemods.loading import naming
from devfix_codemods.loading.calls import Calls, Load
from devfix_codemods.loading.uses import Use, Uses, unmoved
from devfix_codemods.placement.arguments import is_asked_to_move
from devfix_codemods.placement.calls import bound
from devfix_codemods.placement.naming import sounds_like_class


class Following:
    """The files in which values are followed."""

    def __init__(self, index: Index, calls: Calls) -> None:
        self.kinds = index.analysis.kinds
        self.calls = calls
        self.local = index.analysis.calls
        self._users: dict[Module, Users] = {index.analysis.module: index}

    def of_load(self, load: Load) -> Uses:
        """The uses of what a call loads, inside of the function that wraps it, and after it."""
        return _Follower(self, load).run(load.sources)

    def of_values(self, nodes: Iterable[Node]) -> Uses:
        """The uses of values that are the same, or parts of the same."""
        return _Follower(self).run(nodes)

    def users(self, node: Node) -> Users:
        """The users of the values of a file, be it another one."""
        module = node.function.module
        if module not in self._users:
            self._users[module] = Users(module)
        return self._users[module]

    def users_of(self, node: Node) -> list[Node]:
        """The values that are computed of one."""
        return self.users(node).users.get(node, [])


class _Follower:
    """Follows one value, and notes what is done with it."""

    def __init__(self, files: Following, load: Load | None = None) -> None:
        self._files = files
        self._kinds = files.kinds
        self._load = load.call if load is not None else None
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
                for operation, others in self.uses.meetings:
                    if self.uses.values.keys() >= set(others):
                        self._go(operation)
        return self.uses

    def _go(self, node: Node, whole: bool = False) -> None:
        if not whole and self._kinds.of(node) in {Kind.NUMBER, Kind.TEXT}:
            self._note(Use.READS, node)
        elif node not in self.uses.values:
            self.uses.values[node] = whole
            self._pending.append(node)

    def _note(self, use: Use, node: Node) -> None:
        self.uses.found[use].append(node)

    def _visit(self, node: Node) -> None:
        users = self._files.users(node)
        for read in users.reads.get(node, ()):
            self._go(read, self.uses.values[node])
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
                is_key = user.extra != VALUE and any(map(_takes_key, self._files.users_of(user)))
                self._note(Use.READS, user) if is_key else self._entry(user, None)
            case Op.ITEM:
                self._entry(user, user.extra) if user.args[0] is node else self._note(Use.READS, user)
            case Op.ATTR:
                self._attribute(node, user)
            case Op.OPERATION | Op.COMPARE:
                self._computed(node, user)
            case _:
                is_text = isinstance(user.syntax, ast.JoinedStr | ast.FormattedValue | ast.Slice)
                self._note(Use.READS if is_text else Use.OTHER, user)

    def _entry(self, entry: Node, key: object) -> None:
        self._note(Use.APART, entry)
        if isinstance(key, str) and naming.RANDOM.search(key):
            self._note(Use.STATES, entry)
        elif isinstance(key, str) and naming.PLAIN.match(key):
            plain = Use.OPTIONS if naming.OPTIONS.search(key) else Use.READS
            self._note(Use.KEPT if is_asked_to_move(entry, self._files.users_of) else plain, entry)
        else:
            self._go(entry)

    def _attribute(self, node: Node, attribute: Node) -> None:
        users = self._files.users_of(attribute)
        calls = [one for one in users if one.op is Op.CALL and one.args[0] is attribute]
        for call in calls:
            self._method(node, call, str(attribute.extra))
        if not calls and attribute.extra in rows.TENSOR_ATTRIBUTES:
            self._go(attribute)
        elif not calls:
            self._note(Use.READS if attribute.extra in rows.PLAIN_ATTRIBUTES else Use.OTHER, attribute)

    def _computed(self, node: Node, user: Node) -> None:
        """An operation with numbers gives a part of the value; keys are looked up, None is asked for."""
        others = tuple(one for one in user.args if one is not node)
        plain = [one.op is Op.CONST or self._kinds.of(one) is Kind.NUMBER for one in others]
        if user.extra == "Not" or (user.op is Op.COMPARE and (any(plain) or _LOOKUPS.issuperset(user.extras))):
            self._note(Use.READS, user)
        elif all(plain):
            self._go(user)
        else:
            self._meet(user, others)

    def _meet(self, operation: Node, others: Iterable[Node]) -> None:
        self._note(Use.OTHER, operation)
        self.uses.meetings.append((operation, tuple(others)))

    # Calls

    def _method(self, node: Node, call: Node, name: str) -> None:
        """A method of the value itself."""
        whole, row = self.uses.values[node], method_effect(name)
        if row in MOVES:
            is_type = len(call.args) > 1 and all(self._kinds.says(one, Kind.DTYPE) for one in call.args[1:])
            self._go(call, whole) if is_type else self._note(Use.MOVED, call)
        elif name in {"get", "pop"} and len(call.args) > 1:
            self._entry(call, call.args[1].extra if call.args[1].op is Op.CONST else None)
        elif name in _MODULES:
            self._note(Use.RUN if whole else Use.READS, call)
            self._go(call, whole)
        elif name in {"items", "values", "copy", "state_dict"}:
            self._note(Use.APART, call)
            self._go(call, whole and name == "copy")
        elif name == "save":
            self._note(Use.SAVED, call)
        elif not self._by_effect(row, call, call.args[1:]):
            looks = hasattr(dict, name) or (not whole and hasattr(str, name))
            self._note(Use.READS if looks else Use.RUN if whole else Use.OTHER, call)
            if whole and not looks:
                self._go(call)

    def _by_effect(self, row: Effect | None, call: Node, others: Iterable[Node], whole: bool = False) -> bool:
        """What the catalogue says of a function, or a method, that gets the value; whether it says anything."""
        if row in _MEETING:
            self._meet(call, others)
        elif row in _SAME:
            self._go(call, whole)
        elif row in _USES:
            self._note(_USES[row], call)
        return row in _MEETING or row in _SAME or row in _USES

    def _called(self, node: Node, call: Node) -> None:
        if call.args[0] is node:
            self._note(Use.RUN if self.uses.values[node] else Use.OTHER, call)
        if node not in call.args[1:]:
            return
        callee, found = call.args[0], names(call.args[0])
        function = self._files.calls.function(call) if call is not self._load else None
        if function is not None:
            self._passed(node, call, function)
        elif callee.op is Op.ATTR and (not found or callee.extra in _FEEDING):
            self._method_of_other(node, call, str(callee.extra))
        elif found:
            self._api(node, call, found[0])
        else:
            self._unread(node, call, str(callee.extra))

    def _passed(self, node: Node, call: Node, function: Function) -> None:
        parameters = [parameter for argument, parameter in bound(call, function) if argument is node]
        self._entered[function].append(call)
        for one in parameters:
            if one in self.uses.values and self._files.users(one).returned.get(one):
                self._into(call, one)
            self._go(one, self.uses.values[node])
        if not parameters:
            self._note(Use.OTHER, call)

    def _api(self, node: Node, call: Node, qualified: str) -> None:
        """A function of a library."""
        package, last = qualified.partition(".")[0], qualified.rpartition(".")[2]
        row, whole = effect(canonical(qualified)), self.uses.values[node]
        others = (each for one in call.args[1:] for each in (one.args if one.op is Op.SEQUENCE else (one,)))
        if qualified in {"torch.save", "torch.jit.save"}:
            self._note(Use.SAVED, call)
        elif qualified == "builtins.setattr" and len(call.args) > 2:
            all_of_it = call.args[1] is call.function.self_node and call.args[2].op is not Op.CONST
            self._note(Use.RESTORED if all_of_it else Use.HELD, call)
        elif naming.PASSES.fullmatch(last) or qualified == "torch.device":
            self._go(call, whole and package != "builtins")
        elif naming.LOOKS.fullmatch(last) and package in {"builtins", "numpy"}:
            self._note(Use.READS, call)
        elif package == "builtins":
            self._note(Use.OTHER, call)
        elif kind(qualified) is Kind.DATASET or self._is_data(node, call, last):
            self._note(Use.ON_HOST, call)
        elif self._by_effect(row, call, (one for one in others if one is not node), whole):
            return
        elif package == "torch":
            self._note(Use.STATES if naming.RANDOM.search(last) else Use.OTHER, call)
        else:
            self._unread(node, call, last)

    def _method_of_other(self, node: Node, call: Node, name: str) -> None:
        """A method of another value, which gets this one."""
        base = call.args[0].args[0]
        if name in _FEEDING:
            self._fed(call, base)
        elif name == "copy_":
            self._note(Use.FEEDS, call)
        elif method_effect(name) in _MEETING:
            self._meet(call, (base,))
        elif name not in FILLING:  # a store says what is filled
            self._unread(node, call, name)

    def _fed(self, call: Node, base: Node) -> None:
        """`receiver.load_state_dict(…)`: a copy, unless it assigns, or the receiver may keep the tensors."""
        owner = self._kinds.class_of(base)
        text = ast.unparse(call.args[0].syntax or ast.Pass()).rpartition(".")[0]
        use = Use.FEEDS
        if {"assign", "**"}.intersection(call.extras) or call.extras.count(None) > 2:
            use = Use.FEEDS_UNSURE
        elif owner in self._kinds.module_classes or self._kinds.says_surely(base, Kind.MODULE):
            use = Use.FEEDS
        elif naming.NUMBERS.search(text):
            use = Use.FEEDS_NUMBERS
        elif naming.KEEPS.search(text.rpartition(".")[2]):
            use = Use.FEEDS_UNSURE
        elif owner is not None and not any(map(names, owner.bases)):
            use = Use.OTHER
        self._note(use, call)
        self.uses.fed |= {unmoved(base)} if use is Use.FEEDS else set()

    def _unread(self, node: Node, call: Node, name: str) -> None:
        """A call of which nothing is read but its name, and the names of what it gets."""
        logs, feeds = naming.LOGS.fullmatch(name), naming.STATE.search(name)
        given = Use.ON_HOST if self._is_data(node, call, name) else Use.GIVEN
        self._note(Use.READS if logs else Use.FEEDS_UNSURE if feeds else given, call)

    def _is_data(self, node: Node, call: Node, name: str) -> bool:
        """`DataLoader(loaded)`, `Batches(dataset=loaded)`, `DataLoader(Rows(loaded))`"""
        given = next(word for word, one in zip(call.extras, call.args[1:]) if one is node)
        made = self._files.users_of(call) if sounds_like_class(call.args[0]) else ()
        takes = node is call.args[1] and naming.TAKES_DATA.search(name) is not None
        return takes or given == "dataset" or any(self._kinds.of(one) is Kind.LOADER for one in made)

    # Where it is kept, and comes back

    def _stored(self, node: Node, store: Store) -> None:
        base, function = store.base, store.base.function
        if base in self.uses.values:
            return
        if store.is_attribute:
            of_module = function.name == "__init__" and function.owner in self._kinds.module_classes
            self._note(Use.OTHER if of_module else Use.HELD, node)  # modules are made of options
            for one in _read_attributes(base, store.key):
                self._go(one)
            return
        kept = [base]
        for one in kept:  # grows: a container, under all of its names
            kept += (each for each in one.args if one.op in {Op.PHI, Op.AFTER} and each not in kept)
        for one in kept:
            if one.op in {Op.PARAM, Op.GLOBAL, Op.REF, Op.ATTR}:
                self._note(Use.HELD if one.op is Op.ATTR else Use.OTHER, node)
            else:
                self._go(one)

    def _returned(self, node: Node, function: Function) -> None:
        entered = self._entered.get(function)
        if entered is None:
            self._note(Use.RETURNED, node)
            entered = [one for one, run in self._files.local.items() if run is function]
        for call in entered:
            self._into(call, node)

    def _into(self, call: Node, value: Node) -> None:
        """What a function returns, of a tuple the parts by their places, is what its call gives."""
        if value.op is not Op.SEQUENCE:
            self._go(call, self.uses.values[value])
            return
        for one in self._files.users_of(call):
            at = one.extra if one.op is Op.ITEM else None
            if isinstance(at, int) and -len(value.args) <= at < len(value.args) and value.args[at] in self.uses.values:
                self._go(one, self.uses.values[value.args[at]])


def _takes_key(user: Node) -> bool:
    """Whether what an element is used for says that it is a key: an index, a look-up, a method of texts."""
    if user.op is Op.ATTR:
        return hasattr(str, str(user.extra))
    if user.op is Op.CALL:
        return user.args[0].extra in {"get", "pop"}
    return (user.op is Op.COMPARE and _LOOKUPS.issuperset(user.extras)) or (user.op is Op.ITEM and len(user.args) > 1)


def _read_attributes(base: Node, name: object) -> Iterator[Node]:
    """Where the methods of an object read an attribute of it."""
    owner = base.function.owner
    if owner is not None and base is base.function.self_node:
        yield from reads_of(owner, str(name))


_MEETING = frozenset({Effect.MEET, Effect.ARITHMETIC, Effect.SEQUENCE, Effect.DRAW})
_SAME = frozenset({Effect.SAME, Effect.FIRST, Effect.PASS, Effect.WRAP, Effect.LIKE})
_USES = {
    Effect.ARRAY: Use.ON_HOST,
    Effect.NEEDS_HOST: Use.ON_HOST,
    Effect.READ: Use.READS,
    Effect.SYNC: Use.READS,
}
_LOOKUPS = frozenset({"In", "NotIn", "Is", "IsNot"})
_MODULES = rows.MODULE_ONLY | {"eval", "load_state_dict"}
_FEEDING = frozenset({"load_state_dict", "_load_from_state_dict"})
