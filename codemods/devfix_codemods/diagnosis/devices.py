"""Which expression names the wanted place at a line, in the order of the design.

A name for the device that is surely bound there; the literal that the file itself moves by; the device of a tensor at
hand; outside of `forward`, that of the model's parameters. A run proves or refutes the choice. So, other than in the
rules, a name that sounds like a device may be tried.
"""

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from devfix_codemods import scope
from devfix_codemods.diagnosis.project import Project
from devfix_codemods.diagnosis.records import HOST, Kind, Operand
from devfix_codemods.edits.operations import Edit
from devfix_codemods.flow.evidence import dotted
from devfix_codemods.flow.places import Host, Unknown
from devfix_codemods.program import Program
from devfix_codemods.rules._device_values import device_arguments
from devfix_codemods.rules._moves import declare_device

_SOUNDS_LIKE_DEVICE = frozenset({"device", "dev", "DEVICE", "_device", "torch_device"})


@dataclass(frozen=True, slots=True)
class Mover:
    """`suffix` is appended to what is moved, `device` stands behind `device=`; `edits` are needed elsewhere."""

    suffix: str
    device: str
    edits: tuple[Edit, ...] = ()

    @property
    def relaxed(self) -> str:
        """The suffix of a move from the host that need not wait."""
        if not self.suffix.startswith(".to(") or "non_blocking" in self.suffix:
            return self.suffix
        return f"{self.suffix[:-1]}, non_blocking=True)"


TO_HOST = Mover(".cpu()", '"cpu"')


def mover_at(
    project: Project, file: str, statement: ast.stmt, wanted: str | None, anchors: Iterable[Operand] = ()
) -> Mover | None:
    """How to move a value to `wanted` at `statement`; None where nothing there names that place."""
    return next(movers_at(project, file, statement, wanted, anchors), None)


def movers_at(
    project: Project, file: str, statement: ast.stmt, wanted: str | None, anchors: Iterable[Operand] = ()
) -> Iterator[Mover]:
    """All ways to move a value to `wanted` at `statement`, best first."""
    program = project.program(file)
    if program is None:
        return
    if wanted == HOST:
        yield TO_HOST
        return
    bound = project.bound_at(file, statement)
    yield from (Mover(f".to({name})", name) for name in device_names(program, statement, bound))
    yield from _literals(program, wanted)
    for text in _at_hand(project, program, file, statement, bound, anchors):
        yield Mover(f".to({text})", text)
    if scope.function_around(program, statement) is None:
        edits = declare_device(program, statement.lineno)
        if edits is not None and (wanted or "cuda").startswith("cuda"):
            yield Mover(".to(device)", "device", edits)


# Names


def device_names(program: Program, statement: ast.stmt, bound: set[str]) -> list[str]:
    """Expressions that name a device and are surely bound at `statement`, best first."""
    found = [
        one.text
        for one in program.facts.devices_at.get(statement, ())
        if not isinstance(one.place, (Host, Unknown)) and one.text.partition(".")[0] in bound
    ]
    hosts = _host_names(program)
    found += [
        text
        for text in (*_used_as_device(program, statement), *sorted(bound & _SOUNDS_LIKE_DEVICE))
        if text.partition(".")[0] in bound and text not in hosts and _attribute_is_set(program, statement, text)
    ]
    return list(dict.fromkeys(found))


def _used_as_device(program: Program, statement: ast.stmt) -> list[str]:
    """Names and dotted names that the file gives to `.to(…)` and `device=`, those of the same function first."""
    function, owner = scope.function_around(program, statement), scope.class_around(program, statement)
    found: list[tuple[int, int, str]] = []
    for call in program.names.calls:
        for node in device_arguments(program, call):
            text = dotted(node)
            if text is None:
                continue
            here = scope.function_around(program, call) is function
            near = owner is not None and scope.class_around(program, call) is owner
            found.append((0 if here else 1 if near else 2, abs(call.lineno - statement.lineno), text))
    return [text for _, _, text in sorted(found)]


def _host_names(program: Program) -> set[str]:
    """Names that are bound to nothing but the host: `cpu = torch.device("cpu")`."""
    places: dict[str, list[bool]] = {}
    for node in ast.walk(program.tree):
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            text = dotted(node.targets[0])
            if text is not None:
                places.setdefault(text, []).append(_is_host(node.value))
    return {name for name, hosts in places.items() if all(hosts)}


