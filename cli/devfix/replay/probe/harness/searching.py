"""The search for arguments with which the patched lines run: calls, and what their errors say."""

from __future__ import annotations

import ast
import heapq
import inspect
import time
import unittest
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from .. import errors
from .calling import Attempt, Caller, TooSlow
from .cases import Failure
from .checkpoints import checkpoint
from .driver import Shape, Target, body, positional, script, text
from .loading import Loaded, load
from .mending import Mender
from .models import Batches, Model
from .proposals import About, proposed
from .reading import keys_at
from .uses import Uses, documented_ranks, names_in, origins, script_names, uses_of
from .values import Arguments
from .values import Path as ValuePath

CALL_SECONDS = 5.0
IMPORT_SECONDS = 30.0
SEARCH_SECONDS = 8.0
"""Of processor time."""
WALL_SECONDS = 20.0
ATTEMPTS = 300
_MESSAGE = 300
_STALE = 30
"""So many other ideas are tried before an idea is followed up that brought nothing."""


@dataclass(frozen=True)
class Found:
    """The driver, and the step at which it stops short of the patched lines or of its end; None where it does not.

    `reached` are the patched lines that it runs; with `is_inert` one of them works on a stand-in.
    """

    text: str | None
    step: str | None = None
    why: str = ""
    absent: tuple[str, ...] = ()
    reached: tuple[int, ...] = ()
    is_inert: bool = False


def search(target: Target, root: Path, tell: Callable[[Found], None]) -> None:
    """Look for the driver of a target in the tree `root`, and tell of the best one whenever there is a better one."""
    is_ours, watched = _is_ours(root), _watched(target, root)
    loaded = load(target, root, Caller(IMPORT_SECONDS, is_ours, watched))
    if not target.name:
        tell(_of_script(target, loaded, root))
        return
    if loaded.attempt.error is not None:
        tell(Found(None, "import", _told(loaded.attempt, root), loaded.absent))
        return
    try:
        subject = _Subject(target, loaded.names, root)
    except (LookupError, ValueError, TypeError, SyntaxError, AttributeError) as error:
        tell(Found(None, "signature", str(error)[:_MESSAGE], loaded.absent))
        return
    names = {**loaded.names, "Model": Model, "Batches": Batches, "checkpoint": checkpoint}
    _Search(target, subject, loaded.absent, Caller(CALL_SECONDS, is_ours, watched), root, names).run(tell)


def _of_script(target: Target, loaded: Loaded, root: Path) -> Found:
    """What running the file itself came to; without stand-ins a replay of the script tells the same."""
    attempt, file = loaded.attempt, str(root / target.file)
    reached = tuple(sorted({line for name, line in attempt.lines if name == file} & set(target.lines)))
    failed = attempt.error is not None
    why = _told(attempt, root) if failed else "" if reached else "the patched lines did not run"
    text = script(target, loaded.absent) if reached and loaded.absent else None
    step = "run" if failed else None if reached else "reach the patched lines"
    return Found(text, step or (None if text else "target"), why, loaded.absent, reached, bool(attempt.inert))


def _watched(target: Target, root: Path) -> dict[tuple[str, int], list[str]]:
    """The names in each patched statement."""
    file = str(root / target.file)
    tree = ast.parse((root / target.file).read_bytes())
    statements = [node for node in ast.walk(tree) if isinstance(node, ast.stmt) and node.lineno in target.lines]
    return {(file, node.lineno): list(names_in(node)) for node in statements if not hasattr(node, "body")}


