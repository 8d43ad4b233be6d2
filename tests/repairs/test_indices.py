"""What is indexed goes where its index is, with all that it meets there."""

import pytest
from devfix_codemods.findings import Safety

from tests.repairs.conftest import Repairs

LOCATED = """
def located(mask: torch.Tensor, keep, n):
    order = torch.arange(n * n{device}).view(n, n)
    {used}
"""
USED = {
    "written by another": (
        "return torch.zeros(n, n).masked_scatter_(mask=keep, source=order.t()[mask])",
        "return torch.zeros(n, n, device=mask.device).masked_scatter_(mask=keep, source=order.t()[mask])",
    ),
    "scattered": (
        "return dict(rows=torch.zeros(n * n).scatter_(0, order[mask], 1.0))",
        "return dict(rows=torch.zeros(n * n, device=mask.device).scatter_(0, order[mask], 1.0))",
    ),
    "joined with others": (
        "return torch.cat([torch.tensor([0, 1]), order[mask]])",
        "return torch.cat([torch.tensor([0, 1], device=mask.device), order[mask]])",
    ),
}


@pytest.mark.parametrize(("used", "after"), USED.values(), ids=USED)
def test_what_is_read_goes_with_what_it_meets(repairs: Repairs, used: str, after: str) -> None:
    made = "order = torch.arange(n * n, device=mask.device).view(n, n)"
    assert repairs.added(LOCATED.format(device="", used=used), Safety.SAFE) == [made, after]


@pytest.mark.parametrize(("used", "after"), USED.values(), ids=USED)
def test_what_is_where_its_index_is(repairs: Repairs, used: str, after: str) -> None:
    assert repairs.findings(LOCATED.format(device=", device=mask.device", used=after)) == ()


MASKED = """
def shocks(labels: torch.Tensor, assets, made: torch.Tensor):
    sizes = torch.zeros((3, assets))
    rates = {rates}
    for index in range(3):
        mask = labels == index
        sizes[:, mask] = sizes[:, mask] + rates{by}
    return sizes
"""


@pytest.mark.parametrize(
    ("rates", "by"), [("0.85 + 0.3 * torch.rand(assets)", "[mask]"), ("torch.rand(3, assets)", "[:, mask]")]
)
def test_two_tensors_by_the_same_index(repairs: Repairs, rates: str, by: str) -> None:
    added = repairs.added(MASKED.format(rates=rates, by=by), Safety.SAFE)
    assert [one.partition(" = ")[0] for one in added] == ["sizes", "rates"]
    assert all("device=labels.device" in one for one in added)


@pytest.mark.parametrize(("rates", "by", "device"), [("made + 1", "[mask]", "made"), ("2", "", "labels")])
def test_what_stands_beside_it(repairs: Repairs, rates: str, by: str, device: str) -> None:
    added = repairs.added(MASKED.format(rates=rates, by=by), Safety.SAFE)
    assert added == [f"sizes = torch.zeros((3, assets), device={device}.device)"]


PICKED = """
def picked(rows, column{annotation}):
    kept = torch.ones(3, dtype=torch.bool)
    rows = rows[:, kept[rows[0]]]
    ids = torch.arange(3)
    return ids[{index}]
"""


def test_rows_that_a_mask_picks_are_a_tensor(repairs: Repairs) -> None:
    added = repairs.added(PICKED.format(annotation="", index="rows"), Safety.SAFE)
    assert "ids = torch.arange(3, device=rows.device)" in added


def test_what_picks_may_be_a_number(repairs: Repairs) -> None:
    assert not any("ids" in one for one in repairs.added(PICKED.format(annotation="", index="column")))
    assert not any("ids" in one for one in repairs.added(PICKED.format(annotation="=0", index="column")))


def test_the_mask_of_a_comparison(repairs: Repairs) -> None:
    program = """
    def suppressed(boxes: torch.Tensor, overlap, threshold):
        ids = torch.arange(len(boxes))
        return ids[(overlap(boxes, boxes[:1]) <= threshold).flatten()]
    """
    assert repairs.added(program, Safety.SAFE) == ["ids = torch.arange(len(boxes), device=boxes.device)"]


def test_a_comparison_of_numbers_is_no_mask(repairs: Repairs) -> None:
    program = """
    def chosen(boxes: torch.Tensor, count, threshold):
        names = ["few", "many"]
        return names[count > threshold], boxes
    """
    assert repairs.findings(program) == ()


EVALUATED = """
def evaluate(net, loader, device):
    net.to(device)
    for images, labels in loader:
        images = images.to(device)
        scores = net(images).softmax(dim=1)
        chosen = scores.argmax(dim=1)
        {used}
"""
MASKS = (
    "print(labels[chosen == 1].shape)",
    "print(labels[~(chosen == 1)].shape)",
    "print(labels[(chosen == 1) & (chosen.float() > 0.5)].shape)",
)


@pytest.mark.parametrize("used", MASKS)
def test_what_a_mask_picks_from(repairs: Repairs, used: str) -> None:
    assert repairs.added(EVALUATED.format(used=used), Safety.UNSAFE) == ["labels = labels.to(device)"]


@pytest.mark.parametrize(
    "used",
    [
        "print(labels[(chosen == 1).cpu()].shape)",
        "print(labels[0].shape)",
        "print(labels[len(chosen) == 1].shape)",
        "print(labels.numpy()[(chosen == 1).cpu().numpy()].shape)",
    ],
)
def test_what_no_mask_of_a_device_picks_from(repairs: Repairs, used: str) -> None:
    assert repairs.findings(EVALUATED.format(used=used), suggestions=False) == ()


LOOKED_UP = """
def train(loader, device):
    model = nn.Linear(4, 2).to(device)
    table = torch.eye(2)
    for images, labels in loader:
        images = images.to(device)
        labels = labels{moved}
        loss = (model(images) - table[labels]{after}).mean()
"""


def test_what_is_moved_and_indexes_a_tensor_is_one(repairs: Repairs) -> None:
    added = repairs.added(LOOKED_UP.format(moved=".to(device)", after=""), Safety.UNSAFE)
    assert added == ["table = torch.eye(2, device=device)"]


def test_an_index_on_the_host_picks_from_a_table_there(repairs: Repairs) -> None:
    program = LOOKED_UP.format(moved=".tolist()", after=".to(device)")
    assert repairs.findings(program, suggestions=False) == ()


def test_the_trail_tells_where_a_table_is_indexed(repairs: Repairs) -> None:
    finding = repairs.finding(LOOKED_UP.format(moved=".to(device)", after=".to(device)"))
    assert "it is indexed here" in [step.note for step in finding.trail]
