"""A checkpoint is loaded to wherever it was saved from.

## What it does

Finds `torch.load`, `torch.jit.load` and `torch.hub.load_state_dict_from_url` without `map_location`, and adds one: the
function's own `map_location` parameter where there is one, `"cpu"` where the result only feeds `load_state_dict`, else
the device at hand, or what the other loads of the function say.

## Why it fails

Every tensor goes back to the device that it was saved from. On a machine without that device,

    RuntimeError: Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is False. If you are
    running on a CPU-only machine, please use torch.load with map_location=torch.device('cpu') to map your storages to
    the CPU.

and with fewer devices `Attempting to deserialize object on CUDA device 1 but torch.cuda.device_count() is 1`.

## Before

    model.load_state_dict(torch.load(path))

## After

    model.load_state_dict(torch.load(path, map_location="cpu"))

## Fix safety

Safe where the place cannot matter: the result is only given to `load_state_dict`, which copies into the parameters
wherever they are, or moved on the spot. Safe, too, where a parameter called `map_location` was never used. Unsafe where
the loaded values are used in other ways: by `map_location` they live elsewhere than today. Advice only where a whole
model is loaded, or what is loaded meets another tensor in one operation, and no device is at hand. `weights_only` is
never touched. Left alone: loads on a branch that asks for CUDA, loads that are tried with and without a place, what the
same function has just saved, states of random generators, schedulers and scalers, and tests.

## Since torch

Any.
"""

import ast
import builtins
import re
from collections.abc import Iterator
from dataclasses import dataclass

from devfix_codemods import scope
from devfix_codemods.catalogue.torch import DATASET_BASES, FACTORIES
from devfix_codemods.edits.quotes import quoted
from devfix_codemods.findings import Finding, Fix, Safety
from devfix_codemods.program import Program
from devfix_codemods.project.tree import dotted, last_name
from devfix_codemods.rules import Rule
from devfix_codemods.rules._arguments import is_switched_on, with_argument
from devfix_codemods.rules._devices import Devices
from devfix_codemods.rules._loaded import LoadedValues, Use, Uses
from devfix_codemods.rules._loaded_beside import place_beside
from devfix_codemods.rules._loaded_data import is_dataset, saves_host_values
from devfix_codemods.rules._loaded_networks import keeps_network, may_be_meta
from devfix_codemods.rules._loaded_together import meets
from devfix_codemods.rules._looks import loads_to_anywhere
from devfix_codemods.rules._read_on_host import is_read_on_host
from devfix_codemods.rules._saved_first import is_saved_first, taker_of
from devfix_codemods.rules._taken_to_host import moves_to_host
from devfix_codemods.rules._unused_defaults import is_unused_default

_LOADERS = {
    "torch.load": 1,
    "torch.serialization.load": 1,
    "torch.jit.load": 1,
    "torch.hub.load_state_dict_from_url": 2,
    "torch.utils.model_zoo.load_url": 2,
    "torchvision.models.utils.load_state_dict_from_url": 2,
    "torchvision._internally_replaced_utils.load_state_dict_from_url": 2,
}
"""Functions that take `map_location`, and its position."""

_ASKS = re.compile(r"cuda|gpu|device|is_available|cpu|map_location|rank|distributed")
_CHECKPOINT = re.compile(r"(?i)state_?dict|checkpoint|ckpt|weights|pretrained|params$|snapshot")
_MODEL = re.compile(
    r"(?i)model|net$|network|encoder|decoder|generator|critic|actor|policy|backbone|classifier|agent|module$"
)
_GIVES_MODEL = re.compile(r"(?i)(?:model|net|network|encoder|decoder|backbone|classifier|module)$")
_OF_MODULES = frozenset(
    {"eval", "train", "children", "modules", "parameters", "named_children", "named_modules", "named_parameters"}
)
_TESTS = re.compile(r"(?:^|/)(?:tests?|testing)/|(?:^|/)(?:test_[^/]*|[^/]*_test|conftest)\.py$")


