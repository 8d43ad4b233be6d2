"""What is called with encodings: `model(**tokenizer(text, return_tensors="pt"))` is a model."""

from typing import TYPE_CHECKING

from devfix_codemods.catalogue import Effect, Kind, libraries, method_effect
from devfix_codemods.ir import Node, Op
from devfix_codemods.ir.keys import names
from devfix_codemods.placement.arguments import is_encoding

if TYPE_CHECKING:
    from devfix_codemods.placement.kinds import Kinds


def called_with_encodings(kinds: "Kinds") -> None:
    """Nothing else takes the parts of an encoding by their names."""
    for call in list(kinds.module.nodes()):
        if call.op is not Op.CALL or not isinstance(call.extra, tuple) or call in kinds.calls or names(call.args[0]):
            continue
        given = (one for one, word in zip(call.args[1:], call.extra) if word == "**")
        if any(is_encoding(_before_move(one)) for one in given):
            callee = call.args[0]
            computes = callee.op is Op.ATTR and callee.extra in libraries.COMPUTING
            kinds.say(callee.args[0] if computes else callee, Kind.MODULE, 1)


def _before_move(node: Node) -> Node:
    """`tokens` of `tokens.to(device)`"""
    while node.op is Op.AFTER or (node.op is Op.CALL and node.args[0].op is Op.ATTR):
        if node.op is Op.CALL and method_effect(str(node.args[0].extra)) is not Effect.MOVE:
            return node
        node = node.args[0] if node.op is Op.AFTER else node.args[0].args[0]
    return node
