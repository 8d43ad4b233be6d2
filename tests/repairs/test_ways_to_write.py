"""Conflicts that are known, and the ways to write their repair: a device that a call gives, one that something is asked
for, a view behind what is only measured."""

import pytest
from devfix_codemods.findings import Safety

ASKED = """
    from tools import {function}
    def gather(shape, other, group):
        first = torch.empty(shape, dtype=torch.float32, device={device})
        torch.distributed.broadcast(first, src=0, group=group)
        second = torch.empty(other, dtype=torch.float32)
        torch.distributed.broadcast(second, src=0, group=group)
        return first, second
"""


@pytest.mark.parametrize(
    ("function", "device"), [("place", "place(shape)"), ("tools", "tools[shape]()"), ("next_device", "next_device()")]
)
def test_a_call_that_may_tell_others_something_else(repairs, function: str, device: str) -> None:
    told = repairs.told(ASKED.format(function=function, device=device))
    assert all(device not in one for one in told)


@pytest.mark.parametrize(("function", "device"), [("get_device", "get_device()"), ("tools", "tools.current_device()")])
def test_a_function_that_tells_the_device_is_asked_again(repairs, function: str, device: str) -> None:
    (told,) = repairs.told(ASKED.format(function=function, device=device))
    assert told.startswith(f"Make it on `{device}`")


MEASURED = """
    from torch.utils.data import DataLoader, default_collate
    def evaluate(data, device):
        net = nn.Linear(3, 3).to(device)
        for batch in DataLoader(data, collate_fn=default_collate):
            noisy = batch["noisy"].to(device)
            output = net(noisy)
            count = min(output.shape[1], batch["mask"].shape[1])
            {line}
            print((output[:, :count] * mask).sum())
"""


def test_a_view_that_is_moved(repairs) -> None:
    assert repairs.added(MEASURED.format(line='mask = batch["mask"][:, :count].to(device)')) == []


def test_a_view_of_what_was_measured_before(repairs) -> None:
    added = repairs.added(MEASURED.format(line='mask = batch["mask"][:, :count]'), Safety.UNSAFE)
    assert added == ['mask = batch["mask"][:, :count].to(device)']


ENERGY = """
    def plot(energy, points):
        def density(rows):
            x = torch.zeros((rows.shape[0], energy.size)){moved}
            x[:, 0] = rows[:, 0]
            return -energy.density(x).backward()
        {asked}
        return density(points)
"""


@pytest.mark.parametrize(
    ("moved", "asked"), [(".to(energy.device)", "y = points.to(energy.device)"), ("", "y = points.to(energy.place)")]
)
def test_what_is_moved_or_asked_for_no_device(repairs, moved: str, asked: str) -> None:
    added = repairs.added(ENERGY.format(moved=moved, asked=asked))
    assert all("energy.device" not in one for one in added)


def test_what_is_asked_for_its_device_has_one(repairs) -> None:
    added = repairs.added(ENERGY.format(moved="", asked="y = points.to(device=energy.device)"))
    assert added == ["x = torch.zeros((rows.shape[0], energy.size), device=energy.device)"]


LOSS = """
    def loss(features):
        count = features.shape[0] // 2
        labels = torch.cat([torch.arange(count) for _ in range(2)], dim=0)
        labels = (labels.unsqueeze(0) == labels.unsqueeze(1)).float()
        mask = torch.eye(labels.shape[0], dtype=torch.bool).cuda({told})
        return labels[~mask]
"""


def test_what_cuda_is_told_beside_the_device(repairs) -> None:
    assert repairs.added(LOSS.format(told="")) == repairs.added(LOSS.format(told="non_blocking=True"))


OPTIONAL = """
    from config import Config
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(3, 3)
    def build(size, {name}: str | None = None):
        if {name} is None:
            {name} = Config.DEVICE
        net = Net()
        net.eval()
        return net
"""


def test_a_text_that_is_no_device(repairs) -> None:
    assert repairs.added(OPTIONAL.format(name="title")) == []


def test_a_device_that_is_annotated_as_a_text(repairs) -> None:
    assert repairs.added(OPTIONAL.format(name="device"), Safety.UNSAFE) == ["net = Net().to(device)"]


PICKED = """
    class Classifier(nn.Module):
        def __init__(self, count):
            super().__init__()
            self.count = count
            self.head = Head(count)
        def forward(self, batch):
            rows = torch.eye(self.count)[{index}]
            return self.head(rows), F.cross_entropy(batch["x"], batch["domain"])
"""


@pytest.mark.parametrize("index", ["[1, 2]", "self.count - 1", "batch[self.count]"])
def test_an_index_without_a_device_or_without_a_key(repairs, index: str) -> None:
    assert all(".device" not in one for one in repairs.added(PICKED.format(index=index), Safety.UNSAFE))


def test_an_index_under_a_key(repairs) -> None:
    added = repairs.added(PICKED.format(index='batch["domain"]'), Safety.UNSAFE)
    assert added == ['rows = torch.eye(self.count, device=batch["domain"].device)[batch["domain"]]']


ORDER = """
    def epoch(data, net, rounds, table):
        order = torch.randperm(len(data))
        table = nn.Embedding(3, 3).cuda()
        for i in {indices}:
            index = order[i] if rounds > 3 else i
            net(data[index], table).sum().backward()
            if i % 10 == 0:
                print(i)
"""


@pytest.mark.parametrize("indices", ["range(len(data))", "range(3, rounds)"])
def test_what_a_range_gives_is_a_number(repairs, indices: str) -> None:
    assert all("i.device" not in one for one in repairs.added(ORDER.format(indices=indices)))
