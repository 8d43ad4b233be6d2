"""`--add-guards`: assertions that a model is where it should be, once it is set up."""

from textwrap import dedent

import pytest
from devfix_codemods.engine import check, rewrite
from devfix_codemods.outcomes import Changed, Checked, Clean, Options
from devfix_codemods.rules import all_rules
from devfix_codemods.source import Source

ALL = frozenset(rule.code for rule in all_rules())
HEAD = """\
import torch
from torch import nn

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
"""
LOOP = """\
for x in batches:
    loss = model(x.to(device)).sum()
"""
GUARD = 'assert next(model.parameters()).device.type == device.type, "model is not on device"\n'


def source(text: str) -> Source:
    return Source("train.py", text.encode())


def guarded(text: str, *, select: frozenset[str] = frozenset()) -> str:
    """The program with its guards. A second time nothing is added."""
    options = Options(select, guards=True)
    outcome = rewrite(source(text), options)
    assert isinstance(outcome, Changed), outcome
    assert rewrite(Source("train.py", outcome.data), options) == Clean()
    return outcome.data.decode()


# What gets no guard

ALONE = {
    "no loop": HEAD + "model = nn.Linear(2, 2).to(device)\n",
    "not used in the loop": HEAD + "model = nn.Linear(2, 2).to(device)\nfor x in batches:\n    print(model)\n",
    "the loop looks at the parameters": (
        HEAD + "model = nn.Linear(2, 2).to(device)\nfor p in model.parameters():\n    p.requires_grad = False\n"
    ),
    "never moved": HEAD + "model = nn.Linear(2, 2)\n" + LOOP,
    "moved to the host": HEAD + "model = nn.Linear(2, 2).to('cpu')\n" + LOOP,
    "moved to who knows where": HEAD + "model = nn.Linear(2, 2).to(somewhere())\n" + LOOP,
    "moved on a condition": HEAD + "model = nn.Linear(2, 2)\nif fast:\n    model.to(device)\n" + LOOP,
    "moved again, on a condition": (
        HEAD + "model = nn.Linear(2, 2).to(device)\nif slow:\n    model = model.cpu()\n" + LOOP
    ),
    "no parameters": HEAD + "model = nn.Sequential(nn.Flatten(), nn.ReLU()).to(device)\n" + LOOP,
    "buffers only": (
        HEAD + "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.register_buffer('scale', torch.ones(2))\nmodel = Net().to(device)\n" + LOOP
    ),
    "unknown parameters": HEAD + "from models import Net\nmodel = Net().to(device)\n" + LOOP,
    "a part goes elsewhere": HEAD + "model = nn.Linear(2, 2).to(device)\nmodel.table.cpu()\n" + LOOP,
    "a layer goes elsewhere": HEAD + "model = nn.Sequential(nn.Linear(2, 2)).to(device)\nmodel[0].cpu()\n" + LOOP,
    "given to somebody": HEAD + "model = nn.Linear(2, 2).to(device)\nprepare(model)\n" + LOOP,
    "made anew by somebody": HEAD + "model = nn.Linear(2, 2).to(device)\nmodel = quantize(model)\n" + LOOP,
    "cast and moved": HEAD + "model = nn.Linear(2, 2).to(device)\nmodel.to('cpu', torch.half)\n" + LOOP,
    "a method that is not known": HEAD + "model = nn.Linear(2, 2).to(device)\nmodel.prepare(1)\n" + LOOP,
    "cast and taken away": HEAD + "model = nn.Linear(2, 2).to(device)\nmodel.half().cpu()\n" + LOOP,
    "run by a function without a loop": (
        HEAD + "def run(net, x):\n    return net(x)\nmodel = nn.Linear(2, 2).to(device)\nrun(model, x)\n"
    ),
    "a new name": HEAD + "model = nn.Linear(2, 2).to(device)\nfor model in models:\n    pass\n" + LOOP,
    "a device that changes": (
        HEAD + "model = nn.Linear(2, 2).to(device)\ndevice = other()\nmodel.out = nn.Linear(2, 2)\n" + LOOP
    ),
    "a managed model": (
        "import torch\nfrom torch import nn\nfrom accelerate import Accelerator\n"
        "accelerator = Accelerator()\ndevice = accelerator.device\n"
        "model = nn.Linear(2, 2).to(device)\nmodel = accelerator.prepare(model)\n" + LOOP
    ),
    "a LightningModule": (
        "import torch\nfrom torch import nn\nimport pytorch_lightning as pl\n"
        "class Net(pl.LightningModule):\n    def training_step(self, batch, i):\n"
        "        model = nn.Linear(2, 2).to(self.device)\n        for x in batch:\n            model(x)\n"
    ),
    "inside forward": (
        HEAD + "class Net(nn.Module):\n    def forward(self, xs):\n        model = nn.Linear(2, 2).to(device)\n"
        "        for x in xs:\n            model(x)\n"
    ),
    "in a worker": (
        HEAD + "class Data(torch.utils.data.Dataset):\n    def __getitem__(self, i):\n"
        "        model = nn.Linear(2, 2).to(device)\n        for x in self.xs:\n            model(x)\n"
        "loader = torch.utils.data.DataLoader(Data(), num_workers=2)\n"
    ),
    "a guard of one's own": (
        HEAD + "model = nn.Linear(2, 2).to(device)\nassert next(model.parameters()).is_cuda\n" + LOOP
    ),
    "a guard of one's own, later": (
        HEAD + "model = nn.Linear(2, 2).to(device)\nmodel.train()\nassert model.weight.device == device\n" + LOOP
    ),
    "a tensor": HEAD + "model = torch.ones(2).to(device)\nfor x in batches:\n    model.add_(x)\n",
    "a loss": HEAD + "model = nn.CrossEntropyLoss().to(device)\n" + LOOP,
    "silenced": HEAD + "model = nn.Linear(2, 2).to(device)  # devfix: ignore[DVF002]\n" + LOOP,
}


