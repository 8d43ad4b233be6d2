"""Kinds of bugs about what the loop works on: parts of a batch, and tensors that are made beside it."""

from __future__ import annotations

from variation.plans import (
    NO_LOADER,
    OWN_NETWORK,
    PLACED,
    Discard,
    Either,
    Field,
    Item,
    Loop,
    Move,
    New,
    Plan,
    kind,
)
from variation.shapes import BY_DEVICE, Shape

X = Field("x", "torch.randn(4, 4)")
Y = Field("y", "torch.arange(4) % 2")
MASK = Field("m", "torch.ones(4, 4)")
LENGTHS = Field("m", "torch.arange(4)")
SERIES = Field("x", "torch.randn(4, 3, 4)")

OPTIMIZER = "{opt} = torch.optim.SGD({net}.parameters(), lr=0.1)"
CRITERION = "{crit} = nn.CrossEntropyLoss()"
FORWARD = "{out} = {net}({x})"
LOSS = "{loss} = {crit}({out}, {y})"
SQUARES = "{loss} = {out}.pow(2).mean()"
MOVES = Move(("x", "y"))


def network(shape: Shape, role: str = "net") -> New:
    """A small network of four features and two classes."""
    made = {
        "class": "{Net}()",
        "sequential": "nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2))",
        "builder": "{build}(2)",
        "choice": "(nn.Linear(4, 2) if torch.initial_seed() == 0 else nn.Sequential(nn.Linear(4, 3), nn.Linear(3, 2)))",
    }.get(shape.network, "nn.Linear(4, 2)")
    return New(role, made, is_module=True)


def classifier(shape: Shape) -> tuple[Item, ...]:
    """What most programs make before their loop."""
    return (network(shape), OPTIMIZER, CRITERION)


def _plain(shape: Shape) -> Plan:
    return Plan((X, Y), (MOVES, FORWARD, LOSS), setup=classifier(shape))


kind("target", "y")(_plain)
kind("input", "x")(_plain)
kind("network", "net")(_plain)


@kind("batch", "x", "y")
def _batch(shape: Shape) -> Plan:
    return Plan((X, Y), (MOVES, FORWARD, LOSS), setup=classifier(shape), moves_whole=True)


@kind("mask", "m")
def _mask(shape: Shape) -> Plan:
    masked = shape.pick(["{out} = {net}({x} * {m})", "{out} = {net}({x}.masked_fill({m} == 0, 0.0))"])
    return Plan((X, MASK, Y), (Move(("x", "m", "y")), masked, LOSS), setup=classifier(shape))


@kind("discarded-move", form=("named",), move=("cuda", "to-device", "to-self", "to-0", "to-keyword", "to-string"))
def _discarded(shape: Shape) -> Plan:
    return Plan((X, Y), (Discard("x"), Move(("y",)), FORWARD, LOSS), setup=classifier(shape))


@kind("label-filter", "y")
def _label_filter(shape: Shape) -> Plan:
    kept = "{got} = {y}[{out}.argmax(dim=1) == 1]"
    return Plan((X, Y), (MOVES, FORWARD, kept, "print({got}.shape)", SQUARES), setup=(network(shape), OPTIMIZER))


def _evaluation(shape: Shape) -> Plan:
    judge = ("{out} = {net}({x})", "{seen} = ({out}.argmax(dim=1) == {y}).sum().item()", "print({seen})")
    return Plan(
        (X, Y),
        (Move(("x", "y"), always=True), FORWARD, LOSS),
        setup=classifier(shape),
        after=("{net}.eval()", Loop((MOVES, *judge))),
    )


kind("evaluation-input", "x")(_evaluation)
kind("evaluation-target", "y")(_evaluation)


@kind("noise", "z")
def _noise(shape: Shape) -> Plan:
    setup = (network(shape), New("net2", "nn.Linear(4, 1)", is_module=True), OPTIMIZER)
    made = New("z", shape.pick(["torch.randn(2, 4)", "torch.rand(2, 4)"]))
    loss = "{loss} = {out}.mean() - {net2}({x}).mean()"
    return Plan((X, Y), (Move(("x",)), made, "{out} = {net}({z})", loss), setup=setup)


