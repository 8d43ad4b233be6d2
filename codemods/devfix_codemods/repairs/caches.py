"""What a file keeps for all calls: made on the device of the first call, it would not suit the next one."""

import ast

from devfix_codemods.ir import Node, Op
from devfix_codemods.placement.analysis import Analysis


def is_kept_for_all(analysis: Analysis, node: Node) -> bool:
    """Whether a function leaves a value, or a display with it, in a global name or under a key of a global."""
    if isinstance(node.function.syntax, ast.Module):
        return False
    shown = [one for one in node.function.nodes if one.op in {Op.SEQUENCE, Op.MAPPING} and node in one.args]
    kept = {node, *shown}
    finals = analysis.module.top.finals.values()
    if any(one.op is Op.PHI and not kept.isdisjoint(one.args) for one in finals):
        return True
    return any(
        store.value in kept and not store.is_attribute and _is_global(analysis, store.base)
        for store in node.function.stores
    )


def _is_global(analysis: Analysis, node: Node) -> bool:
    return node.op is Op.GLOBAL or node.function is analysis.module.top
