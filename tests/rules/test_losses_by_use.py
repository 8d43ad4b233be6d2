"""Losses that nobody declares: what one function differentiates is a loss where another reads its number."""

import pytest

CODE = "DVF101"

OBJECT = """
    import torch
    from torch import nn

    class Trainer:
        def __init__(self, loss):
            self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
            self.net = nn.Linear(3, 3).to(self.device)
            self.loss = loss

        def fit(self, loader):
            optimizer = torch.optim.SGD(self.net.parameters(), lr=0.1)
            for x, y in loader:
                x, y = x.to(self.device), y.to(self.device)
                loss = self.loss(self.net(x), y)
                {train}
                optimizer.step()

        def validate(self, loader):
            total = 0
            for x, y in loader:
                x = x.to(self.device)
                out = self.net(x)
                {evaluate}
            return total
"""


@pytest.mark.parametrize(
    ("train", "evaluate"),
    [
        ("(loss * 1).sum()", "total += self.loss(out, y).item()"),
        ("loss.backward()", "total += self.score(out, y).item()"),
        ("loss.backward()", "total += self.loss.score(out, y).item()"),
        ("loss.backward()", "total += loss(out, y).item()"),
        ("loss.backward()", "kept = self.loss(out, y)"),
        ("loss.backward()", "total += self.loss(out, y.cuda()).item()"),
        ("loss.backward()", "total += self.loss(out, y, [one['boxes'] for one in y]).item()"),
        ("loss = loss + 1; loss.backward()", "total += self.loss(out, y).item()"),
    ],
)
def test_what_nothing_says_is_a_loss(rule, train: str, evaluate: str) -> None:
    assert rule.findings(OBJECT.format(train=train, evaluate=evaluate)) == ()


def test_the_loss_of_another_class(rule) -> None:
    program = OBJECT.format(train="loss.backward()", evaluate="total += self.loss(out, y).item()")
    head = (
        "class Judge:\n        def __init__(self, loss, net, device):\n"
        "            self.device, self.loss, self.net = device, loss, net.to(device)\n\n        def validate"
    )
    assert rule.findings(program.replace("    def validate", head)) == ()


@pytest.mark.parametrize(
    "evaluate",
    ["total += self.loss(out, y).item()", "loss = self.loss(out, y)\n                total = total + loss.item()"],
)
def test_the_loss_of_the_same_class(rule, evaluate: str) -> None:
    fixed = rule.fixed(OBJECT.format(train="loss.backward()", evaluate=evaluate))
    assert "x = x.to(self.device)\n                y = y.to(self.device)\n" in fixed.replace("\n    ", "\n        ")


FUNCTIONS = """
    import torch

    def train(net, loader, criterion, optimizer, device):
        net.train()
        for x, y in loader:
            x, y = x.to(device), y.to(device)
            loss = criterion(net(x), y)
            loss.backward()
            optimizer.step()

    def evaluate(net, loader, {criterion}, device):
        net.eval()
        total = 0
        for x, y in loader:
            x = x.to(device)
            loss = {criterion}(net(x), y)
            total += loss.item()
        return total
"""


def test_the_loss_of_another_function(rule) -> None:
    assert "x = x.to(device)\n        y = y.to(device)\n" in rule.fixed(FUNCTIONS.format(criterion="criterion"))


def test_a_score_of_another_name(rule) -> None:
    assert rule.findings(FUNCTIONS.format(criterion="score")) == ()
