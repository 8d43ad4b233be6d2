"""Values that a framework places: there, a move is rather dropped than changed."""

from devfix_codemods.assumptions.index import Index, method
from devfix_codemods.assumptions.spelled_cuda import SpelledCuda
from devfix_codemods.ir import Node, Op
from devfix_codemods.placement.arguments import keyword

_OFFLOADS = frozenset({"enable_model_cpu_offload", "enable_sequential_cpu_offload"})
_SPLITS = frozenset({"auto", "balanced", "balanced_low_0", "sequential"})


def placed_by_framework(index: Index, site: SpelledCuda) -> str | None:
    """What to do by hand where a framework places the value; None where none does."""
    analysis = index.analysis
    owner = site.call.function.owner
    if owner is not None and analysis.births.imported.is_managed(owner):
        return "its trainer places this class and its batches: drop the move, or follow `self.device` or a tensor"
    if site.moved is None:
        return None
    origins = analysis.births.roots(site.moved)
    managed = analysis.births.defaults.managed
    if any(_is_placed(one, managed=managed) for one in origins) or any(_offloads(index, one) for one in origins):
        name = index.text(site.syntax.func.value)  # type: ignore[attr-defined]
        return f"`{name}` is where `prepare`, `device_map` or an offload puts it: drop the move"
    return None


def _is_placed(node: Node, *, managed: bool) -> bool:
    """Whether a value comes from `accelerator.prepare`, or from what splits a model over the machine."""
    made = node.args[0] if node.op is Op.ITEM else node
    if made.op is not Op.CALL:
        return False
    split = keyword(made, "device_map")
    return (managed and method(made) == "prepare") or (split is not None and split.extra in _SPLITS)


def _offloads(index: Index, node: Node) -> bool:
    """`pipe.enable_model_cpu_offload()`"""
    return any(one.op is Op.ATTR and one.extra in _OFFLOADS for one in index.users[node])
