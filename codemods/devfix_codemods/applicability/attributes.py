"""Attributes of `self` that a fix reads where the object may not have them yet: `AttributeError` in what it edited.

Only attributes that the class is seen to set are asked for, and only by methods that need not have run: all others are
inherited, or no business of ours.
"""

import ast
import re
from collections.abc import Iterator
from functools import cached_property
from weakref import WeakKeyDictionary

from devfix_codemods import scope
from devfix_codemods.applicability.names import parsed
from devfix_codemods.applicability.points import line_of
from devfix_codemods.edits.conflicts import place
from devfix_codemods.edits.operations import AddImport, Edit, InsertStatement
from devfix_codemods.findings import Fix
from devfix_codemods.program import Program
from devfix_codemods.project.tree import dotted, walk
from devfix_codemods.source import Span

_FIRST = frozenset({"__init__", "__post_init__", "__new__", "__setstate__"})
_DEPTH = 3


def unset_attributes(program: Program, fix: Fix) -> list[str]:
    """The attributes, as `self.name`, that the edits of `fix` read and that may not be set at their places."""
    read = [(edit, name) for edit in fix.edits for name in _of_self(edit, ast.Load)]
    read = [(edit, name) for edit, name in read if name not in _read_there(program, edit)]
    if not read:
        return []
    written = {name for edit in fix.edits for name in _of_self(edit, ast.Store)}
    return sorted({f"self.{name}" for edit, name in read if name not in written and _is_unset(program, edit, name)})


def _of_self(edit: Edit, context: type[ast.expr_context]) -> set[str]:
    return {name for tree in parsed(edit) for name in _attributes(tree, context)}


def _attributes(tree: ast.AST, context: type[ast.expr_context]) -> Iterator[str]:
    for one in walk(tree):
        match one:
            case ast.Attribute(value=ast.Name(id="self"), attr=name, ctx=ctx) if isinstance(ctx, context):
                yield name


def _registered(tree: ast.AST) -> Iterator[str]:
    """What `self.register_buffer("name", …)` and its kin set."""
    for one in walk(tree):
        match one:
            case ast.Call(
                func=ast.Attribute(
                    value=ast.Name(id="self"),
                    attr="register_buffer" | "register_parameter" | "register_module" | "add_module",
                ),
                args=[ast.Constant(value=str() as name), *_],
            ):
                yield name


def _read_there(program: Program, edit: Edit) -> set[str]:
    """What the text that an edit replaces reads already."""
    if isinstance(edit, InsertStatement | AddImport):
        return set()
    text = program.source.segment(edit.span)
    return set(re.findall(r"\bself\s*\.\s*(\w+)", text))


def _is_unset(program: Program, edit: Edit, name: str) -> bool:
    span, line = place(edit), line_of(edit)
    if span is None or line is None:
        return False
    for node in reversed(program.names.scopes):  # inner ones come last
        owner = program.names.parent(node)
        if isinstance(node, scope.Function) and isinstance(owner, ast.ClassDef) and _holds(node, span):
            known = _known.setdefault(program, {})
            found = known[owner] = known.get(owner) or _Class(program, owner)
            return found.sets(name) and not found.is_set_at(name, node, line)
    return False


def _holds(function: scope.Function, span: Span) -> bool:
    return function.body[0].lineno <= span.line <= (function.end_lineno or 0)


