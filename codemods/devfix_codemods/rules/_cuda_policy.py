"""A device for code that chooses none: near the imports of a script, or in the function that runs a model."""

import ast
import re
from collections.abc import Iterator
from functools import cached_property

from devfix_codemods import scope
from devfix_codemods.edits.operations import Edit, InsertStatement
from devfix_codemods.findings import Fix, Safety
from devfix_codemods.flow.evidence import dotted
from devfix_codemods.flow.tables import NOT_MODULES
from devfix_codemods.program import Program
from devfix_codemods.rules._cuda_demanded import hands_to_cuda
from devfix_codemods.rules._cuda_sites import Site, names_cuda, placed_on
from devfix_codemods.rules._moves import declaration, declare_device

_NEEDS_CUDA = re.compile(
    rb"nccl|set_device\(|init_process_group|DistributedDataParallel|DataParallel|local_rank|device_count\(|device_ids"
    rb"|\.half\(\)|float16|bfloat16|fp16|CUDAGraph|cuda\.Stream|cuda\.Event|set_default_tensor_type|set_default_device"
    rb"|CUDA_VISIBLE_DEVICES|load_in_[48]bit|device_map|vllm|accelerator=[\"'](?:gpu|cuda)[\"']"
)
"""What code for the host does not do: processes on several cards, half precision, trainers of cards, choices made for
the process."""

_WAITS = re.compile(r"\btorch\.cuda\.(?:synchronize|max_memory_\w+|memory_\w+|reset_\w*stats|get_device_\w+)\(")
"""What a function that measures a card asks of it."""

_OF_MODULES = frozenset({"eval", "train", "load_state_dict", "parameters", "requires_grad_", "state_dict"})


class Policy:
    """The fixes of the sites of one file for which nothing at hand names a device."""

    def __init__(self, program: Program, left: list[Site]) -> None:
        self._program = program
        self._left = left
        self._literals = {one.literal for one in left}
        self._spelled = {node for one in self._literals if one is not None for node in ast.walk(one)}

    @cached_property
    def _applies(self) -> bool:
        """Whether the host would do for what the file runs."""
        return _NEEDS_CUDA.search(self._program.source.data) is None and not hands_to_cuda(self._program)

    def fix(self, site: Site) -> Fix | None:
        """A script changes as a whole, and so does a function: half of their sites would not do."""
        if not self._applies:
            return None
        binding = self._binding(site)
        edit = placed_on(self._program, site, "device")
        if binding is None or edit is None:
            return None
        return Fix(Safety.UNSAFE, "Take CUDA only where it is there", (*binding, edit))

    @cached_property
    def _is_imported(self) -> bool:
        """Whether other files of the project import this one for the functions and classes that it defines."""
        project = self._program.project
        return project is not None and any(True for _ in project.importing(self._program.unit))

    @property
    def allows_constants(self) -> bool:
        """Whether a script that names CUDA once, for all of it, may do with the host."""
        return _torch_at_hand(self._program) and self._applies

    def _chooses(self, around: ast.AST) -> bool:
        """Whether code speaks of a device anywhere: what is declared beside it could contradict it."""
        for node in ast.walk(around):
            match node:
                case ast.Attribute(attr="device"):
                    if dotted(node) != "torch.device":
                        return True
                case ast.keyword(arg="device" | "map_location", value=value):
                    if value not in self._literals and not _is_constant(value):
                        return True
                case ast.Constant(value="device"):
                    return True
                case ast.Constant(value=str(text)) if text.startswith("cuda") and node not in self._spelled:
                    return True
        return False

    def _is_central(self, site: Site) -> bool:
        """Whether a site belongs to what the script does, and not to a function that others may call."""
        function = scope.function_around(self._program, site.call)
        return function is None or function.name == "main" or self._is_model(site)

    def _is_model(self, site: Site) -> bool:
        """Whether a site moves a module: one that is built there, or that the code around uses as one."""
        built = site.receiver
        while isinstance(built, ast.Call) and isinstance(built.func, ast.Attribute) and built.func.attr in _OF_MODULES:
            built = built.func.value
        if isinstance(built, ast.Call):
            made = self._program.names.qualified(built.func) or dotted(built.func) or ""
            plain = made.startswith("torch.") and (made in NOT_MODULES or not made.startswith("torch.nn."))
            return made.rpartition(".")[2][:1].isupper() and not plain
        name = dotted(built) if built is not None else None
        around = scope.function_around(self._program, site.call) or self._program.tree
        return name is not None and any(
            isinstance(node, ast.Attribute) and node.attr in _OF_MODULES and dotted(node.value) == name
            for node in ast.walk(around)
        )

    def _binding(self, site: Site) -> tuple[Edit, ...] | None:
        """The edits that bind `device` for a site."""
        if (in_script := self._of_script()) is not None:
            return in_script
        function = scope.function_around(self._program, site.call)
        if function is None or function.name == "__init__" or _names_device(function) or self._chooses(function):
            return None
        if _WAITS.search(ast.unparse(function)):
            return None
        own = [one for one in self._left if scope.function_around(self._program, one.call) is function]
        both = len(own) > 1 and any(self._is_model(one) for one in own)
        return self._above_first(function.body, own) if both else None

    def _of_script(self) -> tuple[Edit, ...] | None:
        guard = _main_guard(self._program)
        if self._chooses(self._program.tree) or not any(self._is_central(one) for one in self._left):
            return None
        if self._is_imported and not any(one.call.lineno >= guard.lineno for one in self._left if guard is not None):
            return None  # a line at its top would run for those that import it
        if guard is not None and all(_within(one, guard.body) for one in self._left):
            return None if _names_device(self._program.tree) else self._above_first(guard.body, self._left)
        runs = guard is not None or _runs(self._program)
        return declare_device(self._program, min(one.call.lineno for one in self._left)) if runs else None

    def _above_first(self, body: list[ast.stmt], own: list[Site]) -> tuple[Edit, ...] | None:
        """A line of its own above the first statement of a block that needs it."""
        if not _torch_at_hand(self._program):
            return None
        first = next(one for one in body if any(_within(each, [one]) for each in own))
        return (InsertStatement(self._program.source.span(first), "before", declaration(self._program)),)