class _Subject:
    """The function as it was imported and as its text says: its parameters, and those of its class's constructor."""

    def __init__(self, target: Target, names: dict[str, Any], root: Path) -> None:
        self.tree = ast.parse((root / target.file).read_bytes())
        value: Any = names[target.name.partition(".")[0]]
        owner: Any = None
        for part in target.name.split(".")[1:]:
            owner, value = value, inspect.getattr_static(value, part)
        self.owner = owner
        self.script_names = script_names(self.tree)
        self.shape = _shape(owner, value, target.own_name)
        node = _node(self.tree, target.name)
        self.calls: list[tuple[tuple[str, str], About]] = []
        self.inits: list[tuple[tuple[str, str], About]] = []
        self.nodes: dict[str, Any] = {}
        if self.shape.kind == "constructor" and self.shape.is_module:
            self._use(owner.forward, "call", _node(self.tree, f"{target.owner}.forward", missing=True), target, skip=1)
        elif self.shape.kind not in ("constructor", "property"):
            skip = 1 if self.shape.kind in ("method", "class") else 0
            self._use(_function(value), "call", node, target, skip)
        if self.shape.kind in ("method", "property", "constructor"):
            init = _node(self.tree, f"{target.owner}.__init__", missing=True)
            self._use(owner, "init", init, target, skip=0)
        given = [about.parameter for (where, _), about in self.abouts_list if where == "call"]
        self.shape = replace(self.shape, positional=positional(given))

    @property
    def abouts_list(self) -> list[tuple[tuple[str, str], About]]:
        return [*self.calls, *self.inits]

    def _use(self, function: Any, where: str, node: Any, target: Target, skip: int) -> None:
        self.nodes[where] = node
        found = uses_of(node) if node is not None else {}
        documents = "\n".join(filter(None, (inspect.getdoc(function), ast.get_docstring(node) if node else None)))
        parameters = _parameters(function, node)[skip:]
        listed = self.calls if where == "call" else self.inits
        for one in parameters:
            is_open = one.kind is inspect.Parameter.VAR_POSITIONAL
            if one.kind is inspect.Parameter.VAR_KEYWORD or (is_open and (where == "init" or len(parameters) > 1)):
                continue
            rank = _usual_rank(self._scope(node))
            about = About(
                one, found.get(one.name, Uses()), documented_ranks(documents, one.name), rank, one.name in target.host
            )
            listed.append(((where, one.name), about))

    def _scope(self, node: Any) -> ast.AST:
        """The class of a method, else the function."""
        if node is None:
            return self.tree
        classes = [one for one in ast.walk(self.tree) if isinstance(one, ast.ClassDef) and node in one.body]
        return classes[0] if classes else node


