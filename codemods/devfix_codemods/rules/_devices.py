"""Which expressions surely name a device at a statement, by syntax alone.

Surely: bound on every path that leads there, and by each of its bindings a device (a `torch.device`, or a string that
names one) that is not just the host. What says so: annotations, literals, `.device`, names and attributes that are
called a device. Nothing here asks for the flow.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from devfix_codemods import scope
from devfix_codemods.program import Program
from devfix_codemods.project.bindings import initializers
from devfix_codemods.project.tree import dotted
from devfix_codemods.rules import _amp_devices
from devfix_codemods.rules._called import home_of
from devfix_codemods.rules._device_values import EMPTY, DeviceValues, Verdict, sounds_like_device

_CONFIGURATION = re.compile(
    r"args?|opts?|options|cfg|conf|configs?|hparams|hps?|params?|flags|settings?|accelerator|fabric|trainer|strategy|ctx"
    r"|context|env|run_opts|(?:cli|script|training|train|model|data)_args"
)
_DEVICE_BASES = (
    "LightningModule",
    "PreTrainedModel",
    "ModelMixin",
    "DiffusionPipeline",
    "LightningLite",
    "LightningFlow",
)
"""Classes with a property `device`, by the last part of their names: Lightning, transformers, diffusers."""


@dataclass(frozen=True, slots=True)
class DeviceExpression:
    """`text` names a device; as a `torch.device` for certain, or maybe as a string.

    `optional`: it may be None. `unset`: it is so until the code itself sets it, and not because a caller leaves it out.
    """

    text: str
    is_torch_device: bool
    optional: bool = False
    unset: bool = False


class Devices:
    """The device expressions of one file. A rule makes one when it has a match."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._names = program.names
        self._kinds = _amp_devices.Devices(program)
        self.bindings = program.bindings
        self._values = DeviceValues(program)

    def at(self, statement: ast.stmt) -> tuple[DeviceExpression, ...]:
        """What names a device when `statement` starts, best first: names, then `self.device`, then `args.device`."""
        found = [*self._plain(statement), *self._of_self(statement), *self._of_objects(statement)]
        return tuple({one.text: one for one in reversed(found)}.values())[::-1]

    # Names

    def _plain(self, statement: ast.stmt) -> Iterator[DeviceExpression]:
        bound = scope.bound_at(self._program, statement)
        found = []
        for name in bound:
            owner = self.bindings.owner(name, statement)
            verdicts = self._values.verdicts(owner, name, statement) if owner is not None else frozenset[Verdict]()
            if owner is not None and _is_device(verdicts):
                far = owner is not self.bindings.scope(statement)
                found.append(((far, name.strip("_").lower() != "device", len(name), name), verdicts))
        for (*_, name), verdicts in sorted(found, key=lambda one: one[0]):
            yield self._expression(name, statement, verdicts)

    def _expression(self, text: str, at: ast.stmt, verdicts: frozenset[Verdict]) -> DeviceExpression:
        certain = self._kinds.named(text, at) is _amp_devices.Kind.DEVICE
        return DeviceExpression(text, certain, not verdicts.isdisjoint(EMPTY), Verdict.NONE in verdicts)

    # Attributes of `self`

    def _of_self(self, statement: ast.stmt) -> Iterator[DeviceExpression]:
        function, owner = scope.function_around(self._program, statement), scope.class_around(self._program, statement)
        if function is None or owner is None or self._names.parent(function) is not owner or not _takes_self(function):
            return
        for name in ("device", "_device", "torch_device"):
            verdicts = self._attribute(owner, name, statement, function)
            if _is_device(verdicts):
                yield self._expression(f"self.{name}", statement, verdicts)

    def _attribute(
        self, owner: ast.ClassDef, name: str, statement: ast.stmt, function: scope.Function
    ) -> frozenset[Verdict]:
        """What `self.name` gives in a method; empty where it may not be set yet."""
        key = f"self.{name}"
        found = [one for each in self._lineage(owner) for one in self.bindings.of_class(each, key)]
        found += [one for each in self._lineage(owner) for one in self.bindings.of(each, name)]
        verdicts = frozenset[Verdict]().union(*(self._values.given(one, key) for one in found))
        if found:
            own = self.bindings.of(function, key)
            here = any(self.bindings.dominates(one, statement) for one in own)
            if here:  # what the constructor left there is gone
                own = self.bindings.reaching(own, statement)
                verdicts -= EMPTY.difference(*(self._values.given(one, key) for one in own))
            return verdicts if here or (function.name not in _BEFORE_ALL and self._is_set(owner, name)) else frozenset()
        late = function.name not in _BEFORE_ALL or self._after_super(function, statement)
        inherited = self._has_property(owner, name) or self._inherits(owner, key)
        return self._left_by_bases(owner, name) | {Verdict.DEVICE} if late and inherited else frozenset()

    def _left_by_bases(self, owner: ast.ClassDef, name: str) -> frozenset[Verdict]:
        """None, where a base of another file leaves the attribute so, or a class what its property gives."""
        found: set[Verdict] = set()
        for each in (owner, *self._program.classes.ancestors(owner)):
            home = home_of(self._program, each)
            if home is None:
                continue
            key, values = f"self.{_kept_by(each, name)}", DeviceValues(home)
            given = [*home.bindings.of_class(each, key), *home.bindings.of(each, key.removeprefix("self."))]
            found |= {verdict for one in given for verdict in values.given(one, key)}
        return EMPTY & found

    def _lineage(self, owner: ast.ClassDef) -> list[ast.ClassDef]:
        """A class and those of its bases that stand in the same file."""
        local = {one.name: one for one in self._names.classes}
        found = [owner]
        for one in found:
            parents = [local.get(base.id) for base in one.bases if isinstance(base, ast.Name)]
            found += [parent for parent in parents if parent is not None and parent not in found]
        return found

    def _is_set(self, owner: ast.ClassDef, name: str) -> bool:
        """Whether every object has the attribute: the class, or what runs first in it, binds it on every path."""
        for each in self._lineage(owner):
            if self.bindings.of(each, name) or any(_sets(one.body, f"self.{name}") for one in initializers(each)):
                return True
        return False

    def _has_property(self, owner: ast.ClassDef, name: str) -> bool:
        methods = (one for each in self._lineage(owner) for one in each.body if isinstance(one, scope.Function))
        return any(
            one.name == name and any("property" in (dotted(each) or "") for each in one.decorator_list)
            for one in methods
        )

    def _inherits(self, owner: ast.ClassDef, key: str) -> bool:
        """From a class known to have it; or from one of another file, where that or the class itself uses it so."""
        bases = self._program.classes.named_bases(owner)
        if key == "self.device" and any(base.endswith(_DEVICE_BASES) for base in bases):
            return True
        classes = self._program.classes
        known = (one for one in classes.ancestors(owner) if one not in self._names.classes)
        if any(key in classes.attributes(each) for each in known):
            return True
        unknown = classes.bases(owner)
        foreign = any(base not in _PLAIN_BASES and not base.startswith("torch.") for base in unknown)
        return foreign and any(
            scope.class_around(self._program, one) is owner for one in self._values.uses.get(key, ())
        )

    def _after_super(self, function: scope.Function, statement: ast.stmt) -> bool:
        return any(
            isinstance(one, ast.Expr) and "super().__init__" in ast.unparse(one) and one.lineno < statement.lineno
            for one in function.body
        )

    # Attributes of other objects

    def _of_objects(self, statement: ast.stmt) -> Iterator[DeviceExpression]:
        """`args.device`, `self.args.device`: used as a device elsewhere in the same function, file or class."""
        found: list[tuple[int, int, str]] = []
        for text, uses in self._values.uses.items():
            parts = text.split(".")
            if (
                len(parts) > 1
                and sounds_like_device(text)
                and (sounds_like_options(parts[-2]) or self._is_of_package(uses[0]))
                and text != f"self.{parts[-1]}"
            ):
                near = [one for one in uses if self._shares(parts[0], one, statement)]
                if near and self._attribute_is_bound(text, statement, near):
                    found.append((len(parts), min(abs(one.lineno - statement.lineno) for one in near), text))
        yield from (DeviceExpression(text, False) for *_, text in sorted(found))

    def _is_of_package(self, use: ast.expr) -> bool:
        """`package.device`, which an imported package keeps for all of its code."""
        name = self._names.qualified(use)
        return name is not None and not name.startswith("torch.") and name.count(".") == 1

    def _shares(self, root: str, use: ast.expr, statement: ast.stmt) -> bool:
        """Whether `root` is one and the same at both, and surely bound at `statement`."""
        if root == "self":
            owner = scope.class_around(self._program, statement)
            return owner is not None and scope.class_around(self._program, use) is owner
        owner_of = self.bindings.owner(root, use)
        same = owner_of is not None and owner_of is self.bindings.owner(root, statement)
        return same and root in scope.bound_at(self._program, statement)

    def _attribute_is_bound(self, text: str, statement: ast.stmt, uses: list[ast.expr]) -> bool:
        """Not above the statement that sets it; in a constructor, below an earlier use."""
        function = scope.function_around(self._program, statement)
        here = self.bindings.scope(statement)
        own = self.bindings.of(here, text)
        if own and not any(self.bindings.dominates(one, statement) for one in own):
            return False
        if text.startswith("self."):
            if function is None or not _takes_self(function):
                return False
            above = any(self.bindings.scope(one) is here and one.lineno < statement.lineno for one in uses)
            return function.name not in _BEFORE_ALL or above or bool(own)
        return True


