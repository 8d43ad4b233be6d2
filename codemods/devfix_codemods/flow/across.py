"""Across files: what imported names are, and calls into other files of the project."""

import ast

from devfix_codemods.flow.evidence import dotted
from devfix_codemods.flow.functions import Functions
from devfix_codemods.flow.machine import DEPTH, Arguments
from devfix_codemods.flow.places import HOST, UNKNOWN, may_be_device
from devfix_codemods.flow.project import Entry, Found
from devfix_codemods.flow.records import replace
from devfix_codemods.flow.state import State
from devfix_codemods.flow.units import Unit
from devfix_codemods.flow.values import Birth, Kind, Origin, Value

STEPS_ABROAD = 15_000
"""Expressions evaluated in other files on behalf of one, before calls into them are no longer followed."""

MOST_ENTRIES = 200
MOST_OF_ONE = 3
"""How many calls into other files, and of one function there, are remembered for those files."""

_NESTING = 4
"""How deep the parts of a value that another file gave are told apart."""


class Across(Functions):
    """Follows imports."""

    def imported(self, node: ast.expr, state: State) -> Value | None:
        """The class, function or value of another file that a name or dotted expression is; None where it is none."""
        if self.project is None:
            return None
        if node not in self._imports:
            name = self.names.imported(node)
            self._imports[node] = self.project.lookup(self.unit, name) if name is not None else None
        found = self._imports[node]
        if found is None:
            return None
        if found.definition is None:
            return self._variable(found, node, state)
        kind = Kind.CLASS if isinstance(found.definition, ast.ClassDef) else Kind.FUNCTION
        return Value(kind, definition=found.definition)

    def _variable(self, found: Found, node: ast.expr, state: State) -> Value | None:
        """What the top level of the other file gives a name. Numbers and flags of a configuration may be edited."""
        self._load(found.unit, state)
        value = self.enter(found.unit).env.get(found.name)
        if value is None or value.kind in {Kind.UNKNOWN, Kind.API, Kind.NONE}:
            return None
        if value.denotes != UNKNOWN and (text := dotted(node)) is not None:
            self.imported_devices[text] = value.denotes
        const = value.const if isinstance(value.const, str) else None
        return replace(self._of_here(value, node, frozenset({Birth.MOVE})), const=const)

    def follow_abroad(
        self,
        home: Unit,
        definition: ast.AST,
        node: ast.Call,
        arguments: Arguments,
        state: State,
        owner: Value | None,
    ) -> Value:
        """Follow a call into another file. What it gives back was born, for the caller, at the call."""
        tired = definition in self.calls or len(self.calls) >= DEPTH or self.steps_abroad > STEPS_ABROAD
        if tired or not (
            self._is_worthwhile(home, definition, arguments, owner) or _reads_host_tensor(definition, owner, state)
        ):
            return self.unknown_call(node, arguments, state)
        self._load(home, state)
        before, outermost = self.steps, self.unit is self.root
        with self.at(home):
            self._note_entry(home, definition, arguments, state, owner)
            result = self.follow(definition, node, arguments, state, owner)
        if outermost:
            self.steps_abroad += self.steps - before
        return self._of_here(result, node, frozenset({Birth.MODULE, Birth.MOVE}))

    def _note_entry(
        self, home: Unit, definition: ast.AST, arguments: Arguments, state: State, owner: Value | None
    ) -> None:
        """Remember with which values the functions of another file are called: they tell it of its callers."""
        if not isinstance(definition, (ast.FunctionDef, ast.AsyncFunctionDef)) or len(self.entries) >= MOST_ENTRIES:
            return
        env = self.bind(definition, arguments, state, owner)
        known = [one for one in self.entries if one.definition is definition]
        if len(known) < MOST_OF_ONE and all(one.env != env for one in known):
            owned = home.owners.get(definition)
            name = owned.name if owned is not None else None
            self.entries.append(Entry(home.path, name, definition, env, dict(state.objects)))

    def _is_worthwhile(self, home: Unit, definition: ast.AST, arguments: Arguments, owner: Value | None) -> bool:
        """Whether the call may place something, or is given something whose place is known."""
        made_here = owner is not None and owner.kind is Kind.INSTANCE
        if made_here or any(_has_place(value) for _, value in arguments.all()):
            return True
        if not isinstance(definition, (ast.FunctionDef, ast.AsyncFunctionDef)):
            return False
        return definition.name == "__init__" or home.interest.in_function(definition)

    def _load(self, unit: Unit, state: State) -> None:
        """Give the code of `unit` the names and objects that its top level makes."""
        if unit is self.root or self.project is None:
            return
        known = self.project.state(unit, self.top_level)
        if known is None:
            return
        frame = self.enter(unit)
        if not frame.env:
            frame.env = known.env
        for token, held in known.objects.items():
            state.objects.setdefault(token, held)

    def _of_here(self, value: Value, node: ast.AST, births: frozenset[Birth], depth: int = 0) -> Value:
        """`value` as this file sees it: born at `node`, in one of the ways of `births` or by a call.

        What comes in a container is not what the call gives, and so not built by it.
        """
        origin, batch = value.origin, value.batch
        if value.kind is Kind.SEQUENCE and value.element is not None and self._hands_batches_on(value.element):
            return Value(Kind.LOADER if value.element.place == HOST else Kind.UNKNOWN)
        if origin is not None and not self.is_here(origin.node):
            is_own = origin.birth in births and (depth == 0 or origin.birth is not Birth.MODULE)
            origin = Origin(origin.birth if is_own else Birth.CALL, node)
        if batch is not None and not self.is_here(batch.statement):
            batch = None
        if depth > _NESTING:
            return Value(value.kind, value.place, origin, computed=value.computed)
        sources = value.sources if all(map(self.is_here, value.sources)) else ()
        items, element = value.items, value.element
        if items is not None:
            items = tuple((key, self._of_here(one, node, births, depth + 1)) for key, one in items)
        if element is not None:
            element = self._of_here(element, node, births, depth + 1)
        return replace(value, origin=origin, batch=batch, items=items, element=element, sources=sources, spelled=None)

    def _hands_batches_on(self, yielded: Value) -> bool:
        """Whether a generator of another file yields a loader's batches as they come: loops over it get them anew."""
        whole = yielded.batch is not None and not yielded.batch.path and not self.is_here(yielded.batch.statement)
        return whole and not may_be_device(yielded.place)

    def top_level(self, unit: Unit) -> State | None:
        raise NotImplementedError


def _reads_host_tensor(definition: ast.AST, owner: Value | None, state: State) -> bool:
    """Whether a method reads an attribute of its object that holds a tensor which a factory left on the host."""
    held = state.objects.get(owner.token) if owner is not None and owner.token is not None else None
    if held is None:
        return False
    kept = {
        name for name, one in held.attributes.items() if one.kind is Kind.TENSOR and one.place == HOST and one.sources
    }
    return bool(kept) and any(isinstance(one, ast.Attribute) and one.attr in kept for one in ast.walk(definition))


def _has_place(value: Value) -> bool:
    return value.batch is not None or value.place == HOST or may_be_device(value.place) or value.kind in _PLACED


_PLACED = frozenset({Kind.MODULE, Kind.LOADER, Kind.DATASET, Kind.BATCH, Kind.ENCODING})
