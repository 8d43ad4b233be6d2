"""The intermediate representation: functions as values in SSA form, with guards, calls, attributes and containers.

`lower` turns a syntax tree into a `Module`, `lower_on_demand` one of which little is read; nothing here knows torch.
"""

from devfix_codemods.ir.deferred import lower_on_demand
from devfix_codemods.ir.lowering import lower
from devfix_codemods.ir.nodes import Class, Function, Guard, Module, Node, Op

__all__ = ["Class", "Function", "Guard", "Module", "Node", "Op", "lower", "lower_on_demand"]
