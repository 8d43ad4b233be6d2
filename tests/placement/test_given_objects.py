"""Objects that callers give: what their methods do is known where a parameter has them."""

import pytest

PROGRAM = """
    class Sampler:
        def __init__(self, size):
            self.size = size
        def draw(self):
            return {drawn}

    class Other:
        def draw(self):
            return None

    def train(model, sampler, device: torch.device):
        model.to(device)
        loss = model(sampler.draw()).mean()
        loss.backward()

    def main(device: torch.device, model):
        train(nn.Linear(4, 2), Sampler(3), device)
        {more}
"""
MADE = "torch.zeros(self.size, 4)"


def test_what_the_object_of_a_parameter_makes(placed) -> None:
    assert placed(PROGRAM.format(drawn=MADE, more="")).births == [MADE]


@pytest.mark.parametrize(
    ("drawn", "more"),
    [
        ("torch.zeros(self.size, 4, device='cuda')", ""),
        (MADE, "train(nn.Linear(4, 2), Other(), device)"),
        ("[self.size, 4]", ""),
    ],
)
def test_what_it_does_not_make_or_may_not(placed, drawn: str, more: str) -> None:
    assert placed(PROGRAM.format(drawn=drawn, more=more)).births == []


KEPT = """
    class Sampler:
        def __call__(self):
            return {drawn}

    class Trainer:
        def __init__(self, device: torch.device):
            self.sampler = Sampler()
            self.model = nn.Linear(4, 2).to(device)
        def train(self):
            self.model(self.sampler()).mean().backward()
"""


@pytest.mark.parametrize(
    ("drawn", "births"), [("torch.zeros(3, 4)", ["torch.zeros(3, 4)"]), ("torch.zeros(3, 4, device='cuda')", [])]
)
def test_what_an_object_in_an_attribute_gives_when_it_is_called(placed, drawn: str, births: list[str]) -> None:
    assert placed(KEPT.format(drawn=drawn)).births == births
