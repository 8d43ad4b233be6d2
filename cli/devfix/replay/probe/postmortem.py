"""After a device error: every tensor, module, optimizer and batch in reach of the frames that it passed through.

Written for the moment after a crash: it runs nothing of the user's, moves no tensor, waits for no device, stops after
`SECONDS`, and never raises.
"""

from __future__ import annotations

import ast
import os
import re
import sys
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any

from . import errors, forms, reach
from .facts import Described, Facts, Part, Record
from .failing import Failing, failing, operands, within
from .passing import is_method, passed

SECONDS = 2.0
FRAMES_LIMIT = 12
OPERANDS_LIMIT = 30
VALUES_LIMIT = 60
FORMS_LIMIT = 200
NAMES_LIMIT = 500
TEXT_LIMIT = 200

_HOST_WANTED = re.compile(r"to numpy|only dense CPU tensors|1D CPU int64 tensor|RNG state must be")
"""Errors that say: this tensor should be on the host."""
_LENGTHS = re.compile(r"1D CPU int64 tensor")
_OF_IPYTHON = re.compile(r"_|_\d+|_[iod]h|In|Out")
"""What IPython calls the results of cells, beside the names that the cells give them."""
_SIMULATED = str(Path(__file__).parent / "simulated") + os.sep
_MODULE_MACHINERY = frozenset({"_parameters", "_buffers", "_modules"})


def examine(error: BaseException, root: Path) -> Record | None:
    """The post-mortem of the device error in the chain of `error`.

    None without one, where no frame is in `root`, or where it arose in another process: its tensors are not here.
    """
    try:
        found = errors.device_error(error)
        if found is None or errors.elsewhere(error, root) is not None:
            return None
        return _examine(_user_traces(found[0], error, root), found[1], root, _refused(found[0]))
    except Exception:
        return None


def _refused(error: BaseException) -> list[tuple[str, Any]]:
    """The arguments that the simulation refused with `error`: the odd one, and one of the others. None on hardware.

    A library may have caught its error and raised `error` from it.
    """
    simulation, _ = active_simulation()
    if simulation is None or not any(map(_is_refusal, errors.chain(error))):
        return []  # then what is there are the arguments of an earlier error, which the script went past
    return list(simulation.refused)


def _is_refusal(error: BaseException) -> bool:
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return False
    code = trace.tb_frame.f_code
    return code.co_filename.startswith(_SIMULATED) and code.co_name == "refuse"


def _user_traces(link: BaseException, error: BaseException, root: Path) -> list[TracebackType]:
    """The parts of the traceback that are in the user's own code, outermost first; of a deep one the innermost."""
    found: list[TracebackType] = []
    trace = errors.traceback_of(link, error, root)
    while trace is not None:
        if errors.inside(trace.tb_frame.f_code.co_filename, root) is not None:
            found.append(trace)
        trace = trace.tb_next
    return found[-FRAMES_LIMIT:]


def _examine(traces: list[TracebackType], message: str, root: Path, refused: list[tuple[str, Any]]) -> Record | None:
    torch = sys.modules.get("torch")
    if torch is None or not traces:
        return None
    where, innermost = failing(traces[-1]), traces[-1].tb_frame
    _, claims = active_simulation()
    values = _Values(Facts(torch, root, claims, time.monotonic() + SECONDS), len(traces) - 1)
    values.add_operands(where, traces[-1])
    values.add_frames([trace.tb_frame for trace in traces])
    if not values.blame_refused(refused):
        values.blame_operands(message)
    return {
        "message": message[: errors.MESSAGE_LIMIT],
        "file": errors.inside(innermost.f_code.co_filename, root),
        "line": where.line,
        "column": where.column,
        "end_line": where.end_line,
        "end_column": where.end_column,
        "code": where.code,
        "operation": where.operation[:TEXT_LIMIT],
        "function": innermost.f_code.co_name,
        "frames": [_frame(trace, root) for trace in traces],
        "values": values.records(),
        "forms": list(islice(_forms([trace.tb_frame for trace in traces]), FORMS_LIMIT)),
    }


def _frame(trace: TracebackType, root: Path) -> Record:
    code = trace.tb_frame.f_code
    return {"file": errors.inside(code.co_filename, root), "line": trace.tb_lineno, "function": code.co_name}


def _forms(frames: list[FrameType]) -> Iterator[Record]:
    """What the names of the frames stand for, the innermost frame first."""
    for number, frame in reversed(list(enumerate(frames))):
        for expression, value in in_reach(frame):
            form = forms.form(value)
            if form is not None:
                yield {"frame": number, "expression": expression[:TEXT_LIMIT], **form}


