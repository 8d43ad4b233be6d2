"""The search for values with which patched lines run alone, where their function or their file cannot run whole."""

from __future__ import annotations

import ast
import builtins
import copy
import dataclasses
import inspect
import time
import zlib
from collections.abc import Callable, Iterator, Sequence, Set
from pathlib import Path
from typing import Any

from .. import errors
from .alone import Left, definition
from .calling import Caller, TooSlow, limited, quiet
from .checkpoints import checkpoint
from .driver import Target, head, part_lines, part_text
from .free import bound_before, bound_late, free_names, never_holds
from .loading import Finding, own_packages, stand_in_for
from .models import Batches, Maker, Model
from .parts import Part
from .proposals import About, proposed
from .searching import Found, Search
from .subjects import usual_rank
from .unset import is_unset
from .uses import Uses, uses_of
from .values import Arguments, Items, Named, Plain, Value
from .wanted import wanted

STATEMENT_SECONDS = 5.0
BEGIN_SECONDS = 15.0
"""So long what stands before the lines may take altogether."""
PARTS_SECONDS = 20.0
"""After that no other lines are tried."""
MOST_FOUND = 2
"""So many that fail behind the patched lines are told of."""

STANDING: dict[str, Any] = {"Model": Model, "Maker": Maker, "Batches": Batches, "checkpoint": checkpoint}
"""What drivers hold to stand for what somebody gives."""

Tell = Callable[[Found], None]


class UnfitError(Exception):
    """The lines cannot be run alone."""


class Trying(Part):
    """A part of which it is found out what before the lines cannot run here. `absent` are packages with stand-ins."""

    def __init__(self, target: Target, root: Path, lines: tuple[int, int], device: Any, absent: list[str]) -> None:
        file = root / target.file
        plan = (*lines, (), ())
        super().__init__(str(file), target.module, target.name, {zlib.crc32(file.read_bytes()): plan}, device)
        self._target, self._root, self._absent = target, root, absent
        self._latest = time.monotonic() + BEGIN_SECONDS
        self.lost: set[str] = set()
        self.finder = self.finder or Finding(target, root, absent)

    def do(self, statement: Any, line: Any = None) -> None:
        """Run a statement, and leave it out from now on where it cannot run."""
        try:
            with limited(STATEMENT_SECONDS), quiet():
                super().do(statement, line)
        except (Exception, SystemExit, TooSlow, Left) as error:
            missing = stand_in_for(error, self._absent, self._target, self._root)
            if missing:
                self.do(statement, line)
                return
            refuses = (
                isinstance(error, Left) or isinstance(statement, ast.Raise) or errors.device_error(error) is not None
            )
            refuses = refuses or self._is_patched(statement) or self._original(statement.lineno) is None
            if refuses or self._ends(error) or time.monotonic() > self._latest:
                raise UnfitError from error
            if self._is_stale(error) and self.finder.leave_out(statement, self.file, error):
                super().do(statement, line)
                return
            self.left_out = (*self.left_out, statement.lineno)
            self.lost.update(one.id for one in ast.walk(statement) if _is_stored(one))  # type: ignore[attr-defined]

    def _is_stale(self, error: BaseException) -> bool:
        """Whether an import asks a module of the project for what that has not."""
        if not isinstance(error, ImportError):
            return False
        top = (error.name or "").partition(".")[0]
        return top in own_packages(self._target, self._root) or str(error.path or "").startswith(str(self._root))

    def _ends(self, error: BaseException) -> bool:
        """Whether nobody comes past an error, whatever is given: a name or an attribute has no value anywhere."""
        return self._is_unbound(error) or is_unset(error, self._root, own_packages(self._target, self._root))

    def _is_unbound(self, error: BaseException) -> bool:
        """Whether a name is missing that nothing in the file ever binds: then nobody comes any further."""
        name = getattr(error, "name", None) if isinstance(error, NameError) else None
        if name is None or any(one.name == "*" for one in ast.walk(self.tree) if isinstance(one, ast.alias)):
            return False
        return name not in {bound for one in ast.walk(self.tree) for bound in _bound_in(one)}

    def _is_patched(self, statement: Any) -> bool:
        """Whether a statement is of the lines that are judged: what else the patch changes is judged by itself."""
        return any(statement.lineno <= line <= statement.end_lineno for line in self._target.lines)

    def _original(self, line: int) -> int | None:
        """The line of the file as it is in whose place one stands; None where the patch changed how many there are."""
        before = self._target.before
        if before[line - 1]:
            return before[line - 1]
        new = next((count for count in range(line) if before[line - 1 - count]), line)
        following = next((at for at in range(line, len(before)) if before[at]), None)
        if following is None:
            return None
        kept = before[line - 1 - new] if new < line else 0
        return kept + new if before[following] - kept - 1 == new + following - line else None

    def judge(self, line: int, holds: bool) -> None:
        """Take a condition to hold that does not, from now on; but none that never does."""
        if not holds and never_holds(self.tree, line):
            raise UnfitError
        if not holds and self._target.before[line - 1]:
            self.assumed = (*self.assumed, line)

    @property
    def plans(self) -> dict[int, Any]:
        """For the driver: of the file as it is and of the patched one."""
        before = self._target.before
        first = next((one for one in reversed(before[: self.first - 1]) if one), 0) + 1
        last = next((one for one in before[self.last :] if one), 1 << 30) - 1
        left = tuple(self._original(one) for one in self.left_out)
        assumed = tuple(before[one - 1] for one in self.assumed)
        after = zlib.crc32(Path(self.file).read_bytes())
        plan = (self.first, self.last, self.left_out, self.assumed)
        return {self._target.checksum: (first, last, left, assumed), after: plan}

    def again(self) -> Trying:
        """The same once more, with names of its own. Functions of a file look names up where it binds its own."""
        other = copy.copy(self)
        other.names = {**self.names} if self.name else self.names
        other.statements = copy.deepcopy(self.statements)
        other.rest = copy.deepcopy(self.rest)
        return other


