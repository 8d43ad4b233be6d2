"""Tests that are one: a flag that a function is handed, that an object keeps, or that the module has, is what was
tested where it was made."""

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence

from devfix_codemods.catalogue import Kind
from devfix_codemods.ir import Class, Function, Guard, Node, Op
from devfix_codemods.ir.guards import literal
from devfix_codemods.ir.keys import key
from devfix_codemods.ir.nodes import Literal
from devfix_codemods.placement.kinds import Kinds


def name_tests_once(kinds: Kinds) -> None:
    """Let all guards of a file name what is tested by what it is where it was made: `train(use_cuda)` of
    `use_cuda = torch.cuda.is_available()` tests that."""
    tested = {atom for function in kinds.module.functions for node in function.nodes for atom, _ in node.guard}
    flags = dict(_flags(kinds)) if tested else {}
    meant = {atom: _meant(flags, (atom, True)) for atom in tested & flags.keys()}
    shared = Counter(one for one, _ in meant.values())
    known = {atom: one for atom, one in meant.items() if one[0] in tested or shared[one[0]] > 1 or _asks(one[0])}
    if not known:
        return
    renamed = _Renamed(known)
    for function in kinds.module.functions:
        for node in function.nodes:
            node.guard = renamed[node.guard]
            if node.op is Op.PHI:
                node.extra = tuple(renamed[one] for one in node.extras)
        for store in function.stores:
            store.guard = renamed[store.guard]
        function.returns = [(value, renamed[guard]) for value, guard in function.returns]
        function.guards = {one: renamed[guard] for one, guard in function.guards.items()}
        function.choices = {one: renamed[guard] for one, guard in function.choices.items()}
        function.exit = renamed[function.exit] if function.exit is not None else None


class _Renamed(dict[Guard, Guard]):
    """Guards by how they are named; most stay as they are."""

    def __init__(self, known: dict[Hashable, Literal]) -> None:
        super().__init__()
        self._known = known

    def __missing__(self, guard: Guard) -> Guard:
        found = self[guard] = frozenset(map(self._named, guard))
        return found

    def _named(self, one: Literal) -> Literal:
        found = self._known.get(one[0])
        return one if found is None else (found[0], found[1] is one[1])


def _meant(flags: dict[Hashable, Literal], one: Literal) -> Literal:
    """What a flag is in the end, from function to function."""
    for _ in range(DEEPEST):
        found = flags.get(one[0])
        if found is None:
            break
        one = found[0], found[1] is one[1]
    return one


def _asks(atom: Hashable) -> bool:
    """`torch.cuda.is_available()`, which says more than any name of it."""
    return isinstance(atom, tuple) and atom[0] == "call"


def _flags(kinds: Kinds) -> Iterator[tuple[Hashable, Literal]]:
    """The atoms that stand for a test elsewhere."""
    module = kinds.module
    calls = Counter(kinds.calls.values())
    for function in calls:
        for node in function.parameters.values():
            given = kinds.given.get(node, ())
            if len(given) == calls[function]:
                yield from _same(kinds, node, given)
    for node in {node.extra: node for node in module.of(Op.GLOBAL)}.values():
        found = module.top.finals.get(str(node.extra))
        if found is not None:
            yield from _same(kinds, node, [found])
    for owner in module.classes:
        yield from _kept(kinds, owner)


def _kept(kinds: Kinds, owner: Class) -> Iterator[tuple[Hashable, Literal]]:
    """What the constructor alone keeps in an attribute."""
    made = owner.methods.get("__init__")
    itself = made.self_node if made is not None else None
    for store in made.stores if made is not None and itself is not None else ():
        atom = ("attr", key(itself), store.key) if itself is not None else None
        if store.is_attribute and store.base is itself and _is_only(kinds, owner, store.key, made):
            found = _literal(kinds, store.value)
            if found is not None and found[0] != atom:
                yield atom, found


def _is_only(kinds: Kinds, owner: Class, attribute: Hashable, made: Function | None) -> bool:
    """Whether nothing but one statement of a constructor sets an attribute."""
    stores = [
        function
        for function in kinds.module.functions
        for store in function.stores
        if store.is_attribute and store.key == attribute and kinds.class_of(store.base) in {owner, None}
    ]
    return stores == [made]


def _same(kinds: Kinds, node: Node, values: Sequence[Node]) -> Iterator[tuple[Hashable, Literal]]:
    """What a value stands for, where all that it may be are one test."""
    found = {_literal(kinds, one) for one in values}
    same = found.pop() if len(found) == 1 else None
    if same is not None and same[0] != key(node):
        yield key(node), same


def _literal(kinds: Kinds, value: Node) -> Literal | None:
    """The test that a value is, true or false: no constant, and nothing that is more than its truth."""
    if value.op not in _TESTS or kinds.of(value) not in {None, Kind.NUMBER}:
        return None
    return literal(value)


DEEPEST = 4
"""Through how many functions and attributes a flag is followed."""
_TESTS = frozenset({Op.CALL, Op.COMPARE, Op.PARAM, Op.ATTR, Op.GLOBAL, Op.PHI})