_SAY = "say where the model should live"


@dataclass(frozen=True, slots=True)
class _Choice:
    """The place for one load; `text` is None where only a person can tell."""

    text: str | None
    safety: Safety
    reason: str
    agrees: bool = False
    """Whether all that is loaded beside it goes to the same place."""


def check(program: Program) -> Iterator[Finding]:
    if _TESTS.search(program.source.path.replace("\\", "/")):
        return
    loads = [one for one in program.names.calls if _is_open(program, one)]
    if not loads:
        return
    chooser = _Chooser(program)
    choices = {one: chooser.choose(one) for one in loads}
    left = [one for one, choice in choices.items() if choice is None]
    for call, choice in choices.items():
        if choice is None:
            continue
        if choice.safety is Safety.SAFE or choice.agrees or not meets(program, call, left):
            yield _finding(program, call, choice)


def _is_open(program: Program, call: ast.Call) -> bool:
    """A load that leaves the place to the file."""
    name = program.names.qualified(call.func) if last_name(call.func) in _LAST else None
    if name not in _LOADERS or not call.args or len(call.args) > _LOADERS[name]:
        return False
    starred = any(isinstance(one, ast.Starred) for one in call.args)
    return not starred and not any(one.arg in {"map_location", None} for one in call.keywords)


_LAST = frozenset({"load", "load_url", "load_state_dict_from_url"})


