"""One of several values that a function gives together stays behind, where another one is moved."""

import pytest

MODEL = """
    import torch

    def evaluate(model, data, {given}):
        x, y = data.get_samples("test")
        y = y.to({device})
        with torch.no_grad():
            found = {use}
        return data.score(found, y)
"""


def _model(use: str, device: str = "model.device", given: str = "names") -> str:
    return MODEL.format(use=use, device=device, given=given)


@pytest.mark.parametrize(
    ("use", "device"),
    [
        ("model.net(x.to(model.device))", "model.device"),
        ("names.find(x)", "model.device"),
        ("model.net(names)", "model.device"),
        ("model.net(x)", "names.device"),
    ],
)
def test_what_is_moved_or_given_to_something_else(placed, use: str, device: str) -> None:
    assert "x" not in placed(_model(use, device)).births


@pytest.mark.parametrize("use", ["model.net(x)", "model.net.run(x, names)"])
def test_what_the_object_gets_whose_device_the_others_go_to(placed, use: str) -> None:
    assert placed(_model(use)).births == ["x"]


LAYER = """
    import torch
    from graphs import adjacency

    class Block(torch.nn.Module):
        def __init__(self, layer, data, device):
            super().__init__()
            self.layer = layer(data, device)
            index, weight = adjacency(data.edges, weight=data.weights, count=data.count)
            self.layer.index = {index}
            {kept}
"""


@pytest.mark.parametrize(
    ("index", "kept"),
    [
        ("index.to(device)", "self.layer.weight = weight.to(device)"),
        ("index", "self.layer.weight = weight"),
        ("index.to(device)", "data.weight = weight"),
        ("index.to(device)", "self.layer.weight = weight.numpy()"),
    ],
)
def test_what_is_kept_elsewhere_or_moved(placed, index: str, kept: str) -> None:
    assert placed(LAYER.format(index=index, kept=kept)).births == []


def test_what_one_object_keeps_beside_what_is_moved(placed) -> None:
    program = LAYER.format(index="index.to(device)", kept="self.layer.weight = weight")
    assert placed(program).births == ["weight"]
