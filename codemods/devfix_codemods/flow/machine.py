"""What all parts of the interpreter share: the file, the frame that runs, the record of facts."""

import ast
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from devfix_codemods.flow.evidence import Evidence, dotted
from devfix_codemods.flow.expected import is_meant_to_fail
from devfix_codemods.flow.facts import Abroad, Context, DeviceName, Facts, Meeting, Move, Operand, spelled
from devfix_codemods.flow.places import (
    ANYWHERE,
    HOST,
    UNKNOWN,
    Place,
    Relation,
    Symbol,
    may_be_device,
    relation,
)
from devfix_codemods.flow.project import Entry, Found, Project
from devfix_codemods.flow.records import replace
from devfix_codemods.flow.state import State, holds_nothing
from devfix_codemods.flow.tables import PARAMETER_CLASSES, canonical
from devfix_codemods.flow.units import Unit
from devfix_codemods.flow.values import NOTHING, Birth, Kind, Origin, Value

STEPS = 400_000
"""Expressions evaluated in one file before the analysis stops. Generous: a file of 5 000 lines needs about 60 000."""

DEPTH = 3
"""How deep calls of functions of the same file are followed."""

Function = ast.FunctionDef | ast.AsyncFunctionDef
Record = tuple[Facts, set[tuple[ast.AST, ast.AST]], set[tuple[ast.AST, ast.AST]], set[ast.AST]]


class OutOfBudgetError(Exception):
    """The file is too large, or too tangled, to be followed to the end."""


@dataclass(slots=True)
class Frame:
    """One activation: the code that runs, where its free names are looked up, what it has returned so far."""

    context: Context
    parent: "Frame | None" = None
    env: dict[str, Value] = field(default_factory=dict)
    evidence: Evidence = field(default_factory=Evidence)
    returns: list[tuple[Value, State]] = field(default_factory=list)
    breaks: list[State] = field(default_factory=list)
    continues: list[State] = field(default_factory=list)
    statement: ast.stmt | None = None
    guards: int = 0
    loops: list[ast.For | ast.AsyncFor] = field(default_factory=list)


@dataclass(slots=True)
class _Home:
    """What one run knows of one file."""

    frame: Frame
    facts: Facts
    imported_devices: dict[str, Place] = field(default_factory=dict)


@dataclass(slots=True)
class Arguments:
    """The evaluated arguments of one call."""

    positional: list[tuple[ast.expr, Value]]
    keywords: dict[str, tuple[ast.expr, Value]]
    starred: bool

    def get(self, index: int, name: str) -> tuple[ast.expr, Value] | None:
        """The argument by position or keyword."""
        if name in self.keywords:
            return self.keywords[name]
        return self.positional[index] if index < len(self.positional) and not self.starred else None

    @property
    def first(self) -> Value:
        """The first positional argument's value."""
        return self.positional[0][1] if self.positional else NOTHING

    def all(self) -> list[tuple[ast.expr, Value]]:
        return [*self.positional, *self.keywords.values()]


