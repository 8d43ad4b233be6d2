"""Parts of what callers move are where they put that, whatever is moved beside them."""

import pytest

STEP = """
    def step(net: nn.Module, loader: torch.utils.data.DataLoader, loss: nn.Module, scales):
        for x, y in loader:
            first = y[0].cuda()
            loss(net(x.cuda()), first, scales[0]).backward()
    def main(net: nn.Module, loader: torch.utils.data.DataLoader, loss: nn.Module, scales):
        {lines}
"""


def told(*lines: str) -> str:
    return STEP.format(lines="\n        ".join(lines))


@pytest.mark.parametrize(
    "lines",
    [
        ("step(net, loader, loss, torch.ones(3, 2).cuda())",),
        ("scales = (torch.ones(3, 2) * 2).cuda()", "step(net, loader, loss, scales)"),
        ("step(net, loader, loss, torch.ones(3, 2, device='cuda'))",),
        ("scales = [torch.ones(2).cuda(), torch.ones(3).cuda()]", "step(net, loader, loss, scales)"),
    ],
)
def test_a_part_of_what_the_callers_move(placed, lines: tuple[str, ...]) -> None:
    assert placed(told(*lines)).births == []


@pytest.mark.parametrize(
    "lines",
    [
        ("print(net)",),
        ("step(net, loader, loss, scales)",),
        ("step(net, loader, loss, scales.cuda())", "step(net, loader, loss, scales)"),
    ],
)
def test_a_part_of_what_may_be_anywhere(placed, lines: tuple[str, ...]) -> None:
    assert placed(told(*lines)).births == ["scales[0]"]
