"""Kinds of bugs about what is made once: networks, what they hold and make, losses and checkpoints."""

from __future__ import annotations

from variation.kinds_batch import (
    CRITERION,
    FORWARD,
    LOSS,
    MOVES,
    OPTIMIZER,
    SERIES,
    X,
    Y,
    classifier,
    network,
)
from variation.plans import OWN_NETWORK, PLACED, Again, Either, Item, Like, New, Plan, kind
from variation.shapes import Shape

_OWN: tuple[Item, ...] = (New("net", "{Net}()", is_module=True), OPTIMIZER, CRITERION)
_ATTACHED = "        self.{fc} = nn.Linear(4, 2)"


def module(made: tuple[Item, ...], forward: tuple[Item, ...], methods: tuple[Item, ...] = ()) -> tuple[Item, ...]:
    """A class of a network."""
    start = ("class {Net}(nn.Module):", "    def __init__(self):", "        super().__init__()")
    return (*start, *made, "", *methods, "    def forward(self, {x}):", *forward, "", "")


def _own(defs: tuple[Item, ...]) -> Plan:
    return Plan((X, Y), (MOVES, FORWARD, LOSS), defs=defs, setup=_OWN)


@kind("teacher", "net2")
def _teacher(shape: Shape) -> Plan:
    step = (MOVES, FORWARD, "with torch.no_grad():", "    {out2} = {net2}({x})")
    loss = "{loss} = ({out} - {out2}).pow(2).mean()"
    return Plan((X, Y), (*step, loss), setup=(network(shape), network(shape, "net2"), OPTIMIZER))


@kind("critic", "net2")
def _critic(shape: Shape) -> Plan:
    critic = New("net2", shape.pick(["nn.Linear(2, 1)", "nn.Sequential(nn.Linear(2, 1), nn.Sigmoid())"]), True)
    step = (MOVES, FORWARD, "{got} = {net2}({out})", "{loss} = {got}.mean()")
    second = "{opt2} = torch.optim.SGD({net2}.parameters(), lr=0.1)"
    return Plan((X, Y), step, setup=(network(shape), critic, OPTIMIZER, second))


@kind("loss-module", "crit")
def _loss_module(shape: Shape) -> Plan:
    made = New("crit", "nn.CrossEntropyLoss(weight=torch.tensor([1.0, 2.0]))", is_module=True)
    return Plan((X, Y), (MOVES, FORWARD, LOSS), setup=(network(shape), OPTIMIZER, made))


@kind("class-weight", "w")
def _class_weight(shape: Shape) -> Plan:
    made = New("w", shape.pick(["torch.tensor([1.0, 2.0])", "torch.ones(2)", "torch.FloatTensor([1.0, 2.0])"]))
    if shape.form == "comprehension":
        made = New("w", "torch.tensor([1.0, 2.0])")
    if shape.variant % 2:
        return Plan(
            (X, Y),
            (MOVES, FORWARD, "{loss} = F.cross_entropy({out}, {y}, weight={w})"),
            setup=(network(shape), OPTIMIZER, made),
        )
    weighted = "{crit} = nn.CrossEntropyLoss(weight={w})"
    return Plan((X, Y), (MOVES, FORWARD, LOSS), setup=(network(shape), OPTIMIZER, made, weighted))


@kind("factory-positions", **OWN_NETWORK)
def _positions(shape: Shape) -> Plan:
    made = ("        self.{fc2} = nn.Embedding(4, 4)", _ATTACHED)
    places = Like("n", "torch.arange({x}.size(0))", "x")
    return _own(module(made, (places, "        return self.{fc}({x} + self.{fc2}({n}))")))


@kind("factory-mask", **OWN_NETWORK)
def _factory_mask(shape: Shape) -> Plan:
    made = Like("m", shape.pick(["torch.ones({x}.size(0), 4)", "torch.zeros({x}.shape)", "torch.eye(2, 4)"]), "x")
    used = shape.pick(["{x} * {m}", "{x}.masked_fill({m} == 0, 0.0)", "{x} + {m}"])
    return _own(module((_ATTACHED,), (made, f"        return self.{{fc}}({used})")))


@kind("factory-cat", **OWN_NETWORK)
def _factory_cat(shape: Shape) -> Plan:
    made = Like("z", shape.pick(["torch.zeros(2, 2)", "torch.randn(2, 2)"]), "x")
    return _own(module((_ATTACHED,), (made, "        return self.{fc}(torch.cat([{x}[:, :2], {z}], dim=1))")))


