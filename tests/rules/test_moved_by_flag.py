"""DVF104: tensors that a flag of the code moves."""

import pytest

CODE = "DVF104"
CONFLICTS_ALONE = True

PROGRAM = """
import torch
from torch.autograd import Variable


def train(net, criterion, loader, size, use_gpu=False):
    for x, _ in loader:
        {lines}
        x = x.to("cuda")
        loss = criterion(net(x), labels)
        loss.backward()


def main(loader):
    net = torch.nn.Linear(3, 3).to("cuda")
    train(net, torch.nn.BCELoss(), loader, 3)
"""

MOVED = {
    "by the next statement": """labels = torch.zeros(size)
        if use_gpu:
            labels = labels.cuda()
        labels = Variable(labels)""",
    "with others": """labels = torch.zeros(size)
        if use_gpu and size > 1:
            x, labels = x.cuda(), labels.cuda()""",
    "in one expression": "labels = torch.zeros(size)\n        labels = labels.cuda() if use_gpu else labels",
    "computed first": """scale = torch.zeros(size)
        labels = (scale * torch.rand(size)).cuda() if use_gpu else scale * torch.rand(size)""",
    "before it is computed with": """rows = torch.zeros(size)
        if not use_gpu:
            pass
        else:
            rows = rows.to("cuda")
        labels = rows + 1""",
}
LEFT = {
    "nothing moves it": "labels = torch.zeros(size)",
    "another is moved": """labels = torch.zeros(size)
        if use_gpu:
            x = x.cuda()""",
    "what is computed of it is moved": """labels = torch.zeros(size)
        other = labels + 1
        if use_gpu:
            other = other.cuda()""",
    "one branch gives it another type": """labels = torch.zeros(size)
        if use_gpu:
            labels = labels.to(torch.float)""",
    "of the size of what is moved": """if use_gpu:
            x = x.cuda()
        labels = torch.zeros(x.shape[0])""",
}


@pytest.mark.parametrize("lines", MOVED.values(), ids=MOVED)
def test_what_a_flag_moves(rule, lines: str) -> None:
    assert rule.findings(PROGRAM.format(lines=lines)) == ()


@pytest.mark.parametrize("lines", LEFT.values(), ids=LEFT)
def test_what_it_leaves(rule, lines: str) -> None:
    assert len(rule.findings(PROGRAM.format(lines=lines))) == 1
