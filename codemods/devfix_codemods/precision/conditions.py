"""Autocast for CUDA in code whose data, or whose own question, says which device it is for."""

import ast
import re
from collections.abc import Hashable, Iterable, Iterator

from devfix_codemods.assumptions.availability_tests import speaks
from devfix_codemods.assumptions.index import Index, called
from devfix_codemods.ir import Function, Guard, Node, Op
from devfix_codemods.ir.guards import comparison
from devfix_codemods.ir.keys import key, name
from devfix_codemods.placement.arguments import argument, keyword
from devfix_codemods.precision.devices import Devices, Kind
from devfix_codemods.repairs.points import before, means_same

_NARROWER = re.compile(r"cuda|mps|xpu|npu|is_available")
_MINDS = re.compile(r"cuda|mps|device|is_cpu|is_xpu")
"""What code says that has thought of other devices."""
_ASKS = re.compile(r"(?i)cuda|gpu")
_KEY = re.compile(r"(Autocast|Autograd|Sparse|Quantized)?(CUDA|cuda)")
"""A dispatch key or a device type for CUDA: `AutocastCUDA`, `cuda`."""
_EXACT = frozenset({"float", "double", "long", "int", "bool", "argmax", "argmin", "argsort", "topk", "to", "type"})
"""Methods that say what type a tensor has from there on, or give indices."""


class Wired:
    """Autocasts of one file that are given `"cuda"`."""

    def __init__(self, index: Index, devices: Devices) -> None:
        self._index = index
        self._devices = devices

    def other_type(self, call: Node) -> str | None:
        """The type of the data, or of the device that is asked about, for the `"cuda"` of an autocast."""
        device = argument(call, 0, "device_type")
        if device is None or device.op is not Op.CONST or device.extra != "cuda" or call.syntax is None:
            return None
        if (asked := self.type_asked_about(call)) is not None:
            return asked
        tensor = self._devices.bound_tensor(call)
        if tensor is None or not isinstance(self._index.parents[call.syntax], ast.withitem):
            return None
        return f"{tensor}.device.type" if not self._is_minded(call) and not self._is_for_cuda(call.function) else None

    # What is asked

    def type_asked_about(self, call: Node) -> str | None:
        """`device.type`, where the one question is whether that is the host: `enabled=…`, or a test around the call."""
        found: set[str] = set()
        enabled = keyword(call, "enabled")
        for atom, holds in call.guard | (_if_true(enabled) if enabled is not None else frozenset()):
            text = self._other_than_host(atom, call) if not holds else None
            if text is not None:
                found.add(text)
            elif speaks(self._index, frozenset({(atom, holds)}), _NARROWER):
                return None
        return found.pop() if len(found) == 1 else None

    def _other_than_host(self, atom: Hashable, call: Node) -> str | None:
        """`device.type` of `device.type != "cpu"`, `not device.type == "cpu"` and `device != torch.device("cpu")`."""
        for test in call.function.nodes:
            if test.op is not Op.COMPARE or len(test.args) != 2 or comparison(test)[0] != atom:
                continue
            assert isinstance(test.syntax, ast.Compare)
            text = self._type_of(test, ast.unparse(test.syntax.left))
            asked, point = test.args[0], before(call)
            device = asked.args[0] if asked.op is Op.ATTR and asked.extra == "type" else asked
            same = test.statement is call.statement or (
                point is not None and means_same(self._index.analysis, test.syntax.left, test, point)
            )
            if text is not None and same and not self._devices.is_cuda_or_host(device):
                return text
        return None

    def _type_of(self, test: Node, text: str) -> str | None:
        """The text for the type of what is compared with the host."""
        asked, host = test.args
        if host.op is Op.CONST and host.extra == "cpu":
            is_type = text.endswith((".type", "device_type")) or self._devices.kind(asked, test.guard) is Kind.TYPE
            return text if is_type else None
        is_host = called(host, "torch.device") and len(host.args) == 2 and host.args[1].extra == "cpu"
        return f"{text}.type" if is_host and self._devices.kind(asked, test.guard) is Kind.DEVICE else None

    def _is_minded(self, call: Node) -> bool:
        """Whether another argument, another item of the `with`, or a test around the call speaks of devices."""
        assert isinstance(call.syntax, ast.Call)
        beside = [*call.syntax.args[1:], *(one.value for one in call.syntax.keywords if one.arg != "device_type")]
        for outer in self._index.ancestors(call.syntax):
            if isinstance(outer, ast.With):
                beside += [one.context_expr for one in outer.items if one.context_expr is not call.syntax]
        return speaks(self._index, call.guard, _MINDS) or any(_MINDS.search(ast.unparse(one)) for one in beside)

    # Functions for CUDA

    def _is_for_cuda(self, function: Function) -> bool:
        """Whether a function is registered for CUDA, or all its calls here stand where CUDA has been asked for."""
        if any(_names_key(one) for one in getattr(function.syntax, "decorator_list", ())):
            return True
        made = (one for one in self._index.analysis.module.nodes() if one.op is Op.FUNCTION and one.extra is function)
        uses = [one for node in made for one in self._index.users[node] if one.op is Op.CALL]
        callers = set(self._index.callers(function))
        if any(one not in callers and _is_registration(one) for one in uses):
            return True
        return bool(uses) and all(one in callers and self._asks_for_cuda(one) for one in uses)

    def _asks_for_cuda(self, call: Node) -> bool:
        return speaks(self._index, frozenset(one for one in call.guard if one[1]), _ASKS)


