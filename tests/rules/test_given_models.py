"""DVF501: what a value follows that goes to a model which its class was given, and never moves itself."""

import pytest

CODE = "DVF501"

TRAINER = """
    import torch
    from torch import nn
    class Trainer(nn.Module):
        def __init__(self, model, data):
            super().__init__()
            {keeps}
            self.data = data
            self.optim = torch.optim.Adam(model.parameters())
            self.register_buffer("steps", {made})
        def {method}(self, only=True):
            {reads}
            for _ in range(3):
                x, y = next(self.data)
                x, y = x.cuda(), y.cuda()
                self.model.zero_grad()
                loss = self.model(x, target=y, only=only)
                {ends}
            {counts}
"""
PLAIN = {
    "keeps": "self.model = model",
    "made": "torch.zeros(1)",
    "method": "run",
    "reads": "step = int(self.steps.item())",
    "ends": "loss.backward()",
    "counts": "self.steps += 1",
}
OF_MODEL = "next(self.model.parameters()).device"


def trainer(**given: str) -> str:
    return TRAINER.format(**(PLAIN | given))


@pytest.mark.parametrize(
    "given",
    [
        {"keeps": "self.model = wrapped(model)", "method": "forward"},
        {"keeps": "self.model = model\n            self.model = wrapped(self.model)", "method": "forward"},
        {"method": "forward", "ends": "yield loss"},
        {"keeps": "self.model = model.to(data.device)", "method": "forward"},
    ],
)
def test_is_silent(rule, given: dict[str, str]) -> None:
    assert rule.findings(trainer(**given)) == ()


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"method": "run"},
        {"reads": "step = self.steps.item() % 3"},
        {"reads": "print(f'{self.steps}')"},
        {"reads": "if self.steps == 0 or self.steps > 3:\n                return"},
        {"reads": "while not self.steps:\n                self.steps.data.copy_(torch.tensor([1]))"},
        {"reads": "if self.steps:\n                return", "counts": "self.steps.add_(1)"},
        {"reads": "epoch = self.steps.cpu().numpy()", "counts": "self.steps.fill_(len(self.data))"},
    ],
)
def test_follows_the_model_and_not_a_counter(rule, given: dict[str, str]) -> None:
    after = rule.unchanged_unless_unsafe(trainer(**({"method": "forward"} | given)))
    assert f"        device = {OF_MODEL}\n        for _ in range(3):" in after
    assert "x, y = x.to(device), y.to(device)" in after


def test_what_else_the_method_takes_to_cuda_follows_the_name(rule) -> None:
    after = rule.unchanged_unless_unsafe(trainer(ends="yield judge(loss, self.weights().cuda())"))
    assert "self.weights().to(device)" in after
