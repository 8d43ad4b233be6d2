"""Copies of modules and of their weights stay where they were taken."""

import pytest

PROGRAM = """
    import copy
    def train(loader, device):
        model = nn.Linear(4, 2)
        {before}
        model.to(device)
        {after}
        for x in loader:
            loss = model(x.to(device)).mean()
            loss.backward()
            with torch.no_grad():
                for kept, live in zip({kept}, model.parameters()):
                    kept.mul_(0.9).add_(live, alpha=0.1)
"""
MODULE = "teacher = copy.deepcopy(model)"
WEIGHTS = "weights = [one.detach().clone() for one in model.parameters()]"


@pytest.mark.parametrize(
    ("taken", "kept", "birth"),
    [
        (MODULE, "teacher.parameters()", "copy.deepcopy(model)"),
        (WEIGHTS, "weights", "one.detach().clone()"),
    ],
)
def test_what_is_copied_before_the_move_stays_behind(placed, taken: str, kept: str, birth: str) -> None:
    assert placed(PROGRAM.format(before=taken, after="", kept=kept)).births == [birth]
    assert placed(PROGRAM.format(before="", after=taken, kept=kept)).births == []


def test_a_copy_that_is_moved_by_itself(placed) -> None:
    moved = placed(PROGRAM.format(before=MODULE, after="teacher.to(device)", kept="teacher.parameters()"))
    assert moved.births == []


def test_a_copy_of_a_model_that_stays(placed) -> None:
    program = PROGRAM.format(before=MODULE, after="", kept="teacher.parameters()")
    assert placed(program.replace("model.to(device)", "").replace("x.to(device)", "x")).births == []
