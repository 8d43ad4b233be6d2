"""What APIs do to places and kinds: tables, one file a library. `effect` answers for a qualified name."""

from devfix_codemods.catalogue.effects import MAKES, MAKES_ON_HOST, MOVES, TO_DEVICE, Effect, Kind
from devfix_codemods.catalogue.lookup import (
    canonical,
    computes,
    effect,
    is_metric_class,
    is_module_class,
    kind,
    makes_module,
    method_effect,
)

__all__ = [
    "MAKES",
    "MAKES_ON_HOST",
    "MOVES",
    "TO_DEVICE",
    "Effect",
    "Kind",
    "canonical",
    "computes",
    "effect",
    "is_metric_class",
    "is_module_class",
    "kind",
    "makes_module",
    "method_effect",
]
