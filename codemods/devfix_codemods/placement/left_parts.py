"""Values of which a function takes single parts to a device: what it leaves of them is where it came from."""

from typing import TYPE_CHECKING

from devfix_codemods.ir import Node, Op
from devfix_codemods.ir.items import whole
from devfix_codemods.placement.places import Where

if TYPE_CHECKING:
    from devfix_codemods.placement.births import Births

_GIVEN = frozenset({Op.PARAM, Op.ITER})


class LeftParts:
    """Which values came from outside with others that the function moves from there, each by its name."""

    def __init__(self, births: "Births") -> None:
        self._births = births
        moved = [root for root, moves in births.movers.items() if any(self._takes_away(one, root) for one in moves)]
        self._wholes = {given for one in moved if (given := _whole(one)) is not None}
        self._wholes -= {whole(one) for one in moved if _whole(one) is None}
        """Without those of which any part may be moved: all of it, or one under a key that is computed."""

    def __contains__(self, node: Node) -> bool:
        """Whether a value is such a part, or a part of one, as the function got it."""
        return node.op is Op.ITEM and whole(node) in self._wholes

    def _takes_away(self, move: Node, part: Node) -> bool:
        """Whether a move is one to a device, or to where something is that did not come with the part."""
        place = self._births.place_of_move(move)
        if place is None or place.where not in {Where.DEVICE, Where.FOLLOWS}:
            return False
        return place.where is Where.DEVICE or place.node is None or whole(place.node) is not whole(part)


def _whole(part: Node) -> Node | None:
    """`batch` of `batch["inputs"]["image"]`, where that is given and the keys are written there."""
    base = part
    while base.op is Op.ITEM and len(base.args) == 1:
        base = base.args[0]
    return base if base is not part and base.op in _GIVEN else None
