"""What calls in other files give the parameters of a file's functions: the values there, followed to what makes them.

Only of functions that do with a parameter what depends on its sort: they go through it, call it, or call its methods.
"""

from collections.abc import Iterator, Mapping
from itertools import islice

from devfix_codemods.ir import Class, Function, Module, Node, Op
from devfix_codemods.ir.keys import name
from devfix_codemods.placement.arguments import is_none
from devfix_codemods.placement.calls import bound, function_of, method
from devfix_codemods.placement.imported_definitions import ImportedDefinitions
from devfix_codemods.placement.origins import Origins
from devfix_codemods.placement.telling_uses import TellingUses

Given = Mapping[Node, list[Node]]
"""By parameter: what is given, in the files that give it."""

MOST_CALLS = 40
"""What is called more often serves too many ends for all of them to agree."""


def given_by_callers(module: Module, imported: ImportedDefinitions) -> Given:
    """What the files that import this one give the parameters of its functions."""
    found: dict[Node, list[Node]] = {}
    named = [one for one in module.functions[1:] if imported.is_spoken_of(_called(one))]
    uses = TellingUses(module) if named else None
    callers = _Callers(imported)
    for function in named:
        if uses is None or not uses.any_tells(function):
            continue
        calls = list(islice(callers.calls_of(function), MOST_CALLS + 1))
        for call in calls if len(calls) <= MOST_CALLS else ():
            for argument, parameter in bound(call, function, _first(call)):
                made = [one for one in callers.origins.made(argument) if not is_none(one)]
                found.setdefault(parameter, []).extend(made)
    return found


def objects_given(module: Module, given: Given, imported: ImportedDefinitions) -> dict[Node, Class]:
    """The parameters that get objects of one class of this file everywhere, and which."""
    found: dict[Node, Class] = {}
    for parameter, values in given.items():
        classes = {imported.class_of(one.args[0]) if one.op is Op.CALL else None for one in values}
        only = classes.pop() if len(classes) == 1 else None
        if only in module.classes and only is not None:
            found[parameter] = only
    return found


def _called(function: Function) -> str:
    """The name by which others call a function."""
    owner = function.owner
    return owner.name if owner is not None and function.name == "__init__" else function.name


def _first(call: Node) -> int:
    """Which argument of a call is the first that the function gets: the second of `partial(fit, net)`."""
    return 2 if len(call.args) > 2 and name(call.args[0]) == "functools.partial" else 1


class _Callers:
    """The calls in the files that import one."""

    def __init__(self, imported: ImportedDefinitions) -> None:
        self._imported = imported
        self._given: dict[Node, list[Node]] = {}
        self.origins = Origins(self._given, imported)
        self._named: dict[Module, dict[str, list[Node]]] = {}

    def calls_of(self, function: Function) -> Iterator[Node]:
        """The calls in other files that run a function, or the class whose constructor it is."""
        called = _called(function)
        for other in self._imported.importing(called):
            yield from (one for one in self._calls_in(other).get(called, ()) if self._runs(one, function))

    def _calls_in(self, other: Module) -> Mapping[str, list[Node]]:
        """The calls in a file, by the last part of what they call."""
        found = self._named.get(other)
        if found is None:
            found = self._named[other] = {}
            for call in other.of(Op.CALL):
                callee = call.args[_first(call) - 1]
                text = name(callee) or str(callee.extra)
                found.setdefault(text.rpartition(".")[2], []).append(call)
                called = function_of(callee)
                for argument, parameter in bound(call, called, _first(call)) if called is not None else ():
                    self._given.setdefault(parameter, []).append(argument)
        return found

    def _runs(self, call: Node, function: Function) -> bool:
        callee = call.args[_first(call) - 1]
        found = self._imported.definition(callee)
        if isinstance(found, Class):
            return method(found, "__init__") is function
        if found is None and callee.op is Op.ATTR and function.owner is not None:
            made = [one for one in self.origins.made(callee.args[0]) if one.op is Op.CALL]
            owners = filter(None, (self._imported.class_of(one.args[0]) for one in made))
            return any(method(one, function.name) is function for one in owners)
        return found is function
