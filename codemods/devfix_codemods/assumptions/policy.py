"""What code gets that chooses no device anywhere: one for the script, or one for the function that runs a model."""

import ast
import re
from collections.abc import Callable

from devfix_codemods.assumptions.index import Index, method
from devfix_codemods.assumptions.spelled_cuda import SpelledCuda, placed_on
from devfix_codemods.edits.operations import Edit
from devfix_codemods.findings import Fix, Safety
from devfix_codemods.ir import Op
from devfix_codemods.ir.keys import name
from devfix_codemods.repairs.declared_devices import in_block, in_module, main_guard, measures, names_device

_NEEDS_CUDA = re.compile(
    rb"nccl|set_device\(|init_process_group|DistributedDataParallel|DataParallel|local_rank|device_count\(|device_ids"
    rb"|\.half\(\)|float16|bfloat16|fp16|CUDAGraph|cuda\.Stream|cuda\.Event|set_default_tensor_type|set_default_device"
    rb"|CUDA_VISIBLE_DEVICES|load_in_[48]bit|device_map|vllm|accelerator=[\"'](?:gpu|cuda)[\"']"
)
"""What code for the host does not do: processes on several cards, half precision, trainers of cards, choices made for
the process."""
_OF_MODULES = frozenset({"eval", "train", "load_state_dict", "parameters", "requires_grad_", "state_dict"})
TITLE = "Use CUDA only where it is available"


class Policy:
    """The fixes of the sites of one file for which nothing at hand names a device.

    `is_imported` tells whether other files use what this one defines, `demands_cuda` whether it hands values to what
    refuses the host.
    """

    def __init__(self, index: Index, *, is_imported: Callable[[], bool], demands_cuda: Callable[[], bool]) -> None:
        self._index = index
        self._tree = index.analysis.module.tree
        self._is_imported = is_imported
        self._demands = demands_cuda
        self._can: bool | None = None
        self.left: list[SpelledCuda] = []

    @property
    def host_would_do(self) -> bool:
        """Whether the host would do for what the file runs."""
        if self._can is None:
            self._can = _NEEDS_CUDA.search(self._index.source.data) is None and not self._demands()
        return self._can

    def fix(self, site: SpelledCuda) -> Fix | None:
        """A script changes as a whole, and so does a function: half of their sites would not do."""
        if not self.host_would_do:
            return None
        binding = self._of_script() or self._of_function(site)
        edit = placed_on(self._index, site, "device") if binding is not None else None
        return Fix(Safety.UNSAFE, TITLE, (*binding, edit)) if edit is not None and binding is not None else None

    def _of_function(self, site: SpelledCuda) -> tuple[Edit, ...] | None:
        function = site.call.function
        syntax = function.syntax
        if isinstance(syntax, ast.Module | ast.Lambda) or function.name == "__init__":
            return None
        own = [one for one in self.left if one.call.function is function]
        if names_device(syntax) or self._chooses(syntax) or measures(function):
            return None
        if len(own) < 2 or not any(map(self._is_model, own)):
            return None
        uses = [one.syntax for one in own]
        return in_block(self._index.source, syntax.body, uses)

    def _of_script(self) -> tuple[Edit, ...] | None:
        guard = main_guard(self._tree)
        central = any(
            one.call.function.parent is None or self._is_main(one) or self._is_model(one) for one in self.left
        )
        if self._chooses(self._tree) or not central:
            return None
        behind = [one for one in self.left if guard is not None and one.call.line >= guard.lineno]
        if not behind and self._is_imported():
            return None  # a line at its top would run for those that import it
        uses = [one.syntax for one in self.left]
        if guard is not None and len(behind) == len(self.left):
            if names_device(self._tree):
                return None
            return in_block(self._index.source, guard.body, uses)
        if guard is None and not any(isinstance(one, ast.For | ast.With) for one in self._tree.body):
            return None
        first = min(one.call.line for one in self.left)
        return in_module(self._index.source, first)

    def _is_main(self, site: SpelledCuda) -> bool:
        return site.call.function.name == "main"

    def _is_model(self, site: SpelledCuda) -> bool:
        """Whether a site moves a module: one that is built there, or that the code around uses as one."""
        if site.moved is None:
            return False
        if self._index.analysis.kinds.is_module(site.moved):
            return True
        roots = self._index.analysis.births.roots
        for one in site.call.function.nodes:
            if one.op is Op.ATTR and one.extra in _OF_MODULES and roots(one.args[0]) & roots(site.moved):
                return True
        for one in roots(site.moved):
            made = one
            while method(made) in _OF_MODULES:
                made = made.args[0].args[0]
            callee = made.args[0] if made.op is Op.CALL else None
            last = (name(callee) or str(callee.extra)).rpartition(".")[2] if callee is not None else ""
            if last[:1].isupper() and not (name(callee) or "").startswith("torch."):  # type: ignore[arg-type]
                return True
        return False

    def _chooses(self, around: ast.AST) -> bool:
        """Whether code speaks of a device anywhere: what is declared beside it could contradict it."""
        literals = {one.literal for one in self.left}
        spelled = {inner for one in literals if one is not None for inner in ast.walk(one)}
        for node in ast.walk(around):
            match node:
                case ast.Attribute(attr="device") if ast.unparse(node) != "torch.device":
                    return True
                case ast.keyword(arg="device" | "map_location", value=value):
                    found = self._index.nodes.get(value)
                    constant = isinstance(value, ast.Call) and all(isinstance(one, ast.Constant) for one in value.args)
                    if value not in literals and not constant and (found is None or found.op is not Op.CONST):
                        return True
                case ast.Constant(value="device"):
                    return True
                case ast.Constant(value=str(text)) if text.startswith("cuda") and node not in spelled:
                    return True
        return False