def _is_host(node: ast.expr) -> bool:
    if isinstance(node, ast.Call) and len(node.args) == 1 and (dotted(node.func) or "").endswith("device"):
        node = node.args[0]
    return isinstance(node, ast.Constant) and node.value == HOST


def _attribute_is_set(program: Program, statement: ast.stmt, text: str) -> bool:
    """Whether `self.device` is there: always in other methods, in `__init__` only below its assignment."""
    if not text.startswith("self."):
        return True
    function, owner = scope.function_around(program, statement), scope.class_around(program, statement)
    if function is None or owner is None or not _class_has(owner, text.split(".")[1]):
        return False
    if function.name != "__init__":
        return True
    above = (node for node in ast.walk(function) if isinstance(node, ast.Assign) and node.lineno < statement.lineno)
    return any(dotted(target) == text for node in above for target in node.targets)


def _class_has(owner: ast.ClassDef, attribute: str) -> bool:
    """Whether the class sets the attribute, has it as a property, or inherits from something that may."""
    for node in ast.walk(owner):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and dotted(node) == f"self.{attribute}":
            return True
        if isinstance(node, scope.Function) and node.name == attribute:
            return True
    return any((dotted(base) or "").rpartition(".")[2] not in {"object", "Module", "ABC"} for base in owner.bases)


# Literals


def _literals(program: Program, wanted: str | None) -> Iterator[Mover]:
    """The constant by which the file itself moves to the wanted place: `.cuda()`, `.to("cuda")`."""
    for call in program.names.calls:
        if not isinstance(call.func, ast.Attribute) or _is_guarded(program, call):
            continue
        if call.func.attr == "cuda" and not call.args and _is_default(wanted):
            yield Mover(".cuda()", '"cuda"')
            return
        place = call.args[0] if call.func.attr == "to" and call.args else None
        if isinstance(place, ast.Constant) and isinstance(place.value, str) and _same(place.value, wanted):
            yield Mover(f'.to("{place.value}")', f'"{place.value}"')
            return


def _is_guarded(program: Program, call: ast.Call) -> bool:
    """Whether a move happens only on a condition, which may not hold where ours would stand."""
    return any(isinstance(one, (ast.If, ast.IfExp)) and not _is_main(one) for one in program.names.ancestors(call))


def _is_main(node: ast.If | ast.IfExp) -> bool:
    return any(isinstance(one, ast.Name) and one.id == "__name__" for one in ast.walk(node.test))


def _is_default(wanted: str | None) -> bool:
    return wanted in {None, "cuda", "cuda:0"}


def _same(literal: str, wanted: str | None) -> bool:
    if literal == HOST:
        return False
    return wanted is None or literal == wanted or (":" not in literal and wanted == f"{literal}:0")


# Values at hand


def _at_hand(
    project: Project, program: Program, file: str, statement: ast.stmt, bound: set[str], anchors: Iterable[Operand]
) -> Iterator[str]:
    """Devices of values that are on the wanted place already and bound here."""
    function = scope.function_around(program, statement)
    for anchor in anchors:
        if not _same_function(project, program, file, function, anchor) or dotted_root(anchor.expression) not in bound:
            continue
        if anchor.kind is Kind.TENSOR:
            yield f"{anchor.expression}.device"
        elif anchor.kind is Kind.MODULE and function is not None and function.name != "forward":
            yield f"next({anchor.expression}.parameters()).device"
    if function is None or function.name == "__init__":
        return
    used = program.facts.evidence[function].tensors if function in program.facts.evidence else set()
    yield from (f"{name}.device" for name in scope.parameters(function) if name in used)
    if "self" in bound and function.name != "forward" and _is_module(program, function):
        yield "next(self.parameters()).device"


def _same_function(project: Project, program: Program, file: str, function: ast.AST | None, operand: Operand) -> bool:
    """Whether `operand` is a value of the function (or the module) that is meant."""
    if not project.frames:
        return False
    frame = project.frames[operand.frame]
    statement = project.statement(frame.file, frame.line)
    return frame.file == file and statement is not None and scope.function_around(program, statement) is function


def dotted_root(text: str) -> str | None:
    """The name at which a plain dotted expression starts; None for any other expression."""
    parts = text.split(".")
    return parts[0] if all(part.isidentifier() for part in parts) else None


def _is_module(program: Program, function: scope.Function) -> bool:
    owner = scope.class_around(program, function)
    return owner is not None and is_module_class(program, owner)


def is_module_class(program: Program, owner: ast.ClassDef) -> bool:
    """Whether a class is a `torch.nn.Module`, as far as its file tells."""
    return program.classes.may_be_module(owner)
