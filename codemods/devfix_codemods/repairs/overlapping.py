"""Moves of batches overlap with what the device computes: `non_blocking=True`, unless the file does otherwise."""

from dataclasses import replace

from devfix_codemods.ir import Node, Op
from devfix_codemods.placement.analysis import Analysis
from devfix_codemods.placement.arguments import keyword
from devfix_codemods.placement.graph import Birth
from devfix_codemods.placement.search import Conflict
from devfix_codemods.repairs.suffix import Suffix


def overlapping(analysis: Analysis, conflict: Conflict, suffix: Suffix) -> Suffix:
    """How a part of a loader's batch is moved where no sibling's move is copied.

    https://docs.pytorch.org/docs/stable/notes/cuda.html#use-pinned-memory-buffers
    """
    device = suffix.device
    copied = conflict.birth.birth is not Birth.LOADER or _is_of_batch(analysis, conflict.end.node)
    if device is None or copied or suffix.follows or suffix.text != f".to({device})" or _blocks(analysis):
        return suffix
    return replace(suffix, text=f".to({device}, non_blocking=True)")


def _blocks(analysis: Analysis) -> bool:
    """Whether the file moves batches, and says of none that it need not wait."""
    births = analysis.births
    moves = [
        _call(move)
        for moved, found in births.movers.items()
        if any(one.birth is Birth.LOADER for one in analysis.graph.sources.get(moved, ()))
        for move in found
    ]
    return bool(moves) and all(keyword(move, "non_blocking") is None for move in moves)


def _is_of_batch(analysis: Analysis, end: Node) -> bool:
    """Whether what a value meets was moved itself, and is no module: its sibling."""
    births = analysis.births
    return births.is_move(_call(end)) and not analysis.kinds.is_module(end)


def _call(move: Node) -> Node:
    return move.args[1] if move.op is Op.AFTER else move
