"""Files of which few functions are asked for: the top level is lowered at once, the body of a function when it is read.

What an analysis wants of another file is mostly one class or one function. The parts that lowering fills are left unset
until then, so that reading a function which is lowered costs nothing more.
"""

import ast
from typing import Any

from devfix_codemods.ir.lowering import Lowering, globals_of, open_globals
from devfix_codemods.ir.nodes import Brought, Class, Definition, Function, Module, Node, nothing_brought


def lower_on_demand(tree: ast.Module, brought: Brought = nothing_brought) -> Module:
    """The SSA form of a file as `lower` gives it, but for the order in which its values are counted.

    Raises:
        RecursionError: it is nested too deeply; of a function that is read later, then.
    """
    module = _Module(tree, brought)
    top = Function("<module>", tree, module)
    module.begun.append(top)
    lowering = Lowering(top, {})
    lowering.run()
    open_globals(top)
    _defer(lowering)
    if any(True for _ in globals_of(tree)):  # functions say what the top level binds
        module.complete()
    return module


def _defer(outer: Lowering) -> None:
    """Leave the functions inside of one that is lowered for later, except those that rebind what it binds."""
    for inner in outer.inner:
        assert isinstance(inner.function, _Function)
        inner.function.wait(inner)
        if inner.sites.are_rebinding:
            inner.function.lower()


class _Function(Function):
    """A function that is lowered when something is read that its body says."""

    __slots__ = ("_waiting",)
    _waiting: Lowering | None

    def wait(self, lowering: Lowering) -> None:
        self._waiting = lowering
        for part in _OF_BODY:
            delattr(self, part)

    def __getattr__(self, name: str) -> Any:
        if name not in _OF_BODY:
            raise AttributeError(name)
        self.lower()
        return getattr(self, name)

    def lower(self) -> None:
        """Have the body lowered, if it is not yet."""
        lowering = self.give_up()
        if lowering is not None:
            lowering.run()
            _defer(lowering)

    def give_up(self) -> Lowering | None:
        """What would lower the body; from now on that is empty."""
        lowering, self._waiting = self._waiting, None
        if lowering is not None:
            for part, value in _empty_body().items():
                setattr(self, part, value)
        return lowering


def _empty_body() -> dict[str, object]:
    """The parts of a function that the lowering of its body fills, empty."""
    return {
        "parameters": {},
        "nodes": [],
        "returns": [],
        "exit": None,
        "stores": [],
        "finals": {},
        "before": {},
        "after": {},
        "guards": {},
        "choices": {},
        "yields": False,
        "self_node": None,
    }


_OF_BODY = tuple(_empty_body())


class _Class(Class):
    """A class whose methods are lowered when it is asked which attributes they store."""

    __slots__ = ("_kept",)
    _kept: set[str]

    def wait(self) -> None:
        self._kept = self.stored
        del self.stored

    def keeps(self, name: str) -> None:
        self._kept.add(name)

    def __getattr__(self, name: str) -> Any:
        if name != "stored":
            raise AttributeError(name)
        self.stored = self._kept
        assert isinstance(self.home.module, _Module)
        for function in self.home.module.begun:
            if function.owner is self and isinstance(function, _Function):
                function.lower()
        return self.stored


class _Module(Module):
    """A file that has all of its functions lowered when it is asked for all, or for all classes."""

    __slots__ = ("begun", "begun_classes")
    begun: list[Function]
    begun_classes: list[Class]

    def __init__(self, tree: ast.Module, brought: Brought = nothing_brought) -> None:
        super().__init__(tree, brought)
        self.begun, self.begun_classes = self.functions, self.classes
        del self.functions, self.classes

    @property
    def top(self) -> Function:
        return self.begun[0]

    def new_function(self, name: str, syntax: Definition, parent: Function, owner: Class | None) -> Function:
        made = _Function(name, syntax, self, parent, owner)
        made._waiting = None
        self.begun.append(made)
        return made

    def new_class(self, name: str, syntax: ast.ClassDef, bases: tuple[Node, ...], home: Function) -> Class:
        made = _Class(name, syntax, bases, home)
        made.wait()
        self.begun_classes.append(made)
        return made

    def __getattr__(self, name: str) -> Any:
        if name not in {"functions", "classes"}:
            raise AttributeError(name)
        self.complete()
        return getattr(self, name)

    def complete(self) -> None:
        """Have all functions lowered."""
        for function in self.begun:  # grows by the functions inside of each
            if isinstance(function, _Function):
                function.lower()
        self.functions, self.classes = self.begun, self.begun_classes

    def give_up(self) -> None:
        for function in self.begun:
            if isinstance(function, _Function):
                function.give_up()
        self.functions, self.classes = self.begun, self.begun_classes
