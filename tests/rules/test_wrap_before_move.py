"""DVF208: DataParallel and DistributedDataParallel."""

from textwrap import indent

import pytest
from devfix_codemods.findings import Safety

CODE = "DVF208"

HEAD = """\
import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 2)

"""

COPY = "import copy\n" + HEAD
TWICE = (
    HEAD
    + """
def other(rank):
    class Part(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(2, 2)

    return Part()

"""
)


def worker(body: str, head: str = HEAD) -> str:
    return head + "\ndef main(rank, device, args, given):\n" + indent(body, " " * 4) + "\n"


SILENT = {
    "several numbers under a star": worker("model = Net()\nmodel = DDP(model, device_ids=[*given])"),
    "numbers that are no list": worker("model = Net()\nmodel = DDP(model, device_ids={rank})"),
    "a copy of what is moved": worker("net = Net().to(rank)\nmodel = DDP(copy.deepcopy(net), device_ids=[rank])", COPY),
    "a copy that has a name": worker(
        "net = Net().to(rank)\ntwin = copy.deepcopy(net)\nmodel = DDP(twin, device_ids=[rank])", COPY
    ),
    "converted as it is moved": worker(
        "net = nn.SyncBatchNorm.convert_sync_batchnorm(Net().cuda(rank))\nmodel = DDP(net, device_ids=[rank])"
    ),
    "one of two classes of a name moves its parts": worker(
        """
class Part(nn.Module):
    def __init__(self, rank):
        super().__init__()
        self.fc = nn.Linear(2, 2).cuda(rank)
model = Part(rank)
model = DDP(model, device_ids=[rank])
""",
        TWICE,
    ),
    "a base class moves its parts": worker(
        "model = Small(rank)\nmodel = DDP(model, device_ids=[rank])",
        HEAD
        + """
class Large(nn.Module):
    def __init__(self, rank):
        super().__init__()
        self.fc = nn.Linear(2, 2).cuda(rank)


class Small(Large):
    pass
""",
    ),
    "a class that is not in sight gets the device": worker(
        "model = EncoderNet(args.local_rank)\nmodel = DDP(model, device_ids=[args.local_rank])",
        "from nets import EncoderNet\n" + HEAD,
    ),
    "of a module that lightning places": "import lightning as L\n"
    + HEAD
    + """
class Task(L.LightningModule):
    def setup(self, stage):
        self.net = DDP(Net(), device_ids=[self.local_rank])
""",
    "accelerate is at work": worker(
        "model = Net()\nmodel = DDP(model, device_ids=[rank])", "from accelerate import Accelerator\n" + HEAD
    ),
    "moved by a method of the class": HEAD
    + """
class Runner:
    def __init__(self, rank):
        self.model = Net()
        self.place()
        self.model = DDP(self.model, device_ids=[rank])

    def place(self):
        self.model.to(device)
""",
    "moved where it is built": worker("model = Net().to(rank)\nmodel = DDP(model, device_ids=[rank])"),
    "moved before": worker("model = Net()\nmodel.cuda(rank)\nmodel = DDP(model, device_ids=[rank])"),
    "moved in the call": worker("model = Net()\nmodel = DDP(model.to(rank), device_ids=[rank])"),
    "moved by a helper": worker("model = Net()\nprepare(model)\nmodel = DDP(model, device_ids=[rank])"),
    "given": worker("model = DDP(given, device_ids=[rank]).to(rank)"),
    "made by a function that moves it": worker(
        "model = build(rank)\nmodel = DDP(model, device_ids=[rank])",
        HEAD + "\ndef build(rank):\n    net = Net()\n    return net.to(rank)\n\n",
    ),
    "of another function": worker("model = build(args)\nmodel = DDP(model, device_ids=[rank])"),
    "no device ids": worker("model = DDP(Net()).to(rank)"),
    "none for device ids": worker("model = DDP(Net(), device_ids=None)"),
    "data parallel moved after": worker("model = nn.DataParallel(Net(), device_ids=[0, 1]).to(device)"),
    "data parallel moved later": worker("model = nn.DataParallel(Net())\nmodel.cuda()"),
    "a default device": worker(
        "torch.set_default_device(rank)\nmodel = Net()\nmodel = DDP(model, device_ids=[rank])",
    ),
    "batch norms converted": worker(
        "model = Net().to(rank)\nmodel = nn.SyncBatchNorm.convert_sync_batchnorm(model)\n"
        "model = DDP(model, device_ids=[rank])"
    ),
    "wrapped twice in branches": worker(
        "for model in given:\n    if args:\n        model = DDP(model, device_ids=None)\n"
        "    else:\n        model = DDP(model, device_ids=[rank])"
    ),
    "a class that moves itself": worker(
        "model = Net()\nmodel = DDP(model, device_ids=[rank])",
        HEAD.replace("nn.Linear(2, 2)", "nn.Linear(2, 2).cuda()"),
    ),
    "a class that is told its device": worker("model = Net(device=rank)\nmodel = DDP(model, device_ids=[rank])"),
    "another library's": worker(
        "model = Net()\nmodel = DDP(model, device_ids=[rank])",
        "from apex.parallel import DistributedDataParallel as DDP\n",
    ),
    "nccl alone needs a card": worker(
        'device = torch.device("cuda" if torch.cuda.is_available() else "cpu")\n'
        "model = Net().to(device)\nmodel = DDP(model, device_ids=[rank])"
    ),
    "over gloo where CUDA was asked for": worker(
        'dist.init_process_group("gloo")\n'
        'device = torch.device("cuda" if torch.cuda.is_available() else "cpu")\nmodel = Net().to(device)\n'
        "if torch.cuda.is_available():\n    model = DDP(model, device_ids=[device])"
    ),
    "the same index": worker('model = Net().to("cuda:1")\nmodel = nn.DataParallel(model, device_ids=[1, 2])'),
    "a device by choice": worker(
        'device = torch.device("cuda" if torch.cuda.is_available() else "cpu")\nmodel = Net().to(device)\n'
        "model = nn.DataParallel(model, device_ids=list(range(2)))"
    ),
    "parameters asked where no replica runs": HEAD
    + "    @property\n    def device(self):\n        return next(self.parameters()).device\n"
    + "\n# nn.DataParallel\n",
}


