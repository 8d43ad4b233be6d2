"""What meets a copy on the host is meant to be there, whatever is moved beside it."""

import pytest

LOOP = """
    def validate(model, loader: torch.utils.data.DataLoader):
        model = model.cuda()
        right = total = 0
        for x, y in loader:
            x = x.cuda()
            {lines}
            total += y.numel()
        return right / total
"""


def loop(*lines: str) -> str:
    return LOOP.format(lines="\n            ".join(lines))


@pytest.mark.parametrize(
    "lines",
    [
        ("right += (model(x).cpu().argmax(1) == y).sum().item()",),
        ("out = model(x).argmax(1)", "out = out.cpu()", "right += (out == y).sum().item()"),
        ("right += y.eq(model(x).max(1)[1].cpu()).sum().item()",),
        ("right += F.cross_entropy(model(x).cpu(), y).item()",),
    ],
)
def test_labels_that_meet_a_copy(placed, lines: tuple[str, ...]) -> None:
    assert placed(loop(*lines)).births == []


@pytest.mark.parametrize(
    "lines",
    [
        ("right += (model(x).argmax(1) == y).sum().item()",),
        ("out = model(x).cpu()", "right += (model(x).argmax(1) == y).sum().item()"),
        ("out = model(x).cpu()", "right += (out.argmax(1) == y).sum().item() + F.cross_entropy(model(x), y)"),
        ("if verbose:", "    print((model(x).cpu().argmax(1) == y).sum())", "right += score(y)"),
    ],
)
def test_labels_that_meet_what_is_on_the_device(placed, lines: tuple[str, ...]) -> None:
    assert placed(loop(*lines)).births == ["y"]
