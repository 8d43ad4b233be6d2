"""Calls that load what a file holds to where that was saved: those of torch, of Lightning, and of what wraps them."""

from dataclasses import dataclass

from devfix_codemods.assumptions.index import Index
from devfix_codemods.catalogue import canonical, libraries
from devfix_codemods.catalogue.torch import MAP_LOCATION
from devfix_codemods.ir import Class, Function, Node, Op
from devfix_codemods.ir.keys import names
from devfix_codemods.placement.arguments import is_optional, loaded_to
from devfix_codemods.placement.calls import bound, local_calls, method

_WORDS = ("map_location", "device")
_DEEPEST = 3


@dataclass(frozen=True, slots=True, eq=False)
class Load:
    """A call that leaves the place to the file: `keyword` is what would say it.

    A `wrapper` hands the place on to the calls that load, the `sources`; else the call itself is the only one.
    """

    call: Node
    keyword: str
    sources: tuple[Node, ...]
    wrapper: Function | None = None
    is_module: bool = False
    """Whether what comes back is a module of Lightning, which would rather stay on the host than fail."""


class Calls:
    """The calls of one file, and of what it calls in others."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self._imported = index.analysis.kinds.imported
        self._local = {index.analysis.module: index.analysis.kinds.calls}
        self._wrappers: dict[tuple[Function, int], tuple[str, tuple[Node, ...]] | None] = {}

    def loads(self) -> list[Load]:
        return [one for call in self._index.calls if (one := self._load(call)) is not None]

    def function(self, call: Node) -> Function | None:
        """The function that a call runs, in whatever file of the project."""
        module = call.function.module
        if module not in self._local:
            self._local[module] = local_calls(module)
        found = self._local[module].get(call)
        if found is not None or not names(call.args[0]):
            return found
        made = self._imported.definition(call.args[0])
        return method(made, "__init__") if isinstance(made, Class) else made

    def _load(self, call: Node) -> Load | None:
        if not isinstance(call.extra, tuple) or not all(map(_is_open, call.extra, call.args[1:])):
            return None
        has_file = len(call.args) > 1
        if _is_of_torch(call):
            return Load(call, "map_location", (call,)) if has_file and loaded_to(call) is None else None
        if call.args[0].op is Op.ATTR and call.args[0].extra in libraries.LOADING:
            is_open = has_file and loaded_to(call) is None
            return Load(call, "map_location", (call,), is_module=True) if is_open else None
        function = self.function(call)
        wraps = self._wraps(function, 0) if function is not None else None
        if function is None or wraps is None or function is call.function:
            return None
        given = {parameter for _, parameter in bound(call, function)}
        return None if function.parameters[wraps[0]] in given else Load(call, wraps[0], wraps[1], function)

    def _wraps(self, function: Function, depth: int) -> tuple[str, tuple[Node, ...]] | None:
        """The parameter that a function hands on as the place of what it loads, None by default, and those loads."""
        if (function, depth) not in self._wrappers:  # how deep it is asked for decides how far it is followed
            self._wrappers[function, depth] = self._handed_on(function, depth)
        return self._wrappers[function, depth]

    def _handed_on(self, function: Function, depth: int) -> tuple[str, tuple[Node, ...]] | None:
        places = [one for word in _WORDS if (one := function.parameters.get(word)) is not None and is_optional(one)]
        for place in places:
            using = [one for one in function.nodes if place in one.args]
            found = [one for one in using if one.op is Op.CALL and self._loads_to(one, place, depth)]
            if found and (place.extra == _WORDS[0] or found == using):  # a device may place more than that
                return str(place.extra), tuple(found)
        return None

    def _loads_to(self, call: Node, place: Node, depth: int) -> bool:
        """Whether a call loads to a place, or hands it on to what does."""
        if _is_of_torch(call):
            return loaded_to(call) is place
        inner = self.function(call) if depth < _DEEPEST else None
        wraps = self._wraps(inner, depth + 1) if inner is not None else None
        return inner is not None and wraps is not None and (place, inner.parameters[wraps[0]]) in bound(call, inner)


def _is_of_torch(call: Node) -> bool:
    return any(canonical(one) in MAP_LOCATION for one in names(call.args[0]))


def _is_open(word: object, given: Node) -> bool:
    """Whether an argument surely says no place: of stars, only a display of other keywords, which gets none later."""
    if word != "**":
        return word != "*"
    displays = given.args if given.op is Op.PHI else (given,)
    keys = (one.extra if one.op is Op.MAPPING and isinstance(one.extra, tuple) else (None,) for one in displays)
    put_in = {one.key for one in given.function.stores if one.base in displays or one.base is given}
    return not any({None, *_WORDS}.intersection(one) for one in (*keys, put_in))