@pytest.mark.parametrize("program", SILENT.values(), ids=SILENT.keys())
def test_silent(rule, program):
    assert rule.findings(program) == ()


def test_replicas_must_be_spoken_of(rule):
    assert rule.findings(REPLICA.replace("nn.DataParallel(Net())", "Net()")) == ()


CONVERTED = "model = nn.SyncBatchNorm.convert_sync_batchnorm(model)"
ASKED = "model = DDP(model, device_ids=[rank] if torch.cuda.is_available() else None)"
GLOO = """\
dist.init_process_group("gloo")
device = torch.device(f"cuda:{rank}" if torch.cuda.is_available() else "cpu")"""

FIXED = {
    "chain": (
        "model = Net()\nmodel = DDP(model, device_ids=[rank]).to(device)",
        "model = Net()\nmodel = DDP(model.to(device), device_ids=[rank])",
    ),
    "chain by cuda": (
        "model = Net()\nmodel = DDP(model, [rank], find_unused_parameters=True).cuda(rank)",
        "model = Net()\nmodel = DDP(model.to(rank), [rank], find_unused_parameters=True)",
    ),
    "never moved": (
        "model = Net()\nmodel = DDP(model, device_ids=[args.gpu])",
        "model = Net()\nmodel = DDP(model.to(args.gpu), device_ids=[args.gpu])",
    ),
    "moved too late": (
        "model = Net()\nmodel = DDP(model, device_ids=[rank])\nmodel.to(rank)",
        "model = Net()\nmodel = DDP(model.to(rank), device_ids=[rank])\nmodel.to(rank)",
    ),
    "built in the call": (
        "model = DDP(Net(), device_ids=[rank])",
        "model = DDP(Net().to(rank), device_ids=[rank])",
    ),
    "told its device by a list with a name": (
        "model, ids = Net(), [rank]\nmodel = DDP(model, device_ids=ids)",
        "model, ids = Net(), [rank]\nmodel = DDP(model.to(ids[0]), device_ids=ids)",
    ),
    "one of two models": (
        "model = DDP(Net() if args.big else Net(), device_ids=[rank])",
        "model = DDP((Net() if args.big else Net()).to(rank), device_ids=[rank])",
    ),
    "one of two models in a chain": (
        "model = DDP(Net() if args.big else Net(), device_ids=[rank]).to(device)",
        "model = DDP((Net() if args.big else Net()).to(device), device_ids=[rank])",
    ),
    "a chain with comments and further options": (
        "model = DDP(\n    module=Net(),  # the small one\n    device_ids=[rank], **given\n).to(device)",
        "model = DDP(\n    module=Net().to(device),  # the small one\n    device_ids=[rank], **given\n)",
    ),
    "converted before": (
        f"model = Net()\n{CONVERTED}\nmodel = DDP(model, device_ids=[rank])",
        f"model = Net()\n{CONVERTED}\nmodel = DDP(model.to(rank), device_ids=[rank])",
    ),
    "a number for a list": (
        "model = Net().to(rank)\nmodel = DDP(model, device_ids=0)",
        "model = Net().to(rank)\nmodel = DDP(model, device_ids=[0])",
    ),
    "on the host over gloo": (
        f"{GLOO}\nmodel = Net().to(device)\nmodel = DDP(model, device_ids=[rank])",
        f"{GLOO}\nmodel = Net().to(device)\n{ASKED}",
    ),
}


