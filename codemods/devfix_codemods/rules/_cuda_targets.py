"""What a value that is taken to CUDA by name could follow instead, and who places values in its file."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from devfix_codemods import scope
from devfix_codemods.findings import Safety
from devfix_codemods.flow import tables
from devfix_codemods.flow.evidence import dotted
from devfix_codemods.flow.places import Device
from devfix_codemods.program import Program
from devfix_codemods.rules._cuda_kept import ADVICE, is_told_only
from devfix_codemods.rules._cuda_sites import Site
from devfix_codemods.rules._devices import Devices
from devfix_codemods.rules._following import device_at
from devfix_codemods.rules._given_models import is_given_model
from devfix_codemods.rules._mixed_parameters import may_have_no_device
from devfix_codemods.rules._optional import may_be_none
from devfix_codemods.rules._other_runtimes import may_be_session
from devfix_codemods.rules._taken_back import came_from
from devfix_codemods.rules._tensor_words import sounds_like_model


@dataclass(frozen=True, slots=True)
class Target:
    """The device expression to write in the place of CUDA, and how safe that is."""

    device: str
    safety: Safety


class Managed:
    """Who places values in a file, and what to tell code that works against them."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._classes = program.classes
        self.is_file = program.unit.traits.managed

    def advice(self, site: Site) -> str | None:
        """What to do by hand where a framework places the value; None where none does."""
        owner = scope.class_around(self._program, site.call)
        if owner is not None and self._classes.is_managed(owner):
            return "its trainer places this class and its batches: drop the move, or follow `self.device` or a tensor"
        name = dotted(site.receiver) if site.receiver is not None else None
        if name is not None and name in self._prepared(site):
            return f"`{name}` is where `prepare`, `device_map` or an offload puts it: drop the move"
        return ADVICE if is_told_only(self._program, site) else None

    def _prepared(self, site: Site) -> set[str]:
        """Names that something which places its values has given, above the site in the same function."""
        around = scope.function_around(self._program, site.call) or self._program.tree
        found: set[str] = set()
        for node in ast.walk(around):
            if isinstance(node, ast.Attribute) and node.attr in _OFFLOADS:
                found |= set(_names(node.value))
            elif isinstance(node, ast.Assign) and node.lineno < site.call.lineno and isinstance(node.value, ast.Call):
                by_name = isinstance(node.value.func, ast.Attribute) and node.value.func.attr == "prepare"
                if (by_name and self.is_file) or _has_device_map(node.value):
                    found |= {text for one in node.targets for text in _names(one)}
        return found


def _has_device_map(call: ast.Call) -> bool:
    """`device_map="auto"` and its like, which may split a model."""
    return any(
        one.arg == "device_map" and isinstance(one.value, ast.Constant) and one.value.value in _SPLITS
        for one in call.keywords
    )


_OFFLOADS = frozenset({"enable_model_cpu_offload", "enable_sequential_cpu_offload"})
_SPLITS = frozenset({"auto", "balanced", "balanced_low_0", "sequential"})


def _names(target: ast.expr) -> Iterator[str]:
    for one in target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]:
        if (text := dotted(one)) is not None:
            yield text


