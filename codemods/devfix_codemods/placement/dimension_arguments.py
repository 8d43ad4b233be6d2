"""Arguments that count dimensions: `dim` of `torch.index_select(x, dim, rows)` is a number, wherever it comes from."""

from typing import TYPE_CHECKING

from devfix_codemods.catalogue import Kind, dimensions
from devfix_codemods.ir import Node
from devfix_codemods.placement.arguments import keyword

if TYPE_CHECKING:
    from devfix_codemods.placement.kinds import Kinds

_WORDS = ("dim", "axis", "dim0", "dim1")


def dimensions_of_function(kinds: "Kinds", call: Node, qualified: str) -> None:
    """What a function of torch gets as a dimension; `torch.distributed.scatter` takes none."""
    owner, _, function = qualified.rpartition(".")
    if owner in {"torch", "torch.nn.functional"}:
        dimensions_given(kinds, call, function, 1)


def dimensions_given(kinds: "Kinds", call: Node, function: str, first: int) -> None:
    """What a call of a function of torch, or of a method of a tensor, gets as a dimension; `first` is the place of the
    tensor among what it gets, or that of what comes before a method's arguments."""
    place = first + _behind(function, len(call.args))
    given = [keyword(call, word) for word in _WORDS]
    if place < len(call.args) and call.extras[place - 1] is None:
        given.append(call.args[place])
    for one in given:
        if one is not None and kinds.of(one) is None:
            kinds.say(one, Kind.NUMBER, 2)


def _behind(function: str, never: int) -> int:
    """How far behind the tensor a function takes a dimension; `never` where it takes none by its place."""
    if function in dimensions.SECOND_IS_DIMENSION:
        return 1
    return 2 if function in dimensions.THIRD_IS_DIMENSION else never
