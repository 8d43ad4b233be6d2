"""Which expression names the wanted place at a line, in the order of the design.

A name for the device that is surely bound there; the literal that the file itself moves by; the device of a tensor at
hand; outside of `forward`, that of the model's parameters. A run proves or refutes the choice. So, other than in the
rules, a name that sounds like a device may be tried.
"""

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from devfix_codemods.catalogue import Kind as Sort
from devfix_codemods.diagnosis.project import Project
from devfix_codemods.diagnosis.records import HOST, Kind, Operand
from devfix_codemods.edits.operations import Edit
from devfix_codemods.ir import Node, Op
from devfix_codemods.placement.places import HOST as ON_HOST
from devfix_codemods.placement.places import place_of
from devfix_codemods.project.tree import dotted
from devfix_codemods.repairs.declared_devices import in_module
from devfix_codemods.repairs.points import bound

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
    here = _Here(project, file, statement)
    yield from (Mover(f".to({name})", name) for name in dict.fromkeys(here.names()))
    yield from here.literals(wanted)
    for text in here.at_hand(anchors):
        yield Mover(f".to({text})", text)
    if here.function.parent is None:
        edits = in_module(program.source, statement.lineno)
        if edits is not None and (wanted or "cuda").startswith("cuda"):
            yield Mover(".to(device)", "device", edits)


class _Here:
    """What is bound at a statement, and known of places there."""

    def __init__(self, project: Project, file: str, statement: ast.stmt) -> None:
        self._project = project
        self._file = file
        self._statement = statement
        self._index = project.index(file)
        self._analysis = self._index.analysis
        self._births = self._analysis.births
        self._bound = project.bound_at(file, statement)
        self.function = project.function(file, statement)

    # Names

    def names(self) -> Iterator[str]:
        """Expressions that name a device and are surely bound, those to which the function moves values first."""
        used = [(self._distance(call), text) for call, text in self._used()]
        for text in (*(text for _, text in sorted(used)), *sorted(self._bound & _SOUNDS_LIKE_DEVICE)):
            if text.partition(".")[0] in self._bound and self._may_be_device(text):
                yield text

    def _used(self) -> Iterator[tuple[Node, str]]:
        """Dotted names that the file gives to `.to(…)`, `device=` and `map_location=`."""
        for call in self._index.calls:
            assert isinstance(call.syntax, ast.Call)
            moves = call.args[0].op is Op.ATTR and call.args[0].extra == "to"
            given = [one.value for one in call.syntax.keywords if one.arg in {"device", "map_location"}]
            for one in (*given, *call.syntax.args[: int(moves)]):
                text = dotted(one)
                node = call.args[1 + call.syntax.args.index(one)] if one in call.syntax.args else None
                if text is not None and (node is None or place_of(node, self._analysis.kinds) is not None):
                    yield call, text

    def _distance(self, call: Node) -> tuple[int, int]:
        here, owner = call.function is self.function, self.function.owner
        near = owner is not None and call.function.owner is owner
        return (0 if here else 1 if near else 2, abs(call.line - self._statement.lineno))

    def _may_be_device(self, text: str) -> bool:
        """Whether a name is bound to something else than the host, and an attribute is set by then."""
        head, *rest = text.split(".")
        node = bound(self.function.before.get(self._statement, {}), self.function, head)
        itself, owner = self.function.self_node, self.function.owner
        if node is not None and node is itself and owner is not None and len(rest) == 1:
            stored = self.function.before[self._statement].get((node, rest[0]))
            if self.function.name == "__init__":
                return stored is not None and stored.op is not Op.ATTR
            bases = {one.rpartition(".")[2] for one in map(ast.unparse, owner.syntax.bases)}
            return owner.sets(rest[0]) or rest[0] in owner.members or not bases <= {"object", "Module", "ABC"}
        return node is None or bool(rest) or place_of(node, self._analysis.kinds) != ON_HOST

    # Literals

    def literals(self, wanted: str | None) -> Iterator[Mover]:
        """The constant by which the file itself moves to the wanted place: `.cuda()`, `.to("cuda")`."""
        for call in self._index.calls:
            if not self._births.is_move(call) or not all("__main__" in str(atom) for atom, _ in call.guard):
                continue
            given = call.args[1].extra if len(call.args) > 1 and call.args[1].op is Op.CONST else None
            if call.args[0].extra == "cuda" and len(call.args) == 1 and wanted in {None, "cuda", "cuda:0"}:
                yield Mover(".cuda()", '"cuda"')
                return
            if call.args[0].extra == "to" and isinstance(given, str) and _same(given, wanted):
                yield Mover(f'.to("{given}")', f'"{given}"')
                return

    # Values at hand

    def at_hand(self, anchors: Iterable[Operand]) -> Iterator[str]:
        """Devices of values that are on the wanted place already and bound here."""
        function = self.function
        for anchor in anchors:
            if not self._is_of_function(anchor) or dotted_root(anchor.expression) not in self._bound:
                continue
            if anchor.kind is Kind.TENSOR:
                yield f"{anchor.expression}.device"
            elif anchor.kind is Kind.MODULE and function.parent is not None and function.name != "forward":
                yield f"next({anchor.expression}.parameters()).device"
        if function.parent is None or function.name == "__init__":
            return
        for one in function.parameters.values():
            if one is not function.self_node and self._analysis.kinds.of(one) is Sort.TENSOR:
                yield f"{one.extra}.device"
        if (
            "self" in self._bound
            and function.name != "forward"
            and function.owner in self._analysis.kinds.module_classes
        ):
            yield "next(self.parameters()).device"

    def _is_of_function(self, operand: Operand) -> bool:
        """Whether `operand` is a value of the function (or the module) that is meant."""
        if not self._project.frames:
            return False
        frame = self._project.frames[operand.frame]
        statement = self._project.statement(frame.file, frame.line)
        same = frame.file == self._file and statement is not None
        return same and statement is not None and self._project.function(frame.file, statement) is self.function


def _same(literal: str, wanted: str | None) -> bool:
    if literal == HOST:
        return False
    return wanted is None or literal == wanted or (":" not in literal and wanted == f"{literal}:0")


def dotted_root(text: str) -> str | None:
    """The name at which a plain dotted expression starts; None for any other expression."""
    parts = text.split(".")
    return parts[0] if all(part.isidentifier() for part in parts) else None


def holds_module(project: Project, file: str, statement: ast.stmt) -> bool:
    """Whether a statement stands in a method of a `torch.nn.Module`, as far as its file tells."""
    return project.function(file, statement).owner in project.index(file).analysis.kinds.module_classes