class Machine:
    """Shared state of the interpreter's parts. One instance a file.

    `root` is that file; `unit` the one whose code runs, which is another one while a call into it is followed. What
    `source`, `names`, `classes`, `traits`, `owners`, `module_frame`, `imported_devices` and `facts` hold is the unit's.
    """

    def __init__(self, root: Unit, project: Project | None = None) -> None:
        self.root = root
        self.project = project
        self.entries: list[Entry] = []
        self._homes: dict[Unit, _Home] = {}
        self._found_homes: dict[ast.AST, Unit] = {}
        self._become(root, self._home(root))
        self.frame = self.module_frame
        self.undone: frozenset[ast.Call] = frozenset()
        self.calls: list[Function | ast.Lambda] = []
        self.steps = 0
        self.steps_abroad = 0
        self.limit = STEPS
        self.inferred: dict[str, Place] = {}
        self.unplaced = False
        self._apis: dict[ast.expr, str | None] = {}
        self._imports: dict[ast.expr, Found | None] = {}
        self._seen_meetings: set[tuple[ast.AST, ast.AST]] = set()
        self._followed: set[tuple[ast.AST, ast.AST]] = set()
        self._seen_moves: set[ast.AST] = set()

    # -- the parts that subclasses give

    def evaluate(self, node: ast.expr, state: State) -> Value:
        raise NotImplementedError

    def call(self, node: ast.Call, state: State) -> Value:
        raise NotImplementedError

    def run_block(self, body: list[ast.stmt], state: State) -> State | None:
        raise NotImplementedError

    def follow(
        self, definition: ast.AST, node: ast.Call, arguments: Arguments, state: State, owner: Value | None
    ) -> Value:
        raise NotImplementedError

    def instantiate(self, definition: ast.ClassDef, node: ast.Call, arguments: Arguments, state: State) -> Value:
        raise NotImplementedError

    def method_of(self, value: Value, name: str) -> ast.AST | None:
        raise NotImplementedError

    def made_by_property(self, owner: Value, name: str, state: State) -> Value | None:
        raise NotImplementedError

    def attach(self, node: ast.expr, owner: Value, child: Value, state: State) -> None:
        raise NotImplementedError

    def imported(self, node: ast.expr, state: State) -> Value | None:
        raise NotImplementedError

    def follow_abroad(
        self,
        home: Unit,
        definition: ast.AST,
        node: ast.Call,
        arguments: Arguments,
        state: State,
        owner: Value | None,
    ) -> Value:
        raise NotImplementedError

    def placed_by_forward(self, callee: Value) -> set[str]:
        raise NotImplementedError

    def gives_host(self, definition: ast.ClassDef) -> bool:
        raise NotImplementedError

    def unknown_call(self, node: ast.Call, arguments: Arguments, state: State) -> Value:
        raise NotImplementedError

    def generator(self, node: ast.Call, arguments: Arguments, state: State) -> Value:
        raise NotImplementedError

    # -- the files

    @contextmanager
    def at(self, unit: Unit) -> Iterator[None]:
        """While code of `unit` runs: names mean what they mean there, and its facts are not those of the root."""
        if unit is self.unit:
            yield
            return
        before, left = self.unit, self._home(self.unit)
        left.facts = self.facts
        self._become(unit, self._home(unit))
        try:
            yield
        finally:
            self._home(unit).facts = self.facts
            self._become(before, left)

    def home_of(self, node: ast.AST) -> Unit:
        """The file that a definition, or another part of the code, stands in."""
        if self.project is None or self.unit.holds(node):
            return self.unit
        if node not in self._found_homes:
            self._found_homes[node] = self.project.home_of(node) or self.root
        return self._found_homes[node]

    def is_here(self, node: ast.AST) -> bool:
        """Whether `node` stands in the file whose code runs."""
        return self.project is None or self.unit.holds(node)

    def _is_born_here(self, value: Value) -> bool:
        """Whether a fix of this file could be written where the value was made."""
        born = value.sources if value.origin is None else (value.origin.node, *value.sources)
        return all(map(self.is_here, born))

    def enter(self, unit: Unit) -> Frame:
        """Make `unit` known, and give the frame of its top level."""
        return self._home(unit).frame

    def _home(self, unit: Unit) -> "_Home":
        if unit not in self._homes:
            facts = Facts(evidence=unit.evidence)
            self._homes[unit] = _Home(Frame(Context(), evidence=unit.evidence[unit.source.tree]), facts)
        return self._homes[unit]

    def _become(self, unit: Unit, home: "_Home") -> None:
        self.unit = unit
        self.source, self.names = unit.source, unit.names
        self.classes, self.traits, self.owners = unit.classes, unit.traits, unit.owners
        self.module_frame, self.facts, self.imported_devices = home.frame, home.facts, home.imported_devices

    # -- bookkeeping

    def step(self) -> None:
        self.steps += 1
        if self.steps > self.limit:
            raise OutOfBudgetError

    def evidence(self, root: ast.AST) -> Evidence:
        """What uses in `root` (the module, a class, a function) say of its names."""
        found = self.unit.evidence.get(root)
        return found if found is not None else self.home_of(root).evidence[root]

    def new_token(self, node: ast.AST) -> str:
        """The identity of an object made at `node`, told apart by the calls that led there."""
        sites = "".join(f"<{self.position(one)}" for one in self.frame.context.sites)
        return f"new@{self.position(node)}{sites}"

    def position(self, node: ast.AST) -> str:
        return f"{self.unit.tag}{node.lineno}:{node.col_offset}"  # type: ignore[attr-defined]

    # -- devices

    def device_names(self, state: State) -> tuple[DeviceName, ...]:
        """Every expression that surely names a device here, short names first."""
        found: dict[str, DeviceName] = {}
        scopes: list[dict[str, Value]] = [state.env]
        frame = self.frame.parent
        while frame is not None:
            scopes.append(frame.env)
            frame = frame.parent
        for env in scopes:
            for name, value in env.items():
                if _names_device(value) and name not in found and _unshadowed(name, env, scopes):
                    found[name] = DeviceName(name, value.denotes, value.qualified == "torch.device")
        for name, value in state.env.items():
            if value.token is None or value.token not in state.objects:
                continue
            for attribute, held in state.objects[value.token].attributes.items():
                if _names_device(held):
                    text = f"{name}.{attribute}"
                    found.setdefault(text, DeviceName(text, held.denotes, held.qualified == "torch.device"))
        for text, place in (state.devices | self.imported_devices).items():
            found.setdefault(text, DeviceName(text, place, False))
        return tuple(sorted(found.values(), key=lambda one: (one.text.count("."), len(one.text), one.text)))

    # -- tensors

    def tensors_at_hand(self, state: State) -> tuple[tuple[str, Place], ...]:
        """Dotted names that surely hold a tensor which lives off the host, or wherever its owner put it."""
        found: list[tuple[str, Place]] = []
        for name, value in state.env.items():
            if value.optional or value.kind is Kind.SEQUENCE or not name.strip("_"):
                continue  # `_` says that nobody wants it
            if _has_place(value):
                found.append((name, value.place))
            known = state.objects.get(value.token or "")
            for attribute, held in known.attributes.items() if known is not None and attribute_owner(value) else ():
                if held.qualified not in PARAMETER_CLASSES:
                    continue  # nothing says that it is set already
                place = state.place_of(value)
                if _has_place(replace(held, place=place)) and not held.optional and attribute.isidentifier():
                    found.append((f"{name}.{attribute}", place))
        return tuple(found)

    def left_on_host(self, node: ast.Call, state: State) -> Value:
        """What a call gives that is read as if it left its tensor on the host."""
        return Value(Kind.TENSOR, HOST, Origin(Birth.FACTORY, node), sources=(node,))

    def as_tensor(self, value: Value, target: ast.Name) -> Value:
        """An unknown object that is used as a tensor under the name it gets is one, wherever it lives."""
        if value.kind is not Kind.UNKNOWN or value.batch is not None or value.sources or may_be_device(value.place):
            return value
        if not self.frame.evidence.is_tensor(target.id, target.lineno):
            return value
        place = value.place
        if place == UNKNOWN and not value.of_host:
            place = Symbol(value.token or f"tensor@{self.position(target)}")
        return replace(value, kind=Kind.TENSOR, place=place, token=None)

    # -- meetings

    def meet(self, node: ast.expr, operation: str, operands: list[Operand], state: State, *, demands: int = 0) -> Place:
        """Record every operand that is elsewhere than the place the program chose; give the place of the result.

        `demands` tells how many operands, the first ones, can be nothing but tensors.
        """
        if all(one.role != "module" for one in operands):
            self.facts.tensors.update(name for one in operands if (name := one.value.identity) is not None)
        anchor = self._anchor(operands) or self._beside_moved(operands, state)
        sure = [one for index, one in enumerate(operands) if _is_one(one, index < demands)]
        followed = anchor or next(filter(_lives_with_another, sure), None) or next(filter(_is_elsewhere, sure), None)
        if followed is not None:
            self._note_followings(node, operation, operands, followed, state)
            for one in sure if anchor is None else ():
                if _lives_with_another(one) and _lives_with_another(followed) and one.value.batch is None:
                    self.facts.unite(followed.place, one.place)
        if anchor is None:
            place = _common(operands)
            return UNKNOWN if isinstance(place, Symbol) and any(map(self._stays_on_host, sure)) else place
        for operand in operands:
            if operand is not anchor and self._differs(operand, anchor, state):
                self._record(node, operation, operand, anchor, operands, state)
        return anchor.place

    def _stays_on_host(self, operand: Operand) -> bool:
        """Whether a tensor was left on the host by what nobody repairs here: what meets it may be there too."""
        value = operand.value
        if (
            value.kind is not Kind.TENSOR
            or value.scalar
            or value.batch is not None
            or operand.role not in {"argument", "self"}
        ):
            return value.of_host
        moved = not value.sources and value.origin is not None and value.origin.birth is Birth.MOVE
        return value.of_host or (operand.place == HOST and (moved or self._is_constant(value)))

    def _is_constant(self, value: Value) -> bool:
        """Whether a value that a function uses was made where its module was imported."""
        if self.frame.context.function is None or not value.sources:
            return False
        around = (one for made in value.sources for one in self.home_of(made).names.ancestors(made))
        return not any(isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) for one in around)

    def _note_followings(
        self, node: ast.expr, operation: str, operands: list[Operand], anchor: Operand, state: State
    ) -> None:
        """Record host values that meet a tensor which lives wherever its owner put it.

        What may have come from a factory on the host on one path, and from elsewhere on another, counts as well; also
        where it meets a value whose place the program chose.
        """
        for one in operands:
            on_host = one.place == HOST and not may_be_device(anchor.place)
            mixed = one.place == UNKNOWN and bool(one.value.sources)
            if one is anchor or not (on_host or mixed) or one.value.kind in _NEVER_MEETS:
                continue
            if (node, one.node) in self._followed or self.is_meant_to_fail(node):
                continue
            if not self._is_born_here(one.value):
                self._record_abroad(node, operation, one, anchor)
                continue
            self._followed.add((node, one.node))
            devices = self.device_names(state)
            tensors = self.tensors_at_hand(state)
            fact = Meeting(node, operation, one, anchor, tuple(operands), None, devices, self.frame.context, tensors)
            self.facts.followings.append(fact)

    def note_collective(self, node: ast.Call, name: str, arguments: Arguments, state: State) -> None:
        """Record a host tensor that is reduced or sent over the default process group."""
        if not arguments.positional or "group" in arguments.keywords:
            return
        expression, value = arguments.positional[0]
        if not value.sources or value.place != HOST or (node, expression) in self._followed:
            return
        if not self._is_born_here(value):
            return
        self._followed.add((node, expression))
        operand = Operand(expression, value, value.place)
        devices, tensors = self.device_names(state), self.tensors_at_hand(state)
        fact = Meeting(
            node, f"`{name}`", operand, operand, (operand,), None, devices, self.frame.context, tensors, certain=False
        )
        self.facts.collectives.append(fact)

    def _anchor(self, operands: list[Operand]) -> Operand | None:
        """The operand whose place the program chose: a moved value first, then a moved module."""
        chosen = [one for one in operands if may_be_device(one.place)]
        moved = [one for one in chosen if one.role != "module"]
        return next(iter(moved or chosen), None)

    def _beside_moved(self, operands: list[Operand], state: State) -> Operand | None:
        """The operand that is where other elements of a batch were moved, of which an element is here as it came."""
        places: set[Place] = set()
        for one in operands:
            if one.value.batch is not None and not is_moved(one.value):
                places |= state.moved.get(one.value.batch.token, frozenset())
        return next((one for one in operands if one.place in places - {HOST, UNKNOWN}), None)

    def _differs(self, operand: Operand, anchor: Operand, state: State) -> bool:
        if operand.value.kind in _NEVER_MEETS:
            return False
        if relation(operand.place, anchor.place) is Relation.DIFFERENT:
            return True
        batch = operand.value.batch
        if batch is None and _is_lent(operand, anchor.place, state):
            return True
        if batch is None or operand.place in {anchor.place, UNKNOWN} or is_moved(operand.value):
            return False
        if anchor.role == "module" and batch.loaded and operand.place == Symbol(batch.token):
            return True
        return anchor.place in state.moved.get(batch.token, ())

    def _record(
        self,
        node: ast.expr,
        operation: str,
        misplaced: Operand,
        anchor: Operand,
        operands: list[Operand],
        state: State,
    ) -> None:
        if self.unit is not self.root:
            self._record_abroad(node, operation, misplaced, anchor)
            return
        key = (node, misplaced.node)
        if key in self._seen_meetings or not self._is_born_here(misplaced.value) or self.is_meant_to_fail(node):
            return
        self._seen_meetings.add(key)
        misplaced, anchor, *operands = map(self._as_seen_here, (misplaced, anchor, *operands))
        devices = self.device_names(state)
        devices = (*devices, *spelled(anchor.place, self.named_objects(state), devices))
        moved = _moved(anchor, state)
        if moved is not None and not (self.is_here(moved.node) and _is_method_call(moved.node)):
            moved = None
        self.facts.meetings.append(
            Meeting(
                node,
                operation,
                misplaced,
                anchor,
                tuple(operands),
                moved,
                devices,
                self.frame.context,
                self.tensors_at_hand(state),
            )
        )

    def is_meant_to_fail(self, node: ast.AST) -> bool:
        """Whether a test expects an error of `node`, or of one of the calls that lead there."""
        return any(is_meant_to_fail(self.home_of(one).names, one) for one in (node, *self.frame.context.sites))

    def _as_seen_here(self, operand: Operand) -> Operand:
        """An operand without what the lines of other files say of it."""
        if self._is_born_here(operand.value):
            return operand
        return replace(operand, value=replace(operand.value, origin=None, sources=(), spelled=None))

    def _record_abroad(self, node: ast.expr, operation: str, misplaced: Operand, anchor: Operand) -> None:
        """A module or tensor that the root made and left on the host, used by a function of another file."""
        context, value = self.frame.context, misplaced.value
        site = next((one for one in reversed(context.sites) if self.root.holds(one)), None)
        if self.unit is self.root or site is None or misplaced.place != HOST or not self._is_made_by_root(misplaced):
            return
        facts = self._home(self.root).facts
        known = (one.meeting.misplaced.value for one in facts.abroad)
        if self.is_meant_to_fail(site) or any(
            (one.origin, one.sources) == (value.origin, value.sources) for one in known
        ):
            return
        around = next((one for one in self.root.names.ancestors(site) if isinstance(one, Function)), None)
        managed = context.managed or self.root.traits.managed
        here = Context(around, self.root.owners.get(around) if around else None, managed=managed, worker=context.worker)
        operands = (
            Operand(site, value, misplaced.place, misplaced.role),
            Operand(site, replace(anchor.value, origin=None, batch=None, sources=(), spelled=None), anchor.place),
        )
        meeting = Meeting(site, operation, operands[0], operands[1], operands, None, (), here)
        facts.abroad.append(Abroad(meeting, self.unit.path, self.unit.source.span(node), ast.unparse(anchor.node)))

    def _is_made_by_root(self, operand: Operand) -> bool:
        value = operand.value
        if operand.role == "module":
            return (
                value.origin is not None and value.origin.birth is Birth.MODULE and self.root.holds(value.origin.node)
            )
        return value.kind is Kind.TENSOR and bool(value.sources) and all(map(self.root.holds, value.sources))

    def place_of_module(self, value: Value, state: State) -> Place:
        """Where a module lives: by its own moves, or by what its other calls get."""
        place = state.place_of(value)
        if may_be_device(place) and holds_nothing(value, state):
            return ANYWHERE
        if may_be_device(place) or place == HOST or value.token is None:
            return place
        return self.inferred.get(value.token, place)

    def infer(self, module: Operand, arguments: list[Operand]) -> None:
        """A module that gets moved values lives where they are; remember it for the calls that get unmoved ones."""
        token = module.value.token
        if token is None or module.place in {HOST, ANYWHERE} or may_be_device(module.place):
            return  # one without parameters takes what it gets, in each call anew
        places = {one.place for one in arguments if may_be_device(one.place) and is_moved(one.value)}
        if len(places) == 1:
            place = places.pop()
            known = self.inferred.get(token, place)
            self.inferred[token] = place if known == place else UNKNOWN
        elif any(one.value.batch is not None and one.value.batch.loaded for one in arguments):
            self.unplaced = True

    def named_objects(self, state: State) -> tuple[tuple[str, str], ...]:
        """Names bound to objects, with the identity of the object."""
        return tuple((name, value.token) for name, value in state.env.items() if value.token and not value.optional)

    def _checkpoint(self) -> Record:
        """The record as it stands, for a run whose facts may have to be forgotten."""
        return self.facts.snapshot(), set(self._seen_meetings), set(self._followed), set(self._seen_moves)

    def _restore(self, known: Record) -> None:
        self.facts, self._seen_meetings, self._followed, self._seen_moves = known

    def record_move(self, move: Move) -> None:
        if move.node not in self._seen_moves:
            self._seen_moves.add(move.node)
            self.facts.moves.append(move)

    # -- small helpers on values

    def api(self, node: ast.expr) -> str | None:
        """The canonical qualified name `node` refers to through imports."""
        if node not in self._apis:
            name = self.names.qualified(node)
            self._apis[node] = canonical(name) if name else None
        return self._apis[node]

    def module_evidence(self) -> set[str]:
        """Names and attributes that this function, or its class, uses as modules."""
        owner = self.frame.context.owner
        return self.frame.evidence.modules | (self.evidence(owner).modules if owner else set())

    def as_module(self, value: Value, name: str, evidence: Evidence | None = None) -> Value:
        """An unknown object that is used as a module under `name` is one, wherever it lives."""
        modules = evidence.modules if evidence is not None else self.module_evidence()
        if value.kind is not Kind.UNKNOWN or value.token is None or value.batch is not None or name not in modules:
            return value
        return replace(value, kind=Kind.MODULE, place=value.place if value.place != UNKNOWN else Symbol(value.token))

    def chosen_by_name(self, node: ast.expr, value: Value) -> str | None:
        """The text of a dotted expression whose value is unknown but whose last part says `device`."""
        text = dotted(node)
        imported = value.kind is Kind.API and not (value.qualified or "").startswith("torch")
        if text is None or not (imported or value.kind in {Kind.UNKNOWN, Kind.DEVICE, Kind.NUMBER}):
            return None
        last = text.rpartition(".")[2].lower()
        return text if "dtype" not in last and any(word in last for word in _DEVICE_WORDS) else None