@pytest.mark.parametrize("text", ALONE.values(), ids=ALONE.keys())
def test_left_alone(text: str) -> None:
    outcome = rewrite(source(text), Options(frozenset(), guards=True))
    assert outcome == Clean(), outcome.data.decode() if isinstance(outcome, Changed) else outcome


def test_nobody_gets_a_guard_unasked() -> None:
    text = HEAD + "model = nn.Linear(2, 2).to(device)\n" + LOOP.replace(".to(device)", ".to(device, non_blocking=True)")
    assert check(source(text), Options(ALL, unsafe=True)) == Checked(())
    assert rewrite(source(text), Options(ALL, unsafe=True)) == Clean()


def test_a_comment_may_wait_for_the_option() -> None:
    text = HEAD + "model = nn.Linear(2, 2).to(device)  # devfix: ignore[DVF002]\n"
    assert check(source(text), Options(ALL)) == Checked(())


# What gets one

SET_UPS = {
    "where it is built": "model = nn.Linear(2, 2).to(device)\n",
    "a line of its own": "model = nn.Linear(2, 2)\nmodel.to(device)\n",
    "assigned": "model = nn.Linear(2, 2)\nmodel = model.to(device)\n",
    "wrapped": "model = nn.Linear(2, 2).to(device)\nmodel = nn.DataParallel(model)\n",
    "wrapped on a condition": (
        "model = nn.Linear(2, 2).to(device)\nif torch.cuda.device_count() > 1:\n    model = nn.DataParallel(model)\n"
    ),
    "compiled": "model = nn.Linear(2, 2).to(device)\nmodel = torch.compile(model)\n",
    "moved twice": "model = nn.Linear(2, 2).to(device)\nmodel.head = nn.Linear(2, 2)\nmodel.to(device)\n",
    "a class of its own": (
        "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.out = nn.Linear(2, 2)\n"
        "model = Net().to(device)\n"
    ),
    "a container": "model = nn.Sequential(nn.Flatten(), nn.Linear(2, 2)).to(device)\n",
}


@pytest.mark.parametrize("text", SET_UPS.values(), ids=SET_UPS.keys())
def test_a_guard_after_the_set_up(text: str) -> None:
    assert guarded(HEAD + text + LOOP) == HEAD + text + GUARD + LOOP


BETWEEN = {
    "an optimizer": "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n",
    "modes": "model.train()\nmodel.load_state_dict(state)\n",
    "prints": "print(model, sum(p.numel() for p in model.parameters()))\n",
    "a helper that counts": "total = count_parameters(model)\n",
    "a scheduler": "scheduler = make_scheduler(model, 3)\n",
    "a frozen layer": "for p in model.layers[-1].norm.parameters():\n    p.requires_grad = False\n",
    "a type": "model.half()\n",
    "a look at a layer": "check(model.weight.requires_grad)\n",
    "frozen layers": "for p in model.parameters():\n    p.requires_grad = False\n",
}


