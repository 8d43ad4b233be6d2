"""DVF104: what the code itself says to be on the host stays there."""

import pytest

CODE = "DVF104"

MATRIX = """
import torch
def counted(labels: torch.Tensor, size):
    counts = torch.zeros(size)
    {refusal}
    return counts.scatter_add_(0, labels, torch.ones(size, device=labels.device))
"""


@pytest.mark.parametrize(
    "refusal",
    [
        'assert counts.device.type == "cpu"',
        'assert counts.device == torch.device("cpu")',
        "assert counts.is_cpu",
        'if not counts.device.type == "cpu":\n        raise ValueError("on the host")',
    ],
)
def test_a_place_that_is_refused(rule, refusal: str) -> None:
    assert all(one is None for one in rule.safeties(MATRIX.format(refusal=refusal)))


def test_a_place_that_is_only_asked_for(rule) -> None:
    after = rule.fixed(MATRIX.format(refusal='where = counts.device.type == "cpu"'))
    assert "torch.zeros(size, device=labels.device)" in after


@pytest.mark.parametrize("name", ["part_cpu", "host_part"])
def test_a_name_of_the_host(rule, name: str) -> None:
    program = f"import torch\ndef f(x: torch.Tensor):\n    {name} = torch.zeros(3)\n    return x.view(3) + {name}\n"
    assert rule.findings(program) == ()


SHARED = """
import json
import torch
import torch.distributed as dist
def share(metrics, device):
    told = torch.tensor(bytearray(json.dumps(metrics).encode()), dtype=torch.uint8)
    dist.broadcast(told, 0)
    return {read}
"""


def test_what_processes_exchange_is_read_as_an_array(rule) -> None:
    assert rule.safeties(SHARED.format(read="told.numpy().tobytes()")) == [None]
    assert rule.safeties(SHARED.format(read="told.cpu().numpy().tobytes()")) != [None]