@pytest.mark.parametrize(("before", "after"), FIXED.values(), ids=FIXED.keys())
def test_fixed(rule, before, after):
    assert rule.fixed(worker(before)) == worker(after)


def test_what_a_function_wraps_itself_beside_lightning(rule):
    before = worker("model = Net()\nmodel = DDP(model, device_ids=[rank]).to(device)", "import lightning as L\n" + HEAD)
    assert "model = DDP(model.to(device), device_ids=[rank])" in rule.fixed(before)


def test_what_a_function_of_the_file_makes_is_on_the_host(rule):
    head = HEAD + "\ndef build():\n    net = Net()\n    net.eval()\n    return net\n\n"
    before = worker("model = build()\nmodel = DDP(model, device_ids=[rank])", head)
    assert rule.fixed(before) == before.replace("DDP(model,", "DDP(model.to(rank),")


ADVICE = {
    "device ids for cards alone": (
        "model = Net()\nmodel = DDP(model, device_ids=[rank] if torch.cuda.is_available() else None).to(device)"
    ),
    "another index": 'model = Net().to("cuda:1")\nmodel = nn.DataParallel(model, device_ids=[0, 1])',
    "another number": "model = Net()\nmodel.cuda(2)\nmodel = DDP(model, device_ids=[0])",
    "a configured device": (
        "device = torch.device(args.device)\nmodel = Net().to(device)\n"
        "model = nn.DataParallel(model, device_ids=list(range(args.gpus)))"
    ),
}


@pytest.mark.parametrize("body", ADVICE.values(), ids=ADVICE.keys())
def test_advice_alone(rule, body):
    assert rule.safeties(worker(body)) == [Safety.MANUAL]


REPLICA = """\
import torch
from torch import nn


class Net(nn.Module):
    def forward(self, lengths, x, mask=None):
        device = next(self.parameters()).device
        noise = torch.zeros(x.size(), device=device)
        return self.shift(x) + noise

    def shift(self, y):
        return y.float() + torch.ones(1, device=next(self.parameters()).device)

    def export(self, x):
        return x.new_zeros(1, device=next(self.parameters()).device)


model = nn.DataParallel(Net())
"""


def test_replicas_take_the_device_of_an_input(rule):
    fixed = rule.unchanged_unless_unsafe(REPLICA)
    assert fixed == REPLICA.replace("next(self.parameters()).device", "x.device", 1).replace(
        "torch.ones(1, device=next(self.parameters()).device)", "torch.ones(1, device=y.device)"
    )


def test_parameters_that_nothing_asks_for_the_next_one(rule):
    program = REPLICA.replace("next(self.parameters()).device", "self.parameters().device")
    assert rule.findings(f"{program}# next(self.parameters()).device\n") == ()


def test_an_input_that_is_moved_there_gets_advice_alone(rule):
    program = REPLICA.replace("noise = torch.zeros", "x = x.to(device)\n        noise = torch.zeros")
    assert sorted(map(str, rule.safeties(program))) == ["manual", "unsafe"]


BY_NUMBER = (
    HEAD
    + """
class Runner:
    def __init__(self, net, {parameter}):
        if card {asks}:
            net = net.cuda(card)
        self.card = torch.device("cuda", card) if card {asks} else torch.device("cpu")
        {before}
        self.net = DDP(net, device_ids={ids})
"""
)


@pytest.mark.parametrize(
    ("parameter", "asks", "before", "ids"),
    [
        ("card", ">= 0", "", "[self.card]"),
        ("card=0", ">= 0", "", "[self.card]"),
        ("card=-1", "is not None", "", "[self.card]"),
        ("card=-1", ">= 0", "torch.distributed.init_process_group('nccl')", "[self.card]"),
        ("card=-1", ">= 0", "", "[self.card] if card >= 0 else None"),
        ("card=-1", ">= 0", "", "None"),
        ("card=-1", ">= 0", "", "[net.card]"),
        ("card=-1", ">= 0", "", "[rank]"),
        ("card=-1", ">= 0", "if self.card.type != 'cuda' or device: return", "[other.card]"),
    ],
)
def test_cards_that_are_there(rule, parameter: str, asks: str, before: str, ids: str) -> None:
    assert rule.findings(BY_NUMBER.format(parameter=parameter, asks=asks, before=before, ids=ids)) == ()


@pytest.mark.parametrize(("asks", "ids"), [(">= 0", "[self.card]"), ("> -1", "[card]"), ("!= -1", "(self.card,)")])
def test_the_host_by_its_number_is_no_card(rule, asks: str, ids: str) -> None:
    one = rule.finding(BY_NUMBER.format(parameter="card: int = -1", asks=asks, before="", ids=ids))
    assert one.fix is not None
    assert one.fix.safety is Safety.MANUAL
    assert "device_ids=None" in (one.advice or "")