class _Class:
    """A class with its bases, as far as the project defines them."""

    def __init__(self, program: Program, owner: ast.ClassDef) -> None:
        self._lineage = [owner, *program.classes.ancestors(owner)]
        self._methods = program.classes.methods(owner)
        bases = program.classes.bases(owner)
        self._is_open = any(base not in _PLAIN and not base.startswith(("torch.nn.", "torch.utils.")) for base in bases)

    def sets(self, name: str) -> bool:
        """Whether some method sets the attribute, and nothing else gives it: no body of a class, no unknown base."""
        if self._is_open or name in self._methods or self._is_dynamic or name in self._given:
            return False
        return name in self._assigned

    @cached_property
    def _is_dynamic(self) -> bool:
        return any(map(_is_dynamic, self._lineage))

    @cached_property
    def _given(self) -> set[str]:
        """What the bodies of the class and its bases bind."""
        return {name for each in self._lineage for one in each.body if _is_plain(one) for name in scope.stored(one)}

    @cached_property
    def _assigned(self) -> set[str]:
        """The attributes that some method sets."""
        return {name for one in self._lineage for name in _attributes(one, ast.Store)}

    @cached_property
    def _set_first(self) -> set[str]:
        """Those that are set before any other method runs."""
        return {name for one in self._run_first() for name in (*_attributes(one, ast.Store), *_registered(one))}

    def is_set_at(self, name: str, method: scope.Function, line: int, depth: int = 0) -> bool:
        """Whether the attribute is there when a method comes to `line`: set first, read anyway, or set by callers."""
        if self._runs_before(name, method):
            return False
        uses = [one for one in walk(method) if isinstance(one, ast.Attribute) and dotted(one) == f"self.{name}"]
        elsewhere = any(name in _attributes(one, ast.Store) for one in self._run_first() if one is not method)
        if name in self._set_first and (elsewhere or not uses or method.name != "__init__"):
            return True
        if uses:
            first = min(uses, key=lambda one: (one.lineno, isinstance(one.ctx, ast.Store)))
            return isinstance(first.ctx, ast.Load) or first.lineno < line
        calls = [(one, at) for one in self._methods.values() for at in _calls(one, method.name)]
        return bool(calls) and depth < _DEPTH and all(self.is_set_at(name, one, at, depth + 1) for one, at in calls)

    def _runs_before(self, name: str, method: scope.Function) -> bool:
        """Whether the constructor asks for a method or a property before it has set the attribute."""
        constructor = scope.constructor(self._lineage[0])
        nodes = list(walk(constructor)) if constructor is not None else []
        assigned = (one for one in nodes if isinstance(one, ast.Assign | ast.AnnAssign | ast.AugAssign))
        set_at = [one.end_lineno or 0 for one in assigned if name in _attributes(one, ast.Store)]
        asked = [one.lineno for one in nodes if isinstance(one, ast.Attribute) and dotted(one) == f"self.{method.name}"]
        return bool(set_at) and bool(asked) and min(asked) <= min(set_at)

    def _run_first(self) -> list[scope.Function]:
        """Constructors and set-up methods, and the methods that these call."""
        found = [
            one
            for each in self._lineage
            for one in each.body
            if isinstance(one, scope.Function) and (one.name in _FIRST or one.name.lower().startswith(_SETS_UP))
        ]
        for one in found:
            called = (each for name, each in self._methods.items() if any(_calls(one, name)))
            found += [each for each in called if each not in found]
        return found


_known: WeakKeyDictionary[Program, dict[ast.ClassDef, _Class]] = WeakKeyDictionary()
"""What has been read of the classes of a file, for all of its fixes."""
_PLAIN = frozenset({"object", "ABC", "abc.ABC", "typing.Protocol", "typing.Generic", "Exception"})
_SETS_UP = ("setup", "set_up")


def _calls(method: scope.Function, name: str) -> Iterator[int]:
    """The lines on which a method calls `self.name(…)`, or `super().name(…)`."""
    for one in walk(method):
        match one:
            case ast.Call(func=ast.Attribute(value=ast.Name(id="self"), attr=attribute)) if attribute == name:
                yield one.lineno
            case ast.Call(func=ast.Attribute(value=ast.Call(func=ast.Name(id="super")), attr=attribute)):
                if attribute == name:
                    yield one.lineno


def _is_plain(statement: ast.stmt) -> bool:
    return not isinstance(statement, scope.Function | ast.ClassDef)


def _is_dynamic(owner: ast.ClassDef) -> bool:
    """Whether a class sets attributes whose names it does not spell out, or answers for those that are missing."""
    for one in walk(owner):
        match one:
            case ast.FunctionDef(name="__getattr__" | "__getattribute__") | ast.Name(id="setattr" | "vars"):
                return True
            case ast.Attribute(attr="__dict__" | "__setattr__"):
                return True
    return False
