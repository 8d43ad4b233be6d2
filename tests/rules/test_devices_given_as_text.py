"""Parameters that are annotated as text, and name a device."""

import pytest

CODE = "DVF101"

LOOP = """
    import torch
    from typing import Optional, Sequence
    from torch import nn

    class Report:
        name: str

    def fit(model: nn.Module, loader, {parameter}):
        {first}
        for waves, marks in loader:
            waves = waves.to({device})
            loss = nn.functional.cross_entropy(model(waves), marks)
            loss.backward()
"""


def _loop(parameter: str, device: str = "device", first: str = "model.to(device)") -> str:
    return LOOP.format(parameter=parameter, device=device, first=first)


@pytest.mark.parametrize(
    "program",
    [
        _loop("device: str", 'torch.float32 if device == "cpu" else torch.float16', "model.train()"),
        _loop("device: str", '"cpu"', "model.train()"),
        _loop("device: Sequence[str]", "device", "model.train()"),
        _loop("device: str").replace("marks)\n", "marks.to(device))\n"),
    ],
)
def test_what_names_no_device_or_is_moved(rule, program: str) -> None:
    assert rule.findings(program) == ()


@pytest.mark.parametrize(
    "parameter",
    [
        "device: str",
        'device: str = "cuda"',
        "device: Optional[str] = None",
        "device: str | None = None",
        '*, device: "str"',
    ],
)
def test_text_that_names_a_device(rule, parameter: str) -> None:
    assert "        marks = marks.to(device)\n" in rule.fixed(_loop(parameter))


def test_an_attribute(rule) -> None:
    program = """
        from torch import nn

        class Fitter:
            def __init__(self, model: nn.Module, loader, device: str = "cuda"):
                self.model, self.loader, self.device = model.to(device), loader, device

            def fit(self):
                for waves, marks in self.loader:
                    waves = waves.to(self.device)
                    nn.functional.cross_entropy(self.model(waves), marks).backward()
    """
    assert "            marks = marks.to(self.device)\n" in rule.fixed(program)


def test_what_a_caller_gives(rule) -> None:
    program = (
        _loop("device: str") + "\n    fit(nn.Linear(3, 3), torch.utils.data.DataLoader([]), read_arguments().device)\n"
    )
    assert "        marks = marks.to(device)\n" in rule.fixed(program)