@kind("factory-eye", **OWN_NETWORK)
def _factory_eye(shape: Shape) -> Plan:
    made = Like("z", "torch.eye(4)", "x")
    used = shape.pick(["        return self.{fc}({x} @ {z})", "        return self.{fc}(torch.matmul({x}, {z}))"])
    return _own(module((_ATTACHED,), (made, used)))


def _recurrent(forward: tuple[Item, ...], methods: tuple[Item, ...] = ()) -> Plan:
    made = ("        self.{rnn} = nn.GRU(4, 4, batch_first=True)", _ATTACHED)
    last = ("        {out}, {h} = self.{rnn}({x}, {h})", "        return self.{fc}({out}[:, -1])")
    return Plan((SERIES, Y), (MOVES, FORWARD, LOSS), defs=module(made, (*forward, *last), methods), setup=_OWN)


@kind("hidden-in-forward", **OWN_NETWORK)
def _hidden_in_forward(shape: Shape) -> Plan:
    return _recurrent((Like("h", "torch.zeros(1, {x}.size(0), 4)", "x"),))


@kind("hidden-in-method", **OWN_NETWORK)
def _hidden_in_method(shape: Shape) -> Plan:
    device = shape.pick(["next(self.parameters()).device", "self.{fc}.weight.device"])
    right = f"        return torch.zeros(1, {{n}}, 4, device={device})"
    made = Either((right,), ("        return torch.zeros(1, {n}, 4)",))
    methods = ("    def {acc}(self, {n}):", made, "")
    return _recurrent(("        {h} = self.{acc}({x}.size(0))",), methods)


@kind("attribute", **OWN_NETWORK)
def _attribute(shape: Shape) -> Plan:
    value = shape.pick(["torch.ones(4)", "torch.tensor([1.0, 2.0, 3.0, 4.0])", "torch.linspace(0, 1, 4)"])
    plain = f"        self.{{buf}} = {value}"
    if shape.variant % 2:
        buffer = f'        self.register_buffer("{{buf}}", {value})'
        made: Item = Either((buffer,), (plain,))
        used: Item = "        return self.{fc}({x} * self.{buf})"
    else:
        made = plain
        moved = "        return self.{fc}({x} * self.{buf}.to({x}.device))"
        used = Either((moved,), ("        return self.{fc}({x} * self.{buf})",))
    return _own(module((made, _ATTACHED), (used,)))


@kind("positional-encoding", **OWN_NETWORK)
def _positional(shape: Shape) -> Plan:
    made = ("        {z} = torch.arange(8).unsqueeze(1) * torch.ones(4)", "        {z} = torch.sin({z})")
    kept = Either(
        ('        self.register_buffer("{buf}", {z}.unsqueeze(0))',), ("        self.{buf} = {z}.unsqueeze(0)",)
    )
    used = (
        "        {x} = {x} + self.{buf}[:, : {x}.size(1)]",
        "        return self.{fc}({x}.mean(dim=1))",
    )
    return Plan((SERIES, Y), (MOVES, FORWARD, LOSS), defs=module((*made, kept, _ATTACHED), used), setup=_OWN)


@kind("plain-list", **OWN_NETWORK)
def _plain_list(shape: Shape) -> Plan:
    listed = "[nn.Linear(4, 4) for _ in range(2)]"
    made = Either((f"        self.{{parts}} = nn.ModuleList({listed})",), (f"        self.{{parts}} = {listed}",))
    used = ("        for {part} in self.{parts}:", "            {x} = {part}({x})", "        return self.{fc}({x})")
    return _own(module((made, _ATTACHED), used))


@kind("plain-dict", **OWN_NETWORK)
def _plain_dict(shape: Shape) -> Plan:
    listed = '{"one": nn.Linear(4, 4), "two": nn.Linear(4, 4)}'
    made = Either((f"        self.{{parts}} = nn.ModuleDict({listed})",), (f"        self.{{parts}} = {listed}",))
    return _own(module((made, _ATTACHED), ('        return self.{fc}(self.{parts}["one"]({x}))',)))


@kind("head", "net2", network=("class", "sequential"))
def _head(shape: Shape) -> Plan:
    part = "{net}.{fc}" if shape.network == "class" else "{net}[2]"
    if shape.variant % 2:
        replaced: tuple[Item, ...] = (f"{part} = nn.Linear(4, 2)", Again("net", key="net2"))
        return Plan((X, Y), (MOVES, FORWARD, LOSS), setup=_again(shape, replaced))
    replaced = (New("net2", "nn.Linear(4, 2)", is_module=True), f"{part} = {{net2}}")
    return Plan((X, Y), (MOVES, FORWARD, LOSS), setup=_again(shape, replaced))