@kind("real-labels", "hot")
def _real_labels(shape: Shape) -> Plan:
    made = New("hot", shape.pick(["torch.ones(2, 2)", "torch.full((2, 2), 0.9)", "torch.zeros(2, 2)"]))
    loss = "{loss} = {crit}({out}, {hot})"
    setup = (network(shape), OPTIMIZER, "{crit} = nn.BCEWithLogitsLoss()")
    return Plan((X, Y), (Move(("x",)), FORWARD, made, loss), setup=setup)


@kind("one-hot", "hot")
def _one_hot(shape: Shape) -> Plan:
    made = (New("hot", "torch.zeros(2, 2)"), "{hot}.scatter_(1, {y}.unsqueeze(1), 1.0)")
    loss = "{loss} = ({out} - {hot}).pow(2).mean()"
    return Plan((X, Y), (MOVES, FORWARD, *made, loss), setup=(network(shape), OPTIMIZER))


@kind("positions-and-lengths", "seen")
def _lengths(shape: Shape) -> Plan:
    masked = "{out} = {net}({x} * ({seen}[None] < {m}[:, None]))"
    step = (Move(("x", "m", "y")), New("seen", "torch.arange(4)"), masked, LOSS)
    return Plan((X, LENGTHS, Y), step, setup=classifier(shape))


@kind("hidden-state", "h", **OWN_NETWORK)
def _hidden(shape: Shape) -> Plan:
    setup = (New("net", "nn.GRU(4, 2, batch_first=True)", is_module=True), OPTIMIZER, CRITERION)
    forward = ("{out}, {h} = {net}({x}, {h})", "{loss} = {crit}({out}[:, -1], {y})")
    return Plan((SERIES, Y), (MOVES, New("h", "torch.zeros(1, 2, 2)"), *forward), setup=setup)


@kind("hidden-pair", "h", "z", **OWN_NETWORK)
def _hidden_pair(shape: Shape) -> Plan:
    setup = (New("net", "nn.LSTM(4, 2, batch_first=True)", is_module=True), OPTIMIZER, CRITERION)
    made = (New("h", "torch.zeros(1, 2, 2)"), New("z", "torch.zeros(1, 2, 2)"))
    forward = ("{out}, ({h}, {z}) = {net}({x}, ({h}, {z}))", "{loss} = {crit}({out}[:, -1], {y})")
    return Plan((SERIES, Y), (MOVES, *made, *forward), setup=setup)


# Beside the bug stands what may stay on the host: the twin has to be silent about it.


@kind("beside-counted", "x")
def _beside_counted(shape: Shape) -> Plan:
    counted = shape.pick(["{seen} = {y}.tolist()", "{seen} = {y}.sum().item()", "{seen} = {y}.float().mean().item()"])
    step = (Move(("x",)), FORWARD, counted, "print({seen})", SQUARES)
    return Plan((X, Y), step, setup=(network(shape), OPTIMIZER))


@kind("beside-shuffled", "y")
def _beside_shuffled(shape: Shape) -> Plan:
    order = shape.pick(["{z} = torch.randperm(2)", "{z} = torch.arange(2)", "{z} = torch.randint(0, 2, (2,))"])
    picked = "{loss} = {crit}({out}[{z}], {y}[{z}])"
    return Plan((X, Y), (MOVES, order, FORWARD, picked), setup=classifier(shape))


@kind("beside-rows", "hot")
def _beside_rows(shape: Shape) -> Plan:
    made = (New("hot", "torch.zeros(2, 2)"), "{hot}[torch.arange(2), {y}] = 1.0")
    loss = "{loss} = ({out} - {hot}).pow(2).mean()"
    return Plan((X, Y), (MOVES, FORWARD, *made, loss), setup=(network(shape), OPTIMIZER))


