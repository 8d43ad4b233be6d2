"""DVF101: elements of a batch that a function moves for itself to where an object is, and its caller compares."""

import pytest

CODE = "DVF101"

LOOP = """
    import torch
    from torch.utils.data import DataLoader

    from project import Classifier, Recordings, loss_of

    def step(net, waves, marks):
        waves = waves.to(net.device)
        marks = marks.to({where})
        scores = net(waves.unsqueeze(1))
        loss_of(scores, marks).backward()
        return {result}

    def evaluate(net, loader):
        wrong = 0
        for waves, marks in loader:
            scores = step(net, waves, marks)
            {between}
            wrong += {compared}.sum().item()
        return wrong

    net = Classifier(4)
    net.eval()
    evaluate(net, DataLoader(Recordings()))
"""


def _loop(
    compared: str = "(best != marks)",
    between: str = "best = torch.argmax(scores, dim=1)",
    result: str = "scores",
    where: str = "net.device",
) -> str:
    return LOOP.format(compared=compared, between=between, result=result, where=where)


@pytest.mark.parametrize(
    "program",
    [
        _loop("(torch.argmax(scores, dim=1).cpu() != marks)"),
        _loop("(best != marks.to(best.device))"),
        _loop(between="marks = marks.to(scores.device); best = torch.argmax(scores, dim=1)"),
        _loop(between="marks = marks.to(net.device); best = torch.argmax(scores, dim=1)"),
        _loop(between="scores = scores.cpu(); best = torch.argmax(scores, dim=1)"),
        _loop(between="scores, marks = gather(scores, marks); best = torch.argmax(scores, dim=1)"),
        _loop(result="scores.detach().cpu()"),
        _loop("(best != len(marks))"),
    ],
)
def test_what_comes_together_again(rule, program: str) -> None:
    assert rule.findings(program) == ()


def test_siblings_that_stay_where_they_came(rule) -> None:
    program = _loop(where='"cpu"').replace("waves = waves.to(net.device)", "waves = waves.float()")
    assert rule.findings(program) == ()


def test_an_element_that_meets_the_result_of_its_siblings(rule) -> None:
    assert "marks = marks.to(net.device)\n        scores = step(" in rule.fixed(_loop(), unsafe=True)
