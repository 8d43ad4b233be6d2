"""Arguments that count dimensions: `dim` of `torch.index_select(x, dim, rows)` is a number, wherever it comes from."""

from typing import TYPE_CHECKING

from devfix_codemods.catalogue import Kind
from devfix_codemods.ir import Node
from devfix_codemods.placement.arguments import keyword

if TYPE_CHECKING:
    from devfix_codemods.placement.kinds import Kinds

_SECOND = frozenset(
    [
        "index_select",
        "gather",
        "scatter",
        "scatter_",
        "scatter_add",
        "scatter_add_",
        "index_add",
        "index_add_",
        "index_copy",
        "index_copy_",
        "softmax",
        "log_softmax",
        "unsqueeze",
        "squeeze",
        "cat",
        "concat",
        "stack",
        "unbind",
        "cumsum",
        "cumprod",
        "narrow",
        "select",
        "argmax",
        "argmin",
        "size",
    ]
)
"""Functions of torch, and methods of tensors, that take a dimension right behind the tensor."""
_THIRD = frozenset({"chunk", "split", "tensor_split", "repeat_interleave", "topk"})
"""Those that take it behind one argument more."""
_WORDS = ("dim", "axis", "dim0", "dim1")


def dimensions_given(kinds: "Kinds", call: Node, function: str, first: int) -> None:
    """What a call of a function of torch, or of a method of a tensor, gets as a dimension; `first` is the place of the
    tensor among what it gets, or that of what comes before a method's arguments."""
    place = first + (1 if function in _SECOND else 2 if function in _THIRD else len(call.args))
    given = [keyword(call, word) for word in _WORDS]
    if place < len(call.args) and call.extras[place - 1] is None:
        given.append(call.args[place])
    for one in given:
        if one is not None and kinds.of(one) is None:
            kinds.say(one, Kind.NUMBER, 2)
