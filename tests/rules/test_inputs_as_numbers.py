"""DVF104: inputs of `forward` of which only the number is read say nothing of a place."""

CODE = "DVF104"

TUNER = """
import torch
from torch import nn
class Tuner(nn.Module):
    def __init__(self, length: int):
        super().__init__()
        self.fc = nn.Linear(2 * length, 1)
        self.losses, self.norms = [], []
    def forward(self, loss, norm):
        loss = torch.log1p(torch.abs(loss))
        {lines}
        x = torch.tensor([self.losses, self.norms]{device}).flatten()
        return torch.sigmoid(self.fc(x))
"""


def test_an_input_of_which_only_the_number_is_read(rule) -> None:
    for lines in (
        "self.losses.append(loss.item()); self.norms.append(norm.item())",
        "self.losses.append(float(loss * 2)); self.norms.append(norm.mean().item())",
        "self.losses += loss.tolist(); self.norms += norm.tolist(); print(f'{loss}', loss.shape)",
    ):
        after = TUNER.format(lines=lines, device=", device=self.fc.weight.device")
        assert rule.unchanged_unless_unsafe(TUNER.format(lines=lines, device="")) == after


def test_an_input_that_is_used_as_a_tensor_too(rule) -> None:
    lines = "self.losses.append(loss.item()); self.fc(loss)"
    assert "device=self.fc.weight.device)" in rule.unchanged_unless_unsafe(TUNER.format(lines=lines, device=""))
