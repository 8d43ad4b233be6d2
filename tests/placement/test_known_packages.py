"""Packages of modules, whose functions are no modules, and what belongs to a module that moves later."""

import pytest

USED = """
    import torchmetrics, torch_geometric.nn, torchvision.models as models
    from torchmetrics.utilities.data import dim_zero_cat
    def main(x, y, name, device):
        net = {made}
        return (net({given}) * torch.ones(3).to(device)).sum()
"""


@pytest.mark.parametrize(
    "made",
    ["torchmetrics.Accuracy()", "torch_geometric.nn.GCNConv(3, 3)", "models.resnet18(num_classes=3)"],
)
def test_classes_make_modules(placed, made: str) -> None:
    assert made in placed(USED.format(made=made, given="x")).births


@pytest.mark.parametrize("made", ["dim_zero_cat", "torch_geometric.nn.global_mean_pool", "models.__dict__.keys()"])
def test_functions_make_none(placed, made: str) -> None:
    assert placed(USED.format(made=made, given="x")).births == []


def test_functions_of_graphs_meet(placed) -> None:
    found = placed(USED.format(made="torch_geometric.nn.global_mean_pool", given="torch.zeros(3, 3), y.to(device)"))
    assert found.births == ["torch.zeros(3, 3)"]


PART = """
    def main(x, device):
        net = torch.hub.load('pytorch/vision', 'deeplabv3_resnet50')
        {part}
        net.cuda()
        other = nn.Linear(3, 3).cuda()
        return {used}
"""


@pytest.mark.parametrize("kept", ["net.head", "net.head[4]", "net.parts['head'].last"])
def test_a_part_moves_with_its_module(placed, kept: str) -> None:
    found = placed(PART.format(part=f"{kept} = nn.Conv2d(3, 3, 1)", used="other(net(x.cuda()))"))
    assert "nn.Conv2d(3, 3, 1)" not in found.births


@pytest.mark.parametrize("kept", ["head", "heads[4]"])
def test_what_is_no_part_does_not(placed, kept: str) -> None:
    found = placed(PART.format(part=f"{kept} = nn.Conv2d(3, 3, 1)", used=f"{kept}(net(x.cuda()))"))
    assert "nn.Conv2d(3, 3, 1)" in found.births


MOVED_LATER = """
    from tools import fill
    class Net(nn.Module):
        def mask(self, x, dim):
            made = {made}
            return self.helper(made)
"""


def test_what_the_expression_moves_is_moved(placed) -> None:
    assert placed(MOVED_LATER.format(made="fill(torch.zeros(x.shape[0], dtype=x.dtype)).to(x.device)")).births == []


def test_what_it_does_not(placed) -> None:
    made = "fill(torch.zeros(x.shape[0], dtype=x.dtype))"
    assert "torch.zeros(x.shape[0], dtype=x.dtype)" in placed(MOVED_LATER.format(made=made)).births


ATTRIBUTE = """
    class Net(nn.Module):
        def __init__(self, table):
            super().__init__()
            self.register_buffer("ones", torch.ones(3))
            self.rows = {made}
        def forward(self, x):
            return x + self.rows
"""


def test_an_attribute_that_is_made_where_a_device_is_told(placed) -> None:
    made = "torch.empty(3, device=table.device)"
    assert made not in placed(ATTRIBUTE.format(made=made)).births


def test_an_attribute_that_is_not(placed) -> None:
    assert "torch.empty(3)" in placed(ATTRIBUTE.format(made="torch.empty(3)")).births


ON_EITHER_PATH = """
    def main(batch, device, weights=None):
        if weights is None:
            weights = torch.ones(3)
        else:
            weights = torch.rand(3).to(device)
        return batch.to(device) * {used}
"""


def test_a_choice_that_is_moved(placed) -> None:
    assert placed(ON_EITHER_PATH.format(used="weights.to(device)")).births == []


def test_a_choice_that_is_not(placed) -> None:
    assert placed(ON_EITHER_PATH.format(used="weights")).births == ["torch.ones(3)"]


METRIC_LEARNING = """
    from pytorch_metric_learning import losses
    from triplets import NTXentLoss
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(3, 3)
            self.criterion = {made}
        def training_step(self, batch):
            rows = self.linear(batch)
            loss = self.criterion({given})
            loss.backward()
"""
LABELS = "torch.tensor([0, 1, 0, 1])"


@pytest.mark.parametrize("given", [f"rows, {LABELS}", f"rows, labels={LABELS}", f"embeddings=rows, labels={LABELS}"])
def test_losses_that_bring_labels_to_the_embeddings(placed, given: str) -> None:
    assert placed(METRIC_LEARNING.format(made="losses.NTXentLoss(0.5)", given=given)).births == []


@pytest.mark.parametrize(
    ("made", "given"),
    [("NTXentLoss(0.5)", f"rows, {LABELS}"), ("losses.NTXentLoss(0.5)", f"{LABELS}, labels=rows")],
)
def test_those_of_others_and_the_embeddings_are_where_they_are(placed, made: str, given: str) -> None:
    assert placed(METRIC_LEARNING.format(made=made, given=given)).births == [LABELS]