def active_simulation() -> tuple[Any, Any]:
    """The simulated accelerator of this process and the module that knows its claims; None on real hardware."""
    simulated = sys.modules.get(f"{__package__}.simulated")
    simulation = getattr(simulated, "active", None)
    return simulation, None if simulation is None else sys.modules[f"{__package__}.simulated.claims"]


class _Value:
    """A value in reach: what it is, how it is called there, and whether it stands in the failing expression."""

    def __init__(self, expression: str, frame: int, described: Described, operand: bool, direct: bool) -> None:
        self.expression = expression
        self.frame = frame
        self.described = described
        self.operand = operand
        self.direct = direct
        self.culprit = False

    def record(self) -> Record:
        return {
            "expression": self.expression[:TEXT_LIMIT],
            "frame": self.frame,
            "operand": self.operand,
            "culprit": self.culprit,
            **self.described.record,
        }

    def involve(self, parts: list[Part]) -> None:
        """Make it part of the mismatch, by those of its tensors."""
        self.culprit = True
        names = [part.name for part in parts if part.name]
        if names:
            self.described.record["involved"] = names[:VALUES_LIMIT]


class _Values:
    """Collects the values in reach, those of the failing expression first, and finds the culprits among them."""

    def __init__(self, facts: Facts, innermost: int) -> None:
        self._facts = facts
        self._innermost = innermost
        self._values: list[_Value] = []
        self._names: dict[int, list[str]] = {}
        self._unresolved: list[str] = []

    def records(self) -> list[Record]:
        return [value.record() for value in self._values]

    def add_operands(self, where: Failing, trace: TracebackType) -> None:
        if where.node is None:
            return
        direct = _operands(where.node, trace.tb_frame)
        given = passed(where.node, trace)
        for node in direct[:OPERANDS_LIMIT]:
            value = reach.evaluate(node, trace.tb_frame)
            value = given.get(node, reach.MISSING) if value is reach.MISSING else value
            if value is reach.MISSING and not isinstance(node, (ast.Name, ast.Attribute, ast.Constant, ast.Lambda)):
                self._unresolved.append(_text(node))
            self._add_operand(node, value, True)
        seen: set[ast.AST] = set()
        for node in (*direct, *within(where.node)):
            value = reach.MISSING if node in seen else reach.evaluate(node, trace.tb_frame)
            if value is not reach.MISSING and isinstance(node, (ast.Attribute, ast.Subscript)):
                seen.update(ast.walk(node.value))  # `self` of `self.mask` only leads to it
            if len(self._values) < OPERANDS_LIMIT and node not in direct:
                self._add_operand(node, value, False)

    def _add_operand(self, node: ast.expr, value: Any, direct: bool) -> None:
        expression = _text(node)
        if value is not reach.MISSING and all(known.expression != expression for known in self._values):
            self._add(expression, self._innermost, value, True, direct)

    def add_frames(self, frames: list[FrameType]) -> None:
        """What names of the frames stand for, from the innermost frame outwards."""
        for number, frame in reversed(list(enumerate(frames))):
            for expression, value in in_reach(frame):
                if len(self._values) >= VALUES_LIMIT or self._facts.late:
                    return
                if expression not in self._names.get(id(value), ()):
                    self._add(expression, number, value, False, False)

    def _add(self, expression: str, frame: int, value: Any, operand: bool, direct: bool) -> None:
        described = self._facts.describe(value)
        if described is None:
            return
        if described.record.get("type") != "device":
            names = self._names.setdefault(id(value), [])
            described.record["alias"] = names[0] if names else None
            names.append(expression)
        for item in described.record.get("items", ()):
            item["expression"] = expression + item["expression"]
        self._values.append(_Value(expression, frame, described, operand, direct))

    def blame_refused(self, refused: list[tuple[str, Any]]) -> bool:
        """Find the tensors that the simulation refused among the values; tell of the others as they are.

        A tensor that was made on the way (a cast, a slice that was copied) is found by the claim that it inherited.
        """
        unnamed = []
        for argument, tensor in refused:
            part = self._facts.part("", tensor)
            if not (self._blame({part.storage}, argument) or self._blame_by_claim(part.claim, argument)):
                unnamed.append((argument, tensor))
        expressions = self._expressions([argument for argument, _ in unnamed])
        for argument, tensor in unnamed:
            self._add_unnamed(argument, tensor, expressions.get(argument, ""))
        return bool(refused)

    def _expressions(self, arguments: list[str]) -> dict[str, str]:
        """The intermediate results among the operands that `arguments` must be, where there is no other way."""
        if len(arguments) == len(self._unresolved) == 1:
            return {arguments[0]: self._unresolved[0]}
        if sorted(arguments) == ["other", "self"] and len(self._unresolved) == 2:
            return dict(zip(("self", "other"), self._unresolved))
        return {}

    def _blame(self, storages: set[int], argument: str = "") -> bool:
        """Whether any value has one of `storages`; those that do become culprits."""
        found = [
            (value, [part for part in value.described.parts if part.storage in storages]) for value in self._values
        ]
        found = [(value, parts) for value, parts in found if parts]
        direct = any(value.direct for value, _ in found)
        for value, parts in found:
            if not (direct and value.operand and not value.direct):  # `x` where `x.view(-1)` is the operand
                self._involve(value, parts, argument)
        return bool(found)

    def _blame_by_claim(self, claim: int, argument: str) -> bool:
        for value in self._values:
            parts = [part for part in value.described.parts if part.claim == claim and claim]
            if parts and value.operand and value.described.record["kind"] != "module":
                self._involve(value, parts, argument)
                return True
        return False

    def _involve(self, value: _Value, parts: list[Part], argument: str) -> None:
        known = value.described.record.get("involved", [])
        value.involve([*(Part(name, 0, 0) for name in known), *(part for part in parts if part.name not in known)])
        if argument and value.operand and value.described.record["kind"] == "tensor":
            value.described.record["argument"] = argument

    def _add_unnamed(self, argument: str, tensor: Any, expression: str) -> None:
        """A refused tensor that no name reaches: an intermediate result, or else (`expression` is "") an argument."""
        described = self._facts.describe(tensor)
        if described is None:
            return
        described.record["argument"] = argument
        value = _Value(expression, self._innermost, described, bool(expression), bool(expression))
        value.culprit = True
        self._values.insert(sum(known.operand for known in self._values), value)

    def blame_operands(self, message: str) -> None:
        """On hardware: the operands that are at different places, or on a device where the host is wanted."""
        wants_host = bool(_HOST_WANTED.search(message))
        among = [value for value in self._values if value.direct and _placed(value)]
        if self._unresolved or len(among) < (1 if wants_host else 2):
            among = [value for value in self._values if value.operand and _placed(value)]
        if "generator" in message:
            among = [value for value in self._values if value.operand and value.described.record["kind"] == "other"]
        if _LENGTHS.search(message):
            among = [value for value in among if str(value.described.record.get("dtype")).startswith("int")]
        if wants_host:
            guilty = [value for value in among if value.described.places() != {"cpu"}]
        else:
            guilty = _mismatched(among)
        storages = set()
        for value in guilty:
            value.culprit = True
            storages |= {part.storage for part in value.described.parts}
        self._blame_aliases(storages)

    def _blame_aliases(self, storages: set[int]) -> None:
        """The same tensors under the names that they have in the frames further out."""
        for value in self._values:
            if not value.operand and any(part.storage in storages for part in value.described.parts):
                value.culprit = True