class _Chooser:
    """Where the loads of one file should put what they load."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._names = program.names
        self._devices = Devices(program)
        self._values = LoadedValues(program)
        self._classes = program.unit.classes
        self._host = quoted(program.source, "cpu")

    def choose(self, call: ast.Call) -> _Choice | None:
        """The place for `call`; None where the load is to be left alone."""
        if self._is_decided(call):
            return None
        if (given := self._parameter(call)) is not None:
            return given
        uses = self._values.uses(call)
        certain = self._certain(call, uses)
        if certain is None and is_switched_on(call, "mmap"):  # on a device all of it would be there at once
            return _Choice(self._host, Safety.UNSAFE, "it is read from the file as far as it is needed")
        if certain is not None or self._is_round_trip(call) or saves_host_values(self._program, call):
            return certain
        return self._probable(call, uses)

    def _certain(self, call: ast.Call, uses: Uses) -> _Choice | None:
        """Where the place cannot matter to what comes after."""
        if uses.kinds and uses.kinds <= {Use.MOVED, Use.READS} and uses.moved:
            return _Choice(self._moved_to(call, uses), Safety.SAFE, "what is loaded is moved at once")
        if uses.only_feeds:
            return _Choice(self._host, Safety.SAFE, "`load_state_dict` copies into the parameters wherever they are")
        if uses.kinds == {Use.READS} and uses.configures:
            return _Choice(self._host, Safety.SAFE, "only the options of the model are read")
        return None

    def _probable(self, call: ast.Call, uses: Uses) -> _Choice | None:
        if uses.kinds <= {Use.FEEDS_NUMBERS, Use.READS, Use.STATES}:
            return None
        if is_read_on_host(self._program, call):
            return _Choice(self._host, Safety.UNSAFE, "it is read on the host as it is loaded")
        if (staying := self._why_it_stays(call, uses)) is not None:
            device = self._at_hand(call)
            return _Choice(device, Safety.MANUAL if device is None else Safety.UNSAFE, staying)
        if Use.SAVED in uses.kinds and uses.kinds <= {Use.SAVED, Use.READS, Use.STATES}:
            return _Choice(self._host, Safety.UNSAFE, "it is only saved again")
        if Use.FEEDS in uses.kinds:
            return _Choice(self._host, Safety.UNSAFE, "its tensors are copied into the parameters")
        owner = scope.class_around(self._program, call)
        if owner is not None and self._classes.is_dataset(owner):
            return self._of_dataset(owner, call)
        if Use.STATES in uses.kinds:
            return None
        if (device := self._at_hand(call)) is not None:
            return self._beside_device(call, uses, device)
        if self._is_built(call):
            return _Choice(None, Safety.MANUAL, _SAY)
        if Use.FEEDS_UNSURE in uses.kinds or self._says_checkpoint(call):
            return _Choice(self._host, Safety.UNSAFE, "a checkpoint is taken apart on the host")
        return self._beside(call) or self._whole_model(call)

    def _beside_device(self, call: ast.Call, uses: Uses, device: str) -> _Choice:
        """There, unless the value belongs on the host, or what of it belongs on the device is moved anyhow."""
        if (reason := self._of_host(call, device)) is not None:
            return _Choice(self._host, Safety.UNSAFE, reason)
        if any(self._moves_whole(call, one, device) for one in uses.moved):
            return _Choice(device, Safety.UNSAFE, f"the module that is loaded is moved to `{device}`")
        if uses.moved and not self._becomes_attributes(call):
            return _Choice(self._host, Safety.UNSAFE, "what of it belongs on a device is moved there")
        return _Choice(device, Safety.UNSAFE, f"`{device}` is at hand")

    def _beside(self, call: ast.Call) -> _Choice | None:
        place = place_beside(self._program, call, _LOADERS[self._names.qualified(call.func) or ""])
        reason = "the other loads here say this place"
        return _Choice(place, Safety.UNSAFE, reason, agrees=True) if place is not None else None

    def _why_it_stays(self, call: ast.Call, uses: Uses) -> str | None:
        """Why something of what is loaded is used where it lands."""
        if {Use.KEPT, Use.HANDED} & uses.kinds:
            return "a tensor from it is kept, and must be where the others are"
        if {Use.HELD, Use.FEEDS} <= uses.kinds:
            return "what an object keeps of it must be where its other tensors are"
        if Use.MEETS in uses.kinds:
            return "it meets another tensor, and must be where that is"
        return "a network in it is kept as it is" if keeps_network(self._program, call) else None

    def _is_built(self, call: ast.Call) -> bool:
        """Whether what comes back is a whole module, or an object of the class that makes it of a file.

        Who runs it where it was saved finds it on the host otherwise.
        """
        function = scope.function_around(self._program, call)
        returned = function is not None and isinstance(self._names.statement(call), ast.Return)
        by_class = function is not None and any(dotted(one) == "classmethod" for one in function.decorator_list)
        scripted = self._names.qualified(call.func) == "torch.jit.load"
        return returned and (scripted or by_class) and self._names.parent(call) is self._names.statement(call)

    def _of_host(self, call: ast.Call, device: str) -> str | None:
        """Why the value belongs on the host, though a device is at hand."""
        if is_dataset(self._program, call):
            return "a data set stays on the host, its batches are moved"
        if self._copies_to_host(call):
            return "its tensors are copied to the host"
        if is_saved_first(self._program, call):
            return "it is saved as it is loaded, before any move"
        if self._builds_loaders(call):
            return "it goes into data that loaders read on the host"
        return "it goes with tensors that are made on the host" if self._works_on_host(call, device) else None

    def _builds_loaders(self, call: ast.Call) -> bool:
        """Whether the function around returns loaders that it has built: `DataLoader(dataset)`."""
        function = scope.function_around(self._program, call)
        if function is None:
            return False
        built = {
            name
            for one in ast.walk(function)
            if isinstance(one, ast.Assign) and isinstance(one.value, ast.Call)
            if "loader" in (last_name(one.value.func) or "").lower()
            for name in scope.stored(one)
        }
        return _returns(function, built)

    def _of_dataset(self, owner: ast.ClassDef, call: ast.Call) -> _Choice | None:
        """In `__getitem__`, which runs in a loader's worker: there is no device there."""
        function = scope.function_around(self._program, call)
        works = any(one.startswith(DATASET_BASES) for one in self._classes.named_bases(owner))
        if not works or function is None or function.name != "__getitem__":
            return None
        return _Choice(self._host, Safety.UNSAFE, "a worker of a loader has no device")

    def _whole_model(self, call: ast.Call) -> _Choice | None:
        """A pickled model: on the host where the file knows no other place, else somebody must say."""
        named = any(_MODEL.search(name.rpartition(".")[2]) for name in self._targets(call))
        if not (named or self._is_run(call) or self._gives_model(call)):
            return None
        if self._is_host_only() and not self._is_given_out(call) and not self._is_handed_on(call):
            return _Choice(self._host, Safety.UNSAFE, "nothing in this file is on a device")
        return _Choice(None, Safety.MANUAL, _SAY)

    def _is_run(self, call: ast.Call) -> bool:
        """Whether the name that gets the value, and no other, is called, or asked for what only modules have."""
        around = scope.function_around(self._program, call) or self._program.tree
        statement = self._names.statement(call)
        name = next(iter(self._targets(call)), "")
        whole = isinstance(statement, ast.Assign) and statement.value is call
        if not whole or len(list(scope.stores(around, name))) != 1:
            return False
        for one in scope.loads(around, {name}):
            outer = self._names.parent(one)
            method = outer if isinstance(outer, ast.Attribute) and outer.attr in _OF_MODULES else None
            caller = self._names.parent(method) if method is not None else outer
            if isinstance(caller, ast.Call) and caller.func is (method or one):
                return True
        return False

    def _gives_model(self, call: ast.Call) -> bool:
        """`return torch.load(path)`, in what is called `load_model`."""
        function, statement = scope.function_around(self._program, call), self._names.statement(call)
        whole = isinstance(statement, ast.Return) and statement.value is call
        return whole and function is not None and _GIVES_MODEL.search(function.name) is not None

    def _is_given_out(self, call: ast.Call) -> bool:
        """Whether the function around returns what it has loaded: who runs that may have a device."""
        function, names = scope.function_around(self._program, call), set(self._targets(call))
        if isinstance(self._names.statement(call), ast.Return):
            return True
        return function is not None and _returns(function, names)

    def _is_handed_on(self, call: ast.Call) -> bool:
        """Whether code that may have a device is given the value: `play(agent, env)`."""
        around = scope.function_around(self._program, call) or self._program.tree
        given = (taker_of(self._names, one) for one in scope.loads(around, set(self._targets(call))))
        names = (self._names.qualified(one.func) or dotted(one.func) or "" for one in given if one is not None)
        return any(not one.startswith("torch.") and not hasattr(builtins, one) for one in names)

    def _parameter(self, call: ast.Call) -> _Choice | None:
        """The `map_location` that the function around was given."""
        function = scope.function_around(self._program, call)
        if function is None or "map_location" not in scope.parameters(function):
            return None
        used = any(isinstance(one, ast.Name) and one.id == "map_location" for one in ast.walk(function))
        safety = Safety.UNSAFE if used else Safety.SAFE
        return _Choice("map_location", safety, "the function is given `map_location`")

    def _moved_to(self, call: ast.Call, uses: Uses) -> str:
        """The device that the loaded value is moved to, where its name is bound already; else the host.

        The host, too, for what is moved part by part: there may be no room for all of it.
        """
        targets = {dotted(one.args[0]) if len(one.args) == 1 and not one.keywords else None for one in uses.moved}
        target = targets.pop() if len(targets) == 1 else None
        if target is None or any(self._is_in_loop(one, call) for one in uses.moved):
            return self._host
        known = {one.text for one in self._devices.at(self._names.statement(call))}
        return target if target in known or self._is_of_self(call, target) else self._host

    def _moves_whole(self, call: ast.Call, move: ast.Call, device: str) -> bool:
        """`model = torch.load(path)`, then `model.to(device)`: tensors that it keeps beside its buffers stay behind."""
        receiver = dotted(move.func.value) if isinstance(move.func, ast.Attribute) else None
        in_place = isinstance(self._names.parent(move), ast.Expr)
        return in_place and receiver in self._targets(call) and [dotted(one) for one in move.args] == [device]

    def _is_in_loop(self, move: ast.Call, call: ast.Call) -> bool:
        """Whether a move is repeated for one load."""
        around = set(self._names.ancestors(move)) - set(self._names.ancestors(call))
        return any(isinstance(one, ast.For | ast.While) for one in around)

    def _is_of_self(self, call: ast.Call, target: str) -> bool:
        """`self.device`, in a method that does not set it."""
        function = scope.function_around(self._program, call)
        owner = scope.class_around(self._program, call)
        if function is None or owner is None or not re.fullmatch(r"self\.\w+", target) or function.name == "__init__":
            return False
        return not any(
            isinstance(one, ast.Attribute) and isinstance(one.ctx, ast.Store) and dotted(one) == target
            for one in ast.walk(function)
        )

    def _at_hand(self, call: ast.Call) -> str | None:
        """A name for the device; not that of a model of transformers, which may still be loading, nor unused CUDA.

        Nor one that is None until the code sets it: a load to None puts the tensors where they were saved from.
        """
        statement = self._names.statement(call)
        known = (one for one in self._devices.at(statement) if not may_be_meta(self._program, one.text, call))
        found = next((one for one in known if not one.unset), None)
        if found is None or is_unused_default(self._program, found.text, statement):
            return None
        owner = scope.class_around(self._program, call)
        loading = owner is not None and any(one.endswith("PreTrainedModel") for one in self._classes.named_bases(owner))
        early = loading or self._is_before_placing(call, owner)
        return None if early and found.text == "self.device" else found.text

    def _is_before_placing(self, call: ast.Call, owner: ast.ClassDef | None) -> bool:
        """In a hook of Lightning that runs before the module is moved, or called by such: `self.device` is the host."""
        function = scope.function_around(self._program, call)
        return (
            owner is not None
            and function is not None
            and self._classes.is_managed(owner)
            and function.name in _before_placing(owner)
        )

    def _copies_to_host(self, call: ast.Call) -> bool:
        """`{key: value.cpu() for key, value in state.items()}`, in the function around."""
        around = scope.function_around(self._program, call)
        mappings = [one for one in ast.walk(around) if isinstance(one, ast.DictComp)] if around is not None else []
        return any(moves_to_host(one) for each in mappings for one in ast.walk(each.value) if isinstance(one, ast.expr))

    def _works_on_host(self, call: ast.Call, device: str) -> bool:
        """Whether the function around never uses the device, and makes tensors without one."""
        function = scope.function_around(self._program, call)
        if function is None or device in scope.parameters(function):
            return False
        if any(isinstance(one, ast.Name | ast.Attribute) and dotted(one) == device for one in ast.walk(function)):
            return False
        if device.startswith("self.") and self._becomes_attributes(call):
            return False
        return any(
            isinstance(one, ast.Call)
            and self._names.qualified(one.func) in FACTORIES
            and not any(each.arg == "device" for each in one.keywords)
            for one in ast.walk(function)
        )

    def _becomes_attributes(self, call: ast.Call) -> bool:
        """`setattr(self, key, value)` in the function around, which restores an object."""
        function = scope.function_around(self._program, call)
        calls = [one for one in ast.walk(function) if isinstance(one, ast.Call)] if function is not None else []
        return any(ast.unparse(one).startswith("setattr(self,") for one in calls)

    def _is_decided(self, call: ast.Call) -> bool:
        """On a branch that depends on the machine, or on whether another load fails: somebody has thought of it."""
        for around in self._names.ancestors(call):
            if isinstance(around, ast.If | ast.IfExp) and _ASKS.search(ast.unparse(around.test).lower()):
                return True
            if isinstance(around, ast.Try) and self._is_tried_with_place(around, call):
                return True
            if isinstance(around, scope.Function | ast.ClassDef):
                return False
        return False

    def _is_tried_with_place(self, around: ast.Try, call: ast.Call) -> bool:
        """Whether the `try` loads the same with a place, too: where one of the two fails, the other is tried."""
        blocks: list[list[ast.stmt]] = [around.body, *(one.body for one in around.handlers)]
        others = (node for block in blocks for one in block for node in ast.walk(one) if isinstance(node, ast.Call))
        return any(
            self._names.qualified(one.func) == self._names.qualified(call.func)
            and ast.dump(one.args[0]) == ast.dump(call.args[0])
            and not _is_open(self._program, one)
            for one in others
            if one.args
        )

    def _is_round_trip(self, call: ast.Call) -> bool:
        """What the same function (or script) saved before, in this very process; what was kept in memory."""
        around = scope.function_around(self._program, call) or self._program.tree
        source = call.args[0]
        wanted = ast.dump(source)
        for one in ast.walk(around):
            saves = isinstance(one, ast.Call) and last_name(one.func) == "save" and len(one.args) > 1
            if isinstance(one, ast.Call) and saves and ast.dump(one.args[1]) == wanted:
                return True
        return isinstance(source, ast.Name) and re.search(r"buf(?:fer|f)?$|bytes", source.id.lower()) is not None

    def _says_checkpoint(self, call: ast.Call) -> bool:
        """Whether the name that gets the value, the path, or the function that returns it speaks of a checkpoint."""
        names = [*self._targets(call), ast.unparse(call.args[0])]
        function = scope.function_around(self._program, call)
        if function is not None and isinstance(self._names.statement(call), ast.Return):
            names.append(function.name)
        return any(_CHECKPOINT.search(name.rpartition(".")[2]) for name in names)

    def _targets(self, call: ast.Call) -> list[str]:
        """The names that get the value."""
        statement = self._names.statement(call)
        if isinstance(statement, ast.AnnAssign):
            return [dotted(statement.target) or ""]
        targets = statement.targets if isinstance(statement, ast.Assign) else []
        parts = (part for each in targets for part in (each.elts if isinstance(each, ast.Tuple) else [each]))
        return [dotted(part) or "" for part in parts]

    def _is_host_only(self) -> bool:
        """No word of an accelerator in the file."""
        text = self._program.source.text
        return not re.search(r"cuda|\.to\(|gpu|mps|xpu|npu|accelerat", text)