class Targets:
    """What each site of one file could follow."""

    def __init__(self, program: Program, found: list[Site]) -> None:
        self._program = program
        self._sites = found
        self._devices = Devices(program)
        self._undone = program.undoing(frozenset(one.call for one in found))
        self._is_managed_file = program.unit.traits.managed

    def of(self, site: Site) -> Target | None:
        """The tensor it meets, else a device in scope, else a tensor or a model that the function is given.

        What was computed on the host of such a tensor goes back to where that is.
        """
        if site.call in self._met:
            return Target(self._met[site.call], Safety.SAFE)
        statement = self._program.names.statement(site.call)
        if self._is_communicated(site, statement):
            return None
        text = self.chosen(statement) or self._given(site, statement) or self._of_first(site)
        text = text or self._taken_back(site) or self._of_own_models.get(site.call)
        return Target(text, Safety.UNSAFE) if text is not None else None

    def _taken_back(self, site: Site) -> str | None:
        name = came_from(self._program, site)
        return f"{name}.device" if name is not None else None

    @cached_property
    def _met(self) -> dict[ast.Call, str]:
        """For each value that would stay on the host without its site: the device of what it meets."""
        undone = frozenset(one.call for one in self._sites)
        facts = self._undone.facts
        found: dict[ast.Call, str] = {}
        for meeting in (*facts.followings, *facts.meetings):
            if isinstance(meeting.anchor.place, Device):
                continue
            for call in undone.intersection(meeting.misplaced.value.sources):
                text = device_at(self._undone, meeting, call) if call not in found else None
                if text is not None and not self._moves_on_the_way(text, call, meeting.node):
                    found[call] = text
        return found

    @cached_property
    def _of_own_models(self) -> dict[ast.Call, str]:
        """For each value that a model gets which the constructor was given: the device of its parameters."""
        undone = frozenset(one.call for one in self._sites)
        found: dict[ast.Call, str] = {}
        for meeting in self._undone.facts.followings:
            calls = undone.intersection(meeting.misplaced.value.sources)
            if calls and meeting.anchor.role == "module" and is_given_model(self._program, meeting.anchor.node):
                found |= dict.fromkeys(calls, f"next({dotted(meeting.anchor.node)}.parameters()).device")
        return found

    def _is_communicated(self, site: Site, statement: ast.stmt) -> bool:
        """Whether other processes get the value, which NCCL refuses to take from the host."""
        function = scope.function_around(self._program, statement) or self._program.tree
        made = _made_from(site, statement)
        return any(
            (self._program.names.qualified(call.func) or "").startswith("torch.distributed.")
            and any(_is_value(node, site, made) for one in scope.given_to(call) for node in ast.walk(one))
            for call in ast.walk(function)
            if isinstance(call, ast.Call)
        )

    def _moves_on_the_way(self, text: str, call: ast.Call, met: ast.AST) -> bool:
        """Whether the tensor that tells the device goes to CUDA itself before they meet: it may be on the host."""
        function = scope.function_around(self._program, call)
        root = text.removesuffix(".device")
        moves = [
            one.call
            for one in self._sites
            if one.receiver is not None
            and dotted(one.receiver) == root
            and one.call.lineno >= call.lineno
            and scope.function_around(self._program, one.call) is function
        ]
        outside = scope.function_around(self._program, met) is not function
        return any(outside or one.lineno <= getattr(met, "lineno", one.lineno) for one in moves)

    # A device in scope

    def chosen(self, statement: ast.stmt) -> str | None:
        """One that is more than another way to spell CUDA out."""
        function = scope.function_around(self._program, statement)
        for one in self._devices.at(statement):
            settled = not one.optional or self._moves_to(one.text, function)
            if settled and not self._is_constant(one.text):
                return one.text
        return None

    def _moves_to(self, text: str, function: scope.Function | None) -> bool:
        """Whether the function itself moves something to a device that may be None: then it is not."""
        return function is not None and any(
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == "to"
            and [dotted(one) for one in node.args] == [text]
            for node in ast.walk(function)
        )

    def _is_constant(self, text: str) -> bool:
        """Whether the file gives a name nothing but literals."""
        names = {text, text.removeprefix("self.")}
        values = [
            node.value
            for node in ast.walk(self._program.tree)
            if isinstance(node, ast.Assign) and any(dotted(one) in names for one in node.targets)
        ]
        return bool(values) and all(_is_literal(one) for one in values)

    # A tensor or a model at hand

    def _given(self, site: Site, statement: ast.stmt) -> str | None:
        """The device of a parameter that goes with the value, and that the function does not move itself."""
        function = scope.function_around(self._program, statement)
        if function is None or self._is_managed_file or function.name in _FOR_DATA or "collate" in function.name:
            return None
        made = _made_from(site, statement)
        beside = {
            self._met[one.call]
            for one in self._sites
            if one.call in self._met and scope.function_around(self._program, one.call) is function
        }
        excluded = _moved_in(function) | _counted_in(function) | _roots(site)
        for text in self._candidates(site, statement, function):
            root = text.removeprefix("next(").partition(".")[0]
            if root in excluded or may_be_none(self._program, root, site.call):
                continue
            if text.startswith("next("):
                if _feeds(function, site, made, root) and not may_be_session(self._program, root, site.call):
                    return text
            elif may_have_no_device(self._program, root, site.call):
                continue
            elif function.name == "forward" or text in beside or _goes_with(function, site, made, root):
                return text
        return None

    def _of_first(self, site: Site) -> str | None:
        """`[norm(g).cuda() for g in grads]`, which are stacked: all go where the first one is."""
        function = scope.function_around(self._program, site.call)
        inner = self._program.names.parent(site.call)
        match inner:
            case ast.ListComp(
                elt=element, generators=[ast.comprehension(target=ast.Name(id=each), iter=ast.Name(id=name))]
            ) if element is site.call and site.receiver is not None and function is not None:
                joined = self._program.names.parent(inner)
                api = self._program.names.qualified(joined.func) if isinstance(joined, ast.Call) else None
                bound = [
                    one.value
                    for one in ast.walk(function)
                    if isinstance(one, ast.Assign) and any(dotted(target) == name for target in one.targets)
                ]
                follows = each in self._program.unit.evidence[function].surely and each in scope.reads(site.receiver)
                if api in tables.SEQUENCE_FUNCTIONS and follows and _is_list(bound):
                    return f"{name}[0].device"
        return None

    def _candidates(self, site: Site, statement: ast.stmt, function: scope.Function) -> Iterator[str]:
        yield from self._devices.of_values(statement)
        given = set(scope.parameters(function))
        hands = self._undone.facts.births.get(site.call, {}).values()
        yield from (f"{name}.device" for hand in hands for name, _ in hand.tensors if name in given)
        if function.name != "forward":
            called = self._program.unit.evidence[function].called & given
            yield from (f"next({name}.parameters()).device" for name in sorted(called) if sounds_like_model(name))
        if function.name == "forward":
            yield from (f"{name}.device" for name in self._inputs_of_layers(function) if name in given)

    def _inputs_of_layers(self, function: scope.Function) -> Iterator[str]:
        """Names that a layer of torch gets as they are: `self.gate(x)`."""
        owner = scope.class_around(self._program, function)
        layers = {
            dotted(node.targets[0])
            for node in ast.walk(owner or function)
            if isinstance(node, ast.Assign)
            and isinstance(node.value, ast.Call)
            and (self._program.names.qualified(node.value.func) or "").startswith("torch.nn.")
        }
        for node in ast.walk(function):
            if isinstance(node, ast.Call) and dotted(node.func) in layers - {None} and node.args:
                yield from (one.id for one in node.args[:1] if isinstance(one, ast.Name))