class _Search:
    def __init__(
        self, target: Target, subject: _Subject, absent: tuple[str, ...], caller: Caller, root: Path, names: Any
    ) -> None:
        self._target, self._subject, self._absent = target, subject, absent
        self._caller, self._root, self._names = caller, root, names
        self._abouts = dict(subject.abouts_list)
        self._mender = Mender(self._abouts)
        self._shape = subject.shape
        self._origins = {where: origins(node) for where, node in subject.nodes.items() if node is not None}
        self._file = str(root / target.file)
        self._making_line = 2
        self._best: tuple[tuple[int, int, int], Arguments, Attempt] | None = None

    def run(self, tell: Callable[[Found], None]) -> None:
        """Try arguments, and tell of those that come further than all before."""
        torch.set_num_threads(1)
        end = time.process_time() + SEARCH_SECONDS
        first = self._first()
        queue: list[tuple[tuple[int, ...], int, int, Arguments]] = [((0, 0, 0), 0, 0, first)]
        seen = {first}
        count, slow, latest = 0, 0, time.monotonic() + WALL_SECONDS
        while queue and count < ATTEMPTS and time.process_time() < end and time.monotonic() < latest and slow < 3:
            before, _, stale, given = heapq.heappop(queue)
            attempt = self._attempt(given)
            slow += isinstance(attempt.error, TooSlow)
            score = self._score(attempt)
            if self._best is None or score > self._best[0]:
                self._best = score, given, attempt
                tell(self._found(given, attempt))
            if score[0] == len(self._wanted) and score[1]:
                break
            cost = tuple(-part for part in score)
            stale = 0 if cost < before[:3] else stale + 1
            for index, more in enumerate(self._more(given, attempt)):
                if more not in seen:
                    seen.add(more)
                    heapq.heappush(queue, ((*cost, stale * _STALE + index), len(seen), stale, more))
            count += 1

    @property
    def _wanted(self) -> frozenset[int]:
        return frozenset(self._target.lines)

    def _learn(self, error: BaseException | None) -> bool:
        """Whether a name is missing that the file binds where it is run as a script: then it is one more argument."""
        name = getattr(error, "name", None) if isinstance(error, NameError) else None
        key = ("module", str(name))
        if name not in self._subject.script_names or key in self._abouts:
            return False
        uses = Uses()
        for node in self._subject.nodes.values():
            uses = uses_of(node, [name])[name] if node is not None else uses
        parameter = inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY)
        self._abouts[key] = About(parameter, uses, None, 2)
        return True

    def _first(self) -> Arguments:
        given: dict[str, list[Any]] = {"call": [], "init": []}
        for (where, name), about in self._subject.abouts_list:
            if about.parameter.default is inspect.Parameter.empty:
                given[where].append((name, proposed(about)[0]))
        return Arguments(tuple(given["init"]), tuple(given["call"]))

    def _attempt(self, given: Arguments) -> Attempt:
        self._making_line = 2 + len(given.module)
        code = compile(body(self._target, self._shape, given), "<driver>", "exec")
        attempt = self._caller.run(code, dict(self._names))
        result = (attempt.names or {}).get("result")
        if attempt.error is None and inspect.isgenerator(result) and not self._shape.is_generator:
            self._shape = replace(self._shape, is_generator=True)
            return self._attempt(given)
        return attempt

    def _is_making(self, attempt: Attempt) -> bool:
        """Whether it was the object that could not be made."""
        has_object = self._shape.kind in ("method", "constructor", "property")
        return has_object and attempt.driver_line == self._making_line

    def _score(self, attempt: Attempt) -> tuple[int, int, int]:
        reached = self._wanted & {line for file, line in attempt.lines if file == self._file}
        return len(reached), int(attempt.error is None), len(attempt.lines)

    def _more(self, given: Arguments, attempt: Attempt) -> Iterator[Arguments]:
        if attempt.error is None:
            yield from self._mender.varied(given)
            return
        error = attempt.error
        if self._learn(error):
            name = str(getattr(error, "name", ""))
            for value in proposed(self._abouts["module", name]):
                yield given.with_value(ValuePath("module", name), value)
            return
        if errors.device_error(error) is not None:
            return  # other arguments are on the same device
        yield from self._mender.mended(
            given, Failure(type(error).__name__, str(error)[:2000], self._focus(attempt), keys_at(attempt.trace))
        )

    def _focus(self, attempt: Attempt) -> tuple[tuple[str, str], ...]:
        """The parameters that the lines on the way to the error may have to do with, those of the innermost first."""
        listed: list[tuple[str, str]] = []
        for trace in reversed(attempt.trace):
            where = self._where(trace.tb_frame)
            if where is None:
                continue
            for name in self._names_at(where, trace.tb_lineno):
                own = sorted(self._origins[where].get(name, ()))
                listed += [("module", name)]
                listed += [(where, one) for one in own]
                if name.startswith("self.") and "init" in self._origins:
                    listed += [("init", one) for one in sorted(self._origins["init"].get(name, ()))]
        if not listed:
            where = "init" if self._is_making(attempt) else "call"
            listed = [key for key, _ in self._subject.abouts_list if key[0] == where]
        return tuple(key for key in dict.fromkeys(listed) if key in self._abouts)

    def _where(self, frame: Any) -> str | None:
        """Which of the functions whose text is known a frame runs."""
        if frame.f_code.co_filename != self._file:
            return None
        for where, node in self._subject.nodes.items():
            if node is not None and node.lineno <= frame.f_lineno <= (node.end_lineno or 0) and where in self._origins:
                return where
        return None

    def _names_at(self, where: str, line: int) -> list[str]:
        node = self._subject.nodes[where]
        holding = [
            one
            for one in ast.walk(node)
            if isinstance(one, ast.stmt) and one is not node and one.lineno <= line <= (one.end_lineno or 0)
        ]
        if not holding:
            return []
        innermost = max(holding, key=lambda one: (one.lineno, -(one.end_lineno or 0)))
        if hasattr(innermost, "body"):
            heads = [getattr(innermost, name, None) for name in ("test", "iter", "target", "items")]
            nodes = [one for head in heads if head for one in (head if isinstance(head, list) else [head])]
            return [name for one in nodes for name in names_in(one)]
        return list(names_in(innermost))

    def _found(self, given: Arguments, attempt: Attempt) -> Found:
        reached = sorted(self._wanted & {line for file, line in attempt.lines if file == self._file})
        whole = text(self._target, self._shape, given, self._absent)
        step, why = None, ""
        if attempt.error is not None:
            step, why = "make the object" if self._is_making(attempt) else "call", _told(attempt, self._root)
        elif not reached:
            step, why = "reach the patched lines", "no arguments were found with which they run"
        return Found(whole if reached else None, step, why, self._absent, tuple(reached), bool(attempt.inert))


