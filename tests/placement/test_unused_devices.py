"""A device that a function is told, or gives a name, and does nothing with: it forgot what it makes."""

import pytest
from devfix_codemods import testing
from devfix_codemods.placement import unused_devices

FORGOTTEN = {
    "a tensor of an array": (
        "def f(rows, device):\n    return torch.from_numpy(rows)\n",
        "torch.from_numpy(rows)",
    ),
    "a module that is given back": (
        "def load(device, path):\n    net = Net.from_pretrained(path)\n    net.eval()\n    return net\n",
        "Net.from_pretrained(path)",
    ),
    "a module that an object keeps": (
        """
        class Worker:
            def load(self, device: str):
                self.net = nn.Linear(2, 2).eval()
        """,
        "nn.Linear(2, 2)",
    ),
    "a name that is not used": (
        """
        class Net(nn.Module):
            def forward(self, x):
                n, device = x.shape[-1], x.device
                return sample(torch.arange(self.count))
        """,
        "torch.arange(self.count)",
    ),
    "what is filled with itself": (
        "def f(n, device):\n    x = torch.zeros(n, 3)\n    x[:, 0] += 3\n    return x\n",
        "torch.zeros(n, 3)",
    ),
    "a module that is given in an object": (
        "def load(path, device):\n    net = Net.from_pretrained(path)\n    net.eval()\n    return Predictor(net), 3\n",
        "Net.from_pretrained(path)",
    ),
    "what goes to a function that is not read": (
        "def f(self, sampler):\n    device = self.op.device\n    return sampler.run(torch.randn(3, 4))\n",
        "torch.randn(3, 4)",
    ),
}
FINE = {
    "used": "def f(rows, device=None):\n    x = torch.from_numpy(rows)\n    return put(x, device)\n",
    "a device that may be left out": "def f(rows, device=None):\n    return torch.from_numpy(rows)\n",
    "used on one path": """
        def f(model, opt):
            if model is None:
                device = torch.device(opt.device)
                model = load(device)
            else:
                device = model.device
            return torch.arange(3)
    """,
    "what is kept in an object of an unread class": """
        class Agent:
            def __init__(self, n, device):
                self.space = Box(torch.zeros(n))
                self.data = ReplayDataset(torch.zeros(n, 3))
    """,
    "what is given in an object of an unread class": "def f(n, device):\n    return Figure(torch.linspace(0, 1, n))\n",
    "what is listed": "def f(n, device=None):\n    return torch.ones(n).tolist()\n",
    "a module that may be told no device": "def f(n, device=None):\n    return nn.Linear(n, n)\n",
    "what is given in what an unread function makes": (
        "def load(path, device):\n    net = Net.from_pretrained(path)\n    net.eval()\n    return prepare(net)\n"
    ),
    "given in an object by a function that is told no device": (
        "def load(path):\n    device = 'cuda'\n    net = Net.from_pretrained(path)\n    return Predictor(net)\n"
    ),
    "used by a function inside": """
        def f(x):
            device = x.device
            def g(y):
                return y.to(device)
            return torch.arange(3), g
    """,
    "a module that is given to what trains it": """
        def main(device):
            net = nn.Linear(3, 3)
            return fit(net, nn.MSELoss())
    """,
    "what is filled with what others give": (
        "def f(n, rows, device):\n    x = torch.zeros(n, 3)\n    x[:, 0] += read(rows)\n    return x\n"
    ),
    "a module that is put into another one": "def adapt(net, device):\n    net.fc = nn.Linear(3, 2)\n",
}


@pytest.mark.parametrize(("program", "birth"), FORGOTTEN.values(), ids=FORGOTTEN)
def test_what_is_made_belongs_there(placed, program: str, birth: str) -> None:
    assert "unused-device" in placed(program).of(birth).links


@pytest.mark.parametrize("program", ["def f(n, device=None):\n    return torch.ones(n)\n"])
def test_a_factory_that_may_be_told_no_device_is_told_as_a_suggestion(placed, program: str) -> None:
    (found,) = placed(program).conflicts
    assert "unused-beside-parameter" in found.links
    assert found.confidence < 0.5


