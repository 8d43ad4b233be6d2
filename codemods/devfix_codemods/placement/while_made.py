"""What meets a module while that is made."""

from typing import TYPE_CHECKING

from devfix_codemods.ir import Op
from devfix_codemods.placement.graph import Birth, Turn
from devfix_codemods.placement.places import Where

if TYPE_CHECKING:
    from devfix_codemods.placement.constraints import Constraints
    from devfix_codemods.placement.search import Conflict


def is_while_made(conflict: "Conflict", constraints: "Constraints") -> bool:
    """Whether a tensor meets a module, or what it holds, while that is made: no `.to` has moved it.

    What an attribute keeps of the value is met later; a module that an attribute keeps has moved until then.
    """
    end, making = conflict.end, constraints.constructing
    if conflict.birth.birth is Birth.MODULE or conflict.birth.node.function not in making:
        return False
    if end.place.where not in {Where.MODULE, Where.CALLER}:
        return False
    meetings = [at for at, step in enumerate(conflict.path) if step.edge.turn is Turn.MEET]
    kept = next((at for at, step in enumerate(conflict.path) if step.node.op is Op.FIELD), None)
    if not meetings or (end.place.where is Where.CALLER and end.node.function in making):
        return False
    if kept is None or (end.place.where is Where.MODULE and meetings[-1] <= kept):
        return True
    return meetings[0] < kept and constraints.kinds.is_module(conflict.path[kept - 1].node)
