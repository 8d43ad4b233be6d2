"""What stands beside a load that was left open: others that say a place, and saves of the same file."""

import ast
from collections.abc import Hashable, Iterator

from devfix_codemods.assumptions.index import Index, called
from devfix_codemods.ir import Guard, Node, Op
from devfix_codemods.ir.keys import key, names
from devfix_codemods.loading import naming
from devfix_codemods.loading.uses import unmoved
from devfix_codemods.placement.arguments import is_none, loaded_to
from devfix_codemods.placement.places import HOST
from devfix_codemods.repairs.points import before, means_same


class Beside:
    """The other loads, and the saves, of one file."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self._saves = [one for one in index.calls if len(one.args) > 2 and _last(one) == "save"]

    def is_decided(self, call: Node) -> bool:
        """Whether the function loads the same file with a place as well: on another branch, or where this one fails."""
        tries = {one for one in self._index.ancestors(call.syntax or _NOTHING) if isinstance(one, ast.Try)}
        return any(
            _is_same(one.args[1], call.args[1])
            and (
                _may_ask_for_place(one.guard, call.guard)
                or not tries.isdisjoint(self._index.ancestors(one.syntax or _NOTHING))
            )
            for one, _ in _placed(call)
        )

    def place(self, call: Node) -> str | None:
        """The place that the loads of the same sort in the function agree on."""
        point = before(call) if call.function.parent is not None else None
        texts: set[str | None] = set()
        for other, place in _placed(call) if point is not None else ():
            if not is_none(place) and names(other.args[0]) == names(call.args[0]):
                same = point is not None and means_same(self._index.analysis, written(other, place), other, point)
                texts.add(self._under_its_test(other, call, written(other, place)) if same else None)
        return texts.pop() if len(texts) == 1 else None

    def is_round_trip(self, call: Node) -> bool:
        """What was saved before, in this very process; what was kept in memory; what the file saves from the host."""
        path = call.args[1]
        saved = [one for one in self._saves if self._end(one.args[2]) == self._end(path)]
        return (
            any(one.function is call.function and _is_same(one.args[2], path) for one in self._saves)
            or (path.op is Op.PARAM and naming.MEMORY.search(str(path.extra)) is not None)
            or (bool(saved) and all(self._is_brought(one.args[1]) for one in saved))
        )

    def _under_its_test(self, other: Node, call: Node, place: ast.expr) -> str | None:
        """`place`, or `None if torch.cuda.is_available() else place` where only that branch has the other load."""
        text, more = self._index.text(place), other.guard - call.guard
        if "\n" in text or not more:
            return None if "\n" in text else text
        asked = next((one for one in call.function.nodes if called(one, "torch.cuda.is_available")), None)
        if asked is None or asked.syntax is None or more != {(key(asked), False)} or " if " in text:
            return None
        return f"None if {self._index.text(asked.syntax)} else {text}"

    def _is_brought(self, value: Node) -> bool:
        """`x.cpu()`, and displays of such alone."""
        if value.op in {Op.MAPPING, Op.SEQUENCE, Op.COMPREHENSION}:
            return bool(value.args) and all(map(self._is_brought, value.args))
        return self._index.analysis.births.place_given(value) == HOST

    def _end(self, path: Node) -> object:
        """What tells a file from others: the last part of a path."""
        joined = (path.op is Op.CALL and _last(path) in {"join", "joinpath"}) or path.extra == "Div"
        return self._end(path.args[-1]) if joined else key(path)


def _may_ask_for_place(one: Guard, other: Guard) -> bool:
    """Whether a test that may be about devices keeps two branches apart: no text that another thing is compared with,
    `args.dataset == "caltech"`."""
    tests = [atom for atom, holds in one if (atom, not holds) in other]
    return any(not _compares_text(atom) or naming.ASKS.search(str(atom)) for atom in tests)


def _compares_text(atom: Hashable) -> bool:
    if not isinstance(atom, tuple) or atom[:1] != ("compare",):
        return False
    constants = (one[1] for one in atom[2:] if isinstance(one, tuple) and one[:1] == ("const",))
    return any(str(one).startswith(("'", '"')) for one in constants)


def _placed(call: Node) -> Iterator[tuple[Node, Node]]:
    """The other loads of a function that say a place, and that."""
    for one in call.function.nodes:
        if one.op is Op.CALL and one is not call and len(one.args) > 1 and (place := loaded_to(one)) is not None:
            yield one, place


def _is_same(path: Node, other: Node) -> bool:
    """Whether two calls name one file, by a value or in the same words, or what opens it does."""
    first, second = _opened(path), _opened(other)
    texts = [ast.unparse(one.syntax) if isinstance(one.syntax, ast.expr) else None for one in (first, second)]
    return first is second or (texts[0] == texts[1] is not None and first.op is not Op.ENTER)


def _opened(file: Node) -> Node:
    """The path of what is open: `path` for `f` in `with open(path) as f`."""
    file = unmoved(file)
    is_open = file.op is Op.ENTER and file.args[0].op is Op.CALL and _last(file.args[0]) == "open"
    return file.args[0].args[1] if is_open and len(file.args[0].args) > 1 else file


def _last(call: Node) -> str:
    return (next(iter(names(call.args[0])), None) or str(call.args[0].extra)).rpartition(".")[2]


def written(call: Node, value: Node) -> ast.expr:
    """What is written for an argument of a call."""
    syntax = call.syntax
    assert isinstance(syntax, ast.Call)
    written = [*syntax.args, *(one.value for one in syntax.keywords)]
    return next(text for text, one in zip(written, call.args[1:]) if one is value)


_NOTHING = ast.Pass()
