"""Classes that a function of the file chooses."""

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