@kind("beside-moved-at-once", "z")
def _beside_moved(shape: Shape) -> Plan:
    eye = shape.pick(["torch.eye(4).mul(2)", "torch.eye(4).expand(4, 4)", "torch.ones(4, 4).tril()"])
    made = (New("z", "torch.ones(4, 4)"), f"{{hot}} = {eye}.to({{x}}.device)")
    step = (MOVES, *made, "{out} = {net}({x} @ ({z} + {hot}))", LOSS)
    return Plan((X, Y), step, setup=classifier(shape))


@kind("accumulator", "acc")
def _accumulator(shape: Shape) -> Plan:
    added = shape.pick(["{acc} += {out}.detach().sum(dim=0)", "{acc} = {acc} + {out}.detach().sum(dim=0)"])
    return Plan(
        (X, Y),
        (MOVES, FORWARD, LOSS, added),
        setup=classifier(shape),
        before=(New("acc", "torch.zeros(2)"),),
        after=("print({acc}.sum().item())",),
    )


@kind("accumulator-cat", "acc")
def _accumulator_cat(shape: Shape) -> Plan:
    made = shape.pick(["torch.empty(0, 2)", "torch.zeros(0, 2)", "torch.zeros((0, 2))"])
    return Plan(
        (X, Y),
        (MOVES, FORWARD, LOSS, "{acc} = torch.cat([{acc}, {out}.detach()])"),
        setup=classifier(shape),
        before=(New("acc", made),),
        after=("print({acc}.shape)",),
    )


@kind("confusion", "acc")
def _confusion(shape: Shape) -> Plan:
    counted = "torch.bincount({y} * 2 + {out}.argmax(dim=1), minlength=4).reshape(2, 2)"
    added = shape.pick(["{acc}[{y}, {out}.argmax(dim=1)] += 1", f"{{acc}} += {counted}"])
    return Plan(
        (X, Y),
        (MOVES, FORWARD, LOSS, added),
        setup=classifier(shape),
        before=(New("acc", "torch.zeros(2, 2)"),),
        after=("print({acc}.tolist())",),
    )


_BACK = {
    "{got} = {out}.detach().cpu().numpy()": "{got} = {out}.detach().numpy()",
    "{got} = np.asarray({out}.detach().cpu())": "{got} = np.asarray({out}.detach())",
    "{got} = {out}.argmax(dim=1).cpu().numpy()": "{got} = {out}.argmax(dim=1).numpy()",
    "{got} = np.mean({out}.detach().cpu().numpy())": "{got} = np.mean({out}.detach().numpy())",
}


@kind("numpy")
def _numpy(shape: Shape) -> Plan:
    right, wrong = shape.pick(list(_BACK.items()))
    return Plan(
        (X, Y),
        (MOVES, FORWARD, LOSS, Either((right,), (wrong,)), "print({got}.shape)"),
        setup=classifier(shape),
    )


@kind("numpy-list")
def _numpy_list(shape: Shape) -> Plan:
    kept = Either(("{state}.append({out}.detach().cpu())",), ("{state}.append({out}.detach())",))
    joined = shape.pick(["np.concatenate({state})", "np.array([{t}.numpy() for {t} in {state}])", "np.stack({state})"])
    return Plan(
        (X, Y),
        (MOVES, FORWARD, LOSS, kept),
        setup=classifier(shape),
        before=("{state} = []",),
        after=(f"{{got}} = {joined}", "print({got}.shape)"),
    )


@kind("host-table", "table")
def _host_table(shape: Shape) -> Plan:
    looked_up = ("{h} = {table}[{out}.argmax(dim=1)]", "print({h}.shape)")
    return Plan(
        (X, Y), (MOVES, FORWARD, LOSS, *looked_up), setup=(*classifier(shape), New("table", "torch.randn(2, 4)"))
    )