@pytest.mark.parametrize("program", FINE.values(), ids=FINE)
def test_devices_that_are_used_and_what_others_place(placed, program: str) -> None:
    assert placed(program).births == []


MODULE = """
    class Wave(nn.Module):
        def __init__(self, n, device="cpu"):
            super().__init__()
            {kept}
        def forward(self, x):
            return x * self.scale
"""


@pytest.mark.parametrize("made", ["torch.ones(n)", "torch.Tensor(n)", "torch.empty(n).fill_(2.0)", "torch.ones(n) * 2"])
def test_parameters_are_moved_with_their_module(placed, made):
    """A device that a module forgets says little of them, and more of what it keeps beside them."""
    found = placed(MODULE.format(kept=f"self.scale = nn.Parameter({made})"))
    assert all(one.confidence < 0.5 for one in found.conflicts)


def test_what_a_module_keeps_beside_its_parameters_belongs_on_the_device(placed):
    assert placed(MODULE.format(kept="self.scale = torch.ones(n)")).conflicts[0].confidence > 0.7


def test_what_makes_a_value_is_dumped_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []
    making = unused_devices._making
    monkeypatch.setattr(unused_devices, "_making", lambda made: asked.append(made) or making(made))
    lines = (f"    a{i} = torch.zeros({i}, device=device)\n    b{i} = torch.ones({i})\n" for i in range(20))
    testing.findings("import torch\ndef f(device):\n" + "".join(lines), "DVF104")
    assert len(asked) <= 2 * 40


FED = """
    def evaluate(net, rows, device):
        {before}
        for row, label in rows:
            {lines}
            keep({fed}(row.unsqueeze(0)).argmax(1).item() == label)
"""


@pytest.mark.parametrize(
    ("before", "lines", "fed"),
    [
        ("net.eval()", "row = row.to(device)", "net"),
        ("net.eval()", "print(device)", "net"),
        ("net.eval()", "pass", "measure"),
        ("net = nn.Linear(3, 4)", "pass", "net"),
        ("net.eval()", "row = nn.functional.one_hot(label, 4)", "net"),
    ],
)
def test_what_a_loop_gives_to_others_or_with_the_device(placed, before: str, lines: str, fed: str) -> None:
    assert "row" not in placed(FED.format(before=before, lines=lines, fed=fed)).births


@pytest.mark.parametrize("before", ["net.eval()", "net = net.eval()"])
def test_what_a_loop_gives_to_a_module_beside_a_forgotten_device(placed, before: str) -> None:
    assert placed(FED.format(before=before, lines="pass", fed="net")).births == ["row"]


UNREAD = """
    from zoo import load_net, Net
    def evaluate({given}):
        device = "cuda"
        {made}
        for x, y in rows:
            keep({fed}(x).argmax(1))
"""


@pytest.mark.parametrize(
    ("given", "made", "fed"),
    [("rows", "net = nn.Linear(3, 4)", "net"), ("rows, measure", "pass", "measure"), ("rows", "net = Net(4)", "net")],
)
def test_what_is_given_to_what_is_known_or_no_model(placed, given: str, made: str, fed: str) -> None:
    assert "x" not in placed(UNREAD.format(given=given, made=made, fed=fed)).births


@pytest.mark.parametrize(
    ("given", "made", "fed"),
    [("rows", "net = load_net(rows); net.eval()", "net"), ("rows, policy_net", "pass", "policy_net")],
)
def test_what_is_given_to_a_model_of_which_little_is_known(placed, given: str, made: str, fed: str) -> None:
    assert "x" in placed(UNREAD.format(given=given, made=made, fed=fed)).births


SCRIPT = """
    import zoo
    def evaluate(model, rows):
        device = next(model.parameters()).device
        {inside}
        return [model(row.to(device)) for row in rows]
    def main(options, rows):
        device = torch.device(options.device)
        model = zoo.load(options.name)
        model.eval()
        print(type(model))
        {shown}
        return {given}
"""


