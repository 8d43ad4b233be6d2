"""What is called: the function as it was imported and as its text says, and what is known of its parameters."""

from __future__ import annotations

import ast
import inspect
import unittest
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from .alone import definition, mangled
from .driver import Shape, Target, body, positional, text
from .free import bound_late
from .proposals import About
from .uses import Uses, documented_ranks, script_names, uses_of
from .values import Arguments


class Called:
    """The function as it was imported and as its text says: its parameters, and those of its class's constructor."""

    def __init__(self, target: Target, names: dict[str, Any], root: Path, absent: Sequence[str]) -> None:
        self._target, self._names, self._absent = target, names, absent
        self.wanted = frozenset(target.lines)
        self.tree = ast.parse((root / target.file).read_bytes())
        value: Any = names[target.name.partition(".")[0]]
        owner: Any = None
        for part in target.name.split(".")[1:]:
            owner, value = value, inspect.getattr_static(value, mangled(part, value.__name__))
        self.owner = owner
        self.new_attributes = frozenset(target.new_attributes)
        late = bound_late(self.tree, target.name).intersection(target.new_names)
        self.script_names = script_names(self.tree) - late
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

    def lines(self, given: Arguments) -> str:
        """The driver's lines from the arguments on."""
        return body(self._target, self.shape, given)

    def driver(self, given: Arguments) -> str:
        """The whole driver."""
        return text(self._target, self.shape, given, self._absent)

    def names(self) -> dict[str, Any]:
        """What the lines find bound."""
        return dict(self._names)

    def making_line(self, given: Arguments) -> int | None:
        """Which of the lines makes the object."""
        return 2 + len(given.module) if self.shape.kind in ("method", "constructor", "property") else None

    def takes_some(self) -> bool:
        """Have only the first elements be taken of a generator, if that was not so before."""
        was, self.shape = self.shape, replace(self.shape, is_generator=True)
        return not was.is_generator

    @property
    def abouts_list(self) -> list[tuple[tuple[str, str], About]]:
        return [*self.calls, *self.inits]

    def _use(self, function: Any, where: str, node: Any, target: Target, skip: int) -> None:
        self.nodes[where] = node
        found = uses_of(node) if node is not None else {}
        documents = "\n".join(filter(None, (inspect.getdoc(function), ast.get_docstring(node) if node else None)))
        parameters = _parameters(function, node, skip)
        listed = self.calls if where == "call" else self.inits
        for one in parameters:
            is_open = one.kind is inspect.Parameter.VAR_POSITIONAL
            if one.kind is inspect.Parameter.VAR_KEYWORD or (is_open and (where == "init" or len(parameters) > 1)):
                continue
            rank = usual_rank(self._scope(node))
            is_host = one.name in {*target.host, *(target.init_host if where == "init" else target.made_on_host)}
            about = About(one, found.get(one.name, Uses()), documented_ranks(documents, one.name), rank, is_host)
            listed.append(((where, one.name), about))

    def _scope(self, node: Any) -> ast.AST:
        """The class of a method, else the function."""
        if node is None:
            return self.tree
        classes = [one for one in ast.walk(self.tree) if isinstance(one, ast.ClassDef) and node in one.body]
        return classes[0] if classes else node


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
    """The definition with that qualified name.

    Raises:
        LookupError: there is none, and it is not to be missing.
    """
    found = definition(tree, name.split("."))
    if found is None and not missing:
        raise LookupError(f"{name} is not in the file")
    return found


def _parameters(function: Any, node: Any, skip: int) -> list[inspect.Parameter]:
    """The parameters of a function behind the first `skip`; those in its text where a decorator hides them."""
    found = list(inspect.signature(function).parameters.values())[skip:]
    hides = all(one.kind in (one.VAR_POSITIONAL, one.VAR_KEYWORD) for one in found)
    if not (found and hides and node is not None):
        return found
    given = node.args
    # The text of a constructor begins with the object, which the signature of its class leaves out.
    named = [*given.posonlyargs, *given.args][1 if isinstance(function, type) else skip :]
    first = len(named) - len(given.defaults)
    listed = [_parameter(one, found[0].POSITIONAL_OR_KEYWORD, index < first) for index, one in enumerate(named)]
    for one, default in zip(given.kwonlyargs, given.kw_defaults):
        listed.append(_parameter(one, found[0].KEYWORD_ONLY, default is None))
    return listed or found


def _parameter(written: ast.arg, kind: Any, is_needed: bool) -> inspect.Parameter:
    return inspect.Parameter(written.arg, kind, default=inspect.Parameter.empty if is_needed else None)


def usual_rank(scope: ast.AST) -> int:
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
