"""What a program saves and loads again is where it was."""

import pytest
from devfix_codemods.findings import Safety

from tests.repairs.conftest import Repairs

READ = """
def evaluate(net, loader, device, path, other):
    net.to(device)
    for images in loader:
        outputs = net(images.to(device))
        torch.save({saved}, path)
    return torch.load({loaded}).numpy()
"""


def test_numpy_reads_what_was_saved_on_a_device(repairs: Repairs) -> None:
    added = repairs.added(READ.format(saved="outputs.detach()", loaded="path"), Safety.UNSAFE)
    assert added == ['return torch.load(path, map_location="cpu").numpy()']


@pytest.mark.parametrize(
    ("saved", "loaded"),
    [
        ("outputs.detach().cpu()", "path"),
        ("outputs.detach()", "other"),
        ("outputs.detach()", 'path, map_location="cpu"'),
        ("dict(outputs=outputs.detach())", "path"),
    ],
)
def test_numpy_reads_what_is_on_the_host(repairs: Repairs, saved: str, loaded: str) -> None:
    assert repairs.findings(READ.format(saved=saved, loaded=loaded)) == ()


STATISTICS = """
def train(net, loader, device):
    net.to(device)
    torch.save({{"mean": {mean}, "images": {images}}}, "statistics.pt")
    mean = torch.load("{file}")["{key}"]
    for images in loader:
        net(images.to(device) - mean)
"""


def told(mean: str = "torch.zeros(4)", images: str = "3", file: str = "statistics.pt", key: str = "mean") -> str:
    return STATISTICS.format(mean=mean, images=images, file=file, key=key)


def test_what_was_saved_on_the_host_is_moved_where_it_is_loaded(repairs: Repairs) -> None:
    assert repairs.added(told(), Safety.UNSAFE) == ['mean = torch.load("statistics.pt")["mean"].to(device)']


@pytest.mark.parametrize(
    "program",
    [
        told(mean="torch.zeros(4, device=device)"),
        told(file="others.pt"),
        told(images="torch.zeros(4, device=device)", key="images"),
    ],
)
def test_what_was_saved_elsewhere_or_is_another(repairs: Repairs, program: str) -> None:
    assert repairs.findings(program, suggestions=False) == ()
