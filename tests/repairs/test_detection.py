"""Detection models of torchvision get a list of pictures, and a list of mappings: neither has `.to`."""

import pytest
from devfix_codemods.findings import Safety

PROGRAM = """
import torchvision
def build(count, device=torch.device("cuda")):
    model = {made}
    return model
def train(model, loader, device):
    for images, targets in loader:
        {moved}
        losses = model({given})
        sum(losses.values()).backward()
def main(data, device=torch.device("cuda")):
    model = build(2)
    model.to(device)
    train(model, torch.utils.data.DataLoader(data, collate_fn=lambda rows: tuple(zip(*rows))), device)
"""
DETECTION = 'torchvision.models.detection.fasterrcnn_resnet50_fpn(weights="DEFAULT")'
IMAGES = "images = [one.to(device, non_blocking=True) for one in images]"
TARGETS = "targets = [{k: v.to(device, non_blocking=True) for k, v in one.items()} for one in targets]"


def program(moved: str = "pass", given: str = "images, targets", made: str = DETECTION) -> str:
    return PROGRAM.format(moved=moved, given=given, made=made)


MOVED = {
    "both": (program(), {IMAGES, TARGETS}),
    "by its name": (program(given="images, targets=targets"), {IMAGES, TARGETS}),
    "the pictures alone": (program(given="images"), {IMAGES}),
    "beside moved pictures": (program("images = list(image.to(device) for image in images)"), {TARGETS}),
    "a model that is moved where it is made": (program(made=f"{DETECTION}.to(device)"), {IMAGES, TARGETS}),
}


@pytest.mark.parametrize(("wrong", "lines"), MOVED.values(), ids=MOVED)
def test_their_tensors_are_moved(repairs, wrong: str, lines: set[str]) -> None:
    assert set(repairs.added(wrong, Safety.UNSAFE)) == lines
    assert repairs.added(wrong, Safety.SAFE) == []


LEFT = {
    "both moved": program(
        "images = [one.to(device) for one in images]\n"
        "        targets = [{k: v.to(device) for k, v in one.items()} for one in targets]"
    ),
    "moved in the call": program(
        given="[one.to(device) for one in images], [{k: v.to(device) for k, v in one.items()} for one in targets]"
    ),
}


@pytest.mark.parametrize("correct", LEFT.values(), ids=LEFT)
def test_what_is_left(repairs, correct: str) -> None:
    assert repairs.added(correct) == []


def test_no_list_is_taken_for_another_model(repairs) -> None:
    wrong = program(made="torchvision.models.resnet18()").replace("collate_fn=lambda rows: tuple(zip(*rows))", "")
    assert not {IMAGES, TARGETS} & set(repairs.added(wrong))