def _returns(function: scope.Function, names: set[str]) -> bool:
    """Whether something that a function returns reads one of `names`."""
    returned = (one.value for one in ast.walk(function) if isinstance(one, ast.Return) and one.value is not None)
    return any(not names.isdisjoint(scope.reads(one)) for one in returned)


def _finding(program: Program, call: ast.Call, choice: _Choice) -> Finding:
    name = dotted(call.func) or "load"
    fix = None
    if choice.text is not None:
        edit = with_argument(call, program.source.span(call), choice.text, "map_location")
        fix = Fix(choice.safety, f"Load to `{choice.text}`: {choice.reason}", (edit,))
    return Finding(
        code=RULE.code,
        name=RULE.name,
        message=f"`{name}` without `map_location` puts the tensors back where they were saved from: "
        "it fails where that device is missing",
        span=program.source.span(call),
        fix=fix,
        advice=None if fix else f"pass `map_location=`: {choice.reason}",
    )


def _before_placing(owner: ast.ClassDef) -> set[str]:
    """The methods that run before Lightning moves the module: its hooks, and what nothing but these calls."""
    early = {"__init__", "setup", "prepare_data", "configure_model"}
    callers: dict[str, set[str]] = {}
    for method in owner.body:
        for one in ast.walk(method) if isinstance(method, scope.Function) else ():
            if isinstance(one, ast.Attribute) and dotted(one.value) == "self" and isinstance(method, scope.Function):
                callers.setdefault(one.attr, set()).add(method.name)
    while more := {name for name, known in callers.items() if known <= early} - early:
        early |= more
    return early


RULE = Rule(
    "DVF401",
    "load-without-map-location",
    ((b".load(",), (b"load_url(",), (b"load_state_dict_from_url(",), (b"import load",)),
    check,
    looks=loads_to_anywhere,
)
