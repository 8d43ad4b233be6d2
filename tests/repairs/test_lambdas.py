"""What lambdas make: they have no statements, and names of their own."""

import pytest

PROGRAM = """
    def run(data, net: nn.Module, device):
        shift = lambda a: {value}
        for x in data:
            shift(net.to(device)(x.to(device)))
"""


@pytest.mark.parametrize("value", ["a.cpu() + torch.ones(3)", "a + torch.ones(3, device=a.device)", "a + 1"])
def test_a_lambda_that_is_right(repairs, value: str) -> None:
    assert repairs.added(PROGRAM.format(value=value)) == []


@pytest.mark.parametrize(
    ("value", "made"),
    [
        ("a + torch.ones(3)", "a + torch.ones(3, device=device)"),
        ("(torch.ones(3) * a).sum()", "(torch.ones(3, device=device) * a).sum()"),
    ],
)
def test_what_a_lambda_makes_is_made_on_the_device(repairs, value: str, made: str) -> None:
    assert repairs.added(PROGRAM.format(value=value)) == [f"shift = lambda a: {made}"]