class Lines:
    """The lines with the names that nothing here binds, which are given."""

    def __init__(
        self, target: Target, part: Trying, began: Arguments, absent: list[str], names: dict[str, Any]
    ) -> None:
        self._target, self._part, self._began, self._absent, self._names = target, part, began, absent, names
        free = free_names(part.statements)
        self.new_attributes = frozenset(target.new_attributes)
        late = bound_late(part.tree, target.name).intersection(target.new_names) if target.name else frozenset()
        known = bound_before(part.tree, target.name, part.first) - late
        missing = [one for one in free if one not in part.names and not hasattr(builtins, one) and one in known]
        may_differ = [one for one in free if one not in missing and (one in part.lost or began.top("call", one))]
        self.node = _function(part, [*missing, *may_differ])
        self.nodes: dict[str, Any] = {"call": self.node}
        self.wanted = frozenset(line for line in target.lines if part.first <= line <= part.last)
        self.script_names = known - set(part.names)
        uses = {**uses_of(self.node), **self._uses_of_parameters()}
        rank, forms = usual_rank(part.tree), wanted(self.node, part.names)
        host = {*target.host, *target.local_host, *target.made_on_host}

        def about(name: str) -> About:
            parameter = _parameter(name, name in missing)
            return About(parameter, uses[name], None, rank, name in host, forms.get(name))

        self._listed = [(("call", name), about(name)) for name in (*missing, *may_differ)]

    def _uses_of_parameters(self) -> dict[str, Uses]:
        """What the whole function does with its parameters, of which the lines may do little."""
        function: Any = definition(self._part.tree, self._target.name.split("."))
        return uses_of(function) if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)) else {}

    @property
    def abouts_list(self) -> list[tuple[tuple[str, str], About]]:
        return self._listed

    def lines(self, given: Arguments) -> str:
        """The driver's lines from the values on."""
        return part_lines(self._target, given)

    def driver(self, given: Arguments) -> str:
        """The whole driver."""
        return part_text(self._target, self._part.plans, self._began, given, self._absent)

    def names(self) -> dict[str, Any]:
        """What the lines find bound."""
        return {**self._names, "part": self._part.again()}

    def making_line(self, given: Arguments) -> int | None:
        return None

    def takes_some(self) -> bool:
        return False


def search_parts(
    target: Target, absent: list[str], root: Path, caller: Caller, tell: Tell, best: Arguments | None
) -> None:
    """Look for values for the parts of a target, and tell of each with which patched lines run."""
    latest, count = time.monotonic() + PARTS_SECONDS, 0
    for lines in target.parts:
        if time.monotonic() > latest:
            return
        subject = _lines(target, (lines[0], lines[1]), root, absent, best)
        if subject is None:
            continue
        search = Search(target, subject, absent, caller, root)
        search.run(lambda found: None)
        if search.best is not None and search.best[0][0]:
            _, given, attempt = search.best
            tell(dataclasses.replace(search.found(given, attempt), part=tuple(lines)))
            count += 1
            if search.is_complete or count == MOST_FOUND:
                return


