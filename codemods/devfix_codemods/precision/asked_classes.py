"""What tests by `isinstance` say of a device: a program that asks for its class is given others, too."""

import re
from collections import defaultdict
from collections.abc import Hashable
from functools import cached_property

from devfix_codemods.assumptions.index import Index
from devfix_codemods.ir import Guard, Node, Op
from devfix_codemods.ir.guards import literal
from devfix_codemods.ir.keys import key

_NAME = re.compile(r"[\w.]+")
_DEVICE = frozenset({"torch.device", "device"})


class AskedClasses:
    """The tests of one file for the class of a value."""

    def __init__(self, index: Index) -> None:
        self._index = index

    def may_be_other(self, node: Node, under: Guard) -> bool:
        """Whether a value whose class is asked for may be something else than a device, under a path condition."""
        asked = self._asked.get(key(node))
        if asked is None:
            return False
        devices = {atom for atom, classes in asked.items() if classes <= _DEVICE}
        if any((atom, True) in under for atom in devices):
            return False
        others = {atom for atom, classes in asked.items() if classes.isdisjoint(_DEVICE)}
        is_excluded = bool(others) and all((atom, False) in under for atom in others)
        return not is_excluded or any((atom, False) in under for atom in devices)

    @cached_property
    def _asked(self) -> dict[Hashable, dict[Hashable, frozenset[str]]]:
        """By the key of a value: the atoms that ask for its class, and the classes that each of them names."""
        found: dict[Hashable, dict[Hashable, frozenset[str]]] = defaultdict(dict)
        for test in (*self._index.calls, *self._index.analysis.module.of(Op.COMPARE)):
            match literal(test)[0]:
                case ("isinstance", asked, str(classes)) as atom:
                    found[asked][atom] = frozenset(_NAME.findall(classes))
        return found