_DEVICE_WORDS = ("device", "gpu", "cuda", "rank", "dev")
_NEVER_MEETS = frozenset(
    {
        Kind.NUMBER,
        Kind.STRING,
        Kind.NONE,
        Kind.DTYPE,
        Kind.DEVICE,
        Kind.FUNCTION,
        Kind.CLASS,
        Kind.API,
        Kind.ARRAY,
        Kind.OPTIMIZER,
        Kind.SCALER,
        Kind.LOADER,
        Kind.DATASET,
        Kind.TOKENIZER,
        Kind.INSTANCE,
        Kind.GENERATOR,
    }
)


def _is_lent(operand: Operand, place: Place, state: State) -> bool:
    """Whether a tensor of the host was copied to `place` for another use, and is here as it was."""
    value = operand.value
    if not isinstance(operand.node, ast.Name) or value.kind is not Kind.TENSOR or value.scalar:
        return False
    return operand.place != place and place in state.lent.get(operand.node.id, ())


def _lives_with_another(operand: Operand) -> bool:
    """Whether a tensor or module lives where a parameter of the function, or its owner, was put."""
    value = operand.value
    if not isinstance(operand.place, Symbol) or value.kind in _NEVER_MEETS or value.sources:
        return False
    return value.batch is None or not value.batch.loaded


