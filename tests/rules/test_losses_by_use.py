"""Losses that nobody declares: what one function differentiates is a loss where another reads its number."""

from textwrap import dedent

import pytest
from devfix_codemods.engine import check
from devfix_codemods.findings import Safety
from devfix_codemods.outcomes import Checked, Options
from devfix_codemods.source import Source

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
        ("(loss * 1).sum()", "total += self.loss(out, y)"),
        ("loss.backward()", "total += self.score(out, y).item()"),
        ("loss.backward()", "total += self.loss.score(out, y).item()"),
        ("loss.backward()", "total += score(out, y).item()"),
        ("(loss * 1).sum()", "total += self.loss(out, y)['all'].item()"),
        ("(loss * 1).sum()", "total += self.net.loss(out, y).item()"),
        ("loss.backward()", "total += self.loss(out, y.cuda()).item()"),
        ("loss.backward()", "total += self.loss(out, y, [one['boxes'] for one in y]).item()"),
    ],
)
def test_what_nothing_says_is_a_loss(rule, train: str, evaluate: str) -> None:
    assert rule.findings(OBJECT.format(train=train, evaluate=evaluate)) == ()


OTHER = (
    "class Judge:\n        def __init__(self, loss, net, device):\n"
    "            self.device, self.loss, self.net = device, loss, net.to(device)\n\n        def validate"
)


@pytest.mark.parametrize("evaluate", ["self.loss(out, y).item()", "float(self.loss.forward(out, y.flatten()))"])
def test_the_loss_of_another_class_is_one_by_its_name(rule, evaluate: str) -> None:
    program = OBJECT.format(train="loss.backward()", evaluate=f"total += {evaluate}").replace("    def validate", OTHER)
    assert [one.fix.safety for one in rule.findings(program)] == [Safety.UNSAFE]
    assert "y = y.to(self.device)" in rule.fixed(program, unsafe=True).partition("class Judge")[2]


KEPT = """
    import torch

    class Evaluator:
        def fit(self, net, loader):
            for x, y in loader:
                x, y = x.to(self.device), y.to(self.device)
                self.criterion(net(x), y).backward()

        def collect(self, net, loader):
            rows = []
            for x, y in loader:
                x = x.to(self.device)
                rows.append((y, net.score(x){copied}))
            return rows

        def evaluate(self, context):
            losses = []
            for y, scores in context[self.key]:
                losses.append(self.criterion(scores, y).item())
            return losses
"""


@pytest.mark.parametrize(("copied", "lines"), [(".cpu()", []), ("", [12])])
def test_what_is_kept_beside_a_copy_on_the_host_stays_there(rule, copied: str, lines: list[int]) -> None:
    source = Source("train.py", dedent(KEPT.format(copied=copied)).encode())
    outcome = check(source, Options(frozenset({CODE}), suggestions=True))
    assert isinstance(outcome, Checked)
    assert [one.origin.line for one in outcome.findings] == lines


def test_what_a_loop_gives_with_the_target_may_be_on_the_host_with_it(rule) -> None:
    assert rule.findings(KEPT.format(copied=".cpu()")) == ()


def test_a_number_of_something_else_is_none_of_a_loss(rule) -> None:
    program = OBJECT.format(train="loss.backward()", evaluate="total += self.metric(out, y).item()")
    assert rule.findings(program.replace("    def validate", OTHER)) == ()


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
    program = FUNCTIONS.format(criterion="criterion")
    assert "x = x.to(device)\n        y = y.to(device)\n" in rule.fixed(program, unsafe=True)


def test_a_score_of_another_name(rule) -> None:
    assert rule.findings(FUNCTIONS.format(criterion="score")) == ()


WEIGHTED = """
    import torch

    def fit(net, loader, criterion, judge, optimizer, device):
        for x, y, importance in loader:
            x, y = x.to(device), y.to(device)
            out = net(x)
            {loss}
            optimizer.step()
"""


@pytest.mark.parametrize(
    "loss",
    [
        "loss = (criterion(out, y) * importance).mean(); loss.item()",
        "loss = criterion(out, y) * importance\n            loss = judge(out)\n            loss.backward()",
        "loss = table[criterion(out, y)] * importance; loss.backward()",
        "loss = criterion(out, y) if importance.any() else judge(out, y); loss.backward()",
    ],
)
def test_arithmetic_that_says_nothing_of_a_loss(rule, loss: str) -> None:
    assert rule.findings(WEIGHTED.format(loss=loss)) == ()


@pytest.mark.parametrize(
    "loss",
    [
        "loss = judge(out, y) * importance; loss.backward()",
        "loss = (criterion(out, y) * importance).mean(); loss.backward()",
        "loss = importance * criterion(out, y) if judge else out.mean(); loss.backward()",
        "loss = importance - criterion(out, y); loss.backward()",
        "loss = criterion(out, y) * importance\n            loss = loss.sum() / 3\n            loss.backward()",
        "loss = 0\n            loss += criterion(out, y) * importance\n            loss.backward()",
    ],
)
def test_what_a_loss_is_computed_with(rule, loss: str) -> None:
    program = WEIGHTED.format(loss=loss)
    moved = "x, y = x.to(device), y.to(device)\n        importance = importance.to(device)\n"
    assert moved in rule.fixed(program, unsafe=True)


INHERITED = """
    import torch

    class Trainer(Base):
        def fit(self, loader):
            for x, y, importance in loader:
                x, y = x.to(self.device), y.to(self.device)
                if self.flat:
                    loss = {loss}(self.net(x), y) / 2
                else:
                    loss = {loss}(self.net(x), y, weight=importance)
                loss.backward()
"""


@pytest.mark.parametrize("loss", ["self.compute_loss", "self.net.loss", "self.loss_step", "self.judge"])
def test_methods_out_of_sight_may_place_what_they_get(rule, loss: str) -> None:
    assert rule.findings(INHERITED.format(loss=loss)) == ()


@pytest.mark.parametrize("loss", ["self.loss_fn", "self.criterion"])
def test_the_loss_that_a_base_class_holds(rule, loss: str) -> None:
    assert "            importance = importance.to(self.device)\n" in rule.fixed(INHERITED.format(loss=loss))