@pytest.mark.parametrize("text", BETWEEN.values(), ids=BETWEEN.keys())
def test_what_may_stand_between(text: str) -> None:
    set_up = "model = nn.Linear(2, 2).to(device)\n"
    assert guarded(HEAD + set_up + text + LOOP) == HEAD + set_up + GUARD + text + LOOP


def test_an_optimizer_tells_that_there_are_parameters() -> None:
    set_up = "from models import Net\nmodel = Net().to(device)\n"
    after = "optimizer = torch.optim.Adam(model.parameters())\n"
    assert guarded(HEAD + set_up + after + LOOP) == HEAD + set_up + GUARD + after + LOOP


USES = {
    "an inference loop": "with torch.no_grad():\n    for x in batches:\n        model(x)\n",
    "a loop over epochs": "for epoch in range(3):\n    train_one_epoch(model, loader, device)\n",
    "while": "while True:\n    model(next(batches))\n",
    "a loop that takes it to the host and back": (
        "for x in batches:\n    model(x)\n    model.cpu()\n    save(model)\n    model.to(device)\n"
    ),
    "a branch": "if training:\n    for x in batches:\n        model(x)\n",
}


@pytest.mark.parametrize("text", USES.values(), ids=USES.keys())
def test_what_counts_as_a_use(text: str) -> None:
    set_up = "model = nn.Linear(2, 2).to(device)\n"
    assert guarded(HEAD + set_up + text) == HEAD + set_up + GUARD + text


@pytest.mark.parametrize("step", ["net(x)", "step(x, net)", "step(x, model=net)"])
def test_a_function_of_the_file_that_loops(step: str) -> None:
    function = f"def run(net, batches):\n    for x in batches:\n        {step}\n\n\n"
    set_up, use = "model = nn.Linear(2, 2).to(device)\n", "run(model, batches)\n"
    assert guarded(HEAD + function + set_up + use) == HEAD + function + set_up + GUARD + use


@pytest.mark.parametrize(
    ("device", "move", "wanted", "told"),
    [
        (
            "device = 'cuda' if torch.cuda.is_available() else 'cpu'",
            ".to(device)",
            "torch.device(device).type",
            "device",
        ),
        ("", ".to('cuda:1')", '"cuda"', "cuda"),
        ("", ".cuda()", '"cuda"', "cuda"),
        ("gpu = torch.device('cuda:0')", ".to(gpu)", "gpu.type", "gpu"),
    ],
)
def test_types_are_compared_and_hold_for_every_index(device: str, move: str, wanted: str, told: str) -> None:
    head = f"import torch\nfrom torch import nn\n{device}\nmodel = nn.Linear(2, 2){move}\n"
    use = "for x in batches:\n    model(x)\n"
    guard = f'assert next(model.parameters()).device.type == {wanted}, "model is not on {told}"\n'
    assert guarded(head + use) == head + guard + use


def test_in_a_function() -> None:
    text = dedent(
        """\
        import torch

        def train(model, loader, device):
            model.to(device)
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            for x in loader:
                model(x.to(device)).sum().backward()
                optimizer.step()
        """
    )
    guard = '    assert next(model.parameters()).device.type == torch.device(device).type, "model is not on device"\n'
    assert guarded(text) == text.replace("    optimizer =", f"{guard}    optimizer =")


def test_each_model_gets_its_own() -> None:
    text = HEAD + (
        "net = nn.Linear(2, 2).to(device)\nhead = nn.Linear(2, 2)\nhead.to(device)\n"
        "for x in batches:\n    head(net(x.to(device)))\n"
    )
    after = guarded(text)
    assert after.count("assert next(net.parameters())") == after.count("assert next(head.parameters())") == 1


def test_repairs_come_first() -> None:
    text = HEAD + "model = nn.Linear(2, 2).to(device)\nmodel.out = nn.Linear(2, 2)\n" + LOOP
    moved = HEAD + "model = nn.Linear(2, 2).to(device)\nmodel.out = nn.Linear(2, 2)\nmodel.to(device)\n" + GUARD + LOOP
    assert guarded(text, select=frozenset({"DVF201"})) == moved


def test_it_says_what_it_is() -> None:
    outcome = check(source(HEAD + "model = nn.Linear(2, 2).to(device)\n" + LOOP), Options(frozenset(), guards=True))
    assert isinstance(outcome, Checked)
    (finding,) = outcome.findings
    assert (finding.code, finding.name, finding.span.line) == ("DVF002", "device-guard", 5)
    assert finding.fix is not None
    assert finding.fix.title == "Assert that `model` is on `device`"