_BEFORE_ALL = frozenset({"__init__", "__post_init__", "__new__"})
_PLAIN_BASES = frozenset({"object", "ABC", "Protocol", "Generic", "NamedTuple", "dict", "list", "Exception", "abc.ABC"})


def sounds_like_options(name: str) -> bool:
    """Whether a name is what options are called: `args`, `cfg`."""
    return _CONFIGURATION.fullmatch(name.lower()) is not None


def _is_device(verdicts: frozenset[Verdict]) -> bool:
    return Verdict.DEVICE in verdicts and Verdict.OTHER not in verdicts


def _kept_by(owner: ast.ClassDef, name: str) -> str:
    """The attribute that a property just gives: `return self._device`; `name` itself where there is none."""
    for one in owner.body:
        if isinstance(one, ast.FunctionDef) and one.name == name:
            match [each for each in one.body if not isinstance(each, ast.Expr)]:
                case [ast.Return(value=ast.Attribute(value=ast.Name(id="self"), attr=kept))]:
                    return kept
    return name


def _takes_self(function: scope.Function) -> bool:
    return scope.parameters(function)[:1] == ["self"]


def _sets(block: list[ast.stmt], key: str) -> bool:
    """Whether every path through `block` binds `key`, but for those that leave it early."""
    for one in block:
        match one:
            case ast.Assign(targets=targets) if any(dotted(part) == key for each in targets for part in _parts(each)):
                return True
            case ast.AnnAssign(target=target, value=ast.expr()) if dotted(target) == key:
                return True
            case ast.If(body=body, orelse=orelse) if _sets(body, key) and (_sets(orelse, key) or scope.raises(orelse)):
                return True
            case ast.If(body=body, orelse=orelse) if scope.raises(body) and _sets(orelse, key):
                return True
            case ast.With(body=body) | ast.Try(body=body) if _sets(body, key):
                return True
    return False


def _parts(target: ast.expr) -> list[ast.expr]:
    return target.elts if isinstance(target, ast.Tuple) else [target]