def _placed(value: _Value) -> bool:
    record = value.described.record
    return bool(record["kind"] != "other" or record["type"] == "array")


def _mismatched(among: list[_Value]) -> list[_Value]:
    """All of `among` where they are not at one place. Host scalars go with everything unless nothing else differs."""
    heavy = [value for value in among if not _host_scalar(value)]
    for candidates in (heavy, among):
        if len(set().union(*(value.described.places() for value in candidates))) > 1:
            return candidates
    return []


def _host_scalar(value: _Value) -> bool:
    record = value.described.record
    return bool(record["kind"] == "tensor" and record["place"] == "cpu" and record["shape"] == [])


def _operands(node: ast.AST, frame: FrameType) -> list[ast.expr]:
    """The operands of `node`. A module that is called is one; what it is an attribute of is none then."""
    found = operands(node)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        called = reach.evaluate(node.func, frame)
        unwanted = node.func if called is reach.MISSING else node.func.value
        return [each for each in found if each is not unwanted]
    return found


def in_reach(frame: FrameType) -> Iterator[tuple[str, Any]]:
    """Names and what they stand for: locals, attributes of `self`, and the globals that the code mentions."""
    local = dict(islice(frame.f_locals.items(), NAMES_LIMIT))
    has_results = "_oh" in local
    for name, value in local.items():
        if name.isidentifier() and not name.startswith("__") and not (has_results and _OF_IPYTHON.fullmatch(name)):
            yield name, value
    code = frame.f_code
    if is_method(code) and code.co_varnames[0] in local:
        first = code.co_varnames[0]
        for name, value in list(reach.own_attributes(local[first]))[:NAMES_LIMIT]:
            if name not in _MODULE_MACHINERY:
                yield f"{first}.{name}", value
    for name in code.co_names:
        if name in frame.f_globals and name not in local:
            yield name, frame.f_globals[name]


def _text(node: ast.AST) -> str:
    return ast.unparse(node)