def _is_constant(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) or (
        isinstance(node, ast.Call) and all(isinstance(one, ast.Constant) for one in node.args)
    )


def _within(site: Site, body: list[ast.stmt]) -> bool:
    return body[0].lineno <= site.call.lineno <= (body[-1].end_lineno or body[-1].lineno)


def _main_guard(program: Program) -> ast.If | None:
    guards = (one for one in program.tree.body if isinstance(one, ast.If) and "__main__" in ast.unparse(one.test))
    return next(guards, None)


def _runs(program: Program) -> bool:
    """Whether the file does something by itself: a loop, or a `with`, at module level."""
    return any(isinstance(node, (ast.For, ast.With)) for node in program.tree.body)


def _torch_at_hand(program: Program) -> bool:
    return any(
        isinstance(node, ast.Import) and any(one.name == "torch" and one.asname is None for one in node.names)
        for node in program.tree.body
    )


def _names_device(around: ast.AST) -> bool:
    return any(
        (isinstance(node, ast.Name) and node.id == "device") or (isinstance(node, ast.arg) and node.arg == "device")
        for node in ast.walk(around)
    )


# Constants


def constants(program: Program) -> Iterator[ast.expr]:
    """`device = "cuda"` in a script: the literal."""
    guard = _main_guard(program)
    for node in (*program.tree.body, *(guard.body if guard is not None else ())):
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and names_cuda(program, node.value):
            name = dotted(node.targets[0]) or ""
            if name.lower() in {"device", "dev", "_device", "torch_device"}:
                yield node.value


def later_cards(program: Program) -> Iterator[ast.Constant]:
    """`device = torch.device("cuda:1" if … else "cpu")` in a script that names no other card."""
    for node in program.tree.body:
        value = node.value if isinstance(node, ast.Assign) else None
        if isinstance(value, ast.Call) and program.names.qualified(value.func) == "torch.device" and value.args:
            value = value.args[0]
        match value:
            case ast.IfExp(body=ast.Constant() as card, orelse=ast.Constant(value="cpu"), test=test):
                if _is_card(card) and "is_available" in ast.unparse(test) and _cards(program) == [card]:
                    yield card


def _cards(program: Program) -> list[ast.Constant]:
    return [node for node in ast.walk(program.tree) if isinstance(node, ast.Constant) and _is_card(node)]


def _is_card(node: ast.Constant) -> bool:
    return isinstance(node.value, str) and re.fullmatch(r"cuda:[1-9]\d*", node.value) is not None