@pytest.mark.parametrize(
    "shown", ["pass", "print(device)", 'logger.info(f"runs on {device}")', 'print("on " "%s", device)']
)
def test_a_device_that_is_only_shown_is_forgotten(placed, shown: str) -> None:
    program = SCRIPT.format(inside="model.eval()", shown=shown, given="evaluate(model, rows)")
    assert "zoo.load(options.name)" in placed(program).births


@pytest.mark.parametrize(
    ("inside", "shown", "given"),
    [
        ("model.to(options.device)", "pass", "evaluate(model, rows)"),
        ("model = model.cuda()", "pass", "evaluate(model, rows)"),
        ("model.eval()", "pass", "Runner(model, rows)"),
        ("model.eval()", "pass", "evaluate(model, rows), Runner(model)"),
    ],
)
def test_a_model_that_others_move_or_may_move(placed, inside: str, shown: str, given: str) -> None:
    program = SCRIPT.format(inside=inside, shown=shown, given=given)
    assert "zoo.load(options.name)" not in placed(program).births


EMBED = """
    def embed(rows, net, kept, device="cuda"):
        for row in range(3):
            kept.append({what}({made}).detach().cpu().numpy())
        return kept
"""


@pytest.mark.parametrize(
    ("what", "made"), [("measure", "torch.tensor(rows[row])"), ("net", "torch.tensor(rows[row]).to(device)")]
)
def test_what_is_handed_to_others_or_moved(placed, what: str, made: str) -> None:
    assert "torch.tensor(rows[row])" not in placed(EMBED.format(what=what, made=made)).births


def test_what_is_made_for_a_given_model_beside_a_forgotten_device(placed) -> None:
    program = EMBED.format(what="net", made="torch.tensor(rows[row])").replace("rows, net,", "rows, net: nn.Module,")
    assert placed(program).births == ["torch.tensor(rows[row])"]


COPY = """
    class Net(nn.Module):
        def predict(self, batch, size, device):
            part = {{name: {taken} for name, value in batch.items(){test}}}
            return self(part)
"""


@pytest.mark.parametrize(
    ("taken", "test"),
    [("value[:size]", ""), ("value[:, :size].to(device)", ""), ("value[0]", ""), ("value[:, :size]", " if name")],
)
def test_copies_that_move_or_may_be_of_lists(placed, taken: str, test: str) -> None:
    assert placed(COPY.format(taken=taken, test=test)).births == []


@pytest.mark.parametrize("taken", ["value[:, :size]", "value[..., :size]"])
def test_copies_of_slices_beside_a_forgotten_device(placed, taken: str) -> None:
    assert placed(COPY.format(taken=taken, test="")).births == [taken]


CLEARED = """
    def train(loader, {name}, optimizer, device):
        for x, y in loader:
            {name}.zero_grad()
            {call}
            optimizer.step()
"""


@pytest.mark.parametrize("call", ["{name}.step(x)", "measure(x)", "{name}(x.to(device))"])
def test_what_is_cleared_and_not_fed_may_be_an_optimizer(placed, call: str) -> None:
    assert placed(CLEARED.format(name="net", call=call.format(name="net"))).births == []


@pytest.mark.parametrize("name", ["model", "net"])
def test_what_is_cleared_and_called_is_a_model(placed, name: str) -> None:
    call = f"nn.functional.mse_loss({name}(x), x).backward()"
    assert placed(CLEARED.format(name=name, call=call)).births == ["x"]


PAIRS = """
    class Net(nn.Module):
        def predict(self, batch, device):
            part = [{taken} for {target} in batch]
            return self(part)
"""


def test_halves_of_pairs_are_no_copies(placed) -> None:
    assert placed(PAIRS.format(taken="b", target="a, b")).births == []


def test_all_of_a_list_beside_a_forgotten_device(placed) -> None:
    assert placed(PAIRS.format(taken="b", target="b")).births == ["b"]
