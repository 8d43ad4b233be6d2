"""Memory that is pinned: only that of the host can be, and only for an accelerator that is there."""

import ast
import re
from collections.abc import Iterator

from devfix_codemods.assumptions.answers import Answer
from devfix_codemods.assumptions.availability_tests import is_guarded, speaks
from devfix_codemods.assumptions.comparisons import Comparisons
from devfix_codemods.assumptions.index import Index, called, method
from devfix_codemods.catalogue import canonical
from devfix_codemods.catalogue.torch import LOADERS
from devfix_codemods.demands.devices import device_of_move, is_elsewhere, may_be_host, place_where, words
from devfix_codemods.demands.loaded import placed_items
from devfix_codemods.edits.operations import AddImport, Edit, ReplaceExpression
from devfix_codemods.findings import Fix, Safety
from devfix_codemods.ir import Node, Op
from devfix_codemods.ir.keys import name, names
from devfix_codemods.placement.places import Place, sounds_like_device
from devfix_codemods.repairs.points import Point
from devfix_codemods.repairs.scope import devices_at

_OTHERS = re.compile(r"torch\.(?:accelerator|xpu|npu)\b|is_torch_(?:xpu|npu)_available")
"""What else pins memory as CUDA does: to pin for CUDA alone would leave that out."""
_MACHINE = re.compile(r"cuda|available|device|gpu|pin")
"""What a condition says that asks for the machine: one that names the host as a mode does not."""
_ARGUMENT_DEPRECATED = (2, 5)
"""Before, `pin_memory()` pinned for CUDA alone (https://github.com/pytorch/pytorch/pull/126376)."""
_WARNS = "the loader pins memory without an accelerator too: torch warns and pins nothing"
_RAISES = "memory is pinned even where there is no accelerator"