def is_unknown_item(operand: Operand) -> bool:
    """Whether an operand is a part of an element of something unknown, and maybe a number."""
    value = operand.value
    from_loop = value.origin is not None and value.origin.birth is Birth.LOADER
    return value.kind is Kind.UNKNOWN and value.batch is None and from_loop


def _is_elsewhere(operand: Operand) -> bool:
    """Whether nothing tells where an operand is."""
    value = operand.value
    if value.kind is Kind.MODULE or value.scalar or value.sources or value.batch is not None or value.of_host:
        return False
    return operand.place == UNKNOWN


def _is_one(operand: Operand, demanded: bool) -> bool:
    """Whether an operand is a tensor or a module: for certain, or since nothing else is `demanded`."""
    value = operand.value
    born = value.origin is not None and (
        isinstance(value.origin.node, ast.Call) or (value.origin.birth is Birth.PARAMETER and not value.computed)
    )
    own = isinstance(operand.place, Symbol) and operand.place.token.startswith("self:")
    computed = operand.place != UNKNOWN and (born or (own and is_of_call(value)))
    return value.kind in {Kind.TENSOR, Kind.MODULE} or (value.kind is Kind.UNKNOWN and (demanded or computed))


def is_of_call(value: Value) -> bool:
    """Whether unknown code computed a value: where it has a place, of tensors there."""
    return value.token is not None and value.token.startswith("call@")


