"""Calls that `functools.partial` begins and another one completes: they make what the function makes of them all."""

import pytest
from devfix_codemods.findings import Safety

PROGRAM = """
import functools
from functools import partial

class Net(nn.Module):
    def __init__(self, width=3):
        super().__init__()
        self.fc = nn.Linear(width, width)
    def forward(self, x):
        return self.fc(x)

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
make = functools.partial(Net)
{body}
"""
MOVED = {
    "a class of the file": (
        "net = make()\nnet(torch.ones(3).to(device))",
        "net = make().to(device)",
    ),
    "a class of torch": (
        "net = partial(nn.Linear, 3, 2)()\nnet(torch.ones(3).to(device))",
        "net = partial(nn.Linear, 3, 2)().to(device)",
    ),
    "begun twice": (
        "net = partial(partial(nn.Linear, 3), bias=False)(2)\nnet(torch.ones(3).to(device))",
        "net = partial(partial(nn.Linear, 3), bias=False)(2).to(device)",
    ),
    "what is given to it": (
        "net = make().to(device)\nx = torch.ones(3)\nnet(x)",
        "x = torch.ones(3, device=device)",
    ),
    "a tensor": (
        "zeros = partial(torch.zeros, 3)\nnet = make().to(device)\nnet(zeros())",
        "net(zeros(device=device))",
    ),
    "what is begun with": (
        (
            "w = torch.ones(3)\nloss = partial(F.cross_entropy, weight=w)\nnet = make().to(device)\n"
            "x = torch.ones(3, 3, device=device)\nloss(net(x), x.argmax(1))"
        ),
        "w = torch.ones(3, device=device)",
    ),
}
LEFT = {
    "a module that is moved": "net = make().to(device)\nnet(torch.ones(3, device=device))",
    "a device that it is begun with": (
        "zeros = partial(torch.zeros, device=device)\nnet = make(3).to(device)\nnet(zeros(3))"
    ),
    "a device that completes it": (
        "zeros = partial(torch.zeros, 3, device='cpu')\nnet = make(3).to(device)\nnet(zeros(device=device))"
    ),
    "a module begun on the device": (
        "net = partial(nn.Linear, 3, device=device)(2)\nnet(torch.ones(3, device=device))"
    ),
    "moves": "move = partial(torch.ones(3).to, device)\nnet = make().to(device)\nnet(move())",
    "arguments that are not counted": "s = [3]\nprint(partial(nn.Linear, *s)(2), partial()(), partial(*s)())",
}


@pytest.mark.parametrize(("body", "line"), MOVED.values(), ids=MOVED)
def test_what_is_made(repairs, body: str, line: str) -> None:
    assert repairs.added(PROGRAM.format(body=body), Safety.UNSAFE) == [line]


@pytest.mark.parametrize("body", LEFT.values(), ids=LEFT)
def test_what_is_in_place(repairs, body: str) -> None:
    assert repairs.added(PROGRAM.format(body=body), Safety.UNSAFE) == []
