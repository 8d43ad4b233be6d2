"""Checkpoints that are published with tensors of the host, and others."""

import pytest

CODE = "DVF401"

HEAD = """
import torch
from torch.utils import model_zoo
from torch.hub import load_state_dict_from_url
from torchvision.models.resnet import model_urls
FILES = {
    "small": "https://download.pytorch.org/models/small-1.pth",
    "large": "https://download.pytorch.org/models/large-2.pth",
}
MIXED = {"small": "https://download.pytorch.org/models/small-1.pth", "own": "https://example.org/own.pth"}
def restore(net, kind, url):
"""

HOST = [
    'model_zoo.load_url("https://download.pytorch.org/models/vgg.pth")',
    'load_state_dict_from_url(FILES["small"], progress=False)',
    "load_state_dict_from_url(url=FILES[kind])",
    'model_zoo.load_url(MIXED["small"])',
    "torch.hub.load_state_dict_from_url(model_urls[kind])",
]
OTHERS = [
    'model_zoo.load_url("https://example.org/download.pytorch.org/vgg.pth")',
    "load_state_dict_from_url(MIXED[kind])",
    'load_state_dict_from_url(MIXED["own"])',
    "load_state_dict_from_url(url)",
    "load_state_dict_from_url(unknown[kind])",
]


@pytest.mark.parametrize("load", HOST)
def test_tensors_of_the_host_go_back_there(rule, load: str) -> None:
    assert rule.findings(f"{HEAD}    net.load_state_dict({load})\n") == ()


@pytest.mark.parametrize("load", OTHERS)
def test_others_may_have_been_saved_from_a_device(rule, load: str) -> None:
    assert len(rule.findings(f"{HEAD}    net.load_state_dict({load})\n")) == 1


TABLES = """
import torch
from torch.hub import load_state_dict_from_url

def same(value):
    return value

def restore(net, kind):
    first = same("https://download.pytorch.org/models/small-1.pth")
    table = same({"small": first, "large": "https://example.org/own.pth"})
    address = same(table[kind])
    other = same({"small": address, "large": table["large"]})
    net.load_state_dict(load_state_dict_from_url(same(other[kind])))
"""


def test_tables_that_hold_what_is_taken_out_of_them(rule) -> None:
    assert len(rule.findings(TABLES)) == 1