def _is_ours(root: Path) -> Any:
    inside = str(root)

    def is_ours(file: str) -> bool:
        return file.startswith(inside) and "site-packages" not in file

    return is_ours


def _told(attempt: Attempt, root: Path) -> str:
    error = attempt.error
    place = next((one for one in reversed(attempt.trace) if _is_ours(root)(one.tb_frame.f_code.co_filename)), None)
    message = (str(error).splitlines() or [""])[0][:_MESSAGE]
    where = (
        f" at {Path(place.tb_frame.f_code.co_filename).relative_to(root).as_posix()}:{place.tb_lineno}" if place else ""
    )
    return f"{type(error).__name__}{where}: {message}"


def _shape(owner: Any, value: Any, name: str) -> Shape:
    is_module = isinstance(owner, type) and issubclass(owner, torch.nn.Module)
    if owner is None:
        return Shape("function")
    if isinstance(value, staticmethod):
        return Shape("static")
    if isinstance(value, classmethod):
        return Shape("class")
    if isinstance(value, property):
        return Shape("property", is_module)
    if name in ("__init__", "__new__"):
        return Shape("constructor", is_module)
    return Shape("method", is_module, is_test=issubclass(owner, unittest.TestCase))


def _function(value: Any) -> Any:
    return value.__func__ if isinstance(value, (staticmethod, classmethod)) else value


def _node(tree: ast.Module, name: str, missing: bool = False) -> Any:
    """The definition with that qualified name, also below `if` and `try`.

    Raises:
        LookupError: there is none, and it is not to be missing.
    """
    scope: Any = tree
    for part in name.split("."):
        scope = next((one for one in _definitions(scope) if one.name == part), None)
        if scope is None:
            if missing:
                return None
            raise LookupError(f"{name} is not in the file")
    return scope


def _definitions(scope: Any) -> Iterator[Any]:
    """The last definition of a name counts, but which ran nobody can tell: the first is taken."""
    for node in ast.iter_child_nodes(scope):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield node
        elif isinstance(node, (ast.If, ast.Try, ast.ExceptHandler, ast.With)):
            yield from _definitions(node)


def _parameters(function: Any, node: Any) -> list[inspect.Parameter]:
    """The parameters of a function; those in its text where a decorator hides them."""
    found = list(inspect.signature(function).parameters.values())
    hides = all(one.kind in (one.VAR_POSITIONAL, one.VAR_KEYWORD) for one in found)
    if not (found and hides and node is not None):
        return found
    given = node.args
    named = [*given.posonlyargs, *given.args]
    first = len(named) - len(given.defaults)
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    listed = [
        inspect.Parameter(one.arg, kind, default=inspect.Parameter.empty if index < first else None)
        for index, one in enumerate(named)
    ]
    return listed or found


def _usual_rank(scope: ast.AST) -> int:
    """How many dimensions the layers in there take."""
    names = {getattr(one, "attr", getattr(one, "id", "")) for one in ast.walk(scope)}
    for rank, layers in (
        (5, {"Conv3d", "BatchNorm3d", "MaxPool3d", "conv3d"}),
        (4, {"Conv2d", "BatchNorm2d", "MaxPool2d", "conv2d", "interpolate", "grid_sample", "max_pool2d"}),
        (3, {"Conv1d", "BatchNorm1d", "LSTM", "GRU", "MultiheadAttention", "Embedding", "bmm", "conv1d"}),
    ):
        if names & layers:
            return rank
    return 2