def attribute_owner(value: Value) -> bool:
    """Whether the attributes of a value are those of one known object."""
    return value.token is not None and "|" not in value.token


def _has_place(value: Value) -> bool:
    return value.kind is Kind.TENSOR and value.place not in {HOST, UNKNOWN} and not value.sources


def is_moved(value: Value) -> bool:
    """Whether a move made the value."""
    return value.origin is not None and value.origin.birth is Birth.MOVE


def _is_method_call(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)


def _names_device(value: Value) -> bool:
    """A device, or a string that names one, bound on every path."""
    return value.kind in {Kind.DEVICE, Kind.STRING} and value.denotes != UNKNOWN and not value.optional


def _moved(operand: Operand, state: State) -> Origin | None:
    """The move that took an operand where it is."""
    known = state.objects.get(operand.value.token or "")
    if known is not None:
        return known.moved
    origin = operand.value.origin
    return origin if origin is not None and origin.birth is Birth.MOVE else None


def _unshadowed(name: str, env: dict[str, Value], scopes: list[dict[str, Value]]) -> bool:
    return next(one for one in scopes if name in one) is env


def _common(operands: list[Operand]) -> Place:
    """The place that all operands with a known place share.

    What meets a tensor that lives wherever its owner put it lives there too, on every run that gets past the operation.
    """
    sure = [one for one in operands if _is_one(one, False) and one.value.batch is None and one.role != "module"]
    anchor = next(filter(_lives_with_another, sure), None)
    if anchor is not None:
        return anchor.place
    if any(one.place == HOST and one.value.sources for one in operands) and all(
        (one.place in {HOST, UNKNOWN} or is_unknown_item(one)) and one.role != "module" for one in operands
    ):
        return HOST  # on every run that gets past the operation
    places = {one.place for one in operands if one.place != UNKNOWN and one.value.kind not in _NEVER_MEETS}
    unknown = any(one.place == UNKNOWN and one.value.kind not in _NEVER_MEETS for one in operands)
    return places.pop() if len(places) == 1 and not unknown else UNKNOWN
