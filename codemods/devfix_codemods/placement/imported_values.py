"""What other files give one: results of their functions, what their objects keep, objects that they make themselves.

Only of values that are asked what sort of thing they are.
"""

from collections.abc import Iterator
from functools import cached_property

from devfix_codemods.ir import Class, Function, Module, Node, Op
from devfix_codemods.placement.arguments import is_none
from devfix_codemods.placement.calls import bound, method
from devfix_codemods.placement.imported_definitions import ImportedDefinitions
from devfix_codemods.placement.origins import Origins
from devfix_codemods.placement.telling_uses import TellingUses

Made = Iterator[tuple[Node, list[Node]]]
"""A value of this file, and what other files make it by."""


def imported_values(module: Module, imported: ImportedDefinitions) -> dict[Node, list[Node]]:
    """By value: all that it may be made by, where other files make it."""
    others = _Others(module, imported)
    found = {node: made for node, made in others.all() if made and not any(map(is_none, made))}
    return {node: made for node, made in found.items() if any(one.function.module is not module for one in made)}


class _Others:
    def __init__(self, module: Module, imported: ImportedDefinitions) -> None:
        self._module = module
        self._imported = imported

    @cached_property
    def _uses(self) -> TellingUses:
        return TellingUses(self._module)

    def all(self) -> Made:
        for call in self._module.of(Op.CALL):
            called = self._imported.definition(call.args[0])
            if isinstance(called, Function) and called.module is not self._module:
                yield from self._result(call, call, called)
            elif isinstance(called, Class) and called.home.module is not self._module:
                yield from self._kept(call, called)
        for node in (*self._module.of(Op.REF), *self._module.of(Op.ATTR)):
            asked = self._imported.is_bound(node) and self._uses.tells(node)
            made = self._imported.value(node) if asked else None
            if made is not None:
                yield node, Origins({}, self._imported).made(made)

    def _result(self, result: Node, call: Node, called: Function) -> Made:
        """What a function returns, as one or unpacked."""
        if called.yields:
            return
        given: dict[Node, list[Node]] = {}
        for argument, parameter in bound(call, called):
            given.setdefault(parameter, []).append(argument)
        origins = Origins(given, self._imported)
        made = [one for value, _ in called.returns for one in origins.made(value)]
        if self._uses.tells(result):
            yield result, made
        for part in self._module.users.get(result, ()):
            if part.op is Op.ITEM and len(part.args) == 1 and self._uses.tells(part):
                yield part, [one for whole in made for one in origins.parts(whole, part)]

    def _kept(self, call: Node, made: Class) -> Made:
        """What an object of a class keeps, and what its methods return."""
        copies = self._uses.copies(call)
        for one in copies:
            for read in self._module.users.get(one, ()):
                if read.op is not Op.ATTR or self._is_set(read.extra, copies):
                    continue
                run = method(made, str(read.extra))
                for user in self._module.users.get(read, ()) if run is not None else ():
                    if run is not None and user.op is Op.CALL and user.args[0] is read:
                        yield from self._result(user, user, run)
                if run is None and self._uses.tells(read):
                    origins = Origins({}, self._imported)
                    stores = (store for each in made.lineage() for store in each.own_stores(str(read.extra)))
                    yield read, [each for store in stores for each in origins.made(store.value)]

    def _is_set(self, attribute: object, objects: list[Node]) -> bool:
        """Whether this file sets an attribute of an object."""
        return any(
            store.is_attribute and store.key == attribute and store.base in objects for store in self._module.stores
        )
