"""What meets a loaded value in one operation: tensors that may be on a device, tensors of the host."""

from collections.abc import Iterator
from enum import Enum, auto

from devfix_codemods.catalogue import Effect, Kind, canonical, effect
from devfix_codemods.catalogue import torch as rows
from devfix_codemods.ir import Node, Op
from devfix_codemods.ir.keys import names
from devfix_codemods.loading.uses import Uses
from devfix_codemods.placement.analysis import Analysis
from devfix_codemods.placement.naming import sounds_like_class
from devfix_codemods.placement.places import Where
from devfix_codemods.placement.targets import loaded_to


class _Side(Enum):
    """Where an operand is, as far as the file says."""

    HOST = auto()
    ELSEWHERE = auto()


class Meetings:
    """The operations of one file."""

    def __init__(self, analysis: Analysis) -> None:
        self._analysis = analysis
        self._births = analysis.constraints.births

    def elsewhere(self, uses: Uses) -> bool:
        """Whether it meets a tensor that may be on a device."""
        return any(one is _Side.ELSEWHERE for one in self._sides(uses))

    def on_host(self, uses: Uses) -> bool:
        """Whether it meets a tensor that is made on the host, and none that may be on a device."""
        return any(one is _Side.HOST for one in self._sides(uses))

    def _sides(self, uses: Uses) -> Iterator[_Side | None]:
        for _, others, is_tensor in uses.meetings:
            for one in others:
                yield self._side(one, uses, is_tensor=is_tensor)

    def _side(self, partner: Node, uses: Uses, *, is_tensor: bool) -> _Side | None:
        origins = list(self._origins(partner, uses))
        modules = [one.args[0].args[0] for one in origins if _asks_for_state(one)]
        if modules:
            return None if all(map(self._stays, modules)) else _Side.ELSEWHERE
        places = [place.place.where for one in origins for place in self._analysis.graph.sources.get(one, ())]
        if Where.HOST in places or any(map(_is_array, origins)):
            return _Side.HOST
        if any(one in uses.values or _is_loaded(one) for one in origins):
            return None
        if all(one.op is Op.CONST for one in origins):
            return None
        return _Side.ELSEWHERE if is_tensor or self._analysis.kinds.of(partner) is Kind.TENSOR else None

    def _origins(self, node: Node, uses: Uses) -> Iterator[Node]:
        """What a value is a part of, is made of, or may be."""
        pending = [node]
        for one in pending:  # grows
            yield one
            if one in uses.values or _asks_for_state(one) or self._analysis.graph.sources.get(one):
                continue
            match one.op:
                case Op.PARAM:
                    further = self._analysis.kinds.given.get(one, [])
                case Op.ITEM | Op.ITER | Op.ATTR | Op.COMPREHENSION:
                    further = [] if one.extra in rows.PLAIN_ATTRIBUTES else [one.args[0]]
                case Op.CALL:
                    callee = one.args[0]
                    further = (
                        [*callee.args, *one.args[1:]] if callee.op is Op.ATTR and not names(callee) else [*one.args[1:]]
                    )
                case Op.GLOBAL:
                    final = one.function.module.top.finals.get(str(one.extra))
                    further = [final] if final is not None else []
                case _:
                    further = [*one.args]
            pending += (each for each in further if each not in pending)

    def _stays(self, module: Node) -> bool:
        """Whether a module is built beside, and not moved."""
        made = self._births.roots(module)
        return all(
            one.op is Op.CALL and sounds_like_class(one.args[0]) and not self._births.moves_of(one) for one in made
        )


def _asks_for_state(node: Node) -> bool:
    """`model.state_dict()`, `model.parameters()`"""
    return node.op is Op.CALL and node.args[0].op is Op.ATTR and node.args[0].extra in rows.STATES


def _is_loaded(node: Node) -> bool:
    """Another value that is loaded to wherever it was saved."""
    row = effect(canonical(names(node.args[0])[0])) if node.op is Op.CALL and names(node.args[0]) else None
    return row is Effect.LOAD and loaded_to(node) is None


def _is_array(node: Node) -> bool:
    row = effect(canonical(names(node.args[0])[0])) if node.op is Op.CALL and names(node.args[0]) else None
    return row is Effect.ARRAY
