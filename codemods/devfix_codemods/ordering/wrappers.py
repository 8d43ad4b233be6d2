"""`DataParallel` and `DistributedDataParallel` around a model: where that is by then, and what they are told."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from devfix_codemods.assumptions.availability_tests import speaks
from devfix_codemods.assumptions.index import Index, called, method
from devfix_codemods.catalogue import canonical
from devfix_codemods.ir import Node, Op
from devfix_codemods.ir.guards import comparison
from devfix_codemods.ir.keys import key, name
from devfix_codemods.ordering.models import Models, call_of, device_of
from devfix_codemods.placement.arguments import argument, is_none
from devfix_codemods.placement.places import HOST, place_of

_DEVICES = re.compile(r"cuda|device")
_NAMES = frozenset({"DataParallel", "DistributedDataParallel"})
_WRAPPING = frozenset({"accelerate", "deepspeed"})
"""Packages that move what is wrapped as well."""
_SENTINELS = frozenset({("GtE", 0), ("Lt", 0), ("Gt", -1), ("Eq", -1), ("NotEq", -1)})
"""Comparisons that ask whether a number is that of a card, where -1 stands for the host."""


@dataclass(frozen=True, slots=True)
class Wrapper:
    """A wrapping call: the model, the `device_ids`, and the move that is called on the result at once."""

    call: Node
    name: str
    model: Node
    ids: Node | None
    moved: Node | None

    @property
    def is_distributed(self) -> bool:
        return self.name == "DistributedDataParallel"

    @property
    def only_id(self) -> Node | None:
        """The element of `device_ids` where these are a list of one, written there or under a name."""
        ids, written = self.ids, self.syntax("device_ids", 1)
        if ids is None or ids.op is not Op.SEQUENCE or not isinstance(ids.syntax, ast.List | ast.Tuple):
            return None
        is_alone = len(ids.args) == 1 and not isinstance(ids.syntax.elts[0], ast.Starred)
        return ids.args[0] if is_alone and (written is ids.syntax or isinstance(written, ast.Name)) else None

    def syntax(self, word: str, position: int) -> ast.expr | None:
        """How an argument is written."""
        call = self.call.syntax
        assert isinstance(call, ast.Call)
        named = [one.value for one in call.keywords if one.arg == word]
        return next(iter((*named, *call.args[position : position + 1])), None)


class Wrappers:
    """The wrapping calls of one file."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self._models = Models(index)
        self._kinds = index.analysis.kinds
        births = index.analysis.births
        self.are_placed = births.defaults.are_set or births.defaults.imports(_WRAPPING)
        self._attributes = births.attributes

    def __iter__(self) -> Iterator[Wrapper]:
        for call in self._index.calls:
            qualified = canonical(name(call.args[0]) or "")
            last = qualified.rpartition(".")[2]
            model = argument(call, 0, "module")
            if qualified.startswith("torch.nn.") and last in _NAMES and model is not None:
                yield Wrapper(call, last, model, argument(call, 1, "device_ids"), self._moved(call))

    def _moved(self, call: Node) -> Node | None:
        """The move in `DataParallel(net).to(device)`."""
        attribute = self._index.parents.get(call.syntax) if call.syntax is not None else None
        outer = self._index.parents.get(attribute) if isinstance(attribute, ast.Attribute) else None
        found = self._index.nodes.get(outer) if isinstance(outer, ast.Call) and outer.func is attribute else None
        return found if found is not None and method(found) in {"to", "cuda"} else None

    def device(self, one: Wrapper) -> tuple[Node, str] | None:
        """Where a model that is on the host has to go, and its text: where its wrapper is moved, or `device_ids`."""
        if not self._models.is_on_host(one.model, one.call):
            return None
        if one.moved is not None:
            found = device_of(one.moved)
            return (found[0], self._index.text(found[1])) if found is not None else None
        return (one.only_id, self.id_text(one)) if one.only_id is not None else None

    def id_text(self, one: Wrapper) -> str:
        """How the only one of `device_ids` is spelled where the model is wrapped."""
        written = one.syntax("device_ids", 1)
        if isinstance(written, ast.List | ast.Tuple):
            return self._index.text(written.elts[0])
        assert isinstance(written, ast.Name)
        return f"{written.id}[0]"

    def moved_to(self, one: Wrapper) -> tuple[Node, Node, ast.expr] | None:
        """The last move of the model before it is wrapped, its device, and how that is written."""
        moves = self._models.moves(one.model)
        device = device_of(moves[-1]) if moves else None
        return (call_of(moves[-1]), *device) if device is not None else None

    # What it is told

    def is_guarded(self, one: Wrapper) -> bool:
        """Whether it stands where CUDA was asked for."""
        return speaks(self._index, one.call.guard, _DEVICES)

    def test_for_cuda(self, one: Wrapper, device: Node | None) -> str | None:
        """The condition under which a device is none of a run over gloo, which takes no `device_ids` on the host."""
        gloo = any(node.op is Op.CONST and node.extra == "gloo" for node in self._index.analysis.module.nodes())
        if one.only_id is None or device is None or not gloo:
            return None
        while called(device, "torch.device") and len(device.args) > 1:
            device = device.args[1]
        choice = device.syntax
        if not isinstance(choice, ast.IfExp) or place_of(device.args[-1], self._kinds) != HOST:
            return None
        test = self._index.text(choice.test)
        return test if "is_available" in test else None

    def is_host_by_number(self, one: Wrapper) -> bool:
        """`device_ids=[self.card]`, where `card=-1` is the default and stands for the host, over another than NCCL."""
        nccl = any(node.op is Op.CONST and node.extra == "nccl" for node in self._index.analysis.module.nodes())
        if one.only_id is None or nccl or self.is_guarded(one):
            return False
        return any(map(self._is_host_by_default, self._values(one.only_id)))

    def _values(self, node: Node) -> Iterator[Node]:
        field = self._attributes.field(node) if node.op is Op.ATTR else None
        yield from self._attributes.stored[field] if field is not None else [node]

    def _is_host_by_default(self, node: Node) -> bool:
        """A number that is -1 by default, and is asked whether it is a card's; or what is chosen by that question."""
        asked = {comparison(one)[0]: one.args[0] for one in node.function.nodes if _asks_for_card(one)}
        if node.op is Op.PHI and any(place_of(one, self._kinds) == HOST for one in node.args):
            guards = (one for one in node.extra if isinstance(one, frozenset)) if isinstance(node.extra, tuple) else ()
            return any(_is_minus_one(_default(asked[atom])) for guard in guards for atom, _ in guard if atom in asked)
        return _is_minus_one(_default(node)) and key(node) in {key(one) for one in asked.values()}

    def contradicts(self, one: Wrapper, device: Node) -> bool:
        """`model.to("cuda:1")` beside `device_ids=[0]`; a configured device beside `device_ids=list(range(n))`."""
        ids = one.ids
        if ids is None:
            return False
        if ids.op is Op.SEQUENCE and ids.args and ids.args[0].op is device.op is Op.CONST:
            number, first = str(device.extra).removeprefix("cuda:"), ids.args[0].extra
            return number.isdigit() and isinstance(first, int) and int(number) != first
        counted = ids.args[1] if called(ids, "builtins.list") and len(ids.args) == 2 else ids
        configured = called(device, "torch.device") and len(device.args) == 2 and device.args[1].op is Op.ATTR
        return configured and called(counted, "builtins.range") and len(counted.args) == 2

    @staticmethod
    def is_nothing(one: Wrapper) -> bool:
        return one.ids is None or is_none(one.ids)


def _asks_for_card(node: Node) -> bool:
    operators = node.extra
    if node.op is not Op.COMPARE or not isinstance(operators, tuple) or len(node.args) != 2:
        return False
    number = node.args[1]
    return (operators[0], number.extra if number.op is Op.CONST else None) in _SENTINELS


def _number(node: Node) -> object:
    if node.op is Op.OPERATION and node.extra == "USub" and node.args[0].op is Op.CONST:
        return -node.args[0].extra if isinstance(node.args[0].extra, int) else None
    return node.extra if node.op is Op.CONST else None


def _default(node: Node) -> Node | None:
    return node.function.defaults.get(str(node.extra)) if node.op is Op.PARAM else None


def _is_minus_one(node: Node | None) -> bool:
    return node is not None and _number(node) == -1
