"""Metrics of torchmetrics: modules that a rule of their own tells of."""

from devfix_codemods.catalogue import is_metric_class
from devfix_codemods.ir.keys import names
from devfix_codemods.placement.graph import Birth, Source


def is_metric(birth: Source) -> bool:
    """Whether what is made is a metric."""
    return birth.birth is Birth.MODULE and any(
        map(is_metric_class, (one for each in birth.node.args[:1] for one in names(each)))
    )
