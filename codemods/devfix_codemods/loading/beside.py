"""What stands beside a load that was left open: others that say a place, and saves of the same file."""

import ast

from devfix_codemods.assumptions.index import Index, called
from devfix_codemods.ir import Node, Op
from devfix_codemods.ir.keys import key, names
from devfix_codemods.ir.nodes import Literal
from devfix_codemods.loading.calls import Load
from devfix_codemods.placement.arguments import is_none
from devfix_codemods.placement.births import Births
from devfix_codemods.placement.places import HOST
from devfix_codemods.placement.targets import loaded_to
from devfix_codemods.repairs.points import before, means_same


class Beside:
    """The other loads, and the saves, of one file."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self._births: Births = index.analysis.constraints.births

    def is_decided(self, load: Load) -> bool:
        """Whether the function loads the same file with a place as well: on another branch, or where this one fails."""
        return any(_is_same(one.args[1], load.call.args[1]) for one in self._placed(load.call))

    def place(self, load: Load) -> str | None:
        """The place that the other loads of the function agree on."""
        point = before(load.call)
        texts: set[str | None] = set()
        for other in self._placed(load.call) if load.call.function.parent is not None else ():
            place = loaded_to(other)
            if place is None or is_none(place) or names(other.args[0]) != names(load.call.args[0]):
                continue
            syntax = _argument(other, place)
            same = point is not None and syntax is not None and means_same(self._index.analysis, syntax, other, point)
            texts.add(self._under_its_test(other, load.call, syntax) if same and syntax is not None else None)
        return texts.pop() if len(texts) == 1 else None

    def is_round_trip(self, load: Load) -> bool:
        """Whether the function has saved the same, in this very process."""
        saves = (one for one in load.call.function.nodes if _saves(one))
        return any(_is_same(one.args[2], load.call.args[1]) for one in saves)

    def saves_host_values(self, load: Load) -> bool:
        """Whether the file saves what it takes to the host where this is loaded from."""
        wanted = self._end(load.call.args[1])
        same = [one for one in self._index.calls if _saves(one) and self._end(one.args[2]) == wanted]
        return bool(same) and all(self._is_brought(one.args[1]) for one in same)

    def _placed(self, call: Node) -> list[Node]:
        return [
            one
            for one in call.function.nodes
            if one.op is Op.CALL and one is not call and len(one.args) > 1 and loaded_to(one) is not None
        ]

    def _under_its_test(self, other: Node, call: Node, place: ast.expr) -> str | None:
        """`place`, or `None if torch.cuda.is_available() else place` where only that branch has the other load."""
        text, more = self._index.text(place), other.guard - call.guard
        if "\n" in text or not more:
            return None if "\n" in text else text
        asked = next((one for one in call.function.nodes if called(one, "torch.cuda.is_available")), None)
        wanted: set[Literal] = {(key(asked), False)} if asked is not None else set()
        if more != wanted or " if " in text or asked is None or asked.syntax is None:
            return None
        return f"None if {self._index.text(asked.syntax)} else {text}"

    def _is_brought(self, value: Node) -> bool:
        """`x.cpu()`, and displays of such alone."""
        if value.op in {Op.MAPPING, Op.SEQUENCE, Op.COMPREHENSION}:
            return bool(value.args) and all(map(self._is_brought, value.args))
        return self._births.place_given(value) == HOST

    def _end(self, path: Node) -> object:
        """What tells a file from others: the last part of a path."""
        if path.op is Op.CALL and len(path.args) > 1 and str(path.args[0].extra).endswith("join"):
            return self._end(path.args[-1])
        if path.op is Op.OPERATION and path.extra == "Div":
            return self._end(path.args[1])
        return key(path)


def _is_same(path: Node, other: Node) -> bool:
    """Whether two calls name one file, by a value or in the same words."""
    while path.op is Op.AFTER:
        path = path.args[0]
    while other.op is Op.AFTER:
        other = other.args[0]
    spelled = isinstance(path.syntax, ast.expr) and isinstance(other.syntax, ast.expr) and path.op is not Op.ENTER
    return path is other or (spelled and ast.unparse(path.syntax) == ast.unparse(other.syntax))  # type: ignore[arg-type]


def _saves(call: Node) -> bool:
    """A call of what is named `save`, with a path."""
    if call.op is not Op.CALL or len(call.args) < 3:
        return False
    return (next(iter(names(call.args[0])), None) or str(call.args[0].extra)).rpartition(".")[2] == "save"


def _argument(call: Node, value: Node) -> ast.expr | None:
    """What is written for an argument of a call."""
    syntax = call.syntax
    assert isinstance(syntax, ast.Call)
    written = [*syntax.args, *(one.value for one in syntax.keywords)]
    return next((text for text, one in zip(written, call.args[1:]) if one is value), None)