@kind("module-table", **PLACED)
def _module_table(shape: Shape) -> Plan:
    place = shape.pick(["{place}", "{out}.device"])
    looked_up = Either((f"{{hot}} = {{table}}.to({place})[{{y}}]",), ("{hot} = {table}[{y}]",))
    return Plan(
        (X, Y),
        (MOVES, FORWARD, looked_up, "{loss} = ({out} - {hot}).pow(2).mean()"),
        defs=("{table} = torch.eye(2)", "", ""),
        setup=(network(shape), OPTIMIZER),
    )


@kind("generator", **PLACED)
def _generator(shape: Shape) -> Plan:
    made = Either(("{gen} = torch.Generator(device={place})",), ("{gen} = torch.Generator()",))
    drawn = "{z} = torch.randn(2, 4, generator={gen}, device={place})"
    return Plan(
        (X, Y),
        (MOVES, drawn, "{out} = {net}({x} + {z})", LOSS),
        setup=(*classifier(shape), made, "{gen}.manual_seed(1)"),
    )


def _replay(shape: Shape) -> Plan:
    row = '    {memory}.append((np.random.rand(4).astype("float32"), 1.0))'
    stacked = "np.stack([{t}[0] for {t} in {memory}])"
    states = New("x", f"torch.tensor({stacked})")
    if shape.form != "comprehension":
        states = shape.pick([states, New("x", f"torch.from_numpy({stacked})", is_factory=False)])
    rewards = New("r", "torch.tensor([{t}[1] for {t} in {memory}])")
    return Plan(
        (),
        (states, rewards, FORWARD, "{loss} = ({out}.max(dim=1).values - {r}).pow(2).mean()"),
        setup=(network(shape), OPTIMIZER, "{memory} = deque(maxlen=8)", "for _ in range(4):", row),
    )


kind("replay-states", "x", **NO_LOADER)(_replay)
kind("replay-rewards", "r", **NO_LOADER)(_replay)

_ENCODING: tuple[Item, ...] = (
    "class {Enc}(dict):",
    "    def to(self, device):",
    "        return {Enc}({{k}: {t}.to(device) for {k}, {t} in self.items()})",
    "",
    "",
)
_READER: tuple[Item, ...] = (
    "class {Net}(nn.Module):",
    "    def __init__(self):",
    "        super().__init__()",
    "        self.{fc} = nn.Linear(4, 2)",
    "",
    "    def forward(self, {kx}, {ky}):",
    "        return self.{fc}({kx} * {ky})",
    "",
    "",
)


def _tokenizer(made: str) -> tuple[Item, ...]:
    size = "len({texts}), 4"
    return (
        "class {Tok}:",
        "    def __call__(self, {texts}):",
        f"        return {made}({{kx}}=torch.ones({size}), {{ky}}=torch.ones({size}))",
        "",
        "",
    )


_READING: tuple[Item, ...] = (New("net", "{Net}()", is_module=True), OPTIMIZER, "{tok} = {Tok}()")
_TEXTS = '{tok}(["one", "two"])'


@kind("encoding", "q", move=tuple(sorted({"to-0", "to-string", *BY_DEVICE})), **NO_LOADER, **OWN_NETWORK)
def _encoding(shape: Shape) -> Plan:
    step = (New("q", _TEXTS, is_factory=False), "{out} = {net}(**{q})", SQUARES)
    return Plan((), step, defs=(*_ENCODING, *_tokenizer("{Enc}"), *_READER), setup=_READING)


@kind("encoding-dict", **NO_LOADER, **OWN_NETWORK, **PLACED)
def _encoding_dict(shape: Shape) -> Plan:
    moved = f"{{q}} = {{{{k}}: {{t}}.to({{place}}) for {{k}}, {{t}} in {_TEXTS}.items()}}"
    step = (Either((moved,), (f"{{q}} = {_TEXTS}",)), "{out} = {net}(**{q})", SQUARES)
    return Plan((), step, defs=(*_tokenizer("dict"), *_READER), setup=_READING)