_FOR_DATA = frozenset({"__getitem__", "__init__", "__iter__", "__next__"})


def _is_list(values: list[ast.expr]) -> bool:
    return bool(values) and all(isinstance(one, (ast.ListComp, ast.List)) for one in values)


def _is_literal(node: ast.expr) -> bool:
    if isinstance(node, ast.Call):
        return (dotted(node.func) or "").endswith("device") and all(isinstance(one, ast.Constant) for one in node.args)
    return isinstance(node, ast.Constant)


def _roots(site: Site) -> set[str]:
    """The name from which the moved value is made: what moves a parameter does not follow it."""
    node: ast.expr | None = site.receiver
    while isinstance(node, (ast.Attribute, ast.Call, ast.Subscript)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return {node.id} if isinstance(node, ast.Name) else set()


def _moved_in(function: scope.Function) -> set[str]:
    """Names that the function moves itself."""
    return {
        node.func.value.id
        for node in ast.walk(function)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in {"cuda", "to", "cpu", "numpy"}
        and isinstance(node.func.value, ast.Name)
    }


def _counted_in(function: scope.Function) -> set[str]:
    """Names whose items the function reads as numbers, `range(sizes[0])`: such tensors are on the host as a rule."""
    return {
        item.value.id
        for node in ast.walk(function)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in {"int", "range"}
        for item in node.args
        if isinstance(item, ast.Subscript) and isinstance(item.value, ast.Name)
    }


def _made_from(site: Site, statement: ast.stmt) -> set[str]:
    """The names that the statement of a site gives its value."""
    return scope.stored(statement) if isinstance(statement, (ast.Assign, ast.AnnAssign)) else set()


def _is_value(node: ast.AST, site: Site, made: set[str]) -> bool:
    return node is site.call or (isinstance(node, ast.Name) and node.id in made)


def _feeds(function: scope.Function, site: Site, made: set[str], model: str) -> bool:
    """Whether the value is an argument of the model."""
    return any(
        isinstance(node, ast.Call)
        and (dotted(node.func) or "").partition(".")[0] == model
        and any(_is_value(one, site, made) for one in scope.given_to(node))
        for node in ast.walk(function)
    )


def _goes_with(function: scope.Function, site: Site, made: set[str], tensor: str) -> bool:
    """Whether one call gets both, or the value is filled from the tensor."""
    for node in ast.walk(function):
        if isinstance(node, ast.Call):
            given = scope.given_to(node)
            both = any(isinstance(one, ast.Name) and one.id == tensor for one in given)
            if both and any(_is_value(one, site, made) for one in given):
                return True
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript):
            target = node.targets[0].value
            if _is_value(target, site, made) and tensor in set(scope.reads(node.value)):
                return True
    return False