def _if_true(node: Node) -> Guard:
    """What holds where a value is true."""
    if node.op is Op.COMPARE and len(node.args) == 2:
        return frozenset({comparison(node)})
    if node.op is Op.OPERATION and node.extra == "Not":
        return frozenset(
            (atom, not holds) for atom, holds in _if_true(node.args[0]) if len(_if_true(node.args[0])) == 1
        )
    if node.op is Op.PHI and isinstance(node.syntax, ast.BoolOp) and isinstance(node.syntax.op, ast.And):
        return frozenset(one for each in node.args for one in _if_true(each))
    return frozenset({(key(node), True)})


def _names_key(registration: ast.AST | None) -> bool:
    """`@torch.library.impl("lib::op", "CUDA")`, `@torch.library.custom_op("lib::op", device_types="cuda")`."""
    if not isinstance(registration, ast.Call):
        return False
    given = (*registration.args, *(one.value for one in registration.keywords))
    texts = (one.value for one in given if isinstance(one, ast.Constant) and isinstance(one.value, str))
    return any(_KEY.fullmatch(one) for one in texts)


def _is_registration(call: Node) -> bool:
    """`library.impl("op", f, "CUDA")`, `register_kernel("op", "cuda", f)` and `impl("op", "CUDA")(f)`."""
    last = str(call.args[0].extra) if call.args[0].op is Op.ATTR else name(call.args[0]) or ""
    registers = ("impl" in last or "register" in last) and _names_key(call.syntax)
    return registers or _names_key(call.args[0].syntax)


# What is done with the results


def reads_for_numpy(trees: Iterable[ast.Module]) -> bool:
    """Whether numpy reads tensors of any type, in these files.

    It has no bfloat16, in which autocast computes on the host, where autocast for CUDA does nothing.
    """
    converted = (one.func.value for tree in trees for one in ast.walk(tree) if _is_conversion(one))  # type: ignore[attr-defined]
    return any(_EXACT.isdisjoint(_methods(one)) for one in converted)


def _is_conversion(node: ast.AST) -> bool:
    """`x.numpy()`"""
    match node:
        case ast.Call(func=ast.Attribute(attr="numpy"), args=[], keywords=[]):
            return True
    return False


def _methods(node: ast.expr) -> Iterator[str]:
    """The names of the attributes in a chain: `x.detach().float()`."""
    while isinstance(node, ast.Call | ast.Attribute | ast.Subscript):
        if isinstance(node, ast.Attribute):
            yield node.attr
        node = node.func if isinstance(node, ast.Call) else node.value


def decorates_forward(index: Index, call: Node) -> bool:
    """Whether `@torch.autocast("cuda", dtype=torch.float32)` keeps a `forward` in full precision, on CUDA alone."""
    assert call.syntax is not None
    owner = index.parents.get(call.syntax)
    device, dtype = argument(call, 0, "device_type"), keyword(call, "dtype")
    if not isinstance(owner, ast.FunctionDef) or owner.name != "forward" or device is None or dtype is None:
        return False
    is_full = name(dtype) in {"torch.float32", "torch.float"} and device.extra == "cuda"
    return is_full and isinstance(index.parents[owner], ast.ClassDef)
