"""Modules that a function of another file calls with what an unread helper moves to the device that it is told."""

import pytest

from .test_project import found

TRAINING = """
    import torch
    from batches import move_batch

    def diagnose(net, loader, device: torch.device):
        net.eval()
        for rows in loader:
            batch = move_batch(rows, device)
            net(batch["rows"], batch["mask"])
"""
RUN = """
    import torch
    from torch import nn
    from training import diagnose

    def run(loader):
        net = nn.Bilinear(4, 4, 2)
        diagnose(net, loader, {device})
"""


@pytest.mark.parametrize("device", ['torch.device("cpu")', '"cpu"'])
def test_on_the_host_it_is_where_they_are(device: str) -> None:
    assert found({"training.py": TRAINING, "run.py": RUN.format(device=device)}, "run.py") == []


@pytest.mark.parametrize("device", ['torch.device("cuda")', 'torch.device("cuda:1")'])
def test_on_a_device_it_has_to_go_there(device: str) -> None:
    assert found({"training.py": TRAINING, "run.py": RUN.format(device=device)}, "run.py") == ["DVF202:7"]


def test_what_is_copied_to_the_host_says_of_no_device_that_it_is_cuda() -> None:
    training = TRAINING.replace("move_batch(rows, device)", "dict(rows)")
    training = training.replace("net(batch", "batch['rows'].detach().cpu(), net(batch")
    assert found({"training.py": training, "run.py": RUN.format(device='"cpu"')}, "run.py") == []
