"""DVF101: entries that a method keeps in attributes, of which all but one are moved; slices of them, too."""

import pytest

CODE = "DVF101"

MODEL = """
    import torch
    from networks import define

    class Model:
        def __init__(self, device):
            self.device = device
            self.net = define()
            self.optimizer = torch.optim.Adam(self.net.parameters())
            self.criterion = torch.nn.L1Loss()

        def set_input(self, sample):
            {lines}

        def forward(self):
            self.fake = self.net(self.low)

        def backward(self):
            {used}
"""
LOSS = "self.criterion(self.fake, self.high).backward()"
LOW, HIGH = 'self.low = sample["low"].to(self.device)', 'self.high = sample["high"].to(self.device)'


def _program(*lines: str, used: str = LOSS) -> str:
    return MODEL.format(lines=f"\n{' ' * 12}".join(lines), used=used)


RIGHT = {
    "all are moved": (LOW, HIGH),
    "slices of all are": (
        'self.low = sample["low"][:, 0].to(self.device)',
        'self.high = sample["high"].to(self.device)',
    ),
    "moved in a branch": (LOW, 'if self.low.ndim > 3:\n                self.high = sample["high"].to(self.device)'),
}


@pytest.mark.parametrize("lines", RIGHT.values(), ids=RIGHT)
def test_what_is_moved(rule, lines: tuple[str, ...]) -> None:
    assert rule.findings(_program(*lines)) == ()


@pytest.mark.parametrize(
    ("kept", "used"),
    [
        ('self.path = sample["path"]', "print(self.path)"),
        ('self.h, self.w = sample["size"]', "print(self.h, self.w)"),
        ('self.high = sample["high"]', "save(self.high.numpy())"),
    ],
)
def test_what_is_no_tensor_of_the_device(rule, kept: str, used: str) -> None:
    assert rule.findings(_program(LOW, kept, used=used)) == ()


LEFT = {
    "the target": (LOW, 'self.high = sample["high"]'),
    "a slice of it": (LOW, 'self.high = sample["high"][:, 0, ...]'),
    "the input, beside a slice that is moved": (
        'self.low = sample["low"]',
        'self.high = sample["high"][:, 0].contiguous().to(self.device)',
    ),
    "in a branch": (LOW, 'if self.low.ndim > 3:\n                self.high = sample["high"]'),
}


@pytest.mark.parametrize("lines", LEFT.values(), ids=LEFT)
def test_what_is_left(rule, lines: tuple[str, ...]) -> None:
    fixed = rule.unchanged_unless_unsafe(_program(*lines))
    assert fixed.count(".to(self.device") == 2


GRAPHS = """
    import torch
    def train_epoch(model, optimizer, device, loader):
        model.train()
        for graphs, labels in loader:
            x = graphs.{field}["feat"].to(device)
            labels = labels.to(device)
            loss = model.loss(model.forward(graphs, x), labels)
            loss.backward()
"""


@pytest.mark.parametrize("field", ["rays", "parts"])
def test_an_object_of_which_nothing_is_known(rule, field: str) -> None:
    assert [one.value for one in rule.safeties(GRAPHS.format(field=field))] == []


@pytest.mark.parametrize("field", ["ndata", "edata"])
def test_graphs_of_dgl_have_a_move(rule, field: str) -> None:
    assert [one.value for one in rule.safeties(GRAPHS.format(field=field))] == ["safe"]
