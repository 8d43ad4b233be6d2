"""What decides where things are made and given that are told no device."""

import re
from collections.abc import Set
from functools import cached_property

from devfix_codemods.catalogue import Kind, libraries
from devfix_codemods.ir import Module, Node, Op
from devfix_codemods.ir.keys import name
from devfix_codemods.placement.kinds import Kinds


class Defaults:
    """Default devices, and frameworks that place things by themselves, in one file."""

    def __init__(self, module: Module, kinds: Kinds, path: str) -> None:
        self._module = module
        self._kinds = kinds
        self._path = path.replace("\\", "/")

    @cached_property
    def is_test(self) -> bool:
        """Whether the file is a test, or a benchmark: who runs it chose the machine."""
        return _TEST_FILES.search(self._path) is not None or any(
            one.op is Op.REF and str(one.extra).partition(".")[0] in _TEST_PACKAGES
            for one in self._module.top.finals.values()
        )

    @cached_property
    def managed(self) -> bool:
        """Whether a framework that the file imports may place what it is given."""
        return self.imports(libraries.MANAGING)

    def imports(self, packages: Set[str]) -> bool:
        """Whether the file imports one of these packages, or something of it."""
        return not self._imported.isdisjoint(packages)

    @cached_property
    def _imported(self) -> frozenset[str]:
        return frozenset(str(one.extra).partition(".")[0] for one in self._module.of(Op.REF))

    @cached_property
    def are_set(self) -> bool:
        """Whether the file changes, or asks, where factories make tensors."""
        asks = any(name(one.args[0]) == "torch.get_default_device" for one in self._module.of(Op.CALL))
        return asks or changes_default(self._module)

    @cached_property
    def exchanges_on_host(self) -> bool:
        """Whether processes exchange tensors of the host: by gloo, and by nothing else that the file names."""
        named = {one.extra for one in self._module.of(Op.CONST) if isinstance(one.extra, str)}
        return "gloo" in named and "nccl" not in named

    def is_under_device(self, node: Node) -> bool:
        """`with torch.device(d): …`"""
        return any(self._kinds.of(one) is Kind.DEVICE for one in self._module.managed.get(node, ()))


def changes_default(module: Module) -> bool:
    """Whether a file changes where factories make tensors: by a default device, or a type of tensors."""
    found = (name(one.args[0]) or "" for one in module.of(Op.CALL))
    return any(one.startswith("torch.set_default_") and one != "torch.set_default_dtype" for one in found)


_TEST_FILES = re.compile(
    r"(^|/)(tests?|testing|benchmarks?|bench)/|(^|/)(test_|bench|conftest)[^/]*$|_(test|tests|bench)\.py$"
)
_TEST_PACKAGES = frozenset({"pytest", "unittest", "parameterized"})