def _again(shape: Shape, replaced: tuple[Item, ...]) -> tuple[Item, ...]:
    return (network(shape), *replaced, OPTIMIZER, CRITERION)


@kind("average-network", "net2")
def _average(shape: Shape) -> Plan:
    made = network(shape).made
    updated = (
        "with torch.no_grad():",
        "    for {s}, {p} in zip({net2}.parameters(), {net}.parameters()):",
        shape.pick(["        {s}.mul_(0.9).add_({p}, alpha=0.1)", "        {s}.lerp_({p}, 0.1)"]),
    )
    setup = (f"{{net}} = {made}", "{net2} = copy.deepcopy({net})", Again("net", always=True), Again("net2"))
    return Plan((X, Y), (MOVES, FORWARD, LOSS, *updated), setup=(*setup, OPTIMIZER, CRITERION))


@kind("average-weights")
def _shadow(shape: Shape) -> Plan:
    copied = "{state} = [{p}.detach().clone() for {p} in {net}.parameters()]"
    updated = (
        "for {s}, {p} in zip({state}, {net}.parameters()):",
        "    {s}.mul_(0.9).add_({p}.detach(), alpha=0.1)",
    )
    setup = (
        f"{{net}} = {network(shape).made}",
        Either((), (copied,)),
        Again("net", always=True),
        Either((copied,), ()),
    )
    return Plan((X, Y), (MOVES, FORWARD, LOSS, *updated), setup=(*setup, OPTIMIZER, CRITERION))


@kind("average-class")
def _average_class(shape: Shape) -> Plan:
    """A class takes the copies, and whoever makes its object moves the network afterwards."""
    start = ("class {Avg}:", "    def __init__(self, {net}):")
    copied, averages = shape.pick(
        [
            ("copy.deepcopy({net})", "self.{buf}.parameters()"),
            ("[{p}.detach().clone() for {p} in {net}.parameters()]", "self.{buf}"),
            ("{{k}: {p}.detach().clone() for {k}, {p} in {net}.state_dict().items()}", "self.{buf}.values()"),
        ]
    )
    updated = (
        "    def {update}(self, {net}):",
        "        with torch.no_grad():",
        f"            for {{s}}, {{p}} in zip({averages}, {{net}}.parameters()):",
        shape.pick(["                {s}.mul_(0.9).add_({p}, alpha=0.1)", "                {s}.lerp_({p}, 0.1)"]),
    )
    made = "{state} = {Avg}({net})"
    setup = (
        f"{{net}} = {network(shape).made}",
        Either((), (made,)),
        Again("net", always=True),
        Either((made,), ()),
    )
    step = (MOVES, FORWARD, LOSS, "{state}.{update}({net})")
    defs = (*start, f"        self.{{buf}} = {copied}", "", *updated, "", "")
    return Plan((X, Y), step, defs=defs, setup=(*setup, OPTIMIZER, CRITERION))


@kind("optimizer-before-move")
def _optimizer(shape: Shape) -> Plan:
    # Adagrad makes its state when it is built.
    built = "{opt} = torch.optim.Adagrad({net}.parameters(), lr=0.1)"
    made = f"{{net}} = {network(shape).made}"
    setup = (made, Either((), (built,)), Again("net", always=True), Either((built,), ()), CRITERION)
    return Plan((X, Y), (MOVES, FORWARD, LOSS), setup=setup)


@kind("loaded-statistics", **PLACED)
def _loaded(shape: Shape) -> Plan:
    loaded = Either(
        ('{w} = torch.load("state.pt", map_location={place})["mean"]',), ('{w} = torch.load("state.pt")["mean"]',)
    )
    saved = 'torch.save({"mean": torch.zeros(4)}, "state.pt")'
    return Plan((X, Y), (MOVES, "{out} = {net}({x} - {w})", LOSS), setup=(*classifier(shape), saved, loaded))


@kind("loaded-to-numpy")
def _loaded_to_numpy(shape: Shape) -> Plan:
    loaded = Either(
        ('{got} = torch.load("out.pt", map_location="cpu").numpy()',), ('{got} = torch.load("out.pt").numpy()',)
    )
    saved = 'torch.save({out}.detach(), "out.pt")'
    return Plan((X, Y), (MOVES, FORWARD, LOSS, saved), setup=classifier(shape), after=(loaded, "print({got}.shape)"))
