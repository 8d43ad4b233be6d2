"""The search for arguments with which the patched lines run: calls, and what their errors say."""

from __future__ import annotations

import ast
import heapq
import inspect
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import torch

from .. import errors
from .calling import DRIVER, Attempt, Caller, TooSlow
from .cases import Failure
from .driver import Target
from .learned import learned
from .mending import Mender
from .proposals import About, proposed
from .reading import keys_at
from .uses import Uses, names_in, origins, uses_of
from .values import Arguments
from .values import Path as ValuePath

SEARCH_SECONDS = 8.0
"""Of processor time."""
WALL_SECONDS = 20.0
ATTEMPTS = 300
MESSAGE = 300
_STALE = 30
"""So many other ideas are tried before an idea is followed up that brought nothing."""


@dataclass(frozen=True)
class Found:
    """The driver, and the step at which it stops short of the patched lines or of its end; None where it does not.

    `absent` are packages with stand-ins, and statements of the project that are left out; `reached` are the patched
    lines that it runs; with `is_inert` one of them works on a stand-in.
    Of a `part` the first and last line run alone.
    """

    text: str | None
    step: str | None = None
    why: str = ""
    absent: tuple[str, ...] = ()
    reached: tuple[int, ...] = ()
    is_inert: bool = False
    part: tuple[int, ...] = ()


class Subject(Protocol):
    """What a search calls. `nodes` are the texts of its functions, by `call` or `init`, which the `abouts_list` names.

    `script_names` are those that the file binds, but nothing here: one that is missed is one more argument.
    `new_attributes` are read by the patch alone.
    """

    nodes: dict[str, Any]
    script_names: frozenset[str]
    new_attributes: frozenset[str]
    wanted: frozenset[int]

    @property
    def abouts_list(self) -> list[tuple[tuple[str, str], About]]: ...

    def lines(self, given: Arguments) -> str:
        """The driver's lines from the arguments on."""

    def driver(self, given: Arguments) -> str:
        """The whole driver."""

    def names(self) -> dict[str, Any]:
        """What the lines find bound."""

    def making_line(self, given: Arguments) -> int | None:
        """Which of the lines makes the object."""

    def takes_some(self) -> bool:
        """Have only the first elements be taken of a generator, if that was not so before."""


class Search:
    """Tries arguments."""

    def __init__(self, target: Target, subject: Subject, absent: Sequence[str], caller: Caller, root: Path) -> None:
        self._target, self._subject, self._absent = target, subject, absent
        self._caller, self._root = caller, root
        self._abouts = dict(subject.abouts_list)
        self._mender = Mender(self._abouts)
        self._origins = {where: origins(node) for where, node in subject.nodes.items() if node is not None}
        self._file = str(root / target.file)
        self._making_line: int | None = None
        self.best: tuple[tuple[int, int, int], Arguments, Attempt] | None = None

    @property
    def is_complete(self) -> bool:
        """Whether arguments were found with which all patched lines run, to the end."""
        return self.best is not None and self.best[0][:2] == (len(self._subject.wanted), 1)

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
            if self.best is None or score > self.best[0]:
                self.best = score, given, attempt
                tell(self.found(given, attempt))
            if self.is_complete:
                break
            cost = tuple(-part for part in score)
            stale = 0 if cost < before[:3] else stale + 1
            for index, more in enumerate(self._more(given, attempt)):
                if more not in seen:
                    seen.add(more)
                    heapq.heappush(queue, ((*cost, stale * _STALE + index), len(seen), stale, more))
            count += 1

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
        self._making_line = self._subject.making_line(given)
        attempt = self._caller.run(compile(self._subject.lines(given), DRIVER, "exec"), self._subject.names())
        result = (attempt.names or {}).get("result")
        if attempt.error is None and inspect.isgenerator(result) and self._subject.takes_some():
            return self._attempt(given)
        return attempt

    def _is_making(self, attempt: Attempt) -> bool:
        """Whether it was the object that could not be made."""
        return self._making_line is not None and attempt.driver_line == self._making_line

    def _score(self, attempt: Attempt) -> tuple[int, int, int]:
        reached = self._subject.wanted & {line for file, line in attempt.lines if file == self._file}
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
        if isinstance(getattr(error, "obj", None), torch.nn.Module) and error.name in self._subject.new_attributes:  # type: ignore[attr-defined]
            return  # a module has what the program reads of it, and no more
        trace = attempt.trace
        read = learned(error, trace, inside(self._root))
        yield from self._mender.mended(
            given, Failure(type(error).__name__, str(error)[:2000], self._focus(attempt), keys_at(trace), read)
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

    def found(self, given: Arguments, attempt: Attempt) -> Found:
        """The driver with these arguments."""
        reached = sorted(self._subject.wanted & {line for file, line in attempt.lines if file == self._file})
        step, why = None, ""
        if attempt.error is not None:
            step, why = "make the object" if self._is_making(attempt) else "call", told(attempt, self._root)
        elif not reached:
            step, why = "reach the patched lines", "no arguments were found with which they run"
        whole = self._subject.driver(given) if reached else None
        return Found(whole, step, why, tuple(self._absent), tuple(reached), bool(attempt.inert))


def inside(root: Path) -> Any:
    inside = str(root)

    def is_ours(file: str) -> bool:
        return file.startswith(inside) and "site-packages" not in file

    return is_ours


def told(attempt: Attempt, root: Path) -> str:
    error = attempt.error
    place = next((one for one in reversed(attempt.trace) if inside(root)(one.tb_frame.f_code.co_filename)), None)
    message = (str(error).splitlines() or [""])[0][:MESSAGE]
    where = (
        f" at {Path(place.tb_frame.f_code.co_filename).relative_to(root).as_posix()}:{place.tb_lineno}" if place else ""
    )
    return f"{type(error).__name__}{where}: {message}"
