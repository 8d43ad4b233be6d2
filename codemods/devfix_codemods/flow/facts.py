"""What the interpreter saw, for rules to judge: plain records, each with the state at its point."""

import ast
from dataclasses import dataclass, field, replace

from devfix_codemods.flow.evidence import Evidence
from devfix_codemods.flow.places import Place, Symbol
from devfix_codemods.flow.records import record
from devfix_codemods.flow.values import Origin, Value
from devfix_codemods.source import Span


@record
class Context:
    """Where in the program a fact holds.

    `function` is the definition around it (None at module level); `managed` says that a framework places values here;
    `worker` that the code runs in a loader's worker; `symbolic` that parameters are not bound to a caller's values.
    `sites` are the calls through which it was reached, the outermost first.
    """

    function: ast.FunctionDef | ast.AsyncFunctionDef | None = None
    owner: ast.ClassDef | None = None
    managed: bool = False
    worker: bool = False
    symbolic: bool = False
    forward: bool = False
    sites: tuple[ast.Call, ...] = ()


@dataclass(frozen=True, slots=True)
class DeviceName:
    """An expression that names a device and is bound on every path to the point: `device`, `self.device`."""

    text: str
    place: Place
    is_torch_device: bool


def spelled(place: Place, owners: tuple[tuple[str, str], ...], known: tuple[DeviceName, ...]) -> tuple[DeviceName, ...]:
    """Attributes of objects at hand that are `place`: `args.device`, where the caller's `args` is ours too."""
    if not isinstance(place, Symbol):
        return ()
    path = place.token.partition("#")[0]
    texts = {one.text for one in known}
    found = (f"{name}{path[len(token) :]}" for name, token in owners if path.startswith(f"{token}."))
    return tuple(DeviceName(text, place, False) for text in found if text not in texts)


DISTRIBUTION = "distribution"
"""The role of the parameters of a distribution, which is asked how likely a tensor is."""


@record
class Operand:
    """One value that takes part in an operation, the expression that gives it, and where it lives there."""

    node: ast.expr
    value: Value
    place: Place
    role: str = "argument"


@dataclass(frozen=True, slots=True)
class Meeting:
    """An operation that needs one place, and gets several.

    `anchor` is an operand whose place the program chose, and `moved` the move that took it there, where it was seen;
    `misplaced` is an operand that is elsewhere. `devices` are the device names bound at the operation, `tensors` the
    tensors, by dotted names. `certain` is False where the operation may well take values from two places.
    """

    node: ast.expr
    operation: str
    misplaced: Operand
    anchor: Operand
    operands: tuple[Operand, ...]
    moved: Origin | None
    devices: tuple[DeviceName, ...]
    context: Context
    tensors: tuple[tuple[str, Place], ...] = ()
    certain: bool = True


@dataclass(frozen=True, slots=True)
class Move:
    """A call that moves a value: `x.to(device)`, `x.cuda()`, `x.cpu()`.

    `result_used` is False where the call is a statement of its own.
    """

    node: ast.Call
    receiver: ast.expr
    value: Value
    before: Place
    target: Place
    method: str
    result_used: bool
    context: Context


@dataclass(frozen=True, slots=True)
class Abroad:
    """A module or tensor made on the host in this file that meets, in another one, what is not there.

    `meeting` stands at the call of this file that leads there. `path` and `span` are those of the operation, and
    `anchor` is the text that the other file gives the value it meets.
    """

    meeting: Meeting
    path: str
    span: Span
    anchor: str


@dataclass(frozen=True, slots=True)
class Readout:
    """A tensor that something reads on the host: `x.numpy()`, `np.mean(x)`, `plt.plot(x)`.

    `reader` is the qualified name of the function, `numpy` for the method of a tensor, or the name of a method that
    plots. Where `listed`, the operand is a list of tensors, and its value any of them.
    """

    node: ast.Call
    reader: str
    operand: Operand
    context: Context
    listed: bool = False


@dataclass(slots=True)
class Facts:
    """Everything that the rules may ask.

    - `meetings`: operations in which values of different places meet;
    - `followings`: host values that meet a tensor or module whose place is its owner's choice (`anchor`): a parameter
      of the function, `self` in `forward`;
    - `collectives`: tensors made on the host that other processes get; each is its own anchor;
    - `together`: places of tensors that meet somewhere, each with another of its group: on every run that gets past the
      operation they are one place;
    - `followers`: encodings given to a model that lives wherever its owner put it;
    - `abroad`: modules and tensors of this file that another one brings together with what is moved;
    - `moves`, `readouts`: as their classes say;
    - `batches`: what loops over loaders yield, by token;
    - `tensors`: identities of values that an operation uses as tensors;
    - `devices_at`, `owners_at`: device names, and names of objects, bound when a statement starts;
    - `evidence`: what uses say of names, by function, class, or the tree itself for the module;
    - `incomplete`: why the analysis stopped early, where it did.
    """

    meetings: list[Meeting] = field(default_factory=list)
    followings: list[Meeting] = field(default_factory=list)
    followers: list[Meeting] = field(default_factory=list)
    abroad: list[Abroad] = field(default_factory=list)
    moves: list[Move] = field(default_factory=list)
    readouts: list[Readout] = field(default_factory=list)
    batches: dict[str, Value] = field(default_factory=dict)
    tensors: set[str] = field(default_factory=set)
    collectives: list[Meeting] = field(default_factory=list)
    together: dict[Place, Place] = field(default_factory=dict)
    devices_at: dict[ast.stmt, tuple[DeviceName, ...]] = field(default_factory=dict)
    owners_at: dict[ast.stmt, tuple[tuple[str, str], ...]] = field(default_factory=dict)
    evidence: dict[ast.AST, Evidence] = field(default_factory=dict)
    incomplete: str | None = None

    def shared(self, place: Place) -> Place:
        """One place that stands for all that are known to be the same as `place`."""
        while place in self.together:
            place = self.together[place]
        return place

    def unite(self, first: Place, second: Place) -> None:
        """Note that two places are the same."""
        first, second = self.shared(first), self.shared(second)
        if first != second:
            self.together[second] = first

    def snapshot(self) -> "Facts":
        """A copy that further recording leaves as it is."""
        return replace(
            self,
            meetings=list(self.meetings),
            followings=list(self.followings),
            followers=list(self.followers),
            abroad=list(self.abroad),
            moves=list(self.moves),
            readouts=list(self.readouts),
            batches=dict(self.batches),
            tensors=set(self.tensors),
            collectives=list(self.collectives),
            together=dict(self.together),
            devices_at=dict(self.devices_at),
            owners_at=dict(self.owners_at),
        )
