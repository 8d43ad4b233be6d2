"""Classes that a function of the file chooses, and one of several modules that the others move."""

import pytest

CHOSEN = """
    from nets import Big, Small, size_of
    def chosen(name):
        if name == "big":
            return {big}
        return Small
    def main(args):
        model = chosen(args.name)(channels=3)
        x = torch.randn(3, 4).to(args.device)
        print(sum(p.numel() for p in model.parameters()))
        return model(x)
"""


@pytest.mark.parametrize("big", ["size_of", "Big(3)", "None"])
def test_functions_that_give_something_else(placed, big: str) -> None:
    assert placed(CHOSEN.format(big=big)).births == []


def test_a_function_that_gives_classes(placed) -> None:
    assert placed(CHOSEN.format(big="Big")).births == ["chosen(args.name)(channels=3)"]


ARMS = """
    from nets import Graph, Plain, Loss
    def main(options, device):
        if options.graph:
            net = {first}
        elif options.plain:
            net = Plain(options.size)
        else:
            net = nn.Linear(3, 3){moved}
        return summary(net)
"""


@pytest.mark.parametrize(
    ("first", "moved"),
    [("Graph(options.size)", ".to(device)"), ("nn.Flatten().to(device)", ""), ("Graph(options.size)", "")],
)
def test_arms_that_others_leave_or_that_hold_nothing(placed, first: str, moved: str) -> None:
    assert "Plain(options.size)" not in placed(ARMS.format(first=first, moved=moved)).births


def test_an_arm_that_all_others_move(placed) -> None:
    found = placed(ARMS.format(first="Graph(options.size).to(device)", moved=".to(device)"))
    assert found.of("Plain(options.size)").confidence > 0.6