class Pins:
    """What one file pins."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self._births = index.analysis.births
        self._comparisons = Comparisons(index)
        self._asks = next(
            (one for one in index.calls if called(one, "torch.cuda.is_available") and len(one.args) == 1), None
        )

    def told(self) -> Iterator[Answer]:
        yield from self._comparisons.pinning()
        for call in self._index.calls:
            syntax = call.syntax
            assert isinstance(syntax, ast.Call)
            flag = next((one.value for one in syntax.keywords if one.arg == "pin_memory"), None)
            if method(call) == "pin_memory" and isinstance(syntax.func, ast.Attribute):
                base = syntax.func.value
                yield from (
                    self._of_argument(call, syntax) if len(call.args) > 1 else self._of_tensor(call, syntax, base)
                )
            elif isinstance(flag, ast.Constant) and flag.value is True:
                yield from self._of_flag(call, syntax, flag)
        yield from self._kept_on()

    def _of_flag(self, call: Node, syntax: ast.Call, flag: ast.Constant) -> Iterator[Answer]:
        if canonical(name(call.args[0]) or "") in LOADERS:
            place = placed_items(self._index, call)
            if place is not None and not self._chooses(call, place):
                message = f"the loader pins its batches, which are {words(self._index, place, call)} already"
                yield Answer(syntax, message, self._fix("Do not pin what is on a device", flag, "False", safe=True))
            else:
                yield from self._always_on(call, flag)
        elif (
            method(call) == "to"
            and len(syntax.args) == 1
            and call.args[1].extra == "cpu"
            and not speaks(self._index, call.guard, _MACHINE)
        ):
            edit = self._replace(flag, "torch.cuda.is_available()")
            yield Answer(
                syntax, _RAISES, Fix(Safety.UNSAFE, "Pin only where CUDA is available", (AddImport("torch"), edit))
            )

    # Tensors

    def _of_tensor(self, call: Node, syntax: ast.Call, base: ast.expr) -> Iterator[Answer]:
        place = place_where(self._index, call.args[0].args[0], call)
        text = self._index.text(base)
        if place is not None and is_elsewhere(self._index, place) and not self._chooses(call, place):
            message = f"`{text}` is {words(self._index, place, call)}: only memory of the host can be pinned"
            yield Answer(syntax, message, self._fix("Do not pin what is on a device", syntax, text, safe=True))
        elif self._goes_to_host(call) and not self._asked(call):
            fix = None
            if isinstance(base, ast.Name | ast.Attribute) and self._asks is not None:
                code = f"(__node__ if {self._is_available} else {text})"
                fix = self._fix("Pin only where CUDA is available", syntax, code, safe=True)
            advice = None if fix else "pin only where `torch.cuda.is_available()`"
            yield Answer(syntax, f"{_RAISES}, and pinning raises there", fix, advice)

    def _goes_to_host(self, call: Node) -> bool:
        """Whether what is pinned is moved at once to what the program itself says may be the host."""
        moves = (move for one in self._index.users[call] for move in self._index.users[one] if move.args[0] is one)
        devices = (device_of_move(one) for one in moves if self._births.is_move(one))
        return any(one is not None and may_be_host(self._index, one) for one in devices)

    def _chooses(self, call: Node, place: Place) -> bool:
        """Whether a device may be the host, and the code asks for that."""
        return place.node is not None and may_be_host(self._index, place.node) and self._asked(call)

    def _asked(self, call: Node) -> bool:
        return is_guarded(self._index, call)

    # Loaders

    def _always_on(self, call: Node, flag: ast.Constant) -> Iterator[Answer]:
        """A loader that pins whatever the device is, in a file that provides for machines without an accelerator."""
        defaults = self._births.defaults
        if self._asks is None or defaults.managed or defaults.is_test or self._asked(call) or self._knows_others():
            return
        device = self._device_at(call, call.statement)
        condition = f'{device}.type == "cuda"' if device is not None else self._is_available
        yield Answer(flag, _WARNS, self._fix(f"Pin only where `{condition}`", flag, condition))

    def _knows_others(self) -> bool:
        named = (one for node in self._index.nodes.values() if node.op in {Op.ATTR, Op.REF} for one in names(node))
        return any(map(_OTHERS.search, named))

    @property
    def _is_available(self) -> str:
        assert self._asks is not None
        assert self._asks.syntax is not None
        return self._index.text(self._asks.syntax)

    def _device_at(self, node: Node, statement: ast.stmt | None) -> str | None:
        """The device that was chosen before a statement, as far as that is certainly a `torch.device`."""
        environment = node.function.before.get(statement) if statement is not None else None
        if environment is None:
            return None
        point = Point(environment, node.guard, node)
        found = next(devices_at(self._index.analysis, point), None)
        return found[0] if found is not None and self._comparisons.is_device(found[1]) else None

    def _kept_on(self) -> Iterator[Answer]:
        """`self.pin_memory = pin_memory` where the device is known, of a parameter that is on by default."""
        for value, stores in self._index.stores.items():
            default = value.function.defaults.get("pin_memory") if value.op is Op.PARAM else None
            if value.extra != "pin_memory" or default is None or default.extra is not True:
                continue
            for store in stores:
                device = self._device_at(value, store.statement)
                if store.key == "pin_memory" and isinstance(store.statement, ast.Assign) and device is not None:
                    text, flag = self._index.text(store.statement.targets[0]), store.statement.value
                    message = f"`{text}` stays on where `{device}` is the host: there is nothing to pin for"
                    code = f'__node__ and {device}.type != "cpu"'
                    yield Answer(flag, message, self._fix("Pin only for devices other than the host", flag, code))

    # The argument

    def _of_argument(self, call: Node, syntax: ast.Call) -> Iterator[Answer]:
        """`x.pin_memory(device)`"""
        given = [*syntax.args, *(one.value for one in syntax.keywords)]
        text = self._index.text(given[0])
        named = isinstance(given[0], ast.Name | ast.Attribute) and sounds_like_device(text.rpartition(".")[2])
        if len(given) != 1 or not named:
            return  # what is called to pin a tensor, is given that tensor
        message = "the device of `pin_memory` is deprecated: memory is pinned for the accelerator that is there"
        if self._serves_nothing_else(call.args[1], call):
            yield Answer(syntax, message, None, f"leave the device out, and say that `{text}` has no effect")
            return
        edit = self._replace(syntax, f"{self._index.text(syntax.func)}()")
        yield Answer(syntax, message, Fix(Safety.UNSAFE, "Leave the device out", (edit,), _ARGUMENT_DEPRECATED))

    def _serves_nothing_else(self, device: Node, call: Node) -> bool:
        """Whether callers give the device for this alone: without it, their choice would be dropped in silence."""
        if device.op is Op.PARAM:
            return self._index.users[device] == [call]
        attributes = self._births.attributes
        field = attributes.field(device) if device.op is Op.ATTR else None
        if field is None or attributes.reads[field] != [device]:
            return False
        return all(one.op is Op.PARAM and one.function.name == "__init__" for one in attributes.stored[field])

    # Edits

    def _replace(self, syntax: ast.expr, code: str) -> Edit:
        return ReplaceExpression(self._index.source.span(syntax), code)

    def _fix(self, title: str, syntax: ast.expr, code: str, *, safe: bool = False) -> Fix:
        return Fix(Safety.SAFE if safe else Safety.UNSAFE, title, (self._replace(syntax, code),))
