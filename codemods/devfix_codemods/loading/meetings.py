"""What a loaded value meets in one operation: tensors that may be on a device, tensors of the host."""

from collections.abc import Iterator

from devfix_codemods.catalogue import torch as rows
from devfix_codemods.ir import Node, Op
from devfix_codemods.ir.keys import resolved
from devfix_codemods.loading.uses import Uses
from devfix_codemods.placement.analysis import Analysis
from devfix_codemods.placement.graph import Birth, Source
from devfix_codemods.placement.naming import sounds_like_class
from devfix_codemods.placement.places import HOST, Where
from devfix_codemods.placement.search import Conflict

PROBABLE = 0.6
"""How sure it must be that two values are together."""


class Meetings:
    """The operations of one file."""

    def __init__(self, analysis: Analysis) -> None:
        self._analysis = analysis
        self._births = analysis.births

    def of(self, call: Node, uses: Uses) -> Iterator[Conflict]:
        """All that has a place, and that what a call loads meets in an operation, the surest first."""
        operations = {operation for operation, _ in uses.meetings}
        found = self._analysis.ends(Source(call, HOST, Birth.FACTORY, ("certain",))) if operations else ()
        for one in found:
            meets = any(step.node in operations for step in one.path)
            if meets and one.end.node not in uses.values and one.together >= PROBABLE:
                yield one

    def elsewhere(self, call: Node, uses: Uses) -> bool:
        """Whether it meets a tensor that may be on a device: of a module that is not read, or that has a place."""
        met = (one for _, others in uses.meetings for one in others)
        of_modules = any(self._is_of_module(one, uses) for one in met)
        return of_modules or any(one.end.place.where is not Where.HOST for one in self.of(call, uses))

    def on_host(self, call: Node, uses: Uses) -> bool:
        """Whether it meets a tensor that is made on the host."""
        return any(one.end.place.where is Where.HOST for one in self.of(call, uses))

    def _is_of_module(self, operand: Node, uses: Uses) -> bool:
        """Whether an operand is a part of a module, or of its state, that is not built beside."""
        return any(
            one.op is Op.ATTR and (one.extra in rows.STATES or one.args[0] in uses.fed) and not self._stays(one.args[0])
            for one in self._origins(operand)
        )

    def _origins(self, node: Node) -> Iterator[Node]:
        """What a value is a part of, is made of, or may be."""
        pending = [node]
        for one in pending:  # grows
            yield one
            further = [*one.args, resolved(one), *self._analysis.kinds.given.get(one, ())]
            if self._births.place_given(one) is not None:
                continue
            if one.op in {Op.ITEM, Op.ITER, Op.ATTR}:
                further = [] if one.extra in rows.PLAIN_ATTRIBUTES else [one.args[0]]
            pending += (each for each in further if each not in pending)

    def _stays(self, module: Node) -> bool:
        """Whether a module is built beside, and not moved."""
        made = self._births.roots(module)
        moved = any(map(self._births.moves_of, made))
        return not moved and all(one.op is Op.CALL and sounds_like_class(one.args[0]) for one in made)