def _lines(
    target: Target, lines: tuple[int, int], root: Path, absent: list[str], best: Arguments | None
) -> Lines | None:
    """The part, after what stands before it ran; None where it cannot be run alone."""
    names = _head(target, absent)
    try:
        part = Trying(target, root, lines, names["device"], absent)
        began = _began(part.tree, target, best)
        with quiet():
            part.begin({name: eval(value.text(), names) for name, value in (*began.init, *began.call)})
        return Lines(target, part, began, absent, names)
    except (Exception, SystemExit, TooSlow):
        return None


def _head(target: Target, absent: Sequence[str]) -> dict[str, Any]:
    """What the driver binds before it comes to the file."""
    names: dict[str, Any] = {"__name__": "__main__", **STANDING}
    exec(head(dataclasses.replace(target, name=""), absent, is_run=True), names)
    return names


def _began(tree: ast.Module, target: Target, best: Arguments | None) -> Arguments:
    """What parameters are given: of the function, and of the constructor where it is a method."""
    best = best or Arguments()
    found: dict[str, tuple[tuple[str, Value], ...]] = {"call": (), "init": ()}
    path = target.name.split(".")
    for where, names in (("call", path), ("init", [*path[:-1], "__init__"] if len(path) > 1 else [])):
        function = definition(tree, names) if any(names) else None
        if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
            rank, skipped = usual_rank(function), int(len(path) > 1)
            host = {*target.host, *(target.init_host if where == "init" else target.made_on_host)}
            known = dict(getattr(best, where))
            found[where] = tuple(
                (name, known.get(name, value)) for name, value in _given(function, host, rank, skipped)
            )
    return Arguments(found["init"], found["call"])


def _given(function: Any, host: Set[str], rank: int, skipped: int) -> Iterator[tuple[str, Value]]:
    given, uses = function.args, uses_of(function)
    if any(getattr(one, "id", "") == "staticmethod" for one in function.decorator_list):
        skipped = 0
    named = [*given.posonlyargs, *given.args]
    defaults = [*[None] * (len(named) - len(given.defaults)), *given.defaults]
    pairs = [*zip(named[skipped:], defaults[skipped:]), *zip(given.kwonlyargs, given.kw_defaults)]
    for one, default in pairs:
        yield one.arg, _constant(default) or _proposed(one, uses, host, rank)
    if given.vararg is not None:
        yield given.vararg.arg, Items((), is_tuple=True)
    if given.kwarg is not None:
        yield given.kwarg.arg, Named()


def _constant(node: ast.expr | None) -> Value | None:
    try:
        return None if node is None else Plain(ast.literal_eval(node))
    except ValueError:
        return None


def _proposed(one: ast.arg, uses: dict[str, Uses], host: Set[str], rank: int) -> Value:
    annotation = inspect.Parameter.empty if one.annotation is None else ast.unparse(one.annotation)
    parameter = inspect.Parameter(one.arg, inspect.Parameter.KEYWORD_ONLY, annotation=annotation)
    return proposed(About(parameter, uses.get(one.arg, Uses()), None, rank, one.arg in host))[0]


def _parameter(name: str, is_needed: bool) -> inspect.Parameter:
    default = inspect.Parameter.empty if is_needed else None
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default)


def _function(part: Trying, names: Sequence[str]) -> ast.FunctionDef:
    """A function with the statements, to be read."""
    text = f"def part({', '.join(names)}): pass"
    made: Any = ast.parse(text).body[0]
    made.body = copy.deepcopy(part.statements)
    made.lineno, made.end_lineno = part.first, max(one.end_lineno for one in part.statements)
    return made  # type: ignore[no-any-return]


def _is_stored(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)


def _bound_in(node: Any) -> Iterator[str]:
    """The names that a node binds, in whatever scope."""
    if _is_stored(node):
        yield node.id
    elif isinstance(node, ast.arg):
        yield node.arg
    elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.ExceptHandler)):
        yield node.name or ""
    elif isinstance(node, ast.alias):
        yield node.asname or node.name.partition(".")[0]
    elif isinstance(node, ast.Global):
        yield from node.names
